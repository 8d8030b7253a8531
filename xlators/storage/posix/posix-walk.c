/* SPDX-License-Identifier: Apache-2.0
 *
 * Ways to directories: up from a gfid by the texts of handles, down again name
 * by name without following symlinks (posix-handle.c).
 *
 * Anybody who may make directories decides how long a way is. On the reactor it
 * ends at the first directory that is open already, so that somebody who goes
 * down a tree pays for one level each time, and if that is not near the whole
 * operation starts again on a worker, behind all others. A long way leaves
 * directories open that it came by: the next one there is short.
 */
#include "xlators/storage/posix/posix.h"

#define WALK_INLINE 32 /* levels that the reactor goes */
#define WALK_MAX 4096  /* anybody: more than clients can make at one go; a loop of damaged handles ends here */

/* One way, and the names on it, deepest first, in one growing string of NUL-ended names. */
struct way {
  const struct posix *p;
  struct gi_graph *graph; /* on the reactor: directories open there end the way; NULL: only the root does */
  unsigned most;          /* levels; beyond is EAGAIN on the reactor, ENAMETOOLONG for those who cannot go on elsewhere */
  bool for_depth;         /* ends where the depth is known; names are not of interest */
  char *names;
  size_t len;
  unsigned count;
  int start;      /* descriptor of the directory that ends the way; the cache's, and good until the reactor goes on */
  uint32_t depth; /* of that directory, plus one; 0: not known */
  struct gi_gfid by[WALK_MAX / WALK_INLINE]; /* every so many levels above the object, deepest first */
  struct posix_op *keeper;                   /* NULL: what it comes by is not kept */
};

static void
way_free(struct way *w)
{
  gi_free(w->names);
}
#define WAY __attribute__((cleanup(way_free))) struct way

static struct way
way_of(const struct posix_op *op, bool through)
{
  bool here = !op->on_worker, stays = op->p->cfg.engine == ENGINE_INLINE;

  return (struct way){
      .p = op->p, .graph = here && through ? op->fop->graph : NULL, .most = here && !stays ? WALK_INLINE : WALK_MAX};
}

/* The reactor knows a directory that ends the way. */
static bool
ends_at(struct way *w, const struct gi_gfid *gfid)
{
  struct gi_inode *inode;

  if (gi_gfid_is_root(gfid)) {
    w->start = w->p->root_fd;
    w->depth = 1;
    return true;
  }
  inode = w->graph ? gi_inode_find(w->graph, gfid) : NULL;
  if (!inode)
    return false;

  const struct posix_dir *d = ((struct posix_inode *)gi_inode_private(inode, w->p->x))->dir;
  uint32_t depth = d ? posix_dir_depth(w->p, d) : 0;

  gi_inode_unref(&inode);
  if (!d || (w->for_depth && !depth))
    return false;
  w->start = d->fd;
  w->depth = depth;
  return true;
}

static void
add_name(struct way *w, const char *name)
{
  size_t n = strlen(name) + 1;

  if (w->for_depth)
    return;
  w->names = gi_realloc(w->names, w->len + n);
  memcpy(w->names + w->len, name, n);
  w->len += n;
}

/* Up. 0 or an errno: ESTALE when a handle on the way is not there or damaged; of the object's own one it is the reason. */
static int
climb(struct way *w, const struct gi_gfid *gfid)
{
  struct gi_gfid at = *gfid, parent;
  char base[GI_NAME_MAX + 1];

  for (; !ends_at(w, &at); w->count++) {
    int err;

    if (w->count == w->most)
      return w->most == WALK_MAX ? ENAMETOOLONG : EAGAIN;
    err = posix_handle_link_text(w->p, &at, &parent, base);
    if (err)
      return w->count ? ESTALE : err;
    if (w->count && w->count % WALK_INLINE == 0)
      w->by[w->count / WALK_INLINE - 1] = at;
    add_name(w, base);
    at = parent;
  }
  GI_ASSERT(w->start >= 0 && w->count <= w->most);
  return 0;
}

/* The start of the name that ends before `end`. */
static const char *
name_before(const char *names, const char *end)
{
  const char *s = end - 1;

  while (s > names && s[-1] != '\0')
    s--;
  return s;
}

/* The directory `above` levels above the object is open as `fd`: the operation gets a descriptor for the cache. */
static void
keep(const struct way *w, int fd, unsigned above)
{
  const struct gi_gfid *gfid = &w->by[above / WALK_INLINE - 1];
  struct posix_op *op = w->keeper;
  struct gi_gfid found;
  struct posix_passed *by;
  int mine = gi_fs_openat(w->p->fs, fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

  GI_ASSERT(above > 0 && above < w->count && above % WALK_INLINE == 0);
  if (mine < 0)
    return;
  if (posix_gfid_read(w->p, (struct posix_at){mine, ""}, &found) || !gi_gfid_equal(&found, gfid)) {
    gi_fs_close(w->p->fs, mine);
    return;
  }
  op->passed = gi_realloc(op->passed, (op->npassed + 1) * sizeof(*op->passed));
  by = &op->passed[op->npassed++];
  *by = (struct posix_passed){.gfid = *gfid, .fd = mine, .depth = w->depth ? w->depth + w->count - above : 0};
}

/* Down: a new descriptor, or -errno. */
static int
descend(const struct way *w)
{
  const struct posix *p = w->p;
  unsigned count = w->count;
  int fd = gi_fs_openat(p->fs, w->start, ".", (count ? O_PATH : O_RDONLY) | O_DIRECTORY | O_CLOEXEC, 0);

  for (const char *end = w->names + w->len; fd >= 0 && count > 0; count--) {
    const char *name = name_before(w->names, end);

    if (w->keeper && count < w->count && count % WALK_INLINE == 0)
      keep(w, fd, count);

    int next = gi_fs_openat(p->fs, fd, name, (count > 1 ? O_PATH : O_RDONLY) | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    int err = errno;

    gi_fs_close(p->fs, fd);
    fd = next;
    errno = err;
    end = name;
  }
  if (fd < 0)
    return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? -ESTALE : -errno;
  return fd;
}

static int
open_dir(struct way *w, const struct gi_gfid *gfid)
{
  int err = climb(w, gfid), fd = err ? -err : descend(w);
  struct gi_gfid found;

  if (fd < 0)
    return fd;
  err = posix_gfid_read(w->p, (struct posix_at){fd, ""}, &found);
  if (!err && !gi_gfid_equal(&found, gfid))
    err = ESTALE; /* a handle left behind by a crash names somebody else's directory */
  if (err) {
    gi_fs_close(w->p->fs, fd);
    return -err;
  }
  return fd;
}

int
posix_handle_open_dir(const struct posix *p, const struct gi_gfid *gfid)
{
  WAY w = {.p = p, .most = WALK_MAX};

  return open_dir(&w, gfid);
}

/* How a walk of an operation ended. */
static int
walked(struct posix_op *op, int err)
{
  if (err == EAGAIN)
    op->far = true;
  op->astray |= err == ESTALE || err == ENOENT;
  return err;
}

int
posix_walk_open(struct posix_op *op, const struct gi_gfid *gfid, uint32_t *depth)
{
  WAY w = way_of(op, true);
  int fd;

  w.keeper = op;
  fd = open_dir(&w, gfid);

  *depth = fd >= 0 && w.depth ? w.depth + w.count : 0;
  return fd < 0 ? -walked(op, -fd) : fd;
}

int
posix_walk_depth(struct posix_op *op, const struct gi_gfid *gfid, uint32_t *depth)
{
  WAY w = way_of(op, true);
  int err;

  w.for_depth = true;
  err = climb(&w, gfid);
  *depth = err ? 0 : w.depth + w.count;
  return walked(op, err);
}

char *
posix_walk_path(struct posix_op *op, const struct gi_gfid *gfid)
{
  WAY w = way_of(op, false);
  int err = walked(op, climb(&w, gfid));

  if (err) {
    errno = err;
    return NULL;
  }

  char *path = gi_alloc(w.len + w.count + 2), *out = path;
  const char *end = w.names + w.len;

  for (unsigned count = w.count; count > 0; count--) {
    const char *name = name_before(w.names, end);

    *out++ = '/';
    memcpy(out, name, strlen(name));
    out += strlen(name);
    end = name;
  }
  if (out == path)
    *out++ = '/';
  GI_ASSERT((size_t)(out - path) < w.len + w.count + 2);
  *out = '\0';
  return path;
}
