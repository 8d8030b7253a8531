/* SPDX-License-Identifier: Apache-2.0
 *
 * The bench of op-fixture.h.
 */
#include "programs/glusterishd/ops/fixture.h"
#include "libglusterish/graph.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct values {
  char *text;
};
static const struct gi_option replicate_options[] = {
    {.name = "quorum-type",
     .key = "cluster.quorum-type",
     .type = GI_OPT_STR,
     .offset = offsetof(struct values, text),
     .text = "."},
    GI_OPTION_END,
};
static const struct gi_xlator_class fakes[] = {
    {.abi = GI_XLATOR_ABI,
     .type = "cluster/replicate",
     .version = "0",
     .options = replicate_options,
     .options_bytes = sizeof(struct values)},
    DAEMON_CLASS("debug/trace",
                 .layer = {{.side = GI_SIDE_CLIENT | GI_SIDE_BRICK, .by_name = true, .key = "debug.trace", .def = "off"}}),
    DAEMON_CLASS("protocol/client"),
    DAEMON_CLASS("cluster/distribute"),
    DAEMON_CLASS("debug/io-stats"),
    DAEMON_CLASS("storage/posix"),
    DAEMON_CLASS("features/arbiter", .layer = {{.side = GI_SIDE_BRICK, .above = {"storage/posix"}, .arbiter = true}}),
    DAEMON_CLASS("features/locks", .layer = {{.side = GI_SIDE_BRICK}}),
    DAEMON_CLASS("features/index", .layer = {{.side = GI_SIDE_BRICK, .above = {"features/locks"}}}),
    DAEMON_CLASS("protocol/server"),
};

/* A brick that serves as long as the test runs; one of a path with "unwilling" in it does not, and what is no brick has done its work at once. */
static const char fake_brick[] = "#!/bin/sh\n"
                                 "case \"$*\" in *unwilling*) exit 1;; *--no-daemon*) exit 0;; esac\n"
                                 "while [ \"$1\" != -p ]; do shift; done\n"
                                 "while kill -0 $PPID; do sleep 0.1; done &\n"
                                 "echo $! >\"$2\"\n";

int
setup(void **state)
{
  struct fixture *f = gi_new(struct fixture);
  f->gd = daemon_bench_new(f->dir, fakes, GI_ARRAY_LEN(fakes));
  f->r = f->gd->reactor;
  gi_free(f->gd->brick_program);
  f->gd->brick_program = gi_asprintf("%s/program", f->dir);
  FILE *out = fopen(f->gd->brick_program, "we");
  assert_non_null(out);
  assert_true(fputs(fake_brick, out) >= 0 && fchmod(fileno(out), 0755) == 0 && fclose(out) == 0);
  struct gi_error err = {0};
  if (gd_store_load(f->gd, &err))
    fail_msg("%s", err.text);
  *state = f;
  return 0;
}

int
teardown(void **state)
{
  struct fixture *f = *state;
  gi_list_foreach(v, &f->gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (v->bricks[i].pid)
        kill(v->bricks[i].pid, SIGKILL);
  daemon_bench_free(&f->gd, f->dir);
  gi_free(f->out);
  gi_free(f);
  return 0;
}

/* ---- commands ---- */

static void
answered(struct gd_op *op, const struct gi_error *err)
{
  struct fixture *f = op->arg;
  f->answers++;
  f->err = err ? *err : (struct gi_error){0};
  gi_free(f->out);
  char *text = json_dumps(op->out, JSON_COMPACT);
  f->out = gi_strdup(text);
  free(text);
}

/* What a brick does once it runs. */
static void
sign_in_all(struct fixture *f)
{
  gi_list_foreach(v, &f->gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (v->bricks[i].state == GD_PROC_UP && !v->bricks[i].signed_in)
        gd_brick_signed_in(&v->bricks[i], v->bricks[i].port);
}

int
run(struct fixture *f, uint32_t proc, const char *fmt, ...)
{
  char text[4096], request[8192];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  char *to = request;
  for (const char *p = text; *p; to += strlen(to)) {
    bool dir = strncmp(p, "DIR", 3) == 0;
    snprintf(to, sizeof(request) - (size_t)(to - request), "%.*s", dir ? 64 : 1, dir ? f->dir : p);
    p += dir ? 3 : 1;
  }
  f->answers = 0;
  gd_op_begin(f->gd, request, proc, false, NULL, answered, f);
  for (int i = 0; i < 2000 && !f->answers; i++) {
    sign_in_all(f);
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  }
  assert_int_equal(f->answers, 1);
  return f->err.code;
}

void
succeeds(struct fixture *f, int code)
{
  if (code)
    fail_msg("%d: %s", f->err.code, f->err.text);
}

struct gd_volume *
create(struct fixture *f, const char *one, const char *two)
{
  succeeds(f, run(f, 4,
                  "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":2,\"force\":true,"
                  "\"bricks\":[\"127.0.0.1:DIR/%s\",\"127.0.0.1:DIR/%s\"]}",
                  one, two));
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  assert_non_null(v);
  return v;
}

/* ---- bricks that are asked ---- */

/* What the bricks of a test were asked last, and what they answer: pairs of key and value, NULL at the end. */
static struct {
  struct gi_dict *asked;
  const char *const *answer;
  int err;
} said;

static void
brick_is_asked(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  uint32_t len;
  gi_xdr_get_opaque(&req->in, 4096, &len);
  gi_xdr_get_u32(&req->in);
  gi_dict_unref(&said.asked);
  said.asked = gi_xdr_get_legacy_dict(&req->in);
  struct gi_dict *dict = gi_dict_new();
  for (const char *const *p = said.answer; p && *p; p += 2)
    gi_dict_set_str(dict, p[0], p[1]);
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, said.err ? (uint32_t)-1 : 0);
  gi_xdr_put_u32(&out, (uint32_t)said.err);
  gi_xdr_put_legacy_dict(&out, dict);
  gi_xdr_put_u32(&out, 0);
  gi_rpc_answer_send(req, &out, NULL);
  gi_dict_unref(&dict);
}

const char *
asked(const char *member)
{
  const char *text;
  return gi_dict_get_str(said.asked, member, &text) ? text : "";
}

void
answer_is(const char *const *answer, int err)
{
  said.answer = answer;
  said.err = err;
}

struct gi_rpc_server *
answer_for(struct fixture *f, struct gd_volume *v, unsigned n, const char *const *answer)
{
  static const struct gi_rpc_server_ops no_ops = {0};
  static gi_rpc_handler *const procs[] = {
      [GI_BRICK_XLATOR_INFO] = brick_is_asked,
      [GI_BRICK_XLATOR_OP] = brick_is_asked,
      [GI_BRICK_STATUS] = brick_is_asked,
      [GI_BRICK_XLATOR_DEFRAG] = brick_is_asked,
  };
  static const struct gi_rpc_program bricks = {"Gluster Brick operations", GI_PROG_BRICK, GI_VERS_BRICK, GI_ARRAY_LEN(procs),
                                               procs};
  struct gi_rpc_server *s = gi_rpc_server_new(f->r, "brick", &no_ops, NULL);
  gi_rpc_server_add_program(s, &bricks);
  GI_CLEANUP_FREE char *mover = gd_socket_name(v, "rebalance");
  assert_int_equal(gi_rpc_server_listen(s, mover, 0, 8, NULL), 0);
  for (unsigned i = 0; i < n; i++) {
    GI_CLEANUP_FREE char *sock = gd_brick_socket(&v->bricks[i]);
    assert_int_equal(gi_rpc_server_listen(s, sock, 0, 8, NULL), 0);
  }
  answer_is(answer, 0);
  return s;
}

void
nobody_is_asked(struct gi_rpc_server **s)
{
  gi_rpc_server_free(s);
  gi_dict_unref(&said.asked);
}
