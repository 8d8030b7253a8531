/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/open-behind: who is answered early, what waits for the open, what
 * becomes of one that fails.
 */
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

#define FILE_A 5
#define FILE_B 6
#define ME 1000

enum { EARLY, SENT, UNSENT, FAILED, WAITING };

struct open_file {
  struct gi_fop *fop; /* the OPEN */
  struct gi_fd *fd;
};

static uint64_t
metric(const struct fake_stack *s, unsigned row)
{
  return gi_metric_value(&s->x->cls->metrics[row], s->x->metrics);
}

static unsigned
opens(struct fake_stack *s)
{
  return fake_count(s, 0, GI_FOP_OPEN);
}

static struct open_file
open_as(struct fake_stack *s, uint8_t file, int flags, uint32_t uid)
{
  struct open_file o = {.fop = fake_fop(s, GI_FOP_OPEN)};
  o.fd = gi_fd_new(s->graph, fake_inode(s, file), flags, 100);
  gi_fop_set_fd(o.fop, o.fd);
  o.fop->args.flags = (uint32_t)flags;
  o.fop->caller.uid = o.fop->caller.gid = uid;
  fake_submit(s, o.fop);
  assert_true(o.fop->answered);
  return o;
}

/* The last two references: as a close. */
static void
shut(struct fake_stack *s, struct open_file *o)
{
  fake_fop_free(o->fop);
  gi_fd_unref(&o->fd);
  fake_settle(s);
}

/* The bricks let ME in once. */
static void
let_in(struct fake_stack *s, uint8_t file)
{
  struct open_file o = open_as(s, file, O_RDWR, ME);
  assert_int_equal(o.fop->rsp.ret, 0);
  shut(s, &o);
}

static struct open_file
open_early(struct fake_stack *s, uint8_t file)
{
  struct open_file o;
  let_in(s, file);
  unsigned before = opens(s);
  o = open_as(s, file, O_RDWR, ME);
  assert_int_equal(o.fop->rsp.ret, 0);
  assert_int_equal(opens(s), before);
  return o;
}

static struct gi_fop *
on_fd(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fd);
  f->args.size = 10;
  f->caller.uid = f->caller.gid = ME;
  return f;
}

static struct gi_fop *
use(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = on_fd(s, kind, fd);
  fake_submit(s, f);
  return f;
}

static struct gi_fop *
on_inode(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_loc_set_inode(&f->loc, fake_inode(s, file));
  f->args.valid = GI_SET_MODE;
  return f;
}

static struct gi_fop *
on_name(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file)
{
  struct gi_fop *f = fake_fop(s, kind);
  struct gi_loc *gone = kind == GI_FOP_RENAME ? &f->loc2 : &f->loc;
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 1), "a");
  gi_fop_set_entry(f, &f->loc2, fake_inode(s, 1), "b");
  if (file)
    gi_loc_set_inode(gone, fake_inode(s, file));
  return f;
}

static void
hold(struct fake_stack *s, enum gi_fop_kind kind)
{
  fake_script(s, 0, kind, (struct fake_reply){.hold = true});
}

static struct fake_stack *
stack(const char *options)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("option cache-invalidation on\n%s", options ? options : "");
  return fake_stack_new("performance/open-behind", text, 1);
}

static int
setup(void **state)
{
  *state = stack(NULL);
  return 0;
}

static int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

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
                                GI_KIND(GI_FOP_RELEASEDIR) | GI_KIND(GI_FOP_FLUSH);
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
  assert_true(tried >= 18);
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

/* Whoever tells descriptors what became of writes must know of all of them. */
static void
test_a_write_finds_every_descriptor_open(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), other = open_as(s, FILE_A, O_RDWR, ME), third;
  assert_int_equal(metric(s, EARLY), 2);
  use(s, GI_FOP_WRITE, other.fd);
  assert_int_equal(opens(s), 3);
  third = open_as(s, FILE_A, O_RDWR, ME);
  assert_int_equal(metric(s, EARLY), 3);
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

/* ---- what comes after the opens ---- */

static void
check_comes_after(struct fake_stack *s, struct gi_fop *f, unsigned nopens)
{
  enum gi_fop_kind kind = f->kind;
  unsigned before = opens(s), of_kind = fake_count(s, 0, kind);
  for (unsigned i = 0; i < nopens; i++)
    hold(s, GI_FOP_OPEN);
  fake_submit(s, f);
  assert_int_equal(opens(s) - before, nopens);
  for (unsigned i = 0; i < nopens; i++) {
    assert_int_equal(fake_count(s, 0, kind), of_kind);
    assert_true(fake_release(s, 0, GI_FOP_OPEN, i ? -1 : 0, i ? EACCES : 0)); /* how they end does not matter */
    fake_settle(s);
  }
  assert_int_equal(fake_count(s, 0, kind), of_kind + 1);
  assert_true(f->answered);
}

static void
test_what_we_remove_or_replace_is_opened_first(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_UNLINK, GI_FOP_RENAME};
  struct fake_stack *s = *state;
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct open_file a = open_early(s, FILE_A), b = open_early(s, FILE_B);
    check_comes_after(s, on_name(s, kinds[i], FILE_A), 1);
    shut(s, &a);
    a = open_early(s, FILE_A);
    check_comes_after(s, on_name(s, kinds[i], 0), 2); /* it is not known what has the name */
    shut(s, &a);
    shut(s, &b);
  }
}

static void
test_who_is_forbidden_now_was_let_in_before(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), other = open_early(s, FILE_B);
  check_comes_after(s, on_inode(s, GI_FOP_SETATTR, FILE_A), 1);
  check_comes_after(s, on_inode(s, GI_FOP_SETXATTR, FILE_B), 1);
  shut(s, &o);
  shut(s, &other);
}

static void
test_a_removal_does_not_wait_for_bricks_that_are_away(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A);
  fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  struct gi_fop *f = on_name(s, GI_FOP_UNLINK, 0);
  fake_submit(s, f);
  assert_true(f->answered);
  assert_int_equal(fake_count(s, 0, GI_FOP_UNLINK), 1);
  shut(s, &o);
}

static void
test_while_a_removal_waits_opens_are_judged(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), second;
  let_in(s, FILE_B);
  hold(s, GI_FOP_OPEN);
  fake_submit(s, on_name(s, GI_FOP_UNLINK, 0));
  unsigned before = opens(s);
  second = open_as(s, FILE_B, O_RDWR, ME);
  assert_int_equal(opens(s), before + 1);
  fake_release(s, 0, GI_FOP_OPEN, 0, 0);
  shut(s, &second);
  second = open_as(s, FILE_B, O_RDWR, ME);
  assert_int_equal(opens(s), before + 1);
  shut(s, &o);
  shut(s, &second);
}

/* It may have lost its name by the time it is sent, and must be found by itself. */
static void
nameless(struct gi_fop *fop, void *arg)
{
  *(bool *)arg = gi_dict_get(fop->xdata, GI_NAMED_KEY) == NULL && gi_dict_get(fop->xdata, GI_CONTENT_KEY) == NULL &&
                 gi_dict_get(fop->xdata, "other") != NULL;
}

static void
test_a_late_open_does_not_insist_on_a_name(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = fake_fop(s, GI_FOP_OPEN);
  struct gi_fd *fd = gi_fd_new(s->graph, fake_inode(s, FILE_A), O_RDWR, 100);
  bool found = false;
  let_in(s, FILE_A);
  gi_fop_set_fd(f, fd);
  f->args.flags = O_RDWR;
  f->caller.uid = f->caller.gid = ME;
  gi_dict_set_int(gi_fop_xdata(f), GI_NAMED_KEY, 1);
  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, 0);
  gi_dict_set_int(gi_fop_xdata(f), "other", 1);
  fake_submit(s, f);
  fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = nameless, .arg = &found});
  use(s, GI_FOP_READ, fd);
  assert_true(found);
  gi_fd_unref(&fd);
}

/* ---- draining ---- */

static void
test_drained_every_open_is_sent(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), b = open_early(s, FILE_B);
  hold(s, GI_FOP_OPEN);
  hold(s, GI_FOP_OPEN);
  gi_xlator_enable(s->x, false);
  assert_int_equal(opens(s), 4);
  fake_release(s, 0, GI_FOP_OPEN, 0, 0);
  fake_settle(s);
  assert_true(s->x->enabled);
  fake_release(s, 0, GI_FOP_OPEN, 0, 0);
  fake_settle(s);
  assert_false(s->x->enabled);
  use(s, GI_FOP_READ, o.fd);
  assert_int_equal(opens(s), 4);
  gi_xlator_enable(s->x, true);
  use(s, GI_FOP_READ, o.fd);
  assert_int_equal(opens(s), 4);
  shut(s, &o);
  shut(s, &b);
}

static void
test_draining_waits_for_bricks_or_the_close(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), b = open_early(s, FILE_B);
  for (unsigned i = 0; i < 2; i++)
    fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  gi_xlator_enable(s->x, false);
  fake_settle(s);
  assert_true(s->x->enabled);
  shut(s, &o);
  assert_true(s->x->enabled);
  fake_event(s, 0, GI_EVENT_CHILD_UP, NULL);
  fake_settle(s);
  assert_false(s->x->enabled);
  shut(s, &b);
}

/* ---- all of it, by chance ---- */

static uint32_t seed;

static uint32_t
chance(uint32_t n)
{
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

#define FILES 3
#define FDS 8

struct brick {
  struct gi_fd *open[64];
  unsigned nopen;
};

static bool
is_open(const struct brick *b, const struct gi_fd *fd)
{
  for (unsigned i = 0; i < b->nopen; i++)
    if (b->open[i] == fd)
      return true;
  return false;
}

static void
brick_open(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  if (chance(8) == 0) {
    fop->rsp.ret = -1;
    fop->rsp.err = chance(2) ? ENOTCONN : EACCES;
  } else if (!is_open(b, fop->fd)) {
    assert_true(b->nopen < GI_ARRAY_LEN(b->open));
    b->open[b->nopen++] = fop->fd;
  }
}

static void
brick_use(struct gi_fop *fop, void *arg)
{
  assert_true(is_open(arg, fop->fd));
}

static void
brick_closed(struct brick *b, const struct gi_fd *fd)
{
  for (unsigned i = 0; i < b->nopen; i++)
    if (b->open[i] == fd)
      b->open[i--] = b->open[--b->nopen];
}

static void
model_step(struct fake_stack *s, struct brick *b, struct open_file *o)
{
  static const enum gi_fop_kind uses[] = {GI_FOP_READ, GI_FOP_WRITE, GI_FOP_FSYNC, GI_FOP_LK};
  struct open_file *one = &o[chance(FDS)];
  uint8_t file = (uint8_t)(FILE_A + chance(FILES));
  struct gi_fop *f = NULL;
  switch (one->fd ? chance(6) : 5) {
  case 0:
    brick_closed(b, one->fd);
    shut(s, one);
    *one = (struct open_file){0};
    break;
  case 1:
    fake_submit(s, f = on_name(s, chance(2) ? GI_FOP_UNLINK : GI_FOP_RENAME, chance(2) ? file : 0));
    assert_true(f->answered && f->rsp.ret >= 0);
    break;
  case 2:
    fake_submit(s, f = on_inode(s, GI_FOP_SETATTR, file));
    assert_true(f->answered && f->rsp.ret >= 0);
    break;
  case 3:
  case 4:
    f = use(s, uses[chance(GI_ARRAY_LEN(uses))], one->fd);
    assert_true(f->answered && (f->rsp.ret >= 0 || f->rsp.err == EACCES || f->rsp.err == ENOTCONN));
    break;
  default:
    if (one->fd)
      break;
    *one = open_as(s, file, O_RDWR, ME + chance(2));
    if (one->fop->rsp.ret < 0) {
      shut(s, one);
      *one = (struct open_file){0};
    }
    break;
  }
  if (f)
    fake_fop_free(f);
}

static void
test_by_chance_nothing_is_used_that_is_not_open(void **state)
{
  static const enum gi_fop_kind uses[] = {GI_FOP_READ, GI_FOP_WRITE, GI_FOP_FSYNC, GI_FOP_LK};
  uint64_t early = 0;
  for (unsigned round = 0; round < 60; round++) {
    struct fake_stack *s = stack(round % 2 ? "option lazy-open no\n" : NULL);
    struct open_file o[FDS] = {0};
    struct brick b = {0};
    seed = round;
    fake_script_always(s, 0, GI_FOP_OPEN, (struct fake_reply){.deferred = round % 3 == 0, .fill = brick_open, .arg = &b});
    for (size_t i = 0; i < GI_ARRAY_LEN(uses); i++)
      fake_script_always(s, 0, uses[i], (struct fake_reply){.fill = brick_use, .arg = &b});
    for (unsigned i = 0; i < 50; i++) {
      fake_forget_seen(s);
      model_step(s, &b, o);
      assert_int_equal(metric(s, WAITING), 0);
    }
    early += metric(s, EARLY);
    for (unsigned i = 0; i < FDS; i++)
      if (o[i].fd)
        shut(s, &o[i]);
    fake_stack_free(s);
  }
  assert_true(early > 200);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
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
      TEST(test_what_we_remove_or_replace_is_opened_first),
      TEST(test_who_is_forbidden_now_was_let_in_before),
      TEST(test_a_removal_does_not_wait_for_bricks_that_are_away),
      TEST(test_while_a_removal_waits_opens_are_judged),
      TEST(test_a_late_open_does_not_insist_on_a_name),
      TEST(test_drained_every_open_is_sent),
      TEST(test_draining_waits_for_bricks_or_the_close),
      cmocka_unit_test(test_by_chance_nothing_is_used_that_is_not_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
