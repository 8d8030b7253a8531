/* SPDX-License-Identifier: Apache-2.0
 *
 * Which mode a file may have, kept outside of the cluster, to judge what it has
 * when trouble is over.
 *
 * A file is made with sim_mode(0). A change begins and ends; if it is
 * acknowledged, and no other one was under way, the file has that mode. If it
 * fails, or its client goes, it may have happened or not, even a minute later.
 * Nothing here syncs a mode, so what was set shortly before a machine lost its
 * power may be any that was ever set.
 */
#ifndef SIM_MODES_H
#define SIM_MODES_H

#include "tests/simulation/world/world.h"

#include "libglusterish/types.h"

struct sim_modes;
struct sim_moding; /* a change under way */

/* The modes that files have, without the type. */
unsigned sim_modes_count(void);
uint32_t sim_mode(unsigned number);

struct sim_modes *sim_modes_new(struct sim_world *w);
void sim_modes_free(struct sim_modes **m);

struct sim_moding *sim_modes_set(struct sim_modes *m, unsigned client, const struct gi_gfid *gfid, unsigned number);
void sim_modes_done(struct sim_modes *m, struct sim_moding **op, int err); /* 0 or an errno */
/* A client is gone: what it was about will not be answered. */
void sim_modes_abandon(struct sim_modes *m, unsigned client);
void sim_modes_power_loss(struct sim_modes *m);

/* A file was seen with that mode; its type does not matter. */
void sim_modes_seen(struct sim_modes *m, const char *who, const char *path, const struct gi_gfid *gfid, uint32_t mode);

#endif
