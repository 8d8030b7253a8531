/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated disk: directories, the walk along a path, and attributes by
 * name.
 */
#include "tests/simulation/disk/disk-private.h"

#include <string.h>

#define FOLLOW_MAX 40

/* ---- entries ---- */

/* A cookie is above those of "." and ".." and below 2^62: translators use the highest bits. Distribution uses the lowest, too, as a local
 * file system's say nothing there. */
static uint64_t
cookie_of(const struct sim_disk *d, const char *name)
{
  uint64_t h = d->salt ^ 0x9e3779b97f4a7c15ull;

  for (; *name; name++) {
    h = (h ^ (uint8_t)*name) * 0x100000001b3ull;
    h ^= h >> 29;
  }
  h *= 0xbf58476d1ce4e5b9ull;
  h = ((h ^ h >> 31) >> 2) | 4;
  return d->cfg.coarse_cookies ? (h | 256) & ~255ull : h;
}

unsigned
sim_entry_after(const struct sim_inode *dir, uint64_t cookie)
{
  unsigned low = 0, high = dir->nentries;

  while (low < high) {
    unsigned mid = low + (high - low) / 2;

    if (dir->entry[mid].cookie <= cookie)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

/* The place of a name, or nentries. If two names have one cookie (once in 2^60), adding the second fails. */
static unsigned
place_of(const struct sim_inode *dir, const char *name)
{
  uint64_t cookie = cookie_of(dir->disk, name);
  unsigned at = sim_entry_after(dir, cookie - 1);

  return at < dir->nentries && dir->entry[at].cookie == cookie && strcmp(dir->entry[at].name, name) == 0 ? at : dir->nentries;
}

struct sim_inode *
sim_entry_find(const struct sim_inode *dir, const char *name)
{
  unsigned at = place_of(dir, name);

  return at < dir->nentries ? dir->entry[at].inode : NULL;
}

void
sim_entry_raw_add(struct sim_inode *dir, const char *name, struct sim_inode *i)
{
  uint64_t cookie = cookie_of(dir->disk, name);
  unsigned at = sim_entry_after(dir, cookie);

  GI_ASSERT(at == 0 || dir->entry[at - 1].cookie != cookie);
  if (dir->nentries == dir->room) {
    dir->room = dir->room ? 2 * dir->room : 8;
    dir->entry = gi_realloc(dir->entry, dir->room * sizeof(struct sim_dirent));
  }
  memmove(dir->entry + at + 1, dir->entry + at, (dir->nentries - at) * sizeof(struct sim_dirent));
  dir->entry[at] = (struct sim_dirent){cookie, gi_strdup(name), sim_inode_ref(i)};
  dir->nentries++;
  if (S_ISDIR(i->attr.mode)) {
    i->nlink += 2;
    i->parent = dir;
    dir->nlink++;
  } else {
    i->nlink++;
  }
}

void
sim_entry_raw_del(struct sim_inode *dir, const char *name)
{
  unsigned at = place_of(dir, name);

  GI_ASSERT(at < dir->nentries);

  struct sim_dirent e = dir->entry[at];

  memmove(dir->entry + at, dir->entry + at + 1, (dir->nentries - at - 1) * sizeof(struct sim_dirent));
  dir->nentries--;
  if (S_ISDIR(e.inode->attr.mode)) {
    e.inode->nlink -= 2;
    e.inode->parent = NULL;
    dir->nlink--;
  } else {
    e.inode->nlink--;
  }
  gi_free(e.name);
  sim_inode_unref(e.inode);
}

static void
changed(struct sim_inode *dir, struct sim_inode *i)
{
  dir->attr.mtime = dir->attr.ctime = i->attr.ctime = sim_now(dir->disk);
  dir->seq = dir->disk->seq; /* fsync of the directory commits it too */
}

void
sim_entry_add(struct sim_inode *dir, const char *name, struct sim_inode *i)
{
  struct sim_undo *u = sim_journal(i, UNDO_ADD);

  u->dir = sim_inode_ref(dir);
  u->name = gi_strdup(name);
  sim_entry_raw_add(dir, name, i);
  changed(dir, i);
}

void
sim_entry_del(struct sim_inode *dir, const char *name)
{
  struct sim_inode *i = sim_entry_find(dir, name);
  struct sim_undo *u = sim_journal(i, UNDO_DEL);

  u->dir = sim_inode_ref(dir);
  u->name = gi_strdup(name);
  sim_entry_raw_del(dir, name);
  changed(dir, i);
}

bool
sim_is_below(const struct sim_inode *i, const struct sim_inode *dir)
{
  for (; i; i = i->parent) {
    if (i == dir)
      return true;
    if (i->parent == i)
      break;
  }
  return false;
}

void
sim_names_free(struct sim_inode *i)
{
  GI_ASSERT(i->nentries == 0);
  gi_free(i->entry);
  while (i->nxattrs)
    sim_xattr_raw_remove(i, i->xattr[0].name);
  gi_free(i->xattr);
}

/* ---- the walk ---- */

struct walk {
  struct sim_inode *at;  /* where we are */
  struct sim_inode *dir; /* of the last component */
  char last[SIM_NAME_MAX + 1];
  unsigned followed;
};

static int step(struct walk *w, const char *name, size_t len, bool final, bool follow);

static int
walk_text(struct sim_disk *d, struct walk *w, const char *path, bool follow)
{
  int err = 0;

  if (*path == '/')
    w->at = d->root;
  for (;;) {
    path += strspn(path, "/");
    if (!*path)
      return err;

    size_t len = strcspn(path, "/");
    bool final = path[len + strspn(path + len, "/")] == '\0';

    err = step(w, path, len, final, follow);
    if (err)
      return err;
    path += len;
  }
}

static int
step(struct walk *w, const char *name, size_t len, bool final, bool follow)
{
  struct sim_inode *dir = w->at;

  w->dir = NULL;
  if (!S_ISDIR(dir->attr.mode))
    return ENOTDIR;
  if (len > SIM_NAME_MAX)
    return ENAMETOOLONG;
  memcpy(w->last, name, len);
  w->last[len] = '\0';
  if (final)
    w->dir = dir;
  if (strcmp(w->last, ".") == 0)
    return 0;
  if (strcmp(w->last, "..") == 0)
    w->at = dir->parent;
  else
    w->at = sim_entry_find(dir, w->last);
  if (!w->at)
    return ENOENT;
  if (!S_ISLNK(w->at->attr.mode) || (final && !follow))
    return 0;
  if (++w->followed > FOLLOW_MAX)
    return ELOOP;

  const char *text = w->at->text;

  w->at = dir;
  return walk_text(dir->disk, w, text, true);
}

struct sim_inode *
sim_walk(struct sim_disk *d, struct sim_inode *start, const char *path, bool follow, struct sim_inode **dir,
         char last[SIM_NAME_MAX + 1], int *err)
{
  struct walk w = {.at = start};

  if (dir)
    *dir = NULL;
  *err = *path ? walk_text(d, &w, path, follow) : 0;
  if (dir) {
    *dir = w.dir;
    memcpy(last, w.last, sizeof(w.last));
  }
  return *err ? NULL : w.at;
}

/* ---- attributes by name ---- */

struct sim_xattr *
sim_xattr_find(const struct sim_inode *i, const char *name)
{
  for (unsigned n = 0; n < i->nxattrs; n++) {
    if (strcmp(i->xattr[n].name, name) == 0)
      return &i->xattr[n];
  }
  return NULL;
}

void
sim_xattr_raw_set(struct sim_inode *i, const char *name, const void *value, size_t len)
{
  struct sim_xattr *x = sim_xattr_find(i, name);
  uint8_t *copy = gi_alloc(len ? len : 1);

  if (len)
    memcpy(copy, value, len);
  if (!x) {
    i->xattr = gi_realloc(i->xattr, (i->nxattrs + 1) * sizeof(struct sim_xattr));
    x = &i->xattr[i->nxattrs++];
    *x = (struct sim_xattr){.name = gi_strdup(name)};
  }
  gi_free(x->value);
  x->value = copy;
  x->len = len;
}

void
sim_xattr_raw_remove(struct sim_inode *i, const char *name)
{
  struct sim_xattr *x = sim_xattr_find(i, name);

  if (!x)
    return;
  gi_free(x->name);
  gi_free(x->value);
  *x = i->xattr[--i->nxattrs];
}
