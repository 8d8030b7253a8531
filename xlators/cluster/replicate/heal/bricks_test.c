/* SPDX-License-Identifier: Apache-2.0
 *
 * Heals of data and metadata over real bricks: what the model bricks only
 * pretend to do (checksums, holes, attributes, locks) is storage/posix's and
 * features/locks' here.
 */
#include "xlators/cluster/replicate/testing/testbed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MIB (1u << 20)

struct run {
  struct yard *y;
  struct gi_gfid gfid;
  struct rep_heal h;
  int res;
};

static void
heal_task(void *arg)
{
  struct run *run = arg;

  rep_heal_begin(&run->h, run->y->rep, &run->gfid, GI_PID_HEAL);
  run->h.data = run->h.metadata = run->h.entry = true;
  run->res = rep_heal_inode(&run->h);
  rep_heal_end(&run->h);
}

static int
heal(struct yard *y, const char *path)
{
  struct run run = {.y = y, .gfid = yard_disk_gfid(y, 0, path)};

  yard_task(y, heal_task, &run);
  return run.res;
}

/* ---- on the bricks' disks ---- */

static void
store(struct yard *y, unsigned brick, const char *path, off_t at, uint8_t byte, size_t len)
{
  GI_CLEANUP_FREE uint8_t *data = gi_alloc(len);
  char name[PATH_MAX];
  int fd;

  yard_path(y, name, brick, path);
  fd = open(name, O_WRONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  memset(data, byte, len);
  assert_int_equal(pwrite(fd, data, len, at), (ssize_t)len);
  close(fd);
}

static void
cut(struct yard *y, unsigned brick, const char *path, off_t size)
{
  char name[PATH_MAX];

  yard_path(y, name, brick, path);
  assert_int_equal(truncate(name, size), 0);
}

static struct stat
look(struct yard *y, unsigned brick, const char *path)
{
  char name[PATH_MAX];
  struct stat st;

  yard_path(y, name, brick, path);
  assert_int_equal(lstat(name, &st), 0);
  return st;
}

static void
stale(struct yard *y, const char *path, unsigned brick, bool data, bool metadata)
{
  const int32_t slot[REP_TYPES] = {[REP_DATA] = data, [REP_META] = metadata};

  for (unsigned i = 0; i < YARD; i++)
    if (i != brick)
      yard_set_mark(y, i, path, brick, slot);
}

static void
files_of_all_sizes(void **state)
{
  static const off_t sizes[] = {0, 1, 65536, 65537, MIB, 2 * MIB + 77};

  (void)state;
  for (unsigned bad = 0; bad < YARD; bad++) {
    YARD_NEW(y, NULL);
    yard_create(y, "f", "begin");
    for (size_t a = 0; a < GI_ARRAY_LEN(sizes); a++)
      for (size_t b = 0; b < GI_ARRAY_LEN(sizes); b++) {
        for (unsigned i = 0; i < YARD; i++) {
          off_t size = sizes[i == bad ? a : b];

          cut(y, i, "f", 0);
          if (size)
            store(y, i, "f", 0, i == bad ? 'o' : 'n', (size_t)size);
        }
        stale(y, "f", bad, true, false);
        assert_int_equal(heal(y, "f"), REP_HEALED);
        yard_same(y, true);
        yard_no_marks(y);
      }
    assert_int_equal(heal(y, "f"), REP_HEAL_CLEAN);
    yard_free(y);
  }
}

static void
sparse_files(void **state)
{
  struct stat st;

  YARD_NEW(y, NULL);
  (void)state;
  yard_create(y, "f", "x");
  for (unsigned i = 0; i < 2; i++) {
    cut(y, i, "f", 0);
    cut(y, i, "f", 64 * MIB);
    store(y, i, "f", 40 * MIB + 5, 'd', 1000);
  }
  store(y, 2, "f", 2 * MIB, 'o', 3 * MIB); /* stale, where the others have a hole */
  stale(y, "f", 2, true, false);
  assert_int_equal(heal(y, "f"), REP_HEALED);
  yard_same(y, true);
  yard_no_marks(y);
  st = look(y, 2, "f");
  assert_int_equal(st.st_size, 64 * MIB);
  assert_true(st.st_blocks * 512 <= 2 * (off_t)REP_HEAL_BLOCK);
  assert_true(y->gate[0]->count[GI_FOP_READ] <= 26); /* the stale range and the data; the rest is passed */
  yard_free(y);
}

static void
attributes(void **state)
{
  char name[PATH_MAX], value[64];

  YARD_NEW(y, NULL);
  (void)state;
  yard_create(y, "f", "x");
  for (unsigned i = 0; i < YARD; i++) {
    yard_path(y, name, i, "f");
    assert_int_equal(setxattr(name, "user.same", "s", 1, 0), 0);
    if (i == 2) {
      assert_int_equal(setxattr(name, "user.old", "o", 1, 0), 0);
      assert_int_equal(setxattr(name, "trusted.older", "o", 1, 0), 0);
      continue;
    }
    assert_int_equal(setxattr(name, "user.new", "value", 5, 0), 0);
    assert_int_equal(setxattr(name, "trusted.other", "", 0, 0), 0);
    assert_int_equal(chmod(name, 04711), 0);
    assert_int_equal(chown(name, 12, 34), 0);
  }
  stale(y, "f", 2, false, true);
  assert_int_equal(heal(y, "f"), REP_HEALED);
  yard_same(y, true);
  yard_no_marks(y);
  yard_path(y, name, 2, "f");
  assert_int_equal(getxattr(name, "user.new", value, sizeof(value)), 5);
  assert_int_equal(getxattr(name, "trusted.other", value, sizeof(value)), 0);
  assert_int_equal(getxattr(name, "user.same", value, sizeof(value)), 1);
  assert_true(getxattr(name, "user.old", value, sizeof(value)) < 0);
  assert_true(getxattr(name, "trusted.older", value, sizeof(value)) < 0);
  assert_true(getxattr(name, "trusted.gfid", value, sizeof(value)) == 16);
  assert_int_equal(heal(y, "f"), REP_HEAL_CLEAN);
  yard_free(y);
}

/* A brick lost a change of them with its power: no mark says so. */
static void
attributes_that_only_one_copy_has(void **state)
{
  char name[PATH_MAX], value[64];

  YARD_NEW(y, NULL);
  (void)state;
  yard_create(y, "f", "x");
  for (unsigned i = 0; i < YARD; i++) {
    yard_path(y, name, i, "f");
    assert_int_equal(setxattr(name, "user.kept", i ? "new" : "old", 3, 0), 0);
  }
  assert_int_equal(heal(y, "f"), REP_HEALED);
  yard_same(y, true);
  yard_no_marks(y);
  yard_path(y, name, 0, "f");
  assert_int_equal(getxattr(name, "user.kept", value, sizeof(value)), 3);
  assert_memory_equal(value, "new", 3);
  assert_int_equal(heal(y, "f"), REP_HEAL_CLEAN);
  yard_free(y);
}

struct pair {
  struct run run[2];
  unsigned ended;
  bool done;
};

static void
one_of_two(void *arg)
{
  struct pair *p = arg;
  unsigned me = p->ended == 0 && !p->run[0].h.rep ? 0 : 1;

  heal_task(&p->run[me]);
  p->done = ++p->ended == 2;
}

/* Two at once: one heals; the other finds it at work, or nothing left to do. */
static void
healers_do_not_meet(void **state)
{
  struct pair p;

  YARD_NEW(y, NULL);
  (void)state;
  yard_create(y, "f", "x");
  for (unsigned i = 0; i < YARD; i++)
    store(y, i, "f", 0, i == 1 ? 'o' : 'n', 3 * MIB);
  stale(y, "f", 1, true, false);
  memset(&p, 0, sizeof(p));
  for (int i = 0; i < 2; i++)
    p.run[i] = (struct run){.y = y, .gfid = yard_disk_gfid(y, 0, "f")};
  for (int i = 0; i < 2; i++)
    gi_task_start(y->x->reactor, one_of_two, &p);
  yard_until(y, &p.done);
  assert_true(p.run[0].res >= 0 && p.run[1].res >= 0);
  assert_true(p.run[0].res == REP_HEALED || p.run[1].res == REP_HEALED);
  yard_same(y, true);
  yard_no_marks(y);
  yard_free(y);
}

static void
several_blocks_at_once(void **state)
{
  YARD_NEW(y, NULL);
  (void)state;
  yard_create(y, "f", "x");
  for (unsigned i = 0; i < 2; i++)
    store(y, i, "f", 0, 'n', 16 * MIB);
  stale(y, "f", 2, true, false);
  assert_int_equal(heal(y, "f"), REP_HEALED);
  yard_same(y, true);
  assert_true(y->gate[0]->most_in_flight > 2);
  assert_true(y->gate[0]->most_in_flight <= 6); /* the window: four blocks, and what gives back locks */
  assert_int_equal(y->rep->heal_window.used, 0);
  yard_free(y);
}

static void
a_brick_goes_away_in_the_middle(void **state)
{
  YARD_NEW(y, NULL);
  (void)state;
  yard_create(y, "f", "x");
  for (unsigned i = 0; i < 2; i++)
    store(y, i, "f", 0, 'n', 8 * MIB);
  stale(y, "f", 2, true, true);
  y->gate[2]->fail_err[GI_FOP_WRITE] = EIO;
  y->gate[2]->fail_after[GI_FOP_WRITE] = 3;
  assert_true(heal(y, "f") < 0);
  assert_true(yard_mark(y, 0, "f", 2, REP_DATA) > 0);
  assert_true(yard_mark(y, 1, "f", 2, REP_DATA) > 0);
  y->gate[2]->fail_err[GI_FOP_WRITE] = 0;
  assert_int_equal(heal(y, "f"), REP_HEALED);
  yard_same(y, true);
  yard_no_marks(y);
  yard_free(y);
}

/* Who reaches the healed name and the copy that its source accuses reads neither. */
static void
what_is_made_accuses_whom_its_source_accuses(void **state)
{
  static const int32_t missed[REP_TYPES] = {[REP_DATA] = 1, [REP_META] = 2};

  (void)state;
  YARD_NEW(y, NULL);
  yard_down(y, 2);
  yard_create(y, "f", "new");
  yard_set_mark(y, 0, "f", 1, missed);
  yard_up(y, 2);
  yard_heal_entry(y, "");
  assert_true(yard_has(y, 2, "f"));
  assert_int_equal(yard_mark(y, 2, "f", 1, REP_DATA), 1);
  assert_int_equal(yard_mark(y, 2, "f", 1, REP_META), 2);
  assert_int_equal(yard_heal(y), 0);
  yard_same(y, true);
  yard_no_marks(y);
  yard_free(y);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_of_all_sizes),
      cmocka_unit_test(sparse_files),
      cmocka_unit_test(attributes),
      cmocka_unit_test(attributes_that_only_one_copy_has),
      cmocka_unit_test(healers_do_not_meet),
      cmocka_unit_test(several_blocks_at_once),
      cmocka_unit_test(a_brick_goes_away_in_the_middle),
      cmocka_unit_test(what_is_made_accuses_whom_its_source_accuses),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
