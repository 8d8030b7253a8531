/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of storage/posix: xattrs and counters.
 */
#include "xlators/storage/posix/posix-fixture.h"

#include "libglusterish/extension.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

static void
assert_value(struct gi_fop *f, const char *name, const void *want, uint32_t len)
{
  const void *data;
  uint32_t n;

  assert_true(gi_dict_get_bin(f->rsp.dict, name, &data, &n));
  assert_int_equal(n, len);
  assert_memory_equal(data, want, len);
}

static struct gi_fop *
removexattr_of(struct brick *b, const struct gi_gfid *g, const char *name)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_REMOVEXATTR);

  set_object(f, g);
  f->args.name = name;
  return brick_run(b, f);
}

/* ---- set, get, list, remove ---- */

static void
attributes_are_set_read_and_removed(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f"), unknown = {{3}};
  struct gi_fop *f = brick_setxattr(b, &g, "user.a", "1", 1, 0);
  const struct gi_pair *pair;
  char path[PATH_MAX];

  (void)state;
  assert_ok(f);
  pair = gi_dict_get(f->rsp.xdata, "virt-gf-poststat");
  assert_int_equal(pair->type, GI_VALUE_IATT);
  assert_true(gi_gfid_equal(&pair->iatt->gfid, &g));
  assert_non_null(gi_dict_get(f->rsp.xdata, "virt-gf-prestat"));
  assert_non_null(gi_dict_get(f->rsp.xdata, "dht-get-iatt-in-xattr"));
  brick_path(b, path, "f");
  assert_xattr(path, "user.a", "1", 1);
  assert_fails(brick_setxattr(b, &g, "user.a", "2", 1, XATTR_CREATE), EEXIST);
  assert_fails(brick_setxattr(b, &g, "user.b", "2", 1, XATTR_REPLACE), ENODATA);
  f = brick_getxattr(b, &g, "user.a");
  assert_int_equal(f->rsp.ret, 1);
  assert_value(f, "user.a", "1", 1);
  assert_fails(brick_getxattr(b, &g, "user.none"), ENODATA);
  assert_fails(brick_getxattr(b, &unknown, "user.a"), ESTALE);
  assert_fails(brick_getxattr(b, &g, "glusterfs.gfid.string"), EOPNOTSUPP);
  f = brick_getxattr(b, &g, NULL);
  assert_ok(f);
  assert_int_equal(gi_dict_count(f->rsp.dict), 1); /* nothing of the machinery */
  assert_value(f, "user.a", "1", 1);
  assert_ok(removexattr_of(b, &g, "user.a"));
  assert_fails(removexattr_of(b, &g, "user.a"), ENODATA);
  brick_free(b);
}

static void
values_are_stored_by_their_type(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  struct gi_fop *f = brick_fop(b, GI_FOP_SETXATTR);
  char path[PATH_MAX];

  (void)state;
  set_object(f, &g);
  f->args.dict = gi_dict_new();
  gi_dict_set_str(f->args.dict, "user.s", "text");
  gi_dict_set_int(f->args.dict, "user.i", -42);
  gi_dict_set_bin(f->args.dict, "user.p", "\0\1", 2);
  assert_ok(brick_run(b, f));
  brick_path(b, path, "f");
  assert_xattr(path, "user.s", "text", 5);
  assert_xattr(path, "user.i", "-42", 4);
  assert_xattr(path, "user.p", "\0\1", 2);
  brick_free(b);
}

static void
values_of_other_types_are_no_attributes(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  static const char *const names[] = {"user.a", "glusterfs.posix.acl", "glusterfs.posix.default_acl",
                                      "system.posix_acl_access"};
  struct gi_iatt st = {.size = 5};
  const double huge = 1.7e308;
  char path[PATH_MAX], text[400];
  struct gi_fop *f;

  (void)state;
  brick_path(b, path, "f");
  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++) {
    f = brick_fop(b, GI_FOP_SETXATTR);
    set_object(f, &g);
    f->args.dict = gi_dict_new();
    gi_dict_set_iatt(f->args.dict, names[i], &st);
    assert_fails(brick_run(b, f), EINVAL);
  }
  f = brick_fop(b, GI_FOP_XATTROP);
  set_object(f, &g);
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "trusted.afr.dirty", "\0\0\0\1", 4);
  gi_dict_set_raw(f->args.dict, "trusted.afr.v-client-1", 22, GI_VALUE_DOUBLE, &huge, 8);
  assert_fails(brick_run(b, f), EINVAL);
  assert_xattr(path, "trusted.afr.dirty", "\0\0\0\0", 4);
  f = brick_fop(b, GI_FOP_SETXATTR);
  set_object(f, &g);
  f->args.dict = gi_dict_new();
  gi_dict_set_raw(f->args.dict, "user.d", 6, GI_VALUE_DOUBLE, &huge, 8);
  assert_ok(brick_run(b, f));
  assert_xattr(path, "user.d", text, (size_t)snprintf(text, sizeof(text), "%f", huge) + 1);
  brick_free(b);
}

static void
protected_names_stay_as_they_are(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f"), evil = {{6, 6, 6}};
  char path[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  brick_path(b, path, "f");
  assert_ok(brick_setxattr(b, &g, "trusted.gfid", evil.b, 16, 0)); /* silently not done */
  assert_xattr(path, "trusted.gfid", g.b, 16);
  assert_ok(brick_setxattr(b, ROOT, "trusted.glusterfs.volume-id", evil.b, 16, 0));
  assert_fails(brick_setxattr(b, &g, "trusted.gfid2path.0123456789abcdef", "x", 1, 0), ENOTSUP);
  assert_fails(brick_setxattr(b, &g, "trusted.glusterfs.pathinfo", "x", 1, 0), EACCES);
  assert_fails(brick_setxattr(b, &g, "nonsense", "x", 1, 0), EOPNOTSUPP);
  assert_fails(removexattr_of(b, &g, "trusted.gfid"), EPERM);
  assert_fails(removexattr_of(b, ROOT, "trusted.glusterfs.volume-id"), EPERM);
  assert_fails(removexattr_of(b, &g, "trusted.gfid2path.0123456789abcdef"), ENODATA);
  assert_fails(brick_getxattr(b, &g, "trusted.glusterfs.mdata"), ENODATA);
  assert_fails(brick_getxattr(b, &g, "trusted.gfid2path.0123456789abcdef"), ENODATA);
  f = brick_getxattr(b, &g, "trusted.gfid");
  assert_ok(f);
  assert_int_equal(gi_dict_count(f->rsp.dict), 0);
  f = brick_fop(b, GI_FOP_GETXATTR);
  set_object(f, &g);
  f->caller.pid = -6;
  f->args.name = "trusted.glusterfs.mdata";
  assert_int_equal(brick_run(b, f)->rsp.ret, 57);
  for (unsigned i = 1; i < 9; i++)
    assert_int_equal(gi_dict_at(f->rsp.dict, 0)->data[i], 0); /* this brick's flags */
  assert_fails(brick_xattrop(b, &g, 0, "trusted.gfid", evil.b, 16), EPERM);
  brick_free(b);
}

static void
many_are_removed_at_once(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  struct gi_fop *f;
  char path[PATH_MAX];

  (void)state;
  assert_ok(brick_setxattr(b, &g, "user.a", "1", 1, 0));
  assert_ok(brick_setxattr(b, &g, "user.b", "1", 1, 0));
  f = brick_fop(b, GI_FOP_REMOVEXATTR);
  set_object(f, &g);
  f->args.name = "";
  gi_dict_set_bin(gi_fop_xdata(f), "user.a", "", 0);
  gi_dict_set_bin(gi_fop_xdata(f), "user.missing", "", 0);
  gi_dict_set_bin(gi_fop_xdata(f), "trusted.gfid", "", 0);
  assert_fails(brick_run(b, f), EPERM);
  brick_path(b, path, "f");
  assert_xattr(path, "user.a", "1", 1);
  f = brick_fop(b, GI_FOP_REMOVEXATTR);
  set_object(f, &g);
  gi_dict_set_bin(gi_fop_xdata(f), "user.a", "", 0);
  gi_dict_set_bin(gi_fop_xdata(f), "user.missing", "", 0);
  assert_ok(brick_run(b, f));
  assert_no_xattr(path, "user.a");
  f = brick_fop(b, GI_FOP_REMOVEXATTR); /* a sink with nothing to remove */
  set_object(f, &g);
  f->args.name = "";
  assert_ok(brick_run(b, f));
  assert_xattr(path, "user.b", "1", 1);
  assert_xattr(path, "user.b", "1", 1);
  brick_free(b);
}

/* ---- counters ---- */

static void
xattrop_adds_and_wraps(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  const uint8_t zero[12] = {0}, one[12] = {0, 0, 0, 1}, minus[12] = {0xff, 0xff, 0xff, 0xff},
                mixed[12] = {0, 0, 0, 1, 0, 0, 0, 2, 0x7f};
  char path[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  brick_path(b, path, "f");
  f = brick_xattrop(b, &g, GI_XATTROP_ADD32, "trusted.afr.dirty", zero, 12);
  assert_ok(f);
  assert_value(f, "trusted.afr.dirty", zero, 12);
  assert_no_xattr(path, "trusted.afr.dirty"); /* a zero add only reads */
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD32, "trusted.afr.dirty", one, 12), "trusted.afr.dirty", one, 12);
  assert_xattr(path, "trusted.afr.dirty", one, 12);
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD32, "trusted.afr.dirty", minus, 12), "trusted.afr.dirty", zero, 12);
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD32, "trusted.afr.dirty", minus, 12), "trusted.afr.dirty", minus, 12);
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD32, "trusted.afr.v", mixed, 12), "trusted.afr.v", mixed, 12);
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD32, "trusted.afr.v", zero, 12), "trusted.afr.v", mixed, 12);
  brick_free(b);
}

/* What it is for is tested on a simulated disk (simulation/fault/lost_test). */
static void
xattrop_syncs_what_can_be_synced(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid gfid[4] = {gi_gfid_root, brick_file(b, ROOT, "f"), brick_gfid(b), brick_gfid(b)};
  const uint8_t one[12] = {0, 0, 0, 1};

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "d", &gfid[2]));
  assert_ok(brick_symlink(b, ROOT, "s", "nowhere", &gfid[3]));
  for (size_t i = 0; i < GI_ARRAY_LEN(gfid); i++) {
    struct gi_fop *f = brick_fop(b, GI_FOP_XATTROP);

    set_object(f, &gfid[i]);
    f->args.flags = GI_XATTROP_ADD32;
    f->args.dict = gi_dict_new();
    gi_dict_set_bin(f->args.dict, "trusted.afr.dirty", one, sizeof(one));
    gi_dict_set_int(gi_fop_xdata(f), GI_DURABLE_KEY, 1);
    assert_value(brick_run(b, f), "trusted.afr.dirty", one, sizeof(one));
  }
  brick_free(b);
}

static void
xattrop_leaves_alone_what_has_another_length(void **state)
{
  static const uint8_t odd[13] = {1}, zero[12];
  static const uint32_t lengths[] = {0, 1, 11, 13};
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  char path[PATH_MAX];

  (void)state;
  brick_path(b, path, "f");
  for (size_t i = 0; i < GI_ARRAY_LEN(lengths); i++) {
    assert_int_equal(setxattr(path, "trusted.afr.v", odd, lengths[i], 0), 0);
    assert_fails(brick_xattrop(b, &g, GI_XATTROP_ADD32, "trusted.afr.v", zero, 12), EIO);
    assert_fails(brick_xattrop(b, &g, GI_XATTROP_ADD32, "trusted.afr.v", odd, 12), EIO);
    assert_xattr(path, "trusted.afr.v", odd, lengths[i]);
  }
  brick_free(b);
}

static void
xattrop_does_all_or_nothing(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  const uint8_t one[12] = {0, 0, 0, 1}, two[12] = {0, 0, 0, 2}, zero[12] = {0};
  char path[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  brick_path(b, path, "f");
  assert_int_equal(lsetxattr(path, "trusted.afr.v-client-1", one, 12, 0), 0);
  assert_int_equal(lsetxattr(path, "trusted.afr.v-client-2", "garbage", 7, 0), 0);
  f = brick_fop(b, GI_FOP_XATTROP);
  set_object(f, &g);
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "trusted.afr.dirty", one, 12);
  gi_dict_set_bin(f->args.dict, "trusted.afr.v-client-0", zero, 12);
  gi_dict_set_bin(f->args.dict, "trusted.afr.v-client-1", two, 12);
  gi_dict_set_bin(f->args.dict, "trusted.afr.v-client-2", one, 12);
  assert_fails(brick_run(b, f), EIO);
  assert_xattr(path, "trusted.afr.dirty", zero, 12);
  assert_no_xattr(path, "trusted.afr.v-client-0");
  assert_xattr(path, "trusted.afr.v-client-1", one, 12);
  brick_free(b);
}

static void
xattrop_knows_its_other_operations(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  const uint8_t max64[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, one64[8] = {[7] = 1}, zero64[8] = {0};
  const uint8_t def[16] = {[7] = 2, [15] = 40}, forty_two[8] = {[7] = 42}, forty_four[8] = {[7] = 44};
  const uint8_t def32[8] = {0, 0, 0, 1, 0, 0, 0, 9}, ten[4] = {0, 0, 0, 10};
  struct gi_fop *f;

  (void)state;
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD64, "trusted.c", max64, 8), "trusted.c", max64, 8);
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD64, "trusted.c", one64, 8), "trusted.c", zero64, 8);
  f = brick_xattrop(b, &g, GI_XATTROP_GET_AND_SET, "trusted.s", one64, 8);
  assert_ok(f);
  assert_int_equal(gi_dict_count(f->rsp.dict), 0);
  assert_value(brick_xattrop(b, &g, GI_XATTROP_GET_AND_SET, "trusted.s", zero64, 8), "trusted.s", one64, 8);
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD64_DEFAULT, "trusted.d", def, 16), "trusted.d", forty_two, 8);
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD64_DEFAULT, "trusted.d", def, 16), "trusted.d", forty_four, 8);
  assert_value(brick_xattrop(b, &g, GI_XATTROP_ADD32_DEFAULT, "trusted.e", def32, 8), "trusted.e", ten, 4);
  assert_fails(brick_xattrop(b, &g, 2, "trusted.c", one64, 8), EINVAL);
  assert_fails(brick_xattrop(b, &g, 3, "trusted.c", one64, 8), EINVAL);
  assert_fails(brick_xattrop(b, &g, 7, "trusted.c", one64, 8), EINVAL);
  assert_fails(brick_xattrop(b, &g, 0, "trusted.c", one64, 3), EINVAL);
  assert_fails(brick_xattrop(b, &g, 0, "trusted.c", one64, 0), EINVAL);
  brick_free(b);
}

/* A brick that lost what was added, or has more, does not stay apart from the others. */
static void
a_sum_that_is_told_counts(void **state)
{
  static const struct {
    uint8_t had, add, sum, is;
  } cases[] = {{10, 5, 15, 15},  {8, 5, 15, 15},   {12, 5, 15, 15}, {20, 5, 15, 20},
               {10, 0xfe, 8, 8}, {20, 0xfe, 8, 8}, {10, 0, 8, 10}};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    BRICK(b, NULL);
    struct gi_gfid g = brick_file(b, ROOT, "f");
    const uint8_t had[16] = {[7] = cases[i].had, [15] = 3}, want[16] = {[7] = cases[i].is, [15] = 4};
    uint8_t add[16] = {[7] = cases[i].add, [15] = 1};
    struct gi_fop *f = brick_fop(b, GI_FOP_XATTROP);

    if (cases[i].add & 0x80)
      memset(add, 0xff, 7);
    assert_ok(brick_xattrop(b, &g, GI_XATTROP_ADD64, "trusted.c", had, 16));
    set_object(f, &g);
    f->args.flags = GI_XATTROP_ADD64;
    f->args.dict = gi_dict_new();
    gi_dict_set_bin(f->args.dict, "trusted.c", add, 16);
    gi_dict_set_uint(gi_fop_xdata(f), GI_SUM_KEY, cases[i].sum);
    assert_value(brick_run(b, f), "trusted.c", want, 16);
    brick_free(b);
  }
}

static void
xattrops_on_one_inode_do_not_lose_each_other(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  const uint8_t one[12] = {0, 0, 0, 1}, all[12] = {0, 0, 0, 200};
  struct gi_fop *f[200];
  char path[PATH_MAX];

  (void)state;
  for (int i = 0; i < 200; i++) {
    f[i] = brick_fop(b, GI_FOP_XATTROP);
    set_object(f[i], &g);
    f[i]->args.dict = gi_dict_new();
    gi_dict_set_bin(f[i]->args.dict, "trusted.afr.x", one, 12);
  }
  for (int i = 0; i < 200; i++)
    brick_submit(b, f[i]);
  for (int i = 0; i < 200; i++) {
    brick_wait(b, f[i]);
    assert_ok(f[i]);
  }
  brick_path(b, path, "f");
  assert_xattr(path, "trusted.afr.x", all, 12);
  brick_free(b);
}

/* A record that is too long for a peer would cost the client its connection. */
static void
a_list_of_many_large_attributes_is_bounded(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  static const char value[40000];
  char path[PATH_MAX], name[32];
  struct gi_fop *f;

  (void)state;
  brick_path(b, path, "f");
  for (int large = 0; large < 2; large++) {
    for (int i = 0; i < 40; i++) {
      snprintf(name, sizeof(name), "user.%d", i);
      if (setxattr(path, name, value, large ? 40000 : 10000, 0) < 0) {
        print_message("not so many attributes fit here: skipped\n");
        brick_free(b);
        skip();
      }
    }
    for (int pid = 0; pid >= -6; pid -= 6) {
      uint32_t want = large && pid == 0 ? 0 : large ? 40000 : 10000;
      const void *data;
      uint32_t len;

      f = brick_fop(b, GI_FOP_GETXATTR);
      set_object(f, &g);
      f->caller.pid = pid;
      assert_ok(brick_run(b, f));
      assert_true(gi_dict_get_bin(f->rsp.dict, "user.39", &data, &len));
      assert_int_equal(len, want);
      f = brick_fop(b, GI_FOP_LOOKUP);
      set_object(f, &g);
      f->caller.pid = pid;
      gi_dict_set_int(gi_fop_xdata(f), "list-xattr", 1);
      assert_ok(brick_run(b, f));
      for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "user.%d", i);
        assert_true(gi_dict_get_bin(f->rsp.xdata, name, &data, &len));
        assert_int_equal(len, want);
      }
    }
  }
  brick_free(b);
}

/* ext4 has 4 KiB for all attributes of a file. */
static void
a_file_full_of_attributes_is_still_linked_moved_and_counted(void **state)
{
  char path[PATH_MAX], handle[PATH_MAX], name[64], value[4096] = "";
  static const uint8_t one[12] = {0, 0, 0, 1};
  struct gi_fop *f;

  (void)state;
  brick_on_disk = true;
  BRICK(b, NULL);
  brick_on_disk = false;
  struct gi_gfid g = brick_file(b, ROOT, "f"), h = brick_file(b, ROOT, "h");

  brick_path(b, path, "f");
  brick_handle(b, handle, &g);
  if (setxattr(path, "user.probe", value, sizeof(value), 0) == 0) {
    print_message("any number of attributes fits here: skipped\n");
    brick_free(b);
    skip();
  }
  for (int i = 2; i <= 100; i++) {
    snprintf(name, sizeof(name), "a name of forty-two characters, number %03d", i);
    assert_ok(brick_link(b, &g, ROOT, name));
  }
  assert_fails(brick_link(b, &g, ROOT, "one more"), EMLINK);
  assert_ok(brick_xattrop(b, &g, 0, "trusted.afr.dirty", one, 12));
  assert_ok(brick_rename(b, ROOT, name, ROOT, "another name"));

  for (size_t len = 4000; len > 0; len /= 2) { /* as full as it gets */
    snprintf(name, sizeof(name), "user.%zu", len);
    f = brick_setxattr(b, &h, name, value, (uint32_t)len, 0);
    assert_true(f->rsp.ret >= 0 || f->rsp.err == ENOSPC);
  }
  assert_ok(brick_xattrop(b, &h, 0, "trusted.afr.dirty", one, 12));
  assert_ok(brick_xattrop(b, &h, 0, "trusted.afr.v-client-0", one, 12));
  brick_path(b, path, "h");
  assert_xattr(path, "trusted.afr.dirty", one, 12);
  assert_ok(brick_rename(b, ROOT, "h", ROOT, "i"));
  assert_ok(brick_link(b, &h, ROOT, "j"));
  brick_free(b);
}

static void
attributes_change_in_order(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f"), s = brick_gfid(b);
  struct gi_fop *f = brick_fop(b, GI_FOP_SETATTR);
  char path[PATH_MAX];

  (void)state;
  set_object(f, &g);
  f->args.valid = GI_SET_MODE | GI_SET_UID | GI_SET_GID;
  f->args.iatt.mode = S_IFREG | 04711;
  f->args.iatt.uid = 10;
  f->args.iatt.gid = 11;
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.pre.mode, S_IFREG | 0640);
  assert_int_equal(f->rsp.post.mode, S_IFREG | 04711);
  assert_int_equal(f->rsp.post.uid, 10);
  assert_int_equal(f->rsp.post.gid, 11);
  f = brick_fop(b, GI_FOP_SETATTR); /* nothing chosen: a touch of ctime */
  set_object(f, &g);
  set_stamp(f, 9000);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.post.ctime.sec, 9000);
  assert_ok(brick_symlink(b, ROOT, "s", "f", &s));
  f = brick_fop(b, GI_FOP_SETATTR); /* the mode of a symlink is not changed, nor that of its target */
  set_object(f, &s);
  f->args.valid = GI_SET_MODE;
  f->args.iatt.mode = 0;
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.post.mode, S_IFLNK | 0777);
  brick_path(b, path, "f");
  assert_int_equal(stat_of(path).st_mode, S_IFREG | 04711);
  brick_free(b);
}

static void
a_note_of_a_name_that_leads_elsewhere_is_not_believed(void **state)
{
  static const char notes[][60] = {"00000000-0000-0000-0000-000000000001/other", "00000000-0000-0000-0000-000000000001/none",
                                   "00000000-0000-0000-0000-0000000000aa/f"};
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  char path[PATH_MAX], key[64];
  struct gi_fop *f;

  (void)state;
  brick_file(b, ROOT, "other");
  brick_path(b, path, "f");
  for (size_t i = 0; i < GI_ARRAY_LEN(notes); i++) {
    snprintf(key, sizeof(key), "trusted.gfid2path.%016zx", i);
    assert_int_equal(setxattr(path, key, notes[i], strlen(notes[i]), 0), 0);
  }
  f = brick_getxattr(b, &g, "glusterfs.gfidtopath");
  assert_ok(f);
  assert_value(f, "glusterfs.gfidtopath", "/f", 2);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attributes_are_set_read_and_removed),
      cmocka_unit_test(values_are_stored_by_their_type),
      cmocka_unit_test(values_of_other_types_are_no_attributes),
      cmocka_unit_test(protected_names_stay_as_they_are),
      cmocka_unit_test(many_are_removed_at_once),
      cmocka_unit_test(xattrop_adds_and_wraps),
      cmocka_unit_test(xattrop_syncs_what_can_be_synced),
      cmocka_unit_test(xattrop_leaves_alone_what_has_another_length),
      cmocka_unit_test(xattrop_does_all_or_nothing),
      cmocka_unit_test(xattrop_knows_its_other_operations),
      cmocka_unit_test(a_sum_that_is_told_counts),
      cmocka_unit_test(xattrops_on_one_inode_do_not_lose_each_other),
      cmocka_unit_test(a_list_of_many_large_attributes_is_bounded),
      cmocka_unit_test(a_file_full_of_attributes_is_still_linked_moved_and_counted),
      cmocka_unit_test(attributes_change_in_order),
      cmocka_unit_test(a_note_of_a_name_that_leads_elsewhere_is_not_believed),
  };

  return BRICK_RUN_ENGINES(tests);
}
