/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of the tasks that move files: when they may begin, what is told and
 * stored of them, how they end. The process that does the work is a script.
 */
#include "programs/glusterishd/ops/fixture.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define B(name) "\"127.0.0.1:DIR/" name "\""
#define REBALANCE(action) "{\"command\":\"volume rebalance\",\"volume\":\"vol\",\"action\":\"" action "\"}"
#define STATUS "{\"command\":\"volume rebalance status\",\"volume\":\"vol\",\"action\":\"status\"}"
#define REMOVE(action, bricks) \
  "{\"command\":\"volume remove-brick\",\"volume\":\"vol\",\"action\":\"" action "\",\"bricks\":[" bricks "]}"
#define AT_WORK \
  "volname", "vol", "status", "1", "files", "7", "size", "2048", "lookups", "9", "failures", "0", "skipped", "0", "run-time", \
      "3", "time-left", "5", NULL
#define DONE(failures) \
  "volname", "vol", "status", "3", "files", "8", "size", "4096", "lookups", "10", "failures", failures, "skipped", "0", \
      "run-time", "4", "time-left", "0", NULL

static const char *const at_work[] = {AT_WORK}, *const done[] = {DONE("0")}, *const done_badly[] = {DONE("1")};

static struct gd_volume *
make(struct fixture *f, const char *bricks)
{
  succeeds(f, run(f, 4, "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true,\"bricks\":[%s]}", bricks));
  return gd_volume_find(f->gd, "vol");
}

static void
turn_until(struct fixture *f, bool (*reached)(const struct gd_volume *v), struct gd_volume *v)
{
  for (int i = 0; i < 3000 && !reached(v); i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_true(reached(v));
}

static bool
works(const struct gd_volume *v)
{
  return gd_mover_pid(v) != 0;
}

static bool
has_ended(const struct gd_volume *v)
{
  return v->rebalance.status == GD_REBALANCE_COMPLETED && gd_mover_pid(v) == 0;
}

static bool
has_told(const struct gd_volume *v)
{
  return v->rebalance.files == 7;
}

/* Once it runs, for its socket is made anew when it is started. */
static struct gi_rpc_server *
answer_for_mover(struct fixture *f, struct gd_volume *v, const char *const *answer)
{
  turn_until(f, works, v);
  return answer_for(f, v, 0, answer);
}

static void
expect_out(struct fixture *f, const char *part)
{
  if (!strstr(f->out, part))
    fail_msg("%s lacks %s", f->out, part);
}

static void
expect_stored(struct fixture *f, const char *line)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/state/vols/vol/node_state.info", f->dir);
  GI_CLEANUP_FREE char *whole = gi_asprintf("\n%s\n", line);
  char text[2048] = "\n";
  FILE *in = fopen(path, "re");
  assert_non_null(in);
  text[1 + fread(text + 1, 1, sizeof(text) - 2, in)] = '\0';
  fclose(in);
  if (!strstr(text, whole))
    fail_msg("%s lacks %s", text, line);
}

static void
test_refused(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  make(f, B("a"));
  assert_int_equal(run(f, 11, REBALANCE("start")), GD_ERR_MGMT);
  assert_says(f, "Volume vol is not a distribute volume or contains only 1 brick.\nNot performing rebalance");
  succeeds(f, run(f, 13, "{\"command\":\"volume add-brick\",\"volume\":\"vol\",\"force\":true,\"bricks\":[" B("b") "]}"));
  assert_int_equal(run(f, 11, REBALANCE("start")), GD_ERR_MGMT);
  assert_says(f, "Volume vol needs to be started to perform rebalance");
  assert_int_equal(run(f, 11, STATUS), GD_ERR_MGMT);
  assert_says(f, "Rebalance not started for volume vol.");
  assert_int_equal(run(f, 14, REMOVE("status", B("b"))), GD_ERR_MGMT);
  assert_says(f, "remove-brick not started for volume vol.");
  assert_int_equal(run(f, 14, REMOVE("commit", B("b"))), GD_ERR_MGMT);
  assert_says(f, "is not decommissioned. Use start or force option");
  assert_int_equal(run(f, 14, REMOVE("start", B("b"))), GD_ERR_MGMT);
  assert_says(f, "needs to be started before remove-brick");
}

static void
test_rebalance(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, B("a") "," B("b"));
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  f->gd->keeps_services = true;
  succeeds(f, run(f, 11, REBALANCE("start")));
  expect_out(f, "\"task-id\":");
  expect_stored(f, "rebalance_op=19");
  expect_stored(f, "status=1");
  struct gi_rpc_server *s = answer_for_mover(f, v, at_work);
  pid_t pid = gd_mover_pid(v);
  turn_until(f, has_told, v);
  succeeds(f, run(f, 11, STATUS));
  assert_string_equal(asked("rebalance-command"), "3");
  expect_out(f,
             "\"files\":7,\"size\":2048,\"lookups\":9,\"failures\":0,\"skipped\":0,\"status\":1,\"statusStr\":\"in progress\"");
  assert_int_equal(run(f, 11, REBALANCE("start")), GD_ERR_MGMT);
  assert_says(f, "Rebalance on vol is already started");
  assert_int_equal(run(f, 13, "{\"command\":\"volume add-brick\",\"volume\":\"vol\",\"force\":true,\"bricks\":[" B("c") "]}"),
                   GD_ERR_MGMT);
  assert_says(f, "Volume name vol rebalance is in progress. Please retry after completion");
  assert_int_equal(run(f, 9, "{\"command\":\"volume stop\",\"volume\":\"vol\"}"), GD_ERR_MGMT);
  assert_says(f, "rebalance session is in progress for the volume 'vol'");

  /* One that is killed is started again and goes on. */
  nobody_is_asked(&s);
  assert_int_equal(kill(pid, SIGKILL), 0);
  for (int i = 0; i < 3000 && gd_mover_pid(v) == pid; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  s = answer_for_mover(f, v, done);
  assert_int_not_equal(gd_mover_pid(v), pid);
  turn_until(f, has_ended, v);
  expect_stored(f, "status=3");
  expect_stored(f, "rebalanced-files=8");
  succeeds(f, run(f, 27, "{\"command\":\"volume status\",\"volume\":\"vol\"}"));
  expect_out(f, "\"type\":\"Rebalance\"");
  expect_out(f, "\"statusStr\":\"completed\"");
  nobody_is_asked(&s);
  succeeds(f, run(f, 11, REBALANCE("stop")));
  expect_stored(f, "rebalance_op=0");
  expect_stored(f, "rebalance-id=00000000-0000-0000-0000-000000000000");
}

/* A layout that is fixed has states of its own; what is stopped is over. */
static void
test_layout(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, B("a") "," B("b"));
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  succeeds(f, run(f, 11, REBALANCE("fix-layout")));
  expect_stored(f, "rebalance_status=4");
  succeeds(f, run(f, 11, STATUS));
  expect_out(f, "\"status\":5,\"statusStr\":\"fix-layout in progress\"");
  succeeds(f, run(f, 11, REBALANCE("stop")));
  expect_out(f, "\"status\":6,\"statusStr\":\"fix-layout stopped\"");
  assert_int_equal(run(f, 11, STATUS), GD_ERR_MGMT);
  assert_int_equal(v->rebalance.status, GD_REBALANCE_STOPPED);
}

static void
test_remove(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, B("a") "," B("b") "," B("c"));
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  f->gd->keeps_services = true;
  succeeds(f, run(f, 14, REMOVE("start", B("b"))));
  struct gi_rpc_server *s = answer_for_mover(f, v, at_work);
  assert_true(v->bricks[1].decommissioned);
  expect_stored(f, "rebalance_op=9");
  GI_CLEANUP_FREE char *line = gi_asprintf("brick1=127.0.0.1:%s/b", f->dir);
  expect_stored(f, line);
  expect_stored(f, "count=1");
  struct gi_error err = {0};
  struct gd_volume *found;
  GI_CLEANUP_FREE char *volfile = gd_volgen_spec(f->gd, "vol", false, &found, &err);
  assert_non_null(strstr(volfile, "    option decommissioned-bricks vol-client-1\n"));
  turn_until(f, has_told, v);
  assert_int_equal(run(f, 14, REMOVE("start", B("c"))), GD_ERR_MGMT);
  assert_says(f, "An earlier remove-brick task exists for volume vol.");
  assert_int_equal(run(f, 11, REBALANCE("start")), GD_ERR_MGMT);
  assert_says(f, "A remove-brick task on volume vol is not yet committed.");
  assert_int_equal(run(f, 14, REMOVE("commit", B("b"))), GD_ERR_MGMT);
  assert_says(f, "use 'force' option as migration is in progress");
  assert_int_equal(run(f, 14, REMOVE("force", B("c"))), GD_ERR_MGMT);
  assert_says(f, "is not decommissioned");
  succeeds(f, run(f, 27, "{\"command\":\"volume status\",\"volume\":\"vol\"}"));
  expect_out(f, "\"type\":\"Remove brick\"");
  expect_out(f, "/b\"]}]");

  answer_is(done_badly, 0);
  turn_until(f, has_ended, v);
  assert_int_equal(run(f, 14, REMOVE("commit", B("b"))), GD_ERR_MGMT);
  assert_says(f, "use 'force' option as migration of some files might have been skipped or has failed");
  succeeds(f, run(f, 14, REMOVE("stop", B("b"))));
  assert_false(v->bricks[1].decommissioned);
  assert_int_equal(v->rebalance.task, GD_TASK_NONE);

  nobody_is_asked(&s);
  succeeds(f, run(f, 14, REMOVE("start", B("b"))));
  s = answer_for_mover(f, v, done);
  turn_until(f, has_ended, v);
  succeeds(f, run(f, 14, REMOVE("commit", B("b"))));
  assert_int_equal(v->nbricks, 2);
  assert_int_equal(v->rebalance.task, GD_TASK_NONE);
  expect_stored(f, "rebalance_op=0");
  nobody_is_asked(&s);
}

/* ---- a brick that leaves is stopped ---- */

static void
stop_brick(struct fixture *f, struct gd_brick *b)
{
  assert_int_equal(kill(b->pid, SIGKILL), 0);
  for (int i = 0; i < 3000 && gd_brick_online(b); i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_false(gd_brick_online(b));
}

/* The set of the bricks from `first` on is emptied, and they leave; `meanwhile`: the last one ends before that is done, else after. */
static int
empty_and_leave(struct fixture *f, struct gd_volume *v, unsigned first, const char *request, const char *commit, bool meanwhile)
{
  int code;
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  f->gd->keeps_services = true;
  succeeds(f, run(f, 14, "%s", request));
  struct gi_rpc_server *s = answer_for_mover(f, v, at_work);
  turn_until(f, has_told, v);
  assert_true(v->bricks[first].decommissioned);
  if (meanwhile)
    stop_brick(f, &v->bricks[v->nbricks - 1]);
  answer_is(done, 0);
  turn_until(f, has_ended, v);
  if (!meanwhile)
    stop_brick(f, &v->bricks[v->nbricks - 1]);
  code = run(f, 14, "%s", commit);
  nobody_is_asked(&s);
  return code;
}

/* A brick that was asked for all that it has may end before it leaves, as in GlusterFS; one that is stopped already is not emptied. */
static void
test_stopped_brick_leaves(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, B("a") "," B("b"));
  succeeds(f, empty_and_leave(f, v, 1, REMOVE("start", B("b")), REMOVE("commit", B("b")), false));
  assert_int_equal(v->nbricks, 1);
  succeeds(f, run(f, 13, "{\"command\":\"volume add-brick\",\"volume\":\"vol\",\"force\":true,\"bricks\":[" B("c") "]}"));
  stop_brick(f, &v->bricks[1]);
  assert_int_equal(run(f, 14, REMOVE("start", B("c"))), GD_ERR_MGMT);
  assert_says(f, "Found stopped brick 127.0.0.1:");
  assert_says(f, "/c. Use force option to remove the offline brick");
}

#define SETS(n, bricks) \
  "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true,\"replica\":" n ",\"bricks\":[" bricks "]}"

/* What a majority of its copies has is not missed. */
static void
test_majority_was_asked(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  succeeds(f, run(f, 4, SETS("3", B("a") "," B("b") "," B("c") "," B("d") "," B("e") "," B("f"))));
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  succeeds(f, empty_and_leave(f, v, 3, REMOVE("start", B("d") "," B("e") "," B("f")),
                              REMOVE("commit", B("d") "," B("e") "," B("f")), true));
  assert_int_equal(v->nbricks, 3);
}

/* Of two the one that is stopped may be the only one that has a file. */
static void
test_half_was_asked(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  succeeds(f, run(f, 4, SETS("2", B("a") "," B("b") "," B("c") "," B("d"))));
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  assert_int_equal(empty_and_leave(f, v, 2, REMOVE("start", B("c") "," B("d")), REMOVE("commit", B("c") "," B("d")), true),
                   GD_ERR_MGMT);
  assert_says(f, "use 'force' option as migration of some files might have been skipped or has failed");
  expect_stored(f, "skipped=1");
  succeeds(f, run(f, 14, REMOVE("force", B("c") "," B("d"))));
  assert_int_equal(v->nbricks, 2);
}

/* What was going on when the daemon ended is known when it comes back. */
static void
test_loaded(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, B("a") "," B("b"));
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  succeeds(f, run(f, 14, REMOVE("start", B("b"))));
  struct gi_gfid id = v->rebalance.id;
  gd_volume_let_go(v);
  gd_volume_free(v);
  succeeds(f, gd_store_load(f->gd, &f->err));
  v = gd_volume_find(f->gd, "vol");
  assert_true(gi_gfid_equal(&v->rebalance.id, &id));
  assert_int_equal(v->rebalance.task, GD_TASK_REMOVE);
  assert_int_equal(v->rebalance.status, GD_REBALANCE_RUNS);
  assert_true(v->bricks[1].decommissioned);
}

/* The daemon died when it had marked one of the bricks that are to leave. */
static void
test_half_marked(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = make(f, B("a") "," B("b") "," B("c"));
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  succeeds(f, run(f, 14, REMOVE("start", B("b") "," B("c"))));
  v->bricks[2].decommissioned = false;
  succeeds(f, gd_store_brick(&v->bricks[2], &f->err));
  gd_volume_let_go(v);
  gd_volume_free(v);
  succeeds(f, gd_store_load(f->gd, &f->err));
  v = gd_volume_find(f->gd, "vol");
  assert_int_equal(v->rebalance.task, GD_TASK_REMOVE);
  assert_false(v->bricks[0].decommissioned);
  assert_true(v->bricks[1].decommissioned && v->bricks[2].decommissioned);
}

static int
teardown_with_mover(void **state)
{
  struct fixture *f = *state;
  gi_list_foreach(v, &f->gd->volumes, struct gd_volume, link)
    if (gd_mover_pid(v))
      kill(gd_mover_pid(v), SIGKILL);
  return teardown(state);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_refused, setup, teardown_with_mover),
      cmocka_unit_test_setup_teardown(test_rebalance, setup, teardown_with_mover),
      cmocka_unit_test_setup_teardown(test_layout, setup, teardown_with_mover),
      cmocka_unit_test_setup_teardown(test_remove, setup, teardown_with_mover),
      cmocka_unit_test_setup_teardown(test_stopped_brick_leaves, setup, teardown_with_mover),
      cmocka_unit_test_setup_teardown(test_majority_was_asked, setup, teardown_with_mover),
      cmocka_unit_test_setup_teardown(test_half_was_asked, setup, teardown_with_mover),
      cmocka_unit_test_setup_teardown(test_loaded, setup, teardown_with_mover),
      cmocka_unit_test_setup_teardown(test_half_marked, setup, teardown_with_mover),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
