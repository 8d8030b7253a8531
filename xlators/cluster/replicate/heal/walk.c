/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking a directory of one child: its entries one after another, fetched in
 * pages. Cookies of different bricks are unrelated, so a walk stays where it
 * was opened; if that child goes away the walk ends with an error, never early.
 */
#include "xlators/cluster/replicate/heal/heal.h"

#define PAGE_BYTES (128u << 10)

int
rep_walk_open(struct rep_walk *w, struct rep_heal *h, struct gi_inode *dir, unsigned child, bool attributes)
{
  struct gi_fop *fop = rep_heal_fop(h, GI_FOP_OPENDIR);

  GI_ASSERT(child < h->rep->n);
  memset(w, 0, sizeof(*w));
  w->h = h;
  w->child = child;
  w->attributes = attributes;
  w->fd = gi_fd_new(h->rep->x->graph, dir, 0, h->caller.pid);
  w->fd->directory = true;
  gi_fop_set_fd(fop, w->fd);
  rep_heal_one(h, fop, child);
  w->err = fop->rsp.ret < 0 ? (fop->rsp.err ? fop->rsp.err : EIO) : 0;
  w->end = w->err != 0;
  gi_fop_unref(fop);
  return w->err;
}

static void
fetch(struct rep_walk *w)
{
  struct gi_fop *fop = rep_heal_fop(w->h, w->attributes ? GI_FOP_READDIRP : GI_FOP_READDIR);

  GI_ASSERT(w->fd && !w->end);
  gi_fop_unref(w->page);
  gi_fop_set_fd(fop, w->fd);
  fop->args.size = PAGE_BYTES;
  fop->args.offset = w->offset;
  w->page = rep_heal_one(w->h, fop, w->child);
  w->at = 0;

  const struct gi_dirents *d = &fop->rsp.entries;

  if (fop->rsp.ret < 0)
    w->err = fop->rsp.err ? fop->rsp.err : EIO;
  if (w->err || !d->count || fop->rsp.err == ENOENT)
    w->end = true;
  else if (d->entry[d->count - 1].off == w->offset)
    w->err = EIO, w->end = true; /* it would go on for ever */
}

/* A name that could be one of a directory's: what a brick says is checked. */
static bool
is_name(const char *name)
{
  return name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

const struct gi_dirent *
rep_walk_next(struct rep_walk *w)
{
  for (;;) {
    while (w->page && w->at < w->page->rsp.entries.count) {
      const struct gi_dirent *e = &w->page->rsp.entries.entry[w->at++];

      w->offset = e->off;
      if (is_name(e->name))
        return e;
    }
    if (w->end)
      return NULL;
    fetch(w);
  }
}

void
rep_walk_close(struct rep_walk *w)
{
  gi_fop_unref(w->page);
  w->page = NULL;
  gi_fd_unref(&w->fd);
}

bool
rep_walk_skips(const struct rep_heal *h, const struct gi_gfid *dir, const char *name)
{
  return rep_private_name(h->rep, 0, dir, name);
}
