/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations: from a call of the FOP program to a gi_fop in the brick's graph
 * and its reply back. Nothing a client sends is trusted: lengths and numbers
 * are checked here or by the codec before anybody below sees them.
 */
#include "xlators/protocol/server/server.h"
#include "libglusterish/probe.h"
#include "libglusterish/trace.h"
#include "rpc/preamble.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SV_READ_MAX (16u << 20)     /* bytes; more than any client asks for in one call */
#define SV_XATTRS_GUESS (64u << 10) /* bytes of the answer to a GETXATTR */
#define SV_OPVERSION_OWNERS 70000   /* clients since then must show a lock owner */

#define SV_LOCK_KINDS \
  (GI_KIND(GI_FOP_LK) | GI_KIND(GI_FOP_INODELK) | GI_KIND(GI_FOP_FINODELK) | GI_KIND(GI_FOP_ENTRYLK) | GI_KIND(GI_FOP_FENTRYLK))
#define SV_OPENING (GI_KIND(GI_FOP_OPEN) | GI_KIND(GI_FOP_CREATE) | GI_KIND(GI_FOP_OPENDIR))

static struct sv_client *
sv_client_of(const struct gi_rpc_request *req)
{
  struct sv_peer *p = req->peer ? gi_rpc_peer_private(req->peer) : NULL;
  GI_ASSERT(!p || p->magic == SV_PEER_MAGIC);
  return p ? p->client : NULL;
}

/* ---- replies ---- */

/* Gives a successful open its number. A client that went meanwhile needs none. */
static int64_t
sv_publish_fd(struct sv_client *c, struct gi_fop *fop)
{
  if (c->gone || !fop->fd)
    return 0;
  if (!fop->fd->inode && !gi_gfid_is_none(&fop->rsp.stat.gfid))
    gi_fd_bind(fop->fd, &fop->rsp.stat.gfid);
  struct gi_fd *fd = gi_fd_ref(fop->fd);
  int64_t handle = fd->inode ? sv_fd_store(c, fd) : -1;
  if (handle >= 0)
    return handle;
  int err = fd->inode ? EMFILE : EIO;
  gi_fd_unref(&fd);
  gi_reply_clear(&fop->rsp);
  gi_fop_fail(fop, err);
  return 0;
}

static void
sv_fix_read(struct gi_fop *fop)
{
  GI_ASSERT(fop->kind == GI_FOP_READ && fop->rsp.ret >= 0);
  size_t want = (size_t)fop->rsp.ret;
  if (fop->rsp.payload.len > want)
    gi_payload_trim(&fop->rsp.payload, want);
  if (fop->rsp.payload.len < want) {
    gi_reply_clear(&fop->rsp);
    gi_fop_fail(fop, EIO);
  }
}

static void
sv_answer(struct sv_client *c, struct gi_rpc_request *req, struct gi_fop *fop, int64_t handle)
{
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  size_t head = out.len;
  gi_fop_encode_reply(&out, fop, handle);
  bool data = fop->kind == GI_FOP_READ && fop->rsp.ret > 0;
  if (out.len + (data ? fop->rsp.payload.len : 0) > GI_RECORD_MAX) {
    /* The peer would close the connection, and ask the next brick. */
    gi_reply_clear(&fop->rsp);
    gi_fop_fail(fop, E2BIG);
    out.len = head;
    gi_fop_encode_reply(&out, fop, 0);
    data = false;
  }
  c->bytes_out += out.len + (data ? fop->rsp.payload.len : 0);
  gi_rpc_answer_send(req, &out, data ? &fop->rsp.payload : NULL);
}

/* ---- how the foreground does, for who works in the background (load.h) ---- */

static bool
sv_asks_load(const struct gi_fop *fop)
{
  return fop->caller.pid == GI_PID_HEAL || fop->caller.pid == GI_PID_REBALANCE;
}

/* A lock that waits is no work. */
static bool
sv_is_background(const struct gi_fop *fop)
{
  return sv_asks_load(fop) && !(gi_fop_table[fop->kind].classes & GI_CLASS_MAY_WAIT);
}

static void
sv_load_begin(struct server *sv, const struct gi_fop *fop)
{
  if (sv_is_background(fop))
    gi_load_background_begin(&sv->load);
}

static void
sv_load_end(struct server *sv, const struct sv_client *c, struct gi_fop *fop)
{
  const struct sv_fop *f = gi_fop_private(fop, sv->x);
  uint64_t now = gi_now_about(sv->x->reactor);
  struct gi_load load;
  if (fop->caller.pid >= 0 && fop->start_ns)
    gi_load_foreground(&sv->load, f->synced ? GI_FOP_FSYNC : fop->kind, fop->args.size, fop->start_ns, now);
  if (sv_is_background(fop))
    gi_load_background_end(&sv->load, now);
  if (!sv_asks_load(fop) || !c->ours)
    return;
  gi_load_read(&sv->load, now, &load);
  gi_load_put(gi_fop_rsp_xdata(fop), &load);
}

/* ---- trees that a client collects ---- */

static void
sv_take_trace(const struct sv_client *c, struct gi_fop *fop)
{
  const void *text;
  uint32_t len;
  uint8_t id[16];
  if (!c->ours || !gi_dict_get_bin(fop->xdata, GI_TRACE_KEY, &text, &len))
    return;
  if (gi_trace_parse(text, len, id))
    gi_trace_asked(fop, id);
  gi_dict_del(gi_fop_xdata(fop), GI_TRACE_KEY);
}

void
sv_place(const struct server *sv, const struct gi_xlator *brick, struct gi_place *here)
{
  const char *name = sv->x->ctx->brick_name;
  *here = (struct gi_place){.role = "brick", .pid = (int32_t)getpid()};
  snprintf(here->brick, sizeof(here->brick), "%s", name ? name : brick->name);
  if (gethostname(here->host, sizeof(here->host) - 1) != 0)
    here->host[0] = '\0';
}

static void
sv_tell_steps(struct server *sv, struct gi_fop *fop)
{
  struct gi_told *told = gi_trace_told(fop);
  struct gi_place here;
  uint32_t len;
  if (!told)
    return;
  sv_place(sv, sv_bound(fop), &here);
  GI_CLEANUP_FREE uint8_t *wire = gi_steps_encode(told, &here, &len);
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), GI_TRACE_STEPS_KEY, wire, len);
  gi_told_put(&told);
}

void
sv_done(struct gi_fop *fop, void *arg)
{
  struct server *sv = arg;
  struct sv_fop *f = gi_fop_private(fop, sv->x);
  struct sv_client *c = f->client;
  struct gi_rpc_request *req = f->req;
  GI_CHECK(sv, SV_MAGIC);
  GI_CHECK(c, SV_CLIENT_MAGIC);
  GI_ASSERT(req && fop->caller.client == c);
  int64_t handle = 0;
  if (fop->rsp.ret >= 0) {
    if (GI_KIND(fop->kind) & SV_OPENING)
      handle = sv_publish_fd(c, fop);
    else if (fop->kind == GI_FOP_READ)
      sv_fix_read(fop);
    sv_subdir_reply(c, fop);
  } else {
    sv->metrics.failed_calls++;
  }
  if (f->preamble)
    sv_preamble_end(fop, f);
  GI_ASSERT(sv->metrics.inflight_calls > 0);
  sv->metrics.inflight_calls--;
  sv_load_end(sv, c, fop);
  if (gi_fop_collects(fop))
    sv_tell_steps(sv, fop);
  c->fops_done++;
  if (req->peer) {
    sv_answer(c, req, fop, handle);
  } else {
    sv->metrics.dropped_answers++;
    GI_PROBE("server: answer for a connection that is gone");
    gi_rpc_drop(req);
  }
  gi_fop_unref(fop);
  sv_client_unref(c);
}

/* ---- the caller ---- */

static bool
sv_squashes(const struct server *sv, const struct sv_client *c, const struct gi_caller *who)
{
  const struct sv_options *o = sv_opts(sv);
  bool internal = who->pid == GI_PID_GEOREP || (who->pid <= GI_PID_REBALANCE && who->pid >= GI_PID_HEAL);
  return o->all_squash || (o->root_squash && !(c->trusted && internal));
}

static void
sv_squash(const struct server *sv, const struct sv_client *c, struct gi_caller *who)
{
  const struct sv_options *o = sv_opts(sv);
  if (!sv_squashes(sv, c, who))
    return;
  if (who->pid < 0 && !c->trusted)
    who->pid = 0; /* it may say that it is internal, but that is no privilege of a stranger */
  if (o->all_squash || who->uid == 0)
    who->uid = (uint32_t)o->anonuid;
  if (o->all_squash || who->gid == 0)
    who->gid = (uint32_t)o->anongid;
  if (o->all_squash)
    who->ngroups = 0;
}

bool
sv_owner_is_null(const struct gi_owner *o)
{
  for (uint32_t i = 0; i < o->len; i++)
    if (o->data[i])
      return false;
  return true;
}

static void
sv_set_groups(const struct server *sv, struct gi_fop *fop, const uint32_t *groups, uint32_t n)
{
  GI_CHECK((const struct sv_client *)fop->caller.client, SV_CLIENT_MAGIC);
  bool squash = sv_squashes(sv, fop->caller.client, &fop->caller);
  fop->caller.ngroups = n;
  fop->caller.groups = NULL;
  if (n == 0)
    return;
  uint32_t *copy = gi_fop_alloc(fop, n * sizeof(*copy));
  for (uint32_t i = 0; i < n; i++)
    copy[i] = squash && groups[i] == 0 ? (uint32_t)sv_opts(sv)->anongid : groups[i];
  fop->caller.groups = copy;
}

/* The groups of the credential and, if that is full, those in xdata. False: these are malformed. */
static bool
sv_take_groups(const struct server *sv, struct gi_fop *fop, const struct gi_caller *from)
{
  const void *more;
  uint32_t len, n = from->ngroups;
  bool full = gi_cred_groups_fit(&(struct gi_caller){.ngroups = n + 1, .owner = from->owner}) <= n;
  if (!full || !gi_dict_get_bin(fop->xdata, GI_GROUPS_KEY, &more, &len)) {
    sv_set_groups(sv, fop, from->groups, n);
    return true;
  }
  if (len % sizeof(uint32_t) != 0 || len / sizeof(uint32_t) > GI_CALLER_GROUPS - n)
    return false;
  struct gi_xdr_in in = {more, (const uint8_t *)more + len, false};
  uint32_t *all = gi_fop_alloc(fop, n * sizeof(*all) + len);
  memcpy(all, from->groups, n * sizeof(*all));
  while (in.p < in.end)
    all[n++] = gi_xdr_get_u32(&in);
  gi_dict_del(gi_fop_xdata(fop), GI_GROUPS_KEY);
  sv_set_groups(sv, fop, all, n);
  return true;
}

/* ---- requests ---- */

/* Refused before it reached the graph. */
static void
sv_refuse(struct server *sv, struct gi_fop *fop, int err)
{
  gi_fop_fail(fop, err);
  sv_done(fop, sv);
}

/* A client that went while this waited here may have come again, and what it asks now is not to be overtaken. */
static void
sv_submit(struct server *sv, struct gi_fop *fop)
{
  const struct sv_client *c = fop->caller.client;
  if (c->gone)
    sv_refuse(sv, fop, ENOTCONN);
  else if (gi_dict_get(fop->xdata, GI_PREAMBLE_KEY))
    sv_preamble_start(sv, fop);
  else
    sv_send(sv, fop);
}

static void
sv_groups_known(void *arg, const uint32_t *groups, uint32_t n)
{
  struct gi_fop *fop = arg;
  struct sv_client *c = fop->caller.client;
  GI_CHECK(c, SV_CLIENT_MAGIC);
  sv_set_groups(c->sv, fop, groups, n);
  sv_submit(c->sv, fop);
}

static bool
sv_take_payload(struct gi_fop *fop, struct gi_rpc_request *req, size_t offset)
{
  if (fop->kind != GI_FOP_WRITE)
    return true;
  size_t at = req->body_offset + offset, len = req->rec->record.len;
  if (at > len || len - at < fop->args.size)
    return false;
  gi_payload_slice(&req->rec->record, at, fop->args.size, &fop->payload);
  GI_ASSERT(fop->payload.len == fop->args.size);
  return true;
}

static void
sv_adapt(struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_OPEN || fop->kind == GI_FOP_CREATE) {
    /* O_SYNC is one bit on the wire and two here. */
    if (fop->args.flags & O_DSYNC)
      fop->args.flags |= O_SYNC;
  } else if (fop->kind == GI_FOP_READ && fop->args.size > SV_READ_MAX) {
    fop->args.size = SV_READ_MAX;
  }
}

/* What it may need counts against what its connection may have under way. */
static void
sv_charge(const struct gi_fop *fop, struct gi_rpc_request *req)
{
  uint64_t bytes = 0, content = 0;
  if (gi_fop_table[fop->kind].classes & GI_CLASS_MAY_WAIT)
    return; /* for an unlock, which is to be read */
  if (fop->kind == GI_FOP_READ || fop->kind == GI_FOP_READDIR || fop->kind == GI_FOP_READDIRP)
    bytes = fop->args.size < SV_READ_MAX ? fop->args.size : SV_READ_MAX;
  else if (fop->kind == GI_FOP_GETXATTR || fop->kind == GI_FOP_FGETXATTR ||
           (gi_dict_get_uint(fop->xdata, GI_CONTENT_KEY, &content) && content > 0))
    bytes = SV_XATTRS_GUESS;
  gi_rpc_charge(req, bytes);
}

static int
sv_prepare(struct server *sv, struct sv_client *c, struct gi_fop *fop, const struct gi_wire_fds *fds)
{
  sv_adapt(fop);
  sv_subdir_request(c, fop);
  if ((SV_LOCK_KINDS & GI_KIND(fop->kind)) && c->opversion >= SV_OPVERSION_OWNERS && sv_owner_is_null(&fop->caller.owner))
    return EINVAL;
  if (fop->kind == GI_FOP_READ && fop->args.size == 0)
    return EINVAL;
  if (!sv_child_is_up(sv, c->bound))
    return ENOTCONN;
  return sv_resolve(c, fop, fds);
}

void
sv_go(struct server *sv, struct gi_fop *fop, int err)
{
  if (err)
    sv_refuse(sv, fop, err);
  else if (sv_asks_for_mounts(fop))
    sv_tell_mounts(sv, fop);
  else if (sv_opts(sv)->manage_gids && fop->caller.uid != 0 && fop->caller.pid >= 0)
    sv_groups_get(sv->groups, fop->caller.uid, (uint64_t)sv_opts(sv)->gid_timeout, sv_groups_known, fop);
  else
    sv_submit(sv, fop);
}

static void
sv_start(struct server *sv, struct sv_client *c, struct gi_fop *fop, struct gi_rpc_request *req, const struct gi_wire_fds *fds)
{
  struct sv_fop *f = gi_fop_private(fop, sv->x);
  GI_ASSERT(!f->client && !f->req && !f->preamble && c->bound);
  f->client = sv_client_ref(c);
  f->req = req;
  sv->metrics.calls++;
  c->fops[fop->kind]++;
  c->bytes_in += req->bytes;
  sv->metrics.inflight_calls++;
  sv_charge(fop, req);
  sv_load_begin(sv, fop);
  sv_squash(sv, c, &fop->caller);
  if (fop->kind == GI_FOP_GETXATTR && sv_under_way(sv, c, fop)) {
    sv_done(fop, sv);
    return;
  }
  if (fop->xdata) {
    sv_take_trace(c, fop);
    sv_behind_asked(fop, f);
  }
  int err = sv_prepare(sv, c, fop, fds);
  if (!fop->xdata || !sv_give_back(c, fop->xdata, fop, err))
    sv_go(sv, fop, err);
}

static void
sv_handle_fop(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct server *sv = arg;
  struct sv_client *c = sv_client_of(req);
  if (!c) {
    sv->metrics.garbage_calls++;
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  struct gi_fop *fop = gi_fop_new(sv->x->graph, (enum gi_fop_kind)req->header.proc);
  struct gi_wire_fds fds = {GI_FD_ANONYMOUS, GI_FD_ANONYMOUS};
  size_t offset = 0;
  fop->caller = req->caller;
  fop->caller.client = c;
  if (!gi_fop_decode_request(&req->in, fop, &fds, &offset) || !sv_take_payload(fop, req, offset) ||
      !sv_take_groups(sv, fop, &req->caller)) {
    sv->metrics.garbage_calls++;
    gi_fop_unref(fop);
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  sv_start(sv, c, fop, req, &fds);
}

/* ---- calls that are no operations of the graph ---- */

static void
sv_handle_release(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct server *sv = arg;
  struct sv_client *c = sv_client_of(req);
  if (!c) {
    gi_rpc_drop(req); /* as the real ones do (wire.md 1.3) */
    return;
  }
  struct gi_gfid gfid;
  gi_xdr_get_gfid(&req->in, &gfid);
  int64_t handle = (int64_t)gi_xdr_get_u64(&req->in);
  struct gi_dict *xdata = NULL;
  gi_xdr_get_dict(&req->in, &xdata);
  if (req->in.failed) {
    sv->metrics.garbage_calls++;
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  sv_fd_close(c, handle);
  sv_give_back(c, xdata, NULL, 0);
  gi_dict_unref(&xdata);
  struct gi_xdr_out out = {0};
  struct gi_dict *empty = gi_dict_new();
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_dict(&out, empty);
  gi_dict_unref(&empty);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
sv_handle_garbage(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  gi_rpc_answer_status(req, GI_RPC_GARBAGE);
}

#define F [0 ... GI_FOP_MAX - 1] = sv_handle_fop

/* SETACTIVELK, NAMELINK and PUT have no handler: "procedure unavailable". */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static gi_rpc_handler *const sv_fop_handlers[GI_FOP_MAX] = {
    F,
    [GI_FOP_NULL] = sv_ping,
    [GI_FOP_RELEASE] = sv_handle_release,
    [GI_FOP_RELEASEDIR] = sv_handle_release,
    [GI_FOP_COMPOUND] = sv_handle_garbage,
    [GI_FOP_SETACTIVELK] = NULL,
    [GI_FOP_NAMELINK] = NULL,
    [GI_FOP_PUT] = NULL,
};
#pragma GCC diagnostic pop

const struct gi_rpc_program sv_fop_program = {
    .name = "GlusterFS 4.x v1",
    .prog = GI_PROG_FOP,
    .vers = GI_VERS_FOP,
    .nprocs = GI_FOP_MAX,
    .handler = sv_fop_handlers,
};
