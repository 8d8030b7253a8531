/* SPDX-License-Identifier: Apache-2.0
 *
 * Supplementary groups looked up on the brick (option manage-gids): the name
 * service may block, so a worker asks it, and the answer is kept for
 * gid-timeout seconds.
 */
#include "xlators/protocol/server/server.h"

#include <grp.h>
#include <pwd.h>

#define SG_MAX 1024 /* groups of one user that are looked at */
#define SG_BUCKETS 256
#define SG_USERS_MAX 65536 /* users remembered; beyond it the cache starts afresh */

struct sg_waiter {
  struct gi_list link;
  void (*fn)(void *arg, const uint32_t *groups, uint32_t n);
  void *arg;
};

#define USER_MAGIC 0x5e2700feu

struct sg_user {
  struct gi_work work; /* first */
  uint32_t magic;
  struct gi_list link;
  struct sv_groups *g; /* NULL once the cache was freed under a lookup */
  uint32_t uid;
  uint64_t until; /* gi_now; 0 = lookup under way */
  bool busy;
  struct gi_list waiters;
  uint64_t ttl_s;
  uint32_t n;
  uint32_t *groups;
};

struct sv_groups {
  struct gi_reactor *r;
  struct gi_list bucket[SG_BUCKETS];
  uint32_t users;
};

struct sv_groups *
sv_groups_new(struct gi_reactor *r)
{
  struct sv_groups *g = gi_new(struct sv_groups);
  g->r = r;
  for (unsigned i = 0; i < SG_BUCKETS; i++)
    gi_list_init(&g->bucket[i]);
  return g;
}

static void
sg_forget(struct sg_user *u)
{
  GI_CHECK(u, USER_MAGIC);
  GI_ASSERT(u->busy || gi_list_empty(&u->waiters));
  GI_ASSERT(!u->g || u->g->users > 0);
  gi_list_del(&u->link);
  if (u->g)
    u->g->users--;
  u->g = NULL;
  if (u->busy)
    return; /* its worker finishes first */
  gi_free(u->groups);
  gi_free(u);
}

void
sv_groups_flush(struct sv_groups *g)
{
  for (unsigned i = 0; i < SG_BUCKETS; i++)
    gi_list_foreach_safe(u, &g->bucket[i], struct sg_user, link)
      if (!u->busy)
        sg_forget(u);
}

void
sv_groups_free(struct sv_groups **gp)
{
  struct sv_groups *g = *gp;
  if (!g)
    return;
  for (unsigned i = 0; i < SG_BUCKETS; i++)
    gi_list_foreach_safe(u, &g->bucket[i], struct sg_user, link)
      sg_forget(u);
  GI_ASSERT(g->users == 0);
  gi_free(g);
  *gp = NULL;
}

/* On a worker. */
static void
sg_lookup(struct gi_work *w)
{
  struct sg_user *u = (struct sg_user *)w;
  GI_CHECK(u, USER_MAGIC);
  char buf[16384];
  struct passwd pw, *found = NULL;
  gid_t groups[SG_MAX];
  int n = SG_MAX;
  u->n = 0;
  if (getpwuid_r(u->uid, &pw, buf, sizeof(buf), &found) != 0 || !found)
    return;
  if (getgrouplist(found->pw_name, found->pw_gid, groups, &n) < 0)
    n = SG_MAX; /* the array is full; the rest is left out */
  u->groups = gi_realloc(u->groups, (size_t)n * sizeof(uint32_t));
  for (int i = 0; i < n; i++)
    u->groups[i] = groups[i];
  u->n = (uint32_t)n;
}

static void
sg_done(struct gi_work *w)
{
  struct sg_user *u = (struct sg_user *)w;
  struct gi_list waiters = GI_LIST_INIT(waiters);
  GI_CHECK(u, USER_MAGIC);
  GI_ASSERT(u->busy);
  u->busy = false;
  if (u->g)
    u->until = gi_now(u->g->r) + u->ttl_s * GI_NSEC_PER_SEC;
  gi_list_splice_tail(&waiters, &u->waiters);
  gi_list_foreach_safe(wt, &waiters, struct sg_waiter, link) {
    gi_list_del(&wt->link);
    wt->fn(wt->arg, u->groups, u->n);
    gi_free(wt);
  }
  if (!u->g) {
    gi_free(u->groups);
    gi_free(u);
  }
}

static struct sg_user *
sg_user(struct sv_groups *g, uint32_t uid)
{
  struct gi_list *bucket = &g->bucket[uid % SG_BUCKETS];
  gi_list_foreach(u, bucket, struct sg_user, link)
    if (u->uid == uid)
      return u;
  if (g->users >= SG_USERS_MAX)
    sv_groups_flush(g);
  struct sg_user *u = gi_new(struct sg_user);
  u->magic = USER_MAGIC;
  u->g = g;
  u->uid = uid;
  gi_list_init(&u->waiters);
  gi_list_add_head(bucket, &u->link);
  g->users++;
  return u;
}

void
sv_groups_get(struct sv_groups *g, uint32_t uid, uint64_t ttl_s, void (*fn)(void *arg, const uint32_t *groups, uint32_t n),
              void *arg)
{
  struct sg_user *u = sg_user(g, uid);
  if (!u->busy && u->until > gi_now(g->r)) {
    fn(arg, u->groups, u->n);
    return;
  }
  struct sg_waiter *wt = gi_new(struct sg_waiter);
  wt->fn = fn;
  wt->arg = arg;
  gi_list_add_tail(&u->waiters, &wt->link);
  if (u->busy)
    return;
  u->busy = true;
  u->ttl_s = ttl_s;
  u->work = (struct gi_work){.priority = GI_PRIO_NORMAL, .run = sg_lookup, .done = sg_done};
  gi_work_submit(g->r, &u->work);
}
