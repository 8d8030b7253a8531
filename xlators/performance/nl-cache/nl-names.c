/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of names: a table of chains. Names that differ only in case share one.
 */
#include "xlators/performance/nl-cache/nl-names.h"

#include "libglusterish/mem.h"

#include <strings.h>

#define FIRST_BUCKETS 8u

static uint32_t
lower(char c)
{
  return (uint8_t)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static uint32_t
hash(const char *name)
{
  uint32_t h = 2166136261u;

  for (; *name; name++)
    h = (h ^ lower(*name)) * 16777619u;
  return h ^ h >> 15;
}

static struct nl_name **
chain(const struct nl_names *n, const char *name)
{
  GI_ASSERT(n->nbuckets && (n->nbuckets & (n->nbuckets - 1)) == 0);
  return &n->bucket[hash(name) & (n->nbuckets - 1)];
}

static void
grow(struct nl_names *n)
{
  struct nl_names old = *n;

  GI_ASSERT(n->count >= n->nbuckets);
  n->nbuckets = old.nbuckets ? old.nbuckets * 2 : FIRST_BUCKETS;
  n->bucket = gi_zalloc(n->nbuckets * sizeof(*n->bucket));
  n->bytes += (n->nbuckets - old.nbuckets) * sizeof(*n->bucket);
  for (uint32_t i = 0; i < old.nbuckets; i++) {
    for (struct nl_name *e = old.bucket[i], *next; e; e = next) {
      struct nl_name **at = chain(n, e->text);

      next = e->next;
      e->next = *at;
      *at = e;
    }
  }
  gi_free(old.bucket);
}

/* Where it hangs, or would. */
static struct nl_name **
place(const struct nl_names *n, const char *name)
{
  struct nl_name **at = chain(n, name);

  while (*at && strcmp((*at)->text, name) != 0)
    at = &(*at)->next;
  return at;
}

const struct nl_name *
nl_names_find(const struct nl_names *n, const char *name)
{
  return n->count ? *place(n, name) : NULL;
}

const struct nl_name *
nl_names_find_like(const struct nl_names *n, const char *name)
{
  const struct nl_name *same = nl_names_find(n, name), *like = NULL;

  if (same && same->there)
    return same;
  if (n->count)
    for (like = *chain(n, name); like && !(like->there && strcasecmp(like->text, name) == 0);)
      like = like->next;
  return like;
}

void
nl_names_put(struct nl_names *n, const char *name, bool there, uint64_t asked)
{
  size_t len = strlen(name);
  struct nl_name **at, *e;

  GI_ASSERT(len > 0 && len <= UINT32_MAX);
  if (n->count >= n->nbuckets)
    grow(n);
  at = place(n, name);
  e = *at;
  if (!e) {
    e = gi_zalloc(sizeof(*e) + len + 1);
    memcpy(e->text, name, len + 1);
    e->len = (uint32_t)len;
    *at = e;
    n->count++;
    n->bytes += sizeof(*e) + len + 1;
  }
  GI_ASSERT(n->count > 0 && strcmp(e->text, name) == 0);
  e->there = there;
  e->asked = asked;
}

bool
nl_names_remove(struct nl_names *n, const char *name)
{
  struct nl_name **at = n->count ? place(n, name) : NULL, *e = at ? *at : NULL;

  if (!e)
    return false;
  *at = e->next;
  GI_ASSERT(n->count > 0 && n->bytes >= sizeof(*e) + e->len + 1);
  n->count--;
  n->bytes -= sizeof(*e) + e->len + 1;
  gi_free(e);
  return true;
}

void
nl_names_clear(struct nl_names *n)
{
  for (uint32_t i = 0; i < n->nbuckets; i++) {
    for (struct nl_name *e = n->bucket[i], *next; e; e = next) {
      next = e->next;
      gi_free(e);
    }
  }
  gi_free(n->bucket);
  *n = (struct nl_names){0};
}
