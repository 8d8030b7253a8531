/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of what is printed of tasks that move files, against what GlusterFS 10.3 prints.
 */
#include "programs/glusterish/cli-fixture.h"

#include <string.h>

#define ID "dbe280c3-193a-42db-ab97-da3b6bf725f2"
#define NODE "f41470f6-8a8c-42dd-b040-9bb28b6be753"
#define FACTS(status, text) \
  "\"files\":38,\"size\":640015,\"lookups\":90,\"failures\":1,\"skipped\":2,\"status\":" status ",\"statusStr\":\"" text \
  "\",\"runtime\":3661,\"timeLeft\":0"
#define PROGRESS(status, text) \
  "{\"task-id\":\"" ID "\",\"nodeCount\":1,\"nodes\":[{\"nodeName\":\"localhost\",\"id\":\"" NODE \
  "\"," FACTS(status, text) "}],\"aggregate\":{" FACTS(status, text) "}}"
#define HEAD \
  "                                    Node Rebalanced-files          size       scanned      failures       skipped         " \
  "      " \
  "status  run time in h:m:s\n" \
  "                               ---------      -----------   -----------   -----------   -----------   -----------         " \
  "------------     --------------\n"
#define XML_FACTS(indent, status, text) \
  indent "<files>38</files>\n" indent "<size>640015</size>\n" indent "<lookups>90</lookups>\n" indent \
         "<failures>1</failures>\n" indent "<skipped>2</skipped>\n" indent "<status>" status "</status>\n" indent \
         "<statusStr>" text "</statusStr>\n" indent "<runtime>3661.00</runtime>\n"
#define XML_HEAD \
  "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<cliOutput>\n  <opRet>0</opRet>\n  <opErrno>0</opErrno>\n"
#define XML_NODES(status, text) \
  "    <nodeCount>1</nodeCount>\n    <node>\n      <nodeName>localhost</nodeName>\n      <id>" NODE "</id>\n" XML_FACTS( \
      "      ", status, text) "    </node>\n    <aggregate>\n" XML_FACTS("      ", status, text) "    </aggregate>\n"

static void
test_requests(void **state)
{
  static const struct {
    const char *line, *command, *action;
    bool force;
  } good[] = {
      {"volume rebalance v start", "volume rebalance", "start", false},
      {"v rebal v start force", "volume rebalance", "start", true},
      {"volume rebalance v fix-layout start", "volume rebalance", "fix-layout", false},
      {"volume rebalance v stop", "volume rebalance", "stop", false},
      {"volume rebalance v status", "volume rebalance status", "status", false},
  };
  static const char *const bad[] = {"volume rebalance v",     "volume rebalance v fix-layout",    "volume rebalance v status x",
                                    "volume rebalance v sta", "volume rebalance v start force x", "volume rebalance v start x"};
  for (size_t i = 0; i < GI_ARRAY_LEN(good); i++) {
    struct run r = {.doc = PROGRESS("3", "completed")};
    run(&r, good[i].line);
    assert_int_equal(r.proc, 11);
    assert_string_equal(sent(&r, "command"), good[i].command);
    assert_string_equal(sent(&r, "action"), good[i].action);
    assert_int_equal(cli_true(r.request, "force"), good[i].force);
    done(&r);
  }
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    struct run r = {0};
    run(&r, bad[i]);
    assert_int_equal(r.calls, 0);
    assert_true(begins(r.err, "\nUsage:\nvolume rebalance <VOLNAME>"));
    done(&r);
  }
}

static void
expect(const char *line, const char *doc, bool xml, const char *out)
{
  struct run r = {.doc = doc, .c.xml = xml};
  run(&r, line);
  assert_string_equal(r.out, out);
  assert_int_equal(r.status, 0);
  done(&r);
}

#define ROW(failures, skipped, status) \
  "                               localhost               38       625.0KB            90             " failures \
  "             " skipped "            " status "        1:01:01\n"

static void
test_rebalance(void **state)
{
  expect("volume rebalance v start", "{\"task-id\":\"" ID "\"}", false,
         "volume rebalance: v: success: Rebalance on v has been started successfully. Use rebalance status command to check "
         "status of the rebalance process.\nID: " ID "\n");
  expect("volume rebalance v start", "{\"task-id\":\"" ID "\"}", true,
         XML_HEAD "  <opErrstr/>\n  <volRebalance>\n    <task-id>" ID
                  "</task-id>\n    <op>1</op>\n  </volRebalance>\n</cliOutput>\n");
  expect("volume rebalance v status", PROGRESS("3", "completed"), false,
         HEAD ROW("1", "2", "completed") "volume rebalance: v: success\n");
  expect("volume rebalance v status", PROGRESS("3", "completed"), true,
         XML_HEAD "  <opErrstr/>\n  <volRebalance>\n    <task-id>" ID
                  "</task-id>\n    <op>3</op>\n" XML_NODES("3", "completed") "  </volRebalance>\n</cliOutput>\n");
  expect("volume rebalance v status", PROGRESS("7", "fix-layout completed"), false,
         "                               Node                                    status           run time in h:m:s\n"
         "                          ---------                               -----------                ------------\n"
         "                          localhost                               fix-layout completed        1:01:01\n"
         "volume rebalance: v: success\n");
  expect("volume rebalance v stop", PROGRESS("2", "stopped"), false,
         HEAD
         "                               localhost               38       625.0KB            90             1             2"
         "              stopped        1:01:01\n"
         "volume rebalance: v: success: rebalance process may be in the middle of a file migration.\n"
         "The process will be fully stopped once the migration of the file is complete.\n"
         "Please check rebalance process for completion before doing any further brick related tasks on the volume.\n\n");
}

static void
test_estimates(void **state)
{
  static const struct {
    int runtime, left;
    const char *says;
  } t[] = {{599, 10, "The estimated time for rebalance to complete will be unavailable for the first 10 minutes.\n"},
           {600, 3661, "Estimated time left for rebalance to complete :        1:01:01\n"},
           {600, 0, "Rebalance estimated time unavailable. Please try again later.\n"},
           {600, 6000000, "Estimated time left for rebalance to complete : > 2 months. Please try again later.\n"}};
  for (size_t i = 0; i < GI_ARRAY_LEN(t); i++) {
    GI_CLEANUP_FREE char *doc =
        gi_asprintf("{\"nodes\":[],\"aggregate\":{\"status\":1,\"runtime\":%d,\"timeLeft\":%d}}", t[i].runtime, t[i].left);
    struct run r = {.doc = doc};
    run(&r, "volume rebalance v status");
    assert_non_null(strstr(r.out, t[i].says));
    done(&r);
  }
}

/* What GlusterFS does not tell: while it runs, and behind what it does tell. */
static void
test_pace(void **state)
{
  static const char doc[] =
      "{\"nodes\":[],\"aggregate\":{\"status\":1,\"statusStr\":\"in progress\",\"runtime\":700,\"timeLeft\":60,"
      "\"bytesPerSecond\":2097152,\"remaining\":1234}}";
  struct run r = {.doc = doc};
  run(&r, "volume rebalance v status");
  assert_non_null(
      strstr(r.out, "       0:01:00\n2.0MB per second, about 1234 objects to look at\nvolume rebalance: v: success\n"));
  done(&r);
  struct run x = {.doc = doc, .c.xml = true};
  run(&x, "volume rebalance v status");
  assert_non_null(strstr(x.out, "      <runtime>700.00</runtime>\n      <bytesPerSecond>2097152</bytesPerSecond>\n"
                                "      <remaining>1234</remaining>\n      <timeLeft>60</timeLeft>\n    </aggregate>\n"));
  done(&x);
}

static void
test_remove(void **state)
{
  expect("volume remove-brick v n1:/a start", "{\"task-id\":\"" ID "\"}", false,
         "volume remove-brick start: success\nID: " ID "\n");
  expect("volume remove-brick v n1:/a start", "{\"task-id\":\"" ID "\"}", true,
         XML_HEAD "  <opErrstr>Remove Brick start successful</opErrstr>\n  <volRemoveBrick>\n    <task-id>" ID
                  "</task-id>\n  </volRemoveBrick>\n</cliOutput>\n");
  expect(
      "volume remove-brick v n1:/a commit", "{}", false,
      "volume remove-brick commit: success\nCheck the removed bricks to ensure all files are migrated.\nIf files with data are "
      "found on the brick path, copy them via a gluster mount point before re-purposing the removed brick. \n");
  expect("volume remove-brick v n1:/a status", PROGRESS("3", "completed"), false, HEAD ROW("3", "0", "completed"));
  expect("volume remove-brick v n1:/a status", PROGRESS("3", "completed"), true,
         XML_HEAD "  <opErrstr/>\n  <volRemoveBrick>\n    <task-id>" ID
                  "</task-id>\n" XML_NODES("3", "completed") "  </volRemoveBrick>\n</cliOutput>\n");
  struct run r = {0};
  run_with(&r, "volume remove-brick v n1:/a start", "n\n");
  assert_true(begins(r.out, "It is recommended that remove-brick be run with cluster.force-migration option disabled"));
  assert_int_equal(r.calls, 0);
  done(&r);
}

#define TASKS(tasks) "{\"volumes\":[{\"name\":\"v\",\"started\":true,\"nodes\":[],\"tasks\":[" tasks "]}]}"
#define TASK(type, more) "{\"type\":\"" type "\",\"id\":\"" ID "\",\"status\":3,\"statusStr\":\"completed\"" more "}"
#define LINE "------------------------------------------------------------------------------\n"

static void
test_tasks(void **state)
{
  expect("volume status v tasks", TASKS(""), false, "Task Status of Volume v\n" LINE "There are no active volume tasks\n \n");
  expect("volume status v tasks", TASKS(TASK("Rebalance", "")), false,
         "Task Status of Volume v\n" LINE "Task                 : Rebalance           \nID                   : " ID
         "\nStatus               : completed           \n \n");
  expect("volume status v tasks", TASKS(TASK("Remove brick", ",\"bricks\":[\"n1:/a\"]")), false,
         "Task Status of Volume v\n" LINE "Task                 : Remove brick        \nID                   : " ID
         "\nRemoved bricks:     \nn1:/a\nStatus               : completed           \n \n");
  expect("volume status v tasks", TASKS(TASK("Remove brick", ",\"bricks\":[\"n1:/a\"]")), true,
         XML_HEAD "  <opErrstr/>\n  <volStatus>\n    <volumes>\n      <volume>\n        <volName>v</volName>\n        <tasks>\n"
                  "          <task>\n            <type>Remove brick</type>\n            <id>" ID
                  "</id>\n            <status>3</status>\n            <statusStr>completed</statusStr>\n            <params>\n"
                  "              <brick>n1:/a</brick>\n            </params>\n          </task>\n        </tasks>\n"
                  "      </volume>\n    </volumes>\n  </volStatus>\n</cliOutput>\n");
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_requests), cmocka_unit_test(test_rebalance), cmocka_unit_test(test_estimates),
      cmocka_unit_test(test_pace),     cmocka_unit_test(test_remove),    cmocka_unit_test(test_tasks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
