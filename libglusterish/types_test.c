/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the value types and of errors.
 */
#include "libglusterish/error.h"
#include "libglusterish/mem.h"
#include "libglusterish/types.h"
#include "libglusterish/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

static void
test_gfid(void **state)
{
  struct gi_gfid g;
  char text[GI_UUID_TEXT];
  assert_true(gi_gfid_parse("65200ff4-f710-4c74-aeae-2176295F5b65", &g));
  assert_true(gi_gfid_ino(&g) == 12587034799931087717ull); /* the example of wire.md 3.2 */
  assert_string_equal(gi_gfid_text(&g, text), "65200ff4-f710-4c74-aeae-2176295f5b65");
  assert_int_equal(gi_gfid_ino(&gi_gfid_root), 1);
  assert_true(gi_gfid_is_root(&gi_gfid_root) && gi_gfid_is_none(&gi_gfid_none));
  static const char *const bad[] = {"",
                                    "65200ff4",
                                    "65200ff4-f710-4c74-aeae-2176295f5b6",
                                    "65200ff4-f710-4c74-aeae-2176295f5b655",
                                    "65200ff4-f710-4c74-aeae-2176295f5b6g",
                                    "65200ff4xf710-4c74-aeae-2176295f5b65"};
  struct gi_gfid same = g;
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad); i++)
    assert_false(gi_gfid_parse(bad[i], &g));
  assert_true(gi_gfid_equal(&g, &same));
}

static void
test_iatt(void **state)
{
  struct stat st = {.st_mode = S_IFBLK | 0640,
                    .st_rdev = makedev(8, 17),
                    .st_size = 5,
                    .st_uid = 3,
                    .st_nlink = 2,
                    .st_ino = 99,
                    .st_mtim = {.tv_sec = -7, .tv_nsec = 8},
                    .st_blksize = 4096,
                    .st_blocks = 1},
              back;
  struct gi_iatt iatt;
  gi_iatt_from_stat(&iatt, &st, &gi_gfid_root);
  assert_true(gi_iatt_valid(&iatt));
  assert_int_equal(iatt.ino, 1);
  assert_true(iatt.rdev == (8ull << 32 | 17));
  assert_int_equal(iatt.flags, GI_IATT_BASIC);
  gi_iatt_to_stat(&iatt, &back);
  assert_int_equal(back.st_ino, 1);
  st.st_ino = 1;
  assert_memory_equal(&st, &back, sizeof(st));
}

static void
test_error(void **state)
{
  struct gi_error err;
  assert_int_equal(gi_error_set(NULL, 1, "x"), -1);
  gi_error_prefix(NULL, "x");
  assert_int_equal(gi_error_set(&err, 2, "no %s", "file"), -1);
  gi_error_prefix(&err, "load %d", 7);
  assert_string_equal(err.text, "load 7: no file");
  assert_int_equal(err.code, 2);
  gi_error_set(&err, 3, "again: %s", err.text);
  assert_string_equal(err.text, "again: load 7: no file");
  for (unsigned i = 0; i < 200; i++)
    gi_error_prefix(&err, "prefix");
  assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void
test_words(void **state)
{
  assert_true(gi_word_in("one two", "one"));
  assert_true(gi_word_in("one two", "two"));
  assert_true(gi_word_in(" two ", "two"));
  assert_false(gi_word_in("one two", "tw"));
  assert_false(gi_word_in("onetwo", "two"));
  assert_false(gi_word_in("", "two"));
  assert_false(gi_word_in(NULL, "two"));
}

static void
test_owner_text(void **state)
{
  struct gi_owner o = {.len = 3, .data = {0x00, 0x9f, 0x0a}};
  char text[GI_OWNER_TEXT];
  assert_string_equal(gi_owner_text(&o, text), "009f0a");
  o.len = 0;
  assert_string_equal(gi_owner_text(&o, text), "");
  o.len = GI_OWNER_MAX;
  assert_int_equal(strlen(gi_owner_text(&o, text)), GI_OWNER_TEXT - 1);
}

static void
test_times(void **state)
{
  const struct gi_time early = {-1, 999999999}, t = {5, 7}, late = {5, 8};
  struct gi_time max = t;

  assert_true(gi_time_later(&late, &t) && gi_time_later(&t, &early));
  assert_false(gi_time_later(&t, &late) || gi_time_later(&early, &t) || gi_time_later(&t, &t));
  gi_time_raise(&max, &early);
  assert_int_equal(max.nsec, 7);
  gi_time_raise(&max, &late);
  assert_int_equal(max.nsec, 8);
}

static void
test_utf8(void **state)
{
  static const struct {
    const char *text;
    unsigned len;
  } rows[] = {{"", 1},
              {"a", 1},
              {"\xc3\xa4", 2},
              {"\xe2\x82\xac", 3},
              {"\xf0\x9f\x90\x9f", 4},
              {"\xf4\x8f\xbf\xbf", 4},
              {"\x80", 0},             /* goes on with nothing */
              {"\xc3", 0},             /* cut off */
              {"\xe2\x82", 0},         /* likewise */
              {"\xc0\xaf", 0},         /* not the shortest form */
              {"\xe0\x80\xaf", 0},     /* likewise */
              {"\xf0\x80\x80\xaf", 0}, /* likewise */
              {"\xed\xa0\x80", 0},     /* half of a pair */
              {"\xf4\x90\x80\x80", 0}, /* beyond the last */
              {"\xff", 0}};
  for (size_t i = 0; i < GI_ARRAY_LEN(rows); i++)
    assert_int_equal(gi_utf8_len(rows[i].text), rows[i].len);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gfid),  cmocka_unit_test(test_owner_text), cmocka_unit_test(test_utf8),
      cmocka_unit_test(test_times), cmocka_unit_test(test_iatt),       cmocka_unit_test(test_error),
      cmocka_unit_test(test_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
