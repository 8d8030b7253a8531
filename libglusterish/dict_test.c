/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the dictionary.
 */
#include "libglusterish/dict.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void
test_null_reads_as_empty(void **state)
{
  int64_t i;
  const char *s;
  assert_int_equal(gi_dict_count(NULL), 0);
  assert_null(gi_dict_get(NULL, "k"));
  assert_false(gi_dict_get_int(NULL, "k", &i));
  assert_false(gi_dict_get_str(NULL, "k", &s));
  assert_false(gi_dict_del(NULL, "k"));
  assert_null(gi_dict_ref(NULL));
  struct gi_dict *none = NULL;
  gi_dict_unref(&none);
  struct gi_dict *d = gi_dict_copy(NULL);
  assert_int_equal(gi_dict_count(d), 0);
  gi_dict_merge(d, NULL);
  gi_dict_unref(&d);
  assert_null(d);
}

static void
test_types(void **state)
{
  struct gi_dict *d = gi_dict_new();
  struct gi_gfid gfid = {{1, 2, 3}};
  struct gi_iatt iatt = {.gfid = gfid, .size = 77, .mode = 0100644};
  double half = 0.5;
  gi_dict_set_int(d, "int", -5);
  gi_dict_set_uint(d, "uint", UINT64_MAX);
  gi_dict_set_str(d, "str", "hello");
  gi_dict_set_bin(d, "bin", "a\0b", 3);
  gi_dict_set_gfid(d, "gfid", &gfid);
  gi_dict_set_iatt(d, "iatt", &iatt);
  gi_dict_set_raw(d, "half!", 4, GI_VALUE_DOUBLE, &half, 8);
  assert_int_equal(gi_dict_count(d), 7);

  const char *names[] = {"int", "uint", "str", "bin", "gfid", "iatt", "half"};
  for (unsigned i = 0; i < 7; i++)
    assert_string_equal(gi_dict_at(d, i)->key, names[i]);
  assert_int_equal(gi_dict_get(d, "int")->i, -5);
  assert_true(gi_dict_get(d, "uint")->u == UINT64_MAX);
  assert_int_equal(gi_dict_get(d, "str")->len, 6);
  assert_int_equal(gi_dict_get(d, "iatt")->iatt->size, 77);
  assert_int_equal(gi_dict_get(d, "iatt")->len, sizeof(iatt));
  assert_true(gi_dict_get(d, "half")->d == 0.5);
  for (unsigned i = 2; i < 6; i++)
    assert_int_equal((uintptr_t)gi_dict_at(d, i)->data % 8, 0);

  const void *data;
  uint32_t len;
  assert_true(gi_dict_get_bin(d, "bin", &data, &len));
  assert_int_equal(len, 3);
  assert_memory_equal(data, "a\0b", 4);
  assert_false(gi_dict_get_bin(d, "int", &data, &len));
  struct gi_gfid out;
  assert_true(gi_dict_get_gfid(d, "gfid", &out));
  assert_true(gi_gfid_equal(&out, &gfid));
  assert_false(gi_dict_get_gfid(d, "bin", &out));
  gi_dict_unref(&d);
}

static void
test_lenient_getters(void **state)
{
  struct gi_dict *d = gi_dict_new();
  int64_t i = 1;
  uint64_t u = 1;
  const char *s = NULL;
  gi_dict_set_str(d, "n", "-42");
  assert_true(gi_dict_get_int(d, "n", &i));
  assert_int_equal(i, -42);
  assert_false(gi_dict_get_uint(d, "n", &u));
  gi_dict_set_decimal(d, "n", UINT64_MAX);
  assert_true(gi_dict_get_str(d, "n", &s));
  assert_string_equal(s, "18446744073709551615");
  gi_dict_set_raw(d, "n", 1, GI_VALUE_STR_OLD, "18446744073709551615", 20); /* without its NUL */
  assert_true(gi_dict_get_uint(d, "n", &u));
  assert_true(u == UINT64_MAX);
  assert_false(gi_dict_get_int(d, "n", &i));
  assert_false(gi_dict_get_str(d, "n", &s));
  const char *bad[] = {"", " 1", "1x", "0x10", "-", "--1", "99999999999999999999"};
  for (unsigned k = 0; k < GI_ARRAY_LEN(bad); k++) {
    gi_dict_set_str(d, "n", bad[k]);
    assert_false(gi_dict_get_int(d, "n", &i));
    assert_false(gi_dict_get_uint(d, "n", &u));
  }
  gi_dict_set_bin(d, "n", "1\0002", 3);
  assert_false(gi_dict_get_int(d, "n", &i));
  assert_false(gi_dict_get_str(d, "n", &s));
  gi_dict_set_bin(d, "n", "", 0);
  assert_false(gi_dict_get_str(d, "n", &s));
  gi_dict_set_int(d, "n", -1);
  assert_false(gi_dict_get_uint(d, "n", &u));
  gi_dict_set_uint(d, "n", UINT64_MAX);
  assert_false(gi_dict_get_int(d, "n", &i));
  assert_int_equal(i, -42);
  gi_dict_unref(&d);
}

static void
test_replace_and_delete(void **state)
{
  struct gi_dict *d = gi_dict_new();
  char big[3000];
  memset(big, 'x', sizeof(big));
  gi_dict_set_int(d, "a", 1);
  gi_dict_set_str(d, "b", "two");
  gi_dict_set_str(d, "c", "three");
  /* Up and down in size, through every kind of memory; the source may be the old value itself. */
  for (unsigned len = 0; len < sizeof(big); len += 37) {
    gi_dict_set_bin(d, "b", big, len);
    const struct gi_pair *p = gi_dict_get(d, "b");
    gi_dict_set_bin(d, "b", p->data, p->len);
    assert_int_equal(gi_dict_get(d, "b")->len, len);
    assert_memory_equal(gi_dict_get(d, "b")->data, big, len);
    assert_int_equal(gi_dict_get(d, "b")->data[len], 0);
    gi_dict_set_int(d, "b", (int64_t)len);
    assert_int_equal(gi_dict_get(d, "b")->i, len);
  }
  assert_int_equal(gi_dict_count(d), 3);
  assert_string_equal(gi_dict_at(d, 1)->key, "b");
  assert_true(gi_dict_del(d, "b"));
  assert_false(gi_dict_del(d, "b"));
  assert_string_equal(gi_dict_at(d, 1)->key, "c");
  for (unsigned i = 0; i < 1000; i++) {
    gi_dict_set_str(d, "again", "value");
    assert_true(gi_dict_del(d, "again"));
  }
  assert_true(gi_dict_del(d, "a"));
  assert_true(gi_dict_del(d, "c"));
  assert_int_equal(gi_dict_count(d), 0);
  gi_dict_unref(&d);
}

static void
test_many(void **state)
{
  struct gi_dict *d = gi_dict_new();
  char key[32];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 5000; i++) {
      snprintf(key, sizeof(key), "key-%d", i);
      gi_dict_set_int(d, key, i + round);
    }
  }
  assert_int_equal(gi_dict_count(d), 5000);
  for (int i = 0; i < 5000; i++) {
    int64_t value;
    snprintf(key, sizeof(key), "key-%d", i);
    assert_true(gi_dict_get_int(d, key, &value));
    assert_int_equal(value, i + 1);
    assert_string_equal(gi_dict_at(d, (uint32_t)i)->key, key);
  }
  struct gi_dict *copy = gi_dict_copy(d);
  assert_true(gi_dict_del(d, "key-77"));
  assert_null(gi_dict_get(d, "key-77"));
  assert_non_null(gi_dict_get(d, "key-78"));
  assert_non_null(gi_dict_get(copy, "key-77"));
  gi_dict_merge(copy, copy);
  gi_dict_merge(d, copy);
  assert_int_equal(gi_dict_count(d), 5000);
  assert_string_equal(gi_dict_at(d, 4999)->key, "key-77");
  gi_dict_unref(&d);
  gi_dict_unref(&copy);
}

static void
test_shared(void **state)
{
  struct gi_dict *d = gi_dict_new(), *other = gi_dict_ref(d);
  gi_dict_set_str(d, "k", "v");
  gi_dict_unref(&d);
  const char *s;
  assert_true(gi_dict_get_str(other, "k", &s));
  assert_string_equal(s, "v");
  gi_dict_unref(&other);
}

static void
test_numbers_have_no_bytes(void **state)
{
  struct gi_dict *d = gi_dict_new();
  struct gi_iatt st = {.size = 5};
  const uint8_t *data = NULL;
  const double pi = 3.14;
  uint32_t len = 7;
  gi_dict_set_int(d, "i", -1);
  gi_dict_set_uint(d, "u", 1);
  gi_dict_set_raw(d, "d", 1, GI_VALUE_DOUBLE, &pi, 8);
  gi_dict_set_iatt(d, "s", &st);
  for (uint32_t i = 0; i < gi_dict_count(d); i++)
    assert_false(gi_pair_bytes(gi_dict_at(d, i), &data, &len));
  assert_null(data);
  assert_int_equal(len, 7);
  for (uint32_t k = 0; k < 8; k++)
    assert_int_equal(gi_dict_get(d, "d")->data[k], 0); /* who forgets to ask reads nothing that a sender chose */
  gi_dict_set_bin(d, "d", "abc", 3);
  assert_true(gi_pair_bytes(gi_dict_get(d, "d"), &data, &len));
  assert_int_equal(len, 3);
  assert_memory_equal(data, "abc", 4);
  gi_dict_unref(&d);
}

static void
test_writable(void **state)
{
  struct gi_dict *mine = NULL, *yours;
  int64_t v;

  assert_false(gi_dict_is_shared(NULL));
  gi_dict_set_int(gi_dict_writable(&mine), "k", 1); /* NULL: a new one */
  assert_false(gi_dict_is_shared(mine));
  assert_ptr_equal(gi_dict_writable(&mine), mine);
  yours = gi_dict_ref(mine);
  assert_true(gi_dict_is_shared(mine));
  gi_dict_set_int(gi_dict_writable(&mine), "k", 2);
  assert_ptr_not_equal(mine, yours);
  assert_false(gi_dict_is_shared(mine));
  assert_false(gi_dict_is_shared(yours));
  assert_true(gi_dict_get_int(yours, "k", &v) && v == 1);
  assert_true(gi_dict_get_int(mine, "k", &v) && v == 2);
  gi_dict_unref(&mine);
  gi_dict_unref(&yours);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_writable),        cmocka_unit_test(test_null_reads_as_empty),   cmocka_unit_test(test_types),
      cmocka_unit_test(test_lenient_getters), cmocka_unit_test(test_replace_and_delete),    cmocka_unit_test(test_many),
      cmocka_unit_test(test_shared),          cmocka_unit_test(test_numbers_have_no_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
