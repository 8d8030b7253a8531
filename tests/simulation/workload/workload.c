/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of workloads, and the plain ones: a little of everything on a few
 * names that all clients share, and files of each client's own that it empties and
 * writes again and again.
 */
#include "tests/simulation/workload/workload.h"
#include "libglusterish/task.h"

#include <errno.h>

#define TASKS 3
#define FILES 6
#define DIRS 3
#define BYTES 12000
#define SPAN 100000
#define LARGE_BYTES 400000 /* does not fit into one receive buffer */
#define LARGE_PERMILLE 15
#define LAST_FILES 40

struct sim_client_call {
  struct sim_client *c;
  void (*fn)(struct sim_client *c);
};

static void
task(void *arg)
{
  struct sim_client_call call = *(struct sim_client_call *)arg;
  gi_free(arg);
  call.c->tasks++;
  call.fn(call.c);
  call.c->tasks--;
}

void
sim_client_tasks(struct sim_client *c, unsigned n, void (*fn)(struct sim_client *c))
{
  c->next_task = 0;
  for (unsigned i = 1; i < n; i++) {
    struct sim_client_call *call = gi_new(struct sim_client_call);
    *call = (struct sim_client_call){c, fn};
    gi_task_start(&c->process->reactor->base, task, call);
  }
  fn(c);
}

/* ---- mixed ---- */

static const char *
file_name(struct sim_client *c, char name[16])
{
  snprintf(name, 16, "f%u", (unsigned)sim_rng_below(&c->rng, FILES));
  return name;
}

static const char *
dir_name(struct sim_client *c, char name[16])
{
  snprintf(name, 16, "d%u", (unsigned)sim_rng_below(&c->rng, DIRS));
  return name;
}

/* Opens it, or makes it: NULL if neither works now. */
static struct gi_fd *
some_file(struct sim_client *c, struct gi_inode *dir)
{
  static const int how[] = {O_EXCL, O_TRUNC, 0}; /* another client may have made it meanwhile */
  char name[16];
  struct gi_inode *inode = NULL;
  struct gi_fd *fd = NULL;
  file_name(c, name);
  int ret = sim_op_lookup(c, dir, name, &inode, NULL);
  if (ret >= 0 && inode)
    sim_op_open(c, inode, O_RDWR, &fd);
  else if (ret == -ENOENT)
    sim_op_create(c, dir, name, O_RDWR | how[sim_rng_below(&c->rng, GI_ARRAY_LEN(how))], &fd);
  gi_inode_unref(&inode);
  return fd;
}

static void
write_large(struct sim_client *c, struct gi_fd *fd)
{
  size_t len = (size_t)sim_rng_between(&c->rng, LARGE_BYTES / 4, LARGE_BYTES);
  GI_CLEANUP_FREE uint8_t *data = gi_alloc(len);
  memset(data, (int)sim_rng_below(&c->rng, 256), len);
  sim_op_write(c, fd, 0, data, len, NULL, NULL);
}

static void
use_file(struct sim_client *c, struct gi_fd *fd)
{
  uint8_t data[BYTES];
  unsigned n = (unsigned)sim_rng_between(&c->rng, 1, 6);
  for (unsigned i = 0; i < n && !c->leave; i++) {
    uint64_t at = sim_rng_below(&c->rng, SPAN);
    size_t len = (size_t)sim_rng_between(&c->rng, 1, BYTES);
    switch (sim_rng_below(&c->rng, 10)) {
    case 0:
      sim_op_fsync(c, fd);
      break;
    case 1:
      sim_op_truncate(c, fd, at);
      break;
    case 2:
    case 3:
    case 4:
      sim_op_read(c, fd, at, data, len, NULL);
      break;
    default:
      if (sim_rng_chance(&c->rng, LARGE_PERMILLE)) {
        write_large(c, fd);
        break;
      }
      sim_rng_fill(&c->rng, data, 64);
      memset(data + 64, data[0], sizeof(data) - 64);
      sim_op_write(c, fd, at, data, len, NULL, NULL);
    }
  }
  sim_op_flush(c, fd);
}

static void
ignore(void *arg, const struct gi_dirent *e)
{
}

static void
use_names(struct sim_client *c, struct gi_inode *root, struct gi_inode *dir)
{
  char name[16], name2[16] = "value";
  struct gi_inode *inode = NULL;
  switch (sim_rng_below(&c->rng, 8)) {
  case 0:
    sim_op_unlink(c, dir, file_name(c, name));
    break;
  case 1:
    sim_op_rename(c, dir, file_name(c, name), sim_rng_chance(&c->rng, 500) ? root : dir, file_name(c, name2));
    break;
  case 2:
    sim_op_rmdir(c, root, dir_name(c, name));
    break;
  case 3:
    if (sim_op_lookup(c, dir, file_name(c, name), &inode, NULL) >= 0 && inode)
      sim_op_link(c, inode, root, file_name(c, name2));
    break;
  case 4:
    sim_op_list(c, dir, ignore, NULL);
    break;
  case 5:
    if (sim_op_lookup(c, dir, file_name(c, name), &inode, NULL) >= 0 && inode)
      sim_op_chmod(c, inode, 0600 | (uint32_t)sim_rng_below(&c->rng, 0100));
    break;
  case 6:
    if (sim_op_lookup(c, dir, file_name(c, name), &inode, NULL) >= 0 && inode)
      sim_op_setxattr(c, inode, "user.sim", name2, (uint32_t)sim_rng_below(&c->rng, sizeof(name2)));
    break;
  default:
    sim_op_stat(c, dir, NULL);
  }
  gi_inode_unref(&inode);
}

static void
one_round(struct sim_client *c)
{
  char name[16];
  struct gi_inode *root = sim_op_root(c), *dir = NULL;
  struct gi_fd *fd;
  if (sim_rng_chance(&c->rng, 600))
    dir = gi_inode_ref(root);
  else if (sim_op_lookup(c, root, dir_name(c, name), &dir, NULL) == -ENOENT)
    sim_op_mkdir(c, root, name, &dir);
  if (dir && dir->mode == S_IFDIR) {
    if (sim_rng_chance(&c->rng, 500)) {
      use_names(c, root, dir);
    } else if ((fd = some_file(c, dir))) {
      use_file(c, fd);
      gi_fd_unref(&fd);
    }
  }
  gi_inode_unref(&dir);
  gi_inode_unref(&root);
}

static void
fill(struct sim_client *c, struct gi_fd *fd)
{
  uint8_t data[BYTES];
  if (!fd)
    return;
  memset(data, (int)sim_rng_below(&c->rng, 256), sizeof(data));
  sim_op_write(c, fd, sim_rng_below(&c->rng, SPAN), data, (size_t)sim_rng_between(&c->rng, 1, BYTES), NULL, NULL);
  sim_op_flush(c, fd);
  gi_fd_unref(&fd);
}

static void
make_and_fill(struct sim_client *c, struct gi_inode *dir, const char *name, int how)
{
  struct gi_fd *fd = NULL;
  sim_op_create(c, dir, name, O_RDWR | how, &fd);
  fill(c, fd);
}

static void
open_and_fill(struct sim_client *c, struct gi_inode *dir, const char *name, int how)
{
  struct gi_inode *inode = NULL;
  struct gi_fd *fd = NULL;
  if (sim_op_lookup(c, dir, name, &inode, NULL) >= 0 && inode)
    sim_op_open(c, inode, O_RDWR | how, &fd);
  fill(c, fd);
  gi_inode_unref(&inode);
}

/* What comes last nobody writes over: all clients at once empty and fill the same files, which must then be the same everywhere. Some
 * each makes that finds none. The others one client has made, and empties while the others write: nobody was met there before. */
static void
last_words(struct sim_client *c, bool first)
{
  struct gi_inode *root = sim_op_root(c);
  char name[16];
  for (unsigned i = c->number; first && c->up && i < LAST_FILES; i += c->cluster->config.clients) {
    snprintf(name, sizeof(name), "mine%u", i);
    make_and_fill(c, root, name, O_EXCL);
  }
  for (unsigned i = 0; c->up && i < LAST_FILES; i++) {
    snprintf(name, sizeof(name), "last%u", i);
    make_and_fill(c, root, name, O_TRUNC);
  }
  for (unsigned i = 0; c->up && i < LAST_FILES; i++) {
    snprintf(name, sizeof(name), "mine%u", i);
    open_and_fill(c, root, name, first && i % c->cluster->config.clients == c->number ? O_TRUNC : 0);
  }
  gi_inode_unref(&root);
}

static void
mixed_task(struct sim_client *c)
{
  bool first = c->next_task++ == 0;
  while (!c->leave) {
    if (c->up)
      one_round(c);
    if (!c->leave)
      sim_op_pause(c, sim_rng_between(&c->rng, SIM_MS, 200 * SIM_MS));
  }
  last_words(c, first);
}

static void
mixed(struct sim_client *c)
{
  sim_client_tasks(c, TASKS, mixed_task);
}

/* ---- rewritten ---- */

static void
rewrite(struct sim_client *c, struct gi_inode *dir, const char *name)
{
  struct gi_inode *inode = NULL;
  int ret = sim_op_lookup(c, dir, name, &inode, NULL);
  gi_inode_unref(&inode);
  if (ret >= 0)
    open_and_fill(c, dir, name, O_TRUNC);
  else if (ret == -ENOENT)
    make_and_fill(c, dir, name, O_EXCL);
}

/* What a client leaves behind that dies is not written over: the next one has other names. */
static void
rewritten_task(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  char name[32];
  snprintf(name, sizeof(name), "own%u-%u", c->number, (unsigned)sim_rng_below(&c->rng, 1000000));
  while (!c->leave) {
    sim_op_pause(c, sim_rng_between(&c->rng, SIM_MS, 150 * SIM_MS));
    if (c->up)
      rewrite(c, root, name);
  }
  gi_inode_unref(&root);
}

static void
rewritten(struct sim_client *c)
{
  sim_client_tasks(c, TASKS, rewritten_task);
}

const struct sim_workload sim_workloads[] = {
    {"mixed", "a little of everything on a few shared names", mixed, NULL, NULL},
    {"rewritten", "files of each client's own, emptied and written again and again", rewritten, NULL, NULL},
    {"register", "records in shared files and own ones, read back and judged", sim_register_session, sim_register_setup,
     sim_register_check_disk},
    {"synced", "the same, half of it through descriptors opened O_SYNC", sim_register_synced_session, sim_register_setup,
     sim_register_check_disk},
    {"sharded", "records in files that are kept in blocks", sim_register_session, sim_register_setup, sim_register_check_disk,
     .shard = true},
    {"images", "the same over several sets, while a rebalance moves the blocks and modes are set", sim_register_images_session,
     sim_register_setup, sim_register_check_disk, .spread = true, .shard = true, .moves = true},
    {"names", "names made, linked, renamed and removed, in shared directories and own ones, and judged", sim_names_session,
     sim_names_setup, sim_names_check_disk},
    {"spread", "the same over several sets", sim_names_session, sim_names_setup, sim_spread_check_disk, true, sim_spread_sweep},
    {"moved", "the same while a rebalance moves files, and sets are emptied", sim_names_session, sim_names_setup,
     sim_spread_check_disk, true, sim_spread_sweep, .moves = true},
    {"locks", "exclusive locks taken, held and given back, and judged", sim_locks_session, sim_locks_setup, NULL},
};
const unsigned sim_workloads_count = GI_ARRAY_LEN(sim_workloads);
