/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes: known before they are reached, counted when they are.
 */
#include "libglusterish/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void
branch(int rare)
{
  if (rare)
    GI_PROBE("test: b, reached");
  else
    GI_PROBE("test: a, never");
}

struct seen {
  unsigned a, b;
  uint64_t hits_a, hits_b;
  char last[64];
  int sorted;
};

static void
look(const struct gi_probe *m, void *arg)
{
  struct seen *s = arg;
  if (strcmp(s->last, m->name) > 0)
    s->sorted = 0;
  strncpy(s->last, m->name, sizeof(s->last) - 1);
  if (strcmp(m->name, "test: a, never") == 0) {
    s->a++;
    s->hits_a = m->hits;
  } else if (strcmp(m->name, "test: b, reached") == 0) {
    s->b++;
    s->hits_b = m->hits;
  }
}

static void
test_marks(void **state)
{
  struct seen s = {.sorted = 1};
  branch(1);
  branch(2);
  gi_probes_foreach(look, &s);
  assert_int_equal(s.a, 1);
  assert_int_equal(s.b, 1);
  assert_int_equal(s.hits_a, 0);
  assert_int_equal(s.hits_b, 2);
  assert_true(s.sorted);
  gi_probes_clear();
  s = (struct seen){.sorted = 1};
  gi_probes_foreach(look, &s);
  assert_int_equal(s.hits_b, 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_marks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
