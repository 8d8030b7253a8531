/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/nl-cache: what a listing tells of the names that are not in it.
 */
#include "tests/unit/fake.h"

#include <errno.h>

#define DIRECTORY 8

static struct fake_stack *
stack(void)
{
  return fake_stack_new("performance/nl-cache", "option cache-invalidation on\noption nl-cache-positive-entry on\n", 1);
}

static void
fill_entries(struct gi_fop *fop, void *arg)
{
  struct gi_dirent e = {.name = "name", .name_len = 4, .off = 1};

  gi_dirents_add(&fop->rsp.entries, &e, fop);
  fop->rsp.ret = 1;
  fop->rsp.err = ENOENT; /* nothing follows */
}

static void
list(struct fake_stack *s)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_READDIRP);

  gi_fop_set_fd(f, fake_fd(s, DIRECTORY));
  fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries});
  fake_submit(s, f);
}

/* Looks for a name that was not listed; whether the child was asked. */
static bool
asked(struct fake_stack *s)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  unsigned before = fake_count(s, 0, GI_FOP_LOOKUP);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "other");
  fake_submit(s, f);
  return fake_count(s, 0, GI_FOP_LOOKUP) > before;
}

static void
test_what_is_not_listed_is_not_there(void **state)
{
  struct fake_stack *s = stack();

  list(s);
  assert_false(asked(s));
  fake_stack_free(s);
}

/* A file that moves from one to another meanwhile may be in no part of the listing. */
static void
test_but_may_be_over_several_subvolumes(void **state)
{
  struct fake_stack *s = stack();
  struct gi_xlator *child = s->x->children[0];
  const struct gi_xlator_class *was = child->cls;
  struct gi_xlator_class spread = *was;

  spread.branches = true;
  child->cls = &spread;
  list(s);
  assert_true(asked(s));
  child->cls = was;
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_not_listed_is_not_there),
      cmocka_unit_test(test_but_may_be_over_several_subvolumes),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
