/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line tool in a test: a daemon that answers what the test says,
 * and what is printed for it.
 */
#ifndef CLI_FIXTURE_H
#define CLI_FIXTURE_H

#include "programs/glusterish/cli.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct run {
  struct cli c;
  char *out, *err;
  size_t out_len, err_len;
  int ret, code; /* the canned answer */
  const char *text, *doc;
  json_t *request; /* the last one sent */
  unsigned proc, calls;
  int status;
};

/* Runs one line; the answer must be set before. */
void run(struct run *r, const char *line);
/* The same; `input` is what the user types at questions. */
void run_with(struct run *r, const char *line, const char *input);
void done(struct run *r);                                  /* frees what is left of the last one */
const char *sent(const struct run *r, const char *member); /* of the last request; "" if it is absent or no text */
bool begins(const char *text, const char *with);

#endif
