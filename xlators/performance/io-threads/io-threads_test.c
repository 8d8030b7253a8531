/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/io-threads: classes, limits, turns, departed clients.
 */
#include "tests/unit/fake.h"

#include <errno.h>

static struct gi_client_id client[2] = {{"a", "a:1"}, {"b", "b:1"}};

static struct gi_fop *
send(struct fake_stack *s, enum gi_fop_kind kind, void *from, uint64_t offset)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fake_fd(s, 5));
  f->caller.client = from;
  f->args.offset = offset;
  fake_submit(s, f);
  return f;
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", NULL, 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
  s = fake_stack_new("performance/io-threads", "option pass-through on\n", 1);
  assert_ptr_equal(s->parent->next[GI_FOP_READ], s->x->children[0]);
  fake_stack_free(s);
}

static void
test_classes(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", NULL, 1);
  assert_int_equal(send(s, GI_FOP_LOOKUP, NULL, 0)->priority, GI_PRIO_HIGH);
  assert_int_equal(send(s, GI_FOP_RENAME, NULL, 0)->priority, GI_PRIO_NORMAL);
  assert_int_equal(send(s, GI_FOP_READ, NULL, 0)->priority, GI_PRIO_LOW);
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->caller.pid = -6;
  fake_submit(s, f);
  assert_int_equal(f->priority, GI_PRIO_LEAST);
  fake_stack_free(s);
}

static void
test_limit_and_turns(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", "option low-prio-threads 2\n", 1);
  fake_script_always(s, 0, GI_FOP_MAX, (struct fake_reply){.hold = true});
  struct gi_fop *f[6];
  for (unsigned i = 0; i < 5; i++)
    f[i] = send(s, GI_FOP_READ, &client[0], i);
  f[5] = send(s, GI_FOP_READ, &client[1], 100);
  assert_int_equal(fake_held(s, 0), 2);
  struct gi_fop *other = send(s, GI_FOP_FSTAT, &client[0], 0); /* another class is not held up */
  struct gi_fop *lock = send(s, GI_FOP_FINODELK, &client[0], 0);
  struct gi_fop *local = send(s, GI_FOP_READ, NULL, 0);
  assert_int_equal(fake_held(s, 0), 5);
  assert_true(fake_release(s, 0, GI_FOP_FSTAT, 0, 0) && fake_release(s, 0, GI_FOP_FINODELK, 0, 0));
  assert_true(other->answered && lock->answered);
  fake_forget_seen(s);
  for (int i = 0; i < 7; i++)
    assert_true(fake_release(s, 0, GI_FOP_READ, 0, 0));
  assert_true(local->answered);
  for (int i = 0; i < 6; i++)
    assert_true(f[i]->answered);
  /* The quiet client's only read did not wait for all of the busy one's. */
  assert_int_equal(s->seen[0].offset, 2);
  assert_int_equal(s->seen[1].offset, 100);
  fake_stack_free(s);
}

/* The word of a client that an operation waits for, which has a place. */
static void
test_a_word_needs_no_place(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", "option high-prio-threads 1\n", 1);
  fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.hold = true});
  struct gi_fop *truncates = send(s, GI_FOP_OPEN, &client[0], 0);
  assert_false(send(s, GI_FOP_FSTAT, &client[1], 0)->answered);
  assert_true(send(s, GI_FOP_IPC, &client[1], 0)->answered);
  assert_true(fake_release(s, 0, GI_FOP_OPEN, 0, 0));
  assert_true(truncates->answered);
  fake_stack_free(s);
}

/* What is done, and waits for clients, makes room; it is answered some time. */
static void
test_who_waits_for_clients_has_no_place(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", "option low-prio-threads 1\n", 1);
  fake_script_always(s, 0, GI_FOP_MAX, (struct fake_reply){.hold = true});
  struct gi_fop *f[3];
  for (unsigned i = 0; i < GI_ARRAY_LEN(f); i++)
    f[i] = send(s, GI_FOP_WRITE, &client[0], i);
  struct gi_fop *local = send(s, GI_FOP_WRITE, NULL, 3); /* has none */
  assert_int_equal(fake_held(s, 0), 2);
  fake_event(s, 0, GI_EVENT_NO_WORKER, local);
  fake_settle(s);
  assert_int_equal(fake_held(s, 0), 2);
  fake_event(s, 0, GI_EVENT_NO_WORKER, f[0]);
  fake_settle(s);
  assert_int_equal(fake_held(s, 0), 3);
  assert_false(f[0]->answered);
  assert_true(fake_release(s, 0, GI_FOP_WRITE, 0, 0)); /* had given it back */
  fake_settle(s);
  assert_true(f[0]->answered);
  assert_int_equal(fake_held(s, 0), 2);
  while (fake_release(s, 0, GI_FOP_MAX, 0, 0))
    ;
  assert_true(f[1]->answered && f[2]->answered && local->answered);
  assert_int_equal(s->events[GI_EVENT_NO_WORKER], 0);
  fake_stack_free(s);
}

static struct gi_fop *
healers_fop(struct fake_stack *s, enum gi_fop_kind kind)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fake_fd(s, 5));
  f->caller.client = &client[1];
  f->caller.pid = -6;
  return f;
}

static struct gi_fop *
send_as_healer(struct fake_stack *s, enum gi_fop_kind kind)
{
  struct gi_fop *f = healers_fop(s, kind);
  fake_submit(s, f);
  return f;
}

static void
ended(struct gi_fop *fop, void *arg)
{
}

/* Eight pages of a heal come in one message, and each is served at once: who asks meanwhile does not wait for all of them. */
static void
test_others_come_between(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", NULL, 1);
  struct gi_fop *page[8];
  send(s, GI_FOP_READ, &client[0], 0);
  for (int i = 0; i < 8; i++)
    gi_fop_submit(page[i] = healers_fop(s, GI_FOP_WRITE), s->x, ended, NULL);
  assert_true(page[0]->answered);
  assert_false(page[1]->answered);
  gi_reactor_turn(s->ctx.reactor, 0);
  assert_true(page[1]->answered);
  assert_false(page[2]->answered);
  for (int i = 2; i < 8; i++)
    gi_reactor_turn(s->ctx.reactor, 0);
  assert_true(page[7]->answered);
  fake_stack_free(s);
}

static void
test_least_class_beside_others(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", NULL, 1);
  fake_script_always(s, 0, GI_FOP_MAX, (struct fake_reply){.hold = true});
  send(s, GI_FOP_READ, &client[0], 0);
  for (int i = 0; i < 3; i++)
    send_as_healer(s, GI_FOP_WRITE);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 1);
  /* A question, and what takes marks back, do not wait behind blocks. */
  send_as_healer(s, GI_FOP_FSTAT);
  send_as_healer(s, GI_FOP_FXATTROP);
  assert_int_equal(fake_held(s, 0), 4);
  /* Somebody else was there a moment ago: still one at a time. */
  assert_true(fake_release(s, 0, GI_FOP_READ, 0, 0));
  assert_true(fake_release(s, 0, GI_FOP_WRITE, 0, 0));
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 2);
  while (fake_release(s, 0, GI_FOP_MAX, 0, 0))
    ;
  fake_stack_free(s);
}

/* One is answered, and the reactor looks who is next. */
static void
release_and_turn(struct fake_stack *s, enum gi_fop_kind kind)
{
  assert_true(fake_release(s, 0, kind, 0, 0));
  gi_reactor_turn(s->ctx.reactor, 0);
}

/* Who waits for the disk has it to itself, but a heal beside somebody who always does goes on with each sync that ends. */
static void
test_disk_is_theirs_who_sync(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", NULL, 1);
  fake_script_always(s, 0, GI_FOP_MAX, (struct fake_reply){.hold = true});
  send(s, GI_FOP_READ, &client[0], 0);
  send_as_healer(s, GI_FOP_WRITE);
  send_as_healer(s, GI_FOP_WRITE);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 1);
  send(s, GI_FOP_FSYNC, &client[0], 0);
  send(s, GI_FOP_FSYNC, &client[0], 1);
  release_and_turn(s, GI_FOP_WRITE);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 1);
  release_and_turn(s, GI_FOP_FSYNC);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 2);
  send_as_healer(s, GI_FOP_COPY_FILE_RANGE);
  release_and_turn(s, GI_FOP_WRITE);
  assert_int_equal(fake_count(s, 0, GI_FOP_COPY_FILE_RANGE), 0);
  release_and_turn(s, GI_FOP_FSYNC);
  assert_int_equal(fake_count(s, 0, GI_FOP_COPY_FILE_RANGE), 1);
  /* A heal's own sync keeps nobody out. */
  while (fake_release(s, 0, GI_FOP_MAX, 0, 0))
    ;
  send_as_healer(s, GI_FOP_FSYNC);
  release_and_turn(s, GI_FOP_FSYNC);
  send_as_healer(s, GI_FOP_WRITE);
  assert_int_equal(fake_held(s, 0), 1);
  while (fake_release(s, 0, GI_FOP_MAX, 0, 0))
    ;
  fake_stack_free(s);
}

static void
test_least_class_alone(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", NULL, 1);
  fake_script_always(s, 0, GI_FOP_MAX, (struct fake_reply){.hold = true});
  send(s, GI_FOP_READ, &client[0], 0);
  assert_true(fake_release(s, 0, GI_FOP_READ, 0, 0));
  for (int i = 0; i < 6; i++)
    send_as_healer(s, GI_FOP_WRITE);
  fake_wait(s, 120 * GI_NSEC_PER_MSEC);
  assert_int_equal(fake_held(s, 0), 1); /* nothing happens by itself… */
  assert_true(fake_release(s, 0, GI_FOP_WRITE, 0, 0));
  assert_int_equal(fake_held(s, 0), 4); /* …an answer makes room for as many as the pool lets the least class have */
  send(s, GI_FOP_READ, &client[0], 1);
  assert_true(fake_release(s, 0, GI_FOP_WRITE, 0, 0));
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 5); /* no more while three are there beside the other's */
  while (fake_release(s, 0, GI_FOP_MAX, 0, 0))
    ;
  fake_stack_free(s);
}

static void
test_client_gone(void **state)
{
  struct fake_stack *s =
      fake_stack_new("performance/io-threads", "option low-prio-threads 1\noption cleanup-disconnected-reqs on\n", 1);
  fake_script_always(s, 0, GI_FOP_MAX, (struct fake_reply){.hold = true});
  struct gi_fop *in = send(s, GI_FOP_READ, &client[0], 0);
  struct gi_fop *a = send(s, GI_FOP_READ, &client[0], 1), *b = send(s, GI_FOP_READ, &client[1], 2);
  gi_notify_down(s->parent, GI_EVENT_CLIENT_GONE, &client[0]);
  assert_true(a->answered);
  assert_int_equal(a->rsp.err, ENOTCONN);
  assert_false(b->answered || in->answered);
  assert_true(fake_release(s, 0, GI_FOP_READ, 0, 0));
  assert_int_equal(fake_held(s, 0), 1);
  assert_true(fake_release(s, 0, GI_FOP_READ, 0, 0));
  assert_true(b->answered);
  fake_stack_free(s);
}

static void
test_client_gone_runs(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", "option low-prio-threads 1\n", 1);
  fake_script_always(s, 0, GI_FOP_MAX, (struct fake_reply){.hold = true});
  send(s, GI_FOP_READ, &client[0], 0);
  struct gi_fop *a = send(s, GI_FOP_READ, &client[0], 1);
  gi_notify_down(s->parent, GI_EVENT_CLIENT_GONE, &client[0]);
  assert_ptr_equal(a->caller.client, &client[0]); /* whose answer it is, and whose locks */
  assert_int_equal(fake_held(s, 0), 2);
  while (fake_release(s, 0, GI_FOP_READ, 0, 0))
    ;
  assert_true(a->answered);
  fake_stack_free(s);
}

/* ---- on a client ---- */

static struct fake_stack *
client_stack(const char *options)
{
  struct fake_stack *s = fake_stack_new("performance/io-threads", options, 1);
  s->ctx.side = GI_SIDE_CLIENT;
  return s;
}

static struct gi_fop *
comes(struct fake_stack *s, enum gi_fop_kind kind)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fake_fd(s, 5));
  gi_fop_submit(f, s->x, ended, NULL);
  return f;
}

static void
went_down(struct fake_stack *s, const enum gi_fop_kind *kinds, unsigned n)
{
  assert_int_equal(s->nseen, n);
  for (unsigned i = 0; i < n; i++)
    assert_int_equal(s->seen[i].kind, kinds[i]);
}

static void
test_a_clients_turn_is_ordered_by_class(void **state)
{
  struct fake_stack *s = client_stack(NULL);
  fake_check_transparent(s, 0);
  struct gi_fop *w = comes(s, GI_FOP_WRITE);
  comes(s, GI_FOP_READ);
  comes(s, GI_FOP_FSETATTR);
  comes(s, GI_FOP_FSTAT);
  assert_false(w->answered);
  fake_settle(s);
  assert_true(w->answered);
  went_down(s, (enum gi_fop_kind[]){GI_FOP_FSTAT, GI_FOP_FSETATTR, GI_FOP_WRITE, GI_FOP_READ}, 4);
  fake_stack_free(s);
}

static void
test_limits_are_shares_on_a_client(void **state)
{
  struct fake_stack *s = client_stack("option high-prio-threads 2\noption low-prio-threads 1\n");
  for (int i = 0; i < 2; i++)
    comes(s, GI_FOP_WRITE);
  for (int i = 0; i < 3; i++)
    comes(s, GI_FOP_FSTAT);
  fake_settle(s);
  went_down(s, (enum gi_fop_kind[]){GI_FOP_FSTAT, GI_FOP_FSTAT, GI_FOP_WRITE, GI_FOP_FSTAT, GI_FOP_WRITE}, 5);
  fake_stack_free(s);
}

static void
test_what_overtakes_nothing_on_a_client(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_FLUSH, GI_FOP_FSYNC, GI_FOP_LK};
  struct fake_stack *s = client_stack(NULL);
  for (unsigned i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    fake_forget_seen(s);
    comes(s, GI_FOP_WRITE);
    assert_true(comes(s, kinds[i])->answered);
    went_down(s, (enum gi_fop_kind[]){GI_FOP_WRITE, kinds[i]}, 2);
  }
  fake_stack_free(s);
}

static void
test_nothing_is_left_when_a_client_drains(void **state)
{
  struct fake_stack *s = client_stack(NULL);
  struct gi_fop *f = comes(s, GI_FOP_WRITE);
  gi_xlator_enable(s->x, false);
  assert_true(f->answered);
  assert_false(s->x->enabled);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_classes),
      cmocka_unit_test(test_limit_and_turns),
      cmocka_unit_test(test_a_word_needs_no_place),
      cmocka_unit_test(test_who_waits_for_clients_has_no_place),
      cmocka_unit_test(test_least_class_beside_others),
      cmocka_unit_test(test_least_class_alone),
      cmocka_unit_test(test_others_come_between),
      cmocka_unit_test(test_disk_is_theirs_who_sync),
      cmocka_unit_test(test_client_gone),
      cmocka_unit_test(test_client_gone_runs),
      cmocka_unit_test(test_a_clients_turn_is_ordered_by_class),
      cmocka_unit_test(test_limits_are_shares_on_a_client),
      cmocka_unit_test(test_what_overtakes_nothing_on_a_client),
      cmocka_unit_test(test_nothing_is_left_when_a_client_drains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
