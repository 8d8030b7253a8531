/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/simulation/manage: the management of a pool under trouble, from a seed.
 * Administrators on all nodes give commands while daemons crash and freeze,
 * machines lose power, and nodes, network and store come and go. Then all is
 * mended, and everybody must tell the same. What must hold is in rules.h.
 */
#include "tests/simulation/management/rules.h"
#include "libglusterish/log.h"
#include "libglusterish/mutants.h"
#include "programs/glusterishd/pool/pool.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODES 4    /* the last one comes and goes */
#define MEMBERS 3  /* the others */
#define TLS_EACH 4 /* seeds */
#define THINK_MAX (4 * SIM_S)
#define LOOK (100 * SIM_MS)
#define FAULT_EVERY (4 * SIM_S)
#define FAULT_MAX (15 * SIM_S)
#define CALM (90 * SIM_S) /* everybody has found together, and commands have ended */

struct run {
  struct sim_world *w;
  struct sim_nodes *all;
  struct rules *rules;
  struct sim_rng rng, fault_rng;
  bool over; /* no new commands and faults */
  bool tls;
  uint64_t commands, answered, good;
  struct admin {
    struct run *run;
    struct sim_node *node;
    struct sim_event think;
    struct sim_command *command;
    unsigned token; /* of the command, 0: none */
  } admin[NODES];
  struct sim_event fault;
};

/* ---- commands ---- */

static struct sim_command *
choose(struct admin *a)
{
  struct run *r = a->run;
  const char *volume = sim_rng_chance(&r->rng, 500) ? "one" : "two";
  unsigned n = (unsigned)sim_rng_below(&r->rng, 100), key = (unsigned)sim_rng_below(&r->rng, 3);
  a->token = 0;
  if (n < 50) {
    a->token = rules_token(r->rules);
    return sim_command_new(a->node, 12, "{\"command\":\"volume set\",\"volume\":\"%s\",\"pairs\":[\"user.k%u\",\"t%u\"]}",
                           volume, key, a->token);
  }
  if (n < 62)
    return sim_command_new(a->node, 8, "{\"command\":\"volume start\",\"volume\":\"%s\",\"force\":%s}", volume,
                           key ? "false" : "true");
  if (n < 72)
    return sim_command_new(a->node, 9, "{\"command\":\"volume stop\",\"volume\":\"%s\"}", volume);
  if (n < 80)
    return sim_command_new(a->node, 4,
                           "{\"command\":\"volume create\",\"volume\":\"new\",\"replica\":2,\"force\":true,"
                           "\"bricks\":[\"10.0.0.1:DIR/0/new%u\",\"10.0.0.3:DIR/2/new%u\"]}",
                           key, key);
  if (n < 86)
    return sim_command_new(a->node, 7, "{\"command\":\"volume delete\",\"volume\":\"new\"}");
  if (n < 92 && r->tls && !key)
    return sim_command_new(a->node, 1, "{\"command\":\"pool tls\",\"action\":\"rotate\",\"authority\":true}");
  if (n < 92)
    return sim_command_new(a->node, 15,
                           "{\"command\":\"volume replace-brick\",\"volume\":\"two\",\"source\":\"10.0.0.2:DIR/1/two%u\","
                           "\"target\":\"10.0.0.2:DIR/1/two%u\"}",
                           key, (key + 1) % 3);
  if (n < 96)
    return sim_command_new(a->node, 1, "{\"command\":\"peer probe\",\"host\":\"10.0.0.%d\"}", NODES);
  return sim_command_new(a->node, 2, "{\"command\":\"peer detach\",\"host\":\"10.0.0.%d\"%s}", NODES,
                         key ? "" : ",\"force\":true");
}

static void
judge(struct admin *a)
{
  struct sim_command *c = a->command;
  a->run->answered += c->answered;
  a->run->good += c->answered && !c->err.code;
  if (a->token && c->answered)
    rules_answered(a->run->rules, a->token, c->err.code, c->err.text);
  sim_command_free(&a->command);
}

static bool
can_be_asked(const struct sim_node *n)
{
  return n->reactor && !n->reactor->frozen && n->gd && n->gd->pool;
}

static void
think(void *arg)
{
  struct admin *a = arg;
  struct run *r = a->run;
  struct sim_command *c = a->command;
  if (c && (c->answered || c->incarnation != a->node->incarnation || !a->node->reactor))
    judge(a);
  if (!a->command && !r->over && can_be_asked(a->node)) {
    r->commands++;
    a->command = choose(a);
  }
  sim_event_set(r->w, &a->think, a->command || r->over ? LOOK : sim_rng_below(&r->rng, THINK_MAX));
}

/* ---- trouble ---- */

enum trouble { CRASH, CRASH_IN_CALL, POWER, FREEZE, CUT_STORE, CUT_NET, CUT_BOTH, NO_MAJORITY, STORE_RESTARTS, TROUBLES };

struct strike {
  struct run *run;
  enum trouble what;
  struct sim_node *node;
  struct sim_reactor *reactor;
};

static void
for_each_store(struct run *r, void (*fn)(struct sim_store *s, unsigned n, int by), unsigned n, int by)
{
  for (unsigned i = 0; i < r->all->nstores; i++)
    fn(r->all->stores[i].store, n, by);
}

static void
cut_store(struct sim_store *s, unsigned n, int by)
{
  s->cut[n] += (unsigned)by;
}

static void
hold_down(struct sim_store *s, unsigned n, int by)
{
  s->down += (unsigned)by;
}

static void
make_slow(struct sim_store *s, unsigned n, int by)
{
  s->slow = by;
}

static void
restart_store(struct sim_store *s, unsigned n, int by)
{
  sim_store_restart(s);
}

static void
mend(void *arg)
{
  struct strike *k = arg;
  struct run *r = k->run;
  struct sim_node *n = k->node;
  switch (k->what) {
  case CRASH:
  case POWER:
    if (!n->reactor)
      sim_node_start(n);
    break;
  case FREEZE:
    if (n->reactor && n->reactor == k->reactor && n->reactor->frozen)
      sim_reactor_thaw(n->reactor);
    break;
  case CUT_BOTH:
  case CUT_NET:
    sim_net_partition(r->w->net, 1u << n->host, false);
    if (k->what == CUT_NET)
      break;
    /* fall through */
  case CUT_STORE:
    for_each_store(r, cut_store, n->n, -1);
    break;
  case NO_MAJORITY:
    for_each_store(r, hold_down, 0, -1);
    break;
  default:
    break;
  }
  gi_free(k);
}

static void
strike(void *arg)
{
  struct run *r = arg;
  struct strike *k = gi_new(struct strike);
  if (r->over) {
    gi_free(k);
    return;
  }
  *k = (struct strike){.run = r, .what = (enum trouble)sim_rng_below(&r->fault_rng, TROUBLES)};
  struct sim_node *n = k->node = &r->all->node[sim_rng_below(&r->fault_rng, NODES)];
  uint64_t ns = sim_rng_below(&r->fault_rng, FAULT_MAX);
  unsigned call = (unsigned)sim_rng_between(&r->fault_rng, 1, 6);
  k->reactor = n->reactor;
  switch (k->what) {
  case CRASH_IN_CALL:
    if (!r->all->mortal && n->reactor) {
      r->all->mortal = n;
      r->all->dies_at = call;
      r->all->fate = call % 2 ? STORE_DIE_AFTER : STORE_DIE_BEFORE;
    }
    k->what = CRASH;
    break;
  case CRASH:
  case POWER:
    sim_node_crash(n, k->what == POWER);
    break;
  case FREEZE:
    if (n->reactor)
      sim_reactor_freeze(n->reactor);
    break;
  case CUT_BOTH:
  case CUT_NET:
    sim_net_partition(r->w->net, 1u << n->host, true);
    if (k->what == CUT_NET)
      break;
    /* fall through */
  case CUT_STORE:
    for_each_store(r, cut_store, n->n, 1);
    break;
  case NO_MAJORITY:
    for_each_store(r, hold_down, 0, 1);
    break;
  case STORE_RESTARTS:
    for_each_store(r, restart_store, 0, 0);
    break;
  default:
    break;
  }
  sim_world_call(r->w, NULL, ns, "mend", mend, k);
  sim_event_set(r->w, &r->fault, sim_rng_below(&r->fault_rng, 2 * FAULT_EVERY));
}

/* ---- a run ---- */

/* As an administrator would, who tries again when nodes have not found together yet. */
static bool
order(struct run *r, unsigned node, uint32_t proc, const char *text)
{
  struct gi_error err = {0};
  for (unsigned tries = 0; tries < 10; tries++) {
    struct sim_command *c = sim_command_new(&r->all->node[node], proc, "%s", text);
    sim_command_wait(c, 100 * SIM_S);
    bool good = c->answered && !c->err.code;
    err = c->err;
    sim_command_free(&c);
    if (good)
      return true;
    sim_nodes_run(r->all, SIM_S, NULL);
  }
  sim_violation(r->w, "%s: %s", text, err.text);
  return false;
}

static bool
setup(struct run *r)
{
  return order(r, 0, 1, "{\"command\":\"peer probe\",\"host\":\"10.0.0.2\"}") &&
         order(r, 0, 1, "{\"command\":\"peer probe\",\"host\":\"10.0.0.3\"}") &&
         order(r, 1, 4,
               "{\"command\":\"volume create\",\"volume\":\"one\",\"force\":true,"
               "\"bricks\":[\"10.0.0.1:DIR/0/one\",\"10.0.0.3:DIR/2/one\"]}") &&
         order(r, 0, 4,
               "{\"command\":\"volume create\",\"volume\":\"two\",\"replica\":2,\"force\":true,"
               "\"bricks\":[\"10.0.0.1:DIR/0/two\",\"10.0.0.2:DIR/1/two0\"]}") &&
         order(r, 2, 8, "{\"command\":\"volume start\",\"volume\":\"two\"}") &&
         (!r->tls || (order(r, 0, 1, "{\"command\":\"pool tls\",\"action\":\"enable\"}") &&
                      order(r, 1, 1, "{\"command\":\"pool tls\",\"action\":\"client\",\"name\":\"joe\"}")));
}

static void
all_up(struct run *r)
{
  r->all->mortal = NULL;
  for (unsigned i = 0; i < NODES; i++)
    if (!r->all->node[i].reactor)
      sim_node_start(&r->all->node[i]);
}

static void
live(struct run *r, uint64_t seconds)
{
  char why[512];
  if (!setup(r))
    return;
  for (unsigned i = 0; i < NODES; i++) {
    r->admin[i] = (struct admin){.run = r, .node = &r->all->node[i]};
    sim_event_init(&r->admin[i].think, NULL, "administrator", think, &r->admin[i]);
    sim_event_set(r->w, &r->admin[i].think, 0);
  }
  for_each_store(r, make_slow, 0, 1);
  sim_event_init(&r->fault, NULL, "trouble", strike, r);
  sim_event_set(r->w, &r->fault, FAULT_EVERY);
  for (uint64_t t = 0; t < seconds; t++) {
    sim_nodes_run(r->all, SIM_S, NULL);
    rules_look(r->rules);
  }
  r->over = true;
  sim_nodes_run(r->all, FAULT_MAX, NULL);
  all_up(r);
  for_each_store(r, make_slow, 0, 0);
  sim_nodes_run(r->all, CALM, NULL);
  rules_look(r->rules);
  for (unsigned i = 0; i < NODES; i++)
    if (r->admin[i].command)
      sim_violation(r->w, "node %u does not answer %s", i, r->admin[i].command->text);
  if (!sim_nodes_agree(r->all, why, sizeof(why)))
    sim_violation(r->w, "after all is mended: %s", why);
}

static struct sim_world *log_world;

static void
log_clock(struct timespec *t)
{
  uint64_t ns = log_world ? log_world->now : 0;
  *t = (struct timespec){.tv_sec = (time_t)(ns / SIM_S), .tv_nsec = (long)(ns % SIM_S)};
}

/* True: every rule held. */
static bool
run_seed(uint64_t seed, uint64_t seconds)
{
  struct run r = {.w = sim_world_new(seed), .rng = sim_rng_new(seed, 9ull << 32), .fault_rng = sim_rng_new(seed, 10ull << 32)};
  r.tls = seed % TLS_EACH == 0;
  log_world = r.w;
  gi_log_set_clock(log_clock);
  sim_net_new(r.w);
  r.all = sim_nodes_new(r.w, NODES);
  r.rules = rules_new(r.all);
  for (unsigned i = 0; i < NODES; i++)
    sim_node_start(&r.all->node[i]);
  live(&r, seconds);
  bool good = r.w->violations == 0;
  if (good)
    printf("seed %" PRIu64 ": %" PRIu64 " commands, %" PRIu64 " answered, %" PRIu64 " done; %" PRIu64 " events\n", seed,
           r.commands, r.answered, r.good, r.w->events);
  else
    printf("FAILED seed %" PRIu64 ": %s\n", seed, r.w->violation);
  sim_nodes_free(&r.all);
  fflush(stdout);
  return good;
}

/* Each in a process of its own. */
static unsigned
run_seeds(uint64_t from, uint64_t to, uint64_t seconds, bool first)
{
  unsigned failed = 0;
  for (uint64_t seed = from; seed <= to && !(first && failed); seed++) {
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
      alarm(300);
      _exit(run_seed(seed, seconds) ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    failed += status != 0;
    if (WIFSIGNALED(status))
      printf("FAILED seed %" PRIu64 ": it died of signal %d\n", seed, WTERMSIG(status));
  }
  printf("%u of %" PRIu64 " failed\n", failed, to - from + 1);
  return failed;
}

static void
list_one(const struct gi_probe *m, void *arg)
{
  size_t prefix = strlen(GI_BROKEN_PREFIX);
  if (strncmp(m->name, GI_BROKEN_PREFIX, prefix) == 0)
    printf("%s\n", m->name + prefix);
}

enum { OPT_SEED = 256, OPT_SEEDS, OPT_UNTIL, OPT_BROKEN, OPT_FIRST, OPT_LOG, OPT_LIST };

static const struct option options[] = {
    {"seed", required_argument, NULL, OPT_SEED},   {"seeds", required_argument, NULL, OPT_SEEDS},
    {"until", required_argument, NULL, OPT_UNTIL}, {"broken", required_argument, NULL, OPT_BROKEN},
    {"first", no_argument, NULL, OPT_FIRST},       {"log", required_argument, NULL, OPT_LOG},
    {"list", no_argument, NULL, OPT_LIST},         {0},
};

int
main(int argc, char **argv)
{
  uint64_t from = 1, to = 0, seconds = 60;
  enum gi_log_level level = GI_LOG_NONE;
  bool first = false, many = false, bad = false;
  int opt;
  while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
    switch (opt) {
    case OPT_SEED:
      bad |= sscanf(optarg, "%" SCNu64, &from) != 1;
      to = from;
      break;
    case OPT_SEEDS:
      many = true;
      bad |= sscanf(optarg, "%" SCNu64 "..%" SCNu64, &from, &to) != 2;
      break;
    case OPT_UNTIL:
      bad |= sscanf(optarg, "%" SCNu64, &seconds) != 1;
      break;
    case OPT_BROKEN:
      gi_broken = optarg;
      break;
    case OPT_FIRST:
      first = true;
      break;
    case OPT_LOG:
      bad |= !gi_log_level_parse(optarg, &level);
      break;
    case OPT_LIST:
      gi_probes_foreach(list_one, NULL);
      return 0;
    default:
      bad = true;
    }
  }
  if (bad || from > to) {
    fprintf(stderr,
            "usage: manage --seed N | --seeds A..B [--until SECONDS] [--broken BUG] [--first] [--log LEVEL] [--list]\n");
    return 2;
  }
  gi_log_set_level(level);
  if (many)
    return run_seeds(from, to, seconds, first) ? 1 : 0;
  _exit(run_seed(from, seconds) ? 0 : 1); /* what crashed daemons left is not to be looked for */
}
