/* SPDX-License-Identifier: Apache-2.0
 *
 * The xdata dictionary: typed key/value pairs (wire.md 3.4). It exists only at
 * the border (xattr sets, xdata, management messages); no translator keeps
 * state in one. Reference counted, not thread safe: it lives and dies on one
 * reactor, or is handed over whole.
 *
 * Keys are at most GI_DICT_KEY_MAX bytes and are copied; order of insertion is
 * kept; setting an existing key replaces its value. A NULL dict reads as empty
 * everywhere. Allocation failure aborts the process (mem.h).
 */
#ifndef GI_DICT_H
#define GI_DICT_H

#include "libglusterish/types.h"

#define GI_DICT_KEY_MAX 65535
#define GI_MDATA_BYTES 36

/* numbers are the wire tags */
enum gi_value_type {
  GI_VALUE_STR_OLD = 1, /* bytes of unknown kind */
  GI_VALUE_INT = 2,
  GI_VALUE_UINT = 3,
  GI_VALUE_DOUBLE = 4,
  GI_VALUE_STR = 5, /* text; `len` counts the NUL */
  GI_VALUE_PTR = 6, /* bytes */
  GI_VALUE_GFUUID = 7,
  GI_VALUE_IATT = 8,
  GI_VALUE_MDATA = 9,
};

struct gi_dict;

struct gi_pair {
  const char *key;
  uint32_t key_len; /* without the NUL */
  enum gi_value_type type;
  uint32_t len; /* bytes at `data` (8 for numbers, sizeof struct gi_iatt for IATT) */
  union {
    int64_t i;
    uint64_t u;
    double d;
  };
  union {
    const uint8_t *data; /* to be read through gi_pair_bytes: for numbers it points at zeros */
    const struct gi_iatt *iatt;
  };
};

/* The bytes of a value that is bytes or text (STR_OLD, STR, PTR, GFUUID, MDATA): owned by the dict, aligned to 8 and followed by
 * a NUL. False, and nothing set, for a number or attributes: the type is the sender's choice, whatever the key. */
bool gi_pair_bytes(const struct gi_pair *p, const uint8_t **data, uint32_t *len);

struct gi_dict *gi_dict_new(void);
struct gi_dict *gi_dict_ref(struct gi_dict *dict);        /* NULL passes through */
void gi_dict_unref(struct gi_dict **dict);                /* clears *dict; NULL is fine */
struct gi_dict *gi_dict_copy(const struct gi_dict *dict); /* deep; NULL gives a new empty one */
uint32_t gi_dict_count(const struct gi_dict *dict);

/* Somebody else has a reference too: what is changed in it changes for them. */
bool gi_dict_is_shared(const struct gi_dict *dict);
/* The dict at *dict for changing it, and nobody else's: a new one for NULL, a copy in its place if it is shared. */
struct gi_dict *gi_dict_writable(struct gi_dict **dict);

void gi_dict_set_int(struct gi_dict *dict, const char *key, int64_t value);
void gi_dict_set_uint(struct gi_dict *dict, const char *key, uint64_t value);
void gi_dict_set_str(struct gi_dict *dict, const char *key, const char *value);
void gi_dict_set_decimal(struct gi_dict *dict, const char *key, uint64_t value);             /* STR */
void gi_dict_set_bin(struct gi_dict *dict, const char *key, const void *data, uint32_t len); /* PTR, copied */
void gi_dict_set_gfid(struct gi_dict *dict, const char *key, const struct gi_gfid *gfid);
void gi_dict_set_iatt(struct gi_dict *dict, const char *key, const struct gi_iatt *iatt);
/* Any type from raw parts, for decoders: `key` need not be NUL terminated. `data` points at an int64/uint64/double for
 * numbers, at a struct gi_iatt for IATT, else at `len` bytes. Everything is copied. */
void gi_dict_set_raw(struct gi_dict *dict, const char *key, uint32_t key_len, enum gi_value_type type, const void *data,
                     uint32_t len);
bool gi_dict_del(struct gi_dict *dict, const char *key); /* true if it was there */

/* Getters return false (out untouched) if the key is absent or cannot be read as that type. Integers accept INT, UINT and
 * decimal text; gfid accepts any 16-byte value (wire.md 3.4). Pointers stay valid until the dict changes or goes. */
const struct gi_pair *gi_dict_get(const struct gi_dict *dict, const char *key);
bool gi_dict_get_int(const struct gi_dict *dict, const char *key, int64_t *value);
bool gi_dict_get_uint(const struct gi_dict *dict, const char *key, uint64_t *value);
bool gi_dict_get_str(const struct gi_dict *dict, const char *key, const char **value); /* NUL-terminated text only */
bool gi_dict_get_bin(const struct gi_dict *dict, const char *key, const void **data, uint32_t *len);
bool gi_dict_get_gfid(const struct gi_dict *dict, const char *key, struct gi_gfid *gfid);

/* The i-th pair in insertion order, i < gi_dict_count(). */
const struct gi_pair *gi_dict_at(const struct gi_dict *dict, uint32_t i);
/* Copies every pair of `from` (may be NULL) into `dict`. */
void gi_dict_merge(struct gi_dict *dict, const struct gi_dict *from);

#endif
