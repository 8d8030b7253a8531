/* SPDX-License-Identifier: Apache-2.0
 *
 * Server quorum: a node that sees too few of its pool stops its bricks of the
 * volumes that want that (cluster.server-quorum-type server), so that no half of
 * a pool that was cut in two is written to. When enough are back it starts them.
 * A daemon that begins has seen nobody yet: bricks that run are left alone for a
 * while, those that do not wait until enough nodes are seen.
 */
#include "programs/glusterishd/pool/pool.h"

#include <string.h>

#define GRACE (15 * GI_NSEC_PER_SEC) /* after the daemon's start, until the nodes are connected */
#define MSG (GI_MSG_MGMT + 190)

static bool
is_met(const struct gd_pool *p)
{
  unsigned all = 1, seen = 1;
  int64_t percent = 0;
  const char *ratio = gd_options_get(&p->gd->pool_options, "cluster.server-quorum-ratio");
  gi_list_foreach(n, &p->nodes, struct gd_node, link) {
    all++;
    seen += gd_node_connected(n);
  }
  bool set = ratio && gi_parse_int(ratio, &percent) && percent > 0 && percent <= 100;
  return set ? seen * 100 >= all * (unsigned)percent : seen * 2 > all;
}

static bool
wants_quorum(const struct gd_volume *v)
{
  const char *type = gd_options_get(&v->options, "cluster.server-quorum-type");
  return v->status == GD_STARTED && type && strcmp(type, "server") == 0;
}

static bool
has_running(const struct gd_volume *v)
{
  for (unsigned i = 0; i < v->nbricks; i++)
    if (gd_node_has(v->gd, NULL, &v->bricks[i]) && v->bricks[i].state == GD_PROC_UP)
      return true;
  return false;
}

static void
lose(struct gd_volume *v)
{
  if (v->cut_off && !has_running(v))
    return;
  gi_log(GI_LOG_ERROR, GD_NAME, MSG, "too few nodes of the pool are connected: the bricks of volume %s are stopped here",
         v->name);
  v->cut_off = true;
  for (unsigned i = 0; i < v->nbricks; i++)
    if (gd_node_has(v->gd, NULL, &v->bricks[i]))
      gd_brick_stop(&v->bricks[i], NULL, NULL);
}

static void
regain(struct gd_volume *v)
{
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "enough nodes of the pool are connected: the bricks of volume %s are started", v->name);
  v->cut_off = false;
  for (unsigned i = 0; i < v->nbricks && v->status == GD_STARTED; i++)
    if (gd_node_has(v->gd, NULL, &v->bricks[i]) && gd_brick_ends(&v->bricks[i]) && !gd_brick_check_start(&v->bricks[i], NULL))
      gd_brick_start(&v->bricks[i], NULL, NULL);
}

void
gd_quorum_look(struct gd_pool *p)
{
  struct gd *gd = p->gd;
  gi_list_foreach(n, &p->nodes, struct gd_node, link)
    if (n->connection)
      gd_link_ping(n->connection); /* the kernel answers for one that is frozen */
  bool met = is_met(p);
  if (!met && gi_now(gd->reactor) - p->began < GRACE)
    return;
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link) {
    bool lost = !met && wants_quorum(v);
    if (v->busy)
      continue;
    if (lost)
      lose(v);
    else if (v->cut_off)
      regain(v);
  }
}

void
gd_quorum_begin(struct gd *gd)
{
  if (!gd_pool_is_stored(gd))
    return;
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    v->cut_off = wants_quorum(v);
}

void
gd_quorum_end(struct gd *gd)
{
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    if (v->cut_off)
      regain(v);
}
