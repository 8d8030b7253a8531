/* SPDX-License-Identifier: Apache-2.0
 *
 * Bricks that left their volume. They go on for a while, until clients have left
 * them in good order: who has not heard yet that they are gone would be refused
 * what it does there, and hold it against them. What a daemon leaves that is
 * killed meanwhile the next one finds (sweep.c), and waits as long.
 */
#include "programs/glusterishd/proc/proc.h"

#define LEAVE_GRACE (1 * GI_NSEC_PER_SEC) /* clients drop a brick within milliseconds; one that hangs is not waited for */
#define COME_BACK (8 * GI_NSEC_PER_SEC)   /* clients look for a daemon that was away every four seconds, or sooner */

uint64_t
gd_leave_grace(const struct gd *gd)
{
  uint64_t now = gi_now(gd->reactor), until = gd->started_at + COME_BACK;
  return until > now + LEAVE_GRACE ? until - now : LEAVE_GRACE;
}

static void
leaving_free(struct gd_leaving *l)
{
  gi_list_del(&l->link);
  gi_timer_finish(&l->timer);
  gd_volume_let_go(l->volume);
  gd_volume_free(l->volume);
  gi_free(l);
}

static void
stopped(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  struct gd_leaving *l = arg;
  l->over = true;
  gi_timer_set(&l->timer, 0); /* it is not freed from inside of the answer */
}

static void
due(void *arg)
{
  struct gd_leaving *l = arg;
  void (*fn)(void *arg) = l->fn;
  void *fn_arg = l->arg;
  if (!l->over) {
    gd_brick_stop(l->volume->bricks, stopped, l);
    return;
  }
  leaving_free(l);
  if (fn)
    fn(fn_arg);
}

void
gd_brick_leave(struct gd_brick *b, void (*fn)(void *arg), void *arg)
{
  struct gd *gd = b->volume->gd;
  struct gd_leaving *l = gi_new(struct gd_leaving);
  struct gd_volume *v = gd_volume_new(gd, b->volume->name);
  bool down = b->state == GD_PROC_DOWN;
  v->id = b->volume->id;
  v->nbricks = 1;
  v->bricks = gi_zalloc(sizeof(*v->bricks));
  v->bricks[0] = *b;
  v->bricks[0].proc = NULL;
  v->bricks[0].volume = v;
  v->bricks[0].index = 0;
  gd_brick_move(&v->bricks[0], b);
  b->host = b->path = b->id = NULL;
  l->volume = v;
  l->fn = fn;
  l->arg = arg;
  gi_list_add_tail(&gd->leaving, &l->link);
  gi_timer_init(&l->timer, gd->reactor, due, l);
  gi_timer_set(&l->timer, down ? 0 : gd_leave_grace(gd));
}

void
gd_leave_unheard(struct gd *gd, const void *arg)
{
  gi_list_foreach(l, &gd->leaving, struct gd_leaving, link)
    if (l->arg == arg)
      l->fn = NULL;
}

void
gd_leaving_let_go(struct gd *gd)
{
  gi_list_foreach_safe(l, &gd->leaving, struct gd_leaving, link)
    leaving_free(l);
}
