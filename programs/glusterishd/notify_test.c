/* SPDX-License-Identifier: Apache-2.0
 *
 * What a service manager hears, through a socket of the test.
 */
#include "programs/glusterishd/glusterishd.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void
told(const struct sockaddr_un *at, socklen_t len, const char *name)
{
  char text[32] = "";
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  assert_int_equal(bind(fd, (const struct sockaddr *)at, len), 0);
  setenv("NOTIFY_SOCKET", name, 1);
  assert_true(gd_notify("READY=1"));
  assert_int_equal(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT), 7);
  assert_string_equal(text, "READY=1");
  close(fd);
}

static void
test_the_manager_is_told(void **state)
{
  char dir[] = "/tmp/notify_test.XXXXXX";
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  assert_non_null(mkdtemp(dir));
  snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", dir);
  told(&at, sizeof(at), at.sun_path);
  unlink(at.sun_path);
  rmdir(dir);
  GI_CLEANUP_FREE char *name = gi_asprintf("@%s", dir);
  memset(at.sun_path, 0, sizeof(at.sun_path));
  memcpy(at.sun_path + 1, dir, strlen(dir));
  told(&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(dir)), name);
}

static void
test_nobody_is_told(void **state)
{
  static const char *const names[] = {"", "x", "relative/path", "/no/such/socket"};
  unsetenv("NOTIFY_SOCKET");
  assert_false(gd_notify("READY=1"));
  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++) {
    setenv("NOTIFY_SOCKET", names[i], 1);
    assert_false(gd_notify("READY=1"));
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_manager_is_told),
      cmocka_unit_test(test_nobody_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
