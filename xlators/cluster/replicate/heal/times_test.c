/* SPDX-License-Identifier: Apache-2.0
 *
 * Times after a heal, where the copy it came from has missed a change of another
 * kind.
 */
#include "xlators/cluster/replicate/testing/model.h"
#include "xlators/cluster/replicate/heal/heal.h"

#include <errno.h>

extern const struct gi_xlator_class gi_xlator_export;

#define LARGE (3u << 20)
#define WRITTEN 50 /* the time of the last write */
#define GIVEN 10   /* what somebody has set since */

struct run {
  struct rig *r;
  bool data;
  int res;
};

static void
heal_task(void *arg)
{
  struct run *run = arg;
  struct rep_heal h;
  struct gi_gfid gfid;

  memset(&gfid, 5, sizeof(gfid));
  rep_heal_begin(&h, rep_of(run->r->s->x), &gfid, GI_PID_HEAL);
  h.data = run->data;
  h.metadata = true;
  run->res = rep_heal_inode(&h);
  rep_heal_end(&h);
}

static int
heal(struct rig *r, bool data)
{
  struct run run = {.r = r, .data = data, .res = -1};

  gi_task_start(r->s->x->reactor, heal_task, &run);
  fake_settle(r->s);
  return run.res;
}

static void
heals(struct rig *r, bool data)
{
  assert_int_equal(heal(r, data), REP_HEALED);
}

static struct brick_object *
object(struct rig *r, unsigned child)
{
  return brick_object(&r->brick[child], 5);
}

static void
times(struct rig *r, unsigned child, int64_t mtime, int64_t ctime)
{
  object(r, child)->stat.mtime.sec = object(r, child)->stat.atime.sec = mtime;
  object(r, child)->stat.ctime.sec = ctime;
}

static void
all_have(struct rig *r, int64_t mtime)
{
  for (unsigned i = 0; i < BRICKS; i++) {
    assert_int_equal(object(r, i)->stat.mtime.sec, mtime);
    assert_int_equal(object(r, i)->stat.atime.sec, mtime);
    rig_marks(r, i, 5, "");
  }
}

static struct rig *
rig_of(uint64_t size)
{
  struct rig *r = rig_new(NULL);

  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_data(r, i, 5, NULL, size);
  return r;
}

/* A brick died after a write, before its mark was taken back; then somebody set the times. The mark makes it the source of the data. */
static void
times_that_the_source_of_data_has_missed(void **state)
{
  static const uint64_t sizes[] = {1000, LARGE};

  (void)state;
  for (size_t k = 0; k < GI_ARRAY_LEN(sizes); k++) {
    struct rig *r = rig_of(sizes[k]);

    times(r, 0, WRITTEN, WRITTEN);
    object(r, 0)->mark[BRICKS][REP_DATA] = 1;
    for (unsigned i = 1; i < BRICKS; i++) {
      times(r, i, GIVEN, WRITTEN + 1);
      rig_blame(r, i, 5, 0, REP_META);
    }
    heals(r, true);
    all_have(r, GIVEN);
    rig_free_clean(r);
  }
}

/* Somebody who does not reach the source sets the times of the others, while it is copied from. */
static void
set_meanwhile(struct brick *b, struct gi_fop *fop, void *arg)
{
  struct rig *r = arg;

  if (fop->kind != GI_FOP_OPEN)
    return;
  b->hook = NULL;
  for (unsigned i = 1; i < BRICKS; i++) {
    times(r, i, GIVEN, WRITTEN + 1);
    rig_blame(r, i, 5, 0, REP_META);
  }
}

static void
times_that_are_set_while_data_are_healed(void **state)
{
  struct rig *r = rig_of(LARGE);

  (void)state;
  for (unsigned i = 0; i < BRICKS; i++)
    times(r, i, WRITTEN, WRITTEN);
  object(r, 0)->mark[BRICKS][REP_DATA] = 1;
  r->brick[0].hook = set_meanwhile;
  r->brick[0].hook_arg = r;
  assert_int_equal(heal(r, true), -EAGAIN);
  for (unsigned i = 1; i < BRICKS; i++)
    assert_int_equal(object(r, i)->stat.mtime.sec, GIVEN);
  heals(r, true);
  all_have(r, GIVEN);
  rig_free_clean(r);
}

/* One copy has missed a write, another that its times were set, and the third nothing. */
static void
times_of_who_has_missed_nothing(void **state)
{
  (void)state;
  for (unsigned data_first = 0; data_first < 2; data_first++) {
    struct rig *r = rig_of(1000);

    times(r, 0, WRITTEN, WRITTEN);
    times(r, 1, 1, WRITTEN + 1);
    times(r, 2, GIVEN, WRITTEN + 1);
    rig_blame(r, 0, 5, 1, REP_DATA);
    rig_blame(r, 2, 5, 1, REP_DATA);
    rig_blame(r, 1, 5, 0, REP_META);
    rig_blame(r, 2, 5, 0, REP_META);
    if (!data_first)
      heals(r, false);
    heals(r, true);
    all_have(r, GIVEN);
    rig_free_clean(r);
  }
}

/* Where every copy has missed something, those of the source. */
static void
times_of_the_source_where_all_have_missed_something(void **state)
{
  struct rig *r = rig_of(1000);

  (void)state;
  for (unsigned i = 0; i < BRICKS; i++)
    times(r, i, i ? GIVEN : WRITTEN, WRITTEN);
  for (unsigned i = 1; i < BRICKS; i++) {
    rig_blame(r, 0, 5, i, REP_DATA);
    rig_blame(r, i, 5, 0, REP_META);
  }
  heals(r, true);
  all_have(r, WRITTEN);
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(times_that_the_source_of_data_has_missed),
      cmocka_unit_test(times_that_are_set_while_data_are_healed),
      cmocka_unit_test(times_of_who_has_missed_nothing),
      cmocka_unit_test(times_of_the_source_where_all_have_missed_something),
  };

  gi_class_register(&gi_xlator_export);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
