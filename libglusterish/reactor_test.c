/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the real reactor and its worker pool.
 */
#include "libglusterish/priority.h"
#include "libglusterish/reactor.h"
#include "libglusterish/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#define MSEC GI_NSEC_PER_MSEC

static char trail[256]; /* what ran, in order */

static void
mark(char c)
{
  size_t n = strlen(trail);
  assert_true(n + 1 < sizeof(trail));
  trail[n] = c;
  trail[n + 1] = '\0';
}

static int
setup(void **state)
{
  trail[0] = '\0';
  *state = gi_reactor_new(4);
  return 0;
}

static int
setup_polling(void **state)
{
  setup(state);
  gi_reactor_set_poll(*state, 200000);
  return 0;
}

static int
teardown(void **state)
{
  gi_reactor_free(*state);
  return 0;
}

static void
turn_until(struct gi_reactor *r, const char *want)
{
  uint64_t end = gi_now(r) + 5 * GI_NSEC_PER_SEC;
  while (strlen(trail) < strlen(want) && gi_now(r) < end)
    gi_reactor_turn(r, 20 * MSEC);
  assert_string_equal(trail, want);
}

/* ---- timers ---- */

struct timed {
  struct gi_timer t;
  char name;
  uint64_t due, due_latest, fired; /* the deadline lies between the two */
};

static void
on_timer(void *arg)
{
  struct timed *d = arg;
  assert_false(d->t.armed);
  d->fired = gi_now(d->t.r);
  assert_true(d->fired >= d->due);
  mark(d->name);
}

static void
arm(struct timed *d, uint64_t delay)
{
  d->due = gi_now(d->t.r) + delay;
  gi_timer_set(&d->t, delay);
  d->due_latest = gi_now(d->t.r) + delay;
}

static void
test_timers(void **state)
{
  struct gi_reactor *r = *state;
  struct timed d[5] = {{.name = 'a'}, {.name = 'b'}, {.name = 'c'}, {.name = 'd'}, {.name = 'e'}};
  for (unsigned i = 0; i < 5; i++)
    gi_timer_init(&d[i].t, r, on_timer, &d[i]);
  arm(&d[0], 60 * MSEC);
  arm(&d[1], 15 * MSEC);
  arm(&d[2], 30 * MSEC);
  arm(&d[3], 5 * MSEC);
  arm(&d[3], 45 * MSEC); /* pushed back */
  arm(&d[4], 900 * MSEC);
  arm(&d[4], 1); /* brought forward */
  turn_until(r, "ebcda");
  /* Not arbitrarily late either. */
  assert_true(d[0].fired - d[0].due < 4000 * MSEC);
  arm(&d[0], MSEC);
  gi_timer_cancel(&d[0].t);
  gi_timer_cancel(&d[0].t);
  arm(&d[1], UINT64_MAX / 8);
  arm(&d[2], 20 * MSEC);
  turn_until(r, "ebcdac");
  for (unsigned i = 0; i < 5; i++) {
    gi_timer_finish(&d[i].t);
    gi_timer_finish(&d[i].t);
  }
  gi_timer_finish(&(struct gi_timer){0});
}

/* Fires several times however often it is pushed back, and may be re-armed from its own call. */
static void
on_rearm(void *arg)
{
  struct timed *d = arg;
  on_timer(arg);
  if (strlen(trail) < 3)
    arm(d, 2 * MSEC);
}

static void
test_timer_rearms_itself(void **state)
{
  struct gi_reactor *r = *state;
  struct timed d = {.name = 'x'};
  gi_timer_init(&d.t, r, on_rearm, &d);
  arm(&d, MSEC);
  turn_until(r, "xxx");
  for (unsigned i = 0; i < 10; i++) {
    arm(&d, 200 * MSEC);
    gi_reactor_turn(r, MSEC);
  }
  assert_string_equal(trail, "xxx");
  turn_until(r, "xxxx");
  gi_timer_finish(&d.t);
}

/* Many timers, set, pushed about and cancelled at random: each that is left fires once, none early, in order. */
#define CROWD 500
static struct timed crowd[CROWD];
static unsigned crowd_fired;
static uint64_t crowd_last;

static void
on_crowd(void *arg)
{
  struct timed *d = arg;
  assert_true(gi_now(d->t.r) >= d->due && d->fired == 0);
  assert_true(d->due_latest >= crowd_last);
  crowd_last = d->due;
  d->fired = 1;
  crowd_fired++;
}

static void
test_many_timers(void **state)
{
  struct gi_reactor *r = *state;
  unsigned seed = 7, cancelled = 0;
  crowd_fired = 0;
  crowd_last = 0;
  memset(crowd, 0, sizeof(crowd));
  for (unsigned i = 0; i < CROWD; i++) {
    gi_timer_init(&crowd[i].t, r, on_crowd, &crowd[i]);
    arm(&crowd[i], 1000 * MSEC);
  }
  for (unsigned k = 0; k < 20000; k++) {
    seed = seed * 1103515245 + 12345;
    struct timed *d = &crowd[(seed >> 8) % CROWD];
    if (k % 3 == 0)
      gi_timer_cancel(&d->t);
    else
      arm(d, (200 + (seed >> 4) % 40) * MSEC);
  }
  for (unsigned i = 0; i < CROWD; i++)
    cancelled += !crowd[i].t.armed;
  uint64_t end = gi_now(r) + 5 * GI_NSEC_PER_SEC;
  while (crowd_fired + cancelled < CROWD && gi_now(r) < end)
    gi_reactor_turn(r, 20 * MSEC);
  assert_int_equal(crowd_fired + cancelled, CROWD);
  assert_true(cancelled > 0 && crowd_fired > 0);
  for (unsigned i = 0; i < CROWD; i++)
    gi_timer_finish(&crowd[i].t);
}

/* ---- deferred calls and descriptors ---- */

struct piped {
  struct gi_reactor *r;
  struct gi_io io;
  struct gi_defer defer;
  int fd[2];
  char name, late;
};

static void
on_deferred(void *arg)
{
  struct piped *p = arg;
  mark(p->late);
}

static void
on_readable(void *arg, unsigned events)
{
  struct piped *p = arg;
  char c;
  assert_int_equal(events, GI_IO_READ);
  assert_int_equal(read(p->fd[0], &c, 1), 1);
  mark(p->name);
  gi_defer_add(p->r, &p->defer);
  gi_defer_add(p->r, &p->defer);
}

static void
piped_open(struct piped *p, struct gi_reactor *r, char name, char late)
{
  *p = (struct piped){.r = r, .name = name, .late = late};
  assert_int_equal(pipe2(p->fd, O_CLOEXEC | O_NONBLOCK), 0);
  gi_io_init(&p->io, r, p->fd[0], on_readable, p);
  gi_io_watch(&p->io, GI_IO_READ);
  gi_defer_init(&p->defer, on_deferred, p);
}

static void
piped_close(struct piped *p)
{
  gi_io_finish(&p->io);
  gi_io_finish(&p->io);
  gi_defer_cancel(&p->defer);
  close(p->fd[0]);
  close(p->fd[1]);
}

static void
test_io_and_defer(void **state)
{
  struct gi_reactor *r = *state;
  struct piped p[2];
  piped_open(&p[0], r, 'r', 'D');
  piped_open(&p[1], r, 'r', 'D');
  gi_reactor_turn(r, 0);
  assert_string_equal(trail, "");
  assert_int_equal(write(p[0].fd[1], "12", 2), 2);
  assert_int_equal(write(p[1].fd[1], "1", 1), 1);
  /* Both handlers of the turn first, then what they deferred, once each, before the next wait. */
  gi_reactor_turn(r, 20 * MSEC);
  assert_string_equal(trail, "rrDD");
  gi_io_watch(&p[0].io, 0);
  gi_reactor_turn(r, 0);
  assert_string_equal(trail, "rrDD");
  gi_io_watch(&p[0].io, GI_IO_READ);
  gi_reactor_turn(r, 0);
  assert_string_equal(trail, "rrDDrD");
  piped_close(&p[0]);
  piped_close(&p[1]);
  gi_io_finish(&(struct gi_io){0});
}

static void
on_both(void *arg, unsigned events)
{
  struct gi_io *io = arg;
  if (events & GI_IO_WRITE) {
    mark('w');
    gi_io_watch(io, GI_IO_READ);
  }
}

static void
on_close_self(void *arg, unsigned events)
{
  mark('x');
  gi_io_finish(arg);
}

static void
test_io_writable_and_finish_inside(void **state)
{
  struct gi_reactor *r = *state;
  int fd[2];
  assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
  struct gi_io io;
  gi_io_init(&io, r, fd[1], on_both, &io);
  gi_io_watch(&io, GI_IO_READ | GI_IO_WRITE);
  gi_reactor_turn(r, 20 * MSEC);
  gi_reactor_turn(r, 0);
  assert_string_equal(trail, "w");
  gi_io_finish(&io);
  struct gi_io self;
  gi_io_init(&self, r, fd[1], on_close_self, &self);
  gi_io_watch(&self, GI_IO_WRITE);
  gi_reactor_turn(r, 20 * MSEC);
  gi_reactor_turn(r, 0);
  assert_string_equal(trail, "wx");
  close(fd[0]);
  close(fd[1]);
}

struct chain {
  struct gi_reactor *r;
  struct gi_defer d[4];
  unsigned next;
};

static void
on_chain(void *arg)
{
  struct chain *c = arg;
  mark((char)('0' + c->next));
  if (++c->next < 4)
    gi_defer_add(c->r, &c->d[c->next]);
  else
    gi_reactor_stop(c->r);
}

static void
test_deferred_chain_and_stop(void **state)
{
  struct gi_reactor *r = *state;
  struct chain c = {.r = r};
  for (unsigned i = 0; i < 4; i++)
    gi_defer_init(&c.d[i], on_chain, &c);
  struct gi_defer cancelled;
  gi_defer_init(&cancelled, on_chain, &c);
  gi_defer_add(r, &c.d[0]);
  gi_defer_add(r, &cancelled);
  gi_defer_cancel(&cancelled);
  gi_reactor_run(r); /* returns: all four ran before any wait, then the stop */
  assert_string_equal(trail, "0123");
}

/* ---- work ---- */

struct job {
  struct gi_work w;
  struct gi_reactor *r;
  pthread_t ran_on;
  char name;
  int nice;         /* of the thread while it ran */
  uint64_t slice;   /* the same; ns, 0 where the kernel does not tell */
  atomic_int *gate; /* blocks until it is set */
  atomic_int *running;
};

/* Of the calling thread: sched_runtime of sched_getattr(2). */
static uint64_t
slice(void)
{
  struct {
    uint32_t size, policy;
    uint64_t flags, nice_and_priority, runtime, deadline, period;
  } a = {.size = sizeof(a)};
  return syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) ? 0 : a.runtime;
}

static void
job_run(struct gi_work *w)
{
  struct job *j = GI_CONTAINER(w, struct job, w);
  j->ran_on = pthread_self();
  j->nice = getpriority(PRIO_PROCESS, 0);
  j->slice = slice();
  if (j->running)
    atomic_fetch_add(j->running, 1);
  while (j->gate && !atomic_load(j->gate))
    usleep(500);
}

static void
job_done(struct gi_work *w)
{
  struct job *j = GI_CONTAINER(w, struct job, w);
  mark(j->name);
}

static void
job_submit(struct job *j, struct gi_reactor *r, enum gi_priority priority, char name)
{
  j->r = r;
  j->name = name;
  j->w = (struct gi_work){.priority = priority, .run = job_run, .done = job_done};
  gi_work_submit(r, &j->w);
}

static void
test_work_on_the_pool(void **state)
{
  struct gi_reactor *r = *state;
  struct job jobs[100] = {0};
  char want[101];
  for (unsigned i = 0; i < 100; i++)
    job_submit(&jobs[i], r, (enum gi_priority)(i % GI_PRIO_COUNT), 'j');
  memset(want, 'j', 100);
  want[100] = '\0';
  turn_until(r, want);
  for (unsigned i = 0; i < 100; i++)
    assert_false(pthread_equal(jobs[i].ran_on, pthread_self()));
}

static void
test_work_runs_in_parallel(void **state)
{
  struct gi_reactor *r = *state;
  atomic_int gate = 0, running = 0;
  struct job jobs[8] = {0};
  for (unsigned i = 0; i < 8; i++) {
    jobs[i].gate = &gate;
    jobs[i].running = &running;
    job_submit(&jobs[i], r, GI_PRIO_NORMAL, 'p');
  }
  for (unsigned i = 0; i < 10000 && atomic_load(&running) < 4; i++)
    usleep(1000);
  usleep(5000);
  assert_int_equal(atomic_load(&running), 4); /* the limit */
  gi_reactor_set_workers(r, 6);
  for (unsigned i = 0; i < 10000 && atomic_load(&running) < 6; i++)
    usleep(1000);
  usleep(5000);
  assert_int_equal(atomic_load(&running), 6);
  atomic_store(&gate, 1);
  turn_until(r, "pppppppp");
}

/* ---- work that is alone with a descriptor ---- */

struct lonely {
  struct gi_work w;
  int other;
  bool has_it, has_other;
};

static void
lonely_run(struct gi_work *w)
{
  struct lonely *l = GI_CONTAINER(w, struct lonely, w);
  l->has_it = fcntl(w->alone_with, F_GETFD) >= 0;
  l->has_other = fcntl(l->other, F_GETFD) >= 0;
}

static void
lonely_done(struct gi_work *w)
{
  mark('l');
}

static bool
at_its_end(int fd)
{
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

static void
test_work_alone(void **state)
{
  struct gi_reactor *r = *state;
  int kept[2], other[2];
  assert_int_equal(pipe(other), 0);
  assert_int_equal(pipe(kept), 0);
  for (unsigned i = 1; i <= 3; i++) { /* the thread is used again */
    struct lonely l = {.w = {.run = lonely_run, .done = lonely_done, .alone_with = kept[1]}, .other = other[1]};
    gi_work_submit(r, &l.w);
    turn_until(r, "lll" + 3 - i);
    assert_true(l.has_it);
    assert_false(l.has_other);
  }
  close(other[1]);
  assert_true(at_its_end(other[0]));
  assert_true(fcntl(other[0], F_GETFD) >= 0); /* of ours none was closed */
  gi_work_forget(r, kept[1]);
  close(kept[1]);
  gi_reactor_turn(r, 0);
  assert_true(at_its_end(kept[0]));
  close(kept[0]);
  close(other[0]);
}

/* One thread, so it has to come back. */
static void
test_least_is_nice(void **state)
{
  struct gi_reactor *r = *state;
  int usual = getpriority(PRIO_PROCESS, 0), least = usual + GI_LEAST_NICE;
  struct job a = {0}, b = {0}, c = {0};
  if (least > 19)
    least = 19;
  gi_reactor_set_workers(r, 1);
  job_submit(&a, r, GI_PRIO_HIGH, 'a');
  turn_until(r, "a");
  job_submit(&b, r, GI_PRIO_LEAST, 'b');
  turn_until(r, "ab");
  job_submit(&c, r, GI_PRIO_NORMAL, 'c');
  turn_until(r, "abc");
  assert_int_equal(a.nice, usual);
  assert_int_equal(b.nice, geteuid() == 0 ? least : usual);
  if (b.nice == usual || setpriority(PRIO_PROCESS, 0, usual) == 0) /* where root may not either, the thread stays as it is */
    assert_int_equal(c.nice, usual);
  assert_int_equal(getpriority(PRIO_PROCESS, 0), usual);
  if (a.slice && geteuid() == 0) {
    assert_true(b.slice > a.slice);
    assert_true(b.slice >= 10 * GI_NSEC_PER_MSEC);
    assert_int_equal(c.slice, a.slice);
  }
}

static void
test_priorities(void **state)
{
  struct gi_reactor *r = *state;
  gi_reactor_set_workers(r, 1);
  atomic_int gate = 0, running = 0;
  struct job first = {.gate = &gate, .running = &running}, jobs[44] = {0};
  job_submit(&first, r, GI_PRIO_NORMAL, 'f');
  while (!atomic_load(&running))
    usleep(500);
  job_submit(&jobs[0], r, GI_PRIO_LEAST, 'z');
  job_submit(&jobs[1], r, GI_PRIO_LOW, 'l');
  for (unsigned i = 2; i < 44; i++)
    job_submit(&jobs[i], r, GI_PRIO_HIGH, 'h');
  atomic_store(&gate, 1);
  uint64_t end = gi_now(r) + 5 * GI_NSEC_PER_SEC;
  while (strlen(trail) < 45 && gi_now(r) < end)
    gi_reactor_turn(r, 10 * MSEC);
  assert_int_equal(strlen(trail), 45);
  assert_memory_equal(trail, "fhhh", 4);
  /* The low ones were served in between, not at the end. */
  assert_true(strchr(trail, 'l') < trail + 30);
  assert_true(strchr(trail, 'z') < trail + 30);
}

static void
test_work_inline(void **state)
{
  struct gi_reactor *r = gi_reactor_new(0);
  struct job jobs[3] = {0};
  for (unsigned i = 0; i < 3; i++)
    job_submit(&jobs[i], r, GI_PRIO_LOW, 'i');
  assert_string_equal(trail, "");
  gi_reactor_turn(r, 0);
  assert_string_equal(trail, "iii");
  assert_true(pthread_equal(jobs[0].ran_on, pthread_self()));
  gi_reactor_free(r);
}

/* One after the other, each submitted when the one before is done, under run(): no wakeup is lost. */
static void
ping_done(struct gi_work *w)
{
  struct job *j = GI_CONTAINER(w, struct job, w);
  if (--j->name == 0)
    gi_reactor_stop(j->r);
  else
    gi_work_submit(j->r, w);
}

static void
test_no_lost_wakeup(void **state)
{
  struct gi_reactor *r = *state;
  for (unsigned round = 0; round < 50; round++) {
    struct job j = {.r = r, .name = 100, .w = {.priority = GI_PRIO_HIGH, .run = job_run, .done = ping_done}};
    gi_work_submit(r, &j.w);
    gi_reactor_run(r);
    assert_int_equal(j.name, 0);
  }
}

/* ---- the rest ---- */

static void
on_signal(void *arg, int signo)
{
  assert_int_equal(signo, SIGUSR1);
  mark('s');
  gi_reactor_stop(arg);
}

static void
test_signal(void **state)
{
  struct gi_reactor *r = *state;
  struct gi_signal *s = gi_signal_watch(r, SIGUSR1, on_signal, r);
  kill(getpid(), SIGUSR1);
  gi_reactor_run(r);
  assert_string_equal(trail, "s");
  gi_signal_unwatch(&s);
  gi_signal_unwatch(&s);
}

static void
too_late(void *arg)
{
  mark('t');
  gi_reactor_stop(arg);
}

/* What a signal leaves to do does not wait for the next event because the reactor looked for events when it came. */
static void
test_signal_while_polling(void **state)
{
  struct gi_reactor *r = *state;
  struct gi_timer end = {0};
  struct gi_signal *s = gi_signal_watch(r, SIGUSR1, on_signal, r);
  gi_reactor_set_poll(r, 1);
  gi_timer_init(&end, r, too_late, r);
  gi_timer_set(&end, 20 * GI_NSEC_PER_SEC);
  kill(getpid(), SIGUSR1);
  gi_reactor_run(r);
  assert_string_equal(trail, "s");
  gi_timer_finish(&end);
  gi_signal_unwatch(&s);
}

static void
test_clocks_and_chance(void **state)
{
  struct gi_reactor *r = *state;
  uint64_t a = gi_now(r);
  gi_reactor_turn(r, 5 * MSEC);
  assert_true(gi_now(r) - a >= 4 * MSEC);
  assert_true(gi_wall(r).sec > 1600000000);
  struct gi_gfid g[200];
  for (unsigned i = 0; i < 200; i++) {
    g[i] = gi_gfid_new(r);
    assert_int_equal(g[i].b[6] >> 4, 4);
    assert_int_equal(g[i].b[8] >> 6, 2);
    for (unsigned k = 0; k < i; k++)
      assert_false(gi_gfid_equal(&g[i], &g[k]));
  }
  struct gi_gfid_run run = {0}, other = {0};
  unsigned firsts = 0, shared = 0;
  struct gi_gfid last = {0};
  for (unsigned i = 0; i < 8 * GI_GFID_RUN; i++) {
    struct gi_gfid one = gi_gfid_next(&run, r), two = gi_gfid_next(&other, r);
    assert_int_equal(one.b[6] >> 4, 4);
    assert_false(gi_gfid_equal(&one, &last));
    assert_memory_not_equal(one.b + 2, last.b + 2, 14);
    if (i % GI_GFID_RUN)
      assert_memory_equal(one.b, last.b, 2);
    else
      firsts += i && memcmp(one.b, last.b, 2) != 0;
    shared += memcmp(one.b, two.b, 2) == 0;
    last = one;
  }
  assert_true(firsts >= 5); /* of 7 */
  assert_true(shared <= 2 * GI_GFID_RUN);
  uint8_t big[1000] = {0}, zero[1000] = {0};
  gi_random(r, big, sizeof(big));
  assert_memory_not_equal(big, zero, sizeof(big));
}

static void
test_free_of_nothing(void **state)
{
  gi_reactor_free(NULL);
  struct gi_reactor *r = gi_reactor_new(8);
  struct gi_defer left;
  gi_defer_init(&left, on_deferred, NULL);
  gi_defer_add(r, &left);
  gi_reactor_free(r);
  assert_false(left.queued);
}

static void
slow_run(struct gi_work *w)
{
  (void)w;
  usleep(20000);
}

static void
slow_done(struct gi_work *w)
{
  gi_free(w);
}

/* Work that outlived its owner ends before the reactor does: a leak or a crash otherwise. */
static void
test_free_waits_for_work(void **state)
{
  (void)state;
  for (unsigned workers = 0; workers < 3; workers += 2) {
    struct gi_reactor *r = gi_reactor_new(workers);
    for (int i = 0; i < 4; i++) {
      struct gi_work *w = gi_new(struct gi_work);
      w->priority = GI_PRIO_LEAST;
      w->run = slow_run;
      w->done = slow_done;
      gi_work_submit(r, w);
    }
    gi_reactor_free(r);
  }
}

/* The cheap clock counts as the other one does, whatever it counts in. */
static void
test_ticks(void **state)
{
  struct gi_reactor *r = *state;
  uint64_t outer = gi_now(r), first = gi_ticks(r), inner = gi_now(r);
  while (gi_now(r) < inner + 3 * MSEC)
    ;
  uint64_t inside = gi_now(r) - inner, ticks = gi_ticks(r) - first, outside = gi_now(r) - outer;
  assert_true(gi_ticks_ns(r, ticks) >= inside - inside / 100 && gi_ticks_ns(r, ticks) <= outside + outside / 100);
  assert_true(gi_ns_ticks(r, gi_ticks_ns(r, ticks)) <= ticks && gi_ns_ticks(r, gi_ticks_ns(r, ticks)) >= ticks - ticks / 1000);
  assert_int_equal(gi_ticks_ns(r, 0), 0);
}

/* It stands in for gi_now: never ahead, and never behind what was read before. */
static void
test_now_at(void **state)
{
  struct gi_reactor *r = *state;
  uint64_t end = gi_now(r) + 5 * MSEC, last = 0;
  while (last < end) {
    uint64_t before = gi_ticks(r), at = gi_now_at(r, gi_ticks(r)), now = gi_now(r);
    assert_true(at <= now && at >= last);
    assert_true(gi_now_at(r, before) <= now);
    last = at;
  }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
/* Whatever wakes a sleeping reactor must also be seen by one that looks before it sleeps. */
#define POLLING(fn) \
  { \
    "polling: " #fn, fn, setup_polling, teardown, NULL \
  }

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_timers),
      TEST(test_timer_rearms_itself),
      TEST(test_many_timers),
      TEST(test_io_and_defer),
      TEST(test_io_writable_and_finish_inside),
      TEST(test_deferred_chain_and_stop),
      TEST(test_work_on_the_pool),
      TEST(test_work_runs_in_parallel),
      TEST(test_work_alone),
      TEST(test_least_is_nice),
      TEST(test_priorities),
      TEST(test_work_inline),
      TEST(test_no_lost_wakeup),
      TEST(test_signal),
      TEST(test_signal_while_polling),
      TEST(test_clocks_and_chance),
      TEST(test_ticks),
      TEST(test_now_at),
      TEST(test_free_of_nothing),
      TEST(test_free_waits_for_work),
      POLLING(test_timers),
      POLLING(test_io_and_defer),
      POLLING(test_work_on_the_pool),
      POLLING(test_no_lost_wakeup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
