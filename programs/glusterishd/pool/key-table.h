/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of a store for tests, with their revisions and leases: what the one
 * in memory and the simulated one have in common.
 */
#ifndef GD_KEY_TABLE_H
#define GD_KEY_TABLE_H

#include "programs/glusterishd/pool/key-store.h"

#define KEY_TABLE_MAX 64

struct key_table {
  unsigned n;
  struct gd_key_pair pair[KEY_TABLE_MAX]; /* owned */
  int64_t lease_of[KEY_TABLE_MAX];        /* 0: none */
  int64_t revision;                       /* the last one given */
};

const struct gd_key_pair *key_table_get(const struct key_table *t, const char *key); /* NULL: there is none */
bool key_table_holds(const struct key_table *t, const struct gd_key_if *ifs, unsigned n);
void key_table_put(struct key_table *t, const struct gd_key_put *puts, unsigned n); /* under one new revision */
void key_table_end_lease(struct key_table *t, int64_t lease);                       /* 0: all of them */
/* Copies those that begin with `prefix` to `pairs`, which has room for all. Returns how many. */
unsigned key_table_read(const struct key_table *t, const char *prefix, struct gd_key_pair *pairs);
void key_pairs_clear(struct gd_key_pair *pairs, unsigned n); /* of such copies */
void key_table_clear(struct key_table *t);

#endif
