/* SPDX-License-Identifier: Apache-2.0
 *
 * The changelog counters: three signed big-endian 32-bit numbers (data,
 * metadata, entry) per xattr. trusted.afr.<child j> on a brick counts what
 * child j missed; trusted.afr.dirty counts operations begun there and not yet
 * accounted for (replicate.md 2.1). Only zero or non-zero matters.
 */
#include "xlators/cluster/replicate/copies/copies.h"

#include "libglusterish/probe.h"

#include <endian.h>

#define MARK_BYTES 12

static void
put_slot(uint8_t value[MARK_BYTES], enum rep_type type, int32_t n)
{
  uint32_t be = htobe32((uint32_t)n);

  memcpy(value + 4 * type, &be, sizeof(be));
}

bool
rep_marks_slot(const struct gi_dict *dict, const char *key, enum rep_type type, int32_t *value)
{
  const void *data;
  uint32_t len, be;

  if (!gi_dict_get_bin(dict, key, &data, &len) || len < 4u * (type + 1))
    return false;
  memcpy(&be, (const uint8_t *)data + 4 * type, sizeof(be));
  *value = (int32_t)be32toh(be);
  return true;
}

uint32_t
rep_marks_accused(const struct rep *rep, const struct gi_dict *counters, enum rep_type type)
{
  uint32_t accused = 0;

  for (unsigned j = 0; j < rep->n; j++) {
    int32_t count;

    if (rep_marks_slot(counters, rep->pending_key[j], type, &count) && count != 0)
      accused |= 1u << j;
  }
  return accused;
}

/* Copies that are shorter than the longest one nobody accuses lost an append in a crash (replicate.md 5.1 rule 4). */
static uint32_t
short_copies(const struct gi_fan *fan, uint32_t candidates)
{
  uint64_t largest = 0;
  uint32_t set = 0;

  rep_foreach(i, candidates) if (gi_fan_reply(fan, i)->rsp.stat.size > largest) largest = gi_fan_reply(fan, i)->rsp.stat.size;
  rep_foreach(j, candidates) if (gi_fan_reply(fan, j)->rsp.stat.size < largest) set |= 1u << j;
  return set;
}

static bool
lock_held(const struct gi_fop *reply)
{
  int64_t count;

  return gi_dict_get_int(reply->rsp.xdata, "glusterfs.inodelk-count", &count) && count > 0;
}

/* Copies that a quorum accuses: only they can have missed what was acknowledged. Known when all have answered. The word of a copy of a file
 * that accuses itself does not count. */
static uint32_t
outdated(const struct rep *rep, const struct gi_fan *fan, uint32_t ok, enum rep_type type)
{
  uint32_t accusers[REP_MAX] = {0}, set = 0;

  if (ok != rep->all || !rep_quorums_meet(rep))
    return 0;
  rep_foreach(i, ok)
  {
    uint32_t accused = rep_marks_accused(rep, gi_fan_reply(fan, i)->rsp.xdata, type);

    if (type == REP_DATA && ((accused >> i) & 1))
      accused = 1u << i;
    rep_foreach(j, accused) accusers[j] |= 1u << i;
  }
  rep_foreach(k, ok) if (rep_quorum(rep, accusers[k]) || ((accusers[k] >> k) & 1)) set |= 1u << k;
  return set == ok ? 0 : set;
}

void
rep_marks_judge(const struct rep *rep, const struct gi_fan *fan, uint32_t ok, bool locked, struct rep_verdict *v)
{
  uint32_t bad = 0;
  bool directory = false;

  memset(v, 0, sizeof(*v));
  rep_foreach(i, ok)
  {
    int32_t dirty;

    directory = S_ISDIR(gi_fan_reply(fan, i)->rsp.stat.mode);
    locked |= lock_held(gi_fan_reply(fan, i));
    if (gi_dict_get(gi_fan_reply(fan, i)->rsp.xdata, "glusterfs.bad-inode"))
      bad |= 1u << i;
    v->data_dirty |= rep_marks_slot(gi_fan_reply(fan, i)->rsp.xdata, rep->dirty_key, REP_DATA, &dirty) && dirty;
    v->data_accused |= rep_marks_accused(rep, gi_fan_reply(fan, i)->rsp.xdata, directory ? REP_ENTRY : REP_DATA);
    v->meta_accused |= rep_marks_accused(rep, gi_fan_reply(fan, i)->rsp.xdata, REP_META);
  }
  if (!directory && !locked)
    v->data_accused |= short_copies(fan, ok & ~v->data_accused & ~rep->arbiter);
  v->outdated = outdated(rep, fan, ok, directory ? REP_ENTRY : REP_DATA);
  if (!directory && v->outdated && !locked) /* of the others a heal takes the longest */
    v->outdated |= short_copies(fan, ok & ~v->outdated & ~rep->arbiter);
  GI_ASSERT(!(ok & ~(uint32_t)fan->ok) && !(v->outdated & ~ok));
  bad |= rep->arbiter; /* never read */
  v->data_readable = ok & ~bad & ~v->data_accused;
  v->meta_readable = ok & ~bad & ~v->meta_accused;
  if (GI_BROKEN("read copies that are blamed"))
    v->data_readable = v->meta_readable = ok & ~bad;
}

void
rep_marks_set(struct gi_dict *d, const char *key, const int32_t slot[REP_TYPES])
{
  uint8_t value[MARK_BYTES];

  for (enum rep_type type = 0; type < REP_TYPES; type++)
    put_slot(value, type, slot[type]);
  gi_dict_set_bin(d, key, value, sizeof(value));
}

struct gi_dict *
rep_marks_dict(const struct rep *rep, uint32_t blame, enum rep_type type, int32_t dirty)
{
  struct gi_dict *d = gi_dict_new();
  uint8_t value[MARK_BYTES] = {0};

  GI_ASSERT(type < REP_TYPES && !(blame & ~rep->all) && dirty >= -1 && dirty <= 1);

  put_slot(value, type, dirty);
  gi_dict_set_bin(d, rep->dirty_key, value, sizeof(value));
  for (unsigned j = 0; j < rep->n; j++) {
    put_slot(value, type, (blame >> j) & 1);
    gi_dict_set_bin(d, rep->pending_key[j], value, sizeof(value));
  }
  return d;
}

struct gi_dict *
rep_marks_new_object(const struct rep *rep, uint32_t blame, uint32_t mode, bool granular)
{
  struct gi_dict *d = gi_dict_new();

  for (unsigned j = 0; j < rep->n; j++) {
    uint8_t value[MARK_BYTES] = {0};

    if ((blame >> j) & 1) {
      put_slot(value, REP_META, 1);
      /* A directory's data slot tells the healer not to trust the granular index but to crawl. */
      if (S_ISREG(mode) || (S_ISDIR(mode) && granular))
        put_slot(value, REP_DATA, 1);
      if (S_ISDIR(mode))
        put_slot(value, REP_ENTRY, 1);
    }
    gi_dict_set_bin(d, rep->pending_key[j], value, sizeof(value));
  }
  return d;
}

void
rep_marks_request(const struct rep *rep, struct gi_dict *xdata)
{
  gi_dict_set_uint(xdata, rep->dirty_key, MARK_BYTES);
  for (unsigned j = 0; j < rep->n; j++)
    gi_dict_set_uint(xdata, rep->pending_key[j], MARK_BYTES);
}

bool
rep_marks_private_xattr(const char *name)
{
  static const char *const prefix[] = {"trusted.afr.", "trusted.glusterfs.afr."};

  for (size_t i = 0; i < GI_ARRAY_LEN(prefix); i++)
    if (strncmp(name, prefix[i], strlen(prefix[i])) == 0)
      return true;
  return false;
}

void
rep_marks_strip(const struct rep *rep, struct gi_dict *dict)
{
  if (!dict)
    return;
  for (uint32_t i = 0; i < gi_dict_count(dict);) {
    const struct gi_pair *p = gi_dict_at(dict, i);

    if (!rep_marks_private_xattr(p->key) || !gi_dict_del(dict, p->key))
      i++;
  }
}

void
rep_marks_init(struct rep *rep)
{
  GI_ASSERT(!rep->heal_domain && rep->pending_key[0]);
  for (int type = 0; type < REP_TYPES; type++) {
    rep->pre_op[type] = rep_marks_dict(rep, 0, type, 1);
    rep->post_op[type] = rep_marks_dict(rep, 0, type, -1);
  }
  rep->write_xdata = gi_dict_new();
  gi_dict_set_uint(rep->write_xdata, "glusterfs.write-is-append", 4);
  gi_dict_set_str(rep->write_xdata, "glusterfs.inodelk-dom-count", rep->x->name);
  gi_dict_set_uint(rep->write_xdata, "glusterfs.open-active-fd-count", 4);
  rep->heal_domain = gi_asprintf("%s:self-heal", rep->x->name);
  rep->writers_key = gi_asprintf("glusterfs.inodelk-dom-prefix:%s", rep->x->name);
  rep->healers_key = gi_asprintf("glusterfs.inodelk-dom-prefix:%s", rep->heal_domain);
  rep->range_xdata = gi_dict_copy(rep->write_xdata);
  gi_dict_set_uint(rep->range_xdata, REP_DOMAIN_COUNTS, 0);
  gi_dict_set_uint(rep->range_xdata, rep->healers_key, 0);
  rep->fsync_xdata = gi_dict_new();
  gi_dict_set_str(rep->fsync_xdata, "glusterfs.inodelk-dom-count", rep->x->name);
  rep->durable_xdata = gi_dict_new();
  gi_dict_set_str(rep->durable_xdata, "glusterfs-internal-fop", "yes");
  gi_dict_set_int(rep->durable_xdata, "batch-fsync", 1);
}

void
rep_marks_finish(struct rep *rep)
{
  for (int type = 0; type < REP_TYPES; type++) {
    gi_dict_unref(&rep->pre_op[type]);
    gi_dict_unref(&rep->post_op[type]);
  }
  gi_dict_unref(&rep->write_xdata);
  gi_dict_unref(&rep->range_xdata);
  gi_free(rep->heal_domain);
  rep->heal_domain = NULL;
  gi_free(rep->writers_key);
  gi_free(rep->healers_key);
  gi_dict_unref(&rep->fsync_xdata);
  gi_dict_unref(&rep->durable_xdata);
}
