/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the list of a cache's entries.
 */
#include "libglusterish/lru.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

struct entry {
  struct gi_lru_item item;
  char name;
};

struct shelf {
  struct gi_reactor *r;
  struct gi_budget budget;
  struct gi_lru lru;
  char gone[32];
};

static void
shelf_evict(void *arg, struct gi_lru_item *item)
{
  struct shelf *s = arg;
  struct entry *e = GI_CONTAINER(item, struct entry, item);

  assert_false(gi_lru_holds(item));
  s->gone[strlen(s->gone)] = e->name;
  gi_free(e);
}

static struct entry *
put(struct shelf *s, char name, uint64_t cost)
{
  struct entry *e = gi_new(struct entry);

  e->name = name;
  gi_lru_add(&s->lru, &e->item, cost);
  return e;
}

static void
test_order_and_bounds(void **state)
{
  struct shelf s = {.r = gi_reactor_new(0)};

  gi_lru_init(&s.lru, &s.budget, s.r, "shelf", shelf_evict, &s);

  struct entry *a = put(&s, 'a', 10), *b = put(&s, 'b', 20);

  put(&s, 'c', 30);
  assert_int_equal(s.lru.cost, 60);
  assert_int_equal(s.budget.used, 60);
  gi_lru_touch(&s.lru, &a->item);
  gi_lru_set_bounds(&s.lru, 2, 0);
  assert_string_equal(s.gone, "b");
  gi_lru_set_bounds(&s.lru, 0, 45);
  put(&s, 'd', 10); /* c a d: the oldest goes */
  assert_string_equal(s.gone, "bc");
  b = put(&s, 'e', 100); /* larger than the bound: stays alone */
  assert_string_equal(s.gone, "bcad");
  assert_int_equal(s.lru.count, 1);
  gi_lru_recost(&s.lru, &b->item, 5);
  assert_int_equal(s.lru.cost, 5);
  gi_lru_remove(&s.lru, &b->item);
  gi_free(b);
  assert_int_equal(s.budget.used, 0);
  put(&s, 'f', 1);
  gi_lru_finish(&s.lru);
  assert_string_equal(s.gone, "bcadf");
  gi_lru_finish(&s.lru);
  gi_reactor_free(s.r);
}

static void
test_gives_the_oldest(void **state)
{
  struct shelf s = {.r = gi_reactor_new(0)};

  gi_budget_set_limit(&s.budget, 160);
  gi_lru_init(&s.lru, &s.budget, s.r, "shelf", shelf_evict, &s);
  for (char name = 'a'; name < 'e'; name++)
    put(&s, name, 50);
  assert_string_equal(s.gone, "");
  gi_reactor_turn(s.r, 0);
  assert_string_equal(s.gone, "a");
  assert_int_equal(s.lru.user.reclaimed, 50);
  gi_lru_finish(&s.lru);
  gi_reactor_free(s.r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order_and_bounds),
      cmocka_unit_test(test_gives_the_oldest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
