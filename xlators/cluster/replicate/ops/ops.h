/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations: a handler per kind, and the tables by which transactions carry
 * out those that change something.
 */
#ifndef REP_OPS_OPS_H
#define REP_OPS_OPS_H

#include "xlators/cluster/replicate/heal/heal.h"
#include "xlators/cluster/replicate/txn/txn.h"

/* ---- what the class calls ---- */
gi_fop_fn rep_on_lookup, rep_on_read, rep_on_getxattr, rep_on_statfs, rep_on_readdir, rep_on_opendir;
gi_fop_fn rep_on_open, rep_on_flush, rep_on_fsyncdir, rep_on_everywhere, rep_on_unsupported;
gi_fop_fn rep_on_data, rep_on_meta, rep_on_entry, rep_on_copy;
gi_fop_fn rep_on_lk, rep_on_internal_lock;
extern const struct rep_txn_ops rep_data_ops, rep_meta_ops, rep_entry_ops;

/* ---- read.c ---- */
/* The errno is about the child itself: another one may do better. */
bool rep_child_failed(int err);
/* The fop on one readable child, with failover (replicate.md 5.2). `entries`: it reads the names of a directory. */
void rep_read_start(struct rep *rep, struct gi_fop *fop, bool entries);

/* ---- split-brain.c ---- */
void rep_split_init(struct rep *rep);
bool rep_split_get(struct rep *rep, struct gi_fop *fop); /* true: it was one of these attributes, and is held or answered */
bool rep_split_set(struct rep *rep, struct gi_fop *fop);
int rep_split_choice(const struct rep *rep, struct gi_inode *inode); /* the child to read from in spite of all; -1: none */

/* ---- open.c ---- */
/* Opens the fd on children that came back; then resume(fop, 0). Calls it at once when there is nothing to do. */
void rep_late_open(struct rep *rep, struct gi_fop *fop, void (*resume)(struct gi_fop *fop, int err));
/* What opens the file at a child and truncates it, as an operation of a transaction. */
struct gi_fop *rep_open_truncating(struct rep *rep, struct gi_fop *fop, unsigned child, struct gi_dict *xdata);
struct gi_dict *rep_without_content(struct gi_dict *xdata); /* it asks for none; referenced */
/* A CREATE with O_TRUNC: one without it, and a data transaction if the file turns out to have existed. Answers the fop. */
void rep_create_truncating(struct rep *rep, struct gi_fop *fop);

/* ---- lk.c ---- */
void rep_lk_cancel(struct rep *rep, struct gi_fop *fop);

/* ---- new-brick.c ---- */

/* Takes the fop if it is the management's word that a child has a new brick; it is answered later. */
bool rep_new_brick_command(struct rep *rep, struct gi_fop *fop);

/* ---- held.c ---- */
void rep_held_news(struct rep *rep, unsigned child, struct gi_lock_news *news);

/* ---- data.c, metadata.c, entry.c ---- */
struct gi_gfid rep_requested_gfid(const struct gi_fop *fop); /* what is to be made; none: the client does not say */

void rep_data_submit(struct rep *rep, struct gi_fop *fop); /* opens the fd where it is missing, then rep_session_submit */
/* The copy of a WRITE for the arbiter: one byte stands for the data (replicate.md 8). */
void rep_data_shorten(struct gi_fop *write);
void rep_op_send(struct rep_txn *t, struct gi_fop *fop, void (*done)(struct gi_fan *fan)); /* data, metadata */

/* ---- copy.c ---- */

void rep_copy_send(struct rep_txn *t, struct gi_fop *fop, void (*done)(struct gi_fan *fan));
bool rep_copy_targets(struct rep_txn *t, struct gi_fop *fop); /* the source is locked too; false: it is another kind */

#endif
