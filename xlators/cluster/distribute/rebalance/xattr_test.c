/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended attributes and ACLs of a file that moves between two fake
 * subvolumes, while somebody changes them on both, as clients do.
 */
#include "xlators/cluster/distribute/rebalance/walk-fixture.h"

#include "libglusterish/extension.h"

#define ACL "system.posix_acl_access"
#define PLAIN "user.plain"

/* What the disks of both have of the file; the first is the source. */
static struct copy {
  struct gi_dict *xattrs;
  uint32_t mode;
} copies[2];

/* Who is called when the source has told its attributes, and how often that has been. */
static void (*meddle)(bool acl);
static unsigned told;

static void
put(unsigned child, const char *name, const char *value)
{
  gi_dict_set_bin(copies[child].xattrs, name, value, (uint32_t)strlen(value));
}

static void
set_on_both(bool acl)
{
  if (acl || told++ > 0)
    return;
  put(0, PLAIN, "new");
  put(1, PLAIN, "new");
}

static void
remove_on_both(bool acl)
{
  if (acl || told++ > 0)
    return;
  gi_dict_del(copies[0].xattrs, PLAIN);
  gi_dict_del(copies[1].xattrs, PLAIN);
}

/* A client does not set it on what is no file yet. */
static void
set_acl(bool acl)
{
  if (acl && told++ == 0)
    put(0, ACL, "new");
}

static void
remove_acl(bool acl)
{
  if (!acl || told++ > 0)
    return;
  gi_dict_del(copies[0].xattrs, ACL);
  gi_dict_del(copies[1].xattrs, ACL);
}

static void
set_always(bool acl)
{
  char value[16];

  snprintf(value, sizeof(value), "%u", told++);
  put(0, acl ? ACL : PLAIN, value);
}

static struct copy *
copy_of(void *arg)
{
  return &copies[*(const unsigned *)arg];
}

static void
say_xattrs(struct gi_fop *fop, void *arg)
{
  struct copy *c = copy_of(arg);
  const void *value;
  uint32_t len;

  fop->rsp.dict = fop->args.name ? gi_dict_new() : gi_dict_copy(c->xattrs);
  if (fop->args.name && gi_dict_get_bin(c->xattrs, fop->args.name, &value, &len))
    gi_dict_set_bin(fop->rsp.dict, fop->args.name, value, len);
  else if (fop->args.name)
    gi_fop_fail(fop, ENODATA);
  if (meddle && c == &copies[0] && (!fop->args.name || strcmp(fop->args.name, ACL) == 0))
    meddle(fop->args.name != NULL);
}

static void
say_copy(struct gi_fop *fop, void *arg)
{
  struct copy *c = copy_of(arg);
  const void *value;
  uint32_t len;

  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | c->mode);
  if (gi_dict_get_bin(c->xattrs, KEY ".linkto", &value, &len))
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", value, len);
}

static bool mode_at_last; /* is set on the source when the target is the file and has been compared with it */
static bool mode_at_mark; /* is set on the source just before it gets the marks' bits */

static void
keep_xattrs(struct gi_fop *fop, void *arg)
{
  gi_dict_merge(copy_of(arg)->xattrs, fop->args.dict);
  if (mode_at_last && copy_of(arg) == &copies[0] && copies[1].mode != GI_LINKTO_MODE) {
    copies[0].mode = 0600;
    mode_at_last = false;
  }
  if (mode_at_mark && copy_of(arg) == &copies[0]) {
    copies[0].mode = 0600;
    mode_at_mark = false;
  }
}

static void
drop_xattr(struct gi_fop *fop, void *arg)
{
  if (!gi_dict_del(copy_of(arg)->xattrs, fop->args.name))
    gi_fop_fail(fop, ENODATA);
}

static void
keep_mode(struct gi_fop *fop, void *arg)
{
  const struct copy *c = copy_of(arg);
  uint64_t moved;

  fop->rsp.pre.mode = S_IFREG | c->mode;
  if (gi_dict_get_uint(fop->xdata, GI_MOVED_KEY, &moved) && moved && (c->mode & DI_MOVING) != DI_MOVING)
    gi_fop_fail(fop, EAGAIN); /* as a brick does */
  else if (fop->args.valid & GI_SET_MODE)
    copy_of(arg)->mode = fop->args.iatt.mode & 07777;
}

static unsigned synced; /* how often the target was */

static bool full; /* the target cannot be synced, and meanwhile a mode is set on the source */

static void
see_sync(struct gi_fop *fop, void *arg)
{
  synced++;
  if (!full)
    return;
  copies[0].mode = 0600;
  gi_fop_fail(fop, ENOSPC);
}

static void
move(void *arg)
{
  struct di_reb *r = arg;
  struct gi_loc loc = {.name = "file", .pargfid = gi_gfid_root, .parent = gi_inode_get(r->d->x->graph, &gi_gfid_root)};

  r->base = gi_fop_new(r->d->x->graph, GI_FOP_IPC);
  r->failures = (uint64_t)di_reb_move(r, &loc, 0, 1);
  gi_fop_unref(r->base);
  gi_inode_unref(&loc.parent);
}

/* The error of a move with what is on the disks, while `who` is at it. */
static int
err_of_move(void (*who)(bool acl))
{
  static const unsigned number[] = {0, 1};
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
  struct di_reb r = {.d = di_of(s->x), .failures = ECANCELED};

  meddle = who;
  told = 0;
  copies[0].mode = 0644;
  copies[1].mode = GI_LINKTO_MODE;
  gi_dict_set_bin(copies[1].xattrs, KEY ".linkto", "child-0", 8);
  for (unsigned i = 0; i < 2; i++) {
    void *arg = (void *)(uintptr_t)&number[i];

    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_copy, .arg = arg});
    fake_script_always(s, i, GI_FOP_GETXATTR, (struct fake_reply){.fill = say_xattrs, .arg = arg});
    fake_script_always(s, i, GI_FOP_SETXATTR, (struct fake_reply){.fill = keep_xattrs, .arg = arg});
    fake_script_always(s, i, GI_FOP_REMOVEXATTR, (struct fake_reply){.fill = drop_xattr, .arg = arg});
    fake_script_always(s, i, GI_FOP_SETATTR, (struct fake_reply){.fill = keep_mode, .arg = arg});
  }
  fake_script_always(s, 1, GI_FOP_FSYNC, (struct fake_reply){.fill = see_sync});
  gi_task_start(s->x->reactor, move, &r);
  fake_settle(s);
  fake_stack_free(s);
  return (int)r.failures;
}

static int
begin(void **state)
{
  for (unsigned i = 0; i < 2; i++)
    copies[i] = (struct copy){.xattrs = gi_dict_new()};
  return 0;
}

static int
end(void **state)
{
  for (unsigned i = 0; i < 2; i++)
    gi_dict_unref(&copies[i].xattrs);
  return 0;
}

static void
assert_target_has(const char *name, const char *value)
{
  const void *bytes;
  uint32_t len;

  assert_true(gi_dict_get_bin(copies[1].xattrs, name, &bytes, &len));
  assert_int_equal(len, strlen(value));
  assert_memory_equal(bytes, value, len);
}

static void
test_target_gets_what_the_source_has(void **state)
{
  put(0, PLAIN, "is");
  put(0, ACL, "acl");
  put(1, "user.of-an-earlier-move", "was");
  assert_int_equal(err_of_move(NULL), 0);
  assert_target_has(PLAIN, "is");
  assert_target_has(ACL, "acl");
  assert_null(gi_dict_get(copies[1].xattrs, "user.of-an-earlier-move"));
}

/* Between reading it from the source and setting it on the target. */
static void
test_what_is_set_meanwhile_is_not_undone(void **state)
{
  put(0, PLAIN, "old");
  assert_int_equal(err_of_move(set_on_both), 0);
  assert_target_has(PLAIN, "new");
}

static void
test_what_is_removed_meanwhile_does_not_come_again(void **state)
{
  put(0, PLAIN, "old");
  assert_int_equal(err_of_move(remove_on_both), 0);
  assert_null(gi_dict_get(copies[1].xattrs, PLAIN));
}

static void
test_an_acl_that_is_set_at_last(void **state)
{
  put(0, ACL, "old");
  assert_int_equal(err_of_move(set_acl), 0);
  assert_target_has(ACL, "new");
}

static void
test_an_acl_that_is_removed_at_last(void **state)
{
  put(0, ACL, "old");
  assert_int_equal(err_of_move(remove_acl), 0);
  assert_null(gi_dict_get(copies[1].xattrs, ACL));
}

/* Another rebalance may find a quieter moment. */
static void
test_what_is_set_all_the_time_stays(void **state)
{
  put(0, PLAIN, "old");
  assert_int_equal(err_of_move(set_always), EBUSY);
  assert_int_equal(copies[0].mode, 0644);
  assert_int_equal(copies[1].mode, GI_LINKTO_MODE);
}

/* The marks go with it, and who writes meanwhile writes to the source alone: nothing is exchanged before both are compared once more. */
static void
test_a_mode_that_is_set_at_last(void **state)
{
  mode_at_last = true;
  synced = 0;
  assert_int_equal(err_of_move(NULL), 0);
  assert_false(mode_at_last);
  assert_int_equal(copies[0].mode, GI_LINKTO_MODE);
  assert_int_equal(copies[1].mode, 0600);
  assert_int_equal(synced, 4); /* each time its bytes, and that it is the file */
}

/* Nor does the move undo it when it makes its marks. */
static void
test_a_mode_that_is_set_at_first(void **state)
{
  const char *kept;

  mode_at_mark = true;
  assert_int_equal(err_of_move(NULL), 0);
  assert_false(mode_at_mark);
  assert_int_equal(copies[0].mode, GI_LINKTO_MODE);
  assert_int_equal(copies[1].mode, 0600);
  assert_true(gi_dict_get_str(copies[0].xattrs, KEY ".mode", &kept));
  assert_string_equal(kept, "600");
}

/* Nor when it gives up. */
static void
test_a_mode_that_is_set_before_a_move_is_given_up(void **state)
{
  full = true;
  assert_int_equal(err_of_move(NULL), ENOSPC);
  full = false;
  assert_int_equal(copies[0].mode, 0600);
  assert_null(gi_dict_get(copies[0].xattrs, KEY ".mode"));
  assert_int_equal(copies[1].mode, GI_LINKTO_MODE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_target_gets_what_the_source_has),
      TEST(test_what_is_set_meanwhile_is_not_undone),
      TEST(test_what_is_removed_meanwhile_does_not_come_again),
      TEST(test_an_acl_that_is_set_at_last),
      TEST(test_an_acl_that_is_removed_at_last),
      TEST(test_what_is_set_all_the_time_stays),
      TEST(test_a_mode_that_is_set_at_last),
      TEST(test_a_mode_that_is_set_at_first),
      TEST(test_a_mode_that_is_set_before_a_move_is_given_up),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
