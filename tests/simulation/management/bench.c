/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of bench.h.
 */
#include "tests/simulation/management/bench.h"

#define ANSWER (120 * SIM_S)

void
bench_begin(struct bench *b, unsigned n)
{
  gi_log_set_level(GI_LOG_NONE);
  b->w = sim_world_new(1);
  sim_net_new(b->w);
  b->all = sim_nodes_new(b->w, n);
  for (unsigned i = 0; i < n; i++)
    sim_node_start(&b->all->node[i]);
}

void
bench_end(struct bench *b)
{
  if (b->w->violations)
    fail_msg("%s", b->w->violation);
  sim_nodes_free(&b->all);
  sim_net_free(b->w);
  sim_world_free(&b->w);
}

int
bench_give(struct bench *b, unsigned node, uint32_t proc, const char *text, struct gi_error *err)
{
  struct sim_command *c = sim_command_new(&b->all->node[node], proc, "%s", text);
  sim_command_wait(c, ANSWER);
  if (!c->answered && b->all->node[node].reactor)
    fail_msg("no answer to %s", text);
  int code = c->answered ? c->err.code : -1;
  if (err)
    *err = c->err;
  sim_command_free(&c);
  return code;
}

void
bench_order(struct bench *b, unsigned node, uint32_t proc, const char *text)
{
  struct gi_error err;
  if (bench_give(b, node, proc, text, &err))
    fail_msg("%s: %s", text, err.text);
}

void
bench_pool(struct bench *b, unsigned n)
{
  for (unsigned i = 1; i < n; i++) {
    char text[128], address[16];
    snprintf(text, sizeof(text), "{\"command\":\"peer probe\",\"host\":\"%s\"}", sim_node_address(&b->all->node[i], address));
    bench_order(b, 0, 1, text);
  }
}
