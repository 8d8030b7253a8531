/* SPDX-License-Identifier: Apache-2.0
 *
 * features/access-control: mode bits, ACLs, sticky directories, inheritance,
 * and how often it has to look.
 */
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define OWNER 1000
#define GROUP 500

/* what the child answers to LOOKUP */
struct object {
  uint8_t n;
  uint32_t mode, uid, gid;
  const uint8_t *access, *dflt;
  uint32_t access_len, dflt_len;
};

/* user::rw- user:2000:r-- group::--- mask::rw- other::--- */
static const uint8_t acl_named[] = {2, 0,    0,   0,   1,   0,   6,    0, 255, 255, 255, 255, 2,   0,    4,
                                    0, 0xd0, 7,   0,   0,   4,   0,    0, 0,   255, 255, 255, 255, 0x10, 0,
                                    6, 0,    255, 255, 255, 255, 0x20, 0, 0,   0,   255, 255, 255, 255};

static void
fill(struct gi_fop *fop, void *arg)
{
  const struct object *o = arg;
  struct gi_iatt *st = &fop->rsp.stat;
  memset(&st->gfid, o->n, sizeof(st->gfid));
  st->mode = o->mode;
  st->uid = o->uid;
  st->gid = o->gid;
  if (o->access && gi_dict_get(fop->xdata, "system.posix_acl_access"))
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), "system.posix_acl_access", o->access, o->access_len);
  if (o->dflt && gi_dict_get(fop->xdata, "system.posix_acl_default"))
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), "system.posix_acl_default", o->dflt, o->dflt_len);
}

static void
know(struct fake_stack *s, struct object *o)
{
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill, .arg = o});
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  gi_loc_set_inode(&f->loc, fake_inode(s, o->n));
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_null(gi_dict_get(f->rsp.xdata, "system.posix_acl_access")); /* nobody asked for it */
}

static void
fill_with_content(struct gi_fop *fop, void *arg)
{
  fill(fop, arg);
  if (!gi_dict_get(fop->xdata, GI_CONTENT_KEY))
    return;
  gi_dict_set_iatt(gi_fop_rsp_xdata(fop), GI_CONTENT_STAT_KEY, &fop->rsp.stat);
  gi_dict_set_bin(fop->rsp.xdata, GI_CONTENT_KEY, "abc", 3);
}

static bool
finds_content(struct fake_stack *s, struct object *o, uint32_t uid, bool inode)
{
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_with_content, .arg = o});
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  f->caller.uid = f->caller.gid = uid;
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 1), "name");
  if (inode)
    gi_loc_set_inode(&f->loc, fake_inode(s, o->n));
  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, 100);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  bool has = gi_dict_get(f->rsp.xdata, GI_CONTENT_KEY) != NULL;
  assert_int_equal(has, gi_dict_get(f->rsp.xdata, GI_CONTENT_STAT_KEY) != NULL);
  return has;
}

/* As an open would tell. */
static void
test_content_of_a_lookup_is_for_who_may_read(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  struct object dir = {.n = 1, .mode = S_IFDIR | 0755}, o = {.n = 5, .mode = S_IFREG | 0640, .uid = OWNER, .gid = GROUP};
  struct object listed = o;
  listed.n = 6;
  listed.access = acl_named;
  listed.access_len = sizeof(acl_named);
  know(s, &dir);
  for (unsigned known = 0; known < 2; known++) {
    assert_true(finds_content(s, &o, OWNER, known));
    assert_false(finds_content(s, &o, OWNER + 1, known));
    assert_true(finds_content(s, &o, 0, known));
    assert_true(finds_content(s, &listed, 2000, known));
    assert_false(finds_content(s, &listed, 2001, known));
  }
  fake_stack_free(s);
}

static struct gi_fop *
as(struct fake_stack *s, enum gi_fop_kind kind, uint8_t n, uint32_t uid)
{
  struct gi_fop *f = fake_fop(s, kind);
  f->caller.uid = uid;
  f->caller.gid = uid;
  gi_loc_set_inode(&f->loc, fake_inode(s, n));
  return f;
}

static int
result(struct fake_stack *s, struct gi_fop *f)
{
  fake_submit(s, f);
  assert_true(f->answered);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

static int
open_as(struct fake_stack *s, uint8_t n, uint32_t uid, uint32_t flags)
{
  struct gi_fop *f = as(s, GI_FOP_OPEN, n, uid);
  gi_fop_set_fd(f, fake_fd(s, n));
  f->args.flags = flags;
  return result(s, f);
}

static int
name_as(struct fake_stack *s, enum gi_fop_kind kind, uint8_t parent, uint32_t uid)
{
  struct gi_fop *f = fake_fop(s, kind);
  f->caller.uid = f->caller.gid = uid;
  gi_fop_set_entry(f, &f->loc, fake_inode(s, parent), "name");
  f->args.mode = 0666;
  f->args.umask = 022;
  return result(s, f);
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  know(s, &(struct object){.n = 8, .mode = S_IFDIR | 0755});
  fake_check_transparent(s, 0);
  fake_stack_free(s);
  s = fake_stack_new("features/access-control", "option acl off\n", 1);
  assert_ptr_equal(s->parent->next[GI_FOP_OPEN], s->x->children[0]);
  fake_stack_free(s);
}

static void
test_mode(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  know(s, &(struct object){.n = 5, .mode = S_IFREG | 0640, .uid = OWNER, .gid = GROUP});
  assert_int_equal(open_as(s, 5, OWNER, O_RDWR), 0);
  assert_int_equal(open_as(s, 5, GROUP, O_RDONLY), 0);
  assert_int_equal(open_as(s, 5, GROUP, O_WRONLY), EACCES);
  assert_int_equal(open_as(s, 5, 7, O_RDONLY), EACCES);
  assert_int_equal(open_as(s, 5, 0, O_RDWR), 0);
  struct gi_fop *f = as(s, GI_FOP_ACCESS, 5, GROUP);
  f->args.mode = R_OK;
  assert_int_equal(result(s, f), 0);
  f = as(s, GI_FOP_ACCESS, 5, GROUP);
  f->args.mode = R_OK | X_OK;
  assert_int_equal(result(s, f), EACCES);
  f = as(s, GI_FOP_ACCESS, 5, GROUP);
  f->args.mode = W_OK;
  assert_int_equal(result(s, f), EACCES);
  f = as(s, GI_FOP_ACCESS, 5, OWNER);
  f->args.mode = R_OK | W_OK;
  assert_int_equal(result(s, f), 0);
  uint32_t groups[] = {1, GROUP};
  f = as(s, GI_FOP_TRUNCATE, 5, 7);
  assert_int_equal(result(s, f), EACCES);
  f = as(s, GI_FOP_ACCESS, 5, 7);
  f->caller.groups = groups;
  f->caller.ngroups = 2;
  f->args.mode = R_OK;
  assert_int_equal(result(s, f), 0);
  f = as(s, GI_FOP_TRUNCATE, 5, 7);
  f->caller.pid = -6;
  assert_int_equal(result(s, f), 0);
  fake_stack_free(s);
}

static void
test_acl(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  struct object o = {
      .n = 5, .mode = S_IFREG | 0660, .uid = OWNER, .gid = GROUP, .access = acl_named, .access_len = sizeof(acl_named)};
  know(s, &o);
  assert_int_equal(open_as(s, 5, 2000, O_RDONLY), 0);
  assert_int_equal(open_as(s, 5, 2000, O_RDWR), EACCES);
  assert_int_equal(open_as(s, 5, GROUP, O_RDONLY), EACCES); /* the mask is not the group's permission */
  assert_int_equal(open_as(s, 5, OWNER, O_RDWR), 0);
  /* Whoever changes the ACL makes it unknown: the next check looks again. */
  struct gi_fop *f = as(s, GI_FOP_SETXATTR, 5, 2000);
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "system.posix_acl_access", "x", 1);
  assert_int_equal(result(s, f), EPERM);
  f = as(s, GI_FOP_SETXATTR, 5, OWNER);
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "system.posix_acl_access", "x", 1);
  assert_int_equal(result(s, f), 0);
  fake_forget_seen(s);
  o.access = NULL;
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill, .arg = &o});
  assert_int_equal(open_as(s, 5, GROUP, O_RDWR), 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_LOOKUP), 1);
  fake_stack_free(s);
}

static int
copy_as(struct fake_stack *s, uint8_t from, uint8_t to, uint32_t uid)
{
  struct gi_fop *f = as(s, GI_FOP_COPY_FILE_RANGE, from, uid);
  struct gi_fd *fd = gi_fd_anonymous(s->graph, fake_inode(s, from));
  gi_fop_set_fd(f, fd);
  gi_fd_unref(&fd);
  f->fd2 = gi_fd_anonymous(s->graph, fake_inode(s, to));
  return result(s, f);
}

static void
test_copies_without_an_open_descriptor(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  know(s, &(struct object){.n = 5, .mode = S_IFREG | 0604, .uid = OWNER});
  know(s, &(struct object){.n = 6, .mode = S_IFREG | 0602, .uid = OWNER});
  assert_int_equal(copy_as(s, 5, 6, 7), 0);
  assert_int_equal(copy_as(s, 6, 5, 7), EACCES);
  assert_int_equal(copy_as(s, 5, 5, 7), EACCES);
  assert_int_equal(copy_as(s, 6, 6, 7), EACCES);
  assert_int_equal(copy_as(s, 6, 5, OWNER), 0);
  fake_stack_free(s);
}

static int
xattrop_as(struct fake_stack *s, uint32_t uid, uint32_t flags, const char *key)
{
  struct gi_fop *f = as(s, GI_FOP_XATTROP, 5, uid);
  f->args.flags = flags;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, key, "\0\0\0\1", 4);
  return result(s, f);
}

static void
test_xattrop(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  know(s, &(struct object){.n = 5, .mode = S_IFREG | 0642, .uid = OWNER});
  assert_int_equal(xattrop_as(s, 7, GI_XATTROP_ADD32, "trusted.afr.dirty"), 0);
  assert_int_equal(xattrop_as(s, 7, GI_XATTROP_GET_AND_SET, "system.posix_acl_access"), EPERM);
  assert_int_equal(xattrop_as(s, 7, GI_XATTROP_ADD32, "system.posix_acl_access"), EPERM);
  assert_int_equal(xattrop_as(s, 7, GI_XATTROP_GET_AND_SET, "user.a"), 0);
  struct object readable = {.n = 5, .mode = S_IFREG | 0644, .uid = OWNER};
  assert_int_equal(xattrop_as(s, OWNER, GI_XATTROP_GET_AND_SET, "system.posix_acl_access"), 0);
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill, .arg = &readable});
  assert_int_equal(xattrop_as(s, 7, GI_XATTROP_GET_AND_SET, "user.a"), EACCES);
  assert_int_equal(xattrop_as(s, 7, GI_XATTROP_ADD32, "user.a"), EACCES);
  fake_stack_free(s);
}

static void
test_looks_by_itself(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  struct object o = {.n = 5, .mode = S_IFREG | 0600, .uid = OWNER};
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill, .arg = &o, .deferred = true});
  assert_int_equal(open_as(s, 5, 7, O_RDONLY), EACCES);
  assert_int_equal(open_as(s, 5, OWNER, O_RDONLY), 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_LOOKUP), 1);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  assert_int_equal(open_as(s, 6, 7, O_RDONLY), ESTALE);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = EIO});
  assert_int_equal(open_as(s, 7, 7, O_RDONLY), EIO);
  fake_stack_free(s);
}

static void
test_names(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  know(s, &(struct object){.n = 8, .mode = S_IFDIR | 0755, .uid = OWNER});
  assert_int_equal(name_as(s, GI_FOP_LOOKUP, 8, 7), 0);
  assert_int_equal(name_as(s, GI_FOP_UNLINK, 8, 7), EACCES);
  assert_int_equal(name_as(s, GI_FOP_MKDIR, 8, 7), EACCES);
  assert_int_equal(name_as(s, GI_FOP_MKDIR, 8, OWNER), 0);
  know(s, &(struct object){.n = 9, .mode = S_IFDIR | 01777});
  struct object victim = {.n = 5, .mode = S_IFREG | 0600, .uid = OWNER};
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill, .arg = &victim});
  assert_int_equal(name_as(s, GI_FOP_UNLINK, 9, 7), EACCES);
  assert_int_equal(name_as(s, GI_FOP_UNLINK, 9, OWNER), 0);
  fake_stack_free(s);
}

static void
test_link_asks_the_directory_only(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  know(s, &(struct object){.n = 5, .mode = S_IFREG | 0600, .uid = OWNER});
  know(s, &(struct object){.n = 8, .mode = S_IFDIR | 0755, .uid = OWNER});
  know(s, &(struct object){.n = 9, .mode = S_IFDIR | 0777, .uid = OWNER});
  for (uint8_t dir = 8; dir <= 9; dir++) {
    struct gi_fop *f = as(s, GI_FOP_LINK, 5, 7);
    gi_fop_set_entry(f, &f->loc2, fake_inode(s, dir), "name");
    assert_int_equal(result(s, f), dir == 8 ? EACCES : 0);
  }
  fake_stack_free(s);
}

static void
check_mode(struct gi_fop *fop, void *arg)
{
  *(uint32_t *)arg = fop->args.mode;
  assert_null(gi_dict_get(fop->xdata, "system.posix_acl_access"));
}

static void
check_inherited(struct gi_fop *fop, void *arg)
{
  const void *data;
  uint32_t len;
  *(uint32_t *)arg = fop->args.mode;
  assert_true(gi_dict_get_bin(fop->xdata, "system.posix_acl_access", &data, &len));
  assert_int_equal(len, sizeof(acl_named));
  assert_true(gi_dict_get_bin(fop->xdata, "system.posix_acl_default", &data, &len));
  assert_memory_equal(data, acl_named, sizeof(acl_named));
}

static int
create_as(struct fake_stack *s, uint32_t uid, int flags)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_CREATE);
  f->caller.uid = f->caller.gid = uid;
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 9), "name");
  f->args.flags = (uint32_t)flags;
  return result(s, f);
}

/* Somebody else has made it since the client looked: it is opened, and who may not open it may not make it, either. */
static void
test_create_opens(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  struct object there = {.n = 5, .mode = S_IFREG | 0644, .uid = OWNER};
  know(s, &(struct object){.n = 9, .mode = S_IFDIR | 0777});
  fake_forget_seen(s);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  assert_int_equal(create_as(s, 7, O_CREAT | O_RDWR), 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_LOOKUP), 1);
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill, .arg = &there, .deferred = true});
  assert_int_equal(create_as(s, 7, O_CREAT | O_RDONLY), 0);
  assert_int_equal(create_as(s, 7, O_CREAT | O_RDONLY | O_TRUNC), EACCES);
  assert_int_equal(create_as(s, 7, O_CREAT | O_RDWR), EACCES);
  assert_int_equal(create_as(s, OWNER, O_CREAT | O_RDWR | O_TRUNC), 0);
  fake_forget_seen(s);
  assert_int_equal(create_as(s, 0, O_CREAT | O_RDWR), 0);
  assert_int_equal(create_as(s, 7, O_CREAT | O_RDWR | O_EXCL), 0); /* storage tells that it is there */
  assert_int_equal(fake_count(s, 0, GI_FOP_LOOKUP), 0);
  fake_stack_free(s);
}

static void
test_create(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  uint32_t mode = 0;
  know(s, &(struct object){.n = 8, .mode = S_IFDIR | 0755});
  fake_script(s, 0, GI_FOP_MKNOD, (struct fake_reply){.fill = check_mode, .arg = &mode});
  assert_int_equal(name_as(s, GI_FOP_MKNOD, 8, 0), 0);
  assert_int_equal(mode, 0644);
  struct object o = {.n = 9, .mode = S_IFDIR | 0755, .dflt = acl_named, .dflt_len = sizeof(acl_named)};
  know(s, &o);
  fake_script(s, 0, GI_FOP_MKDIR, (struct fake_reply){.fill = check_inherited, .arg = &mode});
  assert_int_equal(name_as(s, GI_FOP_MKDIR, 9, 0), 0);
  assert_int_equal(mode, 0660); /* no umask: the ACL decides */
  fake_stack_free(s);
}

static int
setattr_as(struct fake_stack *s, uint32_t uid, int32_t valid, uint32_t value)
{
  struct gi_fop *f = as(s, GI_FOP_SETATTR, 5, uid);
  f->args.valid = valid;
  f->args.iatt.mode = f->args.iatt.uid = f->args.iatt.gid = value;
  int err = result(s, f);
  know(s, &(struct object){.n = 5, .mode = S_IFREG | 0666, .uid = OWNER, .gid = GROUP});
  return err;
}

static void
test_setattr(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  know(s, &(struct object){.n = 5, .mode = S_IFREG | 0666, .uid = OWNER, .gid = GROUP});
  assert_int_equal(setattr_as(s, 7, GI_SET_MODE, 0777), EPERM);
  assert_int_equal(setattr_as(s, OWNER, GI_SET_MODE, 0777), 0);
  assert_int_equal(setattr_as(s, OWNER, GI_SET_UID, 7), EPERM);
  assert_int_equal(setattr_as(s, OWNER, GI_SET_GID, OWNER), 0);
  assert_int_equal(setattr_as(s, OWNER, GI_SET_GID, 9), EPERM);
  assert_int_equal(setattr_as(s, 7, GI_SET_MTIME, 0), 0);
  assert_int_equal(setattr_as(s, 0, GI_SET_UID, 7), 0);
  fake_stack_free(s);
}

/* Who asks for an ACL himself gets it; what only the translator wanted to know stays with it. */
static void
test_acl_is_asked_for(void **state)
{
  static const char *const keys[] = {"system.posix_acl_access", "system.posix_acl_default"};
  for (int k = 0; k < 2; k++) {
    struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
    struct object o = {.n = 8,
                       .mode = S_IFDIR | 0755,
                       .access = acl_named,
                       .access_len = sizeof(acl_named),
                       .dflt = acl_named,
                       .dflt_len = sizeof(acl_named)};
    fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill, .arg = &o});
    struct gi_fop *f = as(s, GI_FOP_LOOKUP, 8, 0);
    gi_dict_set_uint(gi_fop_xdata(f), keys[k], 0);
    assert_int_equal(result(s, f), 0);
    assert_non_null(gi_dict_get(f->rsp.xdata, keys[k]));
    assert_null(gi_dict_get(f->rsp.xdata, keys[!k]));
    fake_stack_free(s);
  }
}

static void
test_bad_acl(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  static const uint8_t junk[] = {9, 0, 0, 0, 1};
  know(s, &(struct object){.n = 5, .mode = S_IFREG | 0600, .uid = OWNER, .access = junk, .access_len = sizeof(junk)});
  assert_int_equal(open_as(s, 5, OWNER, O_RDONLY), 0);
  assert_int_equal(open_as(s, 5, 7, O_RDONLY), EACCES);
  fake_stack_free(s);
}

static void
test_nothing_is_believed_after_a_change_of_the_graph(void **state)
{
  struct fake_stack *s = fake_stack_new("features/access-control", NULL, 1);
  know(s, &(struct object){.n = 5, .mode = S_IFREG | 0644, .uid = OWNER});
  assert_int_equal(open_as(s, 5, 7, O_RDONLY), 0);
  s->x->cls->reconfigure_commit(s->x); /* as when it comes back; the mode was changed meanwhile */
  struct object now = {.n = 5, .mode = S_IFREG | 0600, .uid = OWNER};
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill, .arg = &now});
  assert_int_equal(open_as(s, 5, 7, O_RDONLY), EACCES);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_content_of_a_lookup_is_for_who_may_read),
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_mode),
      cmocka_unit_test(test_acl),
      cmocka_unit_test(test_copies_without_an_open_descriptor),
      cmocka_unit_test(test_xattrop),
      cmocka_unit_test(test_looks_by_itself),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_link_asks_the_directory_only),
      cmocka_unit_test(test_create),
      cmocka_unit_test(test_create_opens),
      cmocka_unit_test(test_setattr),
      cmocka_unit_test(test_bad_acl),
      cmocka_unit_test(test_nothing_is_believed_after_a_change_of_the_graph),
      cmocka_unit_test(test_acl_is_asked_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
