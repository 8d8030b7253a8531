/* SPDX-License-Identifier: Apache-2.0
 *
 * What a brick remembers about regions that a missing copy lacks, when the brick
 * dies at any system call, as a process or with its machine, or its disk fails
 * calls: a log that explains the counter holds every region of it.
 *
 * The model: each request also adds to another slot of the counter, so that the
 * disk itself tells which requests it has seen, whatever was lost.
 */
#include "libglusterish/regions.h"
#include "tests/simulation/fault/lone-brick.h"
#include "tests/simulation/world/rng.h"

#include <endian.h>
#include <string.h>

#define STEPS 25 /* before the crash, and after it */
#define STATES (2 * STEPS + 2)
#define PENDING "trusted.afr.v-client-1"
#define UNKNOWN 0 /* instead of a block: nothing was told */

static const struct gi_gfid gfid = {{0xab, 0xcd, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 15}};

/* the increments that the counter holds: for each the block that was written */
struct state {
  uint32_t n;
  uint32_t block[STATES];
};

struct machine {
  struct sim_lone b;
  struct state state[STATES]; /* after so many requests */
  uint32_t blocks;
  unsigned logs; /* times a usable one was found */
};

/* ---- the machine ---- */

static void
setup(struct machine *m, uint64_t seed)
{
  struct gi_fop *f;

  *m = (struct machine){0};
  sim_lone_setup(&m->b, seed);
  assert_true(sim_lone_boot(&m->b));
  f = gi_fop_new(m->b.graph, GI_FOP_MKNOD);
  f->loc.pargfid = gi_gfid_root;
  f->loc.name = "f";
  f->args.mode = S_IFREG | 0644;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &gfid);
  sim_lone_run(&m->b, f);
  f = gi_fop_new(m->b.graph, GI_FOP_TRUNCATE);
  f->loc.gfid = gfid;
  f->args.offset = 1 << 20;
  sim_lone_run(&m->b, f);
  sim_disk_sync(m->b.disk);
}

/* ---- what is on disk ---- */

static uint32_t
slot(struct machine *m, unsigned n)
{
  const struct sim_xattr *x = sim_xattr_find(sim_lone_at(&m->b, "/b/f"), PENDING);
  uint32_t v[3] = {0};

  if (x) {
    assert_int_equal(x->len, sizeof(v));
    memcpy(v, x->value, sizeof(v));
  }
  return be32toh(v[n]);
}

static bool
has(const struct gi_regions *set, uint32_t block)
{
  for (uint32_t i = 0; i < set->n; i++)
    if (set->range[i].start <= block && block < set->range[i].end)
      return true;
  return false;
}

static void
check(struct machine *m, uint64_t seed, uint64_t crash)
{
  const struct state *s = &m->state[slot(m, 2)];
  char path[128], text[GI_UUID_TEXT];
  struct gi_region_log log;
  const struct gi_region_note *note;
  struct sim_inode *i;
  uint8_t data[8192];

  assert_int_equal(slot(m, 0), s->n);
  snprintf(path, sizeof(path), "/b/.glusterfs/glusterish-regions/%s", gi_gfid_text(&gfid, text));
  i = sim_lone_at(&m->b, path);
  if (!i || !gi_region_log_decode(&log, data, (uint32_t)sim_data_read(i, 0, data, sizeof(data))))
    return;
  note = gi_region_log_find(&log, PENDING);
  if (note && s->n && note->count == (int32_t)s->n) {
    m->logs++;
    for (uint32_t n = 0; n < s->n; n++)
      if (s->block[n] == UNKNOWN || !has(&note->set, s->block[n]))
        fail_msg("seed %llu crash %llu: the log explains %u, but not block %u", (unsigned long long)seed,
                 (unsigned long long)crash, s->n, s->block[n]);
  }
  gi_region_log_clear(&log);
}

/* ---- requests ---- */

static void
xattrop(struct machine *m, int32_t delta, uint32_t block)
{
  struct gi_fop *f = gi_fop_new(m->b.graph, GI_FOP_XATTROP);
  uint32_t v[3] = {htobe32((uint32_t)delta), 0, htobe32(1)};

  f->loc.gfid = gfid;
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, PENDING, v, sizeof(v));
  if (block != UNKNOWN) {
    struct gi_region_log log = {0};
    uint32_t len;

    gi_regions_add(&gi_region_log_add(&log, PENDING)->set, (uint64_t)block * GI_REGION_BLOCK,
                   (uint64_t)(block + 1) * GI_REGION_BLOCK, 100);
    log.note[0].count = delta;
    GI_CLEANUP_FREE void *data = gi_region_log_encode(&log, &len);
    gi_dict_set_bin(gi_fop_xdata(f), GI_REGIONS_KEY, data, len);
    gi_region_log_clear(&log);
  }
  sim_lone_run(&m->b, f);
}

/* Blames with and without regions, and what healers take back: the oldest, or all. */
static void
step(struct machine *m)
{
  uint32_t at = slot(m, 2);
  const struct state *s = &m->state[at];
  struct state *next = &m->state[at + 1];
  uint64_t r = sim_mix(&m->b.rng);
  uint32_t gone = 0, block = UNKNOWN;

  *next = *s;
  if (s->n && r % 4 == 0) {
    gone = (r >> 8) % 2 ? s->n : 1 + (uint32_t)(r >> 16) % s->n;
    next->n -= gone;
    memmove(next->block, next->block + gone, next->n * sizeof(next->block[0]));
    xattrop(m, -(int32_t)gone, UNKNOWN);
    return;
  }
  if (r % 16 < 13)
    block = m->blocks += 2;
  next->block[next->n++] = block;
  xattrop(m, 1, block);
}

/* Dies before its `crash`-th change, 0 = never; then lives on. Changes made before the crash. */
static uint64_t
history(uint64_t seed, uint64_t crash, bool power, unsigned *logs)
{
  struct machine *m = gi_new(struct machine);
  uint64_t changes;

  setup(m, seed);
  changes = sim_disk_changes(m->b.disk);
  if (crash)
    sim_disk_stop_after(m->b.disk, crash, NULL, NULL);
  for (unsigned n = 0; n < STEPS && !sim_disk_stopped(m->b.disk); n++) {
    step(m);
    check(m, seed, crash);
  }
  changes = sim_disk_changes(m->b.disk) - changes;
  sim_lone_halt(&m->b);
  if (power)
    sim_disk_power_loss(m->b.disk);
  sim_disk_resume(m->b.disk);
  check(m, seed, crash);
  assert_true(sim_lone_boot(&m->b));
  for (unsigned n = 0; n < STEPS; n++) {
    check(m, seed, crash);
    step(m);
  }
  check(m, seed, crash);
  sim_lone_halt(&m->b);
  *logs += m->logs;
  sim_disk_free(&m->b.disk);
  gi_free(m);
  return changes;
}

static void
crash_everywhere(bool power)
{
  unsigned logs = 0;

  for (uint64_t seed = 1; seed <= sim_lone_seeds(); seed++) {
    uint64_t changes = history(seed, 0, power, &logs);

    assert_true(changes > STEPS);
    for (uint64_t crash = 1; crash <= changes; crash++)
      history(seed, crash, power, &logs);
  }
  assert_true(logs > 1000);
}

static void
a_process_dies_at_every_call(void **state)
{
  (void)state;
  crash_everywhere(false);
}

static void
power_fails_at_every_call(void **state)
{
  (void)state;
  crash_everywhere(true);
}

static void
a_disk_that_fails_calls(void **state)
{
  unsigned logs = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 100 * sim_lone_seeds(); seed++) {
    struct machine *m = gi_new(struct machine);

    setup(m, seed);
    sim_disk_set_faults(m->b.disk, 50000);
    for (unsigned n = 0; n < STEPS; n++) {
      step(m);
      check(m, seed, 0);
    }
    sim_disk_set_faults(m->b.disk, 0);
    sim_lone_halt(&m->b);
    if (seed % 2)
      sim_disk_power_loss(m->b.disk);
    check(m, seed, 0);
    assert_true(sim_lone_boot(&m->b));
    for (unsigned n = 0; n < STEPS; n++) {
      step(m);
      check(m, seed, 0);
    }
    sim_lone_halt(&m->b);
    logs += m->logs;
    sim_disk_free(&m->b.disk);
    gi_free(m);
  }
  assert_true(logs > 500);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_process_dies_at_every_call),
                                     cmocka_unit_test(power_fails_at_every_call), cmocka_unit_test(a_disk_that_fails_calls)};

  return cmocka_run_group_tests(tests, NULL, NULL);
}
