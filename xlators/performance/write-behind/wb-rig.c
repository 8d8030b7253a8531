/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to write-behind, and what it tells (wb-rig.h).
 */
#include "xlators/performance/write-behind/wb-rig.h"

/* ---- what reaches those above ---- */

struct told told;

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

struct fake_stack *
new_stack(const char *options)
{
  struct fake_stack *s = fake_stack_new("performance/write-behind", options, 1);

  memset(&told, 0, sizeof(told));
  spy = *s->parent->cls;
  spy.notify = spy_notify;
  s->parent->cls = &spy;
  return s;
}

int
setup(void **state)
{
  *state = new_stack(NULL);
  return 0;
}

int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

uint64_t
metric(struct fake_stack *s, const char *name)
{
  for (const struct gi_metric *m = s->x->cls->metrics; m->name; m++)
    if (strcmp(m->name, name) == 0)
      return gi_metric_value(m, s->x->metrics);
  fail_msg("no metric %s", name);
  return 0;
}

/* ---- requests ---- */

struct gi_iatt
attributes(uint8_t n, uint64_t size)
{
  struct gi_iatt a = {.mode = S_IFREG | 0644, .size = size, .nlink = 1, .mtime.sec = 100, .ctime.sec = 100};

  memset(&a.gfid, n, sizeof(a.gfid));
  return a;
}

void
fill_stat(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = *(struct gi_iatt *)arg;
}

struct gi_fop *
on_fd(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(s, kind);

  gi_fop_set_fd(f, fd);
  return f;
}

struct gi_fop *
stat_of(struct fake_stack *s, struct gi_fd *fd, uint64_t size)
{
  struct gi_iatt a = attributes(fd->inode->gfid.b[0], size);
  struct gi_fop *f = on_fd(s, GI_FOP_FSTAT, fd);

  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &a});
  fake_submit(s, f);
  fake_script_clear(s);
  return f;
}

struct gi_fd *
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

struct gi_fop *
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

struct gi_fop *
put(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, size_t len, char c)
{
  struct gi_fop *f = write_fop(s, fd, offset, len, c);

  fake_submit(s, f);
  return f;
}

struct gi_fop *
sync_it(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = on_fd(s, kind, fd);

  fake_submit(s, f);
  return f;
}

void
hold(struct fake_stack *s, enum gi_fop_kind kind)
{
  fake_script_always(s, 0, kind, (struct fake_reply){.hold = true});
}

static void
release_held(struct fake_stack *s)
{
  struct gi_fop *f;
  unsigned n = 0;

  while ((f = fake_held_fop(s, 0, n)) != NULL)
    if (f->kind == GI_FOP_WRITE)
      fake_release_fop(s, f, (int32_t)f->payload.len, 0);
    else
      n++;
}

void
release_writes(struct fake_stack *s)
{
  release_held(s);
  for (unsigned i = 0; i < 10 && metric(s, "dirty"); i++) {
    fake_wait(s, GATHERED);
    release_held(s);
  }
}

void
is_early(const struct gi_fop *f)
{
  assert_true(f->answered);
  assert_true(f->rsp.early);
  assert_int_equal(f->rsp.ret, (int)f->payload.len);
}

void
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

struct gi_fop *
get(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = on_fd(s, GI_FOP_READ, fd);

  f->args.offset = offset;
  f->args.size = size;
  fake_submit(s, f);
  return f;
}

struct gi_fop *
lock(struct fake_stack *s, struct gi_fd *fd, uint32_t type)
{
  struct gi_fop *f = on_fd(s, GI_FOP_LK, fd);

  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = f->args.flock.type = type;
  fake_submit(s, f);
  return f;
}
