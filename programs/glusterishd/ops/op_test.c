/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of the commands inside the daemon, without sockets: real directories
 * for bricks, and a script in place of the brick program. What a brick says to
 * the daemon is said by the test.
 */
#include "programs/glusterishd/ops/fixture.h"
#include "libglusterish/graph.h"
#include "rpc/net.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define VOLUME_ID "trusted.glusterfs.volume-id"

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
  assert_int_not_equal(
      run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"performance.nl-cache\",\"on\"]}"), 0);
  assert_says(f, "features not in this version");
  succeeds(f, run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"performance.nl-cache\",\"off\"]}"));
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

#define TLS(action) "{\"command\":\"pool tls\",\"action\":\"" action "\"}"
#define TLS_OF(action, name) "{\"command\":\"pool tls\",\"action\":\"" action "\",\"name\":\"" name "\"}"

/* The port follows what the commands write; nothing is renewed or taken back that was not made. */
static void
test_credentials_of_the_pool(void **state)
{
  struct fixture *f = *state;
  GI_CLEANUP_FREE char *file = gd_secure_access(f->gd);
  assert_int_equal(run(f, 1, TLS("rotate")), ENOENT);
  assert_int_equal(run(f, 1, TLS("require")), ENOENT);
  assert_null(f->gd->tls);
  succeeds(f, run(f, 1, TLS("enable")));
  assert_non_null(f->gd->tls);
  assert_true(f->gd->tls_optional);
  succeeds(f, run(f, 1, TLS("require")));
  assert_false(f->gd->tls_optional);
  succeeds(f, run(f, 1, TLS("enable"))); /* which does not open it again */
  assert_false(f->gd->tls_optional);
  assert_int_equal(run(f, 1, TLS_OF("client", "../joe")), EINVAL);
  assert_int_equal(run(f, 1, TLS_OF("client", "node")), EINVAL);
  succeeds(f, run(f, 1, TLS_OF("client", "joe")));
  succeeds(f, run(f, 1, TLS("rotate")));
  succeeds(f, run(f, 1, TLS_OF("revoke", "joe")));
  assert_int_equal(run(f, 1, TLS_OF("revoke", "joe")), ENOENT);
  assert_int_equal(run(f, 1, TLS_OF("revoke", "node")), EINVAL);
  succeeds(f, run(f, 1, "{\"command\":\"pool tls status\",\"action\":\"status\"}"));
  assert_non_null(strstr(f->out, "required"));
  succeeds(f, run(f, 1, TLS("relax")));
  assert_true(f->gd->tls_optional);
  succeeds(f, run(f, 1, TLS("disable")));
  assert_null(f->gd->tls);
  succeeds(f, run(f, 1, TLS("require"))); /* with the same credentials */
  assert_non_null(f->gd->tls);
  FILE *other = fopen(file, "w"); /* credentials of another hand */
  assert_non_null(other);
  fputs("# nothing said\n", other);
  fclose(other);
  assert_int_equal(run(f, 1, TLS("enable")), EEXIST);
  assert_int_equal(run(f, 1, TLS("require")), EEXIST);
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
      {CREATE
       "\"replica\":2,\"force\":true,\"bricks\":[" BRICK("a") "," BRICK("b") "," BRICK("c") "," BRICK("d") "," BRICK("e") "]}",
       EINVAL, "multiple of replica count"},
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

static void
brick_answered(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  *(int *)arg = err->code;
}

/* Whoever comes last counts, also while the process is still starting. */
static void
test_start_and_stop_of_what_starts(void **state)
{
  struct fixture *f = *state;
  struct gd_volume *v = create(f, "a", "b");
  struct gd_brick *b = &v->bricks[0];
  int first = -1, stop = -1, second = -1;
  gd_brick_start(b, brick_answered, &first);
  assert_int_equal(b->state, GD_PROC_STARTING);
  assert_false(gd_brick_ends(b));
  gd_brick_stop(b, brick_answered, &stop);
  assert_true(gd_brick_ends(b));
  gd_brick_start(b, brick_answered, &second);
  assert_false(gd_brick_ends(b));
  for (int i = 0; i < 1000 && (first < 0 || stop < 0 || second < 0); i++) {
    if (b->state == GD_PROC_UP && !b->signed_in)
      gd_brick_signed_in(b, b->port);
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  }
  assert_int_equal(first, ECANCELED);
  assert_int_equal(stop, ECANCELED);
  assert_int_equal(second, 0);
  assert_int_equal(b->state, GD_PROC_UP);
  stop = second = -1;
  gd_brick_stop(b, brick_answered, &stop);
  assert_true(gd_brick_ends(b));
  gd_brick_start(b, brick_answered, &second);
  assert_false(gd_brick_ends(b)); /* it goes, and comes again */
  gd_brick_stop(b, brick_answered, &stop);
  assert_true(gd_brick_ends(b));
  for (int i = 0; i < 1000 && b->state != GD_PROC_DOWN; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  for (int i = 0; i < 5; i++)
    gi_reactor_turn(f->r, GI_NSEC_PER_MSEC);
  assert_int_equal(b->state, GD_PROC_DOWN);
  assert_int_equal(second, ECANCELED);
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

/* ---- names ---- */

static atomic_bool dead; /* the name service */

static int
resolve(struct gi_reactor *r, const char *host, int port, struct gi_net_address *out, unsigned max, struct gi_error *err)
{
  while (dead)
    usleep(1000);
  return strcmp(host, "here.test") == 0 ? gi_net_kernel.resolve(r, "127.0.0.1", port, out, max, err)
                                        : gi_error_set(err, EHOSTUNREACH, "no such host");
}

static void
set_answered(struct gd_op *op, const struct gi_error *err)
{
  *(int *)op->arg = err ? err->code : 0;
}

static void
test_names_are_looked_up_by_workers(void **state)
{
  struct fixture *f = *state;
  struct gi_net_ops net = gi_net_kernel;
  const struct gi_net_ops *before = f->r->net;
  net.resolve = resolve;
  f->r->net = &net;
  gi_reactor_set_workers(f->r, 1);
  succeeds(f,
           run(f, 4, "{\"command\":\"volume create\",\"volume\":\"named\",\"force\":true,\"bricks\":[\"here.test:DIR/n\"]}"));
  assert_int_equal(
      run(f, 4, "{\"command\":\"volume create\",\"volume\":\"far\",\"force\":true,\"bricks\":[\"far.test:DIR/f\"]}"), EINVAL);
  assert_says(f, "Host far.test is not in 'Peer in Cluster' state");
  int code = -1;
  dead = true;
  gd_op_begin(f->gd, "{\"command\":\"volume create\",\"volume\":\"slow\",\"force\":true,\"bricks\":[\"slow.test:/b/f\"]}", 4,
              false, NULL, set_answered, &code);
  succeeds(f, run(f, 33, "{\"command\":\"volume list\"}")); /* nobody else waits */
  assert_int_equal(code, -1);
  for (unsigned i = 0; i < 2000 && code < 0; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_int_equal(code, EINVAL);
  dead = false;
  while (gi_reactor_busy(f->r))
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  f->r->net = before;
}

/* A daemon that is bound to an address is at that one only. */
static void
test_which_addresses_are_of_this_machine(void **state)
{
  static const struct {
    const char *bind, *host;
    bool local;
  } t[] = {
      {NULL, "127.0.0.1", true},        {NULL, "localhost", true},         {NULL, "192.0.2.1", false},
      {"127.0.0.2", "127.0.0.2", true}, {"127.0.0.2", "127.0.0.1", false}, {"127.0.0.2", "two.test", true},
      {"two.test", "127.0.0.2", true},  {"two.test", "127.0.0.1", false},
  };
  struct fixture *f = *state;
  struct gi_net_address two;
  char *before = f->gd->config.bind;
  assert_int_equal(gi_net_kernel.resolve(f->r, "127.0.0.2", 0, &two, 1, NULL), 1);
  gd_host_learn(f->gd, "two.test", &two, 1);
  for (size_t i = 0; i < GI_ARRAY_LEN(t); i++) {
    f->gd->config.bind = (char *)t[i].bind;
    if (gd_host_is_local(f->gd, t[i].host) != t[i].local)
      fail_msg("%s, bound to %s", t[i].host, t[i].bind ? t[i].bind : "nothing");
  }
  f->gd->config.bind = before;
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_paths_that_differ_in_dashes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_too_many_options, setup, teardown),
      cmocka_unit_test_setup_teardown(test_options_that_wait, setup, teardown),
      cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
      cmocka_unit_test_setup_teardown(test_credentials_of_the_pool, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused_creates, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failed_create_leaves_marks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failed_replace_leaves_marks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failed_add_is_undone, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failed_start_is_undone, setup, teardown),
      cmocka_unit_test_setup_teardown(test_start_of_what_runs, setup, teardown),
      cmocka_unit_test_setup_teardown(test_start_and_stop_of_what_starts, setup, teardown),
      cmocka_unit_test_setup_teardown(test_status_detail, setup, teardown),
      cmocka_unit_test_setup_teardown(test_get_of_quorum, setup, teardown),
      cmocka_unit_test_setup_teardown(test_options_of_all, setup, teardown),
      cmocka_unit_test_setup_teardown(test_names_are_looked_up_by_workers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_which_addresses_are_of_this_machine, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
