/* SPDX-License-Identifier: Apache-2.0
 *
 * The index on disk (brick.md 12.2): base files, hard links, directories of
 * changed names; and the jobs that change it on the worker pool.
 *
 * A link needs its base file. It is made when it is missed, so after a crash or
 * a visit of another daemon nothing has to be repaired. When a base file has as
 * many links as the file system allows a new base takes over.
 */
#include "xlators/features/index/index.h"

#include "libglusterish/probe.h"

#include <stdlib.h>

#define KEYS_BYTES 4096 /* names of attributes; more are taken for counters */

static const char *const class_dir[IX_CLASSES] = {"xattrop", "dirty", "entry-changes"};

bool
ix_name_ok(const char *name)
{
  return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) <= GI_NAME_MAX;
}

void
ix_base_new(struct gi_xlator *x, enum ix_class cls)
{
  char text[GI_UUID_TEXT];
  struct gi_gfid id = gi_gfid_new(x->reactor);
  snprintf(ix_private(x)->base[cls], IX_NAME, "%s-%s", class_dir[cls], gi_gfid_text(&id, text));
}

/* False: the directory could not be read, and there may be more. */
static bool
count_links(struct gi_fs *fs, int dirfd, int64_t *n)
{
  struct gi_gfid gfid;
  struct gi_fs_dir d;
  bool sure;
  *n = 0;
  if (gi_fs_dir_open(&d, fs, dirfd, "."))
    return false;
  for (const struct gi_fs_dirent *e; (e = gi_fs_dir_next(&d));)
    *n += gi_gfid_parse(e->name, &gfid);
  sure = d.err == 0;
  gi_fs_dir_close(&d);
  return sure;
}

/* None only where there are none: a client believes attributes then without asking whose they are. */
static void
count_at_start(struct ix_private *p, enum ix_class cls)
{
  p->unsure[cls] = !count_links(p->fs, p->fd[cls], &p->count[cls]);
  p->count[cls] += p->unsure[cls];
}

static int
make_open(struct gi_fs *fs, int at, const char *path, struct gi_error *err)
{
  if (gi_fs_mkdir(fs, at, path, 0600) != 0 && errno != EEXIST)
    return gi_error_set(err, errno, "cannot make the index directory %s: %s", path, strerror(errno));
  int fd = gi_fs_openat(fs, at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0)
    return gi_error_set(err, errno, "cannot open the index directory %s: %s", path, strerror(errno));
  return fd;
}

/* A bug put in on purpose: neither the index nor the objects tell any more what was begun. */
static void
lose_dirty(const struct ix_private *p, int top)
{
  char path[2 * GI_UUID_TEXT];
  struct gi_fs_dir d;

  if (!p->fs || !GI_BROKEN("lose the dirty marks at restart") || gi_fs_dir_open(&d, p->fs, top, class_dir[IX_DIRTY]))
    return;
  for (const struct gi_fs_dirent *e; (e = gi_fs_dir_next(&d));) {
    snprintf(path, sizeof(path), "%.2s/%.2s/%s", e->name, e->name + 2, e->name);
    p->fs->ops->removexattr(p->fs, p->store_fd, path, "trusted.afr.dirty");
    if (*e->name != '.')
      gi_fs_unlink(p->fs, d.fd, e->name, 0);
  }
  gi_fs_dir_close(&d);
}

int
ix_dirs_open(struct gi_xlator *x, const char *path, struct gi_error *err)
{
  struct ix_private *p = ix_private(x);
  int top = make_open(p->fs, AT_FDCWD, path, err);
  if (top < 0)
    return -1;
  int failed = 0;
  p->store_fd = gi_fs_openat(p->fs, top, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  for (int c = 0; c < IX_CLASSES && !failed; c++) {
    p->fd[c] = make_open(p->fs, top, class_dir[c], err);
    failed = p->fd[c] < 0;
    if (c == IX_DIRTY && !failed)
      lose_dirty(p, top);
    ix_base_new(x, c);
    if (!failed && c < IX_TRACKED)
      count_at_start(p, c);
  }
  gi_fs_close(p->fs, top);
  if (!failed)
    ix_regions_start(p);
  return failed ? -1 : 0;
}

void
ix_dirs_close(struct ix_private *p)
{
  for (int c = 0; c < IX_CLASSES; c++) {
    if (p->fd[c] >= 0)
      gi_fs_close(p->fs, p->fd[c]);
  }
  if (p->store_fd >= 0)
    gi_fs_close(p->fs, p->store_fd);
}

/* ---- counted again ---- */

struct recount {
  struct gi_work work;
  struct gi_xlator *x;
  struct gi_fop *fop; /* held */
  struct gi_fs *fs;
  enum ix_class cls;
  const char *key;
  int fd;
  uint64_t learnt; /* when it began */
  int64_t n;
  bool sure;
};

static void
recount_work(struct gi_work *w)
{
  struct recount *r = GI_CONTAINER(w, struct recount, work);
  r->sure = count_links(r->fs, r->fd, &r->n);
}

static enum gi_verdict
tell_count(const struct ix_private *p, struct gi_fop *fop, enum ix_class cls, const char *key)
{
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_uint(fop->rsp.dict, key, (uint64_t)p->count[cls]);
  return gi_fop_ok(fop, sizeof(uint64_t));
}

/* What was linked or unlinked meanwhile may or may not have been counted: whoever asks next has it counted once more. */
static void
recount_done(struct gi_work *w)
{
  struct recount *r = GI_CONTAINER(w, struct recount, work);
  struct ix_private *p = ix_private(r->x);
  struct gi_fop *fop = r->fop;
  struct gi_xlator *x = r->x;
  GI_ASSERT(r->cls < IX_TRACKED && p->learnt >= r->learnt);
  if (r->sure && p->learnt == r->learnt && !p->working) {
    p->count[r->cls] = r->n;
    p->unsure[r->cls] = false;
  }
  tell_count(p, fop, r->cls, r->key);
  gi_free(r);
  gi_fop_answer(fop, x);
}

enum gi_verdict
ix_count_told(struct gi_xlator *x, struct gi_fop *fop, enum ix_class cls, const char *key)
{
  const struct ix_private *p = ix_private(x);
  struct recount *r;
  GI_ASSERT(cls < IX_TRACKED && p->count[cls] >= p->unsure[cls]);
  if (!p->unsure[cls] || p->working)
    return tell_count(p, fop, cls, key);
  r = gi_new(struct recount);
  *r = (struct recount){.x = x, .fop = fop, .fs = p->fs, .cls = cls, .key = key, .fd = p->fd[cls], .learnt = p->learnt};
  r->work.priority = fop->priority;
  r->work.run = recount_work;
  r->work.done = recount_done;
  gi_work_submit(x->reactor, &r->work);
  return GI_HELD;
}

/* ---- jobs ---- */

struct ix_job *
ix_job_new(struct gi_xlator *x, struct gi_fop *fop, const struct gi_gfid *gfid)
{
  const struct ix_private *p = ix_private(x);
  struct ix_job *job = gi_alloc(sizeof(*job));
  memset(job, 0, offsetof(struct ix_job, step));
  job->magic = IX_JOB_MAGIC;
  job->x = x;
  job->fop = gi_fop_ref(fop);
  job->work.priority = fop->priority;
  job->fs = p->fs;
  memcpy(job->fd, p->fd, sizeof(job->fd));
  job->store_fd = p->store_fd;
  memcpy(job->base, p->base, sizeof(job->base));
  gi_gfid_text(gfid, job->gfid);
  return job;
}

void
ix_job_add(struct ix_job *job, enum ix_what what, enum ix_class cls, const char *name)
{
  GI_ASSERT(job->nsteps < IX_STEPS);
  GI_CHECK(job, IX_JOB_MAGIC);
  GI_ASSERT(cls < IX_CLASSES && (name != NULL) == (what == IX_ENTRY_LINK || what == IX_ENTRY_UNLINK));
  struct ix_step *s = &job->step[job->nsteps++];
  s->what = what;
  s->cls = cls;
  s->err = 0;
  snprintf(s->name, sizeof(s->name), "%s", name ? name : "");
  if (what == IX_PURGE) {
    struct gi_gfid id = gi_gfid_new(job->x->reactor);
    gi_gfid_text(&id, job->spare);
  }
}

void
ix_job_free(struct ix_job *job)
{
  GI_CHECK(job, IX_JOB_MAGIC);
  job->magic = 0;
  ix_told_free(job->told);
  gi_fop_unref(job->fop);
  gi_free(job);
}

/* On a worker. A name that is there already reports EEXIST: the caller counts. */
static int
link_base(const struct ix_job *job, enum ix_class cls, const char *name)
{
  int dir = job->fd[cls];
  if (GI_BROKEN("skip the index link"))
    return 0;
  for (int tries = 0; tries < 3; tries++) {
    if (gi_fs_link(job->fs, dir, job->base[cls], dir, name) == 0)
      return 0;
    if (errno != ENOENT)
      return errno;
    int fd = gi_fs_openat(job->fs, dir, job->base[cls], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0);
    if (fd >= 0)
      gi_fs_close(job->fs, fd);
    else if (errno != EEXIST)
      return errno;
  }
  return ENOENT;
}

static void
entry_path(const struct ix_job *job, const struct ix_step *s, char path[GI_UUID_TEXT + GI_NAME_MAX + 2])
{
  snprintf(path, GI_UUID_TEXT + GI_NAME_MAX + 2, "%s/%s", job->gfid, s->name);
}

static int
link_entry(const struct ix_job *job, const struct ix_step *s)
{
  char path[GI_UUID_TEXT + GI_NAME_MAX + 2];
  if (gi_fs_mkdir(job->fs, job->fd[IX_CHANGES], job->gfid, 0600) != 0 && errno != EEXIST)
    return errno;
  entry_path(job, s, path);
  int err = link_base(job, IX_CHANGES, path);
  return err == EEXIST ? 0 : err;
}

static int
unlink_entry(const struct ix_job *job, const struct ix_step *s)
{
  char path[GI_UUID_TEXT + GI_NAME_MAX + 2];
  entry_path(job, s, path);
  return gi_fs_unlink(job->fs, job->fd[IX_CHANGES], path, 0) == 0 ? 0 : errno;
}

static void
empty_directory(struct gi_fs *fs, int at, const char *name)
{
  struct gi_fs_dir d;
  if (gi_fs_dir_open(&d, fs, at, name))
    return;
  for (const struct gi_fs_dirent *e; (e = gi_fs_dir_next(&d));) {
    if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
      gi_fs_unlink(fs, d.fd, e->name, 0);
  }
  gi_fs_dir_close(&d);
}

static int
remove_directory(const struct ix_job *job, bool with_content)
{
  GI_ASSERT(job->gfid[0] && (with_content || job->spare[0]));
  int at = job->fd[IX_CHANGES];
  if (with_content)
    empty_directory(job->fs, at, job->gfid);
  if (gi_fs_unlink(job->fs, at, job->gfid, AT_REMOVEDIR) == 0)
    return 0;
  if (errno != ENOTEMPTY && errno != EEXIST)
    return errno;
  if (with_content)
    return errno;
  /* A healer finds it under the strange name and deletes it in peace. */
  return gi_fs_rename(job->fs, at, job->gfid, at, job->spare) == 0 ? 0 : errno;
}

/* What has no counters nobody heals, and so nobody would take its links away. */
static int
find_kept(const struct ix_job *job)
{
  char path[GI_UUID_TEXT + 8], list[KEYS_BYTES];
  snprintf(path, sizeof(path), "unlink/%s", job->gfid);
  ssize_t n = gi_fs_listxattr(job->fs, job->store_fd, path, list, sizeof(list));
  if (n < 0)
    return errno == ERANGE ? 0 : errno;
  for (const char *key = list; key < list + n; key += strlen(key) + 1)
    if (ix_is_watched(ix_private(job->x), key))
      return 0;
  return ENOENT;
}

static void
job_work(struct gi_work *w)
{
  struct ix_job *job = GI_CONTAINER(w, struct ix_job, work);
  GI_CHECK(job, IX_JOB_MAGIC);
  for (unsigned i = 0; i < job->nsteps; i++) {
    struct ix_step *s = &job->step[i];
    switch (s->what) {
    case IX_KEPT:
      s->err = find_kept(job);
      if (s->err)
        job->nsteps = i + 1;
      break;
    case IX_LINK:
      s->err = link_base(job, s->cls, job->gfid);
      break;
    case IX_UNLINK:
      s->err = gi_fs_unlink(job->fs, job->fd[s->cls], job->gfid, 0) == 0 ? 0 : errno;
      break;
    case IX_ENTRY_LINK:
      s->err = link_entry(job, s);
      break;
    case IX_ENTRY_UNLINK:
      s->err = unlink_entry(job, s);
      break;
    case IX_PURGE:
    case IX_DELETE:
      s->err = remove_directory(job, s->what == IX_DELETE);
      break;
    case IX_REGIONS:
      s->err = ix_regions_step(job);
      break;
    }
  }
}

/* A base file with no room for another link: the next one takes over and the job is run again. */
static bool
needs_new_base(struct ix_job *job)
{
  struct ix_private *p = ix_private(job->x);
  bool again = false;
  for (unsigned i = 0; i < job->nsteps; i++) {
    const struct ix_step *s = &job->step[i];
    if (s->err != EMLINK)
      continue;
    enum ix_class cls = s->what == IX_ENTRY_LINK ? IX_CHANGES : s->cls;
    if (strcmp(job->base[cls], p->base[cls]) == 0)
      ix_base_new(job->x, cls);
    memcpy(job->base, p->base, sizeof(job->base));
    again = true;
  }
  return again;
}

static void
job_done(struct gi_work *w)
{
  struct ix_job *job = GI_CONTAINER(w, struct ix_job, work);
  GI_CHECK(job, IX_JOB_MAGIC);
  GI_CHECK(job->fop, GI_FOP_MAGIC);
  GI_ASSERT(ix_private(job->x)->working > 0);
  if (needs_new_base(job)) {
    gi_work_submit(job->x->reactor, &job->work);
    return;
  }
  ix_private(job->x)->working--;
  job->done(job->x, job);
}

void
ix_job_run(struct ix_job *job, void (*done)(struct gi_xlator *x, struct ix_job *job))
{
  GI_CHECK(job, IX_JOB_MAGIC);
  GI_ASSERT(job->nsteps > 0 && !job->done && done);
  job->done = done;
  job->work.run = job_work;
  job->work.done = job_done;
  ix_private(job->x)->working++;
  gi_work_submit(job->x->reactor, &job->work);
}

/* Calls that end in microseconds when the journal has room, like those of storage/posix. */
static bool
quick(const struct ix_job *job)
{
  for (unsigned i = 0; i < job->nsteps; i++)
    if (job->step[i].what != IX_LINK && job->step[i].what != IX_UNLINK && job->step[i].what != IX_KEPT)
      return false;
  return true;
}

bool
ix_job_now(struct ix_job *job)
{
  struct ix_private *p = ix_private(job->x);

  GI_CHECK(job, IX_JOB_MAGIC);
  GI_ASSERT(job->nsteps > 0 && !job->done);
  if (!quick(job) || gi_stall_is_slow(&p->stall, job->x->reactor) || gi_fs_busy(p->fs))
    return false;

  struct gi_stall_call call = gi_stall_begin(&p->stall, job->x->reactor);

  job_work(&job->work);
  gi_stall_end(&p->stall, job->x->reactor, &call);
  return !needs_new_base(job);
}

static int
learn_link(struct ix_private *p, const struct ix_step *s, struct ix_inode *ii)
{
  GI_ASSERT(s->what == IX_LINK && s->cls < IX_TRACKED);
  p->metrics.links++;
  if (s->err == 0)
    p->count[s->cls]++;
  ii->state[s->cls] = s->err == 0 || s->err == EEXIST ? IX_IN : IX_UNKNOWN;
  return s->err == EEXIST ? 0 : s->err;
}

static int
learn_unlink(struct ix_private *p, const struct ix_step *s, struct ix_inode *ii)
{
  GI_ASSERT(s->what == IX_UNLINK && s->cls < IX_TRACKED && p->count[s->cls] >= 0);
  p->metrics.unlinks++;
  if (s->err == 0 && p->count[s->cls] > p->unsure[s->cls])
    p->count[s->cls]--;
  ii->state[s->cls] = s->err == 0 || s->err == ENOENT ? IX_OUT : IX_UNKNOWN;
  return s->err;
}

int
ix_job_learn(struct gi_xlator *x, struct ix_job *job, struct ix_inode *ii)
{
  struct ix_private *p = ix_private(x);
  int first = 0;
  p->learnt++;
  for (unsigned i = 0; i < job->nsteps; i++) {
    struct ix_step *s = &job->step[i];
    int err = s->err;
    if (s->what == IX_LINK)
      err = learn_link(p, s, ii);
    else if (s->what == IX_UNLINK)
      err = learn_unlink(p, s, ii);
    else if (s->what == IX_ENTRY_LINK)
      p->metrics.entry_links++;
    else if (s->what == IX_ENTRY_UNLINK)
      p->metrics.entry_unlinks++;
    else if (s->what == IX_REGIONS)
      ix_regions_learn(p, job, ii, err);
    else if (s->what == IX_KEPT)
      p->metrics.kept += !err;
    else
      p->metrics.purges++;
    first = first ? first : err;
    if (!err || err == ENOENT)
      continue;
    p->metrics.errors++;
    gi_log(GI_LOG_ERROR, x->name, GI_MSG_INDEX + 1, "index of %s: step %d on %s%s%s failed: %s", job->gfid, s->what,
           class_dir[s->cls], *s->name ? "/" : "", s->name, strerror(err));
  }
  p->metrics.pending = (uint64_t)p->count[IX_PENDING];
  p->metrics.dirty = (uint64_t)p->count[IX_DIRTY];
  return first;
}
