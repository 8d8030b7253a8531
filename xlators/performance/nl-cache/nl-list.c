/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories of which all names are known: those we made, and, with
 * `nl-cache-positive-entry`, those that were listed from beginning to end while
 * nothing of ours changed in them, where one subvolume has them all. Every other name is not there, and Samba's question for a
 * name in whatever case is answered, too.
 */
#include "xlators/performance/nl-cache/nl-cache.h"

#include <errno.h>

static const char real_name[] = "glusterfs.get_real_filename:";

/* ---- listing ---- */

void
nl_fd_stop(struct nl_fd *fd)
{
  nl_names_clear(&fd->names);
  gi_free(fd->offs);
  fd->offs = NULL;
  fd->noffs = 0;
  fd->reading = false;
}

static bool
goes_on(const struct nl_fd *fd, uint64_t offset)
{
  for (uint32_t i = fd->noffs; i-- > 0;) /* mostly the last one */
    if (fd->offs[i] == offset)
      return true;
  return false;
}

static void
remember_offsets(struct nl_fd *fd, const struct gi_dirents *entries)
{
  GI_ASSERT(fd->reading);
  fd->offs = gi_realloc(fd->offs, (entries->count + 1) * sizeof(*fd->offs));
  fd->noffs = entries->count;
  for (uint32_t i = 0; i < entries->count; i++)
    fd->offs[i] = entries->entry[i].off;
}

/* Over several subvolumes a listing may pass by what moves meanwhile, and nobody makes or removes a name then. */
static bool
may_be_whole(const struct nl *nl)
{
  return nl_options(nl)->positive && !gi_xlator_is_spread(nl->x);
}

enum gi_verdict
nl_readdir(struct gi_xlator *x, struct gi_fop *fop)
{
  struct nl *nl = x->private;
  struct nl_fop *f = gi_fop_private(fop, x);
  struct nl_fd *fd = fop->fd ? gi_fd_private(fop->fd, x) : NULL;

  if (!fd || !fop->fd->inode)
    return GI_PASS;
  nl_note(nl, f);
  if (!fd->reading && (fop->args.offset != 0 || !may_be_whole(nl)))
    return nl_dir_find(nl, fop->fd->inode) ? GI_PASS_TELL : GI_PASS;
  if (fop->args.offset == 0) {
    nl_fd_stop(fd);
    *fd = (struct nl_fd){.reading = may_be_whole(nl) && !f->unsure, .seq = f->seq, .epoch = f->epoch, .asked = f->asked};
  } else if (!goes_on(fd, fop->args.offset)) {
    nl_fd_stop(fd);
  }
  return GI_PASS_TELL;
}

/* The names move from the descriptor to the directory. */
static void
listing_complete(struct nl *nl, struct gi_inode *dir, struct nl_fd *fd)
{
  struct nl_fop begun = {.seq = fd->seq, .epoch = fd->epoch, .asked = fd->asked};
  struct nl_dir *d;

  GI_ASSERT(fd->reading && fd->seq <= nl->clock);
  if (nl_may_keep(nl, dir, &begun)) {
    d = nl_dir_get(nl, dir);
    nl_names_clear(&d->names);
    d->names = fd->names;
    fd->names = (struct nl_names){0};
    d->complete = d->listed = true;
    d->asked = fd->asked;
    nl->m.listed++;
    nl_dir_grew(nl, d);
  }
  nl_fd_stop(fd);
}

static bool
usable(const struct gi_dirent *e, char name[GI_NAME_MAX + 1])
{
  if (e->name_len == 0 || e->name_len > GI_NAME_MAX || memchr(e->name, '\0', e->name_len))
    return false;
  memcpy(name, e->name, e->name_len);
  name[e->name_len] = '\0';
  return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

void
nl_listed(struct nl *nl, struct gi_fop *fop, const struct nl_fop *f)
{
  struct nl_fd *fd = gi_fd_private(fop->fd, nl->x);
  const struct gi_dirents *entries = &fop->rsp.entries;
  char name[GI_NAME_MAX + 1];

  if (fop->rsp.ret < 0 || (fop->args.offset != 0 && !goes_on(fd, fop->args.offset)))
    nl_fd_stop(fd);
  if (fop->rsp.ret < 0)
    return;
  for (uint32_t i = 0; i < entries->count; i++) {
    if (!usable(&entries->entry[i], name))
      continue;
    nl_name_listed(nl, fop->fd->inode, name);
    if (fd->reading)
      nl_names_put(&fd->names, name, true, fd->asked);
  }
  if (fd->reading)
    remember_offsets(fd, entries);
  if (fd->reading && nl_options(nl)->limit && fd->names.bytes > nl_options(nl)->limit)
    nl_fd_stop(fd);
  else if (fd->reading && (entries->count == 0 || fop->rsp.err == ENOENT))
    listing_complete(nl, fop->fd->inode, fd);
}

/* ---- made by us ---- */

void
nl_made_directory(struct nl *nl, struct gi_fop *fop, const struct nl_fop *f)
{
  struct gi_gfid wanted;
  struct gi_inode *inode;
  struct nl_fop now;
  struct nl_dir *d;

  if (f->seq < nl->unknown || !gi_iatt_valid(&fop->rsp.stat) || !gi_dict_get_gfid(fop->xdata, "gfid-req", &wanted) ||
      !gi_gfid_equal(&wanted, &fop->rsp.stat.gfid))
    return;
  inode = gi_inode_get(fop->graph, &fop->rsp.stat.gfid);
  nl_note(nl, &now);
  if (nl_may_keep(nl, inode, &now)) {
    d = nl_dir_get(nl, inode);
    d->complete = true;
    d->listed = false;
    d->asked = f->asked;
    nl_dir_grew(nl, d);
  }
  gi_inode_unref(&inode);
}

/* ---- asking ---- */

enum gi_verdict
nl_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  struct nl *nl = x->private;
  const char *name = fop->args.name;
  struct gi_inode *inode;
  const struct nl_name *found;
  const struct nl_dir *d;

  if (!name || strncmp(name, real_name, sizeof(real_name) - 1) != 0 || fop->caller.pid < 0)
    return GI_PASS;
  name += sizeof(real_name) - 1;
  inode = gi_fop_inode(fop);
  d = inode ? nl_dir_find(nl, inode) : NULL;
  if (!d || !d->complete || name[0] == '.' || !name[0] || nl_inode_of(nl, inode)->changes > 0 || !nl_is_recent(nl, d->asked))
    return GI_PASS;
  nl->m.real_hits++;
  found = nl_names_find_like(&d->names, name);
  if (!found)
    return gi_fop_fail(fop, ENODATA);
  gi_dict_set_str(gi_dict_writable(&fop->rsp.dict), fop->args.name, found->text);
  return gi_fop_ok(fop, (int)found->len + 1);
}
