/* SPDX-License-Identifier: Apache-2.0
 *
 * What the observation socket of a client, brick or self-heal daemon shows of
 * the process as a whole. Others add their own paths to ctx->observe.
 */
#include "programs/common/observe-answer.h"
#include "programs/glusterishfs/glusterishfs.h"
#include "programs/glusterishfs/observe-json.h"

#include <errno.h>
#include <unistd.h>

#define MSG (GI_MSG_CLI + 45)

static const char *
role_of(const struct fs_process *p)
{
  const char *id = p->cfg->volfile_id;
  return p->cfg->brick_name ? "brick" : id && strncmp(id, "shd/", 4) == 0 ? "shd" : "client";
}

/* ---- the volume ---- */

/* `name` without what follows its last `mark`, if that is all that follows but digits. */
static bool
cut(char *out, size_t size, const char *name, const char *mark)
{
  const char *at = NULL;
  for (const char *c = strstr(name, mark); c; c = strstr(c + 1, mark))
    at = c;
  if (!at || at == name || strspn(at + strlen(mark), "0123456789") != strlen(at + strlen(mark)))
    return false;
  snprintf(out, size, "%.*s", (int)(at - name), name);
  return true;
}

/* By the names that the management daemon gives: of the disk or the bricks, else of the volfile. */
static const char *
volume_of(const struct fs_process *p, char *buf, size_t size)
{
  const struct gi_graph *g = p->ctx.graph;
  const char *id = p->cfg->volfile_id;
  for (unsigned i = 0; g && i < g->count; i++) {
    const struct gi_xlator *x = g->xlators[i];
    if (strcmp(x->cls->type, "storage/posix") == 0 && cut(buf, size, x->name, "-posix"))
      return buf;
    if (strcmp(x->cls->type, "protocol/client") == 0 && cut(buf, size, x->name, "-client-"))
      return buf;
  }
  if (!id || p->cfg->brick_name)
    return NULL;
  snprintf(buf, size, "%s", strncmp(id, "shd/", 4) == 0 ? id + 4 : id + (id[0] == '/'));
  return buf;
}

void
fs_observe_self(const struct fs_process *p, struct ob_self *self, char *volume, size_t size)
{
  *self = (struct ob_self){role_of(p), volume_of(p, volume, size), p->host, p->cfg->brick_name, (int)getpid()};
}

/* ---- /process ---- */

static void
show_process(struct gi_observe_request *rq, void *arg)
{
  struct fs_process *p = arg;
  char volume[256], uuid[GI_UUID_TEXT];
  const char *v = volume_of(p, volume, sizeof(volume));
  json_t *doc = json_object();
  json_object_set_new(doc, "role", json_string(role_of(p)));
  json_object_set_new(doc, "name", ob_text(p->cfg->brick_name ? p->cfg->brick_name : v ? v : p->cfg->volfile));
  json_object_set_new(doc, "volume", ob_text(v));
  json_object_set_new(doc, "host", ob_text(p->host));
  json_object_set_new(doc, "pid", json_integer(getpid()));
  json_object_set_new(doc, "version", json_string(GI_VERSION));
  json_object_set_new(doc, "started", json_integer(p->started.sec));
  json_object_set_new(doc, "uptime_s", json_integer((json_int_t)((gi_now(p->reactor) - p->started_at) / GI_NSEC_PER_SEC)));
  json_object_set_new(doc, "volfile_id", ob_text(p->cfg->volfile_id));
  json_object_set_new(doc, "brick", ob_text(p->cfg->brick_name));
  json_object_set_new(doc, "mountpoint", ob_text(p->cfg->mountpoint));
  json_object_set_new(doc, "process_uuid", json_string(gi_gfid_text(&p->ctx.process_uuid, uuid)));
  json_object_set_new(doc, "ready", json_boolean(p->ready));
  ob_answer(rq, doc);
}

/* ---- /statedump ---- */

static void
show_statedump(struct gi_observe_request *rq, void *arg)
{
  fs_statedump_write(arg, gi_observe_out(rq));
  gi_observe_done(rq, 200);
}

/* ---- /graph ---- */

/* As the volfile gives them; what opens a door is not shown. */
static json_t *
options_of(const struct gi_vol_node *n)
{
  json_t *options = json_object();
  gi_list_foreach(o, &n->options, struct gi_vol_option, link) {
    bool secret = strstr(o->name, "password") != NULL;
    json_t *name = ob_text(o->name);
    json_object_set_new(options, json_string_value(name), secret ? json_string("(not shown)") : ob_text(o->value));
    json_decref(name);
  }
  return options;
}

static json_t *
layer_of(const struct gi_graph *g, const struct gi_xlator *x)
{
  const struct gi_vol_node *n = gi_volfile_find(g->volfile, x->name);
  json_t *layer = json_object(), *children = json_array();
  for (unsigned i = 0; i < x->nchildren; i++)
    json_array_append_new(children, ob_text(x->children[i]->name));
  json_object_set_new(layer, "name", ob_text(x->name));
  json_object_set_new(layer, "type", json_string(x->cls->type));
  json_object_set_new(layer, "children", children);
  json_object_set_new(layer, "enabled", json_boolean(x->enabled));
  json_object_set_new(layer, "options", n ? options_of(n) : json_object());
  return layer;
}

static void
show_graph(struct gi_observe_request *rq, void *arg)
{
  struct fs_process *p = arg;
  const struct gi_graph *g = p->ctx.graph;
  json_t *layers = json_array();
  for (unsigned i = g ? g->count : 0; i-- > 0;)
    json_array_append_new(layers, layer_of(g, g->xlators[i]));
  ob_answer(rq, json_pack("{s:o}", "layers", layers));
}

/* ---- /metrics ---- */

static void
show_metrics(struct gi_observe_request *rq, void *arg)
{
  struct fs_process *p = arg;
  struct gi_exposition e;
  char volume[256], name[512];
  const char *v = volume_of(p, volume, sizeof(volume));
  const char *of = p->cfg->brick_name ? p->cfg->brick_name : p->cfg->mountpoint;
  if (of)
    snprintf(name, sizeof(name), "%s:%s", role_of(p), of);
  else
    snprintf(name, sizeof(name), "%s:%d", role_of(p), (int)getpid());
  ob_metrics_begin(rq, &e);
  gi_exposition_common(&e, "process", name);
  gi_exposition_common(&e, "volume", v);
  gi_exposition_process(&e, p->started, gi_now(p->reactor) - p->started_at);
  gi_exposition_table(&e, "rpc", gi_conn_metrics, &gi_conn_totals, NULL, 0);
  gi_exposition_budget(&e, &p->ctx.budget);
  if (p->ctx.graph)
    gi_exposition_graph(&e, p->ctx.graph);
  ob_metrics_done(rq, &e);
}

/* ---- beginning and end ---- */

/* What names the socket: the volume is not known before its volfile is. */
static const char *
socket_name(const struct fs_process *p)
{
  const struct fs_config *cfg = p->cfg;
  const char *id = cfg->volfile_id;
  return cfg->brick_name                     ? cfg->brick_name
         : id && strncmp(id, "shd/", 4) == 0 ? id + 4
         : id                                ? id
         : cfg->volfile                      ? cfg->volfile
                                             : "none";
}

int
fs_observe_start(struct fs_process *p, struct gi_error *err)
{
  struct gi_error why = {0};
  p->started = gi_wall(p->reactor);
  p->started_at = gi_now(p->reactor);
  if (p->cfg->role || p->cfg->root_xattrs.count)
    return 0; /* it is here for one question, and ends */
  struct gi_observe *o = p->ctx.observe = gi_observe_new(p->reactor);
  gi_observe_add(o, "/process", "application/json", show_process, p);
  gi_observe_add(o, "/metrics", GI_METRICS_TEXT_TYPE, show_metrics, p);
  gi_observe_add(o, "/errors", "application/json", ob_show_errors, NULL);
  gi_observe_add(o, "/statedump", "text/plain; charset=utf-8", show_statedump, p);
  gi_observe_add(o, "/graph", "application/json", show_graph, p);
  fs_operations_start(p);
  fs_observe_facts(p);
  fs_observe_files(p);
  if (gi_observe_listen(o, role_of(p), socket_name(p), &why) < 0)
    gi_log(GI_LOG_WARNING, FS_DOMAIN, MSG, "there is no observation socket: %s", why.text);
  if (p->cfg->observe && gi_observe_listen_tcp(o, p->cfg->observe, err) < 0)
    return -1;
  if (p->cfg->observe)
    gi_log(GI_LOG_INFO, FS_DOMAIN, MSG + 1, "observed on TCP port %d", gi_observe_port(o));
  return 0;
}
