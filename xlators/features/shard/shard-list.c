/* SPDX-License-Identifier: Apache-2.0
 *
 * Which blocks of a file are there. A few are tried one by one. Of many, the
 * listing of the directory tells: a file of many terabytes may have three. Where
 * that is longer than trying is worth, for it has all files' blocks, they are tried.
 */
#include "xlators/features/shard/shard.h"

#include <stdlib.h>

#define SH_FEW 64u
#define SH_TRIES_PER_PART 16u /* so many cost what a part of the listing does */
#define SH_LIST_BYTES (64u << 10)

/* ---- listings ---- */

/* One part; *next: where it goes on, 0 at the end. */
static int
list_part(struct shard *sh, struct gi_fop *parent, struct gi_fd *fd, uint64_t *next, sh_entry_fn *fn, void *arg)
{
  bool names = gi_gfid_equal(&fd->inode->gfid, &sh_dir_gfid[0]);
  struct gi_fop *list = sh_fop(sh, parent, names ? GI_FOP_READDIR : GI_FOP_READDIRP);

  gi_fop_set_fd(list, fd);
  list->args.offset = *next;
  list->args.size = SH_LIST_BYTES;
  if (!names)
    sh_request_keys(list);
  int err = sh_run(sh, list);
  const struct gi_dirents *d = &list->rsp.entries;
  uint64_t last = !err && d->count ? d->entry[d->count - 1].off : 0;

  *next = last == *next ? 0 : last; /* or it would go on for ever */
  for (uint32_t i = 0; !err && i < d->count; i++)
    err = sh->stopping ? EINTR : fn(sh, &d->entry[i], arg);
  gi_fop_unref(list);
  return err;
}

int
sh_list(struct shard *sh, struct gi_fop *parent, unsigned which, uint64_t most, sh_entry_fn *fn, void *arg)
{
  int err = sh_dir_ready(sh, parent, which, false);

  if (err)
    return err == ENOENT ? 0 : err;
  struct gi_inode *dir = sh_dir(sh, which);
  struct gi_fd *fd = gi_fd_new(sh->x->graph, dir, O_RDONLY | O_DIRECTORY, 0);
  struct gi_fop *open = sh_fop(sh, parent, GI_FOP_OPENDIR);
  uint64_t next = 0;

  fd->directory = true;
  gi_fop_set_fd(open, fd);
  err = sh_run(sh, open);
  gi_fop_unref(open);
  for (uint64_t parts = 0; !err && (parts == 0 || next); parts++)
    err = parts < most ? list_part(sh, parent, fd, &next, fn, arg) : E2BIG;
  gi_fd_unref(&fd);
  gi_inode_unref(&dir);
  return err;
}

/* ---- blocks of one file ---- */

struct search {
  char prefix[GI_UUID_TEXT]; /* the text of the gfid */
  uint64_t first, end;
  struct sh_numbers *out;
};

/* GFID.N, without zeros in front; 0: another name. */
static uint64_t
number_of(const struct gi_dirent *e, const char *prefix)
{
  const size_t at = GI_UUID_TEXT; /* behind the dot, which stands where the text of a gfid has its end */
  uint64_t n = 0;

  if (e->name_len <= at || memcmp(e->name, prefix, at - 1) != 0 || e->name[at - 1] != '.' || e->name[at] == '0')
    return 0;
  for (size_t i = at; i < e->name_len; i++) {
    unsigned digit = (unsigned)e->name[i] - '0';

    if (digit > 9 || n > (UINT64_MAX - digit) / 10)
      return 0;
    n = n * 10 + digit;
  }
  return n;
}

static void
add(struct sh_numbers *s, uint64_t n)
{
  GI_ASSERT(s->count <= s->room);
  if (s->count == s->room) {
    s->room = s->room ? 2 * s->room : SH_FEW;
    s->n = gi_realloc(s->n, s->room * sizeof(*s->n));
  }
  s->n[s->count++] = n;
}

static int
found(struct shard *sh, const struct gi_dirent *e, void *arg)
{
  struct search *s = arg;
  uint64_t n = number_of(e, s->prefix);

  (void)sh;
  if (n >= s->first && n < s->end)
    add(s->out, n);
  return 0;
}

static int
by_number(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return x < y ? -1 : x > y;
}

static void
add_all(struct sh_numbers *out, uint64_t first, uint64_t end)
{
  for (uint64_t n = first; n < end; n++)
    add(out, n);
}

static void
in_order(struct sh_numbers *s)
{
  size_t kept = 0;

  if (s->count)
    qsort(s->n, s->count, sizeof(*s->n), by_number);
  for (size_t i = 0; i < s->count; i++)
    if (i == 0 || s->n[i] != s->n[i - 1])
      s->n[kept++] = s->n[i];
  s->count = kept;
}

/* E2BIG: it is cheaper to try all. */
static int
list_blocks(struct shard *sh, struct gi_fop *fop, struct search *s)
{
  uint64_t most = (s->end - s->first) / SH_TRIES_PER_PART;
  int err = sh_list(sh, fop, 0, most, found, s);

  if (!err && gi_xlator_is_spread(sh->x)) /* one that a rebalance moves, and that it has passed by, is in the next one */
    err = sh_list(sh, fop, 0, most, found, s);
  return err;
}

int
sh_blocks_between(struct shard *sh, struct gi_fop *fop, const struct gi_gfid *gfid, uint64_t first, uint64_t end,
                  struct sh_numbers *out)
{
  struct search s = {.first = first, .end = end, .out = out};
  int err = first < end ? sh_dir_ready(sh, fop, 0, false) : ENOENT;

  GI_ASSERT(first > 0);
  *out = (struct sh_numbers){0};
  if (err)
    return err == ENOENT ? 0 : err;
  gi_gfid_text(gfid, s.prefix);
  err = end - first > SH_FEW ? list_blocks(sh, fop, &s) : E2BIG;
  if (err == E2BIG) {
    out->count = 0;
    add_all(out, first, end);
    return 0;
  }
  if (err)
    sh_numbers_free(out);
  else
    in_order(out);
  return err;
}

void
sh_numbers_free(struct sh_numbers *s)
{
  gi_free(s->n);
  *s = (struct sh_numbers){0};
}

uint64_t
sh_next_number(const struct sh_numbers *s, uint64_t n)
{
  size_t low = 0, high = s->count;

  while (low < high) {
    size_t mid = low + (high - low) / 2;

    if (s->n[mid] < n)
      low = mid + 1;
    else
      high = mid;
  }
  GI_ASSERT(low == s->count || s->n[low] >= n);
  return low < s->count ? s->n[low] : UINT64_MAX;
}

/* ---- removing them ---- */

struct batch {
  struct gi_task *task;
  unsigned under_way, removed;
  uint64_t blocks;
  int err;
};

static void
one_removed(struct gi_fop *fop, void *arg)
{
  struct batch *b = arg;
  uint64_t blocks = 0;

  GI_ASSERT(b->under_way > 0);
  if (fop->rsp.ret >= 0)
    b->removed++;
  else if (fop->rsp.err != ENOENT)
    b->err = fop->rsp.err ? fop->rsp.err : EIO;
  if (fop->rsp.ret >= 0 && gi_dict_get_uint(fop->rsp.xdata, "gf_get_file_block_count", &blocks))
    b->blocks += blocks; /* a brick that does not say: an estimate, as ever */
  b->under_way--;
  gi_task_wake(b->task);
  gi_fop_unref(fop);
}

int
sh_blocks_remove(struct shard *sh, struct gi_fop *parent, const struct gi_gfid *gfid, const uint64_t *n, size_t count,
                 struct sh_removed *sum)
{
  struct batch b = {.task = gi_task_self(sh->x->reactor), .under_way = 1};

  GI_ASSERT(b.task && count > 0 && count <= (uint64_t)sh_opts(sh)->deletion_rate);
  for (size_t i = 0; i < count; i++) {
    struct gi_fop *rm = sh_block_entry(sh, parent, GI_FOP_UNLINK, gfid, n[i]);

    gi_dict_set_uint(gi_fop_xdata(rm), "gf_get_file_block_count", 0);
    b.under_way++;
    gi_fop_submit(rm, gi_first_child(sh->x), one_removed, &b);
  }
  b.under_way--;
  while (b.under_way)
    gi_task_wait(sh->x->reactor);
  sum->files += b.removed;
  sum->blocks += b.blocks;
  return b.err;
}

int
sh_blocks_cut(struct sh_file *file, struct gi_fop *fop, uint64_t first, uint64_t end, struct sh_removed *sum)
{
  struct shard *sh = file->sh;
  size_t most = (size_t)sh_opts(sh)->deletion_rate;
  struct sh_numbers there;
  int err = sh_blocks_between(sh, fop, &file->inode->gfid, first, end, &there);

  GI_ASSERT(file->gate.alone);
  for (size_t left = there.count; !err && left;) {
    size_t n = left < most ? left : most;

    left -= n;
    for (size_t i = left; i < left + n; i++)
      sh_block_drop(file, there.n[i]);
    err = sh->stopping ? EINTR : sh_blocks_remove(sh, fop, &file->inode->gfid, there.n + left, n, sum);
  }
  sh_numbers_free(&there);
  return err;
}
