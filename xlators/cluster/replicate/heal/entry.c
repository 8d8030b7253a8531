/* SPDX-License-Identifier: Apache-2.0
 *
 * The heal of a directory's names (replicate.md 7.5). The healer decides the
 * direction under a lock on all names, then heals each name that may differ under
 * a lock of its own, then takes the counters back.
 *
 * The bricks' lists of changed names say which names may differ. Where a list
 * cannot be trusted the directories themselves are read (full crawl). Healed
 * names leave the list many at a time, once they are on the sinks' disks: a sink
 * that lost its power would lack a name that nobody looks at any more. So an
 * interrupted heal goes on about where it was. A full crawl remembers nothing, but
 * a name that is the same everywhere costs one look and no lock.
 *
 * Names are healed side by side, each on its own task, as many as the window of
 * the replica set admits. A name costs four rounds: lock, look, act, unlock; two
 * more for an object that no copy has marked as missing yet.
 *
 * Contents and attributes of a new object are not healed here. Its counters put it
 * into the heal index, and the heal of that entry takes the locks for them.
 */
#include "xlators/cluster/replicate/heal/names.h"

#include "libglusterish/probe.h"

#define NAME_COST (256u << 10) /* bytes of the heals' window that a name in work takes: a task's stack */
#define FORGET_AT 512          /* healed names that are still on a list: all names are locked while they leave it */
#define FORGET_ROUND 64        /* so many in one round */

/* A name of which something is left to do: to be tried again when all others are done, or to leave the list it came from. */
struct kept_name {
  struct gi_list link;
  bool source; /* it is on a list of a source */
  char name[GI_NAME_MAX + 1];
};

struct dir_heal {
  struct rep_heal *h;
  struct rep_view start; /* the directory, when the direction was decided */
  struct rep_direction d;
  bool full;                      /* the names come from the directories, not from the lists of changes */
  unsigned child;                 /* being scanned */
  struct gi_inode *list[REP_MAX]; /* the virtual directories with the changed names; NULL: there is none, or it is not needed */
  struct gi_list healed;          /* names that are healed and still on lists */
  unsigned nhealed;
  unsigned running; /* names in work */
  bool stopped;     /* no more names: a child went away */
  uint32_t failed;  /* children where some name failed */
  int err;
  struct gi_list put_off;
  unsigned settled; /* names done */
  struct gi_task *task;
};

/* ---- one name ---- */

static void
keep_name(const struct dir_heal *j, struct gi_list *list, const char *name)
{
  struct kept_name *p = gi_new(struct kept_name);

  p->source = (j->d.sources >> j->child) & 1;
  snprintf(p->name, sizeof(p->name), "%s", name);
  gi_list_add_tail(list, &p->link);
}

static void
drop_names(struct gi_list *list)
{
  while (!gi_list_empty(list)) {
    struct kept_name *p = gi_list_first(list, struct kept_name, link);

    gi_list_del(&p->link);
    gi_free(p);
  }
}

static bool
same_everywhere(struct rep_heal *h, const char *name)
{
  struct rep_view v;
  bool same;

  rep_view_name(h, h->inode, name, NULL, h->rep->all, &v);
  same = v.ok == h->rep->all;
  rep_foreach(i, v.ok) same = same && gi_gfid_equal(&v.stat[i].gfid, &v.stat[0].gfid) && !gi_gfid_is_none(&v.stat[i].gfid) &&
                              (v.stat[i].mode & S_IFMT) == (v.stat[0].mode & S_IFMT);
  rep_view_clear(&v);
  return same;
}

/* -ENOENT would say that the directory itself is gone. */
static int
try_again(int err)
{
  return err == -ENOENT || err == -ESTALE ? -EAGAIN : err;
}

static void
note_failure(struct dir_heal *j, const struct rep_name *n, int err)
{
  GI_ASSERT(err < 0 && !(n->failed & ~j->h->rep->all));
  j->failed |= n->failed ? n->failed : j->h->rep->all;
  if (!j->err || n->mismatch)
    j->err = try_again(err);
  if (n->mismatch)
    j->h->split_brain = true;
  if (err == -ENOTCONN || j->h->rep->up != j->h->rep->all)
    j->stopped = true;
}

/* Looks without a lock. A name that is the same everywhere at one moment needs no heal, and a later change of it leaves marks. */
static bool
needs_no_lock(struct dir_heal *j, struct rep_heal *h, const char *name)
{
  return j->full && same_everywhere(h, name);
}

static void
heal_name(struct dir_heal *j, const char *name, bool last_try)
{
  struct rep_name n = {.parent = j->h->inode, .name = name, .quiet = &j->start};
  struct rep_heal h;
  int err;

  rep_heal_fork(&h, j->h);
  n.h = &h;
  if (!needs_no_lock(j, &h, name)) {
    err = rep_name_lock(&n, false);
    if (!err)
      err = rep_name_settle(&n);
    if (!err) {
      j->settled++;
      if (!j->full) {
        keep_name(j, &j->healed, name);
        j->nhealed++;
      }
    } else if (n.later && !n.mismatch && !last_try) {
      keep_name(j, &j->put_off, name);
    } else {
      note_failure(j, &n, err);
    }
    rep_name_unlock(&n);
  }
  rep_heal_end(&h);
}

/* ---- many names ---- */

struct name_task {
  struct dir_heal *j;
  bool last_try;
  char name[GI_NAME_MAX + 1];
};

static void
run_name(void *arg)
{
  struct name_task *t = arg;
  struct dir_heal *j = t->j;

  heal_name(j, t->name, t->last_try);
  gi_free(t);
  GI_ASSERT(j->running > 0);
  gi_window_give(&j->h->rep->heal_window, NAME_COST);
  if (--j->running == 0)
    gi_task_wake(j->task);
}

static void
start_name(struct dir_heal *j, const char *name, bool last_try)
{
  struct name_task *t;

  if (strlen(name) > GI_NAME_MAX)
    return;
  t = gi_new(struct name_task);
  t->j = j;
  t->last_try = last_try;
  snprintf(t->name, sizeof(t->name), "%s", name);
  gi_window_take(&j->h->rep->heal_window, j->h->r, NAME_COST);
  j->running++;
  gi_task_start(j->h->r, run_name, t);
}

static void
wait_for_names(struct dir_heal *j)
{
  while (j->running)
    gi_task_wait(j->h->r);
}

/* Names that waited for another one; once more, and again as long as that gets some of them done. */
static void
retry_names(struct dir_heal *j)
{
  bool progress = true;

  while (!gi_list_empty(&j->put_off)) {
    unsigned before = j->settled;
    struct gi_list again;

    gi_list_init(&again);
    gi_list_splice_tail(&again, &j->put_off);
    while (!gi_list_empty(&again)) {
      struct kept_name *p = gi_list_first(&again, struct kept_name, link);

      gi_list_del(&p->link);
      if (!j->stopped)
        start_name(j, p->name, !progress);
      gi_free(p);
    }
    wait_for_names(j);
    progress = j->settled != before;
  }
}

/* ---- healed names leave the lists of changes ---- */

static struct rep_heal_lock
all_names(struct rep_heal *h, bool self_heal)
{
  return (struct rep_heal_lock){.entry = true, .self_heal = self_heal, .inode = h->inode};
}

/* Children that the heal changes. */
static uint32_t
healed_children(const struct dir_heal *j)
{
  return j->d.merge ? j->d.locked : j->d.sinks;
}

/* Brings the names of these children to their disks. Those where that succeeded. */
static uint32_t
sync_names(struct rep_heal *h, uint32_t children)
{
  struct gi_fop *fop;
  struct gi_fd *fd;
  uint32_t ok;

  if (!rep_opts(h->rep)->ensure_durability || !children)
    return children;
  fd = gi_fd_new(h->rep->x->graph, h->inode, 0, h->caller.pid);
  fd->directory = true;
  fop = rep_heal_fop(h, GI_FOP_OPENDIR);
  gi_fop_set_fd(fop, fd);
  ok = rep_heal_all(h, fop, children);
  fop = rep_heal_fop(h, GI_FOP_FSYNCDIR);
  gi_fop_set_fd(fop, fd);
  ok = rep_heal_all(h, fop, ok);
  gi_fd_unref(&fd);
  return ok;
}

/* Under the lock on all names: nobody has changed a name since the heal began in a way that some child missed. */
static bool
nothing_missed_since(struct dir_heal *j)
{
  struct rep_view v;
  bool same;

  rep_view_inode(j->h, j->h->rep->all, &v);
  same = v.ok == j->h->rep->all;
  rep_foreach(i, v.ok)
  {
    same = same && v.dirty[REP_ENTRY][i] == j->start.dirty[REP_ENTRY][i];
    for (unsigned k = 0; k < j->h->rep->n; k++)
      same = same && v.pending[REP_ENTRY][i][k] == j->start.pending[REP_ENTRY][i][k];
  }
  rep_view_clear(&v);
  return same;
}

/* Errors do not matter: the name would be looked at once more, or was on another list alone. */
static void
take_off(struct dir_heal *j)
{
  while (!gi_list_empty(&j->healed)) {
    struct rep_round round;

    rep_round_begin(j->h, &round);
    for (unsigned n = 0; n < FORGET_ROUND && !gi_list_empty(&j->healed); n++) {
      struct kept_name *p = gi_list_first(&j->healed, struct kept_name, link);

      for (unsigned i = 0; i < j->h->rep->n; i++) {
        struct gi_fop *fop = j->list[i] ? rep_heal_fop(j->h, GI_FOP_UNLINK) : NULL;

        if (!fop)
          continue;
        gi_fop_set_entry(fop, &fop->loc, j->list[i], p->name);
        rep_round_send(&round, fop, i);
      }
      gi_list_del(&p->link);
      gi_free(p);
    }
    rep_round_wait(j->h, &round);
  }
}

/* Takes the healed names off the lists they came from, if they are on the disks of all that were healed. A name that was changed again
 * stands on the list as before, so they stay if any child has missed anything since the heal began. */
static void
forget_healed(struct dir_heal *j)
{
  struct rep_heal *h = j->h;
  struct rep_heal_lock lock = all_names(h, false);
  uint32_t all = h->rep->all;
  bool may = !j->stopped && h->rep->up == all;

  GI_ASSERT(!j->running);
  if (j->nhealed == 0)
    return;
  may = may && sync_names(h, healed_children(j)) == healed_children(j);
  may = may && rep_heal_lock(h, &lock, REP_LOCK_WAIT, all) == all && nothing_missed_since(j);
  if (may)
    take_off(j);
  drop_names(&j->healed);
  j->nhealed = 0;
  rep_heal_unlock(h, &lock);
}

/* ---- where the names come from ---- */

/* The virtual directory of this directory's changed names on a child, referenced. NULL and an errno if there is none. */
static struct gi_inode *
find_change_list(struct rep_heal *h, unsigned child, int *err)
{
  static const char key[] = "glusterfs.xattrop_entry_changes_gfid";
  struct gi_inode *root = gi_inode_get(h->rep->x->graph, &gi_gfid_root), *changes = NULL, *list = NULL;
  struct gi_fop *fop = rep_heal_getxattr(h, child, root, key);
  char text[GI_UUID_TEXT];
  struct gi_gfid gfid;

  gi_inode_unref(&root);
  *err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
  if (!*err && gi_dict_get_gfid(fop->rsp.dict, key, &gfid) && !gi_gfid_is_none(&gfid))
    changes = gi_inode_get(h->rep->x->graph, &gfid);
  gi_fop_unref(fop);
  if (!changes) {
    *err = *err ? *err : EIO;
    return NULL;
  }
  fop = rep_heal_fop(h, GI_FOP_LOOKUP);
  gi_fop_set_entry(fop, &fop->loc, changes, gi_gfid_text(&h->gfid, text));
  rep_heal_one(h, fop, child);
  *err = fop->rsp.ret < 0 ? (fop->rsp.err ? fop->rsp.err : EIO) : 0;
  if (!*err && !gi_gfid_is_none(&fop->rsp.stat.gfid))
    list = gi_inode_get(h->rep->x->graph, &fop->rsp.stat.gfid);
  gi_fop_unref(fop);
  gi_inode_unref(&changes);
  return list;
}

/* It was on the list of another source, too. What a sink had to lose is looked at again: another name may have lost it meanwhile. */
static bool
is_healed(const struct dir_heal *j, const char *name)
{
  gi_list_foreach(p, &j->healed, struct kept_name, link) {
    if (p->source && strcmp(p->name, name) == 0)
      return true;
  }
  return false;
}

/* Starts every name that the child's directory, or its list of changes, holds. */
static int
scan(struct dir_heal *j, struct gi_inode *dir)
{
  struct rep_heal *h = j->h;
  const struct gi_dirent *e;
  struct rep_walk walk;
  int err;

  rep_walk_open(&walk, h, dir, j->child, false);
  while (!j->stopped && (e = rep_walk_next(&walk))) {
    if (!rep_walk_skips(h, &h->gfid, e->name) && !is_healed(j, e->name))
      start_name(j, e->name, false);
    if (j->nhealed >= FORGET_AT) {
      wait_for_names(j);
      forget_healed(j);
    }
  }
  wait_for_names(j);
  GI_ASSERT(!j->running);
  err = walk.err;
  rep_walk_close(&walk);
  retry_names(j);
  return -err;
}

/* Names changed that others missed, and this child's word counts. */
static bool
knows_of_changes(const struct dir_heal *j, unsigned child)
{
  bool knows = j->start.dirty[REP_ENTRY][child] != 0;

  for (unsigned i = 0; i < j->h->rep->n; i++)
    knows |= j->start.pending[REP_ENTRY][child][i] != 0;
  return knows && (j->d.merge || ((j->d.sources >> child) & 1));
}

static int
find_lists(struct dir_heal *j, uint32_t children)
{
  rep_foreach(i, children)
  {
    int err = 0;

    j->list[i] = find_change_list(j->h, i, &err);
    if (!j->list[i] && err != ENOENT && err != ESTALE)
      return -err;
    if (!j->list[i] && knows_of_changes(j, i))
      j->full = true; /* but not which */
  }
  return 0;
}

static int
scan_children(struct dir_heal *j, uint32_t children)
{
  int err = 0;

  rep_foreach(i, children)
  {
    struct gi_inode *dir = j->full ? j->h->inode : j->list[i];

    j->child = i;
    if (!err && !j->stopped && dir)
      err = scan(j, dir);
  }
  return err;
}

/* What a sink has to lose comes first: a directory must have left its old place before it can get to the new one. All sources follow: one that
 * has lost its marks and its list with its power still counts as good, and another one has both. */
static int
scan_all(struct dir_heal *j)
{
  uint32_t first = healed_children(j), then = j->d.merge ? 0 : j->d.sources;
  int err = j->full ? 0 : find_lists(j, first | then);

  if (!err)
    err = scan_children(j, first);
  return err ? err : scan_children(j, then);
}

/* ---- the directory ---- */

/* Any child that takes part says that the lists of changed names are not complete. */
static bool
needs_full_crawl(const struct dir_heal *j)
{
  uint32_t who = j->d.merge ? j->d.locked : j->d.sources | j->d.sinks;

  if (!rep_opts(j->h->rep)->granular_entry_heal)
    return true;
  rep_foreach(i, who) for (unsigned k = 0; k < j->h->rep->n; k++) if (j->start.pending[REP_DATA][i][k]) return true;
  return false;
}

static int
decide_directory(struct dir_heal *j)
{
  struct rep_heal *h = j->h;
  struct rep_heal_lock lock = all_names(h, false);
  uint32_t all = h->rep->all;
  int err = -ENOTCONN;

  if (rep_heal_lock(h, &lock, REP_LOCK_WAIT, all) == all) {
    rep_view_inode(h, all, &j->start);
    err = rep_view_check(h, &j->start);
  }
  if (!err && !S_ISDIR(j->start.stat[0].mode))
    err = -ENOTDIR;
  if (!err)
    rep_decide(h, &j->start, REP_ENTRY, all, &j->d);
  rep_heal_unlock(h, &lock);
  if (!err && j->d.split_brain && !j->d.merge) {
    h->split_brain = true;
    err = -EIO;
  }
  return err;
}

/* Those of the source. A merge has none, and any copy that is not outdated may have the last change: the latest that any of them has. What
 * only one had made may be gone again, but its time was told already. */
static bool
due_times(struct dir_heal *j, struct gi_iatt *due)
{
  uint32_t from = j->d.merge ? j->d.locked & ~j->d.stale : 1u << j->d.source;
  struct gi_fan fan;
  bool known;

  GI_ASSERT(j->d.merge || j->d.source >= 0);
  rep_heal_fan(j->h, rep_heal_inode_fop(j->h, GI_FOP_STAT, j->h->inode), from, &fan);
  known = fan.ok != 0;
  if (known)
    *due = gi_fan_reply(&fan, rep_first(fan.ok))->rsp.stat;
  rep_foreach(i, fan.ok)
  {
    const struct gi_iatt *stat = &gi_fan_reply(&fan, i)->rsp.stat;

    gi_time_raise(&due->ctime, &stat->ctime);
    gi_time_raise(&due->mtime, &stat->mtime);
    gi_time_raise(&due->atime, &stat->atime);
  }
  gi_fan_clear(&fan);
  return known;
}

static void
restore_directory_times(struct dir_heal *j, uint32_t healed)
{
  struct gi_iatt due;
  struct gi_fop *fop;

  GI_ASSERT(!(healed & ~j->d.locked));
  if (!healed || !due_times(j, &due))
    return;
  fop = rep_heal_inode_fop(j->h, GI_FOP_SETATTR, j->h->inode);
  fop->args.valid = REP_HEAL_TIMES;
  fop->args.iatt = due;
  rep_heal_all(j->h, fop, healed);
}

/* The names are on the disks of the sinks before the others forget that they lacked them: the marks of one brick and the names of another
 * reach their disks in no order. Also when no name had to be healed: an interrupted heal may have done that. */
static void
sync_before_undo(struct dir_heal *j)
{
  uint32_t healed = healed_children(j) & ~j->failed;

  GI_ASSERT(!(healed & ~j->d.locked));
  j->failed |= healed & ~sync_names(j->h, healed);
}

/* Takes the marks back. Increments since the direction was decided stay. */
static int
finish(struct dir_heal *j)
{
  struct rep_heal *h = j->h;
  struct rep_heal_lock lock = all_names(h, false);
  uint32_t good = j->d.locked & ~j->failed, all = h->rep->all;
  struct gi_dict *xdata = gi_dict_new();
  int err = -ENOTCONN;

  GI_ASSERT(!j->running && gi_list_empty(&j->put_off));
  if (h->rep->up == all && rep_heal_lock(h, &lock, REP_LOCK_WAIT, all) == all) {
    restore_directory_times(j, healed_children(j) & good);
    if (rep_opts(h->rep)->granular_entry_heal)
      gi_dict_set_int(xdata, "glusterfs.xattrop-purge-index", 1);
    err = rep_heal_undo(h, &j->start, REP_ENTRY, &j->d, good, j->full, xdata) == j->d.locked ? 0 : -EIO;
    rep_inode(h->rep, h->inode)->need_refresh = true;
  }
  rep_heal_unlock(h, &lock);
  gi_dict_unref(&xdata);
  return err;
}

/* Whether the marks may be taken back at all: some child that was to be healed is, and no source is in doubt. */
static bool
worth_finishing(const struct dir_heal *j)
{
  if (j->stopped || (j->failed & (j->d.merge ? j->d.locked : j->d.sources)))
    return false;
  return j->d.merge || !j->d.sinks || (j->d.sinks & ~j->failed);
}

static int
walk_directory(struct dir_heal *j)
{
  int err = scan_all(j), end;

  if (err)
    return try_again(err);
  if (j->err) /* the marks stay, and the lists with what is not healed */
    forget_healed(j);
  if (worth_finishing(j))
    sync_before_undo(j);
  if (!worth_finishing(j))
    return j->err ? j->err : -ENOTCONN;
  end = finish(j);
  return end ? end : j->err;
}

/* Nothing is marked. A marker that asks for a full crawl is left over then, and would keep the directory in the index for ever. */
static int
drop_markers(struct dir_heal *j)
{
  bool marker = false;

  for (unsigned i = 0; i < j->h->rep->n; i++)
    for (unsigned k = 0; k < j->h->rep->n; k++)
      marker |= j->start.pending[REP_DATA][i][k] != 0;
  j->full = true;
  return marker ? finish(j) : REP_HEAL_CLEAN;
}

static void
begin(struct dir_heal *j)
{
  gi_list_init(&j->put_off);
  gi_list_init(&j->healed);
}

static void
end(struct dir_heal *j)
{
  GI_ASSERT(!j->running && gi_list_empty(&j->put_off));
  drop_names(&j->healed);
  for (unsigned i = 0; i < REP_MAX; i++) {
    if (j->list[i])
      gi_inode_drop(j->list[i]);
    gi_inode_unref(&j->list[i]);
  }
  rep_view_clear(&j->start);
}

int
rep_heal_entry(struct rep_heal *h)
{
  struct dir_heal j = {.h = h, .task = gi_task_self(h->r)};
  struct rep_heal_lock healer = all_names(h, true);
  int result;

  if (h->rep->up != h->rep->all)
    return -ENOTCONN;
  begin(&j);
  if (rep_heal_lock(h, &healer, REP_LOCK_TIEBREAK, h->rep->all) != h->rep->all) {
    rep_heal_unlock(h, &healer);
    return REP_HEAL_BUSY;
  }
  result = decide_directory(&j);
  if (!result && !j.d.merge && !j.d.sinks && !rep_view_marked(&j.start, REP_ENTRY)) {
    result = drop_markers(&j);
  } else if (!result) {
    j.full = needs_full_crawl(&j);
    result = walk_directory(&j);
  }
  h->rep->metrics.heal.names += j.settled;
  rep_heal_unlock(h, &healer);
  end(&j);
  return result;
}
