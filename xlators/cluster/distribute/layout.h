/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts: which subvolume has which part of the hash range, per directory
 * (distribute.md 3). Every subvolume keeps its own part in an attribute of the
 * directory.
 */
#ifndef DI_LAYOUT_H
#define DI_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define DI_MAX 64 /* subvolumes */
#define DI_LAYOUT_BYTES 16
/* The commit hash of a layout that the directory was not made with, and to which its files were not moved: no volume has it. 0: the
 * directory was made with the layout. */
#define DI_NO_COMMIT 1

struct di_range {
  uint32_t commit, type, start, stop; /* both ends belong to it; start = stop = 0: none */
  int err; /* 0; ENODATA: no attribute; ENOENT: no directory; else the subvolume could not be asked */
};

struct di_layout {
  uint32_t generation; /* of the translator's, when it was read */
  bool whole;          /* the ranges are all hashes, each once */
  bool committed;      /* every range has the same commit hash, `commit`, and was written by no user */
  uint32_t commit;
  unsigned n;
  struct di_range range[]; /* by subvolume */
};

struct di_layout *di_layout_new(unsigned n);
struct di_layout *di_layout_copy(const struct di_layout *l);
bool di_layout_same(const struct di_layout *a, const struct di_layout *b); /* whether or not their subvolumes could be asked */
/* From the attribute's bytes. False: it is none, the range is as if there were no attribute. */
bool di_range_decode(struct di_range *r, const void *bytes, uint32_t len);
void di_range_encode(const struct di_range *r, uint8_t bytes[DI_LAYOUT_BYTES]);
bool di_range_empty(const struct di_range *r);

/* Sets whole, committed and commit. */
void di_layout_check(struct di_layout *l);
/* The subvolume that has the hash; -1: none. */
int di_layout_find(const struct di_layout *l, uint32_t hash);

/* A new layout over the subvolumes of `mask` (at least one), at most `spread` of them (0: all): by their names, from the one that `start`
 * chooses, in proportion to the weights (NULL, or one is 0: equal parts). The others get no range. With an `old` layout of the same subvolumes
 * (or NULL) they come in the order in which most hashes stay where they are. */
void di_layout_build(struct di_layout *l, const char *const *names, uint64_t mask, unsigned spread, uint32_t start,
                     const uint64_t *weight, const struct di_layout *old);

#endif
