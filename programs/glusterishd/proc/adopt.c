/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of processes when a volume gets another shape, or goes.
 */
#include "programs/glusterishd/proc/proc.h"

#include <string.h>

#define MSG (GI_MSG_MGMT + 205)

void
gd_bricks_let_go(struct gd_brick *bricks, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    gd_brick_forget(&bricks[i]);
}

void
gd_volume_sync(struct gd_volume *v)
{
  gd_shd_sync(v);
  gd_mover_sync(v);
}

void
gd_volume_drop(struct gd_volume *v)
{
  struct gi_error err = {0};
  if (gd_store_delete(v->gd, v->name, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "%s", err.text);
  v->status = GD_STOPPED;
  gd_volume_sync(v);
  for (unsigned i = 0; i < v->nbricks; i++)
    gd_brick_end(&v->bricks[i]);
  gd_volume_let_go(v);
  gd_volume_free(v);
}

void
gd_volume_let_go(struct gd_volume *v)
{
  if (!v)
    return;
  gd_service_forget(&v->shd);
  gd_service_forget(&v->mover);
  gd_bricks_let_go(v->bricks, v->nbricks);
}

static struct gd_brick *
same_brick(struct gd_volume *v, const struct gd_brick *b)
{
  for (unsigned i = 0; i < v->nbricks; i++)
    if (strcmp(v->bricks[i].id, b->id) == 0 && strcmp(v->bricks[i].path, b->path) == 0 &&
        strcmp(v->bricks[i].host, b->host) == 0)
      return &v->bricks[i];
  return NULL;
}

void
gd_volume_adopt(struct gd_volume *v, struct gd_volume *draft, struct gd_brick **gone, unsigned *ngone)
{
  gd_volume_check(v);
  gd_volume_check(draft);
  GI_ASSERT(gi_list_empty(&draft->link) && strcmp(v->name, draft->name) == 0);
  struct gd_brick *old = v->bricks, *left = gi_zalloc(v->nbricks * sizeof(*left));
  unsigned nold = v->nbricks, n = 0;
  for (unsigned i = 0; i < nold; i++) {
    struct gd_brick *b = same_brick(draft, &old[i]);
    if (b) {
      gd_brick_move(b, &old[i]);
      continue;
    }
    left[n] = old[i];
    left[n].proc = NULL;
    gd_brick_move(&left[n++], &old[i]);
    old[i].host = old[i].path = old[i].id = NULL;
  }
  gd_bricks_free(old, nold);
  v->bricks = draft->bricks;
  v->nbricks = draft->nbricks;
  for (unsigned i = 0; i < v->nbricks; i++) {
    v->bricks[i].volume = v;
    v->bricks[i].index = i;
  }
  v->type = draft->type;
  v->replica = draft->replica;
  v->arbiter = draft->arbiter;
  v->version = draft->version;
  v->counted = draft->counted;
  v->revision = draft->revision;
  gi_free(v->definition);
  v->definition = draft->definition;
  draft->definition = NULL;
  gd_options_clear(&v->options);
  gi_list_splice_tail(&v->options, &draft->options);
  draft->bricks = NULL;
  draft->nbricks = 0;
  gd_volume_free(draft);
  gd_volume_check(v);
  *gone = left;
  *ngone = n;
}
