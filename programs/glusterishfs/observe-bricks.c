/* SPDX-License-Identifier: Apache-2.0
 *
 * See observe-bricks.h. The layer that speaks to a brick puts what it tells where
 * trees are made of; here nothing of it is looked at.
 */
#include "programs/glusterishfs/observe-bricks.h"

#define PATIENCE_NS (500 * GI_NSEC_PER_MSEC)

struct asking {
  unsigned refs; /* one per question, and one until `done` was called */
  struct gi_timer patience;
  ob_bricks_done *done; /* NULL: it was called */
  void *arg;
};

static void
put(struct asking *a)
{
  GI_ASSERT(a->refs > 0);
  if (--a->refs == 0)
    gi_free(a);
}

static void
tell(void *arg)
{
  struct asking *a = arg;
  ob_bricks_done *done = a->done;

  GI_ASSERT(done);
  a->done = NULL;
  gi_timer_finish(&a->patience);
  done(a->arg);
  put(a);
}

static void
answered(struct gi_fop *fop, void *arg)
{
  struct asking *a = arg;

  gi_fop_unref(fop);
  if (a->refs == 2 && a->done) /* it was the last one */
    tell(a);
  put(a);
}

static void
ask(struct asking *a, struct gi_graph *g, struct gi_xlator *x)
{
  struct gi_fop *fop = gi_fop_new(g, GI_FOP_GETXATTR);
  struct gi_inode *root = gi_inode_get(g, &gi_gfid_root);

  gi_loc_set_inode(&fop->loc, root);
  gi_inode_unref(&root);
  fop->args.name = GI_UNDER_WAY_KEY;
  fop->caller.pid = GI_PID_HEAL_TOOL; /* nobody's */
  a->refs++;
  gi_fop_ref(fop);
  gi_fop_submit(fop, x, answered, a);
  if (!fop->answered)
    gi_fop_unseen(fop);
  gi_fop_unref(fop);
}

void
ob_bricks_ask(struct gi_graph *g, ob_bricks_done *done, void *arg)
{
  struct asking *a = gi_new(struct asking);

  *a = (struct asking){.refs = 2, .done = done, .arg = arg}; /* the second keeps it until all are asked */
  gi_timer_init(&a->patience, g->ctx->reactor, tell, a);
  gi_timer_set(&a->patience, PATIENCE_NS);
  for (unsigned i = 0; i < g->count; i++)
    if (strcmp(g->xlators[i]->cls->type, "protocol/client") == 0)
      ask(a, g, g->xlators[i]);
  a->refs--;
  if (a->refs == 1)
    tell(a);
}
