/* SPDX-License-Identifier: Apache-2.0
 *
 * How much healing may be under way: additive increase while the bricks'
 * foreground is as fast as without heals, halving when it is not. Decides only
 * when answers come, at most once per measuring window of the bricks: what was
 * sent must show before more is (doc/decisions/0007).
 */
#include "replicate-shd.h"

#define STRETCH_GROW 1050 /* permille of the baseline: not felt */
#define STRETCH_CUT 1150  /* felt */
#define OPS_MIN 4         /* fewer operations in a report prove nothing */
#define ANSWERS_MIN 8     /* between two decisions */
#define IDLE_NS GI_NSEC_PER_SEC /* without operations for so long nobody is there; for less, somebody may be stuck */
#define IDLE_GROWTH 8
#define WINDOW_STEP REP_PACE_BLOCK
#define WINDOW_BLIND (8u << 20) /* with bricks that tell nothing */

void
rep_pace_init(struct rep_pace *p)
{
  *p = (struct rep_pace){.window = REP_PACE_BLOCK, .parallel = 1};
  rep_pace_limit(p, 0);
}

void
rep_pace_limit(struct rep_pace *p, unsigned limit)
{
  p->limit = limit ? limit : REP_PACE_PARALLEL_MAX;
  p->blind = limit ? limit : 1;
  if (p->parallel > p->limit)
    p->parallel = p->limit;
}

static bool
set(struct rep_pace *p, uint64_t window, unsigned parallel)
{
  uint64_t had_window = p->window;
  unsigned had_parallel = p->parallel;

  p->window = window < REP_PACE_BLOCK ? REP_PACE_BLOCK : window > REP_PACE_WINDOW_MAX ? REP_PACE_WINDOW_MAX : window;
  p->parallel = parallel < 1 ? 1 : parallel > p->limit ? p->limit : parallel;
  return p->window != had_window || p->parallel != had_parallel;
}

/* In permille; what is too little to tell anything counts as no stretch. */
static uint32_t
stretch_of(const struct gi_load *l)
{
  uint64_t s;

  if (l->ops == 0)
    return 0;
  if (l->ops < OPS_MIN || l->baseline_us == 0)
    return 1000;
  s = (uint64_t)l->mean_us * 1000 / l->baseline_us;
  return s > 100000 ? 100000 : s < 1 ? 1 : (uint32_t)s;
}

/* The child whose foreground suffers most. */
static uint32_t
worst(struct rep_pace *p)
{
  uint32_t most = 0;

  rep_foreach(i, p->told & p->children) {
    uint32_t s = stretch_of(&p->load[i]);

    if (s < most)
      continue;
    most = s;
    p->worst = p->load[i];
  }
  return most;
}

static bool
decide(struct rep_pace *p, uint64_t now)
{
  uint32_t stretch = worst(p);
  bool moved;

  if ((p->told & p->children) != p->children) {
    /* Some brick does not tell: what GlusterFS would do, unless another one complains. */
    return stretch > STRETCH_CUT ? set(p, p->window / 2, 1) : set(p, WINDOW_BLIND, p->blind);
  }
  if (stretch == 0 && p->busy && now - p->busy < IDLE_NS)
    return false;
  if (stretch == 0)
    moved = set(p, IDLE_GROWTH * p->window, IDLE_GROWTH * p->parallel);
  else if (stretch <= STRETCH_GROW)
    moved = set(p, p->window + WINDOW_STEP, p->parallel + 1);
  else if (stretch > STRETCH_CUT)
    moved = set(p, p->window / 2, p->parallel / 2);
  else
    return false;
  p->grown += moved && stretch <= STRETCH_GROW;
  p->cut += moved && stretch > STRETCH_CUT;
  return moved;
}

bool
rep_pace_answer(struct rep_pace *p, unsigned child, const struct gi_load *load, uint64_t now)
{
  p->answers++;
  if (load) {
    p->told |= 1u << child;
    p->load[child] = *load;
    if (load->ops)
      p->busy = now;
  }
  if (p->answers < ANSWERS_MIN || now - p->since < GI_LOAD_WINDOW_NS)
    return false;
  p->since = now;
  p->answers = 0;
  return decide(p, now);
}
