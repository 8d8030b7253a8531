/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/write-behind: the fsync that goes with the last write.
 */
#include "xlators/performance/write-behind/wb-rig.h"

static const struct gi_fop *part_of; /* the last message */

static void
sync_with_it(struct gi_fop *fop, void *arg)
{
  fop->rsp.ret = (int32_t)fop->payload.len;
  fop->rsp.post = attributes(FILE_A, 77);
  fop->rsp.synced = fop->args.sync ? GI_SYNCED : GI_NOT_SYNCED;
  *(uint8_t *)arg = fop->args.sync;
  part_of = fop->parent;
}

/* After the first fsync the next bytes wait for theirs, and both are one message. */
static void
test_an_fsync_goes_with_the_last_write(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;
  uint8_t sync = 0;

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = sync_with_it, .arg = &sync});
  hold(s, GI_FOP_FSYNC);
  put(s, fd, 0, PAGE, 'a');
  assert_int_equal(writes(s), 1);
  assert_null(part_of);
  put(s, fd, PAGE, PAGE, 'b');
  f = on_fd(s, GI_FOP_FSYNC, fd);
  f->args.datasync = 1;
  fake_submit(s, f); /* the first bytes are there: the next ones and the fsync are one */
  assert_int_equal(writes(s), 2);
  assert_int_equal(sync, GI_SYNC_DATA);
  assert_ptr_equal(part_of, f); /* whoever traces the fsync sees the message */
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(f->rsp.post.size, 77);
  fake_wait(s, GATHERED); /* at rest */
  is_early(put(s, fd, 2 * PAGE, PAGE, 'c'));
  assert_int_equal(writes(s), 2);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.ret, 0);
  assert_int_equal(writes(s), 3);
  assert_int_equal(sync, GI_SYNC_ALL);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSYNC), 0);
  assert_int_equal(metric(s, "synced"), 2);
}

static void
test_bytes_do_not_wait_long_for_an_fsync(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  uint8_t sync = 0;

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = sync_with_it, .arg = &sync});
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, PAGE, PAGE, 'a');
  sync_it(s, GI_FOP_FSYNC, fd);
  fake_wait(s, GATHERED);
  put(s, fd, 2 * PAGE, PAGE, 'b');
  assert_int_equal(writes(s), 2);
  fake_wait(s, OVERDUE);
  assert_int_equal(writes(s), 3);
  assert_int_equal(sync, GI_SYNC_NONE);
  put(s, fd, 3 * PAGE, PAGE, 'c'); /* it was no log after all */
  assert_int_equal(writes(s), 4);
}

/* Bricks that know nothing of it, or could not do it. */
static void
test_an_fsync_that_did_not_go_along_follows(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  put(s, fd, 0, PAGE, 'a');
  put(s, fd, PAGE, PAGE, 'b');
  f = sync_it(s, GI_FOP_FSYNC, fd);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSYNC), 1);
  assert_int_equal(s->seen[s->nseen - 1].kind, GI_FOP_FSYNC);
  fake_wait(s, GATHERED);
  put(s, fd, 2 * PAGE, PAGE, 'c'); /* and nothing waits for the next one */
  assert_int_equal(writes(s), 3);
}

static void
test_an_fsync_fails_with_the_write_it_went_with(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);

  put(s, fd, 0, PAGE, 'a');
  put(s, fd, PAGE, PAGE, 'b');
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ENOSPC});
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.err, ENOSPC);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.ret, 0);
}

/* One message under way, or two that gather: which of them ends last nobody knows. */
static void
test_an_fsync_of_several_messages_follows_them(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);
  struct gi_fop *f;
  uint8_t sync = 0;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, PAGE, PAGE, 'b');
  f = sync_it(s, GI_FOP_FSYNC, fd);
  release_writes(s);
  assert_true(f->answered);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSYNC), 1);
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = sync_with_it, .arg = &sync});
  put(s, fd, 4 * PAGE, PAGE, 'c');
  put(s, fd, 8 * PAGE, PAGE, 'd');
  sync_it(s, GI_FOP_FSYNC, fd);
  assert_int_equal(sync, GI_SYNC_NONE);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSYNC), 2);
}

/* ---- what the kernel writes back ---- */

static void
keep_time(struct gi_fop *fop, void *arg)
{
  fop->rsp.ret = (int32_t)fop->payload.len;
  fop->rsp.synced = fop->args.sync ? GI_SYNCED : GI_NOT_SYNCED;
  *(struct gi_time *)arg = fop->caller.time;
}

static struct gi_fop *
write_back(struct fake_stack *s, struct gi_fd *fd, uint64_t offset)
{
  struct gi_fop *f = write_fop(s, fd, offset, PAGE, 'p');

  f->args.paged = true;
  fake_submit(s, f);
  is_early(f);
  return f;
}

/* The first page of a file at rest waits already for the fsync or close that it is for, and takes the time along that these bring. */
static void
test_what_is_written_back_waits(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_FSYNC, GI_FOP_FLUSH};
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_time at = {0};

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = keep_time, .arg = &at});
  for (unsigned i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct gi_fop *f = on_fd(s, kinds[i], fd);

    write_back(s, fd, i * PAGE);
    assert_int_equal(writes(s), i);
    f->args.valid = GI_SET_MTIME | GI_SET_CTIME;
    f->args.iatt.mtime = f->args.iatt.ctime = (struct gi_time){77 + i, 7};
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(writes(s), i + 1);
    assert_int_equal(at.sec, 77 + i);
    assert_int_equal(at.nsec, 7);
  }
  assert_int_equal(fake_count(s, 0, GI_FOP_FSYNC), 0); /* it went with it */
  write_back(s, fd, 2 * PAGE);
  fake_wait(s, OVERDUE); /* nobody comes for it */
  assert_int_equal(writes(s), 3);
  assert_true(at.sec > 78);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_an_fsync_goes_with_the_last_write),         TEST(test_bytes_do_not_wait_long_for_an_fsync),
      TEST(test_an_fsync_that_did_not_go_along_follows),    TEST(test_an_fsync_fails_with_the_write_it_went_with),
      TEST(test_an_fsync_of_several_messages_follows_them), TEST(test_what_is_written_back_waits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
