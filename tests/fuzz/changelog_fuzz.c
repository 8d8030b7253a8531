/* SPDX-License-Identifier: Apache-2.0
 *
 * Changelog counters as bricks may show them: any bytes of any length are read,
 * a direction is decided and the undo is calculated. Whatever is there, a good
 * copy is never one that is written to, where no copy is good none is written
 * to, and an undo takes back exactly what was seen.
 *
 * The bytes of an input are used up one after the other; at the end come zeros.
 */
#include "tests/fuzz/fuzz.h"
#include "xlators/cluster/replicate/testing/model.h"
#include "xlators/cluster/replicate/heal/heal.h"

#include <endian.h>

extern const struct gi_xlator_class gi_xlator_export;

enum { PLAIN, ARBITER, NO_QUORUM, RIGS };

static struct {
  struct rig *rig;
  struct rep_heal heal;
} rigs[RIGS];

struct bytes {
  const uint8_t *p, *end;
};

static uint8_t
next(struct bytes *b)
{
  return b->p < b->end ? *b->p++ : 0;
}

static uint32_t
next_word(struct bytes *b)
{
  uint32_t v = 0;

  for (unsigned i = 0; i < 4; i++)
    v = v << 8 | next(b);
  return v;
}

static void
start(void)
{
  static const char *const options[RIGS] = {[ARBITER] = "option arbiter-count 1\n", [NO_QUORUM] = "option quorum-type none\n"};
  struct gi_gfid gfid;

  if (rigs[0].rig)
    return;
  gi_log_set_level(GI_LOG_NONE);
  gi_class_register(&gi_xlator_export);
  memset(&gfid, 5, sizeof(gfid));
  for (unsigned i = 0; i < RIGS; i++) {
    rigs[i].rig = rig_new(options[i]);
    rig_object(rigs[i].rig, 5, S_IFREG | 0644);
    rep_heal_begin(&rigs[i].heal, rep_of(rigs[i].rig->s->x), &gfid, GI_PID_HEAL);
  }
}

size_t
fuzz_seed(unsigned n, uint8_t *input, size_t room)
{
  (void)n, (void)input, (void)room; /* any bytes will do */
  return 0;
}

void
fuzz_finish(void)
{
  for (unsigned i = 0; i < RIGS && rigs[i].rig; i++) {
    rep_heal_end(&rigs[i].heal);
    rig_free(rigs[i].rig);
    rigs[i].rig = NULL;
  }
}

/* ---- what a brick shows ---- */

static void
put_counter(struct bytes *b, struct gi_dict *d, const char *key)
{
  static const uint32_t odd[] = {0, 0, 0, 1, 0xffffffff, INT32_MAX, 0x80000000, 1 << 24};
  static const uint8_t length[] = {0, 1, 4, 8, 11, 13, 24, 255};
  uint8_t value[256], how = next(b);
  uint32_t len = 12;

  if (how % 8 < 3)
    return;
  memset(value, 0, sizeof(value));
  if (how % 8 == 3) {
    len = length[next(b) % GI_ARRAY_LEN(length)];
    for (uint32_t i = 0; i < len; i++)
      value[i] = next(b);
  } else {
    for (unsigned t = 0; t < REP_TYPES; t++) {
      uint32_t n = how % 8 == 4 ? next_word(b) : odd[next(b) % GI_ARRAY_LEN(odd)];

      n = htobe32(n);
      memcpy(value + 4 * t, &n, sizeof(n));
    }
  }
  gi_dict_set_bin(d, key, value, len);
}

static void
fill(struct bytes *b, const struct rep *rep, uint32_t mode, struct rep_view *v)
{
  memset(v, 0, sizeof(*v));
  v->rep = rep;
  v->asked = v->ok = rep->all;
  for (unsigned i = 0; i < rep->n; i++) {
    v->stat[i].mode = mode | (next(b) & 1);
    v->stat[i].size = next(b) % 3;
    v->stat[i].ctime.sec = next(b) % 3;
    v->xdata[i] = gi_dict_new();
    put_counter(b, v->xdata[i], rep->dirty_key);
    for (unsigned j = 0; j < rep->n; j++)
      put_counter(b, v->xdata[i], rep->pending_key[j]);
    rep_view_counters(v, i);
  }
}

/* ---- what must hold ---- */

static void
check_direction(const struct rep_view *v, enum rep_type type, const struct rep_direction *d)
{
  uint32_t all = v->rep->all;

  GI_ASSERT(!(d->sources & d->sinks));
  GI_ASSERT(!((d->sources | d->sinks) & ~all));
  GI_ASSERT(d->source < 0 || ((d->sources >> d->source) & 1));
  if (d->source < 0 && !d->merge)
    GI_ASSERT(d->split_brain || !d->sinks); /* nothing is to be written */
  if (d->split_brain)
    GI_ASSERT(!d->sources && d->source < 0);
  if (d->merge)
    GI_ASSERT(type == REP_ENTRY && !d->split_brain && !d->sources && d->sinks == all);
  if (v->corrupt)
    GI_ASSERT(d->split_brain && !d->merge);
  if (type == REP_DATA && d->source >= 0)
    GI_ASSERT(!((v->rep->arbiter >> d->source) & 1));
}

static int32_t
slot(const struct gi_dict *d, const char *key, enum rep_type type)
{
  int32_t n = 0;

  GI_ASSERT(rep_marks_slot(d, key, type, &n));
  return n;
}

static void
check_undo(const struct rep_view *v, enum rep_type type, const struct rep_direction *d, uint32_t failed, bool full)
{
  uint32_t good = d->locked & ~failed;

  rep_foreach(i, d->locked)
  {
    struct gi_dict *undo = rep_marks_undo(v, i, type, good, failed, full);
    int32_t dirty = slot(undo, v->rep->dirty_key, type);

    GI_ASSERT(((failed >> i) & 1) ? dirty == 0 : (uint32_t)dirty + (uint32_t)v->dirty[type][i] == 0);
    for (unsigned j = 0; j < v->rep->n; j++)
      for (enum rep_type t = 0; t < REP_TYPES; t++) {
        int32_t add = slot(undo, v->rep->pending_key[j], t), had = v->pending[t][i][j];

        if ((failed >> j) & 1)
          GI_ASSERT(add == (t == type));
        else if (t == type || (full && t == REP_DATA))
          GI_ASSERT((uint32_t)add + (uint32_t)had == 0);
        else
          GI_ASSERT(add == 0);
      }
    gi_dict_unref(&undo);
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct bytes b = {data, data + size};
  struct rep_heal *h;
  enum rep_type type;
  struct rep_view v;
  uint8_t failed;
  bool full;

  start();
  h = &rigs[next(&b) % RIGS].heal;
  type = next(&b) % REP_TYPES;
  failed = next(&b);
  full = type == REP_ENTRY && (failed & 0x80);
  fill(&b, h->rep, type == REP_ENTRY ? S_IFDIR | 0700 : S_IFREG | 0600, &v);
  for (unsigned round = 0; round < 2; round++) {
    struct rep_direction d;

    rep_decide(h, &v, type, h->rep->all, &d);
    check_direction(&v, type, &d);
    check_undo(&v, type, &d, d.sinks & failed, full);
    rep_direction_by_marks(&v, type, h->rep->all, &d);
    GI_ASSERT(!(d.sources & d.sinks));
    v.corrupt = 0; /* and with what could be read of it */
  }
  rep_view_clear(&v);
  return 0;
}
