/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk of a rebalance over fake subvolumes, for the tests of this folder.
 */
#ifndef DI_WALK_FIXTURE_H
#define DI_WALK_FIXTURE_H

#include "xlators/cluster/distribute/rebalance/rebalance.h"
#include "xlators/cluster/distribute/spread-fixture.h"

/* A task: `arg` is a struct di_reb, which has no base when it is over. One file at a time. */
static inline void
walk(void *arg)
{
  struct di_reb *r = arg;

  r->base = gi_fop_new(r->d->x->graph, GI_FOP_IPC);
  gi_window_init(&r->files, 1);
  di_reb_walk(r);
  gi_fop_unref(r->base);
  r->base = NULL;
}

/* The root, as a reply has it. */
static inline void
root_of(struct gi_iatt *a)
{
  attr_of(a, 0, S_IFDIR | 0755);
  a->gfid = gi_gfid_root;
}

#endif
