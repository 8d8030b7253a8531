/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of a fop: which object it is about, what it shares, and whose
 * attributes its reply carries.
 */
#include "tests/unit/fake.h"

#include <fcntl.h>
#include <sys/stat.h>

static const struct gi_xlator_class deaf_class = {
    .abi = GI_XLATOR_ABI, .type = "test/deaf", .min_children = 1, .max_children = 1};

static void
test_object_of_a_fop(void **state)
{
  struct fake_stack *s = fake_stack_new("test/deaf", NULL, 1);
  struct gi_inode *one = fake_inode(s, 1), *two = fake_inode(s, 2);
  struct gi_fop *f = gi_fop_new(s->graph, GI_FOP_FSTAT);

  assert_null(gi_fop_inode(f)); /* it names nothing */
  assert_true(gi_gfid_is_none(gi_fop_gfid(f)));
  f->loc.gfid = one->gfid; /* by gfid alone: looked up, and then kept */
  assert_true(gi_gfid_equal(gi_fop_gfid(f), &one->gfid));
  assert_null(f->loc.inode);
  assert_ptr_equal(gi_fop_inode(f), one);
  assert_ptr_equal(f->loc.inode, one);
  f->fd = gi_fd_ref(fake_fd(s, 2)); /* the fd goes before the place */
  assert_ptr_equal(gi_fop_inode(f), two);
  assert_true(gi_gfid_equal(gi_fop_gfid(f), &two->gfid));
  gi_fd_unref(&f->fd);
  f->fd = gi_fd_new(s->graph, NULL, O_RDWR, 100); /* not bound yet: a file that is being created */
  assert_ptr_equal(gi_fop_inode(f), one);
  gi_fop_unref(f);
  fake_stack_free(s);
}

static void
test_places_of_a_fop(void **state)
{
  struct fake_stack *s = fake_stack_new("test/deaf", NULL, 1);
  struct gi_inode *one = fake_inode(s, 1), *two = fake_inode(s, 2);
  struct gi_fop *f = gi_fop_new(s->graph, GI_FOP_RENAME);

  assert_null(gi_loc_parent(f, &f->loc2));
  f->loc2.pargfid = one->gfid;
  f->loc2.gfid = two->gfid;
  assert_ptr_equal(gi_loc_parent(f, &f->loc2), one);
  assert_ptr_equal(gi_loc_inode(f, &f->loc2), two);
  assert_ptr_equal(f->loc2.parent, one);
  gi_fop_unref(f);
  fake_stack_free(s);
}

static void
test_detached_caller(void **state)
{
  uint32_t groups[2] = {1, 2};
  struct gi_caller who = {.uid = 7, .groups = groups, .ngroups = 2};

  gi_caller_detach(&who);
  assert_null(who.groups);
  assert_int_equal(who.ngroups, 0);
  assert_int_equal(who.uid, 7);
}

/* ---- shared dictionaries ---- */

static int64_t
value_of(const struct gi_dict *dict)
{
  int64_t v = 0;

  gi_dict_get_int(dict, "k", &v);
  return v;
}

/* A parent and two children that have its dictionary. */
static void
test_xdata_is_changed_for_nobody_else(void **state)
{
  struct fake_stack *s = fake_stack_new("test/deaf", NULL, 1);
  struct gi_fop *parent = gi_fop_new(s->graph, GI_FOP_STAT);
  struct gi_fop *one, *other;

  gi_dict_set_int(gi_fop_xdata(parent), "k", 1);
  one = gi_fop_child(parent);
  other = gi_fop_child(parent);
  gi_dict_set_int(gi_fop_xdata(one), "k", 2);
  assert_int_equal(value_of(parent->xdata), 1);
  assert_int_equal(value_of(other->xdata), 1);
  gi_dict_set_int(gi_fop_xdata(parent), "k", 3); /* the parent's is its child's too */
  assert_int_equal(value_of(other->xdata), 1);
  gi_dict_set_int(gi_fop_xdata(one), "k", 4); /* its own by now: no copy */
  assert_int_equal(value_of(one->xdata), 4);
  gi_fop_unref(one);
  gi_fop_unref(other);
  gi_fop_unref(parent);
  fake_stack_free(s);
}

/* Whoever keeps a dictionary for many operations gives each a reference. */
static void
test_kept_dict_is_not_changed(void **state)
{
  struct fake_stack *s = fake_stack_new("test/deaf", NULL, 1);
  struct gi_fop *fop = gi_fop_new(s->graph, GI_FOP_STAT);
  struct gi_dict *kept = gi_dict_new();

  gi_dict_set_int(kept, "k", 1);
  fop->xdata = gi_dict_ref(kept);
  fop->rsp.xdata = gi_dict_ref(kept);
  fop->rsp.dict = gi_dict_ref(kept);
  gi_dict_set_int(gi_fop_xdata(fop), "k", 2);
  gi_dict_set_int(gi_fop_rsp_xdata(fop), "k", 3);
  gi_dict_del(gi_dict_writable(&fop->rsp.dict), "k");
  assert_int_equal(value_of(kept), 1);
  assert_false(gi_dict_is_shared(kept));
  gi_fop_unref(fop);
  gi_dict_unref(&kept);
  fake_stack_free(s);
}

/* ---- attributes of a reply ---- */

/* Every struct gi_iatt of the reply is set; the text says which are shown, in which order. */
static const char *
shown(struct gi_fop *f)
{
  static const char *const whose[GI_WHOSE_MAX] = {"?", "object", "parent", "parent2", "object2"};
  static char text[128];
  struct gi_attr attr;

  f->rsp.stat.mode = f->rsp.pre.mode = f->rsp.post.mode = f->rsp.pre2.mode = f->rsp.post2.mode = S_IFREG;
  text[0] = '\0';
  for (unsigned at = 0; gi_reply_next_attr(f, &at, &attr);) {
    strcat(text, attr.before ? " was:" : " ");
    strcat(text, whose[attr.whose]);
  }
  return text;
}

static void
check_shown(struct fake_stack *s, enum gi_fop_kind kind, const char *want)
{
  struct gi_fop *f = gi_fop_new(s->graph, kind);

  assert_string_equal(shown(f), want);
  gi_fop_unref(f);
}

static void
test_attributes_of_a_reply(void **state)
{
  struct fake_stack *s = fake_stack_new("test/deaf", NULL, 1);

  check_shown(s, GI_FOP_STAT, " object");
  check_shown(s, GI_FOP_LOOKUP, " parent object");
  check_shown(s, GI_FOP_WRITE, " was:object object");
  check_shown(s, GI_FOP_UNLINK, " was:parent parent");
  check_shown(s, GI_FOP_CREATE, " was:parent parent object");
  check_shown(s, GI_FOP_RENAME, " was:parent was:parent2 parent parent2 object");
  check_shown(s, GI_FOP_COPY_FILE_RANGE, " was:object2 object2 object");
  check_shown(s, GI_FOP_GETXATTR, "");
  fake_stack_free(s);
}

static void
test_object_in_a_reply(void **state)
{
  struct fake_stack *s = fake_stack_new("test/deaf", NULL, 1);
  struct gi_fop *f = gi_fop_new(s->graph, GI_FOP_SETATTR);

  f->rsp.pre.mode = S_IFREG;
  assert_null(gi_reply_attr(f, GI_OF_OBJECT)); /* as it was is not as it is; the brick left out the rest */
  f->rsp.post.mode = S_IFREG;
  assert_ptr_equal(gi_reply_attr(f, GI_OF_OBJECT), &f->rsp.post);
  assert_null(gi_reply_attr(f, GI_OF_PARENT));
  gi_fop_unref(f);
  f = gi_fop_new(s->graph, GI_FOP_LOOKUP); /* a name that is not there: only the directory */
  f->rsp.post.mode = S_IFDIR;
  assert_null(gi_reply_attr(f, GI_OF_OBJECT));
  assert_ptr_equal(gi_reply_attr(f, GI_OF_PARENT), &f->rsp.post);
  gi_fop_unref(f);
  fake_stack_free(s);
}

int
main(void)
{
  gi_class_register(&deaf_class);

  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_object_of_a_fop),          cmocka_unit_test(test_places_of_a_fop),
      cmocka_unit_test(test_detached_caller),          cmocka_unit_test(test_xdata_is_changed_for_nobody_else),
      cmocka_unit_test(test_kept_dict_is_not_changed), cmocka_unit_test(test_attributes_of_a_reply),
      cmocka_unit_test(test_object_in_a_reply),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
