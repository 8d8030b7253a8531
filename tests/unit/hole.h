/* SPDX-License-Identifier: Apache-2.0
 *
 * An address of loopback that swallows whoever connects: its queue is full and nobody takes from it.
 */
#ifndef HOLE_H
#define HOLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOLE_SOCKETS 8

struct hole {
  int fd[HOLE_SOCKETS];
};

static inline void
hole_open(struct hole *h, const char *address, int port)
{
  struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  assert_int_equal(inet_pton(AF_INET, address, &sa.sin_addr), 1);
  for (unsigned i = 0; i < HOLE_SOCKETS; i++)
    h->fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  assert_int_equal(bind(h->fd[0], (struct sockaddr *)&sa, sizeof(sa)), 0);
  assert_int_equal(listen(h->fd[0], 0), 0);
  for (unsigned i = 1; i < HOLE_SOCKETS; i++)
    assert_true(connect(h->fd[i], (struct sockaddr *)&sa, sizeof(sa)) == 0 || errno == EINPROGRESS);
}

static inline void
hole_close(struct hole *h)
{
  for (unsigned i = 0; i < HOLE_SOCKETS; i++)
    close(h->fd[i]);
}

#endif
