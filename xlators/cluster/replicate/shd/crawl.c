/* SPDX-License-Identifier: Apache-2.0
 *
 * The crawler: finds out which bricks are on this host, lists what their heal
 * indices (or, full, all their directories) name, and hands it to the queue;
 * what becomes of one item is decided here too (replicate.md 7.9).
 */
#include "xlators/cluster/replicate/shd/shd.h"

#define ROUNDS_MAX 256 /* at once, as long as each heals something */

static const char *const index_key[REP_INDEX_DIRS] = {"glusterfs.xattrop_index_gfid", "glusterfs.xattrop_dirty_gfid",
                                                      "glusterfs.xattrop_entry_changes_gfid"};

const struct rep_shd_engine rep_shd_engine = {.inode = rep_heal_inode, .name = rep_heal_name, .clean = rep_shd_clean};

void
rep_shd_locate(struct rep_shd *shd)
{
  static const char key[] = "trusted.glusterfs.pathinfo";
  struct rep *rep = shd->rep;
  struct rep_heal h;

  rep_heal_begin(&h, rep, &gi_gfid_root, GI_PID_HEAL);
  rep_foreach(i, rep->up)
  {
    struct rep_shd_brick *b = &shd->brick[i];
    const char *text;

    if (b->asked)
      continue;

    struct gi_fop *fop = rep_heal_getxattr(&h, i, h.inode, key);

    if (fop->rsp.ret >= 0) {
      b->asked = true;
      b->local = gi_dict_get_str(fop->rsp.dict, key, &text) && rep_local_is(rep, text);
    }
    gi_fop_unref(fop);
  }
  rep_heal_end(&h);
}

bool
rep_shd_count(struct rep_shd *shd, unsigned child)
{
  static const char *const key[] = {"glusterfs.xattrop_index_count", "glusterfs.xattrop_dirty_count"};
  struct rep_shd_brick *b = &shd->brick[child];
  uint64_t n[GI_ARRAY_LEN(key)] = {0};
  bool known = true;
  struct rep_heal h;

  rep_heal_begin(&h, shd->rep, &gi_gfid_root, GI_PID_HEAL);
  for (unsigned k = 0; k < GI_ARRAY_LEN(key) && known; k++) {
    struct gi_fop *fop = rep_heal_getxattr(&h, child, h.inode, key[k]);

    known = fop->rsp.ret >= 0 && gi_dict_get_uint(fop->rsp.dict, key[k], &n[k]);
    gi_fop_unref(fop);
  }
  rep_heal_end(&h);
  if (known) {
    b->pending = n[0];
    b->dirty = n[1];
  }
  return known;
}

/* ---- one item ---- */

/* A brick's index names an object that the brick does not have: the name goes. */
static bool
drop_stale(struct rep_shd *shd, struct rep_heal *h, const struct rep_item *item)
{
  const struct gi_gfid *dir = &shd->brick[item->child].index[item->index];
  struct gi_fop *fop = rep_heal_one(h, rep_heal_inode_fop(h, GI_FOP_LOOKUP, h->inode), item->child);
  bool gone = fop->rsp.ret < 0 && (fop->rsp.err == ENOENT || fop->rsp.err == ESTALE), done;
  char name[GI_UUID_TEXT];

  gi_fop_unref(fop);
  if (!gone || gi_gfid_is_none(dir))
    return false;
  fop = rep_heal_fop(h, item->index == REP_INDEX_CHANGES ? GI_FOP_RMDIR : GI_FOP_UNLINK);

  struct gi_inode *parent = gi_inode_get(shd->rep->x->graph, dir);

  gi_fop_set_entry(fop, &fop->loc, parent, gi_gfid_text(&item->gfid, name));
  fop->args.flags = item->index == REP_INDEX_CHANGES; /* with everything in it */
  rep_heal_one(h, fop, item->child);
  done = fop->rsp.ret >= 0;
  gi_fop_unref(fop);
  gi_inode_unref(&parent);
  return done;
}

static bool
note_result(struct rep_shd *shd, struct rep_heal *h, const struct rep_item *item, int result)
{
  struct rep_crawl *c = rep_shd_crawl_of(shd, item->child);

  GI_ASSERT(c && c->running && result <= REP_HEAL_CLEAN);
  if (result == REP_HEALED) {
    c->healed++;
    return true;
  }
  if (h->split_brain || result == -EIO) {
    c->split_brain++;
    rep_shd_split(shd, &item->gfid, rep_heal_path(h, item->child, h->inode));
    return false;
  }
  if (item->index != REP_INDEX_NONE && result == REP_HEAL_CLEAN)
    rep_heal_touch(h);
  if (item->index != REP_INDEX_NONE && result == -EAGAIN && rep_shd_purge_unreachable(h))
    return true;
  if (item->index != REP_INDEX_NONE && result != REP_HEAL_BUSY && drop_stale(shd, h, item))
    return true;
  if (result < 0 && result != -ENOENT && result != -ESTALE)
    c->failed++;
  return false;
}

static int
heal_listed_name(struct rep_shd *shd, const struct gi_gfid *parent, const char *name)
{
  struct rep_heal h;
  int ret;

  rep_heal_begin(&h, shd->rep, parent, GI_PID_HEAL);
  ret = shd->engine->name(&h, h.inode, name, &gi_gfid_none);
  rep_heal_end(&h);
  return ret;
}

bool
rep_shd_heal(void *arg, const struct rep_item *item)
{
  struct rep_shd *shd = arg;
  struct rep *rep = shd->rep;
  struct rep_heal h;
  bool progress;
  int ret = 0;

  GI_CHECK(shd, REP_SHD_MAGIC);
  GI_ASSERT(item->child < rep->n && item->index <= REP_INDEX_NONE);
  if (shd->remaining)
    shd->remaining--;
  if (rep->up != rep->all || rep->draining) { /* no heal without every child (replicate.md 7.1) */
    rep_shd_crawl_of(shd, item->child)->failed++;
    return false;
  }
  if (item->name)
    ret = heal_listed_name(shd, &item->parent, item->name);
  rep_heal_begin(&h, rep, &item->gfid, GI_PID_HEAL);
  h.data = h.metadata = h.entry = true;
  if (ret == 0)
    ret = shd->engine->inode(&h);
  progress = note_result(shd, &h, item, ret);
  rep_heal_end(&h);
  rep_shd_tick(shd);
  return progress;
}

/* What a loss of power left of a creation has a name, and perhaps no gfid: nothing marks it, and a directory would stay for ever. What
 * somebody has put on the brick by hand stays. True: something was done about it. */
static bool
heal_without_gfid(struct rep_shd *shd, unsigned child, const struct gi_gfid *parent, const char *name)
{
  struct rep *rep = shd->rep;
  bool may = rep->up == rep->all && !rep->draining;
  int ret = may ? heal_listed_name(shd, parent, name) : -ENOTCONN;

  if (ret == 0)
    rep_shd_crawl_of(shd, child)->healed++;
  else if (ret != -EIO && ret != -ENOENT && ret != -ESTALE)
    rep_shd_crawl_of(shd, child)->failed++;
  return ret == 0;
}

/* ---- index sweep ---- */

static bool
find_index(struct rep_shd *shd, struct rep_heal *h, unsigned child, enum rep_index_dir dir)
{
  struct gi_gfid *gfid = &shd->brick[child].index[dir];
  struct gi_fop *fop = rep_heal_getxattr(h, child, h->inode, index_key[dir]);
  bool found = fop->rsp.ret >= 0 && gi_dict_get_gfid(fop->rsp.dict, index_key[dir], gfid) && !gi_gfid_is_root(gfid);

  if (!found)
    *gfid = gi_gfid_none;
  gi_fop_unref(fop);
  return found && !gi_gfid_is_none(gfid);
}

static void
sweep(struct rep_shd *shd, struct rep_heal *h, unsigned child, enum rep_index_dir dir)
{
  struct rep_item item = {.child = (uint8_t)child, .index = (uint8_t)dir};
  struct rep_walk w;
  const struct gi_dirent *e;
  struct gi_inode *inode;

  if (!find_index(shd, h, child, dir))
    return;
  inode = gi_inode_get(shd->rep->x->graph, &shd->brick[child].index[dir]);
  rep_walk_open(&w, h, inode, child, false);
  while (rep_shd_crawls(shd) && (e = rep_walk_next(&w))) {
    if (!gi_gfid_parse(e->name, &item.gfid) || gi_gfid_is_none(&item.gfid))
      continue; /* a base file */
    item.key = item.gfid;
    rep_queue_put(&shd->queue, &item);
  }
  rep_walk_close(&w);
  gi_inode_unref(&inode);
}

/* Names first: what is in a file cannot be healed before the file is there. */
static void
sweep_indices(struct rep_shd *shd, struct rep_heal *h, unsigned child)
{
  sweep(shd, h, child, REP_INDEX_CHANGES);
  rep_queue_drain(&shd->queue);
  if (rep_shd_crawls(shd))
    sweep(shd, h, child, REP_INDEX_PENDING);
  if (rep_shd_crawls(shd))
    sweep(shd, h, child, REP_INDEX_DIRTY);
}

/* ---- full crawl ---- */

/* directories yet to be listed */
struct todo {
  struct gi_gfid *gfid;
  unsigned n, room;
};

static void
put_off(struct todo *t, const struct gi_gfid *gfid)
{
  if (t->n == t->room) {
    t->room = t->room ? 2 * t->room : 64;
    t->gfid = gi_realloc(t->gfid, t->room * sizeof(*t->gfid));
  }
  GI_ASSERT(t->n < t->room && !gi_gfid_is_none(gfid));
  t->gfid[t->n++] = *gfid;
}

/* Names are the items of a full crawl: an object with several names is one item per name. */
static struct gi_gfid
name_key(const struct gi_gfid *parent, const char *name)
{
  struct gi_gfid key = *parent;
  uint64_t h[2] = {0xcbf29ce484222325ull, 0x84222325cbf29ce4ull};

  for (const char *c = name; *c; c++) {
    h[0] = (h[0] ^ (uint8_t)*c) * 0x100000001b3ull;
    h[1] = (h[1] + (uint8_t)*c) * 0x9e3779b97f4a7c15ull;
  }
  for (unsigned i = 0; i < sizeof(key.b); i++)
    key.b[i] ^= ((const uint8_t *)h)[i];
  return key;
}

/* A directory is healed before it is listed, everything else by the queue. */
static void
list_directory(struct rep_shd *shd, struct rep_heal *h, unsigned child, const struct gi_gfid *gfid, struct todo *todo)
{
  struct gi_inode *dir = gi_inode_get(shd->rep->x->graph, gfid);
  struct rep_walk w;
  const struct gi_dirent *e;

  rep_walk_open(&w, h, dir, child, true);
  while (rep_shd_crawls(shd) && (e = rep_walk_next(&w))) {
    struct rep_item item = {
        .child = (uint8_t)child, .index = REP_INDEX_NONE, .parent = *gfid, .name = (char *)(uintptr_t)e->name};

    if (rep_walk_skips(h, gfid, e->name))
      continue;
    if (gi_gfid_is_none(&e->stat.gfid)) {
      shd->queue.progress += heal_without_gfid(shd, child, gfid, e->name);
      continue;
    }
    item.gfid = e->stat.gfid;
    item.key = name_key(gfid, e->name);
    if (S_ISDIR(e->stat.mode)) {
      shd->queue.progress += rep_shd_heal(shd, &item);
      put_off(todo, &item.gfid);
    } else {
      rep_queue_put(&shd->queue, &item);
    }
  }
  if (w.err && w.err != ENOENT && w.err != ESTALE)
    rep_shd_crawl_of(shd, child)->failed++;
  rep_walk_close(&w);
  gi_inode_unref(&dir);
}

static void
walk_tree(struct rep_shd *shd, struct rep_heal *h, unsigned child)
{
  struct rep_item root = {.child = (uint8_t)child, .index = REP_INDEX_NONE, .gfid = gi_gfid_root};
  struct todo todo = {0};

  rep_shd_heal(shd, &root);
  put_off(&todo, &gi_gfid_root);
  while (todo.n && rep_shd_crawls(shd)) {
    struct gi_gfid gfid = todo.gfid[--todo.n];

    list_directory(shd, h, child, &gfid, &todo);
  }
  gi_free(todo.gfid);
}

/* ---- rounds ---- */

uint32_t
rep_shd_local(const struct rep_shd *shd)
{
  uint32_t mask = 0;

  rep_foreach(i, shd->rep->up) if (shd->brick[i].local) mask |= 1u << i;
  return mask;
}

static void
count_all(struct rep_shd *shd)
{
  shd->remaining = 0;
  rep_foreach(i, rep_shd_local(shd))
  {
    const struct rep_shd_brick *b = &shd->brick[i];

    if (rep_shd_count(shd, i) && b->pending + b->dirty > shd->remaining)
      shd->remaining = b->pending + b->dirty;
  }
}

/* One pass over every local brick. One after the other: what the first lists and gets healed the next does not list any more.
 * How much was achieved. */
static uint64_t
pass(struct rep_shd *shd, bool full)
{
  uint64_t before = shd->queue.progress;
  struct rep_heal h;

  count_all(shd);
  rep_heal_begin(&h, shd->rep, &gi_gfid_root, GI_PID_HEAL);
  rep_foreach(i, rep_shd_local(shd))
  {
    if (!rep_shd_crawls(shd))
      break;

    struct rep_crawl *c = rep_shd_crawl_begin(shd, i, full);

    if (full)
      walk_tree(shd, &h, i);
    else
      sweep_indices(shd, &h, i);
    rep_queue_drain(&shd->queue);
    GI_ASSERT(!shd->queue.running && !shd->queue.waiting);
    rep_shd_crawl_end(shd, c);
  }
  rep_heal_end(&h);
  rep_queue_forget(&shd->queue);
  return shd->queue.progress - before;
}

/* Only when everybody is there and nothing is left to heal may what lies in the anonymous directory be judged. */
static void
clean_when_healed(struct rep_shd *shd)
{
  struct rep *rep = shd->rep;
  struct rep_heal h;

  count_all(shd);
  shd->unclean = true;
  if (shd->remaining || rep->up != rep->all || !rep_shd_crawls(shd))
    return;
  rep_heal_begin(&h, rep, &gi_gfid_root, GI_PID_HEAL);
  shd->engine->clean(&h, rep_shd_local(shd));
  rep_heal_end(&h);
  shd->unclean = false;
}

void
rep_shd_crawl(struct rep_shd *shd)
{
  while (rep_shd_crawls(shd) && (shd->want_index || shd->want_full)) {
    bool full = shd->want_full;
    unsigned rounds = 0;

    shd->want_index = shd->want_full = false;
    rep_shd_locate(shd);
    if (full)
      pass(shd, true);
    while (rep_shd_crawls(shd) && pass(shd, false) && ++rounds < ROUNDS_MAX)
      ; /* a healed directory brings objects to light that are to be healed in turn */
    clean_when_healed(shd);
  }
}
