/* SPDX-License-Identifier: Apache-2.0
 *
 * May a directory become a brick, and is it still the brick it was? The rules
 * and sentences are those of cli.md 5.1 and 5.2: they keep people from putting
 * a brick on the root file system, into another brick, or over old data.
 */
#include "programs/glusterishd/model/model.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define XATTR_VOLUME_ID "trusted.glusterfs.volume-id"
#define XATTR_GFID "trusted.gfid"
#define XATTR_PROBE "trusted.glusterfs.test"
#define XATTR_DIRTY "trusted.afr.dirty"

/* Is `path` equal to or below `dir`? */
static bool
path_within(const char *path, const char *dir)
{
  size_t len = strlen(dir);
  return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static int
check_place(struct gd *gd, const char *host, const char *path, const struct gd_brick *except, struct gi_error *err)
{
  if (strlen(path) >= PATH_MAX - 64 || strlen(path) + strlen(host) > 200)
    return gi_error_set(err, ENAMETOOLONG, "brick path %.300s is too long.", path);
  GI_CLEANUP_FREE char *workdir = realpath(gd->config.workdir, NULL);
  GI_CLEANUP_FREE char *root = gi_asprintf("%s/bricks/", gd->config.workdir);
  if (workdir && path_within(path, workdir) && strncmp(path, root, strlen(root)) != 0)
    return gi_error_set(err, EINVAL, "Brick isn't allowed to be created inside glusterd's working directory.");
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (&v->bricks[i] != except && gi_gfid_equal(&v->bricks[i].node, &gd->uuid) &&
          (path_within(path, v->bricks[i].path) || path_within(v->bricks[i].path, path)))
        return gi_error_set(err, EEXIST,
                            "Brick: %s:%s not available. Brick may be containing or be contained by an existing brick.", host,
                            path);
  return 0;
}

static int
make_directory(const char *host, const char *path, bool *created, struct stat *st, struct gi_error *err)
{
  if (mkdir(path, 0755) == 0)
    *created = true;
  else if (errno != EEXIST)
    return gi_error_set(err, errno, "Failed to create brick directory for brick %s:%s. Reason : %s ", host, path,
                        strerror(errno));
  if (lstat(path, st))
    return gi_error_set(err, errno, "Failed to create brick directory for brick %s:%s. Reason : %s ", host, path,
                        strerror(errno));
  if (!S_ISDIR(st->st_mode))
    return gi_error_set(err, ENOTDIR, "The provided path %s which is already present, is not a directory", path);
  return 0;
}

static int
check_file_system(const char *host, const char *path, const struct stat *st, struct gi_error *err)
{
  GI_CLEANUP_FREE char *parent = gi_asprintf("%s/..", path);
  struct stat root, above;
  if (stat("/", &root) || stat(parent, &above))
    return gi_error_set(err, errno, "cannot examine %s: %s", path, strerror(errno));
  if (above.st_dev != st->st_dev)
    return gi_error_set(
        err, EINVAL,
        "The brick %s:%s is a mount point. Please create a sub-directory under the mount point and use that as the "
        "brick directory. Or use 'force' at the end of the command if you want to override this behavior.",
        host, path);
  if (root.st_dev == st->st_dev)
    return gi_error_set(
        err, EINVAL,
        "The brick %s:%s is being created in the root partition. It is recommended that you don't use the system's "
        "root partition for storage backend. Or use 'force' at the end of the command if you want to override this "
        "behavior.",
        host, path);
  return 0;
}

static bool
has_mark(const char *path)
{
  return lgetxattr(path, XATTR_VOLUME_ID, NULL, 0) >= 0 || lgetxattr(path, XATTR_GFID, NULL, 0) >= 0;
}

static int
check_marks(const char *path, bool force, struct gi_error *err)
{
  if (!force && has_mark(path))
    return gi_error_set(err, EEXIST, "%s is already part of a volume", path);
  GI_CLEANUP_FREE char *dir = gi_strdup(path);
  for (char *slash; (slash = strrchr(dir, '/')) != NULL && slash != dir;) {
    *slash = '\0';
    if (has_mark(dir))
      return gi_error_set(err, EEXIST, "parent directory %s is already part of a volume", dir);
  }
  return 0;
}

static int
check_xattrs_work(const char *host, const char *path, struct gi_error *err)
{
  if (lsetxattr(path, XATTR_PROBE, "working", 8, 0))
    return gi_error_set(err, errno,
                        "Glusterfs is not supported on brick: %s:%s.\nSetting extended attributes failed, reason: %s.", host,
                        path, strerror(errno));
  lremovexattr(path, XATTR_PROBE);
  return 0;
}

static int
check(struct gd *gd, const char *host, const char *path, const struct gd_brick *except, bool force, bool *created,
      struct gi_error *err)
{
  struct stat st;
  *created = false;
  if (check_place(gd, host, path, except, err))
    return -1;
  if (make_directory(host, path, created, &st, err) || (!force && check_file_system(host, path, &st, err)) ||
      check_marks(path, force, err) || check_xattrs_work(host, path, err)) {
    if (*created)
      rmdir(path);
    *created = false;
    return -1;
  }
  return 0;
}

int
gd_brick_check_new(struct gd *gd, const char *host, const char *path, bool force, bool *created, struct gi_error *err)
{
  return check(gd, host, path, NULL, force, created, err);
}

int
gd_brick_check_again(struct gd *gd, const struct gd_brick *b, bool force, bool *created, struct gi_error *err)
{
  if (!force && lgetxattr(b->path, XATTR_VOLUME_ID, NULL, 0) >= 0)
    return gi_error_set(err, EEXIST,
                        "Brick not available.It may be containing or be contained by an existing brick.Use 'force' option to "
                        "override this.");
  return check(gd, b->host, b->path, b, force, created, err);
}

static void
remember(const char *path, const char *name, struct gd_xattr_was *was)
{
  ssize_t n = lgetxattr(path, name, was->value, sizeof(was->value));
  was->len = n > 0 ? (size_t)n : 0;
  was->set = true;
}

static void
give_back(const char *path, const char *name, const struct gd_xattr_was *was)
{
  if (was->set && !was->len)
    lremovexattr(path, name);
  else if (was->set && lsetxattr(path, name, was->value, was->len, 0))
    gi_log(GI_LOG_ERROR, GD_NAME, GI_MSG_MGMT + 15, "cannot give %s its old %s back: %s", path, name, strerror(errno));
}

void
gd_brick_look(const char *path, struct gd_brick_was *was)
{
  remember(path, XATTR_VOLUME_ID, &was->id);
  remember(path, XATTR_DIRTY, &was->dirty);
}

int
gd_brick_mark(const char *host, const char *path, const struct gi_gfid *volume, struct gd_brick_was *was, struct gi_error *err)
{
  remember(path, XATTR_VOLUME_ID, &was->id);
  if (lsetxattr(path, XATTR_VOLUME_ID, volume->b, sizeof(volume->b), 0))
    return gi_error_set(err, errno, "Failed to set extended attribute " XATTR_VOLUME_ID " on brick %s:%s. Reason : %s", host,
                        path, strerror(errno));
  return 0;
}

int
gd_brick_mark_dirty(const char *host, const char *path, struct gd_brick_was *was, struct gi_error *err)
{
  static const uint8_t entry_one[12] = {[11] = 1}; /* data, metadata, entry, big endian (replicate.md 2.1) */
  remember(path, XATTR_DIRTY, &was->dirty);
  if (lsetxattr(path, XATTR_DIRTY, entry_one, sizeof(entry_one), 0))
    return gi_error_set(err, errno, "Failed to set extended attribute " XATTR_DIRTY " on brick %s:%s. Reason : %s", host, path,
                        strerror(errno));
  return 0;
}

void
gd_brick_unmark(const char *path, const struct gd_brick_was *was)
{
  give_back(path, XATTR_VOLUME_ID, &was->id);
  give_back(path, XATTR_DIRTY, &was->dirty);
}

int
gd_brick_check_start(const struct gd_brick *b, struct gi_error *err)
{
  struct stat st;
  struct gi_gfid id;
  char want[GI_UUID_TEXT], have[GI_UUID_TEXT];
  if (stat(b->path, &st) || !S_ISDIR(st.st_mode))
    return gi_error_set(err, ENOENT, "Failed to find brick directory %s for volume %s. Reason : %s", b->path, b->volume->name,
                        strerror(errno ? errno : ENOTDIR));
  ssize_t n = lgetxattr(b->path, XATTR_VOLUME_ID, id.b, sizeof(id.b));
  if (n != (ssize_t)sizeof(id.b))
    return gi_error_set(err, EINVAL, "Failed to get extended attribute " XATTR_VOLUME_ID " for brick dir %s. Reason : %s",
                        b->path, n < 0 ? strerror(errno) : "it has the wrong length");
  if (!gi_gfid_equal(&id, &b->volume->id))
    return gi_error_set(err, EINVAL, "Volume id mismatch for brick %s:%s. Expected volume id %s, volume id %s found", b->host,
                        b->path, gi_gfid_text(&b->volume->id, want), gi_gfid_text(&id, have));
  return 0;
}
