/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of heals: a replica set over three real bricks (storage/posix,
 * features/locks, features/index) in one process. Between the set and each
 * brick stands a gate that can be shut, answers late like a network, fails
 * chosen operations and counts what passes.
 *
 * Changes go through the set like a client's, by path: "a/b", "" is the root.
 */
#ifndef REP_TESTING_TESTBED_H
#define REP_TESTING_TESTBED_H

#include "tests/unit/fake.h"
#include "xlators/cluster/replicate/heal/heal.h"

#include <limits.h>

#define YARD 3                                             /* bricks */
#define YARD_VOLUME "8306d860-aaaa-bbbb-cccc-0123456789ab" /* its id */

struct yard_gate {
  struct gi_client_id id; /* first: what locks are held by */
  unsigned index;
  const char *abilities; /* what the brick announces from its next yard_up on; regions, at first */
  bool shut;
  int fail_err[GI_FOP_MAX];        /* errno instead of doing it; 0 = none */
  unsigned fail_after[GI_FOP_MAX]; /* …but not for the first so many */
  bool fail_heal_only;             /* only for the self-heal's requests */
  unsigned count[GI_FOP_MAX];
  unsigned in_flight, most_in_flight;
  void (*seen)(struct gi_fop *fop, void *arg); /* every request, before it is done */
  void *arg;
};

struct yard {
  struct gi_ctx ctx;
  struct gi_graph *graph;
  struct gi_xlator *x; /* cluster/replicate */
  struct rep *rep;
  struct gi_xlator *gate_x[YARD];
  struct yard_gate *gate[YARD];
  char dir[PATH_MAX]; /* brick i is dir/i */
  int err;            /* of the last change, 0 = it succeeded */
};

/* `options`: of cluster/replicate, volfile lines. NULL where no directory with trusted attributes can be made. */
struct yard *yard_new(const char *options);
void yard_free(struct yard *y); /* asserts that nothing is left: no fop, no descriptor, no lock */
#define YARD_NEW(var, options) \
  struct yard *var = yard_new(options); \
  if (!var) { \
    print_message("no directory with trusted attributes here: skipped\n"); \
    skip(); \
  }

void yard_down(struct yard *y, unsigned brick); /* its connection is lost */
void yard_up(struct yard *y, unsigned brick);
/* Turns the reactor until *done, or fails the test. */
void yard_until(struct yard *y, const bool *done);
/* Runs fn(arg) on a task to its end. */
void yard_task(struct yard *y, void (*fn)(void *arg), void *arg);

/* Changes; the errno is in y->err and the test fails unless it is `want` as of yard_want (0). */
void yard_mkdir(struct yard *y, const char *path);
void yard_create(struct yard *y, const char *path, const char *content);
void yard_mknod(struct yard *y, const char *path, mode_t mode, unsigned major, unsigned minor);
void yard_symlink(struct yard *y, const char *path, const char *to);
void yard_link(struct yard *y, const char *path, const char *other);
void yard_unlink(struct yard *y, const char *path);
void yard_rmdir(struct yard *y, const char *path);
void yard_rename(struct yard *y, const char *from, const char *to);
/* Any operation, as a client's: its errno, also in y->err. Consumes it. */
int yard_submit(struct yard *y, struct gi_fop *fop);
/* The gfid a lookup through the set finds; none and y->err if it fails. */
struct gi_gfid yard_gfid(struct yard *y, const char *path);

/* ---- healing ---- */

int yard_heal_entry(struct yard *y, const char *path); /* rep_heal_entry of a directory: its result */
/* Like the self-heal daemon: everything in the heal indices, again and again while that changes something. The number of
 * entries the indices still hold. */
unsigned yard_heal(struct yard *y);
unsigned yard_pending(const struct yard *y); /* names in the heal indices of all bricks */

/* ---- what is on the bricks ---- */

/* For who changes something there: what was before is a tick of the kernel's clock ago. */
void yard_path(const struct yard *y, char out[PATH_MAX], unsigned brick, const char *path);
bool yard_has(const struct yard *y, unsigned brick, const char *path);
struct gi_gfid yard_disk_gfid(const struct yard *y, unsigned brick, const char *path); /* none: it is not there */
/* Fails the test unless all bricks hold the same tree: names, gfids, types, targets, devices, hard links. `contents`: also owner,
 * mode and content. */
void yard_same(const struct yard *y, bool contents);
/* The counter on disk, 0 if absent. `blamed` YARD: dirty. */
int yard_mark(const struct yard *y, unsigned brick, const char *path, unsigned blamed, enum rep_type type);
void yard_set_mark(const struct yard *y, unsigned brick, const char *path, unsigned blamed, const int32_t slot[REP_TYPES]);
void yard_no_marks(const struct yard *y); /* fails the test if any counter of any object is not zero */
/* Names in the list of changed names of a directory on a brick. */
unsigned yard_changes(const struct yard *y, unsigned brick, const char *path);

/* ---- the content of a file "f" (testing/testbed-data.c) ---- */

void yard_file(struct yard *y, uint64_t size); /* creates and fills it */
/* An operation on it, not yet submitted; truncate by its inode, the rest by a descriptor. */
struct gi_fop *yard_data_fop(struct yard *y, enum gi_fop_kind kind, uint64_t offset, uint64_t size);
struct gi_fop *yard_write_fop(struct yard *y, uint64_t offset, uint64_t size, uint32_t seed); /* of what the seed makes */
void yard_put(struct yard *y, uint64_t offset, uint64_t size, uint32_t seed); /* writes; fails the test if that fails */
void yard_fill(struct yard *y, uint64_t size, uint32_t seed);                 /* writes all of it, a MiB at a time */
uint8_t *yard_contents(const struct yard *y, unsigned brick, size_t *size);   /* on the brick; to be freed */
void yard_assert_same(const struct yard *y);                                  /* on all bricks, whatever its size */
/* Overwrites it behind the brick's back. `junk` NULL: with zeros, as a power failure does to bytes that were not synced. */
void yard_spoil(const struct yard *y, unsigned brick, uint64_t offset, const void *junk, size_t size);
uint32_t yard_draw(uint64_t *seed, uint32_t below); /* the next number at random, the same for the same seed */

#endif
