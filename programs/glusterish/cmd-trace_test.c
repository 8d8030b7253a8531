/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `trace`: children that are observed as mounts are, one that does
 * not answer in time, and a receiver of spans.
 */
#include "programs/glusterish/cli.h"
#include "programs/common/observe-answer.h"
#include "libglusterish/reactor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];
static pid_t child[8];
static unsigned children;

/* ---- a mount, as far as it is seen ---- */

static void
show_process(struct gi_observe_request *rq, void *arg)
{
  ob_answer(rq, json_pack("{s:s,s:s,s:i,s:s}", "role", (const char *)arg, "volume", "data", "pid", (int)getpid(), "mountpoint",
                          "/mnt/data"));
}

/* An operation that has the path that was asked for as its name. */
static void
show_trace(struct gi_observe_request *rq, void *arg)
{
  const char *path = gi_observe_query(rq, "path"), *count = gi_observe_query(rq, "count");
  json_t *op = json_pack("{s:s,s:s,s:n,s:s,s:I,s:i,s:n}", "id", "0000000000000000000000000000000b", "kind", "STAT", "path",
                         "name", path ? path : "any", "start", (json_int_t)1764115200000000000, "took_ns", 5000, "tree");
  json_t *list = json_array();
  if (!count || strcmp(count, "77") != 0)
    json_array_append(list, op);
  json_decref(op);
  ob_answer(rq, json_pack("{s:o}", "operations", list));
}

static void
show_refusal(struct gi_observe_request *rq, void *arg)
{
  gi_observe_refuse(rq, 404, "nothing is traced here");
}

static void
keep(pid_t pid, int ready)
{
  char byte;
  assert_true(pid > 0 && children < GI_ARRAY_LEN(child));
  child[children++] = pid;
  assert_int_equal(read(ready, &byte, 1), 1);
  close(ready);
}

static void
start(const char *role, bool traces)
{
  int p[2];
  assert_int_equal(pipe(p), 0);
  pid_t pid = fork();
  if (pid == 0) {
    struct gi_error err = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct gi_reactor *r = gi_reactor_new(0);
    struct gi_observe *o = gi_observe_new(r);
    gi_observe_add(o, "/process", "application/json", show_process, (void *)(uintptr_t)role);
    gi_observe_add(o, "/trace", "application/json", traces ? show_trace : show_refusal, NULL);
    if (gi_observe_listen(o, role, "data", &err) < 0 || write(p[1], "", 1) != 1)
      _exit(1);
    gi_reactor_run(r);
    _exit(0);
  }
  close(p[1]);
  keep(pid, p[0]);
}

/* Receives one POST, writes it to `path` and answers. Returns the port. */
static int
start_receiver(const char *path, const char *answer)
{
  struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof(sa);
  int p[2], s = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(s >= 0 && pipe(p) == 0 && bind(s, (void *)&sa, sizeof(sa)) == 0 && listen(s, 1) == 0);
  assert_int_equal(getsockname(s, (void *)&sa, &len), 0);
  pid_t pid = fork();
  if (pid == 0) {
    char buf[65536];
    size_t n = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (write(p[1], "", 1) != 1)
      _exit(1);
    int c = accept(s, NULL, NULL);
    const char *body = NULL, *length = NULL;
    while (c >= 0 && !(body && n >= (size_t)(body + 4 - buf) + strtoul(length + 15, NULL, 10))) {
      ssize_t got = read(c, buf + n, sizeof(buf) - 1 - n);
      if (got <= 0)
        _exit(1);
      buf[n += (size_t)got] = 0;
      body = strstr(buf, "\r\n\r\n");
      length = strstr(buf, "Content-Length:");
    }
    FILE *f = fopen(path, "w");
    if (!f || fwrite(buf, 1, n, f) != n || fclose(f) || dprintf(c, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", answer) < 0)
      _exit(1);
    _exit(0);
  }
  close(p[1]);
  close(s);
  keep(pid, p[0]);
  return ntohs(sa.sin_port);
}

static int
setup(void **state)
{
  snprintf(dir, sizeof(dir), "/tmp/cmd-trace_test.XXXXXX");
  assert_non_null(mkdtemp(dir));
  GI_CLEANUP_FREE char *observe = gi_asprintf("%s/observe", dir);
  setenv("GLUSTERISH_OBSERVE_DIR", observe, 1);
  return 0;
}

static int
teardown(void **state)
{
  while (children) {
    kill(child[--children], SIGKILL);
    waitpid(child[children], NULL, 0);
  }
  GI_CLEANUP_FREE char *command = gi_asprintf("rm -rf '%s'", dir);
  return system(command);
}

/* ---- running it ---- */

static struct {
  char *out, *err;
  size_t out_len, err_len;
  int status;
} ran;

static void
done(void)
{
  free(ran.out);
  free(ran.err);
  ran.out = ran.err = NULL;
}

static void
run(const char *line, bool json)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(line);
  char *words[32], *save = NULL;
  struct cli c = {.json = json};
  int n = 0;
  done();
  c.out = open_memstream(&ran.out, &ran.out_len);
  c.err = open_memstream(&ran.err, &ran.err_len);
  for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
    words[n++] = w;
  ran.status = cli_run(&c, n, words);
  fclose(c.out);
  fclose(c.err);
}

static char *
content(const char *path)
{
  static char text[65536];
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  text[fread(text, 1, sizeof(text) - 1, f)] = 0;
  fclose(f);
  return text;
}

static void
a_volume_that_is_not_mounted_here_is_told(void **state)
{
  run("trace data", false);
  assert_int_equal(ran.status, CLI_FAILED);
  assert_string_equal(ran.err, "trace: volume data is not mounted on this node\n");
  start("brick", true); /* is no mount */
  run("trace data", false);
  assert_int_equal(ran.status, CLI_FAILED);
}

static void
all_mounts_are_asked(void **state)
{
  start("client", true);
  run("trace data --path /mnt/data/a+b", false);
  assert_int_equal(ran.status, CLI_OK);
  assert_ptr_equal(strstr(ran.out, "STAT /a+b name /a+b took 5.0 us:"), ran.out);
  start("client", true);
  run("trace data", true);
  assert_int_equal(ran.status, CLI_OK);
  json_t *doc = json_loads(ran.out, 0, NULL);
  assert_int_equal(json_array_size(json_object_get(doc, "operations")), 2);
  json_decref(doc);
  run("trace data --count 77", false);
  assert_int_equal(ran.status, CLI_OK);
  assert_string_equal(ran.out, "");
  assert_string_equal(ran.err, "trace: no such operation in this time\n");
  /* One that cannot: the others still tell. */
  start("client", false);
  run("trace data", false);
  assert_int_equal(ran.status, CLI_OK);
  assert_non_null(strstr(ran.err, "does not answer"));
  assert_non_null(strstr(ran.out, "STAT name any took"));
}

static void
a_refusal_is_told(void **state)
{
  start("client", false);
  run("trace data", false);
  assert_int_equal(ran.status, CLI_FAILED);
  assert_non_null(strstr(ran.err, "nothing is traced here"));
}

static void
files_are_written(void **state)
{
  GI_CLEANUP_FREE char *perfetto = gi_asprintf("%s/perfetto", dir);
  GI_CLEANUP_FREE char *otlp = gi_asprintf("%s/otlp", dir);
  GI_CLEANUP_FREE char *line = gi_asprintf("trace data --perfetto %s --otlp=%s", perfetto, otlp);
  start("client", true);
  run(line, false);
  assert_int_equal(ran.status, CLI_OK);
  assert_string_equal(ran.out, "");
  assert_ptr_equal(strstr(content(perfetto), "{\"traceEvents\":["), content(perfetto));
  assert_ptr_equal(strstr(content(otlp), "{\"resourceSpans\":["), content(otlp));
  run("trace data --otlp /nonexistent/file", false);
  assert_int_equal(ran.status, CLI_FAILED);
  assert_non_null(strstr(ran.err, "cannot write /nonexistent/file: No such file"));
}

static void
spans_are_sent_to_a_receiver(void **state)
{
  GI_CLEANUP_FREE char *got = gi_asprintf("%s/got", dir);
  GI_CLEANUP_FREE char *line = gi_asprintf("trace data --otlp http://127.0.0.1:%d", start_receiver(got, "200 OK"));
  start("client", true);
  run(line, false);
  assert_string_equal(ran.err, "");
  assert_int_equal(ran.status, CLI_OK);
  char *text = content(got);
  assert_ptr_equal(strstr(text, "POST /v1/traces HTTP/1.1\r\n"), text);
  assert_non_null(strstr(text, "Content-Type: application/json\r\n"));
  json_t *doc = json_loads(strstr(text, "\r\n\r\n") + 4, 0, NULL);
  assert_int_equal(json_array_size(json_object_get(doc, "resourceSpans")), 1);
  json_decref(doc);
  GI_CLEANUP_FREE char *other = gi_asprintf("trace data --otlp http://127.0.0.1:%d/x", start_receiver(got, "400 Bad Request"));
  run(other, false);
  assert_int_equal(ran.status, CLI_FAILED);
  assert_non_null(strstr(ran.err, "/x answers with status 400"));
  assert_non_null(strstr(content(got), "POST /x HTTP/1.1\r\n"));
}

static int
forget(void **state)
{
  done();
  return teardown(state);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_volume_that_is_not_mounted_here_is_told, setup, forget),
      cmocka_unit_test_setup_teardown(all_mounts_are_asked, setup, forget),
      cmocka_unit_test_setup_teardown(a_refusal_is_told, setup, forget),
      cmocka_unit_test_setup_teardown(files_are_written, setup, forget),
      cmocka_unit_test_setup_teardown(spans_are_sent_to_a_receiver, setup, forget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
