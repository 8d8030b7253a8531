/* SPDX-License-Identifier: Apache-2.0
 *
 * Open directories, cached per inode: an entry operation costs one path
 * component instead of a walk from the root. The cache belongs to the reactor;
 * an operation pins what it uses, so a worker never meets a closed descriptor.
 * What `run` had to open itself is adopted when the operation ends.
 */
#include "xlators/storage/posix/posix.h"

void
posix_dir_unref(struct posix *p, struct posix_dir *d)
{
  if (!d)
    return;
  posix_dir_check(d);
  if (--d->refs)
    return;
  GI_ASSERT(!d->owner); /* whoever caches it has a reference */
  d->magic = 0;
  gi_fs_close(p->fs, d->fd);
  gi_free(d);
}

void
posix_dir_drop(struct posix *p, struct posix_inode *pi)
{
  struct posix_dir *d = pi->dir;

  if (!d)
    return;
  posix_dir_check(d);
  GI_ASSERT(d->owner == pi && p->ndirs > 0);
  pi->dir = NULL;
  d->owner = NULL;
  gi_list_del(&d->lru);
  p->ndirs--;
  posix_dir_unref(p, d);
}

/* Times that are to be written are written while there is a descriptor: no timer has to look for the way. */
static void
evict(struct posix *p, struct posix_inode *pi)
{
  GI_CHECK(pi, POSIX_INODE_MAGIC);
  posix_md_flush(p, pi, -1);
  posix_dir_drop(p, pi);
}

struct posix_dir *
posix_dir_adopt(struct posix *p, struct posix_inode *pi, int fd)
{
  struct posix_dir *d;

  GI_ASSERT(fd >= 0);
  if (pi->dir) { /* another operation was faster */
    gi_fs_close(p->fs, fd);
    return pi->dir;
  }
  while (p->ndirs >= p->dirs_max && !gi_list_empty(&p->dirs))
    evict(p, gi_list_first(&p->dirs, struct posix_dir, lru)->owner);
  d = gi_new(struct posix_dir);
  d->magic = POSIX_DIR_MAGIC;
  d->fd = fd;
  d->refs = 1;
  d->owner = pi;
  pi->dir = d;
  gi_list_add_tail(&p->dirs, &d->lru);
  p->ndirs++;
  p->metrics.dir_opens++;
  return d;
}

struct posix_dir *
posix_dir_pin(struct posix *p, struct posix_inode *pi)
{
  struct posix_dir *d = pi->dir;

  if (!d)
    return NULL;
  posix_dir_check(d);
  GI_ASSERT(d->owner == pi && d != p->root_dir);
  d->refs++;
  gi_list_del(&d->lru);
  gi_list_add_tail(&p->dirs, &d->lru);
  return d;
}

uint32_t
posix_dir_depth(const struct posix *p, const struct posix_dir *d)
{
  return d->moves == p->moves ? d->depth : 0;
}

void
posix_dir_set_depth(const struct posix *p, struct posix_dir *d, uint32_t depth, uint32_t moves)
{
  posix_dir_check(d);
  if (!depth || moves != p->moves)
    return;
  d->depth = depth;
  d->moves = moves;
}

int
posix_node_room(struct posix_op *op, int which)
{
  struct posix_node *n = &op->node[which];
  bool astray = op->astray;
  GI_ASSERT(!gi_gfid_is_none(&n->gfid));
  int err = n->depth ? 0 : posix_walk_depth(op, &n->gfid, &n->depth);

  if (err == EAGAIN || err == ENAMETOOLONG)
    return err;
  op->astray = astray;
  return n->depth > POSIX_DEPTH_MAX ? ENAMETOOLONG : 0; /* a damaged handle above is no reason */
}

int
posix_node_dir(struct posix_op *op, int which)
{
  struct posix_node *n = &op->node[which];
  GI_ASSERT(which < NODE_COUNT && !gi_gfid_is_none(&n->gfid));

  if (n->dir)
    return n->dir->fd;
  if (n->fd >= 0)
    return n->fd;

  int fd = posix_walk_open(op, &n->gfid, &n->depth);

  if (fd == -ENOTDIR)
    return -EPERM;
  if (fd == -ENOENT || fd == -ENODATA)
    return -ESTALE;
  if (fd >= 0)
    n->fd = fd;
  return fd;
}

/* The object may have lost its last name while open: then it is in unlink/. */
static int
find_parked(struct posix_op *op, struct posix_at *at, struct stat *st)
{
  char text[GI_UUID_TEXT];

  snprintf(op->hpath, sizeof(op->hpath), "unlink/%s", gi_gfid_text(&op->node[NODE_OBJ].gfid, text));
  *at = (struct posix_at){op->p->gl_fd, op->hpath};
  if (posix_at_stat(op->p, *at, st) < 0)
    return errno;
  op->parked = true;
  return 0;
}

static int
object_at(struct posix_op *op, struct posix_at *at, struct stat *st)
{
  struct posix_node *n = &op->node[NODE_OBJ];
  int fd = op->fd >= 0 ? op->fd : n->dir ? n->dir->fd : n->fd;

  if (fd < 0 && gi_gfid_is_root(&n->gfid))
    fd = op->p->root_fd;
  if (fd >= 0) {
    *at = (struct posix_at){fd, ""};
    if (gi_fs_fstat(op->p->fs, fd, st) < 0)
      return errno;
    return op->fd < 0 && st->st_nlink == 0 ? ENOENT : 0; /* the cache does not hear of what goes with a tree */
  }
  *at = (struct posix_at){op->p->gl_fd, posix_hpath(op->hpath, &n->gfid)};
  if (posix_at_stat(op->p, *at, st) < 0)
    return errno == ENOENT ? find_parked(op, at, st) : errno;
  if (!S_ISLNK(st->st_mode) || st->st_nlink != 1)
    return 0;
  fd = posix_node_dir(op, NODE_OBJ);
  if (fd < 0)
    return -fd;
  *at = (struct posix_at){fd, ""};
  return gi_fs_fstat(op->p->fs, fd, st) < 0 ? errno : 0;
}

int
posix_obj_at(struct posix_op *op, struct posix_at *at, struct stat *st)
{
  int err = object_at(op, at, st);

  if (!err)
    posix_known_stat(op, &op->node[NODE_OBJ].gfid, st, true);
  return err;
}

int
posix_obj_open(struct posix_op *op, int flags)
{
  struct posix_at at;
  struct stat st;

  if (op->fd >= 0) {
    posix_lost_drop(op);
    return 0;
  }

  int err = posix_obj_at(op, &at, &st);

  if (err)
    return err == ENOENT ? ESTALE : err;
  if (S_ISDIR(st.st_mode)) {
    op->fd = op->node[NODE_OBJ].dir       ? op->node[NODE_OBJ].dir->fd
             : op->node[NODE_OBJ].fd >= 0 ? op->node[NODE_OBJ].fd
                                          : op->p->root_fd;
    return 0;
  }
  if (!S_ISREG(st.st_mode))
    return S_ISLNK(st.st_mode) ? ELOOP : EINVAL;

  int fd = gi_fs_openat(op->p->fs, at.fd, at.path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);

  if (fd < 0)
    return errno == ENOENT ? ESTALE : errno;
  op->fd = fd;
  op->fd_own = true;
  posix_lost_drop(op);
  return 0;
}
