/* SPDX-License-Identifier: Apache-2.0
 *
 * When a rebalance says that names which are missing need not be searched.
 */
#include "xlators/cluster/distribute/rebalance/walk-fixture.h"

#include "libglusterish/extension.h"

#include <dirent.h>
#include <stdio.h>

#define FILES 8 /* the first has FILE_GFID */

/* Two subvolumes: the first has all files, and they are locked. */
static struct {
  unsigned files;
  bool full, refuses; /* the second: it makes no linkto file, it cannot be listed … */
  unsigned lacks;     /* … for so many times, as the directory is not there */
  bool linkto[FILES]; /* it has */
  int others;         /* mounts that it has of GlusterFS; -1: itself is */
  uint8_t layout[2][DI_LAYOUT_BYTES];
  char told[16]; /* the root */
} volume;
static unsigned number[] = {0, 1};

static unsigned
number_of(const struct gi_fop *fop)
{
  unsigned i = (unsigned)(fop->loc.name[0] - 'a');

  assert_true(i < FILES);
  return i;
}

static void
say_object(struct gi_fop *fop, void *arg)
{
  unsigned child = *(const unsigned *)arg, i;

  if (!fop->loc.name) {
    root_of(&fop->rsp.stat);
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY, volume.layout[child], DI_LAYOUT_BYTES);
    return;
  }
  i = number_of(fop);
  if (child == 0) {
    attr_of(&fop->rsp.stat, (uint8_t)(FILE_GFID + i), S_IFREG | 0644);
    gi_dict_set_int(gi_fop_rsp_xdata(fop), "glusterfs.posixlk-count", 1);
  } else if (volume.linkto[i]) {
    attr_of(&fop->rsp.stat, (uint8_t)(FILE_GFID + i), S_IFREG | GI_LINKTO_MODE);
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", "child-0", 8);
  } else {
    gi_fop_fail(fop, ENOENT);
  }
}

static void
list_files(struct gi_fop *fop, void *arg)
{
  for (unsigned i = 0; i < volume.files && fop->args.offset == 0; i++) {
    char name[2] = {(char)('a' + i), '\0'};
    struct gi_dirent e = {.name = name, .name_len = 1, .off = i + 1, .type = DT_REG};

    attr_of(&e.stat, (uint8_t)(FILE_GFID + i), S_IFREG | 0644);
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
}

static void
list_nothing(struct gi_fop *fop, void *arg)
{
  if (volume.refuses || volume.lacks)
    gi_fop_fail(fop, volume.refuses ? EIO : ENOENT);
  volume.lacks -= volume.lacks > 0;
}

static void
make_linkto(struct gi_fop *fop, void *arg)
{
  volume.linkto[number_of(fop)] = !volume.full;
  if (volume.full)
    gi_fop_fail(fop, ENOSPC);
}

static void
set_xattr(struct gi_fop *fop, void *arg)
{
  const void *bytes;
  uint32_t len;

  assert_non_null(gi_dict_get(fop->xdata, GI_DURABLE_KEY)); /* before files move */
  if (gi_dict_get_bin(fop->args.dict, KEY, &bytes, &len)) {
    assert_int_equal(len, DI_LAYOUT_BYTES);
    memcpy(volume.layout[*(const unsigned *)arg], bytes, len);
  }
  if (!gi_dict_get_bin(fop->args.dict, KEY ".committed", &bytes, &len))
    return;
  assert_true(len <= sizeof(volume.told));
  assert_int_equal(len, strnlen(bytes, len) + 1);
  memcpy(volume.told, bytes, len);
}

static void
say_mounts(struct gi_fop *fop, void *arg)
{
  bool second = *(const unsigned *)arg == 1;

  if (second && volume.others < 0) {
    gi_fop_fail(fop, ENODATA);
    return;
  }
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_bin(fop->rsp.dict, GI_MOUNTS_KEY, "", 0);
  gi_dict_set_int(fop->rsp.dict, GI_OTHER_MOUNTS_KEY, second ? volume.others : 0);
}

/* The number that the root was told, and that the layouts bear; 0: none. */
static uint32_t
rebalance(enum di_reb_command command)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
  struct di_reb r = {.d = di_of(s->x), .command = command};
  struct di_range range;
  uint32_t told;

  memset(volume.linkto, 0, sizeof(volume.linkto));
  memset(volume.told, 0, sizeof(volume.told));
  for (unsigned i = 0; i < 2; i++) {
    di_range_encode(&(struct di_range){0, 0, i << 31, i ? UINT32_MAX : INT32_MAX, 0}, volume.layout[i]);
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_object, .arg = &number[i]});
    fake_script_always(s, i, GI_FOP_SETXATTR, (struct fake_reply){.fill = set_xattr, .arg = &number[i]});
    fake_script_always(s, i, GI_FOP_GETXATTR, (struct fake_reply){.fill = say_mounts, .arg = &number[i]});
    fake_script_always(s, i, GI_FOP_READDIRP, (struct fake_reply){.fill = i ? list_nothing : list_files});
  }
  fake_script_always(s, 1, GI_FOP_MKNOD, (struct fake_reply){.fill = make_linkto});
  gi_task_start(s->x->reactor, walk, &r);
  fake_settle(s);
  for (unsigned i = 0; i < 30 && r.base; i++)
    fake_wait(s, 100 * GI_NSEC_PER_MSEC);
  assert_int_equal(r.failures, volume.refuses);
  assert_int_equal(fake_count(s, 0, GI_FOP_REMOVEXATTR), 2); /* ours, and that of GlusterFS */
  told = (uint32_t)strtoul(volume.told, NULL, 10);
  for (unsigned i = 0; i < 2; i++) {
    assert_true(di_range_decode(&range, volume.layout[i], DI_LAYOUT_BYTES));
    assert_true(command == DI_REB_LAYOUT ? range.commit <= DI_NO_COMMIT : range.commit > DI_NO_COMMIT);
    assert_true(told == 0 || told == range.commit);
  }
  fake_stack_free(s);
  return told;
}

static void
test_layouts_alone_say_nothing(void **state)
{
  assert_int_equal(rebalance(DI_REB_LAYOUT), 0);
}

static void
test_root_is_told_what_layouts_bear(void **state)
{
  assert_true(rebalance(DI_REB_START) > DI_NO_COMMIT);
  assert_true(rebalance(DI_REB_FORCE) > DI_NO_COMMIT);
}

/* Those that stay where they are have linkto files, or else what is missing is searched still. */
static void
test_what_stays_is_announced(void **state)
{
  unsigned made = 0;

  volume.files = FILES;
  assert_true(rebalance(DI_REB_START) > DI_NO_COMMIT);
  for (unsigned i = 0; i < FILES; i++)
    made += volume.linkto[i];
  assert_true(made > 0 && made < FILES);
  volume.full = true;
  assert_int_equal(rebalance(DI_REB_START), 0);
  volume.full = false;
  volume.files = 0;
}

/* Who has not heard of a layout is refused by our bricks, and asks for what they are told by ours. */
static void
test_others_make_names_by_old_layouts(void **state)
{
  for (volume.others = -1; volume.others < 2; volume.others++)
    assert_int_equal(rebalance(DI_REB_START) > DI_NO_COMMIT, volume.others == 0);
  volume.others = 0;
}

static void
test_failure_is_no_success(void **state)
{
  volume.refuses = true;
  assert_int_equal(rebalance(DI_REB_START), 0);
  volume.refuses = false;
}

/* Somebody renames what is above it, say. */
static void
test_directory_that_a_set_lacks_for_a_moment(void **state)
{
  volume.lacks = 1;
  assert_true(rebalance(DI_REB_START) > DI_NO_COMMIT);
  assert_int_equal(volume.lacks, 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layouts_alone_say_nothing), cmocka_unit_test(test_root_is_told_what_layouts_bear),
      cmocka_unit_test(test_what_stays_is_announced),   cmocka_unit_test(test_others_make_names_by_old_layouts),
      cmocka_unit_test(test_failure_is_no_success),     cmocka_unit_test(test_directory_that_a_set_lacks_for_a_moment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
