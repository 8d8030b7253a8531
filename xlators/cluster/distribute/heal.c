/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories that are not the same on all subvolumes are brought in order when
 * somebody looks them up: made where they are missing, given the attributes
 * that count, and a layout if they have none that covers all hashes.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/extension.h"
#include "libglusterish/log.h"
#include "libglusterish/mutants.h"

#include <errno.h>
#include <stdio.h>

/* ---- a new layout ---- */

#define PATH_MAX_BYTES 4096

/* The path of a directory from what is known of its ancestors, written from the end of `buf`; NULL: one is not known. */
static const char *
path_of(const struct di *d, const struct gi_gfid *parent, const char *name, char buf[PATH_MAX_BYTES])
{
  char *p = buf + PATH_MAX_BYTES - 1;
  struct gi_gfid at = *parent;

  GI_ASSERT(name && *name);
  *p = '\0';
  for (;;) {
    size_t len = strlen(name);
    struct gi_inode *inode;
    const struct di_inode *i;

    if (len + 1 > (size_t)(p - buf))
      return NULL;
    p -= len;
    memcpy(p, name, len);
    *--p = '/';
    if (gi_gfid_is_root(&at))
      return p;
    inode = gi_inode_find(d->x->graph, &at);
    if (!inode)
      return NULL;
    i = di_inode_of(d, inode); /* stays: nothing is forgotten before this returns */
    gi_inode_unref(&inode);
    if (!i->name)
      return NULL;
    at = i->parent;
    name = i->name;
  }
}

uint32_t
di_layout_start(const struct di *d, const struct gi_loc *loc, const struct gi_gfid *gfid)
{
  char text[GI_UUID_TEXT], buf[PATH_MAX_BYTES];
  const char *path = gi_gfid_is_root(gfid) ? "/" : NULL;
  struct gi_gfid parent = loc->parent ? loc->parent->gfid : loc->pargfid;

  if (!path && loc->name && !di_opts(d)->randomize)
    path = path_of(d, &parent, loc->name, buf);
  if (!path || di_opts(d)->randomize)
    path = gi_gfid_text(gfid, text);
  return di_hash_name(&d->munge, path);
}

struct di_layout *
di_layout_make(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_gfid *gfid, uint64_t mask,
               uint32_t commit, const struct di_layout *old)
{
  const char *names[DI_MAX];
  uint64_t weight[DI_MAX];
  struct di_layout *l = di_layout_new(d->n);
  bool weighted = di_opts(d)->weighted && di_weights(d, fop, weight);
  uint64_t set = mask & ~d->leaving;

  GI_ASSERT(mask && !(mask & ~di_all(d)));
  for (unsigned i = 0; i < d->n; i++)
    names[i] = d->x->children[i]->name;
  l->commit = commit;
  di_layout_build(l, names, set ? set : mask, (unsigned)di_opts(d)->spread, di_layout_start(d, loc, gfid),
                  weighted ? weight : NULL, old);
  return l;
}

/* To the disks: a copy that went back to an old one with its power, and no mark says so, would keep it. */
static struct gi_fop *
write_range(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, const struct di_range *r)
{
  struct gi_fop *h = di_own_fop(fop, GI_FOP_SETXATTR, gfid);
  uint8_t bytes[DI_LAYOUT_BYTES];

  di_range_encode(r, bytes);
  h->args.dict = gi_dict_new();
  gi_dict_set_bin(h->args.dict, d->layout_key, bytes, sizeof(bytes));
  gi_dict_set_int(gi_fop_xdata(h), GI_DURABLE_KEY, 1);
  return h;
}

/* Writes the ranges of the subvolumes of `mask`; marks in the layout which could not be written. */
static int
write_ranges(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, struct di_layout *l, uint64_t mask)
{
  struct di_ask ask;
  int err;

  GI_ASSERT(l->n == d->n);
  di_ask_begin(d, &ask);
  di_foreach(i, mask) di_ask_send(d, &ask, write_range(d, fop, gfid, &l->range[i]), (unsigned)i);
  di_ask_wait(d, &ask);
  err = di_ask_err(&ask, mask);
  di_foreach(k, ask.fan.failed) l->range[k] = (struct di_range){.err = ENODATA};
  d->metrics.layouts_written += (unsigned)__builtin_popcountll(ask.fan.ok);
  di_ask_end(&ask);
  di_layout_check(l);
  return err;
}

/* ---- the layout of one that exists ---- */

static int
lock_layout(struct di *d, struct gi_fop *fop, struct di_locks *locks, const struct gi_loc *dir)
{
  unsigned order[DI_MAX];
  int err = 0;

  for (unsigned i = 0; i < d->n; i++) {
    unsigned at = i;

    for (; at > 0 && di_lock_order(d, i, &dir->gfid, order[at - 1], &dir->gfid) < 0; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  for (unsigned i = 0; i < d->n && !err; i++)
    err = di_lock(d, fop, locks, DI_LOCK_LAYOUT_WRITE, order[i], dir, NULL);
  return err;
}

static uint64_t
bare_of(const struct di_layout *l)
{
  uint64_t bare = 0;

  for (unsigned i = 0; i < l->n; i++)
    if (l->range[i].err == ENODATA)
      bare |= 1ull << i;
  return bare;
}

/* Looks again under the lock; a directory without a layout that covers all gets a new one, and subvolumes that came later an empty part. */
static void
heal_layout(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = gi_inode_get(d->x->graph, gfid);
  struct gi_loc dir = {.gfid = *gfid, .inode = inode};
  struct di_locks locks = {0};
  struct di_found f = {0};
  struct di_layout *l;
  uint64_t write;

  if (lock_layout(d, fop, &locks, &dir) != 0)
    goto out;
  di_find(d, fop, &dir, di_all(d), &f);
  if (f.dir != di_all(d)) { /* a layout over a part of them would leave the rest without for ever */
    di_found_end(&f);
    goto out;
  }
  l = di_keep_dir(d, &f, gfid, inode)->layout;
  di_found_end(&f);
  write = bare_of(l);
  if (!l->whole) {
    di_keep_layout(d, di_inode_of(d, inode), di_layout_make(d, fop, loc, gfid, di_all(d), DI_NO_COMMIT, NULL));
    l = di_inode_of(d, inode)->layout;
    write = di_all(d);
  } else {
    di_foreach(i, write) l->range[i] = (struct di_range){.commit = l->commit};
  }
  if (write) {
    struct di_layout *mine = di_layout_copy(l); /* others may exchange what is kept meanwhile */

    if (write_ranges(d, fop, gfid, mine, write) == 0)
      gi_free(mine);
    else
      di_keep_layout(d, di_inode_of(d, inode), mine);
  }
out:
  di_unlock(d, fop, &locks);
  gi_inode_unref(&inode);
}

/* Without a commit hash: that the directory was made with its layout is not forgotten. */
static bool
as_wanted(const struct di_layout *have, const struct di_layout *want)
{
  for (unsigned i = 0; i < have->n; i++) {
    const struct di_range *a = &have->range[i], *b = &want->range[i];

    if (a->err || a->start != b->start || a->stop != b->stop ||
        (b->commit > DI_NO_COMMIT ? a->commit != b->commit : a->commit > DI_NO_COMMIT))
      return false;
  }
  return true;
}

/* Somebody has written it by hand, and it gives nothing to a subvolume that leaves. */
static bool
set_by_user(const struct di *d, const struct di_layout *l)
{
  bool user = false;

  for (unsigned i = 0; i < l->n; i++) {
    const struct di_range *r = &l->range[i];

    if ((d->leaving >> i & 1) && !r->err && !di_range_empty(r))
      return false;
    user = user || (!r->err && r->type == 1);
  }
  return user && l->whole;
}

int
di_layout_renew(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_gfid *gfid, uint32_t commit,
                bool *exchanged)
{
  struct gi_inode *inode = gi_inode_get(d->x->graph, gfid);
  struct gi_loc dir = {.gfid = *gfid, .inode = inode};
  struct di_locks locks = {0};
  struct di_found f = {0};
  struct di_layout *want;
  const struct di_layout *have;
  int err = lock_layout(d, fop, &locks, &dir);

  if (!err) {
    di_find(d, fop, &dir, di_all(d), &f);
    if (f.dir != di_all(d))
      err = f.failed ? ENOTCONN : ENOENT;
    else
      di_keep_dir(d, &f, gfid, inode);
    di_found_end(&f);
  }
  have = err ? NULL : di_layout_known(d, inode);
  if (!err && !(have && set_by_user(d, have))) {
    struct di_layout *old = have ? di_layout_copy(have) : NULL;

    want = di_layout_make(d, fop, loc, gfid, di_all(d), commit, old);
    gi_free(old);
    have = di_layout_known(d, inode);
    if (!have || !as_wanted(have, want)) {
      *exchanged = true;
      err = write_ranges(d, fop, gfid, want, di_all(d));
    }
    di_keep_layout(d, di_inode_of(d, inode), want);
  }
  di_unlock(d, fop, &locks);
  gi_inode_unref(&inode);
  return err;
}

/* ---- where it is missing ---- */

/* It begins with times of its own that are none too late, and attr_fop sets them: a brick keeps no times of what is made without. Those of the
 * directory above stay. */
static struct gi_fop *
make_fop(struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_MKDIR);

  h->caller.stamps = GI_STAMP_CTIME | GI_STAMP_MTIME | GI_STAMP_ATIME;
  h->caller.time = gi_time_later(&stat->mtime, &stat->ctime) ? stat->ctime : stat->mtime;
  gi_loc_copy_name(&h->loc, loc);
  h->args.mode = stat->mode & 07777;
  gi_dict_set_gfid(gi_fop_xdata(h), "gfid-req", &stat->gfid);
  return h;
}

static struct gi_fop *
attr_fop(struct gi_fop *fop, const struct gi_iatt *stat, int32_t times)
{
  struct gi_fop *h = di_own_fop(fop, GI_FOP_SETATTR, &stat->gfid);

  h->args.valid = GI_SET_MODE | GI_SET_UID | GI_SET_GID | times;
  h->args.iatt = *stat;
  return h;
}

static void
give_attrs(struct di *d, struct gi_fop *fop, const struct gi_iatt *stat, int32_t times, uint64_t mask)
{
  struct gi_fop *h = attr_fop(fop, stat, times);
  struct di_ask ask;

  di_ask_copy(d, &ask, h, mask);
  di_ask_end(&ask);
  gi_fop_unref(h);
}

/* Subvolumes of `mask` that have it under another name, in the middle of a rename: a second one would hide it there. */
static uint64_t
elsewhere(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, uint64_t mask)
{
  struct gi_loc object = {.gfid = *gfid};
  struct di_found f;
  uint64_t has;

  di_find(d, fop, &object, mask, &f);
  has = mask & ~f.absent;
  di_found_end(&f);
  return has;
}

uint64_t
di_make_again(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat, uint64_t mask,
              uint64_t has)
{
  struct gi_fop *h = make_fop(fop, loc, stat);
  struct di_ask ask;
  uint64_t made;

  GI_ASSERT(loc->name && mask && has && !(mask & has));
  di_ask_copy(d, &ask, h, mask);
  made = ask.fan.ok;
  di_ask_end(&ask);
  gi_fop_unref(h);
  if (made) {
    give_attrs(d, fop, stat, GI_SET_ATIME | GI_SET_MTIME | GI_SET_CTIME, made);
    di_heal_xattrs(d, fop, &stat->gfid, (unsigned)__builtin_ctzll(has), made, 0);
  }
  return made;
}

/* Under the lock of its name, if it still has it. The subvolumes where it was made. */
static uint64_t
make_missing(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat, uint64_t missing,
             unsigned hashed)
{
  struct di_locks locks = {0};
  struct di_found f;
  uint64_t made = 0, has = di_all(d) & ~missing;

  GI_ASSERT(missing && loc->name && hashed < d->n);
  if (GI_BROKEN("leave a directory out where it is missing"))
    return 0;
  if (di_lock_name(d, fop, &locks, hashed, loc) != 0) {
    di_unlock(d, fop, &locks);
    return 0;
  }
  di_find(d, fop, loc, di_all(d), &f);
  has = f.dir;
  di_foreach(i, f.dir) if (!gi_gfid_equal(&gi_fan_reply(&f.ask.fan, (unsigned)i)->rsp.stat.gfid, &stat->gfid)) has = 0;
  missing &= f.absent;
  di_found_end(&f);
  if (has && missing)
    missing &= ~elsewhere(d, fop, &stat->gfid, missing);
  if (has && missing)
    made = di_make_again(d, fop, loc, stat, missing, has);
  di_unlock(d, fop, &locks);
  return made;
}

/* ---- where another one has its name ---- */

static bool
remove_empty(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, unsigned child, const struct gi_gfid *gfid)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_RMDIR);

  gi_loc_copy_name(&h->loc, loc);
  gi_dict_set_gfid(gi_fop_xdata(h), GI_EXPECTED_KEY, gfid);
  return di_do_drop(d, h, child) == 0;
}

bool
di_clear_name(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, unsigned hashed)
{
  struct di_locks locks = {0};
  struct di_found f;
  bool cleared = false;

  GI_ASSERT(loc->name && hashed < d->n);
  if (di_lock_name(d, fop, &locks, hashed, loc) == 0) {
    di_find(d, fop, loc, di_all(d), &f);
    if (!f.failed && !f.file && (f.dir >> hashed & 1) && di_found_note(d, &f) < 0) {
      struct gi_gfid right = gi_fan_reply(&f.ask.fan, hashed)->rsp.stat.gfid;

      di_foreach(i, f.dir)
      {
        const struct gi_gfid *gfid = &gi_fan_reply(&f.ask.fan, (unsigned)i)->rsp.stat.gfid;

        if (!gi_gfid_equal(gfid, &right) && remove_empty(d, fop, loc, (unsigned)i, gfid))
          cleared = true;
      }
    }
    di_found_end(&f);
  }
  di_unlock(d, fop, &locks);
  return cleared;
}

/* ---- all of it ---- */

/* The name of the directory: the one it was found by, or the last one known. */
static bool
name_of(struct di *d, const struct gi_loc *loc, const struct gi_gfid *gfid, struct gi_loc *named)
{
  struct gi_inode *inode;
  struct di_inode *i;

  *named = (struct gi_loc){0};
  if (gi_gfid_is_root(gfid))
    return false;
  if (loc->name) {
    gi_loc_copy(named, loc);
  } else {
    inode = gi_inode_get(d->x->graph, gfid);
    i = di_inode_of(d, inode);
    if (i->name) {
      named->name = gi_strdup(i->name);
      named->pargfid = i->parent;
    }
    gi_inode_unref(&inode);
  }
  if (named->name && !named->parent)
    named->parent = gi_inode_get(d->x->graph, &named->pargfid);
  return named->name != NULL;
}

void
di_heal_dir(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat, uint64_t missing,
            uint64_t differ)
{
  struct gi_gfid gfid = stat->gfid;
  struct gi_iatt want = *stat;
  struct gi_loc named;
  bool has_name = name_of(d, loc, &gfid, &named);
  const struct di_layout *pl = has_name ? di_layout_known(d, named.parent) : NULL;
  int hashed = pl ? di_hashed(d, pl, named.name) : -1;

  GI_ASSERT(S_ISDIR(want.mode) && !(missing & differ));
  d->metrics.directories_healed++;
  if (missing && hashed >= 0)
    missing &= ~make_missing(d, fop, &named, &want, missing, (unsigned)hashed);
  if (differ)
    give_attrs(d, fop, &want, 0, differ);
  if (!missing && d->up == di_all(d))
    heal_layout(d, fop, has_name ? &named : loc, &gfid);
  if (named.name && named.name != loc->name) {
    char *own = (char *)(uintptr_t)named.name;

    gi_free(own);
  }
  gi_loc_clear(&named);
}

/* ---- before something gets a name in one ---- */

#define ABOVE 64 /* directories, one above the other, that are made at once; more are left for lookups */

bool
di_is_complete(const struct di *d, const struct gi_inode *dir)
{
  const struct di_layout *l = di_layout_known(d, dir);

  for (unsigned i = 0; l && i < l->n; i++)
    if (l->range[i].err == ENOENT)
      return false;
  return l != NULL;
}

/* Those above it first, from the first that may be missing: a directory is made under the name that it has there. */
static void
complete(struct di *d, struct gi_fop *fop, struct gi_inode *dir)
{
  struct gi_inode *line[ABOVE];
  unsigned n = 0;

  GI_ASSERT(dir);
  for (struct gi_inode *i = gi_inode_ref(dir); i;) {
    const struct di_inode *di = di_inode_of(d, i);

    line[n++] = i;
    i = n < ABOVE && di->name && !di_is_complete(d, i) ? gi_inode_find(d->x->graph, &di->parent) : NULL;
  }
  while (n-- > 0) {
    if (!di_is_complete(d, line[n]))
      GI_IGNORE(di_locate(d, fop, line[n])); /* what needs it fails */
    gi_inode_unref(&line[n]);
  }
}

int
di_hashed_get(struct di *d, struct gi_fop *fop, struct gi_inode *dir, const char *name, unsigned *hashed)
{
  const struct di_layout *l;
  int h = -1, err;

  for (unsigned i = 0; h < 0 && i < 2; i++) {
    err = di_layout_get(d, fop, dir, &l);
    if (err)
      return err;
    h = di_hashed(d, l, name);
    if (h < 0 && i == 0) {
      di_layout_stale(d, dir, l);
      complete(d, fop, dir);
    }
  }
  *hashed = (unsigned)h;
  return h >= 0 ? 0 : d->up == di_all(d) ? EIO : ENOTCONN; /* it belongs to one that is down, if there is one */
}

int
di_hashed_complete(struct di *d, struct gi_fop *fop, struct gi_loc *loc, unsigned *hashed)
{
  struct gi_inode *dir = gi_loc_parent(fop, loc);
  const struct di_layout *l;
  int err = di_layout_get(d, fop, dir, &l);

  if (!err && !di_is_complete(d, dir))
    complete(d, fop, dir);
  return err ? err : di_hashed_get(d, fop, dir, loc->name, hashed);
}
