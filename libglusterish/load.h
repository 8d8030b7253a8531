/* SPDX-License-Identifier: Apache-2.0
 *
 * How the foreground of a brick does while background work (a heal, a rebalance) runs: the
 * brick measures, tells it in the replies to background requests, and whoever
 * sends those decides from it how much to send (doc/decisions/0007).
 *
 * An operation is compared with what operations of its kind and size took while
 * no background request was under way, so a change in what applications do is
 * not taken for a slowdown. Times come from the caller: nothing here reads a clock.
 */
#ifndef GI_LOAD_H
#define GI_LOAD_H

#include "libglusterish/fop.h"

#define GI_LOAD_WINDOW_NS (100 * GI_NSEC_PER_MSEC)
#define GI_LOAD_SIZES 3 /* READ and WRITE: up to 4 KiB, up to 64 KiB, more */

/* Foreground operations that ended in the last 50 to 100 ms. */
struct gi_load {
  uint32_t ops;
  uint32_t mean_us;     /* what they took on average */
  uint32_t baseline_us; /* what the same ones take while nothing runs in the background; 0: not known */
  uint32_t worst_us;
};

/* all zero is the start */
struct gi_load_meter {
  struct {
    uint64_t since, ops, took, expected, worst; /* ns */
  } part[2];                                    /* this half of the window and the one before */
  uint64_t baseline[GI_FOP_MAX][GI_LOAD_SIZES]; /* ns */
  uint64_t background;                          /* requests under way */
  uint64_t background_ended;                    /* when there was last one; 0: never */
};

void gi_load_background_begin(struct gi_load_meter *m);
void gi_load_background_end(struct gi_load_meter *m, uint64_t now);
/* A foreground operation that was under way from `began` to `now`. Operations that wait for locks are ignored. */
void gi_load_foreground(struct gi_load_meter *m, enum gi_fop_kind kind, uint64_t bytes, uint64_t began, uint64_t now);
void gi_load_read(struct gi_load_meter *m, uint64_t now, struct gi_load *load);

/* Permille of what the operations take undisturbed, as applications feel it. 0: there were none; 1000 if there were too few to tell. */
uint32_t gi_load_stretch(const struct gi_load *load);
#define GI_LOAD_UNFELT 1050 /* up to here */
#define GI_LOAD_FELT 1150   /* above */

/* Under GI_LOAD_KEY, in the order of struct gi_load. */
void gi_load_put(struct gi_dict *xdata, const struct gi_load *load);
/* False if the dictionary (may be NULL) carries none. */
bool gi_load_get(const struct gi_dict *xdata, struct gi_load *load);

#endif
