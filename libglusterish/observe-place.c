/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the observation sockets of a machine are, and how those that their
 * processes left behind disappear.
 */
#include "libglusterish/mem.h"
#include "libglusterish/observe.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SUFFIX ".socket"

const char *
gi_observe_dir(void)
{
  const char *env = getenv("GLUSTERISH_OBSERVE_DIR");
  return env && env[0] ? env : GI_RUN_DIR "/observe";
}

/* The directories above it, as any program below the run directory makes them. */
static void
make_parents(const char *dir)
{
  GI_CLEANUP_FREE char *path = gi_strdup(dir);
  for (char *c = path[0] ? strchr(path + 1, '/') : NULL; c; c = strchr(c + 1, '/')) {
    *c = 0;
    mkdir(path, 0755);
    *c = '/';
  }
}

int
gi_observe_make_dir(struct gi_error *err)
{
  const char *dir = gi_observe_dir();
  struct stat st;
  make_parents(dir);
  if (mkdir(dir, 0700) < 0 && errno != EEXIST)
    return gi_error_set(err, errno, "cannot make %s: %s", dir, strerror(errno));
  if (lstat(dir, &st) < 0)
    return gi_error_set(err, errno, "cannot look at %s: %s", dir, strerror(errno));
  if (!S_ISDIR(st.st_mode))
    return gi_error_set(err, ENOTDIR, "%s is not a directory", dir);
  if (st.st_uid != geteuid() || (st.st_mode & 077))
    return gi_error_set(err, EPERM, "%s is not for user %u alone (owner %u, mode %o)", dir, (unsigned)geteuid(),
                        (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
  return 0;
}

void
gi_observe_name(char *buf, size_t size, const char *role, const char *name, long pid)
{
  GI_ASSERT(role && role[0] && name && size > 0);
  name += name[0] == '/';
  int around = snprintf(NULL, 0, "%s/%s--%ld" SUFFIX, gi_observe_dir(), role, pid);
  size_t room = (size_t)around + 1 < size ? size - (size_t)around - 1 : 0, len = strlen(name);
  if (len > room)
    name += len - room; /* the end of a brick's path says more than its beginning */
  int at = snprintf(buf, size, "%s/%s-", gi_observe_dir(), role);
  snprintf(at < (int)size ? buf + at : buf, at < (int)size ? size - (size_t)at : size, "%s-%ld" SUFFIX, name, pid);
  for (char *c = at < (int)size ? buf + at : buf; *c; c++)
    if (*c == '/')
      *c = '-';
}

bool
gi_observe_bury(const char *path)
{
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  struct stat st;
  if (strlen(path) >= sizeof(un.sun_path) || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
    return false;
  memcpy(un.sun_path, path, strlen(path) + 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return false;
  bool dead = connect(fd, (const struct sockaddr *)&un, sizeof(un)) < 0 && errno == ECONNREFUSED;
  close(fd);
  return dead && unlink(path) == 0;
}

void
gi_observe_tidy(void)
{
  char path[PATH_MAX];
  DIR *d = opendir(gi_observe_dir());
  if (!d)
    return;
  for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
    size_t len = strlen(e->d_name);
    if (len <= strlen(SUFFIX) || strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX) != 0)
      continue;
    if (snprintf(path, sizeof(path), "%s/%s", gi_observe_dir(), e->d_name) < (int)sizeof(path))
      gi_observe_bury(path);
  }
  closedir(d);
}
