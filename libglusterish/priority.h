/* SPDX-License-Identifier: Apache-2.0
 *
 * Priorities of threads. Programs and worker threads set their own; the reactor does not know of them.
 */
#ifndef GLUSTERISH_PRIORITY_H
#define GLUSTERISH_PRIORITY_H

#include "libglusterish/error.h"

#include <stdbool.h>

/* Added to the nice value of background work: a tenth of a contended processor is left for it, or a quarter. */
#define GI_LEAST_NICE 10
#define GI_CHAIN_NICE 5 /* requests that wait for each other: each wakes the process, and waits for the processor anew */

/* Sets the time slice of the calling thread, and of the threads and processes that it makes from then on. True: any other thread that
 * wakes runs at once. False: the kernel's usual slice. Needs Linux 6.12 (sched_setattr(2)); does nothing on an older kernel. */
void gi_be_patient(bool patient);
/* Makes the calling thread background work, or ends that. by > 0: stores the nice value in *usual, adds `by` to it, and calls
 * gi_be_patient(true). 0: restores *usual and the usual slice. 0, or an errno with an unchanged nice value: only root may lower it. */
GI_MUST_CHECK int gi_be_nice(int by, int *usual);

#endif
