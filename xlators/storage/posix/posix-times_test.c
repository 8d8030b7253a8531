/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of storage/posix: those that clients bring, on the brick and on disk.
 */
#include "xlators/storage/posix/posix-fixture.h"

#include <fcntl.h>
#include <sys/xattr.h>

static void
mdata_on_disk(const char *path, int64_t *c, int64_t *m, int64_t *a)
{
  uint8_t raw[57];
  int64_t *to[] = {c, m, a};

  assert_int_equal(lgetxattr(path, "trusted.glusterfs.mdata", raw, sizeof(raw)), 57);
  for (int i = 0; i < 3; i++) {
    *to[i] = 0;
    for (int k = 0; k < 8; k++)
      *to[i] = *to[i] << 8 | raw[9 + 16 * i + k];
  }
}

/* Two clients make a file at the same time: for the second it is an open, and what it brings are not the times of a change. */
static void
creating_what_exists_leaves_its_times(void **state)
{
  for (int trunc = 0; trunc <= 1; trunc++) {
    BRICK(b, NULL);
    struct gi_gfid d = brick_gfid(b), g = brick_gfid(b), other = brick_gfid(b);
    struct gi_fd *fd, *fd2;
    struct gi_fop *f;

    (void)state;
    assert_ok(brick_mkdir(b, ROOT, "d", &d));
    assert_ok(brick_create(b, &d, "f", &g, &fd)); /* stamped 1000 */
    f = brick_create_at(b, &d, "f", &other, trunc ? O_TRUNC : 0, 2000, &fd2);
    assert_ok(f);
    assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &g));
    for (int again = 0; again <= 1; again++) {
      assert_int_equal(f->rsp.stat.mtime.sec, trunc ? 2000 : 1000);
      assert_int_equal(f->rsp.stat.ctime.sec, trunc ? 2000 : 1000);
      assert_int_equal(f->rsp.stat.atime.sec, 1000);
      f = brick_nameless(b, &g);
    }
    f = brick_nameless(b, &d);
    assert_int_equal(f->rsp.stat.mtime.sec, 1000);
    assert_int_equal(f->rsp.stat.ctime.sec, 1000);
    gi_fd_unref(&fd);
    gi_fd_unref(&fd2);
    brick_free(b);
  }
}

static struct gi_fop *
write_at(struct brick *b, struct gi_fd *fd, struct gi_time when)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_WRITE);

  set_fd(f, fd);
  f->caller.stamps = GI_STAMP_MTIME | GI_STAMP_CTIME;
  f->caller.time = when;
  gi_payload_add_copy(&f->payload, "x", 1);
  brick_run(b, f);
  assert_int_equal(f->rsp.ret, 1);
  return f;
}

static struct gi_fop *
stamped_write(struct brick *b, struct gi_fd *fd, int64_t sec)
{
  return write_at(b, fd, (struct gi_time){sec, 999999999});
}

/* Visible at once, on disk with fsync. */
static void
times_follow_writes(struct brick *b, const struct gi_gfid *g, struct gi_fd *fd, const char *path)
{
  int64_t c, m, a;
  struct gi_fop *f;

  for (int64_t sec = 2000; sec >= 1500; sec -= 500) { /* the second one is older: only ctime moves */
    f = write_at(b, fd, (struct gi_time){sec, 0});
    assert_int_equal(f->rsp.post.mtime.sec, 2000);
    assert_int_equal(f->rsp.post.ctime.sec, 2000);
    assert_int_equal(f->rsp.post.atime.sec, 1000);
    assert_int_equal(f->rsp.post.ctime.nsec, sec == 2000 ? 0 : 1);
    assert_int_equal(f->rsp.pre.mtime.sec, sec == 2000 ? 1000 : 2000);
  }
  assert_int_equal(brick_nameless(b, g)->rsp.stat.mtime.sec, 2000);
  f = brick_fop(b, GI_FOP_GETXATTR);
  set_object(f, g);
  f->caller.pid = -6;
  f->args.name = "trusted.glusterfs.mdata";
  assert_int_equal(brick_run(b, f)->rsp.ret, 57);
  assert_int_equal(gi_dict_at(f->rsp.dict, 0)->data[9 + 6], 2000 >> 8);
  f = brick_fop(b, GI_FOP_FSYNC);
  set_fd(f, fd);
  assert_ok(brick_run(b, f));
  mdata_on_disk(path, &c, &m, &a);
  assert_int_equal(c, 2000);
  assert_int_equal(m, 2000);
  assert_int_equal(a, 1000);
}

static void
synced_with(struct brick *b, struct gi_fd *fd, const char *path, uint32_t nsec, uint32_t on_disk)
{
  struct gi_fop *f = write_at(b, fd, (struct gi_time){2050, nsec});
  uint8_t raw[57];
  uint32_t got = 0;

  assert_int_equal(f->rsp.post.mtime.nsec, nsec);
  f = brick_fop(b, GI_FOP_FSYNC);
  set_fd(f, fd);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.post.mtime.nsec, nsec); /* seen it is */
  assert_int_equal(lgetxattr(path, "trusted.glusterfs.mdata", raw, sizeof(raw)), 57);
  for (int k = 0; k < 4; k++)
    got = got << 8 | raw[9 + 16 + 8 + 4 + k];
  assert_int_equal(got, on_disk);
}

/* A stamp that is no more than a tick younger than the one on the disk costs an fsync nothing, and gets there later. */
static void
an_fsync_needs_no_finer_times_than_the_kernels(struct brick *b, struct gi_fd *fd, const char *path)
{
  synced_with(b, fd, path, 1000000, 1000000);
  synced_with(b, fd, path, 2000000, 1000000);
  synced_with(b, fd, path, 4999999, 1000000);
  synced_with(b, fd, path, 5000000, 5000000);
  synced_with(b, fd, path, 999999999, 999999999);
  synced_with(b, fd, path, 999999999, 999999999);
}

/* On disk, too, before the mark goes that would make somebody heal it. */
static void
times_precede_marks(struct brick *b, const struct gi_gfid *g, struct gi_fd *fd, const char *path)
{
  const uint8_t one[12] = {0, 0, 0, 1}, minus[12] = {0xff, 0xff, 0xff, 0xff};
  int64_t c, m, a;

  write_at(b, fd, (struct gi_time){2100, 0});
  assert_ok(brick_xattrop(b, g, GI_XATTROP_ADD32, "trusted.afr.dirty", one, 12));
  mdata_on_disk(path, &c, &m, &a);
  assert_int_equal(m, 2050);
  assert_ok(brick_xattrop(b, g, GI_XATTROP_ADD32, "trusted.afr.dirty", minus, 12));
  mdata_on_disk(path, &c, &m, &a);
  assert_int_equal(c, 2100);
  assert_int_equal(m, 2100);
}

/* utimes may go back; ctime may not. */
static void
times_that_are_set(struct brick *b, const struct gi_gfid *g, const char *path)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_SETATTR);
  int64_t c, m, a;

  set_object(f, g);
  f->args.valid = GI_SET_ATIME | GI_SET_MTIME | GI_SET_ATIME_NOW | GI_SET_MTIME_NOW;
  f->args.iatt.atime.sec = 50;
  f->args.iatt.mtime.sec = 60;
  f->caller.stamps = GI_STAMP_CTIME;
  f->caller.time.sec = 3000;
  assert_ok(brick_run(b, f));
  mdata_on_disk(path, &c, &m, &a);
  assert_int_equal(m, 2100); /* later */
  assert_int_equal(f->rsp.post.atime.sec, 50);
  assert_int_equal(f->rsp.post.mtime.sec, 60);
  assert_int_equal(f->rsp.post.ctime.sec, 3000);
  f = brick_fop(b, GI_FOP_SETATTR);
  set_object(f, g);
  f->caller.pid = GI_PID_HEAL;
  f->args.valid = GI_SET_MTIME;
  f->args.iatt.mtime.sec = 60;
  assert_ok(brick_run(b, f));
  mdata_on_disk(path, &c, &m, &a);
  assert_int_equal(m, 60); /* the mark that told of it goes next, elsewhere */
}

static void
times_follow_the_clients_stamps(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  char path[PATH_MAX];
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  brick_path(b, path, "f");
  assert_ok(brick_create(b, ROOT, "f", &g, &fd)); /* stamped 1000 */
  times_follow_writes(b, &g, fd, path);
  an_fsync_needs_no_finer_times_than_the_kernels(b, fd, path);
  times_precede_marks(b, &g, fd, path);
  times_that_are_set(b, &g, path);
  gi_fd_unref(&fd);
  brick_restart(b);
  f = brick_nameless(b, &g);
  assert_int_equal(f->rsp.stat.atime.sec, 50);
  assert_int_equal(f->rsp.stat.mtime.sec, 60);
  assert_int_equal(f->rsp.stat.ctime.sec, 3000);
  assert_int_equal(stat_of(path).st_mtim.tv_sec, 60);
  brick_free(b);
}

/* What is left of a file loses a link with the name that is taken, as by UNLINK. */
static void
a_replaced_name_moves_the_ctime_of_the_others(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid v = brick_gfid(b), n = brick_gfid(b);
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_create(b, ROOT, "v", &v, &fd)); /* stamped 1000 */
  gi_fd_unref(&fd);
  assert_ok(brick_create(b, ROOT, "n", &n, &fd));
  gi_fd_unref(&fd);
  f = brick_fop(b, GI_FOP_LINK);
  set_object(f, &v);
  set_entry2(f, ROOT, "other");
  assert_ok(brick_run(b, f));
  f = brick_fop(b, GI_FOP_RENAME);
  set_entry(f, ROOT, "n");
  set_entry2(f, ROOT, "v");
  f->caller.stamps = GI_STAMP_CTIME | GI_STAMP_PARENT_CTIME | GI_STAMP_PARENT_MTIME;
  f->caller.time = (struct gi_time){2000, 0};
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.stat.ctime.sec, 2000);
  assert_int_equal(f->rsp.post.mtime.sec, 2000);
  assert_int_equal(brick_nameless(b, &v)->rsp.stat.ctime.sec, 2000);
  assert_int_equal(brick_nameless(b, &v)->rsp.stat.mtime.sec, 1000);
  assert_int_equal(brick_nameless(b, &v)->rsp.stat.nlink, 1);
  brick_free(b);
}

static void
times_reach_the_disk_within_a_second(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_gfid(b), n = brick_gfid(b);
  char path[PATH_MAX];
  struct gi_fop *f;
  int64_t c, m, a;
  struct gi_fd *fd;

  (void)state;
  brick_path(b, path, "d");
  assert_ok(brick_mkdir(b, ROOT, "d", &d));
  f = brick_fop(b, GI_FOP_MKNOD);
  set_entry(f, &d, "f");
  set_stamp(f, 7000);
  f->args.mode = S_IFREG | 0600;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &n);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.pre.mtime.sec, 1000);
  assert_int_equal(f->rsp.post.mtime.sec, 7000);
  fake_wait(b->s, 200 * GI_NSEC_PER_MSEC); /* names have no mark that would make a healer look */
  mdata_on_disk(path, &c, &m, &a);
  assert_int_equal(m, 7000);
  assert_ok(brick_open(b, &n, O_RDWR, &fd));
  stamped_write(b, fd, 8000);
  brick_path(b, path, "d/f");
  fake_wait(b->s, 700 * GI_NSEC_PER_MSEC);
  mdata_on_disk(path, &c, &m, &a);
  assert_int_equal(m, 8000);
  gi_fd_unref(&fd);
  brick_free(b);
}

static void
without_ctime_the_kernels_times_count(void **state)
{
  BRICK(b, "option ctime off\n");
  struct gi_gfid g = brick_file(b, ROOT, "f");
  char path[PATH_MAX];
  struct stat st;

  (void)state;
  brick_path(b, path, "f");
  assert_no_xattr(path, "trusted.glusterfs.mdata");
  st = stat_of(path);
  assert_int_equal(brick_nameless(b, &g)->rsp.stat.mtime.sec, st.st_mtim.tv_sec);
  brick_free(b);
}

/* Of what was made without times, as by GlusterFS before it kept any. */
static void
reading_makes_no_times(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  char path[PATH_MAX];
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  brick_path(b, path, "f");
  brick_restart(b);
  assert_int_equal(lremovexattr(path, "trusted.glusterfs.mdata"), 0);
  assert_ok(brick_open(b, &g, O_RDWR, &fd));
  f = brick_on_fd(b, GI_FOP_READ, fd, 0, 10);
  f->caller.stamps = GI_STAMP_ATIME;
  f->caller.time = (struct gi_time){3000, 0};
  assert_ok(brick_run(b, f));
  assert_int_equal(brick_nameless(b, &g)->rsp.stat.mtime.sec, stat_of(path).st_mtim.tv_sec);
  fake_wait(b->s, 700 * GI_NSEC_PER_MSEC);
  assert_no_xattr(path, "trusted.glusterfs.mdata");
  assert_int_equal(stamped_write(b, fd, 4000)->rsp.post.mtime.sec, 4000);
  gi_fd_unref(&fd);
  brick_free(b);
}

static struct gi_fop *
set_mtime(struct brick *b, const struct gi_gfid *g, int64_t mtime, int64_t now)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_SETATTR);

  set_object(f, g);
  f->args.valid = GI_SET_MTIME;
  f->args.iatt.mtime = (struct gi_time){mtime, 7};
  f->caller.stamps = GI_STAMP_CTIME;
  f->caller.time = (struct gi_time){now, 0};
  assert_ok(brick_run(b, f));
  return f;
}

static void
no_change_leaves_ctime_as_it_is(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b), d = brick_gfid(b);
  struct gi_time last = {0};
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd)); /* stamped 1000 */
  assert_ok(brick_mkdir(b, ROOT, "d", &d));
  stamped_write(b, fd, 3000);
  for (int64_t sec = 3000; sec > 2000; sec -= 250) {
    f = stamped_write(b, fd, sec);
    assert_int_equal(f->rsp.post.ctime.sec, 3001); /* the nanosecond carries */
    assert_true(f->rsp.post.ctime.nsec > last.nsec || sec == 3000);
    assert_int_equal(f->rsp.post.mtime.sec, 3000);
    last = f->rsp.post.ctime;
    f = set_mtime(b, &g, 3000, sec);
    assert_int_equal(f->rsp.post.ctime.nsec, last.nsec + 1);
    last = f->rsp.post.ctime;
  }
  f = brick_fop(b, GI_FOP_RENAME); /* one change of one directory */
  set_entry(f, &d, "x");
  set_entry2(f, &d, "y");
  assert_ok(brick_rename(b, ROOT, "f", &d, "x"));
  set_stamp(f, 5000);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.post.ctime.sec, 5000);
  assert_int_equal(f->rsp.post.ctime.nsec, 5);
  assert_int_equal(f->rsp.post2.ctime.nsec, 5);
  gi_fd_unref(&fd);
  brick_free(b);
}

static void
an_mtime_in_the_future_lasts_until_the_next_write(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd)); /* stamped 1000 */
  f = set_mtime(b, &g, 9000, 2000);
  assert_int_equal(f->rsp.post.mtime.sec, 9000);
  assert_int_equal(f->rsp.post.mtime.nsec, 7);
  assert_int_equal(f->rsp.post.ctime.sec, 2000);
  f = stamped_write(b, fd, 2001);
  assert_int_equal(f->rsp.post.mtime.sec, 2001);
  assert_int_equal(f->rsp.post.ctime.sec, 2001);
  f = set_mtime(b, &g, 500, 2002); /* and one in the past */
  assert_int_equal(f->rsp.post.mtime.sec, 500);
  assert_int_equal(stamped_write(b, fd, 2003)->rsp.post.mtime.sec, 2003);
  f = set_mtime(b, &g, 9000, 3000); /* by one whose clock is ahead of the writer's */
  f = stamped_write(b, fd, 2500);
  assert_int_equal(f->rsp.post.mtime.sec, 2500);
  assert_int_equal(f->rsp.post.ctime.sec, 3000);
  assert_int_equal(f->rsp.post.ctime.nsec, 1);
  gi_fd_unref(&fd);
  brick_free(b);
}

static void
whole_times_can_be_given(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  uint8_t mdata[57] = {1}, legacy[36] = {0};
  struct gi_fop *f;

  (void)state;
  mdata[15] = 4;      /* ctime 1024: newer */
  mdata[15 + 16] = 1; /* mtime 256: older */
  mdata[15 + 32] = 8; /* atime 2048: newer */
  assert_ok(brick_setxattr(b, &g, "trusted.glusterfs.mdata", mdata, 57, 0));
  f = brick_nameless(b, &g);
  assert_int_equal(f->rsp.stat.ctime.sec, 1024);
  assert_int_equal(f->rsp.stat.mtime.sec, 1000);
  assert_int_equal(f->rsp.stat.atime.sec, 2048);
  f = brick_fop(b, GI_FOP_SETXATTR);
  set_object(f, &g);
  f->args.dict = gi_dict_new();
  legacy[7 + 8] = 1;    /* mtime, bytes 8 to 15 */
  legacy[6 + 8] = 0x10; /* 4097 */
  gi_dict_set_raw(f->args.dict, "set-ctime-mdata", 15, GI_VALUE_MDATA, legacy, 36);
  assert_ok(brick_run(b, f));
  f = brick_nameless(b, &g);
  assert_int_equal(f->rsp.stat.mtime.sec, 4097);
  assert_int_equal(f->rsp.stat.atime.sec, 2048);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(creating_what_exists_leaves_its_times),
      cmocka_unit_test(times_follow_the_clients_stamps),
      cmocka_unit_test(a_replaced_name_moves_the_ctime_of_the_others),
      cmocka_unit_test(without_ctime_the_kernels_times_count),
      cmocka_unit_test(reading_makes_no_times),
      cmocka_unit_test(no_change_leaves_ctime_as_it_is),
      cmocka_unit_test(an_mtime_in_the_future_lasts_until_the_next_write),
      cmocka_unit_test(whole_times_can_be_given),
  };
  const struct CMUnitTest slow[] = {
      /* they wait for a clock: once is enough */
      cmocka_unit_test(times_reach_the_disk_within_a_second),
  };

  return BRICK_RUN_ENGINES(tests) + cmocka_run_group_tests(slow, NULL, NULL);
}
