/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes with the next message, against a real protocol/server over loopback.
 */
#include "tests/unit/brick-bench.h"
#include "xlators/protocol/client/client.h"

#include <errno.h>
#include <fcntl.h>

static struct client *
client_of(struct bench *b)
{
  return b->client->x->private;
}

static struct gi_fop *
unlock_name(struct bench *b)
{
  struct gi_fop *f = fake_fop(b->client, GI_FOP_ENTRYLK);

  f->args.cmd = GI_ENTRYLK_UNLOCK;
  f->args.type = 1;
  f->args.domain = "v-replicate-0";
  f->args.name = "name";
  f->caller.owner = (struct gi_owner){.len = 8, .data = {5, 5, 5, 5, 5, 5, 5, 5}};
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  return f;
}

static struct gi_fop *
unlock_bytes(struct bench *b)
{
  struct gi_fop *f = fake_fop(b->client, GI_FOP_INODELK);

  f->args.cmd = GI_LKCMD_SET;
  f->args.type = f->args.flock.type = GI_LK_UNLOCK;
  f->args.flock.start = 7;
  f->args.flock.len = 9;
  f->args.domain = "v-replicate-0";
  f->caller.owner = (struct gi_owner){.len = 8, .data = {6, 6, 6, 6, 6, 6, 6, 6}};
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 4));
  return f;
}

/* Answered at once, and nothing has gone to the brick. */
static void
given(struct bench *b, struct gi_fop *f)
{
  uint64_t calls = client_of(b)->metrics.calls;

  fake_submit(b->client, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(client_of(b)->metrics.calls, calls);
  fake_fop_free(f);
}

static void
stat_one(struct bench *b)
{
  struct gi_fop *f = bench_request(b, GI_FOP_STAT, NULL);

  bench_submit(b, f);
  assert_null(gi_dict_get(f->xdata, GI_GIVE_BACK_KEY)); /* the same request may be sent to another brick, too */
  fake_fop_free(f);
}

static void
see_lock(struct gi_fop *fop, void *arg)
{
  struct gi_fop **seen = arg;

  *seen = gi_fop_ref(fop);
}

/* The brick does it before the operation that it came with, and that operation shows nothing of it. */
static void
test_goes_before_the_next_operation(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *name = NULL, *bytes = NULL;

  fake_script(b->server, 0, GI_FOP_ENTRYLK, (struct fake_reply){.fill = see_lock, .arg = &name});
  fake_script(b->server, 0, GI_FOP_INODELK, (struct fake_reply){.fill = see_lock, .arg = &bytes});
  given(b, unlock_name(b));
  given(b, unlock_bytes(b));
  fake_forget_seen(b->server);
  stat_one(b);
  assert_int_equal(b->server->nseen, 3);
  assert_int_equal(b->server->seen[0].kind, GI_FOP_ENTRYLK);
  assert_int_equal(b->server->seen[1].kind, GI_FOP_INODELK);
  assert_int_equal(b->server->seen[2].kind, GI_FOP_STAT);
  assert_non_null(name);
  assert_int_equal(name->args.cmd, GI_ENTRYLK_UNLOCK);
  assert_string_equal(name->args.name, "name");
  assert_string_equal(name->args.domain, "v-replicate-0");
  assert_int_equal(name->caller.owner.data[0], 5);
  assert_true(gi_gfid_equal(&name->loc.inode->gfid, &fake_inode(b->client, 3)->gfid));
  assert_int_equal(bytes->args.type, GI_LK_UNLOCK);
  assert_int_equal(bytes->args.flock.start, 7);
  assert_int_equal(bytes->args.flock.len, 9);
  gi_fop_unref(name);
  gi_fop_unref(bytes);
  bench_free(b);
}

/* A change of another client may wait for a word of this one, and what is given back for the change. */
static void
test_a_word_goes_alone(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *word = fake_fop(b->client, GI_FOP_IPC);

  fake_script(b->server, 0, GI_FOP_ENTRYLK, (struct fake_reply){.hold = true});
  given(b, unlock_name(b));
  word->args.what = 77;
  bench_submit(b, word);
  assert_int_equal(word->rsp.ret, 0);
  assert_int_equal(b->server->seen[b->server->nseen - 1].kind, GI_FOP_IPC);
  fake_fop_free(word);
  bench_free(b);
}

static struct gi_fop *
lower(struct bench *b, bool later)
{
  struct gi_fop *f = fake_fop(b->client, GI_FOP_XATTROP);

  gi_loc_set_inode(&f->loc, fake_inode(b->client, 4));
  f->args.flags = GI_XATTROP_ADD32;
  f->args.later = later;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "trusted.afr.dirty", "\xff\xff\xff\xff\0\0\0\0\0\0\0\0", 12);
  return f;
}

/* Whatever order they were given in: the lock is held until the counters are lowered. */
static void
test_counters_go_before_locks(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *seen = NULL;
  const void *value;
  uint32_t len;

  fake_script(b->server, 0, GI_FOP_XATTROP, (struct fake_reply){.fill = see_lock, .arg = &seen});
  given(b, unlock_bytes(b));
  given(b, lower(b, true));
  assert_true(client_of(b)->gives_lock);
  fake_forget_seen(b->server);
  stat_one(b);
  assert_int_equal(b->server->nseen, 3);
  assert_int_equal(b->server->seen[0].kind, GI_FOP_XATTROP);
  assert_int_equal(b->server->seen[1].kind, GI_FOP_INODELK);
  assert_int_equal(b->server->seen[2].kind, GI_FOP_STAT);
  assert_int_equal(seen->args.flags, GI_XATTROP_ADD32);
  assert_true(gi_gfid_equal(&seen->loc.inode->gfid, &fake_inode(b->client, 4)->gfid));
  assert_true(gi_dict_get_bin(seen->args.dict, "trusted.afr.dirty", &value, &len));
  assert_int_equal(len, 12);
  assert_memory_equal(value, "\xff\xff\xff\xff", 4);
  gi_fop_unref(seen);
  bench_free(b);
}

/* Those somebody waits for, and those of a brick that does not know of this. */
static void
test_counters_that_are_sent(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = lower(b, false);

  bench_submit(b, f);
  assert_int_equal(client_of(b)->sent[GI_FOP_XATTROP], 1);
  fake_fop_free(f);
  strcpy(client_of(b)->capabilities, GI_GIVE_BACK_CAPABILITY);
  f = lower(b, true);
  bench_submit(b, f);
  assert_int_equal(client_of(b)->sent[GI_FOP_XATTROP], 2);
  fake_fop_free(f);
  bench_free(b);
}

static void
test_goes_by_itself_a_moment_later(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);

  given(b, unlock_name(b));
  for (unsigned i = 0; i < 500 && !fake_count(b->server, 0, GI_FOP_ENTRYLK); i++)
    bench_turn(b, 10);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_ENTRYLK), 1);
  bench_free(b);
}

static void
open_it(struct bench *b, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(b->client, GI_FOP_OPEN);

  gi_fop_set_fd(f, fd);
  bench_submit(b, f);
  fake_fop_free(f);
}

static void
test_a_descriptor_goes_too(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = gi_fd_new(b->client->graph, fake_inode(b->client, 9), O_RDWR, 1);

  open_it(b, fd);
  assert_int_equal(b->server->graph->fds_live, 1);
  gi_fd_unref(&fd);
  assert_int_equal(client_of(b)->sent[GI_FOP_RELEASE], 0);
  stat_one(b);
  assert_int_equal(b->server->graph->fds_live, 0);
  bench_free(b);
}

static unsigned
turns_until_released(struct bench *b)
{
  unsigned turns = 0;

  for (; turns < 1000 && !client_of(b)->sent[GI_FOP_RELEASE]; turns++)
    bench_turn(b, 10);
  return turns;
}

/* Nobody waits for a descriptor, so it waits longer for a message to go with; a lock takes it along. */
static void
test_a_descriptor_waits_longer_than_a_lock(void **state)
{
  for (unsigned lock = 0; lock < 2; lock++) {
    struct bench *b = bench_new(NULL, NULL, true);
    struct gi_fd *fd = gi_fd_new(b->client->graph, fake_inode(b->client, 9), O_RDWR, 1);

    open_it(b, fd);
    gi_fd_unref(&fd);
    assert_false(client_of(b)->gives_lock);
    if (lock)
      given(b, unlock_name(b));
    assert_int_equal(client_of(b)->gives_lock, lock);
    assert_true(client_of(b)->give_back_timer.armed);
    assert_true(turns_until_released(b) < 1000);
    assert_int_equal(client_of(b)->sent[GI_FOP_RELEASE], 1);
    assert_false(client_of(b)->gives_lock || client_of(b)->give_back_timer.armed);
    bench_free(b);
  }
}

/* A lock that others wait for is given back at once, and so are those after it. */
static void
test_waits_for_nothing_when_others_wait(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_contention con = {.entry = true, .domain = "v-replicate-0", .name = "name"};
  struct gi_fop *seen = NULL, *f;

  fake_script(b->server, 0, GI_FOP_STAT, (struct fake_reply){.fill = see_lock, .arg = &seen});
  stat_one(b);
  con.client = seen->caller.client;
  con.gfid = fake_inode(b->client, 3)->gfid;
  gi_fop_unref(seen);
  fake_event(b->server, 0, GI_EVENT_CONTENTION, &con);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CONTENTION], 1));
  f = unlock_name(b);
  bench_submit(b, f);
  assert_int_equal(client_of(b)->sent[GI_FOP_ENTRYLK], 1);
  fake_fop_free(f);
  bench_free(b);
}

/* Bricks of GlusterFS, healers, and locks and unlocks of applications. */
static void
test_who_sends_messages(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = unlock_name(b);
  struct gi_fd *fd = gi_fd_new(b->client->graph, fake_inode(b->client, 9), O_RDWR, 1);

  open_it(b, fd);
  client_of(b)->peer_is_ours = false;
  bench_submit(b, f);
  assert_int_equal(client_of(b)->sent[GI_FOP_ENTRYLK], 1);
  fake_fop_free(f);
  gi_fd_unref(&fd);
  assert_int_equal(client_of(b)->sent[GI_FOP_RELEASE], 1);
  client_of(b)->peer_is_ours = true;
  f = unlock_name(b);
  f->caller.pid = GI_PID_HEAL;
  bench_submit(b, f);
  assert_int_equal(client_of(b)->sent[GI_FOP_ENTRYLK], 2);
  fake_fop_free(f);
  f = unlock_bytes(b);
  f->args.type = f->args.flock.type = GI_LK_WRITE;
  bench_submit(b, f);
  assert_int_equal(client_of(b)->sent[GI_FOP_INODELK], 1);
  fake_fop_free(f);
  bench_free(b);
}

/* The locks have gone with the connection. */
static void
test_goes_with_its_connection(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);

  given(b, unlock_name(b));
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  assert_int_equal(client_of(b)->given_back.len, 0);
  assert_false(client_of(b)->give_back_timer.armed);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_goes_before_the_next_operation),
      cmocka_unit_test(test_a_word_goes_alone),
      cmocka_unit_test(test_counters_go_before_locks),
      cmocka_unit_test(test_counters_that_are_sent),
      cmocka_unit_test(test_goes_by_itself_a_moment_later),
      cmocka_unit_test(test_a_descriptor_goes_too),
      cmocka_unit_test(test_a_descriptor_waits_longer_than_a_lock),
      cmocka_unit_test(test_waits_for_nothing_when_others_wait),
      cmocka_unit_test(test_who_sends_messages),
      cmocka_unit_test(test_goes_with_its_connection),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
