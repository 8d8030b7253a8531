/* SPDX-License-Identifier: Apache-2.0
 *
 * The heal of a file's data (replicate.md 7.3).
 *
 * The healer holds the self-heal lock from begin to end, so no other healer
 * works on the file. It holds the writers' lock while it decides, and while it
 * takes the counters back. In between it locks single blocks: writers go on, and
 * write to the sinks as well, which stay blamed until the end.
 *
 * The walk over the file skips what it can. SEEK passes holes. A block behind
 * the old end of a sink is copied without a checksum. Zeros are not written into
 * holes. Several blocks are under way at a time, bounded by the window of the
 * replica set; the payload goes from the read reply to the writes by reference.
 *
 * Small blocks share a lock and its messages: a database changes thousands of
 * single pages.
 *
 * A small file is healed under the first lock, in three rounds of operations and
 * without a walk.
 */
#include "xlators/cluster/replicate/heal/heal.h"

#include "libglusterish/near.h"
#include "libglusterish/probe.h"

#include <fcntl.h>

#define SMALL GI_REGIONS_SMALL /* bytes: healed without giving the writers' lock back */
#define BLOCK_MAX (1u << 20)
#define BLOCKS_AT_ONCE 32    /* each has a task */
#define COST_MIN (16u << 10) /* bytes of the window that a block takes at least: a page costs more than its bytes */

/* Sinks that copy by themselves, from a source on their machine. */
#define LOCAL_LOCKED (2u << 20)     /* bytes of one request, under one lock: messages are the main cost */
#define LOCAL_COMPARED (512u << 10) /* the same where the sink may have the data already and checksums are compared */
#define LOCAL_SHARE 32              /* a request takes this fraction of its bytes from the window */
#define LOCAL_AT_ONCE 2             /* requests under way: one is copied, the next one is locked. More only block writers */

/* Sinks that are written to: limits of what shares one lock, and writers wait for. */
#define PIECES 8
#define LOCKED_MAX (512u << 10) /* bytes of all pieces */
#define SPAN_MAX (8u << 20)     /* bytes from the first to the last */

struct data_heal {
  struct rep_heal *h;
  const struct rep_view *v;
  struct rep_direction *d;
  struct gi_fd *fd;
  unsigned source;
  uint32_t sinks; /* healed so far; the arbiter among them */
  int err;        /* the source failed: nothing is healed */
  int sink_err;   /* of the last sink that dropped out */
  uint64_t size, block;
  bool sparse, seek, full;
  uint32_t local;            /* sinks that copy by themselves */
  char *where;               /* the place that they copy from; owned */
  bool partial;              /* only `regions` may differ */
  struct gi_regions regions; /* as the source remembers them */
  struct block_job *next;    /* being filled */
  unsigned running;          /* block tasks */
  struct gi_task *parent;
};

struct piece {
  uint64_t offset, len;
  size_t writing; /* bytes; 0: nothing to wait for */
  struct gi_fan read, write;
  struct rep_wait was_read, written;
};

/* What is healed under one lock. */
struct block_job {
  struct data_heal *dh;
  uint64_t granted; /* of the window: how much is under way at a time */
  unsigned n;
  struct piece piece[GI_NEAR_PIECES]; /* ascending */
};

static uint64_t
bytes_of(const struct piece *piece, unsigned n)
{
  uint64_t sum = 0;

  for (unsigned i = 0; i < n; i++)
    sum += piece[i].len;
  return sum;
}

/* ---- who is to be written ---- */

static uint32_t
data_sinks(const struct data_heal *dh)
{
  return dh->sinks & ~dh->h->rep->arbiter;
}

static void
drop(struct data_heal *dh, uint32_t sinks, int err)
{
  if (sinks & dh->sinks)
    dh->sink_err = err;
  GI_ASSERT(!(sinks & dh->sinks) || err > 0);
  dh->sinks &= ~sinks;
}

/* How far the sink had data of its own before the heal; behind that it is a hole, or has what writers wrote to all. */
static uint64_t
sink_end(const struct data_heal *dh, unsigned sink)
{
  uint64_t size = dh->v->stat[sink].size;

  return size < dh->size ? size : dh->size;
}

static uint32_t
with_old_data(const struct data_heal *dh, uint32_t sinks, uint64_t offset)
{
  uint32_t set = 0;

  rep_foreach(i, sinks) if (sink_end(dh, i) > offset) set |= 1u << i;
  return set;
}

/* The last line of defence: whatever went wrong before, a good copy is never written. */
static void
assert_not_good(const struct data_heal *dh, uint32_t targets)
{
  GI_ASSERT(!(targets & dh->d->sources) && !((targets >> dh->source) & 1));
}

/* ---- one block ---- */

static struct gi_fop *
fd_fop(struct data_heal *dh, enum gi_fop_kind kind, uint64_t offset, uint64_t len)
{
  struct gi_fop *fop = rep_heal_fop(dh->h, kind);

  gi_fop_set_fd(fop, dh->fd);
  fop->args.offset = offset;
  fop->args.size = len;
  return fop;
}

static bool
all_zero(const struct gi_payload *p)
{
  for (uint32_t i = 0; i < p->count; i++) {
    const struct gi_slice *s = &p->slice[i];

    if (s->len && (s->data[0] || memcmp(s->data, s->data + 1, s->len - 1) != 0))
      return false;
  }
  return true;
}

static bool
same_checksum(const struct gi_reply *a, const struct gi_reply *b)
{
  return a->weak_checksum == b->weak_checksum && a->strong_len == b->strong_len && a->strong_len >= 16 &&
         memcmp(a->strong_checksum, b->strong_checksum, sizeof(a->strong_checksum)) == 0;
}

/* Which of `sinks` have the same block as the source. */
static uint32_t
compare(struct data_heal *dh, uint64_t offset, uint64_t len, uint32_t sinks)
{
  struct gi_fop *fop = fd_fop(dh, GI_FOP_RCHECKSUM, offset, len);
  struct gi_fan fan;
  uint32_t same = 0;

  gi_dict_set_int(gi_fop_xdata(fop), "check-zero-filled", 1);
  rep_heal_fan(dh->h, fop, sinks | 1u << dh->source, &fan);
  if ((fan.ok >> dh->source) & 1)
    rep_foreach(i, fan.ok & sinks) if (same_checksum(&gi_fan_reply(&fan, i)->rsp, &gi_fan_reply(&fan, dh->source)->rsp)) same |=
        1u << i;
  gi_fan_clear(&fan);
  dh->h->bytes_compared += same ? len : 0;
  return same;
}

static void
write_begin(struct data_heal *dh, struct piece *p, const struct gi_payload *data, uint32_t targets)
{
  struct gi_fop *fop = fd_fop(dh, GI_FOP_WRITE, p->offset, data->len);

  assert_not_good(dh, targets);
  gi_payload_append(&fop->payload, data);
  p->writing = data->len;
  rep_heal_fan_begin(dh->h, fop, targets, &p->write, &p->written);
}

static void
write_end(struct data_heal *dh, struct piece *p)
{
  if (!p->writing)
    return;
  rep_heal_fan_await(dh->h, &p->written);
  rep_foreach(i, p->write.failed) drop(dh, 1u << i, gi_fan_reply(&p->write, i)->rsp.err);
  rep_foreach(j, p->write.ok)
  {
    if ((size_t)gi_fan_reply(&p->write, j)->rsp.ret == p->writing)
      dh->h->bytes_written += p->writing;
    else
      drop(dh, 1u << j, ENOSPC); /* a short write */
  }
  gi_fan_clear(&p->write);
}

/* Where the source has nothing but zeros: sinks get a hole if the source is sparse, whatever they have there. */
static void
clear_begin(struct data_heal *dh, struct piece *p, const struct gi_payload *zeros, uint32_t targets)
{
  uint32_t cleared = 0;

  assert_not_good(dh, targets);
  if (dh->sparse && targets)
    cleared = rep_heal_all(dh->h, fd_fop(dh, GI_FOP_DISCARD, p->offset, zeros->len), targets);
  if (targets & ~cleared)
    write_begin(dh, p, zeros, targets & ~cleared);
}

/* ---- a sink that shares the source's machine copies by itself ---- */

/* What is left of the pieces after `done` bytes of them, in one request. */
static struct gi_fop *
local_fop(struct data_heal *dh, const struct piece *piece, unsigned n, uint64_t done)
{
  struct gi_near_piece left[GI_NEAR_PIECES], *last;
  struct gi_fop *fop;
  unsigned m = 0;

  for (unsigned i = 0; i < n; i++) {
    uint64_t skip = done < piece[i].len ? done : piece[i].len;

    if (skip < piece[i].len)
      left[m++] = (struct gi_near_piece){piece[i].offset + skip, piece[i].len - skip};
    done -= skip;
  }
  last = &left[m - 1];
  fop = fd_fop(dh, GI_FOP_COPY_FILE_RANGE, left[0].offset, last->offset + last->len - left[0].offset);
  fop->fd2 = gi_fd_ref(dh->fd);
  gi_loc_set_inode(&fop->loc2, dh->h->inode);
  fop->args.offset2 = fop->args.offset;
  gi_dict_set_str(gi_fop_xdata(fop), GI_NEAR_KEY, dh->where);
  if (m > 1)
    gi_near_pieces_put(fop->xdata, left, m);
  return fop;
}

/* Returns how many bytes each of those that could has copied, `most` at most; the others join `failed`. */
static uint64_t
local_step(struct data_heal *dh, struct gi_fop *fop, uint64_t most, uint32_t targets, uint32_t *failed)
{
  uint64_t copied = most, bytes;
  struct gi_fan fan;

  assert_not_good(dh, targets);
  rep_heal_fan(dh->h, fop, targets, &fan);
  *failed |= fan.failed;
  rep_foreach(i, fan.ok) if ((bytes = (uint64_t)gi_fan_reply(&fan, i)->rsp.ret) < copied) copied = bytes;
  bytes = copied * (unsigned)__builtin_popcount(fan.ok);
  dh->h->bytes_written += bytes;
  dh->h->bytes_near += bytes;
  gi_fan_clear(&fan);
  return copied;
}

/* A brick may copy less than it was asked for, and nothing only where a writer has cut the file, on all copies. Returns those that could
 * not, for whatever reason. */
static uint32_t
copy_locally(struct data_heal *dh, const struct piece *piece, unsigned n, uint32_t targets)
{
  uint64_t all = bytes_of(piece, n), step = 0;
  uint32_t failed = 0;

  for (uint64_t done = 0; done < all && (targets & ~failed); done += step)
    if (!(step = local_step(dh, local_fop(dh, piece, n, done), all - done, targets & ~failed, &failed)))
      break;
  return failed;
}

/* ---- the others are sent it ---- */

static void
read_begin(struct data_heal *dh, struct piece *p)
{
  p->writing = 0;
  rep_heal_fan_begin(dh->h, fd_fop(dh, GI_FOP_READ, p->offset, p->len), 1u << dh->source, &p->read, &p->was_read);
}

/* Begins to write what was read, if anything. */
static void
store_begin(struct data_heal *dh, struct piece *p, uint32_t targets)
{
  const struct gi_reply *got = &gi_fan_reply(&p->read, dh->source)->rsp;
  const struct gi_payload *data = &got->payload;

  if (got->ret < 0) {
    dh->err = got->err;
    return;
  }
  dh->h->bytes_read += data->len;
  if (!data->len) /* a writer cut the file, on all copies */
    return;
  if (all_zero(data))
    clear_begin(dh, p, data, with_old_data(dh, targets, p->offset));
  else
    write_begin(dh, p, data, targets);
}

static void
store(struct data_heal *dh, struct piece *piece, unsigned n, uint32_t targets)
{
  for (unsigned i = 0; i < n; i++)
    store_begin(dh, &piece[i], targets);
  for (unsigned i = 0; i < n; i++)
    write_end(dh, &piece[i]);
}

/* A writer that does not reach the source goes on without it, and every copy it wrote to blames the source: it holds what the
 * source lacks, and what was decided before does not hold any more. */
static bool
source_blamed_since(const struct data_heal *dh, const struct gi_fan *fan)
{
  const char *key = dh->h->rep->pending_key[dh->source];

  rep_foreach(i, fan->ok)
  {
    int32_t now = 0;

    rep_marks_slot(gi_fan_reply(fan, i)->rsp.xdata, key, REP_DATA, &now);
    if (now != dh->v->pending[REP_DATA][i][dh->source])
      return true;
  }
  return false;
}

static bool
all_local(const struct data_heal *dh)
{
  return dh->local && !(data_sinks(dh) & ~dh->local);
}

/* Of the window. What sinks copy by themselves is nowhere under way: a brick works at one at a time beside others, and waits for the disk. */
static uint64_t
window_cost(const struct data_heal *dh, const struct piece *p)
{
  uint64_t bytes = all_local(dh) ? p->len / LOCAL_SHARE : p->len;

  return bytes < COST_MIN ? COST_MIN : bytes;
}

/* Under the lock, so that no such writer is at work; asked whenever the source is read: it may have been away since the lock was taken.
 * Returns the sinks that are still to be sent it, for they did not copy by themselves. */
static uint32_t
copy(struct data_heal *dh, struct piece *piece, unsigned n, uint32_t targets)
{
  struct gi_fop *ask = fd_fop(dh, GI_FOP_FSTAT, 0, 0);
  uint32_t local = targets & dh->local, far = targets & ~local, failed = 0;
  unsigned reads = far ? n : 0;

  GI_ASSERT(targets && !((targets >> dh->source) & 1) && n >= 1 && n <= GI_NEAR_PIECES);
  struct rep_wait wait;
  struct gi_fan fan;

  rep_marks_request(dh->h->rep, gi_fop_xdata(ask));
  rep_heal_fan_begin(dh->h, ask, targets, &fan, &wait);
  for (unsigned i = 0; i < reads; i++)
    read_begin(dh, &piece[i]);
  for (unsigned i = 0; i < reads; i++)
    rep_heal_fan_await(dh->h, &piece[i].was_read);
  rep_heal_fan_await(dh->h, &wait);
  rep_foreach(i, fan.failed) drop(dh, 1u << i, gi_fan_reply(&fan, i)->rsp.err);
  if (source_blamed_since(dh, &fan) && !GI_BROKEN("copy from a source that was blamed meanwhile")) {
    GI_PROBE("heal: the source missed something while it was copied from");
    dh->err = EAGAIN;
  } else {
    store(dh, piece, reads, fan.ok & far);
    if (fan.ok & local)
      failed = copy_locally(dh, piece, n, fan.ok & local);
  }
  gi_fan_clear(&fan);
  for (unsigned i = 0; i < reads; i++)
    gi_fan_clear(&piece[i].read);
  dh->local &= ~failed;
  return failed;
}

/* How many, from `first` on, were granted at once. */
static unsigned
group(const struct block_job *job, unsigned first)
{
  uint64_t sum = window_cost(job->dh, &job->piece[first]);
  unsigned end = first + 1;

  if (job->dh->full && all_local(job->dh))
    return job->n - first;
  while (job->dh->full && end < job->n && (sum += window_cost(job->dh, &job->piece[end])) <= job->granted)
    end++;
  return end - first;
}

static void
heal_group(struct data_heal *dh, struct piece *piece, unsigned n)
{
  uint32_t targets = data_sinks(dh), ask;

  if (!dh->full && (ask = with_old_data(dh, targets, piece->offset)))
    targets &= ~compare(dh, piece->offset, piece->len, ask);
  while (!dh->err && targets)
    targets = copy(dh, piece, n, targets) & data_sinks(dh);
}

static void
heal_job(struct block_job *job)
{
  const struct piece *first = &job->piece[0], *last = &job->piece[job->n - 1];
  struct data_heal *dh = job->dh;
  struct rep_heal_lock lock = {.inode = dh->h->inode, .start = first->offset, .len = last->offset + last->len - first->offset};
  uint32_t held = rep_heal_lock(dh->h, &lock, REP_LOCK_WAIT, dh->h->rep->all);

  if (!((held >> dh->source) & 1))
    dh->err = ENOTCONN;
  drop(dh, ~held, ENOTCONN);
  for (unsigned i = 0, n; i < job->n && !dh->err; i += n) {
    n = group(job, i);
    heal_group(dh, &job->piece[i], n);
  }
  rep_heal_unlock(dh->h, &lock);
}

static void
block_task(void *arg)
{
  struct block_job *job = arg;
  struct data_heal *dh = job->dh;

  heal_job(job);
  GI_ASSERT(dh->running > 0 && job->granted);
  gi_window_give(&dh->h->rep->heal_window, job->granted);
  gi_free(job);
  dh->running--;
  gi_task_wake(dh->parent);
}

/* ---- the walk ---- */

/* Where the next byte is that is not in a hole of every copy concerned; `at` itself if that cannot be learnt. Asked without a
 * lock: what stale bytes a sink has do not move, and writers write to all copies. */
static uint64_t
next_data(struct data_heal *dh, uint64_t at)
{
  struct gi_fop *fop = fd_fop(dh, GI_FOP_SEEK, at, 0);
  uint64_t next = UINT64_MAX;
  struct gi_fan fan;

  rep_heal_fan(dh->h, fop, 1u << dh->source | with_old_data(dh, data_sinks(dh), at), &fan);
  rep_foreach(i, fan.ok) if (gi_fan_reply(&fan, i)->rsp.offset < next) next = gi_fan_reply(&fan, i)->rsp.offset;
  rep_foreach(j, fan.failed) if (gi_fan_reply(&fan, j)->rsp.err != ENXIO) /* that says: only a hole up to the end */
      dh->seek = false;
  gi_fan_clear(&fan);
  return dh->seek && next > at ? next : at;
}

static bool
may_go_on(const struct data_heal *dh)
{
  if (dh->h->rep->draining || dh->err)
    return false;
  return data_sinks(dh) != 0;
}

/* What is granted is what a block takes, however many it is used for one after the other; small ones go together. */
static uint64_t
grant(const struct block_job *job)
{
  uint64_t sum = 0;

  for (unsigned i = 0; i < job->n && sum < REP_HEAL_BLOCK; i++)
    sum += window_cost(job->dh, &job->piece[i]);
  return sum;
}

static void
start_job(struct data_heal *dh)
{
  struct block_job *job = dh->next;

  dh->next = NULL;
  job->granted = grant(job);
  while (dh->running >= (all_local(dh) ? LOCAL_AT_ONCE : BLOCKS_AT_ONCE))
    gi_task_wait(dh->h->r);
  gi_window_take(&dh->h->rep->heal_window, dh->h->r, job->granted);
  dh->running++;
  gi_task_start(dh->h->r, block_task, job);
}

static bool
block_has_room(const struct block_job *job, uint64_t offset, uint64_t len)
{
  bool local = all_local(job->dh);

  return job->n < (local ? GI_NEAR_PIECES : PIECES) &&
         bytes_of(job->piece, job->n) + len <= (local ? LOCAL_LOCKED : LOCKED_MAX) &&
         offset + len - job->piece[0].offset <= SPAN_MAX;
}

static void
add_piece(struct data_heal *dh, uint64_t offset, uint64_t len)
{
  if (dh->next && !block_has_room(dh->next, offset, len))
    start_job(dh);
  if (!dh->next) {
    dh->next = gi_new(struct block_job);
    dh->next->dh = dh;
  }
  dh->next->piece[dh->next->n++] = (struct piece){.offset = offset, .len = len};
}

/* A narrow window is used in more and smaller pieces: what is in work at a brick is what an application may have to wait for. */
static uint64_t
next_step(const struct data_heal *dh, uint64_t at)
{
  uint64_t quarter = dh->h->rep->heal_window.size / 4 / REP_HEAL_BLOCK * REP_HEAL_BLOCK;

  if (all_local(dh))
    return dh->full || !with_old_data(dh, dh->local, at) ? LOCAL_LOCKED : LOCAL_COMPARED;
  return quarter < REP_HEAL_BLOCK ? REP_HEAL_BLOCK : quarter < dh->block ? quarter : dh->block;
}

static void
walk_range(struct data_heal *dh, uint64_t start, uint64_t end)
{
  uint64_t known = start; /* nothing but data is expected before here */
  uint64_t grain = dh->partial ? GI_REGION_BLOCK : dh->block;
  bool seek = end > start && end - start > dh->block;
  uint64_t step;

  for (uint64_t at = start - start % grain; at < end && may_go_on(dh); at += step) {
    step = next_step(dh, at);
    if (seek && dh->seek && at >= known) {
      uint64_t data = next_data(dh, at);

      if (data >= end)
        break;
      at = data - data % grain;
      known = at + step;
    }
    add_piece(dh, at, end - at < step ? end - at : step);
  }
}

static void
walk(struct data_heal *dh)
{
  const struct gi_region everything = {0, GI_REGION_END}, *range = dh->partial ? dh->regions.range : &everything;

  dh->parent = gi_task_self(dh->h->r);
  for (uint32_t i = 0, n = dh->partial ? dh->regions.n : 1; i < n; i++) {
    uint64_t end = range[i].end < GI_REGION_END ? range[i].end * GI_REGION_BLOCK : UINT64_MAX;

    walk_range(dh, range[i].start * GI_REGION_BLOCK, end < dh->size ? end : dh->size);
  }
  if (dh->next)
    start_job(dh);
  while (dh->running)
    gi_task_wait(dh->h->r);
}

/* ---- before and after ---- */

static void
send_file_times(struct data_heal *dh, struct rep_round *round, const struct gi_iatt *model)
{
  rep_foreach(i, dh->sinks)
  {
    struct gi_fop *fop = rep_heal_inode_fop(dh->h, GI_FOP_SETATTR, dh->h->inode);

    fop->args.valid = REP_HEAL_TIMES;
    fop->args.iatt = *model;
    rep_round_send(round, fop, i);
  }
}

/* A source that is dirty may hold what never reached its disk, and its mark goes too. */
static void
send_fsync_of_sources(struct data_heal *dh, struct rep_round *round)
{
  struct gi_fd *fd = gi_fd_anonymous(dh->h->rep->x->graph, dh->h->inode);

  rep_foreach(i, dh->d->sources & ~dh->h->rep->arbiter)
  {
    struct gi_fop *fop;

    if (!dh->v->dirty[REP_DATA][i])
      continue;
    fop = rep_heal_fop(dh->h, GI_FOP_FSYNC);
    gi_fop_set_fd(fop, fd);
    rep_round_send(round, fop, i);
  }
  gi_fd_unref(&fd);
}

static void
send_fsync(struct data_heal *dh, struct rep_round *round)
{
  if (!rep_opts(dh->h->rep)->ensure_durability || GI_BROKEN("take back marks without fsync of the sinks"))
    return;
  rep_foreach(i, data_sinks(dh)) rep_round_send(round, fd_fop(dh, GI_FOP_FSYNC, 0, 0), i);
  send_fsync_of_sources(dh, round);
}

static void
finish_data(struct data_heal *dh, struct rep_round *round)
{
  uint32_t asked = round->fan.sent, ok = rep_round_wait(dh->h, round);

  if (asked & ~ok & dh->d->sources)
    dh->err = round->fan.err;
  drop(dh, asked & ~ok, round->fan.err);
}

static void
send_truncate(struct data_heal *dh, struct rep_round *round)
{
  assert_not_good(dh, dh->sinks);
  rep_foreach(i, data_sinks(dh))
  {
    struct gi_fop *fop;

    if (dh->v->stat[i].size == dh->size)
      continue;
    fop = rep_heal_inode_fop(dh->h, GI_FOP_TRUNCATE, dh->h->inode);
    fop->args.offset = dh->size;
    rep_round_send(round, fop, i);
  }
}

static int
open_file(struct data_heal *dh)
{
  uint32_t need = dh->sinks | 1u << dh->source, ok;
  struct gi_fop *fop = rep_heal_fop(dh->h, GI_FOP_OPEN);

  dh->fd = gi_fd_new(dh->h->rep->x->graph, dh->h->inode, O_RDWR | O_LARGEFILE, dh->h->caller.pid);
  gi_fop_set_fd(fop, dh->fd);
  fop->args.flags = O_RDWR | O_LARGEFILE;
  ok = rep_heal_all(dh->h, fop, need);
  drop(dh, need & ~ok, ENOTCONN);
  return (ok >> dh->source) & 1 ? 0 : ENOTCONN;
}

/* ---- the two ways ---- */

/* Under the writers' lock: cut and read at once, write, then make it durable and set the times at once. */
static void
heal_small(struct data_heal *dh)
{
  struct piece all = {.len = dh->size};
  bool read = dh->size && data_sinks(dh);
  struct rep_round round;

  dh->fd = gi_fd_anonymous(dh->h->rep->x->graph, dh->h->inode);
  rep_round_begin(dh->h, &round);
  send_truncate(dh, &round);
  if (read)
    read_begin(dh, &all);
  finish_data(dh, &round);
  if (read) {
    rep_heal_fan_await(dh->h, &all.was_read);
    store(dh, &all, 1, data_sinks(dh));
    gi_fan_clear(&all.read);
  }
  if (dh->err)
    return;
  rep_round_begin(dh->h, &round);
  send_fsync(dh, &round);
  send_file_times(dh, &round, rep_heal_due_times(dh->v, dh->source, &dh->v->stat[dh->source]));
  finish_data(dh, &round);
}

static void
choose_walk(struct data_heal *dh)
{
  const struct gi_iatt *st = &dh->v->stat[dh->source];

  dh->sparse = dh->seek = st->blocks < (st->size + 511) / 512;
  dh->full = dh->partial || rep_opts(dh->h->rep)->heal.data_self_heal_algorithm == REP_HEAL_FULL;
  dh->block = (uint64_t)rep_opts(dh->h->rep)->heal.data_self_heal_window_size * REP_HEAL_BLOCK;
  if (dh->block > BLOCK_MAX)
    dh->block = BLOCK_MAX;
  if (dh->sparse)
    dh->block = REP_HEAL_BLOCK;
}

/* Times are those of the end: writers may have been there. */
static void
restore_file_times(struct data_heal *dh)
{
  struct rep_round round;
  struct gi_iatt due;

  dh->err = rep_heal_late_times(dh->h, dh->v, dh->d, &due);
  if (dh->err)
    return;
  rep_round_begin(dh->h, &round);
  send_file_times(dh, &round, &due);
  finish_data(dh, &round);
}

/* Gives `writers` back for the walk and takes it again for the end. */
static void
heal_large(struct data_heal *dh, struct rep_heal_lock *writers)
{
  struct rep_round round;
  uint32_t held;

  dh->partial = rep_heal_regions(dh->h, dh->v, dh->d, &dh->regions);
  choose_walk(dh);
  rep_round_begin(dh->h, &round);
  send_truncate(dh, &round);
  finish_data(dh, &round);
  rep_heal_unlock(dh->h, writers);
  if (!dh->err)
    dh->err = open_file(dh);
  if (may_go_on(dh) && !dh->sparse) /* blocks of zeros stay holes: that is seen by who reads them */
    dh->local = rep_heal_local_copy(dh->h, dh->source, data_sinks(dh), &dh->where);
  walk(dh);
  if (dh->h->rep->draining && !dh->err)
    dh->err = ENOTCONN;
  if (dh->err || !dh->sinks)
    return;
  rep_round_begin(dh->h, &round);
  send_fsync(dh, &round);
  finish_data(dh, &round);
  held = rep_heal_lock(dh->h, writers, REP_LOCK_WAIT, dh->h->rep->all);
  drop(dh, ~held, ENOTCONN);
  dh->d->locked &= held;
  if (!((held >> dh->source) & 1))
    dh->err = ENOTCONN;
  if (!dh->err)
    restore_file_times(dh);
}

static int
run_data(struct rep_heal *h, const struct rep_view *v, struct rep_direction *d, struct rep_heal_lock *writers)
{
  struct data_heal dh = {.h = h, .v = v, .d = d, .source = (unsigned)d->source, .sinks = d->sinks};
  uint64_t skipped;
  uint32_t done;

  GI_ASSERT(d->source >= 0 && !((d->sinks >> d->source) & 1) && d->sinks);
  dh.size = v->stat[d->source].size;
  if (!S_ISREG(v->stat[d->source].mode))
    dh.size = 0; /* marked by whoever made it; it has no data that could differ */
  else if (!GI_BROKEN("take back marks against copies that were not healed"))
    dh.size <= SMALL ? heal_small(&dh) : heal_large(&dh, writers);
  gi_fd_unref(&dh.fd);
  gi_free(dh.where);
  skipped = dh.partial ? dh.size - gi_regions_bytes(&dh.regions, dh.size) : 0;
  gi_regions_clear(&dh.regions);
  if (dh.err)
    return -dh.err;
  if (!dh.sinks)
    return -dh.sink_err;
  done = rep_heal_undo(h, v, REP_DATA, d, d->sources | dh.sinks, false, NULL);
  if (done != h->rep->all)
    return -ENOTCONN;
  h->bytes_skipped += skipped;
  return dh.sinks == d->sinks ? REP_HEALED : -dh.sink_err;
}

static int
heal_data_locked(struct rep_heal *h, struct rep_heal_lock *writers)
{
  struct rep_direction d;
  struct rep_view v;
  int res;

  if (rep_heal_needed(h, REP_DATA, &v, &d, &res))
    res = run_data(h, &v, &d, writers);
  rep_view_clear(&v);
  return res;
}

int
rep_heal_data(struct rep_heal *h)
{
  struct rep_heal_lock healers = {.self_heal = true, .inode = h->inode}, writers = {.inode = h->inode};
  int res;

  if (rep_heal_lock_pair(h, &healers, &writers, h->rep->all))
    res = heal_data_locked(h, &writers);
  else
    res = h->rep->up == h->rep->all ? REP_HEAL_BUSY : -ENOTCONN;
  rep_heal_unlock_pair(h, &healers, &writers);
  return res;
}
