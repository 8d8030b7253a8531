/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes and attributes of a file that is moved.
 *
 * Whoever writes it meanwhile writes both copies. A block that was read before
 * and is written after such a write is old in the target: so both are compared
 * until a whole pass finds no difference. From then on only those who write both
 * change anything.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define BLOCK (128u << 10)

/* ---- single operations ---- */

static struct gi_fop *
fd_fop(struct di_reb_file *f, enum gi_fop_kind kind, struct gi_fd *fd, uint64_t offset, uint64_t size)
{
  struct gi_fop *fop = di_helper(f->r->base, kind);

  gi_fop_set_fd(fop, fd);
  fop->args.offset = offset;
  fop->args.size = size;
  return fop;
}

static int
open_one(struct di_reb_file *f, struct gi_inode *inode, unsigned child, int flags, struct gi_fd **fd)
{
  struct gi_fop *fop = di_helper(f->r->base, GI_FOP_OPEN);

  GI_ASSERT(!*fd && f->from != f->to);
  *fd = gi_fd_new(f->r->d->x->graph, inode, flags, GI_PID_REBALANCE);
  gi_fop_set_fd(fop, *fd);
  fop->args.flags = (uint32_t)flags;
  return di_do_drop(f->r->d, fop, child);
}

int
di_reb_open(struct di_reb_file *f)
{
  struct gi_inode *inode = gi_inode_get(f->r->d->x->graph, &f->gfid);
  int err = open_one(f, inode, f->from, O_RDONLY | O_LARGEFILE, &f->in);

  if (!err)
    err = open_one(f, inode, f->to, O_RDWR | O_LARGEFILE, &f->out);
  gi_inode_unref(&inode);
  return err;
}

void
di_reb_close(struct di_reb_file *f)
{
  gi_fd_unref(&f->in);
  gi_fd_unref(&f->out);
}

static int
size_of(struct di_reb_file *f, struct gi_fd *fd, unsigned child, uint64_t *size)
{
  struct gi_fop *fop = fd_fop(f, GI_FOP_FSTAT, fd, 0, 0);
  int err = di_do(f->r->d, fop, child);

  GI_ASSERT(fd && (child == f->from || child == f->to));
  *size = err ? 0 : fop->rsp.stat.size;
  gi_fop_unref(fop);
  return err;
}

int
di_reb_truncate(struct di_reb *r, const struct gi_gfid *gfid, unsigned child, uint64_t size)
{
  struct gi_fop *fop = di_helper(r->base, GI_FOP_TRUNCATE);

  fop->loc.gfid = *gfid;
  fop->args.offset = size;
  return di_do_drop(r->d, fop, child);
}

/* The reply, whose payload is the data; the caller's. Less than asked for, or nothing: the file ends. */
static struct gi_fop *
read_block(struct di_reb_file *f, struct gi_fd *fd, unsigned child, uint64_t offset, uint64_t size, int *err)
{
  struct gi_fop *fop = fd_fop(f, GI_FOP_READ, fd, offset, size);

  *err = di_do(f->r->d, fop, child);
  if (!*err && fop->rsp.payload.len > size)
    *err = EIO; /* more than was asked for */
  return fop;
}

static int
write_block(struct di_reb_file *f, uint64_t offset, const struct gi_payload *data)
{
  struct gi_fop *fop = fd_fop(f, GI_FOP_WRITE, f->out, offset, data->len);

  GI_ASSERT(data->len > 0 && data->len <= BLOCK); /* or it was refused when it was read */
  gi_payload_append(&fop->payload, data);
  return di_do_drop(f->r->d, fop, f->to);
}

/* Where data begins at or after `offset`; the end of the file if none does. */
static uint64_t
next_data(struct di_reb_file *f, uint64_t offset)
{
  struct gi_fop *fop = fd_fop(f, GI_FOP_SEEK, f->in, offset, 0);
  uint64_t at;
  int err;

  fop->args.what = 0;
  err = di_do(f->r->d, fop, f->from);
  at = err == ENXIO ? f->size : err ? offset : fop->rsp.offset;
  gi_fop_unref(fop);
  return at < offset ? offset : at / BLOCK * BLOCK > offset ? at / BLOCK * BLOCK : offset;
}

/* The bytes of `data` in `buf` (BLOCK bytes). */
static bool
is_zero(const struct gi_payload *data, uint8_t *buf)
{
  gi_payload_read(data, 0, buf, data->len);
  return data->len == 0 || (buf[0] == 0 && memcmp(buf, buf + 1, data->len - 1) == 0);
}

/* ---- copying ---- */

int
di_reb_copy(struct di_reb_file *f)
{
  GI_CLEANUP_FREE uint8_t *buf = gi_alloc(BLOCK);
  int err = size_of(f, f->in, f->from, &f->size);
  uint64_t at = err ? 0 : next_data(f, 0);

  while (!err && at < f->size) {
    struct gi_fop *got = read_block(f, f->in, f->from, at, BLOCK, &err);
    uint64_t len = err ? 0 : got->rsp.payload.len;
    bool zero = !err && is_zero(&got->rsp.payload, buf);

    if (!err && len && !zero)
      err = write_block(f, at, &got->rsp.payload);
    if (!err && di_reb_yield(f->r, DI_REB_BLOCK_OPS))
      err = ECANCELED;
    gi_fop_unref(got);
    if (!err && len == 0)
      break; /* it was cut meanwhile: the comparison sees to that */
    f->r->bytes += len;
    at = zero ? next_data(f, at + len) : at + len;
  }
  return err;
}

/* ---- comparing ---- */

static bool
same_payload(const struct gi_payload *a, const struct gi_payload *b, uint8_t *one, uint8_t *two)
{
  if (a->len != b->len)
    return false;
  gi_payload_read(a, 0, one, a->len);
  gi_payload_read(b, 0, two, b->len);
  return memcmp(one, two, a->len) == 0;
}

static int
compare_size(struct di_reb_file *f, bool *differs)
{
  uint64_t there;
  int err = size_of(f, f->in, f->from, &f->size);

  if (!err)
    err = size_of(f, f->out, f->to, &there);
  if (err || there == f->size)
    return err;
  *differs = true;
  return di_reb_truncate(f->r, &f->gfid, f->to, f->size);
}

int
di_reb_compare(struct di_reb_file *f, bool *differs)
{
  GI_CLEANUP_FREE uint8_t *one = gi_alloc(BLOCK), *two = gi_alloc(BLOCK);
  int err;

  *differs = false;
  err = compare_size(f, differs);
  for (uint64_t at = 0; !err && at < f->size;) {
    struct gi_fop *there = read_block(f, f->out, f->to, at, BLOCK, &err), *here = NULL;

    if (!err)
      here = read_block(f, f->in, f->from, at, BLOCK, &err);
    uint64_t len = err ? 0 : here->rsp.payload.len;
    if (!err && len && !same_payload(&here->rsp.payload, &there->rsp.payload, one, two)) {
      *differs = true;
      err = write_block(f, at, &here->rsp.payload);
    }
    if (!err && di_reb_yield(f->r, DI_REB_BLOCK_OPS))
      err = ECANCELED;
    gi_fop_unref(there);
    gi_fop_unref(here);
    if (!err && len == 0) {
      *differs = true; /* it was cut meanwhile */
      break;
    }
    at += len;
  }
  return err;
}

int
di_reb_sync(struct di_reb_file *f, unsigned child)
{
  GI_ASSERT(child == f->from || child == f->to);
  return di_do_drop(f->r->d, fd_fop(f, GI_FOP_FSYNC, child == f->from ? f->in : f->out, 0, 0), child);
}

/* ---- locks of applications ---- */

/* A lock of the whole file, of the rebalance. */
static int
lock_all(struct di_reb_file *f, uint32_t type)
{
  struct gi_fop *fop = fd_fop(f, GI_FOP_LK, f->in, 0, 0);
  uint64_t owner = (uint64_t)f->from + 1;

  fop->caller.owner.len = sizeof(owner);
  memcpy(fop->caller.owner.data, &owner, sizeof(owner));
  fop->args.cmd = GI_LKCMD_SET;
  fop->args.type = fop->args.flock.type = type;
  return di_do_drop(f->r->d, fop, f->from);
}

int
di_reb_freeze(struct di_reb_file *f)
{
  int err = lock_all(f, GI_LK_WRITE);

  GI_ASSERT(!f->frozen && f->in);
  f->frozen = true; /* perhaps on some copies only */
  return err == EAGAIN || err == EACCES ? EBUSY : err;
}

void
di_reb_thaw(struct di_reb_file *f)
{
  if (f->frozen)
    GI_IGNORE(lock_all(f, GI_LK_UNLOCK)); /* it goes with the descriptor, too */
  f->frozen = false;
}

/* ---- attributes ---- */

/* What a brick or a layer keeps for itself. */
static bool
is_private(const struct di *d, const char *name)
{
  static const char *const prefixes[] = {"trusted.glusterfs.", "glusterfs.",  "trusted.afr.",   "trusted.gfid",
                                         "trusted.bit-rot.",   "trusted.ec.", "trusted.pgfid.", "security.selinux"};

  for (size_t i = 0; i < GI_ARRAY_LEN(prefixes); i++)
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
      return true;
  return strncmp(name, d->layout_key, strlen(d->layout_key)) == 0;
}

static bool
goes_along(const struct di *d, const char *name)
{
  return !is_private(d, name) && strncmp(name, "system.posix_acl", 16) != 0;
}

int
di_reb_xattrs(struct di_reb_file *f)
{
  static const char *const named[] = {DI_REB_BLOCK_KEY, DI_SIZE_KEY, NULL};
  const struct di_xattrs set = {.takes = goes_along, .named = f->blocks ? named : NULL, .rebalance = true};

  return di_xattrs_agree(f->r->d, f->r->base, &f->gfid, f->from, f->to, &set);
}
