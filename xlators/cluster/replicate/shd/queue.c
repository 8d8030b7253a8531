/* SPDX-License-Identifier: Apache-2.0
 *
 * The ready queue of the self-heal daemon. It holds each object at most once.
 * Several objects are healed at a time, each on a task; a crawler that adds to a
 * full queue waits for room.
 */
#include "xlators/cluster/replicate/shd/shd.h"

#define TRIED_MAX 65536 /* items tried in vain that are remembered */
#define BUCKETS 1024

/* ---- the table ---- */

static struct rep_item **
bucket(const struct rep_queue *q, const struct gi_gfid *key)
{
  uint64_t h[2];

  memcpy(h, key, sizeof(h));
  return &q->bucket[((h[0] ^ h[1]) * 0x9e3779b97f4a7c15ull >> 32) & (q->nbuckets - 1)];
}

static bool
known(const struct rep_queue *q, const struct gi_gfid *key)
{
  for (const struct rep_item *i = *bucket(q, key); i; i = i->next)
    if (gi_gfid_equal(&i->key, key))
      return true;
  return false;
}

static void
grow(struct rep_queue *q)
{
  struct rep_item **old = q->bucket;
  unsigned n = q->nbuckets;

  q->nbuckets = n ? 2 * n : BUCKETS;
  q->bucket = gi_zalloc(q->nbuckets * sizeof(struct rep_item *));
  for (unsigned b = 0; b < n; b++)
    for (struct rep_item *i = old[b], *next; i; i = next) {
      struct rep_item **to = bucket(q, &i->key);

      next = i->next;
      i->next = *to;
      *to = i;
    }
  gi_free(old);
}

static void
item_free(struct rep_queue *q, struct rep_item *item)
{
  struct rep_item **at = bucket(q, &item->key);

  while (*at != item)
    at = &(*at)->next;
  *at = item->next;
  GI_ASSERT(q->nitems > 0);
  q->nitems--;
  gi_free(item->name);
  gi_free(item);
}

static void
free_all(struct rep_queue *q, struct gi_list *list)
{
  gi_list_foreach_safe(i, list, struct rep_item, link) {
    gi_list_del(&i->link);
    item_free(q, i);
  }
}

void
rep_queue_check(const struct rep_queue *q)
{
  GI_ASSERT(gi_list_empty(&q->ready) == !q->waiting);
  GI_ASSERT(gi_list_empty(&q->tried) == !q->ntried);
  GI_ASSERT(q->nitems >= q->waiting + q->ntried); /* the others are being healed */
  GI_ASSERT(q->ntried <= TRIED_MAX);
  GI_ASSERT(!(q->nbuckets & (q->nbuckets - 1)));
}

/* ---- healing ---- */

static void
wake_producer(struct rep_queue *q)
{
  if (q->producer)
    gi_task_wake(q->producer);
}

static struct rep_item *
take_item(struct rep_queue *q)
{
  struct rep_item *item = gi_list_first(&q->ready, struct rep_item, link);

  GI_ASSERT(q->waiting > 0 && q->running > 0);
  gi_list_del(&item->link);
  q->waiting--;
  wake_producer(q);
  return item;
}

static void
ended(struct rep_queue *q, struct rep_item *item, bool healed)
{
  if (healed || q->ntried >= TRIED_MAX) {
    q->progress += healed;
    item_free(q, item);
    return;
  }
  gi_list_add_tail(&q->tried, &item->link);
  q->ntried++;
}

/* A task: heals one after the other while there are some and it may. */
static void
queue_work(void *arg)
{
  struct rep_queue *q = arg;

  while (!gi_list_empty(&q->ready) && q->running <= q->parallel) {
    struct rep_item *item = take_item(q);

    ended(q, item, q->heal(q->arg, item));
  }
  GI_ASSERT(q->running > 0);
  q->running--;
  rep_queue_check(q);
  wake_producer(q);
}

static void
pump(void *arg)
{
  struct rep_queue *q = arg;

  while (q->running < q->parallel && !gi_list_empty(&q->ready)) {
    q->running++;
    gi_task_start(q->r, queue_work, q);
  }
}

/* ---- the interface ---- */

void
rep_queue_init(struct rep_queue *q, struct gi_reactor *r, bool (*heal)(void *arg, const struct rep_item *item), void *arg)
{
  *q = (struct rep_queue){.r = r, .heal = heal, .arg = arg, .limit = 1, .parallel = 1};
  gi_list_init(&q->ready);
  gi_list_init(&q->tried);
  gi_defer_init(&q->pump, pump, q);
  grow(q);
}

void
rep_queue_finish(struct rep_queue *q)
{
  GI_ASSERT(q->running == 0 && !q->producer);
  rep_queue_check(q);
  gi_defer_cancel(&q->pump);
  free_all(q, &q->ready);
  free_all(q, &q->tried);
  gi_free(q->bucket);
}

static void
wait_until(struct rep_queue *q, bool (*met)(const struct rep_queue *q))
{
  GI_ASSERT(!q->producer);
  q->producer = gi_task_self(q->r);
  while (!met(q))
    gi_task_wait(q->r);
  q->producer = NULL;
}

static bool
queue_has_room(const struct rep_queue *q)
{
  return q->stopped || q->waiting < q->limit;
}

static bool
is_empty(const struct rep_queue *q)
{
  return q->waiting == 0 && q->running == 0;
}

bool
rep_queue_put(struct rep_queue *q, const struct rep_item *item)
{
  struct rep_item *copy, **at;

  if (q->stopped || known(q, &item->key))
    return false;
  wait_until(q, queue_has_room);
  if (q->stopped)
    return false;
  if (q->nitems >= q->nbuckets)
    grow(q);
  copy = gi_new(struct rep_item);
  *copy = *item;
  copy->name = gi_strdup(item->name);
  at = bucket(q, &copy->key);
  copy->next = *at;
  *at = copy;
  q->nitems++;
  gi_list_add_tail(&q->ready, &copy->link);
  q->waiting++;
  rep_queue_check(q);
  if (q->running < q->parallel)
    gi_defer_add(q->r, &q->pump);
  return true;
}

void
rep_queue_drain(struct rep_queue *q)
{
  wait_until(q, is_empty);
}

void
rep_queue_forget(struct rep_queue *q)
{
  free_all(q, &q->tried);
  q->ntried = 0;
}

void
rep_queue_resize(struct rep_queue *q, unsigned limit, unsigned parallel)
{
  q->limit = limit;
  q->parallel = parallel;
  wake_producer(q);
  if (q->running < q->parallel && q->waiting)
    gi_defer_add(q->r, &q->pump);
}

void
rep_queue_stop(struct rep_queue *q)
{
  q->stopped = true;
  free_all(q, &q->ready);
  q->waiting = 0;
  rep_queue_check(q);
  wake_producer(q);
}

void
rep_queue_start(struct rep_queue *q)
{
  q->stopped = false;
}
