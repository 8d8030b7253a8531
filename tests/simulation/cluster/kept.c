/* SPDX-License-Identifier: Apache-2.0
 *
 * See kept.h.
 */
#include "tests/simulation/cluster/kept.h"

#include "libglusterish/extension.h"
#include "libglusterish/probe.h"
#include "libglusterish/promise.h"

#include <string.h>
#include <sys/stat.h>

#define UPCALL_NAME (GI_UPCALL_RENAME | GI_UPCALL_FORGET | GI_UPCALL_LOOK_AGAIN | GI_UPCALL_NLINK) /* as in mount/fuse */

struct kept_name {
  struct gi_list link;
  struct gi_gfid dir;
  char name[16];
  struct gi_iatt stat;
  uint64_t asked;
};

static void
drop(struct kept_name *n)
{
  gi_list_del(&n->link);
  gi_free(n);
}

void
sim_kept_init(struct sim_kept *k)
{
  *k = (struct sim_kept){0};
  gi_list_init(&k->names);
}

void
sim_kept_forget(struct sim_kept *k)
{
  k->clock++;
  gi_list_foreach_safe(n, &k->names, struct kept_name, link)
    drop(n);
}

static struct kept_name *
find(struct sim_kept *k, const struct gi_gfid *dir, const char *name)
{
  gi_list_foreach(n, &k->names, struct kept_name, link)
    if (gi_gfid_equal(&n->dir, dir) && strcmp(n->name, name) == 0)
      return n;
  return NULL;
}

bool
sim_kept_find(struct sim_kept *k, struct gi_xlator *top, const struct gi_inode *dir, const char *name, struct gi_iatt *stat)
{
  struct kept_name *n = find(k, &dir->gfid, name);
  uint64_t lease = gi_promise_lease(top->graph);
  if (!n || !gi_promise_left(lease, n->asked, gi_now(top->reactor)))
    return false;
  *stat = n->stat;
  GI_PROBE("simulator: a name that the kernel knows is not looked up");
  return true;
}

void
sim_kept_put(struct sim_kept *k, struct gi_xlator *top, const struct gi_inode *dir, const char *name,
             const struct gi_iatt *stat, uint64_t asked, uint64_t clock)
{
  if (S_ISDIR(stat->mode) || clock != k->clock || !gi_promise_lease(top->graph) ||
      strlen(name) >= sizeof(((struct kept_name *)0)->name))
    return;
  struct kept_name *n = find(k, &dir->gfid, name);
  if (n)
    drop(n);
  n = gi_new(struct kept_name);
  *n = (struct kept_name){.dir = dir->gfid, .stat = *stat, .asked = asked};
  snprintf(n->name, sizeof(n->name), "%s", name);
  gi_list_add_head(&k->names, &n->link);
}

void
sim_kept_drop(struct sim_kept *k, const struct gi_gfid *dir, const char *name)
{
  struct kept_name *n = find(k, dir, name);
  k->clock++;
  if (n)
    drop(n);
}

/* The kernel knows a removed or moved object by a name that the brick need not have told. */
static void
object_lost_name(struct sim_kept *k, const struct gi_gfid *gfid)
{
  gi_list_foreach_safe(n, &k->names, struct kept_name, link)
    if (gi_gfid_equal(&n->stat.gfid, gfid)) {
      drop(n);
      return;
    }
}

static void
told(struct sim_kept *k, const struct gi_invalidation *inv)
{
  const struct gi_gfid *to = gi_iatt_valid(&inv->parent) ? &inv->parent.gfid : &inv->gfid;
  const char *name;
  if (gi_dict_get_str(inv->xdata, GI_NAME_KEY, &name))
    sim_kept_drop(k, gi_iatt_valid(&inv->old_parent) ? &inv->old_parent.gfid : to, name);
  if (gi_dict_get_str(inv->xdata, GI_NAME2_KEY, &name))
    sim_kept_drop(k, to, name);
  if (inv->flags & UPCALL_NAME)
    object_lost_name(k, &inv->gfid);
  if (inv->flags & (GI_UPCALL_FORGET | GI_UPCALL_LOOK_AGAIN)) /* of a directory: of no name it is told any more */
    gi_list_foreach_safe(n, &k->names, struct kept_name, link)
      if (gi_gfid_equal(&n->dir, &inv->gfid))
        drop(n);
  k->clock++;
}

void
sim_kept_event(struct sim_kept *k, enum gi_event event, const void *data)
{
  switch (event) {
  case GI_EVENT_INVALIDATE:
    told(k, data);
    break;
  case GI_EVENT_CHILD_UP:
  case GI_EVENT_CHILD_DOWN:
  case GI_EVENT_CHILD_CHANGED:
  case GI_EVENT_PROMISE:
    sim_kept_forget(k);
    break;
  default:
    break;
  }
}
