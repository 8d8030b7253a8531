/* SPDX-License-Identifier: Apache-2.0
 *
 * A listening socket, TCP or unix.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/conn-private.h"
#include "libglusterish/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ACCEPT_BATCH 16        /* of one wake-up: others must have their turn */
#define ACCEPT_RETRY_MS 100ull /* when out of descriptors: the backlog keeps the socket readable, waiting would spin */

#define LISTENER_MAGIC 0x11573e01u

struct gi_listener {
  uint32_t magic;
  struct gi_reactor *r;
  const struct gi_net_ops *net;
  struct gi_io io;
  struct gi_timer retry;
  int fd;
  int port;
  char *path; /* unix: removed at the end */
  void (*fn)(void *arg, int fd);
  void *arg;
};

static void
retry(void *arg)
{
  struct gi_listener *l = arg;
  GI_CHECK(l, LISTENER_MAGIC);
  gi_io_watch(&l->io, GI_IO_READ);
}

static void
tell_refused(struct gi_listener *l, const char *why)
{
  gi_log(GI_LOG_WARNING, "rpc", GI_MSG_RPC_SERVER + 20, "a connection to %s is refused: %s", l->path, why);
}

/* The mode of the file already keeps others out; a directory on a file system without modes, or a chmod, does not get past this. */
static bool
admitted(struct gi_listener *l, int fd)
{
  struct ucred peer;
  socklen_t len = sizeof(peer);
  char why[96];
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
    snprintf(why, sizeof(why), "its user is not known: %s", strerror(errno));
  else if (peer.uid == 0 || peer.uid == geteuid())
    return true;
  else
    snprintf(why, sizeof(why), "process %ld is user %lu, not root", (long)peer.pid, (unsigned long)peer.uid);
  tell_refused(l, why);
  return false;
}

static void
ready(void *arg, unsigned events)
{
  struct gi_listener *l = arg;
  GI_CHECK(l, LISTENER_MAGIC);
  GI_ASSERT(l->fd >= 0 && l->fn);
  for (int i = 0; i < ACCEPT_BATCH; i++) {
    int fd = l->net->accept(l->r, l->fd);
    if (fd >= 0 && l->path && !admitted(l, fd)) {
      l->net->close(l->r, fd);
    } else if (fd >= 0) {
      l->fn(l->arg, fd);
    } else if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM) {
      gi_io_watch(&l->io, 0);
      gi_timer_set(&l->retry, ACCEPT_RETRY_MS * GI_NSEC_PER_MSEC);
      return;
    } else if (fd == -EAGAIN) {
      return;
    } /* else: that one connection failed before it was accepted */
  }
}

/* A socket file left by a process that died; anything else of that name is left alone and bind will complain. */
static void
remove_stale(const char *path)
{
  struct stat st;
  if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
    unlink(path);
}

static int
address(struct gi_reactor *r, const char *host, int port, struct gi_net_address *a, struct gi_error *err)
{
  if (host && host[0] == '/')
    return net_unix(host, a, err);
  if (host == NULL || host[0] == 0)
    host = "0.0.0.0";
  return gi_net_numeric(host, port, a, 1) == 1 || gi_net_of(r)->resolve(r, host, port, a, 1, err) == 1 ? 0 : -1;
}

struct gi_listener *
gi_listener_new(struct gi_reactor *r, const char *host_or_path, int port, int backlog, void (*fn)(void *arg, int fd), void *arg,
                struct gi_error *err)
{
  struct gi_net_address a = {0};
  char text[160];
  if (address(r, host_or_path, port, &a, err) < 0)
    return NULL;
  bool is_unix = a.sa.ss_family == AF_UNIX;
  net_text(&a.sa, text, sizeof(text));
  if (is_unix)
    remove_stale(host_or_path);
  const struct gi_net_ops *net = gi_net_of(r);
  int fd = net->listen(r, &a, backlog);
  if (fd < 0) {
    gi_error_set(err, -fd, "cannot listen on %s: %s", text, strerror(-fd));
    return NULL;
  }
  struct gi_listener *l = gi_new(struct gi_listener);
  l->magic = LISTENER_MAGIC;
  l->r = r;
  l->net = net;
  l->fd = fd;
  l->path = is_unix ? gi_strdup(host_or_path) : NULL;
  l->fn = fn;
  l->arg = arg;
  if (!is_unix && net->local(r, fd, &a.sa) == 0)
    l->port = ntohs(((struct sockaddr_in *)&a.sa)->sin_port); /* same place in sockaddr_in6 */
  gi_timer_init(&l->retry, r, retry, l);
  gi_io_init(&l->io, r, fd, ready, l);
  gi_io_watch(&l->io, GI_IO_READ);
  return l;
}

int
gi_listener_port(const struct gi_listener *l)
{
  return l->port;
}

void
gi_listener_free(struct gi_listener **lp)
{
  struct gi_listener *l = *lp;
  *lp = NULL;
  if (l == NULL)
    return;
  GI_CHECK(l, LISTENER_MAGIC);
  gi_timer_finish(&l->retry);
  gi_io_finish(&l->io);
  l->net->close(l->r, l->fd);
  if (l->path)
    unlink(l->path);
  l->magic = 0;
  gi_free(l->path);
  gi_free(l);
}
