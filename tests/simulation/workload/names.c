/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload of names: clients make, link, rename and remove files and
 * directories, in directories of their own and in shared ones, look at them and
 * at those of others, and the model judges what they are told.
 */
#include "libglusterish/log.h"
#include "libglusterish/promise.h"
#include "libglusterish/reactor.h"
#include "libglusterish/task.h"
#include "tests/simulation/model/modes.h"
#include "tests/simulation/model/namespace.h"
#include "tests/simulation/model/quorum.h"
#include "tests/simulation/workload/workload.h"

#include <errno.h>

#define TASKS 3
#define SHARED 2 /* directories; then OWN of each task of each client */
#define OWN 2
#define FIRST_DIR 15   /* names below are files, the others directories */
#define LIST_BYTES 600 /* so that a list takes several requests */
#define PAUSE_NS (100 * SIM_MS)

/* a task in a directory */
struct visit {
  struct sim_client *c;
  unsigned dir, own; /* `own`: the first directory of the task */
  struct gi_inode *inode;
  uint64_t opened;
};

unsigned
sim_names_directories(const struct sim_cluster *c)
{
  return SHARED + c->config.clients * TASKS * OWN;
}

const char *
sim_names_directory(unsigned dir, char name[16])
{
  snprintf(name, 16, "%s%u", dir < SHARED ? "shared" : "own", dir % SIM_NAMES_DIRS);
  return name;
}

static bool
is_own(const struct visit *v)
{
  return v->dir >= v->own && v->dir < v->own + OWN;
}

/* Whoever is alone in a directory knows its own changes at once. */
static uint64_t
since(const struct visit *v)
{
  return is_own(v) ? sim_namespace_now(v->c->cluster->names) : v->opened;
}

/* ---- what bricks hold ---- */

/* *linkto: what it has is a linkto file, or was one before it missed that the file has come. What a rename has left that was not decided is no
 * name. */
static bool
brick_has(const struct sim_cluster *c, unsigned brick, struct sim_place_of at, struct gi_gfid *gfid, bool *linkto)
{
  char dir[16], name[16], path[64];
  snprintf(path, sizeof(path), SIM_BRICK_DIR "/%s/%s", sim_names_directory(at.dir, dir), sim_namespace_name(at.name, name));
  bool spread = sim_set_count(&c->config) > 1;
  *linkto = spread && sim_spread_is_linkto(c, brick, path);
  return sim_disk_gfid(c->machine[brick].disk, path, gfid) && !(spread && sim_spread_is_undecided(c, brick, path));
}

/* The bricks where the name is what it is to be. A linkto file is none of the names, unless another copy of it is the file. */
static uint32_t
bricks_with(const struct sim_cluster *c, struct sim_place_of at, const struct gi_gfid *want)
{
  uint32_t names = 0, linktos = 0;
  struct gi_gfid have;
  bool linkto;
  for (unsigned i = 0; i < c->config.bricks; i++) {
    bool has = brick_has(c, i, at, &have, &linkto);
    if (has && !linkto ? gi_gfid_equal(&have, want) : gi_gfid_is_none(want))
      names |= 1u << i;
    else if (has && linkto && gi_gfid_equal(&have, want))
      linktos |= 1u << i;
  }
  for (unsigned set = 0; set < sim_set_count(&c->config); set++)
    if (sim_set_part(&c->config, set, names))
      names |= sim_set_part(&c->config, set, linktos) << (set * sim_set_size(&c->config));
  return names;
}

static unsigned
power_losses(const struct sim_cluster *c)
{
  unsigned n = 0;
  for (unsigned i = 0; i < c->config.bricks; i++)
    n += c->machine[i].power_losses;
  return n;
}

/* The set that has the most of them. */
static unsigned
best_set(const struct sim_cluster *c, uint32_t bricks)
{
  unsigned best = 0;
  for (unsigned set = 1; set < sim_set_count(&c->config); set++)
    if (__builtin_popcount(sim_set_part(&c->config, set, bricks)) > __builtin_popcount(sim_set_part(&c->config, best, bricks)))
      best = set;
  return best;
}

/* Acknowledged by a client that is alone in the directory: so many bricks must have it. A machine that has lost its power meanwhile may
 * have lost it too. */
static void
check_done(const struct visit *v, const char *what, struct sim_place_of at, unsigned losses)
{
  struct sim_cluster *c = v->c->cluster;
  struct gi_gfid want;
  if (!is_own(v) || losses != power_losses(c) || !sim_namespace_certain(c->names, at, &want))
    return;
  uint32_t bricks = bricks_with(c, at, &want);
  for (unsigned set = 0; set < sim_set_count(&c->config); set++)
    if (gi_gfid_is_none(&want) || set == best_set(c, bricks)) /* of a file there is one set */
      sim_quorum_done(v->c, sim_set_part(&c->config, set, bricks), "%s of name %u in directory %u", what, at.name, at.dir);
}

static void
tell(const struct visit *v, const char *what, struct sim_place_of at, int ret)
{
  gi_log(GI_LOG_DEBUG, v->c->process->name, 1, "%s of name %u in directory %u: %s", what, at.name, at.dir,
         ret < 0 ? strerror(-ret) : "ok");
}

/* ---- lookups ---- */

/* How late a client may learn now what others did, if it began to ask then. `strict`: bricks waited for it then. */
static uint64_t
late(const struct sim_client *c, uint64_t begin, bool strict)
{
  if (strict && gi_promise_lease(c->top->graph))
    return 0;
  uint64_t timeout = sim_layers_timeout(c->layers_had);
  return timeout ? timeout + (c->cluster->w->now - begin) : 0;
}

static int
look_for(const struct visit *v, unsigned number, struct gi_inode **inode)
{
  uint64_t from = since(v), begin = v->c->cluster->w->now;
  bool strict = gi_promise_lease(v->c->top->graph);
  char name[16];
  int ret = sim_op_lookup(v->c, v->inode, sim_namespace_name(number, name), inode, NULL);
  if (ret >= 0 || ret == -ENOENT)
    sim_namespace_seen_late(v->c->cluster->names, v->c->process->name, v->c->number, late(v->c, begin, strict), from,
                            (struct sim_place_of){v->dir, number}, *inode ? &(*inode)->gfid : &gi_gfid_none);
  return ret;
}

static struct gi_inode *
look(const struct visit *v, unsigned number)
{
  struct gi_inode *inode = NULL;
  look_for(v, number, &inode);
  return inode;
}

/* Where names are kept, a few are looked at again and again. */
static struct gi_inode *
look_on(const struct visit *v, unsigned number)
{
  struct visit now = *v;
  struct gi_inode *inode = look(v, number);
  for (unsigned i = 0; i < 8 && v->c->top && gi_promise_lease(v->c->top->graph); i++) {
    gi_inode_unref(&inode);
    sim_op_pause(v->c, sim_rng_between(&v->c->rng, SIM_MS, 600 * SIM_MS));
    if (v->c->leave || !v->c->top)
      return NULL;
    now.opened = sim_namespace_now(v->c->cluster->names);
    inode = look(&now, number);
  }
  return inode;
}

/* As a kernel does where a rebalance moves files: one that is not yet where its name belongs is found by a lookup. Nothing is made if it
 * is, or without an answer. */
static bool
may_make(const struct visit *v, unsigned number)
{
  struct gi_inode *inode = NULL;
  int ret = v->c->cluster->mover ? look_for(v, number, &inode) : -ENOENT;
  gi_inode_unref(&inode);
  return ret == -ENOENT;
}

/* ---- changes ---- */

static unsigned
any_name(struct sim_client *c, bool directory)
{
  return directory ? (unsigned)sim_rng_between(&c->rng, FIRST_DIR, SIM_NAMES_PER_DIR - 1)
                   : (unsigned)sim_rng_below(&c->rng, FIRST_DIR);
}

static unsigned
some_name(struct sim_client *c)
{
  return any_name(c, sim_rng_chance(&c->rng, 200));
}

static int
make_object(struct sim_client *c, struct gi_inode *dir, const char *name, bool directory, const struct gi_gfid *gfid)
{
  struct gi_fd *fd = NULL;
  if (directory)
    return sim_op_mkdir_as(c, dir, name, gfid, NULL);
  int ret = sim_op_create_as(c, dir, name, O_RDWR | O_EXCL, gfid, &fd);
  if (fd)
    sim_op_flush(c, fd);
  gi_fd_unref(&fd);
  return ret;
}

static void
make(const struct visit *v)
{
  struct sim_namespace *m = v->c->cluster->names;
  struct sim_place_of at = {v->dir, some_name(v->c)};
  struct gi_gfid gfid = gi_gfid_new(v->c->top->reactor);
  unsigned losses = power_losses(v->c->cluster);
  char name[16];
  if (!may_make(v, at.name))
    return;
  struct sim_naming *op = sim_namespace_make(m, v->c->number, at, &gfid);
  int ret = make_object(v->c, v->inode, sim_namespace_name(at.name, name), at.name >= FIRST_DIR, &gfid);
  sim_namespace_done(m, &op, ret < 0 ? -ret : 0);
  tell(v, "making", at, ret);
  if (ret >= 0)
    check_done(v, "making", at, losses);
}

static void
unmake(const struct visit *v)
{
  struct sim_namespace *m = v->c->cluster->names;
  struct sim_place_of at = {v->dir, some_name(v->c)};
  unsigned losses = power_losses(v->c->cluster);
  char name[16];
  struct sim_naming *op = sim_namespace_remove(m, v->c->number, at);
  sim_namespace_name(at.name, name);
  int ret = at.name >= FIRST_DIR ? sim_op_rmdir(v->c, v->inode, name) : sim_op_unlink(v->c, v->inode, name);
  sim_namespace_done(m, &op, ret < 0 ? -ret : 0);
  tell(v, "removal", at, ret);
  if (ret >= 0)
    check_done(v, "removal", at, losses);
}

static struct gi_inode *
find_dir(struct sim_client *c, unsigned dir)
{
  char name[16];
  struct gi_inode *root = sim_op_root(c), *inode = NULL;
  if (sim_op_lookup(c, root, sim_names_directory(dir, name), &inode, NULL) == -ENOENT)
    sim_violation(c->cluster->w, "%s: directory %s is said not to exist", c->process->name, name);
  gi_inode_unref(&root);
  return inode;
}

static void
move(const struct visit *v)
{
  struct sim_client *c = v->c;
  struct sim_namespace *m = c->cluster->names;
  bool directory = sim_rng_chance(&c->rng, 200);
  struct sim_place_of from = {v->dir, any_name(c, directory)}, to = {v->dir, any_name(c, directory)};
  unsigned losses = power_losses(c->cluster);
  char name[16], name2[16];
  if (sim_rng_chance(&c->rng, 500))
    to.dir = is_own(v) ? v->own + (unsigned)sim_rng_below(&c->rng, OWN) : (unsigned)sim_rng_below(&c->rng, SHARED);
  struct gi_inode *dir = to.dir == v->dir ? gi_inode_ref(v->inode) : find_dir(c, to.dir);
  if (!dir)
    return;
  bool keeps = sim_set_count(&c->cluster->config) == 1 && (from.name + to.name) % 3 == 0;
  struct sim_naming *op = (keeps ? sim_namespace_rename_free : sim_namespace_rename)(m, c->number, from, to);
  int ret = (keeps ? sim_op_rename_free : sim_op_rename)(c, v->inode, sim_namespace_name(from.name, name), dir,
                                                         sim_namespace_name(to.name, name2));
  sim_namespace_done(m, &op, ret < 0 ? -ret : 0);
  gi_inode_unref(&dir);
  tell(v, "renaming", from, ret);
  tell(v, "renaming to", to, ret);
  if (ret < 0)
    return;
  check_done(v, "renaming", from, losses);
  check_done(v, "renaming to", to, losses);
}

static void
join(const struct visit *v)
{
  struct sim_client *c = v->c;
  struct sim_namespace *m = c->cluster->names;
  struct sim_place_of at = {v->dir, any_name(c, false)};
  unsigned losses = power_losses(c->cluster);
  struct gi_inode *inode = look(v, any_name(c, false));
  char name[16];
  if (!inode)
    return;
  struct sim_naming *op = sim_namespace_make(m, c->number, at, &inode->gfid);
  int ret = sim_op_link(c, inode, v->inode, sim_namespace_name(at.name, name));
  sim_namespace_done(m, &op, ret < 0 ? -ret : 0);
  tell(v, "linking", at, ret);
  if (ret >= 0)
    check_done(v, "linking", at, losses);
  gi_inode_unref(&inode);
}

/* ---- lists and modes ---- */

static void
listed(void *arg, const struct gi_dirent *e)
{
  sim_listing_add(arg, e->name, &e->stat.gfid);
}

static void
list(const struct visit *v)
{
  struct sim_listing l = {.dir = v->dir, .since = since(v)};
  int ret = sim_op_list_slowly(v->c, v->inode, LIST_BYTES, sim_rng_below(&v->c->rng, PAUSE_NS), listed, &l);
  gi_log(GI_LOG_DEBUG, v->c->process->name, 1, "list of directory %u: %d", v->dir, ret);
  if (ret >= 0)
    sim_namespace_listed(v->c->cluster->names, v->c->process->name, &l);
}

/* Of files that a rebalance moves, in a directory that is not somebody else's. */
static void
change_mode(const struct visit *v, struct gi_inode *inode)
{
  struct sim_client *c = v->c;
  unsigned number = (unsigned)sim_rng_below(&c->rng, sim_modes_count());
  struct sim_moding *op = sim_modes_set(c->cluster->modes, c->number, &inode->gfid, number);
  int ret = sim_op_chmod(c, inode, sim_mode(number));
  char text[GI_UUID_TEXT];
  sim_modes_done(c->cluster->modes, &op, ret < 0 ? -ret : 0);
  gi_log(GI_LOG_DEBUG, c->process->name, 1, "mode 0%o of %s: %s", sim_mode(number), gi_gfid_text(&inode->gfid, text),
         ret < 0 ? strerror(-ret) : "ok");
}

static void
look_at_one(const struct visit *v, bool guest)
{
  unsigned name = some_name(v->c);
  struct gi_inode *inode = look_on(v, name);
  if (inode && name < FIRST_DIR && v->c->cluster->mover && !guest && !v->c->leave)
    change_mode(v, inode);
  gi_inode_unref(&inode);
}

/* ---- the session ---- */

static void
act(const struct visit *v)
{
  unsigned what = (unsigned)sim_rng_below(&v->c->rng, 20);
  bool guest = v->dir >= SHARED && !is_own(v);
  if (what < 6 && !guest)
    make(v);
  else if (what < 9 && !guest)
    unmake(v);
  else if (what < 13 && !guest)
    move(v);
  else if (what < 14 && !guest)
    join(v);
  else if (what < 17)
    look_at_one(v, guest);
  else
    list(v);
}

static unsigned
where(struct sim_client *c, unsigned own)
{
  uint64_t chance = sim_rng_below(&c->rng, 100);
  if (chance < 60)
    return own + (unsigned)sim_rng_below(&c->rng, OWN);
  return (unsigned)sim_rng_below(&c->rng, chance < 85 ? SHARED : sim_names_directories(c->cluster));
}

static void
names_task(struct sim_client *c)
{
  unsigned own = SHARED + (c->number * TASKS + c->next_task++) * OWN;
  while (!c->leave) {
    struct visit v = {.c = c, .own = own, .dir = where(c, own), .opened = sim_namespace_now(c->cluster->names)};
    if (c->up)
      v.inode = find_dir(c, v.dir);
    for (unsigned i = (unsigned)sim_rng_between(&c->rng, 1, 8); v.inode && i > 0 && !c->leave; i--)
      act(&v);
    gi_inode_unref(&v.inode);
    if (!c->leave)
      sim_op_pause(c, sim_rng_between(&c->rng, SIM_MS, 300 * SIM_MS));
  }
}

void
sim_names_session(struct sim_client *c)
{
  sim_namespace_abandon(c->cluster->names, c->number);
  sim_modes_abandon(c->cluster->modes, c->number);
  sim_client_tasks(c, TASKS, names_task);
}

/* On a task of one client, before anything goes wrong. */
void
sim_names_setup(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  char name[16];
  for (unsigned i = 0; i < sim_names_directories(c->cluster); i++) {
    int ret = sim_op_mkdir(c, root, sim_names_directory(i, name), NULL);
    if (ret < 0)
      sim_violation(c->cluster->w, "%s cannot be made: %s", name, strerror(-ret));
  }
  gi_inode_unref(&root);
}

/* What a brick holds in the end, judged like a list. */
void
sim_names_check_disk(struct sim_cluster *c, unsigned brick)
{
  char who[32], name[16], path[64];
  struct gi_fs *fs = sim_disk_view(c->machine[brick].disk);
  snprintf(who, sizeof(who), "brick-%u", brick);
  for (unsigned i = 0; i < sim_names_directories(c); i++) {
    struct sim_listing l = {.dir = i, .since = sim_namespace_now(c->names)};
    struct gi_fs_dir d;
    snprintf(path, sizeof(path), SIM_BRICK_DIR "/%s", sim_names_directory(i, name));
    if (gi_fs_dir_open(&d, fs, AT_FDCWD, path) != 0) {
      sim_violation(c->w, "%s: %s cannot be listed", who, path);
      continue;
    }
    for (const struct gi_fs_dirent *e; (e = gi_fs_dir_next(&d));) {
      GI_CLEANUP_FREE char *full = gi_asprintf("%s/%s", path, e->name);
      struct gi_gfid gfid = gi_gfid_none;
      if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
        continue;
      sim_disk_gfid(c->machine[brick].disk, full, &gfid);
      sim_listing_add(&l, e->name, &gfid);
    }
    gi_fs_dir_close(&d);
    sim_namespace_listed(c->names, who, &l);
  }
  sim_view_free(&fs);
}
