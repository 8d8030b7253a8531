/* SPDX-License-Identifier: Apache-2.0
 *
 * The hosts that a command names, looked up by workers before it begins: a name
 * service may be dead, and whoever else asks the daemon does not wait for it. A
 * name that does not come in time is as one that nobody knows.
 */
#include "programs/glusterishd/pool/pool.h"
#include "rpc/net.h"

#include <string.h>
#include <strings.h>

#define PATIENCE_NS (3 * GI_NSEC_PER_SEC)

struct lookup {
  struct gi_work work;
  struct gi_list link; /* under_way */
  struct gd_names *names;
  struct gi_reactor *r;
  char *host;
  int count;
  struct gi_net_address address[GD_NAME_ADDRESSES];
};

struct gd_names {
  struct gd_op *op; /* NULL: it has ended */
  gd_names_fn *then;
  struct gi_timer timer;
  unsigned left, refs; /* lookups that are not over; they and the op */
};

static struct gi_list under_way = GI_LIST_INIT(under_way);

static void
unref(struct gd_names *n)
{
  GI_ASSERT(n->refs > 0);
  if (--n->refs == 0)
    gi_free(n);
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
  gi_timer_cancel(&n->timer);
  int ret = then(op, &err);
  if (ret != GD_OP_LATER)
    gd_op_finish(op, ret == GD_OP_FAILED ? &err : NULL);
}

static void
lookup_run(struct gi_work *w)
{
  struct lookup *l = GI_CONTAINER(w, struct lookup, work);
  struct gi_error err = {0};
  l->count = gi_net_of(l->r)->resolve(l->r, l->host, 0, l->address, GI_ARRAY_LEN(l->address), &err);
}

static void
lookup_done(struct gi_work *w)
{
  struct lookup *l = GI_CONTAINER(w, struct lookup, work);
  struct gd_names *n = l->names;
  gi_list_del(&l->link);
  if (n->op)
    gd_host_learn(n->op->gd, l->host, l->address, l->count > 0 ? (unsigned)l->count : 0);
  gi_free(l->host);
  gi_free(l);
  GI_ASSERT(n->left > 0);
  if (--n->left == 0 && n->op && n->then)
    go_on(n);
  unref(n);
}

/* Somebody waits for it already, for ever perhaps: another worker would, too. */
static bool
is_under_way(const struct gi_reactor *r, const char *host)
{
  gi_list_foreach(l, &under_way, struct lookup, link)
    if (l->r == r && strcmp(l->host, host) == 0)
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
  if (!host || !*host || (!again && is_of_pool(gd, host)) || !gd_host_must_be_looked_up(gd, host) ||
      is_under_way(gd->reactor, host))
    return;
  struct lookup *l = gi_new(struct lookup);
  *l = (struct lookup){.names = n, .r = gd->reactor, .host = gi_strdup(host)};
  l->work = (struct gi_work){.run = lookup_run, .done = lookup_done, .priority = GI_PRIO_NORMAL};
  gi_list_add_tail(&under_way, &l->link);
  n->left++;
  n->refs++;
  gi_work_submit(gd->reactor, &l->work);
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
  n->refs = 1;
  gi_timer_init(&n->timer, op->gd->reactor, go_on, n);
  for (size_t i = 0; i < GI_ARRAY_LEN(members) && !op->by_node; i++)
    look_up(n, gd_op_str(op, members[i]), false);
  for (size_t i = 0; i < json_array_size(bricks); i++)
    look_up(n, json_string_value(json_array_get(bricks, i)), false);
  for (size_t i = 0; i < json_array_size(addresses); i++)
    look_up(n, json_string_value(json_array_get(addresses, i)), true); /* of a node that has others now */
  if (n->left == 0)
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
  gi_timer_finish(&n->timer);
  n->op = NULL;
  unref(n);
}
