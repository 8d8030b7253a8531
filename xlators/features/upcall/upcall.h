/* SPDX-License-Identifier: Apache-2.0
 *
 * features/upcall: what its files share. upcall.c is the class, upcall-table.c
 * who is told of what, upcall-news.c what an operation changes and whom it
 * concerns, upcall-care.c the extended attributes that clients care for,
 * upcall-wait.c what a strict volume waits for.
 */
#ifndef UPCALL_H
#define UPCALL_H

#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/promise.h"

#define GI_MSG_UPCALL 111000 /* base of message ids */

#define UP_REGISTRATIONS_MAX (1u << 20) /* of all clients */
#define UP_CLIENT_MAX (1u << 18)        /* of one: who asks for everything loses its own */
#define UP_RECENT 1024                  /* a power of two */
#define UP_CARE_MAX 256                 /* patterns */
#define UP_IDLE_MAX 4096 /* answers that are missing: what waits for more keeps its place among the operations served */

struct up_options {
  bool on, strict;
  int64_t timeout; /* seconds */
};

struct up_metrics {
  uint64_t registrations, files, clients; /* now */
  uint64_t registered, expired, evicted;
  uint64_t changes, told, late, waited, unanswered;
};

/* One of those who did something here, until it is gone. */
struct up_client {
  struct gi_list link; /* upcall.clients */
  struct gi_client_id *id;
  struct gi_list regs; /* struct up_reg.client_link, the one longest unused first */
  uint32_t nregs;
  uint64_t told;       /* upcall.clock of the last change it was told of */
  uint64_t slow_until; /* gi_now; it is not waited for */
};

/* An object that somebody is told of. */
struct up_file {
  struct gi_gfid gfid;
  struct up_file *next; /* of the bucket */
  struct gi_list regs;  /* struct up_reg.file_link, the one last used first; never empty */
};

/* A client is told of an object. */
struct up_reg {
  struct gi_lru_item item;
  struct gi_list file_link, client_link;
  struct up_file *file;
  struct up_client *client;
  uint64_t until; /* gi_now */
};

#define UP_MAGIC 0x1d0c0a11u

struct upcall {
  uint32_t magic;
  struct gi_xlator *x;
  struct gi_lru lru;       /* struct up_reg.item */
  struct gi_list clients;  /* struct up_client */
  struct up_file **bucket; /* `mask` + 1 */
  uint32_t mask;
  struct gi_timer sweep;
  uint64_t clock;             /* counts what has changed */
  uint64_t recent[UP_RECENT]; /* by gfid: the clock at the last change of an object that falls there */
  struct gi_list late;        /* struct up_late.link, to be told by `later` */
  struct gi_defer later;
  char **care; /* patterns of names of attributes */
  uint32_t ncare;
  /* strict */
  struct gi_list under_way; /* struct up_fop.link: changes, until they are answered */
  struct gi_list held;      /* struct up_fop.held_link: wait for clients, the oldest first */
  struct gi_list acks;      /* struct up_ack.link, of all of them */
  uint32_t nacks;
  uint64_t serial; /* of the last one asked for */
  struct gi_timer patience;
  void (*drained)(struct gi_xlator *x);
  struct up_metrics metrics;
};

struct up_fop {
  uint64_t began; /* upcall.clock */
  /* strict, while `fop` is set */
  struct gi_fop *fop;
  struct gi_list link, held_link;
  struct gi_list acks; /* struct up_ack.fop_link: answers that are missing */
  uint32_t nacks;
  bool held;
  uint64_t until; /* gi_now */
};

static inline struct upcall *
up_of(const struct gi_xlator *x)
{
  struct upcall *up = x->private;
  GI_CHECK(up, UP_MAGIC);
  return up;
}

static inline uint64_t
up_life(const struct upcall *up)
{
  return (uint64_t)((const struct up_options *)up->x->options)->timeout * GI_NSEC_PER_SEC;
}

/* For so long a client that does not answer may trust what it was told before. */
static inline uint64_t
up_lease(const struct upcall *up)
{
  return up_life(up) / GI_PROMISE_PARTS;
}

/* upcall-table.c */
void up_table_init(struct upcall *up);
void up_table_finish(struct upcall *up);
/* From now on, for the timeout, the client is told what others do to the object. Others may lose a registration by that, and are told
 * so, from inside. */
void up_register(struct upcall *up, struct gi_client_id *id, const struct gi_gfid *gfid);
struct up_file *up_find(const struct upcall *up, const struct gi_gfid *gfid); /* NULL: nobody is told of it */
struct up_client *up_client_find(const struct upcall *up, const void *id);    /* NULL: it is told of nothing */
void up_client_gone(struct upcall *up, const void *id);
void up_forget_all(struct upcall *up); /* without telling */
void up_check(const struct upcall *up);
void up_ask(struct gi_xlator *x, struct gi_question *q); /* who is told of an object */

/* upcall-news.c */
/* What a finished operation has changed is told. */
void up_news(struct upcall *up, struct gi_fop *fop);
/* The client shall not think anything of the object. */
void up_tell_forget(struct upcall *up, struct gi_client_id *id, const struct gi_gfid *gfid);
/* The same, when the operation that asks has its answer. */
void up_tell_later(struct upcall *up, struct gi_client_id *id, const struct gi_gfid *gfid);
void up_later_init(struct upcall *up);
void up_later_gone(struct upcall *up, const void *id); /* the client goes; NULL: all do */
/* Whether the object may have changed since the clock said `began`. */
bool up_changed_since(const struct upcall *up, const struct gi_gfid *gfid, uint64_t began);

/* upcall-care.c */
/* The attributes whose names stand in `names`, wildcards among them, are told of from now on. 0, ENOSPC: these are too many. */
GI_MUST_CHECK int up_care(struct upcall *up, const struct gi_dict *names);
bool up_cares(const struct upcall *up, const char *name);
void up_care_finish(struct upcall *up);

/* upcall-wait.c */
void up_wait_init(struct upcall *up);
void up_wait_finish(struct upcall *up);
void up_wait_gone(struct upcall *up, const void *id);         /* the client goes; NULL: nobody is waited for any more */
void up_change_comes(struct upcall *up, struct gi_fop *fop);  /* its client is not waited for where it comes */
void up_change_begins(struct upcall *up, struct gi_fop *fop); /* the same, until it ends by one of the next two */
void up_change_ended(struct upcall *up, struct gi_fop *fop);
bool up_change_waits(struct upcall *up, struct gi_fop *fop); /* true: it is held, and goes on by itself */
/* What to tell the client along with the news of the object, so that it answers; 0: it is not waited for. */
uint64_t up_wait_for(struct upcall *up, const struct gi_fop *fop, struct gi_client_id *id, const struct gi_gfid *gfid);
void up_acknowledged(struct upcall *up, const void *id, uint64_t serial);
void up_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x));

#endif
