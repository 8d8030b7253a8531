/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories: open, list, close. What a brick returned beyond the room the
 * kernel gave is dropped and asked for again by its cookie (wire.md 3.10).
 */
#include "fuse-internal.h"

#include "libglusterish/promise.h"

#include <dirent.h>

#define LIST_MAX (128u << 10) /* what a brick returns at most, bytes (wire.md 3.10) */

static void
opendir_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);
  struct fuse_file_info fi = {0};

  if (fop->rsp.ret < 0 && !is_removed(b, fop)) {
    reply_err(b, op->req, err_of_node(fop));
  } else {
    handle_of(b, fop->fd)->gone = fop->rsp.ret < 0;
    handle_open(b, fop->fd);
    if (fop->rsp.ret >= 0 && gi_promise_lease(b->x->graph))
      handle_of(b, fop->fd)->names_until = gi_now(x->reactor) + ns_of(seconds_left(b, fop, b->entry_timeout));
    fi.fh = handle_of(b, fop->fd)->id;
    if (reply_result(b, fuse_reply_open(op->req, &fi)) != 0)
      handle_close(b, fop->fd);
  }
  op_end(b, fop);
}

void
do_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = node_inode(b, req, ino);

  if (!inode)
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_OPENDIR);
  struct gi_fd *fd = gi_fd_new(b->x->graph, inode, O_RDONLY | O_DIRECTORY, fop->caller.pid);

  fd->directory = true;
  handle_of(b, fd)->news = node_news(b, inode);
  gi_fop_set_fd(fop, fd);
  gi_fd_unref(&fd);
  op_submit(b, fop, opendir_done);
}

/* A name the kernel would answer EIO for comes only from a broken brick: the entry is left out. */
static bool
usable(const struct gi_dirent *d)
{
  return d->name_len > 0 && d->name_len <= GI_NAME_MAX && !memchr(d->name, '/', d->name_len) && strlen(d->name) == d->name_len;
}

/* What stat(2) says of the entry. A brick gives its own number where it does not know the object: the dots of its root. */
static uint64_t
entry_ino(struct bridge *b, const struct gi_inode *dir, const struct gi_dirent *d)
{
  struct gi_inode *parent = d->name_len == 2 && dir != b->root ? node_find(b, node_of(b, dir)->parent_id) : NULL;
  const struct node *n = node_of(b, parent ? parent : dir);

  return node_ino(b, gi_dirent_is_dot(d) && n->trust.known ? n->trust.attr.ino : d->ino);
}

/* An entry without attributes gets no node: the kernel then looks it up. */
static struct gi_inode *
plus_entry(struct bridge *b, const struct gi_fd *fd, struct gi_dirent *d, uint64_t seq, struct fuse_entry_param *e)
{
  const struct gi_inode *dir = fd->inode;

  memset(e, 0, sizeof(*e));
  if (gi_dirent_is_dot(d) || !gi_iatt_valid(&d->stat) || gi_gfid_is_none(&d->stat.gfid) || node_too_many(b, &d->stat.gfid)) {
    e->attr.st_ino = entry_ino(b, dir, d);
    e->attr.st_mode = DTTOIF(d->type);
    return NULL;
  }

  struct gi_inode *inode = gi_inode_get(b->x->graph, &d->stat.gfid);

  node_attributes(b, inode, &d->stat, seq);
  node_entry(b, inode, &d->stat, e);
  node_entry_listed(b, inode, fd, d->name, e);
  node_entry_in(b, dir, e);
  return inode;
}

struct listing {
  const struct gi_fd *fd;
  char *buf;
  size_t used, size;
  struct gi_inode **inode; /* one per entry, NULL where none is counted */
  const char **name;
  uint32_t count;
  uint64_t seq; /* of the op */
};

/* False: no more room. */
static bool
add_plain(struct bridge *b, fuse_req_t req, struct listing *l, struct gi_dirent *d)
{
  struct stat st = {.st_ino = entry_ino(b, l->fd->inode, d), .st_mode = DTTOIF(d->type)};
  size_t n = fuse_add_direntry(req, l->buf + l->used, l->size - l->used, d->name, &st, (off_t)d->off);

  if (n > l->size - l->used)
    return false;
  l->used += n;
  return true;
}

/* Under another name. */
static bool
is_listed(const struct listing *l, const struct gi_inode *inode)
{
  for (uint32_t i = 0; i < l->count; i++)
    if (l->inode[i] == inode)
      return true;
  return false;
}

static bool
add_plus(struct bridge *b, fuse_req_t req, struct listing *l, struct gi_dirent *d)
{
  struct fuse_entry_param e;
  struct gi_inode *inode = plus_entry(b, l->fd, d, l->seq, &e);
  size_t n = fuse_add_direntry_plus(req, l->buf + l->used, l->size - l->used, d->name, &e, (off_t)d->off);

  if (n > l->size - l->used) {
    if (inode && !is_listed(l, inode))
      node_uncount(b, inode);
    gi_inode_unref(&inode);
    return false;
  }
  GI_ASSERT((inode != NULL) == (e.ino != 0)); /* what has an id is counted */
  l->used += n;
  l->inode[l->count] = inode;
  l->name[l->count++] = d->name;
  return true;
}

/* Counts what the kernel has learnt, or takes back what it has not. */
static void
count_listing(struct bridge *b, struct gi_fop *fop, struct listing *l, bool arrived)
{
  for (uint32_t i = 0; i < l->count; i++) {
    struct gi_inode *inode = l->inode[i];

    if (!inode)
      continue;
    if (arrived) {
      node_named(b, inode, fop->fd->inode, l->name[i]);
      node_listed(b, inode, fop->fd);
      node_count(b, inode);
    } else {
      node_uncount(b, inode);
    }
    gi_inode_unref(&l->inode[i]);
  }
}

static void
reply_listing(struct bridge *b, struct gi_fop *fop)
{
  struct op *op = op_of(b, fop);
  const struct gi_dirents *entries = &fop->rsp.entries;
  struct listing l = {.fd = fop->fd, .size = op->size, .buf = gi_alloc(op->size ? op->size : 1), .seq = op->seq};

  if (op->plus) {
    l.inode = gi_zalloc((entries->count + 1) * sizeof(*l.inode));
    l.name = gi_zalloc((entries->count + 1) * sizeof(*l.name));
  }
  for (uint32_t i = 0; i < entries->count; i++) {
    struct gi_dirent *d = &entries->entry[i];

    if (!usable(d))
      gi_log(GI_LOG_ERROR, b->x->name, GI_MSG_FUSE + 40, "a directory entry with an impossible name is left out");
    else if (!(op->plus ? add_plus : add_plain)(b, op->req, &l, d))
      break;
  }
  GI_ASSERT(l.used <= l.size && l.count <= entries->count);
  if (entries->count && l.used == 0) { /* an empty answer would mean the end */
    reply_err(b, op->req, EINVAL);
    count_listing(b, fop, &l, false);
  } else {
    count_listing(b, fop, &l, reply_result(b, fuse_reply_buf(op->req, l.buf, l.used)) == 0);
  }
  gi_free(l.buf);
  gi_free(l.inode);
  gi_free(l.name);
}

static void
readdir_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  if (is_removed(b, fop))
    reply_result(b, fuse_reply_buf(op_of(b, fop)->req, NULL, 0));
  else if (fop->rsp.ret < 0)
    reply_err(b, op_of(b, fop)->req, err_of_node(fop));
  else
    reply_listing(b, fop);
  op_end(b, fop);
}

/* READDIRP in any case: the inode numbers of READDIR are the brick's own, those of stat(2) are made of the gfid. */
static void
list(fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);

  if (!fd)
    return;
  if (handle_of(b, fd)->gone) {
    reply_result(b, fuse_reply_buf(req, NULL, 0));
    return;
  }
  if (size > BRIDGE_MAX_WRITE)
    size = BRIDGE_MAX_WRITE;

  struct gi_fop *fop = op_new(b, req, GI_FOP_READDIRP);
  size_t ask = plus ? size : size * 4; /* a brick reckons 200 bytes per entry, a plain one needs 24 and its name */

  gi_fop_set_fd(fop, fd);
  fop->args.offset = (uint64_t)off;
  fop->args.size = ask > LIST_MAX ? LIST_MAX : ask;
  op_of(b, fop)->size = (uint32_t)size;
  op_of(b, fop)->plus = plus;
  op_submit(b, fop, readdir_done);
}

void
do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
  list(req, size, off, fi, false);
}

void
do_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
  list(req, size, off, fi, true);
}

void
do_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);

  if (!fd)
    return;
  handle_close(b, fd);
  reply_err(b, req, 0);
}
