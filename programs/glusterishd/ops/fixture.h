/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands inside the daemon in a test, without sockets: real directories for
 * bricks, and a script in place of the brick program. What a brick says to the
 * daemon is said by the test.
 */
#ifndef OP_FIXTURE_H
#define OP_FIXTURE_H

#include "programs/glusterishd/daemon-fixture.h"
#include "programs/glusterishd/ops/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct fixture {
  char dir[DAEMON_DIR_BYTES];
  struct gi_reactor *r;
  struct gd *gd;
  unsigned answers;
  struct gi_error err; /* of the last command */
  char *out;           /* its reply document */
};

int setup(void **state);
int teardown(void **state);

/* Runs a command to its end; returns the code it is answered with. DIR in the text stands for the directory of the test. */
int run(struct fixture *f, uint32_t proc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void succeeds(struct fixture *f, int code);

#define assert_says(f, part) \
  do { \
    if (!strstr((f)->err.text, part)) \
      fail_msg("%s", (f)->err.text); \
  } while (0)

/* A volume "vol" of two bricks below the directory of the test. */
struct gd_volume *create(struct fixture *f, const char *one, const char *two);

/* Answers for the first `n` bricks of the volume, and for the process that moves its files, whatever they are asked: pairs of key and value, NULL at the end. */
struct gi_rpc_server *answer_for(struct fixture *f, struct gd_volume *v, unsigned n, const char *const *answer);
void answer_is(const char *const *answer, int err); /* from now on; err: an errno */
const char *asked(const char *member);              /* of the last question; "" if it has none such */
void nobody_is_asked(struct gi_rpc_server **s);

#endif
