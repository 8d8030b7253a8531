/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients wrote, kept outside of the cluster, to judge what they read.
 *
 * A file of the model is a row of sectors of 512 bytes, each a register: every
 * sector of a write carries file, sector, writer and number of the write, and a
 * checksum, so that whatever is read names the write it came from. A write has
 * begun at one moment and was answered at another, or never; an answered
 * failure may have happened all the same, now or later (a heal may choose it).
 *
 * A value is stale if another write began after it was answered, succeeded, and
 * was answered before the read began: before the file was opened for the read, if
 * another client wrote it. (Which copies are good is learnt by lookup and stays
 * valid until a brick comes or goes, replicate.md 5.1; a client that reaches a
 * brick which the writer does not reach may meanwhile read from that.) What a
 * machine may lose with its power is what was not synced; a disk when a sync
 * fails, if too few others have it or an application was told; whatever else
 * happens excuses nothing. What a disk loses is told to the writer, by the next
 * sync at the latest.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "tests/simulation/cluster/cluster.h"

#define SIM_SECTOR_BYTES 512u
#define SIM_MODEL_FILES 16
#define SIM_MODEL_SECTORS 256 /* per file */

#define SIM_WRITE_SECTORS 128 /* at most, at a time */

struct sim_model;

struct sim_model_stats {
  uint64_t writes, syncs, reads, sectors;
};

struct sim_model *sim_model_new(struct sim_world *w);
/* Syncs are of what their own client has written, as of files in blocks; else of all that anybody has. */
void sim_model_own_syncs(struct sim_model *m);
void sim_model_free(struct sim_model **m);
const struct sim_model_stats *sim_model_stats(const struct sim_model *m);

/* A write of `n` sectors begins: fills `data`, and gives its number. */
uint64_t sim_model_write(struct sim_model *m, unsigned writer, unsigned file, unsigned sector, unsigned n, uint8_t *data);
/* It was answered. `error` 0: all of it was stored. */
void sim_model_written(struct sim_model *m, uint64_t number, int error);
/* It was answered with success, before any brick need have it. */
void sim_model_written_early(struct sim_model *m, uint64_t number);
/* A sync, close or unlock of a file by that writer, which began at that moment, succeeded: what it wrote before is out. Calls judge for
 * each that was answered early with the bricks that have had all of it, but what the writer itself has written over since. */
typedef void sim_out_fn(void *arg, uint64_t number, uint32_t bricks);
void sim_model_out(struct sim_model *m, unsigned writer, unsigned file, uint64_t begin, sim_out_fn *judge, void *arg);
/* One failed: nobody knows what became of those answered early. */
void sim_model_not_out(struct sim_model *m, unsigned writer, unsigned file);

/* Which object a file is. */
void sim_model_file_is(struct sim_model *m, unsigned file, const struct gi_gfid *gfid);
/* Writes of that object by a writer that were answered early are lost; how often that happened to a file. */
void sim_model_early_lost(struct sim_model *m, unsigned writer, const struct gi_gfid *gfid);
uint64_t sim_model_losses(const struct sim_model *m, unsigned writer, unsigned file);
/* The moment when the last of what is lost had been answered; 0: nothing is. An error that a descriptor was told after it covers it. */
uint64_t sim_model_lost_end(const struct sim_model *m, unsigned writer, unsigned file);

uint64_t sim_model_now(struct sim_model *m); /* a moment of its own */

/* A brick stores a sector that begins with these bytes; on which bricks all of a write has been stored at some time. */
void sim_model_stored(struct sim_model *m, unsigned brick, const uint8_t head[SIM_SECTOR_HEAD]);
uint32_t sim_model_copies(const struct sim_model *m, uint64_t number);

/* A sync of a file by that writer, which began at that moment, succeeded. It may not if a write of its own was lost since one failed. */
void sim_model_synced(struct sim_model *m, unsigned writer, unsigned file, uint64_t begin);
/* A writer starts anew: of what it wrote before, nobody is left to be told. */
void sim_model_writer_anew(struct sim_model *m, unsigned writer);

/* A write that was answered with success was to be synced with it. */
void sim_model_written_synced(struct sim_model *m, uint64_t number);

/* A sync of a file failed, and the application was told: what some disk could not sync, or cannot later, may be gone. */
void sim_model_sync_failed(struct sim_model *m, unsigned file);

/* A machine lost its power: what was written and not synced may be gone. */
void sim_model_power_loss(struct sim_model *m);
/* What is left of a write, judged from outside, if only these bricks have it. */
enum sim_left { SIM_LEFT_NOWHERE, SIM_LEFT_ON_FEW, SIM_LEFT };
typedef enum sim_left sim_left_fn(void *arg, unsigned file, unsigned sector, uint32_t bricks);
/* A brick's disk could not sync a sector that begins with these bytes: what it is of may be gone, unless it was synced, or it is left and
 * no sync of it has failed. */
void sim_model_lost(struct sim_model *m, unsigned brick, const uint8_t head[SIM_SECTOR_HEAD], sim_left_fn *judge, void *arg);

struct sim_reader {
  const char *name; /* for messages */
  unsigned number;  /* what this writer wrote counts up to `begin`, what others wrote up to `opened` */
  uint64_t opened;  /* when the file was looked up */
  uint64_t begin;   /* when the read began */
};

/* A read ended with `len` bytes from a sector on (short: the file ends there). */
void sim_model_check(struct sim_model *m, const struct sim_reader *reader, unsigned file, unsigned sector, unsigned n,
                     const uint8_t *data, size_t len);

/* An answer told the size of the file, which is never cut: not less than what counts for that reader, nor more than anybody has begun to
 * write. */
void sim_model_check_size(struct sim_model *m, const struct sim_reader *reader, unsigned file, uint64_t size);

#endif
