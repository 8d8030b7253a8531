/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated volume: one replica set or several, or bricks without a copy; brick machines, each with a disk and a brick
 * process, and client processes with the client graph as the management daemon
 * writes it. "sim/top" stands at the top of a client's graph where mount/fuse
 * would be.
 */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "tests/simulation/cluster/kept.h"
#include "tests/simulation/cluster/layers.h"
#include "tests/simulation/disk/disk.h"
#include "tests/simulation/world/process.h"

#define SIM_BRICKS 6
#define SIM_CLIENTS 6
#define SIM_SHARD_BYTES (4ull << 20) /* the least that the option allows */
#define SIM_VOLUME "vol"
#define SIM_VOLUME_ID "5f3c1d00-0000-4000-8000-000000000001"
#define SIM_BRICK_DIR "/brick" /* on every machine's disk */

struct sim_cluster_config {
  unsigned bricks, clients;    /* bricks of all sets */
  bool spread;                 /* over several sets, drawn */
  unsigned sets;               /* 0: one */
  bool moves;                  /* a rebalance, again and again */
  bool shard;                  /* files are kept in blocks of SIM_SHARD_BYTES */
  bool healers;                /* a self-heal daemon on every machine */
  bool arbiter;                /* the last of three bricks of a set */
  bool dump;                   /* the state of all processes to stderr when something does not end or heal */
  bool watch;                  /* what bricks are asked and answer, to the log */
  bool near;                   /* bricks can open each other's directories, as if they shared a machine */
  uint32_t foreign;            /* bricks that hide what only ours can do */
  unsigned quorum;             /* so many bricks of a set; 0: more than half, or half with the first (quorum-type auto) */
  bool layers_given;           /* `layers`, and each client begins with all of them; else that is drawn */
  unsigned let_in;             /* operations of a class that a brick lets in at a time; 0: as shipped */
  bool invalidation;           /* bricks tell clients what others changed (features.cache-invalidation) */
  bool strict;                 /* and wait until those have taken it in */
  uint32_t layers;             /* of those for speed: which the volume has, and switches on and off */
  char replicate_options[512]; /* volfile lines */
};

#define SIM_DISK_COUNTS (SIM_FAULTS + 3) /* by sim_fault; then what power losses took, as in struct sim_losses */

static inline unsigned
sim_set_count(const struct sim_cluster_config *c)
{
  return c->sets ? c->sets : 1;
}

/* Bricks of a set, which follow each other. */
static inline unsigned
sim_set_size(const struct sim_cluster_config *c)
{
  return c->bricks / sim_set_count(c);
}

static inline unsigned
sim_set_of(const struct sim_cluster_config *c, unsigned brick)
{
  return brick / sim_set_size(c);
}

/* Those of a set of bricks that belong to a replica set, as a set of its own bricks. */
static inline uint32_t
sim_set_part(const struct sim_cluster_config *c, unsigned set, uint32_t bricks)
{
  return bricks >> (set * sim_set_size(c)) & ((1u << sim_set_size(c)) - 1);
}

static inline bool
sim_is_arbiter(const struct sim_cluster_config *c, unsigned brick)
{
  return c->arbiter && brick % sim_set_size(c) == sim_set_size(c) - 1;
}

/* Not so: each brick is alone. One brick of one set is replicated all the same. */
static inline bool
sim_has_copies(const struct sim_cluster_config *c)
{
  return sim_set_count(c) == 1 || sim_set_size(c) > 1;
}

struct sim_cluster;

struct sim_machine {
  struct sim_cluster *cluster;
  struct sim_process *process;
  struct sim_process *healer; /* NULL: none */
  struct sim_disk *disk;
  struct sim_rng rng; /* of the disk */
  struct gi_fs *view; /* the running brick's; NULL while it is down */
  bool scarred;       /* it lost power, or its disk failed: an object whose last name went may have kept its handle */
  unsigned power_losses;
  uint64_t faults[SIM_DISK_COUNTS]; /* of the disks it had before */
};

struct sim_client {
  struct sim_cluster *cluster;
  unsigned number; /* from 0 */
  struct sim_process *process;
  struct gi_xlator *top;  /* operations are submitted to its child; NULL while down */
  bool up;                /* the graph serves */
  struct sim_rng rng;     /* the workload's */
  unsigned tasks;         /* of the workload, that run */
  unsigned next_task;     /* for a workload that numbers them */
  bool leave;             /* they are to end */
  uint64_t ops, failures; /* answered; with an error */
  uint64_t op_sequence;
  uint64_t lost_by
      [SIM_BRICKS]; /* when it must know that it does not reach the brick; UINT64_MAX: it may reach it (model/quorum.h) */
  bool was_deaf;
  struct sim_layers layers; /* now */
  uint32_t layers_had;      /* by this incarnation, at any time */
  struct sim_kept kept;     /* what its kernel would know */
  uint64_t early, written;  /* writes of this incarnation that were answered early; of which the end was told */
  /* Called on a task of each incarnation, with the graph active. */
  void (*session)(struct sim_client *c);
  void (*setup)(struct sim_client *c); /* of the workload, on a task */
  bool ready;                          /* it has ended */
};

struct sim_cluster {
  struct sim_world *w;
  struct sim_cluster_config config;
  struct sim_model *model;     /* what the workload did; NULL: nobody wants to know */
  struct sim_namespace *names; /* the same of names */
  struct sim_modes *modes;     /* the same of modes */
  struct sim_claims *claims;   /* the same of locks; NULL: none was taken */
  struct sim_process *mover;   /* the rebalance; NULL: none */
  struct sim_lost_times lost_times;
  int leaving;       /* the set that it empties; -1: none */
  unsigned replaced; /* the brick that the administrator announces as new */
  bool announced;
  struct sim_machine machine[SIM_BRICKS];
  struct sim_client client[SIM_CLIENTS];
};

/* Everything down. `w` has its network already (sim_net_new). */
struct sim_cluster *sim_cluster_new(struct sim_world *w, const struct sim_cluster_config *config);
void sim_cluster_free(struct sim_cluster **c);

void sim_cluster_start(struct sim_cluster *c);
/* Everything that is down is started, everything frozen goes on. */
void sim_cluster_repair(struct sim_cluster *c);
/* Ends the sessions of all clients and waits for it at most `ns`. An operation that is not answered then is a violation. */
void sim_cluster_leave(struct sim_cluster *c, uint64_t ns);
/* Ends the clients, then the healers, then the bricks, in order, each within `ns`. What is left then is a violation. */
void sim_cluster_stop(struct sim_cluster *c, uint64_t ns);
/* The sessions of a client begin: now, and again whenever it is started. */
void sim_client_begin(struct sim_client *c, void (*session)(struct sim_client *c));
/* Its layers are others now. It must run. */
void sim_client_reload(struct sim_client *c);
void sim_cluster_dump(const struct sim_cluster *c, FILE *out); /* the state of all processes */
bool sim_cluster_clients_up(const struct sim_cluster *c);

void sim_machine_crash(struct sim_machine *m); /* kill -9 of the brick */
void sim_machine_power_loss(struct sim_machine *m);
/* If it is down. False: it cannot (a faulty disk); process->why. */
bool sim_machine_start(struct sim_machine *m);
bool sim_machine_start_healer(struct sim_machine *m);
/* Adds what happened to its disks. */
void sim_machine_count(const struct sim_machine *m, uint64_t count[SIM_DISK_COUNTS]);
const char *sim_disk_count_name(unsigned i);
/* A new disk with an empty brick of the volume, durable. The brick must be down. */
void sim_machine_format(struct sim_machine *m);

/* volfile.c: what the seed leaves open is drawn; `bricks` 0: their number too. */
void sim_config_draw(struct sim_cluster_config *config, uint64_t seed);
char *sim_brick_volfile(const struct sim_cluster_config *config, unsigned i); /* owned by the caller */
/* `healer` -1: a client's with these layers; else the self-heal daemon's of that machine. */
char *sim_client_volfile(const struct sim_cluster *c, int healer, const struct sim_layers *layers);
char *sim_mover_volfile(const struct sim_cluster *c); /* a rebalance, as c->leaving says */

#endif
