/* SPDX-License-Identifier: Apache-2.0
 *
 * The entries of a cache in the order of their last use, each with its cost.
 *
 * The list draws its costs from the process's budget and gives up the oldest
 * entries when it is asked for memory or exceeds a bound of its own. It owns
 * only the order: finding entries and freeing them is the cache's.
 *
 *   struct my_entry { struct gi_lru_item item; … };
 *   gi_lru_init(&c->lru, &x->ctx->budget, x->reactor, x->name, my_evict, c);
 *   gi_lru_add(&c->lru, &e->item, sizeof(*e) + gi_payload_pinned(&e->data));
 *   gi_lru_touch(&c->lru, &e->item);       a hit
 *   gi_lru_remove(&c->lru, &e->item);      it is no longer true
 *   gi_lru_finish(&c->lru);                gives up what is left
 */
#ifndef GI_LRU_H
#define GI_LRU_H

#include "libglusterish/budget.h"

/* Part of an entry. All zero: on no list. */
struct gi_lru_item {
  struct gi_list link; /* NULLs while on no list */
  uint64_t cost;       /* bytes */
};

struct gi_lru {
  struct gi_list items;         /* struct gi_lru_item.link, oldest first */
  uint64_t count, cost;         /* of all items; cost in bytes */
  uint64_t max_count, max_cost; /* bounds of its own, 0 = none */
  uint64_t evicted;             /* items given up for a bound or for the budget */
  /* Called with an item that is on the list no longer: take it from the index and free it. Must not add items. */
  void (*evict)(void *arg, struct gi_lru_item *item);
  void *arg;
  struct gi_budget_user user;
};

/* `name` is the caller's and valid until gi_lru_finish. */
void gi_lru_init(struct gi_lru *l, struct gi_budget *b, struct gi_reactor *r, const char *name,
                 void (*evict)(void *arg, struct gi_lru_item *item), void *arg);
void gi_lru_finish(struct gi_lru *l); /* evicts everything and leaves the budget; all zero is fine */

/* The item becomes the newest. If a bound is exceeded older ones are evicted before this returns, `item` itself never. */
void gi_lru_add(struct gi_lru *l, struct gi_lru_item *item, uint64_t cost);
void gi_lru_remove(struct gi_lru *l, struct gi_lru_item *item); /* without `evict` */
void gi_lru_touch(struct gi_lru *l, struct gi_lru_item *item);  /* becomes the newest */
/* The cost changed (more data, a compacted payload): it becomes the newest, and older ones are evicted as by gi_lru_add. */
void gi_lru_recost(struct gi_lru *l, struct gi_lru_item *item, uint64_t cost);

/* Bounds of its own beside the budget's, 0 = none; in force at once. */
void gi_lru_set_bounds(struct gi_lru *l, uint64_t max_count, uint64_t max_cost);

static inline bool
gi_lru_holds(const struct gi_lru_item *item)
{
  return item->link.next != NULL;
}

#endif
