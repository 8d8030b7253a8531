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
run(const char *dir, int number, const char *sequence)
{
  struct transcript t = {0};
  char *copy = strdup(sequence), *save = NULL, *work = NULL;

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

/* ---- sequences ---- */

static char **sequence;
static int nsequence;

static void
add(const char *fmt, ...)
{
  va_list ap;
  char *text;

  va_start(ap, fmt);
  if (vasprintf(&text, fmt, ap) < 0)
    exit(2);
  va_end(ap);
  sequence = realloc(sequence, (size_t)(nsequence + 1) * sizeof(char *));
  sequence[nsequence++] = text;
}

/* Every kind of object, made as "x". */
static const char *const objects[] = {
    "mkdir d 0755",
    "open x creat,wronly 0644; write 0 100; close 0",
    "open x creat,wronly 0600; write 0 5000; close 0; link x y",
    "mkdir x 0755",
    "mkdir x 0755; open x/f creat 0644; close 0",
    "open t creat 0644; close 0; symlink t x",
    "symlink nowhere x",
    "symlink x x",
    "mkdir t 0755; symlink t x",
    "mknod x p 0644",
    "mknod x s 0644",
    "mknod x c 0644",
    "open x creat 04755; chmod x 06777; chown x 65534 65534",
};

static const char *const operations[] = {
    "chmod x 0640",
    "chmod x 07777",
    "chown x 65534 65534",
    "chown x -1 65534",
    "chown x 0 0",
    "lchown x 65534 -1",
    "truncate x 0",
    "truncate x 50",
    "truncate x 10000",
    "truncate x -1",
    "unlink x",
    "rmdir x",
    "rename x z",
    "rename x x",
    "open q creat 0644; close 0; rename x q",
    "mkdir q 0755; rename x q",
    "mkdir q 0755; open q/f creat 0644; rename x q",
    "rename x x/sub",
    "noreplace x z",
    "open q creat 0644; noreplace x q",
    "link x z",
    "link x x",
    "symlink a x",
    "mkdir x 0755",
    "mknod x p 0600",
    "readlink x",
    "open x rdonly,nonblock",
    "open x wronly,nonblock",
    "open x rdwr,nonblock,trunc",
    "open x rdwr,creat,excl",
    "open x creat,rdwr,nonblock",
    "open x rdonly,directory",
    "open x rdonly,nofollow,nonblock",
    "access x 4",
    "access x 2",
    "access x 1",
    "utimens x 1000 2000; times x",
    "utimens x now omit",
    "utimens x omit 77; times x",
    "stat x",
    "stat x/",
    "stat x/y",
    "mkdir x/y 0755",
    "open x/y creat 0644",
    "readdir x",
    "setxattr x user.a 10; getxattr x user.a",
    "getxattr x user.none",
    "removexattr x user.none",
    "setxattr x user.a 3 2",
    "setxattr x user.a 3; setxattr x user.a 4 1",
    "setxattr x user.a 3; removexattr x user.a",
};

static void
add_generated(void)
{
  for (size_t o = 0; o < sizeof(objects) / sizeof(objects[0]); o++)
    for (size_t p = 0; p < sizeof(operations) / sizeof(operations[0]); p++) {
      add("%s; %s", objects[o], operations[p]);
      add("%s; as 65534; %s", objects[o], operations[p]);
    }
}

/* Bad paths, for every call that takes one. */
static void
add_paths(void)
{
  static const char *const bad[] = {"@255",  "@256",  "none/f",       "file/f",    "loop/f",  "deny/f",
                                    "@4096", "file/", "dir/../dir/f", "sub/sub/f", "sticky/f"};
  static const char *const calls[] = {
      "open %s creat,rdwr 0644", "mkdir %s 0755", "unlink %s",    "rmdir %s",        "rename file %s",
      "rename %s new",           "link file %s",  "symlink a %s", "mknod %s p 0644", "chmod %s 0600",
      "truncate %s 3",           "stat %s",       "readlink %s",  "access %s 4",     "utimens %s 1 1",
      "setxattr %s user.a 3",    "open %s rdonly"};
  const char *setup = "open file creat,wronly 0666; write 0 10; close 0; chmod file 0666; symlink loop loop; mkdir deny 0700; "
                      "open deny/f creat 0644; close 0; "
                      "mkdir dir 0777; chmod dir 0777; mkdir sub 0755; mkdir sub/sub 0555; mkdir sticky 0777; chmod sticky "
                      "01777; open sticky/f creat 0644; close 0";

  for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++)
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
      char call[256];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      snprintf(call, sizeof(call), calls[c], bad[b]);
#pragma GCC diagnostic pop
      add("%s; as 65534; %s", setup, call);
    }
}

static void
add_written(void)
{
  static const char *const written[] = {
      /* data */
      "open f creat,rdwr; pwrite 0 0 8192; pwrite 0 8192 8192; pread 0 0 16384; pread 0 16000 1000; pread 0 20000 10",
      "open f creat,rdwr; pwrite 0 100000 10; pread 0 0 100010; fstat 0",
      "open f creat,rdwr,append; write 0 10; write 0 20; pread 0 0 100; lseek 0 0 2",
      "open f creat,rdwr; write 0 1000000; lseek 0 0 2; ftruncate 0 12345; pread 0 0 20000; fsync 0",
      "open f creat,wronly; pwrite 0 0 4096; pwrite 0 10 5; close 0; open f rdonly; pread 0 0 4096; write 0 5",
      "open f creat,wronly; pwrite 0 1 3; pread 0 0 3; close 0; open f wronly; pwrite 0 2 9; close 0; open f rdonly; pread 0 0 "
      "50",
      "open f creat,rdwr; write 0 100; unlink f; fstat 0; pread 0 0 100; pwrite 0 50 100; fstat 0; ftruncate 0 5; fstat 0; "
      "fchmod 0 0600",
      "open f creat,rdwr; write 0 100; rename f g; pwrite 0 100 10; fstat 0; stat g",
      "open f creat,rdwr; write 0 100; link f g; unlink f; pwrite 0 3 3; close 0; open g rdonly; pread 0 0 200",
      "open f creat,rdwr; open g creat,rdwr 0644 1; write 0 9; rename f g; fstat 1; write 1 3; fstat 0; fstat 1",
      "open f creat,rdwr; pwrite 0 0 65536; pwrite 0 131072 65536; lseek 0 0 3; lseek 0 0 4; lseek 0 70000 3; lseek 0 150000 "
      "4; lseek 0 300000 3",
      "open f creat,rdwr; fallocate 0 0 0 65536; fstat 0; fallocate 0 1 65536 65536; fstat 0; pread 0 0 65536",
      "open f creat,rdwr; pwrite 0 0 65536; fallocate 0 3 4096 8192; pread 0 0 65536; fstat 0",
      "open f creat,rdwr; pwrite 0 0 65536; fallocate 0 16 4096 8192; pread 0 0 65536; fallocate 0 17 60000 20000; fstat 0",
      "open f creat,rdwr; fallocate 0 2 0 10; fallocate 0 0 0 0; fallocate 0 0 -1 10; open f rdonly 0 1; fallocate 1 0 0 10",
      "open f creat,rdwr; pwrite 0 0 50000; open g creat,rdwr 0644 1; copy 0 1 100 200 30000; pread 1 0 40000; copy 0 1 49000 "
      "0 5000; copy 0 1 60000 0 10",
      "open f creat,rdwr,sync; pwrite 0 0 100; fsync 0; close 0; open f rdwr,trunc; fstat 0",
      "open f creat,rdonly 0; close 0; as 65534; open f rdonly; open f wronly; stat f",
      "open f creat,rdwr 0444; write 0 5; close 0; as 65534; open f wronly; open f rdonly",
      "open f creat,rdwr; write 0 10; open f rdwr,trunc 0 1; pread 0 0 10; fstat 0",
      /* setuid and setgid go away when somebody else writes */
      "open f creat,rdwr 0644; chmod f 06777; close 0; as 65534; open f wronly; write 0 5; stat f",
      "open f creat,rdwr 0644; chmod f 06777; close 0; as 65534; truncate f 0; stat f",
      "open f creat,rdwr 0644; chmod f 06777; close 0; as 65534; open f wronly,trunc; stat f",
      "open f creat,rdwr 0644; chmod f 06777; chown f 65534 65534; stat f; chmod f 06777; as 65534; chown f 65534 65534; stat "
      "f",
      /* setgid directories */
      "mkdir d 0755; chown d 0 65534; chmod d 02775; open d/f creat 0644; mkdir d/e 0755; stat d/f; stat d/e; stat d",
      "mkdir d 0777; chmod d 02777; as 65534; open d/f creat 02755; mkdir d/e 0755; stat d/f; stat d/e; chmod d/f 02755; stat "
      "d/f",
      /* sticky directories */
      "mkdir d 0777; chmod d 01777; open d/f creat 0666; as 65534; unlink d/f; rename d/f d/g; open d/mine creat; rename "
      "d/mine d/f; unlink d/mine",
      "mkdir d 0777; chmod d 01777; mkdir d/e 0777; as 65534; rmdir d/e; rename d/e d/f",
      /* umask and modes */
      "umask 077; open f creat 0666; mkdir d 0777; mknod p p 0666; stat f; stat d; stat p",
      "umask 0; open f creat 0666; mkdir d 01777; mkdir e 02777; stat f; stat d; stat e",
      "umask 0777; open f creat,rdwr 0666; write 0 4; stat f",
      /* rename */
      "mkdir a 0755; mkdir b 0755; rename a b; stat b; readdir .",
      "mkdir a 0755; mkdir b 0755; open b/f creat; rename a b",
      "mkdir a 0755; open b creat; rename a b; rename b a",
      "mkdir a 0755; mkdir a/b 0755; rename a a/b/c; rename a/b a",
      "open a creat; link a b; rename a b; readdir .; stat a; stat b",
      "mkdir a 0755; mkdir b 0755; mkdir a/c 0755; stat a; rename a/c b/c; stat a; stat b",
      "symlink x a; open b creat; rename a b; readlink b",
      "mkdir a 0755; rename a .; rename . a; rename a ..; rmdir .; unlink .; rmdir a/.; mkdir . 0755",
      "open a creat; open b creat; noreplace a b; noreplace a c; readdir .; noreplace none d",
      /* links */
      "open a creat; link a b; link a c; stat a; unlink b; stat a; link a c; link none d; mkdir e 0755; link e g",
      "symlink a/b/c l; readlink l; symlink @1000 m; stat l; symlink x l",
      "symlink @4095 l; readlink l",
      "open a creat; symlink a l; link l m; readlink m",
      "open f creat 0600; close 0; as 65534; link f g; stat g",
      /* directories */
      "mkdir d 0755; mkdir d/a 0755; mkdir d/b 0755; stat d; rmdir d/a; stat d; rmdir d; open d/f creat; rmdir d/b; rmdir d; "
      "unlink d; unlink d/f; rmdir d",
      "mkdir d 0755; open d rdonly,directory; rmdir d; fstat 0; open d/f creat; mkdir d/e 0755",
      "mkdir d 0300; as 65534; readdir d; stat d/x",
      "mkdir d 0444; open d/f creat; chmod d 0444; as 65534; readdir d; stat d/f",
      "open f creat; readdir f; rmdir f; mkdir f/a 0755",
      "open . wronly; open . rdwr; open . rdonly; write 0 1; pread 0 0 1; ftruncate 0 0",
      "readdir .; mkdir z 0755; open y creat; symlink q x; mknod w p 0644; readdir .",
      /* owners */
      "open f creat; as 65534; chown f 65534 65534; chmod f 0777; utimens f 1 1; utimens f now now; truncate f 0",
      "open f creat 0666; chmod f 0666; as 65534; utimens f now now; utimens f 1 1",
      "open f creat; chown f 1000 1001; stat f; chown f -1 -1; stat f; chown f 7 -1; stat f; chown f -1 8; stat f",
      "as 65534; open f creat; chown f 65534 65534; chown f 0 -1; chown f -1 0; chmod f 04755; stat f; chmod f 02755; stat f",
      "symlink none l; lchown l 5 6; readlink l",
      "mkdir d 0755; chown d 65534 65534; as 65534; mkdir d/e 0700; open d/f creat; stat d/e; stat d/f",
      /* xattrs */
      "open f creat; setxattr f user.a 1000; setxattr f user.b 0; getxattr f user.a; getxattr f user.b; removexattr f user.a; "
      "getxattr f user.a",
      "open f creat; setxattr f user. 5; setxattr f nonsense 5; setxattr f user.@250 5; setxattr f user.@251 5",
      "open f creat; setxattr f trusted.mine 5; getxattr f trusted.mine; as 65534; getxattr f trusted.mine; setxattr f "
      "trusted.mine 5",
      "open f creat 0644; close 0; as 65534; setxattr f user.a 5; getxattr f user.a",
      "symlink a l; setxattr l user.a 5; getxattr l user.a",
      "mkdir d 0755; setxattr d user.a 9; getxattr d user.a; mknod p p 0644; setxattr p user.a 9",
      "open f creat; setxattr f user.a 3000; getxattr f user.a; setxattr f user.a 1 1; setxattr f user.z 1 2; setxattr f "
      "user.a 7 2; getxattr f user.a",
      /* locks */
      "open f creat,rdwr; lock 0 w 0 10; testlock f 0 10; testlock f 10 10; lock 0 u 0 5; testlock f 0 5; testlock f 5 5",
      "open f creat,rdwr; lock 0 r 0 0; testlock f 100 1; lock 0 w 50 10; testlock f 55 1; testlock f 0 10; close 0; testlock "
      "f 0 0",
      "open f creat,rdwr; open f rdwr 0 1; lock 0 w 0 0; close 1; testlock f 0 0",
      "open f creat,rdonly; lock 0 w 0 1; lock 0 r 0 1; testlock f 0 1; lock 0 r -5 2",
      /* special files */
      "mknod c c 0600; mknod b b 0600; mknod r r 0640; stat c; stat b; stat r; open r rdwr; write 0 5; as 65534; mknod d c "
      "0600; mknod p p 0600; stat p",
      /* access with a supplementary nothing */
      "open f creat 0070; chown f 0 65534; close 0; as 65534; open f rdonly; open f rdwr; access f 7",
      "open f creat 0007; close 0; chmod f 0007; as 65534; open f rdonly; access f 6; chown f -1 65534",
      "open f creat 0700; chown f 65534 0; close 0; as 65534; access f 7; open f rdwr; write 0 3; chmod f 0; access f 4; open "
      "f rdonly; pread 0 0 3",
      "open f creat; ftruncate 0 5; close 0; open f rdonly; ftruncate 0 1; lseek 0 -1 0; lseek 0 100 0; lseek 0 0 9; pread 0 "
      "-1 5",
      "truncate none 5; chmod none 0; chown none 0 0; utimens none 1 1; unlink none; rmdir none; rename none a; link none a; "
      "readlink none; readdir none; open none rdonly; setxattr none user.a 1; getxattr none user.a",
  };
  static const char *const moved[] = {"open f creat 0644 1", "mkdir e 0755", "unlink g",    "rmdir h",
                                      "rename g i",          "link g j",     "symlink q k", "mknod p p 0644"};
  static const char *const touched[] = {"chmod g 0600",
                                        "chown g 5 5",
                                        "truncate g 3",
                                        "link g k",
                                        "setxattr g user.a 3",
                                        "rename g m; rename m g",
                                        "open g wronly; write 0 5; close 0",
                                        "open g wronly,trunc; close 0",
                                        "open g rdonly; pread 0 0 10; close 0",
                                        "utimens g now now",
                                        "utimens g 5 omit",
                                        "truncate g 100; truncate g 100",
                                        "open g rdwr; ftruncate 0 100; close 0",
                                        "open g rdwr; fallocate 0 0 0 9000; close 0"};

  for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
    add("%s", written[i]);
  for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++)
    add("open g creat; close 0; mkdir h 0755; tick; mark .; %s; moved .", moved[i]);
  for (size_t i = 0; i < sizeof(touched) / sizeof(touched[0]); i++)
    add("open g creat,wronly; write 0 100; close 0; tick; mark g; %s; moved g", touched[i]);
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
  add_written();
  add_paths();
  add_generated();
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
