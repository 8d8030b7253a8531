/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/write-behind: what is answered early, how messages are made, bounds and the end.
 */
#include "xlators/performance/write-behind/wb-rig.h"

/* ---- early answers ---- */

static void
test_transparent(void **state)
{
  struct fake_stack *s = new_stack("option flush-behind off\n");

  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_a_write_is_answered_before_the_bricks_have_it(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  f = put(s, fd, 4096, 512, 'a');
  is_early(f);
  assert_int_equal(f->rsp.pre.size, 100);
  assert_int_equal(f->rsp.post.size, 4608);
  assert_true(f->caller.time.sec > 100);
  assert_int_equal(f->rsp.post.mtime.sec, f->caller.time.sec);
  assert_int_equal(f->rsp.post.ctime.nsec, f->caller.time.nsec);
  assert_int_equal(fake_held(s, 0), 1); /* it left at once */
  assert_int_equal(fake_held_fop(s, 0, 0)->caller.time.nsec, f->caller.time.nsec);
  assert_int_equal(told.events, 0);
  release_writes(s);
  assert_int_equal(told.events, 1);
  assert_int_equal(told.changes, 1);
  assert_int_equal(told.err, 0);
  assert_int_equal(metric(s, "dirty"), 0);
}

static void
test_what_the_bricks_found_is_told(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, 512, 'a');
  f = fake_held_fop(s, 0, 0);
  f->rsp.pre = attributes(FILE_A, 7);
  f->rsp.post = attributes(FILE_A, 9999); /* somebody else wrote, too */
  release_writes(s);
  assert_int_equal(told.left, 9999);
  f = put(s, fd, 512, 512, 'b');
  is_early(f);
  assert_int_equal(f->rsp.pre.size, 9999);
  assert_int_equal(f->rsp.post.size, 9999);
}

static void
test_what_is_not_answered_early(void **state)
{
  struct fake_stack *s = new_stack("option strict-O_DIRECT on\n");
  struct gi_fd *fd = opened(s, FILE_A, 100), *unknown = fake_fd(s, FILE_B);
  static const uint32_t flags[] = {O_SYNC, O_DSYNC, O_DIRECT, O_APPEND};
  struct gi_fop *f;
  struct gi_iatt a;

  for (unsigned i = 0; i < GI_ARRAY_LEN(flags); i++) {
    f = write_fop(s, fd, 0, 512, 'a');
    f->args.flags = flags[i];
    not_early(s, f);
    fd->flags |= (int32_t)flags[i];
    not_early(s, write_fop(s, fd, 0, 512, 'a'));
    fd->flags &= ~(int32_t)flags[i];
  }
  f = write_fop(s, fd, 0, 512, 'a');
  f->caller.pid = -1;
  not_early(s, f);
  f = write_fop(s, fd, 0, 512, 'a');
  gi_dict_set_int(gi_fop_xdata(f), "something", 1);
  not_early(s, f);
  not_early(s, write_fop(s, unknown, 0, 512, 'a'));
  a = attributes(FILE_A, 100);
  a.mode |= S_ISUID;
  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &a});
  fake_submit(s, on_fd(s, GI_FOP_FSTAT, fd));
  not_early(s, write_fop(s, fd, 0, 512, 'a'));
  assert_int_equal(told.events, 0);
  stat_of(s, fd, 100);
  is_early(put(s, fd, 0, 512, 'a'));
  fake_stack_free(s);
}

static struct gi_fop *
pages(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, size_t len)
{
  struct gi_fop *f = write_fop(s, fd, offset, len, 'a');

  f->args.paged = true;
  fake_submit(s, f);
  return f;
}

/* Nobody waits for what the kernel writes back. What fills a message goes at once, however full the window is, but in order. */
static void
test_pages_that_fill_a_message_go_as_they_are(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 8; i++)
    assert_false(pages(s, fd, i * (512u << 10), 512 << 10)->answered);
  assert_int_equal(fake_held(s, 0), 8);
  assert_int_equal(metric(s, "early"), 0);
  assert_int_equal(metric(s, "waited_window"), 0);
  assert_false(pages(s, fd, 0, 512 << 10)->answered); /* once more: after the first */
  assert_int_equal(fake_held(s, 0), 8);
  is_early(pages(s, fd, 8 * (512u << 10), PAGE)); /* few of them gather */
  release_writes(s);
  assert_int_equal(told.changes, 1);
  assert_int_equal(metric(s, "dirty"), 0);
}

/* The bricks decide where a record lands. */
static void
test_an_append_at_the_known_end_is_answered_early(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_fop *f[4];

  fd->flags |= O_APPEND;
  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 4; i++)
    is_early(f[i] = put(s, fd, 100 + 10 * i, 10, 'a'));
  assert_int_equal(fake_held(s, 0), 1);
  release_writes(s);
  assert_int_equal(writes(s), 2); /* the other three as one record */
  assert_int_equal(s->seen[1].size, 30);
  assert_int_equal(told.changes, 4);
}

/* ---- messages ---- */

static void
test_writes_gather_while_one_is_under_way(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f, *last;
  char c;

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 6; i++)
    is_early(last = put(s, fd, i * PAGE, PAGE, (char)('a' + i)));
  assert_int_equal(fake_held(s, 0), 1);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  assert_int_equal(told.changes, 1);
  assert_int_equal(fake_held(s, 0), 0); /* perhaps there is more to come */
  fake_wait(s, GATHERED);
  f = fake_held_fop(s, 0, 0);
  assert_non_null(f);
  assert_int_equal(f->args.offset, PAGE);
  assert_int_equal(f->payload.len, 5 * PAGE);
  assert_int_equal(f->payload.count, 5);
  assert_int_equal(f->caller.time.nsec, last->caller.time.nsec);
  for (unsigned i = 0; i < 5; i++) {
    gi_payload_read(&f->payload, i * PAGE + PAGE / 2, &c, 1);
    assert_int_equal(c, 'b' + (int)i);
  }
  release_writes(s);
  assert_int_equal(told.events, 2);
  assert_int_equal(told.of_each[1], 5);
  assert_int_equal(metric(s, "merged"), 4);
}

/* Full, beyond the slices of a payload, of another descriptor or owner, or not in line: the message leaves. */
static void
test_a_message_leaves_when_nothing_more_joins(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0), *other = opened(s, FILE_A, 0);
  struct gi_fop *f;
  uint64_t copied = gi_payload_copied;

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 10; i++)
    is_early(put(s, fd, i * 512, 512, 'a'));
  assert_int_equal(fake_held(s, 0), 2);
  assert_int_equal(s->seen[1].size, 8 * 512);
  assert_int_equal(gi_payload_copied, copied);
  is_early(put(s, other, 10 * 512, 512, 'a'));
  assert_int_equal(fake_held(s, 0), 3);
  f = write_fop(s, other, 11 * 512, 512, 'a');
  f->caller.owner.len = 8;
  fake_submit(s, f);
  assert_int_equal(fake_held(s, 0), 4);
  f = write_fop(s, other, 12 * 512, 512, 'a');
  f->caller.uid = 7;
  fake_submit(s, f);
  assert_int_equal(fake_held(s, 0), 5);
  put(s, fd, 1 << 20, 512, 'a');
  put(s, fd, (1 << 20) + 512, 100 << 10, 'a');
  assert_int_equal(fake_held(s, 0), 5);
  put(s, fd, (1 << 20) + 512 + (100 << 10), 100 << 10, 'a'); /* too much for one message */
  assert_int_equal(fake_held(s, 0), 6);
  put(s, fd, 4 << 20, 128 << 10, 'a'); /* one by itself */
  assert_int_equal(fake_held(s, 0), 7);
  release_writes(s);
  assert_int_equal(told.changes, 17);
}

/* As a database does that makes its file longer and writes what it made before. */
static void
test_several_streams_gather_in_one_file(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 64 << 20);

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 4; i++)
    for (unsigned k = 0; k < 4; k++)
      is_early(put(s, fd, (uint64_t)k * (4u << 20) + i * PAGE, PAGE, 'a'));
  assert_int_equal(fake_held(s, 0), 1);
  assert_int_equal(metric(s, "merged"), 11); /* the first had left */
  is_early(put(s, fd, 32 << 20, PAGE, 'a')); /* one more: the one that was joined longest ago leaves */
  assert_int_equal(fake_held(s, 0), 2);
  assert_int_equal(s->seen[1].offset, PAGE);
  assert_int_equal(s->seen[1].size, 3 * PAGE);
  release_writes(s);
  assert_int_equal(told.changes, 17);
}

static void
test_slices_of_one_buffer_are_one(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 2 << 20);
  struct gi_buf *buf = gi_buf_new(128 << 10);

  hold(s, GI_FOP_WRITE);
  put(s, fd, 1 << 20, 512, 'x');
  for (unsigned i = 0; i < 16; i++) {
    struct gi_fop *f = on_fd(s, GI_FOP_WRITE, fd);

    gi_payload_add(&f->payload, buf, buf->base + i * PAGE, PAGE);
    f->args.offset = i * PAGE;
    fake_submit(s, f);
    is_early(f);
  }
  gi_buf_unref(&buf);
  assert_int_equal(fake_held(s, 0), 2);
  assert_int_equal(s->seen[1].size, 128 << 10);
  release_writes(s);
}

static void
test_overlapping_writes_are_never_under_way_together(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);

  hold(s, GI_FOP_WRITE);
  is_early(put(s, fd, 0, PAGE, 'a'));
  is_early(put(s, fd, 2 * PAGE, PAGE, 'b')); /* apart: gathers */
  is_early(put(s, fd, PAGE / 2, PAGE, 'c')); /* waits for 'a' */
  is_early(put(s, fd, 6 * PAGE, PAGE, 'd'));
  fake_wait(s, OVERDUE);
  assert_int_equal(fake_held(s, 0), 3);
  fake_release_fop(s, fake_held_fop(s, 0, 1), PAGE, 0);
  assert_int_equal(fake_held(s, 0), 2);
  fake_release_fop(s, fake_held_fop(s, 0, 0), PAGE, 0);
  assert_int_equal(s->seen[3].offset, PAGE / 2);
  release_writes(s);
  assert_int_equal(told.changes, 4);
}

/* Those above count the oldest first. */
static void
test_the_end_of_the_oldest_is_told_first(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, 2 * PAGE, PAGE, 'b');
  put(s, fd, 3 * PAGE, PAGE, 'b');
  fake_wait(s, OVERDUE);
  put(s, fd, 6 * PAGE, PAGE, 'c');
  assert_int_equal(fake_held(s, 0), 2);
  fake_release_fop(s, fake_held_fop(s, 0, 1), 2 * PAGE, 0);
  assert_int_equal(told.events, 0);
  fake_release_fop(s, fake_held_fop(s, 0, 0), PAGE, 0);
  assert_int_equal(told.events, 2);
  assert_int_equal(told.of_each[0], 1);
  assert_int_equal(told.of_each[1], 2);
  release_writes(s);
}

static void
test_a_short_write_sends_the_rest(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  fake_release(s, 0, GI_FOP_WRITE, 100, 0);
  f = fake_held_fop(s, 0, 0);
  assert_int_equal(f->args.offset, 100);
  assert_int_equal(f->payload.len, PAGE - 100);
  assert_int_equal(told.events, 0);
  release_writes(s);
  assert_int_equal(told.changes, 1);
  put(s, fd, 0, PAGE, 'a');
  fake_wait(s, GATHERED);
  fake_release(s, 0, GI_FOP_WRITE, 0, 0); /* nothing at all is a failure */
  assert_int_equal(told.err, EIO);
}

/* Nobody who goes on writing waits for it, and an fsync does not wait longer. */
static void
test_what_gathers_leaves_for_whoever_needs_it(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);

  is_early(put(s, fd, 0, PAGE, 'a'));
  is_early(put(s, fd, PAGE, PAGE, 'b'));
  is_early(put(s, fd, 2 * PAGE, PAGE, 'c'));
  assert_int_equal(writes(s), 1);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.ret, 0);
  assert_int_equal(writes(s), 2);
  fake_wait(s, GATHERED);
  is_early(put(s, fd, 3 * PAGE, PAGE, 'd')); /* after a pause: at once */
  assert_int_equal(writes(s), 3);
}

static void
test_without_trickling_writes_wait_for_more(void **state)
{
  struct fake_stack *s = new_stack("option trickling-writes off\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);

  is_early(put(s, fd, 0, 512, 'a'));
  is_early(put(s, fd, 512, 512, 'a'));
  assert_int_equal(writes(s), 0);
  sync_it(s, GI_FOP_FSYNC, fd);
  assert_int_equal(writes(s), 1);
  is_early(put(s, fd, 1024, 512, 'a'));
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC); /* but not for ever */
  assert_int_equal(writes(s), 2);
  fake_stack_free(s);
}

static void
test_strict_write_ordering(void **state)
{
  struct fake_stack *s = new_stack("option strict-write-ordering on\n");
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 4; i++)
    is_early(put(s, fd, i * 3 * PAGE, PAGE, 'a'));
  for (unsigned i = 0; i < 4; i++) {
    fake_wait(s, i == 3 ? GATHERED : 0);
    assert_int_equal(fake_held(s, 0), 1);
    assert_int_equal(fake_held_fop(s, 0, 0)->args.offset, i * 3 * PAGE);
    fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  }
  fake_stack_free(s);
}

/* ---- bounds ---- */

static void
test_a_full_window_lets_writes_wait(void **state)
{
  struct fake_stack *s = new_stack("option cache-size 512KB\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;
  struct gi_error err;

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 9; i++)
    is_early(put(s, fd, i * (64u << 10), 64 << 10, 'a'));
  f = put(s, fd, 9 * (64u << 10), 64 << 10, 'a');
  assert_false(f->answered);
  fake_release(s, 0, GI_FOP_WRITE, 64 << 10, 0);
  is_early(f);
  f = put(s, fd, 13 * (64u << 10), 64 << 10, 'a');
  assert_false(f->answered);
  assert_int_equal(metric(s, "waited_window"), 2);
  assert_int_equal(fake_stack_children(s, "option cache-size 1MB\n", (unsigned[]){0}, 1, &err),
                   0); /* live, for known files too */
  is_early(f);
  release_writes(s);
  assert_int_equal(told.changes, 11);
  fake_stack_free(s);
}

/* While the bricks take one message the next comes from the kernel, however large they are. */
static void
test_a_write_as_large_as_the_window_is_followed_by_another(void **state)
{
  struct fake_stack *s = new_stack("option cache-size 512KB\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  is_early(put(s, fd, 0, 512 << 10, 'a'));
  is_early(put(s, fd, 512 << 10, 512 << 10, 'b'));
  f = put(s, fd, 1024 << 10, 512 << 10, 'c');
  assert_false(f->answered);
  assert_int_equal(fake_held(s, 0), 2);
  fake_release(s, 0, GI_FOP_WRITE, 512 << 10, 0);
  is_early(f);
  release_writes(s);
  fake_stack_free(s);
}

static void
test_all_files_together_have_a_bound(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *a = opened(s, FILE_A, 0), *b = opened(s, FILE_B, 0);
  struct gi_fop *f;

  gi_budget_set_limit(&s->ctx.budget, 4 * 3 * PAGE);
  hold(s, GI_FOP_WRITE);
  is_early(put(s, a, 0, PAGE, 'a'));
  is_early(put(s, a, PAGE, PAGE, 'a'));
  is_early(put(s, b, 0, PAGE, 'b'));
  f = put(s, b, PAGE, PAGE, 'b');
  assert_false(f->answered);
  assert_int_equal(fake_held(s, 0), 3); /* what gathers is pushed */
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  is_early(f);
  release_writes(s);
  assert_int_equal(metric(s, "waited_memory"), 1);
  assert_int_equal(told.changes, 4);
}

/* A byte lies on a page of its own in the buffers of the kernel's requests. */
static void
test_small_writes_count_by_the_memory_that_they_hold(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  gi_budget_set_limit(&s->ctx.budget, 4 * 10 * GI_PAGE);
  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 10; i++)
    is_early(put(s, fd, i, 1, 'a'));
  f = put(s, fd, 10, 1, 'a');
  assert_false(f->answered);
  assert_int_equal(metric(s, "dirty"), 10);
  fake_release(s, 0, GI_FOP_WRITE, 1, 0);
  is_early(f);
  release_writes(s);
  assert_int_equal(metric(s, "waited_memory"), 1);
  assert_int_equal(told.changes, 11);
}

static void
put_from(struct fake_stack *s, struct gi_fd *fd, struct gi_buf *buf, uint64_t offset)
{
  struct gi_fop *f = on_fd(s, GI_FOP_WRITE, fd);

  gi_payload_add(&f->payload, buf, buf->base + offset, GI_PAGE);
  f->args.offset = offset;
  f->args.size = GI_PAGE;
  fake_submit(s, f);
  is_early(f);
}

/* A page of a slow file is not to keep a megabyte that was read together with it. */
static void
test_a_slow_file_does_not_keep_the_buffers_of_others(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);
  struct gi_buf *buf = gi_buf_new(1 << 20);
  uint64_t copied = gi_payload_copied;

  hold(s, GI_FOP_WRITE);
  put_from(s, fd, buf, 0);
  put_from(s, fd, buf, 16 * GI_PAGE);
  assert_int_equal(gi_payload_copied, copied);
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC);
  put_from(s, fd, buf, 32 * GI_PAGE);
  put_from(s, fd, buf, 48 * GI_PAGE);
  fake_wait(s, OVERDUE);
  assert_int_equal(fake_held(s, 0), 4);
  assert_int_equal(gi_payload_pinned(&fake_held_fop(s, 0, 3)->payload), GI_PAGE);
  assert_int_equal(gi_payload_copied, copied + 2 * GI_PAGE);
  gi_buf_unref(&buf);
  release_writes(s);
  assert_int_equal(told.changes, 4);
}

/* ---- leaving ---- */

static void
test_drained_it_has_nothing(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, PAGE, PAGE, 'b');
  gi_xlator_enable(s->x, false);
  fake_settle(s);
  assert_true(s->x->draining);
  assert_int_equal(fake_held(s, 0), 2); /* nothing waits for more */
  f = put(s, fd, PAGE, PAGE, 'c');      /* behind what is there, and not early */
  assert_false(f->answered);
  assert_int_equal(fake_held(s, 0), 2);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  assert_int_equal(fake_held(s, 0), 1);
  assert_false(s->x->draining);
  assert_false(s->x->enabled);
  release_writes(s);
  assert_true(f->answered);
  assert_false(f->rsp.early);
  assert_int_equal(told.changes, 2);

  gi_xlator_enable(s->x, false);
  gi_xlator_enable(s->x, true);
  fake_script_clear(s);
  stat_of(s, fd, 0);
  assert_false(put(s, fd, 0, 512, 'a')->rsp.early); /* what went past it may still be under way */
  fake_wait(s, 600 * GI_NSEC_PER_MSEC);
  stat_of(s, fd, 0); /* … and make it longer after this */
  fake_wait(s, 500 * GI_NSEC_PER_MSEC);
  assert_false(put(s, fd, 0, 512, 'a')->rsp.early);
  stat_of(s, fd, 0);
  assert_true(put(s, fd, 0, 512, 'a')->rsp.early);
}

/* What went past before it came may still be under way. */
static void
test_it_joins_a_running_graph(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err;
  struct gi_fd *fd;

  s->x->cls->finish(s->x);
  assert_int_equal(s->x->cls->init(s->x, &err), 0);
  fake_wait(s, 600 * GI_NSEC_PER_MSEC); /* which counts, though nothing comes */
  fd = opened(s, FILE_A, 0);
  stat_of(s, fd, 0);
  assert_false(put(s, fd, 0, 512, 'a')->rsp.early);
  fake_wait(s, 500 * GI_NSEC_PER_MSEC);
  stat_of(s, fd, 0);
  assert_true(put(s, fd, 0, 512, 'a')->rsp.early);
}

/* close(2) lets it go, and whoever waits for it elsewhere is to find what it protected. */
static void
test_a_lock_that_was_taken_while_it_was_off(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *a = fake_fd(s, FILE_A), *b = opened(s, FILE_B, 0);
  struct gi_fop *f;

  fake_submit(s, on_fd(s, GI_FOP_OPEN, a));
  gi_xlator_enable(s->x, false);
  lock(s, a, GI_LK_WRITE);
  gi_xlator_enable(s->x, true);
  stat_of(s, b, 0);
  put(s, b, 0, PAGE, 'b');
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC);
  stat_of(s, b, PAGE);
  hold(s, GI_FOP_WRITE);
  is_early(put(s, b, 0, PAGE, 'b'));
  f = sync_it(s, GI_FOP_FLUSH, a);
  assert_false(f->answered);
  release_writes(s);
  assert_true(f->answered);
  is_early(put(s, b, 0, PAGE, 'b'));
  assert_true(sync_it(s, GI_FOP_FLUSH, opened(s, FILE_A + 2, 0))->answered); /* it cannot have one that was not seen */
  release_writes(s);
}

/* A reply to what it saw before is no sign that it is back. */
static void
test_replies_that_come_while_it_is_off(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_iatt a = attributes(FILE_A, 0);

  hold(s, GI_FOP_FSTAT);
  fake_submit(s, on_fd(s, GI_FOP_FSTAT, fd));
  gi_xlator_enable(s->x, false);
  fake_held_fop(s, 0, 0)->rsp.stat = a;
  fake_release(s, 0, GI_FOP_FSTAT, 0, 0);
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC);
  gi_xlator_enable(s->x, true);
  fake_script_clear(s);
  stat_of(s, fd, 0);
  assert_false(put(s, fd, 0, 512, 'a')->rsp.early);
}

static void
test_idle_it_leaves_at_once(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);

  is_early(put(s, fd, 0, PAGE, 'a'));
  gi_xlator_enable(s->x, false);
  assert_false(s->x->draining);
  assert_false(s->x->enabled);
}

/* What is lost on the way out is told as ever; the last descriptor lets it go. */
static void
test_it_stays_until_losses_are_told(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *a = opened(s, FILE_A, 0), *b = opened(s, FILE_A, 0);

  hold(s, GI_FOP_WRITE);
  is_early(put(s, a, 0, PAGE, 'a'));
  gi_xlator_enable(s->x, false);
  fake_release(s, 0, GI_FOP_WRITE, -1, ENOTCONN);
  fake_script_clear(s);
  assert_true(s->x->draining);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, a)->rsp.err, ENOTCONN);
  fake_settle(s);
  assert_true(s->x->draining);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, a)->rsp.ret, 0);
  assert_int_equal(sync_it(s, GI_FOP_FLUSH, b)->rsp.err, ENOTCONN);
  fake_settle(s);
  assert_true(s->x->draining); /* that may have been another process's close of it */
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, b)->rsp.err, ENOTCONN);
  fake_settle(s);
  assert_false(s->x->draining);
  assert_false(s->x->enabled);
}

static void
test_those_below_hear_of_the_end_when_all_is_written(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, PAGE, PAGE, 'b');
  gi_graph_deactivate(s->graph);
  fake_settle(s);
  assert_int_equal(fake_held(s, 0), 2);
  assert_int_equal(s->below[GI_EVENT_PARENT_DOWN], 0);
  assert_int_equal(s->ctx.unwritten, 2); /* whoever ends the process knows that */
  release_writes(s);
  assert_int_equal(told.changes, 2);
  assert_int_equal(s->ctx.unwritten, 0);
  assert_int_equal(s->below[GI_EVENT_PARENT_DOWN], 1);
}

static void
test_passing_through_it_answers_nothing_early(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_error err;

  is_early(put(s, fd, 0, PAGE, 'a'));
  assert_int_equal(fake_stack_children(s, "option pass-through on\n", (unsigned[]){0}, 1, &err), 0);
  stat_of(s, fd, 0);
  not_early(s, write_fop(s, fd, 0, PAGE, 'a'));
}

static void
test_a_released_descriptor_stays_until_it_is_written(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0), *mine = gi_fd_new(s->graph, fd->inode, O_RDWR, 100);
  unsigned live = s->graph->fds_live;

  hold(s, GI_FOP_WRITE);
  fake_fop_free(put(s, mine, 0, PAGE, 'a'));
  gi_fd_unref(&mine);
  assert_int_equal(s->graph->fds_live, live);
  release_writes(s);
  assert_int_equal(s->graph->fds_live, live - 1);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      TEST(test_a_write_is_answered_before_the_bricks_have_it),
      TEST(test_what_the_bricks_found_is_told),
      cmocka_unit_test(test_what_is_not_answered_early),
      TEST(test_pages_that_fill_a_message_go_as_they_are),
      TEST(test_an_append_at_the_known_end_is_answered_early),
      TEST(test_writes_gather_while_one_is_under_way),
      TEST(test_a_message_leaves_when_nothing_more_joins),
      TEST(test_several_streams_gather_in_one_file),
      TEST(test_slices_of_one_buffer_are_one),
      TEST(test_overlapping_writes_are_never_under_way_together),
      TEST(test_the_end_of_the_oldest_is_told_first),
      TEST(test_a_short_write_sends_the_rest),
      TEST(test_what_gathers_leaves_for_whoever_needs_it),
      cmocka_unit_test(test_without_trickling_writes_wait_for_more),
      cmocka_unit_test(test_strict_write_ordering),
      cmocka_unit_test(test_a_full_window_lets_writes_wait),
      cmocka_unit_test(test_a_write_as_large_as_the_window_is_followed_by_another),
      TEST(test_all_files_together_have_a_bound),
      TEST(test_small_writes_count_by_the_memory_that_they_hold),
      TEST(test_a_slow_file_does_not_keep_the_buffers_of_others),
      TEST(test_drained_it_has_nothing),
      TEST(test_it_joins_a_running_graph),
      TEST(test_a_lock_that_was_taken_while_it_was_off),
      TEST(test_replies_that_come_while_it_is_off),
      TEST(test_idle_it_leaves_at_once),
      TEST(test_it_stays_until_losses_are_told),
      TEST(test_those_below_hear_of_the_end_when_all_is_written),
      TEST(test_passing_through_it_answers_nothing_early),
      TEST(test_a_released_descriptor_stays_until_it_is_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
