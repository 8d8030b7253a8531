/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbiter volumes (replicate.md 8): the third child is sent one byte instead of
 * data, is never read, and a set in which only it is good refuses everything.
 */
#include "xlators/cluster/replicate/testing/model.h"

static struct rig *
with_file(struct gi_fd **fd)
{
  struct rig *r = rig_new_arbiter(NULL);

  rig_object(r, 5, S_IFREG | 0644);
  *fd = rig_open(r, 5);
  return r;
}

static void
configuration(void **state)
{
  struct gi_error err = {0};

  assert_null(fake_stack_try("cluster/replicate", "option arbiter-count 1\n", 2, &err));
  assert_non_null(strstr(err.text, "arbiter-count 1 needs 3 subvolumes, not 2"));
  assert_null(fake_stack_try("cluster/replicate", "option arbiter-count 2\n", 3, &err));
}

/* The model checks the byte that the arbiter gets. */
static void
write_of_one_byte(void **state)
{
  struct gi_fd *fd;
  struct rig *r = with_file(&fd);
  struct gi_fop *f;

  rig_run(r, f = rig_write(r, fd, 4096, 65536));
  rig_done(f, 65536, 0);
  assert_int_equal(f->rsp.post.size, 4096 + 65536);
  rig_run(r, f = rig_write(r, fd, 0, 0));
  rig_done(f, 0, 0);
  assert_int_equal(brick_object(&r->brick[1], 5)->stat.size, 4096 + 65536);
  assert_int_equal(brick_object(&r->brick[2], 5)->stat.size, 0);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "L:0 X:d+1 WRITE WRITE FSYNC X:d-1 U:0");
  for (unsigned i = 0; i < 3; i++)
    rig_marks(r, i, 5, "");
  rig_free_clean(r);
}

/* The arbiter's answer to its byte is no measure for a short write, nor the other way round. */
static void
short_writes(void **state)
{
  struct gi_fd *fd;
  struct rig *r = with_file(&fd);
  struct gi_fop *f;

  r->brick[2].fail_err[GI_FOP_WRITE] = EIO;
  rig_run(r, f = rig_write(r, fd, 0, 100));
  rig_done(f, 100, 0);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 0, 5, "2d1");
  rig_marks(r, 1, 5, "2d1");
  rig_free_clean(r);
}

/* An empty file at the arbiter is no sign of a lost append, and it is never asked. */
static void
never_read(void **state)
{
  static const enum gi_fop_kind reads[] = {GI_FOP_READ, GI_FOP_FSTAT, GI_FOP_SEEK, GI_FOP_FGETXATTR};
  struct rig *r = rig_new_arbiter("option read-subvolume-index 2\noption choose-local off\n");
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < 2; i++)
    brick_object(&r->brick[i], 5)->stat.size = 10;
  fd = rig_open(r, 5);
  rig_run(r, f = rig_loc(r, GI_FOP_LOOKUP, 5));
  rig_done(f, 0, 0);
  assert_int_equal(f->rsp.stat.size, 10);
  rig_log_all(r, "LOOKUP");
  for (int down = -1; down < 2; down++) {
    if (down >= 0)
      rig_down(r, (unsigned)down);
    for (size_t k = 0; k < GI_ARRAY_LEN(reads); k++) {
      f = rig_fd(r, reads[k], fd);
      f->args.size = 10;
      f->args.name = "user.x";
      rig_run(r, f);
      rig_done(f, reads[k] == GI_FOP_READ ? 10 : 0, 0);
      assert_null(strstr(r->brick[2].log, gi_fop_name(reads[k] == GI_FOP_FSTAT ? GI_FOP_STAT : reads[k])) &&
                          reads[k] != GI_FOP_FSTAT
                      ? r->brick[2].log
                      : NULL);
    }
    rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
    rig_done(f, 0, 0);
    assert_int_equal(f->rsp.stat.size, 10);
    rig_run(r, f = rig_loc(r, GI_FOP_STATFS, 1));
    rig_done(f, 0, 0);
    assert_null(strstr(r->brick[2].log, "STATFS"));
    if (down >= 0)
      rig_up(r, (unsigned)down);
  }
  rig_free_clean(r);
}

/* A listing comes from a data brick even if the names are in split-brain. */
static void
listing(void **state)
{
  struct rig *r = rig_new_arbiter(NULL);
  struct gi_fop *f;
  struct gi_fd *dir = gi_fd_new(r->s->graph, fake_inode(r->s, 9), 0, 1);

  dir->directory = true;
  rig_object(r, 9, S_IFDIR | 0755);
  rig_blame(r, 0, 9, 1, 2);
  rig_blame(r, 1, 9, 0, 2);
  rig_run(r, f = rig_fd(r, GI_FOP_OPENDIR, dir));
  rig_done(f, 0, 0);
  rig_run(r, f = rig_fd(r, GI_FOP_READDIR, dir));
  rig_done(f, 0, 0);
  assert_int_equal(fake_count(r->s, 2, GI_FOP_READDIR), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_READDIR) + fake_count(r->s, 1, GI_FOP_READDIR), 1);
  gi_fd_unref(&dir);
  rig_free_clean(r);
}

/* …but not if only the arbiter has missed nothing. */
static void
listing_of_outdated_copies(void **state)
{
  struct rig *r = rig_new_arbiter("option quorum-type auto\n");
  struct gi_fop *f;
  struct gi_fd *dir = gi_fd_new(r->s->graph, fake_inode(r->s, 9), 0, 1);

  (void)state;
  dir->directory = true;
  rig_object(r, 9, S_IFDIR | 0755);
  rig_blame(r, 0, 9, 1, 2);
  rig_blame(r, 1, 9, 0, 2);
  rig_blame(r, 2, 9, 0, 2);
  rig_blame(r, 2, 9, 1, 2);
  rig_run(r, f = rig_fd(r, GI_FOP_OPENDIR, dir));
  rig_done(f, 0, 0);
  rig_run(r, f = rig_fd(r, GI_FOP_READDIR, dir));
  rig_done(f, -1, EIO);
  for (unsigned i = 0; i < BRICKS; i++)
    assert_int_equal(fake_count(r->s, i, GI_FOP_READDIR), 0);
  gi_fd_unref(&dir);
  rig_free_clean(r);
}

/* replicate.md 11.5: a data brick misses a write; then only it and the arbiter are left. */
static void
stale_and_arbiter(void **state)
{
  static const enum gi_fop_kind by_loc[] = {GI_FOP_LOOKUP, GI_FOP_STAT, GI_FOP_TRUNCATE, GI_FOP_GETXATTR};
  static const enum gi_fop_kind by_fd[] = {GI_FOP_READ,      GI_FOP_WRITE,     GI_FOP_FSTAT,
                                           GI_FOP_FTRUNCATE, GI_FOP_FALLOCATE, GI_FOP_OPEN};
  struct gi_fd *fd;
  struct rig *r = with_file(&fd);
  struct gi_fop *f;

  rig_down(r, 0);
  rig_run(r, f = rig_write(r, fd, 0, 100));
  rig_done(f, 100, 0);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 1, 5, "0d1");
  rig_marks(r, 2, 5, "0d1");
  rig_up(r, 0);
  rig_down(r, 1);
  for (size_t i = 0; i < GI_ARRAY_LEN(by_loc); i++) {
    f = rig_loc(r, by_loc[i], 5);
    f->args.name = "user.x";
    rig_run(r, f);
    rig_done(f, -1, ENOTCONN);
  }
  for (size_t i = 0; i < GI_ARRAY_LEN(by_fd); i++) {
    f = by_fd[i] == GI_FOP_WRITE ? rig_write(r, fd, 0, 10) : rig_fd(r, by_fd[i], fd);
    rig_run(r, f);
    rig_done(f, -1, ENOTCONN);
  }
  assert_int_equal(fake_count(r->s, 0, GI_FOP_READ) + fake_count(r->s, 2, GI_FOP_READ), 0);
  rig_marks(r, 0, 5, "");
  rig_marks(r, 2, 5, "0d1"); /* nothing was changed, and nothing is left dirty */
  rig_forget(r);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, ENOTCONN);
  rig_log(r, 2, "L:0 X:0 U:0"); /* the copy that is away was not blamed: who knows whether that could be taken back */
  rig_up(r, 1);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_free_clean(r);
}

/* Names: a directory whose only good copy beside the arbiter is away is not changed. */
static void
stale_directory_and_arbiter(void **state)
{
  struct rig *r = rig_new_arbiter(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_object(r, 6, S_IFDIR | 0755);
  rig_down(r, 0);
  rig_run(r, f = rig_entry(r, GI_FOP_MKDIR, 1, "d", 9));
  rig_done(f, 0, 0);
  rig_up(r, 0);
  rig_down(r, 1);
  rig_forget(r);
  rig_run(r, f = rig_entry(r, GI_FOP_MKDIR, 1, "e", 10));
  rig_done(f, -1, ENOTCONN);
  rig_log(r, 2, "E:e X:0 EU:e");
  /* The marks of both parents of a rename count. */
  f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);
  gi_loc_set_inode(&f->loc, fake_inode(r->s, 5));
  f->loc.inode->mode = S_IFREG;
  gi_fop_set_entry(f, &f->loc2, fake_inode(r->s, 6), "to");
  rig_run(r, f);
  rig_done(f, -1, ENOTCONN);
  rig_marks(r, 2, 1, "0e1");
  rig_marks(r, 2, 6, "");
  rig_free_clean(r);
}

/* The good data brick fails a write that the stale one and the arbiter do: blaming it would leave data nowhere. */
static void
last_good_data(void **state)
{
  struct gi_fd *fd;
  struct rig *r = with_file(&fd);
  struct gi_fop *f;

  for (unsigned i = 1; i < 3; i++)
    rig_blame(r, i, 5, 0, 0);
  r->brick[1].fail_once[GI_FOP_WRITE] = ENOSPC;
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, ENOSPC);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 0, 5, "D:d1");
  rig_marks(r, 2, 5, "0d1,D:d1");
  rig_free_clean(r);
}

/* Stale arbiter: it is one of three like any other, and data goes on. */
static void
arbiter_down(void **state)
{
  struct gi_fd *fd;
  struct rig *r = with_file(&fd);
  struct gi_fop *f;

  rig_down(r, 2);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 0, 5, "2d1");
  rig_up(r, 2);
  rig_down(r, 1);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_free_clean(r);
}

/* A client loses a data brick, and the arbiter for a moment, and with them its lock: another may have written with these two, and blame the
 * brick that is left. What this one has to say of the lost brick must not be said by the arbiter, too. Who still has the lock of that
 * brick, which refused the write, is alone, and tells. */
static void
lock_lost_at_the_arbiter(void **state)
{
  for (int another = 0; another < 2; another++) {
    struct gi_fd *fd;
    struct rig *r = with_file(&fd);
    struct gi_fop *f;

    for (unsigned i = 0; i < 3; i++)
      r->brick[i].append = true;
    r->brick[1].fail_once[GI_FOP_WRITE] = another ? ENOTCONN : ENOSPC;
    rig_hold(r, 0, GI_FOP_WRITE);
    rig_run(r, f = rig_write(r, fd, 0, BRICK_PAGE));
    rig_down(r, 2);
    rig_up(r, 2);
    rig_release(r, 0, GI_FOP_WRITE);
    rig_done(f, another ? -1 : (int)BRICK_PAGE, another ? ENOTCONN : 0);
    rig_marks(r, 0, 5, "1d1");
    rig_marks(r, 2, 5, another ? "D:d1" : "1d1");
    rig_free_clean(r);
  }
}

static void
message(void **state)
{
  struct rig *r = rig_new_arbiter(NULL);

  for (unsigned from = 1; from < 3; from++) {
    struct gi_invalidation inv = {.flags = 0x3fff & ~0x2000u};

    memset(&inv.gfid, 5, sizeof(inv.gfid));
    fake_event(r->s, from, GI_EVENT_INVALIDATE, &inv);
    assert_int_equal(inv.flags, from == 2 ? 0x1d80 : 0x1fff);
  }
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(configuration),     cmocka_unit_test(write_of_one_byte),
      cmocka_unit_test(short_writes),      cmocka_unit_test(never_read),
      cmocka_unit_test(listing),           cmocka_unit_test(listing_of_outdated_copies),
      cmocka_unit_test(stale_and_arbiter), cmocka_unit_test(stale_directory_and_arbiter),
      cmocka_unit_test(last_good_data),    cmocka_unit_test(arbiter_down),
      cmocka_unit_test(message),           cmocka_unit_test(lock_lost_at_the_arbiter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
