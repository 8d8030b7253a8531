/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's sockets: their options (wire.md 1.8), addresses and names.
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
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define KEEPALIVE_IDLE_S 20
#define KEEPALIVE_INTERVAL_S 2
#define KEEPALIVE_COUNT 9
#define SOCKET_BUFFER (4 << 20)
#define PORT_RESERVED 1024

static int
lookup(const char *host, int port, int flags, struct gi_net_address *out, unsigned max, int *rc)
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
gi_net_numeric(const char *host, int port, struct gi_net_address *out, unsigned max)
{
  int rc;
  if (strcmp(host, "localhost") != 0)
    return lookup(host, port, AI_NUMERICHOST, out, max, &rc);
  int n = lookup("127.0.0.1", port, AI_NUMERICHOST, out, max, &rc);
  return n + lookup("::1", port, AI_NUMERICHOST, out + n, max - (unsigned)n, &rc);
}

bool
gi_net_is_name(const char *host)
{
  struct gi_net_address a[2];
  return host[0] && host[0] != '/' && strlen(host) <= GI_HOST_MAX && gi_net_numeric(host, 0, a, GI_ARRAY_LEN(a)) == 0;
}

bool
gi_net_host_text(const struct gi_net_address *a, char *text, size_t size)
{
  return getnameinfo((const struct sockaddr *)&a->sa, a->len, text, (socklen_t)size, NULL, 0, NI_NUMERICHOST) == 0;
}

static int
kernel_resolve(struct gi_reactor *r, const char *host, int port, struct gi_net_address *out, unsigned max, struct gi_error *err)
{
  int rc;
  int n = lookup(host, port, 0, out, max, &rc);
  if (n == 0)
    return gi_error_set(err, rc == EAI_NONAME || rc == EAI_NODATA ? GI_NET_NO_SUCH_NAME : EHOSTUNREACH, "cannot resolve %s: %s",
                        host, gai_strerror(rc));
  return n;
}

int
net_unix(const char *path, struct gi_net_address *out, struct gi_error *err)
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

static void
tune(int fd, int family)
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

bool
gi_net_privileged(const struct sockaddr_storage *sa)
{
  if (sa->ss_family == AF_UNIX)
    return true;
  return sa->ss_family && ntohs(((const struct sockaddr_in *)sa)->sin_port) < PORT_RESERVED; /* same place in sockaddr_in6 */
}

bool
gi_net_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
  const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
  const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
  if (a->ss_family != b->ss_family)
    return false;
  if (a->ss_family == AF_INET)
    return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
  return a->ss_family != AF_INET6 || memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

/* ---- sockets ---- */

static int
kernel_connect(struct gi_reactor *r, const struct gi_net_address *to)
{
  int fd = socket(to->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -errno;
  tune(fd, to->sa.ss_family);
  if (connect(fd, (const struct sockaddr *)&to->sa, to->len) < 0 && errno != EINPROGRESS && errno != EINTR) {
    int err = errno;
    close(fd);
    return -err;
  }
  return fd;
}

static int
kernel_connect_result(struct gi_reactor *r, int fd)
{
  int error = 0;
  socklen_t len = sizeof(error);
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : -error;
}

static int
kernel_listen(struct gi_reactor *r, const struct gi_net_address *at, int backlog)
{
  int fd = socket(at->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -errno;
  set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  tune(fd, at->sa.ss_family); /* buffer sizes are inherited, and must be known before the handshake */
  if (at->sa.ss_family == AF_UNIX)
    (void)fchmod(fd, 0600); /* bind makes the file with the mode of the socket: nobody finds it open for a moment */
  if (bind(fd, (const struct sockaddr *)&at->sa, at->len) < 0 || listen(fd, backlog) < 0) {
    int err = errno;
    close(fd);
    return -err;
  }
  return fd;
}

static int
kernel_accept(struct gi_reactor *r, int listener)
{
  struct sockaddr_storage sa = {0};
  socklen_t len = sizeof(sa);
  int fd = accept4(listener, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0)
    return -errno;
  tune(fd, sa.ss_family);
  return fd;
}

static ssize_t
kernel_recv(struct gi_reactor *r, int fd, const struct iovec *iov, int n)
{
  ssize_t got = readv(fd, iov, n);
  return got < 0 ? -errno : got;
}

static ssize_t
kernel_send(struct gi_reactor *r, int fd, const struct iovec *iov, int n)
{
  struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};
  ssize_t sent = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? -errno : sent;
}

static void
kernel_low_water(struct gi_reactor *r, int fd, size_t bytes)
{
  set_int(fd, SOL_SOCKET, SO_RCVLOWAT, (int)bytes);
}

/* On a socket that is not TCP the kernel refuses all but the first, which has no effect there. */
static void
kernel_keepalive(struct gi_reactor *r, int fd, const struct gi_keepalive *k)
{
  set_int(fd, SOL_SOCKET, SO_KEEPALIVE, k->on);
  if (k->idle_s)
    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, (int)k->idle_s);
  if (k->interval_s)
    set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, (int)k->interval_s);
  if (k->probes)
    set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, (int)k->probes);
  set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)k->user_timeout_s * 1000);
}

static int
kernel_peer(struct gi_reactor *r, int fd, struct sockaddr_storage *sa)
{
  socklen_t len = sizeof(*sa);
  return getpeername(fd, (struct sockaddr *)sa, &len) < 0 ? -errno : 0;
}

static int
kernel_local(struct gi_reactor *r, int fd, struct sockaddr_storage *sa)
{
  socklen_t len = sizeof(*sa);
  return getsockname(fd, (struct sockaddr *)sa, &len) < 0 ? -errno : 0;
}

static void
kernel_close(struct gi_reactor *r, int fd)
{
  close(fd);
}

const struct gi_net_ops gi_net_kernel = {
    .resolve = kernel_resolve,
    .connect = kernel_connect,
    .connect_result = kernel_connect_result,
    .listen = kernel_listen,
    .accept = kernel_accept,
    .recv = kernel_recv,
    .send = kernel_send,
    .low_water = kernel_low_water,
    .keepalive = kernel_keepalive,
    .peer = kernel_peer,
    .local = kernel_local,
    .close = kernel_close,
};
