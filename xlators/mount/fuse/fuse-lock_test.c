/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: POSIX and flock locks.
 */
#include "xlators/mount/fuse/fuse-rig.h"

static void
test_locks(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  struct fuse_lk_in in = {.fh = fh, .owner = 0x1122334455667788, .lk = {.start = 10, .end = 19, .type = F_WRLCK, .pid = 42}};
  struct fuse_flush_in fl = {.fh = fh, .lock_owner = in.owner};

  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_SETLK, id, &in, sizeof(in))), 0);
  assert_int_equal(r->s->seen[0].cmd, GI_LKCMD_SET);
  assert_int_equal(r->s->seen[0].type, GI_LK_WRITE);
  /* A file that had a lock must be flushed: that is what releases it. */
  assert_int_equal(reply(r, request(r, FUSE_FLUSH, id, &fl, sizeof(fl))), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FLUSH), 1);
  rig_free(r);
}

static void
check_flock(struct gi_fop *fop, void *arg)
{
  const struct gi_flock *f = &fop->args.flock;

  assert_int_equal(f->start, 0);
  assert_int_equal(f->len, 0);
  assert_int_equal(f->owner.len, 8);
  (*(unsigned *)arg)++;
}

static void
test_flock(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  struct fuse_lk_in in = {.fh = fh, .owner = 77, .lk = {.end = INT64_MAX, .type = F_RDLCK}, .lk_flags = FUSE_LK_FLOCK};
  struct fuse_release_in rel = {.fh = fh, .release_flags = FUSE_RELEASE_FLOCK_UNLOCK, .lock_owner = 77};
  unsigned seen = 0;

  fake_script_always(r->s, 0, GI_FOP_LK, (struct fake_reply){.fill = check_flock, .arg = &seen});
  assert_int_equal(reply(r, request(r, FUSE_SETLK, id, &in, sizeof(in))), 0);
  assert_int_equal(reply(r, request(r, FUSE_RELEASE, id, &rel, sizeof(rel))), 0);
  assert_int_equal(seen, 2);
  assert_int_equal(r->s->graph->fds_live, 0);
  rig_free(r);
}

static void
test_blocking_lock_is_cancelled(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_lk_in in = {.fh = open_file(r, id, O_RDWR), .owner = 77, .lk = {.end = INT64_MAX, .type = F_WRLCK}};

  fake_script(r->s, 0, GI_FOP_LK, (struct fake_reply){.hold = true});
  fake_forget_seen(r->s);

  uint64_t unique = request(r, FUSE_SETLKW, id, &in, sizeof(in));
  struct gi_fop *fop = r->s->seen[0].fop;
  struct fuse_interrupt_in intr = {.unique = unique};

  assert_int_equal(r->s->seen[0].cmd, GI_LKCMD_SETW);
  assert_false(next_reply(r));
  assert_false(fop->cancelled);
  request(r, FUSE_INTERRUPT, 0, &intr, sizeof(intr));
  assert_int_equal(fake_held(r->s, 0), 0); /* the child let it go */
  assert_int_equal(reply(r, unique), EINTR);
  rig_free(r);
}

/* volume clear-locks: the brick lets the waiter go. No signal has come, and EINTR would have the kernel tell the caller 512. */
static void
test_a_lock_that_is_cleared_was_not_interrupted(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_lk_in in = {.fh = open_file(r, id, O_RDWR), .owner = 77, .lk = {.end = INT64_MAX, .type = F_WRLCK}};

  fake_script(r->s, 0, GI_FOP_LK, (struct fake_reply){.hold = true});

  uint64_t unique = request(r, FUSE_SETLKW, id, &in, sizeof(in));

  assert_false(next_reply(r));
  fake_release_fop(r->s, fake_held_fop(r->s, 0, 0), -1, EINTR);
  assert_int_equal(reply(r, unique), EAGAIN);
  rig_free(r);
}

/* A brick says what no file system may say. */
static void
test_numbers_of_the_kernel_are_not_passed_on(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_lk_in in = {.fh = open_file(r, id, O_RDWR), .owner = 77, .lk = {.end = INT64_MAX, .type = F_WRLCK}};

  fake_script(r->s, 0, GI_FOP_LK, (struct fake_reply){.ret = -1, .err = 512});
  assert_int_equal(reply(r, request(r, FUSE_SETLK, id, &in, sizeof(in))), EIO);
  rig_free(r);
}

static void
fill_held_lock(struct gi_fop *fop, void *arg)
{
  fop->rsp.flock = (struct gi_flock){.type = GI_LK_WRITE, .start = 5, .len = 10, .pid = 99};
}

static void
test_getlk(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_lk_in in = {.fh = open_file(r, id, O_RDWR), .owner = 77, .lk = {.end = INT64_MAX, .type = F_WRLCK}};

  fake_script(r->s, 0, GI_FOP_LK, (struct fake_reply){.fill = fill_held_lock});
  assert_int_equal(reply(r, request(r, FUSE_GETLK, id, &in, sizeof(in))), 0);

  const struct fuse_lk_out *out = body(r);

  assert_int_equal(out->lk.type, F_WRLCK);
  assert_int_equal(out->lk.start, 5);
  assert_int_equal(out->lk.end, 14);
  assert_int_equal(out->lk.pid, 99);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_locks),
      cmocka_unit_test(test_flock),
      cmocka_unit_test(test_blocking_lock_is_cancelled),
      cmocka_unit_test(test_a_lock_that_is_cleared_was_not_interrupted),
      cmocka_unit_test(test_numbers_of_the_kernel_are_not_passed_on),
      cmocka_unit_test(test_getlk),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
