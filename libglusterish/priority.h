/* SPDX-License-Identifier: Apache-2.0
 *
 * Who gets the processor first. Programs and worker threads say what they are; the reactor does not need to know.
 */
#ifndef GLUSTERISH_PRIORITY_H
#define GLUSTERISH_PRIORITY_H

#include <stdbool.h>

#define GI_LEAST_NICE 10 /* how much nicer to others what can wait is: a tenth of a processor that all want */

/* The calling thread, and the threads and processes that it makes from then on, give the processor up as soon as somebody else wakes who
 * wants it; or, with false, after the kernel's usual slice (sched_setattr(2); Linux 6.12 or later, nothing happens before). */
void gi_be_patient(bool patient);
/* The same for what can wait, which is GI_LEAST_NICE nicer as well than it was, which is stored in *usual; or, with false, as nice as *usual
 * again. 0, or -errno and as nice as before: only root may take it back. */
int gi_be_least(bool least, int *usual);

#endif
