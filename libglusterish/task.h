/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks: long procedures that wait (a heal, a crawl) written as straight-line
 * code. A task has its own stack and runs on its reactor like any handler,
 * until it waits; then the reactor goes on and the task continues when it is
 * woken. There are no threads and nothing is preempted: between two waits a
 * task has everything to itself.
 *
 * A wait is the only place where the world may change. Stacks are 256 KiB, with
 * a guard page below; only what is touched costs memory.
 */
#ifndef GI_TASK_H
#define GI_TASK_H

#include "libglusterish/fop.h"
#include "libglusterish/reactor.h"

struct gi_task;

/* Runs fn(arg) on a stack of its own, at once, until it waits or returns. The task is gone when fn returns; nobody may wake it
 * after that. May be called from inside another task. */
void gi_task_start(struct gi_reactor *r, void (*fn)(void *arg), void *arg);
/* The task that runs now; NULL in an ordinary handler. */
struct gi_task *gi_task_self(struct gi_reactor *r);
/* Suspends the running task until gi_task_wake. A wake that came since the last wait makes it return at once, so conditions are
 * waited for in a loop: while (!done) gi_task_wait(r). */
void gi_task_wait(struct gi_reactor *r);
/* Lets it continue, from a deferred call. From any handler or task of the same reactor; any number of times. */
void gi_task_wake(struct gi_task *task);
void gi_task_sleep(struct gi_reactor *r, uint64_t ns);
/* Submits the fop at `top` and waits for its reply, which is in fop->rsp. The caller's reference stays the caller's. */
void gi_task_fop(struct gi_fop *fop, struct gi_xlator *top);

/* ---- a window: bounds what is in flight ---- */

/* So many units (bytes, as a rule) may be out at once. Who wants more waits in a queue and is resumed by whoever gives back:
 * first come, first served, never by a timer. All zero but `size` is the start. */
struct gi_window {
  uint64_t size; /* may be changed at any time with gi_window_resize */
  uint64_t used;
  uint64_t paused_ns; /* time tasks spent waiting here, summed */
  uint64_t pauses;
  struct gi_list waiting;
};

void gi_window_init(struct gi_window *w, uint64_t size);
/* Takes `n`, waiting for it if must be. More than `size` is granted when nothing else is out. On a task. */
void gi_window_take(struct gi_window *w, struct gi_reactor *r, uint64_t n);
void gi_window_give(struct gi_window *w, uint64_t n);
void gi_window_resize(struct gi_window *w, uint64_t size);

#endif
