/* SPDX-License-Identifier: Apache-2.0
 *
 * The disks of bricks, for commands that tell of them. A disk may hang, so
 * workers look at it, and the command goes on without it after a moment.
 */
#include "programs/glusterishd/ops/op.h"

#include <string.h>

#define PATIENCE_NS (2 * GI_NSEC_PER_SEC)
#define LOOKS_MAX 4 /* at one disk at a time: were it to hang, so many threads would */

/* A look at one. It outlives the command when the disk hangs. */
struct look {
  struct gi_work work;
  struct gi_list link; /* under_way */
  struct gd_disks *disks;
  char *path;
  struct statvfs st;
  uint64_t since;
  bool failed, over;
};

struct gd_disks {
  struct gd_op *op; /* NULL: it has ended */
  gd_disks_fn *then;
  struct gi_timer timer;
  unsigned n, left, refs; /* looks; those not over; they and the op */
  struct look look[];
};

static struct gi_list under_way = GI_LIST_INIT(under_way);

static void
unref(struct gd_disks *d)
{
  GI_ASSERT(d->refs > 0);
  if (--d->refs)
    return;
  GI_ASSERT(!d->op);
  for (unsigned i = 0; i < d->n; i++)
    gi_free(d->look[i].path);
  gi_free(d);
}

static void
go_on(void *arg)
{
  struct gd_disks *d = arg;
  struct gd_op *op = d->op;
  struct gi_error err = {0};
  GI_ASSERT(op && d->then);
  gd_disks_fn *then = d->then;
  d->then = NULL;
  gi_timer_cancel(&d->timer);
  op->volume = gd_volume_find(op->gd, gd_op_str(op, "volume")); /* it may be gone */
  int ret = then(op, &err);
  if (ret != GD_OP_LATER)
    gd_op_finish(op, ret == GD_OP_FAILED ? &err : NULL);
}

static void
look_run(struct gi_work *w)
{
  struct look *l = GI_CONTAINER(w, struct look, work);
  l->failed = statvfs(l->path, &l->st) != 0;
}

static void
look_done(struct gi_work *w)
{
  struct look *l = GI_CONTAINER(w, struct look, work);
  struct gd_disks *d = l->disks;
  gi_list_del(&l->link);
  l->over = true;
  GI_ASSERT(d->left > 0);
  if (--d->left == 0 && d->op && d->then)
    go_on(d);
  unref(d);
}

/* Somebody looks at it for long, or many do: another thread would hang there, too. */
static bool
hangs(const char *path, uint64_t now)
{
  unsigned n = 0;
  gi_list_foreach(l, &under_way, struct look, link)
    if (strcmp(l->path, path) == 0 && (++n == LOOKS_MAX || now - l->since >= PATIENCE_NS))
      return true;
  return false;
}

static void
look(struct gd_disks *d, const char *path)
{
  struct look *l = &d->look[d->n++];
  uint64_t now = gi_now(d->op->gd->reactor);
  l->disks = d;
  l->path = gi_strdup(path);
  l->since = now;
  gi_list_init(&l->link);
  if (hangs(path, now))
    return;
  gi_list_add_tail(&under_way, &l->link);
  l->work = (struct gi_work){.run = look_run, .done = look_done, .priority = GI_PRIO_LOW};
  d->left++;
  d->refs++;
  gi_work_submit(d->op->gd->reactor, &l->work);
}

int
gd_disks_look_at(struct gd_op *op, const char *const *paths, unsigned n, gd_disks_fn *then, struct gi_error *err)
{
  struct gd_disks *d = gi_zalloc(sizeof(*d) + n * sizeof(d->look[0]));
  GI_ASSERT(!op->disks);
  op->disks = d;
  d->op = op;
  d->refs = 1;
  gi_timer_init(&d->timer, op->gd->reactor, go_on, d);
  for (unsigned i = 0; i < n; i++)
    look(d, paths[i]);
  if (d->left == 0)
    return then(op, err);
  d->then = then;
  gi_timer_set(&d->timer, PATIENCE_NS);
  return GD_OP_LATER;
}

/* Of this node; their number if `paths` is NULL. */
static unsigned
brick_paths(const struct gd *gd, const struct gd_volume *only, const char **paths)
{
  unsigned n = 0;
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; (!only || v == only) && i < v->nbricks; i++)
      if (gi_gfid_equal(&v->bricks[i].node, &gd->uuid)) {
        if (paths)
          paths[n] = v->bricks[i].path;
        n++;
      }
  return n;
}

int
gd_disks_look(struct gd_op *op, const struct gd_volume *only, gd_disks_fn *then, struct gi_error *err)
{
  unsigned n = brick_paths(op->gd, only, NULL);
  GI_CLEANUP_FREE const char **paths = gi_zalloc((n + 1) * sizeof(*paths));
  brick_paths(op->gd, only, paths);
  return gd_disks_look_at(op, paths, n, then, err);
}

const struct statvfs *
gd_disks_get(const struct gd_op *op, const char *path)
{
  for (unsigned i = 0; op->disks && i < op->disks->n; i++) {
    const struct look *l = &op->disks->look[i];
    if (l->over && !l->failed && strcmp(l->path, path) == 0)
      return &l->st;
  }
  return NULL;
}

void
gd_disks_free(struct gd_op *op)
{
  struct gd_disks *d = op->disks;
  op->disks = NULL;
  if (!d)
    return;
  gi_timer_finish(&d->timer);
  d->op = NULL;
  unref(d);
}
