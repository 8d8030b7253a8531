/* SPDX-License-Identifier: Apache-2.0
 *
 * Names over several sets: what the disks of all of them hold together in the end. A file is on one set, and if that is not the one that
 * its name belongs to, one linkto file there leads to it; a directory is on all.
 */
#include "libglusterish/bigendian.h"
#include "libglusterish/reactor.h"
#include "tests/simulation/model/modes.h"
#include "tests/simulation/model/namespace.h"
#include "tests/simulation/workload/workload.h"
#include "xlators/cluster/distribute/hash.h"

#include <errno.h>

#define LINKTO_KEY "trusted.glusterfs.dht.linkto"
#define LAYOUT_KEY "trusted.glusterfs.dht"
#define NOTE_KEY "trusted.glusterfs.dht.rename"
#define GFID_CHARS (GI_UUID_TEXT - 1)
#define OBJECTS 4096

/* What one set has under a name. */
enum thing { NOTHING, DATA, LINKTO, DIRECTORY };

struct seen {
  enum thing thing;
  struct gi_gfid gfid;
  uint32_t mode;
  char to[64]; /* of a linkto */
};

/* Where the data of an object is. */
struct home {
  struct gi_gfid gfid;
  unsigned set;
};

struct look {
  struct sim_cluster *c;
  struct gi_fs *fs[SIM_BRICKS]; /* by set: its first brick's */
  unsigned homes;
  struct home home[OBJECTS];
  struct di_munge munge;
};

static const char *
set_name(const struct sim_cluster *c, unsigned set, char name[64])
{
  snprintf(name, 64, SIM_VOLUME "-%s-%u", sim_has_copies(&c->config) ? "replicate" : "client", set);
  return name;
}

static ssize_t
attribute(struct gi_fs *fs, const char *path, const char *key, void *value, size_t size)
{
  int fd = gi_fs_openat(fs, AT_FDCWD, path, O_RDONLY, 0);
  ssize_t n = fd < 0 ? -1 : gi_fs_fgetxattr(fs, fd, key, value, size);

  if (fd >= 0)
    gi_fs_close(fs, fd);
  return n;
}

bool
sim_spread_is_linkto(const struct sim_cluster *c, unsigned brick, const char *path)
{
  struct gi_fs *fs = sim_disk_view(c->machine[brick].disk);
  char to[64];
  struct stat st;
  bool linkto = gi_fs_stat(fs, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && gi_has_linkto_mode(st.st_mode) &&
                attribute(fs, path, LINKTO_KEY, to, sizeof(to)) > 0;
  sim_view_free(&fs);
  return linkto;
}

/* ---- renames that did not end ---- */

/* The path on the brick of what a note calls by the gfid of its directory and its name. False: there is no such directory. */
static bool
noted_path(const struct sim_cluster *c, unsigned brick, const char *noted, char path[SIM_SPREAD_PATH])
{
  for (unsigned i = 0; i < sim_names_directories(c); i++) {
    char name[16], text[GI_UUID_TEXT];
    struct gi_gfid gfid;
    int len = snprintf(path, SIM_SPREAD_PATH, SIM_BRICK_DIR "/%s", sim_names_directory(i, name));

    if (!sim_disk_gfid(c->machine[brick].disk, path, &gfid) || strncmp(gi_gfid_text(&gfid, text), noted, GFID_CHARS) != 0)
      continue;
    snprintf(path + len, SIM_SPREAD_PATH - (size_t)len, "/%s", noted + GFID_CHARS);
    return true;
  }
  return false;
}

/* The brick has that file under both names of the note, and this is the new one. */
static bool
has_both_names(const struct sim_cluster *c, unsigned brick, const char *path, const struct gi_gfid *gfid)
{
  struct gi_fs *fs = sim_disk_view(c->machine[brick].disk);
  char note[2 * SIM_SPREAD_PATH], old[SIM_SPREAD_PATH], new[SIM_SPREAD_PATH];
  ssize_t len = attribute(fs, path, NOTE_KEY, note, sizeof(note) - 1);
  const char *second;
  struct gi_gfid other;

  sim_view_free(&fs);
  if (len <= 0 || note[len - 1] != '\0')
    return false;
  second = note + strlen(note) + 1;
  if (second >= note + len)
    return false;
  return noted_path(c, brick, second, new) && strcmp(new, path) == 0 && noted_path(c, brick, note, old) &&
         sim_disk_gfid(c->machine[brick].disk, old, &other) && gi_gfid_equal(&other, gfid);
}

bool
sim_spread_is_undecided(const struct sim_cluster *c, unsigned brick, const char *path)
{
  struct gi_gfid gfid, other;

  if (!sim_disk_gfid(c->machine[brick].disk, path, &gfid) || !has_both_names(c, brick, path, &gfid))
    return false;
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (sim_spread_is_linkto(c, i, path) && sim_disk_gfid(c->machine[i].disk, path, &other) && gi_gfid_equal(&other, &gfid))
      return false;
  return true;
}

/* ---- what sets have ---- */

static struct seen
see(const struct look *l, unsigned set, const char *path)
{
  struct seen s = {.thing = NOTHING};
  struct stat st;

  if (gi_fs_stat(l->fs[set], AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return s;
  sim_disk_gfid(l->c->machine[set * sim_set_size(&l->c->config)].disk, path, &s.gfid);
  s.mode = st.st_mode;
  s.thing = S_ISDIR(st.st_mode) ? DIRECTORY : DATA;
  if (S_ISREG(st.st_mode) && attribute(l->fs[set], path, LINKTO_KEY, s.to, sizeof(s.to) - 1) > 0)
    s.thing = LINKTO;
  return s;
}

/* The set that a name belongs to by the layout on the disks; -1: none. */
static int
hashed(const struct look *l, const char *dir, const char *name)
{
  uint32_t hash = di_hash_name(&l->munge, name);

  for (unsigned set = 0; set < sim_set_count(&l->c->config); set++) {
    uint8_t range[16];

    if (attribute(l->fs[set], dir, LAYOUT_KEY, range, sizeof(range)) != (ssize_t)sizeof(range))
      continue;
    if (gi_be32_load(range + 12) && hash >= gi_be32_load(range + 8) && hash <= gi_be32_load(range + 12))
      return (int)set;
  }
  return -1;
}

/* All names of one object are on one set. */
static void
at_home(struct look *l, const struct gi_gfid *gfid, unsigned set, const char *path)
{
  for (unsigned i = 0; i < l->homes; i++) {
    if (!gi_gfid_equal(&l->home[i].gfid, gfid))
      continue;
    if (l->home[i].set != set)
      sim_violation(l->c->w, "%s is on set %u, another name of the same file on set %u", path, set, l->home[i].set);
    return;
  }
  if (l->homes < OBJECTS)
    l->home[l->homes++] = (struct home){*gfid, set};
}

static void
judge_file(struct look *l, const char *dir, const char *name, const struct seen *seen, unsigned home)
{
  int belongs = hashed(l, dir, name);
  char want[64];

  for (unsigned set = 0; set < sim_set_count(&l->c->config); set++) {
    if (set == home || seen[set].thing == NOTHING)
      continue;
    if (!gi_gfid_equal(&seen[set].gfid, &seen[home].gfid))
      sim_violation(l->c->w, "%s/%s has another gfid on set %u than on set %u", dir, name, set, home);
    else if (seen[set].thing != LINKTO)
      sim_violation(l->c->w, "%s/%s is on set %u and on set %u", dir, name, home, set);
    else if ((int)set != belongs)
      sim_violation(l->c->w, "%s/%s has a linkto file on set %u, but belongs to set %d", dir, name, set, belongs);
    else if (strcmp(seen[set].to, set_name(l->c, home, want)) != 0)
      sim_violation(l->c->w, "%s/%s leads to %s, but is on %s", dir, name, seen[set].to, want);
  }
  if (belongs >= 0 && (unsigned)belongs != home && seen[belongs].thing == NOTHING)
    sim_violation(l->c->w, "%s/%s belongs to set %d and is on set %u, but no linkto file leads there", dir, name, belongs,
                  home);
}

/* The object that all sets together have under the name; none: nothing, or nobody can tell. */
static struct gi_gfid
judge(struct look *l, const char *dir, const char *name, bool torn)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", dir, name);
  struct seen seen[SIM_BRICKS];
  unsigned count[DIRECTORY + 1] = {0}, home = 0, sets = sim_set_count(&l->c->config);

  for (unsigned set = 0; set < sets; set++) {
    seen[set] = see(l, set, path);
    count[seen[set].thing]++;
    if (seen[set].thing == DATA || (seen[set].thing == DIRECTORY && !count[DATA]))
      home = set;
  }
  if (count[DIRECTORY] && count[DATA] + count[LINKTO])
    sim_violation(l->c->w, "%s is a file and a directory", path);
  else if (count[DIRECTORY] && count[DIRECTORY] < sets)
    sim_violation(l->c->w, "the directory %s is on %u of %u sets", path, count[DIRECTORY], sets);
  else if (count[LINKTO] && !count[DATA])
    sim_violation(l->c->w, "%s has a linkto file that leads nowhere", path);
  for (unsigned set = 0; set < sets && count[DIRECTORY]; set++)
    if (seen[set].thing == DIRECTORY && !gi_gfid_equal(&seen[set].gfid, &seen[home].gfid))
      sim_violation(l->c->w, "the directory %s has several gfids", path);
  if (count[DATA] > 1 && torn)
    return gi_gfid_none;
  if (count[DATA]) {
    judge_file(l, dir, name, seen, home);
    at_home(l, &seen[home].gfid, home, path);
    sim_modes_seen(l->c->modes, "all bricks", path, &seen[home].gfid, seen[home].mode);
  }
  return count[DATA] || count[DIRECTORY] ? seen[home].gfid : gi_gfid_none;
}

/* Of a set that is to leave nothing is left but directories. */
static void
check_empty(struct look *l, const char *dir, unsigned set)
{
  struct gi_fs_dir d;
  if (gi_fs_dir_open(&d, l->fs[set], AT_FDCWD, dir) != 0)
    return;
  for (const struct gi_fs_dirent *e; (e = gi_fs_dir_next(&d));) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", dir, e->name);
    if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0 && see(l, set, path).thing != DIRECTORY)
      sim_violation(l->c->w, "%s is left on set %u, which is to leave", path, set);
  }
  gi_fs_dir_close(&d);
}

static void
check_directory(struct look *l, unsigned dir)
{
  struct sim_listing all = {.dir = dir, .since = sim_namespace_now(l->c->names)};
  char name[16], path[64];

  snprintf(path, sizeof(path), SIM_BRICK_DIR "/%s", sim_names_directory(dir, name));
  for (unsigned set = 0; set < sim_set_count(&l->c->config); set++) {
    if (see(l, set, path).thing != DIRECTORY)
      sim_violation(l->c->w, "%s is not on set %u", path, set);
  }
  if (l->c->leaving >= 0)
    check_empty(l, path, (unsigned)l->c->leaving);
  for (unsigned n = 0; n < SIM_NAMES_PER_DIR; n++) {
    struct gi_gfid gfid =
        judge(l, path, sim_namespace_name(n, name), sim_namespace_torn(l->c->names, (struct sim_place_of){dir, n}));

    if (!gi_gfid_is_none(&gfid))
      sim_listing_add(&all, name, &gfid);
  }
  sim_namespace_listed(l->c->names, "all bricks", &all);
}

static struct look *
look_at_disks(struct sim_cluster *c)
{
  struct look *l = gi_new(struct look);
  struct gi_error err = {0};

  l->c = c;
  GI_ASSERT(di_munge_init(&l->munge, NULL, NULL, &err) == 0);
  for (unsigned set = 0; set < sim_set_count(&c->config); set++)
    l->fs[set] = sim_disk_view(c->machine[set * sim_set_size(&c->config)].disk);
  return l;
}

static void
look_away(struct look *l)
{
  for (unsigned set = 0; set < sim_set_count(&l->c->config); set++)
    sim_view_free(&l->fs[set]);
  di_munge_finish(&l->munge);
  gi_free(l);
}

void
sim_spread_check_disk(struct sim_cluster *c, unsigned brick)
{
  if (brick > 0)
    return; /* all at once */
  struct look *l = look_at_disks(c);
  for (unsigned dir = 0; dir < sim_names_directories(c); dir++)
    check_directory(l, dir);
  look_away(l);
}

/* ---- what a loss of power has left ---- */

static bool
is_double(const struct look *l, struct sim_place_of at)
{
  char dir[16], name[16], path[64];
  unsigned files = 0;

  snprintf(path, sizeof(path), SIM_BRICK_DIR "/%s/%s", sim_names_directory(at.dir, dir), sim_namespace_name(at.name, name));
  for (unsigned set = 0; set < sim_set_count(&l->c->config); set++)
    files += see(l, set, path).thing == DATA;
  return files > 1;
}

unsigned
sim_spread_doubles(struct sim_cluster *c)
{
  struct look *l = look_at_disks(c);
  unsigned doubles = 0;

  for (unsigned dir = 0; dir < sim_names_directories(c); dir++)
    for (unsigned n = 0; n < SIM_NAMES_PER_DIR; n++) {
      struct sim_place_of at = {dir, n};
      doubles += sim_namespace_torn(c->names, at) && is_double(l, at);
    }
  look_away(l);
  return doubles;
}

/* ---- whoever looks repairs ---- */

void
sim_spread_sweep(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  char name[16];

  for (unsigned dir = 0; dir < sim_names_directories(c->cluster); dir++) {
    struct gi_inode *inode = NULL;
    uint64_t since = sim_namespace_now(c->cluster->names);

    if (sim_op_lookup(c, root, sim_names_directory(dir, name), &inode, NULL) < 0)
      sim_violation(c->cluster->w, "%s: directory %s cannot be looked up", c->process->name, name);
    for (unsigned n = 0; inode && n < SIM_NAMES_PER_DIR; n++) {
      struct gi_iatt stat = {0};
      int ret = sim_op_lookup(c, inode, sim_namespace_name(n, name), NULL, &stat);

      if (ret < 0 && ret != -ENOENT)
        sim_violation(c->cluster->w, "%s: %s in directory %u cannot be looked up: %s", c->process->name, name, dir,
                      strerror(-ret));
      else
        sim_namespace_seen(c->cluster->names, c->process->name, since, (struct sim_place_of){dir, n},
                           ret < 0 ? &gi_gfid_none : &stat.gfid);
      if (ret >= 0 && S_ISREG(stat.mode))
        sim_modes_seen(c->cluster->modes, c->process->name, name, &stat.gfid, stat.mode);
    }
    gi_inode_unref(&inode);
  }
  gi_inode_unref(&root);
}
