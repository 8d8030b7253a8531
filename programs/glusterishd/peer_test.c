/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of who is found at the other end of a connection: our own user and
 * process, over both families of addresses and mixed; nobody where the other
 * end is closed or is another machine's.
 */
#include "programs/glusterishd/doors.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void
nothing(struct gi_conn *c, struct gi_record *rec, void *arg)
{
}

static void
closed(struct gi_conn *c, const struct gi_error *why, void *arg)
{
}

static socklen_t
address(const char *text, struct sockaddr_storage *sa)
{
  struct sockaddr_in *in4 = (struct sockaddr_in *)sa;
  struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;
  memset(sa, 0, sizeof(*sa));
  sa->ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
  assert_int_equal(inet_pton(sa->ss_family, text, sa->ss_family == AF_INET6 ? (void *)&in6->sin6_addr : &in4->sin_addr), 1);
  return sa->ss_family == AF_INET6 ? sizeof(*in6) : sizeof(*in4);
}

struct pair {
  struct gi_reactor *r;
  int listener, peer;
  struct gi_conn *conn; /* the accepted end */
};

/* False when this machine has no such addresses. */
static bool
pair_new(struct pair *p, const char *listen_at, const char *connect_to)
{
  struct sockaddr_storage sa, at;
  socklen_t len = address(listen_at, &sa), at_len = sizeof(at);
  p->r = gi_reactor_new(0);
  p->listener = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (p->listener < 0 || bind(p->listener, (struct sockaddr *)&sa, len) || listen(p->listener, 1))
    return false;
  assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &at_len), 0);
  len = address(connect_to, &sa);
  ((struct sockaddr_in *)&sa)->sin_port = ((struct sockaddr_in *)&at)->sin_port; /* where an IPv6 address has it too */
  p->peer = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(p->peer, (struct sockaddr *)&sa, len))
    return false;
  int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  assert_true(fd >= 0);
  static const struct gi_conn_ops ops = {.record = nothing, .closed = closed};
  p->conn = gi_conn_accept(p->r, fd, &ops, NULL);
  return true;
}

static void
pair_free(struct pair *p)
{
  if (p->conn)
    gi_conn_free(&p->conn);
  close(p->peer);
  close(p->listener);
  gi_reactor_free(p->r);
}

static void
test_own_process(void **state)
{
  static const char *const ways[][2] = {
      {"127.0.0.1", "127.0.0.1"}, {"127.0.0.2", "127.0.0.2"},      {"0.0.0.0", "127.0.0.1"}, {"::1", "::1"}, {"::", "::1"},
      {"::", "127.0.0.1"},        {"0.0.0.0", "::ffff:127.0.0.1"},
  };
  for (size_t i = 0; i < GI_ARRAY_LEN(ways); i++) {
    struct pair p = {.peer = -1};
    struct gd_peer who = {.uid = 4711};
    if (pair_new(&p, ways[i][0], ways[i][1])) {
      if (!gd_peer_look(p.conn, &who))
        fail_msg("%s to %s is not found", ways[i][1], ways[i][0]);
      assert_int_equal(who.uid, geteuid());
      assert_true(gd_peer_is_process(&who, getpid()));
      assert_false(gd_peer_is_process(&who, 1));
    }
    pair_free(&p);
  }
}

static void
test_another_user(void **state)
{
  struct pair p = {.peer = -1};
  struct gd_peer who;
  if (geteuid() != 0)
    skip();
  assert_int_equal(seteuid(65534), 0);
  bool made = pair_new(&p, "127.0.0.1", "127.0.0.1");
  assert_int_equal(seteuid(0), 0);
  assert_true(made);
  assert_true(gd_peer_look(p.conn, &who));
  assert_int_equal(who.uid, 65534);
  pair_free(&p);
}

/* The kernel calls the user of a socket that nobody holds any more 0. */
static void
test_closed(void **state)
{
  struct pair p = {.peer = -1};
  struct gd_peer who;
  assert_true(pair_new(&p, "127.0.0.1", "127.0.0.1"));
  assert_int_equal(close(p.peer), 0);
  p.peer = -1;
  assert_false(gd_peer_look(p.conn, &who));
  pair_free(&p);
}

/* The process that made the connection has ended, another has it. */
static void
test_handed_on(void **state)
{
  struct pair p = {.peer = -1};
  struct gd_peer who;
  assert_true(pair_new(&p, "127.0.0.1", "127.0.0.1"));
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  assert_true(child > 0);
  assert_int_equal(close(p.peer), 0);
  p.peer = -1;
  assert_true(gd_peer_look(p.conn, &who));
  assert_true(gd_peer_is_process(&who, child));
  assert_false(gd_peer_is_process(&who, getpid()));
  assert_int_equal(kill(child, SIGKILL), 0);
  waitpid(child, NULL, 0);
  pair_free(&p);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_process),
      cmocka_unit_test(test_another_user),
      cmocka_unit_test(test_closed),
      cmocka_unit_test(test_handed_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
