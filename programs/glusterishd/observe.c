/* SPDX-License-Identifier: Apache-2.0
 *
 * The observation socket of the management daemon.
 */
#include "programs/common/observe-answer.h"
#include "programs/glusterishd/glusterishd.h"
#include "libglusterish/dump.h"
#include "libglusterish/exposition.h"
#include "rpc/conn.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MSG (GI_MSG_MGMT + 95)

static const char *const type_text[] = {
    [GD_DISTRIBUTE] = "distribute", [GD_REPLICATE] = "replicate", [GD_DISPERSE] = "disperse"};
static const char *const status_text[] = {[GD_CREATED] = "created", [GD_STARTED] = "started", [GD_STOPPED] = "stopped"};

/* ---- /process ---- */

static void
show_process(struct gi_observe_request *rq, void *arg)
{
  struct gd *gd = arg;
  char uuid[GI_UUID_TEXT], host[256] = "";
  GI_CHECK(gd, GD_MAGIC);
  gethostname(host, sizeof(host) - 1);
  json_t *doc = json_object();
  json_object_set_new(doc, "role", json_string("glusterishd"));
  json_object_set_new(doc, "name", json_string("glusterishd"));
  json_object_set_new(doc, "volume", json_null());
  json_object_set_new(doc, "host", ob_text(host));
  json_object_set_new(doc, "pid", json_integer(getpid()));
  json_object_set_new(doc, "version", json_string(GI_VERSION));
  json_object_set_new(doc, "started", json_integer(gd->started.sec));
  json_object_set_new(doc, "uptime_s", json_integer((json_int_t)((gi_now(gd->reactor) - gd->started_at) / GI_NSEC_PER_SEC)));
  json_object_set_new(doc, "volfile_id", json_null());
  json_object_set_new(doc, "brick", json_null());
  json_object_set_new(doc, "mountpoint", json_null());
  json_object_set_new(doc, "node_uuid", json_string(gi_gfid_text(&gd->uuid, uuid)));
  json_object_set_new(doc, "port", json_integer(gd->config.port));
  json_object_set_new(doc, "socket", ob_text(gd->config.sockfile));
  ob_answer(rq, doc);
}

/* ---- /statedump ---- */

static void
dump_volume(const struct gd_volume *v, struct gi_dump *d)
{
  gi_dump_section(d, "volume.%s", v->name);
  gi_dump_kv(d, "type", "%s", type_text[v->type]);
  gi_dump_kv(d, "status", "%s", status_text[v->status]);
  gi_dump_kv(d, "version", "%u", v->version);
  gi_dump_kv(d, "busy", "%d", v->busy);
  gi_dump_kv(d, "stored", "%d", v->stored);
  gi_dump_kv(d, "self-heal-daemon", "%d", (int)gd_shd_pid(v));
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    gi_dump_kv(d, "brick", "%s:%s online %d, pid %d, port %d", b->host, b->path, gd_brick_online(b), (int)b->pid, b->port);
  }
}

static void
show_statedump(struct gi_observe_request *rq, void *arg)
{
  struct gd *gd = arg;
  struct gi_dump d = {.out = gi_observe_out(rq)};
  gi_dump_section(&d, "global");
  gi_dump_kv(&d, "process-name", "%s", "glusterishd");
  gi_dump_kv(&d, "version", "%s", GI_VERSION);
  gi_dump_metrics(&d, gi_conn_metrics, &gi_conn_totals);
  gi_dump_memory(&d);
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    dump_volume(v, &d);
  gi_observe_done(rq, 200);
}

/* ---- /metrics ---- */

static void
show_metrics(struct gi_observe_request *rq, void *arg)
{
  struct gd *gd = arg;
  const char *accept = gi_observe_header(rq, "Accept");
  bool open = accept && strstr(accept, "application/openmetrics-text");
  struct gi_exposition e;
  gi_exposition_begin(&e, gi_observe_out(rq), open);
  gi_exposition_common(&e, "process", "glusterishd");
  gi_exposition_process(&e, gd->started, gi_now(gd->reactor) - gd->started_at);
  gi_exposition_table(&e, "rpc", gi_conn_metrics, &gi_conn_totals, NULL, 0);
  gi_exposition_end(&e);
  gi_observe_type(rq, open ? GI_OPENMETRICS_TYPE : GI_METRICS_TEXT_TYPE);
  gi_observe_done(rq, 200);
}

/* ---- beginning ---- */

int
gd_observe_start(struct gd *gd, struct gi_error *err)
{
  char name[32];
  struct gi_error why = {0};
  gd->started = gi_wall(gd->reactor);
  gd->started_at = gi_now(gd->reactor);
  struct gi_observe *o = gd->observe = gi_observe_new(gd->reactor);
  gi_observe_add(o, "/process", "application/json", show_process, gd);
  gi_observe_add(o, "/metrics", GI_METRICS_TEXT_TYPE, show_metrics, gd);
  gi_observe_add(o, "/statedump", "text/plain; charset=utf-8", show_statedump, gd);
  snprintf(name, sizeof(name), "%d", gd->config.port);
  if (gi_observe_listen(o, "glusterishd", name, &why) < 0)
    gi_log(GI_LOG_WARNING, GD_NAME, MSG, "there is no observation socket: %s", why.text);
  if (!gd->config.observe)
    return 0;
  if (gi_observe_listen_tcp(o, gd->config.observe, err) < 0) {
    gi_error_prefix(err, "--observe=%s", gd->config.observe);
    return -1;
  }
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "observed on TCP port %d", gi_observe_port(o));
  return 0;
}
