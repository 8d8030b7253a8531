/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of the commands inside the daemon, without sockets: real directories
 * for bricks, and a script in place of the brick program. What a brick says to
 * the daemon is said by the test.
 */
#include "programs/glusterishd/daemon-fixture.h"
#include "programs/glusterishd/op.h"
#include "libglusterish/graph.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define VOLUME_ID "trusted.glusterfs.volume-id"

struct values {
  char *text;
};
static const struct gi_option replicate_options[] = {
    {.name = "quorum-type",
     .key = "cluster.quorum-type",
     .type = GI_OPT_STR,
     .offset = offsetof(struct values, text),
     .text = "."},
    GI_OPTION_END,
};
static const struct gi_xlator_class fakes[] = {
    {.abi = GI_XLATOR_ABI,
     .type = "cluster/replicate",
     .version = "0",
     .options = replicate_options,
     .options_bytes = sizeof(struct values)},
    DAEMON_CLASS("debug/trace",
                 .layer = {{.side = GI_SIDE_CLIENT | GI_SIDE_BRICK, .by_name = true, .key = "debug.trace", .def = "off"}}),
    DAEMON_CLASS("protocol/client"),
    DAEMON_CLASS("cluster/distribute"),
    DAEMON_CLASS("debug/io-stats"),
    DAEMON_CLASS("storage/posix"),
    DAEMON_CLASS("features/locks", .layer = {{.side = GI_SIDE_BRICK}}),
    DAEMON_CLASS("features/index", .layer = {{.side = GI_SIDE_BRICK, .above = {"features/locks"}}}),
    DAEMON_CLASS("protocol/server"),
};

/* A brick that serves; one of a path with "unwilling" in it does not, and what is no brick has done its work at once. */
static const char fake_brick[] = "#!/bin/sh\n"
                                 "case \"$*\" in *unwilling*) exit 1;; *--no-daemon*) exit 0;; esac\n"
                                 "while [ \"$1\" != -p ]; do shift; done\n"
                                 "while :; do sleep 0.1; done &\n"
                                 "echo $! >\"$2\"\n";

struct fixture {
  char dir[DAEMON_DIR_BYTES];
  struct gi_reactor *r;
  struct gd *gd;
  unsigned answers;
  struct gi_error err; /* of the last command */
  char *out;           /* its reply document */
};

static int
setup(void **state)
{
  struct fixture *f = gi_new(struct fixture);
  f->gd = daemon_bench_new(f->dir, fakes, GI_ARRAY_LEN(fakes));
  f->r = f->gd->reactor;
  gi_free(f->gd->brick_program);
  f->gd->brick_program = gi_asprintf("%s/program", f->dir);
  FILE *out = fopen(f->gd->brick_program, "we");
  assert_non_null(out);
  assert_true(fputs(fake_brick, out) >= 0 && fchmod(fileno(out), 0755) == 0 && fclose(out) == 0);
  struct gi_error err = {0};
  if (gd_store_load(f->gd, &err))
    fail_msg("%s", err.text);
  *state = f;
  return 0;
}

static int
teardown(void **state)
{
  struct fixture *f = *state;
  gi_list_foreach(v, &f->gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (v->bricks[i].pid)
        kill(v->bricks[i].pid, SIGKILL);
  daemon_bench_free(&f->gd, f->dir);
  gi_free(f->out);
  gi_free(f);
  return 0;
}

/* ---- commands ---- */

static void
answered(struct gd_op *op, const struct gi_error *err)
{
  struct fixture *f = op->arg;
  f->answers++;
  f->err = err ? *err : (struct gi_error){0};
  gi_free(f->out);
  char *text = json_dumps(op->out, JSON_COMPACT);
  f->out = gi_strdup(text);
  free(text);
}

/* What a brick does once it runs. */
static void
sign_in_all(struct fixture *f)
{
  gi_list_foreach(v, &f->gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (v->bricks[i].state == GD_PROC_UP && !v->bricks[i].signed_in)
        gd_brick_signed_in(&v->bricks[i], v->bricks[i].port);
}

/* Runs a command to its end; returns the code it is answered with. DIR in the text stands for the directory of the test. */
static int __attribute__((format(printf, 3, 4))) run(struct fixture *f, uint32_t proc, const char *fmt, ...)
{
  char text[4096], request[8192];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  char *to = request;
  for (const char *p = text; *p; to += strlen(to)) {
    bool dir = strncmp(p, "DIR", 3) == 0;
    snprintf(to, sizeof(request) - (size_t)(to - request), "%.*s", dir ? 64 : 1, dir ? f->dir : p);
    p += dir ? 3 : 1;
  }
  f->answers = 0;
  gd_op_begin(f->gd, request, proc, false, NULL, answered, f);
  for (int i = 0; i < 2000 && !f->answers; i++) {
    sign_in_all(f);
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  }
  assert_int_equal(f->answers, 1);
  return f->err.code;
}

static void
succeeds(struct fixture *f, int code)
{
  if (code)
    fail_msg("%d: %s", f->err.code, f->err.text);
}

#define assert_says(f, part) \
  do { \
    if (!strstr((f)->err.text, part)) \
      fail_msg("%s", (f)->err.text); \
  } while (0)

static struct gd_volume *
create(struct fixture *f, const char *one, const char *two)
{
  succeeds(f, run(f, 4,
                  "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":2,\"force\":true,"
                  "\"bricks\":[\"127.0.0.1:DIR/%s\",\"127.0.0.1:DIR/%s\"]}",
                  one, two));
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  assert_non_null(v);
  return v;
}

/* ---- bricks whose files would have one name ---- */

static void
test_paths_that_differ_in_dashes(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  assert_int_equal(run(f, 4,
                       "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":2,\"force\":true,"
                       "\"bricks\":[\"127.0.0.1:DIR/x-1\",\"127.0.0.1:DIR/x/1\"]}"),
                   EINVAL);
  assert_says(f, "only in / and -");
  assert_null(gd_volume_find(f->gd, "vol"));
  struct gd_volume *v = create(f, "a-1", "b");
  assert_int_equal(run(f, 13,
                       "{\"command\":\"volume add-brick\",\"volume\":\"vol\",\"replica\":3,\"force\":true,"
                       "\"bricks\":[\"127.0.0.1:DIR/a/1\"]}"),
                   GD_ERR_MGMT);
  assert_says(f, "only in / and -");
  assert_int_equal(v->nbricks, 2);
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  for (int i = 0; i < 2; i++) { /* not the one it replaces either: that leaves last */
    assert_int_equal(run(f, 15,
                         "{\"command\":\"volume replace-brick\",\"volume\":\"vol\",\"source\":\"127.0.0.1:DIR/%s\","
                         "\"target\":\"127.0.0.1:DIR/a/1\"}",
                         i ? "a-1" : "b"),
                     GD_ERR_MGMT);
    assert_says(f, "only in / and -");
  }
  assert_false(v->busy);
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/a", f->dir);
  assert_int_equal(access(dir, F_OK), -1);
}

/* ---- more than can be read back ---- */

static void
test_too_many_options(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  char value[3500], key[32];
  GI_CLEANUP_FREE char *most = gi_alloc(GD_KVS_MAX - 9000);
  memset(most, 'y', GD_KVS_MAX - 9001);
  most[GD_KVS_MAX - 9001] = '\0';
  gd_options_set(&v->options, "user.most", most);
  memset(value, 'x', sizeof(value) - 1);
  value[sizeof(value) - 1] = '\0';
  unsigned set = 0;
  for (; set < 5; set++)
    if (run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.k%u\",\"%s\"]}", set, value))
      break;
  assert_int_equal(set, 2);
  assert_int_equal(f->err.code, EFBIG);
  assert_says(f, "nothing was changed");
  snprintf(key, sizeof(key), "user.k%u", set);
  assert_null(gd_options_get(&v->options, key));
  gd_volume_let_go(v);
  gd_volume_free(v);
  assert_int_equal(gd_store_load(f->gd, &f->err), 0);
  v = gd_volume_find(f->gd, "vol");
  assert_non_null(v);
  snprintf(key, sizeof(key), "user.k%u", set - 1);
  assert_string_equal(gd_options_get(&v->options, key), value);
  succeeds(f, run(f, 20, "{\"command\":\"volume reset\",\"volume\":\"vol\",\"key\":\"%s\"}", key));
}

/* ---- options that nothing acts on ---- */

static void
test_options_that_wait(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  assert_int_not_equal(
      run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"performance.io-cache\",\"on\"]}"), 0);
  assert_says(f, "features not in this version");
  succeeds(f, run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"performance.io-cache\",\"off\"]}"));
  succeeds(f, run(f, 12, "{\"command\":\"volume set help\"}"));
  assert_null(strstr(f->out, "io-cache"));
  assert_non_null(strstr(f->out, "cluster.daemon-log-level"));

  /* A volume of an earlier version or of GlusterFS has it all the same. */
  gd_options_set(&v->options, "performance.io-cache", "on");
  assert_int_equal(gd_store_volume(v, NULL), 0);
  gd_volume_let_go(v);
  gd_volume_free(v);
  assert_int_equal(gd_store_load(f->gd, &f->err), 0);
  v = gd_volume_find(f->gd, "vol");
  assert_non_null(v);
  succeeds(f, run(f, 41, "{\"command\":\"volume get\",\"volume\":\"vol\",\"key\":\"performance.io-cache\"}"));
  assert_non_null(strstr(f->out, "\"on (not in this version)\""));
  succeeds(f, run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"b\"]}"));
  succeeds(f, run(f, 20, "{\"command\":\"volume reset\",\"volume\":\"vol\",\"key\":\"performance.io-cache\"}"));
  assert_null(gd_options_get(&v->options, "performance.io-cache"));
  succeeds(f, run(f, 41, "{\"command\":\"volume get\",\"volume\":\"vol\",\"key\":\"nfs.disable\"}"));
  assert_non_null(strstr(f->out, "\"on\""));
}

/* ---- what is taken back ---- */

/* A directory that belongs to another volume. */
static char *
somebodys(struct fixture *f, const char *name)
{
  char *path = gi_asprintf("%s/%s", f->dir, name);
  assert_int_equal(mkdir(path, 0755), 0);
  assert_int_equal(setxattr(path, VOLUME_ID, "0123456789abcdef", 16, 0), 0);
  return path;
}

static bool
is_still_theirs(const char *path)
{
  char id[64];
  return getxattr(path, VOLUME_ID, id, sizeof(id)) == 16 && memcmp(id, "0123456789abcdef", 16) == 0;
}

/* From now on, or no longer, no definition of the volume can be stored: a directory stands where it is written. */
static void
break_store(struct fixture *f, bool broken)
{
  GI_CLEANUP_FREE char *tmp = gi_asprintf("%s/state/vols/vol/info.tmp", f->dir);
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/state/vols/vol", f->dir);
  assert_int_equal(gd_mkdir_all(dir, 0755, NULL), 0);
  assert_int_equal(broken ? mkdir(tmp, 0755) : rmdir(tmp), 0);
}

/* Whoever reads the number alone, from --xml, learns whether the request makes no sense or the version cannot do it. */
static void
test_groups(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  succeeds(f, run(f, 12,
                  "{\"command\":\"volume set\",\"volume\":\"vol\",\"group\":\"g\",\"pairs\":[\"?features.nosuch\",\"on\","
                  "\"user.a\",\"20\",\"performance.nfs.io-threads\",\"on\",\"?user.x\",\"y\"]}"));
  assert_non_null(strstr(f->out, "\"ignored\":[\"features.nosuch=on\",\"performance.nfs.io-threads=on\"]"));
  assert_string_equal(gd_options_get(&v->options, "user.a"), "20");
  assert_string_equal(gd_options_get(&v->options, "user.x"), "y");
  assert_null(gd_options_get(&v->options, "performance.nfs.io-threads"));

  /* All of it or nothing. */
  assert_int_not_equal(run(f, 12,
                           "{\"command\":\"volume set\",\"volume\":\"vol\",\"group\":\"g\",\"pairs\":["
                           "\"user.a\",\"30\",\"features.nosuch\",\"on\"]}"),
                       0);
  assert_says(f, "features.nosuch");
  assert_string_equal(gd_options_get(&v->options, "user.a"), "20");
  /* Alone an option is not ignored. */
  assert_int_not_equal(run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"?features.nosuch\",\"on\"]}"),
                       0);
}

static void
test_refused_creates(void **state)
{
#define CREATE "{\"command\":\"volume create\",\"volume\":\"vol\","
#define BRICK(name) "\"127.0.0.1:DIR/" name "\""
  static const struct {
    const char *request;
    int err;
    const char *says;
  } t[] = {
      {"{\"command\":\"volume create\",\"bricks\":[" BRICK("a") "]}", EINVAL, "names no volume"},
      {CREATE "\"bricks\":[]}", EINVAL, "no usable list"},
      {CREATE "\"replica\":0,\"bricks\":[" BRICK("a") "]}", EINVAL, "no usable list"},
      {CREATE "\"disperse\":3,\"bricks\":[" BRICK("a") "]}", EOPNOTSUPP, "not supported by this version"},
      {CREATE "\"thin-arbiter\":1,\"bricks\":[" BRICK("a") "]}", EOPNOTSUPP, "not supported by this version"},
      {CREATE "\"replica\":2,\"force\":true,\"bricks\":[" BRICK("a") "," BRICK("b") "," BRICK("c") "]}", EINVAL,
       "multiple of replica count"},
      {CREATE "\"replica\":2,\"bricks\":[" BRICK("a") "," BRICK("b") "]}", EINVAL, "same server"},
      {CREATE "\"force\":true,\"bricks\":[" BRICK("a") "," BRICK("b") "]}", EOPNOTSUPP, "cannot distribute"},
      {CREATE "\"replica\":2,\"force\":true,\"bricks\":[" BRICK("a") "," BRICK("a") "]}", EINVAL, "duplicate exports"},
      {CREATE "\"replica\":2,\"force\":true,\"bricks\":[" BRICK("a") "," BRICK("a/b") "]}", EINVAL, "contained by"},
      {CREATE "\"force\":true,\"bricks\":[\"192.0.2.1:DIR/a\"]}", EINVAL, "Peer in Cluster"},
  };
#undef CREATE
#undef BRICK
  struct fixture *f = *state;
  for (unsigned i = 0; i < GI_ARRAY_LEN(t); i++) {
    assert_int_equal(run(f, 4, t[i].request), t[i].err);
    assert_says(f, t[i].says);
    assert_null(gd_volume_find(f->gd, "vol"));
  }
}

static void
test_failed_create_leaves_marks(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  GI_CLEANUP_FREE char *theirs = somebodys(f, "theirs"), *file = gi_asprintf("%s/file", f->dir);
  GI_CLEANUP_FREE char *fresh = gi_asprintf("%s/fresh", f->dir);
  assert_int_equal(gd_write_file(file, "x", 1, true, NULL), 0);
  assert_int_equal(run(f, 4,
                       "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true,\"bricks\":[\"127.0.0.1:DIR/theirs\"],"
                       "\"arbiter\":7}"),
                   EINVAL); /* a request that makes no sense has an errno of its own */
  assert_int_not_equal(run(f, 4,
                           "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":3,\"force\":true,\"bricks\":["
                           "\"127.0.0.1:DIR/theirs\",\"127.0.0.1:DIR/fresh\",\"127.0.0.1:DIR/file\"]}"),
                       0);
  assert_true(is_still_theirs(theirs));
  assert_int_equal(access(fresh, F_OK), -1);
  GI_CLEANUP_FREE char *vols = gi_asprintf("%s/state/vols", f->dir);
  assert_int_equal(rmdir(vols), 0); /* nothing can be stored, once all directories have been marked */
  assert_int_equal(gd_write_file(vols, "", 0, true, NULL), 0);
  assert_int_not_equal(run(f, 4,
                           "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":2,\"force\":true,\"bricks\":["
                           "\"127.0.0.1:DIR/theirs\",\"127.0.0.1:DIR/fresh\"]}"),
                       0);
  assert_true(is_still_theirs(theirs));
  assert_int_equal(access(fresh, F_OK), -1);
  assert_null(gd_volume_find(f->gd, "vol"));
}

/* The old brick is started again, and the directory that was to replace it is as it was. */
static void
test_failed_replace_leaves_marks(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  GI_CLEANUP_FREE char *theirs = somebodys(f, "theirs");
  struct gd_volume *v = create(f, "a", "b");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  break_store(f, true);
  assert_int_equal(run(f, 15,
                       "{\"command\":\"volume replace-brick\",\"volume\":\"vol\",\"source\":\"127.0.0.1:DIR/a\","
                       "\"target\":\"127.0.0.1:DIR/theirs\"}"),
                   GD_ERR_MGMT);
  break_store(f, false);
  assert_true(is_still_theirs(theirs));
  assert_int_equal(getxattr(theirs, "trusted.afr.dirty", NULL, 0), -1);
  assert_false(v->busy);
  assert_true(gd_brick_online(&v->bricks[0]));
  assert_int_equal(v->nbricks, 2);
}

static void
test_failed_add_is_undone(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  GI_CLEANUP_FREE char *fresh = gi_asprintf("%s/c", f->dir);
  struct gd_volume *v = create(f, "a", "b");
  for (int started = 0; started < 2; started++) {
    if (started)
      succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
    break_store(f, true);
    assert_int_equal(run(f, 13,
                         "{\"command\":\"volume add-brick\",\"volume\":\"vol\",\"replica\":3,\"force\":true,"
                         "\"bricks\":[\"127.0.0.1:DIR/c\"]}"),
                     GD_ERR_MGMT);
    break_store(f, false);
    assert_int_equal(access(fresh, F_OK), -1);
    assert_int_equal(v->nbricks, 2);
    assert_int_equal(v->replica, 2);
    assert_false(v->busy);
  }
  succeeds(f, run(f, 13,
                  "{\"command\":\"volume add-brick\",\"volume\":\"vol\",\"replica\":3,\"force\":true,"
                  "\"bricks\":[\"127.0.0.1:DIR/c\"]}"));
  assert_int_equal(v->nbricks, 3);
  assert_true(gd_brick_online(&v->bricks[2]));
}

/* A start that fails half-way leaves nothing running; with force what can run, runs. */
static void
test_failed_start_is_undone(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "good", "unwilling");
  assert_int_not_equal(run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"), 0);
  assert_says(f, "Unable to start brick");
  assert_int_equal(v->status, GD_CREATED);
  assert_false(v->busy);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(v->bricks[i].state, GD_PROC_DOWN);
    assert_int_equal(v->bricks[i].pid, 0);
  }
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\",\"force\":true}"));
  assert_int_equal(v->status, GD_STARTED);
  assert_true(gd_brick_online(&v->bricks[0]));
  assert_false(gd_brick_online(&v->bricks[1]));
  succeeds(f, run(f, 9, "{\"command\":\"volume stop\",\"volume\":\"vol\"}"));
  assert_int_equal(v->bricks[0].state, GD_PROC_DOWN);
  succeeds(f, run(f, 7, "{\"command\":\"volume delete\",\"volume\":\"vol\"}"));
  assert_null(gd_volume_find(f->gd, "vol"));
}

/* ---- a brick is asked whether it serves ---- */

/* What the bricks of a test were asked last, and what they answer: pairs of key and value, NULL at the end. */
static struct {
  struct gi_dict *asked;
  const char *const *answer;
  int err;
} said;

static void
brick_is_asked(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  uint32_t len;
  gi_xdr_get_opaque(&req->in, 4096, &len);
  gi_xdr_get_u32(&req->in);
  gi_dict_unref(&said.asked);
  said.asked = gi_xdr_get_legacy_dict(&req->in);
  struct gi_dict *dict = gi_dict_new();
  for (const char *const *p = said.answer; p && *p; p += 2)
    gi_dict_set_str(dict, p[0], p[1]);
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, said.err ? (uint32_t)-1 : 0);
  gi_xdr_put_u32(&out, (uint32_t)said.err);
  gi_xdr_put_legacy_dict(&out, dict);
  gi_xdr_put_u32(&out, 0);
  gi_rpc_answer_send(req, &out, NULL);
  gi_dict_unref(&dict);
}

static const char *
asked(const char *member)
{
  const char *text;
  return gi_dict_get_str(said.asked, member, &text) ? text : "";
}

/* Answers for the first `n` bricks of the volume. */
static struct gi_rpc_server *
answer_for(struct fixture *f, struct gd_volume *v, unsigned n, const char *const *answer)
{
  static const struct gi_rpc_server_ops no_ops = {0};
  static gi_rpc_handler *const procs[] = {
      [GI_BRICK_XLATOR_INFO] = brick_is_asked,
      [GI_BRICK_XLATOR_OP] = brick_is_asked,
      [GI_BRICK_STATUS] = brick_is_asked,
  };
  static const struct gi_rpc_program bricks = {"Gluster Brick operations", GI_PROG_BRICK, GI_VERS_BRICK, GI_ARRAY_LEN(procs),
                                               procs};
  struct gi_rpc_server *s = gi_rpc_server_new(f->r, "brick", &no_ops, NULL);
  gi_rpc_server_add_program(s, &bricks);
  for (unsigned i = 0; i < n; i++) {
    GI_CLEANUP_FREE char *sock = gd_brick_socket(&v->bricks[i]);
    assert_int_equal(gi_rpc_server_listen(s, sock, 0, 8, NULL), 0);
  }
  said.answer = answer;
  said.err = 0;
  return s;
}

static void
nobody_is_asked(struct gi_rpc_server **s)
{
  gi_rpc_server_free(s);
  gi_dict_unref(&said.asked);
}

/* The second start asks a brick that runs for as little as it can tell. */
static void
test_start_of_what_runs(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  pid_t first = v->bricks[0].pid, second = v->bricks[1].pid;
  struct gi_rpc_server *s = answer_for(f, v, 2, NULL);
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\",\"force\":true}"));
  assert_string_equal(asked("cmd"), "0");
  nobody_is_asked(&s);
  assert_int_equal(v->bricks[0].pid, first);
  assert_int_equal(v->bricks[1].pid, second);
}

/* ---- statistics ---- */

static void
test_profile(void **state)
{
  static const char *const answer[] = {"cumulative",
                                       "-1",
                                       "-1-duration",
                                       "7",
                                       "-1-total-read",
                                       "8192",
                                       "-1-total-write",
                                       "0",
                                       "-1-read-4096",
                                       "2",
                                       "-1-12-hits",
                                       "2",
                                       "-1-12-avglatency",
                                       "1500.000000",
                                       "-1-12-minlatency",
                                       "1000.000000",
                                       "-1-12-maxlatency",
                                       "2000.000000",
                                       "-1-12-p99latency",
                                       "1984.000000",
                                       "-1-42-hits",
                                       "1",
                                       "interval",
                                       "3",
                                       "3-duration",
                                       "1",
                                       NULL};
  static const char info[] = "{\"command\":\"volume profile info\",\"volume\":\"vol\",\"info\":\"%s\",\"peek\":true}";
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  assert_int_equal(run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"start\"}"), GD_ERR_MGMT);
  assert_says(f, "Volume vol is not started.");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  assert_int_equal(run(f, 23, info, "all"), GD_ERR_MGMT);
  assert_says(f, "Profile on Volume vol is not started");
  assert_int_equal(run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"stop\"}"), GD_ERR_MGMT);
  succeeds(f, run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"start\"}"));
  assert_string_equal(gd_options_get(&v->options, "diagnostics.latency-measurement"), "on");
  assert_string_equal(gd_options_get(&v->options, "diagnostics.count-fop-hits"), "on");
  assert_int_equal(run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"start\"}"), GD_ERR_MGMT);
  assert_says(f, "Profile on Volume vol is already started");

  struct gi_rpc_server *s = answer_for(f, v, 1, answer); /* the other one says nothing */
  succeeds(f, run(f, 23, info, "all"));
  assert_string_equal(asked("op"), "3");
  assert_string_equal(asked("info-op"), "1");
  assert_string_equal(asked("peek"), "1");
  assert_non_null(strstr(f->out, "\"cumulative\":{\"number\":-1,\"duration\":7,\"totalRead\":8192,\"totalWrite\":0,"
                                 "\"blocks\":[{\"size\":4096,\"reads\":2,\"writes\":0}],\"fops\":["
                                 "{\"name\":\"READ\",\"hits\":2,\"avg\":1500.0,\"min\":1000.0,\"max\":2000.0,\"p99\":1984.0},"
                                 "{\"name\":\"RELEASE\",\"hits\":1}]}"));
  assert_non_null(strstr(f->out, "\"interval\":{\"number\":3,\"duration\":1,"));
  assert_non_null(strstr(f->out, "\"error\":\"Transport endpoint is not connected\""));
  succeeds(f, run(f, 23, info, "clear"));
  assert_string_equal(asked("info-op"), "4");
  assert_int_equal(run(f, 23, info, "nonsense"), EINVAL);
  nobody_is_asked(&s);
  succeeds(f, run(f, 23, "{\"command\":\"volume profile\",\"volume\":\"vol\",\"op\":\"stop\"}"));
  assert_null(gd_options_get(&v->options, "diagnostics.latency-measurement"));
}

static void
test_top(void **state)
{
  static const char *const answer[] = {"members",  "1", "filename-1",      "/f",   "value-1", "3", "current-open", "1",
                                       "max-open", "2", "max-openfd-time", "then", NULL},
                           *const perf[] = {"members",     "1", "filename-1", "/f",    "value-1", "2.500000", "time-sec-1", "5",
                                            "time-usec-1", "6", "throughput", "100.5", "time",    "41.0",     NULL};
  static const char top[] = "{\"command\":\"volume top\",\"volume\":\"vol\",\"op\":%d,\"rows\":5%s}";
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  assert_int_equal(run(f, 23, top, 1, ""), GD_ERR_MGMT);
  assert_says(f, "Volume vol is not started.");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  struct gi_rpc_server *s = answer_for(f, v, 2, answer);
  succeeds(f, run(f, 23, top, 1, ""));
  assert_string_equal(asked("op"), "4");
  assert_string_equal(asked("top-op"), "1");
  assert_string_equal(asked("list-cnt"), "5");
  assert_non_null(
      strstr(f->out, "\"files\":[{\"path\":\"/f\",\"count\":3}],\"currentOpen\":1,\"maxOpen\":2,\"maxOpenTime\":\"then\"}"));
  said.answer = perf;
  succeeds(f, run(f, 23, top, 6, ",\"bs\":1024,\"count\":9,\"brick\":\"127.0.0.1:DIR/b\""));
  assert_string_equal(asked("blk-size"), "1024");
  assert_string_equal(asked("blk-cnt"), "9");
  assert_non_null(
      strstr(f->out, "\"files\":[{\"path\":\"/f\",\"mbps\":2.5,\"sec\":5,\"usec\":6}],\"throughput\":100.5,\"seconds\":"));
  assert_null(strstr(f->out, "/a\""));
  succeeds(f, run(f, 23, top, 0, ""));
  assert_string_equal(asked("clear-stats"), "1");
  assert_int_equal(run(f, 23, top, 8, ""), EINVAL);
  assert_int_equal(run(f, 23, top, 1, ",\"brick\":\"127.0.0.1:/no/such\""), GD_ERR_MGMT);
  nobody_is_asked(&s);
}

static void
test_clear_locks(void **state)
{
  static const char *const answer[] = {"text", "No locks cleared.", NULL};
  static const char clear[] = "{\"command\":\"volume clear-locks\",\"volume\":\"vol\",\"path\":\"/d/f\",\"type\":\"%s\","
                              "\"kind\":\"granted\"%s}";
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  assert_int_equal(run(f, 34, clear, "inode", ""), GD_ERR_MGMT);
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  struct gi_rpc_server *s = answer_for(f, v, 1, answer); /* of the other one nothing is known */
  succeeds(f, run(f, 34, clear, "inode", ",\"which\":\"0,10-0\""));
  assert_string_equal(asked("xl-0"), "vol-server");
  assert_string_equal(asked("path"), "/d/f");
  assert_string_equal(asked("name"), "glusterfs.clrlk.tinode.kgranted.0,10-0");
  assert_non_null(strstr(f->out, "\"text\":\"No locks cleared.\""));
  succeeds(f, run(f, 34, clear, "posix", ""));
  assert_string_equal(asked("name"), "glusterfs.clrlk.tposix.kgranted");
  said.answer = NULL;
  said.err = ENOENT;
  assert_int_equal(run(f, 34, clear, "entry", ""), GD_ERR_MGMT);
  assert_says(f, "clear-locks getxattr command failed. Reason: No such file or directory");
  assert_int_equal(run(f, 34, clear, "other", ""), EINVAL);
  nobody_is_asked(&s);
}

/* ---- the state of the daemon, as a file ---- */

/* The file that the last command wrote; the caller frees the text. */
static char *
written(struct fixture *f)
{
  json_t *doc = json_loads(f->out, 0, NULL);
  const char *path = json_string_value(json_object_get(doc, "path"));
  assert_non_null(path);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  char *text = gi_zalloc(65536);
  assert_true(fread(text, 1, 65535, in) > 0);
  fclose(in);
  json_decref(doc);
  return text;
}

static void
test_get_state(void **state)
{
  static const char *const answer[] = {
      "clientcount", "1", "client0.hostname", "h:1", "client0.bytesread", "2", "client0.byteswrite", "3", "client0.opversion",
      "4",           NULL};
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  succeeds(f, run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR\",\"file\":\"one\"}"));
  GI_CLEANUP_FREE char *text = written(f);
  static const char *const lines[] = {"[Global]\nMYUUID: ",           "\n[Peers]\n",
                                      "\nVolume1.name: vol\n",        "\nVolume1.type: Replicate\n",
                                      "\nVolume1.status: Started\n",  "\nVolume1.Brick2.status: Started\n",
                                      "\nVolume1.replica_count: 2\n", "\nsvc3.name: quotad\n",
                                      "\n[Misc]\nBase port: 49152\n"};
  for (size_t i = 0; i < GI_ARRAY_LEN(lines); i++)
    if (!strstr(text, lines[i]))
      fail_msg("no \"%s\" in %s", lines[i], text);
  assert_null(strstr(text, "client_count"));
  struct gi_rpc_server *s = answer_for(f, v, 1, answer);
  succeeds(f, run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR\",\"file\":\"one\",\"detail\":true}"));
  assert_non_null(strstr(f->out, "/one_2")); /* what is there is left alone */
  GI_CLEANUP_FREE char *detail = written(f);
  assert_non_null(strstr(detail, "\nVolume1.Brick1.client_count: 1\nVolume1.Brick1.Client1.hostname: h:1\n"
                                 "Volume1.Brick1.Client1.bytesread: 2\nVolume1.Brick1.Client1.byteswrite: 3\n"
                                 "Volume1.Brick1.Client1.opversion: 4\n"));
  nobody_is_asked(&s);
  succeeds(f, run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR\",\"volumeoptions\":true}"));
  GI_CLEANUP_FREE char *options = written(f);
  assert_non_null(strstr(options, "Volume1.options.value1: "));
  assert_int_equal(run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR/nothing\"}"), GD_ERR_MGMT);
  assert_says(f, "/nothing does not exist.");
  assert_int_equal(run(f, 46, "{\"command\":\"get-state\",\"odir\":\"DIR\",\"file\":\"../x\"}"), EINVAL);
}

/* ---- what is shown ---- */

static void
test_status_detail(void **state)
{
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  create(f, "a", "b");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  succeeds(f, run(f, 27, "{\"command\":\"volume status\",\"volume\":\"vol\",\"what\":\"detail\"}"));
  static const char *const members[] = {"device", "fsName", "mntOptions", "sizeTotal", "sizeFree", "blockSize", "inodesTotal"};
  for (size_t i = 0; i < GI_ARRAY_LEN(members); i++) {
    GI_CLEANUP_FREE char *member = gi_asprintf("\"%s\":", members[i]);
    if (!strstr(f->out, member))
      fail_msg("no %s in %s", member, f->out);
  }
  succeeds(f, run(f, 27, "{\"command\":\"volume status\",\"volume\":\"vol\"}"));
  assert_null(strstr(f->out, "\"device\":"));
}

/* What is in force on a volume without being set. */
static void
test_get_of_quorum(void **state)
{
  static const char get[] = "{\"command\":\"volume get\",\"volume\":\"vol\",\"key\":\"cluster.quorum-type\"}";
  struct fixture *f = *state;
  if (geteuid() != 0)
    skip();
  struct gd_volume *v = create(f, "a", "b");
  succeeds(f, run(f, 41, get));
  assert_non_null(strstr(f->out, "\"none (DEFAULT)\""));
  succeeds(f, run(f, 13,
                  "{\"command\":\"volume add-brick\",\"volume\":\"vol\",\"replica\":3,\"force\":true,"
                  "\"bricks\":[\"127.0.0.1:DIR/c\"]}"));
  succeeds(f, run(f, 41, get));
  assert_non_null(strstr(f->out, "\"auto\""));
  succeeds(f, run(f, 41, "{\"command\":\"volume get\",\"volume\":\"vol\",\"key\":\"debug.trace\"}"));
  assert_non_null(strstr(f->out, "\"off\"")); /* a switch of the daemon, not an option of a translator */
  gd_options_set(&v->options, "cluster.quorum-type", "fixed");
  succeeds(f, run(f, 41, get));
  assert_non_null(strstr(f->out, "\"fixed\""));
}

/* ---- options of all volumes ---- */

static void
test_options_of_all(void **state)
{
  static const char set[] = "{\"command\":\"volume set\",\"volume\":\"all\",\"pairs\":[\"cluster.daemon-log-level\",\"%s\"]}";
  static const char *const resets[] = {
      "{\"command\":\"volume reset\",\"volume\":\"all\"}",
      "{\"command\":\"volume reset\",\"volume\":\"all\",\"key\":\"cluster.daemon-log-level\"}"};
  struct fixture *f = *state;
  struct gi_list *options = &f->gd->pool_options;
  GI_CLEANUP_FREE char *tmp = gi_asprintf("%s/state/options.tmp", f->dir);
  succeeds(f, run(f, 12, set, "NONE"));
  assert_string_equal(gd_options_get(options, "cluster.daemon-log-level"), "NONE");
  assert_int_equal(mkdir(tmp, 0755), 0); /* nothing can be stored */
  assert_int_not_equal(run(f, 12, set, "CRITICAL"), 0);
  assert_string_equal(gd_options_get(options, "cluster.daemon-log-level"), "NONE");
  for (size_t i = 0; i < GI_ARRAY_LEN(resets); i++) {
    assert_int_not_equal(run(f, 20, "%s", resets[i]), 0);
    assert_string_equal(gd_options_get(options, "cluster.daemon-log-level"), "NONE");
  }
  assert_int_equal(rmdir(tmp), 0);
  for (size_t i = 0; i < GI_ARRAY_LEN(resets); i++) {
    succeeds(f, run(f, 20, "%s", resets[i]));
    assert_null(gd_options_get(options, "cluster.daemon-log-level"));
    succeeds(f, run(f, 12, set, "NONE"));
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_paths_that_differ_in_dashes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_too_many_options, setup, teardown),
      cmocka_unit_test_setup_teardown(test_options_that_wait, setup, teardown),
      cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused_creates, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failed_create_leaves_marks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failed_replace_leaves_marks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failed_add_is_undone, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failed_start_is_undone, setup, teardown),
      cmocka_unit_test_setup_teardown(test_start_of_what_runs, setup, teardown),
      cmocka_unit_test_setup_teardown(test_profile, setup, teardown),
      cmocka_unit_test_setup_teardown(test_top, setup, teardown),
      cmocka_unit_test_setup_teardown(test_clear_locks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_get_state, setup, teardown),
      cmocka_unit_test_setup_teardown(test_status_detail, setup, teardown),
      cmocka_unit_test_setup_teardown(test_get_of_quorum, setup, teardown),
      cmocka_unit_test_setup_teardown(test_options_of_all, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
