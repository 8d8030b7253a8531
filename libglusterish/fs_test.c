/* SPDX-License-Identifier: Apache-2.0
 *
 * What fs.h adds to the calls of the kernel's file system: copies that go to the
 * disk; and directories of other processes on this machine: what one of them
 * tells leads to its directory, and to no other.
 */
#include "libglusterish/fs.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOT_ID 36

static char place[] = "/tmp/glusterish-fs-XXXXXX";

static int
make_place(void **state)
{
  return mkdtemp(place) ? 0 : -1;
}

static int
remove_place(void **state)
{
  return rmdir(place);
}

static void
path_of(char out[PATH_MAX], const char *name)
{
  snprintf(out, PATH_MAX, "%s/%s", place, name);
}

static void
make(const char *name)
{
  char path[PATH_MAX];

  path_of(path, name);
  assert_int_equal(mkdir(path, 0700), 0);
}

static void
unmake(const char *name)
{
  char path[PATH_MAX];

  path_of(path, name);
  assert_int_equal(rmdir(path), 0);
}

static void
where_is(const char *name, char out[GI_FS_WHERE])
{
  char path[PATH_MAX];
  int fd;

  path_of(path, name);
  fd = open(path, O_RDONLY | O_DIRECTORY);
  assert_true(fd >= 0);
  assert_int_equal(gi_fs_where(NULL, fd, path, out, GI_FS_WHERE), 0);
  close(fd);
}

static unsigned
open_files(void)
{
  DIR *d = opendir("/proc/self/fd");
  unsigned n = 0;

  assert_non_null(d);
  while (readdir(d))
    n++;
  closedir(d);
  return n;
}

static void
refused(const char *where, int err)
{
  unsigned before = open_files();

  errno = 0;
  assert_int_equal(gi_fs_open_where(NULL, where), -1);
  if (errno != err)
    fail_msg("\"%s\": %s instead of %s", where, strerror(errno), strerror(err));
  assert_int_equal(open_files(), before);
}

static void
leads_back(void **state)
{
  static const char *const names[] = {"a",       "with a space", " 1:2 ",
                                      " 1:2 /x", "line\nbreak",  "%n%s"}; /* whatever a path may have in it */

  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++) {
    char where[GI_FS_WHERE], path[PATH_MAX];
    struct stat there, st;
    int fd;

    make(names[i]);
    where_is(names[i], where);
    path_of(path, names[i]);
    assert_int_equal(stat(path, &there), 0);
    fd = gi_fs_open_where(NULL, where);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(st.st_dev == there.st_dev && st.st_ino == there.st_ino);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
  }
  for (size_t i = GI_ARRAY_LEN(names); i; i--)
    unmake(names[i - 1]);
}

static void
another_machine(void **state)
{
  char where[GI_FS_WHERE], other[GI_FS_WHERE];

  make("d");
  where_is("d", where);
  for (size_t i = 0; i < BOOT_ID; i++) {
    memcpy(other, where, sizeof(other));
    other[i] = other[i] == '0' ? '1' : '0';
    refused(other, EXDEV);
    other[i] = '\0';
    refused(other, EXDEV);
  }
  memcpy(other, where, sizeof(other));
  other[BOOT_ID] = '-'; /* a longer word that begins alike */
  refused(other, EXDEV);
  unmake("d");
}

static void
another_directory_in_its_place(void **state)
{
  char where[GI_FS_WHERE], path[PATH_MAX], away[PATH_MAX];
  int fd;

  make("d");
  where_is("d", where);
  path_of(path, "d");
  path_of(away, "away");
  assert_int_equal(rename(path, away), 0);
  refused(where, ENOENT);
  make("d");
  refused(where, ESTALE);
  unmake("d");
  assert_int_equal(symlink("/etc", path), 0);
  refused(where, ESTALE);
  assert_int_equal(unlink(path), 0);
  fd = open(path, O_CREAT | O_WRONLY, 0600);
  assert_true(fd >= 0);
  close(fd);
  refused(where, ENOTDIR);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rename(away, path), 0); /* it is back */
  fd = gi_fs_open_where(NULL, where);
  assert_true(fd >= 0);
  close(fd);
  unmake("d");
}

static void
no_such_text(void **state)
{
  static const char *const garbage[] = {"", " ", "/", "/tmp", "1:2 /tmp", "nonsense", "- 1:2 /tmp", " 1:2 /tmp", "\t"};
  static const char *const rest[] = {
      "",           " ",         " /tmp",    " 1",         " 1:",     " 1:2",         " 1:2 ",  " :2 /tmp",
      " 1: /tmp",   " x:y /tmp", " 1:2 tmp", " 1:2 ./tmp", " 1:2 ..", " 1:2/tmp/x y", " 1:2 /", " ffffffffffffffffffff:2 /tmp",
      " -1:-1 /tmp"};
  char where[GI_FS_WHERE], text[GI_FS_WHERE];

  for (size_t i = 0; i < GI_ARRAY_LEN(garbage); i++)
    refused(garbage[i], EXDEV);
  make("d");
  where_is("d", where);
  unmake("d");
  for (size_t j = 0; j < GI_ARRAY_LEN(rest); j++) {
    unsigned before = open_files();

    snprintf(text, sizeof(text), "%.*s%s", BOOT_ID, where, rest[j]);
    errno = 0;
    assert_int_equal(gi_fs_open_where(NULL, text), -1);
    assert_true(errno == EINVAL || (strstr(rest[j], " /") && errno == ESTALE) || (strchr(rest[j], '/') && errno == ENOENT));
    assert_int_equal(open_files(), before);
  }
}

/* What names nothing that another process could open. */
static void
nowhere(void **state)
{
  char where[GI_FS_WHERE];
  int fd = open(place, O_RDONLY | O_DIRECTORY);

  assert_true(fd >= 0);
  assert_int_equal(gi_fs_where(NULL, fd, "relative", where, sizeof(where)), ENODATA);
  assert_int_equal(gi_fs_where(NULL, fd, "", where, sizeof(where)), ENODATA);
  assert_int_equal(gi_fs_where(NULL, fd, place, where, sizeof(where)), 0);
  assert_int_equal(gi_fs_where(NULL, fd, place, where, strlen(where)), ENAMETOOLONG);
  assert_int_equal(gi_fs_where(NULL, fd, place, where, 1), ENAMETOOLONG);
  close(fd);
  assert_int_equal(gi_fs_where(NULL, fd, place, where, sizeof(where)), EBADF);
}

static void
same_machine(void **state)
{
  char a[GI_FS_WHERE], b[GI_FS_WHERE];

  make("a");
  make("b");
  where_is("a", a);
  where_is("b", b);
  unmake("a");
  unmake("b");
  assert_string_not_equal(a, b);
  assert_true(gi_fs_same_machine(a, b));
  assert_true(gi_fs_same_machine("x 1", "x 2"));
  assert_true(gi_fs_same_machine("x", "x "));
  assert_false(gi_fs_same_machine("x 1", "y 1"));
  assert_false(gi_fs_same_machine("x 1", "xx 1"));
  assert_false(gi_fs_same_machine("xx 1", "x 1"));
  assert_false(gi_fs_same_machine("", ""));
  assert_false(gi_fs_same_machine(" ", " "));
  assert_false(gi_fs_same_machine("", "x"));
  assert_false(gi_fs_same_machine("x", ""));
}

/* ---- copies that go to the disk ---- */

#define FILE_SIZE (1300000u)

static int
file_of(char byte, size_t size)
{
  char path[PATH_MAX], *data = gi_alloc(size + 1);
  int fd;

  path_of(path, "file");
  fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  assert_true(fd >= 0);
  assert_int_equal(unlink(path), 0);
  for (size_t i = 0; i < size; i++)
    data[i] = (char)(byte + (char)(i * i % 251));
  assert_int_equal(gi_fs_pwrite(NULL, fd, data, size, 0), size);
  gi_free(data);
  return fd;
}

/* `to` is as file_of(byte, size) made it, but has what `from` has between the two places. */
static void
assert_has(int to, char byte, size_t size, int from, off_t start, off_t end)
{
  GI_CLEANUP_FREE char *old = gi_alloc(FILE_SIZE), *new = gi_alloc(FILE_SIZE), *there = gi_alloc(FILE_SIZE);
  int was = file_of(byte, size);

  memset(old, 0, FILE_SIZE);
  assert_int_equal(gi_fs_pread(NULL, was, old, FILE_SIZE, 0), size);
  assert_true(gi_fs_pread(NULL, from, new, FILE_SIZE, 0) >= end);
  memcpy(old + start, new + start, (size_t)(end - start));
  size = size > (size_t)end ? size : (size_t)end;
  assert_int_equal(gi_fs_pread(NULL, to, there, FILE_SIZE, 0), size);
  assert_memory_equal(there, old, size);
  close(was);
}

static void
copies_to_the_disk(void **state)
{
  static const struct {
    off_t at;
    size_t len, size;
  } copies[] = {{0, 4096, 0},           {0, 1, 10}, {0, 524288, FILE_SIZE}, {4096, 700001, 100}, {77, 70000, FILE_SIZE},
                {8192, FILE_SIZE, 8192}};
  int in = file_of('a', FILE_SIZE);

  for (size_t i = 0; i < GI_ARRAY_LEN(copies); i++) {
    off_t end = copies[i].at + (off_t)copies[i].len < FILE_SIZE ? copies[i].at + (off_t)copies[i].len : (off_t)FILE_SIZE,
          at = copies[i].at;
    int out = file_of('b', copies[i].size);

    while (at < end) {
      ssize_t n = gi_fs_copy_to_disk(NULL, in, out, at, (size_t)(end - at));

      assert_true(n > 0 && n <= end - at);
      assert_has(out, 'b', copies[i].size, in, copies[i].at, at += n);
    }
    close(out);
  }
  close(in);
}

static void
copies_that_end_or_fail(void **state)
{
  char path[PATH_MAX];
  int in = file_of('a', 5000), out = file_of('b', 100), only_reads;

  assert_int_equal(gi_fs_copy_to_disk(NULL, in, out, 5000, 4096), 0);
  assert_int_equal(gi_fs_copy_to_disk(NULL, in, out, 1 << 30, 4096), 0);
  assert_int_equal(gi_fs_copy_to_disk(NULL, -1, out, 0, 4096), -1);
  assert_int_equal(errno, EBADF);
  assert_int_equal(gi_fs_copy_to_disk(NULL, in, -1, 0, 100), -1);
  assert_int_equal(errno, EBADF);
  snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
  only_reads = open(path, O_RDONLY);
  assert_int_equal(gi_fs_copy_to_disk(NULL, in, only_reads, 0, 100), -1);
  assert_int_equal(errno, EBADF);
  assert_has(out, 'b', 100, in, 0, 0);
  close(only_reads);
  close(out);
  close(in);
}

/* An fsync of the same descriptor would not tell of it any more. */
static void
a_write_out_tells_of_its_failure(void **state)
{
  int pipe_fds[2], fd;
  char path[PATH_MAX];

  (void)state;
  path_of(path, "out");
  fd = open(path, O_RDWR | O_CREAT, 0600);
  assert_int_equal(gi_fs_pwrite(NULL, fd, "x", 1, 0), 1);
  assert_int_equal(gi_fs_write_out(NULL, fd, 0, 1, true), 0);
  close(fd);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(pipe(pipe_fds), 0);
  assert_int_equal(gi_fs_write_out(NULL, pipe_fds[1], 0, 1, true), -1);
  assert_int_equal(errno, ESPIPE);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_to_the_disk),
      cmocka_unit_test(copies_that_end_or_fail),
      cmocka_unit_test(a_write_out_tells_of_its_failure),
      cmocka_unit_test(leads_back),
      cmocka_unit_test(another_machine),
      cmocka_unit_test(another_directory_in_its_place),
      cmocka_unit_test(no_such_text),
      cmocka_unit_test(nowhere),
      cmocka_unit_test(same_machine),
  };

  return cmocka_run_group_tests(tests, make_place, remove_place);
}
