/* SPDX-License-Identifier: Apache-2.0
 *
 * The throttle of heals (doc/decisions/0007): additive increase while the bricks'
 * foreground is as fast as without heals, of objects more slowly than of bytes;
 * halving when it is not. It decides when answers come, at most once per measuring
 * window of the bricks, so that the effect of the last decision shows first. Only
 * what heals were short of grows, and they begin with the least again after a rest.
 */
#include "xlators/cluster/replicate/shd/shd.h"

#define ANSWERS_MIN 8           /* between two decisions */
#define IDLE_NS GI_NSEC_PER_SEC /* without operations for so long nobody is there; for less, somebody may be stuck */
#define IDLE_GROWTH 8
#define WINDOW_STEP REP_THROTTLE_BLOCK
#define GOOD_BEFORE_MORE \
  8 /* windows without a cut before there is one object more: the mean of a few operations is mostly chance */
#define WINDOW_BLIND (8u << 20) /* with bricks that tell nothing */

static void
take_the_least(struct rep_throttle *p)
{
  p->window = REP_THROTTLE_BLOCK;
  p->parallel = 1;
  p->good = 0;
}

void
rep_throttle_init(struct rep_throttle *p)
{
  *p = (struct rep_throttle){0};
  take_the_least(p);
  rep_throttle_limit(p, 0);
}

void
rep_throttle_limit(struct rep_throttle *p, unsigned limit)
{
  p->limit = limit ? limit : REP_THROTTLE_PARALLEL_MAX;
  p->blind = limit ? limit : 1;
  if (p->parallel > p->limit)
    p->parallel = p->limit;
}

void
rep_throttle_begin(struct rep_throttle *p, uint64_t now)
{
  if (now - p->since < IDLE_NS)
    return;
  take_the_least(p);
  p->since = now; /* nothing was measured yet */
  p->answers = 0;
}

static bool
set(struct rep_throttle *p, uint64_t window, unsigned parallel)
{
  uint64_t had_window = p->window;
  unsigned had_parallel = p->parallel;

  p->window = window < REP_THROTTLE_BLOCK        ? REP_THROTTLE_BLOCK
              : window > REP_THROTTLE_WINDOW_MAX ? REP_THROTTLE_WINDOW_MAX
                                                 : window;
  p->parallel = parallel < 1 ? 1 : parallel > p->limit ? p->limit : parallel;
  return p->window != had_window || p->parallel != had_parallel;
}

/* The child whose foreground suffers most. */
static uint32_t
worst(struct rep_throttle *p)
{
  uint32_t most = 0;

  rep_foreach(i, p->reporting & p->children)
  {
    uint32_t s = gi_load_stretch(&p->load[i]);

    if (s < most)
      continue;
    most = s;
    p->worst = p->load[i];
  }
  return most;
}

/* Increases what heals are short of: by a factor while the foreground is idle, else by a step. */
static bool
grow_alone(struct rep_throttle *p)
{
  bool window = p->short_of & REP_THROTTLE_WINDOW, parallel = p->short_of & REP_THROTTLE_PARALLEL;

  return set(p, window ? p->window * IDLE_GROWTH : p->window, parallel ? p->parallel * IDLE_GROWTH : p->parallel);
}

static bool
grow_beside_others(struct rep_throttle *p)
{
  bool window = p->short_of & REP_THROTTLE_WINDOW,
       parallel = (p->short_of & REP_THROTTLE_PARALLEL) && ++p->good >= GOOD_BEFORE_MORE;

  if (parallel)
    p->good = 0;
  return set(p, window ? p->window + WINDOW_STEP : p->window, p->parallel + parallel);
}

static bool
cut(struct rep_throttle *p)
{
  p->good = 0;
  return set(p, p->window / 2, p->parallel / 2);
}

static bool
throttle_decide(struct rep_throttle *p, uint64_t now)
{
  uint32_t stretch = worst(p);
  bool moved;

  if (p->silent & p->children) {
    /* Some brick does not tell: what GlusterFS would do, unless another one complains. */
    return stretch > GI_LOAD_FELT ? set(p, p->window / 2, 1) : set(p, WINDOW_BLIND, p->blind);
  }
  if (stretch == 0 && p->busy && now - p->busy < IDLE_NS)
    return false;
  if (stretch == 0)
    moved = grow_alone(p);
  else if (stretch <= GI_LOAD_UNFELT)
    moved = grow_beside_others(p);
  else if (stretch > GI_LOAD_FELT)
    moved = cut(p);
  else
    return false;
  p->grown += moved && stretch <= GI_LOAD_UNFELT;
  p->cut += moved && stretch > GI_LOAD_FELT;
  return moved;
}

void
rep_throttle_forget(struct rep_throttle *p, uint32_t children)
{
  p->reporting &= ~children;
  p->silent &= ~children;
}

bool
rep_throttle_answer(struct rep_throttle *p, unsigned child, const struct gi_load *load, unsigned short_of, uint64_t now)
{
  bool moved;

  GI_ASSERT(child < REP_MAX && !(p->reporting & p->silent));
  p->answers++;
  p->short_of |= short_of;
  if (!load) {
    p->silent |= 1u << child & ~p->reporting; /* an error tells nothing */
  } else {
    p->reporting |= 1u << child;
    p->silent &= ~p->reporting;
    p->load[child] = *load;
    if (load->ops)
      p->busy = now;
  }
  if (p->answers < ANSWERS_MIN || now - p->since < GI_LOAD_WINDOW_NS)
    return false;
  p->since = now;
  p->answers = 0;
  moved = throttle_decide(p, now);
  GI_ASSERT(p->window >= REP_THROTTLE_BLOCK && p->window <= REP_THROTTLE_WINDOW_MAX && p->parallel >= 1);
  p->short_of = 0;
  return moved;
}
