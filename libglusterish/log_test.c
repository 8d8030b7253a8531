/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the log: the line, JSON, the limit per message, rotation.
 */
#include "libglusterish/log.h"
#include "libglusterish/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* The log's clock stands still unless a test moves it: nothing here depends on how fast the machine is. */
static uint64_t clock_ns = 1700000000000000000;

static void
read_clock(struct timespec *now)
{
  *now = (struct timespec){.tv_sec = (time_t)(clock_ns / 1000000000), .tv_nsec = (long)(clock_ns % 1000000000)};
}

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
  clock_ns += 2 * GI_LOG_QUIET_S * 1000000000ull; /* whatever was said before begins anew */
  clock_ns -= clock_ns % 1000000000;
  gi_log_set_clock(read_clock);
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
  assert_int_equal(count(text, "\"message\":\"again\",\"seen\":3,\"seconds\":1}\n"), 1);
}

/* Every line of the log is an object of its own, whatever is in it. */
static void
check_json_lines(unsigned least)
{
  unsigned n = 0;
  for (char *line = content(path), *end; *line; line = end + 1, n++) {
    end = strchr(line, '\n');
    assert_non_null(end);
    assert_true(line[0] == '{' && end[-1] == '}');
    /* Quotes that are not escaped come in pairs, and no byte is a control character. */
    unsigned quotes = 0;
    for (char *c = line; c < end; c++) {
      assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
      if (*c == '\\')
        c++;
      else
        quotes += *c == '"';
    }
    assert_true(quotes > 0 && quotes % 2 == 0);
  }
  assert_true(n >= least);
}

static void
test_json_of_any_bytes(void **state)
{
  char all[256], much[9000];
  for (unsigned i = 0; i < 255; i++)
    all[i] = (char)(i + 1);
  all[255] = 0;
  memset(much, 1, sizeof(much) - 1);
  much[sizeof(much) - 1] = 0;
  fresh(GI_LOG_INFO, true);
  gi_log(GI_LOG_WARNING, all, 23, "%s", all);
  gi_log(GI_LOG_WARNING, much, 23, "%s", much);
  memset(much, '"', sizeof(much) - 1);
  for (unsigned i = 0; i < GI_LOG_BURST + 2; i++)
    gi_log(GI_LOG_WARNING, much, 24, "%s", much);
  gi_log_block("Final graph:\n\n+-\"--\nno end");
  gi_log_reopen();
  check_json_lines(2 + GI_LOG_BURST + 4 + 1);
  assert_non_null(strstr(content(path), "\"seen\":2,"));
  assert_non_null(strstr(content(path), "\"message\":\"+-\\\"--\"}\n"));
}

static void
test_limit(void **state)
{
  fresh(GI_LOG_INFO, false);
  for (unsigned i = 0; i < GI_LOG_BURST + 35; i++)
    gi_log(GI_LOG_ERROR, "v", 3, "brick %u is down", i);
  for (unsigned i = 0; i < GI_LOG_BURST + 35; i++)
    gi_log(GI_LOG_ERROR, "v", 4, "other");
  gi_log(GI_LOG_ERROR, "w", 3, "another one says it");
  char *text = content(path);
  assert_int_equal(count(text, "is down"), GI_LOG_BURST);
  assert_int_equal(count(text, "other"), GI_LOG_BURST + 1);
  gi_log_reopen(); /* tells what was held back */
  text = content(path);
  assert_non_null(strstr(text, "test_limit] 0-v: brick 39 is down (seen 35 times in the last 1 s)\n"));
  assert_int_equal(count(text, "(seen 35 times"), 2);
  /* More messages than are watched: the oldest place is used again, nothing is lost. */
  fresh(GI_LOG_INFO, false);
  for (unsigned i = 0; i < GI_LOG_BURST + 7; i++)
    gi_log(GI_LOG_ERROR, "v", 900, "counted");
  for (unsigned id = 1000; id < 1500; id++)
    gi_log(GI_LOG_ERROR, "v", id, "many");
  assert_int_equal(count(content(path), "many"), 500);
  assert_int_equal(count(content(path), "counted (seen 7 times"), 1);
}

/* A hundred a second for a quarter of an hour: after the first few never two in a second, and ever fewer. */
static void
test_storm(void **state)
{
  unsigned lines = 0, in_second = 0;
  fresh(GI_LOG_INFO, false);
  for (unsigned i = 0; i < 90000; i++, clock_ns += 10000000) {
    if (clock_ns % 1000000000 == 0) {
      unsigned now = count(content(path), "\n");
      in_second = now - lines;
      lines = now;
      assert_true(in_second <= (i <= 100 ? GI_LOG_BURST : 1));
    }
    gi_log(GI_LOG_ERROR, "v", 31, "storm %u", i);
  }
  assert_in_range(count(content(path), "\n"), GI_LOG_BURST + 8, GI_LOG_BURST + 11);
  assert_non_null(strstr(content(path), "0-v: storm 104 (seen 100 times in the last 1 s)\n"));
  /* The last ones are told though none follows, and a message that was quiet begins anew. */
  assert_true(gi_log_holds());
  clock_ns += GI_LOG_PAUSE_MAX_S * 1000000000ull;
  gi_log_tell();
  assert_false(gi_log_holds());
  assert_non_null(strstr(content(path), "0-v: storm 89999 (seen "));
  clock_ns += GI_LOG_QUIET_S * 1000000000ull;
  for (unsigned i = 0; i < GI_LOG_BURST; i++)
    gi_log(GI_LOG_ERROR, "v", 31, "anew");
  assert_int_equal(count(content(path), "0-v: anew\n"), GI_LOG_BURST);
}

/* A clock that is set back holds nothing back. */
static void
test_clock_set_back(void **state)
{
  fresh(GI_LOG_INFO, false);
  for (unsigned i = 0; i < GI_LOG_BURST + 1; i++)
    gi_log(GI_LOG_ERROR, "v", 32, "before");
  clock_ns -= 5000000000;
  gi_log(GI_LOG_ERROR, "v", 32, "after");
  assert_non_null(strstr(content(path), "after (seen 2 times in the last 1 s)"));
}

/* What went wrong lately can be asked for, counted, newest first; many texts of one message leave room for others. */
static void
test_recent(void **state)
{
  struct gi_log_recent e[GI_LOG_RECENT];
  char *text = NULL;
  size_t len;
  fresh(GI_LOG_INFO, false);
  gi_log(GI_LOG_ERROR, "v-\"1\"", 40, "stays %s", "\xff\n");
  for (unsigned i = 0; i < 1000; i++)
    gi_log(GI_LOG_WARNING, "v", 41, "file %u", i);
  for (unsigned i = 0; i < 30; i++)
    gi_log(GI_LOG_ERROR, "v", 42, "same");
  gi_log(GI_LOG_INFO, "v", 43, "nothing wrong");
  unsigned n = gi_log_recent(e);
  assert_true(n >= 6);
  assert_string_equal(e[n - 1].text, "same");
  assert_int_equal(e[n - 1].seen, 30);
  assert_string_equal(e[n - 2].text, "file 999");
  assert_string_equal(e[n - 5].text, "file 996");
  assert_string_equal(e[n - 6].domain, "v-\"1\"");
  FILE *f = open_memstream(&text, &len);
  gi_log_recent_json(f);
  fclose(f);
  assert_ptr_equal(strstr(text, "{\"errors\":[{\"time\":\"20"), text);
  assert_non_null(strstr(text, "Z\",\"level\":\"ERROR\",\"id\":42,\"domain\":\"v\",\"text\":\"same\",\"seen\":30},{"));
  assert_non_null(strstr(text, "\"domain\":\"v-\\\"1\\\"\",\"text\":\"stays \\u00ff\\u000a\",\"seen\":1}"));
  assert_null(strstr(text, "nothing wrong"));
  free(text);
  for (unsigned i = 0; i < 2 * GI_LOG_RECENT; i++)
    gi_log(GI_LOG_WARNING, "v", 4000 + i, "other");
  assert_int_equal(gi_log_recent(e), GI_LOG_RECENT);
  assert_int_equal(e[0].msgid, 4000 + GI_LOG_RECENT);
}

/* Where standard error is the journal's, lines carry the mark of their level and leave the time to it. */
static void
test_journal(void **state)
{
  struct stat st;
  char stream[64];
  int old = dup(STDERR_FILENO), fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
  assert_true(old >= 0 && fd >= 0 && fstat(fd, &st) == 0);
  snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
  setenv("JOURNAL_STREAM", stream, 1);
  fflush(stderr);
  dup2(fd, STDERR_FILENO);
  int ret = gi_log_open("-", GI_LOG_INFO, false);
  gi_log(GI_LOG_WARNING, "v", 50, "to the journal");
  gi_log(GI_LOG_EMERG, "v", 50, "not to every terminal");
  gi_log_set_json(true);
  gi_log(GI_LOG_INFO, "v", 50, "with members");
  setenv("JOURNAL_STREAM", "1:1", 1); /* of somebody else: it was redirected */
  GI_IGNORE(gi_log_open("-", GI_LOG_INFO, false));
  gi_log(GI_LOG_WARNING, "v", 50, "to a file");
  dup2(old, STDERR_FILENO);
  close(old);
  close(fd);
  unsetenv("JOURNAL_STREAM");
  char *text = content(path);
  assert_int_equal(ret, 0);
  assert_ptr_equal(strstr(text, "<4>[MSGID: 50] [log_test.c:"), text);
  assert_non_null(strstr(text, "\n<1>[MSGID: 50] "));
  assert_non_null(strstr(text, "\n<6>{\"time\":"));
  assert_non_null(strstr(text, "\n[20"));
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

static void
test_counts(void **state)
{
  struct gi_log_counts before, after;
  assert_int_equal(gi_log_open(path, GI_LOG_INFO, false), 0);
  gi_log_count(&before);
  clock_ns += 1000ull * 1000000000; /* whatever was limited is over */
  gi_log(GI_LOG_ERROR, "test", 990001, "an error");
  gi_log(GI_LOG_CRITICAL, "test", 990002, "a worse one");
  gi_log(GI_LOG_WARNING, "test", 990003, "a warning");
  gi_log(GI_LOG_DEBUG, "test", 990004, "not let through");
  for (unsigned i = 0; i < 2 * GI_LOG_BURST; i++)
    gi_log(GI_LOG_INFO, "test", 990005, "again and again");
  gi_log_count(&after);
  assert_int_equal(after.errors - before.errors, 2);
  assert_int_equal(after.warnings - before.warnings, 1);
  assert_int_equal(after.others - before.others, 2 * GI_LOG_BURST);
  assert_true(after.unwritten > before.unwritten && after.unwritten - before.unwritten < 2 * GI_LOG_BURST);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_line),     cmocka_unit_test(test_json),    cmocka_unit_test(test_json_of_any_bytes),
      cmocka_unit_test(test_limit),    cmocka_unit_test(test_storm),   cmocka_unit_test(test_clock_set_back),
      cmocka_unit_test(test_recent),   cmocka_unit_test(test_journal), cmocka_unit_test(test_debug_is_not_limited),
      cmocka_unit_test(test_rotation), cmocka_unit_test(test_levels),  cmocka_unit_test(test_threads),
      cmocka_unit_test(test_counts),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
