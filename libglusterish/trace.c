/* SPDX-License-Identifier: Apache-2.0
 *
 * See trace.h.
 */
#include "libglusterish/trace.h"

/* When the next operation is looked at. */
static void
next_due(struct gi_seen *s)
{
  s->until_sample = !gi_list_empty(&s->traces) ? 1 : s->sample ? s->sample : UINT32_MAX;
}

void
gi_trace_sample(struct gi_seen *s, uint32_t one_in)
{
  s->sample = one_in;
  next_due(s);
}

void
gi_trace_arm(struct gi_seen *s, struct gi_trace *t)
{
  GI_ASSERT(t->got && (!t->has_entry || t->name));
  t->left = 1;
  gi_list_add_tail(&s->traces, &t->link);
  next_due(s);
}

void
gi_trace_disarm(struct gi_seen *s, struct gi_trace *t)
{
  gi_list_del(&t->link);
  next_due(s);
}

static bool
names_entry(const struct gi_trace *t, const struct gi_loc *loc)
{
  const struct gi_gfid *parent = loc->parent ? &loc->parent->gfid : &loc->pargfid;

  return loc->name && strcmp(loc->name, t->name) == 0 && gi_gfid_equal(parent, &t->parent);
}

static bool
looks_for(const struct gi_trace *t, const struct gi_fop *fop)
{
  if (t->has_pid && fop->caller.pid != t->pid)
    return false;
  if (!t->has_gfid && !t->has_entry)
    return true;
  return (t->has_gfid && gi_gfid_equal(gi_fop_gfid(fop), &t->gfid)) ||
         (t->has_entry && (names_entry(t, &fop->loc) || names_entry(t, &fop->loc2)));
}

void
gi_trace_begin(struct gi_seen *s, struct gi_fop *root)
{
  bool wanted = s->sample && gi_list_empty(&s->traces);

  gi_list_foreach(t, &s->traces, struct gi_trace, link) {
    if (!looks_for(t, root) || --t->left > 0)
      continue;
    t->left = t->one_in ? t->one_in : 1;
    wanted = true;
  }
  next_due(s);
  if (wanted)
    gi_fop_collect(root, true);
}

static void
keep_slow(struct gi_seen *s, struct gi_told *told)
{
  gi_list_add_tail(&s->slow, &gi_told_ref(told)->link);
  if (s->nslow++ < GI_SLOW_KEPT)
    return;

  struct gi_told *oldest = gi_list_first(&s->slow, struct gi_told, link);

  s->nslow--;
  gi_list_del(&oldest->link);
  gi_told_put(&oldest);
}

void
gi_trace_end(struct gi_seen *s, struct gi_fop *root, uint64_t took, bool slow)
{
  struct gi_told *told;

  /* When all become slow at once there is no need for the trees of all. */
  slow = slow && (s->nslow < GI_SLOW_KEPT || root->start_ticks + took - s->kept >= s->every);
  if (!slow && (!root->steps || (gi_list_empty(&s->traces) && !root->steps->asked)))
    return;
  told = gi_told_new(root, took, true);
  if (slow) {
    s->kept = root->start_ticks + took;
    keep_slow(s, told);
  }
  gi_list_foreach_safe(t, &s->traces, struct gi_trace, link)
    if (root->steps && looks_for(t, root) && told->took_ns >= t->slower_ns)
      t->got(t, told);
  if (root->steps && root->steps->asked) {
    gi_told_put(&root->steps->told);
    root->steps->told = gi_told_ref(told);
  }
  gi_told_put(&told);
}

void
gi_trace_free(struct gi_seen *s)
{
  GI_ASSERT(gi_list_empty(&s->traces));
  gi_list_foreach_safe(t, &s->slow, struct gi_told, link) {
    gi_list_del(&t->link);
    gi_told_put(&t);
  }
}

void
gi_trace_asked(struct gi_fop *fop, const uint8_t id[16])
{
  struct gi_steps *steps;

  GI_ASSERT(!fop->root);
  steps = gi_fop_steps(fop);
  steps->asked = true;
  memcpy(steps->trace, id, sizeof(steps->trace));
}

struct gi_told *
gi_trace_told(struct gi_fop *fop)
{
  struct gi_told *told = fop->steps ? fop->steps->told : NULL;

  if (told)
    fop->steps->told = NULL;
  return told;
}
