/* SPDX-License-Identifier: Apache-2.0
 *
 * The regions of a file that a data session has written. At its end the session
 * tells them to the bricks that blame a child, and the healer then need not
 * compare the whole file.
 *
 * A child that fails in the middle may lose what it acknowledged since the last
 * fsync that succeeded everywhere. A child that was away lacks the whole session.
 * Sessions end durable, so nothing older is lost, with one exception: appends are
 * not synced, and a lost one shows in the size. Where more than that may be lost
 * the session tells nothing, and the healer compares everything.
 */
#include "xlators/cluster/replicate/txn/txn.h"

#include "libglusterish/probe.h"

#include <fcntl.h>

static bool
all_take_part(const struct rep_txn *t)
{
  return t->active == t->rep->all;
}

static bool
appends(const struct gi_fop *fop)
{
  return ((uint32_t)(fop->fd ? fop->fd->flags : 0) | fop->args.flags) & O_APPEND;
}

/* Where the file ended before, as the copies say; 0 if nobody does. */
static uint64_t
old_end(const struct rep *rep, const struct gi_fan *fan)
{
  uint64_t end = UINT64_MAX;

  rep_foreach(i, fan->ok & ~rep->arbiter) if (gi_fan_reply(fan, i)->rsp.pre.size < end) end =
      gi_fan_reply(fan, i)->rsp.pre.size;
  return end == UINT64_MAX ? 0 : end;
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* What lies behind the old end of a copy need not be told: the healer copies that anyway. */
static void
wrote(struct rep_txn *t, const struct gi_fop *fop, const struct gi_fan *fan)
{
  uint64_t start = fop->kind == GI_FOP_COPY_FILE_RANGE ? fop->args.offset2 : fop->args.offset;
  uint64_t end = UINT64_MAX;

  switch (fop->kind) {
  case GI_FOP_WRITE:
    if (appends(fop)) { /* where it lands is the brick's choice */
      start = smaller(start, old_end(t->rep, fan));
      break;
    }
    /* fall through */
  case GI_FOP_FALLOCATE:
  case GI_FOP_DISCARD:
  case GI_FOP_ZEROFILL:
  case GI_FOP_COPY_FILE_RANGE:
    if (fop->args.size < UINT64_MAX - start)
      end = start + fop->args.size;
    break;
  case GI_FOP_OPEN:
  case GI_FOP_TRUNCATE:
  case GI_FOP_FTRUNCATE:
    start = smaller(start, old_end(t->rep, fan));
    break;
  default:
    start = 0;
    break;
  }
  GI_ASSERT(t->type == REP_DATA && start <= end);
  gi_regions_add(&t->wrote.fresh, start, end, GI_REGIONS_SESSION);
  /* Told early, so that it need not be coarse. */
  if (!all_take_part(t) && t->wrote.fresh.n > GI_REGIONS_SESSION / 2)
    t->closing = true;
}

/* ---- fsync ---- */

void
rep_regions_syncing(struct rep_txn *t, const struct gi_fop *fsync)
{
  if (!all_take_part(t) || t->wrote.settler)
    return;
  t->wrote.settler = fsync;
  t->wrote.settling = t->wrote.fresh;
  t->wrote.fresh = (struct gi_regions){0};
}

/* A failed fsync may be about something much older. A child that is gone has not failed in that way. */
static void
look_for_losses(struct rep_txn *t, const struct gi_fan *fan)
{
  rep_foreach(i, fan->failed) if (!gi_fan_reply(fan, i) || gi_fan_reply(fan, i)->rsp.err != ENOTCONN) t->wrote.unknown = true;
}

static void
synced(struct rep_txn *t, const struct gi_fop *fop, const struct rep_fop *rf)
{
  if (rf->must_fail || (rf->syncs && rep_outcome_lost(&rf->fan)))
    t->wrote.unknown = true;
  if (!rf->syncs)
    look_for_losses(t, &rf->fan);
  if (t->wrote.settler != fop)
    return;
  t->wrote.settler = NULL;
  if (rf->fan.ok != t->rep->all || !rep_outcome_synced(&rf->fan))
    gi_regions_merge(&t->wrote.fresh, &t->wrote.settling, GI_REGIONS_SESSION);
  gi_regions_clear(&t->wrote.settling);
}

void
rep_regions_sync_failed(struct rep_txn *t, const struct gi_fan *fan)
{
  look_for_losses(t, fan);
}

void
rep_regions_watch(struct rep_txn *t, struct gi_fop *fop)
{
  const struct rep_fop *rf = rep_fop(t->rep, fop);

  if (fop->kind == GI_FOP_FSYNC || rf->syncs)
    synced(t, fop, rf);
  if (fop->kind != GI_FOP_FSYNC)
    wrote(t, fop, &rf->fan);
}

/* ---- telling ---- */

static void
put_log(struct gi_fop *xattrop, const struct gi_region_log *log)
{
  uint32_t len;
  GI_CLEANUP_FREE void *data = gi_region_log_encode(log, &len);

  gi_dict_set_bin(gi_fop_xdata(xattrop), GI_REGIONS_KEY, data, len);
}

bool
rep_regions_told_to(const struct rep_txn *t, unsigned i)
{
  return t->type == REP_DATA && ((t->rep->regions >> i) & 1);
}

/* Nothing was written yet. Should the session never tell, then dirty stays beside this, and nobody believes it. */
void
rep_regions_announce(struct rep_txn *t, unsigned i, uint32_t blame, struct gi_fop *xattrop)
{
  struct gi_region_log log = {0};

  if (!rep_regions_told_to(t, i))
    return;
  rep_foreach(j, blame)
  {
    struct gi_region_note *note = gi_region_log_add(&log, t->rep->pending_key[j]);

    if (note)
      note->count = 1;
  }
  put_log(xattrop, &log);
  gi_region_log_clear(&log);
}

void
rep_regions_tell(struct rep_txn *t, unsigned i, struct gi_fop *xattrop)
{
  struct rep *rep = t->rep;
  struct gi_region_log log = {0};

  if (!rep_regions_told_to(t, i))
    return;
  if (t->wrote.unknown || t->keep_dirty || !rep_opts(rep)->ensure_durability) {
    GI_PROBE("replicate: a session that cannot tell what a copy lacks");
    return;
  }
  rep_foreach(j, t->blame[i])
  {
    struct gi_region_note *note = gi_region_log_add(&log, rep->pending_key[j]);

    if (!note)
      continue;
    note->count = 1;
    note->dirty = (t->marking >> j) & 1;
    gi_regions_merge(&note->set, &t->wrote.fresh, GI_REGIONS_SESSION);
  }
  put_log(xattrop, &log);
  gi_region_log_clear(&log);
}

void
rep_regions_forget(struct rep_txn *t)
{
  gi_regions_clear(&t->wrote.fresh);
  gi_regions_clear(&t->wrote.settling);
}
