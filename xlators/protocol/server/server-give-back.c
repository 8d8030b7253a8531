/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client gives back with a message (rpc/give-back.h), as ordinary
 * operations before the one it came with, which waits for them: the client relies
 * on never meeting a lock that it has given back. Counters are lowered first, while
 * the locks under which they were raised are held.
 */
#include "xlators/protocol/server/server.h"
#include "libglusterish/probe.h"
#include "rpc/give-back.h"

#include <errno.h>

#define GIVING_MAGIC 0x5e276177u

struct sv_giving {
  uint32_t magic;
  struct server *sv;
  struct sv_client *c;    /* referenced */
  struct gi_fop *fop;     /* to go on with; NULL: none */
  int err;                /* it is refused with */
  struct gi_list unlocks; /* fops: when counters are lowered; then descriptors, by handle */
  int64_t *handle;
  uint32_t nhandles;
  unsigned waiting; /* what is under way, and one while it is sent */
};

static void given(struct sv_giving *g);

static void
answered(struct gi_fop *f, void *arg)
{
  if (f->rsp.ret < 0)
    GI_PROBE("server: what a client gives back is not there");
  gi_fop_unref(f);
  given(arg);
}

static void
ask(struct sv_giving *g, struct gi_fop *f)
{
  g->waiting++;
  gi_fop_submit(f, g->c->bound, answered, g);
}

/* Counters are lowered: the rest. */
static void
give(struct sv_giving *g)
{
  g->waiting++;
  while (!gi_list_empty(&g->unlocks)) {
    struct gi_fop *f = gi_list_first(&g->unlocks, struct gi_fop, link);

    gi_list_del(&f->link);
    if (g->c->gone)
      gi_fop_unref(f);
    else
      ask(g, f);
  }
  for (uint32_t i = 0; i < g->nhandles; i++)
    sv_fd_close(g->c, g->handle[i]);
  g->nhandles = 0;
  given(g);
}

static void
given(struct sv_giving *g)
{
  GI_CHECK(g, GIVING_MAGIC);
  GI_ASSERT(g->waiting > 0);
  if (--g->waiting)
    return;
  if (!gi_list_empty(&g->unlocks) || g->nhandles) {
    give(g);
    return;
  }
  if (g->fop) {
    gi_dict_del(gi_fop_xdata(g->fop), GI_GIVE_BACK_KEY);
    sv_go(g->sv, g->fop, g->err);
  }
  sv_client_unref(g->c);
  gi_free(g->handle);
  g->magic = 0;
  gi_free(g);
}

static void
keep_unlock(struct sv_giving *g, const struct gi_give_back *what)
{
  struct gi_fop *f;

  if (sv_owner_is_null(&what->owner))
    return;
  f = gi_fop_new(g->sv->x->graph, what->lock.entry ? GI_FOP_ENTRYLK : GI_FOP_INODELK);
  f->caller.client = g->c;
  sv_set_lock(f, &what->owner, what->domain, &what->lock, true);
  f->args.domain = gi_fop_strdup(f, what->domain, strlen(what->domain)); /* what is decoded next takes their place */
  if (f->args.name)
    f->args.name = gi_fop_strdup(f, f->args.name, strlen(f->args.name));
  gi_list_add_tail(&g->unlocks, &f->link);
}

static void
keep_handle(struct sv_giving *g, int64_t handle)
{
  g->handle = gi_realloc(g->handle, (g->nhandles + 1) * sizeof(*g->handle));
  g->handle[g->nhandles++] = handle;
}

static void
lower(struct sv_giving *g, const struct gi_give_back *what)
{
  struct gi_fd *fd = sv_fd_get(g->c, what->handle);
  struct gi_fop *f;

  if (g->c->gone || (fd && !gi_gfid_equal(&fd->inode->gfid, &what->gfid)))
    return;
  f = gi_fop_new(g->sv->x->graph, fd ? GI_FOP_FXATTROP : GI_FOP_XATTROP);
  f->caller.client = g->c;
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_ref(what->counters);
  f->loc.gfid = what->gfid;
  f->loc.inode = gi_inode_get(f->graph, &what->gfid);
  if (fd)
    gi_fop_set_fd(f, fd);
  ask(g, f);
}

bool
sv_give_back(struct sv_client *c, struct gi_dict *xdata, struct gi_fop *fop, int err)
{
  struct sv_giving *g;
  struct gi_give_back what;
  const void *data;
  uint32_t len;

  GI_CHECK(c, SV_CLIENT_MAGIC);
  if (!gi_dict_get_bin(xdata, GI_GIVE_BACK_KEY, &data, &len))
    return false;

  struct gi_xdr_in in = {data, (const uint8_t *)data + len, false};

  g = gi_new(struct sv_giving);
  *g = (struct sv_giving){.magic = GIVING_MAGIC, .sv = c->sv, .c = sv_client_ref(c), .fop = fop, .err = err, .waiting = 1};
  gi_list_init(&g->unlocks);
  while (gi_give_back_next(&in, &what)) {
    if (what.what == GI_GIVEN_COUNTERS)
      lower(g, &what);
    else if (what.what == GI_GIVEN_DESCRIPTOR)
      keep_handle(g, what.handle);
    else
      keep_unlock(g, &what);
    gi_dict_unref(&what.counters);
  }
  if (in.failed) {
    GI_PROBE("server: what a client gives back is malformed");
    g->err = g->err ? g->err : EINVAL;
  }
  given(g);
  return true;
}
