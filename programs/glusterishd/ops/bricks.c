/* SPDX-License-Identifier: Apache-2.0
 *
 * volume add-brick, remove-brick, replace-brick, reset-brick (cli.md 5.10 to
 * 5.13).
 *
 * The volume as it shall become is a draft. What is new in it is told to the
 * bricks that stay (announce.c) before the draft comes into force, so that no
 * client can reach a new brick that nobody holds anything against:
 *
 *   check -> stop the brick that is replaced -> announce -> store the draft,
 *   adopt it -> start what is new -> tell the clients -> stop what has left
 *
 * Until the draft is in force a failure takes everything back.
 */
#include "programs/glusterishd/ops/place.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define REPLICA_MAX 16 /* of cluster/replicate */

struct change {
  struct gd_op *op;
  struct gd_volume *v, *draft; /* draft: NULL once it is in force */
  const char *attribute;       /* trusted.add-brick, trusted.replace-brick; NULL: nothing new is announced */
  unsigned *fresh, nfresh;     /* positions of the new bricks in the draft */
  struct gd_prepare *prepare;  /* the directories of the new bricks; NULL: there are none */
  int stopped;                 /* position of the brick that was stopped for this; -1 = none */
  bool again;                  /* the new brick is in the place of the one that was stopped */
  bool resized;                /* the volume has more or fewer bricks than before */
  struct gd_brick *gone;       /* left the volume */
  unsigned ngone;
  struct gd_announce *announce;
};

/* ---- life ---- */

static void
change_free(struct change *c)
{
  gd_announce_cancel(&c->announce);
  gd_leave_unheard(c->op->gd, c);
  c->v->coming = 0;
  gd_volume_let_go(c->draft);
  gd_volume_free(c->draft);
  gd_bricks_let_go(c->gone, c->ngone);
  gd_bricks_free(c->gone, c->ngone);
  gi_free(c->fresh);
  gd_prepare_free(&c->prepare);
  gi_free(c);
}

static void
release(struct gd_op *op)
{
  change_free(op->state);
}

static struct change *
change_new(struct gd_op *op, const char *attribute, unsigned room)
{
  struct change *c = gi_new(struct change);
  c->op = op;
  c->v = op->volume;
  c->draft = gd_volume_draft(op->volume);
  c->attribute = attribute;
  c->fresh = gi_zalloc((room + 1) * sizeof(*c->fresh));
  c->stopped = -1;
  op->state = c;
  op->release = release;
  return c;
}

static bool
started(const struct change *c)
{
  return c->v->status == GD_STARTED;
}

static void
finish(struct change *c)
{
  c->v->busy = false;
  gd_op_finish(c->op, &c->op->problem);
}

static void
note_problem(struct change *c, const struct gi_error *err)
{
  if (err->code && !c->op->problem.code) {
    c->op->problem = *err;
    c->op->problem.code = GD_ERR_MGMT;
  }
}

/* ---- taking back ---- */

static void
restarted(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  finish(arg);
}

static void
taken_back(struct gd_op *op)
{
  finish(op->state);
}

/* The new brick is in the directory of the one it replaces (reset-brick). */
static bool
same_place(const struct change *c, const struct gd_brick *b)
{
  return c->stopped >= 0 && strcmp(b->path, c->v->bricks[c->stopped].path) == 0 &&
         gi_gfid_equal(&b->node, &c->v->bricks[c->stopped].node);
}

static void
take_back(struct change *c, const struct gi_error *why)
{
  note_problem(c, why);
  if (c->prepare && why->code != GD_UNSURE)
    gd_prepare_undo(c->prepare);
  if (c->stopped >= 0 && started(c) && gd_brick_is_here(&c->v->bricks[c->stopped]) &&
      !gd_brick_check_start(&c->v->bricks[c->stopped], NULL))
    gd_brick_start(&c->v->bricks[c->stopped], restarted, c);
  else if (c->stopped >= 0 && started(c))
    gd_settle(c->op, c->v->name, true, taken_back);
  else
    finish(c);
}

/* ---- the end: bricks that left are stopped ---- */

static void
gone_ended(void *arg)
{
  struct change *c = arg;
  if (--c->op->waiting == 0)
    finish(c);
}

static bool
is_about_fresh(const struct change *c)
{
  for (unsigned i = 0; i < c->nfresh; i++) {
    const struct gd_brick *b = &c->v->bricks[c->fresh[i]];
    GI_CLEANUP_FREE char *name = gi_asprintf("%s:%s", b->host, b->path);
    if (strstr(c->op->problem.text, name))
      return true;
  }
  return false;
}

static void
everywhere(struct gd_op *op)
{
  struct change *c = op->state;
  bool running = false;
  if (!is_about_fresh(c))
    op->problem.code = 0; /* of a brick that did not run before either */
  c->v->coming = 0;
  gd_services_changed(c->op->gd);
  if (c->resized)
    gd_shd_restart(c->v); /* its heals would keep it from taking the other bricks for long */
  else
    gd_shd_sync(c->v);
  for (unsigned i = 0; i < c->ngone; i++)
    running |= c->gone[i].state != GD_PROC_DOWN;
  if (!running) {
    finish(c);
    return;
  }
  op->waiting = c->ngone;
  for (unsigned i = 0; i < c->ngone; i++)
    gd_brick_leave(&c->gone[i], gone_ended, c);
}

/* ---- the draft comes into force ---- */

/* Here it is. The others take it over, and the bricks that left them. */
static void
in_force(struct change *c)
{
  gd_settle(c->op, c->v->name, c->again, everywhere); /* a process that died there is no reason to leave it */
}

static void
fresh_started(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  struct change *c = arg;
  note_problem(c, err);
  if (--c->op->waiting == 0)
    in_force(c);
}

static void
start_fresh(struct change *c)
{
  c->op->waiting = 1; /* our own */
  for (unsigned i = 0; i < c->nfresh && started(c); i++) {
    if (!gd_brick_is_here(&c->v->bricks[c->fresh[i]]))
      continue;
    c->op->waiting++;
    gd_brick_start(&c->v->bricks[c->fresh[i]], fresh_started, c);
  }
  if (--c->op->waiting == 0)
    in_force(c);
}

static void
stored(struct gd_op *op, const struct gi_error *err)
{
  struct change *c = op->state;
  if (err->code) {
    if (!op->gd->pool)
      GI_IGNORE(gd_store_volume(c->v, NULL)); /* what was written of the draft is undone as far as that works */
    take_back(c, err);
    return;
  }
  c->resized = c->draft->nbricks != c->v->nbricks;
  gd_volume_adopt(c->v, c->draft, &c->gone, &c->ngone);
  c->draft = NULL;
  if (started(c) && !c->attribute) /* sets that are new as a whole */
    c->v->coming = c->nfresh;
  if (c->v->rebalance.task == GD_TASK_REMOVE)
    gd_rebalance_end(c->v);
  for (unsigned i = 0; i < c->ngone; i++)
    gd_store_forget_brick(&c->gone[i]);
  start_fresh(c);
}

/* ---- before ---- */

static void
adopt(struct change *c)
{
  gd_commit(c->op, c->draft, stored);
}

static void
announced(const struct gi_error *err, void *arg)
{
  struct change *c = arg;
  struct gi_error result = *err;
  gd_announce_cancel(&c->announce);
  if (result.code)
    take_back(c, &result);
  else
    adopt(c);
}

static void
announce(struct change *c)
{
  c->announce = gd_announce(c->draft, c->attribute, c->fresh, c->nfresh, announced, c);
}

static void
old_stopped(struct gd_op *op)
{
  struct change *c = op->state;
  if (c->attribute)
    announce(c);
  else
    adopt(c); /* no other has what it is to get */
}

/* The directories are there. */
static void
go_on(struct change *c)
{
  if (c->stopped >= 0)
    gd_brick_stop_anywhere(c->op, &c->v->bricks[c->stopped], true, old_stopped);
  else if (c->nfresh && c->attribute)
    announce(c);
  else
    adopt(c);
}

static void
prepared(struct gd_op *op, const struct gi_error *err)
{
  struct change *c = op->state;
  if (err->code) {
    note_problem(c, err);
    finish(c);
  } else {
    go_on(c);
  }
}

/* All checks are passed: makes and marks the directories of the new bricks. GD_OP_LATER, as everything that follows. */
static int
begin(struct change *c, bool force)
{
  GI_CLEANUP_FREE const struct gd_brick **bricks = gi_zalloc((c->nfresh + 1) * sizeof(*bricks));
  c->v->busy = true;
  if (!c->nfresh) {
    go_on(c);
    return GD_OP_LATER;
  }
  for (unsigned i = 0; i < c->nfresh; i++)
    bricks[i] = &c->draft->bricks[c->fresh[i]];
  const struct gd_brick *again = same_place(c, bricks[0]) ? &c->v->bricks[c->stopped] : NULL;
  c->again = again != NULL;
  c->prepare = gd_prepare_new(c->op, &c->v->id, bricks, c->nfresh);
  gd_prepare_run(c->prepare, force, c->attribute != NULL, again, prepared);
  return GD_OP_LATER;
}

/* ---- replace-brick and reset-brick ---- */

static int
check_started(struct gd_op *op, struct gi_error *err)
{
  if (op->volume->status == GD_STARTED)
    return 0;
  return gi_error_set(err, GD_ERR_MGMT, "volume: %s is not started", op->volume->name);
}

/* Nobody has what is on the old brick. */
static int
check_replicated(struct gd_op *op, struct gi_error *err)
{
  if (check_started(op, err))
    return -1;
  if (op->volume->type == GD_DISTRIBUTE)
    return gi_error_set(err, GD_ERR_MGMT,
                        "replace-brick is not permitted on distribute only volumes. Please use add-brick and remove-brick "
                        "operations instead.");
  return 0;
}

static struct gd_brick *
source_brick(struct gd_op *op, struct gi_error *err)
{
  const char *name = gd_op_str(op, "source");
  struct gd_brick *b = name ? gd_volume_find_brick(op->volume, name) : NULL;
  if (!b)
    gi_error_set(err, GD_ERR_MGMT, "brick: %.256s does not exist in volume: %s", name ? name : "", op->volume->name);
  return b;
}

static int
begin_replacing(struct gd_op *op, const struct gd_brick *source, char *host, char *path, bool force, struct gi_error *err)
{
  struct change *c = change_new(op, op->volume->type == GD_DISTRIBUTE ? NULL : "trusted.replace-brick", 1);
  struct gd_brick *b = &c->draft->bricks[source->index];
  gi_free(b->host);
  gi_free(b->path);
  b->host = host;
  b->path = path;
  b->port = 0;
  c->stopped = (int)source->index;
  c->fresh[c->nfresh++] = source->index;
  if (gd_brick_find_node(op->gd, b, err) ||
      (!same_place(c, b) && gd_check_neighbours(c->v, c->v->nbricks, b, err))) { /* the files of the old one go last */
    err->code = GD_ERR_MGMT;
    return GD_OP_FAILED;
  }
  return begin(c, force);
}

static int
replace_by(struct gd_op *op, const char *target, struct gi_error *err)
{
  char *host, *path;
  const struct gd_brick *source = source_brick(op, err);
  if (!source)
    return GD_OP_FAILED;
  if (prog_brick_parse(target ? target : "", &host, &path, err))
    return GD_OP_FAILED;
  struct gd_node *n;
  bool known = gd_node_named(op->gd, host, &n),
       own = known && strcmp(path, source->path) == 0 && gd_node_has(op->gd, n, source);
  if (own || !known) {
    gi_error_set(err, GD_ERR_MGMT,
                 own ? "Brick: %s:%s not available. Brick may be containing or be contained by an existing brick."
                     : "%s, is not a friend",
                 host, path);
    gi_free(host);
    gi_free(path);
    return GD_OP_FAILED;
  }
  return begin_replacing(op, source, host, path, true, err);
}

/* The nodes were asked meanwhile. */
static int
placed(struct gd_op *op, const json_t *bricks, struct gi_error *err)
{
  op->volume = gd_volume_find(op->gd, gd_op_str(op, "volume"));
  if (!op->volume)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %.256s does not exist", gd_op_str(op, "volume"));
  if (check_replicated(op, err) || gd_check_no_rebalance(op->volume, err))
    return GD_OP_FAILED;
  return replace_by(op, json_string_value(json_array_get(bricks, 0)), err);
}

int
gd_op_replace_brick(struct gd_op *op, struct gi_error *err)
{
  if (check_replicated(op, err) || gd_check_no_rebalance(op->volume, err))
    return GD_OP_FAILED;
  if (!gd_op_flag(op, "here"))
    return replace_by(op, gd_op_str(op, "target"), err);
  const struct gd_brick *source = source_brick(op, err);
  if (!source)
    return GD_OP_FAILED;
  const struct gd_place_wish wish = {.volume = op->volume->name,
                                     .sets = 1,
                                     .copies = 1,
                                     .force = gd_op_flag(op, "force"),
                                     .only = &op->gd->uuid,
                                     .like = source->path};
  return gd_place(op, &wish, placed, err);
}

static void
reset_stopped(struct gd_op *op)
{
  op->volume->busy = false;
  gd_op_finish(op, NULL);
}

int
gd_op_reset_brick(struct gd_op *op, struct gi_error *err)
{
  char *host, *path;
  if (check_started(op, err))
    return GD_OP_FAILED;
  struct gd_brick *source = source_brick(op, err);
  const char *target = gd_op_str(op, "target");
  if (!source)
    return GD_OP_FAILED;
  if (!target) {
    op->volume->busy = true;
    gd_brick_stop_anywhere(op, source, false, reset_stopped);
    return GD_OP_LATER;
  }
  if (prog_brick_parse(target, &host, &path, err))
    return GD_OP_FAILED;
  bool same = strcmp(path, source->path) == 0 && strcasecmp(host, source->host) == 0;
  if (same && source->state == GD_PROC_DOWN)
    return begin_replacing(op, source, host, path, gd_op_flag(op, "force"), err);
  gi_free(host);
  gi_free(path);
  return gi_error_set(err, GD_ERR_MGMT,
                      same ? "Source brick must be stopped. Please use gluster volume reset-brick <volname> <dst-brick> start."
                           : "When destination brick is new, please use gluster volume replace-brick <volname> <src-brick> "
                             "<dst-brick> commit force");
}

/* ---- add-brick ---- */

/* Persistent ids are never given to another brick while it is there. */
static unsigned
next_id(const struct gd_volume *v)
{
  size_t prefix = strlen(v->name) + strlen("-client-");
  unsigned next = 0;
  for (unsigned i = 0; i < v->nbricks; i++) {
    const char *id = v->bricks[i].id;
    unsigned long n = strlen(id) > prefix ? strtoul(id + prefix, NULL, 10) : 0;
    if (n >= next && n < 1u << 30)
      next = (unsigned)n + 1;
  }
  return next;
}

static int
draft_brick(struct change *c, const char *text, struct gi_error *err)
{
  struct gd_volume *d = c->draft;
  struct gd_brick b = {.volume = d, .index = d->nbricks};
  if (prog_brick_parse(text, &b.host, &b.path, err))
    return -1;
  if (gd_brick_find_node(c->op->gd, &b, err) || gd_check_neighbours(d, d->nbricks, &b, err)) {
    err->code = GD_ERR_MGMT;
    gi_free(b.host);
    gi_free(b.path);
    return -1;
  }
  b.id = gi_asprintf("%s-client-%u", d->name, next_id(d));
  d->bricks = gi_realloc(d->bricks, (d->nbricks + 1) * sizeof(*d->bricks));
  c->fresh[c->nfresh++] = d->nbricks;
  d->bricks[d->nbricks++] = b;
  return 0;
}

static int
check_counts_added(const struct gd_op *op, long replica, long arbiter, size_t count, struct gi_error *err)
{
  const struct gd_volume *v = op->volume;
  if (!replica)
    return count % v->replica
               ? gi_error_set(err, GD_ERR_MGMT, "Incorrect number of bricks supplied %zu with count %u", count, v->replica)
               : 0;
  if (v->type != GD_REPLICATE)
    return gi_error_set(err, EOPNOTSUPP, "this version cannot turn a distributed volume into a replicated one");
  if (arbiter && v->replica != 2)
    return gi_error_set(err, GD_ERR_MGMT, "Cannot convert replica %u volume to arbiter volume.", v->replica);
  if (replica <= (long)v->replica)
    return gi_error_set(err, GD_ERR_MGMT, "Incorrect replica count (%ld) supplied. Volume already has (%u)", replica,
                        v->replica);
  if (v->arbiter)
    return gi_error_set(err, GD_ERR_MGMT, "Increasing replica count for arbiter volumes is not supported.");
  if (arbiter && (arbiter != 1 || replica != 3))
    return gi_error_set(err, GD_ERR_MGMT,
                        "For arbiter configuration, replica count must be 3 and arbiter count must be 1. The 3rd brick of the "
                        "replica will be the arbiter");
  if (replica > REPLICA_MAX)
    return gi_error_set(err, GD_ERR_MGMT, "a replica set has at most %d bricks", REPLICA_MAX);
  if (count != (size_t)(replica - (long)v->replica) * gd_volume_sets(v))
    return gi_error_set(err, GD_ERR_MGMT, "Incorrect number of bricks (%zu) supplied for replica count (%ld).", count, replica);
  return 0;
}

/* The bricks at the end of the draft, which raise the number of copies, go to their sets. */
static void
deal_to_sets(struct change *c, unsigned replica)
{
  struct gd_volume *d = c->draft;
  unsigned had = d->replica, more = replica - had, sets = c->nfresh / more;
  struct gd_brick *bricks = gi_zalloc(d->nbricks * sizeof(*bricks));
  GI_ASSERT(d->nbricks == sets * replica);
  for (unsigned i = 0; i < d->nbricks; i++) {
    unsigned set = i / replica, k = i % replica;
    bricks[i] = d->bricks[k < had ? set * had + k : sets * had + set * more + k - had];
    bricks[i].index = i;
    if (k >= had)
      c->fresh[set * more + k - had] = i;
  }
  gi_free(d->bricks);
  d->bricks = bricks;
  d->replica = replica;
}

static int
check_all_up(const struct gd_volume *v, struct gi_error *err)
{
  if (v->status == GD_STOPPED)
    return gi_error_set(err, GD_ERR_MGMT, " Volume must not be in stopped state when replica-count needs to  be increased.");
  for (unsigned i = 0; v->status == GD_STARTED && i < v->nbricks; i++)
    if (gd_brick_is_here(&v->bricks[i]) && !gd_brick_online(&v->bricks[i]))
      return gi_error_set(err, GD_ERR_MGMT,
                          "Brick %s:%s is down, changing replica count needs all the bricks to be up to avoid data loss",
                          v->bricks[i].host, v->bricks[i].path);
  return 0;
}

int
gd_op_add_brick(struct gd_op *op, struct gi_error *err)
{
  const char *name = gd_op_str(op, "volume");
  const json_t *bricks = gd_op_strings(op, "bricks");
  size_t count = json_array_size(bricks);
  long replica = gd_op_int(op, "replica", 0), arbiter = gd_op_int(op, "arbiter", 0);
  bool force = gd_op_flag(op, "force");
  if (!op->volume)
    return gi_error_set(err, GD_ERR_MGMT, "Unable to get volinfo for volume name %.256s", name ? name : "");
  if (!bricks || !count || count > GD_BRICKS_MAX)
    return gi_error_set(err, EINVAL, "the request has no usable list of bricks");
  if (gd_check_no_rebalance(op->volume, err) || check_counts_added(op, replica, arbiter, count, err) ||
      (replica && check_all_up(op->volume, err)))
    return GD_OP_FAILED;
  /* A set that is new as a whole has nobody to hold anything against it. */
  bool announces = replica && op->volume->status == GD_STARTED;
  struct change *c = change_new(op, announces ? "trusted.add-brick" : NULL, (unsigned)count);
  for (size_t i = 0; i < count; i++)
    if (draft_brick(c, json_string_value(json_array_get(bricks, i)), err))
      return GD_OP_FAILED;
  if (replica) {
    deal_to_sets(c, (unsigned)replica);
    c->draft->arbiter = (unsigned)arbiter;
  }
  if (!force && gd_check_spread(c->draft, err)) {
    err->code = GD_ERR_MGMT;
    return GD_OP_FAILED;
  }
  return begin(c, force);
}

/* ---- remove-brick ---- */

int
gd_check_sets_removed(const struct gd_volume *v, size_t count, struct gi_error *err)
{
  if (count >= v->nbricks)
    return gi_error_set(
        err, GD_ERR_MGMT,
        v->type == GD_REPLICATE && gd_volume_sets(v) == 1
            ? "Removing bricks from replicate configuration is not allowed without reducing replica count explicitly."
            : "Deleting all the bricks of the volume is not allowed");
  if (gd_volume_sets(v) == 1)
    return gi_error_set(
        err, GD_ERR_MGMT,
        "Removing bricks from replicate configuration is not allowed without reducing replica count explicitly.");
  if (count % gd_volume_set_size(v))
    return gi_error_set(err, GD_ERR_MGMT, "Remove brick incorrect brick count of %zu for replica %u", count, v->replica);
  return 0;
}

static int
check_counts_removed(const struct gd_volume *v, long replica, size_t count, struct gi_error *err)
{
  if (v->type != GD_REPLICATE && replica)
    return gi_error_set(err, GD_ERR_MGMT, "Deleting all the bricks of the volume is not allowed");
  if (!replica || (replica == (long)v->replica && gd_volume_sets(v) > 1))
    return gd_check_sets_removed(v, count, err);
  if (replica > (long)v->replica)
    return gi_error_set(err, GD_ERR_MGMT, "given replica count (%ld) option is more than volume %s's replica count (%u)",
                        replica, v->name, v->replica);
  if (replica == (long)v->replica)
    return gi_error_set(err, GD_ERR_MGMT, "number of bricks provided (%zu) is not valid. need at least %u (or %uxN)", count,
                        v->replica, v->replica);
  if (replica < 1 || count != (size_t)((long)v->replica - replica) * gd_volume_sets(v))
    return gi_error_set(err, GD_ERR_MGMT, "need %ld(xN) bricks for reducing replica count of the volume from %u to %ld",
                        (long)v->replica - replica, v->replica, replica);
  return 0;
}

static int
check_action(struct gd_op *op, const json_t *bricks, struct gi_error *err)
{
  const char *action = gd_op_str(op, "action");
  if (action && strcmp(action, "force") == 0)
    return gd_check_removable(op->volume, bricks, err);
  if (action && strcmp(action, "start") == 0)
    return gi_error_set(err, GD_ERR_MGMT,
                        "Migration of data is not needed when reducing replica count. Use the 'force' option");
  if (action && strcmp(action, "commit") == 0)
    return gi_error_set(err, GD_ERR_MGMT, "Brick %.256s is not decommissioned. Use start or force option",
                        json_string_value(json_array_get(bricks, 0)));
  return gi_error_set(err, GD_ERR_MGMT, "remove-brick not started for volume %s.", op->volume->name);
}

static void
drop_from_draft(struct gd_volume *d, struct gd_brick *b)
{
  unsigned at = (unsigned)(b - d->bricks);
  gi_free(b->host);
  gi_free(b->path);
  gi_free(b->id);
  memmove(b, b + 1, (d->nbricks - at - 1) * sizeof(*b));
  d->nbricks--;
  for (unsigned i = at; i < d->nbricks; i++)
    d->bricks[i].index = i;
}

int
gd_mark_removed(const struct gd_volume *v, const json_t *bricks, bool *leaves, struct gi_error *err)
{
  for (size_t i = 0; i < json_array_size(bricks); i++) {
    const char *text = json_string_value(json_array_get(bricks, i));
    const struct gd_brick *b = gd_volume_find_brick((struct gd_volume *)v, text);
    if (!b)
      return gi_error_set(err, GD_ERR_MGMT, "Incorrect brick %.256s for volume %s", text, v->name);
    leaves[b->index] = true;
  }
  return 0;
}

/* Of each set `want` bricks leave, or, as whole sets, all or none. */
static int
check_sets(const struct gd_volume *v, const bool *leaves, unsigned want, struct gi_error *err)
{
  unsigned size = gd_volume_set_size(v);
  for (unsigned s = 0; s < gd_volume_sets(v); s++) {
    unsigned n = 0;
    for (unsigned k = 0; k < size; k++)
      n += leaves[s * size + k];
    if (want && n != want)
      return gi_error_set(err, GD_ERR_MGMT, "Remove exactly %u brick(s) from each subvolume.", want);
    if (!want && n && n != size)
      return gi_error_set(err, GD_ERR_MGMT, "Bricks not from same subvol for replica");
    if (want && v->arbiter && !leaves[s * size + size - 1])
      return gi_error_set(err, GD_ERR_MGMT, "Only the arbiter brick can be removed from the arbiter volume %s", v->name);
  }
  return 0;
}

int
gd_check_whole_sets(const struct gd_volume *v, const bool *leaves, struct gi_error *err)
{
  return check_sets(v, leaves, 0, err);
}

static int
drop_bricks(const struct gd_volume *v, struct gd_volume *d, const json_t *bricks, unsigned want, struct gi_error *err)
{
  GI_CLEANUP_FREE bool *leaves = gi_zalloc(v->nbricks * sizeof(*leaves));
  if (gd_mark_removed(v, bricks, leaves, err) || check_sets(v, leaves, want, err))
    return -1;
  for (unsigned i = v->nbricks; i-- > 0;)
    if (leaves[i])
      drop_from_draft(d, &d->bricks[i]);
  return 0;
}

int
gd_remove_sets(struct gd_op *op, const json_t *bricks, struct gi_error *err)
{
  struct change *c = change_new(op, NULL, 0);
  return drop_bricks(c->v, c->draft, bricks, 0, err) ? GD_OP_FAILED : begin(c, false);
}

int
gd_op_remove_brick(struct gd_op *op, struct gi_error *err)
{
  const struct gd_volume *v = op->volume;
  const json_t *bricks = gd_op_strings(op, "bricks");
  long replica = gd_op_int(op, "replica", 0);
  if (!bricks || !json_array_size(bricks))
    return gi_error_set(err, EINVAL, "the request has no usable list of bricks");
  const char *action = gd_op_str(op, "action");
  bool sets = !replica || (replica == (long)v->replica && gd_volume_sets(v) > 1);
  if (sets && action && strcmp(action, "force") != 0)
    return gd_op_remove_gradually(op, bricks, action, err);
  if (check_counts_removed(v, replica, json_array_size(bricks), err) || check_action(op, bricks, err))
    return GD_OP_FAILED;
  if (sets)
    return gd_remove_sets(op, bricks, err);
  struct change *c = change_new(op, NULL, 0);
  struct gd_volume *d = c->draft;
  if (drop_bricks(v, d, bricks, v->replica - (unsigned)replica, err))
    return GD_OP_FAILED;
  d->replica = (unsigned)replica;
  d->arbiter = 0;
  if (replica == 1) {
    d->type = GD_DISTRIBUTE;
    gd_options_set(&d->options, "performance.client-io-threads", "on");
  }
  return begin(c, false);
}
