/* SPDX-License-Identifier: Apache-2.0
 *
 * See brick-bench.h.
 */
#include "tests/unit/brick-bench.h"

#include <fcntl.h>
#include <stdio.h>

static void
learn_port(struct gi_ctx *ctx, int port)
{
}

/* The port is in the server's state dump: the stack is active before anybody could ask to be told. */
static int
port_of(struct fake_stack *s)
{
  char *text = NULL;
  size_t len;
  int port = 0;
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  s->ctx.on_listen = learn_port;
  s->x->cls->statedump(s->x, &d);
  fclose(d.out);
  const char *p = strstr(text, "port=");
  if (p)
    port = atoi(p + 5);
  free(text);
  assert_true(port > 0);
  return port;
}

void
bench_turn(struct bench *b, unsigned ms)
{
  struct gi_reactor *clock = b->client ? b->client->ctx.reactor : b->server->ctx.reactor;
  uint64_t until = gi_now(clock) + ms * GI_NSEC_PER_MSEC;
  unsigned turns = 0; /* on a busy machine the time may pass in one of them */
  do {
    if (b->server)
      gi_reactor_turn(b->server->ctx.reactor, 0);
    if (b->client)
      gi_reactor_turn(b->client->ctx.reactor, GI_NSEC_PER_MSEC / 2);
  } while (gi_now(clock) < until || ++turns < 10 * ms);
}

bool
bench_until(struct bench *b, const unsigned *flag, unsigned want)
{
  for (unsigned i = 0; i < 5000 && *flag < want; i++)
    bench_turn(b, 0);
  return *flag >= want;
}

void
bench_start_server(struct bench *b, const char *options)
{
  GI_CLEANUP_FREE char *text =
      gi_asprintf("option transport.socket.bind-address 127.0.0.1\noption listen-port %d\n%s", b->port, options ? options : "");
  b->server = fake_stack_new("protocol/server", text, 1);
  b->port = port_of(b->server);
}

void
bench_stop_server(struct bench *b)
{
  fake_stack_free(b->server);
  b->server = NULL;
}

struct bench *
bench_new(const char *server_options, const char *client_options, bool wait)
{
  struct bench *b = gi_new(struct bench);
  bench_start_server(b, server_options);
  GI_CLEANUP_FREE char *text = gi_asprintf(
      "option remote-host 127.0.0.1\noption remote-port %d\n%s%s", b->port,
      client_options && strstr(client_options, "remote-subvolume") ? "" : "option remote-subvolume " BENCH_BRICK "\n",
      client_options ? client_options : "");
  b->client = fake_stack_new("protocol/client", text, 0);
  if (wait)
    assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 1));
  return b;
}

void
bench_set_option(struct fake_stack *s, const char *name, const char *value)
{
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *text = gi_volfile_write(s->graph->volfile);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  gi_vol_node_option(gi_volfile_find(vf, s->x->name), name, "%s", value);
  if (gi_graph_reconfigure(s->graph, &vf, &err) != 0)
    fail_msg("%s", err.text);
}

void
bench_free(struct bench *b)
{
  /* The client's half closes first; the server sees it go. */
  if (b->client) {
    gi_graph_deactivate(b->client->graph);
    bench_turn(b, 5);
    fake_stack_free(b->client);
    b->client = NULL;
  }
  if (b->server) {
    bench_turn(b, 5);
    fake_stack_free(b->server);
  }
  gi_free(b);
}

void
bench_send(struct bench *b, struct gi_fop *f)
{
  fake_submit(b->client, f);
}

void
bench_await(struct bench *b, const struct gi_fop *f)
{
  for (unsigned i = 0; i < 5000 && !f->answered; i++)
    bench_turn(b, 0);
  if (!f->answered)
    fail_msg("%s was not answered", gi_fop_name(f->kind));
}

void
bench_submit(struct bench *b, struct gi_fop *f)
{
  fake_submit(b->client, f);
  bench_await(b, f);
}

struct gi_fd *
bench_open(struct bench *b, uint8_t n, uint32_t flags)
{
  struct gi_fop *f = fake_fop(b->client, GI_FOP_OPEN);
  struct gi_fd *fd = fake_fd(b->client, n);
  fd->flags = (int32_t)flags;
  gi_fop_set_fd(f, fd);
  f->args.flags = flags;
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  fake_fop_free(f);
  return fd;
}

struct gi_fop *
bench_request(struct bench *b, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(b->client, kind);
  f->caller.uid = 7;
  f->caller.gid = 8;
  f->caller.owner.len = 8;
  memset(f->caller.owner.data, 0xab, 8);
  f->args.size = 5;
  f->args.offset = 3;
  f->args.flock.type = f->args.type = GI_LK_WRITE;
  f->args.cmd = kind == GI_FOP_ENTRYLK || kind == GI_FOP_FENTRYLK ? GI_ENTRYLK_NB : GI_LKCMD_SET;
  f->args.domain = "domain";
  f->args.link = "target";
  f->args.name = "user.x";
  if (kind == GI_FOP_WRITE)
    gi_payload_add_copy(&f->payload, "hello", 5);
  if (kind == GI_FOP_SETXATTR || kind == GI_FOP_FSETXATTR || kind == GI_FOP_XATTROP || kind == GI_FOP_FXATTROP) {
    f->args.dict = gi_dict_new();
    gi_dict_set_bin(f->args.dict, "user.x", "v", 1);
  }
  if (kind == GI_FOP_CREATE) {
    gi_fop_set_entry(f, &f->loc, fake_inode(b->client, 2), "entry");
    f->fd = gi_fd_new(b->client->graph, NULL, O_RDWR, 100);
  } else if (gi_fop_table[kind].target == GI_TARGET_FD) {
    gi_fop_set_fd(f, fd);
    if (kind == GI_FOP_COPY_FILE_RANGE)
      f->fd2 = gi_fd_ref(fd);
  } else if (kind == GI_FOP_LINK) {
    gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
    gi_fop_set_entry(f, &f->loc2, fake_inode(b->client, 2), "entry2");
  } else if (gi_fop_table[kind].target == GI_TARGET_ENTRY) {
    gi_fop_set_entry(f, &f->loc, fake_inode(b->client, 2), "entry");
    gi_fop_set_entry(f, &f->loc2, fake_inode(b->client, 2), "entry2");
  } else {
    gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  }
  return f;
}
