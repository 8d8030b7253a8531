/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/client: what its files share. client.c has the table and the life
 * of the translator, client-handshake.c the way to a usable connection,
 * client-fops.c the operations, client-fds.c the handles, client-locks.c the
 * POSIX locks, client-give-back.c what goes with the next message, client-under-way.c
 * what the brick does with what it has not answered,
 * client-events.c what a brick tells by itself.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "rpc/fop-codec.h"
#include "rpc/rpc-client.h"

#define GI_MSG_CLIENT 102000 /* base of message ids */

#define CL_CONNECTIONS_MAX 16
#define CL_OPEN_FLAGS 0xfffffu /* the bits that exist on the wire (wire.md 3.8) */
#define CL_RETAKE_S 1          /* a lock that somebody else has got is asked for again */
#define CL_PING_OWN_S 5        /* a brick of ours answers pings on its reactor, so silence means trouble soon */

struct cl_options {
  char *remote_host;
  int64_t remote_port;
  int64_t management_port;
  char *remote_subvolume;
  char *subdir_mount;
  char *username, *password;
  uint64_t ping_timeout, frame_timeout;
  bool send_gids, strict_locks, filter_o_direct;
  int64_t connections;
  uint64_t inflight_bytes;
  int64_t busy_poll_us;
  /* Accepted from volfiles; the transport takes what it understands. */
  int64_t event_threads, keepalive_count, keepalive_interval, keepalive_time, ta_port, tcp_user_timeout;
  uint64_t tcp_window;
  bool bind_insecure, own_thread, ssl;
  struct gi_tls_config tls;
  char *transport_type;
  int address_family;
};
extern const struct gi_option cl_option_table[];

enum cl_fd_state {
  CL_FD_NONE, /* not open on this brick: operations use the anonymous handle */
  CL_FD_OPEN, /* `handle` is good on the present connection */
  CL_FD_LOST, /* was open; the connection went, the re-open is due */
  CL_FD_BAD,  /* could not be opened again, or its locks are gone under strict-locks */
};

/* our bytes in a gi_fd */
struct cl_fd {
  struct gi_list link; /* client.fds, unless CL_FD_NONE */
  struct gi_fd *fd;
  int64_t handle;
  enum cl_fd_state state;
  uint32_t nlocks, nmissing; /* posix locks taken through it; those of them that are not held on this brick */
  uint32_t taking;           /* of them: asked for, not answered */
  bool broken;               /* one of them was dropped, and somebody else may have had it since */
  bool refused;              /* what is missing is not just away with the connection */
  enum gi_locks_state told;  /* to the layer above */
};

/* our bytes in a gi_inode */
struct cl_inode {
  struct gi_list locks, before; /* client-locks.c; not initialised before the first */
};

struct client;

/* our bytes in a gi_fop */
struct cl_fop {
  struct gi_fop *fop;
  struct client *c;
  uint64_t start; /* gi_now when sent */
  uint32_t xid;   /* of the call */
  bool gave_up;   /* answered EINTR already; a grant that still comes is undone */
  bool waits;     /* GI_EVENT_WAITS was told */
};

struct cl_conn {
  struct client *c;
  unsigned index;
  struct gi_rpc_client *rpc;
  bool proved; /* the key of this client, since it is up: a brick that asks once more is not satisfied */
};

enum cl_state {
  CL_IDLE,    /* before PARENT_UP, after PARENT_DOWN */
  CL_WAIT,    /* for the next attempt */
  CL_PORTMAP, /* asking the management daemon for the port */
  CL_GREET,   /* first connection: DUMP, SETVOLUME */
  CL_JOIN,    /* further connections: SETVOLUME under the same identity */
  CL_REOPEN,  /* opening again what was open before */
  CL_READY,
};

struct cl_metrics {
  uint64_t calls, replies, failed_calls, connects, disconnects, reopened_fds, bad_fds, late_grants_undone, retaken_locks,
      lost_locks, acknowledged;
  /* by cl_measure */
  uint64_t connected, connections, round_trip, open_fds, pings, ping_timeouts, call_timeouts, budget_waits, inflight_calls,
      inflight_bytes;
};

#define CL_MAGIC 0xc11e0000u

struct client {
  uint32_t magic;
  struct gi_xlator *x;
  struct gi_tls_pair tls;     /* of connections to the brick */
  struct gi_rpc_client *mgmt; /* asks the port; its backoff paces every attempt */
  struct cl_conn conn[CL_CONNECTIONS_MAX];
  unsigned nconns;
  enum cl_state state;
  bool usable; /* state is CL_READY, and the brick did not say its storage is down */
  bool told;   /* parents know whether we are up */
  bool told_up;
  uint64_t greeted, round_trip; /* ns: when DUMP was sent; how long the last answer to it, or to a ping, took */
  uint32_t attempt;             /* RECON_NO: attempts that reached SETVOLUME */
  uint32_t generation;          /* of the connections: replies of an older one mean nothing */
  int port;                     /* of the brick, this generation */
  int last_port;                /* where it served last; 0: nowhere yet */
  unsigned joining;             /* SETVOLUMEs outstanding in CL_JOIN */
  unsigned reopening;           /* re-opens and locks outstanding in CL_REOPEN */
  bool peer_is_ours;
  char peer_version[64];
  char capabilities[256];
  struct gi_promised promise; /* by what the brick said (promise.h) */
  char volume_id[GI_UUID_TEXT];
  char identity[1024];
  char *brick;                /* "host:subvolume": what operations wait for */
  bool asks_home;             /* CL_PORTMAP: the daemon of the brick's host does not answer, so another one is asked */
  unsigned late;              /* times, since the brick was ready last */
  struct gi_timer port_timer; /* … when it has not answered until then */
  struct gi_list fds;         /* struct cl_fd */
  struct gi_timer retake;
  struct cl_metrics metrics;
  uint64_t sent[GI_FOP_MAX];    /* messages by kind */
  struct gi_xdr_out given_back; /* goes with the next message */
  bool gives_lock;              /* among that is one, or counters */
  struct gi_timer give_back_timer;
  bool asked_under_way; /* what the brick does, and it has not answered */
  uint64_t hurry_until; /* others wait for locks: what is given back goes at once; 0: nobody does */
};

/* The credential of calls nobody in particular makes (wire.md 1.5). */
extern const struct gi_caller cl_nobody;

static inline struct client *
cl_of(const struct gi_xlator *x)
{
  struct client *c = x->private;
  GI_CHECK(c, CL_MAGIC);
  return c;
}

/* client.c */
const struct cl_options *cl_opts(const struct client *c);
void cl_rpc_config(const struct client *c, struct gi_rpc_client_config *cfg);
void cl_apply_config(struct client *c);
void cl_round_trip(struct client *c, uint64_t ns); /* it was measured: parents are told */
void cl_tell_parents(struct client *c);            /* CHILD_UP or CHILD_DOWN if it is news */

/* client-handshake.c */
void cl_assert(const struct client *c);          /* asserts what always holds between two events */
void cl_connect(struct client *c);               /* from CL_IDLE */
void cl_lost(struct client *c, const char *why); /* any state: give the connections up and try again later */
void cl_introduce_again(struct client *c);       /* the options have another name or password; client-handshake.c */
void cl_port_late(void *arg);                    /* the daemon that was asked for the port has not answered */
void cl_move(struct client *c);                  /* the options name another brick: leave this one, descriptors are bad */
void cl_hurry(struct client *c); /* the brick may be there now: what waits for the next attempt waits no longer */
void cl_shut(struct client *c);  /* to CL_IDLE; outstanding calls are answered */
extern const struct gi_rpc_client_ops cl_mgmt_ops, cl_conn_ops;

/* client-fops.c */
struct gi_caller cl_credentials(const struct client *c, const struct gi_fop *fop); /* as they are on the wire */
gi_fop_fn cl_submit;
void cl_cancel(struct client *c, struct gi_fop *fop);

/* client-fds.c */
/* The number to send for `fd` in an operation of `kind`; 0, or the errno to answer. */
int cl_handle(struct client *c, enum gi_fop_kind kind, struct gi_fd *fd, int64_t *handle);
void cl_fd_opened(struct client *c, struct gi_fd *fd, int64_t handle);
void cl_fds_lost(struct client *c);
void cl_fds_spoil(struct client *c);   /* for good: the files they stand for are elsewhere */
void cl_fds_reopen(struct client *c);  /* ends in cl_reopened, perhaps before it returns */
void cl_reopen_step(struct client *c); /* one of client.reopening is done */
void cl_reopened(struct client *c);    /* client-handshake.c */
void cl_fd_bad(struct client *c, struct cl_fd *f, const char *why);
void cl_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes);
struct cl_conn *cl_conn_of(struct client *c, const struct gi_gfid *gfid);

/* RELEASE, with xdata; handle -1: of nothing. */
void cl_send_release(struct client *c, const struct gi_fd *fd, int64_t handle, struct gi_dict *xdata);

/* client-under-way.c */
/* Whether somebody asks what the brick does with the operations that it has not answered. */
bool cl_asks_under_way(const struct gi_fop *fop);
/* Puts their numbers into the question. False: there are none, the brick does not understand it, or it has not answered the last one. */
bool cl_ask_under_way(struct client *c, struct gi_fop *question);
void cl_take_under_way(struct client *c,
                       struct gi_fop *question); /* its answer has come; those it tells of show what it says */

/* client-give-back.c */
void cl_give_back_init(struct client *c);
void cl_give_back_finish(struct client *c);
/* Whether this is an unlock, counters, or a descriptor, that go with the next message: then it is done as far as the caller goes. */
bool cl_give_back_lock(struct client *c, const struct gi_fop *fop);
bool cl_give_back_counters(struct client *c, const struct gi_fop *fop);
bool cl_give_back_descriptor(struct client *c, int64_t handle);
void cl_give_back_with(struct client *c,
                       struct gi_dict *xdata); /* of the message that is about to be sent; there is something */
void cl_give_back_now(struct client *c);
void cl_give_back_hurry(struct client *c); /* others wait for it */
void cl_give_back_lost(struct client *c);  /* with its connection */

/* client-locks.c */
void cl_locks_init(struct client *c);
void cl_locks_submitted(struct client *c, const struct gi_fop *fop);     /* LK and FLUSH: asked for, sent or not */
void cl_locks_answered(struct client *c, const struct gi_fop *fop);      /* the same, when they have succeeded */
enum gi_verdict cl_locks_remember(struct client *c, struct gi_fop *fop); /* GI_LKCMD_REMEMBER */
void cl_locks_mark(struct client *c, struct gi_fop *fop); /* LK: which kind of lock it is, if the brick understands that */
/* The lock of `fop` was granted here and is not wanted: what the books had before is set again. False: nothing, so it is to be unlocked.
 * For a grant that was not noted, and for one that was. */
bool cl_locks_undo_grant(struct client *c, struct gi_fop *fop);
bool cl_locks_restore(struct client *c, struct gi_fop *fop);
void cl_locks_waited(struct client *c,
                     struct gi_fop *fop); /* …for a lock, in vain: the brick gave up what the owner had there */
void cl_locks_released(struct client *c, struct gi_fd *fd);
void cl_locks_away(struct client *c);                   /* the connection went */
void cl_locks_take(struct client *c, struct gi_fd *fd); /* those of `fd` that are missing, if it is open */

/* client-events.c */
void cl_callback(struct client *c, const struct gi_call_header *h, struct gi_xdr_in *in);
struct gi_promised cl_promise_in(const struct client *c, const struct gi_dict *d); /* what the brick promises */
void cl_promised(struct client *c); /* that, or whether it is usable, may have changed */

#endif
