/* SPDX-License-Identifier: Apache-2.0
 *
 * The virtual tree: from a gfid to an object and back, from a name in a
 * directory to what is there, and through a directory. What there is says the
 * table (meta-show.c).
 */
#include "meta.h"

#include <stdlib.h>

/* ---- gfids ---- */

static void
put_be16(uint8_t *p, uint16_t v)
{
  p[0] = (uint8_t)(v >> 8);
  p[1] = (uint8_t)v;
}

static uint16_t
get_be16(const uint8_t *p)
{
  return (uint16_t)(p[0] << 8 | p[1]);
}

/* The numbers twice, around the mark: the first half is the id of a node for the kernel, the last one the inode number. */
struct gi_gfid
mt_gfid(const struct mt_node *n)
{
  struct gi_gfid g = {.b = {[6] = 0x80, 'g', 0x40, 'm'}};

  GI_ASSERT(n->what > MT_NONE && n->what < MT_WHAT_MAX);
  for (unsigned at = 0; at <= 10; at += 10) {
    put_be16(g.b + at, n->what);
    put_be16(g.b + at + 2, n->layer);
    put_be16(g.b + at + 4, n->item);
  }
  GI_ASSERT(mt_is_ours(&g));
  return g;
}

/* ---- layers ---- */

static bool
in_volfile(const struct gi_xlator *x)
{
  return gi_volfile_find(x->graph->volfile, x->name) != NULL;
}

struct gi_xlator *
mt_layer(const struct mt *m, const struct mt_node *n)
{
  const struct gi_graph *g = m->x->graph;
  struct gi_xlator *x = n->layer < g->nlayers ? g->layers[n->layer] : NULL;

  return x && in_volfile(x) ? x : NULL;
}

bool
mt_is_mount(const struct mt *m, const struct gi_xlator *x)
{
  return x == x->graph->top && x != m->x;
}

static uint16_t
number_of_mount(const struct mt *m)
{
  return m->x->graph->top->layer;
}

/* ---- objects ---- */

/* It is about one layer: it, or a directory it is in, is for layers. */
static bool
of_a_layer(uint16_t what)
{
  while (what != MT_NONE && !mt_table[what].layers)
    what = (uint16_t)mt_table[what].in;
  return what != MT_NONE;
}

bool
mt_parent(struct mt *m, const struct mt_node *n, struct mt_node *dir)
{
  uint16_t what = (uint16_t)mt_table[n->what].in;

  if (what == MT_NONE)
    return false;
  if (what == MT_LAYER && n->layer == number_of_mount(m))
    what = MT_ROOT;
  *dir = (struct mt_node){.what = what, .layer = of_a_layer(what) ? n->layer : 0};
  GI_ASSERT(S_ISDIR(mt_table[what].mode));
  return true;
}

/* The mount has the same as every layer. */
static bool
is_in(uint16_t what, const struct mt_node *dir)
{
  return mt_table[what].in == (dir->what == MT_ROOT ? MT_LAYER : dir->what);
}

static bool
name_of(struct mt *m, const struct mt_node *n, char name[MT_NAME])
{
  const struct mt_row *row = &mt_table[n->what];

  if (row->page && !gi_observe_has(m->x->ctx->observe, row->page))
    return false;
  if (row->name) {
    snprintf(name, MT_NAME, "%s", row->name);
    return true;
  }
  return row->name_of(m, n, name);
}

/* How many of this row are in the directory, at most. */
static unsigned
count_of(struct mt *m, const struct mt_node *dir, uint16_t what)
{
  const struct mt_row *row = &mt_table[what];

  return row->name ? 1 : row->layers ? m->x->graph->nlayers : row->count(m, dir);
}

static struct mt_node
nth_of(struct mt *m, const struct mt_node *dir, uint16_t what, unsigned i)
{
  struct mt_node n = {.what = what, .layer = dir->layer};

  GI_ASSERT(i <= UINT16_MAX);
  if (mt_table[what].layers)
    n.layer = mt_table[what].name ? number_of_mount(m) : (uint16_t)i;
  else
    n.item = (uint16_t)i;
  return n;
}

bool
mt_node_of(struct mt *m, const struct gi_gfid *gfid, struct mt_node *n)
{
  char name[MT_NAME];
  struct mt_node dir = {0};

  *n = (struct mt_node){get_be16(gfid->b), get_be16(gfid->b + 2), get_be16(gfid->b + 4)};
  if (!mt_is_ours(gfid) || n->what == MT_NONE || n->what >= MT_WHAT_MAX || memcmp(gfid->b, gfid->b + 10, 6) != 0)
    return false; /* a brick may have made it up */
  if (of_a_layer(n->what) ? !mt_layer(m, n) : n->layer != 0)
    return false;
  if (mt_table[n->what].name)
    return n->item == 0 && (n->what != MT_ROOT || n->layer == number_of_mount(m)) && name_of(m, n, name);
  mt_parent(m, n, &dir);
  return (mt_table[n->what].layers ? n->item == 0 : n->item < count_of(m, &dir, n->what)) && name_of(m, n, name);
}

bool
mt_find(struct mt *m, const struct mt_node *dir, const char *name, struct mt_node *n)
{
  static const struct mt_node root;
  char its[MT_NAME];

  dir = dir ? dir : &root;
  for (uint16_t what = 1; what < MT_WHAT_MAX; what++) {
    if (!is_in(what, dir) || (mt_table[what].name && strcmp(mt_table[what].name, name) != 0))
      continue;
    for (unsigned i = 0; i < count_of(m, dir, what); i++) {
      *n = nth_of(m, dir, what, i);
      if (name_of(m, n, its) && strcmp(its, name) == 0)
        return true;
    }
  }
  return false;
}

#define PLACE_BITS 20 /* of the number within a row; 0 is the beginning */

bool
mt_next(struct mt *m, const struct mt_node *dir, uint64_t *at, struct mt_node *n, char name[MT_NAME])
{
  uint64_t what = *at >> PLACE_BITS, i = *at & ((1u << PLACE_BITS) - 1);

  for (what = what ? what : 1; what < MT_WHAT_MAX; what++, i = 0) {
    if (!is_in((uint16_t)what, dir) || mt_table[what].unlisted)
      continue;
    for (unsigned count = count_of(m, dir, (uint16_t)what); i < count; i++) {
      *n = nth_of(m, dir, (uint16_t)what, (unsigned)i);
      if (!name_of(m, n, name))
        continue;
      *at = what << PLACE_BITS | (i + 1);
      return true;
    }
  }
  return false;
}

/* ---- what is there ---- */

char *
mt_text(struct mt *m, const struct mt_node *n, size_t *len)
{
  char *text = NULL;
  FILE *out = open_memstream(&text, len);

  GI_ASSERT(out && mt_table[n->what].show);
  mt_table[n->what].show(m, n, out);

  int ret = fclose(out);

  GI_ASSERT(ret == 0);
  if (*len && text[0] == '\n') /* a section of a state dump begins with an empty line */
    memmove(text, text + 1, (*len)--);
  return text;
}

/* A file has no size, as in /proc: it is read to its end. */
void
mt_stat(struct mt *m, const struct mt_node *n, struct gi_iatt *st)
{
  const struct mt_row *row = &mt_table[n->what];
  size_t len = 0;

  if (S_ISLNK(row->mode))
    free(mt_text(m, n, &len));
  *st = (struct gi_iatt){.gfid = mt_gfid(n),
                         .flags = GI_IATT_BASIC,
                         .size = len,
                         .atime = m->born,
                         .mtime = m->born,
                         .ctime = m->born,
                         .nlink = S_ISDIR(row->mode) ? 2 : 1,
                         .blksize = GI_PAGE,
                         .mode = row->mode};
  st->ino = gi_gfid_ino(&st->gfid);
}
