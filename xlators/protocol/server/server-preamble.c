/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations with a preamble (rpc/preamble.h): first the locks, then the
 * counters, then the operation, as ordinary operations one after another, so
 * that the layers below do not know. A refused lock gives back those before it
 * and ends it; what was locked when the operation has been tried stays locked,
 * whatever came of it, until the client unlocks or goes.
 */
#include "xlators/protocol/server/server.h"
#include "libglusterish/probe.h"
#include "rpc/preamble.h"

#include <errno.h>

#define PREAMBLE_MAGIC 0x5e2799e1u

struct sv_preamble {
  uint32_t magic;
  struct server *sv;
  struct gi_fop *fop; /* which it precedes; keeps us through its sv_fop */
  struct gi_preamble p;
  unsigned granted;
  int err;
  struct gi_dict *values; /* of the counters, after the addition */
};

static void step(struct sv_preamble *sp);

void
sv_set_lock(struct gi_fop *f, const struct gi_owner *owner, const char *domain, const struct gi_preamble_lock *l, bool unlock)
{
  const struct sv_client *c = f->caller.client;
  const struct gi_gfid *gfid = gi_gfid_is_root(&l->gfid) && !gi_gfid_is_none(&c->subdir) ? &c->subdir : &l->gfid;
  f->caller.owner = *owner;
  f->loc.inode = gi_inode_get(f->graph, gfid);
  f->loc.gfid = *gfid;
  f->args.domain = domain;
  if (l->entry) {
    f->args.cmd = unlock ? GI_ENTRYLK_UNLOCK : GI_ENTRYLK_NB;
    f->args.type = 1;
    f->args.name = l->name;
  } else {
    f->args.cmd = GI_LKCMD_SET;
    f->args.type = unlock ? GI_LK_UNLOCK : GI_LK_WRITE;
    f->args.flock = (struct gi_flock){.type = f->args.type, .start = l->start, .len = l->len};
  }
}

static struct gi_fop *
lock_fop(struct sv_preamble *sp, const struct gi_preamble_lock *l, bool unlock)
{
  struct gi_fop *f = gi_fop_helper(sp->fop, l->entry ? GI_FOP_ENTRYLK : GI_FOP_INODELK);
  sv_set_lock(f, &sp->p.owner, sp->p.domain, l, unlock);
  return f;
}

/* One helper operation at a time, each answered before the next: they borrow the texts of the preamble. */
static void
give_back(struct gi_fop *f, void *arg)
{
  struct sv_preamble *sp = arg;
  GI_CHECK(sp, PREAMBLE_MAGIC);
  GI_ASSERT(sp->err && sp->granted <= sp->p.nlocks);
  gi_fop_unref(f);
  if (sp->granted) {
    gi_fop_submit(lock_fop(sp, &sp->p.lock[--sp->granted], true), sv_bound(sp->fop), give_back, sp);
    return;
  }
  gi_fop_fail(sp->fop, sp->err);
  sv_done(sp->fop, sp->sv);
}

static void
refuse(struct sv_preamble *sp, int err)
{
  GI_ASSERT(err > 0 && !sp->err);
  GI_PROBE("server: preamble refused");
  sp->err = err;
  give_back(NULL, sp);
}

static void
lock_done(struct gi_fop *f, void *arg)
{
  struct sv_preamble *sp = arg;
  GI_CHECK(sp, PREAMBLE_MAGIC);
  GI_ASSERT(!sp->err && sp->granted < sp->p.nlocks);
  int err = f->rsp.ret < 0 ? f->rsp.err : 0;
  gi_fop_unref(f);
  if (err) {
    refuse(sp, err);
    return;
  }
  sp->granted++;
  step(sp);
}

static void
counters_done(struct gi_fop *f, void *arg)
{
  struct sv_preamble *sp = arg;
  GI_CHECK(sp, PREAMBLE_MAGIC);
  GI_ASSERT(!sp->err && !sp->values && sp->granted == sp->p.nlocks);
  int err = f->rsp.ret < 0 ? f->rsp.err : 0;
  sp->values = gi_dict_ref(f->rsp.dict);
  gi_fop_unref(f);
  if (err)
    refuse(sp, err);
  else
    sv_send(sp->sv, sp->fop);
}

static void
add_counters(struct sv_preamble *sp)
{
  struct gi_fop *fop = sp->fop;
  bool open = fop->fd && fop->fd->inode && fop->kind != GI_FOP_OPEN; /* it is opened when they are there */
  struct gi_fop *f = gi_fop_helper(fop, open ? GI_FOP_FXATTROP : GI_FOP_XATTROP);
  f->caller.owner = sp->p.owner;
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_ref(sp->p.counters);
  if (f->kind == GI_FOP_FXATTROP)
    gi_fop_set_fd(f, fop->fd);
  else
    gi_loc_set_inode(&f->loc, fop->loc.inode);
  gi_fop_submit(f, sv_bound(fop), counters_done, sp);
}

static void
step(struct sv_preamble *sp)
{
  GI_CHECK(sp, PREAMBLE_MAGIC);
  const struct sv_client *c = sp->fop->caller.client;
  if (c->gone)
    refuse(sp, ENOTCONN);
  else if (sp->granted < sp->p.nlocks)
    gi_fop_submit(lock_fop(sp, &sp->p.lock[sp->granted], false), sv_bound(sp->fop), lock_done, sp);
  else if (sp->p.counters)
    add_counters(sp);
  else
    sv_send(sp->sv, sp->fop);
}

/* Counters go on the inode the operation is about; the owner must be one that unlocking can name. */
static int
check(const struct sv_preamble *sp)
{
  const struct gi_fop *fop = sp->fop;
  if (sp->p.counters && !fop->loc.inode && !(fop->fd && fop->fd->inode))
    return EINVAL;
  return sv_owner_is_null(&sp->p.owner) ? EINVAL : 0;
}

void
sv_preamble_start(struct server *sv, struct gi_fop *fop)
{
  struct sv_fop *f = gi_fop_private(fop, sv->x);
  struct sv_preamble *sp = gi_new(struct sv_preamble);
  GI_ASSERT(!f->preamble && f->client);
  sp->magic = PREAMBLE_MAGIC;
  f->preamble = sp;
  sp->sv = sv;
  sp->fop = fop;
  int err = gi_preamble_get(fop->xdata, &sp->p) ? check(sp) : EINVAL;
  gi_dict_del(gi_fop_xdata(fop), GI_PREAMBLE_KEY);
  if (err)
    refuse(sp, err);
  else
    step(sp);
}

void
sv_preamble_end(struct gi_fop *fop, struct sv_fop *f)
{
  struct sv_preamble *sp = f->preamble;
  GI_CHECK(sp, PREAMBLE_MAGIC);
  GI_ASSERT(sp->fop == fop && (!sp->err || sp->granted == 0));
  gi_preamble_put_outcome(gi_fop_rsp_xdata(fop), sp->err, sp->values);
  gi_preamble_clear(&sp->p);
  gi_dict_unref(&sp->values);
  sp->magic = 0;
  gi_free(sp);
  f->preamble = NULL;
}
