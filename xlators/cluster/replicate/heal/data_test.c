/* SPDX-License-Identifier: Apache-2.0
 *
 * Heals of data and metadata against the model bricks: every set of stale
 * copies, sinks and sources that fail midway, writers between two blocks, other
 * healers, counters that are not counters; and how many rounds it takes.
 */
#include "xlators/cluster/replicate/testing/model.h"
#include "xlators/cluster/replicate/heal/heal.h"

extern const struct gi_xlator_class gi_xlator_export;

#define MIB (1u << 20)

/* ---- running a heal ---- */

struct run {
  struct rig *r;
  struct rep_heal h;
  uint8_t n;
  enum gi_heal_op op;
  int op_child;
  int res;
  bool done;
};

static void
heal_task(void *arg)
{
  struct run *run = arg;
  struct gi_gfid gfid;

  memset(&gfid, run->n, sizeof(gfid));
  rep_heal_begin(&run->h, rep_of(run->r->s->x), &gfid, GI_PID_HEAL);
  run->h.data = run->h.metadata = run->h.entry = true;
  run->h.op = run->op;
  run->h.op_child = run->op_child;
  run->res = rep_heal_inode(&run->h);
  rep_heal_end(&run->h);
  run->done = true;
}

static void
start(struct run *run, struct rig *r)
{
  *run = (struct run){.r = r, .n = 5, .op_child = -1};
  gi_task_start(r->s->x->reactor, heal_task, run);
  fake_settle(r->s);
}

static int
heal(struct rig *r)
{
  struct run run;

  start(&run, r);
  assert_true(run.done);
  return run.res;
}

/* ---- contents ---- */

static uint8_t *
text(uint64_t size, uint8_t seed)
{
  uint8_t *data = gi_alloc(size + 1);

  for (uint64_t i = 0; i < size; i++)
    data[i] = (uint8_t)(seed + i % 251 + 1);
  return data;
}

static void
contents(struct rig *r, unsigned child, uint64_t size, uint8_t seed)
{
  GI_CLEANUP_FREE uint8_t *data = text(size, seed);

  rig_data(r, child, 5, data, size);
}

static struct brick_object *
object(struct rig *r, unsigned child)
{
  return brick_object(&r->brick[child], 5);
}

static void
assert_same(struct rig *r, unsigned a, unsigned b)
{
  assert_int_equal(object(r, a)->stat.size, object(r, b)->stat.size);
  assert_memory_equal(object(r, a)->data, object(r, b)->data, object(r, a)->stat.size);
}

static void
assert_contents(struct rig *r, unsigned child, uint64_t size, uint8_t seed)
{
  GI_CLEANUP_FREE uint8_t *data = text(size, seed);

  assert_int_equal(object(r, child)->stat.size, size);
  assert_memory_equal(object(r, child)->data, data, size);
}

static void
no_marks(struct rig *r)
{
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 5, "");
}

static struct rig *
rig_with(const char *options, uint64_t size)
{
  struct rig *r = rig_new(options);

  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < BRICKS; i++)
    contents(r, i, size, 1);
  rig_forget(r);
  return r;
}

static void
blame_all(struct rig *r, uint32_t good, uint32_t bad, unsigned slot)
{
  rep_foreach(i, good) rep_foreach(j, bad) rig_blame(r, i, 5, j, slot);
}

/* ---- every combination of stale copies ---- */

static void
stale_sets(uint64_t size, uint64_t stale_size)
{
  for (uint32_t bad = 1; bad < 7; bad++) {
    struct rig *r = rig_with(NULL, size);

    rep_foreach(i, bad) contents(r, i, stale_size, 99);
    blame_all(r, 7 & ~bad, bad, 0);
    assert_int_equal(heal(r), REP_HEALED);
    for (unsigned i = 0; i < BRICKS; i++)
      assert_contents(r, i, size, 1);
    no_marks(r);
    assert_int_equal(heal(r), REP_HEAL_CLEAN);
    rig_free_clean(r);
  }
}

static void
every_set_of_stale_copies(void **state)
{
  static const uint64_t sizes[] = {0, 1, 1000, 65536, 65537, MIB, 3 * MIB + 5};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(sizes); i++)
    for (size_t j = 0; j < GI_ARRAY_LEN(sizes); j++)
      stale_sets(sizes[i], sizes[j]);
}

static void
all_blame_all_is_left_alone(void **state)
{
  struct rig *r = rig_with(NULL, 1000);
  struct run run;

  (void)state;
  contents(r, 1, 2000, 7);
  contents(r, 2, 500, 8);
  for (uint32_t i = 0; i < BRICKS; i++)
    blame_all(r, 1u << i, 7 & ~(1u << i), 0);
  start(&run, r);
  assert_int_equal(run.res, -EIO);
  assert_true(run.h.split_brain);
  assert_contents(r, 0, 1000, 1);
  assert_contents(r, 1, 2000, 7);
  assert_contents(r, 2, 500, 8);
  rig_marks(r, 0, 5, "1d1,2d1");
  rig_marks(r, 2, 5, "0d1,1d1");
  rig_free_clean(r);
}

static void
policy_resolves_split_brain(void **state)
{
  struct rig *r = rig_with("option favorite-child-policy size\n", 1000);

  (void)state;
  contents(r, 1, 2000, 7);
  for (uint32_t i = 0; i < BRICKS; i++)
    blame_all(r, 1u << i, 7 & ~(1u << i), 0);
  object(r, 2)->mark[BRICKS][0] = 3;
  assert_int_equal(heal(r), REP_HEALED);
  for (unsigned i = 0; i < BRICKS; i++)
    assert_contents(r, i, 2000, 7);
  no_marks(r);
  rig_free_clean(r);
}

/* ---- rounds ---- */

static void
small_file_takes_few_rounds(void **state)
{
  struct rig *r = rig_with(NULL, 1000);

  (void)state;
  contents(r, 2, 500, 9);
  blame_all(r, 3, 4, 0);
  assert_int_equal(heal(r), REP_HEALED);
  rig_log(r, 0, "LOOKUP LH:0 L:0 LOOKUP READ X:2d-1 U:0 UH:0");
  rig_log(r, 1, "LOOKUP LH:0 L:0 LOOKUP X:2d-1 U:0 UH:0");
  rig_log(r, 2, "LOOKUP LH:0 L:0 LOOKUP TRUNCATE WRITE FSYNC SETATTR X:0 U:0 UH:0");
  no_marks(r);
  rig_free_clean(r);
}

static void
a_new_file_needs_no_checksums(void **state)
{
  struct rig *r = rig_with(NULL, 2 * MIB + 10);

  (void)state;
  rig_data(r, 2, 5, "", 0);
  blame_all(r, 3, 4, 0);
  assert_int_equal(heal(r), REP_HEALED);
  assert_same(r, 0, 2);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_RCHECKSUM), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_READ), 3);
  assert_int_equal(fake_count(r->s, 2, GI_FOP_WRITE), 3);
  rig_log(r, 1,
          "LOOKUP LH:0 L:0 LOOKUP U:0 L:0+1048576 U:0+1048576 L:1048576+1048576 U:1048576+1048576 L:2097152+10 "
          "U:2097152+10 L:0 STAT X:2d-1 U:0 UH:0");
  rig_free_clean(r);
}

static void
only_differing_blocks_are_copied(void **state)
{
  struct rig *r = rig_with(NULL, 5 * MIB);

  (void)state;
  brick_store(object(r, 1), 2 * MIB + 77, "other", 5);
  blame_all(r, 5, 2, 0);
  assert_int_equal(heal(r), REP_HEALED);
  assert_same(r, 0, 1);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_RCHECKSUM), 5);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_READ), 1);
  assert_int_equal(fake_count(r->s, 1, GI_FOP_WRITE), 1);
  assert_int_equal(rep_of(r->s->x)->metrics.heal.bytes_compared, 4 * MIB);
  assert_int_equal(rep_of(r->s->x)->metrics.heal.bytes_written, MIB);
  assert_int_equal(rep_of(r->s->x)->metrics.heal.files, 1);
  assert_int_equal(rep_of(r->s->x)->heal_window.used, 0);
  no_marks(r);
  rig_free_clean(r);
}

static void
full_copies_without_asking(void **state)
{
  struct rig *r = rig_with("option data-self-heal-algorithm full\n", 2 * MIB);

  (void)state;
  blame_all(r, 5, 2, 0);
  assert_int_equal(heal(r), REP_HEALED);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_RCHECKSUM), 0);
  assert_int_equal(fake_count(r->s, 1, GI_FOP_WRITE), 2);
  rig_free_clean(r);
}

/* ---- holes ---- */

static void
holes_stay_holes(void **state)
{
  struct rig *r = rig_with(NULL, 0);

  (void)state;
  for (unsigned i = 0; i < 2; i++) {
    rig_data(r, i, 5, NULL, 8 * MIB);
    brick_store(object(r, i), 3 * MIB, "island", 6);
    object(r, i)->data[7 * MIB] = 0;
  }
  blame_all(r, 3, 4, 0);
  assert_int_equal(heal(r), REP_HEALED);
  assert_same(r, 0, 2);
  assert_true(object(r, 2)->stat.blocks * 512 <= 2 * REP_HEAL_BLOCK);
  assert_int_equal(fake_count(r->s, 2, GI_FOP_WRITE), 1);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_READ), 1); /* the rest is passed by SEEK */
  assert_int_equal(fake_count(r->s, 0, GI_FOP_SEEK), 2);
  rig_free_clean(r);
}

static void
stale_data_where_the_source_has_a_hole(void **state)
{
  struct rig *r = rig_with(NULL, 0);

  (void)state;
  for (unsigned i = 0; i < 2; i++)
    rig_data(r, i, 5, NULL, 4 * MIB);
  contents(r, 2, 4 * MIB, 3);
  blame_all(r, 3, 4, 0);
  assert_int_equal(heal(r), REP_HEALED);
  assert_same(r, 0, 2);
  assert_int_equal(object(r, 2)->stat.blocks, 0);
  assert_int_equal(fake_count(r->s, 2, GI_FOP_WRITE), 0);
  rig_free_clean(r);
}

static void
without_discard_and_seek(void **state)
{
  struct rig *r = rig_with(NULL, 0);

  (void)state;
  for (unsigned i = 0; i < 2; i++)
    rig_data(r, i, 5, NULL, MIB);
  contents(r, 2, MIB, 3);
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_err[GI_FOP_SEEK] = r->brick[i].fail_err[GI_FOP_DISCARD] = EOPNOTSUPP;
  blame_all(r, 3, 4, 0);
  assert_int_equal(heal(r), REP_HEALED);
  assert_same(r, 0, 2);
  rig_free_clean(r);
}

/* ---- failures ---- */

static void
a_sink_that_fails_stays_blamed(void **state)
{
  static const enum gi_fop_kind kind[] = {GI_FOP_TRUNCATE, GI_FOP_WRITE, GI_FOP_FSYNC, GI_FOP_SETATTR, GI_FOP_OPEN};

  (void)state;
  for (size_t k = 0; k < GI_ARRAY_LEN(kind); k++) {
    struct rig *r = rig_with(NULL, 3 * MIB);

    contents(r, 1, 2 * MIB, 50);
    contents(r, 2, 2 * MIB, 50);
    blame_all(r, 1, 6, 0);
    r->brick[1].fail_nth[kind[k]] = kind[k] == GI_FOP_WRITE ? 2 : 1;
    assert_true(heal(r) < 0);
    assert_contents(r, 0, 3 * MIB, 1);
    assert_contents(r, 2, 3 * MIB, 1);
    assert_true(object(r, 0)->mark[1][0] > 0); /* not less than before */
    assert_int_equal(object(r, 0)->mark[2][0], 0);
    assert_int_equal(heal(r), REP_HEALED);
    assert_contents(r, 1, 3 * MIB, 1);
    no_marks(r);
    rig_free_clean(r);
  }
}

static void
a_source_that_fails_changes_no_mark(void **state)
{
  static const enum gi_fop_kind kind[] = {GI_FOP_READ, GI_FOP_OPEN, GI_FOP_STAT};

  (void)state;
  for (size_t k = 0; k < GI_ARRAY_LEN(kind); k++) {
    struct rig *r = rig_with(NULL, 3 * MIB);

    contents(r, 2, 2 * MIB, 50);
    blame_all(r, 3, 4, 0);
    r->brick[0].fail_nth[kind[k]] = 1;
    assert_true(heal(r) < 0);
    rig_marks(r, 0, 5, "2d1");
    rig_marks(r, 1, 5, "2d1");
    assert_contents(r, 0, 3 * MIB, 1);
    assert_contents(r, 1, 3 * MIB, 1);
    rig_free_clean(r);
  }
}

static void
kill_brick(struct brick *b, struct gi_fop *fop, void *arg)
{
  if (fop->kind != GI_FOP_WRITE)
    return;
  for (unsigned k = 0; k < GI_FOP_MAX; k++)
    b->fail_err[k] = ENOTCONN;
  fop->rsp.ret = -1;
  fop->rsp.err = ENOTCONN;
  (void)arg;
}

static void
a_brick_that_dies_midway(void **state)
{
  struct rig *r = rig_with(NULL, 3 * MIB);

  (void)state;
  contents(r, 2, 1, 50);
  blame_all(r, 3, 4, 0);
  r->brick[2].hook = kill_brick;
  assert_true(heal(r) < 0);
  rig_marks(r, 0, 5, "2d1");
  r->brick[2].hook = NULL;
  r->brick[2].locks = 0; /* the connection took them along */
  rig_down(r, 2);
  assert_int_equal(heal(r), -ENOTCONN);
  rig_up(r, 2);
  assert_int_equal(heal(r), REP_HEALED);
  assert_same(r, 0, 2);
  no_marks(r);
  rig_free_clean(r);
}

static void
needs_every_child(void **state)
{
  struct rig *r = rig_with(NULL, 1000);

  (void)state;
  contents(r, 2, 500, 9);
  blame_all(r, 3, 4, 0);
  rig_down(r, 1);
  assert_int_equal(heal(r), -ENOTCONN);
  assert_contents(r, 2, 500, 9);
  rig_up(r, 1);
  r->brick[1].fail_once[GI_FOP_INODELK] = ENOTCONN;
  assert_true(heal(r) != REP_HEALED);
  assert_contents(r, 2, 500, 9);
  rig_marks(r, 0, 5, "2d1");
  rig_free_clean(r);
}

static void
an_object_that_some_lack(void **state)
{
  struct rig *r = rig_with(NULL, 10);

  (void)state;
  r->brick[2].fail_err[GI_FOP_LOOKUP] = ENOENT;
  assert_int_equal(heal(r), -EAGAIN);
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_err[GI_FOP_LOOKUP] = ENOENT;
  assert_int_equal(heal(r), -ENOENT);
  rig_free_clean(r);
}

/* ---- writers and other healers ---- */

struct writer {
  struct rig *r;
  unsigned after; /* block reads seen */
};

/* After the second block of the source is read a client writes to all copies, and fails at the sink. */
static void
write_between(struct brick *b, struct gi_fop *fop, void *arg)
{
  struct writer *w = arg;

  (void)b;
  if (fop->kind != GI_FOP_RCHECKSUM || ++w->after != 2)
    return;
  for (unsigned i = 0; i < BRICKS; i++)
    brick_store(object(w->r, i), 10, "written between", 15); /* in a block that is done */
  object(w->r, 0)->mark[2][0]++;
  object(w->r, 1)->mark[2][0]++;
}

static void
a_writer_between_two_blocks(void **state)
{
  struct rig *r = rig_with(NULL, 4 * MIB);
  struct writer w = {.r = r};

  (void)state;
  contents(r, 2, 4 * MIB, 60);
  blame_all(r, 3, 4, 0);
  r->brick[0].hook = write_between;
  r->brick[0].hook_arg = &w;
  assert_int_equal(heal(r), REP_HEALED);
  r->brick[0].hook = NULL;
  assert_same(r, 0, 2);
  assert_memory_equal(object(r, 2)->data + 10, "written between", 15);
  rig_marks(r, 0, 5, "2d1"); /* what was added during the heal is not taken back */
  rig_marks(r, 1, 5, "2d1");
  assert_int_equal(heal(r), REP_HEALED);
  no_marks(r);
  rig_free_clean(r);
}

/* Before anything is read a client that does not reach the source writes to the others: the last block. */
static void
write_behind_its_back(struct brick *b, struct gi_fop *fop, void *arg)
{
  struct writer *w = arg;

  (void)b;
  if (fop->kind != GI_FOP_RCHECKSUM || w->after++)
    return;
  for (unsigned i = 1; i < BRICKS; i++) {
    object(w->r, i)->mark[0][0]++;
    brick_store(object(w->r, i), 3 * MIB, "written behind", 14);
  }
}

static void
a_writer_without_the_source(void **state)
{
  struct rig *r = rig_with(NULL, 4 * MIB);
  struct writer w = {.r = r};

  (void)state;
  contents(r, 2, 4 * MIB, 60);
  blame_all(r, 3, 4, 0);
  r->brick[0].hook = write_behind_its_back;
  r->brick[0].hook_arg = &w;
  assert_int_equal(heal(r), -EAGAIN);
  r->brick[0].hook = NULL;
  assert_memory_equal(object(r, 2)->data + 3 * MIB, "written behind", 14);
  rig_marks(r, 1, 5, "0d1,2d1");
  assert_int_equal(heal(r), REP_HEALED); /* from 1, which nobody blames */
  assert_memory_equal(object(r, 0)->data + 3 * MIB, "written behind", 14);
  assert_same(r, 1, 2);
  no_marks(r);
  rig_free_clean(r);
}

static void
another_healer_is_at_work(void **state)
{
  struct rig *r = rig_with(NULL, 1000);

  (void)state;
  contents(r, 2, 500, 9);
  blame_all(r, 3, 4, 0);
  for (unsigned i = 0; i < 2; i++)
    r->brick[i].busy_heal = 1;
  assert_int_equal(heal(r), REP_HEAL_BUSY);
  rig_marks(r, 0, 5, "2d1");
  assert_contents(r, 2, 500, 9);
  rig_log(r, 2, "LOOKUP LH:0 L:0 U:0 UH:0");
  rig_forget(r);
  r->brick[2].busy_heal = 1; /* it got fewer than we: it will give up */
  assert_int_equal(heal(r), REP_HEALED);
  rig_log(r, 2, "LOOKUP LH:0 L:0 U:0 WH:0 L:0 LOOKUP TRUNCATE WRITE FSYNC SETATTR X:0 U:0 UH:0");
  no_marks(r);
  rig_free_clean(r);
}

static void
a_writer_holds_the_lock(void **state)
{
  struct rig *r = rig_with(NULL, 1000);

  (void)state;
  contents(r, 2, 500, 9);
  blame_all(r, 3, 4, 0);
  r->brick[1].busy = 1;
  assert_int_equal(heal(r), REP_HEALED);
  rig_log(r, 0, "LOOKUP LH:0 L:0 U:0 W:0 LOOKUP READ X:2d-1 U:0 UH:0");
  rig_log(r, 1, "LOOKUP LH:0 L:0 W:0 LOOKUP X:2d-1 U:0 UH:0");
  rig_free_clean(r);
}

/* Its marks are those of a writer's session. But nobody tells of one whom a copy does not hear, nor of another one who died. */
static void
a_file_that_is_being_written_is_left_alone(void **state)
{
  static const int32_t dirty[][BRICKS] = {{1, 1, 1}, {1, 1, 0}, {2, 2, 2}};
  struct rig *r = rig_with(NULL, 1000);

  r->brick[1].txn_locks = 1;
  for (unsigned k = 0; k < GI_ARRAY_LEN(dirty); k++) {
    rep_foreach(i, 7) object(r, i)->mark[BRICKS][0] = dirty[k][i];
    assert_int_equal(heal(r), k ? REP_HEALED : REP_HEAL_BUSY);
  }
  rig_free_clean(r);
}

/* ---- counters that are not ---- */

static void
counters_of_a_wrong_length(void **state)
{
  static const uint32_t length[] = {1, 4, 11, 13, 16};

  (void)state;
  for (size_t k = 0; k < GI_ARRAY_LEN(length); k++) {
    struct rig *r = rig_with(NULL, 1000);

    contents(r, 2, 5000, 9); /* stale and larger: without the marks it would win */
    for (unsigned i = 0; i < 2; i++) {
      r->brick[i].raw_len = length[k];
      memset(r->brick[i].raw_mark, 0xff, sizeof(r->brick[i].raw_mark));
    }
    assert_true(heal(r) < 0);
    assert_contents(r, 0, 1000, 1);
    assert_contents(r, 1, 1000, 1);
    assert_contents(r, 2, 5000, 9);
    rig_free_clean(r);
  }
}

static void
huge_and_negative_counters(void **state)
{
  static const int32_t value[] = {INT32_MAX, INT32_MIN, -1, 16777216};

  (void)state;
  for (size_t k = 0; k < GI_ARRAY_LEN(value); k++) {
    struct rig *r = rig_with(NULL, 1000);

    contents(r, 2, 5000, 9);
    for (unsigned i = 0; i < 2; i++)
      object(r, i)->mark[2][0] = value[k];
    object(r, 0)->mark[BRICKS][0] = value[k];
    assert_int_equal(heal(r), REP_HEALED);
    for (unsigned i = 0; i < BRICKS; i++)
      assert_contents(r, i, 1000, 1);
    no_marks(r);
    rig_free_clean(r);
  }
}

static void
crashed_client(void **state)
{
  struct rig *r = rig_with(NULL, 2 * MIB);

  (void)state;
  for (unsigned i = 0; i < BRICKS; i++) {
    object(r, i)->mark[BRICKS][0] = 1;
    object(r, i)->stat.ctime.sec = (int64_t[]){4, 9, 5}[i];
  }
  brick_store(object(r, 1), 5, "newest", 6);
  assert_int_equal(heal(r), REP_HEALED);
  assert_same(r, 1, 0);
  assert_same(r, 1, 2);
  assert_memory_equal(object(r, 0)->data + 5, "newest", 6);
  no_marks(r);
  rig_free_clean(r);
}

static void
not_a_regular_file(void **state)
{
  struct rig *r = rig_new(NULL);

  (void)state;
  rig_object(r, 5, S_IFIFO | 0644);
  blame_all(r, 3, 4, 0);
  assert_int_equal(heal(r), REP_HEALED);
  for (unsigned i = 0; i < BRICKS; i++)
    assert_int_equal(fake_count(r->s, i, GI_FOP_TRUNCATE) + fake_count(r->s, i, GI_FOP_WRITE), 0);
  no_marks(r);
  rig_free_clean(r);
}

static void
arbiter_gets_no_data(void **state)
{
  struct rig *r = rig_new("option arbiter-count 1\n");

  (void)state;
  r->brick[2].arbiter = true;
  rig_object(r, 5, S_IFREG | 0644);
  contents(r, 0, 3 * MIB, 1);
  contents(r, 1, 1 * MIB, 9);
  blame_all(r, 1, 6, 0);
  assert_int_equal(heal(r), REP_HEALED);
  assert_same(r, 0, 1);
  assert_int_equal(object(r, 2)->stat.size, 0);
  assert_int_equal(fake_count(r->s, 2, GI_FOP_WRITE) + fake_count(r->s, 2, GI_FOP_RCHECKSUM), 0);
  no_marks(r);
  rig_free_clean(r);
}

/* ---- metadata ---- */

static void
attributes_are_healed(void **state)
{
  struct rig *r = rig_with(NULL, 10);
  struct brick_object *sink = object(r, 2);

  (void)state;
  for (unsigned i = 0; i < 2; i++) {
    object(r, i)->stat.uid = 7;
    object(r, i)->stat.mode = S_IFREG | 0751;
    object(r, i)->stat.mtime.sec = 77;
    rig_xattr(r, i, 5, "user.new", "value");
    rig_xattr(r, i, 5, "user.same", "same");
    rig_xattr(r, i, 5, "system.posix_acl_access", "acl");
  }
  rig_xattr(r, 2, 5, "user.old", "gone");
  rig_xattr(r, 2, 5, "user.same", "same");
  rig_xattr(r, 2, 5, "security.selinux", "label");
  blame_all(r, 3, 4, 1);
  assert_int_equal(heal(r), REP_HEALED);
  rig_log(r, 1, "LOOKUP L:m LOOKUP X:2m-1 U:m");
  rig_log(r, 2, "LOOKUP L:m LOOKUP SETATTR REMOVEXATTR SETXATTR SETATTR X:0 X:0 U:m");
  assert_int_equal(sink->stat.uid, 7);
  assert_int_equal(sink->stat.mode, S_IFREG | 0751);
  assert_int_equal(sink->stat.mtime.sec, 77);
  assert_null(gi_dict_get(sink->xattr, "user.old"));
  assert_non_null(gi_dict_get(sink->xattr, "user.new"));
  assert_non_null(gi_dict_get(sink->xattr, "user.same"));
  assert_non_null(gi_dict_get(sink->xattr, "security.selinux"));
  assert_non_null(gi_dict_get(sink->xattr, "system.posix_acl_access"));
  no_marks(r);
  rig_free_clean(r);
}

static void
unmarked_differences_are_marked_first(void **state)
{
  struct rig *r = rig_with(NULL, 10);

  (void)state;
  object(r, 2)->stat.gid = 9;
  assert_int_equal(heal(r), REP_HEALED);
  rig_log(r, 0, "LOOKUP L:m LOOKUP X:2m+1 X:2m-1 U:m");
  assert_int_equal(object(r, 2)->stat.gid, 0);
  no_marks(r);
  rig_free_clean(r);
}

static void
metadata_sinks_that_fail(void **state)
{
  static const enum gi_fop_kind kind[] = {GI_FOP_SETATTR, GI_FOP_SETXATTR, GI_FOP_REMOVEXATTR};

  (void)state;
  for (size_t k = 0; k < GI_ARRAY_LEN(kind); k++) {
    struct rig *r = rig_with(NULL, 10);

    for (unsigned i = 1; i < BRICKS; i++) {
      object(r, i)->stat.uid = 4;
      rig_xattr(r, i, 5, "user.old", "x");
    }
    rig_xattr(r, 0, 5, "user.new", "x");
    blame_all(r, 1, 6, 1);
    r->brick[1].fail_nth[kind[k]] = 1;
    assert_true(heal(r) < 0);
    assert_true(object(r, 0)->mark[1][1] > 0);
    assert_int_equal(object(r, 0)->mark[2][1], 0);
    assert_int_equal(heal(r), REP_HEALED);
    assert_int_equal(object(r, 1)->stat.uid, 0);
    no_marks(r);
    rig_free_clean(r);
  }
}

static void
data_and_metadata_of_a_new_file(void **state)
{
  struct rig *r = rig_with(NULL, 100);

  (void)state;
  rig_data(r, 2, 5, "", 0);
  object(r, 2)->stat.mode = S_IFREG;
  blame_all(r, 3, 4, 0);
  blame_all(r, 3, 4, 1);
  assert_int_equal(heal(r), REP_HEALED);
  assert_same(r, 0, 2);
  assert_int_equal(object(r, 2)->stat.mode, S_IFREG | 0644);
  no_marks(r);
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_set_of_stale_copies),
      cmocka_unit_test(all_blame_all_is_left_alone),
      cmocka_unit_test(policy_resolves_split_brain),
      cmocka_unit_test(small_file_takes_few_rounds),
      cmocka_unit_test(a_new_file_needs_no_checksums),
      cmocka_unit_test(only_differing_blocks_are_copied),
      cmocka_unit_test(full_copies_without_asking),
      cmocka_unit_test(holes_stay_holes),
      cmocka_unit_test(stale_data_where_the_source_has_a_hole),
      cmocka_unit_test(without_discard_and_seek),
      cmocka_unit_test(a_sink_that_fails_stays_blamed),
      cmocka_unit_test(a_source_that_fails_changes_no_mark),
      cmocka_unit_test(a_brick_that_dies_midway),
      cmocka_unit_test(needs_every_child),
      cmocka_unit_test(an_object_that_some_lack),
      cmocka_unit_test(a_writer_between_two_blocks),
      cmocka_unit_test(a_writer_without_the_source),
      cmocka_unit_test(another_healer_is_at_work),
      cmocka_unit_test(a_writer_holds_the_lock),
      cmocka_unit_test(counters_of_a_wrong_length),
      cmocka_unit_test(huge_and_negative_counters),
      cmocka_unit_test(crashed_client),
      cmocka_unit_test(not_a_regular_file),
      cmocka_unit_test(arbiter_gets_no_data),
      cmocka_unit_test(attributes_are_healed),
      cmocka_unit_test(a_file_that_is_being_written_is_left_alone),
      cmocka_unit_test(unmarked_differences_are_marked_first),
      cmocka_unit_test(metadata_sinks_that_fail),
      cmocka_unit_test(data_and_metadata_of_a_new_file),
  };

  gi_class_register(&gi_xlator_export);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
