/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of the simulated network: connecting, streams, and how they end
 * when the far end does not answer. See net.h.
 */
#include "tests/simulation/net/socket.h"

#include <arpa/inet.h>
#include <errno.h>

#define SHORT_READ_PERMILLE 60    /* reads that get a part of what is there */
#define SPLIT_PERMILLE 60         /* sends that travel in two messages */
#define SLOW_READ_BYTES 700       /* most that a slow reader takes at once, … */
#define SLOW_READ_NS (4 * SIM_MS) /* … and how often */
#define GIVE_UP_MIN (25 * SIM_S)  /* unanswered for so long: ETIMEDOUT */
#define GIVE_UP_MAX (45 * SIM_S)
#define RESEND_MIN (5 * SIM_MS) /* from the repair of a link to the arrival of what waited for it */
#define RESEND_MAX (400 * SIM_MS)
#define PROBE_MAX (20 * SIM_S) /* keepalive: when an idle end learns that the far one has gone */
#define SYN_TRIES 6            /* at 0, 1, 3, 7, 15, 31 s: longer than anybody waits */
#define SYN_TRIES_NEAR 3       /* in the same network ARP fails after 3 s */
#define NEAR_EVERY 4           /* one of so many connections */
#define BACKLOG_MAX 128
#define PORT_FIRST 32768
#define PORT_LAST 60999

static const size_t windows[] = {8 << 10, 64 << 10, 512 << 10, 4 << 20};

/* ---- numbers ---- */

static struct sim_socket *
find(struct sim_reactor *r, int fd)
{
  struct sim_net *net = r->w->net;
  unsigned i = (unsigned)(fd - SIM_FD_FIRST);
  GI_ASSERT(fd >= SIM_FD_FIRST && i < net->nsockets);
  struct sim_socket *s = net->socket[i];
  GI_ASSERT(s->owner == r && !s->closed);
  return s;
}

static struct sim_reactor *
sim_of(struct gi_reactor *r)
{
  return GI_CONTAINER(r, struct sim_reactor, base);
}

static void ready(void *arg);
static void arrived(void *arg);
static void decide_fate(void *arg);
static void syn_sent(void *arg);

static struct sim_socket *
socket_new(struct sim_net *net, struct sim_reactor *owner, unsigned host, enum sim_socket_state state)
{
  struct sim_socket *s = gi_new(struct sim_socket);
  if (net->nsockets == net->room) {
    net->room = net->room ? net->room * 2 : 64;
    net->socket = gi_realloc(net->socket, net->room * sizeof(struct sim_socket *));
  }
  s->fd = SIM_FD_FIRST + (int)net->nsockets;
  net->socket[net->nsockets++] = s;
  s->net = net;
  s->owner = owner;
  s->host = s->peer_host = host;
  s->state = state;
  s->window = windows[sim_rng_below(&net->rng, GI_ARRAY_LEN(windows))];
  gi_list_init(&s->backlog);
  gi_list_init(&s->waiting);
  gi_list_init(&s->flight);
  sim_event_init(&s->ready, owner, "socket ready", ready, s);
  sim_event_init(&s->arrive, NULL, "segment", arrived, s);
  sim_event_init(&s->fate, NULL, "unanswered", decide_fate, s);
  sim_event_init(&s->syn, NULL, "connect", syn_sent, s);
  return s;
}

static struct sockaddr_in
address(unsigned host, uint16_t port)
{
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
  in.sin_addr.s_addr = htonl(0x0a000000u + 1 + host);
  return in;
}

/* The host of an address, as seen from `self`; -1: there is none. */
static int
host_of(const struct sim_net *net, unsigned self, const struct sockaddr_in *in)
{
  uint32_t a = ntohl(in->sin_addr.s_addr);
  if (a == 0 || a >> 24 == 127)
    return (int)self;
  return a > 0x0a000000u && a - 0x0a000001u < net->nhosts ? (int)(a - 0x0a000001u) : -1;
}

/* ---- readiness ---- */

static unsigned
readiness(const struct sim_socket *s)
{
  if (s->closed)
    return 0;
  if (s->state == SIM_LISTENING)
    return gi_list_empty(&s->backlog) ? 0 : GI_IO_READ;
  if (s->error)
    return GI_IO_READ | GI_IO_WRITE;
  if (s->state == SIM_CONNECTING)
    return 0;
  return (s->rx_len > 0 || s->ended ? GI_IO_READ : 0) | (s->unread < s->window ? GI_IO_WRITE : 0);
}

void
sim_socket_wake(struct sim_socket *s, uint64_t delay)
{
  if (!s->io || s->ready.queued || !(readiness(s) & s->io->events))
    return;
  sim_event_set(s->net->w, &s->ready, delay + sim_rng_below(&s->net->rng, 8 * SIM_US));
}

static void
tell(struct sim_socket *s, unsigned event)
{
  struct gi_io *io = s->io;
  if (!io || !(readiness(s) & io->events & event))
    return;
  sim_world_hash(s->net->w, "ready", (uint64_t)s->fd, event, NULL, 0);
  io->fn(io->arg, event);
}

/* Level triggered: a socket that is still ready afterwards is reported again. */
static void
ready(void *arg)
{
  struct sim_socket *s = arg;
  unsigned first = sim_rng_chance(&s->net->rng, 500) ? GI_IO_READ : GI_IO_WRITE;
  tell(s, first);
  tell(s, first ^ (GI_IO_READ | GI_IO_WRITE));
  if (!s->closed)
    sim_socket_wake(s, s->net->host[s->host].slow && s->state == SIM_UP ? SLOW_READ_NS : SIM_US);
}

void
sim_net_watch(struct sim_reactor *r, struct gi_io *io)
{
  struct sim_socket *s = find(r, io->fd);
  s->io = io;
  if (!(readiness(s) & io->events))
    sim_event_cancel(r->w, &s->ready);
  sim_socket_wake(s, 0);
}

void
sim_net_unwatch(struct sim_reactor *r, struct gi_io *io)
{
  struct sim_socket *s = find(r, io->fd);
  s->io = NULL;
  sim_event_cancel(r->w, &s->ready);
}

/* ---- what is under way ---- */

static void
drop_flight(struct sim_socket *s)
{
  while (!gi_list_empty(&s->flight)) {
    struct sim_segment *seg = gi_list_first(&s->flight, struct sim_segment, link);
    gi_list_del(&seg->link);
    gi_free(seg);
  }
  sim_event_cancel(s->net->w, &s->arrive);
  s->stuck = false;
}

static void
drop_received(struct sim_socket *s)
{
  gi_free(s->rx);
  s->rx = NULL;
  s->rx_at = s->rx_len = s->rx_room = 0;
}

void
sim_socket_fail(struct sim_socket *s, int error)
{
  if (s->error || s->state == SIM_LISTENING)
    return;
  if (s->state == SIM_UP) /* attempts that never became a connection are counted elsewhere */
    *(error == ETIMEDOUT ? &s->net->stats.timeouts : &s->net->stats.resets) += 1;
  sim_world_hash(s->net->w, "fail", (uint64_t)s->fd, (uint64_t)error, NULL, 0);
  s->error = error;
  drop_flight(s);
  drop_received(s);
  sim_event_cancel(s->net->w, &s->fate);
  sim_event_cancel(s->net->w, &s->syn);
  sim_socket_wake(s, 0);
}

/* Bytes for an end that has gone are answered with a reset. */
static void
reset_by_peer(struct sim_socket *s)
{
  if (!s->closed)
    sim_socket_fail(s, ECONNRESET);
}

/* A process that closes without reading all sends a reset, which is lost if the link is broken. */
static void
reset_arrived(void *arg)
{
  struct sim_socket *s = arg;
  if (sim_net_reaches(s->net, s->host, s->peer_host))
    reset_by_peer(s->other);
  else
    s->silent = true;
}

static void
receive(struct sim_socket *to, const struct sim_segment *seg)
{
  if (to->rx_at + to->rx_len + seg->len > to->rx_room) {
    size_t room = to->rx_len + seg->len;
    uint8_t *bigger = gi_alloc(room * 2);
    if (to->rx_len > 0)
      memcpy(bigger, to->rx + to->rx_at, to->rx_len);
    gi_free(to->rx);
    to->rx = bigger;
    to->rx_at = 0;
    to->rx_room = room * 2;
  }
  if (seg->len > 0)
    memcpy(to->rx + to->rx_at + to->rx_len, seg->data, seg->len);
  to->rx_len += seg->len;
  to->ended = to->ended || seg->end;
}

static void
next_arrival(struct sim_socket *s)
{
  if (gi_list_empty(&s->flight))
    return;
  const struct sim_segment *seg = gi_list_first(&s->flight, struct sim_segment, link);
  uint64_t now = s->net->w->now;
  sim_event_set(s->net->w, &s->arrive, seg->when > now ? seg->when - now : 0);
}

static void
arrived(void *arg)
{
  struct sim_socket *s = arg, *to = s->other;
  struct sim_segment *seg = gi_list_first(&s->flight, struct sim_segment, link);
  if (!sim_net_reaches(s->net, s->host, s->peer_host)) {
    s->stuck = true;
    s->net->stats.held++;
    sim_socket_review(s);
    return;
  }
  gi_list_del(&seg->link);
  if (seg->number < s->net->newest)
    s->net->stats.overtaken++;
  else
    s->net->newest = seg->number;
  if (to->closed || to->error) {
    bool end = seg->end;
    drop_flight(s);
    if (!end)
      reset_by_peer(s);
  } else {
    sim_world_hash(s->net->w, "arrive", (uint64_t)to->fd, seg->len, NULL, 0);
    receive(to, seg);
    sim_socket_wake(to, 0);
  }
  gi_free(seg);
  next_arrival(s);
}

/* ---- ends that do not answer ---- */

static bool
path_is_whole(const struct sim_socket *s)
{
  return sim_net_reaches(s->net, s->host, s->peer_host) && sim_net_reaches(s->net, s->peer_host, s->host);
}

/* The far end has gone, and this one was not told. */
static bool
half_open(const struct sim_socket *s)
{
  return s->other->error || (s->other->closed && s->other->silent);
}

static void
decide_fate(void *arg)
{
  struct sim_socket *s = arg;
  if (s->error || s->state != SIM_UP)
    return;
  if (!path_is_whole(s))
    sim_socket_fail(s, ETIMEDOUT);
  else if (half_open(s))
    sim_socket_fail(s, ECONNRESET);
}

/* The link works again: the far end can acknowledge what it has read. */
static void
take_acknowledgements(struct sim_socket *s)
{
  s->unread -= s->unread_kept;
  s->unread_kept = 0;
  sim_socket_wake(s, 0);
}

void
sim_socket_review(struct sim_socket *s)
{
  struct sim_rng *rng = &s->net->rng;
  if (s->state != SIM_UP || s->error || s->host == s->peer_host)
    return;
  if (s->closed && gi_list_empty(&s->flight))
    return;
  if (!path_is_whole(s)) {
    if (!s->fate.queued)
      sim_event_set(s->net->w, &s->fate, sim_rng_between(rng, GIVE_UP_MIN, GIVE_UP_MAX));
  } else {
    sim_event_cancel(s->net->w, &s->fate);
    if (half_open(s))
      sim_event_set(s->net->w, &s->fate, sim_rng_below(rng, PROBE_MAX));
  }
  if (sim_net_reaches(s->net, s->peer_host, s->host))
    take_acknowledgements(s);
  if (s->stuck && sim_net_reaches(s->net, s->host, s->peer_host)) {
    s->stuck = false;
    sim_event_set(s->net->w, &s->arrive, sim_rng_between(rng, RESEND_MIN, RESEND_MAX));
  }
}

/* ---- sending and receiving ---- */

static void
launch(struct sim_socket *s, const uint8_t *data, size_t len, bool end)
{
  struct sim_segment *seg = gi_alloc(sizeof(*seg) + len);
  uint64_t when = s->net->w->now + sim_net_latency(s->net, s->host, s->peer_host);
  if (when <= s->last_arrival)
    when = s->last_arrival + 1;
  *seg = (struct sim_segment){.when = when, .end = end, .len = len};
  if (len > 0)
    memcpy(seg->data, data, len);
  s->last_arrival = when;
  bool first = gi_list_empty(&s->flight);
  gi_list_add_tail(&s->flight, &seg->link);
  if (first)
    next_arrival(s);
  seg->number = ++s->net->stats.segments;
  s->net->stats.bytes += len;
  sim_world_hash(s->net->w, end ? "end" : "send", (uint64_t)s->fd, len, data, len);
}

static ssize_t
sim_send(struct gi_reactor *r, int fd, const struct iovec *iov, int n)
{
  struct sim_socket *s = find(sim_of(r), fd);
  struct sim_rng *rng = &s->net->rng;
  size_t total = 0, at = 0;
  if (s->error)
    return -s->error;
  for (int i = 0; i < n; i++)
    total += iov[i].iov_len;
  if (total > s->window - s->unread)
    total = s->window - s->unread;
  if (total == 0) {
    s->net->stats.full++;
    return -EAGAIN;
  }
  GI_CLEANUP_FREE uint8_t *flat = gi_alloc(total);
  for (int i = 0; i < n && at < total; i++) {
    size_t part = iov[i].iov_len < total - at ? iov[i].iov_len : total - at;
    memcpy(flat + at, iov[i].iov_base, part);
    at += part;
  }
  size_t split = total > 1 && sim_rng_chance(rng, SPLIT_PERMILLE) ? (size_t)sim_rng_between(rng, 1, total - 1) : total;
  launch(s, flat, split, false);
  if (split < total)
    launch(s, flat + split, total - split, false);
  s->unread += total;
  return (ssize_t)total;
}

/* How many of the bytes that arrived one read gets. */
static size_t
portion(struct sim_socket *s, size_t room)
{
  size_t n = s->rx_len < room ? s->rx_len : room;
  if (s->net->host[s->host].slow) {
    s->net->stats.slow_reads++;
    n = n < SLOW_READ_BYTES ? n : (size_t)sim_rng_between(&s->net->rng, 1, SLOW_READ_BYTES);
  } else if (n > 1 && sim_rng_chance(&s->net->rng, SHORT_READ_PERMILLE)) {
    s->net->stats.short_reads++;
    n = (size_t)sim_rng_between(&s->net->rng, 1, n);
  }
  return n;
}

static ssize_t
sim_recv(struct gi_reactor *r, int fd, const struct iovec *iov, int n)
{
  struct sim_socket *s = find(sim_of(r), fd);
  size_t room = 0, got = 0;
  if (s->error)
    return -s->error;
  if (s->rx_len == 0)
    return s->ended ? 0 : -EAGAIN;
  for (int i = 0; i < n; i++)
    room += iov[i].iov_len;
  size_t want = portion(s, room);
  for (int i = 0; i < n && got < want; i++) {
    size_t part = iov[i].iov_len < want - got ? iov[i].iov_len : want - got;
    memcpy(iov[i].iov_base, s->rx + s->rx_at + got, part);
    got += part;
  }
  s->rx_at += got;
  s->rx_len -= got;
  if (s->rx_len == 0)
    s->rx_at = 0;
  s->other->unread_kept += got;
  if (sim_net_reaches(s->net, s->host, s->peer_host))
    take_acknowledgements(s->other);
  sim_world_hash(s->net->w, "read", (uint64_t)fd, got, NULL, 0);
  return (ssize_t)got;
}

/* ---- beginning ---- */

static struct sim_socket *
find_listener(struct sim_net *net, unsigned host, uint16_t port)
{
  for (unsigned i = 0; i < net->nsockets; i++) {
    struct sim_socket *s = net->socket[i];
    if (s->state == SIM_LISTENING && !s->closed && s->host == host && s->local.sin_port == htons(port))
      return s;
  }
  return NULL;
}

static void
pair_up(struct sim_socket *s, struct sim_socket *listener)
{
  struct sim_socket *other = socket_new(s->net, NULL, listener->host, SIM_UP);
  other->local = s->peer;
  other->peer = s->local;
  other->peer_host = s->host;
  other->other = s;
  s->other = other;
  s->state = SIM_UP;
  s->net->stats.connects++;
  gi_list_add_tail(&listener->backlog, &other->waiting);
  sim_socket_wake(listener, 0);
  sim_socket_wake(s, sim_net_latency(s->net, listener->host, s->host));
}

static unsigned
waiting(const struct sim_socket *listener)
{
  unsigned n = 0;
  gi_list_foreach(s, &listener->backlog, struct sim_socket, waiting)
    n++;
  return n;
}

/* Not drawn, as it does not matter which ones. */
static bool
near(const struct sim_socket *s)
{
  return s->fd % NEAR_EVERY == 0;
}

static void
syn_sent(void *arg)
{
  struct sim_socket *s = arg;
  struct sim_net *net = s->net;
  struct sim_socket *listener = find_listener(net, s->peer_host, ntohs(s->peer.sin_port));
  bool whole = path_is_whole(s);
  if (!whole || (listener && waiting(listener) >= BACKLOG_MAX)) {
    if (++s->attempts < (near(s) ? SYN_TRIES_NEAR : SYN_TRIES)) {
      sim_event_set(net->w, &s->syn, SIM_S << (s->attempts - 1));
      return;
    }
    net->stats.connect_timeouts++;
    sim_socket_fail(s, near(s) ? EHOSTUNREACH : ETIMEDOUT);
  } else if (listener == NULL || net->host[s->peer_host].refuse) {
    net->stats.refused++;
    sim_socket_fail(s, ECONNREFUSED);
  } else {
    pair_up(s, listener);
  }
}

static int
sim_connect(struct gi_reactor *base, const struct gi_net_address *to)
{
  struct sim_reactor *r = sim_of(base);
  struct sim_net *net = r->w->net;
  const struct sockaddr_in *in = (const struct sockaddr_in *)&to->sa;
  int host = in->sin_family == AF_INET ? host_of(net, r->host, in) : -1;
  if (host < 0)
    return -ENETUNREACH;
  struct sim_socket *s = socket_new(net, r, r->host, SIM_CONNECTING);
  s->peer_host = (unsigned)host;
  s->peer = address((unsigned)host, ntohs(in->sin_port));
  s->local = address(r->host, net->next_port);
  net->next_port = net->next_port < PORT_LAST ? net->next_port + 1 : PORT_FIRST;
  sim_event_set(net->w, &s->syn, sim_net_latency(net, s->host, s->peer_host));
  return s->fd;
}

static int
sim_connect_result(struct gi_reactor *r, int fd)
{
  return -find(sim_of(r), fd)->error;
}

static int
sim_listen(struct gi_reactor *base, const struct gi_net_address *at, int backlog)
{
  struct sim_reactor *r = sim_of(base);
  const struct sockaddr_in *in = (const struct sockaddr_in *)&at->sa;
  if (in->sin_family != AF_INET || host_of(r->w->net, r->host, in) != (int)r->host)
    return -EADDRNOTAVAIL;
  uint16_t port = ntohs(in->sin_port);
  if (port && find_listener(r->w->net, r->host, port))
    return -EADDRINUSE;
  if (port == 0)
    port = r->w->net->next_port++;
  struct sim_socket *s = socket_new(r->w->net, r, r->host, SIM_LISTENING);
  s->local = address(r->host, port);
  return s->fd;
}

static int
sim_accept(struct gi_reactor *base, int fd)
{
  struct sim_reactor *r = sim_of(base);
  struct sim_socket *l = find(r, fd);
  if (gi_list_empty(&l->backlog))
    return -EAGAIN;
  struct sim_socket *s = gi_list_first(&l->backlog, struct sim_socket, waiting);
  gi_list_del(&s->waiting);
  gi_list_init(&s->waiting);
  s->owner = s->ready.owner = r;
  return s->fd;
}

/* ---- the end ---- */

void
sim_socket_close(struct sim_socket *s, bool silent)
{
  s->closed = true;
  s->silent = silent;
  s->io = NULL;
  gi_list_del(&s->waiting); /* nobody accepts it any more */
  gi_list_init(&s->waiting);
  sim_event_cancel(s->net->w, &s->ready);
  sim_event_cancel(s->net->w, &s->syn);
  while (!gi_list_empty(&s->backlog)) {
    struct sim_socket *never = gi_list_first(&s->backlog, struct sim_socket, waiting);
    gi_list_del(&never->waiting);
    gi_list_init(&never->waiting);
    sim_socket_close(never, silent);
  }
  bool unread = s->rx_len > 0;
  drop_received(s);
  if (silent)
    drop_flight(s);
  if (s->state != SIM_UP || s->error || silent)
    return;
  if (unread && !s->other->closed) {
    drop_flight(s);
    sim_event_init(&s->arrive, NULL, "reset", reset_arrived, s); /* unread bytes: the far end gets a reset */
    sim_event_set(s->net->w, &s->arrive, sim_net_latency(s->net, s->host, s->peer_host));
    return;
  }
  s->net->stats.ends++;
  launch(s, NULL, 0, true);
}

static void
sim_close(struct gi_reactor *r, int fd)
{
  sim_socket_close(find(sim_of(r), fd), false);
}

void
sim_socket_free(struct sim_socket *s)
{
  struct sim_event *events[] = {&s->ready, &s->syn, &s->fate};

  drop_flight(s);
  drop_received(s);
  for (size_t i = 0; i < GI_ARRAY_LEN(events); i++)
    sim_event_cancel(s->net->w, events[i]);
  gi_free(s);
}

/* ---- the rest ---- */

static int
sim_resolve(struct gi_reactor *base, const char *host, int port, struct gi_net_address *out, unsigned max, struct gi_error *err)
{
  const struct sim_net *net = sim_of(base)->w->net;
  for (unsigned i = 0; i < net->nhosts; i++) {
    if (strcmp(net->host[i].name, host) != 0)
      continue;
    struct sockaddr_in in = address(i, (uint16_t)port);
    memset(out, 0, sizeof(*out));
    memcpy(&out->sa, &in, sizeof(in));
    out->len = sizeof(in);
    return 1;
  }
  return gi_error_set(err, EHOSTUNREACH, "cannot resolve %s", host);
}

static void
sim_low_water(struct gi_reactor *r, int fd, size_t bytes)
{
  /* A hint, ignored here: programs must cope with being woken for fewer bytes. */
}

static int
sim_peer(struct gi_reactor *r, int fd, struct sockaddr_storage *sa)
{
  struct sim_socket *s = find(sim_of(r), fd);
  if (s->state != SIM_UP)
    return -ENOTCONN;
  memcpy(sa, &s->peer, sizeof(s->peer));
  return 0;
}

static int
sim_local(struct gi_reactor *r, int fd, struct sockaddr_storage *sa)
{
  memcpy(sa, &find(sim_of(r), fd)->local, sizeof(struct sockaddr_in));
  return 0;
}

const struct gi_net_ops sim_net_ops = {
    .resolve = sim_resolve,
    .connect = sim_connect,
    .connect_result = sim_connect_result,
    .listen = sim_listen,
    .accept = sim_accept,
    .recv = sim_recv,
    .send = sim_send,
    .low_water = sim_low_water,
    .peer = sim_peer,
    .local = sim_local,
    .close = sim_close,
};
