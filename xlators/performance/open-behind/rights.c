/* SPDX-License-Identifier: Apache-2.0
 *
 * Who was let in by the bricks, and until when that proves that they would do
 * it again.
 */
#include "xlators/performance/open-behind/open-behind.h"

#include "libglusterish/promise.h"

#include <fcntl.h>

enum { OB_MAY_READ = 1, OB_MAY_WRITE = 2 };

static unsigned
rights_wanted(uint32_t flags)
{
  switch (flags & O_ACCMODE) {
  case O_RDONLY:
    return OB_MAY_READ;
  case O_WRONLY:
    return OB_MAY_WRITE;
  default:
    return OB_MAY_READ | OB_MAY_WRITE;
  }
}

static struct ob_who
who_is(const struct gi_caller *c)
{
  struct ob_who who = {.uid = c->uid, .gid = c->gid, .groups = 14695981039346656037ull};
  for (uint32_t i = 0; i < c->ngroups; i++)
    who.groups = (who.groups ^ c->groups[i]) * 1099511628211ull;
  return who;
}

/* How long what bricks judged holds if they tell nothing else. Without their telling another client could replace the file, and who opens
 * its name after that is to get the new one. */
static uint64_t
window_ns(const struct gi_xlator *x)
{
  const struct ob_options *o = ob_opts(x);
  uint64_t want = o->timeout * GI_NSEC_PER_SEC, said = o->told ? (uint64_t)o->told_for * GI_NSEC_PER_SEC : 0;
  if (gi_promise(x->graph))
    return gi_promise_life(x->graph, want, 0);
  return want < said ? want : said;
}

/* Bricks of GlusterFS promise nothing: the option says whether they tell, and they may hear of it later. */
static bool
tell_already(const struct gi_xlator *x)
{
  const struct ob *ob = x->private;
  return gi_promise(x->graph) || gi_now(x->reactor) >= ob->told_from_ns;
}

static bool
is_same(const struct ob_who *a, const struct ob_who *b)
{
  return a->uid == b->uid && a->gid == b->gid && a->groups == b->groups;
}

void
ob_doubt(struct gi_xlator *x, struct ob_inode *i)
{
  i->doubted = ++((struct ob *)x->private)->clock;
  i->rights = 0;
}

struct ob_moment
ob_moment_now(const struct gi_xlator *x)
{
  const struct ob *ob = x->private;
  return (struct ob_moment){ob->clock, ob->epoch, gi_now(x->reactor)};
}

/* The bricks judged it after that moment. */
void
ob_let_in(struct gi_xlator *x, struct ob_inode *i, const struct ob_moment *then, const struct gi_caller *c, uint32_t flags)
{
  const struct ob *ob = x->private;
  struct ob_who who = who_is(c);
  GI_ASSERT(then->clock <= ob->clock && i->doubted <= ob->clock && i->looked <= ob->clock);
  if (i->doubted > then->clock || then->epoch != ob->epoch || i->changes || !tell_already(x))
    return;
  if (!is_same(&who, &i->who) || i->epoch != ob->epoch)
    i->rights = 0;
  i->who = who;
  i->rights |= rights_wanted(flags);
  i->epoch = ob->epoch;
  i->until_ns = then->asked_ns + window_ns(x);
  i->anchored = i->seen && i->looked <= then->clock;
}

bool
ob_was_let_in(const struct gi_xlator *x, const struct ob_inode *i, const struct gi_caller *c, uint32_t flags)
{
  const struct ob *ob = x->private;
  struct ob_who who = who_is(c);
  return i->epoch == ob->epoch && gi_now(x->reactor) < i->until_ns && is_same(&who, &i->who) && !i->changes &&
         !(rights_wanted(flags) & ~i->rights);
}

/* Attributes passed by that were asked for at `asked_ns`. If they are those from before the open, nothing has happened in between. */
void
ob_seen(struct gi_xlator *x, struct ob_inode *i, const struct gi_iatt *a, uint64_t asked_ns)
{
  bool same = i->seen && a->ctime.sec == i->ctime.sec && a->ctime.nsec == i->ctime.nsec;
  uint64_t until = asked_ns + window_ns(x);
  if (i->seen && (a->mode != i->mode || a->uid != i->uid || a->gid != i->gid))
    ob_doubt(x, i);
  if (!same) {
    i->looked = ++((struct ob *)x->private)->clock;
    i->anchored = false;
  } else if (i->anchored && i->until_ns < until) {
    i->until_ns = until;
  }
  i->seen = true;
  i->ctime = a->ctime;
  i->mode = a->mode;
  i->uid = a->uid;
  i->gid = a->gid;
}

/* The attributes are of the same moment as the word, so they need not have been seen before. Of a file that was not known here a brick may
 * have told something while the other bricks were still to answer. */
void
ob_found_readable(struct gi_xlator *x, struct ob_inode *i, const struct ob_moment *then, const struct gi_caller *c)
{
  const struct ob *ob = x->private;
  struct ob_moment now = {ob->clock, ob->epoch, then->asked_ns};
  if (ob->strangers <= then->clock && i->doubted <= then->clock && then->epoch == ob->epoch)
    ob_let_in(x, i, &now, c, O_RDONLY);
}

/* Whoever made a file may open it again, if it is the owner by the bricks' word and the mode says so: no ACL takes that away. */
void
ob_created(struct gi_xlator *x, const struct gi_fop *fop, const struct ob_moment *then, struct ob_inode *i)
{
  const struct ob *ob = x->private;
  const struct gi_iatt *a = &fop->rsp.stat;
  struct ob_moment now = {ob->clock, ob->epoch, then->asked_ns};
  if (a->uid != fop->caller.uid)
    return;
  if (a->mode & S_IRUSR)
    ob_let_in(x, i, &now, &fop->caller, O_RDONLY);
  if (a->mode & S_IWUSR)
    ob_let_in(x, i, &now, &fop->caller, O_WRONLY);
}
