/* SPDX-License-Identifier: Apache-2.0
 *
 * May what is known of an inode be trusted, and until when? One object per
 * inode answers that for its attributes, its data and its names.
 *
 * It learns from the attributes that replies bring, from this process's own
 * changes in the order in which they began and ended, from what bricks say
 * that others did, and from locks: what was written under a lock before it was
 * granted must be seen after. It knows no clock and nobody who would have to
 * be told; both are the business of whoever asks.
 *
 * A version is size and times. Each of our changes says in its reply which
 * version it found and which it left. One that was alone must have found the
 * version that is held. Of several under way at once nobody knows the order,
 * but versions found and left cancel out in it except for the first and the
 * last: the version is kept as a number to which what was left is added and
 * from which what was found is taken, and the next attributes must come to
 * that number. Where a reply does not tell, or a change failed, it does not:
 * that counts as a change of others.
 *
 * A change that is answered early, before the bricks have it, is under way until they do: what others do between two of them is found as if
 * each had waited.
 */
#ifndef GI_TRUST_H
#define GI_TRUST_H

#include "libglusterish/types.h"

#include <stdbool.h>

/* What this process did, all inodes together. */
struct gi_trust_order {
  uint64_t clock; /* counts beginnings and ends of changes */
  uint64_t names; /* moves when a name begins and ends to be made, removed or replaced: that changes link counts */
  uint64_t locks; /* granted so far */
};

/* Size and times as numbers that add up. */
struct gi_trust_version {
  uint64_t data;   /* size and mtime */
  uint64_t change; /* ctime */
};

/* Who was told something of late, and is about to come back because of it. */
struct gi_trust_told {
  uint32_t pid;
  uint64_t until; /* gi_now; 0 = nobody */
};

struct gi_trust {
  struct gi_iatt attr;             /* as last seen, or as our last change left it … */
  uint64_t answer_until;           /* … which is good until then, gi_now; 0 = it is not … */
  uint64_t answer_seq;             /* … while nothing of ours has begun or ended since … */
  uint64_t answer_names;           /* … and no name */
  struct gi_trust_version version; /* what the bricks hold if only we change it; data that is kept belongs to it */
  bool known;                      /* `version` is set */
  bool emptied;                    /* by us, in a way that does not tell the version it left */
  uint8_t moved;     /* what has changed, as we know, without being told how: the next attributes are not judged by it */
  bool stale;        /* somebody else changed it: data that is kept is not to be used after the next open */
  bool mixed;        /* since none was under way one has ended, or its ctime was moved, while others went on */
  bool untold;       /* since then one has ended that did not tell what it left */
  uint32_t inflight; /* changes of ours under way … */
  uint32_t deferred; /* … and of them, those that were answered before they were made (struct gi_reply.early) */
  uint64_t seq;      /* order.clock when one of them last began or ended */
  uint64_t looked;   /* order.locks of the last lock for which it was looked at */
  uint64_t judged;   /* order.locks when attributes were last seen that tell whose changes there were */
  struct gi_trust_told found;    /* it, by a name */
  struct gi_trust_told nameless; /* that it has no name any more */
};

enum gi_trust_verdict {
  GI_TRUST_OURS,    /* nobody else has changed it */
  GI_TRUST_FOREIGN, /* somebody has: data that is kept is old */
  GI_TRUST_UNTOLD, /* it cannot be told: changes of ours are under way, it is seen for the first time, or it is another's attributes */
};

/* Attributes arrived that were asked for when the clock said `seq`. `of` is the inode they are wanted of. */
enum gi_trust_verdict gi_trust_attributes(const struct gi_trust_order *o, struct gi_trust *t, const struct gi_gfid *of,
                                          const struct gi_iatt *a, uint64_t seq);
/* Whether attributes are valid and of that inode: a reply about two says in each block which one it describes. */
bool gi_trust_describes(const struct gi_gfid *of, const struct gi_iatt *a);
/* Only the permissions of `a` are looked at: true if they are others than those known, which they replace. */
bool gi_trust_mode(struct gi_trust *t, const struct gi_gfid *of, const struct gi_iatt *a);

/* A change of ours begins: what to give to gi_trust_change_ended. */
uint64_t gi_trust_change_begins(struct gi_trust_order *o, struct gi_trust *t);

enum gi_trust_change_kind {
  GI_TRUST_CHANGE_FAILED,
  GI_TRUST_CHANGE_CTIME,   /* its ctime moved and nothing else */
  GI_TRUST_CHANGE_EMPTIED, /* its size is 0; it is not told what was left */
  GI_TRUST_CHANGE_TOLD,    /* `found` and `left` are what the reply says */
};
struct gi_trust_change {
  enum gi_trust_change_kind kind;
  const struct gi_iatt *found, *left; /* if they do not describe the inode nothing is learnt */
  bool elsewhere;                     /* it went to another place than it was meant for: somebody else was there */
  bool unordered;                     /* we are the only ones by declaration, so the bricks need not order changes */
  uint64_t until;                     /* how long `left` may be taken for what is there, gi_now */
};
/* False: somebody else has changed the inode. `began` is what gi_trust_change_begins gave. */
bool gi_trust_change_ended(struct gi_trust_order *o, struct gi_trust *t, const struct gi_gfid *of, uint64_t began,
                           const struct gi_trust_change *c);
/* A change of ours was answered early: it stays under way until gi_trust_written. Whoever keeps what the change wrote may use it. */
void gi_trust_change_deferred(struct gi_trust *t);
/* The oldest `changes` of those have ended (struct gi_written): `c` says what the first found and the last left, or that they are lost. Then
 * what is kept of their data is what nobody has: that is the business of whoever keeps it. As gi_trust_change_ended. */
bool gi_trust_written(struct gi_trust_order *o, struct gi_trust *t, const struct gi_gfid *of, uint32_t changes,
                      const struct gi_trust_change *c);
/* We moved its ctime and no more, at once. */
void gi_trust_touched(struct gi_trust_order *o, struct gi_trust *t);
/* The same, and we were told what that left, which may be taken for what is there until then. If it does not describe the inode, or shows
 * more than that change, nothing is learnt. */
void gi_trust_touched_to(struct gi_trust_order *o, struct gi_trust *t, const struct gi_gfid *of, const struct gi_iatt *left,
                         uint64_t until);

/* Somebody else changed it. Its data perhaps: the next attributes are the new truth. Else no more than its ctime: they are judged by the rest. */
void gi_trust_broken(struct gi_trust *t, bool data);
/* Attributes that arrive unasked show the data that is held: what they tell of has been seen already, or did not touch it. */
bool gi_trust_has_data(const struct gi_trust *t, const struct gi_gfid *of, const struct gi_iatt *a);
void gi_trust_forget(struct gi_trust *t); /* nothing is kept of it any more, so nothing can be old */

/* The attributes that may be taken for those it has, until *until (gi_now) if nothing happens; NULL: ask. */
const struct gi_iatt *gi_trust_answer(const struct gi_trust_order *o, const struct gi_trust *t, uint64_t now, uint64_t *until);
bool gi_trust_take_data(struct gi_trust *t); /* at an open: may data be kept that was read before? Asking is taking note. */
/* Nothing of ours has begun or ended since the clock said `seq`; `settled`: and nothing is under way. */
bool gi_trust_unmoved(const struct gi_trust *t, uint64_t seq);
bool gi_trust_settled(const struct gi_trust *t, uint64_t seq);

/* Locks: whether attributes were judged since the last one was granted; whether the inode is to be looked at for it, once. */
bool gi_trust_since_lock(const struct gi_trust_order *o, const struct gi_trust *t);
bool gi_trust_look_for_lock(const struct gi_trust_order *o, struct gi_trust *t);

/* Names. A process found the inode by a name; is this the same one, right after? Asked once. */
void gi_trust_found(struct gi_trust *t, uint32_t pid, uint64_t until);
bool gi_trust_just_found(struct gi_trust *t, uint32_t pid, uint64_t now);
/* A process was told that the inode has no name any more; does it come back because it means the inode itself? Asked once. */
void gi_trust_nameless(struct gi_trust *t, uint32_t pid, uint64_t until);
bool gi_trust_means_nameless(struct gi_trust *t, uint32_t pid, uint64_t now);
/* The inode known by one name was found by another, which is its only one: the known one is not to be trusted. */
bool gi_trust_name_moved(const char *known, const char *found, const struct gi_iatt *a);

#endif
