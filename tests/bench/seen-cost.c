/* SPDX-License-Identifier: Apache-2.0
 *
 * A client and a brick in one process, over loopback: a fixed load for
 * tests/bench/seen-cost, which counts the instructions.
 *
 *   seen-cost MODE TIMES DIRECTORY
 *
 * MODE: bare (nothing is noted of operations, and there is no debug/io-stats
 * that keeps the busiest files), off (there is), on, or sampled (and the tree
 * of one in 1000 is collected). TIMES: of WRITE, READ, FSTAT and LOOKUP each.
 */
#include "libglusterish/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SLOWER 50 /* valgrind makes it: what is done once in a time is done as often as without */

static const char brick_layers[] =
    "volume posix\n type storage/posix\n option directory %s\n option io-engine inline\nend-volume\n"
    "volume locks\n type features/locks\n subvolumes posix\nend-volume\n"
    "volume threads\n type performance/io-threads\n subvolumes locks\nend-volume\n"
    "volume index\n type features/index\n option index-base %s/.glusterfs/indices\n subvolumes threads\nend-volume\n"
    "volume stats\n type debug/io-stats\n subvolumes index\nend-volume\n"
    "volume server\n type protocol/server\n option transport.socket.bind-address 127.0.0.1\n option listen-port 0\n"
    " option auth.addr.stats.allow *\n subvolumes stats\nend-volume\n";
static const char client_layers[] =
    "volume client\n type protocol/client\n option remote-host 127.0.0.1\n option remote-port %d\n option remote-subvolume "
    "stats\nend-volume\n"
    "volume locks\n type performance/open-behind\n subvolumes client\nend-volume\n"
    "volume cache\n type performance/md-cache\n option cache-times off\n subvolumes locks\nend-volume\n"
    "volume stats\n type debug/io-stats\n subvolumes cache\nend-volume\n";

/* The names that others know stay. */
static const char bare_brick[] =
    "volume posix\n type storage/posix\n option directory %s\n option io-engine inline\nend-volume\n"
    "volume locks\n type features/locks\n subvolumes posix\nend-volume\n"
    "volume threads\n type performance/io-threads\n subvolumes locks\nend-volume\n"
    "volume stats\n type features/index\n option index-base %s/.glusterfs/indices\n subvolumes threads\nend-volume\n"
    "volume server\n type protocol/server\n option transport.socket.bind-address 127.0.0.1\n option listen-port 0\n"
    " option auth.addr.stats.allow *\n subvolumes stats\nend-volume\n";
static const char bare_client[] =
    "volume client\n type protocol/client\n option remote-host 127.0.0.1\n option remote-port %d\n option remote-subvolume "
    "stats\nend-volume\n"
    "volume locks\n type performance/open-behind\n subvolumes client\nend-volume\n"
    "volume cache\n type performance/md-cache\n option cache-times off\n subvolumes locks\nend-volume\n";

struct side {
  struct gi_ctx ctx;
  struct gi_graph *graph;
};

static struct side brick, client;
static int port;
static bool up;

static void
listens(struct gi_ctx *ctx, int p)
{
  port = p;
}

static void
build(struct side *s, const char *text)
{
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);

  s->ctx.reactor = gi_reactor_new(0);
  s->ctx.process_name = "seen-cost";
  s->ctx.on_listen = listens;
  snprintf(s->ctx.process_id, sizeof(s->ctx.process_id), "seen-cost");
  gi_random(s->ctx.reactor, &s->ctx.process_uuid, sizeof(s->ctx.process_uuid));
  s->graph = vf ? gi_graph_build(&s->ctx, &vf, NULL, &err) : NULL;
  if (!s->graph) {
    fprintf(stderr, "seen-cost: %s\n", err.text);
    exit(1);
  }
  s->ctx.graph = s->graph;
  gi_graph_activate(s->graph);
}

static void
turn(void)
{
  gi_reactor_turn(brick.ctx.reactor, 0);
  gi_reactor_turn(client.ctx.reactor, 0);
}

static void
done(struct gi_fop *fop, void *arg)
{
  up = fop->rsp.ret >= 0;
  *(bool *)arg = true;
}

/* Answered when it returns; the caller unrefs it. */
static struct gi_fop *
run(struct gi_fop *fop)
{
  bool answered = false;

  fop->caller.pid = 100;
  fop->caller.time.sec = 1700000000;
  gi_fop_submit(fop, client.graph->top, done, &answered);
  while (!answered)
    turn();
  return fop;
}

static struct gi_fd *
open_file(void)
{
  struct gi_inode *root = gi_inode_get(client.graph, &gi_gfid_root);
  struct gi_fop *fop = NULL;
  struct gi_fd *fd;
  struct gi_gfid gfid = gi_gfid_new(client.ctx.reactor);

  for (unsigned i = 0; i < 100000 && !up; i++) { /* until the brick is connected */
    gi_fop_unref(fop);
    fop = gi_fop_new(client.graph, GI_FOP_CREATE);
    gi_fop_set_entry(fop, &fop->loc, root, "file");
    fop->fd = gi_fd_new(client.graph, NULL, O_RDWR, 100);
    fop->args.flags = O_RDWR;
    fop->args.mode = 0644;
    gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &gfid);
    run(fop);
    turn();
  }
  if (!up) {
    fprintf(stderr, "seen-cost: CREATE: %s\n", strerror(fop->rsp.err));
    exit(1);
  }
  fd = gi_fd_ref(fop->fd);
  gi_fop_unref(fop);
  gi_inode_unref(&root);
  return fd;
}

static void
load(struct gi_fd *fd, unsigned times)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_WRITE, GI_FOP_READ, GI_FOP_FSTAT, GI_FOP_LOOKUP};
  struct gi_buf *buf = gi_buf_new(4096);
  struct gi_inode *root = gi_inode_get(client.graph, &gi_gfid_root);

  memset(buf->base, 'x', 4096);
  for (unsigned i = 0; i < times; i++)
    for (unsigned k = 0; k < GI_ARRAY_LEN(kinds); k++) {
      struct gi_fop *fop = gi_fop_new(client.graph, kinds[k]);

      if (kinds[k] == GI_FOP_LOOKUP)
        gi_fop_set_entry(fop, &fop->loc, root, "file");
      else
        gi_fop_set_fd(fop, fd);
      fop->args.size = 4096;
      if (kinds[k] == GI_FOP_WRITE)
        gi_payload_add(&fop->payload, buf, buf->base, 4096);
      gi_fop_unref(run(fop));
      if (!up)
        exit(2);
    }
  gi_inode_unref(&root);
  gi_buf_unref(&buf);
}

int
main(int argc, char **argv)
{
  if (argc != 4) {
    fprintf(stderr, "usage: seen-cost bare|off|on|sampled TIMES DIRECTORY\n");
    return 1;
  }

  bool bare = strcmp(argv[1], "bare") == 0;
  GI_CLEANUP_FREE char *below = gi_asprintf(bare ? bare_brick : brick_layers, argv[3], argv[3]);
  build(&brick, below);
  for (unsigned i = 0; i < 1000 && !port; i++)
    gi_reactor_turn(brick.ctx.reactor, GI_NSEC_PER_MSEC);
  GI_CLEANUP_FREE char *above = gi_asprintf(bare ? bare_client : client_layers, port);
  build(&client, above);

  struct gi_fd *fd = open_file();

  brick.ctx.seen->off = client.ctx.seen->off = bare || strcmp(argv[1], "off") == 0;
  brick.ctx.seen->every *= SLOWER;
  client.ctx.seen->every *= SLOWER;
  if (strcmp(argv[1], "sampled") == 0)
    gi_trace_sample(client.ctx.seen, 1000);
  load(fd, (unsigned)strtoul(argv[2], NULL, 10));
  gi_fd_unref(&fd);
  _exit(0);
}
