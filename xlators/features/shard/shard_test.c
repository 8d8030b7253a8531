/* SPDX-License-Identifier: Apache-2.0
 *
 * features/shard over a child that knows one file, its blocks and the directories: what is sent for each kind, and what is answered.
 */
#include "xlators/features/shard/shard-fixture.h"

static struct gi_fop *
data_fop(struct brick *b, enum gi_fop_kind kind, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = fake_fop(b->s, kind);
  gi_fop_set_fd(f, fake_fd(b->s, BASE));
  f->args.offset = offset;
  f->args.size = size;
  fake_submit(b->s, f);
  return f;
}

static void
test_plain_files_pass(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.plain = true;
  b.len[0] = 10;
  data_fop(&b, GI_FOP_READ, 0, 10);
  fake_forget_seen(b.s);
  struct gi_fop *f = data_fop(&b, GI_FOP_READ, 0, 10);
  assert_int_equal(f->rsp.ret, 10);
  assert_int_equal(fake_count(b.s, 0, GI_FOP_MAX), 1);
  brick_end(&b);
}

static void
test_write_makes_blocks(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  struct gi_fop *f = write_at(&b, BLOCK - 1000, 3000, O_WRONLY);
  assert_int_equal(f->rsp.ret, 3000);
  assert_true(b.dir && b.there[1] && !b.there[2]);
  assert_int_equal(b.len[0], BLOCK);
  assert_int_equal(b.len[1], 2000);
  assert_int_equal(b.size, BLOCK + 2000);
  assert_int_equal(b.blocks, BLOCK / 512 + 3);
  assert_int_equal(f->rsp.pre.size, 0);
  assert_int_equal(f->rsp.post.size, BLOCK + 2000);
  assert_int_equal(f->rsp.post.blocks, b.blocks);
  /* in its middle: no new size, no new lock, one operation */
  unsigned locks = b.locks;
  fake_forget_seen(b.s);
  f = write_at(&b, BLOCK + 10, 10, O_WRONLY);
  assert_int_equal(f->rsp.ret, 10);
  assert_int_equal(fake_count(b.s, 0, GI_FOP_MAX), 1);
  assert_int_equal(b.locks, locks);
  assert_int_equal(f->rsp.pre.size, f->rsp.post.size);
  brick_end(&b);
}

/* All make the directory of blocks with one gfid, so those below may take what another has made for an attempt of ours that failed. */
static void
test_directory_that_another_makes(void **state)
{
  static const int answers[] = {EEXIST, ENOTCONN};
  for (size_t i = 0; i < GI_ARRAY_LEN(answers); i++) {
    struct brick b = {0};
    brick_start(&b);
    b.mkdir_err = answers[i];
    assert_int_equal(write_at(&b, BLOCK, 10, O_WRONLY)->rsp.ret, 10);
    brick_end(&b);
  }
}

static void
test_read_fills_holes(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.dir = b.there[2] = true;
  b.len[0] = 100;
  b.len[2] = 10;
  b.size = 2 * BLOCK + 20;
  struct gi_fop *f = data_fop(&b, GI_FOP_READ, 2 * BLOCK - 5, 100);
  char got[25];
  assert_int_equal(f->rsp.ret, 25);
  assert_int_equal(f->rsp.err, ENOENT); /* the end */
  assert_int_equal(gi_payload_read(&f->rsp.payload, 0, got, 25), 25);
  assert_memory_equal(got, "\0\0\0\0\0CCCCCCCCCC\0\0\0\0\0\0\0\0\0\0", 25);
  assert_int_equal(f->rsp.stat.size, b.size);
  f = data_fop(&b, GI_FOP_READ, b.size, 10);
  assert_int_equal(f->rsp.ret, 0);
  brick_end(&b);
}

static struct gi_fop *
open_file(struct brick *b)
{
  struct gi_fop *f = fake_fop(b->s, GI_FOP_OPEN);
  gi_loc_set_inode(&f->loc, fake_inode(b->s, BASE));
  gi_fop_set_fd(f, fake_fd(b->s, BASE));
  fake_submit(b->s, f);
  return f;
}

/* Of what is there already. */
static struct gi_fop *
create_file(struct brick *b)
{
  struct gi_fop *f = fake_fop(b->s, GI_FOP_CREATE);
  struct gi_inode *root = gi_inode_get(b->s->graph, &gi_gfid_root);
  gi_fop_set_entry(f, &f->loc, root, "file");
  gi_inode_unref(&root);
  gi_fop_set_fd(f, fake_fd(b->s, BASE));
  fake_script(b->s, 0, GI_FOP_CREATE, (struct fake_reply){.fill = on_lookup, .arg = b});
  fake_submit(b->s, f);
  return f;
}

/* What others have written before the file was looked up or opened is to be read: which copy of a block has it is found by looking that up too. */
static void
test_blocks_are_looked_up_with_their_file(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.dir = b.there[1] = true;
  b.len[0] = b.len[1] = BLOCK;
  b.size = 2 * BLOCK;
  data_fop(&b, GI_FOP_READ, BLOCK, 10);
  fake_forget_seen(b.s);
  data_fop(&b, GI_FOP_READ, BLOCK, 10);
  assert_int_equal(fake_count(b.s, 0, GI_FOP_LOOKUP), 0);
  struct gi_fop *f = fake_fop(b.s, GI_FOP_LOOKUP);
  gi_loc_set_inode(&f->loc, fake_inode(b.s, BASE));
  fake_submit(b.s, f);
  for (unsigned i = 0; i < 2; i++)
    assert_int_equal(data_fop(&b, GI_FOP_READ, BLOCK, 10)->rsp.ret, 10);
  assert_int_equal(fake_count(b.s, 0, GI_FOP_LOOKUP), 2); /* of the file, and of the block once */
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(i == 0 ? open_file(&b)->rsp.ret : create_file(&b)->rsp.ret, 0);
    fake_forget_seen(b.s);
    for (unsigned k = 0; k < 2; k++)
      assert_int_equal(data_fop(&b, GI_FOP_READ, BLOCK, 10)->rsp.ret, 10);
    assert_int_equal(fake_count(b.s, 0, GI_FOP_LOOKUP), 1);
  }
  brick_end(&b);
}

static void
test_append_goes_to_the_end(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.dir = b.there[1] = true;
  b.len[0] = BLOCK;
  b.len[1] = 100;
  b.size = BLOCK + 100;
  struct gi_fop *f = write_at(&b, 7, 50, O_WRONLY | O_APPEND);
  assert_int_equal(f->rsp.ret, 50);
  assert_int_equal(b.len[1], 150);
  assert_int_equal(b.size, BLOCK + 150);
  assert_int_equal(f->rsp.pre.size, BLOCK + 100);
  brick_end(&b);
}

/* The size is asked of one copy, and others may have another one. */
static void
test_a_size_is_told_with_what_is_added(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  assert_int_equal(write_at(&b, 0, 100, O_WRONLY)->rsp.ret, 100);
  assert_int_equal(b.most, 1); /* of all copies: one may have lost the last change with its power */
  assert_int_equal(b.sum, 100);
  b.size = 300;
  assert_int_equal(write_at(&b, 100, 50, O_WRONLY)->rsp.ret, 50);
  assert_int_equal(b.sum, 150);
  assert_int_equal(b.size, 350);
  assert_int_equal(write_at(&b, 300, 100, O_WRONLY)->rsp.ret, 100); /* that they have is known now */
  assert_int_equal(b.sum, 400);
  struct gi_fop *f = data_fop(&b, GI_FOP_FTRUNCATE, 10, 0);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(b.sum, 10);
  brick_end(&b);
}

static void
test_truncate(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.dir = b.there[1] = b.there[2] = b.there[4] = true;
  b.len[0] = b.len[1] = b.len[2] = BLOCK;
  b.len[4] = 10;
  b.size = 4 * BLOCK + 10;
  struct gi_fop *f = data_fop(&b, GI_FOP_FTRUNCATE, BLOCK + 5, 0);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(b.size, BLOCK + 5);
  assert_true(b.there[1] && !b.there[2] && !b.there[4]);
  assert_int_equal(b.len[1], 5);
  assert_int_equal(f->rsp.pre.size, 4 * BLOCK + 10);
  assert_int_equal(f->rsp.post.size, BLOCK + 5);
  f = data_fop(&b, GI_FOP_FTRUNCATE, 3, 0); /* again, at once: the size is the new one */
  assert_int_equal(b.size, 3);
  assert_int_equal(b.len[0], 3);
  assert_false(b.there[1]);
  f = data_fop(&b, GI_FOP_FTRUNCATE, 2 * BLOCK, 0);
  assert_int_equal(b.size, 2 * BLOCK);
  assert_int_equal(f->rsp.post.size, 2 * BLOCK);
  brick_end(&b);
}

/* What a write left there that failed, or whose client was stopped, is not to be seen when the end moves over it. */
static void
test_what_lies_behind_the_end_goes(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.dir = b.there[1] = b.there[2] = b.there[3] = true;
  b.size = 100;
  b.len[0] = b.len[1] = b.len[2] = b.len[3] = 5000;
  assert_int_equal(write_at(&b, 2 * BLOCK + 10, 10, O_WRONLY)->rsp.ret, 10);
  assert_int_equal(b.len[0], 100);
  assert_false(b.there[1]);
  assert_int_equal(b.len[2], 20);
  assert_int_equal(b.size, 2 * BLOCK + 20);
  b.len[2] = 5000;
  assert_int_equal(data_fop(&b, GI_FOP_FTRUNCATE, 4 * BLOCK, 0)->rsp.ret, 0);
  assert_int_equal(b.len[2], 20);
  assert_false(b.there[3]);
  assert_int_equal(b.size, 4 * BLOCK);
  /* where there is no gap nobody looks */
  b.size = 100;
  gi_notify(b.s->x, GI_EVENT_CHILD_CHANGED, NULL);
  fake_settle(b.s);
  fake_forget_seen(b.s);
  assert_int_equal(write_at(&b, 100, 10, O_WRONLY)->rsp.ret, 10);
  assert_int_equal(fake_count(b.s, 0, GI_FOP_FTRUNCATE) + fake_count(b.s, 0, GI_FOP_UNLINK), 0);
  brick_end(&b);
}

/* Writes that follow each other are under way together; one that leaves a gap behind them waits for them. */
static void
test_writes_in_a_row_leave_no_gap(void **state)
{
  struct brick b = {0};
  brick_start_but(&b, GI_FOP_WRITE);
  write_at(&b, 0, 10, O_WRONLY); /* takes the lock */
  for (unsigned i = 0; i < 3; i++)
    fake_script(b.s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  write_at(&b, 10, 10, O_WRONLY);
  write_at(&b, 20, 10, O_WRONLY);
  struct gi_fop *gap = write_at(&b, 50, 10, O_WRONLY);
  assert_int_equal(fake_held(b.s, 0), 2);
  assert_false(gap->answered);
  while (fake_held(b.s, 0))
    fake_release(b.s, 0, GI_FOP_WRITE, 10, 0);
  assert_int_equal(gap->rsp.ret, 10);
  assert_int_equal(b.size, 60);
  brick_end(&b);
}

/* Of a large file that is nearly empty the blocks are found by a listing. */
static void
test_holes_are_not_walked_over(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.dir = b.there[2] = b.there[5] = true;
  b.len[2] = b.len[5] = BLOCK;
  b.size = 100000 * BLOCK;
  struct gi_fop *f = data_fop(&b, GI_FOP_DISCARD, BLOCK, 90000 * BLOCK);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(b.s, 0, GI_FOP_DISCARD), 2);
  f = data_fop(&b, GI_FOP_FTRUNCATE, 0, 0);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(b.s, 0, GI_FOP_UNLINK), 2);
  assert_true(fake_count(b.s, 0, GI_FOP_MAX) < 40);
  assert_int_equal(b.size, 0);
  assert_false(b.there[2] || b.there[5]);
  brick_end(&b);
}

/* But not where the directory has so many blocks of other files that trying all of this one is less. */
static void
test_a_listing_that_is_too_long_is_left(void **state)
{
  static const unsigned others[] = {10, 5000};
  for (unsigned i = 0; i < 2; i++) {
    struct brick b = {0};
    brick_start(&b);
    b.dir = b.there[2] = b.there[5] = true;
    b.others = others[i];
    b.size = 321 * BLOCK;
    assert_int_equal(data_fop(&b, GI_FOP_FTRUNCATE, 0, 0)->rsp.ret, 0);
    assert_false(b.there[2] || b.there[5]);
    assert_true(fake_count(b.s, 0, GI_FOP_READDIR) <= 20);
    assert_int_equal(fake_count(b.s, 0, GI_FOP_UNLINK), i == 0 ? 2 : 320);
    brick_end(&b);
  }
}

static void
test_a_replaced_block_is_found_again(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  write_at(&b, BLOCK, 10, O_WRONLY);
  b.there[1] = false; /* another client cut the file, and wrote it again */
  struct gi_fop *f = write_at(&b, BLOCK, 10, O_WRONLY);
  assert_int_equal(f->rsp.ret, 10);
  assert_true(b.there[1]);
  brick_end(&b);
}

static void
test_attributes_are_those_of_the_whole(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.len[0] = 10;
  b.size = 3 * BLOCK;
  b.blocks = 77;
  struct gi_fop *f = fake_fop(b.s, GI_FOP_LOOKUP);
  gi_fop_set_entry(f, &f->loc, fake_inode(b.s, 9), "file");
  fake_submit(b.s, f);
  assert_int_equal(f->rsp.stat.size, 3 * BLOCK);
  assert_int_equal(f->rsp.stat.blocks, 77);
  assert_null(gi_dict_get(f->rsp.xdata, SIZE_KEY));
  f = fake_fop(b.s, GI_FOP_STAT);
  gi_loc_set_inode(&f->loc, fake_inode(b.s, BASE));
  fake_submit(b.s, f);
  assert_int_equal(f->rsp.stat.size, 3 * BLOCK);
  f = fake_fop(b.s, GI_FOP_SETATTR);
  gi_loc_set_inode(&f->loc, fake_inode(b.s, BASE));
  fake_submit(b.s, f);
  assert_int_equal(f->rsp.pre.size, 3 * BLOCK);
  assert_int_equal(f->rsp.post.size, 3 * BLOCK);
  brick_end(&b);
}

static void
test_times_follow_with_the_lock(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  struct gi_fop *f = write_at(&b, BLOCK, 10, O_WRONLY);
  assert_int_equal(f->rsp.post.mtime.sec, 5000);
  assert_int_equal(b.mtime, 100); /* nobody looks */
  struct gi_contention c = {.gfid = gfid(BASE), .domain = b.s->x->name};
  fake_event(b.s, 0, GI_EVENT_CONTENTION, &c);
  fake_settle(b.s);
  assert_int_equal(b.mtime, 5000);
  unsigned locks = b.locks;
  write_at(&b, 10, 10, O_WRONLY);
  assert_int_equal(b.locks, locks + 1);
  brick_end(&b);
}

static unsigned astray; /* so often */

static void
on_fstat_astray(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  struct gi_contention c = {.gfid = gfid(BASE), .domain = b->s->x->name, .moved = true};

  if (astray > 0) {
    astray--;
    fake_event(b->s, 0, GI_EVENT_CONTENTION, &c);
  }
  on_fstat(fop, arg);
}

/* The file was moved to another set while the lock was waited for: what it keeps away from is there. */
static void
test_a_lock_is_taken_where_the_file_is(void **state)
{
  struct brick b = {0};
  brick_start_but(&b, GI_FOP_FSTAT);
  fake_script_always(b.s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = on_fstat_astray, .arg = &b});
  b.size = b.len[0] = 100;
  astray = 2;
  assert_int_equal(write_at(&b, 100, 10, O_WRONLY)->rsp.ret, 10);
  assert_int_equal(astray, 0);
  assert_int_equal(b.locks, 3);
  assert_int_equal(b.unlocks, 2);
  assert_int_equal(b.size, 110);
  brick_end(&b);
}

static struct gi_fop *
lock_by(struct brick *b, struct gi_fd *fd, unsigned type)
{
  struct gi_fop *f = fake_fop(b->s, GI_FOP_LK);
  gi_fop_set_fd(f, fd);
  f->args.cmd = GI_LKCMD_SET;
  f->args.type = f->args.flock.type = type;
  fake_submit(b->s, f);
  return f;
}

static struct gi_fop *
lock_file(struct brick *b, unsigned type)
{
  return lock_by(b, fake_fd(b->s, BASE), type);
}

static struct gi_fop *
unlock(struct brick *b)
{
  return lock_by(b, fake_fd(b->s, 9), GI_LK_UNLOCK);
}

/* Who gets a lock that is given back, also one of another file, sees by the times of files that we have written to them. */
static void
test_times_are_given_before_a_lock_goes(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  write_at(&b, BLOCK, 10, O_WRONLY);
  assert_int_equal(b.mtime, 100);
  assert_int_equal(unlock(&b)->rsp.ret, 0);
  assert_int_equal(b.mtime, 5000);
  brick_end(&b);
}

/* The attributes that a write finds are those that the one before it left, whichever blocks they are of. */
static void
test_our_own_writes_follow_each_other(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  struct gi_fop *f = write_at(&b, BLOCK - 5, 10, O_WRONLY);
  for (unsigned i = 0; i < 4; i++) {
    struct gi_time left = f->rsp.post.mtime;
    f = write_at(&b, i % 2 ? 0 : BLOCK + 5, 5, O_WRONLY);
    assert_int_equal(f->rsp.pre.mtime.sec, left.sec);
  }
  brick_end(&b);
}

/* What we show is later, so nobody above sees by the times that others have written. */
static void
test_a_hidden_change_is_told(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.size = 2 * BLOCK;
  write_at(&b, BLOCK + 10, 10, O_WRONLY);
  unsigned told = b.s->events[GI_EVENT_INVALIDATE];
  write_at(&b, 0, 10, O_WRONLY);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told);
  b.behind++;
  write_at(&b, 0, 10, O_WRONLY);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 1);
  b.mtime++;
  write_at(&b, 0, 10, O_WRONLY);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 2);
  b.behind++;
  assert_int_equal(unlock(&b)->rsp.ret, 0); /* our time is given to the file */
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 3);
  write_at(&b, BLOCK + 10, 10, O_WRONLY);
  assert_int_equal(unlock(&b)->rsp.ret, 0);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 3);
  brick_end(&b);
}

/* Of two writes under way the one to another block is answered first, and its time hides what the other one found. */
static void
test_a_change_hidden_by_a_write_under_way_is_told(void **state)
{
  struct brick b = {0};
  struct fake_reply now = {.fill = on_any, .arg = &b.kind[GI_FOP_WRITE]};
  brick_start_but(&b, GI_FOP_WRITE);
  b.size = 2 * BLOCK;
  fake_script(b.s, 0, GI_FOP_WRITE, now);
  write_at(&b, 0, 10, O_WRONLY);
  unsigned told = b.s->events[GI_EVENT_INVALIDATE];
  b.behind++;
  fake_script(b.s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  fake_script(b.s, 0, GI_FOP_WRITE, now);
  struct gi_fop *f = write_at(&b, 0, 10, O_WRONLY), *held = fake_held_fop(b.s, 0, 0);
  assert_int_equal(write_at(&b, BLOCK + 10, 10, O_WRONLY)->rsp.ret, 10);
  on_write(held, &b);
  fake_release_fop(b.s, held, held->rsp.ret, 0);
  fake_settle(b.s);
  assert_int_equal(f->rsp.ret, 10);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 1);
  brick_end(&b);
}

/* Others cannot be told of a block that was not there. */
static void
test_a_new_block_changes_the_file(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.size = 2 * BLOCK;
  write_at(&b, BLOCK + 10, 10, O_WRONLY); /* so little that the brick counts no blocks */
  assert_int_equal(b.blocks, 1);
  write_at(&b, BLOCK + 20, 10, O_WRONLY);
  assert_int_equal(b.blocks, 1);
  brick_end(&b);
}

/* Others write to blocks of which the base file's times do not tell at once: what is kept above does not survive an open. */
static void
test_an_open_lets_nothing_be_kept(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.size = BLOCK;
  data_fop(&b, GI_FOP_READ, 0, 10);
  unsigned told = b.s->events[GI_EVENT_INVALIDATE];
  assert_int_equal(open_file(&b)->rsp.ret, 0);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told); /* there is but the first one */
  b.size = BLOCK + 1;
  data_fop(&b, GI_FOP_READ, 0, 10);
  open_file(&b);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 1);
  write_at(&b, BLOCK + 1, 10, O_WRONLY); /* nobody else can: we have the lock alone */
  open_file(&b);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 1);
  brick_end(&b);
}

/* Who writes without a lock gives the time of it to the base file a second later. */
static void
test_a_lock_lets_nothing_be_kept(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.size = BLOCK + 1;
  data_fop(&b, GI_FOP_READ, 0, 10);
  unsigned told = b.s->events[GI_EVENT_INVALIDATE];
  assert_int_equal(lock_file(&b, GI_LK_UNLOCK)->rsp.ret, 0);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told);
  assert_int_equal(lock_file(&b, GI_LK_READ)->rsp.ret, 0);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 1);
  write_at(&b, BLOCK + 1, 10, O_WRONLY); /* nobody else can */
  lock_file(&b, GI_LK_WRITE);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 1);
  brick_end(&b);
}

static void
test_news_of_a_block_are_news_of_the_file(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  write_at(&b, BLOCK, 10, O_WRONLY);
  struct gi_invalidation inv = {.gfid = gfid(101), .flags = GI_UPCALL_TIMES, .stat = iatt(&b, 1)};
  unsigned told = b.s->events[GI_EVENT_INVALIDATE];
  fake_event(b.s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_int_equal(b.s->events[GI_EVENT_INVALIDATE], told + 1);
  inv = (struct gi_invalidation){.gfid = gfid(BASE), .flags = GI_UPCALL_XATTR, .stat = iatt(&b, 0)};
  fake_event(b.s, 0, GI_EVENT_INVALIDATE, &inv);
  b.size = 7 * BLOCK; /* by somebody who takes no locks */
  fake_forget_seen(b.s);
  struct gi_fop *f = data_fop(&b, GI_FOP_READ, 6 * BLOCK, 10);
  assert_int_equal(f->rsp.ret, 10);
  assert_true(fake_count(b.s, 0, GI_FOP_FSTAT) > 0);
  brick_end(&b);
}

static void
test_the_directory_of_blocks_is_private(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.dir = true;
  static const enum gi_fop_kind kinds[] = {GI_FOP_LOOKUP, GI_FOP_MKDIR, GI_FOP_CREATE,
                                           GI_FOP_UNLINK, GI_FOP_RMDIR, GI_FOP_SYMLINK};
  struct gi_inode *root = gi_inode_get(b.s->graph, &gi_gfid_root);
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct gi_fop *f = fake_fop(b.s, kinds[i]);
    gi_fop_set_entry(f, &f->loc, root, ".shard");
    fake_submit(b.s, f);
    assert_int_equal(f->rsp.err, EPERM);
  }
  struct gi_fop *f = fake_fop(b.s, GI_FOP_SETXATTR);
  gi_loc_set_inode(&f->loc, fake_inode(b.s, BASE));
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, SIZE_KEY, "x", 1);
  fake_submit(b.s, f);
  assert_int_equal(f->rsp.err, EPERM);
  gi_inode_unref(&root);
  brick_end(&b);
}

static struct gi_fop *
remove_file(struct brick *b)
{
  struct gi_fop *f = fake_fop(b->s, GI_FOP_UNLINK);
  gi_fop_set_entry(f, &f->loc, fake_inode(b->s, 9), "file");
  fake_submit(b->s, f);
  return f;
}

static void
test_blocks_of_a_removed_file_go(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.dir = b.there[1] = b.there[3] = true;
  b.size = 2 * BLOCK; /* the last one was left behind by somebody who was stopped */
  assert_int_equal(remove_file(&b)->rsp.ret, 0);
  fake_settle(b.s);
  assert_true(b.doomed && b.gone && !b.there[1] && !b.there[3]);
  assert_int_equal(b.name_locks, 0);
  brick_end(&b);
}

/* Most files have but the first block. */
static void
test_a_small_file_goes_with_few_messages(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  b.dir = true;
  b.size = b.len[0] = 100;
  assert_int_equal(remove_file(&b)->rsp.ret, 0);
  fake_settle(b.s);
  assert_int_equal(fake_count(b.s, 0, GI_FOP_UNLINK), 3); /* its name, the block behind its end, the marker */
  brick_end(&b);
}

static void
test_blocks_stay_while_the_file_is_open(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  write_at(&b, BLOCK, 10, O_WRONLY); /* its descriptor stays until the end */
  assert_int_equal(remove_file(&b)->rsp.ret, 0);
  fake_settle(b.s);
  assert_true(b.gone && b.there[1]);
  assert_int_equal(b.name_locks, 1); /* nobody else cleans them away */
  assert_int_equal(write_at(&b, BLOCK + 10, 10, O_WRONLY)->rsp.ret, 10);
  gi_notify(b.s->x, GI_EVENT_PARENT_DOWN, NULL);
  brick_end(&b);
}

static void
test_copy_is_left_to_who_reads_and_writes(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  write_at(&b, BLOCK, 10, O_WRONLY);
  struct gi_fop *f = fake_fop(b.s, GI_FOP_COPY_FILE_RANGE);
  gi_fop_set_fd(f, fake_fd(b.s, BASE));
  f->fd2 = gi_fd_ref(fake_fd(b.s, BASE));
  fake_submit(b.s, f);
  assert_int_equal(f->rsp.err, EOPNOTSUPP);
  brick_end(&b);
}

static struct gi_fop *
sync_file(struct brick *b)
{
  struct gi_fop *f = fake_fop(b->s, GI_FOP_FSYNC);

  gi_fop_set_fd(f, fake_fd(b->s, BASE));
  fake_submit(b->s, f);
  return f;
}

/* A sync ends when the blocks are on the disks, also those that another sync was about to bring there, and tries again what failed. */
static void
test_syncs_wait_for_each_other(void **state)
{
  struct brick b = {0};
  struct gi_fop *one, *two;

  brick_start(&b);
  write_at(&b, BLOCK, 10, O_WRONLY);
  fake_script(b.s, 0, GI_FOP_FSYNC, (struct fake_reply){.hold = true});
  one = sync_file(&b);
  two = sync_file(&b);
  assert_false(one->answered);
  assert_false(two->answered);
  assert_true(fake_release(b.s, 0, GI_FOP_FSYNC, -1, EIO));
  fake_settle(b.s);
  assert_int_equal(one->rsp.err, EIO);
  assert_int_equal(two->rsp.ret, 0);
  assert_int_equal(fake_count(b.s, 0, GI_FOP_FSYNC), 3); /* the block twice, the file once */
  brick_end(&b);
}

/* Taken for a whole file it would be cut off behind its first block. */
static void
test_a_file_with_damaged_sizes_is_not_used(void **state)
{
  static const uint64_t damage[][2] = {{0, 10}, {512, 10}, {UINT64_MAX, 10}, {BLOCK, UINT64_MAX}};
  static const enum gi_fop_kind kinds[] = {GI_FOP_OPEN, GI_FOP_READ, GI_FOP_FTRUNCATE, GI_FOP_FSYNC, GI_FOP_DISCARD};

  for (size_t i = 0; i < GI_ARRAY_LEN(damage); i++) {
    struct brick b = {0};
    brick_start(&b);
    b.damage = damage[i];
    b.len[0] = 10;
    struct gi_fop *f = fake_fop(b.s, GI_FOP_LOOKUP);
    gi_fop_set_entry(f, &f->loc, fake_inode(b.s, 9), "file");
    gi_dict_set_int(gi_fop_xdata(f), "glusterfs.content", 4096);
    fake_submit(b.s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_null(gi_dict_get(f->rsp.xdata, SIZE_KEY));
    for (size_t k = 0; k < GI_ARRAY_LEN(kinds); k++)
      assert_int_equal(data_fop(&b, kinds[k], 0, 10)->rsp.err, EIO);
    assert_int_equal(write_at(&b, 0, 10, O_WRONLY)->rsp.err, EIO);
    assert_int_equal(remove_file(&b)->rsp.err, EIO);
    assert_false(b.gone || b.marker);
    assert_int_equal(b.len[0], 10);
    b.damage = NULL; /* somebody has put it right */
    b.size = 10;
    assert_int_equal(data_fop(&b, GI_FOP_READ, 0, 10)->rsp.ret, 10);
    brick_end(&b);
  }
}

/* A failure of the bricks stays what it is. */
static void
test_errors(void **state)
{
  struct brick b = {0};
  brick_start(&b);
  write_at(&b, BLOCK, 10, O_WRONLY);
  b.write_err = ENOSPC;
  assert_int_equal(write_at(&b, BLOCK, 10, O_WRONLY)->rsp.err, ENOSPC);
  b.add_err = EIO;
  assert_int_equal(write_at(&b, 2 * BLOCK, 10, O_WRONLY)->rsp.err, EIO);
  assert_int_equal(write_at(&b, 2 * BLOCK, 10, O_WRONLY)->rsp.ret, 10); /* the size is asked for again */
  assert_int_equal(b.size, 2 * BLOCK + 10);
  brick_end(&b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain_files_pass),
      cmocka_unit_test(test_write_makes_blocks),
      cmocka_unit_test(test_directory_that_another_makes),
      cmocka_unit_test(test_read_fills_holes),
      cmocka_unit_test(test_blocks_are_looked_up_with_their_file),
      cmocka_unit_test(test_append_goes_to_the_end),
      cmocka_unit_test(test_a_size_is_told_with_what_is_added),
      cmocka_unit_test(test_truncate),
      cmocka_unit_test(test_what_lies_behind_the_end_goes),
      cmocka_unit_test(test_writes_in_a_row_leave_no_gap),
      cmocka_unit_test(test_holes_are_not_walked_over),
      cmocka_unit_test(test_a_listing_that_is_too_long_is_left),
      cmocka_unit_test(test_a_replaced_block_is_found_again),
      cmocka_unit_test(test_attributes_are_those_of_the_whole),
      cmocka_unit_test(test_times_follow_with_the_lock),
      cmocka_unit_test(test_a_lock_is_taken_where_the_file_is),
      cmocka_unit_test(test_times_are_given_before_a_lock_goes),
      cmocka_unit_test(test_our_own_writes_follow_each_other),
      cmocka_unit_test(test_a_hidden_change_is_told),
      cmocka_unit_test(test_a_change_hidden_by_a_write_under_way_is_told),
      cmocka_unit_test(test_a_new_block_changes_the_file),
      cmocka_unit_test(test_an_open_lets_nothing_be_kept),
      cmocka_unit_test(test_a_lock_lets_nothing_be_kept),
      cmocka_unit_test(test_news_of_a_block_are_news_of_the_file),
      cmocka_unit_test(test_the_directory_of_blocks_is_private),
      cmocka_unit_test(test_blocks_of_a_removed_file_go),
      cmocka_unit_test(test_a_small_file_goes_with_few_messages),
      cmocka_unit_test(test_blocks_stay_while_the_file_is_open),
      cmocka_unit_test(test_copy_is_left_to_who_reads_and_writes),
      cmocka_unit_test(test_syncs_wait_for_each_other),
      cmocka_unit_test(test_a_file_with_damaged_sizes_is_not_used),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
