/* SPDX-License-Identifier: Apache-2.0
 *
 * The commit hash (distribute.md 3.1). Each rebalance that moves files has one
 * of its own, which the layouts that it writes bear. When all files are where
 * their names belong, or have a linkto file there, the root of the volume gets
 * it: who finds nothing where a name belongs need not search.
 *
 * It gets it in an attribute of ours, if all bricks and mounts are ours: others
 * make names by layouts that they have not yet heard to be old ones. A client of GlusterFS that has heard of a
 * commit hash does not look whether the layout is still the same: while the next
 * rebalance moves files it takes names for missing that were moved.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"

#include "libglusterish/extension.h"
#include "libglusterish/log.h"
#include "libglusterish/mutants.h"

#include <stdio.h>

/* What clients were told of an earlier one does not hold of directories that get another layout now. */
static void
withdraw(struct di_reb *r, const char *key)
{
  struct gi_fop *fop = di_own_fop(r->base, GI_FOP_REMOVEXATTR, &gi_gfid_root);
  struct di_ask ask;

  fop->args.name = key;
  gi_dict_set_int(gi_fop_xdata(fop), GI_DURABLE_KEY, 1); /* or it is there again after a loss of power, when files have moved */
  di_ask_copy(r->d, &ask, fop, di_all(r->d));            /* where there was none it fails */
  di_ask_end(&ask);
  gi_fop_unref(fop);
}

static void
publish(struct di_reb *r)
{
  struct gi_fop *fop = di_own_fop(r->base, GI_FOP_SETXATTR, &gi_gfid_root);
  struct di_ask ask;
  char text[16];

  GI_ASSERT(r->commit > DI_NO_COMMIT);
  snprintf(text, sizeof(text), "%u", r->commit);
  fop->args.dict = gi_dict_new();
  gi_dict_set_bin(fop->args.dict, r->d->committed_key, text, (uint32_t)strlen(text) + 1);
  gi_dict_set_int(gi_fop_xdata(fop), GI_DURABLE_KEY, 1);
  di_ask_copy(r->d, &ask, fop, di_all(r->d)); /* one subvolume that has it is enough, and none loses nothing but speed */
  di_ask_end(&ask);
  gi_fop_unref(fop);
}

void
di_reb_commit_begin(struct di_reb *r)
{
  uint32_t was = r->d->stamp;

  r->unsure = !di_reb_all_ours(r);
  withdraw(r, r->d->commit_key);
  withdraw(r, r->d->committed_key);
  r->commit = r->d->commit = r->d->stamp = DI_NO_COMMIT;
  while (r->command != DI_REB_LAYOUT && (r->commit <= DI_NO_COMMIT || r->commit == was))
    gi_random(r->d->x->reactor, &r->commit, sizeof(r->commit));
  if (r->command != DI_REB_LAYOUT && GI_BROKEN("trust layouts before files have moved"))
    publish(r);
}

void
di_reb_commit_end(struct di_reb *r)
{
  if (r->command == DI_REB_LAYOUT || r->stopping)
    return;
  if (!r->failures && !r->unsure && di_reb_all_ours(r))
    publish(r);
  else
    gi_log(GI_LOG_INFO, r->d->x->name, GI_MSG_DISTRIBUTE + 25,
           "names that are missing are searched on all subvolumes: not all files are where they belong, or a mount or a brick "
           "is of "
           "GlusterFS, and that is not known");
}

int
di_reb_announce(struct di_reb *r, const struct gi_loc *loc)
{
  struct di *d = r->d;
  struct gi_iatt stat;
  struct di_found f;
  const struct di_layout *l;
  int at, hashed, err = di_resolve(d, r->base, loc, &at, &stat);

  GI_ASSERT(loc->name && loc->parent);
  if (err) {
    r->unsure = r->unsure || !di_is_gone(err);
    return err;
  }
  l = di_layout_known(d, loc->parent);
  hashed = l ? di_hashed(d, l, loc->name) : -1;
  if (hashed < 0) {
    r->unsure = true;
  } else if (hashed != at) {
    di_find(d, r->base, loc, 1ull << hashed, &f);
    r->unsure = r->unsure || f.absent || f.failed;
    di_found_end(&f);
  }
  return 0;
}
