/* SPDX-License-Identifier: Apache-2.0
 *
 * The names that the kernel of a client's machine would keep, as mount/fuse lets
 * it: where all bricks wait until we have taken in what others do
 * (libglusterish/promise.h), a name that was found is not looked up again before
 * the lease is over or a brick has told.
 */
#ifndef SIM_KEPT_H
#define SIM_KEPT_H

#include "libglusterish/inode.h"
#include "libglusterish/list.h"
#include "libglusterish/xlator.h"

struct sim_kept {
  struct gi_list names; /* struct kept_name, the latest first */
  uint64_t clock;       /* moves with whatever makes what was asked for before it doubtful */
};

void sim_kept_init(struct sim_kept *k);
void sim_kept_forget(struct sim_kept *k); /* all of it: the client goes */
/* What a name leads to, without asking. */
bool sim_kept_find(struct sim_kept *k, struct gi_xlator *top, const struct gi_inode *dir, const char *name,
                   struct gi_iatt *stat);
/* A name was found that was asked for at `asked`, when the clock said `clock`. */
void sim_kept_put(struct sim_kept *k, struct gi_xlator *top, const struct gi_inode *dir, const char *name,
                  const struct gi_iatt *stat, uint64_t asked, uint64_t clock);
void sim_kept_drop(struct sim_kept *k, const struct gi_gfid *dir,
                   const char *name); /* our own change of the name, begun or ended */
void sim_kept_event(struct sim_kept *k, enum gi_event event, const void *data);

#endif
