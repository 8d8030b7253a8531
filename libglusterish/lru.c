/* SPDX-License-Identifier: Apache-2.0
 *
 * The entries of a cache in the order of their last use.
 */
#include "libglusterish/lru.h"

static struct gi_lru_item *
oldest(struct gi_lru *l)
{
  return gi_list_first(&l->items, struct gi_lru_item, link);
}

static void
give_up(struct gi_lru *l, struct gi_lru_item *item)
{
  gi_lru_remove(l, item);
  l->evicted++;
  l->evict(l->arg, item);
}

/* From the event loop, on behalf of the budget. */
static uint64_t
reclaim(void *arg, uint64_t want)
{
  struct gi_lru *l = arg;
  uint64_t given = 0;

  while (given < want && l->count) {
    struct gi_lru_item *item = oldest(l);

    given += item->cost;
    give_up(l, item);
  }
  return given;
}

/* An eviction may run code of the cache that evicts more: each round looks afresh. */
static void
keep_bounds(struct gi_lru *l, const struct gi_lru_item *except)
{
  while (l->count && oldest(l) != except &&
         ((l->max_count && l->count > l->max_count) || (l->max_cost && l->cost > l->max_cost)))
    give_up(l, oldest(l));
}

void
gi_lru_init(struct gi_lru *l, struct gi_budget *b, struct gi_reactor *r, const char *name,
            void (*evict)(void *arg, struct gi_lru_item *item), void *arg)
{
  *l = (struct gi_lru){.evict = evict, .arg = arg};
  gi_list_init(&l->items);
  gi_budget_join(b, r, &l->user, name, reclaim, l);
}

void
gi_lru_finish(struct gi_lru *l)
{
  if (!l->evict)
    return;
  while (l->count)
    give_up(l, oldest(l));
  GI_ASSERT(l->cost == 0 && gi_list_empty(&l->items));
  gi_budget_leave(&l->user);
  l->evict = NULL;
}

void
gi_lru_add(struct gi_lru *l, struct gi_lru_item *item, uint64_t cost)
{
  GI_ASSERT(!gi_lru_holds(item));
  gi_list_add_tail(&l->items, &item->link);
  item->cost = cost;
  l->count++;
  l->cost += cost;
  gi_budget_draw(&l->user, cost);
  keep_bounds(l, item);
}

void
gi_lru_remove(struct gi_lru *l, struct gi_lru_item *item)
{
  GI_ASSERT(gi_lru_holds(item) && l->count > 0 && l->cost >= item->cost);
  gi_list_del(&item->link);
  item->link = (struct gi_list){NULL, NULL};
  l->count--;
  l->cost -= item->cost;
  gi_budget_return(&l->user, item->cost);
}

void
gi_lru_touch(struct gi_lru *l, struct gi_lru_item *item)
{
  GI_ASSERT(gi_lru_holds(item));
  gi_list_del(&item->link);
  gi_list_add_tail(&l->items, &item->link);
}

void
gi_lru_recost(struct gi_lru *l, struct gi_lru_item *item, uint64_t cost)
{
  gi_lru_remove(l, item);
  gi_lru_add(l, item, cost);
}

void
gi_lru_set_bounds(struct gi_lru *l, uint64_t max_count, uint64_t max_cost)
{
  l->max_count = max_count;
  l->max_cost = max_cost;
  keep_bounds(l, NULL);
}
