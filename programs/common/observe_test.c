/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of asking processes: a child that is observed, sockets of the dead,
 * and one that lives and does not answer.
 */
#include "programs/common/observe.h"
#include "programs/common/observe-answer.h"
#include "libglusterish/mem.h"
#include "libglusterish/reactor.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

struct test {
  char dir[64];
  pid_t child[4];
  unsigned n;
};

/* ---- the child ---- */

static void
show_process(struct gi_observe_request *rq, void *arg)
{
  ob_answer(rq, json_pack("{s:s,s:s,s:i}", "role", "brick", "volume", (const char *)arg, "pid", (int)getpid()));
}

static void
show_echo(struct gi_observe_request *rq, void *arg)
{
  const char *word = gi_observe_query(rq, "word");
  fputs(word ? word : "", gi_observe_out(rq));
  gi_observe_done(rq, 200);
}

static void
show_never(struct gi_observe_request *rq, void *arg)
{
}

static void
show_nothing(struct gi_observe_request *rq, void *arg)
{
  ob_answer(rq, NULL);
}

static _Noreturn void
be_observed(const char *role, const char *name, const char *volume, int ready)
{
  struct gi_error err = {0};
  struct gi_reactor *r = gi_reactor_new(0);
  struct gi_observe *o = gi_observe_new(r);
  if (volume)
    gi_observe_add(o, "/process", "application/json", show_process, (void *)(uintptr_t)volume);
  else
    gi_observe_add(o, "/process", "application/json", show_never, NULL);
  gi_observe_add(o, "/echo", "text/plain", show_echo, NULL);
  gi_observe_add(o, "/never", "text/plain", show_never, NULL);
  gi_observe_add(o, "/nothing", "application/json", show_nothing, NULL);
  if (gi_observe_listen(o, role, name, &err) < 0 || write(ready, "", 1) != 1)
    _exit(1);
  gi_reactor_run(r);
  _exit(0);
}

static pid_t
start(struct test *t, const char *role, const char *name, const char *volume)
{
  int p[2];
  char byte;
  assert_int_equal(pipe(p), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    be_observed(role, name, volume, p[1]);
  }
  close(p[1]);
  assert_int_equal(read(p[0], &byte, 1), 1);
  close(p[0]);
  t->child[t->n++] = pid;
  return pid;
}

static void
end(struct test *t, pid_t pid)
{
  for (unsigned i = 0; i < t->n; i++)
    if (t->child[i] == pid) {
      kill(pid, SIGKILL);
      waitpid(pid, NULL, 0);
      t->child[i] = t->child[--t->n];
      return;
    }
}

static int
setup(void **state)
{
  struct test *t = gi_new(struct test);
  strcpy(t->dir, "/tmp/observe_test.XXXXXX");
  assert_non_null(mkdtemp(t->dir));
  setenv("GLUSTERISH_OBSERVE_DIR", t->dir, 1);
  *state = t;
  return 0;
}

static int
teardown(void **state)
{
  struct test *t = *state;
  while (t->n)
    end(t, t->child[0]);
  GI_CLEANUP_FREE char *command = gi_asprintf("rm -rf '%s'", t->dir);
  assert_int_equal(system(command), 0);
  gi_free(t);
  return 0;
}

/* ---- tests ---- */

static void
nobody_is_no_error(void **state)
{
  struct test *t = *state;
  struct ob_process *list;
  struct gi_error err = {0};
  assert_int_equal(ob_list(&list, NULL), 0);
  assert_null(list);
  assert_int_equal(rmdir(t->dir), 0);
  assert_int_equal(ob_list(&list, NULL), 0);
  assert_true(ob_allowed(&err));
}

static void
the_living_are_listed(void **state)
{
  struct test *t = *state;
  struct ob_process *list;
  pid_t b = start(t, "brick", "/b/2", "beta"), a = start(t, "brick", "/b/1", "alpha");
  assert_int_equal(ob_list(&list, NULL), 2);
  assert_string_equal(list[0].role, "brick");
  assert_string_equal(list[0].volume, "alpha");
  assert_int_equal(list[0].pid, a);
  assert_int_equal(json_integer_value(json_object_get(list[1].about, "pid")), b);
  ob_list_free(list, 2);
  assert_int_equal(ob_list(&list, "beta"), 1);
  assert_int_equal(list[0].pid, b);
  ob_list_free(list, 1);
  assert_int_equal(ob_list(&list, "gamma"), 0);
}

static void
the_dead_are_not(void **state)
{
  struct test *t = *state;
  struct ob_process *list;
  struct stat st;
  pid_t pid = start(t, "brick", "/b", "v");
  assert_int_equal(ob_list(&list, NULL), 1);
  GI_CLEANUP_FREE char *socket = gi_strdup(list[0].socket);
  ob_list_free(list, 1);
  end(t, pid);
  assert_int_equal(stat(socket, &st), 0);
  assert_int_equal(ob_list(&list, NULL), 0);
  assert_int_equal(stat(socket, &st), -1);
}

static void
who_does_not_answer_is_listed_without_words(void **state)
{
  struct test *t = *state;
  struct ob_process *list;
  pid_t pid = start(t, "client", "with-dash", NULL);
  assert_int_equal(ob_list(&list, "with-dash"), 1);
  assert_string_equal(list[0].role, "client");
  assert_string_equal(list[0].volume, "with-dash");
  assert_int_equal(list[0].pid, pid);
  assert_null(list[0].about);
  ob_list_free(list, 1);
}

static void
other_files_are_no_processes(void **state)
{
  struct test *t = *state;
  struct ob_process *list;
  static const char *const names[] = {
      "brick-x-1", ".1", "brick-1.socket", "x.socket", "brick-x-y.socket", "brick-x-0.socket", "brick-x-7.socket"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(names); i++) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", t->dir, names[i]);
    fclose(fopen(path, "w"));
  }
  assert_int_equal(ob_list(&list, NULL), 0);
}

static void
answers_come_whole(void **state)
{
  struct test *t = *state;
  struct ob_process *list;
  struct gi_error err = {0};
  start(t, "brick", "/b", "v");
  assert_int_equal(ob_list(&list, NULL), 1);
  GI_CLEANUP_FREE char *word = ob_escape("a b&c=%/é?"), *query = gi_asprintf("/echo?word=%s", word);
  GI_CLEANUP_FREE char *text = ob_get_text(list, query, 10000, &err), *empty = ob_get_text(list, "/echo", 10000, &err);
  assert_string_equal(text, "a b&c=%/é?");
  assert_string_equal(empty, "");
  json_t *doc = ob_get_json(list, "/process", 10000, &err);
  assert_string_equal(json_string_value(json_object_get(doc, "volume")), "v");
  json_decref(doc);
  ob_list_free(list, 1);
}

static void
what_fails_is_told(void **state)
{
  struct test *t = *state;
  struct ob_process *list;
  struct gi_error err = {0};
  pid_t pid = start(t, "brick", "/b", "v");
  assert_int_equal(ob_list(&list, NULL), 1);
  assert_null(ob_get_text(list, "/missing", 10000, &err));
  assert_int_equal(err.code, ENOENT);
  assert_null(ob_get_json(list, "/echo?word=x", 10000, &err));
  assert_int_equal(err.code, EPROTO);
  assert_null(ob_get_json(list, "/nothing", 10000, &err));
  assert_int_equal(err.code, EAGAIN);
  assert_null(ob_get_text(list, "/never", 50, &err));
  assert_int_equal(err.code, ETIMEDOUT);
  assert_non_null(strstr(err.text, "/never"));
  end(t, pid);
  assert_null(ob_get_text(list, "/echo", 10000, &err));
  assert_int_equal(err.code, ENOTCONN);
  ob_list_free(list, 1);
}

static void
any_bytes_become_json(void **state)
{
  json_t *good = ob_text("é"), *bad = ob_text("a\xff/b"), *none = ob_text(NULL);
  assert_string_equal(json_string_value(good), "é");
  assert_string_equal(json_string_value(bad), "a?/b");
  assert_true(json_is_null(none));
  json_decref(good);
  json_decref(bad);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(nobody_is_no_error),
      T(the_living_are_listed),
      T(the_dead_are_not),
      T(who_does_not_answer_is_listed_without_words),
      T(other_files_are_no_processes),
      T(answers_come_whole),
      T(what_fails_is_told),
      T(any_bytes_become_json),
  };
  signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
