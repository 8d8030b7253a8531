/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload of registers: clients write records to shared files and to
 * files of their own, sync some, read, and the model judges what they read.
 */
#include "libglusterish/log.h"
#include "libglusterish/task.h"
#include "tests/simulation/model/registers.h"
#include "tests/simulation/model/quorum.h"
#include "tests/simulation/workload/workload.h"

#include <errno.h>

#define TASKS 3
#define SHARED 4 /* files; then SIM_MODEL_PRIVATE of each client */
#define PRIVATE 2

static unsigned
sectors(struct sim_rng *rng)
{
  switch (sim_rng_below(rng, 20)) {
  case 0:
    return (unsigned)sim_rng_between(rng, 32, 128);
  case 1:
  case 2:
  case 3:
    return (unsigned)sim_rng_between(rng, 5, 32);
  default:
    return (unsigned)sim_rng_between(rng, 1, 4);
  }
}

static unsigned
place(struct sim_rng *rng, unsigned n)
{
  /* Half of them near each other, so that writes meet. */
  unsigned room = SIM_MODEL_SECTORS - n;
  return (unsigned)sim_rng_below(rng, sim_rng_chance(rng, 500) ? room + 1 : room < 8 ? room + 1 : 8);
}

static void
put(struct sim_client *c, struct sim_model *m, unsigned file, struct gi_fd *fd, uint64_t opened)
{
  unsigned n = sectors(&c->rng), at = place(&c->rng, n);
  uint8_t *data = gi_alloc(n * SIM_SECTOR_BYTES);
  uint64_t number = sim_model_write(m, c->number, file, at, n, data);
  struct sim_reader reader = {.name = c->process->name, .number = c->number, .opened = opened, .begin = sim_model_now(m)};
  uint64_t size;
  ssize_t ret = sim_op_write(c, fd, at * SIM_SECTOR_BYTES, data, n * SIM_SECTOR_BYTES, &size);
  gi_log(GI_LOG_DEBUG, c->process->name, 1, "write %llu of file %u, sectors %u+%u: %zd", (unsigned long long)number, file, at,
         n, ret);
  if (ret == (ssize_t)(n * SIM_SECTOR_BYTES))
    sim_quorum_done(c, sim_model_copies(m, number), "write %llu", (unsigned long long)number);
  if (size != SIM_NO_SIZE)
    sim_model_check_size(m, &reader, file, size);
  sim_model_written(m, number, ret == (ssize_t)(n * SIM_SECTOR_BYTES) ? 0 : ret < 0 ? (int)-ret : EIO);
  if (ret == (ssize_t)(n * SIM_SECTOR_BYTES) && fd->flags & O_DSYNC)
    sim_model_written_synced(m, number);
  gi_free(data);
}

static void
get(struct sim_client *c, struct sim_model *m, unsigned file, struct gi_fd *fd, uint64_t opened)
{
  unsigned n = sectors(&c->rng), at = place(&c->rng, n);
  uint8_t *data = gi_alloc(n * SIM_SECTOR_BYTES);
  struct sim_reader reader = {.name = c->process->name, .number = c->number, .opened = opened, .begin = sim_model_now(m)};
  uint64_t size;
  ssize_t ret = sim_op_read(c, fd, at * SIM_SECTOR_BYTES, data, n * SIM_SECTOR_BYTES, &size);
  gi_log(GI_LOG_DEBUG, c->process->name, 1, "read of file %u, sectors %u+%u: %zd", file, at, n, ret);
  if (ret >= 0)
    sim_model_check(m, &reader, file, at, n, data, (size_t)ret);
  if (size != SIM_NO_SIZE)
    sim_model_check_size(m, &reader, file, size);
  gi_free(data);
}

static void
sync_file(struct sim_client *c, struct sim_model *m, unsigned file, struct gi_fd *fd)
{
  uint64_t begin = sim_model_now(m);
  if (sim_op_fsync(c, fd) >= 0)
    sim_model_synced(m, c->number, file, begin);
  else
    sim_model_sync_failed(m, file);
}

static const char *
file_name(unsigned file, char name[16])
{
  snprintf(name, 16, "r%u", file);
  return name;
}

static struct gi_fd *
open_file(struct sim_client *c, unsigned file, int flags)
{
  char name[16];
  struct gi_inode *root = sim_op_root(c), *inode = NULL;
  struct gi_fd *fd = NULL;
  int ret = sim_op_lookup(c, root, file_name(file, name), &inode, NULL);
  if (ret >= 0 && inode)
    sim_op_open(c, inode, O_RDWR | flags, &fd);
  else if (ret == -ENOENT)
    sim_violation(c->cluster->w, "%s: %s is said not to exist", c->process->name, name);
  gi_inode_unref(&inode);
  gi_inode_unref(&root);
  return fd;
}

static void
use(struct sim_client *c, struct sim_model *m, unsigned file, struct gi_fd *fd, uint64_t opened)
{
  for (unsigned i = (unsigned)sim_rng_between(&c->rng, 1, 10); i > 0 && !c->leave; i--) {
    unsigned what = (unsigned)sim_rng_below(&c->rng, 10);
    if (what < 5)
      put(c, m, file, fd, opened);
    else if (what < 9)
      get(c, m, file, fd, opened);
    else
      sync_file(c, m, file, fd);
    if (sim_rng_chance(&c->rng, 300) && !c->leave)
      sim_op_pause(c, sim_rng_below(&c->rng, sim_rng_chance(&c->rng, 100) ? 3 * SIM_S : 50 * SIM_MS));
  }
  sim_op_flush(c, fd);
}

static void
use_files(struct sim_client *c, bool synced)
{
  struct sim_model *m = c->cluster->model;
  while (!c->leave) {
    struct gi_fd *fd = NULL;
    unsigned file = (unsigned)sim_rng_below(&c->rng, SHARED);
    if (sim_rng_chance(&c->rng, 400))
      file = SHARED + c->number * PRIVATE + (unsigned)sim_rng_below(&c->rng, PRIVATE);
    uint64_t opened = sim_model_now(m);
    if (c->up)
      fd = open_file(c, file, synced && sim_rng_chance(&c->rng, 500) ? O_SYNC : 0);
    if (fd)
      use(c, m, file, fd, opened);
    gi_fd_unref(&fd);
    if (!c->leave)
      sim_op_pause(c, sim_rng_between(&c->rng, SIM_MS, 400 * SIM_MS));
  }
}

static void
register_task(struct sim_client *c)
{
  use_files(c, false);
}

static void
synced_task(struct sim_client *c)
{
  use_files(c, true);
}

void
sim_register_synced_session(struct sim_client *c)
{
  sim_client_tasks(c, TASKS, synced_task);
}

void
sim_register_session(struct sim_client *c)
{
  sim_client_tasks(c, TASKS, register_task);
}

static unsigned
files(const struct sim_cluster *c)
{
  return SHARED + c->config.clients * PRIVATE;
}

/* On a task of one client, before anything goes wrong. */
void
sim_register_setup(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  char name[16];
  for (unsigned i = 0; i < files(c->cluster); i++) {
    struct gi_fd *fd = NULL;
    int ret = sim_op_create(c, root, file_name(i, name), O_RDWR | O_EXCL, &fd);
    if (ret < 0)
      sim_violation(c->cluster->w, "%s cannot be made: %s", name, strerror(-ret));
    if (fd)
      sim_op_flush(c, fd);
    gi_fd_unref(&fd);
  }
  gi_inode_unref(&root);
}

uint32_t
sim_register_accused(const struct sim_cluster *c, unsigned file)
{
  char name[16], path[64], counter[64];
  uint32_t accused = 0;
  snprintf(path, sizeof(path), SIM_BRICK_DIR "/%s", file_name(file, name));
  for (unsigned by = 0; by < c->config.bricks; by++)
    for (unsigned whom = 0; whom < c->config.bricks; whom++) {
      snprintf(counter, sizeof(counter), "trusted.afr.vol-client-%u", whom);
      if (by != whom && c->machine[by].process->state != SIM_DOWN && sim_disk_accuses(c->machine[by].disk, path, counter))
        accused |= 1u << whom;
    }
  return accused;
}

/* What a brick holds in the end, judged like a read. */
void
sim_register_check_disk(struct sim_cluster *c, unsigned brick)
{
  struct gi_fs *fs = sim_disk_view(c->machine[brick].disk);
  uint8_t *data = gi_alloc(SIM_MODEL_SECTORS * SIM_SECTOR_BYTES);
  char name[16], path[64], who[32];
  snprintf(who, sizeof(who), "brick-%u", brick);
  struct sim_reader reader = {
      .name = who, .number = SIM_CLIENTS, .opened = sim_model_now(c->model), .begin = sim_model_now(c->model)};
  for (unsigned i = 0; i < files(c); i++) {
    snprintf(path, sizeof(path), SIM_BRICK_DIR "/%s", file_name(i, name));
    int fd = gi_fs_openat(fs, AT_FDCWD, path, O_RDONLY, 0);
    ssize_t n = fd < 0 ? -1 : gi_fs_pread(fs, fd, data, SIM_MODEL_SECTORS * SIM_SECTOR_BYTES, 0);
    if (n < 0)
      sim_violation(c->w, "%s: %s cannot be read", who, path);
    else
      sim_model_check(c->model, &reader, i, 0, SIM_MODEL_SECTORS, data, (size_t)n);
    if (fd >= 0)
      gi_fs_close(fs, fd);
  }
  gi_free(data);
  sim_view_free(&fs);
}
