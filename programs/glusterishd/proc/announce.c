/* SPDX-License-Identifier: Apache-2.0
 *
 * Telling the bricks of a replica set that one of them is new and empty
 * (replicate.md 7.12): a short-lived glusterishfs without a mount connects to
 * the set as it shall become and sets an attribute of its root, one set after
 * the other. All must have ended well before any client can reach a new brick.
 */
#include "programs/glusterishd/proc/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT (60 * GI_NSEC_PER_SEC)
#define NEW_MAX 64 /* new bricks of one set */

struct gd_announce {
  struct gd *gd;
  const struct gd_volume *v;
  const char *attribute;
  const unsigned *fresh; /* positions that are still to be told of */
  unsigned nfresh;
  char *volfile, *log;
  struct gd_watch watch;
  struct gi_timer timer;
  struct gi_defer end;
  struct gi_error result;
  void (*fn)(const struct gi_error *err, void *arg);
  void *arg;
};

void
gd_announce_cancel(struct gd_announce **ref)
{
  struct gd_announce *a = *ref;
  *ref = NULL;
  if (!a)
    return;
  gi_timer_finish(&a->timer);
  gi_defer_cancel(&a->end);
  if (a->watch.fd >= 0) {
    gd_watch_signal(&a->watch, SIGKILL);
    GI_IGNORE(gd_watch_reap(&a->watch));
    gd_unwatch(&a->watch);
  }
  unlink(a->volfile);
  gi_free(a->volfile);
  gi_free(a->log);
  gi_free(a);
}

static void
end_now(void *arg)
{
  struct gd_announce *a = arg;
  struct gi_error result = a->result;
  void (*fn)(const struct gi_error *, void *) = a->fn;
  void *fn_arg = a->arg;
  fn(&result, fn_arg); /* which cancels us */
}

static void
failed(struct gd_announce *a, const char *why)
{
  gi_error_set(&a->result, EIO, "the other bricks could not be told that this one is empty: %s. The log file is %s", why,
               a->log);
  gi_defer_add(a->gd->reactor, &a->end);
}

static void next_set(struct gd_announce *a);

static void
ended(void *arg, unsigned events)
{
  struct gd_announce *a = arg;
  int status = gd_watch_reap(&a->watch);
  gi_timer_cancel(&a->timer);
  gd_unwatch(&a->watch);
  if (status == 0)
    next_set(a);
  else
    failed(a, status > 0 ? "it was refused" : "the helper was killed");
}

static void
too_slow(void *arg)
{
  struct gd_announce *a = arg;
  gd_watch_signal(&a->watch, SIGKILL); /* `ended` follows */
}

static int
write_volfile(const struct gd_volume *v, unsigned set, const char *path, struct gi_error *err)
{
  struct gi_volfile *vf = gd_volgen_set(v, set, err);
  if (!vf)
    return -1;
  GI_CLEANUP_FREE char *text = gi_volfile_write(vf);
  gi_volfile_free(&vf);
  return gd_write_file(path, text, strlen(text), false, err);
}

static int
run(struct gd_announce *a, unsigned n)
{
  const char *argv[16 + NEW_MAX];
  char *settings[NEW_MAX];
  unsigned k = 0;
  argv[k++] = a->gd->brick_program;
  argv[k++] = "--no-daemon";
  argv[k++] = "--volfile";
  argv[k++] = a->volfile;
  argv[k++] = "--process-name";
  argv[k++] = "new-brick";
  argv[k++] = "--log-file";
  argv[k++] = a->log;
  for (unsigned i = 0; i < n; i++)
    argv[k++] = settings[i] = gi_asprintf("--set-root-xattr=%s=%s", a->attribute, a->v->bricks[a->fresh[i]].id);
  argv[k] = NULL;
  pid_t pid;
  int ret = gd_spawn(a->gd->brick_program, argv, &pid);
  for (unsigned i = 0; i < n; i++)
    gi_free(settings[i]);
  if (!ret && !gd_watch(&a->watch, a->gd->reactor, pid, ended, a))
    ret = errno;
  return ret;
}

/* Tells the next set that has a new brick, or ends. */
static void
next_set(struct gd_announce *a)
{
  struct gi_error err = {0};
  unsigned set, n = 0;
  if (!a->nfresh) {
    gi_defer_add(a->gd->reactor, &a->end);
    return;
  }
  set = a->fresh[0] / a->v->replica;
  while (n < a->nfresh && a->fresh[n] / a->v->replica == set)
    n++;
  if (n > NEW_MAX) {
    failed(a, "too many bricks");
    return;
  }
  if (write_volfile(a->v, set, a->volfile, &err)) {
    failed(a, err.text);
    return;
  }
  int ret = run(a, n);
  if (ret) {
    failed(a, strerror(ret));
    return;
  }
  a->fresh += n;
  a->nfresh -= n;
  gi_timer_set(&a->timer, TIMEOUT);
}

struct gd_announce *
gd_announce(const struct gd_volume *v, const char *attribute, const unsigned *fresh, unsigned n,
            void (*fn)(const struct gi_error *err, void *arg), void *arg)
{
  struct gd_announce *a = gi_new(struct gd_announce);
  GI_CLEANUP_FREE char *dir = gd_volume_dir(v->gd, v->name);
  a->gd = v->gd;
  a->v = v;
  a->attribute = attribute;
  a->fresh = fresh;
  a->nfresh = n;
  a->watch.fd = -1;
  a->fn = fn;
  a->arg = arg;
  a->volfile = gi_asprintf("%s/new-brick.vol", dir);
  a->log = gi_asprintf("%s/%s-new-brick.log", v->gd->config.logdir, v->name);
  gi_defer_init(&a->end, end_now, a);
  gi_timer_init(&a->timer, a->gd->reactor, too_slow, a);
  next_set(a);
  return a;
}
