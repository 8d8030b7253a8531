/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock that keeps the size: an inode lock on the base file in a domain of
 * its own. Who writes in the middle shares it, and knows by it that nobody
 * truncates; who moves the end of the file has it alone.
 *
 * It is kept for a while after it was used, so that a row of writes takes it
 * once, and given back when somebody else wants it, or after a second at most:
 * not every brick tells that somebody waits. With it goes what was put off, the
 * times of the base file. A GlusterFS client takes no such lock: two that move
 * the end of one file at the same time are not kept apart if one of them is one.
 */
#include "xlators/features/shard/shard.h"

#include "libglusterish/mutants.h"
#include "libglusterish/probe.h"

#define SH_LEASE_NS GI_NSEC_PER_SEC

static int
lock(struct sh_file *file, struct gi_fop *fop, unsigned type)
{
  struct shard *sh = file->sh;
  GI_ASSERT(file->asking && !file->lease_ask);
  struct gi_fop *lk = sh_inode_fop(sh, fop, GI_FOP_INODELK, file->inode);

  lk->caller.owner = sh->owner;
  lk->caller.stamps = 0;
  lk->args.domain = sh->x->name;
  lk->args.cmd = type == GI_LK_UNLOCK ? GI_LKCMD_SET : GI_LKCMD_SETW;
  lk->args.type = type;
  lk->args.flock = (struct gi_flock){.type = type, .pid = (uint32_t)lk->caller.pid, .owner = sh->owner};
  file->lease_ask = type == GI_LK_UNLOCK ? NULL : lk;
  int err = sh_run(sh, lk);

  file->lease_ask = NULL;
  gi_fop_unref(lk);
  return err;
}

/* Nobody uses it. */
static void
release(struct sh_file *file)
{
  GI_ASSERT(file->lease != SH_LEASE_NONE && !file->users && !file->asking);
  file->asking = true;
  gi_timer_cancel(&file->lease_timer);
  GI_IGNORE(sh_flush_times(file, NULL));     /* the times are later than they should be seen, no more */
  GI_IGNORE(lock(file, NULL, GI_LK_UNLOCK)); /* if that fails the brick has lost it */
  file->lease = SH_LEASE_NONE;
  file->leaving = file->asking = false;
  gi_list_del(&file->lease_link);
  sh_wake(&file->lease_waiters);
  struct gi_inode *inode = file->inode;
  gi_inode_unref(&inode);
}

static void
release_later(struct shard *sh, void *arg)
{
  struct gi_inode *inode = arg;
  struct sh_file *file = sh_file_of(sh, inode);

  GI_ASSERT(file && file->inode == inode);
  if (file->lease != SH_LEASE_NONE && file->leaving && !file->users && !file->asking)
    release(file);
  gi_inode_unref(&inode);
}

void
sh_lease_end(struct sh_file *file)
{
  if (file->lease == SH_LEASE_NONE)
    return;
  file->leaving = true;
  if (!file->users && !file->asking)
    sh_work(file->sh, release_later, gi_inode_ref(file->inode));
}

void
sh_lease_end_all(struct shard *sh)
{
  struct gi_list all;

  gi_list_init(&all);
  gi_list_splice_tail(&all, &sh->leases);
  while (!gi_list_empty(&all)) {
    struct sh_file *file = gi_list_first(&all, struct sh_file, lease_link);

    gi_list_del(&file->lease_link);
    gi_list_add_tail(&sh->leases, &file->lease_link);
    if (sh->stopping && file->lease_ask)
      gi_fop_cancel(file->lease_ask);
    sh_lease_end(file);
  }
}

static void
expired(void *arg)
{
  sh_lease_end(arg);
}

/* A rebalance may have moved the file while the lock was waited for: whoever looks at the size, as all do who want the lock, finds that out
 * (sh_contended). */
static int
lock_where_it_is(struct sh_file *file, struct gi_fop *fop, enum sh_lease want)
{
  for (;;) {
    file->astray = false;
    int err = lock(file, fop, want == SH_LEASE_ALONE && !GI_BROKEN("share the lock of a size") ? GI_LK_WRITE : GI_LK_READ);

    if (err)
      return err;
    file->lease = want;
    sh_forget(file);                        /* others could change it until now */
    GI_IGNORE(sh_know(file, fop, fop->fd)); /* who wants to know it asks again */
    if (!file->astray || file->sh->stopping)
      return 0;
    GI_PROBE("shard: a file had moved when its lock came");
    file->lease = SH_LEASE_NONE;
    GI_IGNORE(lock(file, fop, GI_LK_UNLOCK)); /* if that fails the brick has lost it */
  }
}

static int
obtain(struct sh_file *file, struct gi_fop *fop, enum sh_lease want)
{
  struct shard *sh = file->sh;

  GI_ASSERT(file->lease == SH_LEASE_NONE && !file->asking && !file->users);
  file->asking = true;
  gi_inode_ref(file->inode);
  gi_list_add_tail(&sh->leases, &file->lease_link);
  int err = lock_where_it_is(file, fop, want);

  file->asking = false;
  if (err) {
    struct gi_inode *inode = file->inode;

    gi_list_del(&file->lease_link);
    gi_inode_unref(&inode);
  } else {
    sh->m.locks++;
    if (!file->lease_timer.r)
      gi_timer_init(&file->lease_timer, sh->x->reactor, expired, file);
    gi_timer_set(&file->lease_timer, SH_LEASE_NS);
  }
  sh_wake(&file->lease_waiters);
  return err;
}

int
sh_lease_take(struct sh_file *file, struct gi_fop *fop, enum sh_lease want)
{
  GI_ASSERT(want != SH_LEASE_NONE);
  for (;;) {
    if (file->lease >= want && !file->leaving && !file->asking) {
      file->users++;
      return 0;
    }
    if (file->asking) {
      sh_wait(file->sh->x->reactor, &file->lease_waiters);
    } else if (file->lease != SH_LEASE_NONE) {
      file->leaving = true;
      if (file->users)
        sh_wait(file->sh->x->reactor, &file->lease_waiters);
      else
        release(file);
    } else if (file->unlinked) {
      file->users++; /* nobody else finds it any more */
      return 0;
    } else {
      int err = obtain(file, fop, want);

      if ((err == ENOENT || err == ESTALE) && fop->fd && !fop->fd->anonymous)
        file->unlinked = true; /* by others; who has it open goes on */
      else if (err)
        return err;
    }
  }
}

void
sh_lease_give(struct sh_file *file)
{
  GI_ASSERT(file->users > 0);
  file->users--;
  if (file->users || file->lease == SH_LEASE_NONE)
    return;
  if (file->leaving || file->sh->stopping || file->sh->x->draining)
    sh_lease_end(file);
  sh_wake(&file->lease_waiters);
}

bool
sh_contended(struct shard *sh, const struct gi_contention *c)
{
  struct gi_inode *inode;
  struct sh_file *file;

  if (c->entry || !c->domain || strcmp(c->domain, sh->x->name) != 0)
    return false;
  inode = gi_inode_find(sh->x->graph, &c->gfid);
  file = sh_file_of(sh, inode);
  if (file && c->moved)
    file->astray = true;
  if (file && (!c->moved || !file->asking))
    sh_lease_end(file);
  gi_inode_unref(&inode);
  return true;
}
