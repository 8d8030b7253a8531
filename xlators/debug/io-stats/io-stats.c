/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/io-stats: counts, bytes and latency of every kind of operation.
 *
 * It is the top of a client's and of a brick's graph, and must be found there
 * by name. So it cannot be taken off the path as a whole: while neither hits
 * nor latency are wanted it swaps its class for one that handles only the
 * extended attributes it answers, and is on no other path. A brick's stays on
 * those that the lists of busy files are about.
 *
 * Latency counts from the submission of the operation to its way back up past
 * here. The histogram makes percentiles; minimum and maximum are exact.
 */
#include "xlators/debug/io-stats/io-stats.h"

#include <errno.h>
#include <math.h>

#define IOS_SHARE_MIN (64ull << 20)
#define IOS_DUMP_KEY "trusted.io-stats-dump"

extern const struct gi_xlator_class gi_xlator_export;
static const struct gi_xlator_class ios_quiet, ios_lists;

static unsigned
block_of(uint64_t bytes)
{
  GI_ASSERT(bytes > 0);
  unsigned k = 63 - (unsigned)__builtin_clzll(bytes);
  return k < IOS_BLOCKS ? k : IOS_BLOCKS - 1;
}

/* What is counted of single files: the list that an operation of this kind belongs to; 0: none. */
static enum gi_top
list_of(enum gi_fop_kind kind)
{
  switch (kind) {
  case GI_FOP_OPEN:
  case GI_FOP_CREATE:
    return GI_TOP_OPEN;
  case GI_FOP_READ:
    return GI_TOP_READ;
  case GI_FOP_WRITE:
    return GI_TOP_WRITE;
  case GI_FOP_OPENDIR:
    return GI_TOP_OPENDIR;
  case GI_FOP_READDIR:
  case GI_FOP_READDIRP:
    return GI_TOP_READDIR;
  default:
    return 0;
  }
}

static void
count_open(struct gi_xlator *x, struct ios_fd *ifd)
{
  struct ios_private *p = ios_private(x);
  GI_ASSERT(p->most_open >= p->open || !ifd->counted);
  if (ifd->counted)
    return;
  ifd->counted = true;
  if (++p->open > p->most_open) {
    p->most_open = p->open;
    p->most_open_at = gi_wall(x->reactor);
  }
}

static void
count_file(struct gi_xlator *x, const struct gi_fop *fop, bool timed, uint64_t latency)
{
  enum gi_top list = list_of(fop->kind);
  if (!list || fop->rsp.ret < 0 || !fop->fd || !fop->fd->inode)
    return;
  uint32_t unknown = 0;
  struct ios_fd *ifd = gi_fd_private(fop->fd, x);
  struct ios_file *f = ios_file_get(ios_private(x), &fop->fd->inode->gfid, fop->fd->anonymous ? &unknown : &ifd->file);
  f->weight++;
  f->count[list]++;
  if (list == GI_TOP_OPEN)
    count_open(x, ifd);
  if ((list != GI_TOP_READ && list != GI_TOP_WRITE) || fop->rsp.ret == 0)
    return;
  bool write = list == GI_TOP_WRITE;
  *(write ? &f->write_bytes : &f->read_bytes) += (uint64_t)fop->rsp.ret;
  double ns = (double)(latency ? latency : 1), bytes = (double)fop->rsp.ret * 1000.0;
  if (timed && bytes > f->best[write].mbps * ns) { /* a division only for what is kept */
    f->best[write].mbps = bytes / ns;
    f->best[write].when = gi_wall(x->reactor);
  }
}

static void
count_bytes(struct ios_private *p, struct ios_fd *ifd, enum gi_fop_kind kind, uint64_t bytes)
{
  bool read = kind == GI_FOP_READ;
  GI_ASSERT(read || kind == GI_FOP_WRITE);
  for (int i = 0; i < IOS_SETS; i++) {
    struct ios_set *s = &p->set[i];
    *(read ? &s->read_bytes : &s->write_bytes) += bytes;
    (read ? s->read_block : s->write_block)[block_of(bytes)]++;
  }
  *(read ? &p->metrics.read_bytes : &p->metrics.write_bytes) += bytes;
  if (!ifd)
    return;
  *(read ? &ifd->reads : &ifd->writes) += 1;
  *(read ? &ifd->read_bytes : &ifd->write_bytes) += bytes;
}

static void
sample(struct gi_xlator *x, const struct gi_fop *fop, uint64_t latency)
{
  struct ios_private *p = ios_private(x);
  GI_ASSERT((p->sample != NULL) == (p->sample_size > 0));
  if (!p->sample || ++p->skipped < (uint64_t)ios_options(x)->sample_interval)
    return;
  p->skipped = 0;
  p->sample[p->samples++ % p->sample_size] = (struct ios_sample){
      .kind = fop->kind,
      .uid = fop->caller.uid,
      .gid = fop->caller.gid,
      .err = fop->rsp.ret < 0 ? fop->rsp.err : 0,
      .latency_ns = latency,
      .when = gi_wall(x->reactor),
  };
}

static void
count_kind(struct ios_set *s, enum gi_fop_kind kind, bool failed, bool timed, uint64_t latency)
{
  GI_ASSERT(kind < GI_FOP_MAX && (!failed || s->kind[kind].errors <= s->kind[kind].hits));
  struct ios_kind *k = &s->kind[kind];
  k->hits++;
  k->errors += failed;
  if (!timed)
    return;
  if (!k->latency)
    k->latency = gi_new(struct gi_hist);
  gi_hist_add(k->latency, latency);
}

static enum gi_verdict
ios_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  return GI_PASS_TELL;
}

static enum gi_verdict
ios_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ios_private *p = ios_private(x);
  bool timed = ios_options(x)->latency, failed = fop->rsp.ret < 0;
  uint64_t latency = timed ? gi_now(x->reactor) - fop->start_ns : 0;
  GI_ASSERT(!timed || fop->start_ns <= gi_now(x->reactor));
  p->metrics.operations++;
  p->metrics.errors += failed;
  for (int i = 0; i < IOS_SETS; i++)
    count_kind(&p->set[i], fop->kind, failed, timed, latency);
  if ((fop->kind == GI_FOP_READ || fop->kind == GI_FOP_WRITE) && fop->rsp.ret > 0)
    count_bytes(p, fop->fd ? gi_fd_private(fop->fd, x) : NULL, fop->kind, (uint64_t)fop->rsp.ret);
  count_file(x, fop, timed, latency);
  sample(x, fop, latency);
  return GI_PASS;
}

/* Of a brick that counts no kinds: its busiest files are known all the same. */
static enum gi_verdict
ios_complete_lists(struct gi_xlator *x, struct gi_fop *fop)
{
  bool timed = fop->kind == GI_FOP_READ || fop->kind == GI_FOP_WRITE;
  count_file(x, fop, timed, timed ? gi_ticks_ns(x->reactor, gi_ticks(x->reactor) - fop->start_ticks) : 0);
  return GI_PASS;
}

/* ---- what it answers itself ---- */

static enum gi_verdict
pass(const struct gi_xlator *x)
{
  return ios_private(x)->active ? GI_PASS_TELL : GI_PASS;
}

/* The statistics are written at every layer on the way, as text as in GlusterFS; storage drops the attribute. */
static enum gi_verdict
ios_setxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  const void *value;
  uint32_t len;
  if (gi_dict_get_bin(fop->args.dict, IOS_DUMP_KEY, &value, &len) && len && len < 200) {
    GI_CLEANUP_FREE char *name = gi_asprintf("%.*s.%s", (int)strnlen(value, len), (const char *)value, x->name);
    ios_write_file(x, name, strcmp(ios_options(x)->dump_format, "samples") == 0 ? "samples" : "text");
  }
  return pass(x);
}

static void
ios_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct ios_private *p = ios_private(x);
  const struct ios_fd *f = bytes;
  GI_ASSERT(p->open >= f->counted);
  p->open -= f->counted;
  if (!p->active || fd->anonymous)
    return;
  for (int i = 0; i < IOS_SETS; i++)
    p->set[i].kind[fd->directory ? GI_FOP_RELEASEDIR : GI_FOP_RELEASE].hits++;
  if (ios_options(x)->dump_fd && f->reads + f->writes) {
    char gfid[GI_UUID_TEXT] = "";
    gi_log(GI_LOG_INFO, x->name, GI_MSG_IO_STATS, "%s: %llu reads of %llu bytes, %llu writes of %llu bytes",
           fd->inode ? gi_gfid_text(&fd->inode->gfid, gfid) : gfid, (unsigned long long)f->reads,
           (unsigned long long)f->read_bytes, (unsigned long long)f->writes, (unsigned long long)f->write_bytes);
  }
}

/* ---- life ---- */

static void
dump_due(void *arg)
{
  struct gi_xlator *x = arg;
  GI_CLEANUP_FREE char *name = gi_asprintf("io-stats-%s", x->name);
  ios_write_file(x, name, ios_options(x)->dump_format);
  gi_timer_set(&ios_private(x)->dump_timer, (uint64_t)ios_options(x)->dump_interval * GI_NSEC_PER_SEC);
}

static void
resize_samples(struct gi_xlator *x)
{
  const struct ios_options *o = ios_options(x);
  struct ios_private *p = ios_private(x);
  uint32_t size = o->sample_interval > 0 ? (uint32_t)o->sample_size : 0;
  if (size == p->sample_size)
    return;
  gi_free(p->sample);
  p->sample = size ? gi_zalloc(size * sizeof(*p->sample)) : NULL;
  p->sample_size = size;
  GI_ASSERT((p->sample != NULL) == (p->sample_size > 0));
  p->samples = p->skipped = 0;
}

/* What the caches of a process may hold when nobody says: 0, no limit, where the memory is not known. */
static uint64_t
memory_share(uint64_t memory)
{
  uint64_t share = memory / 8;
  return memory && share < IOS_SHARE_MIN ? IOS_SHARE_MIN : share;
}

/* The process-wide options this translator carries: of the log only what the volfile says, so that the command line counts else. */
static void
apply_process(const struct gi_xlator *x)
{
  const struct ios_options *o = ios_options(x);
  enum gi_log_level level;
  if (gi_xlator_option(x, "log-level") && o->log_level && gi_log_level_parse(o->log_level, &level))
    gi_log_set_level(level);
  gi_budget_set_limit(&x->ctx->budget, o->memory_limit ? o->memory_limit : memory_share(x->ctx->memory));
}

static void
apply(struct gi_xlator *x)
{
  const struct ios_options *o = ios_options(x);
  struct ios_private *p = ios_private(x);
  p->active = o->latency || o->count || o->sample_interval > 0 || o->dump_fd;
  resize_samples(x);
  apply_process(x);
  gi_timer_cancel(&p->dump_timer);
  if (o->dump_interval > 0)
    gi_timer_set(&p->dump_timer, (uint64_t)o->dump_interval * GI_NSEC_PER_SEC);
  x->cls = p->active ? &gi_xlator_export : x->ctx->side == GI_SIDE_BRICK ? &ios_lists : &ios_quiet;
}

static int
ios_init(struct gi_xlator *x, struct gi_error *err)
{
  struct ios_private *p = gi_new(struct ios_private);
  p->magic = IOS_MAGIC;
  x->private = p;
  x->metrics = &p->metrics;
  gi_timer_init(&p->dump_timer, x->reactor, dump_due, x);
  for (int i = 0; i < IOS_SETS; i++)
    p->set[i].since_ns = gi_now(x->reactor);
  apply(x);
  return 0;
}

static void
ios_finish(struct gi_xlator *x)
{
  struct ios_private *p = ios_private(x);
  for (int i = 0; i < IOS_SETS; i++)
    ios_set_clear(x, &p->set[i]);
  gi_timer_finish(&p->dump_timer);
  ios_files_clear(p);
  gi_free(p->sample);
  p->magic = 0;
  gi_free(p);
}

static void
ios_commit(struct gi_xlator *x)
{
  apply(x);
  gi_graph_compile(x->graph);
}

#define IOS_OPT(member) .offset = offsetof(struct ios_options, member), .live = true, .since = "0.1"
#define IOS_BOTH .side = GI_SIDE_CLIENT | GI_SIDE_BRICK

static const char *const level_words[] = {"DEBUG", "WARNING", "ERROR", "INFO", "CRITICAL", "NONE", "TRACE", NULL};
static const char *const sys_level_words[] = {"WARNING", "INFO", "ERROR", "CRITICAL", NULL};
static const char *const format_words[] = {"no-msg-id", "with-msg-id", NULL};
static const char *const logger_words[] = {"gluster-log", "syslog", NULL};
static const char *const dump_words[] = {"text", "json", "dict", "samples", NULL};

/* An option that has one key for clients and one for bricks is two records over one member. */
#define IOS_TWICE(what, KEY, ...) \
  {.name = what, .key = "diagnostics.client-" KEY, .side = GI_SIDE_CLIENT, __VA_ARGS__}, \
  { \
    .name = what, .key = "diagnostics.brick-" KEY, .side = GI_SIDE_BRICK, __VA_ARGS__ \
  }

static const struct gi_option ios_table[] = {
    {.name = "latency-measurement",
     .key = "diagnostics.latency-measurement",
     .type = GI_OPT_BOOL,
     IOS_OPT(latency),
     IOS_BOTH,
     .def = "off",
     .level = 1,
     .op_version = 1,
     .text = "Measure how long operations take; volume profile start sets it."},
    {.name = "count-fop-hits",
     .key = "diagnostics.count-fop-hits",
     .type = GI_OPT_BOOL,
     IOS_OPT(count),
     IOS_BOTH,
     .def = "off",
     .level = 1,
     .op_version = 1,
     .text = "Count operations by kind; volume profile start sets it."},
    {.name = "dump-fd-stats",
     .key = "diagnostics.dump-fd-stats",
     .type = GI_OPT_BOOL,
     IOS_OPT(dump_fd),
     IOS_BOTH,
     .def = "off",
     .level = 3,
     .op_version = 1,
     .text = "Log reads and writes of every file when it is closed."},
    IOS_TWICE("log-level", "log-level", .type = GI_OPT_STR, IOS_OPT(log_level), .def = "INFO", .words = level_words, .level = 1,
              .op_version = 1, .text = "Messages less important than this are not logged."),
    IOS_TWICE("sys-log-level", "sys-log-level", .type = GI_OPT_STR, IOS_OPT(sys_log_level), .def = "CRITICAL",
              .words = sys_level_words, .level = 3, .op_version = 1, .unread = true,
              .text = "Accepted for old volfiles: messages go to the log file only."),
    IOS_TWICE("logger", "logger", .type = GI_OPT_STR, IOS_OPT(logger), .words = logger_words, .level = 3, .op_version = 30600,
              .unread = true, .text = "Accepted for old volfiles: messages go to the log file only."),
    IOS_TWICE("log-format", "log-format", .type = GI_OPT_STR, IOS_OPT(log_format), .words = format_words, .level = 3,
              .op_version = 30600, .unread = true, .text = "Accepted for old volfiles: lines always carry their message id."),
    IOS_TWICE("log-buf-size", "log-buf-size", .type = GI_OPT_INT, IOS_OPT(log_buf), .def = "5", .min = 0, .max = 20, .level = 3,
              .op_version = 30600, .unread = true,
              .text = "Accepted for old volfiles: repeated messages are limited per message id instead."),
    IOS_TWICE("log-flush-timeout", "log-flush-timeout", .type = GI_OPT_TIME, IOS_OPT(log_flush), .def = "120", .min = 30,
              .max = 300, .level = 3, .op_version = 30600, .unread = true,
              .text = "Accepted for old volfiles: repeated messages are limited per message id instead."),
    {.name = "memory-limit",
     .key = "client.memory-limit",
     .type = GI_OPT_SIZE,
     IOS_OPT(memory_limit),
     .side = GI_SIDE_CLIENT,
     .def = "0",
     .min = 0,
     .max = INFINITY,
     .level = 2,
     .text = "What all caches of a client together may hold; 0 is an eighth of the memory it can have, at least 64 MB. Files "
             "in use "
             "and data not yet written are no cache and do not count."},
    {.name = "threads",
     .key = "config.client-threads",
     .type = GI_OPT_INT,
     IOS_OPT(threads),
     .side = GI_SIDE_CLIENT,
     .def = "16",
     .min = 1,
     .max = 128,
     .level = 3,
     .op_version = 60000,
     .unread = true,
     .text = "Accepted for old volfiles: performance.io-thread-count is the size of the worker pool."},
    {.name = "threads",
     .key = "config.brick-threads",
     .type = GI_OPT_INT,
     IOS_OPT(threads),
     .side = GI_SIDE_BRICK,
     .def = "16",
     .min = 1,
     .max = 128,
     .level = 3,
     .op_version = 60000,
     .unread = true,
     .text = "Accepted for old volfiles: performance.io-thread-count is the size of the worker pool."},
    {.name = "global-threading",
     .key = "config.global-threading",
     .type = GI_OPT_BOOL,
     IOS_OPT(global_threading),
     IOS_BOTH,
     .def = "off",
     .level = 3,
     .op_version = 60000,
     .unread = true,
     .text = "Accepted for old volfiles: a process has one worker pool in any case."},
    {.name = "ios-dump-interval",
     .key = "diagnostics.stats-dump-interval",
     .type = GI_OPT_INT,
     IOS_OPT(dump_interval),
     IOS_BOTH,
     .def = "0",
     .min = 0,
     .max = 3600,
     .level = 2,
     .op_version = 1,
     .text = "Write the statistics to a file in the run directory every so many seconds; 0 never does."},
    {.name = "ios-dump-format",
     .key = "diagnostics.stats-dump-format",
     .type = GI_OPT_STR,
     IOS_OPT(dump_format),
     IOS_BOTH,
     .def = "json",
     .words = dump_words,
     .level = 3,
     .op_version = 31200,
     .text = "Form of that file: json, text, or samples (one line per sampled operation); dict is written as json."},
    {.name = "ios-sample-interval",
     .key = "diagnostics.fop-sample-interval",
     .type = GI_OPT_INT,
     IOS_OPT(sample_interval),
     IOS_BOTH,
     .def = "0",
     .min = 0,
     .max = 65535,
     .level = 3,
     .op_version = 1,
     .text = "Keep one operation in so many as a sample; 0 keeps none."},
    {.name = "ios-sample-buf-size",
     .key = "diagnostics.fop-sample-buf-size",
     .type = GI_OPT_INT,
     IOS_OPT(sample_size),
     IOS_BOTH,
     .def = "65535",
     .min = 1024,
     .max = 1048576,
     .level = 3,
     .op_version = 1,
     .text = "How many samples are kept."},
    {.name = "ios-dnscache-ttl-sec",
     .key = "diagnostics.stats-dnscache-ttl-sec",
     .type = GI_OPT_INT,
     IOS_OPT(dns_ttl),
     IOS_BOTH,
     .def = "86400",
     .min = 1,
     .max = 259200,
     .level = 3,
     .op_version = 1,
     .unread = true,
     .text = "Accepted for old volfiles: samples carry no host names."},
    {.name = "unique-id",
     .type = GI_OPT_STR,
     IOS_OPT(unique_id),
     .text = "The brick this graph serves; written by the manager."},
    {.name = "volume-id", .type = GI_OPT_STR, IOS_OPT(volume_id), .text = "The id of the volume; written by the manager."},
    GI_OPTION_END,
};

static const struct gi_metric ios_metrics_table[] = {
    GI_METRIC(struct ios_metrics, operations, "", "operations counted"),
    GI_METRIC(struct ios_metrics, errors, "", "of them failed"),
    GI_METRIC(struct ios_metrics, read_bytes, "bytes", "bytes read"),
    GI_METRIC(struct ios_metrics, write_bytes, "bytes", "bytes written"),
    GI_METRIC_END,
};

#define IOS_CLASS \
  .abi = GI_XLATOR_ABI, .type = "debug/io-stats", .version = GI_VERSION, .summary = "Statistics of operations", \
  .messages = GI_MSG_IO_STATS, .min_children = 1, .max_children = 1024, .options = ios_table, \
  .options_bytes = sizeof(struct ios_options), .metrics = ios_metrics_table, .fd_bytes = sizeof(struct ios_fd), \
  .init = ios_init, .finish = ios_finish, .reconfigure_commit = ios_commit, .statedump = ios_statedump, \
  .fd_release = ios_fd_release, .manage = ios_manage, .on[GI_FOP_SETXATTR] = ios_setxattr, \
  .on[GI_FOP_FSETXATTR] = ios_setxattr

/* It still has to see the replies to what came before. */
static const struct gi_xlator_class ios_quiet = {IOS_CLASS, .complete = ios_complete};

static const struct gi_xlator_class ios_lists = {
    IOS_CLASS,
    .submit = ios_submit,
    .submit_kinds = GI_KIND(GI_FOP_OPEN) | GI_KIND(GI_FOP_CREATE) | GI_KIND(GI_FOP_READ) | GI_KIND(GI_FOP_WRITE) |
                    GI_KIND(GI_FOP_OPENDIR) | GI_KIND(GI_FOP_READDIR) | GI_KIND(GI_FOP_READDIRP),
    .complete = ios_complete_lists,
};

GI_XLATOR_EXPORT = {IOS_CLASS, .submit = ios_submit, .complete = ios_complete};
