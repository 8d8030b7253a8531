/* SPDX-License-Identifier: Apache-2.0
 *
 * What replication tells whoever observes the process: which copies of an
 * object it would read, as far as it knows without asking them.
 */
#include "xlators/cluster/replicate/copies/copies.h"

#include "libglusterish/ask.h"

static void
tell_copies(const struct rep *rep, struct gi_question *q, struct gi_inode *inode)
{
  const struct rep_inode *ri = rep_inode(rep, inode);
  bool known = rep_inode_fresh(rep, inode);
  int chosen = known ? rep_read_child(rep, inode, NULL, rep_readable(rep, inode, true) & rep->up) : -1;
  rep_inode_check(rep, ri);
  GI_ASSERT(chosen < (int)rep->n);
  for (unsigned i = 0; i < rep->n; i++) {
    struct gi_fact_copy f = {.name = rep->x->children[i]->name,
                             .up = (rep->up >> i) & 1,
                             .known = known,
                             .data = known && ((ri->data_readable >> i) & 1),
                             .metadata = known && ((ri->meta_readable >> i) & 1),
                             .chosen = chosen == (int)i};
    if (gi_question_room(q))
      q->copy(q, &f);
  }
}

void
rep_ask(struct gi_xlator *x, struct gi_question *q)
{
  if (q->what != GI_ASK_COPIES)
    return;
  struct gi_inode *inode = gi_inode_find(x->graph, q->gfid);
  if (inode)
    tell_copies(rep_of(x), q, inode);
  gi_inode_unref(&inode);
}
