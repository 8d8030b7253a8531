/* SPDX-License-Identifier: Apache-2.0
 *
 * What one request costs in storage/posix alone, without network: microseconds
 * per operation, one at a time, per engine.
 *
 *   GLUSTERISH_XLATOR_DIR=$PWD/xlators xlators/storage/posix/posix-bench [engine]…
 */
#include "xlators/storage/posix/posix-fixture.h"

#include <fcntl.h>
#include <unistd.h>

#define FILES 1000
#define ROUNDS 20000

struct bench {
  struct brick *b;
  struct gi_xlator *x;
  struct gi_inode *root;
  struct gi_fd *fd;
  struct gi_buf *buf;
  struct gi_dict *afr_write, *afr_lookup, *counters;
  bool one_hash_dir; /* new gfids share their first two bytes */
};

static void
answered(struct gi_fop *f, void *arg)
{
  *(bool *)arg = true;
  if (f->rsp.ret < 0) {
    fprintf(stderr, "%s: %s\n", gi_fop_name(f->kind), strerror(f->rsp.err));
    exit(1);
  }
}

static void
run(struct bench *n, struct gi_fop *f)
{
  bool done = false;

  f->caller.stamps = GI_STAMP_MTIME | GI_STAMP_CTIME | GI_STAMP_PARENT_MTIME | GI_STAMP_PARENT_CTIME;
  f->caller.time = gi_wall(n->x->reactor);
  gi_fop_submit(f, n->x, answered, &done);
  while (!done)
    gi_reactor_turn(n->x->reactor, GI_NSEC_PER_MSEC);
  gi_fop_unref(f);
}

static struct gi_fop *
fop(struct bench *n, enum gi_fop_kind kind)
{
  return gi_fop_new(n->x->graph, kind);
}

static void
entry(struct bench *n, struct gi_fop *f, unsigned i, bool with_gfid)
{
  char name[32];

  snprintf(name, sizeof(name), "file-%u", i);
  gi_fop_set_entry(f, &f->loc, n->root, name);
  if (with_gfid) {
    struct gi_gfid g = gi_gfid_new(n->x->reactor);

    if (n->one_hash_dir)
      g.b[0] = g.b[1] = 0xcc;
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  }
}

static void
do_create(struct bench *n, unsigned i)
{
  struct gi_fop *f = fop(n, GI_FOP_CREATE);

  entry(n, f, i, true);
  f->args.flags = O_RDWR | O_CREAT | O_EXCL;
  f->args.mode = 0600;
  f->fd = gi_fd_new(n->x->graph, NULL, O_RDWR, 1);
  run(n, f);
}

static void
do_lookup(struct bench *n, unsigned i)
{
  struct gi_fop *f = fop(n, GI_FOP_LOOKUP);

  entry(n, f, i % FILES, false);
  run(n, f);
}

static void
do_lookup_afr(struct bench *n, unsigned i)
{
  struct gi_fop *f = fop(n, GI_FOP_LOOKUP);

  entry(n, f, i % FILES, false);
  f->xdata = gi_dict_ref(n->afr_lookup);
  run(n, f);
}

static void
do_stat(struct bench *n, unsigned i)
{
  struct gi_fop *f = fop(n, GI_FOP_FSTAT);

  (void)i;
  gi_fop_set_fd(f, n->fd);
  run(n, f);
}

static void
write_at(struct bench *n, unsigned i, struct gi_dict *xdata)
{
  struct gi_fop *f = fop(n, GI_FOP_WRITE);

  gi_fop_set_fd(f, n->fd);
  f->args.offset = (i % 1024) * 8192ull;
  f->args.size = 8192;
  gi_payload_add(&f->payload, n->buf, n->buf->base, 8192);
  f->xdata = gi_dict_ref(xdata);
  run(n, f);
}

static void
do_write(struct bench *n, unsigned i)
{
  write_at(n, i, NULL);
}

static void
do_write_afr(struct bench *n, unsigned i)
{
  write_at(n, i, n->afr_write);
}

static void
do_read(struct bench *n, unsigned i)
{
  struct gi_fop *f = fop(n, GI_FOP_READ);

  gi_fop_set_fd(f, n->fd);
  f->args.offset = (i % 1024) * 8192ull;
  f->args.size = 8192;
  run(n, f);
}

static void
sync_after_write(struct bench *n, unsigned i, bool data_only)
{
  struct gi_fop *f = fop(n, GI_FOP_FSYNC);

  write_at(n, i, NULL);
  gi_fop_set_fd(f, n->fd);
  f->args.datasync = data_only;
  run(n, f);
}

static void
do_fdatasync(struct bench *n, unsigned i)
{
  sync_after_write(n, i, true);
}

static void
do_fsync(struct bench *n, unsigned i)
{
  sync_after_write(n, i, false);
}

static void
do_xattrop(struct bench *n, unsigned i)
{
  struct gi_fop *f = fop(n, GI_FOP_FXATTROP);

  (void)i;
  gi_fop_set_fd(f, n->fd);
  f->args.dict = gi_dict_ref(n->counters);
  run(n, f);
}

static void
do_list(struct bench *n, unsigned i)
{
  struct gi_fop *f = fop(n, GI_FOP_OPENDIR);
  struct gi_fd *fd = gi_fd_new(n->x->graph, n->root, 0, 1);
  uint64_t offset = 0;
  bool end = false;

  (void)i;
  gi_fop_set_fd(f, fd);
  run(n, f);
  while (!end) {
    f = gi_fop_ref(fop(n, GI_FOP_READDIRP));
    gi_fop_set_fd(f, fd);
    f->args.offset = offset;
    f->args.size = 131072;
    run(n, f);
    end = f->rsp.err == 2;
    if (f->rsp.entries.count)
      offset = f->rsp.entries.entry[f->rsp.entries.count - 1].off;
    gi_fop_unref(f);
  }
  gi_fd_unref(&fd);
}

static void
do_unlink(struct bench *n, unsigned i)
{
  struct gi_fop *f = fop(n, GI_FOP_UNLINK);

  entry(n, f, i, false);
  run(n, f);
}

static void
measure(struct bench *n, const char *what, void (*op)(struct bench *n, unsigned i), unsigned times, unsigned per)
{
  uint64_t begin = gi_now(n->x->reactor);

  for (unsigned i = 0; i < times; i++)
    op(n, i);
  printf("  %-34s %8.2f us\n", what, (double)(gi_now(n->x->reactor) - begin) / 1e3 / times / per);
}

static void
prepare(struct bench *n)
{
  static const char *const names[] = {"trusted.afr.dirty",      "trusted.afr.v-client-0", "trusted.afr.v-client-1",
                                      "trusted.afr.v-client-2", "security.ima",           "security.capability",
                                      "trusted.glusterfs.mdata"};
  const uint8_t one[12] = {0, 0, 0, 1};
  struct gi_gfid g = gi_gfid_new(n->x->reactor);
  struct gi_fop *f = fop(n, GI_FOP_CREATE);

  n->root = gi_inode_get(n->x->graph, &gi_gfid_root);
  n->buf = gi_buf_new(8192);
  memset(n->buf->base, 'x', 8192);
  n->afr_write = gi_dict_new();
  gi_dict_set_uint(n->afr_write, "glusterfs.write-is-append", 4);
  gi_dict_set_uint(n->afr_write, "glusterfs.open-active-fd-count", 4);
  n->afr_lookup = gi_dict_new();
  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++)
    gi_dict_set_uint(n->afr_lookup, names[i], 12);
  n->counters = gi_dict_new();
  gi_dict_set_bin(n->counters, "trusted.afr.dirty", one, 12);
  n->fd = gi_fd_new(n->x->graph, NULL, O_RDWR, 1);
  gi_fop_set_entry(f, &f->loc, n->root, "data");
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  f->args.flags = O_RDWR | O_CREAT;
  f->args.mode = 0600;
  f->fd = gi_fd_ref(n->fd);
  run(n, f);
  for (unsigned i = 0; i < 1024; i++)
    do_write(n, i);
}

static void
bench_engine(const char *engine)
{
  struct bench n = {0};

  brick_engine = engine;
  brick_on_disk = true;
  n.b = brick_new("option health-check-interval 0\n");
  if (!n.b) {
    printf("no directory with trusted attributes here\n");
    return;
  }
  n.x = n.b->s->x;
  printf("engine %s, %s\n", engine, n.b->dir);
  prepare(&n);
  measure(&n, "CREATE, new hash directory", do_create, FILES, 1);
  measure(&n, "LOOKUP by name", do_lookup, ROUNDS, 1);
  measure(&n, "LOOKUP, 7 attributes asked", do_lookup_afr, ROUNDS, 1);
  measure(&n, "FSTAT", do_stat, ROUNDS, 1);
  measure(&n, "WRITE 8 KiB", do_write, ROUNDS, 1);
  measure(&n, "WRITE 8 KiB as replicate asks", do_write_afr, ROUNDS, 1);
  measure(&n, "READ 8 KiB, cached", do_read, ROUNDS, 1);
  measure(&n, "FXATTROP, one counter", do_xattrop, ROUNDS, 1);
  measure(&n, "WRITE 8 KiB + FSYNC", do_fsync, 200, 1);
  measure(&n, "WRITE 8 KiB + FSYNC, data only", do_fdatasync, 200, 1);
  measure(&n, "READDIRP, per entry", do_list, 10, FILES);
  measure(&n, "UNLINK", do_unlink, FILES, 1);
  n.one_hash_dir = true;
  measure(&n, "CREATE, hash directory exists", do_create, FILES, 1);
  gi_dict_unref(&n.afr_write);
  gi_dict_unref(&n.afr_lookup);
  gi_dict_unref(&n.counters);
  gi_buf_unref(&n.buf);
  gi_fd_unref(&n.fd);
  gi_inode_unref(&n.root);
  brick_free(n.b);
}

int
main(int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    bench_engine(argv[i]);
  if (argc == 1) {
    bench_engine("auto");
    bench_engine("pool");
  }
  return 0;
}
