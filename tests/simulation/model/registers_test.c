/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of registers: what it complains about, and what it must not.
 * Three bricks, of which two are enough.
 */
#include "tests/simulation/model/registers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define FILE_NO 3
#define AT 7 /* its sector */

struct bench {
  struct sim_world *w;
  struct sim_model *m;
  unsigned told;                     /* violations that were expected */
  uint8_t data[8][SIM_SECTOR_BYTES]; /* of each write, by number */
};

static int
setup(void **state)
{
  struct bench *t = gi_new(struct bench);
  t->w = sim_world_new(1);
  t->m = sim_model_new(t->w);
  *state = t;
  return 0;
}

static int
teardown(void **state)
{
  struct bench *t = *state;
  sim_model_free(&t->m);
  sim_world_free(&t->w);
  gi_free(t);
  return 0;
}

/* A write that these bricks store and that is acknowledged. */
static uint64_t
put(struct bench *t, uint32_t bricks)
{
  uint8_t data[SIM_SECTOR_BYTES];
  uint64_t number = sim_model_write(t->m, 0, FILE_NO, AT, 1, data);
  memcpy(t->data[number], data, sizeof(data));
  for (unsigned b = 0; b < 3; b++)
    if (bricks & 1u << b)
      sim_model_stored(t->m, b, data);
  sim_model_written(t->m, number, 0);
  return number;
}

static enum sim_left
two_of_three(void *arg, unsigned file, unsigned sector, uint32_t bricks)
{
  (void)arg;
  assert_int_equal(file, FILE_NO);
  assert_int_equal(sector, AT);
  return bricks == 0 ? SIM_LEFT_NOWHERE : __builtin_popcount(bricks) < 2 ? SIM_LEFT_ON_FEW : SIM_LEFT;
}

static void
lose(struct bench *t, unsigned brick, uint64_t number)
{
  sim_model_lost(t->m, brick, t->data[number], two_of_three, NULL);
}

static void
sync_file(struct bench *t)
{
  sim_model_synced(t->m, 0, FILE_NO, sim_model_now(t->m));
}

/* Another client reads what that write left there; 0: what was there before all. */
static void
get(struct bench *t, uint64_t number)
{
  struct sim_reader reader = {.name = "reader", .number = 1, .opened = sim_model_now(t->m), .begin = sim_model_now(t->m)};
  sim_model_check(t->m, &reader, FILE_NO, AT, 1, t->data[number], SIM_SECTOR_BYTES);
}

static void
expect(const struct bench *t)
{
  assert_int_equal(t->w->violations, t->told);
}

static void
expect_violation(struct bench *t)
{
  t->told++;
  expect(t);
}

static void
test_read(void **state)
{
  struct bench *t = *state;
  get(t, put(t, 7));
  expect(t);
  uint64_t newer = put(t, 7);
  get(t, newer - 1);
  expect_violation(t);
  get(t, 0);
  expect_violation(t);
  memset(t->data[newer], 1, SIM_SECTOR_BYTES);
  get(t, newer);
  expect_violation(t);
}

static void
told_size(struct bench *t, uint64_t sectors)
{
  struct sim_reader reader = {.name = "reader", .number = 1, .opened = sim_model_now(t->m), .begin = sim_model_now(t->m)};
  sim_model_check_size(t->m, &reader, FILE_NO, sectors * SIM_SECTOR_BYTES);
}

static void
test_size(void **state)
{
  struct bench *t = *state;
  uint8_t data[SIM_SECTOR_BYTES];
  told_size(t, 0);
  put(t, 7);
  told_size(t, AT + 1);
  expect(t);
  told_size(t, AT);
  expect_violation(t);
  told_size(t, AT + 2);
  expect_violation(t);
  sim_model_write(t->m, 0, FILE_NO, AT + 1, 1, data);
  told_size(t, AT + 2);
  expect(t);
}

static void
test_lost_while_enough_have_it(void **state)
{
  struct bench *t = *state;
  lose(t, 0, put(t, 7));
  get(t, 0);
  expect_violation(t);
}

static void
test_lost_by_too_many(void **state)
{
  struct bench *t = *state;
  lose(t, 0, put(t, 3));
  get(t, 0);
  expect(t);
}

/* What is synced must be there whatever disks lose later. */
static void
test_synced(void **state)
{
  struct bench *t = *state;
  uint64_t number = put(t, 7);
  sync_file(t);
  lose(t, 0, number);
  lose(t, 1, number);
  sim_model_sync_failed(t->m, FILE_NO);
  get(t, 0);
  expect_violation(t);
}

/* With the newest goes what it had overwritten, unsynced as well; not what was synced. */
static void
test_lost_with_what_is_below(void **state)
{
  struct bench *t = *state;
  uint64_t synced = put(t, 7);
  sync_file(t);
  put(t, 3);
  lose(t, 0, put(t, 3));
  get(t, synced);
  expect(t);
  get(t, 0);
  expect_violation(t);
}

static void
test_sync_failed_after_the_loss(void **state)
{
  struct bench *t = *state;
  lose(t, 0, put(t, 7));
  sim_model_sync_failed(t->m, FILE_NO);
  get(t, 0);
  expect(t);
}

/* Whoever wrote it is told, by one sync that fails; not so others, and not a writer that is another process by now. */
static void
test_a_loss_is_told(void **state)
{
  uint8_t other[SIM_SECTOR_BYTES];
  struct bench *t = *state;
  lose(t, 0, put(t, 3));
  sync_file(t);
  lose(t, 0, put(t, 1));
  sim_model_synced(t->m, 1, FILE_NO, sim_model_now(t->m));
  sim_model_synced(t->m, 0, FILE_NO + 1, sim_model_now(t->m));
  expect(t);
  sync_file(t);
  expect_violation(t);
  sim_model_sync_failed(t->m, FILE_NO);
  sync_file(t);
  put(t, 1); /* may be on the disk, although nobody has asked for that */
  sim_model_written(t->m, sim_model_write(t->m, 1, FILE_NO, AT, 1, other), 0);
  sim_model_lost(t->m, 0, other, two_of_three, NULL);
  sync_file(t);
  lose(t, 0, put(t, 1));
  sim_model_writer_anew(t->m, 0);
  sync_file(t);
  expect(t);
}

/* The failure was told, so a disk may lose it after that, and a sync that succeeds later promises nothing of it. */
static void
test_lost_after_a_sync_failed(void **state)
{
  struct bench *t = *state;
  uint64_t number = put(t, 7);
  sim_model_sync_failed(t->m, FILE_NO);
  lose(t, 0, number);
  sync_file(t);
  get(t, 0);
  expect(t);
}

/* A failure that was told excuses what a disk loses, not a copy that is out of date, nor what is written later, nor other files. */
static void
test_a_sync_failed_and_nothing_is_lost(void **state)
{
  struct bench *t = *state;
  put(t, 7);
  sim_model_sync_failed(t->m, FILE_NO);
  get(t, 0);
  expect_violation(t);
  lose(t, 0, put(t, 7));
  get(t, 0);
  expect_violation(t);
}

static void
test_a_sync_of_another_file_failed(void **state)
{
  struct bench *t = *state;
  uint64_t number = put(t, 7);
  sim_model_sync_failed(t->m, FILE_NO + 1);
  lose(t, 0, number);
  get(t, 0);
  expect_violation(t);
}

/* It was told, and synced all the same before a disk lost it. */
static void
test_synced_after_a_sync_failed(void **state)
{
  struct bench *t = *state;
  uint64_t number = put(t, 7);
  sim_model_sync_failed(t->m, FILE_NO);
  sync_file(t);
  lose(t, 0, number);
  get(t, 0);
  expect_violation(t);
}

static void
test_power_loss(void **state)
{
  struct bench *t = *state;
  uint64_t synced = put(t, 7);
  sync_file(t);
  put(t, 7);
  sim_model_power_loss(t->m);
  get(t, synced);
  expect(t);
  get(t, 0);
  expect_violation(t);
}

/* Of files in blocks another client's sync says nothing, nor does that of the same one after it was killed. */
static void
test_own_syncs(void **state)
{
  struct bench *t = *state;
  sim_model_own_syncs(t->m);
  put(t, 7);
  sim_model_synced(t->m, 1, FILE_NO, sim_model_now(t->m));
  sim_model_writer_anew(t->m, 0);
  sync_file(t);
  sim_model_power_loss(t->m);
  get(t, 0);
  expect(t);
  put(t, 7);
  sync_file(t);
  sim_model_power_loss(t->m);
  get(t, 0);
  expect_violation(t);
}

/* ---- writes that are answered early ---- */

static uint64_t
put_early(struct bench *t)
{
  uint8_t data[SIM_SECTOR_BYTES];
  uint64_t number = sim_model_write(t->m, 0, FILE_NO, AT, 1, data);
  memcpy(t->data[number], data, sizeof(data));
  sim_model_written_early(t->m, number);
  return number;
}

static void
store(struct bench *t, uint64_t number, uint32_t bricks)
{
  for (unsigned b = 0; b < 3; b++)
    if (bricks & 1u << b)
      sim_model_stored(t->m, b, t->data[number]);
}

/* The writer itself reads. */
static void
get_own(struct bench *t, uint64_t number)
{
  struct sim_reader reader = {.name = "writer", .number = 0, .opened = sim_model_now(t->m), .begin = sim_model_now(t->m)};
  sim_model_check(t->m, &reader, FILE_NO, AT, 1, t->data[number], SIM_SECTOR_BYTES);
}

struct judged {
  unsigned n;
  uint32_t bricks; /* of the last */
};

static void
judge(void *arg, uint64_t number, uint32_t bricks)
{
  struct judged *j = arg;
  (void)number;
  j->n++;
  j->bricks = bricks;
}

static struct judged
all_out(struct bench *t)
{
  struct judged j = {0};
  sim_model_out(t->m, 0, FILE_NO, sim_model_now(t->m), judge, &j);
  return j;
}

/* Its writer sees it at once; others need not before it is out, and must then. */
static void
test_early(void **state)
{
  struct bench *t = *state;
  get_own(t, put_early(t));
  get(t, 0);
  expect(t);
  get_own(t, 0);
  expect_violation(t);
  store(t, 1, 3);
  struct judged j = all_out(t);
  assert_int_equal(j.n, 1);
  assert_int_equal(j.bricks, 3);
  get(t, 0);
  expect_violation(t);
  assert_int_equal(all_out(t).n, 0); /* it is */
}

/* What it overwrites on the way is not asked for; what is left of it is. */
static void
test_early_writes_over_each_other(void **state)
{
  struct bench *t = *state;
  put_early(t);
  store(t, put_early(t), 5);
  struct judged j = all_out(t);
  assert_int_equal(j.n, 2);
  assert_int_equal(j.bricks, 5);
}

/* One is out while another is not even answered. */
static void
test_early_and_on_its_way(void **state)
{
  struct bench *t = *state;
  uint8_t data[SIM_SECTOR_BYTES];
  uint64_t number = sim_model_write(t->m, 0, FILE_NO, AT + 1, 1, data);
  store(t, put_early(t), 3);
  assert_int_equal(all_out(t).n, 1);
  sim_model_written_early(t->m, number);
  struct judged j = all_out(t);
  assert_int_equal(j.n, 1);
  assert_int_equal(j.bricks, 0);
}

/* One brick has lost it before the others have it: they have it since. If nobody has, the writer must be told. */
static void
test_early_and_lost_on_its_way(void **state)
{
  struct bench *t = *state;
  store(t, put_early(t), 4);
  lose(t, 2, 1);
  store(t, 1, 3);
  all_out(t);
  sync_file(t);
  expect(t);
  store(t, put_early(t), 4);
  lose(t, 2, 2);
  all_out(t);
  sync_file(t);
  expect_violation(t);
}

/* A write of another client may come before one that was answered early, or after. */
static void
test_early_and_another(void **state)
{
  struct bench *t = *state;
  uint8_t other[SIM_SECTOR_BYTES];
  uint64_t early = put_early(t);
  sim_model_written(t->m, sim_model_write(t->m, 1, FILE_NO, AT, 1, other), 0);
  get(t, early);
  get_own(t, early);
  expect(t);
  store(t, early, 3);
  all_out(t);
  sim_model_written(t->m, sim_model_write(t->m, 1, FILE_NO, AT, 1, other), 0);
  get(t, early);
  expect_violation(t);
}

/* A sync by another client says nothing of it. */
static void
test_early_and_synced(void **state)
{
  struct bench *t = *state;
  put_early(t);
  sim_model_synced(t->m, 1, FILE_NO, sim_model_now(t->m));
  sim_model_power_loss(t->m);
  get_own(t, 0);
  expect(t);
  put_early(t);
  all_out(t);
  sync_file(t);
  sim_model_power_loss(t->m);
  get(t, 0);
  expect_violation(t);
}

/* It goes with its client, or fails, which is counted for the file; both may come too late to undo it. */
static void
test_early_and_lost(void **state)
{
  struct bench *t = *state;
  struct gi_gfid gfid = {{1}};
  uint64_t number = put_early(t);
  sim_model_writer_anew(t->m, 0);
  get_own(t, 0);
  get_own(t, number);
  expect(t);
  number = put_early(t);
  sim_model_file_is(t->m, FILE_NO, &gfid);
  sim_model_early_lost(t->m, 1, &gfid);
  assert_int_equal(sim_model_losses(t->m, 0, FILE_NO), 0);
  get_own(t, 0);
  expect_violation(t);
  sim_model_early_lost(t->m, 0, &gfid);
  assert_int_equal(sim_model_losses(t->m, 0, FILE_NO), 1);
  assert_true(sim_model_lost_end(t->m, 0, FILE_NO) < sim_model_now(t->m));
  assert_true(sim_model_lost_end(t->m, 0, FILE_NO) > 0);
  get_own(t, 0);
  get_own(t, number);
  assert_int_equal(all_out(t).n, 0);
  expect(t);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(test_read),
      T(test_size),
      T(test_lost_while_enough_have_it),
      T(test_lost_by_too_many),
      T(test_synced),
      T(test_lost_with_what_is_below),
      T(test_sync_failed_after_the_loss),
      T(test_a_loss_is_told),
      T(test_lost_after_a_sync_failed),
      T(test_a_sync_failed_and_nothing_is_lost),
      T(test_a_sync_of_another_file_failed),
      T(test_synced_after_a_sync_failed),
      T(test_power_loss),
      T(test_own_syncs),
      T(test_early),
      T(test_early_writes_over_each_other),
      T(test_early_and_on_its_way),
      T(test_early_and_lost_on_its_way),
      T(test_early_and_another),
      T(test_early_and_synced),
      T(test_early_and_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
