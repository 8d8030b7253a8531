/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon inside a test, in a directory of its own, with the translators that
 * the test says there are.
 */
#ifndef DAEMON_FIXTURE_H
#define DAEMON_FIXTURE_H

#include "programs/glusterishd/glusterishd.h"

struct gi_xlator_class;

#define DAEMON_DIR_BYTES 64
/* What a translator without options is to the daemon. */
#define DAEMON_CLASS(t, ...) \
  { \
    .abi = GI_XLATOR_ABI, .type = t, .version = "0", __VA_ARGS__ \
  }

/* Not started. `dir` gets the directory; the working directory of the daemon is "state" in it, its socket "s". It runs on a reactor of its
 * own, gd->reactor. */
struct gd *daemon_bench_new(char dir[DAEMON_DIR_BYTES], const struct gi_xlator_class *classes, size_t n);
void daemon_bench_free(struct gd **gd, const char *dir); /* with reactor and directory */

/* A directory for tests that want no daemon, between cmocka's setup and teardown. */
extern char fixture_root[DAEMON_DIR_BYTES];
int make_root(void **state);
int remove_root(void **state);

#endif
