/* SPDX-License-Identifier: Apache-2.0
 *
 * features/locks: the lock server of a brick.
 *
 * Promises: internal locks (inodelk, entrylk) in independent domains with FIFO
 * fairness, POSIX and flock locks with split and merge, mandatory locking by
 * option, lock counters in replies, contention notices to holders, and that
 * nothing survives the client, fd or owner it belonged to. Locks live in
 * memory only. A lock is identified by (client, lock owner); the owner is that
 * of the credential, never the copy inside the request.
 *
 * The uncontended cost is one small allocation per lock. A fop that asks for
 * no counter passes after one look at its xdata.
 *
 * This file is the class: dispatch and life cycle.
 */
#include "xlators/features/locks/locks.h"

#include "libglusterish/probe.h"

static enum gi_verdict
lk_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  if (fop->rsp.ret < 0 && lf->moves)
    lk_moved_failed(x, fop);
  if (fop->rsp.ret >= 0) {
    if (lf->learn)
      lk_mandatory_learn(x, fop);
    if (lf->counts)
      lk_counts_fill(x, fop);
  }
  return GI_PASS;
}

static void
lk_cancel(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct lk_fop *lf = gi_fop_private(fop, x);
  switch (lf->wait) {
  case LK_WAIT_QUEUE:
    lk_queue_cancel(x, fop);
    break;
  case LK_WAIT_POSIX:
    lk_posix_cancel(x, fop);
    break;
  case LK_WAIT_IO:
    lk_mandatory_cancel(x, fop);
    break;
  default: /* not waiting here: nothing to do */
    break;
  }
}

static void
lk_drop_client(struct gi_xlator *x, void *client)
{
  struct lk_filter f = {.granted = true, .blocked = true, .by_client = true, .client = client, .remember = true};
  struct lk_who who = {.client = client};
  struct lk_left left;

  lk_left_begin(x, client, &left);
  unsigned n = lk_drop(x, &f, EAGAIN);
  lk_left_end(x, &left);
  if (!n)
    return;
  lk_count(x)->dropped_clients++;
  gi_log(GI_LOG_INFO, x->name, GI_MSG_LOCKS + 10, "dropped %u locks of client %s that went away", n, lk_peer(&who));
}

static bool
lk_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  switch (event) {
  case GI_EVENT_CANCEL:
    lk_cancel(x, data);
    break;
  case GI_EVENT_CLIENT_GONE:
    if (!GI_BROKEN("keep the locks of who is gone"))
      lk_drop_client(x, data);
    break;
  case GI_EVENT_PARENT_DOWN: /* nobody is left to wait for anything */
    lk_drop(x, &(struct lk_filter){.granted = true, .blocked = true}, ENOTCONN);
    break;
  default:
    break;
  }
  return false;
}

static void
lk_inode_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  struct lk_inode *li = *(struct lk_inode **)bytes;
  if (!li)
    return;
  lk_inode_check(li);
  GI_ASSERT(li->inode == inode && li->users == 0);
  gi_list_foreach_safe(d, &li->domains, struct lk_domain, link)
    lk_domain_free(li, d);
  lk_past_free(li);
  li->magic = 0;
  gi_free(li);
  *(struct lk_inode **)bytes = NULL;
}

static void
lk_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  if (*(uint32_t *)bytes)
    lk_posix_release(x, fd);
}

static int
lk_init(struct gi_xlator *x, struct gi_error *err)
{
  struct lk_private *p = gi_new(struct lk_private);
  p->magic = LK_MAGIC;
  gi_list_init(&p->busy);
  gi_list_init(&p->posix_waiting);
  x->private = p;
  x->metrics = &p->metrics;
  return 0;
}

static void
lk_finish(struct gi_xlator *x)
{
  gi_free(x->private);
}

static enum gi_verdict
lk_setactive(struct gi_xlator *x, struct gi_fop *fop)
{
  return gi_fop_fail(fop, EOPNOTSUPP);
}

static const char *const mandatory_words[] = {"off", "file", "forced", "optimal", NULL};

#define LK_OPT(member) .offset = offsetof(struct lk_options, member), .live = true, .since = "0.1"

static const struct gi_option lk_table[] = {
    {.name = "mandatory-locking",
     .key = "locks.mandatory-locking",
     .type = GI_OPT_ENUM,
     LK_OPT(mandatory),
     .def = "off",
     .words = mandatory_words,
     .level = 2,
     .op_version = 30800,
     .side = GI_SIDE_BRICK,
     .text = "Which POSIX locks also bind reads and writes: off, those on set-gid files without group execute (file), all "
             "(forced), or those the client marked (optimal)."},
    {.name = "enforce-mandatory-lock",
     .key = "features.enforce-mandatory-lock",
     .type = GI_OPT_BOOL,
     LK_OPT(enforce),
     .def = "off",
     .level = 3,
     .op_version = 60000,
     .side = GI_SIDE_BRICK,
     .text = "Honour the marker xattr trusted.glusterfs.enforce-mandatory-lock: only the holder of a covering lock may do I/O, "
             "and a new lock request takes the lock away from others."},
    {.name = "notify-contention",
     .key = "features.locks-notify-contention",
     .type = GI_OPT_BOOL,
     LK_OPT(notify_contention),
     .def = "yes",
     .level = 2,
     .op_version = 40000,
     .side = GI_SIDE_BRICK,
     .text = "Tell the holder of an internal lock that somebody else waits for it, so that a lock kept for speed is given "
             "back at once."},
    {.name = "notify-contention-delay",
     .key = "features.locks-notify-contention-delay",
     .type = GI_OPT_INT,
     LK_OPT(notify_delay_s),
     .def = "5",
     .min = 0,
     .max = 60,
     .level = 3,
     .op_version = 40000,
     .side = GI_SIDE_BRICK,
     .text = "Shortest time in seconds between two such notices for one lock."},
    {.name = "revocation-secs",
     .key = "features.locks-revocation-secs",
     .type = GI_OPT_INT,
     LK_OPT(revocation_secs),
     .def = "0",
     .min = 0,
     .max = 2147483647,
     .level = 3,
     .op_version = 30900,
     .side = GI_SIDE_BRICK,
     .text = "Take an internal lock away when it has blocked others for this many seconds; 0 never does."},
    {.name = "revocation-max-blocked",
     .key = "features.locks-revocation-max-blocked",
     .type = GI_OPT_INT,
     LK_OPT(revocation_max_blocked),
     .def = "0",
     .min = 0,
     .max = 2147483647,
     .level = 3,
     .op_version = 30900,
     .side = GI_SIDE_BRICK,
     .text = "Take internal locks away when this many requests wait for them; 0 never does."},
    {.name = "revocation-clear-all",
     .key = "features.locks-revocation-clear-all",
     .type = GI_OPT_BOOL,
     LK_OPT(revocation_clear_all),
     .def = "false",
     .level = 3,
     .op_version = 30900,
     .side = GI_SIDE_BRICK,
     .text = "When locks are revoked, fail the waiting requests too instead of granting them."},
    {.name = "monkey-unlocking",
     .key = "features.locks-monkey-unlocking",
     .type = GI_OPT_BOOL,
     LK_OPT(monkey),
     .def = "false",
     .level = 3,
     .op_version = 30900,
     .side = GI_SIDE_BRICK,
     .text = "For tests only: lose about one in a hundred unlock requests."},
    {.name = "trace",
     .key = "locks.trace",
     .type = GI_OPT_BOOL,
     LK_OPT(trace),
     .def = "off",
     .level = 3,
     .op_version = 30700,
     .side = GI_SIDE_BRICK,
     .text = "Log every lock request and how it ended."},
    GI_OPTION_END,
};

#define LK_METRIC(member, help) GI_METRIC(struct lk_metrics, member, "", help)
#define LK_NOW(member, help) GI_GAUGE(struct lk_metrics, member, "", help)

static const struct gi_metric lk_metrics_table[] = {
    LK_METRIC(inode_granted, "inode locks granted"),
    LK_METRIC(inode_waited, "inode lock requests that had to wait"),
    LK_METRIC(inode_refused, "non-blocking inode lock requests refused"),
    LK_METRIC(entry_granted, "entry locks granted"),
    LK_METRIC(entry_waited, "entry lock requests that had to wait"),
    LK_METRIC(entry_refused, "non-blocking entry lock requests refused"),
    LK_METRIC(posix_granted, "POSIX locks granted"),
    LK_METRIC(posix_waited, "POSIX lock requests that had to wait"),
    LK_METRIC(posix_refused, "non-blocking POSIX lock requests refused"),
    LK_METRIC(contention_notices, "contention notices sent to lock holders"),
    LK_METRIC(revoked, "internal locks taken away by revocation"),
    LK_METRIC(cleared, "locks removed by clear-locks"),
    LK_METRIC(dropped_clients, "clients whose locks were dropped because they went away"),
    LK_METRIC(io_waited, "reads and writes that waited for a mandatory lock"),
    LK_NOW(held, "locks held now"),
    LK_NOW(waiting, "lock requests waiting now"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "features/locks",
    .version = GI_VERSION,
    .summary = "Inode, entry and POSIX locks of a brick",
    .messages = GI_MSG_LOCKS,
    .layer = {{.side = GI_SIDE_BRICK, .above = {"storage/posix", "features/arbiter", "features/access-control"}}},
    .min_children = 1,
    .max_children = 1,
    .options = lk_table,
    .options_bytes = sizeof(struct lk_options),
    .metrics = lk_metrics_table,
    .fop_bytes = sizeof(struct lk_fop),
    .inode_bytes = sizeof(struct lk_inode *),
    .fd_bytes = sizeof(uint32_t), /* POSIX locks held through this fd */
    .submit = lk_counts,
    .on =
        {
            [GI_FOP_INODELK] = lk_inodelk,
            [GI_FOP_FINODELK] = lk_inodelk,
            [GI_FOP_ENTRYLK] = lk_entrylk,
            [GI_FOP_FENTRYLK] = lk_entrylk,
            [GI_FOP_LK] = lk_posix_lk,
            [GI_FOP_FLUSH] = lk_posix_flush,
            [GI_FOP_SETATTR] = lk_moved_setattr,
            [GI_FOP_FSETATTR] = lk_moved_setattr,
            [GI_FOP_GETACTIVELK] = lk_posix_active,
            [GI_FOP_SETACTIVELK] = lk_setactive,
            [GI_FOP_GETXATTR] = lk_clear_getxattr,
            [GI_FOP_FGETXATTR] = lk_clear_getxattr,
            [GI_FOP_LOOKUP] = lk_mandatory_lookup,
            [GI_FOP_OPEN] = lk_mandatory_open,
            [GI_FOP_READ] = lk_mandatory_io,
            [GI_FOP_WRITE] = lk_mandatory_io,
            [GI_FOP_TRUNCATE] = lk_moved_truncate,
            [GI_FOP_FTRUNCATE] = lk_moved_truncate,
            [GI_FOP_DISCARD] = lk_mandatory_io,
            [GI_FOP_ZEROFILL] = lk_mandatory_io,
            [GI_FOP_SETXATTR] = lk_mandatory_mark,
            [GI_FOP_FSETXATTR] = lk_mandatory_mark,
            [GI_FOP_REMOVEXATTR] = lk_mandatory_mark,
            [GI_FOP_FREMOVEXATTR] = lk_mandatory_mark,
        },
    .complete = lk_complete,
    .init = lk_init,
    .finish = lk_finish,
    .notify = lk_notify,
    .statedump = lk_statedump,
    .ask = lk_ask,
    .inode_forget = lk_inode_forget,
    .fd_release = lk_fd_release,
};
