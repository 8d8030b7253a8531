/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes by the directory and name under which they were seen last. Of several that
 * claim one name, because somebody else has put another object there, the last one
 * seen has it. Each bucket is a list; there are as many buckets as names, or more.
 */
#include "fuse-internal.h"

/* FNV-1a. */
static struct node **
bucket_of(const struct name_map *m, uint64_t parent_id, const char *name)
{
  uint64_t h = 0xcbf29ce484222325ull ^ parent_id;

  GI_ASSERT(m->capacity);
  for (; *name; name++)
    h = (h ^ (uint8_t)*name) * 0x100000001b3ull;
  return &m->bucket[(h ^ (h >> 32)) & (m->capacity - 1)];
}

/* The link that leads to the node of that name, or the end of the bucket. */
static struct node **
find(const struct name_map *m, uint64_t parent_id, const char *name)
{
  struct node **at = bucket_of(m, parent_id, name);

  while (*at && ((*at)->parent_id != parent_id || strcmp((*at)->name, name) != 0))
    at = &(*at)->name_next;
  return at;
}

static void
grow(struct name_map *m)
{
  struct name_map old = *m;

  m->capacity = old.capacity ? old.capacity * 2 : 256;
  m->bucket = gi_zalloc(m->capacity * sizeof(struct node *));
  for (uint32_t i = 0; i < old.capacity; i++)
    for (struct node *n = old.bucket[i], *next; n; n = next) {
      struct node **to = bucket_of(m, n->parent_id, n->name);

      next = n->name_next;
      n->name_next = *to;
      *to = n;
    }
  gi_free(old.bucket);
}

struct node *
name_map_get(const struct name_map *m, uint64_t parent_id, const char *name)
{
  return m->capacity ? *find(m, parent_id, name) : NULL;
}

void
name_map_put(struct name_map *m, struct node *n)
{
  struct node *other;

  GI_ASSERT(n->id && n->name);
  other = name_map_get(m, n->parent_id, n->name);
  if (other == n)
    return;
  if (other)
    name_map_del(m, other);
  if (m->count == m->capacity)
    grow(m);

  struct node **end = find(m, n->parent_id, n->name);

  GI_ASSERT(!*end && !n->name_next);
  *end = n;
  m->count++;
}

void
name_map_del(struct name_map *m, struct node *n)
{
  struct node **at = n->name && m->capacity ? find(m, n->parent_id, n->name) : NULL;

  if (!at || *at != n)
    return;
  GI_ASSERT(m->count > 0);
  *at = n->name_next;
  n->name_next = NULL;
  m->count--;
}

void
name_map_free(struct name_map *m)
{
  GI_ASSERT(m->count == 0);
  gi_free(m->bucket);
  *m = (struct name_map){0};
}
