/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about what only a translator knows: who the clients of a brick
 * are, who holds a lock. Whoever observes the process asks all translators of
 * a graph at once. A translator that knows something calls the function of the
 * question once for each fact, before its `ask` returns.
 */
#ifndef GI_ASK_H
#define GI_ASK_H

#include "libglusterish/fop.h"

struct gi_graph;

enum gi_ask {
  GI_ASK_CLIENTS, /* who is connected to this brick */
  GI_ASK_LOCKS,   /* granted and waiting ones */
  GI_ASK_USERS,   /* of one object: who has it open, and who is told of its changes */
  GI_ASK_COPIES,  /* of one object: what replication thinks of its copies */
};

/* Strings of a fact are valid during the call. */
struct gi_fact_client {
  const char *uid, *address, *process, *version; /* "" where the client did not tell */
  const char *brick;                             /* the translator it asked for */
  bool ours;                                     /* a glusterish client */
  struct gi_time since;                          /* connected */
  const uint64_t *fops;                          /* GI_FOP_MAX: operations begun, by kind */
  uint64_t bytes_in, bytes_out;
  uint32_t inflight, handles; /* operations under way, open files */
  uint64_t queued;            /* bytes that it is sent and does not take */
  uint64_t behind_ns;         /* there were some for so long */
};

struct gi_fact_lock {
  struct gi_gfid gfid;
  const char *kind;   /* "posix", "inode", "entry"; "mandatory": I/O that waits for a posix lock */
  const char *domain; /* of an internal lock; else NULL */
  const char *name;   /* entry: NULL = all names */
  bool granted, write;
  uint64_t start, len; /* bytes; len 0: to the end */
  const char *client, *address;
  int32_t pid;
  const struct gi_owner *owner;
  struct gi_time since; /* granted, or waiting */
};

struct gi_fact_user {
  const char *client, *address;
  uint32_t handles, writing; /* open handles, and those of them that may write */
  bool told;                 /* it is told of changes, so it may keep what it has read; for how much longer: */
  uint64_t told_ns;
};

struct gi_fact_copy {
  const char *name; /* of the child of replication */
  bool up;
  bool known;          /* whether the next two are; else replication would ask the bricks first */
  bool data, metadata; /* this copy may be read */
  bool chosen;         /* a read would go there now */
};

struct gi_question {
  enum gi_ask what;
  const struct gi_gfid *gfid; /* LOCKS: NULL = of all objects. USERS, COPIES: never NULL */
  union {                     /* the one that `what` says */
    void (*client)(struct gi_question *q, const struct gi_fact_client *f);
    void (*lock)(struct gi_question *q, const struct gi_fact_lock *f);
    void (*user)(struct gi_question *q, const struct gi_fact_user *f);
    void (*copy)(struct gi_question *q, const struct gi_fact_copy *f);
  };
  void *arg;
  uint32_t left; /* facts that still fit; the one who answers counts it down and stops at 0 */
  bool more;     /* there were more */
};

/* Room for one more fact? Counts it; false and `more` when there is none. */
static inline bool
gi_question_room(struct gi_question *q)
{
  if (q->left == 0)
    q->more = true;
  else
    q->left--;
  return !q->more;
}

/* Asks every translator of the graph. */
void gi_graph_ask(const struct gi_graph *g, struct gi_question *q);

#endif
