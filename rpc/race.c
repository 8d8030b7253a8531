/* SPDX-License-Identifier: Apache-2.0
 *
 * A socket to one of several addresses: see race.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/race.h"
#include "libglusterish/mem.h"
#include "libglusterish/probe.h"
#include "rpc/conn-private.h"

#include <errno.h>
#include <string.h>

/* One address that is being tried. */
struct runner {
  struct gi_race *race;
  const struct gi_net_address *to;
  struct gi_io io;
  int fd; /* -1: it has failed */
};

/* A name whose addresses are being asked for. */
struct lookup {
  struct gi_race *race;
  struct gi_resolve *resolve; /* NULL: it has been answered, or is not waited for */
  char *host;
};

struct gi_race {
  struct gi_reactor *r;
  const struct gi_net_ops *net;
  gi_race_fn *fn;
  void *arg;
  unsigned n, next; /* addresses; those before `next` were started */
  unsigned running;
  struct gi_net_address address[GI_ADDRESSES];
  struct runner runner[GI_ADDRESSES];
  struct lookup lookup[GI_ADDRESSES];
  unsigned names, looking;        /* of `lookup`; those that are waited for */
  struct gi_timer stagger, timer; /* the limit of the one started last, and so of all */
  uint64_t limit;
  struct gi_error why; /* what one that has failed last said */
};

static void
drop(struct runner *one)
{
  struct gi_race *race = one->race;
  GI_ASSERT(one->fd >= 0 && race->running > 0);
  gi_io_finish(&one->io);
  race->net->close(race->r, one->fd);
  one->fd = -1;
  race->running--;
}

static void
look_no_longer(struct lookup *l)
{
  if (!l->resolve)
    return;
  gi_resolve_cancel(&l->resolve);
  l->race->looking--;
}

static void
race_free(struct gi_race *race)
{
  for (unsigned i = 0; i < race->names; i++) {
    look_no_longer(&race->lookup[i]);
    gi_free(race->lookup[i].host);
  }
  for (unsigned i = 0; i < race->next; i++)
    if (race->runner[i].fd >= 0)
      drop(&race->runner[i]);
  GI_ASSERT(race->running == 0 && race->looking == 0);
  gi_timer_finish(&race->stagger);
  gi_timer_finish(&race->timer);
  gi_free(race);
}

static void
end(struct gi_race *race, int fd, const struct gi_net_address *to, const struct gi_error *err)
{
  gi_race_fn *fn = race->fn;
  void *arg = race->arg;
  struct gi_net_address address = to ? *to : (struct gi_net_address){0};
  race_free(race);
  fn(arg, fd, &address, err);
}

static void
say_failed(const struct gi_net_address *to, int code, struct gi_error *err)
{
  char text[160];
  net_text(&to->sa, text, sizeof(text));
  gi_error_set(err, code, "%s: connect: %s", text, strerror(code));
}

/* A port nobody listens on may be handed out as our own source port: TCP then connects the socket to itself. */
static bool
connected_to_itself(const struct gi_race *race, int fd)
{
  struct sockaddr_storage own = {0}, its = {0};
  return race->net->local(race->r, fd, &own) == 0 && race->net->peer(race->r, fd, &its) == 0 && net_same(&own, &its);
}

static void go_on(struct gi_race *race, const struct gi_error *err);

static void
finished(void *arg, unsigned events)
{
  struct runner *one = arg;
  struct gi_race *race = one->race;
  struct gi_error err = {0};
  int fd = one->fd, code = -race->net->connect_result(race->r, fd);
  if (code == 0 && connected_to_itself(race, fd))
    code = ECONNREFUSED;
  if (code == 0) {
    gi_io_finish(&one->io);
    one->fd = -1;
    race->running--;
    end(race, fd, one->to, &err);
    return;
  }
  drop(one);
  say_failed(one->to, code, &err);
  go_on(race, &err);
}

/* Starts the next address that does not fail at once. False: none is left, `err` says what the last one said. */
static bool
start_next(struct gi_race *race, struct gi_error *err)
{
  gi_timer_cancel(&race->stagger);
  while (race->next < race->n) {
    struct runner *one = &race->runner[race->next];
    *one = (struct runner){.race = race, .to = &race->address[race->next]};
    race->next++;
    one->fd = race->net->connect(race->r, one->to);
    if (one->fd < 0) {
      say_failed(one->to, -one->fd, err);
      one->fd = -1;
      continue;
    }
    race->running++;
    gi_io_init(&one->io, race->r, one->fd, finished, one);
    gi_io_watch(&one->io, GI_IO_WRITE);
    gi_timer_set(&race->timer, race->limit);
    if (race->next < race->n)
      gi_timer_set(&race->stagger, GI_RACE_STAGGER);
    return true;
  }
  return false;
}

/* One has failed, as `err` says if its code is not 0. */
static void
go_on(struct gi_race *race, const struct gi_error *err)
{
  if (err->code)
    race->why = *err;
  struct gi_error why = race->why;
  if (!start_next(race, &why) && race->running == 0 && race->looking == 0)
    end(race, -1, NULL, &why);
}

static void
stagger_over(void *arg)
{
  struct gi_error ignored = {0}; /* who runs already says what becomes of the race */
  GI_IGNORE(start_next(arg, &ignored));
}

static void
limit_over(void *arg)
{
  struct gi_race *race = arg;
  struct gi_error err = {0};
  GI_PROBE("connection: connecting timed out");
  for (unsigned i = 0; i < race->next; i++) {
    if (race->runner[i].fd < 0)
      continue;
    say_failed(race->runner[i].to, ETIMEDOUT, &err);
    drop(&race->runner[i]);
  }
  for (unsigned i = 0; i < race->names; i++) {
    if (race->lookup[i].resolve && !err.code)
      gi_error_set(&err, ETIMEDOUT, "%s: resolve: %s", race->lookup[i].host, strerror(ETIMEDOUT));
    look_no_longer(&race->lookup[i]);
  }
  go_on(race, &err);
}

/* ---- addresses ---- */

static void
add(struct gi_race *race, const struct gi_net_address *address)
{
  for (unsigned i = 0; i < race->n; i++)
    if (net_same(&race->address[i].sa, &address->sa))
      return;
  if (race->n < GI_ADDRESSES)
    race->address[race->n++] = *address;
}

static void
resolved(void *arg, const struct gi_net_address *address, unsigned n, const struct gi_error *err)
{
  struct lookup *l = arg;
  struct gi_race *race = l->race;
  l->resolve = NULL;
  race->looking--;
  for (unsigned i = 0; i < n; i++)
    add(race, &address[i]);
  if (race->running == 0)
    go_on(race, err);
  else if (race->next < race->n && !race->stagger.armed)
    gi_timer_set(&race->stagger, GI_RACE_STAGGER);
}

static void
look_up(struct gi_race *race, const char *host, int port)
{
  struct lookup *l = &race->lookup[race->names++];
  *l = (struct lookup){.race = race, .host = gi_strdup(host)};
  l->resolve = gi_resolve_start(race->r, host, port, resolved, l);
  race->looking++;
}

static void
add_host(struct gi_race *race, const char *host, int port, struct gi_error *err)
{
  struct gi_net_address address[GI_ADDRESSES] = {0};
  bool is_path = host[0] == '/';
  int n = is_path ? net_unix(host, address, err) == 0 : gi_net_numeric(host, port, address, GI_ADDRESSES);
  for (int i = 0; i < n; i++)
    add(race, &address[i]);
  if (n == 0 && gi_net_is_name(host))
    look_up(race, host, port);
  else if (n == 0 && !is_path)
    gi_error_set(err, EINVAL, "host name of %zu bytes", strlen(host));
}

struct gi_race *
gi_race_start(struct gi_reactor *r, const char *const *hosts, unsigned n, int port, uint64_t limit, gi_race_fn *fn, void *arg,
              struct gi_error *err)
{
  struct gi_race *race = gi_new(struct gi_race);
  GI_ASSERT(fn && n > 0);
  *race = (struct gi_race){.r = r, .net = gi_net_of(r), .fn = fn, .arg = arg, .limit = limit};
  gi_timer_init(&race->stagger, r, stagger_over, race);
  gi_timer_init(&race->timer, r, limit_over, race);
  gi_timer_set(&race->timer, limit);
  for (unsigned i = 0; i < n && i < GI_ADDRESSES; i++)
    add_host(race, hosts[i], port, &race->why);
  if (start_next(race, &race->why) || race->looking > 0)
    return race;
  *err = race->why;
  race_free(race);
  return NULL;
}

void
gi_race_set_limit(struct gi_race *race, uint64_t limit)
{
  race->limit = limit;
  gi_timer_set(&race->timer, limit);
}

void
gi_race_stop(struct gi_race **ref)
{
  struct gi_race *race = *ref;
  *ref = NULL;
  if (race)
    race_free(race);
}
