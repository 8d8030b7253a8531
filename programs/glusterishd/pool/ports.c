/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the bricks of other nodes serve. A client asks the daemon of a brick's
 * own host; while that is dead or frozen, and its bricks are not, another node
 * says what that one told it last. Kept in memory: who was away itself asks
 * nobody, and hears it when the other one is there again.
 */
#include "programs/glusterishd/doors.h"
#include "programs/glusterishd/pool/pool.h"

#define TELL_MS 5000

json_t *
gd_ports_own(const struct gd *gd)
{
  json_t *ports = json_object();
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++) {
      const struct gd_brick *b = &v->bricks[i];
      if (gd_node_has(gd, NULL, b) && b->signed_in && b->port)
        json_object_set_new(ports, b->path, json_integer(b->port));
    }
  return ports;
}

void
gd_ports_tell(struct gd *gd, struct gd_node *to)
{
  struct gd_node *n;
  for (unsigned i = 0; (n = gd_node_at(gd, i)) != NULL; i++)
    if ((!to || n == to) && gd_node_connected(n))
      gd_node_call(n, json_pack("{s:s,s:o}", "call", "ports", "ports", gd_ports_own(gd)), TELL_MS, NULL, NULL);
}

void
gd_ports_take(struct gd_node *n, json_t *ports)
{
  if (!json_is_object(ports))
    return;
  json_decref(n->ports);
  n->ports = json_incref(ports);
}

void
gd_ports_told(struct gd *gd, struct gi_rpc_request *req, const json_t *in)
{
  struct gd_node *n = gd_node_find(gd, gd_door_node(req));
  if (n)
    gd_ports_take(n, json_object_get(in, "ports"));
  gd_node_answer(req, json_object());
}

int
gd_ports_get(const struct gd *gd, const struct gd_brick *b)
{
  const struct gd_node *n = gd_node_find(gd, &b->node);
  if (gd_node_has(gd, NULL, b))
    return b->signed_in ? b->port : 0;
  json_int_t port = n ? json_integer_value(json_object_get(n->ports, b->path)) : 0;
  return port > 0 && port < 65536 ? (int)port : 0;
}
