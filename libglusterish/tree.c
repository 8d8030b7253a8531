/* SPDX-License-Identifier: Apache-2.0
 *
 * See tree.h: from marks to steps.
 */
#include "libglusterish/tree.h"

#include "libglusterish/seen.h"

/* One operation of a tree, over or not. Times are gi_ticks. */
struct view {
  uint64_t number, parent;
  enum gi_fop_kind kind;
  uint64_t start, end;
  bool open;
  const uint64_t *mark;
  unsigned nmarks;
  const struct gi_calls *calls;
  const struct gi_step *remote;
  bool waits;
  struct gi_wait wait;
  struct gi_walk walk;
  struct gi_step *step[GI_MARKS]; /* by walk.stay */
};

struct part {
  struct gi_list link;
  uint64_t number, parent, start, took;
  enum gi_fop_kind kind;
  unsigned nmarks;
  struct gi_steps *steps; /* its own; may be NULL */
  uint64_t mark[];
};

struct making {
  struct gi_graph *graph;
  struct gi_reactor *reactor;
  uint64_t start, now; /* of the root; gi_ticks */
  struct view *view;   /* the root first */
  unsigned n;
  unsigned steps;
};

/* ---- labels ---- */

struct gi_layer_name *
gi_layer_name_new(const char *name, size_t len, const char *type, size_t type_len)
{
  struct gi_layer_name *l = gi_zalloc(sizeof(*l) + len + 1 + type_len + 1);

  memcpy(l->name, name, len);
  memcpy(l->name + len + 1, type, type_len);
  l->type = l->name + len + 1;
  l->refs = 1;
  return l;
}

struct gi_layer_name *
gi_layer_name_ref(struct gi_layer_name *l)
{
  if (l) {
    GI_ASSERT(l->refs > 0);
    l->refs++;
  }
  return l;
}

void
gi_layer_name_put(struct gi_layer_name **l)
{
  struct gi_layer_name *gone = *l;

  *l = NULL;
  if (!gone)
    return;
  GI_ASSERT(gone->refs > 0);
  if (--gone->refs == 0)
    gi_free(gone);
}

static struct gi_layer_name *
label_of(struct gi_xlator *x)
{
  if (!x->label)
    x->label = gi_layer_name_new(x->name, strlen(x->name), x->cls->type, strlen(x->cls->type));
  return gi_layer_name_ref(x->label);
}

/* ---- collecting ---- */

void
gi_fop_collect(struct gi_fop *root, bool spread)
{
  GI_CHECK(root, GI_FOP_MAGIC);
  GI_ASSERT(root->root == root && !root->answered);
  gi_fop_steps(root)->spread |= spread;
}

struct gi_steps *
gi_fop_steps(struct gi_fop *fop)
{
  if (!fop->steps) {
    fop->steps = gi_new(struct gi_steps);
    gi_list_init(&fop->steps->parts);
  }
  return fop->steps;
}

void
gi_fop_part(struct gi_fop *fop, uint64_t took)
{
  struct gi_steps *all = fop->root->steps;
  unsigned n = fop->nmarks < GI_MARKS ? fop->nmarks : GI_MARKS;

  GI_ASSERT(all && fop->root != fop && fop->parent);
  if (all->nparts == GI_TREE_PARTS) {
    all->missed++;
    return;
  }

  struct part *p = gi_zalloc(sizeof(*p) + n * sizeof(*p->mark));

  *p = (struct part){.number = fop->number,
                     .parent = fop->parent->number,
                     .start = fop->start_ticks,
                     .took = took,
                     .kind = fop->kind,
                     .nmarks = n,
                     .steps = fop->steps};
  fop->steps = NULL;
  memcpy(p->mark, fop->mark, n * sizeof(*p->mark));
  gi_list_add_tail(&all->parts, &p->link);
  all->nparts++;
}

void
gi_steps_free(struct gi_steps **steps)
{
  struct gi_steps *s = *steps;

  *steps = NULL;
  if (!s)
    return;
  gi_list_foreach_safe(p, &s->parts, struct part, link) {
    gi_steps_free(&p->steps);
    gi_free(p);
  }
  gi_step_free(&s->remote);
  gi_told_put(&s->told);
  gi_free(s->calls);
  gi_free(s);
}

/* ---- steps ---- */

void
gi_told_wait_free(struct gi_told_wait **wait)
{
  struct gi_told_wait *w = *wait;

  *wait = NULL;
  if (!w)
    return;
  gi_free(w->what);
  gi_free(w->who);
  gi_free(w);
}

void
gi_step_free(struct gi_step **step)
{
  struct gi_step *s = *step;

  *step = NULL;
  while (s) {
    struct gi_step *next = s->next;

    gi_step_free(&s->steps);
    gi_layer_name_put(&s->layer);
    gi_told_wait_free(&s->waits);
    gi_free(s->place);
    gi_free(s);
    s = next;
  }
}

uint64_t
gi_step_count(const struct gi_step *s)
{
  uint64_t n = 0;

  for (; s; s = s->next)
    n += 1 + gi_step_count(s->steps);
  return n;
}

static void
append(struct gi_step **first, struct gi_step *s)
{
  while (*first)
    first = &(*first)->next;
  *first = s;
}

/* Takes over the label. NULL: there are enough. */
static struct gi_step *
new_step(struct making *m, struct gi_step *above, struct gi_layer_name *layer, enum gi_fop_kind kind)
{
  struct gi_step *s;

  if (m->steps == GI_TREE_STEPS) {
    gi_layer_name_put(&layer);
    return NULL;
  }
  m->steps++;
  s = gi_new(struct gi_step);
  s->layer = layer;
  s->kind = kind;
  if (above)
    append(&above->steps, s);
  return s;
}

static uint64_t
ns(const struct making *m, uint64_t ticks)
{
  return gi_ticks_ns(m->reactor, ticks);
}

/* From the start of the whole, of something that began at `ticks`. */
static uint64_t
offset_ns(const struct making *m, uint64_t ticks)
{
  return ticks > m->start ? ns(m, ticks - m->start) : 0;
}

static struct gi_told_wait *
told_wait(const struct making *m, const struct gi_wait *w)
{
  struct gi_told_wait *t = gi_new(struct gi_told_wait);

  t->why = w->why;
  t->since_ns = m->now > w->since ? ns(m, m->now - w->since) : 0;
  t->what = gi_strdup(w->what);
  t->who = gi_strdup(w->who);
  return t;
}

/* The layer that had it at a moment, as an index of its stays; -1: none yet. */
static int
stay_at(const struct view *v, uint64_t when)
{
  struct gi_walk w;
  unsigned n = 0;

  while (n < v->nmarks && v->start + gi_mark_since(v->mark[n], v->start) <= when)
    n++;
  gi_walk(&w, v->mark, n, v->start, when > v->start ? when - v->start : 0, false);
  return w.now < 0 && v->walk.n > 0 ? 0 : w.now;
}

/* The layers of one operation, each below the one that passed it on. A layer that only passes it on is in it until those below are
 * done, for whoever draws it. */
static void
chain(struct making *m, struct view *v, struct gi_step **root)
{
  uint64_t leave = 0;

  gi_walk(&v->walk, v->mark, v->nmarks, v->start, v->end - v->start, !v->open);
  for (unsigned i = 0; i < v->walk.n; i++) {
    const struct gi_stay *stay = &v->walk.stay[i];
    struct gi_step *s;

    GI_ASSERT(stay->layer < m->graph->nlayers && m->graph->layers[stay->layer]);
    s = new_step(m, i ? v->step[i - 1] : NULL, label_of(m->graph->layers[stay->layer]), v->kind);
    v->step[i] = s ? s : i ? v->step[i - 1] : NULL;
    if (!s)
      continue;
    s->start_ns = offset_ns(m, v->start + stay->enter);
    s->own_ns = ns(m, stay->own);
    s->waited_for = true;
  }
  *root = v->walk.n ? v->step[0] : NULL;
  for (unsigned i = *root ? v->walk.n : 0; i-- > 0;) {
    const struct gi_stay *stay = &v->walk.stay[i];
    uint64_t end = stay->left ? stay->leave : stay->enter + stay->own;

    v->step[i]->open = v->open && !stay->left && (int)i <= v->walk.now; /* those above whoever has it wait for that one */
    if (v->step[i]->open)
      end = v->end - v->start;
    leave = end > leave ? end : leave;
    v->step[i]->took_ns = ns(m, leave - stay->enter);
  }
}

static struct gi_told_wait *
copy_of_wait(const struct gi_told_wait *from, uint64_t later)
{
  struct gi_told_wait *t = gi_new(struct gi_told_wait);

  t->why = from->why;
  t->since_ns = from->since_ns + later;
  t->what = gi_strdup(from->what);
  t->who = gi_strdup(from->who);
  return t;
}

/* What a brick did lies in the middle of the round trip: nobody knows how its clock stands to ours. `later`: so long ago it told what is still
 * under way there. */
static struct gi_step *
placed(struct making *m, const struct gi_step *from, uint64_t shift, uint64_t later)
{
  struct gi_step *first = NULL;

  for (; from; from = from->next) {
    struct gi_step *s = new_step(m, NULL, gi_layer_name_ref(from->layer), from->kind);

    if (!s)
      break;
    s->start_ns = from->start_ns + shift;
    s->open = from->open;
    s->took_ns = from->took_ns + (s->open ? later : 0);
    s->own_ns = from->own_ns + (s->open && !from->steps ? later : 0);
    s->wire_ns = from->wire_ns;
    s->waited_for = from->waited_for;
    s->waits = from->waits ? copy_of_wait(from->waits, later) : NULL;
    if (from->place) {
      s->place = gi_new(struct gi_place);
      *s->place = *from->place;
    }
    s->steps = placed(m, from->steps, shift, later);
    append(&first, s);
  }
  return first;
}

static void
add_remote(struct making *m, struct gi_step *s, const struct gi_step *remote)
{
  uint64_t spare = s->took_ns > remote->took_ns ? s->took_ns - remote->took_ns : 0;

  if (s->open) { /* how long the request took to get there is little beside what hangs */
    s->own_ns = 0;
    append(&s->steps, placed(m, remote, s->start_ns, spare));
    return;
  }
  s->wire_ns = spare;
  s->own_ns = spare;
  append(&s->steps, placed(m, remote, s->start_ns + spare / 2, 0));
}

static void
add_calls(struct making *m, struct gi_step *s, const struct gi_calls *calls)
{
  uint64_t inside = 0;

  GI_ASSERT(calls->n <= GI_TREE_PARTS);
  for (unsigned i = 0; i < calls->n; i++) {
    const struct gi_call *c = &calls->call[i];
    static const char type[] = "system-call";
    struct gi_step *call = new_step(m, s, gi_layer_name_new(c->name, strlen(c->name), type, sizeof(type) - 1), s->kind);

    if (!call)
      return;
    call->open = c->end == 0;
    call->start_ns = offset_ns(m, c->begin);
    call->took_ns = call->own_ns = ns(m, (call->open ? m->now : c->end) - c->begin);
    call->waited_for = true;
    inside += call->took_ns;
  }
  s->own_ns -= inside < s->own_ns ? inside : s->own_ns;
}

/* ---- who waited for whom ---- */

/* Something of `up` happened after `from`, before `to`: a border, or that it sent something. */
static bool
went_on(const struct making *m, const struct view *up, uint64_t from, uint64_t to)
{
  for (unsigned i = 0; i < up->nmarks; i++) {
    enum gi_mark what = gi_mark_what(up->mark[i]);
    uint64_t at = up->start + gi_mark_since(up->mark[i], up->start);

    if ((what == GI_MARK_ENTER || what == GI_MARK_BACK) && at >= from && at < to)
      return true;
  }
  for (unsigned i = 1; i < m->n; i++)
    if (m->view[i].parent == up->number && m->view[i].start >= from && m->view[i].start < to)
      return true;
  return !up->open && up->end >= from && up->end < to;
}

static bool
waited_for(const struct making *m, const struct view *up, const struct view *v)
{
  uint64_t next = UINT64_MAX; /* when the next of its siblings ended */

  if (v->open)
    return true;
  for (unsigned i = 1; i < m->n; i++) {
    const struct view *other = &m->view[i];

    if (other->parent == v->parent && !other->open && other->end > v->end && other->end < next)
      next = other->end;
  }
  return went_on(m, up, v->end, next);
}

/* ---- the whole ---- */

static struct view *
view_of(struct making *m, uint64_t number)
{
  for (unsigned i = 0; i < m->n; i++)
    if (m->view[i].number == number)
      return &m->view[i];
  return NULL;
}

static void
attach(struct making *m, struct view *v)
{
  struct view *up = view_of(m, v->parent);
  struct gi_step *first = NULL;
  int at = up ? stay_at(up, v->start) : -1;

  chain(m, v, &first);
  if (!first)
    return;
  first->waited_for = up && waited_for(m, up, v);
  append(at >= 0 && up->step[at] ? &up->step[at]->steps : &m->view[0].step[0]->steps, first);
}

static void
details(struct making *m, struct view *v)
{
  struct gi_step *last = v->walk.n ? v->step[v->walk.n - 1] : NULL;

  if (!last)
    return;
  if (v->calls)
    add_calls(m, last, v->calls);
  if (v->remote)
    add_remote(m, last, v->remote);
  if (v->waits && v->walk.now >= 0)
    v->step[v->walk.now]->waits = told_wait(m, &v->wait);
}

static int
by_start(const void *a, const void *b)
{
  const struct view *x = a, *y = b;

  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static struct view *
add_view(struct making *m, const struct gi_steps *steps)
{
  struct view *v = &m->view[m->n++];

  memset(v, 0, offsetof(struct view, walk));
  v->calls = steps ? steps->calls : NULL;
  v->remote = steps ? steps->remote : NULL;
  return v;
}

static void
add_fop(struct making *m, const struct gi_fop *fop, uint64_t end, bool open)
{
  struct view *v = add_view(m, fop->steps);

  v->number = fop->number;
  v->parent = fop->counted ? fop->parent->number : 0;
  v->kind = fop->kind;
  v->start = fop->start_ticks;
  v->end = end;
  v->open = open;
  v->mark = fop->mark;
  v->nmarks = fop->nmarks < GI_MARKS ? fop->nmarks : GI_MARKS;
  v->waits = open && gi_fop_waiting(fop, &v->wait);
}

static void
add_part(struct making *m, const struct part *p)
{
  struct view *v = add_view(m, p->steps);

  v->number = p->number;
  v->parent = p->parent;
  v->kind = p->kind;
  v->start = p->start;
  v->end = p->start + p->took;
  v->mark = p->mark;
  v->nmarks = p->nmarks;
}

static unsigned
room_for(const struct gi_fop *root)
{
  unsigned n = 1 + (root->steps ? root->steps->nparts : 0);

  gi_list_foreach(fop, &root->graph->flight, struct gi_fop, flight)
    n += fop->root == root;
  return n;
}

static struct gi_step *
tree_of(const struct gi_fop *root, uint64_t now, bool over)
{
  struct making m = {.graph = root->graph, .reactor = root->graph->ctx->reactor, .start = root->start_ticks, .now = now};
  struct gi_step *first = NULL;

  m.view = gi_alloc(room_for(root) * sizeof(*m.view));
  add_fop(&m, root, now, !over);
  if (root->steps)
    gi_list_foreach(p, &root->steps->parts, struct part, link)
      add_part(&m, p);
  gi_list_foreach(fop, &root->graph->flight, struct gi_fop, flight)
    if (fop->root == root && fop != root)
      add_fop(&m, fop, now, true);
  qsort(m.view + 1, m.n - 1, sizeof(*m.view), by_start);
  chain(&m, &m.view[0], &first);
  for (unsigned i = 1; first && i < m.n; i++)
    attach(&m, &m.view[i]);
  for (unsigned i = 0; first && i < m.n; i++)
    details(&m, &m.view[i]);
  gi_free(m.view);
  return first;
}

/* What it waits for in the end: the deepest step under way that tells, and of several one that names who holds it up. */
static const struct gi_told_wait *
deepest_wait(const struct gi_step *s)
{
  const struct gi_told_wait *found = NULL;

  for (; s; s = s->next) {
    const struct gi_told_wait *w = s->open ? deepest_wait(s->steps) : NULL;

    if (s->open && !w)
      w = s->waits;
    if (w && (!found || (w->who && !found->who)))
      found = w;
  }
  return found;
}

/* ---- the operation ---- */

void
gi_fop_id(const struct gi_fop *fop, uint8_t id[16])
{
  if (fop->steps && fop->steps->asked) {
    memcpy(id, fop->steps->trace, 16);
    return;
  }
  memcpy(id, fop->graph->ctx->process_uuid.b, 8);
  for (unsigned i = 0; i < 8; i++)
    id[8 + i] = (uint8_t)(fop->number >> (56 - 8 * i));
}

struct gi_told *
gi_told_new(struct gi_fop *fop, uint64_t took, bool over)
{
  struct gi_told *t = gi_new(struct gi_told);
  struct gi_reactor *r = fop->graph->ctx->reactor;
  const struct gi_client_id *client = fop->caller.client;
  struct gi_time wall = gi_wall(r);
  struct making m = {.reactor = r, .now = fop->start_ticks + took};
  const struct gi_told_wait *deepest;
  struct gi_wait wait;

  GI_ASSERT(fop->root && fop->start_ticks);
  gi_list_init(&t->link);
  t->refs = 1;
  gi_fop_id(fop, t->id);
  t->kind = fop->kind;
  t->gfid = *gi_fop_gfid(fop);
  t->name = gi_strdup(fop->loc.name);
  t->client = client ? gi_strdup(client->uid) : NULL;
  t->pid = fop->caller.pid;
  t->uid = fop->caller.uid;
  t->age_ns = gi_ticks_ns(r, gi_ticks(r) - fop->start_ticks);
  t->start = wall.sec * (int64_t)GI_NSEC_PER_SEC + wall.nsec - (int64_t)t->age_ns;
  t->over = over;
  t->took_ns = over ? gi_ticks_ns(r, took) : 0;
  t->error = over && fop->rsp.ret < 0 ? fop->rsp.err : 0;
  t->offset = fop->args.offset;
  t->size = fop->args.size ? fop->args.size : fop->payload.len;
  if (fop->nmarks && fop->answerer < fop->graph->nlayers)
    t->at = label_of(over || !fop->at ? fop->graph->layers[fop->answerer] : fop->at);
  t->tree = tree_of(fop, m.now, over);
  deepest = over ? NULL : deepest_wait(t->tree);
  if (deepest)
    t->waits = copy_of_wait(deepest, 0);
  else if (!over && gi_fop_waiting(fop, &wait))
    t->waits = told_wait(&m, &wait);
  return t;
}

struct gi_told *
gi_told_ref(struct gi_told *t)
{
  GI_ASSERT(t->refs > 0);
  t->refs++;
  return t;
}

void
gi_told_put(struct gi_told **told)
{
  struct gi_told *t = *told;

  *told = NULL;
  if (!t || --t->refs)
    return;
  gi_step_free(&t->tree);
  gi_layer_name_put(&t->at);
  gi_told_wait_free(&t->waits);
  gi_free(t->name);
  gi_free(t->client);
  gi_free(t);
}
