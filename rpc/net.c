/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses, names and socket options (wire.md 1.8).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/conn-private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/un.h>

#define KEEPALIVE_IDLE_S 20
#define KEEPALIVE_INTERVAL_S 2
#define KEEPALIVE_COUNT 9
#define SOCKET_BUFFER (4 << 20)

static int
lookup(const char *host, int port, int flags, struct conn_address *out, unsigned max, int *rc)
{
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
  struct addrinfo *list = NULL;
  char service[16];
  int n = 0;
  snprintf(service, sizeof(service), "%d", port);
  *rc = getaddrinfo(host, service, &hints, &list);
  if (*rc != 0)
    return 0;
  for (struct addrinfo *a = list; a && n < (int)max; a = a->ai_next) {
    memcpy(&out[n].sa, a->ai_addr, a->ai_addrlen);
    out[n++].len = a->ai_addrlen;
  }
  freeaddrinfo(list);
  return n;
}

int
net_numeric(const char *host, int port, struct conn_address *out, unsigned max)
{
  int rc;
  if (strcmp(host, "localhost") != 0)
    return lookup(host, port, AI_NUMERICHOST, out, max, &rc);
  int n = lookup("127.0.0.1", port, AI_NUMERICHOST, out, max, &rc);
  return n + lookup("::1", port, AI_NUMERICHOST, out + n, max - (unsigned)n, &rc);
}

int
net_resolve(const char *host, int port, struct conn_address *out, unsigned max, struct gi_error *err)
{
  int rc;
  int n = lookup(host, port, 0, out, max, &rc);
  if (n == 0)
    return gi_error_set(err, EHOSTUNREACH, "cannot resolve %s: %s", host, gai_strerror(rc));
  return n;
}

int
net_unix(const char *path, struct conn_address *out, struct gi_error *err)
{
  struct sockaddr_un *un = (struct sockaddr_un *)&out->sa;
  if (strlen(path) >= sizeof(un->sun_path))
    return gi_error_set(err, ENAMETOOLONG, "socket path %s is too long", path);
  memset(&out->sa, 0, sizeof(out->sa));
  un->sun_family = AF_UNIX;
  memcpy(un->sun_path, path, strlen(path) + 1);
  out->len = sizeof(*un);
  return 0;
}

static void
set_int(int fd, int level, int option, int value)
{
  /* None of these is needed to be correct, so a kernel that refuses one is no reason to fail. */
  (void)setsockopt(fd, level, option, &value, sizeof(value));
}

void
net_tune(int fd, int family)
{
  /* Only the FORCE forms: the plain ones are capped by net.core.*mem_max, and by switching off the kernel's own tuning they
   * would make the buffers smaller than leaving them alone. */
  set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BUFFER);
  set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BUFFER);
  if (family != AF_INET && family != AF_INET6)
    return;
  set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
  set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
  set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
}

void
net_text(const struct sockaddr_storage *sa, char *text, size_t size)
{
  char host[INET6_ADDRSTRLEN];
  if (sa->ss_family == AF_INET) {
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)sa;
    inet_ntop(AF_INET, &in4->sin_addr, host, sizeof(host));
    snprintf(text, size, "%s:%u", host, ntohs(in4->sin_port));
  } else if (sa->ss_family == AF_INET6) {
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
    inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
    snprintf(text, size, "[%s]:%u", host, ntohs(in6->sin6_port));
  } else {
    const struct sockaddr_un *un = (const struct sockaddr_un *)sa;
    snprintf(text, size, "unix:%s", sa->ss_family == AF_UNIX ? un->sun_path : "");
  }
}

bool
net_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
  if (a->ss_family != b->ss_family)
    return false;
  if (a->ss_family == AF_INET) {
    const struct sockaddr_in *x = (const struct sockaddr_in *)a, *y = (const struct sockaddr_in *)b;
    return x->sin_port == y->sin_port && x->sin_addr.s_addr == y->sin_addr.s_addr;
  }
  if (a->ss_family == AF_INET6) {
    const struct sockaddr_in6 *x = (const struct sockaddr_in6 *)a, *y = (const struct sockaddr_in6 *)b;
    return x->sin6_port == y->sin6_port && memcmp(&x->sin6_addr, &y->sin6_addr, sizeof(x->sin6_addr)) == 0;
  }
  return false;
}
