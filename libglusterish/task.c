/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks on ucontext stacks, and windows they wait at.
 */
#include "libglusterish/task.h"

#include "libglusterish/probe.h"
#include "libglusterish/mem.h"
#include "libglusterish/xlator.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define TASK_ASAN 1
#else
#define TASK_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define TASK_TSAN 1
#else
#define TASK_TSAN 0
#endif

#define TASK_STACK (256u << 10)
#define TASK_MAGIC 0x1d07a501u

struct gi_task {
  uint32_t magic;
  struct gi_reactor *r;
  void (*fn)(void *arg);
  void *arg;
  struct gi_task *outer; /* who ran when this was resumed */
  ucontext_t here, back;
  struct gi_defer resume;
  bool woken, waiting, ended;
  void *map; /* guard page, then the stack */
  size_t map_len;
#if TASK_ASAN
  void *fake, *back_fake;
  const void *back_bottom;
  size_t back_size;
#endif
#if TASK_TSAN
  void *fiber, *back_fiber;
#endif
};

static inline void *
stack_of(const struct gi_task *t)
{
  return (char *)t->map + (t->map_len - TASK_STACK);
}

/* ---- switching; a sanitizer must be told ---- */

/* AddressSanitizer's own version of the call says on standard error that it does not understand it. It need not: it is told. */
static void
switch_context(ucontext_t *from, const ucontext_t *to)
{
#if TASK_ASAN
  int (*libc)(ucontext_t *, const ucontext_t *) = dlsym(RTLD_NEXT, "swapcontext");

  GI_ASSERT(libc && libc(from, to) == 0);
#else
  GI_ASSERT(swapcontext(from, to) == 0);
#endif
}

static void
arrive_in_task(struct gi_task *t)
{
#if TASK_ASAN
  __sanitizer_finish_switch_fiber(t->fake, &t->back_bottom, &t->back_size);
#else
  (void)t;
#endif
}

static void
leave_task(struct gi_task *t)
{
#if TASK_ASAN
  __sanitizer_start_switch_fiber(t->ended ? NULL : &t->fake, t->back_bottom, t->back_size);
#endif
#if TASK_TSAN
  __tsan_switch_to_fiber(t->back_fiber, 0);
#endif
  switch_context(&t->here, &t->back);
  arrive_in_task(t);
}

static void
task_free(struct gi_task *t)
{
  gi_defer_cancel(&t->resume);
#if TASK_ASAN
  __asan_unpoison_memory_region(stack_of(t), TASK_STACK);
#endif
#if TASK_TSAN
  __tsan_destroy_fiber(t->fiber);
#endif
  munmap(t->map, t->map_len);
  t->magic = 0;
  gi_free(t);
}

static void
enter_task(struct gi_task *t)
{
  struct gi_reactor *r = t->r;

  GI_CHECK(t, TASK_MAGIC);
  t->outer = r->task;
  r->task = t;
#if TASK_ASAN
  __sanitizer_start_switch_fiber(&t->back_fake, stack_of(t), TASK_STACK);
#endif
#if TASK_TSAN
  t->back_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(t->fiber, 0);
#endif
  switch_context(&t->back, &t->here);
#if TASK_ASAN
  __sanitizer_finish_switch_fiber(t->back_fake, NULL, NULL);
#endif
  r->task = t->outer;
  if (t->ended)
    task_free(t);
}

/* makecontext passes ints only: the pointer comes in two halves. */
static void
task_main(unsigned high, unsigned low)
{
  struct gi_task *t = (struct gi_task *)(((uintptr_t)high << 32) | low);

  arrive_in_task(t);
  t->fn(t->arg);
  t->ended = true;
  leave_task(t);
}

static void
resume(void *arg)
{
  struct gi_task *t = arg;

  t->woken = false;
  t->waiting = false;
  enter_task(t);
}

/* ---- the interface ---- */

void
gi_task_start(struct gi_reactor *r, void (*fn)(void *arg), void *arg)
{
  struct gi_task *t = gi_new(struct gi_task);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);

  t->magic = TASK_MAGIC;
  t->r = r;
  t->fn = fn;
  t->arg = arg;
  t->map_len = page + TASK_STACK;
  t->map = mmap(NULL, t->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  GI_ASSERT(t->map != MAP_FAILED);
  GI_ASSERT(mprotect(t->map, page, PROT_NONE) == 0);
  gi_defer_init(&t->resume, resume, t);
#if TASK_TSAN
  t->fiber = __tsan_create_fiber(0);
#endif
  getcontext(&t->here);
  t->here.uc_stack.ss_sp = stack_of(t);
  t->here.uc_stack.ss_size = TASK_STACK;
  t->here.uc_link = NULL;
  makecontext(&t->here, (void (*)(void))task_main, 2, (unsigned)((uintptr_t)t >> 32), (unsigned)(uintptr_t)t);
  enter_task(t);
}

struct gi_task *
gi_task_self(struct gi_reactor *r)
{
  return r->task;
}

void
gi_task_wait(struct gi_reactor *r)
{
  struct gi_task *t = r->task;

  GI_CHECK(t, TASK_MAGIC);
  if (t->woken) {
    t->woken = false;
    return;
  }
  t->waiting = true;
  leave_task(t);
}

void
gi_task_wake(struct gi_task *t)
{
  GI_CHECK(t, TASK_MAGIC);
  t->woken = true;
  if (t->waiting)
    gi_defer_add(t->r, &t->resume);
}

struct nap {
  struct gi_task *task;
  bool over;
};

static void
nap_over(void *arg)
{
  struct nap *nap = arg;

  nap->over = true;
  gi_task_wake(nap->task);
}

void
gi_task_sleep(struct gi_reactor *r, uint64_t ns)
{
  struct nap nap = {.task = r->task};
  struct gi_timer timer;

  gi_timer_init(&timer, r, nap_over, &nap);
  gi_timer_set(&timer, ns);
  while (!nap.over)
    gi_task_wait(r);
  gi_timer_finish(&timer);
}

struct call {
  struct gi_task *task;
  bool done;
};

static void
call_done(struct gi_fop *fop, void *arg)
{
  struct call *call = arg;

  call->done = true;
  gi_task_wake(call->task);
  gi_fop_unref(fop);
}

void
gi_task_fop(struct gi_fop *fop, struct gi_xlator *top)
{
  struct gi_reactor *r = top->reactor;
  struct call call = {.task = r->task};

  gi_fop_submit(gi_fop_ref(fop), top, call_done, &call);
  while (!call.done)
    gi_task_wait(r);
}

/* ---- windows ---- */

struct waiter {
  struct gi_list link;
  struct gi_task *task;
  uint64_t n;
  bool granted;
};

void
gi_window_init(struct gi_window *w, uint64_t size)
{
  *w = (struct gi_window){.size = size};
  gi_list_init(&w->waiting);
}

static bool
fits(const struct gi_window *w, uint64_t n)
{
  return w->used == 0 || w->used + n <= w->size;
}

static void
grant(struct gi_window *w)
{
  while (!gi_list_empty(&w->waiting)) {
    struct waiter *first = gi_list_first(&w->waiting, struct waiter, link);

    if (!fits(w, first->n))
      return;
    w->used += first->n;
    first->granted = true;
    gi_list_del(&first->link);
    gi_task_wake(first->task);
  }
}

void
gi_window_take(struct gi_window *w, struct gi_reactor *r, uint64_t n)
{
  struct waiter me = {.task = r->task, .n = n};

  if (gi_list_empty(&w->waiting) && fits(w, n)) {
    w->used += n;
    return;
  }
  uint64_t since = gi_now(r);
  gi_list_add_tail(&w->waiting, &me.link);
  while (!me.granted)
    gi_task_wait(r);
  w->paused_ns += gi_now(r) - since;
  w->pauses++;
}

void
gi_window_give(struct gi_window *w, uint64_t n)
{
  GI_ASSERT(n <= w->used);
  w->used -= n;
  if (!GI_BROKEN("forget who waits for the window"))
    grant(w);
}

void
gi_window_resize(struct gi_window *w, uint64_t size)
{
  w->size = size;
  grant(w);
}
