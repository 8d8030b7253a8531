/* SPDX-License-Identifier: Apache-2.0
 *
 * INODELK and FINODELK: byte ranges in a domain (brick.md 9.2).
 *
 * The range 2^63-2 with length 0 belongs to metadata transactions and lives in
 * a domain of its own, so that it never meets a lock on the whole file.
 */
#include "xlators/features/locks/locks.h"

bool
lk_inode_overlap(const struct lk_lock *a, const struct lk_lock *b)
{
  return (a->type == GI_LK_WRITE || b->type == GI_LK_WRITE) && a->start <= b->last && b->start <= a->last;
}

bool
lk_range(const struct gi_flock *flock, bool back, uint64_t *start, uint64_t *last)
{
  int64_t s = (int64_t)flock->start, n = (int64_t)flock->len;
  if (s < 0 || n == INT64_MIN)
    return false;
  if (n < 0) {
    if (!back || s + n < 0 || s == 0)
      return false;
    *start = (uint64_t)(s + n);
    *last = (uint64_t)(s - 1);
    return true;
  }
  *start = (uint64_t)s;
  *last = n == 0 || (uint64_t)s + (uint64_t)n - 1 > LK_LAST ? LK_LAST : (uint64_t)s + (uint64_t)n - 1;
  return true;
}

/* The domain a request really means. */
static const char *
domain_of(struct gi_fop *fop)
{
  const char *d = fop->args.domain;
  if (fop->args.flock.start != LK_METADATA_START || fop->args.flock.len != 0)
    return d;
  if (lk_ends_with(d, LK_METADATA_SUFFIX))
    return d;
  size_t len = strlen(d), slen = strlen(LK_METADATA_SUFFIX);
  char *m = gi_fop_alloc(fop, len + slen + 1);
  memcpy(m, d, len);
  memcpy(m + len, LK_METADATA_SUFFIX, slen + 1);
  return m;
}

enum gi_verdict
lk_inodelk(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct gi_flock *f = &fop->args.flock;
  if (fop->args.cmd == GI_LKCMD_GET)
    return gi_fop_fail(fop, EOPNOTSUPP);
  if (fop->args.cmd > GI_LKCMD_SETW || f->type > GI_LK_UNLOCK || !fop->args.domain || lk_owner_check(fop) != 0)
    return gi_fop_fail(fop, EINVAL);
  if (!gi_fop_inode(fop))
    return gi_fop_fail(fop, ESTALE);
  struct lk_lock proto = {.type = f->type, .len = f->len};
  if (!lk_range(f, false, &proto.start, &proto.last))
    return gi_fop_fail(fop, EINVAL);
  lk_who_set(&proto.who, fop);
  const char *domain = domain_of(fop);
  if (f->type == GI_LK_UNLOCK)
    return lk_queue_unlock(x, fop, LK_INODE, domain, &proto);
  return lk_queue_lock(x, fop, LK_INODE, domain, &proto, fop->args.cmd == GI_LKCMD_SETW);
}
