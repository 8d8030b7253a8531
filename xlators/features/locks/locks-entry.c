/* SPDX-License-Identifier: Apache-2.0
 *
 * ENTRYLK and FENTRYLK: names in a directory (brick.md 9.3). A request without
 * a name locks every name. All are exclusive whatever their type.
 */
#include "xlators/features/locks/locks.h"

bool
lk_entry_overlap(const struct lk_lock *a, const struct lk_lock *b)
{
  return !a->name || !b->name || strcmp(a->name, b->name) == 0;
}

enum gi_verdict
lk_entrylk(struct gi_xlator *x, struct gi_fop *fop)
{
  if (fop->args.cmd > GI_ENTRYLK_NB || fop->args.type > 1 || !fop->args.domain || lk_owner_check(fop) != 0)
    return gi_fop_fail(fop, EINVAL);
  if (!gi_fop_inode(fop))
    return gi_fop_fail(fop, ESTALE);
  struct lk_lock proto = {.type = fop->args.type, .name = (char *)fop->args.name};
  lk_who_set(&proto.who, fop);
  if (fop->args.cmd == GI_ENTRYLK_UNLOCK)
    return lk_queue_unlock(x, fop, LK_ENTRY, fop->args.domain, &proto);
  return lk_queue_lock(x, fop, LK_ENTRY, fop->args.domain, &proto, fop->args.cmd == GI_ENTRYLK_LOCK);
}
