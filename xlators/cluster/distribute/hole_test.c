/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that belong to a hole of a layout: it is looked at again, and mended, before somebody hears of it.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

/* One subvolume has lost its part of the directory's layout. */
static void
lose(struct fake_stack *s, unsigned child)
{
  parts[child].bare = true;
  for (unsigned i = 0; i < s->nchildren; i++) {
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_MKNOD, (struct fake_reply){.fill = say_file});
  }
}

static int
makes(struct fake_stack *s, unsigned child)
{
  struct gi_fop *f = entry_fop(s, GI_FOP_MKNOD, name_on(child, s->nchildren));

  fake_submit(s, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

/* As long as a subvolume is down no layout is mended here. Another client has done that. */
static void
test_hole_is_looked_at_again(void **state)
{
  struct fake_stack *s = stack_with_dir(3, 0);

  fake_event(s, 2, GI_EVENT_CHILD_DOWN, NULL);
  lose(s, 1);
  fake_script_always(s, 2, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  assert_int_equal(makes(s, 1), ENOTCONN);
  assert_int_equal(makes(s, 0), 0);
  parts[1].bare = false;
  assert_int_equal(makes(s, 1), 0);
  assert_int_equal(fake_count(s, 1, GI_FOP_MKNOD), 1);
  fake_stack_free(s);
}

/* Nor is anything made elsewhere when it cannot be mended: who knows the layout as it was would make it a second time. */
static void
test_hole_that_stays_is_told(void **state)
{
  struct fake_stack *s = stack_with_dir(3, 0);
  unsigned refused = 0;

  fake_event(s, 1, GI_EVENT_CHILD_DOWN, NULL);
  fake_event(s, 1, GI_EVENT_CHILD_UP, NULL);
  lose(s, 1);
  fake_script_always(s, 1, GI_FOP_SETXATTR, (struct fake_reply){.ret = -1, .err = EROFS});
  for (unsigned i = 0; i < 3; i++) {
    int err = makes(s, i);

    assert_true(err == 0 || err == EIO);
    refused += err == EIO;
  }
  assert_int_equal(refused, 1); /* the others have parts that are known */
  assert_int_equal(fake_count(s, 1, GI_FOP_MKNOD), 0);
  fake_stack_free(s);
}

/* ---- the directory is missing ---- */

#define INNER_GFID 7

static struct {
  const char *name; /* of a directory in the directory */
  bool lost, made;  /* the last subvolume has lost it, and has it again */
} inner;

static void
say_inner(struct gi_fop *fop, void *arg)
{
  bool last = arg == &parts[2], is_inner = fop->loc.name || gi_fop_gfid(fop)->b[0] == INNER_GFID;

  if (fop->loc.name && strcmp(fop->loc.name, inner.name) != 0)
    gi_fop_fail(fop, ENOENT);
  else if (is_inner && last && inner.lost && !inner.made)
    gi_fop_fail(fop, ENOENT);
  else
    say_dir(fop, arg);
  if (fop->rsp.ret < 0 || !is_inner)
    return;
  attr_of(&fop->rsp.stat, INNER_GFID, S_IFDIR | 0755);
  fop->rsp.stat.mtime.sec = 40;
  fop->rsp.stat.ctime.sec = 50;
  fop->rsp.stat.atime.sec = 60;
  if (last && inner.lost)
    gi_dict_del(gi_fop_rsp_xdata(fop), KEY);
}

static void
make_inner(struct gi_fop *fop, void *arg)
{
  assert_string_equal(fop->loc.name, inner.name);
  assert_int_equal(fop->caller.stamps, GI_STAMP_CTIME | GI_STAMP_MTIME | GI_STAMP_ATIME);
  assert_true(fop->caller.time.sec <= 40);
  inner.made = true;
  attr_of(&fop->rsp.stat, INNER_GFID, S_IFDIR | 0755);
}

/* As the others have them. */
static void
see_times(struct gi_fop *fop, void *arg)
{
  const struct gi_iatt *a = &fop->args.iatt;

  assert_int_equal(fop->args.valid & (GI_SET_ATIME | GI_SET_MTIME | GI_SET_CTIME), GI_SET_ATIME | GI_SET_MTIME | GI_SET_CTIME);
  assert_true(a->mtime.sec == 40 && a->ctime.sec == 50 && a->atime.sec == 60);
}

/* What is above it is not known any more, so it is not known where it belongs either, and it cannot be made where it is missing. */
static void
test_missing_directory_is_made_first(void **state)
{
  struct fake_stack *s = stack_with_dir(3, 0);
  struct gi_fop *f;
  struct gi_gfid gfid;

  memset(&inner, 0, sizeof(inner));
  inner.name = name_on(1, 3);
  for (unsigned i = 0; i < 3; i++) {
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_inner, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_MKNOD, (struct fake_reply){.fill = say_file});
    fake_script_always(s, i, GI_FOP_MKDIR, (struct fake_reply){.fill = make_inner});
    fake_script_always(s, i, GI_FOP_SETATTR, (struct fake_reply){.fill = see_times});
  }
  f = entry_fop(s, GI_FOP_LOOKUP, inner.name);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  fake_event(s, 2, GI_EVENT_CHILD_DOWN, NULL);
  inner.lost = true;
  fake_event(s, 2, GI_EVENT_CHILD_UP, NULL);

  f = fake_fop(s, GI_FOP_MKNOD);
  memset(gfid.b, FILE_GFID, sizeof(gfid.b));
  gi_fop_set_entry(f, &f->loc, fake_inode(s, INNER_GFID), other_name_on(2, 3));
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &gfid);
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, 0);
  assert_true(inner.made);
  assert_int_equal(fake_count(s, 2, GI_FOP_MKDIR), 1);
  assert_int_equal(fake_count(s, 2, GI_FOP_SETATTR), 1);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hole_is_looked_at_again),
      cmocka_unit_test(test_hole_that_stays_is_told),
      cmocka_unit_test(test_missing_directory_is_made_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
