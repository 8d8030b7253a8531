/* SPDX-License-Identifier: Apache-2.0
 *
 * How many bytes a fop, an inode and an fd have in a graph, and who has which.
 */
#include "libglusterish/graph.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TOP_FOP 32
#define SET_FOP 256
#define LEAF_FOP 112
#define LEAF_INODE 48
#define BIG (4 * GI_SLACK_FOP + 5) /* more than any slack */

static unsigned big_inits;

static int
big_init(struct gi_xlator *x, struct gi_error *err)
{
  big_inits++;
  return 0;
}

static void
take_at_once(struct gi_xlator *x)
{
  if (x->incoming)
    gi_xlator_take_children(x);
}

static const struct gi_xlator_class classes[] = {
    {.abi = GI_XLATOR_ABI, .type = "place/leaf", .fop_bytes = LEAF_FOP, .inode_bytes = LEAF_INODE, .fd_bytes = 8},
    {.abi = GI_XLATOR_ABI,
     .type = "place/set",
     .min_children = 1,
     .max_children = 64,
     .fop_bytes = SET_FOP,
     .inode_bytes = 16,
     .children_changed = take_at_once},
    {.abi = GI_XLATOR_ABI, .type = "place/top", .min_children = 1, .max_children = 64, .fop_bytes = TOP_FOP},
    {.abi = GI_XLATOR_ABI,
     .type = "place/spread",
     .min_children = 1,
     .max_children = 64,
     .branches = true,
     .inode_bytes = 16,
     .children_changed = take_at_once},
    {.abi = GI_XLATOR_ABI, .type = "place/mid", .min_children = 1, .max_children = 1, .fop_bytes = 16},
    {.abi = GI_XLATOR_ABI,
     .type = "place/big",
     .min_children = 1,
     .max_children = 1,
     .fop_bytes = BIG,
     .inode_bytes = BIG,
     .fd_bytes = BIG,
     .init = big_init,
     .layer = {{.side = GI_SIDE_CLIENT, .key = "place.big", .def = "off"}}},
    {.abi = GI_XLATOR_ABI,
     .type = "place/other",
     .min_children = 1,
     .max_children = 1,
     .fop_bytes = BIG,
     .inode_bytes = BIG,
     .fd_bytes = BIG,
     .layer = {{.side = GI_SIDE_CLIENT, .key = "place.other", .def = "off"}}},
};

static const char *top_type;

struct fixture {
  struct gi_ctx ctx;
  struct gi_graph *g;
};

static int
setup(void **state)
{
  struct fixture *f = gi_new(struct fixture);
  for (size_t i = 0; i < GI_ARRAY_LEN(classes); i++)
    gi_class_register(&classes[i]);
  top_type = "place/top";
  f->ctx = (struct gi_ctx){.reactor = gi_reactor_new(0), .process_name = "t"};
  big_inits = 0;
  *state = f;
  return 0;
}

static int
teardown(void **state)
{
  struct fixture *f = *state;
  gi_graph_free(&f->g);
  gi_reactor_free(f->ctx.reactor);
  gi_free(f);
  return 0;
}

static struct gi_volfile *
parse(const char *text)
{
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  assert_string_equal(err.text, "");
  return vf;
}

static void
build(struct fixture *f, const char *text)
{
  struct gi_error err = {0};
  struct gi_volfile *vf = parse(text);
  f->g = gi_graph_build(&f->ctx, &vf, NULL, &err);
  assert_string_equal(err.text, "");
  assert_non_null(f->g);
  gi_graph_activate(f->g);
}

static int
change(struct fixture *f, const char *text)
{
  struct gi_error err = {0};
  struct gi_volfile *vf = parse(text);
  int rc = gi_graph_reconfigure(f->g, &vf, &err);
  gi_volfile_free(&vf);
  return rc;
}

static bool
share(const struct gi_xlator *a, const struct gi_xlator *b)
{
  return a != b && a->fop_offset < b->fop_offset + b->cls->fop_bytes && b->fop_offset < a->fop_offset + a->cls->fop_bytes;
}

/* Nobody shares bytes of a fop with anybody below. */
static void
check_below(const struct gi_xlator *x, const struct gi_xlator *below)
{
  for (unsigned i = 0; i < below->nchildren; i++) {
    if (share(x, below->children[i]))
      fail_msg("%s and %s share bytes", x->name, below->children[i]->name);
    check_below(x, below->children[i]);
  }
}

static void
check(const struct gi_graph *g)
{
  for (unsigned i = 0; i < g->count; i++) {
    const struct gi_xlator *x = g->xlators[i];
    check_below(x, x);
    assert_true(x->fop_offset + x->cls->fop_bytes <= g->fop_bytes);
    const struct gi_part *part = x->part ? &g->parts[x->part - 1] : NULL;
    assert_true(x->inode_offset + x->cls->inode_bytes <= (part ? part->inode_bytes : g->inode_bytes));
    assert_true(x->fd_offset + x->cls->fd_bytes <= (part ? part->fd_bytes : g->fd_bytes));
    for (unsigned k = 0; k < i; k++) {
      const struct gi_xlator *o = g->xlators[k];
      if (x->part == o->part && x->cls->inode_bytes && o->cls->inode_bytes)
        assert_true(x->inode_offset >= o->inode_offset + o->cls->inode_bytes ||
                    o->inode_offset >= x->inode_offset + x->cls->inode_bytes);
    }
  }
}

/* `sets` sets of `leaves` each below one top. */
static char *
volume(unsigned sets, unsigned leaves, const char *above_top)
{
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  for (unsigned s = 0; s < sets; s++) {
    for (unsigned l = 0; l < leaves; l++)
      fprintf(out, "volume leaf-%u-%u\n type place/leaf\nend-volume\n", s, l);
    fprintf(out, "volume set-%u\n type place/set\n subvolumes", s);
    for (unsigned l = 0; l < leaves; l++)
      fprintf(out, " leaf-%u-%u", s, l);
    fprintf(out, "\nend-volume\n");
  }
  fprintf(out, "volume top\n type %s\n subvolumes", top_type);
  for (unsigned s = 0; s < sets; s++)
    fprintf(out, " set-%u", s);
  fprintf(out, "\nend-volume\n%s", above_top);
  fclose(out);
  return text;
}

#define FOP_BYTES (TOP_FOP + SET_FOP + LEAF_FOP + GI_SLACK_FOP)

static void
test_a_fop_has_the_bytes_of_the_longest_path(void **state)
{
  struct fixture *f = *state;
  GI_CLEANUP_FREE char *wide = volume(20, 3, "");
  build(f, wide);
  assert_int_equal(f->g->fop_bytes, FOP_BYTES);
  assert_int_equal(f->g->inode_bytes, 20 * (3 * LEAF_INODE + 16));
  assert_int_equal(f->g->fd_bytes, 20 * 3 * 16);
  assert_true(share(gi_graph_find(f->g, "leaf-0-0"), gi_graph_find(f->g, "leaf-19-2")));
  check(f->g);
}

/* A new sibling takes the bytes of a fop that its siblings have, and a piece of its own of an inode. */
static void
test_new_children_need_no_more_bytes(void **state)
{
  struct fixture *f = *state;
  GI_CLEANUP_FREE char *few = volume(1, 1, ""), *many = volume(1, 5, "");
  build(f, few);
  assert_int_equal(change(f, many), 0);
  check(f->g);
  assert_int_equal(f->g->fop_used, FOP_BYTES - GI_SLACK_FOP);
}

static void
use(const struct fixture *f, struct gi_inode *inode, const char *leaf, uint8_t expect, uint8_t value)
{
  const struct gi_xlator *x = gi_graph_find(f->g, leaf);
  uint8_t *bytes = gi_inode_private(inode, x);

  for (unsigned i = 0; i < LEAF_INODE; i++)
    assert_int_equal(bytes[i], expect);
  memset(bytes, value, LEAF_INODE);
}

/* Below one that branches an inode has the bytes of the subtrees that use it, and no others. */
static void
test_a_subtree_has_its_bytes_when_it_is_used(void **state)
{
  struct fixture *f = *state;
  top_type = "place/spread";
  GI_CLEANUP_FREE char *wide = volume(20, 3, "");
  build(f, wide);
  assert_int_equal(f->g->inode_bytes, 16);
  assert_int_equal(f->g->fd_bytes, 0);
  struct gi_inode *inode = gi_inode_get(f->g, &gi_gfid_root);
  assert_int_equal(inode->pieces.bytes, 0);
  use(f, inode, "leaf-7-0", 0, 1);
  use(f, inode, "leaf-7-1", 0, 2);
  uint32_t one = inode->pieces.bytes;
  assert_int_equal(one, 3 * LEAF_INODE + 16);
  use(f, inode, "leaf-19-2", 0, 3);
  assert_int_equal(inode->pieces.bytes, 2 * one);
  use(f, inode, "leaf-7-0", 1, 1);
  use(f, inode, "leaf-7-1", 2, 2);
  struct gi_fd *fd = gi_fd_new(f->g, inode, 0, 0);
  assert_memory_equal(gi_fd_private(fd, gi_graph_find(f->g, "leaf-3-1")), "\0\0\0\0\0\0\0\0", 8);
  gi_fd_unref(&fd);
  gi_inode_unref(&inode);
}

/* A second subtree joins the running graph, however much its translators keep. */
static void
test_a_subtree_joins_whatever_it_needs(void **state)
{
  struct fixture *f = *state;
  top_type = "place/spread";
  GI_CLEANUP_FREE char *one = volume(1, 2, ""), *four = volume(4, 40, ""), *three = volume(3, 40, "");
  build(f, one);
  struct gi_inode *inode = gi_inode_get(f->g, &gi_gfid_root);
  use(f, inode, "leaf-0-1", 0, 1);
  assert_int_equal(inode->pieces.bytes, 0); /* the only one has no part of its own */
  assert_int_equal(change(f, three), 0);
  use(f, inode, "leaf-1-39", 0, 2);
  assert_int_equal(change(f, four), 0);
  use(f, inode, "leaf-3-39", 0, 3);
  use(f, inode, "leaf-1-39", 2, 2);
  use(f, inode, "leaf-0-1", 1, 1);
  gi_inode_unref(&inode);
}

static const char big[] = "volume big\n type place/big\n subvolumes top\nend-volume\n"
                          "volume end\n type place/top\n subvolumes big\nend-volume\n";
static const char both[] = "volume other\n type place/other\n subvolumes top\nend-volume\n"
                           "volume big\n type place/big\n subvolumes other\nend-volume\n"
                           "volume end\n type place/top\n subvolumes big\nend-volume\n";
static const char none[] = "volume end\n type place/top\n subvolumes top\nend-volume\n";

static void
test_what_a_switch_adds_always_fits(void **state)
{
  struct fixture *f = *state;
  GI_CLEANUP_FREE char *off = volume(2, 2, none), *on = volume(2, 2, big), *all = volume(2, 2, both),
                       *more = volume(2, 3, both);
  f->ctx.side = GI_SIDE_CLIENT;
  build(f, off);
  assert_null(gi_graph_find(f->g, "big"));
  assert_int_equal(big_inits, 0);
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(change(f, on), 0);
    check(f->g);
    assert_int_equal(change(f, off), 0);
  }
  assert_int_equal(big_inits, 1);
  assert_int_equal(change(f, all), 0);
  check(f->g);
  assert_int_equal(change(f, more), 0);
  check(f->g);
}

/* Where nobody says of which side a process is, such a translator is refused and nothing has changed. */
static void
test_what_does_not_fit_changes_nothing(void **state)
{
  struct fixture *f = *state;
  GI_CLEANUP_FREE char *off = volume(1, 2, none), *on = volume(1, 2, big);
  build(f, off);
  uint32_t used = f->g->fop_used;
  assert_int_equal(change(f, on), 1);
  assert_int_equal(f->g->fop_used, used);
  assert_int_equal(f->g->nparts, 0);
  assert_null(gi_graph_find(f->g, "big"));
  assert_int_equal(big_inits, 0);
}

#define LEAVES "volume leaf-0\n type place/leaf\nend-volume\nvolume leaf-1\n type place/leaf\nend-volume\n"
#define MID(below) "volume mid\n type place/mid\n subvolumes " below "\nend-volume\n"
#define SET(a, b) "volume set\n type place/set\n subvolumes " a " " b "\nend-volume\n"

/* A parked translator has the bytes of the path that it was on; others may have them on another one. */
static void
test_a_parked_translator_comes_back_on_its_path_only(void **state)
{
  struct fixture *f = *state;
  build(f, LEAVES MID("leaf-0") SET("mid", "leaf-1"));
  assert_true(share(gi_graph_find(f->g, "mid"), gi_graph_find(f->g, "leaf-1")));
  assert_int_equal(change(f, LEAVES SET("leaf-0", "leaf-1")), 0);
  assert_int_equal(change(f, LEAVES MID("leaf-1") SET("leaf-0", "mid")), 1);
  check(f->g);
  assert_int_equal(change(f, LEAVES MID("leaf-0") SET("mid", "leaf-1")), 0);
  check(f->g);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_a_fop_has_the_bytes_of_the_longest_path),
      TEST(test_a_subtree_has_its_bytes_when_it_is_used),
      TEST(test_a_subtree_joins_whatever_it_needs),
      TEST(test_new_children_need_no_more_bytes),
      TEST(test_what_a_switch_adds_always_fits),
      TEST(test_what_does_not_fit_changes_nothing),
      TEST(test_a_parked_translator_comes_back_on_its_path_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
