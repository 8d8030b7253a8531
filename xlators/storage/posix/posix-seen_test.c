/* SPDX-License-Identifier: Apache-2.0
 *
 * storage/posix: what is known without asking the disk is what the disk would tell.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "xlators/storage/posix/posix-fixture.h"

#include "libglusterish/extension.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static const uint8_t zero[12] = {0}, one[12] = {0, 0, 0, 1}, two[12] = {0, 0, 0, 2};
static const char *const keys[] = {"trusted.afr.dirty", "trusted.afr.v-client-0", "trusted.afr.v-client-1"};

/* Adds to the dirty counter and asks for the others, as a client does. */
static struct gi_fop *
add(struct brick *b, struct gi_fd *fd, const struct gi_gfid *gfid, const uint8_t n[12])
{
  struct gi_fop *f = brick_fop(b, fd ? GI_FOP_FXATTROP : GI_FOP_XATTROP);

  if (fd)
    set_fd(f, fd);
  else
    set_object(f, gfid);
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++)
    gi_dict_set_bin(f->args.dict, keys[i], i ? zero : n, 12);
  assert_ok(brick_run(b, f));
  return f;
}

static void
assert_told(const struct gi_fop *f, const uint8_t dirty[12], const uint8_t first[12])
{
  const uint8_t *want[] = {dirty, first, zero};

  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++) {
    const void *have;
    uint32_t len;

    assert_true(gi_dict_get_bin(f->rsp.dict, keys[i], &have, &len));
    assert_int_equal(len, 12);
    assert_memory_equal(have, want[i], 12);
  }
}

static void
counters_are_those_of_the_disk(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  struct gi_fd *fd, *other;
  char path[PATH_MAX];

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  brick_path(b, path, "f");
  assert_told(add(b, fd, NULL, one), one, zero);
  assert_xattr(path, keys[0], one, 12);
  assert_no_xattr(path, keys[1]); /* a zero add only reads, also of what is known */
  assert_told(add(b, fd, NULL, one), two, zero);
  assert_ok(brick_open(b, &g, O_RDWR, &other));
  assert_told(add(b, other, NULL, zero), two, zero);
  assert_told(add(b, NULL, &g, one), (const uint8_t[12]){0, 0, 0, 3}, zero);
  assert_told(add(b, fd, NULL, zero), (const uint8_t[12]){0, 0, 0, 3}, zero);
  assert_told(add(b, other, NULL, one), (const uint8_t[12]){0, 0, 0, 4}, zero);
  assert_ok(brick_setxattr(b, &g, keys[1], two, 12, 0));
  assert_told(add(b, fd, NULL, zero), (const uint8_t[12]){0, 0, 0, 4}, two);
  assert_int_equal(setxattr(path, keys[0], one, 12, 0), 0); /* behind the brick's back */
  fake_wait(b->s, 1100 * GI_NSEC_PER_MSEC);
  assert_told(add(b, fd, NULL, zero), one, two);
  gi_fd_unref(&fd);
  gi_fd_unref(&other);
  brick_free(b);
}

static void
a_change_begins_with_what_the_last_one_left(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b), d = brick_dir(b, ROOT, "d");
  struct gi_fop *f, *before;
  struct gi_fd *fd;

  (void)state;
  assert_ok(brick_create(b, &d, "f", &g, &fd));
  f = brick_write(b, fd, 0, "abc", 3);
  assert_int_equal(f->rsp.pre.size, 0);
  f = brick_write(b, fd, 3, "de", 2);
  assert_int_equal(f->rsp.pre.size, 3);
  assert_int_equal(f->rsp.post.size, 5);
  before = brick_fop(b, GI_FOP_TRUNCATE); /* by another way */
  set_object(before, &g);
  before->args.offset = 1;
  assert_ok(brick_run(b, before));
  f = brick_write(b, fd, 1, "x", 1);
  assert_int_equal(f->rsp.pre.size, 1);

  f = brick_mkdir(b, &d, "one", &(struct gi_gfid){{9, 9, 1}});
  assert_int_equal(f->rsp.pre.nlink, 2);
  assert_int_equal(f->rsp.post.nlink, 3);
  before = brick_fop(b, GI_FOP_SETATTR);
  set_object(before, &d);
  before->args.valid = GI_SET_MODE;
  before->args.iatt.mode = 02711;
  assert_ok(brick_run(b, before));
  f = brick_mkdir(b, &d, "two", &(struct gi_gfid){{9, 9, 2}});
  assert_int_equal(f->rsp.pre.mode & 07777, 02711);
  assert_int_equal(f->rsp.pre.nlink, 3);
  assert_int_equal(f->rsp.stat.mode & S_ISGID, S_ISGID);
  gi_fd_unref(&fd);
  brick_free(b);
}

/* Nothing is made in a directory that is no more. */
static void
a_directory_that_went_is_not_believed_in(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d"), g = brick_gfid(b);
  char path[PATH_MAX];

  (void)state;
  brick_file(b, &d, "f");
  assert_ok(brick_unlink(b, &d, "f"));
  brick_path(b, path, "d");
  assert_int_equal(rmdir(path), 0);
  assert_fails(brick_mknod(b, &d, "g", S_IFREG | 0644, &g), ESTALE);
  assert_fails(brick_unlink(b, &d, "f"), ESTALE);
  assert_fails(brick_lookup(b, &d, "f"), ESTALE);
  brick_free(b);
}

/* Nor is the directory looked at again for a name that it has not. */
static void
a_missing_name_needs_no_look_at_its_directory(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d"), g = brick_gfid(b);
  bool asks = strcmp(brick_engine, "pool") == 0; /* workers do not know */
  char path[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  brick_mkdir(b, &d, "one", &g);
  brick_path(b, path, "d");
  assert_int_equal(chmod(path, 0711), 0); /* behind the brick's back */
  f = brick_lookup(b, &d, "two");
  assert_fails(f, ENOENT);
  assert_int_equal(f->rsp.post.mode & 07777, asks ? 0711 : 0755);
  fake_wait(b->s, 1100 * GI_NSEC_PER_MSEC);
  f = brick_lookup(b, &d, "two");
  assert_fails(f, ENOENT);
  assert_int_equal(f->rsp.post.mode & 07777, 0711);
  brick_free(b);
}

/* An open that has to wait for the content goes to a worker with what it has seen so far. */
static void
what_an_operation_saw_before_it_moved_does_not_count(void **state)
{
  brick_on_disk = true;
  BRICK(b, NULL);
  brick_on_disk = false;
  struct gi_gfid g = brick_file(b, ROOT, "f");
  char path[PATH_MAX], data[8192] = "text";
  struct gi_fop *f = brick_fop(b, GI_FOP_OPEN);
  int fd;

  (void)state;
  brick_path(b, path, "f");
  fd = open(path, O_RDWR);
  assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
  assert_int_equal(fsync(fd), 0);
  assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  set_object(f, &g);
  f->args.flags = O_RDWR;
  f->fd = gi_fd_new(b->s->graph, f->loc.inode, O_RDWR, 0);
  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, sizeof(data));
  assert_ok(brick_run(b, f));
  assert_int_equal(ftruncate(fd, 100), 0);
  close(fd);
  f = brick_write(b, f->fd, 0, "x", 1);
  assert_int_equal(f->rsp.post.size, 100);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counters_are_those_of_the_disk),
      cmocka_unit_test(a_change_begins_with_what_the_last_one_left),
      cmocka_unit_test(a_directory_that_went_is_not_believed_in),
      cmocka_unit_test(a_missing_name_needs_no_look_at_its_directory),
      cmocka_unit_test(what_an_operation_saw_before_it_moved_does_not_count),
  };

  return BRICK_RUN_ENGINES(tests);
}
