/* SPDX-License-Identifier: Apache-2.0
 *
 * See observe-json.h.
 */
#include "programs/glusterishfs/observe-json.h"

#include "libglusterish/ask.h"
#include "programs/common/observe-answer.h"

#include <stdio.h>

#define UNTAKEN_NS (100 * GI_NSEC_PER_MSEC) /* less is how things go */

static json_t *
number(uint64_t n)
{
  return json_integer(n < INT64_MAX ? (json_int_t)n : INT64_MAX);
}

/* ---- times ---- */

static json_t *
hist_json(const struct gi_hist *h)
{
  json_t *o = json_object();

  json_object_set_new(o, "count", number(h->count));
  json_object_set_new(o, "p50", number(gi_hist_quantile(h, 0.5)));
  json_object_set_new(o, "p95", number(gi_hist_quantile(h, 0.95)));
  json_object_set_new(o, "p99", number(gi_hist_quantile(h, 0.99)));
  json_object_set_new(o, "max", number(h->max));
  json_object_set_new(o, "sum", number(h->sum));
  return o;
}

static json_t *
kinds_json(const struct gi_layer_times *times)
{
  json_t *kinds = json_array();

  for (unsigned k = 0; times && k < GI_FOP_MAX; k++) {
    const struct gi_layer_kind *lk = times->kind[k];
    json_t *o;

    if (!lk)
      continue;
    o = json_object();
    json_object_set_new(o, "kind", json_string(gi_fop_name(k)));
    json_object_set_new(o, "count", number(lk->own.count));
    json_object_set_new(o, "errors", number(lk->errors));
    json_object_set_new(o, "own", hist_json(&lk->own));
    json_object_set_new(o, "all", hist_json(&lk->all));
    json_array_append_new(kinds, o);
  }
  return kinds;
}

json_t *
ob_layers_json(const struct gi_graph *g)
{
  json_t *layers = json_array();

  for (unsigned i = g->count; i-- > 0;) {
    const struct gi_xlator *x = g->xlators[i];
    json_t *o = json_object();

    json_object_set_new(o, "name", ob_text(x->name));
    json_object_set_new(o, "type", ob_text(x->cls->type));
    json_object_set_new(o, "kinds", kinds_json(x->times));
    json_array_append_new(layers, o);
  }
  return json_pack("{s:o}", "layers", layers);
}

/* ---- times of all ---- */

/* The topmost layer that operations of the kind have come to; `all`: and that sees their replies. */
static const struct gi_layer_kind *
topmost(const struct gi_graph *g, unsigned kind, bool all)
{
  for (unsigned i = g->count; i-- > 0;) {
    const struct gi_layer_times *times = g->xlators[i]->times;
    const struct gi_layer_kind *lk = times ? times->kind[kind] : NULL;

    if (lk && (!all || lk->all.count > 0))
      return lk;
  }
  return NULL;
}

static json_t *
buckets_json(const struct gi_hist *h)
{
  json_t *list = json_array();

  for (unsigned i = 0; i < GI_HIST_BUCKETS; i++)
    if (h->bucket[i])
      json_array_append_new(list, json_pack("[o,o]", number(gi_hist_bucket_value(i)), number(h->bucket[i])));
  return list;
}

json_t *
ob_top_json(const struct gi_graph *g)
{
  json_t *kinds = json_array();

  for (unsigned k = 0; k < GI_FOP_MAX; k++) {
    const struct gi_layer_kind *lk = topmost(g, k, false), *seen = topmost(g, k, true);
    json_t *o = lk ? json_object() : NULL, *all = seen ? hist_json(&seen->all) : NULL;

    if (all)
      json_object_set_new(all, "buckets", buckets_json(&seen->all));
    if (!o)
      continue;
    json_object_set_new(o, "kind", json_string(gi_fop_name(k)));
    json_object_set_new(o, "count", number(lk->own.count));
    json_object_set_new(o, "errors", number(lk->errors));
    json_object_set_new(o, "all", all ? all : json_null());
    json_array_append_new(kinds, o);
  }
  return json_pack("{s:[{s:s,s:o}]}", "layers", "name", "top", "kinds", kinds);
}

/* ---- operations ---- */

static json_t *
self_json(const struct ob_self *self)
{
  json_t *o = json_object();

  json_object_set_new(o, "role", ob_text(self->role));
  json_object_set_new(o, "volume", ob_text(self->volume));
  json_object_set_new(o, "host", ob_text(self->host));
  json_object_set_new(o, "pid", json_integer(self->pid));
  json_object_set_new(o, "brick", ob_text(self->brick));
  return o;
}

static json_t *
waits_json(const struct gi_told_wait *w)
{
  json_t *o;

  if (!w)
    return json_null();
  o = json_object();
  json_object_set_new(o, "for", ob_text(gi_wait_name[w->why]));
  json_object_set_new(o, "what", ob_text(w->what ? w->what : ""));
  json_object_set_new(o, "who", ob_text(w->who));
  json_object_set_new(o, "since_ns", number(w->since_ns));
  return o;
}

static json_t *
place_json(const struct gi_place *p)
{
  json_t *o;

  if (!p)
    return json_null();
  o = json_object();
  json_object_set_new(o, "role", ob_text(p->role));
  json_object_set_new(o, "brick", ob_text(p->brick));
  json_object_set_new(o, "host", ob_text(p->host));
  json_object_set_new(o, "pid", json_integer(p->pid));
  return o;
}

static json_t *
step_json(const struct gi_step *s)
{
  json_t *o = json_object(), *below = json_array();

  json_object_set_new(o, "layer", ob_text(s->layer->name));
  json_object_set_new(o, "type", ob_text(s->layer->type));
  json_object_set_new(o, "kind", json_string(gi_fop_name(s->kind)));
  json_object_set_new(o, "start_ns", number(s->start_ns));
  json_object_set_new(o, "took_ns", number(s->took_ns));
  json_object_set_new(o, "own_ns", number(s->own_ns));
  if (s->wire_ns)
    json_object_set_new(o, "wire_ns", number(s->wire_ns));
  json_object_set_new(o, "open", json_boolean(s->open));
  json_object_set_new(o, "waited_for", json_boolean(s->waited_for));
  json_object_set_new(o, "waits", waits_json(s->waits));
  json_object_set_new(o, "remote", place_json(s->place));
  for (const struct gi_step *b = s->steps; b; b = b->next)
    json_array_append_new(below, step_json(b));
  json_object_set_new(o, "steps", below);
  return o;
}

static void
set_gfid(json_t *o, const struct gi_gfid *gfid)
{
  char buf[GI_UUID_TEXT];

  json_object_set_new(o, "gfid", gi_gfid_is_none(gfid) ? json_null() : json_string(gi_gfid_text(gfid, buf)));
}

json_t *
ob_told_json(const struct gi_told *t, const struct ob_self *self)
{
  json_t *o = json_object();
  char id[33];

  for (unsigned i = 0; i < 16; i++)
    snprintf(id + 2 * i, sizeof(id) - 2 * i, "%02x", t->id[i]);
  json_object_set_new(o, "id", json_string(id));
  json_object_set_new(o, "kind", json_string(gi_fop_name(t->kind)));
  json_object_set_new(o, "path", json_null());
  set_gfid(o, &t->gfid);
  json_object_set_new(o, "name", ob_text(t->name));
  json_object_set_new(o, "pid", json_integer(t->pid));
  json_object_set_new(o, "uid", json_integer(t->uid));
  json_object_set_new(o, "client", ob_text(t->client));
  json_object_set_new(o, "process", self_json(self));
  json_object_set_new(o, "start", json_integer(t->start));
  json_object_set_new(o, "age_ns", number(t->age_ns));
  json_object_set_new(o, "took_ns", t->over ? number(t->took_ns) : json_null());
  json_object_set_new(o, "error", json_integer(t->error));
  json_object_set_new(o, "offset", number(t->offset));
  json_object_set_new(o, "size", number(t->size));
  json_object_set_new(o, "at", ob_text(t->at ? t->at->name : NULL));
  json_object_set_new(o, "waits", waits_json(t->waits));
  json_object_set_new(o, "tree", t->tree ? step_json(t->tree) : json_null());
  return o;
}

/* ---- answers that clients do not take ---- */

struct untaken {
  json_t *operations;
  const struct ob_self *self;
  uint64_t longer_ns;
  int64_t wall; /* ns */
};

static void
add_untaken(struct gi_question *q, const struct gi_fact_client *f)
{
  const struct untaken *u = q->arg;
  const struct gi_client_id id = {.uid = f->uid, .address = f->address};
  char who[GI_CLIENT_TEXT];
  struct gi_told_wait wait = {GI_WAIT_CLIENT, f->behind_ns, (char *)"that it takes what it is sent", who};
  json_t *o;

  if (f->behind_ns < u->longer_ns)
    return;
  gi_client_text(&id, who);
  o = json_pack("{s:n,s:s,s:n,s:n,s:n,s:i,s:i,s:o,s:o,s:I,s:o,s:n,s:i,s:i,s:o,s:o,s:o,s:n}", "id", "kind", "ANSWER", "path",
                "gfid", "name", "pid", 0, "uid", 0, "client", ob_text(f->uid), "process", self_json(u->self), "start",
                (json_int_t)(u->wall - (int64_t)f->behind_ns), "age_ns", number(f->behind_ns), "took_ns", "error", 0, "offset",
                0, "size", number(f->queued), "at", ob_text(f->brick), "waits", waits_json(&wait), "tree");
  GI_ASSERT(o);
  json_array_append_new(u->operations, o);
}

void
ob_untaken_json(json_t *operations, const struct gi_graph *g, const struct ob_self *self, uint64_t longer_ns)
{
  struct gi_time wall = gi_wall(g->ctx->reactor);
  struct untaken u = {operations, self, longer_ns, wall.sec * (int64_t)GI_NSEC_PER_SEC + wall.nsec};
  struct gi_question q = {.what = GI_ASK_CLIENTS, .client = add_untaken, .arg = &u, .left = OB_INFLIGHT_MAX};

  gi_graph_ask(g, &q);
}

json_t *
ob_inflight_json(const struct gi_graph *g, const struct ob_self *self)
{
  json_t *operations = json_array();
  bool more = false;

  gi_list_foreach(fop, &g->flight, struct gi_fop, flight) {
    struct gi_told *told;

    if (fop->root != fop)
      continue;
    more = json_array_size(operations) == OB_INFLIGHT_MAX;
    if (more)
      break;
    told = gi_told_new(fop, gi_ticks(g->ctx->reactor) - fop->start_ticks, false);
    json_array_append_new(operations, ob_told_json(told, self));
    gi_told_put(&told);
  }
  ob_untaken_json(operations, g, self, UNTAKEN_NS);
  return json_pack("{s:o,s:b}", "operations", operations, "more", more);
}

static int
slowest_first(const void *a, const void *b)
{
  const struct gi_told *x = *(const struct gi_told *const *)a, *y = *(const struct gi_told *const *)b;

  return x->took_ns > y->took_ns ? -1 : x->took_ns < y->took_ns;
}

json_t *
ob_slow_json(const struct gi_seen *s, const struct ob_self *self)
{
  json_t *operations = json_array();
  const struct gi_told *sorted[GI_SLOW_KEPT];
  unsigned n = 0;

  gi_list_foreach(t, &s->slow, struct gi_told, link)
    sorted[n++] = t;
  qsort(sorted, n, sizeof(*sorted), slowest_first);
  for (unsigned i = 0; i < n; i++)
    json_array_append_new(operations, ob_told_json(sorted[i], self));
  return json_pack("{s:o}", "operations", operations);
}

/* ---- the recorder ---- */

static json_t *
record_json(const struct gi_graph *g, const struct gi_recorded *r, const struct ob_self *self, uint64_t now, int64_t wall)
{
  json_t *o = json_object();
  const struct gi_xlator *at = r->graph == g->number && r->at < g->nlayers ? g->layers[r->at] : NULL;

  json_object_set_new(o, "id", json_null());
  json_object_set_new(o, "kind", json_string(gi_fop_name(r->kind)));
  json_object_set_new(o, "path", json_null());
  set_gfid(o, &r->gfid);
  json_object_set_new(o, "name", json_null());
  json_object_set_new(o, "pid", json_integer(r->pid));
  json_object_set_new(o, "uid", json_integer(r->uid));
  json_object_set_new(o, "client", json_null());
  json_object_set_new(o, "process", self_json(self));
  json_object_set_new(o, "start", json_integer(wall - (int64_t)(now - r->start_ns)));
  json_object_set_new(o, "age_ns", number(now - r->start_ns));
  json_object_set_new(o, "took_ns", number(gi_ticks_ns(g->ctx->reactor, r->took)));
  json_object_set_new(o, "error", json_integer(r->error));
  json_object_set_new(o, "offset", number(r->offset));
  json_object_set_new(o, "size", number(r->size));
  json_object_set_new(o, "at", ob_text(at ? at->name : NULL));
  json_object_set_new(o, "waits", json_null());
  json_object_set_new(o, "tree", json_null());
  return o;
}

json_t *
ob_recorder_json(const struct gi_graph *g, const struct ob_self *self, uint64_t last)
{
  json_t *operations = json_array();
  struct gi_time wall = gi_wall(g->ctx->reactor);
  int64_t wall_ns = wall.sec * (int64_t)GI_NSEC_PER_SEC + wall.nsec;
  uint64_t now = gi_now(g->ctx->reactor);
  const struct gi_recorded *r;

  for (uint64_t n = 0; n < last && (r = gi_recorder_get(&g->seen->recorder, n)); n++)
    json_array_append_new(operations, record_json(g, r, self, now, wall_ns));
  return json_pack("{s:o}", "operations", operations);
}
