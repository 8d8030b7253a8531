/* SPDX-License-Identifier: Apache-2.0
 *
 * What the command line adds to a volfile: the mount on top of a client graph
 * with the virtual directories right below it, the sub-directory in every
 * connection.
 */
#include "programs/glusterishfs/glusterishfs.h"

#include <errno.h>
#include <stdio.h>

/* The device of the mount, as df and /proc/mounts show it: "host:/volume/dir". */
static void
device_name(const struct fs_config *cfg, char *buf, size_t size)
{
  if (cfg->servers.count)
    snprintf(buf, size, "%s:%s%s", cfg->servers.item[0], cfg->volfile_id, cfg->subdir ? cfg->subdir : "");
  else
    snprintf(buf, size, "%s", cfg->volfile);
}

static struct gi_vol_node *
mounted_volume(const struct fs_config *cfg, struct gi_volfile *vf, struct gi_error *err)
{
  struct gi_vol_node *n = cfg->volume_name ? gi_volfile_find(vf, cfg->volume_name) : gi_volfile_top(vf);
  if (!n)
    gi_error_set(err, ENOENT, cfg->volume_name ? "the volfile has no volume %s" : "the volfile is empty", cfg->volume_name);
  return n;
}

/* Above everything that keeps or counts, so that no cache knows of virtual files and no statistics count them. The name is that of the
 * original. */
static struct gi_vol_node *
add_meta(const struct fs_config *cfg, struct gi_volfile *vf, struct gi_vol_node *below)
{
  if (cfg->no_meta || gi_volfile_find(vf, "meta-autoload"))
    return below;
  struct gi_vol_node *meta = gi_vol_node_add(vf, "features/meta", "meta-autoload");
  gi_vol_node_sub(meta, below);
  return meta;
}

static int
add_mount(const struct fs_config *cfg, struct gi_volfile *vf, struct gi_error *err)
{
  struct gi_vol_node *below = mounted_volume(cfg, vf, err);
  if (!below)
    return -1;
  char device[4096];
  struct gi_vol_node *mount = below;
  if (strcmp(below->type, "mount/fuse") != 0) {
    struct gi_vol_node *meta = add_meta(cfg, vf, below);
    mount = gi_vol_node_add(vf, "mount/fuse", "%s", gi_volfile_find(vf, "fuse") ? "glusterish-fuse" : "fuse");
    gi_vol_node_sub(mount, meta);
    gi_vol_node_option(mount, "volume-name", "%s", below->name);
  }
  device_name(cfg, device, sizeof(device));
  gi_vol_node_option(mount, "mountpoint", "%s", cfg->mountpoint);
  gi_vol_node_option(mount, "fsname", "%s", device);
  for (unsigned i = 0; i < cfg->nfuse; i++)
    gi_vol_node_option(mount, cfg->fuse[i].name, "%s", cfg->fuse[i].value);
  return 0;
}

int
fs_volfile_adapt(const struct fs_config *cfg, struct gi_volfile *vf, struct gi_error *err)
{
  if (fs_volfile_skip(vf, err) < 0)
    return -1;
  if (cfg->subdir)
    gi_list_foreach(n, &vf->nodes, struct gi_vol_node, link)
      if (strcmp(n->type, "protocol/client") == 0)
        gi_vol_node_option(n, "subdir-mount", "%s", cfg->subdir);
  if (cfg->root_xattrs.count && gi_volfile_top(vf))
    fs_root_xattr_adapt(vf);
  return cfg->mountpoint ? add_mount(cfg, vf, err) : 0;
}
