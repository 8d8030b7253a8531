/* SPDX-License-Identifier: Apache-2.0
 *
 * The pace of a rebalance: it rests before each file and each block while the
 * foreground of a brick is slower than without it (doc/decisions/0007). The rest
 * doubles while applications feel the rebalance, and shrinks by a quarter while
 * they do not, once per measuring window of the bricks. Without a foreground
 * there is none.
 *
 * Windows of few operations are noisy, and what else runs on the machine may slow
 * applications down whatever the rebalance does. So a rest lasts at most nine times
 * as long as the step that follows takes: a rebalance always comes to its end.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"

#include "libglusterish/load.h"

#define REST_MIN GI_NSEC_PER_MSEC
#define REST_MAX (200 * GI_NSEC_PER_MSEC)
#define REST_SHARE 9            /* times the work, at most */
#define LEARN 16                /* an operation moves the average by this fraction */
#define IDLE_NS GI_NSEC_PER_SEC /* without operations for so long nobody is there; for less, somebody may be stuck */

static uint64_t
next_rest(const struct di_reb_pace *p, uint64_t now)
{
  if (p->stretch == 0)
    return now - p->busy < IDLE_NS ? p->rest : 0;
  if (p->stretch > GI_LOAD_FELT)
    return p->rest * 2 < REST_MIN ? REST_MIN : p->rest * 2 > REST_MAX ? REST_MAX : p->rest * 2;
  if (p->stretch > GI_LOAD_UNFELT)
    return p->rest;
  return p->rest > REST_MIN ? p->rest - p->rest / 4 : 0;
}

static void
learn(struct di_reb_pace *p, const struct gi_fop *reply, uint64_t now)
{
  uint64_t took = now > reply->start_ns ? now - reply->start_ns : 0;

  GI_ASSERT((unsigned)reply->kind < GI_FOP_MAX);
  if (gi_fop_table[reply->kind].classes & GI_CLASS_MAY_WAIT)
    return;
  p->took = p->took ? p->took - p->took / LEARN + took / LEARN : took;
}

void
di_reb_hear(struct di_reb_pace *p, const struct gi_fop *reply, uint64_t now)
{
  struct gi_load load;
  uint32_t stretch;

  learn(p, reply, now);
  if (!gi_load_get(reply->rsp.xdata, &load))
    return;
  if (load.ops)
    p->busy = now;
  stretch = gi_load_stretch(&load);
  if (stretch > p->stretch)
    p->stretch = stretch;
  if (now - p->since < GI_LOAD_WINDOW_NS)
    return;
  p->rest = next_rest(p, now);
  p->since = now;
  p->stretch = 0;
  GI_ASSERT(p->rest <= REST_MAX);
}

uint64_t
di_reb_rest(const struct di_reb_pace *p, unsigned ops)
{
  uint64_t most = p->took * ops * REST_SHARE;

  GI_ASSERT(ops > 0);
  return p->took && p->rest > most ? most : p->rest;
}

bool
di_reb_yield(struct di_reb *r, unsigned ops)
{
  uint64_t rest = di_reb_rest(&r->pace, ops);

  if (rest && !r->stopping)
    gi_task_sleep(r->d->x->reactor, rest);
  return r->stopping;
}
