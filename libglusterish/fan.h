/* SPDX-License-Identifier: Apache-2.0
 *
 * A fan: operations sent to several children of a translator at the same time.
 * It counts the answers, notes who succeeded and who failed, keeps the replies
 * and calls one function when all are in.
 *
 *   gi_fan_start(&fan, x, NULL, all_in, fop);
 *   gi_fan_copy(&fan, fop, mask);                     // one copy to each; all_in(&fan) runs now or later
 *
 *   gi_fan_start(&fan, x, NULL, all_in, fop);         // or: different ones
 *   gi_fan_send(&fan, lock, 0, 0);
 *   gi_fan_send(&fan, mark, 1, 0);
 *   gi_fan_finish(&fan);
 *
 * Sets of children are bit masks (bit i = child i), so what makes a quorum is
 * for the translator to say. A fan lives in memory of its owner, usually the
 * translator's bytes of the fop it works for, and is not moved between start
 * and gi_fan_clear. It may be started again when it is done.
 *
 * A frozen child does not hold a fan for ever: the connection layer fails its
 * calls after the ping timeout.
 */
#ifndef GI_FAN_H
#define GI_FAN_H

#include "libglusterish/fop.h"
#include "libglusterish/list.h"

#define GI_FAN_MAX 64 /* children */

/* What all fans of a translator have in common; each may be NULL. */
struct gi_fan_ops {
  void (*sent)(struct gi_xlator *x);                                           /* an operation is about to go to a child */
  void (*answered)(struct gi_xlator *x, unsigned child, struct gi_fop *reply); /* answered, and about to be counted */
  void (*ended)(struct gi_xlator *x); /* an operation was counted; `done` may have run */
  int (*merge)(int have, int next);   /* which of two errnos describes the failure; NULL: the later one */
};

struct gi_fan {
  struct gi_xlator *x;
  const struct gi_fan_ops *ops;
  void (*done)(struct gi_fan *fan); /* all have answered; may free what holds the fan */
  /* Optional: told of each reply, which is then not kept. Set after gi_fan_start. */
  void (*each)(struct gi_fan *fan, unsigned child, unsigned tag, struct gi_fop *reply);
  void *arg;
  unsigned outstanding;      /* not answered; and one until gi_fan_finish, as children may answer from inside gi_fan_send */
  int err;                   /* of those that failed, merged; 0: none did */
  uint64_t sent, ok, failed; /* children: asked; gave at least one success; gave at least one failure */
  struct gi_list replies;    /* struct gi_fop.link: the answered fops, owned */
};

void gi_fan_start(struct gi_fan *fan, struct gi_xlator *x, const struct gi_fan_ops *ops, void (*done)(struct gi_fan *fan),
                  void *arg);
/* Consumes the fop. Without `each` a child is sent one operation at most; `tag` (below 256) is for `each`. */
void gi_fan_send(struct gi_fan *fan, struct gi_fop *fop, unsigned child, unsigned tag);
/* As if sent, and answered with that errno. */
void gi_fan_refuse(struct gi_fan *fan, struct gi_fop *fop, unsigned child, int err);
/* All is sent: `done` runs now or later, exactly once. */
void gi_fan_finish(struct gi_fan *fan);
/* Sends a copy of the fop to every child of `mask` and finishes. */
void gi_fan_copy(struct gi_fan *fan, struct gi_fop *fop, uint64_t mask);
/* The same with other xdata (borrowed). */
void gi_fan_copy_with(struct gi_fan *fan, struct gi_fop *fop, struct gi_dict *xdata, uint64_t mask);
/* One such copy, not sent yet. */
struct gi_fop *gi_fan_child(struct gi_fop *fop, struct gi_dict *xdata);

/* The kept reply of a child, the fan's; NULL: it was not asked, or the reply was taken. */
struct gi_fop *gi_fan_reply(const struct gi_fan *fan, unsigned child);
struct gi_fop *gi_fan_take(struct gi_fan *fan, unsigned child);             /* the same, the caller's from now on */
void gi_fan_keep(struct gi_fan *fan, unsigned child, struct gi_fop *reply); /* takes over a reply as that of a child */
void gi_fan_clear(struct gi_fan *fan); /* drops the kept replies; also of a zeroed fan that was never started */
/* The errno that all children of `mask` failed with, or 0: some did not, or they differ. */
int gi_fan_same_errno(const struct gi_fan *fan, uint64_t mask);

#endif
