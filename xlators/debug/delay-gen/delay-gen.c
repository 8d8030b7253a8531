/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/delay-gen: holds a share of the chosen operations back for a while.
 *
 * Nothing blocks: a held operation is a timer. Leaving the path, or the end of
 * the graph, lets all of them go at once.
 */
#include "libglusterish/graph.h"

#include <errno.h>

struct dg_options {
  int64_t duration_us;
  double percentage;
  char *enable;
};

#define DG_MAGIC 0x1d0db601u

struct dg_private {
  uint32_t magic;
  uint64_t kinds;
  uint64_t new_kinds;  /* between prepare and commit */
  struct gi_list held; /* struct dg_fop */
  struct {
    uint64_t seen, delayed, held;
  } metrics;
};

static struct dg_private *
dg_private(const struct gi_xlator *x)
{
  struct dg_private *p = x->private;
  GI_CHECK(p, DG_MAGIC);
  return p;
}

#define DG_FOP_MAGIC 0x1d0db602u

struct dg_fop {
  uint32_t magic; /* while it is held */
  struct gi_list link;
  struct gi_timer timer;
  struct gi_xlator *x;
  struct gi_fop *fop;
};

static bool
chosen(struct gi_xlator *x, double percent)
{
  GI_ASSERT(percent >= 0 && percent <= 100);
  uint32_t dice;
  gi_random(x->reactor, &dice, sizeof(dice));
  return dice < percent / 100 * UINT32_MAX || percent >= 100;
}

static void
let_go(struct dg_fop *d)
{
  struct dg_private *p = dg_private(d->x);
  GI_CHECK(d, DG_FOP_MAGIC);
  GI_ASSERT(p->metrics.held > 0 && !d->fop->answered);
  d->magic = 0;
  gi_timer_finish(&d->timer);
  gi_list_del(&d->link);
  p->metrics.held--;
  gi_fop_forward(d->fop, d->x);
}

static void
due(void *arg)
{
  let_go(arg);
}

static enum gi_verdict
dg_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct dg_options *o = x->options;
  struct dg_private *p = dg_private(x);
  if (x->draining || !(p->kinds & GI_KIND(fop->kind)))
    return GI_PASS;
  p->metrics.seen++;
  if (!chosen(x, o->percentage))
    return GI_PASS;
  struct dg_fop *d = gi_fop_private(fop, x);
  GI_ASSERT(d->magic != DG_FOP_MAGIC);
  d->magic = DG_FOP_MAGIC;
  d->x = x;
  d->fop = fop;
  gi_list_add_tail(&p->held, &d->link);
  p->metrics.delayed++;
  p->metrics.held++;
  gi_timer_init(&d->timer, x->reactor, due, d);
  gi_timer_set(&d->timer, (uint64_t)o->duration_us * 1000);
  return GI_HELD;
}

static void
let_all_go(struct dg_private *p)
{
  while (!gi_list_empty(&p->held))
    let_go(gi_list_first(&p->held, struct dg_fop, link));
  GI_ASSERT(p->metrics.held == 0);
}

static void
dg_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  let_all_go(dg_private(x));
  done(x);
}

static bool
dg_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event == GI_EVENT_PARENT_DOWN)
    let_all_go(dg_private(x));
  return false;
}

static int
parse(const struct dg_options *o, uint64_t *kinds, struct gi_error *err)
{
  char bad[64];
  if (!gi_kinds_parse(o->enable, kinds, bad, sizeof(bad)))
    return gi_error_set(err, EINVAL, "option enable: there is no operation called '%s'", bad);
  if (!o->enable || !*o->enable)
    *kinds = ~0ull;
  return 0;
}

static int
dg_init(struct gi_xlator *x, struct gi_error *err)
{
  struct dg_private *p = gi_new(struct dg_private);
  p->magic = DG_MAGIC;
  gi_list_init(&p->held);
  if (parse(x->options, &p->kinds, err) != 0) {
    gi_free(p);
    return -1;
  }
  x->private = p;
  x->metrics = &p->metrics;
  return 0;
}

static void
dg_finish(struct gi_xlator *x)
{
  GI_ASSERT(gi_list_empty(&dg_private(x)->held) && dg_private(x)->metrics.held == 0);
  gi_free(dg_private(x));
}

static int
dg_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  return parse(values, &dg_private(x)->new_kinds, err);
}

static void
dg_commit(struct gi_xlator *x)
{
  struct dg_private *p = dg_private(x);
  p->kinds = p->new_kinds;
}

#define DG_OPT(member) \
  .offset = offsetof(struct dg_options, member), .live = true, .level = 3, .op_version = 31300, .since = "0.1"

static const struct gi_option dg_table[] = {
    {.name = "delay-duration",
     .key = "delay-gen.delay-duration",
     .type = GI_OPT_INT,
     DG_OPT(duration_us),
     .def = "100000",
     .min = 0,
     .max = 3600e6,
     .text = "How long a chosen operation is held back, in microseconds."},
    {.name = "delay-percentage",
     .key = "delay-gen.delay-percentage",
     .type = GI_OPT_PERCENT,
     DG_OPT(percentage),
     .def = "10%",
     .min = 0,
     .max = 100,
     .text = "Share of the operations that are held back."},
    {.name = "enable",
     .key = "delay-gen.enable",
     .type = GI_OPT_STR,
     DG_OPT(enable),
     .text = "The operations it acts on, such as WRITE,FSYNC; all if empty."},
    GI_OPTION_END,
};

static const struct gi_metric dg_metrics[] = {
    {"seen", "", "operations it could have held back", 0},
    {"delayed", "", "operations held back", sizeof(uint64_t)},
    {"held", "", "operations held now", 2 * sizeof(uint64_t), GI_METRIC_GAUGE},
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "debug/delay-gen",
    .version = GI_VERSION,
    .summary = "Holds operations back, for tests",
    .layer = {{.side = GI_SIDE_CLIENT | GI_SIDE_BRICK,
               .above = {"debug/trace", "debug/error-gen"},
               .by_name = true,
               .key = "debug.delay-gen",
               .def = "off",
               .since = "0.1",
               .text = "Translator above which delays are added (or client, off)."}},
    .min_children = 1,
    .max_children = 1,
    .options = dg_table,
    .options_bytes = sizeof(struct dg_options),
    .metrics = dg_metrics,
    .fop_bytes = sizeof(struct dg_fop),
    .submit = dg_submit,
    .init = dg_init,
    .finish = dg_finish,
    .reconfigure_prepare = dg_prepare,
    .reconfigure_commit = dg_commit,
    .drain = dg_drain,
    .notify = dg_notify,
};
