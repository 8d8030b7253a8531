/* SPDX-License-Identifier: Apache-2.0
 *
 * The volume: what the daemon tells of it, and the graph of its replica sets.
 */
#include "programs/heal/heal.h"

#include "libglusterish/task.h"

#include <errno.h>
#include <string.h>

#define TYPE "internal/heal"
#define CONNECT_NS (15 * GI_NSEC_PER_SEC) /* longest wait for the replica sets; more than one of them waits for its bricks */
#define INFO_PROC 5
#define HEAL_PROC 31

/* ---- the daemon ---- */

static json_t *
ask_daemon(struct heal *h, unsigned proc, json_t *request, struct gi_error *err)
{
  struct cli_reply reply;
  if (h->cli.call(&h->cli, proc, request, &reply)) {
    gi_error_set(err, ENOTCONN, "Connection failed. Please check if gluster daemon is operational.");
    return NULL;
  }
  json_t *doc = reply.ret ? NULL : json_incref(reply.doc);
  if (!doc)
    gi_error_set(err, ENOENT, "%s", reply.text);
  cli_reply_clear(&reply);
  return doc;
}

static bool
option_is_off(const json_t *volume, const char *key)
{
  const json_t *options = json_object_get(volume, "options");
  bool on = true;
  for (size_t i = 0; i < json_array_size(options); i++) {
    const json_t *o = json_array_get(options, i);
    if (strcmp(cli_str(o, "name"), key) == 0)
      gi_parse_bool(cli_str(o, "value"), &on);
  }
  return !on;
}

static int
check(struct heal *h, const json_t *volume, struct gi_error *err)
{
  bool heals = cli_int(volume, "replicaCount") > 1;
  if (strcmp(cli_str(volume, "statusStr"), "Started") != 0)
    return gi_error_set(err, EIO, "%s: Not able to fetch volfile from glusterd", h->volume);
  if (!heals)
    return gi_error_set(err, EINVAL,
                        "This command is supported for only volumes of replicate/disperse type. Volume %s is not of type "
                        "replicate/disperse",
                        h->volume);
  return 0;
}

static void
take_bricks(struct heal *h, const json_t *bricks)
{
  h->nbricks = (unsigned)json_array_size(bricks);
  h->bricks = gi_zalloc((h->nbricks + 1) * sizeof(*h->bricks));
  for (unsigned i = 0; i < h->nbricks; i++) {
    const json_t *b = json_array_get(bricks, i);
    h->bricks[i].name = gi_strdup(cli_str(b, "name"));
    h->bricks[i].uuid = gi_strdup(cli_str(b, "hostUuid"));
  }
}

int
heal_volume_ask(struct heal *h, struct gi_error *err)
{
  json_t *doc = ask_daemon(h, INFO_PROC, cli_request("volume info", h->volume, 0, NULL), err);
  if (!doc)
    return err->code;
  const json_t *volume = json_array_get(json_object_get(doc, "volumes"), 0);
  if (!json_is_object(volume))
    gi_error_set(err, ENOENT, "Volume %s does not exist", h->volume);
  else if (check(h, volume, err) == 0)
    take_bricks(h, json_object_get(volume, "bricks"));
  h->enabled = !option_is_off(volume, "cluster.self-heal-daemon");
  json_decref(doc);
  return err->code;
}

void
heal_volume_progress(struct heal *h)
{
  struct gi_error err = {0};
  json_t *request = cli_request("volume heal status", h->volume, 0, NULL);
  json_object_set_new(request, "op", json_string("statistics"));
  json_t *doc = h->enabled ? ask_daemon(h, HEAL_PROC, request, &err) : NULL;
  if (!h->enabled)
    json_decref(request);
  heal_report_progress(&h->report, cli_true(doc, "answered") ? json_object_get(doc, "facts") : NULL, h->enabled);
  json_decref(doc);
}

/* ---- the top of the graph ---- */

static void
on_task(void *arg)
{
  struct heal *h = arg;
  heal_report_begin(&h->report);
  if (h->command == HEAL_PENDING)
    h->status = heal_pending(h);
  else if (h->command == HEAL_INFO || h->command == HEAL_SUMMARY || h->command == HEAL_SPLITS)
    h->status = heal_info(h);
  else
    h->status = heal_split(h);
  h->ended = true;
  h->process->status = h->status;
  gi_reactor_stop(h->process->reactor);
}

static struct heal *
heal_of(const struct gi_xlator *x)
{
  return ((struct fs_process *)x->ctx->app)->cfg->role->arg;
}

static void
begin(void *arg)
{
  struct heal *h = heal_of(arg);
  if (h->running)
    return;
  h->running = true;
  gi_task_start(h->top->reactor, on_task, h);
}

static void
heard(struct gi_xlator *x, const struct gi_xlator *from)
{
  struct heal *h = heal_of(x);
  bool all = true;
  for (unsigned i = 0; i < h->nsets; i++) {
    if (h->set[i].xlator == from)
      h->set[i].heard = true;
    all = all && h->set[i].heard;
  }
  if (all)
    gi_timer_set(x->private, 0); /* not from inside a notification */
}

static bool
notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event == GI_EVENT_PARENT_UP)
    gi_timer_set(x->private, CONNECT_NS);
  else if (event == GI_EVENT_PARENT_DOWN)
    gi_timer_cancel(x->private);
  else if (event == GI_EVENT_CHILD_UP || event == GI_EVENT_CHILD_DOWN)
    heard(x, from);
  return false;
}

static struct heal_brick *
brick_of_client(struct heal *h, struct gi_xlator *client)
{
  const char *host = gi_xlator_option(client, "remote-host"), *path = gi_xlator_option(client, "remote-subvolume");
  GI_CLEANUP_FREE char *name = gi_asprintf("%s:%s", host ? host : "", path ? path : "");
  return heal_find_brick(h, name);
}

static int
init(struct gi_xlator *x, struct gi_error *err)
{
  struct heal *h = heal_of(x);
  h->top = x;
  h->nsets = x->nchildren;
  h->set = gi_zalloc(h->nsets * sizeof(*h->set));
  for (unsigned i = 0; i < h->nsets; i++) {
    h->set[i].xlator = x->children[i];
    for (unsigned k = 0; k < x->children[i]->nchildren; k++) {
      struct heal_brick *b = brick_of_client(h, x->children[i]->children[k]);
      if (!b)
        continue;
      b->set = &h->set[i];
      b->client = x->children[i]->children[k];
    }
  }
  for (unsigned i = 0; i < h->nbricks; i++)
    if (!h->bricks[i].set)
      return gi_error_set(err, EINVAL, "the volfile has no brick %s", h->bricks[i].name);
  struct gi_timer *timer = gi_new(struct gi_timer);
  gi_timer_init(timer, x->reactor, begin, x);
  x->private = timer;
  return 0;
}

static void
finish(struct gi_xlator *x)
{
  gi_timer_finish(x->private);
  gi_free(x->private);
}

static const struct gi_xlator_class heal_class = {
    .abi = GI_XLATOR_ABI,
    .type = TYPE,
    .version = GI_VERSION,
    .summary = "Stands above the replica sets while what needs healing is found out",
    .min_children = 1,
    .max_children = ~0u,
    .init = init,
    .finish = finish,
    .notify = notify,
};

/* ---- the volfile ---- */

static bool
is_set(const struct gi_vol_node *n)
{
  return strcmp(n->type, "cluster/replicate") == 0;
}

/* What stands above the replica sets is not wanted: every set is looked at by itself. */
static void
take_off_tops(struct gi_volfile *vf)
{
  struct gi_vol_node *top = NULL;
  do {
    top = NULL;
    gi_list_foreach(n, &vf->nodes, struct gi_vol_node, link)
      if (n->nparents == 0 && !is_set(n))
        top = n;
    if (top)
      gi_vol_node_remove(top);
  } while (top);
}

int
heal_volume_adapt(struct fs_process *p, struct gi_volfile *vf, struct gi_error *err)
{
  struct gi_vol_node *sets[4096];
  unsigned n = 0;
  gi_class_register(&heal_class);
  take_off_tops(vf);
  gi_list_foreach(s, &vf->nodes, struct gi_vol_node, link)
    if (is_set(s) && n < GI_ARRAY_LEN(sets))
      sets[n++] = s;
  if (n == 0)
    return gi_error_set(err, EINVAL, "the volfile has no replica set");
  struct gi_vol_node *top = gi_vol_node_add(vf, TYPE, "glusterish-heal");
  for (unsigned i = 0; i < n; i++) {
    /* It is asked to heal, so it may, whatever clients do by themselves; and only what it is asked for. */
    gi_vol_node_option(sets[i], "data-self-heal", "on");
    gi_vol_node_option(sets[i], "metadata-self-heal", "on");
    gi_vol_node_option(sets[i], "entry-self-heal", "on");
    gi_vol_node_option(sets[i], "background-self-heal-count", "0");
    gi_vol_node_sub(top, sets[i]);
  }
  return 0;
}

struct heal_brick *
heal_find_brick(struct heal *h, const char *name)
{
  for (unsigned i = 0; i < h->nbricks; i++)
    if (strcmp(h->bricks[i].name, name) == 0)
      return &h->bricks[i];
  return NULL;
}

void
heal_volume_free(struct heal *h)
{
  for (unsigned i = 0; i < h->nbricks; i++) {
    gi_free(h->bricks[i].name);
    gi_free(h->bricks[i].uuid);
  }
  gi_free(h->bricks);
  gi_free(h->set);
}
