/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of key-table.h.
 */
#include "programs/glusterishd/pool/key-table.h"
#include "libglusterish/mem.h"

#include <string.h>

static unsigned
position(const struct key_table *t, const char *key)
{
  unsigned i = 0;
  while (i < t->n && strcmp(t->pair[i].key, key) != 0)
    i++;
  return i;
}

const struct gd_key_pair *
key_table_get(const struct key_table *t, const char *key)
{
  unsigned i = position(t, key);
  return i < t->n ? &t->pair[i] : NULL;
}

bool
key_table_holds(const struct key_table *t, const struct gd_key_if *ifs, unsigned n)
{
  bool holds = true;
  for (unsigned i = 0; i < n; i++) {
    const struct gd_key_pair *p = key_table_get(t, ifs[i].key);
    holds &= (p ? p->revision : 0) == ifs[i].revision;
  }
  return holds;
}

static void
drop(struct key_table *t, unsigned i)
{
  GI_ASSERT(i < t->n);
  key_pairs_clear(&t->pair[i], 1);
  t->n--;
  t->pair[i] = t->pair[t->n];
  t->lease_of[i] = t->lease_of[t->n];
}

static void
put(struct key_table *t, const struct gd_key_put *p)
{
  unsigned i = position(t, p->key);
  if (i < t->n && !p->value)
    drop(t, i);
  if (!p->value)
    return;
  GI_ASSERT(i < KEY_TABLE_MAX);
  if (i == t->n)
    t->pair[t->n++] = (struct gd_key_pair){.key = gi_strdup(p->key)};
  gi_free(t->pair[i].value);
  t->pair[i].value = gi_strdup(p->value);
  t->pair[i].revision = t->revision;
  t->pair[i].leased = p->lease != 0;
  t->lease_of[i] = p->lease;
}

void
key_table_put(struct key_table *t, const struct gd_key_put *puts, unsigned n)
{
  t->revision++;
  for (unsigned i = 0; i < n; i++)
    put(t, &puts[i]);
}

void
key_table_end_lease(struct key_table *t, int64_t lease)
{
  t->revision++;
  for (unsigned i = t->n; i-- > 0;)
    if (t->lease_of[i] && (t->lease_of[i] == lease || !lease))
      drop(t, i);
}

unsigned
key_table_read(const struct key_table *t, const char *prefix, struct gd_key_pair *pairs)
{
  unsigned n = 0;
  for (unsigned i = 0; i < t->n; i++) {
    const struct gd_key_pair *p = &t->pair[i];
    if (strncmp(p->key, prefix, strlen(prefix)) == 0)
      pairs[n++] = (struct gd_key_pair){gi_strdup(p->key), gi_strdup(p->value), p->revision, p->leased};
  }
  return n;
}

void
key_pairs_clear(struct gd_key_pair *pairs, unsigned n)
{
  for (unsigned i = 0; i < n; i++) {
    gi_free(pairs[i].key);
    gi_free(pairs[i].value);
  }
}

void
key_table_clear(struct key_table *t)
{
  while (t->n)
    drop(t, 0);
}
