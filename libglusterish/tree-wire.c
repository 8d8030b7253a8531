/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees on the wire: what a brick tells a client of its part of an operation.
 *
 * All numbers are big-endian. Version (1 byte), process id (4), role, brick and
 * host; then the steps, each before those below it: depth (1), kind (1), flags
 * (1), start, time and own time (8 each), name and type; of one that waits also
 * for what (1), for how long (8), the thing and its holder. Texts have a byte of
 * length. Where a step would make it too long the list ends.
 */
#include "libglusterish/tree.h"

#include <stdio.h>

#define VERSION 1u
#define WAITED_FOR 1u /* flags */
#define OPEN 2u
#define WAITS 4u
#define STEP_MIN 29u         /* bytes of a step with empty texts */
#define LONGEST (1ull << 62) /* ns */
#define WAITS_MIN 11u
#define STEP_MAX (STEP_MIN + WAITS_MIN + 4 * 255u)

/* ---- trace context ---- */

void
gi_trace_text(const uint8_t id[16], uint64_t number, char text[GI_TRACE_TEXT])
{
  int at = snprintf(text, GI_TRACE_TEXT, "00-");

  for (unsigned i = 0; i < 16; i++)
    at += snprintf(text + at, GI_TRACE_TEXT - (size_t)at, "%02x", id[i]);
  at += snprintf(text + at, GI_TRACE_TEXT - (size_t)at, "-%016llx-01", (unsigned long long)number);
  GI_ASSERT(at == GI_TRACE_TEXT - 1);
}

static int
hex(char c)
{
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
gi_trace_parse(const void *data, uint32_t len, uint8_t id[16])
{
  const char *text = data;
  bool any = false;

  if (len > 0 && text[len - 1] == '\0')
    len--;
  if (len != GI_TRACE_TEXT - 1 || memcmp(text, "00-", 3) != 0 || text[35] != '-' || text[52] != '-')
    return false;
  for (unsigned i = 3; i < len; i++)
    if (i != 35 && i != 52 && hex(text[i]) < 0)
      return false;
  for (unsigned i = 0; i < 16; i++) {
    id[i] = (uint8_t)(hex(text[3 + 2 * i]) << 4 | hex(text[4 + 2 * i]));
    any |= id[i] != 0;
  }
  return any && hex(text[54]) & 1; /* "sampled" */
}

/* ---- writing ---- */

struct writing {
  uint8_t *base;
  uint32_t len;
};

static void
put(struct writing *w, uint64_t value, unsigned bytes)
{
  GI_ASSERT(w->len + bytes <= GI_STEPS_WIRE_MAX);
  while (bytes-- > 0)
    w->base[w->len++] = (uint8_t)(value >> (8 * bytes));
}

static void
put_text(struct writing *w, const char *text)
{
  size_t len = strlen(text);

  len = len < 255 ? len : 255;
  put(w, len, 1);
  GI_ASSERT(w->len + len <= GI_STEPS_WIRE_MAX);
  memcpy(w->base + w->len, text, len);
  w->len += (uint32_t)len;
}

static void
put_ns(struct writing *w, uint64_t ns)
{
  put(w, ns < LONGEST ? ns : LONGEST, 8);
}

static void
put_waits(struct writing *w, const struct gi_told_wait *t)
{
  put(w, t->why, 1);
  put_ns(w, t->since_ns);
  put_text(w, t->what ? t->what : "");
  put_text(w, t->who ? t->who : "");
}

static void
put_steps(struct writing *w, const struct gi_step *s, unsigned depth)
{
  for (; s && depth < GI_STEPS_WIRE_DEPTH && w->len + STEP_MAX <= GI_STEPS_WIRE_MAX; s = s->next) {
    put(w, depth, 1);
    put(w, s->kind, 1);
    put(w, (s->waited_for ? WAITED_FOR : 0) | (s->open ? OPEN : 0) | (s->waits ? WAITS : 0), 1);
    put_ns(w, s->start_ns);
    put_ns(w, s->took_ns);
    put_ns(w, s->own_ns);
    put_text(w, s->layer->name);
    put_text(w, s->layer->type);
    if (s->waits)
      put_waits(w, s->waits);
    put_steps(w, s->steps, depth + 1);
  }
}

uint8_t *
gi_steps_encode(const struct gi_told *t, const struct gi_place *place, uint32_t *len)
{
  struct writing w = {.base = gi_alloc(GI_STEPS_WIRE_MAX)};

  put(&w, VERSION, 1);
  put(&w, (uint32_t)place->pid, 4);
  put_text(&w, place->role);
  put_text(&w, place->brick);
  put_text(&w, place->host);
  put_steps(&w, t->tree, 0);
  *len = w.len;
  return w.base;
}

/* ---- reading ---- */

struct reading {
  const uint8_t *p, *end;
  bool failed;
};

static uint64_t
get(struct reading *r, unsigned bytes)
{
  uint64_t value = 0;

  if ((size_t)(r->end - r->p) < bytes) {
    r->failed = true;
    return 0;
  }
  while (bytes-- > 0)
    value = value << 8 | *r->p++;
  return value;
}

/* Printable characters; NULL and failed otherwise. */
static const char *
get_text(struct reading *r, size_t *len)
{
  const char *text;

  *len = get(r, 1);
  if (r->failed || (size_t)(r->end - r->p) < *len) {
    r->failed = true;
    return NULL;
  }
  text = (const char *)r->p;
  for (size_t i = 0; i < *len; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
      r->failed = true;
  r->p += *len;
  return r->failed ? NULL : text;
}

static void
get_place_text(struct reading *r, char *out, size_t size)
{
  size_t len;
  const char *text = get_text(r, &len);

  if (text)
    snprintf(out, size, "%.*s", (int)len, text);
}

static char *
get_copy(struct reading *r)
{
  size_t len;
  const char *text = get_text(r, &len);

  return text && len > 0 ? gi_strndup(text, len) : NULL;
}

static struct gi_told_wait *
get_waits(struct reading *r)
{
  struct gi_told_wait *t = gi_new(struct gi_told_wait);
  uint64_t why = get(r, 1);

  if (why == GI_WAIT_NOTHING || why >= GI_WAIT_MAX)
    r->failed = true;
  else
    t->why = (enum gi_wait_for)why;
  t->since_ns = get(r, 8);
  t->what = get_copy(r);
  t->who = get_copy(r);
  return t;
}

static struct gi_step *
get_step(struct reading *r, unsigned *depth)
{
  size_t name_len, type_len;
  struct gi_step *s = gi_new(struct gi_step);

  *depth = (unsigned)get(r, 1);
  uint64_t kind = get(r, 1), flags = get(r, 1);
  s->waited_for = flags & WAITED_FOR;
  s->open = flags & OPEN;
  s->start_ns = get(r, 8);
  s->took_ns = get(r, 8);
  s->own_ns = get(r, 8);
  const char *name = get_text(r, &name_len), *type = get_text(r, &type_len);
  if (r->failed || kind >= GI_FOP_MAX || !gi_fop_table[kind].name || s->start_ns > LONGEST || s->took_ns > LONGEST ||
      s->own_ns > LONGEST) {
    gi_free(s);
    r->failed = true;
    return NULL;
  }
  s->kind = (enum gi_fop_kind)kind;
  s->layer = gi_layer_name_new(name, name_len, type, type_len);
  if (flags & WAITS)
    s->waits = get_waits(r);
  return s;
}

struct gi_step *
gi_steps_decode(const void *data, uint32_t len)
{
  struct reading r = {data, (const uint8_t *)data + len, len > GI_STEPS_WIRE_MAX};
  struct gi_place place = {0};
  struct gi_step *last[GI_STEPS_WIRE_DEPTH], *first = NULL; /* by depth: the newest */
  unsigned reached = 0;

  if (r.failed || get(&r, 1) != VERSION)
    return NULL;
  place.pid = (int32_t)(uint32_t)get(&r, 4);
  get_place_text(&r, place.role, sizeof(place.role));
  get_place_text(&r, place.brick, sizeof(place.brick));
  get_place_text(&r, place.host, sizeof(place.host));
  while (!r.failed && r.p < r.end) {
    unsigned depth;
    struct gi_step *s = get_step(&r, &depth);

    if (!s)
      break;
    if (depth >= GI_STEPS_WIRE_DEPTH || (first ? depth == 0 || depth > reached + 1 : depth != 0)) {
      gi_step_free(&s);
      r.failed = true;
      break;
    }
    if (!first)
      first = s;
    else if (depth <= reached)
      last[depth]->next = s;
    else
      last[depth - 1]->steps = s;
    last[depth] = s;
    reached = depth;
  }
  if (r.failed || !first) {
    gi_step_free(&first);
    return NULL;
  }
  first->start_ns = 0;
  first->place = gi_new(struct gi_place);
  *first->place = place;
  return first;
}
