/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of a pool behind one interface: keys with values and revisions, as
 * etcd has them. One node alone needs none: its files are its store
 * (store-volume.c). Backends: etcd (key-store-etcd.c), and one in memory for tests,
 * which several daemons of one process share (key-store-memory.c).
 *
 * Every call is answered once, never from inside, within GD_KEY_LIMIT; when the
 * store is freed what was not answered is forgotten.
 */
#ifndef GD_KEY_H
#define GD_KEY_H

#include "libglusterish/reactor.h"

#include <jansson.h>

#define GD_KEY_LIMIT_MS 4000 /* of one request: a command answers within 5 s what is wrong */

struct gd;
struct gd_key_store;

struct gd_key_pair {
  char *key, *value;
  int64_t revision; /* of its last change */
  bool leased;      /* it goes with a lease */
};

/* code: 0; ETIMEDOUT: the store is there and has no majority; EHOSTUNREACH: nobody answers; ESTALE: a condition of a commit does not
 * hold; EIO: anything else, `why` says it. Lent for the call. */
struct gd_key_answer {
  int code;
  const char *why;
  int64_t revision; /* of the whole store then; of a lease: its number */
  unsigned npairs;
  const struct gd_key_pair *pairs;
  const json_t *members; /* a list of {"ID", "name", "peerURLs", "isLearner"} */
};
typedef void gd_key_fn(void *arg, const struct gd_key_answer *a);

/* The key has that revision; 0: it does not exist. */
struct gd_key_if {
  const char *key;
  int64_t revision;
};
/* value NULL: the key goes. lease 0: none. */
struct gd_key_put {
  const char *key, *value;
  int64_t lease;
};

/* What becomes of the members of the store. */
enum gd_key_member { GD_KEY_ADD_LEARNER, GD_KEY_PROMOTE, GD_KEY_REMOVE, GD_KEY_MOVE };

struct gd_key_ops {
  void (*free)(struct gd_key_store *kv);
  /* Every key that begins with `prefix`. */
  void (*read)(struct gd_key_store *kv, const char *prefix, gd_key_fn *fn, void *arg);
  /* Puts all or none, if every condition holds. */
  void (*commit)(struct gd_key_store *kv, const struct gd_key_if *ifs, unsigned nifs, const struct gd_key_put *puts,
                 unsigned nputs, gd_key_fn *fn, void *arg);
  /* `changed` is called once when a key of the prefix is changed from `revision` on, or nobody can say any more: read again then and
   * watch anew. Another watch takes the place of the one before. */
  void (*watch)(struct gd_key_store *kv, const char *prefix, int64_t revision, void (*changed)(void *arg), void *arg);
  void (*grant)(struct gd_key_store *kv, unsigned seconds, gd_key_fn *fn, void *arg);
  void (*keep)(struct gd_key_store *kv, int64_t lease);   /* nobody waits for an answer */
  void (*revoke)(struct gd_key_store *kv, int64_t lease); /* likewise: what hangs on it goes */
  void (*members)(struct gd_key_store *kv, gd_key_fn *fn, void *arg);
  /* `what`: the URL of a new one; "ID URL" of one that moves there; the ID of the others. */
  void (*member)(struct gd_key_store *kv, enum gd_key_member change, const char *what, gd_key_fn *fn, void *arg);
};

/* Every backend embeds this first. */
struct gd_key_store {
  const struct gd_key_ops *ops;
};

/* Where an etcd answers: its socket on this node (NULL: there is none), and the other nodes, which ask theirs for us. */
struct gd_key_store *gd_key_etcd_new(struct gd *gd);

#endif
