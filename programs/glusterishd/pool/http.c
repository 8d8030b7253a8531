/* SPDX-License-Identifier: Apache-2.0
 *
 * libcurl's multi interface on the reactor: curl says which descriptors and
 * which timeout it waits for, the reactor says when that has come.
 */
#include "programs/glusterishd/pool/http.h"
#include "libglusterish/list.h"
#include "libglusterish/log.h"
#include "libglusterish/mem.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

#define BODY_MAX (16u << 20)    /* bytes of an answer */
#define CONNECT_TIMEOUT_MS 2000 /* whoever takes longer does not answer in time either */

struct gd_http {
  struct gi_reactor *r;
  CURLM *multi;
  struct gi_timer timer;
  struct gi_list calls, ios;
  struct gi_defer sweep; /* frees descriptors that curl is done with */
};

struct gd_http_call {
  struct gi_list link;
  struct gd_http *h;
  CURL *easy;
  struct curl_slist *headers;
  bool tcp;
  char why[CURL_ERROR_SIZE];
  char *text; /* what has come; ends in a NUL */
  size_t len;
  gd_http_line_fn *line;
  gd_http_fn *fn;
  void *arg;
};

struct io {
  struct gi_list link;
  struct gi_io io;
  struct gd_http *h;
  bool dead;
};

static void
call_free(struct gd_http_call *c)
{
  gi_list_del(&c->link);
  curl_multi_remove_handle(c->h->multi, c->easy);
  curl_easy_cleanup(c->easy);
  curl_slist_free_all(c->headers);
  gi_free(c->text);
  gi_free(c);
}

static int
code_of(CURLcode result)
{
  switch (result) {
  case CURLE_OK:
    return 0;
  case CURLE_OPERATION_TIMEDOUT:
    return ETIMEDOUT;
  case CURLE_COULDNT_CONNECT:
  case CURLE_COULDNT_RESOLVE_HOST:
    return ECONNREFUSED;
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_SSL_CERTPROBLEM:
  case CURLE_SSL_CACERT_BADFILE:
    return EACCES;
  default:
    return ECONNRESET;
  }
}

/* Of a unix socket, which takes connections for its process, nobody knows. */
static bool
was_reached(const struct gd_http_call *c)
{
  long bytes = 0;
  return !c->tcp || (!curl_easy_getinfo(c->easy, CURLINFO_REQUEST_SIZE, &bytes) && bytes > 0);
}

/* Tells of every call that is over. Whoever is told may begin and cancel others. */
static void
collect(struct gd_http *h)
{
  CURLMsg *m;
  int left;
  while ((m = curl_multi_info_read(h->multi, &left)) != NULL) {
    struct gd_http_call *c = NULL;
    long status = 0;
    if (m->msg != CURLMSG_DONE)
      continue;
    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
    int code = code_of(m->data.result);
    if (code == ETIMEDOUT && !was_reached(c))
      code = ECONNREFUSED;
    if (code == ECONNRESET && strstr(c->why, "alert")) /* of TLS 1.3, which refuses a certificate after its own handshake */
      code = EACCES;
    if (code == EACCES)
      gi_log(GI_LOG_ERROR, "glusterishd", GI_MSG_MGMT + 290, "no TLS with the store: %s",
             c->why[0] ? c->why : curl_easy_strerror(m->data.result));
    curl_easy_getinfo(m->easy_handle, CURLINFO_RESPONSE_CODE, &status);
    gd_http_fn *fn = c->fn;
    void *arg = c->arg;
    char *text = c->text;
    c->text = NULL;
    call_free(c);
    fn(arg, code, status, text ? text : "");
    gi_free(text);
  }
}

static void
act(struct gd_http *h, curl_socket_t fd, int what)
{
  int running;
  curl_multi_socket_action(h->multi, fd, what, &running);
  collect(h);
}

static void
on_io(void *arg, unsigned events)
{
  struct io *io = arg;
  if (!io->dead)
    act(io->h, io->io.fd, (events & GI_IO_READ ? CURL_CSELECT_IN : 0) | (events & GI_IO_WRITE ? CURL_CSELECT_OUT : 0));
}

static void
on_timer(void *arg)
{
  act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void
sweep(void *arg)
{
  struct gd_http *h = arg;
  gi_list_foreach_safe(io, &h->ios, struct io, link) {
    if (!io->dead)
      continue;
    gi_list_del(&io->link);
    gi_free(io);
  }
}

static int
want_io(CURL *easy, curl_socket_t fd, int what, void *arg, void *own)
{
  struct gd_http *h = arg;
  struct io *io = own;
  if (what == CURL_POLL_REMOVE) {
    if (io) {
      gi_io_finish(&io->io);
      io->dead = true;
      gi_defer_add(h->r, &h->sweep);
    }
    curl_multi_assign(h->multi, fd, NULL);
    return 0;
  }
  if (!io) {
    io = gi_new(struct io);
    io->h = h;
    gi_io_init(&io->io, h->r, fd, on_io, io);
    gi_list_add_tail(&h->ios, &io->link);
    curl_multi_assign(h->multi, fd, io);
  }
  gi_io_watch(&io->io, (what & CURL_POLL_IN ? GI_IO_READ : 0) | (what & CURL_POLL_OUT ? GI_IO_WRITE : 0));
  return 0;
}

static int
want_timer(CURLM *multi, long ms, void *arg)
{
  struct gd_http *h = arg;
  if (ms < 0)
    gi_timer_cancel(&h->timer);
  else
    gi_timer_set(&h->timer, (uint64_t)ms * GI_NSEC_PER_MSEC);
  return 0;
}

/* Hands out the whole lines; what is left stays. */
static void
hand_out(struct gd_http_call *c)
{
  char *from = c->text, *end;
  while ((end = strchr(from, '\n')) != NULL) {
    *end = '\0';
    c->line(c->arg, from);
    from = end + 1;
  }
  c->len -= (size_t)(from - c->text);
  memmove(c->text, from, c->len + 1);
}

static size_t
take(char *bytes, size_t size, size_t n, void *arg)
{
  struct gd_http_call *c = arg;
  size_t len = size * n;
  if (c->len + len > BODY_MAX || memchr(bytes, 0, len))
    return 0; /* an error for curl */
  c->text = gi_realloc(c->text, c->len + len + 1);
  memcpy(c->text + c->len, bytes, len);
  c->len += len;
  c->text[c->len] = '\0';
  if (c->line)
    hand_out(c);
  return len;
}

static void
set_place(CURL *easy, const struct gd_http_place *to)
{
  if (to->socket)
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, to->socket);
  if (to->ca)
    curl_easy_setopt(easy, CURLOPT_CAINFO, to->ca);
  if (to->cert)
    curl_easy_setopt(easy, CURLOPT_SSLCERT, to->cert);
  if (to->key)
    curl_easy_setopt(easy, CURLOPT_SSLKEY, to->key);
}

struct gd_http_call *
gd_http_post(struct gd_http *h, const struct gd_http_place *to, const char *path, const char *body, unsigned timeout_ms,
             gd_http_line_fn *line, gd_http_fn *fn, void *arg)
{
  struct gd_http_call *c = gi_new(struct gd_http_call);
  GI_CLEANUP_FREE char *url = gi_asprintf("%s%s", to->socket ? "http://store" : to->base, path);
  GI_ASSERT(h && path[0] == '/' && fn);
  *c = (struct gd_http_call){.tcp = !to->socket, .h = h, .easy = curl_easy_init(), .line = line, .fn = fn, .arg = arg};
  GI_ASSERT(c->easy != NULL);
  gi_list_add_tail(&h->calls, &c->link);
  c->headers = curl_slist_append(NULL, "Content-Type: application/json");
  c->headers = curl_slist_append(c->headers, "Expect:"); /* no pause before a long body */
  curl_easy_setopt(c->easy, CURLOPT_URL, url);
  curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->why);
  set_place(c->easy, to);
  curl_easy_setopt(c->easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
  curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
  curl_easy_setopt(c->easy, CURLOPT_COPYPOSTFIELDS, body);
  curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
  curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
  curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
  curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
  curl_multi_add_handle(h->multi, c->easy);
  return c;
}

void
gd_http_cancel(struct gd_http_call **ref)
{
  struct gd_http_call *c = *ref;
  *ref = NULL;
  if (c)
    call_free(c);
}

struct gd_http *
gd_http_new(struct gi_reactor *r)
{
  struct gd_http *h = gi_new(struct gd_http);
  h->r = r;
  gi_list_init(&h->calls);
  gi_list_init(&h->ios);
  gi_timer_init(&h->timer, r, on_timer, h);
  gi_defer_init(&h->sweep, sweep, h);
  h->multi = curl_multi_init();
  GI_ASSERT(h->multi != NULL);
  curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, want_io);
  curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
  curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, want_timer);
  curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
  return h;
}

void
gd_http_free(struct gd_http **ref)
{
  struct gd_http *h = *ref;
  *ref = NULL;
  if (!h)
    return;
  while (!gi_list_empty(&h->calls)) {
    struct gd_http_call *c = gi_list_first(&h->calls, struct gd_http_call, link);
    gd_http_fn *fn = c->fn;
    void *arg = c->arg;
    call_free(c);
    fn(arg, ECANCELED, 0, "");
  }
  curl_multi_cleanup(h->multi);
  gi_defer_cancel(&h->sweep);
  gi_list_foreach(io, &h->ios, struct io, link) {
    if (!io->dead)
      gi_io_finish(&io->io);
    io->dead = true;
  }
  sweep(h);
  gi_timer_finish(&h->timer);
  gi_free(h);
}
