/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/read-ahead: rule by rule against a scripted child, and by chance against a model of a file.
 */
#include "tests/unit/disk.h"
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

#define KB 1024u
#define FILE_A 5

enum { HITS, WAITS, MISSES, PAGES, UNUSED };

static uint64_t size = 1 << 20; /* of the child's file */

static void
read_file(struct gi_fop *fop, void *arg)
{
  uint64_t offset = fop->args.offset, len = offset >= size                   ? 0
                                            : fop->args.size < size - offset ? fop->args.size
                                                                             : size - offset;
  fop->rsp.ret = (int)len;
  fop->rsp.err = offset + len >= size ? ENOENT : 0;
  fop->rsp.stat = (struct gi_iatt){.mode = S_IFREG | 0644, .size = size, .gfid = fop->fd->inode->gfid};
}

static struct fake_stack *
stack(const char *options)
{
  struct fake_stack *s = fake_stack_new("performance/read-ahead", options, 1);
  size = 1 << 20;
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  return s;
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

static struct gi_fop *
through(struct fake_stack *s, struct gi_fd *fd, enum gi_fop_kind kind, uint64_t offset, uint64_t len)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fd);
  f->args.offset = offset;
  f->args.size = len;
  fake_submit(s, f);
  return f;
}

static struct gi_fop *
reads(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, uint64_t len)
{
  return through(s, fd, GI_FOP_READ, offset, len);
}

static unsigned
below(struct fake_stack *s)
{
  return fake_count(s, 0, GI_FOP_READ);
}

static uint64_t
metric(const struct fake_stack *s, unsigned row)
{
  return gi_metric_value(&s->x->cls->metrics[row], s->x->metrics);
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/read-ahead", NULL, 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_a_sequential_reader_costs_a_read_per_page(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  for (uint64_t at = 0; at < size; at += 8 * KB) {
    struct gi_fop *f = reads(s, fd, at, 8 * KB);
    assert_int_equal(f->rsp.ret, 8 * KB);
    assert_int_equal(f->rsp.stat.size, size);
  }
  assert_in_range(below(s), 8, 11); /* two before it is known to be sequential */
  assert_int_equal(reads(s, fd, size, 8 * KB)->rsp.ret, 0);
  assert_int_equal(s->ctx.budget.used > 4 * 128 * KB, false);
}

static void
test_the_window_grows(void **state)
{
  struct fake_stack *s = stack("option page-count 4\n");
  struct gi_fd *fd = fake_fd(s, FILE_A);
  reads(s, fd, 0, 4 * KB);
  assert_int_equal(below(s), 1);
  reads(s, fd, 4 * KB, 4 * KB);
  assert_int_equal(metric(s, PAGES), 1);
  reads(s, fd, 8 * KB, 4 * KB);
  reads(s, fd, 12 * KB, 4 * KB);
  assert_int_equal(metric(s, PAGES), 4); /* no more than fits between the reader and four pages on */
  reads(s, fd, 16 * KB, 4 * KB);
  assert_int_equal(metric(s, PAGES), 4);
  reads(s, fd, 600 * KB, 4 * KB); /* elsewhere */
  assert_int_equal(metric(s, UNUSED), 4);
  reads(s, fd, 700 * KB, 4 * KB);
  assert_int_equal(metric(s, PAGES), 4);
  fake_stack_free(s);
}

/* As the kernel does for its page cache. */
static void
test_who_reads_ahead_itself_is_left_alone(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  for (uint64_t at = 0, len = 16 * KB; at < size; at += len, len = len < 256 * KB ? len * 2 : len)
    reads(s, fd, at, len);
  assert_int_equal(metric(s, PAGES), 0);
}

static void
test_what_is_on_its_way_is_waited_for(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  reads(s, fd, 0, 4 * KB);
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  reads(s, fd, 4 * KB, 4 * KB);
  struct gi_fop *a = reads(s, fd, 8 * KB, 4 * KB), *b = reads(s, fd, 12 * KB, 4 * KB);
  assert_false(a->answered || b->answered);
  assert_true(fake_release(s, 0, GI_FOP_READ, 128 * KB, 0));
  assert_true(a->answered && b->answered);
  assert_int_equal(b->rsp.ret, 4 * KB);
  assert_int_equal(metric(s, WAITS), 2);
}

static void
test_a_page_that_fails(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  reads(s, fd, 0, 4 * KB);
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.ret = -1, .err = EIO});
  reads(s, fd, 4 * KB, 4 * KB);
  struct gi_fop *a = reads(s, fd, 8 * KB, 4 * KB);
  while (fake_release(s, 0, GI_FOP_READ, -1, EIO))
    ;
  assert_true(a->answered); /* by a READ of its own */
  assert_int_equal(a->rsp.ret, 4 * KB);
}

static void
change_is_seen(struct fake_stack *s, enum gi_fop_kind kind)
{
  struct gi_fd *fd = fake_fd(s, FILE_A), *other = fake_fd(s, FILE_A);
  reads(s, fd, 0, 4 * KB);
  reads(s, fd, 4 * KB, 4 * KB);
  fake_forget_seen(s);
  through(s, other, kind, 0, 4 * KB);
  reads(s, fd, 8 * KB, 4 * KB);
  if (s->seen[1].kind != GI_FOP_READ || s->seen[1].size != 4 * KB)
    fail_msg("%s: what was read ahead was served after it", gi_fop_name(kind));
}

static void
test_changes_by_any_descriptor(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_WRITE,    GI_FOP_FTRUNCATE, GI_FOP_FALLOCATE, GI_FOP_DISCARD, GI_FOP_ZEROFILL,
                                           GI_FOP_FSETATTR, GI_FOP_FXATTROP,  GI_FOP_TRUNCATE,  GI_FOP_SETATTR};
  for (unsigned i = 0; i < GI_ARRAY_LEN(kinds); i++)
    change_is_seen(*state, kinds[i]);
}

static void
test_a_copy_into_the_file(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A), *source = fake_fd(s, 6);
  reads(s, fd, 0, 4 * KB);
  reads(s, fd, 4 * KB, 4 * KB);
  struct gi_fop *f = fake_fop(s, GI_FOP_COPY_FILE_RANGE);
  gi_fop_set_fd(f, source);
  f->fd2 = gi_fd_ref(fd);
  fake_submit(s, f);
  assert_int_equal(metric(s, UNUSED), 1);
}

static void
test_waiting_reads_go_down_when_the_file_changes(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  reads(s, fd, 0, 4 * KB);
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  reads(s, fd, 4 * KB, 4 * KB);
  struct gi_fop *a = reads(s, fd, 8 * KB, 4 * KB);
  through(s, fake_fd(s, FILE_A), GI_FOP_WRITE, 0, 4 * KB);
  assert_true(a->answered);
  fake_forget_seen(s);
  reads(s, fd, 12 * KB, 4 * KB);
  reads(s, fd, 16 * KB, 4 * KB);
  assert_int_equal(below(s), 2); /* nothing ahead while the change is under way */
  while (fake_release(s, 0, GI_FOP_MAX, 0, 0))
    ;
}

static void
early(struct gi_fop *fop, void *arg)
{
  fop->rsp.early = true;
}

static void
test_early_answers(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  struct gi_written w = {.inode = fake_inode(s, FILE_A), .changes = 1};
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = early});
  through(s, fd, GI_FOP_WRITE, 0, 4 * KB);
  through(s, fd, GI_FOP_WRITE, 0, 4 * KB);
  reads(s, fd, 0, 4 * KB);
  reads(s, fd, 4 * KB, 4 * KB);
  assert_int_equal(metric(s, PAGES), 1);
  assert_int_equal(reads(s, fd, 8 * KB, 4 * KB)->rsp.stat.mode, 0); /* nobody knows them now */
  fake_event(s, 0, GI_EVENT_WRITTEN, &w);
  fake_event(s, 0, GI_EVENT_WRITTEN, &w);
  assert_int_equal(metric(s, UNUSED), 0);
  assert_int_not_equal(reads(s, fd, 12 * KB, 4 * KB)->rsp.stat.mode, 0);
  w.err = EIO;
  fake_event(s, 0, GI_EVENT_WRITTEN, &w); /* one that began before this was on the path */
  assert_true(metric(s, UNUSED) > 0);
}

static void
test_locks_bricks_and_what_they_tell(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
  struct gi_fop *lock = fake_fop(s, GI_FOP_LK);
  reads(s, fd, 0, 4 * KB);
  reads(s, fd, 4 * KB, 4 * KB);
  gi_fop_set_fd(lock, fake_fd(s, 6));
  lock->args.cmd = GI_LKCMD_SETW;
  lock->args.type = lock->args.flock.type = GI_LK_READ;
  fake_submit(s, lock);
  assert_int_equal(metric(s, UNUSED), 1);
  reads(s, fd, 8 * KB, 4 * KB);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_int_equal(metric(s, UNUSED), 2);
  reads(s, fd, 12 * KB, 4 * KB);
  fake_event(s, 0, GI_EVENT_CHILD_DOWN, NULL);
  assert_int_equal(metric(s, UNUSED), 3);
  reads(s, fd, 16 * KB, 4 * KB);
  through(s, fd, GI_FOP_FLUSH, 0, 0);
  assert_int_equal(metric(s, UNUSED), 4);
}

static void
test_it_is_not_served_when_it_is_old(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  reads(s, fd, 0, 4 * KB);
  reads(s, fd, 4 * KB, 4 * KB);
  fake_wait(s, GI_NSEC_PER_SEC);
  reads(s, fd, 8 * KB, 4 * KB);
  assert_int_equal(metric(s, UNUSED), 1);
  assert_int_equal(metric(s, HITS), 0);
}

static void
test_direct_and_write_only(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *direct = fake_fd(s, FILE_A), *writer = fake_fd(s, FILE_A);
  direct->flags = O_RDWR | O_DIRECT;
  writer->flags = O_WRONLY;
  for (uint64_t at = 0; at < 5; at++) {
    reads(s, direct, at * 4 * KB, 4 * KB);
    reads(s, writer, at * 4 * KB, 4 * KB);
  }
  assert_int_equal(metric(s, PAGES), 0);
}

static void
test_the_end_of_the_file(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  size = 10000;
  reads(s, fd, 0, 4 * KB);
  reads(s, fd, 4 * KB, 4 * KB);
  struct gi_fop *f = reads(s, fd, 8 * KB, 4 * KB);
  assert_int_equal(f->rsp.ret, 10000 - 8 * KB);
  assert_int_equal(f->rsp.err, ENOENT);
  assert_int_equal(reads(s, fd, 10000, 4 * KB)->rsp.ret, 0);
  assert_int_equal(below(s), 3);
  size = 20000; /* somebody else goes on */
  assert_int_equal(reads(s, fd, 10000, 4 * KB)->rsp.ret, 4 * KB);
}

static void
test_atime(void **state)
{
  struct fake_stack *s = stack("option force-atime-update on\n");
  struct gi_fd *fd = fake_fd(s, FILE_A);
  reads(s, fd, 0, 4 * KB);
  reads(s, fd, 4 * KB, 4 * KB);
  fake_forget_seen(s);
  reads(s, fd, 8 * KB, 4 * KB);
  assert_int_equal(s->seen[0].size, 1);
  assert_int_equal(s->seen[0].offset, 8 * KB);
  fake_stack_free(s);
}

static void
test_memory(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  reads(s, fd, 0, 4 * KB);
  reads(s, fd, 4 * KB, 4 * KB);
  assert_int_equal(metric(s, PAGES), 1);
  gi_budget_set_limit(&s->ctx.budget, 1);
  fake_settle(s);
  assert_int_equal(metric(s, UNUSED), 1);
  reads(s, fd, 8 * KB, 4 * KB);
  reads(s, fd, 12 * KB, 4 * KB);
  assert_int_equal(metric(s, PAGES), 1); /* there is no room */
}

static void
test_cancel_and_drain(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  reads(s, fd, 0, 4 * KB);
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  reads(s, fd, 4 * KB, 4 * KB);
  struct gi_fop *a = reads(s, fd, 8 * KB, 4 * KB), *b = reads(s, fd, 12 * KB, 4 * KB);
  gi_fop_cancel(a);
  assert_int_equal(a->rsp.err, EINTR);
  gi_xlator_enable(s->x, false);
  fake_settle(s);
  assert_true(b->answered);
  assert_int_equal(b->rsp.ret, 4 * KB);
  assert_false(s->x->enabled);
  assert_true(fake_release(s, 0, GI_FOP_READ, 128 * KB, 0)); /* the page: nobody wants it */
}

/* A change that it has not seen is under way. */
static void
test_it_waits_after_it_joined_a_running_graph(void **state)
{
  struct fake_stack *s = stack("option pass-through on\n");
  struct gi_error err;
  struct gi_fd *fd = fake_fd(s, FILE_A);
  struct gi_fop *change = fake_fop(s, GI_FOP_WRITE);
  gi_fop_set_fd(change, fd);
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  fake_submit(s, change);
  assert_int_equal(fake_stack_children(s, "option pass-through off\n", (unsigned[]){0}, 1, &err), 0);
  assert_true(s->x->enabled);
  reads(s, fd, 0, 4 * KB);
  reads(s, fd, 4 * KB, 4 * KB);
  assert_int_equal(metric(s, PAGES), 0);
  assert_true(fake_release(s, 0, GI_FOP_WRITE, 0, 0));
  reads(s, fd, 8 * KB, 4 * KB);
  assert_true(metric(s, PAGES) > 0);
  fake_stack_free(s);
}

/* ---- by chance ---- */

static void
step(struct disk *d, uint64_t *at)
{
  uint64_t len = disk_random(d, 8) ? 700 : 500;
  switch (disk_random(d, 40)) {
  case 0:
    disk_submit(d, GI_FOP_WRITE, disk_random(d, DISK_MAX - 9000), 1 + disk_random(d, 8192), (unsigned)disk_random(d, 8));
    break;
  case 1:
    if (disk_random(d, 3) == 0)
      disk_submit(d, GI_FOP_FTRUNCATE, DISK_MAX / 2 + disk_random(d, DISK_MAX / 2), 0, 0);
    break;
  case 2:
    *at = disk_random(d, DISK_MAX / 2);
    break;
  case 3:
    disk_land(d);
    break;
  default:
    if (disk_random(d, 3)) {
      disk_work(d);
      break;
    }
    disk_submit(d, GI_FOP_READ, *at, len, 0);
    *at = *at + 2 * len < DISK_MAX ? *at + len : 0;
    break;
  }
}

static void
run_model(bool early)
{
  unsigned all = 0, from_memory = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct disk *d = disk_new("performance/read-ahead", "option page-size 8KB\n", seed, 70000);
    uint64_t at = 0;
    d->early = early;
    for (unsigned i = 0; i < 800; i++)
      step(d, &at);
    disk_finish(d);
    all += d->reads;
    from_memory += (unsigned)gi_metric_value(&d->x->cls->metrics[HITS], d->x->metrics);
    disk_free(d);
  }
  assert_true(from_memory > all / 10);
}

static void
test_model(void **state)
{
  run_model(false);
  run_model(true);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      TEST(test_a_sequential_reader_costs_a_read_per_page),
      cmocka_unit_test(test_the_window_grows),
      TEST(test_who_reads_ahead_itself_is_left_alone),
      TEST(test_what_is_on_its_way_is_waited_for),
      TEST(test_a_page_that_fails),
      TEST(test_changes_by_any_descriptor),
      TEST(test_a_copy_into_the_file),
      TEST(test_waiting_reads_go_down_when_the_file_changes),
      TEST(test_early_answers),
      TEST(test_locks_bricks_and_what_they_tell),
      TEST(test_it_is_not_served_when_it_is_old),
      TEST(test_direct_and_write_only),
      TEST(test_the_end_of_the_file),
      cmocka_unit_test(test_atime),
      TEST(test_memory),
      TEST(test_cancel_and_drain),
      cmocka_unit_test(test_it_waits_after_it_joined_a_running_graph),
      cmocka_unit_test(test_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
