/* SPDX-License-Identifier: Apache-2.0
 *
 * The readable copies of an inode. A refresh asks every child for its counters
 * (replicate.md 5.1, 5.2); operations that wait for the same inode share it.
 */
#include "xlators/cluster/replicate/copies/copies.h"

#include "libglusterish/probe.h"

#define REFRESH_ATTEMPTS 4          /* further attempts after the first */
#define REFRESH_PAUSE_NS 1000000ull /* before the first of them; doubled each time */

#define REFRESH_MAGIC 0x1d0a4e03u

struct rep_refresh {
  uint32_t magic;
  struct gi_fan fan;
  struct gi_inode *inode;
  struct gi_fd *fd; /* asked through it where it is open, so that an unlinked file is still found */
  uint32_t generation, distrusts;
  struct gi_timer timer;
  unsigned attempts;
  struct gi_list waiting; /* struct gi_fop.link */
};

bool
rep_inode_fresh(const struct rep *rep, struct gi_inode *inode)
{
  struct rep_inode *ri = rep_inode(rep, inode);

  return ri->generation == rep->generation && !ri->need_refresh;
}

void
rep_inode_learn(const struct rep *rep, struct gi_inode *inode, const struct rep_verdict *v, uint32_t generation,
                uint32_t distrusts)
{
  struct rep_inode *ri = rep_inode(rep, inode);

  ri->data_readable = (uint16_t)(v->data_readable & ~rep->arbiter);
  ri->meta_readable = (uint16_t)(v->meta_readable & ~rep->arbiter);
  ri->outdated = (uint16_t)v->outdated;
  ri->data_accused = (uint16_t)v->data_accused;
  ri->data_dirty = v->data_dirty;
  ri->generation = generation;
  ri->need_refresh = distrusts != rep->distrusts; /* the replies may be older than a failure */
  rep_inode_check(rep, ri);
}

void
rep_inode_distrust(struct rep *rep, struct gi_inode *inode, enum rep_type type, uint32_t bad)
{
  struct rep_inode *ri = rep_inode(rep, inode);

  rep->distrusts++;
  if (type == REP_META) {
    ri->meta_readable &= (uint16_t)~bad;
  } else {
    ri->data_readable &= (uint16_t)~bad;
    ri->data_accused |= (uint16_t)bad;
  }
  rep_inode_check(rep, ri);
}

/* Another client may have blamed copies since a lookup found them good. Whoever keeps what is read from such a copy after a change of ours
 * could not tell it from what the good ones have: that change has left the same attributes on all of them. */
void
rep_inode_found_accused(struct rep *rep, struct gi_inode *inode, enum rep_type type, uint32_t accused)
{
  if (type == REP_ENTRY || !accused)
    return;
  const struct rep_inode *ri = rep_inode(rep, inode);
  if (accused & (type == REP_META ? ri->meta_readable : ~(uint32_t)ri->data_accused)) {
    GI_PROBE("replicate: a change found a copy accused that counted as good");
    rep_inode_distrust(rep, inode, type, accused);
  }
}

uint32_t
rep_readable(const struct rep *rep, struct gi_inode *inode, bool entries)
{
  struct rep_inode *ri = rep_inode(rep, inode);

  if (S_ISDIR(inode->mode))
    return entries ? ri->data_readable : ri->meta_readable;
  return ri->data_readable & ri->meta_readable;
}

void
rep_inode_type(struct gi_inode *inode, uint32_t mode)
{
  if (mode & S_IFMT)
    inode->mode = mode & S_IFMT;
}

/* ---- the refresh ---- */

static void
wake_all(struct rep *rep, struct gi_list *waiting, int err)
{
  while (!gi_list_empty(waiting)) {
    struct gi_fop *fop = gi_list_first(waiting, struct gi_fop, link);

    gi_list_del(&fop->link);
    rep_fop_resume(rep, fop, err);
  }
}

/* Too few have it. */
static int
refresh_errno(const struct rep *rep, const struct gi_fan *fan)
{
  uint32_t gone = rep_fan_gone(fan);

  if (fan->err && rep_quorum(rep, gone))
    return fan->err;
  if (!fan->ok)
    return rep_fan_errno(fan);
  return (fan->ok | gone) == rep->all ? ESTALE : ENOTCONN;
}

static void refresh_start(struct rep *rep, struct rep_refresh *r, const struct gi_fop *fop);

static void
ask_again(void *arg)
{
  struct rep_refresh *r = arg;
  struct rep *rep = rep_of(r->fan.x);

  GI_CHECK(r, REFRESH_MAGIC);
  GI_ASSERT(r->attempts <= REFRESH_ATTEMPTS && !gi_list_empty(&r->waiting));
  refresh_start(rep, r, gi_list_first(&r->waiting, struct gi_fop, link));
  rep_busy_put(rep, REP_WORK_MESSAGES);
}

/* Children are asked at the same time but answer for different moments: some may have removed the object, others may be about to. They
 * are asked again when that must be over. */
static bool
refresh_again(struct rep_refresh *r)
{
  struct gi_fan *fan = &r->fan;

  if (r->attempts == REFRESH_ATTEMPTS || (fan->ok | rep_fan_gone(fan)) != fan->sent || !fan->ok ||
      rep_quorum(rep_of(fan->x), rep_fan_gone(fan)) || !rep_quorum(rep_of(fan->x), fan->sent))
    return false;
  GI_PROBE("replicate: copies asked for again, some had the object and some had not");
  gi_fan_clear(fan);
  rep_busy_get(rep_of(fan->x), REP_WORK_MESSAGES); /* the pause counts as a question */
  gi_timer_set(&r->timer, REFRESH_PAUSE_NS << r->attempts++);
  return true;
}

void
rep_inode_learn_replies(struct rep *rep, struct gi_inode *inode, const struct gi_fan *fan, uint32_t generation,
                        uint32_t distrusts)
{
  struct rep_verdict v;

  GI_ASSERT(fan->ok);
  rep_marks_judge(rep, fan, fan->ok, false, &v);
  rep_inode_type(inode, gi_fan_reply(fan, rep_first(fan->ok))->rsp.stat.mode);
  rep_inode_learn(rep, inode, &v, generation, distrusts);
  if (((v.data_accused | v.meta_accused) & rep->up) && rep->on_accused)
    rep->on_accused(rep, inode);
}

static void
refresh_done(struct gi_fan *fan)
{
  struct rep_refresh *r = fan->arg;
  struct rep *rep = rep_of(fan->x);
  struct gi_list waiting;
  int err = 0;

  GI_CHECK(r, REFRESH_MAGIC);
  if (!rep_quorum(rep, fan->ok)) {
    if (refresh_again(r))
      return;
    err = refresh_errno(rep, fan);
  } else {
    rep_inode_learn_replies(rep, r->inode, fan, r->generation, r->distrusts);
  }
  GI_ASSERT(rep_inode(rep, r->inode)->refresh == r && !gi_list_empty(&r->waiting));
  rep_inode(rep, r->inode)->refresh = NULL;
  gi_list_init(&waiting);
  gi_list_splice_tail(&waiting, &r->waiting);
  gi_fan_clear(fan);
  gi_inode_unref(&r->inode);
  gi_fd_unref(&r->fd);
  gi_timer_finish(&r->timer);
  r->magic = 0;
  gi_free(r);
  wake_all(rep, &waiting, err);
}

static struct gi_fd *
open_fd_of(const struct rep *rep, struct gi_inode *inode)
{
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link)
    if (!fd->anonymous && (rep_fd(rep, fd)->opened & rep->up))
      return gi_fd_ref(fd);
  return NULL;
}

static void
refresh_start(struct rep *rep, struct rep_refresh *r, const struct gi_fop *fop)
{
  struct gi_dict *xdata = gi_dict_new();

  r->generation = rep->generation;
  r->distrusts = rep->distrusts;
  rep_fan_start(&r->fan, rep, refresh_done, r);
  rep_marks_request(rep, xdata);
  gi_dict_set_str(xdata, "glusterfs.inodelk-dom-count", rep->x->name);
  rep_foreach(i, rep->up)
  {
    bool by_fd = r->fd && ((rep_fd(rep, r->fd)->opened >> i) & 1);
    struct gi_fop *ask = gi_fop_new(rep->x->graph, by_fd ? GI_FOP_FSTAT : GI_FOP_LOOKUP);

    ask->caller = fop->caller;
    gi_caller_detach(&ask->caller); /* `fop` may end first */
    ask->caller.stamps = 0;
    if (by_fd)
      gi_fop_set_fd(ask, r->fd);
    else
      gi_loc_set_inode(&ask->loc, r->inode);
    ask->xdata = gi_dict_ref(xdata);
    gi_fan_send(&r->fan, ask, i, 0);
  }
  gi_dict_unref(&xdata);
  gi_fan_finish(&r->fan);
}

void
rep_refresh(struct rep *rep, struct gi_fop *fop, struct gi_inode *inode, void (*resume)(struct gi_fop *fop, int err))
{
  struct rep_inode *ri = rep_inode(rep, inode);

  rep_fop_wait(rep, fop, resume);
  gi_fop_waits(fop, GI_WAIT_QUORUM, "which copies are good", NULL);
  if (ri->refresh) {
    gi_list_add_tail(&ri->refresh->waiting, &fop->link);
    return;
  }

  struct rep_refresh *r = gi_new(struct rep_refresh);

  rep->metrics.refreshes++;
  r->magic = REFRESH_MAGIC;
  r->inode = gi_inode_ref(inode);
  r->fd = open_fd_of(rep, inode);
  gi_timer_init(&r->timer, rep->x->reactor, ask_again, r);
  gi_list_init(&r->waiting);
  gi_list_add_tail(&r->waiting, &fop->link);
  ri->refresh = r;
  refresh_start(rep, r, fop);
}
