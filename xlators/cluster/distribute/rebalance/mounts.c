/* SPDX-License-Identifier: Apache-2.0
 *
 * Who has the volume mounted hears of a new subvolume a moment later than the
 * rebalance that fills it, or much later, if it has lost its management daemon.
 * Until then it would rename and remove directories on the old subvolumes alone,
 * and search files there. So the rebalance begins when all mounts that one
 * subvolume has are connected to the others too.
 *
 * A mount of GlusterFS, or one whose bricks are of GlusterFS, may make a name
 * where it belonged by an older layout.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"

#include "libglusterish/bigendian.h"
#include "libglusterish/extension.h"
#include "libglusterish/log.h"

#include <stdlib.h>

#define PATIENCE 60 /* seconds */

struct mounts {
  uint32_t n;
  uint64_t *who; /* sorted */
};

static int
by_number(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return (x > y) - (x < y);
}

static void
read_mounts(struct mounts *m, const struct gi_fop *reply)
{
  const void *bytes;
  uint32_t len;

  if (!gi_dict_get_bin(reply->rsp.dict, GI_MOUNTS_KEY, &bytes, &len) || len < 8)
    return;
  m->n = len / 8;
  m->who = gi_alloc(m->n * sizeof(*m->who));
  for (uint32_t i = 0; i < m->n; i++)
    m->who[i] = gi_be64_load((const uint8_t *)bytes + 8 * i);
  qsort(m->who, m->n, sizeof(*m->who), by_number);
}

static bool
has(const struct mounts *m, uint64_t who)
{
  return m->n && bsearch(&who, m->who, m->n, sizeof(who), by_number);
}

/* Mounts that some subvolumes of `told` have and others not. */
static unsigned
behind(const struct di *d, const struct mounts *m, uint64_t told)
{
  unsigned n = 0;

  di_foreach(i, told) for (uint32_t k = 0; k < m[i].n; k++)
  {
    bool all = true;

    di_foreach(j, told) all = all && has(&m[j], m[i].who[k]);
    n += !all;
  }
  GI_ASSERT(!(told & ~di_all(d)));
  return n;
}

static void
ask_all(struct di_reb *r, struct di_ask *ask)
{
  struct gi_fop *fop = di_helper(r->base, GI_FOP_GETXATTR);

  fop->loc.gfid = gi_gfid_root;
  fop->args.name = GI_MOUNTS_KEY;
  di_ask_copy(r->d, ask, fop, di_all(r->d));
  gi_fop_unref(fop);
}

/* Subvolumes that cannot say, for they are not ours or down, are left out. */
static unsigned
look(struct di_reb *r)
{
  struct di *d = r->d;
  struct mounts m[DI_MAX] = {0};
  struct di_ask ask;
  unsigned n;

  ask_all(r, &ask);
  di_foreach(i, ask.fan.ok) read_mounts(&m[i], gi_fan_reply(&ask.fan, (unsigned)i));
  n = behind(d, m, ask.fan.ok);
  di_ask_end(&ask);
  for (unsigned i = 0; i < d->n; i++)
    gi_free(m[i].who);
  return n;
}

bool
di_reb_all_ours(struct di_reb *r)
{
  struct di_ask ask;
  bool ours = true;

  GI_ASSERT(r->d->n > 0 && r->d->n <= DI_MAX);
  ask_all(r, &ask);
  for (unsigned i = 0; i < r->d->n; i++) {
    const struct gi_fop *reply = gi_fan_reply(&ask.fan, i);
    int64_t others;

    ours = ours && (ask.fan.ok >> i & 1) && gi_dict_get_int(reply->rsp.dict, GI_OTHER_MOUNTS_KEY, &others) && others == 0;
  }
  di_ask_end(&ask);
  return ours;
}

void
di_reb_await_mounts(struct di_reb *r)
{
  unsigned n = 0;

  GI_ASSERT(r->base && r->base->caller.pid == GI_PID_REBALANCE);
  for (unsigned i = 0; i < PATIENCE && di_reb_all_up(r) && (n = look(r)) > 0; i++)
    gi_task_sleep(r->d->x->reactor, GI_NSEC_PER_SEC);
  if (n && !r->stopping)
    gi_log(GI_LOG_WARNING, r->d->x->name, GI_MSG_DISTRIBUTE + 24,
           "%u mounts have not connected to all subvolumes in %d s: the rebalance begins without them", n, PATIENCE);
}
