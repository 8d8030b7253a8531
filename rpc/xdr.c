/* SPDX-License-Identifier: Apache-2.0
 *
 * XDR primitives and the composite types every message shares: gfid, IATT and
 * the typed dictionary (wire.md 3). Readers check bounds once per field and
 * turn sticky on failure; writers grow one flat buffer.
 */
#include "rpc/xdr.h"
#include "libglusterish/bigendian.h"
#include "libglusterish/mem.h"

#define XDR_FIRST 512       /* capacity of a fresh buffer: fits every small call and reply */
#define XDR_PAIR_MIN 16     /* smallest pair on the wire: key length, one word of key, tag, one word of value */
#define XDR_PAIRS_MAX 16384 /* far above what any peer sends; bounds the work that crafted keys can cause */
#define XDR_IATT_BYTES 148

static const uint8_t zeroes[16];

static inline uint32_t
padding(uint32_t len)
{
  return (4 - (len & 3)) & 3;
}

/* ---- reading ---- */

static const uint8_t *
fail(struct gi_xdr_in *in)
{
  in->failed = true;
  in->p = in->end; /* later reads must not find bytes again */
  return NULL;
}

/* `len` bytes or NULL; a failed reader has nothing left, so this one test serves both. */
static inline const uint8_t *
take(struct gi_xdr_in *in, size_t len)
{
  const uint8_t *p = in->p;
  if (in->failed || (size_t)(in->end - p) < len)
    return fail(in);
  in->p = p + len;
  return p;
}

uint32_t
gi_xdr_get_u32(struct gi_xdr_in *in)
{
  const uint8_t *p = take(in, 4);
  return p ? gi_be32_load(p) : 0;
}

uint64_t
gi_xdr_get_u64(struct gi_xdr_in *in)
{
  const uint8_t *p = take(in, 8);
  return p ? gi_be64_load(p) : 0;
}

const uint8_t *
gi_xdr_get_bytes(struct gi_xdr_in *in, size_t len)
{
  return take(in, len);
}

const uint8_t *
gi_xdr_get_opaque(struct gi_xdr_in *in, uint32_t max, uint32_t *len)
{
  uint32_t n = gi_xdr_get_u32(in);
  *len = 0;
  if (in->failed || n > max)
    return fail(in);
  const uint8_t *p = take(in, (size_t)n + padding(n));
  if (p)
    *len = n;
  return p;
}

void
gi_xdr_get_gfid(struct gi_xdr_in *in, struct gi_gfid *gfid)
{
  const uint8_t *p = take(in, sizeof(gfid->b));
  memcpy(gfid->b, p ? p : zeroes, sizeof(gfid->b));
}

void
gi_xdr_get_iatt(struct gi_xdr_in *in, struct gi_iatt *iatt)
{
  const uint8_t *p = take(in, XDR_IATT_BYTES);
  if (p == NULL) {
    memset(iatt, 0, sizeof(*iatt));
    return;
  }
  memcpy(iatt->gfid.b, p, 16);
  iatt->flags = gi_be64_load(p + 16);
  iatt->ino = gi_be64_load(p + 24);
  iatt->dev = gi_be64_load(p + 32);
  iatt->rdev = gi_be64_load(p + 40);
  iatt->size = gi_be64_load(p + 48);
  iatt->blocks = gi_be64_load(p + 56);
  iatt->attributes = gi_be64_load(p + 64);
  iatt->attributes_mask = gi_be64_load(p + 72);
  iatt->atime = (struct gi_time){(int64_t)gi_be64_load(p + 80), gi_be32_load(p + 112)};
  iatt->mtime = (struct gi_time){(int64_t)gi_be64_load(p + 88), gi_be32_load(p + 116)};
  iatt->ctime = (struct gi_time){(int64_t)gi_be64_load(p + 96), gi_be32_load(p + 120)};
  iatt->btime = (struct gi_time){(int64_t)gi_be64_load(p + 104), gi_be32_load(p + 124)};
  iatt->nlink = gi_be32_load(p + 128);
  iatt->uid = gi_be32_load(p + 132);
  iatt->gid = gi_be32_load(p + 136);
  iatt->blksize = gi_be32_load(p + 140);
  iatt->mode = gi_be32_load(p + 144);
}

static void
get_number(struct gi_xdr_in *in, struct gi_dict *dict, const char *key, uint32_t key_len, enum gi_value_type type)
{
  uint64_t v = gi_xdr_get_u64(in); /* INT, UINT and DOUBLE are the same eight bytes, host order in the dict */
  if (!in->failed)
    gi_dict_set_raw(dict, key, key_len, type, &v, sizeof(v));
}

static void
get_value(struct gi_xdr_in *in, struct gi_dict *dict, const char *key, uint32_t key_len, uint32_t tag)
{
  const uint8_t *p = NULL;
  uint32_t len = 0;
  switch (tag) {
  case GI_VALUE_INT:
  case GI_VALUE_UINT:
  case GI_VALUE_DOUBLE:
    get_number(in, dict, key, key_len, tag);
    return;
  case GI_VALUE_STR_OLD:
  case GI_VALUE_STR:
  case GI_VALUE_PTR:
    p = gi_xdr_get_opaque(in, UINT32_MAX, &len);
    break;
  case GI_VALUE_GFUUID:
    p = take(in, len = sizeof(struct gi_gfid));
    break;
  case GI_VALUE_MDATA:
    p = take(in, len = GI_MDATA_BYTES);
    break;
  case GI_VALUE_IATT: {
    struct gi_iatt iatt;
    gi_xdr_get_iatt(in, &iatt);
    if (!in->failed)
      gi_dict_set_raw(dict, key, key_len, tag, &iatt, sizeof(iatt));
    return;
  }
  default:
    fail(in);
    return;
  }
  if (p)
    gi_dict_set_raw(dict, key, key_len, tag, p, len);
}

static void
get_pair(struct gi_xdr_in *in, struct gi_dict *dict)
{
  uint32_t key_len = 0;
  const char *key = (const char *)gi_xdr_get_opaque(in, GI_DICT_KEY_MAX + 1, &key_len);
  uint32_t tag = gi_xdr_get_u32(in);
  if (in->failed)
    return;
  /* The NUL is counted; exactly one, at the end, or keys would mean different things to C and to the wire. */
  if (key_len < 2 || memchr(key, 0, key_len) != key + key_len - 1) {
    fail(in);
    return;
  }
  get_value(in, dict, key, key_len - 1, tag);
}

void
gi_xdr_get_dict(struct gi_xdr_in *in, struct gi_dict **dict)
{
  *dict = NULL;
  uint32_t size = gi_xdr_get_u32(in);
  int32_t count = (int32_t)gi_xdr_get_u32(in);
  uint32_t pairs = gi_xdr_get_u32(in);
  if (in->failed)
    return;
  if (count == -1 && pairs == 0 && size == 0)
    return;
  const uint8_t *begin = in->p;
  if (count < 0 || (uint32_t)count != pairs || size > gi_xdr_left(in) || pairs > size / XDR_PAIR_MIN || pairs > XDR_PAIRS_MAX) {
    fail(in);
    return;
  }
  struct gi_dict *d = gi_dict_new();
  for (uint32_t i = 0; i < pairs && !in->failed; i++)
    get_pair(in, d);
  /* Peers find a READ's payload from xdr_size alone, so a wrong one is as bad as a wrong pair. */
  if (in->failed || (size_t)(in->p - begin) != size) {
    fail(in);
    gi_dict_unref(&d);
    return;
  }
  *dict = d;
}

/* ---- writing ---- */

static uint8_t *
reserve(struct gi_xdr_out *out, size_t len)
{
  if (out->capacity - out->len < len) {
    size_t capacity = out->capacity ? out->capacity : XDR_FIRST;
    while (capacity - out->len < len)
      capacity *= 2;
    out->base = gi_realloc(out->base, capacity);
    out->capacity = capacity;
  }
  uint8_t *p = out->base + out->len;
  out->len += len;
  return p;
}

void
gi_xdr_put_u32(struct gi_xdr_out *out, uint32_t v)
{
  gi_be32_store(reserve(out, 4), v);
}

void
gi_xdr_put_u64(struct gi_xdr_out *out, uint64_t v)
{
  gi_be64_store(reserve(out, 8), v);
}

void
gi_xdr_put_bytes(struct gi_xdr_out *out, const void *data, size_t len)
{
  if (len > 0)
    memcpy(reserve(out, len), data, len);
}

void
gi_xdr_put_opaque(struct gi_xdr_out *out, const void *data, uint32_t len)
{
  uint32_t pad = padding(len);
  uint8_t *p = reserve(out, 4 + (size_t)len + pad);
  gi_be32_store(p, len);
  if (len > 0)
    memcpy(p + 4, data, len);
  memset(p + 4 + len, 0, pad);
}

void
gi_xdr_put_string(struct gi_xdr_out *out, const char *s)
{
  gi_xdr_put_opaque(out, s, s ? (uint32_t)strlen(s) : 0);
}

void
gi_xdr_put_gfid(struct gi_xdr_out *out, const struct gi_gfid *gfid)
{
  memcpy(reserve(out, sizeof(gfid->b)), gfid->b, sizeof(gfid->b));
}

void
gi_xdr_put_iatt(struct gi_xdr_out *out, const struct gi_iatt *iatt)
{
  uint8_t *p = reserve(out, XDR_IATT_BYTES);
  memcpy(p, iatt->gfid.b, 16);
  gi_be64_store(p + 16, iatt->flags);
  gi_be64_store(p + 24, iatt->ino);
  gi_be64_store(p + 32, iatt->dev);
  gi_be64_store(p + 40, iatt->rdev);
  gi_be64_store(p + 48, iatt->size);
  gi_be64_store(p + 56, iatt->blocks);
  gi_be64_store(p + 64, iatt->attributes);
  gi_be64_store(p + 72, iatt->attributes_mask);
  gi_be64_store(p + 80, (uint64_t)iatt->atime.sec);
  gi_be64_store(p + 88, (uint64_t)iatt->mtime.sec);
  gi_be64_store(p + 96, (uint64_t)iatt->ctime.sec);
  gi_be64_store(p + 104, (uint64_t)iatt->btime.sec);
  gi_be32_store(p + 112, iatt->atime.nsec);
  gi_be32_store(p + 116, iatt->mtime.nsec);
  gi_be32_store(p + 120, iatt->ctime.nsec);
  gi_be32_store(p + 124, iatt->btime.nsec);
  gi_be32_store(p + 128, iatt->nlink);
  gi_be32_store(p + 132, iatt->uid);
  gi_be32_store(p + 136, iatt->gid);
  gi_be32_store(p + 140, iatt->blksize);
  gi_be32_store(p + 144, iatt->mode);
}

static void
put_value(struct gi_xdr_out *out, const struct gi_pair *pair)
{
  switch (pair->type) {
  case GI_VALUE_INT:
  case GI_VALUE_UINT:
  case GI_VALUE_DOUBLE:
    gi_xdr_put_u64(out, pair->u); /* the union's bits are what travels */
    break;
  case GI_VALUE_STR_OLD:
  case GI_VALUE_STR:
  case GI_VALUE_PTR:
    gi_xdr_put_opaque(out, pair->data, pair->len);
    break;
  case GI_VALUE_GFUUID:
  case GI_VALUE_MDATA:
    gi_xdr_put_bytes(out, pair->data, pair->len);
    break;
  case GI_VALUE_IATT:
    gi_xdr_put_iatt(out, pair->iatt);
    break;
  }
}

void
gi_xdr_put_dict(struct gi_xdr_out *out, const struct gi_dict *dict)
{
  uint32_t count = gi_dict_count(dict);
  size_t at = out->len;
  uint8_t *p = reserve(out, 12);
  gi_be32_store(p, 0);
  gi_be32_store(p + 4, dict ? count : UINT32_MAX);
  gi_be32_store(p + 8, count);
  for (uint32_t i = 0; i < count; i++) {
    const struct gi_pair *pair = gi_dict_at(dict, i);
    gi_xdr_put_opaque(out, pair->key, pair->key_len + 1);
    gi_xdr_put_u32(out, pair->type);
    put_value(out, pair);
  }
  gi_xdr_set_u32(out, at, (uint32_t)(out->len - at - 12));
}

void
gi_xdr_set_u32(struct gi_xdr_out *out, size_t at, uint32_t v)
{
  GI_ASSERT(at + 4 <= out->len);
  gi_be32_store(out->base + at, v);
}

void
gi_xdr_out_finish(struct gi_xdr_out *out)
{
  gi_free(out->base);
  *out = (struct gi_xdr_out){0};
}
