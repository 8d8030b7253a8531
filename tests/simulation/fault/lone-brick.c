/* SPDX-License-Identifier: Apache-2.0
 *
 * A lone brick on a simulated disk: see lone-brick.h.
 */
#include "tests/simulation/fault/lone-brick.h"
#include "tests/simulation/world/rng.h"

#include <stdlib.h>

static const char volfile[] =
    "volume p\n type storage/posix\n option directory /b\n option health-check-interval 0\nend-volume\n"
    "volume i\n type features/index\n option index-base /b/.glusterfs/indices\n"
    " option xattrop-dirty-watchlist trusted.afr.dirty\n option xattrop-pending-watchlist trusted.afr.v-\n"
    " subvolumes p\nend-volume\n";

static uint64_t
disk_random(void *arg)
{
  return sim_mix(&((struct sim_lone *)arg)->disk_rng);
}

/* Long ago by the real clock of the reactor: what a lookup finds half-made is old enough to be put right. */
static uint64_t
disk_now(void *arg)
{
  return ((struct sim_lone *)arg)->now += 1000000;
}

void
sim_lone_setup(struct sim_lone *b, uint64_t seed)
{
  struct sim_disk_config c = {.random = disk_random, .now = disk_now, .arg = b};

  *b = (struct sim_lone){.rng = seed, .disk_rng = seed * 77, .now = 1600000000000000000ull};
  b->disk = sim_disk_new(&c);
  assert_int_equal(sim_disk_make_dir(b->disk, "/b"), 0);
}

bool
sim_lone_boot(struct sim_lone *b)
{
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(volfile, strlen(volfile), &err);

  b->ctx = (struct gi_ctx){.reactor = gi_reactor_new(0), .process_name = "brick", .fs = sim_disk_view(b->disk)};
  b->graph = gi_graph_build(&b->ctx, &vf, NULL, &err);
  if (b->graph) {
    b->ctx.graph = b->graph;
    gi_graph_activate(b->graph);
  } else if (!sim_disk_stopped(b->disk)) {
    fail_msg("%s", err.text);
  }
  return b->graph;
}

void
sim_lone_halt(struct sim_lone *b)
{
  if (b->graph) {
    gi_graph_deactivate(b->graph);
    for (int n = 0; n < 100; n++)
      gi_reactor_turn(b->ctx.reactor, 0);
    assert_int_equal(b->graph->fops_live, 0);
    gi_graph_free(&b->graph);
  }
  gi_reactor_free(b->ctx.reactor);
  assert_int_equal(sim_view_open_files(b->ctx.fs), 0);
  sim_view_free(&b->ctx.fs);
}

static void
done(struct gi_fop *f, void *arg)
{
  (void)arg;
  gi_fop_unref(f);
}

int
sim_lone_run(struct sim_lone *b, struct gi_fop *f)
{
  int ret;

  gi_fop_ref(f);
  gi_fop_submit(f, b->graph->top, done, NULL);
  for (int n = 0; n < 1000 && !f->answered; n++)
    gi_reactor_turn(b->ctx.reactor, 0);
  assert_true(f->answered);
  gi_reactor_turn(b->ctx.reactor, 0); /* what the index does behind the reply */
  ret = f->rsp.ret < 0 ? -f->rsp.err : f->rsp.ret;
  gi_fop_unref(f);
  return ret;
}

static struct gi_fop *
file_fop(struct sim_lone *b, enum gi_fop_kind kind, struct gi_fd *fd, int pid)
{
  struct gi_fop *f = gi_fop_new(b->graph, kind);

  f->caller.pid = pid;
  gi_fop_set_fd(f, fd);
  return f;
}

int
sim_lone_write(struct sim_lone *b, struct gi_fd *fd, int pid, uint32_t flags, const void *data, size_t len)
{
  struct gi_fop *f = file_fop(b, GI_FOP_WRITE, fd, pid);

  f->args.size = (uint32_t)len;
  f->args.flags = flags;
  gi_payload_add_copy(&f->payload, data, len);
  return sim_lone_run(b, f);
}

int
sim_lone_fsync(struct sim_lone *b, struct gi_fd *fd, int pid, bool datasync)
{
  struct gi_fop *f = file_fop(b, GI_FOP_FSYNC, fd, pid);

  f->args.datasync = datasync;
  return sim_lone_run(b, f);
}

struct sim_inode *
sim_lone_at(struct sim_lone *b, const char *path)
{
  int err;

  return sim_walk(b->disk, b->disk->root, path, false, NULL, NULL, &err);
}

unsigned
sim_lone_seeds(void)
{
  const char *more = getenv("SIM_SEEDS");

  return more ? (unsigned)atoi(more) : 3;
}
