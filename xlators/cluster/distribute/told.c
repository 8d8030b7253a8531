/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that a listing has met, by their hashes, and which part of the listing told of each first: a name is told once, wherever its file goes
 * while the listing goes on. It takes 12 to 24 bytes a name, until the descriptor is closed or the listing begins anew. Of the last some thousand it is
 * known in which order they were told: who has read ahead may come back for them.
 *
 * Two names of one hash are taken for one: in a directory of a million names that is one listing in 40 million. The hash has a key
 * that differs from process to process, so nobody can choose such names.
 */
#include "xlators/cluster/distribute/di.h"

#include <dirent.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct di_last {
  uint64_t off, hash, exact; /* `exact`: what the cookie `off` was made of */
};

static uint64_t
hash_of(const struct di_told *t, const char *name, uint32_t len)
{
  uint64_t h = XXH3_64bits_withSeed(name, len, t->seed);

  return h ? h : 1;
}

/* Where it is, or is to be. */
static uint32_t
place(const struct di_told *t, uint64_t hash)
{
  uint32_t i = (uint32_t)hash & (t->room - 1);

  GI_ASSERT(t->n < t->room);
  while (t->hash[i] && t->hash[i] != hash)
    i = (i + 1) & (t->room - 1);
  return i;
}

static void
grow(struct di_told *t)
{
  struct di_told old = *t;

  if (4 * (t->n + 1) <= 3 * t->room)
    return;
  t->room = old.room ? 2 * old.room : 64;
  t->hash = gi_zalloc(t->room * (sizeof(*t->hash) + sizeof(*t->leaf)));
  t->leaf = (uint8_t *)(t->hash + t->room);
  for (uint32_t i = 0; i < old.room; i++)
    if (old.hash[i]) {
      uint32_t to = place(t, old.hash[i]);

      t->hash[to] = old.hash[i];
      t->leaf[to] = old.leaf[i];
    }
  gi_free(old.hash);
}

static unsigned
put(struct di_told *t, uint64_t hash, unsigned leaf)
{
  uint32_t i;

  GI_ASSERT(leaf <= DI_UNTOLD);
  grow(t);
  i = place(t, hash);
  if (!t->hash[i]) {
    t->hash[i] = hash;
    t->leaf[i] = DI_UNTOLD;
    t->n++;
    t->untold++;
  }
  if (leaf < t->leaf[i]) {
    t->untold -= t->leaf[i] == DI_UNTOLD;
    t->leaf[i] = (uint8_t)leaf;
  }
  return t->leaf[i];
}

unsigned
di_told_name(struct di_told *t, const char *name, uint32_t len, unsigned leaf)
{
  GI_ASSERT(leaf < DI_LEAFS);
  return put(t, hash_of(t, name, len), leaf);
}

void
di_told_met(struct di_told *t, const char *name, uint32_t len)
{
  GI_IGNORE(put(t, hash_of(t, name, len), DI_UNTOLD)); /* told or not */
}

bool
di_told_has(const struct di_told *t, const char *name, uint32_t len)
{
  uint64_t hash = hash_of(t, name, len);
  uint32_t i = t->room ? place(t, hash) : 0;

  return t->room && t->hash[i] == hash && t->leaf[i] != DI_UNTOLD;
}

static void
untell_at(struct di_told *t, uint32_t i)
{
  t->untold += t->leaf[i] != DI_UNTOLD;
  t->leaf[i] = DI_UNTOLD;
}

static void
untell(struct di_told *t, uint64_t hash)
{
  GI_IGNORE(put(t, hash, DI_UNTOLD)); /* another reader may have begun anew meanwhile */
  untell_at(t, place(t, hash));
}

/* 0: it is a directory, which all show. */
static uint64_t
hash_of_file(const struct di_told *t, const struct gi_dirent *e)
{
  return S_ISDIR(e->stat.mode) || e->type == DT_DIR ? 0 : hash_of(t, e->name, e->name_len);
}

/* Of more names than that the order of the earlier half is forgotten. */
#define LAST_MAX 8192u

static void
forget_some(struct di_told *t)
{
  uint32_t drop = t->nlast / 2;

  t->last_from = t->last[drop - 1].off;
  t->nlast -= drop;
  memmove(t->last, t->last + drop, t->nlast * sizeof(*t->last));
}

void
di_told_reply(struct di_told *t, uint64_t from, const struct gi_dirents *reply, const uint64_t *exact)
{
  if (t->nlast == 0 || t->last[t->nlast - 1].off != from) {
    t->nlast = 0;
    t->last_from = from;
  }
  if (t->nlast > 1 && t->nlast + reply->count > LAST_MAX)
    forget_some(t);
  t->last = gi_realloc(t->last, (t->nlast + reply->count + 1) * sizeof(*t->last));
  t->taken = t->nlast;
  for (uint32_t i = 0; i < reply->count; i++)
    t->last[t->nlast++] = (struct di_last){reply->entry[i].off, hash_of_file(t, &reply->entry[i]), exact[i]};
}

void
di_told_lost(struct di_told *t, const struct gi_dirents *reply)
{
  for (uint32_t i = 0; i < reply->count; i++) {
    uint64_t hash = hash_of_file(t, &reply->entry[i]);

    if (hash)
      untell(t, hash);
  }
}

/* 1 + where it is among the last; 0: it is none of these. Of neighbours with one cookie it is the first: where the reader stopped the others are told again,
 * and not left out. But what came before the last reply the reader has taken. */
static uint32_t
behind(const struct di_told *t, uint64_t cookie)
{
  uint32_t next = t->nlast;

  while (next > 0 && t->last[next - 1].off != cookie)
    next--;
  while (next > 1 && t->last[next - 2].off == cookie && next - 1 != t->taken)
    next--;
  return next;
}

bool
di_told_exact(const struct di_told *t, uint64_t cookie, uint64_t *exact)
{
  uint32_t next = behind(t, cookie);

  if (next)
    *exact = t->last[next - 1].exact;
  return next;
}

bool
di_told_back(struct di_told *t, uint64_t cookie)
{
  uint32_t next = behind(t, cookie);

  if (next == 0 && (t->nlast == 0 || t->last_from != cookie))
    return false;
  for (uint32_t i = next; i < t->nlast; i++)
    if (t->last[i].hash)
      untell(t, t->last[i].hash);
  t->nlast = next;
  t->last_from = next ? t->last_from : cookie;
  return true;
}

void
di_told_only(struct di_told *t, unsigned leaf)
{
  for (uint32_t i = 0; i < t->room; i++)
    if (t->hash[i] && t->leaf[i] > leaf)
      untell_at(t, i);
}

void
di_told_free(struct di_told *t)
{
  gi_free(t->hash);
  gi_free(t->last);
  *t = (struct di_told){.seed = t->seed};
}
