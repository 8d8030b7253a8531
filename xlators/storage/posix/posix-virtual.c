/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes that exist only as questions (brick.md 4.2): where is this file,
 * which paths does this gfid have, what is the real case of this name.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/near.h"

static enum posix_run
answer_text(struct posix_op *op, const char *text)
{
  struct gi_reply *r = &op->fop->rsp;

  r->dict = gi_dict_new();
  gi_dict_set_str(r->dict, op->fop->args.name, text);
  return posix_ok(op, (int64_t)strlen(text) + 1);
}

static enum posix_run
answer_bytes(struct posix_op *op, const void *data, size_t len)
{
  struct gi_reply *r = &op->fop->rsp;

  r->dict = gi_dict_new();
  gi_dict_set_bin(r->dict, op->fop->args.name, data, (uint32_t)len);
  return posix_ok(op, (int64_t)len);
}

/* Whether the name leads to the object: a record is made after its name and goes after it, so lost power leaves wrong ones. */
static bool
is_name_of(struct posix_op *op, const struct gi_gfid *parent, const char *name, const struct stat *object)
{
  const struct posix *p = op->p;
  uint32_t depth;
  int dir = posix_walk_open(op, parent, &depth);
  struct stat st;
  bool same = dir >= 0 && gi_fs_stat(p->fs, dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == object->st_ino;

  if (dir >= 0)
    gi_fs_close(p->fs, dir);
  return same;
}

/* The volume path that one gfid2path value ("<parent gfid>/<name>") of an object, ended by NUL, stands for; NULL if it is gone. */
static char *
path_of_record(struct posix_op *op, const char *record, size_t len, const struct stat *object)
{
  struct gi_gfid parent;
  char text[GI_UUID_TEXT];

  if (len < 38 || record[36] != '/')
    return NULL;
  memcpy(text, record, 36);
  text[36] = '\0';
  if (!gi_gfid_parse(text, &parent))
    return NULL;

  GI_CLEANUP_FREE char *dir = is_name_of(op, &parent, record + 37, object) ? posix_walk_path(op, &parent) : NULL;

  if (!dir)
    return NULL;
  return gi_asprintf("%s%s", strcmp(dir, "/") == 0 ? "" : dir, record + 36);
}

static char *
join(char *sum, const char *sep, char *one)
{
  char *both;

  if (!sum)
    return one;
  both = gi_asprintf("%s%s%s", sum, sep, one);
  gi_free(sum);
  gi_free(one);
  return both;
}

/* Every path of an object; NULL: unknown. `first` stops after one. */
static char *
paths_of(struct posix_op *op, struct posix_at at, const struct stat *st, bool first)
{
  GI_CLEANUP_FREE char *list = NULL;
  char *paths = NULL;
  ssize_t len;

  if (S_ISDIR(st->st_mode))
    return posix_walk_path(op, &op->node[NODE_OBJ].gfid);
  len = posix_at_list_alloc(op->p, at, &list);
  for (const char *s = list; len > 0 && s < list + len; s += strlen(s) + 1) {
    GI_CLEANUP_FREE char *record = NULL;
    ssize_t n;
    char *one;

    if (strncmp(s, KEY_GFID2PATH, sizeof(KEY_GFID2PATH) - 1) != 0)
      continue;
    n = posix_at_get_alloc(op->p, at, s, &record);
    one = n > 0 ? path_of_record(op, record, (size_t)n, st) : NULL;
    if (!one)
      continue;
    paths = join(paths, op->p->cfg.separator, one);
    if (first)
      break;
  }
  return paths;
}

static enum posix_run
pathinfo(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  GI_CLEANUP_FREE char *path = paths_of(op, at, st, true);
  GI_CLEANUP_FREE char *text = NULL;
  const struct posix *p = op->p;
  char handle[POSIX_HPATH];

  if (!path)
    path = gi_asprintf("/.glusterfs/%s", posix_hpath(handle, &op->node[NODE_OBJ].gfid));
  text = gi_asprintf("<POSIX(%s):%s:%s%s>", p->brick, p->cfg.node_uuid_pathinfo && p->node_uuid ? p->node_uuid : p->hostname,
                     p->brick, strcmp(path, "/") == 0 ? "" : path);
  return answer_text(op, text);
}

static enum posix_run
gfid_to_path(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  GI_CLEANUP_FREE char *path = paths_of(op, at, st, false);

  return path ? answer_bytes(op, path, strlen(path)) : posix_err(op, ENODATA);
}

static enum posix_run
gfid2path_text(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  GI_CLEANUP_FREE char *path = paths_of(op, at, st, false);

  return path ? answer_text(op, path) : posix_err(op, ENODATA);
}

static enum posix_run
ancestry_path(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  GI_CLEANUP_FREE char *path = S_ISDIR(st->st_mode) || op->p->cfg.pgfid ? paths_of(op, at, st, true) : NULL;

  return path ? answer_text(op, path) : posix_err(op, ENODATA);
}

static enum posix_run
real_filename(struct posix_op *op, struct posix_at at, const char *want)
{
  struct gi_fs_dir dir;
  const struct gi_fs_dirent *d;
  enum posix_run r = RUN_DONE;
  int err = gi_fs_dir_open(&dir, op->p->fs, at.fd, at.path[0] ? at.path : ".");

  if (err)
    return posix_err(op, err);
  posix_err(op, ENODATA);
  while ((d = gi_fs_dir_next(&dir))) {
    if (strcasecmp(d->name, want) == 0) {
      r = answer_text(op, d->name);
      break;
    }
  }
  if (!d && dir.err)
    posix_err(op, dir.err);
  gi_fs_dir_close(&dir);
  return r;
}

/* The handles of all gfids with the same first two bytes are in one directory. */
static enum posix_run
gfid_beginning(struct posix_op *op, const char *text)
{
  char path[6] = {text[0], text[1], '/', text[2], text[3]};
  const struct gi_fs_dirent *d;
  enum posix_run r = RUN_DONE;
  struct gi_gfid gfid;
  struct gi_fs_dir dir;

  if (strlen(text) != GI_GFID_BEGINNING || strspn(text, "0123456789abcdef") != 8)
    return posix_err(op, EINVAL);

  int err = gi_fs_dir_open(&dir, op->p->fs, op->p->gl_fd, path);

  if (err)
    return posix_err(op, err == ENOENT ? ENODATA : err);
  posix_err(op, ENODATA);
  while ((d = gi_fs_dir_next(&dir))) {
    if (strncmp(d->name, text, GI_GFID_BEGINNING) == 0 && gi_gfid_parse(d->name, &gfid)) {
      r = answer_text(op, d->name);
      break;
    }
  }
  gi_fs_dir_close(&dir);
  return r;
}

static enum posix_run
acl_text(struct posix_op *op, struct posix_at at, const struct stat *st, bool access)
{
  GI_CLEANUP_FREE char *text = NULL;
  int err = posix_acl_text(op->p, at, st, access, &text);

  return err ? posix_err(op, err) : answer_text(op, text);
}

static enum posix_run
near_where(struct posix_op *op)
{
  char where[GI_FS_WHERE];
  int err = posix_near_where(op, where, sizeof(where));

  return err ? posix_err(op, err) : answer_text(op, where);
}

static enum posix_run
open_count(struct posix_op *op)
{
  op->fop->rsp.dict = gi_dict_new();
  gi_dict_set_uint(op->fop->rsp.dict, "glusterfs.open-fd-count", op->obj_open);
  return posix_ok(op, 0);
}

static const char real_name[] = "glusterfs.get_real_filename:";

int
posix_prepare_getxattr(struct posix_op *op)
{
  int err = op->fop->kind == GI_FOP_FGETXATTR ? posix_prepare_fd(op) : posix_prepare_object(op);
  const char *name = op->fop->args.name;

  if (name && strncmp(name, real_name, sizeof(real_name) - 1) == 0) { /* reads a whole directory */
    op->slow = true;
    if (op->fop->priority < GI_PRIO_LOW)
      op->fop->priority = GI_PRIO_LOW;
  }

  if (!err) {
    struct gi_inode *inode = gi_inode_find(op->fop->graph, &op->node[NODE_OBJ].gfid);

    op->obj_open = inode && posix_inode_has_fd(op->p, inode);
    op->losses = inode ? posix_inode_of(op->p, inode)->losses : 0;
    gi_inode_unref(&inode);
  }
  return err;
}

enum posix_run
posix_get_virtual(struct posix_op *op, struct posix_at at, const struct stat *st, bool *mine)
{
  const char *name = op->fop->args.name;

  *mine = true;
  if (strcmp(name, "trusted.glusterfs.pathinfo") == 0 || strcmp(name, "glusterfs.pathinfo") == 0)
    return pathinfo(op, at, st);
  if (strcmp(name, "trusted.glusterfs.node-uuid") == 0)
    return op->p->node_uuid ? answer_text(op, op->p->node_uuid) : posix_err(op, ENODATA);
  if (strcmp(name, "glusterfs.gfidtopath") == 0)
    return gfid_to_path(op, at, st);
  if (strcmp(name, "glusterfs.gfid2path") == 0)
    return gfid2path_text(op, at, st);
  if (strcmp(name, "glusterfs.ancestry.path") == 0)
    return ancestry_path(op, at, st);
  if (strncmp(name, real_name, sizeof(real_name) - 1) == 0)
    return real_filename(op, at, name + sizeof(real_name) - 1);
  if (strncmp(name, GI_GFID_KEY, sizeof(GI_GFID_KEY) - 1) == 0)
    return gfid_beginning(op, name + sizeof(GI_GFID_KEY) - 1);
  if (strcmp(name, "glusterfs.open-fd-count") == 0)
    return open_count(op);
  if (strcmp(name, GI_NEAR_KEY) == 0)
    return near_where(op);
  if (strcmp(name, "glusterfs.posix.acl") == 0)
    return acl_text(op, at, st, true);
  if (strcmp(name, "glusterfs.posix.default_acl") == 0)
    return acl_text(op, at, st, false);
  *mine = false;
  return RUN_DONE;
}
