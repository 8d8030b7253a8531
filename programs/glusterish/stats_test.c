/* SPDX-License-Identifier: Apache-2.0
 *
 * volume profile, top, clear-locks and get-state: words and output, byte by byte.
 */
#include "programs/glusterish/cli-fixture.h"

static const char profile_doc[] =
    "{\"bricks\":[{\"name\":\"node1:/bricks/rep3/b1\",\"cumulative\":{\"number\":-1,\"duration\":107,\"totalRead\":0,"
    "\"totalWrite\":2621449,\"blocks\":[{\"size\":2,\"reads\":0,\"writes\":3},{\"size\":65536,\"reads\":0,\"writes\":18},"
    "{\"size\":131072,\"reads\":0,\"writes\":11},{\"size\":262144,\"reads\":4,\"writes\":0}],\"fops\":["
    "{\"name\":\"WRITE\",\"hits\":32,\"avg\":121212.97,\"min\":34882.0,\"max\":872129.0,\"p50\":1.0,\"p95\":2.0,\"p99\":3.0},"
    "{\"name\":\"LOOKUP\",\"hits\":2,\"avg\":100.0,\"min\":50.0,\"max\":150.0},"
    "{\"name\":\"RELEASE\",\"hits\":9}]}}]}";

static void
test_profile_info(void **state)
{
  struct run r = {.doc = profile_doc};
  run(&r, "volume profile rep3 info");
  assert_string_equal(sent(&r, "command"), "volume profile info");
  assert_string_equal(sent(&r, "info"), "all");
  assert_false(cli_true(r.request, "peek"));
  assert_int_equal(r.proc, 23);
  assert_string_equal(r.out, "Brick: node1:/bricks/rep3/b1\n"
                             "----------------------------\n"
                             "Cumulative Stats:\n"
                             "   Block Size:                  2b+               65536b+              131072b+ \n"
                             " No. of Reads:                    0                     0                     0 \n"
                             "No. of Writes:                    3                    18                    11 \n"
                             " \n"
                             "   Block Size:             262144b+ \n"
                             " No. of Reads:                    4 \n"
                             "No. of Writes:                    0 \n"
                             " %-latency   Avg-latency   Min-Latency   Max-Latency   No. of calls         Fop\n"
                             " ---------   -----------   -----------   -----------   ------------        ----\n"
                             "      0.00       0.00 ns       0.00 ns       0.00 ns              9     RELEASE\n"
                             "      0.01     100.00 ns      50.00 ns     150.00 ns              2      LOOKUP\n"
                             "     99.99  121212.97 ns   34882.00 ns  872129.00 ns             32       WRITE\n"
                             " \n"
                             "    Duration: 107 seconds\n"
                             "   Data Read: 0 bytes\n"
                             "Data Written: 2621449 bytes\n"
                             " \n");
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_profile_info),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
