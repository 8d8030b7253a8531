/* SPDX-License-Identifier: Apache-2.0
 *
 * A child got a new, empty brick (replicate.md 7.12): the management says so
 * by setting trusted.add-brick or trusted.replace-brick on the root, with the
 * name of the child as the value. All other children are told to hold it
 * against that child that it has missed everything, so that nobody reads from
 * it before the self-heal has filled it.
 */
#include "xlators/cluster/replicate/ops/ops.h"

static const char *
named_child(const struct gi_fop *fop)
{
  static const char *const command[] = {"trusted.add-brick", "trusted.replace-brick"};
  const char *name = NULL;

  for (size_t i = 0; i < GI_ARRAY_LEN(command) && !name; i++)
    gi_dict_get_str(fop->args.dict, command[i], &name);
  return name;
}

static struct gi_dict *
blame(const struct rep *rep, unsigned child, enum rep_type type)
{
  struct gi_dict *d = rep_marks_dict(rep, 1u << child, type, 0);
  int32_t slot[REP_TYPES] = {0};

  if (type == REP_ENTRY && rep_opts(rep)->granular_entry_heal) {
    slot[REP_ENTRY] = 1;
    slot[REP_DATA] = 1; /* no index knows what is missing: the healer must crawl */
    rep_marks_set(d, rep->pending_key[child], slot);
  }
  return d;
}

/* 0, or the errno when a child that is up could not be told. */
static int
mark_new_brick(struct rep_heal *h, unsigned child, enum rep_type type)
{
  struct rep_heal_lock lock = {.entry = type == REP_ENTRY, .inode = h->inode, .start = REP_META_START};
  uint32_t others = h->rep->up & ~(1u << child), told = 0;

  GI_ASSERT(child < h->rep->n);
  if (!others)
    return ENOTCONN;
  if (rep_heal_lock(h, &lock, REP_LOCK_WAIT, others) == others) {
    struct gi_fop *fop = rep_heal_inode_fop(h, GI_FOP_XATTROP, h->inode);

    fop->args.flags = GI_XATTROP_ADD32;
    fop->args.dict = blame(h->rep, child, type);
    told = rep_heal_all(h, fop, others);
  }
  rep_heal_unlock(h, &lock);
  return told == others ? 0 : ENOTCONN;
}

static void
announce(void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  int child = rep_child_named(rep, named_child(fop)), err = 0;
  struct rep_heal h;

  if (child >= 0) { /* else it belongs to another replica set, which is told as well */
    rep_heal_begin(&h, rep, &gi_gfid_root, GI_PID_ADD_BRICK);
    err = mark_new_brick(&h, (unsigned)child, REP_META);
    err = err ? err : mark_new_brick(&h, (unsigned)child, REP_ENTRY);
    gi_log(err ? GI_LOG_ERROR : GI_LOG_INFO, rep->x->name, GI_MSG_REPLICATE + 4, "%s has a new brick: %s",
           rep->x->children[child]->name,
           err ? "not all other bricks could be told" : "the other bricks know that it lacks everything");
    rep_heal_end(&h);
  }
  rep_answer(rep, fop, err ? -1 : 0, err);
}

bool
rep_new_brick_command(struct rep *rep, struct gi_fop *fop)
{
  const struct gi_inode *inode = rep_fop_inode(fop);

  if (fop->kind != GI_FOP_SETXATTR || fop->caller.pid != GI_PID_ADD_BRICK || !inode || !gi_gfid_is_root(&inode->gfid) ||
      !named_child(fop))
    return false;
  gi_task_start(rep->x->reactor, announce, fop);
  return true;
}
