/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of debug/io-stats share: two equal sets of counters, one since
 * the start and one since the last look.
 */
#ifndef IO_STATS_H
#define IO_STATS_H

#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/manage-op.h"

#define GI_MSG_IO_STATS 110020 /* base of message ids */

#define IOS_BLOCKS 32  /* sizes of READ and WRITE by power of two */
#define IOS_FILES 1024 /* files of which it is known what is done to them */

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

/* What was done to one file. Counts are exact as long as it stays among those that are kept. */
struct ios_file {
  struct gi_gfid gfid;
  uint64_t count[GI_TOP_READDIR + 1]; /* successful operations by enum gi_top */
  uint64_t read_bytes, write_bytes;
  struct {
    double mbps; /* megabytes (10^6) a second; 0: none yet */
    struct gi_time when;
  } best[2];       /* the fastest READ and WRITE */
  uint64_t weight; /* operations of all kinds, with those of the file whose place it took */
  uint32_t next;   /* io-stats-top.c */
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
  struct ios_files *files;  /* NULL until something is done to one */
  uint64_t open, most_open; /* files open now, and the most there were at a time */
  struct gi_time most_open_at;
  struct ios_metrics metrics;
};

/* our bytes in an fd */
struct ios_fd {
  uint64_t reads, writes, read_bytes, write_bytes;
  uint32_t file; /* where to look first for its file (ios_file_get) */
  bool counted;  /* among those open */
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
/* Writes both sets as "text" or "json", or the "samples" (option ios-dump-format). */
void ios_write(struct gi_xlator *x, FILE *out, const char *format);
/* The same into file `name` of the run directory; odd characters become dashes. */
void ios_write_file(struct gi_xlator *x, const char *name, const char *format);
/* The answer to GI_INFO_PROFILE: `what` is its info-op; `peek`: the interval goes on. False for an unknown one. */
bool ios_profile(struct gi_xlator *x, int64_t what, bool peek, struct gi_dict *d);
void ios_statedump(struct gi_xlator *x, struct gi_dump *d);

/* ---- io-stats-manage.c ---- */
/* GI_MANAGE_INFO (mgmt-protocol.md 5.1). */
void ios_manage(struct gi_xlator *x, struct gi_manage *m);

/* ---- io-stats-top.c ---- */
/* The record of a file, made if it has none. *hint: what the last call for the same file left there, or 0. Valid until the next call. */
struct ios_file *ios_file_get(struct ios_private *p, const struct gi_gfid *gfid, uint32_t *hint);
/* Copies the first of the list `what` (0: all operations together), at most `max`, to `out`, the busiest first; returns how many. */
unsigned ios_files_top(const struct ios_private *p, enum gi_top what, unsigned max, struct ios_file *out);
void ios_files_clear(struct ios_private *p);

/* ---- io-stats-speed.c ---- */
#define IOS_SPEED_MAX (10ull << 30) /* bytes of one measurement */
struct ios_speed {
  double seconds, mbps; /* megabytes (10^6) a second */
};
/* Writes so many blocks of `size` bytes to a file of its own in `dir`, or reads them, and calls `done` later with what it took, or
 * with an errno. False, and nothing is done, for sizes out of range. `dir` stays the caller's and valid. */
bool ios_speed_measure(struct gi_xlator *x, const char *dir, bool write, uint64_t size, uint64_t blocks,
                       void (*done)(const struct ios_speed *s, int err, void *arg), void *arg);

#endif
