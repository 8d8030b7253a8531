/* SPDX-License-Identifier: Apache-2.0
 *
 * To the background. The starter waits until the service is there, so that its
 * exit status says whether it is (volfile.md 7.2).
 */
#include "programs/glusterishfs/glusterishfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A mount of the same place that was just ended still holds its pid file: how long a new one waits for it. */
#define FS_PREDECESSOR_SECONDS 3

static int ready_fd = -1;

/* The child says one byte, its status, when it is up; if it will not be, its death tells. */
static _Noreturn void
wait_for_child(pid_t child, int fd)
{
  unsigned char status;
  ssize_t n;
  do
    n = read(fd, &status, 1);
  while (n < 0 && errno == EINTR);
  if (n == 1 && status == 0)
    _exit(0);
  int how = 0;
  if (waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how))
    _exit(WEXITSTATUS(how));
  if (WIFSIGNALED(how))
    fprintf(stderr, "glusterishfs: died at start, signal %d\n", WTERMSIG(how));
  _exit(1);
}

static bool
has_terminal(void)
{
  int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return false;
  close(fd);
  return true;
}

/* A service stays in a session without a terminal, which is the management daemon's: where the kernel divides the processors among sessions
 * first (sched_autogroup), priorities of services count against each other only there. */
static void
leave_terminal(bool service)
{
  if (service && !has_terminal())
    setpgid(0, 0);
  else
    setsid();
}

void
fs_daemonize(bool service)
{
  int fd[2];
  if (pipe2(fd, O_CLOEXEC) < 0) {
    perror("glusterishfs: pipe");
    exit(1);
  }
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) {
    perror("glusterishfs: fork");
    exit(1);
  }
  if (child > 0) {
    close(fd[1]);
    wait_for_child(child, fd[0]);
  }
  close(fd[0]);
  ready_fd = fd[1];
  leave_terminal(service);
}

void
fs_daemon_ready(int status)
{
  if (ready_fd < 0)
    return;
  unsigned char byte = (unsigned char)status;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    for (int i = 0; i <= 2; i++)
      dup2(null, i);
    if (null > 2)
      close(null);
  }
  if (chdir("/") < 0)
    gi_log(GI_LOG_WARNING, "glusterishfs", GI_MSG_CLI + 1, "chdir /: %s", strerror(errno));
  while (write(ready_fd, &byte, 1) < 0 && errno == EINTR)
    ;
  close(ready_fd);
  ready_fd = -1;
}

/* The lock of the file at `path`: its fd, or -1 with errno, EWOULDBLOCK while another process holds it, ESTALE if that one removed it meanwhile. */
static int
locked_file(const char *path)
{
  struct stat mine, there;
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return -1;
  int err = 0;
  if (flock(fd, LOCK_EX | LOCK_NB) < 0)
    err = errno;
  else if (stat(path, &there) < 0 || fstat(fd, &mine) < 0 || mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
    err = ESTALE;
  if (!err)
    return fd;
  close(fd);
  errno = err;
  return -1;
}

int
fs_pid_file(const char *path)
{
  const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
  char text[32];
  int fd = -1;
  for (int tries = FS_PREDECESSOR_SECONDS * 50; tries > 0; tries--) {
    fd = locked_file(path);
    if (fd >= 0 || (errno != EWOULDBLOCK && errno != ESTALE))
      break;
    nanosleep(&pause, NULL);
  }
  int err = errno;
  if (fd < 0) {
    fprintf(stderr, "glusterishfs: pid file %s: %s\n", path, err == EWOULDBLOCK ? "another process holds it" : strerror(err));
    return -1;
  }
  int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());
  if (ftruncate(fd, 0) < 0 || write(fd, text, (size_t)len) != len) {
    fprintf(stderr, "glusterishfs: pid file %s: %s\n", path, strerror(errno));
    close(fd);
    return -1;
  }
  return fd;
}
