/* SPDX-License-Identifier: Apache-2.0
 *
 * Intrusive doubly linked list with a sentinel head.
 */
#ifndef GI_LIST_H
#define GI_LIST_H

#include "libglusterish/mem.h"

#include <stdbool.h>

struct gi_list {
  struct gi_list *next, *prev;
};

#define GI_LIST_INIT(head) \
  { \
    &(head), &(head) \
  }

static inline void
gi_list_init(struct gi_list *l)
{
  l->next = l->prev = l;
}

static inline bool
gi_list_empty(const struct gi_list *l)
{
  return l->next == l;
}

static inline void
gi_list_insert(struct gi_list *after, struct gi_list *l)
{
  GI_ASSERT(after->next->prev == after);
  l->next = after->next;
  l->prev = after;
  after->next->prev = l;
  after->next = l;
}

static inline void
gi_list_add_head(struct gi_list *head, struct gi_list *l)
{
  gi_list_insert(head, l);
}

static inline void
gi_list_add_tail(struct gi_list *head, struct gi_list *l)
{
  gi_list_insert(head->prev, l);
}

/* Safe on a member that is not linked as long as it was initialised; leaves it initialised. */
static inline void
gi_list_del(struct gi_list *l)
{
  GI_ASSERT(l->prev->next == l && l->next->prev == l);
  l->prev->next = l->next;
  l->next->prev = l->prev;
  gi_list_init(l);
}

/* Moves every member of `from` to the tail of `to`. */
static inline void
gi_list_splice_tail(struct gi_list *to, struct gi_list *from)
{
  if (gi_list_empty(from))
    return;
  GI_ASSERT(to != from && to->prev->next == to);
  from->next->prev = to->prev;
  to->prev->next = from->next;
  from->prev->next = to;
  to->prev = from->prev;
  gi_list_init(from);
}

#define gi_list_item(ptr, type, member) GI_CONTAINER(ptr, type, member)
#define gi_list_first(head, type, member) gi_list_item((head)->next, type, member)

/* The link inside a member. By address only: at the end of a walk `it` is made from the head, and a type of stricter alignment
 * must not be touched through it. */
#define gi_list_link(it, type, member) ((struct gi_list *)(void *)((char *)(it) + offsetof(type, member)))

#define gi_list_foreach(it, head, type, member) \
  for (type *it = gi_list_item((head)->next, type, member); gi_list_link(it, type, member) != (head); \
       it = gi_list_item(gi_list_link(it, type, member)->next, type, member))

/* The current member may be removed. */
#define gi_list_foreach_safe(it, head, type, member) \
  for (type *it = gi_list_item((head)->next, type, member), \
            *it##_next = gi_list_item(gi_list_link(it, type, member)->next, type, member); \
       gi_list_link(it, type, member) != (head); \
       it = it##_next, it##_next = gi_list_item(gi_list_link(it, type, member)->next, type, member))

#endif
