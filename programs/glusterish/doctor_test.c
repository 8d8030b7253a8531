/* SPDX-License-Identifier: Apache-2.0
 *
 * Each rule of doctor: a sight in which it finds something, whom it blames, and
 * sights in which it keeps silent.
 */
#include "programs/glusterish/doctor.h"
#include "programs/glusterish/fixture.h"

#include <stdlib.h>

#define UID(host, pid) "CTX_ID:0-GRAPH_ID:0-PID:" #pid "-HOST:" host "-PC_NAME:v-client-0-RECON_NO:-0"

/* A volume of two bricks and a mount, all well. The members of a process are appended. */
#define BRICK(n, more) \
  "{'role':'brick','volume':'v','name':'-b" #n "','pid':10" #n ",'answers':true,'state':'S','about':{'brick':'/b" #n \
  "','host':'h','version':'1'}" more "}"
#define MOUNT(more) \
  "{'role':'client','volume':'v','pid':200,'answers':true,'state':'S','about':{'mountpoint':'/" \
  "mnt','host':'h','version':'1'}" more "}"
#define SIGHT(processes) "{'now':1000,'daemon':true,'volumes':[],'processes':[" processes "]}"
#define WELL SIGHT(BRICK(1, "") "," BRICK(2, "") "," MOUNT(""))

static json_t *
look(const char *id, const char *sight)
{
  const struct doctor_rule *rule = doctor_rule(id);
  json_t *doc = fixture(sight), *findings = json_array();
  assert_non_null(rule);
  rule->look(rule, doc, findings);
  json_decref(doc);
  return findings;
}

static void
silent(const char *id, const char *sight)
{
  json_t *findings = look(id, sight);
  if (json_array_size(findings))
    fail_msg("%s: %s", id, cli_str(json_array_get(findings, 0), "text"));
  json_decref(findings);
}

/* One finding: the culprit and a part of the text. Also: nothing where all is well. */
static void
finds(const char *id, const char *sight, const char *kind, const char *name, const char *text)
{
  json_t *findings = look(id, sight);
  const json_t *f = json_array_get(findings, 0), *culprit = json_object_get(f, "culprit");
  assert_int_equal(json_array_size(findings), 1);
  assert_string_equal(cli_str(f, "id"), id);
  assert_string_equal(cli_str(culprit, "kind"), kind);
  assert_string_equal(cli_str(culprit, "name"), name);
  if (!strstr(cli_str(f, "text"), text))
    fail_msg("%s: \"%s\" is not in \"%s\"", id, text, cli_str(f, "text"));
  assert_true(*cli_str(f, "remedy"));
  json_decref(findings);
  silent(id, WELL);
  silent(id, "{}");
}

static void
test_daemon(void **state)
{
  finds("daemon-silent", "{'now':1,'daemon':false,'processes':[]}", "daemon", "glusterishd", "does not answer");
}

static void
test_silent_process(void **state)
{
  finds("process-silent",
        SIGHT("{'role':'brick','volume':'v','pid':7,'answers':false,'state':'T','about':{'brick':'/b1','host':'h'}}"), "brick",
        "brick h:/b1 (pid 7)", "stopped by a signal");
  json_t *f =
      look("process-silent", SIGHT("{'role':'brick','volume':'v','name':'-b','pid':7,'answers':false,'state':'T','about':{}}"));
  assert_string_equal(cli_str(json_array_get(f, 0), "remedy"), "Let it go on: kill -CONT 7");
  json_decref(f);
  finds("process-silent",
        SIGHT("{'role':'client','volume':'v','pid':7,'answers':false,'state':'D','about':{'mountpoint':'/m'}}"), "client",
        "mount /m of v (pid 7)", "waits for a disk");
}

static void
test_offline(void **state)
{
  static const char nodes[] =
      "{'volumes':[{'name':'v','statusStr':'Started','nodes':[{'kind':'brick','hostname':'h','path':'/b1',"
      "'online':false},{'kind':'brick','hostname':'h','path':'/b2','online':true},{'kind':'daemon',"
      "'hostname':'Self-heal Daemon','path':'localhost','online':false}]}]}";
  finds("brick-offline", nodes, "brick", "brick h:/b1", "does not run, though volume v is started");
  finds("self-heal-offline", nodes, "process", "self-heal daemon of v", "does not run");
  json_t *f = look("brick-offline", nodes);
  assert_string_equal(cli_str(json_array_get(f, 0), "remedy"),
                      "Look at the end of the brick's log, then: glusterish volume start v force");
  json_decref(f);
  silent("brick-offline", "{'volumes':[{'name':'v','statusStr':'Stopped','nodes':[{'kind':'brick','online':false}]}]}");
}

static void
test_lost_brick(void **state)
{
  finds("brick-lost",
        SIGHT(MOUNT(",'graph':{'layers':[{'name':'v-client-1','type':'protocol/client','options':{'remote-host':'h',"
                    "'remote-subvolume':'/"
                    "b2'}}]},'object':{'copies':[{'name':'v-client-0','up':true},{'name':'v-client-1','up':false}]}")),
        "brick", "h:/b2", "mount /mnt of v (pid 200) has no connection to brick h:/b2");
}

#define WAITS(what, ns, client) \
  ",'inflight':{'operations':[{'kind':'WRITE','gfid':'g','path':'/f','age_ns':" #ns ",'at':'x','client':'" client \
  "','waits':{'for':'" what "','what':'a thing','who':null,'since_ns':" #ns "}}]}"

static void
test_slow_disk(void **state)
{
  finds("slow-disk", SIGHT(BRICK(1, WAITS("disk", 2500000000, ""))), "disk", "brick h:/b1 (pid 101)", "for 2.5 s");
  silent("slow-disk", SIGHT(BRICK(1, WAITS("disk", 900000000, ""))));
  silent("slow-disk", SIGHT(BRICK(1, WAITS("lock", 2500000000, ""))));
}

#define TIMES(type, ns) \
  ",'layers':{'layers':[{'name':'l','type':'" type "','kinds':[{'kind':'WRITE','count':50,'errors':0,'own':{'p95':" #ns \
  "},'all':{'p95':" #ns "}}]}]}"
#define FEW(ns) \
  ",'layers':{'layers':[{'type':'storage/posix','kinds':[{'kind':'WRITE','count':2,'own':{'p95':" #ns "},'all':{'p95':" #ns \
  "}}]}]}"
#define LOCKS_LATE(ns) \
  ",'layers':{'layers':[{'type':'features/locks','kinds':[{'kind':'INODELK','count':50,'own':{'p95':" #ns \
  "},'all':{'p95':" #ns "}}]}]}"

static void
test_slow_brick(void **state)
{
  finds("slow-brick", SIGHT(BRICK(1, TIMES("storage/posix", 1000000)) "," BRICK(2, TIMES("storage/posix", 90000000))), "brick",
        "brick h:/b2 (pid 102)", "takes 90.0 ms or more for one, others 1.0 ms: most of it is its disk's");
  finds("slow-brick", SIGHT(BRICK(1, TIMES("debug/delay-gen", 90000000)) "," BRICK(2, TIMES("storage/posix", 1000000))),
        "brick", "brick h:/b1 (pid 101)", "on purpose");
  finds("slow-brick", SIGHT(BRICK(1, TIMES("storage/posix", 600000000))), "brick", "brick h:/b1 (pid 101)", "600.0 ms");
  silent("slow-brick", SIGHT(BRICK(1, TIMES("storage/posix", 1000)) "," BRICK(2, TIMES("storage/posix", 9000000))));
  silent("slow-brick", SIGHT(BRICK(1, TIMES("storage/posix", 80000000)) "," BRICK(2, TIMES("storage/posix", 90000000))));
  silent("slow-brick", SIGHT(BRICK(1, TIMES("storage/posix", 1000)) "," BRICK(2, FEW(90000000))));
  silent("slow-brick",
         SIGHT(BRICK(1, LOCKS_LATE(1000)) "," BRICK(2, LOCKS_LATE(90000000)))); /* who waits for a lock is not slow */
}

#define LOCK(kind, granted, client, owner, since, more) \
  "{'gfid':'g','kind':'" kind "','domain':'d','name':null,'granted':" granted \
  ",'type':'write','start':0,'len':0,'client':'" client "','address':'a:1','pid':42,'owner':'" owner "','since':" since more \
  "}"
#define LOCKS(list) ",'locks':{'locks':[" list "]}"
#define HELD LOCK("inode", "true", UID("h", 200), "01", "900", "")

static void
test_lock_holder(void **state)
{
  finds("lock-holder", SIGHT(BRICK(1, LOCKS(HELD "," LOCK("inode", "false", UID("far", 5), "02", "990", ""))) "," MOUNT("")),
        "client", "mount /mnt of v (pid 200)", "for its process 42; 1 wait, longest client far (pid 5 there), for 10.0 s");
  /* On every brick of a set: one finding. */
  finds("lock-holder",
        SIGHT(BRICK(1, LOCKS(HELD "," LOCK("inode", "false", UID("far", 5), "02", "990", ""))) "," BRICK(
            2, LOCKS(HELD "," LOCK("inode", "false", UID("far", 5), "02", "990", ""))) "," MOUNT("")),
        "client", "mount /mnt of v (pid 200)", "1 wait");
  silent("lock-holder", SIGHT(BRICK(1, LOCKS(HELD "," LOCK("inode", "false", UID("far", 5), "02", "999", "")))));
  silent("lock-holder", SIGHT(BRICK(1, LOCKS(HELD "," LOCK("inode", "false", UID("far", 5), "02", "990", ",'domain':'e'")))));
  /* An application may mean to wait. */
  silent("lock-holder",
         SIGHT(BRICK(1, LOCKS(LOCK("posix", "true", "c", "01", "900", "") "," LOCK("posix", "false", "e", "02", "980", "")))));
  finds("lock-holder",
        SIGHT(BRICK(1, LOCKS(LOCK("posix", "true", "c", "01", "900", "") "," LOCK("posix", "false", "e", "02", "960", "")))),
        "client", "client a:1", "has held a posix lock of g");
}

static bool
in_the_way(const char *held, const char *wanted)
{
  json_t *a = fixture(held), *b = fixture(wanted);
  bool is = doctor_in_the_way(a, b);
  json_decref(a);
  json_decref(b);
  return is;
}

static void
test_which_locks_are_in_the_way(void **state)
{
#define RANGE(granted, type, start, len) \
  "{'gfid':'g','kind':'posix','granted':" granted ",'type':'" type "','start':" start ",'len':" len ",'client':'" granted \
  "','owner':'1'}"
#define NAME(granted, name) \
  "{'gfid':'g','kind':'entry','domain':'d','granted':" granted ",'type':'write','client':'" granted "','name':" name "}"
  assert_true(in_the_way(RANGE("true", "write", "0", "10"), RANGE("false", "read", "9", "1")));
  assert_false(in_the_way(RANGE("true", "write", "0", "10"), RANGE("false", "read", "10", "0")));
  assert_true(in_the_way(RANGE("true", "read", "5", "0"), RANGE("false", "write", "100", "1")));
  assert_false(in_the_way(RANGE("true", "read", "0", "0"), RANGE("false", "read", "0", "0")));
  assert_false(in_the_way(RANGE("false", "write", "0", "0"), RANGE("true", "write", "0", "0")));
  assert_true(in_the_way(NAME("true", "'a'"), NAME("false", "'a'")));
  assert_true(in_the_way(NAME("true", "null"), NAME("false", "'a'")));
  assert_false(in_the_way(NAME("true", "'b'"), NAME("false", "'a'")));
}

static void
test_slow_client(void **state)
{
  finds("slow-client", SIGHT(BRICK(1, WAITS("window", 3000000000, UID("h", 200))) "," MOUNT("")), "client",
        "mount /mnt of v (pid 200)", "keeps a WRITE waiting for 3.0 s");
  finds("slow-client", SIGHT(MOUNT(WAITS("kernel", 3000000000, ""))), "client", "mount /mnt of v (pid 200)", "a thing");
  silent("slow-client", SIGHT(BRICK(1, WAITS("window", 3000000, ""))));
#define UNHEARD(ns) \
  ",'inflight':{'operations':[{'kind':'SETATTR','client':'" UID( \
      "h", 300) "','age_ns':" #ns ",'waits':{'for':'client','what':" \
                "'its word that it has heard of the change','who':'client " UID("h", 200) " at a:1','since_ns':" #ns "}}]}"
  finds("slow-client", SIGHT(BRICK(1, UNHEARD(3000000000)) "," MOUNT("")), "client", "mount /mnt of v (pid 200)",
        "keeps a SETATTR waiting for 3.0 s: its word");
  silent("slow-client", SIGHT(BRICK(1, UNHEARD(30000000)) "," MOUNT("")));
  silent("hanging-operation", SIGHT(BRICK(1, UNHEARD(9000000000)) "," MOUNT("")));
#define BEHIND(ns) ",'clients':{'clients':[{'uid':'" UID("h", 200) "','queued':5000000,'behind_ns':" #ns "}]}"
  finds("slow-client", SIGHT(BRICK(1, BEHIND(4000000000)) "," MOUNT("")), "client", "mount /mnt of v (pid 200)",
        "has not taken all that brick");
  silent("slow-client", SIGHT(BRICK(1, BEHIND(400000000)) "," MOUNT("")));
}

static void
test_hanging(void **state)
{
  /* The first brick has answered, the second has not. */
  finds("hanging-operation",
        SIGHT(MOUNT(
            ",'inflight':{'operations':[{'kind':'READ','path':'/f','gfid':'g','age_ns':6000000000,'at':'v-replicate-0',"
            "'waits':null,'tree':{'open':true,'waits':null,'steps':[{'open':false,'waits':{'for':'brick','what':'h:/b1'}},"
            "{'open':true,'waits':null,'steps':[{'open':true,'waits':{'for':'brick','what':'h:/b2','who':null}}]}]}}]}")),
        "brick", "h:/b2",
        "READ of /f has been under way in mount /mnt of v (pid 200) for 6.0 s, now at v-replicate-0, waiting for h:/b2");
  finds("hanging-operation",
        SIGHT(BRICK(
            1, ",'inflight':{'operations':[{'kind':'WRITE','gfid':'g','age_ns':6000000000,'at':'v-locks','waits':{'for':'lock',"
               "'what':'posix lock','who':'client " UID("h", 200) " pid 7 owner 01'}}]}") "," MOUNT("")),
        "client", "mount /mnt of v (pid 200)", "now at v-locks, waiting for posix lock of mount /mnt of v (pid 200)");
  silent("hanging-operation", SIGHT(MOUNT(WAITS("lock", 4000000000, ""))));
  silent("hanging-operation", SIGHT(BRICK(1, WAITS("disk", 9000000000, ""))));
  silent("hanging-operation", SIGHT(MOUNT(",'inflight':{'operations':[{'kind':'LK','age_ns':90000000000}]}")));
}

static void
test_space(void **state)
{
  finds("disk-full", SIGHT(BRICK(1, ",'disk':{'bytes':1000,'free':20,'inodes':10,'inodes_free':9}")), "disk",
        "brick h:/b1 (pid 101)", "2 % of its bytes left");
  finds("inodes-full", SIGHT(BRICK(1, ",'disk':{'bytes':1000,'free':900,'inodes':100,'inodes_free':1}")), "disk",
        "brick h:/b1 (pid 101)", "1 % of its inodes left");
  silent("inodes-full",
         SIGHT(BRICK(1, ",'disk':{'bytes':1000,'free':900,'inodes':0,'inodes_free':0}"))); /* btrfs counts none */
}

static void
test_heals(void **state)
{
  finds("heal-pending", SIGHT(BRICK(1, ",'heal':{'pending':3,'more':false}")), "brick", "brick h:/b1 (pid 101)",
        "knows of 3 objects");
  finds("split-brain", "{'volumes':[{'name':'v','splitBrain':2}]}", "volume", "v", "2 files");
}

static void
test_versions(void **state)
{
  finds("versions-differ", SIGHT(BRICK(1, "") ",{'role':'shd','volume':'v','pid':3,'about':{'version':'0.9'}}"), "process",
        "0.9", "self-heal daemon of v (pid 3) is 0.9");
  finds("op-version-low", "{'opVersion':70000,'opVersionMax':100000}", "option", "cluster.op-version", "100000 is possible");
}

static void
test_clocks(void **state)
{
  finds("clocks-differ",
        SIGHT("{'role':'brick','pid':3,'asked_at':1000,'asked_ms':5,'about':{'brick':'/b','host':'h','time':1007.5}}"),
        "process", "brick h:/b (pid 3)", "7.5 s ahead of ours");
  silent("clocks-differ", SIGHT("{'role':'brick','pid':3,'asked_at':1000,'asked_ms':3000,'about':{'time':1003.5}}"));
}

static void
test_log_errors(void **state)
{
  finds("log-errors",
        SIGHT(BRICK(1,
                    ",'errors':{'errors':[{'time':990,'level':'E','text':'bad','seen':4},{'time':995,'level':'W','text':'odd'},"
                    "{'time':10,'level':'E','text':'old'}]}")),
        "brick", "brick h:/b1 (pid 101)", "4 errors in the last 10 minutes, the last: bad");
}

#define OPTION(key, value) "{'volumes':[{'name':'v','replicaCount':3,'options':[{'name':'" key "','value':'" value "'}]}]}"

static void
test_traps(void **state)
{
  finds("option-trap", OPTION("network.ping-timeout", "120"), "option", "network.ping-timeout", "is 120: a mount hangs");
  finds("option-trap", OPTION("network.ping-timeout", "1"), "option", "network.ping-timeout", "taken for dead");
  finds("option-trap", OPTION("cluster.quorum-type", "none"), "option", "cluster.quorum-type", "split brain");
  finds("option-trap", OPTION("cluster.self-heal-daemon", "off"), "option", "cluster.self-heal-daemon", "nobody heals");
  finds("option-trap", OPTION("debug.delay-gen", "posix"), "option", "debug.delay-gen", "on purpose");
  silent("option-trap", OPTION("network.ping-timeout", "42"));
  silent("option-trap", OPTION("debug.error-gen", "off"));
}

#define LISTING(word) ",'graph':{'layers':[{'type':'cluster/distribute','options':{'partial-listing':'" word "'}}]}"

static void
test_partial_listing(void **state)
{
  finds("listing-partial", SIGHT(BRICK(1, "") "," MOUNT(LISTING("allow"))), "client", "mount /mnt of v (pid 200)",
        "sets that are down");
  silent("listing-partial", SIGHT(BRICK(1, "") "," MOUNT(LISTING("fail"))));
}

#define CLIENTS(a, b) ",'clients':{'clients':[{'uid':'" a "'},{'uid':'" b "'}]}"
#define WRITEBACK ",'graph':{'layers':[{'type':'mount/fuse','options':{'kernel-writeback-cache':'yes'}}]}"

static void
test_writeback(void **state)
{
  finds("writeback-shared", SIGHT(BRICK(1, CLIENTS(UID("h", 200), UID("far", 5))) "," MOUNT(WRITEBACK)), "client",
        "mount /mnt of v (pid 200)", "2 mounts share");
  silent("writeback-shared", SIGHT(BRICK(1, CLIENTS(UID("h", 200), UID("h", 200))) "," MOUNT(WRITEBACK)));
  silent("writeback-shared", SIGHT(BRICK(1, CLIENTS(UID("h", 200), UID("far", 5))) "," MOUNT("")));
  silent("writeback-shared", SIGHT(BRICK(1, CLIENTS(UID("h", 200), UID("h", 3))) "," MOUNT(
                                 WRITEBACK) ",{'role':'shd','pid':3,'about':{'host':'h'}}")); /* that is no mount */
}

static void
test_the_worst_comes_first(void **state)
{
  json_t *sight = fixture("{'now':1000,'daemon':false,'opVersion':1,'opVersionMax':2,'volumes':[],'processes':[{'role':'brick',"
                          "'pid':7,'answers':false,'state':'T','about':{}}]}");
  json_t *findings = doctor_look(sight);
  char *text = NULL;
  assert_int_equal(json_array_size(findings), 3);
  assert_string_equal(cli_str(json_array_get(findings, 0), "severity"), "error");
  assert_string_equal(cli_str(json_array_get(findings, 2), "severity"), "note");
  assert_int_equal(doctor_status(findings), 2);
  json_array_remove(findings, 0);
  assert_int_equal(doctor_status(findings), 1);
  json_array_remove(findings, 0);
  assert_int_equal(doctor_status(findings), 0);
  FIXTURE_PRINTED(text, doctor_print(out, sight, findings));
  assert_non_null(strstr(text, "1 processes and 0 volumes looked at\n\nnote     op-version-low\n"));
  free(text);
  json_decref(findings);
  json_decref(sight);
}

static void
test_all_is_well(void **state)
{
  json_t *sight = fixture(WELL), *findings = doctor_look(sight);
  char *text = NULL;
  assert_int_equal(json_array_size(findings), 0);
  FIXTURE_PRINTED(text, doctor_print(out, sight, findings));
  assert_string_equal(text, "3 processes and 0 volumes looked at\nNothing is wrong.\n");
  free(text);
  json_decref(findings);
  json_decref(sight);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_daemon),
      cmocka_unit_test(test_silent_process),
      cmocka_unit_test(test_offline),
      cmocka_unit_test(test_lost_brick),
      cmocka_unit_test(test_slow_disk),
      cmocka_unit_test(test_slow_brick),
      cmocka_unit_test(test_lock_holder),
      cmocka_unit_test(test_which_locks_are_in_the_way),
      cmocka_unit_test(test_slow_client),
      cmocka_unit_test(test_hanging),
      cmocka_unit_test(test_space),
      cmocka_unit_test(test_heals),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_clocks),
      cmocka_unit_test(test_log_errors),
      cmocka_unit_test(test_traps),
      cmocka_unit_test(test_partial_listing),
      cmocka_unit_test(test_writeback),
      cmocka_unit_test(test_the_worst_comes_first),
      cmocka_unit_test(test_all_is_well),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
