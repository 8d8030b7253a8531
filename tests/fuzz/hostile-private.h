/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the parts of the hostile bricks: hostile.c has their connections,
 * hostile-truth.c what is true, hostile-lies.c what is not.
 */
#ifndef FUZZ_HOSTILE_PRIVATE_H
#define FUZZ_HOSTILE_PRIVATE_H

#include "rpc/fop-codec.h"
#include "tests/fuzz/hostile.h"

#define TRUTH_OBJECTS 24
#define TRUTH_SIZE 5000u /* bytes of every file */

/* Names in the root; objects are never forgotten, so whatever has once been found stays. */
struct truth {
  struct object {
    char name[16]; /* "" = none any more */
    struct gi_gfid gfid;
    uint32_t mode;
  } object[TRUTH_OBJECTS];
  unsigned count;
};

void truth_init(struct truth *t);
void truth_tell(struct truth *t, struct gi_fop *fop); /* fills fop->rsp */
/* Any object: its gfid. */
struct gi_gfid truth_any(const struct truth *t, struct fuzz_bytes *b);

void hostile_lie(struct fuzz_bytes *b, struct gi_fop *fop, int64_t *handle); /* about fop->rsp */
void hostile_spoil_dict(struct fuzz_bytes *b, struct gi_dict **d);
void hostile_callback(struct fuzz_bytes *b, const struct truth *t, uint32_t proc, struct gi_xdr_out *out); /* the arguments */

#endif
