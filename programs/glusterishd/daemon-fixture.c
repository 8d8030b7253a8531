/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemon of daemon-fixture.h.
 */
#include "programs/glusterishd/daemon-fixture.h"
#include "libglusterish/graph.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct gd *
daemon_bench_new(char dir[DAEMON_DIR_BYTES], const struct gi_xlator_class *classes, size_t n)
{
  snprintf(dir, DAEMON_DIR_BYTES, "/tmp/gd-test.XXXXXX");
  assert_non_null(mkdtemp(dir));
  GI_CLEANUP_FREE char *run = gi_asprintf("%s/run", dir), *state = gi_asprintf("%s/state", dir),
                       *sock = gi_asprintf("%s/s", dir);
  GI_CLEANUP_FREE const char **types = gi_zalloc((n + 1) * sizeof(*types));
  for (size_t i = 0; i < n; i++) {
    gi_class_register(&classes[i]);
    types[i] = classes[i].type;
  }
  struct gd_config config = {.workdir = state,
                             .rundir = run,
                             .logdir = dir,
                             .sockfile = sock,
                             .pidfile = sock,
                             .logfile = sock,
                             .bind = (char *)"127.0.0.1",
                             .base_port = 49152,
                             .max_port = 60999};
  gi_log_set_level(GI_LOG_NONE);
  struct gd *gd = gd_new(gi_reactor_new(0), &config);
  gd_map_free(&gd->map);
  gd->map = gd_map_new_of(types);
  return gd;
}

void
daemon_bench_free(struct gd **gd, const char *dir)
{
  struct gi_reactor *r = (*gd)->reactor;
  gd_free(gd);
  gi_reactor_free(r);
  assert_int_equal(gd_remove_tree(dir, NULL), 0);
}

/* ---- without a daemon ---- */

char fixture_root[DAEMON_DIR_BYTES];

int
make_root(void **state)
{
  snprintf(fixture_root, sizeof(fixture_root), "/tmp/gd-test.XXXXXX");
  return mkdtemp(fixture_root) ? 0 : -1;
}

int
remove_root(void **state)
{
  struct gi_error err;
  return gd_remove_tree(fixture_root, &err);
}
