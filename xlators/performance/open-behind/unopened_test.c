/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/open-behind: the fsync of a descriptor that the bricks have not
 * opened.
 */
#include "xlators/performance/open-behind/rig.h"

static void
see_fd(struct gi_fop *fop, void *arg)
{
  *(bool *)arg = fop->fd->anonymous;
}

static unsigned
syncs(struct fake_stack *s)
{
  return fake_count(s, 0, GI_FOP_FSYNC);
}

static void
test_a_file_that_is_only_synced_is_not_opened(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A);
  bool anonymous = false;
  fake_script_always(s, 0, GI_FOP_FSYNC, (struct fake_reply){.fill = see_fd, .arg = &anonymous});
  struct gi_fop *f = use(s, GI_FOP_FSYNC, o.fd);
  assert_int_equal(f->rsp.ret, 0);
  assert_true(anonymous);
  assert_int_equal(syncs(s), 1);
  assert_int_equal(opens(s), 1);
  assert_int_equal(metric(s, SYNCED), 1);
  use(s, GI_FOP_READ, o.fd); /* what needs the open sends it */
  assert_int_equal(opens(s), 2);
  use(s, GI_FOP_FSYNC, o.fd); /* and then the descriptor is synced */
  assert_false(anonymous);
  assert_int_equal(opens(s), 2);
  shut(s, &o);
}

static void
answered_early(struct gi_fop *fop, void *arg)
{
  fop->rsp.early = true;
}

/* It tells the descriptor if they fail. */
static void
test_while_bricks_lack_writes_the_descriptor_is_synced(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), other;
  bool anonymous = true;
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = answered_early});
  use(s, GI_FOP_WRITE, o.fd);
  other = open_as(s, FILE_A, O_RDWR, ME);
  fake_script(s, 0, GI_FOP_FSYNC, (struct fake_reply){.fill = see_fd, .arg = &anonymous});
  use(s, GI_FOP_FSYNC, other.fd);
  assert_false(anonymous);
  assert_int_equal(metric(s, SYNCED), 0);
  shut(s, &o);
  shut(s, &other);
}

/* A brick tells of a lost write once. */
static void
test_an_error_is_that_of_the_fsync(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A);
  fake_script(s, 0, GI_FOP_FSYNC, (struct fake_reply){.ret = -1, .err = EIO});
  struct gi_fop *f = use(s, GI_FOP_FSYNC, o.fd);
  assert_int_equal(f->rsp.err, EIO);
  assert_int_equal(syncs(s), 1);
  assert_int_equal(opens(s), 1);
  shut(s, &o);
}

/* What we remove is opened first, and synced through that. */
static void
test_a_file_that_lost_its_name_is_synced_by_its_descriptor(void **state)
{
  static const int errors[] = {ENOENT, ESTALE};
  struct fake_stack *s = *state;
  for (size_t i = 0; i < GI_ARRAY_LEN(errors); i++) {
    struct open_file o = open_early(s, FILE_A);
    unsigned before = opens(s), synced = syncs(s);
    bool anonymous = true;
    hold(s, GI_FOP_FSYNC);
    fake_script(s, 0, GI_FOP_FSYNC, (struct fake_reply){.fill = see_fd, .arg = &anonymous});
    struct gi_fop *f = use(s, GI_FOP_FSYNC, o.fd);
    if (i == 0)
      fake_submit(s, on_name(s, GI_FOP_UNLINK, FILE_A));
    assert_true(fake_release(s, 0, GI_FOP_FSYNC, -1, errors[i]));
    fake_settle(s);
    assert_true(f->answered);
    assert_int_equal(f->rsp.ret, 0);
    assert_false(anonymous);
    assert_int_equal(opens(s), before + 1);
    assert_int_equal(syncs(s), synced + 2);
    shut(s, &o);
  }
}

static void
test_draining_waits_for_it(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A);
  hold(s, GI_FOP_FSYNC);
  struct gi_fop *f = use(s, GI_FOP_FSYNC, o.fd);
  gi_xlator_enable(s->x, false);
  fake_settle(s);
  assert_true(s->x->enabled);
  assert_true(fake_release(s, 0, GI_FOP_FSYNC, 0, 0));
  fake_settle(s);
  assert_true(f->answered);
  assert_false(s->x->enabled);
  shut(s, &o);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_a_file_that_is_only_synced_is_not_opened),
      TEST(test_while_bricks_lack_writes_the_descriptor_is_synced),
      TEST(test_an_error_is_that_of_the_fsync),
      TEST(test_a_file_that_lost_its_name_is_synced_by_its_descriptor),
      TEST(test_draining_waits_for_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
