/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/io-cache: rule by rule against a scripted child, and by chance against a model of a file.
 */
#include "tests/unit/disk.h"
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

#define KB 1024u
#define FILE_A 5
#define FILE_B 6

enum { HITS, MISSES, SHARED, CHECKS, DROPPED, FOREIGN, KEPT_WRITES };

static struct gi_iatt now_is; /* attributes that the child reports */

static void
attributes(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = fop->rsp.post = fop->rsp.pre = now_is;
  if (fop->fd)
    fop->rsp.stat.gfid = fop->rsp.post.gfid = fop->rsp.pre.gfid = fop->fd->inode->gfid;
}

/* The child's file is now_is.size bytes of 'r'. */
static void
read_file(struct gi_fop *fop, void *arg)
{
  uint64_t size = now_is.size, offset = fop->args.offset;
  uint64_t len = offset >= size ? 0 : fop->args.size < size - offset ? fop->args.size : size - offset;
  attributes(fop, arg);
  fop->rsp.ret = (int)len;
  fop->rsp.err = offset + len >= size ? ENOENT : 0;
}

/* Each changes the file by one version. */
static void
change_file(struct gi_fop *fop, void *arg)
{
  attributes(fop, arg);
  now_is.mtime.sec++;
  now_is.ctime.sec++;
  if (fop->kind == GI_FOP_WRITE && fop->args.offset + fop->payload.len > now_is.size)
    now_is.size = fop->args.offset + fop->payload.len;
  if (fop->kind == GI_FOP_FTRUNCATE)
    now_is.size = fop->args.offset;
  fop->rsp.post = now_is;
  fop->rsp.post.gfid = fop->fd->inode->gfid;
  fop->rsp.ret = fop->kind == GI_FOP_WRITE ? (int)fop->payload.len : 0;
}

static void
change_early(struct gi_fop *fop, void *arg)
{
  change_file(fop, arg);
  fop->rsp.early = true;
}

static struct fake_stack *
stack(const char *options)
{
  struct fake_stack *s = fake_stack_new("performance/io-cache", options, 1);
  now_is = (struct gi_iatt){.mode = S_IFREG | 0644, .size = 64 * KB, .mtime.sec = 1, .ctime.sec = 1};
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script_always(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = attributes});
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = change_file});
  fake_script_always(s, 0, GI_FOP_FTRUNCATE, (struct fake_reply){.fill = change_file});
  return s;
}

static int
setup(void **state)
{
  *state = stack(NULL);
  return 0;
}

static int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

static struct gi_fop *
request(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fake_fd(s, file));
  f->args.offset = offset;
  f->args.size = size;
  if (kind == GI_FOP_WRITE) {
    struct gi_buf *buf = gi_buf_new(size);
    memset(buf->base, 'w', size);
    gi_payload_add(&f->payload, buf, buf->base, size);
    gi_buf_unref(&buf);
  }
  return f;
}

static struct gi_fop *
submit(struct fake_stack *s, enum gi_fop_kind kind, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = request(s, kind, FILE_A, offset, size);
  fake_submit(s, f);
  return f;
}

/* A READ: 'r', 'w', or 0 for none or a mixture. */
static char
reads(struct fake_stack *s, uint64_t offset, uint64_t size)
{
  uint8_t bytes[128 * KB];
  struct gi_fop *f = submit(s, GI_FOP_READ, offset, size);
  assert_true(f->answered);
  size_t len = gi_payload_read(&f->rsp.payload, 0, bytes, sizeof(bytes));
  assert_int_equal(len, f->rsp.ret);
  for (size_t i = 1; i < len; i++)
    if (bytes[i] != bytes[0])
      return 0;
  return len ? (char)bytes[0] : 0;
}

static unsigned
below(struct fake_stack *s)
{
  return fake_count(s, 0, GI_FOP_READ);
}

static uint64_t
metric(const struct fake_stack *s, unsigned row)
{
  return gi_metric_value(&s->x->cls->metrics[row], s->x->metrics);
}

/* The file's version is known, so what is read from now on can be checked. */
static void
make_known(struct fake_stack *s)
{
  reads(s, 60 * KB, 4 * KB);
  fake_forget_seen(s);
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-cache", "option cache-timeout 0\n", 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_what_was_read_is_answered_by_reference(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *first = submit(s, GI_FOP_READ, 0, 32 * KB), *part = submit(s, GI_FOP_READ, 5000, 10000);
  assert_int_equal(below(s), 1);
  assert_int_equal(part->rsp.ret, 10000);
  assert_int_equal(part->rsp.payload.count, 1);
  assert_ptr_equal(part->rsp.payload.slice[0].buf, first->rsp.payload.slice[0].buf);
  assert_int_equal(part->rsp.stat.size, 64 * KB); /* with the attributes of the last reply */
  assert_int_equal(metric(s, HITS), 1);
  reads(s, 30 * KB, 4 * KB); /* half of it is not there */
  assert_int_equal(below(s), 2);
}

static void
test_the_end_of_the_file(void **state)
{
  struct fake_stack *s = *state;
  now_is.size = 10000;
  reads(s, 0, 32 * KB);
  struct gi_fop *f = submit(s, GI_FOP_READ, 8 * KB, 8 * KB);
  assert_int_equal(f->rsp.ret, 10000 - 8 * KB);
  assert_int_equal(f->rsp.err, ENOENT);
  f = submit(s, GI_FOP_READ, 12 * KB, 4 * KB);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(below(s), 1);
  submit(s, GI_FOP_FTRUNCATE, 5000, 0);
  f = submit(s, GI_FOP_READ, 0, 4 * KB); /* below the new end: still there */
  assert_int_equal(f->rsp.ret, 4 * KB);
  assert_int_equal(below(s), 1);
  f = submit(s, GI_FOP_READ, 4 * KB, 4 * KB);
  assert_int_equal(f->rsp.ret, 5000 - 4 * KB);
  assert_int_equal(below(s), 2);
}

static void
test_what_was_written_is_read_back(void **state)
{
  struct fake_stack *s = *state;
  assert_int_equal(reads(s, 0, 32 * KB), 'r');
  submit(s, GI_FOP_WRITE, 8 * KB, 8 * KB);
  assert_int_equal(reads(s, 8 * KB, 8 * KB), 'w');
  assert_int_equal(reads(s, 0, 8 * KB), 'r');
  assert_int_equal(reads(s, 16 * KB, 16 * KB), 'r');
  assert_int_equal(below(s), 1);
  submit(s, GI_FOP_WRITE, 62 * KB, 6000); /* it makes the file longer, and ends in a block */
  struct gi_fop *f = submit(s, GI_FOP_READ, 64 * KB, 8 * KB);
  assert_int_equal(f->rsp.ret, 62 * KB + 6000 - 64 * KB);
  assert_int_equal(below(s), 1);
  assert_int_equal(metric(s, KEPT_WRITES), 2);
}

static void
test_a_write_that_fails_leaves_nothing(void **state)
{
  struct fake_stack *s = *state;
  reads(s, 0, 32 * KB);
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  submit(s, GI_FOP_WRITE, 8 * KB, 8 * KB);
  fake_forget_seen(s);
  assert_int_equal(reads(s, 8 * KB, 8 * KB), 'r');
  assert_int_equal(below(s), 1);
}

static void
test_what_is_read_during_a_change_is_not_kept(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *w = request(s, GI_FOP_FTRUNCATE, FILE_A, 4 * KB, 0);
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script(s, 0, GI_FOP_FTRUNCATE, (struct fake_reply){.hold = true});
  reads(s, 0, 4 * KB);
  fake_submit(s, w);
  reads(s, 8 * KB, 8 * KB);
  reads(s, 8 * KB, 8 * KB);
  assert_int_equal(below(s), 3);
  reads(s, 0, 4 * KB); /* not touched */
  assert_int_equal(below(s), 3);
  assert_true(fake_release(s, 0, GI_FOP_FTRUNCATE, 0, 0));
  reads(s, 8 * KB, 8 * KB);
  assert_int_equal(below(s), 4);
}

/* Nobody knows which of both the bricks did last. */
static void
test_two_writes_at_once_keep_neither(void **state)
{
  struct fake_stack *s = *state;
  reads(s, 0, 4 * KB);
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  fake_submit(s, request(s, GI_FOP_WRITE, FILE_A, 0, 8 * KB));
  fake_submit(s, request(s, GI_FOP_WRITE, FILE_A, 4 * KB, 8 * KB));
  fake_forget_seen(s);
  assert_true(fake_release(s, 0, GI_FOP_WRITE, 8 * KB, 0));
  assert_true(fake_release(s, 0, GI_FOP_WRITE, 8 * KB, 0));
  assert_int_equal(reads(s, 0, 4 * KB), 'r');
  assert_int_equal(reads(s, 8 * KB, 4 * KB), 'r');
  assert_int_equal(below(s), 2);
}

static void
test_reads_of_the_same_share_one(void **state)
{
  struct fake_stack *s = *state;
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  struct gi_fop *a = submit(s, GI_FOP_READ, 0, 32 * KB), *b = submit(s, GI_FOP_READ, 8 * KB, 8 * KB),
                *c = submit(s, GI_FOP_READ, 30 * KB, 4 * KB);
  assert_true(!a->answered && !b->answered && c->answered);
  assert_int_equal(below(s), 2);
  assert_true(fake_release(s, 0, GI_FOP_READ, 32 * KB, 0));
  assert_true(a->answered && b->answered);
  assert_int_equal(b->rsp.ret, 8 * KB);
  assert_int_equal(below(s), 2);
  assert_int_equal(metric(s, SHARED), 1);
}

static void
test_who_waits_for_a_read_that_fails_reads_itself(void **state)
{
  struct fake_stack *s = *state;
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  struct gi_fop *a = submit(s, GI_FOP_READ, 0, 32 * KB), *b = submit(s, GI_FOP_READ, 8 * KB, 8 * KB);
  assert_true(fake_release(s, 0, GI_FOP_READ, -1, EIO));
  assert_int_equal(a->rsp.err, EIO);
  assert_int_equal(b->rsp.ret, 8 * KB);
}

static void
test_a_waiting_read_can_be_cancelled(void **state)
{
  struct fake_stack *s = *state;
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  struct gi_fop *a = submit(s, GI_FOP_READ, 0, 32 * KB), *b = submit(s, GI_FOP_READ, 8 * KB, 8 * KB);
  gi_fop_cancel(b);
  assert_true(b->answered);
  assert_int_equal(b->rsp.err, EINTR);
  assert_true(fake_release(s, 0, GI_FOP_READ, 32 * KB, 0));
  assert_true(a->answered);
}

static void
somebody_else_writes(void)
{
  now_is.mtime.sec += 100;
  now_is.ctime.sec += 100;
}

static void
test_an_open_has_it_looked_at(void **state)
{
  struct fake_stack *s = *state;
  make_known(s);
  reads(s, 0, 32 * KB);
  submit(s, GI_FOP_OPEN, 0, 0);
  reads(s, 0, 8 * KB);
  reads(s, 8 * KB, 8 * KB);
  assert_int_equal(below(s), 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSTAT), 1);
  somebody_else_writes();
  submit(s, GI_FOP_OPEN, 0, 0);
  reads(s, 0, 8 * KB);
  assert_int_equal(below(s), 2);
  assert_int_equal(metric(s, FOREIGN), 1);
}

static void
test_a_lock_has_all_looked_at(void **state)
{
  struct fake_stack *s = *state;
  make_known(s);
  reads(s, 0, 32 * KB);
  struct gi_fop *lock = request(s, GI_FOP_LK, FILE_B, 0, 0);
  lock->args.cmd = GI_LKCMD_SETW;
  lock->args.type = lock->args.flock.type = GI_LK_WRITE;
  fake_submit(s, lock);
  somebody_else_writes();
  reads(s, 0, 8 * KB);
  assert_int_equal(below(s), 2);
  lock = request(s, GI_FOP_LK, FILE_B, 0, 0);
  lock->args.cmd = GI_LKCMD_SETW;
  lock->args.type = lock->args.flock.type = GI_LK_UNLOCK;
  fake_submit(s, lock);
  reads(s, 0, 8 * KB);
  assert_int_equal(below(s), 2);
}

static void
test_it_is_looked_at_in_time(void **state)
{
  struct fake_stack *s = stack("option cache-timeout 0\n");
  make_known(s);
  reads(s, 0, 32 * KB);
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.hold = true});
  struct gi_fop *a = submit(s, GI_FOP_READ, 0, 4 * KB), *b = submit(s, GI_FOP_READ, 8 * KB, 4 * KB);
  assert_false(a->answered || b->answered);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSTAT), 1); /* one for both */
  attributes(s->seen[s->nseen - 1].fop, NULL);
  assert_true(fake_release(s, 0, GI_FOP_FSTAT, 0, 0));
  assert_true(a->answered && b->answered);
  assert_int_equal(below(s), 1);
  assert_int_equal(metric(s, HITS), 2);
  fake_stack_free(s);
}

static void
test_attributes_of_any_reply_tell(void **state)
{
  struct fake_stack *s = *state;
  make_known(s);
  reads(s, 0, 32 * KB);
  submit(s, GI_FOP_FSTAT, 0, 0);
  assert_int_equal(metric(s, FOREIGN), 0);
  somebody_else_writes();
  submit(s, GI_FOP_FSTAT, 0, 0);
  assert_int_equal(metric(s, FOREIGN), 1);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 2);
}

static void
test_what_bricks_tell_and_bricks_that_go(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
  reads(s, 0, 4 * KB);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 2);
  fake_event(s, 0, GI_EVENT_CHILD_DOWN, NULL);
  fake_event(s, 0, GI_EVENT_CHILD_UP, NULL);
  reads(s, 0, 4 * KB);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 3);
  fake_event(s, 0, GI_EVENT_PROMISE, &(struct gi_promised){.seconds = 60});
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 4);
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1);
  assert_int_equal(metric(s, FOREIGN), 0);

  somebody_else_writes(); /* what is read after it was told is the new state, and stays */
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  reads(s, 0, 4 * KB);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 5);
}

static void
written(struct fake_stack *s, uint32_t changes, int err, const struct gi_iatt *found)
{
  struct gi_iatt before = *found, after = now_is;
  before.gfid = after.gfid = fake_inode(s, FILE_A)->gfid;
  struct gi_written w = {.inode = fake_inode(s, FILE_A), .changes = changes, .err = err, .found = &before, .left = &after};
  fake_event(s, 0, GI_EVENT_WRITTEN, &w);
  fake_settle(s);
}

static void
test_what_was_answered_early(void **state)
{
  struct fake_stack *s = *state;
  make_known(s);
  struct gi_iatt found = now_is;
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = change_early});
  reads(s, 0, 8 * KB);
  submit(s, GI_FOP_WRITE, 0, 4 * KB);
  submit(s, GI_FOP_WRITE, 4 * KB, 4 * KB);
  assert_int_equal(reads(s, 0, 8 * KB), 'w');
  written(s, 2, 0, &found);
  assert_int_equal(reads(s, 0, 8 * KB), 'w');
  assert_int_equal(below(s), 1);
  assert_int_equal(metric(s, FOREIGN), 0);

  somebody_else_writes(); /* the bricks find another version than the last one left */
  found = now_is;
  submit(s, GI_FOP_WRITE, 0, 4 * KB);
  assert_int_equal(reads(s, 0, 4 * KB), 'w');
  written(s, 1, 0, &found);
  assert_int_equal(metric(s, FOREIGN), 1);
  assert_int_equal(reads(s, 4 * KB, 4 * KB), 'r');
  assert_int_equal(below(s), 2);
}

static void
test_what_was_answered_early_and_is_lost(void **state)
{
  struct fake_stack *s = *state;
  struct gi_iatt found = now_is;
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = read_file});
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = change_early});
  submit(s, GI_FOP_WRITE, 0, 4 * KB);
  assert_int_equal(reads(s, 0, 4 * KB), 'w');
  written(s, 1, EIO, &found);
  assert_int_equal(reads(s, 0, 4 * KB), 'r');
}

/* It was off the path when the end was told. */
static void
test_a_file_goes_whose_end_of_writes_was_missed(void **state)
{
  struct fake_stack *s = stack(NULL);
  (void)state;
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = change_early});
  submit(s, GI_FOP_WRITE, 0, 4 * KB);
  fake_stack_free(s); /* and the file with it */
}

static void
test_direct_io_goes_past_it(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = request(s, GI_FOP_READ, FILE_A, 0, 4 * KB);
  f->fd->flags |= O_DIRECT;
  fake_submit(s, f);
  assert_int_equal(reads(s, 0, 4 * KB), 'r');
  assert_int_equal(below(s), 2);
  f = request(s, GI_FOP_WRITE, FILE_A, 0, 4 * KB);
  f->fd->flags |= O_DIRECT;
  fake_submit(s, f);
  assert_int_equal(reads(s, 0, 4 * KB), 'r'); /* what the child says: nothing was kept */
  assert_int_equal(below(s), 3);
}

static void
test_appends_keep_whole_blocks(void **state)
{
  struct fake_stack *s = *state;
  now_is.size = 10000;
  reads(s, 0, 32 * KB);
  struct gi_fop *f = request(s, GI_FOP_WRITE, FILE_A, 0, 4 * KB);
  f->fd->flags |= O_APPEND;
  fake_submit(s, f);
  assert_int_equal(reads(s, 0, 8 * KB), 'r');
  assert_int_equal(below(s), 1);
  reads(s, 8 * KB, 4 * KB);
  assert_int_equal(below(s), 2);
}

static void
test_sizes_of_files(void **state)
{
  struct fake_stack *s = stack("option min-file-size 8KB\noption max-file-size 32KB\n");
  reads(s, 0, 4 * KB);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 2);
  now_is.size = 16 * KB;
  reads(s, 0, 4 * KB);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 3);
  now_is.size = 4 * KB;
  submit(s, GI_FOP_FTRUNCATE, 4 * KB, 0);
  reads(s, 4 * KB, 4 * KB);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 5);
  fake_stack_free(s);
}

static void
named(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = now_is;
  memset(&fop->rsp.stat.gfid, *(uint8_t *)arg, sizeof(fop->rsp.stat.gfid));
}

static void
look_up(struct fake_stack *s, const char *name, uint8_t file)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  fake_inode(s, file);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = named, .arg = &file});
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 1), name);
  fake_submit(s, f);
}

static void
read_all(struct fake_stack *s, uint8_t file)
{
  for (unsigned i = 0; i < 24; i++)
    fake_submit(s, request(s, GI_FOP_READ, file, i * 128 * KB, 128 * KB));
}

static void
test_priorities(void **state)
{
  struct fake_stack *s = stack("option cache-size 4MB\noption priority *.tmp:0,*.idx:5\n");
  now_is.size = 3 << 20;
  look_up(s, "a.idx", FILE_A);
  look_up(s, "b.tmp", 7);
  read_all(s, FILE_A);
  read_all(s, FILE_B); /* a megabyte of it remains */
  read_all(s, FILE_A);
  assert_int_equal(below(s), 48);
  fake_submit(s, request(s, GI_FOP_READ, 7, 0, 4 * KB));
  fake_submit(s, request(s, GI_FOP_READ, 7, 0, 4 * KB));
  assert_int_equal(below(s), 50);
  struct gi_error err = {0};
  assert_null(fake_stack_try("performance/io-cache", "option priority nonsense\n", 1, &err));
  assert_non_null(strstr(err.text, "nonsense"));
  fake_stack_free(s);
}

static void
test_memory_is_bounded(void **state)
{
  struct fake_stack *s = stack("option cache-size 4MB\n");
  uint64_t before = s->ctx.budget.used;
  now_is.size = 16 << 20;
  for (unsigned i = 0; i < 128; i++)
    fake_submit(s, request(s, GI_FOP_READ, FILE_A, i * 128 * KB, 128 * KB));
  assert_in_range(s->ctx.budget.used, before + (3 << 20), before + (4 << 20) + 4 * KB);
  gi_budget_set_limit(&s->ctx.budget, 1);
  fake_settle(s);
  assert_true(s->ctx.budget.used <= before);
  fake_stack_free(s);
}

static void
test_drained_it_has_nothing(void **state)
{
  struct fake_stack *s = *state;
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  struct gi_fop *a = submit(s, GI_FOP_READ, 0, 32 * KB), *b = submit(s, GI_FOP_READ, 8 * KB, 8 * KB);
  gi_xlator_enable(s->x, false);
  assert_true(s->x->enabled); /* one waits */
  assert_true(fake_release(s, 0, GI_FOP_READ, 32 * KB, 0));
  assert_true(a->answered && b->answered);
  assert_false(s->x->enabled);
  gi_xlator_enable(s->x, true);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 3);
}

/* A change that it has not seen is under way. */
static void
test_it_waits_after_it_joined_a_running_graph(void **state)
{
  struct fake_stack *s = stack("option pass-through on\n");
  struct gi_fop *change = fake_fop(s, GI_FOP_FALLOCATE);
  struct gi_error err;
  gi_fop_set_fd(change, fake_fd(s, FILE_A));
  fake_script(s, 0, GI_FOP_FALLOCATE, (struct fake_reply){.hold = true});
  fake_submit(s, change);
  assert_int_equal(fake_stack_children(s, "option pass-through off\n", (unsigned[]){0}, 1, &err), 0);
  assert_true(s->x->enabled);
  reads(s, 0, 4 * KB);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 2);
  assert_true(fake_release(s, 0, GI_FOP_FALLOCATE, 0, 0));
  reads(s, 0, 4 * KB);
  reads(s, 0, 4 * KB);
  assert_int_equal(below(s), 3);
  fake_stack_free(s);
}

/* ---- by chance ---- */

static enum gi_fop_kind
any_change(struct disk *d)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_FTRUNCATE, GI_FOP_DISCARD, GI_FOP_ZEROFILL, GI_FOP_FALLOCATE};
  return kinds[disk_random(d, GI_ARRAY_LEN(kinds))];
}

static void
step(struct disk *d, bool others)
{
  uint64_t most = disk_random(d, 4) ? 6000 : 20000, offset = disk_random(d, DISK_MAX - 24000), size = 1 + disk_random(d, most);
  if (disk_random(d, 2)) {
    offset -= offset % 4096;
    size = (size + 4095) & ~4095ull;
  }
  switch (disk_random(d, 20)) {
  case 0:
    if (disk_random(d, 3) == 0)
      disk_submit(d, any_change(d), offset, size, 0);
    break;
  case 1:
  case 2:
    disk_submit(d, GI_FOP_WRITE, offset, size, (unsigned)disk_random(d, 8));
    break;
  case 3:
    if (others && disk_random(d, 3) == 0)
      disk_foreign(d);
    break;
  case 4:
    if (disk_random(d, 3) == 0)
      disk_barrier(d);
    break;
  case 5:
    disk_land(d);
    break;
  case 6:
  case 7:
  case 8:
  case 9:
  case 10:
    disk_submit(d, GI_FOP_READ, offset, size, 0);
    break;
  default:
    disk_work(d);
    break;
  }
}

static void
run_model(const char *options, bool early, bool others)
{
  unsigned reads = 0, from_memory = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct disk *d = disk_new("performance/io-cache", options, seed, 50000);
    d->early = early;
    for (unsigned i = 0; i < 400; i++) {
      step(d, others);
      if (disk_random(d, 40) == 0)
        disk_finish(d);
    }
    disk_finish(d);
    from_memory += d->reads > d->at_child[GI_FOP_READ] ? d->reads - d->at_child[GI_FOP_READ] : 0;
    reads += d->reads;
    disk_free(d);
  }
  assert_true(from_memory > reads / 100);
}

static void
test_model(void **state)
{
  run_model(NULL, false, false);
  run_model(NULL, true, false);
  run_model("option cache-timeout 0\n", false, false);
  run_model("option cache-timeout 0\n", true, false);
}

static void
test_model_with_others(void **state)
{
  run_model(NULL, false, true);
  run_model(NULL, true, true);
  run_model("option cache-timeout 0\n", false, true);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      TEST(test_what_was_read_is_answered_by_reference),
      TEST(test_the_end_of_the_file),
      TEST(test_what_was_written_is_read_back),
      TEST(test_a_write_that_fails_leaves_nothing),
      TEST(test_what_is_read_during_a_change_is_not_kept),
      TEST(test_two_writes_at_once_keep_neither),
      TEST(test_reads_of_the_same_share_one),
      TEST(test_who_waits_for_a_read_that_fails_reads_itself),
      TEST(test_a_waiting_read_can_be_cancelled),
      TEST(test_an_open_has_it_looked_at),
      TEST(test_a_lock_has_all_looked_at),
      cmocka_unit_test(test_it_is_looked_at_in_time),
      TEST(test_attributes_of_any_reply_tell),
      TEST(test_what_bricks_tell_and_bricks_that_go),
      TEST(test_what_was_answered_early),
      TEST(test_what_was_answered_early_and_is_lost),
      cmocka_unit_test(test_a_file_goes_whose_end_of_writes_was_missed),
      TEST(test_direct_io_goes_past_it),
      TEST(test_appends_keep_whole_blocks),
      cmocka_unit_test(test_sizes_of_files),
      cmocka_unit_test(test_priorities),
      cmocka_unit_test(test_memory_is_bounded),
      TEST(test_drained_it_has_nothing),
      cmocka_unit_test(test_it_waits_after_it_joined_a_running_graph),
      cmocka_unit_test(test_model),
      cmocka_unit_test(test_model_with_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
