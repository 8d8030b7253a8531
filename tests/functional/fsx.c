/* SPDX-License-Identifier: Apache-2.0
 *
 * Random operations on two files of a directory against a model in memory:
 *
 *   fsx DIRECTORY SEED OPERATIONS [-KIND…]
 *
 * reads, writes, appends, truncations, mappings, holes, O_DIRECT beside the
 * page cache, copies from file to file, several descriptors each. The same
 * seed does the same operations. Status 0: everything was as in the model;
 * otherwise it says what differed and what was done last. -KIND leaves a kind
 * of operation out (a name of `kinds`).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 2
#define FDS 4
#define REACH 300000      /* offsets begin below this */
#define LENGTH 100000     /* longest piece */
#define ROOM (4u << 20)   /* of the model: larger than a file gets */
#define GROWN (2 * REACH) /* a file that large is not appended to */
#define BLOCK 4096
#define LAST 16 /* operations that are told after a failure */

struct file {
  char path[4096];
  int fd[FDS];
  int fds;
  uint8_t *model;
  size_t size;
};

static struct file file[FILES];
static uint8_t *scratch, *direct; /* LENGTH and more; the second aligned */
static char last[LAST][160];
static unsigned done;
static uint64_t state;

/* ---- numbers that depend on the seed alone ---- */

static uint64_t
draw(void)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1dull;
}

static size_t
below(size_t n)
{
  return (size_t)((draw() >> 16) % n);
}

static size_t
some_length(void)
{
  static const size_t usual[] = {1, 10, 100, 4096, 5000, 65536};
  size_t pick = below(7);

  return pick < 6 ? usual[pick] : 1 + below(LENGTH - 1);
}

static void
some_bytes(uint8_t *to, size_t len)
{
  for (size_t i = 0; i < len; i++)
    to[i] = (uint8_t)(draw() >> 24);
}

/* ---- what is said ---- */

__attribute__((format(printf, 1, 2))) static void
note(const char *fmt, ...)
{
  va_list ap;

  va_start(ap, fmt);
  vsnprintf(last[done % LAST], sizeof(last[0]), fmt, ap);
  va_end(ap);
}

__attribute__((format(printf, 2, 3), noreturn)) static void
wrong(const struct file *f, const char *fmt, ...)
{
  struct stat st;
  va_list ap;

  printf("operation %u: ", done);
  va_start(ap, fmt);
  vprintf(fmt, ap);
  va_end(ap);
  printf("\nfile %d: model %zu bytes, fstat %lld\n", (int)(f - file), f->size,
         f->fds && fstat(f->fd[0], &st) == 0 ? (long long)st.st_size : -1ll);
  for (unsigned i = done >= LAST ? done - LAST + 1 : 0; i <= done; i++)
    printf("  %u %s\n", i, last[i % LAST]);
  exit(1);
}

static void
must(const struct file *f, bool fine, const char *what)
{
  if (!fine)
    wrong(f, "%s: %s", what, strerror(errno));
}

/* ---- the model ---- */

static void
model_size(struct file *f, size_t size)
{
  if (size > ROOM)
    wrong(f, "the model is too small");
  if (size > f->size)
    memset(f->model + f->size, 0, size - f->size);
  f->size = size;
}

static void
model_put(struct file *f, size_t at, const uint8_t *bytes, size_t len)
{
  if (at + len > f->size)
    model_size(f, at + len);
  memcpy(f->model + at, bytes, len);
}

static void
model_zero(struct file *f, size_t at, size_t len)
{
  if (at < f->size)
    memset(f->model + at, 0, len < f->size - at ? len : f->size - at);
}

static void
compare(const struct file *f, const char *how, size_t at, size_t len, const uint8_t *got, ssize_t n)
{
  size_t want = at < f->size ? (len < f->size - at ? len : f->size - at) : 0;

  must(f, n >= 0, how);
  if ((size_t)n != want)
    wrong(f, "%s at %zu: %zd bytes, not %zu", how, at, n, want);
  for (size_t i = 0; i < want; i++)
    if (got[i] != f->model[at + i])
      wrong(f, "%s at %zu+%zu: byte %zu is %u, not %u", how, at, len, at + i, got[i], f->model[at + i]);
}

/* ---- operations ---- */

static int
some_fd(const struct file *f)
{
  return f->fd[below((size_t)f->fds)];
}

static void
op_write(struct file *f)
{
  size_t at = below(REACH), len = some_length();

  note("write %d %zu+%zu", (int)(f - file), at, len);
  some_bytes(scratch, len);
  must(f, pwrite(some_fd(f), scratch, len, (off_t)at) == (ssize_t)len, "write");
  model_put(f, at, scratch, len);
}

static void
op_append(struct file *f)
{
  size_t len = 1 + below(3000);
  int fd;

  note("append %d %zu", (int)(f - file), len);
  if (f->size > GROWN)
    return;
  some_bytes(scratch, len);
  fd = open(f->path, (below(2) ? O_WRONLY : O_RDWR) | O_APPEND);
  must(f, fd >= 0 && write(fd, scratch, len) == (ssize_t)len, "append");
  must(f, lseek(fd, 0, SEEK_CUR) == (off_t)(f->size + len), "position after append");
  must(f, close(fd) == 0, "close after append");
  model_put(f, f->size, scratch, len);
}

static void
op_end(struct file *f)
{
  int fd = some_fd(f);
  off_t end = lseek(fd, 0, SEEK_END);

  note("end %d %lld", (int)(f - file), (long long)end);
  if (end != (off_t)f->size)
    wrong(f, "SEEK_END is %lld", (long long)end);
  if (f->size > GROWN)
    return;
  some_bytes(scratch, 200);
  must(f, write(fd, scratch, 200) == 200, "write at the end");
  model_put(f, f->size, scratch, 200);
}

static void
op_read(struct file *f)
{
  size_t at = below(REACH), len = some_length();

  note("read %d %zu+%zu", (int)(f - file), at, len);
  compare(f, "read", at, len, scratch, pread(some_fd(f), scratch, len, (off_t)at));
}

static size_t
blocks(size_t len)
{
  return (len + BLOCK - 1) / BLOCK * BLOCK;
}

static void
op_direct_read(struct file *f)
{
  size_t at = below(REACH) / BLOCK * BLOCK, len = blocks(some_length());
  int fd = open(f->path, O_RDONLY | O_DIRECT);

  note("dread %d %zu+%zu", (int)(f - file), at, len);
  must(f, fd >= 0, "open O_DIRECT");
  compare(f, "direct read", at, len, direct, pread(fd, direct, len, (off_t)at));
  close(fd);
}

static void
op_direct_write(struct file *f)
{
  size_t at = below(REACH) / BLOCK * BLOCK, len = blocks(some_length());
  int fd = open(f->path, O_RDWR | O_DIRECT);

  note("dwrite %d %zu+%zu", (int)(f - file), at, len);
  some_bytes(direct, len);
  must(f, fd >= 0 && pwrite(fd, direct, len, (off_t)at) == (ssize_t)len, "direct write");
  must(f, close(fd) == 0, "close after direct write");
  model_put(f, at, direct, len);
}

static void
op_truncate(struct file *f)
{
  size_t size = below(REACH);

  note("truncate %d %zu", (int)(f - file), size);
  must(f, (below(4) ? ftruncate(some_fd(f), (off_t)size) : truncate(f->path, (off_t)size)) == 0, "truncate");
  model_size(f, size);
}

static void
op_empty(struct file *f)
{
  int fd = open(f->path, O_WRONLY | O_TRUNC);

  note("empty %d", (int)(f - file));
  must(f, fd >= 0 && close(fd) == 0, "open O_TRUNC");
  model_size(f, 0);
}

static void
op_stat(struct file *f)
{
  struct stat st;

  note("stat %d", (int)(f - file));
  must(f, (below(2) ? fstat(some_fd(f), &st) : stat(f->path, &st)) == 0, "stat");
  if (st.st_size != (off_t)f->size)
    wrong(f, "stat says %lld bytes", (long long)st.st_size);
}

static void
op_map(struct file *f)
{
  bool change = below(2);
  size_t at, len = some_length();
  uint8_t *p;

  if (f->size == 0)
    return;
  at = below(f->size);
  if (len > f->size - at)
    len = f->size - at;
  note("map%s %d %zu+%zu of %zu", change ? "write" : "read", (int)(f - file), at, len, f->size);
  p = mmap(NULL, f->size, change ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, some_fd(f), 0);
  must(f, p != MAP_FAILED, "mmap");
  if (change) {
    some_bytes(p + at, len);
    model_put(f, at, p + at, len);
    if (below(2))
      must(f, msync(p, f->size, MS_SYNC) == 0, "msync");
  } else {
    compare(f, "mapping", at, len, p + at, (ssize_t)len);
  }
  munmap(p, f->size);
}

static void
op_space(struct file *f)
{
  static const struct {
    const char *name;
    int mode;
    bool zeroes, grows;
  } modes[] = {
      {"punch", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, true, false},
      {"zero", FALLOC_FL_ZERO_RANGE, true, true},
      {"zero, keep size", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, true, false},
      {"allocate", 0, false, true},
      {"allocate, keep size", FALLOC_FL_KEEP_SIZE, false, false},
  };
  size_t pick = below(5), at = below(REACH), len = some_length();

  note("%s %d %zu+%zu", modes[pick].name, (int)(f - file), at, len);
  must(f, fallocate(some_fd(f), modes[pick].mode, (off_t)at, (off_t)len) == 0, modes[pick].name);
  if (modes[pick].zeroes)
    model_zero(f, at, len);
  if (modes[pick].grows && at + len > f->size)
    model_size(f, at + len);
}

static void
op_copy(struct file *f)
{
  struct file *to = &file[f == file];
  size_t at = below(REACH), out = below(REACH), len = some_length();
  size_t want = at < f->size ? (len < f->size - at ? len : f->size - at) : 0;
  off_t in_off = (off_t)at, out_off = (off_t)out;
  ssize_t n;

  note("copy %d %zu+%zu to %zu", (int)(f - file), at, len, out);
  n = copy_file_range(some_fd(f), &in_off, some_fd(to), &out_off, len, 0);
  must(f, n >= 0, "copy_file_range");
  if ((size_t)n > want || (want && n == 0))
    wrong(f, "copied %zd bytes of %zu", n, want);
  model_put(to, n ? out : 0, f->model + at, (size_t)n);
}

static void
op_sync(struct file *f)
{
  note("sync %d", (int)(f - file));
  must(f, (below(2) ? fsync : fdatasync)(some_fd(f)) == 0, "fsync");
}

static void
op_reopen(struct file *f)
{
  static const int flags[] = {O_RDWR, O_RDWR | O_SYNC};
  size_t i = below((size_t)f->fds);

  note("reopen %d", (int)(f - file));
  if (f->fds < FDS && below(2)) {
    i = (size_t)f->fds++;
  } else {
    must(f, close(f->fd[i]) == 0, "close");
    if (f->fds > 1 && below(2)) {
      f->fd[i] = f->fd[--f->fds];
      return;
    }
  }
  f->fd[i] = open(f->path, flags[below(2)]);
  must(f, f->fd[i] >= 0, "open");
}

static void
op_data(struct file *f)
{
  off_t at = lseek(some_fd(f), (off_t)below(REACH), SEEK_DATA);

  note("data %d %lld", (int)(f - file), (long long)at);
  if (at >= (off_t)f->size || (at < 0 && errno != ENXIO))
    wrong(f, "SEEK_DATA is %lld", (long long)at);
}

static struct kind {
  const char *name;
  void (*run)(struct file *f);
  unsigned weight;
} kinds[] = {
    {"write", op_write, 8},       {"append", op_append, 3},     {"end", op_end, 3},
    {"read", op_read, 8},         {"dread", op_direct_read, 2}, {"dwrite", op_direct_write, 2},
    {"truncate", op_truncate, 4}, {"empty", op_empty, 1},       {"stat", op_stat, 6},
    {"map", op_map, 4},           {"space", op_space, 5},       {"copy", op_copy, 3},
    {"sync", op_sync, 2},         {"reopen", op_reopen, 5},     {"data", op_data, 1},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static void
one(void)
{
  size_t all = 0, pick;

  note("nothing");
  for (size_t i = 0; i < KINDS; i++)
    all += kinds[i].weight;
  pick = below(all);
  for (size_t i = 0; i < KINDS; i++) {
    if (pick < kinds[i].weight) {
      kinds[i].run(&file[below(FILES)]);
      return;
    }
    pick -= kinds[i].weight;
  }
}

/* ---- from the beginning to the end ---- */

static void
begin(const char *dir, const char *seed)
{
  state = strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
  scratch = malloc(LENGTH + BLOCK);
  direct = aligned_alloc(BLOCK, blocks(LENGTH) + BLOCK);
  for (int i = 0; i < FILES; i++) {
    struct file *f = &file[i];

    snprintf(f->path, sizeof(f->path), "%s/fsx-%s-%d", dir, seed, i);
    f->model = malloc(ROOM);
    unlink(f->path);
    f->fd[0] = open(f->path, O_RDWR | O_CREAT, 0644);
    must(f, f->fd[0] >= 0, f->path);
    f->fds = 1;
  }
}

static void
whole(const struct file *f, const char *how)
{
  uint8_t *all = malloc(ROOM);
  int fd = open(f->path, O_RDONLY);
  ssize_t n, len = 0;

  must(f, fd >= 0, "open");
  while ((n = read(fd, all + len, ROOM - (size_t)len)) > 0)
    len += n;
  compare(f, how, 0, ROOM, all, n < 0 ? n : len);
  close(fd);
  free(all);
}

static void
finish(struct file *f)
{
  whole(f, "the whole file");
  while (f->fds > 0)
    must(f, close(f->fd[--f->fds]) == 0, "close");
  whole(f, "the closed file");
  unlink(f->path);
  free(f->model);
}

int
main(int argc, char **argv)
{
  if (argc < 4) {
    fprintf(stderr, "usage: fsx DIRECTORY SEED OPERATIONS [-KIND...]\n");
    return 2;
  }
  for (int i = 4; i < argc; i++)
    for (size_t k = 0; k < KINDS; k++)
      if (strcmp(argv[i] + 1, kinds[k].name) == 0)
        kinds[k].weight = 0;
  begin(argv[1], argv[2]);
  for (unsigned n = (unsigned)atoi(argv[3]); done < n; done++)
    one();
  for (int i = 0; i < FILES; i++)
    finish(&file[i]);
  free(scratch);
  free(direct);
  return 0;
}
