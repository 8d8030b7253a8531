/* SPDX-License-Identifier: Apache-2.0
 *
 * Writer of exposition text: names, labels, families in order.
 */
#include "libglusterish/exposition.h"
#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/usage.h"
#include "libglusterish/utf8.h"

#include <inttypes.h>
#include <string.h>

const struct gi_metric gi_graph_metrics[] = {
    GI_GAUGE(struct gi_graph, fops_live, "", "operations under way"),
    GI_GAUGE(struct gi_graph, inodes_live, "", "inodes kept in memory"),
    GI_GAUGE(struct gi_graph, fds_live, "", "open files and directories"),
    GI_METRIC_END,
};

struct layer_metrics {
  uint64_t enabled;
};

const struct gi_metric gi_layer_metrics[] = {
    GI_GAUGE(struct layer_metrics, enabled, "", "1: the layer is on the path of operations; 0: it is switched off"),
    GI_METRIC_END,
};

/* ---- names ---- */

/* What the units of tables become. */
static const struct unit {
  const char *unit, *word;
  unsigned digits; /* of the fraction: the unit is that power of a tenth */
  bool rate;       /* not a unit by itself */
} units[] = {
    {"ns", "seconds", 9, false}, {"us", "seconds", 6, false},    {"ms", "seconds", 3, false},
    {"s", "seconds", 0, false},  {"1/s", "per_second", 0, true}, {"bytes/s", "per_second", 0, true},
    {"", "", 0, false},          {"bytes", "bytes", 0, false},
};

static const struct unit *
unit_of(const struct gi_metric *m)
{
  const struct unit *u = units;
  while (strcmp(u->unit, m->unit) != 0) {
    u++;
    GI_ASSERT(u < units + GI_ARRAY_LEN(units)); /* a table has a unit that is not known here */
  }
  return u;
}

/* Length of `name` without "_word" at its end. */
static size_t
without(const char *name, const char *word)
{
  size_t n = strlen(name), w = strlen(word);
  return w && n > w + 1 && strcmp(name + n - w, word) == 0 && name[n - w - 1] == '_' ? n - w - 1 : n;
}

const char *
gi_exposition_prefix(char *buf, size_t size, const char *type)
{
  GI_ASSERT(size > 0);
  snprintf(buf, size, "%s", type);
  for (char *c = buf; *c; c++)
    if (*c == '/' || *c == '-')
      *c = '_';
  return buf;
}

const char *
gi_exposition_name(char *buf, size_t size, const char *prefix, const struct gi_metric *m, bool sample)
{
  const struct unit *u = unit_of(m);
  size_t len = without(m->name, u->rate ? "per_s" : u->unit);
  bool bare = strcmp(m->name, u->word) == 0; /* the name is the unit */
  GI_ASSERT(m->help && m->kind <= GI_METRIC_HISTOGRAM);
  int n = snprintf(buf, size, "glusterish_%s_%.*s%s%s%s", prefix, (int)len, m->name, u->word[0] && !bare ? "_" : "",
                   bare ? "" : u->word, sample && m->kind == GI_METRIC_COUNTER ? "_total" : "");
  GI_ASSERT(n > 0 && (size_t)n < size);
  return buf;
}

/* ---- text ---- */

/* Bytes that stand as they are, from `text` on. */
static size_t
plain_run(const char *text)
{
  size_t n = 0;
  while ((unsigned char)text[n] >= ' ' && (unsigned char)text[n] < 0x7f && text[n] != '\\' && text[n] != '"')
    n++;
  return n;
}

/* Paths of bricks are any bytes: what is no UTF-8 would cost the whole page. */
static void
put_escaped(FILE *out, const char *text, bool quotes)
{
  for (size_t n; *text; text += n ? n : 1) {
    n = plain_run(text);
    if (!n)
      n = gi_utf8_len(text);
    if (*text == '\n')
      fputs("\\n", out);
    else if (*text == '\\' || (*text == '"' && quotes))
      fprintf(out, "\\%c", *text);
    else if (n)
      fwrite(text, 1, n, out);
    else
      fputs("\xef\xbf\xbd", out);
  }
}

static void
put_label(FILE *out, const char *name, const char *value, bool first)
{
  fprintf(out, "%s%s=\"", first ? "" : ",", name);
  put_escaped(out, value, true);
  putc('"', out);
}

/* ---- families and samples ---- */

void
gi_exposition_begin(struct gi_exposition *e, FILE *out, bool open)
{
  *e = (struct gi_exposition){.out = out, .open = open};
}

void
gi_exposition_common(struct gi_exposition *e, const char *name, const char *value)
{
  char *text = NULL;
  size_t len = 0, had = strlen(e->common);
  FILE *out = value ? open_memstream(&text, &len) : NULL;
  if (!out)
    return;
  put_label(out, name, value, !had);
  fclose(out);
  GI_ASSERT(text != NULL);
  if (had + len < sizeof(e->common))
    memcpy(e->common + had, text, len + 1);
  free(text);
}

static const char *const kinds[] = {
    [GI_METRIC_COUNTER] = "counter", [GI_METRIC_GAUGE] = "gauge", [GI_METRIC_HISTOGRAM] = "histogram"};

void
gi_exposition_family(struct gi_exposition *e, const char *prefix, const struct gi_metric *m)
{
  char family[sizeof(e->sample)];
  const struct unit *u = unit_of(m);
  e->metric = m;
  gi_exposition_name(e->sample, sizeof(e->sample), prefix, m, true);
  gi_exposition_name(family, sizeof(family), prefix, m, !e->open);
  fprintf(e->out, "# HELP %s ", family);
  put_escaped(e->out, m->help, e->open);
  fprintf(e->out, "\n# TYPE %s %s\n", family, kinds[m->kind]);
  if (e->open && u->word[0] && !u->rate)
    fprintf(e->out, "# UNIT %s %s\n", family, u->word);
}

static void
put_value(FILE *out, const struct gi_metric *m, uint64_t value)
{
  uint64_t whole = 1;
  unsigned digits = unit_of(m)->digits;
  for (unsigned i = 0; i < digits; i++)
    whole *= 10;
  fprintf(out, " %" PRIu64, value / whole);
  if (digits)
    fprintf(out, ".%0*" PRIu64, (int)digits, value % whole);
  putc('\n', out);
}

/* A sample but for its value. */
static void
put_name(struct gi_exposition *e, const char *suffix, const struct gi_label *labels, unsigned n, const char *le)
{
  bool first = !e->common[0];
  GI_ASSERT(e->metric != NULL);
  fprintf(e->out, "%s%s{%s", e->sample, suffix, e->common);
  for (unsigned i = 0; i < n; i++)
    if (labels[i].value) {
      put_label(e->out, labels[i].name, labels[i].value, first);
      first = false;
    }
  if (le)
    put_label(e->out, "le", le, first);
  putc('}', e->out);
}

void
gi_exposition_sample(struct gi_exposition *e, uint64_t value, const struct gi_label *labels, unsigned n)
{
  GI_ASSERT(e->metric && e->metric->kind != GI_METRIC_HISTOGRAM);
  put_name(e, "", labels, n, NULL);
  put_value(e->out, e->metric, value);
}

#define HIST_FIRST 13u /* 2^13 ns: 8 us */
#define HIST_COUNT 22u

void
gi_exposition_hist(struct gi_exposition *e, const struct gi_hist *h, const struct gi_label *labels, unsigned n)
{
  uint64_t below[HIST_COUNT];
  char le[32];
  GI_ASSERT(e->metric && e->metric->kind == GI_METRIC_HISTOGRAM);
  gi_hist_below(h, HIST_FIRST, below, HIST_COUNT);
  for (unsigned i = 0; i < HIST_COUNT; i++) {
    snprintf(le, sizeof(le), "%.12g", (double)(1ull << (HIST_FIRST + i)) / (double)GI_NSEC_PER_SEC);
    put_name(e, "_bucket", labels, n, le);
    fprintf(e->out, " %" PRIu64 "\n", below[i]);
  }
  put_name(e, "_bucket", labels, n, "+Inf");
  fprintf(e->out, " %" PRIu64 "\n", h->count);
  put_name(e, "_sum", labels, n, NULL);
  put_value(e->out, e->metric, h->sum);
  put_name(e, "_count", labels, n, NULL);
  fprintf(e->out, " %" PRIu64 "\n", h->count);
}

void
gi_exposition_table(struct gi_exposition *e, const char *prefix, const struct gi_metric *table, const void *base,
                    const struct gi_label *labels, unsigned n)
{
  for (const struct gi_metric *m = table; m->name; m++) {
    gi_exposition_family(e, prefix, m);
    gi_exposition_sample(e, gi_metric_value(m, base), labels, n);
  }
}

void
gi_exposition_end(struct gi_exposition *e)
{
  if (e->open)
    fputs("# EOF\n", e->out);
}

/* ---- what the core has ---- */

void
gi_exposition_process(struct gi_exposition *e, struct gi_time started, uint64_t age_ns)
{
  struct gi_usage u;
  struct gi_memory m;
  struct gi_log_counts l;
  gi_usage_look(&u, started, age_ns);
  gi_memory_look(&m);
  gi_log_count(&l);
  gi_exposition_table(e, "process", gi_usage_metrics, &u, NULL, 0);
  gi_exposition_table(e, "memory", gi_memory_metrics, &m, NULL, 0);
  gi_exposition_table(e, "log", gi_log_metrics, &l, NULL, 0);
}

/* The brick that a layer stands for, as HOST:PATH, into buf; NULL if it stands for none. */
static const char *
brick_of(const struct gi_xlator *x, char *buf, size_t size)
{
  const char *host = gi_xlator_option(x, "remote-host"), *path = gi_xlator_option(x, "remote-subvolume");
  if (!host || !path)
    return NULL;
  snprintf(buf, size, "%s:%s", host, path);
  return buf;
}

static void
layer_samples(struct gi_exposition *e, const struct gi_graph *g, const struct gi_metric *m, const struct gi_xlator_class *cls)
{
  char brick[1024];
  for (unsigned i = g->count; i-- > 0;) {
    const struct gi_xlator *x = g->xlators[i];
    const struct gi_label labels[] = {{"layer", x->name}, {"brick", brick_of(x, brick, sizeof(brick))}};
    if (x->cls == cls && x->metrics)
      gi_exposition_sample(e, gi_metric_value(m, x->metrics), labels, GI_ARRAY_LEN(labels));
  }
}

/* Is it the uppermost of its class? Then it is the turn of all of them. */
static bool
is_first(const struct gi_graph *g, unsigned at)
{
  for (unsigned i = g->count; --i > at;)
    if (g->xlators[i]->cls == g->xlators[at]->cls)
      return false;
  return true;
}

void
gi_exposition_graph(struct gi_exposition *e, const struct gi_graph *g)
{
  char prefix[96];
  GI_CHECK(g, GI_GRAPH_MAGIC);
  for (unsigned i = 0; i < g->count; i++)
    if (g->xlators[i]->cls->measure)
      g->xlators[i]->cls->measure(g->xlators[i]);
  gi_exposition_table(e, "graph", gi_graph_metrics, g, NULL, 0);
  gi_exposition_family(e, "layer", &gi_layer_metrics[0]);
  for (unsigned i = g->count; i-- > 0;) {
    const struct gi_label labels[] = {{"layer", g->xlators[i]->name}, {"type", g->xlators[i]->cls->type}};
    gi_exposition_sample(e, g->xlators[i]->enabled, labels, GI_ARRAY_LEN(labels));
  }
  gi_exposition_times(e, g);
  for (unsigned i = g->count; i-- > 0;) {
    const struct gi_xlator_class *cls = g->xlators[i]->cls;
    if (!cls->metrics || !is_first(g, i))
      continue;
    gi_exposition_prefix(prefix, sizeof(prefix), cls->type);
    for (const struct gi_metric *m = cls->metrics; m->name; m++) {
      gi_exposition_family(e, prefix, m);
      layer_samples(e, g, m, cls);
    }
  }
}

void
gi_exposition_budget(struct gi_exposition *e, const struct gi_budget *b)
{
  gi_exposition_table(e, "budget", gi_budget_metrics, b, NULL, 0);
  for (const struct gi_metric *m = gi_budget_user_metrics; m->name && b->users.next; m++) {
    gi_exposition_family(e, "cache", m);
    gi_list_foreach(u, &b->users, struct gi_budget_user, link) {
      const struct gi_label label = {"cache", u->name};
      gi_exposition_sample(e, gi_metric_value(m, u), &label, 1);
    }
  }
}
