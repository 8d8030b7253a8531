/* SPDX-License-Identifier: Apache-2.0
 *
 * See registers.h.
 */
#include "tests/simulation/model/registers.h"

#include <string.h>

#define MAGIC UINT64_C(0x676c697374657273)
#define NEVER UINT64_MAX
#define WORDS (SIM_SECTOR_BYTES / 8)

struct write {
  uint64_t begin, end; /* moments; NEVER: not answered, or in doubt */
  uint64_t out;        /* when it was the same for others than its client; NEVER: not yet */
  uint8_t file, writer;
  uint16_t sector, n;
  bool answered; /* or nobody is left to be answered */
  bool done;     /* answered with success */
  bool synced;   /* and a sync that began later succeeded */
  bool weak;     /* a machine lost power before that, or too many disks could not sync it */
  bool left;     /* its client is gone */
  bool told;     /* a sync failed after it: no later one promises it */
  bool dropped;  /* no disk that counts has it, and nobody was told: the writer's next sync must fail */
  uint32_t lost; /* bricks whose disks could not sync it */
  uint64_t stored[SIM_BRICKS][SIM_WRITE_SECTORS / 64]; /* a bit per sector */
};

struct sector {
  uint32_t *number; /* writes to it that succeeded and still count, oldest first */
  uint32_t count, room;
};

struct sim_model {
  struct sim_world *w;
  bool own_syncs;
  uint64_t moment;
  struct write *write; /* by number - 1 */
  uint64_t count, room;
  uint64_t first_unsynced; /* all below are synced, weak or in doubt */
  uint64_t first_early;    /* all below are answered, and out or in doubt */
  struct gi_gfid gfid[SIM_MODEL_FILES];
  uint64_t reach[SIM_MODEL_FILES]; /* where the write ends that went farthest */
  uint64_t losses[SIM_CLIENTS][SIM_MODEL_FILES];
  uint64_t lost_end[SIM_CLIENTS][SIM_MODEL_FILES]; /* when the last of them had been answered */
  struct sim_model_stats stats;
  struct sector sector[SIM_MODEL_FILES][SIM_MODEL_SECTORS];
};

/* the beginning of a sector; all of it is filled from `number` */
struct record {
  uint64_t magic, number, sum;
  uint32_t file, sector;
};

struct sim_model *
sim_model_new(struct sim_world *w)
{
  struct sim_model *m = gi_new(struct sim_model);
  m->w = w;
  return m;
}

void
sim_model_own_syncs(struct sim_model *m)
{
  m->own_syncs = true;
}

void
sim_model_free(struct sim_model **mp)
{
  struct sim_model *m = *mp;
  *mp = NULL;
  if (m == NULL)
    return;
  for (unsigned f = 0; f < SIM_MODEL_FILES; f++)
    for (unsigned s = 0; s < SIM_MODEL_SECTORS; s++)
      gi_free(m->sector[f][s].number);
  gi_free(m->write);
  gi_free(m);
}

const struct sim_model_stats *
sim_model_stats(const struct sim_model *m)
{
  return &m->stats;
}

/* ---- sectors as bytes ---- */

static uint64_t
word(uint64_t number, unsigned file, unsigned sector, unsigned i)
{
  uint64_t z = number * 0x9e3779b97f4a7c15ull + ((uint64_t)file << 48 | (uint64_t)sector << 16 | i);
  return (z ^ z >> 29) * 0xbf58476d1ce4e5b9ull;
}

static void
fill(uint8_t *data, uint64_t number, unsigned file, unsigned sector)
{
  uint64_t w[WORDS];
  struct record r = {MAGIC, number, word(number, file, sector, 0), file, sector};
  for (unsigned i = 0; i < WORDS; i++)
    w[i] = word(number, file, sector, i);
  memcpy(w, &r, sizeof(r));
  memcpy(data, w, sizeof(w));
}

static bool
zeroes(const uint8_t *data)
{
  return data[0] == 0 && memcmp(data, data + 1, SIM_SECTOR_BYTES - 1) == 0;
}

/* The number of the write it came from; 0: never written; NEVER: nobody wrote this. */
static uint64_t
origin(const struct sim_model *m, const uint8_t *data, unsigned file, unsigned sector)
{
  struct record r;
  uint8_t want[SIM_SECTOR_BYTES];
  memcpy(&r, data, sizeof(r));
  if (r.magic != MAGIC)
    return zeroes(data) ? 0 : NEVER;
  if (r.number == 0 || r.number > m->count)
    return NEVER;
  const struct write *w = &m->write[r.number - 1];
  if (w->file != file || sector < w->sector || sector >= (unsigned)w->sector + w->n)
    return NEVER;
  fill(want, r.number, file, sector);
  return memcmp(data, want, sizeof(want)) == 0 ? r.number : NEVER;
}

/* ---- writes ---- */

uint64_t
sim_model_write(struct sim_model *m, unsigned writer, unsigned file, unsigned sector, unsigned n, uint8_t *data)
{
  GI_ASSERT(file < SIM_MODEL_FILES && n > 0 && n <= SIM_WRITE_SECTORS && sector + n <= SIM_MODEL_SECTORS);
  if (m->count == m->room) {
    m->room = m->room ? 2 * m->room : 1024;
    m->write = gi_realloc(m->write, m->room * sizeof(*m->write));
  }
  m->write[m->count++] = (struct write){.begin = ++m->moment,
                                        .end = NEVER,
                                        .out = NEVER,
                                        .file = (uint8_t)file,
                                        .writer = (uint8_t)writer,
                                        .sector = (uint16_t)sector,
                                        .n = (uint16_t)n};
  m->stats.writes++;
  if (m->reach[file] < (uint64_t)(sector + n) * SIM_SECTOR_BYTES)
    m->reach[file] = (uint64_t)(sector + n) * SIM_SECTOR_BYTES;
  for (unsigned i = 0; i < n; i++)
    fill(data + i * SIM_SECTOR_BYTES, m->count, file, sector + i);
  return m->count;
}

static void
sector_add(struct sector *s, uint64_t number)
{
  if (s->count == s->room) {
    s->room = s->room ? 2 * s->room : 8;
    s->number = gi_realloc(s->number, s->room * sizeof(*s->number));
  }
  s->number[s->count++] = (uint32_t)number;
}

void
sim_model_written_early(struct sim_model *m, uint64_t number)
{
  struct write *w = &m->write[number - 1];
  w->end = ++m->moment;
  w->answered = w->done = true;
  for (unsigned i = 0; i < w->n; i++)
    sector_add(&m->sector[w->file][w->sector + i], number);
}

void
sim_model_written(struct sim_model *m, uint64_t number, int error)
{
  struct write *w = &m->write[number - 1];
  if (error) {
    m->moment++;
    w->answered = true;
    return; /* it may have happened somewhere */
  }
  sim_model_written_early(m, number);
  w->out = w->end;
}

/* ---- writes that were answered early ---- */

static bool
is_early(const struct write *w, unsigned writer, unsigned file)
{
  return w->done && w->out == NEVER && w->end != NEVER && w->writer == writer && w->file == file;
}

/* It may be gone, or happen yet. */
static void
in_doubt(struct write *w)
{
  w->weak = true;
  w->dropped = false;
  w->end = NEVER;
}

static void
pass_early(struct sim_model *m)
{
  for (; m->first_early < m->count; m->first_early++) {
    const struct write *w = &m->write[m->first_early];
    if (!w->answered || is_early(w, w->writer, w->file))
      return;
  }
}

static bool
written_over(const struct sim_model *m, uint64_t number, unsigned sector)
{
  const struct write *w = &m->write[number - 1];
  for (uint64_t i = number; i < m->count; i++) {
    const struct write *v = &m->write[i];
    if (v->writer == w->writer && v->file == w->file && sector >= v->sector && sector - v->sector < v->n)
      return true;
  }
  return false;
}

static bool
has_stored(const struct write *w, unsigned brick, unsigned nth)
{
  return w->stored[brick][nth / 64] >> nth % 64 & 1;
}

/* The bricks that have had what counts of it. */
static uint32_t
copies_that_count(const struct sim_model *m, uint64_t number)
{
  const struct write *w = &m->write[number - 1];
  uint32_t bricks = (1u << SIM_BRICKS) - 1;
  for (unsigned k = 0; k < w->n; k++) {
    if (written_over(m, number, w->sector + k))
      continue;
    for (unsigned b = 0; b < SIM_BRICKS; b++)
      if (!has_stored(w, b, k))
        bricks &= ~(1u << b);
  }
  return bricks;
}

void
sim_model_out(struct sim_model *m, unsigned writer, unsigned file, uint64_t begin, sim_out_fn *judge, void *arg)
{
  uint64_t now = ++m->moment;
  for (uint64_t i = m->first_early; i < m->count; i++) {
    struct write *w = &m->write[i];
    if (!is_early(w, writer, file) || w->end > begin)
      continue;
    uint32_t copies = copies_that_count(m, i + 1);
    judge(arg, i + 1, copies);
    w->dropped &= !(copies & ~w->lost); /* lost by who had it first, while it was on its way to the others */
    w->out = now;
  }
  pass_early(m);
}

void
sim_model_not_out(struct sim_model *m, unsigned writer, unsigned file)
{
  for (uint64_t i = m->first_early; i < m->count; i++)
    if (is_early(&m->write[i], writer, file))
      in_doubt(&m->write[i]);
  pass_early(m);
}

void
sim_model_file_is(struct sim_model *m, unsigned file, const struct gi_gfid *gfid)
{
  GI_ASSERT(file < SIM_MODEL_FILES);
  m->gfid[file] = *gfid;
}

void
sim_model_early_lost(struct sim_model *m, unsigned writer, const struct gi_gfid *gfid)
{
  for (unsigned file = 0; file < SIM_MODEL_FILES; file++) {
    if (gi_gfid_is_none(gfid) || !gi_gfid_equal(&m->gfid[file], gfid))
      continue;
    m->losses[writer][file]++;
    for (uint64_t i = m->first_early; i < m->count; i++)
      if (is_early(&m->write[i], writer, file) && m->write[i].end > m->lost_end[writer][file])
        m->lost_end[writer][file] = m->write[i].end;
    sim_model_not_out(m, writer, file);
  }
}

uint64_t
sim_model_lost_end(const struct sim_model *m, unsigned writer, unsigned file)
{
  return m->lost_end[writer][file];
}

uint64_t
sim_model_losses(const struct sim_model *m, unsigned writer, unsigned file)
{
  return m->losses[writer][file];
}

/* ---- what bricks store ---- */

/* The write that a sector is of, and which of its sectors; NULL: none. */
static struct write *
write_of(struct sim_model *m, const uint8_t head[SIM_SECTOR_HEAD], unsigned *nth)
{
  struct record r;
  _Static_assert(sizeof(r) == SIM_SECTOR_HEAD, "a record is what a disk tells");
  memcpy(&r, head, sizeof(r));
  if (r.magic != MAGIC || r.number == 0 || r.number > m->count)
    return NULL;
  struct write *w = &m->write[r.number - 1];
  if (r.file != w->file || r.sector < w->sector || r.sector - w->sector >= w->n)
    return NULL;
  *nth = r.sector - w->sector;
  return w;
}

void
sim_model_stored(struct sim_model *m, unsigned brick, const uint8_t head[SIM_SECTOR_HEAD])
{
  unsigned nth;
  struct write *w = write_of(m, head, &nth);
  if (!w)
    return;
  w->stored[brick][nth / 64] |= 1ull << nth % 64;
  w->lost &= ~(1u << brick);
}

static uint32_t
left(const struct sim_model *m, uint64_t number)
{
  return sim_model_copies(m, number) & ~m->write[number - 1].lost;
}

/* It may be gone, unless it was synced. */
static void
excuse(struct write *w)
{
  w->weak |= !w->synced;
}

/* With it may go what it had overwritten and what was no more synced than it; only of itself that is certain. */
void
sim_model_lost(struct sim_model *m, unsigned brick, const uint8_t head[SIM_SECTOR_HEAD], sim_left_fn *judge, void *arg)
{
  unsigned nth;
  const struct write *last = write_of(m, head, &nth);
  if (!last)
    return;
  uint64_t number = (uint64_t)(last - m->write) + 1;
  unsigned sector = last->sector + nth;
  for (uint64_t n = m->first_unsynced < number ? m->first_unsynced + 1 : number; n <= number; n++) {
    struct write *w = &m->write[n - 1];
    if (w->file != last->file || sector < w->sector || sector >= (unsigned)w->sector + w->n)
      continue;
    w->lost |= 1u << brick;
    enum sim_left still = judge(arg, w->file, sector, left(m, n));
    w->dropped |= w == last && still == SIM_LEFT_NOWHERE && w->done && !w->told && !w->synced;
    if (w->told || still != SIM_LEFT)
      excuse(w);
  }
}

uint32_t
sim_model_copies(const struct sim_model *m, uint64_t number)
{
  const struct write *w = &m->write[number - 1];
  uint32_t bricks = 0;
  for (unsigned b = 0; b < SIM_BRICKS; b++) {
    unsigned have = 0;
    for (unsigned k = 0; k < GI_ARRAY_LEN(w->stored[b]); k++)
      have += (unsigned)__builtin_popcountll(w->stored[b][k]);
    if (have == w->n)
      bricks |= 1u << b;
  }
  return bricks;
}

/* ---- syncs ---- */

static bool
settled(const struct write *w)
{
  return w->synced || w->weak;
}

static void
pass_settled(struct sim_model *m)
{
  while (m->first_unsynced < m->count && settled(&m->write[m->first_unsynced]))
    m->first_unsynced++;
}

void
sim_model_written_synced(struct sim_model *m, uint64_t number)
{
  struct write *w = &m->write[number - 1];
  m->stats.syncs++;
  w->synced = w->done && !w->weak;
  pass_settled(m);
}

void
sim_model_synced(struct sim_model *m, unsigned writer, unsigned file, uint64_t begin)
{
  m->stats.syncs++;
  for (uint64_t i = 0; i < m->count; i++) {
    const struct write *w = &m->write[i];
    if (w->dropped && w->file == file && w->writer == writer && w->end < begin)
      sim_violation(m->w, "client-%u: a sync of register file %u succeeded, though write %llu was lost and nobody was told",
                    writer, file, (unsigned long long)i + 1);
  }
  for (uint64_t i = m->first_unsynced; i < m->count; i++) {
    struct write *w = &m->write[i];
    if (m->own_syncs && (w->writer != writer || w->left))
      continue;
    if (w->file == file && w->done && (w->writer == writer ? w->end : w->out) < begin && !w->weak)
      w->synced = true;
  }
  pass_settled(m);
}

void
sim_model_sync_failed(struct sim_model *m, unsigned file)
{
  for (uint64_t i = 0; i < m->count; i++)
    m->write[i].dropped &= m->write[i].file != file;
  for (uint64_t i = m->first_unsynced; i < m->count; i++) {
    struct write *w = &m->write[i];
    if (w->file != file)
      continue;
    w->told |= w->done;
    if (w->lost)
      excuse(w);
  }
}

void
sim_model_writer_anew(struct sim_model *m, unsigned writer)
{
  for (uint64_t i = 0; i < m->count; i++)
    if (m->write[i].writer == writer) {
      m->write[i].dropped = false;
      m->write[i].answered = m->write[i].left = true;
    }
  for (unsigned file = 0; file < SIM_MODEL_FILES; file++)
    sim_model_not_out(m, writer, file);
}

void
sim_model_power_loss(struct sim_model *m)
{
  for (uint64_t i = m->first_unsynced; i < m->count; i++)
    if (!m->write[i].synced)
      m->write[i].weak = true;
  m->first_unsynced = m->count;
}

/* ---- reads ---- */

uint64_t
sim_model_now(struct sim_model *m)
{
  return ++m->moment;
}

/* When a write had happened, for what that writer did and saw afterwards. */
static uint64_t
end_for(const struct write *w, unsigned writer)
{
  return w->writer == writer ? w->end : w->out;
}

/* A write that makes the value of `number` stale for a read; 0: none. */
static uint64_t
newer(const struct sim_model *m, const struct sector *s, uint64_t number, const struct sim_reader *reader)
{
  for (uint32_t i = s->count; i-- > 0;) {
    const struct write *w = &m->write[s->number[i] - 1];
    if (!w->weak && w->begin > (number ? end_for(&m->write[number - 1], w->writer) : 0) &&
        end_for(w, reader->number) < (w->writer == reader->number ? reader->begin : reader->opened))
      return s->number[i];
  }
  return 0;
}

static void
check_sector(struct sim_model *m, const struct sim_reader *reader, unsigned file, unsigned sector, const uint8_t *data)
{
  uint64_t number = origin(m, data, file, sector);
  m->stats.sectors++;
  if (number == NEVER) {
    sim_violation(m->w, "%s: sector %u of register file %u is nothing anybody wrote there", reader->name, sector, file);
    return;
  }
  uint64_t better = newer(m, &m->sector[file][sector], number, reader);
  if (better)
    sim_violation(m->w,
                  "%s: sector %u of register file %u is of write %llu, though write %llu of client-%u%s had succeeded before",
                  reader->name, sector, file, (unsigned long long)number, (unsigned long long)better,
                  m->write[better - 1].writer, m->write[better - 1].synced ? " (synced)" : "");
}

void
sim_model_check(struct sim_model *m, const struct sim_reader *reader, unsigned file, unsigned sector, unsigned n,
                const uint8_t *data, size_t len)
{
  static const uint8_t hole[SIM_SECTOR_BYTES];
  m->stats.reads++;
  for (unsigned i = 0; i < n; i++)
    check_sector(m, reader, file, sector + i, len >= (i + 1) * SIM_SECTOR_BYTES ? data + i * SIM_SECTOR_BYTES : hole);
}

void
sim_model_check_size(struct sim_model *m, const struct sim_reader *reader, unsigned file, uint64_t size)
{
  if (size > m->reach[file])
    sim_violation(m->w, "%s: register file %u is told to have %llu bytes, though nobody wrote beyond %llu", reader->name, file,
                  (unsigned long long)size, (unsigned long long)m->reach[file]);
  for (unsigned i = SIM_MODEL_SECTORS; i-- > 0 && (uint64_t)(i + 1) * SIM_SECTOR_BYTES > size;) {
    uint64_t better = newer(m, &m->sector[file][i], 0, reader);
    if (better) {
      sim_violation(
          m->w,
          "%s: register file %u is told to have %llu bytes, though write %llu of client-%u to sector %u had succeeded before",
          reader->name, file, (unsigned long long)size, (unsigned long long)better, m->write[better - 1].writer, i);
      return;
    }
  }
}
