/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of a whole daemon over its sockets, in this process: what it answers
 * to clients, bricks and the command line tool, and that nothing that arrives
 * can disturb it. Volumes that need root are left to tests/functional.
 */
#include "programs/glusterishd/daemon-fixture.h"
#include "programs/glusterishd/ops/op.h"
#include "libglusterish/graph.h"
#include "rpc/client-key.h"
#include "rpc/rpc-client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct gi_xlator_class fakes[] = {
    DAEMON_CLASS("protocol/client"),
    DAEMON_CLASS("cluster/distribute"),
    DAEMON_CLASS("debug/io-stats"),
    DAEMON_CLASS("storage/posix"),
    DAEMON_CLASS("features/locks", .layer = {{.side = GI_SIDE_BRICK}}),
    DAEMON_CLASS("features/index", .layer = {{.side = GI_SIDE_BRICK, .above = {"features/locks"}}}),
    DAEMON_CLASS("protocol/server"),
};

static const char *own_argument; /* a word of our command line */

struct fixture {
  char dir[DAEMON_DIR_BYTES];
  struct gi_reactor *r;
  struct gd *gd;
  struct gi_rpc_client *rpc;
  bool up, over;
  unsigned callbacks;
  int32_t dump_pid; /* of the last STATEDUMP */
  int status;       /* of the last call */
  uint32_t accept;
  uint8_t body[65536]; /* its results */
  size_t len;
};

static void
on_up(struct gi_rpc_client *c, void *arg)
{
  ((struct fixture *)arg)->up = true;
}

static void
on_down(struct gi_rpc_client *c, void *arg)
{
  ((struct fixture *)arg)->up = false;
}

static void
on_callback(struct gi_rpc_client *c, const struct gi_call_header *h, struct gi_xdr_in *in, void *arg)
{
  if (h->proc == GI_CBK_FETCHSPEC)
    ((struct fixture *)arg)->callbacks++;
  if (h->proc == GI_CBK_STATEDUMP)
    ((struct fixture *)arg)->dump_pid = (int32_t)gi_xdr_get_u32(in);
}

static void
connect_to(struct fixture *f, const char *host, int port)
{
  static const struct gi_rpc_client_ops ops = {.up = on_up, .down = on_down, .callback = on_callback};
  static const struct gi_rpc_client_config cfg = {
      .name = "test", .call_timeout_s = 10, .reconnect_min_ms = 100, .reconnect_max_ms = 100};
  gi_rpc_client_free(&f->rpc);
  f->rpc = gi_rpc_client_new(f->r, &cfg, &ops, f);
  gi_rpc_client_connect(f->rpc, host, port);
  for (int i = 0; i < 1000 && !f->up; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_true(f->up);
}

static int
setup(void **state)
{
  struct fixture *f = gi_new(struct fixture);
  f->gd = daemon_bench_new(f->dir, fakes, GI_ARRAY_LEN(fakes));
  f->r = f->gd->reactor;
  struct gi_error err = {0};
  if (gd_start(f->gd, &err))
    fail_msg("%s", err.text);
  *state = f;
  return 0;
}

static int
teardown(void **state)
{
  struct fixture *f = *state;
  gi_rpc_client_free(&f->rpc);
  daemon_bench_free(&f->gd, f->dir);
  gi_free(f);
  return 0;
}

/* A started volume of one brick that nobody checks. */
static struct gd_volume *
add_volume(struct fixture *f)
{
  struct gd_volume *v = gd_volume_new(f->gd, "vol");
  v->id = gi_gfid_new(f->r);
  v->username = gi_strdup("U");
  v->password = gi_strdup("P");
  v->status = GD_STARTED;
  v->nbricks = 1;
  v->bricks = gi_zalloc(sizeof(*v->bricks));
  v->bricks[0] = (struct gd_brick){.volume = v,
                                   .host = gi_strdup("127.0.0.1"),
                                   .path = gi_strdup("/nonexistent/b"),
                                   .id = gi_strdup("vol-client-0"),
                                   .node = f->gd->uuid};
  gd_volume_link(v);
  struct gi_error err = {0};
  assert_int_equal(gd_store_volume(v, &err), 0);
  return v;
}

static void
answered(struct gi_rpc_client *c, struct gi_rpc_reply *r, void *arg)
{
  struct fixture *f = arg;
  f->over = true;
  f->status = r->status;
  f->accept = r->accept;
  f->len = r->status ? 0 : gi_xdr_left(&r->in);
  assert_true(f->len <= sizeof(f->body));
  memcpy(f->body, r->in.p, f->len);
}

/* Sends a call with the argument bytes of `args` (consumed) and waits for the answer. */
static struct gi_xdr_in
call(struct fixture *f, uint32_t prog, uint32_t vers, uint32_t proc, struct gi_xdr_out *args)
{
  struct gi_xdr_out out = {0};
  uint32_t xid = gi_rpc_call_begin(f->rpc, &out, prog, vers, proc, GI_AUTH_V2, NULL);
  gi_xdr_put_bytes(&out, args->base, args->len);
  gi_xdr_out_finish(args);
  f->over = false;
  gi_rpc_call_send(f->rpc, xid, &out, NULL, false, answered, f);
  for (int i = 0; i < 1000 && !f->over; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_true(f->over);
  return (struct gi_xdr_in){f->body, f->body + f->len, false};
}

static void
put_json(struct gi_xdr_out *args, const char *json)
{
  struct gi_dict *d = gi_dict_new();
  gi_dict_set_str(d, "json", json);
  gi_xdr_put_legacy_dict(args, d);
  gi_dict_unref(&d);
}

/* A CLI command; returns op_ret, and the reply document if wanted (json_decref). */
static int
command(struct fixture *f, uint32_t proc, const char *json, json_t **doc)
{
  struct gi_xdr_out args = {0};
  put_json(&args, json);
  struct gi_xdr_in in = call(f, GI_PROG_CLI, GI_VERS_CLI, proc, &args);
  assert_int_equal(f->accept, GI_RPC_SUCCESS);
  int ret = (int32_t)gi_xdr_get_u32(&in);
  uint32_t len;
  gi_xdr_get_u32(&in);
  gi_xdr_get_opaque(&in, 65536, &len);
  struct gi_dict *d = gi_xdr_get_legacy_dict(&in);
  const char *text = NULL;
  assert_true(gi_dict_get_str(d, "json", &text));
  json_t *j = json_loads(text, 0, NULL);
  assert_non_null(j);
  gi_dict_unref(&d);
  if (doc)
    *doc = j;
  else
    json_decref(j);
  return ret;
}

/* ---- what clients and bricks need ---- */

/* With `shown`, which it consumes; *more: what comes along with the answer. Both may be NULL. */
static int
getspec_with(struct fixture *f, const char *key, struct gi_dict *shown, char **text, struct gi_dict **more)
{
  struct gi_xdr_out args = {0};
  gi_xdr_put_u32(&args, 1);
  gi_xdr_put_string(&args, key);
  if (shown)
    gi_xdr_put_legacy_dict(&args, shown);
  else
    gi_xdr_put_opaque(&args, NULL, 0);
  gi_dict_unref(&shown);
  struct gi_xdr_in in = call(f, GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE, GI_HNDSK_GETSPEC, &args);
  uint32_t len;
  int ret = (int32_t)gi_xdr_get_u32(&in), err = (int32_t)gi_xdr_get_u32(&in);
  const uint8_t *spec = gi_xdr_get_opaque(&in, 65536, &len);
  assert_false(in.failed);
  if (ret >= 0)
    assert_int_equal(ret, len);
  if (text)
    *text = gi_strndup((const char *)spec, len);
  if (more)
    *more = gi_xdr_get_legacy_dict(&in);
  return ret < 0 ? -err : 0;
}

static struct gi_dict *
introduction(void)
{
  struct gi_dict *d = gi_dict_new();
  gi_dict_set_str(d, "max-op-version", "100000");
  return d;
}

static int
getspec(struct fixture *f, const char *key, bool op_version, char **text)
{
  return getspec_with(f, key, op_version ? introduction() : NULL, text, NULL);
}

/* Connects as another user of this machine. */
static void
connect_as(struct fixture *f, uid_t uid)
{
  f->up = false;
  assert_int_equal(seteuid(uid), 0);
  gi_rpc_client_free(&f->rpc);
  connect_to(f, "127.0.0.1", f->gd->config.port);
  assert_int_equal(seteuid(0), 0);
}

static void
test_getspec(void **state)
{
  struct fixture *f = *state;
  add_volume(f);
  connect_to(f, "127.0.0.1", f->gd->config.port);
  GI_CLEANUP_FREE char *client = NULL, *brick = NULL;
  assert_int_equal(getspec(f, "/vol", true, &client), 0);
  assert_non_null(strstr(client, "volume vol-client-0\n"));
  assert_non_null(strstr(client, "option password P\n")); /* our own user is trusted */
  assert_int_equal(getspec(f, "vol.127.0.0.1.nonexistent-b", true, &brick), 0);
  assert_non_null(strstr(brick, "type protocol/server\n"));
  assert_int_equal(getspec(f, "nosuch", true, NULL), -ENOENT);
  assert_int_equal(getspec(f, "vol", false, NULL), -EOPNOTSUPP);
}

/* The password of a volume goes to nobody but root. */
static void
test_getspec_of_a_user(void **state)
{
  struct fixture *f = *state;
  GI_CLEANUP_FREE char *client = NULL, *other = NULL;
  if (geteuid() != 0)
    skip();
  add_volume(f)->type = GD_REPLICATE;
  connect_as(f, 65534);
  assert_int_equal(getspec(f, "vol.127.0.0.1.nonexistent-b", true, &other), -EACCES);
  assert_string_equal(other, "");
  assert_int_equal(getspec(f, "shd/vol", true, NULL), -EACCES);
  assert_int_equal(getspec(f, "shd/nosuch", true, NULL), -EACCES);
  gd_volume_find(f->gd, "vol")->type = GD_DISTRIBUTE;
  assert_int_equal(getspec(f, "vol", true, &client), 0);
  assert_non_null(strstr(client, "volume vol-client-0\n"));
  assert_null(strstr(client, "password"));
}

/* A volfile goes to those who may mount the volume. What cannot be told here is left to the bricks. */
static void
test_getspec_of_who_may_not_mount(void **state)
{
  static const struct {
    const char *key, *value;
    int ret;
  } rules[] = {
      {"auth.allow", "10.0.0.*,192.168.1.1", -EACCES},
      {"auth.allow", "127.0.0.*", 0},
      {"auth.allow", "10.0.0.0/8", 0},
      {"auth.allow", "some-host", 0},
      {"auth.allow", "*", 0},
      {"auth.reject", "127.0.0.1", -EACCES},
      {"auth.reject", "10.0.0.1", 0},
      {"auth.ssl-allow", "nobody", 0}, /* it says nothing of plain ones */
  };
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = add_volume(f);
  for (size_t i = 0; i < GI_ARRAY_LEN(rules); i++) {
    GI_CLEANUP_FREE char *text = NULL, *own = NULL;
    gd_options_clear(&v->options);
    gd_options_set(&v->options, rules[i].key, rules[i].value);
    connect_as(f, 65534);
    assert_int_equal(getspec(f, "vol", true, &text), rules[i].ret);
    connect_as(f, 0);
    assert_int_equal(getspec(f, "vol", true, &own), 0); /* root here, as self-heal daemons are */
  }
}

/* Asks with the key in `file`, and again with the proof if that is wanted. */
static int
getspec_with_key(struct fixture *f, const char *file)
{
  struct gi_dict *more = NULL, *d = introduction();
  const struct gi_key_claim claim = {gi_rpc_client_conn(f->rpc), "volfile", "vol"};
  assert_int_equal(gi_client_key_show(file, &claim, NULL, d, NULL), 0);
  int ret = getspec_with(f, "vol", d, NULL, &more);
  const char *challenge = gi_client_key_challenge(more);
  if (ret && challenge) {
    d = introduction();
    assert_int_equal(gi_client_key_show(file, &claim, challenge, d, NULL), 0);
    ret = getspec_with(f, "vol", d, NULL, NULL);
  }
  gi_dict_unref(&more);
  return ret;
}

/* With auth.client-key the volfile goes to those who have a key, as long as it is one of the volume's, and to root here. */
static void
test_getspec_with_a_key(void **state)
{
  struct fixture *f = *state;
  char joe[GI_CLIENT_KEY_TEXT], jim[GI_CLIENT_KEY_TEXT];
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = add_volume(f);
  GI_CLEANUP_FREE char *joes = gi_asprintf("%s/joe.key", f->dir), *jims = gi_asprintf("%s/jim.key", f->dir);
  assert_int_equal(gi_client_key_make(joes, joe, NULL), 0);
  assert_int_equal(gi_client_key_make(jims, jim, NULL), 0);
  GI_CLEANUP_FREE char *list = gi_asprintf("joe:%s", joe), *other = gi_asprintf("jim:%s", jim);
  gd_options_set(&v->options, "auth.client-key", "on");
  connect_as(f, 65534);
  assert_int_equal(getspec(f, "vol", true, NULL), -EACCES);
  assert_int_equal(getspec_with_key(f, joes), -EACCES); /* nobody has one */
  gd_options_set(&v->options, "auth.client-keys", list);
  assert_int_equal(getspec(f, "vol", true, NULL), -EACCES);
  assert_int_equal(getspec_with_key(f, jims), -EACCES);
  assert_int_equal(getspec_with_key(f, joes), 0);
  gd_options_set(&v->options, "auth.client-keys", other); /* on the same connection */
  assert_int_equal(getspec_with_key(f, joes), -EACCES);
  assert_int_equal(getspec_with_key(f, jims), 0);
  connect_as(f, 0);
  assert_int_equal(getspec(f, "vol", true, NULL), 0);
}

static int
ask_port(struct fixture *f, const char *brick)
{
  struct gi_xdr_out args = {0};
  gi_xdr_put_string(&args, brick);
  struct gi_xdr_in in = call(f, GI_PROG_PORTMAP, GI_VERS_PORTMAP, GI_PMAP_PORTBYBRICK, &args);
  int ret = (int32_t)gi_xdr_get_u32(&in);
  gi_xdr_get_u32(&in);
  gi_xdr_get_u32(&in);
  int port = (int32_t)gi_xdr_get_u32(&in);
  assert_false(in.failed);
  return ret ? ret : port;
}

/* Whoever may not mount a volume is not told where its bricks are. */
static void
test_ports_are_for_who_may_mount(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = add_volume(f);
  struct gd_brick *b = &v->bricks[0];
  b->signed_in = true;
  b->port = 50000;
  gd_options_set(&v->options, "auth.allow", "192.0.2.1");
  connect_as(f, 65534);
  GI_CLEANUP_FREE char *by_host = gi_asprintf("%s:%s", b->host, b->path), *of_other = gi_asprintf("x%s", by_host);
  assert_int_equal(ask_port(f, b->path), -1);
  assert_int_equal(ask_port(f, by_host), -1);
  connect_as(f, 0);
  assert_int_equal(ask_port(f, b->path), 50000);
  assert_int_equal(ask_port(f, by_host), 50000);
  assert_int_equal(ask_port(f, of_other), -1);
  assert_int_equal(ask_port(f, by_host + 1), -1);
  gd_options_set(&v->options, "auth.allow", "127.*");
  connect_as(f, 65534);
  assert_int_equal(ask_port(f, b->path), 50000);
  b->signed_in = false;
}

static void
await_callback(struct fixture *f)
{
  for (int i = 0; i < 100 && !f->callbacks; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_int_equal(f->callbacks, 1);
}

static int
sign(struct fixture *f, uint32_t proc, const char *brick, uint32_t port)
{
  struct gi_xdr_out args = {0};
  gi_xdr_put_string(&args, brick);
  gi_xdr_put_u32(&args, port);
  gi_xdr_put_u32(&args, 0);
  struct gi_xdr_in in = call(f, GI_PROG_PORTMAP, GI_VERS_PORTMAP, proc, &args);
  return (int32_t)gi_xdr_get_u32(&in);
}

static bool
anything(const struct gd_brick *b)
{
  return true;
}

/* Nobody but the brick's process says where it listens. */
static void
test_portmap_of_others(void **state)
{
  struct fixture *f = *state;
  struct gd_brick *b = &add_volume(f)->bricks[0];
  connect_to(f, "127.0.0.1", f->gd->config.port);
  assert_int_equal(sign(f, GI_PMAP_SIGNIN, b->path, 49200), -1); /* root, but no brick */
  b->port = 49200;
  b->signed_in = true;
  assert_int_equal(sign(f, GI_PMAP_SIGNOUT, b->path, 49200), -1);
  if (geteuid() == 0) {
    connect_as(f, 65534);
    assert_int_equal(sign(f, GI_PMAP_SIGNIN, b->path, 31337), -1);
    assert_int_equal(sign(f, GI_PMAP_SIGNOUT, b->path, 49200), -1);
  }
  assert_int_equal(ask_port(f, b->path), 49200);
}

/* A connection is found again among the descriptors of the process that holds it. */
static void
test_portmap_of_the_process(void **state)
{
  struct fixture *f = *state;
  struct gd_brick *b = &add_volume(f)->bricks[0];
  gi_free(b->path);
  b->path = gi_strdup(own_argument);
  GI_CLEANUP_FREE char *pidfile = gd_brick_pidfile(b), *text = gi_asprintf("%d\n", (int)getpid());
  GI_CLEANUP_FREE char *dir = gi_strndup(pidfile, (size_t)(strrchr(pidfile, '/') - pidfile));
  assert_int_equal(gd_mkdir_all(dir, 0755, NULL), 0);
  assert_int_equal(gd_write_file(pidfile, text, strlen(text), true, NULL), 0);
  connect_to(f, "127.0.0.1", f->gd->config.port);
  assert_int_equal(sign(f, GI_PMAP_SIGNIN, b->path, 49200), 0);
  assert_int_equal(ask_port(f, b->path), 49200);
  assert_int_equal(unlink(pidfile), 0); /* the process is about to end */
  assert_int_equal(sign(f, GI_PMAP_SIGNOUT, b->path, 49200), 0);
  assert_int_equal(ask_port(f, b->path), -1);
  assert_int_equal(sign(f, GI_PMAP_SIGNIN, b->path, 49200), 0); /* it is known by now */
  gd_brick_forget(b);
}

/* Of a process that an earlier daemon has started, and that this one has not found yet. */
static void
test_pidfile_that_is_held_stays(void **state)
{
  struct fixture *f = *state;
  struct gd_brick *b = &add_volume(f)->bricks[0];
  GI_CLEANUP_FREE char *pidfile = gd_brick_pidfile(b), *dir = gi_strndup(pidfile, (size_t)(strrchr(pidfile, '/') - pidfile));
  assert_int_equal(gd_mkdir_all(dir, 0755, NULL), 0);
  int fd = open(pidfile, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  gd_pidfile_remove(pidfile);
  assert_int_equal(access(pidfile, F_OK), 0);
  close(fd);
  gd_pidfile_remove(pidfile);
  assert_int_equal(access(pidfile, F_OK), -1);
}

static void
test_option_of_a_process(void **state)
{
  int in[2];
  assert_int_equal(pipe(in), 0);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(in[0], 0);
    close(in[1]);
    execl("/bin/sh", "sh", "-c", "read x", "name", "--brick-port", "49777", "--last", NULL);
    _exit(1);
  }
  GI_CLEANUP_FREE char *port = NULL, *last = NULL, *none = NULL;
  for (int i = 0; i < 1000 && !port; i++) { /* until it has become a shell */
    usleep(10000);
    port = gd_process_option(pid, "--brick-port");
  }
  last = gd_process_option(pid, "--last");
  none = gd_process_option(pid, "--none");
  close(in[0]);
  close(in[1]);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_string_equal(port, "49777");
  assert_null(last);
  assert_null(none);
}

static void
test_statedump_of_a_client(void **state)
{
  struct fixture *f = *state;
  connect_to(f, "127.0.0.1", f->gd->config.port);
  gd_services_statedump(f->gd, "127.0.0.2", 6);
  gd_services_statedump(f->gd, "127.0.0.1", 7);
  for (int i = 0; i < 100 && !f->dump_pid; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_int_equal(f->dump_pid, 7);
}

static void
test_portmap(void **state)
{
  struct fixture *f = *state;
  add_volume(f);
  f->gd->is_brick = anything;
  connect_to(f, "127.0.0.1", f->gd->config.port);
  assert_int_equal(ask_port(f, "/nonexistent/b"), -1);
  assert_int_equal(sign(f, GI_PMAP_SIGNIN, "/nosuch", 49200), -1);
  assert_int_equal(sign(f, GI_PMAP_SIGNIN, "/nonexistent/b", 70000), -1);
  assert_int_equal(f->callbacks, 0);
  assert_int_equal(sign(f, GI_PMAP_SIGNIN, "/nonexistent/b", 49200), 0);
  assert_int_equal(sign(f, GI_PMAP_SIGNIN, "/nonexistent/b", 49200), 0);
  await_callback(f); /* whoever waits for the brick need not wait any longer: once */
  assert_int_equal(ask_port(f, "/nonexistent/b"), 49200);
  assert_int_equal(sign(f, GI_PMAP_SIGNOUT, "/nonexistent/b", 1), -1);
  assert_int_equal(sign(f, GI_PMAP_SIGNOUT, "/nonexistent/b", 49200), 0);
  assert_int_equal(ask_port(f, "/nonexistent/b"), -1);
}

/* ---- a brick that ends and is started ---- */

/* Does what the daemon waits for: a process that names the brick, its pid in the pid file, and the starter gone. */
static const char fake_brick[] = "#!/bin/sh\n"
                                 "while [ \"$1\" != -p ]; do shift; done\n"
                                 "while kill -0 $PPID; do sleep 0.1; done &\n"
                                 "echo $! >\"$2\"\n";

static void
use_fake_brick(struct fixture *f)
{
  char *program = gi_asprintf("%s/brick", f->dir);
  FILE *out = fopen(program, "we");
  assert_non_null(out);
  assert_true(fputs(fake_brick, out) >= 0 && fchmod(fileno(out), 0755) == 0 && fclose(out) == 0);
  gi_free(f->gd->brick_program);
  f->gd->brick_program = program;
}

static void
started(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  if (err->code)
    fail_msg("%s", err->text);
  (*(unsigned *)arg)++;
}

/* Starts it and signs in for it; what the start says is counted in *answers. */
static void
start_fake(struct fixture *f, struct gd_brick *b, unsigned *answers)
{
  gd_brick_start(b, started, answers);
  for (int i = 0; i < 1000 && b->state != GD_PROC_UP; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_int_equal(b->state, GD_PROC_UP);
  assert_int_equal(sign(f, GI_PMAP_SIGNIN, b->path, (uint32_t)b->port), 0);
  gi_reactor_turn(f->r, 0);
}

static void
start_after_end(struct fixture *f, bool killed)
{
  struct gd_brick *b = &add_volume(f)->bricks[0];
  unsigned first = 0, running = 0, second = 0;
  use_fake_brick(f);
  f->gd->is_brick = anything;
  connect_to(f, "127.0.0.1", f->gd->config.port);
  start_fake(f, b, &first);
  assert_int_equal(first, 1);
  pid_t old = b->pid;
  gd_brick_start(b, started, &running); /* it does not answer, but runs: nothing is to be done */
  for (int i = 0; i < 1000 && !running; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_int_equal(running, 1);
  assert_int_equal(b->pid, old);

  if (killed) { /* nobody has noticed yet */
    assert_int_equal(kill(old, SIGKILL), 0);
  } else {
    assert_int_equal(sign(f, GI_PMAP_SIGNOUT, b->path, (uint32_t)b->port), 0);
    assert_false(gd_brick_online(b));
  }
  gd_brick_start(b, started, &second);
  assert_int_equal(b->pid, old);
  if (!killed) {
    for (int i = 0; i < 300; i++) /* longer than one is waited for that is only silent */
      gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
    assert_int_equal(second, 0);
    assert_int_equal(kill(old, SIGKILL), 0);
  }
  for (int i = 0; i < 1000 && (b->pid == old || b->state != GD_PROC_UP); i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_int_equal(b->state, GD_PROC_UP);
  assert_int_not_equal(b->pid, old);
  assert_int_equal(second, 0); /* it has not signed in */
  assert_int_equal(sign(f, GI_PMAP_SIGNIN, b->path, (uint32_t)b->port), 0);
  gi_reactor_turn(f->r, 0);
  assert_int_equal(second, 1);
  assert_true(gd_brick_online(b));
  assert_int_equal(kill(b->pid, SIGKILL), 0);
}

static void
test_start_after_leaving(void **state)
{
  start_after_end(*state, false);
}

static void
test_start_after_kill(void **state)
{
  start_after_end(*state, true);
}

/* ---- the command line ---- */

static void
test_set_tells_clients(void **state)
{
  struct fixture *f = *state;
  struct gd_volume *v = add_volume(f);
  struct gi_rpc_client *client;
  connect_to(f, "127.0.0.1", f->gd->config.port);
  client = f->rpc;
  f->rpc = NULL;
  f->up = false;
  connect_to(f, f->gd->config.sockfile, 0);
  assert_int_equal(
      command(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"b c\",\"auth.x\",\"1\"]}", NULL),
      -1);
  assert_null(gd_options_get(&v->options, "user.a"));
  assert_int_equal(command(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"b c\"]}", NULL), 0);
  assert_string_equal(gd_options_get(&v->options, "user.a"), "b c");
  await_callback(f);
  gi_rpc_client_free(&client);
}

static void
test_remote_is_read_only(void **state)
{
  struct fixture *f = *state;
  add_volume(f);
  connect_to(f, "127.0.0.1", f->gd->config.port);
  json_t *doc;
  assert_int_equal(command(f, 33, "{\"command\":\"volume list\"}", &doc), 0);
  assert_int_equal(json_array_size(json_object_get(doc, "volumes")), 1);
  json_decref(doc);
  struct gi_xdr_out args = {0};
  put_json(&args, "{\"command\":\"volume delete\",\"volume\":\"vol\"}");
  call(f, GI_PROG_CLI, GI_VERS_CLI, 7, &args);
  assert_int_equal(f->accept, GI_RPC_PROC_UNAVAIL);
  /* A permitted procedure does not carry a forbidden command. */
  assert_int_equal(command(f, 33, "{\"command\":\"volume delete\",\"volume\":\"vol\"}", NULL), -1);
  assert_non_null(gd_volume_find(f->gd, "vol"));
}

static void
test_hostile_json(void **state)
{
  static const char *const texts[] = {
      "",
      "[]",
      "null",
      "{",
      "{}",
      "{\"command\":1}",
      "{\"command\":\"nosuch\"}",
      "{\"command\":\"volume start\"}",
      "{\"command\":\"volume create\"}",
      "{\"command\":\"volume create\",\"volume\":\"../../x\",\"bricks\":[\"h:/a\"]}",
      "{\"command\":\"volume create\",\"volume\":\"x\",\"bricks\":[1,2]}",
      "{\"command\":\"volume create\",\"volume\":\"x\",\"bricks\":{}}",
      "{\"command\":\"volume create\",\"volume\":\"x\",\"bricks\":[\"nosuch.invalid:/../../etc\"]}",
      "{\"command\":\"volume create\",\"volume\":\"x\",\"bricks\":[\"127.0.0.1:/a\"],\"replica\":-1}",
      "{\"command\":\"volume create\",\"volume\":\"x\",\"bricks\":[\"127.0.0.1:/a\"],\"replica\":99999999999}",
      "{\"command\":\"volume set\",\"volume\":\"vol\"}",
      "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"a\"]}",
      "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\\nb\",\"c\"]}",
      "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"b\\nstatus=0\"]}",
      "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a=b\",\"c\"]}",
      "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"\",\"\"]}",
      "{\"command\":\"volume set\",\"volume\":\"all\",\"pairs\":[\"cluster.op-version\",\"999999999999\"]}",
      "{\"command\":\"volume reset\",\"volume\":\"vol\",\"key\":\"%n%s\"}",
      "{\"command\":\"volume get\",\"volume\":\"vol\",\"key\":\"%s\"}",
      "{\"command\":\"volume status\",\"volume\":\"vol\",\"target\":\"\\u0001\"}",
      "{\"command\":\"system getspec\",\"volume\":\"../../../etc/passwd\"}",
      "{\"command\":\"peer probe\",\"host\":\"-x;rm\"}",
      "{\"command\":\"volume list\",\"command\":\"volume delete\"}",
  };
  struct fixture *f = *state;
  struct gd_volume *v = add_volume(f);
  connect_to(f, f->gd->config.sockfile, 0);
  for (size_t i = 0; i < GI_ARRAY_LEN(texts); i++)
    for (uint32_t proc = 1; proc < GD_CLI_PROCS; proc++)
      assert_int_not_equal(command(f, proc, texts[i], NULL), 0);
  assert_true(gi_list_empty(&v->options));
  assert_int_equal(command(f, 33, "{\"command\":\"volume list\"}", NULL), 0);
}

/* Random bytes as arguments of every procedure of every program, on both sockets. */
static void
test_random_arguments(void **state)
{
  static const uint32_t programs[][3] = {{GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE, 9},
                                         {GI_PROG_PORTMAP, GI_VERS_PORTMAP, 7},
                                         {GI_PROG_CLI, GI_VERS_CLI, GD_CLI_PROCS + 1},
                                         {GI_PROG_DUMP, GI_VERS_DUMP, 3},
                                         {4711, 1, 2}};
  struct fixture *f = *state;
  add_volume(f);
  uint64_t seed = 88172645463325252ull;
  for (int turn = 0; turn < 2; turn++) {
    f->up = false;
    connect_to(f, turn ? f->gd->config.sockfile : "127.0.0.1", turn ? 0 : f->gd->config.port);
    for (size_t p = 0; p < GI_ARRAY_LEN(programs); p++)
      for (uint32_t proc = 0; proc < programs[p][2]; proc++)
        for (int i = 0; i < 20; i++) {
          uint32_t words[16];
          for (size_t w = 0; w < 16; w++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17; /* xorshift: the same bytes every time */
            words[w] = w % 3 ? (uint32_t)seed : (uint32_t)(seed % 24) << 24;
          }
          if (programs[p][0] == GI_PROG_HANDSHAKE && proc == GI_HNDSK_EVENT_NOTIFY)
            words[0] = 1; /* 0 is never answered */
          struct gi_xdr_out args = {0};
          gi_xdr_put_bytes(&args, words, (seed >> 33) % sizeof(words) & ~3ul);
          if (args.len < 4 && programs[p][0] == GI_PROG_HANDSHAKE && proc == GI_HNDSK_EVENT_NOTIFY)
            gi_xdr_put_u32(&args, 1);
          call(f, programs[p][0], programs[p][1], proc, &args);
        }
  }
  f->up = false;
  connect_to(f, f->gd->config.sockfile, 0);
  assert_int_equal(command(f, 33, "{\"command\":\"volume list\"}", NULL), 0);
}

/* Clients of a daemon that has just begun have not heard yet which bricks have left. */
static void
test_bricks_that_leave_wait_for_clients(void **state)
{
  struct fixture *f = *state;
  uint64_t begun = gd_leave_grace(f->gd);
  f->gd->started_at = gi_now(f->gd->reactor) - 60 * GI_NSEC_PER_SEC;
  uint64_t usual = gd_leave_grace(f->gd);
  assert_true(usual > 0);
  assert_true(begun >= usual + 4 * GI_NSEC_PER_SEC); /* they come back within that */
}

int
main(int argc, char **argv)
{
  own_argument = argv[0];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_getspec, setup, teardown),
      cmocka_unit_test_setup_teardown(test_getspec_of_a_user, setup, teardown),
      cmocka_unit_test_setup_teardown(test_getspec_of_who_may_not_mount, setup, teardown),
      cmocka_unit_test_setup_teardown(test_portmap, setup, teardown),
      cmocka_unit_test_setup_teardown(test_getspec_with_a_key, setup, teardown),
      cmocka_unit_test_setup_teardown(test_ports_are_for_who_may_mount, setup, teardown),
      cmocka_unit_test_setup_teardown(test_statedump_of_a_client, setup, teardown),
      cmocka_unit_test_setup_teardown(test_portmap_of_others, setup, teardown),
      cmocka_unit_test_setup_teardown(test_portmap_of_the_process, setup, teardown),
      cmocka_unit_test_setup_teardown(test_pidfile_that_is_held_stays, setup, teardown),
      cmocka_unit_test(test_option_of_a_process),
      cmocka_unit_test_setup_teardown(test_start_after_leaving, setup, teardown),
      cmocka_unit_test_setup_teardown(test_start_after_kill, setup, teardown),
      cmocka_unit_test_setup_teardown(test_set_tells_clients, setup, teardown),
      cmocka_unit_test_setup_teardown(test_remote_is_read_only, setup, teardown),
      cmocka_unit_test_setup_teardown(test_bricks_that_leave_wait_for_clients, setup, teardown),
      cmocka_unit_test_setup_teardown(test_hostile_json, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_arguments, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
