/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an object is, as an attribute that nobody has stored (volfile.md 10): of a file what its subvolume says, of a directory what all
 * say, and its layout.
 */
#include "xlators/cluster/distribute/di.h"

#include <errno.h>
#include <stdio.h>

enum where { NOT_WHERE, PATHS, NODES };

static enum where
where_of(const char *name)
{
  static const char prefix[] = "trusted.";

  if (!name)
    return NOT_WHERE;
  if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
    name += sizeof(prefix) - 1;
  return strcmp(name, "glusterfs.pathinfo") == 0 ? PATHS : strcmp(name, "glusterfs.list-node-uuids") == 0 ? NODES : NOT_WHERE;
}

bool
di_asks_where(const struct gi_fop *fop)
{
  return where_of(fop->args.name) != NOT_WHERE;
}

/* ---- the text ---- */

struct text {
  char *bytes;
  size_t len;
  FILE *out;
};

static void
text_open(struct text *t)
{
  t->out = open_memstream(&t->bytes, &t->len);
  GI_ASSERT(t->out);
}

/* Becomes the value that was asked for. */
static enum gi_verdict
text_answer(struct text *t, struct gi_fop *fop)
{
  fclose(t->out);
  gi_reply_clear(&fop->rsp);
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_str(fop->rsp.dict, fop->args.name, t->bytes);
  gi_fop_ok(fop, (int32_t)t->len + 1);
  free(t->bytes);
  return GI_ANSWERED;
}

struct part {
  const char *name;
  const struct di_range *range;
};

static int
by_start(const void *a, const void *b)
{
  uint32_t x = ((const struct part *)a)->range->start, y = ((const struct part *)b)->range->start;

  return (x > y) - (x < y);
}

static void
put_layout(const struct di *d, const struct di_layout *l, FILE *out)
{
  struct part part[DI_MAX];

  GI_ASSERT(l->n == d->n);
  for (unsigned i = 0; i < l->n; i++)
    part[i] = (struct part){d->x->children[i]->name, &l->range[i]};
  qsort(part, l->n, sizeof(part[0]), by_start);
  fprintf(out, " (%s-layout", d->x->name);
  for (unsigned i = 0; i < l->n; i++)
    if (!part[i].range->err)
      fprintf(out, " (%s %u %u)", part[i].name, part[i].range->start, part[i].range->stop);
  fputc(')', out);
}

/* ---- files and directories ---- */

static enum gi_verdict
file(struct di *d, struct gi_fop *fop)
{
  struct gi_fop *h = gi_fop_child(fop);
  const char *word;
  struct text t;

  GI_IGNORE(di_do_from_top(d, h));
  gi_reply_move(fop, h);
  gi_fop_unref(h);
  if (fop->rsp.ret < 0 || where_of(fop->args.name) == NODES || !gi_dict_get_str(fop->rsp.dict, fop->args.name, &word))
    return GI_ANSWERED;
  text_open(&t);
  fprintf(t.out, "(<DISTRIBUTE:%s> %s)", d->x->name, word);
  return text_answer(&t, fop);
}

static enum gi_verdict
directory(struct di *d, struct gi_fop *fop)
{
  bool paths = where_of(fop->args.name) == PATHS;
  const struct di_layout *l;
  const char *between = paths ? " " : "", *word;
  struct di_ask ask;
  struct text t;

  di_ask_copy(d, &ask, fop, d->up);
  if (!ask.fan.ok) {
    gi_fop_fail(fop, d->up == di_all(d) ? di_ask_err(&ask, ask.fan.failed) : ENOTCONN);
    di_ask_end(&ask);
    return GI_ANSWERED;
  }
  text_open(&t);
  if (paths)
    fprintf(t.out, "((<DISTRIBUTE:%s>", d->x->name);
  di_foreach(i, ask.fan.ok)
  {
    if (!gi_dict_get_str(gi_fan_reply(&ask.fan, (unsigned)i)->rsp.dict, fop->args.name, &word))
      continue;
    fprintf(t.out, "%s%s", between, word);
    between = " ";
  }
  l = di_layout_known(d, gi_fop_inode(fop)); /* it may have been exchanged meanwhile */
  if (paths) {
    fputc(')', t.out);
    if (l)
      put_layout(d, l, t.out);
    fputc(')', t.out);
  }
  di_ask_end(&ask);
  return text_answer(&t, fop);
}

enum gi_verdict
di_where(struct di *d, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  struct di_inode *i = inode ? di_inode_of(d, inode) : NULL;
  int err = !i ? ESTALE : i->cached || di_layout_known(d, inode) ? 0 : di_locate(d, fop, inode);

  if (err)
    return gi_fop_fail(fop, err);
  return i->cached ? file(d, fop) : directory(d, fop);
}
