/* SPDX-License-Identifier: Apache-2.0
 *
 * A mount whose volume has got other bricks than it can follow. Going on with
 * the old ones would spread a difference that nobody looks for: files made here
 * are missing elsewhere, and the other way round. So a translator goes in under
 * the mount that answers everything with EIO. It leaves with the next volfile
 * that the mount can take.
 */
#include "programs/glusterishfs/glusterishfs.h"

#include <errno.h>

#define TYPE "glusterish/other-bricks"
#define NAME "glusterish-other-bricks"

static enum gi_verdict
refuse(struct gi_xlator *x, struct gi_fop *fop)
{
  return gi_fop_fail(fop, EIO);
}

static const struct gi_xlator_class bar_class = {
    .abi = GI_XLATOR_ABI,
    .type = TYPE,
    .version = GI_VERSION,
    .summary = "Answers everything with EIO",
    .min_children = 1,
    .max_children = 1,
    .submit = refuse,
};

static bool
same_text(const char *a, const char *b)
{
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool
has_brick(const struct gi_volfile *vf, const struct gi_vol_node *brick)
{
  gi_list_foreach(n, &vf->nodes, struct gi_vol_node, link)
    if (strcmp(n->type, "protocol/client") == 0 &&
        same_text(gi_vol_node_get(n, "remote-host"), gi_vol_node_get(brick, "remote-host")) &&
        same_text(gi_vol_node_get(n, "remote-subvolume"), gi_vol_node_get(brick, "remote-subvolume")))
      return true;
  return false;
}

/* The first brick of `vf` that `other` does not have. */
static const struct gi_vol_node *
brick_not_in(const struct gi_volfile *vf, const struct gi_volfile *other)
{
  gi_list_foreach(n, &vf->nodes, struct gi_vol_node, link)
    if (strcmp(n->type, "protocol/client") == 0 && !has_brick(other, n))
      return n;
  return NULL;
}

bool
fs_other_bricks(const struct gi_volfile *running, const struct gi_volfile *vf)
{
  return brick_not_in(vf, running) || brick_not_in(running, vf);
}

void
fs_stop_serving(struct fs_process *p)
{
  struct gi_graph *g = p->ctx.graph;
  struct gi_error err = {0};
  if (gi_volfile_find(g->volfile, NAME))
    return;
  GI_CLEANUP_FREE char *text = gi_volfile_write(g->volfile);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  struct gi_vol_node *mount = vf ? gi_volfile_top(vf) : NULL;
  GI_ASSERT(mount && mount->nsub == 1);
  gi_class_register(&bar_class);
  struct gi_vol_node *bar = gi_vol_node_add(vf, TYPE, NAME), *below = mount->sub[0];
  mount->sub[0] = bar;
  bar->nparents = 1;
  below->nparents--;
  gi_vol_node_sub(bar, below);
  gi_list_del(&mount->link); /* parents after children */
  gi_list_add_tail(&vf->nodes, &mount->link);
  if (gi_graph_reconfigure(g, &vf, &err) != 0) {
    gi_volfile_free(&vf);
    fs_fail(p, "the volume has other bricks now and %s cannot be closed: %s", p->cfg->mountpoint, err.text);
    return;
  }
  gi_log(GI_LOG_CRITICAL, "glusterishfs", GI_MSG_CLI + 40,
         "the volume has other bricks now, which this version cannot follow: everything on %s fails with EIO from now on, "
         "until the "
         "volume is as it was or is mounted again",
         p->cfg->mountpoint);
}
