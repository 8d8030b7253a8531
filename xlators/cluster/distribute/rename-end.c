/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory's rename that was left in the middle comes to its end: it has one
 * name on all subvolumes then.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/extension.h"

#include <errno.h>

uint64_t
di_found_of(const struct di_found *f, const struct gi_gfid *gfid)
{
  uint64_t has = f->dir;

  di_foreach(i, f->dir) if (!gi_gfid_equal(&gi_fan_reply(&f->ask.fan, (unsigned)i)->rsp.stat.gfid, gfid)) has &= ~(1ull << i);
  return has;
}

int
di_rename_dir_on(struct di *d, struct gi_fop *fop, uint64_t mask, bool back, uint64_t *done)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_RENAME);
  struct di_ask ask;
  int err;

  GI_ASSERT(mask && !(mask & ~di_all(d)));
  gi_loc_copy_name(&h->loc, back ? &fop->loc2 : &fop->loc);
  gi_loc_copy_name(&h->loc2, back ? &fop->loc : &fop->loc2);
  gi_dict_set_int(gi_fop_xdata(h), GI_DURABLE_KEY, 1);
  di_ask_copy(d, &ask, h, mask);
  err = di_ask_refusal(&ask);
  if (!err && ask.fan.ok != mask)
    err = ESTALE; /* it is there: where it goes is not */
  *done = ask.fan.ok;
  di_ask_end(&ask);
  gi_fop_unref(h);
  return err;
}

/* Those of `mask` went back, and have nothing under the new name any more: what the others have there was replaced on them. */
static void
restore_replaced(struct di *d, struct gi_fop *rename, const struct gi_gfid *gfid, uint64_t mask)
{
  uint64_t others = di_all(d) & ~mask, has;
  struct gi_iatt stat;
  struct di_found f;

  if (!mask || !others)
    return;
  di_find(d, rename, &rename->loc2, others, &f);
  has = f.dir & ~di_found_of(&f, gfid);
  if (has)
    stat = gi_fan_reply(&f.ask.fan, (unsigned)__builtin_ctzll(has))->rsp.stat;
  has = has ? di_found_of(&f, &stat.gfid) : 0;
  di_found_end(&f);
  if (has)
    di_make_again(d, rename, &rename->loc2, &stat, mask, has);
}

int
di_rename_dir_end(struct di *d, struct gi_fop *rename, const struct gi_gfid *gfid, int decides)
{
  struct di_found f;
  uint64_t src, dst, failed, done = 0;
  bool decided;
  int err = 0;

  di_find(d, rename, &rename->loc, di_all(d), &f);
  src = di_found_of(&f, gfid);
  failed = f.failed;
  di_found_end(&f);
  di_find(d, rename, &rename->loc2, di_all(d), &f);
  dst = di_found_of(&f, gfid);
  failed |= f.failed;
  di_found_end(&f);
  if (decides >= 0 && (failed >> decides & 1))
    return ENOTCONN;
  decided = decides < 0 || !((src | dst) >> decides & 1) ? dst != 0 : dst >> decides & 1;
  if (decided && src)
    err = di_rename_dir_on(d, rename, src, false, &done);
  dst |= done;
  if (dst && (!decided || (err && err != ENOTCONN))) { /* one that refuses to go on: the others go back */
    err = di_rename_dir_on(d, rename, dst, true, &done);
    restore_replaced(d, rename, gfid, done);
  }
  return !err && failed ? ENOTCONN : err;
}
