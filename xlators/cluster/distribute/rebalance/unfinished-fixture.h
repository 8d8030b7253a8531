/* SPDX-License-Identifier: Apache-2.0
 *
 * A move that all but ended when whoever moved the file was killed, and what is noted of its end.
 */
#ifndef DI_UNFINISHED_FIXTURE_H
#define DI_UNFINISHED_FIXTURE_H

#include "xlators/cluster/distribute/rebalance/walk-fixture.h"

static char done[256]; /* to the target: T times, M mode, X the linkto attribute goes, A further attributes */

static void
note(char what)
{
  size_t len = strlen(done);

  GI_ASSERT(len + 1 < sizeof(done));
  done[len] = what;
}

/* Its copy is the file already, and names it; whoever moved it was killed. */
static void
say_unfinished(struct gi_fop *fop, void *arg)
{
  bool target = *(const unsigned *)arg == 1;
  const char *to = target ? "child-0" : "child-1";

  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | (target ? 0644 : 0644 | DI_MOVING));
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", to, (uint32_t)strlen(to) + 1);
  if (!target)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), DI_SIZE_KEY, "", 1);
}

/* Somebody has added to it on the source, and did not reach the target. */
static void
say_added(struct gi_fop *fop, void *arg)
{
  bool added = *(const unsigned *)arg == 0 || strchr(done, 'S');

  if (!fop->args.name || strcmp(fop->args.name, DI_SIZE_KEY) != 0)
    return;
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_bin(fop->rsp.dict, DI_SIZE_KEY, added ? "2" : "1", 1);
}

static void
see_added(struct gi_fop *fop, void *arg)
{
  if (gi_dict_get(fop->args.dict, DI_SIZE_KEY))
    note('S');
}

/* L: the lock of the size is taken, l: it is given back; S: the target gets the size; m: the source is what it is to be. */
static void
see_size_lock(struct gi_fop *fop, void *arg)
{
  if (strcmp(fop->args.domain, ((struct di *)arg)->size_domain) == 0)
    note(fop->args.type == GI_LK_UNLOCK ? 'l' : 'L');
}

static void
see_retired(struct gi_fop *fop, void *arg)
{
  note(fop->args.iatt.mode == (S_IFREG | GI_LINKTO_MODE) ? 'm' : '?');
}

#endif
