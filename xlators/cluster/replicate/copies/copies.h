/* SPDX-License-Identifier: Apache-2.0
 *
 * The copies of an object: the counters that say who missed what (changelog.c),
 * which copies may be read and how that is learnt (readable.c), which of
 * those a read goes to (choose.c), and what of it observers are told (ask.c).
 */
#ifndef REP_COPIES_COPIES_H
#define REP_COPIES_COPIES_H

#include "xlators/cluster/replicate/set/set.h"

/* ---- changelog.c ---- */
/* What a set of replies says about the copies (replicate.md 5.1) */
struct rep_verdict {
  uint32_t data_accused, meta_accused;
  uint32_t data_readable, meta_readable;
  uint32_t outdated; /* copies that may have missed what was acknowledged, also where all are accused; 0: that is not known */
  bool data_dirty;   /* a data session is not over yet, or ended without telling what came of it */
};
/* Sets one counter xattr: its three slots. */
void rep_marks_set(struct gi_dict *d, const char *key, const int32_t slot[REP_TYPES]);
bool rep_marks_slot(const struct gi_dict *dict, const char *key, enum rep_type type, int32_t *value);
/* Children that the counters of one brick accuse in `type`. */
uint32_t rep_marks_accused(const struct rep *rep, const struct gi_dict *counters, enum rep_type type);
void rep_marks_judge(const struct rep *rep, const struct gi_fan *fan, uint32_t ok, bool locked, struct rep_verdict *v);
/* A changelog dict: pending[j] = value in `type` for each j of `blame`, zero for others; dirty += dirty (0: zero value). */
struct gi_dict *rep_marks_dict(const struct rep *rep, uint32_t blame, enum rep_type type, int32_t dirty);
struct gi_dict *rep_marks_new_object(const struct rep *rep, uint32_t blame, uint32_t mode, bool granular);
void rep_marks_request(const struct rep *rep, struct gi_dict *xdata); /* asks for every counter in a lookup or fstat */
bool rep_marks_private_xattr(const char *name);                       /* trusted.afr.*: never shown nor set from above */
void rep_marks_strip(const struct rep *rep, struct gi_dict *dict);
void rep_marks_init(struct rep *rep);
void rep_marks_finish(struct rep *rep);

/* ---- readable.c ---- */
/* Readable copies of `inode` for a fop (entries: of a directory's names), without regard to who is up. */
uint32_t rep_readable(const struct rep *rep, struct gi_inode *inode, bool entries);
bool rep_inode_fresh(const struct rep *rep, struct gi_inode *inode);
void rep_inode_type(struct gi_inode *inode, uint32_t mode); /* remembers the S_IFMT bits */
/* `generation` and `distrusts` are those of the set when the question was sent. */
void rep_inode_learn(const struct rep *rep, struct gi_inode *inode, const struct rep_verdict *v, uint32_t generation,
                     uint32_t distrusts);
/* The same from the replies that succeeded, which have the attributes and what rep_marks_request asks for. At least one did. */
void rep_inode_learn_replies(struct rep *rep, struct gi_inode *inode, const struct gi_fan *fan, uint32_t generation,
                             uint32_t distrusts);
/* The copies of `bad` missed a change: they are not read any more. */
void rep_inode_distrust(struct rep *rep, struct gi_inode *inode, enum rep_type type, uint32_t bad);
/* The counters in a reply to a change blame `accused`: likewise, if that is new. Names are left alone: all copies are asked for them. */
void rep_inode_found_accused(struct rep *rep, struct gi_inode *inode, enum rep_type type, uint32_t accused);
/* Asks all children for the counters of the inode; then fop's resume(fop, 0 or errno). */
void rep_refresh(struct rep *rep, struct gi_fop *fop, struct gi_inode *inode, void (*resume)(struct gi_fop *fop, int err));

/* ---- choose.c ---- */
int rep_read_child(const struct rep *rep, struct gi_inode *inode, const struct gi_fop *fop, uint32_t candidates); /* -1: none */
/* The same for what the name in a LOOKUP will turn out to be. */
int rep_read_child_of_name(const struct rep *rep, const struct gi_fop *fop, uint32_t candidates);
/* The copy that tells the attributes of an object of which every copy is accused, before a heal or a user has chosen: the user must reach
 * the object to choose. One of `among` with good metadata, or any; of those one that a heal may choose; -1: none. */
int rep_any_attributes(const struct rep *rep, struct gi_inode *inode, uint32_t among);

/* ---- ask.c ---- */
void rep_ask(struct gi_xlator *x, struct gi_question *q);

#endif
