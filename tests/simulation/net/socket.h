/* SPDX-License-Identifier: Apache-2.0
 *
 * What net.c and socket.c share: a socket and the stream that leaves it.
 */
#ifndef SIM_SOCKET_H
#define SIM_SOCKET_H

#include "tests/simulation/net/net.h"

#include <netinet/in.h>

#define SIM_FD_FIRST 1000

enum sim_socket_state { SIM_LISTENING, SIM_CONNECTING, SIM_UP };

/* bytes on their way, or the end of the stream */
struct sim_segment {
  struct gi_list link;
  uint64_t when;
  uint64_t number; /* of all that were sent */
  bool end;
  size_t len;
  uint8_t data[];
};

struct sim_socket {
  int fd;
  enum sim_socket_state state;
  struct sim_net *net;
  struct sim_reactor *owner; /* NULL: accepted by the host, not yet by a process */
  unsigned host, peer_host;
  struct sockaddr_in local, peer;
  struct sim_socket *other; /* the far end; NULL: none yet */
  struct gi_io *io;         /* watched */
  struct sim_event ready;   /* the owner's */
  bool closed;              /* the process has closed it, or is gone */
  bool silent;              /* its host lost power with it: the far end was not told */
  int error;                /* the stream is dead, and the next call returns this once */
  /* listening */
  struct gi_list backlog; /* struct sim_socket.waiting */
  struct gi_list waiting;
  struct sim_event syn; /* the world's: the next attempt to reach the listener */
  unsigned attempts;
  /* received */
  uint8_t *rx;
  size_t rx_at, rx_len, rx_room;
  bool ended; /* the far end's stream has ended behind these bytes */
  /* sent */
  struct gi_list flight;   /* struct sim_segment */
  struct sim_event arrive; /* the world's: the first of them */
  uint64_t last_arrival;
  size_t window, unread; /* the most bytes that are sent and not yet read, and how many there are */
  size_t unread_kept;    /* of `unread`: read, but a broken link keeps the acknowledgement */
  bool stuck;            /* the first segment waits for a broken link */
  struct sim_event fate; /* the world's: the end of a stream that nobody answers */
};

void sim_socket_fail(struct sim_socket *s, int error); /* the stream is dead; tells the process, drops what is under way */
void sim_socket_wake(struct sim_socket *s, uint64_t delay);
/* Called when its link or its far end changed: lets the stream go on or end. */
void sim_socket_review(struct sim_socket *s);
void sim_socket_close(struct sim_socket *s, bool silent);
void sim_socket_free(struct sim_socket *s);

#endif
