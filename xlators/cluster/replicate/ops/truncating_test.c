/* SPDX-License-Identifier: Apache-2.0
 *
 * An open that truncates: in one message where every brick does both, and in two
 * otherwise.
 */
#include "xlators/cluster/replicate/testing/model.h"

#include <fcntl.h>

#define SIZE 5000

static struct gi_fop *
open_truncating(struct rig *r, struct gi_fd **fd)
{
  static const uint8_t data[SIZE] = {1};
  struct gi_fop *f;

  for (unsigned i = 0; i < BRICKS; i++)
    rig_data(r, i, 5, data, sizeof(data));
  *fd = fake_fd(r->s, 5);
  f = rig_fd(r, GI_FOP_OPEN, *fd);
  f->args.flags = O_RDWR | O_TRUNC;
  return f;
}

static void
is_empty_everywhere(struct rig *r)
{
  for (unsigned i = 0; i < BRICKS; i++)
    assert_int_equal(brick_object(&r->brick[i], 5)->stat.size, 0);
}

static void
test_open_truncates(void **state)
{
  struct rig *r = rig_of_ours();
  struct gi_fd *fd;
  struct gi_fop *f = open_truncating(r, &fd);

  rig_run(r, f);
  rig_done(f, 0, 0);
  is_empty_everywhere(r);
  rig_log_all(r, "( L:0 X:d+1 ) OPEN+");
  rig_run(r, rig_write(r, fd, 0, 100));
  rig_log_all(r, "WRITE"); /* it is open everywhere, locked and marked */
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "FSYNC X:d-1 U:0");
  rig_free_clean(r);
}

/* Where it was done before another client had its turn the file is open, and truncated once more. */
static void
test_open_truncates_and_meets(void **state)
{
  struct rig *r = rig_of_ours();
  struct gi_fd *fd;
  struct gi_fop *f = open_truncating(r, &fd);

  r->brick[0].fail_once[GI_FOP_INODELK] = EAGAIN;
  rig_run(r, f);
  rig_done(f, 0, 0);
  is_empty_everywhere(r);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log(r, 0, "( !L:0 ) W:0 X:d+1 OPEN+ FSYNC X:d-1 U:0");
  for (unsigned i = 1; i < BRICKS; i++)
    rig_log(r, i, "( L:0 X:d+1 ) OPEN+ U:0 W:0 X:0 FTRUNCATE FSYNC X:d-1 U:0");
  rig_free_clean(r);
}

/* Nobody has a descriptor through which more could come: the lock does not stay. */
static void
test_open_that_may_not_truncate(void **state)
{
  struct rig *r = rig_of_ours();
  struct gi_fd *fd;
  struct gi_fop *f = open_truncating(r, &fd);

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_once[GI_FOP_OPEN] = EACCES;
  rig_run(r, f);
  rig_done(f, -1, EACCES);
  rig_log_all(r, "( L:0 X:d+1 ) OPEN+ X:d-1 U:0");
  rig_free_clean(r);
}

/* Who did not open it has missed the truncation. */
static void
test_open_truncates_elsewhere(void **state)
{
  struct rig *r = rig_of_ours();
  struct gi_fd *fd;
  struct gi_fop *f = open_truncating(r, &fd);

  r->brick[1].fail_once[GI_FOP_OPEN] = EIO;
  rig_run(r, f);
  rig_done(f, 0, 0);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 5, i == 1 ? "D:d1" : "1d1");
  rig_free_clean(r);
}

static void
note_stamps(struct brick *b, struct gi_fop *fop, void *arg)
{
  uint8_t *stamps = arg;

  stamps[fop->kind] = (uint8_t)fop->caller.stamps;
}

/* A brick that does not know it, or is away: what has been opened is truncated then. Only that moves the times, under the lock and the
 * mark. */
static void
test_open_then_truncate(void **state)
{
  static uint8_t stamps[GI_FOP_MAX];
  struct rig *r = rig_of_ours();
  struct gi_fd *fd;
  struct gi_fop *f = open_truncating(r, &fd);

  fake_event(r->s, 1, GI_EVENT_CHILD_DOWN, NULL);
  fake_event(r->s, 1, GI_EVENT_CHILD_UP, GI_PREAMBLE_CAPABILITY);
  fake_settle(r->s);
  rig_run(r, rig_loc(r, GI_FOP_LOOKUP, 5));
  rig_forget(r);
  r->brick[0].hook = note_stamps;
  r->brick[0].hook_arg = stamps;
  f->caller.stamps = GI_STAMP_CTIME | GI_STAMP_MTIME;
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_log_all(r, "OPEN ( L:0 X:d+1 ) FTRUNCATE");
  assert_int_equal(stamps[GI_FOP_OPEN], 0);
  assert_int_equal(stamps[GI_FOP_FTRUNCATE], GI_STAMP_CTIME | GI_STAMP_MTIME);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open_truncates),
      cmocka_unit_test(test_open_truncates_and_meets),
      cmocka_unit_test(test_open_that_may_not_truncate),
      cmocka_unit_test(test_open_truncates_elsewhere),
      cmocka_unit_test(test_open_then_truncate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
