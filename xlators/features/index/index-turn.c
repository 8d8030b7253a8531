/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracked xattrops (brick.md 12.3).
 *
 * Before a xattrop that adds something non-zero goes down, its link is made: a
 * crash between the two leaves an index entry without a mark, never a mark
 * without an entry. After a reply the values in it decide: any non-zero keeps
 * the link, all zero removes it. What memory already knows costs no system
 * call. The removal happens behind the reply (an entry too many is harmless),
 * but the next xattrop of the inode waits for it.
 *
 * An object that lost its last name and is kept for who has it open
 * (.glusterfs/unlink) keeps its counters. Healers find nothing under its gfid
 * then, and remove its links. If a MKNOD gives one that has counters a name again,
 * as a linkto file or for a heal, the links are made before that, too.
 */
#include "xlators/features/index/index.h"

static bool
all_zero(const struct gi_pair *pair)
{
  const uint8_t *data;
  uint32_t len;
  if (pair->type == GI_VALUE_INT || pair->type == GI_VALUE_UINT)
    return pair->u == 0;
  if (!gi_pair_bytes(pair, &data, &len))
    return false;
  for (uint32_t i = 0; i < len; i++) {
    if (data[i])
      return false;
  }
  return true;
}

static bool
watched(char *const *list, const char *key)
{
  for (; list && *list; list++) {
    if (strncmp(key, *list, strlen(*list)) == 0)
      return true;
  }
  return false;
}

/* The class of an attribute name in an operation of this width, or -1. */
static int
class_of(const struct ix_private *p, uint32_t op, const char *key)
{
  if (op == GI_XATTROP_ADD64)
    return watched(p->watch64, key) ? IX_PENDING : -1;
  if (watched(p->watch[IX_DIRTY], key))
    return IX_DIRTY;
  return watched(p->watch[IX_PENDING], key) ? IX_PENDING : -1;
}

bool
ix_is_pending(const struct ix_private *p, const char *key)
{
  return class_of(p, GI_XATTROP_ADD32, key) == IX_PENDING;
}

bool
ix_is_watched(const struct ix_private *p, const char *key)
{
  return class_of(p, GI_XATTROP_ADD32, key) >= 0 || class_of(p, GI_XATTROP_ADD64, key) >= 0;
}

static void
classify(const struct ix_private *p, uint32_t op, const struct gi_dict *dict, uint8_t *present, uint8_t *nonzero)
{
  *present = *nonzero = 0;
  uint32_t n = gi_dict_count(dict);
  for (uint32_t i = 0; i < n; i++) {
    const struct gi_pair *pair = gi_dict_at(dict, i);
    if (pair->type == GI_VALUE_DOUBLE || pair->type == GI_VALUE_IATT)
      continue;
    int cls = class_of(p, op, pair->key);
    if (cls < 0)
      continue;
    *present |= (uint8_t)(1u << cls);
    if (!all_zero(pair))
      *nonzero |= (uint8_t)(1u << cls);
  }
}

static struct ix_inode *
inode_bytes(struct gi_xlator *x, struct gi_inode *inode)
{
  return gi_inode_private(inode, x);
}

static enum gi_verdict turn_begin(struct gi_xlator *x, struct gi_fop *fop);

enum gi_verdict
ix_turn_take(struct gi_xlator *x, struct gi_fop *fop, struct gi_inode *inode)
{
  struct ix_fop *f = gi_fop_private(fop, x);
  GI_ASSERT(inode && !f->inode);
  f->inode = inode;
  if (gi_serial_enter(&inode_bytes(x, inode)->serial, &fop->link))
    return turn_begin(x, fop);
  ix_private(x)->metrics.queued++;
  gi_fop_waits(fop, GI_WAIT_ORDER, "others that change the counters", NULL);
  return GI_HELD;
}

/* The turn passes on, but not from inside somebody's reply. */
void
ix_turn_end(struct gi_xlator *x, struct gi_inode *inode)
{
  gi_serial_leave_later(&inode_bytes(x, inode)->serial, &ix_private(x)->turns);
}

static void
turn_came(struct gi_list *turn, void *arg)
{
  struct gi_fop *fop = gi_list_item(turn, struct gi_fop, link);
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(!fop->answered);
  gi_fop_resume(fop, arg, turn_begin(arg, fop));
}

void
ix_turns_init(struct gi_xlator *x)
{
  gi_serial_later_init(&ix_private(x)->turns, x->reactor, turn_came, x);
}

/* The fop's job: made with its first step. */
static void
add_step(struct gi_xlator *x, struct gi_fop *fop, struct ix_job **job, enum ix_what what, enum ix_class cls, const char *name)
{
  const struct ix_fop *f = gi_fop_private(fop, x);
  GI_ASSERT(f->inode && inode_bytes(x, f->inode)->serial.taken);
  if (!*job)
    *job = ix_job_new(x, fop, &f->inode->gfid);
  ix_job_add(*job, what, cls, name);
}

static void
add_regions(struct gi_xlator *x, struct gi_fop *fop, struct ix_job **job, uint8_t state)
{
  const struct ix_fop *f = gi_fop_private(fop, x);
  struct ix_told *told = f->present & (1u << IX_PENDING) ? ix_regions_told(x, fop, f->inode, state) : NULL;
  GI_ASSERT(!*job || !(*job)->told);
  if (!told)
    return;
  add_step(x, fop, job, IX_REGIONS, IX_PENDING, NULL);
  (*job)->told = told;
}

static void
before_done(struct gi_xlator *x, struct ix_job *job)
{
  struct gi_fop *fop = job->fop;
  struct ix_fop *f = gi_fop_private(fop, x);
  GI_ASSERT(!fop->answered && inode_bytes(x, f->inode)->serial.taken);
  ix_job_learn(x, job, inode_bytes(x, f->inode));
  int err = 0;
  for (unsigned i = 0; i < job->nsteps; i++) {
    if (job->step[i].what == IX_ENTRY_LINK || job->step[i].what == IX_REGIONS)
      err = err ? err : job->step[i].err;
  }
  if (err) { /* without its name in the index, or with a log that is wrong, a heal would miss the change */
    ix_turn_end(x, f->inode);
    fop->rsp.ret = -1;
    fop->rsp.err = err;
    gi_fop_answer(fop, x);
  } else {
    gi_fop_forward_tell(fop, x);
  }
  ix_job_free(job);
}

/* An xattrop with the turn of its inode. NULL: nothing is to be done before it. */
static struct ix_job *
xattrop_steps(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ix_fop *f = gi_fop_private(fop, x);
  const struct ix_inode *ii = inode_bytes(x, f->inode);
  struct ix_job *job = NULL;
  for (int c = 0; c < IX_TRACKED; c++) {
    if (!(f->nonzero & (1u << c)))
      continue;
    if (ii->state[c] == IX_IN) {
      ix_private(x)->metrics.saved++;
      continue;
    }
    add_step(x, fop, &job, IX_LINK, c, NULL);
  }
  if (f->create)
    add_step(x, fop, &job, IX_ENTRY_LINK, IX_CHANGES, f->create);
  add_regions(x, fop, &job, ii->log);
  return job;
}

static struct ix_job *
return_steps(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ix_job *job = NULL;
  add_step(x, fop, &job, IX_KEPT, IX_PENDING, NULL);
  for (int c = 0; c < IX_TRACKED; c++)
    add_step(x, fop, &job, IX_LINK, c, NULL);
  return job;
}

static enum gi_verdict
turn_begin(struct gi_xlator *x, struct gi_fop *fop)
{
  bool xattrop = fop->kind == GI_FOP_XATTROP || fop->kind == GI_FOP_FXATTROP;
  if (!xattrop && fop->kind != GI_FOP_MKNOD)
    return ix_virtual_remove_begin(x, fop);
  struct ix_fop *f = gi_fop_private(fop, x);
  struct ix_job *job = xattrop ? xattrop_steps(x, fop) : return_steps(x, fop);
  if (!job)
    return GI_PASS_TELL;
  if (ix_job_now(job)) {
    ix_job_learn(x, job, inode_bytes(x, f->inode));
    ix_job_free(job);
    return GI_PASS_TELL;
  }
  ix_job_run(job, before_done);
  return GI_HELD;
}

enum gi_verdict
ix_xattrop(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ix_private *p = ix_private(x);
  struct ix_fop *f = gi_fop_private(fop, x);
  struct gi_inode *inode = gi_fop_inode(fop);
  uint64_t purge = 0;
  if ((fop->args.flags != GI_XATTROP_ADD32 && fop->args.flags != GI_XATTROP_ADD64) || !inode || p->fd[IX_PENDING] < 0)
    return GI_PASS;
  classify(p, fop->args.flags, fop->args.dict, &f->present, &f->nonzero);
  if (fop->xdata) {
    gi_dict_get_str(fop->xdata, "glusterfs.xattrop-entry-create", &f->create);
    gi_dict_get_str(fop->xdata, "glusterfs.xattrop-entry-delete", &f->del);
    gi_dict_get_uint(fop->xdata, "glusterfs.xattrop-purge-index", &purge);
    f->purge = purge != 0;
  }
  if ((f->create && !ix_name_ok(f->create)) || (f->del && !ix_name_ok(f->del)))
    return gi_fop_fail(fop, EINVAL);
  if (!f->present && !f->create && !f->del) {
    p->metrics.untracked++;
    return GI_PASS;
  }
  p->metrics.tracked++;
  return ix_turn_take(x, fop, inode);
}

/* ---- what comes back ---- */

enum gi_verdict
ix_mknod(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_gfid gfid;
  if (ix_private(x)->fd[IX_PENDING] < 0 || !gi_dict_get(fop->xdata, "glusterfs-internal-fop") ||
      !gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid) || gi_gfid_is_none(&gfid))
    return GI_PASS;
  return ix_turn_take(x, fop, gi_inode_get(fop->graph, &gfid)); /* dropped in ix_mknod_done */
}

enum gi_verdict
ix_mknod_done(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ix_fop *f = gi_fop_private(fop, x);
  GI_ASSERT(f->inode && inode_bytes(x, f->inode)->serial.taken);
  ix_turn_end(x, f->inode);
  gi_inode_unref(&f->inode);
  return GI_PASS;
}

/* ---- the reply ---- */

static void
after_done(struct gi_xlator *x, struct ix_job *job)
{
  const struct ix_fop *f = gi_fop_private(job->fop, x);
  GI_ASSERT(inode_bytes(x, f->inode)->serial.taken);
  ix_job_learn(x, job, inode_bytes(x, f->inode));
  ix_turn_end(x, f->inode);
  gi_fop_return(job->fop, x);
  ix_job_free(job);
}

/* The reply went up long ago. */
static void
behind_done(struct gi_xlator *x, struct ix_job *job)
{
  const struct ix_fop *f = gi_fop_private(job->fop, x);
  GI_ASSERT(inode_bytes(x, f->inode)->serial.taken);
  ix_job_learn(x, job, inode_bytes(x, f->inode));
  ix_turn_end(x, f->inode);
  ix_job_free(job);
}

/* What the reply asks for; NULL = nothing. */
static struct ix_job *
after_steps(struct gi_xlator *x, struct gi_fop *fop, bool *wait)
{
  struct ix_fop *f = gi_fop_private(fop, x);
  struct ix_inode *ii = inode_bytes(x, f->inode);
  struct ix_job *job = NULL;
  uint8_t present, nonzero;
  classify(ix_private(x), fop->args.flags, fop->rsp.dict, &present, &nonzero);
  for (int c = 0; c < IX_TRACKED; c++) {
    unsigned bit = 1u << c;
    if (!(present & bit))
      continue;
    if ((nonzero & bit) && ii->state[c] != IX_IN) {
      add_step(x, fop, &job, IX_LINK, c, NULL);
      *wait = true;
    } else if (!(nonzero & bit) && ii->state[c] == IX_UNKNOWN && ix_private(x)->count[c] == 0) {
      ii->state[c] = IX_OUT; /* nobody is in */
    } else if (!(nonzero & bit) && ii->state[c] != IX_OUT) {
      add_step(x, fop, &job, IX_UNLINK, c, NULL);
    } else {
      ix_private(x)->metrics.saved++;
    }
  }
  if (f->del) {
    add_step(x, fop, &job, IX_ENTRY_UNLINK, IX_CHANGES, f->del);
    *wait = true;
  }
  bool clean = (present & (1u << IX_PENDING)) && !(nonzero & (1u << IX_PENDING));
  if (f->purge && clean && (f->inode->mode == 0 || S_ISDIR(f->inode->mode))) {
    add_step(x, fop, &job, IX_PURGE, IX_CHANGES, NULL);
    *wait = true;
  }
  return job;
}

enum gi_verdict
ix_xattrop_done(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ix_fop *f = gi_fop_private(fop, x);
  GI_ASSERT(f->inode && inode_bytes(x, f->inode)->serial.taken);
  if (fop->rsp.ret < 0) {
    ix_turn_end(x, f->inode);
    return GI_PASS;
  }
  bool wait = false;
  struct ix_job *job = after_steps(x, fop, &wait);
  if (!job) {
    ix_turn_end(x, f->inode);
    return GI_PASS;
  }
  if (ix_job_now(job)) {
    ix_job_learn(x, job, inode_bytes(x, f->inode));
    ix_turn_end(x, f->inode);
    ix_job_free(job);
    return GI_PASS;
  }
  ix_job_run(job, wait ? after_done : behind_done);
  return wait ? GI_HELD : GI_PASS;
}
