/* SPDX-License-Identifier: Apache-2.0 */
#include "libglusterish/priority.h"

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENT_SLICE \
  20000000 /* ns; who wakes and has a shorter slice does not wait for the end of this one. The usual one is 0.7 to 3 ms */
#define KEEP_POLICY 8

/* As sched_setattr(2) wants it; the C library has no name for it yet. */
struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

void
gi_be_patient(bool patient)
{
  struct attributes a = {.size = sizeof(a), .flags = KEEP_POLICY};
  a.nice = getpriority(PRIO_PROCESS, 0); /* of this thread, on Linux */
  a.runtime = patient ? PATIENT_SLICE : 0;
  syscall(SYS_sched_setattr, 0, &a, 0);
}

int
gi_be_nice(int by, int *usual)
{
  if (by > 0)
    *usual = getpriority(PRIO_PROCESS, 0);
  int ret = setpriority(PRIO_PROCESS, 0, *usual + by) ? errno : 0;
  gi_be_patient(by > 0);
  return ret;
}
