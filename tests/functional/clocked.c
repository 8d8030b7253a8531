/* SPDX-License-Identifier: Apache-2.0
 *
 * How long system calls take, as the program that makes them sees it.
 *
 *   clocked FILE pread|pwrite|fstat
 *
 * Makes one after the other until SIGTERM, and prints then the nanoseconds of
 * each of the last ones, a line each. Data is 4 KiB, past the kernel's page cache.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SIZE 4096
#define KEPT 10000

static volatile sig_atomic_t over;

static void
end(int sig)
{
  over = 1;
}

static uint64_t
now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int
call(const char *kind, int fd, void *data)
{
  struct stat st;

  if (strcmp(kind, "pread") == 0)
    return pread(fd, data, SIZE, 0) < 0 ? -1 : 0;
  if (strcmp(kind, "pwrite") == 0)
    return pwrite(fd, data, SIZE, 0) < 0 ? -1 : 0;
  return fstat(fd, &st);
}

int
main(int argc, char **argv)
{
  static _Alignas(SIZE) char data[SIZE];
  static uint64_t took[KEPT];
  uint64_t n = 0;
  int fd = argc == 3 ? open(argv[1], O_RDWR | O_DIRECT) : -1;

  if (fd < 0) {
    fprintf(stderr, "clocked: %s\n", argc == 3 ? strerror(errno) : "FILE pread|pwrite|fstat");
    return 1;
  }
  signal(SIGTERM, end);
  while (!over) {
    uint64_t begin = now();

    if (call(argv[2], fd, data) < 0) {
      fprintf(stderr, "clocked: %s: %s\n", argv[2], strerror(errno));
      return 1;
    }
    took[n++ % KEPT] = now() - begin;
  }
  for (uint64_t i = 0; i < n && i < KEPT; i++)
    printf("%" PRIu64 "\n", took[i]);
  return 0;
}
