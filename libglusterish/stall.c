/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait for the disk, told from those that wait for their processor: the
 * kernel tells how long a thread has waited for that.
 */
#include "libglusterish/stall.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_CALL (5 * GI_NSEC_PER_MSEC)
#define SLOW_PERIOD_MAX GI_NSEC_PER_SEC
#define SLOW_PER_CALL 10
#define SUSPECT_PERIOD (3 * GI_NSEC_PER_SEC)
#define SAME_FOR (2 * GI_NSEC_PER_MSEC) /* what the thread has waited meanwhile is less than half of a long call */

/* 0 where the kernel does not tell: then every long call of a suspect counts. */
static uint64_t
queued(void)
{
  static _Thread_local int fd = -1;
  char text[96], *second;
  ssize_t n;

  if (fd < 0)
    fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
  if (n <= 0)
    return 0;
  text[n] = '\0';
  second = strchr(text, ' ');
  return second ? strtoull(second, NULL, 10) : 0;
}

/* Short calls of suspects that follow each other share one question to the kernel. */
static uint64_t
queued_lately(uint64_t now)
{
  static _Thread_local uint64_t asked, answer;

  if (!asked || now < asked || now - asked >= SAME_FOR) {
    answer = queued();
    asked = now;
  }
  return answer;
}

struct gi_stall_call
gi_stall_begin(const struct gi_stall *s, struct gi_reactor *r)
{
  uint64_t now = gi_now_about(r);

  return (struct gi_stall_call){now, now < s->suspect_until ? queued_lately(now) : 0};
}

/* A disk that is busy for a moment keeps few calls from the reactor, one that stays slow nearly all. */
static uint64_t
slow_period(const struct gi_stall *s, uint64_t now, uint64_t took)
{
  bool again = now < s->slow_until + SUSPECT_PERIOD;
  uint64_t period = took < SLOW_PERIOD_MAX / SLOW_PER_CALL ? took * SLOW_PER_CALL : SLOW_PERIOD_MAX;

  if (again && period < 2 * s->period)
    period = 2 * s->period;
  return period < SLOW_PERIOD_MAX ? period : SLOW_PERIOD_MAX;
}

enum gi_stall_kind
gi_stall_end(struct gi_stall *s, struct gi_reactor *r, const struct gi_stall_call *c)
{
  uint64_t end = gi_now_about(r), took = end > c->start ? end - c->start : 0, waited = 0;
  bool suspect = c->start < s->suspect_until;

  GI_ASSERT(suspect || !c->queued);
  if (took <= LONG_CALL)
    return GI_STALL_NONE;
  if (suspect)
    waited = queued() - c->queued;
  s->suspect_until = end + SUSPECT_PERIOD;
  if (!suspect || waited + LONG_CALL >= took)
    return GI_STALL_LONG;
  s->period = slow_period(s, end, took);
  s->slow_until = end + s->period;
  return GI_STALL_SLOW;
}
