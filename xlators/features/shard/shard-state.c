/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a sharded file: size, blocks, attributes, times.
 *
 * The size stands on the base file and is changed by adding to it, so it must
 * not be guessed: who changes it holds the lease (shard-lease.c) and has asked
 * since it got that. Who only reads believes what it was told as long as caches
 * may. What users are shown changes at the end of a change only, in one step, so
 * that the attributes before one change are those after the one before.
 */
#include "xlators/features/shard/shard.h"

#include "libglusterish/bigendian.h"
#include "libglusterish/extension.h"
#include "libglusterish/mutants.h"
#include "libglusterish/promise.h"

#define SH_WANT_S 60 /* for that long is believed what bricks that tell of changes said */
#define SH_UNSAID_S 1
#define SH_ASK_AGAIN 4

static void
put_sizes(uint8_t value[SH_SIZE_BYTES], uint64_t size, uint64_t blocks)
{
  memset(value, 0, SH_SIZE_BYTES);
  _Static_assert(SH_SIZE_BYTES == 4 * 8, "four numbers");
  gi_be64_store(value, size);
  gi_be64_store(value + 16, blocks);
}

static bool
get_value(const struct gi_dict *dict, const char *key, uint32_t want, const uint8_t **value)
{
  const struct gi_pair *p = gi_dict_get(dict, key);
  uint32_t len;

  return p && gi_pair_bytes(p, value, &len) && len >= want;
}

bool
sh_is_plain(const struct shard *sh, const struct gi_inode *inode)
{
  return (inode->mode && !S_ISREG(inode->mode)) || sh_inode(sh, inode)->what == SH_PLAIN ||
         sh_inode(sh, inode)->what == SH_BLOCK;
}

void
sh_request_keys(struct gi_fop *fop)
{
  struct gi_dict *xdata = gi_fop_xdata(fop);

  if (!gi_dict_get(xdata, SH_BLOCK_KEY))
    gi_dict_set_uint(xdata, SH_BLOCK_KEY, 0);
  if (!gi_dict_get(xdata, SH_SIZE_KEY))
    gi_dict_set_uint(xdata, SH_SIZE_KEY, 8 * 4);
}

static void
set_keys(struct gi_dict *dict, uint64_t block_size, uint64_t size, uint64_t blocks)
{
  uint8_t value[SH_SIZE_BYTES];

  GI_ASSERT(block_size >= SH_BLOCK_MIN);
  gi_be64_store(value, block_size);
  gi_dict_set_bin(dict, SH_BLOCK_KEY, value, 8);
  put_sizes(value, size, blocks);
  gi_dict_set_bin(dict, SH_SIZE_KEY, value, SH_SIZE_BYTES);
}

void
sh_new_file_keys(const struct shard *sh, struct gi_dict *dict)
{
  set_keys(dict, sh_opts(sh)->block_size, 0, 0);
}

void
sh_size_keys(const struct sh_file *file, struct gi_dict *dict)
{
  set_keys(dict, file->block_size, file->size, file->blocks);
}

static bool
sane_block_size(uint64_t size)
{
  return size >= SH_BLOCK_MIN && size <= 1ull << SH_BLOCK_MAX_BITS;
}

bool
sh_sizes(const struct gi_dict *dict, uint64_t *block_size, uint64_t *size)
{
  const uint8_t *block, *sizes;

  if (!get_value(dict, SH_BLOCK_KEY, 8, &block) || !get_value(dict, SH_SIZE_KEY, 24, &sizes))
    return false;
  *block_size = gi_be64_load(block);
  *size = gi_be64_load(sizes);
  return sane_block_size(*block_size) && *size <= INT64_MAX;
}

/* It is kept in blocks, and nobody can tell how: taken for a whole file it would be its first block. */
static bool
is_damaged(const struct gi_iatt *stat, const struct gi_dict *xdata)
{
  uint64_t block, size;

  return S_ISREG(stat->mode) && (gi_dict_get(xdata, SH_BLOCK_KEY) || gi_dict_get(xdata, SH_SIZE_KEY)) &&
         !sh_sizes(xdata, &block, &size);
}

/* ---- files ---- */

static struct sh_file *
file_new(struct shard *sh, struct gi_inode *inode, uint64_t block_size)
{
  struct sh_inode *si = sh_inode(sh, inode);
  struct sh_file *file = gi_new(struct sh_file);

  GI_ASSERT(!si->file && block_size);
  file->sh = sh;
  file->inode = inode;
  file->block_size = block_size;
  gi_list_init(&file->gate.waiting);
  gi_list_init(&file->turn.waiting);
  gi_list_init(&file->sync.waiting);
  gi_list_init(&file->lease_waiters.tasks);
  gi_list_init(&file->lease_link);
  gi_list_init(&file->found);
  si->what = SH_FILE;
  si->file = file;
  return file;
}

/* ---- blocks that are forgotten ---- */

struct lost {
  struct gi_list link;
  struct gi_gfid base;
};

/* Nobody will know whose block it is that news come of: what is kept above of the file is not to be believed any more. */
static void
lose_news(struct shard *sh, const struct gi_gfid *base)
{
  struct lost *l;

  if (!sh->x->graph->active)
    return;
  if (!gi_list_empty(&sh->lost) && gi_gfid_equal(&gi_list_first(&sh->lost, struct lost, link)->base, base))
    return;
  l = gi_new(struct lost);
  l->base = *base;
  gi_list_add_head(&sh->lost, &l->link);
  gi_defer_add(sh->x->reactor, &sh->losing);
}

void
sh_tell_lost(void *arg)
{
  struct shard *sh = arg;

  while (!gi_list_empty(&sh->lost)) {
    struct lost *l = gi_list_first(&sh->lost, struct lost, link);
    struct gi_inode *inode = sh->x->graph->inodes ? gi_inode_find(sh->x->graph, &l->base) : NULL;
    struct sh_file *file = sh_file_of(sh, inode);

    gi_list_del(&l->link);
    gi_free(l);
    if (file)
      sh_tell_changed(file);
    gi_inode_unref(&inode);
  }
}

void
sh_inode_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  struct sh_inode *si = bytes;
  struct sh_file *file = si->file;

  if (si->what == SH_BLOCK && x->graph->promise)
    lose_news(x->private, &si->base);
  if (!file)
    return;
  GI_ASSERT(file->inode == inode && file->lease == SH_LEASE_NONE && !file->users && !file->gate.inside && !file->turn.inside &&
            !file->sync.inside);
  sh_blocks_forget(file);
  gi_timer_finish(&file->lease_timer);
  si->file = NULL;
  gi_free(file);
}

void
sh_tell_changed(struct sh_file *file)
{
  struct gi_invalidation inv = {.gfid = file->inode->gfid, .flags = GI_UPCALL_SIZE | GI_UPCALL_TIMES};

  GI_ASSERT(file->inode->refs > 0);
  gi_notify_up(file->sh->x, GI_EVENT_INVALIDATE, &inv);
}

static bool
is_hidden(const struct sh_file *file, const struct gi_time *time, const struct gi_time *known)
{
  return (gi_time_later(time, known) || gi_time_later(known, time)) && !gi_time_later(time, &file->moved);
}

/* Somebody else gave the base file a time that users are not shown, because a write of ours was later. Whose clock is behind moves the ctime alone. A
 * change of our own that is answered later than one done after it looks the same: then those above are told once too often. */
static bool
is_masked(const struct sh_file *file, const struct gi_iatt *base)
{
  return file->moved.sec && gi_iatt_valid(&file->stat) && gi_iatt_valid(base) &&
         (is_hidden(file, &base->mtime, &file->stat.mtime) || is_hidden(file, &base->ctime, &file->stat.ctime));
}

/* The first time a file is seen, or its attributes are asked for: takes them, unless they are from before a change, of ours or one that
 * we were told of. */
static void
take(struct sh_file *file, const struct gi_iatt *stat, uint64_t size, uint64_t blocks, uint64_t asked)
{
  GI_ASSERT(gi_gfid_equal(&file->inode->gfid, &stat->gfid));
  bool tell = is_masked(file, stat);

  file->stat = *stat;
  file->stat.size = file->size = size;
  file->stat.blocks = file->blocks = blocks;
  file->asked = asked;
  file->known = true;
  if (tell)
    sh_tell_changed(file);
}

struct sh_file *
sh_learn(struct shard *sh, const struct gi_iatt *stat, const struct gi_dict *xdata, uint64_t asked)
{
  uint64_t block, size;
  struct sh_file *file = NULL;
  struct gi_inode *inode;
  const uint8_t *sizes;

  if (!gi_iatt_valid(stat) || gi_gfid_is_none(&stat->gfid))
    return NULL;
  inode = gi_inode_get(sh->x->graph, &stat->gfid);
  struct sh_inode *si = sh_inode(sh, inode);
  if (S_ISREG(stat->mode) && si->what != SH_BLOCK && sh_sizes(xdata, &block, &size) &&
      get_value(xdata, SH_SIZE_KEY, 24, &sizes)) {
    file = si->file ? si->file : file_new(sh, inode, block);
    if (!gi_iatt_valid(&file->stat) || (!file->under_way && asked > file->asked && asked > file->settled &&
                                        asked > file->doubted && file->lease != SH_LEASE_ALONE))
      take(file, stat, size, gi_be64_load(sizes + 16), asked);
  } else if (si->what == SH_UNKNOWN || si->what == SH_PLAIN) {
    si->what = is_damaged(stat, xdata) ? SH_UNKNOWN : SH_PLAIN;
  } else {
    file = si->file; /* a reply without the keys says nothing */
  }
  gi_inode_unref(&inode); /* the file stays: the caller's operation is about it, or nobody's */
  return file;
}

int
sh_learn_asked(struct shard *sh, const struct gi_fop *reply, uint64_t asked, struct sh_file **file)
{
  const struct gi_reply *rsp = &reply->rsp;
  char text[GI_UUID_TEXT];

  GI_ASSERT(rsp->ret >= 0);
  *file = sh_learn(sh, &rsp->stat, rsp->xdata, asked);
  if (*file || !is_damaged(&rsp->stat, rsp->xdata))
    return 0;
  gi_log(GI_LOG_ERROR, sh->x->name, GI_MSG_SHARD + 1,
         "%s: the size, or that of its blocks, is damaged: the file cannot be used", gi_gfid_text(&rsp->stat.gfid, text));
  return EIO;
}

/* ---- asking ---- */

bool
sh_fresh(const struct sh_file *file)
{
  const struct gi_graph *g = file->sh->x->graph;

  if (!file->known)
    return false;
  if ((file->lease != SH_LEASE_NONE && !file->leaving) || file->unlinked)
    return true;
  return gi_now(file->sh->x->reactor) - file->asked <
         gi_promise_life(g, SH_WANT_S * GI_NSEC_PER_SEC, SH_UNSAID_S * GI_NSEC_PER_SEC);
}

static struct gi_fop *
for_sizes(struct shard *sh, struct gi_fop *ask)
{
  ask->caller.stamps = 0;
  sh_request_keys(ask);
  sh->m.asked++;
  return ask;
}

static struct gi_fop *
question(struct shard *sh, struct gi_fop *fop, struct gi_inode *inode, struct gi_fd *fd)
{
  bool by_fd = fd && !fd->anonymous && fd->inode == inode;
  struct gi_fop *ask = sh_inode_fop(sh, fop, by_fd ? GI_FOP_FSTAT : GI_FOP_LOOKUP, inode);

  if (by_fd)
    gi_fop_set_fd(ask, fd);
  return for_sizes(sh, ask);
}

/* With the lease: what is written from there on, or cut, depends on it, and one copy may have lost the last change with its power. */
static struct gi_fop *
question_of_most(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd)
{
  struct gi_fd *by = fd && fd->inode == file->inode ? gi_fd_ref(fd) : gi_fd_anonymous(file->sh->x->graph, file->inode);
  struct gi_fop *ask = sh_inode_fop(file->sh, fop, GI_FOP_FSTAT, file->inode);

  gi_fop_set_fd(ask, by);
  gi_fd_unref(&by);
  gi_dict_set_int(gi_fop_xdata(ask), GI_MOST_KEY, 1);
  return for_sizes(file->sh, ask);
}

static int
ask_once(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd)
{
  struct shard *sh = file->sh;
  struct gi_fop *ask = file->lease == SH_LEASE_NONE ? question(sh, fop, file->inode, fd) : question_of_most(file, fop, fd);
  uint64_t asked = gi_now(sh->x->reactor), news = file->news;
  const uint8_t *sizes;
  int err = sh_run(sh, ask);

  if (!err && (!get_value(ask->rsp.xdata, SH_SIZE_KEY, 24, &sizes) || !gi_iatt_valid(&ask->rsp.stat)))
    err = EIO;
  if (!err && gi_be64_load(sizes) > INT64_MAX)
    err = EIO;
  if (!err && !gi_gfid_equal(&ask->rsp.stat.gfid, &file->inode->gfid))
    err = ESTALE;
  if (!err) {
    take(file, &ask->rsp.stat, gi_be64_load(sizes), gi_be64_load(sizes + 16), asked);
    file->known = news == file->news;
  }
  gi_fop_unref(ask);
  return err;
}

/* In turn. If others go on changing it, what is known in the end was true at some moment since this was called. */
static int
ask_until_known(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd)
{
  GI_ASSERT(file->turn.alone);
  for (unsigned i = 0; i < SH_ASK_AGAIN && !sh_fresh(file); i++) {
    int err = ask_once(file, fop, fd);

    if (err && fd && err != ENOTCONN)
      err = ask_once(file, fop, NULL); /* the descriptor is not open on this brick */
    if (err)
      return file->unlinked ? 0 : err;
  }
  return 0;
}

int
sh_know(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd)
{
  int err = 0;

  if (sh_fresh(file))
    return 0;
  sh_gate_enter(file->sh->x->reactor, &file->turn, true);
  err = ask_until_known(file, fop, fd);
  sh_gate_leave(&file->turn);
  return err;
}

int
sh_identify(struct shard *sh, struct gi_fop *fop, struct gi_inode *inode, struct sh_file **file)
{
  *file = sh_file_of(sh, inode);
  if (*file || sh_is_plain(sh, inode))
    return 0;
  struct gi_fop *ask = question(sh, fop, inode, NULL);
  uint64_t asked = gi_now(sh->x->reactor);
  int err = sh_run(sh, ask);

  if (!err && !gi_gfid_equal(&ask->rsp.stat.gfid, &inode->gfid))
    err = ESTALE;
  if (!err)
    err = sh_learn_asked(sh, ask, asked, file);
  gi_fop_unref(ask);
  return err;
}

/* ---- showing ---- */

/* The base file has the first block's size and times. */
void
sh_show(const struct sh_file *file, struct gi_iatt *iatt)
{
  if (!gi_iatt_valid(iatt) || !S_ISREG(iatt->mode))
    return;
  iatt->size = file->stat.size;
  iatt->blocks = file->stat.blocks;
  gi_time_raise(&iatt->mtime, &file->moved);
  gi_time_raise(&iatt->ctime, &file->moved);
}

struct gi_iatt
sh_view(const struct sh_file *file)
{
  struct gi_iatt view = file->stat;

  sh_show(file, &view);
  return view;
}

void
sh_change_begins(struct sh_file *file)
{
  GI_ASSERT(file->gate.inside > 0 && file->users > 0);
  file->under_way++;
}

void
sh_change_ended(struct sh_file *file)
{
  GI_ASSERT(file->under_way > 0);
  if (--file->under_way == 0)
    file->reach = 0;
}

void
sh_settle(struct sh_file *file, struct gi_reply *rsp, const struct gi_iatt *base_pre, const struct gi_iatt *base_post,
          uint64_t end, bool exactly)
{
  GI_ASSERT(!base_pre == !base_post && end <= INT64_MAX);
  struct gi_iatt pre = base_pre && gi_iatt_valid(base_pre) ? *base_pre : file->stat;
  uint64_t size = file->stat.size;
  bool tell = base_pre && is_masked(file, base_pre);

  sh_show(file, &pre);
  gi_time_raise(&file->moved, &file->moving);
  file->moving = (struct gi_time){0};
  if (base_post && gi_iatt_valid(base_post))
    file->stat = *base_post;
  file->stat.size = exactly || end > size ? end : size;
  file->stat.blocks = file->blocks;
  file->settled = gi_now(file->sh->x->reactor);
  rsp->pre = pre;
  rsp->post = sh_view(file);
  if (tell)
    sh_tell_changed(file);
}

/* ---- changing the size ---- */

/* Others write in the middle, too. The size was asked of one copy, and that may have lost what the others have with its power. */
static void
took_sizes(struct sh_file *file, const uint8_t now[SH_SIZE_BYTES])
{
  file->blocks = gi_be64_load(now + 16);
  if (gi_be64_load(now) != file->size)
    sh_forget(file);
}

static int
add_sizes(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t size, uint64_t blocks)
{
  struct shard *sh = file->sh;
  bool by_fd = fd && !fd->anonymous && (fd->flags & O_ACCMODE) != O_RDONLY;
  struct gi_fop *add = sh_inode_fop(sh, fop, by_fd ? GI_FOP_FXATTROP : GI_FOP_XATTROP, file->inode);
  uint8_t delta[SH_SIZE_BYTES];
  const uint8_t *now;

  GI_ASSERT(file->turn.alone && (size || blocks));
  if (by_fd)
    gi_fop_set_fd(add, fd);
  put_sizes(delta, size, blocks);
  add->args.flags = GI_XATTROP_ADD64;
  add->args.dict = gi_dict_new();
  gi_dict_set_bin(add->args.dict, SH_SIZE_KEY, delta, SH_SIZE_BYTES);
  add->caller.stamps = 0;
  file->news++;
  sh->m.size_updates++;
  gi_dict_set_uint(gi_fop_xdata(add), GI_SUM_KEY, file->size + size);
  int err = sh_run(sh, add);

  file->size += size;
  file->blocks += blocks;
  if (err && !file->unlinked)
    file->known = false; /* perhaps it was added, perhaps not */
  else if (!err && get_value(add->rsp.dict, SH_SIZE_KEY, 24, &now))
    took_sizes(file, now);
  gi_fop_unref(add);
  return file->unlinked ? 0 : err;
}

/* The number of blocks is an estimate: file systems allocate later. It does not become negative by that. */
static uint64_t
blocks_delta(const struct sh_file *file, int64_t blocks)
{
  if (blocks < 0 && (uint64_t)-blocks > file->blocks)
    return 0 - file->blocks;
  return (uint64_t)blocks;
}

int
sh_grow(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t end, int64_t blocks)
{
  int err;

  if (sh_fresh(file) && end <= file->size && blocks == 0 && !file->turn.inside)
    return 0;
  if (GI_BROKEN("lose an update of the size"))
    return 0;
  sh_gate_enter(file->sh->x->reactor, &file->turn, true);
  err = ask_until_known(file, fop, fd);
  if (!err) {
    uint64_t more = end > file->size ? end - file->size : 0;

    GI_ASSERT(file->users > 0);
    if (more || blocks_delta(file, blocks))
      err = add_sizes(file, fop, fd, more, blocks_delta(file, blocks));
  }
  sh_gate_leave(&file->turn);
  return err;
}

int
sh_set_size(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t size, int64_t blocks)
{
  int err;

  GI_ASSERT(file->gate.alone);
  sh_gate_enter(file->sh->x->reactor, &file->turn, true);
  err = ask_until_known(file, fop, fd);
  if (!err && (size != file->size || blocks_delta(file, blocks)))
    err = add_sizes(file, fop, fd, size - file->size, blocks_delta(file, blocks));
  sh_gate_leave(&file->turn);
  return err;
}

/* ---- times ---- */

void
sh_moved(struct sh_file *file, const struct gi_fop *fop)
{
  struct gi_time when = fop->caller.time.sec ? fop->caller.time : gi_wall(file->sh->x->reactor);

  gi_time_raise(&file->moving, &when);
}

/* `pre`, `post`: what the base file had before it got our time, and has since. */
static void
take_flushed(struct sh_file *file, const struct gi_iatt *pre, const struct gi_iatt *post)
{
  uint64_t size = file->stat.size, blocks = file->stat.blocks;
  bool tell = is_masked(file, pre);

  file->stat = *post;
  file->stat.size = size;
  file->stat.blocks = blocks;
  if (tell)
    sh_tell_changed(file);
}

int
sh_flush_times(struct sh_file *file, struct gi_fop *fop)
{
  struct gi_time moved = file->moved;

  GI_ASSERT(file->inode->refs > 0);
  if (!moved.sec || file->unlinked)
    return 0;
  struct gi_fop *set = sh_inode_fop(file->sh, fop, GI_FOP_SETATTR, file->inode);

  set->args.valid = GI_SET_MTIME;
  set->args.iatt.mtime = moved;
  set->caller.stamps = GI_STAMP_CTIME;
  set->caller.time = moved;
  int err = gi_time_later(&moved, &file->stat.mtime) ? sh_run(file->sh, set) : 0;

  if (!err && gi_iatt_valid(&set->rsp.post))
    take_flushed(file, &set->rsp.pre, &set->rsp.post);
  if (!err && !gi_time_later(&file->moved, &moved))
    file->moved = (struct gi_time){0};
  gi_fop_unref(set);
  return err;
}

bool
sh_some_moved(const struct shard *sh)
{
  gi_list_foreach(f, &sh->leases, struct sh_file, lease_link)
    if (f->moved.sec)
      return true;
  return false;
}

void
sh_flush_all_times(struct shard *sh, struct gi_fop *fop)
{
  unsigned left = 0;
  int err = 0;

  gi_list_foreach(f, &sh->leases, struct sh_file, lease_link)
    left++;
  for (; left && !err && !gi_list_empty(&sh->leases); left--) {
    struct sh_file *file = gi_list_first(&sh->leases, struct sh_file, lease_link);
    struct gi_inode *inode = gi_inode_ref(file->inode);

    gi_list_del(&file->lease_link); /* each in turn */
    gi_list_add_tail(&sh->leases, &file->lease_link);
    err = sh_flush_times(file, fop);
    gi_inode_unref(&inode);
  }
}

/* ---- news ---- */

void
sh_forget(struct sh_file *file)
{
  gi_time_raise(&file->moved, &file->moving);
  file->moving = (struct gi_time){0};
  file->known = false;
  file->news++;
  file->doubted = gi_now(file->sh->x->reactor);
}

void
sh_look_again(struct sh_file *file)
{
  if (file->lease == SH_LEASE_NONE)
    sh_forget(file);
  bool keeps = file->sh->x->graph->promise || file->lease == SH_LEASE_ALONE || file->size <= file->block_size;

  if (!keeps && !GI_BROKEN("keep what is known of blocks over an open, or a lock"))
    sh_tell_changed(file);
}

/* Bricks came or went: locks may be gone with them. */
void
sh_forget_all(struct shard *sh)
{
  sh->dir_known[0] = sh->dir_known[1] = false;
  gi_list_foreach(f, &sh->leases, struct sh_file, lease_link) {
    GI_ASSERT(f->lease != SH_LEASE_NONE || f->asking);
    sh_forget(f);
  }
  sh_lease_end_all(sh);
}

/* What is told of a block is told of the file, whose size it does not change; what is told of the base file has the attributes of the first block, so none are passed. */
bool
sh_invalidated(struct shard *sh, const struct gi_invalidation *inv)
{
  struct gi_inode *inode = gi_gfid_is_none(&inv->gfid) ? NULL : gi_inode_find(sh->x->graph, &inv->gfid);
  struct gi_invalidation on = *inv;
  struct sh_file *file = NULL;

  if (!inode)
    return false;
  enum sh_what what = sh_inode(sh, inode)->what;
  if (what == SH_BLOCK) {
    struct gi_inode *base = gi_inode_find(sh->x->graph, &sh_inode(sh, inode)->base);

    on.gfid = sh_inode(sh, inode)->base;
    on.flags = GI_UPCALL_SIZE | GI_UPCALL_TIMES;
    on.parent = on.old_parent = (struct gi_iatt){0};
    on.xdata = NULL;
    struct sh_file *of = sh_file_of(sh, base);
    if (of && (inv->flags & (GI_UPCALL_NLINK | GI_UPCALL_FORGET))) {
      gi_list_foreach_safe(b, &of->found, struct sh_block, file_link)
        if (gi_gfid_equal(&b->gfid, &inv->gfid) && !b->dirty)
          sh_block_drop(of, b->n);
    }
    gi_inode_unref(&base);
  } else if (what == SH_FILE) {
    file = sh_file_of(sh, inode);
    if (inv->flags & GI_UPCALL_XATTR)
      on.flags |= GI_UPCALL_SIZE | GI_UPCALL_TIMES; /* its size is one */
  }
  on.stat = (struct gi_iatt){0};
  if (file)
    sh_forget(file);
  gi_inode_unref(&inode);
  if (what != SH_BLOCK && what != SH_FILE)
    return false;
  gi_notify_up(sh->x, GI_EVENT_INVALIDATE, &on);
  return true;
}
