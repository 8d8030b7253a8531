/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory budget of a process.
 */
#include "libglusterish/budget.h"

#include <stdint.h>

#define PAUSE_MIN (100 * GI_NSEC_PER_MSEC)
#define PAUSE_MAX (60 * GI_NSEC_PER_SEC)
#define BELOW(limit) ((limit) - (limit) / 16) /* where a pass ends: not every draw after it begins the next one */

const struct gi_metric gi_budget_metrics[] = {
    GI_GAUGE(struct gi_budget, limit, "bytes", "what all caches together may hold; 0 is no limit"),
    GI_GAUGE(struct gi_budget, used, "bytes", "what they hold"),
    GI_GAUGE(struct gi_budget, peak, "bytes", "most they have held"),
    GI_METRIC(struct gi_budget, passes, "", "times that caches were asked for memory"),
    GI_METRIC(struct gi_budget, shortages, "", "times that they did not have enough to give"),
    GI_METRIC_END,
};

const struct gi_metric gi_budget_user_metrics[] = {
    GI_GAUGE(struct gi_budget_user, used, "bytes", "what the cache holds"),
    GI_GAUGE(struct gi_budget_user, peak, "bytes", "most it has held"),
    GI_METRIC(struct gi_budget_user, asked, "bytes", "what it was asked for"),
    GI_METRIC(struct gi_budget_user, reclaimed, "bytes", "what it gave when it was asked"),
    GI_METRIC_END,
};

/* ---- asking ---- */

/* The user with the largest share that may have more to give, or NULL; *second is the share of the next such one. */
static struct gi_budget_user *
largest(struct gi_budget *b, uint64_t *second)
{
  struct gi_budget_user *first = NULL;

  *second = 0;
  gi_list_foreach(u, &b->users, struct gi_budget_user, link) {
    if (u->spent || !u->reclaim || !u->used)
      continue;
    if (!first || u->used > first->used) {
      *second = first ? first->used : 0;
      first = u;
    } else if (u->used > *second) {
      *second = u->used;
    }
  }
  return first;
}

/* How much to ask of the largest at once: what it has beyond the next one, but never so little that equal shares are asked byte by
 * byte. */
static uint64_t
portion(const struct gi_budget_user *u, uint64_t second, uint64_t need)
{
  uint64_t beyond = u->used - second, least = need / 8 + 1, want = beyond > least ? beyond : least;

  return want < need ? want : need;
}

static void
ask(void *arg)
{
  struct gi_budget *b = arg;

  GI_ASSERT(!b->asking);
  if (!b->limit || b->used <= b->limit) {
    b->pause = 0;
    return;
  }
  b->asking = true;
  b->passes++;
  gi_list_foreach(u, &b->users, struct gi_budget_user, link)
    u->spent = false;

  uint64_t need = b->used - BELOW(b->limit), second, begun = 0;
  struct gi_budget_user *u;

  while (need && (u = largest(b, &second))) {
    uint64_t want = portion(u, second, need), given = u->reclaim(u->arg, want);

    u->asked += want;
    u->reclaimed += given;
    u->spent = given < want;
    begun += given;
    need -= given < need ? given : need;
  }
  b->shortages += need > 0;
  /* What was not found, or is on its way, would not be there a moment later either. */
  b->retry_at = b->used > b->limit ? b->used + b->limit / 64 : 0;
  b->asking = false;
  if (b->used > b->limit && begun) {
    b->pause = b->pause ? b->pause * 2 : PAUSE_MIN;
    b->pause = b->pause < PAUSE_MAX ? b->pause : PAUSE_MAX;
    gi_timer_set(&b->again, b->pause);
  }
}

static void
check_limit(struct gi_budget *b)
{
  if (b->limit && b->used > b->limit && b->used >= b->retry_at && !b->asking && b->reactor)
    gi_defer_add(b->reactor, &b->ask);
}

/* ---- users ---- */

void
gi_budget_join(struct gi_budget *b, struct gi_reactor *r, struct gi_budget_user *u, const char *name,
               uint64_t (*reclaim)(void *arg, uint64_t want), void *arg)
{
  GI_ASSERT(r && name && u->magic == 0);
  if (!b->reactor) {
    b->reactor = r;
    gi_list_init(&b->users);
    gi_defer_init(&b->ask, ask, b);
    gi_timer_init(&b->again, r, ask, b);
  }
  GI_ASSERT(b->reactor == r);
  *u = (struct gi_budget_user){
      .magic = GI_BUDGET_USER_MAGIC, .name = name, .reclaim = reclaim, .arg = arg, .budget = b, .spent = true};
  gi_list_add_tail(&b->users, &u->link);
}

void
gi_budget_leave(struct gi_budget_user *u)
{
  struct gi_budget *b = u->budget;

  if (!u->magic)
    return;
  GI_CHECK(u, GI_BUDGET_USER_MAGIC);
  GI_ASSERT(u->used == 0);
  gi_list_del(&u->link);
  u->magic = 0;
  u->budget = NULL;
  if (gi_list_empty(&b->users)) { /* the reactor may end before the next one joins */
    GI_ASSERT(b->used == 0);
    gi_defer_cancel(&b->ask);
    gi_timer_finish(&b->again);
    b->reactor = NULL;
  }
}

void
gi_budget_draw(struct gi_budget_user *u, uint64_t cost)
{
  GI_CHECK(u, GI_BUDGET_USER_MAGIC);

  struct gi_budget *b = u->budget;

  GI_ASSERT(cost <= UINT64_MAX - b->used);
  u->used += cost;
  b->used += cost;
  if (u->used > u->peak)
    u->peak = u->used;
  if (b->used > b->peak)
    b->peak = b->used;
  check_limit(b);
}

void
gi_budget_return(struct gi_budget_user *u, uint64_t cost)
{
  GI_CHECK(u, GI_BUDGET_USER_MAGIC);
  GI_ASSERT(cost <= u->used && u->used <= u->budget->used);
  u->used -= cost;
  u->budget->used -= cost;
  if (u->budget->used <= u->budget->limit)
    u->budget->retry_at = u->budget->pause = 0;
}

uint64_t
gi_budget_room(const struct gi_budget *b)
{
  if (!b->limit)
    return UINT64_MAX;
  return b->used < b->limit ? b->limit - b->used : 0;
}

void
gi_budget_set_limit(struct gi_budget *b, uint64_t limit)
{
  b->limit = limit;
  b->retry_at = 0;
  check_limit(b);
}

void
gi_budget_dump(const struct gi_budget *b, struct gi_dump *d)
{
  gi_dump_section(d, "budget");
  gi_dump_metrics(d, gi_budget_metrics, b);
  if (!b->reactor)
    return;
  gi_list_foreach(u, &b->users, struct gi_budget_user, link) {
    gi_dump_section(d, "budget.%s", u->name);
    gi_dump_metrics(d, gi_budget_user_metrics, u);
  }
}
