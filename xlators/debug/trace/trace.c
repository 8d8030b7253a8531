/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/trace: one line per operation on its way down and one on its way up,
 * into the log, into a ring in memory (shown by statedump), or both. With
 * neither it is on no path.
 */
#include "libglusterish/graph.h"
#include "libglusterish/log.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>

#define GI_MSG_TRACE 110000 /* base of message ids */

#define TR_LINE 320 /* bytes kept of one line */

struct tr_options {
  bool log_file, log_history;
  char *include, *exclude;
  int64_t history_size;
};

#define TR_MAGIC 0x1d074a01u

struct tr_private {
  uint32_t magic;
  uint64_t kinds, new_kinds;
  uint64_t sequence;
  char (*ring)[TR_LINE];
  uint32_t ring_size;
  uint64_t lines; /* written to the ring since it was made */
  struct {
    uint64_t traced, failed;
  } metrics;
};

static struct tr_private *
tr_private(const struct gi_xlator *x)
{
  struct tr_private *p = x->private;
  GI_CHECK(p, TR_MAGIC);
  return p;
}

struct tr_fop {
  uint64_t id, since_ns;
};

static void emit(struct gi_xlator *x, const struct gi_fop *fop, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void
emit(struct gi_xlator *x, const struct gi_fop *fop, const char *fmt, ...)
{
  const struct tr_options *o = x->options;
  struct tr_private *p = tr_private(x);
  char line[TR_LINE];
  GI_ASSERT((p->ring != NULL) == (p->ring_size > 0));
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof(line), fmt, ap);
  va_end(ap);
  if (o->log_file) /* whoever asks for TRACE wants all of it; INFO is limited, each kind of operation by itself */
    gi_log(gi_log_enabled(GI_LOG_TRACE) ? GI_LOG_TRACE : GI_LOG_INFO, x->name, GI_MSG_TRACE + 1 + (unsigned)fop->kind, "%s",
           line);
  if (o->log_history && p->ring)
    memcpy(p->ring[p->lines++ % p->ring_size], line, sizeof(line));
}

/* " key=data,metadata,entry" of the changelog counters of an XATTROP; those that are zero are left out. */
static size_t
describe_counters(const struct gi_dict *d, char *out, size_t len)
{
  size_t n = 0;
  for (uint32_t i = 0; i < gi_dict_count(d) && n < len; i++) {
    const struct gi_pair *pair = gi_dict_at(d, i);
    const void *data;
    uint32_t size, word[3];
    if (!gi_dict_get_bin(d, pair->key, &data, &size) || size != sizeof(word))
      continue;
    memcpy(word, data, sizeof(word));
    if (word[0] | word[1] | word[2])
      n += (size_t)snprintf(out + n, len - n, " %s=%d,%d,%d", pair->key, (int)be32toh(word[0]), (int)be32toh(word[1]),
                            (int)be32toh(word[2]));
  }
  return n;
}

/* " key=value" of the members that are in use. */
static void
describe(const struct gi_fop *fop, char *out, size_t len)
{
  char gfid[GI_UUID_TEXT];
  size_t n = 0;
  const struct gi_args *a = &fop->args;
#define ADD(cond, ...) \
  do { \
    if ((cond) && n < len) \
      n += (size_t)snprintf(out + n, len - n, __VA_ARGS__); \
  } while (0)
  out[0] = '\0';
  const struct gi_gfid *g = gi_fop_gfid(fop);
  const struct gi_gfid *par = fop->loc.parent ? &fop->loc.parent->gfid : &fop->loc.pargfid;
  ADD(!gi_gfid_is_none(g), " gfid=%s", gi_gfid_text(g, gfid));
  ADD(fop->loc.name, " %s/%s", gi_gfid_text(par, gfid), fop->loc.name);
  ADD(fop->loc2.name, " to=%s", fop->loc2.name);
  ADD(fop->fd, " fd=%p", (void *)fop->fd);
  ADD(a->offset, " offset=%llu", (unsigned long long)a->offset);
  ADD(a->size || fop->payload.len, " size=%llu", (unsigned long long)(fop->payload.len ? fop->payload.len : a->size));
  ADD(a->flags, " flags=0%o", a->flags);
  ADD(a->mode, " mode=0%o", a->mode);
  ADD(a->valid, " valid=0x%x", (unsigned)a->valid);
  ADD(a->cmd || a->type, " cmd=%u type=%u", a->cmd, a->type);
  ADD(a->domain, " domain=%s", a->domain);
  ADD(a->name, " name=%s", a->name);
  if ((fop->kind == GI_FOP_XATTROP || fop->kind == GI_FOP_FXATTROP) && n < len)
    n += describe_counters(a->dict, out + n, len - n);
  ADD(gi_dict_count(a->dict), " dict=%u", gi_dict_count(a->dict));
  ADD(gi_dict_count(fop->xdata), " xdata=%u", gi_dict_count(fop->xdata));
  char owner[GI_OWNER_TEXT];
  ADD(fop->caller.owner.len, " owner=%s", gi_owner_text(&fop->caller.owner, owner));
  const struct gi_client_id *client = fop->caller.client;
  ADD(client, " client=%s", client->uid);
  ADD(true, " pid=%d uid=%u", fop->caller.pid, fop->caller.uid);
#undef ADD
}

static enum gi_verdict
tr_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  struct tr_private *p = tr_private(x);
  struct tr_fop *t = gi_fop_private(fop, x);
  char text[TR_LINE];
  GI_ASSERT(!fop->answered);
  if (!(p->kinds & GI_KIND(fop->kind)))
    return GI_PASS;
  t->id = ++p->sequence;
  t->since_ns = gi_now(x->reactor);
  p->metrics.traced++;
  describe(fop, text, sizeof(text));
  emit(x, fop, "%llu: %s%s", (unsigned long long)t->id, gi_fop_name(fop->kind), text);
  return GI_PASS_TELL;
}

static enum gi_verdict
tr_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct tr_private *p = tr_private(x);
  const struct tr_fop *t = gi_fop_private(fop, x);
  const struct gi_iatt *st = gi_iatt_valid(&fop->rsp.stat) ? &fop->rsp.stat : &fop->rsp.post;
  GI_ASSERT(t->id && t->id <= p->sequence); /* only what was traced comes back here */
  unsigned long long us = (gi_now(x->reactor) - t->since_ns) / 1000;
  if (fop->rsp.ret < 0) {
    p->metrics.failed++;
    emit(x, fop, "%llu: %s failed: %s (%d) after %llu us", (unsigned long long)t->id, gi_fop_name(fop->kind),
         strerror(fop->rsp.err), fop->rsp.err, us);
  } else if (fop->kind == GI_FOP_XATTROP || fop->kind == GI_FOP_FXATTROP) {
    char counters[TR_LINE / 2] = "";
    describe_counters(fop->rsp.dict, counters, sizeof(counters));
    emit(x, fop, "%llu: %s = %d%s after %llu us", (unsigned long long)t->id, gi_fop_name(fop->kind), fop->rsp.ret, counters,
         us);
  } else if (gi_iatt_valid(st)) {
    char gfid[GI_UUID_TEXT];
    emit(x, fop, "%llu: %s = %d gfid=%s mode=0%o size=%llu after %llu us", (unsigned long long)t->id, gi_fop_name(fop->kind),
         fop->rsp.ret, gi_gfid_text(&st->gfid, gfid), st->mode, (unsigned long long)st->size, us);
  } else {
    emit(x, fop, "%llu: %s = %d after %llu us", (unsigned long long)t->id, gi_fop_name(fop->kind), fop->rsp.ret, us);
  }
  return GI_PASS;
}

static int
parse(const struct tr_options *o, uint64_t *kinds, struct gi_error *err)
{
  char bad[64];
  uint64_t in, out;
  if (!gi_kinds_parse(o->include, &in, bad, sizeof(bad)))
    return gi_error_set(err, EINVAL, "option include-ops: there is no operation called '%s'", bad);
  if (!gi_kinds_parse(o->exclude, &out, bad, sizeof(bad)))
    return gi_error_set(err, EINVAL, "option exclude-ops: there is no operation called '%s'", bad);
  *kinds = (in ? in : ~0ull) & ~out;
  return 0;
}

static void
resize(struct gi_xlator *x)
{
  const struct tr_options *o = x->options;
  struct tr_private *p = tr_private(x);
  uint32_t size = o->log_history ? (uint32_t)o->history_size : 0;
  if (size == p->ring_size)
    return;
  gi_free(p->ring);
  p->ring = size ? gi_zalloc((size_t)size * TR_LINE) : NULL;
  p->ring_size = size;
  p->lines = 0;
}

static bool
wanted(const struct gi_xlator *x)
{
  const struct tr_options *o = x->options;
  return o->log_file || o->log_history;
}

static int
tr_init(struct gi_xlator *x, struct gi_error *err)
{
  struct tr_private *p = gi_new(struct tr_private);
  p->magic = TR_MAGIC;
  if (parse(x->options, &p->kinds, err) != 0) {
    gi_free(p);
    return -1;
  }
  x->private = p;
  x->metrics = &p->metrics;
  resize(x);
  x->enabled = wanted(x);
  return 0;
}

static void
tr_finish(struct gi_xlator *x)
{
  struct tr_private *p = tr_private(x);
  gi_free(p->ring);
  gi_free(p);
}

static int
tr_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  return parse(values, &tr_private(x)->new_kinds, err);
}

static void
tr_commit(struct gi_xlator *x)
{
  struct tr_private *p = tr_private(x);
  p->kinds = p->new_kinds;
  resize(x);
  gi_xlator_enable(x, wanted(x));
}

static void
tr_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct tr_private *p = tr_private(x);
  gi_dump_section(d, "xlator.debug.trace.%s.history", x->name);
  uint64_t first = p->lines > p->ring_size ? p->lines - p->ring_size : 0;
  for (uint64_t i = first; i < p->lines; i++)
    gi_dump_kv(d, "call", "%s", p->ring[i % p->ring_size]);
}

#define TR_OPT(member) .offset = offsetof(struct tr_options, member), .live = true, .level = 3, .op_version = 2, .since = "0.1"

static const struct gi_option tr_table[] = {
    {.name = "log-file",
     .key = "debug.log-file",
     .type = GI_OPT_BOOL,
     TR_OPT(log_file),
     .def = "no",
     .text = "Write traced operations to the log."},
    {.name = "log-history",
     .key = "debug.log-history",
     .type = GI_OPT_BOOL,
     TR_OPT(log_history),
     .def = "no",
     .text = "Keep traced operations in memory; a statedump shows them."},
    {.name = "include-ops",
     .key = "debug.include-ops",
     .type = GI_OPT_STR,
     TR_OPT(include),
     .text = "Trace only these operations, such as WRITE,FSYNC; all if empty."},
    {.name = "exclude-ops",
     .key = "debug.exclude-ops",
     .type = GI_OPT_STR,
     TR_OPT(exclude),
     .text = "Operations that are not traced."},
    {.name = "history-size",
     .type = GI_OPT_INT,
     TR_OPT(history_size),
     .def = "1024",
     .min = 1,
     .max = 1048576,
     .text = "Lines kept by log-history."},
    GI_OPTION_END,
};

static const struct gi_metric tr_metrics[] = {
    {"traced", "", "operations traced", 0},
    {"failed", "", "of them failed", sizeof(uint64_t)},
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "debug/trace",
    .version = GI_VERSION,
    .summary = "Logs operations on their way down and up",
    .messages = GI_MSG_TRACE,
    .layer = {{.side = GI_SIDE_CLIENT | GI_SIDE_BRICK,
               .by_name = true,
               .key = "debug.trace",
               .def = "off",
               .since = "0.1",
               .text = "Translator above which operations are traced (or client, off)."}},
    .min_children = 1,
    .max_children = 1,
    .options = tr_table,
    .options_bytes = sizeof(struct tr_options),
    .metrics = tr_metrics,
    .fop_bytes = sizeof(struct tr_fop),
    .submit = tr_submit,
    .complete = tr_complete,
    .init = tr_init,
    .finish = tr_finish,
    .reconfigure_prepare = tr_prepare,
    .reconfigure_commit = tr_commit,
    .statedump = tr_statedump,
};
