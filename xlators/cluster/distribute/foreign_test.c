/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes on bricks that nobody can have written, or that lead astray: nothing is lost by them, and nobody ends.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

#include "libglusterish/bigendian.h"

/* ---- layouts ---- */

#define RANGE(type, start, stop) "\0\0\0\0\0\0\0" type start stop
#define FIRST_HALF RANGE("\0", "\0\0\0\0", "\x7f\xff\xff\xff")
#define LAST_HALF RANGE("\0", "\x80\0\0\0", "\xff\xff\xff\xff")
#define NONE RANGE("\0", "\0\0\0\0", "\0\0\0\0")

/* What each of two subvolumes has of the directory's layout; NULL: no attribute. */
struct layouts {
  const char *bytes[2];
  uint32_t len[2];
};
static uint8_t layout[2][32];
static uint32_t layout_len[2];

static void
say_with_layout(struct gi_fop *fop, void *arg)
{
  size_t child = (size_t)((struct part *)arg - parts);

  if (fop->loc.name && child == 0) {
    gi_fop_fail(fop, ENOENT); /* the file is on the other one, wherever its name belongs */
  } else if (fop->loc.name) {
    say_file(fop, NULL);
  } else {
    attr_of(&fop->rsp.stat, DIR_GFID, S_IFDIR | 0755);
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY, layout[child], layout_len[child]);
  }
}

static void
see_layout(struct gi_fop *fop, void *arg)
{
  size_t child = (size_t)((struct part *)arg - parts);
  const void *bytes;

  if (gi_dict_get_bin(fop->args.dict, KEY, &bytes, &layout_len[child]))
    memcpy(layout[child], bytes, layout_len[child]);
}

/* The directory gets a layout, and as nothing says that its files were moved to where they belong by that, they are searched. */
static void
test_damaged_layouts(void **state)
{
  static const struct layouts damaged[] = {
      {{FIRST_HALF, ""}, {16, 0}},
      {{FIRST_HALF, LAST_HALF}, {16, 15}},
      {{FIRST_HALF, LAST_HALF "more"}, {16, 20}},
      {{FIRST_HALF, RANGE("\7", "\x80\0\0\0", "\xff\xff\xff\xff")}, {16, 16}},
      {{FIRST_HALF, RANGE("\0", "\xff\xff\xff\xff", "\x80\0\0\0")}, {16, 16}},
      {{FIRST_HALF, FIRST_HALF}, {16, 16}},
      {{FIRST_HALF, RANGE("\0", "\x80\0\0\1", "\xff\xff\xff\xff")}, {16, 16}},
      {{FIRST_HALF, RANGE("\0", "\x7f\xff\xff\xff", "\xff\xff\xff\xff")}, {16, 16}},
      {{NONE, NONE}, {16, 16}},
      {{"garbage", "rubbish"}, {7, 7}},
  };

  for (size_t i = 0; i < GI_ARRAY_LEN(damaged); i++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
    struct di_layout *l = di_layout_new(2);

    for (unsigned k = 0; k < 2; k++) {
      memcpy(layout[k], damaged[i].bytes[k], layout_len[k] = damaged[i].len[k]);
      fake_script_always(s, k, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_with_layout, .arg = &parts[k]});
      fake_script_always(s, k, GI_FOP_SETXATTR, (struct fake_reply){.fill = see_layout, .arg = &parts[k]});
    }
    gi_loc_set_inode(&f->loc, fake_inode(s, DIR_GFID));
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    for (unsigned k = 0; k < 2; k++)
      assert_true(di_range_decode(&l->range[k], layout[k], layout_len[k]));
    di_layout_check(l);
    assert_true(l->whole);
    assert_int_equal(l->commit, DI_NO_COMMIT);
    f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2));
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    gi_free(l);
    fake_stack_free(s);
  }
}

/* ---- linkto files, and files that are said to move ---- */

/* What names no subvolume, or the one it is on; the first leads to the other one. */
#define LEADS 2 /* so many of them lead there */
static const struct {
  const char *bytes;
  uint32_t len;
} targets[] = {{"child-1", 8}, {"child-1", 7},  {"child-0", 8},     {"child-17", 9},
               {"", 0},        {"\0\0\0\0", 4}, {"\xff\xfe/..", 6}, {"child-1\nchild-0", 16}};
static size_t target;

enum { NOTHING, LINKTO, FILE_, MOVING };
struct has {
  int what;
  bool goes; /* also of a file: with a target */
};
static struct has has[2];

static void
say_what_it_has(struct gi_fop *fop, void *arg)
{
  static const uint32_t mode[] = {
      [LINKTO] = S_IFREG | GI_LINKTO_MODE, [FILE_] = S_IFREG | 0644, [MOVING] = S_IFREG | 0644 | DI_MOVING};
  size_t child = (size_t)((struct part *)arg - parts);
  const struct has *h = &has[child];
  struct gi_gfid dir;

  memset(dir.b, DIR_GFID, sizeof(dir.b));
  if (!fop->loc.name && fop->kind == GI_FOP_LOOKUP && gi_gfid_equal(gi_fop_gfid(fop), &dir)) {
    say_dir(fop, arg);
    return;
  }
  if (h->what == NOTHING) {
    gi_fop_fail(fop, fop->loc.name ? ENOENT : ESTALE);
    return;
  }
  attr_of(&fop->rsp.stat, FILE_GFID, mode[h->what]);
  fop->rsp.pre = fop->rsp.post = fop->rsp.stat;
  if (h->goes && child == 0)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", targets[target].bytes, targets[target].len);
  else if (h->goes)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", "child-0", 8);
}

static struct fake_stack *
stack_that_has(struct has first, struct has second)
{
  struct fake_stack *s = stack_with_dir(2, 0);

  has[0] = first;
  has[1] = second;
  for (unsigned i = 0; i < 2; i++) {
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_what_it_has, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_WRITE, (struct fake_reply){.ret = 10, .fill = say_what_it_has, .arg = &parts[i]});
  }
  return s;
}

static int
look_up(struct fake_stack *s)
{
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2));

  fake_submit(s, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

/* The file is found wherever it is, and its linkto file is put right; where there is none the name is nothing. */
static void
test_linkto_files_lead_astray(void **state)
{
  for (target = 0; target < GI_ARRAY_LEN(targets); target++) {
    struct fake_stack *s = stack_that_has((struct has){LINKTO, true}, (struct has){FILE_, false});

    assert_int_equal(look_up(s), 0);
    assert_int_equal(fake_count(s, 0, GI_FOP_SETXATTR), target < LEADS ? 0 : 1);
    assert_int_equal(fake_count(s, 0, GI_FOP_UNLINK) + fake_count(s, 1, GI_FOP_UNLINK), 0);
    fake_stack_free(s);
    s = stack_that_has((struct has){LINKTO, true}, (struct has){NOTHING, false});
    assert_int_equal(look_up(s), ENOENT);
    fake_stack_free(s);
  }
}

static void
test_linkto_files_lead_to_each_other(void **state)
{
  struct fake_stack *s;
  struct gi_fop *f;

  target = 0;
  s = stack_that_has((struct has){LINKTO, true}, (struct has){LINKTO, true});
  assert_int_equal(look_up(s), ENOENT);
  f = fake_fop(s, GI_FOP_STAT);
  gi_loc_set_inode(&f->loc, fake_inode(s, FILE_GFID));
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ESTALE);
  fake_stack_free(s);
}

static struct gi_fop *
write_some(struct fake_stack *s)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_WRITE);

  gi_fop_set_fd(f, fake_fd(s, FILE_GFID));
  f->args.size = 10;
  fake_submit(s, f);
  return f;
}

/* It is said to move to where it is, or to nobody: it stays what it is. */
static void
test_files_move_astray(void **state)
{
  for (target = 0; target < GI_ARRAY_LEN(targets); target++) {
    struct fake_stack *s = stack_that_has((struct has){MOVING, true}, (struct has){LINKTO, true});

    assert_int_equal(look_up(s), 0);
    assert_int_equal(write_some(s)->rsp.ret, 10);
    assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 1);
    assert_int_equal(fake_count(s, 1, GI_FOP_WRITE), target < LEADS ? 1 : 0);
    fake_stack_free(s);
    s = stack_that_has((struct has){FILE_, true}, (struct has){NOTHING, false}); /* or it is left from a move */
    assert_int_equal(look_up(s), 0);
    assert_int_equal(write_some(s)->rsp.ret, 10);
    assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 1);
    fake_stack_free(s);
  }
}

/* Each says that it moves to the other. */
static void
test_files_move_to_each_other(void **state)
{
  struct fake_stack *s;

  target = 0;
  s = stack_that_has((struct has){MOVING, true}, (struct has){MOVING, true});
  assert_int_equal(look_up(s), 0);
  assert_int_equal(write_some(s)->rsp.ret, 10);
  fake_stack_free(s);
}

/* ---- the mark of the subvolume that counts ---- */

static int32_t mark, added;

static void
say_marked(struct gi_fop *fop, void *arg)
{
  uint8_t bytes[4];

  say_dir(fop, arg);
  gi_be32_store(bytes, (uint32_t)mark);
  if (arg == &parts[0])
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".mds", bytes, sizeof(bytes));
}

static void
see_added(struct gi_fop *fop, void *arg)
{
  const void *bytes;
  uint32_t len;

  assert_true(gi_dict_get_bin(fop->args.dict, KEY ".mds", &bytes, &len) && len == 4);
  added = (int32_t)gi_be32_load(bytes);
}

/* It is zero when what is added to it has been added. */
static void
test_marks_of_any_size(void **state)
{
  static const int32_t marks[] = {-1, 1, INT32_MAX, INT32_MIN};

  for (size_t i = 0; i < GI_ARRAY_LEN(marks); i++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);

    mark = marks[i];
    added = 0;
    for (unsigned k = 0; k < 2; k++)
      fake_script_always(s, k, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_marked, .arg = &parts[k]});
    fake_script_always(s, 0, GI_FOP_XATTROP, (struct fake_reply){.fill = see_added});
    gi_loc_set_inode(&f->loc, fake_inode(s, DIR_GFID));
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal((uint32_t)mark + (uint32_t)added, 0);
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_damaged_layouts),
      cmocka_unit_test(test_linkto_files_lead_astray),
      cmocka_unit_test(test_linkto_files_lead_to_each_other),
      cmocka_unit_test(test_files_move_astray),
      cmocka_unit_test(test_files_move_to_each_other),
      cmocka_unit_test(test_marks_of_any_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
