/* SPDX-License-Identifier: Apache-2.0
 *
 * Listings: one subvolume after the other. Files come from whoever has them,
 * linkto files are left out, and directories, which all have, are taken from
 * the first that shows them. A subvolume that cannot be asked fails the listing: it never ends
 * early without saying so.
 *
 * A file may go from a subvolume that is still to be listed to one that was: a rebalance moves it, or a rename puts another one in its place. So each
 * subvolume says with its listing when a name last left it (GI_LEFT_KEY). If that may have been since the listing began, those before it are listed
 * again in the end; and so are those that have shown a linkto file whose name nobody has told yet. What was told is not told again (told.c). If the
 * layout has changed meanwhile, a file may have moved twice: then all are listed once more.
 *
 * A cookie says which subvolume, whether for the first time or again, and where on it (distribute.md 10).
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/extension.h"
#include "libglusterish/log.h"
#include "libglusterish/mutants.h"
#include "libglusterish/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

/* ---- cookies ---- */

#define LEAF_BITS 7
#define LEAF_MASK ((1ull << LEAF_BITS) - 1)
#define AGAIN DI_MAX     /* the part of the listing in which the first subvolume is listed again */
#define ROUNDS_MAX 16    /* so often the layout may change while a listing goes on */
#define TOP (1ull << 62) /* offsets of bricks are below 2^63, and so are cookies: lseek takes no others */

_Static_assert(DI_LEAFS == LEAF_MASK + 1, "a cookie has room for all parts of a listing");

uint64_t
di_cookie_encode(uint64_t off, unsigned leaf)
{
  GI_ASSERT(leaf < DI_LEAFS);
  if (off >> (62 - LEAF_BITS) == 0)
    return off << LEAF_BITS | leaf;
  return TOP | (off >> 1 & (TOP - 1) & ~LEAF_MASK) | leaf;
}

uint64_t
di_cookie_decode(uint64_t cookie, unsigned *leaf)
{
  *leaf = (unsigned)(cookie & LEAF_MASK);
  return cookie & TOP ? (cookie & (TOP - 1) & ~LEAF_MASK) << 1 : cookie >> LEAF_BITS;
}

/* ---- names ---- */

bool
di_entry_name(const struct gi_dirent *e, char name[GI_NAME_MAX + 1])
{
  if (e->name_len > GI_NAME_MAX)
    return false;
  memcpy(name, e->name, e->name_len);
  name[e->name_len] = '\0';
  return true;
}

/* ---- opening ---- */

static enum gi_verdict
open_all(struct di *d, struct gi_fop *fop)
{
  struct di_fd *df = di_fd_of(d, fop->fd);
  struct di_ask ask;

  GI_ASSERT(d->spread && d->n <= DI_MAX);
  df->since = gi_now(d->x->reactor);
  df->fresh = true;
  di_ask_copy(d, &ask, fop, di_all(d));
  df->known = true;
  df->set = d->sets;
  df->opened = df->absent = 0;
  di_foreach(i, ask.fan.ok) df->opened |= 1ull << di_place_of(d, (unsigned)i);
  di_foreach(i, ask.fan.failed)
  {
    int e = gi_fan_reply(&ask.fan, (unsigned)i)->rsp.err;

    if (e == ENOENT || e == ESTALE)
      df->absent |= 1ull << di_place_of(d, (unsigned)i);
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
open_late(struct di *d, struct gi_fop *fop, unsigned place)
{
  struct di_fd *df = di_fd_of(d, fop->fd);
  struct gi_fop *h;
  int err;

  if (fop->fd->anonymous || (df->opened >> place & 1))
    return 0;
  h = gi_fop_helper(fop, GI_FOP_OPENDIR);
  gi_fop_set_fd(h, fop->fd);
  err = di_do_drop(d, h, (unsigned)di_index(d, d->place[place]));
  if (!err)
    df->opened |= 1ull << place;
  if (di_is_gone(err))
    df->absent |= 1ull << place;
  return err;
}

/* ---- one subvolume's part ---- */

struct listing {
  struct di *d;
  struct gi_fop *fop;
  struct di_fd *df;
  unsigned leaf, place, set; /* the part of the listing, and its subvolume, by its place and by its number */
  uint64_t off, from;        /* `from`: the cookie that was asked for */
  uint64_t *exact;           /* of each entry that is told: where it is on the subvolume */
  int err;                   /* what an entry is could not be found out */
};

/* False: whose part it is has left. */
static bool
at_leaf(struct listing *l, unsigned leaf)
{
  GI_ASSERT(leaf < DI_LEAFS);
  l->leaf = leaf;
  l->place = leaf % AGAIN;
  if (l->d->place[l->place])
    l->set = (unsigned)di_index(l->d, l->d->place[l->place]);
  return l->d->place[l->place];
}

static bool
is_again(const struct listing *l)
{
  return l->leaf >= AGAIN;
}

/* How many places, from the first, are listed again. Who did not begin at the beginning gets what follows, and no more. */
static unsigned
sets_again(const struct listing *l)
{
  const struct di_fd *df = l->df;
  unsigned shown = df->told.untold ? df->shown : 0;

  if (!df->since || GI_BROKEN("list nothing again after files have moved"))
    return 0;
  return df->again > shown ? df->again : shown;
}

static void
drop_second(struct di_fd *df)
{
  for (unsigned i = 0; df->second && i < DI_MAX; i++)
    gi_fd_unref(&df->second[i]);
  gi_free(df->second);
  df->second = NULL;
}

void
di_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct di_fd *df = bytes;

  di_told_free(&df->told);
  drop_second(df);
  gi_free(df->layout);
}

/* A subvolume of several copies may list another one when it is listed again. The cookies of the first time, to which a reader may come back, hold on
 * that of the first time alone: so each time has a descriptor of its own. 0 or errno. */
static int
open_second(struct listing *l)
{
  struct di_fd *df = l->df;
  struct gi_fd *fd;
  struct gi_fop *h;
  int err;

  if (!is_again(l) || (df->second && df->second[l->place]))
    return 0;
  fd = gi_fd_new(l->d->x->graph, l->fop->fd->inode, O_RDONLY | O_DIRECTORY, l->fop->caller.pid);
  fd->directory = true;
  h = gi_fop_helper(l->fop, GI_FOP_OPENDIR);
  gi_fop_set_fd(h, fd);
  err = di_do_drop(l->d, h, l->set);
  if (err) {
    gi_fd_unref(&fd);
    return err;
  }
  if (!df->second)
    df->second = gi_zalloc(DI_MAX * sizeof(struct gi_fd *));
  df->second[l->place] = fd;
  l->off = 0;
  return 0;
}

static struct gi_fd *
fd_of(const struct listing *l)
{
  return is_again(l) ? l->df->second[l->place] : l->fop->fd;
}

/* ---- what an entry is ---- */

/* The name on one subvolume, of an entry that another showed; NULL: it is not there, or cannot be asked for, and the listing fails. The
 * caller's. */
static struct gi_fop *
look(struct listing *l, const struct gi_dirent *e, unsigned child)
{
  struct gi_fop *h;
  char name[GI_NAME_MAX + 1];

  if (!di_entry_name(e, name))
    return NULL;
  h = gi_fop_helper(l->fop, GI_FOP_LOOKUP);
  gi_fop_set_entry(h, &h->loc, l->fop->fd->inode, name);
  gi_dict_set_int(gi_fop_xdata(h), l->d->linkto_key, 256);
  int err = di_do(l->d, h, child);

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

  GI_IGNORE(di_cookie_decode(l->df->listed, &leaf));
  return l->from == l->df->listed || leaf >= l->leaf;
}

/* Whether the listing has told of it already, or does where it begins. One that is missing on the first subvolume, because that was down when it was
 * made, is taken from another. It may get it at any moment: so what the first one has shown counts, and not what it has. One may read ahead while
 * another one reads. */
static bool
told_of_dir(struct listing *l, const struct gi_dirent *e)
{
  if (di_told_name(&l->df->told, e->name, e->name_len, l->leaf) < l->leaf)
    return true;
  if (has_listed_before(l))
    return false;
  for (unsigned place = 0; place < l->place; place++) {
    const struct gi_xlator *child = l->d->place[place];
    struct gi_fop *h = child ? look(l, e, (unsigned)di_index(l->d, child)) : NULL;
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

  if (!di_entry_name(e, name))
    return false;
  err = di_resolve(l->d, l->fop, &loc, child, stat);
  if (err && err != ENOENT && !(err == ENOTCONN && di_opts(l->d)->partial_listing == DI_PARTIAL_ALLOW))
    l->err = err;
  return !err;
}

/* What carries the note of a rename may have the name here, and another one, or none, elsewhere: a lookup knows which counts. */
static bool
is_found_here(struct listing *l, const struct gi_dirent *e)
{
  struct gi_iatt stat;
  int child;

  return resolve(l, e, &child, &stat) && (child == (int)l->set || S_ISDIR(stat.mode)) &&
         (!gi_iatt_valid(&e->stat) || gi_gfid_equal(&stat.gfid, &e->stat.gfid));
}

static bool
is_due(struct listing *l, const struct gi_dirent *e)
{
  return !gi_dict_get(e->xdata, l->d->note_key) || is_found_here(l, e);
}

/* It has gone from here since it was listed. A name that there has been all the time is where the listing comes yet, or has been before. */
static bool
has_gone_back(struct listing *l, const struct gi_dirent *e)
{
  struct gi_iatt stat;
  int child;

  return resolve(l, e, &child, &stat) && child >= 0 && di_place_of(l->d, (unsigned)child) < l->place;
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
  struct gi_fop *h = look(l, e, l->set);
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

/* Its file is elsewhere: where the listing comes yet, or has told of it; if not, all is listed again up to here, and a lookup finds it. */
static void
met_linkto(struct listing *l, const struct gi_dirent *e)
{
  di_told_met(&l->df->told, e->name, e->name_len);
  if (l->df->shown <= l->place)
    l->df->shown = (uint8_t)(l->place + 1);
}

/* Whether nobody has told of it, and it is a file, or a linkto file whose file a lookup finds wherever that is. */
static bool
found_again(struct listing *l, struct gi_dirent *e)
{
  struct gi_iatt stat;
  int child;

  if (di_told_has(&l->df->told, e->name, e->name_len) || !resolve(l, e, &child, &stat) || child < 0)
    return false;
  e->type = (uint32_t)(stat.mode & S_IFMT) >> 12;
  e->ino = stat.ino;
  return true;
}

/* Whether the listing tells of it here. */
static bool
wanted(struct listing *l, struct gi_dirent *e)
{
  if (!l->d->spread)
    return di_told_name(&l->df->told, e->name, e->name_len, l->leaf) == l->leaf;

  bool dir = S_ISDIR(e->stat.mode) || (!gi_iatt_valid(&e->stat) && e->type == DT_DIR);

  if (dir)
    return !is_again(l) && is_due(l, e) && !told_of_dir(l, e);
  if (is_again(l)) {
    if (!found_again(l, e))
      return false;
  } else if (is_linkto(l, e)) {
    met_linkto(l, e);
    return false;
  } else if (!is_due(l, e)) {
    return false;
  }
  return di_told_name(&l->df->told, e->name, e->name_len, l->leaf) == l->leaf;
}

/* What it is like where there are several subvolumes. */
static void
judge_attributes(const struct listing *l, const struct gi_dirent *e, struct gi_dirent *mine)
{
  if (S_ISDIR(e->stat.mode)) {
    memset(&mine->stat, 0, sizeof(mine->stat)); /* one subvolume's are not the directory's */
    mine->type = DT_DIR;
  } else if (gi_iatt_valid(&e->stat)) {
    if (di_is_moving(l->d, &e->stat, e->xdata)) {
      memset(&mine->stat, 0, sizeof(mine->stat)); /* a lookup knows which bits of the mode are its own */
      mine->type = DT_REG;
    }
    if (!di_tells_unfinished(l->d, &e->stat, e->xdata))
      di_know_file(l->d, &e->stat.gfid, l->d->x->children[l->set]);
  }
}

static void
take_entry(const struct listing *l, struct gi_dirent *e)
{
  struct gi_dirent mine = *e;

  mine.off = di_cookie_encode(e->off, l->leaf);
  if (l->d->spread)
    judge_attributes(l, e, &mine);
  e->xdata = NULL;
  l->exact[l->fop->rsp.entries.count] = e->off;
  gi_dirents_add(&l->fop->rsp.entries, &mine, l->fop);
}

/* A name has left it, perhaps, since the listing began. */
static bool
may_have_left(const struct listing *l, const struct gi_fop *reply)
{
  uint64_t quiet;

  return !gi_dict_get_uint(reply->rsp.xdata, GI_LEFT_KEY, &quiet) || quiet < gi_now(l->d->x->reactor) - l->df->since;
}

/* A subvolume of several copies knows which of them are good as of when it was asked last. What has come to it since, from where nothing was seen of it
 * any more, may be on the good ones alone. 0 or errno. */
static int
renew(struct listing *l)
{
  struct gi_fop *h;
  int err;

  if (!l->d->spread || l->off || (l->df->fresh && !l->df->left))
    return 0;
  h = gi_fop_helper(l->fop, GI_FOP_LOOKUP);
  gi_loc_set_inode(&h->loc, l->fop->fd->inode);
  err = di_do_drop(l->d, h, l->set);
  return di_is_gone(err) ? 0 : err; /* who has a removed directory open lists it still */
}

/* Names alone of what is listed again: nearly all were told, and what they are costs a brick ten times as much. */
static enum gi_fop_kind
kind_of(const struct listing *l)
{
  if (!l->d->spread)
    return l->fop->kind;
  return is_again(l) ? GI_FOP_READDIR : GI_FOP_READDIRP;
}

static void
ask_what_it_is(const struct di *d, struct gi_dict *xdata)
{
  gi_dict_set_int(xdata, d->linkto_key, 256);
  gi_dict_set_int(xdata, d->note_key, 1024);
  gi_dict_set_int(xdata, GI_LEFT_KEY, 1);
}

/* Asks for what follows. *end: nothing does. 0 or errno. */
static int
list_some(struct listing *l, bool *end)
{
  struct gi_fop *h;
  int err = open_second(l);

  *end = di_is_gone(err); /* the directory has been removed */
  if (!err)
    err = renew(l);
  if (err)
    return *end ? 0 : err;
  h = gi_fop_helper(l->fop, kind_of(l));
  gi_fop_set_fd(h, fd_of(l));
  GI_ASSERT(l->set < l->d->n);
  h->args.size = l->fop->args.size;
  h->args.offset = l->off;
  h->xdata = gi_dict_ref(l->fop->xdata);
  if (l->d->spread)
    ask_what_it_is(l->d, gi_fop_xdata(h));
  err = di_do(l->d, h, l->set);
  if (!err && may_have_left(l, h)) {
    l->df->left = true;
    if (!is_again(l) && l->df->again < l->place)
      l->df->again = (uint8_t)l->place;
  }
  *end = !err && (h->rsp.entries.count == 0 || h->rsp.err == ENOENT);
  if (!err && !*end && h->rsp.entries.entry[h->rsp.entries.count - 1].off == h->args.offset)
    err = EIO; /* it would go on for ever */
  l->exact = gi_fop_alloc(l->fop, h->rsp.entries.count * sizeof(*l->exact));
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
         "%s is down: listings lack what is there (partial-listing=allow)", l->d->x->children[l->set]->name);
  return true;
}

static bool
next_leaf(struct listing *l)
{
  l->off = 0;
  do
    if (l->leaf + 1 == DI_LEAFS)
      return false;
  while (!at_leaf(l, l->leaf + 1));
  return !is_again(l) || l->place < sets_again(l);
}

static bool
layout_has_changed(const struct listing *l)
{
  const struct di_layout *is = di_layout_known(l->d, l->fop->fd->inode), *was = l->df->layout;

  return is && (!was || !di_layout_same(was, is));
}

/* What is known of the layout now is what the part that follows begins with. */
static void
take_layout(struct listing *l)
{
  const struct di_layout *is = di_layout_known(l->d, l->fop->fd->inode);

  gi_free(l->df->layout);
  l->df->layout = is ? di_layout_copy(is) : NULL;
}

/* No part is left. But a file may have gone to a subvolume that is listed again, and from there to one that is not. Two rebalances do that, and each of
 * them writes another layout first: then all are listed again, as often as it is another one. Entries that are told now keep their cookies: the one of
 * what is listed again was told before, and who reads ahead has by it what followed then. So their reader asks in vain first. */
static bool
list_once_more(struct listing *l)
{
  struct di_fd *df = l->df;

  if (!df->since || !df->again || di_locate(l->d, l->fop, l->fop->fd->inode) || !layout_has_changed(l))
    return false;
  if (l->fop->rsp.entries.count)
    return true;
  if (df->more == ROUNDS_MAX) {
    l->err = EIO;
    return false;
  }
  GI_PROBE("distribute: all are listed once more, as the layout has changed");
  take_layout(l);
  drop_second(df);
  df->again = DI_MAX;
  df->left = true;
  df->more++;
  l->leaf = AGAIN - 1;
  return next_leaf(l);
}

/* The subvolume after this one begins where the last entry's cookie leads: nobody asks this one again in vain. Of what is listed once more
 * that cookie was told before. */
static void
continue_behind(struct listing *l)
{
  struct gi_dirents *all = &l->fop->rsp.entries;

  if (!all->count || l->df->more)
    return;
  all->entry[all->count - 1].off = di_cookie_encode(0, l->leaf);
  l->exact[all->count - 1] = 0;
}

static void
begin_anew(struct listing *l)
{
  struct di_fd *df = l->df;

  take_layout(l);
  if (!l->d->seed)
    gi_random(l->d->x->reactor, &l->d->seed, sizeof(l->d->seed));
  di_told_free(&df->told);
  drop_second(df);
  df->told.seed = l->d->seed;
  if (!df->since || df->listed) { /* or somebody else has begun, too, and has got nothing yet */
    df->since = gi_now(l->d->x->reactor);
    df->fresh = df->left = false;
  }
  df->listed = 0;
  df->again = df->shown = 0;
  df->more = 0;
}

/* The reader goes on somewhere else than where it was: in the middle of what it got last, as a rule. */
static void
go_elsewhere(struct listing *l)
{
  struct di_fd *df = l->df;
  unsigned leaf;

  GI_IGNORE(di_cookie_decode(df->listed, &leaf));
  if (leaf < l->leaf && !df->more) {
    df->since = 0;
    return;
  }
  if (df->more) { /* it may be a cookie of an earlier time, and skips what it has not seen */
    gi_free(df->layout);
    df->layout = NULL;
  }
  if (!di_told_back(&df->told, l->from))
    di_told_only(&df->told, l->leaf);
  df->shown = DI_MAX;
  df->listed = l->from;
}

/* What was on a subvolume that has left has gone to others before, listed or not. */
static void
hear_who_left(struct listing *l)
{
  struct di_fd *df = l->df;

  if (df->known && df->set < l->d->left) {
    df->again = DI_MAX;
    df->left = true;
    drop_second(df);
    for (unsigned p = 0; p < DI_MAX; p++)
      if (!l->d->place[p]) {
        df->opened &= ~(1ull << p);
        df->absent &= ~(1ull << p);
      }
  }
  df->set = l->d->sets;
}

static void
know_where_open(struct listing *l)
{
  const struct di *d = l->d;

  if (!l->df->known && d->sole)
    l->df->opened |= 1ull << di_place_of(d, (unsigned)di_index(d, d->sole));
  l->df->known = true;
}

/* False: nothing follows. */
static bool
begin(struct listing *l)
{
  struct di_fd *df = l->df;
  bool there;
  unsigned leaf;

  hear_who_left(l);
  know_where_open(l);
  if (l->from == 0)
    begin_anew(l);
  l->off = di_cookie_decode(l->from, &leaf);
  GI_IGNORE(di_told_exact(&df->told, l->from, &l->off)); /* else the next one that is not before it */
  there = at_leaf(l, leaf);
  if (l->from != df->listed)
    go_elsewhere(l);
  return there || next_leaf(l) || list_once_more(l);
}

static enum gi_verdict
list(struct di *d, struct gi_fop *fop)
{
  struct listing l = {.d = d, .fop = fop, .df = di_fd_of(d, fop->fd), .from = fop->args.offset};
  bool end = false, over = !begin(&l);
  int err = 0;

  while (!over && !err && fop->rsp.entries.count == 0) {
    err = l.df->absent >> l.place & 1 ? ENOENT : open_late(d, fop, l.place);
    if (!err)
      err = list_some(&l, &end);
    if ((l.df->absent >> l.place & 1) || (err == ENOTCONN && leave_out(&l)) ||
        (err && GI_BROKEN("leave out of a listing who is away"))) {
      err = 0;
      end = true;
    }
    if (!err && end && !next_leaf(&l)) {
      end = false;
      over = !list_once_more(&l);
    }
  }
  if (over)
    err = l.err;
  if (err) {
    di_told_lost(&l.df->told, &fop->rsp.entries);
    l.df->shown = DI_MAX;
    gi_dirents_free(&fop->rsp.entries);
    return gi_fop_fail(fop, err);
  }
  if (end)
    continue_behind(&l);
  if (fop->rsp.entries.count && l.from == l.df->listed) {
    l.df->listed = fop->rsp.entries.entry[fop->rsp.entries.count - 1].off;
    di_told_reply(&l.df->told, l.from, &fop->rsp.entries, l.exact);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
  fop->rsp.err = over ? ENOENT : 0;
  return GI_ANSWERED;
}

/* One after the other: who has read ahead and given that up is not to tell of names while the reader that comes back lists. */
static enum gi_verdict
list_in_turn(struct di *d, struct gi_fop *fop)
{
  enum gi_verdict verdict;

  di_fd_turn(d, fop->fd);
  verdict = list(d, fop);
  di_fd_turn_over(d, fop->fd);
  return verdict;
}

enum gi_verdict
di_readdir(struct gi_xlator *x, struct gi_fop *fop)
{
  return di_run(di_of(x), fop, list_in_turn);
}
