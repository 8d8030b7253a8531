/* SPDX-License-Identifier: Apache-2.0
 *
 * POSIX locks of a client whose connection ended, remembered until the client is
 * back and asks for them again (GI_LOCK_AGAIN_KEY). They bind nobody: the first
 * conflicting lock ends the memory. So if the memory still exists, no other client
 * had the lock meanwhile, and the answer says so.
 */
#include "xlators/features/locks/locks.h"

#define LK_PAST_MAX 64 /* kept per inode; the oldest goes */

struct lk_past {
  struct gi_list link; /* lk_inode.past, the oldest first */
  char *process;       /* of the client: its identity without the number of the connection */
  struct gi_owner owner;
  uint32_t type;
  uint64_t start, last;
  uint8_t space;
};

static size_t
process_len(const char *uid)
{
  const char *end = strstr(uid, "-RECON_NO:");
  return end ? (size_t)(end - uid) : strlen(uid);
}

static bool
of(const struct lk_past *p, const struct lk_who *who)
{
  const char *uid = lk_peer(who);
  size_t len = process_len(uid);
  return gi_owner_equal(&p->owner, &who->owner) && strlen(p->process) == len && memcmp(p->process, uid, len) == 0;
}

static void
past_free(struct lk_inode *li, struct lk_past *p)
{
  gi_list_del(&p->link);
  li->npast--;
  gi_free(p->process);
  gi_free(p);
}

void
lk_past_note(struct lk_inode *li, const struct lk_posix *l)
{
  const char *uid = lk_peer(&l->who);
  struct lk_past *p = gi_new(struct lk_past);
  p->process = gi_strndup(uid, process_len(uid));
  p->owner = l->who.owner;
  p->type = l->type;
  p->start = l->start;
  p->last = l->last;
  p->space = l->space;
  gi_list_add_tail(&li->past, &p->link);
  if (++li->npast > LK_PAST_MAX)
    past_free(li, gi_list_first(&li->past, struct lk_past, link));
}

void
lk_past_granted(struct lk_inode *li, const struct lk_posix *l)
{
  gi_list_foreach_safe(p, &li->past, struct lk_past, link) {
    if (p->start <= l->last && l->start <= p->last && lk_spaces_meet(p->space, l->space) &&
        (p->type == GI_LK_WRITE || l->type == GI_LK_WRITE) && !of(p, &l->who))
      past_free(li, p);
  }
}

bool
lk_past_unbroken(const struct lk_inode *li, const struct lk_posix *l)
{
  gi_list_foreach(p, &li->past, struct lk_past, link) {
    if (p->start <= l->start && l->last <= p->last && (p->type == l->type || p->type == GI_LK_WRITE) && of(p, &l->who))
      return true;
  }
  return false;
}

void
lk_past_free(struct lk_inode *li)
{
  gi_list_foreach_safe(p, &li->past, struct lk_past, link)
    past_free(li, p);
}
