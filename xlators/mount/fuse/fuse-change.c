/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own change, or that of another client? The kernel's pages of a file stay
 * through our own changes and are dropped after those of others.
 *
 * A version is size and times. The reply to each of our changes tells the version
 * it found and the version it left. A change that was alone must have found the
 * version that the node holds. The order of several changes under way is unknown.
 * But all versions they found and left cancel out, except for the first found and
 * the last left. So the node keeps a number: the version left is added to it, the
 * version found is subtracted, and the next attributes must give that number. If a
 * reply does not tell its versions, or a change failed, they do not; then the pages
 * are dropped, as after a change of another client.
 */
#include "fuse-internal.h"

#include <sys/stat.h>

/* Sums of these mean something only if they do not come out equal by the structure of sizes and times. */
static uint64_t
mix(uint64_t v)
{
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
  return v ^ (v >> 31);
}

static uint64_t
mix_time(const struct gi_time *t)
{
  return mix((uint64_t)t->sec * GI_NSEC_PER_SEC + t->nsec + 1);
}

static struct version
version_of(const struct gi_iatt *a)
{
  return (struct version){.data = mix(mix(a->size + 1) ^ mix_time(&a->mtime)), .change = mix_time(&a->ctime)};
}

/* A reply about two files names in each attribute block the one it describes: no other ever gets it. */
static bool
are_of(const struct gi_inode *inode, const struct gi_iatt *a)
{
  return gi_iatt_valid(a) && gi_gfid_equal(&inode->gfid, &a->gfid);
}

static bool
matches(const struct node *n, const struct gi_iatt *a)
{
  struct version v = version_of(a);

  if (n->emptied)
    return a->size == 0;
  return ((n->ours & OUR_DATA) || n->version.data == v.data) && ((n->ours & OUR_CTIME) || n->version.change == v.change);
}

static void
take(struct node *n, const struct gi_iatt *a)
{
  n->version = version_of(a);
  n->known = true;
  n->emptied = false;
  n->ours = 0;
}

static void
foreign(struct bridge *b, struct node *n)
{
  b->m.foreign_changes++;
  n->no_capability = false;
  n->stale = true;
  n->answer_until = 0;
}

enum verdict { OURS, FOREIGN, UNTOLD };

static enum verdict
judge(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *a, uint64_t seq)
{
  struct node *n = node_of(b, inode);
  enum verdict verdict = n->known ? OURS : UNTOLD;

  if (!are_of(inode, a))
    return UNTOLD;
  inode->mode = a->mode & S_IFMT;
  n->attr = *a;
  if (n->inflight > 0 || n->seq > seq) /* they may be older than what our change left */
    return UNTOLD;
  if (n->known && S_ISREG(a->mode) && !matches(n, a)) {
    foreign(b, n);
    verdict = FOREIGN;
  }
  take(n, a);
  n->judged = b->locks;
  return verdict;
}

void
node_attributes(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *a, uint64_t seq)
{
  if (judge(b, inode, a, seq) == FOREIGN)
    inval_inode(b, inode, true);
}

bool
node_must_drop(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *a, uint64_t seq)
{
  return judge(b, inode, a, seq) == FOREIGN || (S_ISREG(inode->mode) && node_of(b, inode)->dropping > 0);
}

bool
node_is_current(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *a, uint64_t seq)
{
  return judge(b, inode, a, seq) == OURS && node_of(b, inode)->dropping == 0;
}

void
node_mode_fell(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *a)
{
  struct node *n = node_of(b, inode);

  if (!are_of(inode, a) || !gi_iatt_valid(&n->attr) || n->attr.mode == a->mode)
    return;
  n->attr.mode = a->mode;
  n->answer_until = 0;
  inval_attributes(b, inode);
}

void
node_changed(struct bridge *b, struct gi_inode *inode)
{
  struct node *n = node_of(b, inode);

  n->seq = ++b->clock;
  n->ours |= OUR_CTIME;
}

/* ---- a change of ours ---- */

void
node_change_begins(struct bridge *b, struct gi_fop *fop, struct gi_inode *inode)
{
  struct node *n = node_of(b, inode);

  op_of(b, fop)->changes = inode;
  op_of(b, fop)->began = n->seq = ++b->clock;
  n->inflight++;
  if (fop->kind == GI_FOP_WRITE)
    n->dirty = true;
}

/* After every write(2) the kernel drops what it knows and asks again: until attribute-timeout after the change was sent it gets
 * what the change left, as if it had kept it. */
static void
remember(struct bridge *b, struct node *n, const struct gi_fop *fop)
{
  n->answer = fop->rsp.post;
  n->answer_until = fop->start_ns + (uint64_t)(b->attr_timeout * GI_NSEC_PER_SEC);
  n->answer_seq = n->seq;
  n->answer_names = b->names;
}

/* The kernel has the bytes where it believed the end of the file to be. */
static bool
appended_elsewhere(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_WRITE && (fop->args.flags & O_APPEND) && fop->rsp.pre.size != fop->args.offset;
}

static void
found_foreign(struct bridge *b, struct node *n, struct gi_fop *fop)
{
  foreign(b, n);
  inval_inode(b, op_of(b, fop)->changes, true);
}

static void
ended_alone(struct bridge *b, struct node *n, struct gi_fop *fop)
{
  if (appended_elsewhere(fop) || (n->known && !matches(n, &fop->rsp.pre)))
    found_foreign(b, n, fop);
  take(n, &fop->rsp.post);
  if (!n->stale && S_ISREG(fop->rsp.post.mode)) /* a directory changes with its entries */
    remember(b, n, fop);
}

static void
ended_among_others(struct bridge *b, struct node *n, struct gi_fop *fop)
{
  struct version found = version_of(&fop->rsp.pre), left = version_of(&fop->rsp.post);

  if (appended_elsewhere(fop))
    found_foreign(b, n, fop);
  n->version.data += left.data - found.data;
  n->version.change += left.change - found.change;
  if (bridge_options(b)
          ->kernel_writeback_cache) /* the only client by declaration: bricks need not order what nobody else sees */
    n->ours |= OUR_DATA | OUR_CTIME;
}

#define CTIME_KINDS (GI_KIND(GI_FOP_LINK) | GI_KIND(GI_FOP_SETXATTR) | GI_KIND(GI_FOP_REMOVEXATTR))

void
node_change_ended(struct bridge *b, struct gi_fop *fop)
{
  struct op *op = op_of(b, fop);
  struct node *n = node_of(b, op->changes);
  bool alone = n->seq == op->began && n->inflight == 1;

  n->inflight--;
  n->seq = ++b->clock;
  n->answer_until = 0;
  if (fop->rsp.ret < 0)
    return;
  if (GI_KIND(fop->kind) & CTIME_KINDS) {
    n->ours |= OUR_CTIME;
  } else if (fop->kind == GI_FOP_OPEN) {
    n->emptied = true;
  } else if (are_of(op->changes, &fop->rsp.pre) && are_of(op->changes, &fop->rsp.post)) {
    n->attr = fop->rsp.post;
    (alone ? ended_alone : ended_among_others)(b, n, fop);
  }
}

/* ---- what is remembered ---- */

const struct gi_iatt *
node_answer(struct bridge *b, const struct gi_inode *inode, double *seconds)
{
  const struct node *n = node_of(b, inode);

  if (!n->answer_until || n->answer_seq != n->seq || n->answer_names != b->names || n->stale)
    return NULL;

  uint64_t now = gi_now(b->x->reactor);

  if (now >= n->answer_until)
    return NULL;
  *seconds = (double)(n->answer_until - now) / GI_NSEC_PER_SEC;
  return &n->answer;
}

void
node_settled(struct bridge *b, struct gi_inode *inode, uint64_t seq)
{
  struct node *n = node_of(b, inode);

  if (n->seq <= seq && n->inflight == 0)
    n->dirty = false;
}
