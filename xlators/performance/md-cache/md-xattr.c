/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended attributes of the set: the names that the options choose. Requests
 * that bring attributes ask for all of them, so one reply tells which an inode
 * has; those that it does not have are known, too. What is asked for by itself
 * is kept by itself.
 */
#include "xlators/performance/md-cache/md-cache.h"

#include <errno.h>
#include <fnmatch.h>

#define SECURITY "security."
#define CAPABILITY "security.capability"

/* ---- the set ---- */

struct group {
  size_t switch_at; /* of the bool in struct md_options */
  const char *names[4];
};

static const struct group groups[] = {
    {offsetof(struct md_options, capability), {CAPABILITY}},
    {offsetof(struct md_options, ima), {"security.ima"}},
    {offsetof(struct md_options, selinux), {"security.selinux"}},
    {offsetof(struct md_options, acl), {"system.posix_acl_access", "system.posix_acl_default"}},
    {offsetof(struct md_options, swift), {"user.swift.metadata"}},
    {offsetof(struct md_options, samba), {"user.DOSATTRIB", "security.NTACL", "user.org.netatalk.Metadata"}},
};

static void
add_list(struct gi_dict *keys, const char *list)
{
  for (const char *s = list ? list : ""; *(s += strspn(s, ", \t"));) {
    size_t n = strcspn(s, ", \t");
    GI_CLEANUP_FREE char *name = gi_strndup(s, n);

    if (n <= GI_NAME_MAX)
      gi_dict_set_int(keys, name, 0);
    s += n;
  }
}

void
md_make_keys(struct md *md)
{
  const struct md_options *o = md_options(md);
  struct gi_dict *keys = gi_dict_new();

  for (size_t i = 0; i < GI_ARRAY_LEN(groups); i++) {
    if (!*(const bool *)((const char *)o + groups[i].switch_at))
      continue;
    for (size_t k = 0; k < GI_ARRAY_LEN(groups[i].names) && groups[i].names[k]; k++)
      gi_dict_set_int(keys, groups[i].names[k], 0);
  }
  add_list(keys, o->list);
  gi_dict_unref(&md->keys);
  md->keys = keys;
  if (!md->absent)
    gi_dict_set_int(gi_dict_writable(&md->absent), CAPABILITY, 0);
}

bool
md_is_key(const struct md *md, const char *name)
{
  if (gi_dict_get(md->keys, name))
    return true;
  for (uint32_t i = 0; i < gi_dict_count(md->keys); i++) {
    const char *pattern = gi_dict_at(md->keys, i)->key;

    if (strpbrk(pattern, "*?[") && fnmatch(pattern, name, 0) == 0)
      return true;
  }
  return false;
}

void
md_add_keys(struct md *md, struct gi_fop *fop, struct md_fop *f)
{
  GI_ASSERT(!f->keys);
  if (gi_dict_count(md->keys) == 0)
    return;
  f->keys = true;
  if (fop->xdata)
    gi_dict_merge(gi_fop_xdata(fop), md->keys);
  else
    fop->xdata = gi_dict_ref(md->keys);
}

/* ---- answering ---- */

static bool
is_fresh(const struct md *md, const struct md_entry *e)
{
  uint64_t untold_until = e->xattr_age.asked + MD_CLAMP_S * GI_NSEC_PER_SEC;

  return (e->xattrs || e->complete) && e->xattr_changes == 0 && md_is_fresh(md, &e->xattr_age, e->dir) &&
         (md->care.taken || gi_now(md->x->reactor) < untold_until);
}

/* The value, if there is one; false: it is not known. */
static bool
know(const struct md *md, const struct md_entry *e, const char *name, const struct gi_pair **value)
{
  const uint8_t *data;
  uint32_t len;

  *value = gi_dict_get(e->xattrs, name);
  if (!*value)
    return e->complete && md_is_key(md, name);
  if (!gi_pair_bytes(*value, &data, &len))
    *value = NULL;
  return true;
}

static void
copy_pair(struct gi_dict *to, const struct gi_pair *p)
{
  const uint8_t *data = NULL;
  uint32_t len = 0;
  bool bytes = gi_pair_bytes(p, &data, &len);

  GI_ASSERT(bytes);
  gi_dict_set_raw(to, p->key, p->key_len, p->type, data, len);
}

bool
md_know_all(const struct md *md, const struct md_entry *e, const struct gi_dict *asked, struct gi_dict **answer)
{
  struct gi_dict *found = NULL;

  for (uint32_t i = 0; i < gi_dict_count(asked); i++) {
    const char *key = gi_dict_at(asked, i)->key;
    const struct gi_pair *value;

    if (strcmp(key, "gfid-req") == 0) /* it has one */
      continue;
    if (strpbrk(key, "*?[") || !is_fresh(md, e) || !know(md, e, key, &value)) {
      gi_dict_unref(&found);
      return false;
    }
    if (value)
      copy_pair(gi_dict_writable(&found), value);
  }
  *answer = found;
  return true;
}

enum gi_verdict
md_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  struct md *md = x->private;
  struct gi_inode *inode = gi_fop_inode(fop);
  const struct md_entry *e = inode ? md_entry_find(md, inode) : NULL;
  const struct gi_pair *value;

  if (!inode || !fop->args.name || fop->caller.pid < 0 || !md_is_key(md, fop->args.name))
    return GI_PASS;
  if (e && gi_dict_count(fop->xdata) == 0 && is_fresh(md, e) && know(md, e, fop->args.name, &value)) {
    md->m.xattr_hits++;
    if (!value)
      return gi_fop_fail(fop, ENODATA);
    copy_pair(gi_dict_writable(&fop->rsp.dict), value);
    return gi_fop_ok(fop, (int)value->len);
  }
  md->m.xattr_misses++;
  md_note(md, gi_fop_private(fop, x));
  return GI_PASS_TELL;
}

/* ---- learning ---- */

static bool
may_keep(const struct md *md, const struct md_entry *e, const struct md_fop *f)
{
  return md_may_keep(md, e, f) && (!e || (f->seq >= e->xattr_since && e->xattr_changes == 0));
}

/* What a change of data takes away must have been asked for when none was under way; that it is not there needs not. */
static bool
may_be_taken_away(const struct md_entry *e, const char *name, const struct md_fop *f)
{
  return strncmp(name, SECURITY, sizeof(SECURITY) - 1) == 0 && !gi_trust_settled(&e->trust, f->seq);
}

/* One name by itself; `value` NULL: it is not there. */
static void
keep_one(struct md *md, struct md_entry *e, const char *name, const struct gi_pair *value, const struct md_fop *f)
{
  GI_ASSERT(md_is_key(md, name) && e->xattr_changes == 0);
  if (!is_fresh(md, e)) {
    md_forget_xattr(md, e);
    e->xattr_since = f->seq;
    e->xattr_age = f->age;
  }
  if (value && may_be_taken_away(e, name, f))
    return;
  if (value)
    copy_pair(gi_dict_writable(&e->xattrs), value);
  else if (!e->xattrs && gi_dict_get(md->absent, name))
    e->xattrs = gi_dict_ref(md->absent);
  else
    gi_dict_set_int(gi_dict_writable(&e->xattrs), name, 0);
  md_entry_settle(md, e);
}

void
md_got_xattr(struct md *md, struct gi_fop *fop, const struct md_fop *f)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  const struct gi_pair *value = fop->rsp.ret < 0 ? NULL : gi_dict_get(fop->rsp.dict, fop->args.name);
  const uint8_t *data;
  uint32_t len;

  GI_ASSERT(inode && fop->args.name);
  if (fop->rsp.ret < 0 && (fop->rsp.err == ENOENT || fop->rsp.err == ESTALE))
    md_gone(md, inode);
  if ((fop->rsp.ret < 0 && fop->rsp.err != ENODATA) || !may_keep(md, md_entry_find(md, inode), f))
    return;
  if (fop->rsp.ret < 0 || (value && gi_pair_bytes(value, &data, &len)))
    keep_one(md, md_entry_get(md, inode), fop->args.name, value, f);
}

void
md_keep_set(struct md *md, struct gi_inode *inode, const struct gi_dict *found, const struct md_fop *f)
{
  struct md_entry *e = md_entry_find(md, inode);

  if (!may_keep(md, e, f) || gi_dict_get(found, "glusterfs.skip-cache"))
    return;
  e = md_entry_get(md, inode);
  if (is_fresh(md, e) && f->age.asked < e->xattr_age.asked)
    return;
  gi_dict_unref(&e->xattrs);
  e->complete = true;
  e->xattr_age = f->age;
  for (uint32_t i = 0; i < gi_dict_count(found); i++) {
    const struct gi_pair *p = gi_dict_at(found, i);
    const uint8_t *data;
    uint32_t len;

    if (!md_is_key(md, p->key))
      continue;
    if (may_be_taken_away(e, p->key, f) || !gi_pair_bytes(p, &data, &len))
      e->complete = false;
    else
      copy_pair(gi_dict_writable(&e->xattrs), p);
  }
  md_entry_settle(md, e);
}

/* Others of the set may come from its directory or from the machine that makes it. */
void
md_new_object(struct md *md, struct gi_inode *inode, const struct md_fop *f)
{
  struct md_entry *e = md_entry_find(md, inode);

  if (gi_dict_get(md->keys, CAPABILITY) && may_keep(md, e, f))
    keep_one(md, md_entry_get(md, inode), CAPABILITY, NULL, f);
}

/* ---- changes ---- */

/* A change of mode or owner changes ACLs, and takes capabilities away. */
bool
md_changes_xattrs(enum gi_fop_kind kind)
{
  switch (kind) {
  case GI_FOP_SETXATTR:
  case GI_FOP_FSETXATTR:
  case GI_FOP_REMOVEXATTR:
  case GI_FOP_FREMOVEXATTR:
  case GI_FOP_XATTROP:
  case GI_FOP_FXATTROP:
  case GI_FOP_SETATTR:
  case GI_FOP_FSETATTR:
    return true;
  default:
    return false;
  }
}

void
md_xattr_change_begins(struct md *md, struct md_entry *e)
{
  e->xattr_since = ++md->order.clock;
  e->xattr_changes++;
  GI_ASSERT(e->xattr_changes <= e->trust.inflight);
}

/* What users set is kept as they set it; the machine may make something else of the rest. */
static bool
is_plain(const char *name)
{
  return strncmp(name, "user.", 5) == 0 || strncmp(name, "trusted.", 8) == 0;
}

static bool
all_plain(const struct gi_dict *set)
{
  for (uint32_t i = 0; i < gi_dict_count(set); i++) {
    const uint8_t *data;
    uint32_t len;

    if (!is_plain(gi_dict_at(set, i)->key) || !gi_pair_bytes(gi_dict_at(set, i), &data, &len))
      return false;
  }
  return true;
}

static bool
update(struct md *md, struct md_entry *e, const struct gi_fop *fop)
{
  bool sets = fop->kind == GI_FOP_SETXATTR || fop->kind == GI_FOP_FSETXATTR;
  bool removes = fop->kind == GI_FOP_REMOVEXATTR || fop->kind == GI_FOP_FREMOVEXATTR;

  if (sets && all_plain(fop->args.dict)) {
    for (uint32_t i = 0; i < gi_dict_count(fop->args.dict); i++)
      if (md_is_key(md, gi_dict_at(fop->args.dict, i)->key))
        copy_pair(gi_dict_writable(&e->xattrs), gi_dict_at(fop->args.dict, i));
    return true;
  }
  if (removes && fop->args.name && is_plain(fop->args.name)) {
    if (md_is_key(md, fop->args.name))
      gi_dict_set_int(gi_dict_writable(&e->xattrs), fop->args.name, 0);
    return true;
  }
  return false;
}

void
md_xattr_change_ended(struct md *md, struct md_entry *e, const struct gi_fop *fop, bool alone)
{
  GI_ASSERT(e->xattr_changes > 0);
  e->xattr_changes--;
  e->xattr_since = ++md->order.clock;
  if (!(alone && fop->rsp.ret >= 0 && is_fresh(md, e) && update(md, e, fop)))
    md_forget_xattr(md, e);
}

void
md_data_changed(struct md *md, struct md_entry *e)
{
  for (uint32_t i = 0; i < gi_dict_count(e->xattrs); i++) {
    const struct gi_pair *p = gi_dict_at(e->xattrs, i);
    const uint8_t *data;
    uint32_t len;

    if (strncmp(p->key, SECURITY, sizeof(SECURITY) - 1) == 0 && gi_pair_bytes(p, &data, &len)) {
      md_forget_xattr(md, e);
      return;
    }
  }
}
