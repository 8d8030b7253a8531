/* SPDX-License-Identifier: Apache-2.0
 *
 * A brick that keeps a few blocks, below the translator.
 */
#ifndef SHARD_FIXTURE_H
#define SHARD_FIXTURE_H

#include "libglusterish/bigendian.h"
#include "libglusterish/extension.h"
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define MiB (1ull << 20)
#define BLOCK (4 * MiB)
#define BLOCKS 8
#define BASE 5 /* byte of the gfid of the file; block n has 100 + n */
#define SIZE_KEY "trusted.glusterfs.shard.file-size"
#define BLOCK_KEY "trusted.glusterfs.shard.block-size"

struct brick {
  struct fake_stack *s;
  bool dir, doomed, plain, gone;
  bool marker;           /* of the file, in the directory of markers */
  bool lonely;           /* after `left` more operations nothing reaches it: for it the client is as good as killed */
  unsigned left, others; /* … ; names of other files' blocks in the listing */
  struct brick_kind {
    struct brick *b;
    void (*fill)(struct gi_fop *fop, void *arg);
  } kind[GI_FOP_MAX];
  uint64_t size, blocks; /* in the attribute */
  uint64_t len[BLOCKS];
  bool there[BLOCKS];
  int64_t mtime, behind; /* … ; changes by others, whose clock is behind: they move the ctime alone */
  unsigned locks, unlocks;
  int name_locks;
  int write_err, add_err; /* once */
  unsigned most;          /* so often all copies were asked for the size */
  uint64_t sum;           /* what the size was to be, of the last change */
  int mkdir_err;          /* once: somebody else makes the directory at that moment */
  const uint64_t *damage; /* what is told instead: the size of blocks, and that of the file */
};

static struct gi_gfid
gfid(uint8_t n)
{
  struct gi_gfid g;
  memset(&g, n, sizeof(g));
  return g;
}

static struct gi_iatt
iatt(struct brick *b, unsigned n)
{
  return (struct gi_iatt){.gfid = gfid(n ? (uint8_t)(100 + n) : BASE),
                          .mode = S_IFREG | 0644,
                          .nlink = 1,
                          .size = b->len[n],
                          .blocks = b->len[n] / 512,
                          .mtime.sec = b->mtime,
                          .ctime.sec = b->mtime + b->behind};
}

static struct gi_iatt
directory(const char *text)
{
  struct gi_iatt a = {.mode = S_IFDIR | 0755, .nlink = 2};
  assert_true(gi_gfid_parse(text, &a.gfid));
  return a;
}

static void
put_keys(struct brick *b, struct gi_dict *d)
{
  uint8_t v[32] = {0};
  gi_be64_store(v, b->damage ? b->damage[0] : BLOCK);
  gi_dict_set_bin(d, BLOCK_KEY, v, 8);
  gi_be64_store(v, b->damage ? b->damage[1] : b->size);
  gi_be64_store(v + 16, b->blocks);
  gi_dict_set_bin(d, SIZE_KEY, v, 32);
}

static int
refuse(struct gi_fop *fop, int err)
{
  fop->rsp.ret = -1;
  fop->rsp.err = err;
  return err;
}

/* Which block a name or descriptor is; 0: the file itself; -1: something else. */
static int
which(const struct gi_fop *fop)
{
  const char *dot = fop->loc.name ? strrchr(fop->loc.name, '.') : NULL;
  struct gi_gfid g = fop->fd ? fop->fd->inode->gfid : fop->loc.gfid;
  if (dot && dot - fop->loc.name == 36)
    return atoi(dot + 1);
  return fop->loc.name ? -1 : g.b[0] == BASE ? 0 : g.b[0] - 100;
}

static void
on_lookup(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  int n = which(fop);
  if (fop->loc.name && strcmp(fop->loc.name, ".shard") == 0 && b->dir)
    fop->rsp.stat = directory("be318638-e8a0-4c6d-977d-7a937aa84806");
  else if (fop->loc.name && strcmp(fop->loc.name, ".remove_me") == 0 && b->doomed)
    fop->rsp.stat = directory("77dd5a45-dbf5-4592-b31b-b440382302e9");
  else if ((n == 0 && !b->gone) || (n < 0 && strcmp(fop->loc.name, "file") == 0 && !b->gone)) {
    fop->rsp.stat = iatt(b, 0);
    if (!b->plain && gi_dict_get(fop->xdata, SIZE_KEY))
      put_keys(b, fop->rsp.xdata = gi_dict_new());
  } else if (n > 0 && b->there[n])
    fop->rsp.stat = iatt(b, (unsigned)n);
  else
    refuse(fop, ENOENT);
}

static bool
fails(struct gi_fop *fop, int *err)
{
  int now = *err;
  *err = 0;
  return now ? refuse(fop, now) : 0;
}

static void
on_mkdir(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  bool second = strcmp(fop->loc.name, ".remove_me") == 0;
  fop->rsp.stat = directory(second ? "77dd5a45-dbf5-4592-b31b-b440382302e9" : "be318638-e8a0-4c6d-977d-7a937aa84806");
  *(second ? &b->doomed : &b->dir) = true;
  fails(fop, &b->mkdir_err);
}

static void
on_mknod(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  int n = which(fop);
  if (n > 0 && b->there[n]) {
    refuse(fop, EEXIST);
    return;
  }
  if (n > 0)
    b->there[n] = true;
  else
    b->marker = true;
  fop->rsp.stat = iatt(b, n > 0 ? (unsigned)n : 7);
}

static bool
absent(struct brick *b, struct gi_fop *fop, int n)
{
  return n < 0 || n >= BLOCKS || (n > 0 && !b->there[n]) ? refuse(fop, ESTALE) : 0;
}

static void
change(struct brick *b, struct gi_fop *fop, int n, uint64_t len)
{
  fop->rsp.pre = iatt(b, (unsigned)n);
  b->len[n] = len;
  if (n == 0)
    b->mtime++;
  fop->rsp.post = iatt(b, (unsigned)n);
}

static void
on_write(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  int n = which(fop);
  uint64_t end = fop->args.offset + fop->payload.len;
  if (absent(b, fop, n) || fails(fop, &b->write_err))
    return;
  assert_true(end <= BLOCK && !(fop->args.flags & O_APPEND));
  change(b, fop, n, end > b->len[n] ? end : b->len[n]);
  fop->rsp.ret = (int32_t)fop->payload.len;
}

static void
on_read(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  int n = which(fop);
  if (absent(b, fop, n))
    return;
  uint64_t left = fop->args.offset < b->len[n] ? b->len[n] - fop->args.offset : 0;
  uint64_t len = fop->args.size < left ? fop->args.size : left;
  struct gi_buf *buf = gi_buf_new(len + 1);
  memset(buf->base, 'A' + n, len);
  gi_payload_add(&fop->rsp.payload, buf, buf->base, len);
  gi_buf_unref(&buf);
  fop->rsp.ret = (int32_t)len;
  fop->rsp.stat = iatt(b, (unsigned)n);
}

static void
on_truncate(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  int n = which(fop);
  if (!absent(b, fop, n))
    change(b, fop, n, fop->args.offset);
}

static void
on_fstat(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  int n = which(fop);
  b->most += gi_dict_get(fop->xdata, GI_MOST_KEY) != NULL;
  if (absent(b, fop, n))
    return;
  fop->rsp.stat = iatt(b, (unsigned)n);
  if (n == 0 && !b->plain && gi_dict_get(fop->xdata, SIZE_KEY))
    put_keys(b, fop->rsp.xdata = gi_dict_new());
}

static void
on_unlink(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  int n = which(fop);
  if (n > 0) {
    if (n >= BLOCKS || !b->there[n]) {
      refuse(fop, ENOENT);
      return;
    }
    b->there[n] = false;
    b->len[n] = 0;
  } else if (strcmp(fop->loc.name, "file") == 0) {
    b->gone = true;
  } else {
    b->marker = false;
  }
}

static void
on_add(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  const void *v;
  uint32_t len;
  uint8_t now[32] = {0};
  if (fails(fop, &b->add_err))
    return;
  assert_int_equal(fop->args.flags, GI_XATTROP_ADD64);
  assert_true(gi_dict_get_bin(fop->args.dict, SIZE_KEY, &v, &len) && len == 32);
  assert_true(gi_dict_get_uint(fop->xdata, GI_SUM_KEY, &b->sum));
  b->size += gi_be64_load(v);
  b->blocks += gi_be64_load((const uint8_t *)v + 16);
  gi_be64_store(now, b->size);
  gi_be64_store(now + 16, b->blocks);
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_bin(fop->rsp.dict, SIZE_KEY, now, 32);
}

/* Of .shard, with names that are none of the file's. */
static void
on_readdir(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  char name[64];
  static const char *const others[] = {".",
                                       "05050505-0505-0505-0505-050505050505",
                                       "05050505-0505-0505-0505-050505050505.x",
                                       "05050505-0505-0505-0505-050505050505.02",
                                       "06050505-0505-0505-0505-050505050505.3",
                                       "05050505-0505-0505-0505-050505050505.99999999999999999999999"};
  /* Those of other files are in parts of their own. */
  if (fop->args.offset < b->others) {
    snprintf(name, sizeof(name), "06050505-0505-0505-0505-050505050505.%llu", (unsigned long long)fop->args.offset + 1);
    gi_dirents_add(&fop->rsp.entries,
                   &(struct gi_dirent){.off = fop->args.offset + 1, .name = name, .name_len = (uint32_t)strlen(name)}, fop);
    fop->rsp.ret = 1;
    return;
  }
  if (fop->args.offset > b->others)
    return;
  for (unsigned i = 0; i < GI_ARRAY_LEN(others); i++)
    gi_dirents_add(&fop->rsp.entries,
                   &(struct gi_dirent){.off = b->others + 1, .name = others[i], .name_len = (uint32_t)strlen(others[i])}, fop);
  for (unsigned n = BLOCKS; n-- > 1;) {
    if (!b->there[n])
      continue;
    snprintf(name, sizeof(name), "05050505-0505-0505-0505-050505050505.%u", n);
    gi_dirents_add(&fop->rsp.entries,
                   &(struct gi_dirent){.off = b->others + 1 + n, .name = name, .name_len = (uint32_t)strlen(name)}, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
}

/* Of the directory of markers. */
static void
on_readdirp(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  struct gi_dirent e = {.off = 1, .name = "05050505-0505-0505-0505-050505050505", .name_len = 36};
  if (fop->args.offset || !b->marker)
    return;
  e.stat = (struct gi_iatt){.gfid = gfid(7), .mode = S_IFREG | 0644, .nlink = 1, .ctime.sec = 100};
  e.xdata = gi_dict_new();
  put_keys(b, e.xdata);
  gi_dirents_add(&fop->rsp.entries, &e, fop);
  fop->rsp.ret = 1;
}

static void
on_setattr(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  fop->rsp.pre = iatt(b, 0);
  if (fop->args.valid & GI_SET_MTIME)
    b->mtime = fop->args.iatt.mtime.sec;
  fop->rsp.post = iatt(b, 0);
}

static void
on_lock(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  assert_string_equal(fop->args.domain, b->s->x->name);
  b->locks += fop->args.type != GI_LK_UNLOCK;
  b->unlocks += fop->args.type == GI_LK_UNLOCK;
}

static void
on_name_lock(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  assert_string_equal(fop->args.domain, b->s->x->name);
  assert_string_equal(fop->args.name, "05050505-0505-0505-0505-050505050505");
  b->name_locks += fop->args.cmd == GI_ENTRYLK_UNLOCK ? -1 : 1;
}

static void
on_any(struct gi_fop *fop, void *arg)
{
  const struct brick_kind *k = arg;
  if (k->b->lonely && k->b->left == 0) {
    refuse(fop, ENOTCONN);
    return;
  }
  if (k->b->lonely)
    k->b->left--;
  if (k->fill)
    k->fill(fop, k->b);
}

/* A client of what the brick has. Operations of one kind are scripted by the test. */
static void
brick_serve(struct brick *b, enum gi_fop_kind but)
{
  static const struct {
    enum gi_fop_kind kind;
    void (*fill)(struct gi_fop *fop, void *arg);
  } how[] = {{GI_FOP_LOOKUP, on_lookup},   {GI_FOP_MKDIR, on_mkdir},       {GI_FOP_MKNOD, on_mknod},
             {GI_FOP_WRITE, on_write},     {GI_FOP_READ, on_read},         {GI_FOP_FTRUNCATE, on_truncate},
             {GI_FOP_FSTAT, on_fstat},     {GI_FOP_UNLINK, on_unlink},     {GI_FOP_TRUNCATE, on_truncate},
             {GI_FOP_XATTROP, on_add},     {GI_FOP_FXATTROP, on_add},      {GI_FOP_SETATTR, on_setattr},
             {GI_FOP_STAT, on_fstat},      {GI_FOP_INODELK, on_lock},      {GI_FOP_ENTRYLK, on_name_lock},
             {GI_FOP_READDIR, on_readdir}, {GI_FOP_READDIRP, on_readdirp}, {GI_FOP_DISCARD, NULL},
             {GI_FOP_FALLOCATE, NULL}};
  for (size_t i = 0; i < GI_ARRAY_LEN(how); i++) {
    struct brick_kind *k = &b->kind[how[i].kind];
    *k = (struct brick_kind){b, how[i].fill};
    if (how[i].kind != but)
      fake_script_always(b->s, 0, how[i].kind, (struct fake_reply){.fill = on_any, .arg = k, .deferred = i % 2});
  }
}

static struct fake_stack *
client_of_brick(void)
{
  return fake_stack_new("features/shard", "option shard-block-size 4MB\n", 1);
}

static void
brick_start_but(struct brick *b, enum gi_fop_kind but)
{
  struct fake_stack *s = b->s;
  *b = (struct brick){.s = s ? s : client_of_brick(), .mtime = 100};
  brick_serve(b, but);
}

static void
brick_start(struct brick *b)
{
  brick_start_but(b, GI_FOP_MAX);
}

/* Nothing waits: locks are given back. */
static void
brick_end(struct brick *b)
{
  gi_notify(b->s->x, GI_EVENT_CHILD_CHANGED, NULL);
  fake_settle(b->s);
  fake_stack_free(b->s);
}

static struct gi_fop *
write_at(struct brick *b, uint64_t offset, uint64_t len, uint32_t flags)
{
  struct gi_fop *f = fake_fop(b->s, GI_FOP_WRITE);
  struct gi_buf *buf = gi_buf_new(len);
  gi_fop_set_fd(f, fake_fd(b->s, BASE));
  memset(buf->base, 'w', len);
  gi_payload_add(&f->payload, buf, buf->base, len);
  gi_buf_unref(&buf);
  f->args.offset = offset;
  f->args.size = len;
  f->args.flags = flags;
  f->caller.time.sec = 5000;
  fake_submit(b->s, f);
  return f;
}

#endif
