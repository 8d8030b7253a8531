/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients that mount a sub-directory: it is looked up once, at SETVOLUME; from
 * then on the root in their requests means it, and it looks like the root in
 * the replies (wire.md 8).
 */
#include "xlators/protocol/server/server.h"

#include <errno.h>

struct sv_walk {
  struct gi_xlator *brick;
  char *path, *rest;
  struct gi_gfid at;
  void (*fn)(void *arg, int err, const struct gi_gfid *gfid);
  void *arg;
};

static void sv_walk_step(struct sv_walk *w);

static void
sv_walk_end(struct sv_walk *w, int err)
{
  w->fn(w->arg, err, &w->at);
  gi_free(w->path);
  gi_free(w);
}

static void
sv_walk_found(struct gi_fop *fop, void *arg)
{
  struct sv_walk *w = arg;
  int err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
  if (!err && !S_ISDIR(fop->rsp.stat.mode))
    err = ENOTDIR;
  if (!err)
    w->at = fop->rsp.stat.gfid;
  gi_fop_unref(fop);
  if (err)
    sv_walk_end(w, err);
  else
    sv_walk_step(w);
}

static void
sv_walk_step(struct sv_walk *w)
{
  char *save = NULL;
  char *name = strtok_r(w->rest, "/", &save);
  w->rest = save;
  if (!name) {
    sv_walk_end(w, 0);
    return;
  }
  bool hidden = gi_gfid_is_root(&w->at) && strcmp(name, ".glusterfs") == 0;
  if (strcmp(name, "..") == 0 || strcmp(name, ".") == 0 || strlen(name) > GI_NAME_MAX || hidden) {
    sv_walk_end(w, EINVAL);
    return;
  }
  struct gi_fop *fop = gi_fop_new(w->brick->graph, GI_FOP_LOOKUP);
  struct gi_inode *parent = gi_inode_get(w->brick->graph, &w->at);
  gi_fop_set_entry(fop, &fop->loc, parent, name);
  gi_inode_unref(&parent);
  gi_fop_submit(fop, w->brick, sv_walk_found, w);
}

void
sv_subdir_walk(struct server *sv, struct gi_xlator *brick, const char *path,
               void (*fn)(void *arg, int err, const struct gi_gfid *gfid), void *arg)
{
  struct sv_walk *w = gi_new(struct sv_walk);
  w->brick = brick;
  w->path = w->rest = gi_strdup(path);
  w->at = gi_gfid_root;
  w->fn = fn;
  w->arg = arg;
  sv_walk_step(w);
}

static void
sv_root_in(const struct sv_client *c, struct gi_gfid *gfid)
{
  if (gi_gfid_is_root(gfid))
    *gfid = c->subdir;
}

void
sv_subdir_request(const struct sv_client *c, struct gi_fop *fop)
{
  if (gi_gfid_is_none(&c->subdir))
    return;
  sv_root_in(c, &fop->loc.gfid);
  sv_root_in(c, &fop->loc.pargfid);
  sv_root_in(c, &fop->loc2.gfid);
  sv_root_in(c, &fop->loc2.pargfid);
}

static void
sv_root_out(const struct sv_client *c, struct gi_iatt *a)
{
  if (!gi_iatt_valid(a) || !gi_gfid_equal(&a->gfid, &c->subdir))
    return;
  a->gfid = gi_gfid_root;
  a->ino = 1;
}

void
sv_subdir_told(const struct sv_client *c, struct gi_invalidation *inv)
{
  if (gi_gfid_is_none(&c->subdir))
    return;
  if (gi_gfid_equal(&inv->gfid, &c->subdir))
    inv->gfid = gi_gfid_root;
  sv_root_out(c, &inv->stat);
  sv_root_out(c, &inv->parent);
  sv_root_out(c, &inv->old_parent);
}

/* Above it is nothing that this client should know. */
static void
sv_hide_parent(struct gi_dirent *e)
{
  if (e->name_len != 2 || memcmp(e->name, "..", 2) != 0)
    return;
  e->ino = UINT64_MAX;
  e->stat = (struct gi_iatt){0};
  gi_dict_unref(&e->xdata);
}

static bool
sv_lists_top(const struct sv_client *c, const struct gi_fop *fop)
{
  return (fop->kind == GI_FOP_READDIR || fop->kind == GI_FOP_READDIRP) && fop->fd && fop->fd->inode &&
         gi_gfid_equal(&fop->fd->inode->gfid, &c->subdir);
}

void
sv_subdir_reply(const struct sv_client *c, struct gi_fop *fop)
{
  if (gi_gfid_is_none(&c->subdir))
    return;
  struct gi_reply *r = &fop->rsp;
  sv_root_out(c, &r->stat);
  sv_root_out(c, &r->pre);
  sv_root_out(c, &r->post);
  sv_root_out(c, &r->pre2);
  sv_root_out(c, &r->post2);
  bool top = sv_lists_top(c, fop);
  for (uint32_t i = 0; i < r->entries.count; i++) {
    if (top)
      sv_hide_parent(&r->entries.entry[i]);
    sv_root_out(c, &r->entries.entry[i].stat);
  }
}
