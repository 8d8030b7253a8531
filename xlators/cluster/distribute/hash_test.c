/* SPDX-License-Identifier: Apache-2.0
 *
 * The name hash against what clients of such volumes compute.
 */
#include "xlators/cluster/distribute/hash.h"

#include "tests/unit/fake.h"

static const struct {
  const char *name;
  uint32_t hash;
} vectors[] = {
    {"a", 0x3a17e4e6},
    {"b", 0x6f558edc},
    {"ab", 0xc3af40d9},
    {"abc", 0xba8bd29a},
    {"abcd", 0xd89627f6},
    {"abcde", 0x0a45ccec},
    {"hello.txt", 0xe68d61cc},
    {"file1", 0xa787fa82},
    {"file2", 0xa7b6b0e5},
    {"pg_wal", 0x0d50f782},
    {"base", 0xfff02145},
    {"PG_VERSION", 0x6cb213d9},
    {"0123456789abcde", 0x9fc1c536},
    {"0123456789abcdef", 0x6ecb5ada},
    {"0123456789abcdefg", 0x7f5d9903},
    {"a b c", 0x6e9b997d},
    {"file.~1~", 0xe0143413},
    {".hidden", 0x209c6459},
    {".rsync.Xy12Ab", 0xe2e3f476},
    {"rsync", 0xe2e3f476},
    {".foo.bar.Xz9", 0xba37cfb0},
    {"foo.bar", 0xba37cfb0},
    {"..x.y", 0x34ee7b4d},
    {".profile.swp", 0x7ab621ff},
    {"profile", 0x7ab621ff},
    {"000000010000000000000001", 0x4f5a12bc},
    {"\xc3\xa9t\xc3\xa9", 0xa2e5c9e9},
    {"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 0xeecbaa7d},
    {"\xce\xa9", 0x65cfcaa1},
    {"aaa\xc3\xa9", 0x9166024e},
    {"aaaa\xc3\xa9", 0x233e4e0d},
    {"na\xc3\xafve-file", 0x7e6ade08},
};

static void
test_vectors(void **state)
{
  struct di_munge m;
  char x200[201];

  assert_int_equal(di_munge_init(&m, NULL, NULL, NULL), 0);
  for (size_t i = 0; i < GI_ARRAY_LEN(vectors); i++)
    assert_int_equal(di_hash_name(&m, vectors[i].name), vectors[i].hash);
  memset(x200, 'x', 200);
  x200[200] = '\0';
  assert_int_equal(di_hash_name(&m, x200), 0x2eb9cd2e);
  di_munge_finish(&m);
}

/* Every length up to four blocks, and longer than a byte counts; all bytes. The sum is that of another program, which has the vectors above. */
static void
test_lengths(void **state)
{
  static const size_t longer[] = {255, 256, 300};
  char bytes[300];
  uint32_t sum = 0;

  for (size_t k = 0; k < 65 + GI_ARRAY_LEN(longer); k++) {
    size_t len = k < 65 ? k : longer[k - 65];

    for (size_t i = 0; i < len; i++)
      bytes[i] = (char)(7 * len + 3 * i);
    sum = sum * 31 + di_hash_bytes(bytes, len);
  }
  assert_int_equal(di_hash_bytes("", 0), 0x884774a2);
  assert_int_equal(sum, 0x016af27d);
}

/* The pattern that is not compiled says of every name what it says as an option. */
static void
test_default_pattern(void **state)
{
  static const char *const names[] = {".",     "..",     "...",   ".a",   ".a.",   ".a.b", "..b",
                                      "a.b.c", ".a.b.c", "..x.y", ".a..", ".a..b", ""};
  struct di_munge by_hand, by_option;

  assert_int_equal(di_munge_init(&by_hand, NULL, NULL, NULL), 0);
  assert_int_equal(di_munge_init(&by_option, NULL, "^\\.(.+)\\.[^.]+$", NULL), 0);
  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++)
    assert_int_equal(di_hash_name(&by_hand, names[i]), di_hash_name(&by_option, names[i]));
  di_munge_finish(&by_hand);
  di_munge_finish(&by_option);
}

static void
test_options(void **state)
{
  struct gi_error err = {0};
  struct di_munge m;

  assert_int_equal(di_munge_init(&m, "^(.+)~$", "none", NULL), 0);
  assert_int_equal(di_hash_name(&m, "file1~"), 0xa787fa82);
  assert_int_equal(di_hash_name(&m, ".rsync.Xy12Ab"), di_hash_bytes(".rsync.Xy12Ab", 13));
  di_munge_finish(&m);

  /* The first that matches decides. */
  assert_int_equal(di_munge_init(&m, "^\\.f(.+)$", NULL, NULL), 0);
  assert_int_equal(di_hash_name(&m, ".file1.x"), di_hash_bytes("ile1.x", 6));
  di_munge_finish(&m);

  assert_int_equal(di_munge_init(&m, "(", NULL, &err), -1);
  assert_non_null(strstr(err.text, "extra-hash-regex ("));
  assert_int_equal(di_munge_init(&m, "(a)", "abc", &err), -1);
  assert_non_null(strstr(err.text, "rsync-hash-regex abc: the pattern has no group"));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vectors),
      cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_default_pattern),
      cmocka_unit_test(test_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
