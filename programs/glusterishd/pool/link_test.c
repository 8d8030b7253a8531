/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections to other nodes: which of their addresses is taken.
 */
#include "programs/glusterishd/pool/fixture.h"
#include "tests/unit/hole.h"

static void
came(void *arg, int fd)
{
  unsigned *n = arg;
  close(fd);
  (*n)++;
}

static void
greeted(void *arg, const json_t *greeting)
{
}

static void
test_an_address_that_swallows_is_not_waited_for(void **state)
{
  char *const hosts[] = {"127.0.0.86", "127.0.0.1"};
  struct fixture *f = *state;
  struct gi_error err;
  struct hole hole;
  unsigned n = 0;
  struct gi_listener *l = gi_listener_new(f->r, hosts[1], 0, 4, came, &n, &err);
  assert_non_null(l);
  hole_open(&hole, hosts[0], gi_listener_port(l));
  struct gd_link *link = gd_link_new(f->gd, NULL, greeted, NULL);
  gd_link_connect(link, hosts, 2, gi_listener_port(l));
  for (unsigned i = 0; i < 3000 && n == 0; i++) /* seconds; to wait for it takes fifteen */
    turns(f, 1);
  assert_int_equal(n, 1);
  gd_link_free(&link);
  hole_close(&hole);
  gi_listener_free(&l);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_an_address_that_swallows_is_not_waited_for, setup_pool, teardown_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
