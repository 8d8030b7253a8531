/* SPDX-License-Identifier: Apache-2.0
 *
 * XDR primitives (RFC 4506) with a bounds check on every read. A reader that
 * ran past its end stays `failed` and returns zeroes, so decoders check once.
 */
#ifndef GI_XDR_H
#define GI_XDR_H

#include "libglusterish/dict.h"
#include "libglusterish/types.h"

struct gi_xdr_in {
  const uint8_t *p, *end;
  bool failed;
};

/* growable; gi_xdr_out_finish frees */
struct gi_xdr_out {
  uint8_t *base;
  size_t len, capacity;
};

static inline size_t
gi_xdr_left(const struct gi_xdr_in *in)
{
  return (size_t)(in->end - in->p);
}

uint32_t gi_xdr_get_u32(struct gi_xdr_in *in);
uint64_t gi_xdr_get_u64(struct gi_xdr_in *in);
/* `len` bytes in place (no copy, no padding); NULL and failed if there are fewer. */
const uint8_t *gi_xdr_get_bytes(struct gi_xdr_in *in, size_t len);
/* u32 length, bytes in place, padding. Longer than `max` fails. Padding missing at the very end of the data fails too. */
const uint8_t *gi_xdr_get_opaque(struct gi_xdr_in *in, uint32_t max, uint32_t *len);
void gi_xdr_get_gfid(struct gi_xdr_in *in, struct gi_gfid *gfid);
void gi_xdr_get_iatt(struct gi_xdr_in *in, struct gi_iatt *iatt); /* 148 bytes (wire.md 3.3) */
/* wire.md 3.4. *dict: NULL for the NULL dictionary, else a new one. Unknown tags and bad lengths fail (nothing leaks). */
void gi_xdr_get_dict(struct gi_xdr_in *in, struct gi_dict **dict);

void gi_xdr_put_u32(struct gi_xdr_out *out, uint32_t v);
void gi_xdr_put_u64(struct gi_xdr_out *out, uint64_t v);
void gi_xdr_put_bytes(struct gi_xdr_out *out, const void *data, size_t len); /* no length, no padding */
void gi_xdr_put_opaque(struct gi_xdr_out *out, const void *data, uint32_t len);
void gi_xdr_put_string(struct gi_xdr_out *out, const char *s); /* without NUL; NULL = empty */
void gi_xdr_put_gfid(struct gi_xdr_out *out, const struct gi_gfid *gfid);
void gi_xdr_put_iatt(struct gi_xdr_out *out, const struct gi_iatt *iatt);
void gi_xdr_put_dict(struct gi_xdr_out *out, const struct gi_dict *dict); /* NULL = NULL dictionary */
void gi_xdr_set_u32(struct gi_xdr_out *out, size_t at, uint32_t v);       /* patches an earlier word */
void gi_xdr_out_finish(struct gi_xdr_out *out);

/* Legacy dictionary inside an opaque (wire.md 3.5). All values become STR_OLD. NULL on malformed input. */
struct gi_dict *gi_legacy_dict_decode(const uint8_t *data, size_t len);
void gi_legacy_dict_encode(struct gi_xdr_out *out, const struct gi_dict *dict); /* the bytes, without the opaque's length */
/* The same as a whole opaque field (length, bytes, padding). Decoding: an empty opaque gives an empty dict; malformed gives NULL
 * and `in` failed. */
void gi_xdr_put_legacy_dict(struct gi_xdr_out *out, const struct gi_dict *dict);
struct gi_dict *gi_xdr_get_legacy_dict(struct gi_xdr_in *in);

#endif
