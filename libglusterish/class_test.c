/* SPDX-License-Identifier: Apache-2.0
 *
 * Translators loaded from files.
 */
#include "libglusterish/graph.h"
#include "libglusterish/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static size_t
read_file(const char *path, char *bytes, size_t room)
{
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t len = fread(bytes, 1, room, f);
  assert_true(len > 0 && len < room);
  fclose(f);
  return len;
}

static void
write_file(const char *path, const char *bytes, size_t len)
{
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, len, f), len);
  assert_int_equal(fclose(f), 0);
}

/* What a file says of the interface it was built for is the first member of its class. */
static void
test_a_file_of_another_build_is_refused(void **state)
{
  static char bytes[8 << 20];
  const unsigned ours = GI_XLATOR_ABI;
  char dir[] = "/tmp/class_test.XXXXXX";
  struct gi_error err = {0};
  void *dl;

  GI_CLEANUP_FREE char *built = gi_asprintf("%s/debug/trace/.libs/trace.so", gi_xlator_dir());
  size_t len = read_file(built, bytes, sizeof(bytes));
  assert_non_null(mkdtemp(dir));
  GI_CLEANUP_FREE char *kind = gi_asprintf("%s/debug", dir);
  GI_CLEANUP_FREE char *copy = gi_asprintf("%s/trace.so", kind);
  assert_int_equal(mkdir(kind, 0700), 0);
  char *at = memmem(bytes, len, &ours, sizeof(ours));
  assert_non_null(at);
  at[0] ^= 1;
  write_file(copy, bytes, len);

  GI_CLEANUP_FREE char *before = gi_strdup(gi_xlator_dir());
  setenv("GLUSTERISH_XLATOR_DIR", dir, 1);
  assert_null(gi_class_load("debug/trace", &dl, &err));
  assert_null(dl);
  assert_non_null(strstr(err.text, copy));
  assert_non_null(strstr(err.text, "another build"));
  setenv("GLUSTERISH_XLATOR_DIR", before, 1);
  assert_non_null(gi_class_load("debug/trace", &dl, &err));

  unlink(copy);
  rmdir(kind);
  rmdir(dir);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_file_of_another_build_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
