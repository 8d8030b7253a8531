/* SPDX-License-Identifier: Apache-2.0
 *
 * The seam between connections and what carries their bytes. In production
 * that is the kernel's sockets (net.c); a reactor that simulates a network
 * puts its own table into `struct gi_reactor`. Everything above, reassembly,
 * gathering, back pressure, is the same for both.
 *
 * A socket is a small number, watched with gi_io as any descriptor. Nothing
 * blocks but `resolve`, which runs on a worker.
 */
#ifndef GI_NET_H
#define GI_NET_H

#include "libglusterish/error.h"
#include "libglusterish/reactor.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct gi_keepalive;

struct gi_net_address {
  struct sockaddr_storage sa;
  socklen_t len;
};

#define GI_NET_NO_SUCH_NAME ENXIO

/* Errors are -errno. */
struct gi_net_ops {
  /* The addresses of a name, at most `max`: their count, or -1 and err, GI_NET_NO_SUCH_NAME if the name service has answered that
   * there are none. On a worker. */
  int (*resolve)(struct gi_reactor *r, const char *host, int port, struct gi_net_address *out, unsigned max,
                 struct gi_error *err);
  /* Begins to connect: the socket. It becomes writable when that has ended, and connect_result says how (0 or -errno). */
  int (*connect)(struct gi_reactor *r, const struct gi_net_address *to);
  int (*connect_result)(struct gi_reactor *r, int fd);
  int (*listen)(struct gi_reactor *r, const struct gi_net_address *at, int backlog); /* the socket */
  int (*accept)(struct gi_reactor *r, int fd);                                       /* the socket; -EAGAIN: nobody waits */
  ssize_t (*recv)(struct gi_reactor *r, int fd, const struct iovec *iov, int n);     /* 0: the peer has ended the stream */
  ssize_t (*send)(struct gi_reactor *r, int fd, const struct iovec *iov, int n);
  void (*low_water)(struct gi_reactor *r, int fd, size_t bytes); /* a hint: fewer received bytes need not wake */
  void (*keepalive)(struct gi_reactor *r, int fd, const struct gi_keepalive *k); /* NULL: there is none */
  int (*peer)(struct gi_reactor *r, int fd, struct sockaddr_storage *sa);
  int (*local)(struct gi_reactor *r, int fd, struct sockaddr_storage *sa);
  void (*close)(struct gi_reactor *r, int fd);
};

extern const struct gi_net_ops gi_net_kernel;

bool gi_net_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b); /* whatever their ports are */
/* The addresses of a host that nobody must be asked for: numeric, or the loopback host. Their count; 0: it is a name. */
int gi_net_numeric(const char *host, int port, struct gi_net_address *out, unsigned max);
#define GI_HOST_MAX 255                /* bytes of a name */
bool gi_net_is_name(const char *host); /* to be looked up: no address, no unix path, not the loopback host */
bool gi_net_host_text(const struct gi_net_address *a, char *text, size_t size); /* without the port; false: it has none */
bool gi_net_privileged(const struct sockaddr_storage *sa); /* a port that only root can have, or a unix socket */

static inline const struct gi_net_ops *
gi_net_of(const struct gi_reactor *r)
{
  return r->net ? r->net : &gi_net_kernel;
}

#endif
