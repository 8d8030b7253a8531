/* SPDX-License-Identifier: Apache-2.0
 *
 * The janitor empties .glusterfs/landfill, where recursive rmdir puts whole
 * trees (brick.md 2.6). The work is done on a worker at the lowest priority; no
 * symlink is followed, and what is deleted takes its handle along.
 */
#include "xlators/storage/posix/posix.h"

#include <dirent.h>

#define DEPTH_MAX 256 /* directories open at once; what lies deeper is lifted into the landfill first */

struct posix_janitor { /* lives until its work is done, even if the translator is gone by then */
  struct gi_work work;
  struct posix *p; /* NULL: nobody waits any more */
  struct posix disk; /* only what the handle functions need: gl_fd, name, have_xattrat */
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

  if (posix_at_stat(at, &st) == 0 && st.st_nlink <= 2 && posix_gfid_read(&j->disk, at, &gfid) == 0) {
    char path[POSIX_HPATH];
    struct stat h;

    if (fstatat(j->disk.gl_fd, posix_hpath(path, &gfid), &h, AT_SYMLINK_NOFOLLOW) == 0 && h.st_dev == st.st_dev &&
        h.st_ino == st.st_ino)
      unlinkat(j->disk.gl_fd, path, 0);
  }
  unlinkat(dirfd, name, 0);
}

/* A directory's handle goes unless the directory of that gfid lives on somewhere else. */
static void
forget_dir(struct posix_janitor *j, const struct gi_gfid *gfid)
{
  int fd = posix_handle_open_dir(&j->disk, gfid);

  if (fd >= 0)
    close(fd);
  else if (fd != -ENOENT && fd != -ENOTDIR)
    posix_handle_remove(&j->disk, gfid);
}

static void delete_dir(struct posix_janitor *j, int parent, const char *name, unsigned depth);

static void
delete_entries(struct posix_janitor *j, DIR *dir, unsigned depth)
{
  struct dirent *d;

  while (!stopped(j) && (d = readdir(dir))) {
    struct stat st;

    if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
      continue;
    if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
      continue;
    if (S_ISDIR(st.st_mode))
      delete_dir(j, dirfd(dir), d->d_name, depth + 1);
    else
      delete_file(j, dirfd(dir), d->d_name);
  }
}

static void
delete_dir(struct posix_janitor *j, int parent, const char *name, unsigned depth)
{
  struct gi_gfid gfid;
  char lifted[64];
  int fd;
  DIR *dir;

  if (depth >= DEPTH_MAX) {
    snprintf(lifted, sizeof(lifted), "deep-%llu-%llu", (unsigned long long)j->work.priority, (unsigned long long)j->lifted++);
    renameat(parent, name, j->landfill_fd, lifted);
    return;
  }
  fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return;
  if (posix_gfid_read(&j->disk, (struct posix_at){fd, ""}, &gfid))
    gfid = gi_gfid_none;
  dir = fdopendir(fd);
  if (!dir) {
    close(fd);
    return;
  }
  delete_entries(j, dir, depth);
  closedir(dir);
  if (unlinkat(parent, name, AT_REMOVEDIR) == 0 && !gi_gfid_is_none(&gfid))
    forget_dir(j, &gfid);
}

static void
janitor_run(struct gi_work *w)
{
  struct posix_janitor *j = GI_CONTAINER(w, struct posix_janitor, work);
  int fd = fcntl(j->landfill_fd, F_DUPFD_CLOEXEC, 3);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

  if (!dir) {
    if (fd >= 0)
      close(fd);
    return;
  }
  rewinddir(dir);
  delete_entries(j, dir, 0);
  closedir(dir);
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

  if (j->p) {
    j->p->janitor = NULL;
    arm(j->p);
  }
  close(j->landfill_fd);
  close(j->disk.gl_fd);
  close(j->disk.root_fd);
  gi_free(j);
}

static bool
landfill_empty(struct posix *p)
{
  struct stat st;

  /* Each top-level directory adds a link; ext4 and XFS both count. Others report 1 and are always searched. */
  return fstat(p->landfill_fd, &st) == 0 && st.st_nlink == 2;
}

static void
janitor_timer(void *arg)
{
  struct posix *p = arg;
  struct posix_janitor *j;

  if (p->cfg.no_landfill_purge || p->janitor || landfill_empty(p)) {
    arm(p);
    return;
  }
  j = gi_new(struct posix_janitor);
  j->p = p;
  j->landfill_fd = fcntl(p->landfill_fd, F_DUPFD_CLOEXEC, 3);
  j->disk.gl_fd = fcntl(p->gl_fd, F_DUPFD_CLOEXEC, 3);
  j->disk.root_fd = fcntl(p->root_fd, F_DUPFD_CLOEXEC, 3);
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
