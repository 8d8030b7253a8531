/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of every option of cluster/replicate, as the table in
 * set/options.c fills them in. The options of the self-heal have a struct
 * of their own: what heals gets that and nothing else.
 */
#ifndef REP_SET_OPTIONS_H
#define REP_SET_OPTIONS_H

#include "libglusterish/options.h"

/* Each is the index of its word in the table; REP_UNSET where nothing was chosen and there is no default. */
#define REP_UNSET (-1)
enum rep_quorum_type { REP_QUORUM_NONE, REP_QUORUM_AUTO, REP_QUORUM_FIXED };
enum rep_heal_algorithm { REP_HEAL_DIFF, REP_HEAL_FULL }; /* REP_UNSET: decided per file */
enum rep_policy { REP_POLICY_NONE, REP_POLICY_SIZE, REP_POLICY_CTIME, REP_POLICY_MTIME, REP_POLICY_MAJORITY };
enum rep_locking { REP_LOCKING_FULL, REP_LOCKING_GRANULAR };

/* data-self-heal has ten words for yes and no, and "open": use rep_heals_data. */
#define REP_DATA_HEAL_FIRST_OFF 5
#define REP_DATA_HEAL_OPEN 10

/* read-hash-mode */
enum rep_hash_mode {
  REP_HASH_FIRST,
  REP_HASH_GFID,
  REP_HASH_GFID_PID,
  REP_HASH_LEAST_BUSY,
  REP_HASH_LATENCY,
  REP_HASH_BUSY_LATENCY,
};

struct rep_heal_options {
  bool iam_self_heal_daemon; /* this process heals; whatever the volume says about heals by clients is for others */
  char *node_uuid;           /* of this host's management daemon; NULL: not told */
  bool self_heal_daemon;
  int64_t heal_timeout; /* seconds between crawls */
  int64_t shd_max_threads, shd_wait_qlength;
  int64_t background_self_heal_count, heal_wait_queue_length; /* of a client */
  int data_self_heal;                                         /* rep_heals_data */
  bool metadata_self_heal, entry_self_heal;
  int data_self_heal_algorithm;       /* enum rep_heal_algorithm or REP_UNSET */
  int64_t data_self_heal_window_size; /* blocks of 128 KiB */
  uint64_t self_heal_readdir_size;    /* bytes */
  int favorite_child_policy;          /* enum rep_policy */
  bool metadata_splitbrain_forced_heal;
  bool use_anonymous_inode;
};

struct rep_halo_options {
  bool enabled;
  int64_t max_latency, shd_max_latency, nfsd_max_latency; /* milliseconds */
  int64_t max_replicas, min_replicas;
};

struct rep_options {
  char *pending_xattr;
  char *dirty_xattr;
  char *volume_id;
  int64_t arbiter_count;
  bool iam_nfs_daemon;
  int quorum_type; /* enum rep_quorum_type or REP_UNSET */
  int64_t quorum_count;
  char *read_subvolume;
  int64_t read_subvolume_index;
  int64_t read_hash_mode; /* enum rep_hash_mode */
  bool choose_local;
  bool eager_lock, full_lock;
  bool optimistic_change_log;
  bool pre_op_compat;
  bool ensure_durability;
  bool consistent_metadata, consistent_io;
  bool granular_entry_heal;
  int64_t post_op_delay; /* seconds */
  int locking_scheme;    /* enum rep_locking */
  bool inodelk_trace, entrylk_trace;
  struct rep_halo_options halo;
  struct rep_heal_options heal;
  /* obsolete: read by nobody */
  struct {
    bool data_change_log, metadata_change_log, entry_change_log, quorum_reads, use_compound_fops;
    char *strict_readdir, *readdir_failover;
  } gone;
};

extern const struct gi_option rep_option_table[];

static inline bool
rep_heals_data(const struct rep_heal_options *o)
{
  return o->iam_self_heal_daemon || o->data_self_heal < REP_DATA_HEAL_FIRST_OFF || o->data_self_heal == REP_DATA_HEAL_OPEN;
}

static inline bool
rep_heals_metadata(const struct rep_heal_options *o)
{
  return o->iam_self_heal_daemon || o->metadata_self_heal;
}

static inline bool
rep_heals_entries(const struct rep_heal_options *o)
{
  return o->iam_self_heal_daemon || o->entry_self_heal;
}

#endif
