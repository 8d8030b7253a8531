/* SPDX-License-Identifier: Apache-2.0
 *
 * A brick, features/index over storage/posix, that dies at any system call, as a
 * process or with its machine. Afterwards:
 *
 *   what was acknowledged as synced is there;
 *   no counter is without its index entry;
 *   once every name and every handle was looked up, names and handles are one to one.
 */
#include "tests/simulation/fault/lone-brick.h"
#include "tests/simulation/world/rng.h"

#include <dirent.h>
#include <string.h>

#define STEPS 80
#define GFIDS 14
#define DIRS 4 /* of the gfids, with the root */
#define NAMES 6
#define PENDING "trusted.afr.v-client-1"
#define DIRTY "trusted.afr.dirty"

struct machine {
  struct sim_lone b;
  struct gi_gfid gfid[GFIDS]; /* 0 = root */
  unsigned kept;              /* files kept-0 … that were written, synced and acknowledged */
};

/* ---- the machine ---- */

static void
setup(struct machine *m, uint64_t seed)
{
  *m = (struct machine){0};
  sim_lone_setup(&m->b, seed);
  m->gfid[0] = gi_gfid_root;
  for (unsigned n = 1; n < GFIDS; n++)
    m->gfid[n] = (struct gi_gfid){{0xa0, (uint8_t)n, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, (uint8_t)n}};
}

/* ---- requests ---- */

static const char *const names[NAMES] = {"a", "b", "c", "d", "e", "f"};

static struct gi_fop *
entry_fop(struct machine *m, enum gi_fop_kind kind, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid)
{
  struct gi_fop *f = gi_fop_new(m->b.graph, kind);

  f->caller.stamps = 63;
  f->caller.time = (struct gi_time){1000, 0};
  f->loc.pargfid = *parent;
  f->loc.name = gi_fop_strdup(f, name, strlen(name));
  if (gfid)
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", gfid);
  f->args.mode = kind == GI_FOP_MKDIR ? 0755 : S_IFREG | 0644;
  return f;
}

/* A file with content that must survive from the moment the fsync is answered. */
static void
keep_file(struct machine *m, const struct gi_gfid *gfid)
{
  char name[16];
  struct gi_fop *f;
  struct gi_fd *fd = gi_fd_new(m->b.graph, NULL, O_RDWR, 1);
  bool good;

  snprintf(name, sizeof(name), "kept-%u", m->kept);
  f = entry_fop(m, GI_FOP_CREATE, &gi_gfid_root, name, gfid);
  f->args.flags = O_RDWR | O_CREAT | O_EXCL;
  f->fd = gi_fd_ref(fd);
  good = sim_lone_run(&m->b, f) >= 0;
  good = good && sim_lone_write(&m->b, fd, 0, 0, name, strlen(name)) >= 0 && sim_lone_fsync(&m->b, fd, 0, false) >= 0;
  gi_fd_unref(&fd);
  m->kept += good;
}

static void
mark(struct machine *m, const struct gi_gfid *gfid, const char *key, bool set)
{
  struct gi_fop *f = gi_fop_new(m->b.graph, GI_FOP_XATTROP);

  f->loc.gfid = *gfid;
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, key, set ? "\0\0\0\1\0\0\0\0\0\0\0\0" : "\377\377\377\377\0\0\0\0\0\0\0\0", 12);
  sim_lone_run(&m->b, f);
}

/* Gfids are drawn at random: no client gives one out twice. */
static bool
is_free(struct machine *m, const struct gi_gfid *gfid)
{
  struct gi_fop *f = gi_fop_new(m->b.graph, GI_FOP_LOOKUP);

  f->loc.gfid = *gfid;
  return sim_lone_run(&m->b, f) == -ENOENT;
}

/* What failed may have left something of that gfid. */
static void
another_gfid(struct machine *m, const struct gi_gfid *gfid)
{
  m->gfid[gfid - m->gfid].b[2]++;
}

static void
make(struct machine *m, struct gi_fop *f, const struct gi_gfid *gfid)
{
  if (!is_free(m, gfid))
    gi_fop_unref(f);
  else if (sim_lone_run(&m->b, f) < 0)
    another_gfid(m, gfid);
}

static void
random_step(struct machine *m)
{
  uint64_t r = sim_mix(&m->b.rng);
  const struct gi_gfid *obj = &m->gfid[DIRS + r % (GFIDS - DIRS)], *p1 = &m->gfid[(r >> 8) % DIRS],
                       *p2 = &m->gfid[(r >> 16) % DIRS];
  const char *n1 = names[(r >> 24) % NAMES], *n2 = names[(r >> 32) % NAMES];
  struct gi_fop *f = NULL;

  switch ((r >> 40) % 16) {
  case 0:
  case 1:
    f = entry_fop(m, GI_FOP_MKNOD, p1, n1, obj);
    break;
  case 2:
  case 3:
    obj = &m->gfid[1 + r % (DIRS - 1)];
    f = entry_fop(m, GI_FOP_MKDIR, r >> 60 & 1 ? p1 : &gi_gfid_root, n1, obj);
    break;
  case 4:
    f = entry_fop(m, GI_FOP_SYMLINK, p1, n1, obj);
    f->args.link = "somewhere";
    break;
  case 5:
    f = entry_fop(m, GI_FOP_UNLINK, p1, n1, NULL);
    break;
  case 6:
    f = entry_fop(m, GI_FOP_RMDIR, p1, n1, NULL);
    break;
  case 7:
  case 8:
  case 9:
    f = entry_fop(m, GI_FOP_RENAME, p1, n1, NULL);
    f->loc2.pargfid = *p2;
    f->loc2.name = n2;
    break;
  case 10:
  case 11:
    f = gi_fop_new(m->b.graph, GI_FOP_LINK);
    f->loc.gfid = *obj;
    f->loc2.pargfid = *p2;
    f->loc2.name = n2;
    break;
  case 12:
  case 13:
    mark(m, obj, r >> 50 & 1 ? PENDING : DIRTY, true);
    break;
  case 14:
    mark(m, obj, r >> 50 & 1 ? PENDING : DIRTY, false);
    break;
  default:
    if (is_free(m, obj)) {
      unsigned kept = m->kept;

      keep_file(m, obj);
      if (m->kept == kept)
        another_gfid(m, obj);
    }
  }
  if (f && gi_dict_get(f->xdata, "gfid-req"))
    make(m, f, obj);
  else if (f)
    sim_lone_run(&m->b, f);
}

/* ---- what must hold ---- */

static void
check_kept(struct machine *m, uint64_t seed, uint64_t crash)
{
  for (unsigned n = 0; n < m->kept; n++) {
    char path[32], name[16], back[16] = "";
    struct sim_inode *i;

    snprintf(name, sizeof(name), "kept-%u", n);
    snprintf(path, sizeof(path), "/b/%s", name);
    i = sim_lone_at(&m->b, path);
    if (!i || sim_data_read(i, 0, back, sizeof(back)) != strlen(name) || strcmp(back, name) != 0)
      fail_msg("seed %llu crash %llu: %s was synced and is %s", (unsigned long long)seed, (unsigned long long)crash, name,
               i ? "damaged" : "gone");
  }
}

static void
check_index(struct machine *m, uint64_t seed, uint64_t crash)
{
  static const uint8_t none[12];
  static const struct {
    const char *key, *dir;
  } class[] = {{PENDING, "xattrop"}, {DIRTY, "dirty"}};

  gi_list_foreach(i, &m->b.disk->inodes, struct sim_inode, link) {
    const struct sim_xattr *gfid = sim_xattr_find(i, "trusted.gfid");

    for (size_t c = 0; gfid && c < GI_ARRAY_LEN(class); c++) {
      const struct sim_xattr *x = sim_xattr_find(i, class[c].key);
      char path[128], text[GI_UUID_TEXT];

      if (!x || memcmp(x->value, none, sizeof(none)) == 0)
        continue;
      gi_gfid_text((const struct gi_gfid *)(const void *)gfid->value, text);
      snprintf(path, sizeof(path), "/b/.glusterfs/indices/%s/%s", class[c].dir, text);
      if (!sim_lone_at(&m->b, path))
        fail_msg("seed %llu crash %llu: %s of %s is set and %s is not there", (unsigned long long)seed,
                 (unsigned long long)crash, class[c].key, text, path);
    }
  }
}

/* Looks up everything below a directory by name. */
static void
crawl(struct machine *m, const char *path, const struct gi_gfid *gfid)
{
  struct gi_fs_dir *d = gi_new(struct gi_fs_dir);
  const struct gi_fs_dirent *e;

  assert_int_equal(gi_fs_dir_open(d, m->b.ctx.fs, AT_FDCWD, path), 0);
  while ((e = gi_fs_dir_next(d))) {
    GI_CLEANUP_FREE char *sub = gi_asprintf("%s/%s", path, e->name);
    struct gi_gfid fresh = gi_gfid_new(m->b.ctx.reactor), own;
    struct gi_fop *f;

    if (e->name[0] == '.')
      continue;
    f = gi_fop_ref(entry_fop(m, GI_FOP_LOOKUP, gfid, e->name, &fresh));
    sim_lone_run(&m->b, f);
    own = f->rsp.stat.gfid;
    if (f->rsp.ret >= 0 && e->type == DT_DIR)
      crawl(m, sub, &own);
    gi_fop_unref(f);
  }
  gi_fs_dir_close(d);
  gi_free(d);
}

/* One history of random requests; dies before its `crash`-th change, 0 = never. Changes made. */
static uint64_t
history(uint64_t seed, uint64_t crash, bool power)
{
  struct machine m;
  uint64_t changes;
  char why[512];

  setup(&m, seed);
  assert_true(sim_lone_boot(&m.b));
  for (unsigned n = 1; n < DIRS; n++)
    assert_int_equal(sim_lone_run(&m.b, entry_fop(&m, GI_FOP_MKDIR, &m.gfid[n / 2], names[n], &m.gfid[n])), 0);
  sim_disk_sync(m.b.disk);
  changes = sim_disk_changes(m.b.disk);
  if (crash)
    sim_disk_stop_after(m.b.disk, crash, NULL, NULL);
  for (unsigned n = 0; n < STEPS && !sim_disk_stopped(m.b.disk); n++)
    random_step(&m);
  changes = sim_disk_changes(m.b.disk) - changes;
  sim_lone_halt(&m.b);
  if (power)
    sim_disk_power_loss(m.b.disk);
  sim_disk_resume(m.b.disk);
  check_kept(&m, seed, crash);
  check_index(&m, seed, crash);
  assert_true(sim_lone_boot(&m.b));
  crawl(&m, "/b", &gi_gfid_root);
  sim_lone_halt(&m.b);
  check_kept(&m, seed, crash);
  check_index(&m, seed, crash);
  if (!(crash || power ? sim_disk_sound_after_crash : sim_disk_sound)(m.b.disk, "/b", why, sizeof(why)))
    fail_msg("seed %llu crash %llu %s: %s", (unsigned long long)seed, (unsigned long long)crash, power ? "power" : "process",
             why);
  sim_disk_free(&m.b.disk);
  return changes;
}

static void
crash_everywhere(bool power)
{
  for (uint64_t seed = 1; seed <= sim_lone_seeds(); seed++) {
    uint64_t changes = history(seed, 0, power);

    assert_true(changes > 20);
    for (uint64_t crash = 1; crash <= changes; crash++)
      history(seed, crash, power);
  }
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

/* A disk that fails calls at random, for a history and then a power loss. What was acknowledged is still there. */
static uint64_t
faulty_history(uint64_t seed)
{
  struct machine m;
  uint64_t faults = 0;
  char why[512];

  setup(&m, seed);
  assert_true(sim_lone_boot(&m.b));
  for (unsigned n = 1; n < DIRS; n++)
    assert_int_equal(sim_lone_run(&m.b, entry_fop(&m, GI_FOP_MKDIR, &m.gfid[n / 2], names[n], &m.gfid[n])), 0);
  sim_disk_set_faults(m.b.disk, 30000);
  sim_disk_set_fault(m.b.disk, SIM_FAULT_SLOW, 300000);
  sim_disk_set_fault(m.b.disk, SIM_FAULT_COLD, 300000);
  for (unsigned n = 0; n < STEPS; n++)
    random_step(&m);
  sim_disk_set_faults(m.b.disk, 0);
  sim_lone_halt(&m.b);
  sim_disk_power_loss(m.b.disk);
  check_kept(&m, seed, 0);
  assert_true(sim_lone_boot(&m.b));
  crawl(&m, "/b", &gi_gfid_root);
  sim_lone_halt(&m.b);
  check_kept(&m, seed, 0);
  if (!sim_disk_sound_after_crash(m.b.disk, "/b", why, sizeof(why)))
    fail_msg("seed %llu: %s", (unsigned long long)seed, why);
  for (int f = 0; f < SIM_FAULT_COLD; f++)
    faults += sim_disk_fault_count(m.b.disk, (enum sim_fault)f);
  sim_disk_free(&m.b.disk);
  return faults;
}

static void
faults_are_answered(void **state)
{
  uint64_t faults = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 20 * sim_lone_seeds(); seed++)
    faults += faulty_history(seed);
  assert_true(faults > 100);
}

/* A counter, data, and the data alone brought to the disk: whatever else a power loss takes, there is no such data without it. */
static void
no_data_without_its_counter(void **state)
{
  (void)state;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    struct machine m;
    struct gi_fop *f;
    struct gi_fd *fd;
    char back[8] = "";

    setup(&m, seed);
    assert_true(sim_lone_boot(&m.b));
    keep_file(&m, &m.gfid[DIRS]);
    f = gi_fop_new(m.b.graph, GI_FOP_OPEN);
    f->loc.gfid = m.gfid[DIRS];
    f->args.flags = O_RDWR;
    fd = f->fd = gi_fd_ref(gi_fd_new(m.b.graph, NULL, O_RDWR, 1));
    assert_true(sim_lone_run(&m.b, f) >= 0);
    mark(&m, &m.gfid[DIRS], DIRTY, true);
    assert_int_equal(sim_lone_write(&m.b, fd, 0, seed % 2 ? O_DSYNC : 0, "x", 1), 1);
    if (seed % 2 == 0)
      assert_int_equal(sim_lone_fsync(&m.b, fd, 0, true), 0);
    gi_fd_unref(&fd);
    sim_lone_halt(&m.b);
    sim_disk_power_loss(m.b.disk);
    assert_int_equal(sim_data_read(sim_lone_at(&m.b, "/b/kept-0"), 0, back, 1), 1);
    assert_int_equal(back[0], 'x');
    assert_non_null(sim_xattr_find(sim_lone_at(&m.b, "/b/kept-0"), DIRTY));
    sim_disk_free(&m.b.disk);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_data_without_its_counter),
                                     cmocka_unit_test(a_process_dies_at_every_call),
                                     cmocka_unit_test(power_fails_at_every_call), cmocka_unit_test(faults_are_answered)};

  return cmocka_run_group_tests(tests, NULL, NULL);
}
