/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk through the stack, the inode and fd tables, and changing a running
 * graph.
 */
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a translator whose verdicts the test chooses ---- */

struct probe_options {
  int64_t level;
  bool fixed;
  char *word;
};

static const struct gi_option probe_table[] = {
    {.name = "level",
     .type = GI_OPT_INT,
     .offset = offsetof(struct probe_options, level),
     .def = "3",
     .min = 1,
     .max = 9,
     .live = true,
     .text = "A number."},
    {.name = "fixed",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct probe_options, fixed),
     .def = "off",
     .text = "Only at start."},
    {.name = "word", .type = GI_OPT_STR, .offset = offsetof(struct probe_options, word), .live = true, .text = "A word."},
    GI_OPTION_END};

static struct {
  enum gi_verdict down, up;
  unsigned seen_down, seen_up, inits, finishes, prepares, commits, aborts, drains, forgets, releases;
  struct gi_fop *held;
  bool refuse;
} probe;

static enum gi_verdict
probe_down(struct gi_xlator *x, struct gi_fop *fop)
{
  uint32_t *mine = gi_fop_private(fop, x);

  assert_int_equal(*mine, 0);
  *mine = 0xabcd;
  probe.seen_down++;
  if (probe.down == GI_HELD)
    probe.held = fop;
  if (probe.down == GI_ANSWERED)
    return gi_fop_fail(fop, EPERM);
  return probe.down;
}

static enum gi_verdict
probe_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  assert_int_equal(*(uint32_t *)gi_fop_private(fop, x), 0xabcd);
  probe.seen_up++;
  if (probe.up == GI_HELD)
    probe.held = fop;
  return probe.up;
}

static int
probe_init(struct gi_xlator *x, struct gi_error *err)
{
  const struct probe_options *o = x->options;

  probe.inits++;
  if (o->word && strcmp(o->word, "refuse") == 0)
    return gi_error_set(err, EINVAL, "refused");
  return 0;
}

static void
probe_finish(struct gi_xlator *x)
{
  probe.finishes++;
}

static int
probe_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  probe.prepares++;
  return probe.refuse ? gi_error_set(err, EBUSY, "not now") : 0;
}

static void
probe_commit(struct gi_xlator *x)
{
  assert_non_null(x->old_options);
  probe.commits++;
}

static void
probe_abort(struct gi_xlator *x, const void *values)
{
  probe.aborts++;
}

static void
probe_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  probe.drains++;
  done(x);
}

static void
probe_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  probe.forgets++;
}

static void
probe_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  assert_int_equal(fd->refs, 1);
  probe.releases++;
}

static const struct gi_xlator_class probe_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/probe",
    .summary = "does what it is told",
    .min_children = 1,
    .max_children = 1,
    .options = probe_table,
    .options_bytes = sizeof(struct probe_options),
    .fop_bytes = sizeof(uint32_t),
    .inode_bytes = 8,
    .fd_bytes = 8,
    .on = {[GI_FOP_STAT] = probe_down, [GI_FOP_FSYNC] = probe_down},
    .complete = probe_complete,
    .init = probe_init,
    .finish = probe_finish,
    .reconfigure_prepare = probe_prepare,
    .reconfigure_commit = probe_commit,
    .reconfigure_abort = probe_abort,
    .drain = probe_drain,
    .inode_forget = probe_forget,
    .fd_release = probe_release,
};

static int
setup(void **state)
{
  gi_class_register(&probe_class);
  memset(&probe, 0, sizeof(probe));
  probe.down = GI_PASS;
  probe.up = GI_PASS;
  *state = fake_stack_new("test/probe", NULL, 1);
  return 0;
}

static int
teardown(void **state)
{
  fake_stack_free(*state);
  assert_int_equal(probe.inits, probe.finishes);
  return 0;
}

static struct gi_fop *
stat_fop(struct fake_stack *s)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_STAT);

  gi_loc_set_inode(&f->loc, fake_inode(s, 7));
  return f;
}

/* ---- verdicts ---- */

static void
test_pass(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = stat_fop(s);

  fake_script(s, 0, GI_FOP_STAT, (struct fake_reply){.ret = 5});
  fake_submit(s, f);
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 5);
  assert_int_equal(probe.seen_down, 1);
  assert_int_equal(probe.seen_up, 0);
}

static void
test_tell(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = stat_fop(s);

  probe.down = GI_PASS_TELL;
  fake_submit(s, f);
  assert_true(f->answered);
  assert_int_equal(probe.seen_up, 1);
}

static void
test_answer(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = stat_fop(s);

  probe.down = GI_ANSWERED;
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, EPERM);
  assert_int_equal(fake_count(s, 0, GI_FOP_MAX), 0);
}

static void
test_hold_down_and_up(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = stat_fop(s);

  probe.down = GI_HELD;
  probe.up = GI_HELD;
  fake_submit(s, f);
  assert_false(f->answered);
  gi_fop_forward_tell(probe.held, s->x);
  assert_false(f->answered);
  assert_int_equal(fake_count(s, 0, GI_FOP_STAT), 1);
  assert_int_equal(probe.seen_up, 1);
  gi_fop_return(probe.held, s->x);
  assert_true(f->answered);
}

static void
test_uninterested_is_not_on_the_path(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = fake_fop(s, GI_FOP_GETXATTR);

  gi_loc_set_inode(&f->loc, fake_inode(s, 7));
  assert_ptr_equal(s->parent->next[GI_FOP_STAT], s->x);
  assert_ptr_not_equal(s->parent->next[GI_FOP_GETXATTR], s->x);
  fake_submit(s, f);
  assert_int_equal(probe.seen_down, 0);
}

static void
test_disabled_is_on_no_path(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = stat_fop(s);

  gi_xlator_enable(s->x, false);
  fake_submit(s, f);
  assert_true(f->answered);
  assert_int_equal(probe.seen_down, 0);
  gi_xlator_enable(s->x, true);
  f = stat_fop(s);
  fake_submit(s, f);
  assert_int_equal(probe.seen_down, 1);
}

/* ---- memory ---- */

static void
test_arena(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = fake_fop(s, GI_FOP_STAT);
  char *p[200];

  for (int i = 0; i < 200; i++) {
    size_t len = (size_t)i * 17 + 1;

    p[i] = gi_fop_alloc(f, len);
    assert_int_equal((uintptr_t)p[i] % 16, 0);
    memset(p[i], i, len);
  }
  for (int i = 0; i < 200; i++)
    for (size_t k = 0; k < (size_t)i * 17 + 1; k++)
      assert_int_equal((unsigned char)p[i][k], i);
}

static void
note_done(struct gi_fop *fop, void *arg)
{
  gi_fop_unref(fop);
}

static void
test_child_keeps_parent(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = gi_fop_new(s->graph, GI_FOP_STAT);

  f->xdata = gi_dict_new();
  gi_dict_set_int(f->xdata, "k", 1);
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 3), "name");

  struct gi_fop *c = gi_fop_child(f);

  gi_fop_unref(f);
  assert_string_equal(c->loc.name, "name");
  gi_dict_set_int(gi_fop_xdata(c), "k", 2); /* un-shares */

  int64_t v;

  assert_true(gi_dict_get_int(f->xdata, "k", &v) && v == 1);
  fake_script(s, 0, GI_FOP_STAT, (struct fake_reply){.ret = 0});
  gi_fop_submit(c, s->x, note_done, NULL);
  fake_settle(s);
  assert_int_equal(s->graph->fops_live, 0);
}

static void
test_inode_table(void **state)
{
  struct fake_stack *s = *state;
  struct gi_inode *a = fake_inode(s, 1);
  struct gi_inode *b = gi_inode_find(s->graph, &a->gfid);

  assert_ptr_equal(a, b);
  gi_inode_unref(&b);
  for (uint32_t i = 0; i < 5000; i++) {
    struct gi_gfid gfid = {{9, 9, 9}};

    memcpy(gfid.b + 10, &i, sizeof(i));
    b = gi_inode_get(s->graph, &gfid);
    gi_inode_unref(&b);
  }
  gi_inode_set_lru_limit(s->graph, 100);
  assert_int_equal(probe.forgets, 4900);
  assert_int_equal(s->graph->inodes_live, 101);
}

/* Idle inodes are a cache under the budget; those somebody refers to are not. */
static void
test_idle_inodes_and_the_budget(void **state)
{
  struct fake_stack *s = *state;
  struct gi_inode *kept = fake_inode(s, 1);
  uint64_t cost = sizeof(*kept) + s->graph->inode_bytes;

  gi_budget_set_limit(&s->ctx.budget, 64 * cost);
  for (uint8_t i = 1; i <= 64; i++) {
    struct gi_gfid gfid = {{9, 9, i}};
    struct gi_inode *a = gi_inode_get(s->graph, &gfid);

    gi_inode_unref(&a);
  }
  fake_settle(s);
  assert_int_equal(s->ctx.budget.used, 64 * cost);
  assert_int_equal(probe.forgets, 0);

  struct gi_gfid gfid = {{9, 9, 65}}, oldest = {{9, 9, 1}};
  struct gi_inode *a = gi_inode_get(s->graph, &gfid);

  gi_inode_unref(&a);
  assert_int_equal(probe.forgets, 0); /* not from inside */
  fake_settle(s);
  assert_int_equal(probe.forgets, 5); /* the limit and a sixteenth */
  assert_null(gi_inode_find(s->graph, &oldest));
  assert_int_equal(s->ctx.budget.used, 60 * cost);
}

static void
test_drop(void **state)
{
  struct fake_stack *s = *state;
  struct gi_gfid gfid = {{5}};
  struct gi_inode *a = gi_inode_get(s->graph, &gfid);

  gi_inode_drop(a);
  assert_null(gi_inode_find(s->graph, &gfid));

  struct gi_inode *b = gi_inode_get(s->graph, &gfid);

  assert_ptr_not_equal(a, b);
  gi_inode_unref(&a);
  assert_int_equal(probe.forgets, 1);
  gi_inode_unref(&b);
}

static void
test_fd_binds_late(void **state)
{
  struct fake_stack *s = *state;
  struct gi_gfid gfid = {{6}};
  struct gi_fd *fd = gi_fd_new(s->graph, NULL, 0, 1);

  gi_fd_bind(fd, &gfid);
  gi_fd_bind(fd, &gfid);
  assert_true(gi_gfid_equal(&fd->inode->gfid, &gfid));
  assert_false(gi_list_empty(&fd->inode->fds));
  gi_fd_unref(&fd);
  assert_int_equal(probe.releases, 1);
}

/* ---- events ---- */

static void
test_events_pass_through(void **state)
{
  struct fake_stack *s = *state;

  fake_event(s, 0, GI_EVENT_CHILD_DOWN, NULL);
  assert_int_equal(s->events[GI_EVENT_CHILD_DOWN], 1);
}

/* ---- changing a running graph ---- */

static int
apply(struct fake_stack *s, const char *text, struct gi_error *err)
{
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), err);

  assert_non_null(vf);

  int rc = gi_graph_reconfigure(s->graph, &vf, err);

  gi_volfile_free(&vf);
  return rc;
}

#define CHILD "volume child-0\n type test/fake\nend-volume\n"
#define TOP(below) "volume top\n type test/top\n subvolumes " below "\nend-volume\n"
#define PROBE(name, options, below) "volume " name "\n type test/probe\n" options " subvolumes " below "\nend-volume\n"

static void
test_live_option(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err = {0};

  assert_int_equal(
      apply(s, CHILD PROBE("under-test", "option level 5\n option word hello\n", "child-0") TOP("under-test"), &err), 0);
  assert_int_equal(((struct probe_options *)s->x->options)->level, 5);
  assert_string_equal(((struct probe_options *)s->x->options)->word, "hello");
  assert_int_equal(probe.commits, 1);
  assert_int_equal(apply(s, CHILD PROBE("under-test", "", "child-0") TOP("under-test"), &err), 0);
  assert_int_equal(((struct probe_options *)s->x->options)->level, 3);
}

static void
test_fixed_option_keeps_its_value(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err = {0};

  assert_int_equal(apply(s, CHILD PROBE("under-test", "option fixed on\n", "child-0") TOP("under-test"), &err), 0);
  assert_false(((struct probe_options *)s->x->options)->fixed);
}

static void
test_bad_value_changes_nothing(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err = {0};

  assert_int_equal(apply(s, CHILD PROBE("under-test", "option level 77\n", "child-0") TOP("under-test"), &err), -1);
  assert_non_null(strstr(err.text, "level"));
  assert_non_null(strstr(err.text, "77"));
  assert_int_equal(((struct probe_options *)s->x->options)->level, 3);
  probe.refuse = true;
  assert_int_equal(apply(s, CHILD PROBE("under-test", "option level 4\n", "child-0") TOP("under-test"), &err), -1);
  assert_int_equal(((struct probe_options *)s->x->options)->level, 3);
  assert_int_equal(probe.commits, 0);
}

static void
test_insert_and_park(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err = {0};
  const char *with = CHILD PROBE("under-test", "", "child-0") PROBE("second", "", "under-test") TOP("second");
  const char *without = CHILD PROBE("under-test", "", "child-0") TOP("under-test");
  struct gi_fop *held = stat_fop(s);

  probe.down = GI_PASS_TELL;
  fake_script(s, 0, GI_FOP_STAT, (struct fake_reply){.hold = true});
  fake_submit(s, held); /* under way while the graph changes */
  assert_int_equal(apply(s, with, &err), 0);
  assert_int_equal(probe.inits, 2);
  fake_release(s, 0, GI_FOP_STAT, 0, 0);
  assert_true(held->answered);
  probe.seen_down = probe.seen_up = 0;

  struct gi_fop *f = stat_fop(s);

  fake_submit_at(s, f, s->parent);
  assert_int_equal(probe.seen_down, 2);
  assert_int_equal(probe.seen_up, 2);
  assert_int_equal(apply(s, without, &err), 0);
  assert_int_equal(probe.drains, 1);
  f = stat_fop(s);
  fake_submit_at(s, f, s->parent);
  assert_int_equal(probe.seen_down, 3);
  assert_int_equal(apply(s, with, &err), 0); /* comes back, not made anew */
  assert_int_equal(probe.inits, 2);
  f = stat_fop(s);
  fake_submit_at(s, f, s->parent);
  assert_int_equal(probe.seen_down, 5);
}

static void
test_failed_insert_leaves_nothing(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err = {0};
  unsigned count = s->graph->count;

  assert_int_equal(
      apply(s, CHILD PROBE("under-test", "", "child-0") PROBE("second", "option word refuse\n", "under-test") TOP("second"),
            &err),
      -1);
  assert_int_equal(s->graph->count, count);
  assert_non_null(strstr(err.text, "refused"));
  probe.inits--; /* the refused one was never initialised */
}

static void
test_other_topology(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err = {0};

  assert_int_equal(
      apply(s, CHILD "volume child-1\n type test/fake\nend-volume\n" PROBE("under-test", "", "child-1") TOP("under-test"),
            &err),
      1);
  assert_int_equal(apply(s, CHILD PROBE("under-test", "", "child-0"), &err), 1);
}

static void
test_load_errors(void **state)
{
  struct gi_error err = {0};

  assert_null(fake_stack_try("no/such-translator", NULL, 1, &err));
  assert_non_null(strstr(err.text, "no/such-translator"));
  assert_non_null(strstr(err.text, ".so"));
  assert_null(fake_stack_try("../../etc/passwd", NULL, 1, &err));
  assert_non_null(strstr(err.text, "not a translator type"));
  assert_null(fake_stack_try("test/probe", NULL, 0, &err));
  assert_non_null(strstr(err.text, "at least 1"));
  assert_null(fake_stack_try("test/probe", "option level x", 1, &err));
  assert_non_null(strstr(err.text, "level"));
}

static void
test_override(void **state)
{
  struct gi_ctx ctx = {.reactor = gi_reactor_new(0), .process_name = "t"};
  const char *text = CHILD PROBE("a-probe", "option level 2\n", "child-0") TOP("a-probe");
  const char *const overrides[] = {"*-probe.level=8", NULL};
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  struct gi_graph *g = gi_graph_build(&ctx, &vf, overrides, &err);

  assert_non_null(g);
  assert_int_equal(((struct probe_options *)gi_graph_find(g, "a-probe")->options)->level, 8);
  vf = gi_volfile_parse(text, strlen(text), &err);
  assert_int_equal(gi_graph_reconfigure(g, &vf, &err), 0);
  assert_int_equal(((struct probe_options *)gi_graph_find(g, "a-probe")->options)->level, 8);
  gi_graph_free(&g);
  gi_reactor_free(ctx.reactor);
}

static void
test_fop_table(void **state)
{
  assert_string_equal(gi_fop_name(GI_FOP_WRITE), "WRITE");
  assert_string_equal(gi_fop_name(1000), "?");
  assert_true(gi_kinds_of_class(GI_CLASS_WRITE | GI_CLASS_ENTRY) & GI_KIND(GI_FOP_RENAME));
  assert_false(gi_kinds_of_class(GI_CLASS_WRITE) & GI_KIND(GI_FOP_READ));
}

static void
collect_type(const char *type, void *arg)
{
  char **all = arg;
  if (strncmp(type, "test/", 5) == 0) /* registered */
    return;
  char *longer = gi_asprintf("%s%s ", *all, type);

  gi_free(*all);
  *all = longer;
}

/* Installed files, files of a build tree, both at once, and what is no translator. */
static void
test_scan(void **state)
{
  static const char *const dirs[] = {"", "/b", "/a", "/a/two", "/a/two/.libs", "/a/three", "/a/.hidden"};
  static const char *const files[] = {"/b/one.so", "/a/two.so", "/a/two/.libs/two.so", "/a/one.so",
                                      "/a/one.la", "/a/.x.so",  "/a/Bad name.so",      "/top.so"};
  GI_CLEANUP_FREE char *was = gi_strdup(getenv("GLUSTERISH_XLATOR_DIR"));
  char root[] = "/tmp/graph-test-XXXXXX";
  char *all = gi_strdup("");

  assert_non_null(mkdtemp(root));
  for (unsigned i = 1; i < GI_ARRAY_LEN(dirs); i++) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s%s", root, dirs[i]);
    assert_int_equal(mkdir(path, 0700), 0);
  }
  for (unsigned i = 0; i < GI_ARRAY_LEN(files); i++) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s%s", root, files[i]);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
  }
  setenv("GLUSTERISH_XLATOR_DIR", root, 1);
  assert_int_equal(gi_class_scan(collect_type, &all), 0);
  assert_string_equal(all, "a/one a/two b/one ");
  for (unsigned i = GI_ARRAY_LEN(files); i-- > 0;) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s%s", root, files[i]);
    unlink(path);
  }
  for (unsigned i = GI_ARRAY_LEN(dirs); i-- > 0;) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s%s", root, dirs[i]);
    assert_int_equal(rmdir(path), 0);
  }
  assert_int_equal(gi_class_scan(collect_type, &all), ENOENT);
  if (was)
    setenv("GLUSTERISH_XLATOR_DIR", was, 1);
  else
    unsetenv("GLUSTERISH_XLATOR_DIR");
  gi_free(all);
}

#define WITH_STACK(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      WITH_STACK(test_pass),
      WITH_STACK(test_tell),
      WITH_STACK(test_answer),
      WITH_STACK(test_hold_down_and_up),
      WITH_STACK(test_uninterested_is_not_on_the_path),
      WITH_STACK(test_disabled_is_on_no_path),
      WITH_STACK(test_arena),
      WITH_STACK(test_child_keeps_parent),
      WITH_STACK(test_inode_table),
      WITH_STACK(test_idle_inodes_and_the_budget),
      WITH_STACK(test_drop),
      WITH_STACK(test_fd_binds_late),
      WITH_STACK(test_events_pass_through),
      WITH_STACK(test_live_option),
      WITH_STACK(test_fixed_option_keeps_its_value),
      WITH_STACK(test_bad_value_changes_nothing),
      WITH_STACK(test_insert_and_park),
      WITH_STACK(test_failed_insert_leaves_nothing),
      WITH_STACK(test_other_topology),
      cmocka_unit_test(test_load_errors),
      cmocka_unit_test(test_override),
      cmocka_unit_test(test_fop_table),
      cmocka_unit_test(test_scan),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
