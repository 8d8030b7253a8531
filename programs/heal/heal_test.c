/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of glusterish-heal without a volume: the output byte by byte, and what
 * it makes of the answers of a fake replica set whose bricks are fake too.
 */
#include "programs/heal/heal.h"
#include "libglusterish/task.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define GFID(n) ((struct gi_gfid){{[0] = 0xaa, [15] = (n)}})
#define UUID(n) "aa000000-0000-0000-0000-0000000000" n

/* ---- the output ---- */

struct printed {
  struct heal_report r;
  char *text;
  size_t len;
};

static struct printed
begin(enum heal_form form, enum heal_command command)
{
  struct printed p = {.r = {.form = form, .command = command}};
  return p;
}

static void
report_two_bricks(struct printed *p)
{
  struct gi_gfid one = GFID(1), two = GFID(2), three = GFID(3), four = GFID(4);
  p->r.out = open_memstream(&p->text, &p->len);
  heal_report_begin(&p->r);
  heal_report_brick(&p->r, "n1:/b", "U1");
  heal_report_entry(&p->r, &one, "/n1", HEAL_STATE_PENDING);
  heal_report_entry(&p->r, &two, NULL, HEAL_STATE_PENDING);
  heal_report_entry(&p->r, &three, "/f<&>", HEAL_STATE_SPLIT);
  heal_report_entry(&p->r, &four, "/big\nStatus: \xff", HEAL_STATE_HEALING);
  heal_report_brick_end(&p->r, 0);
  heal_report_brick(&p->r, "n2:/b", NULL);
  heal_report_brick_end(&p->r, ENOTCONN);
  heal_report_end(&p->r, 0, "");
  fclose(p->r.out);
}

static void
test_text(void **state)
{
  struct printed p = begin(HEAL_TEXT, HEAL_INFO);
  report_two_bricks(&p);
  assert_string_equal(p.text,
                      "Brick n1:/b\n/n1 \n<gfid:" UUID(
                          "02") "> \n/f<&> - Is in split-brain\n"
                                "/big\\x0aStatus: \xff - Possibly undergoing heal\nStatus: Connected\nNumber of entries: 4\n\n"
                                "Brick n2:/b\nStatus: Transport endpoint is not connected\nNumber of entries: -\n\n");
  free(p.text);
  p = begin(HEAL_TEXT, HEAL_SPLITS);
  report_two_bricks(&p);
  assert_string_equal(p.text,
                      "Brick n1:/b\n/f<&>\nStatus: Connected\nNumber of entries in split-brain: 1\n\n"
                      "Brick n2:/b\nStatus: Transport endpoint is not connected\nNumber of entries in split-brain: -\n\n");
  free(p.text);
  p = begin(HEAL_TEXT, HEAL_SUMMARY);
  report_two_bricks(&p);
  assert_string_equal(p.text, "Brick n1:/b\nStatus: Connected\nTotal Number of entries: 4\n"
                              "Number of entries in heal pending: 2\nNumber of entries in split-brain: 1\n"
                              "Number of entries possibly healing: 1\n\n"
                              "Brick n2:/b\nStatus: Transport endpoint is not connected\nTotal Number of entries: -\n"
                              "Number of entries in heal pending: -\nNumber of entries in split-brain: -\n"
                              "Number of entries possibly healing: -\n\n");
  free(p.text);
}

#define XML_HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<cliOutput>\n  <healInfo>\n"

static void
test_xml(void **state)
{
  struct printed p = begin(HEAL_XML, HEAL_INFO);
  report_two_bricks(&p);
  assert_string_equal(
      p.text, XML_HEAD
      "    <bricks>\n      <brick hostUuid=\"U1\">\n        <name>n1:/b</name>\n"
      "        <file gfid=\"" UUID(
          "01") "\">/n1</file>\n"
                "        <file gfid=\"" UUID("02") "\">&lt;gfid:" UUID(
                    "02") "&gt;</file>\n"
                          "        <file gfid=\"" UUID(
                              "03") "\">/f&lt;&amp;&gt;</file>\n"
                                    "        <file gfid=\"" UUID(
                                        "04") "\">/big\\x0aStatus: \\xff</file>\n"
                                              "        <status>Connected</status>\n        "
                                              "<numberOfEntries>4</numberOfEntries>\n      </brick>\n"
                                              "      <brick hostUuid=\"-\">\n        <name>n2:/b</name>\n"
                                              "        <status>Transport endpoint is not connected</status>\n"
                                              "        <numberOfEntries>-</numberOfEntries>\n      </brick>\n    </bricks>\n  "
                                              "</healInfo>\n"
                                              "  <opRet>0</opRet>\n  <opErrno>0</opErrno>\n  <opErrstr/>\n</cliOutput>\n");
  free(p.text);
  p = begin(HEAL_XML, HEAL_SUMMARY);
  report_two_bricks(&p);
  assert_non_null(strstr(p.text, "        <status>Transport endpoint is not connected</status>\n"
                                 "        <totalNumberOfEntries>-</totalNumberOfEntries>\n"
                                 "        <numberOfEntriesInHealPending>-</numberOfEntriesInHealPending>\n"
                                 "        <numberOfEntriesInSplitBrain>-</numberOfEntriesInSplitBrain>\n"
                                 "        <numberOfEntriesPossiblyHealing>-</numberOfEntriesPossiblyHealing>\n"));
  free(p.text);
  p = begin(HEAL_XML, HEAL_INFO);
  p.r.out = open_memstream(&p.text, &p.len);
  heal_report_begin(&p.r);
  heal_report_end(&p.r, ENOENT, "Volume x does not exist");
  fclose(p.r.out);
  assert_string_equal(p.text, XML_HEAD "    <bricks/>\n  </healInfo>\n  <opRet>-1</opRet>\n  <opErrno>2</opErrno>\n"
                                       "  <opErrstr>Volume x does not exist</opErrstr>\n</cliOutput>\n");
  free(p.text);
}

static void
test_json(void **state)
{
  struct printed p = begin(HEAL_JSON, HEAL_INFO);
  report_two_bricks(&p);
  json_t *doc = json_loads(p.text, 0, NULL);
  assert_non_null(doc);
  const json_t *brick = json_array_get(json_object_get(json_object_get(doc, "output"), "bricks"), 0);
  const json_t *entries = json_object_get(brick, "entries");
  assert_int_equal(json_array_size(entries), 4);
  assert_string_equal(cli_str(json_array_get(entries, 2), "state"), "split-brain");
  assert_string_equal(cli_str(json_array_get(entries, 3), "path"), "/big\\x0aStatus: \\xff");
  assert_null(json_object_get(json_array_get(entries, 1), "path"));
  assert_int_equal(cli_int(brick, "numberOfEntries"), 4);
  json_decref(doc);
  free(p.text);
}

static void
test_progress(void **state)
{
  struct printed p = begin(HEAL_TEXT, HEAL_SUMMARY);
  json_t *facts = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:s}", "glusterish.0-files_per_s", "5",
                            "glusterish.1-files_per_s", "7", "glusterish.0-bytes_per_s", "1048576", "glusterish.0-remaining",
                            "30", "glusterish.1-remaining", "70", "glusterish.0-eta_s", "8", "glusterish.1-eta_s", "20",
                            "glusterish.0-paused_ms", 2500, "glusterish.x-files_per_s", "1000");
  p.r.out = open_memstream(&p.text, &p.len);
  heal_report_begin(&p.r);
  heal_report_progress(&p.r, facts, true);
  heal_report_progress(&p.r, NULL, true);
  heal_report_progress(&p.r, NULL, false);
  fclose(p.r.out);
  assert_string_equal(p.text,
                      "Self-heal daemon: running\nHealing: 12 files/s, 1.0MB/s\nRemaining: 100 entries, 20 s at this rate\n"
                      "Paused for the foreground: 2.5 s\nSelf-heal daemon: not running\nSelf-heal daemon: disabled\n");
  free(p.text);
  json_decref(facts);
}

static void
test_printable(void **state)
{
  static const char *const rows[][3] = {
      {"/plain", "/plain", "/plain"},
      {"/\x1b[2J\x7f", "/\\x1b[2J\\x7f", "/\\x1b[2J\\x7f"},
      {"/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
       "/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"/\xc3", "/\xc3", "/\\xc3"},
      {"/\xc0\xaf\xed\xa0\x80", "/\xc0\xaf\xed\xa0\x80", "/\\xc0\\xaf\\xed\\xa0\\x80"},
      {"/\xef\xbf\xbe", "/\xef\xbf\xbe", "/\\xef\\xbf\\xbe"},
  };
  for (size_t i = 0; i < GI_ARRAY_LEN(rows); i++) {
    GI_CLEANUP_FREE char *plain = heal_printable(rows[i][0], false), *utf8 = heal_printable(rows[i][0], true);
    assert_string_equal(plain, rows[i][1]);
    assert_string_equal(utf8, rows[i][2]);
  }
}

/* ---- a fake replica set ---- */

#define OBJECTS 16

struct fake_object {
  const char *verdict; /* to glusterfs.heal-info; NULL: nothing */
  int verdict_err;
  const char *failure; /* to glusterfs.heal-sbrain; NULL = heals */
  int failure_err;     /* or without a reason */
  const char *path;    /* to glusterfs.gfidtopath */
  mode_t mode;
  bool pending, dirty; /* in which index */
  bool dropped;
};

static struct {
  struct fake_object object[OBJECTS];
  bool down[2];
  int64_t heal_op;
  char child[64];
  const char *settled; /* gfid-heal-msg of every lookup of a name */
  unsigned lists;
} fake;

static const struct gi_gfid index_dir[] = {{{[0] = 0xbb, [15] = 1}}, {{[0] = 0xbb, [15] = 2}}};

static struct fake_object *
object_of(const struct gi_fop *fop)
{
  const struct gi_gfid *g = fop->loc.inode ? &fop->loc.inode->gfid : &fop->loc.gfid;
  return g->b[0] == 0xaa && g->b[15] < OBJECTS ? &fake.object[g->b[15]] : NULL;
}

static bool
is_down(const struct gi_xlator *x)
{
  return fake.down[x->name[strlen(x->name) - 1] - '0'];
}

static enum gi_verdict
client_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  const char *name = fop->args.name;
  struct fake_object *o = object_of(fop);
  assert_int_equal(fop->caller.pid, GI_PID_HEAL_TOOL);
  if (is_down(x))
    return gi_fop_fail(fop, ENOTCONN);
  fop->rsp.dict = gi_dict_new();
  if (strcmp(name, "glusterfs.xattrop_index_gfid") == 0)
    gi_dict_set_bin(fop->rsp.dict, name, index_dir[0].b, 16);
  else if (strcmp(name, "glusterfs.xattrop_dirty_gfid") == 0)
    gi_dict_set_bin(fop->rsp.dict, name, index_dir[1].b, 16);
  else if (o && o->path && strcmp(name, "glusterfs.gfidtopath") == 0)
    gi_dict_set_bin(fop->rsp.dict, name, o->path, (uint32_t)strlen(o->path));
  else
    return gi_fop_fail(fop, ENODATA);
  return gi_fop_ok(fop, 16);
}

static enum gi_verdict
client_opendir(struct gi_xlator *x, struct gi_fop *fop)
{
  return is_down(x) ? gi_fop_fail(fop, ENOTCONN) : gi_fop_ok(fop, 0);
}

/* Two names an answer, and a base file that is no gfid. */
static enum gi_verdict
client_readdir(struct gi_xlator *x, struct gi_fop *fop)
{
  bool dirty = gi_gfid_equal(&fop->fd->inode->gfid, &index_dir[1]);
  unsigned i = (unsigned)fop->args.offset;
  fake.lists++;
  for (; i < OBJECTS && fop->rsp.entries.count < 3; i++) {
    char text[GI_UUID_TEXT];
    struct gi_gfid g = GFID((uint8_t)i);
    if (i > 0 && !(dirty ? fake.object[i].dirty : fake.object[i].pending))
      continue;
    const char *name = i == 0 ? "xattrop-base" : gi_gfid_text(&g, text);
    struct gi_dirent e = {.off = i + 1, .name = name, .name_len = (uint32_t)strlen(name)};
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  gi_fop_ok(fop, (int)fop->rsp.entries.count);
  fop->rsp.err = i >= OBJECTS ? ENOENT : 0;
  return GI_ANSWERED;
}

static enum gi_verdict
client_unlink(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_gfid g;
  assert_true(gi_gfid_equal(&fop->loc.parent->gfid, &index_dir[0]));
  assert_true(gi_gfid_parse(fop->loc.name, &g));
  fake.object[g.b[15]].dropped = true;
  return gi_fop_ok(fop, 0);
}

static enum gi_verdict
client_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  if (is_down(x))
    return gi_fop_fail(fop, ENOTCONN);
  fop->rsp.stat.mode = S_IFREG;
  fop->rsp.stat.nlink = object_of(fop) && strstr(object_of(fop)->path, "link") ? 2 : 1;
  return gi_fop_ok(fop, 0);
}

static void
note_decision(const struct gi_fop *fop)
{
  const char *child = "";
  gi_dict_get_int(fop->xdata, "heal-op", &fake.heal_op);
  gi_dict_get_str(fop->xdata, "child-name", &child);
  snprintf(fake.child, sizeof(fake.child), "%s", child);
}

static enum gi_verdict
set_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  struct fake_object *o = object_of(fop);
  bool heal = strcmp(fop->args.name, "glusterfs.heal-sbrain") == 0;
  assert_int_equal(fop->caller.pid, GI_PID_HEAL_TOOL);
  if (!o)
    return gi_fop_fail(fop, ENOENT);
  fop->rsp.dict = gi_dict_new();
  if (heal) {
    note_decision(fop);
    if (o->failure)
      gi_dict_set_str(fop->rsp.dict, "sh-fail-msg", o->failure);
    if (o->failure_err)
      return gi_fop_fail(fop, o->failure_err);
  } else if (o->verdict_err) {
    return gi_fop_fail(fop, o->verdict_err);
  } else if (o->verdict) {
    gi_dict_set_str(fop->rsp.dict, fop->args.name, o->verdict);
  }
  return gi_fop_ok(fop, 0);
}

/* Names are numbers of objects. */
static enum gi_verdict
set_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  unsigned n = fop->loc.name ? (unsigned)strtoul(fop->loc.name, NULL, 10) : fop->loc.inode->gfid.b[15];
  note_decision(fop);
  if (fop->loc.name && fake.settled)
    gi_dict_set_str(gi_fop_rsp_xdata(fop), "gfid-heal-msg", fake.settled);
  if (n == 0 || n >= OBJECTS || !fake.object[n].mode)
    return gi_fop_fail(fop, ENOENT);
  fop->rsp.stat.gfid = GFID((uint8_t)n);
  fop->rsp.stat.mode = fake.object[n].mode;
  return gi_fop_ok(fop, 0);
}

static bool
client_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event == GI_EVENT_PARENT_UP)
    gi_notify_up(x, is_down(x) ? GI_EVENT_CHILD_DOWN : GI_EVENT_CHILD_UP, NULL);
  return false;
}

static const struct gi_option any_option[] = {
    {.name = "*", .type = GI_OPT_STR, .wildcard = true, .level = 3, .text = "Whatever a volfile says."},
    GI_OPTION_END,
};

static const struct gi_xlator_class client_class = {
    .abi = GI_XLATOR_ABI,
    .type = "protocol/client",
    .version = "0",
    .options = any_option,
    .notify = client_notify,
    .on = {[GI_FOP_GETXATTR] = client_getxattr,
           [GI_FOP_OPENDIR] = client_opendir,
           [GI_FOP_READDIR] = client_readdir,
           [GI_FOP_UNLINK] = client_unlink,
           [GI_FOP_LOOKUP] = client_lookup},
};

static const struct gi_xlator_class set_class = {
    .abi = GI_XLATOR_ABI,
    .type = "cluster/replicate",
    .version = "0",
    .options = any_option,
    .min_children = 1,
    .max_children = 9,
    .on = {[GI_FOP_GETXATTR] = set_getxattr, [GI_FOP_LOOKUP] = set_lookup},
};

static const char volfile[] =
    "volume v-client-0\n type protocol/client\n option remote-host h\n option remote-subvolume /b0\nend-volume\n"
    "volume v-client-1\n type protocol/client\n option remote-host h\n option remote-subvolume /b1\nend-volume\n"
    "volume v-replicate-0\n type cluster/replicate\n subvolumes v-client-0 v-client-1\nend-volume\n"
    "volume v-dht\n type cluster/distribute\n subvolumes v-replicate-0\nend-volume\n"
    "volume v-wb\n type performance/write-behind\n subvolumes v-dht\nend-volume\n"
    "volume v\n type debug/io-stats\n subvolumes v-wb\nend-volume\n";

struct ran {
  char *text;
  size_t len;
  int status;
};

/* Runs one command over the fake volume. */
static struct ran
run(enum heal_command command, enum heal_form form, const char *brick, const char *file)
{
  struct ran ran = {0};
  struct heal h = {.command = command, .brick = brick, .file = file, .report = {.form = form, .command = command}};
  struct heal_brick bricks[] = {{.name = (char *)"h:/b0", .uuid = (char *)"U"}, {.name = (char *)"h:/b1", .uuid = (char *)"U"}};
  struct fs_role role = {.arg = &h};
  struct fs_config cfg = {.role = &role};
  struct fs_process p = {.cfg = &cfg};
  struct gi_error err = {0};
  gi_log_set_level(GI_LOG_NONE);
  gi_class_register(&client_class);
  gi_class_register(&set_class);
  h.volume = "v";
  h.bricks = bricks;
  h.nbricks = 2;
  h.process = &p;
  h.report.out = open_memstream(&ran.text, &ran.len);
  p.reactor = gi_reactor_new(0);
  p.ctx = (struct gi_ctx){.reactor = p.reactor, .process_name = "test", .app = &p};
  struct gi_volfile *vf = gi_volfile_parse(volfile, strlen(volfile), &err);
  assert_non_null(vf);
  assert_int_equal(heal_volume_adapt(&p, vf, &err), 0);
  p.ctx.graph = gi_graph_build(&p.ctx, &vf, NULL, &err);
  if (!p.ctx.graph)
    fail_msg("%s", err.text);
  assert_int_equal(p.ctx.graph->count, 4); /* nothing above the replica set but our own */
  gi_graph_activate(p.ctx.graph);
  for (int i = 0; i < 1000 && !h.ended; i++)
    gi_reactor_turn(p.reactor, 10 * GI_NSEC_PER_MSEC);
  assert_true(h.ended);
  gi_graph_deactivate(p.ctx.graph);
  gi_reactor_turn(p.reactor, 0);
  gi_graph_free(&p.ctx.graph);
  gi_reactor_free(p.reactor);
  gi_free(h.set);
  fclose(h.report.out);
  ran.status = p.status;
  return ran;
}

static void
expect(struct ran ran, int status, const char *text)
{
  assert_string_equal(ran.text, text);
  assert_int_equal(ran.status, status);
  free(ran.text);
}

static int
fresh(void **state)
{
  memset(&fake, 0, sizeof(fake));
  return 0;
}

static void
test_verdicts(void **state)
{
  fake.object[1] = (struct fake_object){.verdict = "heal-pending", .path = "/a", .pending = true, .dirty = true};
  fake.object[2] = (struct fake_object){.verdict = "split-brain-pending", .path = "/b", .pending = true};
  fake.object[3] = (struct fake_object){.verdict = "possibly-healing-pending", .path = "/c", .pending = true};
  fake.object[4] = (struct fake_object){.verdict = "no-heal", .path = "/d", .pending = true, .dirty = true};
  fake.object[5] = (struct fake_object){.verdict = "heal", .path = "/e", .dirty = true};
  fake.object[6] = (struct fake_object){.verdict_err = ENOENT, .pending = true};
  fake.object[7] = (struct fake_object){.verdict_err = EIO, .path = "/f:/link", .pending = true};
  fake.object[8] = (struct fake_object){.verdict = "heal-pending", .path = "/g:/h", .pending = true};
  fake.object[9] = (struct fake_object){.verdict = "heal-pending", .pending = true};
  fake.object[10] = (struct fake_object){.verdict = "heal-pending", .path = "relative", .pending = true};
#define LIST \
  "/a \n/b - Is in split-brain\n/c - Possibly undergoing heal\n/f \n/g:/h \n<gfid:" UUID("09") "> \n<gfid:" UUID( \
      "0a") "> \n/e \nStatus: Connected\nNumber of entries: 8\n\n"
  expect(run(HEAL_INFO, HEAL_TEXT, NULL, NULL), 0, "Brick h:/b0\n" LIST "Brick h:/b1\n" LIST);
  assert_true(fake.object[6].dropped); /* a stale name */
  for (int i = 1; i < OBJECTS; i++)
    assert_true(fake.object[i].dropped == (i == 6));
}

static void
test_brick_down(void **state)
{
  fake.object[1] = (struct fake_object){.verdict = "heal-pending", .path = "/a", .pending = true};
  fake.object[2] = (struct fake_object){.verdict_err = ENOENT, .pending = true};
  fake.down[1] = true;
  expect(run(HEAL_INFO, HEAL_TEXT, NULL, NULL), 0,
         "Brick h:/b0\n/a \nStatus: Connected\nNumber of entries: 1\n\n"
         "Brick h:/b1\nStatus: Transport endpoint is not connected\nNumber of entries: -\n\n");
  assert_false(fake.object[2].dropped); /* the brick that is away may have it */
}

static void
test_pending(void **state)
{
  expect(run(HEAL_PENDING, HEAL_TEXT, NULL, NULL), 0, "");
  fake.object[3] = (struct fake_object){.verdict = "heal-pending", .pending = true};
  expect(run(HEAL_PENDING, HEAL_TEXT, NULL, NULL), EAGAIN,
         "One or more entries need heal. Please execute the command again after there are no entries to be healed\n"
         "Volume heal failed.\n");
  fake.down[0] = true;
  expect(run(HEAL_PENDING, HEAL_TEXT, NULL, NULL), EAGAIN,
         "One or more entries need heal. Please execute the command again after there are no entries to be healed\n"
         "Volume heal failed.\n");
  fake.object[3].pending = false;
  expect(run(HEAL_PENDING, HEAL_TEXT, NULL, NULL), ENOTCONN,
         "Not all bricks can tell whether something needs heal\nVolume heal failed.\n");
}

static void
test_split_file(void **state)
{
  fake.object[1] = (struct fake_object){.mode = S_IFREG};
  fake.object[2] = (struct fake_object){.mode = S_IFREG, .failure = "File not in split-brain"};
  fake.object[3] = (struct fake_object){.mode = S_IFDIR};
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/3/1"), 0, "Healed /3/1.\n");
  assert_int_equal(fake.heal_op, 10);
  expect(run(HEAL_LATEST_MTIME, HEAL_TEXT, NULL, "gfid:" UUID("01")), 0, "Healed gfid:" UUID("01") ".\n");
  assert_int_equal(fake.heal_op, 14);
  expect(run(HEAL_SOURCE_BRICK, HEAL_XML, "h:/b1", "/1"), 0, "Healed /1.\n");
  assert_int_equal(fake.heal_op, 11);
  assert_string_equal(fake.child, "v-client-1");
  expect(run(HEAL_SOURCE_BRICK, HEAL_TEXT, "h:/b1", "/3"), 0,
         "'source-brick' option used on a directory (/3). Performing conservative merge.\nHealed /3.\n");
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/2"), 1, "Healing /2 failed: File not in split-brain.\nVolume heal failed.\n");
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/3"), 1,
         "'bigger-file' not a valid option for directories.\nVolume heal failed.\n");
  fake.settled = "GFID split-brain resolved for file 2";
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/3/2"), 0, "GFID split-brain resolved for file /3/2\n");
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/9"), 1,
         "Healing /9 failed: GFID split-brain resolved for file 2.\nVolume heal failed.\n"); /* whatever it says is passed on */
  fake.settled = "No bigger file";
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/9"), 1,
         "Healing /9 failed: No bigger file for file /9.\nVolume heal failed.\n");
  fake.settled = NULL;
  fake.object[1].failure_err = ENOTCONN;
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/1"), ENOTCONN,
         "Healing /1 failed:Transport endpoint is not connected.\nVolume heal failed.\n");
}

static void
test_split_refused(void **state)
{
  fake.object[1] = (struct fake_object){.mode = S_IFREG};
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "1"), 1,
         "<FILE> must be absolute path w.r.t. the volume, starting with '/'\nVolume heal failed.\n");
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/9"), EINVAL,
         "Lookup failed on /9:No such file or directory.\nVolume heal failed.\n");
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/1/1"), EINVAL,
         "Lookup failed on /1/1:Not a directory.\nVolume heal failed.\n");
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "/../1"), EINVAL,
         "Lookup failed on /../1:Invalid argument.\nVolume heal failed.\n");
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "gfid:x\n"), EINVAL,
         "Lookup failed on gfid:x\\x0a:Invalid argument.\nVolume heal failed.\n");
  expect(run(HEAL_BIGGER_FILE, HEAL_TEXT, NULL, "gfid:" UUID("09")), ENOENT,
         "Lookup failed on gfid:" UUID("09") ":No such file or directory.\nVolume heal failed.\n");
  expect(run(HEAL_SOURCE_BRICK, HEAL_TEXT, "h:/b", "/1"), 1,
         "\"h:/b\"- No such brick available in the volume.\nVolume heal failed.\n");
}

static void
test_split_whole_brick(void **state)
{
  fake.object[1] = (struct fake_object){.pending = true};
  fake.object[2] = (struct fake_object){.pending = true, .failure = "File not in split-brain"};
  fake.object[3] = (struct fake_object){.pending = true, .failure = "No bigger file"};
  expect(run(HEAL_SOURCE_BRICK, HEAL_TEXT, "h:/b1", NULL), 0,
         "Healed gfid:" UUID("01") ".\nHealing gfid:" UUID("03") " failed: No bigger file.\nStatus: Connected\n"
                                                                 "Number of healed entries: 1\n\n");
  expect(run(HEAL_SOURCE_BRICK, HEAL_TEXT, "h:/b9", NULL), 1,
         "\"h:/b9\"- No such brick available in the volume.\nStatus: Operation not permitted\nNumber of healed entries: -\n\n"
         "Volume heal failed.\n");
  fake.down[1] = true;
  expect(run(HEAL_SOURCE_BRICK, HEAL_TEXT, "h:/b1", NULL), 1,
         "Status: Transport endpoint is not connected\nNumber of healed entries: -\n\nVolume heal failed.\n");
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_xml),
      cmocka_unit_test(test_json),
      cmocka_unit_test(test_progress),
      cmocka_unit_test(test_printable),
      cmocka_unit_test_setup(test_verdicts, fresh),
      cmocka_unit_test_setup(test_brick_down, fresh),
      cmocka_unit_test_setup(test_pending, fresh),
      cmocka_unit_test_setup(test_split_file, fresh),
      cmocka_unit_test_setup(test_split_refused, fresh),
      cmocka_unit_test_setup(test_split_whole_brick, fresh),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
