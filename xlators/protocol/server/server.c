/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/server: offers the bricks below it to clients over the network. Top of a brick's graph; every request becomes an operation
 * submitted at the brick the client attached to. See README.md.
 */
#include "xlators/protocol/server/server.h"
#include "rpc/callback.h"

#include <errno.h>

#define SV_PORT_FIRST 49152
#define SV_PORT_LAST 60999
#define SV_PORT_TRIES 200

/* ---- options ---- */

#define OF_BRICK .since = "0.1", .side = GI_SIDE_BRICK
#define OPT(m) .offset = offsetof(struct sv_options, m), OF_BRICK
#define SSL(n, k, t, m, v, ...) \
  { \
    .name = "transport.socket." n, .key = "ssl." k, .type = t, OPT(m), .op_version = v, .level = 2, .live = true, __VA_ARGS__ \
  }

static const char *const families[] = {"inet", "inet6", NULL};

static const struct gi_option sv_option_table[] = {
    {.name = "listen-port",
     .alias = "transport.socket.listen-port",
     .type = GI_OPT_INT,
     OPT(listen_port),
     .def = "0",
     .min = 0,
     .max = 65535,
     .level = 1,
     .text = "TCP port to listen on. 0 takes a free one from 49152 on."},
    {.name = "transport.socket.bind-address",
     .alias = "bind-address",
     .type = GI_OPT_STR,
     OPT(bind_address),
     .level = 2,
     .text = "Address to listen on; all of them when unset. A path makes a unix socket."},
    {.name = "auth-path", .type = GI_OPT_STR, OPT(auth_path), .level = 3, .text = "Name of the brick in the auth.* options."},
    {.name = "auth.addr.*.allow",
     .key = "auth.allow",
     .type = GI_OPT_STR,
     .wildcard = true,
     .def = "*",
     .live = true,
     OF_BRICK,
     .level = 1,
     .op_version = 1,
     .text =
         "Comma separated address patterns that may connect: addresses, * wildcards, CIDR, host names, each perhaps after a "
         "!, or DIRECTORY(address|address) for clients that mount only that directory."},
    {.name = "auth.addr.*.reject",
     .key = "auth.reject",
     .type = GI_OPT_STR,
     .wildcard = true,
     .live = true,
     OF_BRICK,
     .level = 1,
     .op_version = 1,
     .text = "Comma separated address patterns that may not connect."},
    {.name = "auth.login.*.allow",
     .type = GI_OPT_STR,
     .wildcard = true,
     .live = true,
     OF_BRICK,
     .level = 3,
     .text = "User names that may connect with their password."},
    {.name = "auth.login.*.password",
     .type = GI_OPT_STR,
     .wildcard = true,
     .live = true,
     OF_BRICK,
     .level = 3,
     .text = "Password of a user name."},
    {.name = "auth.login.*.ssl-allow",
     .key = "auth.ssl-allow",
     .type = GI_OPT_STR,
     .wildcard = true,
     .def = "*",
     .live = true,
     OF_BRICK,
     .level = 1,
     .op_version = 30600,
     .text = "Comma separated patterns of common names: whose certificate has another may not connect. It says nothing about "
             "clients without TLS."},
    {.name = "client-key",
     .key = "auth.client-key",
     .type = GI_OPT_BOOL,
     OPT(client_key),
     .def = "off",
     .live = true,
     .level = 1,
     .op_version = 1,
     .text =
         "Only clients with a key of the volume may mount it (\"volume key\" makes them, the mount option client-key names the "
         "file). Self-heal daemons, and root on the nodes of the pool, need none."},
    {.name = "client-keys",
     .key = "auth.client-keys",
     .type = GI_OPT_STR,
     OPT(client_keys),
     .live = true,
     .level = 3,
     .op_version = 1,
     .text = "The public keys of clients, NAME:KEY separated by commas, as \"volume key\" keeps them."},
    {.name = "strict-auth-accept",
     .type = GI_OPT_BOOL,
     OPT(strict_auth),
     .def = "off",
     .live = true,
     .level = 3,
     .text = "Refuse clients without a listed user name instead of deciding by their address."},
    {.name = "dynamic-auth",
     .key = "server.dynamic-auth",
     .type = GI_OPT_BOOL,
     OPT(dynamic_auth),
     .def = "on",
     .live = true,
     .level = 3,
     .op_version = 30705,
     .text = "Re-check connected clients when address rules change."},
    {.name = "rpc-auth-allow-insecure",
     .key = "server.allow-insecure",
     .type = GI_OPT_BOOL,
     OPT(allow_insecure),
     .def = "on",
     .live = true,
     .level = 2,
     .op_version = 1,
     .text = "Accept clients from ports above 1023."},
    {.name = "single-mount",
     .key = "client.single-mount",
     .type = GI_OPT_BOOL,
     OPT(single_mount),
     .def = "off",
     .live = true,
     .level = 1,
     .op_version = 1,
     .text = "Refuse a mount while there is another one, so that the one may keep data in the kernel (kernel-writeback-cache). "
             "Mounts that are there when it is turned on stay. Healing and tools are no mounts."},
    {.name = "root-squash",
     .key = "server.root-squash",
     .type = GI_OPT_BOOL,
     OPT(root_squash),
     .def = "off",
     .live = true,
     .level = 1,
     .op_version = 2,
     .text = "Map uid 0 of clients to the anonymous user."},
    {.name = "all-squash",
     .key = "server.all-squash",
     .type = GI_OPT_BOOL,
     OPT(all_squash),
     .def = "off",
     .live = true,
     .level = 3,
     .op_version = 60000,
     .text = "Map all users of clients to the anonymous user."},
    {.name = "anonuid",
     .key = "server.anonuid",
     .type = GI_OPT_INT,
     OPT(anonuid),
     .def = "65534",
     .min = 0,
     .max = 4294967295.0,
     .live = true,
     .level = 2,
     .op_version = 3,
     .text = "Uid of the anonymous user."},
    {.name = "anongid",
     .key = "server.anongid",
     .type = GI_OPT_INT,
     OPT(anongid),
     .def = "65534",
     .min = 0,
     .max = 4294967295.0,
     .live = true,
     .level = 2,
     .op_version = 3,
     .text = "Gid of the anonymous user."},
    {.name = "manage-gids",
     .key = "server.manage-gids",
     .type = GI_OPT_BOOL,
     OPT(manage_gids),
     .def = "off",
     .live = true,
     .level = 2,
     .op_version = 30600,
     .text = "Resolve supplementary groups on the bricks instead of trusting the client's list."},
    {.name = "gid-timeout",
     .key = "server.gid-timeout",
     .type = GI_OPT_INT,
     OPT(gid_timeout),
     .def = "300",
     .min = 0,
     .max = 86400 * 365.0,
     .live = true,
     .level = 2,
     .op_version = 30600,
     .text = "Seconds resolved groups stay cached on bricks."},
    {.name = "inode-lru-limit",
     .key = "network.inode-lru-limit",
     .type = GI_OPT_INT,
     OPT(inode_lru_limit),
     .def = "16384",
     .min = 0,
     .max = 1048576,
     .live = true,
     .level = 1,
     .op_version = 1,
     .text = "Inodes a brick keeps cached beyond those in use; 0 is no limit."},
    {.name = "rpc.outstanding-rpc-limit",
     .key = "server.outstanding-rpc-limit",
     .type = GI_OPT_INT,
     OPT(outstanding),
     .def = "64",
     .min = 0,
     .max = 65536,
     .live = true,
     .level = 2,
     .op_version = 3,
     .text =
         "Operations of one connection that may be under way, apart from locks; beyond them it is not read. 0 is no limit."},
    {.name = "inflight-bytes",
     .type = GI_OPT_SIZE,
     OPT(inflight_bytes),
     .def = "64MB",
     .min = 1048576,
     .max = 1073741824.0 * 16,
     .live = true,
     .level = 2,
     .text = "Bytes of requests of one connection, and of their answers, that may be under way; beyond them it is not read."},
    {.name = "inflight-bytes-total",
     .type = GI_OPT_SIZE,
     OPT(inflight_total),
     .def = "512MB",
     .min = 0,
     .max = 1073741824.0 * 64,
     .live = true,
     .level = 2,
     .text = "The same over all connections of the brick process; beyond them those are not read that have more than an equal "
             "share "
             "of it. 0 is no limit."},
    {.name = "statedump-path",
     .key = "server.statedump-path",
     .type = GI_OPT_PATH,
     OPT(statedump_path),
     .def = "/var/run/gluster",
     .live = true,
     .level = 2,
     .op_version = 1,
     .unread = true,
     .text = "Directory for state dumps of bricks."},
    {.name = "event-threads",
     .key = "server.event-threads",
     .type = GI_OPT_INT,
     OPT(event_threads),
     .def = "2",
     .min = 1,
     .max = 1024,
     .live = true,
     .level = 1,
     .op_version = 30700,
     .unread = true,
     .text = "Accepted for compatibility; one reactor serves all connections of a process."},
    {.name = "transport.listen-backlog",
     .key = "transport.listen-backlog",
     .type = GI_OPT_INT,
     OPT(backlog),
     .def = "1024",
     .min = 0,
     .max = 1048576,
     .level = 3,
     .op_version = 31101,
     .text = "Backlog of listening sockets."},
    {.name = "transport-type", .type = GI_OPT_STR, OPT(transport_type), .def = "tcp", .level = 3, .text = "Transport offered."},
    {.name = "transport.address-family",
     .key = "transport.address-family",
     .type = GI_OPT_ENUM,
     OPT(address_family),
     .def = "inet",
     .words = families,
     .level = 1,
     .op_version = 30704,
     .unread = true,
     .text = "Address family of the sockets of the volume."},
    {.name = "transport.socket.keepalive",
     .key = "transport.keepalive",
     .type = GI_OPT_BOOL,
     OPT(keepalive),
     .def = "1",
     .level = 3,
     .op_version = 1,
     .live = true,
     .text = "TCP keepalive on or off for brick sockets."},
    {.name = "transport.socket.keepalive-count",
     .key = "server.keepalive-count",
     .type = GI_OPT_INT,
     OPT(keepalive_count),
     .def = "9",
     .min = 0,
     .max = 127,
     .level = 2,
     .op_version = 31002,
     .live = true,
     .text = "Unanswered TCP probes before the connection is dropped; 0 is the system's."},
    {.name = "transport.socket.keepalive-interval",
     .key = "server.keepalive-interval",
     .type = GI_OPT_INT,
     OPT(keepalive_interval),
     .def = "2",
     .min = 0,
     .max = 32767,
     .level = 2,
     .op_version = 31002,
     .live = true,
     .text = "Seconds between TCP keepalive probes; 0 is the system's."},
    {.name = "transport.socket.keepalive-time",
     .key = "server.keepalive-time",
     .type = GI_OPT_INT,
     OPT(keepalive_time),
     .def = "20",
     .min = 0,
     .max = 32767,
     .level = 2,
     .op_version = 31002,
     .live = true,
     .text = "Idle seconds before TCP keepalive probes; 0 is the system's."},
    {.name = "transport.tcp-user-timeout",
     .key = "server.tcp-user-timeout",
     .type = GI_OPT_TIME,
     OPT(tcp_user_timeout),
     .def = "42",
     .min = 0,
     .max = 1013,
     .level = 3,
     .op_version = 31002,
     .live = true,
     .text = "Seconds that sent data may stay unacknowledged, or unread by the client, before its connection is dropped; 0 is "
             "the system's."},
    {.name = "tcp-window-size",
     .key = "network.tcp-window-size",
     .type = GI_OPT_SIZE,
     OPT(tcp_window),
     .min = 0,
     .max = 1048576,
     .level = 3,
     .op_version = 1,
     .unread = true,
     .text = "Socket buffer size; the kernel tunes it when unset."},
    {.name = "transport.socket.own-thread",
     .key = "server.own-thread",
     .type = GI_OPT_BOOL,
     OPT(own_thread),
     .level = 3,
     .op_version = 30700,
     .unread = true,
     .text = "Accepted for compatibility."},
    {.name = "transport.socket.ssl-enabled",
     .key = "server.ssl",
     .type = GI_OPT_BOOL,
     OPT(ssl),
     .def = "off",
     .live = true,
     .level = 1,
     .op_version = 2,
     .text = "Take only clients with TLS from now on. Those that are connected stay."},
    {.name = "transport.socket.ssl-optional",
     .key = "server.ssl-optional",
     .type = GI_OPT_BOOL,
     OPT(ssl_optional),
     .def = "off",
     .live = true,
     .level = 2,
     .text = "With server.ssl take clients without TLS too, for as long as they are changing over."},
    SSL("ssl-ca-list", "ca-list", GI_OPT_PATH, tls.ca, 30704, .text = "CA bundle file; /etc/ssl/glusterfs.ca when unset."),
    SSL("ssl-cert-depth", "certificate-depth", GI_OPT_INT, tls.depth, 30600, .min = 0, .max = 100,
        .text = "Most certificates between that of a peer and that of the CA; 1 when unset."),
    SSL("ssl-cipher-list", "cipher-list", GI_OPT_STR, tls.ciphers, 30600,
        .text = "Allowed TLS ciphers, as OpenSSL names them; those of TLS 1.3 begin with TLS_."),
    SSL("ssl-crl-path", "crl-path", GI_OPT_PATH, tls.crl, 30704,
        .text = "Directory of certificate revocation lists, one of every CA."),
    SSL("ssl-dh-param", "dh-param", GI_OPT_PATH, tls.dh_param, 30704, .text = "Diffie-Hellman parameter file, for TLS 1.2."),
    SSL("ssl-ec-curve", "ec-curve", GI_OPT_STR, tls.ec_curve, 30704, .text = "Elliptic curve name."),
    SSL("ssl-own-cert", "own-cert", GI_OPT_PATH, tls.cert, 30704,
        .text = "Certificate file; /etc/ssl/glusterfs.pem when unset."),
    SSL("ssl-private-key", "private-key", GI_OPT_PATH, tls.key, 30704,
        .text = "Private key file; /etc/ssl/glusterfs.key when unset."),
    {.name = "transport.*",
     .type = GI_OPT_STR,
     .wildcard = true,
     .since = "0.1",
     .level = 3,
     .text = "Other socket settings of GlusterFS volfiles; read past."},
    GI_OPTION_END,
};

/* ---- counters ---- */

#define M(member, unit, help) GI_METRIC(struct sv_metrics, member, unit, help)
#define NOW(member, help) GI_GAUGE(struct sv_metrics, member, "", help)

static const struct gi_metric sv_metric_table[] = {
    NOW(clients, "clients attached now"),
    NOW(peers, "connections open now"),
    NOW(open_fds, "handles open now"),
    M(calls, "", "operations received"),
    NOW(inflight_calls, "operations under way now"),
    M(failed_calls, "", "operations answered with an error"),
    M(garbage_calls, "", "calls that could not be decoded, or came before SETVOLUME"),
    M(dropped_answers, "", "answers whose connection was gone"),
    M(accepted_handshakes, "", "SETVOLUMEs accepted"),
    M(refused_handshakes, "", "SETVOLUMEs refused"),
    M(callbacks, "", "callbacks sent"),
    GI_METRIC_END,
};

const struct sv_options *
sv_opts(const struct server *sv)
{
  return sv->x->options;
}

/* ---- connections ---- */

static void
sv_keepalive(struct gi_rpc_peer *p, void *arg)
{
  const struct sv_options *o = sv_opts(arg);
  struct gi_keepalive k = {.on = o->keepalive,
                           .idle_s = (unsigned)o->keepalive_time,
                           .interval_s = (unsigned)o->keepalive_interval,
                           .probes = (unsigned)o->keepalive_count,
                           .user_timeout_s = (unsigned)o->tcp_user_timeout};
  gi_conn_set_keepalive(gi_rpc_peer_conn(p), &k);
}

static void
sv_peer_up(struct gi_rpc_server *rpc, struct gi_rpc_peer *p, void *arg)
{
  struct server *sv = arg;
  GI_CHECK(sv, SV_MAGIC);
  struct sv_peer *peer = gi_new(struct sv_peer);
  peer->magic = SV_PEER_MAGIC;
  gi_list_init(&peer->link);
  peer->rpc = p;
  gi_rpc_peer_set_private(p, peer);
  sv_keepalive(p, sv);
  sv->metrics.peers++;
}

static void
sv_peer_down(struct gi_rpc_server *rpc, struct gi_rpc_peer *p, void *arg)
{
  struct server *sv = arg;
  struct sv_peer *peer = gi_rpc_peer_private(p);
  GI_CHECK(sv, SV_MAGIC);
  GI_ASSERT(!peer || peer->magic == SV_PEER_MAGIC);
  if (!peer)
    return;
  GI_ASSERT(peer->rpc == p && sv->metrics.peers > 0);
  gi_rpc_peer_set_private(p, NULL);
  sv_client_detach(peer);
  GI_ASSERT(!peer->client && gi_list_empty(&peer->link));
  peer->magic = 0;
  gi_free(peer);
  sv->metrics.peers--;
}

/* Until SETVOLUME was accepted. */
static const struct gi_rpc_limits sv_limits = {
    .stranger_record = 64u << 10,
    .record = GI_RECORD_MAX,
    .stranger_ns = 10 * GI_NSEC_PER_SEC,
};

static const struct gi_rpc_server_ops sv_rpc_ops = {.peer_up = sv_peer_up, .peer_down = sv_peer_down};

static int
sv_listen_anywhere(struct server *sv, struct gi_error *err)
{
  const struct sv_options *o = sv_opts(sv);
  uint32_t span = SV_PORT_LAST - SV_PORT_FIRST + 1, start;
  gi_random(sv->x->reactor, &start, sizeof(start));
  for (uint32_t i = 0; i < SV_PORT_TRIES; i++) {
    int port = SV_PORT_FIRST + (int)((start % span + i) % span);
    if (gi_rpc_server_listen(sv->rpc, o->bind_address, port, (int)o->backlog, err) == 0)
      return 0;
    if (err->code != EADDRINUSE)
      return -1;
  }
  return -1;
}

static int
sv_listen(struct server *sv, struct gi_error *err)
{
  const struct sv_options *o = sv_opts(sv);
  int port = o->listen_port ? (int)o->listen_port : sv->x->ctx->brick_port;
  bool local = o->bind_address && o->bind_address[0] == '/';
  int ret = port == 0 && !local ? sv_listen_anywhere(sv, err)
                                : gi_rpc_server_listen(sv->rpc, o->bind_address, port, (int)o->backlog, err);
  if (ret < 0)
    gi_error_prefix(err, "cannot listen");
  return ret;
}

/* ---- events ---- */

/* SV_BRICKS_MAX: it is no child. */
static unsigned
sv_child_index(const struct server *sv, const struct gi_xlator *child)
{
  for (unsigned i = 0; i < sv->x->nchildren; i++)
    if (sv->x->children[i] == child)
      return i;
  return SV_BRICKS_MAX;
}

bool
sv_child_is_up(const struct server *sv, const struct gi_xlator *child)
{
  unsigned i = sv_child_index(sv, child);
  return i < SV_BRICKS_MAX && sv->children_up >> i & 1;
}

void
sv_put_promise(const struct server *sv, const struct gi_xlator *child, struct gi_dict *d)
{
  unsigned i = sv_child_index(sv, child);
  GI_CLEANUP_FREE char *text = gi_asprintf("%u", i < SV_BRICKS_MAX ? sv->promise[i].seconds : 0);
  gi_dict_set_str(d, GI_PROMISE_KEY, text);
  gi_dict_set_str(d, GI_STRICT_KEY, i < SV_BRICKS_MAX && sv->promise[i].strict ? "1" : "0");
}

/* One connection of the client carries it; they all end in the same place. */
static void
sv_tell(struct sv_client *c, uint32_t proc, void (*put)(struct gi_xdr_out *out, const void *data), const void *data)
{
  if (gi_list_empty(&c->peers))
    return;
  struct sv_peer *p = gi_list_first(&c->peers, struct sv_peer, link);
  GI_CHECK(p, SV_PEER_MAGIC);
  GI_ASSERT(!c->gone && p->client == c);
  struct gi_xdr_out out = {0};
  gi_rpc_callback_begin(p->rpc, &out, proc);
  if (put)
    put(&out, data);
  gi_rpc_callback_send(p->rpc, &out);
  c->sv->metrics.callbacks++;
}

static void
put_invalidation(struct gi_xdr_out *out, const void *data)
{
  gi_callback_put_invalidation(out, data);
}

static void
put_contention(struct gi_xdr_out *out, const void *data)
{
  gi_callback_put_contention(out, data);
}

static void
sv_invalidate(struct server *sv, const struct gi_invalidation *inv)
{
  gi_list_foreach_safe(c, &sv->clients, struct sv_client, link) {
    if (inv->client && inv->client != c)
      continue;
    struct gi_invalidation to = *inv;
    sv_subdir_told(c, &to);
    sv_tell(c, GI_CBK_CACHE_INVALIDATION, put_invalidation, &to);
  }
}

/* Clients that are connected learn what it promises from now on. */
static void
sv_promised(struct server *sv, const struct gi_xlator *child, const struct gi_promised *p)
{
  unsigned i = sv_child_index(sv, child);
  if (i == SV_BRICKS_MAX || (sv->promise[i].seconds == p->seconds && sv->promise[i].strict == p->strict))
    return;
  sv->promise[i] = *p;
  struct gi_invalidation inv = {.expire_s = p->seconds, .xdata = gi_dict_new()};
  sv_put_promise(sv, child, inv.xdata);
  gi_list_foreach_safe(c, &sv->clients, struct sv_client, link)
    if (c->bound == child && c->ours)
      sv_tell(c, GI_CBK_CACHE_INVALIDATION, put_invalidation, &inv);
  gi_dict_unref(&inv.xdata);
}

static void
sv_contend(struct server *sv, const struct gi_contention *con)
{
  if (con->client && sv_client_known(sv, con->client))
    sv_tell(con->client, con->entry ? GI_CBK_ENTRYLK_CONTENTION : GI_CBK_INODELK_CONTENTION, put_contention, con);
}

static void
sv_child_event(struct server *sv, const struct gi_xlator *child, bool up)
{
  unsigned i = sv_child_index(sv, child);
  uint64_t bit = i < SV_BRICKS_MAX ? 1ull << i : 0;
  if (!bit || !(sv->children_up & bit) == !up)
    return;
  sv->children_up ^= bit;
  gi_log(up ? GI_LOG_INFO : GI_LOG_ERROR, sv->x->name, GI_MSG_SERVER + 3, "brick %s is %s", child->name, up ? "up" : "down");
  gi_list_foreach(c, &sv->clients, struct sv_client, link)
    if (c->bound == child)
      sv_tell(c, up ? GI_CBK_CHILD_UP : GI_CBK_CHILD_DOWN, NULL, NULL);
}

static void
sv_start(struct server *sv)
{
  struct gi_xlator *x = sv->x;
  gi_inode_set_lru_limit(x->graph, (uint32_t)sv_opts(sv)->inode_lru_limit);
  gi_notify_down(x, GI_EVENT_PARENT_UP, NULL);
  if (x->ctx->on_listen)
    x->ctx->on_listen(x->ctx, gi_rpc_server_port(sv->rpc));
}

/* Clients go first: that answers what waits in lock queues. */
static void
sv_stop(struct server *sv)
{
  if (sv->rpc)
    gi_rpc_server_free(&sv->rpc);
  gi_notify_down(sv->x, GI_EVENT_PARENT_DOWN, NULL);
}

static bool
sv_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct server *sv = sv_of(x);
  switch (event) {
  case GI_EVENT_PARENT_UP:
    sv_start(sv);
    return true;
  case GI_EVENT_PARENT_DOWN:
    sv_stop(sv);
    return true;
  case GI_EVENT_CHILD_UP:
  case GI_EVENT_CHILD_DOWN:
    sv_child_event(sv, from, event == GI_EVENT_CHILD_UP);
    return true;
  case GI_EVENT_INVALIDATE:
    sv_invalidate(sv, data);
    return true;
  case GI_EVENT_PROMISE:
    sv_promised(sv, from, data);
    return true;
  case GI_EVENT_CONTENTION:
    sv_contend(sv, data);
    return true;
  default:
    return false;
  }
}

/* ---- life ---- */

static int
sv_reconfigure_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  const struct sv_options *o = values;
  return gi_tls_prepare(&sv_of(x)->tls, o->ssl ? "server.ssl" : NULL, &o->tls, x->ctx->secure_access, err);
}

static void
sv_apply_options(struct server *sv)
{
  const struct sv_options *o = sv_opts(sv);
  gi_rpc_server_set_inflight_max(sv->rpc, o->inflight_bytes);
  gi_rpc_server_set_total_max(sv->rpc, o->inflight_total);
  gi_rpc_server_set_outstanding_max(sv->rpc, (unsigned)o->outstanding);
  gi_rpc_server_require_privileged(sv->rpc, !o->allow_insecure);
  gi_rpc_server_set_tls(sv->rpc, sv->tls.now, o->ssl_optional);
}

static int
sv_init(struct gi_xlator *x, struct gi_error *err)
{
  if (x->nchildren > SV_BRICKS_MAX)
    return gi_error_set(err, EINVAL, "a server offers at most %d bricks", SV_BRICKS_MAX);
  struct server *sv = gi_new(struct server);
  sv->x = x;
  gi_list_init(&sv->clients);
  gi_list_init(&sv->rules);
  sv->magic = SV_MAGIC;
  x->private = sv;
  sv->rpc = gi_rpc_server_new(x->reactor, x->name, &sv_rpc_ops, sv);
  gi_rpc_server_add_program(sv->rpc, &sv_fop_program);
  gi_rpc_server_add_program(sv->rpc, &sv_handshake_program);
  gi_rpc_server_set_limits(sv->rpc, &sv_limits);
  if (sv_reconfigure_prepare(x, x->options, err) < 0 || sv_listen(sv, err) < 0) {
    gi_tls_abort(&sv->tls);
    gi_rpc_server_free(&sv->rpc);
    x->private = NULL;
    gi_free(sv);
    return -1;
  }
  gi_tls_commit(&sv->tls);
  sv_apply_options(sv);
  sv->groups = sv_groups_new(x->reactor);
  sv_auth_load(sv);
  x->metrics = &sv->metrics;
  return 0;
}

static void
sv_finish(struct gi_xlator *x)
{
  struct server *sv = sv_of(x);
  gi_rpc_server_free(&sv->rpc);
  GI_ASSERT(gi_list_empty(&sv->clients));
  GI_ASSERT(sv->metrics.clients == 0 && sv->metrics.peers == 0 && sv->metrics.open_fds == 0);
  sv_auth_free(sv);
  gi_tls_clear(&sv->tls);
  sv_groups_free(&sv->groups);
  x->private = x->metrics = NULL;
  sv->magic = 0;
  gi_free(sv);
}

static void
sv_reconfigure_abort(struct gi_xlator *x, const void *values)
{
  gi_tls_abort(&sv_of(x)->tls);
}

static void
sv_reconfigure_commit(struct gi_xlator *x)
{
  struct server *sv = sv_of(x);
  gi_inode_set_lru_limit(x->graph, (uint32_t)sv_opts(sv)->inode_lru_limit);
  sv_groups_flush(sv->groups);
  gi_tls_commit(&sv->tls);
  sv_auth_load(sv);
  if (!sv->rpc)
    return;
  sv_apply_options(sv);
  gi_rpc_server_foreach_peer(sv->rpc, sv_keepalive, sv);
  sv_auth_recheck(sv);
}

/* ---- statedump ---- */

static void
sv_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  struct server *sv = sv_of(x);
  unsigned n = 0;
  gi_dump_section(d, "xlator.protocol.server.priv");
  gi_dump_kv(d, "port", "%d", sv->rpc ? gi_rpc_server_port(sv->rpc) : 0);
  gi_list_foreach(c, &sv->clients, struct sv_client, link) {
    gi_dump_section(d, "conn.%u", ++n);
    gi_dump_kv(d, "id", "%s", c->uid);
    gi_dump_kv(d, "address", "%s", c->address);
    gi_dump_kv(d, "bytesread", "%llu", (unsigned long long)c->bytes_in);
    gi_dump_kv(d, "byteswrite", "%llu", (unsigned long long)c->bytes_out);
    gi_dump_kv(d, "opversion", "%lld", (long long)c->opversion);
    gi_dump_kv(d, "name", "%s", c->process_name);
    gi_dump_kv(d, "version", "%s%s", c->version, c->ours ? " (glusterish)" : "");
    gi_dump_kv(d, "bound_xl", "%s", c->bound->name);
    gi_dump_kv(d, "fdtable.open", "%u", c->fd_used);
    gi_dump_kv(d, "fops-done", "%llu", (unsigned long long)c->fops_done);
    gi_dump_kv(d, "fops-under-way", "%u", c->refs - 1);
  }
}

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "protocol/server",
    .version = GI_VERSION,
    .summary = "Offers bricks to clients over the network.",
    .messages = GI_MSG_SERVER,
    .min_children = 1,
    .max_children = SV_BRICKS_MAX,
    .options = sv_option_table,
    .options_bytes = sizeof(struct sv_options),
    .metrics = sv_metric_table,
    .fop_bytes = sizeof(struct sv_fop),
    .on = {[GI_FOP_WRITE] = sv_behind_first, [GI_FOP_OPEN] = sv_behind_first},
    .complete = sv_behind_next,
    .init = sv_init,
    .finish = sv_finish,
    .reconfigure_prepare = sv_reconfigure_prepare,
    .reconfigure_commit = sv_reconfigure_commit,
    .reconfigure_abort = sv_reconfigure_abort,
    .notify = sv_notify,
    .statedump = sv_statedump,
    .ask = sv_ask,
    .manage = sv_manage,
};
