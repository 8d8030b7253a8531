/* SPDX-License-Identifier: Apache-2.0
 *
 * What translators tell, as documents.
 */
#include "programs/glusterishfs/facts.h"
#include "tests/unit/fake.h"

static const uint64_t fops[GI_FOP_MAX] = {[GI_FOP_WRITE] = 3, [GI_FOP_LOOKUP] = 1};

static void
tell(struct gi_xlator *x, struct gi_question *q)
{
  static const struct gi_owner owner = {.len = 2, .data = {0xab, 0x01}};
  struct gi_time since = {.sec = 1000, .nsec = 500000000};
  struct gi_fact_client client = {.uid = "c",
                                  .address = "a:1",
                                  .process = "",
                                  .version = "1",
                                  .brick = "b",
                                  .ours = true,
                                  .since = since,
                                  .fops = fops,
                                  .bytes_in = 7,
                                  .inflight = 2};
  struct gi_fact_lock lock = {.kind = "entry",
                              .domain = "d",
                              .name = "\xff",
                              .client = "c",
                              .address = "a:1",
                              .pid = 4,
                              .owner = &owner,
                              .since = since};
  struct gi_fact_user open = {.client = "c", .address = "a:1", .handles = 2, .writing = 1};
  struct gi_fact_user watch = {.client = "c", .address = "a:1", .told = true, .told_ns = 2000000000};
  struct gi_fact_copy copy = {.name = "b", .up = true, .known = true, .data = true, .chosen = true};
  if (!gi_question_room(q))
    return;
  switch (q->what) {
  case GI_ASK_CLIENTS:
    q->client(q, &client);
    break;
  case GI_ASK_LOCKS:
    q->lock(q, &lock);
    while (gi_question_room(q))
      q->lock(q, &lock);
    break;
  case GI_ASK_USERS:
    q->user(q, &open);
    q->user(q, &watch);
    break;
  case GI_ASK_COPIES:
    q->copy(q, &copy);
    break;
  }
}

static const struct gi_xlator_class teller = {
    .abi = GI_XLATOR_ABI,
    .type = "test/teller",
    .version = "1",
    .summary = "Tells what it knows.",
    .min_children = 1,
    .max_children = 1,
    .ask = tell,
};

static const json_t *
first_of(const json_t *doc, const char *list, size_t n)
{
  const json_t *array = json_object_get(doc, list);
  assert_int_equal(json_array_size(array), n);
  return json_array_get(array, 0);
}

static const char *
str(const json_t *doc, const char *key)
{
  return json_string_value(json_object_get(doc, key));
}

static json_int_t
num(const json_t *doc, const char *key)
{
  return json_integer_value(json_object_get(doc, key));
}

static void
test_clients(void **state)
{
  struct fake_stack *s = fake_stack_new("test/teller", NULL, 1);
  json_t *doc = fs_facts_clients(s->graph);
  const json_t *c = first_of(doc, "clients", 1);
  assert_string_equal(str(c, "uid"), "c");
  assert_int_equal(num(json_object_get(c, "fops"), "WRITE"), 3);
  assert_int_equal(json_object_size(json_object_get(c, "fops")), 2);
  assert_int_equal(num(c, "inflight"), 2);
  assert_true(json_is_true(json_object_get(c, "ours")) && json_is_false(json_object_get(doc, "more")));
  assert_true(json_real_value(json_object_get(c, "since")) > 1000.4);
  json_decref(doc);
  doc = fs_facts_clients(NULL); /* no graph yet */
  first_of(doc, "clients", 0);
  json_decref(doc);
  fake_stack_free(s);
}

static void
test_locks_are_bounded(void **state)
{
  struct fake_stack *s = fake_stack_new("test/teller", NULL, 1);
  json_t *doc = fs_facts_locks(s->graph, NULL);
  const json_t *l = first_of(doc, "locks", FS_FACTS_MAX);
  assert_string_equal(str(l, "name"), "\\xff");
  assert_string_equal(str(l, "owner"), "ab01");
  assert_string_equal(str(l, "type"), "read");
  assert_true(json_is_false(json_object_get(l, "granted")) && json_is_true(json_object_get(doc, "more")));
  json_decref(doc);
  fake_stack_free(s);
}

static void
test_an_object(void **state)
{
  struct fake_stack *s = fake_stack_new("test/teller", NULL, 1);
  json_t *doc = fs_facts_object(s->graph, &fake_inode(s, 5)->gfid);
  const json_t *u = first_of(doc, "users", 1); /* one client, told of by two */
  assert_int_equal(num(u, "handles"), 2);
  assert_int_equal(num(u, "writing"), 1);
  assert_true(json_real_value(json_object_get(u, "told_s")) > 1.9);
  const json_t *c = first_of(doc, "copies", 1);
  assert_true(json_is_true(json_object_get(c, "chosen")) && json_is_false(json_object_get(c, "metadata")));
  assert_string_equal(str(doc, "gfid"), "05050505-0505-0505-0505-050505050505");
  json_decref(doc);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clients),
      cmocka_unit_test(test_locks_are_bounded),
      cmocka_unit_test(test_an_object),
  };
  gi_class_register(&teller);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
