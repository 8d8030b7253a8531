/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client had locked that is gone. Replication notes nothing before it changes names or attributes while all copies are locked
 * (optimistic-change-log). If its client dies then, some bricks may have been told and others not, and nobody knows. A brick that still has
 * the lock says so (GI_EVENT_LEFT), and features/index marks the object for the healers.
 */
#include "xlators/features/locks/locks.h"

/* Distribution and healers lock in domains of their own, and change nothing under those alone. */
static bool
is_of_replication(const char *domain)
{
  return strncmp(domain, "dht.", 4) != 0 && !lk_ends_with(domain, ":self-heal");
}

/* `named`: but for locks of all names, which healers have, and who removes the directory. */
static bool
has_lock(const struct lk_queue *q, const void *client, bool named)
{
  gi_list_foreach(l, &q->granted, struct lk_lock, link) {
    if (l->who.client == client && (l->name || !named))
      return true;
  }
  return false;
}

static struct gi_left
left_of(const struct lk_inode *li, const void *client)
{
  struct gi_left left = {.inode = li->inode};

  gi_list_foreach(d, &li->domains, struct lk_domain, link) {
    left.names |= is_of_replication(d->name) && has_lock(&d->queue[LK_ENTRY], client, true);
    left.attributes |= lk_ends_with(d->name, LK_METADATA_SUFFIX) && has_lock(&d->queue[LK_INODE], client, false);
  }
  return left;
}

void
lk_left_begin(struct gi_xlator *x, const void *client, struct lk_left *all)
{
  *all = (struct lk_left){0};
  gi_list_foreach(li, &lk_private(x)->busy, struct lk_inode, link) {
    struct gi_left left = left_of(li, client);

    if (!left.names && !left.attributes)
      continue;
    all->left = gi_realloc(all->left, (all->n + 1) * sizeof(*all->left));
    gi_inode_ref(left.inode);
    all->left[all->n++] = left;
  }
}

void
lk_left_end(struct gi_xlator *x, struct lk_left *all)
{
  for (unsigned i = 0; i < all->n; i++) {
    gi_notify_up(x, GI_EVENT_LEFT, &all->left[i]);
    gi_inode_unref(&all->left[i].inode);
  }
  gi_free(all->left);
}
