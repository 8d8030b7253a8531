/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations: out to the brick, held until the reply, back up. One path for
 * every kind; the codec knows the fields. Payload goes and comes by reference.
 */
#include "xlators/protocol/client/client.h"
#include "libglusterish/probe.h"
#include "libglusterish/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* Kinds no client may send: they are dead, or real bricks crash on them (wire.md 12). */
#define CL_NEVER_SENT \
  (GI_KIND(GI_FOP_NULL) | GI_KIND(GI_FOP_COMPOUND) | GI_KIND(GI_FOP_SETACTIVELK) | GI_KIND(GI_FOP_NAMELINK) | \
   GI_KIND(GI_FOP_PUT) | GI_KIND(GI_FOP_RELEASE) | GI_KIND(GI_FOP_RELEASEDIR))

#define CL_PRIVATE_PREFIX "glusterish." /* of keys of ours in xdata */
#define CL_OPENING (GI_KIND(GI_FOP_OPEN) | GI_KIND(GI_FOP_CREATE) | GI_KIND(GI_FOP_OPENDIR))

/* ---- blocking locks ---- */

static bool
cl_is_entry_lock(enum gi_fop_kind kind)
{
  return kind == GI_FOP_ENTRYLK || kind == GI_FOP_FENTRYLK;
}

static bool
cl_is_lock(enum gi_fop_kind kind)
{
  return kind == GI_FOP_LK || kind == GI_FOP_INODELK || kind == GI_FOP_FINODELK || cl_is_entry_lock(kind);
}

/* Its reply may be withheld for as long as somebody else holds the lock. */
static bool
cl_may_wait(const struct gi_fop *fop)
{
  if (cl_is_entry_lock(fop->kind))
    return fop->args.cmd == GI_ENTRYLK_LOCK;
  return cl_is_lock(fop->kind) && fop->args.cmd == GI_LKCMD_SETW && fop->args.type != GI_LK_UNLOCK;
}

/* Those above may have to let others go on who wait for us. A lock of an application is its own affair: nothing of ours stands behind it. */
static void
cl_tell_wait(struct client *c, struct gi_fop *fop, bool over)
{
  struct cl_fop *call = gi_fop_private(fop, c->x);
  struct gi_lock_wait wait = {.over = over};
  if (over ? !call->waits : fop->kind == GI_FOP_LK || !cl_may_wait(fop))
    return;
  call->waits = !over;
  wait.gfid = *gi_fop_gfid(fop);
  gi_notify_up(c->x, GI_EVENT_WAITS, &wait);
}

static void
cl_undo_done(struct gi_fop *fop, void *arg)
{
  gi_fop_unref(fop);
}

/* The lock nobody waits for any more was granted after all. */
static void
cl_undo_grant(struct client *c, struct gi_fop *lock)
{
  c->metrics.late_grants_undone++;
  GI_PROBE("client: a lock granted after it was given up is undone");
  if (cl_locks_undo_grant(c, lock))
    return;
  struct gi_fop *undo = gi_fop_helper(lock, lock->kind);
  gi_loc_copy(&undo->loc, &lock->loc);
  if (lock->fd)
    gi_fop_set_fd(undo, lock->fd);
  undo->args = lock->args;
  undo->args.dict = NULL;
  if (cl_is_entry_lock(lock->kind)) {
    undo->args.cmd = GI_ENTRYLK_UNLOCK;
  } else {
    undo->args.cmd = GI_LKCMD_SET;
    undo->args.type = undo->args.flock.type = GI_LK_UNLOCK;
  }
  gi_fop_submit(undo, c->x, cl_undo_done, NULL);
}

/* Asks the brick to take our waiting request out of its queue (brick.md 9.8); a brick that does not know the name refuses. */
static void
cl_withdraw(struct client *c, struct gi_fop *lock)
{
  if (lock->kind != GI_FOP_LK || !lock->fd || !lock->fd->inode)
    return;
  struct gi_fop *ask = gi_fop_helper(lock, GI_FOP_GETXATTR);
  gi_loc_set_inode(&ask->loc, lock->fd->inode);
  char name[128];
  int len = snprintf(name, sizeof(name), "glusterfs.intrlk.tposix.kblocked.0,%llu-%llu",
                     (unsigned long long)lock->args.flock.start, (unsigned long long)lock->args.flock.len);
  ask->args.name = gi_fop_strdup(ask, name, (size_t)len);
  gi_fop_submit(ask, c->x, cl_undo_done, NULL);
}

void
cl_cancel(struct client *c, struct gi_fop *fop)
{
  if (fop->at != c->x || fop->answered || !cl_may_wait(fop))
    return;
  struct cl_fop *call = gi_fop_private(fop, c->x);
  GI_CHECK(c, CL_MAGIC);
  if (call->gave_up)
    return;
  GI_ASSERT(call->fop == fop && call->c == c);
  call->gave_up = true;
  gi_fop_ref(fop); /* until the brick's answer to it comes */
  cl_tell_wait(c, fop, true);
  cl_withdraw(c, fop);
  gi_fop_fail(fop, EINTR);
  gi_fop_answer(fop, c->x);
}

static void
cl_late_reply(struct client *c, struct gi_fop *fop, struct gi_rpc_reply *reply)
{
  GI_ASSERT(fop->answered);
  if (reply->status == 0 && reply->accept == GI_RPC_SUCCESS) {
    int32_t ret = (int32_t)gi_xdr_get_u32(&reply->in);
    if (!reply->in.failed && ret >= 0 && c->usable)
      cl_undo_grant(c, fop);
    else if (c->usable)
      cl_locks_waited(c, fop);
  }
  gi_fop_unref(fop);
}

/* ---- what goes behind an operation in its message: the fsync of a WRITE, the truncation of an OPEN ---- */

/* False: this brick does not do it. Who asks for a truncation knows that all do, so it was another one until just now. */
static bool
cl_ask_behind(const struct client *c, struct gi_fop *fop)
{
  if (fop->args.sync && c->peer_is_ours)
    gi_dict_set_uint(gi_fop_xdata(fop), GI_SYNC_KEY, fop->args.sync);
  if (!fop->args.truncates)
    return true;
  if (!c->peer_is_ours || !gi_word_in(c->capabilities, GI_TRUNCATE_CAPABILITY))
    return false;
  gi_dict_set_uint(gi_fop_xdata(fop), GI_TRUNCATE_KEY, 1);
  return true;
}

static void
cl_take_sync(struct gi_fop *fop)
{
  uint64_t n;
  if (!gi_dict_get_uint(fop->rsp.xdata, GI_SYNC_KEY, &n))
    return;
  if (fop->rsp.ret < 0 && n == GI_SYNC_FAILED)
    fop->rsp.synced = GI_SYNC_FAILED;
  else if (n == GI_SYNCED && fop->rsp.ret >= 0 && (size_t)fop->rsp.ret == fop->payload.len)
    fop->rsp.synced = GI_SYNCED;
  gi_dict_del(gi_fop_rsp_xdata(fop), GI_SYNC_KEY);
}

/* False: the brick has opened the file and does not say what became of the rest. */
static bool
cl_take_truncation(struct gi_fop *fop)
{
  const struct gi_pair *found = gi_dict_get(fop->rsp.xdata, GI_TRUNCATE_FOUND_KEY),
                       *left = gi_dict_get(fop->rsp.xdata, GI_TRUNCATE_KEY);
  if (!found || !left || found->type != GI_VALUE_IATT || left->type != GI_VALUE_IATT)
    return false;
  fop->rsp.pre = *found->iatt;
  fop->rsp.post = *left->iatt;
  gi_dict_del(gi_fop_rsp_xdata(fop), GI_TRUNCATE_FOUND_KEY);
  gi_dict_del(fop->rsp.xdata, GI_TRUNCATE_KEY);
  return true;
}

/* ---- replies ---- */

static int
cl_errno_of_accept(uint32_t accept)
{
  switch (accept) {
  case GI_RPC_PROG_UNAVAIL:
  case GI_RPC_PROG_MISMATCH:
  case GI_RPC_PROC_UNAVAIL:
    return EOPNOTSUPP;
  case GI_RPC_GARBAGE:
    return EINVAL;
  default:
    return EIO;
  }
}

/* What a successful reply changes in our own books. False: the reply contradicts itself. */
static bool
cl_take_reply(struct client *c, struct gi_fop *fop, int64_t handle, const struct gi_rpc_reply *reply, size_t offset)
{
  if (GI_KIND(fop->kind) & CL_OPENING) {
    if (handle < 0 || !fop->fd)
      return false;
    if (fop->kind == GI_FOP_CREATE && !fop->fd->inode) {
      if (gi_gfid_is_none(&fop->rsp.stat.gfid))
        return false;
      gi_fd_bind(fop->fd, &fop->rsp.stat.gfid);
    }
    cl_fd_opened(c, fop->fd, handle);
  } else if (fop->kind == GI_FOP_READ) {
    size_t at = reply->body_offset + offset, len = (size_t)fop->rsp.ret;
    const struct gi_payload *record = &reply->rec->record;
    if (len > fop->args.size || at > record->len || record->len - at < len)
      return false;
    gi_payload_slice(record, at, len, &fop->rsp.payload);
  } else {
    cl_locks_answered(c, fop);
  }
  return true;
}

/* The brick's part of a tree; for those above it is no part of the answer. */
static void
cl_take_steps(struct gi_fop *fop)
{
  const void *data;
  uint32_t len;
  struct gi_steps *steps;
  if (!gi_dict_get_bin(fop->rsp.xdata, GI_TRACE_STEPS_KEY, &data, &len))
    return;
  steps = gi_fop_steps(fop);
  gi_step_free(&steps->remote);
  steps->remote = gi_steps_decode(data, len);
  if (!steps->remote)
    GI_PROBE("client: a brick's part of a tree is malformed");
  gi_dict_del(gi_fop_rsp_xdata(fop), GI_TRACE_STEPS_KEY);
}

static void
cl_reply(struct gi_rpc_client *rpc, struct gi_rpc_reply *reply, void *arg)
{
  struct cl_fop *call = arg;
  struct client *c = call->c;
  struct gi_fop *fop = call->fop;
  GI_CHECK(c, CL_MAGIC);
  GI_ASSERT(call->gave_up || (fop->at == c->x && !fop->answered));
  if (reply->status == -ENOTCONN)
    c->usable = false; /* `down` follows; nothing may be sent into the dead connection meanwhile */
  if (call->gave_up) {
    cl_late_reply(c, fop, reply);
    return;
  }
  c->metrics.replies++;
  cl_tell_wait(c, fop, true);
  int64_t handle = -1;
  size_t offset = 0;
  if (reply->status != 0) {
    gi_fop_fail(fop,
                reply->status == -EACCES ? EACCES : ENOTCONN); /* ENOTCONN also when only this call timed out (wire.md 1.9) */
  } else if (reply->accept != GI_RPC_SUCCESS) {
    gi_fop_fail(fop, cl_errno_of_accept(reply->accept));
  } else {
    bool good = gi_fop_decode_reply(&reply->in, fop, &handle, &offset);
    if (good && fop->args.sync)
      cl_take_sync(fop);
    if (good && fop->args.truncates && fop->rsp.ret >= 0)
      good = cl_take_truncation(fop);
    if (good && fop->rsp.ret >= 0)
      good = cl_take_reply(c, fop, handle, reply, offset);
    if (!good) {
      gi_log(GI_LOG_ERROR, c->x->name, GI_MSG_CLIENT + 10, "malformed reply to %s", gi_fop_name(fop->kind));
      gi_reply_clear(&fop->rsp);
      gi_fop_fail(fop, EIO);
    }
  }
  if (fop->rsp.ret < 0) {
    c->metrics.failed_calls++;
    if (c->usable)
      cl_locks_waited(c, fop);
  }
  if (cl_asks_under_way(fop))
    cl_take_under_way(c, fop);
  if (fop->steps)
    gi_step_free(&fop->steps->remote); /* what the brick told meanwhile */
  if (gi_fop_spreads(fop))
    cl_take_steps(fop);
  gi_fop_answer(fop, c->x);
}

/* ---- requests ---- */

static const struct gi_gfid *
cl_ordering_gfid(const struct gi_fop *fop)
{
  if (fop->fd && fop->fd->inode)
    return &fop->fd->inode->gfid;
  if (!gi_gfid_is_none(&fop->loc.gfid))
    return &fop->loc.gfid;
  return &fop->loc.pargfid;
}

/* The credentials on the wire: without an owner the pid stands in, and groups only go if the volume wants them. */
struct gi_caller
cl_credentials(const struct client *c, const struct gi_fop *fop)
{
  GI_ASSERT(fop->caller.owner.len <= GI_OWNER_MAX);
  struct gi_caller who = fop->caller;
  if (!cl_opts(c)->send_gids)
    who.ngroups = 0;
  if (who.owner.len == 0) {
    who.owner.len = sizeof(who.pid);
    memcpy(who.owner.data, &who.pid, sizeof(who.pid));
  }
  return who;
}

/* The groups that the credential has no room for; a brick that cannot take them goes without (server.manage-gids helps there). */
static void
cl_more_groups(const struct client *c, struct gi_fop *fop, const struct gi_caller *who)
{
  uint32_t fit = gi_cred_groups_fit(who), more = who->ngroups - fit;
  if (more == 0 || !c->peer_is_ours || !gi_word_in(c->capabilities, GI_GROUPS_CAPABILITY))
    return;
  struct gi_xdr_out out = {0};
  for (uint32_t i = fit; i < who->ngroups; i++)
    gi_xdr_put_u32(&out, who->groups[i]);
  gi_dict_set_bin(gi_fop_xdata(fop), GI_GROUPS_KEY, out.base, (uint32_t)out.len);
  gi_xdr_out_finish(&out);
}

/* Somebody collects the tree of this operation: the brick adds its part. */
static void
cl_ask_steps(const struct client *c, struct gi_fop *fop)
{
  uint8_t id[16];
  char text[GI_TRACE_TEXT];
  if (!c->peer_is_ours)
    return;
  gi_fop_id(fop->root, id);
  gi_trace_text(id, fop->number, text);
  gi_dict_set_str(gi_fop_xdata(fop), GI_TRACE_KEY, text);
}

static int
cl_wire_handles(struct client *c, struct gi_fop *fop, struct gi_wire_fds *fds)
{
  fds->fd = fds->fd2 = GI_FD_ANONYMOUS;
  if (GI_KIND(fop->kind) & CL_OPENING)
    return fop->fd ? 0 : EBADF;
  if (gi_fop_table[fop->kind].target != GI_TARGET_FD)
    return 0;
  int err = cl_handle(c, fop->kind, fop->fd, &fds->fd);
  if (err == 0 && fop->kind == GI_FOP_COPY_FILE_RANGE)
    err = cl_handle(c, fop->kind, fop->fd2, &fds->fd2);
  return err;
}

/* What clients and bricks of ours tell each other in xdata means nothing to a brick of GlusterFS, which may take it for the name of an
 * attribute to look for. Whoever sends it need not know what it is talking to. */
static void
cl_drop_private(struct client *c, struct gi_fop *fop)
{
  struct gi_dict *kept = NULL;
  for (uint32_t i = gi_dict_count(fop->xdata); i-- > 0 && !c->peer_is_ours;) {
    const struct gi_pair *p = gi_dict_at(fop->xdata, i);
    if (strncmp(p->key, CL_PRIVATE_PREFIX, strlen(CL_PRIVATE_PREFIX)) != 0)
      continue;
    if (!kept)
      kept = gi_dict_copy(fop->xdata); /* other bricks may be sent the same one */
    gi_dict_del(kept, p->key);
  }
  if (!kept)
    return;
  gi_dict_unref(&fop->xdata);
  fop->xdata = kept;
}

static void
cl_adapt(struct client *c, struct gi_fop *fop)
{
  cl_drop_private(c, fop);
  if (fop->fd && fop->fd->inode)
    fop->loc.gfid = fop->fd->inode->gfid;
  if (fop->fd2 && fop->fd2->inode)
    fop->loc2.gfid = fop->fd2->inode->gfid;
  if (fop->kind == GI_FOP_OPEN || fop->kind == GI_FOP_CREATE)
    fop->args.flags &= CL_OPEN_FLAGS;
  if (cl_opts(c)->filter_o_direct &&
      (fop->kind == GI_FOP_OPEN || fop->kind == GI_FOP_CREATE || fop->kind == GI_FOP_READ || fop->kind == GI_FOP_WRITE))
    fop->args.flags &= ~(uint32_t)O_DIRECT;
}

/* The brick would replace what is there. */
static bool
cl_would_replace(const struct client *c, const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_RENAME && gi_dict_get(fop->xdata, GI_NOREPLACE_KEY) &&
         !(c->peer_is_ours && gi_word_in(c->capabilities, GI_NOREPLACE_CAPABILITY));
}

enum gi_verdict
cl_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  struct client *c = cl_of(x);
  if (fop->kind == GI_FOP_LK && fop->args.cmd == GI_LKCMD_REMEMBER) {
    if (fop->args.type != GI_LK_UNLOCK)
      return cl_locks_remember(c, fop);
    if (cl_locks_restore(c, fop))
      return gi_fop_ok(fop, 0);
    fop->args.cmd = GI_LKCMD_SET;
  }
  cl_locks_submitted(c, fop);
  if (!c->usable)
    return gi_fop_fail(fop, ENOTCONN);
  cl_assert(c);
  if (cl_give_back_lock(c, fop) || cl_give_back_counters(c, fop))
    return gi_fop_ok(fop, 0);
  if ((GI_KIND(fop->kind) & CL_NEVER_SENT) || cl_would_replace(c, fop))
    return gi_fop_fail(fop, EOPNOTSUPP);
  struct gi_wire_fds fds;
  int err = cl_wire_handles(c, fop, &fds);
  if (err)
    return gi_fop_fail(fop, err);
  cl_adapt(c, fop);
  if ((fop->args.sync || fop->args.truncates) && !cl_ask_behind(c, fop))
    return gi_fop_fail(fop, ENOTCONN);
  cl_locks_mark(c, fop);
  if (cl_asks_under_way(fop) && !cl_ask_under_way(c, fop))
    return gi_fop_fail(fop, ENODATA);
  if (gi_fop_spreads(fop))
    cl_ask_steps(c, fop);
  struct cl_fop *call = gi_fop_private(fop, x);
  call->fop = fop;
  call->c = c;
  call->gave_up = call->waits = false;
  struct gi_rpc_client *rpc = cl_conn_of(c, cl_ordering_gfid(fop))->rpc;
  struct gi_caller who = cl_credentials(c, fop);
  struct gi_xdr_out out = {0};
  cl_more_groups(c, fop, &who);
  /* A change of another client may wait for a word of this one, and what is given back for the place that it has. */
  bool gives_back = c->given_back.len > 0 && fop->kind != GI_FOP_IPC;
  if (gives_back)
    cl_give_back_with(c, gi_fop_xdata(fop));
  uint32_t xid = gi_rpc_call_begin(rpc, &out, GI_PROG_FOP, GI_VERS_FOP, (uint32_t)fop->kind, GI_AUTH_V3, &who);
  call->xid = xid;
  gi_fop_encode_request(&out, fop, &fds);
  if (gives_back) /* whoever sends the request on to another brick, too, does not give back there what has the same number */
    gi_dict_del(gi_fop_xdata(fop), GI_GIVE_BACK_KEY);
  c->metrics.calls++;
  c->sent[fop->kind]++;
  cl_tell_wait(c, fop, false);
  gi_rpc_call_send(rpc, xid, &out, fop->kind == GI_FOP_WRITE ? &fop->payload : NULL, cl_may_wait(fop), cl_reply, call);
  return GI_HELD;
}
