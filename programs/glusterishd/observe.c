/* SPDX-License-Identifier: Apache-2.0
 *
 * The observation socket of the management daemon.
 */
#include "programs/common/gather.h"
#include "programs/common/observe-answer.h"
#include "programs/glusterishd/page/page.h"
#include "libglusterish/dump.h"
#include "rpc/conn.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MSG (GI_MSG_MGMT + 95)
#define WORKERS 4 /* that ask processes, this one too, and disks: some may hang */

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

struct volume_metrics {
  uint64_t started, bricks, daemon;
};

const struct gi_metric gd_volume_metrics[] = {
    GI_GAUGE(struct volume_metrics, started, "", "1: the volume is started"),
    GI_GAUGE(struct volume_metrics, bricks, "", "its bricks"),
    GI_GAUGE(struct volume_metrics, daemon, "", "1: its self-heal daemon runs on this node"),
    GI_METRIC_END,
};

struct brick_metrics {
  uint64_t online, port;
};

const struct gi_metric gd_brick_metrics[] = {
    GI_GAUGE(struct brick_metrics, online, "", "1: the brick serves"),
    GI_GAUGE(struct brick_metrics, port, "", "where; 0: nowhere yet"),
    GI_METRIC_END,
};

static void
volumes_metrics(struct gi_exposition *e, const struct gd *gd)
{
  for (const struct gi_metric *m = gd_volume_metrics; m->name; m++) {
    gi_exposition_family(e, "volume", m);
    gi_list_foreach(v, &gd->volumes, struct gd_volume, link) {
      const struct gi_label label = {"volume", v->name};
      struct volume_metrics now = {v->status == GD_STARTED, v->nbricks, gd_shd_pid(v) != 0};
      gi_exposition_sample(e, gi_metric_value(m, &now), &label, 1);
    }
  }
}

static void
bricks_metrics(struct gi_exposition *e, const struct gd *gd)
{
  for (const struct gi_metric *m = gd_brick_metrics; m->name; m++) {
    gi_exposition_family(e, "brick", m);
    gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
      for (unsigned i = 0; i < v->nbricks; i++) {
        const struct gd_brick *b = &v->bricks[i];
        GI_CLEANUP_FREE char *name = gi_asprintf("%s:%s", b->host, b->path);
        const struct gi_label labels[] = {{"volume", v->name}, {"brick", name}};
        struct brick_metrics now = {gd_brick_online(b), b->port > 0 ? (uint64_t)b->port : 0};
        if (gi_gfid_equal(&b->node, &gd->uuid))
          gi_exposition_sample(e, gi_metric_value(m, &now), labels, GI_ARRAY_LEN(labels));
      }
  }
}

static void
show_metrics(struct gi_observe_request *rq, void *arg)
{
  struct gd *gd = arg;
  struct gi_exposition e;
  GI_CHECK(gd, GD_MAGIC);
  ob_metrics_begin(rq, &e);
  gi_exposition_common(&e, "process", "glusterishd");
  gi_exposition_process(&e, gd->started, gi_now(gd->reactor) - gd->started_at);
  gi_exposition_table(&e, "rpc", gi_conn_metrics, &gi_conn_totals, NULL, 0);
  volumes_metrics(&e, gd);
  bricks_metrics(&e, gd);
  ob_metrics_done(rq, &e);
}

/* ---- /metrics/all: those of all processes of the node, gathered by a worker ---- */

struct gathering {
  struct gi_work work;
  struct gi_observe_request *rq;
  char *volume; /* NULL: all */
  bool open;
  char *page;
  size_t len;
};

static void
gather(struct gi_work *w)
{
  struct gathering *g = GI_CONTAINER(w, struct gathering, work);
  struct ob_process *list;
  unsigned n = ob_list(&list, g->volume);
  FILE *out = open_memstream(&g->page, &g->len);
  GI_ASSERT(out != NULL);
  ob_metrics(out, list, n, g->open);
  fclose(out);
  ob_list_free(list, n);
}

/* The daemon may be gone. */
static void
gathered(struct gi_work *w)
{
  struct gathering *g = GI_CONTAINER(w, struct gathering, work);
  fwrite(g->page, 1, g->len, gi_observe_out(g->rq));
  gi_observe_done(g->rq, 200);
  free(g->page);
  gi_free(g->volume);
  gi_free(g);
}

static void
show_all_metrics(struct gi_observe_request *rq, void *arg)
{
  struct gd *gd = arg;
  struct gathering *g = gi_new(struct gathering);
  GI_CHECK(gd, GD_MAGIC);
  g->rq = rq;
  g->volume = gi_strdup(gi_observe_query(rq, "volume"));
  g->open = ob_wants_openmetrics(rq);
  gi_observe_type(rq, g->open ? GI_OPENMETRICS_TYPE : GI_METRICS_TEXT_TYPE);
  g->work.run = gather;
  g->work.done = gathered;
  gi_work_submit(gd->reactor, &g->work);
}

/* ---- beginning ---- */

int
gd_observe_start(struct gd *gd, struct gi_error *err)
{
  char name[32];
  struct gi_error why = {0};
  struct gi_observe *o = gd->observe = gi_observe_new(gd->reactor);
  gi_reactor_set_workers(gd->reactor, WORKERS);
  gi_observe_add(o, "/process", "application/json", show_process, gd);
  gi_observe_add(o, "/metrics", GI_METRICS_TEXT_TYPE, show_metrics, gd);
  gi_observe_add(o, "/metrics/all", GI_METRICS_TEXT_TYPE, show_all_metrics, gd);
  gi_observe_add(o, "/errors", "application/json", ob_show_errors, NULL);
  gi_observe_add(o, "/statedump", "text/plain; charset=utf-8", show_statedump, gd);
  gd->gather = gd_gather_new(gd, gd->config.observe != NULL);
  gd_page_add(o, gd->gather);
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
