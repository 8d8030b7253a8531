/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory budget of a process: what all caches together may hold.
 *
 * A cache joins as a user, draws what an entry costs when it keeps one and
 * returns it when it lets go. Only what could be given up is drawn: data that is
 * dirty, or an object somebody refers to, is not a cache's and does not count.
 *
 * Drawing always succeeds and never calls back, so it is allowed anywhere. When
 * the sum exceeds the limit, users are asked for memory before the reactor waits
 * again: from the event loop, never from inside a draw, and never while a user is
 * being asked. A cache that would rather not begin to keep something asks
 * gi_budget_room first.
 *
 * Who is asked: the user with the largest share, down to the next one's, and so
 * on until the sum is a sixteenth below the limit. The cache that grew is the
 * one that shrinks; a small cache, of attributes perhaps, is not emptied by a
 * large one of data. (Age would say nothing: the entries of two caches are not
 * used at comparable rates.) Within a cache its own order decides; gi_lru is the
 * usual one.
 *
 * Everything here belongs to the reactor; nothing is locked.
 */
#ifndef GI_BUDGET_H
#define GI_BUDGET_H

#include "libglusterish/dump.h"
#include "libglusterish/list.h"
#include "libglusterish/reactor.h"

#define GI_BUDGET_USER_MAGIC 0x1d0b0d6eu

/* In gi_ctx: one per process. All zero is an unlimited budget without users. */
struct gi_budget {
  struct gi_reactor *reactor; /* of the first user */
  uint64_t limit;             /* bytes; 0 = none */
  uint64_t used;              /* the users' sum */
  uint64_t peak;
  uint64_t passes;    /* times that users were asked */
  uint64_t shortages; /* passes that did not find enough */
  uint64_t retry_at;  /* after a shortage: users are asked again from this sum on */
  bool asking;        /* users are being asked right now */
  struct gi_defer ask;
  struct gi_timer again; /* what was begun may not come: users are asked again, after longer and longer pauses */
  uint64_t pause;        /* ns: the present one */
  struct gi_list users;  /* struct gi_budget_user.link; initialised by the first user */
};

/* Part of the cache. All zero before gi_budget_join. */
struct gi_budget_user {
  uint32_t magic;
  const char *name; /* of the cache, for people; the caller's, valid until it leaves */
  /* Asks for `want` bytes. Gives up entries and returns their cost with gi_budget_return, or begins to (when somebody else must
   * agree first). The answer is what was given up or begun, bytes; 0 = nothing is left to give. NULL: cannot give. */
  uint64_t (*reclaim)(void *arg, uint64_t want);
  void *arg;
  struct gi_budget *budget;
  struct gi_list link;
  bool spent; /* has nothing more in the present pass */
  uint64_t used, peak;
  uint64_t asked, reclaimed; /* bytes since it joined: asked for, and given on being asked */
};

/* `reclaim` may be NULL for memory that cannot be given back on demand but should be seen and counted. */
void gi_budget_join(struct gi_budget *b, struct gi_reactor *r, struct gi_budget_user *u, const char *name,
                    uint64_t (*reclaim)(void *arg, uint64_t want), void *arg);
/* The user must have returned everything. All zero (never joined) is fine. */
void gi_budget_leave(struct gi_budget_user *u);

void gi_budget_draw(struct gi_budget_user *u, uint64_t cost);
void gi_budget_return(struct gi_budget_user *u, uint64_t cost); /* of what it has drawn */

/* Bytes that can be drawn without anyone being asked; UINT64_MAX without a limit. */
uint64_t gi_budget_room(const struct gi_budget *b);

/* A new limit, 0 = none. If less is allowed than is used, users are asked soon. */
void gi_budget_set_limit(struct gi_budget *b, uint64_t limit);

extern const struct gi_metric gi_budget_metrics[];      /* over struct gi_budget */
extern const struct gi_metric gi_budget_user_metrics[]; /* over struct gi_budget_user */

/* A section "budget" and one "budget.NAME" for each user: their metrics. */
void gi_budget_dump(const struct gi_budget *b, struct gi_dump *d);

#endif
