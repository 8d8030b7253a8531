/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes of the daemon: starting a service, recognising one that outlived
 * an earlier daemon, noticing its end through a pidfd, which cannot hit a
 * stranger who got the same pid.
 */
#include "programs/glusterishd/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int
gd_spawn_in(const char *program, const char *const *argv, const char *dir, const char *log, pid_t *pid)
{
  int flags = log ? O_WRONLY | O_CREAT | O_APPEND : O_WRONLY;
  posix_spawn_file_actions_t fa;
  posix_spawnattr_t attr;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawn_file_actions_init(&fa);
  posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&fa, 1, log ? log : "/dev/null", flags, 0600);
  posix_spawn_file_actions_addopen(&fa, 2, log ? log : "/dev/null", flags, 0600);
  if (dir)
    posix_spawn_file_actions_addchdir_np(&fa, dir);
  posix_spawn_file_actions_addclosefrom_np(&fa, 3);
  posix_spawnattr_init(&attr);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &all);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  int ret = posix_spawnp(pid, program, &fa, &attr, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&fa);
  posix_spawnattr_destroy(&attr);
  return ret;
}

/* The words of its command line, each with a NUL behind it; how many bytes, 0 if there is no such process. */
static size_t
command_line(pid_t pid, char *buf, size_t room)
{
  GI_CLEANUP_FREE char *proc = gi_asprintf("/proc/%ld/cmdline", (long)pid);
  FILE *f = fopen(proc, "re");
  size_t n = f ? fread(buf, 1, room - 1, f) : 0;
  if (f)
    fclose(f);
  buf[n] = '\0';
  return n;
}

char *
gd_process_option(pid_t pid, const char *option)
{
  char words[65536];
  size_t n = command_line(pid, words, sizeof(words));
  GI_ASSERT(pid > 0 && option);
  for (size_t i = 0; i < n; i += strlen(words + i) + 1)
    if (strcmp(words + i, option) == 0 && i + strlen(option) + 1 < n)
      return gi_strdup(words + i + strlen(option) + 1);
  return NULL;
}

void
gd_pidfile_remove(const char *pidfile)
{
  int fd = open(pidfile, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0)
    unlink(pidfile);
  close(fd);
}

pid_t
gd_pidfile_running(const char *pidfile, const char *word)
{
  char text[32], cmdline[65536];
  FILE *f = fopen(pidfile, "re");
  if (!f)
    return 0;
  bool got = fgets(text, sizeof(text), f) != NULL;
  fclose(f);
  long pid = got ? strtol(text, NULL, 10) : 0;
  if (pid <= 1)
    return 0;
  size_t n = command_line((pid_t)pid, cmdline, sizeof(cmdline));
  for (size_t i = 0; i < n; i += strlen(cmdline + i) + 1)
    if (strcmp(cmdline + i, word) == 0)
      return (pid_t)pid;
  return 0;
}

void
gd_pid_signal(pid_t pid, int signo)
{
  kill(pid, signo);
}

bool
gd_watch(struct gd_watch *w, struct gi_reactor *r, pid_t pid, void (*fn)(void *arg, unsigned events), void *arg)
{
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd < 0)
    return false;
  w->fd = fd;
  w->pid = pid;
  gi_io_init(&w->io, r, fd, fn, arg);
  gi_io_watch(&w->io, GI_IO_READ);
  return true;
}

void
gd_unwatch(struct gd_watch *w)
{
  gi_io_finish(&w->io);
  memset(&w->io, 0, sizeof(w->io));
  if (w->fd >= 0)
    close(w->fd);
  w->fd = -1;
}

int
gd_watch_signal(const struct gd_watch *w, int signo)
{
  return syscall(SYS_pidfd_send_signal, w->fd, signo, NULL, 0) ? errno : 0;
}

int
gd_watch_reap(const struct gd_watch *w)
{
  siginfo_t info = {0};
  waitid(P_PID, (id_t)w->pid, &info, WEXITED);
  return info.si_code == CLD_EXITED ? info.si_status : -(info.si_status ? info.si_status : SIGKILL);
}
