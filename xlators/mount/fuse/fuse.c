/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: the top of a client graph. It turns requests of the kernel into
 * operations and their replies into answers. This file has the class, its
 * options and its life: wait until the child can serve, look up the root,
 * mount, serve, end.
 */
#include "fuse-internal.h"

#include "libglusterish/promise.h"

#include <sys/stat.h>

static const struct gi_option option_table[] = {
    {.name = "mountpoint",
     .type = GI_OPT_STR,
     .offset = offsetof(struct bridge_options, mountpoint),
     .level = 1,
     .since = "0.1",
     .text = "Directory to mount on."},
    {.name = "fsname",
     .type = GI_OPT_STR,
     .offset = offsetof(struct bridge_options, fsname),
     .def = "glusterish",
     .level = 1,
     .since = "0.1",
     .text = "Name of the device shown in /proc/mounts, usually HOST:/VOLUME."},
    {.name = "volume-name",
     .type = GI_OPT_STR,
     .offset = offsetof(struct bridge_options, volume_name),
     .level = 3,
     .since = "0.1",
     .text = "Name of the mounted volume, for messages."},
    {.name = "attribute-timeout",
     .type = GI_OPT_DOUBLE,
     .offset = offsetof(struct bridge_options, attribute_timeout),
     .def = "1.0",
     .min = 0,
     .max = 4294967295.0,
     .level = 2,
     .since = "0.1",
     .text = "Seconds for which the kernel may answer stat from its own memory; by default a third of "
             "cache-invalidation-timeout if all "
             "bricks wait until it is told (features.cache-invalidation-strict), else 1. More than 1 counts if all bricks tell "
             "of changes "
             "(features.cache-invalidation), up to a third of their cache-invalidation-timeout. With kernel-writeback-cache it "
             "counts as it is, and the default is 600."},
    {.name = "entry-timeout",
     .type = GI_OPT_DOUBLE,
     .offset = offsetof(struct bridge_options, entry_timeout),
     .def = "1.0",
     .min = 0,
     .max = 4294967295.0,
     .level = 2,
     .since = "0.1",
     .text = "Seconds for which the kernel may resolve a name from its own memory, within the same bounds as "
             "attribute-timeout. With "
             "kernel-writeback-cache the default is 600."},
    {.name = "negative-timeout",
     .type = GI_OPT_DOUBLE,
     .offset = offsetof(struct bridge_options, negative_timeout),
     .def = "0",
     .min = 0,
     .max = 4294967295.0,
     .level = 2,
     .since = "0.1",
     .text =
         "Seconds for which the kernel may remember that a name does not exist, within the same bounds as attribute-timeout."},
    {.name = "gid-timeout",
     .type = GI_OPT_TIME,
     .offset = offsetof(struct bridge_options, gid_timeout),
     .def = "300",
     .max = 86400,
     .level = 3,
     .since = "0.1",
     .text = "Seconds for which the supplementary groups of a process are remembered."},
    {.name = "direct-io-mode",
     .type = GI_OPT_STR,
     .offset = offsetof(struct bridge_options, direct_io_mode),
     .def = "auto",
     .level = 2,
     .since = "0.1",
     .text = "enable: no file uses the page cache of the kernel. disable or auto: only those opened with O_DIRECT bypass it."},
    {.name = "fopen-keep-cache",
     .type = GI_OPT_STR,
     .offset = offsetof(struct bridge_options, fopen_keep_cache),
     .def = "auto",
     .level = 2,
     .since = "0.1",
     .text = "Whether cached pages survive an open of an unchanged file; auto means on."},
    {.name = "auto-invalidation",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct bridge_options, auto_invalidation),
     .def = "off",
     .level = 2,
     .since = "0.1",
     .text =
         "Lets the kernel drop the pages of a file whenever its modification time moves, also by its own writes. Off: pages "
         "are dropped only when somebody else changed the file."},
    {.name = "kernel-writeback-cache",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct bridge_options, kernel_writeback_cache),
     .def = "off",
     .level = 1,
     .since = "0.1",
     .text =
         "The kernel collects writes in its page cache. Only for volumes that are mounted by a single client: the kernel then "
         "does not notice what others change in a file it knows."},
    {.name = "acl",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct bridge_options, acl),
     .def = "off",
     .level = 2,
     .since = "0.1",
     .text = "Support of POSIX access control lists."},
    {.name = "selinux",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct bridge_options, selinux),
     .def = "off",
     .level = 2,
     .since = "0.1",
     .text = "Passes the security.selinux attribute on to the bricks."},
    {.name = "capability",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct bridge_options, capability),
     .def = "on",
     .level = 3,
     .since = "0.1",
     .text = "Passes the security.capability attribute on to the bricks; off answers that no file has one."},
    {.name = "enable-ino32",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct bridge_options, enable_ino32),
     .def = "off",
     .level = 3,
     .since = "0.1",
     .text = "Folds inode numbers to 32 bits, for old programs."},
    {.name = "attr-times-granularity",
     .type = GI_OPT_INT,
     .offset = offsetof(struct bridge_options, times_granularity),
     .def = "0",
     .min = 0,
     .max = 1000000000,
     .level = 3,
     .since = "0.1",
     .text = "Nanoseconds to which the bricks keep times, a power of ten, for kernel-writeback-cache; 0 = 1."},
    {.name = "read-only",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct bridge_options, read_only),
     .def = "off",
     .level = 2,
     .since = "0.1",
     .text = "Mounts read-only."},
    {.name = "use-readdirp",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct bridge_options, use_readdirp),
     .def = "yes",
     .level = 3,
     .since = "0.1",
     .text = "Lists directories together with the attributes of their entries."},
    {.name = "lru-limit",
     .type = GI_OPT_INT,
     .offset = offsetof(struct bridge_options, lru_limit),
     .def = "65536",
     .min = 0,
     .max = 4294967295.0,
     .level = 2,
     .since = "0.1",
     .text = "Number of files the kernel may keep in mind before it is asked to drop the oldest; 0 = no limit. "
             "Of those it has dropped a sixteenth as many are kept in mind."},
    {.name = "background-qlen",
     .type = GI_OPT_INT,
     .offset = offsetof(struct bridge_options, background_qlen),
     .def = "64",
     .min = 16,
     .max = 65535,
     .level = 3,
     .since = "0.1",
     .text = "Most asynchronous requests (read-ahead, AIO) the kernel keeps outstanding."},
    {.name = "congestion-threshold",
     .type = GI_OPT_INT,
     .offset = offsetof(struct bridge_options, congestion_threshold),
     .def = "48",
     .min = 12,
     .max = 65535,
     .level = 3,
     .since = "0.1",
     .text = "Number of asynchronous requests at which the kernel regards the mount as congested."},
    {.name = "fuse-mountopts",
     .type = GI_OPT_STR,
     .offset = offsetof(struct bridge_options, mountopts),
     .level = 3,
     .since = "0.1",
     .text = "Comma-separated options handed to mount(2) as they are, e.g. noatime,nosuid."},
    GI_OPTION_END};

const struct gi_metric bridge_metric_table[] = {
    GI_METRIC(struct bridge_metrics, requests, "", "Requests read from the kernel."),
    GI_METRIC(struct bridge_metrics, device_reads, "", "Reads of the device."),
    GI_METRIC(struct bridge_metrics, device_empty, "", "Reads of the device that found nothing."),
    GI_METRIC(struct bridge_metrics, malformed, "", "Requests refused because their lengths do not fit."),
    GI_METRIC(struct bridge_metrics, interrupted, "", "Replies to requests the caller no longer waited for."),
    GI_METRIC(struct bridge_metrics, reply_errors, "", "Replies the kernel refused."),
    GI_METRIC(struct bridge_metrics, lookups_counted, "", "Entries told to the kernel."),
    GI_METRIC(struct bridge_metrics, lookups_forgotten, "", "Entries the kernel has forgotten."),
    GI_METRIC(struct bridge_metrics, stale_nodeids, "", "Requests that named an inode already forgotten."),
    GI_METRIC(struct bridge_metrics, read_bytes, "bytes", "Bytes handed to the kernel by READ."),
    GI_METRIC(struct bridge_metrics, write_bytes, "bytes", "Bytes taken from the kernel by WRITE."),
    GI_METRIC(struct bridge_metrics, local_getxattr, "", "GETXATTR answered here."),
    GI_METRIC(struct bridge_metrics, local_flush, "", "FLUSH answered here because nothing was written or locked."),
    GI_METRIC(struct bridge_metrics, local_setattr, "",
              "Time updates of the kernel's write-back answered here and sent later."),
    GI_METRIC(struct bridge_metrics, getattr_remembered, "", "Attributes answered from what our own last write left."),
    GI_METRIC(struct bridge_metrics, early_writes, "", "Writes answered before the bricks had them."),
    GI_METRIC(struct bridge_metrics, early_setattr, "",
              "Times of a file just made that were answered before the bricks had them."),
    GI_METRIC(struct bridge_metrics, lost_writes, "", "Those of them that failed after all."),
    GI_METRIC(struct bridge_metrics, capability_spared, "",
              "Attributes that the kernel did not take, so that it need not ask for capabilities again."),
    GI_METRIC(struct bridge_metrics, upcalls, "", "Changes of others that bricks told of."),
    GI_METRIC(struct bridge_metrics, foreign_changes, "", "Files found changed by somebody else."),
    GI_METRIC(struct bridge_metrics, inval_inode, "", "Invalidations of an inode sent to the kernel."),
    GI_METRIC(struct bridge_metrics, inval_entry, "", "Invalidations of a name sent to the kernel."),
    GI_METRIC_END};

/* ---- states ---- */

#define STATE(s) (1u << (s))

static const unsigned next_states[] = {
    [BRIDGE_WAITING] = STATE(BRIDGE_LOOKING) | STATE(BRIDGE_DRAINING) | STATE(BRIDGE_ENDED),
    [BRIDGE_LOOKING] = STATE(BRIDGE_WAITING) | STATE(BRIDGE_MOUNTING) | STATE(BRIDGE_DRAINING) | STATE(BRIDGE_ENDED),
    [BRIDGE_MOUNTING] = STATE(BRIDGE_SERVING) | STATE(BRIDGE_DRAINING) | STATE(BRIDGE_ENDED),
    [BRIDGE_SERVING] = STATE(BRIDGE_DRAINING) | STATE(BRIDGE_ENDED),
    [BRIDGE_DRAINING] = STATE(BRIDGE_DRAINING), /* told twice */
    [BRIDGE_ENDED] = STATE(BRIDGE_ENDED),       /* the same end, told to the program */
};

void
bridge_check(const struct bridge *b)
{
  GI_CHECK(b, BRIDGE_MAGIC);
  GI_ASSERT(b->state != BRIDGE_SERVING || (b->session && b->root && b->request));
  GI_ASSERT(b->state != BRIDGE_DRAINING || (!b->session && !b->root && b->node_count == 0 && b->fds.count == 0));
  GI_ASSERT(b->node_count == b->nodes.count);
  GI_ASSERT(b->burst <= BRIDGE_BURST);
  GI_ASSERT(!b->rx || b->rx_used <= b->rx->capacity);
  GI_ASSERT(b->rx || !b->rx_next);
  GI_ASSERT(b->attr_timeout >= 0 && b->entry_timeout >= 0 && b->negative_timeout >= 0);
}

void
bridge_enter(struct bridge *b, enum bridge_state next)
{
  GI_CHECK(b, BRIDGE_MAGIC);
  GI_ASSERT(next_states[b->state] & STATE(next));
  b->state = next;
}

/* ---- readiness ---- */

void
bridge_tell_ready(struct bridge *b, int err)
{
  struct gi_ctx *ctx = b->x->ctx;

  gi_timer_cancel(&b->ready_timer);
  if (b->told_ready)
    return;
  b->told_ready = true;
  if (err) {
    gi_log(GI_LOG_ERROR, b->x->name, GI_MSG_FUSE + 1, "the mount on %s failed: %s", bridge_options(b)->mountpoint,
           strerror(err));
    bridge_enter(b, BRIDGE_ENDED);
  }
  if (ctx->on_ready)
    ctx->on_ready(ctx, err);
}

static void
not_ready_in_time(void *arg)
{
  struct bridge *b = arg;

  gi_log(GI_LOG_ERROR, b->x->name, GI_MSG_FUSE + 2, "no brick answered; the volume may not be started");
  session_stop(b);
  bridge_tell_ready(b, ENOTCONN);
}

static void
mount_now(struct bridge *b)
{
  struct gi_error err = {0};

  GI_ASSERT(b->root && !b->session);
  bridge_enter(b, BRIDGE_MOUNTING);
  if (session_start(b, &err) == 0)
    return;
  gi_log(GI_LOG_ERROR, b->x->name, GI_MSG_FUSE + 3, "%s", err.text);
  bridge_tell_ready(b, err.code ? err.code : EIO);
}

static void
root_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  if (b->state == BRIDGE_LOOKING) {
    if (fop->rsp.ret >= 0 && S_ISDIR(fop->rsp.stat.mode)) {
      b->root = gi_inode_ref(fop->loc.inode);
      b->root->mode = S_IFDIR;
      node_attributes(b, b->root, &fop->rsp.stat, 0);
      mount_now(b);
    } else {
      /* The next CHILD_UP tries again; the timer says when to give up. */
      gi_log(GI_LOG_WARNING, x->name, GI_MSG_FUSE + 4, "lookup of the root failed: %s",
             fop->rsp.ret < 0 ? strerror(fop->rsp.err) : "not a directory");
      bridge_enter(b, BRIDGE_WAITING);
    }
  }
  gi_fop_unref(fop);
}

static void
look_up_root(struct bridge *b)
{
  struct gi_fop *fop = gi_fop_new(b->x->graph, GI_FOP_LOOKUP);
  struct gi_inode *root = gi_inode_get(b->x->graph, &gi_gfid_root);

  bridge_enter(b, BRIDGE_LOOKING);
  gi_loc_set_inode(&fop->loc, root);
  gi_inode_unref(&root);
  fop->caller.time = gi_wall(b->x->reactor);
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &gi_gfid_root);
  gi_fop_submit(fop, gi_first_child(b->x), root_done, b->x);
}

/* ---- events ---- */

/* The graph is about to go: nothing of ours may hold an inode or fd any longer. */
static void
let_go(struct bridge *b)
{
  gi_timer_cancel(&b->ready_timer);
  node_say_unwritten(b);
  held_stop(b);
  session_stop(b);
  inval_stop(b);
  absent_stop(b);
  upcall_stop(b);
  node_forget_all(b);
  gi_inode_unref(&b->root);
  if (b->state != BRIDGE_ENDED)
    bridge_enter(b, BRIDGE_DRAINING);
  GI_ASSERT(!b->session && !b->root && b->fds.count == 0 && b->openers.count == 0);
}

static void choose_timeouts(struct bridge *b);

static bool
bridge_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct bridge *b = bridge_of(x);

  switch (event) {
  case GI_EVENT_PARENT_UP:
    gi_timer_set(&b->ready_timer, BRIDGE_READY_NS);
    break;
  case GI_EVENT_PARENT_DOWN:
    let_go(b);
    break;
  case GI_EVENT_CHILD_UP:
  case GI_EVENT_CHILD_CHANGED:
    if (b->state == BRIDGE_WAITING)
      look_up_root(b);
    else if (b->state == BRIDGE_SERVING)
      upcall_missed(b);
    choose_timeouts(b);
    break;
  case GI_EVENT_PROMISE:
    if (b->state == BRIDGE_SERVING)
      upcall_missed(b);
    choose_timeouts(b);
    break;
  case GI_EVENT_CHILD_DOWN:
    if (b->state == BRIDGE_WAITING && b->ready_timer.armed)
      gi_timer_set(&b->ready_timer, BRIDGE_DOWN_NS);
    else if (b->state == BRIDGE_SERVING)
      gi_log(GI_LOG_WARNING, x->name, GI_MSG_FUSE + 5, "the volume cannot be reached");
    break;
  case GI_EVENT_INVALIDATE:
    if (b->state == BRIDGE_SERVING)
      upcall_event(b, data);
    break;
  case GI_EVENT_WAITS:
    upcall_waits(b, data);
    break;
  case GI_EVENT_WRITTEN:
    node_written(b, data);
    break;
  default:
    break;
  }
  return false;
}

/* ---- life ---- */

static int
check_mountpoint(struct bridge *b, struct gi_error *err)
{
  const char *mountpoint = bridge_options(b)->mountpoint;
  struct stat st;

  if (!mountpoint || !*mountpoint)
    return gi_error_set(err, EINVAL, "option mountpoint is missing");
  if (mount_is_inherited(b))
    return 0;
  if (stat(mountpoint, &st) < 0)
    return gi_error_set(err, errno, "mount point %s: %s", mountpoint, strerror(errno));
  if (!S_ISDIR(st.st_mode))
    return gi_error_set(err, ENOTDIR, "mount point %s is not a directory", mountpoint);
  b->real_path = realpath(mountpoint, NULL);
  if (!b->real_path)
    return gi_error_set(err, errno, "mount point %s: %s", mountpoint, strerror(errno));
  return 0;
}

/* "auto" gives `dflt`. */
static int
parse_mode(const char *name, const char *text, bool dflt, bool *value, struct gi_error *err)
{
  *value = dflt;
  if (!text || strcmp(text, "auto") == 0)
    return 0;
  if (!gi_parse_bool(text, value))
    return gi_error_set(err, EINVAL, "option %s: '%s' is neither a boolean nor auto", name, text);
  return 0;
}

#define UNTOLD_NS GI_NSEC_PER_SEC /* the kernel keeps nothing for longer if not every brick tells of changes */

static double
seconds_kept(const struct bridge *b, double seconds)
{
  uint64_t life = gi_promise_life(b->x->graph, (uint64_t)(seconds * GI_NSEC_PER_SEC), UNTOLD_NS);

  return (double)life / GI_NSEC_PER_SEC;
}

/* With kernel write-back there is only one client, so nothing but explicit options makes the kernel ask again. Where every brick waits until
 * we have taken in what others do, the kernel need not ask again unless it is told, either. That is true of what all bricks were asked: one
 * that says that a file is as it was may be the one that does not know better. */
static void
choose_timeouts(struct bridge *b)
{
  const struct bridge_options *o = bridge_options(b);
  double lease = (double)gi_promise_lease(b->x->graph) / GI_NSEC_PER_SEC;

  if (o->kernel_writeback_cache) {
    b->attr_timeout = gi_xlator_option(b->x, "attribute-timeout") ? o->attribute_timeout : 600;
    b->entry_timeout = gi_xlator_option(b->x, "entry-timeout") ? o->entry_timeout : 600;
    b->one_attr_timeout = b->attr_timeout;
    b->one_entry_timeout = b->entry_timeout;
    b->negative_timeout = o->negative_timeout;
    return;
  }
  b->attr_timeout = b->one_attr_timeout = seconds_kept(b, o->attribute_timeout);
  b->entry_timeout = b->one_entry_timeout = seconds_kept(b, o->entry_timeout);
  b->negative_timeout = seconds_kept(b, o->negative_timeout);
  if (lease > 0 && !gi_xlator_option(b->x, "attribute-timeout"))
    b->attr_timeout = lease;
  if (lease > 0 && !gi_xlator_option(b->x, "entry-timeout"))
    b->entry_timeout = lease;
}

static int
bridge_init(struct gi_xlator *x, struct gi_error *err)
{
  struct bridge *b = gi_new(struct bridge);
  const struct bridge_options *o = x->options;

  b->magic = BRIDGE_MAGIC;
  b->x = x;
  b->fd = -1;
  if (check_mountpoint(b, err) < 0 || parse_mode("direct-io-mode", o->direct_io_mode, false, &b->direct_io, err) < 0 ||
      parse_mode("fopen-keep-cache", o->fopen_keep_cache, true, &b->keep_cache, err) < 0) {
    gi_free(b->real_path);
    gi_free(b);
    return -1;
  }
  choose_timeouts(b);
  gi_list_init(&b->lru);
  gi_budget_join(&x->ctx->budget, x->reactor, &b->nodes_user, "kernel-inodes", node_reclaim, b);
  if (o->lru_limit >= 16)
    gi_inode_set_lru_limit(x->graph, (uint32_t)(o->lru_limit / 16));
  opener_table_init(&b->openers);
  gi_list_init(&b->absent.list);
  gi_list_init(&b->told);
  gi_list_init(&b->waits);
  gi_list_init(&b->inodes_to_drop.items);
  gi_list_init(&b->names_to_drop.items);
  b->groups = gi_zalloc(GROUP_SLOTS * sizeof(*b->groups));
  gi_timer_init(&b->ready_timer, x->reactor, not_ready_in_time, b);
  held_start(b);
  x->private = b;
  x->metrics = &b->m;
  return 0;
}

static void
bridge_finish(struct gi_xlator *x)
{
  struct bridge *b = bridge_of(x);

  let_go(b);
  while (b->jobs > 0) /* the device is closed, so they come back at once */
    gi_reactor_turn(x->reactor, 10 * GI_NSEC_PER_MSEC);
  bridge_check(b);
  GI_ASSERT(b->inodes_to_drop.count == 0 && b->names_to_drop.count == 0 && b->absent.count == 0 && gi_list_empty(&b->told));
  gi_timer_finish(&b->ready_timer);
  gi_timer_finish(&b->held_timer);
  gi_budget_leave(&b->nodes_user);
  node_map_free(&b->nodes);
  name_map_free(&b->names);
  id_table_free(&b->fds);
  groups_free(b);
  gi_free(b->real_path);
  b->magic = 0;
  gi_free(b);
  x->private = NULL;
  x->metrics = NULL;
}

static const char *const state_name[] = {
    [BRIDGE_WAITING] = "waiting for a child", [BRIDGE_LOOKING] = "looking up the root",
    [BRIDGE_MOUNTING] = "mounting",           [BRIDGE_SERVING] = "serving",
    [BRIDGE_DRAINING] = "going down",         [BRIDGE_ENDED] = "ended",
};

static void
bridge_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  struct bridge *b = bridge_of(x);

  gi_dump_section(d, "mount/fuse.%s", x->name);
  gi_dump_kv(d, "state", "%s", state_name[b->state]);
  gi_dump_kv(d, "mountpoint", "%s", bridge_options(b)->mountpoint);
  gi_dump_kv(d, "attribute-timeout", "%g", b->attr_timeout);
  gi_dump_kv(d, "entry-timeout", "%g", b->entry_timeout);
  gi_dump_kv(d, "nodes", "%u", b->nodes.count);
  gi_dump_kv(d, "open-fds", "%u", b->fds.count);
  gi_dump_kv(d, "invalidations-waiting", "%u", b->inodes_to_drop.count + b->names_to_drop.count);
}

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "mount/fuse",
    .version = "1",
    .summary = "Serves the volume to the kernel through /dev/fuse",
    .messages = GI_MSG_FUSE,
    .min_children = 1,
    .max_children = 1,
    .options = option_table,
    .options_bytes = sizeof(struct bridge_options),
    .metrics = bridge_metric_table,
    .fop_bytes = sizeof(struct op),
    .inode_bytes = sizeof(struct node),
    .fd_bytes = sizeof(struct handle),
    .init = bridge_init,
    .finish = bridge_finish,
    .notify = bridge_notify,
    .statedump = bridge_statedump,
};
