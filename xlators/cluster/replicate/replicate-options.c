/* SPDX-License-Identifier: Apache-2.0
 *
 * The option table of cluster/replicate: the names, limits and texts of what
 * replicate-options.h holds.
 */
#include "replicate.h"

#include <math.h>

static const char *const quorum_words[] = {"none", "auto", "fixed", NULL};
static const char *const algorithm_words[] = {"diff", "full", NULL};
static const char *const policy_words[] = {"none", "size", "ctime", "mtime", "majority", NULL};
static const char *const locking_words[] = {"full", "granular", NULL};
static const char *const data_heal_words[] = {"1",  "on",    "yes",     "true", "enable", "0",
                                              "off", "no", "false", "disable", "open", NULL};

#define OPT(member) .offset = offsetof(struct rep_options, member)

const struct gi_option rep_option_table[] = {
    /* ---- written by volfile generation ---- */
    {.name = "afr-pending-xattr", .type = GI_OPT_STR, OPT(pending_xattr), .live = true, .level = 3, .since = "0.1",
     .text = "Comma separated names of the children as they appear in the changelog attributes, in the order of the "
             "subvolumes."},
    {.name = "afr-dirty-xattr", .type = GI_OPT_STR, OPT(dirty_xattr), .def = "trusted.afr.dirty", .level = 3, .since = "0.1",
     .text = "Name of the attribute that counts operations begun and not yet accounted for."},
    {.name = "volume-id", .type = GI_OPT_STR, OPT(volume_id), .level = 3, .since = "0.1",
     .text = "Identity of the volume; the hidden directory of the self-heal is named after it."},
    {.name = "arbiter-count", .type = GI_OPT_INT, OPT(arbiter_count), .def = "0", .min = 0, .max = 1, .live = true, .level = 3,
     .since = "0.1",
     .text = "Number of children that keep names and attributes but no data: the last of three, or none."},
    {.name = "iam-self-heal-daemon", .type = GI_OPT_BOOL, OPT(heal.iam_self_heal_daemon), .def = "off", .level = 3,
     .since = "0.1",
     .text = "This process is the self-heal daemon: it heals whatever the settings for clients are."},
    {.name = "iam-nfs-daemon", .type = GI_OPT_BOOL, OPT(iam_nfs_daemon), .def = "off", .level = 3, .since = "0.1",
     .text = "This process serves NFS; halo-nfsd-max-latency applies to it."},
    {.name = "node-uuid", .type = GI_OPT_STR, OPT(heal.node_uuid), .level = 3, .since = "0.1",
     .text = "Identity of the host's management daemon; the self-heal daemon crawls the bricks that are on that host."},

    /* ---- quorum ---- */
    {.name = "quorum-type", .key = "cluster.quorum-type", .type = GI_OPT_ENUM, OPT(quorum_type), .words = quorum_words,
     .live = true, .level = 1, .op_version = 1, .since = "0.1",
     .text = "How many children must take part for an operation to succeed: none (one), auto (more than half, or half with "
             "the first child) or fixed (quorum-count). With three or more children an unset option means auto."},
    {.name = "quorum-count", .key = "cluster.quorum-count", .type = GI_OPT_INT, OPT(quorum_count), .min = 1, .max = REP_MAX,
     .live = true, .level = 2, .op_version = 1, .since = "0.1",
     .text = "Number of children that must take part when quorum-type is fixed."},
    {.name = "consistent-io", .type = GI_OPT_BOOL, OPT(consistent_io), .def = "no", .live = true, .level = 3, .since = "0.1",
     .text = "For test rigs: operations fail while any child is down, and those under way when one goes or comes."},

    /* ---- reading ---- */
    {.name = "read-subvolume", .key = "cluster.read-subvolume", .type = GI_OPT_STR, OPT(read_subvolume), .live = true,
     .level = 2, .op_version = 1, .since = "0.1",
     .text = "Name of the child to read from whenever its copy is good."},
    {.name = "read-subvolume-index", .key = "cluster.read-subvolume-index", .type = GI_OPT_INT, OPT(read_subvolume_index),
     .def = "-1", .live = true, .level = 3, .op_version = 2, .since = "0.1",
     .text = "Index of the child to read from whenever its copy is good; -1 for none."},
    {.name = "read-hash-mode", .key = "cluster.read-hash-mode", .type = GI_OPT_INT, OPT(read_hash_mode), .def = "1",
     .min = 0, .max = 5, .live = true, .level = 2, .op_version = 2, .since = "0.1",
     .text = "How the child to read from is chosen: 0 the first good copy, 1 by a hash of the file's id, 2 by a hash of the "
             "id and the process, 3 the child with the fewest reads under way, 4 the nearest by round trip, 5 the smallest "
             "product of both."},
    {.name = "choose-local", .key = "cluster.choose-local", .type = GI_OPT_BOOL, OPT(choose_local), .def = "true",
     .live = true, .level = 2, .op_version = 2, .since = "0.1",
     .text = "Prefer a brick on this host for reading."},
    {.name = "consistent-metadata", .key = "cluster.consistent-metadata", .type = GI_OPT_BOOL, OPT(consistent_metadata),
     .def = "no", .live = true, .level = 2, .op_version = 30700, .since = "0.1",
     .text = "Show attributes only from the child that also serves reads, at the cost of more lookups."},

    /* ---- writing ---- */
    {.name = "eager-lock", .key = "cluster.eager-lock", .type = GI_OPT_BOOL, OPT(eager_lock), .def = "on", .live = true,
     .level = 2, .op_version = 1, .since = "0.1",
     .text = "Keep the lock of a file for the writes that follow instead of taking one lock per write."},
    {.name = "full-lock", .key = "cluster.full-lock", .type = GI_OPT_BOOL, OPT(full_lock), .def = "yes", .live = true,
     .level = 3, .op_version = 31302, .since = "0.1",
     .text = "Lock whole files for changes of data. Off locks only the range that changes; it counts while eager-lock is off "
             "and there is no arbiter."},
    {.name = "post-op-delay-secs", .key = "cluster.post-op-delay-secs", .type = GI_OPT_INT, OPT(post_op_delay), .def = "1",
     .min = 0, .max = 2147483647, .live = true, .level = 3, .op_version = 2, .since = "0.1",
     .text = "Seconds to wait for further writes before the marks of a write are cleared and its lock is given back."},
    {.name = "optimistic-change-log", .key = "cluster.optimistic-change-log", .type = GI_OPT_BOOL,
     OPT(optimistic_change_log), .def = "on", .live = true, .level = 3, .op_version = 70200, .since = "0.1",
     .text = "While all children are up, change the counters of name and attribute operations only when one fails somewhere."},
    {.name = "pre-op-compat", .type = GI_OPT_BOOL, OPT(pre_op_compat), .def = "on", .live = true, .level = 3, .since = "0.1",
     .text = "Obsolete, no effect: the marks before an operation are always an operation of their own."},
    {.name = "ensure-durability", .key = "cluster.ensure-durability", .type = GI_OPT_BOOL, OPT(ensure_durability),
     .def = "on", .live = true, .level = 3, .op_version = 3, .since = "0.1",
     .text = "Flush data to the disks of the bricks before the dirty mark of a file is cleared."},
    {.name = "granular-entry-heal", .key = "cluster.granular-entry-heal", .type = GI_OPT_BOOL, OPT(granular_entry_heal),
     .def = "no", .live = true, .level = 1, .op_version = 30800, .since = "0.1",
     .text = "Record the changed names of a directory one by one, so that the self-heal need not compare whole directories."},
    {.name = "inodelk-trace", .type = GI_OPT_BOOL, OPT(inodelk_trace), .def = "off", .live = true, .level = 3,
     .since = "0.1",
     .text = "Log every inode lock that is taken for a change."},
    {.name = "entrylk-trace", .type = GI_OPT_BOOL, OPT(entrylk_trace), .def = "off", .live = true, .level = 3,
     .since = "0.1",
     .text = "Log every entry lock that is taken for a change."},

    /* ---- children that are too far away ---- */
    {.name = "halo-enabled", .key = "cluster.halo-enabled", .type = GI_OPT_BOOL, OPT(halo.enabled), .def = "False",
     .live = true, .level = 3, .op_version = 31100, .since = "0.1",
     .text = "Treat children with a long round trip as if they were down."},
    {.name = "halo-max-latency", .key = "cluster.halo-max-latency", .type = GI_OPT_INT, OPT(halo.max_latency), .def = "5",
     .min = 1, .max = 99999, .live = true, .level = 3, .op_version = 31100, .since = "0.1",
     .text = "Longest round trip in milliseconds at which a client uses a child; needs halo-enabled."},
    {.name = "halo-shd-max-latency", .key = "cluster.halo-shd-max-latency", .type = GI_OPT_INT, OPT(halo.shd_max_latency),
     .def = "99999", .min = 1, .max = 99999, .live = true, .level = 3, .op_version = 31100, .since = "0.1",
     .text = "The same for the self-heal daemon."},
    {.name = "halo-nfsd-max-latency", .key = "cluster.halo-nfsd-max-latency", .type = GI_OPT_INT, OPT(halo.nfsd_max_latency),
     .def = "5", .min = 1, .max = 99999, .live = true, .level = 3, .op_version = 31100, .since = "0.1",
     .text = "The same for a process that serves NFS."},
    {.name = "halo-max-replicas", .key = "cluster.halo-max-replicas", .type = GI_OPT_INT, OPT(halo.max_replicas),
     .def = "99999", .min = 1, .max = 99999, .live = true, .level = 3, .op_version = 31100, .since = "0.1",
     .text = "Most children used at a time, the nearest ones; needs halo-enabled."},
    {.name = "halo-min-replicas", .key = "cluster.halo-min-replicas", .type = GI_OPT_INT, OPT(halo.min_replicas), .def = "2",
     .min = 1, .max = 99999, .live = true, .level = 3, .op_version = 31100, .since = "0.1",
     .text = "Children that are used however far away they are; needs halo-enabled."},

    /* ---- self-heal: daemon ---- */
    {.name = "self-heal-daemon", .key = "cluster.self-heal-daemon", .type = GI_OPT_BOOL, OPT(heal.self_heal_daemon),
     .def = "on", .live = true, .side = GI_SIDE_SHD, .level = 1, .op_version = 1, .since = "0.1",
     .text = "Whether the self-heal daemon heals this volume."},
    {.name = "heal-timeout", .key = "cluster.heal-timeout", .type = GI_OPT_INT, OPT(heal.heal_timeout), .def = "600",
     .min = 5, .max = 2147483647, .live = true, .side = GI_SIDE_SHD, .level = 2, .op_version = 30703, .since = "0.1",
     .text = "Seconds between two crawls of the heal index by the self-heal daemon."},
    {.name = "shd-max-threads", .key = "cluster.shd-max-threads", .type = GI_OPT_INT, OPT(heal.shd_max_threads), .def = "1",
     .min = 1, .max = 64, .live = true, .side = GI_SIDE_SHD, .level = 1, .op_version = 30712, .since = "0.1",
     .text = "Most objects of one replica set that the self-heal daemon heals at the same time. Unset, it heals as many as "
             "applications do not feel; with bricks that do not tell how those do, one."},
    {.name = "shd-wait-qlength", .key = "cluster.shd-wait-qlength", .type = GI_OPT_INT, OPT(heal.shd_wait_qlength),
     .def = "1024", .min = 1, .max = 655536, .live = true, .side = GI_SIDE_SHD, .level = 2, .op_version = 30712,
     .since = "0.1",
     .text = "Objects that may wait in the self-heal daemon behind those being healed."},

    /* ---- self-heal: clients ---- */
    {.name = "background-self-heal-count", .key = "cluster.background-self-heal-count", .type = GI_OPT_INT,
     OPT(heal.background_self_heal_count), .def = "8", .min = 0, .max = INFINITY, .live = true,
     .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 1, .since = "0.1",
     .text = "Objects that a client heals in the background at the same time; 0 leaves all to the self-heal daemon."},
    {.name = "heal-wait-queue-length", .key = "cluster.heal-wait-queue-length", .type = GI_OPT_INT,
     OPT(heal.heal_wait_queue_length), .def = "128", .min = 0, .max = INFINITY, .live = true,
     .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 30710, .since = "0.1",
     .text = "Objects that may wait in a client behind those being healed; further ones are left to the self-heal daemon."},
    {.name = "data-self-heal", .key = "cluster.data-self-heal", .type = GI_OPT_ENUM, OPT(heal.data_self_heal), .def = "off",
     .words = data_heal_words, .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 1,
     .since = "0.1",
     .text = "Let clients heal the data of files whose copies differ when they use them; open is the same as on."},
    {.name = "metadata-self-heal", .key = "cluster.metadata-self-heal", .type = GI_OPT_BOOL, OPT(heal.metadata_self_heal),
     .def = "off", .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 1, .since = "0.1",
     .text = "Let clients heal attributes that differ between copies when they use them."},
    {.name = "entry-self-heal", .key = "cluster.entry-self-heal", .type = GI_OPT_BOOL, OPT(heal.entry_self_heal),
     .def = "off", .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 1, .since = "0.1",
     .text = "Let clients heal the names of directories that differ between copies when they use them."},

    /* ---- self-heal: how ---- */
    {.name = "data-self-heal-algorithm", .key = "cluster.data-self-heal-algorithm", .type = GI_OPT_ENUM,
     OPT(heal.data_self_heal_algorithm), .words = algorithm_words, .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD,
     .level = 2, .op_version = 1, .since = "0.1",
     .text = "How the data of a file is healed: full copies all of it, diff only the blocks whose checksums differ. Unset "
             "decides per file."},
    {.name = "data-self-heal-window-size", .key = "cluster.self-heal-window-size", .type = GI_OPT_INT,
     OPT(heal.data_self_heal_window_size), .def = "8", .min = 1, .max = 1024, .live = true,
     .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1",
     .text = "Blocks of 128 KiB that are healed under one lock."},
    {.name = "self-heal-readdir-size", .key = "cluster.self-heal-readdir-size", .type = GI_OPT_SIZE,
     OPT(heal.self_heal_readdir_size), .def = "1KB", .min = 1024, .max = 131072, .live = true,
     .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 2, .since = "0.1",
     .unread = true, .text = "Bytes asked for at a time when a directory is listed to heal it."},
    {.name = "favorite-child-policy", .key = "cluster.favorite-child-policy", .type = GI_OPT_ENUM,
     OPT(heal.favorite_child_policy), .def = "none", .words = policy_words, .live = true,
     .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 30712, .since = "0.1",
     .text = "Which copy wins when all blame each other: the largest (size), the one changed last (ctime, mtime), or the one "
             "more than half agree with in time and size (majority); none leaves it to the administrator."},
    {.name = "metadata-splitbrain-forced-heal", .type = GI_OPT_BOOL, OPT(heal.metadata_splitbrain_forced_heal), .def = "off",
     .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .since = "0.1",
     .text = "Heal attributes whose copies all blame each other from any of them instead of leaving that to the "
             "administrator."},
    {.name = "use-anonymous-inode", .key = "cluster.use-anonymous-inode", .type = GI_OPT_BOOL, OPT(heal.use_anonymous_inode),
     .def = "yes", .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 90000, .since = "0.1",
     .text = "Keep directories that a heal removes from one place in a hidden directory until they turn up in another."},
    {.name = "locking-scheme", .key = "cluster.locking-scheme", .type = GI_OPT_ENUM, OPT(locking_scheme), .def = "full",
     .words = locking_words, .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 30712,
     .since = "0.1",
     .unread = true, .text = "Which locks a heal takes: full or granular. Kept for healers of old versions; ours always locks block by "
             "block."},

    /* ---- obsolete ---- */
    {.name = "data-change-log", .key = "cluster.data-change-log", .type = GI_OPT_BOOL, OPT(gone.data_change_log),
     .def = "on", .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1",
     .unread = true, .text = "Obsolete, no effect: data operations are always accounted for."},
    {.name = "metadata-change-log", .key = "cluster.metadata-change-log", .type = GI_OPT_BOOL, OPT(gone.metadata_change_log),
     .def = "on", .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1",
     .unread = true, .text = "Obsolete, no effect: attribute operations are always accounted for."},
    {.name = "entry-change-log", .key = "cluster.entry-change-log", .type = GI_OPT_BOOL, OPT(gone.entry_change_log),
     .def = "on", .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1",
     .unread = true, .text = "Obsolete, no effect: name operations are always accounted for."},
    {.name = "quorum-reads", .key = "cluster.quorum-reads", .type = GI_OPT_BOOL, OPT(gone.quorum_reads), .def = "no",
     .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 2, .op_version = 30700, .since = "0.1",
     .unread = true, .text = "Obsolete, no effect: reading always needs quorum."},
    {.name = "readdir-failover", .key = "cluster.readdir-failover", .type = GI_OPT_STR, OPT(gone.readdir_failover),
     .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 2, .since = "0.1",
     .unread = true, .text = "Obsolete, no effect: a listing never moves to another child."},
    {.name = "strict-readdir", .key = "cluster.strict-readdir", .type = GI_OPT_STR, OPT(gone.strict_readdir), .live = true,
     .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 1, .since = "0.1",
     .unread = true, .text = "Obsolete, no effect: a listing never moves to another child."},
    {.name = "use-compound-fops", .key = "cluster.use-compound-fops", .type = GI_OPT_BOOL, OPT(gone.use_compound_fops),
     .def = "off", .live = true, .side = GI_SIDE_CLIENT | GI_SIDE_SHD, .level = 3, .op_version = 30804, .since = "0.1",
     .unread = true, .text = "Obsolete, no effect: bricks do not know compound operations."},
    GI_OPTION_END};
