/* SPDX-License-Identifier: Apache-2.0
 *
 * Heals whose sinks copy from the source by themselves, over real bricks: the
 * payload goes through nobody else, whoever cannot is sent it, and after any
 * history the copies are the same.
 */
#include "xlators/cluster/replicate/testing/testbed.h"

#include "libglusterish/near.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB (1u << 10)
#define MIB (1u << 20)
#define SIZE (4 * MIB)
#define AT_ONCE "option post-op-delay-secs 0\noption quorum-type none\n" /* sessions end with their operation */
#define NEAR GI_REGIONS_CAPABILITY " " GI_NEAR_CAPABILITY

/* A file over bricks of which those in `near` say that they copy by themselves. */
static void
with_file(struct yard *y, uint32_t near)
{
  rep_foreach(i, near)
  {
    yard_down(y, i);
    y->gate[i]->abilities = NEAR;
    yard_up(y, i);
  }
  assert_int_equal(y->rep->local_copy, near);
  yard_file(y, SIZE);
}

#define YARD_WITH_FILE(var, options, near) \
  YARD_NEW(var, options); \
  with_file(var, near)

/* The whole file is written while the bricks in `away` are. */
static void
missed(struct yard *y, uint32_t away, uint32_t seed)
{
  rep_foreach(i, away) yard_down(y, i);
  yard_fill(y, SIZE, seed);
  rep_foreach(i, away) yard_up(y, i);
}

/* ---- healing ---- */

static void
count_again(struct yard *y)
{
  for (unsigned i = 0; i < YARD; i++)
    memset(y->gate[i]->count, 0, sizeof(y->gate[i]->count));
  y->rep->metrics.heal = (struct rep_heal_totals){0};
}

static unsigned
counted(const struct yard *y, enum gi_fop_kind kind)
{
  unsigned n = 0;

  for (unsigned i = 0; i < YARD; i++)
    n += y->gate[i]->count[kind];
  return n;
}

/* Asked where they are. */
struct questions {
  unsigned n[YARD];
};

static void
count_questions(struct gi_fop *fop, void *arg)
{
  if (fop->kind == GI_FOP_GETXATTR && fop->args.name && strcmp(fop->args.name, GI_NEAR_KEY) == 0)
    ++*(unsigned *)arg;
}

static void
watch(struct yard *y, struct questions *q)
{
  *q = (struct questions){{0}};
  for (unsigned i = 0; i < YARD; i++) {
    y->gate[i]->seen = count_questions;
    y->gate[i]->arg = &q->n[i];
  }
}

/* Heals; then everything is as it should be. */
static void
healed(struct yard *y)
{
  count_again(y);
  assert_int_equal(yard_heal(y), 0);
  yard_no_marks(y);
  yard_assert_same(y);
}

struct job {
  struct yard *y;
  int result;
  bool done;
};

static void
heal_task(void *arg)
{
  struct job *job = arg;
  struct gi_gfid gfid = yard_disk_gfid(job->y, 0, "f");
  struct rep_heal h;

  rep_heal_begin(&h, job->y->rep, &gfid, GI_PID_HEAL);
  h.data = h.metadata = h.entry = true;
  job->result = rep_heal_inode(&h);
  rep_heal_end(&h);
  job->done = true;
}

/* ---- who copies ---- */

static void
a_copy_that_was_away(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);
  struct questions q;

  missed(y, 4, 50);
  watch(y, &q);
  healed(y);
  assert_int_equal(counted(y, GI_FOP_READ), 0);
  assert_int_equal(counted(y, GI_FOP_WRITE), 0);
  assert_true(y->gate[2]->count[GI_FOP_COPY_FILE_RANGE] > 0);
  assert_int_equal(counted(y, GI_FOP_COPY_FILE_RANGE), y->gate[2]->count[GI_FOP_COPY_FILE_RANGE]);
  assert_int_equal(q.n[0] + q.n[1], 1); /* the source; once for all */
  assert_int_equal(q.n[2], 1);
  assert_int_equal(y->rep->metrics.heal.bytes_near, SIZE);
  assert_int_equal(y->rep->metrics.heal.bytes_written, SIZE);
  assert_int_equal(y->rep->metrics.heal.bytes_read, 0);
  assert_int_equal(y->rep->heal_window.used, 0);
  yard_free(y);
}

static void
a_file_it_never_had(void **state)
{
  YARD_NEW(y, AT_ONCE);

  for (unsigned i = 0; i < YARD; i++) {
    y->gate[i]->abilities = NEAR;
    yard_up(y, i);
  }
  yard_down(y, 2);
  yard_create(y, "f", "");
  yard_fill(y, SIZE, 3);
  yard_put(y, SIZE, 777, 4);
  yard_up(y, 2);
  healed(y);
  assert_int_equal(counted(y, GI_FOP_READ) + counted(y, GI_FOP_WRITE), 0);
  assert_int_equal(y->rep->metrics.heal.bytes_near, SIZE + 777);
  yard_free(y);
}

static void
only_the_regions(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);

  yard_down(y, 2);
  yard_put(y, 12345, 100, 7);
  yard_put(y, 3 * MIB, 64 * KIB, 9);
  yard_up(y, 2);
  healed(y);
  assert_int_equal(y->rep->metrics.heal.partial, 1);
  assert_int_equal(y->rep->metrics.heal.bytes_near, 4 * KIB + 64 * KIB);
  assert_int_equal(counted(y, GI_FOP_READ) + counted(y, GI_FOP_WRITE), 0);
  yard_free(y);
}

/* Scattered pages travel in one request, as many as a lock is taken for. */
static void
many_regions(void **state)
{
  enum { PAGES = 40 };
  YARD_WITH_FILE(y, AT_ONCE, 7);

  yard_down(y, 2);
  for (uint32_t i = 0; i < PAGES; i++)
    yard_put(y, (uint64_t)i * 100 * KIB, 8 * KIB, 20 + i);
  yard_up(y, 2);
  healed(y);
  assert_int_equal(y->rep->metrics.heal.partial, 1);
  assert_int_equal(y->rep->metrics.heal.bytes_near, PAGES * 8 * KIB);
  assert_int_equal(y->gate[2]->count[GI_FOP_COPY_FILE_RANGE], (PAGES + GI_NEAR_PIECES - 1) / GI_NEAR_PIECES);
  yard_free(y);
}

static void
only_what_differs(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);

  yard_down(y, 2);
  y->rep->regions = 0; /* nobody remembers */
  yard_put(y, MIB + 5, 10, 8);
  yard_up(y, 2);
  healed(y);
  assert_int_equal(y->rep->metrics.heal.partial, 0);
  assert_int_equal(y->gate[2]->count[GI_FOP_COPY_FILE_RANGE], 1);
  assert_int_equal(y->rep->metrics.heal.bytes_near + y->rep->metrics.heal.bytes_compared, SIZE);
  assert_int_equal(counted(y, GI_FOP_READ) + counted(y, GI_FOP_WRITE), 0);
  yard_free(y);
}

/* A few bytes are not worth the questions. */
static void
a_small_file_is_sent(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);
  struct questions q;

  if (yard_submit(y, yard_data_fop(y, GI_FOP_TRUNCATE, 60 * KIB, 0)))
    fail_msg("truncate: %s", strerror(y->err));
  yard_down(y, 2);
  yard_put(y, 0, 50 * KIB, 3);
  yard_up(y, 2);
  watch(y, &q);
  healed(y);
  assert_int_equal(q.n[0] + q.n[1] + q.n[2], 0);
  assert_int_equal(counted(y, GI_FOP_COPY_FILE_RANGE), 0);
  yard_free(y);
}

static void
two_sinks(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);

  missed(y, 6, 60);
  healed(y);
  assert_int_equal(counted(y, GI_FOP_READ) + counted(y, GI_FOP_WRITE), 0);
  assert_true(y->gate[1]->count[GI_FOP_COPY_FILE_RANGE] && y->gate[2]->count[GI_FOP_COPY_FILE_RANGE]);
  assert_int_equal(y->rep->metrics.heal.bytes_near, 2 * SIZE);
  yard_free(y);
}

static void
one_of_two_sinks(void **state)
{
  for (unsigned near = 1; near < YARD; near++) {
    unsigned far = YARD - near;
    YARD_WITH_FILE(y, AT_ONCE, 1u | 1u << near);
    struct questions q;

    missed(y, 6, 60);
    watch(y, &q);
    healed(y);
    assert_int_equal(y->gate[near]->count[GI_FOP_WRITE], 0);
    assert_int_equal(y->gate[far]->count[GI_FOP_COPY_FILE_RANGE], 0);
    assert_int_equal(q.n[far], 0);
    assert_true(y->gate[near]->count[GI_FOP_COPY_FILE_RANGE] > 0);
    assert_true(y->gate[far]->count[GI_FOP_WRITE] > 0);
    assert_int_equal(y->rep->metrics.heal.bytes_near, SIZE);
    assert_int_equal(y->rep->metrics.heal.bytes_read, SIZE);
    assert_int_equal(y->rep->metrics.heal.bytes_written, 2 * SIZE);
    yard_free(y);
  }
}

/* ---- copies that are not all that was asked for ---- */

static void
copy_less(struct gi_fop *fop, void *arg)
{
  const uint64_t *most = arg;

  if (fop->kind == GI_FOP_COPY_FILE_RANGE && fop->args.size > *most)
    fop->args.size = *most;
}

static void
bricks_that_give_way(void **state)
{
  uint64_t most[] = {0, 300 * KIB, 77777};

  for (uint32_t away = 2; away <= 6; away += 2) {
    YARD_WITH_FILE(y, AT_ONCE, 7);

    missed(y, away, 80 + away);
    rep_foreach(i, away)
    {
      y->gate[i]->seen = copy_less;
      y->gate[i]->arg = &most[i];
    }
    healed(y);
    assert_int_equal(counted(y, GI_FOP_READ) + counted(y, GI_FOP_WRITE), 0);
    assert_in_range(counted(y, GI_FOP_COPY_FILE_RANGE), SIZE / most[1], 2 * (SIZE / most[2] + 4));
    assert_int_equal(y->rep->metrics.heal.bytes_near, (unsigned)__builtin_popcount(away) * SIZE);
    yard_free(y);
  }
}

/* Answers as if it had given way after `most` bytes of the pieces. */
static void
copy_fewer_pieces(struct gi_fop *fop, void *arg)
{
  struct gi_near_piece piece[GI_NEAR_PIECES];
  uint64_t left = *(const uint64_t *)arg;
  unsigned n = 0, all;

  if (fop->kind != GI_FOP_COPY_FILE_RANGE)
    return;
  all = gi_near_pieces_get(fop->xdata, fop->args.offset, fop->args.size, piece);
  for (; n < all && left; left -= piece[n++].len)
    if (piece[n].len > left)
      piece[n].len = left;
  gi_near_pieces_put(gi_fop_xdata(fop), piece, n);
}

static void
bricks_that_give_way_among_pieces(void **state)
{
  enum { PAGES = 24 };

  for (uint64_t most = 1000; most < 200 * KIB; most = most * 3 - 777) {
    YARD_WITH_FILE(y, AT_ONCE, 7);

    yard_down(y, 2);
    for (uint32_t i = 0; i < PAGES; i++)
      yard_put(y, (uint64_t)i * 152 * KIB, 4 * KIB * (1 + i % 3), 20 + i);
    yard_up(y, 2);
    y->gate[2]->seen = copy_fewer_pieces;
    y->gate[2]->arg = &most;
    healed(y);
    assert_int_equal(y->rep->metrics.heal.bytes_near, PAGES * 8 * KIB);
    assert_int_equal(counted(y, GI_FOP_READ) + counted(y, GI_FOP_WRITE), 0);
    yard_free(y);
  }
}

static void
cut_at_the_first(struct gi_fop *fop, void *arg)
{
  struct yard *y = arg;
  char path[PATH_MAX];

  for (unsigned i = 0; i < YARD && fop->kind == GI_FOP_COPY_FILE_RANGE; i++) {
    yard_path(y, path, i, "f");
    assert_int_equal(truncate(path, MIB + 12345), 0);
  }
}

/* By a writer, on all copies. */
static void
a_source_that_is_cut_meanwhile(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);

  missed(y, 4, 60);
  y->gate[2]->seen = cut_at_the_first;
  y->gate[2]->arg = y;
  healed(y);
  assert_int_equal(counted(y, GI_FOP_READ) + counted(y, GI_FOP_WRITE), 0);
  assert_int_equal(y->rep->metrics.heal.bytes_near, MIB + 12345);
  yard_free(y);
}

/* ---- who does not ---- */

static void
sent_instead(struct yard *y)
{
  struct questions q;

  missed(y, 4, 70);
  watch(y, &q);
  healed(y);
  assert_int_equal(q.n[0] + q.n[1] + q.n[2], 0);
  assert_int_equal(counted(y, GI_FOP_COPY_FILE_RANGE), 0);
  assert_int_equal(y->rep->metrics.heal.bytes_near, 0);
  assert_int_equal(y->rep->metrics.heal.bytes_read, SIZE);
  yard_free(y);
}

static void
neither_source_nor_sink_can(void **state)
{
  static const uint32_t near[] = {0, 3, 4};

  for (size_t i = 0; i < GI_ARRAY_LEN(near); i++) {
    YARD_WITH_FILE(y, AT_ONCE, near[i]);

    sent_instead(y);
  }
}

/* It said so once, but does not after an update that went back. */
static void
a_brick_that_cannot_any_more(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);

  y->gate[2]->abilities = GI_REGIONS_CAPABILITY;
  sent_instead(y);
}

/* A brick that may not be read behind its back answers the question with an error. */
static void
a_question_that_is_refused(void **state)
{
  for (unsigned who = 0; who < YARD; who += 2) {
    YARD_WITH_FILE(y, AT_ONCE, 7);

    missed(y, 4, 70);
    for (unsigned i = who; i < YARD && (i < 2 || who == 2); i++)
      y->gate[i]->fail_err[GI_FOP_GETXATTR] = ENODATA;
    healed(y);
    assert_int_equal(counted(y, GI_FOP_COPY_FILE_RANGE), 0);
    assert_int_equal(y->rep->metrics.heal.bytes_near, 0);
    yard_free(y);
  }
}

static void
a_sparse_file_keeps_its_holes(void **state)
{
  YARD_NEW(y, AT_ONCE);
  struct questions q;
  char path[PATH_MAX];
  struct stat st;

  for (unsigned i = 0; i < YARD; i++) {
    y->gate[i]->abilities = NEAR;
    yard_up(y, i);
  }
  yard_down(y, 2);
  yard_create(y, "f", "");
  yard_put(y, 3 * MIB, 64 * KIB, 5);
  yard_up(y, 2);
  watch(y, &q);
  healed(y);
  assert_int_equal(q.n[0] + q.n[1] + q.n[2], 0);
  assert_int_equal(counted(y, GI_FOP_COPY_FILE_RANGE), 0);
  yard_path(y, path, 2, "f");
  assert_int_equal(stat(path, &st), 0);
  assert_true(st.st_blocks * 512 < MIB);
  yard_free(y);
}

/* ---- failures ---- */

static void
a_copy_that_fails(void **state)
{
  static const int errs[] = {EXDEV, ESTALE, EPERM, EIO, EOPNOTSUPP};

  for (size_t i = 0; i < GI_ARRAY_LEN(errs); i++) {
    YARD_WITH_FILE(y, AT_ONCE, 7);

    missed(y, 4, 70 + (uint32_t)i);
    y->gate[2]->fail_err[GI_FOP_COPY_FILE_RANGE] = errs[i];
    healed(y);
    assert_true(y->gate[2]->count[GI_FOP_COPY_FILE_RANGE] > 0);
    assert_true(y->gate[2]->count[GI_FOP_WRITE] > 0);
    assert_int_equal(y->rep->metrics.heal.bytes_near, 0);
    assert_int_equal(y->rep->metrics.heal.bytes_read, SIZE);
    assert_int_equal(y->rep->metrics.heal.bytes_written, SIZE);
    yard_free(y);
  }
}

static void
a_copy_that_fails_midway(void **state)
{
  for (unsigned after = 1; after < 8; after++) {
    YARD_WITH_FILE(y, AT_ONCE "option data-self-heal-window-size 1\n", 7);

    missed(y, 4, 70 + after);
    y->gate[2]->fail_err[GI_FOP_COPY_FILE_RANGE] = ESTALE;
    y->gate[2]->fail_after[GI_FOP_COPY_FILE_RANGE] = after;
    healed(y);
    assert_true(y->rep->metrics.heal.bytes_near > 0);
    assert_true(y->gate[2]->count[GI_FOP_WRITE] > 0);
    yard_free(y);
  }
}

/* The other sink goes on by itself. */
static void
one_of_two_copies_fails(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);

  missed(y, 6, 60);
  y->gate[1]->fail_err[GI_FOP_COPY_FILE_RANGE] = EXDEV;
  healed(y);
  assert_int_equal(y->gate[2]->count[GI_FOP_WRITE], 0);
  assert_true(y->gate[1]->count[GI_FOP_WRITE] > 0);
  assert_int_equal(y->rep->metrics.heal.bytes_near, SIZE);
  yard_free(y);
}

static void
neither_way_works(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);

  missed(y, 4, 60);
  y->gate[2]->fail_err[GI_FOP_COPY_FILE_RANGE] = EXDEV;
  y->gate[2]->fail_err[GI_FOP_WRITE] = EIO;
  assert_true(yard_heal(y) > 0);
  assert_true(yard_mark(y, 0, "f", 2, REP_DATA) > 0);
  y->gate[2]->fail_err[GI_FOP_COPY_FILE_RANGE] = y->gate[2]->fail_err[GI_FOP_WRITE] = 0;
  healed(y);
  yard_free(y);
}

/* ---- the source is not what it was ---- */

struct behind {
  struct yard *y;
  bool done;
};

/* A client that does not reach the source writes to the others, before anything is copied. */
static void
write_behind_its_back(struct gi_fop *fop, void *arg)
{
  struct behind *b = arg;

  if (fop->kind != GI_FOP_FSTAT || b->done)
    return;
  b->done = true;
  for (unsigned i = 1; i < YARD; i++) {
    yard_set_mark(b->y, i, "f", 0, (const int32_t[]){1, 0, 0});
    yard_spoil(b->y, i, 3 * MIB, "written behind", 14);
  }
}

static void
a_source_that_was_blamed_meanwhile(void **state)
{
  YARD_WITH_FILE(y, AT_ONCE, 7);
  struct behind b = {.y = y};
  struct job job = {.y = y};

  missed(y, 4, 60);
  count_again(y);
  y->gate[2]->seen = write_behind_its_back;
  y->gate[2]->arg = &b;
  yard_task(y, heal_task, &job);
  assert_true(b.done);
  assert_int_equal(job.result, -EAGAIN);
  assert_int_equal(counted(y, GI_FOP_COPY_FILE_RANGE), 0);
  assert_int_equal(y->rep->metrics.heal.bytes_near, 0);
  assert_true(yard_mark(y, 0, "f", 2, REP_DATA) > 0);
  for (unsigned i = 0; i < YARD; i++) {
    size_t size;
    GI_CLEANUP_FREE uint8_t *data = yard_contents(y, i, &size);

    assert_int_equal(memcmp(data + 3 * MIB, "written behind", 14) == 0, i > 0);
  }
  yard_free(y);
}

/* ---- writers meanwhile ---- */

static void
answered(struct gi_fop *fop, void *arg)
{
  assert_true(fop->rsp.ret > 0);
  --*(unsigned *)arg;
}

static void
writers_meanwhile(void **state)
{
  for (uint32_t seed = 1; seed < 6; seed++) {
    YARD_WITH_FILE(y, AT_ONCE, 7);
    struct job job = {.y = y};
    struct gi_fop *fop[40];
    unsigned under_way = GI_ARRAY_LEN(fop);

    missed(y, 4, 60);
    count_again(y);
    gi_task_start(y->ctx.reactor, heal_task, &job);
    for (uint32_t i = 0; i < GI_ARRAY_LEN(fop); i++) {
      fop[i] = yard_write_fop(y, (uint64_t)(i * 2654435761u * seed) % (SIZE - 70000), 1 + i * 1777 % 70000, seed + i);
      fop[i]->caller.pid = 100;
      fop[i]->caller.owner.len = 8;
      gi_fop_submit(fop[i], y->x, answered, &under_way);
      for (uint32_t turns = i % 5; turns; turns--)
        gi_reactor_turn(y->ctx.reactor, 0);
    }
    yard_until(y, &job.done);
    for (int turns = 0; turns < 100000 && under_way; turns++)
      gi_reactor_turn(y->ctx.reactor, 1000000);
    assert_int_equal(under_way, 0);
    for (uint32_t i = 0; i < GI_ARRAY_LEN(fop); i++)
      gi_fop_unref(fop[i]);
    assert_int_equal(job.result, REP_HEALED);
    assert_true(y->rep->metrics.heal.bytes_near > 0);
    assert_int_equal(yard_heal(y), 0);
    yard_no_marks(y);
    yard_assert_same(y);
    yard_free(y);
  }
}

/* ---- any history ---- */

static void
random_change(struct yard *y, uint64_t *seed)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_TRUNCATE, GI_FOP_ZEROFILL, GI_FOP_FALLOCATE, GI_FOP_FSYNC};
  uint32_t what = yard_draw(seed, 16);
  uint64_t offset = yard_draw(seed, SIZE + SIZE / 8), size = 1 + yard_draw(seed, 90000);
  struct gi_fop *fop;

  if (what < GI_ARRAY_LEN(kinds))
    fop = yard_data_fop(y, kinds[what], kinds[what] == GI_FOP_TRUNCATE ? SIZE - offset / 16 : offset, size);
  else
    fop = yard_write_fop(y, what == 15 ? SIZE : offset, size, yard_draw(seed, 1u << 30));
  yard_submit(y, fop); /* may fail: then nothing is promised */
}

static void
any_history(void **state)
{
  uint64_t near = 0;

  for (uint64_t run = 1; run <= 12; run++) {
    uint64_t seed = run * 977;
    YARD_WITH_FILE(y, run % 3 ? AT_ONCE : "option post-op-delay-secs 90\noption quorum-type auto\n", 7);

    for (int round = 0; round < 4; round++) {
      unsigned away = yard_draw(&seed, YARD);

      yard_down(y, away);
      for (uint32_t n = 1 + yard_draw(&seed, 8); n; n--)
        random_change(y, &seed);
      yard_up(y, away);
      if (yard_draw(&seed, 3) == 0)
        y->rep->regions = 0; /* what was remembered is not asked for */
      for (uint32_t n = yard_draw(&seed, 3); n; n--)
        random_change(y, &seed);
      y->gate[away]->fail_err[GI_FOP_COPY_FILE_RANGE] = yard_draw(&seed, 3) ? 0 : EIO;
      y->gate[away]->fail_after[GI_FOP_COPY_FILE_RANGE] = yard_draw(&seed, 4);
      assert_int_equal(yard_heal(y), 0);
      y->gate[away]->fail_err[GI_FOP_COPY_FILE_RANGE] = 0;
      yard_no_marks(y);
      yard_assert_same(y);
      y->rep->regions = 7;
    }
    near += y->rep->metrics.heal.bytes_near;
    yard_free(y);
  }
  assert_true(near > 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_copy_that_was_away),
      cmocka_unit_test(a_file_it_never_had),
      cmocka_unit_test(only_the_regions),
      cmocka_unit_test(many_regions),
      cmocka_unit_test(only_what_differs),
      cmocka_unit_test(a_small_file_is_sent),
      cmocka_unit_test(two_sinks),
      cmocka_unit_test(one_of_two_sinks),
      cmocka_unit_test(bricks_that_give_way),
      cmocka_unit_test(bricks_that_give_way_among_pieces),
      cmocka_unit_test(a_source_that_is_cut_meanwhile),
      cmocka_unit_test(neither_source_nor_sink_can),
      cmocka_unit_test(a_brick_that_cannot_any_more),
      cmocka_unit_test(a_question_that_is_refused),
      cmocka_unit_test(a_sparse_file_keeps_its_holes),
      cmocka_unit_test(a_copy_that_fails),
      cmocka_unit_test(a_copy_that_fails_midway),
      cmocka_unit_test(one_of_two_copies_fails),
      cmocka_unit_test(neither_way_works),
      cmocka_unit_test(a_source_that_was_blamed_meanwhile),
      cmocka_unit_test(writers_meanwhile),
      cmocka_unit_test(any_history),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
