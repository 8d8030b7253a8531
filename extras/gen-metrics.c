/* SPDX-License-Identifier: Apache-2.0
 *
 * From the tables of metrics: doc/metrics.md (doc), a dashboard for Grafana
 * (dashboard) and alert rules for Prometheus (alerts). The argument says which;
 * `make metrics-doc` writes all, and tests/tidy/metrics.t compares.
 */
#include "programs/common/gather.h"
#include "programs/glusterishd/glusterishd.h"
#include "libglusterish/budget.h"
#include "libglusterish/exposition.h"
#include "libglusterish/graph.h"
#include "libglusterish/usage.h"
#include "rpc/conn.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct source {
  const char *prefix, *title, *text; /* `title`: what the sections of documents are called */
  const char *legend;                /* labels that tell its samples apart, as Grafana writes them */
  const struct gi_metric *table;
};

static struct source sources[96];
static unsigned nsources;

static void
add(const char *prefix, const char *title, const char *text, const char *legend, const struct gi_metric *table)
{
  GI_ASSERT(nsources < GI_ARRAY_LEN(sources));
  sources[nsources++] = (struct source){prefix, title, text, legend, table};
}

static void
add_class(const char *type, void *arg)
{
  void *dl; /* stays loaded */
  char prefix[96];
  struct gi_error err = {0};
  const struct gi_xlator_class *cls = gi_class_load(type, &dl, &err);
  if (!cls) {
    fprintf(stderr, "gen-metrics: %s\n", err.text);
    exit(EXIT_FAILURE);
  }
  if (cls->metrics)
    add(gi_strdup(gi_exposition_prefix(prefix, sizeof(prefix), cls->type)), cls->type, cls->summary, "{{process}} {{layer}}",
        cls->metrics);
}

static void
add_all(void)
{
  add("node", "Node", "What the page that gathers a node says of its processes.", "{{role}} {{volume}} {{pid}}",
      ob_node_metrics);
  add("volume", "Volumes", "What the management daemon knows of volumes.", "{{volume}}", gd_volume_metrics);
  add("brick", "Bricks", "What it knows of the bricks of this node.", "{{volume}} {{brick}}", gd_brick_metrics);
  add("process", "Processes", "What each process uses of the machine.", "{{process}}", gi_usage_metrics);
  add("memory", "Memory", "What each process has allocated.", "{{process}}", gi_memory_metrics);
  add("log", "Log", "Messages of each process.", "{{process}}", gi_log_metrics);
  add("budget", "Budget", "The budget that the caches of a process share.", "{{process}}", gi_budget_metrics);
  add("cache", "Caches", "The part of each cache in the budget.", "{{process}} {{cache}}", gi_budget_user_metrics);
  add("rpc", "Connections", "All connections of a process together.", "{{process}}", gi_conn_metrics);
  add("graph", "Graph", "The graph of a process.", "{{process}}", gi_graph_metrics);
  add("layer", "Layers", "All layers.", "{{process}} {{layer}}", gi_layer_metrics);
  add("layer", "Times",
      "What each layer has done, by kind of operation. The histogram is that of the top layer, of those that stand for a brick "
      "and of the\n"
      "disk: how long applications, bricks and disks took.",
      "{{process}} {{layer}} {{kind}}", gi_times_metrics);
  if (gi_class_scan(add_class, NULL)) {
    fprintf(stderr, "gen-metrics: translators cannot be listed\n");
    exit(EXIT_FAILURE);
  }
}

/* ---- doc/metrics.md ---- */

static const char *const kinds[] = {
    [GI_METRIC_COUNTER] = "counter", [GI_METRIC_GAUGE] = "gauge", [GI_METRIC_HISTOGRAM] = "histogram"};

static void
write_doc(FILE *out)
{
  char name[160];
  fprintf(
      out,
      "# Metrics\n\n"
      "Generated from the tables of metrics by `make metrics-doc`; do not edit.\n\n"
      "Every process shows them at /metrics of its observation socket, and `glusterish metrics` those of all processes of\n"
      "a node; glusterishd has these at /metrics/all. The format is OpenMetrics 1.0.0 for who asks for it, else the older\n"
      "text format 0.0.4.\n\n"
      "A counter begins at 0 with its process and only grows. Labels of every sample: `process` (the role, and the brick or\n"
      "mount point) and, where there is one, `volume`. Samples of layers have `layer`, and `brick` (HOST:PATH) where the\n"
      "layer stands for a brick.\n\n");
  for (const struct source *s = sources; s < sources + nsources; s++) {
    fprintf(out, "## %s\n\n%s\n\n| metric | kind | meaning |\n|---|---|---|\n", s->title, s->text ? s->text : "");
    for (const struct gi_metric *m = s->table; m->name; m++)
      fprintf(out, "| `%s` | %s | %s |\n", gi_exposition_name(name, sizeof(name), s->prefix, m, true), kinds[m->kind], m->help);
    fputc('\n', out);
  }
}

/* ---- names in expressions ---- */

/* The sample name of "$PREFIX.NAME", where PREFIX may be a layer's type; ends the program if there is no such metric. */
static const char *
resolve(const char *word, size_t len, char *buf, size_t size)
{
  const char *dot = memchr(word, '.', len);
  for (const struct source *s = sources; dot && s < sources + nsources; s++) {
    size_t plen = (size_t)(dot - word), nlen = len - plen - 1;
    bool title = strlen(s->title) == plen && strncmp(s->title, word, plen) == 0;
    if (!title && (strlen(s->prefix) != plen || strncmp(s->prefix, word, plen) != 0))
      continue;
    for (const struct gi_metric *m = s->table; m->name; m++) {
      size_t mlen = strlen(m->name);
      bool bucket = m->kind == GI_METRIC_HISTOGRAM;
      if (nlen != mlen + (bucket ? strlen("_bucket") : 0) || strncmp(m->name, dot + 1, mlen) != 0)
        continue;
      gi_exposition_name(buf, size, s->prefix, m, true);
      size_t len_now = strlen(buf);
      snprintf(buf + len_now, size - len_now, "%s", bucket ? "_bucket" : "");
      return buf;
    }
  }
  fprintf(stderr, "gen-metrics: no table has %.*s\n", (int)len, word);
  exit(EXIT_FAILURE);
}

/* Every $PREFIX.NAME of `text` by its sample name. The caller frees it. */
static char *
expand(const char *text)
{
  char *result = NULL, name[160];
  size_t len;
  FILE *out = open_memstream(&result, &len);
  while (*text) {
    size_t n = *text == '$' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyzT0123456789_-/.") : 0;
    if (n && strncmp(text, "$__", 3) != 0 && strncmp(text, "$process\"", 9) != 0 && strncmp(text, "$volume\"", 8) != 0) {
      fputs(resolve(text + 1, n, name, sizeof(name)), out);
      text += n + 1;
    } else {
      fputc(*text++, out);
    }
  }
  fclose(out);
  return result;
}

/* ---- alerts ---- */

static const struct alert {
  const char *name, *expr, *wait, *severity, *summary, *text;
} alerts[] = {
    {"GlusterishNodeSilent", "up{job=\"glusterish\"} == 0", "2m", "critical", "{{ $labels.instance }} cannot be scraped",
     "glusterishd does not run there, or cannot be reached."},
    {"GlusterishProcessSilent", "$node.answers == 0", "1m", "critical",
     "A {{ $labels.role }} of volume {{ $labels.volume }} hangs (pid {{ $labels.pid }})",
     "The process lives and does not answer on its observation socket. `glusterish doctor` looks closer."},
    {"GlusterishBrickOffline", "$brick.online == 0 and on (instance, volume) $volume.started == 1", "1m", "critical",
     "Brick {{ $labels.brick }} of volume {{ $labels.volume }} is offline",
     "Changes are made on the other copies only. `glusterish volume start VOLUME force` starts it again; its log says why it "
     "ended."},
    {"GlusterishBrickUnreachable", "$protocol/client.connected == 0", "1m", "critical",
     "{{ $labels.process }} cannot reach brick {{ $labels.brick }}",
     "Its operations go to the other copies, or fail where there are too few of them."},
    {"GlusterishConnectionFlaps", "increase($protocol/client.disconnects[15m]) > 3", "0m", "warning",
     "{{ $labels.process }} loses brick {{ $labels.brick }} again and again",
     "The network between them drops connections, or the brick dies."},
    {"GlusterishHealPending", "$features/index.pending > 0", "15m", "warning",
     "{{ $value }} objects on {{ $labels.process }} wait to be healed",
     "Copies differ. `glusterish volume heal VOLUME info` lists them; it is normal while a brick that was away catches up."},
    {"GlusterishSplitBrain", "increase($cluster/replicate.heal_split_brain[15m]) > 0", "0m", "critical",
     "Copies of volume {{ $labels.volume }} contradict each other",
     "`glusterish volume heal VOLUME info split-brain` lists them; somebody has to decide which copy is right."},
    {"GlusterishHealFails", "increase($cluster/replicate.heal_failed[1h]) > 10", "0m", "warning",
     "Heals of volume {{ $labels.volume }} fail", "The log of {{ $labels.process }} says why."},
    {"GlusterishWritesLost", "increase($mount/fuse.lost_writes[5m]) > 0", "0m", "critical",
     "Writes that {{ $labels.process }} had answered failed on the bricks",
     "Applications are told at the next fsync or close."},
    {"GlusterishMemoryShort", "increase($budget.shortages[15m]) > 0", "0m", "warning",
     "Caches of {{ $labels.process }} cannot keep to their memory",
     "Too much is dirty or referred to; cache-size options limit it."},
    {"GlusterishDescriptorsShort", "$process.open_fds > 0.8 * $process.fds_limit", "5m", "warning",
     "{{ $labels.process }} has {{ $value }} file descriptors open", "Above its limit no file can be opened."},
    {"GlusterishRestarts", "changes($process.start_time[30m]) > 2", "0m", "warning",
     "{{ $labels.process }} is started again and again", "Its log says why it ended."},
    {"GlusterishDiskSlow", "rate($storage/posix.slow_calls[5m]) > 1", "10m", "warning",
     "The disk of {{ $labels.process }} is slow", "Calls that should take microseconds take more than 5 ms."},
    {"GlusterishLockWaits", "$features/locks.waiting > 0", "10m", "warning",
     "{{ $value }} locks on {{ $labels.process }} are waited for",
     "Somebody holds a lock for long. `glusterish volume statedump` shows who; `glusterish volume clear-locks` takes it away."},
    {"GlusterishStrangers", "increase($protocol/server.garbage_calls[15m]) > 0", "0m", "warning",
     "{{ $labels.process }} gets calls that make no sense", "Something that is no client speaks to its port."},
};

static void
write_alerts(FILE *out)
{
  fprintf(out, "# SPDX-License-Identifier: Apache-2.0\n"
               "# Generated from the tables of metrics by `make metrics-doc`; do not edit.\n"
               "groups:\n  - name: glusterish\n    rules:\n");
  for (const struct alert *a = alerts; a < alerts + GI_ARRAY_LEN(alerts); a++) {
    char *expr = expand(a->expr);
    fprintf(out,
            "      - alert: %s\n        expr: '%s'\n        for: %s\n        labels:\n          severity: %s\n"
            "        annotations:\n          summary: '%s'\n          description: '%s'\n",
            a->name, expr, a->wait, a->severity, a->summary, a->text);
    free(expr);
  }
}

/* ---- dashboard ---- */

static const struct look {
  const char *title, *unit, *expr, *legend;
} overview[] = {
    {"Operations", "ops",
     "sum by (process, volume) (rate($debug/io-stats.operations{process=~\"$process\",volume=~\"$volume\"}[$__rate_interval]))",
     "{{process}}"},
    {"Operations that fail", "ops",
     "sum by (process, volume) (rate($debug/io-stats.errors{process=~\"$process\",volume=~\"$volume\"}[$__rate_interval]))",
     "{{process}}"},
    {"Read", "Bps", "rate($mount/fuse.read_bytes{process=~\"$process\",volume=~\"$volume\"}[$__rate_interval])", "{{process}}"},
    {"Written", "Bps", "rate($mount/fuse.write_bytes{process=~\"$process\",volume=~\"$volume\"}[$__rate_interval])",
     "{{process}}"},
    {"99 of 100 operations of applications take less than", "s",
     "histogram_quantile(0.99, sum by (le, process, kind) "
     "(rate($Times.time_bucket{type=\"mount/fuse\",process=~\"$process\"}[$__rate_interval])))",
     "{{process}} {{kind}}"},
    {"99 of 100 operations of bricks take less than", "s",
     "histogram_quantile(0.99, sum by (le, process, layer) "
     "(rate($Times.time_bucket{type=\"protocol/client\",process=~\"$process\"}[$__rate_interval])))",
     "{{process}} {{layer}}"},
    {"Bricks online", "short", "sum by (volume) ($brick.online{volume=~\"$volume\"})", "{{volume}}"},
    {"Objects to heal", "short", "sum by (volume) ($features/index.pending{volume=~\"$volume\"})", "{{volume}}"},
    {"Processor time", "percentunit",
     "rate($process.cpu_user{process=~\"$process\"}[$__rate_interval]) + "
     "rate($process.cpu_system{process=~\"$process\"}[$__rate_interval])",
     "{{process}}"},
    {"Memory", "bytes", "$process.resident{process=~\"$process\"}", "{{process}}"},
};

static unsigned next_id = 1;

static json_t *
datasource(void)
{
  return json_pack("{s:s,s:s}", "type", "prometheus", "uid", "${datasource}");
}

static json_t *
panel(const char *title, const char *unit, json_t *targets, unsigned x, unsigned y, unsigned w)
{
  return json_pack("{s:i,s:s,s:s,s:o,s:{s:i,s:i,s:i,s:i},s:{s:{s:s,s:{s:s,s:i}},s:[]},s:{s:{s:s,s:s},s:{s:s,s:s}},s:o}", "id",
                   (int)next_id++, "type", "timeseries", "title", title, "datasource", datasource(), "gridPos", "x", (int)x,
                   "y", (int)y, "w", (int)w, "h", 8, "fieldConfig", "defaults", "unit", unit, "custom", "drawStyle", "line",
                   "fillOpacity", 0, "overrides", "options", "legend", "displayMode", "list", "placement", "bottom", "tooltip",
                   "mode", "multi", "sort", "desc", "targets", targets);
}

static json_t *
target(const char *expr, const char *legend, unsigned i)
{
  char id[8] = {(char)('A' + i % 26), i >= 26 ? (char)('0' + i / 26) : 0};
  return json_pack("{s:s,s:s,s:s,s:o}", "refId", id, "expr", expr, "legendFormat", legend, "datasource", datasource());
}

/* Which panel of its table a metric is drawn in. */
enum { PANEL_LATENCY, PANEL_COUNTS, PANEL_BYTES, PANEL_SECONDS, PANEL_NOW, PANEL_NOW_BYTES, PANELS };
static const struct {
  const char *title, *unit;
} panels[PANELS] = {
    [PANEL_LATENCY] = {"99 of 100 take less than", "s"},
    [PANEL_COUNTS] = {"a second", "ops"},
    [PANEL_BYTES] = {"bytes a second", "Bps"},
    [PANEL_SECONDS] = {"time", "percentunit"},
    [PANEL_NOW] = {"now", "short"},
    [PANEL_NOW_BYTES] = {"bytes now", "bytes"},
};

static unsigned
panel_of(const struct gi_metric *m)
{
  bool bytes = strcmp(m->unit, "bytes") == 0;
  if (m->kind == GI_METRIC_HISTOGRAM)
    return PANEL_LATENCY;
  if (m->kind == GI_METRIC_GAUGE)
    return bytes ? PANEL_NOW_BYTES : PANEL_NOW;
  return bytes ? PANEL_BYTES : m->unit[0] ? PANEL_SECONDS : PANEL_COUNTS;
}

static json_t *
targets_of(const struct source *s, unsigned which)
{
  char name[160], expr[512], legend[256];
  json_t *targets = json_array();
  unsigned n = 0;
  bool volumes = strstr(s->legend, "{{process}}") == NULL;
  for (const struct gi_metric *m = s->table; m->name; m++) {
    if (panel_of(m) != which)
      continue;
    gi_exposition_name(name, sizeof(name), s->prefix, m, true);
    const char *filter = volumes ? "{volume=~\"$volume\"}" : "{process=~\"$process\"}";
    if (m->kind == GI_METRIC_HISTOGRAM)
      snprintf(expr, sizeof(expr), "histogram_quantile(0.99, rate(%s_bucket%s[$__rate_interval]))", name, filter);
    else
      snprintf(expr, sizeof(expr), m->kind == GI_METRIC_GAUGE ? "%s%s" : "rate(%s%s[$__rate_interval])", name, filter);
    snprintf(legend, sizeof(legend), "%s %s", m->name, s->legend);
    json_array_append_new(targets, target(expr, legend, n++));
  }
  return targets;
}

/* A closed row for each table. */
static json_t *
row(const struct source *s, unsigned y)
{
  json_t *inside = json_array();
  unsigned n = 0;
  for (unsigned i = 0; i < PANELS; i++) {
    json_t *targets = targets_of(s, i);
    if (json_array_size(targets)) {
      json_array_append_new(inside, panel(panels[i].title, panels[i].unit, targets, n % 2 * 12, y + 1 + n / 2 * 8, 12));
      n++;
    } else {
      json_decref(targets);
    }
  }
  return json_pack("{s:i,s:s,s:s,s:b,s:{s:i,s:i,s:i,s:i},s:o}", "id", (int)next_id++, "type", "row", "title", s->title,
                   "collapsed", 1, "gridPos", "x", 0, "y", (int)y, "w", 24, "h", 1, "panels", inside);
}

static json_t *
variable(const char *name, const char *query)
{
  return json_pack("{s:s,s:s,s:s,s:o,s:s,s:b,s:b,s:i,s:i}", "name", name, "label", name, "type", "query", "datasource",
                   datasource(), "query", query, "includeAll", 1, "multi", 1, "refresh", 2, "sort", 1);
}

static void
write_dashboard(FILE *out)
{
  json_t *list = json_array();
  unsigned y = 0;
  for (unsigned i = 0; i < GI_ARRAY_LEN(overview); i++) {
    char *expr = expand(overview[i].expr);
    json_t *targets = json_array();
    json_array_append_new(targets, target(expr, overview[i].legend, 0));
    json_array_append_new(list, panel(overview[i].title, overview[i].unit, targets, i % 2 * 12, i / 2 * 8, 12));
    free(expr);
  }
  y = GI_ARRAY_LEN(overview) / 2 * 8;
  for (const struct source *s = sources; s < sources + nsources; s++)
    json_array_append_new(list, row(s, y++));
  char *process = expand("label_values($process.start_time, process)"),
       *volume = expand("label_values($graph.fops_live, volume)");
  json_t *doc =
      json_pack("{s:s,s:s,s:[s],s:i,s:b,s:i,s:{s:s,s:s},s:s,s:{s:[{s:s,s:s,s:s,s:s},o,o]},s:o}", "uid", "glusterish", "title",
                "glusterish", "tags", "glusterish", "schemaVersion", 38, "editable", 1, "version", 1, "time", "from", "now-1h",
                "to", "now", "refresh", "30s", "templating", "list", "name", "datasource", "label", "datasource", "type",
                "datasource", "query", "prometheus", variable("process", process), variable("volume", volume), "panels", list);
  GI_ASSERT(doc != NULL);
  json_dumpf(doc, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
  fputc('\n', out);
  json_decref(doc);
  free(process);
  free(volume);
}

int
main(int argc, char **argv)
{
  static const struct {
    const char *word;
    void (*write)(FILE *out);
  } forms[] = {{"doc", write_doc}, {"dashboard", write_dashboard}, {"alerts", write_alerts}};
  add_all();
  for (unsigned i = 0; argc == 2 && i < GI_ARRAY_LEN(forms); i++)
    if (strcmp(argv[1], forms[i].word) == 0) {
      forms[i].write(stdout);
      return 0;
    }
  fprintf(stderr, "usage: gen-metrics doc|dashboard|alerts\n");
  return EXIT_FAILURE;
}
