/* SPDX-License-Identifier: Apache-2.0
 *
 * The rig of testing/testbed.h: what lies on the bricks, and healing it all.
 */
#include "xlators/cluster/replicate/testing/testbed.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#define GFIDS_MAX 20000
#define SWEEPS_MAX 12

static void
path_on(const struct yard *y, char out[PATH_MAX], unsigned brick, const char *path)
{
  if (snprintf(out, PATH_MAX, "%s/%u%s%s", y->dir, brick, path[0] ? "/" : "", path) >= PATH_MAX)
    fail_msg("a path is too long");
}

/* Bricks see by the ctime that somebody was there behind their back, and ctimes go by the ticks of the kernel's clock: of 10 ms at most. */
static void
await_tick(void)
{
  usleep(12000);
}

void
yard_path(const struct yard *y, char out[PATH_MAX], unsigned brick, const char *path)
{
  await_tick();
  path_on(y, out, brick, path);
}

bool
yard_has(const struct yard *y, unsigned brick, const char *path)
{
  char full[PATH_MAX];

  path_on(y, full, brick, path);
  return faccessat(AT_FDCWD, full, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static struct gi_gfid
gfid_at(const char *full)
{
  struct gi_gfid gfid = gi_gfid_none;

  if (lgetxattr(full, "trusted.gfid", gfid.b, sizeof(gfid.b)) != sizeof(gfid.b))
    return gi_gfid_none;
  return gfid;
}

struct gi_gfid
yard_disk_gfid(const struct yard *y, unsigned brick, const char *path)
{
  char full[PATH_MAX];

  path_on(y, full, brick, path);
  return gfid_at(full);
}

/* ---- comparing ---- */

static bool
ours(const char *dir, const char *name)
{
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (!*dir && strcmp(name, ".glusterfs") == 0) ||
         (!*dir && strncmp(name, ".glusterfs-anonymous-inode-", 27) == 0);
}

static void
compare_files(const char *a, const char *b, const char *path)
{
  char x[4096], z[4096];
  int fa = open(a, O_RDONLY), fb = open(b, O_RDONLY);
  ssize_t na = read(fa, x, sizeof(x)), nb = read(fb, z, sizeof(z));

  close(fa);
  close(fb);
  if (na != nb || na < 0 || memcmp(x, z, (size_t)na) != 0)
    fail_msg("%s: the contents differ: %zd and %zd bytes", path, na, nb);
}

/* Names users see: one more may be in the anonymous directory. */
static unsigned
links_of(const struct yard *y, unsigned brick, const struct gi_gfid *gfid, const struct stat *st)
{
  char name[128], text[GI_UUID_TEXT];

  snprintf(name, sizeof(name), ".glusterfs-anonymous-inode-%s/%s", YARD_VOLUME, gi_gfid_text(gfid, text));
  return (unsigned)st->st_nlink - yard_has(y, brick, name);
}

static void
compare_objects(const struct yard *y, unsigned brick, const char *path, bool contents)
{
  char a[PATH_MAX], b[PATH_MAX], la[256] = "", lb[256] = "";
  struct gi_gfid ga, gb;
  struct stat sa, sb;

  path_on(y, a, 0, path);
  path_on(y, b, brick, path);
  if (lstat(a, &sa) < 0 || lstat(b, &sb) < 0)
    fail_msg("%s is on one of bricks 0 and %u only (%s on 0)", path, brick, yard_has(y, 0, path) ? "there" : "missing");
  ga = gfid_at(a);
  gb = gfid_at(b);
  if (*path && (gi_gfid_is_none(&ga) || !gi_gfid_equal(&ga, &gb)))
    fail_msg("%s has another gfid on brick %u", path, brick);
  if ((sa.st_mode & S_IFMT) != (sb.st_mode & S_IFMT) || sa.st_rdev != sb.st_rdev ||
      (!S_ISDIR(sa.st_mode) && links_of(y, 0, &ga, &sa) != links_of(y, brick, &gb, &sb)))
    fail_msg("%s differs on brick %u: mode %o/%o links %u/%u", path, brick, sa.st_mode, sb.st_mode, links_of(y, 0, &ga, &sa),
             links_of(y, brick, &gb, &sb));
  if (S_ISLNK(sa.st_mode) &&
      (readlink(a, la, sizeof(la) - 1) < 0 || readlink(b, lb, sizeof(lb) - 1) < 0 || strcmp(la, lb) != 0))
    fail_msg("%s leads to %s on one brick and to %s on another", path, la, lb);
  if (!contents)
    return;
  if (sa.st_uid != sb.st_uid || sa.st_gid != sb.st_gid || sa.st_mode != sb.st_mode)
    fail_msg("%s has other attributes on brick %u: mode %o/%o", path, brick, sa.st_mode, sb.st_mode);
  if (S_ISREG(sa.st_mode))
    compare_files(a, b, path);
}

/* Everything brick `from` has must be on brick `brick` too and the same. */
static void
compare_trees(const struct yard *y, unsigned from, unsigned brick, const char *dir, bool contents)
{
  char full[PATH_MAX], path[PATH_MAX];
  struct dirent *e;
  DIR *d;

  path_on(y, full, from, dir);
  d = opendir(full);
  assert_non_null(d);
  while ((e = readdir(d))) {
    if (ours(dir, e->d_name))
      continue;
    if (snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", e->d_name) >= (int)sizeof(path))
      fail_msg("a path is too long");
    compare_objects(y, from ? from : brick, path, contents);
    if (e->d_type == DT_DIR)
      compare_trees(y, from, brick, path, contents);
  }
  closedir(d);
}

void
yard_same(const struct yard *y, bool contents)
{
  for (unsigned i = 1; i < YARD; i++) {
    compare_trees(y, 0, i, "", contents);
    compare_trees(y, i, 0, "", contents);
  }
}

/* ---- counters ---- */

static void
mark_name(char out[64], unsigned blamed)
{
  if (blamed == YARD)
    snprintf(out, 64, "trusted.afr.dirty");
  else
    snprintf(out, 64, "trusted.afr.v-client-%u", blamed);
}

int
yard_mark(const struct yard *y, unsigned brick, const char *path, unsigned blamed, enum rep_type type)
{
  char full[PATH_MAX], name[64];
  uint32_t be[REP_TYPES];

  path_on(y, full, brick, path);
  mark_name(name, blamed);
  if (lgetxattr(full, name, be, sizeof(be)) != sizeof(be))
    return 0;
  return (int)be32toh(be[type]);
}

void
yard_set_mark(const struct yard *y, unsigned brick, const char *path, unsigned blamed, const int32_t slot[REP_TYPES])
{
  char full[PATH_MAX], name[64];
  uint32_t be[REP_TYPES];

  for (int s = 0; s < REP_TYPES; s++)
    be[s] = htobe32((uint32_t)slot[s]);
  yard_path(y, full, brick, path);
  mark_name(name, blamed);
  assert_int_equal(lsetxattr(full, name, be, sizeof(be), 0), 0);
}

static void
no_marks_below(const struct yard *y, unsigned brick, const char *dir)
{
  char full[PATH_MAX], path[PATH_MAX];
  struct dirent *e;
  DIR *d;

  for (unsigned j = 0; j <= YARD; j++)
    for (enum rep_type t = 0; t < REP_TYPES; t++)
      if (yard_mark(y, brick, dir, j, t))
        fail_msg("\"%s\" on brick %u still counts %d against %u in slot %d", dir, brick, yard_mark(y, brick, dir, j, t), j, t);
  path_on(y, full, brick, dir);
  d = opendir(full);
  if (!d)
    return; /* not a directory */
  while ((e = readdir(d)))
    if (!ours(dir, e->d_name) && snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", e->d_name) < (int)sizeof(path))
      no_marks_below(y, brick, path);
  closedir(d);
}

void
yard_no_marks(const struct yard *y)
{
  for (unsigned i = 0; i < YARD; i++)
    no_marks_below(y, i, "");
}

/* ---- indices and healing ---- */

static const char *const index_dir[] = {".glusterfs/indices/xattrop", ".glusterfs/indices/dirty"};

/* Calls fn for every gfid in a heal index; the number of them. */
static unsigned
each_index_name(const struct yard *y, void (*fn)(unsigned brick, const char *path, const struct gi_gfid *gfid, void *arg),
                void *arg)
{
  unsigned n = 0;

  for (unsigned i = 0; i < YARD; i++)
    for (size_t k = 0; k < GI_ARRAY_LEN(index_dir); k++) {
      char full[PATH_MAX], path[PATH_MAX];
      struct gi_gfid gfid;
      struct dirent *e;
      DIR *d;

      path_on(y, full, i, index_dir[k]);
      d = opendir(full);
      while (d && (e = readdir(d))) {
        if (!gi_gfid_parse(e->d_name, &gfid))
          continue;
        n++;
        if (fn && snprintf(path, sizeof(path), "%s/%s", full, e->d_name) < (int)sizeof(path))
          fn(i, path, &gfid, arg);
      }
      if (d)
        closedir(d);
    }
  return n;
}

unsigned
yard_pending(const struct yard *y)
{
  return each_index_name(y, NULL, NULL);
}

unsigned
yard_changes(const struct yard *y, unsigned brick, const char *path)
{
  struct gi_gfid gfid = yard_disk_gfid(y, brick, path);
  char name[PATH_MAX], full[PATH_MAX], text[GI_UUID_TEXT];
  struct dirent *e;
  unsigned n = 0;
  DIR *d;

  snprintf(name, sizeof(name), ".glusterfs/indices/entry-changes/%s", gi_gfid_text(&gfid, text));
  path_on(y, full, brick, name);
  d = opendir(full);
  while (d && (e = readdir(d)))
    n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
  if (d)
    closedir(d);
  return n;
}

struct job {
  struct yard *y;
  struct gi_gfid gfid;
  bool entry_only;
  int result;
};

static void
heal(void *arg)
{
  struct job *job = arg;
  struct rep_heal h;

  rep_heal_begin(&h, job->y->rep, &job->gfid, GI_PID_HEAL);
  h.data = h.metadata = h.entry = true;
  job->result = job->entry_only ? rep_heal_entry(&h) : rep_heal_inode(&h);
  if (!job->entry_only && job->result == REP_HEAL_CLEAN)
    rep_heal_touch(&h);
  rep_heal_end(&h);
}

int
yard_heal_entry(struct yard *y, const char *path)
{
  struct job job = {.y = y, .entry_only = true, .gfid = gi_gfid_root};

  for (unsigned i = 0; *path && i < YARD; i++)
    if (yard_has(y, i, path))
      job.gfid = yard_disk_gfid(y, i, path);
  yard_task(y, heal, &job);
  return job.result;
}

struct sweep {
  unsigned n;
  struct gi_gfid gfid[GFIDS_MAX];
};

static void
collect(unsigned brick, const char *path, const struct gi_gfid *gfid, void *arg)
{
  struct sweep *s = arg;

  for (unsigned i = 0; i < s->n; i++)
    if (gi_gfid_equal(&s->gfid[i], gfid))
      return;
  if (s->n < GFIDS_MAX)
    s->gfid[s->n++] = *gfid;
}

static void
forget(unsigned brick, const char *path, const struct gi_gfid *gfid, void *arg)
{
  if (gi_gfid_equal(gfid, arg))
    unlink(path);
}

static bool
landfill_empty(const struct yard *y)
{
  bool empty = true;

  for (unsigned i = 0; i < YARD; i++) {
    char full[PATH_MAX];
    struct dirent *e;
    DIR *d;

    path_on(y, full, i, ".glusterfs/landfill");
    d = opendir(full);
    while (d && (e = readdir(d)))
      empty = empty && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
    if (d)
      closedir(d);
  }
  return empty;
}

unsigned
yard_heal(struct yard *y)
{
  struct sweep *s = gi_new(struct sweep);

  for (int round = 0; round < SWEEPS_MAX && yard_pending(y); round++) {
    s->n = 0;
    each_index_name(y, collect, s);
    for (unsigned i = 0; i < s->n; i++) {
      struct job job = {.y = y, .gfid = s->gfid[i]};

      yard_task(y, heal, &job);
      if (job.result == -ENOENT || job.result == -ESTALE)
        each_index_name(y, forget, &s->gfid[i]);
    }
  }
  gi_free(s);
  for (int i = 0; i < 10000 && !landfill_empty(y); i++) /* what was thrown away still counts as a link until the janitor came */
    gi_reactor_turn(y->ctx.reactor, 1000000);
  return yard_pending(y);
}
