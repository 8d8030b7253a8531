/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: extended attributes, which are answered here, hidden, or of those
 * who may ask.
 */
#include "xlators/mount/fuse/fuse-rig.h"

static void
fill_xattrs(struct gi_fop *fop, void *arg)
{
  struct gi_dict *d = fop->rsp.dict = gi_dict_new();

  gi_dict_set_bin(d, "user.x", "12345", 5);
  gi_dict_set_bin(d, "trusted.gfid", "0123456789abcdef", 16);
  gi_dict_set_bin(d, "trusted.afr.dirty", "000000000000", 12);
  gi_dict_set_bin(d, "trusted.mine", "v", 1);
  gi_dict_set_bin(d, "glusterfs.open-fd-count", "1", 1);
  gi_dict_set_str(d, "trusted.glusterfs.pathinfo", "(somewhere)");
}

static void
test_getxattr(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  ssize_t head = sizeof(struct fuse_out_header);

  fake_script_always(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = fill_xattrs});
  assert_int_equal(getxattr(r, id, "user.x", 0), 0);
  assert_int_equal(((const struct fuse_getxattr_out *)body(r))->size, 5);
  assert_int_equal(getxattr(r, id, "user.x", 4), ERANGE);
  assert_int_equal(getxattr(r, id, "user.x", 100), 0);
  assert_memory_equal(body(r), "12345", 5);
  assert_int_equal(getxattr(r, id, "user.none", 100), ENODATA);
  assert_int_equal(getxattr(r, id, "trusted.glusterfs.pathinfo", 100), 0);
  assert_int_equal(r->out_len - head, 11);
  fake_forget_seen(r->s);
  assert_int_equal(getxattr(r, id, "glusterfs.gfid", 100), 0);
  assert_int_equal(r->out_len - head, 16);
  assert_int_equal(getxattr(r, id, "glusterfs.gfid.string", 100), 0);
  assert_memory_equal(body(r), "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa", 36);
  assert_int_equal(getxattr(r, id, "trusted.gfid", 100), ENODATA);
  assert_int_equal(getxattr(r, id, "trusted.afr.v-client-0", 100), ENODATA);
  assert_int_equal(getxattr(r, id, "system.posix_acl_access", 100), EOPNOTSUPP);
  assert_int_equal(getxattr(r, id, "security.selinux", 100), ENODATA);
  assert_int_equal(r->s->nseen, 0);
  rig_free(r);
}

static void
test_capability_is_remembered(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct {
    uint32_t size, flags;
    char text[22];
  } set = {.size = 2, .text = "security.capability\0v"};
  struct answer later = {0xaa, S_IFREG | 0644, 1000, 3000};

  fake_script_always(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.ret = -1, .err = ENODATA});
  fake_forget_seen(r->s);
  for (int i = 0; i < 5; i++)
    assert_int_equal(getxattr(r, id, "security.capability", 0), ENODATA);
  assert_int_equal(r->s->nseen, 1);

  /* Not any longer after we set one … */
  assert_int_equal(reply(r, request(r, FUSE_SETXATTR, id, &set, 8 + 20 + 2)), 0);
  fake_forget_seen(r->s);
  assert_int_equal(getxattr(r, id, "security.capability", 0), ENODATA);
  assert_int_equal(r->s->nseen, 1);
  fake_script_clear(r->s);

  /* … or after somebody else changed the file. */
  assert_int_equal(getattr(r, id, &file_a), 0);
  assert_int_equal(getattr(r, id, &later), 0);
  fake_forget_seen(r->s);
  getxattr(r, id, "security.capability", 0);
  assert_int_equal(r->s->nseen, 1);
  rig_free(r);
}

static void
test_listxattr(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_getxattr_in in = {.size = 1000};

  fake_script_always(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = fill_xattrs});
  assert_int_equal(reply(r, request(r, FUSE_LISTXATTR, id, &in, sizeof(in))), 0);
  assert_int_equal(r->out_len - (ssize_t)sizeof(struct fuse_out_header), sizeof("user.x") + sizeof("trusted.mine"));
  r->uid = 1000;
  assert_int_equal(reply(r, request(r, FUSE_LISTXATTR, id, &in, sizeof(in))), 0);
  assert_int_equal(r->out_len - (ssize_t)sizeof(struct fuse_out_header), sizeof("user.x"));
  assert_memory_equal(body(r), "user.x", 7);
  rig_free(r);
}

static void
test_setxattr_refusals(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint8_t head[FUSE_COMPAT_SETXATTR_IN_SIZE] = {0};

  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request_names(r, FUSE_SETXATTR, id, head, 8, "trusted.gfid", NULL)), EPERM);
  assert_int_equal(reply(r, request_names(r, FUSE_SETXATTR, id, head, 8, "glusterfs.gfid", NULL)), EPERM);
  assert_int_equal(reply(r, request_names(r, FUSE_SETXATTR, id, head, 8, "trusted.glusterfs.volume-id", NULL)), EPERM);
  assert_int_equal(reply(r, request_names(r, FUSE_SETXATTR, id, head, 8, "system.posix_acl_access", NULL)), EOPNOTSUPP);
  assert_int_equal(reply(r, request_names(r, FUSE_REMOVEXATTR, id, NULL, 0, "trusted.afr.dirty", NULL)), EPERM);
  assert_int_equal(r->s->nseen, 0);
  assert_int_equal(reply(r, request_names(r, FUSE_SETXATTR, id, head, 8, "inode-invalidate", NULL)), 0);
  wait_notifications(r);
  assert_int_equal(r->last_code, FUSE_NOTIFY_INVAL_INODE);
  assert_int_equal(r->last_id, id);
  rig_free(r);
}

static int
setxattr_as(struct rig *r, uint64_t id, uint32_t uid, const char *name)
{
  uint8_t head[FUSE_COMPAT_SETXATTR_IN_SIZE] = {0};

  r->uid = uid;
  return reply(r, request_names(r, FUSE_SETXATTR, id, head, sizeof(head), name, NULL));
}

static void
test_xattr_who_may_ask(void **state)
{
  static const char *const of_root[] = {"glusterfs.clrlk.tposix.kall",
                                        "glusterfs.intrlk.tposix.kblocked",
                                        "glusterfs.heal-sbrain",
                                        "replica.split-brain-choice-timeout",
                                        "inode-invalidate",
                                        "glusterish.regions"};
  static const char *const of_owner[] = {"replica.split-brain-choice", "replica.split-brain-heal-finalize"};
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);

  fake_forget_seen(r->s);
  for (size_t i = 0; i < GI_ARRAY_LEN(of_root); i++) {
    assert_int_equal(setxattr_as(r, id, 7, of_root[i]), EPERM); /* 7 owns the file */
    assert_int_equal(getxattr(r, id, of_root[i], 0), EPERM);
    assert_int_equal(getxattr(r, id, of_root[i], 65536), EPERM);
    assert_int_equal(reply(r, request_names(r, FUSE_REMOVEXATTR, id, NULL, 0, of_root[i], NULL)), EPERM);
  }
  for (size_t i = 0; i < GI_ARRAY_LEN(of_owner); i++)
    assert_int_equal(setxattr_as(r, id, 9, of_owner[i]), EPERM);
  assert_int_equal(r->s->nseen, 0);
  for (size_t i = 0; i < GI_ARRAY_LEN(of_owner); i++) {
    assert_int_equal(setxattr_as(r, id, 7, of_owner[i]), 0);
    assert_int_equal(setxattr_as(r, id, 0, of_owner[i]), 0);
  }
  assert_int_equal(setxattr_as(r, id, 0, "replica.split-brain-choice-timeout"), 0);
  assert_int_equal(r->s->nseen, 5);
  rig_free(r);
}

static void
fill_cleared(struct gi_fop *fop, void *arg)
{
  gi_dict_set_str(fop->rsp.dict = gi_dict_new(), "glusterfs.clrlk.tposix.kall", "posix granted locks=1");
}

/* Reading it does something: only what can take any answer reaches the bricks. */
static void
test_xattr_that_acts(void **state)
{
  static const char name[] = "glusterfs.clrlk.tposix.kall";
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);

  fake_script_always(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = fill_cleared});
  fake_forget_seen(r->s);
  assert_int_equal(getxattr(r, id, name, 0), 0);
  assert_int_equal(((const struct fuse_getxattr_out *)body(r))->size, 65536);
  assert_int_equal(getxattr(r, id, name, 128), ERANGE);
  assert_int_equal(r->s->nseen, 0);
  assert_int_equal(getxattr(r, id, name, 65536), 0);
  assert_int_equal(r->s->nseen, 1);
  assert_memory_equal(body(r), "posix granted locks=1", 21);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_getxattr),          cmocka_unit_test(test_capability_is_remembered),
      cmocka_unit_test(test_listxattr),         cmocka_unit_test(test_setxattr_refusals),
      cmocka_unit_test(test_xattr_who_may_ask), cmocka_unit_test(test_xattr_that_acts),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
