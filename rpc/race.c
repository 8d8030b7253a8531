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

struct gi_race {
  struct gi_reactor *r;
  const struct gi_net_ops *net;
  gi_race_fn *fn;
  void *arg;
  unsigned n, next; /* addresses; those before `next` were started */
  unsigned running;
  struct gi_net_address address[GI_ADDRESSES];
  struct runner runner[GI_ADDRESSES];
  struct gi_timer stagger, timer; /* the limit of the one started last, and so of all */
  uint64_t limit;
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
race_free(struct gi_race *race)
{
  for (unsigned i = 0; i < race->next; i++)
    if (race->runner[i].fd >= 0)
      drop(&race->runner[i]);
  GI_ASSERT(race->running == 0);
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

static bool start_next(struct gi_race *race, struct gi_error *err);

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
  if (!start_next(race, &err) && race->running == 0)
    end(race, -1, NULL, &err);
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
  if (!start_next(race, &err))
    end(race, -1, NULL, &err);
}

struct gi_race *
gi_race_start(struct gi_reactor *r, const struct gi_net_address *address, unsigned n, uint64_t limit, gi_race_fn *fn, void *arg,
              struct gi_error *err)
{
  struct gi_race *race = gi_new(struct gi_race);
  GI_ASSERT(fn);
  n = n < GI_ADDRESSES ? n : GI_ADDRESSES;
  *race = (struct gi_race){.r = r, .net = gi_net_of(r), .fn = fn, .arg = arg, .n = n, .limit = limit};
  memcpy(race->address, address, n * sizeof(*address));
  gi_timer_init(&race->stagger, r, stagger_over, race);
  gi_timer_init(&race->timer, r, limit_over, race);
  if (start_next(race, err))
    return race;
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
