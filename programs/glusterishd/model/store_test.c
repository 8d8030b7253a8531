/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of the state directory: what is written can be read again, torn and
 * damaged files are noticed, names from outside cannot leave the directory.
 */
#include "programs/glusterishd/glusterishd.h"
#include "libglusterish/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static unsigned syncs;
static bool sync_fails;

/* Instead of libc's. */
int
fsync(int fd)
{
  syncs++;
  if (!sync_fails)
    return (int)syscall(SYS_fsync, fd);
  errno = EIO;
  return -1;
}

/* Just enough of translators for volfiles to be written. */
#define FAKE(t, ...) \
  { \
    .abi = GI_XLATOR_ABI, .type = t, .version = "0", __VA_ARGS__ \
  }
static const struct gi_xlator_class fakes[] = {
    FAKE("protocol/client"),
    FAKE("cluster/replicate"),
    FAKE("cluster/distribute"),
    FAKE("debug/io-stats"),
    FAKE("storage/posix"),
    FAKE("features/locks", .layer = {{.side = GI_SIDE_BRICK}}),
    FAKE("features/index", .layer = {{.side = GI_SIDE_BRICK, .above = {"features/locks"}}}),
    FAKE("protocol/server"),
};

struct place {
  char dir[64];
  struct gi_reactor *r;
  struct gd gd;
};

static void
new_daemon(struct place *p)
{
  memset(&p->gd, 0, sizeof(p->gd));
  p->gd.reactor = p->r;
  p->gd.config.workdir = p->dir;
  p->gd.config.port = 24007;
  gi_list_init(&p->gd.volumes);
  gi_list_init(&p->gd.pool_options);
  const char *types[GI_ARRAY_LEN(fakes) + 1] = {NULL};
  for (size_t i = 0; i < GI_ARRAY_LEN(fakes); i++)
    types[i] = fakes[i].type;
  p->gd.map = gd_map_new_of(types);
}

static void
end_daemon(struct place *p)
{
  gi_list_foreach_safe(v, &p->gd.volumes, struct gd_volume, link)
    gd_volume_free(v);
  gd_options_clear(&p->gd.pool_options);
  gd_map_free(&p->gd.map);
}

static int
setup(void **state)
{
  struct place *p = gi_new(struct place);
  strcpy(p->dir, "/tmp/gd-store-test.XXXXXX");
  assert_non_null(mkdtemp(p->dir));
  p->r = gi_reactor_new(0);
  for (size_t i = 0; i < GI_ARRAY_LEN(fakes); i++)
    gi_class_register(&fakes[i]);
  new_daemon(p);
  *state = p;
  return 0;
}

static int
teardown(void **state)
{
  struct place *p = *state;
  end_daemon(p);
  gi_reactor_free(p->r);
  assert_int_equal(gd_remove_tree(p->dir, NULL), 0);
  gi_free(p);
  return 0;
}

static char *
in(const struct place *p, const char *name)
{
  return gi_asprintf("%s/%s", p->dir, name);
}

static void
put(const char *path, const char *text, size_t len)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, len), (ssize_t)len);
  close(fd);
}

static struct gd_volume *
make_volume(struct gd *gd, const char *name)
{
  struct gd_volume *v = gd_volume_new(gd, name);
  v->type = GD_REPLICATE;
  v->replica = 3;
  v->status = GD_STARTED;
  v->id = gi_gfid_new(gd->reactor);
  v->username = gi_strdup("user");
  v->password = gi_strdup("secret");
  v->bricks = gi_zalloc(3 * sizeof(*v->bricks));
  v->nbricks = 3;
  for (unsigned i = 0; i < 3; i++) {
    struct gd_brick *b = &v->bricks[i];
    b->volume = v;
    b->index = i;
    b->host = gi_strdup("node1");
    b->path = gi_asprintf("/bricks/%s/b%u", name, i);
    b->id = gi_asprintf("%s-client-%u", name, i + (i == 2)); /* ids may have gaps */
    b->port = 49152 + (int)i;
    b->node = gd->uuid;
  }
  gd_options_set(&v->options, "user.note", "a = b");
  gd_options_set(&v->options, "nfs.disable", "on");
  gd_volume_link(v);
  return v;
}

static void
test_atomic_write(void **state)
{
  struct place *p = *state;
  GI_CLEANUP_FREE char *path = in(p, "file"), *tmp = in(p, "file.tmp");
  struct stat st;
  struct gi_error err = {0};
  assert_int_equal(gd_write_file(path, "k=1\n", 4, false, &err), 0);
  assert_int_equal(gd_write_file(path, "k=2\n", 4, false, &err), 0);
  struct gd_kvs kvs;
  assert_int_equal(gd_kvs_load(path, &kvs, &err), 0);
  assert_string_equal(gd_kvs_get(&kvs, "k"), "2");
  gd_kvs_free(&kvs);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_int_equal(stat(tmp, &st), -1);
  /* A failed write leaves the old content. */
  assert_int_equal(mkdir(tmp, 0700), 0);
  assert_int_equal(gd_write_file(path, "k=3\n", 4, false, &err), -1);
  assert_int_equal(gd_kvs_load(path, &kvs, &err), 0);
  assert_string_equal(gd_kvs_get(&kvs, "k"), "2");
  gd_kvs_free(&kvs);
}

/* What is there already is not written again; what only looks like it is. */
static void
test_same_text_is_left_alone(void **state)
{
  struct place *p = *state;
  GI_CLEANUP_FREE char *path = in(p, "file"), *tmp = in(p, "file.tmp"), *other = in(p, "other");
  struct stat st;
  struct gi_error err = {0};
  assert_int_equal(gd_write_file(path, "k=1\n", 4, false, &err), 0);
  assert_int_equal(mkdir(tmp, 0700), 0); /* a write would fail */
  assert_int_equal(gd_write_file(path, "k=1\n", 4, false, &err), 0);
  assert_int_equal(gd_write_file(path, "k=1\n", 4, true, &err), 0);
  assert_int_equal(gd_write_file(path, "k=2\n", 4, true, &err), -1);
  assert_int_equal(gd_write_file(path, "k=1\nk=2\n", 8, false, &err), -1);
  assert_int_equal(gd_write_file(path, "", 0, false, &err), -1);
  assert_int_equal(rmdir(tmp), 0);
  assert_int_equal(chmod(path, 0644), 0);
  assert_int_equal(gd_write_file(path, "k=1\n", 4, false, &err), 0);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_int_equal(rename(path, other), 0);
  assert_int_equal(symlink(other, path), 0);
  assert_int_equal(gd_write_file(path, "k=1\n", 4, false, &err), 0);
  assert_int_equal(lstat(path, &st), 0);
  assert_true(S_ISREG(st.st_mode));
  assert_int_equal(gd_write_file(path, "", 0, false, &err), 0);
  assert_int_equal(gd_write_file(path, "", 0, false, &err), 0);
}

static void
expect_bad(struct place *p, const char *text, size_t len)
{
  GI_CLEANUP_FREE char *path = in(p, "bad");
  struct gi_error err = {0};
  struct gd_kvs kvs;
  put(path, text, len);
  assert_int_equal(gd_kvs_load(path, &kvs, &err), -1);
  assert_non_null(strstr(err.text, path));
}

static void
test_damaged_lines(void **state)
{
  struct place *p = *state;
  expect_bad(p, "type=2\ncount", 12);
  expect_bad(p, "type=2\ncount=3", 14); /* torn: no end of line */
  expect_bad(p, "type=2\nnonsense\n", 16);
  expect_bad(p, "=2\n", 3);
  expect_bad(p, "a=\0b\n", 5);
}

static void
test_volume_round_trip(void **state)
{
  struct place *p = *state;
  struct gi_error err = {0};
  assert_int_equal(gd_store_load(&p->gd, &err), 0); /* makes the node's identity */
  struct gi_gfid node = p->gd.uuid;
  struct gd_volume *v = make_volume(&p->gd, "vol");
  struct gi_gfid id = v->id;
  assert_int_equal(gd_store_volume(v, &err), 0);
  gd_options_set(&p->gd.pool_options, "cluster.daemon-log-level", "DEBUG");
  assert_int_equal(gd_store_pool_options(&p->gd, &err), 0);
  end_daemon(p);
  new_daemon(p);
  assert_int_equal(gd_store_load(&p->gd, &err), 0);
  assert_true(gi_gfid_equal(&node, &p->gd.uuid));
  v = gd_volume_find(&p->gd, "vol");
  assert_non_null(v);
  assert_true(gi_gfid_equal(&v->id, &id));
  assert_int_equal(v->type, GD_REPLICATE);
  assert_int_equal(v->replica, 3);
  assert_int_equal(v->status, GD_STARTED);
  assert_int_equal(v->version, 1);
  assert_int_equal(v->nbricks, 3);
  assert_string_equal(v->bricks[2].id, "vol-client-3");
  assert_string_equal(v->bricks[1].path, "/bricks/vol/b1");
  assert_int_equal(v->bricks[1].port, 49153);
  assert_string_equal(v->password, "secret");
  assert_string_equal(gd_options_get(&v->options, "user.note"), "a = b");
  assert_string_equal(gi_list_first(&v->options, struct gd_option, link)->key, "nfs.disable");
  assert_string_equal(gd_options_get(&p->gd.pool_options, "cluster.daemon-log-level"), "DEBUG");
  assert_int_equal(gd_store_delete(&p->gd, "vol", &err), 0);
  GI_CLEANUP_FREE char *dir = gd_volume_dir(&p->gd, "vol");
  assert_int_equal(access(dir, F_OK), -1);
}

static unsigned
syncs_to_store(struct gd_volume *v)
{
  struct gi_error err = {0};
  syncs = 0;
  assert_int_equal(gd_store_volume(v, &err), 0);
  return syncs;
}

/* What this process has written and synced is not synced again; what it only found, or failed to write, is. */
static void
test_what_is_stored_is_not_synced(void **state)
{
  enum { FILES = 3 + 3 + 2 + 1 }; /* bricks, their volfiles, volfiles of clients, info */
  struct place *p = *state;
  struct gi_error err = {0};
  assert_int_equal(gd_store_load(&p->gd, &err), 0);
  struct gd_volume *v = make_volume(&p->gd, "vol");
  assert_int_equal(syncs_to_store(v), 2 * FILES);
  assert_int_equal(v->version, 1);
  assert_int_equal(syncs_to_store(v), 0);
  assert_int_equal(v->version, 1);
  v->bricks[1].port++;
  assert_int_equal(syncs_to_store(v), 2);
  assert_int_equal(v->version, 1); /* a port is not in the info file */
  v->status = GD_STOPPED;
  assert_int_equal(syncs_to_store(v), 2);
  assert_int_equal(v->version, 2);

  v->bricks[1].port++;
  sync_fails = true;
  assert_int_equal(gd_store_brick(&v->bricks[1], &err), -1);
  sync_fails = false;
  assert_int_equal(syncs_to_store(v), FILES + 1);
  assert_int_equal(syncs_to_store(v), 0);

  end_daemon(p);
  new_daemon(p);
  assert_int_equal(gd_store_load(&p->gd, &err), 0);
  v = gd_volume_find(&p->gd, "vol");
  assert_int_equal(syncs_to_store(v), FILES); /* an earlier process may have been killed between rename and sync */
  assert_int_equal(syncs_to_store(v), 0);
  assert_int_equal(v->version, 2);
}

/* Every cut of an info file is refused or complete; nothing crashes. */
static void
test_every_cut(void **state)
{
  struct place *p = *state;
  struct gi_error err = {0};
  char text[4096];
  assert_int_equal(gd_store_load(&p->gd, &err), 0);
  assert_int_equal(gd_store_volume(make_volume(&p->gd, "vol"), &err), 0);
  GI_CLEANUP_FREE char *path = in(p, "vols/vol/info");
  int fd = open(path, O_RDONLY);
  ssize_t len = read(fd, text, sizeof(text));
  close(fd);
  assert_true(len > 0 && len < (ssize_t)sizeof(text));
  gi_log_set_level(GI_LOG_NONE);
  for (ssize_t cut = 0; cut <= len; cut++) {
    put(path, text, (size_t)cut);
    end_daemon(p);
    new_daemon(p);
    assert_int_equal(gd_store_load(&p->gd, &err), 0);
    assert_int_equal(gd_volume_find(&p->gd, "vol") != NULL, cut == len);
  }
}

static void
test_hostile_brick_lines(void **state)
{
  static const char *const lines[] = {"brick-0=../../../etc/passwd\n",
                                      "count=99999\n",
                                      "replica_count=0\n",
                                      "type=77\n",
                                      "volume-id=zzz\n",
                                      "status=9\n",
                                      "count=-3\n",
                                      "replica_count=2\n",
                                      "arbiter_count=2\n"};
  struct place *p = *state;
  struct gi_error err = {0};
  char text[4096];
  assert_int_equal(gd_store_load(&p->gd, &err), 0);
  assert_int_equal(gd_store_volume(make_volume(&p->gd, "vol"), &err), 0);
  GI_CLEANUP_FREE char *path = in(p, "vols/vol/info");
  int fd = open(path, O_RDONLY);
  ssize_t len = read(fd, text, sizeof(text) - 1);
  close(fd);
  text[len] = '\0';
  gi_log_set_level(GI_LOG_NONE);
  for (size_t i = 0; i < GI_ARRAY_LEN(lines); i++) {
    /* The first line of a key counts. */
    GI_CLEANUP_FREE char *bad = gi_asprintf("%s%s", lines[i], text);
    put(path, bad, strlen(bad));
    end_daemon(p);
    new_daemon(p);
    assert_int_equal(gd_store_load(&p->gd, &err), 0);
    assert_null(gd_volume_find(&p->gd, "vol"));
  }
}

/* Two bricks that are one, or a name that something else has, would be the end of whoever asked for a volfile. */
static void
test_bricks_that_are_one(void **state)
{
  static const struct {
    const char *path, *id;
  } second[] = {{"/bricks/vol/b1", NULL}, {"/bricks/vol-b1", NULL},  {NULL, "vol-client-0"},
                {NULL, "vol-dht"},        {NULL, "vol-replicate-0"}, {NULL, "vol-client-"},
                {NULL, "-client-1"},      {NULL, "vol-client-1 x"},  {NULL, "vol-client-1\"x-client-7"}};
  struct place *p = *state;
  struct gi_error err = {0};
  gi_log_set_level(GI_LOG_NONE);
  for (size_t i = 0; i < GI_ARRAY_LEN(second); i++) {
    end_daemon(p);
    new_daemon(p);
    assert_int_equal(gd_store_load(&p->gd, &err), 0);
    struct gd_volume *v = make_volume(&p->gd, "vol");
    GI_CLEANUP_FREE char *good = gi_asprintf("%s/vols/good", p->dir);
    if (access(good, F_OK))
      assert_int_equal(gd_store_volume(make_volume(&p->gd, "good"), &err), 0);
    assert_int_equal(gd_store_volume(v, &err), 0);
    GI_CLEANUP_FREE char *file = gi_asprintf("%s/vols/vol/bricks/node1:-bricks-vol-b2", p->dir);
    char id[GI_UUID_TEXT];
    GI_CLEANUP_FREE char *text =
        gi_asprintf("uuid=%s\nhostname=node1\npath=%s\nbrick-id=%s\n", gi_gfid_text(&p->gd.uuid, id),
                    second[i].path ? second[i].path : "/bricks/vol/b2", second[i].id ? second[i].id : "vol-client-3");
    put(file, text, strlen(text));
    end_daemon(p);
    new_daemon(p);
    assert_int_equal(gd_store_load(&p->gd, &err), 0);
    assert_null(gd_volume_find(&p->gd, "vol"));
    assert_non_null(gd_volume_find(&p->gd, "good"));
  }
}

static void
test_damaged_identity(void **state)
{
  struct place *p = *state;
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *path = in(p, "glusterd.info");
  put(path, "UUID=nonsense\n", 14);
  assert_int_equal(gd_store_load(&p->gd, &err), -1);
  put(path, "UUI", 3);
  assert_int_equal(gd_store_load(&p->gd, &err), -1);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_atomic_write, setup, teardown),
      cmocka_unit_test_setup_teardown(test_same_text_is_left_alone, setup, teardown),
      cmocka_unit_test_setup_teardown(test_damaged_lines, setup, teardown),
      cmocka_unit_test_setup_teardown(test_volume_round_trip, setup, teardown),
      cmocka_unit_test_setup_teardown(test_what_is_stored_is_not_synced, setup, teardown),
      cmocka_unit_test_setup_teardown(test_every_cut, setup, teardown),
      cmocka_unit_test_setup_teardown(test_hostile_brick_lines, setup, teardown),
      cmocka_unit_test_setup_teardown(test_bricks_that_are_one, setup, teardown),
      cmocka_unit_test_setup_teardown(test_damaged_identity, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
