/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/write-behind: fsync, close, and who is told of lost data.
 */
#include "xlators/performance/write-behind/wb-rig.h"

/* ---- fsync, close, errors ---- */

static void
test_close_returns_before_the_flush_is_sent(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f, *lk;

  hold(s, GI_FOP_WRITE);
  hold(s, GI_FOP_FLUSH);
  put(s, fd, 0, PAGE, 'a');
  f = sync_it(s, GI_FOP_FLUSH, fd);
  assert_false(f->answered); /* the data it waits for */
  release_writes(s);
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_FLUSH), 1);
  lk = lock(s, fd, GI_LK_WRITE); /* or the flush would take it away again */
  assert_false(lk->answered);
  fake_release(s, 0, GI_FOP_FLUSH, 0, 0);
  assert_true(lk->answered);
  f = sync_it(s, GI_FOP_FLUSH, fd); /* of a locked file: it must have let go */
  assert_false(f->answered);
  fake_release(s, 0, GI_FOP_FLUSH, 0, 0);
  assert_true(f->answered);
}

/* A matrix of who is told of lost data: by what, on which descriptor. */
static void
test_each_descriptor_is_told_once(void **state)
{
  static const enum gi_fop_kind by[] = {GI_FOP_FSYNC, GI_FOP_FLUSH, GI_FOP_WRITE};

  for (unsigned first = 0; first < 3; first++)
    for (unsigned second = 0; second < 3; second++)
      for (unsigned behind = 0; behind < 2; behind++) {
        struct fake_stack *s = new_stack(behind ? NULL : "option flush-behind off\n");
        struct gi_fd *a = opened(s, FILE_A, 0), *b = opened(s, FILE_A, 0), *late;

        fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ENOSPC});
        is_early(put(s, a, 0, PAGE, 'a'));
        assert_int_equal(told.err, ENOSPC);
        late = opened(s, FILE_A, 0);
        for (unsigned i = 0; i < 2; i++) {
          enum gi_fop_kind kind = by[i == 0 ? first : second];
          struct gi_fd *fd = i == 0 ? b : a;

          /* Perhaps the second WRITE of one write(2), which succeeds in part. */
          if (kind == GI_FOP_WRITE)
            assert_int_equal(put(s, fd, 0, PAGE, 'a')->rsp.err, ENOSPC);
          if (kind == GI_FOP_WRITE)
            assert_int_equal(put(s, fd, 0, PAGE, 'a')->rsp.ret, PAGE);
          /* Perhaps of a forked process, which does not care. */
          for (unsigned n = 0; kind == GI_FOP_FLUSH && n < 2; n++)
            assert_int_equal(sync_it(s, kind, fd)->rsp.err, ENOSPC);
          assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.err, ENOSPC);
          assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.ret, 0);
          assert_int_equal(sync_it(s, GI_FOP_FLUSH, fd)->rsp.ret, 0);
        }
        assert_int_equal(sync_it(s, GI_FOP_FSYNC, late)->rsp.ret, 0);
        assert_int_equal(metric(s, "told"), 2);
        fake_stack_free(s);
      }
}

static void
test_who_waits_for_data_that_is_lost_is_told(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f, *read;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  f = sync_it(s, GI_FOP_FSYNC, fd);
  read = get(s, fd, 0, 2 * PAGE);
  fake_release(s, 0, GI_FOP_WRITE, -1, ENOTCONN);
  assert_int_equal(f->rsp.err, ENOTCONN);
  assert_true(read->answered);
  assert_int_equal(read->rsp.ret, 2 * PAGE);
  assert_int_equal(told.failed, 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSYNC), 1);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.ret, 0);
}

static void
note_losses(struct gi_fop *fop, void *arg)
{
  *(unsigned *)arg = told.failed;
}

/* It succeeds all the same. */
static void
test_a_loss_is_told_before_the_unlock_that_waited(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  unsigned losses = 0;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  fake_script(s, 0, GI_FOP_LK, (struct fake_reply){.fill = note_losses, .arg = &losses});
  lock(s, fd, GI_LK_UNLOCK);
  fake_release(s, 0, GI_FOP_WRITE, -1, EBADFD);
  assert_int_equal(losses, 1);
}

/* An older one is under way, so the loss is not told yet. */
static void
test_a_read_does_not_show_what_was_before_a_loss(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 8 * PAGE);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, 4 * PAGE, PAGE, 'b');
  f = get(s, fd, 4 * PAGE, 2 * PAGE);
  assert_int_equal(fake_held(s, 0), 2);
  fake_release_fop(s, fake_held_fop(s, 0, 1), -1, ENOSPC);
  assert_int_equal(told.events, 0);
  assert_int_equal(f->rsp.err, ENOSPC);
  assert_int_equal(get(s, fd, 6 * PAGE, 100)->rsp.ret, 100);
  release_writes(s);
  assert_int_equal(told.failed, 1);
  assert_int_equal(get(s, fd, 4 * PAGE, 2 * PAGE)->rsp.ret, 2 * PAGE);
}

static void
test_failed_data_is_kept_and_tried_again(void **state)
{
  struct fake_stack *s = new_stack("option resync-failed-syncs-after-fsync on\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  put(s, fd, 0, PAGE, 'a');
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.err, EIO);
  assert_int_equal(writes(s), 4);
  assert_int_equal(told.events, 0);
  fake_script_clear(s);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.ret, 0);
  assert_int_equal(told.changes, 1);
  assert_int_equal(told.err, 0);

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  stat_of(s, fd, 0);
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  is_early(put(s, fd, 0, PAGE, 'a'));
  f = sync_it(s, GI_FOP_FLUSH, fd); /* close(2) is the last chance */
  assert_int_equal(f->rsp.err, EIO);
  assert_int_equal(told.err, EIO);
  assert_int_equal(metric(s, "dirty"), 0);
  fake_stack_free(s);
}

/* What the bricks have in its place is not shown, and it does not come back once others may have got the lock. */
static void
test_kept_data_hides_what_was_before(void **state)
{
  struct fake_stack *s = new_stack("option resync-failed-syncs-after-fsync on\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *open = on_fd(s, GI_FOP_OPEN, fake_fd(s, FILE_A));

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  put(s, fd, 0, PAGE, 'a');
  assert_int_equal(metric(s, "kept"), 1);
  assert_int_equal(get(s, fd, 0, 2 * PAGE)->rsp.err, EIO);
  assert_int_equal(get(s, fd, PAGE, 100)->rsp.ret, 100);
  gi_dict_set_uint(gi_fop_xdata(open), GI_CONTENT_KEY, 4096);
  fake_submit(s, open);
  assert_int_equal(open->rsp.ret, 0);
  assert_null(gi_dict_get(open->xdata, GI_CONTENT_KEY));
  assert_int_equal(told.events, 0);
  assert_int_equal(lock(s, fd, GI_LK_UNLOCK)->rsp.ret, 0);
  assert_int_equal(told.err, EIO);
  assert_int_equal(metric(s, "dirty"), 0);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.err, EIO);
  fake_stack_free(s);
}

/* Older bytes must not come back. */
static void
test_kept_data_gives_way_to_newer(void **state)
{
  struct fake_stack *s = new_stack("option resync-failed-syncs-after-fsync on\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *cut = on_fd(s, GI_FOP_FTRUNCATE, fd);

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  put(s, fd, 0, PAGE, 'a');
  assert_int_equal(metric(s, "kept"), 1);
  assert_int_equal(put(s, fd, 0, PAGE, 'b')->rsp.err, EIO);
  assert_int_equal(metric(s, "kept"), 1);
  fake_submit(s, cut);
  assert_int_equal(cut->rsp.ret, 0);
  assert_int_equal(told.err, EIO);
  assert_int_equal(metric(s, "dirty"), 0);
  fake_stack_free(s);
}

/* Else they would wait for what may never come. */
static void
test_nothing_is_kept_while_other_files_wait_for_memory(void **state)
{
  struct fake_stack *s = new_stack("option resync-failed-syncs-after-fsync on\n");
  struct gi_fd *a = opened(s, FILE_A, 0), *b = opened(s, FILE_B, 0);
  struct gi_fop *f;

  (void)state;
  gi_budget_set_limit(&s->ctx.budget, 4 * PAGE);
  hold(s, GI_FOP_WRITE);
  is_early(put(s, a, 0, PAGE, 'a'));
  fake_release(s, 0, GI_FOP_WRITE, -1, ENOTCONN);
  assert_int_equal(metric(s, "kept"), 1);
  f = put(s, b, 0, PAGE, 'b');
  assert_false(f->answered);
  fake_settle(s);
  fake_release(s, 0, GI_FOP_WRITE, -1, ENOTCONN); /* it had its last try */
  fake_settle(s);
  is_early(f);
  assert_int_equal(told.failed, 1);
  release_writes(s);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, a)->rsp.err, ENOTCONN);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_close_returns_before_the_flush_is_sent),
      cmocka_unit_test(test_each_descriptor_is_told_once),
      TEST(test_who_waits_for_data_that_is_lost_is_told),
      TEST(test_a_loss_is_told_before_the_unlock_that_waited),
      TEST(test_a_read_does_not_show_what_was_before_a_loss),
      cmocka_unit_test(test_failed_data_is_kept_and_tried_again),
      cmocka_unit_test(test_kept_data_hides_what_was_before),
      cmocka_unit_test(test_kept_data_gives_way_to_newer),
      cmocka_unit_test(test_nothing_is_kept_while_other_files_wait_for_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
