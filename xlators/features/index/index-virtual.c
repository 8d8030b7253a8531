/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and cleaning the index over the wire (brick.md 12.5): directories
 * that exist only under gfids made up by this process. A healer asks for those
 * gfids, lists the directories and removes stale names.
 *
 * All made-up gfids share their first eight bytes, so telling one from a real
 * one is a comparison. A removal waits for the turn of the inode it is about,
 * so that it never undoes a link a running xattrop relies on.
 */
#include "xlators/features/index/index.h"

#include <dirent.h>

#define IX_DIRENT_FIXED 200 /* what an entry counts besides its name (wire.md 3.10) */
#define IX_READDIR_MAX (128u << 10)

static const char *const root_key[IX_CLASSES] = {"glusterfs.xattrop_index_gfid", "glusterfs.xattrop_dirty_gfid",
                                                 "glusterfs.xattrop_entry_changes_gfid"};
static const char *const count_key[IX_TRACKED] = {"glusterfs.xattrop_index_count", "glusterfs.xattrop_dirty_count"};

static void
made_up(struct ix_private *p, struct gi_gfid *gfid)
{
  uint64_t n = ++p->sequence;
  memcpy(gfid->b, &p->prefix, sizeof(p->prefix));
  for (int i = 15; i >= 8; i--, n >>= 8)
    gfid->b[i] = (uint8_t)n;
}

void
ix_virtual_init(struct gi_xlator *x)
{
  struct ix_private *p = ix_private(x);
  gi_random(x->reactor, &p->prefix, sizeof(p->prefix));
  gi_list_init(&p->generated);
  for (int c = 0; c < IX_CLASSES; c++) {
    p->root[c].cls = c;
    made_up(p, &p->root[c].gfid);
  }
}

static void
generated_free(struct ix_private *p, struct ix_virtual *v)
{
  gi_list_del(&v->link);
  p->ngenerated--;
  gi_free(v);
}

void
ix_virtual_finish(struct gi_xlator *x)
{
  struct ix_private *p = ix_private(x);
  gi_list_foreach_safe(v, &p->generated, struct ix_virtual, link)
    generated_free(p, v);
}

static bool
is_made_up(const struct ix_private *p, const struct gi_gfid *gfid)
{
  return memcmp(gfid->b, &p->prefix, sizeof(p->prefix)) == 0;
}

const struct ix_virtual *
ix_virtual_find(const struct gi_xlator *x, const struct gi_gfid *gfid)
{
  const struct ix_private *p = ix_private(x);
  if (!is_made_up(p, gfid))
    return NULL;
  for (int c = 0; c < IX_CLASSES; c++) {
    if (gi_gfid_equal(gfid, &p->root[c].gfid))
      return &p->root[c];
  }
  gi_list_foreach(v, &p->generated, struct ix_virtual, link) {
    if (gi_gfid_equal(gfid, &v->gfid))
      return v;
  }
  return NULL;
}

/* The virtual directory of one directory's changed names; remembered. */
static const struct ix_virtual *
generate(struct gi_xlator *x, const struct gi_gfid *dir)
{
  struct ix_private *p = ix_private(x);
  gi_list_foreach(v, &p->generated, struct ix_virtual, link) {
    if (gi_gfid_equal(&v->dir, dir))
      return v;
  }
  if (p->ngenerated == IX_GENERATED)
    generated_free(p, gi_list_first(&p->generated, struct ix_virtual, link));
  struct ix_virtual *v = gi_new(struct ix_virtual);
  v->cls = IX_CHANGES;
  v->member = true;
  v->dir = *dir;
  made_up(p, &v->gfid);
  gi_list_add_tail(&p->generated, &v->link);
  p->ngenerated++;
  return v;
}

static const struct gi_gfid *
parent_gfid(const struct gi_fop *fop)
{
  return fop->loc.parent ? &fop->loc.parent->gfid : &fop->loc.pargfid;
}

/* Attributes of `name` below directory `at` (NULL or "" = the directory itself), under a made-up gfid. 0 or errno. */
static int
attributes(struct gi_fs *fs, int at, const char *name, const struct gi_gfid *gfid, struct gi_iatt *iatt)
{
  struct stat st;
  bool self = !name || !*name;
  if (at < 0)
    return ENOENT;
  if ((self ? gi_fs_fstat(fs, at, &st) : gi_fs_stat(fs, at, name, &st, AT_SYMLINK_NOFOLLOW)) != 0)
    return errno;
  gi_iatt_from_stat(iatt, &st, gfid);
  iatt->ino = UINT64_MAX;
  return 0;
}

static int
virtual_attributes(const struct ix_private *p, const struct ix_virtual *v, struct gi_iatt *iatt)
{
  char text[GI_UUID_TEXT] = "";
  if (v->member)
    gi_gfid_text(&v->dir, text);
  return attributes(p->fs, p->fd[v->cls], text, &v->gfid, iatt);
}

static enum gi_verdict
answer(struct gi_fop *fop, int err)
{
  return err ? gi_fop_fail(fop, err) : gi_fop_ok(fop, 0);
}

static void
tell_member_type(struct gi_fop *fop, const struct ix_virtual *v)
{
  if (gi_dict_get(fop->xdata, "glusterfs.index-ia-type-get-req"))
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), "glusterfs.index-ia-type-get-rsp", v->cls == IX_CHANGES && !v->member ? 2 : 1);
}

static enum gi_verdict
lookup_name(struct gi_xlator *x, struct gi_fop *fop, const struct ix_virtual *parent)
{
  struct ix_private *p = ix_private(x);
  const char *name = fop->loc.name;
  char path[GI_UUID_TEXT + GI_NAME_MAX + 2];
  struct gi_gfid gfid;
  if (!ix_name_ok(name))
    return gi_fop_fail(fop, EINVAL);
  if (parent->member) {
    char dir[GI_UUID_TEXT];
    snprintf(path, sizeof(path), "%s/%s", gi_gfid_text(&parent->dir, dir), name);
  } else {
    snprintf(path, sizeof(path), "%s", name);
  }
  made_up(p, &gfid);
  int err = attributes(p->fs, p->fd[parent->cls], path, &gfid, &fop->rsp.stat);
  struct gi_gfid dir;
  if (!err && parent->cls == IX_CHANGES && !parent->member && gi_gfid_parse(name, &dir))
    fop->rsp.stat.gfid = generate(x, &dir)->gfid;
  if (!err)
    virtual_attributes(p, parent, &fop->rsp.post);
  return answer(fop, err);
}

enum gi_verdict
ix_virtual_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  const char *index;
  if (fop->loc.name && *fop->loc.name) {
    const struct ix_virtual *parent = ix_virtual_find(x, parent_gfid(fop));
    if (parent)
      return lookup_name(x, fop, parent);
  } else if (is_made_up(ix_private(x), gi_fop_gfid(fop))) {
    return ix_virtual_stat(x, fop);
  }
  if (!fop->xdata || !gi_dict_get_str(fop->xdata, "link-count", &index))
    return GI_PASS;
  ((struct ix_fop *)gi_fop_private(fop, x))->link_count = true;
  return GI_PASS_TELL;
}

enum gi_verdict
ix_virtual_stat(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct ix_private *p = ix_private(x);
  const char *index;
  const struct gi_gfid *gfid = gi_fop_gfid(fop);
  if (!is_made_up(p, gfid)) {
    if (!fop->xdata || !gi_dict_get_str(fop->xdata, "link-count", &index))
      return GI_PASS;
    ((struct ix_fop *)gi_fop_private(fop, x))->link_count = true;
    return GI_PASS_TELL;
  }
  const struct ix_virtual *v = ix_virtual_find(x, gfid);
  if (!v)
    return gi_fop_fail(fop, ENOENT);
  tell_member_type(fop, v);
  return answer(fop, virtual_attributes(p, v, &fop->rsp.stat));
}

enum gi_verdict
ix_virtual_opendir(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct gi_gfid *gfid = gi_fop_gfid(fop);
  if (!is_made_up(ix_private(x), gfid))
    return GI_PASS;
  return answer(fop, ix_virtual_find(x, gfid) ? 0 : ENOENT);
}

enum gi_verdict
ix_virtual_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct ix_private *p = ix_private(x);
  const char *name = fop->args.name;
  if (!name || p->fd[IX_PENDING] < 0)
    return GI_PASS;
  if (strcmp(name, GI_REGIONS_KEY) == 0)
    return ix_regions_getxattr(x, fop, gi_fop_gfid(fop));
  if (strncmp(name, "glusterfs.xattrop_", 18) != 0)
    return GI_PASS;
  for (int c = 0; c < IX_CLASSES; c++) {
    if (strcmp(name, root_key[c]) != 0)
      continue;
    fop->rsp.dict = gi_dict_new();
    gi_dict_set_bin(fop->rsp.dict, name, p->root[c].gfid.b, sizeof(p->root[c].gfid.b));
    return gi_fop_ok(fop, sizeof(p->root[c].gfid.b));
  }
  for (int c = 0; c < IX_TRACKED; c++) {
    if (strcmp(name, count_key[c]) == 0)
      return ix_count_told(x, fop, c, count_key[c]);
  }
  return GI_PASS;
}

/* ---- listing ---- */

struct listed {
  char *name;
  uint64_t ino, off;
  uint8_t type;
};

struct listing {
  struct gi_work work;
  struct gi_xlator *x;
  struct gi_fop *fop; /* held */
  struct gi_fs *fs;
  int at, store;
  char dir[GI_UUID_TEXT]; /* of entry-changes, or "" */
  char base[IX_NAME];     /* this process's base file */
  char base_prefix[24];   /* hides base files; "" shows them */
  bool want_type;
  uint64_t offset;
  uint32_t size;
  int err;
  bool end;
  unsigned count, capacity;
  struct listed *item;
};

/* The type of the object a gfid names, from its handle (brick.md 2.3): a directory's handle is a symlink into its parent's. */
static uint8_t
type_of(struct gi_fs *fs, int store, const char *gfid_text)
{
  char path[80], link[256];
  struct stat st;
  struct gi_gfid gfid;
  if (gi_gfid_parse(gfid_text, &gfid) && gi_gfid_is_root(&gfid))
    return DT_DIR;
  snprintf(path, sizeof(path), "%.2s/%.2s/%s", gfid_text, gfid_text + 2, gfid_text);
  if (gi_fs_stat(fs, store, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return DT_UNKNOWN;
  if (!S_ISLNK(st.st_mode))
    return (uint8_t)IFTODT(st.st_mode);
  ssize_t n = gi_fs_readlink(fs, store, path, link, sizeof(link) - 1);
  link[n > 0 ? n : 0] = '\0';
  struct gi_gfid parent;
  char text[GI_UUID_TEXT] = "";
  if (n > 12 + 36 && strncmp(link, "../../", 6) == 0)
    memcpy(text, link + 12, 36);
  return gi_gfid_parse(text, &parent) ? DT_DIR : DT_LNK;
}

/* A base file nobody links any more belonged to an earlier process. */
static bool
hide(const struct listing *l, int dir, const char *name)
{
  struct stat st;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
    return true;
  if (!*l->base_prefix || strncmp(name, l->base_prefix, strlen(l->base_prefix)) != 0)
    return false;
  if (strcmp(name, l->base) != 0 && gi_fs_stat(l->fs, dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1)
    gi_fs_unlink(l->fs, dir, name, 0);
  return true;
}

static void
listing_add(struct listing *l, const struct gi_fs_dirent *e)
{
  struct gi_gfid gfid;
  if (l->count == l->capacity) {
    l->capacity = l->capacity ? 2 * l->capacity : 32;
    l->item = gi_realloc(l->item, l->capacity * sizeof(*l->item));
  }
  l->item[l->count++] = (struct listed){
      .name = gi_strdup(e->name),
      .ino = e->ino,
      .off = (uint64_t)e->off,
      .type = l->want_type && gi_gfid_parse(e->name, &gfid) ? type_of(l->fs, l->store, e->name) : e->type,
  };
}

static void
listing_work(struct gi_work *w)
{
  struct listing *l = GI_CONTAINER(w, struct listing, work);
  struct gi_fs_dir d;
  int err = gi_fs_dir_open(&d, l->fs, l->at, *l->dir ? l->dir : ".");
  if (!err && l->offset && gi_fs_lseek(l->fs, d.fd, (off_t)l->offset, SEEK_SET) < 0) {
    err = errno;
    gi_fs_dir_close(&d);
  }
  if (err) {
    l->err = err;
    return;
  }
  uint32_t used = 0;
  for (;;) {
    const struct gi_fs_dirent *e = gi_fs_dir_next(&d);
    if (!e) {
      l->end = !d.err;
      l->err = l->count ? 0 : d.err; /* what follows is asked for again */
      break;
    }
    if (hide(l, d.fd, e->name))
      continue;
    used += IX_DIRENT_FIXED + (uint32_t)strlen(e->name) + 1;
    if (used > l->size && l->count)
      break;
    listing_add(l, e);
  }
  gi_fs_dir_close(&d);
}

static void
listing_done(struct gi_work *w)
{
  struct listing *l = GI_CONTAINER(w, struct listing, work);
  struct gi_fop *fop = l->fop;
  for (unsigned i = 0; i < l->count; i++) {
    struct listed *it = &l->item[i];
    struct gi_dirent e = {
        .ino = it->ino, .off = it->off, .type = it->type, .name = it->name, .name_len = (uint32_t)strlen(it->name)};
    if (!l->err)
      gi_dirents_add(&fop->rsp.entries, &e, fop);
    gi_free(it->name);
  }
  if (l->err) {
    gi_fop_fail(fop, l->err);
  } else {
    gi_fop_ok(fop, (int)l->count);
    fop->rsp.err = l->end ? ENOENT : 0;
  }
  struct gi_xlator *x = l->x;
  gi_free(l->item);
  gi_free(l);
  gi_fop_answer(fop, x);
}

enum gi_verdict
ix_virtual_readdir(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct ix_private *p = ix_private(x);
  const struct gi_gfid *gfid = gi_fop_gfid(fop);
  int64_t want = 0;
  if (!is_made_up(p, gfid))
    return GI_PASS;
  const struct ix_virtual *v = ix_virtual_find(x, gfid);
  if (!v)
    return gi_fop_fail(fop, ENOENT);
  struct listing *l = gi_new(struct listing);
  l->x = x;
  l->fop = fop;
  l->fs = p->fs;
  l->at = p->fd[v->cls];
  l->store = p->store_fd;
  if (v->member)
    gi_gfid_text(&v->dir, l->dir);
  if (v->cls != IX_CHANGES) {
    memcpy(l->base, p->base[v->cls], sizeof(l->base));
    snprintf(l->base_prefix, sizeof(l->base_prefix), "%s-", v->cls == IX_PENDING ? "xattrop" : "dirty");
  }
  gi_dict_get_int(fop->xdata, "get-gfid-type", &want);
  l->want_type = want != 0;
  l->offset = fop->args.offset;
  l->size = fop->args.size < IX_READDIR_MAX ? (uint32_t)fop->args.size : IX_READDIR_MAX;
  l->work.priority = fop->priority;
  l->work.run = listing_work;
  l->work.done = listing_done;
  gi_work_submit(x->reactor, &l->work);
  return GI_HELD;
}

/* ---- removing ---- */

static void
removed(struct gi_xlator *x, struct ix_job *job)
{
  struct gi_fop *fop = job->fop;
  struct ix_fop *f = gi_fop_private(fop, x);
  struct gi_inode *inode = f->inode;
  const struct ix_virtual *v = ix_virtual_find(x, parent_gfid(fop));
  ix_job_learn(x, job, gi_inode_private(inode, x));
  int err = job->step[0].err;
  if (!err && v)
    virtual_attributes(ix_private(x), v, &fop->rsp.post);
  fop->rsp.pre = fop->rsp.post;
  answer(fop, err);
  ix_turn_end(x, inode);
  gi_inode_unref(&f->inode);
  gi_fop_answer(fop, x);
  ix_job_free(job);
}

enum gi_verdict
ix_virtual_remove_begin(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ix_fop *f = gi_fop_private(fop, x);
  const struct ix_virtual *v = ix_virtual_find(x, parent_gfid(fop));
  if (!v) { /* forgotten while it waited */
    ix_turn_end(x, f->inode);
    gi_inode_unref(&f->inode);
    return gi_fop_fail(fop, ESTALE);
  }
  struct ix_job *job = ix_job_new(x, fop, &f->inode->gfid);
  if (v->member)
    ix_job_add(job, IX_ENTRY_UNLINK, IX_CHANGES, fop->loc.name);
  else if (v->cls != IX_CHANGES)
    ix_job_add(job, IX_UNLINK, v->cls, NULL);
  else
    ix_job_add(job, fop->args.flags ? IX_DELETE : IX_PURGE, IX_CHANGES, NULL);
  if (!v->member && v->cls == IX_PENDING)
    ix_regions_drop(job);
  ix_job_run(job, removed);
  return GI_HELD;
}

enum gi_verdict
ix_virtual_remove(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct ix_private *p = ix_private(x);
  struct gi_gfid about;
  if (!is_made_up(p, parent_gfid(fop)))
    return GI_PASS;
  const struct ix_virtual *v = ix_virtual_find(x, parent_gfid(fop));
  if (!v)
    return gi_fop_fail(fop, ESTALE);
  if (!fop->loc.name || !ix_name_ok(fop->loc.name))
    return gi_fop_fail(fop, EINVAL);
  if (v->member)
    about = v->dir;
  else if (!gi_gfid_parse(fop->loc.name, &about) || gi_gfid_is_none(&about))
    return gi_fop_fail(fop, ENOENT);
  struct gi_inode *inode = gi_inode_get(fop->graph, &about); /* dropped in `removed` */
  return ix_turn_take(x, fop, inode);
}
