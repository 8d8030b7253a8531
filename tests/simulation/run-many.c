/* SPDX-License-Identifier: Apache-2.0
 *
 * Many seeds, each in a real process of its own, several at a time.
 */
#include "libglusterish/probe.h"
#include "tests/simulation/run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 64
#define HANGS_S 120   /* time of a processor for one seed; it needs less than one */
#define SLEEPS_S 3600 /* real time, for one that waits for itself; on a busy machine others wait long, too */
#define FAILED_MAX 1000
#define PROBES_MAX 512

/* what a child tells its parent */
struct report {
  struct sim_outcome outcome;
  uint64_t probe[PROBES_MAX]; /* hits, in the order of gi_probes_foreach */
};

struct job {
  pid_t pid; /* 0: free */
  int fd;
  uint64_t seed;
};

struct many {
  const struct sim_plan *plan;
  struct job job[JOBS_MAX];
  uint64_t done, events, ops, failures, virtual_ns;
  uint64_t struck[32], probe[PROBES_MAX];
  struct sim_net_stats net;
  uint64_t disk[SIM_DISK_COUNTS], replaced;
  uint64_t nfailed, failed[FAILED_MAX];
  unsigned next_probe;
};

/* ---- a child ---- */

struct fill {
  struct report *report;
  unsigned n;
};

static void
fill_probe(const struct gi_probe *m, void *arg)
{
  struct fill *f = arg;
  if (f->n < PROBES_MAX)
    f->report->probe[f->n++] = m->hits;
}

_Noreturn static void
child(const struct sim_plan *base, uint64_t seed, int fd)
{
  static struct report report;
  struct sim_plan plan = *base;
  plan.seed = seed;
  plan.trace = plan.history = NULL;
  setrlimit(RLIMIT_CPU, &(struct rlimit){HANGS_S, HANGS_S + 1});
  alarm(SLEEPS_S);
  sim_run(&plan, &report.outcome);
  gi_probes_foreach(fill_probe, &(struct fill){&report, 0});
  const char *p = (const char *)&report;
  for (size_t left = sizeof(report); left > 0;) {
    ssize_t n = write(fd, p, left);
    if (n < 0)
      _exit(3);
    p += n;
    left -= (size_t)n;
  }
  _exit(report.outcome.violations ? 1 : 0);
}

/* ---- the parent ---- */

static void
start(struct many *m, struct job *job, uint64_t seed)
{
  int fd[2];
  if (pipe(fd) < 0) {
    perror("run: pipe");
    _exit(2);
  }
  fflush(NULL);
  job->seed = seed;
  job->pid = fork();
  if (job->pid < 0) {
    perror("run: fork");
    _exit(2);
  }
  if (job->pid == 0) {
    close(fd[0]);
    child(m->plan, seed, fd[1]);
  }
  close(fd[1]);
  job->fd = fd[0];
}

static bool
read_all(int fd, void *out, size_t len)
{
  char *p = out;
  while (len > 0) {
    ssize_t n = read(fd, p, len);
    if (n <= 0 && !(n < 0 && errno == EINTR))
      return false;
    if (n > 0) {
      p += n;
      len -= (size_t)n;
    }
  }
  return true;
}

static void
failed(struct many *m, uint64_t seed, const char *why)
{
  if (m->nfailed < FAILED_MAX)
    m->failed[m->nfailed] = seed;
  m->nfailed++;
  printf("FAILED seed %" PRIu64 ": %s\n", seed, why);
  fflush(stdout);
}

static void
add_up(uint64_t *to, const uint64_t *from, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] += from[i];
}

static void
finish(struct many *m, struct job *job)
{
  static struct report report;
  char why[64];
  int status = 0;
  bool told = read_all(job->fd, &report, sizeof(report));
  close(job->fd);
  while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
    ;
  job->pid = 0;
  m->done++;
  if (!told) {
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGALRM))
      snprintf(why, sizeof(why), "hangs");
    else if (WIFSIGNALED(status))
      snprintf(why, sizeof(why), "died of signal %d", WTERMSIG(status));
    else
      snprintf(why, sizeof(why), "exited with status %d", WEXITSTATUS(status));
    failed(m, job->seed, why);
    return;
  }
  const struct sim_outcome *o = &report.outcome;
  m->events += o->events;
  m->ops += o->ops;
  m->failures += o->failures;
  m->virtual_ns += o->virtual_ns;
  add_up(m->struck, o->struck, GI_ARRAY_LEN(m->struck));
  add_up((uint64_t *)&m->net, (const uint64_t *)&o->net, sizeof(m->net) / sizeof(uint64_t));
  add_up(m->disk, o->disk, SIM_DISK_COUNTS);
  m->replaced += o->replaced;
  add_up(m->probe, report.probe, PROBES_MAX);
  if (o->violations)
    failed(m, job->seed, o->violation);
}

static void
print_probe(const struct gi_probe *probe, void *arg)
{
  struct many *m = arg;
  bool broken = strncmp(probe->name, GI_BROKEN_PREFIX, strlen(GI_BROKEN_PREFIX)) == 0;
  uint64_t hits = m->next_probe < PROBES_MAX ? m->probe[m->next_probe++] : 0;
  if (broken && !hits)
    return;
  if (hits)
    printf("probe %10" PRIu64 "  %s\n", hits, probe->name);
  else
    printf("probe      never  %s\n", probe->name);
}

static void
print_summary(struct many *m)
{
  for (unsigned i = 0; i < sim_mishaps_count; i++)
    printf("mishap %8" PRIu64 "  %s\n", m->struck[i], sim_mishaps[i].name);
  printf("mishap %8" PRIu64 "  a brick replaced by an empty one\n", m->replaced);
  for (unsigned i = 0; i < SIM_DISK_COUNTS; i++)
    printf("disk %10" PRIu64 "  %s\n", m->disk[i], sim_disk_count_name(i));
  for (const struct gi_metric *metric = sim_net_metrics; metric->name; metric++)
    printf("net %11" PRIu64 "  %s\n", gi_metric_value(metric, &m->net), metric->help);
  gi_probes_foreach(print_probe, m);
  printf("%" PRIu64 " seeds, %" PRIu64 " events in %" PRIu64 " virtual s, %" PRIu64 " operations (%" PRIu64 " failed)\n",
         m->done, m->events, m->virtual_ns / SIM_S, m->ops, m->failures);
  if (m->nfailed == 0) {
    printf("all seeds held every invariant\n");
    return;
  }
  printf("%" PRIu64 " seeds FAILED; again with:\n", m->nfailed);
  for (uint64_t i = 0; i < m->nfailed && i < FAILED_MAX; i++)
    sim_print_command(stdout, m->plan, m->failed[i]);
}

int
sim_run_many(const struct sim_plan *plan, uint64_t from, uint64_t to, unsigned jobs)
{
  static struct many m;
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  unsigned running = 0, at = 0;
  if (jobs == 0)
    jobs = cpus > 0 ? (unsigned)cpus : 1;
  if (jobs > JOBS_MAX)
    jobs = JOBS_MAX;
  m.plan = plan;
  sim_preload();
  for (uint64_t seed = from; seed <= to || running > 0;) {
    struct job *job = &m.job[at];
    at = (at + 1) % jobs;
    if (job->pid) {
      finish(&m, job);
      running--;
    }
    if (plan->first && m.nfailed && seed > 0)
      to = seed - 1; /* nothing new begins */
    if (seed <= to) {
      start(&m, job, seed++);
      running++;
    }
  }
  print_summary(&m);
  return m.nfailed ? 1 : 0;
}
