/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes behind an operation in its message, against a real protocol/server over loopback: the fsync of a WRITE, the truncation of
 * an OPEN.
 */
#include "tests/unit/brick-bench.h"

#include <errno.h>
#include <fcntl.h>

static struct gi_fop *
write_and(struct bench *b, struct gi_fd *fd, uint8_t sync)
{
  struct gi_fop *f = bench_request(b, GI_FOP_WRITE, fd);

  f->args.sync = sync;
  fake_forget_seen(b->server);
  bench_submit(b, f);
  assert_null(gi_dict_get(f->rsp.xdata, GI_SYNC_KEY)); /* it is between the two of them */
  return f;
}

static void
see_fsync(struct gi_fop *fop, void *arg)
{
  *(int32_t *)arg = fop->args.datasync;
}

static void
test_both_are_done_and_answered_together(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 4, O_RDWR);
  int32_t datasync = -1;
  struct gi_fop *f;

  fake_script_always(b->server, 0, GI_FOP_FSYNC, (struct fake_reply){.fill = see_fsync, .arg = &datasync});
  f = write_and(b, fd, GI_SYNC_DATA);
  assert_int_equal(f->rsp.ret, (int)f->payload.len);
  assert_int_equal(f->rsp.synced, GI_SYNCED);
  assert_int_equal(b->server->nseen, 2);
  assert_int_equal(b->server->seen[0].kind, GI_FOP_WRITE);
  assert_int_equal(b->server->seen[1].kind, GI_FOP_FSYNC);
  assert_int_equal(datasync, 1);
  f = write_and(b, fd, GI_SYNC_ALL);
  assert_int_equal(f->rsp.synced, GI_SYNCED);
  assert_int_equal(datasync, 0);
  f = write_and(b, fd, GI_SYNC_NONE);
  assert_int_equal(f->rsp.synced, GI_NOT_SYNCED);
  assert_int_equal(b->server->nseen, 1);
  bench_free(b);
}

static void
test_a_failed_fsync_fails_the_write(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 4, O_RDWR);
  struct gi_fop *f;

  fake_script(b->server, 0, GI_FOP_FSYNC, (struct fake_reply){.ret = -1, .err = EIO});
  f = write_and(b, fd, GI_SYNC_DATA);
  assert_int_equal(f->rsp.ret, -1);
  assert_int_equal(f->rsp.err, EIO);
  assert_int_equal(f->rsp.synced, GI_SYNC_FAILED);
  bench_free(b);
}

/* What was not written, or not all of it, is not synced. */
static void
test_a_failed_or_short_write_is_not_synced(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 4, O_RDWR);
  struct gi_fop *f;

  fake_script(b->server, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ENOSPC});
  f = write_and(b, fd, GI_SYNC_DATA);
  assert_int_equal(f->rsp.err, ENOSPC);
  assert_int_equal(f->rsp.synced, GI_NOT_SYNCED);
  assert_int_equal(b->server->nseen, 1);
  fake_script(b->server, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 1});
  f = write_and(b, fd, GI_SYNC_DATA);
  assert_int_equal(f->rsp.ret, 1);
  assert_int_equal(f->rsp.synced, GI_NOT_SYNCED);
  assert_int_equal(b->server->nseen, 1);
  bench_free(b);
}

/* ---- OPEN ---- */

static struct gi_fop *
open_and_truncate(struct bench *b)
{
  struct gi_fop *f = fake_fop(b->client, GI_FOP_OPEN);

  gi_fop_set_fd(f, fake_fd(b->client, 4));
  f->fd->flags = O_RDWR;
  f->args.flags = O_RDWR;
  f->args.truncates = true;
  fake_forget_seen(b->server);
  bench_submit(b, f);
  assert_null(gi_dict_get(f->rsp.xdata, GI_TRUNCATE_KEY));
  assert_null(gi_dict_get(f->rsp.xdata, GI_TRUNCATE_FOUND_KEY));
  return f;
}

static void
empty(struct gi_fop *fop, void *arg)
{
  *(uint64_t *)arg = fop->args.offset;
  fop->rsp.pre = (struct gi_iatt){.gfid = fop->fd->inode->gfid, .mode = S_IFREG | 0644, .size = 7};
  fop->rsp.post = fop->rsp.pre;
  fop->rsp.post.size = 0;
}

static void
test_an_open_truncates(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  uint64_t to = 1;
  struct gi_fop *f;

  fake_script_always(b->server, 0, GI_FOP_FTRUNCATE, (struct fake_reply){.fill = empty, .arg = &to});
  f = open_and_truncate(b);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(b->server->nseen, 2);
  assert_int_equal(b->server->seen[0].kind, GI_FOP_OPEN);
  assert_int_equal(b->server->seen[1].kind, GI_FOP_FTRUNCATE);
  assert_int_equal(to, 0);
  assert_int_equal(f->rsp.pre.size, 7);
  assert_int_equal(f->rsp.post.size, 0);
  assert_true(gi_iatt_valid(&f->rsp.post));
  f = write_and(b, f->fd, GI_SYNC_NONE); /* it is open */
  assert_int_equal(f->rsp.ret, (int)f->payload.len);
  bench_free(b);
}

static void
test_a_failed_truncation_fails_the_open(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f;

  fake_script(b->server, 0, GI_FOP_FTRUNCATE, (struct fake_reply){.ret = -1, .err = EIO});
  f = open_and_truncate(b);
  assert_int_equal(f->rsp.ret, -1);
  assert_int_equal(f->rsp.err, EIO);
  fake_script(b->server, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = EACCES});
  f = open_and_truncate(b);
  assert_int_equal(f->rsp.err, EACCES);
  assert_int_equal(b->server->nseen, 1);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_both_are_done_and_answered_together),   cmocka_unit_test(test_a_failed_fsync_fails_the_write),
      cmocka_unit_test(test_a_failed_or_short_write_is_not_synced), cmocka_unit_test(test_an_open_truncates),
      cmocka_unit_test(test_a_failed_truncation_fails_the_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
