/* SPDX-License-Identifier: Apache-2.0
 *
 * What the lock server tells whoever observes the process: every lock that is
 * granted or waited for, and whose it is.
 */
#include "xlators/features/locks/locks.h"

#include "libglusterish/ask.h"

/* False: there is no room for more. */
static bool
tell(struct gi_question *q, const struct lk_inode *li, const struct lk_who *who, struct gi_fact_lock f)
{
  const struct gi_client_id *id = who->client;
  GI_ASSERT(f.kind && who->owner.len <= GI_OWNER_MAX);
  f.gfid = li->inode->gfid;
  f.client = lk_peer(who);
  f.address = id && id->address ? id->address : "";
  f.pid = who->pid;
  f.owner = &who->owner;
  if (!gi_question_room(q))
    return false;
  q->lock(q, &f);
  return true;
}

static bool
tell_internal(struct gi_question *q, const struct lk_inode *li, const struct lk_domain *dom, enum lk_kind kind,
              const struct gi_list *list)
{
  gi_list_foreach(l, list, struct lk_lock, link) {
    struct gi_fact_lock f = {.kind = kind == LK_INODE ? "inode" : "entry",
                             .domain = dom->name,
                             .name = l->name,
                             .granted = !l->fop,
                             .write = kind == LK_INODE ? l->type == GI_LK_WRITE : l->type != 0,
                             .start = l->start,
                             .len = l->len,
                             .since = l->wall};
    lk_lock_check(l, kind);
    if (!tell(q, li, &l->who, f))
      return false;
  }
  return true;
}

static bool
tell_posix(struct gi_question *q, const struct lk_inode *li, const struct gi_list *list)
{
  gi_list_foreach(l, list, struct lk_posix, link) {
    struct gi_fact_lock f = {.kind = "posix",
                             .granted = !l->fop,
                             .write = l->type == GI_LK_WRITE,
                             .start = l->start,
                             .len = l->last == LK_LAST ? 0 : l->last - l->start + 1,
                             .since = l->wall};
    lk_posix_check(l);
    if (!tell(q, li, &l->who, f))
      return false;
  }
  return true;
}

static bool
tell_io(struct gi_question *q, const struct lk_inode *li)
{
  gi_list_foreach(fop, &li->io_waiting, struct gi_fop, link) {
    struct lk_who who;
    lk_who_set(&who, fop);
    struct gi_fact_lock f = {
        .kind = "mandatory", .write = fop->kind != GI_FOP_READ, .start = fop->args.offset, .len = fop->args.size};
    if (!tell(q, li, &who, f))
      return false;
  }
  return true;
}

static bool
tell_inode(struct gi_question *q, const struct lk_inode *li)
{
  lk_inode_check(li);
  gi_list_foreach(dom, &li->domains, struct lk_domain, link) {
    for (int k = 0; k < LK_KINDS; k++)
      if (!tell_internal(q, li, dom, k, &dom->queue[k].granted) || !tell_internal(q, li, dom, k, &dom->queue[k].blocked))
        return false;
  }
  return tell_posix(q, li, &li->posix) && tell_posix(q, li, &li->posix_blocked) && tell_io(q, li);
}

void
lk_ask(struct gi_xlator *x, struct gi_question *q)
{
  if (q->what != GI_ASK_LOCKS)
    return;
  gi_list_foreach(li, &lk_private(x)->busy, struct lk_inode, link) {
    if ((!q->gfid || gi_gfid_equal(q->gfid, &li->inode->gfid)) && !tell_inode(q, li))
      return;
  }
}
