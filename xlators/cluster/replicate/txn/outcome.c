/* SPDX-License-Identifier: Apache-2.0
 *
 * The outcome of an operation (replicate.md 6.4): which children failed, whether
 * the application is told success, which children are blamed, and which reply is
 * given.
 */
#include "xlators/cluster/replicate/txn/txn.h"

#include "libglusterish/probe.h"

/* Children that did it. A write that stored less than the best copy has failed. The arbiter was sent one byte. */
static uint32_t
succeeded(const struct gi_fop *fop, const struct gi_fan *fan)
{
  uint32_t ok = fan->ok, arbiter = rep_of(fan->x)->arbiter;
  int32_t best = 0;

  if (fop->kind != GI_FOP_WRITE && fop->kind != GI_FOP_COPY_FILE_RANGE)
    return ok;
  rep_foreach(i, fan->ok & ~arbiter) if (gi_fan_reply(fan, i)->rsp.ret > best) best = gi_fan_reply(fan, i)->rsp.ret;
  rep_foreach(j, fan->ok) if (gi_fan_reply(fan, j)->rsp.ret < ((arbiter >> j) & 1 && best ? 1 : best)) ok &= ~(1u << j);
  return ok;
}

/* A directory that is not empty here may be so elsewhere only because a heal is due: no reason to blame (replicate.md 6.4). Where any two quorums
 * share a copy that cannot be: one of those that removed it would have what was acknowledged. So this copy has missed that it went, and without a
 * mark what it kept would bring the directory back. */
static uint32_t
not_empty(const struct rep_txn *t, const struct gi_fan *fan)
{
  uint32_t mask = 0;

  if (t->type == REP_ENTRY && !rep_quorums_meet(t->rep))
    rep_foreach(i, fan->failed) if (gi_fan_reply(fan, i)->rsp.err == ENOTEMPTY) mask |= 1u << i;
  return mask;
}

static void
distrust(struct rep_txn *t, uint32_t bad)
{
  for (unsigned l = 0; l < t->nlogs; l++)
    rep_inode_distrust(t->rep, t->log[l].inode, t->type, bad);
}

/* Again once the marks are written: a refresh in between could not see them yet. */
void
rep_outcome_distrust(struct rep_txn *t)
{
  uint32_t bad = 0;

  rep_foreach(i, t->active) bad |= t->blame[i];
  if (bad)
    distrust(t, bad);
}

/* The children of `by` will blame `whom` in the post-op for what it did. If they are no quorum `whom` blames itself, too: otherwise it
 * and a third child could soon be a quorum that knows of nothing wrong. */
static void
accuse(struct rep_txn *t, uint32_t by, uint32_t whom)
{
  GI_ASSERT(by && whom && !(by & whom) && !((by | whom) & ~t->active));
  distrust(t, whom);
  if (!rep_quorum(t->rep, by))
    by |= whom;
  rep_foreach(i, by) t->blame[i] |= whom;
}

/* Errors that say something about names, and not about the child itself. */
bool
rep_outcome_claims(int err)
{
  return err == ENOENT || err == EEXIST || err == ENOTEMPTY || err == ESTALE || err == EISDIR || err == ENOTDIR;
}

uint32_t
rep_outcome_saying(const struct gi_fan *fan, int err)
{
  uint32_t set = 0;

  rep_foreach(i, fan->failed) if (gi_fan_reply(fan, i)->rsp.err == err) set |= 1u << i;
  return set;
}

/* The errno that good copies agree on, or that a quorum gives about names; 0: there is none. */
static int
claimed(const struct rep_txn *t, const struct gi_fan *fan)
{
  uint32_t good = t->counters_known || t->dirty_owed ? t->active & ~t->accused : 0;
  int err = good && (good & fan->failed) == good ? gi_fan_same_errno(fan, good) : 0;

  if (err && rep_outcome_claims(err))
    return err;
  rep_foreach(i, fan->failed)
  {
    err = gi_fan_reply(fan, i)->rsp.err;
    if (rep_outcome_claims(err) && rep_quorum(t->rep, rep_outcome_saying(fan, err)))
      return err;
  }
  return 0;
}

/* A few copies, which may be outdated, cannot tell what exists. EIO if no child is away that could tell. */
static int
some_errno(const struct rep_txn *t, const struct rep_fop *rf)
{
  int err = rf->fan.err ? rf->fan.err : rf->must_err ? rf->must_err : ENOTCONN, said;

  if (t->type != REP_ENTRY)
    return rf->fan.err ? rep_fan_errno(&rf->fan) : err;
  if (!rep_outcome_claims(err) || !rf->fan.sent)
    return err;
  said = claimed(t, &rf->fan);
  if (said)
    return said;
  return rf->fan.sent == t->rep->all && !rep_outcome_saying(&rf->fan, ENOTCONN) ? EIO : ENOTCONN;
}

/* Good copies have missed no acknowledged change, so their agreed answer is right. Copies that did the operation lack the change that
 * makes it impossible. They are blamed again: the heal that ends their blame may have passed this name already. */
bool
rep_outcome_by_good(struct rep_txn *t, struct gi_fop *fop)
{
  struct rep_fop *rf = rep_fop(t->rep, fop);
  struct gi_fan *fan = &rf->fan;
  uint32_t half = t->half_done & ~(uint32_t)fan->ok, good = t->active & ~t->accused & ~half,
           stale = fan->ok | (half & t->active);
  int err = good & fan->failed ? gi_fan_reply(fan, rep_first(good & fan->failed))->rsp.err : 0;

  if (t->type != REP_ENTRY || (t->retried && (fan->ok || !half)) || !(t->counters_known || t->dirty_owed))
    return false;
  if (!good || !(stale | half) || (rep_outcome_saying(fan, err) & good) != good || !rep_outcome_claims(err))
    return false;
  GI_PROBE("replicate: done on copies that missed something, impossible on the good ones");
  t->rep->metrics.blames++;
  t->last_kind = fop->kind;
  if (stale)
    accuse(t, good, stale);
  rep_foreach(i, good) t->blame[i] |= half; /* some may be away */
  t->closing = true;
  rf->ok = 0;
  rf->refused = good;
  rf->err = err;
  return true;
}

/* Names that a first attempt has left on some copies, and nobody can be blamed for: a healer must look. */
static void
doubt_half_done(struct rep_txn *t)
{
  if (!t->half_done)
    return;
  t->keep_dirty = true;
  if (!t->dirty_owed)
    t->mark_dirty |= t->half_done & t->active;
}

static bool
no_success(struct rep_txn *t, const struct gi_fop *fop, struct rep_fop *rf)
{
  int same = rf->fan.sent ? gi_fan_same_errno(&rf->fan, rf->fan.sent) : rf->must_err; /* not sent: we refused it ourselves */

  doubt_half_done(t);
  if (same && same != ENOTCONN && fop->kind != GI_FOP_FSYNC &&
      !rep_outcome_lost(&rf->fan)) { /* they agree: nothing happened anywhere */
    rf->err = same;
    return true;
  }
  GI_PROBE("replicate: failed everywhere in different ways, or lost everywhere: dirty stays");
  rf->err = some_errno(t, rf);
  t->keep_dirty = true;
  t->closing = true;
  return true;
}

/* Names, where any two quorums share a copy: a copy that no participant of a quorum accuses has missed no acknowledged change. Without a
 * quorum such a copy cannot be found, and every change of names is taken. */
bool
rep_outcome_has_good(const struct rep_txn *t, uint32_t mask)
{
  mask &= ~t->rep->arbiter; /* it cannot be what the others are healed from */
  if (t->type != REP_ENTRY)
    return (mask & t->good) != 0;
  if (!rep_quorums_meet(t->rep) || GI_BROKEN("let outdated copies change names"))
    return true;
  for (unsigned l = 0; l < t->nlogs; l++)
    if (!(mask & ~t->log[l].accused))
      return false;
  return true;
}

bool
rep_outcome_has_wholly_good(const struct rep_txn *t, uint32_t mask)
{
  if (t->type != REP_ENTRY || !rep_quorums_meet(t->rep) || GI_BROKEN("let outdated copies change names"))
    return rep_outcome_has_good(t, mask);
  return (mask & ~t->accused & ~t->rep->arbiter) != 0;
}

/* The only good copies failed and accused ones succeeded: blaming the good ones would leave none. */
bool
rep_outcome_splits(const struct rep_txn *t, uint32_t ok, uint32_t failed)
{
  uint32_t good = t->good & ~t->rep->arbiter;

  return t->type != REP_ENTRY && (failed & good) && !(ok & good);
}

void
rep_outcome_blame(struct rep_txn *t, uint32_t ok, uint32_t failed)
{
  uint32_t missing = t->rep->all & ~t->active;

  if (GI_BROKEN("forget to blame who failed"))
    return;
  GI_ASSERT(!(ok & failed) && !(ok & ~t->active));
  t->failed |= failed;
  t->good &= ~failed; /* so that operations of one session that fail on different children cannot blame every good copy */
  rep_foreach(i, ok) t->blame[i] |= failed | missing;
}

/* Also below the quorum: a disk reports a loss only once, and the next fsync would be told a success. If another client that reaches the
 * quorum goes on and blames these copies, the result is a split brain instead of a loss that nobody notices. */
void
rep_outcome_unsynced(struct rep_txn *t, uint32_t ok, uint32_t lost)
{
  if (!lost || !(ok & t->good & ~t->rep->arbiter) || rep_outcome_splits(t, ok, lost))
    return;
  GI_PROBE("replicate: copies that could not be synced are blamed below the quorum");
  distrust(t, lost);
  rep_outcome_blame(t, ok, lost);
}

uint32_t
rep_outcome_lost(const struct gi_fan *fan)
{
  uint32_t lost = 0;

  rep_foreach(i, fan->failed)
  {
    const struct gi_fop *reply = gi_fan_reply(fan, i);

    if (reply && reply->rsp.ret < 0 && reply->rsp.err != ENOTCONN &&
        (reply->kind == GI_FOP_FSYNC || reply->rsp.synced == GI_SYNC_FAILED))
      lost |= 1u << i;
  }
  return lost;
}

bool
rep_outcome_synced(const struct gi_fan *fan)
{
  rep_foreach(i, fan->ok)
  {
    const struct gi_fop *reply = gi_fan_reply(fan, i);

    if (reply->kind != GI_FOP_FSYNC && reply->rsp.synced != GI_SYNCED)
      return false;
  }
  return fan->ok != 0;
}

/* Of a directory where it had missed something a copy may have moved another object than the good ones did, to where it had missed
 * nothing: nobody would know that this is wrong. */
static void
blame_strays(struct rep_txn *t, uint32_t right, uint32_t strays)
{
  right &= ~t->accused;
  if (!right || !strays || !(t->counters_known || t->dirty_owed))
    return;
  GI_PROBE("replicate: blamed for having moved another object");
  accuse(t, right, strays);
}

static bool
lost_quorum(struct rep_txn *t, struct gi_fop *fop, struct rep_fop *rf)
{
  GI_ASSERT(rf->ok && !((uint32_t)rf->fan.ok & ~t->active));
  if (fop->kind == GI_FOP_FSYNC || rf->syncs)
    rep_outcome_unsynced(t, rf->ok, rep_outcome_lost(&rf->fan) | (rf->must_err != ENOTCONN ? rf->must_fail & rf->fan.sent : 0));
  GI_PROBE("replicate: done on fewer copies than the quorum");
  t->closing = true;
  rf->err = some_errno(t, rf);
  t->keep_dirty = true;
  if (t->type == REP_ENTRY)
    blame_strays(t, rf->ok, rf->fan.ok & ~rf->ok);
  if (t->type != REP_DATA && !t->dirty_owed)
    t->mark_dirty |= rf->fan.ok | (t->half_done & t->active);
  return true;
}

static bool
judge(struct rep_txn *t, struct gi_fop *fop)
{
  struct rep_fop *rf = rep_fop(t->rep, fop);
  struct gi_fan *fan = &rf->fan;
  uint32_t missing = t->rep->all & ~t->active;
  uint32_t failed;

  GI_CHECK(t, REP_TXN_MAGIC);
  GI_ASSERT(t->state == REP_OPEN && rf->txn == t && fan->outstanding == 0);
  t->last_kind = fop->kind;
  rf->ok &= succeeded(fop, fan);
  failed = fan->sent & ~rf->ok & ~not_empty(t, fan);
  if (!rf->ok)
    return no_success(t, fop, rf);
  if (rep_outcome_splits(t, rf->ok, failed)) {
    t->closing = t->keep_dirty = true;
    GI_PROBE("replicate: failed on every good copy, refused rather than split");
    rf->err = gi_fan_reply(fan, rep_first_data(t->rep, failed & t->good))->rsp.err;
    if (!rf->err) /* a short write carries none; an FSYNC may have failed before */
      rf->err = rf->must_err ? rf->must_err : EIO;
    rf->ok = 0;
    return true;
  }
  if (t->type == REP_ENTRY && !rep_outcome_has_good(t, rf->ok)) {
    GI_PROBE("replicate: names changed on no good copy");
    lost_quorum(t, fop, rf);
    rf->ok = 0;
    return true;
  }
  if (!rep_quorum(t->rep, rf->ok) && !GI_BROKEN("success without quorum")) {
    lost_quorum(t, fop, rf);
    rf->ok = 0;
    return true;
  }
  if (!(failed | missing))
    return true;
  t->rep->metrics.blames++;
  GI_PROBE("replicate: a change some copies missed");
  distrust(t, failed | missing);
  rep_outcome_blame(t, rf->ok, failed);
  if (failed)
    t->closing = true;
  return !failed || GI_BROKEN("answer before those who failed are blamed");
}

bool
rep_outcome_judge(struct rep_txn *t, struct gi_fop *fop)
{
  bool at_once = judge(t, fop);
  const struct rep_fop *rf = rep_fop(t->rep, fop);

  GI_ASSERT(!(rf->ok & ~t->active) && !(rf->ok & ~(uint32_t)rf->fan.ok));
  GI_ASSERT(rf->ok ? !rf->err : rf->err > 0); /* a success has who did it, a failure has a reason */
  return at_once;
}

/* ---- the reply ---- */

static uint32_t
largest_results(const struct gi_fan *fan, uint32_t ok)
{
  uint32_t best = 0;

  rep_foreach(i, ok)
  {
    int32_t ret = gi_fan_reply(fan, i)->rsp.ret;

    if (best && ret < gi_fan_reply(fan, rep_first(best))->rsp.ret)
      continue;
    if (best && ret > gi_fan_reply(fan, rep_first(best))->rsp.ret)
      best = 0;
    best |= 1u << i;
  }
  return best;
}

static int
choose_parent_reply(const struct rep *rep, const struct gi_fop *fop, struct gi_inode *inode, uint32_t ok, bool entries)
{
  int child = -1;

  if (inode && rep_inode(rep, inode)->generation)
    child = rep_read_child(rep, inode, fop, ok & rep_readable(rep, inode, entries));
  return child >= 0 ? child : rep_first_data(rep, ok);
}

/* The modes of a file that is being moved to another set, and of what is left of one that has been (distribute.md 9). */
static bool
says_moved(const struct gi_iatt *post)
{
  return gi_iatt_valid(post) && S_ISREG(post->mode) &&
         ((post->mode & 07777) == S_ISVTX || (post->mode & S_ISVTX && post->mode & S_ISGID));
}

/* Those above do a change of such a file on the other set, too. A child that did it before it was told of the move, or was away then, must
 * not hide that: everything else of its reply may be as good as the others'. But one that is accused has not heard, perhaps, that the file has
 * come, and is a linkto file still. */
static void
show_move(struct gi_fop *fop, const struct gi_fan *fan, uint32_t ok)
{
  struct gi_iatt *told = &fop->rsp.post;

  if (!gi_iatt_valid(told) || !S_ISREG(told->mode) || says_moved(told))
    return;
  rep_foreach(i, ok)
  {
    const struct gi_iatt *post = &gi_fan_reply(fan, i)->rsp.post;

    if (says_moved(post) && gi_gfid_equal(&post->gfid, &told->gfid)) {
      GI_PROBE("replicate: a child did not know that the file is being moved");
      told->mode = post->mode;
    }
  }
}

static void
reply_success(const struct rep *rep, struct gi_fop *fop, struct gi_fan *fan, uint32_t ok, uint32_t good)
{
  bool entry = (gi_fop_table[fop->kind].classes & GI_CLASS_ENTRY) != 0;
  uint32_t data = ok & ~rep->arbiter ? ok & ~rep->arbiter : ok; /* the arbiter's attributes are not the file's */
  struct gi_iatt pre, post, pre2, post2;
  int child;

  if (!entry && (data & good)) /* nor are those of a copy that lacks something: which one does is known best under the lock */
    data &= good;
  child = choose_parent_reply(rep, fop, rep_fop_fd(fop) && rep_fop_fd(fop)->inode ? rep_fop_fd(fop)->inode : fop->loc.inode,
                              largest_results(fan, data), false);

  if (entry) {
    int parent = choose_parent_reply(rep, fop, fop->kind == GI_FOP_LINK ? fop->loc2.parent : fop->loc.parent, ok, true);
    int parent2 = choose_parent_reply(rep, fop, fop->loc2.parent, ok, true);

    pre = gi_fan_reply(fan, parent)->rsp.pre;
    post = gi_fan_reply(fan, parent)->rsp.post;
    pre2 = gi_fan_reply(fan, parent2)->rsp.pre2;
    post2 = gi_fan_reply(fan, parent2)->rsp.post2;
  }
  gi_reply_move(fop, gi_fan_reply(fan, child));
  if (!entry)
    show_move(fop, fan, ok & good ? ok & good : ok);
  if (entry) {
    fop->rsp.pre = pre;
    fop->rsp.post = post;
    fop->rsp.pre2 = pre2;
    fop->rsp.post2 = post2;
  }
}

static bool
is_refused_layout(const struct gi_fop *reply)
{
  return gi_dict_get(reply->rsp.xdata, GI_LAYOUT_REFUSED_KEY) != NULL;
}

/* The xdata of a child that gave the errno; better one that was connected. Who goes by an old layout is to hear of it, whatever others say: with the
 * right one it is done elsewhere. */
static void
reply_failure(struct gi_fop *fop, struct gi_fan *fan, int err)
{
  int child = -1;

  rep_foreach(i, fan->failed) if (child < 0 || gi_fan_reply(fan, i)->rsp.err == err) child = (int)i;
  rep_foreach(i, fan->failed) if (is_refused_layout(gi_fan_reply(fan, i)))
  {
    child = (int)i;
    err = gi_fan_reply(fan, i)->rsp.err;
  }
  if (child >= 0)
    gi_reply_move(fop, gi_fan_reply(fan, child));
  else
    gi_reply_clear(&fop->rsp);
  fop->rsp.ret = -1;
  fop->rsp.err = err;
}

void
rep_outcome_reply(struct rep_txn *t, struct gi_fop *fop)
{
  struct rep *rep = t->rep;
  struct rep_fop *rf = rep_fop(rep, fop);
  bool synced = rf->syncs && rep_outcome_synced(&rf->fan);

  GI_ASSERT(!fop->answered && rf->txn == t);
  if (!rf->err && !rep_undisturbed(rep, t->generation))
    rf->err = ENOTCONN;
  if (!rf->err)
    rf->err = rep_fd_errno(rep, fop);
  if (rf->ok && !rf->err) {
    struct gi_iatt found = {0};

    if (rf->repeated)
      rep_fastpath_found(t, &rf->fan, rf->ok & t->good, &found);
    reply_success(rep, fop, &rf->fan, rf->ok, t->good & ~t->meta_accused);
    if (gi_iatt_valid(&found))
      fop->rsp.pre = found;
    /* A later read may go to another child: let nobody remember these. Of an OPEN nobody expects any. */
    if ((rep_opts(rep)->consistent_metadata && t->state == REP_OPEN) || fop->kind == GI_FOP_OPEN) {
      memset(&fop->rsp.pre, 0, sizeof(fop->rsp.pre));
      memset(&fop->rsp.post, 0, sizeof(fop->rsp.post));
    }
  } else {
    reply_failure(fop, &rf->fan, rf->err ? rf->err : ENOTCONN);
  }
  fop->rsp.synced = synced && fop->rsp.ret >= 0 ? GI_SYNCED : GI_NOT_SYNCED;
  gi_fan_clear(&rf->fan);
}

/* Every copy where it was done, but is impossible on the good ones, is known to be wrong: by a quorum of those, or by itself. */
static bool
known_wrong(const struct rep_txn *t, uint32_t wrong, uint32_t good)
{
  rep_foreach(i, t->post_ok) if ((t->blame[i] >> i) & 1) wrong &= ~(1u << i);
  return !wrong || rep_quorum(t->rep, good & t->post_ok);
}

void
rep_outcome_answer_held(struct rep_txn *t)
{
  GI_ASSERT(t->state == REP_POST_OP);
  while (!gi_list_empty(&t->held)) {
    struct gi_fop *fop = gi_list_first(&t->held, struct gi_fop, link);
    struct rep_fop *rf = rep_fop(t->rep, fop);

    gi_list_del(&fop->link);
    /* A success without a durable record of who missed it would be a lie. */
    if (!rf->err && !rep_quorum(t->rep, rf->ok & t->post_ok) && !GI_BROKEN("success without quorum"))
      rf->err = rf->ok & ~t->post_ok & ~t->post_gone ? ENOTCONN : ESTALE; /* what was changed has been removed meanwhile */
    if (rf->refused && !known_wrong(t, rf->fan.ok | t->half_done, rf->refused))
      rf->err = ENOTCONN;
    rep_outcome_reply(t, fop);
    gi_fop_answer(fop, t->rep->x);
  }
}
