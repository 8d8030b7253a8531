/* SPDX-License-Identifier: Apache-2.0
 *
 * All addresses of a name come, once, to whoever still waits.
 */
#include "rpc/resolve.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <unistd.h>

struct answer {
  unsigned calls, n;
  uint32_t last; /* the last address */
  int code;
};

static atomic_bool dead;
static atomic_int workers;

/* "N" has the addresses 10.0.0.0 to 10.0.0.N - 1. */
static int
resolve(struct gi_reactor *r, const char *host, int port, struct gi_net_address *out, unsigned max, struct gi_error *err)
{
  unsigned n = (unsigned)atoi(host);
  workers++;
  while (dead)
    usleep(1000);
  for (unsigned i = 0; i < n && i < max; i++) {
    struct sockaddr_in *in = (struct sockaddr_in *)&out[i].sa;
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(0x0a000000 + i);
    out[i].len = sizeof(*in);
  }
  return n == 0 ? gi_error_set(err, GI_NET_NO_SUCH_NAME, "there is no %s", host) : (int)(n < max ? n : max);
}

static struct gi_reactor *
reactor(void)
{
  static struct gi_net_ops net;
  struct gi_reactor *r = gi_reactor_new(2);
  net = gi_net_kernel;
  net.resolve = resolve;
  r->net = &net;
  workers = 0;
  return r;
}

static void
answered(void *arg, const struct gi_net_address *address, unsigned n, const struct gi_error *err)
{
  struct answer *a = arg;
  a->calls++;
  a->n = n;
  a->last = n ? ntohl(((const struct sockaddr_in *)&address[n - 1].sa)->sin_addr.s_addr) : 0;
  a->code = n ? 0 : err->code;
}

static void
until(struct gi_reactor *r, const unsigned *what)
{
  for (int turn = 0; turn < 500 && !*what; turn++)
    gi_reactor_turn(r, 10 * GI_NSEC_PER_MSEC);
  assert_int_equal(*what, 1);
}

static void
test_all_addresses(void **state)
{
  static const struct {
    const char *name;
    unsigned n;
  } names[] = {{"1", 1}, {"15", 15}, {"16", 16}, {"17", 17}, {"300", 300}, {"0", 0}};
  struct gi_reactor *r = reactor();
  for (unsigned i = 0; i < GI_ARRAY_LEN(names); i++) {
    struct answer a = {0};
    assert_non_null(gi_resolve_start(r, names[i].name, 0, answered, &a));
    assert_int_equal(a.calls, 0);
    until(r, &a.calls);
    assert_int_equal(a.n, names[i].n);
    assert_int_equal(a.last, a.n ? 0x0a000000 + a.n - 1 : 0);
    assert_int_equal(a.code, a.n ? 0 : GI_NET_NO_SUCH_NAME);
  }
  gi_reactor_free(r);
}

/* Who does not wait is not told, and the next one who wants that name waits for the worker that there is. */
static void
test_a_worker_for_each_name(void **state)
{
  struct gi_reactor *r = reactor();
  struct answer first = {0}, second = {0};
  dead = true;
  struct gi_resolve *res = gi_resolve_start(r, "20", 0, answered, &first);
  gi_resolve_cancel(&res);
  assert_null(res);
  assert_non_null(gi_resolve_start(r, "20", 0, answered, &second));
  dead = false;
  until(r, &second.calls);
  assert_int_equal(second.n, 20);
  assert_int_equal(first.calls, 0);
  assert_int_equal(workers, 2); /* and that one has asked once more, with more room */
  gi_reactor_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_addresses),
      cmocka_unit_test(test_a_worker_for_each_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
