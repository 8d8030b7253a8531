/* SPDX-License-Identifier: Apache-2.0
 *
 * What an operation leaves behind as it goes through a graph: at every border
 * between two translators a mark, that is who has it from now on and since
 * when (gi_ticks). Marks cost some instructions each and nothing else; what is
 * told of an operation is made of them: times per layer (times.h), trees
 * (tree.h), where it hangs.
 *
 * All of an operation's time lies between two marks. It is the own time of the
 * layer that had the operation then; but while operations on its behalf (a
 * fan-out, helpers) are under way it is that of the layers below.
 */
#ifndef GI_STEPS_H
#define GI_STEPS_H

#include "libglusterish/graph.h"

enum gi_mark {
  GI_MARK_ENTER, /* a handler gets it on the way down */
  GI_MARK_BACK,  /* a handler gets its reply */
  GI_MARK_AWAY,  /* the first of the operations on its behalf goes; whose it is does not change */
  GI_MARK_HOME,  /* and the last of them is answered */
};

#define GI_MARK_LAYERS (1u << 14)
#define GI_MARK_TICKS 48 /* bits of gi_ticks that are kept: a day of it, at least */

static inline uint64_t
gi_mark_make(const struct gi_xlator *x, enum gi_mark what, uint64_t ticks)
{
  return ticks << (64 - GI_MARK_TICKS) | (uint64_t)what << 14 | x->layer;
}

static inline void
gi_fop_mark(struct gi_fop *fop, const struct gi_xlator *x, enum gi_mark what)
{
  uint32_t n = fop->nmarks++;

  if (n < GI_MARKS)
    fop->mark[n] = gi_mark_make(x, what, gi_ticks(x->reactor));
}

static inline enum gi_mark
gi_mark_what(uint64_t mark)
{
  return mark >> 14 & 3;
}

static inline unsigned
gi_mark_layer(uint64_t mark)
{
  return mark & (GI_MARK_LAYERS - 1);
}

/* Ticks from `start` (gi_ticks) to the mark, which was made after it. */
static inline uint64_t
gi_mark_since(uint64_t mark, uint64_t start)
{
  return (mark - (start << (64 - GI_MARK_TICKS))) >> (64 - GI_MARK_TICKS);
}

/* For a translator that makes operations of what others ask it for (mount/fuse): its own work is part of the operation. It is not submitted
 * yet, and is one for `x` since that moment of gi_ticks. After the answer it is so until gi_fop_over. */
void gi_fop_came(struct gi_fop *fop, struct gi_xlator *x, uint64_t ticks);

/* Whoever asked has its answer, or one was never submitted. */
void gi_fop_over(struct gi_fop *fop);

/* ---- for xlator.c: in seen.c ---- */

/* It is submitted, and answered. */
void gi_steps_begin(struct gi_fop *fop, const struct gi_xlator *top);
void gi_steps_end(struct gi_fop *fop);

/* ---- what became of it ---- */

/* A layer that an operation came to. Ticks from the operation's start. */
struct gi_stay {
  uint16_t layer;
  bool left; /* it has answered the operation or seen the reply, and then let it go */
  uint64_t enter, leave, own;
};

struct gi_walk {
  unsigned n;     /* layers, in the order in which it came to them */
  int now;        /* the one that has it, at the end; -1: it came to none */
  bool away;      /* operations on its behalf are under way, at the end */
  uint64_t below; /* own times and this are all of its time */
  struct gi_stay stay[GI_MARKS];
};

/* Follows the marks of an operation up to `end` (ticks from its start). `over`: it was answered then. */
void gi_walk(struct gi_walk *w, const uint64_t *mark, unsigned nmarks, uint64_t start, uint64_t end, bool over);

#endif
