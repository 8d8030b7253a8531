/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the log: the line, JSON, the limit per message, rotation.
 */
#include "libglusterish/log.h"
#include "libglusterish/mem.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[PATH_MAX], path[PATH_MAX + 16], rotated[PATH_MAX + 16];

static int
setup(void **state)
{
  snprintf(dir, sizeof(dir), "/tmp/gi-log-test-XXXXXX");
  if (!mkdtemp(dir))
    return -1;
  snprintf(path, sizeof(path), "%s/log", dir);
  snprintf(rotated, sizeof(rotated), "%s/log.1", dir);
  return 0;
}

static int
teardown(void **state)
{
  GI_IGNORE(gi_log_open("-", GI_LOG_NONE, false));
  unlink(path);
  unlink(rotated);
  return rmdir(dir);
}

static char *
content(const char *file)
{
  static char text[1 << 20];
  FILE *f = fopen(file, "r");
  assert_non_null(f);
  text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
  fclose(f);
  return text;
}

static unsigned
count(const char *text, const char *what)
{
  unsigned n = 0;
  for (; (text = strstr(text, what)); text++)
    n++;
  return n;
}

static void
fresh(enum gi_log_level level, bool json)
{
  GI_IGNORE(gi_log_open("-", GI_LOG_NONE, false));
  unlink(path);
  assert_int_equal(gi_log_open(path, level, json), 0);
}

static void
test_line(void **state)
{
  fresh(GI_LOG_INFO, false);
  gi_log(GI_LOG_INFO, "rep3-client-0", 1, "hello [{a=%d}]\nforged", 7);
  gi_log(GI_LOG_DEBUG, "rep3-client-0", 1, "not seen");
  gi_log(GI_LOG_EMERG, NULL, 1, "no domain");
  char *text = content(path);
  int y, line, end = 0;
  assert_int_equal(sscanf(text,
                          "[%d-%*d-%*d %*d:%*d:%*d.%*6d +0000] I [MSGID: 1] [log_test.c:%d:test_line] 0-rep3-client-0: %n", &y,
                          &line, &end),
                   2);
  assert_true(y > 2000);
  const char *rest = "hello [{a=7}]\\012forged\n";
  assert_memory_equal(text + end, rest, strlen(rest));
  assert_null(strstr(text, "not seen"));
  assert_non_null(strstr(text, " M [MSGID: 1]"));
  assert_non_null(strstr(text, " 0-glusterish: no domain\n"));
}

static void
test_json(void **state)
{
  fresh(GI_LOG_INFO, true);
  gi_log(GI_LOG_WARNING, "v-\"q\"", 2, "tab\there \\ %s", "\xc3\xa4\xff\xc3");
  char *text = content(path);
  assert_non_null(strstr(text, "\"level\":\"WARNING\",\"msgid\":2,\"file\":\"log_test.c\","));
  assert_non_null(strstr(text, "\"function\":\"test_json\",\"domain\":\"v-\\\"q\\\"\","));
  assert_non_null(strstr(text, "\"message\":\"tab\\u0009here \\\\ \xc3\xa4\\u00ff\\u00c3\"}\n"));
  for (unsigned i = 0; i < GI_LOG_BURST + 3; i++)
    gi_log(GI_LOG_WARNING, "d", 22, "again");
  gi_log_set_json(false);
  text = content(path);
  assert_int_equal(count(text, "\"message\":\"again\"}"), GI_LOG_BURST);
  assert_int_equal(count(text, "\"message\":\"again\",\"repeated\":3,\"first\":\"20"), 1);
}

static void
test_limit(void **state)
{
  fresh(GI_LOG_INFO, false);
  for (unsigned i = 0; i < GI_LOG_BURST + 35; i++)
    gi_log(GI_LOG_ERROR, "v", 3, "brick %u is down", i);
  for (unsigned i = 0; i < GI_LOG_BURST + 35; i++)
    gi_log(GI_LOG_ERROR, "v", 4, "other");
  char *text = content(path);
  assert_int_equal(count(text, "is down"), GI_LOG_BURST);
  assert_int_equal(count(text, "other"), GI_LOG_BURST);
  gi_log_reopen(); /* reports what was held back */
  text = content(path);
  assert_non_null(strstr(text, "The message \"E [MSGID: 3] 0-v: brick 54 is down\" repeated 35 times between [20"));
  assert_int_equal(count(text, "repeated 35 times"), 2);
  /* More ids than are watched: the oldest slot is reused, nothing is lost. */
  fresh(GI_LOG_INFO, false);
  for (unsigned id = 1000; id < 1500; id++)
    gi_log(GI_LOG_ERROR, "v", id, "many");
  assert_int_equal(count(content(path), "many"), 500);
}

static void
test_debug_is_not_limited(void **state)
{
  fresh(GI_LOG_TRACE, false);
  for (unsigned i = 0; i < GI_LOG_BURST * 3; i++)
    gi_log(GI_LOG_TRACE, "v", 5, "traced");
  assert_int_equal(count(content(path), "traced"), GI_LOG_BURST * 3);
}

static void
test_rotation(void **state)
{
  fresh(GI_LOG_INFO, false);
  gi_log(GI_LOG_INFO, "v", 6, "before");
  assert_int_equal(rename(path, rotated), 0);
  gi_log(GI_LOG_INFO, "v", 6, "between");
  gi_log_reopen();
  gi_log(GI_LOG_INFO, "v", 6, "after");
  gi_log_block("Final graph:\n+---\n");
  assert_non_null(strstr(content(rotated), "between"));
  assert_null(strstr(content(path), "between"));
  assert_non_null(strstr(content(path), "after\nFinal graph:\n+---\n"));
  assert_int_equal(gi_log_open("/nonexistent/dir/log", GI_LOG_INFO, false), ENOENT);
  gi_log(GI_LOG_INFO, "v", 7, "still here");
  assert_non_null(strstr(content(path), "still here"));
}

static void
test_levels(void **state)
{
  enum gi_log_level level = GI_LOG_NONE;
  assert_true(gi_log_level_parse("warning", &level));
  assert_int_equal(level, GI_LOG_WARNING);
  assert_true(gi_log_level_parse("TRACE", &level));
  assert_false(gi_log_level_parse("LOUD", &level));
  assert_int_equal(level, GI_LOG_TRACE);
  gi_log_set_level(GI_LOG_ERROR);
  assert_true(gi_log_enabled(GI_LOG_ERROR));
  assert_false(gi_log_enabled(GI_LOG_WARNING));
}

static void *
chatter(void *arg)
{
  for (int i = 0; i < 200; i++)
    gi_log(GI_LOG_DEBUG, "t", 8, "from a thread %d", i);
  return NULL;
}

static void
test_threads(void **state)
{
  fresh(GI_LOG_DEBUG, false);
  pthread_t t[4];
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&t[i], NULL, chatter, NULL), 0);
  for (unsigned i = 0; i < 4; i++)
    pthread_join(t[i], NULL);
  char *text = content(path);
  assert_int_equal(count(text, "from a thread"), 800);
  assert_int_equal(count(text, "\n["), 799);
}

/* The first one is told, and then one a second with the number of those between. */
static void
test_seldom(void **state)
{
  struct gi_log_seldom s = {0};
  uint64_t untold = 77, start = 5 * GI_LOG_SELDOM_NS;
  assert_true(gi_log_seldom(&s, start, &untold));
  assert_int_equal(untold, 0);
  for (unsigned i = 0; i < 1000; i++)
    assert_false(gi_log_seldom(&s, start + i, &untold));
  assert_false(gi_log_seldom(&s, start + GI_LOG_SELDOM_NS - 1, &untold));
  assert_true(gi_log_seldom(&s, start + GI_LOG_SELDOM_NS, &untold));
  assert_int_equal(untold, 1001);
  assert_true(gi_log_seldom(&s, start + 9 * GI_LOG_SELDOM_NS, &untold));
  assert_int_equal(untold, 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_line),     cmocka_unit_test(test_json),
      cmocka_unit_test(test_limit),    cmocka_unit_test(test_debug_is_not_limited),
      cmocka_unit_test(test_rotation), cmocka_unit_test(test_levels),
      cmocka_unit_test(test_threads),  cmocka_unit_test(test_seldom),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
