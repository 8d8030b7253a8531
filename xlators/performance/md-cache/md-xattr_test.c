/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/md-cache: extended attributes of the set.
 */
#include "xlators/performance/md-cache/md-rig.h"

#include <errno.h>

static void
test_a_lookup_brings_the_set(void **state)
{
  struct fake_stack *s = *state;

  look_up(s, CAPABILITY);
  assert_false(asked_for(s, CAPABILITY, "value"));
  assert_false(asked_for(s, "security.ima", NULL)); /* that it is not there is known, too */
  assert_true(asked_for(s, "user.other", NULL));    /* not of the set */
  assert_true(asked_for(s, "user.other", NULL));
}

static void
test_a_single_one_is_kept(void **state)
{
  struct fake_stack *s = *state;

  assert_true(asked_for(s, CAPABILITY, NULL));
  assert_false(asked_for(s, CAPABILITY, NULL));
  assert_true(asked_for(s, "security.ima", "sum")); /* of that one nothing was said */
  assert_false(asked_for(s, "security.ima", "sum"));
  assert_false(asked_for(s, CAPABILITY, NULL));
}

static void
test_the_list_may_have_patterns(void **state)
{
  struct fake_stack *s = stack("option xattr-cache-list user.app.*,user.one\n");

  look_up(s, "user.app.x");
  assert_false(asked_for(s, "user.app.x", "value"));
  assert_false(asked_for(s, "user.app.y", NULL));
  assert_false(asked_for(s, "user.one", NULL));
  assert_true(asked_for(s, "user.two", NULL));
  fake_stack_free(s);
}

static void
assert_kept(const char *option, const char *name)
{
  GI_CLEANUP_FREE char *on = gi_asprintf("option %s on\n", option), *off = gi_asprintf("option %s off\n", option);
  struct fake_stack *s = stack(on);

  look_up(s, NULL);
  assert_false(asked_for(s, name, NULL));
  fake_stack_free(s);
  s = stack(off);
  look_up(s, NULL);
  assert_true(asked_for(s, name, NULL));
  fake_stack_free(s);
}

static void
test_each_switch_adds_its_names(void **state)
{
  assert_kept("cache-capability-xattrs", CAPABILITY);
  assert_kept("cache-ima-xattrs", "security.ima");
  assert_kept("cache-selinux", "security.selinux");
  assert_kept("cache-posix-acl", "system.posix_acl_access");
  assert_kept("cache-posix-acl", "system.posix_acl_default");
  assert_kept("cache-samba-metadata", "user.DOSATTRIB");
  assert_kept("cache-samba-metadata", "security.NTACL");
  assert_kept("cache-swift-metadata", "user.swift.metadata");
}

static void
test_another_set_is_asked_for_anew(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err = {0};

  look_up(s, NULL);
  assert_int_equal(fake_stack_children(s, "option xattr-cache-list user.new\n", (unsigned[]){0}, 1, &err), 0);
  assert_true(asked_for(s, "user.new", "there"));
}

static void
test_own_changes_of_the_set_are_known(void **state)
{
  struct fake_stack *s = stack("option cache-samba-metadata on\n");
  struct gi_fop *f = at(s, GI_FOP_REMOVEXATTR, FILE_A);

  look_up(s, NULL);
  set_value(s, "user.DOSATTRIB", "hidden");
  assert_false(asked_for(s, "user.DOSATTRIB", "hidden"));
  assert_false(asked_for(s, "security.NTACL", NULL));
  f->args.name = "user.DOSATTRIB";
  fake_submit(s, f);
  assert_false(asked_for(s, "user.DOSATTRIB", NULL));
  set_value(s, "security.NTACL", "acl"); /* the machine may make something else of it */
  assert_true(asked_for(s, "security.NTACL", "acl."));
  fake_stack_free(s);
}

static void
test_a_change_of_the_set_that_failed_is_not_known(void **state)
{
  struct fake_stack *s = stack("option cache-samba-metadata on\n");

  look_up(s, NULL);
  fake_script(s, 0, GI_FOP_SETXATTR, (struct fake_reply){.ret = -1, .err = EIO});
  set_value(s, "user.DOSATTRIB", "hidden");
  assert_true(asked_for(s, "user.DOSATTRIB", NULL));
  fake_stack_free(s);
}

static void
test_what_is_asked_during_a_change_of_the_set_is_not_kept(void **state)
{
  struct fake_stack *s = *state;

  hold(s, GI_FOP_SETXATTR);
  set_value(s, CAPABILITY, "new");
  assert_true(asked_for(s, CAPABILITY, NULL));
  look_up(s, NULL);
  assert_true(asked_for(s, CAPABILITY, NULL));
  assert_true(fake_release(s, 0, GI_FOP_SETXATTR, 0, 0));
  assert_true(asked_for(s, CAPABILITY, "new"));
  assert_false(asked_for(s, CAPABILITY, "new"));
}

static void
test_writing_takes_a_capability_away(void **state)
{
  struct fake_stack *s = *state;
  struct step step = {{FILE_A, 10, 1}, {FILE_A, 11, 2}};

  look_up(s, CAPABILITY);
  wrote(s, GI_FOP_WRITE, &step);
  assert_true(asked_for(s, CAPABILITY, NULL));
  step = (struct step){{FILE_A, 11, 2}, {FILE_A, 12, 3}};
  wrote(s, GI_FOP_WRITE, &step);
  assert_false(asked_for(s, CAPABILITY, NULL)); /* but brings none */
}

static void
test_a_change_of_mode_forgets_the_set(void **state)
{
  struct fake_stack *s = *state;

  look_up(s, NULL);
  sent(s, at(s, GI_FOP_SETATTR, FILE_A));
  assert_true(asked_for(s, CAPABILITY, NULL));
}

static void
test_what_shall_not_be_kept_is_not(void **state)
{
  struct fake_stack *s = *state;

  look_up(s, "glusterfs.skip-cache");
  assert_true(asked_for(s, CAPABILITY, NULL));
}

static void
test_bricks_tell_of_changes_of_the_set(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid, .flags = 0x400};

  look_up(s, NULL);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_true(asked_for(s, CAPABILITY, "new"));
  inv.flags = 0x8; /* its size: somebody wrote */
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_true(asked_for(s, CAPABILITY, NULL));
}

static void
test_a_new_file_has_no_capability(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = fake_fop(s, GI_FOP_MKNOD);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &fake_inode(s, FILE_A)->gfid);
  fake_script(s, 0, GI_FOP_MKNOD, (struct fake_reply){.fill = fill_made});
  fake_submit(s, f);
  assert_false(asked_for(s, CAPABILITY, NULL));
  assert_true(asked_for(s, "security.ima", NULL));
}

static void
fill_entries(struct gi_fop *fop, void *arg)
{
  struct gi_dirent e = {.name = "a", .name_len = 1, .stat = iatt(FILE_A, 10, 1)};

  assert_non_null(gi_dict_get(fop->xdata, CAPABILITY));
  gi_dirents_add(&fop->rsp.entries, &e, fop);
  fop->rsp.ret = 1;
}

static void
test_a_listing_brings_attributes(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f;

  fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries});
  f = sent(s, on_fd(s, GI_FOP_READDIR, DIRECTORY)); /* nobody asked for them */
  assert_int_equal(f->kind, GI_FOP_READDIR);
  assert_int_equal(f->rsp.entries.count, 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_READDIRP), 1);
  assert_false(asked(s, FILE_A, 10, 1));
  assert_false(asked_for(s, CAPABILITY, NULL));
}

/* ---- what bricks are asked to tell of ---- */

static void
see_names(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->args.what, 2);
  assert_non_null(gi_dict_get(fop->xdata, CAPABILITY));
  assert_non_null(gi_dict_get(fop->xdata, "user.app.*"));
}

static void
test_bricks_hear_which_names_are_kept(void **state)
{
  struct fake_stack *s =
      stack("option md-cache-timeout 600\noption cache-invalidation on\noption xattr-cache-list user.app.*\n");

  fake_script_always(s, 0, GI_FOP_IPC, (struct fake_reply){.fill = see_names});
  for (unsigned i = 1; i <= 3; i++) {
    fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
    fake_settle(s);
    assert_int_equal(fake_count(s, 0, GI_FOP_IPC), i);
  }
  fake_stack_free(s);
}

static void
test_nobody_is_asked_where_little_is_kept(void **state)
{
  struct fake_stack *s = *state; /* 60 s */

  fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  fake_settle(s);
  assert_int_equal(fake_count(s, 0, GI_FOP_IPC), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, md_setup, md_teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_a_lookup_brings_the_set),
      TEST(test_a_single_one_is_kept),
      cmocka_unit_test(test_the_list_may_have_patterns),
      cmocka_unit_test(test_each_switch_adds_its_names),
      TEST(test_another_set_is_asked_for_anew),
      cmocka_unit_test(test_own_changes_of_the_set_are_known),
      cmocka_unit_test(test_a_change_of_the_set_that_failed_is_not_known),
      TEST(test_what_is_asked_during_a_change_of_the_set_is_not_kept),
      TEST(test_writing_takes_a_capability_away),
      TEST(test_a_change_of_mode_forgets_the_set),
      TEST(test_what_shall_not_be_kept_is_not),
      TEST(test_bricks_tell_of_changes_of_the_set),
      TEST(test_a_new_file_has_no_capability),
      TEST(test_a_listing_brings_attributes),
      cmocka_unit_test(test_bricks_hear_which_names_are_kept),
      TEST(test_nobody_is_asked_where_little_is_kept),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
