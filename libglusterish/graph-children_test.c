/* SPDX-License-Identifier: Apache-2.0
 *
 * Another set of children in a running graph: what is offered to a translator
 * that allows it, who is told what, and what is refused.
 */
#include "tests/unit/fake.h"

#include <errno.h>

#define LEAF_BYTES 96

static struct {
  unsigned offers, prepares, seen; /* seen: children in x->incoming at the last prepare */
  bool take, refuse;
  unsigned up[8], down[8];
} set;

static unsigned
number(const struct gi_xlator *x)
{
  return (unsigned)(x->name[strlen(x->name) - 1] - '0');
}

static bool
leaf_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (number(x) > 7)
    return false;
  set.up[number(x)] += event == GI_EVENT_PARENT_UP;
  set.down[number(x)] += event == GI_EVENT_PARENT_DOWN;
  return false;
}

static const struct gi_xlator_class leaf_class = {
    .abi = GI_XLATOR_ABI, .type = "test/leaf", .notify = leaf_notify, .fd_bytes = LEAF_BYTES};

static int
set_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  set.prepares++;
  set.seen = x->incoming ? x->nincoming : 0;
  return set.refuse ? gi_error_set(err, EINVAL, "not these") : 0;
}

static void
set_children(struct gi_xlator *x)
{
  set.offers++;
  if (set.take && x->incoming)
    gi_xlator_take_children(x);
}

static const struct gi_xlator_class set_class = {.abi = GI_XLATOR_ABI,
                                                 .type = "test/set",
                                                 .min_children = 1,
                                                 .max_children = 4,
                                                 .reconfigure_prepare = set_prepare,
                                                 .children_changed = set_children};
static const struct gi_xlator_class fixed_class = {
    .abi = GI_XLATOR_ABI, .type = "test/fixed", .min_children = 1, .max_children = 4};

/* "0 2" becomes a volfile of leaves 0 and 2 below one of `type` and a top; "1+2": leaf 1 below another of that type, and 2. */
static char *
text_of(const char *type, const char *leaves)
{
  GI_CLEANUP_FREE char *subs = gi_strdup("");
  char *text = gi_strdup("");

  for (const char *p = leaves; *p; p++) {
    if (*p == ' ')
      continue;

    bool chain = p[1] == '+';
    char *t = gi_asprintf("%svolume leaf-%c\n type test/leaf\nend-volume\n%s", text, *p, "");
    char *s = gi_asprintf("%s %s-%c", subs, chain ? "mid" : "leaf", *p);

    if (chain) {
      char *both = gi_asprintf("%svolume mid-%c\n type test/fixed\n subvolumes leaf-%c\nend-volume\n", t, *p, *p);

      gi_free(t);
      t = both;
      p++;
    }
    gi_free(text);
    gi_free(subs);
    text = t;
    subs = s;
  }

  char *whole = gi_asprintf("%svolume set\n type %s\n subvolumes%s\nend-volume\nvolume top\n type test/fixed\n subvolumes set\n"
                            "end-volume\n",
                            text, type, subs);

  gi_free(text);
  return whole;
}

static struct gi_ctx ctx;

static struct gi_graph *
build(const char *type, const char *leaves)
{
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *text = text_of(type, leaves);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);

  assert_non_null(vf);

  struct gi_graph *g = gi_graph_build(&ctx, &vf, NULL, &err);

  assert_non_null(g);
  gi_graph_activate(g);
  return g;
}

static int
apply(struct gi_graph *g, const char *type, const char *leaves)
{
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *text = text_of(type, leaves);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);

  assert_non_null(vf);

  int rc = gi_graph_reconfigure(g, &vf, &err);

  gi_volfile_free(&vf);
  return rc;
}

/* The children of the set, in order. */
static void
assert_children(struct gi_graph *g, const char *want)
{
  const struct gi_xlator *x = gi_graph_find(g, "set");
  char have[64] = "";

  for (unsigned i = 0; i < x->nchildren; i++)
    snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s%u", i ? " " : "", number(x->children[i]));
  assert_string_equal(have, want);
  for (unsigned i = 0; i < g->count; i++) {
    const struct gi_xlator *leaf = g->xlators[i];

    if (strncmp(leaf->name, "leaf", 4) == 0 && leaf->nparents == 1 && leaf->parents[0] == x)
      assert_non_null(strchr(want, leaf->name[5]));
  }
}

static int
setup(void **state)
{
  gi_class_register(&leaf_class);
  gi_class_register(&set_class);
  gi_class_register(&fixed_class);
  memset(&set, 0, sizeof(set));
  set.take = true;
  ctx = (struct gi_ctx){.reactor = gi_reactor_new(0), .process_name = "unit-test"};
  return 0;
}

static int
teardown(void **state)
{
  gi_reactor_free(ctx.reactor);
  return 0;
}

static void
children_come_and_go(void **state)
{
  struct gi_graph *g = build("test/set", "0 1 2");

  assert_int_equal(apply(g, "test/set", "0 1 2 3"), 0);
  assert_int_equal(set.offers, 1);
  assert_int_equal(set.seen, 4);
  assert_children(g, "0 1 2 3");
  assert_int_equal(set.up[3], 1);
  assert_int_equal(set.up[0], 1);
  assert_int_equal(apply(g, "test/set", "0 2 3"), 0); /* from the middle */
  assert_children(g, "0 2 3");
  assert_int_equal(set.down[1], 1);
  assert_int_equal(set.down[0] + set.down[2] + set.down[3], 0);

  unsigned count = g->count;

  assert_int_equal(apply(g, "test/set", "0 2 3 1"), 0); /* parked, and back in another place */
  assert_children(g, "0 2 3 1");
  assert_int_equal(set.up[1], 2);
  assert_int_equal(g->count, count);
  assert_int_equal(apply(g, "test/set", "4 5"), 0); /* all others */
  assert_children(g, "4 5");
  assert_int_equal(apply(g, "test/set", "4 5"), 0); /* nothing to do */
  assert_int_equal(set.offers, 4);
  gi_graph_free(&g);
  assert_int_equal(set.down[0], 1); /* parked ones were told when they left */
  assert_int_equal(set.down[4], 1);
}

static void
subtrees_come_and_go(void **state)
{
  struct gi_graph *g = build("test/set", "0 1");

  assert_int_equal(apply(g, "test/set", "0 1 2+"), 0);
  assert_children(g, "0 1 2");
  assert_int_equal(set.up[2], 1);
  assert_int_equal(apply(g, "test/set", "0 1"), 0);
  assert_int_equal(set.down[2], 1);
  assert_int_equal(apply(g, "test/set", "0 1 2+"), 0);
  assert_int_equal(set.up[2], 2);
  gi_graph_free(&g);
}

static void
taken_later(void **state)
{
  struct gi_graph *g = build("test/set", "0 1 2");
  struct gi_xlator *x = gi_graph_find(g, "set");

  set.take = false;
  assert_int_equal(apply(g, "test/set", "0 2 3"), 0);
  assert_children(g, "0 1 2"); /* still */
  assert_int_equal(set.up[3] + set.down[1], 0);
  assert_int_equal(apply(g, "test/set", "0 3 4"), 0); /* changed before it was taken */
  assert_children(g, "0 1 2");
  gi_xlator_take_children(x);
  assert_children(g, "0 3 4");
  assert_int_equal(set.down[1], 1);
  assert_int_equal(set.down[2], 1);
  assert_int_equal(set.up[3], 1);
  assert_int_equal(set.up[4], 1);
  assert_int_equal(apply(g, "test/set", "0 3"), 0);
  assert_int_equal(apply(g, "test/set", "0 3 4"), 0); /* called off */
  assert_null(x->incoming);
  assert_int_equal(set.offers, 4);
  assert_int_equal(set.down[4], 0);
  assert_int_equal(apply(g, "test/set", "0 4"), 0);
  gi_graph_free(&g); /* with an offer that was never taken */
}

static void
all_or_nothing(void **state)
{
  struct gi_graph *g = build("test/set", "0 1 2");
  unsigned count = g->count;

  set.refuse = true;
  assert_int_equal(apply(g, "test/set", "0 1 2 3"), -1);
  assert_int_equal(set.seen, 4);
  assert_int_equal(set.offers, 0);
  assert_int_equal(g->count, count);
  assert_children(g, "0 1 2");
  assert_null(gi_graph_find(g, "set")->incoming);
  gi_graph_free(&g);
}

static void
refused_as_another_topology(void **state)
{
  struct gi_graph *g = build("test/set", "0 1 2");

  assert_int_equal(apply(g, "test/set", "0 1 2 3 4"), 1); /* more than the class takes */
  assert_int_equal(apply(g, "test/set", "0+ 1"), 1);      /* a kept one elsewhere, and another gone: too much at once */
  assert_int_equal(apply(g, "test/fixed", "0 1 2"), 1);   /* another type */
  assert_children(g, "0 1 2");
  assert_int_equal(set.offers, 0);
  gi_graph_free(&g);
  g = build("test/fixed", "0 1");
  assert_int_equal(apply(g, "test/fixed", "0 1 2"), 1); /* does not allow it */
  assert_int_equal(apply(g, "test/fixed", "0"), 1);
  assert_children(g, "0 1");
  gi_graph_free(&g);
}

/* Fds that exist get the bytes of a new child when it asks for them, however many came before. */
static void
always_room(void **state)
{
  struct gi_graph *g = build("test/set", "0");
  struct gi_fd *fd = gi_fd_new(g, NULL, 0, 0);
  char leaves[] = "0 1", name[] = "leaf-1";

  for (; leaves[2] <= '9'; leaves[2]++, name[5]++) {
    assert_int_equal(apply(g, "test/set", leaves), 0);
    uint8_t *bytes = gi_fd_private(fd, gi_graph_find(g, name));
    for (unsigned i = 0; i < LEAF_BYTES; i++)
      assert_int_equal(bytes[i], 0);
    memset(bytes, name[5], LEAF_BYTES);
  }
  gi_fd_unref(&fd);
  gi_graph_free(&g);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(children_come_and_go, setup, teardown),
      cmocka_unit_test_setup_teardown(subtrees_come_and_go, setup, teardown),
      cmocka_unit_test_setup_teardown(taken_later, setup, teardown),
      cmocka_unit_test_setup_teardown(all_or_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(refused_as_another_topology, setup, teardown),
      cmocka_unit_test_setup_teardown(always_room, setup, teardown),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
