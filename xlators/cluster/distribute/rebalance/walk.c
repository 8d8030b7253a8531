/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over all directories: each gets its new layout; then what the
 * subvolumes have in it that belongs elsewhere is moved. Its subdirectories
 * follow.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"

#include "libglusterish/log.h"

#include <errno.h>
#include <sys/stat.h>

#define PAGE_BYTES (64u << 10)
#define WAIT GI_NSEC_PER_SEC
#define TRIES 60 /* while a subvolume goes and comes */
#define QUIET 3  /* walks without a find, one after the other, before subvolumes that are to leave count as empty */
#define WALKS 4  /* as long as files with several names are not met under all of them */

/* A directory that waits; its ancestors stay while it does, for its layout begins where its path says. */
struct place {
  struct gi_list link;
  struct place *above;
  unsigned refs;
  struct gi_inode *inode;
  char *name;
  bool anew; /* it has got another layout: what it has may belong elsewhere now, on whichever subvolume that is */
};

struct walk {
  struct di_reb *r;
  uint64_t on;     /* subvolumes that are listed … */
  uint64_t listed; /* … and those of the directory under way */
  struct gi_list todo;
  struct gi_list found; /* in the directory that is listed: they wait when all of it has been */
  uint64_t again;       /* files that got another name while they were moved */
};

/* ---- places ---- */

static struct place *
place_new(struct place *above, const struct gi_gfid *gfid, const char *name, struct gi_graph *g)
{
  struct place *p = gi_new(struct place);

  p->refs = 1;
  p->above = above;
  if (above)
    above->refs++;
  p->inode = gi_inode_get(g, gfid);
  p->name = name ? gi_strdup(name) : NULL;
  gi_list_init(&p->link);
  return p;
}

static void
place_put(struct place *p)
{
  while (p) {
    GI_ASSERT(p->refs > 0);
    if (--p->refs > 0)
      return;

    struct place *above = p->above;

    gi_inode_unref(&p->inode);
    gi_free(p->name);
    gi_free(p);
    p = above;
  }
}

static struct gi_loc
place_loc(const struct place *p)
{
  struct gi_loc loc = {.gfid = p->inode->gfid, .inode = p->inode, .name = p->name};

  if (p->above) {
    loc.parent = p->above->inode;
    loc.pargfid = p->above->inode->gfid;
  }
  return loc;
}

bool
di_reb_all_up(struct di_reb *r)
{
  while (!r->stopping && r->d->up != di_all(r->d))
    gi_task_sleep(r->d->x->reactor, WAIT);
  return !r->stopping;
}

bool
di_reb_try_again(struct di_reb *r, int err, unsigned *tries)
{
  if (err != ENOTCONN || (*tries)++ == TRIES)
    return false;
  gi_task_sleep(r->d->x->reactor, WAIT);
  return true;
}

/* ---- layouts ---- */

/* Looks the directory up on all subvolumes, which makes it where it is missing, and ends a rename of it. */
static int
visit(struct di_reb *r, const struct place *p)
{
  struct gi_loc loc = place_loc(p);
  struct di_found f;
  struct gi_iatt stat;
  unsigned best;
  int err, noted;

  di_find(r->d, r->base, &loc, di_all(r->d), &f);
  noted = loc.name ? di_found_note(r->d, &f) : -1;
  if (noted >= 0) {
    di_note_settle(r->d, r->base, gi_fan_reply(&f.ask.fan, (unsigned)noted), (unsigned)noted);
    di_found_end(&f);
    di_find(r->d, r->base, &loc, di_all(r->d), &f);
  }
  err = f.dir ? di_merge_dir(r->d, r->base, &loc, &f, &stat, &best) : f.failed ? ENOTCONN : ENOENT;
  if (!err && (f.failed || (f.absent && di_found_note(r->d, &f) >= 0)))
    err = ENOTCONN;
  di_found_end(&f);
  return err;
}

/* ---- listings ---- */

struct listing {
  struct gi_fd *fd;
  struct gi_fop *page;
  uint32_t at;
  uint64_t offset;
  bool end;
  int err;
};

static int
list_open(struct di_reb *r, const struct place *p, unsigned child, struct listing *l)
{
  struct gi_fop *fop = di_helper(r->base, GI_FOP_OPENDIR);

  *l = (struct listing){.fd = gi_fd_new(r->d->x->graph, p->inode, 0, GI_PID_REBALANCE)};
  l->fd->directory = true;
  gi_fop_set_fd(fop, l->fd);
  l->err = di_do_drop(r->d, fop, child);
  l->end = l->err != 0;
  return l->err;
}

static void
list_fetch(struct di_reb *r, unsigned child, struct listing *l)
{
  const struct gi_dirents *e;

  GI_ASSERT(l->fd && !l->end);
  gi_fop_unref(l->page);
  l->page = di_helper(r->base, GI_FOP_READDIRP);
  gi_fop_set_fd(l->page, l->fd);
  gi_dict_set_int(gi_fop_xdata(l->page), r->d->linkto_key, 256);
  l->page->args.size = PAGE_BYTES;
  l->page->args.offset = l->offset;
  l->err = di_do(r->d, l->page, child);
  l->at = 0;
  e = &l->page->rsp.entries;
  if (l->err || e->count == 0 || l->page->rsp.err == ENOENT)
    l->end = true;
  else if (e->entry[e->count - 1].off == l->offset)
    l->err = EIO, l->end = true; /* it would go on for ever */
}

static const struct gi_dirent *
list_next(struct di_reb *r, unsigned child, struct listing *l)
{
  for (;;) {
    while (l->page && !l->err && l->at < l->page->rsp.entries.count) {
      const struct gi_dirent *e = &l->page->rsp.entries.entry[l->at++];

      l->offset = e->off;
      if (e->name[0] && strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0 && !strchr(e->name, '/'))
        return e;
    }
    if (l->end)
      return NULL;
    list_fetch(r, child, l);
  }
}

static void
list_close(struct listing *l)
{
  gi_fop_unref(l->page);
  gi_fd_unref(&l->fd);
}

/* ---- one file ---- */

struct errand {
  struct walk *w;
  struct gi_loc loc;
  char *name;
  struct gi_gfid gfid;
  bool regular;
  unsigned from, to;          /* the same: it stays, without the marks that it has */
  struct di_reb_names *names; /* of a file that has several; else NULL */
};

/* What became of it. */
static void
account(struct di_reb *r, const char *name, unsigned from, int err)
{
  bool skipped = err == EBUSY || (err == ENOSPC && r->command == DI_REB_START);

  if (!err)
    r->moved++;
  if (!err || di_is_gone(err) || err == ECANCELED || err == EALREADY)
    return;
  if (skipped)
    r->skipped++;
  else
    r->failures++;
  gi_log(skipped ? GI_LOG_WARNING : GI_LOG_ERROR, r->d->x->name, GI_MSG_DISTRIBUTE + 21, "%s stays on %s: %s", name,
         r->d->x->children[from]->name,
         err == EBUSY ? "it is locked, or written all the time"
         : skipped    ? "there is no room for it where it belongs"
                      : strerror(err));
}

static void
move_one(struct errand *e)
{
  struct di_reb *r = e->w->r;
  bool stays = e->from == e->to;
  struct di_reb_name only = {.parent = e->loc.parent, .name = e->name};
  const struct di_reb_names names = {.gfid = e->gfid, .from = e->from, .n = 1, .name = &only};
  int err = stays        ? di_reb_stay(r, &e->loc, e->to)
            : e->regular ? di_reb_move(r, &e->loc, e->from, e->to)
                         : di_reb_move_other(r, &names);

  if (!err && stays)
    return;
  if (err == EMLINK) { /* the next walk meets it under both */
    e->w->again++;
    return;
  }
  account(r, e->name, e->from, err);
  if (err == EBUSY || err == ENOSPC) /* it stays */
    GI_IGNORE(di_reb_announce(r, &e->loc));
}

static void
move_names(struct errand *e)
{
  struct di_reb *r = e->w->r;
  int err = e->names->regular ? di_reb_move_names(r, e->names) : di_reb_move_other(r, e->names);

  if (err == EMLINK) /* the next walk meets it */
    e->w->again++;
  else
    account(r, e->names->name[0].name, e->from, err);
}

static void
run_errand(void *arg)
{
  struct errand *e = arg;
  struct di_reb *r = e->w->r;
  uint64_t began = gi_now(r->d->x->reactor);

  di_reb_yield(r, DI_REB_FILE_OPS);
  if (e->names)
    move_names(e);
  else
    move_one(e);
  if (di_opts(r->d)->rebalance_stats)
    gi_log(GI_LOG_INFO, r->d->x->name, GI_MSG_DISTRIBUTE + 27, "%s took %.3f s", e->names ? e->names->name[0].name : e->name,
           (double)(gi_now(r->d->x->reactor) - began) / GI_NSEC_PER_SEC);
  gi_window_give(&r->files, 1);
  if (e->names)
    di_reb_names_free(e->names);
  gi_inode_unref(&e->loc.parent);
  gi_free(e->name);
  gi_free(e);
}

static void
start_errand(struct walk *w, const struct errand *proto)
{
  struct di_reb *r = w->r;
  struct errand *e;

  gi_window_take(&r->files, r->d->x->reactor, 1);
  e = gi_new(struct errand);
  *e = *proto;
  e->w = w;
  gi_task_start(r->d->x->reactor, run_errand, e);
}

static void
send(struct walk *w, const struct place *p, const struct gi_dirent *entry, unsigned from, unsigned to)
{
  struct errand e = {
      .name = gi_strdup(entry->name), .gfid = entry->stat.gfid, .regular = S_ISREG(entry->stat.mode), .from = from, .to = to};

  GI_ASSERT(from < w->r->d->n && to < w->r->d->n);
  e.loc.name = e.name;
  e.loc.pargfid = p->inode->gfid;
  e.loc.parent = gi_inode_ref(p->inode);
  start_errand(w, &e);
}

static bool
is_moving(const struct gi_iatt *a)
{
  return S_ISREG(a->mode) && (a->mode & DI_MOVING) == DI_MOVING;
}

/* One name of several. It has a linkto file where it belongs, whatever becomes of it. */
static int
send_name(struct walk *w, const struct place *p, const struct gi_dirent *e, unsigned from, unsigned hashed)
{
  struct di_reb *r = w->r;
  struct gi_loc loc = {.name = e->name, .pargfid = p->inode->gfid, .parent = p->inode};
  bool moving = is_moving(&e->stat);
  struct di_reb_names *all;
  int err;

  if (hashed == from && !moving) {
    di_reb_collect_home(r, from, &e->stat.gfid);
    return 0;
  }
  err = hashed == from ? 0 : di_reb_announce(r, &loc);
  if (err)
    return di_is_gone(err) ? 0 : err;
  if (!(w->on >> from & 1)) /* its other names are not met */
    return 0;
  all = di_reb_collect(r, from, &e->stat, p->inode, e->name);
  if (all)
    start_errand(w, &(struct errand){.names = all, .from = from});
  return 0;
}

/* There is no room for it where it belongs. From a subvolume that is to leave it goes elsewhere; else it stays, which hinders nobody who
 * empties another one. */
static int
send_elsewhere(struct walk *w, const struct place *p, const struct gi_dirent *e, unsigned from)
{
  struct di_reb *r = w->r;
  struct gi_loc loc = {.name = e->name, .pargfid = p->inode->gfid, .parent = p->inode};
  int err = di_reb_announce(r, &loc);

  GI_ASSERT(from < r->d->n && S_ISREG(e->stat.mode));
  if (err)
    return di_is_gone(err) ? 0 : err;
  if (r->d->leaving >> from & 1)
    start_errand(w, &(struct errand){.names = di_reb_names_one(from, &e->stat.gfid, p->inode, e->name), .from = from});
  if (r->d->leaving)
    return 0;
  account(r, e->name, from, ENOSPC);
  if (is_moving(&e->stat))
    send(w, p, e, from, from);
  return 0;
}

static void
wait_for_all(struct di_reb *r)
{
  uint64_t all = UINT64_MAX / 2; /* more than there is, whatever the option says meanwhile */

  gi_window_take(&r->files, r->d->x->reactor, all);
  gi_window_give(&r->files, all);
}

static int
look(struct di_reb *r, const struct place *p, unsigned child, const char *name, struct gi_fop **fop)
{
  *fop = di_helper(r->base, GI_FOP_LOOKUP);
  (*fop)->loc.name = name;
  (*fop)->loc.pargfid = p->inode->gfid;
  (*fop)->loc.parent = gi_inode_ref(p->inode);
  di_add_keys(r->d, gi_fop_xdata(*fop));
  return di_do(r->d, *fop, child);
}

/* What the listing tells of it, or else the subvolume. 0 or errno; *linkto: it is a linkto file. */
static int
attributes(struct di_reb *r, const struct place *p, unsigned child, struct gi_dirent *e, bool *linkto)
{
  struct gi_fop *fop;
  int err;

  *linkto = di_tells_linkto(r->d, &e->stat, e->xdata);
  if (gi_iatt_valid(&e->stat))
    return 0;
  err = look(r, p, child, e->name, &fop);
  e->stat = fop->rsp.stat;
  *linkto = !err && di_is_linkto(r->d, fop);
  gi_fop_unref(fop);
  return err;
}

/* *left: it is what a move has left of a file that is elsewhere, though it lacks the attribute of a linkto file. */
static int
is_left(struct di_reb *r, const struct place *p, unsigned child, const struct gi_dirent *e, bool *left)
{
  struct gi_loc loc = {.name = e->name, .pargfid = p->inode->gfid, .parent = p->inode};
  struct gi_iatt stat;
  int at, err = 0;

  *left = false;
  if (!di_is_bare(r->d, &e->stat, e->xdata))
    return 0;
  err = di_resolve(r->d, r->base, &loc, &at, &stat);
  *left = !err && at >= 0 && at != (int)child && gi_gfid_equal(&stat.gfid, &e->stat.gfid);
  return err;
}

/* A subvolume that was listed before this one has the directory too, and so has shown it. 0 or errno. */
static int
shown_before(const struct walk *w, const struct place *p, unsigned child, const char *name, bool *shown)
{
  struct gi_fop *fop;

  *shown = false;
  for (unsigned i = 0; i < child && !*shown; i++) {
    if (!(w->listed >> i & 1))
      continue;
    int err = look(w->r, p, i, name, &fop);

    *shown = !err && S_ISDIR(fop->rsp.stat.mode);
    gi_fop_unref(fop);
    if (err && !di_is_gone(err))
      return err;
  }
  return 0;
}

static int
directory_found(struct walk *w, struct place *p, unsigned child, const struct gi_dirent *e)
{
  bool shown;
  int err = gi_gfid_is_none(&e->stat.gfid) ? EIO : shown_before(w, p, child, e->name, &shown);

  GI_ASSERT(S_ISDIR(e->stat.mode));
  if (!err && !shown)
    gi_list_add_tail(&w->found, &place_new(p, &e->stat.gfid, e->name, w->r->d->x->graph)->link);
  return err;
}

static int
stray(struct walk *w, const struct place *p, unsigned child, const struct gi_dirent *e)
{
  struct gi_loc loc = {.name = e->name, .pargfid = p->inode->gfid, .parent = p->inode};

  return di_reb_stray(w->r, &loc, child);
}

/* An entry of a subvolume's own listing. 0 or errno: what it is could not be found out. */
static int
entry(struct walk *w, struct place *p, unsigned child, struct gi_dirent *e)
{
  struct di_reb *r = w->r;
  struct di *d = r->d;
  const struct di_layout *l;
  bool linkto;
  int hashed, err;

  if (gi_gfid_is_root(&p->inode->gfid) && strcmp(e->name, ".glusterfs") == 0)
    return 0;
  err = attributes(r, p, child, e, &linkto);
  if (err)
    return di_is_gone(err) ? 0 : err; /* it is gone */
  if (S_ISDIR(e->stat.mode))
    return directory_found(w, p, child, e);
  if (r->command == DI_REB_LAYOUT)
    return 0;
  l = di_layout_known(d, p->inode);
  hashed = l ? di_hashed(d, l, e->name) : -1;
  if (hashed < 0)
    return l ? EIO : ENOTCONN; /* a subvolume went or came meanwhile: nothing may be passed over */
  if (!linkto)
    err = is_left(r, p, child, e, &linkto);
  if (err)
    return di_is_gone(err) ? 0 : err;
  if (linkto)
    return hashed == (int)child && e->stat.size == 0 ? 0 : stray(w, p, child, e);
  r->scanned += w->on == di_all(d);
  if (e->stat.nlink > 1)
    return send_name(w, p, e, child, (unsigned)hashed);
  r->met += d->leaving >> child & 1;
  if (hashed == (int)child && !is_moving(&e->stat))
    return 0;
  if (hashed != (int)child && S_ISREG(e->stat.mode) && !di_reb_fits(r, (unsigned)hashed, &e->stat))
    return send_elsewhere(w, p, e, child);
  send(w, p, e, child, (unsigned)hashed);
  return 0;
}

static int
list(struct walk *w, struct place *p, unsigned child)
{
  struct di_reb *r = w->r;
  struct listing l;
  const struct gi_dirent *e;
  struct gi_dirent copy;

  if (list_open(r, p, child, &l) == 0)
    while (!r->stopping && !l.err && (e = list_next(r, child, &l)) != NULL) {
      copy = *e;
      l.err = entry(w, p, child, &copy);
    }
  list_close(&l);
  return l.err;
}

/* ---- one directory ---- */

static int
directory_once(struct walk *w, struct place *p)
{
  struct di_reb *r = w->r;
  struct gi_loc loc = place_loc(p);
  int err = visit(r, p);

  if (!err)
    err = di_layout_renew(r->d, r->base, &loc, &p->inode->gfid, r->commit, &p->anew);
  w->listed = p->anew && r->command != DI_REB_LAYOUT ? di_all(r->d) : w->on;
  for (unsigned i = 0; i < r->d->n && !err; i++)
    if (w->listed >> i & 1)
      err = list(w, p, i);
  wait_for_all(r);
  while (err && !gi_list_empty(&w->found)) { /* they are found again */
    struct place *sub = gi_list_first(&w->found, struct place, link);

    gi_list_del(&sub->link);
    place_put(sub);
  }
  gi_list_splice_tail(&w->todo, &w->found);
  return err;
}

static void
directory(struct walk *w, struct place *p)
{
  struct di_reb *r = w->r;
  int err = 0;

  for (unsigned tries = 0; di_reb_all_up(r);) {
    err = directory_once(w, p);
    if (!err || r->stopping)
      return;
    if (err == ENOENT) { /* on all subvolumes, or on one that has lacked it for a moment, and has it now? */
      err = visit(r, p);
      if (err == ENOENT)
        return;
      err = err ? err : ENOTCONN;
    }
    if (!di_reb_try_again(r, err, &tries))
      break;
  }
  if (r->stopping)
    return;
  r->failures++;
  gi_log(GI_LOG_ERROR, r->d->x->name, GI_MSG_DISTRIBUTE + 22, "directory %s is left as it is: %s", p->name ? p->name : "/",
         strerror(err));
}

/* ---- the volume ---- */

/* How many objects there are, as far as the subvolumes tell. */
static void
count(struct di_reb *r)
{
  uint64_t weight[DI_MAX];

  GI_IGNORE(di_weights(r->d, r->base, weight)); /* which asks for what is known of their room */
  for (unsigned i = 0; i < r->d->n; i++)
    r->objects += r->d->space[i].st.files - r->d->space[i].st.ffree;
}

/* Lists the subvolumes of `on`, each directory of theirs. Files that have several names, and were not met under all of them. */
static uint64_t
walk_once(struct di_reb *r, uint64_t on)
{
  struct walk w = {.r = r, .on = on};

  GI_ASSERT(on && !(on & ~di_all(r->d)));
  gi_list_init(&w.todo);
  gi_list_init(&w.found);
  gi_list_add_tail(&w.todo, &place_new(NULL, &gi_gfid_root, NULL, r->d->x->graph)->link);
  while (!gi_list_empty(&w.todo)) {
    struct place *p = gi_list_first(&w.todo, struct place, link);

    gi_list_del(&p->link);
    directory(&w, p);
    place_put(p);
  }
  return di_reb_collect_end(r) + w.again;
}

/* Again while names of files with several come and go. */
static void
walk_all(struct di_reb *r, uint64_t on)
{
  uint64_t left = 1;

  for (unsigned i = 0; left && i < WALKS && !r->stopping && !r->failures; i++)
    left = walk_once(r, on);
  if (left && !r->stopping)
    gi_log(GI_LOG_WARNING, r->d->x->name, GI_MSG_DISTRIBUTE + 23,
           "%llu files with several names stay where they are: names of them come and go", (unsigned long long)left);
  r->skipped += left;
  r->unsure = r->unsure || left;
}

/* A file that is renamed from a directory that was not yet listed to one that was, or to a new one, is met by the next walk only. What has
 * to stay is met each time, and counted once. */
static void
empty_leaving(struct di_reb *r)
{
  for (unsigned quiet = 0; r->d->leaving && quiet < QUIET && !r->stopping && !r->failures;) {
    uint64_t moved = r->moved, left;

    r->skipped = r->met = 0;
    left = walk_once(r, r->d->leaving);
    quiet = r->met > r->skipped || r->moved > moved ? 0 : quiet + 1;
    r->skipped += left;
    r->unsure = r->unsure || left;
  }
}

void
di_reb_walk(struct di_reb *r)
{
  bool layout_only = r->command == DI_REB_LAYOUT;

  count(r);
  di_reb_commit_begin(r);
  walk_all(r, layout_only ? 1 : di_all(r->d));
  if (!layout_only)
    empty_leaving(r);
  di_reb_commit_end(r);
}
