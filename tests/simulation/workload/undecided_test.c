/* SPDX-License-Identifier: Apache-2.0
 *
 * What the note of a rename that was not decided says about a name on a disk.
 */
#include "tests/simulation/workload/workload.h"

#include "libglusterish/log.h"
#include "libglusterish/reactor.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define OLD SIM_BRICK_DIR "/shared0/old"
#define NEW SIM_BRICK_DIR "/shared1/new"

static const struct gi_gfid dir[2] = {{.b = {0xd0}}, {.b = {0xd1}}}, file = {.b = {0xf1}};

static void
set(struct gi_fs *fs, const char *path, const char *key, const void *value, size_t len)
{
  int fd = gi_fs_openat(fs, AT_FDCWD, path, O_RDONLY, 0);

  assert_int_equal(gi_fs_fsetxattr(fs, fd, key, value, len, 0), 0);
  gi_fs_close(fs, fd);
}

static void
make(struct gi_fs *fs, const char *path, mode_t mode, const struct gi_gfid *gfid)
{
  if (S_ISDIR(mode))
    assert_int_equal(gi_fs_mkdir(fs, AT_FDCWD, path, 0755), 0);
  else
    assert_int_equal(gi_fs_mknod(fs, AT_FDCWD, path, mode, 0), 0);
  set(fs, path, "trusted.gfid", gfid->b, sizeof(gfid->b));
}

/* Of the file, from OLD to NEW. */
static void
note(struct gi_fs *fs, const char *path)
{
  char value[128], text[2][GI_UUID_TEXT];
  int len = snprintf(value, sizeof(value), "%sold%c%snew", gi_gfid_text(&dir[0], text[0]), 0, gi_gfid_text(&dir[1], text[1]));

  set(fs, path, "trusted.glusterfs.dht.rename", value, (size_t)len + 1);
}

static void
only_what_has_both_names_and_no_linkto_file_is_undecided(void **state)
{
  struct sim_cluster_config config = {.bricks = 2, .sets = 2, .clients = 1, .spread = true};
  struct sim_world *w = sim_world_new(1);
  struct sim_cluster *c;
  struct gi_fs *fs[2];

  (void)state;
  sim_net_new(w);
  c = sim_cluster_new(w, &config);
  for (unsigned i = 0; i < 2; i++) {
    fs[i] = sim_disk_view(c->machine[i].disk);
    make(fs[i], SIM_BRICK_DIR "/shared0", S_IFDIR, &dir[0]);
    make(fs[i], SIM_BRICK_DIR "/shared1", S_IFDIR, &dir[1]);
  }
  make(fs[0], OLD, S_IFREG | 0644, &file);
  assert_int_equal(gi_fs_link(fs[0], AT_FDCWD, OLD, AT_FDCWD, NEW), 0);
  assert_false(sim_spread_is_undecided(c, 0, NEW)); /* a further name */
  note(fs[0], OLD);
  assert_true(sim_spread_is_undecided(c, 0, NEW));
  assert_false(sim_spread_is_undecided(c, 0, OLD));
  assert_false(sim_spread_is_undecided(c, 1, NEW));

  make(fs[1], NEW, S_IFREG | GI_LINKTO_MODE, &file);
  set(fs[1], NEW, "trusted.glusterfs.dht.linkto", "v-client-0", 11);
  assert_false(sim_spread_is_undecided(c, 0, NEW)); /* that decides it */
  assert_int_equal(gi_fs_unlink(fs[1], AT_FDCWD, NEW, 0), 0);
  assert_true(sim_spread_is_undecided(c, 0, NEW));

  assert_int_equal(gi_fs_unlink(fs[0], AT_FDCWD, OLD, 0), 0);
  assert_false(sim_spread_is_undecided(c, 0, NEW));
  for (unsigned i = 0; i < 2; i++)
    sim_view_free(&fs[i]);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_has_both_names_and_no_linkto_file_is_undecided)};

  GI_IGNORE(gi_log_open("-", GI_LOG_NONE, false));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
