/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool for tests.
 */
#include "programs/glusterishd/pool/fixture.h"

#include <string.h>

struct memory_store store;

struct gd_key_store *
open_store(struct gd *gd)
{
  return memory_store_open(&store, gd->reactor);
}

void
turns(struct fixture *f, unsigned n)
{
  while (n--)
    gi_reactor_turn(f->r, GI_NSEC_PER_MSEC);
}

void
follow(struct fixture *f)
{
  gd_follow_refresh(f->gd->pool->follow, NULL, NULL);
  turns(f, 5);
}

void
restart(struct fixture *f)
{
  struct gi_error err = {0};
  struct gd *old = f->gd, *next = gd_new(f->r, &old->config);
  gd_map_free(&next->map);
  next->map = old->map;
  old->map = NULL;
  gi_free(next->brick_program);
  next->brick_program = gi_strdup(old->brick_program);
  next->new_key_store = open_store;
  store.dead = true;
  gd_free(&old);
  store.dead = false;
  store.dies_at = 0;
  memory_store_expire(&store); /* the lease of the dead */
  f->gd = next;
  if (gd_store_load(next, &err))
    fail_msg("%s", err.text);
  gi_list_foreach(v, &next->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      gd_brick_adopt(&v->bricks[i]);
  if (gd_pool_load(next, &err))
    fail_msg("%s", err.text);
  turns(f, 5);
}

static void
make_pool(struct fixture *f)
{
  struct gi_error err = {0};
  char id[GI_UUID_TEXT], uuid[GI_UUID_TEXT];
  f->gd->new_key_store = open_store;
  f->gd->config.port = 24007;
  if (gd_pool_begin(f->gd, "127.0.0.1", &err))
    fail_msg("%s", err.text);
  GI_CLEANUP_FREE char *node = gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(&f->gd->uuid, uuid));
  json_t *doc = gd_node_own_doc(f->gd);
  char *text = json_dumps(doc, 0);
  memory_store_put(&store, GD_PREFIX "pool", gi_gfid_text(&f->gd->pool->id, id), 0);
  memory_store_put(&store, node, text, 0);
  memory_store_put(&store, AWAY, AWAY_DOC, 0);
  free(text);
  json_decref(doc);
  follow(f);
}

int
setup_pool(void **state)
{
  memset(&store, 0, sizeof(store));
  setup(state);
  make_pool(*state);
  return 0;
}

int
teardown_pool(void **state)
{
  teardown(state);
  memory_store_clear(&store);
  return 0;
}
