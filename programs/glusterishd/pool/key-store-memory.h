/* SPDX-License-Identifier: Apache-2.0
 *
 * A store in memory for tests, which outlives the daemons that use it and may
 * stop to answer one of them at any call: that daemon is dead.
 */
#ifndef GD_KEY_STORE_MEMORY_H
#define GD_KEY_STORE_MEMORY_H

#include "programs/glusterishd/pool/key-table.h"

struct memory_store {
  struct key_table keys;
  int64_t lease;    /* the last one given */
  unsigned calls;   /* so far */
  unsigned dies_at; /* the call with that number is not answered any more, nor any after it; 0 = never */
  bool dies_after;  /* and has been carried out */
  bool dead;
  bool loses;    /* its majority, when members are asked for or changed … */
  unsigned lost; /* … and 1 and so many calls found it without one; 0: it has it */
};

struct gd_key_store *memory_store_open(struct memory_store *m, struct gi_reactor *r);
const struct gd_key_pair *memory_store_get(const struct memory_store *m, const char *key);        /* NULL: there is none */
void memory_store_put(struct memory_store *m, const char *key, const char *value, int64_t lease); /* value NULL: it goes */
void memory_store_expire(struct memory_store *m);                                                 /* all leases */
void memory_store_clear(struct memory_store *m);

#endif
