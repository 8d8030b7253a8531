/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes by id. The id is the beginning of the gfid, so it leads to the object also
 * when the kernel has forgotten it: file handles (NFS, open_by_handle_at) carry
 * nothing else. Open addressing. When a slot is freed the nodes behind it move up,
 * so a search ends at the first free slot.
 */
#include "fuse-internal.h"

static uint32_t
home(const struct node_map *m, uint64_t id)
{
  return (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 32) & (m->capacity - 1);
}

static uint32_t
next_slot(const struct node_map *m, uint32_t i)
{
  return (i + 1) & (m->capacity - 1);
}

/* Where the id is, or the free slot where it would be. */
static uint32_t
find(const struct node_map *m, uint64_t id)
{
  uint32_t i = home(m, id);

  while (m->slot[i] && m->slot[i]->id != id)
    i = next_slot(m, i);
  return i;
}

static void
grow(struct node_map *m)
{
  struct node_map old = *m;

  m->capacity = old.capacity ? old.capacity * 2 : 256;
  m->slot = gi_zalloc(m->capacity * sizeof(*m->slot));
  for (uint32_t i = 0; i < old.capacity; i++)
    if (old.slot[i])
      m->slot[find(m, old.slot[i]->id)] = old.slot[i];
  gi_free(old.slot);
}

uint64_t
node_id_of(const struct gi_gfid *gfid)
{
  uint64_t id = 0;

  for (unsigned i = 0; i < sizeof(id); i++)
    id = id << 8 | gfid->b[i];
  return id;
}

void
node_map_add(struct node_map *m, struct node *n)
{
  uint64_t id = node_id_of(&n->inode->gfid);

  if ((m->count + 1) * 4 > m->capacity * 3)
    grow(m);
  while (id <= FUSE_ROOT_ID || node_map_get(m, id)) /* gfids that begin alike: no handle leads to the second */
    id++;
  n->id = id;
  m->slot[find(m, id)] = n;
  m->count++;
}

struct node *
node_map_get(const struct node_map *m, uint64_t id)
{
  return m->capacity ? m->slot[find(m, id)] : NULL;
}

void
node_map_del(struct node_map *m, const struct node *n)
{
  uint32_t hole = find(m, n->id);

  GI_ASSERT(m->slot[hole] == n);
  m->slot[hole] = NULL;
  m->count--;
  for (uint32_t i = next_slot(m, hole); m->slot[i]; i = next_slot(m, i)) {
    uint32_t from_home = (i - home(m, m->slot[i]->id)) & (m->capacity - 1);

    if (from_home < ((i - hole) & (m->capacity - 1)))
      continue; /* its home lies behind the hole */
    m->slot[hole] = m->slot[i];
    m->slot[i] = NULL;
    hole = i;
  }
}

struct node *
node_map_first(const struct node_map *m, uint32_t *pos)
{
  while (*pos < m->capacity && !m->slot[*pos])
    ++*pos;
  return *pos < m->capacity ? m->slot[*pos] : NULL;
}

void
node_map_free(struct node_map *m)
{
  GI_ASSERT(m->count == 0);
  gi_free(m->slot);
  memset(m, 0, sizeof(*m));
}
