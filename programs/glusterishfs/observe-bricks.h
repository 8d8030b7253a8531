/* SPDX-License-Identifier: Apache-2.0
 *
 * Before a client tells what is under way it asks its bricks what they do for
 * it, so that what it tells names whoever holds an operation up there.
 */
#ifndef OBSERVE_BRICKS_H
#define OBSERVE_BRICKS_H

#include "libglusterish/graph.h"

typedef void ob_bricks_done(void *arg);

/* Calls done(arg) exactly once, perhaps before it returns: when all bricks have answered, or half a second later (one that is frozen does not
 * answer). Where nothing is under way at a brick none is asked. */
void ob_bricks_ask(struct gi_graph *g, ob_bricks_done *done, void *arg);

#endif
