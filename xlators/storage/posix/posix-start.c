/* SPDX-License-Identifier: Apache-2.0
 *
 * Start-up of a brick (brick.md 2.2): every doubt about the directory is a
 * refusal with a sentence that says which directory and what is wrong with it.
 */
#include "xlators/storage/posix/posix.h"

#include <sys/resource.h>
#include <sys/xattr.h>

#define DIRS_MAX 1024u

static int
open_brick(struct posix *p, struct gi_error *err)
{
  struct stat st;

  if (gi_fs_stat(p->fs, AT_FDCWD, p->brick, &st, 0) < 0)
    return gi_error_set(err, errno, "brick directory %s: %s", p->brick,
                        errno == ENOENT ? "it does not exist (is its file system mounted?)" : strerror(errno));
  if (!S_ISDIR(st.st_mode))
    return gi_error_set(err, ENOTDIR, "brick %s is not a directory", p->brick);
  p->root_fd = gi_fs_openat(p->fs, AT_FDCWD, p->brick, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (p->root_fd < 0)
    return gi_error_set(err, errno, "cannot open brick directory %s: %s", p->brick, strerror(errno));
  if (gi_fs_fgetxattr(p->fs, p->root_fd, "user.glusterish.probe", NULL, 0) < 0 && errno == EOPNOTSUPP)
    return gi_error_set(err, ENOTSUP, "the file system of brick %s has no extended attributes; use XFS or ext4", p->brick);
  return 0;
}

static int
check_volume_id(struct posix *p, const char *want, struct gi_error *err)
{
  char have_text[GI_UUID_TEXT], want_text[GI_UUID_TEXT];
  struct gi_gfid have;
  uint8_t raw[32];
  ssize_t n;

  if (!want || !want[0])
    return 0;
  if (!gi_gfid_parse(want, &p->volume_id))
    return gi_error_set(err, EINVAL, "brick %s: option volume-id '%s' is not a UUID", p->brick, want);
  n = gi_fs_fgetxattr(p->fs, p->root_fd, KEY_VOLUME_ID, raw, sizeof(raw));
  if (n < 0 && errno == ENODATA)
    return gi_error_set(err, ENODATA,
                        "brick %s is not part of volume %s: it has no %s attribute (not mounted, or never added to a volume?)",
                        p->brick, want, KEY_VOLUME_ID);
  if (n < 0)
    return gi_error_set(err, errno, "cannot read %s of brick %s: %s", KEY_VOLUME_ID, p->brick, strerror(errno));
  if (n != 16)
    return gi_error_set(err, EINVAL, "%s of brick %s has %zd bytes instead of 16", KEY_VOLUME_ID, p->brick, n);
  memcpy(have.b, raw, 16);
  if (!gi_gfid_equal(&have, &p->volume_id))
    return gi_error_set(err, EINVAL, "brick %s belongs to another volume: its volume id is %s, not %s", p->brick,
                        gi_gfid_text(&have, have_text), gi_gfid_text(&p->volume_id, want_text));
  p->have_volume_id = true;
  return 0;
}

static int
check_root_gfid(struct posix *p, struct gi_error *err)
{
  uint8_t raw[32];
  ssize_t n = gi_fs_fgetxattr(p->fs, p->root_fd, KEY_GFID, raw, sizeof(raw));

  if (n < 0 && errno == ENODATA) {
    if (gi_fs_fsetxattr(p->fs, p->root_fd, KEY_GFID, gi_gfid_root.b, 16, XATTR_CREATE) < 0)
      return gi_error_set(err, errno, "cannot set %s on brick %s: %s (trusted attributes need CAP_SYS_ADMIN)", KEY_GFID,
                          p->brick, strerror(errno));
    return 0;
  }
  if (n < 0)
    return gi_error_set(err, errno, "cannot read %s of brick %s: %s", KEY_GFID, p->brick, strerror(errno));
  if (n != 16 || memcmp(raw, gi_gfid_root.b, 16) != 0)
    return gi_error_set(err, EINVAL, "%s of brick %s is not that of a volume root: the directory is inside of another brick",
                        KEY_GFID, p->brick);
  return 0;
}

/* A housekeeping directory below `at`, made if absent. */
static int
open_dir(struct posix *p, int at, const char *name, mode_t mode, int *fd)
{
  if (gi_fs_mkdir(p->fs, at, name, mode) < 0 && errno != EEXIST)
    return -1;
  *fd = gi_fs_openat(p->fs, at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  return *fd < 0 ? -1 : 0;
}

static int
make_housekeeping(struct posix *p, struct gi_error *err)
{
  struct stat st;
  char name[3];

  if (open_dir(p, p->root_fd, ".glusterfs", 0600, &p->gl_fd) < 0 || gi_fs_fstat(p->fs, p->gl_fd, &st) < 0)
    return gi_error_set(err, errno, "cannot make or open %s/.glusterfs: %s", p->brick, strerror(errno));
  p->gl_dev = st.st_dev;
  p->gl_ino = st.st_ino;
  for (int i = 0; i < 256; i++) {
    snprintf(name, sizeof(name), "%02x", i);
    if (gi_fs_mkdir(p->fs, p->gl_fd, name, 0700) < 0 && errno != EEXIST)
      return gi_error_set(err, errno, "cannot make %s/.glusterfs/%s: %s", p->brick, name, strerror(errno));
  }
  if (open_dir(p, p->gl_fd, "landfill", 0755, &p->landfill_fd) < 0 || open_dir(p, p->gl_fd, "unlink", 0600, &p->unlink_fd) < 0)
    return gi_error_set(err, errno, "cannot make %s/.glusterfs/landfill or unlink: %s", p->brick, strerror(errno));
  p->health_dir = gi_fs_reopen(p->fs, p->gl_fd);
  if (p->health_dir < 0)
    return gi_error_set(err, errno, "cannot keep %s/.glusterfs open: %s", p->brick, strerror(errno));
  return 0;
}

static int
check_root_handle(struct posix *p, struct gi_error *err)
{
  char path[POSIX_HPATH];
  struct stat root, there;

  posix_hpath(path, &gi_gfid_root);
  if (gi_fs_mkdir(p->fs, p->gl_fd, "00/00", 0700) < 0 && errno != EEXIST)
    return gi_error_set(err, errno, "cannot make %s/.glusterfs/00/00: %s", p->brick, strerror(errno));
  if (gi_fs_symlink(p->fs, "../../..", p->gl_fd, path) == 0)
    return 0;
  if (errno != EEXIST)
    return gi_error_set(err, errno, "cannot make the root handle of brick %s: %s", p->brick, strerror(errno));
  if (gi_fs_fstat(p->fs, p->root_fd, &root) < 0 || gi_fs_stat(p->fs, p->gl_fd, path, &there, 0) < 0 ||
      root.st_dev != there.st_dev || root.st_ino != there.st_ino)
    return gi_error_set(err, EINVAL, "the root handle %s/.glusterfs/%s does not lead to the brick: was the brick copied?",
                        p->brick, path);
  return 0;
}

/* Two processes on one brick would not know of each other's locks and open files. GlusterFS bricks take no such lock. */
static int
lock_brick(struct posix *p, struct gi_error *err)
{
  pid_t holder;

  if (gi_fs_lock_directory(p->fs, p->root_fd, &holder) == 0)
    return 0;
  if (holder > 0)
    return gi_error_set(err, EBUSY, "brick %s is served by another process already, %d", p->brick, (int)holder);
  return gi_error_set(err, EBUSY, "brick %s is served by another process already", p->brick);
}

static bool
handle_is_absent(const struct posix *p, const struct gi_gfid *gfid)
{
  char path[POSIX_HPATH];
  struct stat st;

  return gi_fs_stat(p->fs, p->gl_fd, posix_hpath(path, gfid), &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* A crash between the steps of a rename over a file, which still has its name: its handle goes back. */
static void
give_handle_back(const struct posix *p, const char *name)
{
  struct gi_gfid gfid;
  struct stat st;

  if (gi_gfid_parse(name, &gfid) && gi_fs_stat(p->fs, p->unlink_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 2 &&
      handle_is_absent(p, &gfid))
    posix_handle_unretire(p, &gfid);
}

/* The others are kept for clients that have them open, for a while (posix-parked.c). */
static void
give_handles_back(struct posix *p)
{
  struct gi_fs_dir dir;
  const struct gi_fs_dirent *d;

  if (gi_fs_dir_open(&dir, p->fs, p->unlink_fd, "."))
    return;
  while ((d = gi_fs_dir_next(&dir))) {
    if (d->name[0] != '.')
      give_handle_back(p, d->name);
  }
  gi_fs_dir_close(&dir);
}

static void
move_old_landfill(struct posix *p)
{
  struct gi_gfid name = gi_gfid_new(p->x->reactor);
  char text[GI_UUID_TEXT];

  if (gi_fs_rename(p->fs, p->root_fd, ".landfill", p->landfill_fd, gi_gfid_text(&name, text)) == 0)
    gi_log(GI_LOG_INFO, p->name, GI_MSG_POSIX + 2, "moved the old .landfill of %s away", p->brick);
}

static int
set_owner(struct posix *p, const struct posix_options *o, struct gi_error *err)
{
  uid_t uid = o->uid >= 0 ? (uid_t)o->uid : (uid_t)-1;
  gid_t gid = o->gid >= 0 ? (gid_t)o->gid : (gid_t)-1;
  struct stat st;

  if ((o->uid < 0 && o->gid < 0) || gi_fs_fstat(p->fs, p->root_fd, &st) < 0)
    return 0;
  if ((o->uid < 0 || st.st_uid == uid) && (o->gid < 0 || st.st_gid == gid))
    return 0;
  if (gi_fs_chown(p->fs, p->root_fd, "", uid, gid) < 0)
    return gi_error_set(err, errno, "cannot give brick %s to uid %lld gid %lld: %s", p->brick, (long long)o->uid,
                        (long long)o->gid, strerror(errno));
  return 0;
}

static void
size_dir_cache(struct posix *p)
{
  struct rlimit lim;

  p->dirs_max = DIRS_MAX;
  if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY && lim.rlim_cur / 8 < p->dirs_max)
    p->dirs_max = lim.rlim_cur / 8 > 8 ? (unsigned)(lim.rlim_cur / 8) : 8;
}

int
posix_start(struct posix *p, const struct posix_options *o, struct gi_error *err)
{
  if (!p->fs)
    umask(0); /* the client applied its own already */
  if (open_brick(p, err) < 0 || check_volume_id(p, o->volume_id, err) < 0 || check_root_gfid(p, err) < 0 ||
      make_housekeeping(p, err) < 0 || check_root_handle(p, err) < 0 || lock_brick(p, err) < 0 || set_owner(p, o, err) < 0)
    return -1;
  move_old_landfill(p);
  give_handles_back(p);
  p->euid = geteuid();
  p->egid = getegid();
  posix_at_probe(p, o->xattr_at);
  size_dir_cache(p);

  int fd = gi_fs_reopen(p->fs, p->root_fd);

  if (fd < 0)
    return gi_error_set(err, errno, "cannot keep brick %s open: %s", p->brick, strerror(errno));
  p->root_dir = gi_new(struct posix_dir);
  *p->root_dir = (struct posix_dir){.magic = POSIX_DIR_MAGIC, .fd = fd, .refs = 1};
  p->magic = POSIX_MAGIC;
  return 0;
}
