/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking a translator off the path while it holds something: nothing overtakes
 * what it holds, it goes when that is done, and it can be wanted again before.
 */
#include "tests/unit/fake.h"

#include <errno.h>

/* ---- holds writes until the test lets them go, and what comes behind them ---- */

struct behind {
  struct gi_list held; /* struct gi_fop.link */
  void (*drained)(struct gi_xlator *x);
  unsigned drains;
};

static enum gi_verdict
behind_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  struct behind *b = x->private;

  if (gi_list_empty(&b->held) && (x->draining || fop->kind != GI_FOP_WRITE))
    return GI_PASS;
  gi_list_add_tail(&b->held, &fop->link);
  return GI_HELD;
}

static void
let_go(struct gi_xlator *x)
{
  struct behind *b = x->private;
  void (*done)(struct gi_xlator * x) = b->drained;

  while (!gi_list_empty(&b->held)) {
    struct gi_fop *fop = gi_list_first(&b->held, struct gi_fop, link);

    gi_list_del(&fop->link);
    gi_fop_forward(fop, x);
  }
  b->drained = NULL;
  if (done)
    done(x);
}

static void
behind_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct behind *b = x->private;

  assert_null(b->drained); /* one drain at a time */
  b->drains++;
  b->drained = done;
  if (gi_list_empty(&b->held))
    let_go(x);
}

static bool
behind_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event == GI_EVENT_PARENT_DOWN)
    let_go(x);
  return false;
}

static int
behind_init(struct gi_xlator *x, struct gi_error *err)
{
  struct behind *b = gi_new(struct behind);

  gi_list_init(&b->held);
  x->private = b;
  return 0;
}

static void
behind_finish(struct gi_xlator *x)
{
  gi_free(x->private);
}

static const struct gi_xlator_class behind_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/behind",
    .min_children = 1,
    .max_children = 1,
    .submit = behind_submit,
    .submit_kinds = GI_KIND(GI_FOP_WRITE) | GI_KIND(GI_FOP_STAT),
    .init = behind_init,
    .finish = behind_finish,
    .drain = behind_drain,
    .notify = behind_notify,
};

/* Holds nothing, says nothing. */
static enum gi_verdict
plain_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  return GI_PASS;
}

static const struct gi_xlator_class plain_class = {
    .abi = GI_XLATOR_ABI, .type = "test/plain", .min_children = 1, .max_children = 1, .submit = plain_submit};

/* ---- the bench ---- */

static int
setup(void **state)
{
  gi_class_register(&behind_class);
  gi_class_register(&plain_class);
  *state = fake_stack_new("test/behind", NULL, 1);
  return 0;
}

static int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

static struct gi_fop *
send_at(struct fake_stack *s, enum gi_fop_kind kind, struct gi_xlator *at)
{
  struct gi_fop *f = fake_fop(s, kind);

  gi_loc_set_inode(&f->loc, fake_inode(s, 1));
  fake_submit_at(s, f, at);
  return f;
}

static struct gi_fop *
send(struct fake_stack *s, enum gi_fop_kind kind)
{
  return send_at(s, kind, s->parent);
}

/* Which kinds the child has seen: "WRITE STAT". */
static const char *
seen(struct fake_stack *s)
{
  static char text[256];

  text[0] = '\0';
  for (unsigned i = 0; i < s->nseen; i++) {
    strcat(text, i ? " " : "");
    strcat(text, gi_fop_name(s->seen[i].kind));
  }
  return text;
}

/* The volfile of a stack: between top and child those named, from above; 'w' behind-translators, 'p' plain ones: "wp" is
 * top → w → p → child. The one called 'u' is the stack's own. */
static int
apply(struct fake_stack *s, const char *chain)
{
  GI_CLEANUP_FREE char *text = gi_strdup("volume child-0\n type test/fake\nend-volume\n");
  GI_CLEANUP_FREE char *below = gi_strdup("child-0");
  struct gi_error err = {0};

  for (size_t i = strlen(chain) + 1; i-- > 0;) {
    const char *type = i == 0 ? "top" : chain[i - 1] == 'p' || chain[i - 1] == 'q' ? "plain" : "behind";
    char *name = i == 0 ? gi_strdup("top") : chain[i - 1] == 'u' ? gi_strdup("under-test") : gi_asprintf("x-%c", chain[i - 1]);
    char *more = gi_asprintf("%svolume %s\n type test/%s\n subvolumes %s\nend-volume\n", text, name, type, below);

    gi_free(text);
    gi_free(below);
    text = more;
    below = name;
  }

  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);

  assert_non_null(vf);

  int rc = gi_graph_reconfigure(s->graph, &vf, &err);

  gi_volfile_free(&vf);
  return rc;
}

static struct gi_xlator *
find(struct fake_stack *s, const char *name)
{
  struct gi_xlator *x = gi_graph_find(s->graph, name);

  assert_non_null(x);
  return x;
}

static unsigned
drains(const struct gi_xlator *x)
{
  return ((const struct behind *)x->private)->drains;
}

/* The chain of children from the top, by last letters: "tw0". */
static const char *
chain_of(const struct fake_stack *s)
{
  static char text[32];
  unsigned n = 0;

  for (const struct gi_xlator *x = s->parent; x; x = gi_first_child(x)) {
    text[n++] = x->name[strlen(x->name) - 1];

    const struct gi_xlator *child = gi_first_child(x);

    assert_true(!child || (child->nparents == 1 && child->parents[0] == x)); /* the way back is the same */
  }
  text[n] = '\0';
  return text;
}

/* ---- switched off ---- */

static void
test_switched_off_when_drained(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *write = send(s, GI_FOP_WRITE), *stat;

  gi_xlator_enable(s->x, false);
  assert_true(s->x->enabled && s->x->draining);
  stat = send(s, GI_FOP_STAT);
  assert_false(stat->answered); /* behind the write */
  assert_string_equal(seen(s), "");
  let_go(s->x);
  assert_true(write->answered && stat->answered);
  assert_string_equal(seen(s), "WRITE STAT");
  assert_false(s->x->enabled || s->x->draining);
  assert_ptr_not_equal(s->parent->next[GI_FOP_WRITE], s->x);
}

static void
test_switched_off_at_once_with_nothing_held(void **state)
{
  struct fake_stack *s = *state;

  gi_xlator_enable(s->x, false);
  assert_false(s->x->enabled || s->x->draining);
  assert_true(send(s, GI_FOP_WRITE)->answered);
  gi_xlator_enable(s->x, true);
  assert_false(send(s, GI_FOP_WRITE)->answered);
}

static void
test_switched_on_while_draining(void **state)
{
  struct fake_stack *s = *state;

  send(s, GI_FOP_WRITE);
  gi_xlator_enable(s->x, false);
  gi_xlator_enable(s->x, true);
  let_go(s->x);
  assert_true(s->x->enabled);
  assert_false(s->x->draining);
  assert_false(send(s, GI_FOP_WRITE)->answered); /* holds again */
}

static void
test_switched_several_times_while_draining(void **state)
{
  struct fake_stack *s = *state;

  send(s, GI_FOP_WRITE);
  gi_xlator_enable(s->x, false);
  gi_xlator_enable(s->x, true);
  gi_xlator_enable(s->x, false);
  gi_xlator_enable(s->x, false);
  assert_int_equal(drains(s->x), 1);
  let_go(s->x);
  assert_false(s->x->enabled);
}

static void
test_graph_ends_while_draining(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *write = send(s, GI_FOP_WRITE);

  gi_xlator_enable(s->x, false);
  gi_graph_deactivate(s->graph);
  assert_true(write->answered);
  assert_false(s->x->draining);
}

/* ---- no longer in the volfile ---- */

static void
test_leaves_when_drained(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *stat;

  send(s, GI_FOP_WRITE);
  assert_int_equal(apply(s, ""), 0);
  assert_string_equal(chain_of(s), "pt0"); /* top, under-test, child-0 */
  stat = send(s, GI_FOP_STAT);
  assert_false(stat->answered);
  let_go(s->x);
  assert_string_equal(seen(s), "WRITE STAT");
  assert_string_equal(chain_of(s), "p0");
  assert_int_equal(s->x->nparents, 0);
  assert_int_equal(apply(s, "u"), 0); /* and comes back */
  assert_false(send(s, GI_FOP_WRITE)->answered);
  assert_string_equal(chain_of(s), "pt0");
}

static void
test_without_drain_leaves_at_once(void **state)
{
  struct fake_stack *s = *state;

  assert_int_equal(apply(s, "up"), 0);
  assert_string_equal(chain_of(s), "ptp0");
  assert_int_equal(apply(s, "u"), 0);
  assert_string_equal(chain_of(s), "pt0");
}

static void
test_comes_back_while_draining(void **state)
{
  struct fake_stack *s = *state;

  send(s, GI_FOP_WRITE);
  assert_int_equal(apply(s, ""), 0);
  assert_int_equal(apply(s, "u"), 0);
  assert_false(s->x->away);
  let_go(s->x);
  assert_string_equal(chain_of(s), "pt0");
  assert_false(s->x->draining);
  assert_false(send(s, GI_FOP_WRITE)->answered);
}

/* Others come and go around it. */
static void
test_other_volfiles_while_draining(void **state)
{
  struct fake_stack *s = *state;

  assert_int_equal(apply(s, "up"), 0);
  send(s, GI_FOP_WRITE);
  assert_int_equal(apply(s, "p"), 0);
  assert_string_equal(chain_of(s), "ptp0");
  assert_int_equal(apply(s, "qp"), 0); /* a new one above */
  assert_string_equal(chain_of(s), "pqtp0");
  assert_int_equal(apply(s, "q"), 0); /* the one below goes */
  assert_string_equal(chain_of(s), "pqt0");
  assert_int_equal(drains(s->x), 1);
  let_go(s->x);
  assert_string_equal(chain_of(s), "pq0");
  assert_true(send(s, GI_FOP_WRITE)->answered);
}

/* Two leave with one volfile; whichever is done first. */
static void
leave_together(struct fake_stack *s, bool upper_first)
{
  struct gi_xlator *w;
  struct gi_fop *write;

  assert_int_equal(apply(s, "wu"), 0);
  w = find(s, "x-w");
  write = send(s, GI_FOP_WRITE);  /* held by w */
  send_at(s, GI_FOP_WRITE, s->x); /* held by the lower one */
  assert_int_equal(apply(s, ""), 0);
  assert_string_equal(chain_of(s), "pwt0");
  if (upper_first) {
    let_go(w); /* into the lower one, behind what that has */
    assert_string_equal(chain_of(s), "pt0");
    assert_false(write->answered);
    let_go(s->x);
  } else {
    let_go(s->x);
    assert_string_equal(chain_of(s), "pw0");
    let_go(w);
  }
  assert_true(write->answered);
  assert_string_equal(chain_of(s), "p0");
  assert_true(send(s, GI_FOP_WRITE)->answered);
}

static void
test_upper_of_two_first(void **state)
{
  leave_together(*state, true);
}

static void
test_lower_of_two_first(void **state)
{
  leave_together(*state, false);
}

/* One after another, each with its own volfile. */
static void
test_leave_one_by_one(void **state)
{
  struct fake_stack *s = *state;
  struct gi_xlator *w;

  assert_int_equal(apply(s, "wu"), 0);
  w = find(s, "x-w");
  send(s, GI_FOP_WRITE);
  assert_int_equal(apply(s, "u"), 0); /* the upper one drains… */
  assert_int_equal(apply(s, ""), 0);  /* …and the lower one, with nothing, goes at once */
  assert_string_equal(chain_of(s), "pw0");
  let_go(w);
  assert_string_equal(chain_of(s), "p0");
}

static void
test_volfile_and_switch_together(void **state)
{
  struct fake_stack *s = *state;

  send(s, GI_FOP_WRITE);
  gi_xlator_enable(s->x, false);
  assert_int_equal(apply(s, ""), 0);
  assert_int_equal(drains(s->x), 1);
  let_go(s->x);
  assert_string_equal(chain_of(s), "p0");
  assert_false(s->x->enabled);
}

static void
test_graph_ends_before_it_left(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *write = send(s, GI_FOP_WRITE);

  assert_int_equal(apply(s, ""), 0);
  gi_graph_deactivate(s->graph);
  assert_true(write->answered);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_switched_off_when_drained),
      TEST(test_switched_off_at_once_with_nothing_held),
      TEST(test_switched_on_while_draining),
      TEST(test_switched_several_times_while_draining),
      TEST(test_graph_ends_while_draining),
      TEST(test_leaves_when_drained),
      TEST(test_without_drain_leaves_at_once),
      TEST(test_comes_back_while_draining),
      TEST(test_other_volfiles_while_draining),
      TEST(test_upper_of_two_first),
      TEST(test_lower_of_two_first),
      TEST(test_leave_one_by_one),
      TEST(test_volfile_and_switch_together),
      TEST(test_graph_ends_before_it_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
