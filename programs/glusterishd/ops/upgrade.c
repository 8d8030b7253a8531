/* SPDX-License-Identifier: Apache-2.0
 *
 * pool upgrade: nodes of two versions work together at the operating version
 * of the older one, the pool's option cluster.op-version. check tells what every
 * node could do and what hinders a higher one, finish raises it.
 */
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define FIRST 100000 /* of a pool that has never raised it: the first version that had pools */

unsigned
gd_pool_level(const struct gd *gd)
{
  const char *text = gd_options_get(&gd->pool_options, "cluster.op-version");
  int64_t n = 0;
  return text && gi_parse_int(text, &n) && n > 0 && n <= INT32_MAX ? (unsigned)n : FIRST;
}

/* What all nodes can do whose version is known. */
static unsigned
possible(const struct gd *gd)
{
  unsigned least = GD_OP_VERSION;
  const struct gd_node *n;
  for (unsigned i = 0; (n = gd_node_at(gd, i)) != NULL; i++)
    if (n->op_version && n->op_version < least)
      least = n->op_version;
  return least;
}

/* What the newest node can do. */
static unsigned
highest(const struct gd *gd)
{
  unsigned most = GD_OP_VERSION;
  const struct gd_node *n;
  for (unsigned i = 0; (n = gd_node_at(gd, i)) != NULL; i++)
    if (n->op_version > most)
      most = n->op_version;
  return most;
}

static void
add_hindrance(json_t *hinders, const char *host, const char *version, unsigned op_version, bool known, unsigned most)
{
  if (!known)
    json_array_append_new(hinders, json_sprintf("node %s is not connected: nobody knows what it runs", host));
  else if (op_version < most)
    json_array_append_new(hinders,
                          json_sprintf("node %s runs version %s, whose operating version is %u: upgrade it to reach %u", host,
                                       version, op_version, most));
}

/* "nodes", "opVersion", "possible", "hinders" of the answer. */
static void
tell(struct gd_op *op)
{
  const struct gd *gd = op->gd;
  unsigned most = highest(gd);
  json_t *nodes = json_array(), *hinders = json_array();
  const struct gd_node *n;
  json_array_append_new(nodes, json_pack("{s:s,s:s,s:i,s:b}", "hostname", "localhost", "version", GI_VERSION, "opVersion",
                                         GD_OP_VERSION, "connected", true));
  add_hindrance(hinders, "localhost", GI_VERSION, GD_OP_VERSION, true, most);
  for (unsigned i = 0; (n = gd_node_at(gd, i)) != NULL; i++) {
    bool known = n->op_version && gd_node_connected(n);
    json_array_append_new(nodes, json_pack("{s:s,s:s,s:i,s:b}", "hostname", n->hosts[0], "version", n->version, "opVersion",
                                           (int)n->op_version, "connected", gd_node_connected(n)));
    add_hindrance(hinders, n->hosts[0], n->version, n->op_version, known, most);
  }
  json_object_update_new(op->out, json_pack("{s:o,s:o,s:i,s:i}", "nodes", nodes, "hinders", hinders, "opVersion",
                                            (int)gd_pool_level(gd), "possible", (int)possible(gd)));
}

int
gd_op_upgrade_check(struct gd_op *op, struct gi_error *err)
{
  tell(op);
  return GD_OP_DONE;
}

/* ---- finish ---- */

static void
stored(struct gd_op *op, const struct gi_error *err)
{
  if (!err->code)
    json_object_set_new(op->out, "opVersion", json_integer((json_int_t)gd_pool_level(op->gd)));
  gd_finish_everywhere(op, err);
}

static int
raise(struct gd_op *op, unsigned to)
{
  struct gi_list changed = GI_LIST_INIT(changed);
  struct gi_list *options = &op->gd->pool_options;
  GI_CLEANUP_FREE char *text = gi_asprintf("%u", to);
  if (!op->gd->pool)
    gd_options_set(options, "cluster.op-version", text);
  gi_list_foreach(o, options, struct gd_option, link)
    gd_options_set(&changed, o->key, o->value);
  gd_options_set(&changed, "cluster.op-version", text);
  gd_commit_options(op, op->gd->pool ? &changed : options, stored);
  gd_options_clear(&changed);
  return GD_OP_LATER;
}

int
gd_op_upgrade_finish(struct gd_op *op, struct gi_error *err)
{
  unsigned to = possible(op->gd);
  tell(op);
  const json_t *hinders = json_object_get(op->out, "hinders");
  if (json_array_size(hinders))
    return gi_error_set(err, GD_ERR_MGMT, "%.1500s", json_string_value(json_array_get(hinders, 0)));
  return to > gd_pool_level(op->gd) ? raise(op, to) : GD_OP_DONE;
}
