/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended attributes. Some names are answered here, some are hidden, the rest
 * goes to the bricks (volfile.md 10, fuse.md 8). The kernel asks for
 * security.capability before writes: once it is known to be absent the answer
 * comes from memory.
 */
#include "fuse-internal.h"

#include <sys/xattr.h>

#define VALUE_MAX 65536 /* what the kernel takes for one value and for a list */

enum name_class {
  NAME_PLAIN,
  NAME_GFID,        /* answered here */
  NAME_GFID_STRING, /* answered here */
  NAME_HIDDEN,      /* belongs to the machinery */
  NAME_ACL,
  NAME_SELINUX,
  NAME_CAPABILITY,
};

static bool
begins(const char *name, const char *prefix)
{
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Names that ask something of the machinery, and who may: nobody below asks who comes. */
enum who { WHO_OWNER, WHO_ROOT };

static const struct virtual
{
  const char *name; /* up to a '*' */
  enum who who;
  bool acts; /* reading it changes something */
}
virtual_names[] = {
    {"glusterfs.clrlk.*", WHO_ROOT, true},
    {"glusterfs.intrlk.*", WHO_ROOT, true},
    {"glusterfs.heal-sbrain", WHO_ROOT, true},
    {"glusterfs.heal-info", WHO_ROOT, false},
    {"glusterfs.xattrop_*", WHO_ROOT, false},
    {"glusterish.*", WHO_ROOT, false},
    {"replica.split-brain-choice", WHO_OWNER, false},
    {"replica.split-brain-heal-finalize", WHO_OWNER, false},
    {"replica.split-brain-choice-timeout", WHO_ROOT, false}, /* of all files */
    {"inode-invalidate", WHO_ROOT, false},
};

static const struct virtual *
virtual_name(const char *name)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(virtual_names); i++) {
    const char *v = virtual_names[i].name;
    size_t len = strcspn(v, "*");

    if (v[len] ? strncmp(name, v, len) == 0 : strcmp(name, v) == 0)
      return &virtual_names[i];
  }
  return NULL;
}

static bool
may_ask(struct bridge *b, fuse_req_t req, const struct gi_inode *inode, const struct virtual *v)
{
  uint32_t uid = fuse_req_ctx(req)->uid;
  const struct node *n = node_of(b, inode);

  return !v || uid == 0 || (v->who == WHO_OWNER && n->trust.known && n->trust.attr.uid == uid);
}

static bool
is_hidden(const char *name)
{
  static const char *const exact[] = {"trusted.gfid", "trusted.glusterfs.volume-id", "glusterfs.mdata",
                                      "trusted.glusterfs.mdata"};
  static const char *const prefix[] = {"trusted.afr.", "trusted.ec.", "trusted.glusterfs.dht", "trusted.gfid2path."};

  if (strcmp(name, "trusted.ec.heal") == 0)
    return false;
  for (size_t i = 0; i < GI_ARRAY_LEN(exact); i++)
    if (strcmp(name, exact[i]) == 0)
      return true;
  for (size_t i = 0; i < GI_ARRAY_LEN(prefix); i++)
    if (begins(name, prefix[i]))
      return true;
  return false;
}

static enum name_class
classify(const char *name)
{
  if (strcmp(name, "security.capability") == 0)
    return NAME_CAPABILITY;
  if (strcmp(name, "glusterfs.gfid") == 0)
    return NAME_GFID;
  if (strcmp(name, "glusterfs.gfid.string") == 0)
    return NAME_GFID_STRING;
  if (begins(name, "system.posix_acl_"))
    return NAME_ACL;
  if (strcmp(name, "security.selinux") == 0)
    return NAME_SELINUX;
  return is_hidden(name) ? NAME_HIDDEN : NAME_PLAIN;
}

/* A value, by the rules of getxattr(2): size 0 asks for the length. */
static void
reply_value(struct bridge *b, fuse_req_t req, size_t room, const void *value, size_t len)
{
  if (len > VALUE_MAX)
    reply_err(b, req, E2BIG);
  else if (room == 0)
    reply_result(b, fuse_reply_xattr(req, len));
  else if (len > room)
    reply_err(b, req, ERANGE);
  else
    reply_result(b, fuse_reply_buf(req, value, len));
}

/* ---- get ---- */

static void
reply_pair(struct bridge *b, fuse_req_t req, size_t room, const struct gi_pair *p)
{
  const uint8_t *value;
  uint32_t len;
  char text[32];

  if (gi_pair_bytes(p, &value, &len)) {
    bool nul = p->type == GI_VALUE_STR && len; /* virtual ones come as text; its NUL is no part of the value */
    reply_value(b, req, room, value, len - nul);
    return;
  }
  switch (p->type) {
  case GI_VALUE_INT:
    snprintf(text, sizeof(text), "%lld", (long long)p->i);
    break;
  case GI_VALUE_UINT:
    snprintf(text, sizeof(text), "%llu", (unsigned long long)p->u);
    break;
  default:
    reply_err(b, req, ENODATA);
    return;
  }
  reply_value(b, req, room, text, strlen(text));
}

static void
getxattr_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);
  struct node *n = node_of(b, fop->loc.inode);
  const struct gi_pair *p = fop->rsp.ret < 0 ? NULL : gi_dict_get(fop->rsp.dict, fop->args.name);

  /* Unless somebody changed the file since we asked. */
  if (!p && (fop->rsp.ret >= 0 || fop->rsp.err == ENODATA) && gi_trust_unmoved(&n->trust, op->seq) &&
      strcmp(fop->args.name, "security.capability") == 0)
    n->no_capability = true;
  if (p)
    reply_pair(b, op->req, op->size, p);
  else
    reply_err(b, op->req, fop->rsp.ret < 0 ? err_of_node(fop) : ENODATA);
  op_end(b, fop);
}

static void
send_getxattr(struct bridge *b, fuse_req_t req, struct gi_inode *inode, const char *name, size_t size,
              void (*done)(struct gi_fop *fop, void *x))
{
  struct gi_fop *fop = op_new(b, req, GI_FOP_GETXATTR);

  gi_loc_set_inode(&fop->loc, inode);
  if (name)
    fop->args.name = gi_fop_strdup(fop, name, strlen(name));
  op_of(b, fop)->size = (uint32_t)size;
  op_submit(b, fop, done);
}

/* True: answered. What acts is asked once, with room for any answer: neither to learn the length, nor to find it too long. */
static bool
guard_get(struct bridge *b, fuse_req_t req, const struct gi_inode *inode, const char *name, size_t room)
{
  const struct virtual *v = virtual_name(name);

  if (!may_ask(b, req, inode, v))
    reply_err(b, req, EPERM);
  else if (v && v->acts && room == 0)
    reply_result(b, fuse_reply_xattr(req, VALUE_MAX));
  else if (v && v->acts && room < VALUE_MAX)
    reply_err(b, req, ERANGE);
  else
    return false;
  return true;
}

void
do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
  struct bridge *b = bridge_of_req(req);
  const struct bridge_options *o = bridge_options(b);
  struct gi_inode *inode = node_inode(b, req, ino);
  char text[GI_UUID_TEXT];
  int err = 0;

  if (!inode)
    return;
  switch (classify(name)) {
  case NAME_GFID:
    reply_value(b, req, size, inode->gfid.b, sizeof(inode->gfid.b));
    return;
  case NAME_GFID_STRING:
    reply_value(b, req, size, gi_gfid_text(&inode->gfid, text), GI_UUID_TEXT - 1);
    return;
  case NAME_HIDDEN:
    err = ENODATA;
    break;
  case NAME_ACL:
    err = o->acl ? 0 : EOPNOTSUPP;
    break;
  case NAME_SELINUX:
    err = o->selinux ? 0 : ENODATA;
    break;
  case NAME_CAPABILITY:
    node_of(b, inode)->asked_capability += node_of(b, inode)->asked_capability < 2;
    err = o->capability && !node_of(b, inode)->no_capability ? 0 : ENODATA;
    break;
  case NAME_PLAIN:
    break;
  }
  if (err) {
    b->m.local_getxattr++;
    reply_err(b, req, err);
    return;
  }
  if (guard_get(b, req, inode, name, size))
    return;
  send_getxattr(b, req, inode, name, size, getxattr_done);
}

/* ---- list ---- */

static bool
listed(const struct bridge *b, const struct gi_pair *p, bool root)
{
  const struct bridge_options *o = bridge_options(b);
  enum name_class class = classify(p->key);

  if (class == NAME_HIDDEN || class == NAME_GFID || class == NAME_GFID_STRING || begins(p->key, "glusterfs.") ||
      begins(p->key, "trusted.glusterfs."))
    return false;
  if ((class == NAME_ACL && !o->acl) || (class == NAME_SELINUX && !o->selinux))
    return false;
  if (begins(p->key, "trusted."))
    return root;
  return begins(p->key, "user.") || begins(p->key, "security.") || begins(p->key, "system.");
}

static void
listxattr_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);
  const struct gi_dict *d = fop->rsp.dict;
  bool root = fop->caller.uid == 0;
  size_t len = 0;

  if (fop->rsp.ret < 0) {
    reply_err(b, op->req, err_of_node(fop));
    op_end(b, fop);
    return;
  }
  for (uint32_t i = 0; i < gi_dict_count(d); i++)
    len += listed(b, gi_dict_at(d, i), root) ? gi_dict_at(d, i)->key_len + 1 : 0;

  char *names = gi_alloc(len ? len : 1), *at = names;

  for (uint32_t i = 0; i < gi_dict_count(d); i++) {
    const struct gi_pair *p = gi_dict_at(d, i);

    if (listed(b, p, root)) {
      memcpy(at, p->key, p->key_len + 1);
      at += p->key_len + 1;
    }
  }
  GI_ASSERT((size_t)(at - names) == len);
  reply_value(b, op->req, op->size, names, len);
  gi_free(names);
  op_end(b, fop);
}

void
do_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = node_inode(b, req, ino);

  if (inode)
    send_getxattr(b, req, inode, NULL, size, listxattr_done);
}

/* ---- set and remove ---- */

/* The error of changing the name; 0 = allowed. */
static int
change_error(struct bridge *b, fuse_req_t req, const struct gi_inode *inode, const char *name)
{
  const struct bridge_options *o = bridge_options(b);

  if (!may_ask(b, req, inode, virtual_name(name)))
    return EPERM;
  switch (classify(name)) {
  case NAME_GFID:
  case NAME_GFID_STRING:
  case NAME_HIDDEN:
    return EPERM;
  case NAME_ACL:
    return o->acl ? 0 : EOPNOTSUPP;
  case NAME_SELINUX:
    return o->selinux ? 0 : EOPNOTSUPP;
  case NAME_CAPABILITY:
    return o->capability ? 0 : EOPNOTSUPP;
  case NAME_PLAIN:
    return 0;
  }
  return 0;
}

/* The inode; NULL: it was answered why its attribute of that name stays. */
static struct gi_inode *
to_change(struct bridge *b, fuse_req_t req, fuse_ino_t ino, const char *name)
{
  struct gi_inode *inode = node_inode(b, req, ino);
  int err = inode ? change_error(b, req, inode, name) : 0;

  if (err)
    reply_err(b, req, err);
  return err ? NULL : inode;
}

/* Commands to the client itself, in the clothes of an attribute. True: answered. */
static bool
command(struct bridge *b, fuse_req_t req, struct gi_inode *inode, const char *name, const char *value, size_t size)
{
  enum gi_log_level level;
  char word[16];

  if (strcmp(name, "inode-invalidate") == 0) {
    inval_inode(b, inode, true);
    reply_err(b, req, 0);
    return true;
  }
  if (strcmp(name, "trusted.glusterfs.set-log-level") != 0)
    return false;
  snprintf(word, sizeof(word), "%.*s", (int)(size < sizeof(word) ? size : sizeof(word) - 1), value);
  if (!gi_log_level_parse(word, &level)) {
    reply_err(b, req, EINVAL);
    return true;
  }
  gi_log_set_level(level);
  reply_err(b, req, 0);
  return true;
}

void
do_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = to_change(b, req, ino, name);

  if (!inode)
    return;
  if (command(b, req, inode, name, value, size))
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_SETXATTR);

  gi_loc_set_inode(&fop->loc, inode);
  fop->args.dict = gi_dict_new();
  gi_dict_set_bin(fop->args.dict, name, value, (uint32_t)size);
  fop->args.flags = (uint32_t)flags & (XATTR_CREATE | XATTR_REPLACE);
  node_of(b, inode)->no_capability = false;
  op_changes(b, fop, inode);
  op_submit(b, fop, done_status_node);
}

void
do_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = to_change(b, req, ino, name);

  if (!inode)
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_REMOVEXATTR);

  gi_loc_set_inode(&fop->loc, inode);
  fop->args.name = gi_fop_strdup(fop, name, strlen(name));
  op_changes(b, fop, inode);
  op_submit(b, fop, done_status_node);
}
