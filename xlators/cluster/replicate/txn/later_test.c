/* SPDX-License-Identifier: Apache-2.0
 *
 * Dirty marks that are lowered with the next message to each brick: when they may
 * be, when not, and that none is left behind when the client goes.
 */
#include "xlators/cluster/replicate/testing/model.h"

/* What a brick is to be told with the next message, as protocol/client keeps it. */
struct next {
  struct brick *brick;
  int32_t dirty; /* to be added to that of file 5 */
};

static struct next next[BRICKS];

static bool
is_unlock(const struct gi_fop *fop)
{
  return (fop->kind == GI_FOP_INODELK || fop->kind == GI_FOP_FINODELK) && fop->args.type == GI_LK_UNLOCK;
}

static void
serve(struct gi_fop *fop, void *arg)
{
  struct next *n = arg;

  if (fop->args.later) {
    assert_true(fop->kind == GI_FOP_XATTROP || fop->kind == GI_FOP_FXATTROP);
    n->dirty--;
    return;
  }
  if (!is_unlock(fop)) { /* that goes with the next message, too */
    brick_object(n->brick, 5)->mark[BRICKS][0] += n->dirty;
    n->dirty = 0;
  }
  brick_serve(fop, n->brick);
}

static void
serve_with_next(struct rig *r)
{
  fake_script_clear(r->s);
  for (unsigned i = 0; i < BRICKS; i++) {
    next[i] = (struct next){.brick = &r->brick[i]};
    fake_script_always(r->s, i, GI_FOP_MAX, (struct fake_reply){.fill = serve, .arg = &next[i]});
  }
}

static struct rig *
rig_with_next(struct gi_fd **fd)
{
  struct rig *r = rig_with_file(NULL, fd);

  serve_with_next(r);
  return r;
}

/* Whether the mark of the session that has ended waits for the next message, at all bricks. */
static bool
waits(const struct rig *r)
{
  for (unsigned i = 1; i < BRICKS; i++)
    assert_int_equal(next[i].dirty, next[0].dirty);
  return next[0].dirty == -1;
}

static void
close_file(struct rig *r, struct gi_fd *fd)
{
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
}

static void
write_file(struct rig *r, struct gi_fd *fd)
{
  struct gi_fop *f = rig_write(r, fd, 0, 10);

  rig_run(r, f);
  rig_done(f, 10, 0);
}

static void
a_mark_waits_for_the_next_message(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);

  write_file(r, fd);
  close_file(r, fd);
  assert_true(waits(r));
  rig_log_all(r, "L:0 X:d+1 WRITE FSYNC U:0");
  rig_free_clean(r);
}

/* The others blame it before anybody hears of the success: that operation waits for the answer. */
static void
not_with_a_failed_copy(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);

  r->brick[1].fail_once[GI_FOP_WRITE] = EIO;
  write_file(r, fd);
  close_file(r, fd);
  assert_false(waits(r));
  rig_marks(r, 0, 5, "1d1");
  rig_marks(r, 1, 5, "D:d1");
  rig_free_clean(r);
}

/* Nobody waits for the answer, but the others blame it. */
static void
not_with_a_copy_that_did_not_sync(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);

  write_file(r, fd);
  r->brick[1].fail_once[GI_FOP_FSYNC] = EIO;
  close_file(r, fd);
  assert_false(waits(r));
  rig_marks(r, 0, 5, "1d1");
  rig_marks(r, 1, 5, "D:d1");
  rig_free_clean(r);
}

static void
not_where_dirty_stays(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);
  struct gi_fop *f = rig_write(r, fd, 0, 10);

  r->brick[0].fail_once[GI_FOP_WRITE] = EIO;
  r->brick[1].fail_once[GI_FOP_WRITE] = ENOSPC;
  rig_run(r, f);
  assert_int_equal(f->rsp.ret, -1);
  close_file(r, fd);
  assert_false(waits(r));
  rig_marks(r, 2, 5, "D:d1");
  rig_free_clean(r);
}

/* The others blame who is away. */
static void
not_without_a_copy(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);

  rig_down(r, 2);
  write_file(r, fd);
  close_file(r, fd);
  assert_false(waits(r));
  rig_marks(r, 0, 5, "2d1");
  rig_marks(r, 1, 5, "2d1");
  rig_free_clean(r);
}

/* Nothing failed on whoever went while the session was open. */
static void
not_after_a_change_of_children(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true; /* so there is no fsync that could */
  rig_run(r, rig_write(r, fd, 0, BRICK_PAGE));
  rig_down(r, 2);
  assert_false(waits(r));
  rig_log(r, 0, "L:0 X:d+1 WRITE X:d-1 U:0");
  rig_free_clean(r);
}

/* What a healer lowers the next one looks at: it goes by itself, like a healer's locks. */
static void
not_of_a_heal(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);
  struct gi_fop *f = rig_write(r, fd, 0, 10);

  f->caller.pid = GI_PID_HEAL;
  rig_run(r, f);
  rig_done(f, 10, 0);
  close_file(r, fd);
  assert_false(waits(r));
  rig_marks(r, 0, 5, "");
  rig_free_clean(r);
}

/* There would be no next message. */
static void
not_when_the_client_leaves(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);

  write_file(r, fd);
  gi_graph_deactivate(r->s->graph);
  fake_settle(r->s);
  assert_false(waits(r));
  rig_log_all(r, "L:0 X:d+1 WRITE FSYNC X:d-1 U:0");
  assert_int_equal(r->s->below[GI_EVENT_PARENT_DOWN], BRICKS);
  rig_free_clean(r);
}

/* Nor to a brick that the set loses. */
static void
not_when_the_children_change(void **state)
{
  static const unsigned set[] = {0, 1, 2, 3};
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);
  struct gi_error err = {0};

  write_file(r, fd);
  assert_int_equal(fake_stack_children(r->s,
                                       "option afr-pending-xattr v-client-0,v-client-1,v-client-2,v-client-3\n"
                                       "option volume-id 8306d860-0000-0000-0000-000000000000\n",
                                       set, 4, &err),
                   0);
  fake_settle(r->s);
  assert_false(waits(r));
  rig_log_all(r, "L:0 X:d+1 WRITE FSYNC X:d-1 U:0");
  rig_free(r);
}

/* A client that leaves right after it has closed asks each brick for something, and is not gone before that is answered. */
static void
nothing_is_left_when_the_client_leaves(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);

  write_file(r, fd);
  close_file(r, fd);
  assert_true(waits(r));
  fake_script_clear(r->s);
  for (unsigned i = 0; i < BRICKS; i++) {
    if (i == 1)
      fake_script(r->s, i, GI_FOP_STAT, (struct fake_reply){.hold = true});
    fake_script_always(r->s, i, GI_FOP_MAX, (struct fake_reply){.fill = serve, .arg = &next[i]});
  }
  gi_graph_deactivate(r->s->graph);
  fake_settle(r->s);
  assert_int_equal(r->s->below[GI_EVENT_PARENT_DOWN], 0);
  serve(fake_held_fop(r->s, 1, 0), &next[1]);
  assert_true(fake_release(r->s, 1, GI_FOP_STAT, 0, 0));
  fake_settle(r->s);
  assert_int_equal(r->s->below[GI_EVENT_PARENT_DOWN], BRICKS);
  for (unsigned i = 0; i < BRICKS; i++) {
    assert_int_equal(next[i].dirty, 0);
    rig_marks(r, i, 5, "");
  }
  rig_free_clean(r);
}

/* Long after, the clients have sent them by themselves. */
static void
nothing_is_asked_long_after(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_next(&fd);

  write_file(r, fd);
  close_file(r, fd);
  fake_wait(r->s, 1100 * GI_NSEC_PER_MSEC);
  rig_forget(r);
  gi_graph_deactivate(r->s->graph);
  fake_settle(r->s);
  rig_log_all(r, "");
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_mark_waits_for_the_next_message),
      cmocka_unit_test(not_with_a_failed_copy),
      cmocka_unit_test(not_with_a_copy_that_did_not_sync),
      cmocka_unit_test(not_where_dirty_stays),
      cmocka_unit_test(not_without_a_copy),
      cmocka_unit_test(not_after_a_change_of_children),
      cmocka_unit_test(not_of_a_heal),
      cmocka_unit_test(not_when_the_client_leaves),
      cmocka_unit_test(not_when_the_children_change),
      cmocka_unit_test(nothing_is_left_when_the_client_leaves),
      cmocka_unit_test(nothing_is_asked_long_after),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
