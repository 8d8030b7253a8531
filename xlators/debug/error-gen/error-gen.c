/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/error-gen: fails a share of the chosen operations without passing them
 * on. The share is exact (every n-th) or, with random-failure, drawn. The error
 * is the configured one, or rotates through a list. GF_ERROR_SHORT_WRITE lets
 * half of a write through instead of failing it.
 */
#include "libglusterish/graph.h"

#include <errno.h>

#define EG_SHORT_WRITE 100000
#define EG_DEFAULT_PERCENT 10

struct eg_options {
  double failure;
  char *error_no;
  char *enable;
  bool random;
};

#define EG_MAGIC 0x1d0eb601u

struct eg_private {
  uint32_t magic;
  uint64_t kinds, new_kinds;
  int error, new_error; /* 0 = rotate */
  double owed;          /* failures due: grows by the share per operation */
  unsigned turn;
  struct {
    uint64_t seen, failed, shortened;
  } metrics;
};

static struct eg_private *
eg_private(const struct gi_xlator *x)
{
  struct eg_private *p = x->private;
  GI_CHECK(p, EG_MAGIC);
  return p;
}

static const struct {
  const char *name;
  int err;
} error_names[] = {
    {"ENOENT", ENOENT},       {"ENOTDIR", ENOTDIR}, {"ENAMETOOLONG", ENAMETOOLONG},
    {"EACCES", EACCES},       {"EBADF", EBADF},     {"EFAULT", EFAULT},
    {"ENOMEM", ENOMEM},       {"EINVAL", EINVAL},   {"EIO", EIO},
    {"EEXIST", EEXIST},       {"ENOSPC", ENOSPC},   {"EPERM", EPERM},
    {"EROFS", EROFS},         {"EBUSY", EBUSY},     {"EISDIR", EISDIR},
    {"ENOTEMPTY", ENOTEMPTY}, {"EMLINK", EMLINK},   {"ENODEV", ENODEV},
    {"EXDEV", EXDEV},         {"EMFILE", EMFILE},   {"ENFILE", ENFILE},
    {"ENOSYS", ENOSYS},       {"EINTR", EINTR},     {"EFBIG", EFBIG},
    {"EAGAIN", EAGAIN},       {"EDQUOT", EDQUOT},   {"GF_ERROR_SHORT_WRITE", EG_SHORT_WRITE},
};

static const char *const error_words[] = {
    "ENOENT", "ENOTDIR", "ENAMETOOLONG", "EACCES", "EBADF", "EFAULT", "ENOMEM",    "EINVAL", "EIO",
    "EEXIST", "ENOSPC",  "EPERM",        "EROFS",  "EBUSY", "EISDIR", "ENOTEMPTY", "EMLINK", "ENODEV",
    "EXDEV",  "EMFILE",  "ENFILE",       "ENOSYS", "EINTR", "EFBIG",  "EAGAIN",    "EDQUOT", "GF_ERROR_SHORT_WRITE",
    NULL};

static const int rotation[] = {EIO, ENOSPC, EACCES, ENOMEM, EBADF, EINVAL};

static bool
chosen(struct gi_xlator *x, struct eg_private *p, double percent)
{
  const struct eg_options *o = x->options;
  uint32_t dice;
  if (o->random) {
    gi_random(x->reactor, &dice, sizeof(dice));
    return percent >= 100 || dice < percent / 100 * UINT32_MAX;
  }
  p->owed += percent;
  if (p->owed < 100)
    return false;
  p->owed -= 100;
  GI_ASSERT(p->owed < 100); /* a share is at most one failure an operation */
  return true;
}

static double
share(const struct gi_xlator *x)
{
  return gi_xlator_option(x, "failure") ? ((const struct eg_options *)x->options)->failure : EG_DEFAULT_PERCENT;
}

static enum gi_verdict
eg_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  struct eg_private *p = eg_private(x);
  if (!(p->kinds & GI_KIND(fop->kind)))
    return GI_PASS;
  p->metrics.seen++;
  if (!chosen(x, p, share(x)))
    return GI_PASS;
  int err = p->error ? p->error : rotation[p->turn++ % GI_ARRAY_LEN(rotation)];
  GI_ASSERT(err != 0);
  if (err != EG_SHORT_WRITE) {
    p->metrics.failed++;
    return gi_fop_fail(fop, err);
  }
  if (fop->kind == GI_FOP_WRITE && fop->payload.len > 1) {
    gi_payload_trim(&fop->payload, fop->payload.len / 2);
    GI_ASSERT(fop->payload.len > 0);
    fop->args.size = fop->payload.len;
    p->metrics.shortened++;
  }
  return GI_PASS;
}

static int
parse(const struct eg_options *o, uint64_t *kinds, int *error, struct gi_error *err)
{
  char bad[64];
  if (!gi_kinds_parse(o->enable, kinds, bad, sizeof(bad)))
    return gi_error_set(err, EINVAL, "option enable: there is no operation called '%s'", bad);
  if (!o->enable || !*o->enable)
    *kinds = ~0ull;
  *error = 0;
  for (size_t i = 0; o->error_no && i < GI_ARRAY_LEN(error_names); i++) {
    if (strcmp(o->error_no, error_names[i].name) == 0)
      *error = error_names[i].err;
  }
  return 0;
}

static int
eg_init(struct gi_xlator *x, struct gi_error *err)
{
  struct eg_private *p = gi_new(struct eg_private);
  p->magic = EG_MAGIC;
  if (parse(x->options, &p->kinds, &p->error, err) != 0) {
    gi_free(p);
    return -1;
  }
  x->private = p;
  x->metrics = &p->metrics;
  return 0;
}

static void
eg_finish(struct gi_xlator *x)
{
  gi_free(eg_private(x));
}

static int
eg_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  struct eg_private *p = eg_private(x);
  return parse(values, &p->new_kinds, &p->new_error, err);
}

static void
eg_commit(struct gi_xlator *x)
{
  struct eg_private *p = eg_private(x);
  p->kinds = p->new_kinds;
  p->error = p->new_error;
}

#define EG_OPT(member) .offset = offsetof(struct eg_options, member), .live = true, .level = 3, .op_version = 3, .since = "0.1"

static const struct gi_option eg_table[] = {
    {.name = "failure",
     .key = "debug.error-failure",
     .type = GI_OPT_PERCENT,
     EG_OPT(failure),
     .min = 0,
     .max = 100,
     .text = "Share of the chosen operations that fail, in percent; 10 if it is not set."},
    {.name = "error-no",
     .key = "debug.error-number",
     .type = GI_OPT_STR,
     EG_OPT(error_no),
     .words = error_words,
     .text = "The error they fail with; GF_ERROR_SHORT_WRITE writes only half. Several in turn if it is not set."},
    {.name = "enable",
     .key = "debug.error-fops",
     .type = GI_OPT_STR,
     EG_OPT(enable),
     .text = "The operations it acts on, such as WRITE,FSYNC; all if empty."},
    {.name = "random-failure",
     .key = "debug.random-failure",
     .type = GI_OPT_BOOL,
     EG_OPT(random),
     .def = "off",
     .text = "Draw which operations fail instead of taking every n-th."},
    GI_OPTION_END,
};

static const struct gi_metric eg_metrics[] = {
    {"seen", "", "operations it could have failed", 0},
    {"failed", "", "operations failed", sizeof(uint64_t)},
    {"shortened", "", "writes cut in half", 2 * sizeof(uint64_t)},
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "debug/error-gen",
    .version = GI_VERSION,
    .summary = "Fails operations, for tests",
    .layer = {{.side = GI_SIDE_CLIENT | GI_SIDE_BRICK,
               .above = {"debug/trace"},
               .by_name = true,
               .key = "debug.error-gen",
               .def = "off",
               .since = "0.1",
               .text = "Translator above which errors are made up (or client, off)."}},
    .min_children = 1,
    .max_children = 1,
    .options = eg_table,
    .options_bytes = sizeof(struct eg_options),
    .metrics = eg_metrics,
    .submit = eg_submit,
    .init = eg_init,
    .finish = eg_finish,
    .reconfigure_prepare = eg_prepare,
    .reconfigure_commit = eg_commit,
};
