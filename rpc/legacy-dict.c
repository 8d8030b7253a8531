/* SPDX-License-Identifier: Apache-2.0
 *
 * The older serialisation of a dictionary, which lives inside an opaque
 * (wire.md 3.5): management messages, SETVOLUME and callbacks use it. Nothing
 * in it is padded or typed; numbers are decimal text.
 */
#include "libglusterish/mem.h"
#include "rpc/xdr.h"

#include <inttypes.h>

#define LEGACY_MAX (1u << 20)  /* real decoders refuse longer keys and values */
#define LEGACY_PAIRS_MAX 32768 /* a status listing of thousands of clients fits */

static bool
decode_pair(struct gi_xdr_in *in, struct gi_dict *dict)
{
  uint32_t key_len = gi_xdr_get_u32(in);
  uint32_t len = gi_xdr_get_u32(in);
  if (in->failed || key_len == 0 || key_len > GI_DICT_KEY_MAX || len > LEGACY_MAX)
    return false;
  const char *key = (const char *)gi_xdr_get_bytes(in, (size_t)key_len + 1);
  if (key == NULL || memchr(key, 0, (size_t)key_len + 1) != key + key_len)
    return false;
  const uint8_t *value = gi_xdr_get_bytes(in, len);
  if (in->failed)
    return false;
  gi_dict_set_raw(dict, key, key_len, GI_VALUE_STR_OLD, value, len);
  return true;
}

struct gi_dict *
gi_legacy_dict_decode(const uint8_t *data, size_t len)
{
  struct gi_dict *dict = gi_dict_new();
  if (len == 0)
    return dict;
  struct gi_xdr_in in = {data, data + len, false};
  uint32_t count = gi_xdr_get_u32(&in);
  bool ok =
      !in.failed && count <= LEGACY_PAIRS_MAX && count <= gi_xdr_left(&in) / 10; /* the smallest pair: two lengths, "k\0" */
  for (uint32_t i = 0; ok && i < count; i++)
    ok = decode_pair(&in, dict);
  if (!ok)
    gi_dict_unref(&dict);
  return dict;
}

static void
put_pair(struct gi_xdr_out *out, const struct gi_pair *pair, const void *value, uint32_t len)
{
  gi_xdr_put_u32(out, pair->key_len);
  gi_xdr_put_u32(out, len);
  gi_xdr_put_bytes(out, pair->key, (size_t)pair->key_len + 1);
  gi_xdr_put_bytes(out, value, len);
}

static void
encode_pair(struct gi_xdr_out *out, const struct gi_pair *pair)
{
  char text[64];
  switch (pair->type) {
  case GI_VALUE_INT:
    put_pair(out, pair, text, (uint32_t)snprintf(text, sizeof(text), "%" PRId64, pair->i) + 1);
    break;
  case GI_VALUE_UINT:
    put_pair(out, pair, text, (uint32_t)snprintf(text, sizeof(text), "%" PRIu64, pair->u) + 1);
    break;
  case GI_VALUE_DOUBLE:
    put_pair(out, pair, text, (uint32_t)snprintf(text, sizeof(text), "%.17g", pair->d) + 1);
    break;
  case GI_VALUE_IATT: {
    struct gi_xdr_out iatt = {0};
    gi_xdr_put_iatt(&iatt, pair->iatt);
    put_pair(out, pair, iatt.base, (uint32_t)iatt.len);
    gi_xdr_out_finish(&iatt);
    break;
  }
  case GI_VALUE_STR_OLD:
  case GI_VALUE_STR:
  case GI_VALUE_PTR:
  case GI_VALUE_GFUUID:
  case GI_VALUE_MDATA:
    put_pair(out, pair, pair->data, pair->len);
    break;
  }
}

void
gi_legacy_dict_encode(struct gi_xdr_out *out, const struct gi_dict *dict)
{
  uint32_t count = gi_dict_count(dict);
  if (count == 0)
    return; /* the customary form of an empty one is an empty opaque */
  gi_xdr_put_u32(out, count);
  for (uint32_t i = 0; i < count; i++)
    encode_pair(out, gi_dict_at(dict, i));
}

void
gi_xdr_put_legacy_dict(struct gi_xdr_out *out, const struct gi_dict *dict)
{
  size_t at = out->len;
  gi_xdr_put_u32(out, 0);
  gi_legacy_dict_encode(out, dict);
  size_t len = out->len - at - 4;
  gi_xdr_set_u32(out, at, (uint32_t)len);
  gi_xdr_put_bytes(out, "\0\0\0", (4 - (len & 3)) & 3);
}

struct gi_dict *
gi_xdr_get_legacy_dict(struct gi_xdr_in *in)
{
  uint32_t len = 0;
  const uint8_t *data = gi_xdr_get_opaque(in, UINT32_MAX, &len);
  struct gi_dict *dict = data ? gi_legacy_dict_decode(data, len) : NULL;
  if (dict == NULL)
    in->failed = true;
  return dict;
}
