/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of performance/quick-read share: a file on a fake brick that
 * sends its content, and who opens and reads it.
 */
#ifndef QUICK_READ_RIG_H
#define QUICK_READ_RIG_H

#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

#define FILE_A 5
#define FILE_B 6
#define SIZE 1000u

enum { HITS, MISSES, FETCHED, AHEAD, CONFIRMED, UNUSED, DROPPED };

/* The file on the brick. */
struct brick {
  struct gi_iatt at;
  char byte;          /* of which all of it consists */
  bool ours;          /* sends content with an open */
  unsigned asked;     /* opens that asked for content */
  unsigned sent;      /* and got it */
  bool stale_answers; /* STAT and LOOKUP are answered from a cache */
  struct gi_iatt stale;
};

static struct brick brick;

struct open_file {
  struct gi_fop *fop;
  struct gi_fd *fd;
};

static inline void
become(struct gi_fop *fop)
{
  fop->rsp.stat = brick.stale_answers && fop->kind != GI_FOP_READ ? brick.stale : brick.at;
  fop->rsp.stat.gfid = fop->loc.inode ? fop->loc.inode->gfid : fop->fd->inode->gfid;
}

static inline void
serve_look(struct gi_fop *fop, void *arg)
{
  become(fop);
}

static inline void
serve_open(struct gi_fop *fop, void *arg)
{
  const struct gi_pair *has = gi_dict_get(fop->xdata, GI_CONTENT_STAT_KEY);
  char data[SIZE * 2];
  uint64_t max = 0;
  if (!brick.ours || !gi_dict_get_uint(fop->xdata, GI_CONTENT_KEY, &max))
    return;
  brick.asked += max > 0;
  gi_dict_set_iatt(gi_fop_rsp_xdata(fop), GI_CONTENT_STAT_KEY, &brick.at);
  if (brick.at.size > max || (has && has->iatt->mtime.nsec == brick.at.mtime.nsec && has->iatt->size == brick.at.size &&
                              has->iatt->ctime.nsec == brick.at.ctime.nsec))
    return;
  memset(data, brick.byte, sizeof(data));
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), GI_CONTENT_KEY, data, (uint32_t)brick.at.size);
  brick.sent++;
}

static inline void
serve_read(struct gi_fop *fop, void *arg)
{
  uint64_t from = fop->args.offset < brick.at.size ? fop->args.offset : brick.at.size, len = brick.at.size - from;
  if (len > fop->args.size)
    len = fop->args.size;
  char data[SIZE * 2];
  memset(data, brick.byte, sizeof(data));
  gi_payload_add_copy(&fop->rsp.payload, data, len);
  fop->rsp.ret = (int)len;
  become(fop);
}

/* Somebody elsewhere wrote it. */
static inline void
rewrite(char byte)
{
  brick.byte = byte;
  brick.at.mtime.nsec++;
  brick.at.ctime.nsec++;
}

static inline struct fake_stack *
stack(const char *options)
{
  struct fake_stack *s = fake_stack_new("performance/quick-read", options, 1);
  brick = (struct brick){.at = {.flags = GI_IATT_BASIC, .mode = S_IFREG | 0644, .size = SIZE, .mtime = {7, 7}, .ctime = {7, 7}},
                         .byte = 'a',
                         .ours = true};
  fake_script_always(s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = serve_open});
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.fill = serve_read});
  fake_script_always(s, 0, GI_FOP_STAT, (struct fake_reply){.fill = serve_look});
  fake_script_always(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = serve_look});
  return s;
}

static inline int
setup(void **state)
{
  *state = stack(NULL);
  return 0;
}

static inline int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

static inline uint64_t
metric(const struct fake_stack *s, unsigned row)
{
  return gi_metric_value(&s->x->cls->metrics[row], s->x->metrics);
}

static inline struct open_file
open_file(struct fake_stack *s, int flags)
{
  struct open_file o = {.fop = fake_fop(s, GI_FOP_OPEN)};
  o.fd = gi_fd_new(s->graph, fake_inode(s, FILE_A), flags, 100);
  gi_fop_set_fd(o.fop, o.fd);
  o.fop->args.flags = (uint32_t)flags;
  fake_submit(s, o.fop);
  return o;
}

static inline void
shut(struct fake_stack *s, struct open_file *o)
{
  fake_fop_free(o->fop);
  gi_fd_unref(&o->fd);
  fake_settle(s);
}

static inline struct gi_fop *
on_fd(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fd);
  f->args.size = 2 * SIZE;
  fake_submit(s, f);
  return f;
}

static inline unsigned
reads(struct fake_stack *s)
{
  return fake_count(s, 0, GI_FOP_READ);
}

/* What a read of the whole file finds must be what the file is. */
static inline void
check_read(struct fake_stack *s, struct gi_fd *fd, bool from_memory)
{
  unsigned before = reads(s);
  struct gi_fop *f = on_fd(s, GI_FOP_READ, fd);
  char data[2 * SIZE];
  assert_int_equal(f->rsp.ret, (int)brick.at.size);
  assert_int_equal(gi_payload_read(&f->rsp.payload, 0, data, sizeof(data)), brick.at.size);
  for (uint64_t i = 0; i < brick.at.size; i++)
    assert_int_equal(data[i], brick.byte);
  assert_int_equal(reads(s) - before, !from_memory);
  if (from_memory) {
    assert_int_equal(f->rsp.err, ENOENT); /* it ends there */
    assert_int_equal(f->rsp.stat.size, brick.at.size);
    assert_true(f->rsp.asked > 0 && f->rsp.asked <= f->start_ns + GI_NSEC_PER_SEC);
  }
  fake_fop_free(f);
}

/* Opened and read once: the content is here. */
static inline struct open_file
open_read(struct fake_stack *s)
{
  struct open_file o = open_file(s, O_RDWR);
  check_read(s, o.fd, true);
  return o;
}

#endif
