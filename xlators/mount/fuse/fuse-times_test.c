/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse with kernel write-back: times that the kernel pushes.
 */
#include "xlators/mount/fuse/fuse-rig.h"

#define WRITEBACK "option kernel-writeback-cache yes\n"

/* Remembered times never outlive what replaces them, and need somebody who will close the file. */
static void
test_times_wait_for_the_close(void **state)
{
  struct rig *r = rig_new(WRITEBACK);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_setattr_in in = {.valid = FATTR_MTIME | FATTR_CTIME, .mtime = 7777, .ctime = 7778};
  struct fuse_setattr_in mode = {.valid = FATTR_MODE, .mode = 0600};
  struct fuse_setattr_in later = {.valid = FATTR_MTIME | FATTR_ATIME, .mtime = 9999};
  struct fuse_flush_in fl = {0};

  fake_script_always(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  fake_script_always(r->s, 0, GI_FOP_FSETATTR, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  assert_int_equal(r->s->nseen, 1); /* not open: sent */

  fl.fh = open_file(r, id, O_RDWR);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &mode, sizeof(mode))), 0);
  assert_int_equal(r->s->nseen, 2); /* the times first, then the mode */
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &later, sizeof(later))), 0);
  assert_int_equal(r->s->nseen, 3); /* replaced, not sent */
  assert_int_equal(reply(r, request(r, FUSE_FLUSH, id, &fl, sizeof(fl))), 0);
  assert_int_equal(r->s->nseen, 3);
  rig_free(r);
}

/* ---- with the write ---- */

#define PUSHED 7777

static void
push(const struct early *p, uint64_t mtime, uint64_t ctime)
{
  struct fuse_setattr_in in = {.valid = FATTR_MTIME | FATTR_CTIME, .mtime = mtime, .ctime = ctime};

  assert_int_equal(reply(p->r, request(p->r, FUSE_SETATTR, p->id, &in, sizeof(in))), 0);
}

/* A page is written back and answered early, and its times follow. */
static struct early
pushed_new(uint64_t ctime)
{
  struct early p = early_new(WRITEBACK, O_RDWR);

  fake_script_always(p.r->s, 0, GI_FOP_FSETATTR, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  assert_int_equal(reply(p.r, write_file(p.r, p.id, p.fh, 0, 1000, FUSE_WRITE_CACHE)), 0);
  push(&p, PUSHED, ctime);
  fake_forget_seen(p.r->s);
  return p;
}

static uint64_t
ask(const struct early *p, uint32_t opcode)
{
  struct fuse_fsync_in sync = {.fh = p->fh};
  struct fuse_flush_in flush = {.fh = p->fh};

  return opcode == FUSE_FSYNC ? request(p->r, opcode, p->id, &sync, sizeof(sync))
                              : request(p->r, opcode, p->id, &flush, sizeof(flush));
}

/* FSYNC or FLUSH, which the page is written for, with that time. */
static void
ask_and_write(const struct early *p, uint32_t opcode, uint64_t mtime)
{
  enum gi_fop_kind kind = opcode == FUSE_FSYNC ? GI_FOP_FSYNC : GI_FOP_FLUSH;
  struct gi_iatt before = iatt_of(0xaa, S_IFREG | 0644), after = before;
  uint64_t unique;

  after.mtime = after.ctime = (struct gi_time){.sec = (int64_t)mtime};
  fake_script(p->r->s, 0, kind, (struct fake_reply){.hold = true});
  unique = ask(p, opcode);
  early_ended(p, 1, &before, &after, 0);
  assert_true(fake_release(p->r->s, 0, kind, 0, 0));
  assert_int_equal(reply(p->r, unique), 0);
}

static void
test_times_go_with_the_write(void **state)
{
  static const uint32_t opcodes[] = {FUSE_FSYNC, FUSE_FLUSH};

  for (unsigned i = 0; i < GI_ARRAY_LEN(opcodes); i++) {
    struct early p = pushed_new(PUSHED);

    ask_and_write(&p, opcodes[i], PUSHED);
    assert_int_equal(p.r->s->nseen, 1);
    assert_int_equal(reply(p.r, ask(&p, FUSE_FLUSH)), 0);
    assert_int_equal(fake_count(p.r->s, 0, GI_FOP_FSETATTR), 0); /* nothing is left of them */
    rig_free(p.r);
  }
}

/* The bricks have kept a later time, for one. */
static void
test_times_that_did_not_go_along_follow(void **state)
{
  struct early p = pushed_new(PUSHED);

  ask_and_write(&p, FUSE_FSYNC, PUSHED + 1);
  assert_int_equal(p.r->s->nseen, 3);
  assert_int_equal(p.r->s->seen[1].kind, GI_FOP_FSETATTR);
  assert_int_equal(p.r->s->seen[2].kind, GI_FOP_FSYNC); /* which brings them to the disk */
  rig_free(p.r);

  p = pushed_new(PUSHED);
  ask_and_write(&p, FUSE_FLUSH, PUSHED + 1);
  assert_int_equal(p.r->s->nseen, 2);
  assert_int_equal(p.r->s->seen[1].kind, GI_FOP_FSETATTR);
  rig_free(p.r);
}

static void
fill_no_times(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->args.valid, 0);
}

/* A write has one time: two are set before the fsync begins. */
static void
test_an_fsync_waits_for_times(void **state)
{
  struct early p = pushed_new(PUSHED + 1);
  uint64_t unique;

  fake_script_clear(p.r->s);
  fake_script(p.r->s, 0, GI_FOP_FSETATTR, (struct fake_reply){.hold = true});
  fake_script(p.r->s, 0, GI_FOP_FSYNC, (struct fake_reply){.fill = fill_no_times});
  unique = ask(&p, FUSE_FSYNC);
  assert_int_equal(p.r->s->nseen, 1);
  assert_true(fake_release(p.r->s, 0, GI_FOP_FSETATTR, 0, 0));
  assert_int_equal(reply(p.r, unique), 0);
  assert_int_equal(p.r->s->nseen, 2);
  assert_int_equal(p.r->s->seen[1].kind, GI_FOP_FSYNC);
  rig_free(p.r);
}

/* Another write is on its way, which may leave a later one. */
static void
test_times_are_left_while_a_write_is_under_way(void **state)
{
  struct early p = pushed_new(PUSHED);

  assert_int_equal(reply(p.r, write_file(p.r, p.id, p.fh, 4096, 1000, FUSE_WRITE_CACHE)), 0);
  fake_forget_seen(p.r->s);
  ask_and_write(&p, FUSE_FLUSH, PUSHED);
  assert_int_equal(fake_count(p.r->s, 0, GI_FOP_FSETATTR), 1);
  rig_free(p.r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_times_wait_for_the_close),
      cmocka_unit_test(test_times_go_with_the_write),
      cmocka_unit_test(test_times_that_did_not_go_along_follow),
      cmocka_unit_test(test_an_fsync_waits_for_times),
      cmocka_unit_test(test_times_are_left_while_a_write_is_under_way),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
