/* SPDX-License-Identifier: Apache-2.0
 *
 * The volfiles of a simulated replica set, of the layers of which
 * programs/glusterishd/model/volgen.c makes them, and the options a seed draws for
 * them.
 */
#include "tests/simulation/cluster/cluster.h"

#include <stdarg.h>

#define BRICK_PORT 49152
#define STRICT_TIMEOUT_S 9 /* a third is the lease: so long an operation waits for a client that does not answer */

/* ---- what the seed draws ---- */

static void __attribute__((format(printf, 2, 3))) option(struct sim_cluster_config *c, const char *fmt, ...)
{
  size_t len = strlen(c->replicate_options);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(c->replicate_options + len, sizeof(c->replicate_options) - len, fmt, ap);
  va_end(ap);
}

/* Several sets; returns the bricks of each. */
static unsigned
spread(struct sim_cluster_config *c, uint64_t seed)
{
  struct sim_rng rng = sim_rng_new(seed, 8ull << 32);
  bool copies = sim_rng_chance(&rng, 600);
  c->sets = copies ? 2 : (unsigned)sim_rng_between(&rng, 2, 4);
  return copies ? 3 : 1;
}

void
sim_config_draw(struct sim_cluster_config *c, uint64_t seed)
{
  static const uint8_t replica[] = {3, 3, 3, 3, 3, 3, 3, 4, 5, 6};
  static const uint8_t post_op_delay[] = {0, 1, 1, 2};
  struct sim_rng rng = sim_rng_new(seed, 5ull << 32);
  unsigned bricks = replica[sim_rng_below(&rng, GI_ARRAY_LEN(replica))], clients = 2 + sim_rng_chance(&rng, 300);
  bool arbiter = sim_rng_chance(&rng, 150);
  if (c->spread)
    bricks = spread(c, seed);
  c->bricks = c->bricks ? c->bricks : bricks;
  c->clients = c->clients ? c->clients : clients;
  c->arbiter = c->bricks == 3 && arbiter;
  if (sim_rng_chance(&rng, 400)) /* half of the volumes with bricks of GlusterFS have no other */
    c->foreign = sim_rng_chance(&rng, 500) ? (1u << c->bricks) - 1 : (uint32_t)sim_rng_below(&rng, 1u << c->bricks);
  option(c, " option eager-lock %s\n", sim_rng_chance(&rng, 800) ? "on" : "off");
  option(c, " option post-op-delay-secs %u\n", post_op_delay[sim_rng_below(&rng, GI_ARRAY_LEN(post_op_delay))]);
  option(c, " option granular-entry-heal %s\n", sim_rng_chance(&rng, 500) ? "on" : "off");
  option(c, " option data-self-heal-algorithm %s\n", sim_rng_chance(&rng, 500) ? "full" : "diff");
  option(c, " option read-hash-mode %u\n", (unsigned)sim_rng_below(&rng, 6));
  if (sim_rng_chance(&rng, 250)) { /* never so few that two sets of clients could both go on */
    c->quorum = c->bricks / 2 + 1 + (unsigned)sim_rng_below(&rng, 2);
    option(c, " option quorum-type fixed\n option quorum-count %u\n", c->quorum);
  } else {
    option(c, " option quorum-type auto\n");
  }
  if (sim_rng_chance(&rng, 400))
    option(c, " option data-self-heal on\n option metadata-self-heal on\n option entry-self-heal on\n");
  if (c->spread && c->bricks == 1)
    c->quorum = 0;
  c->near = sim_rng_chance(&rng, 500);
  struct sim_rng fast = sim_rng_new(seed, 7ull << 32);
  if (!c->layers_given && sim_rng_chance(&fast, 600))
    c->layers = (uint32_t)((1ull << sim_layers_count()) - 1);
  c->invalidation = c->layers && sim_rng_chance(&fast, 500);
  c->strict = c->invalidation && sim_rng_chance(&fast, 500);
  struct sim_rng narrow = sim_rng_new(seed, 8ull << 32);
  if (sim_rng_chance(&narrow, 250)) /* so few that some wait, also when their client goes */
    c->let_in = 1 + (unsigned)sim_rng_below(&narrow, 3);
  c->bricks *= sim_set_count(c);
  GI_ASSERT(c->bricks <= SIM_BRICKS);
}

/* ---- layers ---- */

static bool
is_there(const struct sim_cluster_config *c, const struct gi_placed *p, bool arbiter, const struct sim_layers *l)
{
  unsigned fast = sim_layer_number(p->cls);
  bool on;
  if (p->layer->arbiter && !arbiter)
    return false;
  if (strcmp(p->cls->type, "features/shard") == 0)
    return c->shard;
  if (l && fast < SIM_LAYERS)
    return l->on >> fast & 1;
  return !p->layer->key || !gi_parse_bool(p->layer->def, &on) || on;
}

/* Writes the layers of one side over `below`, the name of the uppermost into `name`. `l`: a client's; NULL: as by default. */
static void
put_layers(FILE *out, const struct sim_cluster_config *c, unsigned side, const char *below, bool arbiter,
           const struct sim_layers *l, char name[64])
{
  struct gi_placed layer[GI_LAYERS_MAX];
  unsigned count = sim_layers_of(side, layer);
  snprintf(name, 64, "%s", below);
  for (unsigned i = 0; i < count; i++) {
    const char *type = layer[i].cls->type;
    unsigned fast = sim_layer_number(layer[i].cls);
    if (!is_there(c, &layer[i], arbiter, l))
      continue;
    fprintf(out, "volume " SIM_VOLUME "-%s\n type %s\n subvolumes %s\n", gi_layer_name(layer[i].cls), type, name);
    if (strcmp(type, "features/index") == 0)
      fprintf(out,
              " option index-base " SIM_BRICK_DIR "/.glusterfs/indices\n option xattrop-dirty-watchlist trusted.afr.dirty\n"
              " option xattrop-pending-watchlist trusted.afr." SIM_VOLUME "-\n");
    if (strcmp(type, "features/shard") == 0)
      fprintf(out, " option shard-block-size %llu\n", SIM_SHARD_BYTES);
    if (strcmp(type, "features/upcall") == 0)
      fprintf(out,
              " option cache-invalidation %s\n option cache-invalidation-strict %s\n option cache-invalidation-timeout %u\n",
              c->invalidation ? "on" : "off", c->strict ? "on" : "off", c->strict ? STRICT_TIMEOUT_S : 60);
    if (side == GI_SIDE_BRICK && c->let_in && strcmp(type, "performance/io-threads") == 0)
      fprintf(out,
              " option high-prio-threads %u\n option normal-prio-threads %u\n option low-prio-threads %u\n"
              " option least-prio-threads %u\n",
              c->let_in, c->let_in, c->let_in, c->let_in);
    fprintf(out, "%send-volume\n", l && fast < SIM_LAYERS ? l->option[fast] : "");
    snprintf(name, 64, SIM_VOLUME "-%s", gi_layer_name(layer[i].cls));
  }
}

/* ---- bricks ---- */

char *
sim_brick_volfile(const struct sim_cluster_config *c, unsigned i)
{
  char *text = NULL, top[64];
  size_t len;
  FILE *out = open_memstream(&text, &len);
  fprintf(out,
          "volume vol-posix\n type storage/posix\n option directory " SIM_BRICK_DIR "\n option volume-id " SIM_VOLUME_ID
          "\n option shared-brick-count 1\n option hostname brick-%u\nend-volume\n",
          i);
  put_layers(out, c, GI_SIDE_BRICK, "vol-posix", sim_is_arbiter(c, i), NULL, top);
  fprintf(out,
          "volume brick-%u\n type debug/trace\n option log-file %s\n subvolumes %s\nend-volume\n"
          "volume " SIM_BRICK_DIR "\n type debug/io-stats\n option unique-id " SIM_BRICK_DIR
          "\n option volume-id " SIM_VOLUME_ID "\n subvolumes brick-%u\nend-volume\n"
          "volume vol-server\n type protocol/server\n option listen-port %d\n option auth-path " SIM_BRICK_DIR "\n"
          " option auth.addr." SIM_BRICK_DIR ".allow *\n option transport-type tcp\n subvolumes " SIM_BRICK_DIR
          "\nend-volume\n",
          i, c->watch ? "yes" : "no", top, i, BRICK_PORT);
  fclose(out);
  return text;
}

/* ---- clients and healers ---- */

static void
put_client(FILE *out, const struct sim_cluster *c, unsigned i)
{
  char address[16];
  bool foreign = c->config.foreign >> i & 1;
  fprintf(out,
          "volume vol-client-%u%s\n type protocol/client\n option remote-host %s\n option remote-port %d\n"
          " option remote-subvolume " SIM_BRICK_DIR "\n option transport-type tcp\n option send-gids true\nend-volume\n",
          i, foreign ? "-wire" : "", sim_net_host_address(c->machine[i].process->host, address), BRICK_PORT);
  if (foreign)
    fprintf(out, "volume vol-client-%u\n type sim/foreign\n subvolumes vol-client-%u-wire\nend-volume\n", i, i);
}

static void
put_replicate(FILE *out, const struct sim_cluster *c, unsigned set, int healer)
{
  unsigned size = sim_set_size(&c->config), first = set * size;
  fprintf(out,
          "volume vol-replicate-%u\n type cluster/replicate\n option volume-id " SIM_VOLUME_ID "\n option afr-pending-xattr ",
          set);
  for (unsigned i = first; i < first + size; i++)
    fprintf(out, "%svol-client-%u", i > first ? "," : "", i);
  fprintf(out, "\n%s", c->config.replicate_options);
  if (c->config.arbiter)
    fprintf(out, " option arbiter-count 1\n");
  if (healer >= 0)
    fprintf(out,
            " option iam-self-heal-daemon yes\n option self-heal-daemon enable\n option heal-timeout 60\n option node-uuid "
            "brick-%d\n",
            healer);
  fprintf(out, " subvolumes");
  for (unsigned i = first; i < first + size; i++)
    fprintf(out, " vol-client-%u", i);
  fprintf(out, "\nend-volume\n");
}

static void
put_distribute(FILE *out, const struct sim_cluster *c, const char *options)
{
  fprintf(out, "volume vol-dht\n type cluster/distribute\n%s subvolumes", options);
  for (unsigned i = 0; i < sim_set_count(&c->config); i++)
    fprintf(out, " vol-%s-%u", sim_has_copies(&c->config) ? "replicate" : "client", i);
  fprintf(out, "\nend-volume\n");
}

char *
sim_client_volfile(const struct sim_cluster *c, int healer, const struct sim_layers *layers)
{
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  unsigned mine = healer < 0 ? 0 : sim_set_of(&c->config, (unsigned)healer), size = sim_set_size(&c->config);
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (healer < 0 || i / size == mine)
      put_client(out, c, i);
  for (unsigned set = 0; set < sim_set_count(&c->config) && sim_has_copies(&c->config); set++)
    if (healer < 0 || set == mine)
      put_replicate(out, c, set, healer);
  if (healer >= 0) {
    fprintf(out, "volume glustershd\n type debug/io-stats\n subvolumes vol-replicate-%u\nend-volume\n", mine);
  } else {
    char top[64];
    put_distribute(out, c, "");
    put_layers(out, &c->config, GI_SIDE_CLIENT, "vol-dht", false, layers, top);
    fprintf(out,
            "volume vol\n type debug/io-stats\n subvolumes %s\nend-volume\n"
            "volume top\n type sim/top\n subvolumes vol\nend-volume\n",
            top);
  }
  fclose(out);
  return text;
}

char *
sim_mover_volfile(const struct sim_cluster *c)
{
  char *text = NULL, options[128] = "";
  size_t len;
  FILE *out = open_memstream(&text, &len);
  for (unsigned i = 0; i < c->config.bricks; i++)
    put_client(out, c, i);
  for (unsigned set = 0; set < sim_set_count(&c->config) && sim_has_copies(&c->config); set++)
    put_replicate(out, c, set, -1);
  if (c->leaving >= 0)
    snprintf(options, sizeof(options), " option decommissioned-bricks vol-%s-%d\n",
             sim_has_copies(&c->config) ? "replicate" : "client", c->leaving);
  strcat(options, " option rebalance-cmd 1\n");
  put_distribute(out, c, options);
  fprintf(out, "volume vol\n type debug/io-stats\n subvolumes vol-dht\nend-volume\n");
  fclose(out);
  return text;
}
