/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated disk: its life, the journal, power loss and faults.
 */
#include "tests/simulation/disk/disk-private.h"

#include <string.h>

#define JOURNAL_MAX 16384u         /* records; then it commits */
#define COMMIT_EVERY 5000000000ull /* ns, at most */

static const char *const fault_names[SIM_FAULTS] = {
    [SIM_FAULT_READ] = "read-error",
    [SIM_FAULT_WRITE] = "write-error",
    [SIM_FAULT_SHORT] = "short-write",
    [SIM_FAULT_FSYNC] = "fsync-error",
    [SIM_FAULT_SPACE] = "no-space",
    [SIM_FAULT_NAME] = "name-error",
    [SIM_FAULT_NAME_SPACE] = "no-space-for-name",
    [SIM_FAULT_ATTR] = "attribute-error",
    [SIM_FAULT_ATTR_SPACE] = "no-space-for-attribute",
    [SIM_FAULT_COLD] = "cold-read",
    [SIM_FAULT_SLOW] = "slow",
    [SIM_FAULT_WRITE_OUT] = "write-out-error",
    [SIM_FAULT_DSYNC] = "sync-write-error",
};

const char *
sim_fault_name(enum sim_fault fault)
{
  return fault_names[fault];
}

/* ---- inodes ---- */

struct timespec
sim_now(struct sim_disk *d)
{
  uint64_t ns = d->cfg.now(d->cfg.arg);

  return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

struct sim_inode *
sim_inode_new(struct sim_disk *d, mode_t mode)
{
  struct sim_inode *i = gi_new(struct sim_inode);

  i->disk = d;
  i->ino = ++d->last_ino;
  i->refs = 1;
  i->attr.mode = mode;
  i->attr.atime = i->attr.mtime = i->attr.ctime = sim_now(d);
  gi_list_init(&i->dirty);
  gi_list_add_tail(&d->inodes, &i->link);
  return i;
}

struct sim_inode *
sim_inode_ref(struct sim_inode *i)
{
  i->refs++;
  return i;
}

void
sim_inode_unref(struct sim_inode *i)
{
  if (--i->refs)
    return;
  gi_list_del(&i->link);
  sim_data_free(i);
  sim_names_free(i);
  gi_free(i->text);
  gi_free(i);
}

/* ---- the journal ---- */

static void
undo_free(struct sim_disk *d, struct sim_undo *u)
{
  gi_list_del(&u->link);
  d->njournal--;
  for (unsigned n = 0; n < u->npages; n++)
    sim_page_free(d, u->page[n]);
  gi_free(u->page);
  gi_free(u->name);
  gi_free(u->value);
  sim_inode_unref(u->inode);
  if (u->dir)
    sim_inode_unref(u->dir);
  gi_free(u);
}

void
sim_commit(struct sim_disk *d)
{
  d->committed = d->seq;
  gi_list_foreach_safe(u, &d->journal, struct sim_undo, link)
    undo_free(d, u);
}

struct sim_undo *
sim_journal(struct sim_inode *i, enum sim_undo_what what)
{
  struct sim_disk *d = i->disk;
  struct sim_undo *u = gi_new(struct sim_undo);

  if (gi_list_empty(&d->journal))
    d->commit_at = d->cfg.now(d->cfg.arg) + d->cfg.random(d->cfg.arg) % COMMIT_EVERY;
  u->what = what;
  u->seq = i->seq = ++d->seq;
  u->call = d->call;
  u->inode = sim_inode_ref(i);
  gi_list_add_tail(&d->journal, &u->link);
  d->njournal++;
  return u;
}

void
sim_journal_attr(struct sim_inode *i)
{
  sim_journal(i, UNDO_ATTR)->attr = i->attr;
}

static void
take_back(struct sim_undo *u)
{
  switch (u->what) {
  case UNDO_ADD:
    sim_entry_raw_del(u->dir, u->name);
    break;
  case UNDO_DEL:
    sim_entry_raw_add(u->dir, u->name, u->inode);
    break;
  case UNDO_XATTR:
    if (u->value)
      sim_xattr_raw_set(u->inode, u->name, u->value, u->len);
    else
      sim_xattr_raw_remove(u->inode, u->name);
    break;
  case UNDO_ATTR:
    u->inode->attr = u->attr;
    break;
  case UNDO_SIZE:
  case UNDO_PAGES:
    sim_data_undo(u->inode, u);
    break;
  }
}

/* ---- life ---- */

struct sim_disk *
sim_disk_new(const struct sim_disk_config *config)
{
  struct sim_disk *d = gi_new(struct sim_disk);

  d->cfg = *config;
  if (!d->cfg.capacity)
    d->cfg.capacity = 1ull << 30;
  d->salt = d->cfg.random(d->cfg.arg);
  gi_list_init(&d->journal);
  gi_list_init(&d->inodes);
  d->last_ino = 1; /* the root is inode 2, as on ext4 */
  d->root = sim_inode_new(d, S_IFDIR | 0755);
  d->root->nlink = 2;
  d->root->parent = d->root;
  return d;
}

/* Takes the tree apart from the root down: an entry holds its inode, and the inode its entries. */
static void
drop_entries(struct sim_inode *i)
{
  while (i->nentries) {
    struct sim_dirent e = i->entry[--i->nentries];

    gi_free(e.name);
    drop_entries(e.inode);
    sim_inode_unref(e.inode);
  }
}

void
sim_disk_free(struct sim_disk **disk)
{
  struct sim_disk *d = *disk;

  if (!d)
    return;
  GI_ASSERT(d->views == 0);
  sim_commit(d);
  drop_entries(d->root);
  sim_inode_unref(d->root);
  GI_ASSERT(gi_list_empty(&d->inodes) && d->used == 0);
  gi_free(d);
  *disk = NULL;
}

void
sim_disk_sync(struct sim_disk *d)
{
  sim_commit(d);
  gi_list_foreach(i, &d->inodes, struct sim_inode, link)
    sim_data_flush(i);
}

int
sim_disk_make_dir(struct sim_disk *d, const char *path)
{
  char part[PATH_MAX], last[SIM_NAME_MAX + 1];
  int err = 0;

  for (size_t n = 1; !err && path[n - 1]; n++) {
    struct sim_inode *dir, *new;

    if (path[n] != '/' && path[n] != '\0')
      continue;
    snprintf(part, sizeof(part), "%.*s", (int)n, path);
    new = sim_walk(d, d->root, part, true, &dir, last, &err);
    if (new)
      continue;
    if (err == ENOENT && dir) {
      new = sim_inode_new(d, S_IFDIR | 0755);
      sim_entry_raw_add(dir, last, new);
      sim_inode_unref(new);
      err = 0;
    }
  }
  return err;
}

/* An idle disk commits too. No event tells it the time, so it catches up before anybody can notice. */
static void
commit_if_due(struct sim_disk *d)
{
  if (!gi_list_empty(&d->journal) && (d->njournal > JOURNAL_MAX || d->cfg.now(d->cfg.arg) >= d->commit_at))
    sim_commit(d);
}

/* ---- power loss ---- */

void
sim_disk_power_loss(struct sim_disk *d)
{
  uint64_t calls = 0, last = 0, lost, survived;

  GI_ASSERT(d->views == 0);
  commit_if_due(d);
  gi_list_foreach(u, &d->journal, struct sim_undo, link) {
    calls += u->call != last;
    last = u->call;
  }
  lost = d->cfg.random(d->cfg.arg) % (calls + 1); /* the youngest of the calls that were not committed */
  d->lost_calls += lost;
  last = 0;
  while (!gi_list_empty(&d->journal)) {
    struct sim_undo *u = GI_CONTAINER(d->journal.prev, struct sim_undo, link);

    if (u->call != last && lost-- == 0)
      break;
    last = u->call;
    take_back(u);
    undo_free(d, u);
  }
  survived = gi_list_empty(&d->journal) ? d->committed : GI_CONTAINER(d->journal.prev, struct sim_undo, link)->seq;
  sim_commit(d);
  gi_list_foreach(i, &d->inodes, struct sim_inode, link)
    sim_data_settle(i, survived);
  d->is_stopped = false;
  d->stop_in = 0;
}

void
sim_disk_stop_after(struct sim_disk *d, uint64_t calls, void (*stopped)(void *arg), void *arg)
{
  d->stop_in = calls;
  d->on_stop = stopped;
  d->on_stop_arg = arg;
}

bool
sim_disk_stopped(const struct sim_disk *d)
{
  return d->is_stopped;
}

void
sim_disk_resume(struct sim_disk *d)
{
  d->is_stopped = false;
  d->stop_in = 0;
}

uint64_t
sim_disk_changes(const struct sim_disk *d)
{
  return d->changes;
}

int
sim_change(struct sim_disk *d)
{
  if (d->is_stopped)
    return EIO;
  if (d->stop_in && --d->stop_in == 0) {
    d->is_stopped = true;
    if (d->on_stop)
      d->on_stop(d->on_stop_arg);
    return EIO;
  }
  if (d->read_only)
    return EROFS;
  d->changes++;
  d->call++;
  commit_if_due(d);
  return 0;
}

/* ---- faults ---- */

bool
sim_draw(struct sim_disk *d, enum sim_fault fault)
{
  if (!d->rate[fault] || d->cfg.random(d->cfg.arg) % 1000000u >= d->rate[fault])
    return false;
  d->count[fault]++;
  return true;
}

void
sim_disk_set_fault(struct sim_disk *d, enum sim_fault fault, uint32_t per_million)
{
  d->rate[fault] = per_million;
}

void
sim_disk_set_faults(struct sim_disk *d, uint32_t per_million)
{
  for (int f = 0; f < SIM_FAULT_COLD; f++)
    d->rate[f] = per_million;
}

uint64_t
sim_disk_fault_count(const struct sim_disk *d, enum sim_fault fault)
{
  return d->count[fault];
}

struct sim_losses
sim_disk_losses(const struct sim_disk *d)
{
  return (struct sim_losses){d->lost_calls, d->lost_pages, d->torn_pages};
}

void
sim_disk_set_read_only(struct sim_disk *d, bool read_only)
{
  d->read_only = read_only;
}
