/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose change was it, and what is still true? See fuse-trust.h.
 */
#include "fuse-trust.h"
#include "libglusterish/mem.h"
#include "libglusterish/reactor.h"

#include <string.h>
#include <sys/stat.h>

enum { OUR_CTIME = 1, OUR_DATA = 2 };

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

static struct trust_version
version_of(const struct gi_iatt *a)
{
  return (struct trust_version){.data = mix(mix(a->size + 1) ^ mix_time(&a->mtime)), .change = mix_time(&a->ctime)};
}

static bool
matches(const struct trust *t, const struct gi_iatt *a)
{
  struct trust_version v = version_of(a);

  if (t->emptied)
    return a->size == 0;
  return ((t->ours & OUR_DATA) || t->version.data == v.data) && ((t->ours & OUR_CTIME) || t->version.change == v.change);
}

static void
take(struct trust *t, const struct gi_iatt *a)
{
  t->version = version_of(a);
  t->known = true;
  t->emptied = false;
  t->ours = 0;
}

static void
foreign(struct trust *t)
{
  t->stale = true;
  t->answer_until = 0;
}

/* ---- attributes ---- */

bool
trust_describes(const struct gi_gfid *of, const struct gi_iatt *a)
{
  return gi_iatt_valid(a) && gi_gfid_equal(of, &a->gfid);
}

enum trust_verdict
trust_attributes(const struct trust_order *o, struct trust *t, const struct gi_gfid *of, const struct gi_iatt *a, uint64_t seq)
{
  enum trust_verdict verdict = t->known ? TRUST_OURS : TRUST_UNTOLD;

  if (!trust_describes(of, a))
    return TRUST_UNTOLD;
  t->attr = *a;
  if (!trust_settled(t, seq)) /* they may be older than what our change left */
    return TRUST_UNTOLD;
  if (t->known && S_ISREG(a->mode) && !matches(t, a)) {
    foreign(t);
    verdict = TRUST_FOREIGN;
  }
  take(t, a);
  t->judged = o->locks;
  return verdict;
}

bool
trust_mode(struct trust *t, const struct gi_gfid *of, const struct gi_iatt *a)
{
  if (!trust_describes(of, a) || !gi_iatt_valid(&t->attr) || t->attr.mode == a->mode)
    return false;
  t->attr.mode = a->mode;
  t->answer_until = 0;
  return true;
}

/* ---- changes of ours ---- */

uint64_t
trust_change_begins(struct trust_order *o, struct trust *t)
{
  t->inflight++;
  return t->seq = ++o->clock;
}

void
trust_touched(struct trust_order *o, struct trust *t)
{
  t->seq = ++o->clock;
  t->ours |= OUR_CTIME;
}

static bool
ended_alone(const struct trust_order *o, struct trust *t, const struct trust_change *c)
{
  bool good = !c->elsewhere && (!t->known || matches(t, c->found));

  if (!good)
    foreign(t);
  take(t, c->left);
  if (!t->stale && S_ISREG(c->left->mode)) { /* a directory changes with its entries */
    t->answer = *c->left;
    t->answer_until = c->until;
    t->answer_seq = t->seq;
    t->answer_names = o->names;
  }
  return good;
}

static bool
ended_among_others(struct trust *t, const struct trust_change *c)
{
  struct trust_version found = version_of(c->found), left = version_of(c->left);

  if (c->elsewhere)
    foreign(t);
  t->version.data += left.data - found.data;
  t->version.change += left.change - found.change;
  if (c->unordered)
    t->ours |= OUR_DATA | OUR_CTIME;
  return !c->elsewhere;
}

bool
trust_change_ended(struct trust_order *o, struct trust *t, const struct gi_gfid *of, uint64_t began,
                   const struct trust_change *c)
{
  bool alone = t->seq == began && t->inflight == 1;

  GI_ASSERT(t->inflight > 0);
  GI_ASSERT(began <= t->seq && t->seq <= o->clock);
  t->inflight--;
  t->seq = ++o->clock;
  t->answer_until = 0;
  switch (c->kind) {
  case TRUST_CHANGE_FAILED:
    break;
  case TRUST_CHANGE_CTIME:
    t->ours |= OUR_CTIME;
    break;
  case TRUST_CHANGE_EMPTIED:
    t->emptied = true;
    break;
  case TRUST_CHANGE_TOLD:
    if (!trust_describes(of, c->found) || !trust_describes(of, c->left))
      break;
    t->attr = *c->left;
    return alone ? ended_alone(o, t, c) : ended_among_others(t, c);
  }
  return true;
}

/* ---- what others did ---- */

void
trust_broken(struct trust *t, bool data)
{
  t->stale |= data;
  t->known = false;
  t->answer_until = 0;
}

void
trust_forget(struct trust *t)
{
  t->known = t->stale = false;
}

/* ---- asking ---- */

const struct gi_iatt *
trust_answer(const struct trust_order *o, const struct trust *t, uint64_t now, uint64_t *until)
{
  if (!t->answer_until || t->answer_seq != t->seq || t->answer_names != o->names || t->stale || now >= t->answer_until)
    return NULL;
  *until = t->answer_until;
  return &t->answer;
}

bool
trust_take_data(struct trust *t)
{
  bool good = !t->stale;

  t->stale = false;
  return good;
}

bool
trust_unmoved(const struct trust *t, uint64_t seq)
{
  return t->seq <= seq;
}

bool
trust_settled(const struct trust *t, uint64_t seq)
{
  return trust_unmoved(t, seq) && t->inflight == 0;
}

/* ---- locks ---- */

bool
trust_since_lock(const struct trust_order *o, const struct trust *t)
{
  return t->judged == o->locks;
}

bool
trust_look_for_lock(const struct trust_order *o, struct trust *t)
{
  bool first = t->looked != o->locks;

  t->looked = o->locks;
  return first;
}

/* ---- names ---- */

static bool
is_told(const struct trust_told *told, uint32_t pid, uint64_t now)
{
  return told->pid == pid && now < told->until;
}

void
trust_found(struct trust *t, uint32_t pid, uint64_t until)
{
  t->found = (struct trust_told){pid, until};
}

bool
trust_just_found(struct trust *t, uint32_t pid, uint64_t now)
{
  bool just = t->known && is_told(&t->found, pid, now);

  t->found.until = 0; /* whoever asks comes between */
  return just;
}

void
trust_nameless(struct trust *t, uint32_t pid, uint64_t until)
{
  t->nameless = (struct trust_told){pid, until};
}

bool
trust_means_nameless(struct trust *t, uint32_t pid, uint64_t now)
{
  bool told = is_told(&t->nameless, pid, now);

  if (told)
    t->nameless.until = 0;
  return told;
}

bool
trust_name_moved(const char *known, const char *found, const struct gi_iatt *a)
{
  return known && found && S_ISREG(a->mode) && a->nlink == 1 && strcmp(known, found) != 0;
}
