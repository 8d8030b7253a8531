/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast the brick's own disk takes or gives blocks, for `volume top
 * {read|write}-perf bs count`: on a nameless file in the brick's directory,
 * which is gone when it is closed. Workers do it in steps, so that the reactor,
 * which has the clock, sees how long the one that counts takes.
 */
#include "xlators/debug/io-stats/io-stats.h"
#include "libglusterish/fs.h"

#include <errno.h>

#define CHUNK (1u << 20) /* bytes of one call at most */

enum step { STEP_OPEN, STEP_FILL, STEP_MEASURE, STEP_CLOSE };

struct speed {
  struct gi_work work;
  struct gi_xlator *x;
  struct gi_fs *fs;
  const char *dir;
  uint64_t size, blocks;
  bool write;
  enum step step;
  int fd, err;          /* the first error */
  uint64_t since, took; /* ns */
  void (*done)(const struct ios_speed *s, int err, void *arg);
  void *arg;
};

/* All blocks, in calls of at most a chunk. 0 or an errno. */
static int
transfer(const struct speed *s, bool write)
{
  size_t chunk = s->size < CHUNK ? s->size : CHUNK;
  uint64_t at = 0, left = s->size * s->blocks;
  GI_CLEANUP_FREE char *buf = gi_zalloc(chunk);
  GI_ASSERT(chunk > 0 && s->fd >= 0);
  while (left) {
    size_t len = left < chunk ? left : chunk;
    struct iovec iov = {buf, len};
    ssize_t n = write ? gi_fs_pwritev(s->fs, s->fd, &iov, 1, (off_t)at) : gi_fs_preadv(s->fs, s->fd, &iov, 1, (off_t)at, 0);
    if (n <= 0)
      return n < 0 ? errno : EIO;
    at += (uint64_t)n;
    left -= (uint64_t)n;
  }
  return 0;
}

static void
run(struct gi_work *w)
{
  struct speed *s = GI_CONTAINER(w, struct speed, work);
  switch (s->step) {
  case STEP_OPEN:
    s->fd = gi_fs_openat(s->fs, AT_FDCWD, s->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    s->err = s->fd < 0 ? errno : 0;
    break;
  case STEP_FILL:
    s->err = s->write ? 0 : transfer(s, true);
    break;
  case STEP_MEASURE:
    s->err = transfer(s, s->write);
    break;
  case STEP_CLOSE:
    gi_fs_close(s->fs, s->fd);
    break;
  }
}

static void
stepped(struct gi_work *w)
{
  struct speed *s = GI_CONTAINER(w, struct speed, work);
  if (s->step == STEP_MEASURE)
    s->took = gi_now(s->x->reactor) - s->since;
  GI_ASSERT(s->step == STEP_OPEN || s->fd >= 0 || s->err);
  bool end = s->step == STEP_CLOSE || (s->step == STEP_OPEN && s->err);
  if (!end) {
    int err = s->err;
    s->step = err ? STEP_CLOSE : s->step + 1;
    s->since = gi_now(s->x->reactor);
    gi_work_submit(s->x->reactor, &s->work);
    return;
  }
  double seconds = (double)s->took / 1e9;
  struct ios_speed speed = {.seconds = seconds, .mbps = seconds > 0 ? (double)s->size * (double)s->blocks / seconds / 1e6 : 0};
  s->done(&speed, s->err, s->arg);
  gi_free(s);
}

bool
ios_speed_measure(struct gi_xlator *x, const char *dir, bool write, uint64_t size, uint64_t blocks,
                  void (*done)(const struct ios_speed *s, int err, void *arg), void *arg)
{
  if (!size || !blocks || blocks > IOS_SPEED_MAX / size)
    return false;
  struct speed *s = gi_new(struct speed);
  *s = (struct speed){.work = {.priority = GI_PRIO_LOW, .run = run, .done = stepped},
                      .x = x,
                      .fs = x->ctx->fs,
                      .dir = dir,
                      .size = size,
                      .blocks = blocks,
                      .write = write,
                      .done = done,
                      .arg = arg};
  gi_work_submit(x->reactor, &s->work);
  return true;
}
