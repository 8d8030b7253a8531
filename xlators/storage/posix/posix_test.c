/* SPDX-License-Identifier: Apache-2.0
 *
 * storage/posix: what every kind of request leaves on disk and answers, once
 * per engine.
 */
#include "libglusterish/trace.h"
#include "xlators/storage/posix/posix-fixture.h"

#include <errno.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- what is seen ---- */

static void
count_calls(struct gi_trace *t, struct gi_told *told)
{
  unsigned *calls = t->arg;

  for (const struct gi_step *s = told->tree->steps; s; s = s->next) {
    assert_string_equal(s->layer->type, "system-call");
    assert_false(s->open);
    *calls += strcmp(s->layer->name, "pwritev") == 0 || strcmp(s->layer->name, "fsync") == 0;
  }
}

static void
system_calls_are_steps(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  unsigned calls = 0;
  struct gi_trace t = {.got = count_calls, .arg = &calls};
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  gi_trace_arm(b->s->ctx.seen, &t);
  assert_ok(brick_write(b, fd, 0, "hello", 5));
  f = brick_fop(b, GI_FOP_FSYNC);
  set_fd(f, fd);
  assert_ok(brick_run(b, f));
  gi_trace_disarm(b->s->ctx.seen, &t);
  assert_true(calls >= 1); /* io_uring makes none to write */
  gi_fd_unref(&fd);
  brick_free(b);
}

/* ---- layout ---- */

static void
housekeeping_is_there(void **state)
{
  BRICK(b, NULL);
  char path[PATH_MAX], text[64];
  struct stat st;
  ssize_t n;

  (void)state;
  brick_path(b, path, ".");
  assert_xattr(path, "trusted.gfid", ROOT->b, 16);
  for (int i = 0; i < 256; i++) {
    brick_path(b, path, ".glusterfs/%02x", i);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0700);
  }
  brick_path(b, path, ".glusterfs/00/00/00000000-0000-0000-0000-000000000001");
  n = readlink(path, text, sizeof(text));
  assert_int_equal(n, 8);
  assert_memory_equal(text, "../../..", 8);
  brick_path(b, path, ".glusterfs/landfill");
  assert_int_equal(lstat(path, &st), 0);
  assert_int_equal(st.st_mode, S_IFDIR | 0755);
  brick_path(b, path, ".glusterfs/unlink");
  assert_int_equal(lstat(path, &st), 0);
  assert_int_equal(st.st_mode, S_IFDIR | 0600);
  brick_path(b, path, ".glusterfs");
  assert_int_equal(lstat(path, &st), 0);
  assert_int_equal(st.st_mode, S_IFDIR | 0600);
  brick_free(b);
}

static void
a_new_file_is_complete_on_disk(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b), d = brick_gfid(b);
  char path[PATH_MAX], handle[PATH_MAX];
  uint8_t mdata[57] = {1};
  struct gi_fd *fd;
  struct stat st;

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "d1", &d));
  struct gi_fop *f = brick_create(b, &d, "f1", &g, &fd);
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &g));
  assert_int_equal(f->rsp.stat.ino, gi_gfid_ino(&g));
  assert_int_equal(f->rsp.stat.nlink, 1);
  assert_int_equal(f->rsp.stat.mode, S_IFREG | 0644);
  assert_int_equal(f->rsp.stat.mtime.sec, 1000);
  assert_int_equal(f->rsp.stat.flags, GI_IATT_BASIC);
  assert_true(gi_gfid_equal(&f->rsp.post.gfid, &d));
  assert_int_equal(f->rsp.post.mode & S_IFMT, S_IFDIR);

  brick_path(b, path, "d1/f1");
  brick_handle(b, handle, &g);
  assert_true(same_file(path, handle));
  assert_int_equal(lstat(path, &st), 0);
  assert_int_equal(st.st_nlink, 2);
  assert_xattr(path, "trusted.gfid", g.b, 16);
  for (int i = 0; i < 3; i++) { /* 1000 s, 5 ns, three times */
    mdata[9 + 16 * i + 6] = 1000 >> 8;
    mdata[9 + 16 * i + 7] = 1000 & 255;
    mdata[17 + 16 * i + 7] = 5;
  }
  XXH64_canonicalFromHash((XXH64_canonical_t *)(mdata + 1), XXH64(b->dir, strlen(b->dir), 0)); /* no other brick's */
  assert_xattr(path, "trusted.glusterfs.mdata", mdata, sizeof(mdata));
  /* XXH64 of "a01b0203-0405-4607-8809-0a0b0c0d0e02/f1", seed 0. */
  assert_xattr(path, "trusted.gfid2path.793863ea445d22a0", "a01b0203-0405-4607-8809-0a0b0c0d0e02/f1", 39);
  gi_fd_unref(&fd);
  brick_free(b);
}

static void
a_directory_has_a_symlink_for_handle(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_gfid(b), e = brick_gfid(b);
  char handle[PATH_MAX], text[512];
  ssize_t n;

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "top", &d));
  assert_ok(brick_mkdir(b, &d, "inner", &e));
  brick_handle(b, handle, &d);
  n = readlink(handle, text, sizeof(text));
  assert_int_equal(n, 52);
  assert_memory_equal(text, "../../00/00/00000000-0000-0000-0000-000000000001/top", 52);
  brick_handle(b, handle, &e);
  n = readlink(handle, text, sizeof(text) - 1);
  text[n] = 0;
  assert_string_equal(text, "../../a0/1b/a01b0203-0405-4607-8809-0a0b0c0d0e01/inner");

  struct gi_fop *f = brick_nameless(b, &e);
  assert_ok(f);
  assert_int_equal(f->rsp.stat.mode, S_IFDIR | 0755);
  assert_int_equal(f->rsp.stat.nlink, 2);
  brick_restart(b); /* and without anything cached */
  f = brick_nameless(b, &e);
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &e));
  assert_ok(brick_rename(b, &d, "inner", ROOT, "outer"));
  brick_handle(b, handle, &e);
  n = readlink(handle, text, sizeof(text) - 1);
  text[n] = 0;
  assert_string_equal(text, "../../00/00/00000000-0000-0000-0000-000000000001/outer");
  assert_ok(brick_rmdir(b, ROOT, "outer", 0));
  assert_gone(handle);
  assert_fails(brick_nameless(b, &e), ENOENT);
  brick_free(b);
}

/* ---- data ---- */

static void
data_goes_in_and_out(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  char block[8192], back[8192];
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  memset(block, 0x5a, sizeof(block));
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  f = brick_write(b, fd, 0, block, sizeof(block));
  assert_int_equal(f->rsp.ret, 8192);
  assert_int_equal(f->rsp.pre.size, 0);
  assert_int_equal(f->rsp.post.size, 8192);
  f = brick_read(b, fd, 0, 8192);
  assert_int_equal(f->rsp.ret, 8192);
  assert_int_equal(f->rsp.err, ENOENT); /* end of file */
  assert_int_equal(f->rsp.stat.size, 8192);
  assert_int_equal(gi_payload_read(&f->rsp.payload, 0, back, 8192), 8192);
  assert_memory_equal(back, block, 8192);
  f = brick_read(b, fd, 4096, 1024);
  assert_int_equal(f->rsp.ret, 1024);
  assert_int_equal(f->rsp.err, 0);
  f = brick_read(b, fd, 9000, 100);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(f->rsp.err, ENOENT);
  f = brick_read(b, fd, 8000, 1000);
  assert_int_equal(f->rsp.ret, 192);
  assert_fails(brick_read(b, fd, 0, 0), EINVAL);
  for (int sync = 0; sync < 2; sync++) {
    f = brick_fop(b, GI_FOP_FSYNC);
    set_fd(f, fd);
    f->args.datasync = sync;
    assert_ok(brick_run(b, f));
    assert_int_equal(f->rsp.post.size, 8192);
  }
  gi_fd_unref(&fd);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(housekeeping_is_there),          cmocka_unit_test(system_calls_are_steps),
      cmocka_unit_test(a_new_file_is_complete_on_disk), cmocka_unit_test(a_directory_has_a_symlink_for_handle),
      cmocka_unit_test(data_goes_in_and_out),
  };
  return BRICK_RUN_ENGINES(tests);
}
