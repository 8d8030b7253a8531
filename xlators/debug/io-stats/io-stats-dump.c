/* SPDX-License-Identifier: Apache-2.0
 *
 * The statistics for readers: a file (text, JSON, samples), the dictionary of
 * `volume profile`, the statedump.
 */
#include "xlators/debug/io-stats/io-stats.h"

#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Profiles number some kinds differently from the wire (mgmt-protocol.md 5.1). */
static unsigned
profile_number(enum gi_fop_kind kind)
{
  static const uint8_t moved[GI_FOP_MAX] = {
      [GI_FOP_RELEASE] = 42, [GI_FOP_RELEASEDIR] = 43, [GI_FOP_FREMOVEXATTR] = 45, [GI_FOP_FALLOCATE] = 46,
      [GI_FOP_DISCARD] = 47, [GI_FOP_ZEROFILL] = 48,   [GI_FOP_IPC] = 49,          [GI_FOP_SEEK] = 50,
      [GI_FOP_LEASE] = 51,   [GI_FOP_COMPOUND] = 52,   [GI_FOP_GETACTIVELK] = 53,  [GI_FOP_SETACTIVELK] = 54,
      [GI_FOP_PUT] = 55,     [GI_FOP_ICREATE] = 56,    [GI_FOP_NAMELINK] = 57,     [GI_FOP_COPY_FILE_RANGE] = 58,
  };
  return moved[kind] ? moved[kind] : (unsigned)kind;
}

void
ios_set_clear(struct gi_xlator *x, struct ios_set *s)
{
  for (unsigned k = 0; k < GI_FOP_MAX; k++)
    gi_free(s->kind[k].latency);
  *s = (struct ios_set){.since_ns = gi_now(x->reactor)};
}

static uint64_t
seconds(struct gi_xlator *x, const struct ios_set *s)
{
  GI_ASSERT(s->since_ns <= gi_now(x->reactor));
  return (gi_now(x->reactor) - s->since_ns) / GI_NSEC_PER_SEC;
}

static double
average(const struct gi_hist *h)
{
  GI_ASSERT(!h || h->count > 0); /* it is made for its first sample */
  return h && h->count ? (double)h->sum / (double)h->count : 0;
}

/* ---- files ---- */

/* Up to three sizes side by side. */
static void
write_block_group(const struct ios_set *s, const unsigned *block, unsigned n, FILE *out)
{
  fputs("\nBlock Size   :", out);
  for (unsigned i = 0; i < n; i++)
    fprintf(out, "%16lluB+", 1ull << block[i]);
  fputs("\nRead Count   :", out);
  for (unsigned i = 0; i < n; i++)
    fprintf(out, "%18llu", (unsigned long long)s->read_block[block[i]]);
  fputs("\nWrite Count  :", out);
  for (unsigned i = 0; i < n; i++)
    fprintf(out, "%18llu", (unsigned long long)s->write_block[block[i]]);
  fputc('\n', out);
}

static void
write_blocks(const struct ios_set *s, FILE *out)
{
  unsigned block[3], n = 0;
  for (unsigned b = 0; b < IOS_BLOCKS; b++) {
    if (s->read_block[b] + s->write_block[b])
      block[n++] = b;
    if (n == GI_ARRAY_LEN(block) || (n && b == IOS_BLOCKS - 1)) {
      write_block_group(s, block, n, out);
      n = 0;
    }
  }
}

/* The form of GlusterFS, where "us" stands behind nanoseconds; here it is what it says. */
static void
write_text(struct gi_xlator *x, const char *title, const struct ios_set *s, FILE *out)
{
  fprintf(out, "\n=== %s stats ===\n      Duration : %llu secs\n     BytesRead : %llu\n  BytesWritten : %llu\n", title,
          (unsigned long long)seconds(x, s), (unsigned long long)s->read_bytes, (unsigned long long)s->write_bytes);
  write_blocks(s, out);
  fprintf(out, "\n%-13s %10s %14s %14s %14s\n%-13s %10s %14s %14s %14s\n", "Fop", "Call Count", "Avg-Latency", "Min-Latency",
          "Max-Latency", "---", "----------", "-----------", "-----------", "-----------");
  for (unsigned k = 0; k < GI_FOP_MAX; k++) {
    const struct ios_kind *ik = &s->kind[k];
    const struct gi_hist *h = ik->latency;
    if (ik->hits && h)
      fprintf(out, "%-13s %10llu %11.2f us %11.2f us %11.2f us\n", gi_fop_name(k), (unsigned long long)ik->hits,
              average(h) / 1e3, (double)h->min / 1e3, (double)h->max / 1e3);
    else if (ik->hits)
      fprintf(out, "%-13s %10llu %11s us %11s us %11s us\n", gi_fop_name(k), (unsigned long long)ik->hits, "0", "0", "0");
  }
  fputs("------ ----- ----- ----- ----- ----- ----- -----  ----- ----- ----- -----\n", out);
}

static void
write_texts(struct gi_xlator *x, FILE *out)
{
  const struct ios_private *p = ios_private(x);
  GI_CLEANUP_FREE char *title = gi_asprintf("Interval %u", p->interval);
  write_text(x, "Cumulative", &p->set[IOS_CUMULATIVE], out);
  fprintf(out, "\nCurrent open fd's: %llu Max open fd's: %llu\n", (unsigned long long)p->open,
          (unsigned long long)p->most_open);
  write_text(x, title, &p->set[IOS_INTERVAL], out);
}

static void
write_json(struct gi_xlator *x, const char *title, const struct ios_set *s, FILE *out)
{
  bool first = true;
  fprintf(out, "  \"%s\": {\n    \"duration_s\": %llu, \"read_bytes\": %llu, \"write_bytes\": %llu,\n    \"blocks\": {", title,
          (unsigned long long)seconds(x, s), (unsigned long long)s->read_bytes, (unsigned long long)s->write_bytes);
  for (unsigned b = 0; b < IOS_BLOCKS; b++) {
    if (!(s->read_block[b] + s->write_block[b]))
      continue;
    fprintf(out, "%s\"%llu\": [%llu, %llu]", first ? "" : ", ", 1ull << b, (unsigned long long)s->read_block[b],
            (unsigned long long)s->write_block[b]);
    first = false;
  }
  fprintf(out, "},\n    \"fops\": {");
  first = true;
  for (unsigned k = 0; k < GI_FOP_MAX; k++) {
    const struct ios_kind *ik = &s->kind[k];
    const struct gi_hist *h = ik->latency;
    if (!ik->hits)
      continue;
    fprintf(out,
            "%s\n      \"%s\": {\"hits\": %llu, \"errors\": %llu, \"avg_ns\": %.0f, \"min_ns\": %llu, \"p50_ns\": %llu, "
            "\"p99_ns\": %llu, \"max_ns\": %llu}",
            first ? "" : ",", gi_fop_name(k), (unsigned long long)ik->hits, (unsigned long long)ik->errors, average(h),
            (unsigned long long)(h ? h->min : 0), (unsigned long long)(h ? gi_hist_quantile(h, 0.5) : 0),
            (unsigned long long)(h ? gi_hist_quantile(h, 0.99) : 0), (unsigned long long)(h ? h->max : 0));
    first = false;
  }
  fprintf(out, "\n    }\n  }");
}

static void
write_samples(const struct ios_private *p, FILE *out)
{
  fprintf(out, "time,fop,latency_ns,errno,uid,gid\n");
  uint64_t first = p->samples > p->sample_size ? p->samples - p->sample_size : 0;
  GI_ASSERT(p->samples == 0 || p->sample_size > 0);
  for (uint64_t i = first; i < p->samples; i++) {
    const struct ios_sample *s = &p->sample[i % p->sample_size];
    fprintf(out, "%lld.%09u,%s,%llu,%d,%u,%u\n", (long long)s->when.sec, s->when.nsec, gi_fop_name(s->kind),
            (unsigned long long)s->latency_ns, s->err, s->uid, s->gid);
  }
}

void
ios_write(struct gi_xlator *x, FILE *out, const char *format)
{
  struct ios_private *p = ios_private(x);
  if (strcmp(format, "samples") == 0) {
    write_samples(p, out);
  } else if (strcmp(format, "text") == 0) {
    write_texts(x, out);
  } else {
    fprintf(out, "{\n");
    write_json(x, "cumulative", &p->set[IOS_CUMULATIVE], out);
    fprintf(out, ",\n");
    write_json(x, "interval", &p->set[IOS_INTERVAL], out);
    fprintf(out, "\n}\n");
  }
}

/* The name comes from a client: nothing in it may leave the directory. */
static void
run_path(const char *name, char *path, size_t len)
{
  const char *dir = getenv("GLUSTERISH_RUN_DIR");
  int n = snprintf(path, len, "%s/", dir ? dir : GI_RUN_DIR);
  for (const char *s = name; *s && (size_t)n + 1 < len; s++, n++) {
    bool plain = isalnum((unsigned char)*s) || *s == '_' || *s == '-' || (*s == '.' && s != name);
    path[n] = plain ? *s : '-';
  }
  path[(size_t)n < len ? (size_t)n : len - 1] = '\0';
}

void
ios_write_file(struct gi_xlator *x, const char *name, const char *format)
{
  char path[512];
  run_path(name, path, sizeof(path));
  char *slash = strrchr(path, '/');
  *slash = '\0';
  mkdir(path, 0755);
  *slash = '/';
  unlink(path); /* never write through a link somebody put there */
  FILE *out = fopen(path, "wxe");
  if (!out) {
    gi_log(GI_LOG_WARNING, x->name, GI_MSG_IO_STATS + 1, "cannot write the statistics to %s: %s", path, strerror(errno));
    return;
  }
  ios_write(x, out, format);
  fclose(out);
}

/* ---- volume profile ---- */

static void
put(struct gi_dict *d, int set, const char *what, uint64_t value)
{
  GI_CLEANUP_FREE char *key = gi_asprintf("%d-%s", set, what);
  gi_dict_set_uint(d, key, value);
}

static void
put_kind(struct gi_dict *d, int set, enum gi_fop_kind kind, const char *what, double value)
{
  GI_CLEANUP_FREE char *key = gi_asprintf("%d-%u-%s", set, profile_number(kind), what);
  GI_CLEANUP_FREE char *text = gi_asprintf("%f", value);
  gi_dict_set_str(d, key, text);
}

static void
profile_set(struct gi_xlator *x, const struct ios_set *s, int set, struct gi_dict *d)
{
  char what[32];
  put(d, set, "duration", seconds(x, s));
  put(d, set, "total-read", s->read_bytes);
  put(d, set, "total-write", s->write_bytes);
  for (unsigned b = 0; b < IOS_BLOCKS; b++) {
    snprintf(what, sizeof(what), "read-%llu", 1ull << b);
    if (s->read_block[b])
      put(d, set, what, s->read_block[b]);
    snprintf(what, sizeof(what), "write-%llu", 1ull << b);
    if (s->write_block[b])
      put(d, set, what, s->write_block[b]);
  }
  for (unsigned k = 0; k < GI_FOP_MAX; k++) {
    const struct ios_kind *ik = &s->kind[k];
    if (!ik->hits)
      continue;
    snprintf(what, sizeof(what), "%u-hits", profile_number(k));
    put(d, set, what, ik->hits);
    if (!ik->latency)
      continue;
    put_kind(d, set, k, "avglatency", average(ik->latency));
    put_kind(d, set, k, "minlatency", (double)ik->latency->min);
    put_kind(d, set, k, "maxlatency", (double)ik->latency->max);
    put_kind(d, set, k, "p50latency", (double)gi_hist_quantile(ik->latency, 0.5));
    put_kind(d, set, k, "p95latency", (double)gi_hist_quantile(ik->latency, 0.95));
    put_kind(d, set, k, "p99latency", (double)gi_hist_quantile(ik->latency, 0.99));
  }
}

bool
ios_profile(struct gi_xlator *x, int64_t what, bool peek, struct gi_dict *d)
{
  struct ios_private *p = ios_private(x);
  if (what == GI_PROFILE_CLEAR) {
    for (int i = 0; i < IOS_SETS; i++)
      ios_set_clear(x, &p->set[i]);
    p->interval = 0;
    gi_dict_set_uint(d, "stats-cleared", 1);
    return true;
  }
  if (what < GI_PROFILE_ALL || what > GI_PROFILE_CLEAR)
    return false;
  if (what == GI_PROFILE_ALL || what == GI_PROFILE_CUMULATIVE) {
    gi_dict_set_int(d, "cumulative", -1);
    profile_set(x, &p->set[IOS_CUMULATIVE], -1, d);
  }
  if (what == GI_PROFILE_ALL || what == GI_PROFILE_INCREMENTAL) {
    gi_dict_set_int(d, "interval", p->interval);
    profile_set(x, &p->set[IOS_INTERVAL], (int)p->interval, d);
    if (!peek) {
      p->interval++;
      ios_set_clear(x, &p->set[IOS_INTERVAL]);
    }
  }
  return true;
}

/* ---- statedump ---- */

void
ios_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct ios_set *s = &ios_private(x)->set[IOS_CUMULATIVE];
  gi_dump_section(d, "%s.latency", x->name);
  for (unsigned k = 0; k < GI_FOP_MAX; k++) {
    const struct ios_kind *ik = &s->kind[k];
    const struct gi_hist *h = ik->latency;
    char key[300];
    if (!ik->hits)
      continue;
    snprintf(key, sizeof(key), "%s.latency.%s", x->name, gi_fop_name(k));
    gi_dump_kv(d, key, "AVG:%f CNT:%llu TOTAL:%llu MIN:%llu MAX:%llu", average(h), (unsigned long long)ik->hits,
               (unsigned long long)(h ? h->sum : 0), (unsigned long long)(h ? h->min : 0),
               (unsigned long long)(h ? h->max : 0));
  }
}
