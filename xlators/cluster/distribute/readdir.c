/* SPDX-License-Identifier: Apache-2.0
 *
 * Listings: one subvolume after the other. Files come from whoever has them,
 * linkto files are left out, and directories, which all have, are taken from
 * the first that shows them. A subvolume that cannot be asked fails the listing: it never ends
 * early without saying so.
 *
 * A cookie says which subvolume and where on it (distribute.md 10).
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/log.h"
#include "libglusterish/mutants.h"

#include <dirent.h>
#include <errno.h>

/* ---- cookies ---- */

static unsigned
bits_for(unsigned leafs)
{
  unsigned bits = 0;

  while ((1u << bits) < leafs)
    bits++;
  return bits;
}

#define TOP (1ull << 62) /* offsets of bricks are below 2^63, and so are cookies: lseek takes no others */

uint64_t
di_cookie_encode(uint64_t off, unsigned leaf, unsigned leafs)
{
  unsigned bits = bits_for(leafs);

  GI_ASSERT(leaf < leafs && leafs <= DI_MAX);
  if (leafs == 1)
    return off;
  if (off >> (62 - bits) == 0)
    return off * leafs + leaf;
  return TOP | (off >> 1 & (TOP - 1) & ~((1ull << bits) - 1)) | leaf;
}

uint64_t
di_cookie_decode(uint64_t cookie, unsigned leafs, unsigned *leaf)
{
  uint64_t mask = (1ull << bits_for(leafs)) - 1;

  if (leafs == 1) {
    *leaf = 0;
    return cookie;
  }
  if (!(cookie & TOP)) {
    *leaf = (unsigned)(cookie % leafs);
    return cookie / leafs;
  }
  *leaf = (unsigned)(cookie & mask);
  if (*leaf >= leafs)
    *leaf = leafs - 1; /* not a cookie of ours */
  return (cookie & (TOP - 1) & ~mask) << 1;
}

/* ---- opening ---- */

static enum gi_verdict
open_all(struct di *d, struct gi_fop *fop)
{
  struct di_fd *df = di_fd_of(d, fop->fd);
  struct di_ask ask;

  GI_ASSERT(d->n > 1 && d->n <= DI_MAX);
  di_ask_copy(d, &ask, fop, di_all(d));
  df->known = true;
  df->set = d->sets;
  df->leafs = (uint8_t)d->n;
  df->opened = ask.fan.ok;
  df->absent = 0;
  di_foreach(i, ask.fan.failed)
  {
    int e = gi_fan_reply(&ask.fan, (unsigned)i)->rsp.err;

    if (e == ENOENT || e == ESTALE)
      df->absent |= 1ull << i;
  }
  if (ask.fan.ok)
    gi_reply_move(fop, gi_fan_reply(&ask.fan, (unsigned)__builtin_ctzll(ask.fan.ok)));
  else
    gi_fop_fail(fop, di_ask_err(&ask, ask.fan.failed));
  di_ask_end(&ask);
  return GI_ANSWERED;
}

enum gi_verdict
di_opendir(struct gi_xlator *x, struct gi_fop *fop)
{
  return di_run(di_of(x), fop, open_all);
}

/* A subvolume that was down when the directory was opened. */
static int
open_late(struct di *d, struct gi_fop *fop, unsigned child)
{
  struct di_fd *df = di_fd_of(d, fop->fd);
  struct gi_fop *h;
  int err;

  if (fop->fd->anonymous || (df->opened >> child & 1))
    return 0;
  h = gi_fop_helper(fop, GI_FOP_OPENDIR);
  gi_fop_set_fd(h, fop->fd);
  err = di_do_drop(d, h, child);
  if (!err)
    df->opened |= 1ull << child;
  if (di_is_gone(err))
    df->absent |= 1ull << child;
  return err;
}

/* ---- one subvolume's part ---- */

struct listing {
  struct di *d;
  struct gi_fop *fop;
  struct di_fd *df;
  unsigned leaf, leafs;
  uint64_t off, from; /* `from`: the cookie that was asked for */
  int err;            /* what an entry is could not be found out */
};

/* ---- directories, which several subvolumes show ---- */

/* One that is missing on the first subvolume, because that was down when it was made, is taken from another. It may get it at any moment: so
 * what the first one has shown counts, and not what it has. One may read ahead while another one reads. */
#define LEAF_MASK 63ull

_Static_assert(DI_MAX <= LEAF_MASK + 1, "the number of a subvolume has room below a hash");

static uint64_t
dir_hash(const struct gi_dirent *e)
{
  uint64_t h = 0xcbf29ce484222325ull;

  for (uint32_t i = 0; i < e->name_len; i++)
    h = (h ^ (uint8_t)e->name[i]) * 0x100000001b3ull;
  h ^= h >> 32;
  return (h & ~LEAF_MASK) | (LEAF_MASK + 1); /* no hash is 0 */
}

/* The first subvolume that has shown it, which is this one if none has yet. */
static unsigned
put_dir(struct di_fd *df, uint64_t hash, unsigned leaf)
{
  uint32_t mask = df->room - 1, i = (uint32_t)(hash >> 7) & mask;

  GI_ASSERT(df->ndirs < df->room && leaf <= LEAF_MASK);
  for (; df->dirs[i]; i = (i + 1) & mask)
    if ((df->dirs[i] & ~LEAF_MASK) == hash) {
      unsigned first = (unsigned)(df->dirs[i] & LEAF_MASK);

      if (leaf < first)
        df->dirs[i] = hash | leaf;
      return leaf < first ? leaf : first;
    }
  df->dirs[i] = hash | leaf;
  df->ndirs++;
  return leaf;
}

static void
grow_dirs(struct di_fd *df)
{
  uint64_t *old = df->dirs;
  uint32_t n = df->room;

  if (2 * (df->ndirs + 1) <= n)
    return;
  df->room = n ? 2 * n : 64;
  df->dirs = gi_zalloc(df->room * sizeof(*df->dirs));
  df->ndirs = 0;
  for (uint32_t i = 0; i < n; i++)
    if (old[i])
      GI_IGNORE(put_dir(df, old[i] & ~LEAF_MASK, (unsigned)(old[i] & LEAF_MASK))); /* each is there once */
  gi_free(old);
}

static void
forget_dirs(struct di_fd *df)
{
  gi_free(df->dirs);
  df->dirs = NULL;
  df->ndirs = df->room = 0;
}

void
di_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  forget_dirs(bytes);
}

/* The name on one subvolume, of an entry that another showed; NULL: it is not there, or cannot be asked for, and the listing fails. The
 * caller's. */
static struct gi_fop *
look(struct listing *l, const struct gi_dirent *e, unsigned leaf)
{
  struct gi_fop *h;
  char name[GI_NAME_MAX + 1];

  if (e->name_len > GI_NAME_MAX)
    return NULL;
  h = gi_fop_helper(l->fop, GI_FOP_LOOKUP);
  memcpy(name, e->name, e->name_len);
  name[e->name_len] = '\0';
  gi_fop_set_entry(h, &h->loc, l->fop->fd->inode, name);
  gi_dict_set_int(gi_fop_xdata(h), l->d->linkto_key, 256);
  int err = di_do(l->d, h, leaf);

  if (!err)
    return h;
  if (!di_is_gone(err))
    l->err = err;
  gi_fop_unref(h);
  return NULL;
}

/* All of the subvolumes before this one was listed. */
static bool
has_listed_before(const struct listing *l)
{
  unsigned leaf;

  GI_IGNORE(di_cookie_decode(l->df->listed, l->leafs, &leaf));
  return l->from == l->df->listed || leaf >= l->leaf;
}

/* Whether the listing has told of it already, or does where it begins. */
static bool
told_of_dir(struct listing *l, const struct gi_dirent *e)
{
  grow_dirs(l->df);
  if (put_dir(l->df, dir_hash(e), l->leaf) < l->leaf)
    return true;
  if (has_listed_before(l))
    return false;
  for (unsigned leaf = 0; leaf < l->leaf; leaf++) {
    struct gi_fop *h = look(l, e, leaf);
    bool there = h && S_ISDIR(h->rsp.stat.mode);

    gi_fop_unref(h);
    if (there)
      return true;
  }
  return false;
}

/* What the name is, as a lookup says, and on which subvolume (-1: a directory). False: nothing, or that cannot be asked for. */
static bool
resolve(struct listing *l, const struct gi_dirent *e, int *child, struct gi_iatt *stat)
{
  char name[GI_NAME_MAX + 1];
  struct gi_loc loc = {.pargfid = l->fop->fd->inode->gfid, .parent = l->fop->fd->inode, .name = name};
  int err;

  if (e->name_len > GI_NAME_MAX)
    return false;
  memcpy(name, e->name, e->name_len);
  name[e->name_len] = '\0';
  err = di_resolve(l->d, l->fop, &loc, child, stat);
  if (err && err != ENOENT)
    l->err = err;
  return !err;
}

/* What carries the note of a rename may have the name here, and another one, or none, elsewhere: a lookup knows which counts. */
static bool
is_found_here(struct listing *l, const struct gi_dirent *e)
{
  struct gi_iatt stat;
  int child;

  return resolve(l, e, &child, &stat) && (child == (int)l->leaf || S_ISDIR(stat.mode)) &&
         (!gi_iatt_valid(&e->stat) || gi_gfid_equal(&stat.gfid, &e->stat.gfid));
}

/* It has gone from here since it was listed. A name that there has been all the time is where the listing comes yet, or has been before. */
static bool
has_gone_back(struct listing *l, const struct gi_dirent *e)
{
  struct gi_iatt stat;
  int child;

  return resolve(l, e, &child, &stat) && child >= 0 && child < (int)l->leaf;
}

/* A brick may have missed the attribute of a linkto file, and not its mode: then another subvolume has the file. */
static bool
lacks_its_attribute(struct listing *l, const struct gi_dirent *e, const struct gi_iatt *a, const struct gi_dict *xdata)
{
  return di_is_bare(l->d, a, xdata) && !is_found_here(l, e);
}

/* A replica set does not vouch for attributes while a copy may be outdated, and leaves them out. The copy that is listed may even lack
 * what makes it a linkto file, which a heal gives it after the name. So this one is asked for. */
static bool
look_for_linkto(struct listing *l, const struct gi_dirent *e)
{
  struct gi_fop *h = look(l, e, l->leaf);
  bool linkto;

  if (!h)
    return !l->err && !has_gone_back(l, e);
  linkto = di_is_linkto(l->d, h) || lacks_its_attribute(l, e, &h->rsp.stat, h->rsp.xdata);
  gi_fop_unref(h);
  return linkto;
}

static bool
is_linkto(struct listing *l, const struct gi_dirent *e)
{
  if (gi_iatt_valid(&e->stat))
    return di_tells_linkto(l->d, &e->stat, e->xdata) || lacks_its_attribute(l, e, &e->stat, e->xdata);
  return (e->type == DT_REG || e->type == DT_UNKNOWN) && look_for_linkto(l, e);
}

static bool
wanted(struct listing *l, const struct gi_dirent *e)
{
  bool dir = S_ISDIR(e->stat.mode) || (!gi_iatt_valid(&e->stat) && e->type == DT_DIR);

  if (!dir && is_linkto(l, e))
    return false;
  if (gi_dict_get(e->xdata, l->d->note_key) && !is_found_here(l, e))
    return false;
  return !dir || !told_of_dir(l, e);
}

static void
take_entry(const struct listing *l, struct gi_dirent *e)
{
  struct gi_dirent mine = *e;

  mine.off = di_cookie_encode(e->off, l->leaf, l->leafs);
  if (S_ISDIR(e->stat.mode)) {
    memset(&mine.stat, 0, sizeof(mine.stat)); /* one subvolume's are not the directory's */
    mine.type = DT_DIR;
  } else if (gi_iatt_valid(&e->stat)) {
    if (di_is_moving(l->d, &e->stat, e->xdata))
      mine.stat.mode &= ~(uint32_t)DI_MOVING;
    if (!di_tells_unfinished(l->d, &e->stat, e->xdata))
      di_know_file(l->d, &e->stat.gfid, l->d->x->children[l->leaf]);
  }
  e->xdata = NULL;
  gi_dirents_add(&l->fop->rsp.entries, &mine, l->fop);
}

/* Asks for what follows; *end: nothing does. 0 or errno. */
static int
list_some(struct listing *l, bool *end)
{
  struct gi_fop *h = gi_fop_helper(l->fop, GI_FOP_READDIRP);
  int err;

  gi_fop_set_fd(h, l->fop->fd);
  GI_ASSERT(l->leaf < l->leafs && l->leafs <= DI_MAX);
  h->args.size = l->fop->args.size;
  h->args.offset = l->off;
  h->xdata = gi_dict_ref(l->fop->xdata);
  gi_dict_set_int(gi_fop_xdata(h), l->d->linkto_key, 256);
  gi_dict_set_int(gi_fop_xdata(h), l->d->note_key, 1024);
  err = di_do(l->d, h, l->leaf);
  *end = !err && (h->rsp.entries.count == 0 || h->rsp.err == ENOENT);
  if (!err && !*end && h->rsp.entries.entry[h->rsp.entries.count - 1].off == h->args.offset)
    err = EIO; /* it would go on for ever */
  for (uint32_t i = 0; !err && i < h->rsp.entries.count; i++) {
    struct gi_dirent *e = &h->rsp.entries.entry[i];

    l->off = e->off;
    if (wanted(l, e))
      take_entry(l, e);
    err = l->err;
  }
  gi_fop_unref(h);
  return err;
}

/* What the mount allows, and only that: a listing without what is on a subvolume that is down. */
static bool
leave_out(struct listing *l)
{
  if (di_opts(l->d)->partial_listing != DI_PARTIAL_ALLOW)
    return false;
  l->d->metrics.partial_listings++;
  gi_log(GI_LOG_WARNING, l->d->x->name, GI_MSG_DISTRIBUTE + 7,
         "%s is down: listings lack what is there (partial-listing=allow)", l->d->x->children[l->leaf]->name);
  return true;
}

static bool
next_leaf(struct listing *l)
{
  l->off = 0;
  return ++l->leaf < l->leafs;
}

/* The subvolume after this one begins where the last entry's cookie leads: nobody asks this one again in vain. */
static void
continue_behind(struct listing *l)
{
  struct gi_dirents *all = &l->fop->rsp.entries;

  if (all->count)
    all->entry[all->count - 1].off = di_cookie_encode(0, l->leaf, l->leafs);
}

static enum gi_verdict
list(struct di *d, struct gi_fop *fop)
{
  struct listing l = {.d = d, .fop = fop, .df = di_fd_of(d, fop->fd), .from = fop->args.offset};
  bool end = false, over = false;
  int err = 0;

  if (l.df->known && l.df->set != d->sets && d->shrunk) {
    if (fop->args.offset)
      return gi_fop_fail(fop, EIO); /* the cookie speaks of subvolumes that have other numbers now */
    forget_dirs(l.df);
    memset(l.df, 0, sizeof(*l.df));
  }
  if (!l.df->known) {
    l.df->leafs = (uint8_t)d->n;
    l.df->set = d->sets;
    l.df->known = true;
  }
  l.leafs = l.df->leafs;
  if (l.from == 0) {
    forget_dirs(l.df);
    l.df->listed = 0;
  }
  l.off = di_cookie_decode(fop->args.offset, l.leafs, &l.leaf);
  while (!over && !err && fop->rsp.entries.count == 0) {
    err = l.df->absent >> l.leaf & 1 ? ENOENT : open_late(d, fop, l.leaf);
    if (!err)
      err = list_some(&l, &end);
    if ((l.df->absent >> l.leaf & 1) || (err == ENOTCONN && leave_out(&l)) ||
        (err && GI_BROKEN("leave out of a listing who is away"))) {
      err = 0;
      end = true;
    }
    if (!err && end)
      over = !next_leaf(&l);
  }
  if (err) {
    gi_dirents_free(&fop->rsp.entries);
    return gi_fop_fail(fop, err);
  }
  if (end && !over)
    continue_behind(&l);
  if (fop->rsp.entries.count && l.from == l.df->listed)
    l.df->listed = fop->rsp.entries.entry[fop->rsp.entries.count - 1].off;
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
  fop->rsp.err = over ? ENOENT : 0;
  return GI_ANSWERED;
}

enum gi_verdict
di_readdir(struct gi_xlator *x, struct gi_fop *fop)
{
  return di_run(di_of(x), fop, list);
}
