/* SPDX-License-Identifier: Apache-2.0
 *
 * What the hostile bricks say instead of the truth: replies that are well
 * formed and mean something else, and callbacks.
 */
#include "rpc/callback.h"
#include "rpc/message.h"
#include "tests/fuzz/hostile-private.h"

#include <dirent.h>
#include <errno.h>

static const char *const keys[] = {
    "trusted.afr.dirty",
    "trusted.afr.v-client-0",
    "trusted.afr.v-client-1",
    "trusted.afr.v-client-2",
    "trusted.afr.",
    "trusted.gfid",
    "trusted.glusterfs.mdata",
    "trusted.glusterfs.volume-id",
    "trusted.glusterfs.pathinfo",
    "trusted.glusterfs.dht",
    "glusterfs.inodelk-count",
    "glusterfs.entrylk-count",
    "glusterfs.inodelk-dom-count",
    "glusterfs.open-fd-count",
    "glusterfs.open-active-fd-count",
    "glusterfs.parent-entrylk",
    "glusterfs.write-is-append",
    "glusterfs.xattrop_index_gfid",
    "glusterfs.xattrop_index_count",
    "glusterfs.content",
    "glusterfs.gfidtopath",
    "glusterfs.heal-info",
    "glusterfs.lk.lkmode",
    "glusterish.regions",
    "glusterish.preamble",
    "glusterish.near",
    "glusterish.near.pieces",
    "glusterish.twin",
    "glusterish.same-file",
    "glusterish.lock-again",
    "glusterish.foreground",
    "glusterish.durable",
    "glusterish.expected-gfid",
    "glusterish-version",
    "glusterish-capabilities",
    "volume-id",
    "ERROR",
    "gfid-req",
    "link-count",
    "security.capability",
    "security.selinux",
    "system.posix_acl_access",
    "system.posix_acl_default",
    "user.a",
    "user.",
    "k",
};

static void
put_value(struct fuzz_bytes *b, struct gi_dict *d, const char *key, uint32_t key_len)
{
  uint8_t bytes[256] = {0};
  enum gi_value_type type = 1 + fuzz_next(b) % 9;
  uint64_t n = fuzz_number(b);
  uint32_t len = type == GI_VALUE_GFUUID ? 16 : type == GI_VALUE_MDATA ? GI_MDATA_BYTES : (uint32_t)n % sizeof(bytes);
  struct gi_iatt st = {.size = n};
  uint8_t how = fuzz_next(b);
  if (how % 4 == 0 && type != GI_VALUE_GFUUID && type != GI_VALUE_MDATA)
    len = 12; /* as counters are */
  for (uint32_t i = 0; i < len && i < 64; i++)
    bytes[i] = how % 4 == 1 ? (uint8_t)('0' + fuzz_next(b) % 64) : fuzz_next(b);
  if (type == GI_VALUE_STR)
    bytes[len ? len - 1 : 0] = 0;
  if (type == GI_VALUE_INT || type == GI_VALUE_UINT || type == GI_VALUE_DOUBLE)
    gi_dict_set_raw(d, key, key_len, type, &n, sizeof(n));
  else
    gi_dict_set_raw(d, key, key_len, type, type == GI_VALUE_IATT ? (void *)&st : bytes, len);
}

void
hostile_spoil_dict(struct fuzz_bytes *b, struct gi_dict **d)
{
  if (!*d)
    *d = gi_dict_new();
  for (unsigned n = fuzz_next(b) % 6; n > 0; n--) {
    const char *key = keys[fuzz_next(b) % GI_ARRAY_LEN(keys)];
    put_value(b, *d, key, (uint32_t)strlen(key));
  }
}

static void
spoil_attributes(struct fuzz_bytes *b, struct gi_iatt *st)
{
  static const uint32_t modes[] = {0,         S_IFREG | 0644, S_IFREG | 07777, S_IFDIR | 0755, S_IFLNK | 0777, S_IFBLK | 0600,
                                   0xffffffff};
  uint8_t how = fuzz_next(b);
  if (how & 1)
    memset(&st->gfid, fuzz_next(b) % 0x30, sizeof(st->gfid));
  if (how & 2)
    st->mode = modes[fuzz_next(b) % GI_ARRAY_LEN(modes)];
  if (how & 4)
    st->size = fuzz_number(b);
  if (how & 8)
    st->nlink = (uint32_t)fuzz_number(b);
  if (how & 16)
    st->mtime = (struct gi_time){.sec = (int64_t)fuzz_number(b), .nsec = (uint32_t)fuzz_number(b)};
  if (how & 32)
    st->ctime = (struct gi_time){.sec = (int64_t)fuzz_number(b), .nsec = (uint32_t)fuzz_number(b)};
  if (how & 64)
    st->ino = st->blocks = st->blksize = st->rdev = (uint32_t)fuzz_number(b);
  if (how & 128)
    *st = (struct gi_iatt){0};
}

static void
spoil_entries(struct fuzz_bytes *b, struct gi_fop *fop)
{
  static char longest[1100];
  static const char *const names[] = {"", ".", "..", "a/b", "/", "f0", "f1", ".glusterfs", "x\ny", longest};
  memset(longest, 'n', fuzz_next(b) % 2 ? 255 : 1024);
  longest[fuzz_next(b) % 2 ? 255 : 1024] = 0;
  for (unsigned n = fuzz_next(b) % 40; n > 0; n--) {
    struct gi_dirent e = {.ino = fuzz_number(b), .off = fuzz_number(b), .type = fuzz_next(b) % 16};
    e.name = names[fuzz_next(b) % GI_ARRAY_LEN(names)];
    e.name_len = (uint32_t)strlen(e.name);
    spoil_attributes(b, &e.stat);
    if (fuzz_next(b) % 8 == 0)
      hostile_spoil_dict(b, &e.xdata);
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  if (fop->rsp.entries.count && fuzz_next(b) % 4 == 0)
    fop->rsp.entries.entry[fuzz_next(b) % fop->rsp.entries.count].off = fuzz_number(b);
  fop->rsp.ret = fuzz_next(b) % 2 ? (int32_t)fop->rsp.entries.count : (int32_t)fuzz_number(b);
  fop->rsp.err = fuzz_next(b) % 2 ? 0 : ENOENT;
}

static void
spoil_payload(struct fuzz_bytes *b, struct gi_fop *fop)
{
  uint64_t len = fuzz_number(b);
  gi_payload_trim(&fop->rsp.payload, len < fop->rsp.payload.len ? len : fop->rsp.payload.len / 2);
  if (fuzz_next(b) % 2) {
    struct gi_buf *buf = gi_buf_new(20000);
    memset(buf->base, 'x', 20000);
    gi_payload_add(&fop->rsp.payload, buf, buf->base, 20000);
    gi_buf_unref(&buf);
  }
  fop->rsp.ret = fuzz_next(b) % 2 ? (int32_t)fop->rsp.payload.len : (int32_t)fuzz_number(b);
}

static void
spoil_link(struct fuzz_bytes *b, struct gi_fop *fop)
{
  static char text[9000];
  memset(text, 't', sizeof(text));
  text[fuzz_next(b) * 35u] = 0;
  fop->rsp.link = text;
  fop->rsp.ret = fuzz_next(b) % 2 ? (int32_t)strlen(text) : (int32_t)fuzz_number(b);
}

static void
spoil_rest(struct fuzz_bytes *b, struct gi_fop *fop, int64_t *handle)
{
  struct gi_reply *rsp = &fop->rsp;
  *handle = (int64_t)fuzz_number(b);
  rsp->offset = fuzz_number(b);
  rsp->flock = (struct gi_flock){.type = fuzz_next(b) % 8, .start = fuzz_number(b), .len = fuzz_number(b), .pid = fuzz_next(b)};
  rsp->statfs = (struct gi_statfs){
      .bsize = fuzz_number(b), .frsize = fuzz_number(b), .blocks = fuzz_number(b), .namemax = fuzz_number(b)};
  rsp->ret = (int32_t)fuzz_number(b);
}

void
hostile_lie(struct fuzz_bytes *b, struct gi_fop *fop, int64_t *handle)
{
  static const int errors[] = {ENOENT,  ESTALE, EIO,    ENOTCONN, ENOSPC, EAGAIN, EINVAL,   EEXIST,
                               ENODATA, EBADF,  EBADFD, 0,        -1,     4711,   INT32_MIN};
  struct gi_reply *rsp = &fop->rsp;
  switch (fuzz_next(b) % 8) {
  case 0:
    gi_reply_clear(rsp);
    rsp->ret = -1;
    rsp->err = errors[fuzz_next(b) % GI_ARRAY_LEN(errors)];
    break;
  case 1:
    spoil_attributes(b, &rsp->stat);
    break;
  case 2:
    spoil_attributes(b, &rsp->pre);
    spoil_attributes(b, &rsp->post);
    spoil_attributes(b, &rsp->pre2);
    spoil_attributes(b, &rsp->post2);
    break;
  case 3:
    hostile_spoil_dict(b, &rsp->xdata);
    break;
  case 4:
    spoil_rest(b, fop, handle);
    break;
  default:
    if (fop->kind == GI_FOP_READ)
      spoil_payload(b, fop);
    else if (fop->kind == GI_FOP_READDIR || fop->kind == GI_FOP_READDIRP)
      spoil_entries(b, fop);
    else if (fop->kind == GI_FOP_READLINK)
      spoil_link(b, fop);
    else if (gi_fop_table[fop->kind].classes & GI_CLASS_LOCK)
      rsp->err = errors[fuzz_next(b) % GI_ARRAY_LEN(errors)], rsp->ret = -1;
    else
      hostile_spoil_dict(b, fuzz_next(b) % 2 ? &rsp->dict : &rsp->xdata);
  }
}

/* ---- callbacks ---- */

/* What only bricks of ours say. */
static void
lie_of_our_own(struct fuzz_bytes *b, struct gi_dict **xdata)
{
  static const char *const told[] = {GI_TAKEN_KEY, GI_NAME_KEY, GI_NAME2_KEY, GI_PROMISE_KEY, GI_STRICT_KEY};
  static const char *const values[] = {"1", "60", "-1", "18446744073709551615", "f0", "", "a/b"};
  if (!*xdata)
    *xdata = gi_dict_new();
  gi_dict_set_str(*xdata, told[fuzz_next(b) % GI_ARRAY_LEN(told)], values[fuzz_next(b) % GI_ARRAY_LEN(values)]);
}

void
hostile_callback(struct fuzz_bytes *b, const struct truth *t, uint32_t proc, struct gi_xdr_out *out)
{
  struct gi_dict *xdata = NULL;
  if (fuzz_next(b) % 2)
    hostile_spoil_dict(b, &xdata);
  if (proc == GI_CBK_CACHE_INVALIDATION) {
    while (fuzz_next(b) % 4 == 1)
      lie_of_our_own(b, &xdata);
    struct gi_invalidation inv = {
        .gfid = truth_any(t, b), .flags = (uint32_t)fuzz_number(b), .expire_s = fuzz_next(b), .xdata = xdata};
    spoil_attributes(b, &inv.stat);
    spoil_attributes(b, &inv.parent);
    spoil_attributes(b, &inv.old_parent);
    if (fuzz_next(b) % 8 == 1)
      inv.gfid = gi_gfid_none;
    gi_callback_put_invalidation(out, &inv);
  } else if (proc == GI_CBK_INODELK_CONTENTION || proc == GI_CBK_ENTRYLK_CONTENTION) {
    struct gi_contention con = {.entry = proc == GI_CBK_ENTRYLK_CONTENTION,
                                .gfid = truth_any(t, b),
                                .domain = fuzz_next(b) % 2 ? "v-replicate-0" : "x",
                                .name = con.entry ? "f0" : NULL,
                                .xdata = xdata};
    con.flock.start = fuzz_number(b);
    con.flock.len = fuzz_number(b);
    gi_callback_put_contention(out, &con);
  }
  gi_dict_unref(&xdata);
}
