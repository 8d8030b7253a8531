/* SPDX-License-Identifier: Apache-2.0
 *
 * What all kinds of locks keep: the state of an inode, its domains, the identity
 * of a holder, and the operations that are ready to go on.
 */
#include "xlators/features/locks/locks.h"

void
lk_who_set(struct lk_who *who, const struct gi_fop *fop)
{
  who->client = fop->caller.client;
  who->owner = fop->caller.owner;
  who->pid = fop->caller.pid;
}

int
lk_owner_check(const struct gi_fop *fop)
{
  const struct gi_owner *o = &fop->caller.owner;
  for (uint32_t i = 0; i < o->len; i++) {
    if (o->data[i])
      return 0;
  }
  return EINVAL;
}

struct lk_inode *
lk_inode_peek(const struct gi_xlator *x, const struct gi_inode *inode)
{
  return inode ? *(struct lk_inode **)gi_inode_private(inode, x) : NULL;
}

struct lk_inode *
lk_inode_get(struct gi_xlator *x, struct gi_inode *inode)
{
  struct lk_inode **slot = gi_inode_private(inode, x);
  struct lk_inode *li = *slot;
  if (li) {
    GI_CHECK(li, LK_INODE_MAGIC);
    return li;
  }
  li = gi_new(struct lk_inode);
  li->magic = LK_INODE_MAGIC;
  li->inode = inode;
  gi_list_init(&li->link);
  gi_list_init(&li->domains);
  gi_list_init(&li->posix);
  gi_list_init(&li->posix_blocked);
  gi_list_init(&li->past);
  gi_list_init(&li->io_waiting);
  *slot = li;
  return li;
}

void
lk_inode_use(struct gi_xlator *x, struct lk_inode *li)
{
  GI_CHECK(li, LK_INODE_MAGIC);
  if (li->users++)
    return;
  gi_inode_ref(li->inode);
  gi_list_add_tail(&lk_private(x)->busy, &li->link);
}

void
lk_inode_unuse(struct gi_xlator *x, struct lk_inode *li)
{
  GI_CHECK(li, LK_INODE_MAGIC);
  GI_ASSERT(li->users > 0);
  if (--li->users)
    return;
  gi_list_del(&li->link);
  lk_inode_check(li);
  struct gi_inode *inode = li->inode;
  gi_inode_unref(&inode);
}

struct lk_domain *
lk_domain_find(const struct lk_inode *li, const char *name)
{
  gi_list_foreach(d, &li->domains, struct lk_domain, link) {
    if (strcmp(d->name, name) == 0)
      return d;
  }
  return NULL;
}

struct lk_domain *
lk_domain_get(struct lk_inode *li, const char *name)
{
  GI_CHECK(li, LK_INODE_MAGIC);
  struct lk_domain *d = lk_domain_find(li, name);
  if (d)
    return d;
  size_t len = strlen(name) + 1;
  d = gi_zalloc(sizeof(*d) + len);
  memcpy(d->name, name, len);
  for (int k = 0; k < LK_KINDS; k++) {
    gi_list_init(&d->queue[k].granted);
    gi_list_init(&d->queue[k].blocked);
  }
  gi_list_add_tail(&li->domains, &d->link);
  li->ndomains++;
  return d;
}

void
lk_domain_free(struct lk_inode *li, struct lk_domain *dom)
{
  for (int k = 0; k < LK_KINDS; k++) {
    lk_queue_check(&dom->queue[k]);
    GI_ASSERT(dom->queue[k].ngranted + dom->queue[k].nblocked == 0);
  }
  GI_ASSERT(li->ndomains > 0 && !li->walking);
  gi_list_del(&dom->link);
  li->ndomains--;
  gi_free(dom);
}

void
lk_domain_settle(struct lk_inode *li, struct lk_domain *dom)
{
  for (int k = 0; k < LK_KINDS; k++) {
    if (dom->queue[k].ngranted + dom->queue[k].nblocked)
      return;
  }
  if (li->ndomains > LK_IDLE_DOMAINS && !li->walking)
    lk_domain_free(li, dom);
}

static void
ready_add(struct gi_list *ready, struct gi_fop *fop, const struct gi_xlator *x, enum gi_verdict act)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(!fop->answered);
  lf->wait = LK_WAIT_NONE;
  lf->lock = NULL;
  lf->act = act;
  gi_list_add_tail(ready, &fop->link);
}

void
lk_ready_answer(struct gi_list *ready, struct gi_fop *fop, const struct gi_xlator *x, int ret, int err)
{
  fop->rsp.ret = ret;
  fop->rsp.err = err;
  ready_add(ready, fop, x, GI_ANSWERED);
}

void
lk_ready_forward(struct gi_list *ready, struct gi_fop *fop, const struct gi_xlator *x, bool tell)
{
  ready_add(ready, fop, x, tell ? GI_PASS_TELL : GI_PASS);
}

void
lk_ready_run(struct gi_xlator *x, struct gi_list *ready)
{
  while (!gi_list_empty(ready)) {
    struct gi_fop *fop = gi_list_first(ready, struct gi_fop, link);
    gi_list_del(&fop->link);
    GI_ASSERT(((const struct lk_fop *)gi_fop_private(fop, x))->wait == LK_WAIT_NONE);
    gi_fop_resume(fop, x, ((const struct lk_fop *)gi_fop_private(fop, x))->act);
  }
}

bool
lk_ends_with(const char *domain, const char *end)
{
  size_t len = strlen(domain), n = strlen(end);

  return len >= n && strcmp(domain + len - n, end) == 0;
}

const char *
lk_peer(const struct lk_who *who)
{
  const struct gi_client_id *id = who->client;
  return id && id->uid ? id->uid : "";
}

void
lk_waits(struct gi_fop *fop, const char *what, const char *domain, const struct lk_who *holder)
{
  const struct gi_client_id *client = holder ? holder->client : NULL;
  char text[160], client_text[GI_CLIENT_TEXT], who[GI_CLIENT_TEXT + 64], owner[GI_OWNER_TEXT];
  int len;
  if (domain) {
    len = snprintf(text, sizeof(text), "%s of domain %s", what, domain);
    what = gi_fop_strdup(fop, text, len < (int)sizeof(text) ? (size_t)len : sizeof(text) - 1);
  }
  if (holder) {
    gi_client_text(client, client_text);
    len = snprintf(who, sizeof(who), "%s pid %d owner %.32s", client_text, holder->pid, gi_owner_text(&holder->owner, owner));
    GI_ASSERT(len > 0);
    len = len < (int)sizeof(who) ? len : (int)sizeof(who) - 1;
  }
  gi_fop_waits(fop, GI_WAIT_LOCK, what, holder ? gi_fop_strdup(fop, who, (size_t)len) : NULL);
}
