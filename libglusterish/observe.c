/* SPDX-License-Identifier: Apache-2.0
 *
 * The observation socket, on libevent's HTTP server. Whoever may connect is
 * not trusted: requests are short, connections are few (the one that is idle
 * longest makes room), what is sent is sent when the asker takes it, and an
 * asker who takes nothing for a while is left.
 *
 * The server owns its connections and says nothing when one goes. So this file
 * keeps a reference to the bufferevent of each, which has no callbacks any more
 * once the server has let it go.
 */
#include "libglusterish/observe.h"
#include "libglusterish/log.h"
#include "libglusterish/options.h"
#include "libglusterish/reactor-private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <stdarg.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define OBSERVE_MAGIC 0x1d0b5e7eu
#define REQUEST_MAGIC 0x1d0b5e7fu
#define HEADERS_MAX 8192 /* bytes of a request */
#define IDLE_S 60        /* without a byte in or out, unless an answer is awaited */
#define BACKLOG 16
#define ACCEPT_RETRY_NS (100 * GI_NSEC_PER_MSEC) /* when there are no descriptors */

struct observe_path {
  struct gi_list link;
  const char *path, *content_type;
  gi_observe_fn *fn;
  void *arg;
};

/* a socket that is listened on, with an HTTP server of its own: one cannot use up the connections of the other */
struct door {
  struct gi_list link; /* all_doors */
  struct gi_observe *o;
  struct evhttp *http;
  struct evconnlistener *listener;
  struct gi_list connections; /* struct connection, the oldest first */
  unsigned count;
  unsigned waiting; /* requests that are not answered, also those whose asker has gone */
  struct gi_timer retry;
};

struct connection {
  struct gi_list link;
  struct bufferevent *bev; /* a reference */
  bool dismissed;          /* shut down to make room; the server has not seen it yet */
};

enum { DOOR_UNIX, DOOR_TCP, DOORS };

struct gi_observe {
  uint32_t magic;
  struct gi_reactor *r;
  struct event_base *base;
  struct gi_list paths;   /* struct observe_path */
  struct gi_list waiting; /* struct gi_observe_request that are not answered */
  struct door *door[DOORS];
  char *path; /* of the unix socket */
  int port;
  bool open; /* all is told on TCP */
};

struct gi_observe_request {
  uint32_t magic;
  struct gi_list link;
  gi_observe_answer_fn *asker; /* of a question from inside; NULL: it came over a door */
  void *asker_arg;
  const char *accept;         /* of a question from inside; borrowed, it is asked for at once */
  struct door *door;          /* NULL: the process is no longer observed */
  struct evhttp_request *req; /* NULL likewise */
  struct event *hang_up;      /* NULL: cannot be watched, or has come */
  struct evkeyvalq query;
  const char *content_type;
  FILE *out;
  char *body;
  size_t len;
  bool gone;
};

/* ---- connections ---- */

/* Has the server let it go? */
static bool
is_left(const struct connection *c)
{
  bufferevent_data_cb on_read, on_write;
  bufferevent_event_cb on_event;
  void *arg;
  bufferevent_getcb(c->bev, &on_read, &on_write, &on_event, &arg);
  return !on_read && !on_write && !on_event;
}

static void
connection_free(struct door *d, struct connection *c)
{
  GI_ASSERT(d->count > 0);
  d->count--;
  gi_list_del(&c->link);
  bufferevent_decref(c->bev);
  gi_free(c);
}

static void
sweep(struct door *d)
{
  gi_list_foreach_safe(c, &d->connections, struct connection, link)
    if (is_left(c))
      connection_free(d, c);
}

static bool
is_waiting(const struct gi_observe *o, const struct bufferevent *bev)
{
  gi_list_foreach(rq, &o->waiting, struct gi_observe_request, link) {
    struct evhttp_connection *evcon = rq->gone ? NULL : evhttp_request_get_connection(rq->req);
    if (evcon && evhttp_connection_get_bufferevent(evcon) == bev)
      return true;
  }
  return false;
}

/* The oldest that does not wait for an answer: of those there are few (on_request). The server hears of it as it would of any other
 * end. */
static void
dismiss_one(struct door *d)
{
  gi_list_foreach(c, &d->connections, struct connection, link) {
    if (c->dismissed || is_waiting(d->o, c->bev))
      continue;
    c->dismissed = true;
    shutdown(bufferevent_getfd(c->bev), SHUT_RDWR);
    return;
  }
}

/* The server asks for the bufferevent of a connection that it has just accepted. */
static struct bufferevent *
on_connection(struct event_base *base, void *arg)
{
  struct door *d = arg;
  GI_CHECK(d->o, OBSERVE_MAGIC);
  sweep(d);
  if (d->count >= GI_OBSERVE_CONNECTIONS)
    dismiss_one(d);
  struct connection *c = gi_new(struct connection);
  c->bev = bufferevent_socket_new(base, -1, 0);
  GI_ASSERT(c->bev != NULL);
  bufferevent_incref(c->bev);
  gi_list_add_tail(&d->connections, &c->link);
  d->count++;
  return c->bev;
}

/* ---- requests ---- */

static void
forget_hang_up(struct gi_observe_request *rq)
{
  if (rq->hang_up)
    event_free(rq->hang_up);
  rq->hang_up = NULL;
}

static void
on_hang_up(evutil_socket_t fd, short what, void *arg)
{
  struct gi_observe_request *rq = arg;
  GI_CHECK(rq, REQUEST_MAGIC);
  rq->gone = true;
  forget_hang_up(rq);
}

/* The server closes the connection under a request that is not answered. */
static void
on_close(struct evhttp_connection *evcon, void *arg)
{
  on_hang_up(-1, 0, arg);
}

/* The server does not read while a request waits for its answer, so it would not see the end either. */
static void
watch_hang_up(struct gi_observe_request *rq)
{
  struct evhttp_connection *evcon = evhttp_request_get_connection(rq->req);
  GI_ASSERT(evcon != NULL);
  evhttp_connection_set_closecb(evcon, on_close, rq);
  rq->hang_up =
      event_new(rq->door->o->base, bufferevent_getfd(evhttp_connection_get_bufferevent(evcon)), EV_CLOSED, on_hang_up, rq);
  if (rq->hang_up && event_add(rq->hang_up, NULL) != 0)
    forget_hang_up(rq);
}

static struct observe_path *
find_path(const struct gi_observe *o, const char *path)
{
  gi_list_foreach(p, &o->paths, struct observe_path, link)
    if (strcmp(p->path, path) == 0)
      return p;
  return NULL;
}

/* What tells of no file, user or client. Whoever reaches a TCP port is nobody in particular. */
static bool
is_for_all(const char *path)
{
  return strcmp(path, "/process") == 0 || strcmp(path, "/metrics") == 0 || strcmp(path, "/metrics/all") == 0;
}

static bool
is_shown(const struct door *d, const char *path)
{
  return d != d->o->door[DOOR_TCP] || d->o->open || is_for_all(path);
}

static void
answer_not_found(struct gi_observe_request *rq)
{
  FILE *out = gi_observe_out(rq);
  fputs("There is no such page. These are:\n", out);
  gi_list_foreach(p, &rq->door->o->paths, struct observe_path, link)
    if (is_shown(rq->door, p->path))
      fprintf(out, "%s\n", p->path);
  gi_observe_done(rq, HTTP_NOTFOUND);
}

/* "NAME", "NAME:PORT", "[ADDRESS]" …: is it a name that nobody else can give away? */
static bool
names_us(const char *host)
{
  char self[256] = "";
  struct in6_addr address;
  bool bracket = host[0] == '[';
  GI_CLEANUP_FREE char *name = gi_strndup(host + bracket, strcspn(host + bracket, bracket ? "]" : ":"));
  gethostname(self, sizeof(self) - 1);
  return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1 ||
         strcasecmp(name, "localhost") == 0 || strcasecmp(name, self) == 0;
}

/* A web page can send the browser that shows it here, under a name of its own that suddenly means this address (DNS rebinding); the
 * browser then lets the page read the answers. What tells of files is only told under names that are ours. Metrics are collected under
 * whatever name the collector knows. */
static bool
may_be_asked_as(struct gi_observe_request *rq, const char *path)
{
  const char *host = gi_observe_header(rq, "Host");
  return !host || names_us(host) || strncmp(path, "/metrics", 8) == 0;
}

static void
on_request(struct evhttp_request *req, void *arg)
{
  struct door *d = arg;
  struct gi_observe *o = d->o;
  const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
  const char *path = uri ? evhttp_uri_get_path(uri) : NULL, *query = uri ? evhttp_uri_get_query(uri) : NULL;
  GI_CHECK(o, OBSERVE_MAGIC);
  struct gi_observe_request *rq = gi_new(struct gi_observe_request);
  rq->magic = REQUEST_MAGIC;
  rq->door = d;
  rq->req = req;
  rq->content_type = "text/plain; charset=utf-8";
  gi_list_add_tail(&o->waiting, &rq->link);
  d->waiting++;
  TAILQ_INIT(&rq->query);
  watch_hang_up(rq);
  if (!path || (query && evhttp_parse_query_str(query, &rq->query) < 0)) {
    gi_observe_refuse(rq, HTTP_BADREQUEST, "the question cannot be understood");
    return;
  }
  if (d == o->door[DOOR_TCP] && !may_be_asked_as(rq, path)) {
    gi_observe_refuse(rq, 403, "ask by address, as localhost or by the name of this machine");
    return;
  }
  if (d->waiting > GI_OBSERVE_CONNECTIONS) {
    gi_observe_refuse(rq, HTTP_SERVUNAVAIL, "%u others wait for an answer", d->waiting - 1);
    return;
  }
  struct observe_path *p = find_path(o, path);
  if (!p) {
    answer_not_found(rq);
    return;
  }
  if (!is_shown(d, path)) {
    gi_observe_refuse(rq, 403, "here only metrics are shown; ask on the unix socket, or see --observe=[ADDRESS:]PORT/all");
    return;
  }
  rq->content_type = p->content_type;
  p->fn(rq, p->arg);
}

const char *
gi_observe_query(struct gi_observe_request *rq, const char *key)
{
  GI_CHECK(rq, REQUEST_MAGIC);
  return evhttp_find_header(&rq->query, key);
}

const char *
gi_observe_header(struct gi_observe_request *rq, const char *name)
{
  GI_CHECK(rq, REQUEST_MAGIC);
  if (rq->accept && strcasecmp(name, "Accept") == 0)
    return rq->accept;
  return rq->req ? evhttp_find_header(evhttp_request_get_input_headers(rq->req), name) : NULL;
}

void
gi_observe_type(struct gi_observe_request *rq, const char *content_type)
{
  GI_CHECK(rq, REQUEST_MAGIC);
  rq->content_type = content_type;
}

FILE *
gi_observe_out(struct gi_observe_request *rq)
{
  GI_CHECK(rq, REQUEST_MAGIC);
  if (!rq->out)
    rq->out = open_memstream(&rq->body, &rq->len);
  GI_ASSERT(rq->out != NULL);
  return rq->out;
}

bool
gi_observe_gone(const struct gi_observe_request *rq)
{
  GI_CHECK(rq, REQUEST_MAGIC);
  return rq->gone;
}

static void
free_body(const void *data, size_t len, void *body)
{
  free(body);
}

/* A browser loads nothing from elsewhere, sends nothing away, and runs nothing that is not a file of ours, whatever is in an answer. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

static void
send_answer(struct gi_observe_request *rq, int status)
{
  struct evkeyvalq *headers = evhttp_request_get_output_headers(rq->req);
  struct evhttp_connection *evcon = evhttp_request_get_connection(rq->req);
  struct evbuffer *body = evbuffer_new();
  GI_ASSERT(body != NULL);
  if (rq->len && evbuffer_add_reference(body, rq->body, rq->len, free_body, rq->body) == 0)
    rq->body = NULL;
  evhttp_add_header(headers, "Content-Type", rq->content_type);
  evhttp_add_header(headers, "Cache-Control", "no-store");
  evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
  evhttp_add_header(headers, "Cross-Origin-Resource-Policy", "same-origin");
  evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
  evhttp_add_header(headers, "Content-Security-Policy", policy);
  if (evcon)
    evhttp_connection_set_closecb(evcon, NULL, NULL);
  evhttp_send_reply(rq->req, status, NULL, body); /* one without a connection is only freed */
  evbuffer_free(body);
}

void
gi_observe_done(struct gi_observe_request *rq, int status)
{
  GI_CHECK(rq, REQUEST_MAGIC);
  GI_ASSERT(status >= 200 && status < 600);
  int ret = rq->out ? fclose(rq->out) : 0;
  GI_ASSERT(ret == 0);
  forget_hang_up(rq);
  gi_list_del(&rq->link);
  if (rq->door) {
    GI_ASSERT(rq->door->waiting > 0);
    rq->door->waiting--;
  }
  if (rq->req)
    send_answer(rq, status);
  if (rq->asker) {
    char *body = rq->body;
    rq->body = NULL;
    rq->asker(rq->asker_arg, status, body, rq->len);
  }
  evhttp_clear_headers(&rq->query);
  free(rq->body);
  rq->magic = 0;
  gi_free(rq);
}

void
gi_observe_refuse(struct gi_observe_request *rq, int status, const char *fmt, ...)
{
  FILE *out = gi_observe_out(rq);
  va_list ap;
  rewind(out);
  va_start(ap, fmt);
  vfprintf(out, fmt, ap);
  va_end(ap);
  putc('\n', out);
  rq->content_type = "text/plain; charset=utf-8";
  gi_observe_done(rq, status);
}

/* ---- paths ---- */

void
gi_observe_add(struct gi_observe *o, const char *path, const char *content_type, gi_observe_fn *fn, void *arg)
{
  if (!o)
    return;
  GI_CHECK(o, OBSERVE_MAGIC);
  GI_ASSERT(path[0] == '/' && content_type && fn && !find_path(o, path));
  struct observe_path *p = gi_new(struct observe_path);
  p->path = path;
  p->content_type = content_type;
  p->fn = fn;
  p->arg = arg;
  gi_list_add_tail(&o->paths, &p->link);
}

void
gi_observe_remove(struct gi_observe *o, const char *path)
{
  struct observe_path *p = o ? find_path(o, path) : NULL;
  if (!p)
    return;
  gi_list_del(&p->link);
  gi_free(p);
}

/* ---- from inside ---- */

bool
gi_observe_has(const struct gi_observe *o, const char *path)
{
  return o && find_path(o, path);
}

bool
gi_observe_ask(struct gi_observe *o, const char *path, const char *accept, gi_observe_answer_fn *fn, void *arg)
{
  struct observe_path *p = o ? find_path(o, path) : NULL;
  GI_ASSERT(fn != NULL);
  if (!p)
    return false;
  struct gi_observe_request *rq = gi_new(struct gi_observe_request);
  rq->magic = REQUEST_MAGIC;
  rq->asker = fn;
  rq->asker_arg = arg;
  rq->accept = accept;
  rq->content_type = p->content_type;
  gi_list_init(&rq->link); /* among those that wait are only those that came over a door */
  TAILQ_INIT(&rq->query);
  p->fn(rq, p->arg);
  return true;
}

/* ---- doors ---- */

/* The callback for errors of a listener has one argument with that for connections, which is the server's. */
static struct gi_list all_doors = GI_LIST_INIT(all_doors);

static void
on_retry(void *arg)
{
  struct door *d = arg;
  evconnlistener_enable(d->listener);
}

/* No descriptors or no memory: the one who waits would make the listener readable again at once. */
static void
on_accept_error(struct evconnlistener *listener, void *server)
{
  gi_list_foreach(d, &all_doors, struct door, link)
    if (d->listener == listener) {
      evconnlistener_disable(listener);
      gi_timer_set(&d->retry, ACCEPT_RETRY_NS);
    }
}

/* `fd` is bound, and becomes the door's. */
static int
door_open(struct gi_observe *o, unsigned which, int fd, struct gi_error *err)
{
  GI_ASSERT(which < DOORS && !o->door[which]);
  if (listen(fd, BACKLOG) < 0)
    return gi_error_set(err, errno, "cannot listen: %s", strerror(errno));
  struct door *d = o->door[which] = gi_new(struct door);
  d->o = o;
  gi_list_add_tail(&all_doors, &d->link);
  gi_list_init(&d->connections);
  gi_timer_init(&d->retry, o->r, on_retry, d);
  d->http = evhttp_new(o->base);
  d->listener = evconnlistener_new(o->base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
  GI_ASSERT(d->http && d->listener);
  struct evhttp_bound_socket *bound = evhttp_bind_listener(d->http, d->listener);
  GI_ASSERT(bound != NULL);
  evconnlistener_set_error_cb(d->listener, on_accept_error);
  evhttp_set_allowed_methods(d->http, EVHTTP_REQ_GET);
  evhttp_set_max_headers_size(d->http, HEADERS_MAX);
  evhttp_set_max_body_size(d->http, 0);
  evhttp_set_timeout(d->http, IDLE_S);
  evhttp_set_bevcb(d->http, on_connection, d);
  evhttp_set_gencb(d->http, on_request, d);
  return 0;
}

static void
door_close(struct door *d)
{
  if (!d)
    return;
  gi_list_del(&d->link);
  gi_timer_finish(&d->retry);
  evhttp_free(d->http); /* and its listener, connections and requests */
  gi_list_foreach_safe(c, &d->connections, struct connection, link)
    connection_free(d, c);
  gi_free(d);
}

int
gi_observe_listen(struct gi_observe *o, const char *role, const char *name, struct gi_error *err)
{
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  char path[sizeof(un.sun_path)];
  GI_CHECK(o, OBSERVE_MAGIC);
  if (gi_observe_make_dir(err) < 0)
    return -1;
  gi_observe_tidy();
  gi_observe_name(path, sizeof(path), role, name, (long)getpid());
  /* It gets its name when it is listened on: one of that name that refuses is dead, and anybody may remove it. */
  int n = snprintf(un.sun_path, sizeof(un.sun_path), "%s/.%ld", gi_observe_dir(), (long)getpid());
  if (n >= (int)sizeof(un.sun_path) || strlen(path) < strlen(gi_observe_dir()) + 2)
    return gi_error_set(err, ENAMETOOLONG, "%s is too long for the path of a socket", gi_observe_dir());
  unlink(un.sun_path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return gi_error_set(err, errno, "socket: %s", strerror(errno));
  if (bind(fd, (const struct sockaddr *)&un, sizeof(un)) < 0 || chmod(un.sun_path, 0600) < 0)
    gi_error_set(err, errno, "cannot bind %s: %s", un.sun_path, strerror(errno));
  else if (door_open(o, DOOR_UNIX, fd, err) == 0) {
    if (rename(un.sun_path, path) == 0) {
      o->path = gi_strdup(path);
      return 0;
    }
    gi_error_set(err, errno, "cannot rename %s to %s: %s", un.sun_path, path, strerror(errno));
    door_close(o->door[DOOR_UNIX]);
    o->door[DOOR_UNIX] = NULL;
    fd = -1;
  }
  unlink(un.sun_path);
  if (fd >= 0)
    close(fd);
  return -1;
}

const char *
gi_observe_path(const struct gi_observe *o)
{
  return o->path;
}

/* "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT". */
static bool
parse_where(const char *where, struct sockaddr_storage *ss, socklen_t *len)
{
  struct sockaddr_in *in4 = (struct sockaddr_in *)ss;
  struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
  const char *colon = strrchr(where, ':');
  GI_CLEANUP_FREE char *host = gi_strndup(where, colon ? (size_t)(colon - where) : 0);
  size_t hlen = strlen(host);
  int64_t port;
  if (!gi_parse_int(colon ? colon + 1 : where, &port) || port < 0 || port > 65535)
    return false;
  memset(ss, 0, sizeof(*ss));
  if (hlen > 2 && host[0] == '[' && host[hlen - 1] == ']') {
    host[hlen - 1] = 0;
    *in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    *len = sizeof(*in6);
    return inet_pton(AF_INET6, host + 1, &in6->sin6_addr) == 1;
  }
  *in4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  *len = sizeof(*in4);
  return inet_pton(AF_INET, colon ? host : "127.0.0.1", &in4->sin_addr) == 1;
}

int
gi_observe_listen_tcp(struct gi_observe *o, const char *where, struct gi_error *err)
{
  static const char all[] = "/all";
  struct sockaddr_storage ss;
  socklen_t len;
  int one = 1;
  size_t n = strcspn(where, "/");
  GI_CLEANUP_FREE char *address = gi_strndup(where, n);
  GI_CHECK(o, OBSERVE_MAGIC);
  if ((where[n] && strcmp(where + n, all) != 0) || !parse_where(address, &ss, &len))
    return gi_error_set(err, EINVAL, "%s is neither PORT nor ADDRESS:PORT with the address in numbers, nor one of them with %s",
                        where, all);
  int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return gi_error_set(err, errno, "socket: %s", strerror(errno));
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (bind(fd, (const struct sockaddr *)&ss, len) < 0 || getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
    gi_error_set(err, errno, "cannot listen on %s: %s", where, strerror(errno));
  else if (door_open(o, DOOR_TCP, fd, err) == 0) {
    o->port = ntohs(((struct sockaddr_in *)&ss)->sin_port); /* same place in sockaddr_in6 */
    o->open = where[n];
    return 0;
  }
  close(fd);
  return -1;
}

int
gi_observe_port(const struct gi_observe *o)
{
  return o->port;
}

/* ---- the whole ---- */

struct gi_observe *
gi_observe_new(struct gi_reactor *r)
{
  struct gi_observe *o = gi_new(struct gi_observe);
  o->magic = OBSERVE_MAGIC;
  o->r = r;
  o->base = gi_reactor_event_base(r);
  gi_list_init(&o->paths);
  gi_list_init(&o->waiting);
  return o;
}

void
gi_observe_free(struct gi_observe **op)
{
  struct gi_observe *o = *op;
  *op = NULL;
  if (!o)
    return;
  GI_CHECK(o, OBSERVE_MAGIC);
  if (o->path)
    unlink(o->path);
  /* The server frees its requests. Who was to answer finds nobody to answer to. */
  gi_list_foreach_safe(rq, &o->waiting, struct gi_observe_request, link) {
    struct evhttp_connection *evcon = rq->req ? evhttp_request_get_connection(rq->req) : NULL;
    forget_hang_up(rq);
    if (evcon)
      evhttp_connection_set_closecb(evcon, NULL, NULL);
    else if (rq->req)
      evhttp_request_free(rq->req);
    rq->door = NULL;
    rq->req = NULL;
    rq->gone = true;
    gi_list_del(&rq->link);
    gi_list_init(&rq->link);
  }
  for (unsigned i = 0; i < DOORS; i++)
    door_close(o->door[i]);
  gi_list_foreach_safe(p, &o->paths, struct observe_path, link) {
    gi_list_del(&p->link);
    gi_free(p);
  }
  gi_free(o->path);
  o->magic = 0;
  gi_free(o);
}
