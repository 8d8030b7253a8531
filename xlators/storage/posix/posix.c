/* SPDX-License-Identifier: Apache-2.0
 *
 * storage/posix: the bottom of a brick, a directory of a local file system.
 * Class, options and life cycle; README.md has the map of the other files.
 */
#include "xlators/storage/posix/posix.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char *const batch_words[] = {"none",          "syncfs", "syncfs-single-fsync", "syncfs-reverse-fsync",
                                          "reverse-fsync", NULL};
static const char *const engine_words[] = {"auto", "inline", "pool", "io_uring", NULL};

#define OPT(member) .offset = offsetof(struct posix_options, member), .side = GI_SIDE_BRICK, .since = "0.1.0"
#define MASK(n, k, member, d, t) \
  { \
    .name = n, .key = k, .type = GI_OPT_INT, OPT(member), .def = d, .min = 0, .max = 511, .live = true, .level = 3, \
    .op_version = 40000, .text = t \
  }

static const struct gi_option posix_option_table[] = {
    {.name = "directory", .type = GI_OPT_PATH, OPT(directory), .level = 1, .text = "The brick: an existing directory."},
    {.name = "volume-id",
     .type = GI_OPT_STR,
     OPT(volume_id),
     .level = 1,
     .text = "UUID of the volume; a directory marked with another one is refused."},
    {.name = "hostname",
     .type = GI_OPT_STR,
     OPT(hostname),
     .level = 3,
     .text = "Name of this node in pathinfo answers; the host name when not given."},
    {.name = "glusterd-uuid",
     .type = GI_OPT_STR,
     OPT(node_uuid),
     .level = 3,
     .text = "UUID of this node, answered to node-uuid queries."},
    {.name = "ctime",
     .key = "features.ctime",
     .type = GI_OPT_BOOL,
     OPT(ctime),
     .def = "on",
     .live = true,
     .level = 1,
     .op_version = 40100,
     .text = "Keep the times of objects in an attribute, so that all copies show the same."},
    {.name = "gfid2path",
     .key = "storage.gfid2path",
     .type = GI_OPT_BOOL,
     OPT(gfid2path),
     .def = "on",
     .live = true,
     .level = 2,
     .op_version = 31200,
     .text = "Record on every file the directories and names it has, so that its path can be told from its gfid."},
    {.name = "gfid2path-separator",
     .key = "storage.gfid2path-separator",
     .type = GI_OPT_STR,
     OPT(separator),
     .def = ":",
     .live = true,
     .level = 3,
     .op_version = 31200,
     .text = "What stands between several paths of one file in answers."},
    {.name = "update-link-count-parent",
     .key = "storage.build-pgfid",
     .type = GI_OPT_BOOL,
     OPT(pgfid),
     .def = "off",
     .live = true,
     .level = 3,
     .op_version = 30600,
     .text = "Count on every file its names per directory; quota needs it."},
    {.name = "fips-mode-rchecksum",
     .key = "storage.fips-mode-rchecksum",
     .type = GI_OPT_BOOL,
     OPT(fips),
     .def = "on",
     .live = true,
     .level = 1,
     .op_version = 40000,
     .text = "Compare data during heals by SHA-256 instead of MD5."},
    {.name = "node-uuid-pathinfo",
     .key = "storage.node-uuid-pathinfo",
     .type = GI_OPT_BOOL,
     OPT(node_uuid_pathinfo),
     .def = "off",
     .live = true,
     .level = 3,
     .op_version = 3,
     .text = "Show the node's UUID instead of its host name in pathinfo answers."},
    {.name = "o-direct",
     .type = GI_OPT_BOOL,
     OPT(o_direct),
     .def = "off",
     .live = true,
     .level = 3,
     .text = "Open every file with O_DIRECT, past the page cache."},
    {.name = "linux-aio",
     .key = "storage.linux-aio",
     .type = GI_OPT_BOOL,
     OPT(aio),
     .def = "off",
     .level = 2,
     .op_version = 1,
     .unread = true,
     .text = "Accepted for compatibility: the engine is chosen by itself (io_uring where the kernel allows it)."},
    {.name = "linux-io_uring",
     .key = "storage.linux-io_uring",
     .type = GI_OPT_BOOL,
     OPT(uring),
     .def = "off",
     .level = 2,
     .op_version = 90000,
     .unread = true,
     .text = "Accepted for compatibility: io_uring is used for cold reads and direct I/O whenever the kernel allows it."},
    {.name = "io-engine",
     .type = GI_OPT_ENUM,
     OPT(engine),
     .def = "auto",
     .words = engine_words,
     .level = 3,
     .text = "Where system calls run: auto picks per call; the others force one way, for tests and for fault finding."},
    {.name = "xattr-at",
     .type = GI_OPT_BOOL,
     OPT(xattr_at),
     .def = "on",
     .level = 3,
     .text =
         "Reach attributes by descriptor and name where the kernel can (Linux 6.13); off: through /proc, as on older kernels."},
    {.name = "reserve",
     .key = "storage.reserve",
     .type = GI_OPT_PERCENT_OR_SIZE,
     OPT(reserve),
     .def = "1",
     .live = true,
     .level = 1,
     .op_version = 31300,
     .text = "Percent or size of the brick that stays free: ordinary writes get ENOSPC before it is used."},
    {.name = "shared-brick-count",
     .type = GI_OPT_INT,
     OPT(shared_bricks),
     .def = "1",
     .live = true,
     .level = 3,
     .text = "Bricks of the volume on the same file system; sizes in statfs are divided by it."},
    {.name = "export-statfs-size",
     .type = GI_OPT_BOOL,
     OPT(export_size),
     .def = "on",
     .live = true,
     .level = 3,
     .text = "Off: statfs shows no sizes for this brick."},
    {.name = "max-hardlinks",
     .key = "storage.max-hardlinks",
     .type = GI_OPT_INT,
     OPT(max_hardlinks),
     .def = "100",
     .min = 0,
     .max = 4294967295.0,
     .live = true,
     .level = 2,
     .op_version = 40000,
     .text = "Names one file may have before link fails with EMLINK; 0 = no limit."},
    {.name = "brick-uid",
     .key = "storage.owner-uid",
     .type = GI_OPT_INT,
     OPT(uid),
     .def = "-1",
     .min = -1,
     .max = 4294967294.0,
     .live = true,
     .level = 2,
     .op_version = 1,
     .text = "Owner given to the volume root at start; -1 leaves it."},
    {.name = "brick-gid",
     .key = "storage.owner-gid",
     .type = GI_OPT_INT,
     OPT(gid),
     .def = "-1",
     .min = -1,
     .max = 4294967294.0,
     .live = true,
     .level = 2,
     .op_version = 1,
     .text = "Group given to the volume root at start; -1 leaves it."},
    MASK("create-mask", "storage.create-mask", create_mask, "0777", "Permission bits that new files and chmod may have."),
    MASK("create-directory-mask", "storage.create-directory-mask", create_dir_mask, "0777",
         "Permission bits that new directories and chmod of directories may have."),
    MASK("force-create-mode", "storage.force-create-mode", force_create, "0000", "Permission bits every file gets."),
    MASK("force-directory-mode", "storage.force-directory-mode", force_dir, "0000", "Permission bits every directory gets."),
    {.name = "batch-fsync-mode",
     .key = "storage.batch-fsync-mode",
     .type = GI_OPT_ENUM,
     OPT(batch_mode),
     .def = "reverse-fsync",
     .words = batch_words,
     .live = true,
     .level = 3,
     .op_version = 3,
     .text = "How fsyncs that allow batching are carried out: each file newest first, one syncfs, or both."},
    {.name = "batch-fsync-delay-usec",
     .key = "storage.batch-fsync-delay-usec",
     .type = GI_OPT_INT,
     OPT(batch_delay),
     .def = "0",
     .min = 0,
     .max = 10000000,
     .live = true,
     .level = 3,
     .op_version = 3,
     .text = "Microseconds to wait for more fsyncs before a batch begins."},
    {.name = "health-check-interval",
     .key = "storage.health-check-interval",
     .type = GI_OPT_INT,
     OPT(health_interval),
     .def = "30",
     .min = 0,
     .max = 4294967295.0,
     .live = true,
     .level = 1,
     .op_version = 3,
     .text = "Seconds between write tests of the brick's file system; 0 = none. A brick that fails ends itself."},
    {.name = "health-check-timeout",
     .key = "storage.health-check-timeout",
     .type = GI_OPT_INT,
     OPT(health_timeout),
     .def = "20",
     .min = 0,
     .max = 4294967295.0,
     .live = true,
     .level = 2,
     .op_version = 40000,
     .text = "Seconds after which a write test without answer counts as failed."},
    {.name = "janitor-sleep-duration",
     .type = GI_OPT_TIME,
     OPT(janitor_sleep),
     .def = "10",
     .live = true,
     .level = 3,
     .text = "Seconds between two looks for removed directory trees to delete."},
    {.name = "unlinked-file-wait",
     .type = GI_OPT_TIME,
     OPT(unlinked_wait),
     .def = "120",
     .live = true,
     .level = 3,
     .text = "Seconds for which removed files stay that a client had open when it or the brick went, so that it can go on."},
    {.name = "disable-landfill-purge",
     .type = GI_OPT_BOOL,
     OPT(no_landfill_purge),
     .def = "off",
     .live = true,
     .level = 3,
     .text = "Keep removed directory trees in .glusterfs/landfill instead of deleting them."},
    {.name = "xattr-user-namespace-mode",
     .key = "storage.xattr-user-namespace-mode",
     .type = GI_OPT_STR,
     OPT(user_mode),
     .live = true,
     .level = 3,
     .op_version = 30600,
     .unread = true,
     .text = "Only for systems other than Linux; accepted and without effect here."},
    GI_OPTION_END};

const struct gi_metric posix_metric_table[] = {
    GI_METRIC(struct posix_metrics, runs_inline, "", "operations run on the reactor"),
    GI_METRIC(struct posix_metrics, runs_pool, "", "operations run on a worker thread"),
    GI_METRIC(struct posix_metrics, runs_uring, "", "transfers through io_uring"),
    GI_METRIC(struct posix_metrics, moved, "", "operations that began on the reactor and had to leave it"),
    GI_METRIC(struct posix_metrics, slow_calls, "", "inline calls that took more than 5 ms"),
    GI_METRIC(struct posix_metrics, slow_trips, "",
              "times a kind was moved to the workers because its calls waited for the disk"),
    GI_METRIC(struct posix_metrics, mdata_writes, "", "time attributes written to disk"),
    GI_METRIC(struct posix_metrics, fsync_calls, "", "fsync calls made"),
    GI_METRIC(struct posix_metrics, fsync_joined, "", "fsync requests that shared another's call"),
    GI_METRIC(struct posix_metrics, dir_opens, "", "directories opened for the directory cache"),
    GI_METRIC(struct posix_metrics, write_outs, "", "times the disk was told to begin with what heals or streams wrote"),
    GI_METRIC(struct posix_metrics, near_bytes, "bytes", "copied from another brick on this machine"),
    GI_METRIC_END};

static void
take_config(struct posix *p, const struct posix_options *o)
{
  struct posix_config *c = &p->cfg;
  enum posix_engine engine = (enum posix_engine)o->engine;

  *c = (struct posix_config){
      .ctime = o->ctime,
      .gfid2path = o->gfid2path,
      .pgfid = o->pgfid,
      .fips = o->fips,
      .node_uuid_pathinfo = o->node_uuid_pathinfo,
      .o_direct = o->o_direct,
      .export_size = o->export_size,
      .no_landfill_purge = o->no_landfill_purge,
      .max_hardlinks = o->max_hardlinks,
      .shared_bricks = o->shared_bricks,
      .create_mask = (mode_t)o->create_mask,
      .create_dir_mask = (mode_t)o->create_dir_mask,
      .force_create = (mode_t)o->force_create,
      .force_dir = (mode_t)o->force_dir,
      .reserve = o->reserve,
      .engine = engine,
      .batch_mode = (enum posix_batch)o->batch_mode,
  };
  snprintf(c->separator, sizeof(c->separator), "%s", o->separator ? o->separator : ":");
}

static int
check_options(const struct posix_options *o, struct gi_error *err)
{
  if (!o->directory || !o->directory[0])
    return gi_error_set(err, EINVAL, "option directory is not given: which directory is the brick?");
  if (o->separator && (strlen(o->separator) < 1 || strlen(o->separator) > 7))
    return gi_error_set(err, EINVAL, "option gfid2path-separator '%s' must have 1 to 7 characters", o->separator);
  return 0;
}

static void
choose_engine(struct posix *p)
{
  if (p->cfg.engine == ENGINE_POOL || p->cfg.engine == ENGINE_INLINE || p->fs)
    return;
  p->uring = posix_uring_new(p);
  if (!p->uring)
    gi_log(GI_LOG_INFO, p->name, GI_MSG_POSIX + 1, "io_uring is not available (%s): worker threads do its part",
           strerror(errno));
}

static void
posix_destroy(struct posix *p)
{
  posix_health_stop(p);
  posix_janitor_stop(p);
  posix_parked_stop(p);
  gi_timer_finish(&p->dirty.timer);
  gi_timer_finish(&p->dirty_soon.timer);
  gi_timer_finish(&p->reserve_timer);
  gi_timer_finish(&p->batch_timer);
  posix_uring_free(&p->uring);
  while (!gi_list_empty(&p->dirs))
    posix_dir_drop(p, gi_list_first(&p->dirs, struct posix_dir, lru)->owner);
  posix_dir_unref(p, p->root_dir);
  for (int *fd = &p->root_fd; fd <= &p->health_file; fd++) {
    if (*fd >= 0)
      gi_fs_close(p->fs, *fd);
  }
  gi_free(p->brick);
  gi_free(p->hash);
  gi_free(p->numbers);
  gi_free(p->hostname);
  gi_free(p->node_uuid);
  gi_free(p);
}

static int
posix_init(struct gi_xlator *x, struct gi_error *err)
{
  const struct posix_options *o = x->options;
  char host[256] = "localhost";
  struct posix *p;

  if (check_options(o, err) < 0)
    return -1;
  p = gi_new(struct posix);
  p->x = x;
  p->fs = x->ctx->fs;
  p->name = x->name;
  p->brick = gi_strdup(o->directory);
  p->mdata_flags = XXH64(p->brick, strlen(p->brick), 0);
  p->hash = posix_hash_new();
  p->numbers = posix_numbers_new();
  p->root_fd = p->gl_fd = p->unlink_fd = p->landfill_fd = p->health_dir = p->health_file = -1;
  gi_list_init(&p->dirs);
  gi_list_init(&p->astray);
  p->moves = 1;
  gi_list_init(&p->dirty.inodes);
  gi_list_init(&p->dirty_soon.inodes);
  gi_list_init(&p->lost);
  p->left = gi_now(x->reactor);
  gi_list_init(&p->batch);
  gethostname(host, sizeof(host) - 1);
  p->hostname = gi_strdup(o->hostname ? o->hostname : host);
  p->node_uuid = o->node_uuid ? gi_strdup(o->node_uuid) : NULL;
  take_config(p, o);
  if (posix_start(p, o, err) < 0) {
    posix_destroy(p);
    return -1;
  }
  x->private = p;
  x->metrics = &p->metrics;
  posix_md_init(p);
  gi_timer_init(&p->reserve_timer, x->reactor, posix_reserve_timer, p);
  gi_timer_init(&p->batch_timer, x->reactor, posix_batch_timer, p);
  choose_engine(p);
  posix_reserve_timer(p);
  posix_health_start(p);
  posix_janitor_start(p);
  posix_parked_wait(p);
  return 0;
}

static void
posix_finish(struct gi_xlator *x)
{
  struct posix *p = x->private;

  posix_md_flush_all(p);
  x->private = NULL;
  x->metrics = NULL;
  posix_destroy(p);
}

static int
posix_reconfigure_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  const struct posix_options *o = values;
  struct posix *p = x->private;

  if (check_options(o, err) < 0)
    return -1;
  if (strcmp(o->directory, p->brick) != 0)
    return gi_error_set(err, EINVAL, "the directory of a running brick cannot change (from %s to %s)", p->brick, o->directory);
  return 0;
}

static void
posix_reconfigure_commit(struct gi_xlator *x)
{
  struct posix *p = x->private;
  enum posix_engine engine = p->cfg.engine;
  bool ctime = p->cfg.ctime;

  if (ctime)
    posix_md_flush_all(p);
  take_config(p, x->options);
  p->cfg.engine = engine; /* fixed at start */
  posix_reserve_poll(p);
  posix_health_start(p);
}

static bool
posix_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct posix *p = x->private;

  if (event == GI_EVENT_PARENT_UP) {
    gi_notify_up(x, p->failed ? GI_EVENT_CHILD_DOWN : GI_EVENT_CHILD_UP, NULL);
  } else if (event == GI_EVENT_PARENT_DOWN) {
    posix_md_flush_all(p);
    posix_lost_end(p);
  }
  return true; /* nobody below */
}

static void
posix_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  struct posix *p = x->private;

  gi_dump_section(d, "storage/posix.%s", x->name);
  gi_dump_kv(d, "directory", "%s", p->brick);
  gi_dump_kv(d, "io_uring", "%s", p->uring ? "yes" : "no");
  gi_dump_kv(d, "xattrat", "%s", p->have_xattrat ? "yes" : "no");
  gi_dump_kv(d, "disk-full", "%d", p->disk_full);
  gi_dump_kv(d, "healthy", "%d", !p->failed);
  gi_dump_kv(d, "cached-directories", "%u", p->ndirs);
  gi_dump_metrics(d, posix_metric_table, &p->metrics);
}

/* ---- inodes and descriptors go ---- */

static void
posix_inode_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  struct posix_inode *pi = bytes;
  struct posix *p = x->private;

  if (!pi->self)
    return;
  posix_inode_check(pi);
  GI_ASSERT(gi_serial_is_free(&pi->serial) && !pi->fsync && gi_list_empty(&pi->fsyncs));
  GI_ASSERT(gi_list_empty(&pi->lost)); /* that would have kept it */
  posix_md_flush(p, pi, -1);
  if (pi->unlinked)
    posix_unpark(p, &inode->gfid);
  posix_known_gone(p, pi);
  posix_left_forget(p, pi);
  posix_dir_drop(p, pi);
  pi->magic = 0;
}

/* closing the last descriptor of a removed big file frees its blocks, which takes time */
struct closing {
  struct gi_work work;
  struct gi_fs *fs;
  int fd;
};

static void
closing_run(struct gi_work *w)
{
  struct closing *c = GI_CONTAINER(w, struct closing, work);

  gi_fs_close(c->fs, c->fd);
}

static void
closing_done(struct gi_work *w)
{
  gi_free(GI_CONTAINER(w, struct closing, work));
}

/* `last`: it may be all that is left of the file. */
static void
close_fd(struct posix *p, int fd, bool last)
{
  struct stat st;

  if (!last || p->cfg.engine == ENGINE_INLINE || gi_fs_fstat(p->fs, fd, &st) < 0 || st.st_nlink > 0 ||
      (uint64_t)st.st_blocks * 512 < POSIX_BIG_FILE) {
    gi_fs_close(p->fs, fd);
    return;
  }

  struct closing *c = gi_new(struct closing);

  c->fs = p->fs;
  c->fd = fd;
  c->work.priority = GI_PRIO_LOW;
  c->work.run = closing_run;
  c->work.done = closing_done;
  gi_work_submit(p->x->reactor, &c->work);
}

static void
posix_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct posix *p = x->private;
  struct posix_fd *pf = bytes;
  struct posix_inode *pi;
  bool last = false;

  if (!pf->open)
    return;
  GI_ASSERT(pf->fd >= 0 && fd->inode);
  pf->open = false;
  pi = posix_inode_of(p, fd->inode);
  if (pi->unlinked && fd->abandoned) { /* its client may come back for it */
    pi->unlinked = false;
    posix_parked_wait(p);
  }
  if (!pi->unlinked) {
    posix_md_flush(p, pi, pf->fd);
  } else if (!posix_inode_has_fd(p, fd->inode)) {
    posix_unpark(p, &fd->inode->gfid);
    pi->unlinked = false;
    posix_md_forget(p, pi);
    posix_known_gone(p, pi);
    posix_lost_let_go(pi);
    last = true;
  }
  close_fd(p, pf->fd, last);
}

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "storage/posix",
    .version = GI_VERSION,
    .summary = "Stores a brick in a directory of a local file system.",
    .messages = GI_MSG_POSIX,
    .options = posix_option_table,
    .options_bytes = sizeof(struct posix_options),
    .metrics = posix_metric_table,
    .fop_bytes = sizeof(struct posix_op),
    .inode_bytes = sizeof(struct posix_inode),
    .fd_bytes = sizeof(struct posix_fd),
    .submit = posix_submit,
    .init = posix_init,
    .finish = posix_finish,
    .reconfigure_prepare = posix_reconfigure_prepare,
    .reconfigure_commit = posix_reconfigure_commit,
    .notify = posix_notify,
    .statedump = posix_statedump,
    .inode_forget = posix_inode_forget,
    .fd_release = posix_fd_release,
};
