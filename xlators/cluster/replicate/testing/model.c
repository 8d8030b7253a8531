/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a brick for the tests: see testing/model.h.
 */
#include "xlators/cluster/replicate/testing/model.h"
#include "libglusterish/extension.h"
#include "rpc/preamble.h"

#include <fcntl.h>
#include <endian.h>

struct gi_gfid
brick_gfid(uint8_t n)
{
  struct gi_gfid gfid;

  if (n == 1)
    return gi_gfid_root;
  memset(&gfid, n, sizeof(gfid));
  return gfid;
}

static void
note(struct brick *b, const char *fmt, ...)
{
  size_t len = strlen(b->log);
  va_list ap;

  va_start(ap, fmt);
  if (len)
    b->log[len++] = ' ';
  vsnprintf(b->log + len, sizeof(b->log) - len, fmt, ap);
  va_end(ap);
}

static void
refuse(struct gi_fop *fop, int err)
{
  fop->rsp.ret = -1;
  fop->rsp.err = err;
}

/* ---- objects and names ---- */

struct brick_object *
brick_find_object(struct brick *b, const struct gi_gfid *gfid)
{
  for (int i = 0; i < BRICK_OBJECTS; i++)
    if (b->object[i].used && gi_gfid_equal(&b->object[i].stat.gfid, gfid))
      return &b->object[i];
  return NULL;
}

struct brick_object *
brick_object(struct brick *b, uint8_t n)
{
  struct gi_gfid gfid = brick_gfid(n);

  return brick_find_object(b, &gfid);
}

void
brick_forget_object(struct brick_object *o)
{
  gi_free(o->data);
  gi_free(o->there);
  gi_dict_unref(&o->xattr);
}

struct brick_object *
brick_make_object(struct brick *b, const struct gi_gfid *gfid, uint32_t mode)
{
  unsigned i = 0;
  struct brick_object *o;

  while (i < BRICK_OBJECTS - 1 && b->object[i].used && !gi_gfid_equal(&b->object[i].stat.gfid, gfid))
    i++;
  o = &b->object[i];
  brick_forget_object(o);
  *o = (struct brick_object){.used = true};
  o->stat.gfid = *gfid;
  o->stat.mode = mode;
  o->stat.nlink = 1;
  o->stat.flags = GI_IATT_BASIC;
  return o;
}

static struct brick_name *
find_name(struct brick *b, const struct gi_gfid *parent, const char *name)
{
  for (int i = 0; i < BRICK_NAMES; i++)
    if (b->name[i].used && gi_gfid_equal(&b->name[i].parent, parent) && strcmp(b->name[i].name, name) == 0)
      return &b->name[i];
  return NULL;
}

void
brick_make_name(struct brick *b, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid)
{
  struct brick_name *e = find_name(b, parent, name);
  unsigned i = 0;

  while (i < BRICK_NAMES - 1 && b->name[i].used)
    i++;
  if (!e)
    e = &b->name[i];
  e->used = true;
  e->parent = *parent;
  e->gfid = *gfid;
  snprintf(e->name, sizeof(e->name), "%s", name);
}

/* ---- locks ---- */

static const char *
range_text(const struct gi_flock *l, char buf[48])
{
  if (l->start == 0x7ffffffffffffffeull && l->len == 0)
    return "m";
  snprintf(buf, 48, l->len ? "%llu+%llu" : "%llu", (unsigned long long)l->start, (unsigned long long)l->len);
  return buf;
}

static void
note_lock(struct brick *b, struct gi_fop *fop)
{
  bool entry = fop->kind == GI_FOP_ENTRYLK;
  bool unlock = entry ? fop->args.cmd == GI_ENTRYLK_UNLOCK : fop->args.type == GI_LK_UNLOCK;
  bool wait = entry ? fop->args.cmd == GI_ENTRYLK_LOCK : fop->args.cmd == GI_LKCMD_SETW;
  char range[48];
  bool heal = strcmp(fop->args.domain, "under-test:self-heal") == 0;
  unsigned *busy = heal ? &b->busy_heal : &b->busy;

  if (entry)
    note(b, "%s%s:%s", unlock ? "EU" : wait ? "EW" : "E", heal ? "H" : "", fop->args.name ? fop->args.name : "*");
  else
    note(b, "%s%s:%s", unlock ? "U" : wait ? "W" : "L", heal ? "H" : "", range_text(&fop->args.flock, range));
  if (!heal)
    assert_string_equal(fop->args.domain, "under-test");
  if (!unlock && !wait && *busy && fop->rsp.ret >= 0) {
    (*busy)--;
    refuse(fop, EAGAIN);
  }
  assert_int_equal(fop->caller.owner.len, 8);
  if (fop->rsp.ret < 0)
    return;
  if (!unlock) {
    assert_true(b->locks < 64);
    b->owner[b->locks++] = fop->caller.owner;
    return;
  }
  for (int i = 0; i < b->locks; i++) {
    if (!gi_owner_equal(&b->owner[i], &fop->caller.owner))
      continue;
    b->owner[i] = b->owner[--b->locks];
    return;
  }
  b->lock_owner_ok = false;
}

/* ---- counters ---- */

static const char *
mark_key(unsigned j, char buf[64])
{
  if (j == BRICKS)
    return "trusted.afr.dirty";
  snprintf(buf, 64, "trusted.afr.v-client-%u", j);
  return buf;
}

static void
put_marks(const struct brick *b, const struct brick_object *o, struct gi_dict *d)
{
  for (unsigned j = 0; j <= BRICKS; j++) {
    uint32_t be[3];
    char key[64];

    if (!o->mark[j][0] && !o->mark[j][1] && !o->mark[j][2])
      continue; /* attributes appear lazily */
    for (int s = 0; s < 3; s++)
      be[s] = htobe32((uint32_t)o->mark[j][s]);
    gi_dict_set_bin(d, mark_key(j, key), be, sizeof(be));
  }
  if (b->raw_len)
    gi_dict_set_bin(d, "trusted.afr.v-client-2", b->raw_mark, b->raw_len);
}

/* Adds the counters of `d` to the object (NULL: only says what they are) and writes them down in `text`. */
static void
add_marks(const struct brick *b, struct brick_object *o, const struct gi_dict *d, char text[128])
{
  text[0] = '\0';
  for (unsigned j = 0; j <= BRICKS; j++) {
    char key[64];
    const void *data;
    uint32_t len, be[3];

    if (!gi_dict_get_bin(d, mark_key(j, key), &data, &len)) {
      assert_true(j == BRICKS || b->left_out[j]); /* a pending key is never left out */
      continue;
    }
    assert_int_equal(len, 12);
    memcpy(be, data, len);
    for (int s = 0; s < 3; s++) {
      int32_t add = (int32_t)be32toh(be[s]);
      size_t at = strlen(text);
      char who[4] = {(char)('0' + j), 0};

      if (!add)
        continue;
      snprintf(text + at, 128 - at, "%s%s%c%+d", at ? "," : "", j == BRICKS ? "" : who, "dme"[s], add);
      if (o)
        o->mark[j][s] = (int32_t)((uint32_t)o->mark[j][s] + (uint32_t)add);
    }
  }
}

static void
xattrop(struct brick *b, struct gi_fop *fop)
{
  struct brick_object *o = brick_find_object(b, &fop->loc.gfid);
  char text[128];

  assert_int_equal(fop->args.flags, GI_XATTROP_ADD32);
  add_marks(b, fop->rsp.ret >= 0 ? o : NULL, fop->args.dict, text);
  note(b, "X:%s", text[0] ? text : "0");
  if (fop->rsp.ret >= 0 && o) {
    fop->rsp.dict = gi_dict_new();
    put_marks(b, o, fop->rsp.dict);
  } else if (fop->rsp.ret >= 0) {
    fop->rsp.ret = -1;
    fop->rsp.err = ENOENT;
  }

  const char *name;
  size_t at = strlen(b->index_names);

  if (gi_dict_get_str(fop->xdata, "glusterfs.xattrop-entry-create", &name))
    snprintf(b->index_names + at, sizeof(b->index_names) - at, "+%s", name);
  if (gi_dict_get_str(fop->xdata, "glusterfs.xattrop-entry-delete", &name))
    snprintf(b->index_names + at, sizeof(b->index_names) - at, "-%s", name);
}

/* ---- the rest ---- */

static void
lookup(struct brick *b, struct gi_fop *fop)
{
  struct brick_name *e = fop->loc.name ? find_name(b, &fop->loc.pargfid, fop->loc.name) : NULL;
  struct brick_object *o = fop->loc.name ? (e ? brick_find_object(b, &e->gfid) : NULL) : brick_find_object(b, &fop->loc.gfid);

  fop->rsp.xdata = gi_dict_new();
  gi_dict_set_int(fop->rsp.xdata, "link-count", 0);
  if (!o) {
    refuse(fop, ENOENT);
    return;
  }
  fop->rsp.stat = o->stat;
  if (gi_dict_get(fop->xdata, "trusted.afr.dirty"))
    put_marks(b, o, fop->rsp.xdata);
  if (gi_dict_get(fop->xdata, "glusterfs.multi-dom-lk-cnt-req")) {
    gi_dict_set_int(fop->rsp.xdata, "glusterfs.inodelk-dom-prefix:under-test", b->txn_locks);
    gi_dict_set_int(fop->rsp.xdata, "glusterfs.inodelk-dom-prefix:under-test:self-heal", b->healer_locks);
  }
  if (gi_dict_get(fop->xdata, "list-xattr"))
    gi_dict_merge(fop->rsp.xdata, o->xattr);
}

static void
create(struct brick *b, struct gi_fop *fop)
{
  struct gi_gfid gfid;
  uint32_t type = fop->kind == GI_FOP_MKDIR ? S_IFDIR : fop->kind == GI_FOP_SYMLINK ? S_IFLNK : S_IFREG;
  const struct brick_name *name = find_name(b, &fop->loc.pargfid, fop->loc.name);

  if (name && fop->kind == GI_FOP_CREATE && (fop->args.flags & (O_CREAT | O_EXCL)) == O_CREAT) {
    struct brick_object *o = brick_find_object(b, &name->gfid);

    if (fop->args.flags & O_TRUNC)
      brick_resize(o, 0);
    fop->rsp.stat = o->stat;
    gi_fd_bind(fop->fd, &name->gfid);
    return;
  }
  if (name) {
    refuse(fop, EEXIST);
    return;
  }
  assert_true(gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid));
  brick_make_name(b, &fop->loc.pargfid, fop->loc.name, &gfid);
  if (gi_dict_get(fop->xdata, "glusterfs-internal-fop") && brick_find_object(b, &gfid)) {
    brick_find_object(b, &gfid)->stat.nlink++;
    fop->rsp.stat = brick_find_object(b, &gfid)->stat;
    return;
  }
  fop->rsp.stat = brick_make_object(b, &gfid, type | (fop->args.mode & 07777))->stat;
  if (fop->kind == GI_FOP_CREATE)
    gi_fd_bind(fop->fd, &gfid);
}

static void
store_payload(struct brick_object *o, uint64_t offset, const struct gi_payload *p)
{
  for (uint32_t i = 0; i < p->count; i++) {
    brick_store(o, offset, p->slice[i].data, p->slice[i].len);
    offset += p->slice[i].len;
  }
}

static void
write_data(struct brick *b, struct gi_fop *fop)
{
  struct brick_object *o = brick_find_object(b, &fop->fd->inode->gfid);
  uint64_t end = fop->args.offset + fop->payload.len;

  if (!o) {
    refuse(fop, ENOENT);
    return;
  }
  fop->rsp.ret = (int32_t)fop->payload.len;
  fop->rsp.pre = o->stat;
  if (o->data && !b->arbiter)
    store_payload(o, fop->args.offset, &fop->payload);
  if (b->arbiter) {
    assert_int_equal(fop->payload.len, fop->args.size ? 1 : 0);
    assert_true(!fop->args.size || fop->payload.slice[0].data[0] == 0xff);
  } else if (end > o->stat.size)
    o->stat.size = end;
  fop->rsp.post = o->stat;
}

static bool
goes_on_to_sync(const struct brick *b, const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_WRITE && fop->args.sync && b->syncs;
}

static void
sync_it(struct brick *b, struct gi_fop *fop)
{
  int err = b->fail_once[GI_FOP_FSYNC];

  b->fail_once[GI_FOP_FSYNC] = 0;
  fop->rsp.synced = err ? GI_SYNC_FAILED : GI_SYNCED;
  if (err)
    refuse(fop, err);
}

/* ---- contents ---- */

static void
count_blocks(struct brick_object *o)
{
  o->stat.blocks = 0;
  for (uint64_t p = 0; p * BRICK_PAGE < o->stat.size; p++)
    o->stat.blocks += o->there[p] ? BRICK_PAGE / 512 : 0;
}

void
brick_resize(struct brick_object *o, uint64_t size)
{
  uint64_t pages = (size + BRICK_PAGE - 1) / BRICK_PAGE, had = (o->stat.size + BRICK_PAGE - 1) / BRICK_PAGE;
  uint8_t *data = gi_zalloc((pages + 1) * BRICK_PAGE), *there = gi_zalloc(pages + 1);
  uint64_t keep = size < o->stat.size ? size : o->stat.size;

  if (o->data) {
    memcpy(data, o->data, keep);
    memcpy(there, o->there, pages < had ? pages : had);
  }
  gi_free(o->data);
  gi_free(o->there);
  o->data = data;
  o->there = there;
  o->stat.size = size;
  count_blocks(o);
}

void
brick_store(struct brick_object *o, uint64_t offset, const void *data, uint64_t len)
{
  if (offset + len > o->stat.size || !o->data)
    brick_resize(o, offset + len > o->stat.size ? offset + len : o->stat.size);
  if (!len)
    return;
  memcpy(o->data + offset, data, len);
  memset(o->there + offset / BRICK_PAGE, 1, (offset + len - 1) / BRICK_PAGE - offset / BRICK_PAGE + 1);
  count_blocks(o);
}

static void
read_data(struct brick_object *o, struct gi_fop *fop)
{
  uint64_t at = fop->args.offset, left = at < o->stat.size ? o->stat.size - at : 0;
  uint64_t len = fop->args.size < left ? fop->args.size : left;

  fop->rsp.ret = (int32_t)len;
  if (len)
    gi_payload_add_copy(&fop->rsp.payload, o->data + at, len);
}

static void
checksum(struct brick_object *o, struct gi_fop *fop)
{
  uint64_t at = fop->args.offset, end = at + fop->args.size, sum = 14695981039346656037ull;

  for (; at < end && at < o->stat.size; at++)
    sum = (sum ^ o->data[at]) * 1099511628211ull;
  memset(fop->rsp.strong_checksum, 0, 32);
  memcpy(fop->rsp.strong_checksum, &sum, sizeof(sum));
  fop->rsp.strong_len = 32;
}

static void
seek_data(struct brick_object *o, struct gi_fop *fop)
{
  uint64_t page = fop->args.offset / BRICK_PAGE;

  while (page * BRICK_PAGE < o->stat.size && !o->there[page])
    page++;
  fop->rsp.offset = page * BRICK_PAGE > fop->args.offset ? page * BRICK_PAGE : fop->args.offset;
  if (page * BRICK_PAGE >= o->stat.size)
    refuse(fop, ENXIO);
}

static void
discard(struct brick_object *o, uint64_t offset, uint64_t len)
{
  for (uint64_t at = offset; at < offset + len && at < o->stat.size; at++) {
    o->data[at] = 0;
    if (at % BRICK_PAGE == 0)
      o->there[at / BRICK_PAGE] = 0;
  }
  count_blocks(o);
}

static bool /* it is an operation on contents */
act_data(struct brick_object *o, struct gi_fop *fop)
{
  if (!o || !o->data)
    return false;
  switch (fop->kind) {
  case GI_FOP_READ:
    read_data(o, fop);
    return true;
  case GI_FOP_RCHECKSUM:
    checksum(o, fop);
    return true;
  case GI_FOP_SEEK:
    seek_data(o, fop);
    return true;
  case GI_FOP_TRUNCATE:
  case GI_FOP_FTRUNCATE:
    brick_resize(o, fop->args.offset);
    return true;
  case GI_FOP_DISCARD:
    discard(o, fop->args.offset, fop->args.size);
    return true;
  default:
    return false;
  }
}

/* ---- attributes ---- */

static void
set_attributes(struct brick_object *o, const struct gi_fop *fop)
{
  const struct gi_iatt *a = &fop->args.iatt;
  int32_t valid = fop->args.valid;

  if (valid & GI_SET_MODE)
    o->stat.mode = (o->stat.mode & S_IFMT) | (a->mode & 07777);
  if (valid & GI_SET_UID)
    o->stat.uid = a->uid;
  if (valid & GI_SET_GID)
    o->stat.gid = a->gid;
  if (valid & GI_SET_ATIME)
    o->stat.atime = a->atime;
  if (valid & GI_SET_MTIME)
    o->stat.mtime = a->mtime;
  if (valid & GI_SET_CTIME)
    o->stat.ctime = a->ctime;
}

/* Names are the keys of xdata: the self-heal removes many at once. */
static void
remove_xattrs(struct brick_object *o, const struct gi_fop *fop)
{
  for (uint32_t k = 0; o->xattr && k < gi_dict_count(fop->xdata); k++)
    assert_true(gi_dict_del(o->xattr, gi_dict_at(fop->xdata, k)->key));
}

struct gi_dict *
brick_xattrs_of(struct brick_object *o)
{
  return o->xattr ? o->xattr : (o->xattr = gi_dict_new());
}

static bool
act_meta(struct brick_object *o, struct gi_fop *fop)
{
  if (!o)
    return false;
  switch (fop->kind) {
  case GI_FOP_SETATTR:
    set_attributes(o, fop);
    break;
  case GI_FOP_SETXATTR:
    gi_dict_merge(brick_xattrs_of(o), fop->args.dict);
    break;
  case GI_FOP_REMOVEXATTR:
    remove_xattrs(o, fop);
    break;
  default:
    return false;
  }
  fop->rsp.pre = fop->rsp.post = o->stat;
  return true;
}

static void
act(struct brick *b, struct gi_fop *fop)
{
  struct brick_object *o = brick_find_object(b, &fop->loc.gfid);
  struct brick_name *e;

  if (act_data(o, fop) || act_meta(o, fop))
    return;
  switch (fop->kind) {
  case GI_FOP_LOOKUP:
    lookup(b, fop);
    break;
  case GI_FOP_CREATE:
  case GI_FOP_MKDIR:
  case GI_FOP_MKNOD:
  case GI_FOP_SYMLINK:
    create(b, fop);
    break;
  case GI_FOP_LINK:
    brick_make_name(b, &fop->loc2.pargfid, fop->loc2.name, &fop->loc.gfid);
    if (o)
      fop->rsp.stat = o->stat;
    break;
  case GI_FOP_UNLINK:
  case GI_FOP_RMDIR:
  case GI_FOP_RENAME:
    e = find_name(b, &fop->loc.pargfid, fop->loc.name);
    if (!e) {
      refuse(fop, ENOENT);
      break;
    }
    e->used = false;
    if (fop->kind == GI_FOP_RENAME)
      brick_make_name(b, &fop->loc2.pargfid, fop->loc2.name, &e->gfid);
    break;
  case GI_FOP_WRITE:
    write_data(b, fop);
    break;
  case GI_FOP_COPY_FILE_RANGE:
    assert_false(b->arbiter);
    fop->rsp.ret = (int32_t)fop->args.size;
    break;
  case GI_FOP_READ:
    assert_false(b->arbiter);
    fop->rsp.ret = (int32_t)fop->args.size;
    break;
  case GI_FOP_OPEN:
    if (o && fop->args.truncates) {
      fop->rsp.pre = o->stat;
      brick_resize(o, 0);
      fop->rsp.post = o->stat;
    }
    break;
  default:
    if (o)
      fop->rsp.stat = fop->rsp.pre = fop->rsp.post = o->stat;
    if ((fop->kind == GI_FOP_STAT || fop->kind == GI_FOP_FSTAT || fop->kind == GI_FOP_OPENDIR) &&
        gi_dict_get(fop->xdata, "trusted.afr.dirty") && o) {
      fop->rsp.xdata = gi_dict_new();
      put_marks(b, o, fop->rsp.xdata);
      if (gi_dict_get(fop->xdata, GI_LEFT_KEY))
        gi_dict_set_uint(fop->rsp.xdata, GI_LEFT_KEY, 0);
    }
    if (o && gi_dict_get(fop->xdata, "list-xattr"))
      gi_dict_merge(gi_fop_rsp_xdata(fop), o->xattr);
    break;
  }
}

static void
counts(struct brick *b, struct gi_fop *fop)
{
  if (fop->kind != GI_FOP_WRITE && fop->kind != GI_FOP_FSYNC)
    return;
  if (!fop->rsp.xdata)
    fop->rsp.xdata = gi_dict_new();
  if (gi_dict_get(fop->xdata, "glusterfs.inodelk-dom-count"))
    gi_dict_set_int(fop->rsp.xdata, "glusterfs.inodelk-count", b->lock_count ? b->lock_count : 1);
  if (gi_dict_get(fop->xdata, "glusterfs.multi-dom-lk-cnt-req") && b->healer_locks >= 0)
    gi_dict_set_int(fop->rsp.xdata, "glusterfs.inodelk-dom-prefix:under-test:self-heal", b->healer_locks);
  if (gi_dict_get(fop->xdata, "glusterfs.write-is-append"))
    gi_dict_set_uint(fop->rsp.xdata, "glusterfs.write-is-append", b->append);
}

/* ---- locks, marks and operation in one message ---- */

static bool
refused(struct brick *b, enum gi_fop_kind kind, int *err)
{
  *err = b->fail_once[kind] ? b->fail_once[kind] : b->fail_err[kind];
  b->fail_once[kind] = 0;
  return *err != 0;
}

/* False: refused, and nothing was taken. */
static bool
preamble(struct brick *b, struct gi_fop *fop)
{
  struct brick_object *o = brick_find_object(b, fop->fd && fop->fd->inode ? &fop->fd->inode->gfid : &fop->loc.gfid);
  struct gi_dict *values = NULL;
  struct gi_preamble p;
  char text[128];
  int err = 0;

  assert_true(gi_preamble_get(fop->xdata, &p));
  note(b, "(");
  for (uint32_t i = 0; i < p.nlocks && !err; i++) {
    const struct gi_preamble_lock *l = &p.lock[i];
    struct gi_flock range = {.start = l->start, .len = l->len};
    char buf[48];

    if (!refused(b, l->entry ? GI_FOP_ENTRYLK : GI_FOP_INODELK, &err))
      b->owner[b->locks++] = p.owner;
    else
      b->locks -= (int)i;
    note(b, "%s%s:%s", err ? "!" : "", l->entry ? "E" : "L", l->entry ? (l->name ? l->name : "*") : range_text(&range, buf));
  }
  if (!err && p.counters) {
    add_marks(b, o, p.counters, text);
    note(b, "X:%s", text);
    values = gi_dict_new();
    if (o)
      put_marks(b, o, values);
  }
  note(b, ")");
  gi_preamble_clear(&p);
  if (!fop->rsp.xdata)
    fop->rsp.xdata = gi_dict_new();
  gi_preamble_put_outcome(fop->rsp.xdata, err, values);
  gi_dict_unref(&values);
  fop->rsp.ret = err ? -1 : 0;
  fop->rsp.err = err;
  return !err;
}

void
brick_serve(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  int err = b->fail_err[fop->kind];

  if (b->hook)
    b->hook(b, fop, b->hook_arg);
  if (b->fail_nth[fop->kind] && --b->fail_nth[fop->kind] == 0)
    err = EIO;
  if (b->fail_once[fop->kind]) {
    err = b->fail_once[fop->kind];
    b->fail_once[fop->kind] = 0;
  }
  if (gi_dict_get(fop->xdata, GI_PREAMBLE_KEY) && err != ENOTCONN && !preamble(b, fop))
    return;
  fop->rsp.ret = err ? -1 : 0;
  fop->rsp.err = err;
  switch (fop->kind) {
  case GI_FOP_INODELK:
  case GI_FOP_FINODELK:
  case GI_FOP_ENTRYLK:
    note_lock(b, fop);
    return;
  case GI_FOP_XATTROP:
  case GI_FOP_FXATTROP:
    xattrop(b, fop);
    return;
  default:
    note(b, "%s%s", gi_fop_name(fop->kind), goes_on_to_sync(b, fop) || fop->args.truncates ? "+" : "");
    if (!err)
      act(b, fop);
    if (fop->rsp.ret >= 0 && goes_on_to_sync(b, fop))
      sync_it(b, fop);
    if (fop->rsp.ret >= 0)
      counts(b, fop);
  }
}
