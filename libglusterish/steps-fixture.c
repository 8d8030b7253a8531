/* SPDX-License-Identifier: Apache-2.0
 *
 * See steps-fixture.h.
 */
#include "libglusterish/steps-fixture.h"

#include "libglusterish/volfile.h"

uint64_t bed_now;

static uint64_t
fake_now(struct gi_reactor *r)
{
  return bed_now;
}

static struct gi_time
fake_wall(struct gi_reactor *r)
{
  return (struct gi_time){.sec = 1700000000 + (int64_t)(bed_now / GI_NSEC_PER_SEC),
                          .nsec = (uint32_t)(bed_now % GI_NSEC_PER_SEC)};
}

static const struct gi_reactor_ops fake_ops = {.now = fake_now, .wall = fake_wall};
static struct gi_reactor clock_reactor;

/* ---- layers ---- */

struct gi_fop *bed_held[8];
unsigned bed_nheld;
int bed_errno;

static enum gi_verdict
top_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  bed_now += TOP_DOWN;
  return GI_PASS_TELL;
}

static enum gi_verdict
top_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  bed_now += TOP_UP;
  return GI_PASS;
}

static enum gi_verdict
middle_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  bed_now += MIDDLE;
  return GI_PASS;
}

/* Two rounds: the first child alone, then both at once; the answer is that of the last. */
struct fan_fop {
  unsigned round, out;
};

static void fan_round(struct gi_xlator *x, struct gi_fop *fop);

static void
fan_got(struct gi_fop *child, void *arg)
{
  struct gi_fop *fop = arg;
  struct gi_xlator *x = fop->at;
  struct fan_fop *f = gi_fop_private(fop, x);

  gi_fop_unref(child);
  if (--f->out)
    return;
  bed_now += FAN_BETWEEN;
  fan_round(x, fop);
}

static void
fan_round(struct gi_xlator *x, struct gi_fop *fop)
{
  struct fan_fop *f = gi_fop_private(fop, x);

  if (f->round == 2) {
    bed_now += FAN_UP;
    gi_fop_ok(fop, 0);
    gi_fop_answer(fop, x);
    return;
  }
  f->out = ++f->round;
  for (unsigned i = 0; i < f->round; i++)
    gi_fop_submit(gi_fop_child(fop), x->children[i], fan_got, fop);
}

static enum gi_verdict
fan_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  bed_now += FAN_DOWN;
  fan_round(x, fop);
  return GI_HELD;
}

static enum gi_verdict
leaf_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  bed_held[bed_nheld++] = fop;
  return GI_HELD;
}

void
bed_answer(unsigned n)
{
  struct gi_fop *fop = bed_held[n];

  bed_held[n] = NULL;
  if (bed_errno)
    gi_fop_fail(fop, bed_errno);
  else
    gi_fop_ok(fop, 0);
  gi_fop_answer(fop, fop->at);
}

static int
init(struct gi_xlator *x, struct gi_error *err)
{
  return 0;
}

static const struct gi_xlator_class classes[] = {
    {.abi = GI_XLATOR_ABI,
     .type = "test/top",
     .summary = "top",
     .min_children = 1,
     .max_children = 1,
     .submit = top_submit,
     .complete = top_complete,
     .init = init},
    {.abi = GI_XLATOR_ABI,
     .type = "test/middle",
     .summary = "middle",
     .min_children = 1,
     .max_children = 1,
     .submit = middle_submit,
     .init = init},
    {.abi = GI_XLATOR_ABI,
     .type = "test/fan",
     .summary = "fan",
     .min_children = 2,
     .max_children = 2,
     .fop_bytes = sizeof(struct fan_fop),
     .submit = fan_submit,
     .init = init},
    {.abi = GI_XLATOR_ABI, .type = "test/leaf", .summary = "leaf", .submit = leaf_submit, .init = init},
};

static const char volfile[] = "volume a\n type test/leaf\nend-volume\nvolume b\n type test/leaf\nend-volume\n"
                              "volume fan\n type test/fan\n subvolumes a b\nend-volume\n"
                              "volume middle\n type test/middle\n subvolumes fan\nend-volume\n"
                              "volume top\n type test/top\n subvolumes middle\nend-volume\n";

int
bed_setup(void **state)
{
  struct bed *bed = gi_new(struct bed);
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(volfile, sizeof(volfile) - 1, &err);

  for (unsigned i = 0; i < GI_ARRAY_LEN(classes); i++)
    gi_class_register(&classes[i]);
  clock_reactor = (struct gi_reactor){.ops = &fake_ops};
  gi_list_init(&clock_reactor.deferred);
  gi_list_init(&clock_reactor.resolving);
  bed->ctx.reactor = &clock_reactor;
  bed->graph = gi_graph_build(&bed->ctx, &vf, NULL, &err);
  if (!bed->graph)
    fail_msg("%s", err.text);
  bed->top = gi_graph_find(bed->graph, "top");
  bed->middle = gi_graph_find(bed->graph, "middle");
  bed->fan = gi_graph_find(bed->graph, "fan");
  bed->a = gi_graph_find(bed->graph, "a");
  bed->b = gi_graph_find(bed->graph, "b");
  bed_now = 1000000;
  bed_nheld = 0;
  bed_errno = 0;
  *state = bed;
  return 0;
}

int
bed_teardown(void **state)
{
  struct bed *bed = *state;

  gi_graph_free(&bed->graph);
  assert_null(bed->ctx.seen);
  gi_free(bed);
  return 0;
}

static void
done(struct gi_fop *fop, void *arg)
{
  *(bool *)arg = true;
  gi_fop_unref(fop);
}

void
bed_submit(struct bed *bed, struct gi_fop *fop, bool *answered)
{
  *answered = false;
  gi_fop_submit(fop, bed->top, done, answered);
}

struct gi_fop *
bed_start(struct bed *bed, enum gi_fop_kind kind, bool *answered)
{
  struct gi_fop *fop = gi_fop_new(bed->graph, kind);

  fop->caller.pid = 42;
  fop->args.offset = 4096;
  fop->args.size = 512;
  memset(&fop->loc.gfid, 7, sizeof(fop->loc.gfid));
  bed_submit(bed, fop, answered);
  return fop;
}

void
bed_whole(struct bed *bed, enum gi_fop_kind kind)
{
  bool answered;

  bed_nheld = 0;
  bed_start(bed, kind, &answered);
  bed_now += LEAF;
  bed_answer(0);
  bed_now += LEAF;
  bed_answer(1);
  bed_now += 1;
  assert_false(answered);
  bed_answer(2);
  assert_true(answered);
}
