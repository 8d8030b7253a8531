/* SPDX-License-Identifier: Apache-2.0
 *
 * The management connection against a stand-in daemon.
 */
#include "libglusterish/mem.h"
#include "rpc/client-key.h"
#include "rpc/handshake.h"
#include "rpc/net.h"
#include "rpc/rpc-server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct bench {
  struct gi_ctx ctx;
  struct gi_rpc_server *daemon;
  struct gi_rpc_peer *peer;
  int port;
  const char *text; /* what the daemon serves; NULL: refuses with ENOENT */
  const char *servers;
  const char *keys;        /* the daemon serves only who has one of these; NULL: everybody */
  bool insatiable;         /* it asks again for the proof that it was given */
  struct gi_key_door door; /* what it knows of the one client */
  /* what the daemon saw */
  unsigned specs, signins, signouts, refusals;
  uint32_t flags;
  char key[64], brick[64], brick_name[64];
  int brick_port, brick_pid;
  /* what the owner saw */
  struct gi_mgmt *m;
  unsigned volfiles, failures, statedumps, news;
  char volfile[256], why[128];
  int err;
  bool free_on_volfile;
};

/* ---- the daemon ---- */

static void
take_text(struct gi_xdr_in *in, char *out, size_t size)
{
  uint32_t len;
  const uint8_t *p = gi_xdr_get_opaque(in, (uint32_t)size - 1, &len);
  assert_non_null(p);
  memcpy(out, p, len);
  out[len] = 0;
}

/* Has the client a key, if one is demanded? If not it is asked for it in `out`. */
static bool
has_key(struct bench *b, struct gi_rpc_request *req, const struct gi_dict *in, struct gi_dict *out)
{
  const struct gi_key_claim claim = {gi_rpc_peer_conn(req->peer), "volfile", b->key};
  if (!b->keys || (gi_client_key_take(&b->door, b->keys, in, &claim) == GI_KEY_GOOD && !b->insatiable))
    return true;
  gi_client_key_ask(&b->door, b->ctx.reactor, out);
  return false;
}

static void
getspec(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct bench *b = arg;
  struct gi_xdr_out out = {0};
  const char *v;
  int64_t version = 0;
  assert_int_equal(req->header.flavour, GI_AUTH_V2);
  b->specs++;
  b->flags = gi_xdr_get_u32(&req->in);
  take_text(&req->in, b->key, sizeof(b->key));
  struct gi_dict *d = gi_xdr_get_legacy_dict(&req->in);
  assert_true(gi_dict_get_int(d, "max-op-version", &version));
  assert_int_equal(version, 100000);
  assert_true(gi_dict_get_int(d, "min-op-version", &version));
  assert_int_equal(version, 1);
  if (gi_dict_get_str(d, "brick_name", &v))
    snprintf(b->brick_name, sizeof(b->brick_name), "%s", v);
  struct gi_dict *told = gi_dict_new();
  const char *text = has_key(b, req, d, told) ? b->text : NULL;
  gi_dict_unref(&d);
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, text ? (uint32_t)strlen(text) : UINT32_MAX);
  gi_xdr_put_u32(&out, text ? 0 : b->text ? EACCES : ENOENT);
  gi_xdr_put_string(&out, text);
  if (b->servers)
    gi_dict_set_str(told, "servers-list", b->servers);
  gi_xdr_put_legacy_dict(&out, told);
  gi_dict_unref(&told);
  gi_rpc_answer_send(req, &out, NULL);
}

/* What SIGNIN and SIGNOUT have in common, and the answer. */
static void
take_port(struct bench *b, struct gi_rpc_request *req, uint32_t *last)
{
  struct gi_xdr_out out = {0};
  take_text(&req->in, b->brick, sizeof(b->brick));
  b->brick_port = (int)gi_xdr_get_u32(&req->in);
  *last = gi_xdr_get_u32(&req->in);
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u64(&out, 0);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
signin(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct bench *b = arg;
  uint32_t pid;
  take_port(b, req, &pid);
  b->brick_pid = (int)pid;
  b->signins++;
}

static void
signout(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct bench *b = arg;
  uint32_t rdma_port;
  take_port(b, req, &rdma_port);
  b->signouts++;
}

static gi_rpc_handler *const handshake[] = {[GI_HNDSK_GETSPEC] = getspec};
static gi_rpc_handler *const portmap[] = {[GI_PMAP_SIGNIN] = signin, [GI_PMAP_SIGNOUT] = signout};
static const struct gi_rpc_program handshake_program = {"Gluster Handshake", GI_PROG_HANDSHAKE, 2, GI_ARRAY_LEN(handshake),
                                                        handshake};
static const struct gi_rpc_program portmap_program = {"Gluster Portmap", GI_PROG_PORTMAP, 1, GI_ARRAY_LEN(portmap), portmap};

static void
peer_up(struct gi_rpc_server *s, struct gi_rpc_peer *p, void *arg)
{
  struct bench *b = arg;
  b->peer = p;
  b->door = (struct gi_key_door){0};
}

static const struct gi_rpc_server_ops daemon_ops = {.peer_up = peer_up};

static void
start_daemon(struct bench *b)
{
  struct gi_error err;
  b->daemon = gi_rpc_server_new(b->ctx.reactor, "daemon", &daemon_ops, b);
  gi_rpc_server_add_program(b->daemon, &handshake_program);
  gi_rpc_server_add_program(b->daemon, &portmap_program);
  if (gi_rpc_server_listen(b->daemon, "127.0.0.1", b->port, 16, &err) < 0)
    fail_msg("%s", err.text);
  b->port = gi_rpc_server_port(b->daemon);
}

static void
call_back(struct bench *b, uint32_t proc)
{
  struct gi_xdr_out out = {0};
  gi_rpc_callback_begin(b->peer, &out, proc);
  gi_rpc_callback_send(b->peer, &out);
}

/* ---- the owner ---- */

static void
on_volfile(void *arg, const char *text, size_t len)
{
  struct bench *b = arg;
  b->volfiles++;
  assert_int_equal(strlen(text), len);
  snprintf(b->volfile, sizeof(b->volfile), "%s", text);
  if (b->free_on_volfile)
    gi_mgmt_free(&b->m);
}

static void
on_failed(void *arg, int err, const char *text)
{
  struct bench *b = arg;
  b->failures++;
  b->err = err;
  snprintf(b->why, sizeof(b->why), "%s", text);
}

static void
on_statedump(void *arg, int32_t pid)
{
  assert_int_equal(pid, 0); /* the callback of this test names none */
  ((struct bench *)arg)->statedumps++;
}

static void
on_news(void *arg)
{
  ((struct bench *)arg)->news++;
}

static const struct gi_mgmt_ops ops = {on_volfile, on_failed, on_statedump, on_news};

static void
until(struct bench *b, const unsigned *what, unsigned want)
{
  uint64_t end = gi_now(b->ctx.reactor) + 5 * GI_NSEC_PER_SEC;
  while (*what < want && gi_now(b->ctx.reactor) < end)
    gi_reactor_turn(b->ctx.reactor, 10 * GI_NSEC_PER_MSEC);
  assert_true(*what >= want);
}

static void
turns(struct bench *b, unsigned ms)
{
  uint64_t end = gi_now(b->ctx.reactor) + ms * GI_NSEC_PER_MSEC;
  while (gi_now(b->ctx.reactor) < end)
    gi_reactor_turn(b->ctx.reactor, 5 * GI_NSEC_PER_MSEC);
}

static struct bench *
bench_new(const char *text)
{
  struct bench *b = gi_new(struct bench);
  b->ctx.reactor = gi_reactor_new(1);
  b->text = text;
  start_daemon(b);
  return b;
}

static void
start(struct bench *b, const char *key)
{
  const char *host = "127.0.0.1";
  b->m = gi_mgmt_new(&b->ctx, &host, 1, b->port, key, &ops, b);
}

static void
forget_mgmt(struct bench *b)
{
  gi_mgmt_free(&b->m);
  while (gi_reactor_busy(b->ctx.reactor)) /* a name may be looked up yet */
    gi_reactor_turn(b->ctx.reactor, GI_NSEC_PER_MSEC);
}

static void
bench_free(struct bench *b)
{
  forget_mgmt(b);
  b->ctx.reactor->net = NULL;
  gi_rpc_server_free(&b->daemon);
  gi_reactor_free(b->ctx.reactor);
  gi_free(b);
}

/* ---- tests ---- */

static void
test_fetch(void **state)
{
  struct bench *b = bench_new("volume one\n");
  start(b, "/gold");
  until(b, &b->volfiles, 1);
  assert_string_equal(b->volfile, "volume one\n");
  assert_string_equal(b->key, "/gold");
  assert_int_equal(b->flags, 1);
  assert_string_equal(b->brick_name, "");
  call_back(b, GI_CBK_FETCHSPEC); /* nothing changed: the owner is left alone */
  until(b, &b->specs, 2);
  turns(b, 30);
  assert_int_equal(b->volfiles, 1);
  assert_int_equal(b->news, 1); /* perhaps a brick has come */
  b->text = "volume two\n";
  for (int i = 0; i < 5; i++)
    call_back(b, GI_CBK_FETCHSPEC);
  until(b, &b->volfiles, 2);
  assert_string_equal(b->volfile, "volume two\n");
  turns(b, 30);
  assert_true(b->specs <= 5); /* calls that come while fetching are one */
  call_back(b, GI_CBK_STATEDUMP);
  until(b, &b->statedumps, 1);
  assert_int_equal(b->failures, 0);
  bench_free(b);
}

static void
test_refused(void **state)
{
  struct bench *b = bench_new(NULL);
  start(b, "nosuch");
  until(b, &b->failures, 1);
  assert_int_equal(b->err, ENOENT);
  b->text = "late\n";
  call_back(b, GI_CBK_FETCHSPEC);
  until(b, &b->volfiles, 1);
  b->text = NULL; /* a running process keeps what it has */
  call_back(b, GI_CBK_FETCHSPEC);
  turns(b, 50);
  assert_int_equal(b->failures, 1);
  bench_free(b);
}

static void
test_brick(void **state)
{
  struct bench *b = bench_new("volume brick\n");
  b->ctx.brick_name = "/srv/brick";
  start(b, "gold.vm.srv-brick");
  gi_mgmt_signin(b->m, "/srv/brick", 49152);
  until(b, &b->volfiles, 1);
  until(b, &b->signins, 1);
  assert_int_equal(b->flags, 0);
  assert_string_equal(b->brick_name, "/srv/brick");
  assert_string_equal(b->brick, "/srv/brick");
  assert_int_equal(b->brick_port, 49152);
  assert_int_equal(b->brick_pid, getpid());
  gi_mgmt_signin(b->m, "/srv/brick", 49153); /* while connected: at once */
  until(b, &b->signins, 2);
  assert_int_equal(b->brick_port, 49153);
  gi_rpc_server_free(&b->daemon);
  turns(b, 100);
  start_daemon(b);
  until(b, &b->signins, 3);
  until(b, &b->specs, 2);
  assert_int_equal(b->volfiles, 1);
  assert_int_equal(b->failures, 0);
  assert_int_equal(b->signouts, 0);
  b->brick[0] = 0;
  b->brick_port = 0;
  gi_mgmt_free(&b->m); /* the last thing that is heard of it */
  until(b, &b->signouts, 1);
  assert_string_equal(b->brick, "/srv/brick");
  assert_int_equal(b->brick_port, 49153);
  bench_free(b);
}

/* ---- keys ---- */

/* A daemon that serves only who has the key JOE, of two that are in `dir`. */
static struct bench *
bench_with_keys(char dir[64], char *list)
{
  struct bench *b = bench_new("volume v\n");
  char joe[GI_CLIENT_KEY_TEXT], jim[GI_CLIENT_KEY_TEXT];
  snprintf(dir, 64, "/tmp/handshake_test.XXXXXX");
  assert_non_null(mkdtemp(dir));
  GI_CLEANUP_FREE char *joes = gi_asprintf("%s/joe", dir), *jims = gi_asprintf("%s/jim", dir);
  assert_int_equal(gi_client_key_make(joes, joe, NULL), 0);
  assert_int_equal(gi_client_key_make(jims, jim, NULL), 0);
  snprintf(list, 128, "joe:%s", joe);
  b->keys = list;
  return b;
}

static void
bench_with_keys_free(struct bench *b, const char *dir)
{
  GI_CLEANUP_FREE char *joes = gi_asprintf("%s/joe", dir), *jims = gi_asprintf("%s/jim", dir);
  bench_free(b);
  unlink(joes);
  unlink(jims);
  assert_int_equal(rmdir(dir), 0);
}

/* Asked once, it proves its key, on each connection anew; what it has proved counts for what it fetches later. */
static void
test_a_key_is_proved(void **state)
{
  char dir[64], list[128], file[80];
  struct bench *b = bench_with_keys(dir, list);
  snprintf(file, sizeof(file), "%s/joe", dir);
  b->ctx.client_key = file;
  start(b, "/v");
  until(b, &b->volfiles, 1);
  assert_int_equal(b->specs, 2);
  b->text = "volume w\n";
  call_back(b, GI_CBK_FETCHSPEC);
  until(b, &b->volfiles, 2);
  assert_int_equal(b->specs, 3);
  gi_rpc_server_free(&b->daemon);
  turns(b, 50);
  b->text = "volume x\n";
  start_daemon(b);
  until(b, &b->volfiles, 3);
  assert_int_equal(b->specs, 5);
  assert_int_equal(b->failures, 0);
  bench_with_keys_free(b, dir);
}

/* Whoever has no key, or not the right one, hears it at once, and does not go round in circles. */
static void
test_a_key_that_is_refused(void **state)
{
  static const struct {
    const char *key; /* NULL: it has none */
    mode_t mode;
    bool insatiable;
    unsigned specs;
    const char *why;
  } cases[] = {
      {NULL, 0600, false, 1, "takes only clients with a key"},
      {"jim", 0600, false, 2, "does not take this client's key"},
      {"joe", 0600, true, 2, "does not take this client's key"},
      {"joe", 0644, false, 2, "does not take this client's key"}, /* as it is not shown */
      {"none", 0600, false, 2, "does not take this client's key"},
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(cases); i++) {
    char dir[64], list[128], file[80];
    struct bench *b = bench_with_keys(dir, list);
    snprintf(file, sizeof(file), "%s/%s", dir, cases[i].key ? cases[i].key : "");
    b->ctx.client_key = cases[i].key ? file : NULL;
    b->insatiable = cases[i].insatiable;
    if (cases[i].mode != 0600)
      assert_int_equal(chmod(file, cases[i].mode), 0);
    start(b, "/v");
    until(b, &b->failures, 1);
    assert_int_equal(b->err, EACCES);
    assert_non_null(strstr(b->why, cases[i].why));
    assert_int_equal(b->specs, cases[i].specs);
    assert_int_equal(b->volfiles, 0);
    bench_with_keys_free(b, dir);
  }
}

/* Who is refused stays connected, and gets the volfile when its key is among those of the volume. */
static void
test_a_key_that_is_added_later(void **state)
{
  char dir[64], list[128], file[80];
  struct bench *b = bench_with_keys(dir, list);
  snprintf(file, sizeof(file), "%s/joe", dir);
  b->ctx.client_key = file;
  b->keys = "";
  start(b, "/v");
  until(b, &b->failures, 1);
  b->keys = list;
  call_back(b, GI_CBK_FETCHSPEC);
  until(b, &b->volfiles, 1);
  bench_with_keys_free(b, dir);
}

/* The first host refuses connections; the second is known only from the first answer. */
static void
test_hosts(void **state)
{
  struct bench *b = bench_new("volume v\n");
  const char *hosts[] = {"127.0.0.77", "127.0.0.1"};
  char list[64];
  snprintf(list, sizeof(list), "127.0.0.1:%d 10.0.0.9:70000 broken :1 ", b->port);
  b->servers = list;
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->volfiles, 1);
  assert_int_equal(b->failures, 0);
  bench_free(b);
}

/* A socket that listens and takes nobody: whoever connects to it waits. The descriptors it needs are in `fd`. */
static void
black_hole(const char *address, int port, int fd[8])
{
  struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, address, &sa.sin_addr);
  for (unsigned i = 0; i < 8; i++)
    fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  assert_int_equal(bind(fd[0], (struct sockaddr *)&sa, sizeof(sa)), 0);
  assert_int_equal(listen(fd[0], 0), 0);
  for (unsigned i = 1; i < 8; i++)
    assert_true(connect(fd[i], (struct sockaddr *)&sa, sizeof(sa)) == 0 || errno == EINPROGRESS);
}

/* A host that does not even refuse is not waited for when there is another. Alone it would have 15 s. */
static void
test_a_silent_host_is_passed_by(void **state)
{
  struct bench *b = bench_new("volume v\n");
  const char *hosts[] = {"127.0.0.78", "127.0.0.1"};
  int fd[8];
  black_hole(hosts[0], b->port, fd);
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->volfiles, 1);
  for (unsigned i = 0; i < 8; i++)
    close(fd[i]);
  bench_free(b);
}

static int taken[8]; /* connections of the daemon that hangs */
static unsigned ntaken;

static void
take(void *arg, int fd)
{
  assert_true(ntaken < GI_ARRAY_LEN(taken));
  taken[ntaken++] = fd;
}

/* Nor is one whose daemon hangs: connections to it are made, by the kernel, and nothing is answered. */
static void
test_a_frozen_daemon_is_passed_by(void **state)
{
  struct bench *b = bench_new("volume v\n");
  const char *hosts[] = {"127.0.0.82", "127.0.0.1"};
  struct gi_error err;
  struct gi_listener *l = gi_listener_new(b->ctx.reactor, hosts[0], b->port, 16, take, b, &err);
  assert_non_null(l);
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->volfiles, 1);
  assert_int_equal(ntaken, 1);
  assert_int_equal(b->failures, 0);
  b->text = "volume w\n"; /* the one that answered is the one that is listened to */
  call_back(b, GI_CBK_FETCHSPEC);
  until(b, &b->volfiles, 2);
  while (ntaken > 0)
    close(taken[--ntaken]);
  gi_listener_free(&l);
  bench_free(b);
}

/* Addresses of names: of `several` one that is silent and one that answers; `dead` is answered by no name service while it is. */
static atomic_bool dead;

static int
resolve(struct gi_reactor *r, const char *host, int port, struct gi_net_address *out, unsigned max, struct gi_error *err)
{
  if (strcmp(host, "several") == 0)
    return gi_net_kernel.resolve(r, "127.0.0.83", port, out, max, err) +
           gi_net_kernel.resolve(r, "127.0.0.1", port, out + 1, max - 1, err);
  while (dead)
    usleep(1000);
  if (strcmp(host, "slow") == 0)
    usleep(1000000);
  return gi_error_set(err, EHOSTUNREACH, "cannot resolve %s", host);
}

static struct bench *
bench_with_names(struct gi_net_ops *net)
{
  struct bench *b = bench_new("volume v\n");
  *net = gi_net_kernel;
  net->resolve = resolve;
  b->ctx.reactor->net = net;
  return b;
}

static void
test_all_addresses_of_a_name_are_tried(void **state)
{
  struct gi_net_ops net;
  struct bench *b = bench_with_names(&net);
  const char *hosts[] = {"several"};
  struct gi_error err;
  struct gi_listener *l = gi_listener_new(b->ctx.reactor, "127.0.0.83", b->port, 16, take, b, &err);
  assert_non_null(l);
  b->m = gi_mgmt_new(&b->ctx, hosts, 1, b->port, "v", &ops, b);
  until(b, &b->volfiles, 1);
  assert_int_equal(b->failures, 0);
  while (ntaken > 0)
    close(taken[--ntaken]);
  gi_listener_free(&l);
  bench_free(b);
}

static void
test_a_dead_name_service_is_passed_by(void **state)
{
  struct gi_net_ops net;
  struct bench *b = bench_with_names(&net);
  const char *hosts[] = {"nobody.knows", "127.0.0.1"};
  dead = true;
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->volfiles, 1);
  gi_mgmt_free(&b->m);
  dead = false;
  forget_mgmt(b);
  b->m = gi_mgmt_new(&b->ctx, hosts, 1, b->port, "v", &ops, b);
  until(b, &b->failures, 2); /* a name that there is not is asked for again */
  assert_int_equal(b->err, ENOTCONN);
  bench_free(b);
}

static void
hang_up(void *arg, int fd)
{
  close(fd);
}

/* A host that takes connections and closes them, as one that wants TLS does: it is passed by, and if there is no other the owner hears of it. */
static void
test_a_host_that_hangs_up_is_passed_by(void **state)
{
  struct bench *b = bench_new("volume v\n");
  const char *hosts[] = {"127.0.0.81", "127.0.0.1"};
  struct gi_error err;
  struct gi_listener *l = gi_listener_new(b->ctx.reactor, hosts[0], b->port, 16, hang_up, b, &err);
  assert_non_null(l);
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->volfiles, 1);
  assert_int_equal(b->failures, 0);
  gi_mgmt_free(&b->m);
  b->m = gi_mgmt_new(&b->ctx, hosts, 1, b->port, "v", &ops, b);
  until(b, &b->failures, 1);
  assert_int_equal(b->err, ENOTCONN);
  gi_listener_free(&l);
  bench_free(b);
}

/* Two daemons; the one that is asked dies. The other is asked, and what has changed meanwhile is heard from it. */
static void
test_another_daemon_takes_over(void **state)
{
  struct bench *b = bench_new("volume v\n");
  const char *hosts[] = {"127.0.0.1", "127.0.0.79"};
  struct gi_rpc_server *first = b->daemon;
  struct gi_error err;
  b->daemon = gi_rpc_server_new(b->ctx.reactor, "other", &daemon_ops, b);
  gi_rpc_server_add_program(b->daemon, &handshake_program);
  assert_int_equal(gi_rpc_server_listen(b->daemon, hosts[1], b->port, 16, &err), 0);
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->volfiles, 1);
  b->text = "volume w\n";
  gi_rpc_server_free(&first);
  until(b, &b->volfiles, 2);
  assert_string_equal(b->volfile, "volume w\n");
  assert_int_equal(b->failures, 0);
  b->text = "volume x\n"; /* and it goes on hearing from that one */
  call_back(b, GI_CBK_FETCHSPEC);
  until(b, &b->volfiles, 3);
  bench_free(b);
}

/* A round ends when the last has failed, though others fail, and are tried again, long before. */
static void
test_a_slow_name_service_hides_no_failure(void **state)
{
  struct gi_net_ops net;
  struct bench *b = bench_with_names(&net);
  const char *hosts[] = {"127.0.0.88", "slow"};
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->failures, 1);
  assert_int_equal(b->err, ENOTCONN);
  bench_free(b);
}

static void
refuse(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  struct gi_dict *none = gi_dict_new();
  ((struct bench *)arg)->refusals++;
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, UINT32_MAX);
  gi_xdr_put_u32(&out, ENOENT);
  gi_xdr_put_string(&out, NULL);
  gi_xdr_put_legacy_dict(&out, none);
  gi_dict_unref(&none);
  gi_rpc_answer_send(req, &out, NULL);
}

static gi_rpc_handler *const refusing[] = {[GI_HNDSK_GETSPEC] = refuse};
static const struct gi_rpc_program refusing_program = {"Gluster Handshake", GI_PROG_HANDSHAKE, 2, GI_ARRAY_LEN(refusing),
                                                       refusing};

/* A daemon that has lost its files, or is no part of the pool any more, knows no volume; another one does. */
static void
test_others_may_know_the_volume(void **state)
{
  struct bench *b = bench_new("volume v\n");
  const char *hosts[] = {"127.0.0.84", "127.0.0.1"};
  struct gi_error err;
  struct gi_rpc_server *empty = gi_rpc_server_new(b->ctx.reactor, "empty", &(struct gi_rpc_server_ops){0}, b);
  gi_rpc_server_add_program(empty, &refusing_program);
  assert_int_equal(gi_rpc_server_listen(empty, hosts[0], b->port, 16, &err), 0);
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->volfiles, 1);
  assert_int_equal(b->refusals, 1);
  assert_int_equal(b->failures, 0);
  gi_mgmt_free(&b->m);
  b->text = NULL; /* nobody does */
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->failures, 1);
  assert_int_equal(b->err, ENOENT);
  assert_int_equal(b->refusals, 2);
  gi_rpc_server_free(&empty);
  bench_free(b);
}

/* The home is taken out of the pool while the volume is mounted: the process goes elsewhere. */
static void
test_a_home_that_forgets_the_volume_is_left(void **state)
{
  struct bench *b = bench_new("volume v\n");
  const char *hosts[] = {"127.0.0.1", "127.0.0.85"};
  struct gi_error err;
  b->m = gi_mgmt_new(&b->ctx, hosts, 2, b->port, "v", &ops, b);
  until(b, &b->volfiles, 1);
  struct bench other = {.ctx = b->ctx, .text = "volume w\n"};
  other.daemon = gi_rpc_server_new(b->ctx.reactor, "other", &daemon_ops, &other);
  gi_rpc_server_add_program(other.daemon, &handshake_program);
  assert_int_equal(gi_rpc_server_listen(other.daemon, hosts[1], b->port, 16, &err), 0);
  b->text = NULL;
  call_back(b, GI_CBK_FETCHSPEC);
  until(b, &b->volfiles, 2);
  assert_string_equal(b->volfile, "volume w\n");
  other.text = "volume x\n";
  call_back(&other, GI_CBK_FETCHSPEC);
  until(b, &b->volfiles, 3);
  assert_int_equal(b->failures, 0);
  gi_mgmt_free(&b->m);
  gi_rpc_server_free(&other.daemon);
  bench_free(b);
}

static void
test_unreachable(void **state)
{
  struct bench *b = bench_new("volume v\n");
  gi_rpc_server_free(&b->daemon);
  start(b, "v");
  until(b, &b->failures, 2); /* it goes on trying, and saying so */
  assert_int_equal(b->err, ENOTCONN);
  start_daemon(b);
  until(b, &b->volfiles, 1);
  bench_free(b);
}

static void
test_free_in_callback(void **state)
{
  struct bench *b = bench_new("volume v\n");
  b->free_on_volfile = true;
  start(b, "v");
  until(b, &b->volfiles, 1);
  turns(b, 20);
  assert_null(b->m);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fetch),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_brick),
      cmocka_unit_test(test_a_key_is_proved),
      cmocka_unit_test(test_a_key_that_is_refused),
      cmocka_unit_test(test_a_key_that_is_added_later),
      cmocka_unit_test(test_a_silent_host_is_passed_by),
      cmocka_unit_test(test_a_frozen_daemon_is_passed_by),
      cmocka_unit_test(test_all_addresses_of_a_name_are_tried),
      cmocka_unit_test(test_a_dead_name_service_is_passed_by),
      cmocka_unit_test(test_a_slow_name_service_hides_no_failure),
      cmocka_unit_test(test_others_may_know_the_volume),
      cmocka_unit_test(test_a_home_that_forgets_the_volume_is_left),
      cmocka_unit_test(test_a_host_that_hangs_up_is_passed_by),
      cmocka_unit_test(test_another_daemon_takes_over),
      cmocka_unit_test(test_hosts),
      cmocka_unit_test(test_unreachable),
      cmocka_unit_test(test_free_in_callback),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
