/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/simulation/run: one seed, or many. See README.md.
 */
#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/probe.h"
#include "tests/simulation/run.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>

static void
usage(FILE *out)
{
  fprintf(
      out,
      "usage: run [OPTION]… --seed N | --seeds A..B\n"
      "  --seed N         runs one seed; exit status 0 if every invariant held\n"
      "  --seeds A..B     runs each from A to B in a process of its own\n"
      "  --jobs N         so many at a time (number of processors)\n"
      "  --until T        seconds of trouble, virtual (30)\n"
      "  --workload NAME  what clients do (mixed)\n"
      "  --mishaps A,B    only these happen; none: nothing\n"
      "  --layers A,B     the clients' layers for speed that are on at first, and switched; all, none (drawn from the seed)\n"
      "  --bricks N, --clients N (drawn from the seed)\n"
      "  --trace FILE     writes a Chrome trace\n"
      "  --history FILE   writes a line for everything that is hashed, to compare two runs\n"
      "  --broken NAME    with a bug on purpose (--list)\n"
      "  --first          stops at the first seed that fails\n"
      "  --log LEVEL      writes the log of all processes to stderr; TRACE: and what bricks do\n"
      "  --probes         tells which rare branches were reached, and which never\n"
      "  --list           workloads, mishaps and probes\n");
}

static bool
parse_number(const char *text, uint64_t *n)
{
  char *end;
  errno = 0;
  *n = strtoull(text, &end, 0);
  return errno == 0 && end != text && *end == 0;
}

static bool
parse_range(const char *text, uint64_t *from, uint64_t *to)
{
  const char *dots = strstr(text, "..");
  if (dots == NULL)
    return false;
  GI_CLEANUP_FREE char *first = gi_strndup(text, (size_t)(dots - text));
  return parse_number(first, from) && parse_number(dots + 2, to) && *from <= *to;
}

static bool
parse_mishaps(const char *text, uint64_t *only)
{
  *only = 0;
  if (strcmp(text, "none") == 0) {
    *only = SIM_NO_MISHAPS;
    return true;
  }
  GI_CLEANUP_FREE char *copy = gi_strdup(text);
  char *save = NULL;
  for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    unsigned i = 0;
    while (i < sim_mishaps_count && strcmp(sim_mishaps[i].name, word) != 0)
      i++;
    if (i == sim_mishaps_count)
      return false;
    *only |= 1ull << i;
  }
  return *only != 0;
}

static const struct sim_workload *
find_workload(const char *name)
{
  for (unsigned i = 0; i < sim_workloads_count; i++)
    if (strcmp(sim_workloads[i].name, name) == 0)
      return &sim_workloads[i];
  return NULL;
}

/* Probes, or bugs on purpose, each name once. */
struct list_of {
  bool broken;
  const char *last;
};

static void
list_probe(const struct gi_probe *m, void *arg)
{
  struct list_of *l = arg;
  size_t prefix = strlen(GI_BROKEN_PREFIX);
  bool broken = strncmp(m->name, GI_BROKEN_PREFIX, prefix) == 0;
  if (broken == l->broken && !(l->last && strcmp(l->last, m->name) == 0))
    printf("  %s\n", m->name + (broken ? prefix : 0));
  l->last = m->name;
}

struct known {
  const char *name;
  bool found;
};

static void
look_for(const struct gi_probe *m, void *arg)
{
  struct known *k = arg;
  size_t prefix = strlen(GI_BROKEN_PREFIX);
  k->found |= strncmp(m->name, GI_BROKEN_PREFIX, prefix) == 0 && strcmp(m->name + prefix, k->name) == 0;
}

static bool
broken_known(void)
{
  struct known k = {.name = gi_broken};
  if (gi_broken == NULL)
    return true;
  sim_preload();
  gi_probes_foreach(look_for, &k);
  if (!k.found)
    fprintf(stderr, "run: there is no bug '%s'\n", gi_broken);
  return k.found;
}

static int
list(void)
{
  sim_preload();
  printf("workloads:\n");
  for (unsigned i = 0; i < sim_workloads_count; i++)
    printf("  %-14s %s\n", sim_workloads[i].name, sim_workloads[i].summary);
  printf("mishaps:\n");
  for (unsigned i = 0; i < sim_mishaps_count; i++)
    printf("  %-14s %s\n", sim_mishaps[i].name, sim_mishaps[i].summary);
  printf("layers:\n");
  for (unsigned i = 0; i < sim_layers_count(); i++)
    printf("  %s\n", sim_layer_name(i));
  printf("faults of disks:\n");
  for (unsigned i = 0; i < SIM_FAULTS; i++)
    printf("  %s\n", sim_fault_name((enum sim_fault)i));
  printf("probes:\n");
  gi_probes_foreach(list_probe, &(struct list_of){.broken = false});
  printf("broken:\n");
  gi_probes_foreach(list_probe, &(struct list_of){.broken = true});
  return 0;
}

enum {
  OPT_SEED = 256,
  OPT_SEEDS,
  OPT_JOBS,
  OPT_UNTIL,
  OPT_WORKLOAD,
  OPT_MISHAPS,
  OPT_LAYERS,
  OPT_BRICKS,
  OPT_CLIENTS,
  OPT_TRACE,
  OPT_LOG,
  OPT_HISTORY,
  OPT_PROBES,
  OPT_BROKEN,
  OPT_FIRST,
  OPT_LIST,
  OPT_HELP
};

static const struct option options[] = {
    {"seed", required_argument, NULL, OPT_SEED},
    {"seeds", required_argument, NULL, OPT_SEEDS},
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"until", required_argument, NULL, OPT_UNTIL},
    {"workload", required_argument, NULL, OPT_WORKLOAD},
    {"mishaps", required_argument, NULL, OPT_MISHAPS},
    {"layers", required_argument, NULL, OPT_LAYERS},
    {"bricks", required_argument, NULL, OPT_BRICKS},
    {"clients", required_argument, NULL, OPT_CLIENTS},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"log", required_argument, NULL, OPT_LOG},
    {"history", required_argument, NULL, OPT_HISTORY},
    {"broken", required_argument, NULL, OPT_BROKEN},
    {"first", no_argument, NULL, OPT_FIRST},
    {"probes", no_argument, NULL, OPT_PROBES},
    {"list", no_argument, NULL, OPT_LIST},
    {"help", no_argument, NULL, OPT_HELP},
    {0},
};

struct command {
  struct sim_plan plan;
  uint64_t from, to, jobs;
  bool many, list, help;
};

static bool
parse_one(struct command *cmd, int opt, const char *arg)
{
  struct sim_plan *p = &cmd->plan;
  uint64_t n = 0;
  switch (opt) {
  case OPT_SEED:
    return parse_number(arg, &p->seed);
  case OPT_SEEDS:
    return cmd->many = parse_range(arg, &cmd->from, &cmd->to);
  case OPT_JOBS:
    return parse_number(arg, &cmd->jobs) && cmd->jobs > 0;
  case OPT_UNTIL:
    return parse_number(arg, &p->seconds);
  case OPT_WORKLOAD:
    return (p->workload = find_workload(arg)) != NULL;
  case OPT_MISHAPS:
    return parse_mishaps(arg, &p->mishaps);
  case OPT_LAYERS:
    p->layers = arg;
    return sim_layers_parse(arg, &(uint32_t){0});
  case OPT_BRICKS:
    p->bricks = parse_number(arg, &n) && n >= 1 && n <= SIM_BRICKS ? (unsigned)n : 0;
    return p->bricks > 0;
  case OPT_CLIENTS:
    p->clients = parse_number(arg, &n) && n >= 1 && n <= SIM_CLIENTS ? (unsigned)n : 0;
    return p->clients > 0;
  case OPT_TRACE:
    p->trace = arg;
    return true;
  case OPT_HISTORY:
    p->history = arg;
    return true;
  case OPT_LOG:
    return gi_log_level_parse(arg, &p->log);
  case OPT_PROBES:
    return p->probes = true;
  case OPT_BROKEN:
    gi_broken = arg;
    return true;
  case OPT_FIRST:
    return p->first = true;
  case OPT_LIST:
    return cmd->list = true;
  case OPT_HELP:
    return cmd->help = true;
  default:
    return false;
  }
}

int
main(int argc, char **argv)
{
  struct command cmd = {.plan = {.seconds = 30, .log = GI_LOG_NONE, .workload = &sim_workloads[0]}};
  int opt;
  while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
    if (!parse_one(&cmd, opt, optarg)) {
      if (opt != '?')
        fprintf(stderr, "run: bad value '%s'\n", optarg ? optarg : "");
      usage(stderr);
      return 2;
    }
  }
  if (cmd.help || optind < argc || argc == 1) {
    usage(cmd.help ? stdout : stderr);
    return cmd.help ? 0 : 2;
  }
  if (cmd.list)
    return list();
  if (!broken_known())
    return 2;
  return cmd.many ? sim_run_many(&cmd.plan, cmd.from, cmd.to, (unsigned)cmd.jobs) : sim_run_one(&cmd.plan);
}
