/* SPDX-License-Identifier: Apache-2.0
 *
 * Several nodes as one: who they are, how they speak to each other, and how
 * every one of them comes to the same definitions.
 *
 *   node.c             the other nodes: list, files, names, answers to them
 *   link.c             connections to them, and questions over these
 *   credential.c       how one node proves to another that it belongs to the pool
 *   node-key.c         what is for one node alone
 *   secret.c           the pool's secret: how others are told, and get another one
 *   encryption.c       the pool's credentials of TLS on their way to all nodes
 *   node-services.c    what a node answers to others
 *   etcd-proc.c        the process of the store on this node
 *   store-cert.c       by what its members know each other
 *   store-trust.c      they go over to another secret
 *   members.c          which nodes are members of the store
 *   key-store-etcd.c   the store (key-store.h), http.c below it
 *   site.c             an etcd of the site's own as the store
 *   follow.c           the store's definitions become this node's
 *   newer.c            what a newer version stored stays as it is
 *   commit.c           this node's change becomes the store's
 *   quorum.c           bricks stop where too few nodes are seen
 *   replace.c          one node takes the place of another
 *   gather.c           one command on all nodes
 *   pool.c             a pool begins, is found again, and ends
 *   ops/pool.c         peer probe: a node comes
 *   ops/peer.c         peer status, peer detach, pool token, pool join
 *   ops/replace.c      node replace, node status
 *   ops/brick-order.c  what is done to bricks on whatever node
 *
 * A node is a uuid with addresses. What the store says counts; each node keeps
 * the last of it in files and serves from them, whatever becomes of the store.
 */
#ifndef GD_POOL_H
#define GD_POOL_H

#include "programs/glusterishd/pool/key-store.h"
#include "programs/glusterishd/ops/op.h"

#include <pwd.h>
#include <sys/socket.h>

#define GD_SECRET_BYTES 32
#define GD_MAC_TEXT 65  /* in hexadecimal digits, with its end */
#define GD_NODES_MAX 64 /* of one pool */
#define GD_HOSTS_MAX 16 /* of one node */
#define GD_SEEN_MAX 4   /* addresses where it was seen */
#define GD_VOTERS_MAX 5
#define GD_PREFIX "glusterish/" /* of all keys */
#define GD_TRUSTS_MAX 8         /* secrets that a member of the store goes by at a time */
#define GD_STORE_PORT_OFFSET 2  /* members of the store speak to each other on the management port and this */

struct gd_http;
struct gd_link; /* link.c */
struct gd_call;
struct gd_etcd;     /* etcd-proc.c */
struct gd_follow;   /* follow.c */
struct gd_replace;  /* replace.h */
struct gd_trusting; /* store-trust.c */

/* A secret by which members of the store know each other. */
struct gd_trust {
  unsigned generation;
  uint8_t secret[GD_SECRET_BYTES];
};

struct gd_node {
  struct gi_list link; /* gd_pool.nodes */
  struct gd *gd;
  struct gi_gfid id;
  unsigned nhosts;
  char **hosts; /* the first is how it is called */
  int port;
  char key[GD_KEY_TEXT]; /* with which is sealed what it alone may read; empty: it has told none */
  char store[64];        /* where its member of the store is to be found, in numbers; empty: where it is */
  unsigned nseen;
  char **seen; /* addresses in numbers where it has proved itself lately */
  struct gd_link *connection;
  json_t *ports;       /* of its bricks, by path, as it told last; NULL: it has told none */
  char version[64];    /* that it said it runs, and its operating version */
  unsigned op_version; /* 0: it has said nothing yet */
};

struct gd_pool {
  struct gd *gd;
  struct gi_gfid id;
  uint8_t secret[GD_SECRET_BYTES];
  unsigned generation;                   /* of the secret */
  char *secret_doc;                      /* it came with; NULL: it is the first one, or this node was invited without */
  struct gd_trust trusts[GD_TRUSTS_MAX]; /* by whom this node's member of the store knows others */
  unsigned ntrusts, shown;               /* the generation by which others know it */
  struct gd_trusting *trusting;          /* other members are asked how far they are; NULL: not now */
  unsigned trust_waits;                  /* ticks, for others */
  uint64_t changed;                      /* gi_now: of the secret; 0: not since this daemon began */
  struct gi_list nodes;                  /* the others, by uuid */
  unsigned nhosts;
  char **hosts;      /* this node's addresses as the others know them */
  char *address;     /* one of them, in numbers: members of the store find each other there */
  char store[64];    /* where its member of the store is to be, in numbers; empty: where it is */
  char *initial;     /* this node's etcd begins with these members ("NAME=URL,…"); NULL: it has none */
  bool initial_new;  /* and the store with it */
  bool joined;       /* it has, so it has data */
  bool unfilled;     /* it began with this node, and what this one knows may not be in it yet */
  gd_key_fn *filled; /* hears how filling it has gone */
  void *filled_arg;
  bool lost;       /* its data went, and its old id is to be removed */
  unsigned epoch;  /* counted up when a store is made anew from one node's files: who was away then has an old one */
  unsigned waited; /* ticks, for the node of a member that nobody knows */
  struct gd_key_store *kv;
  struct gd_http *http; /* to this node's store, for other nodes */
  struct gd_etcd *etcd; /* NULL: none runs here */
  struct gd_follow *follow;
  struct gd_replace *replace;
  json_t *newer;           /* newer.c: {"KEY": "TEXT"}; NULL: nothing */
  uint64_t began;          /* gi_now: this daemon with this pool */
  struct gi_timer balance; /* members become voters */
  struct gi_defer leave;   /* soon this node is alone */
  struct gi_timer later;   /* as soon as no command is under way */
  unsigned looked;         /* so often whether one is */
  bool dissolve;           /* the volumes stay */
  bool resumed;            /* the daemon has begun, and has not read yet who is in the pool */
  bool deserted;           /* it is left for that: nobody else was */
};

/* ---- node.c ---- */

struct gd_node *gd_node_at(const struct gd *gd, unsigned i); /* NULL: there are no more */
struct gd_node *gd_node_find(const struct gd *gd, const struct gi_gfid *id);
struct gd_node *gd_node_of_host(const struct gd *gd, const char *host); /* by one of its addresses */
bool gd_nodes_full(const struct gd *gd);                                /* no other one may come */
/* {"uuid", "hosts", "port"}: a node that was not known is added, one that was gets these addresses. NULL: it is no node, this one, or
 * one too many. */
struct gd_node *gd_node_learn(struct gd *gd, const json_t *doc);
void gd_node_hear(struct gd *gd, const struct gi_gfid *id, const json_t *greeting); /* which version it runs */
/* It has proved itself at the other end of that connection. */
void gd_node_saw(struct gd *gd, const struct gi_gfid *id, const struct gi_conn *c);
struct gd_node *gd_node_seen_at(const struct gd *gd, const char *address); /* which node is there, or was lately? In numbers */
bool gd_node_is_at(const struct gd *gd, const char *address);              /* is one? */
json_t *gd_node_doc(const struct gd_node *n);
json_t *gd_node_own_doc(struct gd *gd);
void gd_node_forget(struct gd_node *n); /* its file goes too */
void gd_nodes_load(struct gd *gd);      /* peers/UUID */
void gd_nodes_let_go(struct gd_pool *p);
void gd_hosts_add(char ***hosts, unsigned *n, const char *host); /* unless it is there */
void gd_hosts_free(char ***hosts, unsigned *n);
bool gd_is_number(const char *text); /* is it an address in numbers? NULL is none */
bool gd_is_host(const char *text);   /* could it be a name or an address? NULL could not */
/* {"hosts"}, each once. False: there is none, or one is no host. */
bool gd_hosts_read(const json_t *doc, char ***hosts, unsigned *n);
/* This node (*n NULL) or another one of the pool? False: neither. Never blocks: a name that was not looked up lately is nobody's. */
bool gd_node_named(const struct gd *gd, const char *host, struct gd_node **n);
bool gd_node_has(const struct gd *gd, const struct gd_node *n, const struct gd_brick *b); /* n NULL: this node */
const char *gd_node_host(const struct gd *gd, const struct gi_gfid *id); /* how it is called; "localhost" for this one */

int gd_pool_save(struct gd *gd, struct gi_error *err); /* this node's file of the pool */
/* Answers another node; consumes `reply`. */
void gd_node_answer(struct gi_rpc_request *req, json_t *reply);
json_t *gd_node_refusal(int code, const char *text);

/* ---- link.c ---- */

/* code: 0; ENOTCONN, ETIMEDOUT; EACCES: it does not take us for a node. `reply` is lent; it may have "error" and "code". */
typedef void gd_call_fn(void *arg, int code, const json_t *reply);

/* A connection that is kept up. To a node of the pool: that node must answer, and each side proves that it belongs to the pool. `node`
 * NULL: `up` is called with what the other says of itself, or with NULL when it cannot be reached, once. */
struct gd_link *gd_link_new(struct gd *gd, const struct gi_gfid *node, void (*up)(void *arg, const json_t *greeting),
                            void *arg);
void gd_link_connect(struct gd_link *l, char *const *hosts, unsigned n, int port); /* each in turn */
void gd_link_free(struct gd_link **l); /* calls under way are answered with ENOTCONN; not from inside their answers */
bool gd_link_ready(const struct gd_link *l);
bool gd_link_encrypted(const struct gd_link *l); /* and it is one in TLS */
void gd_link_tidy(
    struct gd_link *l); /* one that is plain is made again where credentials have come, or are demanded; NULL is fine */
void gd_link_prove_again(struct gd_link *l); /* every second: where the pool has another secret by now; NULL is fine */
void gd_link_renew(struct gd_link *l, const char *why); /* one that is ready is made again, and proved again; NULL is fine */
void gd_link_ping(struct gd_link *l); /* whoever is there but answers nothing is disconnected after some seconds */
bool gd_link_own_address(const struct gd_link *l, char *buf, size_t size); /* of this end, in numbers */
bool gd_link_its_address(const struct gd_link *l, char *buf, size_t size);
bool gd_address_text(const struct sockaddr_storage *sa, char *buf, size_t size);
/* Consumes `request`. fn is called once, never from inside. */
struct gd_call *gd_link_call(struct gd_link *l, uint32_t proc, json_t *request, unsigned timeout_ms, gd_call_fn *fn, void *arg);
void gd_call_cancel(struct gd_call **c); /* nobody is called; NULL is fine */

bool gd_node_connected(const struct gd_node *n);
struct gd_call *gd_node_call(struct gd_node *n, json_t *request, unsigned timeout_ms, gd_call_fn *fn, void *arg);

/* ---- ports.c ---- */

/* The nodes, or one of them, are told where this node's bricks serve, so that clients find these while this daemon does not answer. */
void gd_ports_tell(struct gd *gd, struct gd_node *to);
json_t *gd_ports_own(const struct gd *gd); /* of this node's bricks that serve, by path; the caller's */
void gd_ports_told(struct gd *gd, struct gi_rpc_request *req, const json_t *in); /* by a node; is answered */
void gd_ports_take(struct gd_node *n, json_t *ports); /* what it told: an object of numbers, or nothing that counts */
int gd_ports_get(const struct gd *gd,
                 const struct gd_brick *b); /* of a brick of this node, or as its node told last; 0: not known */

/* ---- node-services.c ---- */

enum {
  GD_NODE_GREET = 1,
  GD_NODE_PROVE,
  GD_NODE_CALL,
  GD_NODE_INVITE,
  GD_NODE_JOIN,
  GD_NODE_ENCRYPTION,
  GD_NODE_SECRET,
  GD_NODE_PROCS
};
extern const struct gi_rpc_program gd_node_program;

/* ---- node-key.c ---- */

/* The public half of this node's key pair, which is made when it is asked for the first time. Borrowed. */
const char *gd_node_key(struct gd *gd);
bool gd_is_node_key(const char *text); /* could it be one? NULL could not */
/* The text for the node with that public half alone; NULL: it is none. And what was sealed for this node; NULL: it was for another one, or
 * was changed. The caller frees both. */
char *gd_seal_for(struct gi_reactor *r, const char *key, const char *text);
char *gd_unseal_own(struct gd *gd, const char *sealed);

/* ---- secret.c ---- */

#define GD_SECRET_KEY GD_PREFIX "secret" /* in the store */
#define GD_PAST_MAX 16 /* earlier secrets that are remembered: so often nodes may leave while another one is away */

/* Hides the secret in an invitation from everybody but the node with that key; false: it is none, and the secret is gone. And shows it
 * again, if this is that node. */
GI_MUST_CHECK bool gd_secret_seal(struct gd *gd, json_t *invitation, const char *key);
GI_MUST_CHECK bool gd_secret_open(struct gd *gd, json_t *invitation);

void gd_secret_begin(struct gd_pool *p); /* the first one of a pool */
/* What the file of the pool and (beside the secret itself) an invitation have of it. */
void gd_secret_write(const struct gd_pool *p, FILE *f);
void gd_secret_read(struct gd_pool *p, const struct gd_kvs *kvs); /* after the secret itself */
json_t *gd_secret_more(const struct gd_pool *p);
void gd_secret_take_more(struct gd_pool *p, const json_t *more); /* NULL: of a version before */

/* A node that stays when that one leaves, and cannot be told another secret; NULL: all can. */
const struct gd_node *gd_secret_deaf(const struct gd *gd, const struct gi_gfid *leaves);
/* The next secret, and its document for all who stay; the caller frees it. */
char *gd_secret_next(struct gd *gd, const struct gi_gfid *leaves, uint8_t secret[GD_SECRET_BYTES]);
unsigned gd_secret_generation(const char *text); /* of a document; 0: it is none */
/* The document comes into force here, if it is a later one. False: it has nothing for this node. */
bool gd_secret_take(struct gd *gd, const char *text);
/* The latest first; how many there are. */
unsigned gd_secrets_past(const struct gd *gd, uint8_t past[GD_PAST_MAX][GD_SECRET_BYTES]);

/* GD_NODE_SECRET: what a node asks that was away, what it is answered, and that it takes it; false: it did not. */
json_t *gd_secret_question(struct gd *gd, const char *challenge, const char *nonce);
void gd_secret_asked(struct gd *gd, struct gi_rpc_request *req, const char *challenge, const json_t *in);
bool gd_secret_hear(struct gd *gd, const char *challenge, const char *nonce, const json_t *reply);

/* This node's member of the store goes by the secret there is now. */
void gd_secret_trust_own(struct gd_pool *p);
/* Which generations it goes by, for a node that becomes a member beside it; and taking that there. NULL: of a version before. */
json_t *gd_secret_trusted(const struct gd_pool *p);
void gd_secret_trust(struct gd_pool *p, const json_t *trusted);
/* By which this node's member of the store shows who it is. */
const struct gd_trust *gd_secret_shown(const struct gd_pool *p);

/* ---- login.c ---- */

char *gd_login_next(const struct gd_volume *v); /* its definition with another user name and password; the caller frees it */
void gd_login_take(struct gd_volume *v, const struct gd_volume *d); /* those of `d` come into force, if they are others */

/* ---- encryption.c ---- */

#define GD_ENCRYPTION_KEY GD_PREFIX "encryption" /* in the store */
/* The document of authority.h as the store has it, sealed with that secret of the pool; the caller frees it. */
char *gd_encryption_write(struct gd *gd, const uint8_t secret[GD_SECRET_BYTES], const json_t *doc);
void gd_encryption_take(struct gd *gd, const char *text); /* it comes into force here */
char *gd_encryption_own(struct gd *gd);                   /* that of this node; NULL: it has none. The caller frees it */
/* The same when the certificates of that node count again; NULL: nothing is to be changed. */
char *gd_encryption_with(struct gd *gd, const struct gi_gfid *node);
/* And when it has left, into *text, the caller's; NULL: there are no credentials. With the secret that it is not told there is another
 * authority, too, as it has the key of this one; without (NULL) its certificates count no more, and that is all. */
GI_MUST_CHECK int gd_encryption_without(struct gd *gd, const struct gi_gfid *node, const uint8_t *next, char **text,
                                        struct gi_error *err);

/* ---- etcd-proc.c ---- */

struct gd_etcd *gd_etcd_start(struct gd_pool *p);
bool gd_etcd_lost_data(const struct gd_pool *p); /* this node was a member, and has nothing of it */
void gd_etcd_let_go(struct gd_etcd **e);         /* the process goes on */
void gd_etcd_stop(struct gd_etcd **e);           /* it ends, and its data go */
void gd_etcd_renew(struct gd_etcd *e,
                   bool restart);      /* it goes by gd_pool.trusts and shown from now on; restart: the former changed */
void gd_etcd_sweep(struct gd_pool *p); /* what an earlier pool left, when the daemon died while it ended */
const char *gd_etcd_socket(const struct gd *gd);   /* NULL: none runs here */
bool gd_etcd_is_plain(const struct gd_pool *p);    /* other members come without encryption */
bool gd_etcd_can_encrypt(const struct gd_etcd *e); /* the process that runs can, with those who want it */
/* Where other members find it, encrypted unless those that there are (NULL: none) speak plain; caller frees. */
char *gd_etcd_url(const json_t *members, const char *host, int port);

/* ---- store-cert.c ---- */

#define GD_STORE_TRUST "ca.pem"
#define GD_STORE_CERT "peer.pem"
/* Makes both files in the directory: whom members of this pool's store trust, and a new certificate with its key for this node, which
 * is found at `address`, of the authority of `shown`. They are `owner`'s; NULL: this process's. */
int gd_store_cert(const struct gd_trust *trusts, unsigned ntrusts, const struct gd_trust *shown, const char *node,
                  const char *address, const char *dir, const struct passwd *owner, struct gi_error *err);

/* ---- store-trust.c ---- */

void gd_trust_look(struct gd_pool *p, const json_t *members); /* every second, on a node that has a member */

/* ---- quorum.c ---- */

/* The daemon begins, and its pool is not loaded yet: bricks that want a quorum are not started before there is one. */
void gd_quorum_begin(struct gd *gd);
void gd_quorum_look(struct gd_pool *p); /* every second */
void gd_quorum_end(struct gd *gd);      /* the node is alone, which is enough */

/* ---- members.c ---- */

void gd_members_tick(void *pool); /* of its timer */
/* "NAME=URL,…" of all members for the one at `url`, which is the node; *id is its ID there. Caller frees both. */
char *gd_members_text(const json_t *members, const char *url, const struct gi_gfid *node, char **id);
/* The host of a member's URL; NULL: it has none. The caller frees it. */
char *gd_member_host(const json_t *member);
const json_t *gd_member_of(const json_t *members, const struct gi_gfid *node); /* NULL: it is none */
void gd_members_encrypt_own(struct gd_pool *p); /* other members come encrypted from now on, as the store knows by now */
void gd_members_move_own(struct gd_pool *p);    /* this node's is found at gd_pool.store from now on */
void gd_members_drop_own(struct gd_pool *p);    /* this node is no member any more */
/* In `buf`: by which address another node sees this one, if that by which members of the store find it is none of this machine, and was not
 * ordered (gd_pool.store); or NULL. */
const char *gd_members_new_address(const struct gd_pool *p, char *buf, size_t size);

/* ---- follow.c ---- */

struct gd_follow *gd_follow_new(struct gd_pool *p);
void gd_follow_free(struct gd_follow **f);
/* Reads the store and takes what is new; fn (may be NULL) hears how it went. */
void gd_follow_refresh(struct gd_follow *f, void (*fn)(void *arg, const struct gi_error *err), void *arg);
void gd_follow_settle(struct gd *gd, struct gi_rpc_request *req, const json_t *in); /* the call "settle" */
int64_t gd_follow_options_revision(const struct gd *gd);
void gd_follow_anew(struct gd_follow *f); /* the store is another one: its revisions begin anew */

/* ---- newer.c ---- */

void gd_newer_load(struct gd_pool *p);                                /* the nodes and volumes of the files are there */
void gd_newer_take(struct gd_pool *p, const struct gd_key_answer *a); /* after all else of it */
const char *gd_newer_of(const struct gd_pool *p, const char *key);    /* that value, lent; NULL: all of it is known */
void gd_newer_let_go(struct gd_pool *p);
void gd_newer_forget(struct gd_pool *p); /* its file goes, too */
/* Puts whatever of it is not among the first n already; `puts` has room for gd_newer_count more. Returns how many there are then. */
unsigned gd_newer_put(const struct gd_pool *p, struct gd_key_put *puts, unsigned n);
unsigned gd_newer_count(const struct gd_pool *p);

/* ---- pool.c ---- */

int gd_pool_load(struct gd *gd, struct gi_error *err); /* after gd_store_load */
bool gd_pool_is_stored(const struct gd *gd);           /* there will be one when it is loaded */
void gd_pool_let_go(struct gd *gd);                    /* the daemon ends */
/* Soon this node is alone again, without volumes of the pool. */
void gd_pool_leave(struct gd *gd);
/* The last one turns the pool's store into its files again. */
void gd_pool_dissolve(struct gd *gd);
/* A pool of this node alone, its volumes not stored yet. `host`: its address. */
int gd_pool_begin(struct gd *gd, const char *host, struct gi_error *err);
/* What a node of another pool, or of none, is told to become one of this; and taking that. */
json_t *gd_pool_invitation(struct gd *gd, const char *initial);
int gd_pool_accept(struct gd *gd, const json_t *invitation, struct gi_error *err);
/* The same for a node that lost its files: it is the one of the invitation's "uuid" again. */
int gd_pool_return(struct gd *gd, const json_t *invitation, struct gi_error *err);
void gd_pool_hear_epoch(struct gd *gd, long long epoch); /* of another node */
/* The store is begun anew, with this node as its only member. Nothing is in it yet. */
int gd_pool_renew(struct gd *gd, struct gi_error *err);
/* What this node knows goes into a store that has nothing; code ESTALE: it has something. In one of the site's it takes the place of what a
 * pool of this node left; code EEXIST: another pool has something there. */
void gd_pool_fill(struct gd *gd, gd_key_fn *fn, void *arg);
void gd_pool_has_read(struct gd_pool *p);    /* the store has what it is to have */
bool gd_pool_is_virgin(const struct gd *gd); /* it may become part of a pool */

/* ---- ops/upgrade.c ---- */

unsigned gd_pool_level(const struct gd *gd); /* the operating version of the pool */

/* ---- ops/peer.c ---- */

void gd_pool_join_asked(struct gd *gd, struct gi_rpc_request *req, const json_t *in); /* GD_NODE_JOIN */

/* ---- commit.c ---- */

/* Other keys, under the lock that the op has; and if all of `ifs` is as it says. */
void gd_commit_keys(struct gd_op *op, const struct gd_key_put *puts, unsigned n, gd_committed_fn *fn);
void gd_commit_keys_if(struct gd_op *op, const struct gd_key_if *ifs, unsigned nifs, const struct gd_key_put *puts, unsigned n,
                       gd_committed_fn *fn);

/* ---- gather.c ---- */

/* The call "run": a command that another node gathers. */
void gd_gather_asked(struct gd *gd, struct gi_rpc_request *req, const json_t *in);

#endif
