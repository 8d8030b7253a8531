/* SPDX-License-Identifier: Apache-2.0
 *
 * See namespace.h.
 */
#include "tests/simulation/model/namespace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMIT_NS (6 * SIM_S)  /* a journal has committed what is older (disk/README.md) */
#define LINGER_NS (60 * SIM_S) /* what a dead client has sent has reached all bricks by then, or never will */

struct values {
  struct gi_gfid *gfid; /* none: there is no such name */
  unsigned count, room;
};

struct slot {
  struct values maybe; /* empty: anything */
  struct values ever;  /* but none */
  bool torn;           /* one set may have lost what another has not: nothing that is done to it makes sure of it */
  unsigned busy;       /* operations under way */
  uint64_t begun;      /* the youngest of them, a moment */
  uint64_t changed;    /* when the last one ended */
  uint64_t changed_ns;
  uint64_t ended_ns[SIM_NAMES_CLIENTS]; /* the same of each client's last one, and 1 */
};

enum naming { MAKE, REMOVE, RENAME };

struct sim_naming {
  struct gi_list link;
  enum naming what;
  unsigned client;
  uint64_t begin;
  uint64_t until_ns; /* of those that linger */
  bool contended;    /* others changed a name of it at the same time, or a machine lost power */
  bool keeps;        /* RENAME: it replaces nothing */
  struct sim_place_of at, to;
  struct gi_gfid gfid;
};

struct sim_namespace {
  struct sim_world *w;
  uint64_t moment;
  bool several; /* sets: a name may be on more than one */
  struct gi_list under_way;
  struct gi_list lingering; /* their clients are gone, and messages about them may still arrive; the oldest first */
  struct sim_namespace_stats stats;
  struct slot slot[SIM_NAMES_DIRS][SIM_NAMES_PER_DIR];
};

/* ---- sets of values ---- */

static bool
has(const struct values *v, const struct gi_gfid *gfid)
{
  for (unsigned i = 0; i < v->count; i++)
    if (gi_gfid_equal(&v->gfid[i], gfid))
      return true;
  return false;
}

static void
add(struct values *v, const struct gi_gfid *gfid)
{
  if (has(v, gfid))
    return;
  if (v->count == v->room) {
    v->room = v->room ? 2 * v->room : 4;
    v->gfid = gi_realloc(v->gfid, v->room * sizeof(*v->gfid));
  }
  v->gfid[v->count++] = *gfid;
}

static struct slot *
slot_of(struct sim_namespace *m, struct sim_place_of at)
{
  GI_ASSERT(at.dir < SIM_NAMES_DIRS && at.name < SIM_NAMES_PER_DIR);
  return &m->slot[at.dir][at.name];
}

static bool
anything(const struct slot *s)
{
  return s->maybe.count == 0;
}

static bool
may_be(const struct slot *s, const struct gi_gfid *gfid)
{
  return anything(s) || has(&s->maybe, gfid);
}

/* What somebody meant it to be; a rename that is under way may move it on. */
static void
meant(struct sim_namespace *m, struct slot *s, const struct gi_gfid *gfid)
{
  if (gi_gfid_is_none(gfid) || has(&s->ever, gfid))
    return;
  add(&s->ever, gfid);
  gi_list_foreach(op, &m->under_way, struct sim_naming, link)
    if (op->what == RENAME && slot_of(m, op->at) == s)
      meant(m, slot_of(m, op->to), gfid);
}

/* It may now be that, too. */
static void
widen(struct sim_namespace *m, struct slot *s, const struct gi_gfid *gfid)
{
  meant(m, s, gfid);
  if (!anything(s))
    add(&s->maybe, gfid);
}

/* ---- life ---- */

struct sim_namespace *
sim_namespace_new(struct sim_world *w)
{
  struct sim_namespace *m = gi_new(struct sim_namespace);
  m->w = w;
  gi_list_init(&m->under_way);
  gi_list_init(&m->lingering);
  for (unsigned d = 0; d < SIM_NAMES_DIRS; d++)
    for (unsigned n = 0; n < SIM_NAMES_PER_DIR; n++)
      add(&m->slot[d][n].maybe, &gi_gfid_none);
  return m;
}

void
sim_namespace_over_sets(struct sim_namespace *m)
{
  m->several = true;
}

static void
drop_all(struct gi_list *ops)
{
  while (!gi_list_empty(ops)) {
    struct sim_naming *op = gi_list_first(ops, struct sim_naming, link);
    gi_list_del(&op->link);
    gi_free(op);
  }
}

void
sim_namespace_free(struct sim_namespace **mp)
{
  struct sim_namespace *m = *mp;
  *mp = NULL;
  if (m == NULL)
    return;
  drop_all(&m->under_way);
  drop_all(&m->lingering);
  for (unsigned d = 0; d < SIM_NAMES_DIRS; d++)
    for (unsigned n = 0; n < SIM_NAMES_PER_DIR; n++) {
      gi_free(m->slot[d][n].maybe.gfid);
      gi_free(m->slot[d][n].ever.gfid);
    }
  gi_free(m);
}

const struct sim_namespace_stats *
sim_namespace_stats(const struct sim_namespace *m)
{
  return &m->stats;
}

const char *
sim_namespace_name(unsigned name, char text[16])
{
  snprintf(text, 16, "n%u", name);
  return text;
}

bool
sim_namespace_find(const char *text, unsigned *name)
{
  char again[16];
  *name = *text == 'n' ? (unsigned)strtoul(text + 1, NULL, 10) : SIM_NAMES_PER_DIR;
  return *name < SIM_NAMES_PER_DIR && strcmp(sim_namespace_name(*name, again), text) == 0;
}

uint64_t
sim_namespace_now(struct sim_namespace *m)
{
  return ++m->moment;
}

/* ---- changes ---- */

static void
slot_begins(struct slot *s, struct sim_naming *op)
{
  op->contended |= s->busy > 0;
  s->busy++;
  s->begun = op->begin;
}

static struct sim_naming *
begins(struct sim_namespace *m, unsigned client, enum naming what, struct sim_place_of at, struct sim_place_of to)
{
  struct sim_naming *op = gi_new(struct sim_naming);
  *op = (struct sim_naming){.what = what, .client = client, .begin = ++m->moment, .at = at, .to = to};
  gi_list_add_tail(&m->under_way, &op->link);
  m->stats.changes++;
  slot_begins(slot_of(m, at), op);
  if (what == RENAME)
    slot_begins(slot_of(m, to), op);
  return op;
}

struct sim_naming *
sim_namespace_make(struct sim_namespace *m, unsigned client, struct sim_place_of at, const struct gi_gfid *gfid)
{
  struct sim_naming *op = begins(m, client, MAKE, at, at);
  op->gfid = *gfid;
  meant(m, slot_of(m, at), gfid);
  return op;
}

struct sim_naming *
sim_namespace_remove(struct sim_namespace *m, unsigned client, struct sim_place_of at)
{
  return begins(m, client, REMOVE, at, at);
}

struct sim_naming *
sim_namespace_rename(struct sim_namespace *m, unsigned client, struct sim_place_of from, struct sim_place_of to)
{
  struct sim_naming *op = begins(m, client, RENAME, from, to);
  const struct slot *s = slot_of(m, from);
  for (unsigned i = 0; i < s->ever.count; i++) {
    struct gi_gfid gfid = s->ever.gfid[i]; /* what is meant to be there may come back here */
    meant(m, slot_of(m, to), &gfid);
  }
  return op;
}

struct sim_naming *
sim_namespace_rename_free(struct sim_namespace *m, unsigned client, struct sim_place_of from, struct sim_place_of to)
{
  struct sim_naming *op = sim_namespace_rename(m, client, from, to);
  op->keeps = true;
  return op;
}

/* From now on it is that and nothing else. */
static void
settle(struct slot *s, const struct gi_gfid *gfid)
{
  s->maybe.count = 0;
  add(&s->maybe, gfid);
}

static void
complain(struct sim_namespace *m, const struct sim_naming *op, const char *what, struct sim_place_of at)
{
  sim_violation(m->w, "client-%u: name %u of directory %u %s", op->client, at.name, at.dir, what);
}

static bool
may_exist(const struct slot *s)
{
  return anything(s) || s->maybe.count > 1 || !has(&s->maybe, &gi_gfid_none);
}

static void
judge_new_name(struct sim_namespace *m, const struct sim_naming *op, int err)
{
  const struct slot *to = slot_of(m, op->to);
  if (err == 0 && !may_be(to, &gi_gfid_none))
    complain(m, op, "was replaced by a rename that replaces nothing", op->to);
  if (err == EEXIST && !may_exist(to))
    complain(m, op, "is said to exist", op->to);
}

/* What an answer says about the names before it. */
static void
judge(struct sim_namespace *m, const struct sim_naming *op, int err)
{
  const struct slot *s = slot_of(m, op->at);
  bool may_lack = may_be(s, &gi_gfid_none);
  if (op->contended)
    return;
  if (op->keeps)
    judge_new_name(m, op, err);
  if (op->what == MAKE && err == 0 && !may_lack)
    complain(m, op, "was made though it is there", op->at);
  if (op->what == MAKE && err == EEXIST && !may_exist(s))
    complain(m, op, "is said to exist", op->at);
  if (op->what != MAKE && err == 0 && !may_exist(s))
    complain(m, op, "was removed or renamed though it is not there", op->at);
  if (op->what != MAKE && err == ENOENT && !may_lack)
    complain(m, op, "is said not to exist", op->at);
}

/* An answer that says that nothing was done, and no copy can have thought otherwise. */
static bool
refused(const struct sim_naming *op, const struct slot *s, int err)
{
  if (err == EOPNOTSUPP)
    return true;
  if (op->contended || anything(s))
    return false;
  return op->what == MAKE ? err == EEXIST && !has(&s->maybe, &gi_gfid_none)
                          : err == ENOENT && s->maybe.count == 1 && has(&s->maybe, &gi_gfid_none);
}

static void
may_have_moved(struct sim_namespace *m, struct slot *from, struct slot *to)
{
  if (anything(from))
    to->maybe.count = 0;
  for (unsigned i = 0; i < from->maybe.count; i++)
    if (!gi_gfid_is_none(&from->maybe.gfid[i]))
      widen(m, to, &from->maybe.gfid[i]);
  widen(m, from, &gi_gfid_none);
}

/* What was brought to a name by operations that have not been answered yet may have moved on as well. */
static void
brought_may_have_moved(struct sim_namespace *m, const struct sim_naming *rename)
{
  struct slot *from = slot_of(m, rename->at), *to = slot_of(m, rename->to);
  gi_list_foreach(op, &m->under_way, struct sim_naming, link) {
    if (op->what == MAKE && slot_of(m, op->at) == from)
      widen(m, to, &op->gfid);
    else if (op->what == RENAME && op != rename && slot_of(m, op->to) == from)
      may_have_moved(m, slot_of(m, op->at), to);
  }
}

/* Two names of one object: renaming one to the other does nothing. */
static bool
may_be_one(const struct slot *a, const struct slot *b)
{
  if (anything(a) || anything(b))
    return true;
  for (unsigned i = 0; i < a->maybe.count; i++)
    if (!gi_gfid_is_none(&a->maybe.gfid[i]) && has(&b->maybe, &a->maybe.gfid[i]))
      return true;
  return false;
}

static void
moved(struct sim_namespace *m, struct slot *from, struct slot *to)
{
  to->maybe.count = 0;
  for (unsigned i = 0; i < from->maybe.count; i++)
    if (!gi_gfid_is_none(&from->maybe.gfid[i])) {
      add(&to->maybe, &from->maybe.gfid[i]);
      meant(m, to, &from->maybe.gfid[i]);
    }
  settle(from, &gi_gfid_none);
}

static void
apply(struct sim_namespace *m, const struct sim_naming *op, bool certain)
{
  struct slot *s = slot_of(m, op->at), *to = slot_of(m, op->to);
  certain = certain && !s->torn && !to->torn;
  switch (op->what) {
  case MAKE:
    if (certain)
      settle(s, &op->gfid);
    else
      widen(m, s, &op->gfid);
    break;
  case REMOVE:
    if (certain)
      settle(s, &gi_gfid_none);
    else
      widen(m, s, &gi_gfid_none);
    break;
  case RENAME:
    if (s == to)
      break;
    if (certain && !may_be_one(s, to))
      moved(m, s, to);
    else {
      may_have_moved(m, s, to);
      brought_may_have_moved(m, op);
    }
  }
}

static void
slot_ends(struct sim_namespace *m, struct slot *s, unsigned client)
{
  GI_ASSERT(client < SIM_NAMES_CLIENTS);
  s->ended_ns[client] = m->w->now + 1;
  s->busy--;
  s->changed = m->moment;
  s->changed_ns = m->w->now;
}

/* What dead clients have asked for may be done after everything that was acknowledged since. */
static void
apply_lingering(struct sim_namespace *m)
{
  while (!gi_list_empty(&m->lingering)) {
    struct sim_naming *op = gi_list_first(&m->lingering, struct sim_naming, link);
    if (op->until_ns > m->w->now)
      break;
    gi_list_del(&op->link);
    gi_free(op);
  }
  gi_list_foreach(op, &m->lingering, struct sim_naming, link)
    apply(m, op, false);
}

/* The answer has come, or never will. */
static void
ends(struct sim_namespace *m, struct sim_naming *op, int err)
{
  struct slot *s = slot_of(m, op->at), *to = slot_of(m, op->to);
  m->moment++;
  op->contended |= s->begun > op->begin || to->begun > op->begin;
  judge(m, op, err);
  if (!refused(op, s, err))
    apply(m, op, err == 0 && !op->contended);
  slot_ends(m, s, op->client);
  if (op->what == RENAME)
    slot_ends(m, to, op->client);
  gi_list_del(&op->link);
}

void
sim_namespace_done(struct sim_namespace *m, struct sim_naming **opp, int err)
{
  ends(m, *opp, err);
  gi_free(*opp);
  *opp = NULL;
  apply_lingering(m);
}

void
sim_namespace_abandon(struct sim_namespace *m, unsigned client)
{
  bool again = true;
  while (again) {
    again = false;
    gi_list_foreach(op, &m->under_way, struct sim_naming, link) {
      if (op->client != client)
        continue;
      ends(m, op, ENOTCONN);
      op->until_ns = m->w->now + LINGER_NS;
      gi_list_add_tail(&m->lingering, &op->link);
      again = true;
      break;
    }
  }
}

void
sim_namespace_power_loss(struct sim_namespace *m)
{
  m->moment++;
  gi_list_foreach(op, &m->under_way, struct sim_naming, link)
    op->contended = true; /* done before that, perhaps, and answered later */
  for (unsigned d = 0; d < SIM_NAMES_DIRS; d++)
    for (unsigned n = 0; n < SIM_NAMES_PER_DIR; n++) {
      struct slot *s = &m->slot[d][n];
      if (!s->busy && (!s->changed || s->changed_ns + COMMIT_NS < m->w->now))
        continue;
      s->maybe.count = 0;
      s->torn = m->several;
      s->changed = m->moment;
    }
}

bool
sim_namespace_torn(const struct sim_namespace *m, struct sim_place_of at)
{
  return m->slot[at.dir][at.name].torn;
}

bool
sim_namespace_certain(const struct sim_namespace *m, struct sim_place_of at, struct gi_gfid *gfid)
{
  const struct slot *s = &m->slot[at.dir][at.name];
  if (s->busy || s->maybe.count != 1)
    return false;
  *gfid = s->maybe.gfid[0];
  return true;
}

/* ---- what is seen ---- */

static bool
undisturbed(const struct slot *s, uint64_t since)
{
  return !s->busy && s->begun < since && s->changed < since;
}

/* Another than this client changed it in the last `ns`. */
static bool
changed_by_others(const struct sim_namespace *m, const struct slot *s, unsigned client, uint64_t ns)
{
  for (unsigned i = 0; i < SIM_NAMES_CLIENTS && ns; i++)
    if (i != client && s->ended_ns[i] && s->ended_ns[i] + ns > m->w->now)
      return true;
  return false;
}

void
sim_namespace_seen(struct sim_namespace *m, const char *who, uint64_t since, struct sim_place_of at, const struct gi_gfid *gfid)
{
  sim_namespace_seen_late(m, who, 0, 0, since, at, gfid);
}

void
sim_namespace_seen_late(struct sim_namespace *m, const char *who, unsigned client, uint64_t late_ns, uint64_t since,
                        struct sim_place_of at, const struct gi_gfid *gfid)
{
  const struct slot *s = slot_of(m, at);
  bool none = gi_gfid_is_none(gfid);
  char text[GI_UUID_TEXT];
  m->stats.lookups++;
  if (!none && !has(&s->ever, gfid))
    sim_violation(m->w, "%s: name %u of directory %u is %s, which it never was", who, at.name, at.dir,
                  gi_gfid_text(gfid, text));
  else if (undisturbed(s, since) && !may_be(s, gfid) && !changed_by_others(m, s, client, late_ns))
    sim_violation(m->w, "%s: name %u of directory %u is %s, which it is not", who, at.name, at.dir,
                  none ? "said not to exist" : gi_gfid_text(gfid, text));
}

void
sim_listing_add(struct sim_listing *l, const char *text, const struct gi_gfid *gfid)
{
  unsigned name;
  if (!sim_namespace_find(text, &name)) {
    l->strange++;
    return;
  }
  l->times[name]++;
  l->gfid[name] = *gfid;
}

static void
judge_listed(struct sim_namespace *m, const char *who, const struct sim_listing *l, struct sim_place_of at)
{
  const struct slot *s = slot_of(m, at);
  unsigned times = l->times[at.name];
  m->stats.names++;
  if (times && !gi_gfid_is_none(&l->gfid[at.name])) {
    sim_namespace_seen(m, who, l->since, at, &l->gfid[at.name]);
  } else if (times && s->ever.count == 0) {
    sim_violation(m->w, "%s: the list of directory %u has name %u, which never was", who, at.dir, at.name);
  }
  if (!undisturbed(s, l->since))
    return;
  if (times > 1 && !s->torn)
    sim_violation(m->w, "%s: the list of directory %u has name %u %u times", who, at.dir, at.name, times);
  if (!times && !may_be(s, &gi_gfid_none))
    sim_violation(m->w, "%s: the list of directory %u leaves out name %u", who, at.dir, at.name);
  if (times && !anything(s) && s->maybe.count == 1 && gi_gfid_is_none(&s->maybe.gfid[0]))
    sim_violation(m->w, "%s: the list of directory %u has name %u, which was removed", who, at.dir, at.name);
}

void
sim_namespace_listed(struct sim_namespace *m, const char *who, const struct sim_listing *l)
{
  m->stats.lists++;
  if (l->strange)
    sim_violation(m->w, "%s: the list of directory %u has %u names nobody made", who, l->dir, l->strange);
  for (unsigned n = 0; n < SIM_NAMES_PER_DIR; n++)
    judge_listed(m, who, l, (struct sim_place_of){l->dir, n});
}
