/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/write-behind: what waits for data that is not written yet, and what is known
 * of the attributes meanwhile.
 */
#include "xlators/performance/write-behind/wb-rig.h"

/* ---- order ---- */

static struct gi_fop *
any_fop(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(s, kind);

  switch (gi_fop_table[kind].target) {
  case GI_TARGET_FD:
    gi_fop_set_fd(f, fd);
    break;
  case GI_TARGET_ENTRY:
    gi_fop_set_entry(f, &f->loc, fake_inode(s, DIR), "name");
    /* fall through */
  case GI_TARGET_LOC:
    gi_loc_set_inode(&f->loc, fd->inode);
    break;
  default:
    break;
  }
  f->args.size = PAGE;
  return f;
}

#define K(k) GI_KIND(GI_FOP_##k)

/* They go down while data waits: they are about something else, or their reply is corrected. */
static const uint64_t pass_by = K(STAT) | K(FSTAT) | K(LOOKUP) | K(READDIRP) | K(OPEN) | K(CREATE) | K(READLINK) | K(MKNOD) |
                                K(MKDIR) | K(RMDIR) | K(SYMLINK) | K(OPENDIR) | K(FSYNCDIR) | K(READDIR) | K(ENTRYLK) |
                                K(FENTRYLK) | K(ACCESS) | K(STATFS) | K(IPC) | K(RELEASE) | K(RELEASEDIR) | K(WRITE);

static void
test_every_kind_waits_or_says_why_not(void **state)
{
  for (unsigned k = 1; k < GI_FOP_MAX; k++) {
    struct fake_stack *s;
    struct gi_fd *fd;
    struct gi_fop *f;

    if (!gi_fop_table[k].name || k == GI_FOP_WRITE)
      continue;
    s = new_stack("option flush-behind off\n");
    fd = opened(s, FILE_A, 0);
    fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
    is_early(put(s, fd, 0, PAGE + 1, 'a'));
    f = any_fop(s, k, fd);
    if (k == GI_FOP_READ) /* or it is answered from what is here */
      f->args.size = 2 * PAGE;
    fake_submit(s, f);
    if (!!(pass_by & GI_KIND(k)) != f->answered)
      fail_msg("%s %s", gi_fop_name(k), f->answered ? "did not wait" : "waits");
    fake_release(s, 0, GI_FOP_WRITE, PAGE + 1, 0);
    assert_true(f->answered);
    assert_int_equal(fake_count(s, 0, k), k != GI_FOP_STAT && k != GI_FOP_FSTAT);
    fake_stack_free(s);
  }
}

static void
test_open_that_empties_waits(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f = on_fd(s, GI_FOP_OPEN, fd);

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  f->args.flags = O_TRUNC | O_RDWR;
  fake_submit(s, f);
  assert_false(f->answered);
  release_writes(s);
  assert_true(f->answered);
}

/* The content of a small file may come with its open, or with its name. Of the latter GI_CONTENT_KEY is a guess: see below. */
static void
test_who_asks_for_the_content_waits(void **state)
{
  static const char *const keys[] = {GI_CONTENT_KEY, "glusterfs.content"};
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f[6];

  hold(s, GI_FOP_WRITE);
  is_early(put(s, fd, 0, PAGE, 'a'));
  for (unsigned i = 0; i < 6; i++) {
    if (i == 2)
      continue;
    f[i] = i < 2 ? on_fd(s, GI_FOP_OPEN, fd) : i < 4 ? fake_fop(s, GI_FOP_LOOKUP) : on_fd(s, GI_FOP_READDIRP, fake_fd(s, DIR));
    if (i == 3)
      gi_fop_set_entry(f[i], &f[i]->loc, fake_inode(s, DIR), "name");
    gi_dict_set_uint(gi_fop_xdata(f[i]), keys[i % 2], 65536);
    fake_submit(s, f[i]);
    assert_false(f[i]->answered);
  }
  release_writes(s);
  for (unsigned i = 0; i < 6; i++)
    assert_true(i == 2 || f[i]->answered);
}

static void
found_with_content(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = (struct gi_iatt){.flags = GI_IATT_BASIC, .mode = S_IFREG | 0644, .gfid = ((struct gi_inode *)arg)->gfid};
  gi_dict_set_iatt(gi_fop_rsp_xdata(fop), GI_CONTENT_STAT_KEY, &fop->rsp.stat);
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), GI_CONTENT_KEY, "old", 3);
}

static bool
found_content(struct fake_stack *s, struct gi_inode *found)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);

  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = found_with_content, .arg = found});
  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIR), "name");
  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, 65536);
  fake_submit(s, f);
  assert_true(f->answered);
  return gi_dict_get(f->rsp.xdata, GI_CONTENT_KEY) && gi_dict_get(f->rsp.xdata, GI_CONTENT_STAT_KEY);
}

/* Nobody waits for it; where it is of a file that lacks something on the bricks it does not come. */
static void
test_content_of_a_lookup_is_not_waited_for(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);

  assert_true(found_content(s, fd->inode));
  hold(s, GI_FOP_WRITE);
  is_early(put(s, fd, 0, PAGE, 'a'));
  assert_false(found_content(s, fd->inode));
  assert_true(found_content(s, fake_inode(s, FILE_B)));
  release_writes(s);
  assert_true(found_content(s, fd->inode));
}

/* Both files of those that name two. */
static void
test_the_second_file_counts(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *a = opened(s, FILE_A, 0), *b = opened(s, FILE_B, 0);
  struct gi_fop *copy = on_fd(s, GI_FOP_COPY_FILE_RANGE, a), *ren = fake_fop(s, GI_FOP_RENAME);

  hold(s, GI_FOP_WRITE);
  put(s, b, 0, PAGE, 'b');
  copy->fd2 = gi_fd_ref(b);
  copy->args.size = PAGE;
  fake_submit(s, copy);
  gi_fop_set_entry(ren, &ren->loc, fake_inode(s, DIR), "from");
  gi_fop_set_entry(ren, &ren->loc2, fake_inode(s, DIR), "to");
  gi_loc_set_inode(&ren->loc, a->inode);
  gi_loc_set_inode(&ren->loc2, b->inode);
  fake_submit(s, ren);
  assert_false(copy->answered);
  assert_false(ren->answered);
  release_writes(s);
  assert_true(copy->answered);
  assert_true(ren->answered);
}

/* Nobody knows which file gets the name. */
static void
test_rename_of_an_unknown_file_waits_for_all(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *a = opened(s, FILE_A, 0);
  struct gi_fop *ren = fake_fop(s, GI_FOP_RENAME);

  hold(s, GI_FOP_WRITE);
  put(s, a, 0, PAGE, 'a');
  gi_fop_set_entry(ren, &ren->loc, fake_inode(s, DIR), "from");
  gi_fop_set_entry(ren, &ren->loc2, fake_inode(s, DIR), "to");
  fake_submit(s, ren);
  assert_false(ren->answered);
  release_writes(s);
  assert_true(ren->answered);
}

static void
test_reads_wait_for_their_range_or_are_answered_from_it(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);
  struct gi_fop *f, *part;
  char c;

  hold(s, GI_FOP_WRITE);
  put(s, fd, PAGE, PAGE, 'a');
  f = get(s, fd, 2 * PAGE, PAGE);
  assert_true(f->answered);
  assert_int_equal(fake_count(s, 0, GI_FOP_READ), 1);
  f = get(s, fd, PAGE + 100, 100);
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 100);
  gi_payload_read(&f->rsp.payload, 99, &c, 1);
  assert_int_equal(c, 'a');
  assert_int_equal(fake_count(s, 0, GI_FOP_READ), 1);
  part = get(s, fd, 0, PAGE + 1);
  assert_false(part->answered);
  release_writes(s);
  assert_true(part->answered);
}

/* Newer bytes over older ones: the answer would have to be put together. */
static void
test_a_read_over_two_writes_waits_for_both(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, 100, 100, 'b');
  f = get(s, fd, 50, 100);
  assert_false(f->answered);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  assert_false(f->answered);
  fake_release(s, 0, GI_FOP_WRITE, 100, 0);
  assert_true(f->answered);
}

/* A write beyond the end makes zeroes of what lies between. */
static void
test_a_read_of_a_new_hole_waits(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 4 * PAGE, PAGE, 'a');
  f = get(s, fd, PAGE, PAGE);
  assert_false(f->answered);
  assert_true(get(s, fd, 0, 100)->answered);
  release_writes(s);
  assert_true(f->answered);
}

static void
say_end(struct gi_fop *fop, void *arg)
{
  fop->rsp.err = ENOENT; /* as a brick says that the file ends there */
}

/* Who keeps what is read would take the file for ended where the bricks have its end. */
static void
test_a_read_up_to_the_old_end_does_not_end_the_file(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_fop *f, *late;

  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.ret = 100, .fill = say_end});
  f = get(s, fd, 0, 100);
  assert_int_equal(f->rsp.err, ENOENT);
  hold(s, GI_FOP_WRITE);
  is_early(put(s, fd, 4 * PAGE, PAGE, 'a'));
  f = get(s, fd, 0, 100);
  assert_int_equal(f->rsp.ret, 100);
  assert_int_equal(f->rsp.err, 0);
  fake_script_clear(s); /* and one that was asked before it was written, and comes after */
  hold(s, GI_FOP_WRITE);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.ret = 100, .hold = true});
  late = get(s, fd, 0, 100);
  release_writes(s);
  fake_release(s, 0, GI_FOP_READ, 100, ENOENT);
  assert_true(late->answered);
  assert_int_equal(late->rsp.err, 0);
}

/* What was written after an operation came does not hold it up. */
static void
test_only_earlier_writes_are_waited_for(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  f = sync_it(s, GI_FOP_FSYNC, fd);
  is_early(put(s, fd, 8 * PAGE, PAGE, 'b'));
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  assert_true(f->answered);
  assert_true(metric(s, "dirty") > 0);
  release_writes(s);
}

static void
test_truncation_is_ordered_on_both_sides(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);
  struct gi_fop *cut = on_fd(s, GI_FOP_FTRUNCATE, fd), *after;
  struct gi_iatt a = attributes(FILE_A, PAGE);

  hold(s, GI_FOP_WRITE);
  hold(s, GI_FOP_FTRUNCATE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, 4 * PAGE, PAGE, 'b');
  cut->args.offset = PAGE;
  fake_submit(s, cut);
  assert_int_equal(fake_count(s, 0, GI_FOP_FTRUNCATE), 0);
  assert_int_equal(fake_held(s, 0), 2);
  after = put(s, fd, 2 * PAGE, 512, 'c');
  assert_false(after->answered);
  fake_release_fop(s, fake_held_fop(s, 0, 1), PAGE, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_FTRUNCATE), 1); /* the first page is none of its business */
  assert_false(after->answered);
  fake_held_fop(s, 0, 1)->rsp.post = a;
  fake_release(s, 0, GI_FOP_FTRUNCATE, 0, 0);
  assert_true(cut->answered);
  is_early(after);
  assert_int_equal(after->rsp.pre.size, PAGE);
  assert_int_equal(after->rsp.post.size, 2 * PAGE + 512);
  release_writes(s);
  assert_int_equal(told.changes, 3);
}

/* ---- locks ---- */

/* What a lock protects need not lie in the file that is locked. */
static void
test_an_unlock_waits_for_all_files(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *a = opened(s, FILE_A, 0), *b = opened(s, FILE_B, 0);
  struct gi_fop *f, *close;

  assert_true(lock(s, a, GI_LK_WRITE)->answered);
  stat_of(s, b, 0);
  hold(s, GI_FOP_WRITE);
  is_early(put(s, b, 0, PAGE, 'b'));
  f = lock(s, a, GI_LK_UNLOCK);
  close = sync_it(s, GI_FOP_FLUSH, a); /* lets go, too */
  assert_false(f->answered);
  assert_false(close->answered);
  is_early(put(s, b, 2 * PAGE, PAGE, 'b'));
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  assert_true(f->answered);
  assert_true(close->answered);
  assert_int_equal(fake_count(s, 0, GI_FOP_FLUSH), 1);
  release_writes(s);
}

static void
test_a_granted_lock_ends_what_is_known(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *a = opened(s, FILE_A, 0), *b = opened(s, FILE_B, 0);

  lock(s, a, GI_LK_WRITE);
  not_early(s, write_fop(s, b, 0, 512, 'b'));
}

static void
test_a_cancelled_lock_goes_without_waiting(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  f = lock(s, fd, GI_LK_WRITE);
  assert_false(f->answered);
  gi_fop_cancel(f);
  assert_true(f->answered);
  assert_int_equal(f->rsp.err, EINTR);
  release_writes(s);
  assert_int_equal(fake_count(s, 0, GI_FOP_LK), 0);
}

/* ---- attributes ---- */

static void
test_stat_shows_what_is_not_written_yet(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_fop *f, *w;
  struct gi_iatt old = attributes(FILE_A, 100);

  hold(s, GI_FOP_WRITE);
  w = put(s, fd, 0, PAGE, 'a');
  f = on_fd(s, GI_FOP_FSTAT, fd);
  fake_submit(s, f);
  assert_int_equal(f->rsp.stat.size, PAGE);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSTAT), 0);
  fake_wait(s, 60 * GI_NSEC_PER_MSEC); /* the bricks are asked, for others may have changed it */
  f = stat_of(s, fd, 100);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSTAT), 1);
  assert_int_equal(f->rsp.stat.size, PAGE);
  assert_int_equal(f->rsp.stat.mtime.sec, w->caller.time.sec);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_stat, .arg = &old});
  f = fake_fop(s, GI_FOP_LOOKUP);
  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIR), "name");
  fake_submit(s, f);
  assert_int_equal(f->rsp.stat.size, PAGE);
  release_writes(s);
}

/* A reply that was on its way when the write ended may be older than it. */
static void
test_an_old_reply_does_not_shrink_the_file(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_fop *f = on_fd(s, GI_FOP_FSTAT, fd);
  struct gi_iatt old = attributes(FILE_A, 100);

  fake_wait(s, 60 * GI_NSEC_PER_MSEC);
  hold(s, GI_FOP_WRITE);
  hold(s, GI_FOP_FSTAT);
  put(s, fd, 0, PAGE, 'a');
  fake_submit(s, f);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  fake_held_fop(s, 0, 0)->rsp.stat = old;
  fake_release(s, 0, GI_FOP_FSTAT, 0, 0);
  assert_int_equal(f->rsp.stat.size, PAGE);
  f = put(s, fd, 0, 512, 'a');
  is_early(f);
  assert_int_equal(f->rsp.post.size, PAGE);
  release_writes(s);
}

/* Nor one that was on its way while a brick came or went, and what else we did to the file then tells nothing of its end. */
static void
test_an_old_reply_does_not_shrink_a_file_that_is_not_known(void **state)
{
  struct fake_stack *s = *state;

  for (int synced = 0; synced < 2; synced++) {
    struct gi_fd *fd = opened(s, synced ? FILE_A : FILE_B, 100);
    struct gi_fop *f = on_fd(s, GI_FOP_FSTAT, fd), *g;
    struct gi_iatt old = attributes(fd->inode->gfid.b[0], 100);

    fake_wait(s, 60 * GI_NSEC_PER_MSEC);
    hold(s, GI_FOP_WRITE);
    hold(s, GI_FOP_FSTAT);
    hold(s, GI_FOP_FSETATTR);
    is_early(put(s, fd, 4 * PAGE, PAGE, 'a'));
    fake_submit(s, f);
    g = synced ? write_fop(s, fd, 0, 50, 'b') : on_fd(s, GI_FOP_FSETATTR, fd);
    g->args.flags = synced ? O_SYNC : 0;
    fake_submit(s, g);
    if (synced)
      fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
    fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
    if (!synced)
      fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
    fake_release(s, 0, g->kind, synced ? 50 : 0, 0);
    assert_true(g->answered);
    fake_held_fop(s, 0, 0)->rsp.stat = old;
    fake_release(s, 0, GI_FOP_FSTAT, 0, 0);
    assert_int_equal(f->rsp.stat.size, 5 * PAGE);
    fake_script_clear(s);
  }
}

/* The kernel does not say what it was that lost its name. */
static void
test_a_stat_after_a_name_is_gone_asks_the_bricks(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_iatt gone = attributes(FILE_A, 100);
  struct gi_fop *f = fake_fop(s, GI_FOP_UNLINK);

  gone.nlink = 0;
  hold(s, GI_FOP_WRITE);
  is_early(put(s, fd, 0, 100, 'a'));
  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIR), "name");
  fake_submit(s, f);
  assert_true(f->answered);
  is_early(put(s, fd, 200, 100, 'b'));
  fake_held_fop(s, 0, 0)->rsp.post = attributes(FILE_A, 100); /* from before */
  fake_release(s, 0, GI_FOP_WRITE, 100, 0);
  for (int i = 0; i < 2; i++) {
    fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &gone});
    f = on_fd(s, GI_FOP_FSTAT, fd);
    fake_submit(s, f);
    assert_int_equal(f->rsp.stat.nlink, 0);
    assert_int_equal(f->rsp.stat.size, 300);
  }
  release_writes(s);
}

/* Another client has made it longer while something of ours is under way. */
static void
test_a_reply_grows_the_file(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  fake_wait(s, 60 * GI_NSEC_PER_MSEC);
  assert_int_equal(stat_of(s, fd, 4 * PAGE)->rsp.stat.size, 4 * PAGE);
  f = put(s, fd, 0, 512, 'a');
  is_early(f);
  assert_int_equal(f->rsp.post.size, 4 * PAGE);
  release_writes(s);
}

/* Of two messages under way the reply of the first is the last to come. */
static void
test_replies_in_another_order_do_not_shrink_the_file(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, 4 * PAGE, PAGE, 'b');
  fake_wait(s, OVERDUE);
  put(s, fd, 8 * PAGE, PAGE, 'c');
  assert_int_equal(fake_held(s, 0), 2);
  fake_held_fop(s, 0, 0)->rsp.post = attributes(FILE_A, PAGE);
  fake_held_fop(s, 0, 1)->rsp.post = attributes(FILE_A, 5 * PAGE);
  fake_release_fop(s, fake_held_fop(s, 0, 1), PAGE, 0);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  fake_wait(s, GATHERED);
  fake_held_fop(s, 0, 0)->rsp.post = attributes(FILE_A, 9 * PAGE);
  release_writes(s);
  f = put(s, fd, 0, 512, 'a');
  assert_int_equal(f->rsp.post.size, 9 * PAGE);
  release_writes(s);
}

/* A write that was not answered early has moved the end, and does not say where to. */
static void
test_a_reply_that_tells_nothing_ends_what_is_known(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f = write_fop(s, fd, 4 * PAGE, PAGE, 'a');

  f->args.flags = O_SYNC;
  fake_submit(s, f);
  assert_true(f->answered);
  not_early(s, write_fop(s, fd, 0, 512, 'b'));
}

/* Nor does it end the file before what was, and is not written yet. */
static void
test_a_write_that_waits_tells_the_end_of_all(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, PAGE);
  struct gi_fop *f = write_fop(s, fd, 0, PAGE, 'a');

  hold(s, GI_FOP_WRITE);
  is_early(put(s, fd, 4 * PAGE, PAGE, 'b'));
  f->args.flags = O_SYNC;
  fake_submit(s, f);
  for (unsigned i = 0; !f->answered && i < 3 && fake_held(s, 0); i++) {
    struct gi_fop *held = fake_held_fop(s, 0, fake_held(s, 0) - 1); /* the later one first */

    held->rsp.post = attributes(FILE_A, held->args.offset ? 5 * PAGE : PAGE);
    held->rsp.pre = attributes(FILE_A, PAGE);
    fake_release_fop(s, held, PAGE, 0);
  }
  assert_true(f->answered);
  assert_int_equal(f->rsp.pre.size, 5 * PAGE);
  assert_int_equal(f->rsp.post.size, 5 * PAGE);
  release_writes(s);
}

static void
fill_entries(struct gi_fop *fop, void *arg)
{
  struct gi_dirent e = {.name = "name", .name_len = 4, .stat = attributes(FILE_A, 100)};

  gi_dirents_add(&fop->rsp.entries, &e, fop);
  e.stat = attributes(FILE_B, 100);
  gi_dirents_add(&fop->rsp.entries, &e, fop);
  fop->rsp.ret = 2;
}

static void
test_listings_show_what_is_not_written_yet(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100), *dir = fake_fd(s, DIR);
  struct gi_fop *f = on_fd(s, GI_FOP_READDIRP, dir);

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries});
  fake_submit(s, f);
  assert_int_equal(f->rsp.entries.entry[0].stat.size, PAGE);
  assert_int_equal(f->rsp.entries.entry[1].stat.size, 100);
  release_writes(s);
}

static void
test_others_changes_end_what_is_known(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_invalidation inv = {.gfid = fd->inode->gfid};

  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0); /* the spy has them */
  not_early(s, write_fop(s, fd, 0, 512, 'a'));
  stat_of(s, fd, 0);
  fake_event(s, 0, GI_EVENT_CHILD_DOWN, NULL);
  not_early(s, write_fop(s, fd, 0, 512, 'a'));
  stat_of(s, fd, 0);
  fake_event(s, 0, GI_EVENT_PROMISE, &(struct gi_promised){.seconds = 60});
  not_early(s, write_fop(s, fd, 0, 512, 'a'));
  stat_of(s, fd, 0);
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC);
  not_early(s, write_fop(s, fd, 0, 512, 'a'));
}

static void
fill_created(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = attributes(FILE_A, 0);
  gi_fd_bind(fop->fd, &fop->rsp.stat.gfid);
}

static struct gi_fd *
made(struct fake_stack *s)
{
  struct gi_fd *fd = gi_fd_new(s->graph, NULL, O_RDWR, 100);
  struct gi_fop *f = fake_fop(s, GI_FOP_CREATE);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIR), "name");
  f->fd = gi_fd_ref(fd);
  fake_script(s, 0, GI_FOP_CREATE, (struct fake_reply){.fill = fill_created});
  fake_submit(s, f);
  return fd;
}

static void
test_a_new_file_is_known(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = made(s);

  is_early(put(s, fd, 0, 512, 'a'));
  gi_fd_unref(&fd);
}

/* Who makes a file writes on and closes it: that is one message. */
static void
test_the_first_bytes_of_a_new_file_gather(void **state)
{
  for (unsigned closes = 0; closes < 2; closes++) {
    struct fake_stack *s = new_stack(NULL);
    struct gi_fd *fd = made(s);

    put(s, fd, 0, 512, 'a');
    put(s, fd, 512, 512, 'b');
    assert_int_equal(writes(s), 0);
    if (closes)
      assert_int_equal(sync_it(s, GI_FOP_FLUSH, fd)->rsp.ret, 0);
    else
      fake_wait(s, GATHERED);
    assert_int_equal(writes(s), 1);
    fake_wait(s, GATHERED);
    put(s, fd, 1024, 512, 'c'); /* it is one like others now */
    assert_int_equal(writes(s), 2);
    gi_fd_unref(&fd);
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kind_waits_or_says_why_not),
      TEST(test_open_that_empties_waits),
      TEST(test_who_asks_for_the_content_waits),
      TEST(test_content_of_a_lookup_is_not_waited_for),
      TEST(test_the_second_file_counts),
      TEST(test_rename_of_an_unknown_file_waits_for_all),
      TEST(test_reads_wait_for_their_range_or_are_answered_from_it),
      TEST(test_a_read_over_two_writes_waits_for_both),
      TEST(test_a_read_of_a_new_hole_waits),
      TEST(test_a_read_up_to_the_old_end_does_not_end_the_file),
      TEST(test_only_earlier_writes_are_waited_for),
      TEST(test_truncation_is_ordered_on_both_sides),
      TEST(test_an_unlock_waits_for_all_files),
      TEST(test_a_granted_lock_ends_what_is_known),
      TEST(test_a_cancelled_lock_goes_without_waiting),
      TEST(test_stat_shows_what_is_not_written_yet),
      TEST(test_an_old_reply_does_not_shrink_the_file),
      TEST(test_a_stat_after_a_name_is_gone_asks_the_bricks),
      TEST(test_an_old_reply_does_not_shrink_a_file_that_is_not_known),
      TEST(test_a_reply_grows_the_file),
      TEST(test_replies_in_another_order_do_not_shrink_the_file),
      TEST(test_a_reply_that_tells_nothing_ends_what_is_known),
      TEST(test_a_write_that_waits_tells_the_end_of_all),
      TEST(test_listings_show_what_is_not_written_yet),
      TEST(test_others_changes_end_what_is_known),
      TEST(test_a_new_file_is_known),
      cmocka_unit_test(test_the_first_bytes_of_a_new_file_gather),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
