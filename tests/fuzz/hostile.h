/* SPDX-License-Identifier: Apache-2.0
 *
 * Bricks, and the management daemon that knows their ports, as a client meets
 * them on its sockets: they speak the protocol, and lie as the bytes of an
 * input say. When the bytes are used up they say the truth.
 */
#ifndef FUZZ_HOSTILE_H
#define FUZZ_HOSTILE_H

#include "libglusterish/graph.h"

#define HOSTILE_BRICKS 3

struct fuzz_bytes {
  const uint8_t *p, *end;
};

static inline uint8_t
fuzz_next(struct fuzz_bytes *b)
{
  return b->p < b->end ? *b->p++ : 0;
}

/* Small, or a number that means trouble. */
uint64_t fuzz_number(struct fuzz_bytes *b);

struct hostile;
/* Takes the place of the network below the reactor of `ctx`. The addresses of the bricks are asked from port 24007 of any host. */
struct hostile *hostile_new(struct gi_ctx *ctx, struct fuzz_bytes *b);
void hostile_serving(struct hostile *h); /* from now on every reply may be a lie, not only now and then one */
bool hostile_turn(struct hostile *h);    /* answers what has come; false: there was nothing */
/* No more lies: what was held is answered, connections begin anew. */
void hostile_repent(struct hostile *h);
void hostile_free(struct hostile **h);

#endif
