/* SPDX-License-Identifier: Apache-2.0
 *
 * LOOKUP: the subvolume where the name belongs is asked first, and as a rule
 * alone. A linkto file there says which other one has the file; a directory is
 * on all of them; a name that is not there may be elsewhere.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/content.h"
#include "libglusterish/log.h"

#include <errno.h>

/* ---- what follows from answers ---- */

static void
know_found(struct di *d, struct gi_fop *fop, struct gi_xlator *child)
{
  struct gi_iatt *a = &fop->rsp.stat;

  GI_ASSERT(child && !S_ISDIR(a->mode));
  di_fop_of(fop, d)->to = child;
  di_know_file(d, &a->gfid, child);
  di_note_know(d, &a->gfid, di_has_note(d, fop));
  if (di_is_moving(d, a, fop->rsp.xdata))
    gi_content_drop(fop); /* it may be another subvolume's by the time it is read */
  di_know_marks(d, fop);
  a->mode = di_own_mode(d, a, fop->rsp.xdata);
  di_parent_attrs(d, fop);
  di_strip_keys(d, fop);
}

static enum gi_verdict by_name(struct di *d, struct gi_fop *fop);
static enum gi_verdict by_gfid(struct di *d, struct gi_fop *fop);

/* It may be what is left of a file that is elsewhere. */
static bool
is_doubtful(const struct di *d, const struct gi_fop *reply)
{
  return di_is_bare(d, &reply->rsp.stat, reply->rsp.xdata);
}

/* Somebody was killed who renamed or moved it. */
static bool
is_undone(const struct di *d, const struct gi_fop *reply)
{
  return di_has_note(d, reply) || di_is_unfinished(d, reply) || di_lost_marks(d, reply);
}

static enum gi_verdict
not_found(struct gi_fop *fop, const struct di_found *f)
{
  int err = di_ask_err(&f->ask, f->failed);

  if (!err)
    err = f->failed ? EIO : fop->loc.name ? ENOENT : ESTALE;
  return gi_fop_fail(fop, err);
}

/* What the source has of a file whose move is not finished, or that it cannot be asked: what is done to the file elsewhere it would lack,
 * and it counts. GI_HELD: it has nothing any more. */
static enum gi_verdict
as_on_source(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source)
{
  enum gi_verdict v = GI_HELD;
  struct gi_fop *reply;
  struct di_found f;

  di_find(d, fop, &fop->loc, 1ull << source, &f);
  reply = gi_fan_reply(&f.ask.fan, source);
  if (f.file && gi_gfid_equal(&reply->rsp.stat.gfid, gfid)) {
    gi_reply_move(fop, reply);
    know_found(d, fop, d->x->children[source]);
    v = GI_ANSWERED;
  } else if (f.failed) {
    v = not_found(fop, &f);
  }
  di_found_end(&f);
  return v;
}

/* A rename cannot be ended now. Where one of its directories is gone it never can. */
static bool
is_hindered(int err)
{
  return err && !di_is_gone(err);
}

/* Names are what they are when that is settled: who is about to change one waits for it. */
static enum gi_verdict
once_more(struct di *d, struct gi_fop *fop, const struct gi_fop *reply, unsigned child)
{
  struct di_fop *df = di_fop_of(fop, d);
  struct gi_gfid gfid = reply->rsp.stat.gfid;
  unsigned source;
  int err = 0;

  df->noted = true;
  if (di_is_unfinished(d, reply) || di_lost_marks(d, reply))
    err = di_finish_move(d, fop, reply, child, df->inner, &source);
  if (err && err != EALREADY && as_on_source(d, fop, &gfid, source) == GI_ANSWERED)
    return GI_ANSWERED;
  if (di_has_note(d, reply))
    df->undecided = is_hindered(di_note_settle(d, fop, reply, child));
  gi_fop_unref(df->first);
  df->first = NULL;
  return fop->loc.name ? by_name(d, fop) : by_gfid(d, fop);
}

/* The reply of one subvolume becomes the operation's. Which name a file has whose rename could not be ended is not decided. */
static enum gi_verdict
found_file(struct di *d, struct gi_fop *fop, struct gi_fop *reply, unsigned child)
{
  if (is_undone(d, reply) && !di_fop_of(fop, d)->noted)
    return once_more(d, fop, reply, child);
  if (fop->loc.name && di_has_note(d, reply) && (d->up != di_all(d) || di_fop_of(fop, d)->undecided))
    return gi_fop_fail(fop, ENOTCONN);
  gi_reply_move(fop, reply);
  know_found(d, fop, d->x->children[child]);
  return GI_ANSWERED;
}

static enum gi_verdict
found_dir(struct di *d, struct gi_fop *fop, struct di_found *f)
{
  struct gi_iatt stat;
  unsigned best;
  int err = di_merge_dir(d, fop, &fop->loc, f, &stat, &best);

  if (err)
    return gi_fop_fail(fop, err);
  gi_reply_move(fop, gi_fan_reply(&f->ask.fan, best));
  fop->rsp.stat = stat;
  di_parent_attrs(d, fop);
  di_strip_keys(d, fop);
  return GI_ANSWERED;
}

/* Its files have been moved to where they belong by this layout. */
static bool
is_committed(const struct di *d, const struct di_layout *l)
{
  return l->committed && l->commit == d->commit && d->commit > DI_NO_COMMIT;
}

/* The directory has the layout that it was made with, or that its files were moved to: a file elsewhere than where its name belongs has a
 * linkto file there. */
static bool
announces(const struct di *d, const struct gi_inode *dir)
{
  const struct di_layout *l = di_layout_known(d, dir);

  return l && l->whole && l->committed && (l->commit == 0 || is_committed(d, l));
}

/* The name belongs to `hashed`, which has of the layout what is known of it: who has not heard of another one would take a name for missing
 * that a rebalance has moved. It is asked after the name, for layouts are exchanged before files move. */
static bool
belongs_there(struct di *d, struct gi_fop *fop, struct gi_inode *dir, unsigned hashed)
{
  struct gi_loc loc = {.gfid = dir->gfid, .inode = dir};
  const struct di_layout *l = di_layout_known(d, dir);
  struct di_range was, is;

  GI_ASSERT(l && fop->loc.name);
  if (di_hashed(d, l, fop->loc.name) != (int)hashed)
    return false;
  was = l->range[hashed];
  is = di_range_ask(d, fop, &loc, hashed);
  if (memcmp(&was, &is, sizeof(was)) == 0)
    return true;
  di_layout_stale(d, dir, l);
  return false;
}

/* The subvolume where the name belongs says that it is not there: so one that is down cannot have it. */
static bool
elsewhere_is_announced(struct di *d, struct gi_fop *fop, const struct di_found *f, int hashed)
{
  return fop->loc.name && hashed >= 0 && (f->absent >> hashed & 1) && announces(d, fop->loc.parent) &&
         belongs_there(d, fop, fop->loc.parent, (unsigned)hashed);
}

/* Does the name belong to `hashed` by the layout as it is now? A rebalance may have written another one. */
static bool
still_belongs(struct di *d, struct gi_fop *fop, unsigned hashed)
{
  struct gi_inode *parent = gi_loc_parent(fop, &fop->loc);
  const struct di_layout *l;

  if (!parent || !di_inode_of(d, parent)->layout)
    return false;
  di_inode_of(d, parent)->layout->generation = d->generation - 1;
  return di_layout_get(d, fop, parent, &l) == 0 && di_hashed(d, l, fop->loc.name) == (int)hashed;
}

/* The linkto file on `hashed` leads to the file on `child`. */
static bool
leads(const struct di *d, const struct di_found *f, unsigned hashed, unsigned child)
{
  struct gi_fop *linkto = gi_fan_reply(&f->ask.fan, hashed), *file = gi_fan_reply(&f->ask.fan, child);

  GI_ASSERT(f->file >> child & 1);
  return (f->linkto >> hashed & 1) && di_linkto_target(d, linkto) == (int)child &&
         gi_gfid_equal(&linkto->rsp.stat.gfid, &file->rsp.stat.gfid);
}

/* Whether the name, which was found on `child`, wants a linkto file on `hashed`: it has none, or one that leads elsewhere. */
static bool
wants_linkto(const struct di *d, const struct gi_fop *fop, const struct di_found *f, int hashed, unsigned child)
{
  if (!fop->loc.name || hashed < 0 || (d->leaving >> hashed & 1) || (unsigned)hashed == child)
    return false;
  if (f->absent >> hashed & 1)
    return true;
  return !f->failed && (f->linkto >> hashed & 1) && !leads(d, f, (unsigned)hashed, child);
}

/* The name alone: whatever has it now. */
static struct gi_loc
name_of(const struct gi_fop *fop)
{
  struct gi_loc loc = fop->loc;

  GI_ASSERT(loc.name);
  loc.inode = NULL;
  loc.gfid = gi_gfid_none;
  return loc;
}

/* The linkto file that is there leads elsewhere, or is another file's. At no time is there none: whoever takes the subvolume's word would
 * take the name for missing. */
static int
lead(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct di_found *f, unsigned hashed, unsigned child,
     const struct gi_iatt *stat)
{
  struct gi_fop *reply = NULL;
  int err;

  if (gi_gfid_equal(&gi_fan_reply(&f->ask.fan, hashed)->rsp.stat.gfid, &stat->gfid))
    return di_linkto_lead(d, fop, &stat->gfid, hashed, child);
  err = di_linkto_replace(d, fop, loc, stat, hashed, child, &reply);
  gi_fop_unref(reply);
  return err;
}

/* The next lookup shall find it in one step. Under the lock of the name, and looked at again there: it may be about to be renamed or
 * removed. A linkto file to a file with a note would decide the rename. */
static void
mend_linkto(struct di *d, struct gi_fop *fop, unsigned hashed, unsigned child, const struct gi_iatt *stat, bool wrong)
{
  struct di_locks locks = {0};
  struct di_found f;
  struct gi_loc loc = name_of(fop);

  if (still_belongs(d, fop, hashed) && di_lock_name(d, fop, &locks, hashed, &fop->loc) == 0) {
    di_find(d, fop, &loc, wrong ? di_all(d) : 1ull << hashed | 1ull << child, &f);
    if (f.file == 1ull << child && !f.dir && !f.failed &&
        gi_gfid_equal(&gi_fan_reply(&f.ask.fan, child)->rsp.stat.gfid, &stat->gfid) &&
        !di_has_note(d, gi_fan_reply(&f.ask.fan, child)) && wants_linkto(d, fop, &f, (int)hashed, child)) {
      GI_IGNORE(f.linkto >> hashed & 1 ? lead(d, fop, &loc, &f, hashed, child, stat)
                                       : di_linkto_make(d, fop, &loc, stat, hashed, child)); /* then the next lookup tries */
    }
    di_found_end(&f);
  }
  di_unlock(d, fop, &locks);
}

/* Linkto files of a name that no subvolume has. One that is about to get its file, or is in use, stays. */
static void
remove_strays(struct di *d, struct gi_fop *fop, int hashed, uint64_t strays)
{
  struct di_locks locks = {0};
  struct di_found f;
  struct gi_loc loc = name_of(fop);

  if (hashed < 0 || !strays || !still_belongs(d, fop, (unsigned)hashed))
    return;
  if (di_lock_name(d, fop, &locks, (unsigned)hashed, &fop->loc) == 0) {
    di_find(d, fop, &loc, di_all(d), &f);
    if (!f.file && !f.dir && !f.failed)
      di_foreach(i, f.linkto) GI_IGNORE(di_linkto_remove(d, fop, &loc, (unsigned)i, true)); /* then it stays */
    di_found_end(&f);
  }
  di_unlock(d, fop, &locks);
}

/* Of several files of one name: that where it belongs, or that to which the linkto file there leads. */
static unsigned
chosen(const struct di *d, const struct di_found *f, int hashed)
{
  if (hashed >= 0 && (f->file >> hashed & 1))
    return (unsigned)hashed;
  di_foreach(i, f->file) if (hashed >= 0 && leads(d, f, (unsigned)hashed, (unsigned)i)) return (unsigned)i;
  return di_found_file(d, f);
}

static void
tell_duplicate(struct di *d, struct gi_fop *fop, uint64_t file, unsigned used)
{
  char text[GI_UUID_TEXT];
  unsigned a = (unsigned)__builtin_ctzll(file), b = (unsigned)__builtin_ctzll(file & (file - 1));

  gi_log(GI_LOG_ERROR, d->x->name, GI_MSG_DISTRIBUTE + 3, "%s/%s: both %s and %s have a file of this name; that on %s is used",
         gi_gfid_text(&fop->loc.pargfid, text), fop->loc.name ? fop->loc.name : "", d->x->children[a]->name,
         d->x->children[b]->name, d->x->children[used]->name);
}

/* A directory under a name that not all have, while it is renamed. */
static bool
half_renamed(const struct di *d, const struct gi_fop *fop, const struct di_found *f, int noted)
{
  return noted >= 0 && fop->loc.name && (f->absent || f->file || d->up == di_all(d));
}

static enum gi_verdict everywhere(struct di *d, struct gi_fop *fop, int hashed);

static bool
contradict(const struct di_found *f)
{
  const struct gi_gfid *gfid = &gi_fan_reply(&f->ask.fan, (unsigned)__builtin_ctzll(f->dir))->rsp.stat.gfid;

  return di_found_of(f, gfid) != f->dir;
}

static enum gi_verdict
judge_dir(struct di *d, struct gi_fop *fop, struct di_found *f, int hashed)
{
  struct di_fop *df = di_fop_of(fop, d);

  if (contradict(f) && fop->loc.name && hashed >= 0 && !f->failed && !df->cleared) {
    struct gi_loc loc = name_of(fop);

    df->cleared = true;
    if (di_clear_name(d, fop, &loc, (unsigned)hashed))
      return everywhere(d, fop, hashed);
  }
  return found_dir(d, fop, f);
}

static enum gi_verdict
judge(struct di *d, struct gi_fop *fop, struct di_found *f, int hashed)
{
  unsigned child;
  struct gi_iatt stat;
  bool wanting, wrong, named = fop->loc.name != NULL;
  int noted = di_found_note(d, f);

  if (half_renamed(d, fop, f, noted)) {
    if (!di_fop_of(fop, d)->noted)
      return once_more(d, fop, gi_fan_reply(&f->ask.fan, (unsigned)noted), (unsigned)noted);
    if (f->absent)
      return gi_fop_fail(fop, d->up == di_all(d) ? EIO : ENOTCONN); /* which name it has is not decided */
  }
  if (f->file && f->dir)
    return gi_fop_fail(fop, EIO);
  if (f->dir)
    return judge_dir(d, fop, f, hashed);
  if (!f->file) {
    if (named && !f->failed)
      remove_strays(d, fop, hashed, f->linkto);
    return f->failed && elsewhere_is_announced(d, fop, f, hashed) ? gi_fop_fail(fop, ENOENT) : not_found(fop, f);
  }
  child = chosen(d, f, hashed);
  if (named && (f->file & (f->file - 1)))
    tell_duplicate(d, fop, f->file, child);
  wanting = wants_linkto(d, fop, f, hashed, child);
  wrong = wanting && !(f->absent >> hashed & 1);
  stat = gi_fan_reply(&f->ask.fan, child)->rsp.stat;
  if (is_undone(d, gi_fan_reply(&f->ask.fan, child)) && !di_fop_of(fop, d)->noted)
    return once_more(d, fop, gi_fan_reply(&f->ask.fan, child), child);
  found_file(d, fop, gi_fan_reply(&f->ask.fan, child), child);
  if (wanting && fop->rsp.ret >= 0)
    mend_linkto(d, fop, (unsigned)hashed, child, &stat, wrong);
  return GI_ANSWERED;
}

/* ---- the search ---- */

/* What the subvolume where the name belongs has said, and what the others say. */
static enum gi_verdict
ask_others(struct di *d, struct gi_fop *fop, struct gi_fop *reply, unsigned hashed)
{
  struct di_found f;
  enum gi_verdict v;

  GI_ASSERT(d->spread && reply);
  di_find(d, fop, &fop->loc, di_all(d) & ~(1ull << hashed), &f);
  di_found_add(d, &f, hashed, reply);
  gi_fan_keep(&f.ask.fan, hashed, gi_fop_ref(reply));
  di_found_settle(d, &f);
  v = judge(d, fop, &f, (int)hashed);
  di_found_end(&f);
  return v;
}

static enum gi_verdict
everywhere(struct di *d, struct gi_fop *fop, int hashed)
{
  struct di_found f;
  enum gi_verdict v;

  d->metrics.everywhere++;
  di_find(d, fop, &fop->loc, di_all(d), &f);
  v = judge(d, fop, &f, hashed);
  di_found_end(&f);
  return v;
}

/* The subvolume where the name belongs does not have it. It is asked once more where a file may come to it meanwhile of which it knew
 * nothing: from where it was to where it belongs, past this search. */
static enum gi_verdict
not_there(struct di *d, struct gi_fop *fop, struct gi_fop *reply, unsigned hashed)
{
  if (reply->rsp.err != ENOENT || !announces(d, fop->loc.parent))
    return everywhere(d, fop, (int)hashed);
  d->metrics.everywhere++;
  return ask_others(d, fop, reply, hashed);
}

static enum gi_verdict
follow(struct di *d, struct gi_fop *fop, struct gi_fop *reply, unsigned hashed)
{
  GI_ASSERT(di_is_linkto(d, reply));
  int target = di_linkto_target(d, reply);
  enum gi_verdict v = GI_HELD;
  struct di_found f;

  if (target < 0 || target == (int)hashed)
    return everywhere(d, fop, (int)hashed);
  d->metrics.linktos_followed++;
  di_find(d, fop, &fop->loc, 1ull << target, &f);
  if (f.file && !is_doubtful(d, gi_fan_reply(&f.ask.fan, (unsigned)target)) &&
      gi_gfid_equal(&gi_fan_reply(&f.ask.fan, (unsigned)target)->rsp.stat.gfid, &reply->rsp.stat.gfid))
    v = found_file(d, fop, gi_fan_reply(&f.ask.fan, (unsigned)target), (unsigned)target);
  else if (f.failed)
    v = not_found(fop, &f); /* it is there, and cannot be asked */
  di_found_end(&f);
  return v == GI_HELD ? everywhere(d, fop, (int)hashed) : v;
}

/* All files of the directory are where they belong, or have linkto files there: what is not there is nowhere. */
static bool
conclusive(const struct di *d, const struct di_layout *l)
{
  if (!l || !l->whole)
    return false;
  if (di_opts(d)->lookup_optimize)
    return is_committed(d, l);
  return di_unhashed(d) == DI_UNHASHED_NO;
}

#define COMMIT_PAUSE (10 * GI_NSEC_PER_SEC)

/* The rebalance that gave the directory its layout may have ended since the root was looked at. */
static void
renew_commit(struct di *d, struct gi_fop *fop, const struct gi_inode *dir)
{
  const struct di_layout *l = di_layout_known(d, dir);
  uint64_t now = gi_now(d->x->reactor);
  struct gi_inode *root;

  if (!l || !l->committed || l->commit <= DI_NO_COMMIT || l->commit == d->stamp ||
      (d->commit_asked && now - d->commit_asked < COMMIT_PAUSE))
    return;
  d->commit_asked = now;
  root = gi_inode_get(d->x->graph, &gi_gfid_root);
  GI_IGNORE(di_locate(d, fop, root)); /* then it is searched */
  gi_inode_unref(&root);
}

/* The subvolume where the name belongs says that it is not there. That is enough if what is known of the directory says so. */
static bool
is_nowhere(struct di *d, struct gi_fop *fop, struct gi_inode *dir, unsigned hashed)
{
  renew_commit(d, fop, dir);
  return conclusive(d, di_layout_known(d, dir)) && belongs_there(d, fop, dir, hashed);
}

enum di_unhashed
di_unhashed(const struct di *d)
{
  const char *word = di_opts(d)->lookup_unhashed;
  bool on;

  if (strcmp(word, "auto") == 0)
    return DI_UNHASHED_AUTO;
  return gi_parse_bool(word, &on) && !on ? DI_UNHASHED_NO : DI_UNHASHED_YES;
}

/* The name was one of a directory: all are asked at once. */
static bool
known_dir(const struct di *d, const struct gi_fop *fop)
{
  return fop->loc.inode && di_layout_known(d, fop->loc.inode);
}

static enum gi_verdict
by_name(struct di *d, struct gi_fop *fop)
{
  struct di_fop *df = di_fop_of(fop, d);
  struct gi_fop *first = df->first;
  struct gi_inode *parent = gi_loc_parent(fop, &fop->loc);
  const struct di_layout *l;
  enum gi_verdict v;
  int err, hashed;

  err = di_layout_get(d, fop, parent, &l);
  if (err)
    return gi_fop_fail(fop, err);
  hashed = di_hashed(d, l, fop->loc.name);
  if (hashed < 0 || !(d->up >> hashed & 1) || known_dir(d, fop))
    return everywhere(d, fop, hashed);
  if (first && df->to != d->x->children[hashed]) { /* the layout was exchanged meanwhile */
    gi_fop_unref(first);
    first = NULL;
  }
  if (!first) {
    struct gi_fop *h = gi_fop_child(fop);

    df->to = d->x->children[hashed];
    GI_IGNORE(di_do(d, h, (unsigned)hashed)); /* looked at below */
    first = df->first = h;
  }
  if (first->rsp.ret < 0) {
    if (first->rsp.err == ENOENT && is_nowhere(d, fop, parent, (unsigned)hashed)) {
      d->metrics.optimised++;
      return gi_fop_fail(fop, ENOENT);
    }
    return not_there(d, fop, first, (unsigned)hashed);
  }
  if (S_ISDIR(first->rsp.stat.mode) || is_doubtful(d, first)) /* the others are asked too */
    v = ask_others(d, fop, first, (unsigned)hashed);
  else if (di_is_linkto(d, first))
    v = follow(d, fop, first, (unsigned)hashed);
  else
    v = found_file(d, fop, first, (unsigned)hashed);
  return v;
}

static enum gi_verdict
by_gfid(struct di *d, struct gi_fop *fop)
{
  return everywhere(d, fop, -1);
}

/* ---- handlers ---- */

enum gi_verdict
di_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);
  const struct di_layout *l;
  int hashed;

  di_add_keys(d, gi_fop_xdata(fop));
  if (!fop->loc.name) {
    if (gi_gfid_is_root(gi_fop_gfid(fop)))
      di_add_root_keys(d, gi_fop_xdata(fop));
    return di_run(d, fop, by_gfid);
  }
  l = di_layout_known(d, gi_loc_parent(fop, &fop->loc));
  hashed = l ? di_hashed(d, l, fop->loc.name) : -1;
  if (hashed < 0 || !(d->up >> hashed & 1) || known_dir(d, fop))
    return di_run(d, fop, by_name);
  di_fop_of(fop, d)->to = x->children[hashed];
  gi_fop_forward_tell_to(fop, x, x->children[hashed]);
  return GI_HELD;
}

enum gi_verdict
di_lookup_done(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);
  struct di_fop *df = di_fop_of(fop, d);

  if (fop->rsp.ret >= 0 && !S_ISDIR(fop->rsp.stat.mode) && !di_is_linkto(d, fop) && !is_doubtful(d, fop) &&
      !is_undone(d, fop)) {
    know_found(d, fop, df->to);
    return GI_PASS;
  }
  GI_ASSERT(!df->first && df->to);
  df->first = gi_fop_helper(fop, GI_FOP_LOOKUP);
  gi_reply_move(df->first, fop);
  return di_run(d, fop, by_name);
}

/* ---- for others ---- */

int
di_resolve(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, int *child, struct gi_iatt *stat)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_LOOKUP);
  int err;

  gi_loc_copy_name(&h->loc, loc);
  di_keep_names(h);
  err = di_do_from_top(d, h);
  if (!err && gi_gfid_is_none(&h->rsp.stat.gfid))
    err = EIO;
  if (!err) {
    *stat = h->rsp.stat;
    *child =
        S_ISDIR(stat->mode) ? -1 : di_index(d, di_fop_of(h, d)->to); /* the inode may have heard since that it is elsewhere */
    if (!S_ISDIR(stat->mode) && *child < 0)
      err = EIO;
  }
  gi_fop_unref(h);
  return err;
}

int
di_look_free(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_gfid *ours)
{
  struct gi_iatt stat;
  struct gi_gfid made;
  int child, err = di_resolve(d, fop, loc, &child, &stat);

  if (!ours && gi_dict_get_gfid(fop->xdata, "gfid-req", &made))
    ours = &made;
  if (!err && ours && gi_gfid_equal(ours, &stat.gfid))
    return ENOTCONN; /* an attempt of ours that failed has left it */
  return err == ENOENT ? 0 : err ? err : EEXIST;
}

int
di_is_free(struct di *d, struct gi_fop *fop, const struct gi_loc *loc)
{
  int err = di_look_free(d, fop, loc, NULL);

  return err && err != ENOTCONN ? EEXIST : err;
}
