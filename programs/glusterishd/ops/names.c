/* SPDX-License-Identifier: Apache-2.0
 *
 * The hosts that a command names, looked up by workers before it begins: a name
 * service may be dead, and whoever else asks the daemon does not wait for it. A
 * name that does not come in time is as one that nobody knows.
 */
#include "programs/glusterishd/pool/pool.h"
#include "rpc/resolve.h"

#include <string.h>
#include <strings.h>

#define PATIENCE_NS (3 * GI_NSEC_PER_SEC)

struct lookup {
  struct gi_list link; /* gd_names.lookups */
  struct gd_names *names;
  struct gi_resolve *resolve;
  char *host;
};

struct gd_names {
  struct gd_op *op;
  gd_names_fn *then;
  struct gi_timer timer;
  struct gi_list lookups; /* that are waited for */
};

static void
lookup_free(struct lookup *l)
{
  gi_list_del(&l->link);
  gi_resolve_cancel(&l->resolve);
  gi_free(l->host);
  gi_free(l);
}

static void
wait_no_longer(struct gd_names *n)
{
  gi_timer_cancel(&n->timer);
  gi_list_foreach_safe(l, &n->lookups, struct lookup, link)
    lookup_free(l);
}

static void
go_on(void *arg)
{
  struct gd_names *n = arg;
  struct gd_op *op = n->op;
  struct gi_error err = {0};
  gd_names_fn *then = n->then;
  GI_ASSERT(op && then);
  n->then = NULL;
  wait_no_longer(n);
  int ret = then(op, &err);
  if (ret != GD_OP_LATER)
    gd_op_finish(op, ret == GD_OP_FAILED ? &err : NULL);
}

static void
looked_up(void *arg, const struct gi_net_address *address, unsigned count, const struct gi_error *err)
{
  struct lookup *l = arg;
  struct gd_names *n = l->names;
  l->resolve = NULL;
  gd_host_learn(n->op->gd, l->host, address, count);
  lookup_free(l);
  if (gi_list_empty(&n->lookups) && n->then)
    go_on(n);
}

static bool
is_under_way(const struct gd_names *n, const char *host)
{
  gi_list_foreach(l, &n->lookups, struct lookup, link)
    if (strcmp(l->host, host) == 0)
      return true;
  return false;
}

/* Of those the pool says whose they are. */
static bool
is_of_pool(const struct gd *gd, const char *host)
{
  bool is = gd_node_of_host(gd, host) != NULL;
  for (unsigned i = 0; gd->pool && i < gd->pool->nhosts && !is; i++)
    is = strcasecmp(gd->pool->hosts[i], host) == 0;
  return is;
}

static void
look_up(struct gd_names *n, const char *text, bool again)
{
  struct gd *gd = n->op->gd;
  GI_CLEANUP_FREE char *host = NULL;
  const char *path = text ? strstr(text, ":/") : NULL; /* of a brick */
  host = path ? gi_strndup(text, (size_t)(path - text)) : gi_strdup(text);
  if (!host || !gi_net_is_name(host) || (!again && is_of_pool(gd, host)) || !gd_host_must_be_looked_up(gd, host) ||
      is_under_way(n, host))
    return;
  struct lookup *l = gi_new(struct lookup);
  *l = (struct lookup){.names = n, .host = gi_strdup(host)};
  gi_list_add_tail(&n->lookups, &l->link);
  l->resolve = gi_resolve_start(gd->reactor, l->host, 0, looked_up, l);
}

int
gd_names_look(struct gd_op *op, gd_names_fn *then, struct gi_error *err)
{
  static const char *const members[] = {"host", "source", "target", "old", "new"};
  const json_t *bricks = op->by_node ? NULL : gd_op_strings(op, "bricks"),
               *addresses = op->by_node ? NULL : gd_op_strings(op, "addresses");
  struct gd_names *n = gi_new(struct gd_names);
  GI_ASSERT(!op->names);
  op->names = n;
  n->op = op;
  gi_list_init(&n->lookups);
  gi_timer_init(&n->timer, op->gd->reactor, go_on, n);
  for (size_t i = 0; i < GI_ARRAY_LEN(members) && !op->by_node; i++)
    look_up(n, gd_op_str(op, members[i]), false);
  look_up(n, gd_op_str(op, "as"), false); /* also of a node that comes back: it says its name */
  for (size_t i = 0; i < json_array_size(bricks); i++)
    look_up(n, json_string_value(json_array_get(bricks, i)), false);
  for (size_t i = 0; i < json_array_size(addresses); i++)
    look_up(n, json_string_value(json_array_get(addresses, i)), true); /* of a node that has others now */
  if (gi_list_empty(&n->lookups))
    return then(op, err);
  n->then = then;
  gi_timer_set(&n->timer, PATIENCE_NS);
  return GD_OP_LATER;
}

void
gd_names_free(struct gd_op *op)
{
  struct gd_names *n = op->names;
  op->names = NULL;
  if (!n)
    return;
  wait_no_longer(n);
  gi_timer_finish(&n->timer);
  gi_free(n);
}
