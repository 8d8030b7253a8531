/* SPDX-License-Identifier: Apache-2.0
 *
 * Files in .glusterfs/unlink that nobody has open. A file that lost its last
 * name keeps its data for who has it open (brick.md 2.6). A brick that starts,
 * or loses a client without an orderly close, does not know whether they are
 * coming back: a client opens its files again, by gfid, when it reconnects. So
 * what is there is kept for a while, and then goes unless it is open.
 */
#include "xlators/storage/posix/posix.h"

/* lives until its work is done, even if the translator is gone by then */
#define PARKED_MAGIC 0x1d0b0512u

struct posix_parked {
  struct gi_work work;
  uint32_t magic;
  struct posix *p;   /* NULL: nobody waits any more */
  struct posix disk; /* only what the handle functions need */
  struct gi_gfid *gfid;
  size_t n;
  bool deletes; /* else lists */
  bool stop;    /* atomic */
};

static void
list(struct posix_parked *k)
{
  GI_ASSERT(!k->deletes && k->n == 0 && !k->gfid);
  const struct gi_fs_dirent *d;
  struct gi_fs_dir dir;
  struct gi_gfid gfid;

  if (gi_fs_dir_open(&dir, k->disk.fs, k->disk.unlink_fd, "."))
    return;
  while (!__atomic_load_n(&k->stop, __ATOMIC_RELAXED) && (d = gi_fs_dir_next(&dir))) {
    if (!gi_gfid_parse(d->name, &gfid)) {
      if (d->name[0] != '.')
        gi_fs_unlink(k->disk.fs, k->disk.unlink_fd, d->name, 0); /* nobody could ask for it */
      continue;
    }
    if ((k->n & (k->n - 1)) == 0)
      k->gfid = gi_realloc(k->gfid, (k->n ? 2 * k->n : 1) * sizeof(*k->gfid));
    k->gfid[k->n++] = gfid;
  }
  gi_fs_dir_close(&dir);
}

static void
parked_run(struct gi_work *w)
{
  struct posix_parked *k = GI_CONTAINER(w, struct posix_parked, work);
  GI_CHECK(k, PARKED_MAGIC);

  if (!k->deletes)
    list(k);
  for (size_t i = 0; k->deletes && i < k->n && !__atomic_load_n(&k->stop, __ATOMIC_RELAXED); i++)
    posix_unpark(&k->disk, &k->gfid[i]);
}

/* What is open goes with its last descriptor. */
static void
leave_out_open(struct posix_parked *k)
{
  size_t n = 0;

  for (size_t i = 0; i < k->n; i++) {
    struct gi_inode *inode = gi_inode_find(k->p->x->graph, &k->gfid[i]);

    if (inode && posix_inode_has_fd(k->p, inode))
      posix_inode_of(k->p, inode)->unlinked = true;
    else
      k->gfid[n++] = k->gfid[i];
    gi_inode_unref(&inode);
  }
  k->n = n;
}

static void
parked_done(struct gi_work *w)
{
  struct posix_parked *k = GI_CONTAINER(w, struct posix_parked, work);
  GI_CHECK(k, PARKED_MAGIC);

  GI_ASSERT(!k->p || k->p->parked == k); /* one at a time */
  if (k->p && !k->deletes) {
    leave_out_open(k);
    k->deletes = true;
    if (k->n) {
      gi_work_submit(k->p->x->reactor, &k->work);
      return;
    }
  }
  if (k->p)
    k->p->parked = NULL;
  gi_fs_close(k->disk.fs, k->disk.unlink_fd);
  gi_free(k->gfid);
  gi_free(k);
}

static void
parked_timer(void *arg)
{
  struct posix *p = arg;
  struct posix_parked *k;
  GI_CHECK(p, POSIX_MAGIC);

  if (p->parked) {
    posix_parked_wait(p);
    return;
  }
  k = gi_new(struct posix_parked);
  k->magic = PARKED_MAGIC;
  k->p = p;
  k->disk.fs = p->fs;
  k->disk.unlink_fd = gi_fs_reopen(p->fs, p->unlink_fd);
  k->work.priority = GI_PRIO_LEAST;
  k->work.run = parked_run;
  k->work.done = parked_done;
  p->parked = k;
  gi_work_submit(p->x->reactor, &k->work);
}

void
posix_parked_wait(struct posix *p)
{
  const struct posix_options *o = p->x->options;

  if (!p->parked_timer.r)
    gi_timer_init(&p->parked_timer, p->x->reactor, parked_timer, p);
  gi_timer_set(&p->parked_timer, (o->unlinked_wait ? o->unlinked_wait : 1) * GI_NSEC_PER_SEC);
}

void
posix_parked_stop(struct posix *p)
{
  gi_timer_finish(&p->parked_timer);
  if (!p->parked)
    return;
  p->parked->p = NULL;
  __atomic_store_n(&p->parked->stop, true, __ATOMIC_RELAXED);
  p->parked = NULL;
}
