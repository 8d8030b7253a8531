/* SPDX-License-Identifier: Apache-2.0
 *
 * Open files by who opened them: those of all threads of a process, and of
 * nobody else, however many others there are.
 */
#include "fuse-internal.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cmocka.h>

#define OTHERS 20

static struct opener_table table;
static struct handle mine[2], of_thread, others[OTHERS];
static unsigned seen;

static void
count(void *arg, struct handle *h)
{
  assert_true(h == &mine[0] || h == &mine[1] || h == &of_thread);
  seen++;
}

static unsigned
files_of(int32_t process)
{
  seen = 0;
  opener_foreach(&table, process, count, NULL);
  return seen;
}

/* Process 1 is none of our threads, and the numbers behind the largest are nobody's. */
static void
add_others(unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    opener_add(&table, &others[i], i == 0 ? 1 : 5000000 + (int32_t)i);
}

static void
del_others(void)
{
  for (unsigned i = 0; i < OTHERS; i++)
    opener_del(&table, &others[i]);
}

static void *
open_one(void *arg)
{
  static const unsigned many[] = {0, 1, 3, 4, OTHERS};

  opener_add(&table, &of_thread, gettid());
  for (unsigned i = 0; i < GI_ARRAY_LEN(many); i++) {
    add_others(many[i]);
    assert_int_equal(files_of(getpid()), 3);
    assert_int_equal(files_of(gettid()), 3); /* any thread will do */
    assert_int_equal(files_of(4999999), 0);  /* gone meanwhile */
    del_others();
  }
  opener_del(&table, &of_thread);
  return NULL;
}

static void
test_threads_of_a_process(void **state)
{
  pthread_t t;

  opener_table_init(&table);
  assert_int_equal(files_of(getpid()), 0);
  opener_add(&table, &mine[0], getpid());
  opener_add(&table, &mine[1], getpid());
  assert_int_equal(table.count, 1);
  assert_int_equal(files_of(getpid()), 2);
  assert_int_equal(pthread_create(&t, NULL, open_one, NULL), 0);
  pthread_join(t, NULL);
  opener_del(&table, &mine[0]);
  assert_int_equal(files_of(getpid()), 1);
  opener_del(&table, &mine[1]);
  opener_del(&table, &mine[1]);
  assert_int_equal(table.count, 0);
  assert_int_equal(files_of(getpid()), 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_threads_of_a_process),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
