/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of locks (replicate.md 6.2): whoever waits for a lock holds only
 * locks that come earlier, target by target and child by child, and has given
 * back everything that was granted without waiting. So clients cannot deadlock.
 */
#include "xlators/cluster/replicate/testing/model.h"

enum { DIR_A = 6, DIR_B = 7, FILE_A = 8 };

struct row {
  const char *what;
  enum gi_fop_kind kind;
  uint8_t from, to;
  const char *targets[3]; /* names in the order in which they must be locked; "*" = the whole directory */
};

/* The root has the lowest gfid. */
static const struct row rows[] = {
    {"create", GI_FOP_CREATE, 0, 0, {"new"}},
    {"link", GI_FOP_LINK, FILE_A, 0, {"new"}},
    {"unlink", GI_FOP_UNLINK, FILE_A, 0, {"f8"}},
    {"rmdir", GI_FOP_RMDIR, DIR_A, 0, {"f6", "*"}},
    {"rename", GI_FOP_RENAME, FILE_A, 0, {"f8", "new"}},
    {"rename of a directory", GI_FOP_RENAME, DIR_B, 0, {"f7", "new"}},
    {"rename onto a directory", GI_FOP_RENAME, DIR_B, DIR_A, {"f6", "f7", "*"}},
};

static struct gi_fop *
make(struct rig *r, const struct row *row)
{
  struct gi_fop *f = rig_entry(r, row->kind, 1, "new", row->from ? 0 : 9);

  if (row->kind == GI_FOP_LINK) {
    gi_loc_clear(&f->loc);
    gi_loc_set_inode(&f->loc, fake_inode(r->s, FILE_A));
    rig_name(r, f, &f->loc2, 0);
  } else if (row->from) {
    rig_name(r, f, &f->loc, row->from);
  }
  if (row->kind == GI_FOP_RENAME)
    rig_name(r, f, &f->loc2, row->to);
  return f;
}

static unsigned
count(const struct row *row)
{
  unsigned n = 0;

  while (n < 3 && row->targets[n])
    n++;
  return n;
}

static struct rig *
fresh(void)
{
  struct rig *r = rig_new(NULL);

  rig_object(r, DIR_A, S_IFDIR | 0755);
  rig_object(r, DIR_B, S_IFDIR | 0755);
  rig_object(r, FILE_A, S_IFREG | 0644);
  rig_forget(r);
  return r;
}

/* Waiting for `target` at `child`: what is held elsewhere, and that nothing else is asked for. */
static void
check_waiting(struct rig *r, const struct row *row, unsigned target, unsigned child, const struct gi_fop *fop)
{
  const char *name = fop->args.name ? fop->args.name : "*";
  unsigned seen = r->s->nseen;

  if (strcmp(name, row->targets[target]) != 0)
    fail_msg("%s: waits for %s where %s comes next", row->what, name, row->targets[target]);
  for (unsigned i = 0; i < BRICKS; i++)
    if (r->brick[i].locks != (int)(i < child ? target + 1 : target))
      fail_msg("%s: waits for %s at %u while it holds %d locks at %u", row->what, name, child, r->brick[i].locks, i);
  fake_settle(r->s);
  assert_int_equal(r->s->nseen, seen);
}

/* Somebody holds the last locks at `child`: it grants those before the `refused`-th that is tried, refuses the rest, and when waited for
 * it takes its time with every one. */
static void
contended_at(const struct row *row, unsigned child, unsigned refused)
{
  struct rig *r = fresh();
  struct gi_fop *f = make(r, row), *held;
  unsigned tried = 0, waited = 0;

  rig_hold_always(r, child, GI_FOP_ENTRYLK);
  rig_run(r, f);
  while ((held = rig_held(r, child, GI_FOP_ENTRYLK))) {
    bool refuse = held->args.cmd == GI_ENTRYLK_NB && ++tried >= refused;

    assert_int_equal(held->caller.owner.len, 8);
    if (held->args.cmd == GI_ENTRYLK_LOCK)
      check_waiting(r, row, waited++, child, held);
    rig_answer(r, child, GI_FOP_ENTRYLK, refuse ? EAGAIN : 0);
    fake_settle(r->s);
  }
  assert_int_equal(waited, count(row));
  rig_done(f, 0, 0);
  rig_free_clean(r);
}

static void
waits_in_order(void **state)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(rows); i++)
    for (unsigned child = 0; child < BRICKS; child++)
      contended_at(&rows[i], child, 1);
}

/* Only the last lock of several is refused: those granted before it go back, at that child too, before anything is waited for. */
static void
partial_sets_are_given_back(void **state)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(rows); i++)
    for (unsigned child = 0; child < BRICKS; child++)
      contended_at(&rows[i], child, count(&rows[i]));
}

/* A child that fails while it is waited for is passed over: it gets no further lock, and what it had is given back. */
static void
failing_child_is_passed_over(void **state)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(rows); i++) {
    const struct row *row = &rows[i];
    struct rig *r = fresh();
    struct gi_fop *f = make(r, row), *held;
    unsigned waited = 0;

    rig_hold_always(r, 1, GI_FOP_ENTRYLK);
    rig_run(r, f);
    while ((held = rig_held(r, 1, GI_FOP_ENTRYLK))) {
      bool wait = held->args.cmd == GI_ENTRYLK_LOCK;

      waited += wait;
      rig_answer(r, 1, GI_FOP_ENTRYLK, wait ? ENOLCK : held->args.cmd == GI_ENTRYLK_NB ? EAGAIN : 0);
      fake_settle(r->s);
    }
    assert_int_equal(waited, 1);
    rig_done(f, 0, 0);
    assert_null(strstr(r->brick[1].log, gi_fop_name(row->kind)));
    rig_marks(r, 0, 1, row->kind == GI_FOP_RENAME ? "1e2" : "1e1");
    rig_free_clean(r);
  }
}

/* Restarted while the others are waited for: its locks are gone, so it is asked for no later one, though it is up again. Else who waits
 * for all names of the directory, child by child, could have got hold of it meanwhile, and wait for us at the next. */
static void
child_that_lost_a_lock_is_passed_over(void **state)
{
  struct rig *r = fresh();
  struct gi_fop *f = make(r, &rows[4]), *held;
  unsigned waited = 0;

  rig_hold_always(r, 1, GI_FOP_ENTRYLK);
  rig_run(r, f);
  while ((held = rig_held(r, 1, GI_FOP_ENTRYLK))) {
    bool wait = held->args.cmd == GI_ENTRYLK_LOCK;

    if (wait && waited++ == 0) {
      assert_int_equal(r->brick[0].locks, 1);
      rig_down(r, 0);
      rig_up(r, 0);
    }
    rig_answer(r, 1, GI_FOP_ENTRYLK, held->args.cmd == GI_ENTRYLK_NB ? EAGAIN : 0);
    fake_settle(r->s);
  }
  assert_int_equal(waited, 2);
  rig_done(f, 0, 0);
  assert_null(strstr(r->brick[0].log, "RENAME"));
  assert_int_equal(fake_count(r->s, 0, GI_FOP_ENTRYLK), 5); /* tried and given back, and the first waited for */
  rig_marks(r, 1, 1, "0e2");
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(waits_in_order),
      cmocka_unit_test(partial_sets_are_given_back),
      cmocka_unit_test(failing_child_is_passed_over),
      cmocka_unit_test(child_that_lost_a_lock_is_passed_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
