/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of the commands that ask bricks: statistics, locks, the state of all.
 */
#include "programs/glusterishd/ops/fixture.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- statistics ---- */

static void
test_profile(void **state)
{
  static const char *const answer[] = {"cumulative",
                                       "-1",
                                       "-1-duration",
                                       "7",
                                       "-1-total-read",
                                       "8192",
                                       "-1-total-write",
                                       "0",
                                       "-1-read-4096",
                                       "2",
                                       "-1-12-hits",
                                       "2",
                                       "-1-12-avglatency",
                                       "1500.000000",
                                       "-1-12-minlatency",
                                       "1000.000000",
                                       "-1-12-maxlatency",
                                       "2000.000000",
                                       "-1-12-p99latency",
                                       "1984.000000",
                                       "-1-42-hits",
                                       "1",
                                       "interval",
                                       "3",
                                       "3-duration",
                                       "1",
                                       NULL};
  static const char info[] = "{\"command\":\"volume profile info\",\"volume\":\"vol\",\"info\":\"%s\",\"peek\":true}";
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  assert_int_equal(run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"start\"}"), GD_ERR_MGMT);
  assert_says(f, "Volume vol is not started.");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  assert_int_equal(run(f, 23, info, "all"), GD_ERR_MGMT);
  assert_says(f, "Profile on Volume vol is not started");
  assert_int_equal(run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"stop\"}"), GD_ERR_MGMT);
  succeeds(f, run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"start\"}"));
  assert_string_equal(gd_options_get(&v->options, "diagnostics.latency-measurement"), "on");
  assert_string_equal(gd_options_get(&v->options, "diagnostics.count-fop-hits"), "on");
  assert_int_equal(run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"start\"}"), GD_ERR_MGMT);
  assert_says(f, "Profile on Volume vol is already started");

  struct gi_rpc_server *s = answer_for(f, v, 1, answer); /* the other one says nothing */
  succeeds(f, run(f, 23, info, "all"));
  assert_string_equal(asked("op"), "3");
  assert_string_equal(asked("info-op"), "1");
  assert_string_equal(asked("peek"), "1");
  assert_non_null(strstr(f->out, "\"cumulative\":{\"number\":-1,\"duration\":7,\"totalRead\":8192,\"totalWrite\":0,"
                                 "\"blocks\":[{\"size\":4096,\"reads\":2,\"writes\":0}],\"fops\":["
                                 "{\"name\":\"READ\",\"hits\":2,\"avg\":1500.0,\"min\":1000.0,\"max\":2000.0,\"p99\":1984.0},"
                                 "{\"name\":\"RELEASE\",\"hits\":1}]}"));
  assert_non_null(strstr(f->out, "\"interval\":{\"number\":3,\"duration\":1,"));
  assert_non_null(strstr(f->out, "\"error\":\"Transport endpoint is not connected\""));
  succeeds(f, run(f, 23, info, "clear"));
  assert_string_equal(asked("info-op"), "4");
  assert_int_equal(run(f, 23, info, "nonsense"), EINVAL);
  nobody_is_asked(&s);
  succeeds(f, run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"stop\"}"));
  assert_null(gd_options_get(&v->options, "diagnostics.latency-measurement"));
}

static void
test_top(void **state)
{
  static const char *const answer[] = {"members",  "1", "filename-1",      "/f",   "value-1", "3", "current-open", "1",
                                       "max-open", "2", "max-openfd-time", "then", NULL},
                           *const perf[] = {"members",     "1", "filename-1", "/f",    "value-1", "2.500000", "time-sec-1", "5",
                                            "time-usec-1", "6", "throughput", "100.5", "time",    "41.0",     NULL};
  static const char top[] = "{\"command\":\"volume top\",\"volume\":\"vol\",\"op\":%d,\"rows\":5%s}";
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  assert_int_equal(run(f, 23, top, 1, ""), GD_ERR_MGMT);
  assert_says(f, "Volume vol is not started.");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  struct gi_rpc_server *s = answer_for(f, v, 2, answer);
  succeeds(f, run(f, 23, top, 1, ""));
  assert_string_equal(asked("op"), "4");
  assert_string_equal(asked("top-op"), "1");
  assert_string_equal(asked("list-cnt"), "5");
  assert_non_null(
      strstr(f->out, "\"files\":[{\"path\":\"/f\",\"count\":3}],\"currentOpen\":1,\"maxOpen\":2,\"maxOpenTime\":\"then\"}"));
  answer_is(perf, 0);
  succeeds(f, run(f, 23, top, 6, ",\"bs\":1024,\"count\":9,\"brick\":\"127.0.0.1:DIR/b\""));
  assert_string_equal(asked("blk-size"), "1024");
  assert_string_equal(asked("blk-cnt"), "9");
  assert_non_null(
      strstr(f->out, "\"files\":[{\"path\":\"/f\",\"mbps\":2.5,\"sec\":5,\"usec\":6}],\"throughput\":100.5,\"seconds\":"));
  assert_null(strstr(f->out, "/a\""));
  succeeds(f, run(f, 23, top, 0, ""));
  assert_string_equal(asked("clear-stats"), "1");
  assert_int_equal(run(f, 23, top, 8, ""), EINVAL);
  assert_int_equal(run(f, 23, top, 1, ",\"brick\":\"127.0.0.1:/no/such\""), GD_ERR_MGMT);
  nobody_is_asked(&s);
}

static void
test_clear_locks(void **state)
{
  static const char *const answer[] = {"text", "No locks cleared.", NULL};
  static const char clear[] = "{\"command\":\"volume clear-locks\",\"volume\":\"vol\",\"path\":\"/d/f\",\"type\":\"%s\","
                              "\"kind\":\"granted\"%s}";
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  assert_int_equal(run(f, 34, clear, "inode", ""), GD_ERR_MGMT);
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  struct gi_rpc_server *s = answer_for(f, v, 1, answer); /* of the other one nothing is known */
  succeeds(f, run(f, 34, clear, "inode", ",\"which\":\"0,10-0\""));
  assert_string_equal(asked("xl-0"), "vol-server");
  assert_string_equal(asked("path"), "/d/f");
  assert_string_equal(asked("name"), "glusterfs.clrlk.tinode.kgranted.0,10-0");
  assert_non_null(strstr(f->out, "\"text\":\"No locks cleared.\""));
  succeeds(f, run(f, 34, clear, "posix", ""));
  assert_string_equal(asked("name"), "glusterfs.clrlk.tposix.kgranted");
  answer_is(NULL, ENOENT);
  assert_int_equal(run(f, 34, clear, "entry", ""), GD_ERR_MGMT);
  assert_says(f, "clear-locks getxattr command failed. Reason: No such file or directory");
  assert_int_equal(run(f, 34, clear, "other", ""), EINVAL);
  nobody_is_asked(&s);
}

/* ---- what only the processes know ---- */

static void
test_status_of_processes(void **state)
{
  static const char *const answer[] = {"mallinfo.arena", "7", NULL};
  static const struct {
    const char *what, *mask;
  } t[] = {{"mem", "1"}, {"clients", "2"}, {"inode", "4"}, {"fd", "8"}, {"callpool", "16"}, {"client-list", "128"}};
  static const char status[] = "{\"command\":\"volume status\",\"volume\":\"vol\",\"what\":\"%s\"}";
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  struct gi_rpc_server *s = answer_for(f, v, 1, answer); /* of the other one nothing is known */
  for (size_t i = 0; i < GI_ARRAY_LEN(t); i++) {
    succeeds(f, run(f, 27, status, t[i].what));
    assert_string_equal(asked("cmd"), t[i].mask);
    assert_string_equal(asked("brick-name"), v->bricks[0].path);
    assert_non_null(strstr(f->out, "\"facts\":{\"mallinfo.arena\":\"7\"}"));
  }
  assert_int_equal(run(f, 27, status, "nonsense"), EINVAL);
  nobody_is_asked(&s);
}

/* ---- the state of the daemon, as a file ---- */

/* The file that the last command wrote; the caller frees the text. */
static char *
written(struct fixture *f)
{
  json_t *doc = json_loads(f->out, 0, NULL);
  const char *path = json_string_value(json_object_get(doc, "path"));
  assert_non_null(path);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  char *text = gi_zalloc(65536);
  assert_true(fread(text, 1, 65535, in) > 0);
  fclose(in);
  json_decref(doc);
  return text;
}

static void
test_get_state(void **state)
{
  static const char *const answer[] = {
      "clientcount", "1", "client0.hostname", "h:1", "client0.bytesread", "2", "client0.byteswrite", "3", "client0.opversion",
      "4",           NULL};
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  succeeds(f, run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR\",\"file\":\"one\"}"));
  GI_CLEANUP_FREE char *text = written(f);
  static const char *const lines[] = {"[Global]\nMYUUID: ",           "\n[Peers]\n",
                                      "\nVolume1.name: vol\n",        "\nVolume1.type: Replicate\n",
                                      "\nVolume1.status: Started\n",  "\nVolume1.Brick2.status: Started\n",
                                      "\nVolume1.replica_count: 2\n", "\nsvc3.name: quotad\n",
                                      "\n[Misc]\nBase port: 49152\n"};
  for (size_t i = 0; i < GI_ARRAY_LEN(lines); i++)
    if (!strstr(text, lines[i]))
      fail_msg("no \"%s\" in %s", lines[i], text);
  assert_null(strstr(text, "client_count"));
  struct gi_rpc_server *s = answer_for(f, v, 1, answer);
  succeeds(f, run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR\",\"file\":\"one\",\"detail\":true}"));
  GI_CLEANUP_FREE char *detail = written(f);
  assert_non_null(strstr(detail, "\nVolume1.Brick1.client_count: 1\nVolume1.Brick1.Client1.hostname: h:1\n"
                                 "Volume1.Brick1.Client1.bytesread: 2\nVolume1.Brick1.Client1.byteswrite: 3\n"
                                 "Volume1.Brick1.Client1.opversion: 4\n"));
  nobody_is_asked(&s);
  succeeds(f, run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR\",\"volumeoptions\":true}"));
  GI_CLEANUP_FREE char *options = written(f);
  assert_non_null(strstr(options, "[Volume Options]\nVolume1.name: vol\nVolume1.options.count: "));
  assert_non_null(strstr(options, "Volume1.options.value1: "));
  assert_int_equal(run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR/nothing\"}"), GD_ERR_MGMT);
  assert_says(f, "/nothing does not exist.");
  assert_int_equal(run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR\",\"file\":\"../x\"}"), EINVAL);
}

/* ---- state dumps ---- */

static void
test_statedump(void **state)
{
  static const char dump[] = "{\"command\":\"volume statedump\",\"volume\":\"vol\"%s}";
  struct fixture *f = *state;
  char text[64] = "";
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  assert_int_equal(run(f, 32, dump, ""), GD_ERR_MGMT);
  assert_says(f, "Volume vol is not in the started state");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  assert_int_equal(run(f, 32, dump, ",\"target\":\"quotad\""), GD_ERR_MGMT);
  assert_says(f, "Quota is not enabled on volume vol");
  assert_int_equal(run(f, 32, dump, ",\"client\":\"127.0.0.1:none\""), GD_ERR_MGMT);
  succeeds(f, run(f, 32, dump, ",\"client\":\"127.0.0.1:77\""));
  assert_int_equal(run(f, 32, dump, ",\"options\":[\"nonsense\"]"), EINVAL);
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/glusterdump.%d.options", f->gd->config.rundir, (int)v->bricks[0].pid);
  succeeds(f, run(f, 32, dump, ",\"options\":[\"priv\",\"fd\"]"));
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  assert_true(fread(text, 1, sizeof(text) - 1, in) > 0);
  fclose(in);
  assert_string_equal(text, "priv=yes\nfd=yes\n");
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_profile, setup, teardown),
      cmocka_unit_test_setup_teardown(test_top, setup, teardown),
      cmocka_unit_test_setup_teardown(test_clear_locks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_status_of_processes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_get_state, setup, teardown),
      cmocka_unit_test_setup_teardown(test_statedump, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
