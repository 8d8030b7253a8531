/* SPDX-License-Identifier: Apache-2.0
 *
 * Single questions to replica sets and bricks, each waited for.
 */
#include "programs/heal/heal.h"

#include "libglusterish/task.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct gi_fop *
heal_fop(struct heal *h, enum gi_fop_kind kind, const struct gi_gfid *gfid)
{
  struct gi_fop *fop = gi_fop_new(h->top->graph, kind);
  fop->caller.pid = GI_PID_HEAL_TOOL;
  if (gfid) {
    struct gi_inode *inode = gi_inode_get(h->top->graph, gfid);
    gi_loc_set_inode(&fop->loc, inode);
    gi_inode_unref(&inode);
  }
  return fop;
}

int
heal_getxattr(struct heal *h, struct gi_xlator *at, const struct gi_gfid *gfid, const char *name, struct gi_dict *xdata,
              struct gi_fop **reply)
{
  struct gi_fop *fop = heal_fop(h, GI_FOP_GETXATTR, gfid);
  fop->args.name = name;
  fop->xdata = gi_dict_ref(xdata);
  gi_task_fop(fop, at);
  int err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
  if (reply)
    *reply = fop;
  else
    gi_fop_unref(fop);
  return err;
}

/* Paths of hard links come as one text with ":" between them. */
static bool
has_links(struct heal *h, const struct heal_brick *b, const struct gi_gfid *gfid)
{
  struct gi_fop *fop = heal_fop(h, GI_FOP_LOOKUP, gfid);
  gi_task_fop(fop, b->client);
  bool links = fop->rsp.ret >= 0 && !S_ISDIR(fop->rsp.stat.mode) && fop->rsp.stat.nlink > 1;
  gi_fop_unref(fop);
  return links;
}

char *
heal_path(struct heal *h, const struct heal_brick *b, const struct gi_gfid *gfid)
{
  static const char name[] = "glusterfs.gfidtopath";
  struct gi_fop *reply;
  const void *bytes;
  uint32_t len;
  char *path = NULL;
  if (gi_gfid_is_root(gfid))
    return gi_strdup("/");
  if (heal_getxattr(h, b->client, gfid, name, NULL, &reply) == 0 && gi_dict_get_bin(reply->rsp.dict, name, &bytes, &len) &&
      len && *(const char *)bytes == '/')
    path = gi_strndup(bytes, strnlen(bytes, len));
  gi_fop_unref(reply);
  char *second = path ? strstr(path, ":/") : NULL;
  if (second && has_links(h, b, gfid))
    *second = '\0';
  return path;
}

bool
heal_connected(struct heal *h, const struct heal_brick *b)
{
  struct gi_fop *fop = heal_fop(h, GI_FOP_LOOKUP, &gi_gfid_root);
  gi_task_fop(fop, b->client);
  bool yes = fop->rsp.ret >= 0;
  gi_fop_unref(fop);
  return yes;
}
