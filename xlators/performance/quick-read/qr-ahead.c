/* SPDX-License-Identifier: Apache-2.0
 *
 * Content that comes before the open: a LOOKUP asks for it in a directory whose
 * names are looked up to be opened and read.
 */
#include "xlators/performance/quick-read/quick-read.h"

#include "libglusterish/promise.h"

/* What a directory has to its credit: an open of what was just looked up earns, a LOOKUP that asks for content costs. So the third in a
 * row is asked for its content, and when nobody opens any more a few are in vain. */
enum { EARNS = 2, ENOUGH = 4, MOST = 8 };

/* Between a LOOKUP and the open another machine may write: only bricks that wait until we have heard of it let an open go by that. */
static bool
may_ask_ahead(const struct gi_xlator *x, const struct gi_fop *fop, const struct qr_inode *dir, const struct qr_inode *e)
{
  return dir->credit >= ENOUGH && gi_promise_lease(x->graph) && fop->caller.pid >= 0 && qr_size_wanted(x, e) > 0 &&
         (!e || !qr_is_current(x, e));
}

enum gi_verdict
qr_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop), *parent = fop->loc.name ? gi_loc_parent(fop, &fop->loc) : NULL;
  qr_come_back(x);
  struct qr_inode *e = inode ? qr_inode_of(x, inode) : NULL, *dir = parent ? qr_inode_of(x, parent) : NULL;
  struct qr_fop *f = qr_ask(x, fop, e);
  if (dir && may_ask_ahead(x, fop, dir, e)) {
    GI_ASSERT(dir->credit <= MOST);
    dir->credit--;
    f->ahead = true;
    qr_ask_for_content(fop, qr_size_wanted(x, e), e);
  }
  return GI_PASS_TELL;
}

void
qr_opened_to_read(struct gi_xlator *x, struct qr_inode *e)
{
  struct gi_inode *parent = gi_gfid_is_none(&e->dir) ? NULL : gi_inode_find(x->graph, &e->dir);
  e->dir = gi_gfid_none;
  if (!parent)
    return;
  struct qr_inode *dir = qr_inode_of(x, parent);
  dir->credit = dir->credit + EARNS < MOST ? dir->credit + EARNS : MOST;
  gi_inode_unref(&parent);
}

/* Of a file that was not known here a brick may have told something while the other bricks were still to answer. */
void
qr_looked_up(struct gi_xlator *x, struct gi_fop *fop, struct qr_fop *f, struct qr_inode *e)
{
  const struct qr *qr = x->private;
  f->e = e;
  GI_IGNORE(qr_learn(x, e, f, &fop->rsp.stat, false));
  if (S_ISREG(fop->rsp.stat.mode) && fop->loc.name)
    e->dir = fop->loc.parent ? fop->loc.parent->gfid : fop->loc.pargfid;
  if (f->ahead && f->seq > qr->stranger_seq)
    qr_take_content(x, fop, f);
}
