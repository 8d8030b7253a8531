/* SPDX-License-Identifier: Apache-2.0
 *
 * storage/posix: what large writes fill goes to the disk behind the answers.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "xlators/storage/posix/posix-fixture.h"
#include "xlators/storage/posix/posix.h"

#include <dlfcn.h>
#include <errno.h>

#define MIB (1u << 20)

static bool refuses;
static unsigned calls;

/* Instead of the library's, for the translator too. */
int
sync_file_range(int fd, off64_t at, off64_t len, unsigned flags)
{
  int (*real)(int fd, off64_t at, off64_t len, unsigned flags);
  void *symbol = dlsym(RTLD_NEXT, "sync_file_range");

  assert_non_null(symbol);
  memcpy(&real, &symbol, sizeof(real));
  __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (refuses) {
    errno = EIO;
    return -1;
  }
  return real(fd, at, len, flags);
}

static struct gi_fd *
create(struct brick *b)
{
  struct gi_gfid gfid = brick_gfid(b);
  struct gi_fd *fd;

  assert_ok(brick_create(b, ROOT, "f", &gfid, &fd));
  calls = 0;
  return fd;
}

static void
put(struct brick *b, struct gi_fd *fd, uint64_t at, size_t len)
{
  static char data[MIB];

  assert_true(len <= sizeof(data));
  assert_int_equal(brick_write(b, fd, at, data, len)->rsp.ret, (int)len);
}

static unsigned
written_out(struct brick *b)
{
  const struct posix *p = b->s->x->private;

  fake_settle(b->s);
  assert_int_equal(calls, p->metrics.write_outs);
  return calls;
}

static void
large_appends_go_to_the_disk_as_they_come(void **state)
{
  BRICK(b, NULL);
  struct gi_fd *fd = create(b);

  (void)state;
  for (unsigned i = 0; i < 20; i++) {
    put(b, fd, (uint64_t)i * MIB, MIB);
    assert_int_equal(written_out(b), (i + 1) / 8);
  }
  gi_fd_unref(&fd);
  brick_free(b);
}

/* As a program does that knows how much will come. */
static void
what_fills_allocated_space_does_too(void **state)
{
  BRICK(b, NULL);
  struct gi_fd *fd = create(b);
  struct gi_fop *f = brick_fop(b, GI_FOP_FALLOCATE);

  (void)state;
  set_fd(f, fd);
  f->args.size = 32 * MIB;
  assert_int_equal(brick_run(b, f)->rsp.ret, 0);
  for (unsigned i = 0; i < 16; i++) {
    put(b, fd, (uint64_t)i * MIB, MIB);
    assert_int_equal(written_out(b), (i + 1) / 8);
  }
  for (unsigned i = 0; i < 16; i++)
    put(b, fd, (uint64_t)i * MIB, MIB);
  assert_int_equal(written_out(b), 2); /* but not when it is written again */
  gi_fd_unref(&fd);
  brick_free(b);
}

/* What is overwritten might be there before its counters. Who writes little may write it again. */
static void
nothing_else_does(void **state)
{
  BRICK(b, NULL);
  struct gi_fd *fd = create(b);

  (void)state;
  for (unsigned i = 0; i < 7; i++)
    put(b, fd, (uint64_t)i * MIB, MIB);
  for (unsigned i = 0; i < 7; i++)
    put(b, fd, (uint64_t)i * MIB, MIB);
  for (unsigned i = 0; i < 200; i++)
    put(b, fd, 7 * MIB + i * 65536, 65536);
  assert_int_equal(written_out(b), 0);
  gi_fd_unref(&fd);
  brick_free(b);
}

/* The kernel tells it once, and not the fsync. */
static void
what_the_disk_refuses_fails_the_fsync(void **state)
{
  BRICK(b, NULL);
  struct gi_fd *fd = create(b);
  struct gi_fop *f;

  (void)state;
  refuses = true;
  for (unsigned i = 0; i < 8; i++)
    put(b, fd, (uint64_t)i * MIB, MIB);
  assert_int_equal(written_out(b), 1);
  refuses = false;
  f = brick_fop(b, GI_FOP_FSYNC);
  set_fd(f, fd);
  assert_int_equal(brick_run(b, f)->rsp.ret, -1);
  assert_int_equal(f->rsp.err, EIO);
  gi_fd_unref(&fd);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(large_appends_go_to_the_disk_as_they_come),
      cmocka_unit_test(what_fills_allocated_space_does_too),
      cmocka_unit_test(nothing_else_does),
      cmocka_unit_test(what_the_disk_refuses_fails_the_fsync),
  };

  brick_on_disk = true;
  return BRICK_RUN_ENGINES(tests);
}
