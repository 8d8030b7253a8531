/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a host name this machine? A daemon that is bound to one address is only
 * that address, so that several daemons on one machine can form a pool.
 */
#include "programs/glusterishd/model/model.h"
#include "rpc/net.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEP_NS (30 * GI_NSEC_PER_SEC)       /* what the name service says */
#define KEEP_FAILED_NS (5 * GI_NSEC_PER_SEC) /* and that it says nothing */

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

/* ---- names ---- */

/* What the name service said. */
struct gd_name {
  struct gi_list link; /* gd.names */
  char *host;
  uint64_t until; /* gi_now */
  unsigned n;
  struct gi_net_address address[GD_NAME_ADDRESSES];
};

static void
name_free(struct gd_name *n)
{
  gi_list_del(&n->link);
  gi_free(n->host);
  gi_free(n);
}

void
gd_hosts_let_go(struct gd *gd)
{
  gi_list_foreach_safe(n, &gd->names, struct gd_name, link)
    name_free(n);
}

static const struct gd_name *
find_name(const struct gd *gd, const char *host)
{
  gi_list_foreach(n, &gd->names, struct gd_name, link)
    if (strcasecmp(n->host, host) == 0)
      return n;
  return NULL;
}

void
gd_host_learn(struct gd *gd, const char *host, const struct gi_net_address *addresses, unsigned n)
{
  struct gd_name *name = gi_new(struct gd_name);
  n = n < GD_NAME_ADDRESSES ? n : GD_NAME_ADDRESSES;
  name->host = gi_strdup(host);
  name->until = gi_now(gd->reactor) + (n ? KEEP_NS : KEEP_FAILED_NS);
  name->n = n;
  memcpy(name->address, addresses, n * sizeof(*addresses));
  gi_list_add_tail(&gd->names, &name->link);
}

/* A numeric address needs no name service; *list: it, to be freed. */
static bool
is_numeric(const char *host, struct addrinfo **list)
{
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
  *list = NULL;
  return getaddrinfo(host, NULL, &hints, list) == 0;
}

static bool
is_own_name(const struct gd *gd, const char *host)
{
  char own[256] = "";
  if (gd->config.bind)
    return strcasecmp(host, gd->config.bind) == 0;
  return strcasecmp(host, "localhost") == 0 || (gethostname(own, sizeof(own) - 1) == 0 && strcasecmp(host, own) == 0);
}

bool
gd_host_must_be_looked_up(struct gd *gd, const char *host)
{
  struct addrinfo *list;
  uint64_t now = gi_now(gd->reactor);
  gi_list_foreach_safe(n, &gd->names, struct gd_name, link)
    if (n->until < now)
      name_free(n);
  bool numeric = is_numeric(host, &list);
  if (list)
    freeaddrinfo(list);
  return !numeric && !is_own_name(gd, host) && !find_name(gd, host);
}

char *
gd_host_number(const struct gd *gd, const char *host, unsigned i)
{
  struct addrinfo *list;
  char text[NI_MAXHOST];
  const struct gd_name *name = find_name(gd, host);
  if (is_numeric(host, &list)) {
    freeaddrinfo(list);
    return i == 0 ? gi_strdup(host) : NULL;
  }
  return name && i < name->n && gi_net_host_text(&name->address[i], text, sizeof(text)) ? gi_strdup(text) : NULL;
}

/* ---- is it this machine? ---- */

static bool
is_mine(const struct gd *gd, const struct sockaddr *a)
{
  struct addrinfo *bound;
  if (!gd->config.bind)
    return on_an_interface(a);
  bool mine = is_numeric(gd->config.bind, &bound) && same_address(bound->ai_addr, a);
  const struct gd_name *name = bound ? NULL : find_name(gd, gd->config.bind);
  for (unsigned i = 0; name && i < name->n && !mine; i++)
    mine = same_address((const struct sockaddr *)&name->address[i].sa, a);
  if (bound)
    freeaddrinfo(bound);
  return mine;
}

bool
gd_host_is_local(const struct gd *gd, const char *host)
{
  struct addrinfo *list;
  if (is_own_name(gd, host))
    return true;
  bool local = is_numeric(host, &list) && is_mine(gd, list->ai_addr);
  const struct gd_name *name = list ? NULL : find_name(gd, host);
  for (unsigned i = 0; name && i < name->n && !local; i++)
    local = is_mine(gd, (const struct sockaddr *)&name->address[i].sa);
  if (list)
    freeaddrinfo(list);
  return local;
}
