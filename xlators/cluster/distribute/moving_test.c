/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on files that a rebalance moves, over two fake subvolumes.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

#include <sys/xattr.h>

/* ---- files on the move ---- */

static void
say_moving(struct gi_fop *fop, void *arg)
{
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | 0644 | S_ISVTX | S_ISGID);
  fop->rsp.post = fop->rsp.pre = fop->rsp.stat;
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", arg, (uint32_t)strlen(arg) + 1);
}

static void
say_moved(struct gi_fop *fop, void *arg)
{
  say_linkto(fop, arg);
  fop->rsp.post = fop->rsp.pre = fop->rsp.stat;
}

static struct gi_fd *
open_file_on(struct fake_stack *s, unsigned child)
{
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(child, s->nchildren)), *o = fake_fop(s, GI_FOP_OPEN);
  struct gi_fd *fd;

  fake_script(s, child, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  fd = fake_fd(s, FILE_GFID);
  gi_fop_set_fd(o, fd);
  fake_submit(s, o);
  assert_int_equal(fake_count(s, child, GI_FOP_OPEN), 1);
  return fd;
}

static struct gi_fop *
write_to(struct fake_stack *s, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_WRITE);

  gi_fop_set_fd(f, fd);
  f->args.size = 10;
  f->caller.uid = f->caller.gid = 26;
  fake_submit(s, f);
  return f;
}

static bool by_gfid, as_root;

static void
see_write(struct gi_fop *fop, void *arg)
{
  by_gfid = fop->fd->anonymous && fop->fd->inode->gfid.b[0] == FILE_GFID;
  as_root = fop->caller.uid == 0 && fop->caller.gid == 0;
}

static void
test_writes_go_to_both_while_it_moves(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);
  char *to = s->x->children[1]->name;
  struct gi_fop *f;

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moving, .arg = to});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moving, .arg = to});
  for (int i = 1; i <= 2; i++) {
    fake_script(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = see_write});
    f = write_to(s, fd);
    assert_int_equal(f->rsp.ret, 10);
    assert_int_equal(f->rsp.post.mode, S_IFREG | 0644);
    assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), i);
    assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), i);
    assert_int_equal(fake_count(s, 1, GI_FOP_OPEN), 0);
    assert_true(by_gfid); /* a descriptor from an earlier move may be of what that has left there */
    assert_true(as_root); /* nobody else may write to what has the mode of a linkto file */
  }

  /* The target fails: the copy would lack it. */
  fake_script(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ENOSPC});
  assert_int_equal(write_to(s, fd)->rsp.err, ENOSPC);
  fake_stack_free(s);
}

static void
goes_to(struct fake_stack *s, char *to)
{
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moving, .arg = to});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moving, .arg = to});
}

/* A rebalance that was killed moved it elsewhere than the one that moves it now. */
static void
test_writes_go_where_it_goes_now(void **state)
{
  struct fake_stack *s = stack_with_dir(3, 0);
  struct gi_fd *fd = open_file_on(s, 0);

  goes_to(s, s->x->children[1]->name);
  write_to(s, fd);
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 1);

  /* What the first one had made is gone. */
  goes_to(s, s->x->children[2]->name);
  fake_script(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ESTALE});
  assert_int_equal(write_to(s, fd)->rsp.ret, 10);
  assert_int_equal(fake_count(s, 2, GI_FOP_WRITE), 1);

  /* Or it is left there. */
  goes_to(s, s->x->children[1]->name);
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC);
  assert_int_equal(write_to(s, fd)->rsp.ret, 10);
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 3);
  assert_int_equal(fake_count(s, 2, GI_FOP_WRITE), 1);
  fake_stack_free(s);
}

/* A copy on one subvolume of a file that was there a moment ago: it is made by reading and writing instead. */
static void
test_copies_of_what_moved_are_made_by_hand(void **state)
{
  static const int gone[] = {ESTALE, ENOENT, EBADF};
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);

  for (size_t i = 0; i < GI_ARRAY_LEN(gone); i++) {
    struct gi_fop *f = fake_fop(s, GI_FOP_COPY_FILE_RANGE);

    gi_fop_set_fd(f, fd);
    f->fd2 = gi_fd_ref(fd);
    fake_script(s, 0, GI_FOP_COPY_FILE_RANGE, (struct fake_reply){.ret = -1, .err = gone[i]});
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, EXDEV);
  }
  for (int moving = 0; moving < 2; moving++) { /* done, but into a file that moves: what moves it may have passed there */
    struct gi_fop *f = fake_fop(s, GI_FOP_COPY_FILE_RANGE);

    gi_fop_set_fd(f, fd);
    f->fd2 = gi_fd_ref(fd);
    fake_script(s, 0, GI_FOP_COPY_FILE_RANGE,
                (struct fake_reply){.ret = 10, .fill = moving ? say_moving : say_file, .arg = s->x->children[1]->name});
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, moving ? -1 : 10);
    assert_int_equal(f->rsp.err, moving ? EXDEV : 0);
  }
  fake_stack_free(s);
}

static void
test_operations_follow_when_it_has_moved(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);
  char *to = s->x->children[1]->name;

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moved, .arg = to});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moved, .arg = to});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_script_always(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = 10});
  assert_int_equal(write_to(s, fd)->rsp.ret, 10);
  assert_int_equal(fake_count(s, 1, GI_FOP_OPEN), 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 1);
  write_to(s, fd);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 1); /* from now on it is known */
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 2);
  fake_stack_free(s);
}

/* What was asked about the source when it had not moved yet is answered when the file is known elsewhere; and then that moves back. */
static void
test_target_that_the_file_has_moved_to_is_none(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);
  char *first = s->x->children[0]->name, *second = s->x->children[1]->name;
  struct gi_fop *late, *asked;

  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moving, .arg = second});
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.hold = true});
  late = write_to(s, fd);
  asked = fake_held_fop(s, 0, 0);
  assert_non_null(asked);

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moved, .arg = second});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moved, .arg = second});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_script_always(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = 10});
  assert_int_equal(write_to(s, fd)->rsp.ret, 10);
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 1);

  say_moving(asked, second);
  fake_release_fop(s, asked, 0, 0);
  fake_settle(s);
  assert_int_equal(late->rsp.ret, 10);
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 2);

  fake_script_clear(s);
  fake_script_always(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moving, .arg = first});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moving, .arg = first});
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10});
  fake_forget_seen(s);
  assert_int_equal(write_to(s, fd)->rsp.ret, 10);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 1);
  fake_stack_free(s);
}

/* Another operation, which was sent at the same time, has found it there first: what this one did was done to what is left on the source. */
static void
test_operations_follow_when_another_one_was_first(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);
  char *to = s->x->children[1]->name;
  struct gi_fop *first, *second;

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moved, .arg = to});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_script_always(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = 10});
  first = write_to(s, fd);
  second = write_to(s, fd);
  assert_int_equal(fake_held(s, 0), 2);
  for (int i = 0; i < 2; i++) {
    struct gi_fop *held = fake_held_fop(s, 0, 0);

    say_moved(held, to);
    fake_release_fop(s, held, 10, 0);
    fake_settle(s);
  }
  assert_int_equal(first->rsp.ret, 10);
  assert_int_equal(second->rsp.ret, 10);
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 2);
  fake_stack_free(s);
}

/* What was done to what is left of it on the source is no success. */
static void
test_a_change_fails_if_it_cannot_follow(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);
  char *to = s->x->children[1]->name;

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moved, .arg = to});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moved, .arg = to});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  assert_int_equal(write_to(s, fd)->rsp.err, ENOTCONN);

  /* Wherever it follows it has moved on. */
  fake_script_clear(s);
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_WRITE,
                       (struct fake_reply){.ret = 10, .fill = say_moved, .arg = s->x->children[1 - i]->name});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moved, .arg = to});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  assert_int_equal(write_to(s, fd)->rsp.ret, -1);
  fake_stack_free(s);
}

/* To the same subvolume as the first try: what its translators have kept of that is of another operation. */
static void
test_a_second_try_is_an_operation_of_its_own(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);
  struct gi_fop *f;

  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EBADF});
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10});
  fake_forget_seen(s);
  f = write_to(s, fd);
  assert_int_equal(f->rsp.ret, 10);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 2);
  for (unsigned i = 0, n = 0; i < s->nseen; i++)
    if (s->seen[i].kind == GI_FOP_WRITE)
      assert_int_equal(s->seen[i].fop == f, n++ == 0);
  fake_stack_free(s);
}

static void
test_operations_follow_when_it_is_gone(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ESTALE});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ESTALE});
  fake_script(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_script(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = 10});
  assert_int_equal(write_to(s, fd)->rsp.ret, 10);
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 1);

  /* Gone everywhere: the error stays what it was. */
  fake_script_always(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ESTALE});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ESTALE});
  assert_int_equal(write_to(s, fd)->rsp.err, ESTALE);
  fake_stack_free(s);
}

/* What a subvolume says of the file, whose further name is not there yet. */
static struct saying {
  void (*say)(struct gi_fop *fop, void *arg);
  void *arg, *part;
} sayings[2];

static void
say_without_name(struct gi_fop *fop, void *arg)
{
  const struct saying *s = arg;

  if (fop->loc.name)
    gi_fop_fail(fop, ENOENT);
  else if (gi_fop_gfid(fop)->b[0] == DIR_GFID)
    say_dir(fop, s->part);
  else
    s->say(fop, s->arg);
}

static void
script_without_name(struct fake_stack *s, unsigned child, void (*say)(struct gi_fop *fop, void *arg), void *arg)
{
  sayings[child] = (struct saying){say, arg, &parts[child]};
  fake_script_always(s, child, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_without_name, .arg = &sayings[child]});
}

static struct gi_fop *
link_fop(struct fake_stack *s, const char *name)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_LINK);

  gi_loc_set_inode(&f->loc, fake_inode(s, FILE_GFID));
  gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_GFID), name);
  return f;
}

/* Whoever moves it does not know the new name. */
static void
test_further_name_of_a_moving_file_is_made_on_both(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  char *to = s->x->children[1]->name;
  struct gi_fop *f = link_fop(s, name_on(0, 2));

  open_file_on(s, 0);
  fake_script_always(s, 0, GI_FOP_LINK, (struct fake_reply){.fill = say_moving, .arg = to});
  script_without_name(s, 0, say_moving, to);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(f->rsp.stat.mode, S_IFREG | 0644);
  assert_int_equal(fake_count(s, 0, GI_FOP_LINK), 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_LINK), 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_MKNOD) + fake_count(s, 1, GI_FOP_MKNOD), 0); /* it belongs where the file is */

  /* Where it cannot be made the file would lose it. */
  fake_script(s, 1, GI_FOP_LINK, (struct fake_reply){.ret = -1, .err = ENOSPC});
  f = link_fop(s, name_on(0, 2));
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOSPC);
  fake_stack_free(s);
}

static void
test_further_name_follows_when_the_file_has_moved(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  char *to = s->x->children[1]->name;
  struct gi_fop *f = link_fop(s, name_on(1, 2));

  open_file_on(s, 0);
  fake_script_always(s, 0, GI_FOP_LINK, (struct fake_reply){.fill = say_moved, .arg = to});
  script_without_name(s, 0, say_moved, to);
  script_without_name(s, 1, say_file, NULL);
  fake_script_always(s, 1, GI_FOP_STAT, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(f->rsp.stat.mode, S_IFREG | 0644);
  assert_int_equal(fake_count(s, 1, GI_FOP_LINK), 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_UNLINK), 1); /* what was made of it there is a linkto file that is not due */
  fake_stack_free(s);
}

/* It moved away and came back. Its descriptor is still that of what was left here when it went. */
static void
test_a_file_that_came_back_is_opened_anew(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);

  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moved, .arg = s->x->children[1]->name});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10});
  assert_int_equal(write_to(s, fd)->rsp.ret, 10);
  assert_int_equal(fake_count(s, 0, GI_FOP_OPEN), 2);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 2);
  fake_stack_free(s);
}

static void
say_sticky(struct gi_fop *fop, void *arg)
{
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | GI_LINKTO_MODE);
}

/* A file whose owner gave it the mode of a linkto file is one like others. */
static void
test_sticky_file_of_a_user(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moved, .arg = "child-1"});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_sticky});
  struct gi_fop *f = write_to(s, fd);

  assert_int_equal(f->rsp.ret, 10);
  assert_int_equal(f->rsp.post.mode, S_IFREG | GI_LINKTO_MODE);
  assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), 0);
  fake_stack_free(s);
}

/* ---- the size of a file in blocks ---- */

static void
say_mode(struct gi_fop *fop, void *arg)
{
  assert_non_null(gi_dict_get(fop->xdata, "dht-get-mode-in-xattr"));
  gi_dict_set_int(gi_fop_rsp_xdata(fop), "dht-get-mode-in-xattr", S_IFREG | 0644 | DI_MOVING);
}

/* Its reply has no attributes. */
static void
test_what_is_added_to_an_attribute_is_added_to_both(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);
  struct gi_fop *f = fake_fop(s, GI_FOP_FXATTROP);

  fake_script_always(s, 0, GI_FOP_FXATTROP, (struct fake_reply){.fill = say_mode});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moving, .arg = s->x->children[1]->name});
  gi_fop_set_fd(f, fd);
  f->args.dict = gi_dict_new();
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_FXATTROP), 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_FXATTROP), 1);
  fake_stack_free(s);
}

static struct gi_fop *
lock_size(struct fake_stack *s, unsigned type)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_INODELK);

  gi_loc_set_inode(&f->loc, fake_inode(s, FILE_GFID));
  f->args.domain = di_of(s->x)->size_domain;
  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = f->args.flock.type = type;
  fake_submit(s, f);
  return f;
}

/* Who waited for the lock while the file moved has it on the source, and is told when it looks at the file. */
static void
test_a_lock_of_the_size_that_is_left_behind_is_told_and_given_back(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_file_on(s, 0);
  char *to = s->x->children[1]->name;

  assert_int_equal(lock_size(s, GI_LK_WRITE)->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_INODELK), 1);
  assert_int_equal(s->events[GI_EVENT_CONTENTION], 0);
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_moved, .arg = to});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moved, .arg = to});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_script_always(s, 1, GI_FOP_WRITE, (struct fake_reply){.ret = 10});
  write_to(s, fd);
  assert_int_equal(s->events[GI_EVENT_CONTENTION], 1);
  lock_size(s, GI_LK_UNLOCK);
  assert_int_equal(fake_count(s, 0, GI_FOP_INODELK), 2);
  lock_size(s, GI_LK_WRITE);
  assert_int_equal(fake_count(s, 1, GI_FOP_INODELK), 1);
  lock_size(s, GI_LK_UNLOCK);
  assert_int_equal(fake_count(s, 1, GI_FOP_INODELK), 2);
  fake_stack_free(s);
}

/* ---- a move that was not finished ---- */

/* Its copy is the file already; whoever moved it was killed. */
static void
say_unfinished(struct gi_fop *fop, void *arg)
{
  say_file(fop, NULL);
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", arg, (uint32_t)strlen(arg) + 1);
}

static bool size_held;
static uint32_t mode_set;

static void
see_lock(struct gi_fop *fop, void *arg)
{
  bool size = strcmp(fop->args.domain, di_of(arg)->size_domain) == 0;

  if (size && size_held && fop->args.type != GI_LK_UNLOCK) {
    assert_int_equal(fop->args.cmd, GI_LKCMD_SET); /* a lookup may be of who has it */
    fop->rsp.ret = -1;
    fop->rsp.err = EAGAIN;
  }
}

static void
see_mode(struct gi_fop *fop, void *arg)
{
  const bool *locked = arg; /* by a user */

  if (*locked) {
    fop->rsp.ret = -1;
    fop->rsp.err = EBUSY;
  } else {
    mode_set = fop->args.iatt.mode;
  }
}

static uint32_t mode_there; /* what the target gets: a minimal ACL of the source is in its mode alone */

static void
see_mode_there(struct gi_fop *fop, void *arg)
{
  mode_there = fop->args.valid & GI_SET_MODE ? fop->args.iatt.mode : 0;
}

static void
test_a_move_is_finished_when_nobody_has_a_lock(void **state)
{
  for (int held = 0; held < 3; held++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    bool locked = held == 2;
    char *from = s->x->children[0]->name, *to = s->x->children[1]->name;
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 2));

    size_held = held == 1;
    mode_set = mode_there = 0;
    fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moving, .arg = to});
    fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_unfinished, .arg = from});
    fake_script_always(s, 0, GI_FOP_INODELK, (struct fake_reply){.fill = see_lock, .arg = s->x});
    fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = see_mode, .arg = &locked});
    fake_script_always(s, 1, GI_FOP_SETATTR, (struct fake_reply){.fill = see_mode_there});
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(f->rsp.stat.mode, S_IFREG | 0644);
    assert_int_equal(mode_there, size_held ? 0 : S_IFREG | 0644);
    assert_int_equal(mode_set, held ? 0 : S_IFREG | GI_LINKTO_MODE);
    assert_int_equal(fake_count(s, 1, GI_FOP_FSYNC), !size_held);
    /* Held: the source counts, and what is done there is done to the copy, too. */
    assert_ptr_equal(di_inode_of(di_of(s->x), fake_inode(s, FILE_GFID))->cached, s->x->children[held ? 0 : 1]);
    fake_stack_free(s);
  }
}

static uint32_t was, on_source;

static void
say_mode_set(struct gi_fop *fop, void *arg)
{
  attr_of(&fop->rsp.post, FILE_GFID, fop->args.iatt.mode);
  attr_of(&fop->rsp.pre, FILE_GFID, was);
  on_source = fop->args.iatt.mode;
}

static void
say_what_it_became(struct gi_fop *fop, void *arg)
{
  if (was != (S_IFREG | GI_LINKTO_MODE) && on_source)
    on_source = S_IFREG | GI_LINKTO_MODE; /* by who moves it */
  attr_of(&fop->rsp.stat, FILE_GFID, on_source);
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", arg, (uint32_t)strlen(arg) + 1);
}

/* In the last moment of the move, or on what it has left. */
static void
test_a_mode_follows_when_it_has_moved(void **state)
{
  static const uint32_t before[] = {S_IFREG | 0644 | DI_MOVING, S_IFREG | GI_LINKTO_MODE};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(before); i++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fd *fd = open_file_on(s, 0);
    struct gi_fop *f = fake_fop(s, GI_FOP_FSETATTR);
    char *from = s->x->children[0]->name, *to = s->x->children[1]->name;

    was = before[i];
    on_source = 0;
    fake_script_always(s, 0, GI_FOP_FSETATTR, (struct fake_reply){.fill = say_mode_set});
    fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = say_mode_set});
    fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_what_it_became, .arg = to});
    fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file, .arg = from});
    gi_fop_set_fd(f, fd);
    f->args.valid = GI_SET_MODE;
    f->args.iatt.mode = S_IFREG | 0600;
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(fake_count(s, 1, GI_FOP_FSETATTR), 1);
    assert_int_equal(on_source, S_IFREG | GI_LINKTO_MODE);
    fake_stack_free(s);
  }
}

/* ---- a mode that was set when who moved it was killed ---- */

static uint32_t both_modes[2];
static bool both_named[2];

/* Source and target name each other, and neither shows marks; the first has kept its mode. */
static void
say_alike(struct gi_fop *fop, void *arg)
{
  unsigned child = *(const unsigned *)arg;
  const char *other = child ? "child-0" : "child-1";

  attr_of(&fop->rsp.stat, FILE_GFID, both_modes[child]);
  if (both_named[child])
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", other, (uint32_t)strlen(other) + 1);
  if (child == 0)
    gi_dict_set_str(gi_fop_rsp_xdata(fop), KEY ".mode", "644");
}

static void
keep_its_mode(struct gi_fop *fop, void *arg)
{
  both_modes[*(const unsigned *)arg] = fop->args.iatt.mode;
}

static void
drop_its_name(struct gi_fop *fop, void *arg)
{
  if (strcmp(fop->args.name, KEY ".linkto") == 0)
    both_named[*(const unsigned *)arg] = false;
}

/* What is done to the source since is not done to the target: the source is the file. */
static void
test_source_that_has_lost_its_marks_is_the_file(void **state)
{
  static const unsigned number[] = {0, 1};

  for (unsigned home = 0; home < 2; home++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(home, 2));

    both_modes[0] = S_IFREG | 0600;
    both_modes[1] = S_IFREG | 0644;
    both_named[0] = both_named[1] = true;
    for (unsigned i = 0; i < 2; i++) {
      void *arg = (void *)(uintptr_t)&number[i];

      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_alike, .arg = arg});
      fake_script_always(s, i, GI_FOP_SETATTR, (struct fake_reply){.fill = keep_its_mode, .arg = arg});
      fake_script_always(s, i, GI_FOP_REMOVEXATTR, (struct fake_reply){.fill = drop_its_name, .arg = arg});
    }
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(f->rsp.stat.mode, S_IFREG | 0600);
    assert_ptr_equal(di_inode_of(di_of(s->x), fake_inode(s, FILE_GFID))->cached, s->x->children[0]);
    assert_int_equal(both_modes[0], S_IFREG | 0600);
    assert_int_equal(both_modes[1], S_IFREG | GI_LINKTO_MODE);
    assert_false(both_named[0]);
    assert_true(both_named[1]); /* it is a linkto file */
    fake_stack_free(s);
  }
}

/* ---- extended attributes and ACLs ---- */

#define ACL "system.posix_acl_access"

static uint32_t flags_there;

static void
see_flags(struct gi_fop *fop, void *arg)
{
  flags_there = fop->args.flags;
}

static struct gi_fop *
xattr_fop(struct fake_stack *s, enum gi_fop_kind kind, const char *name)
{
  struct gi_fop *f = fake_fop(s, kind);

  gi_loc_set_inode(&f->loc, fake_inode(s, FILE_GFID));
  f->args.name = name;
  if (kind == GI_FOP_SETXATTR) {
    f->args.dict = gi_dict_new();
    gi_dict_set_bin(f->args.dict, name, "value", 5);
  }
  return f;
}

/* The target gets them when it is about to become the file. */
static void
test_attributes_that_the_target_lacks_are_no_error(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  char *to = s->x->children[1]->name;
  struct gi_fop *f = xattr_fop(s, GI_FOP_REMOVEXATTR, "user.plain");

  open_file_on(s, 0);
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moving, .arg = to});
  fake_script_always(s, 0, GI_FOP_REMOVEXATTR, (struct fake_reply){.fill = say_moving, .arg = to});
  fake_script_always(s, 0, GI_FOP_SETXATTR, (struct fake_reply){.fill = say_moving, .arg = to});
  fake_script(s, 1, GI_FOP_REMOVEXATTR, (struct fake_reply){.ret = -1, .err = ENODATA});
  fake_script(s, 1, GI_FOP_SETXATTR, (struct fake_reply){.fill = see_flags});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 1, GI_FOP_REMOVEXATTR), 1);

  f = xattr_fop(s, GI_FOP_SETXATTR, "user.plain");
  f->args.flags = XATTR_REPLACE;
  flags_there = UINT32_MAX;
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(flags_there, 0);
  fake_stack_free(s);
}

static unsigned looks_left; /* until the source is what the move has left */

static void
say_moving_for_a_while(struct gi_fop *fop, void *arg)
{
  if (looks_left == 0) {
    say_moved(fop, arg);
    return;
  }
  looks_left--;
  say_moving(fop, arg);
}

/* When the target is the file already, and the source not yet what is left of it, nobody else brings it there. */
static void
test_an_acl_follows_when_it_has_moved(void **state)
{
  for (unsigned there = 0; there < 2; there++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    char *from = s->x->children[0]->name, *to = s->x->children[1]->name;
    struct gi_fop *f = xattr_fop(s, GI_FOP_SETXATTR, ACL);

    open_file_on(s, 0);
    looks_left = 3;
    fake_script_always(s, 0, GI_FOP_SETXATTR, (struct fake_reply){.fill = say_moving, .arg = to});
    fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_moving_for_a_while, .arg = to});
    fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = there ? say_file : say_linkto, .arg = from});
    fake_submit(s, f);
    fake_wait(s, 100 * GI_NSEC_PER_MSEC);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(f->rsp.post.mode & DI_MOVING, 0);
    assert_int_equal(fake_count(s, 1, GI_FOP_SETXATTR), there);
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_writes_go_to_both_while_it_moves),
      cmocka_unit_test(test_writes_go_where_it_goes_now),
      cmocka_unit_test(test_copies_of_what_moved_are_made_by_hand),
      cmocka_unit_test(test_operations_follow_when_it_has_moved),
      cmocka_unit_test(test_target_that_the_file_has_moved_to_is_none),
      cmocka_unit_test(test_operations_follow_when_another_one_was_first),
      cmocka_unit_test(test_a_change_fails_if_it_cannot_follow),
      cmocka_unit_test(test_a_second_try_is_an_operation_of_its_own),
      cmocka_unit_test(test_operations_follow_when_it_is_gone),
      cmocka_unit_test(test_further_name_of_a_moving_file_is_made_on_both),
      cmocka_unit_test(test_further_name_follows_when_the_file_has_moved),
      cmocka_unit_test(test_a_file_that_came_back_is_opened_anew),
      cmocka_unit_test(test_sticky_file_of_a_user),
      cmocka_unit_test(test_what_is_added_to_an_attribute_is_added_to_both),
      cmocka_unit_test(test_a_lock_of_the_size_that_is_left_behind_is_told_and_given_back),
      cmocka_unit_test(test_a_move_is_finished_when_nobody_has_a_lock),
      cmocka_unit_test(test_a_mode_follows_when_it_has_moved),
      cmocka_unit_test(test_source_that_has_lost_its_marks_is_the_file),
      cmocka_unit_test(test_attributes_that_the_target_lacks_are_no_error),
      cmocka_unit_test(test_an_acl_follows_when_it_has_moved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
