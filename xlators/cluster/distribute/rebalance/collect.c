/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of files that have several, as the walk meets them. A file of which
 * one name belongs where it is stays, and then only that is remembered.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"

#include <stdlib.h>
#include <sys/stat.h>

#define BUCKETS 4096
#define NAMES_MAX (1u << 18) /* remembered at a time; what comes later is met by another walk */

struct di_reb_links {
  struct gi_list bucket[BUCKETS]; /* struct di_reb_names.link */
  uint32_t names;
};

static void
drop_names(struct di_reb_names *f)
{
  for (unsigned i = 0; i < f->n; i++) {
    gi_inode_unref(&f->name[i].parent);
    gi_free(f->name[i].name);
  }
  gi_free(f->name);
  f->name = NULL;
  f->n = f->room = 0;
}

void
di_reb_names_free(struct di_reb_names *f)
{
  drop_names(f);
  gi_free(f);
}

static struct di_reb_names *
find(struct di_reb *r, unsigned from, const struct gi_gfid *gfid)
{
  struct gi_list *bucket;
  struct di_reb_names *f;

  if (!r->links) {
    r->links = gi_new(struct di_reb_links);
    for (unsigned i = 0; i < BUCKETS; i++)
      gi_list_init(&r->links->bucket[i]);
  }
  bucket = &r->links->bucket[(gfid->b[14] << 8 | gfid->b[15]) % BUCKETS];
  gi_list_foreach(it, bucket, struct di_reb_names, link) {
    if (it->from == from && gi_gfid_equal(&it->gfid, gfid))
      return it;
  }
  f = gi_new(struct di_reb_names);
  f->gfid = *gfid;
  f->from = from;
  gi_list_add_tail(bucket, &f->link);
  return f;
}

void
di_reb_collect_home(struct di_reb *r, unsigned from, const struct gi_gfid *gfid)
{
  struct di_reb_names *f = find(r, from, gfid);

  GI_ASSERT(r->links->names >= f->n);
  f->stays = true;
  r->links->names -= f->n;
  drop_names(f);
}

static int
by_place(const void *a, const void *b)
{
  const struct di_reb_name *x = a, *y = b;
  int c = memcmp(&x->parent->gfid, &y->parent->gfid, sizeof(x->parent->gfid));

  return c ? c : strcmp(x->name, y->name);
}

/* Sorted; one that was met twice is there once. */
static void
tidy(struct di_reb *r, struct di_reb_names *f)
{
  unsigned n = 0;

  qsort(f->name, f->n, sizeof(*f->name), by_place);
  for (unsigned i = 0; i < f->n; i++) {
    if (n > 0 && by_place(&f->name[n - 1], &f->name[i]) == 0) {
      gi_inode_unref(&f->name[i].parent);
      gi_free(f->name[i].name);
      r->links->names--;
      continue;
    }
    f->name[n++] = f->name[i];
  }
  f->n = n;
}

struct di_reb_names *
di_reb_collect(struct di_reb *r, unsigned from, const struct gi_iatt *stat, struct gi_inode *parent, const char *name)
{
  struct di_reb_names *f = find(r, from, &stat->gfid);

  GI_ASSERT(stat->nlink > 1 && name);
  if (f->stays || r->links->names >= NAMES_MAX)
    return NULL;
  if (f->n == f->room) {
    f->room = f->room ? f->room * 2 : 4;
    f->name = gi_realloc(f->name, f->room * sizeof(*f->name));
  }
  f->regular = S_ISREG(stat->mode);
  f->name[f->n++] = (struct di_reb_name){.parent = gi_inode_ref(parent), .name = gi_strdup(name)};
  r->links->names++;
  if (f->n < stat->nlink)
    return NULL;
  tidy(r, f);
  if (f->n < stat->nlink)
    return NULL;
  gi_list_del(&f->link);
  r->links->names -= f->n;
  return f;
}

struct di_reb_names *
di_reb_names_one(unsigned from, const struct gi_gfid *gfid, struct gi_inode *parent, const char *name)
{
  struct di_reb_names *f = gi_new(struct di_reb_names);

  GI_ASSERT(name && !gi_gfid_is_none(gfid));
  gi_list_init(&f->link);
  f->gfid = *gfid;
  f->from = from;
  f->n = f->room = 1;
  f->regular = true;
  f->name = gi_alloc(sizeof(*f->name));
  f->name[0] = (struct di_reb_name){.parent = gi_inode_ref(parent), .name = gi_strdup(name)};
  return f;
}

uint64_t
di_reb_collect_end(struct di_reb *r)
{
  uint64_t left = 0;

  for (unsigned i = 0; r->links && i < BUCKETS; i++)
    while (!gi_list_empty(&r->links->bucket[i])) {
      struct di_reb_names *f = gi_list_first(&r->links->bucket[i], struct di_reb_names, link);

      left += !f->stays;
      r->links->names -= f->n;
      gi_list_del(&f->link);
      di_reb_names_free(f);
    }
  GI_ASSERT(!r->links || r->links->names == 0);
  gi_free(r->links);
  r->links = NULL;
  return left;
}
