/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of tests/unit/disk.h.
 */
#include "tests/unit/disk.h"

#include <errno.h>
#include <fcntl.h>

struct disk_op {
  struct gi_list link;
  struct gi_fop *fop;
  bool done;
};

struct unwritten {
  struct gi_list link;
  uint64_t offset, size;
};

struct reader {
  struct gi_list link;
  struct disk *d;
  uint64_t offset, size;
  uint8_t allowed[DISK_MAX]; /* bit per value */
  uint64_t sizes[256];
  unsigned nsizes;
};

/* ---- chance ---- */

uint64_t
disk_random(struct disk *d, uint64_t below)
{
  d->random ^= d->random << 13;
  d->random ^= d->random >> 7;
  d->random ^= d->random << 17;
  return d->random % below;
}

/* ---- what readers may see ---- */

static void
allow_size(uint64_t *sizes, unsigned *n, unsigned max, uint64_t size)
{
  for (unsigned i = 0; i < *n; i++)
    if (sizes[i] == size)
      return;
  assert_true(*n < max);
  sizes[(*n)++] = size;
}

static void
set_byte(struct disk *d, uint64_t at, uint8_t value, bool foreign)
{
  if (foreign)
    d->stale[at] |= (uint8_t)(1u << d->bytes[at]);
  else
    d->stale[at] = 0;
  d->bytes[at] = value;
  gi_list_foreach(r, &d->readers, struct reader, link)
    r->allowed[at] |= (uint8_t)(1u << value);
}

static void
set_size(struct disk *d, uint64_t size, bool foreign)
{
  if (size == d->size)
    return;
  if (foreign)
    allow_size(d->stale_sizes, &d->nstale_sizes, 64, d->size);
  else if (size < d->size)
    d->nstale_sizes = 0; /* who writes does not learn where the file ended before */
  for (uint64_t at = size; at < d->size; at++)
    set_byte(d, at, 0, foreign);
  d->size = size;
  gi_list_foreach(r, &d->readers, struct reader, link)
    allow_size(r->sizes, &r->nsizes, 256, size);
}

static void
stamp(struct disk *d)
{
  d->clock++;
  d->attr.mtime = d->attr.ctime = (struct gi_time){(int64_t)d->clock, 0};
  d->attr.size = d->size;
}

static void
apply_write(struct disk *d, uint64_t offset, uint64_t size, uint8_t value, bool foreign)
{
  for (uint64_t at = offset; at < offset + size; at++)
    set_byte(d, at, value, foreign);
  if (offset + size > d->size)
    set_size(d, offset + size, foreign);
}

static void
check_read(struct gi_fop *fop, void *arg)
{
  struct reader *r = arg;
  uint8_t got[DISK_MAX];
  size_t len = gi_payload_read(&fop->rsp.payload, 0, got, sizeof(got));
  bool size_right = false;
  assert_true(fop->rsp.ret >= 0);
  assert_int_equal(len, fop->rsp.ret);
  for (unsigned i = 0; i < r->nsizes; i++) {
    uint64_t end = r->offset + r->size < r->sizes[i] ? r->offset + r->size : r->sizes[i];
    size_right |= len == (end > r->offset ? end - r->offset : 0);
  }
  if (!size_right)
    fail_msg("READ %llu+%llu gave %zu bytes; the size is %llu", (unsigned long long)r->offset, (unsigned long long)r->size, len,
             (unsigned long long)r->d->size);
  for (size_t i = 0; i < len; i++)
    if (!(r->allowed[r->offset + i] >> got[i] & 1))
      fail_msg("READ %llu+%llu gave %u at %zu, which is %u; allowed were %02x", (unsigned long long)r->offset,
               (unsigned long long)r->size, got[i], i, r->d->bytes[r->offset + i], r->allowed[r->offset + i]);
  gi_list_del(&r->link);
  r->d->reads++;
  r->d->answered++;
  gi_free(r);
  gi_fop_unref(fop);
}

static void
other_done(struct gi_fop *fop, void *arg)
{
  struct disk *d = arg;
  assert_true(fop->rsp.ret >= 0);
  d->answered++;
  gi_fop_unref(fop);
}

/* ---- the child ---- */

static void
do_read(struct disk *d, struct gi_fop *fop)
{
  uint64_t offset = fop->args.offset, size = fop->args.size, end = offset + size < d->size ? offset + size : d->size;
  size_t len = end > offset ? end - offset : 0;
  if (len) {
    struct gi_buf *buf = gi_buf_new(len);
    memcpy(buf->base, d->bytes + offset, len);
    gi_payload_add(&fop->rsp.payload, buf, buf->base, len);
    gi_buf_unref(&buf);
  }
  fop->rsp.ret = (int)len;
  fop->rsp.err = offset + size >= d->size && disk_random(d, 2) ? ENOENT : 0;
  fop->rsp.stat = d->attr;
}

static void
do_op(struct disk *d, struct gi_fop *fop)
{
  uint8_t value = 0;
  fop->rsp.pre = d->attr;
  switch (fop->kind) {
  case GI_FOP_READ:
    do_read(d, fop);
    return;
  case GI_FOP_WRITE:
    gi_payload_read(&fop->payload, 0, &value, 1);
    apply_write(d, fop->args.offset, fop->payload.len, value, false);
    fop->rsp.ret = (int)fop->payload.len;
    break;
  case GI_FOP_FTRUNCATE:
    set_size(d, fop->args.offset, false);
    break;
  case GI_FOP_DISCARD:
    for (uint64_t at = fop->args.offset; at < fop->args.offset + fop->args.size && at < d->size; at++)
      set_byte(d, at, 0, false);
    break;
  case GI_FOP_ZEROFILL:
    apply_write(d, fop->args.offset, fop->args.size, 0, false);
    break;
  case GI_FOP_FALLOCATE:
    if (fop->args.offset + fop->args.size > d->size)
      set_size(d, fop->args.offset + fop->args.size, false);
    break;
  default:
    fop->rsp.stat = d->attr;
    return;
  }
  stamp(d);
  fop->rsp.post = d->attr;
}

static enum gi_verdict
answer_early(struct disk *d, struct gi_fop *fop)
{
  struct unwritten *u = gi_new(struct unwritten);
  uint8_t value = 0;
  u->offset = fop->args.offset;
  u->size = fop->payload.len;
  gi_list_add_tail(&d->unwritten, &u->link);
  gi_payload_read(&fop->payload, 0, &value, 1);
  apply_write(d, u->offset, u->size, value, false);
  fop->rsp.early = true;
  fop->rsp.pre = fop->rsp.post = d->attr;
  fop->rsp.post.size = d->size;
  return gi_fop_ok(fop, (int)u->size);
}

bool
disk_land(struct disk *d)
{
  if (gi_list_empty(&d->unwritten))
    return false;
  struct unwritten *u = gi_list_first(&d->unwritten, struct unwritten, link);
  struct gi_iatt found = d->attr, left;
  struct gi_written w = {.inode = d->inode, .changes = 1, .found = &found, .left = &left};
  uint64_t size = d->attr.size > u->offset + u->size ? d->attr.size : u->offset + u->size;
  gi_list_del(&u->link);
  gi_free(u);
  stamp(d);
  d->attr.size = size;
  left = d->attr;
  gi_notify_up(d->child, GI_EVENT_WRITTEN, &w);
  disk_settle(d);
  return true;
}

static enum gi_verdict
child_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  struct disk *d = x->private;
  struct disk_op *op;
  d->at_child[fop->kind]++;
  if (fop->kind == GI_FOP_WRITE && d->early)
    return answer_early(d, fop);
  op = gi_new(struct disk_op);
  op->fop = fop;
  gi_list_add_tail(&d->ops, &op->link);
  return GI_HELD;
}

static int
child_init(struct gi_xlator *x, struct gi_error *err)
{
  return 0;
}

static const struct gi_xlator_class child_class = {
    .abi = GI_XLATOR_ABI, .type = "test/disk", .summary = "a file", .submit = child_submit, .init = child_init};
static const struct gi_xlator_class top_class = {.abi = GI_XLATOR_ABI,
                                                 .type = "test/disk-top",
                                                 .summary = "its user",
                                                 .min_children = 1,
                                                 .max_children = 1,
                                                 .init = child_init};

/* ---- the test's side ---- */

struct disk *
disk_new(const char *type, const char *options, uint64_t seed, uint64_t size)
{
  struct disk *d = gi_new(struct disk);
  struct gi_error err = {0};
  gi_class_register(&child_class);
  gi_class_register(&top_class);
  gi_list_init(&d->ops);
  gi_list_init(&d->unwritten);
  gi_list_init(&d->readers);
  d->random = seed * 0x9e3779b97f4a7c15ull + 1;
  d->ctx.reactor = gi_reactor_new(1);
  d->ctx.process_name = "unit-test";
  GI_CLEANUP_FREE char *text =
      gi_asprintf("volume disk\n type test/disk\nend-volume\nvolume under-test\n type %s\n%s subvolumes disk\n"
                  "end-volume\nvolume top\n type test/disk-top\n subvolumes under-test\nend-volume\n",
                  type, options ? options : "");
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  assert_non_null(vf);
  d->graph = gi_graph_build(&d->ctx, &vf, NULL, &err);
  if (!d->graph)
    fail_msg("%s", err.text);
  d->ctx.graph = d->graph;
  d->x = gi_graph_find(d->graph, "under-test");
  d->child = gi_graph_find(d->graph, "disk");
  d->child->private = d;
  gi_graph_activate(d->graph);
  gi_notify_up(d->child, GI_EVENT_CHILD_UP, NULL);
  memset(&d->attr.gfid, 7, sizeof(d->attr.gfid));
  d->attr.mode = S_IFREG | 0644;
  d->inode = gi_inode_get(d->graph, &d->attr.gfid);
  d->fd = gi_fd_new(d->graph, d->inode, O_RDWR, 1);
  for (uint64_t at = 0; at < size; at++)
    d->bytes[at] = (uint8_t)(at / 1024 % 8);
  d->size = size;
  stamp(d);
  disk_settle(d);
  return d;
}

void
disk_settle(struct disk *d)
{
  for (int i = 0; i < 3; i++)
    gi_reactor_turn(d->ctx.reactor, 0);
}

static void
follow(struct disk *d, struct gi_fop *fop)
{
  struct reader *r = gi_new(struct reader);
  r->d = d;
  r->offset = fop->args.offset;
  r->size = fop->args.size;
  for (uint64_t at = 0; at < DISK_MAX; at++)
    r->allowed[at] = (uint8_t)(1u << d->bytes[at]) | d->stale[at];
  r->sizes[r->nsizes++] = d->size;
  for (unsigned i = 0; i < d->nstale_sizes; i++)
    allow_size(r->sizes, &r->nsizes, 256, d->stale_sizes[i]);
  gi_list_add_tail(&d->readers, &r->link);
  gi_fop_submit(fop, d->x, check_read, r);
}

void
disk_submit(struct disk *d, enum gi_fop_kind kind, uint64_t offset, uint64_t size, unsigned value)
{
  struct gi_fop *fop = gi_fop_new(d->graph, kind);
  gi_fop_set_fd(fop, d->fd);
  fop->args.offset = offset;
  fop->args.size = size;
  d->submitted++;
  if (kind == GI_FOP_WRITE) {
    struct gi_buf *buf = gi_buf_new(size);
    memset(buf->base, (int)value, size);
    gi_payload_add(&fop->payload, buf, buf->base, size);
    gi_buf_unref(&buf);
  }
  if (kind == GI_FOP_READ)
    follow(d, fop);
  else
    gi_fop_submit(fop, d->x, other_done, d);
  disk_settle(d);
}

static struct disk_op *
any_op(struct disk *d)
{
  unsigned n = 0;
  gi_list_foreach(op, &d->ops, struct disk_op, link)
    n++;
  if (n == 0)
    return NULL;
  n = (unsigned)disk_random(d, n);
  gi_list_foreach(op, &d->ops, struct disk_op, link)
    if (n-- == 0)
      return op;
  return NULL;
}

bool
disk_work(struct disk *d)
{
  struct disk_op *op = any_op(d);
  if (!op)
    return false;
  if (!op->done) {
    while (op->fop->kind != GI_FOP_READ && disk_land(d)) /* a change waits for what was answered early */
      ;
    do_op(d, op->fop);
    op->done = true;
    if (disk_random(d, 2))
      return true;
  }
  struct gi_fop *fop = op->fop;
  gi_list_del(&op->link);
  gi_free(op);
  gi_fop_answer(fop, d->child);
  disk_settle(d);
  return true;
}

void
disk_foreign(struct disk *d)
{
  if (!gi_list_empty(&d->unwritten))
    return;
  if (disk_random(d, 3) == 0) {
    set_size(d, disk_random(d, DISK_MAX), true);
  } else {
    uint64_t offset = disk_random(d, DISK_MAX - 20000);
    apply_write(d, offset, 1 + disk_random(d, 20000), (uint8_t)disk_random(d, 8), true);
  }
  stamp(d);
}

void
disk_barrier(struct disk *d)
{
  memset(d->stale, 0, sizeof(d->stale));
  d->nstale_sizes = 0;
  disk_submit(d, GI_FOP_OPEN, 0, 0, 0);
}

void
disk_finish(struct disk *d)
{
  for (int i = 0; i < 3; i++) {
    while (disk_land(d) || disk_work(d))
      ;
    disk_settle(d);
  }
  assert_int_equal(d->submitted, d->answered);
}

void
disk_free(struct disk *d)
{
  disk_finish(d);
  gi_fd_unref(&d->fd);
  gi_inode_unref(&d->inode);
  gi_graph_deactivate(d->graph);
  disk_finish(d);
  assert_int_equal(d->graph->fops_live, 0);
  assert_int_equal(d->graph->fds_live, 0);
  gi_graph_free(&d->graph);
  gi_reactor_free(d->ctx.reactor);
  gi_free(d);
}
