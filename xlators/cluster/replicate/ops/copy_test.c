/* SPDX-License-Identifier: Apache-2.0
 *
 * COPY_FILE_RANGE: what is locked, what the bricks are asked, and when it is
 * left to the kernel.
 */
#include "xlators/cluster/replicate/testing/model.h"

static struct gi_fd *from, *to;

static struct rig *
with_files(struct rig *r)
{
  rig_object(r, 5, S_IFREG | 0644);
  rig_object(r, 6, S_IFREG | 0644);
  from = rig_open(r, 5);
  to = rig_open(r, 6);
  return r;
}

static struct gi_fop *
copy(struct rig *r, struct gi_fd *source, struct gi_fd *dest)
{
  struct gi_fop *f = rig_fd(r, GI_FOP_COPY_FILE_RANGE, source);

  f->fd2 = gi_fd_ref(dest);
  gi_loc_set_inode(&f->loc2, dest->inode);
  f->args.offset = 7;
  f->args.offset2 = 100;
  f->args.size = 1000;
  return f;
}

/* Marks are the destination's; both are locked, the lower gfid first, whichever is the source. */
static void
copies_are_local(void **state)
{
  struct rig *r = with_files(rig_new(NULL));
  struct gi_fop *f;

  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  rig_run(r, rig_loc(r, GI_FOP_STAT, 6));
  for (int back = 0; back < 2; back++) {
    rig_forget(r);
    rig_run(r, f = back ? copy(r, to, from) : copy(r, from, to));
    rig_done(f, 1000, 0);
    rig_log_all(r, "L:0 L:0 X:d+1 FSTAT COPY_FILE_RANGE FSYNC X:d-1 U:0 U:0");
  }
  rig_forget(r);
  rig_run(r, f = copy(r, from, from));
  rig_done(f, 1000, 0);
  rig_log_all(r, "L:0 X:d+1 FSTAT COPY_FILE_RANGE FSYNC X:d-1 U:0");
  rig_free_clean(r);
}

/* Delayed transactions of this client on either file give way, and what comes later waits. */
static void
own_sessions_give_way(void **state)
{
  struct rig *r = with_files(rig_new("option ensure-durability off\n"));
  struct gi_fop *a, *b, *f, *later;

  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  rig_run(r, a = rig_write(r, from, 0, 10));
  rig_run(r, b = rig_write(r, to, 0, 10));
  rig_forget(r);
  rig_hold(r, 1, GI_FOP_COPY_FILE_RANGE);
  rig_run(r, f = copy(r, from, to));
  rig_run(r, later = rig_write(r, to, 0, 10));
  assert_false(f->answered || later->answered);
  rig_log(r, 0, "X:d-1 U:0 X:d-1 U:0 L:0 L:0 X:d+1 FSTAT COPY_FILE_RANGE");
  rig_release(r, 1, GI_FOP_COPY_FILE_RANGE);
  fake_settle(r->s);
  rig_done(f, 1000, 0);
  rig_done(later, 10, 0);
  rig_log(r, 0, "X:d-1 U:0 U:0 L:0 X:d+1 WRITE");
  rig_free_clean(r);
}

/* A copy that differs is found under the lock even if nothing was known of it before. */
static void
a_stale_source_is_left_to_the_kernel(void **state)
{
  struct rig *r = with_files(rig_new(NULL));
  struct gi_fop *f;

  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  rig_blame(r, 0, 5, 2, 0); /* another client's write failed at brick 2 */
  rig_forget(r);
  rig_run(r, f = copy(r, from, to));
  rig_done(f, -1, EOPNOTSUPP);
  rig_log_all(r, "L:0 L:0 X:d+1 FSTAT X:d-1 U:0 U:0");
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 6, "");
  rig_down(r, 1); /* now the source is looked at first */
  rig_up(r, 1);
  rig_forget(r);
  rig_run(r, f = copy(r, from, to));
  rig_done(f, -1, EOPNOTSUPP);
  rig_log_all(r, "FSTAT");
  rig_free_clean(r);
}

static void
failures_are_those_of_a_write(void **state)
{
  struct rig *r = with_files(rig_new(NULL));
  struct gi_fop *f;

  r->brick[1].fail_once[GI_FOP_COPY_FILE_RANGE] = EIO;
  rig_run(r, f = copy(r, from, to));
  rig_done(f, 1000, 0);
  rig_marks(r, 0, 6, "1d1");
  rig_marks(r, 2, 6, "1d1");
  rig_marks(r, 0, 5, "");
  rig_free_clean(r);

  r = with_files(rig_new(NULL));
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_once[GI_FOP_COPY_FILE_RANGE] = EXDEV;
  rig_run(r, f = copy(r, from, to));
  rig_done(f, -1, EXDEV);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 6, "");
  rig_down(r, 0);
  rig_down(r, 1);
  rig_run(r, f = copy(r, from, to));
  rig_done(f, -1, ENOTCONN);
  rig_free_clean(r);
}

static void
an_arbiter_hears_of_a_write(void **state)
{
  struct rig *r = with_files(rig_new_arbiter(NULL));
  struct gi_fop *f;

  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  rig_forget(r);
  rig_run(r, f = copy(r, from, to));
  rig_done(f, 1000, 0);
  rig_log(r, 0, "L:0 L:0 X:d+1 FSTAT COPY_FILE_RANGE FSYNC X:d-1 U:0 U:0");
  rig_log(r, 2, "L:0 L:0 X:d+1 FSTAT WRITE FSYNC X:d-1 U:0 U:0");
  rig_marks(r, 0, 6, "");
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_are_local),
      cmocka_unit_test(own_sessions_give_way),
      cmocka_unit_test(a_stale_source_is_left_to_the_kernel),
      cmocka_unit_test(failures_are_those_of_a_write),
      cmocka_unit_test(an_arbiter_hears_of_a_write),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
