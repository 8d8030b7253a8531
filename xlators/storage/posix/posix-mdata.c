/* SPDX-License-Identifier: Apache-2.0
 *
 * trusted.glusterfs.mdata: the times that every replica agrees on (brick.md
 * 3.2). The value lives in the inode; a change is visible at once and goes to
 * disk with fsync, when the last descriptor closes, when the inode is
 * forgotten, and otherwise within half a second. A crash loses only stamps
 * younger than that, which is what POSIX promises for times without fsync.
 * New objects get theirs on disk before the reply. A copy without a mark of
 * replication is healed by nobody: so they are written before a mark is taken
 * back, and by a healer at once. Changes of names and attributes have no mark
 * while all copies are there (replicate.md 6.3): theirs are written within
 * 20 ms, many changes of one directory with one call. Times that are set on a
 * file and nothing else wait as those of writes do: a client that caches writes
 * sends them with every fsync, while the file has its mark.
 *
 * A change carries the clock of its client, and clocks differ. Every brick
 * computes from what it has stored and what the change carries:
 *
 *   ctime   the change's time, or, if that is not later, what is stored and a
 *           nanosecond: no change leaves it as it is;
 *   mtime   the change's time if that is later. One that lies ahead of ctime
 *           was set by somebody (utimens): the change's time replaces it;
 *   atime   the later one.
 *
 * utimens stores what it is given; ctime moves as with any change. Two changes
 * that reach two bricks in different orders end in the same mtime and atime,
 * and in ctimes that differ by nanoseconds until the next later change
 * (doc/decisions/0016).
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/bigendian.h"

#include <sys/xattr.h>

#define FLUSH_DELAY (GI_NSEC_PER_SEC / 2)
#define FLUSH_SOON (20 * GI_NSEC_PER_MSEC)
#define FLUSH_SLOW (5 * GI_NSEC_PER_MSEC)
#define TICK (int64_t)(4 * GI_NSEC_PER_MSEC) /* the kernel's file systems stamp no finer, and write what fsync(2) finds */
#define FLUSH_BATCH 256                      /* written in one turn */

void
posix_md_encode(const struct posix_times *t, uint8_t out[MDATA_DISK])
{
  const struct gi_time *order[] = {&t->c, &t->m, &t->a};

  out[0] = 1;
  gi_be64_store(out + MDATA_FLAGS_AT, 0);
  for (int i = 0; i < 3; i++) {
    gi_be64_store(out + 9 + 16 * i, (uint64_t)order[i]->sec);
    gi_be64_store(out + 17 + 16 * i, order[i]->nsec);
  }
}

bool
posix_md_decode(const void *in, size_t len, struct posix_times *t)
{
  const uint8_t *b = in;
  struct gi_time *order[] = {&t->c, &t->m, &t->a};

  if (len != MDATA_DISK || b[0] != 1)
    return false;
  for (int i = 0; i < 3; i++) {
    uint64_t nsec = gi_be64_load(b + 17 + 16 * i);

    if (nsec >= GI_NSEC_PER_SEC)
      return false;
    order[i]->sec = (int64_t)gi_be64_load(b + 9 + 16 * i);
    order[i]->nsec = (uint32_t)nsec;
  }
  return true;
}

/* What is written: the flags, which nobody reads, differ from brick to brick. Bricks of one ext4 would have the same bytes of a file else, and it
 * would keep them in one block: each change then takes a new block, and gives one back. */
static void
encode_own(const struct posix *p, const struct posix_times *t, uint8_t out[MDATA_DISK])
{
  posix_md_encode(t, out);
  gi_be64_store(out + MDATA_FLAGS_AT, p->mdata_flags);
}

uint8_t
posix_md_read(const struct posix *p, struct posix_at at, struct posix_times *t)
{
  uint8_t raw[MDATA_DISK + 1];
  ssize_t n = posix_at_get(p, at, KEY_MDATA, raw, sizeof(raw));

  if (n < 0)
    return errno == ENODATA || errno == EOPNOTSUPP || errno == ERANGE ? MD_ABSENT : MD_UNKNOWN;
  return posix_md_decode(raw, (size_t)n, t) ? MD_PRESENT : MD_ABSENT;
}

void
posix_md_write(struct posix_op *op, struct posix_at at, const struct posix_times *t)
{
  uint8_t raw[MDATA_DISK];

  encode_own(op->p, t, raw);
  op->times = *t;
  op->wrote = posix_at_set(op->p, at, KEY_MDATA, raw, sizeof(raw), 0) == 0;
}

void
posix_md_create(struct posix_op *op, int which, struct posix_at at)
{
  struct posix_node *n = &op->node[which];
  const struct gi_caller *c = &op->fop->caller;
  uint8_t raw[MDATA_DISK];

  n->md_loaded = true;
  n->md_state = MD_ABSENT;
  if (!op->p->cfg.ctime || !(c->stamps & (GI_STAMP_CTIME | GI_STAMP_MTIME | GI_STAMP_ATIME)))
    return;
  n->times = (struct posix_times){c->time, c->time, c->time};
  encode_own(op->p, &n->times, raw);
  if (posix_at_set(op->p, at, KEY_MDATA, raw, sizeof(raw), 0) < 0) {
    gi_log(GI_LOG_WARNING, op->p->name, GI_MSG_POSIX + 11, "cannot set %s: %s", KEY_MDATA, strerror(errno));
    return;
  }
  n->md_state = MD_PRESENT;
}

/* ---- reactor ---- */

static void
mark_clean(struct posix_inode *pi)
{
  if (!pi->md_dirty)
    return;
  posix_inode_check(pi);
  pi->md_dirty = pi->md_soon = false;
  gi_list_del(&pi->dirty);
}

static void
mark_dirty(struct posix *p, struct posix_inode *pi, bool soon)
{
  struct posix_dirty *d = soon ? &p->dirty_soon : &p->dirty;

  if (pi->md_dirty && (pi->md_soon || !soon))
    return;
  mark_clean(pi);
  pi->md_dirty = true;
  pi->md_soon = soon;
  gi_list_add_tail(&d->inodes, &pi->dirty);
  posix_inode_check(pi);
  if (!d->timer.armed)
    gi_timer_set(&d->timer, soon ? FLUSH_SOON : FLUSH_DELAY);
}

static bool
has_no_mark(const struct posix_op *op)
{
  return gi_fop_table[op->fop->kind].classes & GI_CLASS_WRITE &&
         gi_fop_table[op->fop->kind].classes & (GI_CLASS_ENTRY | GI_CLASS_META);
}

void
posix_md_install(struct posix_op *op, int which)
{
  struct posix_node *n = &op->node[which];
  struct gi_inode *inode;
  struct posix_inode *pi;
  GI_ASSERT(which >= 0 && which < NODE_COUNT);

  if (gi_gfid_is_none(&n->gfid))
    return;
  inode = n->md_loaded ? gi_inode_get(op->fop->graph, &n->gfid) : gi_inode_find(op->fop->graph, &n->gfid);
  if (!inode)
    return;
  pi = posix_inode_of(op->p, inode);
  if (n->md_loaded && pi->md_state == MD_UNKNOWN) {
    pi->md_state = n->md_state;
    pi->times = n->times;
  } else if (pi->md_state != MD_UNKNOWN) { /* somebody was faster, or it was unknown to `run` which inode it is */
    n->md_state = pi->md_state;
    n->times = pi->times;
  }
  n->md_loaded = false;
  gi_inode_unref(&inode);
}

static bool
raise(struct gi_time *have, const struct gi_time *stamp)
{
  if (!gi_time_later(stamp, have))
    return false;
  *have = *stamp;
  return true;
}

void
posix_time_advance(struct gi_time *have, const struct gi_time *stamp)
{
  if (raise(have, stamp) || have->sec == INT64_MAX)
    return;
  if (++have->nsec >= GI_NSEC_PER_SEC)
    *have = (struct gi_time){have->sec + 1, 0};
}

static bool
advance(struct posix_times *t, const struct gi_time *now, unsigned stamps)
{
  bool changed = stamps & (GI_STAMP_CTIME | GI_STAMP_MTIME);

  if (stamps & GI_STAMP_MTIME) {
    if (gi_time_later(&t->m, &t->c))
      t->m = *now;
    else
      raise(&t->m, now);
  }
  if (changed)
    posix_time_advance(&t->c, now);
  if (stamps & GI_STAMP_ATIME)
    changed |= raise(&t->a, now);
  return changed;
}

/* A rename within one directory stamps it once. */
static bool
stamped_already(const struct posix_op *op, int which)
{
  for (int i = 0; i < which; i++) {
    if (op->node[i].changed && gi_gfid_equal(&op->node[i].gfid, &op->node[which].gfid))
      return true;
  }
  return false;
}

void
posix_md_stamp(struct posix_op *op, int which, unsigned stamps)
{
  struct posix_node *n = &op->node[which];
  const struct gi_time *now = &op->fop->caller.time;
  struct gi_inode *inode;
  struct posix_inode *pi;
  bool changed = false;
  GI_ASSERT(op->fop->rsp.ret >= 0); /* what failed moves no times */

  if (!op->p->cfg.ctime || !stamps || n->md_state == MD_UNKNOWN || gi_gfid_is_none(&n->gfid))
    return;
  if (stamped_already(op, which))
    stamps &= GI_STAMP_ATIME;
  if (n->md_state == MD_ABSENT && stamps == GI_STAMP_ATIME)
    return; /* who reads does not say when it was changed, and only this copy would have it */
  n->changed = stamps & (GI_STAMP_CTIME | GI_STAMP_MTIME);
  inode = gi_inode_get(op->fop->graph, &n->gfid);
  pi = posix_inode_of(op->p, inode);
  if (pi->md_state != MD_PRESENT) {
    pi->times = (struct posix_times){*now, *now, *now};
    changed = true;
  } else {
    changed = advance(&pi->times, now, stamps);
  }
  pi->md_state = MD_PRESENT;
  if (changed)
    mark_dirty(op->p, pi, has_no_mark(op));
  pi->file = n->file;
  n->md_state = MD_PRESENT;
  n->times = pi->times;
  gi_inode_unref(&inode);
}

void
posix_md_set(struct posix *p, struct gi_inode *inode, const struct posix_times *t, bool soon)
{
  struct posix_inode *pi = posix_inode_of(p, inode);

  pi->times = *t;
  pi->md_state = MD_PRESENT;
  mark_dirty(p, pi, soon);
}

static bool
same_times(const struct posix_times *a, const struct posix_times *b)
{
  uint8_t x[MDATA_DISK], y[MDATA_DISK];

  posix_md_encode(a, x);
  posix_md_encode(b, y);
  return memcmp(x, y, sizeof(x)) == 0;
}

/* If there are others meanwhile, they may have been on the disk and not be there any more. */
void
posix_md_wrote(struct posix_op *op, struct posix_inode *pi)
{
  if (!op->wrote)
    return;
  pi->md_disk = (struct posix_times){0};
  if (same_times(&op->times, &pi->times))
    mark_clean(pi);
  else
    mark_dirty(op->p, pi, false);
}

void
posix_md_overlay(const struct posix_node *n, struct gi_iatt *iatt)
{
  if (n->md_state != MD_PRESENT || !gi_iatt_valid(iatt))
    return;
  iatt->ctime = n->times.c;
  iatt->mtime = n->times.m;
  iatt->atime = n->times.a;
}

void
posix_md_overlay_inode(struct posix *p, struct gi_inode *inode, struct gi_iatt *iatt, struct gi_dict *xdata)
{
  struct posix_inode *pi = posix_inode_of(p, inode);
  uint8_t raw[MDATA_DISK];

  if (pi->md_state != MD_PRESENT)
    return;
  if (iatt && gi_iatt_valid(iatt)) {
    iatt->ctime = pi->times.c;
    iatt->mtime = pi->times.m;
    iatt->atime = pi->times.a;
  }
  if (pi->md_dirty && gi_dict_get(xdata, KEY_MDATA)) {
    posix_md_encode(&pi->times, raw);
    gi_dict_set_bin(xdata, KEY_MDATA, raw, sizeof(raw));
  }
}

/* ---- to disk ---- */

static int
write_by_gfid(struct posix *p, struct posix_inode *pi, const uint8_t raw[MDATA_DISK])
{
  const struct gi_gfid *gfid = &pi->self->gfid;
  struct posix_at at = {p->gl_fd, NULL};
  char path[POSIX_HPATH];
  struct stat st;

  if (pi->file) {
    if (posix_at_set(p, (struct posix_at){p->gl_fd, posix_hpath(path, gfid)}, KEY_MDATA, raw, MDATA_DISK, 0) == 0)
      return 0;
    if (errno != ENOENT)
      return errno;
  }
  if (pi->dir || gi_gfid_is_root(gfid)) {
    at = (struct posix_at){pi->dir ? pi->dir->fd : p->root_fd, ""};
  } else {
    posix_hpath(path, gfid);
    if (gi_fs_stat(p->fs, p->gl_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
      memmove(path + 7, path + 6, GI_UUID_TEXT);
      memcpy(path, "unlink/", 7);
    } else if (S_ISLNK(st.st_mode) && st.st_nlink == 1) {
      int fd = posix_handle_open_dir(p, gfid);

      if (fd < 0)
        return -fd;
      at = (struct posix_at){posix_dir_adopt(p, pi, fd)->fd, ""};
    }
    if (!at.path)
      at.path = path;
  }
  GI_ASSERT(at.path);
  return posix_at_set(p, at, KEY_MDATA, raw, MDATA_DISK, 0) < 0 ? errno : 0;
}

/* One that is open on it; -1: none. */
static int
any_fd(struct posix *p, const struct posix_inode *pi)
{
  gi_list_foreach(fd, &pi->self->fds, struct gi_fd, inode_link) {
    const struct posix_fd *pf = gi_fd_private(fd, p->x);

    if (pf->open)
      return pf->fd;
  }
  return -1;
}

int
posix_md_flush(struct posix *p, struct posix_inode *pi, int fd)
{
  uint8_t raw[MDATA_DISK];
  int err;

  if (!pi->md_dirty)
    return 0;
  posix_inode_check(pi);
  encode_own(p, &pi->times, raw);
  fd = fd >= 0 ? fd : any_fd(p, pi);
  if (fd >= 0)
    err = gi_fs_fsetxattr(p->fs, fd, KEY_MDATA, raw, sizeof(raw), 0) < 0 ? errno : 0;
  else
    err = write_by_gfid(p, pi, raw);
  mark_clean(pi);
  pi->md_disk = err ? (struct posix_times){0} : pi->times;
  p->metrics.mdata_writes++;
  if (!err)
    posix_known_touched(p, pi);
  if (err && err != ENOENT && err != ESTALE)
    gi_log(GI_LOG_WARNING, p->name, GI_MSG_POSIX + 11, "cannot write the times of %s: %s",
           gi_gfid_text(&pi->self->gfid, (char[GI_UUID_TEXT]){0}), strerror(err));
  return err;
}

static bool
within_tick(const struct gi_time *a, const struct gi_time *b)
{
  int64_t apart = (a->sec - b->sec) * (int64_t)GI_NSEC_PER_SEC + (int64_t)a->nsec - (int64_t)b->nsec;

  return a->sec - b->sec <= 1 && b->sec - a->sec <= 1 && apart < TICK && -apart < TICK;
}

/* What is left out is written within half a second, as after a change that nobody syncs. */
void
posix_md_flush_for_sync(struct posix *p, struct posix_inode *pi, int fd)
{
  const struct posix_times *now = &pi->times, *disk = &pi->md_disk;

  if (!pi->md_soon && within_tick(&now->c, &disk->c) && within_tick(&now->m, &disk->m) && within_tick(&now->a, &disk->a))
    return;
  posix_md_flush(p, pi, fd);
}

void
posix_md_forget(struct posix *p, struct posix_inode *pi)
{
  (void)p;
  mark_clean(pi);
  pi->md_disk = (struct posix_times){0};
  pi->md_state = MD_UNKNOWN;
}

static struct posix_inode *
first_dirty(const struct posix_dirty *d)
{
  return gi_list_empty(&d->inodes) ? NULL : gi_list_first(&d->inodes, struct posix_inode, dirty);
}

void
posix_md_flush_all(struct posix *p)
{
  struct posix_inode *pi;

  while ((pi = first_dirty(&p->dirty_soon)) || (pi = first_dirty(&p->dirty)))
    posix_md_flush(p, pi, -1);
}

/* A slow disk may hold the reactor for one attribute per second, no longer. */
static void
flush_some(void *arg)
{
  struct posix_dirty *d = arg;
  struct gi_reactor *r = d->p->x->reactor;
  uint64_t start = gi_now(r);
  struct posix_inode *pi;
  GI_CHECK(d->p, POSIX_MAGIC);
  GI_ASSERT(d == &d->p->dirty || d == &d->p->dirty_soon);

  for (unsigned i = 0; i < FLUSH_BATCH && (pi = first_dirty(d)); i++) {
    posix_md_flush(d->p, pi, -1);
    if (gi_now(r) - start > FLUSH_SLOW)
      break;
  }
  if (first_dirty(d))
    gi_timer_set(&d->timer, gi_now(r) - start > FLUSH_SLOW ? GI_NSEC_PER_SEC : GI_NSEC_PER_MSEC);
}

void
posix_md_init(struct posix *p)
{
  struct posix_dirty *const all[] = {&p->dirty, &p->dirty_soon};

  for (size_t i = 0; i < GI_ARRAY_LEN(all); i++) {
    all[i]->p = p;
    gi_timer_init(&all[i]->timer, p->x->reactor, flush_some, all[i]);
  }
}
