/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/client: one brick, reached over the network. Operations go out as
 * calls of the FOP program and come back as their replies; parents learn when
 * the brick can serve and when it cannot. See README.md.
 */
#include "xlators/protocol/client/client.h"

#include <errno.h>
#include <stdio.h>

/* ---- options ---- */

#define OPT(m) .offset = offsetof(struct cl_options, m), .since = "0.1"
#define KEEPALIVE(n, k, m, d, most, t) \
  { \
    .name = n, .key = k, .type = GI_OPT_INT, OPT(m), .def = d, .min = 0, .max = most, .live = true, .side = GI_SIDE_CLIENT, \
    .level = 3, .op_version = 31002, .text = t \
  }
#define TRANSPORT(n, k, t, m, ...) \
  { \
    .name = n, .key = k, .type = t, OPT(m), .level = 3, .unread = true, __VA_ARGS__ \
  }

#define TLS(n, k, t, m, ...) \
  { \
    .name = "transport.socket." n, .key = k, .type = t, OPT(m), .live = true, __VA_ARGS__ \
  }

static const char *const families[] = {"inet", "inet6", NULL};

const struct gi_option cl_option_table[] = {
    {.name = "remote-host",
     .alias = "host",
     .type = GI_OPT_STR,
     OPT(remote_host),
     .live = true,
     .level = 1,
     .text = "Host of the brick. Without it the host the volfile came from is used. A path means a unix socket."},
    {.name = "remote-port",
     .type = GI_OPT_INT,
     OPT(remote_port),
     .def = "0",
     .live = true,
     .min = 0,
     .max = 65535,
     .level = 2,
     .text = "Port of the brick. 0 asks the management daemon of the host for it at every connect."},
    {.name = "management-port",
     .type = GI_OPT_INT,
     OPT(management_port),
     .def = "0",
     .live = true,
     .min = 0,
     .max = 65535,
     .level = 3,
     .text =
         "Port of the management daemon asked for the brick's port. 0 means the one the volfile came from if it is the same "
         "host, else 24007."},
    {.name = "remote-subvolume",
     .type = GI_OPT_STR,
     OPT(remote_subvolume),
     .live = true,
     .level = 1,
     .text = "Path of the brick, which is the name of the volume served there."},
    {.name = "subdir-mount",
     .type = GI_OPT_STR,
     OPT(subdir_mount),
     .level = 3,
     .text = "Directory of the volume to see as its root."},
    {.name = "username", .type = GI_OPT_STR, OPT(username), .live = true, .level = 3, .text = "User name shown to the brick."},
    {.name = "password",
     .type = GI_OPT_STR,
     OPT(password),
     .live = true,
     .level = 3,
     .text = "Password that goes with the user name."},
    {.name = "ping-timeout",
     .key = "network.ping-timeout",
     .type = GI_OPT_TIME,
     OPT(ping_timeout),
     .def = "42",
     .min = 0,
     .max = 1013,
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 1,
     .op_version = 1,
     .text =
         "Seconds without an answer after which a brick connection is dropped; 0 never. Unless it is set, 5 seconds are used "
         "with glusterish bricks."},
    {.name = "frame-timeout",
     .key = "network.frame-timeout",
     .type = GI_OPT_TIME,
     OPT(frame_timeout),
     .def = "1800",
     .min = 0,
     .max = 86400,
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 2,
     .op_version = 1,
     .text = "Seconds after which an unanswered request is failed. Lock requests may wait longer."},
    {.name = "send-gids",
     .key = "client.send-gids",
     .type = GI_OPT_BOOL,
     OPT(send_gids),
     .def = "on",
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 3,
     .op_version = 30600,
     .text = "Send the caller's supplementary groups with each request. Off when the bricks look groups up themselves."},
    {.name = "strict-locks",
     .key = "client.strict-locks",
     .type = GI_OPT_BOOL,
     OPT(strict_locks),
     .def = "off",
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 3,
     .op_version = 80000,
     .text = "After a reconnect fail the descriptors that held posix locks instead of taking the locks again."},
    {.name = "filter-O_DIRECT",
     .key = "network.remote-dio",
     .type = GI_OPT_BOOL,
     OPT(filter_o_direct),
     .def = "disable",
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 2,
     .op_version = 2,
     .text = "Strip O_DIRECT before sending opens, reads and writes to bricks."},
    {.name = "connections-per-brick",
     .type = GI_OPT_INT,
     OPT(connections),
     .def = "1",
     .min = 1,
     .max = CL_CONNECTIONS_MAX,
     .level = 2,
     .text = "TCP connections to the brick. Operations on one inode always take the same one."},
    {.name = "inflight-bytes",
     .type = GI_OPT_SIZE,
     OPT(inflight_bytes),
     .def = "64MB",
     .min = 0,
     .max = 1073741824.0 * 16,
     .live = true,
     .level = 2,
     .text = "Most bytes of requests outstanding on a connection; further requests wait in order. 0 is no limit."},
    {.name = "busy-poll-time",
     .key = "client.busy-poll-time",
     .type = GI_OPT_INT,
     OPT(busy_poll_us),
     .def = "50",
     .min = 0,
     .max = 1000,
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 3,
     .text = "Microseconds a client goes on looking for replies and requests before it sleeps, leaving the CPU to whoever "
             "wants it. "
             "Waking up costs more than most replies take. 0 sleeps at once."},
    {.name = "event-threads",
     .key = "client.event-threads",
     .type = GI_OPT_INT,
     OPT(event_threads),
     .def = "2",
     .min = 1,
     .max = 32,
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 1,
     .op_version = 30700,
     .unread = true,
     .text = "Accepted for compatibility; one reactor serves all connections of a process."},
    {.name = "client-bind-insecure",
     .key = "client.bind-insecure",
     .type = GI_OPT_BOOL,
     OPT(bind_insecure),
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 3,
     .op_version = 30700,
     .unread = true,
     .text = "Use source ports above 1023, as is always done."},
    {.name = "transport-type",
     .type = GI_OPT_STR,
     OPT(transport_type),
     .def = "tcp",
     .level = 3,
     .text = "Transport to the brick: tcp, or unix when remote-host is a path."},
    {.name = "transport.address-family",
     .type = GI_OPT_ENUM,
     OPT(address_family),
     .def = "inet",
     .words = families,
     .level = 1,
     .text = "Address family of host names."},
    KEEPALIVE("transport.socket.keepalive-count", "client.keepalive-count", keepalive_count, "9", 127,
              "Unanswered TCP probes before the connection is dropped; 0 is the system's."),
    KEEPALIVE("transport.socket.keepalive-interval", "client.keepalive-interval", keepalive_interval, "2", 32767,
              "Seconds between TCP keepalive probes; 0 is the system's."),
    KEEPALIVE("transport.socket.keepalive-time", "client.keepalive-time", keepalive_time, "20", 32767,
              "Idle seconds before TCP keepalive probes; 0 is the system's."),
    KEEPALIVE("transport.tcp-user-timeout", "client.tcp-user-timeout", tcp_user_timeout, "0", 1013,
              "Seconds that sent data may stay unacknowledged, or unread by the brick, before its connection is dropped; 0 is "
              "the system's."),
    TRANSPORT("tcp-window-size", "network.tcp-window-size", GI_OPT_SIZE, tcp_window, .min = 0, .max = 1048576, .op_version = 1,
              .text = "Socket buffer size; the kernel tunes it when unset."),
    TRANSPORT("transport.socket.own-thread", "client.own-thread", GI_OPT_BOOL, own_thread, .side = GI_SIDE_CLIENT,
              .op_version = 30700, .text = "Accepted for compatibility."),
    TRANSPORT("ta-remote-port", "client.ta-brick-port", GI_OPT_INT, ta_port, .min = 0, .max = 65535, .side = GI_SIDE_CLIENT,
              .op_version = 70000, .text = "Port of the thin-arbiter brick."),
    TLS("ssl-enabled", "client.ssl", GI_OPT_BOOL, ssl, .def = "off", .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 1,
        .op_version = 2, .text = "Use TLS to the bricks, from the next connection to each of them on."),
    TLS("ssl-ca-list", "ssl.ca-list", GI_OPT_PATH, tls.ca, .level = 2, .op_version = 30704,
        .text = "CA bundle file; /etc/ssl/glusterfs.ca when unset."),
    TLS("ssl-cert-depth", "ssl.certificate-depth", GI_OPT_INT, tls.depth, .level = 2, .op_version = 30600, .min = 0, .max = 100,
        .text = "Most certificates between that of a peer and that of the CA; 1 when unset."),
    TLS("ssl-cipher-list", "ssl.cipher-list", GI_OPT_STR, tls.ciphers, .level = 2, .op_version = 30600,
        .text = "Allowed TLS ciphers, as OpenSSL names them; those of TLS 1.3 begin with TLS_."),
    TLS("ssl-crl-path", "ssl.crl-path", GI_OPT_PATH, tls.crl, .level = 3, .op_version = 30704,
        .text = "Directory of certificate revocation lists, one of every CA."),
    TLS("ssl-dh-param", "ssl.dh-param", GI_OPT_PATH, tls.dh_param, .level = 3, .op_version = 30704,
        .text = "Diffie-Hellman parameter file, for TLS 1.2."),
    TLS("ssl-ec-curve", "ssl.ec-curve", GI_OPT_STR, tls.ec_curve, .level = 3, .op_version = 30704,
        .text = "Elliptic curve name."),
    TLS("ssl-own-cert", "ssl.own-cert", GI_OPT_PATH, tls.cert, .level = 2, .op_version = 30704,
        .text = "Certificate file; /etc/ssl/glusterfs.pem when unset."),
    TLS("ssl-private-key", "ssl.private-key", GI_OPT_PATH, tls.key, .level = 2, .op_version = 30704,
        .text = "Private key file; /etc/ssl/glusterfs.key when unset."),
    {.name = "transport.*",
     .type = GI_OPT_STR,
     .wildcard = true,
     .level = 3,
     .text = "Other socket settings of GlusterFS volfiles; read past."},
    GI_OPTION_END,
};

/* ---- counters ---- */

#define M(member, unit, help) GI_METRIC(struct cl_metrics, member, unit, help)
#define NOW(member, unit, help) GI_GAUGE(struct cl_metrics, member, unit, help)

static const struct gi_metric cl_metric_table[] = {
    M(calls, "", "operations sent to the brick"),
    M(replies, "", "operations answered"),
    M(failed_calls, "", "operations answered with an error"),
    M(connects, "", "times the brick became usable"),
    M(disconnects, "", "times a usable brick was lost"),
    M(reopened_fds, "", "descriptors opened again after a reconnect"),
    M(bad_fds, "", "descriptors that could not be opened again"),
    M(late_grants_undone, "", "locks granted after nobody waited for them any more"),
    M(retaken_locks, "", "posix locks taken again after a reconnect"),
    M(lost_locks, "", "posix locks that another client had got by then"),
    M(acknowledged, "", "changes of others that the brick waited for to be taken in"),
    NOW(connected, "", "1: the brick is usable"),
    NOW(connections, "", "connections to it"),
    NOW(round_trip, "ns", "how long the last answer to a ping took"),
    NOW(open_fds, "", "descriptors that are open on it, or shall be"),
    M(pings, "", "pings sent"),
    M(ping_timeouts, "", "connections given up because the brick was silent"),
    M(call_timeouts, "", "calls that were not answered in time"),
    M(budget_waits, "", "calls that had to wait for the budget of bytes in flight"),
    NOW(inflight_calls, "", "calls sent and not yet answered"),
    NOW(inflight_bytes, "bytes", "bytes of those calls"),
    GI_METRIC_END,
};

/* ---- configuration of the connections ---- */

const struct cl_options *
cl_opts(const struct client *c)
{
  return c->x->options;
}

static uint64_t
cl_ping_timeout(const struct client *c)
{
  if (c->peer_is_ours && !gi_xlator_option(c->x, "ping-timeout"))
    return CL_PING_OWN_S;
  return cl_opts(c)->ping_timeout;
}

void
cl_rpc_config(const struct client *c, struct gi_rpc_client_config *cfg)
{
  const struct cl_options *o = cl_opts(c);
  *cfg = (struct gi_rpc_client_config){
      .name = c->x->name,
      .ping_timeout_s = cl_ping_timeout(c),
      .call_timeout_s = o->frame_timeout,
      .inflight_bytes_max = o->inflight_bytes,
      .reconnect_min_ms = 100,
      .reconnect_max_ms = 3000,
      .keepalive = {.on = true,
                    .idle_s = (unsigned)o->keepalive_time,
                    .interval_s = (unsigned)o->keepalive_interval,
                    .probes = (unsigned)o->keepalive_count,
                    .user_timeout_s = (unsigned)o->tcp_user_timeout},
      .tls = c->tls.now,
  };
}

void
cl_apply_config(struct client *c)
{
  struct gi_rpc_client_config cfg;
  cl_rpc_config(c, &cfg);
  for (unsigned i = 0; i < c->nconns; i++)
    gi_rpc_client_set_config(c->conn[i].rpc, &cfg);
}

void
cl_tell_parents(struct client *c)
{
  cl_assert(c);
  if (c->told && c->told_up == c->usable)
    return;
  c->told = true;
  c->told_up = c->usable;
  cl_promised(c);
  gi_notify_up(c->x, c->usable ? GI_EVENT_CHILD_UP : GI_EVENT_CHILD_DOWN,
               c->usable && c->peer_is_ours ? c->capabilities : NULL);
}

void
cl_round_trip(struct client *c, uint64_t ns)
{
  c->round_trip = ns;
  gi_notify_up(c->x, GI_EVENT_LATENCY, &ns);
}

/* ---- life ---- */

static void
cl_start(struct client *c)
{
  if (c->state != CL_IDLE)
    return;
  struct gi_rpc_client_config cfg;
  cl_rpc_config(c, &cfg);
  c->nconns = (unsigned)cl_opts(c)->connections;
  GI_ASSERT(c->nconns >= 1 && c->nconns <= CL_CONNECTIONS_MAX && !c->mgmt);
  for (unsigned i = 0; i < c->nconns; i++) {
    c->conn[i] = (struct cl_conn){.c = c, .index = i};
    c->conn[i].rpc = gi_rpc_client_new(c->x->reactor, &cfg, &cl_conn_ops, &c->conn[i]);
  }
  cfg.ping_timeout_s = 0; /* one question, then it is closed */
  cfg.call_timeout_s = 10;
  cfg.tls = NULL; /* it has credentials of its own */
  c->mgmt = gi_rpc_client_new(c->x->reactor, &cfg, &cl_mgmt_ops, c);
  c->told = false;
  cl_connect(c);
}

static void
cl_stop(struct client *c)
{
  if (c->state == CL_IDLE)
    return;
  cl_shut(c);
  for (unsigned i = 0; i < c->nconns; i++)
    gi_rpc_client_free(&c->conn[i].rpc);
  gi_rpc_client_free(&c->mgmt);
  c->nconns = 0;
}

static bool
cl_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct client *c = cl_of(x);
  switch (event) {
  case GI_EVENT_PARENT_UP:
    cl_start(c);
    break;
  case GI_EVENT_PARENT_DOWN:
    cl_stop(c);
    break;
  case GI_EVENT_CANCEL:
    cl_cancel(c, data);
    break;
  case GI_EVENT_MEASURE:
    if (c->usable)
      gi_rpc_client_ping(c->conn[0].rpc);
    break;
  case GI_EVENT_RETRY:
    cl_hurry(c);
    break;
  default:
    break;
  }
  return true; /* nobody below */
}

static int
cl_check(const struct cl_options *o, struct gi_error *err)
{
  if (!o->remote_subvolume || !o->remote_subvolume[0])
    return gi_error_set(err, EINVAL, "option remote-subvolume is missing");
  return 0;
}

static void
cl_name_brick(struct client *c)
{
  const struct cl_options *o = cl_opts(c);
  gi_free(c->brick);
  c->brick = gi_asprintf("%s:%s", o->remote_host ? o->remote_host : "", o->remote_subvolume);
  c->x->waits = GI_WAIT_BRICK;
  c->x->waits_what = c->brick;
}

static int
cl_reconfigure_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  const struct cl_options *o = values;
  if (cl_check(o, err) < 0)
    return -1;
  return gi_tls_prepare(&cl_of(x)->tls, o->ssl ? "client.ssl" : NULL, &o->tls, x->ctx->secure_access, err);
}

static int
cl_init(struct gi_xlator *x, struct gi_error *err)
{
  struct client *c = gi_new(struct client);
  c->magic = CL_MAGIC;
  c->x = x;
  gi_list_init(&c->fds);
  x->private = c;
  if (cl_reconfigure_prepare(x, x->options, err) < 0) {
    x->private = NULL;
    gi_free(c);
    return -1;
  }
  gi_tls_commit(&c->tls);
  cl_locks_init(c);
  cl_give_back_init(c);
  gi_timer_init(&c->port_timer, x->reactor, cl_port_late, c);
  cl_name_brick(c);
  x->metrics = &c->metrics;
  gi_reactor_set_poll(x->reactor, (uint64_t)cl_opts(c)->busy_poll_us * 1000);
  return 0;
}

static void
cl_finish(struct gi_xlator *x)
{
  struct client *c = cl_of(x);
  cl_stop(c);
  GI_ASSERT(c->state == CL_IDLE && !c->usable);
  gi_timer_finish(&c->retake);
  gi_timer_finish(&c->port_timer);
  cl_give_back_finish(c);
  x->private = x->metrics = NULL;
  x->waits_what = NULL;
  gi_tls_clear(&c->tls);
  gi_free(c->brick);
  c->magic = 0;
  gi_free(c);
}

static bool
cl_same(const char *a, const char *b)
{
  return a == b || (a && b && strcmp(a, b) == 0);
}

static void
cl_reconfigure_abort(struct gi_xlator *x, const void *values)
{
  gi_tls_abort(&cl_of(x)->tls);
}

/* Another brick, or the same one elsewhere: replace-brick. */
static bool
cl_moved(const struct cl_options *was, const struct cl_options *now)
{
  return !cl_same(was->remote_host, now->remote_host) || !cl_same(was->remote_subvolume, now->remote_subvolume) ||
         was->remote_port != now->remote_port || was->management_port != now->management_port;
}

/* With another name, or password: the brick may let nobody in with the one before by now. */
static bool
cl_is_another(const struct cl_options *was, const struct cl_options *now)
{
  return !cl_same(was->username, now->username) || !cl_same(was->password, now->password);
}

static void
cl_reconfigure_commit(struct gi_xlator *x)
{
  struct client *c = cl_of(x);
  gi_tls_commit(&c->tls);
  cl_apply_config(c);
  cl_name_brick(c);
  gi_reactor_set_poll(x->reactor, (uint64_t)cl_opts(c)->busy_poll_us * 1000);
  if (cl_moved(x->old_options, x->options))
    cl_move(c);
  else if (cl_is_another(x->old_options, x->options))
    cl_introduce_again(c);
}

/* ---- statedump ---- */

static const char *
cl_state_text(enum cl_state state)
{
  static const char *const text[] = {"idle", "waiting", "asking for the port", "introducing", "joining", "reopening", "ready"};
  return text[state];
}

static void
cl_measure(struct gi_xlator *x)
{
  struct client *c = cl_of(x);
  struct cl_metrics *m = &c->metrics;
  m->connected = c->usable;
  m->connections = c->nconns;
  m->round_trip = c->round_trip;
  m->open_fds = m->pings = m->ping_timeouts = m->call_timeouts = m->budget_waits = m->inflight_calls = m->inflight_bytes = 0;
  gi_list_foreach(f, &c->fds, struct cl_fd, link)
    m->open_fds++;
  for (unsigned i = 0; i < c->nconns; i++) {
    const struct gi_rpc_client_stats *s = gi_rpc_client_stats(c->conn[i].rpc);
    m->pings += s->pings;
    m->ping_timeouts += s->ping_timeouts;
    m->call_timeouts += s->timeouts;
    m->budget_waits += s->budget_waits;
    m->inflight_calls += s->inflight_calls;
    m->inflight_bytes += s->inflight_bytes;
  }
}

static void
cl_dump_connections(const struct client *c, struct gi_dump *d)
{
  const struct cl_metrics *m = &c->metrics;
  gi_dump_kv(d, "connections", "%llu", (unsigned long long)m->connections);
  gi_dump_kv(d, "inflight-calls", "%llu", (unsigned long long)m->inflight_calls);
  gi_dump_kv(d, "inflight-bytes", "%llu", (unsigned long long)m->inflight_bytes);
  gi_dump_kv(d, "budget-waits", "%llu", (unsigned long long)m->budget_waits);
  gi_dump_kv(d, "pings", "%llu", (unsigned long long)m->pings);
  gi_dump_kv(d, "ping-timeouts", "%llu", (unsigned long long)m->ping_timeouts);
  gi_dump_kv(d, "call-timeouts", "%llu", (unsigned long long)m->call_timeouts);
}

static void
cl_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  struct client *c = cl_of(x);
  cl_measure(x);
  gi_dump_section(d, "xlator.protocol.client.%s.priv", x->name);
  gi_dump_kv(d, "connected", "%d", c->usable);
  gi_dump_kv(d, "state", "%s", cl_state_text(c->state));
  gi_dump_kv(d, "remote-subvolume", "%s", cl_opts(c)->remote_subvolume);
  gi_dump_kv(d, "port", "%d", c->port);
  gi_dump_kv(d, "identity", "%s", c->identity);
  gi_dump_kv(d, "peer", "%s %s", c->peer_is_ours ? "glusterish" : "glusterfs", c->peer_version);
  gi_dump_kv(d, "round-trip-ns", "%llu", (unsigned long long)c->round_trip);
  gi_dump_kv(d, "ping-timeout", "%llu", (unsigned long long)cl_ping_timeout(c));
  gi_dump_kv(d, "open-fds", "%llu", (unsigned long long)c->metrics.open_fds);
  cl_dump_connections(c, d);
  for (enum gi_fop_kind kind = 0; kind < GI_FOP_MAX; kind++)
    if (c->sent[kind]) {
      char key[64];
      snprintf(key, sizeof(key), "sent.%s", gi_fop_name(kind));
      gi_dump_kv(d, key, "%llu", (unsigned long long)c->sent[kind]);
    }
}

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "protocol/client",
    .version = GI_VERSION,
    .summary = "Reaches one brick over the network.",
    .messages = GI_MSG_CLIENT,
    .options = cl_option_table,
    .options_bytes = sizeof(struct cl_options),
    .metrics = cl_metric_table,
    .measure = cl_measure,
    .fop_bytes = sizeof(struct cl_fop),
    .inode_bytes = sizeof(struct cl_inode),
    .fd_bytes = sizeof(struct cl_fd),
    .submit = cl_submit,
    .init = cl_init,
    .finish = cl_finish,
    .reconfigure_prepare = cl_reconfigure_prepare,
    .reconfigure_commit = cl_reconfigure_commit,
    .reconfigure_abort = cl_reconfigure_abort,
    .notify = cl_notify,
    .statedump = cl_statedump,
    .fd_release = cl_fd_release,
};
