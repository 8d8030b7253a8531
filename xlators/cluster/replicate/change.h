/* SPDX-License-Identifier: Apache-2.0
 *
 * The top of cluster/replicate: the exchange of the set's children (change.c),
 * driven by the class (replicate.c).
 */
#ifndef REP_CHANGE_H
#define REP_CHANGE_H

#include "xlators/cluster/replicate/set/set.h"

void rep_children_settle(struct rep *rep);     /* something has ended: perhaps all has */
void rep_children_called_off(struct rep *rep); /* the present children stay */
void rep_on_children(struct gi_xlator *x);     /* of the class */
void rep_children_init(struct rep *rep);
void rep_children_finish(struct rep *rep);

#endif
