/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/client and protocol/server over loopback: seen from the client.
 */
#include "tests/unit/brick-bench.h"

static void
test_connects(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_connects) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
