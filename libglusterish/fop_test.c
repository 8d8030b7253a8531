/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of a fop: which object it is about, and what it shares.
 */
#include "tests/unit/fake.h"

#include <fcntl.h>

static const struct gi_xlator_class deaf_class = {
    .abi = GI_XLATOR_ABI, .type = "test/deaf", .min_children = 1, .max_children = 1};

static void
test_object_of_a_fop(void **state)
{
  struct fake_stack *s = fake_stack_new("test/deaf", NULL, 1);
  struct gi_inode *one = fake_inode(s, 1), *two = fake_inode(s, 2);
  struct gi_fop *f = gi_fop_new(s->graph, GI_FOP_FSTAT);

  assert_null(gi_fop_inode(f)); /* it names nothing */
  assert_true(gi_gfid_is_none(gi_fop_gfid(f)));
  f->loc.gfid = one->gfid; /* by gfid alone: looked up, and then kept */
  assert_true(gi_gfid_equal(gi_fop_gfid(f), &one->gfid));
  assert_null(f->loc.inode);
  assert_ptr_equal(gi_fop_inode(f), one);
  assert_ptr_equal(f->loc.inode, one);
  f->fd = gi_fd_ref(fake_fd(s, 2)); /* the fd goes before the place */
  assert_ptr_equal(gi_fop_inode(f), two);
  assert_true(gi_gfid_equal(gi_fop_gfid(f), &two->gfid));
  gi_fd_unref(&f->fd);
  f->fd = gi_fd_new(s->graph, NULL, O_RDWR, 100); /* not bound yet: a file that is being created */
  assert_ptr_equal(gi_fop_inode(f), one);
  gi_fop_unref(f);
  fake_stack_free(s);
}

static void
test_places_of_a_fop(void **state)
{
  struct fake_stack *s = fake_stack_new("test/deaf", NULL, 1);
  struct gi_inode *one = fake_inode(s, 1), *two = fake_inode(s, 2);
  struct gi_fop *f = gi_fop_new(s->graph, GI_FOP_RENAME);

  assert_null(gi_loc_parent(f, &f->loc2));
  f->loc2.pargfid = one->gfid;
  f->loc2.gfid = two->gfid;
  assert_ptr_equal(gi_loc_parent(f, &f->loc2), one);
  assert_ptr_equal(gi_loc_inode(f, &f->loc2), two);
  assert_ptr_equal(f->loc2.parent, one);
  gi_fop_unref(f);
  fake_stack_free(s);
}

static void
test_detached_caller(void **state)
{
  uint32_t groups[2] = {1, 2};
  struct gi_caller who = {.uid = 7, .groups = groups, .ngroups = 2};

  gi_caller_detach(&who);
  assert_null(who.groups);
  assert_int_equal(who.ngroups, 0);
  assert_int_equal(who.uid, 7);
}

int
main(void)
{
  gi_class_register(&deaf_class);

  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_object_of_a_fop),
      cmocka_unit_test(test_places_of_a_fop),
      cmocka_unit_test(test_detached_caller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
