/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool of this node and another one, which is away, against a store in memory.
 */
#ifndef POOL_FIXTURE_H
#define POOL_FIXTURE_H

#include "programs/glusterishd/ops/fixture.h"
#include "programs/glusterishd/pool/key-store-memory.h"
#include "programs/glusterishd/pool/pool.h"

#define AWAY_ID "12345678-1234-4234-8234-123456789abc"
#define AWAY_HOST "127.0.0.77"
/* Its key in the store, and what it has. */
#define AWAY GD_PREFIX "node/" AWAY_ID
#define AWAY_MEMBERS "\"uuid\":\"" AWAY_ID "\",\"hosts\":[\"" AWAY_HOST "\"],\"port\":9"
#define AWAY_DOC "{" AWAY_MEMBERS "}"

extern struct memory_store store;

struct gd_key_store *open_store(struct gd *gd);
int setup_pool(void **state);
int teardown_pool(void **state);
void turns(struct fixture *f, unsigned n);
void follow(struct fixture *f);  /* takes what the store has now */
void restart(struct fixture *f); /* the daemon dies as it is, and another one begins with its files */

#endif
