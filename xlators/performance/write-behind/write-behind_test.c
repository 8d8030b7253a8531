/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/write-behind: what is answered early, what waits for it, and who
 * is told of its end.
 */
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

#define FILE_A 5
#define FILE_B 6
#define DIR 8
#define PAGE 8192u

/* ---- what reaches those above ---- */

static struct {
  unsigned events, changes, failed;
  int err;
  uint64_t left;        /* size of the last one */
  uint32_t of_each[64]; /* changes, by event */
} told;

static struct gi_xlator_class spy;

static bool
spy_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  const struct gi_written *w = data;

  if (event != GI_EVENT_WRITTEN)
    return false;
  assert_true(w->changes > 0);
  told.of_each[told.events++ % GI_ARRAY_LEN(told.of_each)] = w->changes;
  told.changes += w->changes;
  told.failed += w->err != 0;
  told.err = w->err;
  told.left = w->left->size;
  return true;
}

static struct fake_stack *
new_stack(const char *options)
{
  struct fake_stack *s = fake_stack_new("performance/write-behind", options, 1);

  memset(&told, 0, sizeof(told));
  spy = *s->parent->cls;
  spy.notify = spy_notify;
  s->parent->cls = &spy;
  return s;
}

static int
setup(void **state)
{
  *state = new_stack(NULL);
  return 0;
}

static int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

static uint64_t
metric(struct fake_stack *s, const char *name)
{
  for (const struct gi_metric *m = s->x->cls->metrics; m->name; m++)
    if (strcmp(m->name, name) == 0)
      return gi_metric_value(m, s->x->metrics);
  fail_msg("no metric %s", name);
  return 0;
}

/* ---- requests ---- */

static struct gi_iatt
attributes(uint8_t n, uint64_t size)
{
  struct gi_iatt a = {.mode = S_IFREG | 0644, .size = size, .nlink = 1, .mtime.sec = 100, .ctime.sec = 100};

  memset(&a.gfid, n, sizeof(a.gfid));
  return a;
}

static void
fill_stat(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = *(struct gi_iatt *)arg;
}

static struct gi_fop *
on_fd(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(s, kind);

  gi_fop_set_fd(f, fd);
  return f;
}

static struct gi_fop *
stat_of(struct fake_stack *s, struct gi_fd *fd, uint64_t size)
{
  struct gi_iatt a = attributes(fd->inode->gfid.b[0], size);
  struct gi_fop *f = on_fd(s, GI_FOP_FSTAT, fd);

  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &a});
  fake_submit(s, f);
  fake_script_clear(s);
  return f;
}

/* Open for writing, with attributes that are known. */
static struct gi_fd *
opened(struct fake_stack *s, uint8_t n, uint64_t size)
{
  struct gi_fd *fd = fake_fd(s, n);
  struct gi_fop *f = on_fd(s, GI_FOP_OPEN, fd);

  f->args.flags = O_RDWR;
  fake_submit(s, f);
  stat_of(s, fd, size);
  fake_forget_seen(s);
  return fd;
}

static struct gi_fop *
write_fop(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, size_t len, char c)
{
  struct gi_fop *f = on_fd(s, GI_FOP_WRITE, fd);
  struct gi_buf *buf = gi_buf_new(len);

  memset(buf->base, c, len);
  gi_payload_add(&f->payload, buf, buf->base, len);
  gi_buf_unref(&buf);
  f->args.offset = offset;
  f->args.size = len;
  return f;
}

static struct gi_fop *
put(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, size_t len, char c)
{
  struct gi_fop *f = write_fop(s, fd, offset, len, c);

  fake_submit(s, f);
  return f;
}

static struct gi_fop *
sync_it(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = on_fd(s, kind, fd);

  fake_submit(s, f);
  return f;
}

static void
hold(struct fake_stack *s, enum gi_fop_kind kind)
{
  fake_script_always(s, 0, kind, (struct fake_reply){.hold = true});
}

static void
release_writes(struct fake_stack *s)
{
  struct gi_fop *f;
  unsigned n = 0;

  while ((f = fake_held_fop(s, 0, n)) != NULL)
    if (f->kind == GI_FOP_WRITE)
      fake_release_fop(s, f, (int32_t)f->payload.len, 0);
    else
      n++;
}

#define writes(s) fake_count(s, 0, GI_FOP_WRITE)

static void
is_early(const struct gi_fop *f)
{
  assert_true(f->answered);
  assert_true(f->rsp.early);
  assert_int_equal(f->rsp.ret, (int)f->payload.len);
}

/* ---- early answers ---- */

static void
test_transparent(void **state)
{
  struct fake_stack *s = new_stack("option flush-behind off\n");

  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_a_write_is_answered_before_the_bricks_have_it(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  f = put(s, fd, 4096, 512, 'a');
  is_early(f);
  assert_int_equal(f->rsp.pre.size, 100);
  assert_int_equal(f->rsp.post.size, 4608);
  assert_true(f->caller.time.sec > 100);
  assert_int_equal(f->rsp.post.mtime.sec, f->caller.time.sec);
  assert_int_equal(f->rsp.post.ctime.nsec, f->caller.time.nsec);
  assert_int_equal(fake_held(s, 0), 1); /* it left at once */
  assert_int_equal(fake_held_fop(s, 0, 0)->caller.time.nsec, f->caller.time.nsec);
  assert_int_equal(told.events, 0);
  release_writes(s);
  assert_int_equal(told.events, 1);
  assert_int_equal(told.changes, 1);
  assert_int_equal(told.err, 0);
  assert_int_equal(metric(s, "dirty"), 0);
}

static void
test_what_the_bricks_found_is_told(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, 512, 'a');
  f = fake_held_fop(s, 0, 0);
  f->rsp.pre = attributes(FILE_A, 7);
  f->rsp.post = attributes(FILE_A, 9999); /* somebody else wrote, too */
  release_writes(s);
  assert_int_equal(told.left, 9999);
  f = put(s, fd, 512, 512, 'b');
  is_early(f);
  assert_int_equal(f->rsp.pre.size, 9999);
  assert_int_equal(f->rsp.post.size, 9999);
}

static void
not_early(struct fake_stack *s, struct gi_fop *f)
{
  fake_forget_seen(s);
  hold(s, GI_FOP_WRITE);
  fake_submit(s, f);
  assert_false(f->answered);
  assert_int_equal(writes(s), 1);
  release_writes(s);
  assert_true(f->answered);
  assert_false(f->rsp.early);
  fake_script_clear(s);
}

static void
test_what_is_not_answered_early(void **state)
{
  struct fake_stack *s = new_stack("option strict-O_DIRECT on\n");
  struct gi_fd *fd = opened(s, FILE_A, 100), *unknown = fake_fd(s, FILE_B);
  static const uint32_t flags[] = {O_SYNC, O_DSYNC, O_DIRECT, O_APPEND};
  struct gi_fop *f;
  struct gi_iatt a;

  for (unsigned i = 0; i < GI_ARRAY_LEN(flags); i++) {
    f = write_fop(s, fd, 0, 512, 'a');
    f->args.flags = flags[i];
    not_early(s, f);
    fd->flags |= (int32_t)flags[i];
    not_early(s, write_fop(s, fd, 0, 512, 'a'));
    fd->flags &= ~(int32_t)flags[i];
  }
  f = write_fop(s, fd, 0, 512, 'a');
  f->caller.pid = -1;
  not_early(s, f);
  f = write_fop(s, fd, 0, 512, 'a');
  gi_dict_set_int(gi_fop_xdata(f), "something", 1);
  not_early(s, f);
  not_early(s, write_fop(s, unknown, 0, 512, 'a'));
  a = attributes(FILE_A, 100);
  a.mode |= S_ISUID;
  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &a});
  fake_submit(s, on_fd(s, GI_FOP_FSTAT, fd));
  not_early(s, write_fop(s, fd, 0, 512, 'a'));
  assert_int_equal(told.events, 0);
  stat_of(s, fd, 100);
  is_early(put(s, fd, 0, 512, 'a'));
  fake_stack_free(s);
}

/* The bricks decide where a record lands. */
static void
test_an_append_at_the_known_end_is_answered_early(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 100);
  struct gi_fop *f[4];

  fd->flags |= O_APPEND;
  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 4; i++)
    is_early(f[i] = put(s, fd, 100 + 10 * i, 10, 'a'));
  assert_int_equal(fake_held(s, 0), 1);
  release_writes(s);
  assert_int_equal(writes(s), 2); /* the other three as one record */
  assert_int_equal(s->seen[1].size, 30);
  assert_int_equal(told.changes, 4);
}

/* ---- messages ---- */

static void
test_writes_gather_while_one_is_under_way(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f, *last;
  char c;

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 6; i++)
    is_early(last = put(s, fd, i * PAGE, PAGE, (char)('a' + i)));
  assert_int_equal(fake_held(s, 0), 1);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  assert_int_equal(told.changes, 1);
  f = fake_held_fop(s, 0, 0);
  assert_int_equal(f->args.offset, PAGE);
  assert_int_equal(f->payload.len, 5 * PAGE);
  assert_int_equal(f->payload.count, 5);
  assert_int_equal(f->caller.time.nsec, last->caller.time.nsec);
  for (unsigned i = 0; i < 5; i++) {
    gi_payload_read(&f->payload, i * PAGE + PAGE / 2, &c, 1);
    assert_int_equal(c, 'b' + (int)i);
  }
  release_writes(s);
  assert_int_equal(told.events, 2);
  assert_int_equal(told.of_each[1], 5);
  assert_int_equal(metric(s, "merged"), 4);
}

/* Full, beyond the slices of a payload, of another descriptor or owner, or not in line: the message leaves. */
static void
test_a_message_leaves_when_nothing_more_joins(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0), *other = opened(s, FILE_A, 0);
  struct gi_fop *f;
  uint64_t copied = gi_payload_copied;

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 10; i++)
    is_early(put(s, fd, i * 512, 512, 'a'));
  assert_int_equal(fake_held(s, 0), 2);
  assert_int_equal(s->seen[1].size, 8 * 512);
  assert_int_equal(gi_payload_copied, copied);
  is_early(put(s, other, 10 * 512, 512, 'a'));
  assert_int_equal(fake_held(s, 0), 3);
  f = write_fop(s, other, 11 * 512, 512, 'a');
  f->caller.owner.len = 8;
  fake_submit(s, f);
  assert_int_equal(fake_held(s, 0), 4);
  f = write_fop(s, other, 12 * 512, 512, 'a');
  f->caller.uid = 7;
  fake_submit(s, f);
  assert_int_equal(fake_held(s, 0), 5);
  put(s, fd, 1 << 20, 512, 'a');
  assert_int_equal(fake_held(s, 0), 6);
  put(s, fd, (1 << 20) + 512, 100 << 10, 'a');
  assert_int_equal(fake_held(s, 0), 6);
  put(s, fd, (1 << 20) + 512 + (100 << 10), 100 << 10, 'a'); /* too much for one message */
  assert_int_equal(fake_held(s, 0), 7);
  put(s, fd, 4 << 20, 128 << 10, 'a'); /* one by itself */
  assert_int_equal(fake_held(s, 0), 9);
  release_writes(s);
  assert_int_equal(told.changes, 17);
}

static void
test_slices_of_one_buffer_are_one(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 2 << 20);
  struct gi_buf *buf = gi_buf_new(128 << 10);

  hold(s, GI_FOP_WRITE);
  put(s, fd, 1 << 20, 512, 'x');
  for (unsigned i = 0; i < 16; i++) {
    struct gi_fop *f = on_fd(s, GI_FOP_WRITE, fd);

    gi_payload_add(&f->payload, buf, buf->base + i * PAGE, PAGE);
    f->args.offset = i * PAGE;
    fake_submit(s, f);
    is_early(f);
  }
  gi_buf_unref(&buf);
  assert_int_equal(fake_held(s, 0), 2);
  assert_int_equal(s->seen[1].size, 128 << 10);
  release_writes(s);
}

static void
test_overlapping_writes_are_never_under_way_together(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);

  hold(s, GI_FOP_WRITE);
  is_early(put(s, fd, 0, PAGE, 'a'));
  is_early(put(s, fd, 2 * PAGE, PAGE, 'b')); /* apart: gathers */
  is_early(put(s, fd, PAGE / 2, PAGE, 'c')); /* waits for 'a' */
  is_early(put(s, fd, 6 * PAGE, PAGE, 'd'));
  assert_int_equal(fake_held(s, 0), 2);
  fake_release_fop(s, fake_held_fop(s, 0, 1), PAGE, 0);
  assert_int_equal(fake_held(s, 0), 1);
  fake_release_fop(s, fake_held_fop(s, 0, 0), PAGE, 0);
  assert_int_equal(s->seen[2].offset, PAGE / 2);
  release_writes(s);
  assert_int_equal(told.changes, 4);
}

/* Those above count the oldest first. */
static void
test_the_end_of_the_oldest_is_told_first(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, 2 * PAGE, PAGE, 'b');
  put(s, fd, 3 * PAGE, PAGE, 'b');
  put(s, fd, 6 * PAGE, PAGE, 'c');
  assert_int_equal(fake_held(s, 0), 2);
  fake_release_fop(s, fake_held_fop(s, 0, 1), 2 * PAGE, 0);
  assert_int_equal(told.events, 0);
  fake_release_fop(s, fake_held_fop(s, 0, 0), PAGE, 0);
  assert_int_equal(told.events, 2);
  assert_int_equal(told.of_each[0], 1);
  assert_int_equal(told.of_each[1], 2);
  release_writes(s);
}

static void
test_a_short_write_sends_the_rest(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  fake_release(s, 0, GI_FOP_WRITE, 100, 0);
  f = fake_held_fop(s, 0, 0);
  assert_int_equal(f->args.offset, 100);
  assert_int_equal(f->payload.len, PAGE - 100);
  assert_int_equal(told.events, 0);
  release_writes(s);
  assert_int_equal(told.changes, 1);
  put(s, fd, 0, PAGE, 'a');
  fake_release(s, 0, GI_FOP_WRITE, 0, 0); /* nothing at all is a failure */
  assert_int_equal(told.err, EIO);
}

static void
test_without_trickling_writes_wait_for_more(void **state)
{
  struct fake_stack *s = new_stack("option trickling-writes off\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);

  is_early(put(s, fd, 0, 512, 'a'));
  is_early(put(s, fd, 512, 512, 'a'));
  assert_int_equal(writes(s), 0);
  sync_it(s, GI_FOP_FSYNC, fd);
  assert_int_equal(writes(s), 1);
  is_early(put(s, fd, 1024, 512, 'a'));
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC); /* but not for ever */
  assert_int_equal(writes(s), 2);
  fake_stack_free(s);
}

static void
test_strict_write_ordering(void **state)
{
  struct fake_stack *s = new_stack("option strict-write-ordering on\n");
  struct gi_fd *fd = opened(s, FILE_A, 1 << 20);

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 4; i++)
    is_early(put(s, fd, i * 3 * PAGE, PAGE, 'a'));
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(fake_held(s, 0), 1);
    assert_int_equal(fake_held_fop(s, 0, 0)->args.offset, i * 3 * PAGE);
    fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  }
  fake_stack_free(s);
}

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

static struct gi_fop *
get(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = on_fd(s, GI_FOP_READ, fd);

  f->args.offset = offset;
  f->args.size = size;
  fake_submit(s, f);
  return f;
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
  assert_int_equal(fake_held(s, 0), 1);
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

static struct gi_fop *
lock(struct fake_stack *s, struct gi_fd *fd, uint32_t type)
{
  struct gi_fop *f = on_fd(s, GI_FOP_LK, fd);

  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = f->args.flock.type = type;
  fake_submit(s, f);
  return f;
}

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

/* ---- fsync, close, errors ---- */

static void
test_close_returns_before_the_flush_is_sent(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f, *lk;

  hold(s, GI_FOP_WRITE);
  hold(s, GI_FOP_FLUSH);
  put(s, fd, 0, PAGE, 'a');
  f = sync_it(s, GI_FOP_FLUSH, fd);
  assert_false(f->answered); /* the data it waits for */
  release_writes(s);
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_FLUSH), 1);
  lk = lock(s, fd, GI_LK_WRITE); /* or the flush would take it away again */
  assert_false(lk->answered);
  fake_release(s, 0, GI_FOP_FLUSH, 0, 0);
  assert_true(lk->answered);
  f = sync_it(s, GI_FOP_FLUSH, fd); /* of a locked file: it must have let go */
  assert_false(f->answered);
  fake_release(s, 0, GI_FOP_FLUSH, 0, 0);
  assert_true(f->answered);
}

/* A matrix of who is told of lost data: by what, on which descriptor. */
static void
test_each_descriptor_is_told_once(void **state)
{
  static const enum gi_fop_kind by[] = {GI_FOP_FSYNC, GI_FOP_FLUSH, GI_FOP_WRITE};

  for (unsigned first = 0; first < 3; first++)
    for (unsigned second = 0; second < 3; second++)
      for (unsigned behind = 0; behind < 2; behind++) {
        struct fake_stack *s = new_stack(behind ? NULL : "option flush-behind off\n");
        struct gi_fd *a = opened(s, FILE_A, 0), *b = opened(s, FILE_A, 0), *late;
        struct gi_fop *f;

        fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ENOSPC});
        is_early(put(s, a, 0, PAGE, 'a'));
        assert_int_equal(told.err, ENOSPC);
        late = opened(s, FILE_A, 0);
        for (unsigned i = 0; i < 2; i++) {
          enum gi_fop_kind kind = by[i == 0 ? first : second];
          struct gi_fd *fd = i == 0 ? b : a;

          f = kind == GI_FOP_WRITE ? put(s, fd, 0, PAGE, 'a') : sync_it(s, kind, fd);
          assert_int_equal(f->rsp.ret, -1);
          assert_int_equal(f->rsp.err, ENOSPC);
          f = sync_it(s, kind == GI_FOP_WRITE ? GI_FOP_FSYNC : kind, fd);
          assert_int_equal(f->rsp.ret, 0);
        }
        assert_int_equal(sync_it(s, GI_FOP_FSYNC, late)->rsp.ret, 0);
        assert_int_equal(metric(s, "told"), 2);
        fake_stack_free(s);
      }
}

static void
test_who_waits_for_data_that_is_lost_is_told(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f, *read;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  f = sync_it(s, GI_FOP_FSYNC, fd);
  read = get(s, fd, 0, 2 * PAGE);
  fake_release(s, 0, GI_FOP_WRITE, -1, ENOTCONN);
  assert_int_equal(f->rsp.err, ENOTCONN);
  assert_true(read->answered);
  assert_int_equal(read->rsp.ret, 2 * PAGE);
  assert_int_equal(told.failed, 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSYNC), 1);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.ret, 0);
}

static void
test_failed_data_is_kept_and_tried_again(void **state)
{
  struct fake_stack *s = new_stack("option resync-failed-syncs-after-fsync on\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  put(s, fd, 0, PAGE, 'a');
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.err, EIO);
  assert_int_equal(writes(s), 4);
  assert_int_equal(told.events, 0);
  fake_script_clear(s);
  assert_int_equal(sync_it(s, GI_FOP_FSYNC, fd)->rsp.ret, 0);
  assert_int_equal(told.changes, 1);
  assert_int_equal(told.err, 0);

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  stat_of(s, fd, 0);
  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  is_early(put(s, fd, 0, PAGE, 'a'));
  f = sync_it(s, GI_FOP_FLUSH, fd); /* close(2) is the last chance */
  assert_int_equal(f->rsp.err, EIO);
  assert_int_equal(told.err, EIO);
  assert_int_equal(metric(s, "dirty"), 0);
  fake_stack_free(s);
}

/* Older bytes must not come back. */
static void
test_kept_data_gives_way_to_newer(void **state)
{
  struct fake_stack *s = new_stack("option resync-failed-syncs-after-fsync on\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *cut = on_fd(s, GI_FOP_FTRUNCATE, fd);

  fake_script_always(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = EIO});
  put(s, fd, 0, PAGE, 'a');
  assert_int_equal(metric(s, "kept"), 1);
  assert_int_equal(put(s, fd, 0, PAGE, 'b')->rsp.err, EIO);
  assert_int_equal(metric(s, "kept"), 1);
  fake_submit(s, cut);
  assert_int_equal(cut->rsp.ret, 0);
  assert_int_equal(told.err, EIO);
  assert_int_equal(metric(s, "dirty"), 0);
  fake_stack_free(s);
}

/* ---- bounds ---- */

static void
test_a_full_window_lets_writes_wait(void **state)
{
  struct fake_stack *s = new_stack("option cache-size 512KB\n");
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;
  struct gi_error err;

  hold(s, GI_FOP_WRITE);
  for (unsigned i = 0; i < 8; i++)
    is_early(put(s, fd, i * (64u << 10), 64 << 10, 'a'));
  f = put(s, fd, 8 * (64u << 10), 64 << 10, 'a');
  assert_false(f->answered);
  fake_release(s, 0, GI_FOP_WRITE, 64 << 10, 0);
  is_early(f);
  f = put(s, fd, 12 * (64u << 10), 64 << 10, 'a');
  assert_false(f->answered);
  assert_int_equal(metric(s, "waited_window"), 2);
  assert_int_equal(fake_stack_children(s, "option cache-size 1MB\n", (unsigned[]){0}, 1, &err),
                   0); /* live, for known files too */
  is_early(f);
  release_writes(s);
  assert_int_equal(told.changes, 10);
  fake_stack_free(s);
}

static void
test_all_files_together_have_a_bound(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *a = opened(s, FILE_A, 0), *b = opened(s, FILE_B, 0);
  struct gi_fop *f;

  gi_budget_set_limit(&s->ctx.budget, 4 * 3 * PAGE);
  hold(s, GI_FOP_WRITE);
  is_early(put(s, a, 0, PAGE, 'a'));
  is_early(put(s, a, PAGE, PAGE, 'a'));
  is_early(put(s, b, 0, PAGE, 'b'));
  f = put(s, b, PAGE, PAGE, 'b');
  assert_false(f->answered);
  assert_int_equal(fake_held(s, 0), 3); /* what gathers is pushed */
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  is_early(f);
  release_writes(s);
  assert_int_equal(metric(s, "waited_memory"), 1);
  assert_int_equal(told.changes, 4);
}

/* ---- leaving ---- */

static void
test_drained_it_has_nothing(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_fop *f;

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, PAGE, PAGE, 'b');
  gi_xlator_enable(s->x, false);
  fake_settle(s);
  assert_true(s->x->draining);
  assert_int_equal(fake_held(s, 0), 2); /* nothing waits for more */
  f = put(s, fd, PAGE, PAGE, 'c');      /* behind what is there, and not early */
  assert_false(f->answered);
  assert_int_equal(fake_held(s, 0), 2);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  assert_int_equal(fake_held(s, 0), 1);
  assert_false(s->x->draining);
  assert_false(s->x->enabled);
  release_writes(s);
  assert_true(f->answered);
  assert_false(f->rsp.early);
  assert_int_equal(told.changes, 2);

  gi_xlator_enable(s->x, false);
  gi_xlator_enable(s->x, true);
  fake_script_clear(s);
  stat_of(s, fd, 0);
  assert_false(put(s, fd, 0, 512, 'a')->rsp.early); /* what went past it may still be under way */
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC);
  stat_of(s, fd, 0);
  assert_true(put(s, fd, 0, 512, 'a')->rsp.early);
}

static void
test_idle_it_leaves_at_once(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);

  is_early(put(s, fd, 0, PAGE, 'a'));
  gi_xlator_enable(s->x, false);
  assert_false(s->x->draining);
  assert_false(s->x->enabled);
}

static void
test_those_below_hear_of_the_end_when_all_is_written(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);

  hold(s, GI_FOP_WRITE);
  put(s, fd, 0, PAGE, 'a');
  put(s, fd, PAGE, PAGE, 'b');
  gi_graph_deactivate(s->graph);
  fake_settle(s);
  assert_int_equal(fake_held(s, 0), 2);
  assert_int_equal(s->below[GI_EVENT_PARENT_DOWN], 0);
  release_writes(s);
  assert_int_equal(told.changes, 2);
  assert_int_equal(s->below[GI_EVENT_PARENT_DOWN], 1);
}

static void
test_passing_through_it_answers_nothing_early(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0);
  struct gi_error err;

  is_early(put(s, fd, 0, PAGE, 'a'));
  assert_int_equal(fake_stack_children(s, "option pass-through on\n", (unsigned[]){0}, 1, &err), 0);
  stat_of(s, fd, 0);
  not_early(s, write_fop(s, fd, 0, PAGE, 'a'));
}

static void
test_a_released_descriptor_stays_until_it_is_written(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = opened(s, FILE_A, 0), *mine = gi_fd_new(s->graph, fd->inode, O_RDWR, 100);
  unsigned live = s->graph->fds_live;

  hold(s, GI_FOP_WRITE);
  fake_fop_free(put(s, mine, 0, PAGE, 'a'));
  gi_fd_unref(&mine);
  assert_int_equal(s->graph->fds_live, live);
  release_writes(s);
  assert_int_equal(s->graph->fds_live, live - 1);
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
  put(s, fd, 8 * PAGE, PAGE, 'c');
  assert_int_equal(fake_held(s, 0), 2);
  fake_held_fop(s, 0, 0)->rsp.post = attributes(FILE_A, PAGE);
  fake_held_fop(s, 0, 1)->rsp.post = attributes(FILE_A, 5 * PAGE);
  fake_release_fop(s, fake_held_fop(s, 0, 1), PAGE, 0);
  fake_release(s, 0, GI_FOP_WRITE, PAGE, 0);
  fake_held_fop(s, 0, 0)->rsp.post = attributes(FILE_A, 9 * PAGE);
  release_writes(s);
  f = put(s, fd, 0, 512, 'a');
  assert_int_equal(f->rsp.post.size, 9 * PAGE);
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
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC);
  not_early(s, write_fop(s, fd, 0, 512, 'a'));
}

static void
fill_created(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = attributes(FILE_A, 0);
  gi_fd_bind(fop->fd, &fop->rsp.stat.gfid);
}

static void
test_a_new_file_is_known(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = gi_fd_new(s->graph, NULL, O_RDWR, 100);
  struct gi_fop *f = fake_fop(s, GI_FOP_CREATE), *w;

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIR), "name");
  f->fd = gi_fd_ref(fd);
  fake_script(s, 0, GI_FOP_CREATE, (struct fake_reply){.fill = fill_created});
  fake_submit(s, f);
  w = put(s, fd, 0, 512, 'a');
  gi_fd_unref(&fd);
  is_early(w);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      TEST(test_a_write_is_answered_before_the_bricks_have_it),
      TEST(test_what_the_bricks_found_is_told),
      cmocka_unit_test(test_what_is_not_answered_early),
      TEST(test_an_append_at_the_known_end_is_answered_early),
      TEST(test_writes_gather_while_one_is_under_way),
      TEST(test_a_message_leaves_when_nothing_more_joins),
      TEST(test_slices_of_one_buffer_are_one),
      TEST(test_overlapping_writes_are_never_under_way_together),
      TEST(test_the_end_of_the_oldest_is_told_first),
      TEST(test_a_short_write_sends_the_rest),
      cmocka_unit_test(test_without_trickling_writes_wait_for_more),
      cmocka_unit_test(test_strict_write_ordering),
      cmocka_unit_test(test_every_kind_waits_or_says_why_not),
      TEST(test_open_that_empties_waits),
      TEST(test_the_second_file_counts),
      TEST(test_rename_of_an_unknown_file_waits_for_all),
      TEST(test_reads_wait_for_their_range_or_are_answered_from_it),
      TEST(test_a_read_over_two_writes_waits_for_both),
      TEST(test_a_read_of_a_new_hole_waits),
      TEST(test_only_earlier_writes_are_waited_for),
      TEST(test_truncation_is_ordered_on_both_sides),
      TEST(test_an_unlock_waits_for_all_files),
      TEST(test_a_granted_lock_ends_what_is_known),
      TEST(test_a_cancelled_lock_goes_without_waiting),
      TEST(test_close_returns_before_the_flush_is_sent),
      cmocka_unit_test(test_each_descriptor_is_told_once),
      TEST(test_who_waits_for_data_that_is_lost_is_told),
      cmocka_unit_test(test_failed_data_is_kept_and_tried_again),
      cmocka_unit_test(test_kept_data_gives_way_to_newer),
      cmocka_unit_test(test_a_full_window_lets_writes_wait),
      TEST(test_all_files_together_have_a_bound),
      TEST(test_drained_it_has_nothing),
      TEST(test_idle_it_leaves_at_once),
      TEST(test_those_below_hear_of_the_end_when_all_is_written),
      TEST(test_passing_through_it_answers_nothing_early),
      TEST(test_a_released_descriptor_stays_until_it_is_written),
      TEST(test_stat_shows_what_is_not_written_yet),
      TEST(test_an_old_reply_does_not_shrink_the_file),
      TEST(test_replies_in_another_order_do_not_shrink_the_file),
      TEST(test_listings_show_what_is_not_written_yet),
      TEST(test_others_changes_end_what_is_known),
      TEST(test_a_new_file_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
