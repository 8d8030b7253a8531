/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/io-stats: what is counted, who is told, and that it is off when it is off.
 */
#include "tests/unit/fake.h"

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

static struct gi_dict *
profile(struct fake_stack *s, const char *what)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_GETXATTR);
  f->caller.pid = -1;
  f->args.name = what;
  fake_submit(s, f);
  return f->rsp.dict;
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
  struct gi_dict *d = profile(s, "glusterish.io-stats.all");
  assert_int_equal(number(d, "-1-12-hits"), 2);
  assert_int_equal(number(d, "-1-25-hits"), 1);
  assert_int_equal(number(d, "-1-total-read"), 9096);
  assert_int_equal(number(d, "-1-read-4096"), 2);
  assert_int_equal(number(d, "0-12-hits"), 2);
  const char *avg;
  assert_true(gi_dict_get_str(d, "-1-12-avglatency", &avg));
  assert_true(atof(avg) > 0);
  d = profile(s, "glusterish.io-stats.incremental-peek"); /* a new interval has begun */
  assert_int_equal(number(d, "interval"), 1);
  assert_int_equal(number(d, "1-12-hits"), ~0ull);
  send(s, GI_FOP_READ, 1);
  d = profile(s, "glusterish.io-stats.all-peek");
  assert_int_equal(number(d, "1-12-hits"), 1);
  assert_int_equal(number(d, "-1-12-hits"), 3);
  d = profile(s, "glusterish.io-stats.clear");
  assert_int_equal(number(d, "stats-cleared"), 1);
  assert_int_equal(number(profile(s, "glusterish.io-stats.cumulative"), "-1-12-hits"), ~0ull);
  assert_null(profile(s, "glusterish.io-stats.nonsense"));
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
  snprintf(path, sizeof(path), "%s/-.-x", dir);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
  fclose(in);
  assert_non_null(strstr(text, "Data read: 4096 bytes"));
  assert_non_null(strstr(text, "READ"));
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
      cmocka_unit_test(test_transparent),           cmocka_unit_test(test_counts),       cmocka_unit_test(test_dump),
      cmocka_unit_test(test_statedump_and_samples), cmocka_unit_test(test_memory_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
