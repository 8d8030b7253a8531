/* SPDX-License-Identifier: Apache-2.0
 *
 * Which names there may be, kept outside of the cluster, to judge what clients
 * are told about them.
 *
 * A name is a register whose value is an object or nothing. An operation that
 * changes names begins and ends; if it is acknowledged, what it did is known;
 * if it fails, or its client goes, it may have happened or not, and a name may
 * then be one of several things until the next operation on it is
 * acknowledged; what a client has asked for that goes may even happen a minute
 * later, when its messages arrive. Operations on a name at the same time leave open which was
 * the last.
 *
 * What somebody sees is judged by what the name may be, if nobody has begun or
 * ended to change it since the directory was looked up for it (which copies
 * are good is learnt then, as in registers.h); else it only must have been
 * that at some time, or be meant to become it.
 *
 * A client that remembers names may be told of changes of others late; never of its
 * own.
 *
 * Nothing here syncs a directory, so what was changed shortly before a machine
 * lost its power may be anything. Over several sets it stays so: one may have
 * lost what another has not, and a heal may bring it back late, beside what was
 * made since.
 */
#ifndef SIM_NAMESPACE_H
#define SIM_NAMESPACE_H

#include "tests/simulation/world/world.h"

#include "libglusterish/types.h"

#define SIM_NAMES_DIRS 64
#define SIM_NAMES_PER_DIR 20
#define SIM_NAMES_CLIENTS 8

struct sim_namespace;
struct sim_naming;

struct sim_namespace_stats {
  uint64_t changes, lookups, lists, names; /* `names`: judged in lists */
};

/* a name of the model */
struct sim_place_of {
  unsigned dir, name;
};

struct sim_namespace *sim_namespace_new(struct sim_world *w);
/* Of a volume of several sets. */
void sim_namespace_over_sets(struct sim_namespace *m);
void sim_namespace_free(struct sim_namespace **m);
const struct sim_namespace_stats *sim_namespace_stats(const struct sim_namespace *m);
/* How a name is called, and which one that is; false: none of the model. */
const char *sim_namespace_name(unsigned name, char text[16]);
bool sim_namespace_find(const char *text, unsigned *name);

/* ---- changes; each begins, and ends with 0 or an errno ---- */

struct sim_naming *sim_namespace_make(struct sim_namespace *m, unsigned client, struct sim_place_of at,
                                      const struct gi_gfid *gfid);
struct sim_naming *sim_namespace_remove(struct sim_namespace *m, unsigned client, struct sim_place_of at);
struct sim_naming *sim_namespace_rename(struct sim_namespace *m, unsigned client, struct sim_place_of from,
                                        struct sim_place_of to);
/* The same if nothing has the new name. */
struct sim_naming *sim_namespace_rename_free(struct sim_namespace *m, unsigned client, struct sim_place_of from,
                                             struct sim_place_of to);
void sim_namespace_done(struct sim_namespace *m, struct sim_naming **op, int err);
/* A client is gone: what it was about will not be answered. */
void sim_namespace_abandon(struct sim_namespace *m, unsigned client);
void sim_namespace_power_loss(struct sim_namespace *m);

/* A machine has lost its power soon after the name was changed: it may be on several sets. */
bool sim_namespace_torn(const struct sim_namespace *m, struct sim_place_of at);
/* What a name certainly is; false: that is not known. `gfid` none: nothing. */
bool sim_namespace_certain(const struct sim_namespace *m, struct sim_place_of at, struct gi_gfid *gfid);

/* ---- what is seen; `since` is a moment ---- */

uint64_t sim_namespace_now(struct sim_namespace *m);
/* A name was looked up: `gfid` none if it was not there. */
void sim_namespace_seen(struct sim_namespace *m, const char *who, uint64_t since, struct sim_place_of at,
                        const struct gi_gfid *gfid);
/* The same by a client that need not know what others changed less than `late_ns` ago. */
void sim_namespace_seen_late(struct sim_namespace *m, const char *who, unsigned client, uint64_t late_ns, uint64_t since,
                             struct sim_place_of at, const struct gi_gfid *gfid);

/* a directory being listed */
struct sim_listing {
  unsigned dir;
  uint64_t since;
  unsigned strange; /* names nobody ever made */
  unsigned times[SIM_NAMES_PER_DIR];
  struct gi_gfid gfid[SIM_NAMES_PER_DIR]; /* none: not told */
};
void sim_listing_add(struct sim_listing *l, const char *text, const struct gi_gfid *gfid);
/* It came to its end without an error. */
void sim_namespace_listed(struct sim_namespace *m, const char *who, const struct sim_listing *l);

#endif
