/* SPDX-License-Identifier: Apache-2.0
 *
 * What storage/posix answers to virtual names of attributes.
 */
#include "xlators/storage/posix/posix-fixture.h"

#include <errno.h>
#include <fcntl.h>

static void
acls_have_a_text_form(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  const char *text = "user::rw-,user:1000:r--,group::r--,mask::r--,other::---";
  struct gi_fop *f;
  const char *back;

  (void)state;
  f = brick_setxattr(b, &g, "glusterfs.posix.acl", text, (uint32_t)strlen(text) + 1, 0);
  if (f->rsp.ret < 0 && f->rsp.err == EOPNOTSUPP) {
    brick_free(b);
    print_message("no ACLs on this file system: skipped\n");
    skip();
  }
  assert_ok(f);
  assert_non_null(gi_dict_get(f->rsp.xdata, "system.posix_acl_access"));
  f = brick_getxattr(b, &g, "glusterfs.posix.acl");
  assert_ok(f);
  assert_true(gi_dict_get_str(f->rsp.dict, "glusterfs.posix.acl", &back));
  assert_string_equal(back, "u::rw-,u:1000:r--,g::r--,m::r--,o::---");
  assert_ok(brick_setxattr(b, &g, "glusterfs.posix.acl", back, (uint32_t)strlen(back) + 1, 0));
  assert_fails(brick_getxattr(b, &g, "glusterfs.posix.default_acl"), ENODATA);
  f = brick_fop(b, GI_FOP_SETXATTR); /* something else than text */
  set_object(f, &g);
  f->args.dict = gi_dict_new();
  gi_dict_set_iatt(f->args.dict, "glusterfs.posix.acl", &(struct gi_iatt){.size = 1});
  assert_fails(brick_run(b, f), EINVAL);
  assert_fails(brick_setxattr(b, &g, "glusterfs.posix.acl", "u:x", 4, 0), EINVAL);
  assert_fails(brick_setxattr(b, &g, "glusterfs.posix.acl", "", 1, 0), EINVAL);
  assert_fails(brick_setxattr(b, &g, "system.posix_acl_access", "xx", 2, 0), EINVAL);
  brick_free(b);
}

static void
a_gfid_is_found_by_its_beginning(void **state)
{
  static const char prefix[] = GI_GFID_KEY;
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f"), unknown = g;
  char text[GI_UUID_TEXT], name[sizeof(prefix) + GI_UUID_TEXT];
  const char *found;
  struct gi_fop *f;

  (void)state;
  snprintf(name, sizeof(name), "%s%.18s", prefix, gi_gfid_text(&g, text));
  f = brick_getxattr(b, ROOT, name);
  assert_ok(f);
  assert_true(gi_dict_get_str(f->rsp.dict, name, &found));
  assert_string_equal(found, text);
  unknown.b[7] ^= 1; /* a neighbour in the same directory */
  snprintf(name, sizeof(name), "%s%.18s", prefix, gi_gfid_text(&unknown, text));
  assert_fails(brick_getxattr(b, ROOT, name), ENODATA);
  unknown.b[1] ^= 1; /* no such directory */
  snprintf(name, sizeof(name), "%s%.18s", prefix, gi_gfid_text(&unknown, text));
  assert_fails(brick_getxattr(b, ROOT, name), ENODATA);
  snprintf(name, sizeof(name), "%s%.17s", prefix, text);
  assert_fails(brick_getxattr(b, ROOT, name), EINVAL);
  snprintf(name, sizeof(name), "%s../..%.13s", prefix, text);
  assert_fails(brick_getxattr(b, ROOT, name), EINVAL);
  assert_ok(brick_unlink(b, ROOT, "f"));
  snprintf(name, sizeof(name), "%s%.18s", prefix, gi_gfid_text(&g, text));
  assert_fails(brick_getxattr(b, ROOT, name), ENODATA);
  brick_free(b);
}

static void
without_an_acl_its_text_is_the_mode(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_gfid(b), s = brick_gfid(b);
  struct gi_fop *f;
  const char *text;

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "d", &d)); /* 0755 */
  assert_ok(brick_symlink(b, ROOT, "s", "d", &s));
  f = brick_getxattr(b, &d, "glusterfs.posix.acl");
  assert_ok(f);
  assert_true(gi_dict_get_str(f->rsp.dict, "glusterfs.posix.acl", &text));
  assert_string_equal(text, "u::rwx,g::r-x,o::r-x");
  f = brick_getxattr(b, &d, "glusterfs.posix.default_acl");
  assert_ok(f);
  assert_true(gi_dict_get_str(f->rsp.dict, "glusterfs.posix.default_acl", &text));
  assert_string_equal(text, "");
  assert_fails(brick_getxattr(b, &s, "glusterfs.posix.acl"), ENODATA);
  brick_free(b);
}

static void
virtual_names_tell_paths(void **state)
{
  BRICK(b, "option hostname brickhost\noption glusterd-uuid 01234567-89ab-cdef-0123-456789abcdef\n");
  struct gi_gfid d = brick_gfid(b), g;
  char want[3 * PATH_MAX];
  const char *s;
  struct gi_fop *f;

  (void)state;
  g = brick_file(b, ROOT, "f");
  assert_ok(brick_mkdir(b, ROOT, "d", &d));
  assert_ok(brick_link(b, &g, &d, "Hard.Link"));
  f = brick_getxattr(b, &d, "trusted.glusterfs.pathinfo");
  assert_true(gi_dict_get_str(f->rsp.dict, "trusted.glusterfs.pathinfo", &s));
  snprintf(want, sizeof(want), "<POSIX(%s):brickhost:%s/d>", b->dir, b->dir);
  assert_string_equal(s, want);
  f = brick_getxattr(b, ROOT, "glusterfs.pathinfo");
  assert_true(gi_dict_get_str(f->rsp.dict, "glusterfs.pathinfo", &s));
  snprintf(want, sizeof(want), "<POSIX(%s):brickhost:%s>", b->dir, b->dir);
  assert_string_equal(s, want);
  f = brick_getxattr(b, &g, "glusterfs.gfidtopath");
  assert_int_equal(f->rsp.ret, 15);
  s = (const char *)gi_dict_at(f->rsp.dict, 0)->data;
  assert_true(memcmp(s, "/f:/d/Hard.Link", 15) == 0 || memcmp(s, "/d/Hard.Link:/f", 15) == 0);
  f = brick_getxattr(b, &d, "glusterfs.gfidtopath");
  assert_int_equal(f->rsp.ret, 2);
  assert_memory_equal(gi_dict_at(f->rsp.dict, 0)->data, "/d", 2);
  f = brick_getxattr(b, &d, "glusterfs.get_real_filename:hard.link");
  assert_ok(f);
  assert_memory_equal(gi_dict_at(f->rsp.dict, 0)->data, "Hard.Link", 10);
  assert_int_equal(f->priority, GI_PRIO_LOW); /* it may read a large directory */
  assert_fails(brick_getxattr(b, &d, "glusterfs.get_real_filename:soft.link"), ENODATA);
  assert_fails(brick_getxattr(b, &g, "glusterfs.ancestry.path"), ENODATA);
  f = brick_getxattr(b, &g, "trusted.glusterfs.node-uuid");
  assert_true(gi_dict_get_str(f->rsp.dict, "trusted.glusterfs.node-uuid", &s));
  assert_string_equal(s, "01234567-89ab-cdef-0123-456789abcdef");
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(acls_have_a_text_form),
      cmocka_unit_test(without_an_acl_its_text_is_the_mode),
      cmocka_unit_test(virtual_names_tell_paths),
      cmocka_unit_test(a_gfid_is_found_by_its_beginning),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
