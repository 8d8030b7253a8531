/* SPDX-License-Identifier: Apache-2.0
 *
 * A real reactor whose clock stands still: time passes only when somebody says
 * so, and then as far as the next timer. Chance is a sequence. Hours of
 * timeouts take no time, and an input does the same thing twice.
 */
#ifndef FUZZ_VIRTUAL_H
#define FUZZ_VIRTUAL_H

#include "libglusterish/reactor.h"

struct gi_reactor *virtual_reactor_new(void); /* one at a time; gi_reactor_free after its timers are gone */
/* Runs the timers that come next. False, and nothing is done, if there are none or they are due later than `ns` from now. */
bool virtual_pass(uint64_t ns);
uint64_t virtual_now(void);

#endif
