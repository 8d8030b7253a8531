/* SPDX-License-Identifier: Apache-2.0
 *
 * What the page shows is asked for here, every two seconds, while somebody
 * looks (or always): processes over their observation sockets and disks, by
 * workers, since both may hang; self-heal daemons as every command asks them.
 * A worker has what it needs in its job and leaves the rest to the reactor.
 * Who does not answer is asked again only later.
 */
#include "programs/common/observe.h"
#include "programs/glusterishd/ops/op.h"
#include "programs/glusterishd/page/page.h"
#include "libglusterish/heal-op.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#define LOOK_NS (600 * GI_NSEC_PER_SEC) /* is asked for so long after the last look */
#define PATIENCE_MS 1500u               /* for one answer */
#define RETRY_NS (8 * GI_NSEC_PER_SEC)  /* before a silent process is asked again */
#define SEEN_MAX 512u                   /* processes */
#define SLOW_ROUNDS 3u                  /* disks and heals are asked every third round */

static const struct question {
  const char *path;
  unsigned rounds;  /* is asked in one of so many */
  const char *only; /* role; NULL: of all */
} questions[GD_ANSWERS] = {
    [GD_ANSWER_LAYERS] = {"/layers?top=1", 1, NULL}, [GD_ANSWER_INFLIGHT] = {"/inflight", 1, NULL},
    [GD_ANSWER_SLOW] = {"/slow", 2, NULL},           [GD_ANSWER_ERRORS] = {"/errors", 2, NULL},
    [GD_ANSWER_CLIENTS] = {"/clients", 5, "brick"},
};

/* ---- works ---- */

/* The gather is freed by whoever is the last: its owner, or a work that was under way. */
static void
release(struct gd_gather *g)
{
  if (g->gd || g->works)
    return;
  g->magic = 0;
  gi_free(g);
}

static void
submit(struct gd_gather *g, struct gi_work *w)
{
  GI_CHECK(g, GATHER_MAGIC);
  g->works++;
  w->priority = GI_PRIO_LOW;
  gi_work_submit(g->gd->reactor, w);
}

/* False: the daemon has ended meanwhile. */
static bool
collected(struct gd_gather *g)
{
  GI_CHECK(g, GATHER_MAGIC);
  GI_ASSERT(g->works > 0);
  g->works--;
  bool goes_on = g->gd != NULL;
  release(g);
  return goes_on;
}

/* ---- one process ---- */

struct ask {
  struct gi_work work;
  struct gd_gather *gather;
  struct ob_process process; /* socket, role and pid of it */
  bool wanted[GD_ANSWERS];
  json_t *answer[GD_ANSWERS];
  bool silent;
};

static struct gd_seen *
find_seen(const struct gd_gather *g, const char *socket)
{
  gi_list_foreach(s, &g->seen, struct gd_seen, link)
    if (strcmp(s->socket, socket) == 0)
      return s;
  return NULL;
}

static void
ask_run(struct gi_work *w)
{
  struct ask *a = GI_CONTAINER(w, struct ask, work);
  for (unsigned i = 0; i < GD_ANSWERS && !a->silent; i++) {
    struct gi_error err = {0};
    if (!a->wanted[i])
      continue;
    a->answer[i] = ob_get_json(&a->process, questions[i].path, PATIENCE_MS, &err);
    a->silent = !a->answer[i] && (err.code == ETIMEDOUT || err.code == ENOTCONN); /* others were answers, of a kind */
  }
}

static void
take_answers(struct gd_gather *g, struct gd_seen *s, struct ask *a)
{
  uint64_t now = gi_now(g->gd->reactor);
  json_t *before = s->answer[GD_ANSWER_LAYERS], *layers = a->answer[GD_ANSWER_LAYERS];
  s->asking = false;
  if (a->silent) {
    if (s->answers)
      s->silent_since = now;
    s->ask_again = now + RETRY_NS;
  }
  s->answers = !a->silent;
  if (before && layers)
    gd_history_compare(g->history, s->volume, s->role, before, layers);
  for (unsigned i = 0; i < GD_ANSWERS; i++)
    if (a->answer[i]) {
      json_decref(s->answer[i]);
      s->answer[i] = a->answer[i];
      a->answer[i] = NULL;
    }
}

static void
ask_done(struct gi_work *w)
{
  struct ask *a = GI_CONTAINER(w, struct ask, work);
  struct gd_gather *g = a->gather;
  bool goes_on = collected(g);
  struct gd_seen *s = goes_on ? find_seen(g, a->process.socket) : NULL;
  if (s)
    take_answers(g, s, a);
  for (unsigned i = 0; i < GD_ANSWERS; i++)
    json_decref(a->answer[i]);
  gi_free(a->process.socket);
  gi_free(a);
}

static void
ask(struct gd_gather *g, struct gd_seen *s)
{
  struct ask *a = gi_new(struct ask);
  a->work = (struct gi_work){.run = ask_run, .done = ask_done};
  a->gather = g;
  a->process = (struct ob_process){.socket = gi_strdup(s->socket), .pid = s->pid};
  for (unsigned i = 0; i < GD_ANSWERS; i++)
    a->wanted[i] = (!s->answer[i] || g->round % questions[i].rounds == 0) &&
                   (!questions[i].only || strcmp(questions[i].only, s->role) == 0);
  s->asking = true;
  submit(g, &a->work);
}

static void
seen_free(struct gd_seen *s)
{
  gi_list_del(&s->link);
  for (unsigned i = 0; i < GD_ANSWERS; i++)
    json_decref(s->answer[i]);
  json_decref(s->about);
  gi_free(s->socket);
  gi_free(s->role);
  gi_free(s->volume);
  gi_free(s);
}

/* ---- which processes there are ---- */

struct listing {
  struct gi_work work;
  struct gd_gather *gather;
  struct ob_process *list;
  unsigned n;
};

static void
list_run(struct gi_work *w)
{
  struct listing *l = GI_CONTAINER(w, struct listing, work);
  l->n = ob_list(&l->list, NULL);
}

static struct gd_seen *
add_seen(struct gd_gather *g, const struct ob_process *p)
{
  struct gd_seen *s = gi_new(struct gd_seen);
  s->socket = gi_strdup(p->socket);
  s->pid = p->pid;
  s->about = json_object();
  s->answers = p->about != NULL;
  s->silent_since = gi_now(g->gd->reactor);
  s->ask_again = s->silent_since + RETRY_NS;
  gi_list_add_tail(&g->seen, &s->link);
  return s;
}

/* One that does not answer just now keeps what it said of itself. */
static void
see(struct gd_gather *g, const struct ob_process *p)
{
  struct gd_seen *old = find_seen(g, p->socket), *s = old ? old : add_seen(g, p);
  s->listed = true;
  if (p->about || !old) {
    gi_free(s->role);
    gi_free(s->volume);
    s->role = gi_strdup(p->role);
    s->volume = gi_strdup(p->volume ? p->volume : "");
  }
  if (p->about) {
    json_decref(s->about);
    s->about = json_incref(p->about);
  }
  if (!old && s->answers)
    ask(g, s);
}

/* One that is not listed is gone. */
static void
list_done(struct gi_work *w)
{
  struct listing *l = GI_CONTAINER(w, struct listing, work);
  struct gd_gather *g = l->gather;
  if (collected(g)) {
    g->listing = false;
    gi_list_foreach(s, &g->seen, struct gd_seen, link)
      s->listed = false;
    for (unsigned i = 0; i < l->n && i < SEEN_MAX; i++)
      see(g, &l->list[i]);
    gi_list_foreach_safe(s, &g->seen, struct gd_seen, link)
      if (!s->listed)
        seen_free(s);
  }
  ob_list_free(l->list, l->n);
  gi_free(l);
}

static void
list(struct gd_gather *g)
{
  if (g->listing)
    return;
  struct listing *l = gi_new(struct listing);
  l->work = (struct gi_work){.run = list_run, .done = list_done};
  l->gather = g;
  g->listing = true;
  submit(g, &l->work);
}

/* ---- disks ---- */

struct look {
  struct gi_work work;
  struct gd_gather *gather;
  char *path;
  struct statvfs st;
  bool failed;
};

static struct gd_disk *
find_disk(const struct gd_gather *g, const char *path)
{
  gi_list_foreach(d, &g->disks, struct gd_disk, link)
    if (strcmp(d->path, path) == 0)
      return d;
  return NULL;
}

const struct gd_disk *
gd_gather_disk(const struct gd_gather *g, const char *path)
{
  const struct gd_disk *d = find_disk(g, path);
  return d && d->known ? d : NULL;
}

static void
look_run(struct gi_work *w)
{
  struct look *l = GI_CONTAINER(w, struct look, work);
  l->failed = statvfs(l->path, &l->st) != 0;
}

static void
look_done(struct gi_work *w)
{
  struct look *l = GI_CONTAINER(w, struct look, work);
  struct gd_disk *d = collected(l->gather) ? find_disk(l->gather, l->path) : NULL;
  if (d) {
    d->asking = false;
    d->known = !l->failed;
    d->total = (uint64_t)l->st.f_blocks * l->st.f_frsize;
    d->free = (uint64_t)l->st.f_bfree * l->st.f_frsize;
    d->inodes = l->st.f_files;
    d->inodes_free = l->st.f_ffree;
  }
  gi_free(l->path);
  gi_free(l);
}

static void
look(struct gd_gather *g, const char *path)
{
  struct gd_disk *d = find_disk(g, path);
  if (!d) {
    d = gi_new(struct gd_disk);
    d->path = gi_strdup(path);
    gi_list_add_tail(&g->disks, &d->link);
  }
  if (d->asking)
    return;
  struct look *l = gi_new(struct look);
  l->work = (struct gi_work){.run = look_run, .done = look_done};
  l->gather = g;
  l->path = gi_strdup(path);
  d->asking = true;
  submit(g, &l->work);
}

static void
disk_free(struct gd_disk *d)
{
  gi_list_del(&d->link);
  gi_free(d->path);
  gi_free(d);
}

/* ---- heals ---- */

static struct gd_heal *
find_heal(const struct gd_gather *g, const char *volume)
{
  gi_list_foreach(h, &g->heals, struct gd_heal, link)
    if (strcmp(h->volume, volume) == 0)
      return h;
  return NULL;
}

const struct gd_heal *
gd_gather_heal(const struct gd_gather *g, const char *volume)
{
  return find_heal(g, volume);
}

static void
told(int code, const struct gi_dict *dict, void *arg)
{
  struct gd_heal *h = arg;
  h->asking = false;
  h->answered = code == 0 && dict;
  if (!h->answered)
    return;
  gi_dict_unref(&h->facts);
  h->facts = gi_dict_copy(dict);
}

static void
ask_heal(struct gd_gather *g, struct gd_volume *v)
{
  struct gd_heal *h = find_heal(g, v->name);
  if (!h) {
    h = gi_new(struct gd_heal);
    h->volume = gi_strdup(v->name);
    gi_list_add_tail(&g->heals, &h->link);
  }
  if (h->asking)
    return;
  if (!gd_shd_pid(v)) {
    h->answered = false;
    return;
  }
  h->asking = true;
  gd_heal_ask(v, GI_HEAL_COUNT, told, h);
}

static void
heal_free(struct gd_heal *h)
{
  gi_list_del(&h->link);
  gi_free(h->volume);
  gi_dict_unref(&h->facts);
  gi_free(h);
}

/* ---- rounds ---- */

static void
ask_slowly(struct gd_gather *g)
{
  gi_list_foreach(v, &g->gd->volumes, struct gd_volume, link) {
    if (v->status == GD_STARTED && gd_shd_enabled(v))
      ask_heal(g, v);
    for (unsigned i = 0; i < v->nbricks; i++)
      if (gi_gfid_equal(&v->bricks[i].node, &g->gd->uuid))
        look(g, v->bricks[i].path);
  }
  gi_list_foreach_safe(h, &g->heals, struct gd_heal, link)
    if (!h->asking && !gd_volume_find(g->gd, h->volume))
      heal_free(h);
}

static void
forget(struct gd_gather *g)
{
  gi_list_foreach_safe(s, &g->seen, struct gd_seen, link)
    seen_free(s);
  gd_history_free(&g->history);
  g->history = gd_history_new();
}

static void
on_round(void *arg)
{
  struct gd_gather *g = arg;
  GI_CHECK(g, GATHER_MAGIC);
  uint64_t now = gi_now(g->gd->reactor);
  if (!g->always && now >= g->until) {
    forget(g); /* what comes after a pause is no continuation */
    return;
  }
  gi_timer_set(&g->timer, GD_HISTORY_NS);
  gd_history_tick(g->history);
  list(g);
  gi_list_foreach(s, &g->seen, struct gd_seen, link)
    if (!s->asking && (s->answers || now >= s->ask_again))
      ask(g, s);
  if (g->round % SLOW_ROUNDS == 0)
    ask_slowly(g);
  g->round++;
}

void
gd_gather_wanted(struct gd_gather *g)
{
  GI_CHECK(g, GATHER_MAGIC);
  g->until = gi_now(g->gd->reactor) + LOOK_NS;
  if (!g->timer.armed)
    gi_timer_set(&g->timer, 0);
}

struct gd_gather *
gd_gather_new(struct gd *gd, bool always)
{
  struct gd_gather *g = gi_new(struct gd_gather);
  g->magic = GATHER_MAGIC;
  g->gd = gd;
  g->always = always;
  gi_list_init(&g->seen);
  gi_list_init(&g->disks);
  gi_list_init(&g->heals);
  g->history = gd_history_new();
  gi_timer_init(&g->timer, gd->reactor, on_round, g);
  if (always)
    gi_timer_set(&g->timer, 0);
  return g;
}

void
gd_gather_free(struct gd_gather **gp)
{
  struct gd_gather *g = *gp;
  *gp = NULL;
  if (!g)
    return;
  GI_CHECK(g, GATHER_MAGIC);
  gi_timer_finish(&g->timer);
  gi_list_foreach_safe(s, &g->seen, struct gd_seen, link)
    seen_free(s);
  gi_list_foreach_safe(d, &g->disks, struct gd_disk, link)
    disk_free(d);
  gi_list_foreach_safe(h, &g->heals, struct gd_heal, link)
    heal_free(h);
  gd_history_free(&g->history);
  g->gd = NULL;
  release(g);
}
