/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a host name this machine? A daemon that is bound to one address is only
 * that address, so that several daemons on one machine can form a pool.
 */
#include "programs/glusterishd/model/model.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool
same_address(const struct sockaddr *a, const struct sockaddr *b)
{
  if (!a || !b || a->sa_family != b->sa_family)
    return false;
  if (a->sa_family == AF_INET)
    return ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
  if (a->sa_family == AF_INET6)
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)b)->sin6_addr, 16) == 0;
  return false;
}

static bool
is_loopback(const struct sockaddr *a)
{
  if (a->sa_family == AF_INET)
    return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
  return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static bool
on_an_interface(const struct sockaddr *a)
{
  struct ifaddrs *list;
  bool found = is_loopback(a);
  if (found || getifaddrs(&list))
    return found;
  for (struct ifaddrs *i = list; i && !found; i = i->ifa_next)
    found = same_address(a, i->ifa_addr);
  freeifaddrs(list);
  return found;
}

static struct addrinfo *
resolve(const char *host)
{
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
  return getaddrinfo(host, NULL, &hints, &list) == 0 ? list : NULL;
}

static bool
is_bound_address(const char *bind, const struct addrinfo *host)
{
  struct addrinfo *mine = resolve(bind);
  bool found = false;
  for (struct addrinfo *m = mine; m && !found; m = m->ai_next)
    for (const struct addrinfo *h = host; h && !found; h = h->ai_next)
      found = same_address(m->ai_addr, h->ai_addr);
  if (mine)
    freeaddrinfo(mine);
  return found;
}

bool
gd_host_is_local(const struct gd *gd, const char *host)
{
  const char *bind = gd->config.bind;
  char own[256] = "";
  if (bind && strcasecmp(host, bind) == 0)
    return true;
  if (!bind && gethostname(own, sizeof(own) - 1) == 0 && strcasecmp(host, own) == 0)
    return true;
  struct addrinfo *list = resolve(host);
  bool local = false;
  if (bind)
    local = list && is_bound_address(bind, list);
  else
    for (struct addrinfo *a = list; a && !local; a = a->ai_next)
      local = on_an_interface(a->ai_addr);
  if (list)
    freeaddrinfo(list);
  return local;
}
