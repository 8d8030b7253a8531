/* SPDX-License-Identifier: Apache-2.0
 *
 * RENAME of a directory, which is on all subvolumes: all must be up. It begins
 * where the new name belongs, and is decided when it is done there; if another
 * subvolume then refuses, those that have done it are told to rename it back.
 *
 * Who is killed, or loses a subvolume, leaves different names on them. The
 * directory carries a note meanwhile (rename-note.c), and a lookup that finds it
 * ends the rename. Until then nothing is made under a name where it is missing.
 * The note goes when the new name is on the disks: a subvolume that went back to
 * the old one with its power would keep it, as nobody would know which counts.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/extension.h"
#include "libglusterish/log.h"

#include <errno.h>

/* 0: the old name is what it was on the subvolume that decides, and nobody can change that now. EAGAIN: it is not; ENOTCONN: that cannot say. */
static int
unchanged(struct di *d, struct gi_fop *fop, const struct gi_iatt *src, unsigned first)
{
  struct di_found f;
  int err;

  di_find(d, fop, &fop->loc, 1ull << first, &f);
  err = f.failed ? ENOTCONN : di_found_of(&f, &src->gfid) ? 0 : EAGAIN;
  di_found_end(&f);
  return err;
}

/* Of subvolumes that say that it is missing: where it goes may be, on one that came later, and then that keeps the old name. Where it is missing
 * itself a lookup makes it, under the new one. */
static bool
keeps_old_name(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, uint64_t mask)
{
  struct di_found f;
  bool keeps;

  di_find(d, fop, &fop->loc, mask, &f);
  keeps = di_found_of(&f, gfid) || f.failed;
  di_found_end(&f);
  return keeps;
}

/* EAGAIN: it was not known that the directory is missing somewhere; ESTALE: it cannot be made there, as nobody knows its path: who has looked that
 * up once more may try again. */
static int
looks_again(struct di *d, const struct gi_inode *into)
{
  int err = di_is_complete(d, into) ? EAGAIN : ESTALE;

  di_layout_stale(d, into, di_layout_known(d, into));
  return err;
}

/* *over: it has one name on all subvolumes, whatever became of it. `replaced`: what had the new name, or NULL; if it comes to nothing all have that
 * again. */
static int
rename_all(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, const struct gi_iatt *replaced, unsigned first,
           bool *over)
{
  GI_ASSERT(d->spread && first < d->n);

  struct di_ask ask;
  uint64_t did, done;
  int err;

  gi_dict_set_int(gi_fop_xdata(fop), GI_DURABLE_KEY, 1);
  err = di_pass(d, fop, first);
  *over = err != ENOTCONN;
  if (err)
    return err;
  di_ask_copy(d, &ask, fop, di_all(d) & ~(1ull << first));
  err = di_ask_refusal(&ask);
  if (!err && ask.fan.failed && keeps_old_name(d, fop, gfid, ask.fan.failed))
    err = looks_again(d, fop->loc2.parent);
  did = ask.fan.ok | 1ull << first;
  if (err && err != ENOTCONN) {
    GI_IGNORE(di_rename_dir_on(d, fop, did, true, &done)); /* looked at below */
    if (replaced && done)
      di_make_again(d, fop, &fop->loc2, replaced, done, di_all(d) & ~did);
  }
  if (err)
    *over = err != ENOTCONN && di_rename_dir_end(d, fop, gfid, (int)first) == 0;
  di_ask_end(&ask);
  return err;
}

/* Under the locks of both names. */
static int
rename_noted(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, const struct gi_iatt *replaced, unsigned first)
{
  bool over;
  int err = di_note_make_all(d, fop, gfid, first);

  if (err)
    return err;
  err = rename_all(d, fop, gfid, replaced, first, &over);
  if (over)
    di_note_drop_all(d, fop, gfid);
  return err;
}

enum gi_verdict
di_rename_dir(struct di *d, struct gi_fop *fop, const struct gi_iatt *src, const struct gi_iatt *dst, unsigned src_hashed,
              unsigned dst_hashed)
{
  struct di_locks locks = {0};
  struct gi_inode *inode;
  int err = 0;

  if (d->up != di_all(d))
    return gi_fop_fail(fop, ENOTCONN);
  if (dst && !S_ISDIR(dst->mode))
    return gi_fop_fail(fop, ENOTDIR);
  if (dst && gi_gfid_equal(&dst->gfid, &src->gfid)) {
    fop->rsp.stat = *src;
    return gi_fop_ok(fop, 0);
  }
  if (dst)
    err = di_dir_empty(d, fop, dst);
  if (!err)
    err = di_lock_names(d, fop, &locks, src_hashed, dst_hashed);
  if (!err)
    err = unchanged(d, fop, src, dst_hashed);
  if (!err)
    err = rename_noted(d, fop, &src->gfid, dst, dst_hashed);
  di_unlock(d, fop, &locks);
  if (err)
    return gi_fop_fail(fop, err);
  inode = gi_inode_get(d->x->graph, &src->gfid);
  di_keep_name(di_inode_of(d, inode), &fop->loc2);
  gi_inode_unref(&inode);
  di_dir_attr(&fop->rsp.stat);
  di_parent_attrs(d, fop);
  return GI_ANSWERED;
}
