/* SPDX-License-Identifier: Apache-2.0
 *
 * Who holds the other end of a TCP connection that comes from this machine?
 * The kernel's table of sockets names the user who made it and its inode, and
 * an inode is found again among the descriptors of a process. So nobody has to
 * say who he is, and nobody can say that he is somebody else.
 */
#include "programs/glusterishd/doors.h"

#include <dirent.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define ESTABLISHED "01" /* of one that is closed the table does not know the user any more, and says 0 */

/* An address mapped from IPv4 becomes that; returns its bytes. */
static const uint8_t *
plain(const struct sockaddr_storage *sa, int *family)
{
  const struct in6_addr *in6 = &((const struct sockaddr_in6 *)sa)->sin6_addr;
  *family = sa->ss_family;
  if (sa->ss_family == AF_INET)
    return (const uint8_t *)&((const struct sockaddr_in *)sa)->sin_addr;
  if (!IN6_IS_ADDR_V4MAPPED(in6))
    return in6->s6_addr;
  *family = AF_INET;
  return in6->s6_addr + 12;
}

static bool
same_machine(const struct sockaddr_storage *peer, const struct sockaddr_storage *own)
{
  int family, other;
  const uint8_t *a = plain(peer, &family), *b = plain(own, &other);
  if (family != other)
    return false;
  if (memcmp(a, b, family == AF_INET ? 4 : 16) == 0)
    return true;
  return family == AF_INET ? a[0] == 127 : IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)a);
}

/* An address as the table writes it: words of the host's byte order, in hex. */
static void
as_in_table(const struct sockaddr_storage *sa, bool six, char *buf, size_t size)
{
  int family;
  const uint8_t *a = plain(sa, &family);
  uint16_t port = ntohs(((const struct sockaddr_in *)sa)->sin_port); /* where an IPv6 address has it too */
  uint32_t w[4] = {0, 0, htonl(0xffff), 0};
  memcpy(family == AF_INET ? &w[3] : w, a, family == AF_INET ? 4 : 16);
  if (six)
    snprintf(buf, size, "%08X%08X%08X%08X:%04X", w[0], w[1], w[2], w[3], port);
  else
    snprintf(buf, size, "%08X:%04X", w[3], port);
}

static bool
find_in(const char *table, bool six, const struct sockaddr_storage *peer, const struct sockaddr_storage *own, struct gd_peer *p)
{
  char from[48], to[48], line[512];
  as_in_table(peer, six, from, sizeof(from));
  as_in_table(own, six, to, sizeof(to));
  GI_CLEANUP_FREE char *wanted = gi_asprintf(" %s %s " ESTABLISHED " ", from, to);
  FILE *f = fopen(table, "re");
  if (!f)
    return false;
  bool found = false;
  while (!found && fgets(line, sizeof(line), f)) {
    const char *at = strstr(line, wanted);
    found = at && sscanf(at + strlen(wanted), "%*s %*s %*s %u %*u %lu", &p->uid, &p->inode) == 2 && p->inode != 0;
  }
  fclose(f);
  return found;
}

bool
gd_peer_look(const struct gi_conn *c, struct gd_peer *p)
{
  struct sockaddr_storage peer, own;
  int family;
  if (!gi_conn_peer_address(c, &peer) || !gi_conn_local_address(c, &own) || peer.ss_family != own.ss_family ||
      (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) || !same_machine(&peer, &own))
    return false;
  plain(&peer, &family);
  return (family == AF_INET && find_in("/proc/self/net/tcp", false, &peer, &own, p)) ||
         find_in("/proc/self/net/tcp6", true, &peer, &own, p);
}

bool
gd_peer_is_process(const struct gd_peer *p, pid_t pid)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("/proc/%d/fd", (int)pid);
  GI_CLEANUP_FREE char *wanted = gi_asprintf("socket:[%lu]", p->inode);
  char target[64];
  DIR *d = opendir(dir);
  bool found = false;
  for (struct dirent *e; d && !found && (e = readdir(d)) != NULL;) {
    ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
    target[n > 0 ? n : 0] = '\0';
    found = strcmp(target, wanted) == 0;
  }
  if (d)
    closedir(d);
  return found;
}
