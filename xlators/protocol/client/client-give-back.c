/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks of transactions, descriptors and counters that are lowered are given back
 * with the next message (rpc/give-back.h): nobody waits for it. An unlock is answered here at once, and
 * reaches the brick before whatever this client asks it for next, so the client
 * itself never meets a lock it has given back. If there is no next message, one
 * of its own takes everything along: a moment later if there is a lock, a second
 * if there are descriptors only, and at once if the brick says that others wait.
 *
 * Healers' locks go by themselves: who finds one taken leaves the file alone.
 */
#include "xlators/protocol/client/client.h"
#include "rpc/give-back.h"

#define CL_GIVE_BACK_NS (10 * GI_NSEC_PER_MSEC)     /* others may wait for so long, where they cannot be told of */
#define CL_GIVE_BACK_DESCRIPTORS_NS GI_NSEC_PER_SEC /* nobody waits for those */
#define CL_HURRY_NS GI_NSEC_PER_SEC                 /* after a notice what is given back goes at once */
#define CL_GIVE_BACK_MAX 4096u                      /* bytes */

static bool
cl_can_wait(struct client *c)
{
  if (c->nconns != 1 || !c->usable || !c->peer_is_ours || !gi_word_in(c->capabilities, GI_GIVE_BACK_CAPABILITY))
    return false;
  if (c->hurry_until && gi_now(c->x->reactor) < c->hurry_until)
    return false;
  c->hurry_until = 0;
  return true;
}

void
cl_give_back_now(struct client *c)
{
  struct gi_dict *xdata;
  if (!c->given_back.len)
    return;
  xdata = gi_dict_new();
  cl_give_back_with(c, xdata);
  cl_send_release(c, NULL, -1, xdata);
  gi_dict_unref(&xdata);
}

static void
cl_give_back_due(void *arg)
{
  struct client *c = arg;
  GI_CHECK(c, CL_MAGIC);
  cl_give_back_now(c);
}

static void
cl_give_back_add(struct client *c, const struct gi_give_back *g)
{
  bool waited_for = g->what != GI_GIVEN_DESCRIPTOR, sooner = waited_for && !c->gives_lock;
  gi_give_back_put(&c->given_back, g);
  c->gives_lock |= waited_for;
  if (c->given_back.len >= CL_GIVE_BACK_MAX)
    cl_give_back_now(c);
  else if (sooner || !c->give_back_timer.armed)
    gi_timer_set(&c->give_back_timer, c->gives_lock ? CL_GIVE_BACK_NS : CL_GIVE_BACK_DESCRIPTORS_NS);
}

static void
gone(struct client *c)
{
  c->given_back.len = 0;
  c->gives_lock = false;
  gi_timer_cancel(&c->give_back_timer);
}

bool
cl_give_back_lock(struct client *c, const struct gi_fop *fop)
{
  bool entry = fop->kind == GI_FOP_ENTRYLK;
  const struct gi_inode *inode = fop->kind == GI_FOP_FINODELK && fop->fd ? fop->fd->inode : fop->loc.inode;
  if (entry ? fop->args.cmd != GI_ENTRYLK_UNLOCK
            : (fop->kind != GI_FOP_INODELK && fop->kind != GI_FOP_FINODELK) || fop->args.type != GI_LK_UNLOCK)
    return false;
  if (fop->caller.pid < 0 || !inode || !fop->caller.owner.len || !gi_give_back_fits(fop->args.domain) || !cl_can_wait(c))
    return false;
  cl_give_back_add(c, &(struct gi_give_back){.domain = fop->args.domain,
                                             .owner = fop->caller.owner,
                                             .lock = {.entry = entry,
                                                      .gfid = inode->gfid,
                                                      .name = entry ? fop->args.name : NULL,
                                                      .start = fop->args.flock.start,
                                                      .len = fop->args.flock.len}});
  return true;
}

bool
cl_give_back_counters(struct client *c, const struct gi_fop *fop)
{
  int64_t handle = GI_FD_ANONYMOUS;
  if ((fop->kind != GI_FOP_XATTROP && fop->kind != GI_FOP_FXATTROP) || !fop->args.later || !fop->loc.inode)
    return false;
  GI_ASSERT(fop->args.flags == GI_XATTROP_ADD32 && fop->caller.pid >= 0);
  if (!cl_can_wait(c) || !gi_word_in(c->capabilities, GI_GIVE_COUNTERS_CAPABILITY))
    return false;
  if (fop->kind == GI_FOP_FXATTROP && cl_handle(c, fop->kind, fop->fd, &handle))
    return false;
  cl_give_back_add(c,
                   &(struct gi_give_back){
                       .what = GI_GIVEN_COUNTERS, .gfid = fop->loc.inode->gfid, .handle = handle, .counters = fop->args.dict});
  return true;
}

bool
cl_give_back_descriptor(struct client *c, int64_t handle)
{
  GI_ASSERT(handle >= 0);
  if (!cl_can_wait(c))
    return false;
  cl_give_back_add(c, &(struct gi_give_back){.what = GI_GIVEN_DESCRIPTOR, .handle = handle});
  return true;
}

void
cl_give_back_with(struct client *c, struct gi_dict *xdata)
{
  GI_ASSERT(c->given_back.len > 0);
  gi_dict_set_bin(xdata, GI_GIVE_BACK_KEY, c->given_back.base, (uint32_t)c->given_back.len);
  gone(c);
}

void
cl_give_back_hurry(struct client *c)
{
  c->hurry_until = gi_now(c->x->reactor) + CL_HURRY_NS;
  cl_give_back_now(c);
}

void
cl_give_back_lost(struct client *c)
{
  gone(c);
}

void
cl_give_back_init(struct client *c)
{
  gi_timer_init(&c->give_back_timer, c->x->reactor, cl_give_back_due, c);
}

void
cl_give_back_finish(struct client *c)
{
  GI_ASSERT(c->given_back.len == 0);
  gi_timer_finish(&c->give_back_timer);
  gi_xdr_out_finish(&c->given_back);
}
