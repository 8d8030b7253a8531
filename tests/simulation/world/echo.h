/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest bottom of a brick, for tests of the simulator itself: LOOKUP
 * finds the root, READ gives a pattern of its offset, all else succeeds.
 */
#ifndef SIM_ECHO_H
#define SIM_ECHO_H

#include "libglusterish/xlator.h"

extern const struct gi_xlator_class sim_echo_class; /* "test/echo": gi_class_register */

#endif
