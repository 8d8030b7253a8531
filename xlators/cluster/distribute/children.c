/* SPDX-License-Identifier: Apache-2.0
 *
 * Subvolumes come and go: those that cannot be reached for a while, and those
 * that a new volfile adds or takes away.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/log.h"

#include <errno.h>

#define FIRST_UP_S 10

/* Layouts that were read before are asked for again. */
static void
next_generation(struct di *d)
{
  d->generation++;
}

/* What always holds, between two events. */
static void
check(const struct di *d)
{
  GI_CHECK(d, DI_MAGIC);
  GI_ASSERT(d->n == d->x->nchildren);
  GI_ASSERT(!(d->up & ~d->heard));
  GI_ASSERT(!(d->heard & ~di_all(d)));
  GI_ASSERT(!d->announced || d->up);
}

/* ---- up and down ---- */

static void
announce(struct di *d)
{
  GI_ASSERT(!d->announced && d->up);
  gi_timer_cancel(&d->first_up);
  d->announced = true;
  gi_notify_up(d->x, GI_EVENT_CHILD_UP, NULL);
}

static void
joined(struct di *d, uint64_t set)
{
  bool was = d->joining != 0;

  d->joining &= ~set;
  if (was && !d->joining)
    gi_defer_add(d->x->reactor, &d->settle);
}

static void
first_up_expired(void *arg)
{
  struct di *d = arg;

  if (!d->announced && d->up && !d->draining)
    announce(d);
  joined(d, d->joining); /* they had their time */
}

static void
try_answered(struct gi_fop *fop, void *arg)
{
  struct di *d = arg;

  GI_ASSERT(d->busy > 0 && fop->tag < d->n);
  if (fop->rsp.ret >= 0 || fop->rsp.err != ENOTCONN)
    joined(d, 1ull << fop->tag);
  gi_fop_unref(fop);
  d->busy--;
  di_settle(d);
}

/* A replica set says that it is up when the first of its bricks is, and serves when there is a quorum of them: it is asked for
 * something, now and each time that something changes with it. */
static void
try_to_join(struct di *d, unsigned child)
{
  struct gi_fop *h;

  if (!(d->joining >> child & 1) || d->draining)
    return;
  h = gi_fop_new(d->x->graph, GI_FOP_LOOKUP);
  h->loc.gfid = gi_gfid_root;
  h->tag = (uint8_t)child; /* which has this number until it is answered */
  d->busy++;
  gi_fop_submit(h, d->x->children[child], try_answered, d);
}

/* The volume can serve when all subvolumes have said whether they can, and one of them does: whoever looks before that would take what the
 * others have for absent. */
static void
child_moved(struct di *d, unsigned child, bool up)
{
  uint64_t bit = 1ull << child, before = d->up;

  check(d);
  d->heard |= bit;
  d->up = up ? d->up | bit : d->up & ~bit;
  if (up != !!(before & bit))
    next_generation(d);
  if (up)
    di_place_ask(d, child);
  if (up) /* one that cannot serve yet, for its bricks are about to start, is waited for as long as one that is silent */
    try_to_join(d, child);
  if (d->on_up)
    d->on_up(d);
  if (d->announced && !d->up) {
    d->announced = false;
    gi_notify_up(d->x, GI_EVENT_CHILD_DOWN, NULL);
  } else if (d->announced) {
    gi_notify_up(d->x, GI_EVENT_CHILD_CHANGED, NULL);
  } else if (d->up && (d->heard == di_all(d) || before == 0)) {
    if (d->heard == di_all(d))
      announce(d);
  } else if (!d->up && d->heard == di_all(d)) {
    gi_notify_up(d->x, GI_EVENT_CHILD_DOWN, NULL);
  }
}

/* ---- what others changed ---- */

/* Names in it are told with it, and may be told with nothing else. */
static void
keep_which(struct gi_iatt *dir)
{
  *dir = (struct gi_iatt){.gfid = dir->gfid, .mode = dir->mode};
}

/* One subvolume tells of its copy of a directory, or of a linkto file: its attributes are not those that are told. */
static bool
invalidated(struct di *d, unsigned child, struct gi_invalidation *inv)
{
  struct gi_inode *inode = gi_inode_find(d->x->graph, &inv->gfid);
  struct di_inode *i = inode ? di_inode_of(d, inode) : NULL;
  bool other = i && i->cached && i->cached != d->x->children[child];

  if (i && i->layout) {
    memset(&inv->stat, 0, sizeof(inv->stat));
    inv->flags |= GI_UPCALL_INVAL_ATTR;
    if (gi_dict_get(inv->xdata, d->layout_key))
      i->layout->generation = d->generation - 1;
  } else if (i && !other && (inv->flags & (GI_UPCALL_FORGET | GI_UPCALL_XATTR))) {
    i->cached = NULL; /* it may have been moved to another subvolume */
  }
  keep_which(&inv->parent);
  keep_which(&inv->old_parent);
  gi_inode_unref(&inode);
  return other;
}

bool
di_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct di *d = di_of(x);
  int child = di_index(d, from);

  switch (event) {
  case GI_EVENT_PARENT_UP:
    if (d->spread)
      gi_timer_set(&d->first_up, FIRST_UP_S * GI_NSEC_PER_SEC);
    return false;
  case GI_EVENT_PARENT_DOWN:
    d->draining = true;
    if (d->on_leave)
      d->on_leave(d);
    di_run_waiting(d);
    return false;
  case GI_EVENT_CHILD_UP:
  case GI_EVENT_CHILD_DOWN:
    if (child < 0)
      return true; /* it has left */
    if (d->spread) {
      child_moved(d, (unsigned)child, event == GI_EVENT_CHILD_UP);
      return true;
    }
    d->heard |= 1;
    d->up = event == GI_EVENT_CHILD_UP;
    d->announced = d->up;
    return false;
  case GI_EVENT_CHILD_CHANGED:
    if (child >= 0 && d->n > 1)
      di_place_ask(d, (unsigned)child);
    if (child >= 0)
      try_to_join(d, (unsigned)child);
    return child < 0;
  case GI_EVENT_INVALIDATE:
    return d->spread && child >= 0 && invalidated(d, (unsigned)child, data);
  case GI_EVENT_CANCEL:
    return true;
  default:
    return false;
  }
}

/* ---- another set ---- */

/* With one subvolume operations pass by. What a directory's layout is about stops here; and listings, which go on when a second one comes: their cookies
 * are those of several, and what they have told is known. */
void
di_set_kinds(struct di *d)
{
  static const uint64_t of_one = GI_KIND(GI_FOP_MKDIR) | GI_KIND(GI_FOP_GETXATTR) | GI_KIND(GI_FOP_FGETXATTR) |
                                 GI_KIND(GI_FOP_READDIR) | GI_KIND(GI_FOP_READDIRP);

  d->x->kinds = d->spread ? 0 : of_one;
}

void
di_set_leaving(struct di *d)
{
  const char *option = di_opts(d)->decommissioned;
  GI_CLEANUP_FREE char *list = option ? gi_strdup(option) : NULL;
  char *save = NULL;

  d->leaving = 0;
  for (char *name = list ? strtok_r(list, ", ", &save) : NULL; name; name = strtok_r(NULL, ", ", &save)) {
    int child = di_by_name(d, name);

    if (child >= 0)
      d->leaving |= 1ull << child;
  }
}

static uint64_t
moved(const struct di *d, uint64_t set)
{
  uint64_t to = 0;

  for (unsigned k = 0; k < d->x->nincoming; k++) {
    int was = di_index(d, d->x->incoming[k]);

    if (was >= 0 && (set >> was & 1))
      to |= 1ull << k;
  }
  return to;
}

static bool
stays(const struct gi_xlator *x, const struct gi_xlator *child)
{
  for (unsigned k = 0; k < x->nincoming; k++)
    if (x->incoming[k] == child)
      return true;
  return false;
}

/* A place that is free is taken after all others were: whoever still lists what had it does not take one for the other. */
static void
assign_places(struct di *d)
{
  for (unsigned p = 0; p < DI_MAX; p++)
    if (d->place[p] && di_index(d, d->place[p]) < 0)
      d->place[p] = NULL;
  for (unsigned i = 0; i < d->n; i++) {
    unsigned p = 0;

    while (p < DI_MAX && d->place[p] != d->x->children[i])
      p++;
    if (p < DI_MAX)
      continue;
    while (d->place[d->next_place])
      d->next_place = (d->next_place + 1) % DI_MAX;
    d->place[d->next_place] = d->x->children[i];
    d->next_place = (d->next_place + 1) % DI_MAX;
  }
}

unsigned
di_place_of(const struct di *d, unsigned child)
{
  unsigned p = 0;

  GI_ASSERT(child < d->n);
  while (d->place[p] != d->x->children[child]) {
    p++;
    GI_ASSERT(p < DI_MAX);
  }
  return p;
}

static void
take(struct di *d)
{
  struct gi_xlator *x = d->x;
  struct di_space space[DI_MAX] = {0};
  bool leaves = false;

  GI_ASSERT(d->busy == 0 && x->incoming);
  for (unsigned k = 0; k < x->nincoming; k++) {
    int was = di_index(d, x->incoming[k]);

    if (was >= 0)
      space[k] = d->space[was];
  }
  for (unsigned i = 0; i < d->n; i++)
    leaves = leaves || !stays(x, x->children[i]);
  memcpy(d->space, space, sizeof(space));
  d->up = moved(d, d->up);
  d->heard = moved(d, d->heard);
  d->local = moved(d, d->local);
  d->n = x->nincoming;
  d->sets++;
  d->shrunk = d->shrunk || leaves;
  d->left = leaves ? d->sets : d->left;
  d->spread = d->spread || leaves || d->n > 1;
  GI_ASSERT(d->n > 0 && d->n <= DI_MAX);
  next_generation(d);
  d->joining = d->x->graph->active ? di_all(d) & ~d->heard : 0;
  di_set_kinds(d);
  gi_log(GI_LOG_INFO, x->name, GI_MSG_DISTRIBUTE + 6, "the volume is spread over %u subvolumes now", d->n);
  gi_xlator_take_children(x);
  if (di_index(d, d->sole) < 0)
    d->sole = NULL;
  assign_places(d);
  di_set_leaving(d);
  di_place_set(d);
  check(d);
  if (d->joining)
    gi_timer_set(&d->first_up, FIRST_UP_S * GI_NSEC_PER_SEC);
  gi_notify_up(x, GI_EVENT_CHILD_CHANGED, NULL);
}

static void
settled(void *arg)
{
  struct di *d = arg;

  if (d->x->incoming && d->busy == 0 && !d->draining)
    take(d);
  if (!d->x->incoming && !d->joining)
    di_run_waiting(d);
}

void
di_children_changed(struct gi_xlator *x)
{
  struct di *d = di_of(x);

  gi_defer_add(x->reactor, &d->settle);
}

void
di_children_init(struct di *d)
{
  gi_list_init(&d->waiting);
  assign_places(d);
  gi_defer_init(&d->settle, settled, d);
  gi_timer_init(&d->first_up, d->x->reactor, first_up_expired, d);
}

void
di_children_finish(struct di *d)
{
  GI_ASSERT(gi_list_empty(&d->waiting));
  gi_defer_cancel(&d->settle);
  gi_timer_finish(&d->first_up);
}
