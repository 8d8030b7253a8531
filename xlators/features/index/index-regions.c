/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions of files that were written while a copy was away: one small file per
 * inode, .glusterfs/glusterish-regions/<gfid>, which only our own bricks know.
 *
 * A note about counter K counts the increments that it explains. It is valid while
 * that is the value of K on disk: then every increment since zero came with
 * regions. The holder of the inode's turn updates the note before the counter
 * changes, from the counter as it is on disk. So whatever a crash loses, note and
 * counter differ, and the next change drops a note that differs. An increment
 * without regions drops it at once.
 */
#include "xlators/features/index/index.h"

#include <endian.h>

#define DIRECTORY "glusterish-regions"
#define PATH 80
#define BYTES_MAX (64u << 20) /* of a brick's logs together; what does not fit is forgotten */
#define FILE_MAX (4u << 20)

/* ---- the rule ---- */

/* Counter `key` goes from `before` to before + delta; `told`: what came with it, or NULL. */
void
ix_regions_change(struct gi_region_log *log, const char *key, int64_t before, int32_t delta, const struct gi_region_note *told)
{
  struct gi_region_note *note = gi_region_log_find(log, key);
  int64_t after = before + delta;

  if (note && note->count != before) {
    gi_region_log_remove(log, note);
    note = NULL;
  }
  if (delta > 0 && told && told->count == delta && !note && before == 0)
    note = gi_region_log_add(log, key);
  if (!note)
    return;
  if (after <= 0 || after > INT32_MAX || (delta > 0 && (!told || told->count != delta))) {
    gi_region_log_remove(log, note);
    return;
  }
  note->count = (int32_t)after;
  if (delta > 0) {
    gi_regions_merge(&note->set, &told->set, GI_REGIONS_LOG);
    note->dirty = note->dirty > INT32_MAX - told->dirty ? INT32_MAX : note->dirty + told->dirty;
  } else {
    note->dirty = 0; /* a healer took back marks, nobody knows whose */
  }
}

/* ---- the file; all of this on a worker ---- */

static void
path_of(char path[PATH], const char *gfid, const char *suffix)
{
  snprintf(path, PATH, DIRECTORY "/%s%s", gfid, suffix);
}

/* The file's bytes, owned by the caller; NULL: there is none that could be read. *size: 0 if there is none at all. */
static uint8_t *
read_file(struct gi_fs *fs, int store, const char *gfid, uint32_t *size)
{
  char path[PATH];
  struct stat st;
  uint8_t *data = NULL;
  int fd;

  *size = 0;
  path_of(path, gfid, "");
  fd = gi_fs_openat(fs, store, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) {
    *size = errno != ENOENT;
    return NULL;
  }
  *size = 1;
  if (gi_fs_fstat(fs, fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= (off_t)FILE_MAX) {
    *size = (uint32_t)st.st_size;
    data = gi_alloc(*size);
    if (gi_fs_pread(fs, fd, data, *size, 0) != (ssize_t)*size) {
      gi_free(data);
      data = NULL;
    }
  }
  gi_fs_close(fs, fd);
  return data;
}

/* What is read is of use only if it decodes. */
static uint32_t
load(struct gi_fs *fs, int store, const char *gfid, struct gi_region_log *log)
{
  uint32_t size;
  GI_CLEANUP_FREE uint8_t *data = read_file(fs, store, gfid, &size);

  memset(log, 0, sizeof(*log));
  if (data)
    GI_IGNORE(gi_region_log_decode(log, data, size)); /* else it is empty */
  return size;
}

static int
open_new(const struct ix_job *job, const char *path)
{
  int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  int fd = gi_fs_openat(job->fs, job->store_fd, path, flags, 0600);

  if (fd < 0 && errno == ENOENT && gi_fs_mkdir(job->fs, job->store_fd, DIRECTORY, 0700) == 0)
    fd = gi_fs_openat(job->fs, job->store_fd, path, flags, 0600);
  return fd;
}

static bool
save(const struct ix_job *job, const void *data, uint32_t size)
{
  char path[PATH], temporary[PATH];
  int fd;
  bool ok;

  path_of(path, job->gfid, "");
  path_of(temporary, job->gfid, ".new");
  fd = open_new(job, temporary);
  if (fd < 0)
    return false;
  ok = gi_fs_pwrite(job->fs, fd, data, size, 0) == (ssize_t)size;
  gi_fs_close(job->fs, fd);
  if (ok && gi_fs_rename(job->fs, job->store_fd, temporary, job->store_fd, path) == 0)
    return true;
  gi_fs_unlink(job->fs, job->store_fd, temporary, 0);
  return false;
}

/* Value of the data slot on disk; false if it cannot be told. */
static bool
read_counter(struct gi_fs *fs, int fd, const char *key, int64_t *value)
{
  uint32_t slot[3];
  ssize_t n = gi_fs_fgetxattr(fs, fd, key, slot, sizeof(slot));

  *value = n > 0 ? (int32_t)be32toh(slot[0]) : 0;
  return n == (ssize_t)sizeof(slot) || (n < 0 && errno == ENODATA);
}

static int
open_object(const struct ix_job *job)
{
  char path[PATH];

  snprintf(path, sizeof(path), "%.2s/%.2s/%s", job->gfid, job->gfid + 2, job->gfid);
  return gi_fs_openat(job->fs, job->store_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
}

static void
apply(const struct ix_job *job, struct gi_region_log *log)
{
  const struct ix_told *t = job->told;
  int fd = t->unclear ? -1 : open_object(job);
  struct stat st;
  bool small;
  int64_t before;

  if (fd < 0) {
    gi_region_log_clear(log);
    return;
  }
  small = !log->n && (gi_fs_fstat(job->fs, fd, &st) != 0 || st.st_size <= (off_t)GI_REGIONS_SMALL);
  for (unsigned i = 0; i < t->n; i++) {
    const char *key = t->change[i].key;

    if (!read_counter(job->fs, fd, key, &before))
      before = -1; /* matches no note */
    ix_regions_change(log, key, before, t->change[i].delta, small ? NULL : gi_region_log_find(&t->log, key));
  }
  gi_fs_close(job->fs, fd);
}

static int
forget(const struct ix_job *job)
{
  char path[PATH];

  path_of(path, job->gfid, "");
  return gi_fs_unlink(job->fs, job->store_fd, path, 0) == 0 || errno == ENOENT ? 0 : errno;
}

/* Writes the log or, if it says nothing or cannot be written, removes it. An errno: the old one could not even be removed. */
static int
store(const struct ix_job *job, const struct gi_region_log *log, uint32_t had, uint32_t *have)
{
  uint32_t size;

  *have = 0;
  if (log->n) {
    GI_CLEANUP_FREE void *data = gi_region_log_encode(log, &size);

    if (size <= FILE_MAX && (size <= had || size - had <= job->told->room) && save(job, data, size)) {
      *have = size;
      return 0;
    }
  }
  return had ? forget(job) : 0;
}

int
ix_regions_step(struct ix_job *job)
{
  struct ix_told *t = job->told;
  struct gi_region_log log;
  uint32_t had, have;
  int err;
  GI_ASSERT(t);

  if (t->done) /* the job is run again for another step */
    return 0;
  t->done = true;
  had = load(job->fs, job->store_fd, job->gfid, &log);
  if (!had && !t->log.n)
    return 0;
  apply(job, &log);
  err = store(job, &log, had, &have);
  gi_region_log_clear(&log);
  t->kept = have != 0;
  t->grown = (int64_t)have - had;
  return err;
}

/* ---- what an xattrop brings ---- */

static void
note_change(struct ix_told *t, const struct gi_pair *pair)
{
  const uint8_t *data;
  uint32_t slot, len;
  GI_ASSERT(t->n <= GI_REGION_KEYS);

  if ((pair->type == GI_VALUE_INT || pair->type == GI_VALUE_UINT) && pair->u == 0)
    return;
  if (!gi_pair_bytes(pair, &data, &len) || len < sizeof(slot)) {
    t->unclear = true; /* not how a counter is added to */
    return;
  }
  memcpy(&slot, data, sizeof(slot));
  if (!slot)
    return;
  if (t->n == GI_REGION_KEYS || strlen(pair->key) > GI_REGION_KEY) {
    t->unclear = true;
    return;
  }
  t->change[t->n].key = pair->key;
  t->change[t->n++].delta = (int32_t)be32toh(slot);
}

static void
read_told(struct gi_xlator *x, struct ix_told *t, const struct gi_dict *xdata)
{
  const void *data;
  uint32_t len;

  if (gi_dict_get_bin(xdata, GI_REGIONS_KEY, &data, &len) && !gi_region_log_decode(&t->log, data, len))
    gi_log(GI_LOG_WARNING, x->name, GI_MSG_INDEX + 2, "regions that came with an xattrop are malformed: ignored");
}

struct ix_told *
ix_regions_told(struct gi_xlator *x, const struct gi_fop *fop, const struct gi_inode *inode, uint8_t state)
{
  struct ix_private *p = ix_private(x);
  struct ix_told *t;

  if (fop->args.flags != GI_XATTROP_ADD32 || (inode->mode && !S_ISREG(inode->mode)))
    return NULL;
  if (state == IX_OUT && !gi_dict_get(fop->xdata, GI_REGIONS_KEY))
    return NULL;
  t = gi_new(struct ix_told);
  for (uint32_t i = 0; i < gi_dict_count(fop->args.dict); i++) {
    const struct gi_pair *pair = gi_dict_at(fop->args.dict, i);

    if (ix_is_pending(p, pair->key))
      note_change(t, pair);
  }
  if (!t->n && !t->unclear) {
    gi_free(t);
    return NULL;
  }
  read_told(x, t, fop->xdata);
  t->room = p->metrics.region_bytes < BYTES_MAX ? BYTES_MAX - (uint32_t)p->metrics.region_bytes : 0;
  return t;
}

void
ix_regions_drop(struct ix_job *job)
{
  GI_ASSERT(!job->told);
  job->told = gi_new(struct ix_told);
  job->told->unclear = true;
  ix_job_add(job, IX_REGIONS, IX_PENDING, NULL);
}

void
ix_told_free(struct ix_told *t)
{
  if (t)
    gi_region_log_clear(&t->log);
  gi_free(t);
}

/* What the step found out. */
void
ix_regions_learn(struct ix_private *p, const struct ix_job *job, struct ix_inode *ii, int err)
{
  const struct ix_told *t = job->told;
  GI_ASSERT(t && t->done && (err || t->kept || t->grown <= 0));

  ii->log = err ? IX_UNKNOWN : t->kept ? IX_IN : IX_OUT;
  p->metrics.region_updates += t->kept;
  p->metrics.region_misses += !t->kept && t->log.n;
  if (t->grown < 0 && p->metrics.region_bytes < (uint64_t)-t->grown)
    p->metrics.region_bytes = 0;
  else
    p->metrics.region_bytes += (uint64_t)t->grown;
}

/* ---- telling a healer ---- */

struct question {
  struct gi_work work;
  struct gi_xlator *x;
  struct gi_fop *fop; /* held */
  struct gi_fs *fs;
  int store_fd;
  char gfid[GI_UUID_TEXT];
  uint8_t *data;
  uint32_t size;
};

static void
question_work(struct gi_work *w)
{
  struct question *q = GI_CONTAINER(w, struct question, work);
  struct gi_region_log log;

  q->data = read_file(q->fs, q->store_fd, q->gfid, &q->size);
  if (q->data && gi_region_log_decode(&log, q->data, q->size)) {
    gi_region_log_clear(&log);
    return;
  }
  gi_free(q->data);
  q->data = NULL;
}

static void
question_done(struct gi_work *w)
{
  struct question *q = GI_CONTAINER(w, struct question, work);
  struct gi_fop *fop = q->fop;
  struct gi_xlator *x = q->x;

  if (q->data) {
    fop->rsp.dict = gi_dict_new();
    gi_dict_set_bin(fop->rsp.dict, GI_REGIONS_KEY, q->data, q->size);
    gi_fop_ok(fop, (int)q->size);
  } else {
    gi_fop_fail(fop, ENODATA);
  }
  gi_free(q->data);
  gi_free(q);
  gi_fop_answer(fop, x);
}

enum gi_verdict
ix_regions_getxattr(struct gi_xlator *x, struct gi_fop *fop, const struct gi_gfid *gfid)
{
  const struct ix_private *p = ix_private(x);
  struct question *q = gi_new(struct question);

  q->x = x;
  q->fop = fop;
  q->fs = p->fs;
  q->store_fd = p->store_fd;
  gi_gfid_text(gfid, q->gfid);
  q->work.priority = fop->priority;
  q->work.run = question_work;
  q->work.done = question_done;
  gi_work_submit(x->reactor, &q->work);
  return GI_HELD;
}

/* ---- the start ---- */

/* Removes what belongs to no inode that is to be healed, and counts the rest. */
void
ix_regions_start(struct ix_private *p)
{
  struct gi_fs_dir d;
  struct gi_gfid gfid;
  struct stat st;

  if (gi_fs_dir_open(&d, p->fs, p->store_fd, DIRECTORY))
    return;
  for (const struct gi_fs_dirent *e; (e = gi_fs_dir_next(&d));) {
    if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
      continue;
    if (gi_gfid_parse(e->name, &gfid) && gi_fs_stat(p->fs, p->fd[IX_PENDING], e->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        gi_fs_stat(p->fs, d.fd, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
      p->metrics.region_bytes += (uint64_t)st.st_size;
    else
      gi_fs_unlink(p->fs, d.fd, e->name, 0);
  }
  gi_fs_dir_close(&d);
}
