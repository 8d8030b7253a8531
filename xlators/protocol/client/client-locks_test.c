/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/client: locks that outlive a connection, and those that are given up.
 */
#include "tests/unit/brick-bench.h"
#include "xlators/protocol/client/client.h"

#include <errno.h>
#include <fcntl.h>

/* ---- locks that outlive a connection ---- */

static struct gi_fop *
posix_lock(struct bench *b, struct gi_fd *fd, uint32_t type, uint64_t start, uint64_t len)
{
  struct gi_fop *f = bench_request(b, GI_FOP_LK, fd);
  f->args.type = type;
  f->args.flock = (struct gi_flock){.type = type, .start = start, .len = len};
  return f;
}

static void
locked(struct bench *b, struct gi_fd *fd, uint32_t type, uint64_t start, uint64_t len)
{
  struct gi_fop *f = posix_lock(b, fd, type, start, len);
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
}

struct ranges {
  char text[256];
};

static void
note_range(struct gi_fop *fop, void *arg)
{
  struct ranges *r = arg;
  size_t len = strlen(r->text);
  assert_int_equal(fop->args.cmd, GI_LKCMD_SET);
  assert_int_equal(fop->caller.owner.data[0], 0xab);
  assert_false(fop->fd->anonymous);
  snprintf(r->text + len, sizeof(r->text) - len, "%c%llu+%llu ", "rwu"[fop->args.type],
           (unsigned long long)fop -> args.flock.start, (unsigned long long)fop->args.flock.len);
}

static void
restart_noting(struct bench *b, struct ranges *r)
{
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_start_server(b, NULL);
  fake_script_always(b->server, 0, GI_FOP_LK, (struct fake_reply){.fill = note_range, .arg = r});
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
}

static void
test_locks_are_taken_again(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  struct ranges r = {""};
  locked(b, fd, GI_LK_WRITE, 0, 10);
  locked(b, fd, GI_LK_WRITE, 10, 10);
  locked(b, fd, GI_LK_UNLOCK, 5, 2);
  locked(b, fd, GI_LK_READ, 100, 0);
  restart_noting(b, &r);
  assert_string_equal(r.text, "w7+13 w0+5 r100+0 ");
  assert_int_equal(b->client->events[GI_EVENT_LOCKS], 2); /* away, held */
  bench_free(b);
}

static void
test_locks_given_up_while_away(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR), *other = bench_open(b, 8, O_RDWR);
  struct ranges r = {""};
  locked(b, fd, GI_LK_WRITE, 0, 10);
  locked(b, other, GI_LK_WRITE, 0, 10);
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  struct gi_fop *f = posix_lock(b, fd, GI_LK_UNLOCK, 0, 4);
  bench_send(b, f);
  assert_int_equal(f->rsp.err, ENOTCONN);
  bench_send(b, bench_request(b, GI_FOP_FLUSH, other));
  bench_start_server(b, NULL);
  fake_script_always(b->server, 0, GI_FOP_LK, (struct fake_reply){.fill = note_range, .arg = &r});
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  assert_string_equal(r.text, "w4+6 ");
  bench_free(b);
}

/* The brick is being asked for it already. */
static void
test_lock_given_up_while_it_is_taken(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  struct ranges r = {""};
  locked(b, fd, GI_LK_WRITE, 0, 10);
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_start_server(b, NULL);
  fake_script(b->server, 0, GI_FOP_LK, (struct fake_reply){.hold = true});
  fake_script_always(b->server, 0, GI_FOP_LK, (struct fake_reply){.fill = note_range, .arg = &r});
  for (int i = 0; i < 2000 && !fake_held(b->server, 0); i++)
    bench_turn(b, 1);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_UP], 1);
  bench_send(b, posix_lock(b, fd, GI_LK_UNLOCK, 0, 4));
  assert_true(fake_release(b->server, 0, GI_FOP_LK, 0, 0));
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  assert_string_equal(r.text, "u0+10 w4+6 ");
  bench_free(b);
}

static void
test_lock_that_another_has_got(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR), *other = bench_open(b, 9, O_RDWR);
  locked(b, fd, GI_LK_WRITE, 0, 10);
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_start_server(b, NULL);
  fake_script(b->server, 0, GI_FOP_LK, (struct fake_reply){.ret = -1, .err = EAGAIN});
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  struct gi_fop *f = bench_request(b, GI_FOP_FSTAT, fd);
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EBADFD); /* nobody above makes up for it */
  f = bench_request(b, GI_FOP_FSTAT, other);
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  bench_free(b);
}

/* Granted by others while this brick was away. */
static void
test_lock_to_be_remembered(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = fake_fd(b->client, 9);
  struct ranges r = {""};
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  struct gi_fop *f = posix_lock(b, fd, GI_LK_WRITE, 0, 10);
  f->args.cmd = GI_LKCMD_REMEMBER;
  bench_send(b, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(b->client->events[GI_EVENT_LOCKS], 1);
  bench_start_server(b, NULL);
  fake_script_always(b->server, 0, GI_FOP_LK, (struct fake_reply){.fill = note_range, .arg = &r});
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  assert_string_equal(r.text, "w0+10 ");
  assert_int_equal(b->client->events[GI_EVENT_LOCKS], 2);
  bench_free(b);
}

/* ---- locks that are given up ---- */

static void
test_cancelled_lock(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  struct gi_fop *f = bench_request(b, GI_FOP_LK, fd);
  f->args.cmd = GI_LKCMD_SETW;
  fake_script(b->server, 0, GI_FOP_LK, (struct fake_reply){.hold = true});
  bench_send(b, f);
  bench_turn(b, 5);
  assert_int_equal(fake_held(b->server, 0), 1);
  gi_fop_cancel(f);
  assert_true(f->answered);
  assert_int_equal(f->rsp.err, EINTR);
  fake_fop_free(f);
  bench_turn(b, 5);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_GETXATTR), 1); /* the brick was asked to drop it */
  assert_true(fake_release(b->server, 0, GI_FOP_LK, 0, 0));       /* and granted it all the same */
  bench_turn(b, 5);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_LK), 2);
  assert_int_equal(b->server->seen[b->server->nseen - 1].type, GI_LK_UNLOCK);
  bench_free(b);
}

/* A client whose process has a lock for reading and is to wait for one for writing, in `f`, that takes its place in part or all of it. */
static struct bench *
upgrading(struct gi_fop **f, uint64_t start, uint64_t len)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  locked(b, fd, GI_LK_READ, 2, 8);
  *f = posix_lock(b, fd, GI_LK_WRITE, start, len);
  (*f)->args.cmd = GI_LKCMD_SETW;
  return b;
}

/* What the owner had before is set again before the rest is unlocked. */
static void
test_cancelled_upgrade(void **state)
{
  struct ranges r = {""};
  struct gi_fop *f;
  struct bench *b = upgrading(&f, 5, 10);
  fake_script(b->server, 0, GI_FOP_LK, (struct fake_reply){.hold = true});
  fake_script_always(b->server, 0, GI_FOP_LK, (struct fake_reply){.fill = note_range, .arg = &r});
  bench_send(b, f);
  bench_turn(b, 5);
  gi_fop_cancel(f);
  assert_int_equal(f->rsp.err, EINTR);
  fake_fop_free(f);
  assert_true(fake_release(b->server, 0, GI_FOP_LK, 0, 0));
  bench_turn(b, 10);
  assert_string_equal(r.text, "r2+8 u10+5 ");
  bench_free(b);
}

/* The brick gave the older lock up while the request waited. */
static void
test_refused_upgrade(void **state)
{
  struct ranges r = {""};
  struct gi_fop *f;
  struct bench *b = upgrading(&f, 5, 10);
  fake_script(b->server, 0, GI_FOP_LK, (struct fake_reply){.ret = -1, .err = EINTR});
  fake_script_always(b->server, 0, GI_FOP_LK, (struct fake_reply){.fill = note_range, .arg = &r});
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EINTR);
  bench_turn(b, 10);
  assert_string_equal(r.text, "r2+8 ");
  bench_free(b);
}

/* It waits again, and gets the lock, while the older one is being set. */
static void
test_upgrade_that_is_tried_again(void **state)
{
  struct ranges r = {""};
  struct gi_fop *f;
  struct bench *b = upgrading(&f, 2, 8);
  fake_script(b->server, 0, GI_FOP_LK, (struct fake_reply){.ret = -1, .err = EINTR});
  fake_script(b->server, 0, GI_FOP_LK, (struct fake_reply){.hold = true});
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EINTR);
  for (int i = 0; i < 1000 && !fake_held(b->server, 0); i++)
    bench_turn(b, 1);
  locked(b, f->fd, GI_LK_WRITE, 2, 8);
  fake_script_always(b->server, 0, GI_FOP_LK, (struct fake_reply){.fill = note_range, .arg = &r});
  assert_true(fake_release(b->server, 0, GI_FOP_LK, 0, 0));
  bench_turn(b, 10);
  assert_string_equal(r.text, "w2+8 ");
  bench_free(b);
}

/* Granted here, refused by another brick. */
static void
test_upgrade_that_is_taken_back(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  struct ranges r = {""};
  locked(b, fd, GI_LK_READ, 2, 8);
  locked(b, fd, GI_LK_WRITE, 5, 10);
  fake_script_always(b->server, 0, GI_FOP_LK, (struct fake_reply){.fill = note_range, .arg = &r});
  struct gi_fop *f = posix_lock(b, fd, GI_LK_UNLOCK, 5, 10);
  f->args.cmd = GI_LKCMD_REMEMBER;
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  bench_turn(b, 10);
  assert_string_equal(r.text, "r5+5 u10+5 ");
  r.text[0] = '\0';
  f = posix_lock(b, fd, GI_LK_UNLOCK, 5, 10); /* nothing was before */
  f->args.cmd = GI_LKCMD_REMEMBER;
  bench_submit(b, f);
  assert_string_equal(r.text, "u5+10 ");
  bench_free(b);
}

static void
test_cancelled_lock_that_was_refused(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = bench_request(b, GI_FOP_INODELK, NULL);
  f->args.cmd = GI_LKCMD_SETW;
  fake_script(b->server, 0, GI_FOP_INODELK, (struct fake_reply){.hold = true});
  bench_send(b, f);
  bench_turn(b, 5);
  gi_fop_cancel(f);
  assert_int_equal(f->rsp.err, EINTR);
  assert_true(fake_release(b->server, 0, GI_FOP_INODELK, -1, EAGAIN));
  bench_turn(b, 5);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_INODELK), 1);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_locks_are_taken_again),
      cmocka_unit_test(test_locks_given_up_while_away),
      cmocka_unit_test(test_lock_given_up_while_it_is_taken),
      cmocka_unit_test(test_lock_that_another_has_got),
      cmocka_unit_test(test_lock_to_be_remembered),
      cmocka_unit_test(test_cancelled_lock),
      cmocka_unit_test(test_cancelled_upgrade),
      cmocka_unit_test(test_refused_upgrade),
      cmocka_unit_test(test_upgrade_that_is_tried_again),
      cmocka_unit_test(test_upgrade_that_is_taken_back),
      cmocka_unit_test(test_cancelled_lock_that_was_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
