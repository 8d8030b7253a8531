/* SPDX-License-Identifier: Apache-2.0
 *
 * SETXATTR, GETXATTR, REMOVEXATTR and their descriptor forms, with what a
 * client may see, set and remove (brick.md 3.3).
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/bigendian.h"

#include <fnmatch.h>

/* Names only geo-replication's worker may see. */
static bool
georep_name(const char *name)
{
  static const char *const patterns[] = {"*.glusterfs.*.stime",       "*.glusterfs.*.xtime",       "*.glusterfs.lockinfo",
                                         "*.glusterfs.*.entry_stime", "*.glusterfs.volume-mark.*", "trusted.SGI_*"};

  if (strncmp(name, "user.", 5) == 0)
    return false;
  for (size_t i = 0; i < GI_ARRAY_LEN(patterns); i++) {
    if (fnmatch(patterns[i], name, 0) == 0)
      return true;
  }
  return false;
}

static bool
hidden(const struct gi_fop *fop, const char *name)
{
  if (strncmp(name, KEY_GFID2PATH, sizeof(KEY_GFID2PATH) - 1) == 0)
    return true;
  if (strcmp(name, KEY_MDATA) == 0)
    return fop->caller.pid >= 0;
  return fop->caller.pid != GI_PID_GEOREP && georep_name(name);
}

static int
object(struct posix_op *op, struct posix_at *at, struct stat *st)
{
  int err = posix_obj_at(op, at, st);

  return err == ENOENT ? ESTALE : err;
}

/* ---- GETXATTR ---- */

/* Adds what `list` names to the answer. How many bytes that is, as far as it went: it stops beyond `max`. `values` no: names only. */
static size_t
add_listed(struct posix_op *op, struct posix_at at, const char *list, ssize_t len, bool values, size_t max)
{
  struct gi_fop *fop = op->fop;
  size_t bytes = 0;

  gi_dict_unref(&fop->rsp.dict);
  fop->rsp.dict = gi_dict_new();
  for (const char *name = list; name < list + len && bytes <= max; name += strlen(name) + 1) {
    GI_CLEANUP_FREE char *value = NULL;
    ssize_t n = 0;

    if (strcmp(name, KEY_GFID) == 0 || strcmp(name, KEY_VOLUME_ID) == 0)
      continue;
    if (fop->kind == GI_FOP_GETXATTR && hidden(fop, name))
      continue;
    if (values || strncmp(name, "user.", 5) != 0)
      n = posix_at_get_alloc(op->p, at, name, &value);
    if (n >= 0)
      gi_dict_set_bin(fop->rsp.dict, name, value ? value : "", (uint32_t)n);
    bytes += strlen(name) + (n > 0 ? (size_t)n : 0);
  }
  return bytes;
}

/* All names and values; of a user who set more than peers would take, the names. */
static enum posix_run
get_all(struct posix_op *op, struct posix_at at)
{
  size_t max = op->fop->caller.pid < 0 ? POSIX_LIST_MAX_HEAL : POSIX_LIST_MAX;
  bool moves = !op->on_worker && op->p->cfg.engine != ENGINE_INLINE;
  GI_CLEANUP_FREE char *list = NULL;
  ssize_t len = posix_at_list_alloc(op->p, at, &list);

  if (len < 0)
    return posix_err(op, errno);
  if (add_listed(op, at, list, len, true, moves ? POSIX_LIST_INLINE : max) > (moves ? POSIX_LIST_INLINE : max)) {
    if (moves)
      return RUN_MOVE;
    if (op->fop->caller.pid < 0 || add_listed(op, at, list, len, false, max) > max) {
      gi_dict_unref(&op->fop->rsp.dict);
      return posix_err(op, E2BIG);
    }
  }
  return posix_ok(op, len);
}

enum posix_run
posix_run_getxattr(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  const char *name = fop->args.name;
  GI_CLEANUP_FREE char *value = NULL;
  struct posix_at at;
  struct stat st;
  bool mine = false;
  ssize_t n;
  int err = object(op, &at, &st);

  if (err)
    return posix_err(op, err);
  if (!name || !name[0])
    return get_all(op, at);
  enum posix_run r = posix_get_virtual(op, at, &st, &mine);
  if (mine)
    return r;
  if (hidden(fop, name))
    return posix_err(op, ENODATA);
  n = posix_at_get_alloc(op->p, at, name, &value);
  if (n < 0)
    return posix_err(op, errno);
  fop->rsp.dict = gi_dict_new();
  if (strcmp(name, KEY_GFID) != 0 && strcmp(name, KEY_VOLUME_ID) != 0)
    gi_dict_set_bin(fop->rsp.dict, name, value, (uint32_t)n);
  return posix_ok(op, n);
}

void
posix_finish_getxattr(struct posix_op *op)
{
  struct gi_inode *inode;

  if (op->fop->rsp.ret < 0)
    return;
  inode = gi_inode_find(op->fop->graph, &op->node[NODE_OBJ].gfid);
  if (inode) {
    posix_md_overlay_inode(op->p, inode, NULL, op->fop->rsp.dict);
    posix_fill_counts(op, inode);
  }
  gi_inode_unref(&inode);
}

/* ---- SETXATTR ---- */

static int
set_acl_text(struct posix_op *op, struct posix_at at, const char *real, const struct gi_pair *pair)
{
  bool is_text = pair->type == GI_VALUE_PTR || pair->type == GI_VALUE_STR || pair->type == GI_VALUE_STR_OLD;
  void *acl;
  size_t len;
  int err;

  if (!is_text || !posix_acl_from_text((const char *)pair->data, &acl, &len))
    return EINVAL;
  err = posix_at_set(op->p, at, real, acl, len, 0) < 0 ? errno : 0;
  if (!err)
    gi_dict_set_bin(gi_fop_rsp_xdata(op->fop), real, acl, (uint32_t)len);
  gi_free(acl);
  return err;
}

static bool
is_acl(const char *key)
{
  return strcmp(key, KEY_ACL_ACCESS) == 0 || strcmp(key, KEY_ACL_DEFAULT) == 0;
}

static bool
ignored(const char *key)
{
  return strcmp(key, KEY_GFID) == 0 || strcmp(key, KEY_VOLUME_ID) == 0 || strcmp(key, KEY_MDATA) == 0 ||
         strcmp(key, "trusted.io-stats-dump") == 0 || strcmp(key, "glusterfs.internal-ctx") == 0 ||
         strcmp(key, "force-replace") == 0 || strcmp(key, KEY_INTERNAL) == 0;
}

static int
set_one(struct posix_op *op, struct posix_at at, const struct stat *st, const struct gi_pair *pair)
{
  char text[POSIX_NUMBER_TEXT];
  uint32_t len;
  const void *value = posix_value(pair, text, &len);
  size_t klen = strlen(pair->key);

  if (ignored(pair->key))
    return 0;
  if (!value)
    return EINVAL;
  if (klen >= 8 && strcmp(pair->key + klen - 8, "pathinfo") == 0)
    return EACCES;
  if (strncmp(pair->key, KEY_GFID2PATH, sizeof(KEY_GFID2PATH) - 1) == 0)
    return ENOTSUP;
  if (strcmp(pair->key, "glusterfs.posix.acl") == 0)
    return set_acl_text(op, at, KEY_ACL_ACCESS, pair);
  if (strcmp(pair->key, "glusterfs.posix.default_acl") == 0)
    return set_acl_text(op, at, KEY_ACL_DEFAULT, pair);
  if (is_acl(pair->key) && gi_has_linkto_mode(st->st_mode))
    return 0;
  return posix_at_set(op->p, at, pair->key, value, len, (int)(op->fop->args.flags & 3)) < 0 ? errno : 0;
}

/* sync_backend_xattrs: the attributes of a directory are replaced as a whole. */
static void
drop_replaceable(struct posix_op *op, struct posix_at at)
{
  GI_CLEANUP_FREE char *list = NULL;
  ssize_t len = posix_at_list_alloc(op->p, at, &list);

  for (const char *name = list; len > 0 && name < list + len; name += strlen(name) + 1) {
    if (strncmp(name, "user.", 5) == 0 || is_acl(name))
      posix_at_remove(op->p, at, name);
  }
}

/* Counters may be among them. */
int
posix_prepare_setxattr(struct posix_op *op)
{
  enum gi_fop_kind kind = op->fop->kind;

  op->exclusive = true;
  return kind == GI_FOP_FSETXATTR || kind == GI_FOP_FREMOVEXATTR ? posix_prepare_fd(op) : posix_prepare_object(op);
}

enum posix_run
posix_run_setxattr(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  const struct gi_dict *dict = fop->args.dict;
  struct posix_at at;
  struct stat st;
  int64_t sync = 0;
  int err;

  if (posix_waits_for_disk(op))
    return RUN_MOVE;
  err = object(op, &at, &st);
  if (!err && fop->args.flags > 2)
    err = EINVAL;
  if (err)
    return posix_err(op, err);
  posix_node_known(op, NODE_OBJ, at);
  posix_iatt(&st, &op->node[NODE_OBJ].gfid, &fop->rsp.pre);
  if (!gi_dict_get(dict, "set-ctime-mdata")) {
    if (gi_dict_get_int(fop->xdata, "sync_backend_xattrs", &sync) && sync)
      drop_replaceable(op, at);
    for (uint32_t i = 0; !err && i < gi_dict_count(dict); i++)
      err = set_one(op, at, &st, gi_dict_at(dict, i));
  }
  if (!err && posix_is_durable(op))
    err = posix_sync_object(op, at, &st);
  if (!err)
    err = posix_node_stat(op, NODE_OBJ, at, &fop->rsp.post);
  return err ? posix_err(op, err) : posix_ok(op, 0);
}

/* A dict's MDATA value (wire.md 3.3): atime, mtime, ctime seconds, then the nanoseconds. */
static bool
mdata_value(const struct gi_pair *pair, struct posix_times *t)
{
  const uint8_t *b;
  uint32_t len;

  if (pair->type != GI_VALUE_MDATA || !gi_pair_bytes(pair, &b, &len) || len != GI_MDATA_BYTES)
    return false;
  t->a = (struct gi_time){(int64_t)gi_be64_load(b), gi_be32_load(b + 24)};
  t->m = (struct gi_time){(int64_t)gi_be64_load(b + 8), gi_be32_load(b + 28)};
  t->c = (struct gi_time){(int64_t)gi_be64_load(b + 16), gi_be32_load(b + 32)};
  return t->a.nsec < GI_NSEC_PER_SEC && t->m.nsec < GI_NSEC_PER_SEC && t->c.nsec < GI_NSEC_PER_SEC;
}

/* Times given whole, by rebalance, heal or the legacy conversion: the newer of each field. */
static bool
given_times(const struct gi_dict *dict, struct posix_times *t)
{
  const struct gi_pair *pair = gi_dict_get(dict, "set-ctime-mdata");
  const void *value;
  uint32_t len;

  if (pair)
    return mdata_value(pair, t);
  return gi_dict_get_bin(dict, KEY_MDATA, &value, &len) && posix_md_decode(value, len, t);
}

void
posix_stamp_setxattr(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  bool set = fop->kind == GI_FOP_SETXATTR || fop->kind == GI_FOP_FSETXATTR;
  struct posix_node *n = &op->node[NODE_OBJ];
  struct posix_times t;

  if (!set && fop->args.name && strcmp(fop->args.name, KEY_MDATA) == 0) {
    struct gi_inode *inode = gi_inode_get(fop->graph, &n->gfid);

    posix_md_forget(op->p, posix_inode_of(op->p, inode));
    gi_inode_unref(&inode);
    return;
  }
  if (set && given_times(fop->args.dict, &t)) {
    struct gi_inode *inode = gi_inode_get(fop->graph, &n->gfid);

    if (n->md_state == MD_PRESENT) {
      gi_time_raise(&t.c, &n->times.c);
      gi_time_raise(&t.m, &n->times.m);
      gi_time_raise(&t.a, &n->times.a);
    }
    posix_md_set(op->p, inode, &t, true);
    n->md_state = MD_PRESENT;
    n->times = t;
    gi_inode_unref(&inode);
    return;
  }
  posix_md_stamp(op, NODE_OBJ, fop->caller.stamps & 7);
}

/* The change of attributes travels in the reply (wire.md 5.2). */
void
posix_finish_setxattr(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct gi_dict *out;

  if (fop->rsp.ret < 0)
    return;
  out = gi_fop_rsp_xdata(fop);
  gi_dict_set_iatt(out, "virt-gf-prestat", &fop->rsp.pre);
  gi_dict_set_iatt(out, "virt-gf-poststat", &fop->rsp.post);
  gi_dict_set_iatt(out, "dht-get-iatt-in-xattr", &fop->rsp.post);
  posix_finish_counts(op);
}

/* ---- REMOVEXATTR ---- */

static bool
is_protected(const char *name)
{
  return strcmp(name, KEY_GFID) == 0 || strcmp(name, KEY_VOLUME_ID) == 0;
}

/* No name and a dictionary: remove all its keys, missing ones are fine. Replication heals metadata so, and sends an empty list when
 * the sink has nothing to remove: that is a success. */
static int
remove_bulk(struct posix_op *op, struct posix_at at)
{
  const struct gi_dict *keys = op->fop->xdata;

  for (uint32_t i = 0; i < gi_dict_count(keys); i++) {
    if (is_protected(gi_dict_at(keys, i)->key))
      return EPERM;
  }
  for (uint32_t i = 0; i < gi_dict_count(keys); i++) {
    const char *key = gi_dict_at(keys, i)->key;

    if (posix_key_is_xattr(key) && posix_at_remove(op->p, at, key) < 0 && errno != ENODATA)
      return errno;
  }
  return 0;
}

enum posix_run
posix_run_removexattr(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  const char *name = fop->args.name;
  struct posix_at at;
  struct stat st;
  int err;

  if (posix_waits_for_disk(op))
    return RUN_MOVE;
  err = object(op, &at, &st);
  if (err)
    return posix_err(op, err);
  posix_node_known(op, NODE_OBJ, at);
  posix_iatt(&st, &op->node[NODE_OBJ].gfid, &fop->rsp.pre);
  if (!name || !name[0])
    err = remove_bulk(op, at);
  else if (is_protected(name))
    err = EPERM;
  else if (strncmp(name, KEY_GFID2PATH, sizeof(KEY_GFID2PATH) - 1) == 0)
    err = ENODATA;
  else if (posix_at_remove(op->p, at, name) < 0)
    err = errno;
  if (!err && posix_is_durable(op))
    err = posix_sync_object(op, at, &st);
  if (!err)
    err = posix_node_stat(op, NODE_OBJ, at, &fop->rsp.post);
  return err ? posix_err(op, err) : posix_ok(op, 0);
}
