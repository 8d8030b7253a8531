/* SPDX-License-Identifier: Apache-2.0
 *
 * What a brick says without being asked: callbacks become events for the
 * translators above (wire.md 10). Unknown ones are ignored.
 */
#include "xlators/protocol/client/client.h"
#include "libglusterish/promise.h"
#include "rpc/callback.h"

#define CL_TEXT_MAX 4096 /* domain and entry names in a callback */
#define CL_PROMISE_MAX_S 86400
#define CL_IPC_UPCALL 2 /* the addressee (wire.md, IPC) */

struct gi_promised
cl_promise_in(const struct client *c, const struct gi_dict *d)
{
  uint64_t seconds = 0, strict = 0;
  if (!c->peer_is_ours || !gi_dict_get_uint(d, GI_PROMISE_KEY, &seconds) || seconds > CL_PROMISE_MAX_S)
    return (struct gi_promised){0};
  return (struct gi_promised){.seconds = (uint32_t)seconds,
                              .strict = seconds && gi_dict_get_uint(d, GI_STRICT_KEY, &strict) && strict == 1};
}

/* With several connections an answer may overtake what was told before it. */
void
cl_promised(struct client *c)
{
  gi_promise_made(c->x, c->usable && c->nconns == 1 ? c->promise : (struct gi_promised){0});
}

/* ---- a brick that waits until we have taken in what it told ---- */

struct cl_taken {
  struct gi_taken taken;
  struct client *c;
  uint64_t serial;
  unsigned generation; /* of the connection it came by */
};

static void
cl_answered(struct gi_fop *fop, void *arg)
{
  gi_fop_unref(fop);
}

static void
cl_taken_in(struct gi_taken *taken)
{
  struct cl_taken *t = GI_CONTAINER(taken, struct cl_taken, taken);
  struct client *c = t->c;
  GI_CHECK(c, CL_MAGIC);
  if (c->usable && c->generation == t->generation) {
    struct gi_fop *fop = gi_fop_new(c->x->graph, GI_FOP_IPC);
    fop->args.what = CL_IPC_UPCALL;
    gi_dict_set_uint(gi_fop_xdata(fop), GI_TAKEN_KEY, t->serial);
    c->metrics.acknowledged++;
    gi_fop_submit(fop, c->x, cl_answered, NULL);
  }
  gi_free(t);
}

static void
cl_tell(struct client *c, struct gi_invalidation *inv)
{
  uint64_t serial;
  if (!c->peer_is_ours || !gi_dict_get_uint(inv->xdata, GI_TAKEN_KEY, &serial)) {
    gi_notify_up(c->x, GI_EVENT_INVALIDATE, inv);
    return;
  }
  struct cl_taken *t = gi_new(struct cl_taken);
  *t = (struct cl_taken){.taken = {.holds = 1, .all = cl_taken_in}, .c = c, .serial = serial, .generation = c->generation};
  gi_dict_del(inv->xdata, GI_TAKEN_KEY);
  inv->taken = &t->taken;
  gi_notify_up(c->x, GI_EVENT_INVALIDATE, inv);
  gi_taken_release(&t->taken);
}

/* ---- callbacks ---- */

static void
cl_invalidated(struct client *c, struct gi_xdr_in *in)
{
  struct gi_invalidation inv;
  if (!gi_callback_get_invalidation(in, &inv)) {
    gi_log(GI_LOG_WARNING, c->x->name, GI_MSG_CLIENT + 20, "malformed CACHE_INVALIDATION");
    return;
  }
  if (gi_gfid_is_none(&inv.gfid) && gi_dict_get(inv.xdata, GI_PROMISE_KEY)) {
    c->promise = cl_promise_in(c, inv.xdata);
    cl_promised(c);
  } else {
    cl_tell(c, &inv);
  }
  gi_dict_unref(&inv.xdata);
}

static void
cl_contended(struct client *c, struct gi_xdr_in *in, bool entry)
{
  struct gi_contention con;
  char domain[CL_TEXT_MAX], name[CL_TEXT_MAX];
  if (!gi_callback_get_contention(in, entry, &con, domain, name, CL_TEXT_MAX)) {
    gi_log(GI_LOG_WARNING, c->x->name, GI_MSG_CLIENT + 21, "malformed %s_CONTENTION", entry ? "ENTRYLK" : "INODELK");
    return;
  }
  gi_notify_up(c->x, GI_EVENT_CONTENTION, &con);
  cl_give_back_hurry(c);
  gi_dict_unref(&con.xdata);
}

static void
cl_storage(struct client *c, bool up)
{
  GI_ASSERT(c->state == CL_READY);
  if (c->usable == up)
    return;
  gi_log(GI_LOG_WARNING, c->x->name, GI_MSG_CLIENT + 22, "the brick says its storage is %s", up ? "back" : "down");
  c->usable = up;
  cl_tell_parents(c);
}

void
cl_callback(struct client *c, const struct gi_call_header *h, struct gi_xdr_in *in)
{
  GI_CHECK(c, CL_MAGIC);
  if (h->prog != GI_PROG_CALLBACK || h->vers != GI_VERS_CALLBACK)
    return;
  switch (h->proc) {
  case GI_CBK_CACHE_INVALIDATION:
    cl_invalidated(c, in);
    break;
  case GI_CBK_INODELK_CONTENTION:
  case GI_CBK_ENTRYLK_CONTENTION:
    cl_contended(c, in, h->proc == GI_CBK_ENTRYLK_CONTENTION);
    break;
  case GI_CBK_CHILD_UP:
  case GI_CBK_CHILD_DOWN:
    cl_storage(c, h->proc == GI_CBK_CHILD_UP);
    break;
  default:
    break;
  }
}
