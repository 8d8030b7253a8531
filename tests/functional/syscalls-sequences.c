/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequences that syscalls runs: written ones, every call with every bad
 * path, and every operation on every kind of object.
 */
#include "tests/functional/syscalls.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char **sequence;
int nsequence;

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

/* Bad paths, and every call that takes one on each. */
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

  for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++) {
    char all[4 * PATH_MAX] = "";
    size_t len = 0;

    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      len += (size_t)snprintf(all + len, sizeof(all) - len, "; ");
      len += (size_t)snprintf(all + len, sizeof(all) - len, calls[c], bad[b]);
#pragma GCC diagnostic pop
    }
    add("%s; as 65534%s", setup, all);
  }
}

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

/* What moves the times of a directory. */
static const char *const moved[] = {"open f creat 0644 1", "mkdir e 0755", "unlink g",    "rmdir h",
                                    "rename g i",          "link g j",     "symlink q k", "mknod p p 0644"};

/* What moves the times of a file. */
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

static void
add_written(void)
{
  for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
    add("%s", written[i]);
  for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++)
    add("open g creat; close 0; mkdir h 0755; tick; mark .; %s; moved .", moved[i]);
  for (size_t i = 0; i < sizeof(touched) / sizeof(touched[0]); i++)
    add("open g creat,wronly; write 0 100; close 0; tick; mark g; %s; moved g", touched[i]);
}

void
add_sequences(void)
{
  add_written();
  add_paths();
  add_generated();
}
