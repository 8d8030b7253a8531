/* SPDX-License-Identifier: Apache-2.0
 *
 * Data and directories of storage/posix beyond plain reads and writes.
 */
#include "xlators/storage/posix/posix-fixture.h"
#include "xlators/storage/posix/posix.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <openssl/sha.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

static void
appends_are_noticed(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", "12345");
  static const struct {
    uint64_t at, append;
  } cases[] = {{5, 1}, {0, 0}, {6, 1}, {7, 1}, {3, 0}, {100, 0}};
  struct gi_fop *f;
  uint64_t is;

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    f = brick_on_fd(b, GI_FOP_WRITE, o.fd, cases[i].at, 1);
    gi_payload_add_copy(&f->payload, "x", 1);
    gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.write-is-append", 4);
    gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.open-active-fd-count", 4);
    assert_int_equal(brick_run(b, f)->rsp.ret, 1);
    assert_true(gi_dict_get_uint(f->rsp.xdata, "glusterfs.write-is-append", &is));
    assert_int_equal(is, cases[i].append);
    assert_true(gi_dict_get_uint(f->rsp.xdata, "glusterfs.open-active-fd-count", &is));
    assert_int_equal(is, 1);
  }
  gi_fd_unref(&o.fd);
  brick_free(b);
}

/* A rebalance of GlusterFS writes "old": what it is told. */
static int
copy_over(struct brick *b, struct gi_fd *fd)
{
  struct gi_fop *f = brick_on_fd(b, GI_FOP_WRITE, fd, 0, 3);

  gi_payload_add_copy(&f->payload, "old", 3);
  gi_dict_set_int(gi_fop_xdata(f), KEY_AVOID, 1);
  brick_run(b, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

static void
a_copy_does_not_overwrite_what_is_newer(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", NULL);
  struct gi_fop *f;

  (void)state;
  assert_int_equal(copy_over(b, o.fd), 0);
  f = brick_on_fd(b, GI_FOP_WRITE, o.fd, 0, 3);
  gi_payload_add_copy(&f->payload, "new", 3);
  gi_dict_set_int(gi_fop_xdata(f), KEY_PROTECT, 1);
  assert_int_equal(brick_run(b, f)->rsp.ret, 3);
  assert_int_equal(copy_over(b, o.fd), EBUSY);
  assert_int_equal(copy_over(b, o.fd), EBUSY);

  f = brick_read(b, o.fd, 0, 3);
  assert_int_equal(f->rsp.ret, 3);
  assert_memory_equal(f->rsp.payload.slice[0].data, "new", 3);

  f = brick_fop(b, GI_FOP_LOOKUP);
  f->loc.gfid = o.g;
  gi_dict_set_int(gi_fop_xdata(f), KEY_CLEAN, 1);
  assert_int_equal(brick_run(b, f)->rsp.ret, 0);
  assert_int_equal(copy_over(b, o.fd), 0);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

static void
concurrent_appends_see_each_other(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", NULL);
  struct gi_fop *f[64];
  uint64_t is;

  (void)state;
  for (uint64_t i = 0; i < 64; i++) {
    f[i] = brick_on_fd(b, GI_FOP_WRITE, o.fd, i, 1);
    gi_payload_add_copy(&f[i]->payload, "x", 1);
    gi_dict_set_uint(gi_fop_xdata(f[i]), "glusterfs.write-is-append", 4);
  }
  for (int i = 0; i < 64; i++)
    brick_submit(b, f[i]);
  for (int i = 0; i < 64; i++) {
    brick_wait(b, f[i]);
    assert_true(gi_dict_get_uint(f[i]->rsp.xdata, "glusterfs.write-is-append", &is));
    assert_int_equal(is, 1); /* in the order of arrival */
  }
  gi_fd_unref(&o.fd);
  brick_free(b);
}

static struct gi_fop *
write_saying(struct brick *b, struct gi_fd *fd, uint64_t offset, uint32_t flags, const char *text)
{
  struct gi_fop *f = brick_on_fd(b, GI_FOP_WRITE, fd, offset, strlen(text));

  f->args.flags = flags;
  gi_payload_add_copy(&f->payload, text, strlen(text));
  return brick_run(b, f);
}

static void
assert_content(struct brick *b, struct gi_fd *fd, const char *text)
{
  struct gi_fop *f = brick_read(b, fd, 0, 100);
  char back[100] = "";

  assert_int_equal(f->rsp.ret, strlen(text));
  gi_payload_read(&f->rsp.payload, 0, back, strlen(text));
  assert_string_equal(back, text);
}

/* fcntl(F_SETFL) changes O_APPEND of an open file: each request says what it is. */
static void
a_write_appends_if_it_says_so(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", "0123");
  struct gi_fd *append;

  (void)state;
  assert_ok(brick_open(b, &o.g, O_RDWR | O_APPEND, &append));
  assert_int_equal(write_saying(b, append, 0, O_RDWR | O_APPEND, "4")->rsp.ret, 1);
  assert_int_equal(write_saying(b, append, 0, O_RDWR, "X")->rsp.ret, 1); /* not any more */
  assert_int_equal(write_saying(b, append, 1, 0, "5")->rsp.ret, 1);      /* says nothing */
  assert_int_equal(write_saying(b, o.fd, 2, O_WRONLY | O_APPEND | O_DSYNC, "6")->rsp.ret, 1);
  assert_int_equal(write_saying(b, o.fd, 1, 0, "Y")->rsp.ret, 1);
  assert_content(b, o.fd, "XY23456");
  gi_fd_unref(&append);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

/* What io_uring writes only in part goes on where it ended. */
static void
a_write_that_ends_short_is_told(void **state)
{
  struct rlimit was, less = {10, RLIM_INFINITY};
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", NULL);

  (void)state;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
  less.rlim_max = was.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
  assert_int_equal(write_saying(b, o.fd, 4, 0, "abcdefghij")->rsp.ret, 6);
  assert_fails(write_saying(b, o.fd, 10, 0, "k"), EFBIG);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(brick_read(b, o.fd, 0, 100)->rsp.ret, 10);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

static void
large_and_gathered_writes(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", NULL);
  size_t piece = 300000, total = 0;
  char *data = gi_alloc(piece), *back;
  struct gi_fop *f = brick_on_fd(b, GI_FOP_WRITE, o.fd, 7, 0);

  (void)state;
  for (int i = 0; i < 7; i++) {
    memset(data, 'a' + i, piece - (size_t)i);
    gi_payload_add_copy(&f->payload, data, piece - (size_t)i);
    total += piece - (size_t)i;
  }
  assert_int_equal(brick_run(b, f)->rsp.ret, (int)total);
  f = brick_read(b, o.fd, 7, 8u << 20); /* more than is there */
  assert_int_equal(f->rsp.ret, (int)total);
  assert_int_equal(f->rsp.err, ENOENT);
  back = gi_alloc(total);
  gi_payload_read(&f->rsp.payload, 0, back, total);
  assert_int_equal(back[0], 'a');
  assert_int_equal(back[piece - 1], 'a');
  assert_int_equal(back[piece], 'b');
  assert_int_equal(back[total - 1], 'g');
  gi_free(back);
  gi_free(data);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

static void
direct_io_takes_any_memory(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", NULL);
  struct gi_buf *buf = gi_buf_new(3 * 4096);
  uint64_t before = gi_payload_copied;
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  f = brick_open(b, &o.g, O_RDWR | O_DIRECT, &fd);
  if (f->rsp.ret < 0 && f->rsp.err == EINVAL) {
    print_message("no O_DIRECT on this file system\n");
    goto out;
  }
  assert_ok(f);
  memset(buf->base, 'd', 3 * 4096);
  f = brick_on_fd(b, GI_FOP_WRITE, fd, 0, 8192);
  gi_payload_add(&f->payload, buf, buf->base, 8192);
  assert_int_equal(brick_run(b, f)->rsp.ret, 8192);
  assert_int_equal(gi_payload_copied, before);
  f = brick_on_fd(b, GI_FOP_WRITE, fd, 8192, 4096); /* memory at an odd place: copied */
  gi_payload_add(&f->payload, buf, buf->base + 13, 4096);
  assert_int_equal(brick_run(b, f)->rsp.ret, 4096);
  assert_true(gi_payload_copied >= before + 4096);
  f = brick_on_fd(b, GI_FOP_WRITE, fd, 1, 4096); /* a place in the file it cannot be */
  gi_payload_add(&f->payload, buf, buf->base, 4096);
  assert_fails(brick_run(b, f), EINVAL);
  f = brick_read(b, fd, 4096, 8192);
  assert_int_equal(f->rsp.ret, 8192);
  assert_int_equal(f->rsp.stat.size, 12288);
out:
  gi_buf_unref(&buf);
  gi_fd_unref(&fd);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

static void
synchronous_writes_and_shared_fsyncs(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", "x");
  struct gi_fop *f[20];
  struct gi_fd *fd;

  (void)state;
  assert_ok(brick_open(b, &o.g, O_RDWR | O_DSYNC, &fd));
  assert_int_equal(brick_write(b, fd, 0, "y", 1)->rsp.ret, 1);
  f[0] = brick_on_fd(b, GI_FOP_WRITE, o.fd, 0, 1);
  f[0]->args.flags = O_DSYNC;
  gi_payload_add_copy(&f[0]->payload, "z", 1);
  assert_int_equal(brick_run(b, f[0])->rsp.ret, 1);
  for (int i = 0; i < 20; i++) {
    f[i] = brick_fop(b, GI_FOP_FSYNC);
    set_fd(f[i], i % 2 ? fd : o.fd);
    f[i]->args.datasync = i % 3 == 0;
    if (i % 5 == 0)
      gi_dict_set_int(gi_fop_xdata(f[i]), "batch-fsync", 1);
  }
  for (int i = 0; i < 20; i++)
    brick_submit(b, f[i]);
  for (int i = 0; i < 20; i++) {
    brick_wait(b, f[i]);
    assert_ok(f[i]);
    if (i % 5)
      assert_int_equal(f[i]->rsp.post.size, 1);
    else
      assert_false(gi_iatt_valid(&f[i]->rsp.post)); /* batched: no attributes */
  }
  gi_fd_unref(&fd);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

static void
anonymous_descriptors_read_and_write(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", "hello");
  struct gi_gfid unknown = {{5, 5}};
  struct gi_inode *inode = gi_inode_get(b->s->graph, &unknown);
  struct gi_fd *anon = gi_fd_anonymous(b->s->graph, o.fd->inode), *none = gi_fd_anonymous(b->s->graph, inode);
  struct gi_fd *closed = gi_fd_new(b->s->graph, o.fd->inode, O_RDWR, 1);
  struct gi_fop *f;

  (void)state;
  gi_inode_unref(&inode);
  assert_int_equal(brick_read(b, anon, 1, 100)->rsp.ret, 4);
  assert_int_equal(brick_write(b, anon, 5, "!", 1)->rsp.ret, 1);
  f = brick_fop(b, GI_FOP_FSTAT);
  set_fd(f, anon);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.stat.size, 6);
  f = brick_fop(b, GI_FOP_FSYNC);
  set_fd(f, anon);
  assert_ok(brick_run(b, f));
  assert_fails(brick_read(b, none, 0, 10), ESTALE);
  assert_fails(brick_read(b, closed, 0, 10), EBADF); /* never opened here */
  gi_fd_unref(&closed);
  gi_fd_unref(&none);
  gi_fd_unref(&anon);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

static void
ranges_are_allocated_punched_and_zeroed(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", "0123456789");
  char back[16] = "", path[PATH_MAX];
  struct gi_fop *f = brick_on_fd(b, GI_FOP_FALLOCATE, o.fd, 0, 100000);

  (void)state;
  f->args.flags = 1;
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.post.size, 10);
  assert_int_equal(f->rsp.post.blocks, 1); /* what lies behind the end does not show */
  f = brick_on_fd(b, GI_FOP_FALLOCATE, o.fd, 0, 100000);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.pre.size, 10);
  assert_int_equal(f->rsp.post.size, 100000);
  assert_ok(brick_run(b, brick_on_fd(b, GI_FOP_DISCARD, o.fd, 2, 3)));
  assert_ok(brick_run(b, brick_on_fd(b, GI_FOP_ZEROFILL, o.fd, 7, 200000)));
  f = brick_read(b, o.fd, 0, 10);
  gi_payload_read(&f->rsp.payload, 0, back, 10);
  assert_memory_equal(back,
                      "01\0\0\0"
                      "56\0\0\0",
                      10);
  assert_int_equal(f->rsp.stat.size, 200007);
  assert_fails(brick_run(b, brick_on_fd(b, GI_FOP_FALLOCATE, o.fd, 0, 0)), EINVAL);
  assert_fails(brick_run(b, brick_on_fd(b, GI_FOP_FALLOCATE, o.fd, UINT64_MAX, 10)), EFBIG);
  f = brick_fop(b, GI_FOP_FALLOCATE); /* more than any disk has: nothing is left behind of it */
  set_fd(f, o.fd);
  f->args.size = 1ull << 43;
  assert_fails(brick_run(b, f), ENOSPC);
  brick_path(b, path, "f");
  assert_true(stat_of(path).st_blocks * 512 <= 1 << 20);
  f = brick_fop(b, GI_FOP_TRUNCATE);
  set_object(f, &o.g);
  f->args.offset = 4;
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.pre.size, 200007);
  assert_int_equal(f->rsp.post.size, 4);
  assert_ok(brick_run(b, brick_on_fd(b, GI_FOP_FTRUNCATE, o.fd, 4096 * 10, 0)));
  f = brick_on_fd(b, GI_FOP_SEEK, o.fd, 0, 0);
  f->args.what = 1;
  assert_ok(brick_run(b, f));
  assert_true(f->rsp.offset >= 4 && f->rsp.offset <= 4096);
  f = brick_on_fd(b, GI_FOP_SEEK, o.fd, 8192, 0);
  assert_fails(brick_run(b, f), ENXIO);
  f = brick_on_fd(b, GI_FOP_SEEK, o.fd, 0, 0);
  f->args.what = 2;
  assert_fails(brick_run(b, f), EOPNOTSUPP);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

static void
ranges_are_copied(void **state)
{
  BRICK(b, NULL);
  struct brick_file from = brick_new_file(b, "from", "0123456789"), to = brick_new_file(b, "to", "abc");
  struct gi_fop *f = brick_on_fd(b, GI_FOP_COPY_FILE_RANGE, from.fd, 2, 5);
  char back[8] = "";

  (void)state;
  f->fd2 = gi_fd_ref(to.fd);
  f->args.offset2 = 1;
  f->caller.stamps = GI_STAMP_ATIME | GI_STAMP_MTIME | GI_STAMP_CTIME;
  f->caller.time.sec = 5000;
  brick_run(b, f);
  if (f->rsp.ret < 0 && (f->rsp.err == EOPNOTSUPP || f->rsp.err == ENOSYS))
    goto out;
  assert_int_equal(f->rsp.ret, 5);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &from.g));
  assert_true(gi_gfid_equal(&f->rsp.pre.gfid, &to.g));
  assert_int_equal(f->rsp.pre.size, 3);
  assert_int_equal(f->rsp.post.size, 6);
  assert_int_equal(f->rsp.post.mtime.sec, 5000);
  assert_int_equal(f->rsp.stat.mtime.sec, 1000);
  assert_int_equal(f->rsp.stat.atime.sec, 5000);
  f = brick_read(b, to.fd, 0, 8);
  gi_payload_read(&f->rsp.payload, 0, back, 8);
  assert_string_equal(back, "a23456");
out:
  gi_fd_unref(&from.fd);
  gi_fd_unref(&to.fd);
  brick_free(b);
}

static uint32_t
adler_from_zero(const uint8_t *d, size_t n)
{
  uint32_t s = 0, t = 0;

  for (size_t i = 0; i < n; i++) {
    s = (s + d[i]) % 65521;
    t = (t + s) % 65521;
  }
  return t << 16 | s;
}

static void
checksums_are_those_of_the_field(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", NULL), zeroes = brick_new_file(b, "z", NULL);
  uint8_t *data = gi_alloc(300000), want[32];
  struct gi_fop *f;
  int64_t v;

  (void)state;
  for (int i = 0; i < 300000; i++)
    data[i] = (uint8_t)(i * 31 + i / 251);
  assert_int_equal(brick_write(b, o.fd, 0, data, 300000)->rsp.ret, 300000);
  f = brick_on_fd(b, GI_FOP_RCHECKSUM, o.fd, 1000, 1u << 20);
  gi_dict_set_int(gi_fop_xdata(f), "check-zero-filled", 1);
  assert_ok(brick_run(b, f));
  SHA256(data + 1000, 299000, want);
  assert_memory_equal(f->rsp.strong_checksum, want, 32);
  assert_int_equal(f->rsp.strong_len, 32);
  assert_int_equal(f->rsp.weak_checksum, adler_from_zero(data + 1000, 299000));
  assert_int_equal(f->rsp.flags, 1);
  assert_true(gi_dict_get_int(f->rsp.xdata, "fips-mode-rchecksum", &v));
  assert_true(gi_dict_get_int(f->rsp.xdata, "buf-has-zeroes", &v));
  assert_int_equal(v, 0);
  memset(data, 0, 4096);
  assert_int_equal(brick_write(b, zeroes.fd, 0, data, 4096)->rsp.ret, 4096);
  f = brick_on_fd(b, GI_FOP_RCHECKSUM, zeroes.fd, 0, 4096);
  gi_dict_set_int(gi_fop_xdata(f), "check-zero-filled", 1);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.weak_checksum, 0); /* as recorded from a live brick */
  static const uint8_t recorded[] = {0xad, 0x7f, 0xac, 0xb2, 0x58, 0x6f, 0xc6, 0xe9};
  assert_memory_equal(f->rsp.strong_checksum, recorded, 8);
  assert_true(gi_dict_get_int(f->rsp.xdata, "buf-has-zeroes", &v));
  assert_int_equal(v, 1);
  gi_free(data);
  gi_fd_unref(&o.fd);
  gi_fd_unref(&zeroes.fd);
  brick_free(b);
}

static void
checksums_without_fips_are_md5(void **state)
{
  BRICK(b, "option fips-mode-rchecksum off\n");
  struct brick_file o = brick_new_file(b, "f", "abc");
  static const uint8_t md5[32] = {0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2, 0x4f, 0xb0,
                                  0xd6, 0x96, 0x3f, 0x7d, 0x28, 0xe1, 0x7f, 0x72};
  struct gi_fop *f = brick_on_fd(b, GI_FOP_RCHECKSUM, o.fd, 0, 3);

  (void)state;
  assert_ok(brick_run(b, f));
  assert_memory_equal(f->rsp.strong_checksum, md5, 32);
  assert_null(gi_dict_get(f->rsp.xdata, "fips-mode-rchecksum"));
  gi_fd_unref(&o.fd);
  brick_free(b);
}

/* ---- directories ---- */

static unsigned
list_all(struct brick *b, enum gi_fop_kind kind, struct gi_fd *fd, uint32_t size, unsigned seen[64], unsigned *calls)
{
  uint64_t offset = 0;
  unsigned total = 0;

  for (*calls = 0; *calls < 1000; ++*calls) {
    struct gi_fop *f = brick_on_fd(b, kind, fd, offset, size);

    gi_dict_set_int(gi_fop_xdata(f), "trusted.glusterfs.mdata", 1);
    assert_ok(brick_run(b, f));
    for (uint32_t i = 0; i < f->rsp.entries.count; i++) {
      const struct gi_dirent *e = &f->rsp.entries.entry[i];
      unsigned n;

      assert_string_not_equal(e->name, ".glusterfs");
      assert_true(e->off < 1ull << 63);
      offset = e->off;
      total++;
      if (sscanf(e->name, "file-%u", &n) != 1)
        continue;
      seen[n]++;
      assert_int_equal(e->type, 8);
      if (kind == GI_FOP_READDIRP) {
        assert_int_equal(e->stat.mode, S_IFREG | 0600);
        assert_int_equal(e->ino, e->stat.ino);
        assert_int_equal(e->stat.mtime.sec, 1000);
        assert_non_null(gi_dict_get(e->xdata, "trusted.glusterfs.mdata"));
      }
    }
    if (f->rsp.err == ENOENT)
      break;
    assert_true(f->rsp.entries.count > 0);
  }
  return total;
}

static void
listings_are_complete(void **state)
{
  BRICK(b, NULL);
  static const enum gi_fop_kind kinds[] = {GI_FOP_READDIR, GI_FOP_READDIRP};
  static const uint32_t sizes[] = {700, 5000, 131072, 1};
  struct gi_fd *fd;
  unsigned calls;

  (void)state;
  for (int i = 0; i < 64; i++) {
    struct gi_gfid g = brick_gfid(b);
    char name[32];

    snprintf(name, sizeof(name), "file-%d", i);
    assert_ok(brick_mknod(b, ROOT, name, S_IFREG | 0600, &g));
  }
  assert_ok(brick_opendir(b, ROOT, &fd));
  for (size_t k = 0; k < GI_ARRAY_LEN(kinds); k++) {
    for (size_t i = 0; i < GI_ARRAY_LEN(sizes); i++) {
      unsigned seen[64] = {0};

      assert_int_equal(list_all(b, kinds[k], fd, sizes[i], seen, &calls), 66); /* with . and .. */
      for (int n = 0; n < 64; n++)
        assert_int_equal(seen[n], 1);
      if (sizes[i] == 131072)
        assert_true(calls <= 1);
    }
  }
  struct gi_fop *f = brick_on_fd(b, GI_FOP_READDIRP, fd, 0, 131072);
  assert_ok(brick_run(b, f));
  for (uint32_t i = 0; i < f->rsp.entries.count; i++) {
    const struct gi_dirent *e = &f->rsp.entries.entry[i];

    if (strcmp(e->name, "..") == 0) { /* outside of the volume */
      assert_true(gi_gfid_is_none(&e->stat.gfid));
      assert_int_equal(e->stat.flags, 0x16ff);
      assert_int_equal(e->ino, UINT64_MAX);
    }
    if (strcmp(e->name, ".") == 0)
      assert_true(gi_gfid_is_root(&e->stat.gfid));
  }
  gi_fd_unref(&fd);
  brick_free(b);
}

static void
cookies_hold_for_other_descriptors_and_filters_filter(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_gfid(b), g = brick_gfid(b);
  struct gi_fd *one, *two;
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "d", &d));
  assert_ok(brick_mknod(b, ROOT, "f", S_IFREG | 0600, &g));
  assert_ok(brick_opendir(b, ROOT, &one));
  assert_ok(brick_opendir(b, ROOT, &two));
  f = brick_on_fd(b, GI_FOP_READDIR, one, 0, 300);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.entries.count, 1);
  f = brick_on_fd(b, GI_FOP_READDIR, two, f->rsp.entries.entry[0].off, 131072);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.entries.count, 3);
  f = brick_on_fd(b, GI_FOP_READDIR, one, 0, 131072);
  gi_dict_set_int(gi_fop_xdata(f), "readdir-filter-directories", 1);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.entries.count, 1);
  assert_string_equal(f->rsp.entries.entry[0].name, "f");
  f = brick_fop(b, GI_FOP_FSYNCDIR);
  set_fd(f, one);
  assert_ok(brick_run(b, f));
  gi_fd_unref(&one);
  gi_fd_unref(&two);
  assert_fails(brick_opendir(b, &g, &one), ENOTDIR);
  gi_fd_unref(&one);
  brick_free(b);
}

/* A heal writes a file in pages: all of them at its fsync would keep applications' fsyncs waiting. */
static void
healed_pages_go_to_the_disk_as_they_come(void **state)
{
  static const char page[8192];
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", "");
  struct posix *p = b->s->x->private;
  struct gi_fop *f;

  (void)state;
  for (unsigned i = 0; i < 40; i++)
    assert_int_equal(brick_write(b, o.fd, i * sizeof(page), page, sizeof(page))->rsp.ret, sizeof(page));
  assert_int_equal(p->metrics.write_outs, 0);
  for (unsigned i = 0; i < 20; i++) {
    f = brick_on_fd(b, GI_FOP_WRITE, o.fd, i * 2 * sizeof(page), sizeof(page));
    f->caller.pid = -6;
    gi_payload_add_copy(&f->payload, page, sizeof(page));
    assert_int_equal(brick_run(b, f)->rsp.ret, sizeof(page));
    assert_int_equal(p->metrics.write_outs, (i + 1) / 9);
  }
  gi_fd_unref(&o.fd);
  brick_free(b);
}

/* ---- io_uring that takes nothing for a while ---- */

static bool uring_refuses;
static unsigned uring_refusals;

/* Instead of the library's, for the translator too. */
int
io_uring_submit(struct io_uring *ring)
{
  static int (*submit)(struct io_uring * ring);

  if (uring_refuses) {
    uring_refusals++;
    return -EAGAIN;
  }
  if (!submit) {
    void *library = dlopen("liburing.so.2", RTLD_NOW | RTLD_NOLOAD),
         *symbol = library ? dlsym(library, "io_uring_submit") : NULL;

    assert_non_null(symbol);
    memcpy(&submit, &symbol, sizeof(submit));
  }
  return submit(ring);
}

static void
a_ring_that_takes_nothing_is_asked_again(void **state)
{
  BRICK(b, NULL);
  struct brick_file o = brick_new_file(b, "f", "hello");
  struct gi_fop *f = brick_on_fd(b, GI_FOP_READ, o.fd, 0, 5);

  (void)state;
  if (strcmp(b->engine, "io_uring") == 0 && ((const struct posix *)b->s->x->private)->uring) {
    uring_refuses = true;
    uring_refusals = 0;
    brick_submit(b, f);
    fake_wait(b->s, 20 * GI_NSEC_PER_MSEC);
    assert_false(f->answered);
    assert_in_range(uring_refusals, 1, 30); /* not in a loop that keeps everybody else waiting */
    uring_refuses = false;
    brick_wait(b, f);
  } else {
    brick_run(b, f);
  }
  assert_int_equal(f->rsp.ret, 5);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

/* ---- space ---- */

/* Freeing many blocks takes long: it is left to a worker, except where there is none. */
static void
a_big_file_is_removed_by_a_worker(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  const struct posix *p = b->s->x->private;
  struct gi_inode *inode;
  struct gi_fd *fd;
  uint64_t moved;

  (void)state;
  assert_ok(brick_mknod(b, ROOT, "big", S_IFREG | 0600, &g));
  inode = gi_inode_get(b->s->graph, &g);
  fd = gi_fd_anonymous(b->s->graph, inode); /* an open one would keep the blocks */
  assert_ok(brick_run(b, brick_on_fd(b, GI_FOP_FALLOCATE, fd, 0, 65u << 20)));
  gi_fd_unref(&fd);
  gi_inode_unref(&inode);
  moved = p->metrics.moved;
  assert_ok(brick_unlink(b, ROOT, "big"));
  assert_int_equal(p->metrics.moved - moved, strcmp(b->engine, "auto") == 0 || strcmp(b->engine, "io_uring") == 0);
  brick_free(b);
}

static void
the_reserve_is_kept(void **state)
{
  BRICK(b, "option reserve 99\n"); /* of a disk that is surely fuller than that */
  struct gi_gfid g = brick_gfid(b);
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  assert_fails(brick_create(b, ROOT, "f", &g, &fd), ENOSPC);
  gi_fd_unref(&fd);
  fd = gi_fd_new(b->s->graph, NULL, O_RDWR, -6);
  f = brick_fop(b, GI_FOP_CREATE); /* self-heal must be able to work */
  set_entry(f, ROOT, "f");
  f->caller.pid = -6;
  f->args.flags = O_CREAT | O_RDWR;
  f->args.mode = 0600;
  f->fd = gi_fd_ref(fd);
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  assert_ok(brick_run(b, f));
  assert_fails(brick_write(b, fd, 0, "x", 1), ENOSPC);
  f = brick_on_fd(b, GI_FOP_WRITE, fd, 0, 4);
  gi_payload_add_copy(&f->payload, "heal", 4);
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs-internal-fop", "yes");
  assert_int_equal(brick_run(b, f)->rsp.ret, 4);
  assert_int_equal(brick_write(b, fd, 0, "over", 4)->rsp.ret, 4); /* nothing new is needed */
  assert_fails(brick_write(b, fd, 1, "over", 4), ENOSPC);
  assert_fails(brick_run(b, brick_on_fd(b, GI_FOP_FALLOCATE, fd, 0, 100)), ENOSPC);
  f = brick_on_fd(b, GI_FOP_FTRUNCATE, fd, 1u << 20, 0);
  assert_ok(brick_run(b, f));
  assert_int_equal(brick_write(b, fd, 0, "over", 4)->rsp.ret, 4);
  assert_fails(brick_write(b, fd, 100000, "hole", 4), ENOSPC);
  assert_fails(brick_run(b, brick_on_fd(b, GI_FOP_FALLOCATE, fd, 100000, 100)), ENOSPC);
  assert_ok(brick_rename(b, ROOT, "f", ROOT, "g"));
  f = brick_fop(b, GI_FOP_STATFS);
  set_object(f, ROOT);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.statfs.bavail, 0);
  assert_ok(brick_unlink(b, ROOT, "g"));
  gi_fd_unref(&fd);
  brick_free(b);
}

static void
statfs_is_shared_between_bricks(void **state)
{
  BRICK(b, "option reserve 0\noption shared-brick-count 4\n");
  struct gi_fop *f = brick_fop(b, GI_FOP_STATFS);

  (void)state;
  set_object(f, ROOT);
  assert_ok(brick_run(b, f));
  assert_true(f->rsp.statfs.blocks > 0);
  assert_true(f->rsp.statfs.bavail <= f->rsp.statfs.bfree);
  assert_int_equal(f->rsp.statfs.namemax, 255);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(appends_are_noticed),
      cmocka_unit_test(a_copy_does_not_overwrite_what_is_newer),
      cmocka_unit_test(concurrent_appends_see_each_other),
      cmocka_unit_test(a_write_appends_if_it_says_so),
      cmocka_unit_test(a_write_that_ends_short_is_told),
      cmocka_unit_test(large_and_gathered_writes),
      cmocka_unit_test(healed_pages_go_to_the_disk_as_they_come),
      cmocka_unit_test(direct_io_takes_any_memory),
      cmocka_unit_test(synchronous_writes_and_shared_fsyncs),
      cmocka_unit_test(anonymous_descriptors_read_and_write),
      cmocka_unit_test(ranges_are_allocated_punched_and_zeroed),
      cmocka_unit_test(ranges_are_copied),
      cmocka_unit_test(checksums_are_those_of_the_field),
      cmocka_unit_test(checksums_without_fips_are_md5),
      cmocka_unit_test(listings_are_complete),
      cmocka_unit_test(cookies_hold_for_other_descriptors_and_filters_filter),
      cmocka_unit_test(a_ring_that_takes_nothing_is_asked_again),
      cmocka_unit_test(a_big_file_is_removed_by_a_worker),
      cmocka_unit_test(the_reserve_is_kept),
      cmocka_unit_test(statfs_is_shared_between_bricks),
  };

  brick_on_disk = true;
  return BRICK_RUN_ENGINES(tests);
}
