/* SPDX-License-Identifier: Apache-2.0
 *
 * LOOKUP of storage/posix: what it finds, misses, repairs and answers.
 */
#include "xlators/storage/posix/posix-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void
lookup_finds_by_name_and_by_gfid(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d"), g = brick_file(b, &d, "f");
  struct gi_fop *f = brick_lookup(b, &d, "f");

  (void)state;
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &g));
  assert_int_equal(f->rsp.stat.mode, S_IFREG | 0640);
  assert_true(gi_gfid_equal(&f->rsp.post.gfid, &d)); /* the parent */
  f = brick_nameless(b, &g);
  assert_ok(f);
  assert_int_equal(f->rsp.stat.nlink, 1);
  assert_false(gi_iatt_valid(&f->rsp.post));
  f = brick_nameless(b, ROOT);
  assert_ok(f);
  assert_int_equal(f->rsp.stat.ino, 1);
  f = brick_lookup(b, &d, ".");
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &d));
  f = brick_lookup(b, &d, "..");
  assert_ok(f);
  assert_true(gi_gfid_is_root(&f->rsp.stat.gfid));
  f = brick_lookup(b, ROOT, "..");
  assert_ok(f);
  assert_true(gi_gfid_is_root(&f->rsp.stat.gfid));
  brick_free(b);
}

static void
lookup_misses_with_the_right_error(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d"), g = brick_file(b, &d, "f"), none = {{0}}, unknown = {{9, 9}};
  struct gi_fop *f = brick_lookup(b, &d, "nothing");

  (void)state;
  assert_fails(f, ENOENT);
  assert_true(gi_gfid_equal(&f->rsp.post.gfid, &d)); /* a miss still shows the parent */
  assert_fails(brick_lookup(b, &unknown, "f"), ESTALE);
  assert_fails(brick_nameless(b, &unknown), ENOENT);
  assert_fails(brick_lookup(b, &g, "f"), EPERM); /* the parent is a file */
  assert_fails(brick_lookup(b, ROOT, ".glusterfs"), EPERM);
  assert_fails(brick_nameless(b, &none), EINVAL);
  brick_free(b);
}

static void
lookup_repairs_a_missing_gfid(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  char path[PATH_MAX], handle[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  brick_path(b, path, "foreign");
  close(open(path, O_CREAT | O_WRONLY, 0600));
  assert_fails(brick_lookup(b, ROOT, "foreign"), ENODATA);
  f = brick_fop(b, GI_FOP_LOOKUP);
  set_entry(f, ROOT, "foreign");
  gi_dict_set_int(gi_fop_xdata(f), "gfidless-lookup", 1);
  assert_ok(brick_run(b, f));
  assert_true(gi_gfid_is_none(&f->rsp.stat.gfid));

  for (int round = 0; round < 2; round++) { /* too young at first: somebody may just be creating it */
    f = brick_fop(b, GI_FOP_LOOKUP);
    set_entry(f, ROOT, "foreign");
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
    brick_run(b, f);
    if (round == 0) {
      assert_fails(f, ENOENT);
      fake_wait(b->s, 1100 * GI_NSEC_PER_MSEC);
    }
  }
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &g));
  brick_handle(b, handle, &g);
  assert_true(same_file(path, handle));
  assert_xattr(path, "trusted.gfid", g.b, 16);
  brick_free(b);
}

/* As a crash between the steps of a create or rename leaves them. */
static void
lookup_repairs_lost_handles(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f"), d = brick_dir(b, ROOT, "d"), e = brick_dir(b, ROOT, "e");
  char handle[PATH_MAX], path[PATH_MAX];
  struct stat st;

  (void)state;
  brick_stop(b);
  brick_handle(b, handle, &g);
  unlink(handle);
  brick_handle(b, handle, &d);
  unlink(handle);
  brick_handle(b, handle, &e);
  unlink(handle);
  assert_int_equal(symlink("../../00/00/00000000-0000-0000-0000-000000000001/old-name", handle), 0);
  brick_start(b);
  assert_fails(brick_nameless(b, &g), ENOENT);
  assert_fails(brick_nameless(b, &d), ENOENT);
  fake_wait(b->s, 2100 * GI_NSEC_PER_MSEC);
  assert_ok(brick_lookup(b, ROOT, "f"));
  assert_ok(brick_lookup(b, ROOT, "d"));
  assert_ok(brick_lookup(b, ROOT, "e"));
  assert_ok(brick_nameless(b, &g));
  assert_ok(brick_nameless(b, &d));
  assert_ok(brick_nameless(b, &e));
  brick_handle(b, handle, &g);
  brick_path(b, path, "f");
  assert_true(same_file(handle, path));
  st = stat_of(path);
  assert_int_equal(st.st_nlink, 2);
  brick_free(b);
}

static void
lookup_answers_what_is_asked(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  uint8_t counters[12] = {0, 0, 0, 3};
  const void *data;
  uint32_t len;
  struct gi_fd *fd;
  struct gi_fop *f;
  uint64_t u;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  assert_int_equal(brick_write(b, fd, 0, "hello", 5)->rsp.ret, 5);
  assert_ok(brick_setxattr(b, &g, "trusted.afr.v-client-1", counters, 12, 0));
  assert_ok(brick_setxattr(b, &g, "user.color", "red", 3, 0));
  f = brick_fop(b, GI_FOP_LOOKUP);
  set_entry(f, ROOT, "f");
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.content", 65536);
  gi_dict_set_uint(gi_fop_xdata(f), "trusted.afr.v-client-1", 12);
  gi_dict_set_uint(gi_fop_xdata(f), "trusted.afr.v-client-0", 12);
  gi_dict_set_int(gi_fop_xdata(f), "trusted.glusterfs.mdata", 1);
  gi_dict_set_int(gi_fop_xdata(f), "trusted.gfid", 1);
  gi_dict_set_int(gi_fop_xdata(f), "user.*", 0);
  gi_dict_set_int(gi_fop_xdata(f), "get-size", 1);
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.open-fd-count", 0);
  gi_dict_set_uint(gi_fop_xdata(f), "gf_request_link_count", 1);
  gi_dict_set_int(gi_fop_xdata(f), "glusterfs.inodelk-count", 0);
  assert_ok(brick_run(b, f));
  assert_true(gi_dict_get_bin(f->rsp.xdata, "glusterfs.content", &data, &len));
  assert_int_equal(len, 5);
  assert_memory_equal(data, "hello", 5);
  assert_true(gi_dict_get_bin(f->rsp.xdata, "trusted.afr.v-client-1", &data, &len));
  assert_int_equal(len, 12);
  assert_memory_equal(data, counters, 12);
  assert_null(gi_dict_get(f->rsp.xdata, "trusted.afr.v-client-0"));
  assert_true(gi_dict_get_bin(f->rsp.xdata, "trusted.glusterfs.mdata", &data, &len));
  assert_int_equal(len, 57);
  assert_true(gi_dict_get_bin(f->rsp.xdata, "trusted.gfid", &data, &len));
  assert_memory_equal(data, g.b, 16);
  assert_true(gi_dict_get_bin(f->rsp.xdata, "user.color", &data, &len));
  assert_memory_equal(data, "red", 3);
  assert_true(gi_dict_get_uint(f->rsp.xdata, "get-size", &u));
  assert_int_equal(u, 5);
  assert_true(gi_dict_get_uint(f->rsp.xdata, "glusterfs.open-fd-count", &u));
  assert_int_equal(u, 1);
  assert_true(gi_dict_get_uint(f->rsp.xdata, "gf_request_link_count", &u));
  assert_int_equal(u, 1);
  assert_null(gi_dict_get(f->rsp.xdata, "glusterfs.inodelk-count"));

  f = brick_fop(b, GI_FOP_LOOKUP);
  set_object(f, &g);
  gi_dict_set_int(gi_fop_xdata(f), "list-xattr", 1);
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.content", 4); /* smaller than the file */
  assert_ok(brick_run(b, f));
  assert_non_null(gi_dict_get(f->rsp.xdata, "trusted.afr.v-client-1"));
  assert_non_null(gi_dict_get(f->rsp.xdata, "trusted.glusterfs.mdata"));
  assert_null(gi_dict_get(f->rsp.xdata, "trusted.gfid"));
  assert_null(gi_dict_get(f->rsp.xdata, "glusterfs.content"));
  for (uint32_t i = 0; i < gi_dict_count(f->rsp.xdata); i++)
    assert_null(strstr(gi_dict_at(f->rsp.xdata, i)->key, "gfid2path"));
  gi_fd_unref(&fd);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lookup_finds_by_name_and_by_gfid),
      cmocka_unit_test(lookup_misses_with_the_right_error),
      cmocka_unit_test(lookup_answers_what_is_asked),
  };
  const struct CMUnitTest slow[] = {
      /* they wait for a clock: once is enough */
      cmocka_unit_test(lookup_repairs_a_missing_gfid),
      cmocka_unit_test(lookup_repairs_lost_handles),
  };

  return BRICK_RUN_ENGINES(tests) + cmocka_run_group_tests(slow, NULL, NULL);
}
