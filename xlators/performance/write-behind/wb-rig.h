/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of write-behind share: a stack whose top notes what it is told of
 * early answers, and requests.
 */
#ifndef WB_RIG_H
#define WB_RIG_H

#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

#define FILE_A 5
#define FILE_B 6
#define DIR 8
#define PAGE 8192u
#define GATHERED (30 * GI_NSEC_PER_MSEC) /* a message leaves after that, though nobody waits for it */
#define OVERDUE (150 * GI_NSEC_PER_MSEC) /* … or others are under way */

/* by GI_EVENT_WRITTEN, since the stack was made */
struct told {
  unsigned events, changes, failed;
  int err;
  uint64_t left;        /* size of the last one */
  uint32_t of_each[64]; /* changes, by event */
};
extern struct told told;

struct fake_stack *new_stack(const char *options);
/* cmocka: a stack with default options */
int setup(void **state);
int teardown(void **state);
uint64_t metric(struct fake_stack *s, const char *name);
struct gi_iatt attributes(uint8_t n, uint64_t size);
void fill_stat(struct gi_fop *fop, void *arg); /* a script: `arg` is a struct gi_iatt */
struct gi_fop *on_fd(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd);
/* FSTAT, which the bricks answer with that size. */
struct gi_fop *stat_of(struct fake_stack *s, struct gi_fd *fd, uint64_t size);
/* Open for writing, with attributes that are known. */
struct gi_fd *opened(struct fake_stack *s, uint8_t n, uint64_t size);
/* Not yet submitted. */
struct gi_fop *write_fop(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, size_t len, char c);
struct gi_fop *put(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, size_t len, char c);
struct gi_fop *sync_it(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd);
void hold(struct fake_stack *s, enum gi_fop_kind kind);
/* All, in order, with success, until nothing is dirty. */
void release_writes(struct fake_stack *s);
void is_early(const struct gi_fop *f);
/* It goes down as it is, at once. */
void not_early(struct fake_stack *s, struct gi_fop *f);
struct gi_fop *get(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, uint64_t size);
struct gi_fop *lock(struct fake_stack *s, struct gi_fd *fd, uint32_t type);
#define writes(s) fake_count(s, 0, GI_FOP_WRITE)
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif
