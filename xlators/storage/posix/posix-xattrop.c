/* SPDX-License-Identifier: Apache-2.0
 *
 * XATTROP and FXATTROP: arithmetic on arrays of big-endian counters, one
 * operation at a time per inode (brick.md 5.4). An all-zero request reads and
 * never creates: replication's pre-op relies on that. A sum that fails at one
 * counter leaves the others as they were.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/extension.h"
#include "libglusterish/mutants.h"

#include <fcntl.h>

/* Does it subtract from replication's counters? */
static bool
takes_back(const struct gi_fop *fop)
{
  const struct gi_dict *dict = fop->args.dict;

  if (fop->args.flags != GI_XATTROP_ADD32)
    return false;
  for (uint32_t i = 0; i < gi_dict_count(dict); i++) {
    const uint8_t *add;
    uint32_t len;

    if (!gi_pair_bytes(gi_dict_at(dict, i), &add, &len))
      continue;
    for (uint32_t k = 0; k + 4 <= len; k += 4)
      if (add[k] & 0x80)
        return true;
  }
  return false;
}

/* A copy without a mark is one that nobody heals: its times are to survive the process, as its data do. */
static void
prepare_times(struct posix_op *op)
{
  struct gi_inode *inode = gi_inode_find(op->fop->graph, &op->node[NODE_OBJ].gfid);

  if (inode && posix_inode_of(op->p, inode)->md_dirty) {
    op->flush = true;
    op->times = posix_inode_of(op->p, inode)->times;
  }
  gi_inode_unref(&inode);
}

int
posix_prepare_xattrop(struct posix_op *op)
{
  uint32_t flags = op->fop->args.flags;
  int err = op->fop->kind == GI_FOP_FXATTROP ? posix_prepare_fd(op) : posix_prepare_object(op);

  op->exclusive = true;
  if (err)
    return err;
  if (takes_back(op->fop) || posix_is_durable(op))
    prepare_times(op);
  return flags == GI_XATTROP_ADD32 || flags == GI_XATTROP_ADD64 || flags == GI_XATTROP_GET_AND_SET ||
                 flags == GI_XATTROP_ADD32_DEFAULT || flags == GI_XATTROP_ADD64_DEFAULT
             ? 0
             : EINVAL;
}

static bool
all_zero(const uint8_t *b, size_t len)
{
  for (size_t i = 0; i < len; i++) {
    if (b[i])
      return false;
  }
  return true;
}

static uint64_t
load(const uint8_t *b, size_t width)
{
  uint64_t v = 0;

  for (size_t i = 0; i < width; i++)
    v = v << 8 | b[i];
  return v;
}

static void
store(uint8_t *b, size_t width, uint64_t v)
{
  for (size_t i = 0; i < width; i++)
    b[i] = (uint8_t)(v >> (8 * (width - 1 - i)));
}

/* have += add, elementwise with wrap-around; with `def`, an element that is zero starts from there. */
static void
add_array(uint8_t *have, const uint8_t *add, const uint8_t *def, size_t len, size_t width)
{
  GI_ASSERT((width == 4 || width == 8) && len % width == 0);
  for (size_t i = 0; i < len; i += width) {
    uint64_t v = load(have + i, width);

    if (def && v == 0)
      v = load(def + i, width);
    store(have + i, width, v + load(add + i, width));
  }
}

struct array_op {
  size_t width;
  bool with_default, replace;
  bool told;    /* what the first sum is to be */
  uint64_t sum; /* that */
};

static struct array_op
decode(const struct gi_fop *fop)
{
  uint32_t flags = fop->args.flags;
  struct array_op a = {
      .width = flags == GI_XATTROP_ADD64 || flags == GI_XATTROP_ADD64_DEFAULT ? 8 : 4,
      .with_default = flags == GI_XATTROP_ADD32_DEFAULT || flags == GI_XATTROP_ADD64_DEFAULT,
      .replace = flags == GI_XATTROP_GET_AND_SET,
  };

  a.told = flags == GI_XATTROP_ADD64 && gi_dict_count(fop->args.dict) == 1 && gi_dict_get_uint(fop->xdata, GI_SUM_KEY, &a.sum);
  return a;
}

/* Another copy may have lost the last change, or have one that this one missed: by adding alone they would differ for ever. What others have
 * added since the client knew the number stays. */
static uint64_t
told_sum(uint64_t had, int64_t added, uint64_t sum)
{
  if (added == 0)
    return had;
  return added > 0 && had > sum ? had : sum;
}

/* What is known of the counters: from the last time; and the names that the object has, asked for once where many counters are: most are
 * not there. */
struct names {
  struct posix_known *known; /* may be NULL */
  char *list;                /* owned; NULL: not asked for */
  ssize_t len;
};

#define LIST_WORTH 3   /* counters */
#define COUNTER_MAX 64 /* bytes of a usual one */

static bool
all_known(const struct posix_known *k, const struct gi_dict *dict)
{
  uint8_t value[COUNTER_MAX];
  ssize_t n;

  for (uint32_t i = 0; i < gi_dict_count(dict); i++)
    if (!posix_known_get(k, gi_dict_at(dict, i)->key, value, sizeof(value), &n))
      return false;
  return true;
}

static struct names
names_of(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  const struct gi_dict *dict = op->fop->args.dict;
  struct names n = {.known = posix_known_counts(op, st)};

  if (gi_dict_count(dict) < LIST_WORTH || all_known(n.known, dict))
    return n;
  n.len = posix_at_list_alloc(op->p, at, &n.list);
  posix_known_list(n.known, n.list, n.len);
  return n;
}

static bool
is_absent(const struct names *n, const char *key)
{
  if (!n->list || n->len < 0)
    return false;
  for (const char *s = n->list; s < n->list + n->len; s += strlen(s) + 1)
    if (strcmp(s, key) == 0)
      return false;
  return true;
}

/* A file system may have little room for attributes (ext4: 4 KiB), and whoever may write the file can fill it. The records of its names
 * are the room that is kept for counters. */
static int
put(const struct posix_op *op, struct posix_at at, const char *key, const void *value, size_t len)
{
  int ret, err;

  do {
    ret = posix_at_set(op->p, at, key, value, len, 0);
    err = errno;
  } while (ret < 0 && err == ENOSPC && posix_gfid2path_give_way(op->p, at));
  errno = err;
  return ret;
}

static int
one_key(struct posix_op *op, struct posix_at at, const struct gi_pair *pair, struct array_op a, const struct names *names)
{
  const uint8_t *req;
  uint32_t given;
  GI_CLEANUP_FREE uint8_t *have = NULL;
  ssize_t n;
  GI_ASSERT(op->fop->rsp.dict && (!a.replace || !a.with_default));

  if (!gi_pair_bytes(pair, &req, &given))
    return EINVAL;
  size_t len = a.with_default ? given / 2 : given;
  if (given == 0 || given > POSIX_XATTR_MAX || (!a.replace && (len % a.width || (a.with_default && given % 2))))
    return EINVAL;
  if (posix_key_internal(pair->key))
    return EPERM;
  have = gi_zalloc(len);
  errno = ENODATA;
  if (!posix_known_get(names->known, pair->key, have, len, &n))
    n = is_absent(names, pair->key) ? -1 : posix_at_get(op->p, at, pair->key, have, len);
  if (n < 0 && errno != ENODATA && (errno != ERANGE || a.replace))
    return errno;
  if (!a.replace && (n >= 0 ? (size_t)n != len : errno == ERANGE))
    return EIO; /* it holds something else: nobody can say what that was to count */
  if (a.replace) {
    if (put(op, at, pair->key, req, len) < 0)
      return errno;
    if (n >= 0)
      gi_dict_set_bin(op->fop->rsp.dict, pair->key, have, (uint32_t)n);
    return 0;
  }
  if (!all_zero(req, given)) {
    uint64_t had = load(have, a.width);

    add_array(have, req, a.with_default ? req + len : NULL, len, a.width);
    if (a.told)
      store(have, a.width, told_sum(had, (int64_t)load(req, a.width), a.sum));
    if (put(op, at, pair->key, have, len) < 0)
      return errno;
    n = (ssize_t)len;
  }
  posix_known_put(names->known, pair->key, have, n < 0 ? -1 : (ssize_t)len);
  gi_dict_set_bin(op->fop->rsp.dict, pair->key, have, (uint32_t)len);
  return 0;
}

/* Half an operation that failed would accuse copies, and who asked for it does not know which half to take back. */
static void
undo(struct posix_op *op, struct posix_at at, uint32_t count, struct array_op a)
{
  if (a.replace || a.with_default)
    return;
  GI_ASSERT(!a.told || count == 0);
  for (uint32_t i = 0; i < count; i++) {
    const struct gi_pair *pair = gi_dict_at(op->fop->args.dict, i);
    const uint8_t *added;
    uint32_t len;
    bool bytes = gi_pair_bytes(pair, &added, &len); /* or it had been refused */

    GI_ASSERT(bytes);
    GI_CLEANUP_FREE uint8_t *have = gi_zalloc(len);

    if (all_zero(added, len) || posix_at_get(op->p, at, pair->key, have, len) != (ssize_t)len)
      continue;
    for (size_t k = 0; k < len; k += a.width)
      store(have + k, a.width, load(have + k, a.width) - load(added + k, a.width));
    if (posix_at_set(op->p, at, pair->key, have, len, 0) < 0)
      gi_log(GI_LOG_ERROR, op->p->name, GI_MSG_POSIX + 15, "a failed change of counters is left half done: %s of %s: %s",
             pair->key, gi_gfid_text(&op->node[NODE_OBJ].gfid, (char[GI_UUID_TEXT]){0}), strerror(errno));
  }
}

/* An open file is where it is; its attributes are of use to what else was asked for. */
static int
counters_at(struct posix_op *op, struct posix_at *at, struct stat *st)
{
  if (op->fd < 0 || gi_dict_count(op->fop->xdata))
    return posix_obj_at(op, at, st);
  *at = (struct posix_at){op->fd, ""};
  return 0;
}

enum posix_run
posix_run_xattrop(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  const struct gi_dict *dict = fop->args.dict;
  struct array_op a = decode(fop);
  struct posix_at at;
  struct stat st = {0};
  int err;

  if (posix_waits_for_disk(op))
    return RUN_MOVE;
  err = counters_at(op, &at, &st);
  if (err)
    return posix_err(op, err == ENOENT ? ESTALE : err);
  if (op->flush)
    posix_md_write(op, at, &op->times);
  fop->rsp.dict = gi_dict_new();

  struct names names = names_of(op, at, st.st_ino ? &st : NULL);

  for (uint32_t i = 0; !err && i < gi_dict_count(dict); i++) {
    err = one_key(op, at, gi_dict_at(dict, i), a, &names);
    if (err)
      undo(op, at, i, a);
  }
  gi_free(names.list);
  if (!err && posix_is_durable(op))
    err = posix_sync_object(op, at, &st);
  if (err) {
    gi_dict_unref(&fop->rsp.dict);
    return posix_err(op, err);
  }
  if (gi_dict_count(fop->xdata))
    posix_fill(op, fop->xdata, at, &st, &op->node[NODE_OBJ].gfid, &fop->rsp.xdata);
  return posix_ok(op, 0);
}

void
posix_finish_xattrop(struct posix_op *op)
{
  struct gi_inode *inode = gi_inode_find(op->fop->graph, &op->node[NODE_OBJ].gfid);

  if (inode) {
    posix_inode_of(op->p, inode)->counted++;
    posix_md_wrote(op, posix_inode_of(op->p, inode));
    if (op->known)
      posix_known_touched(op->p, posix_inode_of(op->p, inode));
  }
  gi_inode_unref(&inode);
  posix_finish_counts(op);
}
