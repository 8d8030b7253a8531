/* SPDX-License-Identifier: Apache-2.0
 *
 * The replica set gets other children while it works: what is under way ends,
 * what comes meanwhile waits and loses nothing, and what was known of a child
 * is known of the same child afterwards.
 */
#include "xlators/cluster/replicate/testing/model.h"
#include "xlators/cluster/replicate/heal/heal.h"

#include "rpc/preamble.h"

#include <fcntl.h>

static const unsigned both_ends[] = {0, 2}, all_three[] = {0, 1, 2}, turned[] = {0, 2, 1}, first_two[] = {0, 1};

/* The replica set shall have these bricks. One that comes back must be told CHILD_UP with rig_up. */
static int
rig_children(struct rig *r, const unsigned *set, unsigned n)
{
  struct gi_error err = {0};
  bool in[BRICKS] = {false};
  char *text = gi_strdup("option volume-id 8306d860-0000-0000-0000-000000000000\noption afr-pending-xattr ");

  for (unsigned i = 0; i < n; i++) {
    char *longer = gi_asprintf("%s%sv-client-%u", text, i ? "," : "", set[i]);

    gi_free(text);
    text = longer;
    in[set[i]] = true;
  }
  for (unsigned i = 0; i < BRICKS; i++)
    for (unsigned j = 0; j < BRICKS; j++)
      r->brick[i].left_out[j] |= !in[i] || !in[j]; /* one that comes back does so when what is under way has ended */

  char *whole = gi_asprintf("%s\n", text);
  int rc = fake_stack_children(r->s, whole, set, n, &err);

  gi_free(text);
  gi_free(whole);
  return rc;
}

static void
remove_the_middle_one(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  rig_run(r, f = rig_write(r, fd, 0, 10)); /* its session is open and holds the lock */
  rig_done(f, 10, 0);
  rig_forget(r);
  assert_int_equal(rig_children(r, both_ends, 2), 0);
  rig_log_all(r, "FSYNC X:d-1 U:0"); /* given back everywhere, also on the one that goes */
  assert_int_equal(r->s->x->nchildren, 2);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_log(r, 1, "");
  rig_log(r, 2, "L:0 X:d+1 WRITE"); /* through the fd it had: not opened again */
  rig_down(r, 2);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 0, 5, "2d2"); /* the second child, by the name it always had */
  rig_free(r);
}

static void
add_while_a_transaction_is_under_way(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *a, *b;

  assert_int_equal(rig_children(r, both_ends, 2), 0);
  rig_hold(r, 2, GI_FOP_WRITE);
  rig_run(r, a = rig_write(r, fd, 0, 10));
  assert_int_equal(rig_children(r, turned, 3), 0);
  assert_int_equal(r->s->x->nchildren, 2); /* not yet */
  rig_run(r, b = rig_write(r, fd, 100, 10));
  assert_false(b->answered); /* held back */
  rig_log(r, 1, "");
  rig_release(r, 2, GI_FOP_WRITE);
  rig_done(a, 10, 0);
  fake_settle(r->s);
  assert_int_equal(r->s->x->nchildren, 3);
  rig_done(b, 10, 0);
  rig_log(r, 1, ""); /* it has not said that it is up */
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 0, 5, "1d1"); /* it missed the write */
  rig_up(r, 1);
  rig_forget(r);
  rig_run(r, b = rig_write(r, fd, 200, 10));
  rig_done(b, 10, 0);
  rig_log(r, 1, "OPEN L:0 X:d+1 WRITE"); /* opened late, as one that came back */
  rig_free_clean(r);
}

static void
entry_under_way(void **state)
{
  static const enum gi_fop_kind phase[] = {GI_FOP_ENTRYLK, GI_FOP_MKDIR};

  for (size_t p = 0; p < GI_ARRAY_LEN(phase); p++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f, *later;

    rig_hold(r, 1, phase[p]);
    rig_run(r, f = rig_entry(r, GI_FOP_MKDIR, 1, "d", 9));
    assert_int_equal(rig_children(r, both_ends, 2), 0);
    rig_run(r, later = rig_entry(r, GI_FOP_MKDIR, 1, "e", 10));
    assert_false(f->answered);
    assert_false(later->answered);
    rig_release(r, 1, phase[p]);
    rig_done(f, 0, 0);
    rig_done(later, 0, 0);
    fake_settle(r->s);
    assert_non_null(brick_object(&r->brick[1], 9)); /* the first had begun with it */
    assert_null(brick_object(&r->brick[1], 10));
    assert_non_null(brick_object(&r->brick[2], 10));
    rig_marks(r, 0, 1, "");
    rig_free_clean(r);
  }
}

/* Rename onto an unknown name looks it up from inside: that must not be held back for the rename itself. */
static void
lookup_on_behalf_of_a_rename(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_inode *root = gi_inode_get(r->s->graph, &gi_gfid_root);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_hold(r, 2, GI_FOP_LOOKUP);
  f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);
  gi_fop_set_entry(f, &f->loc2, root, "new");
  rig_run(r, f);
  assert_int_equal(rig_children(r, both_ends, 2), 0);
  rig_release(r, 2, GI_FOP_LOOKUP);
  fake_settle(r->s);
  rig_done(f, 0, 0);
  assert_int_equal(r->s->x->nchildren, 2);
  gi_inode_unref(&root);
  rig_free_clean(r);
}

static void
what_was_known_of_copies_is_learnt_anew(void **state)
{
  struct rig *r = rig_new("option read-subvolume child-1\n");
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_blame(r, 0, 5, 2, 0); /* child 2 is stale */
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
  rig_done(f, 0, 0);
  assert_int_equal(rig_children(r, both_ends, 2), 0);
  for (int i = 0; i < 8; i++) {
    rig_forget(r);
    rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
    rig_done(f, 0, 0);
    assert_null(strstr(r->brick[2].log, "STAT")); /* it has the place of a good copy now */
    assert_string_equal(r->brick[1].log, "");
  }
  rig_free_clean(r);
}

static void
listings(void **state)
{
  struct rig *r = rig_new("option read-subvolume child-2\noption choose-local off\n");
  struct gi_fop *f = rig_loc(r, GI_FOP_OPENDIR, 1);
  struct gi_fd *fd = gi_fd_new(r->s->graph, f->loc.inode, O_RDONLY | O_DIRECTORY, 100);

  gi_fop_set_fd(f, fd);
  rig_run(r, f);
  rig_run(r, f = rig_fd(r, GI_FOP_READDIR, fd));
  rig_done(f, 0, 0);
  assert_int_equal(rig_children(r, both_ends, 2), 0);
  rig_forget(r);
  f = rig_fd(r, GI_FOP_READDIR, fd);
  f->args.offset = 77;
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_log(r, 2, "READDIR"); /* goes on where it began */
  assert_int_equal(rig_children(r, first_two, 2), 0);
  f = rig_fd(r, GI_FOP_READDIR, fd);
  f->args.offset = 77;
  rig_run(r, f);
  rig_done(f, -1, ENOTCONN); /* the cookies of another brick are unrelated */
  f = rig_fd(r, GI_FOP_READDIR, fd);
  rig_run(r, f);
  rig_done(f, 0, 0); /* from the beginning it can be listed */
  gi_fd_unref(&fd);
  rig_free_clean(r);
}

/* Whoever waits for a lock does not hold back the one who would give it back. */
static void
waiting_locks_are_asked_for_again(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *lock = rig_fd(r, GI_FOP_LK, fd), *unlock;

  lock->args.cmd = GI_LKCMD_SETW;
  lock->args.type = lock->args.flock.type = GI_LK_WRITE;
  rig_hold(r, 1, GI_FOP_LK);
  rig_run(r, lock);
  assert_false(lock->answered);
  rig_forget(r);
  assert_int_equal(rig_children(r, both_ends, 2), 0);
  fake_settle(r->s);
  assert_int_equal(r->s->x->nchildren, 2);
  rig_log(r, 0, "LK LK"); /* what was granted is given back, then it begins anew */
  rig_log(r, 2, "LK");
  rig_done(lock, 0, 0);
  rig_run(r, unlock = rig_fd(r, GI_FOP_FLUSH, fd));
  rig_done(unlock, 0, 0);

  /* One that is interrupted meanwhile is not lost either. */
  lock = rig_fd(r, GI_FOP_LK, fd);
  lock->args.cmd = GI_LKCMD_SETW;
  lock->args.type = lock->args.flock.type = GI_LK_WRITE;
  rig_hold(r, 2, GI_FOP_LK);
  rig_run(r, lock);
  gi_fop_cancel(lock);
  fake_settle(r->s);
  rig_done(lock, -1, EINTR);
  rig_free(r);
}

/* What a brick can do, and what only we know about a file on it, moves with the child. */
static void
what_is_known_of_a_child_moves_with_it(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct rep *rep = rep_of(r->s->x);

  for (unsigned i = 0; i < BRICKS; i++) {
    fake_event(r->s, i, GI_EVENT_CHILD_DOWN, NULL);
    fake_event(r->s, i, GI_EVENT_CHILD_UP, i == 2 ? GI_PREAMBLE_CAPABILITY " " GI_REGIONS_CAPABILITY : "");
  }
  fake_settle(r->s);
  assert_int_equal(rep->regions, 4);
  rep_inode(rep, fd->inode)->unsynced = 6;
  assert_int_equal(rig_children(r, both_ends, 2), 0);
  assert_int_equal(rep->preamble, 2);
  assert_int_equal(rep->regions, 2);
  assert_int_equal(rep_inode(rep, fd->inode)->unsynced, 2);
  rig_free_clean(r);
}

static void
what_no_child_has_synced_is_told_whoever_comes(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  rep_inode(rep_of(r->s->x), fd->inode)->unsynced = REP_UNSYNCED_ALL;
  assert_int_equal(rig_children(r, both_ends, 2), 0);
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, -1, EIO);
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  rig_done(f, 0, 0);
  rig_free_clean(r);
}

/* The middle child is to leave while a write waits for child 2. */
static struct gi_fop *
leave_while_writing(struct rig *r, struct gi_fd *fd)
{
  struct gi_fop *w = rig_write(r, fd, 0, 10);

  rig_hold(r, 2, GI_FOP_WRITE);
  rig_run(r, w);
  assert_int_equal(rig_children(r, both_ends, 2), 0);
  return w;
}

static void
interrupted_while_held_back(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *w, *lock = rig_fd(r, GI_FOP_LK, fd);

  w = leave_while_writing(r, fd);
  lock->args.cmd = GI_LKCMD_SETW;
  lock->args.type = lock->args.flock.type = GI_LK_WRITE;
  rig_run(r, lock);
  assert_false(lock->answered);
  gi_fop_cancel(lock);
  rig_done(lock, -1, EINTR);
  rig_release(r, 2, GI_FOP_WRITE);
  rig_done(w, 10, 0);
  rig_free_clean(r);
}

static void
the_graph_ends_meanwhile(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *a, *b;

  a = leave_while_writing(r, fd);
  rig_run(r, b = rig_write(r, fd, 100, 10));
  assert_false(b->answered);
  gi_graph_deactivate(r->s->graph);
  rig_release(r, 2, GI_FOP_WRITE);
  fake_settle(r->s);
  rig_done(a, 10, 0);
  rig_done(b, 10, 0);
  assert_int_equal(r->s->x->nchildren, 3);
  rig_free_clean(r);
}

static void
a_brick_that_hangs_does_not_hold_back_for_ever(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *a, *b;

  a = leave_while_writing(r, fd);
  rig_run(r, b = rig_loc(r, GI_FOP_STAT, 5));
  fake_wait(r->s, 2500 * GI_NSEC_PER_MSEC);
  assert_false(b->answered);
  fake_wait(r->s, 1000 * GI_NSEC_PER_MSEC);
  rig_done(b, 0, 0); /* with the old children */
  rig_release(r, 2, GI_FOP_WRITE);
  rig_done(a, 10, 0);
  assert_int_equal(r->s->x->nchildren, 3);
  fake_wait(r->s, 5500 * GI_NSEC_PER_MSEC);
  assert_int_equal(r->s->x->nchildren, 2); /* the next attempt */
  rig_free_clean(r);
}

/* A heal may take long: it goes on, and so does everybody else, and the children are exchanged when it ends. */
static void
a_heal_is_waited_for(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *mark = rig_loc(r, GI_FOP_SETXATTR, 1), *f;

  mark->args.dict = gi_dict_new();
  gi_dict_set_str(mark->args.dict, "trusted.replace-brick", "child-1");
  mark->caller.pid = -12;
  rig_hold(r, 2, GI_FOP_XATTROP);
  rig_run(r, mark);
  assert_int_equal(rig_children(r, both_ends, 2), 0);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 1));
  rig_done(f, 0, 0);
  assert_int_equal(r->s->x->nchildren, 3);
  rig_release(r, 2, GI_FOP_XATTROP);
  fake_settle(r->s);
  rig_done(mark, 0, 0);
  assert_int_equal(r->s->x->nchildren, 2);
  rig_free_clean(r);
}

static void
refused(void **state)
{
  struct rig *r = rig_new("option quorum-type fixed\noption quorum-count 3\n");
  struct gi_error err = {0};

  assert_int_equal(fake_stack_children(r->s, "option quorum-type fixed\noption quorum-count 3\n", both_ends, 2, &err), -1);
  assert_non_null(strstr(err.text, "quorum-count 3 is more than the 2 subvolumes"));
  assert_int_equal(fake_stack_children(r->s, "option afr-pending-xattr a,b,c\n", both_ends, 2, &err), -1);
  assert_non_null(strstr(err.text, "must name each of the 2"));
  assert_int_equal(fake_stack_children(r->s, "option arbiter-count 1\n", both_ends, 2, &err), -1);
  assert_int_equal(r->s->x->nchildren, 3);
  rig_free_clean(r);
}

/* replicate.md 3.2: with three or more children half is not enough. */
static void
quorum_follows(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  assert_int_equal(rig_children(r, both_ends, 2), 0);
  rig_down(r, 2);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 1));
  rig_done(f, 0, 0);
  assert_int_equal(rig_children(r, all_three, 3), 0);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 1));
  rig_done(f, -1, ENOTCONN);
  rig_up(r, 1);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 1));
  rig_done(f, 0, 0);
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_known_of_a_child_moves_with_it),
      cmocka_unit_test(what_no_child_has_synced_is_told_whoever_comes),
      cmocka_unit_test(remove_the_middle_one),
      cmocka_unit_test(add_while_a_transaction_is_under_way),
      cmocka_unit_test(entry_under_way),
      cmocka_unit_test(lookup_on_behalf_of_a_rename),
      cmocka_unit_test(what_was_known_of_copies_is_learnt_anew),
      cmocka_unit_test(listings),
      cmocka_unit_test(waiting_locks_are_asked_for_again),
      cmocka_unit_test(interrupted_while_held_back),
      cmocka_unit_test(the_graph_ends_meanwhile),
      cmocka_unit_test(a_brick_that_hangs_does_not_hold_back_for_ever),
      cmocka_unit_test(a_heal_is_waited_for),
      cmocka_unit_test(refused),
      cmocka_unit_test(quorum_follows),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
