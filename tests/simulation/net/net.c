/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts, links and what can happen to them. See net.h.
 */
#include "tests/simulation/net/socket.h"
#include "tests/simulation/world/trace.h"

#include <errno.h>

#define LATENCY_LOCAL 5
#define LATENCY_MIN (40 * SIM_US)
#define LATENCY_MAX (250 * SIM_US)
#define SPIKE_PERMILLE 5
#define SPIKE_NS (20 * SIM_MS)

#define M(member, unit, help) GI_METRIC(struct sim_net_stats, member, unit, help)
const struct gi_metric sim_net_metrics[] = {
    M(connects, "", "connections made"),
    M(refused, "", "connections refused"),
    M(connect_timeouts, "", "attempts to connect nobody answered"),
    M(resets, "", "ends of connections that were reset"),
    M(timeouts, "", "ends of connections given up because nothing was acknowledged"),
    M(ends, "", "streams ended in order"),
    M(segments, "", "messages sent"),
    M(bytes, "bytes", "sent"),
    M(held, "", "messages that waited for a broken link"),
    M(short_reads, "", "reads that got less than was there"),
    M(slow_reads, "", "reads by a slow reader"),
    M(full, "", "sends refused because the far end had not read"),
    M(overtaken, "", "messages that a later one of another connection has overtaken"),
    M(half_open, "", "ends of connections that do not know the far end is gone"),
    M(spikes, "", "messages that took unusually long"),
    GI_METRIC_END,
};

/* ---- hosts and links ---- */

static struct sim_link
usual_link(bool local)
{
  if (local)
    return (struct sim_link){.min_ns = LATENCY_LOCAL * SIM_US, .max_ns = 2 * LATENCY_LOCAL * SIM_US};
  return (struct sim_link){
      .min_ns = LATENCY_MIN, .max_ns = LATENCY_MAX, .spike_permille = SPIKE_PERMILLE, .spike_ns = SPIKE_NS};
}

unsigned
sim_net_host(struct sim_net *net, const char *name)
{
  unsigned h = net->nhosts++;
  GI_ASSERT(h < SIM_HOSTS);
  snprintf(net->host[h].name, sizeof(net->host[h].name), "%s", name);
  for (unsigned i = 0; i <= h; i++)
    net->link[h][i] = net->link[i][h] = usual_link(i == h);
  return h;
}

const char *
sim_net_host_address(unsigned host, char text[16])
{
  snprintf(text, 16, "10.0.0.%u", (1 + host) & 0xff);
  return text;
}

uint64_t
sim_net_latency(struct sim_net *net, unsigned from, unsigned to)
{
  const struct sim_link *l = &net->link[from][to];
  uint64_t ns = sim_rng_between(&net->rng, l->min_ns, l->max_ns);
  if (l->spike_permille && sim_rng_chance(&net->rng, l->spike_permille)) {
    net->stats.spikes++;
    ns += sim_rng_below(&net->rng, l->spike_ns);
  }
  return ns;
}

bool
sim_net_reaches(const struct sim_net *net, unsigned from, unsigned to)
{
  return !net->host[from].off && !net->host[to].off && net->link[from][to].down == 0;
}

/* ---- faults ---- */

static void
review(struct sim_net *net, unsigned a, unsigned b)
{
  for (unsigned i = 0; i < net->nsockets; i++) {
    struct sim_socket *s = net->socket[i];
    if ((s->host == a && s->peer_host == b) || (s->host == b && s->peer_host == a))
      sim_socket_review(s);
  }
}

void
sim_net_break(struct sim_net *net, unsigned from, unsigned to, bool down)
{
  GI_ASSERT(down || net->link[from][to].down > 0);
  net->link[from][to].down += down ? 1u : -1u;
  sim_trace_mark(net->w, NULL, "net", "%s -> %s %s", net->host[from].name, net->host[to].name, down ? "broken" : "mended");
  review(net, from, to);
}

void
sim_net_partition(struct sim_net *net, uint32_t side, bool down)
{
  for (unsigned a = 0; a < net->nhosts; a++)
    for (unsigned b = 0; b < net->nhosts; b++)
      if ((side >> a & 1) != (side >> b & 1))
        sim_net_break(net, a, b, down);
}

unsigned
sim_net_cut(struct sim_net *net, unsigned a, unsigned b)
{
  unsigned n = 0;
  for (unsigned i = 0; i < net->nsockets; i++) {
    struct sim_socket *s = net->socket[i];
    if (s->state != SIM_UP || s->closed || s->error || s->host != a || s->peer_host != b)
      continue;
    n++;
    sim_socket_fail(s, ECONNRESET);
    sim_socket_fail(s->other, ECONNRESET);
  }
  sim_trace_mark(net->w, NULL, "net", "%u connections of %s and %s cut", n, net->host[a].name, net->host[b].name);
  return n;
}

void
sim_net_refuse(struct sim_net *net, unsigned host, bool on)
{
  net->host[host].refuse += on ? 1u : -1u;
}

void
sim_net_slow(struct sim_net *net, unsigned host, bool on)
{
  net->host[host].slow += on ? 1u : -1u;
}

void
sim_net_abandon(struct sim_net *net, struct sim_reactor *r, bool silent)
{
  for (unsigned i = 0; i < net->nsockets; i++)
    if (net->socket[i]->owner == r && !net->socket[i]->closed) {
      net->stats.half_open += silent && net->socket[i]->state == SIM_UP;
      sim_socket_close(net->socket[i], silent);
    }
}

void
sim_net_power(struct sim_net *net, unsigned host, bool on)
{
  net->host[host].off = !on;
  for (unsigned i = 0; i < net->nsockets; i++) {
    struct sim_socket *s = net->socket[i];
    if (s->host == host && s->owner == NULL && !s->closed)
      sim_socket_close(s, true); /* waited to be accepted */
  }
  for (unsigned i = 0; i < net->nsockets; i++)
    if (net->socket[i]->host == host || net->socket[i]->peer_host == host)
      sim_socket_review(net->socket[i]);
}

/* ---- life ---- */

void
sim_net_new(struct sim_world *w)
{
  struct sim_net *net = w->net = gi_new(struct sim_net);
  net->w = w;
  net->rng = sim_rng_new(w->seed, 1ull << 32);
  net->next_port = 32768;
}

void
sim_net_free(struct sim_world *w)
{
  struct sim_net *net = w->net;
  w->net = NULL;
  for (unsigned i = 0; i < net->nsockets; i++)
    sim_socket_free(net->socket[i]);
  gi_free(net->socket);
  gi_free(net);
}
