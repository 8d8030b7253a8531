/* SPDX-License-Identifier: Apache-2.0
 *
 * The brick-op program on the process's unix socket: the management daemon
 * ends the process through it and asks how it does (mgmt-protocol.md 5).
 */
#include "programs/glusterishfs/glusterishfs.h"
#include "libglusterish/manage-op.h"
#include "libglusterish/steps.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#define OPS_NAME_MAX 4096
#define OPS_XLATORS_MAX 4096 /* translators addressed by one call */

#define OPS_CALLS_MAX 256 /* operations under way that are told one by one */

#define OPS_COUNT 16

/* bits of `cmd` in a status request; the others are for the translators */
enum {
  OPS_STATUS_MEM = 0x1,
  OPS_STATUS_CALLPOOL = 0x10,
};

/* ---- answers ---- */

static void
ops_answer(struct gi_rpc_request *req, int err, const struct gi_dict *d, const char *text)
{
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, err ? (uint32_t)-1 : 0);
  gi_xdr_put_u32(&out, (uint32_t)err);
  if (gi_dict_count(d))
    gi_xdr_put_legacy_dict(&out, d);
  else
    gi_xdr_put_opaque(&out, NULL, 0);
  gi_xdr_put_string(&out, text);
  gi_rpc_answer_send(req, &out, NULL);
}

/* ---- TERMINATE ---- */

static void
ops_terminate(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct fs_process *p = arg;
  char name[OPS_NAME_MAX];
  uint32_t len = 0;
  const uint8_t *bytes = gi_xdr_get_opaque(&req->in, OPS_NAME_MAX - 1, &len);
  if (req->in.failed) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  memcpy(name, bytes ? (const char *)bytes : "", len);
  name[len] = 0;
  ops_answer(req, 0, NULL, "");
  /* Another brick's name is no error: it is not here, as was wished. */
  if (!p->cfg->brick_name || !name[0] || strcmp(name, p->cfg->brick_name) == 0)
    fs_stop(p, "the management daemon ends this process");
}

/* ---- memory ---- */

static void
status_memory(struct gi_dict *d)
{
  struct mallinfo2 m = mallinfo2();
  gi_dict_set_decimal(d, "mallinfo.arena", m.arena);
  gi_dict_set_decimal(d, "mallinfo.ordblks", m.ordblks);
  gi_dict_set_decimal(d, "mallinfo.smblks", m.smblks);
  gi_dict_set_decimal(d, "mallinfo.hblks", m.hblks);
  gi_dict_set_decimal(d, "mallinfo.hblkhd", m.hblkhd);
  gi_dict_set_decimal(d, "mallinfo.usmblks", m.usmblks);
  gi_dict_set_decimal(d, "mallinfo.fsmblks", m.fsmblks);
  gi_dict_set_decimal(d, "mallinfo.uordblks", m.uordblks);
  gi_dict_set_decimal(d, "mallinfo.fordblks", m.fordblks);
  gi_dict_set_decimal(d, "mallinfo.keepcost", m.keepcost);
}

/* ---- operations under way ---- */

/* What one says of itself, and the layers it has come to: one "frame" each. */
static void
status_call(const struct gi_fop *fop, unsigned i, struct gi_dict *d)
{
  const struct gi_graph *g = fop->graph;
  char key[64];
  struct gi_walk w;
  unsigned frames = 0;
  const struct {
    const char *what;
    uint64_t value;
  } facts[] = {{"uid", fop->caller.uid},
               {"gid", fop->caller.gid},
               {"pid", (uint64_t)(uint32_t)fop->caller.pid},
               {"unique", fop->number}};
  for (size_t k = 0; k < GI_ARRAY_LEN(facts); k++) {
    snprintf(key, sizeof(key), "callpool.stack%u.%s", i, facts[k].what);
    gi_dict_set_decimal(d, key, facts[k].value);
  }
  snprintf(key, sizeof(key), "callpool.stack%u.type", i);
  gi_dict_set_str(d, key, gi_fop_name(fop->kind));
  gi_walk(&w, fop->mark, fop->nmarks < GI_MARKS ? fop->nmarks : GI_MARKS, fop->start_ticks,
          gi_ticks(g->ctx->reactor) - fop->start_ticks, false);
  for (unsigned k = 0; k < w.n; k++) {
    const struct gi_xlator *x = w.stay[k].layer < g->nlayers ? g->layers[w.stay[k].layer] : NULL;
    snprintf(key, sizeof(key), "callpool.stack%u.frame%u.translator", i, ++frames);
    gi_dict_set_str(d, key, x ? x->name : "");
  }
  snprintf(key, sizeof(key), "callpool.stack%u.count", i);
  gi_dict_set_decimal(d, key, frames);
}

/* Those that work for another one belong to it. */
static void
status_calls(struct gi_graph *g, struct gi_dict *d)
{
  unsigned n = 0;
  if (g)
    gi_list_foreach(fop, &g->flight, struct gi_fop, flight) {
      if (fop->root != fop)
        continue;
      if (n < OPS_CALLS_MAX)
        status_call(fop, n, d);
      n++;
    }
  gi_dict_set_decimal(d, "callpool.count", n);
}

/* ---- translators are asked by name and answer into one dictionary ---- */

struct ops_call;

struct ops_part {
  struct gi_manage m;
  struct ops_call *call;
};

struct ops_call {
  struct gi_rpc_request *req;
  struct gi_dict *in, *out;
  unsigned outstanding; /* parts, and one while they are handed out */
  int err;
  struct ops_part part[];
};

/* Takes over `in`. */
static struct ops_call *
call_new(struct gi_rpc_request *req, struct gi_dict *in, unsigned parts)
{
  struct ops_call *c = gi_zalloc(sizeof(*c) + parts * sizeof(c->part[0]));
  c->req = req;
  c->in = in;
  c->out = gi_dict_new();
  c->outstanding = 1 + parts;
  return c;
}

static void
call_put(struct ops_call *c)
{
  if (--c->outstanding)
    return;
  if (!c->req->peer)
    gi_rpc_drop(c->req);
  else
    ops_answer(c->req, c->err, c->out, c->err ? strerror(c->err) : "");
  gi_dict_unref(&c->in);
  gi_dict_unref(&c->out);
  gi_free(c);
}

static void
part_done(struct gi_manage *m, int err)
{
  struct ops_call *c = GI_CONTAINER(m, struct ops_part, m)->call;
  if (err)
    c->err = err;
  call_put(c);
}

/* Has the translator do its part `i`; NULL: there is none of that name. */
static void
ask_translator(struct ops_call *c, unsigned i, struct gi_xlator *x, int op, unsigned index)
{
  c->part[i].call = c;
  c->part[i].m = (struct gi_manage){.op = op, .index = index, .in = c->in, .out = c->out, .done = part_done};
  if (!x)
    part_done(&c->part[i].m, ENOENT);
  else if (!x->cls->manage)
    part_done(&c->part[i].m, EOPNOTSUPP);
  else
    x->cls->manage(x, &c->part[i].m);
}

static struct gi_xlator *
find_translator(const struct fs_process *p, const char *name)
{
  return p->ctx.graph ? gi_graph_find(p->ctx.graph, name) : NULL;
}

/* The beginning of every request but TERMINATE: the target (unless `name` is NULL), the number again, the dictionary. NULL, and the
 * request is answered, if it is not well-formed. */
static struct gi_dict *
get_request(struct gi_rpc_request *req, char name[OPS_NAME_MAX])
{
  uint32_t len = 0;
  const uint8_t *bytes = gi_xdr_get_opaque(&req->in, OPS_NAME_MAX - 1, &len);
  gi_xdr_get_u32(&req->in);
  struct gi_dict *in = gi_xdr_get_legacy_dict(&req->in);
  if (!in) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return NULL;
  }
  if (name)
    snprintf(name, OPS_NAME_MAX, "%.*s", (int)len, bytes ? (const char *)bytes : "");
  return in;
}

/* ---- XLATOR_OP ---- */

static void
ops_translators(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct fs_process *p = arg;
  int64_t op = 0, count = 0;
  struct gi_dict *in = get_request(req, NULL);
  if (!in)
    return;
  if (!gi_dict_get_int(in, "xl-op", &op) || !gi_dict_get_int(in, "count", &count) || count < 0 || count > OPS_XLATORS_MAX) {
    gi_dict_unref(&in);
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  struct ops_call *c = call_new(req, in, (unsigned)count);
  for (unsigned i = 0; i < count; i++) {
    char key[32];
    const char *name = "";
    int64_t index = i;
    snprintf(key, sizeof(key), "xl-%u", i);
    gi_dict_get_str(in, key, &name);
    gi_dict_get_int(in, name, &index); /* the daemon numbers the sets of the volume, we may be asked for some of them */
    ask_translator(c, i, find_translator(p, name), (int)op, (unsigned)index);
  }
  call_put(c);
}

/* ---- XLATOR_INFO: statistics of the translator of that name ---- */

static void
ask_one(struct gi_rpc_request *req, struct fs_process *p, enum gi_manage_op op)
{
  char name[OPS_NAME_MAX];
  struct gi_dict *in = get_request(req, name);
  if (!in)
    return;
  struct ops_call *c = call_new(req, in, 1);
  ask_translator(c, 0, find_translator(p, name), op, 0);
  call_put(c);
}

static void
ops_info(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  ask_one(req, arg, GI_MANAGE_INFO);
}

/* ---- XLATOR_DEFRAG: how far the translator of that name is with moving files ---- */

static void
ops_rebalance(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  ask_one(req, arg, GI_MANAGE_REBALANCE);
}

/* ---- STATUS ---- */

static void
ops_status(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct fs_process *p = arg;
  int64_t cmd = 0;
  struct gi_dict *in = get_request(req, NULL);
  if (!in)
    return;
  struct gi_xlator *top = p->ctx.graph ? p->ctx.graph->top : NULL;
  bool asks = top && strcmp(top->cls->type, "protocol/server") == 0;
  struct ops_call *c = call_new(req, in, asks);
  gi_dict_get_int(in, "cmd", &cmd);
  if (cmd & OPS_STATUS_MEM)
    status_memory(c->out);
  if (cmd & OPS_STATUS_CALLPOOL)
    status_calls(p->ctx.graph, c->out);
  if (asks)
    ask_translator(c, 0, top, GI_MANAGE_STATUS, 0);
  call_put(c);
}

/* ---- the program ---- */

static gi_rpc_handler *const ops_handlers[OPS_COUNT] = {
    [GI_BRICK_TERMINATE] = ops_terminate, [GI_BRICK_XLATOR_INFO] = ops_info,   [GI_BRICK_XLATOR_OP] = ops_translators,
    [GI_BRICK_STATUS] = ops_status,       [GI_BRICK_NODE_STATUS] = ops_status, [GI_BRICK_XLATOR_DEFRAG] = ops_rebalance,
};

static const struct gi_rpc_program ops_program = {
    .name = "Gluster Brick operations",
    .prog = GI_PROG_BRICK,
    .vers = GI_VERS_BRICK,
    .nprocs = OPS_COUNT,
    .handler = ops_handlers,
};

int
fs_brick_ops_start(struct fs_process *p, struct gi_error *err)
{
  static const struct gi_rpc_server_ops none;
  p->ops = gi_rpc_server_new(p->reactor, "brick-ops", &none, p);
  gi_rpc_server_add_program(p->ops, &ops_program);
  return gi_rpc_server_listen(p->ops, p->cfg->socket_file, 0, 16, err);
}
