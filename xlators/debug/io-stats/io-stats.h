/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of debug/io-stats share: two equal sets of counters, one since
 * the start and one since the last look.
 */
#ifndef IO_STATS_H
#define IO_STATS_H

#include "libglusterish/graph.h"
#include "libglusterish/log.h"

#define GI_MSG_IO_STATS 110020 /* base of message ids */

#define IOS_BLOCKS 32 /* sizes of READ and WRITE by power of two */

enum { IOS_CUMULATIVE, IOS_INTERVAL, IOS_SETS };

struct ios_kind {
  uint64_t hits, errors;
  struct gi_hist *latency; /* ns; NULL until the first sample */
};

struct ios_set {
  uint64_t since_ns;
  uint64_t read_bytes, write_bytes;
  uint64_t read_block[IOS_BLOCKS], write_block[IOS_BLOCKS];
  struct ios_kind kind[GI_FOP_MAX];
};

struct ios_sample {
  enum gi_fop_kind kind;
  uint32_t uid, gid;
  int32_t err;
  uint64_t latency_ns;
  struct gi_time when;
};

struct ios_options {
  bool latency, count, dump_fd, global_threading;
  char *log_level, *log_format, *logger, *sys_log_level, *dump_format, *unique_id, *volume_id;
  int64_t log_buf, threads, sample_interval, sample_size, dump_interval, dns_ttl;
  uint64_t log_flush, memory_limit;
};

struct ios_metrics {
  uint64_t operations, errors, read_bytes, write_bytes;
};

#define IOS_MAGIC 0x1d010501u

struct ios_private {
  uint32_t magic;
  bool active;
  unsigned interval; /* number of the running interval */
  struct ios_set set[IOS_SETS];
  struct ios_sample *sample; /* ring */
  uint64_t samples;          /* ever put into it */
  uint32_t sample_size;
  uint64_t skipped; /* operations since the last sample */
  struct gi_timer dump_timer;
  struct ios_metrics metrics;
};

/* our bytes in an fd */
struct ios_fd {
  uint64_t reads, writes, read_bytes, write_bytes;
};

static inline struct ios_private *
ios_private(const struct gi_xlator *x)
{
  struct ios_private *p = x->private;
  GI_CHECK(p, IOS_MAGIC);
  return p;
}

static inline const struct ios_options *
ios_options(const struct gi_xlator *x)
{
  return x->options;
}

/* ---- io-stats-dump.c ---- */
void ios_set_clear(struct gi_xlator *x, struct ios_set *s);
/* Writes both sets as text or JSON (option ios-dump-format). */
void ios_write(struct gi_xlator *x, FILE *out);
/* The same into file `name` of the run directory; odd characters become dashes. */
void ios_write_file(struct gi_xlator *x, const char *name);
/* What `volume profile` wants to know (mgmt-protocol.md 5.1): `what` is all, incremental, cumulative or clear, with "-peek" behind
 * it the interval goes on. NULL for another word. */
struct gi_dict *ios_profile(struct gi_xlator *x, const char *what);
void ios_statedump(struct gi_xlator *x, struct gi_dump *d);

#endif
