/* SPDX-License-Identifier: Apache-2.0
 *
 * The janitor empties .glusterfs/landfill, where recursive rmdir puts whole
 * trees (brick.md 2.6). The work is done on a worker at the lowest priority; no
 * symlink is followed, and what is deleted takes its handle along.
 */
#include "xlators/storage/posix/posix.h"

#define DEPTH_MAX 256 /* directories open at once; what lies deeper is lifted into the landfill first */

/* lives until its work is done, even if the translator is gone by then */
#define JANITOR_MAGIC 0x1d0b0514u

struct posix_janitor {
  struct gi_work work;
  uint32_t magic;
  struct posix *p;   /* NULL: nobody waits any more */
  struct posix disk; /* only what the handle functions need: fs, gl_fd, name, have_xattrat */
  int landfill_fd;
  bool stop; /* atomic */
  uint64_t lifted;
};

static bool
stopped(struct posix_janitor *j)
{
  return __atomic_load_n(&j->stop, __ATOMIC_RELAXED);
}

static void
delete_file(struct posix_janitor *j, int dirfd, const char *name)
{
  struct posix_at at = {dirfd, name};
  struct gi_gfid gfid;
  struct stat st;

  if (posix_at_stat(&j->disk, at, &st) == 0 && st.st_nlink <= 2 && posix_gfid_read(&j->disk, at, &gfid) == 0) {
    char path[POSIX_HPATH];
    struct stat h;

    if (gi_fs_stat(j->disk.fs, j->disk.gl_fd, posix_hpath(path, &gfid), &h, AT_SYMLINK_NOFOLLOW) == 0 &&
        h.st_dev == st.st_dev && h.st_ino == st.st_ino)
      gi_fs_unlink(j->disk.fs, j->disk.gl_fd, path, 0);
  }
  gi_fs_unlink(j->disk.fs, dirfd, name, 0);
}

/* A directory's handle goes unless the directory of that gfid lives on somewhere else. */
static void
forget_dir(struct posix_janitor *j, const struct gi_gfid *gfid)
{
  int fd = posix_handle_open_dir(&j->disk, gfid);

  if (fd >= 0)
    gi_fs_close(j->disk.fs, fd);
  else if (fd != -ENOENT && fd != -ENOTDIR)
    posix_handle_remove(&j->disk, gfid);
}

static void delete_dir(struct posix_janitor *j, int parent, const char *name, unsigned depth);

static void
delete_entries(struct posix_janitor *j, struct gi_fs_dir *dir, unsigned depth)
{
  const struct gi_fs_dirent *d;

  while (!stopped(j) && (d = gi_fs_dir_next(dir))) {
    struct stat st;

    if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0)
      continue;
    if (gi_fs_stat(j->disk.fs, dir->fd, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
      continue;
    if (S_ISDIR(st.st_mode))
      delete_dir(j, dir->fd, d->name, depth + 1);
    else
      delete_file(j, dir->fd, d->name);
  }
}

static void
delete_dir(struct posix_janitor *j, int parent, const char *name, unsigned depth)
{
  struct gi_gfid gfid;
  char lifted[64];
  struct gi_fs_dir *dir;

  if (depth >= DEPTH_MAX) {
    snprintf(lifted, sizeof(lifted), "deep-%llu-%llu", (unsigned long long)j->work.priority, (unsigned long long)j->lifted++);
    gi_fs_rename(j->disk.fs, parent, name, j->landfill_fd, lifted);
    return;
  }
  dir = gi_new(struct gi_fs_dir); /* too big for a deep stack */
  if (gi_fs_dir_open(dir, j->disk.fs, parent, name)) {
    gi_free(dir);
    return;
  }
  if (posix_gfid_read(&j->disk, (struct posix_at){dir->fd, ""}, &gfid))
    gfid = gi_gfid_none;
  delete_entries(j, dir, depth);
  gi_fs_dir_close(dir);
  gi_free(dir);
  if (gi_fs_unlink(j->disk.fs, parent, name, AT_REMOVEDIR) == 0 && !gi_gfid_is_none(&gfid))
    forget_dir(j, &gfid);
}

static void
janitor_run(struct gi_work *w)
{
  struct posix_janitor *j = GI_CONTAINER(w, struct posix_janitor, work);
  GI_CHECK(j, JANITOR_MAGIC);
  struct gi_fs_dir dir;

  if (gi_fs_dir_open(&dir, j->disk.fs, j->landfill_fd, "."))
    return;
  delete_entries(j, &dir, 0);
  gi_fs_dir_close(&dir);
}

static void
arm(struct posix *p)
{
  const struct posix_options *o = p->x->options;

  gi_timer_set(&p->janitor_timer, (o->janitor_sleep ? o->janitor_sleep : 1) * GI_NSEC_PER_SEC);
}

static void
janitor_done(struct gi_work *w)
{
  struct posix_janitor *j = GI_CONTAINER(w, struct posix_janitor, work);
  GI_CHECK(j, JANITOR_MAGIC);

  if (j->p) {
    GI_CHECK(j->p, POSIX_MAGIC);
    GI_ASSERT(j->p->janitor == j); /* one at a time */
    j->p->janitor = NULL;
    posix_numbers_forget(j->p);
    arm(j->p);
  }
  gi_fs_close(j->disk.fs, j->landfill_fd);
  gi_fs_close(j->disk.fs, j->disk.gl_fd);
  gi_fs_close(j->disk.fs, j->disk.root_fd);
  gi_free(j);
}

static bool
landfill_empty(struct posix *p)
{
  struct stat st;

  /* Each top-level directory adds a link; ext4 and XFS both count. Others report 1 and are always searched. */
  return gi_fs_fstat(p->fs, p->landfill_fd, &st) == 0 && st.st_nlink == 2;
}

static void
janitor_timer(void *arg)
{
  struct posix *p = arg;
  struct posix_janitor *j;
  GI_CHECK(p, POSIX_MAGIC);

  if (p->cfg.no_landfill_purge || p->janitor || landfill_empty(p)) {
    arm(p);
    return;
  }
  j = gi_new(struct posix_janitor);
  j->magic = JANITOR_MAGIC;
  j->p = p;
  j->disk.fs = p->fs;
  j->landfill_fd = gi_fs_reopen(p->fs, p->landfill_fd);
  j->disk.gl_fd = gi_fs_reopen(p->fs, p->gl_fd);
  j->disk.root_fd = gi_fs_reopen(p->fs, p->root_fd);
  j->disk.name = "janitor";
  j->disk.have_xattrat = p->have_xattrat;
  j->work.priority = GI_PRIO_LEAST;
  j->work.run = janitor_run;
  j->work.done = janitor_done;
  p->janitor = j;
  gi_work_submit(p->x->reactor, &j->work);
}

void
posix_janitor_start(struct posix *p)
{
  if (!p->janitor_timer.r)
    gi_timer_init(&p->janitor_timer, p->x->reactor, janitor_timer, p);
  arm(p);
}

void
posix_janitor_stop(struct posix *p)
{
  gi_timer_finish(&p->janitor_timer);
  if (!p->janitor)
    return;
  p->janitor->p = NULL;
  __atomic_store_n(&p->janitor->stop, true, __ATOMIC_RELAXED);
  p->janitor = NULL;
}
