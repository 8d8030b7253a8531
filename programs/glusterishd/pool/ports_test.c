/* SPDX-License-Identifier: Apache-2.0
 *
 * Where bricks serve, as nodes of a pool tell each other.
 */
#include "programs/glusterishd/pool/fixture.h"

#include <string.h>

/* A volume whose second brick is of the other node. */
static struct gd_volume *
create_with_away(struct fixture *f)
{
  succeeds(f, run(f, 4,
                  "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true,\"bricks\":[\"127.0.0.1:DIR/a\","
                  "\"127.0.0.1:DIR/b\"]}"));
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  gi_gfid_parse(AWAY_ID, &v->bricks[1].node);
  return v;
}

/* The other node tells that of its brick; NULL: nothing of it. */
static void
tells(struct fixture *f, const char *path, json_t *port)
{
  struct gi_gfid id;
  gi_gfid_parse(AWAY_ID, &id);
  json_t *ports = json_object();
  if (path)
    json_object_set_new(ports, path, port);
  gd_ports_take(gd_node_find(f->gd, &id), ports);
  json_decref(ports);
}

static void
test_own_bricks_count_while_they_serve(void **state)
{
  struct fixture *f = *state;
  struct gd_volume *v = create_with_away(f);
  struct gd_brick *own = &v->bricks[0], *away = &v->bricks[1];
  own->port = away->port = 50000;
  away->signed_in = true; /* a word of somebody else's brick is none */
  json_t *ports = gd_ports_own(f->gd);
  assert_int_equal(json_object_size(ports), 0);
  json_decref(ports);
  assert_int_equal(gd_ports_get(f->gd, own), 0);
  own->signed_in = true;
  ports = gd_ports_own(f->gd);
  assert_int_equal(json_object_size(ports), 1);
  assert_int_equal(json_integer_value(json_object_get(ports, own->path)), 50000);
  json_decref(ports);
  assert_int_equal(gd_ports_get(f->gd, own), 50000);
  own->signed_in = away->signed_in = false;
}

static void
test_a_node_tells_of_its_bricks(void **state)
{
  struct fixture *f = *state;
  struct gd_volume *v = create_with_away(f);
  struct gd_brick *own = &v->bricks[0], *away = &v->bricks[1];
  assert_int_equal(gd_ports_get(f->gd, away), 0); /* nothing told yet */
  tells(f, away->path, json_integer(50001));
  assert_int_equal(gd_ports_get(f->gd, away), 50001);
  tells(f, own->path, json_integer(50002)); /* not of its own; and of its own nothing any more */
  assert_int_equal(gd_ports_get(f->gd, own), 0);
  assert_int_equal(gd_ports_get(f->gd, away), 0);
}

static void
test_nonsense_of_a_node_is_no_port(void **state)
{
  struct fixture *f = *state;
  struct gd_volume *v = create_with_away(f);
  struct gd_brick *away = &v->bricks[1];
  json_t *nonsense[] = {json_integer(0),   json_integer(-1),   json_integer(65536), json_integer(INT64_MAX),
                        json_string("80"), json_real(50001.5), json_null(),         json_object()};
  for (size_t i = 0; i < GI_ARRAY_LEN(nonsense); i++) {
    tells(f, away->path, nonsense[i]);
    assert_int_equal(gd_ports_get(f->gd, away), 0);
  }
  tells(f, away->path, json_integer(65535));
  struct gd_node *n = gd_node_find(f->gd, &away->node);
  json_t *list = json_array();
  gd_ports_take(n, list);
  gd_ports_take(n, NULL);
  json_decref(list);
  assert_int_equal(gd_ports_get(f->gd, away), 65535);
}

static void
test_bricks_of_nobody(void **state)
{
  struct fixture *f = *state;
  struct gd_volume *v = create_with_away(f);
  gi_gfid_parse("99999999-1234-4234-8234-123456789abc", &v->bricks[1].node);
  assert_int_equal(gd_ports_get(f->gd, &v->bricks[1]), 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_own_bricks_count_while_they_serve, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_node_tells_of_its_bricks, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_nonsense_of_a_node_is_no_port, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_bricks_of_nobody, setup_pool, teardown_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
