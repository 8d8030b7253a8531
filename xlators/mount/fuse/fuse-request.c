/* SPDX-License-Identifier: Apache-2.0
 *
 * From a request to an operation and back: who calls, who owns locks, which
 * groups; sending it down; what becomes of errors.
 */
#include "fuse-internal.h"

#include "libglusterish/steps.h"

#define GROUPS_USUAL 64 /* most that are asked for at first */

/* ---- the caller ---- */

static struct group_slot *
group_slot(struct bridge *b, const struct fuse_ctx *c)
{
  uint32_t h = ((uint32_t)c->pid * 2654435761u) ^ ((uint32_t)c->uid * 40503u) ^ (uint32_t)c->gid;

  return &b->groups[h % GROUP_SLOTS];
}

void
groups_free(struct bridge *b)
{
  for (unsigned i = 0; i < GROUP_SLOTS; i++)
    gi_free(b->groups[i].group);
  gi_free(b->groups);
}

/* Fills in the groups of whoever sent `req`; they may change while they are read. */
static void
read_groups(fuse_req_t req, struct group_slot *s)
{
  uint32_t room = GROUPS_USUAL, n = 0;

  for (;;) {
    gi_free(s->group);
    s->group = gi_alloc(room * sizeof(*s->group));

    int got = fuse_req_getgroups(req, (int)room, s->group);

    n = got < 0 ? 0 : got > (int)GI_CALLER_GROUPS ? GI_CALLER_GROUPS : (uint32_t)got;
    if (n <= room)
      break;
    room = n;
  }
  GI_ASSERT(n <= room && n <= GI_CALLER_GROUPS);
  s->count = n;
}

/* The kernel does not send supplementary groups; they are read from /proc and remembered per process (fuse.md 4). */
static const struct group_slot *
groups_of(struct bridge *b, fuse_req_t req, const struct fuse_ctx *c)
{
  struct group_slot *s = group_slot(b, c);
  uint64_t now = gi_now(b->x->reactor);

  if (s->until_ns > now && s->pid == (uint32_t)c->pid && s->uid == c->uid && s->gid == c->gid)
    return s;
  *s = (struct group_slot){.pid = (uint32_t)c->pid, .uid = c->uid, .gid = c->gid, .group = s->group};
  s->until_ns = now + bridge_options(b)->gid_timeout * GI_NSEC_PER_SEC;
  read_groups(req, s);
  return s;
}

static void
fill_caller(struct bridge *b, fuse_req_t req, struct gi_fop *fop)
{
  const struct fuse_ctx *c = fuse_req_ctx(req);
  struct gi_caller *caller = &fop->caller;

  caller->pid = c->pid;
  caller->uid = c->uid;
  caller->gid = c->gid;
  caller->time = gi_wall(b->x->reactor);
  /* Ordinary operations carry the pid as owner, 4 bytes little-endian (wire.md 1.5). */
  caller->owner.len = 4;
  memcpy(caller->owner.data, &(uint32_t){(uint32_t)c->pid}, 4);
  if (c->uid == 0 || c->pid == 0) /* root needs none; pid 0 is the kernel itself or another pid namespace */
    return;

  const struct group_slot *s = groups_of(b, req, c);

  if (s->count == 0)
    return;

  uint32_t *groups = gi_fop_alloc(fop, s->count * sizeof(*groups));

  memcpy(groups, s->group, s->count * sizeof(*groups));
  caller->groups = groups;
  caller->ngroups = s->count;
}

void
op_set_owner(struct gi_fop *fop, uint64_t owner)
{
  if (owner == 0)
    return;
  fop->caller.owner.len = sizeof(owner);
  memcpy(fop->caller.owner.data, &owner, sizeof(owner));
}

void
op_set_root(struct gi_fop *fop)
{
  fop->caller.uid = fop->caller.gid = 0;
  fop->caller.ngroups = 0;
  fop->caller.groups = NULL;
}

/* ---- life of an op ---- */

struct gi_fop *
op_new(struct bridge *b, fuse_req_t req, enum gi_fop_kind kind)
{
  struct gi_fop *fop = gi_fop_new(b->x->graph, kind);

  GI_ASSERT(req && b->session);
  op_of(b, fop)->req = req;
  op_of(b, fop)->session = session_ref(b->session);
  gi_fop_came(fop, b->x, b->came ? b->came : gi_ticks(b->x->reactor));
  fill_caller(b, req, fop);
  return fop;
}

void
op_new_gfid(struct bridge *b, struct gi_fop *fop)
{
  struct gi_gfid gfid = gi_gfid_next(&b->gfids, b->x->reactor);

  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &gfid);
}

void
op_changes(struct bridge *b, struct gi_fop *fop, struct gi_inode *inode)
{
  node_change_begins(b, fop, inode);
  upcall_changing(b, inode);
}

/* The kernel holds the lock of a directory whose names it changes until that is answered, so it takes in no other change meanwhile. */
static void
count_naming(struct bridge *b, struct gi_fop *fop, int by)
{
  const struct gi_fop_info *info = &gi_fop_table[fop->kind];
  struct gi_loc *at[] = {&fop->loc, &fop->loc2};

  if (!(info->classes & GI_CLASS_ENTRY) || !(info->classes & GI_CLASS_WRITE) || op_of(b, fop)->naming == (by > 0))
    return;
  op_of(b, fop)->naming = by > 0;
  for (unsigned i = 0; i < GI_ARRAY_LEN(at); i++)
    if (at[i]->name && at[i]->parent) {
      GI_ASSERT(by > 0 || node_of(b, at[i]->parent)->naming > 0);
      node_of(b, at[i]->parent)->naming += (uint32_t)by;
      node_of(b, at[i]->parent)->named++;
      if (by > 0)
        upcall_changing(b, at[i]->parent);
    }
}

#define NAME_GOES (GI_KIND(GI_FOP_UNLINK) | GI_KIND(GI_FOP_RENAME))

/* A file loses a name, and it is not known which: it may be any. */
static bool
is_nameless(const struct gi_fop *fop)
{
  return (fop->kind == GI_FOP_UNLINK && !fop->loc.inode) ||
         (fop->kind == GI_FOP_RENAME && !fop->loc2.inode && !gi_dict_get(fop->xdata, GI_NOREPLACE_KEY));
}

void
op_submit(struct bridge *b, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *x))
{
  if (!b->delays(b, fop, done))
    op_send(b, fop, done);
}

void
op_send(struct bridge *b, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *x))
{
  GI_ASSERT(done && op_of(b, fop)->began <= b->order.clock);
  op_of(b, fop)->nameless = is_nameless(fop);
  b->order.names += op_of(b, fop)->nameless;
  count_naming(b, fop, 1);
  op_of(b, fop)->seq = b->order.clock;
  gi_fop_submit(fop, gi_first_child(b->x), done, b->x);
}

void
op_end(struct bridge *b, struct gi_fop *fop)
{
  struct op *op = op_of(b, fop);

  GI_ASSERT((op->req != NULL) == (op->session != NULL)); /* a request needs it to be answered, a helper has none */
  GI_ASSERT(op->looks == 0 && op->seq <= b->order.clock);
  gi_fop_over(fop);
  if (op->cancellable)
    gi_defer_cancel(&op->cancel);
  b->order.names += op->nameless || (NAME_GOES & GI_KIND(fop->kind) && fop->rsp.ret < 0); /* who knows what was done then */
  count_naming(b, fop, -1);
  if (op->changes)
    node_change_ended(b, fop);
  session_unref(&op->session);
  gi_fop_unref(fop);
}

static void
cancel_now(void *arg)
{
  gi_fop_cancel(arg);
}

/* libfuse calls this with a lock of the request held, so the answer must not be written from here. */
static void
interrupted(fuse_req_t req, void *arg)
{
  struct gi_fop *fop = arg;
  struct bridge *b = bridge_of_req(req);
  struct op *op = op_of(b, fop);

  gi_defer_add(b->x->reactor, &op->cancel);
}

void
op_interruptible(struct bridge *b, struct gi_fop *fop)
{
  struct op *op = op_of(b, fop);

  GI_ASSERT(op->req && !op->cancellable);
  gi_defer_init(&op->cancel, cancel_now, fop);
  op->cancellable = true;
  fuse_req_interrupt_func(op->req, interrupted, fop);
}

void
op_uninterruptible(struct bridge *b, struct gi_fop *fop)
{
  struct op *op = op_of(b, fop);

  if (!op->cancellable)
    return;
  fuse_req_interrupt_func(op->req, NULL, NULL);
  gi_defer_cancel(&op->cancel);
  op->cancellable = false;
}

/* Takes them off on behalf of `main`; `gone` hears of it. */
static void
take_privilege(struct bridge *b, struct gi_fop *main, struct gi_inode *inode, uint32_t mode,
               void (*gone)(struct gi_fop *fop, void *x), void (*done)(struct gi_fop *fop, void *x))
{
  struct gi_fop *fop = gi_fop_helper(main, GI_FOP_SETATTR);

  GI_ASSERT(op_of(b, main)->req && (mode & ~07777u) == 0);
  op_set_root(fop);
  gi_loc_set_inode(&fop->loc, inode);
  fop->args.valid = GI_SET_MODE;
  fop->args.iatt.mode = mode;
  op_of(b, fop)->next_done = done;
  op_changes(b, fop, inode);
  op_submit(b, fop, gone);
}

static void
privilege_gone(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *main = fop->parent;
  struct op *op = op_of(b, fop);

  GI_ASSERT(main && op->next_done);
  if (fop->rsp.ret < 0) {
    reply_err(b, op_of(b, main)->req, err_of_node(fop));
    op_end(b, fop);
    op_end(b, main);
    return;
  }
  node_mode_fell(b, fop->loc.inode, &fop->rsp.post);

  void (*done)(struct gi_fop *, void *) = op->next_done;

  op_end(b, fop);
  op_submit(b, main, done);
}

void
op_submit_unprivileged(struct bridge *b, struct gi_fop *fop, struct gi_inode *inode, void (*done)(struct gi_fop *fop, void *x))
{
  uint32_t mode = node_of(b, inode)->trust.attr.mode;

  op_of(b, fop)->kill = true;
  if (kills_mode(&mode))
    take_privilege(b, fop, inode, mode, privilege_gone, done);
  else
    op_submit(b, fop, done);
}

static void
privilege_gone_after(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *main = fop->parent;
  void (*done)(struct gi_fop *, void *) = op_of(b, fop)->next_done;

  GI_ASSERT(main->answered && done);
  if (fop->rsp.ret < 0) {
    main->rsp.ret = -1;
    main->rsp.err = fop->rsp.err;
  } else {
    node_mode_fell(b, fop->loc.inode, &fop->rsp.post);
    main->rsp.post.mode = node_of(b, fop->loc.inode)->trust.attr.mode;
  }
  op_end(b, fop);
  done(main, arg);
}

bool
op_still_privileged(struct bridge *b, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *x))
{
  struct op *op = op_of(b, fop);
  uint32_t mode = fop->rsp.post.mode;

  if (!op->kill || fop->rsp.ret < 0 || !kills_mode(&mode))
    return false;
  GI_ASSERT(op->changes);
  op->kill = false;
  take_privilege(b, fop, op->changes, mode, privilege_gone_after, done);
  return true;
}

/* ---- answers ---- */

int
reply_result(struct bridge *b, int res)
{
  if (res == -ENOENT)
    b->m.interrupted++;
  else if (res < 0)
    b->m.reply_errors++;
  return res;
}

void
reply_err(struct bridge *b, fuse_req_t req, int err)
{
  /* Numbers from 512 on are the kernel's own: it takes no answer with one, and the caller would wait for ever. */
  reply_result(b, fuse_reply_err(req, err < 0 || err >= 512 ? EIO : err));
}

int
err_of_node(const struct gi_fop *fop)
{
  int err = fop->rsp.err ? fop->rsp.err : EIO;

  return err == ENOENT ? ESTALE : err;
}

bool
is_removed(const struct bridge *b, const struct gi_fop *fop)
{
  return fop->rsp.ret < 0 && err_of_node(fop) == ESTALE && node_of(b, fop->loc.inode)->removed;
}

void
done_status(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  int err = fop->rsp.err ? fop->rsp.err : EIO;

  reply_err(b, op_of(b, fop)->req, fop->rsp.ret < 0 ? err : 0);
  op_end(b, fop);
}

void
done_status_node(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  reply_err(b, op_of(b, fop)->req, fop->rsp.ret < 0 ? err_of_node(fop) : 0);
  op_end(b, fop);
}
