/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that is being moved: its state, and the steps that a file with one
 * name (move.c) and one with several (names.c) have in common. They are called
 * on a task; 0 or errno.
 */
#ifndef DI_MOVE_H
#define DI_MOVE_H

#include "xlators/cluster/distribute/rebalance/rebalance.h"

struct move {
  struct di_reb_file f;
  const struct gi_loc *loc; /* the name that is looked at */
  unsigned hashed;          /* where that belongs */
  struct di_locks migrate, name;
  struct gi_iatt stat; /* of the source, without marks */
  bool marked;         /* it was found with marks */
  int target;          /* the subvolume that they name; -1: none */
  /* Of the target: nothing is there; its mode is not a linkto file's; it is the file already, or was about to be when somebody was
   * killed; it is, or may be, by our own doing. */
  bool missing, dressed, replaced, unfinished, switched;
  uint32_t links;                  /* names that the target has, if it was not just made */
  bool was_source;                 /* of an earlier move, whose mode is kept beside what that has left */
  int (*exchange)(struct move *m); /* when all is copied; EAGAIN: it is to be compared once more */
};

/* The source under the name, and with di_move_look the target; `prepare`: there shall be a linkto file at the target. ENOENT: the name
 * is not there (any more), EBUSY: locks are held on it. */
int di_move_look_at_source(struct move *m);
int di_move_look(struct move *m, bool prepare);
/* The lock of the name, on the subvolume that it belongs to; that of the file, which renames wait for. */
int di_move_lock_name(struct move *m, unsigned hashed);
void di_move_unlock_name(struct move *m);
int di_move_lock_file(struct move *m);
void di_move_unlock_file(struct move *m);

/* In this order. */
int di_move_begin(struct move *m); /* the source is marked, the target empty */
int di_move_copy(struct move *m);  /* until exchange says that it is done */
/* The target becomes the file, the source a linkto file under all of its names. EAGAIN: somebody has changed the attributes meanwhile,
 * and with them the marks, which are made anew. */
int di_move_go_over(struct move *m);
int di_move_end(struct move *m);    /* exchange, where the target is the file already */
int di_move_finish(struct move *m); /* what of that is missing, where somebody was killed who was at it */
/* The target has more names than the source. It would be the file under names that this lost, as a linkto file of an earlier move has them still. */
bool di_move_has_more_names(const struct move *m);
/* Under the lock of the name: it goes from the source, or is seen to be there still. ENOENT: somebody has removed it, and now it is gone
 * from the target too. */
int di_move_remove_name(struct move *m);
int di_move_keep_name(struct move *m);

void di_move_unmark(struct move *m); /* nothing has been done */
/* The name is gone from the source: that of what was to become its copy goes, too. */
void di_move_drop_target(struct move *m);

#endif
