/* SPDX-License-Identifier: Apache-2.0
 *
 * Lock counters in replies (brick.md 4.1): how many locks are held or waited
 * for on the objects of a fop, as of its completion, if the request asked.
 */
#include "xlators/features/locks/locks.h"

#define LK_MULTI_PREFIX "glusterfs.inodelk-dom-prefix:"

static unsigned
key_bit(const struct gi_pair *p)
{
  static const char prefix[] = "glusterfs.";
  const unsigned plen = sizeof(prefix) - 1;
  if (p->key_len < 22 || memcmp(p->key, prefix, plen) != 0)
    return 0;
  const char *rest = p->key + plen;
  switch (p->key_len - plen) {
  case 13:
    if (memcmp(rest, "inodelk-count", 13) == 0)
      return LK_COUNT_INODE;
    if (memcmp(rest, "entrylk-count", 13) == 0)
      return LK_COUNT_ENTRY;
    return memcmp(rest, "posixlk-count", 13) == 0 ? LK_COUNT_POSIX : 0;
  case 14:
    return memcmp(rest, "parent-entrylk", 14) == 0 ? LK_COUNT_PARENT_ENTRY : 0;
  case 17:
    return memcmp(rest, "inodelk-dom-count", 17) == 0 ? LK_COUNT_DOMAIN : 0;
  case 20:
    return memcmp(rest, "multi-dom-lk-cnt-req", 20) == 0 ? LK_COUNT_MULTI : 0;
  default:
    return 0;
  }
}

enum gi_verdict
lk_counts(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  if ((lk_options(x)->mandatory != LK_MANDATORY_OFF) && lk_mandatory_wants(x, fop))
    lf->learn = true;
  unsigned bits = 0;
  uint32_t n = gi_dict_count(fop->xdata);
  for (uint32_t i = 0; i < n; i++)
    bits |= key_bit(gi_dict_at(fop->xdata, i));
  lf->counts = (uint8_t)bits;
  return bits || lf->learn ? GI_PASS_TELL : GI_PASS;
}

static int64_t
count_kind(const struct lk_inode *li, enum lk_kind kind)
{
  int64_t n = 0;
  gi_list_foreach(d, &li->domains, struct lk_domain, link)
    n += d->queue[kind].ngranted + d->queue[kind].nblocked;
  return n;
}

static int64_t
count_domain(const struct lk_inode *li, const char *name)
{
  const struct lk_domain *d = lk_domain_find(li, name);
  return d ? d->queue[LK_INODE].ngranted + d->queue[LK_INODE].nblocked : 0;
}

/* The objects a fop is about: at most three. */
static unsigned
objects(struct gi_xlator *x, struct gi_fop *fop, const struct lk_inode *out[3])
{
  unsigned n = 0;
  struct gi_inode *target = fop->kind == GI_FOP_LOOKUP ? NULL : gi_fop_inode(fop);
  if (target && lk_inode_peek(x, target))
    out[n++] = lk_inode_peek(x, target);
  if (fop->loc2.inode && lk_inode_peek(x, fop->loc2.inode))
    out[n++] = lk_inode_peek(x, fop->loc2.inode);
  if (!target && gi_iatt_valid(&fop->rsp.stat) && !gi_gfid_is_none(&fop->rsp.stat.gfid)) {
    struct gi_inode *inode = gi_inode_find(fop->graph, &fop->rsp.stat.gfid);
    if (inode) {
      const struct lk_inode *li = lk_inode_peek(x, inode);
      gi_inode_unref(&inode); /* an inode with locks holds itself */
      if (li && li->users)
        out[n++] = li;
    }
  }
  return n;
}

static int64_t
largest(const struct lk_inode *const *li, unsigned n, unsigned what, const char *domain)
{
  int64_t max = 0;
  for (unsigned i = 0; i < n; i++) {
    int64_t v = what == LK_COUNT_INODE   ? count_kind(li[i], LK_INODE)
                : what == LK_COUNT_ENTRY ? count_kind(li[i], LK_ENTRY)
                : what == LK_COUNT_POSIX ? (int64_t)lk_posix_count(li[i])
                                         : count_domain(li[i], domain);
    max = v > max ? v : max;
  }
  return max;
}

static bool
parent_locked(struct gi_xlator *x, const struct gi_fop *fop)
{
  if (!fop->loc.name)
    return false;
  struct gi_inode *parent = fop->loc.parent                      ? gi_inode_ref(fop->loc.parent)
                            : gi_gfid_is_none(&fop->loc.pargfid) ? NULL
                                                                 : gi_inode_find(fop->graph, &fop->loc.pargfid);
  const struct lk_inode *li = lk_inode_peek(x, parent);
  bool found = false;
  if (li && li->users) {
    gi_list_foreach(d, &li->domains, struct lk_domain, link) {
      gi_list_foreach(l, &d->queue[LK_ENTRY].granted, struct lk_lock, link)
        found = found || (l->name && strcmp(l->name, fop->loc.name) == 0);
    }
  }
  gi_inode_unref(&parent);
  return found;
}

static void
fill_multi(struct gi_fop *fop, const struct lk_inode *const *li, unsigned n)
{
  const size_t plen = sizeof(LK_MULTI_PREFIX) - 1;
  for (uint32_t i = 0; i < gi_dict_count(fop->xdata); i++) {
    const struct gi_pair *p = gi_dict_at(fop->xdata, i);
    if (p->key_len > plen && memcmp(p->key, LK_MULTI_PREFIX, plen) == 0)
      gi_dict_set_int(gi_fop_rsp_xdata(fop), p->key, largest(li, n, LK_COUNT_DOMAIN, p->key + plen));
  }
}

void
lk_counts_fill(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct lk_fop *lf = gi_fop_private(fop, x);
  const struct lk_inode *li[3];
  unsigned n = objects(x, fop, li);
  struct gi_dict *out = gi_fop_rsp_xdata(fop);
  const char *domain;
  if (lf->counts & LK_COUNT_INODE)
    gi_dict_set_int(out, "glusterfs.inodelk-count", largest(li, n, LK_COUNT_INODE, NULL));
  if ((lf->counts & LK_COUNT_DOMAIN) && gi_dict_get_str(fop->xdata, "glusterfs.inodelk-dom-count", &domain))
    gi_dict_set_int(out, "glusterfs.inodelk-count", largest(li, n, LK_COUNT_DOMAIN, domain));
  if (lf->counts & LK_COUNT_ENTRY)
    gi_dict_set_int(out, "glusterfs.entrylk-count", largest(li, n, LK_COUNT_ENTRY, NULL));
  if (lf->counts & LK_COUNT_POSIX)
    gi_dict_set_int(out, "glusterfs.posixlk-count", largest(li, n, LK_COUNT_POSIX, NULL));
  if (lf->counts & LK_COUNT_PARENT_ENTRY)
    gi_dict_set_int(out, "glusterfs.parent-entrylk", parent_locked(x, fop));
  if (lf->counts & LK_COUNT_MULTI)
    fill_multi(fop, li, n);
}
