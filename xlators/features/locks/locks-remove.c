/* SPDX-License-Identifier: Apache-2.0
 *
 * UNLINK, RMDIR and RENAME onto an existing object wait until no other client
 * holds an inode lock on it (brick.md 9.6), so that a transaction in progress
 * does not lose its object. The holders are told. Internal clients (pid < 0)
 * neither wait nor are waited for.
 */
#include "xlators/features/locks/locks.h"

static struct gi_inode *
victim(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_RENAME ? fop->loc2.inode : fop->loc.inode;
}

static bool
held_by_others(const struct lk_inode *li, const void *client)
{
  gi_list_foreach(dom, &li->domains, struct lk_domain, link) {
    gi_list_foreach(l, &dom->queue[LK_INODE].granted, struct lk_lock, link) {
      if (l->who.client != client && l->who.pid >= 0)
        return true;
    }
  }
  return false;
}

static bool
holds_any(const struct lk_inode *li, const void *client)
{
  gi_list_foreach(dom, &li->domains, struct lk_domain, link) {
    gi_list_foreach(l, &dom->queue[LK_INODE].granted, struct lk_lock, link) {
      if (l->who.client == client)
        return true;
    }
  }
  return false;
}

bool
lk_remove_blocks(const struct lk_inode *li, const struct lk_who *who)
{
  if (who->pid < 0)
    return false;
  if (li->removing)
    return true;
  return !gi_list_empty(&li->removes) && !holds_any(li, who->client);
}

static void
tell_holders(struct gi_xlator *x, struct gi_fop *fop, struct lk_inode *li)
{
  struct lk_lock everything = {.type = GI_LK_WRITE, .last = LK_LAST, .who = {.client = fop->caller.client}};
  li->walking++;
  gi_list_foreach(dom, &li->domains, struct lk_domain, link) {
    size_t len = strlen(dom->name), slen = strlen(LK_METADATA_SUFFIX);
    if (len > slen && strcmp(dom->name + len - slen, LK_METADATA_SUFFIX) == 0)
      len -= slen;
    lk_contention(x, fop, &li->inode->gfid, LK_INODE, gi_fop_strdup(fop, dom->name, len), &dom->queue[LK_INODE], &everything);
  }
  li->walking--;
}

/* Lets it go on: new inode locks have to wait until it is done. */
static void
begin(struct gi_xlator *x, struct gi_fop *fop, struct lk_inode *li)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  lf->removing = true;
  lf->li = li;
  li->removing++;
  lk_counts(x, fop);
}

enum gi_verdict
lk_remove(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = victim(fop);
  if (!inode || fop->caller.pid < 0)
    return lk_counts(x, fop);
  struct lk_inode *li = lk_inode_get(x, inode);
  lk_inode_use(x, li);
  if (held_by_others(li, fop->caller.client)) {
    tell_holders(x, fop, li);
    if (held_by_others(li, fop->caller.client)) {
      struct lk_fop *lf = gi_fop_private(fop, x);
      lf->wait = LK_WAIT_REMOVE;
      lf->li = li;
      gi_list_add_tail(&li->removes, &fop->link);
      lk_count(x)->removes_waited++;
      return GI_HELD;
    }
  }
  begin(x, fop, li);
  return GI_PASS_TELL;
}

static void
retry_inode_locks(struct gi_xlator *x, struct lk_inode *li, struct gi_list *ready)
{
  gi_list_foreach(dom, &li->domains, struct lk_domain, link) {
    if (dom->queue[LK_INODE].nblocked)
      lk_queue_retry(x, li, dom, LK_INODE, ready);
  }
}

void
lk_remove_retry(struct gi_xlator *x, struct lk_inode *li, struct gi_list *ready)
{
  gi_list_foreach_safe(fop, &li->removes, struct gi_fop, link) {
    if (held_by_others(li, fop->caller.client))
      continue;
    gi_list_del(&fop->link);
    begin(x, fop, li);
    lk_ready_forward(ready, fop, x, true);
  }
}

void
lk_remove_done(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  struct lk_inode *li = lf->li;
  struct gi_list ready = GI_LIST_INIT(ready);
  lf->removing = false;
  GI_ASSERT(li->removing > 0);
  if (--li->removing == 0)
    retry_inode_locks(x, li, &ready);
  lk_inode_unuse(x, li);
  lk_ready_run(x, &ready);
}

void
lk_remove_cancel(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  struct lk_inode *li = lf->li;
  struct gi_list ready = GI_LIST_INIT(ready);
  gi_list_del(&fop->link);
  lk_ready_answer(&ready, fop, x, -1, EINTR);
  if (gi_list_empty(&li->removes) && !li->removing)
    retry_inode_locks(x, li, &ready);
  lk_inode_unuse(x, li);
  lk_ready_run(x, &ready);
}
