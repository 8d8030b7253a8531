/* SPDX-License-Identifier: Apache-2.0
 *
 * volume profile, top, clear-locks and get-state: words and output, byte by byte.
 */
#include "programs/glusterish/cli-fixture.h"

static const char profile_doc[] =
    "{\"bricks\":[{\"name\":\"node1:/bricks/rep3/b1\",\"cumulative\":{\"number\":-1,\"duration\":107,\"totalRead\":0,"
    "\"totalWrite\":2621449,\"blocks\":[{\"size\":2,\"reads\":0,\"writes\":3},{\"size\":65536,\"reads\":0,\"writes\":18},"
    "{\"size\":131072,\"reads\":0,\"writes\":11},{\"size\":262144,\"reads\":4,\"writes\":0}],\"fops\":["
    "{\"name\":\"WRITE\",\"hits\":32,\"avg\":121212.97,\"min\":34882.0,\"max\":872129.0,\"p50\":1.0,\"p95\":2.0,\"p99\":3.0},"
    "{\"name\":\"LOOKUP\",\"hits\":2,\"avg\":100.0,\"min\":50.0,\"max\":150.0},"
    "{\"name\":\"RELEASE\",\"hits\":9}]}}]}";

static void
test_profile_info(void **state)
{
  struct run r = {.doc = profile_doc};
  run(&r, "volume profile rep3 info");
  assert_string_equal(sent(&r, "command"), "volume profile info");
  assert_string_equal(sent(&r, "info"), "all");
  assert_false(cli_true(r.request, "peek"));
  assert_int_equal(r.proc, 23);
  assert_string_equal(r.out, "Brick: node1:/bricks/rep3/b1\n"
                             "----------------------------\n"
                             "Cumulative Stats:\n"
                             "   Block Size:                  2b+               65536b+              131072b+ \n"
                             " No. of Reads:                    0                     0                     0 \n"
                             "No. of Writes:                    3                    18                    11 \n"
                             " \n"
                             "   Block Size:             262144b+ \n"
                             " No. of Reads:                    4 \n"
                             "No. of Writes:                    0 \n"
                             " %-latency   Avg-latency   Min-Latency   Max-Latency   No. of calls         Fop\n"
                             " ---------   -----------   -----------   -----------   ------------        ----\n"
                             "      0.00       0.00 ns       0.00 ns       0.00 ns              9     RELEASE\n"
                             "      0.01     100.00 ns      50.00 ns     150.00 ns              2      LOOKUP\n"
                             "     99.99  121212.97 ns   34882.00 ns  872129.00 ns             32       WRITE\n"
                             " \n"
                             "    Duration: 107 seconds\n"
                             "   Data Read: 0 bytes\n"
                             "Data Written: 2621449 bytes\n"
                             " \n");
  done(&r);
}

static void
test_profile_interval(void **state)
{
  struct run r = {
      .doc = "{\"bricks\":[{\"name\":\"h:/b\",\"interval\":{\"number\":2,\"duration\":1,\"totalRead\":0,\"totalWrite\":0,"
             "\"blocks\":[],\"fops\":[]}}]}"};
  run(&r, "volume profile v info incremental peek");
  assert_string_equal(sent(&r, "info"), "incremental");
  assert_true(cli_true(r.request, "peek"));
  assert_string_equal(r.out, "Brick: h:/b\n-----------\nInterval 2 Stats:\n \n    Duration: 1 seconds\n   Data Read: 0 bytes\n"
                             "Data Written: 0 bytes\n \n");
  r.doc = "{\"bricks\":[{\"name\":\"h:/b\",\"cleared\":true}]}";
  run(&r, "volume profile v info clear");
  assert_string_equal(r.out, "Brick: h:/b\n-----------\nCleared stats.\n");
  r.c.xml = true;
  run(&r, "volume profile v info clear");
  assert_non_null(strstr(r.out,
                         "  <volProfile>\n    <volname>v</volname>\n    <profileOp>3</profileOp>\n"
                         "    <brickCount>1</brickCount>\n    <brick>\n      <brickName>h:/b</brickName>\n"
                         "      <clearStats>Cleared stats.</clearStats>\n    </brick>\n  </volProfile>\n</cliOutput>\n"));
  done(&r);
}

static void
test_profile_xml(void **state)
{
  struct run r = {.doc = profile_doc, .c.xml = true};
  run(&r, "volume profile rep3 info cumulative");
  assert_non_null(strstr(r.out, "      <cumulativeStats>\n        <blockStats>\n          <block>\n            <size>1</size>\n"
                                "            <reads>0</reads>\n            <writes>0</writes>\n          </block>\n"
                                "          <block>\n            <size>2</size>\n            <reads>0</reads>\n"
                                "            <writes>3</writes>\n          </block>\n"));
  assert_non_null(strstr(r.out,
                         "            <size>2147483648</size>\n            <reads>0</reads>\n            <writes>0</writes>\n"
                         "          </block>\n        </blockStats>\n        <fopStats>\n          <fop>\n"
                         "            <name>WRITE</name>\n            <hits>32</hits>\n"
                         "            <avgLatency>121212.970000</avgLatency>\n"
                         "            <minLatency>34882.000000</minLatency>\n"
                         "            <maxLatency>872129.000000</maxLatency>\n          </fop>\n"));
  assert_non_null(strstr(r.out, "        <duration>107</duration>\n        <totalRead>0</totalRead>\n"
                                "        <totalWrite>2621449</totalWrite>\n      </cumulativeStats>\n    </brick>\n"));
  r.ret = -1;
  r.code = 30800;
  r.doc = NULL;
  r.text = "Profile on Volume v is already started";
  run(&r, "volume profile v start");
  assert_string_equal(r.out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<cliOutput>\n  <opRet>-1</opRet>\n"
                             "  <opErrno>30800</opErrno>\n  <opErrstr>Profile on Volume v is already started</opErrstr>\n"
                             "  <volProfile>\n    <volname>v</volname>\n    <profileOp>1</profileOp>\n  </volProfile>\n"
                             "</cliOutput>\n");
  assert_int_equal(r.status, 0);
  done(&r);
}

static void
test_profile_words(void **state)
{
  static const char *const wrong[] = {"volume profile v", "volume profile v bogus", "volume profile v start now",
                                      "volume profile v info bogus", "volume profile v info cumulative peek"};
  struct run r = {0};
  for (size_t i = 0; i < GI_ARRAY_LEN(wrong); i++) {
    run(&r, wrong[i]);
    assert_true(begins(r.err, "\nUsage:\nvolume profile <VOLNAME> {start|info [peek|incremental [peek]|cumulative|clear]|stop} "
                              "[nfs]\n\n"));
    assert_int_equal(r.status, 1);
    assert_int_equal(r.calls, 0);
  }
  run(&r, "volume profile v start");
  assert_string_equal(sent(&r, "op"), "start");
  assert_string_equal(r.out, "Starting volume profile on v has been successful \n");
  run(&r, "volume profile v stop");
  assert_string_equal(r.out, "Stopping volume profile on v has been successful \n");
  run(&r, "volume profile v info nfs");
  assert_true(cli_true(r.request, "nfs"));
  r.ret = -1;
  r.text = "Profile on Volume v is not started";
  run(&r, "volume profile v info");
  assert_string_equal(r.err, "Profile on Volume v is not started\n");
  assert_int_equal(r.status, 1);
  done(&r);
}

/* ---- top ---- */

static void
test_top(void **state)
{
  struct run r = {
      .doc = "{\"bricks\":[{\"name\":\"h:/b1\",\"files\":[{\"path\":\"/f3\",\"count\":12},{\"path\":\"/f2\",\"count\":1}],"
             "\"currentOpen\":0,\"maxOpen\":1,\"maxOpenTime\":\"2026-11-21 00:34:44.887710 +0000\"},"
             "{\"name\":\"h:/b2\",\"files\":[],\"currentOpen\":0,\"maxOpen\":0}]}"};
  run(&r, "volume top v open");
  assert_int_equal(r.proc, 23);
  assert_int_equal(cli_int(r.request, "op"), 1);
  assert_int_equal(cli_int(r.request, "rows"), 100);
  assert_string_equal(r.out, "Brick: h:/b1\n"
                             "Current open fds: 0, Max open fds: 1, Max openfd time: 2026-11-21 00:34:44.887710 +0000\n"
                             "Count\t\tfilename\n=======================\n12\t\t/f3\n1\t\t/f2\n"
                             "Brick: h:/b2\nCurrent open fds: 0, Max open fds: 0, Max openfd time: N/A\n");
  r.c.xml = true;
  run(&r, "volume top v open brick h:/b1 list-cnt 5");
  assert_string_equal(sent(&r, "brick"), "h:/b1");
  assert_int_equal(cli_int(r.request, "rows"), 5);
  assert_non_null(strstr(r.out,
                         "  <volTop>\n    <brickCount>2</brickCount>\n    <topOp>1</topOp>\n    <brick>\n"
                         "      <name>h:/b1</name>\n      <members>2</members>\n      <currentOpen>0</currentOpen>\n"
                         "      <maxOpen>1</maxOpen>\n      <maxOpenTime>2026-11-21 00:34:44.887710 +0000</maxOpenTime>\n"
                         "      <file>\n        <filename>/f3</filename>\n        <count>12</count>\n      </file>\n"));
  r.c.xml = false;
  run(&r, "volume top v clear");
  assert_int_equal(cli_int(r.request, "op"), 0);
  assert_string_equal(r.out, "Cleared stats for brick h:/b1\nCleared stats for brick h:/b2\n");
  r.ret = -1;
  r.text = "Volume v is not started.";
  run(&r, "volume top v read");
  assert_string_equal(r.err, "Volume v is not started.\nvolume top unsuccessful\n");
  assert_int_equal(r.status, 1);
  done(&r);
}

static void
test_top_speed(void **state)
{
  struct run r = {
      .doc = "{\"bricks\":[{\"name\":\"h:/b1\",\"throughput\":1950.47619,\"seconds\":0.000021,\"files\":["
             "{\"path\":\"/d/averyveryverylongdirectoryname/withanotherlongnamebelowit/fileinit\",\"mbps\":1.9,"
             "\"sec\":1795653067,\"usec\":885317},{\"path\":\"/f3\",\"mbps\":0.2,\"sec\":1795653001,\"usec\":408957}]}]}"};
  run(&r, "volume top v write-perf bs 4096 count 10");
  assert_int_equal(cli_int(r.request, "bs"), 4096);
  assert_int_equal(cli_int(r.request, "count"), 10);
  assert_string_equal(r.out, "Brick: h:/b1\nThroughput 1950.48 MBps time 0.0000 secs\n"
                             "MBps Filename                                        Time                      \n"
                             "==== ========                                        ====                      \n"
                             "   1 ...toryname/withanotherlongnamebelowit/fileinit 2026-11-26 00:31:07 +0000.885317\n"
                             "   0 /f3                                             2026-11-26 00:30:01 +0000.408957\n");
  r.c.xml = true;
  run(&r, "volume top v read-perf");
  assert_non_null(strstr(r.out, "      <members>2</members>\n      <throughput>1950.476190</throughput>\n"
                                "      <timeTaken>21.000000</timeTaken>\n"));
  assert_non_null(strstr(r.out, "        <filename>/f3</filename>\n        <count>0</count>\n"
                                "        <time>2026-11-26 00:30:01.408957 +0000</time>\n"));
  done(&r);
}

static void
test_top_words(void **state)
{
  static const struct {
    const char *line, *say;
  } wrong[] = {
      {"volume top v", ""},
      {"volume top v bogus", ""},
      {"volume top v open brick", ""},
      {"volume top v open bs 1 count 1", ""},
      {"volume top v write list-cnt 101", "list-cnt should be between 0 to 100\n"},
      {"volume top v write list-cnt x", "list-cnt should be between 0 to 100\n"},
      {"volume top v write-perf bs 4096", "Need to give both 'bs' and 'count'\n"},
      {"volume top v write-perf bs x count 1", "block size should be an integer greater than zero\n"},
      {"volume top v write-perf bs 1 count 0", "count should be an integer greater than zero\n"},
      {"volume top v write-perf bs 1073741824 count 100",
       "'bs * count' value 107374182400 is greater than maximum allowed value of 10GB\n"},
  };
  struct run r = {0};
  for (size_t i = 0; i < GI_ARRAY_LEN(wrong); i++) {
    run(&r, wrong[i].line);
    assert_true(begins(r.err, wrong[i].say));
    assert_true(
        begins(r.err + strlen(wrong[i].say), "\nUsage:\nvolume top <VOLNAME> {open|read|write|opendir|readdir|clear} "));
    assert_int_equal(r.calls, 0);
    assert_int_equal(r.status, 1);
  }
  done(&r);
}

static void
test_calls(void **state)
{
  struct run r = {
      .doc = "{\"volumes\":[{\"name\":\"v\",\"started\":true,\"nodes\":[{\"kind\":\"brick\",\"hostname\":\"h\",\"path\":\"/b\","
             "\"peerid\":\"P\",\"online\":true,\"port\":1,\"pid\":2,\"facts\":{\"callpool.count\":\"1\","
             "\"callpool.stack0.uid\":\"5\",\"callpool.stack0.gid\":\"6\",\"callpool.stack0.pid\":\"7\","
             "\"callpool.stack0.unique\":\"364\",\"callpool.stack0.count\":\"2\",\"callpool.stack0.frame1.translator\":\"/b\","
             "\"callpool.stack0.frame2.translator\":\"v-locks\"}}]}]}"};
  run(&r, "volume status v callpool");
  assert_non_null(strstr(r.out,
                         "Brick : h:/b\nPending calls: 1\nCall Stack1\n UID    : 5\n GID    : 6\n PID    : 7\n Unique : 364\n"
                         " Frames : 2\n Frame 1\n  Translator = /b\n Frame 2\n  Translator = v-locks\n \n---"));
  r.c.xml = true;
  run(&r, "volume status v callpool");
  assert_non_null(strstr(r.out, "            <count>1</count>\n            <callStack>\n              <uid>5</uid>\n"));
  assert_non_null(strstr(r.out, "              <frameCount>2</frameCount>\n              <callFrame>\n"
                                "                <translator>/b</translator>\n"));
  done(&r);
}

/* ---- clear-locks, get-state, statedump ---- */

static void
test_clear_locks(void **state)
{
  struct run r = {.doc = "{\"bricks\":[{\"name\":\"h:/b1\",\"text\":\"vm:/b1: posix blocked locks=1 granted locks=0\"},"
                         "{\"name\":\"h:/b2\",\"text\":\"No locks cleared.\"},{\"name\":\"h:/b3\",\"error\":2}]}"};
  run(&r, "volume clear-locks v /d/f kind blocked posix 0,10-0");
  assert_int_equal(r.proc, 34);
  assert_string_equal(sent(&r, "path"), "/d/f");
  assert_string_equal(sent(&r, "kind"), "blocked");
  assert_string_equal(sent(&r, "type"), "posix");
  assert_string_equal(sent(&r, "which"), "0,10-0");
  assert_string_equal(r.out,
                      "Volume clear-locks successful\nvm:/b1: posix blocked locks=1 granted locks=0\nNo locks cleared.\n");
  run(&r, "volume clear-locks v /d kind bogus entry name");
  assert_string_equal(r.out, "Error parsing options\n");
  assert_true(begins(r.err, "\nUsage:\nvolume clear-locks <VOLNAME> <path> kind {blocked|granted|all}{inode "));
  assert_int_equal(r.calls, 0);
  run(&r, "volume clear-locks v /d all inode");
  assert_string_equal(r.out, "");
  assert_true(begins(r.err, "\nUsage:\nvolume clear-locks "));
  r.ret = -1;
  r.text = "clear-locks getxattr command failed. Reason: No such file or directory";
  run(&r, "volume clear-locks v /nosuch kind all inode");
  assert_string_equal(r.err, "Volume clear-locks unsuccessful\n"
                             "clear-locks getxattr command failed. Reason: No such file or directory\n");
  assert_int_equal(r.status, 1);
  done(&r);
}

static void
test_get_state(void **state)
{
  struct run r = {.doc = "{\"path\":\"/run/x\"}"};
  run(&r, "get-state");
  assert_string_equal(r.out, "glusterd state dumped to /run/x\n");
  run(&r, "get-state glusterd odir /tmp file x detail");
  assert_string_equal(sent(&r, "odir"), "/tmp");
  assert_string_equal(sent(&r, "file"), "x");
  assert_true(cli_true(r.request, "detail"));
  run(&r, "get-state volumeoptions");
  assert_true(cli_true(r.request, "volumeoptions"));
  run(&r, "get-state other");
  assert_true(begins(r.err, "glusterd is the only supported daemon.\n\nUsage:\n"));
  static const char *const wrong[] = {"get-state odir", "get-state detail volumeoptions", "get-state file a file b"};
  for (size_t i = 0; i < GI_ARRAY_LEN(wrong); i++) {
    run(&r, wrong[i]);
    assert_true(begins(r.err, "Problem parsing arguments. Check usage.\n\nUsage:\n"));
    assert_int_equal(r.calls, 0);
  }
  r.ret = -1;
  r.text = "Output directory /nodir does not exist.";
  run(&r, "get-state odir /nodir");
  assert_string_equal(r.err, "Failed to get daemon state: Output directory /nodir does not exist.\n");
  assert_int_equal(r.status, 1);
  done(&r);
}

static void
test_statedump(void **state)
{
  struct run r = {0};
  run(&r, "volume statedump v");
  assert_string_equal(r.out, "volume statedump: success\n");
  assert_int_equal(json_array_size(json_object_get(r.request, "options")), 0);
  run(&r, "volume statedump v priv fd");
  assert_int_equal(json_array_size(json_object_get(r.request, "options")), 2);
  run(&r, "volume statedump v quotad");
  assert_string_equal(sent(&r, "target"), "quotad");
  run(&r, "volume statedump v client 127.0.0.1:77");
  assert_string_equal(sent(&r, "client"), "127.0.0.1:77");
  static const char *const wrong[] = {"volume statedump v bogus", "volume statedump v client"};
  for (size_t i = 0; i < GI_ARRAY_LEN(wrong); i++) {
    run(&r, wrong[i]);
    assert_string_equal(r.out, "Error parsing options\n");
    assert_true(begins(r.err, "\nUsage:\nvolume statedump <VOLNAME> "));
    assert_int_equal(r.calls, 0);
  }
  done(&r);
}

/* ---- status of bricks ---- */

static const char tables_doc[] =
    "{\"volumes\":[{\"name\":\"v\",\"started\":true,\"nodes\":[{\"kind\":\"brick\",\"hostname\":\"h\",\"path\":\"/"
    "b\",\"peerid\":\"P\","
    "\"online\":true,\"port\":1,\"pid\":2,\"facts\":{\"conncount\":\"2\",\"conn0.itable.active_size\":\"4\","
    "\"conn0.itable.lru_size\":\"5\",\"conn0.itable.purge_size\":\"0\",\"conn0.itable.lru_limit\":\"16384\","
    "\"conn0.fdtable.refcount\":\"1\",\"conn0.fdtable.maxfds\":\"64\",\"conn0.fdtable.firstfree\":\"4\","
    "\"conn0.fdtable.fdentry0.number\":\"3\",\"conn0.fdtable.fdentry0.pid\":\"77\",\"conn0.fdtable.fdentry0.refcount\":\"1\","
    "\"conn0.fdtable.fdentry0.flags\":\"2\",\"conn1.fdtable.refcount\":\"1\",\"conn1.fdtable.maxfds\":\"0\","
    "\"conn1.fdtable.firstfree\":\"0\"}}]}]}";

#define BRICK_DASHES "----------------------------------------------\n"

static void
test_tables(void **state)
{
  struct run r = {.doc = tables_doc};
  run(&r, "volume status v fd");
  assert_string_equal(r.out, "FD tables for volume v\n" BRICK_DASHES "Brick : h:/b\nConnection 1:\n"
                             "RefCount = 1  MaxFDs = 64  FirstFree = 4\n"
                             "FD Entry            PID                 RefCount            Flags              \n"
                             "--------            ---                 --------            -----              \n"
                             "3                   77                  1                   2                  \n \n"
                             "Connection 2:\nRefCount = 1  MaxFDs = 0  FirstFree = 0\n" BRICK_DASHES);
  assert_string_equal(r.err, "No open fds\n");
  run(&r, "volume status v inode");
  assert_true(begins(r.out, "Inode tables for volume v\n" BRICK_DASHES "Brick : h:/b\nConnection 1:\nLRU limit     : 16384\n"
                            "Active Inodes : 4\nLRU Inodes    : 5\nPurge Inodes  : 0\n \nConnection 2:\n"));
  r.c.xml = true;
  run(&r, "volume status v fd");
  assert_non_null(strstr(r.out, "            <connections>2</connections>\n            <connection>\n              <fdTable>\n"
                                "                <refCount>1</refCount>\n                <maxFds>64</maxFds>\n"
                                "                <firstFree>4</firstFree>\n                <fd>\n"
                                "                  <entry>3</entry>\n                  <pid>77</pid>\n"));
  run(&r, "volume status v inode");
  assert_non_null(strstr(r.out, "              <activeSize>4</activeSize>\n              <lruSize>5</lruSize>\n"));
  done(&r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_profile_info), cmocka_unit_test(test_profile_interval),
      cmocka_unit_test(test_profile_xml),  cmocka_unit_test(test_profile_words),
      cmocka_unit_test(test_top),          cmocka_unit_test(test_top_speed),
      cmocka_unit_test(test_top_words),    cmocka_unit_test(test_clear_locks),
      cmocka_unit_test(test_get_state),    cmocka_unit_test(test_tables),
      cmocka_unit_test(test_calls),        cmocka_unit_test(test_statedump),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
