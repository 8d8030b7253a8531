/* SPDX-License-Identifier: Apache-2.0
 *
 * The FOP program, version 400 (wire.md 4): one list of fields per kind for
 * the request and one for the reply; two loops, one that writes fields and one
 * that reads them, serve both sides of the wire.
 *
 * A field names its form on the wire and the member of struct gi_fop it is
 * kept in. The tables below are in wire order.
 */
#include "rpc/fop-codec.h"
#include "libglusterish/mem.h"

#include <errno.h>
#include <sys/sysmacros.h>

#define WIRE_NAME_MAX 1024       /* longer basenames are malformed; 256 … 1024 is the brick's ENAMETOOLONG */
#define WIRE_LINK_MAX 65536      /* a link text, a lock domain */
#define WIRE_XATTR_NAME_MAX 8192 /* room for a path in a virtual name; it comes back as the key of a dictionary */
#define WIRE_UID_MAX 4096        /* a client's process-uuid in a lock item */

enum form {
  F_END,
  F_U32, /* 32 bits, signed or not */
  F_U64,
  F_SIZE, /* 32 bits on the wire, uint64_t here */
  F_GFID,
  F_NAME,  /* basename; empty = NULL */
  F_TEXT,  /* string; empty stays empty, NULL is sent as empty */
  F_XNAME, /* 32-bit presence flag, then the string; absent = NULL */
  F_ENTRY, /* 64-bit presence flag, then the string */
  F_RDEV,  /* Linux dev_t on the wire, iatt form here */
  F_FD,    /* handles are kept beside the fop */
  F_FD2,
  F_DICT,
  F_IATT,
  F_FLOCK,
  F_LEASE,
  F_STATFS,
  F_STRONG, /* RCHECKSUM's digest */
  F_DIRENTS,
  F_DIRENTSP,
  F_LOCKS,    /* rsp.locks */
  F_SETLOCKS, /* args.locks */
  F_NOTHING,  /* an opaque that is always empty */
};

struct field {
  uint8_t form;
  uint16_t offset;
};

/* clang-format off */
#define AT(form_, member) {form_, offsetof(struct gi_fop, member)}
#define BARE(form_) {form_, 0}
#define END {F_END, 0}
/* clang-format on */

#define GFID AT(F_GFID, loc.gfid)
#define PARENT AT(F_GFID, loc.pargfid)
#define NAME AT(F_NAME, loc.name)
#define XDATA AT(F_DICT, xdata)
#define FLAGS AT(F_U32, args.flags)
#define OFFSET AT(F_U64, args.offset)
#define SIZE32 AT(F_SIZE, args.size)
#define SIZE64 AT(F_U64, args.size)
#define MODE AT(F_U32, args.mode)
#define UMASK AT(F_U32, args.umask)
#define DICT AT(F_DICT, args.dict)
#define CMD_TYPE AT(F_U32, args.cmd), AT(F_U32, args.type)
#define FLOCK AT(F_FLOCK, args.flock)
#define DOMAIN AT(F_TEXT, args.domain)
#define DATASYNC AT(F_U32, args.datasync)
#define SETATTR AT(F_IATT, args.iatt), AT(F_U32, args.valid)

typedef const struct field fields[];

static fields req_none = {END};
static fields req_gfid = {GFID, XDATA, END};
static fields req_handle = {GFID, BARE(F_FD), XDATA, END};
static fields req_readlink = {GFID, SIZE32, XDATA, END};
static fields req_mknod = {PARENT, AT(F_RDEV, args.rdev), MODE, UMASK, NAME, XDATA, END};
static fields req_mkdir = {PARENT, MODE, UMASK, NAME, XDATA, END};
static fields req_unlink = {PARENT, NAME, FLAGS, XDATA, END};
static fields req_rmdir = {PARENT, FLAGS, NAME, XDATA, END};
static fields req_symlink = {PARENT, NAME, UMASK, AT(F_TEXT, args.link), XDATA, END};
static fields req_rename = {PARENT, AT(F_GFID, loc2.pargfid), NAME, AT(F_NAME, loc2.name), XDATA, END};
static fields req_link = {GFID, AT(F_GFID, loc2.pargfid), AT(F_NAME, loc2.name), XDATA, END};
static fields req_truncate = {GFID, OFFSET, XDATA, END};
static fields req_open = {GFID, FLAGS, XDATA, END};
static fields req_read_write = {GFID, BARE(F_FD), OFFSET, SIZE32, FLAGS, XDATA, END};
static fields req_fsync = {GFID, BARE(F_FD), DATASYNC, XDATA, END};
static fields req_setxattr = {GFID, FLAGS, DICT, XDATA, END};
static fields req_getxattr = {GFID, AT(F_XNAME, args.name), XDATA, END};
static fields req_removexattr = {GFID, AT(F_TEXT, args.name), XDATA, END};
static fields req_access = {GFID, MODE, XDATA, END};
static fields req_create = {PARENT, FLAGS, MODE, UMASK, NAME, XDATA, END};
static fields req_ftruncate = {GFID, BARE(F_FD), OFFSET, XDATA, END};
static fields req_lk = {GFID, BARE(F_FD), CMD_TYPE, FLOCK, XDATA, END};
static fields req_lookup = {GFID, PARENT, FLAGS, NAME, XDATA, END};
static fields req_readdir = {GFID, BARE(F_FD), OFFSET, SIZE32, XDATA, END};
static fields req_inodelk = {GFID, CMD_TYPE, FLOCK, DOMAIN, XDATA, END};
static fields req_finodelk = {GFID, BARE(F_FD), CMD_TYPE, FLOCK, DOMAIN, XDATA, END};
static fields req_entrylk = {GFID, CMD_TYPE, AT(F_ENTRY, args.name), DOMAIN, XDATA, END};
static fields req_fentrylk = {GFID, BARE(F_FD), CMD_TYPE, AT(F_ENTRY, args.name), DOMAIN, XDATA, END};
static fields req_fsetxattr = {GFID, BARE(F_FD), FLAGS, DICT, XDATA, END};
static fields req_fgetxattr = {GFID, BARE(F_FD), AT(F_XNAME, args.name), XDATA, END};
static fields req_fremovexattr = {GFID, BARE(F_FD), AT(F_TEXT, args.name), XDATA, END};
static fields req_rchecksum = {GFID, BARE(F_FD), OFFSET, SIZE32, FLAGS, XDATA, END};
static fields req_setattr = {GFID, SETATTR, XDATA, END};
static fields req_fsetattr = {GFID, BARE(F_FD), SETATTR, XDATA, END};
static fields req_fallocate = {GFID, BARE(F_FD), FLAGS, OFFSET, SIZE64, XDATA, END};
static fields req_range = {GFID, BARE(F_FD), OFFSET, SIZE64, XDATA, END};
static fields req_ipc = {AT(F_U32, args.what), XDATA, END};
static fields req_seek = {GFID, BARE(F_FD), OFFSET, AT(F_U32, args.what), XDATA, END};
static fields req_lease = {GFID, AT(F_LEASE, args.lease), XDATA, END};
static fields req_setactivelk = {GFID, BARE(F_SETLOCKS), XDATA, END};
static fields req_icreate = {GFID, MODE, XDATA, END};
static fields req_namelink = {PARENT, NAME, XDATA, END};
static fields req_put = {PARENT, NAME, MODE, UMASK, FLAGS, OFFSET, SIZE32, DICT, XDATA, END};
static fields req_copy = {
    GFID, AT(F_GFID, loc2.gfid), BARE(F_FD), BARE(F_FD2), OFFSET, AT(F_U64, args.offset2), SIZE32, FLAGS, XDATA, END};

#define RESULT AT(F_U32, rsp.ret), AT(F_U32, rsp.err)
#define BEGIN RESULT, AT(F_DICT, rsp.xdata)
#define STAT AT(F_IATT, rsp.stat)
#define PRE_POST AT(F_IATT, rsp.pre), AT(F_IATT, rsp.post)

static fields rsp_null = {RESULT, BARE(F_NOTHING), END};
static fields rsp_plain = {BEGIN, END};
static fields rsp_stat = {BEGIN, STAT, END};
static fields rsp_readlink = {BEGIN, STAT, AT(F_TEXT, rsp.link), END};
static fields rsp_entry = {BEGIN, STAT, PRE_POST, END};
static fields rsp_pre_post = {BEGIN, PRE_POST, END};
static fields rsp_rename = {BEGIN, STAT, PRE_POST, AT(F_IATT, rsp.pre2), AT(F_IATT, rsp.post2), END};
static fields rsp_open = {BEGIN, BARE(F_FD), END};
static fields rsp_read = {RESULT, STAT, AT(F_U32, rsp.ret), AT(F_DICT, rsp.xdata), END};
static fields rsp_statfs = {BEGIN, AT(F_STATFS, rsp.statfs), END};
static fields rsp_dict = {BEGIN, AT(F_DICT, rsp.dict), PRE_POST, END};
static fields rsp_create = {BEGIN, STAT, BARE(F_FD), PRE_POST, END};
static fields rsp_lk = {BEGIN, AT(F_FLOCK, rsp.flock), END};
static fields rsp_lookup = {BEGIN, STAT, AT(F_IATT, rsp.post), END};
static fields rsp_readdir = {BEGIN, AT(F_DIRENTS, rsp.entries), END};
static fields rsp_readdirp = {BEGIN, AT(F_DIRENTSP, rsp.entries), END};
static fields rsp_rchecksum = {BEGIN, AT(F_U32, rsp.flags), AT(F_U32, rsp.weak_checksum), BARE(F_STRONG), END};
static fields rsp_seek = {BEGIN, AT(F_U64, rsp.offset), END};
static fields rsp_lease = {BEGIN, AT(F_LEASE, rsp.lease), END};
static fields rsp_locks = {BEGIN, BARE(F_LOCKS), END};

static const struct kind {
  const struct field *request, *reply; /* NULL: no such procedure */
} kinds[GI_FOP_MAX] = {
    [GI_FOP_NULL] = {req_none, rsp_null},
    [GI_FOP_STAT] = {req_gfid, rsp_stat},
    [GI_FOP_READLINK] = {req_readlink, rsp_readlink},
    [GI_FOP_MKNOD] = {req_mknod, rsp_entry},
    [GI_FOP_MKDIR] = {req_mkdir, rsp_entry},
    [GI_FOP_UNLINK] = {req_unlink, rsp_pre_post},
    [GI_FOP_RMDIR] = {req_rmdir, rsp_pre_post},
    [GI_FOP_SYMLINK] = {req_symlink, rsp_entry},
    [GI_FOP_RENAME] = {req_rename, rsp_rename},
    [GI_FOP_LINK] = {req_link, rsp_entry},
    [GI_FOP_TRUNCATE] = {req_truncate, rsp_pre_post},
    [GI_FOP_OPEN] = {req_open, rsp_open},
    [GI_FOP_READ] = {req_read_write, rsp_read},
    [GI_FOP_WRITE] = {req_read_write, rsp_pre_post},
    [GI_FOP_STATFS] = {req_gfid, rsp_statfs},
    [GI_FOP_FLUSH] = {req_handle, rsp_plain},
    [GI_FOP_FSYNC] = {req_fsync, rsp_pre_post},
    [GI_FOP_SETXATTR] = {req_setxattr, rsp_plain},
    [GI_FOP_GETXATTR] = {req_getxattr, rsp_dict},
    [GI_FOP_REMOVEXATTR] = {req_removexattr, rsp_plain},
    [GI_FOP_OPENDIR] = {req_gfid, rsp_open},
    [GI_FOP_FSYNCDIR] = {req_fsync, rsp_plain},
    [GI_FOP_ACCESS] = {req_access, rsp_plain},
    [GI_FOP_CREATE] = {req_create, rsp_create},
    [GI_FOP_FTRUNCATE] = {req_ftruncate, rsp_pre_post},
    [GI_FOP_FSTAT] = {req_handle, rsp_stat},
    [GI_FOP_LK] = {req_lk, rsp_lk},
    [GI_FOP_LOOKUP] = {req_lookup, rsp_lookup},
    [GI_FOP_READDIR] = {req_readdir, rsp_readdir},
    [GI_FOP_INODELK] = {req_inodelk, rsp_plain},
    [GI_FOP_FINODELK] = {req_finodelk, rsp_plain},
    [GI_FOP_ENTRYLK] = {req_entrylk, rsp_plain},
    [GI_FOP_FENTRYLK] = {req_fentrylk, rsp_plain},
    [GI_FOP_XATTROP] = {req_setxattr, rsp_dict},
    [GI_FOP_FXATTROP] = {req_fsetxattr, rsp_dict},
    [GI_FOP_FGETXATTR] = {req_fgetxattr, rsp_dict},
    [GI_FOP_FSETXATTR] = {req_fsetxattr, rsp_plain},
    [GI_FOP_RCHECKSUM] = {req_rchecksum, rsp_rchecksum},
    [GI_FOP_SETATTR] = {req_setattr, rsp_pre_post},
    [GI_FOP_FSETATTR] = {req_fsetattr, rsp_pre_post},
    [GI_FOP_READDIRP] = {req_readdir, rsp_readdirp},
    [GI_FOP_RELEASE] = {req_handle, rsp_plain},
    [GI_FOP_RELEASEDIR] = {req_handle, rsp_plain},
    [GI_FOP_FREMOVEXATTR] = {req_fremovexattr, rsp_plain},
    [GI_FOP_FALLOCATE] = {req_fallocate, rsp_pre_post},
    [GI_FOP_DISCARD] = {req_range, rsp_pre_post},
    [GI_FOP_ZEROFILL] = {req_range, rsp_pre_post},
    [GI_FOP_IPC] = {req_ipc, rsp_plain},
    [GI_FOP_SEEK] = {req_seek, rsp_seek},
    [GI_FOP_LEASE] = {req_lease, rsp_lease},
    [GI_FOP_GETACTIVELK] = {req_gfid, rsp_locks},
    [GI_FOP_SETACTIVELK] = {req_setactivelk, rsp_plain},
    [GI_FOP_ICREATE] = {req_icreate, rsp_stat},
    [GI_FOP_NAMELINK] = {req_namelink, rsp_pre_post},
    [GI_FOP_PUT] = {req_put, rsp_entry},
    [GI_FOP_COPY_FILE_RANGE] = {req_copy, rsp_entry},
};

/* ---- writing ---- */

static void
put_flock(struct gi_xdr_out *out, const struct gi_flock *l)
{
  gi_xdr_put_u32(out, l->type);
  gi_xdr_put_u32(out, l->whence);
  gi_xdr_put_u64(out, l->start);
  gi_xdr_put_u64(out, l->len);
  gi_xdr_put_u32(out, l->pid);
  gi_xdr_put_opaque(out, l->owner.data, l->owner.len);
}

static void
put_lease(struct gi_xdr_out *out, const struct gi_lease *l)
{
  gi_xdr_put_u32(out, l->cmd);
  gi_xdr_put_u32(out, l->type);
  gi_xdr_put_bytes(out, l->id, sizeof(l->id));
  gi_xdr_put_u32(out, l->flags);
}

static void
put_statfs(struct gi_xdr_out *out, const struct gi_statfs *s)
{
  const uint64_t v[] = {s->bsize, s->frsize, s->blocks, s->bfree, s->bavail, s->files,
                        s->ffree, s->favail, s->fsid,   s->flag,  s->namemax};
  for (unsigned i = 0; i < GI_ARRAY_LEN(v); i++)
    gi_xdr_put_u64(out, v[i]);
}

static void
put_dirents(struct gi_xdr_out *out, const struct gi_dirents *d, bool plus)
{
  for (uint32_t i = 0; i < d->count; i++) {
    const struct gi_dirent *e = &d->entry[i];
    gi_xdr_put_u32(out, 1);
    gi_xdr_put_u64(out, e->ino);
    gi_xdr_put_u64(out, e->off);
    gi_xdr_put_u32(out, e->name_len);
    gi_xdr_put_u32(out, e->type);
    gi_xdr_put_opaque(out, e->name, e->name_len);
    if (plus) {
      gi_xdr_put_iatt(out, &e->stat);
      gi_xdr_put_dict(out, e->xdata);
    }
  }
  gi_xdr_put_u32(out, 0);
}

static void
put_locks(struct gi_xdr_out *out, const struct gi_lock_item *item, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) {
    gi_xdr_put_u32(out, 1);
    put_flock(out, &item[i].flock);
    gi_xdr_put_string(out, item[i].client_uid);
    gi_xdr_put_u32(out, item[i].flags);
  }
  gi_xdr_put_u32(out, 0);
}

static void
put_size(struct gi_xdr_out *out, uint64_t v)
{
  GI_ASSERT(v <= UINT32_MAX);
  gi_xdr_put_u32(out, (uint32_t)v);
}

static void
put_field(struct gi_xdr_out *out, const struct field *f, const struct gi_fop *fop, const struct gi_wire_fds *fds)
{
  const void *p = (const char *)fop + f->offset;
  switch ((enum form)f->form) {
  case F_U32:
    gi_xdr_put_u32(out, *(const uint32_t *)p);
    break;
  case F_U64:
    gi_xdr_put_u64(out, *(const uint64_t *)p);
    break;
  case F_SIZE:
    put_size(out, *(const uint64_t *)p);
    break;
  case F_GFID:
    gi_xdr_put_gfid(out, p);
    break;
  case F_XNAME:
    gi_xdr_put_u32(out, *(const char *const *)p != NULL);
    gi_xdr_put_string(out, *(const char *const *)p);
    break;
  case F_ENTRY:
    gi_xdr_put_u64(out, *(const char *const *)p != NULL);
    gi_xdr_put_string(out, *(const char *const *)p);
    break;
  case F_NAME:
  case F_TEXT:
    gi_xdr_put_string(out, *(const char *const *)p);
    break;
  case F_RDEV: {
    uint64_t rdev = *(const uint64_t *)p;
    gi_xdr_put_u64(out, makedev((unsigned)(rdev >> 32), (unsigned)rdev));
    break;
  }
  case F_FD:
    gi_xdr_put_u64(out, (uint64_t)fds->fd);
    break;
  case F_FD2:
    gi_xdr_put_u64(out, (uint64_t)fds->fd2);
    break;
  case F_DICT:
    gi_xdr_put_dict(out, *(struct gi_dict *const *)p);
    break;
  case F_IATT:
    gi_xdr_put_iatt(out, p);
    break;
  case F_FLOCK:
    put_flock(out, p);
    break;
  case F_LEASE:
    put_lease(out, p);
    break;
  case F_STATFS:
    put_statfs(out, p);
    break;
  case F_STRONG:
    gi_xdr_put_opaque(out, fop->rsp.strong_checksum, fop->rsp.strong_len);
    break;
  case F_DIRENTS:
  case F_DIRENTSP:
    put_dirents(out, p, f->form == F_DIRENTSP);
    break;
  case F_LOCKS:
    put_locks(out, fop->rsp.locks, fop->rsp.nlocks);
    break;
  case F_SETLOCKS:
    put_locks(out, fop->args.locks, fop->args.nlocks);
    break;
  case F_NOTHING:
    gi_xdr_put_u32(out, 0);
    break;
  case F_END:
    break;
  }
}

/* ---- reading ---- */

static void
refuse(struct gi_xdr_in *in)
{
  in->failed = true;
  in->p = in->end;
}

/* A string into the arena. A NUL inside would make it mean something else to C than on the wire. */
static const char *
get_text(struct gi_xdr_in *in, struct gi_fop *fop, uint32_t max, uint32_t *len)
{
  const char *p = (const char *)gi_xdr_get_opaque(in, max, len);
  if (p == NULL)
    return NULL;
  if (memchr(p, 0, *len) != NULL) {
    refuse(in);
    return NULL;
  }
  return gi_fop_strdup(fop, p, *len);
}

/* A string that counts only if the flag before it is set. */
static const char *
get_optional(struct gi_xdr_in *in, struct gi_fop *fop, uint64_t present, uint32_t max)
{
  uint32_t len;
  const char *s = get_text(in, fop, max, &len);
  return present && len > 0 ? s : NULL;
}

static void
get_flock(struct gi_xdr_in *in, struct gi_flock *l)
{
  l->type = gi_xdr_get_u32(in);
  l->whence = gi_xdr_get_u32(in);
  l->start = gi_xdr_get_u64(in);
  l->len = gi_xdr_get_u64(in);
  l->pid = gi_xdr_get_u32(in);
  const uint8_t *owner = gi_xdr_get_opaque(in, GI_OWNER_MAX, &l->owner.len);
  if (owner)
    memcpy(l->owner.data, owner, l->owner.len);
}

static void
get_lease(struct gi_xdr_in *in, struct gi_lease *l)
{
  l->cmd = gi_xdr_get_u32(in);
  l->type = gi_xdr_get_u32(in);
  const uint8_t *id = gi_xdr_get_bytes(in, sizeof(l->id));
  if (id)
    memcpy(l->id, id, sizeof(l->id));
  l->flags = gi_xdr_get_u32(in);
}

static void
get_statfs(struct gi_xdr_in *in, struct gi_statfs *s)
{
  uint64_t *const v[] = {&s->bsize, &s->frsize, &s->blocks, &s->bfree, &s->bavail, &s->files,
                         &s->ffree, &s->favail, &s->fsid,   &s->flag,  &s->namemax};
  for (unsigned i = 0; i < GI_ARRAY_LEN(v); i++)
    *v[i] = gi_xdr_get_u64(in);
}

/* The word before each member of a list: 1 = one more, 0 = the end. */
static bool
more(struct gi_xdr_in *in)
{
  uint32_t v = gi_xdr_get_u32(in);
  if (v > 1)
    refuse(in);
  return v == 1;
}

static void
get_dirents(struct gi_xdr_in *in, struct gi_fop *fop, struct gi_dirents *d, bool plus)
{
  while (more(in)) {
    struct gi_dirent e = {0};
    e.ino = gi_xdr_get_u64(in);
    e.off = gi_xdr_get_u64(in);
    gi_xdr_get_u32(in); /* d_len repeats the string's length */
    e.type = gi_xdr_get_u32(in);
    e.name = (const char *)gi_xdr_get_opaque(in, WIRE_NAME_MAX, &e.name_len);
    if (e.name && memchr(e.name, 0, e.name_len) != NULL)
      refuse(in);
    if (plus) {
      gi_xdr_get_iatt(in, &e.stat);
      gi_xdr_get_dict(in, &e.xdata);
    }
    if (in->failed)
      return; /* the dict is NULL then */
    gi_dirents_add(d, &e, fop);
  }
}

static void
get_locks(struct gi_xdr_in *in, struct gi_fop *fop, struct gi_lock_item **items, uint32_t *n)
{
  uint32_t capacity = 0, len;
  while (more(in)) {
    if (*n == capacity) {
      /* The arena keeps the old ones until the fop goes; doubling bounds that by the final size. */
      struct gi_lock_item *old = *items;
      capacity = capacity ? capacity * 2 : 8;
      *items = gi_fop_alloc(fop, capacity * sizeof(**items));
      if (*n > 0)
        memcpy(*items, old, *n * sizeof(*old));
    }
    struct gi_lock_item *item = &(*items)[*n];
    memset(item, 0, sizeof(*item));
    get_flock(in, &item->flock);
    item->client_uid = get_text(in, fop, WIRE_UID_MAX, &len);
    item->flags = gi_xdr_get_u32(in);
    if (in->failed)
      return;
    ++*n;
  }
}

static void
get_field(struct gi_xdr_in *in, const struct field *f, struct gi_fop *fop, struct gi_wire_fds *fds)
{
  void *p = (char *)fop + f->offset;
  const char **text = p;
  uint32_t len;
  switch ((enum form)f->form) {
  case F_U32:
    *(uint32_t *)p = gi_xdr_get_u32(in);
    break;
  case F_U64:
    *(uint64_t *)p = gi_xdr_get_u64(in);
    break;
  case F_SIZE:
    *(uint64_t *)p = gi_xdr_get_u32(in);
    break;
  case F_GFID:
    gi_xdr_get_gfid(in, p);
    break;
  case F_NAME:
    *text = get_text(in, fop, WIRE_NAME_MAX, &len);
    if (len == 0)
      *text = NULL;
    break;
  case F_TEXT:
    *text = get_text(in, fop, WIRE_LINK_MAX, &len);
    break;
  case F_XNAME:
    *text = get_optional(in, fop, gi_xdr_get_u32(in), WIRE_XATTR_NAME_MAX);
    break;
  case F_ENTRY:
    *text = get_optional(in, fop, gi_xdr_get_u64(in), WIRE_LINK_MAX);
    break;
  case F_RDEV: {
    uint64_t dev = gi_xdr_get_u64(in);
    *(uint64_t *)p = (uint64_t)major(dev) << 32 | minor(dev);
    break;
  }
  case F_FD:
    fds->fd = (int64_t)gi_xdr_get_u64(in);
    break;
  case F_FD2:
    fds->fd2 = (int64_t)gi_xdr_get_u64(in);
    break;
  case F_DICT:
    gi_xdr_get_dict(in, p);
    break;
  case F_IATT:
    gi_xdr_get_iatt(in, p);
    break;
  case F_FLOCK:
    get_flock(in, p);
    break;
  case F_LEASE:
    get_lease(in, p);
    break;
  case F_STATFS:
    get_statfs(in, p);
    break;
  case F_STRONG: {
    const uint8_t *digest = gi_xdr_get_opaque(in, sizeof(fop->rsp.strong_checksum), &fop->rsp.strong_len);
    if (digest)
      memcpy(fop->rsp.strong_checksum, digest, fop->rsp.strong_len);
    break;
  }
  case F_DIRENTS:
  case F_DIRENTSP:
    get_dirents(in, fop, p, f->form == F_DIRENTSP);
    break;
  case F_LOCKS:
    get_locks(in, fop, &fop->rsp.locks, &fop->rsp.nlocks);
    break;
  case F_SETLOCKS:
    get_locks(in, fop, &fop->args.locks, &fop->args.nlocks);
    break;
  case F_NOTHING:
    gi_xdr_get_opaque(in, UINT32_MAX, &len);
    break;
  case F_END:
    break;
  }
}

/* ---- the four directions ---- */

void
gi_fop_encode_request(struct gi_xdr_out *out, const struct gi_fop *fop, const struct gi_wire_fds *fds)
{
  static const struct gi_wire_fds none;
  const struct field *f = kinds[fop->kind].request;
  GI_ASSERT(f != NULL);
  for (; f->form != F_END; f++)
    put_field(out, f, fop, fds ? fds : &none);
}

bool
gi_fop_decode_request(struct gi_xdr_in *in, struct gi_fop *fop, struct gi_wire_fds *fds, size_t *payload_offset)
{
  const uint8_t *begin = in->p;
  const struct field *f = kinds[fop->kind].request;
  memset(fds, 0, sizeof(*fds));
  if (f == NULL)
    return false;
  for (; f->form != F_END && !in->failed; f++)
    get_field(in, f, fop, fds);
  *payload_offset = (size_t)(in->p - begin);
  return !in->failed;
}

/* On failure everything but the verdict, dictionaries and a lease is zero on the wire, whatever a translator left behind. */
static bool
survives_failure(const struct field *f)
{
  return f->form == F_LEASE || f->form == F_DICT || f->offset == offsetof(struct gi_fop, rsp.ret) ||
         f->offset == offsetof(struct gi_fop, rsp.err);
}

void
gi_fop_encode_reply(struct gi_xdr_out *out, const struct gi_fop *fop, int64_t wire_fd)
{
  static const struct gi_fop zero;
  const struct field *first = kinds[fop->kind].reply;
  bool failed = fop->rsp.ret < 0;
  struct gi_wire_fds fds = {failed ? 0 : wire_fd, 0};
  GI_ASSERT(first != NULL);
  for (const struct field *f = first; f->form != F_END; f++) {
    /* READ repeats its byte count: 0 when there are none. */
    bool repeated = f > first + 1 && f->offset == offsetof(struct gi_fop, rsp.ret);
    put_field(out, f, failed && (repeated || !survives_failure(f)) ? &zero : fop, &fds);
  }
}

static bool
means_something(enum gi_fop_kind kind)
{
  return kind == GI_FOP_READ || kind == GI_FOP_READDIR || kind == GI_FOP_READDIRP;
}

bool
gi_fop_decode_reply(struct gi_xdr_in *in, struct gi_fop *fop, int64_t *wire_fd, size_t *payload_offset)
{
  const uint8_t *begin = in->p;
  struct gi_wire_fds fds = {0};
  const struct field *first = kinds[fop->kind].reply;
  gi_reply_clear(&fop->rsp);
  int32_t ret = 0;
  for (const struct field *f = first; f && f->form != F_END && !in->failed; f++) {
    get_field(in, f, fop, &fds);
    if (f == first)
      ret = fop->rsp.ret;
  }
  /* READ's second count must not promise other bytes than the first. */
  if (fop->kind == GI_FOP_READ && fop->rsp.ret != (ret < 0 ? 0 : ret))
    in->failed = true;
  fop->rsp.ret = ret;
  if (first == NULL || in->failed) {
    gi_reply_clear(&fop->rsp);
    fop->rsp.ret = -1;
    fop->rsp.err = EINVAL;
    return false;
  }
  if (ret >= 0 && !means_something(fop->kind))
    fop->rsp.err = 0; /* real servers leave odd values there (wire.md 3.7) */
  else if (ret < 0 && fop->rsp.err <= 0)
    fop->rsp.err = EIO; /* a failure has a reason, whatever the peer says */
  *wire_fd = fds.fd;
  *payload_offset = (size_t)(in->p - begin);
  return true;
}
