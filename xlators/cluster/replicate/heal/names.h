/* SPDX-License-Identifier: Apache-2.0
 *
 * One name of a directory, brought in line on all children: what the heal of a
 * directory (heal/entry.c) and of a single name
 * (heal/name.c) share.
 */
#ifndef REP_HEAL_NAMES_H
#define REP_HEAL_NAMES_H

#include "xlators/cluster/replicate/heal/heal.h"

/* Lives on a task's stack, filled by rep_name_lock. */
struct rep_name {
  struct rep_heal *h; /* with a lock owner nobody else uses meanwhile */
  struct gi_inode *parent;
  const char *name;
  struct gi_gfid gfid_req;      /* for an object that has no gfid on any child; none: it stays so */
  const struct rep_view *quiet; /* what the parent said when all its names were locked; NULL: they were not */
  struct rep_heal_lock lock;
  struct rep_direction d; /* of the parent's names, decided under the lock */
  struct rep_view dir;    /* of the parent */
  struct rep_view view;   /* of the name */
  uint32_t failed;        /* children where the name could not be healed */
  uint32_t elsewhere;     /* children where the directory has another name */
  uint32_t emptied;       /* children from which the heal has taken a directory that stands elsewhere */
  bool later;             /* it failed because a directory is still in its old place on a child: worth another try */
  bool look_again;        /* the heal removed an object that hid the right one: look once more */
  bool mismatch;          /* the copies are different objects, and none is proven right */
};

/* Locks the name on all children, or with `whole` all names of the directory (the head of heal/names.c says why), looks
 * and decides. 0 or -errno: then nothing is locked. Call rep_name_unlock in any case. */
int rep_name_lock(struct rep_name *n, bool whole);
/* Makes the name the same everywhere (replicate.md 7.5 step 4). 0, or -errno with the reason in n->failed, later, mismatch. */
int rep_name_settle(struct rep_name *n);
void rep_name_unlock(struct rep_name *n);

/* ---- what it is done with (heal/make.c) ---- */

/* The object that child `from` shows under the name is made on the children of `on`, which have nothing there. `owners`: all
 * that have it there. What fails is added to n->failed. 0 or the last -errno. */
int rep_name_recreate(struct rep_name *n, unsigned from, uint32_t owners, uint32_t on);
/* Takes the name away on the children of `on`, whatever each has there. */
int rep_name_expunge(struct rep_name *n, uint32_t on);
/* The same, unless it is a directory with something in it. */
int rep_name_remove_empty(struct rep_name *n, uint32_t on);
/* The objects under the name on `on`, which have no gfid, become copies of the one that child `from` and `owners` show: whatever else
 * they lack was lost with it. */
int rep_name_complete(struct rep_name *n, unsigned from, uint32_t owners, uint32_t on);
/* Nothing in it that somebody may have put there; what is in a directory shows when it is removed. */
static inline bool
rep_name_empty(const struct gi_iatt *st)
{
  return S_ISDIR(st->mode) || st->size == 0;
}
/* Gives the objects under the name on `on`, which have no gfid, this one. */
int rep_name_assign(struct rep_name *n, const struct gi_gfid *gfid, uint32_t on);

/* ---- other places of a directory (heal/place.c) ---- */

/* The children of `on` that have the directory which child `from` shows here in another place, and not only in the anonymous
 * directory. */
uint32_t rep_name_elsewhere(struct rep_name *n, unsigned from, uint32_t on);
/* Whether the heal of a place where a child of `on` has it leaves it there, as far as one can tell: not if all that have it there are known
 * to have missed something, and good copies have seen it go. */
bool rep_name_kept_elsewhere(struct rep_name *n, unsigned from, uint32_t on);
/* The directory is, on that child, in one that was removed: the others have that no more, and here it waits in the anonymous directory. No heal of
 * that place will put it there by itself. True: *parent and *name are where it is, the caller's. */
bool rep_name_left_behind(struct rep_name *n, unsigned child, const struct gi_gfid *object, struct gi_inode **parent,
                          char **name);

/* ---- contradictions (heal/gfid.c) ---- */

/* Those of `among` that have something without gfid there, which their power went too early for: it is no object yet and proves nothing,
 * not even on a copy that nobody accuses. What has content does not count: somebody may have put it there behind our back. */
uint32_t rep_name_no_gfid(const struct rep_name *n, uint32_t among);

/* Which of the children of `among`, that show different objects, is right: by the heal's operation or the favorite-child policy.
 * -1: nothing says so. */
int rep_name_resolve(struct rep_name *n, uint32_t among);

/* ---- the anonymous directory (heal/anon.c, replicate.md 7.8) ---- */

bool rep_anon_used(const struct rep *rep); /* the option is on */
/* The directory's inode, referenced, and in *there the children of `mask` that have it: it is made where it is missing. */
struct gi_inode *rep_anon_make(struct rep_heal *h, uint32_t mask, uint32_t *there);

#endif
