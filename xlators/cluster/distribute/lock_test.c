/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks between clients over two fake subvolumes.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

static struct gi_owner owner[8];
static unsigned owners;

static void
see_owner(struct gi_fop *fop, void *arg)
{
  if (fop->args.type != GI_LK_UNLOCK)
    owner[owners++ % GI_ARRAY_LEN(owner)] = fop->caller.owner;
}

#define OTHER_DIR 20

/* Names of two directories, on one subvolume. */
static void
lock_two(void *arg)
{
  struct fake_stack *s = arg;
  struct gi_fop *base = gi_fop_new(s->graph, GI_FOP_IPC);
  struct gi_inode *dir = fake_inode(s, DIR_GFID), *other = fake_inode(s, OTHER_DIR);
  struct gi_loc one = {.name = name_on(0, 2), .parent = dir, .pargfid = dir->gfid},
                two = {.name = one.name, .parent = other, .pargfid = other->gfid};
  struct di_locks locks = {0};

  assert_int_equal(di_lock_name(di_of(s->x), base, &locks, 0, &one), 0);
  assert_int_equal(di_lock_name(di_of(s->x), base, &locks, 0, &two), 0);
  di_unlock(di_of(s->x), base, &locks);
  gi_fop_unref(base);
}

/* Somebody may wait between both for one who has the second: of another owner he would wait for the first, too. */
static void
test_locks_that_are_held_together_have_one_owner(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);

  owners = 0;
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &parts[0]});
  fake_script_always(s, 0, GI_FOP_INODELK, (struct fake_reply){.fill = see_owner});
  for (unsigned i = 0; i < 2; i++) {
    gi_task_start(s->x->reactor, lock_two, s);
    fake_settle(s);
  }
  assert_int_equal(owners, 4);
  assert_memory_equal(&owner[0], &owner[1], sizeof(owner[0]));
  assert_memory_equal(&owner[2], &owner[3], sizeof(owner[0]));
  assert_memory_not_equal(&owner[1], &owner[2], sizeof(owner[0]));
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_locks_that_are_held_together_have_one_owner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
