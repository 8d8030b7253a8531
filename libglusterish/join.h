/* SPDX-License-Identifier: Apache-2.0
 *
 * A translator that keeps what replies tell, and has come onto the path of a
 * graph that is running: it has not seen the changes that are under way, so it
 * does not keep what is asked for before they have ended.
 */
#ifndef GI_JOIN_H
#define GI_JOIN_H

#include "libglusterish/xlator.h"

struct gi_join {
  bool waits;
  uint64_t ticks; /* gi_ticks when it joined */
  uint64_t until; /* gi_now: so long it waits for what is not noted one by one */
};

void gi_join(struct gi_join *j, const struct gi_xlator *x);
/* A question is about to be passed on: may a change that was not seen end after it? */
bool gi_join_waits(struct gi_join *j, const struct gi_xlator *x);

#endif
