/* SPDX-License-Identifier: Apache-2.0
 *
 * See quorum.h.
 *
 * A client notices at once that a brick's process is gone, for its connection
 * is reset; that a link is broken or a machine has no power it notices when
 * nothing is acknowledged. Both only if the client itself runs. The times
 * here are generous: within them nothing is judged.
 */
#include "tests/simulation/model/quorum.h"

#include <stdarg.h>

#define RESET_NS (2 * SIM_S)    /* from the end of a process to the client's knowing it */
#define SILENCE_NS (60 * SIM_S) /* the same for a link or a machine; longer than any ping timeout */

bool
sim_quorum_met(const struct sim_cluster_config *config, uint32_t bricks)
{
  unsigned have = (unsigned)__builtin_popcount(bricks);
  if (config->quorum)
    return have >= config->quorum;
  return 2 * have > sim_set_size(config) || (2 * have == sim_set_size(config) && (bricks & 1));
}

bool
sim_quorum_stored(const struct sim_cluster_config *config, uint32_t bricks)
{
  return sim_quorum_met(config, config->arbiter ? bricks | 1u << (sim_set_size(config) - 1) : bricks);
}

uint32_t
sim_quorum_outdated(const struct sim_cluster_config *config, const uint32_t accusers[SIM_BRICKS])
{
  uint32_t copies = (1u << (config->bricks - config->arbiter)) - 1, accused = 0, by_quorum = 0;
  for (unsigned b = 0; b < config->bricks; b++) {
    accused |= accusers[b] ? 1u << b : 0;
    by_quorum |= sim_quorum_met(config, accusers[b]) ? 1u << b : 0;
  }
  return copies & ~accused ? accused : by_quorum;
}

void
sim_quorum_done(struct sim_client *c, uint32_t bricks, const char *fmt, ...)
{
  const struct sim_cluster_config *config = &c->cluster->config;
  char what[128];
  va_list ap;
  for (unsigned set = 0; set < sim_set_count(config); set++)
    if (sim_quorum_stored(config, sim_set_part(config, set, bricks)))
      return;
  va_start(ap, fmt);
  vsnprintf(what, sizeof(what), fmt, ap);
  va_end(ap);
  sim_violation(c->cluster->w, "%s: %s was acknowledged, but done on bricks 0x%x only: no quorum", c->process->name, what,
                bricks);
}

/* ---- who reaches whom ---- */

enum reach { REACHED, RESET, SILENT };

static enum reach
reach(const struct sim_client *c, const struct sim_machine *m)
{
  const struct sim_net *net = c->cluster->w->net;
  unsigned a = c->process->host, b = m->process->host;
  if (!sim_net_reaches(net, a, b) || !sim_net_reaches(net, b, a))
    return SILENT;
  return m->process->state == SIM_DOWN ? RESET : REACHED;
}

/* It hears of nothing now, or only of little by little. */
static bool
deaf(const struct sim_client *c)
{
  return c->process->state != SIM_RUNNING || c->cluster->w->net->host[c->process->host].slow;
}

static void
look(struct sim_client *c, unsigned brick)
{
  enum reach how = reach(c, &c->cluster->machine[brick]);
  uint64_t now = c->cluster->w->now, by = now + (how == RESET ? RESET_NS : SILENCE_NS);
  if (how == REACHED)
    c->lost_by[brick] = UINT64_MAX;
  else if (c->was_deaf)
    c->lost_by[brick] = by;
  else if (by < c->lost_by[brick])
    c->lost_by[brick] = by;
}

void
sim_quorum_look(struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.clients; i++) {
    c->client[i].was_deaf |= deaf(&c->client[i]);
    for (unsigned k = 0; k < c->config.bricks; k++)
      look(&c->client[i], k);
    c->client[i].was_deaf = deaf(&c->client[i]);
  }
}

void
sim_quorum_answered(struct sim_client *c, const char *what, uint64_t begin)
{
  uint32_t reached = 0;
  sim_quorum_look(c->cluster);
  for (unsigned i = 0; i < c->cluster->config.bricks; i++)
    if (c->lost_by[i] > begin)
      reached |= 1u << i;
  bool met = false;
  for (unsigned set = 0; set < sim_set_count(&c->cluster->config); set++)
    met |= sim_quorum_met(&c->cluster->config, sim_set_part(&c->cluster->config, set, reached));
  if (!met)
    sim_violation(c->cluster->w, "%s: %s succeeded, though only bricks 0x%x can be reached: no quorum", c->process->name, what,
                  reached);
}
