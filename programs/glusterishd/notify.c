/* SPDX-License-Identifier: Apache-2.0
 *
 * What a service manager is told: one datagram to the socket that the
 * environment names (sd_notify).
 */
#include "programs/glusterishd/glusterishd.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool
gd_notify(const char *state)
{
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  size_t len = path ? strlen(path) : 0;
  if (len < 2 || len >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
    return false;
  memcpy(to.sun_path, path, len);
  if (path[0] == '@') /* an abstract one */
    to.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ssize_t sent = fd < 0 ? -1
                        : sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
  if (fd >= 0)
    close(fd);
  return sent == (ssize_t)strlen(state);
}
