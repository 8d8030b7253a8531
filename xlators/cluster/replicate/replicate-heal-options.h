/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of the self-heal and of retired features: checked, kept with the
 * volume and written to volfiles, so that a volume carries its settings, a
 * GlusterFS client or self-heal daemon that reads them acts on them, and ours
 * can. Nothing in this translator reads them yet; their texts say so.
 */
#ifndef REPLICATE_HEAL_OPTIONS_H
#define REPLICATE_HEAL_OPTIONS_H

#include "libglusterish/options.h"

struct rep_heal_options {
  int64_t background_self_heal_count;
  bool data_change_log;
  char *data_self_heal;
  char *data_self_heal_algorithm;
  bool entry_change_log;
  bool entry_self_heal;
  char *favorite_child_policy;
  bool full_lock;
  bool halo_enabled;
  int64_t halo_max_latency;
  int64_t halo_max_replicas;
  int64_t halo_min_replicas;
  int64_t halo_nfsd_max_latency;
  int64_t halo_shd_max_latency;
  int64_t heal_wait_queue_length;
  char *locking_scheme;
  bool metadata_change_log;
  bool metadata_self_heal;
  bool quorum_reads;
  char *readdir_failover;
  bool self_heal_daemon;
  uint64_t self_heal_readdir_size;
  int64_t data_self_heal_window_size;
  int64_t shd_max_threads;
  int64_t shd_wait_qlength;
  char *strict_readdir;
  bool use_anonymous_inode;
  bool use_compound_fops;
};

static const char *const rep_words_data_self_heal[] = {"1", "on", "yes", "true", "enable", "0", "off", "no", "false", "disable", "open", NULL};
static const char *const rep_words_data_self_heal_algorithm[] = {"diff", "full", NULL};
static const char *const rep_words_favorite_child_policy[] = {"none", "size", "ctime", "mtime", "majority", NULL};
static const char *const rep_words_locking_scheme[] = {"full", "granular", NULL};

#define REP_HEAL(member) .offset = offsetof(struct rep_options, heal.member)

/* clang-format off */
#define REP_HEAL_OPTIONS \
  {.name = "background-self-heal-count", .key = "cluster.background-self-heal-count", .type = GI_OPT_INT, REP_HEAL(background_self_heal_count), .def = "8", .min = 0, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 1, .since = "0.1", \
   .text = "How many heals a client may run in the background at once. Kept with the volume; this version does not act on it."}, \
  {.name = "data-change-log", .key = "cluster.data-change-log", .type = GI_OPT_BOOL, REP_HEAL(data_change_log), .def = "on", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1", \
   .text = "Obsolete: keep pending counters for data operations. Kept with the volume; it has no effect."}, \
  {.name = "data-self-heal", .key = "cluster.data-self-heal", .type = GI_OPT_STR, REP_HEAL(data_self_heal), .def = "off", .words = rep_words_data_self_heal, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 1, .since = "0.1", \
   .text = "Let client mounts heal file data on access. Kept with the volume; this version does not act on it."}, \
  {.name = "data-self-heal-algorithm", .key = "cluster.data-self-heal-algorithm", .type = GI_OPT_STR, REP_HEAL(data_self_heal_algorithm), .words = rep_words_data_self_heal_algorithm, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 1, .since = "0.1", \
   .text = "Copy whole files (full), only differing blocks by checksum (diff), or decide per file when unset. Kept with the volume; this version does not act on it."}, \
  {.name = "entry-change-log", .key = "cluster.entry-change-log", .type = GI_OPT_BOOL, REP_HEAL(entry_change_log), .def = "on", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1", \
   .text = "Obsolete: keep pending counters for entry operations. Kept with the volume; it has no effect."}, \
  {.name = "entry-self-heal", .key = "cluster.entry-self-heal", .type = GI_OPT_BOOL, REP_HEAL(entry_self_heal), .def = "off", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 1, .since = "0.1", \
   .text = "Let client mounts heal directory entries on access. Kept with the volume; this version does not act on it."}, \
  {.name = "favorite-child-policy", .key = "cluster.favorite-child-policy", .type = GI_OPT_STR, REP_HEAL(favorite_child_policy), .def = "none", .words = rep_words_favorite_child_policy, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 30712, .since = "0.1", \
   .text = "Automatic split-brain winner: by size, ctime, mtime, majority of both, or none. Kept with the volume; this version does not act on it."}, \
  {.name = "full-lock", .key = "cluster.full-lock", .type = GI_OPT_BOOL, REP_HEAL(full_lock), .def = "yes", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 31302, .since = "0.1", \
   .text = "Lock whole files during data operations instead of ranges. Kept with the volume; this version does not act on it."}, \
  {.name = "halo-enabled", .key = "cluster.halo-enabled", .type = GI_OPT_BOOL, REP_HEAL(halo_enabled), .def = "False", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 31100, .since = "0.1", \
   .text = "Latency based replica membership. Kept with the volume; this version does not act on it."}, \
  {.name = "halo-max-latency", .key = "cluster.halo-max-latency", .type = GI_OPT_INT, REP_HEAL(halo_max_latency), .def = "5", .min = 1, .max = 99999, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 31100, .since = "0.1", \
   .text = "Latency limit in ms for clients. Kept with the volume; this version does not act on it."}, \
  {.name = "halo-max-replicas", .key = "cluster.halo-max-replicas", .type = GI_OPT_INT, REP_HEAL(halo_max_replicas), .def = "99999", .min = 1, .max = 99999, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 31100, .since = "0.1", \
   .text = "Most replicas kept active. Kept with the volume; this version does not act on it."}, \
  {.name = "halo-min-replicas", .key = "cluster.halo-min-replicas", .type = GI_OPT_INT, REP_HEAL(halo_min_replicas), .def = "2", .min = 1, .max = 99999, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 31100, .since = "0.1", \
   .text = "Least replicas kept active. Kept with the volume; this version does not act on it."}, \
  {.name = "halo-nfsd-max-latency", .key = "cluster.halo-nfsd-max-latency", .type = GI_OPT_INT, REP_HEAL(halo_nfsd_max_latency), .def = "5", .min = 1, .max = 99999, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 31100, .since = "0.1", \
   .text = "Latency limit in ms for the retired NFS server. Kept with the volume; it has no effect."}, \
  {.name = "halo-shd-max-latency", .key = "cluster.halo-shd-max-latency", .type = GI_OPT_INT, REP_HEAL(halo_shd_max_latency), .def = "99999", .min = 1, .max = 99999, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 31100, .since = "0.1", \
   .text = "Latency limit in ms for the self-heal daemon. Kept with the volume; this version does not act on it."}, \
  {.name = "heal-wait-queue-length", .key = "cluster.heal-wait-queue-length", .type = GI_OPT_INT, REP_HEAL(heal_wait_queue_length), .def = "128", .min = 0, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 30710, .since = "0.1", \
   .text = "How many heals may wait in a client behind the running ones. Kept with the volume; this version does not act on it."}, \
  {.name = "locking-scheme", .key = "cluster.locking-scheme", .type = GI_OPT_STR, REP_HEAL(locking_scheme), .def = "full", .words = rep_words_locking_scheme, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 30712, .since = "0.1", \
   .text = "Heal locks whole files (full) or block ranges (granular). Kept with the volume; this version does not act on it."}, \
  {.name = "metadata-change-log", .key = "cluster.metadata-change-log", .type = GI_OPT_BOOL, REP_HEAL(metadata_change_log), .def = "on", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1", \
   .text = "Obsolete: keep pending counters for metadata operations. Kept with the volume; it has no effect."}, \
  {.name = "metadata-self-heal", .key = "cluster.metadata-self-heal", .type = GI_OPT_BOOL, REP_HEAL(metadata_self_heal), .def = "off", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 1, .since = "0.1", \
   .text = "Let client mounts heal metadata on access. Kept with the volume; this version does not act on it."}, \
  {.name = "quorum-reads", .key = "cluster.quorum-reads", .type = GI_OPT_BOOL, REP_HEAL(quorum_reads), .def = "no", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 30700, .since = "0.1", \
   .text = "Refuse reads without quorum (obsolete, reads always need quorum). Kept with the volume; it has no effect."}, \
  {.name = "readdir-failover", .key = "cluster.readdir-failover", .type = GI_OPT_STR, REP_HEAL(readdir_failover), \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 2, .since = "0.1", \
   .text = "Obsolete, ignored. Kept with the volume; it has no effect."}, \
  {.name = "self-heal-daemon", .key = "cluster.self-heal-daemon", .type = GI_OPT_BOOL, REP_HEAL(self_heal_daemon), .def = "on", \
   .live = true, .side = GI_SIDE_SHD, .level = 1, .op_version = 1, .since = "0.1", \
   .text = "Run the self-heal daemon for this replica volume. Kept with the volume; this version does not act on it."}, \
  {.name = "self-heal-readdir-size", .key = "cluster.self-heal-readdir-size", .type = GI_OPT_SIZE, REP_HEAL(self_heal_readdir_size), .def = "1KB", .min = 1024, .max = 131072, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 2, .since = "0.1", \
   .text = "Buffer size for listing directories during entry heal. Kept with the volume; this version does not act on it."}, \
  {.name = "data-self-heal-window-size", .key = "cluster.self-heal-window-size", .type = GI_OPT_INT, REP_HEAL(data_self_heal_window_size), .def = "8", .min = 1, .max = 1024, \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1", \
   .text = "Number of 128 KiB blocks per round of data heal. Kept with the volume; this version does not act on it."}, \
  {.name = "shd-max-threads", .key = "cluster.shd-max-threads", .type = GI_OPT_INT, REP_HEAL(shd_max_threads), .def = "1", .min = 1, .max = 64, \
   .live = true, .side = GI_SIDE_SHD, .level = 1, .op_version = 30712, .since = "0.1", \
   .text = "Parallel heals per replica set in the self-heal daemon. Kept with the volume; this version does not act on it."}, \
  {.name = "shd-wait-qlength", .key = "cluster.shd-wait-qlength", .type = GI_OPT_INT, REP_HEAL(shd_wait_qlength), .def = "1024", .min = 1, .max = 655536, \
   .live = true, .side = GI_SIDE_SHD, .level = 2, .op_version = 30712, .since = "0.1", \
   .text = "Heals that may wait in the self-heal daemon. Kept with the volume; this version does not act on it."}, \
  {.name = "strict-readdir", .key = "cluster.strict-readdir", .type = GI_OPT_STR, REP_HEAL(strict_readdir), \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1", \
   .text = "Obsolete, ignored. Kept with the volume; it has no effect."}, \
  {.name = "use-anonymous-inode", .key = "cluster.use-anonymous-inode", .type = GI_OPT_BOOL, REP_HEAL(use_anonymous_inode), .def = "yes", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 90000, .since = "0.1", \
   .text = "Use a hidden directory to keep renamed directories during entry heal. Kept with the volume; this version does not act on it."}, \
  {.name = "use-compound-fops", .key = "cluster.use-compound-fops", .type = GI_OPT_BOOL, REP_HEAL(use_compound_fops), .def = "off", \
   .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 30804, .since = "0.1", \
   .text = "Obsolete, ignored. Kept with the volume; it has no effect."}, \

/* clang-format on */

#endif
