/* SPDX-License-Identifier: Apache-2.0
 *
 * features/arbiter: data never reaches the storage, everything else does.
 */
#include "tests/unit/fake.h"

#include <errno.h>

#define DISCARDED \
  (GI_KIND(GI_FOP_WRITE) | GI_KIND(GI_FOP_TRUNCATE) | GI_KIND(GI_FOP_FTRUNCATE) | GI_KIND(GI_FOP_FALLOCATE) | \
   GI_KIND(GI_FOP_DISCARD) | GI_KIND(GI_FOP_ZEROFILL))
#define REFUSED (GI_KIND(GI_FOP_READ) | GI_KIND(GI_FOP_SEEK))

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("features/arbiter", NULL, 1);

  fake_check_transparent(s, DISCARDED | REFUSED);
  fake_stack_free(s);
}

static void
show(struct gi_fop *fop, void *arg)
{
  struct gi_iatt *st = fop->kind == GI_FOP_FSETATTR ? &fop->rsp.post : &fop->rsp.stat;

  memset(&st->gfid, 5, sizeof(st->gfid));
  st->mode = S_IFREG | 0644;
  st->flags = GI_IATT_BASIC;
  st->mtime.sec = *(int *)arg;
}

static struct gi_fop *
request(struct fake_stack *s, enum gi_fop_kind kind, bool by_fd)
{
  struct gi_fop *f = fake_fop(s, kind);

  if (by_fd)
    gi_fop_set_fd(f, fake_fd(s, 5));
  else
    gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  if (kind == GI_FOP_WRITE)
    gi_payload_add_copy(&f->payload, "abc", 3);
  return f;
}

/* Whoever shows the attributes last decides what changes of data are answered with. */
static void
test_remembered(void **state)
{
  static const enum gi_fop_kind shows[] = {GI_FOP_LOOKUP, GI_FOP_STAT,  GI_FOP_FSTAT,
                                           GI_FOP_CREATE, GI_FOP_MKNOD, GI_FOP_FSETATTR};
  struct fake_stack *s = fake_stack_new("features/arbiter", NULL, 1);

  for (size_t i = 0; i < GI_ARRAY_LEN(shows); i++) {
    int stamp = 100 + (int)i;
    struct gi_fop *f;

    fake_script(s, 0, shows[i], (struct fake_reply){.fill = show, .arg = &stamp});
    f = request(s, shows[i], shows[i] == GI_FOP_FSTAT || shows[i] == GI_FOP_FSETATTR);
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    f = request(s, GI_FOP_FTRUNCATE, true);
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(f->rsp.pre.mtime.sec, stamp);
    assert_int_equal(f->rsp.post.mtime.sec, stamp);
    assert_null(f->rsp.xdata);
  }
  for (unsigned k = 0; k < GI_FOP_MAX; k++) {
    if (!(DISCARDED & GI_KIND(k)))
      continue;
    struct gi_fop *f = request(s, k, k != GI_FOP_TRUNCATE);

    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, k == GI_FOP_WRITE ? 3 : 0);
    assert_int_equal(f->rsp.post.mtime.sec, 100 + (int)GI_ARRAY_LEN(shows) - 1);
    assert_int_equal(fake_count(s, 0, k), 0);
  }
  fake_stack_free(s);
}

/* An inode that was never looked up, as after a restart of the brick: the storage is asked, once. */
static void
test_asked(void **state)
{
  struct fake_stack *s = fake_stack_new("features/arbiter", NULL, 1);
  int stamp = 7;
  struct gi_fop *f;

  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.ret = -1, .err = ESTALE});
  f = request(s, GI_FOP_WRITE, true);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, -1);
  assert_int_equal(f->rsp.err, ESTALE);
  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = show, .arg = &stamp, .deferred = true});
  for (int i = 0; i < 2; i++) {
    f = request(s, GI_FOP_WRITE, true);
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 3);
    assert_int_equal(f->rsp.post.mtime.sec, 7);
  }
  assert_int_equal(fake_count(s, 0, GI_FOP_FSTAT), 2);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 0);
  fake_stack_free(s);
}

static void
test_write_xdata(void **state)
{
  struct fake_stack *s = fake_stack_new("features/arbiter", NULL, 1);
  int stamp = 7;
  int64_t n;
  struct gi_fop *f;

  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = show, .arg = &stamp});
  f = request(s, GI_FOP_WRITE, true);
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.write-is-append", 4);
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.open-fd-count", 4);
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.open-active-fd-count", 4);
  fake_submit(s, f);
  assert_true(gi_dict_get_int(f->rsp.xdata, "glusterfs.write-is-append", &n) && n == 1);
  assert_true(gi_dict_get_int(f->rsp.xdata, "glusterfs.open-fd-count", &n) && n == 1);
  assert_int_equal(gi_dict_count(f->rsp.xdata), 2);
  fake_stack_free(s);
}

static void
test_no_reading(void **state)
{
  struct fake_stack *s = fake_stack_new("features/arbiter", NULL, 1);

  for (unsigned k = 0; k < GI_FOP_MAX; k++) {
    if (!(REFUSED & GI_KIND(k)))
      continue;
    struct gi_fop *f = request(s, k, true);

    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, -1);
    assert_int_equal(f->rsp.err, ENOSYS);
    assert_int_equal(fake_count(s, 0, k), 0);
  }
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent), cmocka_unit_test(test_remembered), cmocka_unit_test(test_asked),
      cmocka_unit_test(test_write_xdata), cmocka_unit_test(test_no_reading),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
