/* SPDX-License-Identifier: Apache-2.0
 *
 * cluster/distribute: one child, the layout of new directories, the refusal; what bricks tell passes.
 */
#include "tests/unit/fake.h"

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 1);
  fake_check_transparent(s, GI_KIND(GI_FOP_READDIR) | GI_KIND(GI_FOP_READDIRP)); /* see children_test */
  /* Nothing of the hot path comes here. */
  assert_ptr_equal(s->parent->next[GI_FOP_WRITE], s->x->children[0]);
  fake_stack_free(s);
}

static void
see_layout(struct gi_fop *fop, void *arg)
{
  const void *data;
  uint32_t len;
  assert_true(gi_dict_get_bin(fop->xdata, "trusted.glusterfs.dht", &data, &len));
  assert_int_equal(len, 16);
  assert_memory_equal(data, "\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff", 16);
  ++*(int *)arg;
}

static void
test_layout(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 1);
  int seen = 0;
  struct gi_fop *f = fake_fop(s, GI_FOP_MKDIR);
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 5), "dir");
  fake_script(s, 0, GI_FOP_MKDIR, (struct fake_reply){.fill = see_layout, .arg = &seen});
  fake_submit(s, f);
  assert_int_equal(seen, 1);
  fake_stack_free(s);
}

static void
list(struct gi_fop *fop, void *arg)
{
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_bin(fop->rsp.dict, "trusted.glusterfs.dht", "x", 1);
  gi_dict_set_bin(fop->rsp.dict, "user.a", "y", 1);
}

static void
test_hidden(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 1);
  struct gi_fop *f = fake_fop(s, GI_FOP_GETXATTR);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  fake_script(s, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = list});
  fake_submit(s, f);
  assert_int_equal(gi_dict_count(f->rsp.dict), 1);
  assert_non_null(gi_dict_get(f->rsp.dict, "user.a"));
  fake_stack_free(s);
}

static void
test_too_many(void **state)
{
  struct gi_error err = {0};
  assert_null(fake_stack_try("cluster/distribute", NULL, 65, &err));
  assert_non_null(strstr(err.text, "65 subvolumes: this version spreads files over 64 at most"));
}

/* A brick tells once of an operation: with what a file is told, its directory is, where a name of it has changed. */
static void
test_directory_of_a_name_is_told(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
  struct gi_invalidation inv = {.flags = GI_UPCALL_NLINK}, *seen;

  memset(inv.gfid.b, 9, sizeof(inv.gfid.b));
  memset(inv.parent.gfid.b, 5, sizeof(inv.parent.gfid.b));
  inv.parent.mode = S_IFDIR | 0755;
  inv.parent.mtime.sec = 4711; /* of its copy on one subvolume */
  inv.old_parent = inv.parent;
  fake_event(s, 1, GI_EVENT_INVALIDATE, &inv);
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1);
  seen = s->last_event_data;
  for (unsigned i = 0; i < 2; i++) {
    const struct gi_iatt *dir = i ? &seen->old_parent : &seen->parent;

    assert_true(gi_iatt_valid(dir));
    assert_int_equal(dir->gfid.b[0], 5);
    assert_int_equal(dir->mtime.sec, 0);
  }
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_layout),
      cmocka_unit_test(test_hidden),
      cmocka_unit_test(test_too_many),
      cmocka_unit_test(test_directory_of_a_name_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
