/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions of cluster/replicate: what is shared, what is delayed, in which
 * order, and when the lock is given up (replicate.md 6.6, 6.7).
 */
#include "xlators/cluster/replicate/testing/model.h"

static void
overlapping_writes_keep_their_order(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *a, *b, *c;

  rig_run(r, rig_write(r, fd, 0, 10));
  rig_forget(r);
  rig_hold(r, 1, GI_FOP_WRITE);
  rig_run(r, a = rig_write(r, fd, 0, 100));
  rig_run(r, b = rig_write(r, fd, 50, 100));  /* overlaps a */
  rig_run(r, c = rig_write(r, fd, 200, 100)); /* does not */
  assert_false(a->answered);
  assert_false(b->answered);
  assert_true(c->answered);
  rig_log(r, 0, "WRITE WRITE");
  rig_release(r, 1, GI_FOP_WRITE);
  rig_done(a, 100, 0);
  rig_done(b, 100, 0);
  rig_log(r, 0, "WRITE");
  rig_free_clean(r);
}

static void
writes_during_the_first_lock_share_it(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f[4];

  rig_hold(r, 0, GI_FOP_FINODELK);
  for (unsigned i = 0; i < 4; i++)
    rig_run(r, f[i] = rig_write(r, fd, 100u * i, 100));
  rig_release(r, 0, GI_FOP_FINODELK);
  for (unsigned i = 0; i < 4; i++)
    rig_done(f[i], 100, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE WRITE WRITE WRITE");
  rig_free_clean(r);
}

static void
fsync_does_not_overtake(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *w, *s;

  rig_hold(r, 0, GI_FOP_FINODELK);
  rig_run(r, w = rig_write(r, fd, 0, 100));
  rig_run(r, s = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_release(r, 0, GI_FOP_FINODELK);
  rig_done(w, 100, 0);
  rig_done(s, 0, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE FSYNC");
  /* And it leaves behind a write that is under way, without waiting for its reply. */
  rig_hold(r, 2, GI_FOP_WRITE);
  rig_run(r, w = rig_write(r, fd, 0, 100));
  rig_run(r, s = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_log(r, 0, "WRITE FSYNC");
  rig_done(s, 0, 0);
  assert_false(w->answered);
  rig_release(r, 2, GI_FOP_WRITE);
  rig_done(w, 100, 0);
  rig_free_clean(r);
}

static void
post_op_comes_after_the_delay(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 1\n", &fd);

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_run(r, rig_write(r, fd, 0, BRICK_PAGE));
  fake_wait(r->s, 600 * GI_NSEC_PER_MSEC);
  rig_run(r, rig_write(r, fd, BRICK_PAGE, BRICK_PAGE)); /* begins the delay anew */
  fake_wait(r->s, 600 * GI_NSEC_PER_MSEC);
  rig_log_all(r, "L:0 X:d+1 WRITE WRITE");
  fake_wait(r->s, 500 * GI_NSEC_PER_MSEC);
  rig_log_all(r, "X:d-1 U:0");
  rig_free_clean(r);
}

/* The size of a copy tells that it lost an append, unless that began within a block, which is there whatever becomes of the data. */
static void
append_within_a_block_is_made_durable(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_run(r, rig_write(r, fd, 0, 10));
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "L:0 X:d+1 WRITE X:d-1 U:0");
  rig_run(r, rig_write(r, fd, 10, 10));
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "L:0 X:d+1 WRITE FSYNC X:d-1 U:0");
  rig_free_clean(r);
}

/* replicate.md 6.7: random writes cost one fsync before the mark goes; appends, O_SYNC and an application's fsync none. */
static void
durability_before_the_mark_goes(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  rig_run(r, rig_write(r, fd, 0, 10));
  rig_run(r, rig_write(r, fd, 0, 10));
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "L:0 X:d+1 WRITE WRITE FSYNC X:d-1 U:0");

  rig_run(r, rig_write(r, fd, 0, 10));
  rig_run(r, rig_fd(r, GI_FOP_FSYNC, fd));
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "L:0 X:d+1 WRITE FSYNC X:d-1 U:0");

  f = rig_write(r, fd, 0, 10);
  f->args.flags = 010000; /* O_DSYNC */
  rig_run(r, f);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "L:0 X:d+1 WRITE X:d-1 U:0");
  rig_free_clean(r);
}

static void
fsync_failure_before_the_mark_goes_is_blamed(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  rig_run(r, rig_write(r, fd, 0, 10));
  r->brick[1].fail_once[GI_FOP_FSYNC] = EIO;
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 0, 5, "1d1");
  rig_marks(r, 1, 5, "D:d1");
  rig_free_clean(r);
}

/* What only copies synced that are to be healed from the one that could not may be gone, whichever are good by the time somebody asks. */
static void
fsync_failure_on_the_only_good_copy_is_told(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  rig_blame(r, 2, 5, 0, 0);
  rig_blame(r, 2, 5, 1, 0);
  r->brick[2].fail_once[GI_FOP_FSYNC] = EIO;
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_marks(r, 2, 5, "0d1,1d1,D:d1");
  for (unsigned i = 0; i < BRICKS; i++) /* as a heal leaves them */
    memset(brick_object(&r->brick[i], 5)->mark, 0, sizeof(brick_object(&r->brick[i], 5)->mark));
  rig_down(r, 0);
  rig_up(r, 0);
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, -1, EIO);
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, 0, 0);
  rig_free_clean(r);
}

static void
lock_is_given_up_when_others_wait(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_run(r, rig_write(r, fd, 0, BRICK_PAGE));
  r->brick[1].lock_count = 2;
  rig_run(r, f = rig_write(r, fd, BRICK_PAGE, BRICK_PAGE));
  rig_done(f, BRICK_PAGE, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE WRITE X:d-1 U:0");

  r->brick[1].lock_count = 0;
  rig_run(r, rig_write(r, fd, 2 * BRICK_PAGE, BRICK_PAGE));
  rig_forget(r);
  struct gi_contention c = {.gfid = fd->inode->gfid, .domain = "under-test"};

  fake_event(r->s, 0, GI_EVENT_CONTENTION, &c);
  fake_settle(r->s);
  rig_log_all(r, "X:d-1 U:0");
  rig_free_clean(r);
}

static void
operations_wait_while_a_session_ends(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_run(r, rig_write(r, fd, 0, BRICK_PAGE));
  rig_hold(r, 0, GI_FOP_FXATTROP);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_run(r, f = rig_write(r, fd, BRICK_PAGE, BRICK_PAGE));
  assert_false(f->answered);
  rig_release(r, 0, GI_FOP_FXATTROP);
  rig_done(f, BRICK_PAGE, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE X:d-1 U:0 L:0 X:d+1 WRITE");
  rig_free_clean(r);
}

static void
without_eager_lock_each_write_locks(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option eager-lock off\n", &fd);
  struct gi_fop *a, *b;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_hold(r, 0, GI_FOP_WRITE);
  rig_run(r, a = rig_write(r, fd, 0, BRICK_PAGE));
  rig_run(r, b = rig_write(r, fd, BRICK_PAGE, BRICK_PAGE));
  rig_release(r, 0, GI_FOP_WRITE);
  rig_done(a, BRICK_PAGE, 0);
  rig_done(b, BRICK_PAGE, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE X:d-1 U:0 L:0 X:d+1 WRITE X:d-1 U:0");
  rig_free_clean(r);
}

static void
refused_lock_is_waited_for_in_order(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  r->brick[1].fail_once[GI_FOP_FINODELK] = EAGAIN;
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_log(r, 0, "L:0 U:0 W:0 X:d+1 WRITE");
  rig_log(r, 1, "L:0 W:0 X:d+1 WRITE");
  rig_free_clean(r);
}

/* While waiting at one brick nothing is held at a later one. */
static void
waiting_holds_nothing_behind(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 6, S_IFDIR | 0755);
  r->brick[0].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
  rig_run(r, f = rig_entry(r, GI_FOP_RMDIR, 1, "f6", 0)); /* warm */
  rig_done(f, 0, 0);
  rig_log(r, 2, "LOOKUP E:f6 E:* EU:f6 EU:* EW:f6 EW:* RMDIR EU:f6 EU:*");
  rig_free_clean(r);
}

static void
generation_change_closes_a_session(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_run(r, rig_write(r, fd, 0, BRICK_PAGE));
  rig_down(r, 2);
  rig_forget(r);
  rig_run(r, f = rig_write(r, fd, BRICK_PAGE, BRICK_PAGE));
  rig_done(f, BRICK_PAGE, 0);
  rig_log(r, 0, "L:0 X:2d+1,d+1 WRITE"); /* the first ended when the child went */
  rig_up(r, 2);
  rig_log(r, 0, "X:d-1 U:0"); /* and the second when it came, before anybody has to wait for that */
  rig_forget(r);
  rig_run(r, f = rig_write(r, fd, 2 * BRICK_PAGE, BRICK_PAGE));
  rig_done(f, BRICK_PAGE, 0);
  rig_log(r, 0, "L:0 X:d+1 WRITE");
  rig_log(r, 2, "L:0 X:d+1 WRITE");
  rig_marks(r, 0, 5, "2d1,D:d1");
  rig_free_clean(r);
}

/* It may have lost power in between: that an fsync succeeds now means nothing. */
static void
brick_away_since_the_write_has_not_synced_it(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *s;

  rig_run(r, rig_write(r, fd, 0, 10));
  rig_down(r, 2);
  rig_up(r, 2);
  rig_run(r, s = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(s, 0, 0);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 0, 5, "2d1");
  rig_free_clean(r);
}

static void
unmount_finishes_what_is_delayed(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  rig_run(r, rig_write(r, fd, 0, 10));
  rig_forget(r);
  gi_graph_deactivate(r->s->graph);
  fake_settle(r->s);
  rig_log_all(r, "FSYNC X:d-1 U:0");
  rig_free_clean(r);
}

/* An fsync changes nothing: without a session it is one message per brick, and a failure is recorded all the same. */
static void
fsync_of_a_quiet_file(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, 0, 0);
  rig_log_all(r, "FSYNC");
  r->brick[1].fail_once[GI_FOP_FSYNC] = EIO;
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, 0, 0);
  rig_log(r, 0, "FSYNC L:0 X:d+1 FSYNC X:1d+1,d-1 U:0");
  rig_marks(r, 1, 5, "D:d1");
  r->brick[1].fail_once[GI_FOP_FSYNC] = r->brick[2].fail_once[GI_FOP_FSYNC] = EIO;
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, -1, EIO); /* never success because the second try went well */
  rig_free_clean(r);
}

/* What is synced on copies that are to be healed from one that is away is not synced. */
static void
fsync_needs_a_good_copy(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  brick_object(&r->brick[0], 5)->mark[2][0] = 1;
  brick_object(&r->brick[2], 5)->mark[0][0] = 1;
  rig_down(r, 1); /* what is good has to be learnt anew */
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, -1, EIO);
  brick_object(&r->brick[2], 5)->mark[0][0] = 0;
  rig_up(r, 1);
  rig_down(r, 1);
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, 0, 0);
  rig_free_clean(r);
}

/* Another client's session is not over: a brick that does not take part may lose what this fsync promises, and is blamed for it. */
static void
fsync_without_a_brick_of_a_dirty_file(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  rig_down(r, 1);
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, 0, 0);
  rig_marks(r, 0, 5, "");
  brick_object(&r->brick[0], 5)->mark[BRICKS][0] = 1;
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, 0, 0);
  rig_marks(r, 0, 5, "1d1,D:d1");
  rig_marks(r, 2, 5, "1d1");
  rig_free_clean(r);
}

/* A brick that came back without the file is blamed once per session, and does not slow each write down. */
static void
file_missing_on_a_child_that_came_back(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_down(r, 2);
  fd = rig_open(r, 5);
  brick_object(&r->brick[2], 5)->used = false;
  rig_up(r, 2);
  rig_forget(r);
  r->brick[2].fail_err[GI_FOP_OPEN] = ENOENT;
  for (int i = 0; i < 3; i++) {
    rig_run(r, f = rig_write(r, fd, 0, 10));
    rig_done(f, 10, 0);
  }
  rig_log(r, 0, "L:0 X:2d+1,d+1 WRITE WRITE WRITE");
  rig_log(r, 2, "OPEN");
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 0, 5, "2d1");
  rig_free_clean(r);
}

/* Another client that does not reach a copy has written meanwhile: our own write is told so. */
static void
copies_found_accused_are_not_read(void **state)
{
  for (unsigned both = 0; both < 2; both++) {
    struct gi_fd *fd;
    struct rig *r = rig_with_file("option read-subvolume-index 1\n", &fd);
    struct gi_fop *s;

    if (both)
      rig_ours(r); /* lock, mark and operation in one message */
    rig_run(r, s = rig_loc(r, GI_FOP_STAT, 5));
    rig_done(s, 0, 0);
    assert_int_equal(fake_count(r->s, 1, GI_FOP_STAT), 1);
    rig_blame(r, 0, 5, 1, 0);
    rig_blame(r, 2, 5, 1, 0);
    rig_run(r, s = rig_write(r, fd, 0, 10));
    rig_done(s, 10, 0);
    rig_forget(r);
    rig_run(r, s = rig_loc(r, GI_FOP_STAT, 5));
    rig_done(s, 0, 0);
    assert_int_equal(fake_count(r->s, 1, GI_FOP_STAT), 0);
    rig_free_clean(r);
  }
}

/* Answers gathered before a write failed must not bring the failed copy back. */
static void
old_answers_do_not_restore_trust(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option read-subvolume-index 1\noption post-op-delay-secs 0\n", &fd);
  struct gi_fop *l, *w, *s;

  rig_hold(r, 0, GI_FOP_LOOKUP);
  rig_run(r, l = rig_entry(r, GI_FOP_LOOKUP, 1, "f5", 0));
  r->brick[1].fail_once[GI_FOP_WRITE] = EIO;
  rig_run(r, w = rig_write(r, fd, 0, 10));
  rig_done(w, 10, 0);
  rig_release(r, 0, GI_FOP_LOOKUP);
  rig_done(l, 0, 0);
  rig_forget(r);
  rig_run(r, s = rig_loc(r, GI_FOP_STAT, 5));
  rig_done(s, 0, 0);
  assert_int_equal(fake_count(r->s, 1, GI_FOP_STAT), 0);
  rig_free_clean(r);
}

static void
opens_move_no_times(struct brick *b, struct gi_fop *fop, void *arg)
{
  assert_true(fop->kind != GI_FOP_OPEN || !fop->caller.stamps);
}

static void
late_open_on_a_child_that_came_back(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_down(r, 2);
  fd = rig_open(r, 5);
  rig_up(r, 2);
  rig_forget(r);
  r->brick[2].hook = opens_move_no_times;
  f = rig_write(r, fd, 0, 10);
  f->caller.stamps = GI_STAMP_CTIME | GI_STAMP_MTIME;
  rig_run(r, f);
  rig_done(f, 10, 0);
  rig_log(r, 2, "OPEN L:0 X:d+1 WRITE");
  rig_log(r, 0, "L:0 X:d+1 WRITE");
  rig_free_clean(r);
}

/* A heal goes over the file: who asked for all of it would wait for every block in work. */
static void
disputed_file_is_locked_in_parts(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  brick_resize(brick_object(&r->brick[0], 5), 1000);
  brick_resize(brick_object(&r->brick[1], 5), 1000);
  brick_resize(brick_object(&r->brick[2], 5), 1000);
  r->brick[1].lock_count = 2;
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE FSYNC X:d-1 U:0");
  r->brick[1].lock_count = 1;
  rig_run(r, f = rig_write(r, fd, 100, 10));
  rig_done(f, 10, 0);
  rig_log_all(r, "L:100+10 X:d+1 WRITE FSYNC X:d-1 U:100+10");
  rig_run(r, f = rig_write(r, fd, 995, 10)); /* makes it longer: sizes are compared under the whole lock */
  rig_done(f, 10, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE");
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_forget(r);
  fake_wait(r->s, 100 * GI_NSEC_PER_MSEC);
  rig_run(r, f = rig_write(r, fd, 100, 10));
  rig_done(f, 10, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE");
  rig_free_clean(r);
}

/* It was a heal, and the bricks tell that it is over: no reason to lock, mark and sync each write for the rest of the time. */
static void
dispute_ends_with_the_heal(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  for (int i = 0; i < 3; i++)
    brick_resize(brick_object(&r->brick[i], 5), 1000);
  r->brick[1].lock_count = 2;
  rig_run(r, rig_write(r, fd, 0, 10));
  r->brick[1].lock_count = 1;
  rig_forget(r);
  rig_run(r, rig_write(r, fd, 100, 10)); /* no heal was seen: the other may be a client that comes back */
  rig_run(r, rig_write(r, fd, 100, 10));
  rig_log_all(r, "L:100+10 X:d+1 WRITE FSYNC X:d-1 U:100+10 L:100+10 X:d+1 WRITE FSYNC X:d-1 U:100+10");
  r->brick[2].healer_locks = 1;
  rig_run(r, rig_write(r, fd, 100, 10));
  r->brick[2].healer_locks = -1;
  rig_run(r, rig_write(r, fd, 100, 10)); /* a brick that does not tell */
  r->brick[2].healer_locks = 0;
  rig_forget(r);
  rig_run(r, rig_write(r, fd, 100, 10));
  rig_log_all(r, "L:100+10 X:d+1 WRITE FSYNC X:d-1 U:100+10");
  rig_run(r, rig_write(r, fd, 100, 10));
  rig_log_all(r, "L:0 X:d+1 WRITE");
  rig_free_clean(r);
}

/* A dispute that goes on is not looked for each time. */
static void
refused_write_waits_for_its_own_bytes(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  rig_run(r, f = rig_write(r, fd, 0, 100));
  rig_done(f, 100, 0);
  rig_forget(r);
  r->brick[1].fail_once[GI_FOP_FINODELK] = EAGAIN;
  rig_run(r, f = rig_write(r, fd, 10, 20));
  rig_done(f, 20, 0);
  rig_log(r, 0, "L:0 U:0 W:10+20 X:d+1 WRITE FSYNC X:d-1 U:10+20");
  rig_log(r, 1, "L:0 W:10+20 X:d+1 WRITE FSYNC X:d-1 U:10+20");
  fake_wait(r->s, 70 * GI_NSEC_PER_MSEC);
  r->brick[1].fail_once[GI_FOP_FINODELK] = EAGAIN;
  rig_run(r, f = rig_write(r, fd, 10, 20));
  rig_done(f, 20, 0);
  rig_forget(r);
  fake_wait(r->s, 70 * GI_NSEC_PER_MSEC); /* it is twice as long now */
  rig_run(r, f = rig_write(r, fd, 10, 20));
  rig_done(f, 20, 0);
  rig_log(r, 0, "L:10+20 X:d+1 WRITE FSYNC X:d-1 U:10+20");
  rig_free_clean(r);
}

/* The fsync at a session's end was sent after the write was answered: it is what the application asks for now. */
static void
fsync_is_done_by_the_session_that_ends(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *w, *s;

  r->brick[1].lock_count = 2;
  rig_hold(r, 2, GI_FOP_FSYNC);
  rig_run(r, w = rig_write(r, fd, 0, 10));
  rig_done(w, 10, 0);
  s = rig_fd(r, GI_FOP_FSYNC, fd);
  s->args.datasync = 1;
  rig_run(r, s);
  assert_false(s->answered);
  rig_release(r, 2, GI_FOP_FSYNC);
  rig_done(s, 0, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE FSYNC X:d-1 U:0");
  /* It failed on one: that one is blamed, and the application's is done again. */
  rig_hold(r, 2, GI_FOP_FSYNC);
  r->brick[1].fail_once[GI_FOP_FSYNC] = EIO;
  rig_run(r, w = rig_write(r, fd, 0, 10));
  s = rig_fd(r, GI_FOP_FSYNC, fd);
  s->args.datasync = 1;
  rig_run(r, s);
  assert_false(s->answered);
  rig_release(r, 2, GI_FOP_FSYNC);
  rig_done(s, 0, 0);
  rig_log(r, 0, "L:0+10 X:d+1 WRITE FSYNC X:1d+1,d-1 U:0+10 FSYNC");
  rig_marks(r, 0, 5, "1d1");
  rig_free_clean(r);
}

/* ---- an fsync that goes with a write ---- */

static struct gi_fop *
synced_write(struct rig *r, struct gi_fd *fd, uint64_t offset)
{
  struct gi_fop *f = rig_write(r, fd, offset, 10);

  f->args.sync = GI_SYNC_DATA;
  rig_run(r, f);
  return f;
}

static struct rig *
rig_that_syncs(const char *options, struct gi_fd **fd)
{
  struct rig *r = rig_with_file(options, fd);

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].syncs = true;
  return r;
}

/* It covers what was written before. */
static void
a_write_with_its_fsync_is_durable(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_that_syncs(NULL, &fd);
  struct gi_fop *f;

  rig_run(r, rig_write(r, fd, 0, 10));
  f = synced_write(r, fd, 20);
  rig_done(f, 10, 0);
  assert_int_equal(f->rsp.synced, GI_SYNCED);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "L:0 X:d+1 WRITE WRITE+ X:d-1 U:0");
  rig_ours(r);
  f = synced_write(r, fd, 20);
  assert_int_equal(f->rsp.synced, GI_SYNCED);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  assert_int_equal(f->rsp.synced, GI_NOT_SYNCED);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "( L:0 X:d+1 ) WRITE+ WRITE FSYNC X:d-1 U:0");
  rig_free_clean(r);
}

static void
a_brick_that_does_not_sync_with_it_is_seen(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_that_syncs(NULL, &fd);
  struct gi_fop *f;

  r->brick[1].syncs = false;
  f = synced_write(r, fd, 0);
  rig_done(f, 10, 0);
  assert_int_equal(f->rsp.synced, GI_NOT_SYNCED);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log(r, 1, "L:0 X:d+1 WRITE FSYNC X:d-1 U:0");
  rig_free_clean(r);
}

static void
a_failed_fsync_behind_a_write_is_blamed(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_that_syncs("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  r->brick[1].fail_once[GI_FOP_FSYNC] = EIO;
  f = synced_write(r, fd, 0);
  rig_done(f, 10, 0);
  assert_int_equal(f->rsp.synced, GI_SYNCED);
  rig_marks(r, 0, 5, "1d1");
  rig_marks(r, 1, 5, "D:d1");
  rig_free_clean(r);
}

/* They have the bytes in memory, and perhaps on disk: a healer must look. */
static void
a_write_whose_fsync_failed_everywhere(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_that_syncs("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_once[GI_FOP_FSYNC] = EIO;
  f = synced_write(r, fd, 0);
  rig_done(f, -1, EIO);
  assert_int_equal(f->rsp.synced, GI_NOT_SYNCED);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 5, "D:d1");
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_once[GI_FOP_WRITE] = ENOSPC; /* but nothing was written here */
  memset(brick_object(&r->brick[0], 5)->mark, 0, sizeof(brick_object(&r->brick[0], 5)->mark));
  f = synced_write(r, fd, 0);
  rig_done(f, -1, ENOSPC);
  rig_marks(r, 0, 5, "");
  rig_free_clean(r);
}

/* On fewer copies than the quorum: the others have lost it for certain. */
static void
a_write_whose_fsync_failed_on_most(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_that_syncs("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  r->brick[1].fail_once[GI_FOP_FSYNC] = r->brick[2].fail_once[GI_FOP_FSYNC] = EIO;
  f = synced_write(r, fd, 0);
  rig_done(f, -1, EIO);
  rig_marks(r, 0, 5, "1d1,2d1,D:d1");
  rig_free_clean(r);
}

/* What the fsync of a session could not save is told by the next one, so that goes by itself. */
static void
an_fsync_that_has_to_tell_goes_by_itself(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_that_syncs("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  r->brick[1].fail_once[GI_FOP_FSYNC] = r->brick[2].fail_once[GI_FOP_FSYNC] = EIO;
  rig_run(r, rig_write(r, fd, 0, 10));
  rig_forget(r);
  f = synced_write(r, fd, 0);
  assert_int_equal(f->rsp.synced, GI_NOT_SYNCED);
  rig_log(r, 0, "L:0 X:d+1 WRITE FSYNC X:d-1 U:0");
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  assert_int_equal(f->rsp.ret, -1);
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(brick_away_since_the_write_has_not_synced_it),
      cmocka_unit_test(disputed_file_is_locked_in_parts),
      cmocka_unit_test(dispute_ends_with_the_heal),
      cmocka_unit_test(refused_write_waits_for_its_own_bytes),
      cmocka_unit_test(fsync_is_done_by_the_session_that_ends),
      cmocka_unit_test(overlapping_writes_keep_their_order),
      cmocka_unit_test(a_write_with_its_fsync_is_durable),
      cmocka_unit_test(a_brick_that_does_not_sync_with_it_is_seen),
      cmocka_unit_test(a_failed_fsync_behind_a_write_is_blamed),
      cmocka_unit_test(a_write_whose_fsync_failed_everywhere),
      cmocka_unit_test(a_write_whose_fsync_failed_on_most),
      cmocka_unit_test(an_fsync_that_has_to_tell_goes_by_itself),
      cmocka_unit_test(writes_during_the_first_lock_share_it),
      cmocka_unit_test(fsync_does_not_overtake),
      cmocka_unit_test(post_op_comes_after_the_delay),
      cmocka_unit_test(append_within_a_block_is_made_durable),
      cmocka_unit_test(durability_before_the_mark_goes),
      cmocka_unit_test(fsync_failure_before_the_mark_goes_is_blamed),
      cmocka_unit_test(fsync_failure_on_the_only_good_copy_is_told),
      cmocka_unit_test(lock_is_given_up_when_others_wait),
      cmocka_unit_test(operations_wait_while_a_session_ends),
      cmocka_unit_test(without_eager_lock_each_write_locks),
      cmocka_unit_test(refused_lock_is_waited_for_in_order),
      cmocka_unit_test(waiting_holds_nothing_behind),
      cmocka_unit_test(generation_change_closes_a_session),
      cmocka_unit_test(unmount_finishes_what_is_delayed),
      cmocka_unit_test(fsync_of_a_quiet_file),
      cmocka_unit_test(fsync_needs_a_good_copy),
      cmocka_unit_test(fsync_without_a_brick_of_a_dirty_file),
      cmocka_unit_test(file_missing_on_a_child_that_came_back),
      cmocka_unit_test(copies_found_accused_are_not_read),
      cmocka_unit_test(old_answers_do_not_restore_trust),
      cmocka_unit_test(late_open_on_a_child_that_came_back),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
