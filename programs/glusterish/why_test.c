/* SPDX-License-Identifier: Apache-2.0
 *
 * why: what follows from copies and from what processes tell; a copy on a disk.
 */
#include "programs/glusterish/why.h"
#include "programs/glusterish/fixture.h"
#include "libglusterish/error.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define COPY(n, gfid, pending) \
  "{'brick':'h:/b" #n "','there':true,'type':'file','size':" #n ",'gfid':'" gfid "','pending':" pending ",'mtime':0.0}"
#define THREE "[" COPY(1, "g", "{}") "," COPY(2, "g", "{}") "," COPY(3, "g", "{}") "]"
#define BRICK(n, more) \
  "{'role':'brick','volume':'v','pid':10" #n ",'answers':true,'state':'S','about':{'brick':'/b" #n "','host':'h'}" more "}"
#define BRICKS BRICK(1, "") "," BRICK(2, "") "," BRICK(3, "")
#define GRAPH(n) "{'name':'v-client-" #n "','options':{'remote-host':'h','remote-subvolume':'/b"
#define MOUNT(more) \
  "{'role':'client','volume':'v','pid':200,'answers':true,'about':{'mountpoint':'/mnt','host':'h'},'graph':{'layers':[" GRAPH( \
      5) "1'}}," GRAPH(6) "2'}}," GRAPH(7) "3'}}]}" more "}"
#define SIGHT(processes) "{'now':1000,'processes':[" processes "]}"
#define CLIENT "CTX_ID:0-GRAPH_ID:0-PID:200-HOST:h-PC_NAME:v-client-5-RECON_NO:-0"

static json_t *
document(const char *copies, const char *sight)
{
  json_t *c = fixture(copies), *s = fixture(sight);
  json_t *doc = why_document("v", "/f", c, s);
  json_decref(c);
  json_decref(s);
  assert_non_null(doc);
  return doc;
}

static const json_t *
nth(const json_t *doc, const char *list, size_t n)
{
  return json_array_get(json_object_get(doc, list), n);
}

static void
heal_is(const char *copies, const char *state)
{
  json_t *doc = document(copies, SIGHT(BRICKS "," MOUNT("")));
  assert_string_equal(cli_str(json_object_get(doc, "heal"), "state"), state);
  json_decref(doc);
}

static void
test_what_needs_healing(void **state)
{
  heal_is(THREE, "none");
  heal_is("[" COPY(1, "g", "{'v-client-6':[2,0,0]}") "," COPY(2, "g", "{}") "," COPY(3, "g", "{}") "]", "needed");
  heal_is("[" COPY(1, "g", "{}") ",{'brick':'h:/b2','there':false,'error':'No such file or directory'}," COPY(3, "g", "{}") "]",
          "needed");
  heal_is("[" COPY(1, "g", "{}") "," COPY(2, "other", "{}") "," COPY(3, "g", "{}") "]", "split-brain");
  heal_is("[" COPY(1, "g", "{'v-client-6':[2,0,0]}") "," COPY(2, "g", "{'v-client-5':[1,0,0]}") "]", "split-brain");
  heal_is("[" COPY(1, "g", "{'v-client-6':[2,0,0]}") "," COPY(2, "g", "{'v-client-5':[0,1,0]}") "]", "needed");
  heal_is("[{'brick':'far:/b1','there':false,'error':'there is no such brick on this machine'}," COPY(2, "g", "{}") "]",
          "none");
  heal_is("[]", "none");
}

static void
test_who_is_blamed(void **state)
{
  /* The graph says that v-client-6 is the second brick, whatever the number. */
  json_t *doc = document("[" COPY(1, "g", "{'v-client-6':[2,0,1]}") "," COPY(2, "g", "{}") "]", SIGHT(BRICKS "," MOUNT("")));
  const json_t *by = nth(nth(doc, "copies", 1), "blamed_by", 0);
  assert_string_equal(cli_str(by, "brick"), "h:/b1");
  assert_int_equal(cli_int(by, "data"), 2);
  assert_int_equal(cli_int(by, "entry"), 1);
  assert_int_equal(json_array_size(json_object_get(nth(doc, "copies", 0), "blamed_by")), 0);
  json_decref(doc);
  /* Without a client the number is all there is. */
  doc = document("[" COPY(1, "g", "{'v-client-1':[2,0,0]}") "," COPY(2, "g", "{}") "]", SIGHT(BRICKS));
  assert_int_equal(json_array_size(json_object_get(nth(doc, "copies", 1), "blamed_by")), 1);
  json_decref(doc);
  doc = document("[" COPY(1, "g", "{'v-client-9':[2,0,0],'odd':[1,1,1]}") "]", SIGHT(BRICKS));
  assert_int_equal(json_array_size(json_object_get(nth(doc, "copies", 0), "blamed_by")), 0);
  json_decref(doc);
}

static void
test_which_copy_is_read(void **state)
{
  json_t *doc =
      document(THREE, SIGHT(BRICKS "," MOUNT(",'object':{'copies':[{'name':'v-client-5','up':true,'known':true,'chosen':false},"
                                             "{'name':'v-client-6','up':true,'known':true,'chosen':true},"
                                             "{'name':'v-client-7','up':false,'known':true}]}")));
  assert_true(cli_true(nth(doc, "copies", 1), "serves_reads"));
  assert_true(json_is_false(json_object_get(nth(doc, "copies", 0), "serves_reads")));
  assert_true(json_is_false(json_object_get(nth(doc, "copies", 2), "up")));
  assert_string_equal(cli_str(nth(doc, "because", 0), "text"), "the mount has no connection to brick h:/b3");
  json_decref(doc);
}

static void
test_a_frozen_brick(void **state)
{
  json_t *doc =
      document(THREE, SIGHT("{'role':'brick','volume':'v','pid':102,'answers':false,'state':'T','about':{'brick':'/b2',"
                            "'host':'h'}}," MOUNT(",'inflight':{'operations':[{'kind':'WRITE','gfid':'g','at':'v-client-6',"
                                                  "'age_ns':3e9,'process':{'pid':200},'waits':{'for':'brick','what':'h:/b2',"
                                                  "'who':null,'since_ns':2000000000}}]}")));
  const json_t *culprit = json_object_get(nth(doc, "because", 0), "culprit");
  assert_string_equal(cli_str(nth(doc, "because", 0), "text"),
                      "brick h:/b2 (pid 102) does not answer: it was stopped by a signal");
  assert_string_equal(cli_str(culprit, "name"), "h:/b2");
  assert_int_equal(cli_int(culprit, "pid"), 102);
  assert_string_equal(cli_str(nth(doc, "because", 1), "text"),
                      "WRITE in mount /mnt of v (pid 200) has been waiting for h:/b2, for 2.0 s");
  json_decref(doc);
}

#define LOCK(granted, client, owner) \
  "{'gfid':'g','kind':'posix','granted':" granted ",'type':'write','start':0,'len':0,'client':'" client \
  "','address':'a:1','pid':42,'owner':'" owner "','since':990}"
#define LOCKED ",'locks':{'locks':[" LOCK("true", CLIENT, "1") "," LOCK("false", "far", "2") "]}"
#define USED \
  ",'object':{'users':[{'client':'" CLIENT \
  "','address':'a:1','handles':2,'writing':1,'told_s':55.5},{'client':'far','address':'f:1'," \
  "'handles':0,'writing':0,'told_s':null}]}"

static void
test_a_client_that_does_not_take_what_it_is_sent(void **state)
{
  static const char slow[] = ",'clients':{'clients':[{'uid':'" CLIENT "','queued':9,'behind_ns':3000000000}]}";
  GI_CLEANUP_FREE char *sight =
      gi_asprintf(SIGHT("{'role':'brick','volume':'v','pid':101,'about':{'brick':'/b1','host':'h'}%s%s}"), USED, slow);
  json_t *doc = document(THREE, sight);
  assert_int_equal(json_array_size(json_object_get(doc, "because")), 1);
  assert_non_null(strstr(cli_str(nth(doc, "because", 0), "text"), "has not taken all that brick"));
  assert_non_null(strstr(cli_str(nth(doc, "because", 0), "text"), "for 3.0 s"));
  json_decref(doc);
}

static void
test_locks_and_users(void **state)
{
  json_t *doc = document(THREE, SIGHT(BRICK(1, LOCKED USED) "," BRICK(2, LOCKED USED) "," MOUNT("")));
  char *text = NULL;
  assert_int_equal(json_array_size(json_object_get(doc, "locks")), 4);
  assert_int_equal(json_array_size(json_object_get(doc, "because")), 1); /* the same on both bricks */
  assert_string_equal(cli_str(nth(doc, "because", 0), "text"),
                      "client a:1 waits for its posix lock, which mount /mnt of v (pid 200) holds (for its process 42)");
  assert_int_equal(json_array_size(json_object_get(doc, "users")), 2);
  assert_int_equal(cli_int(nth(doc, "users", 0), "bricks"), 2);
  assert_int_equal(cli_int(nth(doc, "users", 0), "handles"), 2);
  assert_true(json_number_value(json_object_get(nth(doc, "users", 0), "told_s")) > 55);
  FIXTURE_PRINTED(text, why_print(out, doc));
  assert_non_null(strstr(text, "/f of volume v: file, gfid g\n"));
  assert_non_null(strstr(text, "  WAITING  write posix     bytes 0-end on /b1"));
  assert_non_null(strstr(text, "  mount /mnt of v (pid 200): open 2 times, 1 of them to write; may keep it cached"));
  assert_non_null(strstr(text, "\nWhat keeps it waiting\n  client a:1 waits"));
  free(text);
  json_decref(doc);
}

static void
test_errors_about_it(void **state)
{
  json_t *doc =
      document(THREE, SIGHT(BRICK(1, ",'errors':{'errors':[{'time':1,'text':'gfid g is odd'},{'time':1,'text':'x'}]}")));
  assert_int_equal(json_array_size(json_object_get(doc, "errors")), 1);
  json_decref(doc);
}

static void
test_nothing_there(void **state)
{
  json_t *doc = document("[{'brick':'h:/b1','there':false,'error':'No such file or directory'}]", SIGHT(BRICKS));
  char *text = NULL;
  assert_true(json_is_null(json_object_get(doc, "gfid")));
  FIXTURE_PRINTED(text, why_print(out, doc));
  assert_non_null(strstr(text, "/f of volume v: nothing, gfid not known\n"));
  assert_non_null(strstr(text, "not there: No such file or directory"));
  free(text);
  json_decref(doc);
}

static void
test_a_copy_on_a_disk(void **state)
{
  char dir[] = "/var/tmp/why-test.XXXXXX";
  static const uint8_t gfid[16] = {1, 2, 3}, counter[12] = {0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1}, zero[12];
  assert_non_null(mkdtemp(dir));
  GI_CLEANUP_FREE char *file = gi_asprintf("%s/f", dir);
  FILE *f = fopen(file, "w");
  fputs("abc", f);
  fclose(f);
  bool trusted = setxattr(file, "trusted.gfid", gfid, sizeof(gfid), 0) == 0 &&
                 setxattr(file, "trusted.afr.v-client-1", counter, sizeof(counter), 0) == 0 &&
                 setxattr(file, "trusted.afr.v-client-2", zero, sizeof(zero), 0) == 0;
  json_t *copy = why_copy(dir, "/f");
  assert_true(cli_true(copy, "there"));
  assert_int_equal(cli_int(copy, "size"), 3);
  assert_string_equal(cli_str(copy, "type"), "file");
  if (trusted) {
    const json_t *pending = json_object_get(copy, "pending");
    assert_string_equal(cli_str(copy, "gfid"), "01020300-0000-0000-0000-000000000000");
    assert_int_equal(json_object_size(pending), 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(pending, "v-client-1"), 0)), 3);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(pending, "v-client-1"), 2)), 1);
  }
  json_decref(copy);
  copy = why_copy(dir, "/none");
  assert_string_equal(cli_str(copy, "error"), "No such file or directory");
  json_decref(copy);
  unlink(file);
  rmdir(dir);
  copy = why_copy(dir, "/none");
  assert_string_equal(cli_str(copy, "error"), "there is no such brick on this machine");
  json_decref(copy);
}

static void
put_split(const char *dir, const char *brick, const char *counter)
{
  static const uint8_t blame[12] = {0, 0, 0, 3};
  GI_CLEANUP_FREE char *make =
      gi_asprintf("mkdir -p %s%s/.glusterfs/indices/xattrop %s%s/.glusterfs/01/02", dir, brick, dir, brick);
  GI_CLEANUP_FREE char *handle = gi_asprintf("%s%s/.glusterfs/01/02/01020300-0000-0000-0000-000000000000", dir, brick);
  GI_CLEANUP_FREE char *index = gi_asprintf("%s%s/.glusterfs/indices/xattrop/01020300-0000-0000-0000-000000000000", dir, brick);
  assert_int_equal(system(make), 0);
  fclose(fopen(handle, "w"));
  fclose(fopen(index, "w"));
  if (setxattr(handle, counter, blame, sizeof(blame), 0))
    skip();
}

static void
test_splits_on_disks(void **state)
{
  char dir[] = "/var/tmp/why-test.XXXXXX";
  assert_non_null(mkdtemp(dir));
  put_split(dir, "/b1", "trusted.afr.v-client-1");
  GI_CLEANUP_FREE char *text =
      gi_asprintf("{'name':'v','replicaCount':2,'bricks':[{'name':'h:%s/b1'},{'name':'h:%s/b2'}]}", dir, dir);
  json_t *volume = fixture(text), *sight = fixture(SIGHT(""));
  assert_int_equal(why_splits(volume, sight, 8), 0);
  put_split(dir, "/b2", "trusted.afr.v-client-0");
  assert_int_equal(why_splits(volume, sight, 8), 1);
  json_decref(volume);
  json_decref(sight);
  GI_CLEANUP_FREE char *clean = gi_asprintf("rm -rf %s", dir);
  assert_int_equal(system(clean), 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_needs_healing), cmocka_unit_test(test_who_is_blamed),
      cmocka_unit_test(test_which_copy_is_read), cmocka_unit_test(test_a_frozen_brick),
      cmocka_unit_test(test_locks_and_users),    cmocka_unit_test(test_a_client_that_does_not_take_what_it_is_sent),
      cmocka_unit_test(test_errors_about_it),    cmocka_unit_test(test_nothing_there),
      cmocka_unit_test(test_a_copy_on_a_disk),   cmocka_unit_test(test_splits_on_disks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
