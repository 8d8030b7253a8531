/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/quick-read: when the content of a small file comes, and until when
 * it is used.
 */
#include "xlators/performance/quick-read/qr-rig.h"

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/quick-read", "option cache-timeout 0\n", 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_a_cold_file_costs_its_open(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_file(s, O_RDONLY);
  check_read(s, o.fd, true);
  check_read(s, o.fd, true);
  shut(s, &o);
  assert_int_equal(fake_count(s, 0, GI_FOP_MAX), 1); /* one message for open, read and close */
  assert_int_equal(brick.sent, 1);
  assert_int_equal(metric(s, FETCHED), 1);
}

static void
test_parts_are_answered_by_reference(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s);
  static const struct {
    uint64_t offset, size;
    int ret, err;
  } row[] = {{0, 10, 10, 0},
             {10, SIZE - 10, SIZE - 10, ENOENT},
             {SIZE - 1, 5, 1, ENOENT},
             {SIZE, 5, 0, ENOENT},
             {5 * SIZE, 5, 0, ENOENT}};
  const struct gi_buf *buf = NULL;
  for (size_t i = 0; i < GI_ARRAY_LEN(row); i++) {
    struct gi_fop *f = fake_fop(s, GI_FOP_READ);
    gi_fop_set_fd(f, o.fd);
    f->args.offset = row[i].offset;
    f->args.size = row[i].size;
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, row[i].ret);
    assert_int_equal(f->rsp.err, row[i].err);
    assert_int_equal(f->rsp.payload.len, row[i].ret);
    if (row[i].ret && buf)
      assert_ptr_equal(f->rsp.payload.slice[0].buf, buf);
    if (row[i].ret)
      buf = f->rsp.payload.slice[0].buf;
  }
  assert_int_equal(reads(s), 0);
  shut(s, &o);
}

static void
test_an_empty_file_is_known_to_be_empty(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o;
  brick.at.size = 0;
  o = open_file(s, O_RDONLY);
  check_read(s, o.fd, true);
  shut(s, &o);
}

static void
test_opened_again_it_is_asked_whether_it_changed(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s), again = open_file(s, O_RDONLY);
  assert_int_equal(brick.sent, 1);
  assert_int_equal(metric(s, CONFIRMED), 1);
  check_read(s, again.fd, true);
  rewrite('b');
  shut(s, &again);
  again = open_file(s, O_RDONLY); /* what was closed elsewhere is seen */
  assert_int_equal(brick.sent, 2);
  check_read(s, again.fd, true);
  check_read(s, o.fd, true);
  shut(s, &o);
  shut(s, &again);
}

/* Some layer below answered it, without asking anybody. */
static void
test_an_open_that_asks_nobody_proves_nothing(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s), again;
  brick.ours = false;
  again = open_file(s, O_RDONLY);
  check_read(s, o.fd, true);
  rewrite('b');
  check_read(s, again.fd, false);
  check_read(s, again.fd, false); /* the first showed that it changed, this one what it is */
  check_read(s, again.fd, true);
  shut(s, &o);
  shut(s, &again);
}

/* Where bricks tell what others change nobody need ask. */
static void
test_bricks_that_tell_need_not_be_asked(void **state)
{
  struct fake_stack *s = stack("option cache-invalidation on\noption cache-timeout 0\n");
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
  struct open_file o = open_read(s), again;
  brick.ours = false;
  again = open_file(s, O_RDONLY);
  check_read(s, again.fd, true);
  rewrite('b');
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  check_read(s, again.fd, false);
  shut(s, &o);
  shut(s, &again);
  fake_stack_free(s);
}

static void
test_a_brick_that_sends_nothing_is_read_once(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o;
  brick.ours = false;
  o = open_file(s, O_RDONLY);
  on_fd(s, GI_FOP_FSTAT, o.fd);
  check_read(s, o.fd, false);
  check_read(s, o.fd, true);
  shut(s, &o);
}

static void
test_large_files_do_not_come(void **state)
{
  struct fake_stack *s = stack("option max-file-size 999\n");
  struct open_file o = open_file(s, O_RDONLY);
  assert_int_equal(brick.sent, 0);
  check_read(s, o.fd, false);
  check_read(s, o.fd, false);
  shut(s, &o);
  o = open_file(s, O_RDONLY); /* its size is known now: not even asked for */
  assert_int_equal(brick.asked, 1);
  shut(s, &o);
  fake_stack_free(s);
}

static void
test_who_does_not_read_is_not_sent_it(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_file(s, O_WRONLY);
  assert_int_equal(brick.asked, 0);
  shut(s, &o);
  o = open_file(s, O_RDWR | O_DIRECT);
  assert_int_equal(brick.asked, 0);
  shut(s, &o);
  o = open_file(s, O_RDWR);
  assert_int_equal(brick.sent, 1);
  on_fd(s, GI_FOP_WRITE, o.fd); /* it came for nothing */
  assert_int_equal(metric(s, UNUSED), 1);
  shut(s, &o);
  o = open_file(s, O_RDWR);
  assert_int_equal(brick.sent, 1);
  check_read(s, o.fd, false);
  shut(s, &o);
  o = open_file(s, O_RDWR); /* somebody reads */
  check_read(s, o.fd, true);
  shut(s, &o);
}

/* What this machine has written in whole pages its kernel keeps. */
static void
test_what_the_kernel_has_is_not_asked_for(void **state)
{
  static const struct {
    uint64_t offset, size;
    uint32_t flags;
    bool strict, told, asked; /* bricks wait for us; somebody else changed it then; an open asks for the content */
  } row[] = {
      {0, 8192, 0, true, false, false},       {8192, 4096, 0, true, false, false}, {0, 100, 0, true, false, true},
      {100, 4096, 0, true, false, true},      {4096, 100, 0, true, false, true},   {0, 8192, O_DIRECT, true, false, true},
      {0, 8192, O_APPEND, true, false, true}, {0, 8192, 0, true, true, true},      {0, 8192, 0, false, false, true},
  };
  for (size_t i = 0; i < GI_ARRAY_LEN(row); i++) {
    struct fake_stack *s = stack(NULL);
    s->graph->promise = 60;
    s->graph->strict = row[i].strict;
    struct open_file o = open_read(s), later;
    struct gi_fop *f = fake_fop(s, GI_FOP_WRITE);
    struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
    gi_fop_set_fd(f, o.fd);
    f->args.offset = row[i].offset;
    f->args.size = row[i].size;
    f->args.flags = row[i].flags;
    fake_submit(s, f);
    if (row[i].told)
      fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
    later = open_file(s, O_RDONLY);
    assert_int_equal(brick.asked, 1 + row[i].asked);
    check_read(s, later.fd, row[i].asked); /* who reads it all the same … */
    shut(s, &later);
    later = open_file(s, O_RDONLY); /* … finds it here next time */
    check_read(s, later.fd, true);
    shut(s, &later);
    shut(s, &o);
    fake_stack_free(s);
  }
}

static void
test_our_own_changes_are_seen(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_WRITE,   GI_FOP_FTRUNCATE, GI_FOP_FALLOCATE,
                                           GI_FOP_DISCARD, GI_FOP_ZEROFILL,  GI_FOP_FSETATTR};
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct fake_stack *s = stack(NULL);
    struct open_file o = open_read(s), later;
    fake_script(s, 0, kinds[i], (struct fake_reply){.hold = true});
    on_fd(s, kinds[i], o.fd);
    check_read(s, o.fd, false);
    later = open_file(s, O_RDONLY); /* what comes meanwhile is not kept */
    check_read(s, later.fd, false);
    rewrite('b');
    assert_true(fake_release(s, 0, kinds[i], 10, 0));
    check_read(s, o.fd, false);
    shut(s, &later);
    later = open_file(s, O_RDONLY);
    check_read(s, later.fd, true);
    shut(s, &later);
    shut(s, &o);
    fake_stack_free(s);
  }
}

static void
test_the_destination_of_a_copy_changes(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s);
  struct gi_fop *f = fake_fop(s, GI_FOP_COPY_FILE_RANGE);
  gi_fop_set_fd(f, fake_fd(s, FILE_B));
  f->fd2 = gi_fd_ref(o.fd);
  fake_submit(s, f);
  rewrite('b');
  check_read(s, o.fd, false);
  shut(s, &o);
}

static void
test_an_open_that_truncates_changes(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s), other = open_file(s, O_RDWR | O_TRUNC);
  rewrite('b');
  check_read(s, o.fd, false);
  shut(s, &other);
  shut(s, &o);
}

static void
answered_early(struct gi_fop *fop, void *arg)
{
  fop->rsp.early = true;
}

/* The bricks do not have it yet, so what they say is old. */
static void
test_what_was_answered_early_is_waited_for(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s), later;
  struct gi_written w = {.inode = fake_inode(s, FILE_A), .changes = 1};
  for (unsigned i = 0; i < 2; i++) {
    fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = answered_early});
    on_fd(s, GI_FOP_WRITE, o.fd);
  }
  for (unsigned i = 0; i < 2; i++) {
    later = open_file(s, O_RDONLY);
    check_read(s, later.fd, false);
    check_read(s, later.fd, false);
    shut(s, &later);
    fake_event(s, 0, GI_EVENT_WRITTEN, &w);
  }
  rewrite('b');
  later = open_file(s, O_RDONLY);
  check_read(s, later.fd, true);
  shut(s, &later);
  shut(s, &o);
}

static void
test_somebody_elses_change_is_seen(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
  struct open_file o = open_read(s);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1);
  check_read(s, o.fd, false);
  check_read(s, o.fd, true); /* it was only asked again */
  rewrite('b');
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  check_read(s, o.fd, false);
  shut(s, &o);
}

static void
test_attributes_show_a_change(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s);
  on_fd(s, GI_FOP_FSTAT, o.fd);
  check_read(s, o.fd, true);
  rewrite('b');
  on_fd(s, GI_FOP_FSTAT, o.fd);
  check_read(s, o.fd, false);
  shut(s, &o);
}

/* They may come from a cache below. */
static void
test_attributes_do_not_show_that_nothing_changed(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
  struct open_file o = open_read(s);
  brick.stale = brick.at;
  brick.stale_answers = true;
  rewrite('b');
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  on_fd(s, GI_FOP_FSTAT, o.fd);
  check_read(s, o.fd, false);
  shut(s, &o);
}

/* Another client whose clock is behind leaves the mtime as it was, so the ctime counts whatever the option says. */
static void
test_the_ctime_counts(void **state)
{
  for (unsigned on = 0; on < 2; on++) {
    struct fake_stack *s = stack(on ? "option ctime-invalidation on\n" : NULL);
    struct open_file o = open_read(s);
    brick.at.ctime.nsec++;
    on_fd(s, GI_FOP_FSTAT, o.fd);
    check_read(s, o.fd, false);
    shut(s, &o);
    fake_stack_free(s);
  }
}

static void
test_a_lock_has_it_asked_for_again(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s);
  for (unsigned takes = 0; takes < 2; takes++) {
    struct gi_fop *f = fake_fop(s, GI_FOP_LK);
    gi_fop_set_fd(f, fake_fd(s, FILE_B)); /* it may be for any file */
    f->args.cmd = GI_LKCMD_SETW;
    f->args.type = takes ? GI_LK_READ : GI_LK_UNLOCK;
    fake_submit(s, f);
    check_read(s, o.fd, !takes);
  }
  check_read(s, o.fd, true);
  shut(s, &o);
}

static void
test_it_is_asked_for_again_in_time(void **state)
{
  struct fake_stack *s = stack("option cache-timeout 0\n");
  struct open_file o = open_file(s, O_RDONLY);
  check_read(s, o.fd, false);
  shut(s, &o);
  fake_stack_free(s);
  s = stack(NULL);
  o = open_read(s);
  fake_wait(s, 1100000000);
  check_read(s, o.fd, false); /* and good for as long again */
  check_read(s, o.fd, true);
  shut(s, &o);
  fake_stack_free(s);
}

static void
test_bricks_that_come_and_go_take_all_along(void **state)
{
  static const enum gi_event events[] = {GI_EVENT_CHILD_DOWN, GI_EVENT_CHILD_UP, GI_EVENT_CHILD_CHANGED};
  struct fake_stack *s = *state;
  struct open_file o = open_read(s), held;
  for (size_t i = 0; i < GI_ARRAY_LEN(events); i++) {
    fake_event(s, 0, events[i], NULL);
    check_read(s, o.fd, false);
    held = open_read(s);
    shut(s, &held);
  }
  shut(s, &o);
}

static void
test_drained_it_has_nothing(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s), other;
  gi_xlator_enable(s->x, false);
  assert_false(s->x->enabled);
  assert_int_equal(metric(s, DROPPED), 1);
  rewrite('b');
  s->ctx.unwritten = 1;
  gi_xlator_enable(s->x, true);
  check_read(s, o.fd, false);
  /* An early answer from before it came back is on its way: it cannot tell which of them ended. */
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = answered_early});
  on_fd(s, GI_FOP_WRITE, o.fd);
  fake_event(s, 0, GI_EVENT_WRITTEN, &(struct gi_written){.inode = fake_inode(s, FILE_A), .changes = 1});
  other = open_file(s, O_RDONLY);
  check_read(s, other.fd, false);
  check_read(s, other.fd, false);
  s->ctx.unwritten = 0;
  shut(s, &other);
  shut(s, &o);
}

/* A change that passed before it came: what is asked for until that has ended may be from before. */
static void
test_changes_from_before_it_came(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_read(s), other;
  gi_xlator_enable(s->x, false);
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  on_fd(s, GI_FOP_WRITE, o.fd);
  gi_xlator_enable(s->x, true);
  other = open_file(s, O_RDONLY);
  rewrite('b');
  assert_true(fake_release(s, 0, GI_FOP_WRITE, SIZE, 0));
  check_read(s, other.fd, false);
  shut(s, &other);
  other = open_file(s, O_RDONLY);
  check_read(s, other.fd, true);
  shut(s, &other);
  shut(s, &o);
}

static void
test_the_budget_gets_its_memory_back(void **state)
{
  struct fake_stack *s = *state;
  uint64_t before = s->ctx.budget.used;
  struct open_file o = open_read(s);
  assert_true(s->ctx.budget.used > before + SIZE);
  gi_budget_set_limit(&s->ctx.budget, 1);
  fake_settle(s);
  assert_true(s->ctx.budget.used <= before);
  gi_budget_set_limit(&s->ctx.budget, 0);
  check_read(s, o.fd, false);
  shut(s, &o);
}

/* ---- all of it, by chance ---- */

static uint32_t seed;

static uint32_t
chance(uint32_t n)
{
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

/* Each rewrite is closed elsewhere: who opens later must see it, or something newer. */
static void
test_by_chance_nobody_reads_what_is_older_than_the_open(void **state)
{
  uint64_t hits = 0;
  for (unsigned round = 0; round < 40; round++) {
    struct fake_stack *s = stack(round % 2 ? "option ctime-invalidation on\n" : NULL);
    struct open_file o[4] = {0};
    char at_open[4] = {0}, now = 'a';
    seed = round;
    for (unsigned i = 0; i < 200; i++) {
      unsigned n = chance(4);
      struct gi_fop *f = NULL;
      brick.ours = chance(4) != 0;
      switch (chance(8)) {
      case 0:
        if (now < 'z')
          rewrite(++now);
        break;
      case 1:
        if (o[n].fd && now < 'z') {
          f = on_fd(s, GI_FOP_WRITE, o[n].fd);
          rewrite(++now);
          at_open[n] = now; /* who wrote reads that */
        }
        break;
      case 2:
        if (o[n].fd)
          shut(s, &o[n]);
        o[n] = (struct open_file){0};
        break;
      case 3:
        if (o[n].fd)
          f = on_fd(s, GI_FOP_FSTAT, o[n].fd);
        break;
      case 4:
        if (chance(10) == 0)
          fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
        break;
      default:
        if (!o[n].fd) {
          o[n] = open_file(s, O_RDWR);
          at_open[n] = now;
          break;
        }
        char byte;
        f = on_fd(s, GI_FOP_READ, o[n].fd);
        assert_int_equal(gi_payload_read(&f->rsp.payload, SIZE / 2, &byte, 1), 1);
        assert_true(byte >= at_open[n] && byte <= now);
        break;
      }
      if (f)
        fake_fop_free(f);
    }
    hits += metric(s, HITS);
    for (unsigned i = 0; i < 4; i++)
      if (o[i].fd)
        shut(s, &o[i]);
    fake_stack_free(s);
  }
  assert_true(hits > 500);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      TEST(test_a_cold_file_costs_its_open),
      TEST(test_parts_are_answered_by_reference),
      TEST(test_an_empty_file_is_known_to_be_empty),
      TEST(test_opened_again_it_is_asked_whether_it_changed),
      TEST(test_an_open_that_asks_nobody_proves_nothing),
      cmocka_unit_test(test_bricks_that_tell_need_not_be_asked),
      TEST(test_a_brick_that_sends_nothing_is_read_once),
      cmocka_unit_test(test_large_files_do_not_come),
      TEST(test_who_does_not_read_is_not_sent_it),
      cmocka_unit_test(test_what_the_kernel_has_is_not_asked_for),
      cmocka_unit_test(test_our_own_changes_are_seen),
      TEST(test_the_destination_of_a_copy_changes),
      TEST(test_an_open_that_truncates_changes),
      TEST(test_what_was_answered_early_is_waited_for),
      TEST(test_somebody_elses_change_is_seen),
      TEST(test_attributes_show_a_change),
      TEST(test_attributes_do_not_show_that_nothing_changed),
      cmocka_unit_test(test_the_ctime_counts),
      TEST(test_a_lock_has_it_asked_for_again),
      cmocka_unit_test(test_it_is_asked_for_again_in_time),
      TEST(test_bricks_that_come_and_go_take_all_along),
      TEST(test_drained_it_has_nothing),
      TEST(test_changes_from_before_it_came),
      TEST(test_the_budget_gets_its_memory_back),
      cmocka_unit_test(test_by_chance_nobody_reads_what_is_older_than_the_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
