/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/io-stats: what is counted, who is told, and that it is off when it is off.
 */
#include "tests/unit/fake.h"

#include "libglusterish/manage-op.h"

#include <errno.h>
#include <unistd.h>

static struct gi_fop *
send(struct fake_stack *s, enum gi_fop_kind kind, uint64_t size)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fake_fd(s, 5));
  f->args.size = size;
  fake_submit(s, f);
  return f;
}

/* ---- what the management daemon asks ---- */

struct answer {
  struct gi_manage m;
  bool done;
  int err;
};

static void
answered(struct gi_manage *m, int err)
{
  struct answer *a = GI_CONTAINER(m, struct answer, m);
  assert_false(a->done);
  a->done = true;
  a->err = err;
}

static struct gi_dict *last_answer; /* of the last question; dropped by the next one */

/* The answer to a question of such members, "name=number name=number"; NULL when it is refused. */
static struct gi_dict *
ask(struct fake_stack *s, const char *members)
{
  struct answer a = {.m = {.op = GI_MANAGE_INFO, .in = gi_dict_new(), .out = gi_dict_new(), .done = answered}};
  GI_CLEANUP_FREE char *copy = gi_strdup(members);
  char *save = NULL;
  for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    char *value = strchr(word, '=');
    *value = '\0';
    gi_dict_set_str((struct gi_dict *)a.m.in, word, value + 1);
  }
  s->x->cls->manage(s->x, &a.m);
  for (int i = 0; i < 1000 && !a.done; i++)
    fake_wait(s, GI_NSEC_PER_MSEC);
  assert_true(a.done);
  gi_dict_unref((struct gi_dict **)&a.m.in);
  gi_dict_unref(&last_answer);
  last_answer = a.m.out;
  return a.err ? NULL : last_answer;
}

/* `what`: info-op; `peek`: the interval goes on. */
static struct gi_dict *
profile(struct fake_stack *s, int what, bool peek)
{
  char text[64];
  snprintf(text, sizeof(text), "op=3 info-op=%d peek=%d", what, peek);
  return ask(s, text);
}

static const char *
word(const struct gi_dict *d, const char *key)
{
  const char *text;
  return gi_dict_get_str(d, key, &text) ? text : "";
}

static uint64_t
number(struct gi_dict *d, const char *key)
{
  uint64_t v = ~0ull;
  return gi_dict_get_uint(d, key, &v) ? v : ~0ull;
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/io-stats", "option latency-measurement on\noption count-fop-hits on\n", 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
  s = fake_stack_new("debug/io-stats", NULL, 1);
  fake_check_transparent(s, 0);
  assert_ptr_equal(s->parent->next[GI_FOP_WRITE], s->x->children[0]); /* off: not on the path */
  assert_ptr_equal(s->parent->next[GI_FOP_SETXATTR], s->x);
  fake_stack_free(s);
}

static void
test_counts(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/io-stats", "option latency-measurement on\noption count-fop-hits on\n", 1);
  send(s, GI_FOP_READ, 4096);
  send(s, GI_FOP_READ, 5000);
  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.ret = -1, .err = EIO});
  send(s, GI_FOP_FSTAT, 0);
  struct gi_dict *d = profile(s, GI_PROFILE_ALL, false);
  assert_int_equal(number(d, "-1-12-hits"), 2);
  assert_int_equal(number(d, "-1-25-hits"), 1);
  assert_int_equal(number(d, "-1-total-read"), 9096);
  assert_int_equal(number(d, "-1-read-4096"), 2);
  assert_int_equal(number(d, "0-12-hits"), 2);
  const char *avg;
  assert_true(gi_dict_get_str(d, "-1-12-avglatency", &avg));
  assert_true(atof(avg) > 0);
  assert_true(atof(word(d, "-1-12-p50latency")) <= atof(word(d, "-1-12-p99latency")));
  d = profile(s, GI_PROFILE_INCREMENTAL, true); /* a new interval has begun */
  assert_int_equal(number(d, "interval"), 1);
  assert_int_equal(number(d, "1-12-hits"), ~0ull);
  send(s, GI_FOP_READ, 1);
  d = profile(s, GI_PROFILE_ALL, true);
  assert_int_equal(number(d, "1-12-hits"), 1);
  assert_int_equal(number(d, "-1-12-hits"), 3);
  d = profile(s, GI_PROFILE_CLEAR, false);
  assert_int_equal(number(d, "stats-cleared"), 1);
  assert_int_equal(number(profile(s, GI_PROFILE_CUMULATIVE, false), "-1-12-hits"), ~0ull);
  assert_null(profile(s, 5, false));
  fake_stack_free(s);
}

static void
test_dump(void **state)
{
  char dir[] = "/tmp/io-stats-test-XXXXXX", path[128], text[4096];
  assert_non_null(mkdtemp(dir));
  setenv("GLUSTERISH_RUN_DIR", dir, 1);
  struct fake_stack *s = fake_stack_new("debug/io-stats", "option count-fop-hits on\noption ios-dump-format text\n", 1);
  send(s, GI_FOP_READ, 4096);
  struct gi_fop *f = fake_fop(s, GI_FOP_SETXATTR);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->args.dict = gi_dict_new();
  gi_dict_set_str(f->args.dict, "trusted.io-stats-dump", "../x");
  fake_submit(s, f);
  assert_int_equal(fake_count(s, 0, GI_FOP_SETXATTR), 1);
  snprintf(path, sizeof(path), "%s/-.-x.under-test", dir);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
  fclose(in);
  static const char form[] = "\n=== Cumulative stats ===\n      Duration : 0 secs\n     BytesRead : 4096\n  BytesWritten : 0\n"
                             "\nBlock Size   :            4096B+\nRead Count   :                 1\n"
                             "Write Count  :                 0\n"
                             "\nFop           Call Count    Avg-Latency    Min-Latency    Max-Latency\n"
                             "---           ----------    -----------    -----------    -----------\n"
                             "READ                   1           0 us           0 us           0 us\n"
                             "------ ----- ----- ----- ----- ----- ----- -----  ----- ----- ----- -----\n";
  assert_true(strncmp(text, form, sizeof(form) - 1) == 0);
  unlink(path);
  const double pi = 3.14;
  f = fake_fop(s, GI_FOP_SETXATTR);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->args.dict = gi_dict_new();
  gi_dict_set_raw(f->args.dict, "trusted.io-stats-dump", 21, GI_VALUE_DOUBLE, &pi, sizeof(pi));
  fake_submit(s, f);
  assert_int_equal(rmdir(dir), 0); /* a number is no name of a file */
  unsetenv("GLUSTERISH_RUN_DIR");
  fake_stack_free(s);
}

/* ---- single files ---- */

#define COUNTING "option latency-measurement on\noption count-fop-hits on\n"

static void
fill_pathinfo(struct gi_fop *fop, void *arg)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("<POSIX(/b/1):host:/b/1%s>", (const char *)arg);
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_str(fop->rsp.dict, "glusterfs.pathinfo", text);
}

/* On the file (or directory) of that number. */
static void
send_to(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file, uint64_t size)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fake_fd(s, file));
  f->args.size = size;
  fake_submit(s, f);
}

static void
test_busiest_files(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/io-stats", COUNTING, 1);
  for (int i = 0; i < 3; i++)
    send_to(s, GI_FOP_READ, 5, 100);
  send_to(s, GI_FOP_READ, 6, 100);
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100});
  send_to(s, GI_FOP_WRITE, 6, 100);
  send_to(s, GI_FOP_READDIRP, 7, 100);
  fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.ret = -1, .err = EIO});
  send_to(s, GI_FOP_READ, 8, 100); /* what fails is not counted */
  fake_script(s, 0, GI_FOP_GETXATTR, (struct fake_reply){.ret = 1, .fill = fill_pathinfo, .arg = (void *)"/dir/a"});
  fake_script(s, 0, GI_FOP_GETXATTR,
              (struct fake_reply){.ret = 1, .fill = fill_pathinfo, .arg = (void *)"/.glusterfs/06/06/x"});
  struct gi_dict *d = ask(s, "op=4 top-op=2");
  assert_int_equal(number(d, "members"), 2);
  assert_string_equal(word(d, "filename-1"), "/dir/a");
  assert_int_equal(number(d, "value-1"), 3);
  assert_string_equal(word(d, "filename-2"), "<gfid:06060606-0606-0606-0606-060606060606>");
  assert_int_equal(number(d, "value-2"), 1);
  d = ask(s, "op=4 top-op=2 list-cnt=1");
  assert_int_equal(number(d, "members"), 1);
  d = ask(s, "op=4 top-op=3");
  assert_int_equal(number(d, "members"), 1);
  d = ask(s, "op=4 top-op=5");
  assert_int_equal(number(d, "members"), 1);
  d = ask(s, "op=4 top-op=7");
  assert_int_equal(number(d, "members"), 1);
  assert_true(atof(word(d, "value-1")) > 0);
  assert_true(number(d, "time-sec-1") > 0);
  assert_int_equal(number(ask(s, "op=4"), "bytes_read-1"), 300); /* all lists in one */
  assert_int_equal(number(ask(s, "op=4 clear-stats=1"), "stats-cleared"), 1);
  assert_int_equal(number(ask(s, "op=4 top-op=2"), "members"), 0);
  assert_null(ask(s, "op=4 top-op=8"));
  assert_null(ask(s, "op=4 top-op=2 list-cnt=101"));
  assert_null(ask(s, "op=5"));
  fake_stack_free(s);
}

/* More files than are kept, each touched once, do not push out those that are busy. */
static void
test_busy_files_stay(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/io-stats", COUNTING, 1);
  for (int i = 0; i < 2000; i++) {
    if (i % 4 == 0)
      send_to(s, GI_FOP_READ, 5, 100);
    struct gi_gfid gfid = gi_gfid_new(s->ctx.reactor);
    struct gi_inode *inode = gi_inode_get(s->graph, &gfid);
    struct gi_fd *fd = gi_fd_new(s->graph, inode, 0, 1);
    struct gi_fop *f = fake_fop(s, GI_FOP_READ);
    gi_fop_set_fd(f, fd);
    f->args.size = 1;
    fake_submit(s, f);
    fake_fop_free(f);
    gi_fd_unref(&fd);
    gi_inode_unref(&inode);
  }
  struct gi_dict *d = ask(s, "op=4 top-op=2");
  assert_int_equal(number(d, "members"), 100);
  assert_int_equal(number(d, "value-1"), 500);
  assert_int_equal(number(d, "value-2"), 1);
  fake_stack_free(s);
}

/* A brick knows its busiest files without being told to count. */
static void
test_brick_that_does_not_count(void **state)
{
  const unsigned set[] = {0};
  struct gi_error err = {0};
  struct fake_stack *s = fake_stack_new("debug/io-stats", NULL, 1);
  send_to(s, GI_FOP_READ, 5, 100);
  assert_int_equal(number(ask(s, "op=4 top-op=2"), "members"), 0); /* a client's are of no interest */
  s->ctx.side = GI_SIDE_BRICK;
  assert_int_equal(fake_stack_children(s, "option unique-id /b\n", set, 1, &err), 0);
  send_to(s, GI_FOP_READ, 5, 100);
  send_to(s, GI_FOP_FSTAT, 5, 100);
  assert_int_equal(number(ask(s, "op=4 top-op=2"), "value-1"), 1);
  assert_int_equal(number(ask(s, "op=4 top-op=6"), "members"), 1);
  assert_int_equal(number(profile(s, GI_PROFILE_ALL, true), "-1-12-hits"), ~0ull);
  assert_ptr_equal(s->parent->next[GI_FOP_FSTAT], s->x->children[0]);
  fake_stack_free(s);
}

static void
test_open_files(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/io-stats", COUNTING, 1);
  struct gi_dict *d = ask(s, "op=4 top-op=1");
  assert_int_equal(number(d, "max-open"), 0);
  assert_string_equal(word(d, "max-openfd-time"), "");
  for (int i = 0; i < 2; i++) {
    struct gi_inode *inode = fake_inode(s, 9);
    struct gi_fd *fd = gi_fd_new(s->graph, inode, 0, 1);
    struct gi_fop *f = fake_fop(s, GI_FOP_OPEN);
    gi_fop_set_fd(f, fd);
    fake_submit(s, f);
    d = ask(s, "op=4 top-op=1");
    assert_int_equal(number(d, "current-open"), 1);
    fake_fop_free(f);
    gi_fd_unref(&fd);
  }
  d = ask(s, "op=4 top-op=1");
  assert_int_equal(number(d, "current-open"), 0);
  assert_int_equal(number(d, "max-open"), 1);
  assert_int_equal(number(d, "value-1"), 2);
  assert_int_equal(strlen(word(d, "max-openfd-time")), strlen("2026-11-21 00:34:44.887710 +0000"));
  fake_stack_free(s);
}

static void
test_statedump_and_samples(void **state)
{
  struct fake_stack *s = fake_stack_new(
      "debug/io-stats", "option latency-measurement on\noption ios-sample-interval 2\noption ios-dump-format samples\n", 1);
  for (int i = 0; i < 6; i++)
    send(s, GI_FOP_FSTAT, 0);
  char *text = NULL;
  size_t len;
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  s->x->cls->statedump(s->x, &d);
  fclose(d.out);
  assert_non_null(strstr(text, "under-test.latency.FSTAT=AVG:"));
  assert_non_null(strstr(text, "CNT:6 "));
  free(text);
  fake_stack_free(s);
}

/* The limit of the process's caches: what the option says, live, else a share of the memory where that is known. */
static void
test_memory_limit(void **state)
{
  static const struct {
    const char *options;
    uint64_t memory, limit;
  } cases[] = {{"", 0, 0},
               {"", 16ull << 30, 2ull << 30},
               {"", 256 << 20, 64 << 20},
               {"option memory-limit 100MB\n", 16ull << 30, 100 << 20}};
  const unsigned set[] = {0};
  struct gi_error err = {0};

  for (unsigned i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct fake_stack *s = fake_stack_new("debug/io-stats", NULL, 1);
    s->ctx.memory = cases[i].memory;
    assert_int_equal(fake_stack_children(s, cases[i].options, set, 1, &err), 0);
    assert_true(s->ctx.budget.limit == cases[i].limit);
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_dump),
      cmocka_unit_test(test_statedump_and_samples),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_busiest_files),
      cmocka_unit_test(test_busy_files_stay),
      cmocka_unit_test(test_open_files),
      cmocka_unit_test(test_brick_that_does_not_count),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  gi_dict_unref(&last_answer);
  return failed;
}
