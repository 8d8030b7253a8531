/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose change was it, and what is still true? See libglusterish/trust.h.
 */
#include "libglusterish/trust.h"
#include "libglusterish/mem.h"
#include "libglusterish/mutants.h"
#include "libglusterish/reactor.h"

#include <string.h>
#include <sys/stat.h>

enum { MOVED_CTIME = 1, MOVED_DATA = 2 };

/* ---- versions ---- */

/* Sums of these mean something only if they do not come out equal by the structure of sizes and times. */
static uint64_t
mix(uint64_t v)
{
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
  return v ^ (v >> 31);
}

static uint64_t
mix_time(const struct gi_time *t)
{
  return mix((uint64_t)t->sec * GI_NSEC_PER_SEC + t->nsec + 1);
}

static struct gi_trust_version
version_of(const struct gi_iatt *a)
{
  return (struct gi_trust_version){.data = mix(mix(a->size + 1) ^ mix_time(&a->mtime)), .change = mix_time(&a->ctime)};
}

static bool
matches(const struct gi_trust *t, const struct gi_iatt *a)
{
  struct gi_trust_version v = version_of(a);

  if (t->emptied)
    return a->size == 0;
  return ((t->moved & MOVED_DATA) || t->version.data == v.data) && ((t->moved & MOVED_CTIME) || t->version.change == v.change);
}

static void
take(struct gi_trust *t, const struct gi_iatt *a)
{
  t->version = version_of(a);
  t->known = true;
  t->emptied = false;
  t->moved = 0;
}

static void
foreign(struct gi_trust *t)
{
  t->stale = true;
  t->answer_until = 0;
}

/* t->attr are what our last change left: nothing of ours has begun or ended since. */
static bool
left_attributes(const struct gi_trust *t)
{
  return t->answer_until && t->answer_seq == t->seq;
}

/* ---- attributes ---- */

bool
gi_trust_describes(const struct gi_gfid *of, const struct gi_iatt *a)
{
  return gi_iatt_valid(a) && gi_gfid_equal(of, &a->gfid);
}

enum gi_trust_verdict
gi_trust_attributes(const struct gi_trust_order *o, struct gi_trust *t, const struct gi_gfid *of, const struct gi_iatt *a,
                    uint64_t seq)
{
  enum gi_trust_verdict verdict = t->known ? GI_TRUST_OURS : GI_TRUST_UNTOLD;

  if (!gi_trust_describes(of, a))
    return GI_TRUST_UNTOLD;
  if (!gi_trust_settled(t, seq)) { /* they may be older than what our change left */
    if (!left_attributes(t))
      t->attr = *a;
    return GI_TRUST_UNTOLD;
  }
  t->attr = *a;
  if (t->known && S_ISREG(a->mode) && !matches(t, a)) {
    foreign(t);
    verdict = GI_TRUST_FOREIGN;
  }
  take(t, a);
  t->judged = o->locks;
  return verdict;
}

bool
gi_trust_mode(struct gi_trust *t, const struct gi_gfid *of, const struct gi_iatt *a)
{
  if (!gi_trust_describes(of, a) || !gi_iatt_valid(&t->attr) || t->attr.mode == a->mode)
    return false;
  t->attr.mode = a->mode;
  t->answer_until = 0;
  return true;
}

/* ---- changes of ours ---- */

uint64_t
gi_trust_change_begins(struct gi_trust_order *o, struct gi_trust *t)
{
  if (t->inflight == 0)
    t->mixed = t->untold = false;
  t->inflight++;
  GI_ASSERT(t->inflight > t->deferred);
  return t->seq = ++o->clock;
}

void
gi_trust_touched(struct gi_trust_order *o, struct gi_trust *t)
{
  t->seq = ++o->clock;
  t->moved |= MOVED_CTIME;
  t->mixed |= t->inflight > 0;
}

/* t->attr are what the change left. */
static void
remember(const struct gi_trust_order *o, struct gi_trust *t, const struct gi_trust_change *c)
{
  if (t->stale || !S_ISREG(c->left->mode)) /* a directory changes with its entries */
    return;
  t->answer_until = c->until;
  t->answer_seq = t->seq;
  t->answer_names = o->names;
}

void
gi_trust_touched_to(struct gi_trust_order *o, struct gi_trust *t, const struct gi_gfid *of, const struct gi_iatt *left,
                    uint64_t until)
{
  gi_trust_touched(o, t);
  if (t->inflight || !t->known || !gi_trust_describes(of, left) || !matches(t, left))
    return;
  t->attr = *left;
  take(t, left);
  remember(o, t, &(struct gi_trust_change){.left = left, .until = until});
}

static bool
ended_alone(const struct gi_trust_order *o, struct gi_trust *t, const struct gi_trust_change *c)
{
  bool good = !c->elsewhere && (!t->known || matches(t, c->found) || GI_BROKEN("hide a foreign change by one of our own"));

  if (!good)
    foreign(t);
  take(t, c->left);
  remember(o, t, c);
  return good;
}

/* All that were under way have told, and came to what this one left: it was the last. */
static bool
was_last(const struct gi_trust *t, const struct gi_trust_version *left)
{
  return t->inflight == 0 && !t->untold && t->known && !t->emptied && !t->moved && t->version.data == left->data &&
         t->version.change == left->change;
}

static bool
ended_among_others(const struct gi_trust_order *o, struct gi_trust *t, const struct gi_trust_change *c)
{
  struct gi_trust_version found = version_of(c->found), left = version_of(c->left);

  if (c->elsewhere)
    foreign(t);
  t->version.data += left.data - found.data;
  t->version.change += left.change - found.change;
  if (c->unordered)
    t->moved |= MOVED_DATA | MOVED_CTIME;
  if (was_last(t, &left))
    remember(o, t, c);
  return !c->elsewhere;
}

/* `n` of those under way ended together. */
static bool
changes_ended(struct gi_trust_order *o, struct gi_trust *t, const struct gi_gfid *of, uint32_t n,
              const struct gi_trust_change *c)
{
  bool alone = !t->mixed && t->inflight == n;

  GI_ASSERT(n > 0 && n <= t->inflight);
  GI_ASSERT(t->seq <= o->clock);
  t->inflight -= n;
  t->mixed |= t->inflight > 0;
  t->seq = ++o->clock;
  t->answer_until = 0;
  if (c->kind == GI_TRUST_CHANGE_TOLD && gi_trust_describes(of, c->found) && gi_trust_describes(of, c->left)) {
    t->attr = *c->left;
    return alone ? ended_alone(o, t, c) : ended_among_others(o, t, c);
  }
  t->untold = true;
  if (c->kind == GI_TRUST_CHANGE_CTIME)
    t->moved |= MOVED_CTIME;
  else if (c->kind == GI_TRUST_CHANGE_EMPTIED)
    t->emptied = true;
  return true;
}

bool
gi_trust_change_ended(struct gi_trust_order *o, struct gi_trust *t, const struct gi_gfid *of, uint64_t began,
                      const struct gi_trust_change *c)
{
  GI_ASSERT(t->inflight > t->deferred);
  GI_ASSERT(began <= t->seq);
  return changes_ended(o, t, of, 1, c);
}

void
gi_trust_change_deferred(struct gi_trust *t)
{
  GI_ASSERT(t->inflight > t->deferred);
  t->deferred++;
}

bool
gi_trust_written(struct gi_trust_order *o, struct gi_trust *t, const struct gi_gfid *of, uint32_t changes,
                 const struct gi_trust_change *c)
{
  GI_ASSERT(changes <= t->deferred);
  GI_ASSERT(c->kind == GI_TRUST_CHANGE_TOLD || c->kind == GI_TRUST_CHANGE_FAILED);
  t->deferred -= changes;
  return changes_ended(o, t, of, changes, c);
}

/* ---- what others did ---- */

void
gi_trust_broken(struct gi_trust *t, bool data)
{
  t->answer_until = 0;
  if (data) {
    t->stale = true;
    t->known = false;
  } else {
    t->moved |= MOVED_CTIME;
  }
}

bool
gi_trust_has_data(const struct gi_trust *t, const struct gi_gfid *of, const struct gi_iatt *a)
{
  return t->known && !t->stale && !t->emptied && !t->inflight && !(t->moved & MOVED_DATA) && gi_trust_describes(of, a) &&
         t->version.data == version_of(a).data;
}

void
gi_trust_forget(struct gi_trust *t)
{
  t->known = t->stale = false;
}

/* ---- asking ---- */

const struct gi_iatt *
gi_trust_answer(const struct gi_trust_order *o, const struct gi_trust *t, uint64_t now, uint64_t *until)
{
  if (!left_attributes(t) || t->answer_names != o->names || t->stale || now >= t->answer_until)
    return NULL;
  *until = t->answer_until;
  return &t->attr;
}

bool
gi_trust_take_data(struct gi_trust *t)
{
  bool good = !t->stale;

  t->stale = false;
  return good;
}

bool
gi_trust_unmoved(const struct gi_trust *t, uint64_t seq)
{
  return t->seq <= seq;
}

bool
gi_trust_settled(const struct gi_trust *t, uint64_t seq)
{
  return gi_trust_unmoved(t, seq) && t->inflight == 0;
}

/* ---- locks ---- */

bool
gi_trust_since_lock(const struct gi_trust_order *o, const struct gi_trust *t)
{
  return t->judged == o->locks;
}

bool
gi_trust_look_for_lock(const struct gi_trust_order *o, struct gi_trust *t)
{
  bool first = t->looked != o->locks;

  t->looked = o->locks;
  return first;
}

/* ---- names ---- */

static bool
is_told(const struct gi_trust_told *told, uint32_t pid, uint64_t now)
{
  return told->pid == pid && now < told->until;
}

void
gi_trust_found(struct gi_trust *t, uint32_t pid, uint64_t until)
{
  t->found = (struct gi_trust_told){pid, until};
}

bool
gi_trust_just_found(struct gi_trust *t, uint32_t pid, uint64_t now)
{
  bool just = t->known && is_told(&t->found, pid, now);

  t->found.until = 0; /* whoever asks comes between */
  return just;
}

void
gi_trust_nameless(struct gi_trust *t, uint32_t pid, uint64_t until)
{
  t->nameless = (struct gi_trust_told){pid, until};
}

bool
gi_trust_means_nameless(struct gi_trust *t, uint32_t pid, uint64_t now)
{
  bool told = is_told(&t->nameless, pid, now);

  if (told)
    t->nameless.until = 0;
  return told;
}

bool
gi_trust_name_moved(const char *known, const char *found, const struct gi_iatt *a)
{
  return known && found && S_ISREG(a->mode) && a->nlink == 1 && strcmp(known, found) != 0;
}
