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

struct sv_giving {
  uint32_t magic;
  struct server *sv;
  struct sv_client *c; /* referenced */
  struct gi_fop *fop;  /* to go on with; NULL: none */
  int err;             /* it is refused with */
  unsigned waiting;    /* unlocks under way, and one while they are sent */
};

static void
given(struct sv_giving *g)
{
  GI_CHECK(g, GIVING_MAGIC);
  GI_ASSERT(g->waiting > 0);
  if (--g->waiting)
    return;
  if (g->fop)
    sv_go(g->sv, g->fop, g->err);
  sv_client_unref(g->c);
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
give(struct sv_giving *g, const struct gi_give_back *what)
{
  struct gi_fop *f;

  if (what->descriptor) {
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

  while (gi_give_back_next(&in, &what))
    give(g, &what);
  if (in.failed) {
    GI_PROBE("server: what a client gives back is malformed");
    g->err = g->err ? g->err : EINVAL;
  }
  if (fop)
    gi_dict_del(gi_fop_xdata(fop), GI_GIVE_BACK_KEY);
  given(g);
  return true;
}
