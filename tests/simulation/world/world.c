/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual time and its heap of events. See world.h.
 */
#include "tests/simulation/world/world.h"
#include "libglusterish/log.h"
#include "tests/simulation/world/reactor.h"
#include "tests/simulation/world/trace.h"

#include <inttypes.h>
#include <stdarg.h>

#define NOTE_BYTES 200 /* of a message in the history */

struct call {
  struct sim_event event;
  struct gi_list link; /* sim_world.calls */
  struct sim_world *w;
  void (*fn)(void *arg);
  void *arg;
};

/* ---- hash ---- */

static uint64_t
hash_word(uint64_t h, uint64_t v)
{
  h = (h ^ v) * 0x9fb21c651e98df25ull;
  return h ^ (h >> 32);
}

static uint64_t
hash_bytes(uint64_t h, const void *data, size_t len)
{
  const uint8_t *p = data;
  for (; len >= 8; p += 8, len -= 8) {
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    h = hash_word(h, v);
  }
  uint64_t rest = len;
  for (size_t i = 0; i < len; i++)
    rest = rest << 8 | p[i];
  return hash_word(h, rest);
}

/* Long bytes are told by their hash: what is near the beginning of a message is what differs. */
static void
note(FILE *out, uint64_t now, const char *kind, uint64_t a, uint64_t b, const uint8_t *data, size_t len)
{
  fprintf(out, "%" PRIu64 " %s %" PRIu64 " %" PRIu64 " ", now, kind, a, b);
  for (size_t i = 0; i < len && i < NOTE_BYTES; i++)
    fprintf(out, "%02x", data[i]);
  if (len > NOTE_BYTES)
    fprintf(out, " …%016" PRIx64, hash_bytes(0, data, len));
  fputc('\n', out);
}

void
sim_world_hash(struct sim_world *w, const char *kind, uint64_t a, uint64_t b, const void *data, size_t len)
{
  w->hash = hash_word(w->hash, w->now);
  w->hash = hash_bytes(w->hash, kind, strlen(kind));
  w->hash = hash_word(hash_word(w->hash, a), b);
  if (len > 0)
    w->hash = hash_bytes(w->hash, data, len);
  if (w->history)
    note(w->history, w->now, kind, a, b, data, len);
}

/* ---- the heap ---- */

static bool
before(const struct sim_event *a, const struct sim_event *b)
{
  return a->when != b->when ? a->when < b->when : a->sequence < b->sequence;
}

static void
put(struct sim_world *w, unsigned at, struct sim_event *e)
{
  w->heap[at] = e;
  e->at = at;
}

/* Moves `e` from the free place `at` to where it belongs. */
static void
settle(struct sim_world *w, unsigned at, struct sim_event *e)
{
  for (; at > 0 && before(e, w->heap[(at - 1) / 2]); at = (at - 1) / 2)
    put(w, at, w->heap[(at - 1) / 2]);
  for (;;) {
    unsigned child = at * 2 + 1;
    if (child + 1 < w->count && before(w->heap[child + 1], w->heap[child]))
      child++;
    if (child >= w->count || !before(w->heap[child], e))
      break;
    put(w, at, w->heap[child]);
    at = child;
  }
  put(w, at, e);
}

static void
take_out(struct sim_world *w, struct sim_event *e)
{
  struct sim_event *last = w->heap[--w->count];
  if (last != e)
    settle(w, e->at, last);
}

void
sim_event_init(struct sim_event *e, struct sim_reactor *owner, const char *kind, void (*fn)(void *arg), void *arg)
{
  *e = (struct sim_event){.owner = owner, .kind = kind, .fn = fn, .arg = arg};
}

void
sim_event_cancel(struct sim_world *w, struct sim_event *e)
{
  if (!e->queued)
    return;
  if (e->parked)
    gi_list_del(&e->link);
  else
    take_out(w, e);
  e->queued = e->parked = false;
}

void
sim_event_set(struct sim_world *w, struct sim_event *e, uint64_t delay_ns)
{
  sim_event_cancel(w, e);
  if (w->count == w->room) {
    w->room = w->room ? w->room * 2 : 256;
    w->heap = gi_realloc(w->heap, w->room * sizeof(struct sim_event *));
  }
  e->when = delay_ns < UINT64_MAX - w->now ? w->now + delay_ns : UINT64_MAX;
  e->sequence = w->sequence++;
  e->queued = true;
  settle(w, w->count++, e);
}

/* ---- one-time events ---- */

static void
call_now(void *arg)
{
  struct call *c = arg;
  void (*fn)(void *) = c->fn;
  void *fn_arg = c->arg;
  gi_list_del(&c->link);
  gi_free(c);
  fn(fn_arg);
}

void
sim_world_call(struct sim_world *w, struct sim_reactor *owner, uint64_t delay_ns, const char *kind, void (*fn)(void *arg),
               void *arg)
{
  struct call *c = gi_new(struct call);
  c->w = w;
  c->fn = fn;
  c->arg = arg;
  gi_list_add_tail(&w->calls, &c->link);
  sim_event_init(&c->event, owner, kind, call_now, c);
  sim_event_set(w, &c->event, delay_ns);
}

/* ---- running ---- */

bool
sim_world_step(struct sim_world *w, uint64_t until)
{
  if (w->count == 0 || w->heap[0]->when > until) {
    w->now = until;
    return false;
  }
  struct sim_event *e = w->heap[0];
  take_out(w, e);
  w->now = e->when;
  if (e->owner && !sim_reactor_may_run(e->owner, e))
    return true;
  e->queued = false;
  w->events++;
  sim_world_hash(w, e->kind, e->owner ? sim_reactor_id(e->owner) : 0, 0, NULL, 0);
  if (e->owner)
    sim_reactor_handle(e->owner, e);
  else
    e->fn(e->arg);
  return true;
}

void
sim_world_run(struct sim_world *w, uint64_t until, const bool *stop)
{
  while (!(stop && *stop) && sim_world_step(w, until))
    ;
}

void
sim_violation(struct sim_world *w, const char *fmt, ...)
{
  va_list ap;
  char text[sizeof(w->violation)];
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  if (w->violations++ == 0)
    memcpy(w->violation, text, sizeof(text));
  sim_world_hash(w, "violation", 0, 0, text, strlen(text));
  sim_trace_mark(w, NULL, "violation", "%s", text);
  gi_log(GI_LOG_ERROR, "invariant", 1, "VIOLATION: %s", text);
}

/* ---- life ---- */

struct sim_world *
sim_world_new(uint64_t seed)
{
  struct sim_world *w = gi_new(struct sim_world);
  w->seed = seed;
  w->hash = hash_word(0x243f6a8885a308d3ull, seed);
  w->rng = sim_rng_new(seed, 0);
  gi_list_init(&w->calls);
  return w;
}

void
sim_world_free(struct sim_world **wp)
{
  struct sim_world *w = *wp;
  *wp = NULL;
  if (w == NULL)
    return;
  while (!gi_list_empty(&w->calls)) {
    struct call *c = gi_list_first(&w->calls, struct call, link);
    gi_list_del(&c->link);
    gi_free(c);
  }
  gi_free(w->heap);
  gi_free(w);
}
