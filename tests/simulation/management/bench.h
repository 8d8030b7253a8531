/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool of simulated nodes for cmocka tests.
 */
#ifndef SIM_BENCH_H
#define SIM_BENCH_H

#include "tests/simulation/management/nodes.h"
#include "programs/glusterishd/pool/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct bench {
  struct sim_world *w;
  struct sim_nodes *all;
};

void bench_begin(struct bench *b, unsigned n); /* nodes that know nothing of each other */
void bench_end(struct bench *b);               /* fails where an invariant did */
void bench_pool(struct bench *b, unsigned n);  /* the first n become a pool */

/* Gives a command and waits for the code that it is answered with; -1: its node died. err may be NULL. */
int bench_give(struct bench *b, unsigned node, uint32_t proc, const char *text, struct gi_error *err);
void bench_order(struct bench *b, unsigned node, uint32_t proc, const char *text); /* which must succeed */

#endif
