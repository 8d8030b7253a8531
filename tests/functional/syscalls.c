/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the same sequences of system calls in two directories and compares what
 * they return, the errno, and the tree they leave behind: types, modes,
 * owners, link counts, sizes, contents, link targets, user attributes, and
 * which time stamps moved.
 *
 *   syscalls DIRECTORY REFERENCE
 *
 * prints TAP. A sequence is a line of steps separated by ';' (see `steps`);
 * most are generated: every operation on every kind of object, by root and by
 * an unprivileged user, through good and bad paths.
 */
#include "tests/functional/syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
#define ARGS 6
#define PATHS (1 << 16)

/* ---- the transcript of one sequence in one directory ---- */

struct transcript {
  char *text;
  size_t len;
  FILE *f;
};

static void
say(struct transcript *t, const char *fmt, ...)
{
  va_list ap;

  va_start(ap, fmt);
  vfprintf(t->f, fmt, ap);
  va_end(ap);
}

/* "@255" in a name stands for that many letters. */
static const char *
expand(const char *arg, char *buf)
{
  const char *at = strchr(arg, '@');

  if (!at)
    return arg;

  int n = atoi(at + 1);
  size_t head = (size_t)(at - arg);
  const char *tail = at + 1 + strspn(at + 1, "0123456789");

  memcpy(buf, arg, head);
  memset(buf + head, 'n', (size_t)n);
  strcpy(buf + head + n, tail);
  return buf;
}

/* ---- steps ---- */

static int fds[8];

static int
open_flags(const char *words)
{
  static const struct {
    const char *word;
    int flag;
  } flags[] = {{"rdwr", O_RDWR},         {"rdonly", O_RDONLY},     {"wronly", O_WRONLY}, {"creat", O_CREAT},
               {"excl", O_EXCL},         {"trunc", O_TRUNC},       {"append", O_APPEND}, {"directory", O_DIRECTORY},
               {"nofollow", O_NOFOLLOW}, {"nonblock", O_NONBLOCK}, {"sync", O_SYNC}};
  int all = 0;

  for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
    if (strstr(words, flags[i].word))
      all |= flags[i].flag;
  return all;
}

static long
do_open(char **a)
{
  int fd = open(a[1], open_flags(a[2]), a[3] ? strtol(a[3], NULL, 8) : 0644);
  int slot = a[4] ? atoi(a[4]) : 0;

  if (fd >= 0) {
    if (fds[slot] > 0)
      close(fds[slot]);
    fds[slot] = fd;
  }
  return fd < 0 ? -1 : 0;
}

static void
pattern(char *buf, size_t len, long seed)
{
  for (size_t i = 0; i < len; i++)
    buf[i] = (char)('a' + (i * 7 + (size_t)seed) % 26);
}

static long
do_pwrite(char **a)
{
  static char buf[1 << 20];
  size_t len = strtoul(a[3], NULL, 0);

  pattern(buf, len, atol(a[2]));
  return pwrite(fds[atoi(a[1])], buf, len, atol(a[2]));
}

static long
do_write(char **a)
{
  static char buf[1 << 20];
  size_t len = strtoul(a[2], NULL, 0);

  pattern(buf, len, 3);
  return write(fds[atoi(a[1])], buf, len);
}

static struct transcript *current;

static unsigned
sum(const char *buf, ssize_t n)
{
  unsigned h = 2166136261u;

  for (ssize_t i = 0; i < n; i++)
    h = (h ^ (unsigned char)buf[i]) * 16777619u;
  return h;
}

static long
do_pread(char **a)
{
  static char buf[1 << 20];
  ssize_t n = pread(fds[atoi(a[1])], buf, strtoul(a[3], NULL, 0), atol(a[2]));

  say(current, "[%08x]", sum(buf, n));
  return n;
}

static long
do_utimens(char **a)
{
  struct timespec ts[2] = {{.tv_sec = atol(a[2])}, {.tv_sec = atol(a[3])}};

  for (int i = 0; i < 2; i++) {
    if (strcmp(a[2 + i], "now") == 0)
      ts[i].tv_nsec = UTIME_NOW;
    else if (strcmp(a[2 + i], "omit") == 0)
      ts[i].tv_nsec = UTIME_OMIT;
  }
  return utimensat(AT_FDCWD, a[1], ts, AT_SYMLINK_NOFOLLOW);
}

static long
do_as(char **a)
{
  uid_t id = (uid_t)atol(a[1]);

  if (seteuid(0) || setegid(0) || setgroups(0, NULL))
    return -1;
  return setegid(id) || seteuid(id) ? -1 : 0;
}

static long
do_getxattr(char **a)
{
  char buf[70000];
  ssize_t n = lgetxattr(a[1], a[2], buf, sizeof(buf));

  if (n >= 0)
    say(current, "[%08x]", sum(buf, n));
  return n;
}

static long
do_setxattr(char **a)
{
  char buf[70000];
  size_t len = strtoul(a[3], NULL, 0);

  pattern(buf, len, 1);
  return lsetxattr(a[1], a[2], buf, len, a[4] ? atoi(a[4]) : 0);
}

static long
do_lock(char **a)
{
  struct flock l = {.l_type = strchr(a[2], 'w')   ? F_WRLCK
                              : strchr(a[2], 'u') ? F_UNLCK
                                                  : F_RDLCK,
                    .l_start = atol(a[3]),
                    .l_len = atol(a[4])};

  return fcntl(fds[atoi(a[1])], F_SETLK, &l);
}

/* What another process is told about a lock. */
static long
do_testlock(char **a)
{
  pid_t pid = fork();
  int status;

  if (pid == 0) {
    struct flock l = {.l_type = F_WRLCK, .l_start = atol(a[2]), .l_len = atol(a[3])};
    int fd = open(a[1], O_RDWR);

    _exit(fd < 0 || fcntl(fd, F_GETLK, &l) < 0 ? 3 : l.l_type == F_UNLCK ? 0 : l.l_type == F_RDLCK ? 1 : 2);
  }
  if (pid < 0 || waitpid(pid, &status, 0) < 0)
    return -1;
  return WEXITSTATUS(status);
}

static int
by_name(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
list(const char *path, char ***names)
{
  DIR *d = opendir(path);
  struct dirent *e;
  int n = 0, cap = 0;

  *names = NULL;
  if (!d)
    return -1;
  while ((e = readdir(d))) {
    if (n == cap)
      *names = realloc(*names, (size_t)(cap = cap * 2 + 16) * sizeof(char *));
    (*names)[n++] = strdup(e->d_name);
  }
  closedir(d);
  qsort(*names, (size_t)n, sizeof(char *), by_name);
  return n;
}

static long
do_readdir(char **a)
{
  char **names;
  int n = list(a[1], &names);

  for (int i = 0; i < n; i++) {
    say(current, " %s", names[i]);
    free(names[i]);
  }
  free(names);
  return n;
}

static long
do_readlink(char **a)
{
  char buf[PATH_MAX];
  ssize_t n = readlink(a[1], buf, sizeof(buf) - 1);

  if (n >= 0)
    say(current, "[%.*s]", (int)n, buf);
  return n;
}

static long
do_fstat(char **a)
{
  struct stat st;

  if (fstat(fds[atoi(a[1])], &st))
    return -1;
  say(current, "[%o %lu %ld]", st.st_mode, (unsigned long)st.st_nlink, (long)st.st_size);
  return 0;
}

static long
do_stat(char **a)
{
  struct stat st;

  if (stat(a[1], &st))
    return -1;
  say(current, "[%o %lu %u %u %ld]", st.st_mode, (unsigned long)st.st_nlink, st.st_uid, st.st_gid,
      S_ISDIR(st.st_mode) ? 0 : (long)st.st_size);
  return 0;
}

static long
do_copy(char **a)
{
  loff_t in = atol(a[3]), out = atol(a[4]);

  return copy_file_range(fds[atoi(a[1])], &in, fds[atoi(a[2])], &out, strtoul(a[5], NULL, 0), 0);
}

static long
do_mknod(char **a)
{
  mode_t type = *a[2] == 'p' ? S_IFIFO : *a[2] == 's' ? S_IFSOCK : *a[2] == 'c' ? S_IFCHR : *a[2] == 'b' ? S_IFBLK : S_IFREG;

  return mknod(a[1], type | (mode_t)strtol(a[3], NULL, 8), makedev(1, 3));
}

static long
do_close(char **a)
{
  int fd = fds[atoi(a[1])];

  fds[atoi(a[1])] = 0;
  return close(fd);
}

/* Time passes, so that a moved stamp is seen to have moved: stamps come from a clock that ticks every 4 ms. */
static long
do_tick(char **a)
{
  nanosleep(&(struct timespec){.tv_nsec = 12000000}, NULL);
  return 0;
}

static struct stat mark_before;

static long
do_mark(char **a)
{
  return lstat(a[1], &mark_before);
}

static bool
later(struct timespec a, struct timespec b)
{
  return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

static long
do_moved(char **a)
{
  struct stat st;

  if (lstat(a[1], &st))
    return -1;
  say(current, "[%s%s]", later(st.st_mtim, mark_before.st_mtim) ? "m" : "-",
      later(st.st_ctim, mark_before.st_ctim) ? "c" : "-");
  return 0;
}

/* A time that was set is shown; one of this minute only as such: the two directories are not asked in the same second. */
static void
say_time(time_t t)
{
  if (labs((long)(time(NULL) - t)) < 60)
    say(current, "[now]");
  else
    say(current, "[%ld]", (long)t);
}

static long
do_times(char **a)
{
  struct stat st;

  if (lstat(a[1], &st))
    return -1;
  say_time(st.st_atim.tv_sec);
  say_time(st.st_mtim.tv_sec);
  return 0;
}

/* clang-format off */
static long do_mkdir(char **a) { return mkdir(a[1], (mode_t)strtol(a[2], NULL, 8)); }
static long do_rmdir(char **a) { return rmdir(a[1]); }
static long do_unlink(char **a) { return unlink(a[1]); }
static long do_rename(char **a) { return rename(a[1], a[2]); }
static long do_noreplace(char **a) { return renameat2(AT_FDCWD, a[1], AT_FDCWD, a[2], RENAME_NOREPLACE); }
static long do_link(char **a) { return link(a[1], a[2]); }
static long do_symlink(char **a) { return symlink(a[1], a[2]); }
static long do_chmod(char **a) { return chmod(a[1], (mode_t)strtol(a[2], NULL, 8)); }
static long do_fchmod(char **a) { return fchmod(fds[atoi(a[1])], (mode_t)strtol(a[2], NULL, 8)); }
static long do_chown(char **a) { return chown(a[1], (uid_t)atol(a[2]), (gid_t)atol(a[3])); }
static long do_lchown(char **a) { return lchown(a[1], (uid_t)atol(a[2]), (gid_t)atol(a[3])); }
static long do_truncate(char **a) { return truncate(a[1], atol(a[2])); }
static long do_ftruncate(char **a) { return ftruncate(fds[atoi(a[1])], atol(a[2])); }
static long do_access(char **a) { return faccessat(AT_FDCWD, a[1], atoi(a[2]), AT_EACCESS); }
static long do_umask(char **a) { umask((mode_t)strtol(a[1], NULL, 8)); return 0; }
static long do_fsync(char **a) { return fsync(fds[atoi(a[1])]); }
static long do_lseek(char **a) { return lseek(fds[atoi(a[1])], atol(a[2]), atoi(a[3])); }
static long do_fallocate(char **a) { return fallocate(fds[atoi(a[1])], atoi(a[2]), atol(a[3]), atol(a[4])); }
static long do_removexattr(char **a) { return lremovexattr(a[1], a[2]); }
/* clang-format on */

static const struct {
  const char *name;
  long (*fn)(char **a);
  int args; /* at least */
} steps[] = {
    {"open", do_open, 2},
    {"close", do_close, 1},
    {"write", do_write, 2},
    {"pwrite", do_pwrite, 3},
    {"pread", do_pread, 3},
    {"mkdir", do_mkdir, 2},
    {"rmdir", do_rmdir, 1},
    {"unlink", do_unlink, 1},
    {"rename", do_rename, 2},
    {"noreplace", do_noreplace, 2},
    {"link", do_link, 2},
    {"symlink", do_symlink, 2},
    {"readlink", do_readlink, 1},
    {"chmod", do_chmod, 2},
    {"fchmod", do_fchmod, 2},
    {"chown", do_chown, 3},
    {"lchown", do_lchown, 3},
    {"truncate", do_truncate, 2},
    {"ftruncate", do_ftruncate, 2},
    {"access", do_access, 2},
    {"utimens", do_utimens, 3},
    {"mknod", do_mknod, 3},
    {"as", do_as, 1},
    {"umask", do_umask, 1},
    {"fsync", do_fsync, 1},
    {"lseek", do_lseek, 3},
    {"fallocate", do_fallocate, 4},
    {"setxattr", do_setxattr, 3},
    {"getxattr", do_getxattr, 2},
    {"removexattr", do_removexattr, 2},
    {"readdir", do_readdir, 1},
    {"fstat", do_fstat, 1},
    {"stat", do_stat, 1},
    {"copy", do_copy, 5},
    {"lock", do_lock, 4},
    {"testlock", do_testlock, 3},
    {"tick", do_tick, 0},
    {"mark", do_mark, 1},
    {"moved", do_moved, 1},
    {"times", do_times, 1},
};

static void
run_step(struct transcript *t, const char *text)
{
  static char paths[ARGS][PATHS];
  char copy[1024], *a[ARGS + 1] = {0};
  int n = 0;

  snprintf(copy, sizeof(copy), "%s", text);
  for (char *save = NULL, *word = strtok_r(copy, " ", &save); word && n < ARGS; word = strtok_r(NULL, " ", &save), n++)
    a[n] = (char *)expand(word, paths[n]);
  for (size_t i = 0; n && i < sizeof(steps) / sizeof(steps[0]); i++) {
    if (strcmp(steps[i].name, a[0]) != 0)
      continue;
    if (n <= steps[i].args) {
      fprintf(stderr, "too few arguments: %s\n", text);
      exit(2);
    }
    errno = 0;
    say(t, "%s:", text);

    long ret = steps[i].fn(a);
    int err = errno;

    say(t, " %ld", ret);
    if (ret < 0)
      say(t, " %s", strerrorname_np(err));
    say(t, "\n");
    return;
  }
  fprintf(stderr, "unknown step: %s\n", text);
  exit(2);
}

/* ---- the tree that is left ---- */

static void
describe(struct transcript *t, const char *path)
{
  struct stat st;
  char buf[1 << 16];

  if (lstat(path, &st)) {
    say(t, "%s: %s\n", path, strerrorname_np(errno));
    return;
  }
  say(t, "%.40s mode %o nlink %lu owner %u:%u", path, st.st_mode, (unsigned long)st.st_nlink, st.st_uid, st.st_gid);
  if (S_ISREG(st.st_mode)) {
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, buf, sizeof(buf));

    say(t, " size %ld content %08x", (long)st.st_size, sum(buf, n));
    close(fd);
  } else if (S_ISLNK(st.st_mode)) {
    ssize_t n = readlink(path, buf, sizeof(buf));

    say(t, " to %08x size %ld", sum(buf, n), (long)st.st_size);
  } else if (!S_ISDIR(st.st_mode)) {
    say(t, " rdev %x", (unsigned)st.st_rdev);
  }

  ssize_t n = llistxattr(path, buf, sizeof(buf));

  for (ssize_t i = 0; i < n; i += (ssize_t)strlen(buf + i) + 1)
    if (strncmp(buf + i, "user.", 5) == 0)
      say(t, " %s", buf + i);
  say(t, "\n");
  if (!S_ISDIR(st.st_mode))
    return;

  char **names;
  int count = list(path, &names);

  for (int i = 0; i < count; i++) {
    char *below = NULL;

    if (strcmp(names[i], ".") && strcmp(names[i], "..") && asprintf(&below, "%s/%s", path, names[i]) > 0)
      describe(t, below);
    free(below);
    free(names[i]);
  }
  free(names);
}

static void
remove_tree(const char *path)
{
  char **names;
  int n = list(path, &names);

  for (int i = 0; i < n; i++) {
    char *below = NULL;

    if (strcmp(names[i], ".") && strcmp(names[i], "..") && asprintf(&below, "%s/%s", path, names[i]) > 0 && unlink(below))
      remove_tree(below);
    free(below);
    free(names[i]);
  }
  free(names);
  rmdir(path);
}

static char *
run(const char *dir, int number, const char *line)
{
  struct transcript t = {0};
  char *copy = strdup(line), *save = NULL, *work = NULL;

  t.f = open_memstream(&t.text, &t.len);
  current = &t;
  if (asprintf(&work, "%s/s%d", dir, number) < 0 || mkdir(work, 0777) || chmod(work, 0777) || chdir(work)) {
    fprintf(stderr, "%s: %s\n", work, strerror(errno));
    exit(2);
  }
  umask(022);
  for (char *step = strtok_r(copy, ";", &save); step; step = strtok_r(NULL, ";", &save))
    run_step(&t, step + strspn(step, " "));
  do_as((char *[]){"as", "0"});
  umask(022);
  for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
    if (fds[i] > 0)
      close(fds[i]);
    fds[i] = 0;
  }
  describe(&t, ".");
  fclose(t.f);
  if (chdir("/"))
    exit(2);
  remove_tree(work);
  free(work);
  free(copy);
  return t.text;
}

static bool
compare(int number, const char *dir, const char *reference, const char *text)
{
  char *ours = run(dir, number, text);
  char *theirs = run(reference, number, text);
  bool same = strcmp(ours, theirs) == 0;

  printf("%s %d - %s\n", same ? "ok" : "not ok", number, text);
  if (!same) {
    for (char *save = NULL, *l = strtok_r(ours, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
      printf("#   here      %s\n", l);
    for (char *save = NULL, *l = strtok_r(theirs, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
      printf("#   reference %s\n", l);
  }
  free(ours);
  free(theirs);
  return same;
}

int
main(int argc, char **argv)
{
  int failed = 0;

  if (argc < 3) {
    fprintf(stderr, "usage: syscalls DIRECTORY REFERENCE [NUMBER]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  add_sequences();
  printf("1..%d\n", argc > 3 ? 1 : nsequence);
  for (int i = 0; i < nsequence; i++) {
    if (argc > 3 && atoi(argv[3]) != i + 1)
      continue;
    failed += !compare(i + 1, argv[1], argv[2], sequence[i]);
  }
  for (int i = 0; i < nsequence; i++)
    free(sequence[i]);
  free(sequence);
  return failed ? 1 : 0;
}
