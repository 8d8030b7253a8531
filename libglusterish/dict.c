/* SPDX-License-Identifier: Apache-2.0
 *
 * The dictionary. Most hold a handful of small pairs and live for one message,
 * so the first pairs, their keys and small values live inside the one
 * allocation of the dictionary itself. Large ones (management messages, hostile
 * messages) get their own memory and a hash index, so that nothing is quadratic.
 */
#include "libglusterish/dict.h"
#include "libglusterish/mem.h"

#include <errno.h>
#include <stdio.h>

#define DICT_MAGIC 0x67694469u
#define SLOTS_INSIDE 6u
#define ARENA_BYTES 512u /* keys and small values of a typical dictionary */
#define INDEX_FROM 24u   /* pairs from which the index pays */
#define ROOM_MIN 16u     /* smallest room of a value: a counter or gfid may be replaced in place */

struct slot {
  struct gi_pair pair;
  uint32_t room;                 /* bytes at pair.data, NUL included; 0 for numbers never held as bytes */
  void *bytes;                   /* value memory, NULL = none yet */
  bool key_inside, bytes_inside; /* in the arena: not freed one by one */
};

struct gi_dict {
  uint32_t magic, refs;
  uint32_t count, capacity;
  struct slot *slots;  /* == first while they fit */
  uint32_t *index;     /* open addressing, slot number + 1; NULL while small */
  uint32_t index_size; /* power of two */
  uint32_t arena_used;
  struct slot first[SLOTS_INSIDE];
  uint64_t arena[ARENA_BYTES / 8];
};

struct gi_dict *
gi_dict_new(void)
{
  struct gi_dict *dict = gi_alloc(sizeof(*dict));
  dict->magic = DICT_MAGIC;
  dict->refs = 1;
  dict->count = 0;
  dict->capacity = SLOTS_INSIDE;
  dict->slots = dict->first;
  dict->index = NULL;
  dict->index_size = 0;
  dict->arena_used = 0;
  return dict;
}

struct gi_dict *
gi_dict_ref(struct gi_dict *dict)
{
  if (dict) {
    GI_CHECK(dict, DICT_MAGIC);
    dict->refs++;
  }
  return dict;
}

static void
slot_free(struct slot *s)
{
  if (!s->key_inside)
    gi_free((char *)s->pair.key);
  if (!s->bytes_inside)
    gi_free(s->bytes);
}

void
gi_dict_unref(struct gi_dict **dictp)
{
  struct gi_dict *dict = *dictp;
  *dictp = NULL;
  if (!dict)
    return;
  GI_CHECK(dict, DICT_MAGIC);
  if (--dict->refs > 0)
    return;
  for (uint32_t i = 0; i < dict->count; i++)
    slot_free(&dict->slots[i]);
  if (dict->slots != dict->first)
    gi_free(dict->slots);
  gi_free(dict->index);
  dict->magic = 0;
  gi_free(dict);
}

/* `size` bytes aligned to 8, from the arena while there is room. */
static void *
take(struct gi_dict *dict, size_t size, bool *inside)
{
  size_t rounded = (size + 7) & ~(size_t)7;
  *inside = rounded <= ARENA_BYTES - dict->arena_used;
  if (!*inside)
    return gi_alloc(size);
  void *p = (uint8_t *)dict->arena + dict->arena_used;
  dict->arena_used += (uint32_t)rounded;
  return p;
}

/* ---- finding ---- */

static uint32_t
hash_key(const char *key, size_t len)
{
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < len; i++)
    h = (h ^ (uint8_t)key[i]) * 16777619u;
  return h;
}

static bool
slot_is(const struct slot *s, const char *key, size_t len)
{
  return s->pair.key_len == len && memcmp(s->pair.key, key, len) == 0;
}

/* Without an index no key is hashed: of a handful, hardly two are equally long. */
static struct slot *
find(const struct gi_dict *dict, const char *key, size_t len)
{
  if (!dict->index) {
    for (uint32_t i = 0; i < dict->count; i++) {
      if (slot_is(&dict->slots[i], key, len))
        return &dict->slots[i];
    }
    return NULL;
  }
  uint32_t mask = dict->index_size - 1;
  for (uint32_t at = hash_key(key, len) & mask; dict->index[at]; at = (at + 1) & mask) {
    struct slot *s = &dict->slots[dict->index[at] - 1];
    if (slot_is(s, key, len))
      return s;
  }
  return NULL;
}

static void
index_insert(struct gi_dict *dict, uint32_t i)
{
  const struct gi_pair *pair = &dict->slots[i].pair;
  uint32_t mask = dict->index_size - 1, at = hash_key(pair->key, pair->key_len) & mask;
  while (dict->index[at])
    at = (at + 1) & mask;
  dict->index[at] = i + 1;
}

static void
index_rebuild(struct gi_dict *dict)
{
  gi_free(dict->index);
  dict->index = NULL;
  if (dict->count < INDEX_FROM)
    return;
  dict->index_size = 64;
  while (dict->index_size < dict->count * 4)
    dict->index_size *= 2;
  dict->index = gi_zalloc(dict->index_size * sizeof(uint32_t));
  for (uint32_t i = 0; i < dict->count; i++)
    index_insert(dict, i);
}

/* ---- setting ---- */

static struct slot *
slot_add(struct gi_dict *dict, const char *key, uint32_t key_len)
{
  if (dict->count == dict->capacity) {
    struct slot *old = dict->slots == dict->first ? NULL : dict->slots;
    dict->capacity *= 2;
    dict->slots = gi_realloc(old, dict->capacity * sizeof(struct slot));
    if (!old)
      memcpy(dict->slots, dict->first, sizeof(dict->first));
  }
  struct slot *s = &dict->slots[dict->count];
  memset(s, 0, sizeof(*s));
  char *copy = take(dict, (size_t)key_len + 1, &s->key_inside);
  memcpy(copy, key, key_len);
  copy[key_len] = '\0';
  s->pair.key = copy;
  s->pair.key_len = key_len;
  s->bytes_inside = true;
  dict->count++;
  if (dict->index && dict->count * 2 <= dict->index_size)
    index_insert(dict, dict->count - 1);
  else if (dict->index || dict->count >= INDEX_FROM)
    index_rebuild(dict);
  return s;
}

static void
slot_set_bytes(struct gi_dict *dict, struct slot *s, const void *data, uint32_t len)
{
  size_t need = (size_t)len + 1;
  void *old = NULL;
  if (need > s->room) {
    size_t room = need < ROOM_MIN + 1 ? ROOM_MIN + 1 : need;
    GI_ASSERT(room <= UINT32_MAX);
    if (!s->bytes_inside)
      old = s->bytes; /* `data` may lie in it */
    s->bytes = take(dict, room, &s->bytes_inside);
    s->room = (uint32_t)room;
  }
  if (len > 0)
    memmove(s->bytes, data, len);
  ((uint8_t *)s->bytes)[len] = 0;
  s->pair.data = s->bytes;
  s->pair.len = len;
  gi_free(old);
}

static void
check_length(enum gi_value_type type, uint32_t len)
{
  switch (type) {
  case GI_VALUE_GFUUID:
    GI_ASSERT(len == sizeof(struct gi_gfid));
    break;
  case GI_VALUE_MDATA:
    GI_ASSERT(len == GI_MDATA_BYTES);
    break;
  case GI_VALUE_STR_OLD:
  case GI_VALUE_STR:
  case GI_VALUE_PTR:
    GI_ASSERT(len < UINT32_MAX - ROOM_MIN);
    break;
  default:
    break;
  }
}

static const uint8_t no_bytes[8]; /* of a number */

void
gi_dict_set_raw(struct gi_dict *dict, const char *key, uint32_t key_len, enum gi_value_type type, const void *data,
                uint32_t len)
{
  GI_CHECK(dict, DICT_MAGIC);
  GI_ASSERT(key_len <= GI_DICT_KEY_MAX && type >= GI_VALUE_STR_OLD && type <= GI_VALUE_MDATA);
  check_length(type, len);
  struct slot *s = find(dict, key, key_len);
  if (!s)
    s = slot_add(dict, key, key_len);
  s->pair.type = type;
  switch (type) {
  case GI_VALUE_INT:
  case GI_VALUE_UINT:
  case GI_VALUE_DOUBLE:
    memcpy(&s->pair.u, data, 8);
    s->pair.data = no_bytes;
    s->pair.len = sizeof(no_bytes);
    break;
  case GI_VALUE_IATT:
    slot_set_bytes(dict, s, data, sizeof(struct gi_iatt));
    break;
  default:
    slot_set_bytes(dict, s, data, len);
    break;
  }
}

static void
set(struct gi_dict *dict, const char *key, enum gi_value_type type, const void *data, size_t len)
{
  size_t key_len = strlen(key);
  GI_ASSERT(key_len <= GI_DICT_KEY_MAX && len < UINT32_MAX);
  gi_dict_set_raw(dict, key, (uint32_t)key_len, type, data, (uint32_t)len);
}

void
gi_dict_set_int(struct gi_dict *dict, const char *key, int64_t value)
{
  set(dict, key, GI_VALUE_INT, &value, 8);
}

void
gi_dict_set_uint(struct gi_dict *dict, const char *key, uint64_t value)
{
  set(dict, key, GI_VALUE_UINT, &value, 8);
}

void
gi_dict_set_str(struct gi_dict *dict, const char *key, const char *value)
{
  set(dict, key, GI_VALUE_STR, value, strlen(value) + 1);
}

void
gi_dict_set_decimal(struct gi_dict *dict, const char *key, uint64_t value)
{
  char text[32];

  snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
  gi_dict_set_str(dict, key, text);
}

void
gi_dict_set_bin(struct gi_dict *dict, const char *key, const void *data, uint32_t len)
{
  set(dict, key, GI_VALUE_PTR, data, len);
}

void
gi_dict_set_gfid(struct gi_dict *dict, const char *key, const struct gi_gfid *gfid)
{
  set(dict, key, GI_VALUE_GFUUID, gfid, sizeof(*gfid));
}

void
gi_dict_set_iatt(struct gi_dict *dict, const char *key, const struct gi_iatt *iatt)
{
  set(dict, key, GI_VALUE_IATT, iatt, sizeof(*iatt));
}

bool
gi_dict_del(struct gi_dict *dict, const char *key)
{
  if (!dict)
    return false;
  struct slot *s = find(dict, key, strlen(key));
  if (!s)
    return false;
  slot_free(s);
  uint32_t i = (uint32_t)(s - dict->slots);
  dict->count--;
  memmove(s, s + 1, (dict->count - i) * sizeof(*s));
  if (dict->count == 0)
    dict->arena_used = 0;
  index_rebuild(dict);
  return true;
}

/* ---- reading ---- */

uint32_t
gi_dict_count(const struct gi_dict *dict)
{
  return dict ? dict->count : 0;
}

const struct gi_pair *
gi_dict_at(const struct gi_dict *dict, uint32_t i)
{
  GI_ASSERT(dict && i < dict->count);
  return &dict->slots[i].pair;
}

const struct gi_pair *
gi_dict_get(const struct gi_dict *dict, const char *key)
{
  if (!dict || dict->count == 0)
    return NULL;
  GI_CHECK(dict, DICT_MAGIC);
  struct slot *s = find(dict, key, strlen(key));
  return s ? &s->pair : NULL;
}

/* The text of a value that is text: NUL terminated, without a NUL inside. */
static const char *
pair_text(const struct gi_pair *p)
{
  if (!p || (p->type != GI_VALUE_STR && p->type != GI_VALUE_STR_OLD && p->type != GI_VALUE_PTR) || p->len == 0)
    return NULL;
  return strlen((const char *)p->data) == p->len - 1 ? (const char *)p->data : NULL;
}

/* Decimal text may come with or without its NUL. */
static const char *
pair_number_text(const struct gi_pair *p)
{
  if (p->type != GI_VALUE_STR && p->type != GI_VALUE_STR_OLD && p->type != GI_VALUE_PTR)
    return NULL;
  size_t n = strlen((const char *)p->data);
  if (n == 0 || (n != p->len && n + 1 != p->len))
    return NULL;
  char c = (char)p->data[0] == '-' ? (char)p->data[1] : (char)p->data[0];
  return c >= '0' && c <= '9' ? (const char *)p->data : NULL;
}

bool
gi_dict_get_int(const struct gi_dict *dict, const char *key, int64_t *value)
{
  const struct gi_pair *p = gi_dict_get(dict, key);
  if (!p)
    return false;
  if (p->type == GI_VALUE_INT || (p->type == GI_VALUE_UINT && p->u <= INT64_MAX)) {
    *value = p->i;
    return true;
  }
  const char *text = pair_number_text(p);
  if (!text)
    return false;
  char *end;
  errno = 0;
  long long n = strtoll(text, &end, 10);
  if (*end || errno)
    return false;
  *value = n;
  return true;
}

bool
gi_dict_get_uint(const struct gi_dict *dict, const char *key, uint64_t *value)
{
  const struct gi_pair *p = gi_dict_get(dict, key);
  if (!p)
    return false;
  if (p->type == GI_VALUE_UINT || (p->type == GI_VALUE_INT && p->i >= 0)) {
    *value = p->u;
    return true;
  }
  const char *text = pair_number_text(p);
  if (!text || *text == '-')
    return false;
  char *end;
  errno = 0;
  unsigned long long n = strtoull(text, &end, 10);
  if (*end || errno)
    return false;
  *value = n;
  return true;
}

bool
gi_dict_get_str(const struct gi_dict *dict, const char *key, const char **value)
{
  const char *text = pair_text(gi_dict_get(dict, key));
  if (text)
    *value = text;
  return text != NULL;
}

bool
gi_pair_bytes(const struct gi_pair *p, const uint8_t **data, uint32_t *len)
{
  if (p->type != GI_VALUE_STR && p->type != GI_VALUE_STR_OLD && p->type != GI_VALUE_PTR && p->type != GI_VALUE_GFUUID &&
      p->type != GI_VALUE_MDATA)
    return false;
  *data = p->data;
  *len = p->len;
  return true;
}

bool
gi_dict_get_bin(const struct gi_dict *dict, const char *key, const void **data, uint32_t *len)
{
  const struct gi_pair *p = gi_dict_get(dict, key);
  const uint8_t *bytes;
  if (!p || !gi_pair_bytes(p, &bytes, len))
    return false;
  *data = bytes;
  return true;
}

bool
gi_dict_get_gfid(const struct gi_dict *dict, const char *key, struct gi_gfid *gfid)
{
  const void *bytes;
  uint32_t len;
  if (!gi_dict_get_bin(dict, key, &bytes, &len) || len != sizeof(*gfid))
    return false;
  memcpy(gfid, bytes, sizeof(*gfid));
  return true;
}

/* ---- whole dictionaries ---- */

void
gi_dict_merge(struct gi_dict *dict, const struct gi_dict *from)
{
  if (!from || dict == from)
    return;
  for (uint32_t i = 0; i < from->count; i++) {
    const struct gi_pair *p = &from->slots[i].pair;
    bool number = p->type == GI_VALUE_INT || p->type == GI_VALUE_UINT || p->type == GI_VALUE_DOUBLE;
    gi_dict_set_raw(dict, p->key, p->key_len, p->type, number ? (const void *)&p->u : p->data, p->len);
  }
}

struct gi_dict *
gi_dict_copy(const struct gi_dict *dict)
{
  struct gi_dict *copy = gi_dict_new();
  gi_dict_merge(copy, dict);
  return copy;
}

bool
gi_dict_is_shared(const struct gi_dict *dict)
{
  return dict && dict->refs > 1;
}

struct gi_dict *
gi_dict_writable(struct gi_dict **dict)
{
  if (!*dict) {
    *dict = gi_dict_new();
  } else if (gi_dict_is_shared(*dict)) {
    struct gi_dict *copy = gi_dict_copy(*dict);

    gi_dict_unref(dict);
    *dict = copy;
  }
  return *dict;
}
