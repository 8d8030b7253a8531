/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to a running brick over its own unix socket: the brick-op program
 * (mgmt-protocol.md 5). One connection per question; a brick that does not
 * answer in time counts as one that knows nothing.
 */
#include "cli/glusterishd/glusterishd.h"
#include "rpc/rpc-client.h"

#include <errno.h>

#define TIMEOUT_S 5
#define ANSWER_MAX (16u << 20) /* bytes */

struct question {
  struct gi_list link; /* gd.questions */
  struct gi_reactor *reactor;
  struct gi_rpc_client *rpc;
  struct gi_defer end;
  char *path; /* the brick's name in the request */
  unsigned mask;
  struct gi_dict *dict;
  bool answered;
  void (*fn)(const struct gi_dict *dict, void *arg);
  void *arg;
};

static void
question_free(struct question *q)
{
  gi_list_del(&q->link);
  gi_defer_cancel(&q->end);
  q->answered = true; /* outstanding calls are answered by the free */
  gi_rpc_client_free(&q->rpc);
  gi_dict_unref(&q->dict);
  gi_free(q->path);
  gi_free(q);
}

static void
end_now(void *arg)
{
  struct question *q = arg;
  q->fn(q->dict, q->arg);
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
    int32_t ret = (int32_t)gi_xdr_get_u32(&r->in);
    gi_xdr_get_u32(&r->in);
    const uint8_t *bytes = gi_xdr_get_opaque(&r->in, ANSWER_MAX, &len);
    if (ret == 0 && !r->in.failed && len)
      q->dict = gi_legacy_dict_decode(bytes, len);
  }
  end(q);
}

static void
up(struct gi_rpc_client *c, void *arg)
{
  struct question *q = arg;
  struct gi_xdr_out out = { 0 };
  struct gi_dict *in = gi_dict_new();
  GI_CLEANUP_FREE char *mask = gi_asprintf("%u", q->mask);
  gi_dict_set_str(in, "cmd", mask);
  gi_dict_set_str(in, "brick-name", q->path);
  uint32_t xid = gi_rpc_call_begin(c, &out, GI_PROG_BRICK, GI_VERS_BRICK, GI_BRICK_STATUS, GI_AUTH_V2, NULL);
  gi_xdr_put_string(&out, q->path);
  gi_xdr_put_u32(&out, GI_BRICK_STATUS);
  gi_xdr_put_legacy_dict(&out, in);
  gi_xdr_put_opaque(&out, NULL, 0);
  gi_dict_unref(&in);
  gi_rpc_call_send(c, xid, &out, NULL, false, reply, q);
}

static void
down(struct gi_rpc_client *c, void *arg)
{
  end(arg);
}

void
gd_brick_ask_status(struct gd_brick *b, unsigned mask, void (*fn)(const struct gi_dict *dict, void *arg), void *arg)
{
  static const struct gi_rpc_client_ops ops = { .up = up, .down = down };
  static const struct gi_rpc_client_config config = { .name = GD_NAME, .call_timeout_s = TIMEOUT_S, .reconnect_min_ms = 1000,
                                                      .reconnect_max_ms = 1000 };
  GI_CLEANUP_FREE char *sock = gd_brick_socket(b);
  struct question *q = gi_new(struct question);
  q->reactor = b->volume->gd->reactor;
  q->path = gi_strdup(b->path);
  q->mask = mask;
  q->fn = fn;
  q->arg = arg;
  gi_defer_init(&q->end, end_now, q);
  gi_list_add_tail(&b->volume->gd->questions, &q->link);
  q->rpc = gi_rpc_client_new(q->reactor, &config, &ops, q);
  gi_rpc_client_connect(q->rpc, sock, 0);
}

void
gd_questions_abort(struct gd *gd)
{
  gi_list_foreach_safe(q, &gd->questions, struct question, link)
    question_free(q);
}
