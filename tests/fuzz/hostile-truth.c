/* SPDX-License-Identifier: Apache-2.0
 *
 * What is true of the hostile bricks: one directory with some objects, the
 * same on all of them. Doing something twice succeeds twice, for every brick
 * does it.
 */
#include "tests/fuzz/hostile-private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static struct object *
find_gfid(struct truth *t, const struct gi_gfid *gfid)
{
  for (unsigned i = 0; i < t->count; i++)
    if (memcmp(&t->object[i].gfid, gfid, sizeof(*gfid)) == 0)
      return &t->object[i];
  return NULL;
}

static struct object *
find_name(struct truth *t, const char *name)
{
  for (unsigned i = 0; i < t->count; i++)
    if (name && strcmp(t->object[i].name, name) == 0)
      return &t->object[i];
  return NULL;
}

static struct object *
add(struct truth *t, const char *name, const struct gi_gfid *gfid, uint32_t mode)
{
  if (t->count == TRUTH_OBJECTS || strlen(name) >= sizeof(t->object[0].name))
    return NULL;
  struct object *o = &t->object[t->count++];
  *o = (struct object){.gfid = *gfid, .mode = mode};
  snprintf(o->name, sizeof(o->name), "%s", name);
  return o;
}

void
truth_init(struct truth *t)
{
  static const struct {
    const char *name;
    uint32_t mode;
  } first[] = {{"f0", S_IFREG | 0644}, {"f1", S_IFREG | 06755}, {"d0", S_IFDIR | 0755}, {"l0", S_IFLNK | 0777}};
  t->count = 0;
  add(t, "/", &gi_gfid_root, S_IFDIR | 0755);
  for (unsigned i = 0; i < GI_ARRAY_LEN(first); i++) {
    struct gi_gfid gfid;
    memset(&gfid, 0x21 + (int)i, sizeof(gfid));
    add(t, first[i].name, &gfid, first[i].mode);
  }
}

struct gi_gfid
truth_any(const struct truth *t, struct fuzz_bytes *b)
{
  return t->object[fuzz_next(b) % t->count].gfid;
}

static struct gi_iatt
attributes(const struct object *o)
{
  struct gi_iatt st = {.flags = GI_IATT_BASIC,
                       .gfid = o->gfid,
                       .ino = gi_gfid_ino(&o->gfid),
                       .mode = o->mode,
                       .nlink = S_ISDIR(o->mode) ? 2 : 1,
                       .size = S_ISREG(o->mode) ? TRUTH_SIZE : 100,
                       .blksize = 4096,
                       .blocks = 16};
  st.mtime = st.ctime = (struct gi_time){.sec = 1000, .nsec = 5};
  return st;
}

/* ---- parts of replies ---- */

static void
fail(struct gi_fop *fop, int err)
{
  fop->rsp.ret = -1;
  fop->rsp.err = err;
}

/* Counters that count nothing, for whatever was asked. */
static void
tell_counters(const struct gi_dict *asked, struct gi_dict **told)
{
  static const uint8_t zeros[12];
  for (uint32_t i = 0; asked && i < gi_dict_count(asked); i++) {
    const struct gi_pair *p = gi_dict_at(asked, i);
    if (strncmp(p->key, "trusted.afr.", 12) != 0)
      continue;
    if (!*told)
      *told = gi_dict_new();
    gi_dict_set_bin(*told, p->key, zeros, sizeof(zeros));
  }
}

static void
tell_data(struct gi_fop *fop)
{
  uint64_t offset = fop->args.offset < TRUTH_SIZE ? fop->args.offset : TRUTH_SIZE, left = TRUTH_SIZE - offset;
  size_t len = (size_t)(fop->args.size < left ? fop->args.size : left);
  struct gi_buf *buf = gi_buf_new(len + 1);
  memset(buf->base, 'r', len);
  if (len)
    gi_payload_add(&fop->rsp.payload, buf, buf->base, len);
  gi_buf_unref(&buf);
  fop->rsp.ret = (int32_t)len;
  fop->rsp.err = offset + len == TRUTH_SIZE ? ENOENT : 0;
}

static void
tell_entries(struct truth *t, struct gi_fop *fop)
{
  uint64_t at = fop->args.offset;
  for (; at < t->count && fop->rsp.entries.count < 4; at++) {
    const struct object *o = &t->object[at];
    struct gi_dirent e = {.off = at + 1, .type = IFTODT(o->mode), .name = at ? o->name : ".", .stat = attributes(o)};
    e.name_len = (uint32_t)strlen(e.name);
    e.ino = e.stat.ino;
    if (e.name_len)
      gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
  fop->rsp.err = at >= t->count ? ENOENT : 0;
}

static void
tell_attribute(struct gi_fop *fop)
{
  fop->rsp.dict = gi_dict_new();
  if (!fop->args.name || strcmp(fop->args.name, "user.a") == 0)
    gi_dict_set_bin(fop->rsp.dict, "user.a", "value", 5);
  else if (strncmp(fop->args.name, "trusted.afr.", 12) == 0)
    gi_dict_set_bin(fop->rsp.dict, fop->args.name, "\0\0\0\0\0\0\0\0\0\0\0", 12);
  else
    fail(fop, ENODATA);
}

/* ---- names ---- */

static struct object *
make(struct truth *t, struct gi_fop *fop, uint32_t type)
{
  struct gi_gfid gfid;
  struct object *o = find_name(t, fop->loc.name);
  if (!fop->loc.name || !gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid)) {
    fail(fop, EPERM);
    return NULL;
  }
  if (o && memcmp(&o->gfid, &gfid, sizeof(gfid)) != 0) {
    fail(fop, EEXIST);
    return NULL;
  }
  if (!o)
    o = add(t, fop->loc.name, &gfid, type | (fop->args.mode & 07777));
  if (!o)
    fail(fop, ENOSPC);
  return o;
}

static struct object *
look_up(struct truth *t, struct gi_fop *fop)
{
  struct object *o = fop->loc.name ? find_name(t, fop->loc.name) : find_gfid(t, &fop->loc.gfid);
  if (!o)
    fail(fop, fop->loc.name ? ENOENT : ESTALE);
  return o;
}

static struct object *
take_away(struct truth *t, struct gi_fop *fop)
{
  struct object *o = find_name(t, fop->loc.name);
  if (o && o != t->object)
    o->name[0] = 0;
  return o;
}

static struct object *
rename_it(struct truth *t, struct gi_fop *fop)
{
  struct object *o = find_name(t, fop->loc.name), *there = find_name(t, fop->loc2.name);
  if (there && there != o && there != t->object)
    there->name[0] = 0;
  if (o && o != t->object && fop->loc2.name)
    snprintf(o->name, sizeof(o->name), "%s", fop->loc2.name);
  return o;
}

static struct object *
object_of(struct truth *t, struct gi_fop *fop)
{
  switch (fop->kind) {
  case GI_FOP_LOOKUP:
    return look_up(t, fop);
  case GI_FOP_CREATE:
  case GI_FOP_MKNOD:
  case GI_FOP_ICREATE:
    return make(t, fop, S_IFREG);
  case GI_FOP_MKDIR:
    return make(t, fop, S_IFDIR);
  case GI_FOP_SYMLINK:
    return make(t, fop, S_IFLNK);
  case GI_FOP_UNLINK:
  case GI_FOP_RMDIR:
    return take_away(t, fop);
  case GI_FOP_RENAME:
    return rename_it(t, fop);
  default:
    return find_gfid(t, &fop->loc.gfid);
  }
}

void
truth_tell(struct truth *t, struct gi_fop *fop)
{
  struct gi_reply *rsp = &fop->rsp;
  const struct object *o = object_of(t, fop);
  if (o)
    rsp->stat = attributes(o);
  bool entry = gi_fop_table[fop->kind].target == GI_TARGET_ENTRY;
  rsp->pre = rsp->post = rsp->pre2 = rsp->post2 = entry || !o ? attributes(&t->object[0]) : attributes(o);
  if (rsp->ret < 0)
    return;
  tell_counters(fop->xdata, &rsp->xdata);
  if (fop->kind == GI_FOP_XATTROP || fop->kind == GI_FOP_FXATTROP)
    tell_counters(fop->args.dict, &rsp->dict);
  else if (fop->kind == GI_FOP_READ)
    tell_data(fop);
  else if (fop->kind == GI_FOP_READDIR || fop->kind == GI_FOP_READDIRP)
    tell_entries(t, fop);
  else if (fop->kind == GI_FOP_GETXATTR || fop->kind == GI_FOP_FGETXATTR)
    tell_attribute(fop);
  else if (fop->kind == GI_FOP_READLINK)
    rsp->link = "target";
  else if (fop->kind == GI_FOP_WRITE || fop->kind == GI_FOP_COPY_FILE_RANGE)
    rsp->ret = (int32_t)(fop->args.size < INT32_MAX ? fop->args.size : INT32_MAX);
  else if (fop->kind == GI_FOP_LK)
    rsp->flock = fop->args.flock;
  if (fop->kind == GI_FOP_READLINK)
    rsp->ret = 6;
}
