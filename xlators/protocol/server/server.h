/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/server: what its files share. server.c has the table, the life and
 * the events; server-handshake.c SETVOLUME and its neighbours; server-auth.c
 * who may connect; server-hosts.c the hosts that its lists name; server-clients.c the records of clients; server-fds.c
 * their handle tables; server-resolve.c from numbers to objects;
 * server-fops.c the operations; server-preamble.c what goes before one; server-give-back.c what a client gives back with one; server-behind.c what goes behind one;
 * server-under-way.c what they wait for; server-groups.c supplementary groups;
 * server-subdir.c clients that see only a directory; server-ask.c what it tells of them; server-manage.c what the management
 * daemon asks.
 */
#ifndef SERVER_H
#define SERVER_H

#include "libglusterish/ask.h"
#include "libglusterish/graph.h"
#include "libglusterish/load.h"
#include "libglusterish/log.h"
#include "rpc/fop-codec.h"
#include "rpc/client-key.h"
#include "rpc/rpc-server.h"

#define GI_MSG_SERVER 103000 /* base of message ids */

struct sv_options {
  int64_t listen_port;
  char *bind_address;
  char *auth_path;
  char *client_keys;
  bool strict_auth, dynamic_auth, allow_insecure, root_squash, all_squash, manage_gids, single_mount, client_key;
  int64_t anonuid, anongid, gid_timeout, inode_lru_limit, outstanding, backlog;
  uint64_t inflight_bytes, inflight_total;
  char *statedump_path;
  /* Accepted from volfiles; the transport takes what it understands. */
  int64_t event_threads, keepalive_count, keepalive_interval, keepalive_time;
  uint64_t tcp_window, tcp_user_timeout;
  bool keepalive, own_thread, ssl, ssl_optional;
  struct gi_tls_config tls;
  char *transport_type;
  int address_family;
};

struct server;
struct sv_groups;
struct sv_hosts;
struct sv_host;
struct gi_place;

/* One TCP connection; the private pointer of its gi_rpc_peer. */
struct sv_peer {
  uint32_t magic;
  struct gi_list link; /* sv_client.peers, while attached */
  struct gi_rpc_peer *rpc;
  struct sv_client *client; /* NULL before SETVOLUME */
  struct gi_key_door key;
};

/* A client: the connections that presented the same process-uuid with the same credentials (wire.md 8). gi_caller.client
 * points here. Lives until its last connection is gone and its last operation done. */
struct sv_client {
  struct gi_client_id id; /* first: see gi_caller.client */
  uint32_t magic;
  struct gi_list link; /* server.clients, until gone */
  struct server *sv;
  char *uid, *address, *process_name, *version;
  uint32_t flavour, cred_len;
  uint8_t *cred;
  int64_t opversion;
  char key[GI_CLIENT_KEY_TEXT]; /* that it has proved to have; empty: none */
  bool trusted;                 /* authenticated by login: squashing exempts its internal processes */
  char *user;                   /* whose name that was; NULL: not so */
  bool ours;                    /* a glusterish client */
  bool gone;
  bool late;     /* operations were under way when it went */
  unsigned refs; /* one while connected, one per operation under way */
  struct gi_list peers;
  struct gi_xlator *bound; /* the brick it asked for */
  struct gi_gfid subdir;   /* none, or the directory it sees as root */
  char *subdir_path;       /* its path as asked for; NULL = none */
  struct gi_fd **fd;       /* handle table */
  uint32_t fd_size, fd_used, fd_lowest;
  struct gi_time since;      /* it came */
  uint64_t fops[GI_FOP_MAX]; /* begun */
  uint64_t fops_done, bytes_in, bytes_out;
};

struct sv_preamble;

/* our bytes in a gi_fop */
struct sv_fop {
  struct sv_client *client; /* referenced */
  struct gi_rpc_request *req;
  struct sv_preamble *preamble; /* what goes before it; owned */
  uint8_t sync;                 /* WRITE: enum gi_sync: the FSYNC that is to go behind it */
  bool synced;                  /* that FSYNC was sent */
  bool truncates;               /* OPEN: an FTRUNCATE is to go behind it */
};

struct sv_metrics {
  uint64_t clients, peers, open_fds, calls, failed_calls, garbage_calls, refused_handshakes, accepted_handshakes, callbacks,
      dropped_answers, inflight_calls;
};

#define SV_BRICKS_MAX 64
#define SV_MAGIC 0x5e270000u
#define SV_CLIENT_MAGIC 0x5e27c11eu
#define SV_PEER_MAGIC 0x5e279ee2u

struct server {
  uint32_t magic;
  struct gi_xlator *x;
  struct gi_rpc_server *rpc;
  struct gi_list clients;                    /* struct sv_client */
  uint64_t children_up;                      /* bit per child */
  struct gi_promised promise[SV_BRICKS_MAX]; /* of each child (promise.h) */
  struct sv_groups *groups;
  struct gi_list rules;   /* struct sv_rules, server-auth.c */
  struct sv_hosts *hosts; /* that they name; NULL before the first */
  struct gi_tls_pair tls; /* for clients */
  struct gi_load_meter load;
  struct sv_metrics metrics;
};

static inline struct server *
sv_of(const struct gi_xlator *x)
{
  struct server *sv = x->private;
  GI_CHECK(sv, SV_MAGIC);
  return sv;
}

/* server.c */
const struct sv_options *sv_opts(const struct server *sv);
bool sv_child_is_up(const struct server *sv, const struct gi_xlator *child);
void sv_put_promise(const struct server *sv, const struct gi_xlator *child, struct gi_dict *d); /* what the child promises */

/* server-handshake.c */
extern const struct gi_rpc_program sv_handshake_program;
gi_rpc_handler sv_ping; /* also of other programs: NULL, which says that somebody answers */

/* server-auth.c */
/* Builds the address rules of every brick from the options. Host names are asked for meanwhile. */
void sv_auth_load(struct server *sv);
void sv_auth_free(struct server *sv);
enum sv_admission {
  SV_REFUSED,
  SV_ADMITTED,
  SV_LATER, /* a host name decides, and nobody knows yet what it means */
};
/* Whether this introduction from `p` may attach to `brick`. *login says that user name and password decided it. */
enum sv_admission sv_auth_check(struct server *sv, struct gi_rpc_peer *p, const struct gi_xlator *brick,
                                const struct gi_dict *intro, bool *login);
/* The key that a client shows, which may be of the list although none is demanded: then it is one when that changes. */
enum gi_key_verdict sv_auth_key(struct server *sv, struct gi_rpc_peer *p, const struct gi_xlator *brick,
                                const struct gi_dict *intro);
void sv_auth_recheck(struct server *sv); /* disconnects whom the rules of now do not let in */

/* server-hosts.c */
/* `answered` is called each time the name service has told something about a name. */
struct sv_hosts *sv_hosts_new(struct gi_reactor *r, void (*answered)(void *arg), void *arg);
void sv_hosts_free(struct sv_hosts **h);
/* A host of new lists; it lives until a sv_hosts_settle before which it was not named again. */
struct sv_host *sv_hosts_name(struct sv_hosts *h, const char *name);
void sv_hosts_settle(struct sv_hosts *h); /* the lists are complete: all that they name is looked up anew */
enum sv_match { SV_MISS, SV_HIT, SV_UNKNOWN };
enum sv_match sv_host_has(const struct sv_host *host, const char *address);

/* server-clients.c */
struct sv_client *sv_client_find(struct server *sv, const char *uid, const struct gi_call_header *h);
struct sv_client *sv_client_new(struct server *sv, const char *uid, const struct gi_call_header *h, const char *address);
/* Closes the connections of earlier attempts of the same client: it has given up what it asked there, so that must not be done
 * after what it asks now. */
void sv_client_supersede(struct sv_client *c);
void sv_client_attach(struct sv_client *c, struct sv_peer *p);
void sv_client_detach(struct sv_peer *p);        /* the last one: the client is gone, its locks and handles with it */
void sv_client_check(const struct sv_client *c); /* asserts what always holds of one */
struct sv_client *sv_client_ref(struct sv_client *c);
void sv_client_unref(struct sv_client *c);
bool sv_client_known(const struct server *sv, const void *client); /* connected now */

/* server-fds.c */
/* The lowest free number, or -1 when the table is full. Takes over the caller's reference on success. */
int64_t sv_fd_store(struct sv_client *c, struct gi_fd *fd);
struct gi_fd *sv_fd_get(const struct sv_client *c, int64_t handle); /* borrowed; NULL if unknown */
void sv_fd_close(struct sv_client *c, int64_t handle);              /* unknown is fine */
void sv_fds_close_all(struct sv_client *c);

/* server-resolve.c */
/* Fills inodes and fds of a decoded request. 0, or the errno to answer. */
int sv_resolve(struct sv_client *c, struct gi_fop *fop, const struct gi_wire_fds *fds);

/* server-fops.c */
extern const struct gi_rpc_program sv_fop_program;
void sv_done(struct gi_fop *fop, void *arg); /* answers a request; arg: struct server * */
void sv_place(const struct server *sv, const struct gi_xlator *brick, struct gi_place *here); /* where its steps are */
bool sv_owner_is_null(const struct gi_owner *o);
void sv_go(struct server *sv, struct gi_fop *fop, int err); /* a request that has been read and checked; err: it is refused */

/* server-preamble.c */
struct gi_preamble_lock;
/* A fop of the client becomes one that takes a lock, or gives it back. It borrows the texts. */
void sv_set_lock(struct gi_fop *f, const struct gi_owner *owner, const char *domain, const struct gi_preamble_lock *l,
                 bool unlock);
void sv_preamble_start(struct server *sv, struct gi_fop *fop); /* then the operation itself */
void sv_preamble_end(struct gi_fop *fop, struct sv_fop *f);    /* puts the outcome into the reply */

/* server-give-back.c */
/* What came along with a message, then sv_go(fop, err) unless fop is NULL. False: nothing came, and nothing is done. */
bool sv_give_back(struct sv_client *c, struct gi_dict *xdata, struct gi_fop *fop, int err);

/* server-behind.c */
void sv_behind_asked(struct gi_fop *fop, struct sv_fop *f);               /* takes the key from a request */
enum gi_verdict sv_behind_first(struct gi_xlator *x, struct gi_fop *fop); /* what has something behind it, and its reply */
enum gi_verdict sv_behind_next(struct gi_xlator *x, struct gi_fop *fop);

static inline bool
sv_has_behind(const struct sv_fop *f)
{
  return f->sync || f->truncates;
}

/* server-under-way.c */
/* A GETXATTR that asks what operations of the client do; it is answered then. False: it is another one. */
bool sv_under_way(struct server *sv, const struct sv_client *c, struct gi_fop *fop);

/* The brick that a request is for. */
static inline struct gi_xlator *
sv_bound(const struct gi_fop *fop)
{
  return ((const struct sv_client *)fop->caller.client)->bound;
}

/* Sends it down, to the brick or by way of what follows it there. */
static inline void
sv_send(struct server *sv, struct gi_fop *fop)
{
  const struct sv_fop *f = gi_fop_private(fop, sv->x);
  gi_fop_submit(fop, sv_has_behind(f) ? sv->x : sv_bound(fop), sv_done, sv);
}

/* server-groups.c */
struct sv_groups *sv_groups_new(struct gi_reactor *r);
void sv_groups_free(struct sv_groups **g);
void sv_groups_flush(struct sv_groups *g);
/* Calls fn with the groups of `uid` (valid during the call), now or when a worker has looked them up. */
void sv_groups_get(struct sv_groups *g, uint32_t uid, uint64_t ttl_s, void (*fn)(void *arg, const uint32_t *groups, uint32_t n),
                   void *arg);

/* server-ask.c */
void sv_ask(struct gi_xlator *x, struct gi_question *q);

/* How whoever mounts calls itself: "fuse", "fuse.NAME", "gfapi.NAME". */
bool sv_is_mount(const char *process);
/* An identity begins with what names the process, through all its graphs and connections: so many bytes. */
size_t sv_process_part(const char *uid);
/* The question of a rebalance for those who have the brick mounted, which is answered here. */
bool sv_asks_for_mounts(const struct gi_fop *fop);
void sv_tell_mounts(struct server *sv, struct gi_fop *fop);

/* server-manage.c */
void sv_manage(struct gi_xlator *x, struct gi_manage *m); /* GI_MANAGE_STATUS, GI_MANAGE_CLEAR_LOCKS */

/* server-subdir.c */
/* Walks `path` from the root of `brick`; fn gets 0 and the gfid of the directory, or an errno. */
void sv_subdir_walk(struct server *sv, struct gi_xlator *brick, const char *path,
                    void (*fn)(void *arg, int err, const struct gi_gfid *gfid), void *arg);
void sv_subdir_request(const struct sv_client *c, struct gi_fop *fop); /* root -> the directory */
void sv_subdir_reply(const struct sv_client *c, struct gi_fop *fop);   /* and back */
void sv_subdir_told(const struct sv_client *c, struct gi_invalidation *inv);

#endif
