/* SPDX-License-Identifier: Apache-2.0
 *
 * Extra data in replies: what a request's xdata asks for (brick.md 4.1), and
 * the attributes a new object gets from the request that made it.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/bigendian.h"

#include <fnmatch.h>
#include <sys/uio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define CONTENT_MAX (1u << 20)
#define LIST_WORTH 4 /* from so many names on it pays to list them first */

struct filling {
  struct posix_op *op;
  struct posix_at at;
  const struct stat *st;
  const struct gi_gfid *gfid;
  struct gi_dict **out;
  char *list; /* the object's names, if listed */
  ssize_t list_len;
  size_t bytes;              /* of names and values found */
  struct posix_known *known; /* may be NULL */
};

static struct gi_dict *
out(struct filling *f)
{
  if (!*f->out)
    *f->out = gi_dict_new();
  return *f->out;
}

static void
read_list(struct filling *f)
{
  if (f->list)
    return;
  f->list_len = posix_at_list_alloc(f->op->p, f->at, &f->list);
  posix_known_list(f->known, f->list, f->list_len);
}

static bool
listed(struct filling *f, const char *name)
{
  if (!f->list || f->list_len < 0)
    return true;
  for (const char *s = f->list; s < f->list + f->list_len; s += strlen(s) + 1) {
    if (strcmp(s, name) == 0)
      return true;
  }
  return false;
}

static bool
times_are_known(const struct filling *f, const char *name)
{
  const struct posix_node *n = &f->op->node[NODE_OBJ];

  return strcmp(name, KEY_MDATA) == 0 && n->md_state == MD_PRESENT && gi_gfid_equal(&n->gfid, f->gfid);
}

static void
fill_one(struct filling *f, const char *name)
{
  GI_CLEANUP_FREE char *value = NULL;
  char known[POSIX_KNOWN_VALUE];
  ssize_t len;

  if (times_are_known(f, name)) {
    uint8_t raw[MDATA_DISK];

    posix_md_encode(&f->op->node[NODE_OBJ].times, raw);
    gi_dict_set_bin(out(f), name, raw, sizeof(raw));
    return;
  }
  if (!posix_known_get(f->known, name, known, sizeof(known), &len)) {
    len = listed(f, name) ? posix_at_get_alloc(f->op->p, f->at, name, &value) : -1;
    if (len >= 0 || (!f->list && errno == ENODATA))
      posix_known_put(f->known, name, value, len);
  }
  if (len < 0)
    return;
  gi_dict_set_bin(out(f), name, value ? value : known, (uint32_t)len);
  f->bytes += (size_t)len + strlen(name);
}

static bool
too_long(const struct filling *f)
{
  return f->bytes > (f->op->fop->caller.pid < 0 ? POSIX_LIST_MAX_HEAL : POSIX_LIST_MAX);
}

static bool
left_out_of_list(const char *name)
{
  return strcmp(name, KEY_GFID) == 0 || strcmp(name, KEY_VOLUME_ID) == 0 || strcmp(name, "security.selinux") == 0 ||
         strncmp(name, "trusted.glusterfs.quota.", 24) == 0 || strncmp(name, KEY_GFID2PATH, sizeof(KEY_GFID2PATH) - 1) == 0 ||
         fnmatch("trusted.glusterfs.*.xtime", name, 0) == 0 || fnmatch("*.glusterfs.*.stime", name, 0) == 0 ||
         fnmatch("*.glusterfs.*.entry_stime", name, 0) == 0 || fnmatch("*.glusterfs.volume-mark.*", name, 0) == 0 ||
         strncmp(name, "trusted.SGI_", 12) == 0;
}

static void
fill_matching(struct filling *f, const char *pattern)
{
  read_list(f);
  for (const char *s = f->list; f->list_len > 0 && s < f->list + f->list_len; s += strlen(s) + 1) {
    if (pattern ? fnmatch(pattern, s, 0) != 0 : left_out_of_list(s))
      continue;
    if (too_long(f) && strncmp(s, "user.", 5) == 0)
      gi_dict_set_bin(out(f), s, "", 0);
    else
      fill_one(f, s);
  }
  if (!too_long(f))
    return;
  f->op->too_long = f->op->fop->caller.pid < 0;
  /* Replicas are compared by this, and list in orders of their own: all of them empty, or none. */
  for (const char *s = f->list; s < f->list + f->list_len; s += strlen(s) + 1) {
    if (strncmp(s, "user.", 5) == 0 && gi_dict_get(*f->out, s))
      gi_dict_set_bin(*f->out, s, "", 0);
  }
}

/* glusterfs.content: small files travel with the lookup. Cold data is left out rather than waited for on the reactor. */
static void
fill_content(struct filling *f, const struct gi_pair *pair)
{
  uint64_t max = 0, size = (uint64_t)f->st->st_size;
  GI_CLEANUP_FREE uint8_t *data = NULL;
  ssize_t n;
  int fd;

  if (!S_ISREG(f->st->st_mode) || !f->at.path[0] || !gi_dict_get_uint(f->op->fop->xdata, pair->key, &max) || size > max ||
      size > CONTENT_MAX || (max == 0 && size == 0))
    return;
  if (size == 0) {
    gi_dict_set_bin(out(f), pair->key, "", 0);
    return;
  }
  fd = gi_fs_openat(f->op->p->fs, f->at.fd, f->at.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd < 0)
    return;
  data = gi_alloc(size);
  struct iovec iov = {data, size};

  n = gi_fs_preadv(f->op->p->fs, fd, &iov, 1, 0, f->op->on_worker ? 0 : RWF_NOWAIT);
  if (n < 0 && errno == EOPNOTSUPP)
    n = gi_fs_pread(f->op->p->fs, fd, data, size, 0);
  gi_fs_close(f->op->p->fs, fd);
  if (n == (ssize_t)size)
    gi_dict_set_bin(out(f), pair->key, data, (uint32_t)size);
}

static void
fill_acl_text(struct filling *f, const char *key, bool access)
{
  GI_CLEANUP_FREE char *text = NULL;

  if (posix_acl_text(f->op->p, f->at, f->st, access, &text) == 0)
    gi_dict_set_str(out(f), key, text);
}

static void
fill_number(struct filling *f, const char *key)
{
  const struct stat *st = f->st;

  if (strcmp(key, "get-size") == 0 && S_ISREG(st->st_mode))
    gi_dict_set_uint(out(f), key, (uint64_t)st->st_size);
  else if (strcmp(key, "gf_request_link_count") == 0)
    gi_dict_set_uint(out(f), key, S_ISDIR(st->st_mode) || st->st_nlink == 0 ? st->st_nlink : st->st_nlink - 1);
  else if (strcmp(key, "dht-get-mode-in-xattr") == 0 && S_ISREG(st->st_mode))
    gi_dict_set_int(out(f), key, st->st_mode);
}

static void
fill_path(struct filling *f, const char *key)
{
  bool was_far = f->op->far;
  GI_CLEANUP_FREE char *path = S_ISDIR(f->st->st_mode) ? posix_walk_path(f->op, f->gfid) : NULL;

  enum gi_fop_kind kind = f->op->fop->kind;
  if (kind == GI_FOP_READDIRP || kind == GI_FOP_XATTROP || kind == GI_FOP_FXATTROP)
    f->op->far = was_far; /* what an entry lacks is looked up; counters are changed already, and once only */
  if (path)
    gi_dict_set_str(out(f), key, path);
}

static void
fill_key(struct filling *f, const struct gi_pair *pair)
{
  const char *key = pair->key;

  if (posix_key_is_xattr(key)) {
    if (strcmp(key, KEY_GFID) == 0 && f->op->fop->kind != GI_FOP_LOOKUP)
      return;
    if (strpbrk(key, "*?["))
      fill_matching(f, key);
    else
      fill_one(f, key);
  } else if (strcmp(key, "glusterfs.content") == 0) {
    fill_content(f, pair);
  } else if (strcmp(key, "list-xattr") == 0) {
    fill_matching(f, NULL);
  } else if (strcmp(key, "glusterfs.posix.acl") == 0) {
    fill_acl_text(f, key, true);
  } else if (strcmp(key, "glusterfs.posix.default_acl") == 0) {
    fill_acl_text(f, key, false);
  } else if (strcmp(key, "glusterfs.ancestry.path") == 0) {
    fill_path(f, key);
  } else {
    fill_number(f, key);
  }
}

static bool
asks_the_disk(const struct filling *f, const char *key)
{
  char value[POSIX_KNOWN_VALUE];
  ssize_t n;

  return posix_key_is_xattr(key) && !times_are_known(f, key) && !posix_known_get(f->known, key, value, sizeof(value), &n);
}

void
posix_fill(struct posix_op *op, const struct gi_dict *req, struct posix_at at, const struct stat *st,
           const struct gi_gfid *gfid, struct gi_dict **reply)
{
  struct gi_inode *inode = posix_known_of(op, gfid, st);
  struct filling f = {
      .op = op, .at = at, .st = st, .gfid = gfid, .out = reply, .known = inode ? &posix_inode_of(op->p, inode)->known : NULL};
  unsigned names = 0;

  for (uint32_t i = 0; i < gi_dict_count(req); i++)
    names += asks_the_disk(&f, gi_dict_at(req, i)->key);
  if (names >= LIST_WORTH)
    read_list(&f);
  for (uint32_t i = 0; i < gi_dict_count(req); i++)
    fill_key(&f, gi_dict_at(req, i));
  gi_free(f.list);
  gi_inode_unref(&inode);
}

void
posix_fill_counts(struct posix_op *op, struct gi_inode *inode)
{
  static const char *const keys[] = {"glusterfs.open-fd-count", "glusterfs.open-active-fd-count"};
  struct gi_fop *fop = op->fop;

  posix_md_overlay_inode(op->p, inode, NULL, fop->rsp.xdata);
  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++) {
    uint64_t count = 0;

    if (!gi_dict_get(fop->xdata, keys[i]))
      continue;
    gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link)
      count += ((struct posix_fd *)gi_fd_private(fd, op->x))->open;
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), keys[i], count);
  }
}

void
posix_finish_counts(struct posix_op *op)
{
  struct gi_inode *inode;

  if (!op->fop->xdata || op->fop->rsp.ret < 0)
    return;
  inode = gi_inode_find(op->fop->graph, &op->node[NODE_OBJ].gfid);
  if (inode)
    posix_fill_counts(op, inode);
  gi_inode_unref(&inode);
}

/* ---- new objects ---- */

int
posix_acl_initial(struct posix_op *op, struct posix_at at)
{
  static const char *const keys[] = {KEY_ACL_ACCESS, KEY_ACL_DEFAULT};

  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++) {
    const void *value;
    uint32_t len;

    if (gi_dict_get_bin(op->fop->xdata, keys[i], &value, &len) && posix_at_set(op->p, at, keys[i], value, len, 0) < 0 &&
        errno != EOPNOTSUPP)
      return errno;
  }
  return 0;
}

int
posix_xattr_initial(struct posix_op *op, struct posix_at at)
{
  const struct gi_dict *xdata = op->fop->xdata;
  const char *guard = NULL;

  gi_dict_get_str(xdata, "glusterfs.preop.parent.key", &guard);
  for (uint32_t i = 0; i < gi_dict_count(xdata); i++) {
    const struct gi_pair *pair = gi_dict_at(xdata, i);
    const uint8_t *value;
    uint32_t len;

    if (!posix_key_is_xattr(pair->key) || posix_key_internal(pair->key) || !gi_pair_bytes(pair, &value, &len))
      continue;
    if (strcmp(pair->key, KEY_ACL_ACCESS) == 0 || strcmp(pair->key, KEY_ACL_DEFAULT) == 0)
      continue;
    if (guard && strcmp(pair->key, guard) == 0)
      continue; /* it described the parent and was used up */
    if (posix_at_set(op->p, at, pair->key, value, len, 1 /* create */) < 0)
      return errno;
  }
  return 0;
}

/* "trusted.gfid2path.<XXH64 of the value>" = "<parent gfid>/<name>". */
static size_t
gfid2path_pair(const struct gi_gfid *parent, const char *name, char key[64], char value[GI_UUID_TEXT + GI_NAME_MAX + 1])
{
  gi_gfid_text(parent, value);
  value[36] = '/';
  size_t n = strlen(name);
  memcpy(value + 37, name, n);
  snprintf(key, 64, KEY_GFID2PATH "%016llx", (unsigned long long)XXH64(value, 37 + n, 0));
  return 37 + n;
}

int
posix_gfid2path_add(const struct posix *p, struct posix_at at, const struct gi_gfid *parent, const char *name)
{
  char key[64], value[GI_UUID_TEXT + GI_NAME_MAX + 1];
  size_t len = gfid2path_pair(parent, name, key, value);

  if (posix_at_set(p, at, key, value, len, 1) == 0 || errno == EEXIST)
    return 0;
  return errno == ENOSPC || errno == E2BIG ? 0 : errno; /* a path less is told; the name counts */
}

bool
posix_gfid2path_give_way(const struct posix *p, struct posix_at at)
{
  GI_CLEANUP_FREE char *list = NULL;
  ssize_t len = posix_at_list_alloc(p, at, &list);

  for (const char *name = list; len > 0 && name < list + len; name += strlen(name) + 1) {
    if (strncmp(name, KEY_GFID2PATH, sizeof(KEY_GFID2PATH) - 1) == 0)
      return posix_at_remove(p, at, name) == 0;
  }
  return false;
}

void
posix_gfid2path_remove(const struct posix *p, struct posix_at at, const struct gi_gfid *parent, const char *name)
{
  char key[64], value[GI_UUID_TEXT + GI_NAME_MAX + 1];

  gfid2path_pair(parent, name, key, value);
  posix_at_remove(p, at, key);
}

void
posix_forget_names(const struct posix *p, struct posix_at at)
{
  GI_CLEANUP_FREE char *list = NULL;
  ssize_t len = posix_at_list_alloc(p, at, &list);

  for (const char *key = list; len > 0 && key < list + len; key += strlen(key) + 1) {
    if (strncmp(key, KEY_GFID2PATH, sizeof(KEY_GFID2PATH) - 1) == 0 || strncmp(key, KEY_PGFID, sizeof(KEY_PGFID) - 1) == 0)
      posix_at_remove(p, at, key);
  }
}

int
posix_pgfid_change(const struct posix *p, struct posix_at at, const struct gi_gfid *parent, int by)
{
  char key[sizeof(KEY_PGFID) + GI_UUID_TEXT];
  uint8_t raw[4] = {0};
  uint32_t count;

  memcpy(key, KEY_PGFID, sizeof(KEY_PGFID));
  gi_gfid_text(parent, key + sizeof(KEY_PGFID) - 1);
  if (posix_at_get(p, at, key, raw, sizeof(raw)) < 0 && errno != ENODATA)
    return errno;
  count = gi_be32_load(raw);
  if (by < 0 && count <= 1)
    return posix_at_remove(p, at, key) < 0 && errno != ENODATA ? errno : 0;
  count += (uint32_t)by;
  gi_be32_store(raw, count);
  return posix_at_set(p, at, key, raw, 4, 0) < 0 ? errno : 0;
}
