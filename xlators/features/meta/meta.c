/* SPDX-License-Identifier: Apache-2.0
 *
 * features/meta: virtual directories in the root of a mount that show what the
 * process does, and the access log.
 *
 * Operations on what is not virtual pass by; they cost the look at a gfid, or
 * at the beginning of a name. Those on what is virtual are answered here,
 * whatever the bricks do. Only root may look, and nothing can be made, removed
 * or renamed.
 */
#include "meta.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define ENTRY_BYTES 200 /* a listing reckons so many for each entry */

static bool
ours(const struct gi_inode *inode)
{
  return inode && mt_is_ours(&inode->gfid);
}

/* What the fop is about, if it is an object. */
static const struct gi_inode *
object_of(const struct gi_fop *fop)
{
  return fop->fd ? fop->fd->inode : fop->loc.inode;
}

static bool
in_our_directory(const struct gi_loc *loc)
{
  return loc->parent ? mt_is_ours(&loc->parent->gfid) : mt_is_ours(&loc->pargfid);
}

/* One of our names in the root of the volume. */
static bool
reserved(struct mt *m, const struct gi_loc *loc, struct mt_node *n)
{
  return loc->name && loc->name[0] == '.' && gi_gfid_is_root(loc->parent ? &loc->parent->gfid : &loc->pargfid) &&
         mt_find(m, NULL, loc->name, n);
}

static enum gi_verdict
refuse(struct mt *m, struct gi_fop *fop, int err)
{
  m->metrics.refused++;
  return gi_fop_fail(fop, err);
}

/* Whoever changes nothing wants to know what is there before and after. */
static enum gi_verdict
changed_nothing(struct mt *m, const struct mt_node *n, struct gi_fop *fop, int ret)
{
  mt_stat(m, n, &fop->rsp.pre);
  fop->rsp.post = fop->rsp.pre;
  return gi_fop_ok(fop, ret);
}

/* ---- files ---- */

static void
page_answered(void *arg, int status, char *body, size_t len)
{
  struct gi_fop *fop = arg;
  struct mt *m = mt_of(fop->at);
  struct mt_fd *f = gi_fd_private(fop->fd, m->x);

  GI_ASSERT(fop->kind == GI_FOP_OPEN && !f->text);
  f->text = body;
  f->len = body ? len : 0;
  if (status == 200)
    gi_fop_ok(fop, 0);
  else
    gi_fop_fail(fop, EIO);
  gi_fop_answer(fop, m->x);
}

/* What it says is there now, or comes later; then the OPEN waits. */
static enum gi_verdict
fill_file(struct mt *m, const struct mt_node *n, struct gi_fop *fop)
{
  const struct mt_row *row = &mt_table[n->what];
  struct mt_fd *f = gi_fd_private(fop->fd, m->x);

  if (row->page)
    return gi_observe_ask(m->x->ctx->observe, row->page, row->accept, page_answered, fop) ? GI_HELD : gi_fop_fail(fop, ESTALE);
  f->text = mt_text(m, n, &f->len);
  return gi_fop_ok(fop, 0);
}

static enum gi_verdict
open_log(struct mt *m, struct gi_fop *fop)
{
  struct mt_fd *f = gi_fd_private(fop->fd, m->x);

  f->reader = mt_log_open(m);
  return f->reader ? gi_fop_ok(fop, 0) : refuse(m, fop, EMFILE);
}

static enum gi_verdict
open_file(struct mt *m, const struct mt_node *n, struct gi_fop *fop)
{
  const struct mt_row *row = &mt_table[n->what];
  const struct mt_fd *f = gi_fd_private(fop->fd, m->x);
  bool writes = (fop->args.flags & O_ACCMODE) != O_RDONLY || (fop->args.flags & O_TRUNC);

  if (!S_ISREG(row->mode))
    return gi_fop_fail(fop, S_ISDIR(row->mode) ? EISDIR : ELOOP);
  if (writes && !row->store)
    return refuse(m, fop, EACCES);
  GI_ASSERT(!f->text && !f->reader);
  fop->fd->stream = true;
  m->metrics.opened++;
  if (n->what == MT_ACCESSLOG)
    return open_log(m, fop);
  return (fop->args.flags & O_ACCMODE) == O_WRONLY ? gi_fop_ok(fop, 0) : fill_file(m, n, fop);
}

static enum gi_verdict
read_file(struct mt *m, struct gi_fop *fop)
{
  const struct mt_fd *f = gi_fd_private(fop->fd, m->x);

  if (f->reader)
    return mt_log_read(m, f->reader, fop);
  if (!f->text || fop->args.offset >= f->len)
    return gi_fop_ok(fop, 0);

  size_t left = f->len - fop->args.offset, len = fop->args.size < left ? fop->args.size : left;

  gi_payload_add_copy(&fop->rsp.payload, f->text + fop->args.offset, len);
  return gi_fop_ok(fop, (int32_t)len);
}

static enum gi_verdict
write_file(struct mt *m, const struct mt_node *n, struct gi_fop *fop)
{
  char text[MT_STORE_MAX + 1];
  size_t len = fop->payload.len;

  if (!mt_table[n->what].store)
    return refuse(m, fop, EBADF);
  if (len > MT_STORE_MAX)
    return refuse(m, fop, EFBIG);
  text[gi_payload_read(&fop->payload, 0, text, len)] = '\0';
  text[strcspn(text, "\n")] = '\0';

  int err = mt_table[n->what].store(m, n, text);

  return err ? refuse(m, fop, err) : changed_nothing(m, n, fop, (int32_t)len);
}

static void
fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct mt_fd *f = bytes;

  free(f->text);
  f->text = NULL;
  mt_log_close(mt_of(x), &f->reader);
}

/* ---- directories ---- */

static void
add_entry(struct gi_fop *fop, const char *name, uint64_t off, const struct gi_iatt *st)
{
  struct gi_dirents *all = &fop->rsp.entries;

  if (all->count == all->capacity) {
    all->capacity = all->capacity ? all->capacity * 2 : 16;
    all->entry = gi_realloc(all->entry, all->capacity * sizeof(*all->entry));
  }

  size_t len = strlen(name);

  struct gi_dirent *d = &all->entry[all->count++];

  *d = (struct gi_dirent){.ino = st->ino, .off = off, .type = IFTODT(st->mode), .name_len = (uint32_t)len};
  d->name = gi_fop_strdup(fop, name, len);
  if (fop->kind == GI_FOP_READDIRP)
    d->stat = *st;
}

/* Places: 1 and 2 are behind the dots; those of the tree are larger. */
static enum gi_verdict
list_directory(struct mt *m, const struct mt_node *dir, struct gi_fop *fop)
{
  uint64_t at = fop->args.offset, room = fop->args.size / ENTRY_BYTES + 1;
  char name[MT_NAME];
  struct mt_node n;
  struct gi_iatt st;

  if (at == 0 && room > 0) {
    mt_stat(m, dir, &st);
    add_entry(fop, ".", ++at, &st);
    room--;
  }
  if (at == 1 && room > 0) {
    if (mt_parent(m, dir, &n))
      mt_stat(m, &n, &st);
    else
      st = (struct gi_iatt){.gfid = gi_gfid_root, .ino = 1, .mode = S_IFDIR}; /* nobody takes attributes of dots */
    add_entry(fop, "..", ++at, &st);
    room--;
  }
  for (at = at == 2 ? 0 : at; room > 0 && mt_next(m, dir, &at, &n, name); room--) {
    mt_stat(m, &n, &st);
    add_entry(fop, name, at, &st);
  }
  if (room > 0)
    fop->rsp.err = ENOENT; /* the end */
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
  return GI_ANSWERED;
}

/* ---- objects ---- */

static enum gi_verdict
read_link(struct mt *m, const struct mt_node *n, struct gi_fop *fop)
{
  size_t len;

  if (!S_ISLNK(mt_table[n->what].mode))
    return gi_fop_fail(fop, EINVAL);

  char *text = mt_text(m, n, &len);

  fop->rsp.link = gi_fop_strdup(fop, text, len);
  free(text);
  mt_stat(m, n, &fop->rsp.stat);
  return gi_fop_ok(fop, (int32_t)len);
}

static enum gi_verdict
check_access(const struct mt_node *n, struct gi_fop *fop)
{
  return (mt_table[n->what].mode >> 6 & fop->args.mode & 7) == (fop->args.mode & 7) ? gi_fop_ok(fop, 0)
                                                                                    : gi_fop_fail(fop, EACCES);
}

static enum gi_verdict
give_stat(struct mt *m, const struct mt_node *n, struct gi_fop *fop)
{
  mt_stat(m, n, &fop->rsp.stat);
  return gi_fop_ok(fop, 0);
}

/* The room there is, is the volume's. */
static enum gi_verdict
ask_root(struct gi_fop *fop)
{
  struct gi_inode *root = gi_inode_get(fop->graph, &gi_gfid_root);

  gi_loc_set_inode(&fop->loc, root);
  gi_inode_unref(&root);
  return GI_PASS;
}

static enum gi_verdict
serve_root(struct mt *m, const struct mt_node *n, struct gi_fop *fop)
{
  switch (fop->kind) {
  case GI_FOP_OPEN:
    return open_file(m, n, fop);
  case GI_FOP_OPENDIR:
    return S_ISDIR(mt_table[n->what].mode) ? gi_fop_ok(fop, 0) : gi_fop_fail(fop, ENOTDIR);
  case GI_FOP_READLINK:
    return read_link(m, n, fop);
  case GI_FOP_TRUNCATE:
    return mt_table[n->what].store ? changed_nothing(m, n, fop, 0) : refuse(m, fop, EPERM);
  case GI_FOP_ACCESS:
    return check_access(n, fop);
  case GI_FOP_SEEK:
    return gi_fop_fail(fop, EINVAL);
  case GI_FOP_GETXATTR:
    if (fop->args.name)
      return gi_fop_fail(fop, ENODATA);
    fop->rsp.dict = gi_dict_new();
    return gi_fop_ok(fop, 0);
  case GI_FOP_LK:
  case GI_FOP_LEASE:
    return gi_fop_fail(fop, EOPNOTSUPP);
  default: /* what is left changes something */
    return refuse(m, fop, EPERM);
  }
}

/* What one has found, or has open, one may use. */
static enum gi_verdict
serve(struct mt *m, const struct mt_node *n, struct gi_fop *fop)
{
  switch (fop->kind) {
  case GI_FOP_LOOKUP:
  case GI_FOP_STAT:
  case GI_FOP_FSTAT:
    return give_stat(m, n, fop);
  case GI_FOP_WRITE:
    return write_file(m, n, fop);
  case GI_FOP_FTRUNCATE:
    return mt_table[n->what].store ? changed_nothing(m, n, fop, 0) : refuse(m, fop, EPERM);
  case GI_FOP_FSYNCDIR:
    return gi_fop_ok(fop, 0);
  case GI_FOP_FSYNC:
    return changed_nothing(m, n, fop, 0);
  case GI_FOP_READDIR:
  case GI_FOP_READDIRP:
    return list_directory(m, n, fop);
  case GI_FOP_STATFS:
    return ask_root(fop);
  case GI_FOP_FGETXATTR:
    fop->rsp.dict = fop->args.name ? NULL : gi_dict_new();
    return fop->args.name ? gi_fop_fail(fop, ENODATA) : gi_fop_ok(fop, 0);
  default:
    return fop->caller.uid == 0 ? serve_root(m, n, fop) : refuse(m, fop, EACCES);
  }
}

static enum gi_verdict
serve_object(struct mt *m, const struct gi_inode *inode, struct gi_fop *fop)
{
  struct mt_node n;

  if (fop->kind == GI_FOP_READ) /* what was said at the open, also when its subject is gone */
    return read_file(m, fop);
  if (fop->kind == GI_FOP_FLUSH)
    return gi_fop_ok(fop, 0);
  return mt_node_of(m, &inode->gfid, &n) ? serve(m, &n, fop) : gi_fop_fail(fop, ESTALE);
}

/* ---- on the way down ---- */

static enum gi_verdict
pass(const struct mt *m)
{
  return m->log.count ? GI_PASS_TELL : GI_PASS;
}

static enum gi_verdict
mt_object(struct gi_xlator *x, struct gi_fop *fop)
{
  struct mt *m = x->private;
  const struct gi_inode *inode = object_of(fop);

  if (ours(inode))
    return serve_object(m, inode, fop);
  return pass(m);
}

/* Bytes go neither in nor out: whoever copies does it by reading and writing. */
static enum gi_verdict
mt_copy(struct gi_xlator *x, struct gi_fop *fop)
{
  struct mt *m = mt_of(x);

  return ours(object_of(fop)) || (fop->fd2 && ours(fop->fd2->inode)) ? gi_fop_fail(fop, EXDEV) : pass(m);
}

static enum gi_verdict
mt_list(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct gi_inode *inode = object_of(fop);

  if (inode && gi_gfid_is_root(&inode->gfid))
    return GI_PASS_TELL;
  return mt_object(x, fop);
}

static enum gi_verdict
mt_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  struct mt *m = mt_of(x);
  struct mt_node dir, n;

  if (!fop->loc.name)
    return mt_object(x, fop);
  if (reserved(m, &fop->loc, &n))
    return give_stat(m, &n, fop);
  if (!in_our_directory(&fop->loc))
    return pass(m);
  if (fop->caller.uid != 0)
    return refuse(m, fop, EACCES);
  if (!mt_node_of(m, fop->loc.parent ? &fop->loc.parent->gfid : &fop->loc.pargfid, &dir))
    return gi_fop_fail(fop, ESTALE);
  return mt_find(m, &dir, fop->loc.name, &n) ? give_stat(m, &n, fop) : gi_fop_fail(fop, ENOENT);
}

/* Makes an entry. */
static enum gi_verdict
mt_make(struct gi_xlator *x, struct gi_fop *fop)
{
  struct mt *m = mt_of(x);
  struct mt_node n;

  if (in_our_directory(&fop->loc))
    return refuse(m, fop, EPERM);
  return reserved(m, &fop->loc, &n) ? refuse(m, fop, EEXIST) : pass(m);
}

static bool
is_virtual(struct mt *m, const struct gi_loc *loc)
{
  struct mt_node n;

  return in_our_directory(loc) || reserved(m, loc, &n) || ours(loc->inode);
}

/* Moves, removes or links one. */
static enum gi_verdict
mt_move(struct gi_xlator *x, struct gi_fop *fop)
{
  struct mt *m = mt_of(x);

  return is_virtual(m, &fop->loc) || is_virtual(m, &fop->loc2) ? refuse(m, fop, EPERM) : pass(m);
}

/* ---- on the way up ---- */

/* A file of the volume that has one of our names stays in the listing. Its attributes would lead to it, unlike its name. */
static void
hide_attributes(struct mt *m, struct gi_fop *fop)
{
  struct mt_node n;

  for (uint32_t i = 0; i < fop->rsp.entries.count; i++) {
    struct gi_dirent *d = &fop->rsp.entries.entry[i];

    if (d->name_len < 2 || d->name[0] != '.' || !mt_find(m, NULL, d->name, &n))
      continue;
    memset(&d->stat, 0, sizeof(d->stat));
    if (!m->told_hidden)
      gi_log(GI_LOG_WARNING, m->x->name, GI_MSG_META + 1,
             "the volume has an entry %s in its root, which cannot be reached on this mount: the virtual directory of that "
             "name is in "
             "front of it; it is seen when mounted with meta=off",
             mt_table[n.what].name);
    m->told_hidden = true;
  }
}

static enum gi_verdict
mt_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct mt *m = mt_of(x);

  if (fop->kind == GI_FOP_READDIRP && fop->fd && gi_gfid_is_root(&fop->fd->inode->gfid))
    hide_attributes(m, fop);
  if (m->log.count)
    mt_log_add(m, fop);
  return GI_PASS;
}

/* ---- life ---- */

static bool
mt_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct mt *m = mt_of(x);

  switch (event) {
  case GI_EVENT_CANCEL:
    if (((struct gi_fop *)data)->kind == GI_FOP_READ)
      mt_log_cancel(m, data);
    return true;
  case GI_EVENT_PARENT_UP:
    m->ended = false;
    return false;
  case GI_EVENT_PARENT_DOWN:
    m->ended = true;
    mt_log_end(m);
    return false;
  default:
    return false;
  }
}

static void
mt_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  mt_log_end(mt_of(x));
  done(x);
}

static int
mt_init(struct gi_xlator *x, struct gi_error *err)
{
  struct mt *m = gi_new(struct mt);

  m->magic = MT_MAGIC;
  m->x = x;
  m->born = gi_wall(x->reactor);
  mt_log_init(m);
  x->private = m;
  x->metrics = &m->metrics;
  return 0;
}

static void
mt_finish(struct gi_xlator *x)
{
  struct mt *m = mt_of(x);

  GI_ASSERT(m->log.count == 0); /* all files are closed */
  gi_defer_cancel(&m->log.wake);
  m->magic = 0;
  gi_free(m);
}

static void
mt_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  gi_dump_kv(d, "accesslog_readers", "%u", mt_of(x)->log.count);
}

static const struct gi_metric mt_metrics_table[] = {
    GI_METRIC(struct mt_metrics, opened, "", "virtual files that were opened"),
    GI_METRIC(struct mt_metrics, refused, "", "operations on virtual files and directories that are not allowed"),
    GI_METRIC(struct mt_metrics, log_lines, "", "lines of the access log that were made"),
    GI_METRIC(struct mt_metrics, log_lost, "", "lines of the access log for which a reader had no room"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "features/meta",
    .version = GI_VERSION,
    .summary = "Shows the process in virtual directories of the mount",
    .messages = GI_MSG_META,
    .min_children = 1,
    .max_children = 1,
    .metrics = mt_metrics_table,
    .fd_bytes = sizeof(struct mt_fd),
    .submit = mt_object,
    .on =
        {
            [GI_FOP_LOOKUP] = mt_lookup,
            [GI_FOP_CREATE] = mt_make,
            [GI_FOP_MKNOD] = mt_make,
            [GI_FOP_MKDIR] = mt_make,
            [GI_FOP_SYMLINK] = mt_make,
            [GI_FOP_UNLINK] = mt_move,
            [GI_FOP_RMDIR] = mt_move,
            [GI_FOP_RENAME] = mt_move,
            [GI_FOP_LINK] = mt_move,
            [GI_FOP_READDIR] = mt_list,
            [GI_FOP_READDIRP] = mt_list,
            [GI_FOP_COPY_FILE_RANGE] = mt_copy,
        },
    .complete = mt_complete,
    .init = mt_init,
    .finish = mt_finish,
    .notify = mt_notify,
    .drain = mt_drain,
    .statedump = mt_statedump,
    .fd_release = fd_release,
};
