/* SPDX-License-Identifier: Apache-2.0
 *
 * One node takes the place of another: what is wanted is a key of the store, so
 * that every node knows it, and the new node does it (replace.c). Nothing of
 * the way is stored: what is left to do shows in the definitions of volumes and
 * in what their copies know of each other, whoever died meanwhile.
 */
#ifndef GD_REPLACE_H
#define GD_REPLACE_H

#include "programs/glusterishd/pool/pool.h"

#define GD_REPLACE_KEY GD_PREFIX "replace"

struct gd_replace; /* gd_pool.replace */

struct gd_replace *gd_replace_new(struct gd_pool *p);
void gd_replace_free(struct gd_replace **r);
void gd_replace_take(struct gd_replace *r, const char *value); /* what the store has; NULL: nothing */
/* {"old", "new": uuids, "oldHost", "newHost", "state": "running" or "done", "force", "bricks": in all, "started": seconds}; NULL: none was
 * ever wanted. Lent. */
const json_t *gd_replace_wanted(const struct gd_pool *p);
/* How far it is, on the node that does it: "moved", "volume", "entries", "filesPerSecond", "bytesPerSecond", "etaSeconds", "problem",
 * each where it is known. */
void gd_replace_progress(const struct gd_pool *p, json_t *out);

/* How many entries the copies of a set hold against others, by what their self-heal daemons said ("volume heal status"); -1: a brick has
 * not told, and `silent` is its place in the volume. `except`: the place of one that need not tell; UINT_MAX: all must. */
long long gd_replace_left(const struct gd_volume *v, unsigned set, const json_t *facts, unsigned except, unsigned *silent);

#endif
