/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker pool. One mutex guards the queues; it is held for a few list
 * operations only. An idle thread is woken by a token, not by the bare signal,
 * so that two quick submits wake two threads.
 */
#include "libglusterish/worker.h"
#include "libglusterish/log.h"
#include "libglusterish/priority.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define WORKER_PATIENCE 16u

struct gi_workers {
  pthread_mutex_t lock;
  pthread_cond_t wakeup;
  struct gi_list queue[GI_PRIO_COUNT]; /* struct gi_work */
  unsigned passed[GI_PRIO_COUNT];      /* turns a waiting class was passed over */
  unsigned least_running;
  unsigned limit;    /* most threads that run at once */
  unsigned nthreads; /* started */
  unsigned idle;     /* waiting and not yet promised a token */
  unsigned tokens;   /* woken, still on their way */
  int only[2];       /* descriptors, the lower first; -1: all */
  bool stopping;
  struct gi_list done;
  unsigned outstanding; /* submitted and not collected; the reactor's own */
  pthread_t *threads;   /* the reactor's own */
  void (*wake)(void *arg);
  void *arg;
  atomic_bool has_done; /* `done` is not empty */
  atomic_bool asleep;   /* the reactor waits, or is about to */
};

static unsigned
least_limit(const struct gi_workers *p)
{
  return p->limit / GI_LEAST_SHARE > 1 ? p->limit / GI_LEAST_SHARE : 1;
}

static bool
class_ready(const struct gi_workers *p, unsigned c)
{
  return !gi_list_empty(&p->queue[c]) && (c != GI_PRIO_LEAST || p->least_running < least_limit(p));
}

/* The next work to run, or NULL. */
static struct gi_work *
pick(struct gi_workers *p)
{
  unsigned chosen = GI_PRIO_COUNT;
  for (unsigned c = 0; c < GI_PRIO_COUNT; c++) {
    if (!class_ready(p, c))
      continue;
    /* The longest-suffering lower class wins over the highest. */
    if (chosen == GI_PRIO_COUNT || p->passed[c] >= WORKER_PATIENCE)
      chosen = c;
  }
  if (chosen == GI_PRIO_COUNT)
    return NULL;
  for (unsigned c = 0; c < GI_PRIO_COUNT; c++) {
    if (c != chosen && class_ready(p, c))
      p->passed[c]++;
  }
  p->passed[chosen] = 0;
  struct gi_work *w = gi_list_first(&p->queue[chosen], struct gi_work, link);
  gi_list_del(&w->link);
  if (chosen == GI_PRIO_LEAST)
    p->least_running++;
  return w;
}

/* Work of the least class gets the processor after what applications wait for. Who may not take that back does not do it: the first
 * thread that fails to stays as it is and is the last. */
static void
be_nice(bool least)
{
  static atomic_bool stuck;
  static _Thread_local bool is_least;
  static _Thread_local int usual;
  if (least == is_least || geteuid() != 0 || atomic_load(&stuck))
    return;
  if (gi_be_nice(least ? GI_LEAST_NICE : 0, &usual))
    atomic_store(&stuck, true);
  is_least = least;
}

static void
run_one(struct gi_workers *p, struct gi_work *w)
{
  enum gi_priority priority = w->priority;
  pthread_mutex_unlock(&p->lock);
  be_nice(priority == GI_PRIO_LEAST);
  w->run(w);
  pthread_mutex_lock(&p->lock);
  if (priority == GI_PRIO_LEAST) {
    GI_ASSERT(p->least_running > 0);
    p->least_running--;
  }
  gi_list_add_tail(&p->done, &w->link);
  /* Ordered against gi_workers_sleep: either it sees has_done or we see asleep. */
  atomic_store(&p->has_done, true);
  if (atomic_load(&p->asleep) && atomic_exchange(&p->asleep, false)) {
    pthread_mutex_unlock(&p->lock);
    p->wake(p->arg);
    pthread_mutex_lock(&p->lock);
  }
}

static void
close_between(int before, int after)
{
  if (before + 1 < after)
    close_range((unsigned)before + 1, (unsigned)after - 1, 0);
}

/* The thread gets a table of its own. False: that is forbidden, and it goes on with that of the process. */
static bool
close_others(const int only[2])
{
  if (only[0] < 0 || unshare(CLONE_FILES) != 0)
    return false;
  close_between(STDERR_FILENO, only[0]);
  close_between(only[0], only[1]);
  close_between(only[1], INT_MAX);
  return true;
}

static void *
worker_main(void *arg)
{
  struct gi_workers *p = arg;
  bool alone = close_others(p->only);
  pthread_mutex_lock(&p->lock);
  for (;;) {
    struct gi_work *w = NULL;
    if (p->nthreads - p->idle <= p->limit)
      w = pick(p);
    if (w) {
      run_one(p, w);
      continue;
    }
    if (p->stopping)
      break;
    p->idle++;
    while (p->tokens == 0 && !p->stopping)
      pthread_cond_wait(&p->wakeup, &p->lock);
    if (p->tokens > 0)
      p->tokens--; /* whoever made it has taken us off `idle` */
    else
      p->idle--;
  }
  pthread_mutex_unlock(&p->lock);
  if (alone)
    close_between(STDERR_FILENO, INT_MAX); /* the kernel would do it when the thread has been joined, perhaps */
  return NULL;
}

struct gi_workers *
gi_workers_new(unsigned limit, const int *only, void (*wake)(void *arg), void *arg)
{
  struct gi_workers *p = gi_new(struct gi_workers);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wakeup, NULL);
  for (unsigned c = 0; c < GI_PRIO_COUNT; c++)
    gi_list_init(&p->queue[c]);
  gi_list_init(&p->done);
  p->limit = limit > 0 ? limit : 1;
  p->only[0] = only ? only[only[0] > only[1]] : -1;
  p->only[1] = only ? only[only[0] <= only[1]] : -1;
  p->wake = wake;
  p->arg = arg;
  return p;
}

void
gi_workers_free(struct gi_workers *p)
{
  if (!p)
    return;
  GI_ASSERT(p->outstanding == 0);
  pthread_mutex_lock(&p->lock);
  for (unsigned c = 0; c < GI_PRIO_COUNT; c++)
    GI_ASSERT(gi_list_empty(&p->queue[c]));
  p->stopping = true;
  pthread_cond_broadcast(&p->wakeup);
  pthread_mutex_unlock(&p->lock);
  for (unsigned i = 0; i < p->nthreads; i++)
    pthread_join(p->threads[i], NULL);
  pthread_cond_destroy(&p->wakeup);
  pthread_mutex_destroy(&p->lock);
  gi_free(p->threads);
  gi_free(p);
}

/* With the lock held. Signals are the reactor's business, so a worker takes none. */
static void
start_thread(struct gi_workers *p)
{
  sigset_t all, old;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int ret = pthread_create(&thread, NULL, worker_main, p);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (ret != 0) {
    gi_log(GI_LOG_ERROR, "core", GI_MSG_CORE + 2, "cannot start a worker thread: %s", strerror(ret));
    GI_ASSERT(p->nthreads > 0); /* with none the work would wait for ever */
    return;
  }
  p->threads = gi_realloc(p->threads, (p->nthreads + 1) * sizeof(*p->threads));
  p->threads[p->nthreads++] = thread;
}

/* With the lock held: one more thread for what is queued, if the limit allows. */
static void
add_hand(struct gi_workers *p)
{
  GI_ASSERT(p->idle <= p->nthreads);
  if (p->nthreads - p->idle >= p->limit)
    return;
  if (p->idle > 0) {
    p->idle--;
    p->tokens++;
    pthread_cond_signal(&p->wakeup);
  } else {
    start_thread(p);
  }
}

bool
gi_workers_busy(const struct gi_workers *p)
{
  return p->outstanding > 0;
}

void
gi_workers_set_limit(struct gi_workers *p, unsigned limit)
{
  pthread_mutex_lock(&p->lock);
  p->limit = limit > 0 ? limit : 1;
  for (unsigned c = 0; c < GI_PRIO_COUNT; c++) {
    gi_list_foreach(w, &p->queue[c], struct gi_work, link)
      add_hand(p);
  }
  pthread_mutex_unlock(&p->lock);
}

void
gi_workers_submit(struct gi_workers *p, struct gi_work *w)
{
  pthread_mutex_lock(&p->lock);
  GI_ASSERT(!p->stopping);
  p->outstanding++;
  gi_list_add_tail(&p->queue[w->priority], &w->link);
  add_hand(p);
  pthread_mutex_unlock(&p->lock);
}

unsigned
gi_workers_collect(struct gi_workers *p)
{
  if (!atomic_load(&p->has_done))
    return 0;
  struct gi_list batch;
  gi_list_init(&batch);
  pthread_mutex_lock(&p->lock);
  gi_list_splice_tail(&batch, &p->done);
  atomic_store(&p->has_done, false);
  pthread_mutex_unlock(&p->lock);
  unsigned n = 0;
  while (!gi_list_empty(&batch)) {
    struct gi_work *w = gi_list_first(&batch, struct gi_work, link);
    gi_list_del(&w->link);
    GI_ASSERT(p->outstanding > 0);
    p->outstanding--;
    n++;
    w->done(w);
  }
  return n;
}

bool
gi_workers_sleep(struct gi_workers *p)
{
  if (p->outstanding == 0)
    return true; /* nobody can finish anything */
  atomic_store(&p->asleep, true);
  if (!atomic_load(&p->has_done))
    return true;
  atomic_store(&p->asleep, false);
  return false;
}

void
gi_workers_awake(struct gi_workers *p)
{
  atomic_store_explicit(&p->asleep, false, memory_order_relaxed);
}
