/* SPDX-License-Identifier: Apache-2.0
 *
 * Work on tasks, and operations of the translator's own.
 */
#include "xlators/features/shard/shard.h"

struct job {
  struct shard *sh;
  struct gi_fop *fop;
  sh_task_fn *fn;
  bool reply;
  void (*work)(struct shard *sh, void *arg);
  void *arg;
};

void
sh_check_idle(struct shard *sh)
{
  void (*drained)(struct gi_xlator * x) = sh->drained;

  if (sh->busy || !gi_list_empty(&sh->leases))
    return;
  if (sh->stopping) {
    sh->stopping = false;
    gi_notify_down(sh->x, GI_EVENT_PARENT_DOWN, NULL);
  } else if (drained) {
    sh->drained = NULL;
    drained(sh->x);
  }
}

static void
job_done(struct shard *sh)
{
  GI_ASSERT(sh->busy > 0);
  sh->busy--;
  sh_check_idle(sh);
}

static void
run_job(void *arg)
{
  struct job job = *(struct job *)arg;
  struct shard *sh = job.sh;

  gi_free(arg);
  if (job.work) {
    job.work(sh, job.arg);
    job_done(sh);
    return;
  }
  int err = job.fn(sh, job.fop);
  if (err) {
    gi_reply_clear(&job.fop->rsp);
    job.fop->rsp.ret = -1;
    job.fop->rsp.err = err;
  }
  if (job.reply)
    gi_fop_return(job.fop, sh->x);
  else
    gi_fop_answer(job.fop, sh->x);
  job_done(sh);
}

static void
job_start(struct job job)
{
  struct job *j = gi_new(struct job);

  GI_ASSERT(!job.fop == !!job.work && !job.fn == !!job.work);
  *j = job;
  j->sh->busy++;
  gi_task_start(j->sh->x->reactor, run_job, j);
}

enum gi_verdict
sh_task(struct shard *sh, struct gi_fop *fop, sh_task_fn *fn)
{
  job_start((struct job){.sh = sh, .fop = fop, .fn = fn});
  return GI_HELD;
}

enum gi_verdict
sh_reply_task(struct shard *sh, struct gi_fop *fop, sh_task_fn *fn)
{
  job_start((struct job){.sh = sh, .fop = fop, .fn = fn, .reply = true});
  return GI_HELD;
}

void
sh_work(struct shard *sh, void (*fn)(struct shard *sh, void *arg), void *arg)
{
  job_start((struct job){.sh = sh, .work = fn, .arg = arg});
}

int
sh_run(struct shard *sh, struct gi_fop *fop)
{
  GI_ASSERT(gi_task_self(sh->x->reactor) && !fop->answered);
  gi_task_fop(fop, gi_first_child(sh->x));
  return fop->rsp.ret < 0 ? (fop->rsp.err ? fop->rsp.err : EIO) : 0;
}

int
sh_pass(struct shard *sh, struct gi_fop *fop)
{
  struct gi_fop *child = gi_fop_child(fop);
  child->args.sync = GI_SYNC_NONE;              /* an fsync of this one file would not be one of its blocks */
  GI_ASSERT(!fop->rsp.xdata && !fop->rsp.dict); /* no reply yet */
  int err = sh_run(sh, child);

  gi_reply_move(fop, child);
  gi_fop_unref(child);
  return err;
}

struct gi_fop *
sh_fop(struct shard *sh, struct gi_fop *parent, enum gi_fop_kind kind)
{
  struct gi_fop *fop = parent ? gi_fop_helper(parent, kind) : gi_fop_new(sh->x->graph, kind);

  fop->caller.uid = fop->caller.gid = 0;
  fop->caller.ngroups = 0;
  fop->caller.groups = NULL;
  fop->caller.stamps &= GI_STAMP_CTIME | GI_STAMP_MTIME | GI_STAMP_ATIME;
  return fop;
}

struct gi_fop *
sh_inode_fop(struct shard *sh, struct gi_fop *parent, enum gi_fop_kind kind, struct gi_inode *inode)
{
  struct gi_fop *fop = sh_fop(sh, parent, kind);

  GI_ASSERT(inode && !gi_gfid_is_none(&inode->gfid));
  gi_loc_set_inode(&fop->loc, inode);
  return fop;
}
