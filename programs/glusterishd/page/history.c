/* SPDX-License-Identifier: Apache-2.0
 *
 * What was done in the last minutes: rings of points, one for each volume, side
 * and kind of operation. A point has the operations of one interval and the
 * quantiles of how long they took, over all processes that told of them.
 */
#include "programs/glusterishd/page/page.h"

#include <string.h>

#define HISTORY_MAGIC 0x1d0415e0u
#define SAMPLES_MAX (1u << 16) /* of one point of one series: more is rounded away by leaving them out */

struct point {
  uint64_t count, errors, p50, p99;
};

struct series {
  struct gi_list link;
  char *volume, *role, *kind;
  uint64_t last;                      /* the number of its last point with operations */
  uint64_t count, errors;             /* of the point that is being made */
  struct prog_sample *samples;        /* of that; in no order */
  size_t nsamples, room;              /* of `samples` */
  struct point ring[GD_HISTORY_ROOM]; /* point number n is at n % GD_HISTORY_ROOM */
};

struct gd_history {
  uint32_t magic;
  struct gi_list series; /* struct series */
  unsigned nseries;
  uint64_t next; /* number of the point that is being made */
};

struct gd_history *
gd_history_new(void)
{
  struct gd_history *h = gi_new(struct gd_history);
  h->magic = HISTORY_MAGIC;
  gi_list_init(&h->series);
  return h;
}

static void
series_free(struct gd_history *h, struct series *s)
{
  GI_ASSERT(h->nseries > 0);
  h->nseries--;
  gi_list_del(&s->link);
  gi_free(s->volume);
  gi_free(s->role);
  gi_free(s->kind);
  gi_free(s->samples);
  gi_free(s);
}

void
gd_history_free(struct gd_history **hp)
{
  struct gd_history *h = *hp;
  *hp = NULL;
  if (!h)
    return;
  GI_CHECK(h, HISTORY_MAGIC);
  gi_list_foreach_safe(s, &h->series, struct series, link)
    series_free(h, s);
  h->magic = 0;
  gi_free(h);
}

/* ---- a point is made ---- */

/* NULL: there are too many. */
static struct series *
find_series(struct gd_history *h, const char *volume, const char *role, const char *kind)
{
  gi_list_foreach(s, &h->series, struct series, link)
    if (strcmp(s->kind, kind) == 0 && strcmp(s->volume, volume) == 0 && strcmp(s->role, role) == 0)
      return s;
  if (h->nseries >= GD_HISTORY_SERIES)
    return NULL;
  struct series *s = gi_new(struct series);
  s->volume = gi_strdup(volume);
  s->role = gi_strdup(role);
  s->kind = gi_strdup(kind);
  s->last = h->next;
  gi_list_add_tail(&h->series, &s->link);
  h->nseries++;
  return s;
}

static void
add(struct series *s, uint64_t count, uint64_t errors, const struct prog_sample *samples, size_t n)
{
  s->count += count;
  s->errors += errors;
  n = n < SAMPLES_MAX - s->nsamples ? n : SAMPLES_MAX - s->nsamples;
  if (s->nsamples + n > s->room) {
    s->room = 2 * (s->nsamples + n);
    s->samples = gi_realloc(s->samples, s->room * sizeof(*s->samples));
  }
  if (n)
    memcpy(s->samples + s->nsamples, samples, n * sizeof(*samples));
  s->nsamples += n;
}

void
gd_history_add(struct gd_history *h, const char *volume, const char *role, const char *kind, uint64_t count, uint64_t errors,
               const struct prog_sample *samples, size_t n)
{
  GI_CHECK(h, HISTORY_MAGIC);
  struct series *all = find_series(h, volume, role, GD_HISTORY_ALL), *one = find_series(h, volume, role, kind);
  if (one)
    add(one, count, errors, samples, n);
  if (all && all != one)
    add(all, count, errors, samples, n);
}

static int
by_time(const void *a, const void *b)
{
  const struct prog_sample *x = a, *y = b;
  return x->ns < y->ns ? -1 : x->ns > y->ns;
}

void
gd_history_tick(struct gd_history *h)
{
  GI_CHECK(h, HISTORY_MAGIC);
  gi_list_foreach_safe(s, &h->series, struct series, link) {
    if (s->nsamples)
      qsort(s->samples, s->nsamples, sizeof(*s->samples), by_time);
    s->ring[h->next % GD_HISTORY_ROOM] =
        (struct point){s->count, s->errors, prog_samples_quantile(s->samples, s->nsamples, 0.5),
                       prog_samples_quantile(s->samples, s->nsamples, 0.99)};
    if (s->count)
      s->last = h->next;
    s->count = s->errors = s->nsamples = 0;
    if (h->next - s->last >= GD_HISTORY_ROOM)
      series_free(h, s);
  }
  h->next++;
}

/* ---- two reports of a process ---- */

static uint64_t
whole(const json_t *o, const char *member)
{
  json_int_t n = json_integer_value(json_object_get(o, member));
  return n > 0 ? (uint64_t)n : 0;
}

static const json_t *
find_kind(const json_t *kinds, const char *kind)
{
  for (size_t i = 0; i < json_array_size(kinds); i++) {
    const json_t *k = json_array_get(kinds, i);
    const char *name = json_string_value(json_object_get(k, "kind"));
    if (name && strcmp(name, kind) == 0)
      return k;
  }
  return NULL;
}

/* The topmost layer that operations have come to: they all come to that one. */
static const json_t *
top_layer(const json_t *doc)
{
  const json_t *layers = json_object_get(doc, "layers");
  for (size_t i = 0; i < json_array_size(layers); i++)
    if (json_array_size(json_object_get(json_array_get(layers, i), "kinds")) > 0)
      return json_array_get(layers, i);
  return NULL;
}

static const json_t *
kinds_of(const json_t *doc, const char *layer)
{
  const json_t *layers = json_object_get(doc, "layers");
  for (size_t i = 0; i < json_array_size(layers); i++) {
    const char *name = json_string_value(json_object_get(json_array_get(layers, i), "name"));
    if (name && layer && strcmp(name, layer) == 0)
      return json_object_get(json_array_get(layers, i), "kinds");
  }
  return NULL;
}

void
gd_history_compare(struct gd_history *h, const char *volume, const char *role, const json_t *before, const json_t *now)
{
  const json_t *top = top_layer(now), *is = json_object_get(top, "kinds");
  const json_t *was = kinds_of(before, json_string_value(json_object_get(top, "name")));
  for (size_t i = 0; i < json_array_size(is); i++) {
    const json_t *k = json_array_get(is, i);
    const char *kind = json_string_value(json_object_get(k, "kind"));
    const json_t *old = kind ? find_kind(was, kind) : NULL;
    uint64_t count = whole(k, "count"), had = whole(old, "count"), errors = whole(k, "errors"), failed = whole(old, "errors");
    size_t n;
    if (!kind || count <= had)
      continue;
    struct prog_sample *samples = prog_samples_between(json_object_get(json_object_get(old, "all"), "buckets"),
                                                       json_object_get(json_object_get(k, "all"), "buckets"), &n);
    gd_history_add(h, volume, role, kind, count - had, errors > failed ? errors - failed : 0, samples, n);
    gi_free(samples);
  }
}

/* ---- told ---- */

static json_t *
series_json(const struct series *s, uint64_t from, uint64_t next)
{
  json_t *count = json_array(), *errors = json_array(), *p50 = json_array(), *p99 = json_array();
  for (uint64_t n = from; n < next; n++) {
    const struct point *p = &s->ring[n % GD_HISTORY_ROOM];
    json_array_append_new(count, json_integer((json_int_t)p->count));
    json_array_append_new(errors, json_integer((json_int_t)p->errors));
    json_array_append_new(p50, p->p50 ? json_integer((json_int_t)p->p50) : json_null());
    json_array_append_new(p99, p->p99 ? json_integer((json_int_t)p->p99) : json_null());
  }
  return json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:o}", "volume", s->volume, "role", s->role, "kind", s->kind, "count", count,
                   "errors", errors, "p50", p50, "p99", p99);
}

json_t *
gd_history_json(const struct gd_history *h, uint64_t since)
{
  GI_CHECK(h, HISTORY_MAGIC);
  uint64_t oldest = h->next > GD_HISTORY_ROOM ? h->next - GD_HISTORY_ROOM : 0;
  uint64_t from = since > oldest && since <= h->next ? since : oldest;
  json_t *list = json_array();
  gi_list_foreach(s, &h->series, struct series, link)
    json_array_append_new(list, series_json(s, from, h->next));
  return json_pack("{s:i,s:i,s:I,s:I,s:o}", "interval_s", (int)(GD_HISTORY_NS / GI_NSEC_PER_SEC), "room", GD_HISTORY_ROOM,
                   "from", (json_int_t)from, "next", (json_int_t)h->next, "series", list);
}
