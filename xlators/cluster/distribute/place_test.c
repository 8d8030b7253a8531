/* SPDX-License-Identifier: Apache-2.0
 *
 * New files that go elsewhere than where their names belong, because that was asked for.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

#include <sys/utsname.h>

#define ROOM "option min-free-disk 0\noption min-free-inodes 0\n"

static void
options_are(struct fake_stack *s, const char *text)
{
  GI_CLEANUP_FREE char *all = gi_asprintf(ROOM "%s", text);

  assert_int_equal(fake_stack_children(s, all, (const unsigned[]){0, 1, 2}, 3, NULL), 0);
  fake_settle(s);
}

static void
put(struct fake_stack *s, const char *name)
{
  struct gi_fop *f = entry_fop(s, GI_FOP_CREATE, name);

  fake_forget_seen(s);
  f->fd = gi_fd_new(s->graph, NULL, O_RDWR, 1);
  for (unsigned i = 0; i < 3; i++)
    fake_script_always(s, i, GI_FOP_CREATE, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
}

/* A new file of that name is made on `child`, and led to from where the name belongs if that is another one. */
static void
goes_to(struct fake_stack *s, const char *name, unsigned home, unsigned child)
{
  put(s, name);
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(fake_count(s, i, GI_FOP_CREATE), i == child);
    assert_int_equal(fake_count(s, i, GI_FOP_MKNOD), i == home && home != child);
  }
}

static void
say_where(struct gi_fop *fop, void *arg)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("<POSIX(/b):%s:/b/>", (const char *)arg);

  fop->rsp.dict = gi_dict_new();
  gi_dict_set_str(fop->rsp.dict, fop->args.name, text);
}

/* ---- by the machine ---- */

static void
test_named(void **state)
{
  struct fake_stack *s = stack_with_dir(3, 0);

  options_are(s, "option nufa on\noption local-volume-name child-2\n");
  assert_int_equal(fake_count(s, 0, GI_FOP_GETXATTR), 0);
  goes_to(s, name_on(0, 3), 0, 2);
  goes_to(s, name_on(2, 3), 2, 2);
  options_are(s, "option local-volume-name child-2\n");
  goes_to(s, name_on(0, 3), 0, 0);
  options_are(s, "option nufa on\noption local-volume-name child-7\n");
  goes_to(s, name_on(1, 3), 1, 1);
  fake_stack_free(s);
}

static void
test_found(void **state)
{
  struct fake_stack *s = stack_with_dir(3, 0);
  static char other[] = "some.other.machine";
  struct utsname uts;

  assert_int_equal(uname(&uts), 0);
  for (unsigned i = 0; i < 3; i++)
    fake_script_always(s, i, GI_FOP_GETXATTR,
                       (struct fake_reply){.ret = 1, .fill = say_where, .arg = i == 1 ? uts.nodename : other});
  options_are(s, "option nufa on\n");
  goes_to(s, name_on(0, 3), 0, 1);
  goes_to(s, name_on(1, 3), 1, 1);

  /* It keeps its place when another leaves before it. */
  assert_int_equal(fake_stack_children(s, ROOM "option nufa on\n", (const unsigned[]){1, 2}, 2, NULL), 0);
  fake_settle(s);
  assert_int_equal(di_of(s->x)->local, 1);
  fake_stack_free(s);
}

static void
test_nobody_asks_without_it(void **state)
{
  struct fake_stack *s = stack_with_dir(3, 0);

  fake_event(s, 1, GI_EVENT_CHILD_DOWN, NULL);
  fake_event(s, 1, GI_EVENT_CHILD_UP, NULL);
  assert_int_equal(fake_count(s, 1, GI_FOP_GETXATTR), 0);
  fake_stack_free(s);
}

/* ---- by the name ---- */

static void
test_patterns(void **state)
{
  struct fake_stack *s = stack_with_dir(3, 0);

  options_are(s, "option switch on\noption pattern.switch.case n*:child-1;m?*:child-2,child-0\n");
  goes_to(s, name_on(0, 3), 0, 1);
  goes_to(s, name_on(1, 3), 1, 1);
  goes_to(s, other_name_on(0, 3), 0, 0);
  goes_to(s, other_name_on(2, 3), 2, 2);
  goes_to(s, other_name_on(1, 3), 1, 0);
  options_are(s, "option pattern.switch.case n*:child-1\n");
  goes_to(s, name_on(0, 3), 0, 0);
  fake_stack_free(s);
}

static void
test_what_is_no_pattern(void **state)
{
  static const char *const bad[] = {"*.jpg", "*.jpg:", ":child-0", "*.jpg:child-0;*.txt"};
  struct fake_stack *s = stack_with_dir(3, 0);

  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    GI_CLEANUP_FREE char *text = gi_asprintf("option pattern.switch.case %s\n", bad[i]);
    struct gi_error err = {0};

    assert_int_not_equal(fake_stack_children(s, text, (const unsigned[]){0, 1, 2}, 3, &err), 0);
    assert_non_null(strstr(err.text, bad[i]));
  }
  fake_stack_free(s);
}

/* What a mount could not use `volume set` refuses. */
static void
test_values_that_say_nothing(void **state)
{
  static const char *const bad[][2] = {
      {"rebal-throttle", "bogus"}, {"rebal-throttle", "0"},          {"rebal-throttle", "65"},     {"extra-hash-regex", "("},
      {"rsync-hash-regex", "abc"}, {"pattern.switch.case", "*.jpg"}, {"extra-hash-regex", "a(b)["}};
  static const char *const good[][2] = {
      {"rebal-throttle", "lazy"},     {"rebal-throttle", "normal"}, {"rebal-throttle", "aggressive"}, {"rebal-throttle", "64"},
      {"extra-hash-regex", "(.*)~$"}, {"rsync-hash-regex", "none"}, {"pattern.switch.case", "a:b"}};

  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    struct gi_error err = {0};

    assert_int_equal(gi_option_check(gi_option_find(di_table, bad[i][0]), bad[i][1], &err), -1);
    assert_non_null(strstr(err.text, bad[i][1]));
    assert_int_equal(gi_option_check(gi_option_find(di_table, good[i][0]), good[i][1], &err), 0);
  }
}

/* ---- who has no room, or is away ---- */

static void
say_full(struct gi_fop *fop, void *arg)
{
  fop->rsp.statfs = (struct gi_statfs){.bsize = 4096, .frsize = 4096, .blocks = 1000, .bavail = arg ? 10 : 900};
}

static void
test_room_comes_first(void **state)
{
  struct fake_stack *s = stack_with_dir(3, 0);
  struct gi_fop *st = fake_fop(s, GI_FOP_STATFS);

  assert_int_equal(fake_stack_children(s, "option min-free-disk 10%\noption nufa on\noption local-volume-name child-1\n",
                                       (const unsigned[]){0, 1, 2}, 3, NULL),
                   0);
  for (unsigned i = 0; i < 3; i++)
    fake_script_always(s, i, GI_FOP_STATFS, (struct fake_reply){.fill = say_full, .arg = i == 1 ? s : NULL});
  fake_submit(s, st);
  goes_to(s, name_on(0, 3), 0, 0);
  fake_event(s, 1, GI_EVENT_CHILD_DOWN, NULL);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_named),
      cmocka_unit_test(test_found),
      cmocka_unit_test(test_nobody_asks_without_it),
      cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_what_is_no_pattern),
      cmocka_unit_test(test_values_that_say_nothing),
      cmocka_unit_test(test_room_comes_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
