/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying from another brick on the same machine (libglusterish/near.h): where
 * a brick says it is, what the copy does to the sink, and everything for which
 * it is refused, and then the sink is as it was.
 */
#include "xlators/storage/posix/posix-fixture.h"
#include "xlators/storage/posix/posix.h"

#include "libglusterish/near.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define KIB (1u << 10)
#define MIB (1u << 20)
#define VOLUME "8306d860-aaaa-bbbb-cccc-0123456789ab"
#define OTHER_VOLUME "8306d860-aaaa-bbbb-cccc-0123456789ac"

/* ---- two bricks with the same file ---- */

struct pair {
  struct brick *source, *sink;
  struct gi_gfid g;
  struct gi_fd *from, *to; /* the file "f" on each, open */
  uint8_t *old;            /* what the sink had */
  size_t size;
  char where[GI_FS_WHERE]; /* the source */
};

static struct brick *
brick_of(const char *volume, const char *more)
{
  struct brick *b = brick_new(NULL);
  struct gi_gfid id;

  if (!b)
    return NULL;
  brick_stop(b);
  assert_true(gi_gfid_parse(volume, &id));
  assert_int_equal(setxattr(b->dir, "trusted.glusterfs.volume-id", id.b, sizeof(id.b), 0), 0);
  snprintf(b->options, sizeof(b->options), "option volume-id %s\n%s", volume, more);
  brick_start(b);
  return b;
}

static uint8_t *
text(size_t size, uint32_t seed)
{
  uint8_t *data = gi_alloc(size + 1);

  for (size_t i = 0; i < size; i++)
    data[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
  return data;
}

static struct gi_fd *
create(struct brick *b, const struct gi_gfid *g, const uint8_t *data, size_t size)
{
  struct gi_fd *fd;

  assert_ok(brick_create(b, ROOT, "f", g, &fd));
  for (size_t at = 0; at < size; at += MIB)
    assert_ok(brick_write(b, fd, at, data + at, size - at < MIB ? size - at : MIB));
  return fd;
}

static struct gi_fop *
ask(struct brick *b, const struct gi_gfid *g)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_GETXATTR);

  set_object(f, g);
  f->caller.pid = GI_PID_HEAL;
  f->args.name = GI_NEAR_KEY;
  return brick_run(b, f);
}

static void
where_is(struct brick *b, const struct gi_gfid *g, char out[GI_FS_WHERE])
{
  struct gi_fop *f = ask(b, g);
  const char *where;

  assert_ok(f);
  assert_true(gi_dict_get_str(f->rsp.dict, GI_NEAR_KEY, &where));
  snprintf(out, GI_FS_WHERE, "%s", where);
}

static bool
pair_new(struct pair *p, size_t source_size, size_t sink_size)
{
  uint8_t *data;

  *p = (struct pair){.source = brick_of(VOLUME, ""), .size = sink_size};
  if (!p->source) {
    print_message("no directory with trusted attributes here: skipped\n");
    return false;
  }
  p->sink = brick_of(VOLUME, "");
  p->g = brick_gfid(p->source);
  data = text(source_size, 1);
  p->old = text(sink_size, 2);
  p->from = create(p->source, &p->g, data, source_size);
  p->to = create(p->sink, &p->g, p->old, sink_size);
  gi_free(data);
  where_is(p->source, &p->g, p->where);
  return true;
}

static void
pair_free(struct pair *p)
{
  gi_fd_unref(&p->from);
  gi_fd_unref(&p->to);
  brick_free(p->source);
  brick_free(p->sink);
  gi_free(p->old);
}

#define PAIR(var, source_size, sink_size) \
  struct pair var; \
  if (!pair_new(&var, source_size, sink_size)) \
    skip();

/* ---- requests and contents ---- */

static struct gi_fop *
near_fop(struct brick *b, struct gi_fd *fd, const char *where, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_COPY_FILE_RANGE);

  f->caller.pid = GI_PID_HEAL;
  set_fd(f, fd);
  f->fd2 = gi_fd_ref(fd);
  f->args.offset = f->args.offset2 = offset;
  f->args.size = size;
  if (where)
    gi_dict_set_str(gi_fop_xdata(f), GI_NEAR_KEY, where);
  return f;
}

static struct gi_fop *
copy_of(struct pair *p, uint64_t offset, uint64_t size)
{
  return near_fop(p->sink, p->to, p->where, offset, size);
}

static int32_t
copy(struct pair *p, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = brick_run(p->sink, copy_of(p, offset, size));

  assert_ok(f);
  assert_true(gi_gfid_is_none(&f->rsp.stat.gfid) && gi_gfid_is_none(&f->rsp.pre.gfid) && gi_gfid_is_none(&f->rsp.post.gfid));
  return f->rsp.ret;
}

static uint8_t *
contents(const struct brick *b, size_t *size)
{
  char path[PATH_MAX];
  uint8_t *data;
  int fd;

  brick_path(b, path, "f");
  fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  *size = (size_t)lseek(fd, 0, SEEK_END);
  data = gi_alloc(*size + 1);
  assert_int_equal(pread(fd, data, *size, 0), *size);
  close(fd);
  return data;
}

/* The sink is as it was, but has from..to of the source. */
static void
assert_has_only(const struct pair *p, size_t from, size_t to)
{
  size_t there, here;
  GI_CLEANUP_FREE uint8_t *source = contents(p->source, &there), *sink = contents(p->sink, &here);

  assert_int_equal(here, to > p->size ? to : p->size);
  for (size_t i = 0; i < here; i++)
    if (sink[i] != (from <= i && i < to ? source[i] : i < p->size ? p->old[i] : 0))
      fail_msg("byte %zu is wrong", i);
}

static void
assert_unchanged(const struct pair *p)
{
  assert_has_only(p, 0, 0);
}

static void
assert_refused(struct pair *p, struct gi_fop *f, int err)
{
  assert_fails(brick_run(p->sink, f), err);
  assert_unchanged(p);
  assert_int_equal(((struct posix *)p->sink->s->x->private)->metrics.near_bytes, 0);
}

/* ---- where a brick is ---- */

static void
a_brick_tells_where_it_is(void **state)
{
  PAIR(p, 10, 10);
  char other[GI_FS_WHERE], root[GI_FS_WHERE];
  int fd;

  assert_non_null(strstr(p.where, p.source->dir));
  where_is(p.sink, &p.g, other);
  assert_string_not_equal(p.where, other);
  assert_true(gi_fs_same_machine(p.where, other));
  where_is(p.source, ROOT, root);
  assert_string_equal(p.where, root);
  fd = gi_fs_open_where(NULL, p.where);
  assert_true(fd >= 0);
  assert_int_equal(faccessat(fd, "f", F_OK, 0), 0);
  close(fd);
  pair_free(&p);
}

/* What it has in memory is not what others may read. */
static void
a_brick_that_does_not_tell(void **state)
{
  brick_on_disk = true; /* O_DIRECT */
  PAIR(p, 10, 10);
  BRICK(plain, NULL);
  struct brick *direct = brick_of(VOLUME, "option o-direct on\n");
  struct posix_inode *pi = gi_inode_private(p.from->inode, p.source->s->x);

  assert_fails(ask(plain, ROOT), ENODATA);
  assert_fails(ask(direct, ROOT), ENODATA);
  pi->losses = 1;
  assert_fails(ask(p.source, &p.g), ENODATA);
  assert_ok(ask(p.source, ROOT));
  pi->losses = 0;
  assert_ok(ask(p.source, &p.g));
  brick_free(plain);
  brick_free(direct);
  pair_free(&p);
  brick_on_disk = false;
}

/* ---- copies ---- */

static void
the_range_and_nothing_else(void **state)
{
  static const struct {
    uint64_t at, size;
  } ranges[] = {{0, 1},           {0, 2 * MIB},          {4095, 2},         {777, 700001}, {256 * KIB, 256 * KIB},
                {2 * MIB - 1, 1}, {8 * KIB, MIB + 4097}, {64 * KIB, 65537}, {MIB, MIB}};

  for (size_t i = 0; i < GI_ARRAY_LEN(ranges); i++) {
    PAIR(p, 2 * MIB, 2 * MIB);

    assert_int_equal(copy(&p, ranges[i].at, ranges[i].size), ranges[i].size);
    assert_has_only(&p, ranges[i].at, ranges[i].at + ranges[i].size);
    assert_int_equal(((struct posix *)p.sink->s->x->private)->metrics.near_bytes, ranges[i].size);
    assert_int_equal(((struct posix *)p.source->s->x->private)->metrics.near_bytes, 0);
    pair_free(&p);
  }
}

static void
the_source_ends_before(void **state)
{
  PAIR(p, 600 * KIB + 3, MIB);

  assert_int_equal(copy(&p, MIB, MIB), 0);
  assert_int_equal(copy(&p, 600 * KIB + 3, 100), 0);
  assert_unchanged(&p); /* not cut, not made longer */
  assert_int_equal(copy(&p, 100 * KIB, POSIX_IO_MAX), 500 * KIB + 3);
  assert_has_only(&p, 100 * KIB, 600 * KIB + 3);
  assert_int_equal(((struct posix *)p.sink->s->x->private)->metrics.near_bytes, 500 * KIB + 3);
  pair_free(&p);
}

static void
the_sink_gets_longer(void **state)
{
  PAIR(p, 5 * MIB, 10);

  assert_int_equal(copy(&p, 0, POSIX_IO_MAX), POSIX_IO_MAX);
  assert_int_equal(copy(&p, POSIX_IO_MAX, POSIX_IO_MAX), MIB);
  assert_has_only(&p, 0, 5 * MIB);
  pair_free(&p);
}

/* A read that is not to wait would begin to read ahead, and might find what it has begun. */
static bool
in_memory(int fd, off_t at)
{
  off_t page = at / sysconf(_SC_PAGESIZE) * sysconf(_SC_PAGESIZE);
  unsigned char there = 0;
  void *p = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, page);

  assert_true(p != MAP_FAILED && mincore(p, 1, &there) == 0);
  munmap(p, 1);
  return there & 1;
}

/* Who reads the sink's disk shares its memory with applications, and the heal takes none of it. */
static void
the_bulk_goes_past_memory(void **state)
{
  brick_on_disk = true;
  PAIR(p, 2 * MIB + 100, 2 * MIB);
  char path[PATH_MAX];
  struct statfs fs;
  int fd;

  brick_path(p.sink, path, "f");
  fd = open(path, O_RDONLY);
  assert_true(fd >= 0 && fstatfs(fd, &fs) == 0);
  assert_true(in_memory(fd, MIB));
  assert_int_equal(copy(&p, 0, 2 * MIB + 100), 2 * MIB + 100);
  if (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC)
    assert_false(in_memory(fd, 0) || in_memory(fd, MIB) || in_memory(fd, 2 * MIB - 1));
  assert_true(in_memory(fd, 2 * MIB + 99));
  assert_has_only(&p, 0, 2 * MIB + 100);
  close(fd);
  pair_free(&p);
  brick_on_disk = false;
}

static void
several_at_once(void **state)
{
  PAIR(p, 4 * MIB, 4 * MIB);
  struct gi_fop *f[16];

  for (uint64_t i = 0; i < GI_ARRAY_LEN(f); i++)
    f[i] = copy_of(&p, i * 256 * KIB, 256 * KIB);
  for (size_t i = 0; i < GI_ARRAY_LEN(f); i++)
    brick_submit(p.sink, f[i]);
  for (size_t i = 0; i < GI_ARRAY_LEN(f); i++) {
    brick_wait(p.sink, f[i]);
    assert_int_equal(f[i]->rsp.ret, 256 * KIB);
  }
  assert_has_only(&p, 0, 4 * MIB);
  assert_int_equal(((struct posix *)p.sink->s->x->private)->metrics.near_bytes, 4 * MIB);
  pair_free(&p);
}

static struct gi_fop *
fsync_of(struct pair *p, int32_t pid)
{
  struct gi_fop *f = brick_fop(p->sink, GI_FOP_FSYNC);

  f->caller.pid = pid;
  set_fd(f, p->to);
  return f;
}

/* What an application waits for is not held up by more than one range, and whoever asked hears how far it got. */
static void
an_fsync_goes_first(void **state)
{
  PAIR(p, 4 * MIB, 4 * MIB);
  struct posix *sink = p.sink->s->x->private;
  struct gi_fop *f[3];

  sink->syncs++;
  assert_int_equal(copy(&p, MIB, 2 * MIB), 512 * KIB);
  assert_has_only(&p, MIB, MIB + 512 * KIB);
  assert_int_equal(copy(&p, MIB + 512 * KIB, 512 * KIB), 512 * KIB);
  sink->syncs--;
  assert_int_equal(copy(&p, 2 * MIB, 2 * MIB), 2 * MIB);
  assert_has_only(&p, MIB, 4 * MIB);
  for (size_t i = 0; i < GI_ARRAY_LEN(f); i++)
    brick_submit(p.sink, f[i] = fsync_of(&p, i ? 100 : GI_PID_HEAL));
  for (size_t i = 0; i < GI_ARRAY_LEN(f); i++) {
    brick_wait(p.sink, f[i]);
    assert_int_equal(f[i]->rsp.ret, 0);
  }
  assert_int_equal(sink->syncs, 0);
  pair_free(&p);
}

static void
who_counts_as_an_application(void **state)
{
  PAIR(p, 10, 10);
  struct posix *sink = p.sink->s->x->private;
  struct gi_fop *heal = fsync_of(&p, GI_PID_HEAL), *own = fsync_of(&p, 100);

  brick_submit(p.sink, heal);
  assert_int_equal(sink->syncs, 0);
  brick_submit(p.sink, own);
  assert_int_equal(sink->syncs, !own->answered);
  brick_wait(p.sink, heal);
  brick_wait(p.sink, own);
  assert_int_equal(sink->syncs, 0);
  pair_free(&p);
}

/* ---- pieces ---- */

static struct gi_fop *
pieces_of(struct pair *p, const struct gi_near_piece *piece, unsigned n)
{
  uint64_t end = piece[n - 1].offset + piece[n - 1].len;
  struct gi_fop *f = copy_of(p, piece[0].offset, end - piece[0].offset);

  gi_near_pieces_put(f->xdata, piece, n);
  return f;
}

/* The sink is as it was, but has these pieces of the source as far as `most` bytes of them go. */
static void
assert_has_pieces(const struct pair *p, const struct gi_near_piece *piece, unsigned n, size_t most)
{
  size_t there, here;
  GI_CLEANUP_FREE uint8_t *source = contents(p->source, &there), *sink = contents(p->sink, &here), *want = gi_alloc(p->size);

  memcpy(want, p->old, p->size);
  for (unsigned i = 0; i < n; i++) {
    size_t len = piece[i].len < most ? piece[i].len : most;

    memcpy(want + piece[i].offset, source + piece[i].offset, len);
    most -= len;
  }
  assert_int_equal(here, p->size);
  assert_memory_equal(sink, want, here);
}

static void
the_pieces_and_nothing_else(void **state)
{
  static const struct {
    unsigned n;
    uint64_t at, len, apart;
  } lists[] = {
      {1, 777, 5, 1}, {8, 0, 8 * KIB, 300 * KIB},   {8, 12345, 8 * KIB + 1, 200 * KIB}, {16, 4095, 100 * KIB, 150 * KIB},
      {16, 0, 1, 2},  {3, 0, 600 * KIB, 700 * KIB}, {2, MIB, 512 * KIB, 512 * KIB}};

  for (size_t i = 0; i < GI_ARRAY_LEN(lists); i++) {
    PAIR(p, 4 * MIB, 4 * MIB);
    struct gi_near_piece piece[GI_NEAR_PIECES];
    uint64_t sum = lists[i].n * lists[i].len;
    struct gi_fop *f;

    for (unsigned j = 0; j < lists[i].n; j++)
      piece[j] = (struct gi_near_piece){lists[i].at + j * lists[i].apart, lists[i].len};
    f = brick_run(p.sink, pieces_of(&p, piece, lists[i].n));
    assert_int_equal(f->rsp.ret, sum);
    assert_has_pieces(&p, piece, lists[i].n, sum);
    assert_int_equal(((struct posix *)p.sink->s->x->private)->metrics.near_bytes, sum);
    pair_free(&p);
  }
}

static void
the_source_ends_among_the_pieces(void **state)
{
  static const struct gi_near_piece piece[] = {{0, 300}, {MIB - 100, 8192}, {MIB + 8192, 4096}};
  PAIR(p, MIB, 2 * MIB);

  assert_int_equal(brick_run(p.sink, pieces_of(&p, piece, 3))->rsp.ret, 400);
  assert_has_pieces(&p, piece, 3, 400);
  pair_free(&p);
}

static void
an_fsync_goes_first_among_the_pieces(void **state)
{
  static const struct gi_near_piece piece[] = {{0, 400 * KIB}, {MIB, 400 * KIB}, {2 * MIB, 400 * KIB}};
  PAIR(p, 4 * MIB, 4 * MIB);
  struct posix *sink = p.sink->s->x->private;

  sink->syncs++;
  assert_int_equal(brick_run(p.sink, pieces_of(&p, piece, 3))->rsp.ret, 400 * KIB);
  assert_has_pieces(&p, piece, 3, 400 * KIB);
  sink->syncs--;
  pair_free(&p);
}

/* Nothing that a heal wrote is left to the fsync at its end for long. */
static void
small_pieces_are_told_to_the_disk_together(void **state)
{
  static const struct gi_near_piece piece[] = {{0, 8 * KIB}, {MIB, 8 * KIB}, {2 * MIB, 8 * KIB}};
  PAIR(p, 4 * MIB, 4 * MIB);
  struct posix *sink = p.sink->s->x->private;
  uint64_t before = sink->metrics.write_outs;

  for (int i = 0; i < 6; i++)
    assert_int_equal(brick_run(p.sink, pieces_of(&p, piece, 3))->rsp.ret, 24 * KIB);
  assert_int_equal(sink->metrics.write_outs - before, 2);
  assert_has_pieces(&p, piece, 3, 24 * KIB);
  pair_free(&p);
}

/* A heal sets times at its end; until then the copy must not look newer. */
static void
times_stay(void **state)
{
  PAIR(p, MIB, MIB);
  struct gi_iatt before = brick_nameless(p.sink, &p.g)->rsp.stat, after;

  assert_int_equal(copy(&p, 0, MIB), MIB);
  after = brick_nameless(p.sink, &p.g)->rsp.stat;
  assert_int_equal(after.mtime.sec, before.mtime.sec);
  assert_int_equal(after.mtime.nsec, before.mtime.nsec);
  assert_int_equal(after.ctime.sec, before.ctime.sec);
  pair_free(&p);
}

/* Each range is asked for again: the brick may have gone meanwhile. */
static void
a_source_that_goes(void **state)
{
  PAIR(p, MIB, MIB);
  char away[PATH_MAX + 8];

  assert_int_equal(copy(&p, 0, 100), 100);
  snprintf(away, sizeof(away), "%s.away", p.source->dir);
  assert_int_equal(rename(p.source->dir, away), 0);
  assert_fails(brick_run(p.sink, copy_of(&p, 0, MIB)), ENOENT);
  assert_int_equal(mkdir(p.source->dir, 0755), 0);
  assert_fails(brick_run(p.sink, copy_of(&p, 0, MIB)), ESTALE);
  assert_int_equal(rmdir(p.source->dir), 0);
  assert_int_equal(rename(away, p.source->dir), 0);
  assert_has_only(&p, 0, 100);
  assert_int_equal(copy(&p, 0, MIB), MIB);
  assert_has_only(&p, 0, MIB);
  pair_free(&p);
}

/* ---- refusals ---- */

static void
only_healers(void **state)
{
  PAIR(p, MIB, MIB);
  static const int32_t pids[] = {0, 1, 100, -1, -3, -5, -7, INT32_MAX, INT32_MIN};

  for (size_t i = 0; i < GI_ARRAY_LEN(pids); i++) {
    struct gi_fop *f = copy_of(&p, 0, 100);

    f->caller.pid = pids[i];
    assert_refused(&p, f, EPERM);
  }
  pair_free(&p);
}

static void
ranges_that_are_none(void **state)
{
  PAIR(p, MIB, MIB);
  struct gi_fop *f = copy_of(&p, 0, 100);

  f->args.offset2 = 4096;
  assert_refused(&p, f, EINVAL);
  assert_refused(&p, copy_of(&p, 0, 0), EINVAL);
  assert_refused(&p, copy_of(&p, 0, POSIX_IO_MAX + 1), EINVAL);
  assert_refused(&p, copy_of(&p, 0, UINT64_MAX), EINVAL);
  assert_refused(&p, copy_of(&p, 0, (1ull << 32) + 1), EINVAL);
  assert_refused(&p, copy_of(&p, INT64_MAX - POSIX_IO_MAX + 1ull, 1), EINVAL);
  assert_refused(&p, copy_of(&p, UINT64_MAX, 1), EINVAL);
  assert_int_equal(copy(&p, INT64_MAX - POSIX_IO_MAX, POSIX_IO_MAX), 0);
  assert_unchanged(&p);
  pair_free(&p);
}

static void
pieces_that_are_none(void **state)
{
  static const struct gi_near_piece bad[][2] = {{{0, 100}, {200, 0}},
                                                {{100, 10}, {0, 10}},
                                                {{0, 100}, {50, 100}},
                                                {{0, 100}, {POSIX_IO_MAX, POSIX_IO_MAX}},
                                                {{0, UINT64_MAX}, {5, 5}}};
  PAIR(p, MIB, MIB);
  struct gi_fop *f;

  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    f = copy_of(&p, 0, 3 * POSIX_IO_MAX);
    gi_near_pieces_put(f->xdata, bad[i], 2);
    assert_refused(&p, f, EINVAL);
  }
  f = copy_of(&p, 0, 100);
  gi_dict_set_bin(f->xdata, GI_NEAR_PIECES_KEY, "12345678", 8);
  assert_refused(&p, f, EINVAL);
  f = copy_of(&p, 0, 100);
  gi_dict_set_bin(f->xdata, GI_NEAR_PIECES_KEY, "", 0);
  assert_refused(&p, f, EINVAL);
  f = copy_of(&p, 100, 100);
  gi_near_pieces_put(f->xdata, bad[0], 1);
  assert_refused(&p, f, EINVAL);
  pair_free(&p);
}

static void
descriptors_that_will_not_do(void **state)
{
  PAIR(p, MIB, MIB);
  struct gi_gfid g = {{9, 9, 9, 9}};
  struct gi_fd *other, *fd = gi_fd_anonymous(p.sink->s->graph, p.to->inode);
  struct gi_fop *f = near_fop(p.sink, fd, p.where, 0, 100);

  assert_refused(&p, f, EINVAL);
  gi_fd_unref(&fd);
  f = copy_of(&p, 0, 100);
  gi_fd_unref(&f->fd2);
  assert_refused(&p, f, EINVAL);
  assert_ok(brick_create(p.sink, ROOT, "other", &g, &other));
  f = copy_of(&p, 0, 100);
  gi_fd_unref(&f->fd2);
  f->fd2 = gi_fd_ref(other);
  assert_refused(&p, f, EINVAL);
  gi_fd_unref(&other);
  fd = gi_fd_new(p.sink->s->graph, p.to->inode, O_RDWR, 100); /* never opened */
  assert_refused(&p, near_fop(p.sink, fd, p.where, 0, 100), EBADF);
  gi_fd_unref(&fd);
  assert_ok(brick_open(p.sink, &p.g, O_RDONLY, &fd));
  assert_refused(&p, near_fop(p.sink, fd, p.where, 0, 100), EBADF);
  gi_fd_unref(&fd);
  pair_free(&p);
}

/* Written otherwise than this would write. */
static void
synchronous_and_direct_descriptors(void **state)
{
  brick_on_disk = true;
  PAIR(p, MIB, MIB);
  static const int flags[] = {O_SYNC, O_DSYNC, O_DIRECT};

  for (size_t i = 0; i < GI_ARRAY_LEN(flags); i++) {
    struct gi_fd *fd;
    struct gi_fop *f = brick_open(p.sink, &p.g, O_RDWR | flags[i], &fd);

    if (f->rsp.ret < 0 && f->rsp.err == EINVAL && flags[i] == O_DIRECT)
      print_message("no O_DIRECT on this file system\n");
    else
      assert_refused(&p, near_fop(p.sink, fd, p.where, 0, 4096), EOPNOTSUPP);
    gi_fd_unref(&fd);
  }
  pair_free(&p);
  brick_on_disk = false;
}

static void
a_directory_is_no_file(void **state)
{
  PAIR(p, MIB, MIB);
  struct gi_gfid g = {{7, 7, 7, 7}};
  struct gi_fd *fd;

  assert_ok(brick_mkdir(p.sink, ROOT, "d", &g));
  assert_ok(brick_mkdir(p.source, ROOT, "d", &g));
  assert_ok(brick_opendir(p.sink, &g, &fd));
  assert_int_equal(brick_run(p.sink, near_fop(p.sink, fd, p.where, 0, 100))->rsp.ret, -1);
  gi_fd_unref(&fd);
  assert_unchanged(&p);
  pair_free(&p);
}

static void
other_machines_and_garbage(void **state)
{
  PAIR(p, MIB, MIB);
  static const char *const garbage[] = {"", " ", "/", "garbage", "0 1:2 /tmp"};
  static const char *const rest[] = {"", " ", " 1:2", " 1:2 ", " 1:2 tmp", " 1:2 ../..", " x:y /tmp", " /tmp"};
  char text[GI_FS_WHERE];
  struct gi_fop *f;

  for (size_t i = 0; i < GI_ARRAY_LEN(garbage); i++)
    assert_refused(&p, near_fop(p.sink, p.to, garbage[i], 0, 100), EXDEV);
  snprintf(text, sizeof(text), "%s", p.where);
  text[0] = text[0] == '0' ? '1' : '0';
  assert_refused(&p, near_fop(p.sink, p.to, text, 0, 100), EXDEV);
  for (size_t j = 0; j < GI_ARRAY_LEN(rest); j++) {
    snprintf(text, sizeof(text), "%.*s%s", (int)strcspn(p.where, " "), p.where, rest[j]);
    assert_refused(&p, near_fop(p.sink, p.to, text, 0, 100), EINVAL);
  }
  snprintf(text, sizeof(text), "%.*s 1:2 /tmp", (int)strcspn(p.where, " "), p.where);
  assert_refused(&p, near_fop(p.sink, p.to, text, 0, 100), ESTALE);
  f = near_fop(p.sink, p.to, NULL, 0, 100);
  gi_dict_set_int(gi_fop_xdata(f), GI_NEAR_KEY, 1); /* no text */
  assert_refused(&p, f, EINVAL);
  f = near_fop(p.sink, p.to, NULL, 0, 100);
  gi_dict_set_bin(gi_fop_xdata(f), GI_NEAR_KEY, p.where, 20); /* cut short, without an end */
  assert_fails(brick_run(p.sink, f), f->rsp.err);
  assert_true(f->rsp.err == EINVAL || f->rsp.err == EXDEV);
  assert_unchanged(&p);
  pair_free(&p);
}

static void
directories_that_are_no_such_brick(void **state)
{
  PAIR(p, MIB, MIB);
  BRICK(plain, NULL);
  struct brick *other = brick_of(OTHER_VOLUME, "");
  char where[GI_FS_WHERE];
  struct gi_fd *fd;
  int root;

  fd = create(other, &p.g, p.old, 100);
  gi_fd_unref(&fd);
  where_is(other, ROOT, where);
  assert_refused(&p, near_fop(p.sink, p.to, where, 0, 100), EPERM);
  where_is(p.sink, ROOT, where); /* itself */
  assert_refused(&p, near_fop(p.sink, p.to, where, 0, 100), EPERM);
  root = open(plain->dir, O_RDONLY | O_DIRECTORY); /* has no volume id, and does not tell: so it was made up */
  assert_int_equal(gi_fs_where(NULL, root, plain->dir, where, sizeof(where)), 0);
  close(root);
  assert_refused(&p, near_fop(p.sink, p.to, where, 0, 100), EPERM);
  assert_int_equal(removexattr(p.source->dir, "trusted.glusterfs.volume-id"), 0);
  assert_refused(&p, copy_of(&p, 0, 100), EPERM);
  assert_int_equal(setxattr(p.source->dir, "trusted.glusterfs.volume-id", "short", 5, 0), 0);
  assert_refused(&p, copy_of(&p, 0, 100), EPERM);
  fd = create(plain, &p.g, p.old, 100); /* nor does a brick that knows no volume ask anybody */
  assert_fails(brick_run(plain, near_fop(plain, fd, p.where, 0, 100)), EPERM);
  gi_fd_unref(&fd);
  brick_free(plain);
  brick_free(other);
  pair_free(&p);
}

static void
the_source_lacks_the_file(void **state)
{
  PAIR(p, MIB, MIB);
  char handle[PATH_MAX], path[PATH_MAX];

  gi_fd_unref(&p.from);
  brick_handle(p.source, handle, &p.g);
  brick_path(p.source, path, "f");
  assert_int_equal(unlink(handle), 0);
  assert_refused(&p, copy_of(&p, 0, 100), ENOENT);
  assert_int_equal(symlink(path, handle), 0); /* never followed */
  assert_refused(&p, copy_of(&p, 0, 100), ELOOP);
  assert_int_equal(unlink(handle), 0);
  assert_int_equal(mkfifo(handle, 0600), 0); /* nobody waits for its other end */
  assert_refused(&p, copy_of(&p, 0, 100), EINVAL);
  assert_int_equal(unlink(handle), 0);
  assert_int_equal(mkdir(handle, 0700), 0);
  assert_refused(&p, copy_of(&p, 0, 100), EINVAL);
  pair_free(&p);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_brick_tells_where_it_is),
      cmocka_unit_test(a_brick_that_does_not_tell),
      cmocka_unit_test(the_range_and_nothing_else),
      cmocka_unit_test(the_source_ends_before),
      cmocka_unit_test(the_sink_gets_longer),
      cmocka_unit_test(the_bulk_goes_past_memory),
      cmocka_unit_test(several_at_once),
      cmocka_unit_test(an_fsync_goes_first),
      cmocka_unit_test(who_counts_as_an_application),
      cmocka_unit_test(the_pieces_and_nothing_else),
      cmocka_unit_test(the_source_ends_among_the_pieces),
      cmocka_unit_test(an_fsync_goes_first_among_the_pieces),
      cmocka_unit_test(small_pieces_are_told_to_the_disk_together),
      cmocka_unit_test(times_stay),
      cmocka_unit_test(a_source_that_goes),
      cmocka_unit_test(only_healers),
      cmocka_unit_test(ranges_that_are_none),
      cmocka_unit_test(pieces_that_are_none),
      cmocka_unit_test(descriptors_that_will_not_do),
      cmocka_unit_test(synchronous_and_direct_descriptors),
      cmocka_unit_test(a_directory_is_no_file),
      cmocka_unit_test(other_machines_and_garbage),
      cmocka_unit_test(directories_that_are_no_such_brick),
      cmocka_unit_test(the_source_lacks_the_file),
  };

  return BRICK_RUN_ENGINES(tests);
}
