/* SPDX-License-Identifier: Apache-2.0
 *
 * MKDIR and RMDIR. A directory is on every subvolume with the same gfid. The
 * one where its name belongs decides: it is made there first and removed there
 * last, under the lock of the name.
 */
#include "xlators/cluster/distribute/di.h"

#include <errno.h>
#include <fcntl.h>

/* ---- MKDIR ---- */

static struct gi_fop *
mkdir_fop(struct di *d, struct gi_fop *fop, const struct di_layout *l, unsigned child, bool counts)
{
  struct gi_fop *h = gi_fop_child(fop);
  uint8_t bytes[DI_LAYOUT_BYTES];

  GI_ASSERT(child < l->n && l->n == d->n);
  di_range_encode(&l->range[child], bytes);
  gi_dict_set_bin(gi_fop_xdata(h), d->layout_key, bytes, sizeof(bytes));
  if (counts)
    gi_dict_set_bin(gi_fop_xdata(h), d->mds_key, "\0\0\0\0", 4);
  return h;
}

/* On the other subvolumes, each with its part of the layout. Those that failed are in the result: the next lookup heals. */
static uint64_t
mkdir_others(struct di *d, struct gi_fop *fop, const struct di_layout *l, unsigned hashed)
{
  struct di_ask ask;
  uint64_t failed;

  di_ask_begin(d, &ask);
  di_foreach(i, di_all(d) & ~(1ull << hashed)) di_ask_send(d, &ask, mkdir_fop(d, fop, l, (unsigned)i, false), (unsigned)i);
  di_ask_wait(d, &ask);
  failed = ask.fan.failed;
  di_ask_end(&ask);
  return failed;
}

static void
keep_new(struct di *d, struct gi_fop *fop, struct di_layout *l, unsigned hashed, uint64_t failed)
{
  struct gi_inode *inode = gi_inode_get(d->x->graph, &fop->rsp.stat.gfid);
  struct di_inode *i = di_inode_of(d, inode);

  GI_ASSERT(!(failed >> hashed & 1));
  di_foreach(k, failed) l->range[k] = (struct di_range){.err = ENOENT};
  di_layout_check(l);
  di_keep_layout(d, i, l);
  if (failed)
    l->generation--; /* asked for, and healed, when it is next used */
  i->mds = (int8_t)(hashed + 1);
  di_keep_name(i, &fop->loc);
  i->mtime = fop->rsp.stat.mtime;
  i->ctime = fop->rsp.stat.ctime;
  gi_inode_unref(&inode);
  di_dir_attr(&fop->rsp.stat);
  di_parent_attrs(d, fop);
}

static enum gi_verdict
make(struct di *d, struct gi_fop *fop)
{
  struct di_locks locks = {0};
  struct di_layout *l;
  struct gi_fop *h;
  struct gi_gfid gfid;
  uint64_t failed = 0;
  unsigned hashed;
  int err = di_hashed_complete(d, fop, &fop->loc, &hashed);

  if (err)
    return gi_fop_fail(fop, err);
  if (!gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid) || gi_gfid_is_none(&gfid))
    return gi_fop_fail(fop, EINVAL);
  /* As long as it has this layout every file elsewhere has a linkto file. */
  l = di_layout_make(d, fop, &fop->loc, &gfid, d->up | 1ull << hashed, d->stamp > DI_NO_COMMIT ? d->stamp : 0, NULL);
  err = di_lock_name(d, fop, &locks, hashed, &fop->loc);
  if (!err) {
    h = mkdir_fop(d, fop, l, hashed, true);
    err = di_do(d, h, hashed);
    gi_reply_move(fop, h);
    gi_fop_unref(h);
  }
  if (!err)
    failed = mkdir_others(d, fop, l, hashed);
  di_unlock(d, fop, &locks);
  if (err) {
    gi_free(l);
    di_parent_attrs(d, fop);
    return gi_fop_fail(fop, err);
  }
  if (!gi_gfid_equal(&fop->rsp.stat.gfid, &gfid)) {
    gi_free(l);
    return gi_fop_fail(fop, EIO); /* something else was made */
  }
  keep_new(d, fop, l, hashed, failed);
  return GI_ANSWERED;
}

/* The layout is another one, or a linkto file that leads nowhere was in the way. */
static bool
may_try_again(struct di *d, struct gi_fop *fop, int attempt)
{
  if (fop->rsp.err == EEXIST && fop->kind == GI_FOP_MKDIR && attempt == 1) {
    int err = di_is_free(d, fop, &fop->loc);

    if (err && err != EEXIST)
      gi_fop_fail(fop, err);
    return !err;
  }
  return fop->rsp.err == EAGAIN;
}

static enum gi_verdict
patiently(struct di *d, struct gi_fop *fop, di_task_fn *fn)
{
  enum gi_verdict v = fn(d, fop);

  for (int i = 1; i < DI_ATTEMPTS && fop->rsp.ret < 0 && may_try_again(d, fop, i); i++) {
    gi_reply_clear(&fop->rsp);
    v = fn(d, fop);
  }
  return v;
}

static enum gi_verdict
make_patiently(struct di *d, struct gi_fop *fop)
{
  return patiently(d, fop, make);
}

enum gi_verdict
di_mkdir(struct gi_xlator *x, struct gi_fop *fop)
{
  return di_run(di_of(x), fop, make_patiently);
}

/* ---- opened on the subvolumes that are asked ---- */

static struct gi_fd *
dir_fd(struct di *d, struct gi_fop *fop, struct gi_inode *dir)
{
  struct gi_fd *fd = gi_fd_new(d->x->graph, dir, O_RDONLY | O_DIRECTORY, fop->caller.pid);

  fd->directory = true;
  return fd;
}

/* ---- is it empty? ---- */

#define LIST_BYTES 65536

struct emptying {
  struct di *d;
  struct gi_fop *fop;
  struct gi_inode *dir;
  unsigned child;
};

/* Under its lock: does any subvolume have the name, but as a linkto file? */
static int
leads_nowhere(const struct emptying *m, const struct gi_loc *loc)
{
  struct di_found f;
  int err;

  di_find(m->d, m->fop, loc, di_all(m->d), &f);
  err = f.file || f.dir ? ENOTEMPTY : f.failed ? ENOTCONN : 0;
  di_found_end(&f);
  return err;
}

/* A linkto file in a directory where no subvolume had a file: it may be about to get one, from who makes, renames or moves it. */
static int
remove_linkto(const struct emptying *m, const struct gi_dirent *e)
{
  char name[GI_NAME_MAX + 1];
  struct gi_loc loc = {.pargfid = m->dir->gfid, .parent = m->dir, .name = name};
  struct di_locks locks = {0};
  unsigned hashed;
  int err;

  if (!di_entry_name(e, name))
    return ENOTEMPTY;
  err = di_hashed_get(m->d, m->fop, m->dir, name, &hashed);
  if (!err)
    err = di_lock_name(m->d, m->fop, &locks, hashed, &loc);
  if (!err)
    err = leads_nowhere(m, &loc);
  if (!err)
    err = di_linkto_remove(m->d, m->fop, &loc, m->child, false);
  di_unlock(m->d, m->fop, &locks);
  return err == EBUSY ? ENOTEMPTY : err == ENOENT ? 0 : err;
}

static int
look_through(const struct emptying *m, struct gi_fop *reply, bool remove)
{
  for (uint32_t i = 0; i < reply->rsp.entries.count; i++) {
    const struct gi_dirent *e = &reply->rsp.entries.entry[i];
    int err;

    if (gi_dirent_is_dot(e))
      continue;
    if (!di_tells_linkto(m->d, &e->stat, e->xdata))
      return ENOTEMPTY;
    err = remove ? remove_linkto(m, e) : 0;
    if (err)
      return err;
  }
  return 0;
}

/* Lists one subvolume from the beginning; `remove`: linkto files too. */
static int
empty_on(const struct emptying *m, struct gi_fd *fd, bool remove)
{
  uint64_t off = 0;

  GI_ASSERT(fd->directory && m->child < m->d->n);
  for (;;) {
    struct gi_fop *h = di_helper(m->fop, GI_FOP_READDIRP);
    uint32_t n;
    int err;

    gi_fop_set_fd(h, fd);
    h->args.size = LIST_BYTES;
    h->args.offset = off;
    gi_dict_set_int(gi_fop_xdata(h), m->d->linkto_key, 256);
    err = di_do(m->d, h, m->child);
    if (!err)
      err = look_through(m, h, remove);
    n = h->rsp.entries.count;
    bool end = n == 0 || h->rsp.err == ENOENT;

    if (!err && !end && h->rsp.entries.entry[n - 1].off == off)
      err = EIO; /* it would go on for ever */
    if (n)
      off = h->rsp.entries.entry[n - 1].off;

    gi_fop_unref(h);
    if (err || end)
      return err;
  }
}

int
di_dir_empty(struct di *d, struct gi_fop *fop, const struct gi_iatt *stat)
{
  struct gi_inode *dir = gi_inode_get(d->x->graph, &stat->gfid);
  struct gi_fd *fd = dir_fd(d, fop, dir);
  struct gi_fop *h = di_helper(fop, GI_FOP_OPENDIR);
  struct di_ask ask;
  uint64_t opened;
  int err = 0;

  gi_fop_set_fd(h, fd);
  di_ask_copy(d, &ask, h, di_all(d));
  opened = ask.fan.ok;
  err = di_ask_refusal(&ask);
  di_ask_end(&ask);
  gi_fop_unref(h);
  /* All are looked through before anything is removed: a linkto file of a file that is there must stay. */
  for (int remove = 0; remove < 2 && !err; remove++)
    for (unsigned i = 0; i < d->n && !err; i++) {
      struct emptying m = {d, fop, dir, i};

      if (opened >> i & 1)
        err = empty_on(&m, fd, remove);
    }
  gi_fd_unref(&fd);
  gi_inode_unref(&dir);
  return err;
}

/* ---- on the disks ---- */

int
di_dir_sync(struct di *d, struct gi_fop *fop, const struct gi_loc *entry, unsigned child)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_OPENDIR, GI_FOP_FSYNCDIR};
  struct gi_inode *dir = entry->parent;
  struct gi_fd *fd;
  int err = 0;

  GI_ASSERT(dir && child < d->n);
  fd = dir_fd(d, fop, dir);
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds) && !err; i++) {
    struct gi_fop *h = di_helper(fop, kinds[i]);

    gi_fop_set_fd(h, fd);
    err = di_do_drop(d, h, child);
  }
  gi_fd_unref(&fd);
  return err == ENOENT ? ESTALE : err; /* the directory, not a name in it */
}

/* ---- RMDIR ---- */

/* From all, at last from where the name belongs. That may have missed it: then it is gone when it has left the others. */
static int
remove_all(struct di *d, struct gi_fop *fop, unsigned hashed)
{
  struct di_ask ask;
  int err = 0;

  di_ask_begin(d, &ask);
  di_foreach(i, di_all(d) & ~(1ull << hashed)) di_ask_send(d, &ask, gi_fop_child(fop), (unsigned)i);
  di_ask_wait(d, &ask);
  err = di_ask_refusal(&ask);
  if (!err)
    err = di_pass(d, fop, hashed);
  if (err == ENOENT && ask.fan.ok) {
    gi_reply_move(fop, gi_fan_reply(&ask.fan, (unsigned)__builtin_ctzll(ask.fan.ok)));
    err = 0;
  }
  di_ask_end(&ask);
  return err;
}

static enum gi_verdict
removal(struct di *d, struct gi_fop *fop)
{
  struct di_locks locks = {0};
  struct gi_iatt stat;
  unsigned hashed;
  int err = di_hashed_get(d, fop, gi_loc_parent(fop, &fop->loc), fop->loc.name, &hashed), child;

  if (err)
    return gi_fop_fail(fop, err);
  if (d->up != di_all(d))
    return gi_fop_fail(fop, ENOTCONN);
  err = di_resolve(d, fop, &fop->loc, &child, &stat);
  if (!err && child >= 0)
    err = ENOTDIR;
  if (!err)
    err = di_dir_empty(d, fop, &stat);
  if (!err)
    err = di_lock_name(d, fop, &locks, hashed, &fop->loc);
  if (!err)
    err = remove_all(d, fop, hashed);
  di_unlock(d, fop, &locks);
  return di_end(d, fop, err);
}

static enum gi_verdict
remove_patiently(struct di *d, struct gi_fop *fop)
{
  return patiently(d, fop, removal);
}

enum gi_verdict
di_rmdir(struct gi_xlator *x, struct gi_fop *fop)
{
  return di_run(di_of(x), fop, remove_patiently);
}
