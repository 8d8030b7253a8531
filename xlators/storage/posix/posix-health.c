/* SPDX-License-Identifier: Apache-2.0
 *
 * Health check (brick.md 5.9): write the time into .glusterfs/health_check and
 * read it back, on a worker. An error or no answer in time means that the disk
 * is gone: clients are told at once, and the process ends after a while so
 * that it does not linger with a dead disk. A process or disk that is full is
 * none that is gone.
 */
#include "xlators/storage/posix/posix.h"

#include <signal.h>
#include <time.h>

#define END_AFTER (30 * GI_NSEC_PER_SEC)

/* lives until its work is done, even if the translator is gone by then */
#define HEALTH_MAGIC 0x1d0b0513u

struct posix_health {
  struct gi_work work;
  uint32_t magic;
  struct gi_fs *fs;
  struct posix *p; /* NULL: nobody waits any more */
  int dir, file;   /* of posix, while this runs: .glusterfs, and the file as it was opened last; -1 */
  char text[64];
  int err;
};

/* Says nothing about whether the disk works. */
static bool
is_full(int err)
{
  return err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOSPC || err == EDQUOT;
}

static void
health_run(struct gi_work *w)
{
  struct posix_health *h = GI_CONTAINER(w, struct posix_health, work);
  GI_CHECK(h, HEALTH_MAGIC);
  char back[sizeof(h->text)] = "";
  ssize_t len = (ssize_t)strlen(h->text);
  int fd = gi_fs_openat(h->fs, h->dir, "health_check", O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

  if (fd < 0) {
    h->err = errno;
    if (!is_full(h->err) || h->file < 0)
      return;
    fd = h->file;
  } else if (h->file >= 0) {
    gi_fs_close(h->fs, h->file);
  }
  h->file = fd;
  errno = h->err = 0;
  if (gi_fs_pwrite(h->fs, fd, h->text, (size_t)len, 0) != len || gi_fs_fsync(h->fs, fd, true) < 0 ||
      gi_fs_pread(h->fs, fd, back, sizeof(back), 0) != len)
    h->err = errno ? errno : EIO;
  else if (strcmp(back, h->text) != 0)
    h->err = EIO;
}

/* The timer now counts down to the end of the process. */
static void
declare_dead(struct posix *p, const char *why)
{
  if (p->failed)
    return;
  p->failed = true;
  gi_log(GI_LOG_EMERG, p->name, GI_MSG_POSIX + 3, "health check of brick %s failed: %s. The brick goes down", p->brick, why);
  gi_notify_up(p->x, GI_EVENT_CHILD_DOWN, NULL);
  gi_timer_set(&p->health_timer, END_AFTER);
}

static void
health_done(struct gi_work *w)
{
  struct posix_health *h = GI_CONTAINER(w, struct posix_health, work);
  struct posix *p = h->p;
  int64_t interval;
  GI_CHECK(h, HEALTH_MAGIC);
  GI_ASSERT(!p || (p->health == h && p->health_dir < 0 && p->health_file < 0)); /* it had the descriptors */

  if (p) {
    p->health = NULL;
    p->health_dir = h->dir;
    p->health_file = h->file;
    interval = ((struct posix_options *)p->x->options)->health_interval;
    if (h->err && h->err != EAGAIN && !is_full(h->err))
      declare_dead(p, strerror(h->err));
    else if (!p->failed && interval > 0)
      gi_timer_set(&p->health_timer, (uint64_t)interval * GI_NSEC_PER_SEC);
  } else {
    gi_fs_close(h->fs, h->dir);
    if (h->file >= 0)
      gi_fs_close(h->fs, h->file);
  }
  gi_free(h);
}

/* The check has the descriptors while it runs: it may end later than the translator. */
static void
begin_check(struct posix *p)
{
  const struct posix_options *o = p->x->options;
  struct posix_health *h = gi_new(struct posix_health);
  time_t now = gi_wall(p->x->reactor).sec;
  struct tm tm;
  GI_ASSERT(!p->health && !p->failed);
  h->magic = HEALTH_MAGIC;

  h->p = p;
  h->fs = p->fs;
  h->dir = p->health_dir;
  h->file = p->health_file;
  p->health_dir = p->health_file = -1;
  gmtime_r(&now, &tm);
  strftime(h->text, sizeof(h->text), "%Y-%m-%d %H:%M:%S +0000", &tm);
  h->work.priority = GI_PRIO_HIGH;
  h->work.run = health_run;
  h->work.done = health_done;
  p->health = h;
  gi_work_submit(p->x->reactor, &h->work);
  if (o->health_timeout > 0)
    gi_timer_set(&p->health_timer, (uint64_t)o->health_timeout * GI_NSEC_PER_SEC);
}

static void
health_timer(void *arg)
{
  struct posix *p = arg;
  GI_CHECK(p, POSIX_MAGIC);

  if (p->failed && p->x->ctx->on_dead_disk) {
    p->x->ctx->on_dead_disk(p->x->ctx);
  } else if (p->failed) {
    kill(getpid(), p->deaths++ ? SIGKILL : SIGTERM);
    gi_timer_set(&p->health_timer, END_AFTER);
  } else if (p->health) {
    declare_dead(p, "no answer from the disk");
  } else {
    begin_check(p);
  }
}

void
posix_health_start(struct posix *p)
{
  const struct posix_options *o = p->x->options;

  if (!p->health_timer.r)
    gi_timer_init(&p->health_timer, p->x->reactor, health_timer, p);
  if (p->failed || p->health)
    return;
  if (o->health_interval > 0)
    gi_timer_set(&p->health_timer, (uint64_t)o->health_interval * GI_NSEC_PER_SEC);
  else
    gi_timer_cancel(&p->health_timer);
}

void
posix_health_stop(struct posix *p)
{
  gi_timer_finish(&p->health_timer);
  if (p->health)
    p->health->p = NULL;
  p->health = NULL;
}
