/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the observation socket, with real sockets: pages, late answers,
 * and askers that mean no good.
 */
#include "libglusterish/mem.h"
#include "libglusterish/observe.h"
#include "libglusterish/reactor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#define MSEC GI_NSEC_PER_MSEC
#define BIG (8u << 20)

struct test {
  struct gi_reactor *r;
  struct gi_observe *o;
  char dir[64];
  struct gi_observe_request *late[128]; /* of /late, not answered yet */
  unsigned nlate;
};

/* ---- pages ---- */

static void
show_word(struct gi_observe_request *rq, void *arg)
{
  const char *word = gi_observe_query(rq, "word");
  if (!word)
    gi_observe_refuse(rq, 400, "no word");
  else {
    fprintf(gi_observe_out(rq), "<%s>", word);
    gi_observe_done(rq, 200);
  }
}

static void
show_late(struct gi_observe_request *rq, void *arg)
{
  struct test *t = arg;
  assert_true(t->nlate < GI_ARRAY_LEN(t->late));
  t->late[t->nlate++] = rq;
}

static void
show_big(struct gi_observe_request *rq, void *arg)
{
  FILE *out = gi_observe_out(rq);
  for (unsigned i = 0; i < BIG; i++)
    putc('x', out);
  gi_observe_done(rq, 200);
}

/* ---- asking ---- */

static int
connect_unix(const char *path)
{
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0 && strlen(path) < sizeof(un.sun_path));
  memcpy(un.sun_path, path, strlen(path) + 1);
  assert_int_equal(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
  return fd;
}

static void
say(int fd, const char *text)
{
  assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Turns the reactor until the stream ends, or until `want` bytes have come: what came, which the caller frees. */
static char *
hear(struct test *t, int fd, size_t want, size_t *len)
{
  char *text = gi_alloc(want + 1);
  uint64_t end = gi_now(t->r) + 20 * GI_NSEC_PER_SEC;
  *len = 0;
  while (*len < want && gi_now(t->r) < end) {
    gi_reactor_turn(t->r, MSEC);
    ssize_t n = recv(fd, text + *len, want - *len, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN))
      break;
    *len += n > 0 ? (size_t)n : 0;
  }
  text[*len] = 0;
  return text;
}

static char *
ask_on(struct test *t, int fd, const char *request)
{
  size_t len;
  say(fd, request);
  char *text = hear(t, fd, 65536, &len);
  close(fd);
  return text;
}

static char *
ask(struct test *t, const char *what)
{
  GI_CLEANUP_FREE char *request = gi_asprintf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", what);
  return ask_on(t, connect_unix(gi_observe_path(t->o)), request);
}

static void
turn_until_late(struct test *t, unsigned n)
{
  uint64_t end = gi_now(t->r) + 20 * GI_NSEC_PER_SEC;
  while (t->nlate < n && gi_now(t->r) < end)
    gi_reactor_turn(t->r, MSEC);
  assert_int_equal(t->nlate, n);
}

static void
turn_a_while(struct test *t)
{
  for (unsigned i = 0; i < 20; i++)
    gi_reactor_turn(t->r, MSEC);
}

#define SAYS(text, want) assert_non_null(strstr(text, want))

/* ---- life ---- */

static int
setup(void **state)
{
  struct test *t = gi_new(struct test);
  struct gi_error err = {0};
  strcpy(t->dir, "/tmp/observe_test.XXXXXX");
  assert_non_null(mkdtemp(t->dir));
  GI_CLEANUP_FREE char *place = gi_asprintf("%s/run/observe", t->dir);
  setenv("GLUSTERISH_OBSERVE_DIR", place, 1);
  t->r = gi_reactor_new(0);
  t->o = gi_observe_new(t->r);
  gi_observe_add(t->o, "/word", "text/x-word", show_word, t);
  gi_observe_add(t->o, "/late", "text/plain", show_late, t);
  gi_observe_add(t->o, "/big", "text/plain", show_big, t);
  assert_int_equal(gi_observe_listen(t->o, "brick", "/a/b", &err), 0);
  *state = t;
  return 0;
}

static int
teardown(void **state)
{
  struct test *t = *state;
  gi_observe_free(&t->o);
  gi_reactor_turn(t->r, 0);
  gi_reactor_free(t->r);
  GI_CLEANUP_FREE char *command = gi_asprintf("rm -rf '%s'", t->dir);
  assert_int_equal(system(command), 0);
  gi_free(t);
  return 0;
}

/* ---- tests ---- */

static void
pages_are_served(void **state)
{
  struct test *t = *state;
  GI_CLEANUP_FREE char *yes = ask(t, "/word?a=1&word=two%20words%26"), *no = ask(t, "/word"), *missing = ask(t, "/wo");
  SAYS(yes, "HTTP/1.1 200 OK\r\n");
  SAYS(yes, "Content-Type: text/x-word\r\n");
  SAYS(yes, "\r\n\r\n<two words&>");
  SAYS(no, "HTTP/1.1 400 ");
  SAYS(no, "\r\n\r\nno word\n");
  SAYS(missing, "HTTP/1.1 404 ");
  SAYS(missing, "\n/word\n/late\n/big\n");
}

static void
a_removed_page_is_missing(void **state)
{
  struct test *t = *state;
  gi_observe_remove(t->o, "/word");
  gi_observe_remove(t->o, "/word");
  gi_observe_remove(NULL, "/word");
  gi_observe_add(NULL, "/word", "text/plain", show_word, t);
  GI_CLEANUP_FREE char *text = ask(t, "/word?word=x");
  SAYS(text, "HTTP/1.1 404 ");
}

static void
nothing_is_changed_by_asking(void **state)
{
  struct test *t = *state;
  static const char *const methods[] = {"POST", "PUT", "DELETE", "HEAD", "NONSENSE"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(methods); i++) {
    GI_CLEANUP_FREE char *request =
        gi_asprintf("%s /word?word=x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", methods[i]);
    GI_CLEANUP_FREE char *text = ask_on(t, connect_unix(gi_observe_path(t->o)), request);
    assert_null(strstr(text, "<x>"));
    assert_null(strstr(text, "200 OK"));
  }
}

static void
connections_are_kept(void **state)
{
  struct test *t = *state;
  size_t len;
  int fd = connect_unix(gi_observe_path(t->o));
  for (unsigned i = 0; i < 3; i++) {
    say(fd, "GET /word?word=x HTTP/1.1\r\nHost: x\r\n\r\n");
    GI_CLEANUP_FREE char *text = NULL;
    for (unsigned k = 0; k < 2000 && (!text || !strstr(text, "<x>")); k++) {
      gi_reactor_turn(t->r, MSEC);
      if (recv(fd, (char[1]){0}, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && !text)
        text = hear(t, fd, 150, &len);
      else if (text)
        break;
    }
    assert_non_null(text);
    SAYS(text, "HTTP/1.1 200 OK");
    while (recv(fd, (char[64]){0}, 64, MSG_DONTWAIT) > 0)
      ;
  }
  close(fd);
}

static void
sockets_are_for_their_owner(void **state)
{
  struct test *t = *state;
  struct stat st;
  GI_CLEANUP_FREE char *path = gi_strdup(gi_observe_path(t->o));
  GI_CLEANUP_FREE char *want = gi_asprintf("%s/run/observe/brick-a-b-%d.socket", t->dir, (int)getpid());
  assert_string_equal(path, want);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  assert_int_equal(stat(gi_observe_dir(), &st), 0);
  assert_int_equal(st.st_mode & 07777, 0700);
  gi_observe_free(&t->o);
  assert_int_equal(stat(path, &st), -1);
}

static void
a_directory_of_others_is_refused(void **state)
{
  struct test *t = *state;
  struct gi_error err = {0};
  assert_int_equal(chmod(gi_observe_dir(), 0755), 0);
  struct gi_observe *other = gi_observe_new(t->r);
  assert_int_equal(gi_observe_listen(other, "client", "v", &err), -1);
  SAYS(err.text, gi_observe_dir());
  gi_observe_free(&other);
}

static void
dead_sockets_disappear(void **state)
{
  struct test *t = *state;
  struct gi_error err = {0};
  struct stat st;
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  snprintf(un.sun_path, sizeof(un.sun_path), "%s/client-v-1.socket", gi_observe_dir());
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
  close(fd);
  GI_CLEANUP_FREE char *file = gi_asprintf("%s/client-v-2.socket", gi_observe_dir());
  FILE *f = fopen(file, "w");
  fclose(f);
  struct gi_observe *other = gi_observe_new(t->r);
  assert_int_equal(gi_observe_listen(other, "client", "v", &err), 0);
  assert_int_equal(stat(un.sun_path, &st), -1);
  assert_int_equal(stat(file, &st), 0); /* no socket: not ours */
  assert_int_equal(stat(gi_observe_path(t->o), &st), 0);
  gi_observe_free(&other);
}

static void
long_names_are_cut(void **state)
{
  struct test *t = *state;
  struct gi_error err = {0};
  char name[400];
  memset(name, 'n', sizeof(name) - 1);
  memcpy(name + sizeof(name) - 5, "/end", 5);
  struct gi_observe *other = gi_observe_new(t->r);
  assert_int_equal(gi_observe_listen(other, "brick", name, &err), 0);
  SAYS(gi_observe_path(other), "nn-end-");
  assert_true(strlen(gi_observe_path(other)) < 108);
  gi_observe_free(&other);
}

static void
a_place_that_is_too_long_is_refused(void **state)
{
  struct test *t = *state;
  struct gi_error err = {0};
  char dir[160];
  int n = snprintf(dir, sizeof(dir), "%s/", t->dir);
  memset(dir + n, 'd', sizeof(dir) - (size_t)n - 1);
  dir[sizeof(dir) - 1] = 0;
  setenv("GLUSTERISH_OBSERVE_DIR", dir, 1);
  struct gi_observe *other = gi_observe_new(t->r);
  assert_int_equal(gi_observe_listen(other, "brick", "x", &err), -1);
  assert_int_equal(err.code, ENAMETOOLONG);
  gi_observe_free(&other);
}

static void
an_answer_may_come_later(void **state)
{
  struct test *t = *state;
  size_t len;
  int fd = connect_unix(gi_observe_path(t->o));
  say(fd, "GET /late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  turn_until_late(t, 1);
  GI_CLEANUP_FREE char *other = ask(t, "/word?word=meanwhile");
  SAYS(other, "<meanwhile>");
  assert_false(gi_observe_gone(t->late[0]));
  fputs("at last", gi_observe_out(t->late[0]));
  gi_observe_done(t->late[0], 200);
  GI_CLEANUP_FREE char *text = hear(t, fd, 65536, &len);
  SAYS(text, "\r\n\r\nat last");
  close(fd);
}

static void
an_asker_may_hang_up(void **state)
{
  struct test *t = *state;
  for (unsigned round = 0; round < 2; round++) { /* at once, and after more than was asked for */
    int fd = connect_unix(gi_observe_path(t->o));
    t->nlate = 0;
    say(fd, "GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    turn_until_late(t, 1);
    if (round)
      say(fd, "and more of this\r\n\r\nGET /word?word=x HTTP/1.1\r\n\r\n");
    turn_a_while(t);
    close(fd);
    uint64_t end = gi_now(t->r) + 20 * GI_NSEC_PER_SEC;
    while (!gi_observe_gone(t->late[0]) && gi_now(t->r) < end)
      gi_reactor_turn(t->r, MSEC);
    assert_true(gi_observe_gone(t->late[0]));
    fputs("nobody reads this", gi_observe_out(t->late[0]));
    gi_observe_done(t->late[0], 200);
    turn_a_while(t);
  }
  GI_CLEANUP_FREE char *text = ask(t, "/word?word=alive");
  SAYS(text, "<alive>");
}

static void
the_process_may_end_before_the_answer(void **state)
{
  struct test *t = *state;
  int fd[2];
  for (unsigned i = 0; i < 2; i++) {
    fd[i] = connect_unix(gi_observe_path(t->o));
    say(fd[i], "GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    turn_until_late(t, i + 1);
  }
  close(fd[0]);
  turn_a_while(t);
  gi_observe_free(&t->o);
  for (unsigned i = 0; i < 2; i++) {
    assert_true(gi_observe_gone(t->late[i]));
    assert_null(gi_observe_header(t->late[i], "Host"));
    fputs("too late", gi_observe_out(t->late[i]));
    gi_observe_done(t->late[i], 200);
  }
  close(fd[1]);
}

static void
idle_connections_make_room(void **state)
{
  struct test *t = *state;
  int fd[200];
  for (unsigned i = 0; i < GI_ARRAY_LEN(fd); i++) {
    fd[i] = connect_unix(gi_observe_path(t->o));
    if (i % 2)
      say(fd[i], "GET /word?wo");
    gi_reactor_turn(t->r, 0);
  }
  GI_CLEANUP_FREE char *text = ask(t, "/word?word=served");
  SAYS(text, "<served>");
  turn_a_while(t);
  unsigned open = 0;
  for (unsigned i = 0; i < GI_ARRAY_LEN(fd); i++) {
    open += recv(fd[i], (char[1]){0}, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    close(fd[i]);
  }
  assert_true(open > 0 && open <= GI_OBSERVE_CONNECTIONS);
}

static void
too_many_may_not_wait(void **state)
{
  struct test *t = *state;
  int fd[GI_OBSERVE_CONNECTIONS];
  for (unsigned i = 0; i < GI_OBSERVE_CONNECTIONS; i++) {
    fd[i] = connect_unix(gi_observe_path(t->o));
    say(fd[i], "GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    turn_until_late(t, i + 1);
    if (i % 2)
      close(fd[i]); /* whose handler has not answered counts */
  }
  GI_CLEANUP_FREE char *busy = ask(t, "/word?word=x");
  SAYS(busy, "HTTP/1.1 503 ");
  for (unsigned i = 0; i < GI_OBSERVE_CONNECTIONS; i++)
    gi_observe_done(t->late[i], 200);
  turn_a_while(t);
  GI_CLEANUP_FREE char *text = ask(t, "/word?word=x");
  SAYS(text, "<x>");
  for (unsigned i = 0; i < GI_OBSERVE_CONNECTIONS; i += 2)
    close(fd[i]);
}

static void
a_long_request_is_refused(void **state)
{
  struct test *t = *state;
  GI_CLEANUP_FREE char *long_word = gi_alloc(100001);
  memset(long_word, 'l', 100000);
  long_word[100000] = 0;
  static const char *const forms[] = {"GET /word?word=%s HTTP/1.1\r\nHost: x\r\n\r\n", "GET /word HTTP/1.1\r\nX: %s\r\n\r\n",
                                      "%s"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(forms); i++) {
    char *request = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    assert_true(asprintf(&request, forms[i], long_word) > 0);
#pragma GCC diagnostic pop
    int fd = connect_unix(gi_observe_path(t->o));
    size_t len;
    GI_IGNORE(send(fd, request, strlen(request), MSG_NOSIGNAL | MSG_DONTWAIT));
    GI_CLEANUP_FREE char *text = hear(t, fd, 65536, &len);
    assert_null(strstr(text, "200 OK"));
    close(fd);
    free(request);
  }
  GI_CLEANUP_FREE char *text = ask(t, "/word?word=alive");
  SAYS(text, "<alive>");
}

static void
nonsense_is_refused(void **state)
{
  struct test *t = *state;
  static const char *const requests[] = {
      "\r\n\r\n",
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET http://[ HTTP/1.1\r\n\r\n",
      "GET ? HTTP/1.1\r\n\r\n",
      "GET /word?word HTTP/1.1\r\n\r\n",
      "GET /word?=&&%% HTTP/1.1\r\n\r\n",
      "GET //../../etc/passwd HTTP/1.0\r\n\r\n",
      "GET /word HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
      "GET /word HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "GET /word HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(requests); i++) {
    int fd = connect_unix(gi_observe_path(t->o));
    say(fd, requests[i]);
    shutdown(fd, SHUT_WR);
    size_t len;
    GI_CLEANUP_FREE char *text = hear(t, fd, 65536, &len);
    assert_null(strstr(text, "200 OK"));
    close(fd);
  }
  GI_CLEANUP_FREE char *text = ask(t, "/word?word=alive");
  SAYS(text, "<alive>");
}

static void
a_slow_reader_holds_up_nobody(void **state)
{
  struct test *t = *state;
  size_t len;
  int fd = connect_unix(gi_observe_path(t->o));
  say(fd, "GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  turn_a_while(t);
  GI_CLEANUP_FREE char *other = ask(t, "/word?word=meanwhile");
  SAYS(other, "<meanwhile>");
  GI_CLEANUP_FREE char *all = hear(t, fd, BIG + 65536, &len);
  SAYS(all, "HTTP/1.1 200 OK");
  assert_true(len > BIG);
  assert_true(all[len - 1] == 'x');
  close(fd);
}

static void
tcp_is_loopback_unless_told(void **state)
{
  struct test *t = *state;
  struct gi_error err = {0};
  static const char *const bad[] = {"",     "x",          ":",    "65536",        "-1",   "1:2:3", "localhost:1",
                                    "[::1", "127.0.0.1:", "[]:1", "127.0.0.1:1x", "/all", "0/al",  "0/all/"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad); i++)
    assert_int_equal(gi_observe_listen_tcp(t->o, bad[i], &err), -1);
  assert_int_equal(gi_observe_port(t->o), 0);
  assert_int_equal(gi_observe_listen_tcp(t->o, "0/all", &err), 0);
  struct sockaddr_in in4 = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)gi_observe_port(t->o)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&in4, sizeof(in4)), 0);
  GI_CLEANUP_FREE char *text = ask_on(t, fd, "GET /word?word=tcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  SAYS(text, "<tcp>");
  in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1); /* another address of this machine */
  fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&in4, sizeof(in4)), -1);
  close(fd);
}

/* Of a name that is not ours somebody else says where it leads. */
static void
tcp_is_asked_under_our_names(void **state)
{
  struct test *t = *state;
  struct gi_error err = {0};
  char self[256] = "";
  gethostname(self, sizeof(self) - 1);
  const struct {
    const char *host, *path, *says;
  } rows[] = {{"localhost", "/word?word=a", " 200 "},
              {"LocalHost:80", "/word?word=a", " 200 "},
              {"127.0.0.1:5", "/word?word=a", " 200 "},
              {"[::1]:5", "/word?word=a", " 200 "},
              {self, "/word?word=a", " 200 "},
              {"evil.example", "/word?word=a", " 403 "},
              {"", "/word?word=a", " 403 "},
              {"[evil.example]", "/word?word=a", " 403 "},
              {"localhost.evil.example", "/", " 403 "},
              {"127.0.0.1.evil.example", "/", " 403 "},
              {"evil.example", "/metrics", " 404 "}};
  assert_int_equal(gi_observe_listen_tcp(t->o, "0/all", &err), 0);
  struct sockaddr_in in4 = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)gi_observe_port(t->o)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  for (unsigned i = 0; i < GI_ARRAY_LEN(rows); i++) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&in4, sizeof(in4)), 0);
    GI_CLEANUP_FREE char *request =
        gi_asprintf("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", rows[i].path, rows[i].host);
    GI_CLEANUP_FREE char *text = ask_on(t, fd, request);
    if (!strstr(text, rows[i].says))
      fail_msg("%s of %s: %s", rows[i].path, rows[i].host, text);
    SAYS(text, "Content-Security-Policy: default-src 'none'");
  }
}

static void
show_nothing(struct gi_observe_request *rq, void *arg)
{
  gi_observe_done(rq, 200);
}

/* Nobody is asked who he is. */
static void
tcp_shows_files_only_if_told(void **state)
{
  struct test *t = *state;
  struct gi_error err = {0};
  static const char *const rows[][2] = {
      {"/word?word=a", " 403 "}, {"/metrics", " 200 "}, {"/process", " 200 "}, {"/nothing", " 404 "}};
  gi_observe_add(t->o, "/metrics", "text/plain", show_nothing, NULL);
  gi_observe_add(t->o, "/process", "text/plain", show_nothing, NULL);
  assert_int_equal(gi_observe_listen_tcp(t->o, "127.0.0.1:0", &err), 0);
  struct sockaddr_in in4 = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)gi_observe_port(t->o)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  for (unsigned i = 0; i < GI_ARRAY_LEN(rows); i++) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&in4, sizeof(in4)), 0);
    GI_CLEANUP_FREE char *request = gi_asprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", rows[i][0]);
    GI_CLEANUP_FREE char *text = ask_on(t, fd, request);
    if (!strstr(text, rows[i][1]) || strstr(text, "/word\n"))
      fail_msg("%s: %s", rows[i][0], text);
  }
}

static void
a_taken_port_is_told(void **state)
{
  struct test *t = *state;
  struct gi_error err = {0};
  assert_int_equal(gi_observe_listen_tcp(t->o, "127.0.0.1:0", &err), 0);
  GI_CLEANUP_FREE char *where = gi_asprintf("127.0.0.1:%d", gi_observe_port(t->o));
  struct gi_observe *other = gi_observe_new(t->r);
  assert_int_equal(gi_observe_listen_tcp(other, where, &err), -1);
  assert_int_equal(err.code, EADDRINUSE);
  SAYS(err.text, where);
  gi_observe_free(&other);
}

/* ---- from inside ---- */

struct heard {
  unsigned times;
  int status;
  char text[256];
};

static void
on_answer(void *arg, int status, char *body, size_t len)
{
  struct heard *h = arg;
  h->times++;
  h->status = status;
  snprintf(h->text, sizeof(h->text), "%.*s", (int)len, body ? body : "");
  free(body);
}

static void
show_accept(struct gi_observe_request *rq, void *arg)
{
  const char *accept = gi_observe_header(rq, "accept");
  if (accept)
    fputs(accept, gi_observe_out(rq));
  gi_observe_done(rq, 200);
}

static void
the_process_asks_itself(void **state)
{
  struct test *t = *state;
  struct heard now = {0}, late = {0}, none = {0}, bare = {0};
  gi_observe_add(t->o, "/accept", "text/plain", show_accept, t);
  assert_true(gi_observe_has(t->o, "/accept") && !gi_observe_has(t->o, "/none") && !gi_observe_has(NULL, "/accept"));
  assert_true(gi_observe_ask(t->o, "/accept", "text/x-word", on_answer, &now));
  assert_string_equal(now.text, "text/x-word");
  assert_true(gi_observe_ask(t->o, "/accept", NULL, on_answer, &bare));
  assert_string_equal(bare.text, "");
  assert_true(gi_observe_ask(t->o, "/word", NULL, on_answer, &none));
  assert_int_equal(none.status, 400);
  assert_false(gi_observe_ask(t->o, "/none", NULL, on_answer, &none));
  assert_true(gi_observe_ask(t->o, "/late", NULL, on_answer, &late));
  assert_int_equal(late.times, 0);
  gi_observe_free(&t->o); /* whoever is to answer need not know */
  assert_false(gi_observe_gone(t->late[0]));
  fputs("at last", gi_observe_out(t->late[0]));
  gi_observe_done(t->late[0], 200);
  assert_int_equal(late.times, 1);
  assert_string_equal(late.text, "at last");
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(pages_are_served),
      T(a_removed_page_is_missing),
      T(nothing_is_changed_by_asking),
      T(connections_are_kept),
      T(sockets_are_for_their_owner),
      T(a_directory_of_others_is_refused),
      T(dead_sockets_disappear),
      T(long_names_are_cut),
      T(a_place_that_is_too_long_is_refused),
      T(an_answer_may_come_later),
      T(an_asker_may_hang_up),
      T(the_process_may_end_before_the_answer),
      T(idle_connections_make_room),
      T(too_many_may_not_wait),
      T(a_long_request_is_refused),
      T(nonsense_is_refused),
      T(a_slow_reader_holds_up_nobody),
      T(tcp_is_loopback_unless_told),
      T(tcp_is_asked_under_our_names),
      T(tcp_shows_files_only_if_told),
      T(a_taken_port_is_told),
      T(the_process_asks_itself),
  };
  signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
