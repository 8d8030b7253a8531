/* SPDX-License-Identifier: Apache-2.0
 *
 * cluster/replicate: keeps a copy of everything on each of its children, in the
 * way AFR does (replicate.md), so that bricks, clients and self-heal daemons of
 * both kinds can share a volume.
 *
 * This file: the class, and what happens when a child comes or goes. Reads are ops/read.c, writes are
 * txn/engine.c with a binding per type, and the README draws how they work.
 */
#include "xlators/cluster/replicate/change.h"
#include "xlators/cluster/replicate/ops/ops.h"
#include "xlators/cluster/replicate/shd/shd.h"

#include "libglusterish/probe.h"

#include "libglusterish/near.h"
#include "libglusterish/regions.h"
#include "rpc/preamble.h"

#define UPCALL_ATTRIBUTES \
  (GI_UPCALL_NLINK | GI_UPCALL_MODE | GI_UPCALL_OWNER | GI_UPCALL_SIZE | GI_UPCALL_TIMES | GI_UPCALL_ATIME | \
   GI_UPCALL_PERMISSIONS | GI_UPCALL_PARENT_TIMES)

#define METRIC(member, help) GI_METRIC(struct rep_metrics, member, "", help)
#define HEALED(member, unit, help) \
  { \
    "heal_" #member, unit, help, offsetof(struct rep_metrics, heal.member) \
  }
static const struct gi_metric rep_metric_table[] = {
    METRIC(transactions, "write transactions begun"),
    METRIC(rushes, "of them with locks, marks and operation in one message"),
    METRIC(sessions_joined, "operations that found the lock held already"),
    METRIC(lock_conflicts, "transactions that had to wait for a lock"),
    METRIC(pre_ops, "rounds of dirty marks set"),
    METRIC(post_ops, "rounds of marks written after operations"),
    METRIC(contentions, "locks given up because another client waited"),
    METRIC(refreshes, "inodes whose copies were compared again"),
    METRIC(read_failovers, "reads repeated on another child"),
    METRIC(blames, "transactions that recorded a missed change"),
    HEALED(files, "", "files whose data was healed"),
    HEALED(directories, "", "directories whose names were healed"),
    HEALED(metadata, "", "objects whose attributes were healed"),
    HEALED(names, "", "single names healed"),
    HEALED(failed, "", "heals that could not be finished"),
    HEALED(split_brain, "", "heals refused: the copies contradict each other"),
    HEALED(skipped, "", "heals left to whoever was at work already"),
    HEALED(bytes_read, "bytes", "read from good copies"),
    HEALED(bytes_written, "bytes", "written to stale copies"),
    HEALED(bytes_near, "bytes", "of these copied by a sink's brick from a source on the same machine"),
    HEALED(bytes_compared, "bytes", "found equal by checksum"),
    HEALED(partial, "", "files of which only the regions were looked at that had been written"),
    HEALED(bytes_skipped, "bytes", "of such files not looked at"),
    REP_SHD_METRICS,
    GI_METRIC_END};

/* ---- children come and go ---- */

static void
pass_parent_down(struct rep *rep)
{
  if (rep->drained)
    return;
  rep->drained = true;
  gi_timer_cancel(&rep->first_up);
  gi_timer_cancel(&rep->measure);
  gi_notify_down(rep->x, GI_EVENT_PARENT_DOWN, NULL);
}

static void
first_up_expired(void *arg)
{
  struct rep *rep = arg;

  if (rep->draining)
    pass_parent_down(rep); /* somebody keeps us waiting for a lock or a brick: closing the connections ends that */
  else if (!rep->announced && rep->up)
    rep_announce(rep);
}

static void
child_moved(struct rep *rep, unsigned child, bool up, const char *abilities)
{
  uint32_t bit = 1u << child;

  rep->heard |= bit;
  rep->preamble = gi_word_in(abilities, GI_PREAMBLE_CAPABILITY) ? rep->preamble | bit : rep->preamble & ~bit;
  rep->noreplace = gi_word_in(abilities, GI_NOREPLACE_CAPABILITY) ? rep->noreplace | bit : rep->noreplace & ~bit;
  rep->truncates = gi_word_in(abilities, GI_TRUNCATE_CAPABILITY) ? rep->truncates | bit : rep->truncates & ~bit;
  rep->regions = gi_word_in(abilities, GI_REGIONS_CAPABILITY) ? rep->regions | bit : rep->regions & ~bit;
  rep->local_copy = gi_word_in(abilities, GI_NEAR_CAPABILITY) ? rep->local_copy | bit : rep->local_copy & ~bit;
  rep->connected = up ? rep->connected | bit : rep->connected & ~bit;
  rep->healthy &= ~bit;
  if (!up)
    rep->latency[child] = 0;
  rep_children_changed(rep);
  if (up) {
    rep_sessions_outgrown(rep);
  } else {
    rep_txn_locks_lost(rep, child);
    rep_sessions_lost(rep, child);
  }
}

static int
child_index(const struct rep *rep, const struct gi_xlator *from)
{
  for (unsigned i = 0; i < rep->n; i++)
    if (rep->x->children[i] == from)
      return (int)i;
  return -1;
}

/* Another client changed the counters of an inode: what we know of its copies may be wrong. */
static void
invalidated(struct rep *rep, struct gi_invalidation *inv, uint32_t from)
{
  if (from & rep->arbiter)
    inv->flags &= ~UPCALL_ATTRIBUTES; /* its sizes and times are not the file's */
  for (unsigned i = 0; i < rep->n; i++) {
    if (!gi_dict_get(inv->xdata, rep->pending_key[i]))
      continue;

    struct gi_inode *inode = gi_inode_find(rep->x->graph, &inv->gfid);

    if (inode)
      rep_inode(rep, inode)->need_refresh = true;
    gi_inode_unref(&inode);
    inv->flags |= GI_UPCALL_INVAL_ATTR;
    break;
  }
  gi_notify_up(rep->x, GI_EVENT_INVALIDATE, inv);
}

static void
lowered(struct gi_fan *fan)
{
  struct rep *rep = fan->arg;

  gi_fan_clear(fan);
  gi_free(fan);
  rep_busy_put(rep, REP_WORK_TXNS);
}

/* What is to go with the next messages to the bricks goes with these, and has been done when they are answered. */
static void
lower_now(struct rep *rep)
{
  struct gi_inode *root = gi_inode_get(rep->x->graph, &gi_gfid_root);
  struct gi_fan *fan = gi_new(struct gi_fan);

  GI_ASSERT(rep->draining && !rep->drained);
  rep->lowers_later = 0;
  rep_busy_get(rep, REP_WORK_TXNS);
  rep_fan_start(fan, rep, lowered, rep);
  rep_foreach(i, rep->connected)
  {
    struct gi_fop *fop = gi_fop_new(rep->x->graph, GI_FOP_STAT);

    gi_loc_set_inode(&fop->loc, root);
    gi_fan_send(fan, fop, i, 0);
  }
  gi_inode_unref(&root);
  gi_fan_finish(fan);
}

static void
drain(struct rep *rep)
{
  if (rep->draining && !rep->drained && gi_now(rep->x->reactor) < rep->lowers_later)
    lower_now(rep);
  if (rep->draining && !rep->busy[REP_WORK_TXNS] && !rep->busy[REP_WORK_HEALS])
    pass_parent_down(rep);
}

static void
became_idle(struct rep *rep, enum rep_work work)
{
  GI_ASSERT(work < REP_WORKS && !rep->busy[work]);
  if (work != REP_WORK_MESSAGES)
    drain(rep);
  rep_children_settle(rep);
}

static void
parent_down(struct rep *rep)
{
  rep->draining = true;
  rep_shd_down(rep);
  rep_children_called_off(rep);
  gi_timer_set(&rep->first_up, REP_DRAIN_S * GI_NSEC_PER_SEC);
  rep_background_drop(rep);
  rep_sessions_flush(rep);
  drain(rep); /* nothing was under way; else the end of the last transaction tells the children */
}

static bool
rep_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct rep *rep = rep_of(x);
  int child = child_index(rep, from);

  switch (event) {
  case GI_EVENT_PARENT_UP:
    gi_timer_set(&rep->first_up, REP_FIRST_UP_S * GI_NSEC_PER_SEC);
    rep_halo_watch(rep);
    return false;
  case GI_EVENT_PARENT_DOWN:
    parent_down(rep);
    return true;
  case GI_EVENT_CHILD_UP:
  case GI_EVENT_CHILD_DOWN:
    GI_ASSERT(child >= 0);
    child_moved(rep, (unsigned)child, event == GI_EVENT_CHILD_UP, event == GI_EVENT_CHILD_UP ? data : NULL);
    return true;
  case GI_EVENT_LATENCY:
    GI_ASSERT(child >= 0);
    rep_halo_measured(rep, (unsigned)child, *(uint64_t *)data);
    return true;
  case GI_EVENT_INVALIDATE:
    GI_ASSERT(child >= 0);
    invalidated(rep, data, 1u << child);
    return true;
  case GI_EVENT_LOCKS:
    GI_ASSERT(child >= 0);
    rep_held_news(rep, (unsigned)child, data);
    return true;
  case GI_EVENT_CONTENTION:
    rep_session_contended(rep, data);
    return false;
  case GI_EVENT_CANCEL:
    if (!rep_quiesce_cancel(rep, data))
      rep_lk_cancel(rep, data);
    return true;
  default:
    return false;
  }
}

/* ---- life cycle ---- */

static void
rep_free(struct gi_xlator *x)
{
  struct rep *rep = x->private;

  gi_timer_finish(&rep->first_up);
  rep_halo_finish(rep);
  rep_children_finish(rep);
  rep_marks_finish(rep);
  rep_keys_finish(rep);
  gi_free(rep->dirty_key);
  rep->magic = 0;
  gi_free(rep);
  x->private = NULL;
  x->metrics = NULL;
}

static gi_fop_fn rep_submit;

static int
rep_init(struct gi_xlator *x, struct gi_error *err)
{
  struct rep *rep = gi_new(struct rep);

  rep->magic = REP_MAGIC;
  rep->x = x;
  rep->n = x->nchildren;
  rep->generation = 1;
  rep->local = -1;
  rep->submit = rep_submit;
  rep->txn_ops[REP_DATA] = &rep_data_ops;
  rep->txn_ops[REP_META] = &rep_meta_ops;
  rep->txn_ops[REP_ENTRY] = &rep_entry_ops;
  rep->on_idle = became_idle;
  rep->on_accused = rep_background_heal;
  rep->dirty_key = gi_strdup(rep_opts(rep)->dirty_xattr);
  gi_list_init(&rep->txns);
  gi_list_init(&rep->heal_turns);
  gi_list_init(&rep->heal_queue);
  rep_split_init(rep);
  gi_window_init(&rep->heal_window, rep_heal_window_bytes(rep));
  x->private = rep;
  x->metrics = &rep->metrics;
  gi_timer_init(&rep->first_up, x->reactor, first_up_expired, rep);
  rep_halo_init(rep);
  rep_children_init(rep);
  if (rep_options_check(x, x->options, err) < 0) {
    rep_free(x);
    return -1;
  }
  if (rep_keys_init(rep, x->options, x->children, x->nchildren, err) < 0) {
    rep_free(x);
    return -1;
  }
  rep_marks_init(rep);
  rep_shd_init(rep);
  rep_check(rep);
  return 0;
}

static void
rep_finish(struct gi_xlator *x)
{
  rep_check(rep_of(x));
  GI_ASSERT(gi_list_empty(&rep_of(x)->txns) && !rep_of(x)->busy[REP_WORK_TXNS] && !rep_of(x)->busy[REP_WORK_HEALS]);
  rep_shd_finish(rep_of(x));
  rep_free(x);
}

static int
rep_reconfigure_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  if (x->incoming && rep_of(x)->shd)
    return gi_error_set(err, EBUSY, "a self-heal daemon keeps its bricks: it is started again for others");
  return rep_options_check(x, values, err);
}

static void
rep_reconfigure_commit(struct gi_xlator *x)
{
  struct rep *rep = rep_of(x);

  rep_halo_watch(rep);
  rep_children_changed(rep);
  gi_window_resize(&rep->heal_window, rep_heal_window_bytes(rep));
  rep_shd_reconfigure(rep);
}

/* The lines and the order in which GlusterFS tells of a child: scripts look for its key and take the line before. */
static void
dump_child(struct rep *rep, unsigned i, struct gi_dump *d)
{
  const struct {
    const char *key;
    long long value;
  } number[] = {{"child_up", (rep->up >> i) & 1},
                {"pending_reads", rep->reads[i]},
                {"child_latency", rep->latency[i] ? (long long)(rep->latency[i] / GI_NSEC_PER_MSEC) : -1},
                {"child_connected", (rep->connected >> i) & 1},
                {"round_trip_ns", (long long)rep->latency[i]}};
  char key[32];

  for (size_t k = 0; k < GI_ARRAY_LEN(number); k++) {
    snprintf(key, sizeof(key), "%s[%u]", number[k].key, i);
    gi_dump_kv(d, key, "%lld", number[k].value);
    if (k > 0)
      continue;
    snprintf(key, sizeof(key), "pending_key[%u]", i);
    gi_dump_kv(d, key, "%s", rep->pending_key[i]);
  }
}

static void
rep_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  struct rep *rep = rep_of(x);

  gi_dump_kv(d, "child_count", "%u", rep->n);
  for (unsigned i = 0; i < rep->n; i++)
    dump_child(rep, i, d);
  gi_dump_kv(d, "event_generation", "%u", rep->generation);
  gi_dump_kv(d, "quorum", "%s", rep_ready(rep) ? "yes" : "no");
  gi_dump_kv(d, "arbiter", "%d", rep_first(rep->arbiter));
  gi_dump_kv(d, "local_child", "%d", rep->local);
  gi_dump_kv(d, "heals_under_way", "%u", rep->busy[REP_WORK_HEALS]);
  gi_dump_kv(d, "heals_queued", "%u", rep->heal_queue_length);
  gi_dump_kv(d, "heal_window", "%llu of %llu bytes", (unsigned long long)rep->heal_window.used,
             (unsigned long long)rep->heal_window.size);
  if (rep->shd)
    rep_shd_dump(rep->shd, d);
  gi_dump_kv(d, "children_changing", "%s", rep->quiescing ? "yes" : x->incoming ? "later" : "no");
  gi_list_foreach(t, &rep->txns, struct rep_txn, link)
    gi_dump_kv(d, "transaction", "type=%d state=%d locked=%x active=%x failed=%x", t->type, t->state, t->locked, t->active,
               t->failed);
}

static gi_fop_fn *const handlers[GI_FOP_MAX] = {
    [GI_FOP_LOOKUP] = rep_on_lookup,
    [GI_FOP_STAT] = rep_on_read,
    [GI_FOP_FSTAT] = rep_on_read,
    [GI_FOP_ACCESS] = rep_on_read,
    [GI_FOP_READLINK] = rep_on_read,
    [GI_FOP_READ] = rep_on_read,
    [GI_FOP_SEEK] = rep_on_read,
    [GI_FOP_RCHECKSUM] = rep_on_read,
    [GI_FOP_GETACTIVELK] = rep_on_read,
    [GI_FOP_GETXATTR] = rep_on_getxattr,
    [GI_FOP_FGETXATTR] = rep_on_getxattr,
    [GI_FOP_STATFS] = rep_on_statfs,
    [GI_FOP_OPEN] = rep_on_open,
    [GI_FOP_OPENDIR] = rep_on_opendir,
    [GI_FOP_READDIR] = rep_on_readdir,
    [GI_FOP_READDIRP] = rep_on_readdir,
    [GI_FOP_FLUSH] = rep_on_flush,
    [GI_FOP_FSYNCDIR] = rep_on_fsyncdir,
    [GI_FOP_WRITE] = rep_on_data,
    [GI_FOP_TRUNCATE] = rep_on_data,
    [GI_FOP_FTRUNCATE] = rep_on_data,
    [GI_FOP_FALLOCATE] = rep_on_data,
    [GI_FOP_DISCARD] = rep_on_data,
    [GI_FOP_ZEROFILL] = rep_on_data,
    [GI_FOP_FSYNC] = rep_on_data,
    [GI_FOP_SETATTR] = rep_on_meta,
    [GI_FOP_FSETATTR] = rep_on_meta,
    [GI_FOP_SETXATTR] = rep_on_meta,
    [GI_FOP_FSETXATTR] = rep_on_meta,
    [GI_FOP_REMOVEXATTR] = rep_on_meta,
    [GI_FOP_FREMOVEXATTR] = rep_on_meta,
    [GI_FOP_XATTROP] = rep_on_meta,
    [GI_FOP_FXATTROP] = rep_on_meta,
    [GI_FOP_CREATE] = rep_on_entry,
    [GI_FOP_MKNOD] = rep_on_entry,
    [GI_FOP_MKDIR] = rep_on_entry,
    [GI_FOP_SYMLINK] = rep_on_entry,
    [GI_FOP_LINK] = rep_on_entry,
    [GI_FOP_UNLINK] = rep_on_entry,
    [GI_FOP_RMDIR] = rep_on_entry,
    [GI_FOP_RENAME] = rep_on_entry,
    [GI_FOP_LK] = rep_on_lk,
    [GI_FOP_INODELK] = rep_on_internal_lock,
    [GI_FOP_FINODELK] = rep_on_internal_lock,
    [GI_FOP_ENTRYLK] = rep_on_internal_lock,
    [GI_FOP_FENTRYLK] = rep_on_internal_lock,
    [GI_FOP_LEASE] = rep_on_everywhere,
    [GI_FOP_IPC] = rep_on_everywhere,
    [GI_FOP_SETACTIVELK] = rep_on_unsupported,
    [GI_FOP_ICREATE] = rep_on_unsupported,
    [GI_FOP_NAMELINK] = rep_on_unsupported,
    [GI_FOP_PUT] = rep_on_unsupported,
    [GI_FOP_COPY_FILE_RANGE] = rep_on_copy,
};

/* Every operation comes through here to its handler. */
static enum gi_verdict
rep_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);

  if (__builtin_expect(rep->quiescing, 0) && !rep_fop(rep, fop)->inside) {
    rep_quiesce_hold(rep, fop);
    return GI_HELD;
  }
  int err = rep_fd_errno(rep, fop);

  if (err)
    return gi_fop_fail(fop, err);
  return handlers[fop->kind] ? handlers[fop->kind](x, fop) : GI_PASS;
}

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "cluster/replicate",
    .version = GI_VERSION,
    .summary = "Keeps a copy of every file on each child",
    .messages = GI_MSG_REPLICATE,
    .min_children = 1,
    .max_children = REP_MAX,
    .options = rep_option_table,
    .options_bytes = sizeof(struct rep_options),
    .metrics = rep_metric_table,
    .fop_bytes = sizeof(struct rep_fop),
    .inode_bytes = sizeof(struct rep_inode),
    .fd_bytes = sizeof(struct rep_fd),
    .submit = rep_submit,
    .init = rep_init,
    .finish = rep_finish,
    .reconfigure_prepare = rep_reconfigure_prepare,
    .reconfigure_commit = rep_reconfigure_commit,
    .children_changed = rep_on_children,
    .notify = rep_notify,
    .statedump = rep_statedump,
    .ask = rep_ask,
    .manage = rep_manage,
};
