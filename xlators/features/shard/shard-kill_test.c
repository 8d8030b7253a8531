/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that is killed in the middle of an operation on a file in blocks, after each of its messages: what others find then, and that
 * what it has left goes.
 */
#include "xlators/features/shard/shard.h"
#include "xlators/features/shard/shard-fixture.h"

#define SIZE (3 * BLOCK + BLOCK / 2)

/* A file of that size, and a block behind its end, which somebody else has left. */
static void
file_start(struct brick *b, unsigned behind)
{
  *b = (struct brick){0};
  brick_start(b);
  b->dir = b->there[1] = b->there[2] = b->there[3] = b->there[behind] = true;
  b->len[0] = b->len[1] = b->len[2] = BLOCK;
  b->len[3] = BLOCK / 2;
  b->len[behind] = 5000;
  b->size = SIZE;
}

/* The client is gone; another one comes. */
static void
another_client(struct brick *b)
{
  brick_end(b);
  b->s = client_of_brick();
  b->lonely = false;
  b->name_locks = 0; /* a brick drops those of a client that is gone */
  brick_serve(b, GI_FOP_MAX);
}

static struct gi_fop *
range_fop(struct brick *b, enum gi_fop_kind kind, uint64_t offset, uint64_t size)
{
  struct gi_fop *f;
  if (kind == GI_FOP_WRITE)
    return write_at(b, offset, size, O_WRONLY);
  f = fake_fop(b->s, kind);
  gi_fop_set_fd(f, fake_fd(b->s, BASE));
  f->args.offset = offset;
  f->args.size = size;
  fake_submit(b->s, f);
  return f;
}

static const struct act {
  enum gi_fop_kind kind;
  uint64_t offset, size; /* what lies before stays as it was */
  uint64_t end;          /* of the file, when it is done */
} acts[] = {
    {GI_FOP_FTRUNCATE, BLOCK + BLOCK / 4, 0, BLOCK + BLOCK / 4},
    {GI_FOP_FTRUNCATE, 0, 0, 0},
    {GI_FOP_FTRUNCATE, 7 * BLOCK, 0, 7 * BLOCK},
    {GI_FOP_WRITE, SIZE, BLOCK, SIZE + BLOCK},
    {GI_FOP_WRITE, 5 * BLOCK - 1000, 2000, 5 * BLOCK + 1000},
    {GI_FOP_FALLOCATE, 3 * BLOCK, 3 * BLOCK, 6 * BLOCK},
    {GI_FOP_DISCARD, BLOCK, 2 * BLOCK, SIZE},
};

/* Others see the old size or the new one, and nothing of what was behind it when the file grows. */
static void
check_file(struct brick *b, const struct act *act)
{
  uint64_t size = b->size;
  assert_true(size == SIZE || size == act->end);
  for (unsigned n = 0; n < BLOCKS; n++)
    if ((n + 1) * BLOCK <= act->offset && (n + 1) * BLOCK <= SIZE)
      assert_true((n == 0 || b->there[n]) && b->len[n] == BLOCK);
  assert_int_equal(range_fop(b, GI_FOP_FTRUNCATE, 8 * BLOCK, 0)->rsp.ret, 0);
  assert_int_equal(b->size, 8 * BLOCK);
  for (unsigned n = 0; n < BLOCKS; n++) {
    uint64_t most = size <= n * BLOCK ? 0 : size - n * BLOCK < BLOCK ? size - n * BLOCK : BLOCK;
    assert_true(b->len[n] <= most);
  }
}

static void
test_changes_that_are_cut_short(void **state)
{
  for (const struct act *act = acts; act < acts + GI_ARRAY_LEN(acts); act++) {
    bool done = false;
    for (unsigned after = 0; !done; after++) {
      struct brick b;
      file_start(&b, 5);
      b.lonely = true;
      b.left = after;
      done = range_fop(&b, act->kind, act->offset, act->size)->rsp.ret >= 0;
      assert_true(after < 60);
      if (done)
        assert_int_equal(b.size, act->end);
      another_client(&b);
      check_file(&b, act);
      brick_end(&b);
    }
  }
}

/* Its blocks are there as long as its name is; then nothing of it stays. */
static void
test_a_removal_that_is_cut_short(void **state)
{
  unsigned gone = 0, kept = 0;
  for (unsigned after = 0; after < 40; after++) {
    struct brick b;
    file_start(&b, 4);
    b.lonely = true;
    b.left = after;
    struct gi_fop *f = fake_fop(b.s, GI_FOP_UNLINK);
    gi_fop_set_entry(f, &f->loc, fake_inode(b.s, 9), "file");
    fake_submit(b.s, f);
    fake_settle(b.s);
    another_client(&b);
    if (!b.gone)
      assert_true(b.there[1] && b.there[2] && b.there[3]);
    sh_clean_due(b.s->x->private);
    fake_settle(b.s);
    for (unsigned n = 1; n <= 4; n++)
      assert_int_equal(b.there[n], !b.gone);
    assert_false(b.marker);
    assert_int_equal(b.name_locks, 0);
    gone += b.gone;
    kept += !b.gone;
    brick_end(&b);
  }
  assert_true(gone > 10 && kept > 2);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_changes_that_are_cut_short),
      cmocka_unit_test(test_a_removal_that_is_cut_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
