/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to a running brick or self-heal daemon over its own unix socket:
 * the brick-op program (mgmt-protocol.md 5). One connection per question; who
 * does not answer in time counts as one that knows nothing.
 */
#include "programs/glusterishd/proc/proc.h"
#include "rpc/rpc-client.h"

#include <errno.h>

#define TIMEOUT_S 10
#define ANSWER_MAX (16u << 20) /* bytes */

struct question {
  struct gi_list link; /* gd.questions */
  struct gi_reactor *reactor;
  struct gi_rpc_client *rpc;
  struct gi_defer end;
  char *name; /* of the target in the request */
  uint32_t proc;
  struct gi_dict *in, *dict;
  int err;
  bool answered;
  gd_answer_fn *fn;
  void *arg;
};

static void
question_free(struct question *q)
{
  gi_list_del(&q->link);
  gi_defer_cancel(&q->end);
  q->answered = true; /* outstanding calls are answered by the free */
  gi_rpc_client_free(&q->rpc);
  gi_dict_unref(&q->in);
  gi_dict_unref(&q->dict);
  gi_free(q->name);
  gi_free(q);
}

static void
end_now(void *arg)
{
  struct question *q = arg;
  q->fn(q->err, q->dict, q->arg);
  question_free(q);
}

/* The client cannot be freed from its own callbacks. */
static void
end(struct question *q)
{
  if (!q->answered)
    gi_defer_add(q->reactor, &q->end);
  q->answered = true;
}

static void
reply(struct gi_rpc_client *c, struct gi_rpc_reply *r, void *arg)
{
  struct question *q = arg;
  uint32_t len = 0;
  if (!q->answered && r->status == 0 && r->accept == GI_RPC_SUCCESS) {
    int32_t ret = (int32_t)gi_xdr_get_u32(&r->in), err = (int32_t)gi_xdr_get_u32(&r->in);
    const uint8_t *bytes = gi_xdr_get_opaque(&r->in, ANSWER_MAX, &len);
    if (!r->in.failed)
      q->err = ret == 0 ? 0 : err > 0 ? err : EIO;
    if (!r->in.failed && len)
      q->dict = gi_legacy_dict_decode(bytes, len);
  }
  end(q);
}

static void
up(struct gi_rpc_client *c, void *arg)
{
  struct question *q = arg;
  struct gi_xdr_out out = {0};
  uint32_t xid = gi_rpc_call_begin(c, &out, GI_PROG_BRICK, GI_VERS_BRICK, q->proc, GI_AUTH_V2, NULL);
  gi_xdr_put_string(&out, q->name);
  gi_xdr_put_u32(&out, q->proc);
  gi_xdr_put_legacy_dict(&out, q->in);
  gi_xdr_put_opaque(&out, NULL, 0);
  gi_rpc_call_send(c, xid, &out, NULL, false, reply, q);
}

static void
down(struct gi_rpc_client *c, void *arg)
{
  end(arg);
}

void
gd_ask(struct gd *gd, const char *sock, uint32_t proc, const char *name, struct gi_dict *in, gd_answer_fn *fn, void *arg)
{
  static const struct gi_rpc_client_ops ops = {.up = up, .down = down};
  static const struct gi_rpc_client_config config = {
      .name = GD_NAME, .call_timeout_s = TIMEOUT_S, .reconnect_min_ms = 1000, .reconnect_max_ms = 1000};
  struct question *q = gi_new(struct question);
  q->reactor = gd->reactor;
  q->name = gi_strdup(name);
  q->proc = proc;
  q->in = in;
  q->err = ENOTCONN;
  q->fn = fn;
  q->arg = arg;
  gi_defer_init(&q->end, end_now, q);
  gi_list_add_tail(&gd->questions, &q->link);
  q->rpc = gi_rpc_client_new(q->reactor, &config, &ops, q);
  gi_rpc_client_connect(q->rpc, sock, 0);
}

static struct gi_dict *
status_request(unsigned mask)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("%u", mask);
  struct gi_dict *in = gi_dict_new();
  gi_dict_set_str(in, "cmd", text);
  return in;
}

void
gd_brick_ask(const struct gd_brick *b, uint32_t proc, struct gi_dict *in, gd_answer_fn *fn, void *arg)
{
  GI_CLEANUP_FREE char *sock = gd_brick_socket(b);
  gd_ask(b->volume->gd, sock, proc, b->path, in, fn, arg);
}

void
gd_brick_ask_status(struct gd_brick *b, unsigned mask, gd_answer_fn *fn, void *arg)
{
  struct gi_dict *in = status_request(mask);
  gi_dict_set_str(in, "brick-name", b->path);
  gd_brick_ask(b, GI_BRICK_STATUS, in, fn, arg);
}

void
gd_shd_ask_status(struct gd_volume *v, unsigned mask, gd_answer_fn *fn, void *arg)
{
  GI_CLEANUP_FREE char *sock = gd_shd_socket(v);
  struct gi_dict *in = status_request(mask);
  gi_dict_set_str(in, "volname", v->name);
  gd_ask(v->gd, sock, GI_BRICK_NODE_STATUS, "", in, fn, arg);
}

void
gd_questions_abort(struct gd *gd)
{
  gi_list_foreach_safe(q, &gd->questions, struct question, link)
    question_free(q);
}
