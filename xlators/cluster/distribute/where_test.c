/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of where an object is.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

static void
say_place(struct gi_fop *fop, void *arg)
{
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_str(fop->rsp.dict, fop->args.name, arg);
}

static struct fake_stack *
stack_with_places(void)
{
  static char place[2][8] = {"<A>", "<B>"};
  struct fake_stack *s = stack_with_dir(2, 0);

  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_GETXATTR, (struct fake_reply){.ret = 4, .fill = say_place, .arg = place[i]});
  return s;
}

static void
expect(struct fake_stack *s, uint8_t gfid, const char *name, const char *want)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_GETXATTR);
  const char *text;

  gi_loc_set_inode(&f->loc, fake_inode(s, gfid));
  f->args.name = name;
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, strlen(want) + 1);
  assert_true(gi_dict_get_str(f->rsp.dict, name, &text));
  assert_string_equal(text, want);
}

static void
test_file(void **state)
{
  struct fake_stack *s = stack_with_places();
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 2));

  fake_script(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  expect(s, FILE_GFID, "trusted.glusterfs.pathinfo", "(<DISTRIBUTE:under-test> <B>)");
  expect(s, FILE_GFID, "glusterfs.pathinfo", "(<DISTRIBUTE:under-test> <B>)");
  expect(s, FILE_GFID, "glusterfs.list-node-uuids", "<B>");
  fake_stack_free(s);
}

static void
test_directory(void **state)
{
  struct fake_stack *s = stack_with_places();
  struct gi_fop *f = fake_fop(s, GI_FOP_GETXATTR);

  expect(s, DIR_GFID, "glusterfs.pathinfo",
         "((<DISTRIBUTE:under-test> <A> <B>) (under-test-layout (child-0 0 2147483646) (child-1 2147483647 4294967295)))");
  expect(s, DIR_GFID, "trusted.glusterfs.list-node-uuids", "<A> <B>");
  fake_event(s, 0, GI_EVENT_CHILD_DOWN, NULL);
  fake_event(s, 1, GI_EVENT_CHILD_DOWN, NULL);
  gi_loc_set_inode(&f->loc, fake_inode(s, DIR_GFID));
  f->args.name = "glusterfs.pathinfo";
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOTCONN);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_file),
      cmocka_unit_test(test_directory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
