/* SPDX-License-Identifier: Apache-2.0
 *
 * features/utime: which stamps each kind gets, and the first times of an old object.
 */
#include "tests/unit/fake.h"

#include <errno.h>

static uint32_t
stamps(struct fake_stack *s, enum gi_fop_kind kind, int32_t valid)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->args.valid = valid;
  fake_submit(s, f);
  uint32_t v = f->caller.stamps;
  if (v)
    assert_true(f->caller.time.sec > 0);
  return v;
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("features/utime", NULL, 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_table(void **state)
{
  struct fake_stack *s = fake_stack_new("features/utime", NULL, 1);
  assert_int_equal(stamps(s, GI_FOP_CREATE, 0), 0x1f);
  assert_int_equal(stamps(s, GI_FOP_SYMLINK, 0), 0x1f);
  assert_int_equal(stamps(s, GI_FOP_RENAME, 0), 0x19);
  assert_int_equal(stamps(s, GI_FOP_UNLINK, 0), 0x19);
  assert_int_equal(stamps(s, GI_FOP_WRITE, 0), 0x03);
  assert_int_equal(stamps(s, GI_FOP_FTRUNCATE, 0), 0x03);
  assert_int_equal(stamps(s, GI_FOP_FALLOCATE, 0), 0x03);
  assert_int_equal(stamps(s, GI_FOP_REMOVEXATTR, 0), 0x01);
  assert_int_equal(stamps(s, GI_FOP_SETATTR, 0), 0x01);
  assert_int_equal(stamps(s, GI_FOP_SETATTR, GI_SET_MODE | GI_SET_MTIME), 0x01);
  assert_int_equal(stamps(s, GI_FOP_SETATTR, GI_SET_MTIME), 0x01);
  assert_int_equal(stamps(s, GI_FOP_READ, 0), 0);
  assert_int_equal(stamps(s, GI_FOP_DISCARD, 0), 0x03);
  fake_stack_free(s);
}

static void
test_a_write_keeps_the_time_it_was_told(void **state)
{
  struct fake_stack *s = fake_stack_new("features/utime", NULL, 1);

  for (unsigned i = 0; i < 2; i++) {
    struct gi_fop *f = fake_fop(s, i == 0 ? GI_FOP_WRITE : GI_FOP_FTRUNCATE);
    gi_loc_set_inode(&f->loc, fake_inode(s, 5));
    f->caller.time = (struct gi_time){.sec = 77};
    fake_submit(s, f);
    assert_int_equal(f->caller.stamps, 0x03);
    assert_int_equal(f->caller.time.sec == 77, i == 0);
  }
  fake_stack_free(s);
}

static void
test_atime(void **state)
{
  struct fake_stack *s = fake_stack_new("features/utime", "option noatime off\n", 1);
  assert_int_equal(stamps(s, GI_FOP_READ, 0), 0x04);
  assert_int_equal(stamps(s, GI_FOP_COPY_FILE_RANGE, 0), 0x07);
  fake_stack_free(s);
}

static void
found(struct gi_fop *fop, void *arg)
{
  memset(&fop->rsp.stat.gfid, 7, sizeof(fop->rsp.stat.gfid));
  fop->rsp.stat.mode = S_IFREG | 0644;
  fop->rsp.stat.mtime.sec = 0x0102;
  if (arg)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), "trusted.glusterfs.mdata", "x", 1);
}

static void
check_heal(struct gi_fop *fop, void *arg)
{
  const struct gi_pair *p = gi_dict_get(fop->args.dict, "set-ctime-mdata");
  assert_non_null(p);
  assert_int_equal(p->type, GI_VALUE_MDATA);
  assert_int_equal(p->data[15], 0x02);
  assert_int_equal(fop->caller.pid, -13);
  ++*(int *)arg;
}

static void
test_heal_once(void **state)
{
  struct fake_stack *s = fake_stack_new("features/utime", NULL, 1);
  int healed = 0;
  fake_script_always(s, 0, GI_FOP_SETXATTR, (struct fake_reply){.fill = check_heal, .arg = &healed});
  for (int i = 0; i < 4; i++) {
    struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
    gi_fop_set_entry(f, &f->loc, fake_inode(s, 8), "old");
    fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = found, .arg = i == 0 ? s : NULL});
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(healed, i > 0);
  }
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_table),
      cmocka_unit_test(test_a_write_keeps_the_time_it_was_told),
      cmocka_unit_test(test_atime),
      cmocka_unit_test(test_heal_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
