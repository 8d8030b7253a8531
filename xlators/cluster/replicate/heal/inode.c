/* SPDX-License-Identifier: Apache-2.0
 *
 * Inspecting an object without locks (replicate.md 7.1, 7.10), for healers and
 * for those who only ask, and the heal of one object: data, metadata, entries.
 */
#include "xlators/cluster/replicate/heal/heal.h"

/* ---- what the copies show ---- */

static bool
types_agree(const struct rep_view *v)
{
  int first = rep_first(v->ok);

  rep_foreach(i, v->ok) if ((v->stat[i].mode & S_IFMT) != (v->stat[first].mode & S_IFMT)) return false;
  return true;
}

static bool
sizes_agree(const struct rep_view *v)
{
  uint32_t holders = v->ok & ~v->rep->arbiter;
  int first = rep_first(holders);

  rep_foreach(i, holders) if (v->stat[i].size != v->stat[first].size) return false;
  return true;
}

/* A copy that lost a change with its power differs, and no mark says so. */
static bool
attributes_agree(const struct rep_view *v)
{
  unsigned first = (unsigned)rep_first(v->ok);

  rep_foreach(i, v->ok) if (!rep_heal_same_metadata(v, first, i)) return false;
  return true;
}

static bool
nowhere(const struct rep_view *v)
{
  rep_foreach(i, v->asked) if (((v->ok >> i) & 1) || (v->err[i] != ENOENT && v->err[i] != ESTALE)) return false;
  return true;
}

int
rep_view_check(struct rep_heal *h, const struct rep_view *v)
{
  uint32_t all = h->rep->all;

  if (v->ok == all) {
    if (types_agree(v))
      return 0;
    h->split_brain = true;
    return -EIO;
  }
  if (nowhere(v))
    return -ENOENT;
  rep_foreach(i, all & ~v->ok) if (v->err[i] != ENOENT && v->err[i] != ESTALE) return -ENOTCONN;
  return -EAGAIN;
}

bool
rep_heal_needed(struct rep_heal *h, enum rep_type type, struct rep_view *v, struct rep_direction *d, int *res)
{
  uint32_t all = h->rep->all;

  rep_view_inode(h, all, v);
  *res = rep_view_check(h, v);
  if (*res)
    return false;
  rep_decide(h, v, type, all, d);
  if (d->split_brain) {
    h->split_brain = true;
    *res = -EIO;
    return false;
  }
  if (d->sinks && d->source >= 0)
    return true;
  *res = rep_view_marked(v, type) ? REP_HEAL_BUSY : REP_HEAL_CLEAN;
  return false;
}

/* ---- locks that somebody holds ---- */

static void
ask_for_locks(const struct rep *rep, struct gi_dict *xdata)
{
  gi_dict_set_uint(xdata, REP_DOMAIN_COUNTS, 0);
  gi_dict_set_uint(xdata, "glusterfs.entrylk-count", 0);
  gi_dict_set_uint(xdata, rep->writers_key, 0);
  gi_dict_set_uint(xdata, rep->healers_key, 0);
}

static bool
counted(const struct rep_view *v, const char *key)
{
  int64_t n;

  rep_foreach(i, v->ok) if (gi_dict_get_int(v->xdata[i], key, &n) && n > 0) return true;
  return false;
}

/* ---- the inspection ---- */

static void
look_at_marks(const struct rep_view *v, struct rep_inspection *in)
{
  uint32_t dirty = 0;

  for (enum rep_type type = 0; type < REP_TYPES; type++)
    rep_foreach(i, v->ok)
    {
      dirty |= v->dirty[type][i] ? 1u << i : 0;
      in->dirty |= v->dirty[type][i] != 0;
      in->dirty_many |= v->dirty[type][i] > 1 || v->dirty[type][i] < 0;
      for (unsigned j = 0; j < v->rep->n; j++)
        in->pending |= v->pending[type][i][j] != 0;
    }
  in->dirty_here = dirty == v->rep->all;
}

static bool
is_split(const struct rep_view *v, enum rep_type type)
{
  struct rep_direction d;

  rep_direction_by_marks(v, type, v->ok, &d);
  return d.split_brain || (v->corrupt & v->ok);
}

static void
judge_view(const struct rep_view *v, struct rep_inspection *in)
{
  bool complete = v->ok == v->rep->all;
  bool garbage = v->corrupt & v->ok; /* a counter that is not one: of what kind is unknown, so of every kind */

  in->mode = v->stat[rep_first(v->ok)].mode;
  in->partial = !complete;
  look_at_marks(v, in);
  in->pending |= garbage;
  if (S_ISDIR(in->mode))
    in->entry = garbage || rep_view_marked(v, REP_ENTRY);
  else
    in->data = garbage || rep_view_marked(v, REP_DATA) || (S_ISREG(in->mode) && !sizes_agree(v));
  in->metadata = garbage || rep_view_marked(v, REP_META) || !attributes_agree(v);
  if (!complete)
    return; /* the missing ones may know better */
  in->split_data = in->data && is_split(v, REP_DATA);
  in->split_metadata = in->metadata && is_split(v, REP_META);
  in->split_entry = in->entry && is_split(v, REP_ENTRY);
}

static void
inspect_view(struct rep_heal *h, struct rep_view *v, struct rep_inspection *in)
{
  struct gi_fop *fop = rep_heal_inode_fop(h, GI_FOP_LOOKUP, h->inode);

  memset(in, 0, sizeof(*in));
  ask_for_locks(h->rep, gi_fop_xdata(fop));
  rep_view_ask(h, fop, h->rep->up, v);
  if (!v->ok) {
    in->err = nowhere(v) && v->asked == h->rep->all ? ENOENT : ENOTCONN;
    return;
  }
  if (!types_agree(v)) {
    in->err = EIO;
    return;
  }
  judge_view(v, in);
  in->busy = counted(v, h->rep->writers_key) || counted(v, "glusterfs.entrylk-count");
  in->healing = counted(v, h->rep->healers_key);
}

void
rep_inspect(struct rep_heal *h, struct rep_inspection *in)
{
  struct rep_view v;

  inspect_view(h, &v, in);
  rep_view_clear(&v);
}

/* ---- the heal ---- */

void
rep_heal_count(struct rep_heal *h, int res)
{
  struct rep_heal_totals *t = &h->rep->metrics.heal;

  t->bytes_read += h->bytes_read;
  t->bytes_written += h->bytes_written;
  t->bytes_near += h->bytes_near;
  t->bytes_compared += h->bytes_compared;
  t->bytes_skipped += h->bytes_skipped;
  t->partial += h->bytes_skipped != 0;
  h->bytes_read = h->bytes_written = h->bytes_near = h->bytes_compared = h->bytes_skipped = 0;
  if (h->split_brain)
    t->split_brain++;
  else if (res < 0)
    t->failed++;
  else if (res == REP_HEAL_BUSY)
    t->skipped++;
}

/* The first failure is told; else that something was healed; else that there was something to heal. */
static int
worse(int have, int next)
{
  if (have < 0 || next < 0)
    return have < 0 ? have : next;
  return have < next ? have : next;
}

static int
heal_parts(struct rep_heal *h, const struct rep_inspection *in)
{
  struct rep_heal_totals *t = &h->rep->metrics.heal;
  int res = REP_HEAL_BUSY, one;

  if (in->data && h->data) {
    res = worse(res, one = rep_heal_data(h));
    t->files += one == REP_HEALED;
  }
  if (in->metadata && h->metadata) {
    res = worse(res, one = rep_heal_metadata(h));
    t->metadata += one == REP_HEALED;
  }
  if (in->entry && h->entry) {
    res = worse(res, one = rep_heal_entry(h));
    t->directories += one == REP_HEALED;
  }
  return res;
}

static int
heal(struct rep_heal *h)
{
  struct rep_inspection in;
  struct rep_view v;
  int res;

  if (h->rep->up != h->rep->all)
    return -ENOTCONN;
  inspect_view(h, &v, &in);
  res = rep_view_check(h, &v);
  rep_view_clear(&v);
  if (res < 0)
    return res;
  rep_inode_type(h->inode, in.mode);
  if (!in.data && !in.metadata && !in.entry)
    return REP_HEAL_CLEAN;
  if (rep_is_written(&in) && in.dirty_here)
    in.data = in.entry = false; /* to look closer would take the lock away from the writer, and compare all of the file */
  res = heal_parts(h, &in);
  rep_inode(h->rep, h->inode)->need_refresh = true;
  return res;
}

int
rep_heal_inode(struct rep_heal *h)
{
  int res;

  GI_CHECK(h, REP_HEAL_MAGIC);
  GI_ASSERT(h->inode && (h->data || h->metadata || h->entry));
  res = heal(h);
  GI_ASSERT(res <= REP_HEAL_CLEAN);
  rep_heal_count(h, res);
  return res;
}
