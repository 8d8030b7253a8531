/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/open-behind: who is answered early, what waits for the open, what
 * becomes of one that fails.
 */
#include "xlators/performance/open-behind/rig.h"

/* ---- who is answered early ---- */

static void
test_transparent(void **state)
{
  struct fake_stack *s = stack("option timeout 0\n");
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_the_first_open_is_judged_by_the_bricks(void **state)
{
  struct fake_stack *s = *state;
  fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = EACCES});
  struct open_file o = open_as(s, FILE_A, O_RDWR, ME);
  assert_int_equal(o.fop->rsp.err, EACCES);
  shut(s, &o);
  o = open_as(s, FILE_A, O_RDWR, ME); /* still */
  assert_int_equal(opens(s), 2);
  shut(s, &o);
}

static void
test_a_file_that_is_closed_unused_is_not_opened(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A);
  struct gi_fop *f = use(s, GI_FOP_FLUSH, o.fd);
  assert_int_equal(f->rsp.ret, 0);
  fake_fop_free(f);
  shut(s, &o);
  assert_int_equal(fake_count(s, 0, GI_FOP_FLUSH), 0);
  assert_int_equal(opens(s), 1);
  assert_int_equal(metric(s, UNSENT), 1);
}

static void
test_only_the_same_caller_with_no_more_rights_is_let_in(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_as(s, FILE_A, O_RDONLY, ME);
  static const struct {
    uint32_t uid;
    int flags;
    bool asked;
  } row[] = {
      {ME, O_RDONLY, false},          {ME, O_RDONLY | O_NONBLOCK, false},
      {ME, O_WRONLY, true},           {ME, O_RDWR, false},
      {ME, O_RDWR | O_APPEND, false}, {ME, O_RDWR | O_DIRECT, true},
      {ME, O_RDWR | O_TRUNC, true},   {ME, O_RDONLY | O_NOATIME, true},
      {ME + 1, O_RDONLY, true},       {ME + 1, O_RDONLY, false},
      {ME, O_RDONLY, true},           {0, O_RDONLY, true},
  };
  shut(s, &o);
  for (size_t i = 0; i < GI_ARRAY_LEN(row); i++) {
    unsigned before = opens(s);
    o = open_as(s, FILE_A, row[i].flags, row[i].uid);
    assert_int_equal(opens(s) - before, row[i].asked);
    shut(s, &o);
  }
}

static void
test_other_groups_are_another_caller(void **state)
{
  struct fake_stack *s = *state;
  static const uint32_t groups[] = {7, 8};
  for (unsigned i = 0; i < 3; i++) {
    struct gi_fd *fd = gi_fd_new(s->graph, fake_inode(s, FILE_A), O_RDONLY, 100);
    struct gi_fop *f = fake_fop(s, GI_FOP_OPEN);
    gi_fop_set_fd(f, fd);
    f->caller.ngroups = i == 0 ? 1 : 2;
    f->caller.groups = groups;
    fake_submit(s, f);
    assert_int_equal(opens(s), i == 0 ? 1 : 2);
    if (i == 2) { /* and the open that is sent later has them */
      use(s, GI_FOP_READ, fd);
      assert_int_equal(opens(s), 3);
    }
    fake_fop_free(f);
    gi_fd_unref(&fd);
  }
}

static void
made_by(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = *(const struct gi_iatt *)arg;
  gi_fd_bind(fop->fd, &fop->rsp.stat.gfid);
}

static void
create(struct fake_stack *s, struct gi_iatt *a)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_CREATE);
  struct gi_fd *fd = gi_fd_new(s->graph, NULL, O_RDWR, 100);
  a->gfid = fake_inode(s, FILE_A)->gfid;
  a->flags = GI_IATT_BASIC;
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 1), "new");
  gi_fop_set_fd(f, fd);
  f->caller.uid = f->caller.gid = ME;
  fake_script(s, 0, GI_FOP_CREATE, (struct fake_reply){.fill = made_by, .arg = a});
  fake_submit(s, f);
  fake_fop_free(f);
  gi_fd_unref(&fd);
}

static void
test_who_made_the_file_is_let_in(void **state)
{
  struct fake_stack *s = *state;
  struct gi_iatt a = {.mode = S_IFREG | 0444, .uid = ME, .gid = ME};
  struct open_file o;
  create(s, &a);
  o = open_as(s, FILE_A, O_RDONLY, ME);
  assert_int_equal(opens(s), 0);
  shut(s, &o);
  o = open_as(s, FILE_A, O_RDWR, ME);
  assert_int_equal(opens(s), 1);
  shut(s, &o);
}

static void
test_who_is_taken_for_somebody_else_is_not(void **state)
{
  struct fake_stack *s = *state;
  struct gi_iatt a = {.mode = S_IFREG | 0666, .uid = 65534, .gid = 65534};
  struct open_file o;
  create(s, &a);
  o = open_as(s, FILE_A, O_RDONLY, ME);
  assert_int_equal(opens(s), 1);
  shut(s, &o);
}

/* ---- until when ---- */

static void
expect_asked(struct fake_stack *s, bool asked)
{
  unsigned before = opens(s);
  struct open_file o = open_as(s, FILE_A, O_RDWR, ME);
  assert_int_equal(opens(s) - before, asked);
  shut(s, &o);
}

static void
test_a_change_of_permissions_asks_again(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_SETATTR, GI_FOP_SETXATTR, GI_FOP_REMOVEXATTR};
  struct fake_stack *s = *state;
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    let_in(s, FILE_A);
    hold(s, kinds[i]);
    fake_submit(s, on_inode(s, kinds[i], FILE_A));
    expect_asked(s, true);
    expect_asked(s, true); /* what was judged meanwhile proves nothing */
    assert_true(fake_release(s, 0, kinds[i], 0, 0));
    expect_asked(s, true);
    expect_asked(s, false);
  }
}

static void
test_times_are_no_permissions(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = on_inode(s, GI_FOP_SETATTR, FILE_A);
  let_in(s, FILE_A);
  f->args.valid = GI_SET_MTIME;
  fake_submit(s, f);
  expect_asked(s, false);
}

static void
test_somebody_elses_change_asks_again(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
  let_in(s, FILE_A);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  expect_asked(s, true);
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1);
  expect_asked(s, false);
  fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  expect_asked(s, true);
  fake_event(s, 0, GI_EVENT_CHILD_DOWN, NULL);
  fake_event(s, 0, GI_EVENT_CHILD_UP, NULL);
  expect_asked(s, true);
}

static void
attributes(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = *(const struct gi_iatt *)arg;
}

static void
look(struct fake_stack *s, struct gi_iatt *a)
{
  a->gfid = fake_inode(s, FILE_A)->gfid;
  a->flags = GI_IATT_BASIC;
  fake_script(s, 0, GI_FOP_STAT, (struct fake_reply){.fill = attributes, .arg = a});
  fake_submit(s, on_inode(s, GI_FOP_STAT, FILE_A));
}

static void
test_attributes_with_another_mode_ask_again(void **state)
{
  struct fake_stack *s = *state;
  struct gi_iatt a = {.mode = S_IFREG | 0644, .uid = ME, .ctime = {1, 1}};
  look(s, &a);
  let_in(s, FILE_A);
  a.size = 5;
  look(s, &a);
  expect_asked(s, false);
  a.mode = S_IFREG | 0600;
  look(s, &a);
  expect_asked(s, true);
}

static void
test_time_ends_it_and_the_same_ctime_prolongs_it(void **state)
{
  struct fake_stack *s = stack("option timeout 1\n");
  struct gi_iatt a = {.mode = S_IFREG | 0644, .uid = ME, .ctime = {1, 1}};
  look(s, &a);
  let_in(s, FILE_A);
  fake_wait(s, 600000000);
  look(s, &a);
  fake_wait(s, 600000000);
  expect_asked(s, false);
  fake_wait(s, 600000000);
  a.ctime.nsec++; /* something happened, if only a write: no proof */
  look(s, &a);
  look(s, &a);
  expect_asked(s, true);
  fake_stack_free(s);
}

/* Somebody else could replace the file, and what has its name then is to be opened. */
static void
test_bricks_that_tell_nothing_are_asked(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/open-behind", NULL, 1);
  let_in(s, FILE_A);
  expect_asked(s, true);
  expect_asked(s, true);
  fake_stack_free(s);
}

/* They may not have begun to tell yet. */
static void
test_bricks_have_time_to_begin_to_tell(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/open-behind", NULL, 1);
  const unsigned same[] = {0};
  struct gi_error err = {0};
  let_in(s, FILE_A);
  assert_int_equal(fake_stack_children(s, "option cache-invalidation on\n", same, 1, &err), 0);
  expect_asked(s, true);
  expect_asked(s, true);
  fake_stack_free(s);
}

/* ---- what needs the open ---- */

static void
test_every_use_sends_the_open_first(void **state)
{
  const uint64_t not_of_files = GI_KIND(GI_FOP_OPEN) | GI_KIND(GI_FOP_OPENDIR) | GI_KIND(GI_FOP_READDIR) |
                                GI_KIND(GI_FOP_READDIRP) | GI_KIND(GI_FOP_FSYNCDIR) | GI_KIND(GI_FOP_RELEASE) |
                                GI_KIND(GI_FOP_RELEASEDIR) | GI_KIND(GI_FOP_FLUSH) | GI_KIND(GI_FOP_FSYNC);
  unsigned tried = 0;
  for (unsigned k = 1; k < GI_FOP_MAX; k++) {
    struct fake_stack *s = stack(NULL);
    if (gi_fop_table[k].name && gi_fop_table[k].target == GI_TARGET_FD && !(not_of_files & GI_KIND(k))) {
      struct open_file o = open_early(s, FILE_A);
      struct gi_fop *f = on_fd(s, k, o.fd);
      hold(s, GI_FOP_OPEN);
      fake_submit(s, f);
      assert_int_equal(opens(s), 2);
      assert_int_equal(fake_count(s, 0, k), 0);
      assert_false(f->answered);
      assert_true(fake_release(s, 0, GI_FOP_OPEN, 0, 0));
      fake_settle(s);
      assert_true(f->answered);
      assert_int_equal(fake_count(s, 0, k), 1);
      use(s, GI_FOP_READ, o.fd); /* open for good */
      assert_int_equal(opens(s), 2);
      shut(s, &o);
      tried++;
    }
    fake_stack_free(s);
  }
  assert_true(tried >= 17);
}

static void
test_both_files_of_a_copy_are_opened(void **state)
{
  struct fake_stack *s = *state;
  struct open_file a = open_early(s, FILE_A), b = open_early(s, FILE_B);
  struct gi_fop *f = on_fd(s, GI_FOP_COPY_FILE_RANGE, a.fd);
  f->fd2 = gi_fd_ref(b.fd);
  gi_loc_set_inode(&f->loc2, b.fd->inode);
  fake_submit(s, f);
  assert_true(f->answered);
  assert_int_equal(opens(s), 4);
  shut(s, &a);
  shut(s, &b);
}

static void
test_a_flush_goes_down_where_locks_or_writes_are(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), other = open_as(s, FILE_A, O_RDWR, ME);
  use(s, GI_FOP_FLUSH, o.fd);
  assert_int_equal(fake_count(s, 0, GI_FOP_FLUSH), 0);
  assert_int_equal(opens(s), 1);
  use(s, GI_FOP_LK, other.fd);
  use(s, GI_FOP_FLUSH, o.fd);
  assert_int_equal(fake_count(s, 0, GI_FOP_FLUSH), 1);
  assert_int_equal(opens(s), 3);
  shut(s, &o);
  shut(s, &other);
}

static void
answered_early(struct gi_fop *fop, void *arg)
{
  fop->rsp.early = true;
}

/* Whoever tells descriptors what became of writes must know of all of them, while there are any that may fail. */
static void
test_a_write_finds_every_descriptor_open(void **state)
{
  struct fake_stack *s = *state;
  struct gi_written w = {.inode = fake_inode(s, FILE_A), .changes = 1};
  struct open_file o = open_early(s, FILE_A), other = open_as(s, FILE_A, O_RDWR, ME), third;
  assert_int_equal(metric(s, EARLY), 2);
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = answered_early});
  use(s, GI_FOP_WRITE, other.fd);
  assert_int_equal(opens(s), 3);
  third = open_as(s, FILE_A, O_RDWR, ME);
  assert_int_equal(metric(s, EARLY), 3);
  assert_int_equal(opens(s), 4);
  shut(s, &third);
  fake_event(s, 0, GI_EVENT_WRITTEN, &w);
  third = open_as(s, FILE_A, O_RDWR, ME);
  assert_int_equal(metric(s, EARLY), 4);
  assert_int_equal(opens(s), 4);
  shut(s, &o);
  shut(s, &other);
  shut(s, &third);
}

static void
test_not_lazy_it_is_sent_beside_the_answer(void **state)
{
  struct fake_stack *s = stack("option lazy-open no\n");
  struct open_file o;
  let_in(s, FILE_A);
  hold(s, GI_FOP_OPEN);
  o = open_as(s, FILE_A, O_RDWR, ME);
  assert_int_equal(opens(s), 2);
  struct gi_fop *f = use(s, GI_FOP_READ, o.fd);
  assert_false(f->answered);
  fake_release(s, 0, GI_FOP_OPEN, 0, 0);
  assert_true(f->answered);
  shut(s, &o);
  fake_stack_free(s);
}

static void
test_bricks_read_without_an_open_if_they_may(void **state)
{
  struct fake_stack *s = stack("option read-after-open no\noption use-anonymous-fd yes\n");
  struct open_file o = open_early(s, FILE_A);
  use(s, GI_FOP_READ, o.fd);
  use(s, GI_FOP_FSTAT, o.fd);
  use(s, GI_FOP_SEEK, o.fd);
  assert_int_equal(opens(s), 1);
  use(s, GI_FOP_LK, o.fd);
  assert_int_equal(opens(s), 2);
  shut(s, &o);
  fake_stack_free(s);
}

static void
test_an_open_that_brings_content_is_awaited(void **state)
{
  struct fake_stack *s = *state;
  let_in(s, FILE_A);
  for (unsigned max = 0; max < 2; max++) {
    struct gi_fop *f = fake_fop(s, GI_FOP_OPEN);
    struct gi_fd *fd = gi_fd_new(s->graph, fake_inode(s, FILE_A), O_RDWR, 100);
    gi_fop_set_fd(f, fd);
    f->args.flags = O_RDWR;
    f->caller.uid = f->caller.gid = ME;
    gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, max);
    fake_submit(s, f);
    assert_int_equal(opens(s), 1 + max);
    fake_fop_free(f);
    gi_fd_unref(&fd);
  }
}

static void
found(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = (struct gi_iatt){.flags = GI_IATT_BASIC, .mode = S_IFREG | 0644, .ctime = {7, 7}};
  fop->rsp.stat.gfid = ((struct gi_inode *)arg)->gfid;
}

static void
found_readable(struct gi_fop *fop, void *arg)
{
  found(fop, arg);
  gi_dict_set_iatt(gi_fop_rsp_xdata(fop), GI_CONTENT_STAT_KEY, &fop->rsp.stat);
}

static struct gi_fop *
look_up(struct fake_stack *s, void (*fill)(struct gi_fop *fop, void *arg), bool held)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.hold = held, .fill = held ? NULL : fill, .arg = fake_inode(s, FILE_A)});
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 1), "a");
  f->caller.uid = f->caller.gid = ME;
  fake_submit(s, f);
  if (held)
    fill(f, fake_inode(s, FILE_A));
  return f;
}

/* With the attributes of its content a brick says that the caller may read it. */
static void
test_who_was_found_to_be_able_to_read_is_let_in(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o;
  look_up(s, found, false);
  o = open_as(s, FILE_A, O_RDONLY, ME);
  assert_int_equal(opens(s), 1);
  shut(s, &o);
  fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  look_up(s, found_readable, false);
  o = open_as(s, FILE_A, O_RDONLY, ME);
  assert_int_equal(opens(s), 1);
  shut(s, &o);
  o = open_as(s, FILE_A, O_RDONLY, ME + 1);
  assert_int_equal(opens(s), 2);
  shut(s, &o);
  look_up(s, found_readable, false);
  o = open_as(s, FILE_A, O_RDWR, ME); /* of writing nothing was said */
  assert_int_equal(opens(s), 3);
  shut(s, &o);
}

/* What came while the lookup was under way it may not know of: of this file, or of one that is not known yet. */
static void
test_what_a_lookup_overlaps_with_it_does_not_judge(void **state)
{
  for (unsigned i = 0; i < 3; i++) {
    struct fake_stack *s = stack(NULL);
    struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
    struct open_file o;
    look_up(s, found_readable, true);
    if (i == 1)
      memset(&inv.gfid, 0x99, sizeof(inv.gfid));
    if (i == 2)
      fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
    else
      fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
    assert_true(fake_release(s, 0, GI_FOP_LOOKUP, 0, 0));
    o = open_as(s, FILE_A, O_RDONLY, ME);
    assert_int_equal(opens(s), 1);
    shut(s, &o);
    fake_stack_free(s);
  }
}

/* Bricks of ours promise to tell: for a third of that they need not be asked. */
static void
test_a_promise_lets_in_for_a_third_of_it(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/open-behind", NULL, 1);
  struct open_file o;
  let_in(s, FILE_A);
  let_in(s, FILE_A);
  assert_int_equal(opens(s), 2);
  s->graph->promise = 3;
  fake_event(s, 0, GI_EVENT_PROMISE, &(struct gi_promised){.seconds = 3});
  let_in(s, FILE_A);
  assert_int_equal(opens(s), 3);
  let_in(s, FILE_A);
  assert_int_equal(opens(s), 3);
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC);
  let_in(s, FILE_A);
  assert_int_equal(opens(s), 4);
  s->graph->promise = 0;
  fake_event(s, 0, GI_EVENT_PROMISE, &(struct gi_promised){.seconds = 0});
  o = open_as(s, FILE_A, O_RDWR, ME);
  assert_int_equal(opens(s), 5);
  shut(s, &o);
  fake_stack_free(s);
}

static void
test_passing_through_nothing_is_early(void **state)
{
  struct fake_stack *s = stack("option pass-through true\n");
  struct open_file o;
  let_in(s, FILE_A);
  o = open_as(s, FILE_A, O_RDWR, ME);
  assert_int_equal(opens(s), 2);
  shut(s, &o);
  fake_stack_free(s);
}

/* ---- failures ---- */

static void
test_a_late_refusal_is_told_by_every_use(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A);
  struct gi_fop *f;
  fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = ESTALE});
  f = use(s, GI_FOP_READ, o.fd);
  assert_int_equal(f->rsp.ret, -1);
  assert_int_equal(f->rsp.err, ESTALE);
  f = use(s, GI_FOP_FSYNC, o.fd);
  assert_int_equal(f->rsp.err, ESTALE);
  assert_int_equal(fake_count(s, 0, GI_FOP_READ) + fake_count(s, 0, GI_FOP_FSYNC), 0);
  assert_int_equal(metric(s, FAILED), 1);
  shut(s, &o);
  expect_asked(s, true);
}

static void
test_without_bricks_the_next_use_asks_again(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A);
  struct gi_fop *f;
  for (unsigned deferred = 0; deferred < 2; deferred++) {
    fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = ENOTCONN, .deferred = deferred});
    f = use(s, GI_FOP_READ, o.fd);
    assert_int_equal(f->rsp.err, ENOTCONN);
  }
  f = use(s, GI_FOP_READ, o.fd);
  assert_int_equal(f->rsp.ret, 10);
  shut(s, &o);
}

static void
test_a_waiting_lock_can_be_given_up(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A);
  hold(s, GI_FOP_OPEN);
  struct gi_fop *f = use(s, GI_FOP_LK, o.fd);
  gi_fop_cancel(f);
  assert_true(f->answered);
  assert_int_equal(f->rsp.err, EINTR);
  fake_release(s, 0, GI_FOP_OPEN, 0, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_LK), 0);
  assert_int_equal(metric(s, WAITING), 0);
  shut(s, &o);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_who_was_found_to_be_able_to_read_is_let_in),
      cmocka_unit_test(test_what_a_lookup_overlaps_with_it_does_not_judge),
      cmocka_unit_test(test_a_promise_lets_in_for_a_third_of_it),
      cmocka_unit_test(test_transparent),
      TEST(test_the_first_open_is_judged_by_the_bricks),
      TEST(test_a_file_that_is_closed_unused_is_not_opened),
      TEST(test_only_the_same_caller_with_no_more_rights_is_let_in),
      TEST(test_other_groups_are_another_caller),
      TEST(test_who_made_the_file_is_let_in),
      TEST(test_who_is_taken_for_somebody_else_is_not),
      TEST(test_a_change_of_permissions_asks_again),
      TEST(test_times_are_no_permissions),
      TEST(test_somebody_elses_change_asks_again),
      TEST(test_attributes_with_another_mode_ask_again),
      cmocka_unit_test(test_time_ends_it_and_the_same_ctime_prolongs_it),
      cmocka_unit_test(test_bricks_that_tell_nothing_are_asked),
      cmocka_unit_test(test_bricks_have_time_to_begin_to_tell),
      cmocka_unit_test(test_every_use_sends_the_open_first),
      TEST(test_both_files_of_a_copy_are_opened),
      TEST(test_a_flush_goes_down_where_locks_or_writes_are),
      TEST(test_a_write_finds_every_descriptor_open),
      cmocka_unit_test(test_not_lazy_it_is_sent_beside_the_answer),
      cmocka_unit_test(test_bricks_read_without_an_open_if_they_may),
      TEST(test_an_open_that_brings_content_is_awaited),
      cmocka_unit_test(test_passing_through_nothing_is_early),
      TEST(test_a_late_refusal_is_told_by_every_use),
      TEST(test_without_bricks_the_next_use_asks_again),
      TEST(test_a_waiting_lock_can_be_given_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
