/* SPDX-License-Identifier: Apache-2.0
 *
 * A lone brick, for tests: features/index over storage/posix on a simulated
 * disk, without network, on a real reactor that is turned by hand.
 */
#ifndef SIM_LONE_H
#define SIM_LONE_H

#include "libglusterish/graph.h"
#include "tests/simulation/disk/disk-private.h"
#include "tests/simulation/disk/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct sim_lone {
  uint64_t rng, disk_rng, now;
  struct sim_disk *disk;
  struct gi_ctx ctx;
  struct gi_graph *graph; /* NULL while it is not running */
};

/* A new machine with an empty brick directory /b; not booted. Fails the test if it cannot. The disk is the caller's to free. */
void sim_lone_setup(struct sim_lone *b, uint64_t seed);
/* False: the disk stopped while it started. Any other failure fails the test. */
bool sim_lone_boot(struct sim_lone *b);
/* In order, or after a crash, when nothing it still does reaches the disk; asserts that nothing is left open. */
void sim_lone_halt(struct sim_lone *b);
/* Carries `f` out, which it frees; -errno or what it returned. */
int sim_lone_run(struct sim_lone *b, struct gi_fop *f);
/* A WRITE at the beginning of the file, and an FSYNC; as sim_lone_run. */
int sim_lone_write(struct sim_lone *b, struct gi_fd *fd, int pid, uint32_t flags, const void *data, size_t len);
int sim_lone_fsync(struct sim_lone *b, struct gi_fd *fd, int pid, bool datasync);
/* What is on disk at `path`; NULL: nothing. */
struct sim_inode *sim_lone_at(struct sim_lone *b, const char *path);
/* How many seeds a test tries: a few, or SIM_SEEDS of them. */
unsigned sim_lone_seeds(void);

#endif
