/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload of registers: clients write records to shared files and to
 * files of their own, sync some, read, and the model judges what they read.
 */
#include "libglusterish/log.h"
#include "libglusterish/task.h"
#include "tests/simulation/model/modes.h"
#include "tests/simulation/model/registers.h"
#include "tests/simulation/model/quorum.h"
#include "tests/simulation/workload/workload.h"

#include <errno.h>

#define TASKS 3
#define SHARED 4 /* files; then SIM_MODEL_PRIVATE of each client */
#define PRIVATE 2
#define SMALL 64 /* sectors */
#define STEP 8   /* likewise */

#define MODES_PAUSE_NS (60 * SIM_MS)

/* Where the first sector of a file is: of files that are kept in blocks, so that half of the sectors are in the first block. */
static uint64_t
first_byte(const struct sim_cluster *c)
{
  return c->config.shard ? SIM_SHARD_BYTES - SIM_MODEL_SECTORS / 2 * SIM_SECTOR_BYTES : 0;
}

/* A size that an answer tells, as the model counts it. */
static void
check_size(const struct sim_cluster *c, struct sim_model *m, const struct sim_reader *reader, unsigned file, uint64_t size)
{
  if (size != SIM_NO_SIZE)
    sim_model_check_size(m, reader, file, size > first_byte(c) ? size - first_byte(c) : 0);
}

static unsigned
sectors(struct sim_rng *rng)
{
  switch (sim_rng_below(rng, 20)) {
  case 0:
    return (unsigned)sim_rng_between(rng, 32, 128);
  case 1:
  case 2:
  case 3:
    return (unsigned)sim_rng_between(rng, 5, 32);
  default:
    return (unsigned)sim_rng_between(rng, 1, 4);
  }
}

static unsigned
place(struct sim_rng *rng, unsigned n)
{
  /* Half of them near each other, so that writes meet. */
  unsigned room = SIM_MODEL_SECTORS - n;
  return (unsigned)sim_rng_below(rng, sim_rng_chance(rng, 500) ? room + 1 : room < 8 ? room + 1 : 8);
}

/* a file that a task has open */
struct open {
  struct sim_client *c;
  struct sim_model *m;
  unsigned file;
  struct gi_fd *fd;
  uint64_t opened; /* what others had written by then is to be seen */
  uint64_t told;   /* when it was opened or last told an error: what was lost and answered by then it knows */
};

static struct sim_reader
reader_of(const struct open *o)
{
  return (struct sim_reader){
      .name = o->c->process->name, .number = o->c->number, .opened = o->opened, .begin = sim_model_now(o->m)};
}

static void
out(void *arg, uint64_t number, uint32_t bricks)
{
  sim_quorum_done(arg, bricks, "write %llu, answered early,", (unsigned long long)number);
}

static uint64_t
losses(const struct open *o)
{
  return sim_model_losses(o->m, o->c->number, o->file);
}

static uint64_t
lost_end(const struct open *o)
{
  return sim_model_lost_end(o->m, o->c->number, o->file);
}

/* What ends with everything being out that was written before has been answered. `lost`: sim_model_lost_end when it began. `tells`: a
 * descriptor that lost something must hear of it here. */
static void
all_out(struct open *o, const char *what, uint64_t begin, uint64_t lost, bool tells, int ret)
{
  if (ret < 0) {
    sim_model_not_out(o->m, o->c->number, o->file);
    o->told = sim_model_now(o->m);
    return;
  }
  if (tells && lost > o->told)
    sim_violation(o->c->cluster->w, "%s: a %s of register file %u succeeded, though writes that were answered early are lost",
                  o->c->process->name, what, o->file);
  sim_model_out(o->m, o->c->number, o->file, begin, out, o->c);
}

/* `knew`: the losses when it began. */
static void
put_done(struct open *o, uint64_t number, bool early, uint64_t knew)
{
  struct sim_client *c = o->c;
  if (early && o->fd->flags & O_DSYNC)
    sim_violation(c->cluster->w, "%s: write %llu, to be synced, was answered early", c->process->name,
                  (unsigned long long)number);
  if (early) {
    sim_model_written_early(o->m, number);
    if (losses(o) > knew)
      sim_model_not_out(o->m, c->number, o->file); /* perhaps this one, before its answer was taken */
    return;
  }
  sim_quorum_done(c, sim_model_copies(o->m, number), "write %llu", (unsigned long long)number);
  sim_model_written(o->m, number, 0);
  if (o->fd->flags & O_DSYNC)
    sim_model_written_synced(o->m, number);
}

/* A place in the file. Where layers know something of files every second one stays small, as some only care for small ones. */
static unsigned
draw_place(const struct open *o, unsigned *n)
{
  struct sim_client *c = o->c;
  *n = sectors(&c->rng);
  unsigned at = place(&c->rng, *n), half = SIM_MODEL_SECTORS / 2;
  if (sim_set_count(&c->cluster->config) > 1 && at < half && at + *n > half)
    *n = half - at; /* or no set would have all of it */
  if (o->file % 2 == 0 || !sim_layers_that_know(c->cluster->config.layers))
    return at;
  *n = *n < SMALL / 4 ? *n : SMALL / 4;
  return at % (SMALL - *n);
}

static void
put(struct open *o)
{
  struct sim_client *c = o->c;
  unsigned n, at = draw_place(o, &n);
  uint8_t *data = gi_alloc(n * SIM_SECTOR_BYTES);
  uint64_t number = sim_model_write(o->m, c->number, o->file, at, n, data);
  struct sim_reader reader = reader_of(o);
  uint64_t size, knew = losses(o);
  bool early;
  ssize_t ret =
      sim_op_write(c, o->fd, first_byte(c->cluster) + at * SIM_SECTOR_BYTES, data, n * SIM_SECTOR_BYTES, &size, &early);
  gi_log(GI_LOG_DEBUG, c->process->name, 1, "write %llu of file %u, sectors %u+%u: %zd%s", (unsigned long long)number, o->file,
         at, n, ret, early ? ", early" : "");
  if (!early && sim_layers_that_know(c->layers_had))
    reader.number = SIM_CLIENTS; /* as the bricks have it; what was answered early is for the mount to add */
  check_size(c->cluster, o->m, &reader, o->file, size);
  if (ret == (ssize_t)(n * SIM_SECTOR_BYTES)) {
    put_done(o, number, early, knew);
  } else {
    sim_model_written(o->m, number, ret < 0 ? (int)-ret : EIO);
    sim_model_not_out(o->m, c->number, o->file); /* perhaps that is what it tells */
    o->told = sim_model_now(o->m);
  }
  gi_free(data);
}

static ssize_t
get_at(struct open *o, unsigned at, unsigned n)
{
  struct sim_client *c = o->c;
  uint8_t *data = gi_alloc(n * SIM_SECTOR_BYTES);
  struct sim_reader reader = reader_of(o);
  uint64_t size;
  ssize_t ret = sim_op_read(c, o->fd, first_byte(c->cluster) + at * SIM_SECTOR_BYTES, data, n * SIM_SECTOR_BYTES, &size);
  gi_log(GI_LOG_DEBUG, c->process->name, 1, "read of file %u, sectors %u+%u: %zd", o->file, at, n, ret);
  if (ret >= 0)
    sim_model_check(o->m, &reader, o->file, at, n, data, (size_t)ret);
  check_size(c->cluster, o->m, &reader, o->file, size);
  gi_free(data);
  return ret;
}

static void
get(struct open *o)
{
  unsigned n, at = draw_place(o, &n);
  get_at(o, at, n);
}

/* One part after the other, as programs read. */
static void
get_all(struct open *o)
{
  for (unsigned at = 0; at < SIM_MODEL_SECTORS && !o->c->leave && get_at(o, at, STEP) > 0; at += STEP)
    ;
}

static void
get_size(struct open *o)
{
  struct sim_reader reader = reader_of(o);
  uint64_t size;
  sim_op_fstat(o->c, o->fd, &size);
  check_size(o->c->cluster, o->m, &reader, o->file, size);
}

static void
sync_file(struct open *o)
{
  uint64_t begin = sim_model_now(o->m), lost = lost_end(o);
  int ret = sim_op_fsync(o->c, o->fd);
  gi_log(GI_LOG_DEBUG, o->c->process->name, 1, "sync of file %u: %d", o->file, ret);
  all_out(o, "sync", begin, lost, true, ret);
  if (ret >= 0)
    sim_model_synced(o->m, o->c->number, o->file, begin);
  else
    sim_model_sync_failed(o->m, o->file);
}

static void
close_file(struct open *o)
{
  uint64_t begin = sim_model_now(o->m), lost = lost_end(o);
  int ret = sim_op_flush(o->c, o->fd);
  gi_log(GI_LOG_DEBUG, o->c->process->name, 1, "close of file %u: %d", o->file, ret);
  all_out(o, "close", begin, lost, true, ret);
}

static const char *
file_name(unsigned file, char name[16])
{
  snprintf(name, 16, "r%u", file);
  return name;
}

static struct gi_inode *
find(const struct open *o)
{
  struct sim_client *c = o->c;
  char name[16];
  struct gi_inode *root = sim_op_root(c), *inode = NULL;
  struct gi_iatt stat = {0};
  struct sim_reader reader = reader_of(o);
  bool kept =
      c->cluster->config.layers && o->file % 2; /* of every other file a kernel keeps the name, and opens it without asking */
  int ret = sim_op_lookup(c, root, file_name(o->file, name), &inode, kept ? NULL : &stat);
  reader.opened = 0; /* of the attributes of a name only the client's own doing is promised */
  if (ret >= 0 && gi_iatt_valid(&stat))
    check_size(c->cluster, o->m, &reader, o->file, stat.size);
  if (ret >= 0 && inode)
    sim_model_file_is(o->m, o->file, &inode->gfid);
  else if (ret == -ENOENT)
    sim_violation(c->cluster->w, "%s: %s is said not to exist", c->process->name, name);
  gi_inode_unref(&root);
  return inode;
}

static bool
open_file(struct open *o, int flags)
{
  struct gi_inode *inode = find(o);
  if (inode)
    sim_op_open(o->c, inode, O_RDWR | flags, &o->fd);
  gi_inode_unref(&inode);
  o->told = sim_model_now(o->m);
  return o->fd != NULL;
}

/* Who gets a lock sees what was written before the others gave it back. */
static bool
take_lock(struct open *o, struct open *other)
{
  if (sim_op_lock(o->c, o->fd, GI_LK_WRITE) < 0)
    return false;
  uint64_t granted = sim_model_now(o->m);
  struct gi_inode *inode = find(o); /* as mount/fuse looks */
  if (inode)
    o->opened = other->opened = granted;
  gi_inode_unref(&inode);
  return true;
}

static void
give_lock(struct open *o)
{
  uint64_t begin = sim_model_now(o->m);
  int ret = sim_op_lock(o->c, o->fd, GI_LK_UNLOCK);
  gi_log(GI_LOG_DEBUG, o->c->process->name, 1, "lock of file %u is given back: %d", o->file, ret);
  if (ret >= 0)
    all_out(o, "unlock", begin, 0, false, ret);
}

static void
pause_now_and_then(struct sim_client *c)
{
  if (sim_rng_chance(&c->rng, 300) && !c->leave)
    sim_op_pause(c, sim_rng_below(&c->rng, sim_rng_chance(&c->rng, 100) ? 3 * SIM_S : 50 * SIM_MS));
}

static void
use(struct open *o)
{
  struct sim_client *c = o->c;
  for (unsigned i = (unsigned)sim_rng_between(&c->rng, 1, 10); i > 0 && !c->leave; i--) {
    unsigned what = (unsigned)sim_rng_below(&c->rng, 10);
    if (what < 5)
      put(o);
    else if (what < 9)
      get(o);
    else
      sync_file(o);
    pause_now_and_then(c);
  }
  close_file(o);
}

/* What makes a difference where layers know something of a file: two descriptors, sizes, locks, closing now and then. */
static void
use_two(struct open *o, struct open *other)
{
  struct sim_client *c = o->c;
  bool locked = false;
  for (unsigned i = (unsigned)sim_rng_between(&c->rng, 4, 20); i > 0 && !c->leave; i--) {
    unsigned what = (unsigned)sim_rng_below(&c->rng, 20);
    struct open *one = sim_rng_chance(&c->rng, 500) ? o : other;
    if (!locked && sim_rng_chance(&c->rng, 100))
      locked = take_lock(o, other);
    if (what < 9)
      put(one);
    else if (what < 13)
      get(one);
    else if (what < 14)
      get_all(one);
    else if (what < 17)
      get_size(one);
    else if (what < 19)
      sync_file(one);
    else
      close_file(one); /* one of several that it has: it stays open */
    pause_now_and_then(c);
  }
  if (locked)
    give_lock(o);
  close_file(other);
  close_file(o);
}

/* Who syncs what was written through other descriptors, and does nothing else with the file. */
static void
sync_only(struct sim_client *c, unsigned file)
{
  struct open o = {.c = c, .m = c->cluster->model, .file = file, .opened = sim_model_now(c->cluster->model)};
  if (!c->up || !open_file(&o, 0))
    return;
  sync_file(&o);
  close_file(&o);
  gi_fd_unref(&o.fd);
}

static void
use_files(struct sim_client *c, bool synced)
{
  struct sim_model *m = c->cluster->model;
  while (!c->leave) {
    unsigned file = (unsigned)sim_rng_below(&c->rng, SHARED);
    if (sim_rng_chance(&c->rng, 400))
      file = SHARED + c->number * PRIVATE + (unsigned)sim_rng_below(&c->rng, PRIVATE);
    struct open o = {.c = c, .m = m, .file = file, .opened = sim_model_now(m)}, other = o;
    int flags = 0;
    if (c->up) {
      flags = synced && sim_rng_chance(&c->rng, 500) ? O_SYNC : 0;
      open_file(&o, flags);
    }
    if (o.fd && sim_layers_that_know(c->cluster->config.layers) && sim_rng_chance(&c->rng, 500) && open_file(&other, 0))
      use_two(&o, &other);
    else if (o.fd)
      use(&o);
    gi_fd_unref(&other.fd);
    gi_fd_unref(&o.fd);
    if (!c->leave && sim_layers_that_know(c->cluster->config.layers) && sim_rng_chance(&c->rng, 300))
      sync_only(c, file);
    if (!c->leave)
      sim_op_pause(c, sim_rng_between(&c->rng, SIM_MS, 400 * SIM_MS));
  }
}

static void
register_task(struct sim_client *c)
{
  use_files(c, false);
}

/* ---- modes of files that a rebalance moves ---- */

static void
set_mode(const struct open *o)
{
  struct sim_modes *m = o->c->cluster->modes;
  unsigned number = (unsigned)sim_rng_below(&o->c->rng, sim_modes_count());
  struct sim_moding *op = sim_modes_set(m, o->c->number, &o->fd->inode->gfid, number);
  int ret = sim_op_chmod(o->c, o->fd->inode, sim_mode(number));
  gi_log(GI_LOG_DEBUG, o->c->process->name, 1, "mode 0%o of file %u: %d", sim_mode(number), o->file, ret);
  sim_modes_done(m, &op, ret < 0 ? -ret : 0);
}

/* A mode takes the marks of a move away, and others may write before who moves the file knows. */
static void
modes_task(struct sim_client *c)
{
  while (!c->leave) {
    struct sim_model *m = c->cluster->model;
    struct open o = {.c = c, .m = m, .file = (unsigned)sim_rng_below(&c->rng, SHARED), .opened = sim_model_now(m)};
    if (c->up && open_file(&o, 0)) {
      set_mode(&o);
      close_file(&o);
      gi_fd_unref(&o.fd);
    }
    if (!c->leave)
      sim_op_pause(c, sim_rng_below(&c->rng, MODES_PAUSE_NS));
  }
}

static void
synced_task(struct sim_client *c)
{
  use_files(c, true);
}

void
sim_register_synced_session(struct sim_client *c)
{
  sim_client_tasks(c, TASKS, synced_task);
}

void
sim_register_session(struct sim_client *c)
{
  sim_client_tasks(c, TASKS, register_task);
}

/* Bricks of GlusterFS believe who says that a file has moved that has lost its marks (doc/track-record.md). */
static void
images_task(struct sim_client *c)
{
  bool sets_modes = c->next_task++ == 0 && !c->cluster->config.foreign;
  (sets_modes ? modes_task : register_task)(c);
}

void
sim_register_images_session(struct sim_client *c)
{
  sim_modes_abandon(c->cluster->modes, c->number);
  sim_client_tasks(c, TASKS + 1, images_task);
}

static unsigned
files(const struct sim_cluster *c)
{
  return SHARED + c->config.clients * PRIVATE;
}

/* On a task of one client, before anything goes wrong. */
void
sim_register_setup(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  char name[16];
  for (unsigned i = 0; i < files(c->cluster); i++) {
    struct gi_fd *fd = NULL;
    int ret = sim_op_create(c, root, file_name(i, name), O_RDWR | O_EXCL, &fd);
    if (ret < 0)
      sim_violation(c->cluster->w, "%s cannot be made: %s", name, strerror(-ret));
    if (fd)
      sim_op_flush(c, fd);
    gi_fd_unref(&fd);
  }
  gi_inode_unref(&root);
}

static void
find_accusers(const struct sim_cluster *c, const char *path, uint32_t accusers[SIM_BRICKS])
{
  char counter[64];
  for (unsigned by = 0; by < c->config.bricks; by++)
    for (unsigned whom = 0; whom < c->config.bricks; whom++) {
      snprintf(counter, sizeof(counter), "trusted.afr.vol-client-%u", whom);
      if (by != whom && c->machine[by].process->state != SIM_DOWN && sim_disk_accuses(c->machine[by].disk, path, counter))
        accusers[whom] |= 1u << by;
    }
}

/* Of a file in blocks the one that the second half of the sectors is in. */
static bool
block_path(const struct sim_cluster *c, unsigned brick, const char *path, char block[96])
{
  struct gi_gfid gfid;
  char text[GI_UUID_TEXT];
  if (!c->config.shard || !sim_disk_gfid(c->machine[brick].disk, path, &gfid))
    return false;
  snprintf(block, 96, SIM_BRICK_DIR "/.shard/%s.1", gi_gfid_text(&gfid, text));
  return true;
}

uint32_t
sim_register_outdated(const struct sim_cluster *c, unsigned file, unsigned sector)
{
  char name[16], path[64], block[96];
  uint32_t accusers[SIM_BRICKS] = {0};
  snprintf(path, sizeof(path), SIM_BRICK_DIR "/%s", file_name(file, name));
  bool in_block = false;
  for (unsigned i = 0; sector >= SIM_MODEL_SECTORS / 2 && i < c->config.bricks && !in_block; i++)
    in_block = block_path(c, i, path, block);
  find_accusers(c, in_block ? block : path, accusers);
  return sim_quorum_outdated(&c->config, accusers);
}

/* The sectors that a brick holds, from the first on; the file of a hole that is followed by something has none. */
static ssize_t
read_sectors(struct sim_cluster *c, unsigned brick, struct gi_fs *fs, const char *path, uint8_t *data)
{
  size_t len = SIM_MODEL_SECTORS * SIM_SECTOR_BYTES, half = c->config.shard ? len / 2 : len;
  int fd = gi_fs_openat(fs, AT_FDCWD, path, O_RDONLY, 0);
  ssize_t n = fd < 0 ? -1 : gi_fs_pread(fs, fd, data, half, (off_t)first_byte(c)), more = -1;
  char block[96];
  if (fd >= 0)
    gi_fs_close(fs, fd);
  if (n < 0 || !block_path(c, brick, path, block) || (fd = gi_fs_openat(fs, AT_FDCWD, block, O_RDONLY, 0)) < 0)
    return n;
  memset(data + n, 0, half - (size_t)n);
  more = gi_fs_pread(fs, fd, data + half, half, 0);
  gi_fs_close(fs, fd);
  return more > 0 ? (ssize_t)half + more : n;
}

/* ---- over several sets ---- */

/* The path of half of the sectors, and where in that file they are: the first block, or the second one. False: nobody has it. */
static bool
half_path(struct sim_cluster *c, unsigned file, unsigned half, char path[96], uint64_t *offset)
{
  char name[16];
  bool found = half == 0;
  snprintf(path, 96, SIM_BRICK_DIR "/%s", file_name(file, name));
  *offset = half ? 0 : first_byte(c);
  for (unsigned i = 0; i < c->config.bricks && !found; i += sim_set_size(&c->config)) {
    char base[96];
    snprintf(base, sizeof(base), "%s", path);
    found = block_path(c, i, base, path);
  }
  return found;
}

static bool
is_there(struct gi_fs *fs, const char *path)
{
  struct stat st;
  return gi_fs_stat(fs, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Sets that have it, and not a linkto file only. */
static unsigned
homes(struct sim_cluster *c, const char *path)
{
  unsigned n = 0;
  for (unsigned i = 0; i < c->config.bricks; i += sim_set_size(&c->config)) {
    struct gi_fs *fs = sim_disk_view(c->machine[i].disk);
    n += is_there(fs, path) && !sim_spread_is_linkto(c, i, path);
    sim_view_free(&fs);
  }
  return n;
}

/* Clients set modes of files; their further blocks have their own. */
static void
check_mode(struct sim_cluster *c, unsigned brick, struct gi_fs *fs, const struct sim_reader *reader, const char *path)
{
  struct gi_gfid gfid;
  struct stat st;
  if (sim_disk_gfid(c->machine[brick].disk, path, &gfid) && gi_fs_stat(fs, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
    sim_modes_seen(c->modes, reader->name, path, &gfid, st.st_mode);
}

static void
check_half(struct sim_cluster *c, unsigned brick, const struct sim_reader *reader, unsigned file, unsigned half)
{
  size_t len = SIM_MODEL_SECTORS * SIM_SECTOR_BYTES / 2;
  GI_CLEANUP_FREE uint8_t *data = gi_alloc(len);
  struct gi_fs *fs = sim_disk_view(c->machine[brick].disk);
  char path[96];
  uint64_t offset;
  if (half_path(c, file, half, path, &offset)) {
    unsigned n = brick == 0 ? homes(c, path) : 1;
    if (n > 1 || (n == 0 && half == 0))
      sim_violation(c->w, "%s is on %u sets", path, n);
    if (is_there(fs, path) && !sim_spread_is_linkto(c, brick, path)) {
      int fd = gi_fs_openat(fs, AT_FDCWD, path, O_RDONLY, 0);
      memset(data, 0, len);
      if (fd < 0 || gi_fs_pread(fs, fd, data, len, (off_t)offset) < 0)
        sim_violation(c->w, "%s: %s cannot be read", reader->name, path);
      else
        sim_model_check(c->model, reader, file, half * SIM_MODEL_SECTORS / 2, SIM_MODEL_SECTORS / 2, data, len);
      if (fd >= 0)
        gi_fs_close(fs, fd);
      if (half == 0)
        check_mode(c, brick, fs, reader, path);
    }
  }
  sim_view_free(&fs);
}

/* ---- in the end ---- */

/* What a brick holds in the end, judged like a read. */
void
sim_register_check_disk(struct sim_cluster *c, unsigned brick)
{
  struct gi_fs *fs = sim_disk_view(c->machine[brick].disk);
  uint8_t *data = gi_alloc(SIM_MODEL_SECTORS * SIM_SECTOR_BYTES);
  char name[16], path[64], who[32];
  snprintf(who, sizeof(who), "brick-%u", brick);
  struct sim_reader reader = {
      .name = who, .number = SIM_CLIENTS, .opened = sim_model_now(c->model), .begin = sim_model_now(c->model)};
  for (unsigned i = 0; i < files(c); i++) {
    if (sim_set_count(&c->config) > 1) {
      check_half(c, brick, &reader, i, 0);
      check_half(c, brick, &reader, i, 1);
      continue;
    }
    snprintf(path, sizeof(path), SIM_BRICK_DIR "/%s", file_name(i, name));
    ssize_t n = read_sectors(c, brick, fs, path, data);
    if (n < 0)
      sim_violation(c->w, "%s: %s cannot be read", who, path);
    else
      sim_model_check(c->model, &reader, i, 0, SIM_MODEL_SECTORS, data, (size_t)n);
  }
  gi_free(data);
  sim_view_free(&fs);
}
