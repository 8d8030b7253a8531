/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of options: every type, every message of volume-options.md.
 */
#include "libglusterish/options.h"
#include "libglusterish/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

struct values {
  bool flag;
  int64_t number;
  uint64_t size, time, count;
  double percent, ratio;
  struct gi_percent_or_size reserve;
  char *text, *level, *path, *allow;
  int policy, unset_word;
};

#define AT(m) offsetof(struct values, m)
static const char *const policies[] = {"none", "size", "ctime", "mtime", "majority", NULL};
static const char *const patterns[] = {"DEBUG", "WARN*", NULL};

static const struct gi_option table[] = {
    {.name = "flush-behind",
     .key = "performance.flush-behind",
     .type = GI_OPT_BOOL,
     .offset = AT(flag),
     .def = "on",
     .live = true,
     .since = "0.1",
     .text = "Answer flush early."},
    {.name = "thread-count", .type = GI_OPT_INT, .offset = AT(number), .def = "16", .min = 1, .max = 64},
    {.name = "shard-block-size",
     .alias = "block-size",
     .type = GI_OPT_SIZE,
     .offset = AT(size),
     .def = "64MB",
     .min = 4194304,
     .max = 4398046511104},
    {.name = "frame-timeout", .type = GI_OPT_TIME, .offset = AT(time), .def = "30min", .min = 0, .max = 86400},
    {.name = "at-least", .type = GI_OPT_SIZE, .offset = AT(count), .min = 10, .max = INFINITY},
    {.name = "min-free-inodes", .type = GI_OPT_PERCENT, .offset = AT(percent), .def = "5%"},
    {.name = "ratio", .type = GI_OPT_DOUBLE, .offset = AT(ratio), .def = "0.5", .min = 0, .max = 1},
    {.name = "min-free-disk", .type = GI_OPT_PERCENT_OR_SIZE, .offset = AT(reserve), .def = "10%"},
    {.name = "favorite-child-policy", .type = GI_OPT_ENUM, .offset = AT(policy), .def = "none", .words = policies},
    {.name = "algorithm", .type = GI_OPT_ENUM, .offset = AT(unset_word), .words = policies},
    {.name = "log-level", .type = GI_OPT_STR, .offset = AT(level), .words = patterns},
    {.name = "text", .type = GI_OPT_STR, .offset = AT(text), .def = "abc"},
    {.name = "changelog-dir", .type = GI_OPT_PATH, .offset = AT(path)},
    {.name = "allow", .type = GI_OPT_ADDRESS_LIST, .offset = AT(allow), .def = "*"},
    {.name = "auth.addr.*.allow", .type = GI_OPT_ADDRESS_LIST, .wildcard = true},
    GI_OPTION_END,
};

static const struct gi_option *
opt(const char *name)
{
  const struct gi_option *o = gi_option_find(table, name);
  assert_non_null(o);
  return o;
}

static void
refused(const char *name, const char *value, const char *message)
{
  struct gi_error err = {0};
  assert_int_equal(gi_option_check(opt(name), value, &err), -1);
  assert_string_equal(err.text, message);
  assert_true(err.code != 0);
  assert_int_equal(gi_option_check(opt(name), value, NULL), -1);
}

static void
test_messages(void **state)
{
  refused("flush-behind", "maybe", "option flush-behind maybe: 'maybe' is not a valid boolean value");
  refused("thread-count", "abc", "invalid number format \"abc\" in option \"thread-count\"");
  refused("thread-count", "65", "'65' in 'option thread-count 65' is out of range [1 - 64]");
  refused("shard-block-size", "64M", "invalid number format \"64M\" in option \"shard-block-size\"");
  refused("shard-block-size", "64MiB", "invalid number format \"64MiB\" in option \"shard-block-size\"");
  refused("shard-block-size", "0x100000", "invalid number format \"0x100000\" in option \"shard-block-size\"");
  refused("shard-block-size", "100", "'100' in 'option shard-block-size 100' is out of range [4194304 - 4398046511104]");
  refused("shard-block-size", "1KB", "'1024' in 'option shard-block-size 1KB' is out of range [4194304 - 4398046511104]");
  refused("at-least", "9", "'9' in 'option at-least 9' is smaller than minimum value '10'");
  refused("frame-timeout", "1.5", "invalid time format \"1.5\" in option \"frame-timeout\"");
  refused("frame-timeout", "2d", "'172800' in 'option frame-timeout 2d' is out of range [0 - 86400]");
  refused("min-free-inodes", "abc", "invalid percent format \"abc\" in \"option min-free-inodes\"");
  refused("min-free-inodes", "101%", "'101.000000' in 'option min-free-inodes 101%' is out of range [0 - 100]");
  refused("min-free-disk", "200%", "'200.000000' in 'option min-free-disk 200%' is out of range [0 - 100]");
  refused("min-free-disk", "abc", "invalid number format \"abc\" in \"option min-free-disk\"");
  refused("min-free-disk", "-5", "invalid number format \"-5\" in \"option min-free-disk\"");
  refused("min-free-disk", "1.5",
          "'1.500000' in 'option min-free-disk 1.5' should not be fractional value. Use valid unsigned integer value.");
  refused("min-free-inodes", "-1%", "invalid percent format \"-1%\" in \"option min-free-inodes\"");
  refused("ratio", "2", "'2.000000' in 'option ratio 2' is out of range [0 - 1]");
  refused("ratio", "nan", "invalid number format \"nan\" in option \"ratio\"");
  refused("favorite-child-policy", "foo",
          "option favorite-child-policy foo: 'foo' is not valid (possible options are none, size, ctime, mtime, majority.)");
  refused("log-level", "INFO", "option log-level INFO: 'INFO' is not valid (possible options are DEBUG, WARN*.)");
  refused("changelog-dir", "nodir", "option changelog-dir nodir: 'nodir' is not an absolute path name");
  refused("allow", "10.**", "option allow 10.**: '10.**' is not a valid internet-address-list");
}

static void
test_parse(void **state)
{
  struct values v = {0};
  struct gi_error err;
  gi_options_default(table, &v);
  assert_int_equal(v.unset_word, -1); /* not the first word */
  assert_true(v.flag);
  assert_int_equal(v.number, 16);
  assert_int_equal(v.size, 64 << 20);
  assert_int_equal(v.time, 1800);
  assert_true(v.percent == 5 && v.ratio == 0.5);
  assert_true(v.reserve.is_percent && v.reserve.value == 10);
  assert_int_equal(v.policy, 0);
  assert_null(v.level);
  assert_string_equal(v.text, "abc");

  assert_int_equal(gi_option_parse(opt("favorite-child-policy"), "mtime", &v, &err), 0);
  assert_int_equal(v.policy, 3);
  assert_int_equal(gi_option_parse(opt("log-level"), "WARNING", &v, &err), 0);
  assert_string_equal(v.level, "WARNING");
  assert_int_equal(gi_option_parse(opt("text"), "", &v, &err), 0);
  assert_string_equal(v.text, "");
  assert_int_equal(gi_option_parse(opt("min-free-disk"), "100", &v, &err), 0);
  assert_true(v.reserve.is_percent && v.reserve.value == 100);
  assert_int_equal(gi_option_parse(opt("min-free-disk"), "101", &v, &err), 0);
  assert_true(!v.reserve.is_percent && v.reserve.value == 101);
  assert_int_equal(gi_option_parse(opt("min-free-disk"), "5GB", &v, &err), 0);
  assert_true(!v.reserve.is_percent && v.reserve.value == 5368709120.0);
  assert_int_equal(gi_option_parse(opt("min-free-disk"), "7%", &v, &err), 0);
  assert_true(v.reserve.is_percent && v.reserve.value == 7);
  /* A refused value changes nothing. */
  assert_int_equal(gi_option_parse(opt("changelog-dir"), "/a", &v, &err), 0);
  assert_int_equal(gi_option_parse(opt("changelog-dir"), "a", &v, &err), -1);
  assert_string_equal(v.path, "/a");
  assert_int_equal(gi_option_parse(opt("auth.addr./b.allow"), "10.0.0.1", &v, &err), 0);
  gi_options_free(table, &v);
  assert_null(v.text);
  gi_options_free(table, &v);
}

static void
test_find(void **state)
{
  assert_ptr_equal(opt("block-size"), opt("shard-block-size"));
  assert_true(opt("auth.addr./bricks/b1.allow")->wildcard);
  assert_null(gi_option_find(table, "nothing"));
  assert_null(gi_option_find(NULL, "nothing"));
}

static void
test_bool(void **state)
{
  static const char *const yes[] = {"on", "Yes", "TRUE", "enable", "1"}, *const no[] = {"off", "NO", "false", "Disable", "0"};
  static const char *const bad[] = {"", "2", "y", "enabled", " on", "on "};
  bool b;
  for (unsigned i = 0; i < 5; i++) {
    assert_true(gi_parse_bool(yes[i], &b) && b);
    assert_true(gi_parse_bool(no[i], &b) && !b);
  }
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad); i++)
    assert_false(gi_parse_bool(bad[i], &b));
}

static void
test_numbers(void **state)
{
  uint64_t u = 0;
  int64_t n = 0;
  static const struct {
    const char *text;
    uint64_t value;
  } sizes[] = {{"0", 0},
               {"7", 7},
               {"7b", 7},
               {"1KB", 1024},
               {"2mb", 2 << 20},
               {"3Gb", 3ull << 30},
               {"1TB", 1ull << 40},
               {"1PB", 1ull << 50},
               {"1.5KB", 1536},
               {"0.5GB", 1 << 29},
               {".5GB", 1 << 29},
               {"1.GB", 1 << 30},
               {"+1MB", 1 << 20},
               {"18446744073709551615", UINT64_MAX}};
  for (unsigned i = 0; i < GI_ARRAY_LEN(sizes); i++) {
    assert_true(gi_parse_size(sizes[i].text, &u));
    assert_true(u == sizes[i].value);
  }
  static const char *const bad_sizes[] = {"",        "KB",    "64M", "64k",  "64MiB", "0x10", "-1",
                                          "+",       ".",     "++1", "1 KB", " 1",    "1e3",  "18446744073709551616",
                                          "16384PB", "1.5.5", "1EB"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad_sizes); i++)
    assert_false(gi_parse_size(bad_sizes[i], &u));

  static const struct {
    const char *text;
    uint64_t value;
  } times[] = {{"90", 90},    {"90s", 90},  {"9sec", 9},   {"+5", 5},         {"5m", 300},    {"5min", 300},
               {"1hr", 3600}, {"1h", 3600}, {"1d", 86400}, {"2days", 172800}, {"1w", 604800}, {"1wk", 604800}};
  for (unsigned i = 0; i < GI_ARRAY_LEN(times); i++) {
    assert_true(gi_parse_time(times[i].text, &u));
    assert_true(u == times[i].value);
  }
  static const char *const bad_times[] = {"",
                                          "s",
                                          "1.5",
                                          "-1",
                                          "1y",
                                          "1 h",
                                          "5S",
                                          "5day",
                                          "5mins",
                                          "1hrs",
                                          "1Min",
                                          "1week",
                                          "0.5wk",
                                          "99999999999999999999",
                                          "9999999999999999999wk"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad_times); i++)
    assert_false(gi_parse_time(bad_times[i], &u));

  assert_true(gi_parse_int("-12", &n) && n == -12);
  assert_true(gi_parse_int("+12", &n) && n == 12);
  assert_true(gi_parse_int("0x10", &n) && n == 16);
  assert_true(gi_parse_int("0777", &n) && n == 511);
  static const char *const bad_ints[] = {"", "-", "abc", "1x", " 1", "1.5", "9223372036854775808", "--1", "08"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad_ints); i++)
    assert_false(gi_parse_int(bad_ints[i], &n));
}

static void
test_addresses(void **state)
{
  static const char *const good[] = {
      "*",          "10.0.0.1", "10.*",    "192.168.1.*", "10.*.1",       "10.*.*.*",           "10.0.0.0/8",
      "fe80::/10",  "::1",      "fe80::*", "node1",       "a,b,10.1.2.3", "host-1.example.com", "/sub(10.1.1.1|node2),/(*)",
      "10.0.0.256", "a,,b",     "a,",      ",",           "1.2.3.4.5"};
  static const char *const bad[] = {"",    "10.**", "**",    "10.0.0.0/33", "a/b",       "a b",       "fe80::/129", "a..b",
                                    ":::", "gg::1", "/sub(", "/sub()",      "/sub(a",    "/sub(a_b)", "/sub",       "10..1",
                                    "!x",  "@x",    "/",     "a_b",         "*a",        "a*b",       "*.a.b",      "10.1*",
                                    "-a",  "a-",    "a.",    "10.",         "1.2.3.4.*", "10.0.0.1/", "[::1]",      "a.-b"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(good); i++) {
    if (gi_option_check(opt("allow"), good[i], NULL) != 0)
      fail_msg("refused: %s", good[i]);
  }
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad); i++) {
    if (gi_option_check(opt("allow"), bad[i], NULL) == 0)
      fail_msg("accepted: %s", bad[i]);
  }
}

static void
test_help(void **state)
{
  char buf[128], *text;
  size_t len;
  assert_string_equal(gi_option_type_text(opt("flush-behind"), buf, sizeof(buf)), "boolean");
  assert_string_equal(gi_option_type_text(opt("favorite-child-policy"), buf, sizeof(buf)),
                      "one of none|size|ctime|mtime|majority");
  for (const struct gi_option *o = table; o->name; o++)
    assert_true(strlen(gi_option_type_text(o, buf, 12)) > 0);
  FILE *out = open_memstream(&text, &len);
  gi_option_doc(opt("flush-behind"), out);
  gi_option_doc(opt("thread-count"), out);
  fclose(out);
  assert_non_null(
      strstr(text, "### flush-behind\n\nAnswer flush early.\n\n- Volume option: `performance.flush-behind`\n- Type: boolean\n"
                   "- Default: `on`\n- Applied: live, to a running graph\n- Since: 0.1\n\n"));
  assert_non_null(strstr(text, "- Range: 1 to 64\n"));
  free(text);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_messages), cmocka_unit_test(test_parse),   cmocka_unit_test(test_find),
      cmocka_unit_test(test_bool),     cmocka_unit_test(test_numbers), cmocka_unit_test(test_addresses),
      cmocka_unit_test(test_help),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
