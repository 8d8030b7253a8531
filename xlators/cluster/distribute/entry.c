/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of files: CREATE, MKNOD, SYMLINK, UNLINK. A new file goes where
 * its name belongs, or, if there is no room or another place is preferred,
 * elsewhere with a linkto file where it belongs.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/extension.h"

#include <errno.h>
#include <fcntl.h>

/* ---- the layout is what it was ---- */

static void
guard_by_value(struct di *d, struct gi_fop *fop, const uint8_t range[DI_LAYOUT_BYTES])
{
  uint32_t name = (uint32_t)strlen(d->layout_key) + 1;
  GI_CLEANUP_FREE char *both = gi_alloc(name + DI_LAYOUT_BYTES);

  memcpy(both, d->layout_key, name);
  memcpy(both + name, range, DI_LAYOUT_BYTES);
  gi_dict_set_bin(gi_fop_xdata(fop), GI_PARENT_XATTR_KEY, both, name + DI_LAYOUT_BYTES);
}

void
di_guard(struct di *d, struct gi_fop *fop, const struct di_layout *l, unsigned child)
{
  uint8_t bytes[DI_LAYOUT_BYTES];

  GI_ASSERT(child < l->n);
  if (l->range[child].err)
    return;
  di_range_encode(&l->range[child], bytes);
  if (fop->kind == GI_FOP_SYMLINK || fop->kind == GI_FOP_LINK) { /* bricks of GlusterFS would keep what they do not look at */
    guard_by_value(d, fop, bytes);
    return;
  }
  gi_dict_set_bin(gi_fop_xdata(fop), d->layout_key, bytes, sizeof(bytes));
  gi_dict_set_str(gi_fop_xdata(fop), "glusterfs.preop.parent.key", d->layout_key);
}

void
di_unguard(struct di *d, struct gi_fop *fop)
{
  const char *const keys[] = {"glusterfs.preop.parent.key", d->layout_key, GI_PARENT_XATTR_KEY};

  if (!gi_dict_get(fop->xdata, keys[0]) && !gi_dict_get(fop->xdata, GI_PARENT_XATTR_KEY))
    return;
  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++)
    if (gi_dict_get(fop->xdata, keys[i]))
      gi_dict_del(gi_fop_xdata(fop), keys[i]);
}

bool
di_layout_refused(const struct gi_fop *reply)
{
  return reply->rsp.ret < 0 && gi_dict_get(reply->rsp.xdata, GI_LAYOUT_REFUSED_KEY);
}

/* ---- new files ---- */

/* It is asked for when it is used next. */
static void
renew_layout(struct di *d, const struct gi_inode *dir)
{
  struct di_layout *l = di_inode_of(d, dir)->layout;

  if (l)
    l->generation = d->generation - 1;
}

static void
know_new(struct di *d, struct gi_fop *fop, struct gi_xlator *child)
{
  if (fop->rsp.ret >= 0) {
    di_know_file(d, &fop->rsp.stat.gfid, child);
    if (fop->kind == GI_FOP_CREATE && fop->fd)
      di_opened(d, fop->fd, child);
  }
  di_parent_attrs(d, fop);
}

/* CREATE found a file that another client has made meanwhile, and emptied it where it was found. */
static bool
emptied_existing(const struct gi_fop *fop)
{
  struct gi_gfid ours;

  return fop->rsp.ret >= 0 && fop->kind == GI_FOP_CREATE && fop->args.flags & O_TRUNC && !(fop->args.flags & O_EXCL) &&
         gi_dict_get_gfid(fop->xdata, "gfid-req", &ours) && !gi_gfid_equal(&ours, &fop->rsp.stat.gfid);
}

/* It may be on the move. */
static enum gi_verdict
empty_existing(struct di *d, struct gi_fop *fop)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_TRUNCATE);
  int err;

  h->loc.gfid = fop->rsp.stat.gfid;
  err = di_do_from_top(d, h);
  gi_fop_unref(h);
  return err ? gi_fop_fail(fop, err) : GI_ANSWERED;
}

/* It is made on `child`, or was there. */
static enum gi_verdict
made(struct di *d, struct gi_fop *fop, unsigned child)
{
  know_new(d, fop, d->x->children[child]);
  return emptied_existing(fop) ? empty_existing(d, fop) : GI_ANSWERED;
}

/* A linkto file where the name belongs comes first: whoever looks finds nothing or all. */
static int
announce(struct di *d, struct gi_fop *fop, unsigned hashed, unsigned child)
{
  struct gi_iatt stat = {.uid = fop->caller.uid, .gid = fop->caller.gid, .mode = S_IFREG};

  if (!gi_dict_get_gfid(fop->xdata, "gfid-req", &stat.gfid) || gi_gfid_is_none(&stat.gfid))
    return EINVAL;
  return di_linkto_make(d, fop, &fop->loc, &stat, hashed, child);
}

/* Elsewhere than where the name belongs: both under the lock of the name, or a lookup between them takes the linkto for stale. */
static int
make_elsewhere(struct di *d, struct gi_fop *fop, unsigned hashed, unsigned child)
{
  struct di_locks locks = {0};
  int err;

  GI_ASSERT(hashed != child);
  err = di_lock_name(d, fop, &locks, hashed, &fop->loc);

  if (!err)
    err = announce(d, fop, hashed, child);
  if (!err) {
    err = di_pass(d, fop, child);
    if (err)
      GI_IGNORE(di_linkto_remove(d, fop, &fop->loc, hashed, false)); /* then a lookup does */
  }
  di_unlock(d, fop, &locks);
  return err;
}

/* CREATE found a linkto file under the name: another client has made the file meanwhile. */
static bool
opened_linkto(const struct gi_fop *fop)
{
  const struct gi_iatt *a = &fop->rsp.stat;

  return fop->kind == GI_FOP_CREATE && (a->mode & 07777) == GI_LINKTO_MODE && a->size == 0 &&
         (fop->args.mode & 07777) != GI_LINKTO_MODE;
}

static enum gi_verdict
open_existing(struct di *d, struct gi_fop *fop)
{
  struct gi_iatt stat;
  struct gi_fop *h;
  int child, err = di_resolve(d, fop, &fop->loc, &child, &stat);

  if (!err && child < 0)
    err = EISDIR;
  if (err)
    return gi_fop_fail(fop, err);
  h = gi_fop_helper(fop, GI_FOP_OPEN);
  h->loc.gfid = stat.gfid;
  gi_fd_rebind(fop->fd, &stat.gfid);
  gi_fop_set_fd(h, fop->fd);
  h->args.flags = fop->args.flags & ~(uint32_t)(O_CREAT | O_EXCL);
  err = di_do_from_top(d, h);
  gi_fop_unref(h);
  if (err)
    return gi_fop_fail(fop, err);
  gi_fop_ok(fop, 0);
  fop->rsp.stat = stat;
  return GI_ANSWERED;
}

/* `child` refused it for an old layout; but a brick of it that had the old one still may have made it, and nobody would look there any more. */
static int
unmake(struct di *d, struct gi_fop *fop, unsigned child)
{
  struct gi_gfid ours;
  struct gi_fop *h;
  struct di_found f;
  bool failed, left;
  int err;

  if (!gi_dict_get_gfid(fop->xdata, "gfid-req", &ours))
    return 0;
  di_find(d, fop, &fop->loc, 1ull << child, &f);
  failed = f.failed;
  left = (f.file | f.linkto) && gi_gfid_equal(&gi_fan_reply(&f.ask.fan, child)->rsp.stat.gfid, &ours);
  di_found_end(&f);
  if (failed || !left)
    return failed ? ENOTCONN : 0;
  h = di_helper(fop, GI_FOP_UNLINK);
  gi_loc_copy_name(&h->loc, &fop->loc);
  gi_dict_set_gfid(gi_fop_xdata(h), GI_EXPECTED_KEY, &ours);
  err = di_do_drop(d, h, child);
  return di_is_gone(err) ? 0 : err;
}

/* `child` (-1: it has left) refused it for an old layout. Another client may have made it by that since it was looked for, and where it belongs
 * now nobody knows of that. GI_HELD: it can be made there. */
static enum gi_verdict
refused(struct di *d, struct gi_fop *fop, int child)
{
  int err = child < 0 ? 0 : unmake(d, fop, (unsigned)child);

  gi_reply_clear(&fop->rsp);
  if (!err)
    err = di_look_free(d, fop, &fop->loc, NULL);
  if (err == EEXIST && fop->kind == GI_FOP_CREATE && !(fop->args.flags & O_EXCL))
    return open_existing(d, fop);
  return err ? gi_fop_fail(fop, err) : GI_HELD;
}

static enum gi_verdict
make(struct di *d, struct gi_fop *fop)
{
  struct gi_inode *parent = gi_loc_parent(fop, &fop->loc);
  const struct di_layout *l;
  unsigned child, hashed;
  bool asked = false;
  enum gi_verdict v;
  int err;

  for (int again = 0;; again++) {
    err = di_hashed_get(d, fop, parent, fop->loc.name, &hashed);
    if (err)
      return gi_fop_fail(fop, err);
    l = di_inode_of(d, parent)->layout;
    child = fop->kind == GI_FOP_SYMLINK ? hashed : di_choose(d, l, hashed, fop->loc.name);
    di_guard(d, fop, l, child);
    gi_reply_clear(&fop->rsp);
    err = child == hashed ? di_pass(d, fop, child) : make_elsewhere(d, fop, hashed, child);
    di_unguard(d, fop);
    if (!err && opened_linkto(fop))
      return open_existing(d, fop);
    if (!err)
      return made(d, fop, child);
    if (err == EEXIST && !asked) {
      asked = true;
      err = di_is_free(d, fop, &fop->loc);
      if (!err)
        continue; /* a linkto file that led nowhere was in the way */
      if (err != EEXIST)
        return gi_fop_fail(fop, err);
    }
    if ((!di_layout_refused(fop) && err != EAGAIN) || again == DI_ATTEMPTS)
      break;
    renew_layout(d, parent); /* it is another one now */
    if (di_layout_refused(fop)) {
      v = refused(d, fop, (int)child);
      if (v != GI_HELD)
        return v;
    }
  }
  if (fop->rsp.ret < 0 && fop->rsp.err == err)
    return made(d, fop, child);
  return gi_fop_fail(fop, err);
}

/* It was refused for an old layout. */
static enum gi_verdict
make_anew(struct di *d, struct gi_fop *fop)
{
  enum gi_verdict v = refused(d, fop, di_index(d, di_fop_of(fop, d)->to));

  return v == GI_HELD ? make(d, fop) : v;
}

/* It was refused because something has the name. */
static enum gi_verdict
make_if_free(struct di *d, struct gi_fop *fop)
{
  int err = di_is_free(d, fop, &fop->loc);

  return err ? gi_fop_fail(fop, err) : make(d, fop);
}

/* As a rule one message, and nothing to wait for here. */
static enum gi_verdict
make_fast(struct di *d, struct gi_fop *fop)
{
  const struct di_layout *l = di_layout_known(d, gi_loc_parent(fop, &fop->loc));
  int hashed = l ? di_hashed(d, l, fop->loc.name) : -1;

  di_space_refresh(d, fop);
  if (hashed < 0 || (fop->kind != GI_FOP_SYMLINK && di_choose(d, l, (unsigned)hashed, fop->loc.name) != (unsigned)hashed))
    return di_run(d, fop, make);
  di_guard(d, fop, l, (unsigned)hashed);
  di_fop_of(fop, d)->to = d->x->children[hashed];
  gi_fop_forward_tell_to(fop, d->x, d->x->children[hashed]);
  return GI_HELD;
}

enum gi_verdict
di_create(struct gi_xlator *x, struct gi_fop *fop)
{
  return make_fast(di_of(x), fop);
}

enum gi_verdict
di_mknod(struct gi_xlator *x, struct gi_fop *fop)
{
  return make_fast(di_of(x), fop);
}

enum gi_verdict
di_symlink(struct gi_xlator *x, struct gi_fop *fop)
{
  return make_fast(di_of(x), fop);
}

enum gi_verdict
di_create_done(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);

  di_unguard(d, fop);
  if (di_layout_refused(fop)) {
    renew_layout(d, fop->loc.parent);
    return di_run(d, fop, make_anew);
  }
  if (fop->rsp.ret >= 0 && opened_linkto(fop))
    return di_run(d, fop, open_existing);
  if (fop->rsp.ret < 0 && fop->rsp.err == EEXIST)
    return di_run(d, fop, make_if_free);
  know_new(d, fop, di_fop_of(fop, d)->to);
  return emptied_existing(fop) ? di_run(d, fop, empty_existing) : GI_PASS;
}

/* ---- UNLINK ---- */

/* The brick refuses if the name leads to another object by now: a linkto file that a rename has put there is not what is to go. Who asked
 * may have said already which object is meant. */
static void
expect(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid)
{
  struct di_fop *df = di_fop_of(fop, d);

  GI_ASSERT(!gi_gfid_is_none(gfid));
  if (!df->expects && gi_dict_get(fop->xdata, GI_EXPECTED_KEY))
    return;
  df->expects = true;
  gi_dict_set_gfid(gi_fop_xdata(fop), GI_EXPECTED_KEY, gfid);
}

/* Who asked means another object than has the name now. */
static bool
means_another(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid)
{
  struct gi_gfid want;

  return !di_fop_of(fop, d)->expects && gi_dict_get_gfid(fop->xdata, GI_EXPECTED_KEY, &want) && !gi_gfid_equal(&want, gfid);
}

/* The file first: a linkto file that is left over is found to lead nowhere, a file without one is found everywhere. `careful`: also where the
 * name seems to belong it may be on the move, by a layout that is not known yet. *again: what has the name has to be found out once more. */
static int
unlink_once(struct di *d, struct gi_fop *fop, bool careful, bool *again)
{
  const struct di_layout *l;
  struct di_locks locks = {0};
  struct gi_iatt stat;
  int child, hashed, arrived = -1, err = di_resolve(d, fop, &fop->loc, &child, &stat);

  *again = false;
  if (!err && child < 0)
    err = EISDIR;
  if (!err && means_another(d, fop, &stat.gfid))
    err = ESTALE;
  if (!err)
    err = di_note_hinders(d, &stat.gfid);
  if (!err)
    err = di_layout_get(d, fop, gi_loc_parent(fop, &fop->loc), &l);
  if (err)
    return err;
  hashed = di_hashed(d, l, fop->loc.name);
  if (hashed < 0 && d->up != di_all(d))
    return ENOTCONN; /* it belongs to one that is down, which may have a linkto file */
  careful = careful || hashed != child;
  if (hashed >= 0 && careful)
    err = di_lock_name(d, fop, &locks, (unsigned)hashed, &fop->loc);
  if (!err && careful)
    err = di_arrived_at(d, fop, &stat.gfid, (unsigned)child, &arrived);
  if (arrived >= 0)
    err = EAGAIN;
  *again = err == EAGAIN;
  if (!err) {
    expect(d, fop, &stat.gfid);
    if (careful)
      gi_dict_set_uint(gi_fop_xdata(fop), GI_MOVING_KEY, 1);
    err = di_pass(d, fop, (unsigned)child);
    *again = di_is_gone(err);
  }
  if (!err && hashed >= 0 && hashed != child)
    GI_IGNORE(di_linkto_remove(d, fop, &fop->loc, (unsigned)hashed, false)); /* then a lookup does */
  di_unlock(d, fop, &locks);
  if (arrived >= 0)
    di_end_move(d, fop, &stat.gfid, (unsigned)arrived);
  return err;
}

static enum gi_verdict
unlink_patiently(struct di *d, struct gi_fop *fop, bool careful)
{
  bool again = true;
  int err = 0;

  for (unsigned i = 0; again && i < DI_ATTEMPTS; i++) {
    gi_reply_clear(&fop->rsp);
    err = unlink_once(d, fop, careful, &again);
    careful = true;
  }
  return di_end(d, fop, err);
}

static enum gi_verdict
unlink_name(struct di *d, struct gi_fop *fop)
{
  return unlink_patiently(d, fop, false);
}

static enum gi_verdict
unlink_carefully(struct di *d, struct gi_fop *fop)
{
  return unlink_patiently(d, fop, true);
}

enum gi_verdict
di_unlink(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);
  const struct di_layout *l = di_layout_known(d, gi_loc_parent(fop, &fop->loc));
  int hashed = l ? di_hashed(d, l, fop->loc.name) : -1;

  /* The object is known, and it is where the name belongs. */
  if (hashed >= 0 && fop->loc.inode && di_inode_of(d, fop->loc.inode)->cached == x->children[hashed] &&
      !di_inode_of(d, fop->loc.inode)->noted) {
    expect(d, fop, &fop->loc.inode->gfid);
    gi_fop_forward_tell_to(fop, x, x->children[hashed]);
    return GI_HELD;
  }
  return di_run(d, fop, unlink_name);
}

enum gi_verdict
di_unlink_done(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);

  if (fop->rsp.ret < 0 && di_is_gone(fop->rsp.err))
    return di_run(d, fop, unlink_carefully);
  di_parent_attrs(d, fop);
  return GI_PASS;
}
