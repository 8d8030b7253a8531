/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves that did not end, of files whose source shows no marks any more, over
 * two fake subvolumes.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

#include "libglusterish/extension.h"

/* Source and target: what they show. */
static struct copy {
  unsigned child;
  uint32_t mode;
  bool named;  /* the other one */
  bool marked; /* it keeps the mode of a source */
} copies[2];

static unsigned source;

static void
say_copy(struct gi_fop *fop, void *arg)
{
  const struct copy *c = arg;
  const char *other = c->child ? "child-0" : "child-1";

  attr_of(&fop->rsp.stat, FILE_GFID, c->mode);
  if (c->named)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", other, (uint32_t)strlen(other) + 1);
  if (c->marked)
    gi_dict_set_str(gi_fop_rsp_xdata(fop), KEY ".mode", "644");
}

static void
keep_mode(struct gi_fop *fop, void *arg)
{
  assert_non_null(gi_dict_get(fop->xdata, GI_DURABLE_KEY)); /* or what was the file is there again after a loss of power */
  ((struct copy *)arg)->mode = fop->args.iatt.mode;
}

static void
drop_name(struct gi_fop *fop, void *arg)
{
  if (strcmp(fop->args.name, KEY ".linkto") == 0)
    ((struct copy *)arg)->named = false;
}

/* The mode of the source was set since, or not; the target has become the file. */
static struct fake_stack *
stack_of_copies(unsigned from, bool marked)
{
  struct fake_stack *s = stack_with_dir(2, 0);

  source = from;
  copies[from] = (struct copy){.child = from, .mode = S_IFREG | 0600, .named = marked, .marked = marked};
  copies[!from] = (struct copy){.child = !from, .mode = S_IFREG | 0644, .named = true};
  for (unsigned i = 0; i < 2; i++) {
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_copy, .arg = &copies[i]});
    fake_script_always(s, i, GI_FOP_SETATTR, (struct fake_reply){.fill = keep_mode, .arg = &copies[i]});
    fake_script_always(s, i, GI_FOP_REMOVEXATTR, (struct fake_reply){.fill = drop_name, .arg = &copies[i]});
  }
  return s;
}

static void
expect_source(struct fake_stack *s)
{
  assert_ptr_equal(di_inode_of(di_of(s->x), fake_inode(s, FILE_GFID))->cached, s->x->children[source]);
  assert_int_equal(copies[source].mode, S_IFREG | 0600);
}

/* What is done to the source since is not done to the target: the source is the file. Nor is it known of a brick that has lost all marks with its
 * power since when it lacks them. */
static void
test_source_that_has_lost_its_marks_is_the_file(void **state)
{
  (void)state;
  for (unsigned i = 0; i < 8; i++) {
    bool marked = i & 1;
    struct fake_stack *s = stack_of_copies(i >> 1 & 1, marked);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(i >> 2, 2));

    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(f->rsp.stat.mode, S_IFREG | 0600);
    expect_source(s);
    assert_false(copies[source].named);
    if (marked || source != i >> 2) /* else nobody has looked at the target */
      assert_int_equal(copies[!source].mode, S_IFREG | GI_LINKTO_MODE);
    assert_true(copies[!source].named);
    assert_int_equal(fake_count(s, source, GI_FOP_SETATTR), 0);
    /* Other bricks may have them still. */
    assert_int_equal(fake_count(s, source, GI_FOP_REMOVEXATTR), marked ? 2 : 0);
    fake_stack_free(s);
  }
}

/* What has moved, and was found by a brick that missed which linkto file it is. */
static void
test_source_with_the_mode_of_a_linkto_file_has_moved(void **state)
{
  struct fake_stack *s = stack_of_copies(0, false);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 2));

  (void)state;
  copies[0].mode = S_IFREG | GI_LINKTO_MODE;
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(copies[1].mode, S_IFREG | 0644);
  assert_false(copies[1].named);
  assert_ptr_equal(di_inode_of(di_of(s->x), fake_inode(s, FILE_GFID))->cached, s->x->children[1]);
  fake_stack_free(s);
}

/* By its gfid, whichever is asked first. */
static void
test_source_without_marks_counts(void **state)
{
  (void)state;
  for (unsigned from = 0; from < 2; from++) {
    struct fake_stack *s = stack_of_copies(from, false);
    struct gi_fop *f = fake_fop(s, GI_FOP_STAT);

    gi_loc_set_inode(&f->loc, fake_inode(s, FILE_GFID));
    fake_submit(s, f);
    assert_int_equal(fake_count(s, from, GI_FOP_STAT), 1);
    expect_source(s);
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_source_that_has_lost_its_marks_is_the_file),
      cmocka_unit_test(test_source_with_the_mode_of_a_linkto_file_has_moved),
      cmocka_unit_test(test_source_without_marks_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
