/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of volfiles: what is written is read back, every mistake is named,
 * and no text can do harm.
 */
#include "libglusterish/volfile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char example[] = "volume rep3-client-0\n"
                              "    type protocol/client\n"
                              "    option send-gids true\n"
                              "    option strict-locks off\n"
                              "    option transport.socket.keepalive-count 9\n"
                              "    option password ce22f11c-ecab-460b-9e1a-69c8230beade\n"
                              "    option transport-type tcp\n"
                              "    option remote-subvolume /bricks/rep3/b1\n"
                              "    option remote-host node1\n"
                              "    option ping-timeout 42\n"
                              "end-volume\n"
                              "\n"
                              "volume /bricks/arb/b1\n"
                              "    type debug/io-stats\n"
                              "    option auth.addr./bricks/arb/b1.allow *\n"
                              "    subvolumes rep3-client-0\n"
                              "end-volume\n"
                              "\n"
                              "volume arb-server\n"
                              "    type protocol/server\n"
                              "    subvolumes /bricks/arb/b1 rep3-client-0\n"
                              "end-volume\n";

static struct gi_volfile *
parse(const char *text)
{
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  if (!vf)
    fail_msg("%s", err.text);
  return vf;
}

static void
test_round_trip(void **state)
{
  struct gi_volfile *vf = parse(example);
  char *text = gi_volfile_write(vf);
  assert_string_equal(text, example);
  free(text);
  struct gi_vol_node *top = gi_volfile_top(vf), *client = gi_volfile_find(vf, "rep3-client-0");
  assert_string_equal(top->name, "arb-server");
  assert_string_equal(top->type, "protocol/server");
  assert_int_equal(top->nsub, 2);
  assert_ptr_equal(top->sub[1], client);
  assert_int_equal(client->nparents, 2);
  assert_int_equal(top->nparents, 0);
  assert_string_equal(gi_vol_node_get(client, "remote-host"), "node1");
  assert_null(gi_vol_node_get(client, "nothing"));
  assert_null(gi_volfile_find(vf, "nothing"));
  gi_volfile_free(&vf);
  assert_null(vf);
  gi_volfile_free(&vf);
}

static void
test_grammar(void **state)
{
  struct gi_volfile *vf = parse("# a comment\r\nVOLUME a TYPE x/y#z\toption k \"v # \\\"w\\\\\" # more\nOption k2 \"\" "
                                "option k3 1 option k2 again End-Volume\n"
                                "volume \"type\" type t subvolumes \"a\" #x\n end-volume #");
  struct gi_vol_node *a = gi_volfile_find(vf, "a");
  assert_string_equal(a->type, "x/y#z");
  assert_string_equal(gi_vol_node_get(a, "k"), "v # \"w\\");
  assert_string_equal(gi_vol_node_get(a, "k2"), "again");
  assert_string_equal(gi_volfile_top(vf)->name, "type");
  char *text = gi_volfile_write(vf);
  assert_string_equal(
      text, "volume a\n    type x/y#z\n    option k \"v # \\\"w\\\\\"\n    option k2 again\n    option k3 1\nend-volume\n\n"
            "volume \"type\"\n    type t\n    subvolumes a\nend-volume\n");
  struct gi_volfile *again = parse(text);
  char *text2 = gi_volfile_write(again);
  assert_string_equal(text, text2);
  free(text);
  free(text2);
  gi_volfile_free(&vf);
  gi_volfile_free(&again);
}

static void
test_build(void **state)
{
  struct gi_volfile *vf = gi_volfile_new();
  assert_null(gi_volfile_top(vf));
  struct gi_vol_node *n[3];
  for (int i = 0; i < 3; i++) {
    n[i] = gi_vol_node_add(vf, "protocol/client", "v-client-%d", i);
    gi_vol_node_option(n[i], "ping-timeout", "%d", 42);
    gi_vol_node_option(n[i], "remote-host", "node%d", i);
    gi_vol_node_option(n[i], "ping-timeout", "%d", 10);
  }
  struct gi_vol_node *top = gi_vol_node_add(vf, "cluster/replicate", "v");
  gi_vol_node_option(top, "odd", "%s", "two words\nand a line");
  for (int i = 0; i < 3; i++)
    gi_vol_node_sub(top, n[i]);
  char *text = gi_volfile_write(vf);
  const char *head = "volume v-client-0\n    type protocol/client\n    option remote-host node0\n    option ping-timeout "
                     "10\nend-volume\n\nvolume";
  const char *tail = "\n\nvolume v\n    type cluster/replicate\n    option odd \"two words and a line\"\n"
                     "    subvolumes v-client-0 v-client-1 v-client-2\nend-volume\n";
  assert_memory_equal(text, head, strlen(head));
  assert_string_equal(text + strlen(text) - strlen(tail), tail);
  free(text);
  gi_volfile_free(&vf);
}

static void
test_errors(void **state)
{
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "line 1: there is no volume in the file"},
      {"\n# only a comment", "line 2: there is no volume in the file"},
      {"type x", "line 1: 'type' found where 'volume' was expected"},
      {"volume", "line 1: the text ends where the name of a volume was expected"},
      {"volume end-volume", "line 1: 'end-volume' found where the name of a volume was expected"},
      {"volume a",
       "line 1: the text ends where 'type', 'option', 'subvolumes' or 'end-volume' was expected (volume 'a' is not closed)"},
      {"volume a\ntype t\nfoo bar\nend-volume",
       "line 3: 'foo' found where 'type', 'option', 'subvolumes' or 'end-volume' was expected"},
      {"volume a\nend-volume", "line 2: volume 'a' has no 'type' before 'end-volume'"},
      {"volume a\noption x y", "line 2: volume 'a' has no 'type' before 'option'"},
      {"volume a type t\ntype t end-volume", "line 2: volume 'a' has a second 'type'"},
      {"volume a type t option x\nend-volume", "line 2: 'end-volume' found where the value of an option was expected"},
      {"volume a type t option", "line 1: the text ends where the name of an option was expected (volume 'a' is not closed)"},
      {"volume a type t subvolumes\nend-volume", "line 2: 'end-volume' found where the name of a subvolume was expected"},
      {"volume a type t end-volume\nvolume a type t end-volume", "line 2: there is already a volume 'a'"},
      {"volume a type t\nsubvolumes a\nend-volume", "line 2: volume 'a' lists itself as a subvolume"},
      {"volume a type t\nsubvolumes b\nend-volume", "line 2: subvolume 'b' of volume 'a' is not defined"},
      {"volume a type t\nsubvolumes b\nend-volume\nvolume b type t end-volume",
       "line 2: volume 'a' lists 'b', which is defined only later, on line 4: a volume can use only volumes above it"},
      {"volume a type t end-volume volume b type t subvolumes a a end-volume", "line 1: volume 'b' lists subvolume 'a' twice"},
      {"volume a type t end-volume volume b type t subvolumes a subvolumes a end-volume",
       "line 1: volume 'b' has a second 'subvolumes'"},
      {"volume a type \"t", "line 1: a quoted word has no closing quote"},
      {"volume a\ntype \"t\nend-volume\"", "line 2: a quoted word has no closing quote"},
      {"volume a type \"t\\", "line 1: a quoted word has no closing quote"},
      {"volume a type t\\u end-volume", "line 1: a backslash outside of quotes"},
      {"volume \"\" type t end-volume", "line 1: '' found where the name of a volume was expected"},
      {"volume \"a\tb\" type t type t", "line 1: volume 'a?b' has a second 'type'"},
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct gi_error err = {0};
    assert_null(gi_volfile_parse(cases[i].text, strlen(cases[i].text), &err));
    assert_string_equal(err.text, cases[i].message);
    assert_true(err.code != 0);
    assert_null(gi_volfile_parse(cases[i].text, strlen(cases[i].text), NULL));
  }
  struct gi_error err;
  assert_null(gi_volfile_parse("volume a\0 type t end-volume", 27, &err));
  assert_string_equal(err.text, "line 1: NUL byte");
}

static void
test_limits(void **state)
{
  struct gi_error err;
  size_t len = (size_t)GI_VOLFILE_MAX + 1;
  char *big = gi_alloc(len);
  memset(big, ' ', len);
  assert_null(gi_volfile_parse(big, len, &err));
  assert_int_equal(err.code, EFBIG);
  /* As many volumes as fit, each listing the one before: time stays linear. */
  size_t at = 0;
  unsigned n = 0;
  for (; at + 200 < 4u << 20; n++) {
    at += (size_t)sprintf(big + at, "volume %u type t", n);
    if (n > 0)
      at += (size_t)sprintf(big + at, " subvolumes %u", n - 1);
    at += (size_t)sprintf(big + at, " end-volume\n");
  }
  struct gi_volfile *vf = gi_volfile_parse(big, at, &err);
  assert_non_null(vf);
  assert_int_equal(atoi(gi_volfile_top(vf)->name), n - 1);
  gi_volfile_free(&vf);
  at = (size_t)sprintf(big, "volume a type t\n");
  for (unsigned i = 0; i < 3000; i++)
    at += (size_t)sprintf(big + at, "option o%u x\n", i);
  assert_null(gi_volfile_parse(big, at, &err));
  assert_string_equal(err.text, "line 2050: volume 'a' has more than 2048 options");
  gi_free(big);
}

/* Every truncation and many mutations of a real file, from memory of exactly that size. */
static void
test_damaged(void **state)
{
  size_t len = strlen(example);
  unsigned seed = 12345;
  for (size_t cut = 0; cut <= len; cut++) {
    char *copy = gi_alloc(cut);
    memcpy(copy, example, cut);
    struct gi_volfile *vf = gi_volfile_parse(copy, cut, NULL);
    gi_volfile_free(&vf);
    gi_free(copy);
  }
  for (unsigned round = 0; round < 20000; round++) {
    char *copy = gi_alloc(len);
    memcpy(copy, example, len);
    for (unsigned k = 0; k < 1 + round % 8; k++) {
      seed = seed * 1103515245 + 12345;
      static const char nasty[] = "\" \\\n#a\xff\x01v";
      copy[(seed >> 8) % len] = nasty[(seed >> 3) % (sizeof(nasty) - 1)];
    }
    struct gi_volfile *vf = gi_volfile_parse(copy, len, NULL);
    if (vf) {
      char *text = gi_volfile_write(vf);
      struct gi_volfile *again = parse(text);
      gi_volfile_free(&again);
      free(text);
    }
    gi_volfile_free(&vf);
    gi_free(copy);
  }
}

static void
test_load(void **state)
{
  struct gi_error err;
  assert_null(gi_volfile_load("/nonexistent/file.vol", &err));
  assert_string_equal(err.text, "/nonexistent/file.vol: No such file or directory");
  assert_int_equal(err.code, ENOENT);
  assert_null(gi_volfile_load("/tmp", &err));
  assert_int_equal(err.code, EISDIR);
  assert_null(gi_volfile_load("/dev/zero", &err));
  char path[] = "/tmp/gi-volfile-test-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, example, strlen(example)), strlen(example));
  struct gi_volfile *vf = gi_volfile_load(path, &err);
  assert_non_null(vf);
  gi_volfile_free(&vf);
  assert_int_equal(ftruncate(fd, 90), 0);
  assert_null(gi_volfile_load(path, &err));
  assert_memory_equal(err.text, path, strlen(path));
  assert_non_null(strstr(err.text, ": line 4: "));
  close(fd);
  unlink(path);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip), cmocka_unit_test(test_grammar), cmocka_unit_test(test_build),
      cmocka_unit_test(test_errors),     cmocka_unit_test(test_limits),  cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_load),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
