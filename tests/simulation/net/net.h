/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated network: hosts, the links between them, and byte streams that
 * behave as TCP does as far as a program can tell. It stands below the
 * connections of rpc/ (struct gi_net_ops), so their reassembly, gathering and
 * back pressure run as shipped.
 *
 * Bytes of one direction of one connection arrive in order, in pieces, after a
 * latency drawn for each; connections overtake each other freely. Bytes on
 * a broken link are not lost but wait, as with retransmission: they arrive
 * when the link works again, or the connection ends with ETIMEDOUT.
 *
 * net.c has hosts, links and faults; socket.c the sockets.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include "libglusterish/metrics.h"
#include "rpc/net.h"
#include "tests/simulation/world/reactor.h"

#define SIM_HOSTS 32

/* from one host to another; each direction its own */
struct sim_link {
  uint64_t min_ns, max_ns; /* latency */
  unsigned spike_permille; /* of messages that take longer, … */
  uint64_t spike_ns;       /* … at most this long */
  unsigned down;           /* how many faults hold it down: nothing arrives */
};

/* what happened to streams, counted; names in sim_net_metrics */
struct sim_net_stats {
  uint64_t connects, refused, connect_timeouts, resets, timeouts, ends, segments, bytes, held, short_reads, slow_reads, full,
      spikes, overtaken, half_open;
};
extern const struct gi_metric sim_net_metrics[];

struct sim_socket;

struct sim_net {
  struct sim_world *w;
  struct sim_rng rng;
  unsigned nhosts;
  struct {
    char name[32];
    bool off;        /* no power: it neither answers nor says goodbye */
    unsigned refuse; /* how many faults make it refuse connections */
    unsigned slow;   /* how many faults make its processes read slowly */
  } host[SIM_HOSTS];
  struct sim_link link[SIM_HOSTS][SIM_HOSTS];
  struct sim_socket **socket; /* by number - SIM_FD_FIRST; they stay until the end */
  unsigned nsockets, room;
  uint16_t next_port;
  uint64_t newest; /* number of the latest message that has arrived */
  struct sim_net_stats stats;
};

extern const struct gi_net_ops sim_net_ops;

void sim_net_new(struct sim_world *w); /* w->net */
void sim_net_free(struct sim_world *w);
/* A further host. Its address is 10.0.0.(1 + number), and its name resolves. */
unsigned sim_net_host(struct sim_net *net, const char *name);
const char *sim_net_host_address(unsigned host, char text[16]);

/* ---- faults ---- */

/* down: nothing from `from` reaches `to` any more; otherwise the link works again. Calls nest. One direction only. */
void sim_net_break(struct sim_net *net, unsigned from, unsigned to, bool down);
/* Breaks the links between two sets of hosts, or makes them work again. Host i is in set `side >> i & 1`. */
void sim_net_partition(struct sim_net *net, uint32_t side, bool down);
/* Resets every connection between the two hosts: both ends are told. Returns how many there were. */
unsigned sim_net_cut(struct sim_net *net, unsigned a, unsigned b);
void sim_net_refuse(struct sim_net *net, unsigned host, bool on); /* new connections */
void sim_net_slow(struct sim_net *net, unsigned host, bool on);   /* its processes read a few bytes at a time */
/* Closes all sockets of a process that ended. `silent`: its host lost power, so the peers hear nothing. */
void sim_net_abandon(struct sim_net *net, struct sim_reactor *r, bool silent);
void sim_net_power(struct sim_net *net, unsigned host, bool on);
/* Whether a message would arrive now. */
bool sim_net_reaches(const struct sim_net *net, unsigned from, unsigned to);
uint64_t sim_net_latency(struct sim_net *net, unsigned from, unsigned to);

/* ---- for world/reactor.c ---- */
void sim_net_watch(struct sim_reactor *r, struct gi_io *io);
void sim_net_unwatch(struct sim_reactor *r, struct gi_io *io);

#endif
