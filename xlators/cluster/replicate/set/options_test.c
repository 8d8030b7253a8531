/* SPDX-License-Identifier: Apache-2.0
 *
 * What each option of cluster/replicate changes (replicate.md 10), also when it
 * is set while the volume is in use.
 */
#include "xlators/cluster/replicate/testing/model.h"

#define MS 1000000ull

static void
quorum_follows_the_options(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option quorum-type fixed\noption quorum-count 3\n", &fd);
  struct gi_error err = {0};
  struct gi_fop *f;

  rig_down(r, 2);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, ENOTCONN);
  rig_set(r, "quorum-count", "2");
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_down(r, 1);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, ENOTCONN);
  rig_set(r, "quorum-type", "none");
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_set(r, "quorum-type", "auto");
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, ENOTCONN);
  rig_free_clean(r);
  assert_null(fake_stack_try("cluster/replicate", "option quorum-type fixed\noption quorum-count 4\n", 3, &err));
  assert_non_null(strstr(err.text, "quorum-count 4"));
}

static struct gi_fop *
range(struct rig *r, enum gi_fop_kind kind, struct gi_fd *fd, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = rig_fd(r, kind, fd);

  f->args.offset = offset;
  f->args.size = size;
  rig_run(r, f);
  rig_done(f, 0, 0);
  return f;
}

/* replicate.md 6.2: ranges only without eager lock and without full lock. */
static void
ranges_are_locked(void **state)
{
  static const char *const whole[] = {"option full-lock off\n", "option eager-lock off\n"};
  struct gi_fd *fd;
  struct rig *r;

  for (size_t i = 0; i < GI_ARRAY_LEN(whole); i++) {
    r = rig_with_file(whole[i], &fd);
    rig_run(r, rig_write(r, fd, 10, 5));
    rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
    rig_log(r, 0, "L:0 X:d+1 WRITE FSYNC X:d-1 U:0");
    rig_free_clean(r);
  }
  r = rig_with_file("option full-lock off\noption eager-lock off\noption ensure-durability off\n", &fd);
  rig_run(r, rig_write(r, fd, 10, 5));
  rig_log_all(r, "L:10+5 X:d+1 WRITE X:d-1 U:10+5");
  range(r, GI_FOP_FTRUNCATE, fd, 7, 0);
  rig_log_all(r, "L:7 X:d+1 FTRUNCATE X:d-1 U:7");
  range(r, GI_FOP_FALLOCATE, fd, 7, 3);
  rig_log_all(r, "L:7 X:d+1 FALLOCATE X:d-1 U:7");
  range(r, GI_FOP_DISCARD, fd, 7, 3);
  rig_log_all(r, "L:7 X:d+1 DISCARD X:d-1 U:7");
  range(r, GI_FOP_ZEROFILL, fd, 7, 3);
  rig_log_all(r, "L:7+3 X:d+1 ZEROFILL X:d-1 U:7+3");
  fd->flags |= 02000; /* O_APPEND: where it lands is the bricks' choice */
  rig_run(r, rig_write(r, fd, 10, 5));
  rig_log_all(r, "L:0 X:d+1 WRITE X:d-1 U:0");
  /* The metadata lock has no range to choose. */
  rig_run(r, rig_loc(r, GI_FOP_SETATTR, 5));
  rig_log_all(r, "L:m SETATTR U:m");
  rig_set(r, "full-lock", "on");
  fd->flags &= ~02000;
  rig_run(r, rig_write(r, fd, 10, 5));
  rig_log_all(r, "L:0 X:d+1 WRITE X:d-1 U:0");
  rig_free_clean(r);
}

/* Eager lock switched on while a write holds the lock of its range only: the next one does not join it. */
static void
a_range_is_not_joined(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option full-lock off\noption eager-lock off\noption ensure-durability off\n", &fd);
  struct gi_fop *a, *b;

  rig_hold(r, 0, GI_FOP_WRITE);
  rig_run(r, a = rig_write(r, fd, 0, 10));
  rig_set(r, "eager-lock", "on");
  rig_run(r, b = rig_write(r, fd, 100, 10));
  assert_false(b->answered);
  rig_release(r, 0, GI_FOP_WRITE);
  fake_settle(r->s);
  rig_done(a, 10, 0);
  rig_done(b, 10, 0);
  rig_log(r, 1, "L:0+10 X:d+1 WRITE X:d-1 U:0+10 L:0 X:d+1 WRITE");
  rig_free_clean(r);
}

static void
consistent_io(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option consistent-io on\n", &fd);
  struct gi_fop *f, *g;

  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_hold(r, 0, GI_FOP_WRITE);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_run(r, g = rig_loc(r, GI_FOP_STAT, 5));
  rig_done(g, 0, 0);
  rig_down(r, 2); /* children come and go: what is under way must not be taken for consistent */
  rig_up(r, 2);
  rig_release(r, 0, GI_FOP_WRITE);
  fake_settle(r->s);
  rig_done(f, -1, ENOTCONN);
  rig_down(r, 1);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
  rig_done(f, -1, ENOTCONN);
  rig_up(r, 1);
  rig_free(r); /* not clean: the lock that went with the connection is given back nevertheless */
}

static void
round_trip(struct rig *r, unsigned child, uint64_t ns)
{
  for (int i = 0; i < 40; i++) /* it is smoothed */
    fake_event(r->s, child, GI_EVENT_LATENCY, &ns);
  fake_settle(r->s);
}

static unsigned
reader(struct rig *r, uint8_t n)
{
  struct gi_fop *f;

  rig_forget(r);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, n));
  rig_done(f, 0, 0);
  for (unsigned i = 0; i < BRICKS; i++)
    if (fake_count(r->s, i, GI_FOP_STAT))
      return i;
  fail_msg("nobody was asked");
  return 0;
}

static void
nearest_child_is_read(void **state)
{
  struct rig *r = rig_new("option read-hash-mode 4\noption choose-local off\n");
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_object(r, 6, S_IFREG | 0644);
  round_trip(r, 0, 3 * MS);
  round_trip(r, 1, 2 * MS);
  round_trip(r, 2, 5 * MS);
  assert_int_equal(reader(r, 5), 1);
  rig_down(r, 1);
  assert_int_equal(reader(r, 5), 0);
  rig_up(r, 1);
  round_trip(r, 1, 4 * MS);
  assert_int_equal(reader(r, 5), 0);
  rig_set(r, "read-hash-mode", "5"); /* two reads under way make 3 ms into 9 */
  rig_hold(r, 0, GI_FOP_STAT);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 6));
  assert_false(f->answered);
  assert_int_equal(reader(r, 5), 1); /* 2 x 3 ms against 4 ms */
  rig_set(r, "read-hash-mode", "3");
  assert_int_equal(reader(r, 5), 1); /* the first of those without reads */
  while (fake_release(r->s, 0, GI_FOP_STAT, -1, ENOTCONN))
    ;
  fake_settle(r->s);
  rig_free_clean(r);
}

static unsigned
locked(struct rig *r, struct gi_fd *fd)
{
  struct gi_fop *f;
  unsigned mask = 0;

  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_forget(r);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  for (unsigned i = 0; i < BRICKS; i++)
    mask |= r->brick[i].log[0] ? 1u << i : 0;
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  return mask;
}

static void
halo_leaves_far_children_out(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option ensure-durability off\n", &fd);

  round_trip(r, 0, 1 * MS);
  round_trip(r, 1, 20 * MS);
  round_trip(r, 2, 3 * MS);
  assert_int_equal(locked(r, fd), 7);
  rig_set(r, "halo-enabled", "on");
  assert_int_equal(locked(r, fd), 5);
  rig_marks(r, 0, 5, "1d1");
  round_trip(r, 2, 9 * MS);
  assert_int_equal(locked(r, fd), 5); /* at least halo-min-replicas */
  rig_set(r, "halo-min-replicas", "3");
  assert_int_equal(locked(r, fd), 7);
  rig_set(r, "halo-min-replicas", "1");
  rig_set(r, "halo-max-latency", "30");
  assert_int_equal(locked(r, fd), 7);
  rig_set(r, "halo-max-replicas", "2");
  assert_int_equal(locked(r, fd), 5); /* the nearest two */
  rig_set(r, "halo-max-latency", "1");
  rig_set(r, "halo-max-replicas", "3");
  rig_set(r, "iam-self-heal-daemon", "on"); /* its limit is 100 s */
  assert_int_equal(locked(r, fd), 7);
  rig_set(r, "halo-enabled", "off");
  rig_free_clean(r);
}

/* A child that is left out while a transaction holds its lock there still gets the unlock. */
static void
halo_gives_locks_back(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option halo-enabled on\n", &fd);

  rig_run(r, rig_write(r, fd, 0, 10));
  assert_int_equal(r->brick[1].locks, 1);
  round_trip(r, 1, 20 * MS);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  assert_int_equal(r->brick[1].locks, 0);
  rig_free_clean(r);
}

static void
mandatory_locks_are_refused(void **state)
{
  static const char *const key[] = {"lkmode", "glusterfs.lk.lkmode"};
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  for (int i = 0; i < 4; i++) {
    struct gi_fop *f = rig_fd(r, GI_FOP_LK, fd);

    f->args.cmd = GI_LKCMD_SET;
    f->args.type = GI_LK_WRITE;
    gi_dict_set_int(gi_fop_xdata(f), key[i / 2], i % 2);
    rig_run(r, f);
    rig_done(f, i % 2 ? -1 : 0, ENOTSUP);
  }
  rig_free_clean(r);
}

/* replicate.md 6.4: counters are nobody's to change, and the commands of the management come from it only. */
static void
setxattr_is_refused(void **state)
{
  static const struct {
    const char *name;
    int32_t pid;
    int err;
  } row[] = {
      {"trusted.afr.v-client-0", 100, EPERM},
      {"trusted.afr.dirty", 100, EPERM},
      {"trusted.afr.other", -6, EPERM},
      {"trusted.glusterfs.afr.x", 100, EPERM},
      {"trusted.afrx", 100, 0},
      {"user.trusted.afr.dirty", 100, 0},
      {"trusted.add-brick", 100, EPERM},
      {"trusted.replace-brick", 100, EPERM},
  };
  static const enum gi_fop_kind kind[] = {GI_FOP_SETXATTR, GI_FOP_FSETXATTR,   GI_FOP_XATTROP,
                                          GI_FOP_FXATTROP, GI_FOP_REMOVEXATTR, GI_FOP_FREMOVEXATTR};
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  for (size_t i = 0; i < GI_ARRAY_LEN(row); i++)
    for (size_t k = 0; k < GI_ARRAY_LEN(kind); k++) {
      bool by_fd = kind[k] == GI_FOP_FSETXATTR || kind[k] == GI_FOP_FXATTROP || kind[k] == GI_FOP_FREMOVEXATTR;
      bool command = strstr(row[i].name, "-brick") != NULL;
      struct gi_fop *f;

      if ((command && k > 1) || (!row[i].err && (kind[k] == GI_FOP_XATTROP || kind[k] == GI_FOP_FXATTROP)))
        continue; /* commands are attributes that are set; the model's xattrop knows counters only */
      f = by_fd ? rig_fd(r, kind[k], fd) : rig_loc(r, kind[k], 5);
      f->caller.pid = row[i].pid;
      if (k < 4) {
        f->args.dict = gi_dict_new();
        gi_dict_set_bin(f->args.dict, "user.a", "x", 1);
        gi_dict_set_bin(f->args.dict, row[i].name, "x", 1);
      } else {
        f->args.name = row[i].name;
      }
      rig_forget(r);
      rig_run(r, f);
      rig_done(f, row[i].err ? -1 : 0, row[i].err);
      if (row[i].err)
        rig_log_all(r, "");
    }
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quorum_follows_the_options), cmocka_unit_test(ranges_are_locked),
      cmocka_unit_test(a_range_is_not_joined),      cmocka_unit_test(consistent_io),
      cmocka_unit_test(nearest_child_is_read),      cmocka_unit_test(halo_leaves_far_children_out),
      cmocka_unit_test(halo_gives_locks_back),      cmocka_unit_test(mandatory_locks_are_refused),
      cmocka_unit_test(setxattr_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
