/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk that fails one call while a directory is renamed: a rename that failed
 * has done nothing. The directory has its old name, and its handle leads there.
 */
#include "tests/simulation/fault/lone-brick.h"

#define ONE_IN_TEN 100000
#define RENAMES 60

static const struct gi_gfid inner = {{0xb0, 1, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 1}};

static struct gi_fop *
entry_fop(struct sim_lone *b, enum gi_fop_kind kind, const struct gi_gfid *parent, const char *name)
{
  struct gi_fop *f = gi_fop_new(b->graph, kind);

  f->loc.pargfid = *parent;
  f->loc.name = gi_fop_strdup(f, name, strlen(name));
  return f;
}

static void
make_dir(struct sim_lone *b, const char *name, const struct gi_gfid *gfid)
{
  struct gi_fop *f = entry_fop(b, GI_FOP_MKDIR, &gi_gfid_root, name);

  f->args.mode = 0755;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", gfid);
  assert_true(sim_lone_run(b, f) >= 0);
}

static int
rename_to(struct sim_lone *b, const char *old, const struct gi_gfid *parent, const char *name)
{
  struct gi_fop *f = entry_fop(b, GI_FOP_RENAME, &gi_gfid_root, old);

  f->loc2.pargfid = *parent;
  f->loc2.name = gi_fop_strdup(f, name, strlen(name));
  return sim_lone_run(b, f);
}

static void
assert_sound(struct sim_lone *b)
{
  char why[512];

  if (!sim_disk_sound(b->disk, "/b", why, sizeof(why)))
    fail_msg("%s", why);
}

/* How many renames failed of those in which the disk failed one call. `victims`: each replaces an empty directory. */
static unsigned
renames(struct sim_lone *b, unsigned seed, bool victims)
{
  unsigned failed = 0;

  for (uint8_t n = 0; n < RENAMES; n++) {
    struct gi_gfid moved = inner, victim = inner;
    uint64_t before;
    int ret;

    moved.b[15] = 100 + n;
    victim.b[14] = 100 + n;
    make_dir(b, "old", &moved);
    if (victims)
      make_dir(b, "new", &victim);
    sim_disk_set_fault(b->disk, seed % 2 ? SIM_FAULT_NAME : SIM_FAULT_NAME_SPACE, ONE_IN_TEN);
    before = b->disk->count[SIM_FAULT_NAME] + b->disk->count[SIM_FAULT_NAME_SPACE];
    ret = rename_to(b, "old", victims ? &gi_gfid_root : &inner, "new");
    sim_disk_set_fault(b->disk, SIM_FAULT_NAME, 0);
    sim_disk_set_fault(b->disk, SIM_FAULT_NAME_SPACE, 0);
    if (b->disk->count[SIM_FAULT_NAME] + b->disk->count[SIM_FAULT_NAME_SPACE] > before + 1)
      break; /* what is to be put back may fail, too */
    if (ret < 0 && victims && !sim_lone_at(b, "/b/old"))
      break; /* what it has replaced would not come back */
    if (ret < 0) {
      assert_non_null(sim_lone_at(b, "/b/old"));
      assert_sound(b);
      failed++;
      assert_true(rename_to(b, "old", victims ? &gi_gfid_root : &inner, "new") >= 0);
    }
    assert_true(sim_lone_run(b, entry_fop(b, GI_FOP_RMDIR, victims ? &gi_gfid_root : &inner, "new")) >= 0);
  }
  return failed;
}

static void
a_rename_that_failed_has_done_nothing(void **state)
{
  unsigned failed[2] = {0};

  (void)state;
  for (unsigned seed = 1; seed <= 2 * sim_lone_seeds(); seed++) {
    struct sim_lone b;
    bool victims = seed / 2 % 2;

    sim_lone_setup(&b, seed);
    assert_true(sim_lone_boot(&b));
    make_dir(&b, "inner", &inner);
    failed[victims] += renames(&b, seed, victims);
    sim_lone_halt(&b);
    sim_disk_free(&b.disk);
  }
  assert_true(failed[0] > 0 && failed[1] > 0);
}

/* What is not empty stays, with what it has, and so does what was to replace it. */
static void
a_rename_that_is_refused_has_done_nothing(void **state)
{
  struct gi_gfid old = inner, new = inner;
  struct sim_lone b;

  (void)state;
  old.b[15] = 2;
  new.b[15] = 3;
  sim_lone_setup(&b, 1);
  assert_true(sim_lone_boot(&b));
  make_dir(&b, "inner", &inner);
  make_dir(&b, "old", &old);
  make_dir(&b, "new", &new);
  assert_true(rename_to(&b, "new", &inner, "new") >= 0);
  assert_int_equal(rename_to(&b, "old", &gi_gfid_root, "inner"), -ENOTEMPTY);
  assert_sound(&b);
  assert_int_equal(rename_to(&b, "inner", &inner, "below"), -EINVAL); /* into itself */
  assert_sound(&b);
  sim_lone_halt(&b);
  sim_disk_free(&b.disk);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rename_that_failed_has_done_nothing),
      cmocka_unit_test(a_rename_that_is_refused_has_done_nothing),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
