/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph whose clock moves only when a layer says so: top (sees the reply),
 * middle (passes on), fan over the leaves a and b, which hold what they get. A
 * fan asks a alone, then a and b at once, and answers as the last of them says.
 */
#ifndef STEPS_FIXTURE_H
#define STEPS_FIXTURE_H

#include "libglusterish/seen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* what each takes, ns */
#define TOP_DOWN 3
#define TOP_UP 5
#define MIDDLE 7
#define FAN_DOWN 11
#define FAN_BETWEEN 13
#define FAN_UP 17
#define LEAF 100 /* as bed_whole waits; b answers one later */

#define BELOW (LEAF + LEAF + 1)
#define FAN_OWN (FAN_DOWN + 2 * FAN_BETWEEN + FAN_UP)
#define ALL (TOP_DOWN + MIDDLE + FAN_OWN + BELOW + TOP_UP)

struct bed {
  struct gi_ctx ctx;
  struct gi_graph *graph;
  struct gi_xlator *top, *middle, *fan, *a, *b;
};

extern uint64_t bed_now;           /* the clock */
extern struct gi_fop *bed_held[8]; /* what the leaves have, in the order in which they got it */
extern unsigned bed_nheld;
extern int bed_errno; /* of the leaves' answers; 0: they succeed */

int bed_setup(void **state);
int bed_teardown(void **state);
/* By process 42: 512 bytes at 4096 of the object of gfid 0707… */
struct gi_fop *bed_start(struct bed *bed, enum gi_fop_kind kind, bool *answered);
void bed_submit(struct bed *bed, struct gi_fop *fop, bool *answered);
void bed_answer(unsigned n); /* held[n] */
/* One operation from start to end, which takes ALL. */
void bed_whole(struct bed *bed, enum gi_fop_kind kind);

#endif
