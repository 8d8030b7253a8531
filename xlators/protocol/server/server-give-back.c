/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client gives back with a message (rpc/give-back.h), as ordinary
 * operations before the one it came with, which waits for them: the client relies
 * on never meeting a lock that it has given back.
 */
#include "xlators/protocol/server/server.h"
#include "libglusterish/probe.h"
#include "rpc/give-back.h"

#include <errno.h>

#define GIVING_MAGIC 0x5e276177u
#define COUNTERS_BYTES 28u /* the least that counters take in a message */
#define COUNTERS_MAX 64u

struct sv_giving {
  uint32_t magic;
  struct server *sv;
  struct sv_client *c; /* referenced */
  struct gi_fop *fop;  /* to go on with; NULL: none */
  int err;             /* it is refused with */
  unsigned waiting;    /* what is under way, and one while it is sent */
  unsigned ncounters;
  struct sv_counters *counters; /* in their order; owned */
};

/* what came of one change of counters */
struct sv_counters {
  struct sv_giving *g;
  int err;
  struct gi_dict *values; /* owned */
};

/* For the answer of the operation. */
static void
keep_outcomes(struct sv_giving *g)
{
  struct gi_xdr_out out = {0};

  for (unsigned i = 0; i < g->ncounters; i++) {
    gi_give_back_put_outcome(&out, g->counters[i].err, g->counters[i].values);
    gi_dict_unref(&g->counters[i].values);
  }

  struct sv_fop *f = gi_fop_private(g->fop, g->sv->x);

  GI_ASSERT(!f->given.len);
  f->given = out;
}

void
sv_give_back_tell(struct gi_fop *fop, struct sv_fop *f)
{
  GI_ASSERT(f->given.len > 0);
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), GI_GIVE_BACK_KEY, f->given.base, (uint32_t)f->given.len);
  gi_xdr_out_finish(&f->given);
}

static void
given(struct sv_giving *g)
{
  GI_CHECK(g, GIVING_MAGIC);
  GI_ASSERT(g->waiting > 0);
  if (--g->waiting)
    return;
  if (g->ncounters)
    keep_outcomes(g);
  if (g->fop)
    sv_go(g->sv, g->fop, g->err);
  sv_client_unref(g->c);
  gi_free(g->counters);
  g->magic = 0;
  gi_free(g);
}

static void
unlocked(struct gi_fop *f, void *arg)
{
  if (f->rsp.ret < 0)
    GI_PROBE("server: what a client gives back is not there");
  gi_fop_unref(f);
  given(arg);
}

static void
added(struct gi_fop *f, void *arg)
{
  struct sv_counters *n = arg;

  n->err = f->rsp.ret < 0 ? f->rsp.err : 0;
  n->values = gi_dict_ref(f->rsp.dict);
  gi_fop_unref(f);
  given(n->g);
}

/* Through the descriptor, as the operation would have been: the file may have no name any more. */
static void
add_counters(struct sv_giving *g, struct sv_counters *n, struct gi_give_back *what)
{
  struct gi_fd *fd = sv_fd_get(g->c, what->handle);
  struct gi_fop *f = gi_fop_helper(g->fop, fd && fd->inode ? GI_FOP_FXATTROP : GI_FOP_XATTROP);
  const struct gi_gfid *gfid =
      gi_gfid_is_root(&what->lock.gfid) && !gi_gfid_is_none(&g->c->subdir) ? &g->c->subdir : &what->lock.gfid;

  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = what->counters;
  what->counters = NULL;
  if (f->kind == GI_FOP_FXATTROP)
    gi_fop_set_fd(f, fd);
  else {
    f->loc.inode = gi_inode_get(f->graph, gfid);
    f->loc.gfid = *gfid;
  }
  n->g = g;
  g->waiting++;
  gi_fop_submit(f, g->c->bound, added, n);
}

static void
give(struct sv_giving *g, const struct gi_give_back *what)
{
  struct gi_fop *f;

  if (what->what == GI_GIVE_DESCRIPTOR) {
    sv_fd_close(g->c, what->handle);
    return;
  }
  if (sv_owner_is_null(&what->owner) || g->c->gone)
    return;
  f = gi_fop_new(g->sv->x->graph, what->lock.entry ? GI_FOP_ENTRYLK : GI_FOP_INODELK);
  f->caller.client = g->c;
  sv_set_lock(f, &what->owner, what->domain, &what->lock, true);
  f->args.domain = gi_fop_strdup(f, what->domain, strlen(what->domain)); /* it may be on its way when the next one is decoded */
  if (f->args.name)
    f->args.name = gi_fop_strdup(f, f->args.name, strlen(f->args.name));
  g->waiting++;
  gi_fop_submit(f, g->c->bound, unlocked, g);
}

bool
sv_give_back(struct sv_client *c, const struct gi_dict *xdata, struct gi_fop *fop, int err)
{
  struct sv_giving *g;
  struct gi_give_back what;
  const void *data;
  uint32_t len;

  GI_CHECK(c, SV_CLIENT_MAGIC);
  if (!gi_dict_get_bin(xdata, GI_GIVE_BACK_KEY, &data, &len))
    return false;
  g = gi_new(struct sv_giving);
  *g = (struct sv_giving){.magic = GIVING_MAGIC, .sv = c->sv, .c = sv_client_ref(c), .fop = fop, .err = err, .waiting = 1};

  struct gi_xdr_in in = {data, (const uint8_t *)data + len, false};
  unsigned most = len / COUNTERS_BYTES < COUNTERS_MAX ? len / COUNTERS_BYTES : COUNTERS_MAX; /* they must not move */

  g->counters = most ? gi_zalloc(most * sizeof(*g->counters)) : NULL;

  while (gi_give_back_next(&in, &what)) {
    if (what.what != GI_GIVE_COUNTERS) {
      give(g, &what);
    } else if (fop && g->ncounters < most) {
      add_counters(g, &g->counters[g->ncounters++], &what);
    } else {
      in.failed = true;
    }
    gi_dict_unref(&what.counters);
  }
  if (in.failed) {
    GI_PROBE("server: what a client gives back is malformed");
    g->err = g->err ? g->err : EINVAL;
  }
  if (fop)
    gi_dict_del(gi_fop_xdata(fop), GI_GIVE_BACK_KEY);
  given(g);
  return true;
}
