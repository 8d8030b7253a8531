/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of process.h.
 */
#include "tests/simulation/management/process.h"
#include "programs/glusterishd/proc/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PID_FIRST 1000000000 /* none that the kernel gives */
#define ARGS_MAX 48
#define START_MIN (20 * SIM_MS)
#define START_MAX (400 * SIM_MS)
#define END_MAX (300 * SIM_MS)

struct process {
  struct gi_list link;
  struct sim_world *w;
  pid_t pid;
  unsigned host, nargs;
  char *arg[ARGS_MAX];
  bool over;
  int status;              /* exit status, or minus a signal */
  struct sim_event begins; /* its service is there */
  struct sim_event ends;
};

/* One that waits for the end of a process. */
struct watcher {
  struct gi_list link;
  struct gd_watch *w;
  pid_t pid;
  struct sim_reactor *r;
  void (*fn)(void *arg, unsigned events);
  void *arg;
  struct sim_event tell;
};

static struct {
  struct sim_world *w;
  struct sim_rng rng;
  pid_t last;
  int last_fd;
  struct gi_list processes, watchers;
} all;

static struct process *
find(pid_t pid)
{
  gi_list_foreach(p, &all.processes, struct process, link)
    if (p->pid == pid)
      return p;
  return NULL;
}

static const char *
value_of(const struct process *p, const char *option)
{
  for (unsigned i = 0; i + 1 < p->nargs; i++)
    if (strcmp(p->arg[i], option) == 0)
      return p->arg[i + 1];
  return NULL;
}

static bool
has(const struct process *p, const char *word)
{
  for (unsigned i = 0; i < p->nargs; i++)
    if (strcmp(p->arg[i], word) == 0)
      return true;
  return false;
}

/* ---- life ---- */

static void
tell(void *arg)
{
  struct watcher *o = arg;
  o->fn(o->arg, GI_IO_READ); /* which ends the watch */
}

static void
end(struct process *p, int status)
{
  if (p->over)
    return;
  p->over = true;
  p->status = status;
  sim_event_cancel(p->w, &p->begins);
  sim_event_cancel(p->w, &p->ends);
  gi_list_foreach(o, &all.watchers, struct watcher, link)
    if (o->pid == p->pid)
      sim_event_set(p->w, &o->tell, 0);
}

static void
ended(void *arg)
{
  end(arg, 0);
}

static void begins(void *arg);

static struct process *
process_new(unsigned host)
{
  struct process *p = gi_new(struct process);
  p->w = all.w;
  p->pid = ++all.last;
  p->host = host;
  gi_list_add_tail(&all.processes, &p->link);
  sim_event_init(&p->begins, NULL, "process begins", begins, p);
  sim_event_init(&p->ends, NULL, "process ends", ended, p);
  return p;
}

static void
check_alone(const struct process *p)
{
  const char *path = value_of(p, "--brick-name");
  gi_list_foreach(o, &all.processes, struct process, link) {
    const char *other = o != p && !o->over && o->host == p->host && has(o, "--served") ? value_of(o, "--brick-name") : NULL;
    if (path && other && strcmp(other, path) == 0)
      sim_violation(p->w, "two processes serve the brick %s", path);
  }
}

/* The starter's child serves from now on; the starter ends. */
static void
begins(void *arg)
{
  struct process *starter = arg;
  const char *pidfile = value_of(starter, "-p");
  struct process *p = process_new(starter->host);
  for (unsigned i = 0; i < starter->nargs; i++)
    p->arg[p->nargs++] = gi_strdup(starter->arg[i]);
  p->arg[p->nargs++] = gi_strdup("--served");
  check_alone(p);
  FILE *f = fopen(pidfile, "we");
  if (f) {
    fprintf(f, "%d\n", (int)p->pid);
    fclose(f);
  }
  end(starter, 0);
}

void
sim_processes_new(struct sim_world *w)
{
  all.w = w;
  all.rng = sim_rng_new(w->seed, 8ull << 32);
  all.last = PID_FIRST;
  all.last_fd = 0;
  gi_list_init(&all.processes);
  gi_list_init(&all.watchers);
}

void
sim_processes_free(void)
{
  while (!gi_list_empty(&all.watchers)) {
    struct watcher *o = gi_list_first(&all.watchers, struct watcher, link);
    gi_list_del(&o->link);
    sim_event_cancel(all.w, &o->tell);
    gi_free(o);
  }
  while (!gi_list_empty(&all.processes)) {
    struct process *p = gi_list_first(&all.processes, struct process, link);
    gi_list_del(&p->link);
    sim_event_cancel(all.w, &p->begins);
    sim_event_cancel(all.w, &p->ends);
    for (unsigned i = 0; i < p->nargs; i++)
      gi_free(p->arg[i]);
    gi_free(p);
  }
}

void
sim_processes_forget(struct sim_reactor *r)
{
  gi_list_foreach_safe(o, &all.watchers, struct watcher, link) {
    if (o->r != r)
      continue;
    gi_list_del(&o->link);
    sim_event_cancel(all.w, &o->tell);
    gi_free(o);
  }
}

void
sim_processes_kill(unsigned host)
{
  gi_list_foreach(p, &all.processes, struct process, link)
    if (p->host == host)
      end(p, -SIGKILL);
}

pid_t
sim_process_with(unsigned host, const char *word)
{
  gi_list_foreach(p, &all.processes, struct process, link)
    if (!p->over && p->host == host && has(p, "--served") && has(p, word))
      return p->pid;
  return 0;
}

void
sim_processes_foreach(unsigned host, const char *option, void (*fn)(void *arg, pid_t pid, const char *value), void *arg)
{
  gi_list_foreach(p, &all.processes, struct process, link)
    if (!p->over && p->host == host && has(p, "--served") && value_of(p, option))
      fn(arg, p->pid, value_of(p, option));
}

/* ---- as spawn.c ---- */

int
gd_spawn_in(const char *program, const char *const *argv, const char *dir, const char *log, pid_t *pid)
{
  GI_ASSERT(all.w->current); /* a node's handler */
  struct process *p = process_new(all.w->current->host);
  for (; *argv; argv++) {
    GI_ASSERT(p->nargs < ARGS_MAX - 1);
    p->arg[p->nargs++] = gi_strdup(*argv);
  }
  uint64_t ns = sim_rng_between(&all.rng, START_MIN, START_MAX);
  sim_event_set(all.w, has(p, "--no-daemon") ? &p->ends : &p->begins, ns);
  *pid = p->pid;
  return 0;
}

pid_t
gd_pidfile_running(const char *pidfile, const char *word)
{
  char text[32];
  FILE *f = fopen(pidfile, "re");
  if (!f)
    return 0;
  bool got = fgets(text, sizeof(text), f) != NULL;
  fclose(f);
  struct process *p = got ? find((pid_t)strtol(text, NULL, 10)) : NULL;
  return p && !p->over && has(p, word) ? p->pid : 0;
}

bool
gd_watch(struct gd_watch *w, struct gi_reactor *r, pid_t pid, void (*fn)(void *arg, unsigned events), void *arg)
{
  struct process *p = find(pid);
  if (!p)
    return false;
  struct watcher *o = gi_new(struct watcher);
  *o = (struct watcher){.w = w, .pid = pid, .r = GI_CONTAINER(r, struct sim_reactor, base), .fn = fn, .arg = arg};
  gi_list_add_tail(&all.watchers, &o->link);
  sim_event_init(&o->tell, o->r, "process ended", tell, o);
  if (p->over)
    sim_event_set(all.w, &o->tell, 0);
  w->fd = ++all.last_fd;
  w->pid = pid;
  return true;
}

void
gd_unwatch(struct gd_watch *w)
{
  gi_list_foreach_safe(o, &all.watchers, struct watcher, link) {
    if (o->w != w)
      continue;
    gi_list_del(&o->link);
    sim_event_cancel(all.w, &o->tell);
    gi_free(o);
  }
  w->fd = -1;
}

int
gd_watch_signal(const struct gd_watch *w, int signo)
{
  struct process *p = find(w->pid);
  if (!p || p->over)
    return ESRCH;
  if (signo == SIGKILL)
    end(p, -SIGKILL);
  else if (!p->ends.queued)
    sim_event_set(all.w, &p->ends, sim_rng_below(&all.rng, END_MAX));
  return 0;
}

int
gd_watch_reap(const struct gd_watch *w)
{
  const struct process *p = find(w->pid);
  return p && p->over ? p->status : -SIGKILL;
}

void
gd_pid_signal(pid_t pid, int signo)
{
  gd_watch_signal(&(struct gd_watch){.pid = pid}, signo);
}

void
gd_pidfile_remove(const char *pidfile)
{
  if (!gd_pidfile_running(pidfile, pidfile)) /* whoever was told to write it holds it */
    unlink(pidfile);
}

char *
gd_process_option(pid_t pid, const char *option)
{
  const struct process *p = find(pid);
  return p ? gi_strdup(value_of(p, option)) : NULL;
}
