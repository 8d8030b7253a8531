/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker pool of the real reactor: threads that run what may block.
 * Only reactor-real.c uses it; everybody else goes through gi_work_submit.
 *
 * Works that are alone with a descriptor have a pool of their own.
 *
 * Threads start when there is work for them and stay until the pool is freed.
 * At most `limit` run at once. Classes are served highest first, but a class
 * that was passed over WORKER_PATIENCE times gets its turn, and the least class
 * never takes more than a quarter of the threads (brick.md 7) and runs at a lower
 * priority of the system's.
 */
#ifndef GI_WORKER_H
#define GI_WORKER_H

#include "libglusterish/reactor.h"

struct gi_workers;

/* `only`: two descriptors, all that the threads have beside the standard three; NULL: they have those of the process. `wake` is called on a
 * worker thread, without locks, when a finished work waits and the reactor may be asleep. */
struct gi_workers *gi_workers_new(unsigned limit, const int *only, void (*wake)(void *arg), void *arg);
/* Joins the threads. No work may be queued, running or uncollected. */
void gi_workers_free(struct gi_workers *p);
/* Something is queued, running or not collected. */
bool gi_workers_busy(const struct gi_workers *p);
void gi_workers_set_limit(struct gi_workers *p, unsigned limit);
void gi_workers_submit(struct gi_workers *p, struct gi_work *w);

/* Calls done() of everything finished; returns how many. On the reactor's thread. */
unsigned gi_workers_collect(struct gi_workers *p);
/* The reactor is about to sleep. False: something has finished meanwhile, collect it instead. Between a true and
 * gi_workers_awake a finished work calls `wake`, at most once. */
bool gi_workers_sleep(struct gi_workers *p);
void gi_workers_awake(struct gi_workers *p);

#endif
