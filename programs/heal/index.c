/* SPDX-License-Identifier: Apache-2.0
 *
 * Listing what a brick wants healed: directories that exist only on the wire,
 * under gfids that the root tells (replicate.md 7.9). A name is a gfid.
 */
#include "programs/heal/heal.h"

#include "libglusterish/task.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CHUNK (128u << 10) /* bytes of names asked for at once */

static int
find_directory(struct heal *h, struct heal_brick *b, enum heal_index index, struct gi_gfid *dir)
{
  static const char *const key[] = {
      [HEAL_INDEX_PENDING] = "glusterfs.xattrop_index_gfid", [HEAL_INDEX_DIRTY] = "glusterfs.xattrop_dirty_gfid"};
  struct gi_fop *reply;
  int err = heal_getxattr(h, b->client, &gi_gfid_root, key[index], NULL, &reply);
  if (!err && !gi_dict_get_gfid(reply->rsp.dict, key[index], dir))
    err = EPROTO;
  gi_fop_unref(reply);
  return err;
}

static int
open_directory(struct heal *h, struct heal_brick *b, const struct gi_gfid *dir, struct gi_fd **fd)
{
  struct gi_inode *inode = gi_inode_get(h->top->graph, dir);
  struct gi_fop *fop = heal_fop(h, GI_FOP_OPENDIR, dir);
  *fd = gi_fd_new(h->top->graph, inode, O_RDONLY | O_DIRECTORY, GI_PID_HEAL_TOOL);
  (*fd)->directory = true;
  gi_inode_unref(&inode);
  gi_fop_set_fd(fop, *fd);
  gi_task_fop(fop, b->client);
  int err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
  gi_fop_unref(fop);
  if (err)
    gi_fd_unref(fd);
  return err;
}

/* One answer's worth of names; *offset goes on, *more says whether there are others. */
static int
list_some(struct heal *h, struct heal_brick *b, struct gi_fd *fd, uint64_t *offset, bool *more,
          void (*fn)(struct heal *h, struct heal_brick *b, const struct gi_gfid *dir, const struct gi_gfid *gfid, void *arg),
          void *arg)
{
  struct gi_fop *fop = heal_fop(h, GI_FOP_READDIR, NULL);
  uint64_t before = *offset;
  gi_fop_set_fd(fop, fd);
  fop->args.size = CHUNK;
  fop->args.offset = *offset;
  gi_task_fop(fop, b->client);
  int err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
  for (uint32_t i = 0; !err && i < fop->rsp.entries.count; i++) {
    const struct gi_dirent *e = &fop->rsp.entries.entry[i];
    struct gi_gfid gfid;
    *offset = e->off;
    if (gi_gfid_parse(e->name, &gfid)) /* base files are none */
      fn(h, b, &fd->inode->gfid, &gfid, arg);
  }
  *more = !err && fop->rsp.entries.count && fop->rsp.err != ENOENT;
  gi_fop_unref(fop);
  return !err && *more && *offset == before ? ELOOP : err; /* a brick that says the same for ever */
}

int
heal_index_list(struct heal *h, struct heal_brick *b, enum heal_index index,
                void (*fn)(struct heal *h, struct heal_brick *b, const struct gi_gfid *dir, const struct gi_gfid *gfid,
                           void *arg),
                void *arg)
{
  struct gi_gfid dir;
  struct gi_fd *fd = NULL;
  uint64_t offset = 0;
  bool more = true;
  int err = find_directory(h, b, index, &dir);
  if (!err)
    err = open_directory(h, b, &dir, &fd);
  while (!err && more)
    err = list_some(h, b, fd, &offset, &more, fn, arg);
  gi_fd_unref(&fd);
  return err == ENOENT || err == ENODATA ? 0 : err;
}

void
heal_index_drop(struct heal *h, struct heal_brick *b, const struct gi_gfid *dir, const struct gi_gfid *gfid)
{
  char name[GI_UUID_TEXT];
  struct gi_inode *parent = gi_inode_get(h->top->graph, dir);
  struct gi_fop *fop = heal_fop(h, GI_FOP_UNLINK, NULL);
  gi_fop_set_entry(fop, &fop->loc, parent, gi_gfid_text(gfid, name));
  gi_inode_unref(&parent);
  gi_task_fop(fop, b->client);
  if (fop->rsp.ret < 0)
    gi_log(GI_LOG_INFO, b->client->name, GI_MSG_CLI + 60, "stale index name %s stays: %s", name, strerror(fop->rsp.err));
  gi_fop_unref(fop);
}
