/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of volumes of several sets: how they are made, grow and shrink.
 */
#include "programs/glusterishd/ops/fixture.h"

#include <string.h>
#include <unistd.h>

#define B(name) "\"127.0.0.1:DIR/" name "\""
#define ADD(shape, bricks) \
  "{\"command\":\"volume add-brick\",\"volume\":\"vol\"," shape "\"force\":true,\"bricks\":[" bricks "]}"
#define REMOVE(shape, bricks) \
  "{\"command\":\"volume remove-brick\",\"volume\":\"vol\"," shape "\"action\":\"force\",\"bricks\":[" bricks "]}"

static struct gd_volume *
make(struct fixture *f, const char *shape, const char *bricks)
{
  succeeds(f, run(f, 4, "{\"command\":\"volume create\",\"volume\":\"vol\",%s\"force\":true,\"bricks\":[%s]}", shape, bricks));
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  assert_non_null(v);
  return v;
}

/* The last components of the bricks' paths and the numbers of their ids: "a0 b1". */
static void
expect_bricks(const struct gd_volume *v, const char *wanted)
{
  char got[256] = "";
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    size_t len = strlen(got);
    assert_int_equal(b->index, i);
    snprintf(got + len, sizeof(got) - len, "%s%s%s", i ? " " : "", strrchr(b->path, '/') + 1, strrchr(b->id, '-') + 1);
  }
  assert_string_equal(got, wanted);
}

static void
test_created(void **state)
{
  static const struct {
    const char *shape, *type, *info;
  } t[] = {
      {"", "Distribute", "\"type\":0,"},
      {"\"replica\":2,", "Distributed-Replicate", "\"type\":7,"},
      {"\"replica\":3,\"arbiter\":1,", "Distributed-Replicate", "\"arbiterCount\":1"},
  };
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  for (size_t i = 0; i < GI_ARRAY_LEN(t); i++) {
    struct gd_volume *v = make(f, t[i].shape, B("a") "," B("b") "," B("c") "," B("d") "," B("e") "," B("f"));
    assert_string_equal(gd_volume_type_text(v), t[i].type);
    expect_bricks(v, "a0 b1 c2 d3 e4 f5");
    succeeds(f, run(f, 5, "{\"command\":\"volume info\",\"volume\":\"vol\"}"));
    assert_non_null(strstr(f->out, t[i].info));
    succeeds(f, run(f, 7, "{\"command\":\"volume delete\",\"volume\":\"vol\"}"));
  }
}

static void
test_sets_come_and_go(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, "\"replica\":2,", B("a") "," B("b"));
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  assert_int_equal(run(f, 13, ADD("", B("c"))), GD_ERR_MGMT);
  assert_says(f, "Incorrect number of bricks supplied 1 with count 2");
  succeeds(f, run(f, 13, ADD("", B("c") "," B("d") "," B("e") "," B("f"))));
  expect_bricks(v, "a0 b1 c2 d3 e4 f5");
  for (unsigned i = 0; i < 6; i++)
    assert_true(gd_brick_online(&v->bricks[i]));

  assert_int_equal(run(f, 14, REMOVE("", B("c"))), GD_ERR_MGMT);
  assert_says(f, "Remove brick incorrect brick count of 1 for replica 2");
  assert_int_equal(run(f, 14, REMOVE("", B("b") "," B("c"))), GD_ERR_MGMT);
  assert_says(f, "Bricks not from same subvol for replica");
  assert_int_equal(run(f, 14, REMOVE("", B("a") "," B("b") "," B("c") "," B("d") "," B("e") "," B("f"))), GD_ERR_MGMT);
  assert_says(f, "Deleting all the bricks of the volume is not allowed");
  succeeds(f, run(f, 14, REMOVE("", B("d") "," B("c"))));
  expect_bricks(v, "a0 b1 e4 f5");
  succeeds(f, run(f, 14, REMOVE("\"replica\":2,", B("a") "," B("b"))));
  expect_bricks(v, "e4 f5");
  GI_CLEANUP_FREE char *name = gd_set_name(v, 0);
  assert_string_equal(name, "vol-replicate-2");
  assert_int_equal(run(f, 14, REMOVE("", B("e") "," B("f"))), GD_ERR_MGMT);
  assert_says(f, "without reducing replica count explicitly");
}

/* Every set gets a brick more, in the order in which they are given, and loses one. */
static void
test_more_copies(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, "\"replica\":2,", B("a") "," B("b") "," B("c") "," B("d"));
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  assert_int_equal(run(f, 13, ADD("\"replica\":3,", B("e"))), GD_ERR_MGMT);
  assert_says(f, "Incorrect number of bricks (1) supplied for replica count (3).");
  succeeds(f, run(f, 13, ADD("\"replica\":4,", B("e") "," B("f") "," B("g") "," B("h"))));
  expect_bricks(v, "a0 b1 e4 f5 c2 d3 g6 h7");
  assert_int_equal(v->replica, 4);
  assert_int_equal(run(f, 14, REMOVE("\"replica\":3,", B("a") "," B("b"))), GD_ERR_MGMT);
  assert_says(f, "Remove exactly 1 brick(s) from each subvolume.");
  succeeds(f, run(f, 14, REMOVE("\"replica\":3,", B("a") "," B("h"))));
  expect_bricks(v, "b1 e4 f5 c2 d3 g6");
  assert_int_equal(v->replica, 3);
}

static void
test_plain_bricks(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, "", B("a"));
  succeeds(f, run(f, 13, ADD("", B("b") "," B("c"))));
  expect_bricks(v, "a0 b1 c2");
  succeeds(f, run(f, 14, REMOVE("", B("b"))));
  expect_bricks(v, "a0 c2");
  assert_int_equal(run(f, 14, REMOVE("", B("a") "," B("c"))), GD_ERR_MGMT);
  assert_says(f, "Deleting all the bricks");
}

/* Nor does a brick stay behind that leaves while it starts. */
static void
test_a_brick_leaves_that_starts(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, "", B("a") "," B("b"));
  GI_CLEANUP_FREE char *pidfile = gd_brick_pidfile(&v->bricks[1]);
  v->status = GD_STARTED;
  gd_brick_start(&v->bricks[1], NULL, NULL);
  assert_int_equal(v->bricks[1].state, GD_PROC_STARTING);
  succeeds(f, run(f, 14, REMOVE("", B("b"))));
  expect_bricks(v, "a0");
  for (int i = 0; i < 50; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_int_equal(gd_pidfile_running(pidfile, pidfile), 0);
}

static void
test_a_volume_goes_while_a_brick_starts(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  for (int dropped = 0; dropped < 2; dropped++) {
    struct gd_volume *v = make(f, "", B("a"));
    GI_CLEANUP_FREE char *pidfile = gd_brick_pidfile(&v->bricks[0]);
    gd_brick_start(&v->bricks[0], NULL, NULL);
    assert_int_equal(v->bricks[0].state, GD_PROC_STARTING);
    if (dropped) /* another node has deleted it */
      gd_volume_drop(v);
    else
      succeeds(f, run(f, 7, "{\"command\":\"volume delete\",\"volume\":\"vol\"}"));
    for (int i = 0; i < 50; i++)
      gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
    assert_int_equal(gd_pidfile_running(pidfile, pidfile), 0);
  }
}

/* ---- what an earlier daemon left ---- */

static void
turn(struct fixture *f, unsigned ms)
{
  for (uint64_t until = gi_now(f->r) + ms * GI_NSEC_PER_MSEC; gi_now(f->r) < until;)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
}

/* Of a volume of two bricks the second one has left, and the daemon died before it had stopped it. Its pid file, the caller's. */
static char *
leave_behind(struct fixture *f, pid_t *pid)
{
  struct gd_volume *v = make(f, "", B("a") "," B("b"));
  char *pidfile = gd_brick_pidfile(&v->bricks[1]);
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  *pid = v->bricks[1].pid;
  gd_brick_forget(&v->bricks[1]);
  gi_free(v->bricks[1].host);
  gi_free(v->bricks[1].path);
  gi_free(v->bricks[1].id);
  v->nbricks = 1;
  assert_int_equal(gd_pidfile_running(pidfile, pidfile), *pid);
  return pidfile;
}

/* Clients have heard of it from nobody: they are given the time that they are given when a brick leaves. */
static void
test_what_was_left_behind_is_ended_later(void **state)
{
  struct fixture *f = *state;
  pid_t pid;
  if (geteuid() != 0)
    skip();
  GI_CLEANUP_FREE char *pidfile = leave_behind(f, &pid);
  gd_sweep(f->gd);
  turn(f, 300);
  assert_int_equal(gd_pidfile_running(pidfile, pidfile), pid);
  for (int i = 0; i < 300 && gd_pidfile_running(pidfile, pidfile); i++)
    turn(f, 10);
  assert_int_equal(gd_pidfile_running(pidfile, pidfile), 0);
  turn(f, 100);
  assert_true(gi_list_empty(&f->gd->leaving));
}

/* It gets a process that has not known the directory before, and that stays. */
static void
test_what_was_left_behind_comes_back(void **state)
{
  struct fixture *f = *state;
  pid_t pid;
  if (geteuid() != 0)
    skip();
  GI_CLEANUP_FREE char *pidfile = leave_behind(f, &pid);
  gd_sweep(f->gd);
  succeeds(f, run(f, 13, ADD("", B("b"))));
  const struct gd_brick *b = &gd_volume_find(f->gd, "vol")->bricks[1];
  assert_true(gd_brick_online(b));
  assert_int_not_equal(b->pid, pid);
  turn(f, 1500);
  assert_true(gd_brick_online(b));
  assert_int_equal(gd_pidfile_running(pidfile, pidfile), b->pid);
  assert_true(gi_list_empty(&f->gd->leaving));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_created, setup, teardown),
      cmocka_unit_test_setup_teardown(test_sets_come_and_go, setup, teardown),
      cmocka_unit_test_setup_teardown(test_more_copies, setup, teardown),
      cmocka_unit_test_setup_teardown(test_plain_bricks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_brick_leaves_that_starts, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_volume_goes_while_a_brick_starts, setup, teardown),
      cmocka_unit_test_setup_teardown(test_what_was_left_behind_is_ended_later, setup, teardown),
      cmocka_unit_test_setup_teardown(test_what_was_left_behind_comes_back, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
