/* SPDX-License-Identifier: Apache-2.0
 *
 * The writes of one file by range.
 *
 * A window of a gigabyte of small writes is a quarter of a million of them, and
 * each arrival asks which ones overlap. So it is a tree: a treap, whose weights are
 * hashes of the sequence numbers, with the greatest end below each node. Ranges
 * may overlap: a write that waits for another one is in the tree as well.
 */
#include "write-behind.h"

static uint64_t
weight_of(uint64_t seq)
{
  seq ^= seq >> 33;
  seq *= 0xff51afd7ed558ccdull;
  seq ^= seq >> 33;
  seq *= 0xc4ceb9fe1a85ec53ull;
  return seq ^ seq >> 33;
}

static bool
before(const struct wb_write *a, const struct wb_write *b)
{
  return a->range.start != b->range.start ? a->range.start < b->range.start : a->seq < b->seq;
}

static void
update(struct wb_write *w)
{
  w->node.max_end = w->range.end;
  for (unsigned i = 0; i < 2; i++)
    if (w->node.child[i] && w->node.child[i]->node.max_end > w->node.max_end)
      w->node.max_end = w->node.child[i]->node.max_end;
}

/* The child of that side comes up. */
static struct wb_write *
rotate(struct wb_write *w, unsigned side)
{
  struct wb_write *up = w->node.child[side];

  w->node.child[side] = up->node.child[!side];
  up->node.child[!side] = w;
  update(w);
  update(up);
  return up;
}

static struct wb_write *
add(struct wb_write *at, struct wb_write *w)
{
  unsigned side;

  if (!at) {
    update(w);
    return w;
  }
  GI_ASSERT(at != w);
  side = before(w, at) ? 0 : 1;
  at->node.child[side] = add(at->node.child[side], w);
  update(at);
  return at->node.child[side]->node.weight > at->node.weight ? rotate(at, side) : at;
}

void
wb_tree_add(struct wb_write **root, struct wb_write *w)
{
  GI_CHECK(w, WB_WRITE_MAGIC);
  GI_ASSERT(!w->node.in && w->range.start < w->range.end);
  w->node.child[0] = w->node.child[1] = NULL;
  w->node.weight = weight_of(w->seq);
  w->node.in = true;
  *root = add(*root, w);
}

/* All of `left` come before all of `right`. */
static struct wb_write *
join(struct wb_write *left, struct wb_write *right)
{
  if (!left || !right)
    return left ? left : right;
  if (left->node.weight > right->node.weight) {
    left->node.child[1] = join(left->node.child[1], right);
    update(left);
    return left;
  }
  right->node.child[0] = join(left, right->node.child[0]);
  update(right);
  return right;
}

static struct wb_write *
take_out(struct wb_write *at, struct wb_write *w)
{
  unsigned side;

  GI_ASSERT(at);
  if (at == w)
    return join(w->node.child[0], w->node.child[1]);
  side = before(w, at) ? 0 : 1;
  at->node.child[side] = take_out(at->node.child[side], w);
  update(at);
  return at;
}

void
wb_tree_remove(struct wb_write **root, struct wb_write *w)
{
  GI_ASSERT(w->node.in);
  *root = take_out(*root, w);
  w->node.in = false;
}

void
wb_tree_grow(struct wb_write *root, struct wb_write *w, uint64_t end)
{
  GI_ASSERT(w->node.in && end >= w->range.end);
  w->range.end = end;
  for (struct wb_write *at = root;; at = at->node.child[before(w, at) ? 0 : 1]) {
    GI_ASSERT(at);
    if (at->node.max_end < end)
      at->node.max_end = end;
    if (at == w)
      return;
  }
}

struct wb_write *
wb_tree_find(struct wb_write *root, struct wb_range range, wb_match_fn *match, const void *arg)
{
  struct wb_write *found;

  if (!root || root->node.max_end <= range.start)
    return NULL;
  if ((found = wb_tree_find(root->node.child[0], range, match, arg)) != NULL)
    return found;
  if (wb_overlap(root->range, range) && (!match || match(root, arg)))
    return root;
  return root->range.start < range.end ? wb_tree_find(root->node.child[1], range, match, arg) : NULL;
}

/* An append covers everything, and is alone in that: its bytes lie where its data says. */
static uint64_t
bytes_end(const struct wb_write *w)
{
  return w->changes ? w->offset + w->data.len : 0;
}

uint64_t
wb_tree_end(const struct wb_write *root)
{
  uint64_t end, below;

  if (!root)
    return 0;
  end = bytes_end(root);
  for (unsigned i = 0; i < 2; i++) {
    const struct wb_write *c = root->node.child[i];

    if (c && c->node.max_end > end && (below = wb_tree_end(c)) > end)
      end = below;
  }
  return end;
}
