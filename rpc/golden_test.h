/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads tests/golden/rpc.txt: messages recorded from a real cluster, which the
 * codecs must take apart and put together again byte for byte.
 */
#ifndef GOLDEN_TEST_H
#define GOLDEN_TEST_H

#include "libglusterish/mem.h"
#include "rpc/xdr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct golden {
  char kind[16], name[64], accept[16];
  unsigned prog, vers, proc;
  size_t payload; /* bytes at the end of the record */
  uint8_t *record;
  size_t len;
};

static inline int
golden_digit(char c)
{
  return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* Calls fn for each message; fails the test if the file is missing or empty. */
static inline void
golden_foreach(void (*fn)(const struct golden *g, void *arg), void *arg)
{
  const char *dir = getenv("GLUSTERISH_SRCDIR");
  char *path = gi_asprintf("%s/tests/golden/rpc.txt", dir ? dir : ".");
  FILE *f = fopen(path, "r");
  char *line = NULL;
  size_t size = 0;
  unsigned n = 0;
  assert_non_null(f);
  while (getline(&line, &size, f) > 0) {
    struct golden g = {0};
    int hex = 0;
    if (line[0] == '#')
      continue;
    assert_int_equal(
        sscanf(line, "%15s %63s %u %u %u %15s %zu %n", g.kind, g.name, &g.prog, &g.vers, &g.proc, g.accept, &g.payload, &hex),
        7);
    g.len = strcspn(line + hex, "\n") / 2;
    g.record = gi_alloc(g.len); /* exactly: the sanitizer sees a read past the end */
    for (size_t i = 0; i < g.len; i++)
      g.record[i] = (uint8_t)(golden_digit(line[hex + 2 * (int)i]) << 4 | golden_digit(line[hex + 2 * (int)i + 1]));
    fn(&g, arg);
    gi_free(g.record);
    n++;
  }
  assert_true(n > 200);
  free(line);
  fclose(f);
  gi_free(path);
}

static inline void
golden_equal(const struct golden *g, const uint8_t *want, const uint8_t *got, size_t want_len, size_t got_len)
{
  size_t i = 0;
  while (i < want_len && i < got_len && want[i] == got[i])
    i++;
  if (i != want_len || i != got_len)
    fail_msg("%s %s: differs at byte %zu (lengths %zu, %zu)", g->kind, g->name, i, want_len, got_len);
}

#endif
