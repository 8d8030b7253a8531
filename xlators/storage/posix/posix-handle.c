/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles: .glusterfs/aa/bb/<gfid> is a hard link to a file, or a symlink
 * "../../pp/qq/<parent gfid>/<name>" for a directory (brick.md 2.3).
 *
 * The kernel is never asked to follow one. A user's own symlink has a handle
 * too, a hard link with a text of the user's choice, so a directory handle
 * counts only with link count 1 and a well-formed text, and the way from the
 * root down to a directory is walked name by name without following symlinks.
 */
#include "xlators/storage/posix/posix.h"

char *
posix_hpath(char out[POSIX_HPATH], const struct gi_gfid *gfid)
{
  gi_gfid_text(gfid, out + 6);
  memcpy(out, out + 6, 2);
  out[2] = '/';
  memcpy(out + 3, out + 8, 2);
  out[5] = '/';
  return out;
}

int
posix_gfid_read(const struct posix *p, struct posix_at at, struct gi_gfid *gfid)
{
  uint8_t raw[17];
  ssize_t n = posix_at_get(p, at, KEY_GFID, raw, sizeof(raw));

  *gfid = gi_gfid_none;
  if (n < 0)
    return errno == ERANGE ? EIO : errno;
  if (n != 16)
    return EIO;
  memcpy(gfid->b, raw, 16);
  return gi_gfid_is_none(gfid) ? EIO : 0;
}

bool
posix_in_company(const struct posix_op *op)
{
  return op->on_worker || op->p->away > 0;
}

int
posix_entry_read(const struct posix_op *op, struct posix_at at, struct stat *st, struct gi_gfid *gfid)
{
  struct stat again;

  *gfid = gi_gfid_none;
  for (int tries = 0; tries < 100; tries++) {
    if (posix_at_stat(op->p, at, st) < 0)
      return errno;
    if (posix_known_gfid(op, st, gfid))
      return 0;

    int err = posix_gfid_read(op->p, at, gfid);

    if (!err)
      posix_known_read(op, gfid, st);
    if ((err && err != ENOENT && err != ENODATA) || !posix_in_company(op))
      return err;
    if (posix_at_stat(op->p, at, &again) == 0 && again.st_dev == st->st_dev && again.st_ino == st->st_ino)
      return err;
  }
  return EAGAIN;
}

bool
posix_gfid_requested(const struct gi_fop *fop, struct gi_gfid *gfid)
{
  return gi_dict_get_gfid(fop->xdata, "gfid-req", gfid) && !gi_gfid_is_none(gfid) && !gi_gfid_is_root(gfid);
}

bool
posix_handle_parse(const char *text, size_t len, struct gi_gfid *parent, char base[GI_NAME_MAX + 1])
{
  char uuid[GI_UUID_TEXT];
  const char *name = text + 49;

  if (len < 50 || len >= POSIX_LINK_MAX || memcmp(text, "../../", 6) != 0)
    return false;
  if (text[8] != '/' || text[11] != '/' || text[48] != '/' || memchr(name, '/', len - 49) || len - 49 > GI_NAME_MAX)
    return false;
  memcpy(uuid, text + 12, 36);
  uuid[36] = '\0';
  if (!gi_gfid_parse(uuid, parent) || memcmp(uuid, text + 6, 2) != 0 || memcmp(uuid + 2, text + 9, 2) != 0)
    return false;
  memcpy(base, name, len - 49);
  base[len - 49] = '\0';
  return strcmp(base, ".") != 0 && strcmp(base, "..") != 0;
}

int
posix_handle_link_text(const struct posix *p, const struct gi_gfid *gfid, struct gi_gfid *parent, char base[GI_NAME_MAX + 1])
{
  char path[POSIX_HPATH], text[POSIX_LINK_MAX + 1];
  struct stat st;

  posix_hpath(path, gfid);
  if (gi_fs_stat(p->fs, p->gl_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return errno;
  if (!S_ISLNK(st.st_mode) || st.st_nlink != 1)
    return ENOTDIR;

  ssize_t n = gi_fs_readlink(p->fs, p->gl_fd, path, text, sizeof(text));

  if (n < 0)
    return errno == EINVAL ? ENOTDIR : errno;
  return posix_handle_parse(text, (size_t)n, parent, base) ? 0 : ESTALE;
}

bool
posix_handle_elsewhere(struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st)
{
  const struct posix *p = op->p;
  char path[POSIX_HPATH];
  struct stat other;
  uint32_t depth;
  bool there;

  if (S_ISDIR(st->st_mode)) {
    int fd = posix_walk_open(op, gfid, &depth);

    op->astray = false; /* it is an answer that there is no way */
    if (fd < 0)
      return false;
    there = gi_fs_fstat(p->fs, fd, &other) == 0;
    gi_fs_close(p->fs, fd);
  } else {
    there = gi_fs_stat(p->fs, p->gl_fd, posix_hpath(path, gfid), &other, AT_SYMLINK_NOFOLLOW) == 0;
  }
  return there && (other.st_dev != st->st_dev || other.st_ino != st->st_ino);
}

/* ---- making and removing ---- */

/* Which of the 65,536 directories of handles are there, as far as this process has met them; and whether the last one that it met for the
 * first time was: on a brick with few files the next one is not, either. Workers look, too. */
struct posix_hash {
  atomic_uchar there[65536 / 8];
  atomic_bool missing;
};

struct posix_hash *
posix_hash_new(void)
{
  return gi_new(struct posix_hash);
}

static atomic_uchar *
hash_byte(const struct posix *p, const struct gi_gfid *gfid)
{
  GI_ASSERT(p->hash && !gi_gfid_is_none(gfid));
  return &p->hash->there[gfid->b[0] << 5 | gfid->b[1] >> 3];
}

static void
hash_dir_met(const struct posix *p, const struct gi_gfid *gfid, bool missing)
{
  atomic_uchar *byte = hash_byte(p, gfid);
  uint8_t bit = (uint8_t)(1u << (gfid->b[1] & 7));

  if (atomic_load_explicit(byte, memory_order_relaxed) & bit)
    return;
  atomic_fetch_or_explicit(byte, bit, memory_order_relaxed);
  atomic_store_explicit(&p->hash->missing, missing, memory_order_relaxed);
}

/* Makes the directory of a handle if it is likely not to be there. Who finds it missing after all makes it then. */
static void
make_likely_hash_dir(const struct posix *p, const struct gi_gfid *gfid, const char *hpath)
{
  char dir[6];

  if (!atomic_load_explicit(&p->hash->missing, memory_order_relaxed) ||
      atomic_load_explicit(hash_byte(p, gfid), memory_order_relaxed) & 1u << (gfid->b[1] & 7))
    return;
  memcpy(dir, hpath, 5);
  dir[5] = '\0';
  if (gi_fs_mkdir(p->fs, p->gl_fd, dir, 0700) == 0)
    hash_dir_met(p, gfid, true);
  else if (errno == EEXIST)
    hash_dir_met(p, gfid, false);
}

static int
make_hash_dirs(const struct posix *p, const char *hpath)
{
  char dir[6];

  memcpy(dir, hpath, 5);
  for (int attempt = 0; attempt < 2; attempt++) { /* the upper ones are soon all there */
    dir[2] = '/';
    dir[5] = '\0';
    if (gi_fs_mkdir(p->fs, p->gl_fd, dir, 0700) == 0 || errno == EEXIST)
      return 0;
    if (errno != ENOENT)
      return errno;
    dir[2] = '\0';
    if (gi_fs_mkdir(p->fs, p->gl_fd, dir, 0700) < 0 && errno != EEXIST)
      return errno;
  }
  return ENOENT;
}

int
posix_handle_add_file(const struct posix *p, int dirfd, const char *name, const struct gi_gfid *gfid, const struct stat *st)
{
  char path[POSIX_HPATH];
  struct stat have, own;

  posix_hpath(path, gfid);
  make_likely_hash_dir(p, gfid, path);
  for (int attempt = 0; attempt < 2; attempt++) {
    if (gi_fs_link(p->fs, dirfd, name, p->gl_fd, path) == 0) {
      hash_dir_met(p, gfid, attempt > 0);
      return 0;
    }
    if (errno == EEXIST) {
      if (gi_fs_stat(p->fs, p->gl_fd, path, &have, AT_SYMLINK_NOFOLLOW) < 0)
        return errno;
      if (!st && gi_fs_stat(p->fs, dirfd, name, &own, AT_SYMLINK_NOFOLLOW) < 0)
        return errno;
      st = st ? st : &own;
      return have.st_dev == st->st_dev && have.st_ino == st->st_ino ? 0 : EEXIST;
    }
    if (errno != ENOENT)
      return errno;

    int err = make_hash_dirs(p, path);

    if (err)
      return err;
  }
  return ENOENT;
}

static void
handle_text(const struct gi_gfid *parent, const char *name, char out[POSIX_LINK_MAX])
{
  memcpy(out, "../../", 6);
  posix_hpath(out + 6, parent);
  snprintf(out + 48, POSIX_LINK_MAX - 48, "/%s", name);
}

static char *
aside_name(char out[POSIX_HPATH], const struct gi_gfid *gfid)
{
  char text[GI_UUID_TEXT];

  snprintf(out, POSIX_HPATH, "moves-%s", gi_gfid_text(gfid, text));
  return out;
}

int
posix_handle_prepare_dir(const struct posix *p, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid)
{
  char aside[POSIX_HPATH], text[POSIX_LINK_MAX];

  aside_name(aside, gfid);
  handle_text(parent, name, text);
  if (gi_fs_symlink(p->fs, text, p->unlink_fd, aside) == 0)
    return 0;
  if (errno != EEXIST)
    return errno;
  gi_fs_unlink(p->fs, p->unlink_fd, aside, 0); /* of one who was killed */
  return gi_fs_symlink(p->fs, text, p->unlink_fd, aside) < 0 ? errno : 0;
}

void
posix_handle_forget_dir(const struct posix *p, const struct gi_gfid *gfid)
{
  char aside[POSIX_HPATH];

  gi_fs_unlink(p->fs, p->unlink_fd, aside_name(aside, gfid), 0);
}

/* In place of the one that is there, if there is one: at no time is there none. */
static int
put_prepared(const struct posix *p, const struct gi_gfid *gfid)
{
  char aside[POSIX_HPATH], path[POSIX_HPATH];

  return gi_fs_rename(p->fs, p->unlink_fd, aside_name(aside, gfid), p->gl_fd, posix_hpath(path, gfid)) < 0 ? errno : 0;
}

int
posix_handle_move_prepared(const struct posix *p, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid)
{
  char path[POSIX_HPATH];
  int err = put_prepared(p, gfid);

  for (int attempt = 0; attempt < 2 && err == ENOENT; attempt++) { /* the housekeeping takes odd names away */
    make_hash_dirs(p, posix_hpath(path, gfid));
    err = posix_handle_prepare_dir(p, parent, name, gfid);
    if (!err)
      err = put_prepared(p, gfid);
  }
  if (err)
    posix_handle_forget_dir(p, gfid);
  return err;
}

/* At once, for a directory that is there already. */
static int
move_dir(const struct posix *p, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid)
{
  int err = posix_handle_prepare_dir(p, parent, name, gfid);

  return err ? err : posix_handle_move_prepared(p, parent, name, gfid);
}

int
posix_handle_add_dir(const struct posix *p, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid)
{
  char path[POSIX_HPATH], text[POSIX_LINK_MAX], base[GI_NAME_MAX + 1];
  struct gi_gfid other;

  posix_hpath(path, gfid);
  handle_text(parent, name, text);
  make_likely_hash_dir(p, gfid, path);
  for (int attempt = 0; attempt < 2; attempt++) {
    if (gi_fs_symlink(p->fs, text, p->gl_fd, path) == 0) {
      hash_dir_met(p, gfid, attempt > 0);
      return 0;
    }

    int err = errno;

    if (err == EEXIST) {
      err = posix_handle_link_text(p, gfid, &other, base);
      if (!err && gi_gfid_equal(&other, parent) && strcmp(base, name) == 0)
        return 0;
      if (err == ENOTDIR)
        return EEXIST; /* a file has this gfid */
      /* Self-heal makes a renamed directory at its new place before the old one goes (brick.md 2.5). */
      return move_dir(p, parent, name, gfid);
    }
    if (err == ENOENT)
      err = make_hash_dirs(p, path);
    if (err)
      return err;
  }
  return ENOENT;
}

int
posix_handle_remove(const struct posix *p, const struct gi_gfid *gfid)
{
  char path[POSIX_HPATH];
  int err;

  if (gi_fs_unlink(p->fs, p->gl_fd, posix_hpath(path, gfid), 0) == 0 || errno == ENOENT)
    return 0;
  err = errno;
  gi_log(GI_LOG_WARNING, p->name, GI_MSG_POSIX + 10, "cannot remove the handle %s: %s", path, strerror(err));
  return err;
}

void
posix_handle_remove_dir(const struct posix *p, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid)
{
  char path[POSIX_HPATH], want[POSIX_LINK_MAX], text[POSIX_LINK_MAX + 1];
  ssize_t n = gi_fs_readlink(p->fs, p->gl_fd, posix_hpath(path, gfid), text, sizeof(text));

  handle_text(parent, name, want);
  if (n == (ssize_t)strlen(want) && memcmp(text, want, (size_t)n) == 0)
    posix_handle_remove(p, gfid);
}

int
posix_handle_park(const struct posix *p, const struct gi_gfid *gfid)
{
  char path[POSIX_HPATH];

  posix_hpath(path, gfid);
  return gi_fs_rename(p->fs, p->gl_fd, path, p->unlink_fd, path + 6) < 0 ? errno : 0;
}

int
posix_handle_unretire(const struct posix *p, const struct gi_gfid *gfid)
{
  char path[POSIX_HPATH];

  posix_hpath(path, gfid);
  return gi_fs_rename(p->fs, p->unlink_fd, path + 6, p->gl_fd, path) < 0 ? errno : 0;
}

void
posix_unpark(const struct posix *p, const struct gi_gfid *gfid)
{
  char text[GI_UUID_TEXT];

  gi_fs_unlink(p->fs, p->unlink_fd, gi_gfid_text(gfid, text), 0);
}
