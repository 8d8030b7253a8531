/* SPDX-License-Identifier: Apache-2.0
 *
 * A model of one file below a translator under test, for random tests of what keeps or fetches data.
 *
 * The translator stands over a child that holds every operation until the test lets the disk do it and, later, answer it; both in any
 * order. Optionally WRITEs are answered early, as by write-behind: what is read afterwards shows them, and the disk has them later.
 * Somebody else may change the file as well. Every READ is compared with what the file was, byte by byte and in size, from when it was
 * submitted until it was answered; what somebody else changed may go unseen until disk_barrier.
 */
#ifndef DISK_H
#define DISK_H

#include "libglusterish/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define DISK_MAX (96u << 10) /* bytes of the file */

struct disk_op;

struct disk {
  struct gi_ctx ctx;
  struct gi_graph *graph;
  struct gi_xlator *x, *child;
  struct gi_inode *inode;
  struct gi_fd *fd;
  bool early;              /* WRITEs are answered before the disk has them */
  uint8_t bytes[DISK_MAX]; /* values 0 … 7, as a reader sees it: with what was answered early */
  uint64_t size;
  uint8_t stale[DISK_MAX]; /* bit per value that a reader may see although somebody else has changed it */
  uint64_t stale_sizes[64];
  unsigned nstale_sizes;
  struct gi_iatt attr;      /* on the disk, without what was answered early */
  struct gi_list ops;       /* at the child */
  struct gi_list unwritten; /* answered early, oldest first */
  struct gi_list readers;   /* READs that are compared, by the test */
  uint64_t random, clock;
  unsigned reads, submitted, answered, at_child[GI_FOP_MAX];
};

struct disk *disk_new(const char *type, const char *options, uint64_t seed, uint64_t size);
void disk_free(struct disk *d); /* everything is answered first */
uint64_t disk_random(struct disk *d, uint64_t below);
/* One operation on its way; READs are compared when they are answered. `value` is what a WRITE writes, 0 … 7. */
void disk_submit(struct disk *d, enum gi_fop_kind kind, uint64_t offset, uint64_t size, unsigned value);
bool disk_work(struct disk *d);    /* does or answers one operation, chosen by chance; false: there is none */
bool disk_land(struct disk *d);    /* the oldest WRITE that was answered early reaches the disk */
void disk_foreign(struct disk *d); /* somebody else writes or truncates */
void disk_barrier(struct disk *d); /* OPEN: from now on what others did must be seen */
void disk_settle(struct disk *d);
void disk_finish(struct disk *d); /* until nothing is under way */

#endif
