/* SPDX-License-Identifier: Apache-2.0
 *
 * features/upcall: a brick tells its clients what others change.
 *
 * Promises: whoever did something with an object is told, for the timeout after,
 * of every change that another client makes, before that one has its answer. It
 * is registered on the way down, so nothing can change between what it is
 * answered and the moment from which it is told. Where an object becomes known by
 * the answer only (LOOKUP by name, READDIRP) and may have changed meanwhile, it is
 * told right after. Does not promise that a client has heard it, unless it is ours
 * and the volume is strict.
 *
 * This file is the class: dispatch, life cycle. See README.md.
 */
#include "xlators/features/upcall/upcall.h"

#include <errno.h>
#include <fcntl.h>

#define IPC_UPCALL 2 /* the addressee (wire.md, IPC) */

/* They tell the client nothing that it could keep. */
#define NOTHING_LEARNT \
  (GI_KIND(GI_FOP_NULL) | GI_KIND(GI_FOP_FLUSH) | GI_KIND(GI_FOP_RELEASE) | GI_KIND(GI_FOP_RELEASEDIR) | \
   GI_KIND(GI_FOP_INODELK) | GI_KIND(GI_FOP_FINODELK) | GI_KIND(GI_FOP_ENTRYLK) | GI_KIND(GI_FOP_FENTRYLK) | \
   GI_KIND(GI_FOP_FSYNCDIR) | GI_KIND(GI_FOP_RCHECKSUM) | GI_KIND(GI_FOP_IPC) | GI_KIND(GI_FOP_GETACTIVELK) | \
   GI_KIND(GI_FOP_SETACTIVELK))
/* Nor do these, and they may change what others keep. */
#define COUNTERS (GI_KIND(GI_FOP_XATTROP) | GI_KIND(GI_FOP_FXATTROP))
#define LOCKS (GI_KIND(GI_FOP_INODELK) | GI_KIND(GI_FOP_FINODELK) | GI_KIND(GI_FOP_ENTRYLK) | GI_KIND(GI_FOP_FENTRYLK))
#define CHANGES_NOTHING (GI_KIND(GI_FOP_FSYNC) | GI_KIND(GI_FOP_FSYNCDIR))
#define ALL_KINDS ((1ull << GI_FOP_MAX) - 1)

/* Processes that keep nothing. */
static bool
keeps_nothing(int32_t pid)
{
  return pid == GI_PID_REBALANCE || pid == GI_PID_HEAL || pid == GI_PID_HEAL_TOOL || pid == GI_PID_ADD_BRICK;
}

/* A heal makes a copy what the others are already, so nobody sees a change. */
static bool
changes(const struct gi_fop *fop)
{
  if (fop->caller.pid == GI_PID_HEAL || fop->caller.pid == GI_PID_HEAL_TOOL)
    return false;
  if (fop->kind == GI_FOP_OPEN)
    return fop->args.flags & O_TRUNC;
  return gi_fop_table[fop->kind].classes & GI_CLASS_WRITE && !(CHANGES_NOTHING & GI_KIND(fop->kind));
}

static void
know(struct upcall *up, const struct gi_fop *fop, const struct gi_gfid *gfid)
{
  if (fop->caller.client && !gi_gfid_is_none(gfid) && !keeps_nothing(fop->caller.pid) && !up->x->draining)
    up_register(up, fop->caller.client, gfid);
}

/* A client of ours keeps that there is no such name, too. */
static void
know_directories(struct upcall *up, const struct gi_fop *fop)
{
  const struct gi_client_id *id = fop->caller.client;
  if (gi_fop_table[fop->kind].target != GI_TARGET_ENTRY && fop->kind != GI_FOP_LINK)
    return;
  if (fop->kind == GI_FOP_LOOKUP && (!id || !id->ours))
    return;
  know(up, fop, &fop->loc.pargfid);
  know(up, fop, &fop->loc2.pargfid);
}

static bool
names_something(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_READDIRP || gi_fop_table[fop->kind].target == GI_TARGET_ENTRY;
}

static enum gi_verdict
up_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  struct upcall *up = up_of(x);
  ((struct up_fop *)gi_fop_private(fop, x))->began = up->clock;
  if (!(COUNTERS & GI_KIND(fop->kind))) {
    know(up, fop, gi_fop_gfid(fop));
    know_directories(up, fop);
  }
  if (changes(fop))
    up_change_begins(up, fop);
  return changes(fop) || names_something(fop) ? GI_PASS_TELL : GI_PASS;
}

/* A lock of replication announces a change. While it waits its client may not be able to take in anything. */
static enum gi_verdict
up_lock(struct gi_xlator *x, struct gi_fop *fop)
{
  bool entry = fop->kind == GI_FOP_ENTRYLK || fop->kind == GI_FOP_FENTRYLK;
  bool waits = entry ? fop->args.cmd == GI_ENTRYLK_LOCK : fop->args.cmd == GI_LKCMD_SETW && fop->args.type != GI_LK_UNLOCK;
  if (!waits || !fop->caller.client) {
    up_change_comes(up_of(x), fop);
    return GI_PASS;
  }
  up_change_begins(up_of(x), fop);
  return GI_PASS_TELL;
}

/* What became known by the answer. It may have changed since it was read. */
static void
learnt(struct upcall *up, struct gi_fop *fop, const struct gi_iatt *a)
{
  const struct up_fop *f = gi_fop_private(fop, up->x);
  if (!gi_iatt_valid(a) || gi_gfid_is_none(&a->gfid))
    return;
  know(up, fop, &a->gfid);
  if (fop->caller.client && up_changed_since(up, &a->gfid, f->began))
    up_tell_later(up, fop->caller.client, &a->gfid);
}

static enum gi_verdict
up_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct upcall *up = up_of(x);
  if (fop->rsp.ret < 0 || LOCKS & GI_KIND(fop->kind)) {
    up_change_ended(up, fop);
    return GI_PASS;
  }
  if (fop->kind == GI_FOP_READDIRP)
    for (uint32_t i = 0; i < fop->rsp.entries.count; i++)
      learnt(up, fop, &fop->rsp.entries.entry[i].stat);
  else if (names_something(fop))
    learnt(up, fop, &fop->rsp.stat);
  if (!changes(fop))
    return GI_PASS;
  up_news(up, fop);
  return up_change_waits(up, fop) ? GI_HELD : GI_PASS;
}

static enum gi_verdict
up_ipc(struct gi_xlator *x, struct gi_fop *fop)
{
  uint64_t serial;
  if (fop->args.what != IPC_UPCALL)
    return GI_PASS;
  if (gi_dict_get_uint(fop->xdata, GI_TAKEN_KEY, &serial)) {
    up_acknowledged(up_of(x), fop->caller.client, serial);
    return gi_fop_ok(fop, 0);
  }
  int err = up_care(up_of(x), fop->xdata);
  return err ? gi_fop_fail(fop, err) : gi_fop_ok(fop, 0);
}

/* ---- life cycle ---- */

/* The clients learn that they are told, and for how long. */
static void
promise(struct gi_xlator *x)
{
  const struct up_options *o = x->options;
  gi_notify_up(x, GI_EVENT_PROMISE,
               &(struct gi_promised){.seconds = o->on ? (uint32_t)o->timeout : 0, .strict = o->on && o->strict});
}

static bool
up_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct upcall *up = up_of(x);
  if (event == GI_EVENT_CLIENT_GONE) {
    up_client_gone(up, data);
    up_later_gone(up, data);
    up_wait_gone(up, data);
  }
  if (event == GI_EVENT_PARENT_DOWN)
    up_wait_gone(up, NULL);
  if (event == GI_EVENT_PARENT_UP)
    promise(x);
  return false;
}

static int
up_init(struct gi_xlator *x, struct gi_error *err)
{
  struct upcall *up = gi_new(struct upcall);
  GI_ASSERT(((const struct up_options *)x->options)->timeout > 0);
  up->magic = UP_MAGIC;
  up->x = x;
  x->private = up;
  x->metrics = &up->metrics;
  up_table_init(up);
  up_later_init(up);
  up_wait_init(up);
  x->enabled = ((const struct up_options *)x->options)->on;
  return 0;
}

static void
up_finish(struct gi_xlator *x)
{
  struct upcall *up = up_of(x);
  up_later_gone(up, NULL);
  up_wait_finish(up);
  up_table_finish(up);
  up_care_finish(up);
  x->private = x->metrics = NULL;
  up->magic = 0;
  gi_free(up);
}

static void
up_reconfigure_commit(struct gi_xlator *x)
{
  const struct up_options *o = x->options;
  GI_ASSERT(o->timeout > 0);
  if (!o->on)
    up_forget_all(up_of(x));
  gi_xlator_enable(x, o->on);
  promise(x);
}

static void
up_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct upcall *up = up_of(x);
  up_check(up);
  gi_dump_section(d, "xlator.features.upcall.%s.priv", x->name);
  gi_list_foreach(c, &up->clients, struct up_client, link)
    gi_dump_kv(d, c->id->uid ? c->id->uid : "client", "%u", c->nregs);
  for (uint32_t i = 0; i < up->ncare; i++)
    gi_dump_kv(d, "attribute", "%s", up->care[i]);
}

#define UP_OPT(member) .offset = offsetof(struct up_options, member), .live = true, .since = "0.1", .side = GI_SIDE_BRICK

static const struct gi_option up_table[] = {
    {.name = "cache-invalidation",
     .key = "features.cache-invalidation",
     .type = GI_OPT_BOOL,
     UP_OPT(on),
     .def = "on",
     .level = 1,
     .op_version = 30700,
     .text = "Let bricks tell clients what others change, so that caches of clients may last longer."},
    {.name = "cache-invalidation-timeout",
     .key = "features.cache-invalidation-timeout",
     .type = GI_OPT_INT,
     UP_OPT(timeout),
     .def = "60",
     .min = 1,
     .max = 86400,
     .level = 1,
     .op_version = 30700,
     .text = "Seconds after its last operation on an object that a client is told what others do to it."},
    {.name = "cache-invalidation-strict",
     .key = "features.cache-invalidation-strict",
     .type = GI_OPT_BOOL,
     UP_OPT(strict),
     .def = "on",
     .level = 2,
     .text =
         "Answer a change when the other clients have said that they no longer show what was before, or a third of "
         "cache-invalidation-timeout has passed, for which they may trust what they know. GlusterFS clients are told, but not "
         "waited for."},
    GI_OPTION_END,
};

#define UP_METRIC(member, help) GI_METRIC(struct up_metrics, member, "", help)
#define UP_NOW(member, help) GI_GAUGE(struct up_metrics, member, "", help)

static const struct gi_metric up_metric_table[] = {
    UP_NOW(registrations, "pairs of a client and an object that it is told of, now"),
    UP_NOW(files, "objects that anybody is told of, now"),
    UP_NOW(clients, "clients that are told of anything, now"),
    UP_METRIC(registered, "registrations made"),
    UP_METRIC(expired, "registrations that ended by time"),
    UP_METRIC(evicted, "registrations given up for want of room"),
    UP_METRIC(changes, "operations that changed something"),
    UP_METRIC(told, "messages sent because of them"),
    UP_METRIC(late, "objects that changed while a client asked for their name"),
    UP_METRIC(waited, "changes that waited for clients (cache-invalidation-strict)"),
    UP_METRIC(unanswered, "clients that did not answer in time"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "features/upcall",
    .version = GI_VERSION,
    .summary = "Tells clients what others change",
    .messages = GI_MSG_UPCALL,
    .layer = {{.side = GI_SIDE_BRICK, .above = {"features/locks"}}},
    .min_children = 1,
    .max_children = 1,
    .options = up_table,
    .options_bytes = sizeof(struct up_options),
    .metrics = up_metric_table,
    .fop_bytes = sizeof(struct up_fop),
    .submit = up_submit,
    .submit_kinds = ALL_KINDS & ~NOTHING_LEARNT,
    .on =
        {
            [GI_FOP_IPC] = up_ipc,
            [GI_FOP_INODELK] = up_lock,
            [GI_FOP_FINODELK] = up_lock,
            [GI_FOP_ENTRYLK] = up_lock,
            [GI_FOP_FENTRYLK] = up_lock,
        },
    .complete = up_complete,
    .init = up_init,
    .finish = up_finish,
    .reconfigure_commit = up_reconfigure_commit,
    .drain = up_drain,
    .notify = up_notify,
    .statedump = up_statedump,
    .ask = up_ask,
};
