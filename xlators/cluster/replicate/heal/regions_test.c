/* SPDX-License-Identifier: Apache-2.0
 *
 * Heals of the regions that a copy is known to lack, over real bricks: only
 * those are read; whatever makes the memory of them doubtful leads to a whole
 * comparison; and after any history the copies are the same.
 */
#include "xlators/cluster/replicate/testing/testbed.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define KIB (1u << 10)
#define MIB (1u << 20)
#define SIZE (4 * MIB)
#define AT_ONCE "option post-op-delay-secs 0\noption quorum-type auto\n" /* sessions end with their operation */
#define LONG "option post-op-delay-secs 90\noption quorum-type auto\n"

#define YARD_WITH_FILE(var, options) \
  YARD_NEW(var, options); \
  yard_file(var, SIZE)

static void
change(struct yard *y, enum gi_fop_kind kind, uint64_t offset, uint64_t size)
{
  if (yard_submit(y, yard_data_fop(y, kind, offset, size)))
    fail_msg("operation %d at %llu: %s", kind, (unsigned long long)offset, strerror(y->err));
}

/* Heals; then everything is as it should be. The bytes that were read for it. */
static uint64_t
healed(struct yard *y, bool in_part)
{
  uint64_t part = y->rep->metrics.heal.partial, bytes = y->rep->metrics.heal.bytes_read;

  assert_int_equal(yard_heal(y), 0);
  yard_no_marks(y);
  yard_assert_same(y);
  assert_int_equal(y->rep->metrics.heal.partial - part, in_part);
  return y->rep->metrics.heal.bytes_read - bytes;
}

static bool
has_log(struct yard *y, unsigned brick, char path[PATH_MAX])
{
  struct gi_gfid gfid = yard_disk_gfid(y, brick, "f");
  char name[128], text[GI_UUID_TEXT];

  snprintf(name, sizeof(name), ".glusterfs/glusterish-regions/%s", gi_gfid_text(&gfid, text));
  yard_path(y, path, brick, name);
  return yard_has(y, brick, name);
}

static bool
remembered(struct yard *y, unsigned brick)
{
  char path[PATH_MAX];

  return has_log(y, brick, path);
}

/* ---- only what was written ---- */

static void
only_what_was_written(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  yard_down(y, 2);
  yard_put(y, 12345, 100, 7);
  yard_put(y, 2 * MIB - 1, 2, 8);
  yard_put(y, 3 * MIB, 64 * KIB, 9);
  assert_true(remembered(y, 0) && remembered(y, 1));
  assert_int_equal(yard_mark(y, 0, "f", 2, REP_DATA), 6); /* before each write, and with what it wrote */
  yard_up(y, 2);
  assert_int_equal(healed(y, true), 4 * KIB + 8 * KIB + 64 * KIB);
  assert_false(remembered(y, 0) || remembered(y, 1));
  assert_int_equal(y->rep->metrics.heal.bytes_skipped, SIZE - 76 * KIB);
  yard_free(y);
}

/* Cut, made longer, holes punched: in one session for each, as truncate to nothing would be everything. */
static void
the_end_of_the_file(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  yard_down(y, 2);
  change(y, GI_FOP_TRUNCATE, SIZE - 100 * KIB, 0);
  yard_put(y, SIZE - 50 * KIB, 10 * KIB, 3);
  change(y, GI_FOP_ZEROFILL, MIB, 10000);
  change(y, GI_FOP_DISCARD, MIB + 30000, 10000);
  yard_up(y, 2);
  assert_true(healed(y, true) < 150 * KIB);
  yard_down(y, 1);
  yard_put(y, SIZE + 70 * KIB, 10, 4);
  yard_up(y, 1);
  assert_true(healed(y, true) < 200 * KIB);
  yard_free(y);
}

static void
two_copies_are_behind(void **state)
{
  YARD_WITH_FILE(y, "option post-op-delay-secs 0\noption quorum-type none\n");

  yard_down(y, 2);
  yard_put(y, 0, 10, 1);
  yard_down(y, 1);
  yard_put(y, 3 * MIB, 10, 1);
  yard_up(y, 2);
  yard_up(y, 1);
  assert_int_equal(healed(y, true), 8 * KIB);
  yard_free(y);
}

/* ---- a copy that goes in the middle ---- */

static void
unsynced_writes_are_told(void **state)
{
  YARD_WITH_FILE(y, LONG);

  change(y, GI_FOP_FSYNC, 0, 0);
  yard_put(y, MIB, 10, 1);
  yard_down(y, 2);
  yard_put(y, 2 * MIB, 10, 2);
  yard_up(y, 2);
  yard_spoil(y, 2, MIB, NULL, 4 * KIB);
  assert_int_equal(yard_mark(y, 2, "f", YARD, REP_DATA), 1); /* its session never ended there */
  assert_int_equal(healed(y, true), 8 * KIB);
  yard_free(y);
}

static void
synced_writes_are_not_told(void **state)
{
  YARD_WITH_FILE(y, LONG);

  change(y, GI_FOP_FSYNC, 0, 0);
  for (uint64_t i = 0; i < 20; i++)
    yard_put(y, i * 100 * KIB, 10, 1);
  change(y, GI_FOP_FSYNC, 0, 0);
  yard_put(y, 3 * MIB, 10, 1);
  yard_down(y, 2);
  yard_put(y, 3 * MIB + 500 * KIB, 10, 2);
  yard_up(y, 2);
  assert_int_equal(healed(y, true), 8 * KIB);
  yard_free(y);
}

/* EIO of an fsync may be about writes of a session long ago. */
static void
a_failed_fsync_tells_nothing(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  yard_put(y, 0, 10, 1);
  yard_spoil(y, 2, MIB, NULL, 4 * KIB);
  y->gate[2]->fail_err[GI_FOP_FSYNC] = EIO;
  yard_put(y, 2 * MIB, 10, 2);
  y->gate[2]->fail_err[GI_FOP_FSYNC] = 0;
  assert_false(remembered(y, 0));
  healed(y, false);
  yard_free(y);
}

static void
a_write_that_fails_on_one(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  y->gate[1]->fail_err[GI_FOP_WRITE] = ENOSPC;
  yard_put(y, MIB, 10, 2);
  y->gate[1]->fail_err[GI_FOP_WRITE] = 0;
  assert_int_equal(healed(y, true), 4 * KIB);
  yard_free(y);
}

/* ---- doubts ---- */

static void
a_blame_without_regions(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  for (int before = 0; before < 2; before++) {
    yard_down(y, 2);
    if (before)
      yard_put(y, 10, 10, 7);
    y->rep->regions = 0; /* a client that knows nothing of them */
    yard_put(y, MIB, 10, 8 + (uint32_t)before);
    y->rep->regions = 3;
    assert_false(remembered(y, 0));
    yard_put(y, 2 * MIB, 10, 9 + (uint32_t)before);
    assert_false(remembered(y, 0));
    yard_up(y, 2);
    healed(y, false);
  }
  yard_free(y);
}

static void
a_counter_changed_by_another_brick_process(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  yard_down(y, 2);
  yard_put(y, 10, 10, 7);
  yard_set_mark(y, 0, "f", 2, (const int32_t[]){3, 0, 0});
  yard_set_mark(y, 1, "f", 2, (const int32_t[]){3, 0, 0});
  yard_spoil(y, 2, MIB, NULL, 10);
  yard_up(y, 2);
  healed(y, false);
  yard_free(y);
}

static void
another_copy_blames_more(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  yard_down(y, 2);
  yard_put(y, 10, 10, 7);
  yard_set_mark(y, 1, "f", 2, (const int32_t[]){4, 0, 0});
  yard_spoil(y, 2, MIB, NULL, 10);
  yard_up(y, 2);
  healed(y, false);
  yard_free(y);
}

static void
a_damaged_log(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  for (int kind = 0; kind < 3; kind++) {
    yard_down(y, 2);
    yard_put(y, 10, 10, 7 + (uint32_t)kind);
    for (unsigned i = 0; i < 2; i++) {
      char path[PATH_MAX];
      int fd;

      assert_true(has_log(y, i, path));
      if (kind == 0) {
        assert_int_equal(truncate(path, 20), 0);
        continue;
      }
      fd = open(path, O_WRONLY | (kind == 1 ? O_TRUNC : 0));
      assert_int_equal(pwrite(fd, "damage", 6, 21), 6);
      close(fd);
    }
    yard_up(y, 2);
    healed(y, false);
  }
  yard_free(y);
}

static void
a_stale_copy_with_changes_of_its_own(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  yard_down(y, 2);
  yard_put(y, 10, 10, 7);
  yard_spoil(y, 2, MIB, NULL, 10);
  yard_set_mark(y, 2, "f", YARD, (const int32_t[]){1, 0, 0}); /* somebody began to write to it alone, and died */
  yard_up(y, 2);
  healed(y, false);
  yard_free(y);
}

static void
a_dirty_source(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);

  yard_down(y, 2);
  yard_put(y, 10, 10, 7);
  yard_spoil(y, 2, MIB, NULL, 10);
  yard_set_mark(y, 0, "f", YARD, (const int32_t[]){1, 0, 0});
  yard_up(y, 2);
  healed(y, false);
  yard_free(y);
}

static void
a_size_that_nobody_explains(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);
  char path[PATH_MAX];

  yard_down(y, 2);
  yard_put(y, 10, 10, 7);
  yard_path(y, path, 2, "f");
  assert_int_equal(truncate(path, SIZE + 5), 0);
  yard_up(y, 2);
  healed(y, false);
  yard_down(y, 2);
  yard_put(y, 10, 10, 8);
  assert_int_equal(truncate(path, SIZE - 10 * KIB), 0); /* an append lost */
  yard_up(y, 2);
  assert_int_equal(healed(y, true), 14 * KIB + 2 * KIB);
  yard_free(y);
}

static void
without_durability(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE "option ensure-durability off\n");

  yard_down(y, 2);
  yard_put(y, 10, 10, 7);
  assert_false(remembered(y, 0));
  yard_up(y, 2);
  healed(y, false);
  yard_free(y);
}

/* ---- a heal that is not the only one at work ---- */

struct meanwhile {
  struct yard *y;
  bool done;
};

static void
fail_once(struct gi_fop *fop, void *arg)
{
  struct meanwhile *m = arg;

  if (fop->kind != GI_FOP_WRITE || m->done)
    return;
  m->done = true;
  m->y->gate[2]->fail_err[GI_FOP_WRITE] = EIO;
}

static void
a_sink_that_fails_again(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE);
  struct meanwhile m = {.y = y};

  yard_down(y, 2);
  yard_put(y, 10, 10, 7);
  yard_put(y, MIB, 200 * KIB, 7);
  yard_up(y, 2);
  y->gate[2]->seen = fail_once;
  y->gate[2]->arg = &m;
  assert_true(yard_heal(y) > 0);
  assert_true(m.done);
  yard_put(y, 2 * MIB, 10, 3);
  y->gate[2]->fail_err[GI_FOP_WRITE] = 0;
  assert_int_equal(yard_heal(y), 0);
  yard_no_marks(y);
  yard_assert_same(y);
  yard_free(y);
}

static void
more_ranges_than_a_session_tells(void **state)
{
  YARD_WITH_FILE(y, LONG);

  yard_down(y, 2);
  for (uint64_t i = 0; i < 600; i++)
    yard_put(y, (i * 7919 % 1024) * 4 * KIB, 10, (uint32_t)i);
  yard_up(y, 2);
  assert_int_equal(yard_heal(y), 0);
  yard_assert_same(y);
  yard_free(y);
}

/* ---- any history ---- */

static void
random_change(struct yard *y, uint64_t *seed)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_TRUNCATE, GI_FOP_FTRUNCATE, GI_FOP_DISCARD,
                                           GI_FOP_ZEROFILL, GI_FOP_FALLOCATE, GI_FOP_FSYNC};
  uint32_t what = yard_draw(seed, 24);
  uint64_t offset = yard_draw(seed, SIZE + SIZE / 8), size = 1 + yard_draw(seed, 20000);
  struct gi_fop *fop;

  if (what < GI_ARRAY_LEN(kinds)) {
    fop = yard_data_fop(y, kinds[what], what < 2 ? SIZE - offset / 16 : offset, size);
  } else {
    fop = yard_write_fop(y, offset, size, yard_draw(seed, 1u << 30));
    if (what > 21)
      fop->args.flags = O_APPEND;
  }
  yard_submit(y, fop); /* may fail: then nothing is promised */
}

static void
any_history(void **state)
{
  uint64_t partial = 0;

  for (uint64_t run = 1; run <= 12; run++) {
    uint64_t seed = run * 977;
    YARD_WITH_FILE(y, run % 3 ? AT_ONCE : LONG);

    unsigned away = yard_draw(&seed, YARD);

    for (int round = 0; round < 6; round++) {
      for (uint32_t n = yard_draw(&seed, 4); n; n--)
        random_change(y, &seed);
      if (yard_draw(&seed, 4))
        yard_down(y, away);
      else
        y->gate[away]->fail_err[GI_FOP_WRITE] = EIO;
      for (uint32_t n = 1 + yard_draw(&seed, 8); n; n--)
        random_change(y, &seed);
      y->gate[away]->fail_err[GI_FOP_WRITE] = 0;
      if (y->gate[away]->shut)
        yard_up(y, away);
      for (uint32_t n = yard_draw(&seed, 3); n; n--)
        random_change(y, &seed); /* it takes part, and is behind */
      if (yard_draw(&seed, 3) == 0)
        continue; /* it goes again before it is healed */
      assert_int_equal(yard_heal(y), 0);
      yard_assert_same(y);
      away = yard_draw(&seed, YARD);
    }
    assert_int_equal(yard_heal(y), 0);
    yard_no_marks(y);
    yard_assert_same(y);
    partial += y->rep->metrics.heal.partial;
    yard_free(y);
  }
  assert_true(partial > 20);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_what_was_written),
      cmocka_unit_test(the_end_of_the_file),
      cmocka_unit_test(two_copies_are_behind),
      cmocka_unit_test(unsynced_writes_are_told),
      cmocka_unit_test(synced_writes_are_not_told),
      cmocka_unit_test(a_failed_fsync_tells_nothing),
      cmocka_unit_test(a_write_that_fails_on_one),
      cmocka_unit_test(a_blame_without_regions),
      cmocka_unit_test(a_counter_changed_by_another_brick_process),
      cmocka_unit_test(another_copy_blames_more),
      cmocka_unit_test(a_damaged_log),
      cmocka_unit_test(a_stale_copy_with_changes_of_its_own),
      cmocka_unit_test(a_dirty_source),
      cmocka_unit_test(a_size_that_nobody_explains),
      cmocka_unit_test(without_durability),
      cmocka_unit_test(a_sink_that_fails_again),
      cmocka_unit_test(more_ranges_than_a_session_tells),
      cmocka_unit_test(any_history),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
