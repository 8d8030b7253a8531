/* SPDX-License-Identifier: Apache-2.0
 *
 * One line about what goes on in a volume.
 */
#include "programs/glusterish/rates.h"
#include "programs/common/samples.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double
rates_metric(const char *text, const char *name)
{
  size_t len = strlen(name);
  double sum = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    if (strncmp(line, name, len) != 0 || (line[len] != ' ' && line[len] != '{'))
      continue;
    const char *value = line + len, *end = strchr(line, '\n');
    /* Values of labels may hold anything, but a quotation mark is escaped. */
    for (bool quoted = false; *value && value != end && (quoted || *value != ' '); value++) {
      if (*value == '\\' && value[1])
        value++;
      else if (*value == '"')
        quoted = !quoted;
    }
    sum += strtod(value, NULL);
  }
  return sum;
}

/* Numbers that only grow, and how it stands. */
struct totals {
  double operations, errors, read, written, healed;
  double read_p99, write_p99, oldest;
  long long inflight;
};

/* The same one, as it was; NULL: it began since then. */
static const json_t *
earlier(const json_t *sight, const json_t *process)
{
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    if (cli_int(p, "pid") == cli_int(process, "pid") && strcmp(cli_str(p, "role"), cli_str(process, "role")) == 0)
      return p;
  }
  return NULL;
}

/* How long operations of a kind took so far, where the process gets them. */
static const json_t *
buckets_of(const json_t *process, const char *kind)
{
  size_t k;
  json_t *row;
  const json_t *top = json_array_get(doctor_list(process, "top", "layers"), 0);
  json_array_foreach(json_object_get(top, "kinds"), k, row)
  {
    if (strcmp(cli_str(row, "kind"), kind) == 0)
      return json_object_get(json_object_get(row, "all"), "buckets");
  }
  return NULL;
}

/* ns; 0: there were none since then */
static double
p99_between(const json_t *before, const json_t *now, const char *kind)
{
  size_t n;
  struct prog_sample *samples = prog_samples_between(buckets_of(before, kind), buckets_of(now, kind), &n);
  double p99 = (double)prog_samples_quantile(samples, n, 0.99);
  gi_free(samples);
  return p99;
}

/* Per kind the layer where most failed: an error may be mended above it. */
static double
errors_of(const json_t *process)
{
  size_t i, k;
  json_t *l, *row;
  double most = 0;
  json_array_foreach(doctor_list(process, "layers", "layers"), i, l)
  {
    double n = 0;
    json_array_foreach(json_object_get(l, "kinds"), k, row) n += (double)cli_int(row, "errors");
    most = n > most ? n : most;
  }
  return most;
}

static void
add_inflight(struct totals *t, const json_t *process)
{
  size_t i;
  json_t *op;
  json_array_foreach(doctor_list(process, "inflight", "operations"), i, op)
  {
    double age = json_number_value(json_object_get(op, "age_ns"));
    t->inflight++;
    t->oldest = age > t->oldest ? age : t->oldest;
  }
}

static void
add_times(struct totals *t, const json_t *before, const json_t *process)
{
  const json_t *was = earlier(before, process);
  double read = p99_between(was, process, "READ"), write = p99_between(was, process, "WRITE");
  t->read_p99 = read > t->read_p99 ? read : t->read_p99;
  t->write_p99 = write > t->write_p99 ? write : t->write_p99;
  t->errors += errors_of(process);
  add_inflight(t, process);
}

static void
add_mount(struct totals *t, const json_t *before, const json_t *process)
{
  const char *text = cli_str(process, "metrics");
  t->operations += rates_metric(text, "glusterish_mount_fuse_requests_total");
  t->read += rates_metric(text, "glusterish_mount_fuse_read_bytes_total");
  t->written += rates_metric(text, "glusterish_mount_fuse_write_bytes_total");
  add_times(t, before, process);
}

static void
add_brick(struct totals *t, const json_t *before, const json_t *process)
{
  size_t i;
  json_t *c, *n;
  const char *kind;
  json_array_foreach(doctor_list(process, "clients", "clients"), i, c)
  {
    json_object_foreach(json_object_get(c, "fops"), kind, n) t->operations += json_number_value(n);
    t->read += (double)cli_int(c, "bytes_out");
    t->written += (double)cli_int(c, "bytes_in");
  }
  add_times(t, before, process);
}

static void
add_heals(struct totals *t, const json_t *process)
{
  static const char *const names[] = {"files", "directories", "metadata", "names"};
  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++) {
    char name[96];
    snprintf(name, sizeof(name), "glusterish_cluster_replicate_heal_%s_total", names[i]);
    t->healed += rates_metric(cli_str(process, "metrics"), name);
  }
}

static bool
is_mount(const json_t *process)
{
  return doctor_is_role(process, "client") && *cli_str(json_object_get(process, "about"), "mountpoint");
}

/* Quantiles are of what was done since `before`. */
static struct totals
totals_of(const json_t *before, const json_t *sight)
{
  struct totals t = {0};
  size_t i;
  json_t *p;
  bool mounts = false;
  json_array_foreach(json_object_get(sight, "processes"), i, p) mounts = mounts || is_mount(p);
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    if (is_mount(p))
      add_mount(&t, before, p);
    else if (!mounts && doctor_is_role(p, "brick"))
      add_brick(&t, before, p);
    add_heals(&t, p);
  }
  return t;
}

/* A process that began anew counts from zero: it has no rate yet. */
static double
rate(double before, double after, double seconds)
{
  return after > before && seconds > 0 ? (after - before) / seconds : 0;
}

json_t *
rates_between(const json_t *before, const json_t *after)
{
  struct totals a = totals_of(before, before), b = totals_of(before, after);
  double now = json_number_value(json_object_get(after, "now"));
  double s = now - json_number_value(json_object_get(before, "now"));
  return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:f}", "time", now, "seconds", s, "operations",
                   rate(a.operations, b.operations, s), "errors", rate(a.errors, b.errors, s), "read_bytes",
                   rate(a.read, b.read, s), "write_bytes", rate(a.written, b.written, s), "healed", rate(a.healed, b.healed, s),
                   "read_p99_ns", b.read_p99, "write_p99_ns", b.write_p99, "inflight", (json_int_t)b.inflight, "oldest_ns",
                   b.oldest);
}

/* ---- for people ---- */

static double
number(const json_t *doc, const char *member)
{
  return json_number_value(json_object_get(doc, member));
}

void
rates_print_head(FILE *out)
{
  fprintf(out, "%8s %9s %8s %8s %8s %8s %8s %8s %8s %8s\n", "time", "ops/s", "errors/s", "read MB", "writ MB", "read p99",
          "writ p99", "inflight", "oldest", "healed/s");
}

void
rates_print(FILE *out, const json_t *rates)
{
  char when[32] = "", p[3][32];
  time_t t = (time_t)number(rates, "time");
  struct tm tm;
  if (localtime_r(&t, &tm))
    strftime(when, sizeof(when), "%H:%M:%S", &tm);
  fprintf(out, "%8s %9.0f %8.0f %8.1f %8.1f %8s %8s %8lld %8s %8.0f\n", when, number(rates, "operations"),
          number(rates, "errors"), number(rates, "read_bytes") / 1e6, number(rates, "write_bytes") / 1e6,
          doctor_span(number(rates, "read_p99_ns") / 1e9, p[0]), doctor_span(number(rates, "write_p99_ns") / 1e9, p[1]),
          cli_int(rates, "inflight"), doctor_span(number(rates, "oldest_ns") / 1e9, p[2]), number(rates, "healed"));
  fflush(out);
}
