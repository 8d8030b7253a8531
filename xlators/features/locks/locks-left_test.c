/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client that is gone had locked.
 */
#include "xlators/features/locks/locks-fixture.h"

static void
lock_name(struct fake_stack *s, unsigned who, uint32_t cmd, const char *domain, const char *name)
{
  struct gi_fop *f = owned(s, GI_FOP_ENTRYLK, who);

  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->args.cmd = cmd;
  f->args.type = 1;
  f->args.name = name;
  f->args.domain = domain;
  fake_submit(s, f);
  ok(f);
}

static void
lock_inode(struct fake_stack *s, unsigned who, uint64_t start)
{
  struct gi_fop *f = owned(s, GI_FOP_INODELK, who);

  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->args.cmd = GI_LKCMD_SET;
  f->args.flock = (struct gi_flock){.type = GI_LK_WRITE, .start = start};
  f->args.domain = "vol-replicate-0";
  fake_submit(s, f);
  ok(f);
}

static void
goes(struct fake_stack *s, unsigned who, unsigned told)
{
  gi_notify_down(s->parent, GI_EVENT_CLIENT_GONE, &client[who]);
  assert_int_equal(s->events[GI_EVENT_LEFT], told);
}

/* Names and attributes are changed without a mark before. */
static void
test_changes_of_names_and_attributes_are_told(void **state)
{
  struct fake_stack *s = fake_stack_new("features/locks", NULL, 1);

  lock_name(s, 0, GI_ENTRYLK_LOCK, "vol-replicate-0", "f");
  lock_inode(s, 1, (uint64_t)INT64_MAX - 1);
  goes(s, 0, 1);
  goes(s, 1, 2);
  fake_stack_free(s);
}

/* Applications lock for themselves; data is marked before; healers lock all names; distribution locks in domains of its own. What was given back is over. */
static void
test_nothing_else_is(void **state)
{
  struct fake_stack *s = fake_stack_new("features/locks", NULL, 1);

  ok(lk(s, fake_fd(s, 5), 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 10));
  lock_inode(s, 0, 0);
  lock_name(s, 0, GI_ENTRYLK_LOCK, "vol-replicate-0", NULL);
  goes(s, 0, 0);
  lock_name(s, 1, GI_ENTRYLK_LOCK, "dht.entry.sync", "f");
  lock_name(s, 1, GI_ENTRYLK_LOCK, "vol-replicate-0:self-heal", "f");
  goes(s, 1, 0);
  lock_name(s, 2, GI_ENTRYLK_LOCK, "vol-replicate-0", "g");
  lock_name(s, 2, GI_ENTRYLK_UNLOCK, "vol-replicate-0", "g");
  goes(s, 2, 0);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_changes_of_names_and_attributes_are_told),
      cmocka_unit_test(test_nothing_else_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
