/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a name belongs: a number of 32 bits made of it (distribute.md 2).
 */
#ifndef DI_HASH_H
#define DI_HASH_H

#include "libglusterish/error.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

/* What is taken off a name before it is hashed, so that the temporary name of a copy hashes like the final one. All zero: nothing. */
struct di_munge {
  bool extra_set, rsync_set, rsync_default;
  regex_t extra, rsync;
};

/* `extra`, `rsync`: the options' texts, NULL = not set, "none" = off. 0, or -1 and err naming the bad one; then nothing is held. */
GI_MUST_CHECK int di_munge_init(struct di_munge *m, const char *extra, const char *rsync, struct gi_error *err);
/* 0, or -1 and err: it is no pattern of that kind. */
GI_MUST_CHECK int di_regex_check(const char *text, struct gi_error *err);
void di_munge_finish(struct di_munge *m);

/* The hash of `len` bytes as they are. A byte above 127 at the end counts as a negative number, on every machine. */
uint32_t di_hash_bytes(const char *bytes, size_t len);
/* The hash of a name, or of a whole path, NUL terminated. */
uint32_t di_hash_name(const struct di_munge *m, const char *name);

#endif
