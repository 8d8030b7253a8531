/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding things on subvolumes: asking several of them for one place, and what
 * their answers say together.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/bigendian.h"
#include "libglusterish/log.h"

#include <errno.h>

/* ---- keys of a lookup ---- */

void
di_add_keys(const struct di *d, struct gi_dict *xdata)
{
  gi_dict_set_int(xdata, d->linkto_key, 256);
  gi_dict_set_int(xdata, d->layout_key, DI_LAYOUT_BYTES);
  gi_dict_set_int(xdata, d->mds_key, 4);
  gi_dict_set_int(xdata, d->note_key, 1024);
  gi_dict_set_int(xdata, d->mode_key, 16);
  gi_dict_del(xdata, "gfid-req"); /* a subvolume would give it to an object that has none, perhaps the wrong one */
}

void
di_add_root_keys(const struct di *d, struct gi_dict *xdata)
{
  gi_dict_set_int(xdata, d->commit_key, 16);
  gi_dict_set_int(xdata, d->committed_key, 16);
}

void
di_strip_keys(const struct di *d, struct gi_fop *fop)
{
  const char *const keys[] = {d->linkto_key,    d->layout_key, d->mds_key, d->commit_key,
                              d->committed_key, d->note_key,   d->mode_key};

  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++)
    if (gi_dict_get(fop->rsp.xdata, keys[i]))
      gi_dict_del(gi_fop_rsp_xdata(fop), keys[i]);
}

/* ---- several answers ---- */

void
di_found_add(struct di *d, struct di_found *f, unsigned child, struct gi_fop *reply)
{
  uint64_t bit = 1ull << child;

  GI_ASSERT(child < d->n && !((f->file | f->linkto | f->dir | f->absent | f->failed) & bit));
  if (reply->rsp.ret < 0 && (reply->rsp.err == ENOENT || reply->rsp.err == ESTALE))
    f->absent |= bit;
  else if (reply->rsp.ret < 0)
    f->failed |= bit;
  else if (gi_gfid_is_none(&reply->rsp.stat.gfid))
    f->failed |= bit; /* nothing that can be worked with */
  else if (S_ISDIR(reply->rsp.stat.mode))
    f->dir |= bit;
  else if (di_is_linkto(d, reply))
    f->linkto |= bit;
  else
    f->file |= bit;
}

static bool
is_bare(const struct di *d, const struct di_found *f, uint64_t child)
{
  const struct gi_fop *reply = gi_fan_reply(&f->ask.fan, (unsigned)child);

  return di_is_bare(d, &reply->rsp.stat, reply->rsp.xdata);
}

void
di_found_settle(const struct di *d, struct di_found *f)
{
  uint64_t bare = 0, linkto = 0;

  di_foreach(i, f->file) bare |= is_bare(d, f, i) ? 1ull << i : 0;
  di_foreach(k, bare)
  {
    const struct gi_gfid *gfid = &gi_fan_reply(&f->ask.fan, (unsigned)k)->rsp.stat.gfid;

    di_foreach(i, f->file & ~bare) if (gi_gfid_equal(gfid, &gi_fan_reply(&f->ask.fan, (unsigned)i)->rsp.stat.gfid)) linkto |=
        1ull << k;
  }
  GI_ASSERT(!(f->file & f->linkto) && !(linkto & ~f->file));
  f->file &= ~linkto;
  f->linkto |= linkto;
}

static struct gi_fop *
lookup_fop(struct di *d, struct gi_fop *fop, const struct gi_loc *loc)
{
  /* A lookup asks for what it was to ask, as its caller; others ask for themselves. */
  bool same = fop->kind == GI_FOP_LOOKUP;
  struct gi_fop *h = same ? gi_fop_helper(fop, GI_FOP_LOOKUP) : di_helper(fop, GI_FOP_LOOKUP);

  if (loc->name && !same)
    gi_loc_copy_name(&h->loc, loc);
  else
    gi_loc_copy(&h->loc, loc);
  if (same && fop->xdata)
    h->xdata = gi_dict_ref(fop->xdata);
  di_add_keys(d, gi_fop_xdata(h));
  if (gi_gfid_is_root(&loc->gfid))
    di_add_root_keys(d, gi_fop_xdata(h));
  return h;
}

void
di_find(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, uint64_t mask, struct di_found *f)
{
  struct gi_fop *h = lookup_fop(d, fop, loc);

  GI_ASSERT(!(mask & ~di_all(d)));
  memset(f, 0, sizeof(*f));
  di_ask_copy(d, &f->ask, h, mask);
  di_foreach(i, mask) di_found_add(d, f, (unsigned)i, gi_fan_reply(&f->ask.fan, (unsigned)i));
  di_found_settle(d, f);
  gi_fop_unref(h);
}

void
di_found_end(struct di_found *f)
{
  di_ask_end(&f->ask);
}

/* It is on its way to a copy that has become the file already, and whoever moved it was killed; or it was. */
static bool
counts_still(const struct di *d, const struct di_found *f, const struct gi_fop *reply)
{
  int to = di_is_source(d, reply) ? di_linkto_target(d, reply) : -1;

  return to >= 0 && (f->file >> to & 1) && di_is_unfinished(d, gi_fan_reply(&f->ask.fan, (unsigned)to));
}

bool
di_has_note(const struct di *d, const struct gi_fop *reply)
{
  uint32_t mode = reply->rsp.stat.mode;

  return gi_dict_get(reply->rsp.xdata, d->note_key) && (S_ISDIR(mode) || (S_ISREG(mode) && !di_is_linkto(d, reply)));
}

int
di_found_note(const struct di *d, const struct di_found *f)
{
  di_foreach(i, f->dir) if (di_has_note(d, gi_fan_reply(&f->ask.fan, (unsigned)i))) return (int)i;
  return -1;
}

/* As long as the move is not finished the source counts: whoever uses it changes both, and locks are there. */
unsigned
di_found_file(const struct di *d, const struct di_found *f)
{
  GI_ASSERT(f->file);
  di_foreach(i, f->file) if (counts_still(d, f, gi_fan_reply(&f->ask.fan, (unsigned)i))) return (unsigned)i;
  di_foreach(i, f->file)
  {
    const struct gi_fop *reply = gi_fan_reply(&f->ask.fan, (unsigned)i);

    if (!di_is_moving(d, &reply->rsp.stat, reply->rsp.xdata))
      return (unsigned)i;
  }
  return (unsigned)__builtin_ctzll(f->file);
}

/* It is on its way from a subvolume that does not answer, and may count there. */
static bool
may_count_elsewhere(const struct di *d, const struct di_found *f, unsigned child)
{
  const struct gi_fop *reply = gi_fan_reply(&f->ask.fan, child);
  int from = di_is_unfinished(d, reply) ? di_linkto_target(d, reply) : -1;

  return from >= 0 && (f->failed >> from & 1);
}

/* ---- directories ---- */

static struct gi_fop *
reply_of(const struct di_found *f, uint64_t child)
{
  return gi_fan_reply(&f->ask.fan, (unsigned)child);
}

/* A commit hash, decimal text at the root. 0: nobody has it; DI_NO_COMMIT: they differ, or it is none. */
static uint32_t
hash_in(const struct di_found *f, const char *key)
{
  uint64_t all = 0;

  di_foreach(i, f->dir)
  {
    const char *text;
    uint64_t v;

    if (!gi_dict_get(reply_of(f, i)->rsp.xdata, key))
      continue;
    v = gi_dict_get_str(reply_of(f, i)->rsp.xdata, key, &text) ? strtoull(text, NULL, 10) : 0;
    if (v <= DI_NO_COMMIT || v > UINT32_MAX || (all && v != all))
      return DI_NO_COMMIT;
    all = v;
  }
  return (uint32_t)all;
}

/* GlusterFS writes its hash to the root when a rebalance begins, and to a directory before the files in it are moved; nor does it take ours
 * away. So nothing follows from it, and nothing from ours where it is. */
static void
learn_commit(struct di *d, const struct di_found *f)
{
  uint32_t theirs = hash_in(f, d->commit_key), ours = hash_in(f, d->committed_key);

  d->stamp = theirs ? theirs : ours ? ours : DI_NO_COMMIT;
  d->commit = theirs ? DI_NO_COMMIT : d->stamp;
}

static void
read_range(struct di *d, const struct di_found *f, uint64_t child, const struct di_layout *old, struct di_range *r)
{
  struct gi_fop *reply = reply_of(f, child);
  char text[GI_UUID_TEXT];
  const void *bytes;
  uint32_t len;

  *r = (struct di_range){.err = ENODATA};
  if (reply->rsp.ret >= 0 && S_ISDIR(reply->rsp.stat.mode)) {
    if (gi_dict_get_bin(reply->rsp.xdata, d->layout_key, &bytes, &len) && !di_range_decode(r, bytes, len))
      gi_log(GI_LOG_WARNING, d->x->name, GI_MSG_DISTRIBUTE + 1, "%s: what it has of the layout of the directory %s is damaged",
             d->x->children[child]->name, gi_gfid_text(&reply->rsp.stat.gfid, text));
    return;
  }
  if (f->absent >> child & 1) {
    r->err = ENOENT;
    return;
  }
  if (old && child < old->n && (!d->shrunk || old->n == d->n))
    *r = old->range[child]; /* it is as it was: names there are not told to be absent */
  r->err = ENOTCONN;
}

void
di_keep_layout(struct di *d, struct di_inode *i, struct di_layout *l)
{
  GI_ASSERT(l->n == d->n && l != i->layout);
  l->generation = d->generation;
  gi_free(i->layout);
  i->layout = l;
  i->cached = NULL;
}

struct di_inode *
di_keep_dir(struct di *d, const struct di_found *f, const struct gi_gfid *gfid, struct gi_inode *inode)
{
  struct di_inode *di = di_inode_of(d, inode);
  struct di_layout *l = di_layout_new(d->n);

  for (unsigned i = 0; i < d->n; i++)
    read_range(d, f, i, di->layout, &l->range[i]);
  di_layout_check(l);
  di_keep_layout(d, di, l);
  if (!di->mds || !(f->failed >> (di->mds - 1) & 1)) /* else it stays the one that counts, whatever it would say */
    di->mds = 0;
  di_foreach(i, f->dir) if (!di->mds && gi_dict_get(reply_of(f, i)->rsp.xdata, d->mds_key)) di->mds = (int8_t)(i + 1);
  if (gi_gfid_is_root(gfid))
    learn_commit(d, f);
  return di;
}

void
di_keep_name(struct di_inode *i, const struct gi_loc *loc)
{
  if (!loc->name || (i->name && strcmp(i->name, loc->name) == 0 && gi_gfid_equal(&i->parent, &loc->pargfid)))
    return;
  gi_free(i->name);
  i->name = gi_strdup(loc->name);
  i->parent = loc->parent ? loc->parent->gfid : loc->pargfid;
}

/* Subvolumes whose attributes are not those that count. */
static uint64_t
merge_attrs(const struct di_found *f, unsigned best, struct gi_iatt *stat)
{
  uint64_t differ = 0;

  GI_ASSERT(f->dir >> best & 1);
  *stat = reply_of(f, best)->rsp.stat;
  di_foreach(i, f->dir)
  {
    const struct gi_iatt *a = &reply_of(f, i)->rsp.stat;

    gi_time_raise(&stat->atime, &a->atime);
    gi_time_raise(&stat->mtime, &a->mtime);
    gi_time_raise(&stat->ctime, &a->ctime);
    if (a->mode != stat->mode || a->uid != stat->uid || a->gid != stat->gid)
      differ |= 1ull << i;
  }
  di_dir_attr(stat);
  return differ;
}

/* The mark of the subvolume that counts: how many changes of extended attributes the others did not hear of, as a negative number. */
static int32_t
unsynced(const struct di *d, const struct gi_fop *reply)
{
  const void *bytes;
  uint32_t len;

  if (!gi_dict_get_bin(reply->rsp.xdata, d->mds_key, &bytes, &len) || len != 4)
    return 0;
  return (int32_t)gi_be32_load(bytes);
}

int
di_merge_dir(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, struct di_found *f, struct gi_iatt *stat,
             unsigned *best)
{
  const struct gi_gfid *gfid;
  struct gi_inode *inode;
  struct di_inode *i;
  uint64_t differ, missing;
  int32_t mark;

  GI_ASSERT(f->dir);
  *best = (unsigned)__builtin_ctzll(f->dir);
  gfid = &reply_of(f, *best)->rsp.stat.gfid;
  di_foreach(k, f->dir) if (!gi_gfid_equal(gfid, &reply_of(f, k)->rsp.stat.gfid))
  {
    gi_log(GI_LOG_ERROR, d->x->name, GI_MSG_DISTRIBUTE + 2, "%s: %s and %s have different directories of this name",
           loc->name ? loc->name : "a directory", d->x->children[*best]->name, d->x->children[k]->name);
    return EIO;
  }
  inode = gi_inode_get(d->x->graph, gfid);
  i = di_keep_dir(d, f, gfid, inode);
  di_keep_name(i, loc);
  if (i->mds && (f->dir >> (i->mds - 1) & 1))
    *best = (unsigned)i->mds - 1;
  differ = merge_attrs(f, *best, stat);
  i->mtime = stat->mtime;
  i->ctime = stat->ctime;
  mark = i->mds ? unsynced(d, reply_of(f, *best)) : 0;
  missing = di_found_note(d, f) < 0 ? f->absent : 0; /* in the middle of a rename it is there under its other name */
  if (missing || differ || !i->layout->whole)
    di_heal_dir(d, fop, loc, stat, missing, differ);
  if (!i->mds && f->dir == di_all(d) && loc->name)
    di_name_mds(d, fop, loc, i, gfid);
  if (mark && f->dir == di_all(d))
    di_heal_xattrs(d, fop, &stat->gfid, *best, di_all(d) & ~(1ull << *best), mark);
  gi_inode_unref(&inode);
  return 0;
}

/* ---- layouts ---- */

const struct di_layout *
di_layout_known(const struct di *d, const struct gi_inode *dir)
{
  const struct di_layout *l = dir ? di_inode_of(d, dir)->layout : NULL;

  return l && l->generation == d->generation && l->n == d->n ? l : NULL;
}

int
di_layout_get(struct di *d, struct gi_fop *fop, struct gi_inode *dir, const struct di_layout **layout)
{
  int err;

  if (!dir)
    return ESTALE;
  *layout = di_layout_known(d, dir);
  if (*layout && ((*layout)->whole || d->up != di_all(d)))
    return 0;
  /* One with a hole is about to be exchanged, by a rebalance or a heal: looking at it again waits for that. */
  err = di_locate(d, fop, dir);
  if (err)
    return err;
  *layout = di_inode_of(d, dir)->layout;
  return *layout ? 0 : ENOTDIR;
}

struct di_range
di_range_ask(struct di *d, struct gi_fop *fop, const struct gi_loc *dir, unsigned child)
{
  struct di_range r;
  struct di_found f;

  GI_ASSERT(!dir->name);
  di_find(d, fop, dir, 1ull << child, &f);
  read_range(d, &f, child, NULL, &r);
  di_found_end(&f);
  return r;
}

void
di_layout_stale(struct di *d, const struct gi_inode *dir, const struct di_layout *layout)
{
  struct di_layout *l = di_inode_of(d, dir)->layout;

  if (l && l == layout)
    l->generation = d->generation - 1;
}

int
di_hashed(const struct di *d, const struct di_layout *layout, const char *name)
{
  GI_ASSERT(layout->n == d->n && name);
  return di_layout_find(layout, di_hash_name(&d->munge, name));
}

/* ---- by gfid ---- */

int
di_locate(struct di *d, struct gi_fop *fop, struct gi_inode *inode)
{
  struct gi_loc loc = {.gfid = inode->gfid, .inode = gi_inode_ref(inode)};
  struct di_found f;
  struct gi_iatt stat;
  unsigned best;
  int err = 0;

  GI_ASSERT(inode->graph == d->x->graph);
  d->metrics.located++;
  di_find(d, fop, &loc, di_all(d), &f);
  if (f.file && may_count_elsewhere(d, &f, di_found_file(d, &f)))
    err = ENOTCONN;
  else if (f.file)
    di_know_file(d, &inode->gfid, d->x->children[di_found_file(d, &f)]);
  else if (f.dir)
    err = di_merge_dir(d, fop, &loc, &f, &stat, &best);
  else
    err = di_ask_err(&f.ask, f.failed);
  if (!err && !f.file && !f.dir)
    err = f.failed ? EIO : ESTALE;
  di_found_end(&f);
  gi_loc_clear(&loc);
  return err;
}
