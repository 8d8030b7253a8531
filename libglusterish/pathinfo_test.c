/* SPDX-License-Identifier: Apache-2.0
 *
 * Which machines a pathinfo attribute names.
 */
#include "libglusterish/pathinfo.h"

#include <stdio.h>
#include <sys/utsname.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void
hosts_are_found(void **state)
{
  static const char one[] = "<POSIX(/b/):x:1):alpha:/b/):x:1/file>";
  static const char two[] = "(<REPLICATE:v-replicate-0> <POSIX(/b1):alpha:/b1/> <POSIX(/b2):beta.example:/b2/>)";

  assert_true(gi_pathinfo_names(one, "alpha"));
  assert_false(gi_pathinfo_names(one, "alph"));
  assert_false(gi_pathinfo_names(one, "alpha2"));
  assert_true(gi_pathinfo_names(two, "alpha"));
  assert_true(gi_pathinfo_names(two, "beta.example"));
  assert_false(gi_pathinfo_names(two, "beta"));
  assert_false(gi_pathinfo_names("", "alpha"));
  assert_false(gi_pathinfo_names("<POSIX(/b):", "alpha"));
}

static void
this_machine(void **state)
{
  struct utsname uts;
  char text[256];

  assert_int_equal(uname(&uts), 0);
  snprintf(text, sizeof(text), "<POSIX(/b):%s:/b/>", uts.nodename);
  assert_true(gi_pathinfo_is_here(text));
  assert_false(gi_pathinfo_is_here("<POSIX(/b):some.other.machine:/b/>"));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hosts_are_found),
      cmocka_unit_test(this_machine),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
