/* SPDX-License-Identifier: Apache-2.0
 *
 * A file system on a simulated disk. The disk belongs to a machine; a process
 * reaches it through a view (struct gi_fs, libglusterish/fs.h), and the
 * translators that keep files run on it as they are.
 *
 * What a process sees is the page cache; what survives a power loss is less.
 * The model is ext4 with data=ordered, and a little unkinder:
 *
 *   names, attributes and sizes   go through one journal, in order, each call
 *                                 whole or not at all; a power loss keeps a
 *                                 random prefix of what was not committed;
 *   fsync                         makes the data of the file durable and
 *                                 commits the journal if it holds anything
 *                                 about that inode (data only: about its size);
 *   data not synced               each page may be kept, lost or torn at 512
 *                                 bytes; a size may survive without its data,
 *                                 which then reads as zeroes.
 *
 * A crash of a process loses nothing: drop its view.
 *
 * No thread safety: use a reactor without worker threads, or a simulated one.
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "libglusterish/fs.h"
#include "libglusterish/types.h"

#include <limits.h>
#include <stdio.h>

struct sim_disk;

/* Faults: each is drawn per call with its own rate. */
enum sim_fault {
  SIM_FAULT_READ,       /* EIO from a read */
  SIM_FAULT_WRITE,      /* EIO from a write, nothing written */
  SIM_FAULT_SHORT,      /* a write is cut short */
  SIM_FAULT_FSYNC,      /* EIO from fsync; a power loss loses the dirty data even if a later fsync succeeds */
  SIM_FAULT_SPACE,      /* ENOSPC from a write or fallocate */
  SIM_FAULT_NAME,       /* EIO from a call that changes names */
  SIM_FAULT_NAME_SPACE, /* ENOSPC from a call that makes a name */
  SIM_FAULT_ATTR,       /* EIO from a call that changes attributes */
  SIM_FAULT_ATTR_SPACE, /* ENOSPC from setxattr */
  SIM_FAULT_COLD,       /* a read that must not wait finds nothing in memory */
  SIM_FAULT_SLOW,       /* gi_fs_busy says yes: the caller hands over to a worker */
  SIM_FAULT_WRITE_OUT, /* the disk refuses a write-out: the data is lost as after a failed fsync, each open file is told once */
  SIM_FAULT_DSYNC,     /* EIO from a write through a descriptor opened O_DSYNC; the page cache has the data */
  SIM_FAULTS,
};

#define SIM_SECTOR_HEAD 32u

struct sim_disk_config {
  uint64_t (*random)(void *arg); /* every choice comes from here */
  uint64_t (*now)(void *arg);    /* virtual wall clock in ns: the times of files, and the age of the journal */
  /* Called for each whole sector of 512 bytes that is written, with its offset; may be NULL. */
  void (*written)(void *arg, const uint8_t head[SIM_SECTOR_HEAD]);
  /* Called for each range that a failed fsync or write-out lost; may be NULL. */
  void (*lost)(void *arg, const uint8_t head[SIM_SECTOR_HEAD]);
  struct sim_disk *(*neighbour)(void *arg,
                                unsigned machine); /* disks whose directories this one can open (gi_fs_where); may be NULL */
  unsigned machine;                                /* the number of this one there */
  void *arg;                                       /* of all */
  bool coarse_cookies;                             /* of directories: the lowest bits are zero */
  uint64_t capacity;                               /* bytes of data; 0 = 1 GiB */
};

/* An empty disk with a root directory. */
struct sim_disk *sim_disk_new(const struct sim_disk_config *config);
void sim_disk_free(struct sim_disk **d); /* all views must be gone */

/* ---- views ---- */

/* A process's view. The disk must outlive it. */
struct gi_fs *sim_disk_view(struct sim_disk *d);
/* The process has ended or crashed: its descriptors close. NULL is fine. */
void sim_view_free(struct gi_fs **fs);
unsigned sim_view_open_files(const struct gi_fs *fs); /* to look for leaks */
/* mkdir -p, durable at once: the brick directories of a fresh machine. 0 or errno. */
int sim_disk_make_dir(struct sim_disk *d, const char *path);

/* ---- crashes ---- */

/* Power fails and comes back. No view may be left. */
void sim_disk_power_loss(struct sim_disk *d);
/* Everything becomes durable, as by sync(2). */
void sim_disk_sync(struct sim_disk *d);
/* Before the `calls`-th changing call from now (1 = the next) the disk stops: that call and all later ones, reads too, fail with EIO
 * and change nothing. `stopped` is called once, from inside that call: it may only note that the process is dead. 0 = never. */
void sim_disk_stop_after(struct sim_disk *d, uint64_t calls, void (*stopped)(void *arg), void *arg);
bool sim_disk_stopped(const struct sim_disk *d);
void sim_disk_resume(struct sim_disk *d);            /* for the next process */
uint64_t sim_disk_changes(const struct sim_disk *d); /* changing calls so far */

/* ---- faults ---- */

const char *sim_fault_name(enum sim_fault fault);
void sim_disk_set_fault(struct sim_disk *d, enum sim_fault fault, uint32_t per_million);
void sim_disk_set_faults(struct sim_disk *d, uint32_t per_million); /* all up to SIM_FAULT_ATTR_SPACE */
uint64_t sim_disk_fault_count(const struct sim_disk *d, enum sim_fault fault);
/* What power losses took back: calls on names, attributes and sizes; whole pages; pages of which some sectors survived. */
struct sim_losses {
  uint64_t calls, pages, torn;
};
struct sim_losses sim_disk_losses(const struct sim_disk *d);
/* EROFS from every changing call, as after errors=remount-ro. */
void sim_disk_set_read_only(struct sim_disk *d, bool read_only);

/* ---- looking at it, without a view, faults or effects ---- */

/* True if brick directories `a_path` on `a` and `b_path` on `b` hold the same volume: names, types, gfids, content, mode, owner and
 * xattrs except those replicas may differ in (replicate.md 7.4); and in each every object with a gfid has its handle and every
 * handle its names. Else the first difference in words is in `why`. */
bool sim_disk_same(struct sim_disk *a, const char *a_path, struct sim_disk *b, const char *b_path, char *why, size_t len);
/* Times of last changes that brick processes had not written yet when they were killed (storage/posix, "Times"). */
struct sim_lost_time {
  struct gi_gfid gfid;
  struct gi_time mtime;
};
struct sim_lost_times {
  struct sim_lost_time *time;
  size_t count, room;
};
void sim_lost_times_add(struct sim_lost_times *l, const struct gi_gfid *gfid, const struct gi_time *mtime);
void sim_lost_times_free(struct sim_lost_times *l);

/* The same, except for what `but` names, and for copies of which the later time is in `lost` (NULL: none). */
enum {
  SIM_BUT_CONTENT = 1, /* one of them is an arbiter's */
  SIM_BUT_MTIME = 2,   /* the times of the last change differ */
};
bool sim_disk_same_but(struct sim_disk *a, const char *a_path, struct sim_disk *b, const char *b_path, unsigned but,
                       const struct sim_lost_times *lost, char *why, size_t len);
/* Only the second half of it: handles and names of one brick are one to one. */
bool sim_disk_sound(struct sim_disk *d, const char *path, char *why, size_t len);
/* The same, but a directory's handle may exist without the directory, as a crash can leave it: nobody takes it for a directory, and
 * the next directory of that gfid replaces it. sim_disk_same allows it too. */
bool sim_disk_sound_after_crash(struct sim_disk *d, const char *path, char *why, size_t len);
/* The gfid of the object at a path; false: there is none, or it has none. */
bool sim_disk_gfid(struct sim_disk *d, const char *path, struct gi_gfid *gfid);
/* Nothing waits to be healed: the heal indices are empty and all counters of replication are zero. */
bool sim_disk_clean(struct sim_disk *d, const char *path, char *why, size_t len);
/* Only the first half: the heal indices are empty. */
bool sim_disk_indices_empty(struct sim_disk *d, const char *path, char *why, size_t len);
/* Whether the file at a path says, in that counter (trusted.afr.…), that another copy lacks data. */
bool sim_disk_accuses(struct sim_disk *d, const char *path, const char *counter);
/* Everything below a directory as text: one line per object, then its xattrs. */
void sim_disk_dump(struct sim_disk *d, const char *path, FILE *out);

#endif
