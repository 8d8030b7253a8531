/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of the command line tool without a daemon: what words become, and what
 * is printed for a canned answer, byte by byte.
 */
#include "programs/glusterish/cli-fixture.h"
#include "rpc/rpc-server.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define USAGE \
  " Usage: gluster [options] <help> <peer> <pool> <volume>\n" \
  " Options:\n" \
  " --help  Shows the help information\n" \
  " --version  Shows the version\n" \
  " --print-logdir  Shows the log directory\n" \
  " --print-statedumpdir Shows the state dump directory\n\n"

static void
test_words(void **state)
{
  struct run r = {0};
  run(&r, "vol lis");
  assert_string_equal(sent(&r, "command"), "volume list");
  assert_string_equal(sent(&r, "words"), "vol lis");
  run(&r, "pe st");
  assert_string_equal(sent(&r, "command"), "peer status");
  run(&r, "po l");
  assert_string_equal(sent(&r, "command"), "pool list");
  run(&r, "v sta vol");
  assert_string_equal(r.out, "unrecognized word: sta (position 1)\n\n" USAGE); /* start, status, statedump */
  assert_int_equal(r.status, 1);
  run(&r, "foo");
  assert_string_equal(r.out, "unrecognized word: foo (position 0)\n\n" USAGE);
  run(&r, "volume");
  assert_string_equal(r.out, "unrecognized command\n\n" USAGE);
  run(&r, "system getspec v");
  assert_string_equal(sent(&r, "command"), "system getspec");
  run(&r, "volume start");
  assert_string_equal(r.err, "\nUsage:\nvolume start <VOLNAME> [force]\n\n");
  assert_string_equal(r.out, "");
  assert_int_equal(r.status, 1);
  assert_int_equal(r.calls, 0);
  run(&r, "volume start a b c");
  assert_int_equal(r.status, 1);
  done(&r);
}

static void
test_create_request(void **state)
{
  struct run r = {.doc = "{\"name\":\"v\",\"id\":\"bee7a393-1982-4171-bfca-81f57fca57d9\"}"};
  run(&r, "volume create v rep 3 trans tcp n1:/b//x/ n2:/b/x n3:/b/x force");
  assert_int_equal(r.proc, 4);
  assert_string_equal(sent(&r, "volume"), "v");
  assert_int_equal(cli_int(r.request, "replica"), 3);
  assert_true(cli_true(r.request, "force"));
  json_t *bricks = json_object_get(r.request, "bricks");
  assert_int_equal(json_array_size(bricks), 3);
  assert_string_equal(json_string_value(json_array_get(bricks, 0)), "n1:/b/x");
  assert_string_equal(r.out, "volume create: v: success: please start the volume to access data\n");
  assert_int_equal(r.status, 0);
  r.doc = "{\"name\":\"v\",\"placed\":[{\"brick\":\"n1:/b/v-1\",\"free\":1073741824}]}";
  run(&r, "volume create v rep 3 arbiter 1 auto 2 force");
  assert_true(cli_true(r.request, "auto") && cli_true(r.request, "force"));
  assert_int_equal(cli_int(r.request, "sets"), 2);
  assert_string_equal(r.out,
                      "volume create: v: success: please start the volume to access data\nBrick1: n1:/b/v-1 (1.0GB free)\n");
  run(&r, "volume create v rep 3 auto");
  assert_int_equal(cli_int(r.request, "sets"), 1);
  static const char *const bad[] = {"volume create v auto n1:/b", "volume create v auto 2 n1:/b", "volume create v auto 0",
                                    "volume create v n1:/b auto"};
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    run(&r, bad[i]);
    assert_int_equal(r.calls, 0);
  }
  r.doc = "{\"name\":\"v\",\"id\":\"bee7a393-1982-4171-bfca-81f57fca57d9\"}";
  r.c.xml = true;
  run(&r, "volume create v n1:/b");
  assert_string_equal(r.out,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<cliOutput>\n  <opRet>0</opRet>\n"
                      "  <opErrno>0</opErrno>\n  <opErrstr/>\n  <volCreate>\n    <volume>\n      <name>v</name>\n"
                      "      <id>bee7a393-1982-4171-bfca-81f57fca57d9</id>\n    </volume>\n  </volCreate>\n</cliOutput>\n");
  done(&r);
}

#define XML_HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<cliOutput>\n"

static void
test_a_node_is_replaced(void **state)
{
  struct run r = {.doc = "{}"};
  run(&r, "node replace n3 n4 force");
  assert_int_equal(r.calls, 2); /* the new one is probed first */
  assert_string_equal(sent(&r, "command"), "node replace");
  assert_string_equal(sent(&r, "old"), "n3");
  assert_string_equal(sent(&r, "new"), "n4");
  assert_true(cli_true(r.request, "force"));
  assert_string_equal(r.out, "node replace: n4 takes the place of n3; \"node status\" tells how far it is\n");
  run(&r, "node status");
  assert_string_equal(r.out, "No node takes the place of another.\n");
  r.doc = "{\"replace\":{\"oldHost\":\"n3\",\"newHost\":\"n4\",\"state\":\"running\",\"bricks\":3,\"moved\":1,\"started\":100,"
          "\"now\":160,\"volume\":\"v\",\"entries\":40,\"filesPerSecond\":4,\"bytesPerSecond\":1048576,\"etaSeconds\":10,"
          "\"problem\":\"brick n2:/b is away\"}}";
  run(&r, "node status");
  assert_string_equal(r.out, "Old node: n3\nNew node: n4\nState: running, 60 s\nBricks: 1 of 3 moved\n"
                             "Healing: volume v, 40 entries left, 4 files/s, 1.0MB/s, 10 s at this rate\n"
                             "Waits: brick n2:/b is away\n");
  r.c.xml = true;
  run(&r, "node status");
  assert_non_null(strstr(r.out, "  <nodeReplace>\n    <oldHost>n3</oldHost>\n    <newHost>n4</newHost>\n"));
  assert_non_null(strstr(r.out, "    <entries>40</entries>\n"));
  r.c.xml = false;
  r.ret = -1;
  r.text = "n4 does not answer";
  run(&r, "node replace n3 n4");
  assert_int_equal(r.calls, 1);
  assert_string_equal(r.err, "node replace: failed: n4 does not answer\n");
  assert_int_equal(r.status, 1);
  done(&r);
}

static void
test_pool_upgrade(void **state)
{
  struct run r = {
      .doc = "{\"opVersion\":100000,\"possible\":100001,\"hinders\":[],\"nodes\":[{\"hostname\":\"localhost\",\"version\":"
             "\"2\",\"opVersion\":100001,\"connected\":true},{\"hostname\":\"n2\",\"version\":\"\",\"opVersion\":0}]}"};
  run(&r, "pool upgrade check");
  assert_string_equal(sent(&r, "command"), "pool upgrade check");
  assert_string_equal(r.out, "Operating version of the pool: 100000\nNode localhost: version 2, operating version 100001\n"
                             "Node n2: not connected\n\"pool upgrade finish\" makes it 100001.\n");
  run(&r, "pool upgrade finish");
  assert_string_equal(r.out, "pool upgrade: success: the operating version is 100000\n");
  r.doc = "{\"opVersion\":1,\"possible\":1,\"hinders\":[\"node n2 is away\"]}";
  run(&r, "pool upgrade check");
  assert_string_equal(r.out, "Operating version of the pool: 1\nHinders: node n2 is away\n");
  r.c.xml = true;
  run(&r, "pool upgrade check");
  assert_non_null(strstr(r.out, "    <hinders>node n2 is away</hinders>\n"));
  r.c.xml = false;
  run(&r, "pool upgrade");
  assert_int_equal(r.calls, 0);
  done(&r);
}

/* cli.md 5.10 to 5.13, as GlusterFS 10.3 prints them. */
static void
test_brick_commands(void **state)
{
  static const struct {
    const char *line;
    unsigned proc;
    const char *command, *member, *value, *out, *xml;
  } cases[] = {
      {"volume replace-brick v n1:/a/ n2:/b commit force", 15, "volume replace-brick", "target", "n2:/b",
       "volume replace-brick: success: replace-brick commit force operation successful\n",
       "  <opRet>0</opRet>\n  <opErrno>0</opErrno>\n  <opErrstr>replace-brick commit force operation successful</opErrstr>\n"},
      {"volume reset-brick v n1:/a start", 47, "volume reset-brick", "source", "n1:/a",
       "volume reset-brick: success: reset-brick start operation successful\n",
       "  <opRet>0</opRet>\n  <opErrno>0</opErrno>\n  <opErrstr>reset-brick start operation successful</opErrstr>\n"},
      {"volume reset-brick v n1:/a n1:/a commit", 47, "volume reset-brick", "target", "n1:/a",
       "volume reset-brick: success: reset-brick commit operation successful\n",
       "  <opRet>0</opRet>\n  <opErrno>0</opErrno>\n  <opErrstr>reset-brick commit operation successful</opErrstr>\n"},
      {"volume add-brick v rep 4 n1:/a force", 13, "volume add-brick", "volume", "v", "volume add-brick: success\n",
       "  <opRet>0</opRet>\n  <opErrno>0</opErrno>\n  <opErrstr/>\n  <cliOp>volAddBrick</cliOp>\n"
       "  <output>Add Brick successful</output>\n"},
      {"volume remove-brick v replica 2 n1:/a fo", 14, "volume remove-brick", "action", "force",
       "volume remove-brick commit force: success\n",
       "  <opRet>0</opRet>\n  <opErrno>0</opErrno>\n  <opErrstr>Remove Brick commit force successful</opErrstr>\n"
       "  <volRemoveBrick/>\n"},
  };
  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct run r = {0};
    run(&r, cases[i].line);
    assert_int_equal(r.proc, cases[i].proc);
    assert_string_equal(sent(&r, "command"), cases[i].command);
    assert_string_equal(sent(&r, cases[i].member), cases[i].value);
    assert_string_equal(r.out, cases[i].out);
    r.c.xml = true;
    run(&r, cases[i].line);
    GI_CLEANUP_FREE char *xml = gi_asprintf(XML_HEAD "%s</cliOutput>\n", cases[i].xml);
    assert_string_equal(r.out, xml);
    r.c.xml = false;
    r.ret = -1;
    r.text = "no";
    run(&r, cases[i].line);
    assert_int_equal(r.status, 1);
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, ": failed: no\n"));
    done(&r);
  }
}

static void
test_brick_commands_refused(void **state)
{
  static const struct {
    const char *line, *err;
  } cases[] = {
      {"volume replace-brick v n1:/a n1:/b commit", "\nUsage:\nvolume replace-brick"},
      {"volume replace-brick v n1:/a n1:/b commit now",
       "Invalid option 'commit' 'now' for replace-brick. Please enter valid replace-brick command\n\nUsage:\n"},
      {"volume reset-brick v n1:/a", "\nUsage:\nvolume reset-brick"},
      {"volume reset-brick v n1:/a n1:/a", "Invalid option"},
      {"volume reset-brick v n1:/a n1:/a commit now", "Invalid option 'commit now' for reset-brick."},
      {"volume add-brick v replica 4", "Wrong brick type: replica, use <HOSTNAME>:<export-dir-abs-path>\n\nUsage:\n"},
      {"volume add-brick v replica x n1:/a force", "replica count should be greater than 1\n\nUsage:\n"},
      {"volume add-brick v replica 4 arbiter 1 n1:/a force", "For arbiter configuration, replica count must be 3"},
      {"volume add-brick v replica 4 n1:/a n1:/a force", "Found duplicate exports n1:/a\n\nUsage:\n"},
      {"volume add-brick v replica 3 localhost:/a force", "Please provide a valid hostname/ip other than localhost"},
      {"volume remove-brick v replica 3 n1:/a", "\nUsage:\nvolume remove-brick"},
      {"volume remove-brick v replica 3 n1:/a bogus", "\nUsage:\nvolume remove-brick"},
      {"volume remove-brick v replica 3 n1:/a st", "\nUsage:\nvolume remove-brick"}, /* start, stop, status */
      {"volume remove-brick v replica 3 force", "No bricks specified\n\nUsage:\n"},
      {"volume remove-brick v replica 0 n1:/a force",
       "replica count should be greater than 0 in case of remove-brick\n\nUsage:\n"},
      {"volume remove-brick v replica 3 n1:/a n1:/a force", "Duplicate bricks found n1:/a\n\nUsage:\n"},
  };
  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct run r = {0};
    run(&r, cases[i].line);
    if (!begins(r.err, cases[i].err))
      fail_msg("%s: %s", cases[i].line, r.err);
    assert_int_equal(r.status, 1);
    assert_int_equal(r.calls, 0);
    done(&r);
  }
  struct run r = {0};
  run_with(&r, "volume remove-brick v replica 2 n1:/a force", "n\n");
  assert_true(begins(r.out, "Remove-brick force will not migrate files from the removed bricks"));
  assert_int_equal(r.status, 0);
  assert_int_equal(r.calls, 0);
  run_with(&r, "volume add-brick v replica 2 n1:/a", "n\n");
  assert_true(begins(r.out, "Replica 2 volumes are prone to split-brain."));
  assert_int_equal(r.status, 1);
  done(&r);
}

static void
test_create_refused(void **state)
{
  static const struct {
    const char *line, *err;
  } cases[] = {
      {"volume create all n1:/b", "\"all\" cannot be the name of a volume.\n"},
      {"volume create a.b n1:/b",
       "Volume name should not contain \".\" character.\nVolume names can onlycontain alphanumeric, '-' and '_' characters.\n"},
      {"volume create v replica 1 n1:/b", "replica count should be greater than 1\n"},
      {"volume create v replica 3 n1:/a n1:/b", "number of bricks is not a multiple of replica count\n"},
      {"volume create v replica 3 replica 3 n1:/a", "replica option given twice\n"},
      {"volume create v arbiter 1 n1:/a", "arbiter option must be preceded by replica option.\n"},
      {"volume create v /a", "Wrong brick type: /a, use <HOSTNAME>:<export-dir-abs-path>\n"},
      {"volume create v n1:/a/../b", "Wrong brick type: n1:/a/../b, use <HOSTNAME>:<export-dir-abs-path>\n"},
      {"volume create v n1:/", "Wrong brick type: n1:/, use <HOSTNAME>:<export-dir-abs-path>\n"},
      {"volume create v localhost:/a",
       "Please provide a valid hostname/ip other than localhost, 127.0.0.1 or loopback address (0.0.0.0 to 0.255.255.255).\n"},
      {"volume create v n1:/a n1:/a/", "Found duplicate exports n1:/a\n"},
      {"volume create v disperse 2 n1:/a n1:/b", "disperse count must be greater than 2\n"},
  };
  struct run r = {0};
  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    run(&r, cases[i].line);
    assert_int_equal(r.calls, 0);
    assert_int_equal(r.status, 1);
    assert_string_equal(r.out, "");
    assert_true(begins(r.err, cases[i].err));
    assert_true(begins(r.err + strlen(cases[i].err), "\nUsage:\nvolume create <NEW-VOLNAME>"));
  }
  done(&r);
}

static void
test_failure_and_questions(void **state)
{
  struct run r = {.ret = -1, .code = 30800, .text = "Volume v already started"};
  run(&r, "volume start v");
  assert_string_equal(r.err, "volume start: v: failed: Volume v already started\n");
  assert_int_equal(r.status, 1);
  r.c.xml = true;
  run(&r, "volume start v");
  assert_int_equal(r.status, 0); /* callers read opRet */
  assert_non_null(strstr(r.out, "  <opErrstr>Volume v already started</opErrstr>\n</cliOutput>\n"));
  memset(&r.c, 0, sizeof(r.c));
  r.ret = 0;
  run_with(&r, "volume stop v", "n\n");
  assert_string_equal(r.out, "Stopping volume will make its data inaccessible. Do you want to continue? (y/n) ");
  assert_int_equal(r.calls, 0);
  assert_int_equal(r.status, 0);
  run_with(&r, "volume stop v", "what\n");
  assert_non_null(strstr(r.out, "Invalid input, please enter y/n\n"));
  assert_int_equal(r.calls, 0);
  run_with(&r, "volume stop v", "Y\n");
  assert_int_equal(r.calls, 1);
  assert_non_null(strstr(r.out, "volume stop: v: success\n"));
  done(&r);
}

static const char info_doc[] =
    "{\"volumes\":[{\"name\":\"rep3\",\"id\":\"580a0e74-e286-420d-b55a-e941cc49b2b0\",\"status\":1,\"statusStr\":\"Started\","
    "\"type\":2,\"typeStr\":\"Replicate\",\"snapshotCount\":0,\"brickCount\":3,\"distCount\":1,\"replicaCount\":3,"
    "\"arbiterCount\":0,\"disperseCount\":0,\"redundancyCount\":0,\"transport\":0,"
    "\"bricks\":[{\"name\":\"node1:/b/1\",\"hostUuid\":\"a7d6eff8-8bbb-47a0-acfd-55cc8e38d290\",\"isArbiter\":false}],"
    "\"options\":[{\"name\":\"nfs.disable\",\"value\":\"on\"}]}]}";

static void
test_info(void **state)
{
  struct run r = {.doc = info_doc};
  run(&r, "volume info");
  assert_string_equal(r.out, " \nVolume Name: rep3\nType: Replicate\nVolume ID: 580a0e74-e286-420d-b55a-e941cc49b2b0\n"
                             "Status: Started\nSnapshot Count: 0\nNumber of Bricks: 1 x 3 = 3\nTransport-type: tcp\nBricks:\n"
                             "Brick1: node1:/b/1\nOptions Reconfigured:\nnfs.disable: on\n");
  r.c.xml = true;
  run(&r, "volume info rep3");
  assert_string_equal(sent(&r, "volume"), "rep3");
  assert_string_equal(
      r.out,
      "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<cliOutput>\n  <opRet>0</opRet>\n"
      "  <opErrno>0</opErrno>\n  <opErrstr/>\n  <volInfo>\n    <volumes>\n      <volume>\n        <name>rep3</name>\n"
      "        <id>580a0e74-e286-420d-b55a-e941cc49b2b0</id>\n        <status>1</status>\n"
      "        <statusStr>Started</statusStr>\n        <snapshotCount>0</snapshotCount>\n        <brickCount>3</brickCount>\n"
      "        <distCount>1</distCount>\n        <replicaCount>3</replicaCount>\n        <arbiterCount>0</arbiterCount>\n"
      "        <disperseCount>0</disperseCount>\n        <redundancyCount>0</redundancyCount>\n        <type>2</type>\n"
      "        <typeStr>Replicate</typeStr>\n        <transport>0</transport>\n        <bricks>\n"
      "          <brick uuid=\"a7d6eff8-8bbb-47a0-acfd-55cc8e38d290\">node1:/b/1<name>node1:/b/1</name>"
      "<hostUuid>a7d6eff8-8bbb-47a0-acfd-55cc8e38d290</hostUuid><isArbiter>0</isArbiter></brick>\n        </bricks>\n"
      "        <optCount>1</optCount>\n        <options>\n          <option>\n            <name>nfs.disable</name>\n"
      "            <value>on</value>\n          </option>\n        </options>\n      </volume>\n      <count>1</count>\n"
      "    </volumes>\n  </volInfo>\n</cliOutput>\n");
  r = (struct run){.ret = -1,
                   .code = 30806,
                   .text = "Volume x does not exist",
                   .doc = "{\"volumes\":[]}",
                   .out = r.out,
                   .err = r.err,
                   .request = r.request};
  run(&r, "volume info x");
  assert_string_equal(r.err, "Volume x does not exist\n");
  assert_int_equal(r.status, 1);
  r.c.xml = true;
  run(&r, "volume info x");
  assert_int_equal(r.status, 0);
  assert_non_null(strstr(r.out,
                         "<opErrno>30806</opErrno>\n  <opErrstr>Volume does not exist</opErrstr>\n  <volInfo>\n    <volumes>\n"
                         "      <count>0</count>\n"));
  done(&r);
}

#define DASHES "------------------------------------------------------------------------------\n"

static const char status_doc[] =
    "{\"volumes\":[{\"name\":\"rep3\",\"started\":true,\"tasks\":[],\"nodes\":["
    "{\"kind\":\"brick\",\"hostname\":\"node1\",\"path\":\"/bricks/rep3/"
    "b1\",\"peerid\":\"P\",\"online\":true,\"port\":52014,\"pid\":289,"
    "\"fsName\":\"xfs\",\"device\":\"/dev/loop0\",\"mntOptions\":\"rw\",\"sizeFree\":2040109465,\"sizeTotal\":2040109465,"
    "\"blockSize\":4096,\"inodesTotal\":1048576,\"inodesFree\":1047159},"
    "{\"kind\":\"brick\",\"hostname\":\"node3\",\"path\":\"/bricks/a/path/that/is/longer/than/its/column/b1\",\"peerid\":\"P\","
    "\"online\":false}]},"
    "{\"name\":\"other\",\"started\":false,\"tasks\":[],\"nodes\":[]}]}";

static void
test_status(void **state)
{
  struct run r = {.doc = status_doc};
  run(&r, "volume status");
  assert_string_equal(r.out, "Status of volume: rep3\n"
                             "Gluster process                             TCP Port  RDMA Port  Online  Pid\n" DASHES
                             "Brick node1:/bricks/rep3/b1                 52014     0          Y       289  \n"
                             "Brick node3:/bricks/a/path/that/is/longer/t\n"
                             "han/its/column/b1                           N/A       N/A        N       N/A  \n \n"
                             "Task Status of Volume rep3\n" DASHES "There are no active volume tasks\n \n \n");
  assert_string_equal(r.err, "Volume other is not started\n");
  run(&r, "volume status all det");
  assert_string_equal(sent(&r, "what"), "detail");
  assert_non_null(strstr(r.out, "Status of volume: rep3\n" DASHES "Brick                : Brick node1:/bricks/rep3/b1\n"
                                "TCP Port             : 52014               \n"
                                "RDMA Port            : 0                   \n"
                                "Online               : Y                   \n"
                                "Pid                  : 289                 \n"
                                "File System          : xfs                 \n"
                                "Device               : /dev/loop0          \n"
                                "Mount Options        : rw                  \n"
                                "Inode Size           : N/A                 \n"
                                "Disk Space Free      : 1.9GB               \n"
                                "Total Disk Space     : 1.9GB               \n"
                                "Inode Count          : 1048576             \n"
                                "Free Inodes          : 1047159             \n"));
  r.doc = "{\"volumes\":[{\"name\":\"v\",\"started\":true,\"tasks\":[],\"nodes\":["
          "{\"kind\":\"brick\",\"hostname\":\"vm\",\"path\":\"/d/1/b\",\"online\":false}]}]}";
  run(&r, "volume status v detail");
  assert_non_null(strstr(r.out, "Brick                : Brick vm:/d/1/b     \n"));
  r.doc = status_doc;
  run(&r, "volume status rep3 node1:/b tasks");
  assert_string_equal(sent(&r, "target"), "node1:/b");
  run(&r, "volume status rep3 node1:/b nonsense");
  assert_true(begins(r.err, "nonsense is not a valid status option\n\nUsage:\n"));
  r.c.xml = true;
  run(&r, "volume status rep3");
  assert_non_null(strstr(r.out,
                         "      <volume>\n        <volName>rep3</volName>\n        <nodeCount>2</nodeCount>\n        <node>\n"
                         "          <hostname>node1</hostname>\n          <path>/bricks/rep3/b1</path>\n"
                         "          <peerid>P</peerid>\n          <status>1</status>\n          <port>52014</port>\n"
                         "          <ports>\n            <tcp>52014</tcp>\n            <rdma>N/A</rdma>\n          </ports>\n"
                         "          <pid>289</pid>\n        </node>\n"));
  assert_non_null(
      strstr(r.out, "          <pid>-1</pid>\n        </node>\n        <tasks/>\n      </volume>\n    </volumes>\n"));
  done(&r);
}

static void
test_groups(void **state)
{
  char dir[] = "/tmp/glusterish-cli-XXXXXX";
  assert_non_null(mkdtemp(dir));
  GI_CLEANUP_FREE char *doc = gi_asprintf("{\"wd\":\"%s\",\"ignored\":[\"c=d\"]}", dir), *at = gi_asprintf("%s/installed", dir);
  GI_CLEANUP_FREE char *make =
      gi_asprintf("cd %s && mkdir groups installed && printf '# Databases.\\n\\na=b\\n ?c = d\\n' >installed/db &&"
                  "echo x=installed >installed/both && echo x=own >groups/both && echo x >groups/bad",
                  dir);
  GI_CLEANUP_FREE char *clean = gi_asprintf("rm -r '%s'", dir);
  struct run r = {.doc = doc};
  assert_int_equal(system(make) | setenv("GLUSTERISH_GROUPS_DIR", at, 1), 0);

  run(&r, "volume set v group db");
  assert_string_equal(r.out, "volume set: success\nignored: c=d (not in this version)\n");
  assert_string_equal(cli_str(r.request, "group"), "db");
  GI_CLEANUP_FREE char *pairs = json_dumps(json_object_get(r.request, "pairs"), JSON_COMPACT);
  assert_string_equal(pairs, "[\"a\",\"b\",\"?c\",\"d\"]");
  run(&r, "volume set v group bad");
  assert_non_null(strstr(r.err, "/groups/bad' file format not valid.\n"));
  run(&r, "volume set v group none");
  assert_non_null(strstr(r.err, "/groups/none'. Error: No such file or directory\n"));
  run(&r, "volume set v group ../groups/both");
  assert_string_equal(r.err, "'../groups/both' is no name of a group\n");
  run(&r, "volume set help group"); /* the daemon's own come first */
  assert_string_equal(r.out, "Group: both\nDescription: \nOptions: x=own\n\n"
                             "Group: db\nDescription: Databases.\nOptions: a=b c=d\n\n");
  unsetenv("GLUSTERISH_GROUPS_DIR");
  done(&r);
  assert_int_equal(system(clean), 0);
}

static void
test_options(void **state)
{
  struct run r = {.doc = "{\"options\":[{\"key\":\"performance.cache-size\",\"value\":\"128MB\"}]}"};
  run(&r, "volume get v cache-size");
  assert_string_equal(r.out, "Option                                   Value                                  \n"
                             "------                                   -----                                  \n"
                             "performance.cache-size                   128MB                                  \n");
  run(&r, "volume set v a b c d");
  assert_string_equal(r.out, "volume set: success\n");
  assert_int_equal(json_array_size(json_object_get(r.request, "pairs")), 4);
  run(&r, "volume set v a");
  assert_string_equal(r.err, "\nUsage:\nvolume set <VOLNAME> group <GROUP>\n\n");
  run(&r, "volume set v a b c");
  assert_int_equal(r.calls, 0);
  run(&r, "volume set v debug.trace posix");
  assert_string_equal(r.out,
                      "volume set: success\ndebug.trace translator has been added to the server volume file. Please restart "
                      "the volume for enabling the translator\n");
  run(&r, "volume reset v force");
  assert_null(json_object_get(r.request, "key"));
  assert_true(cli_true(r.request, "force"));
  assert_string_equal(r.out, "volume reset: success: reset volume successful\n");
  r.ret = -1;
  r.text = "no such thing";
  run(&r, "volume set v a b");
  assert_string_equal(r.err, "volume set: failed: no such thing\n");
  r.c.xml = true;
  run(&r, "volume get v a");
  assert_int_equal(r.status, 1);
  assert_non_null(strstr(r.out, "  <cliOp>volGetopts</cliOp>\n  <output>volume get option: failed: no such thing</output>\n"));
  run(&r, "volume set v a b");
  assert_int_equal(r.status, 0);
  assert_non_null(strstr(r.out, "  <cliOp>volSet</cliOp>\n  <output>Set volume unsuccessful</output>\n"));
  done(&r);
}

static void
test_peers(void **state)
{
  struct run r = {
      .doc = "{\"uuid\":\"U0\",\"peers\":[{\"uuid\":\"U1\",\"hostname\":\"node2\",\"hostnames\":[\"node2\",\"10.0.0.2\"],"
             "\"state\":3,\"connected\":true}]}"};
  run(&r, "peer status");
  assert_string_equal(r.out,
                      "Number of Peers: 1\n\nHostname: node2\nUuid: U1\nState: Peer in Cluster (Connected)\nOther names:\n"
                      "10.0.0.2\n");
  r.doc = "{\"uuid\":\"U0\",\"peers\":[]}";
  run(&r, "pool list");
  assert_string_equal(r.out, "UUID\t\t\t\t\tHostname \tState\nU0\tlocalhost\tConnected \n");
  run(&r, "peer probe not/an/address");
  assert_non_null(strstr(r.out, "not/an/address is an invalid address\n"));
  assert_int_equal(r.status, 1);
  r.c.json = true;
  run(&r, "peer status");
  assert_non_null(strstr(r.out, "\"opRet\": 0"));
  done(&r);
}

static const char shd_status_doc[] = "{\"volumes\":[{\"name\":\"v\",\"started\":true,\"nodes\":["
                                     "{\"kind\":\"daemon\",\"hostname\":\"Self-heal "
                                     "Daemon\",\"path\":\"localhost\",\"peerid\":\"P\",\"online\":true,\"pid\":306}]}]}";

static void
test_status_of_daemons(void **state)
{
  struct run r = {.doc = shd_status_doc};
  run(&r, "volume status v shd");
  assert_string_equal(sent(&r, "target"), "shd");
  assert_string_equal(r.out, "Status of volume: v\n"
                             "Gluster process                             TCP Port  RDMA Port  Online  Pid\n" DASHES
                             "Self-heal Daemon on localhost               N/A       N/A        Y       306  \n \n");
  r.c.xml = true;
  run(&r, "volume status v shd");
  assert_non_null(strstr(r.out, "<hostname>Self-heal Daemon</hostname>\n          <path>localhost</path>\n"));
  assert_non_null(strstr(r.out, "<status>1</status>\n          <port>N/A</port>\n"));
  assert_non_null(strstr(r.out, "<pid>306</pid>"));
  done(&r);
}

/* ---- heal ---- */

static void
test_heal_launch(void **state)
{
  struct run r = {0};
  run(&r, "volume heal v");
  assert_int_equal(r.proc, 31);
  assert_string_equal(sent(&r, "op"), "index");
  assert_string_equal(r.out, "Launching heal operation to perform index self heal on volume v has been successful \n"
                             "Use heal info commands to check status.\n");
  r.c.xml = true; /* without effect here */
  run(&r, "vol heal v full");
  assert_string_equal(sent(&r, "op"), "full");
  assert_string_equal(r.out, "Launching heal operation to perform full self heal on volume v has been successful \n"
                             "Use heal info commands to check status.\n");
  run(&r, "volume heal v enable");
  assert_string_equal(r.out, "Enable heal on volume v has been successful \n");
  run(&r, "volume heal v disable");
  assert_string_equal(r.out, "Disable heal on volume v has been successful \n");
  run(&r, "volume heal v granular-entry-heal disable");
  assert_string_equal(sent(&r, "op"), "granular-disable");
  assert_string_equal(r.out, "Disable granular entry heal on volume v has been successful \n");
  r.ret = -1;
  r.text = "Volume v is not started.";
  run(&r, "volume heal v");
  assert_string_equal(r.out, "");
  assert_string_equal(r.err, "Launching heal operation to perform index self heal on volume v has been unsuccessful:\n"
                             "Volume v is not started.\n");
  assert_int_equal(r.status, 1);
  done(&r);
}

static void
test_heal_words(void **state)
{
  static const char *const wrong[] = {
      "volume heal",
      "volume heal v ful",
      "volume heal v full x",
      "volume heal v info x",
      "volume heal v info summary x",
      "volume heal v split-brain",
      "volume heal v split-brain bigger-file",
      "volume heal v split-brain bigger-file /x y",
      "volume heal v split-brain smaller-file /x",
      "volume heal v split-brain source-brick h:/b /x y",
      "volume heal v granular-entry-heal",
      "volume heal v granular-entry-heal on",
      "volume heal v statistics x",
      "volume heal v statistics heal-count replica",
      "volume heal v statistics heal-count brick h:/b",
  };
  struct run r = {0};
  setenv("GLUSTERISH_HEAL", "/nonexistent/heal", 1);
  for (size_t i = 0; i < GI_ARRAY_LEN(wrong); i++) {
    run(&r, wrong[i]);
    assert_true(begins(r.err, "\nUsage:\nvolume heal <VOLNAME> [enable | disable | full |statistics [heal-count"));
    assert_int_equal(r.status, 1);
    assert_int_equal(r.calls, 0);
  }
  run(&r, "volume heal v split-brain source-brick nobrick /x");
  assert_true(begins(r.err, "Wrong brick type: nobrick, use <HOSTNAME>:<export-dir-abs-path>\n\nUsage:\n"));
  run(&r, "volume heal v info");
  assert_string_equal(r.err, "Cannot run /nonexistent/heal: No such file or directory\n");
  assert_int_equal(r.status, 1);
  unsetenv("GLUSTERISH_HEAL");
  done(&r);
}

/* A helper that says what it was asked and ends with a status of its own. */
static void
test_heal_helper(void **state)
{
  char path[] = "/tmp/cli-test-heal.XXXXXX";
  struct run r = {0};
  int fd = mkstemp(path);
  FILE *f = fdopen(fd, "w");
  fputs("#!/bin/sh\nfor w; do echo \"[$w]\"; done\nexit 234\n", f);
  assert_int_equal(fchmod(fd, 0700), 0);
  fclose(f);
  setenv("GLUSTERISH_HEAL", path, 1);
  r.c.sock = (char *)"/s";
  run(&r, "volume heal v info");
  assert_string_equal(r.out, "[--glusterd-sock=/s]\n[--]\n[v]\n[info]\n");
  assert_int_equal(r.status, 234);
  r.c.xml = r.c.no_log = true;
  run(&r, "volume heal v info split-brain");
  assert_string_equal(r.out, "[--glusterd-sock=/s]\n[--xml]\n[--nolog]\n[--]\n[v]\n[split-brain]\n");
  r.c.xml = r.c.no_log = false;
  r.c.remote = (char *)"node2";
  run(&r, "volume heal v split-brain source-brick h://b/ --x");
  assert_string_equal(r.out, "[--remote-host=node2]\n[--]\n[v]\n[source-brick]\n[h:/b]\n[--x]\n");
  r.c.remote = NULL;
  run(&r, "volume heal v granular-entry-heal enable"); /* something is pending: the daemon is not asked */
  assert_int_equal(r.status, 234);
  assert_int_equal(r.calls, 0);
  assert_int_equal(unlink(path), 0);
  unsetenv("GLUSTERISH_HEAL");
  done(&r);
}

#define HEAL_BRICKS \
  "{\"answered\":true,\"bricks\":[{\"hostname\":\"n1\",\"path\":\"/b1\",\"set\":0,\"child\":0,\"online\":true}," \
  "{\"hostname\":\"n2\",\"path\":\"/b2\",\"set\":0,\"child\":1,\"online\":false}],"

static void
test_heal_statistics(void **state)
{
  struct run r = {0};
  r.doc = HEAL_BRICKS "\"facts\":{\"0-0-hardlinks\":\"7\",\"0-1-status\":\"Brick is not connected\"}}";
  run(&r, "volume heal v statistics heal-count");
  assert_string_equal(sent(&r, "op"), "heal-count");
  assert_string_equal(r.out, "Gathering count of entries to be healed on volume v has been successful \n\nBrick n1:/b1\n"
                             "Number of entries: 7\n\nBrick n2:/b2\nStatus: Brick is not connected\n"
                             "No gathered input for this brick\n");
  run(&r, "volume heal v statistics heal-count replica n1:/b1/");
  assert_string_equal(sent(&r, "replica"), "n1:/b1");
  assert_true(begins(r.out, "Gathering count of entries to be healed per replica on volume v has been successful \n\n"));
  r.doc = HEAL_BRICKS
      "\"facts\":{\"statistics-0-0-count\":\"2\",\"statistics_strt_time-0-0-0\":\"Sat Nov 21 00:39:00 2026\\n\","
      "\"statistics_end_time-0-0-0\":\"Sat Nov 21 00:39:01 2026\\n\",\"statistics_crawl_type-0-0-0\":\"INDEX\","
      "\"statistics_healed_cnt-0-0-0\":\"3\",\"statistics_sb_cnt-0-0-0\":\"1\",\"statistics_heal_failed_cnt-0-0-0\":\"2\","
      "\"statistics_inprogress-0-0-0\":\"0\",\"statistics_strt_time-0-0-1\":\"Sat Nov 21 00:40:00 2026\\n\","
      "\"statistics_crawl_type-0-0-1\":\"FULL\",\"statistics_inprogress-0-0-1\":1,\"statistics_healed_cnt-0-0-1\":0,"
      "\"statistics_sb_cnt-0-0-1\":0,\"statistics_heal_failed_cnt-0-0-1\":0}}";
  run(&r, "volume heal v statistics");
  assert_string_equal(
      r.out, "Gathering crawl statistics on volume v has been successful \n"
             "------------------------------------------------\n\nCrawl statistics for brick no 0\nHostname of brick n1\n\n"
             "Starting time of crawl: Sat Nov 21 00:39:00 2026\n\nEnding time of crawl: Sat Nov 21 00:39:01 2026\n\n"
             "Type of crawl: INDEX\nNo. of entries healed: 3\nNo. of entries in split-brain: 1\n"
             "No. of heal failed entries: 2\n\n"
             "Starting time of crawl: Sat Nov 21 00:40:00 2026\n\nCrawl is in progress\n"
             "Type of crawl: FULL\nNo. of entries healed: 0\nNo. of entries in split-brain: 0\n"
             "No. of heal failed entries: 0\n"
             "------------------------------------------------\n\nCrawl statistics for brick no 1\nHostname of brick n2\n\n"
             "No gathered input for this brick\n");
  /* What a daemon tells cannot make the tool run for ever. */
  r.doc = HEAL_BRICKS "\"facts\":{\"statistics-0-0-count\":\"99999999999\",\"statistics-0-1-count\":\"-5\"}}";
  run(&r, "volume heal v statistics");
  assert_true(r.out_len < 1000000);
  r.doc = "{\"bricks\":7,\"facts\":[]}";
  run(&r, "volume heal v statistics");
  assert_string_equal(r.out, "Gathering crawl statistics on volume v has been successful \n");
  done(&r);
}

static void
test_help(void **state)
{
  struct run r = {0};
  run(&r, "volume help");
  assert_true(begins(r.out, "\ngluster volume commands\n========================\n\nvolume add-brick <VOLNAME>"));
  run(&r, "peer help");
  assert_non_null(strstr(r.out, "\ngluster peer commands\n======================\n\nnode replace"));
  assert_non_null(strstr(r.out, "\npool list - "));
  run(&r, "help");
  assert_int_equal(r.status, 0);
  done(&r);
}

/* ---- who answers ---- */

static void
say_nothing_known(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  for (int i = 0; i < 4; i++)
    gi_xdr_put_u32(&out, 0);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
say_nothing(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  gi_rpc_drop(req);
}

/* A daemon in a process of its own; `mark`: it is ours. The path is there when it listens. */
static pid_t
daemon_with(const char *path, gi_rpc_handler *list, bool mark)
{
  static const struct gi_rpc_server_ops no_ops = {0};
  static gi_rpc_handler *procs[34];
  static const struct gi_rpc_program cli = {"GlusterD svc cli", GI_PROG_CLI, GI_VERS_CLI, 34, procs};
  static const struct gi_rpc_program ours = {"glusterish", GI_PROG_MARK, GI_VERS_MARK, 0, NULL};
  pid_t pid = fork();
  if (pid)
    return pid;
  struct gi_error err = {0};
  struct gi_reactor *r = gi_reactor_new(0);
  struct gi_rpc_server *s = gi_rpc_server_new(r, "test", &no_ops, NULL);
  procs[33] = list;
  gi_rpc_server_add_program(s, &cli);
  if (mark)
    gi_rpc_server_add_program(s, &ours);
  GI_CLEANUP_FREE char *bound = gi_asprintf("%s.bound", path);
  if (gi_rpc_server_listen(s, bound, 0, 8, &err) == 0 && rename(bound, path) == 0)
    gi_reactor_run(r);
  _exit(1);
}

static void
ask_daemon(struct run *r, gi_rpc_handler *list, bool mark, int timeout)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("/tmp/gi-cli-test-%d", (int)getpid());
  static const char *words[] = {"volume", "list"};
  pid_t pid = daemon_with(path, list, mark);
  for (int i = 0; i < 500 && access(path, F_OK); i++)
    usleep(10000);
  done(r);
  r->c.call = cli_call_daemon;
  r->c.sock = path;
  r->c.timeout_s = timeout;
  r->c.out = open_memstream(&r->out, &r->out_len);
  r->c.err = open_memstream(&r->err, &r->err_len);
  r->status = cli_run(&r->c, 2, (char **)words);
  fclose(r->c.out);
  fclose(r->c.err);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  unlink(path);
  r->c.sock = NULL;
}

static void
test_foreign_daemon(void **state)
{
  struct run r = {0};
  gi_rpc_handler *const answers[] = {say_nothing_known, say_nothing};
  for (size_t i = 0; i < GI_ARRAY_LEN(answers); i++) {
    ask_daemon(&r, answers[i], false, 100);
    assert_int_equal(r.status, CLI_FAILED);
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, "is not a glusterish daemon"));
  }
  ask_daemon(&r, say_nothing_known, true, 100);
  assert_int_equal(r.status, CLI_OK);
  assert_string_equal(r.err, "No volumes present in cluster\n");
  done(&r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_foreign_daemon),
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_create_request),
      cmocka_unit_test(test_create_refused),
      cmocka_unit_test(test_brick_commands),
      cmocka_unit_test(test_brick_commands_refused),
      cmocka_unit_test(test_info),
      cmocka_unit_test(test_failure_and_questions),
      cmocka_unit_test(test_status),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_peers),
      cmocka_unit_test(test_help),
      cmocka_unit_test(test_status_of_daemons),
      cmocka_unit_test(test_heal_launch),
      cmocka_unit_test(test_heal_words),
      cmocka_unit_test(test_heal_helper),
      cmocka_unit_test(test_heal_statistics),
      cmocka_unit_test(test_a_node_is_replaced),
      cmocka_unit_test(test_pool_upgrade),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
