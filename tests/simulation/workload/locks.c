/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload of locks: clients take exclusive POSIX locks on a few files,
 * write while they hold them, and give them back in one way or another.
 *
 * A claim lasts from the answer that granted a lock until the last successful
 * write through its descriptor was begun: that long its holder had no reason
 * to doubt it. Claims of two clients on one file never overlap. A write that was
 * answered before it came to a brick says nothing of the lock; a sync after it does.
 */
#include "libglusterish/log.h"
#include "tests/simulation/workload/workload.h"

#include <errno.h>

#define FILES 3 /* each client has one task for each */

struct claim {
  unsigned client;
  uint64_t from, until;
};

struct sim_claims {
  struct claim *claim[FILES];
  unsigned n[FILES];
};

static struct sim_claims *
claims_of(struct sim_client *c)
{
  if (!c->cluster->claims)
    c->cluster->claims = gi_new(struct sim_claims);
  return c->cluster->claims;
}

void
sim_claims_free(struct sim_claims **claims)
{
  for (unsigned i = 0; *claims && i < FILES; i++)
    gi_free((*claims)->claim[i]);
  gi_free(*claims);
  *claims = NULL;
}

/* The number of the claim. */
static unsigned
granted(struct sim_client *c, unsigned file)
{
  struct sim_claims *s = claims_of(c);
  uint64_t now = c->cluster->w->now;
  s->claim[file] = gi_realloc(s->claim[file], (s->n[file] + 1) * sizeof(struct claim));
  s->claim[file][s->n[file]] = (struct claim){c->number, now, now};
  return s->n[file]++;
}

static void
believed(struct sim_client *c, unsigned file, unsigned number, uint64_t when)
{
  struct sim_claims *s = claims_of(c);
  struct claim *mine = &s->claim[file][number];
  mine->until = when;
  for (unsigned i = 0; i < s->n[file]; i++) {
    const struct claim *other = &s->claim[file][i];
    uint64_t from = other->from > mine->from ? other->from : mine->from;
    uint64_t until = other->until < mine->until ? other->until : mine->until;
    if (i != number && from < until)
      sim_violation(c->cluster->w, "file %u: %s and client %u both had the lock from %llu to %llu ns", file, c->process->name,
                    other->client, (unsigned long long)from, (unsigned long long)until);
  }
}

static struct gi_fd *
open_file(struct sim_client *c, unsigned file)
{
  char name[16];
  struct gi_inode *root = sim_op_root(c), *inode = NULL;
  struct gi_fd *fd = NULL;
  snprintf(name, sizeof(name), "l%u", file);
  if (sim_op_lookup(c, root, name, &inode, NULL) >= 0 && inode)
    sim_op_open(c, inode, O_RDWR, &fd);
  gi_inode_unref(&inode);
  gi_inode_unref(&root);
  return fd;
}

static void
hold(struct sim_client *c, unsigned file, struct gi_fd *fd)
{
  unsigned number = granted(c, file);
  for (unsigned i = (unsigned)sim_rng_between(&c->rng, 1, 40); i > 0 && !c->leave; i--) {
    char byte = (char)c->number;
    uint64_t begin = c->cluster->w->now;
    bool early = false;
    ssize_t ret = sim_op_write(c, fd, c->number, &byte, 1, NULL, &early);
    gi_log(GI_LOG_DEBUG, c->process->name, 1, "file %u: write under the lock: %zd", file, ret);
    if (ret == 1 && early)
      ret = sim_op_fsync(c, fd) < 0 ? 0 : 1;
    if (ret == 1)
      believed(c, file, number, begin);
    if (ret == -EBADFD)
      break; /* the descriptor has said so */
    if (!c->leave)
      sim_op_pause(c, sim_rng_below(&c->rng, sim_rng_chance(&c->rng, 100) ? 2 * SIM_S : 200 * SIM_MS));
  }
  switch (sim_rng_below(&c->rng, 4)) {
  case 0:
    break; /* the last reference takes it along */
  case 1:
    sim_op_flush(c, fd);
    break;
  default:
    sim_op_lock(c, fd, GI_LK_UNLOCK);
  }
}

static void
lock_task(struct sim_client *c)
{
  unsigned file = c->next_task++ % FILES;
  while (!c->leave) {
    struct gi_fd *fd = c->up ? open_file(c, file) : NULL;
    int ret = fd ? sim_op_lock(c, fd, GI_LK_WRITE) : -ENOENT;
    gi_log(GI_LOG_DEBUG, c->process->name, 1, "file %u: lock: %d", file, ret);
    if (ret >= 0)
      hold(c, file, fd);
    gi_fd_unref(&fd);
    if (!c->leave)
      sim_op_pause(c, sim_rng_between(&c->rng, SIM_MS, 300 * SIM_MS));
  }
}

void
sim_locks_session(struct sim_client *c)
{
  sim_client_tasks(c, FILES, lock_task);
}

/* On a task of one client, before anything goes wrong. */
void
sim_locks_setup(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  for (unsigned i = 0; i < FILES; i++) {
    char name[16];
    struct gi_fd *fd = NULL;
    snprintf(name, sizeof(name), "l%u", i);
    int ret = sim_op_create(c, root, name, O_RDWR | O_EXCL, &fd);
    if (ret < 0)
      sim_violation(c->cluster->w, "%s cannot be made: %s", name, strerror(-ret));
    gi_fd_unref(&fd);
  }
  gi_inode_unref(&root);
}
