/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated disk: what survives which crash, and what each fault does.
 */
#include "tests/simulation/disk/disk.h"
#include "tests/simulation/world/rng.h"
#include "libglusterish/mem.h"
#include "libglusterish/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>
#include <sys/xattr.h>

struct world {
  uint64_t rng, now;
  struct sim_disk *d;
  struct gi_fs *fs;
  int root;      /* descriptor of "/b" */
  unsigned lost; /* sectors */
};

static uint64_t
next_random(void *arg)
{
  return sim_mix(&((struct world *)arg)->rng);
}

static uint64_t
now(void *arg)
{
  return ((struct world *)arg)->now;
}

static void
count_lost(void *arg, const uint8_t head[SIM_SECTOR_HEAD])
{
  (void)head;
  ((struct world *)arg)->lost++;
}

static void
boot(struct world *w)
{
  w->fs = sim_disk_view(w->d);
  w->root = gi_fs_openat(w->fs, AT_FDCWD, "/b", O_RDONLY | O_DIRECTORY, 0);
  assert_true(w->root >= 0);
}

static void
setup(struct world *w, uint64_t seed)
{
  struct sim_disk_config c = {.random = next_random, .now = now, .lost = count_lost, .arg = w, .capacity = 4u << 20};

  *w = (struct world){.rng = seed, .now = 1000000000ull * 1700000000u};
  w->d = sim_disk_new(&c);
  assert_int_equal(sim_disk_make_dir(w->d, "/b"), 0);
  boot(w);
}

static void
teardown(struct world *w)
{
  sim_view_free(&w->fs);
  sim_disk_free(&w->d);
}

static void
process_crash(struct world *w)
{
  sim_view_free(&w->fs);
  boot(w);
}

static void
power_loss(struct world *w)
{
  sim_view_free(&w->fs);
  sim_disk_power_loss(w->d);
  boot(w);
}

static int
make_file(struct world *w, const char *name)
{
  int fd = gi_fs_openat(w->fs, w->root, name, O_RDWR | O_CREAT | O_EXCL, 0644);

  assert_true(fd >= 0);
  return fd;
}

static bool
exists(struct world *w, const char *name)
{
  struct stat st;

  return gi_fs_stat(w->fs, w->root, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The bytes of a file, -1 if it is not there. */
static ssize_t
content(struct world *w, const char *name, void *out, size_t len)
{
  int fd = gi_fs_openat(w->fs, w->root, name, O_RDONLY, 0);
  ssize_t n = fd < 0 ? -1 : gi_fs_pread(w->fs, fd, out, len, 0);

  if (fd >= 0)
    gi_fs_close(w->fs, fd);
  return n;
}

static void
write_all(struct world *w, int fd, int byte, size_t len, off_t at)
{
  char *data = gi_alloc(len);

  memset(data, byte, len);
  assert_int_equal(gi_fs_pwrite(w->fs, fd, data, len, at), len);
  gi_free(data);
}

static void
a_process_crash_loses_nothing(void **state)
{
  struct world w;
  char back[100];

  (void)state;
  setup(&w, 1);
  write_all(&w, make_file(&w, "f"), 'x', 100, 0);
  assert_int_equal(gi_fs_mkdir(w.fs, w.root, "d", 0755), 0);
  process_crash(&w);
  assert_int_equal(content(&w, "f", back, sizeof(back)), 100);
  assert_int_equal(back[99], 'x');
  assert_true(exists(&w, "d"));
  teardown(&w);
}

static void
what_was_synced_survives(void **state)
{
  (void)state;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    struct world w;
    char back[10000];
    int fd;

    setup(&w, seed);
    fd = make_file(&w, "f");
    write_all(&w, fd, 'a', 10000, 0);
    assert_int_equal(gi_fs_fsetxattr(w.fs, fd, "trusted.k", "v", 1, 0), 0);
    assert_int_equal(gi_fs_fsync(w.fs, fd, false), 0);
    write_all(&w, make_file(&w, "not-synced"), 'b', 10, 0);
    power_loss(&w);
    assert_int_equal(content(&w, "f", back, sizeof(back)), 10000);
    for (size_t n = 0; n < sizeof(back); n++)
      assert_int_equal(back[n], 'a');
    fd = gi_fs_openat(w.fs, w.root, "f", O_RDONLY, 0);
    assert_int_equal(gi_fs_fgetxattr(w.fs, fd, "trusted.k", back, 1), 1);
    teardown(&w);
  }
}

static void
what_was_not_may_go_and_may_stay(void **state)
{
  unsigned gone = 0, kept = 0, empty = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct world w;
    char back[100];
    ssize_t n;

    setup(&w, seed);
    write_all(&w, make_file(&w, "f"), 'x', 100, 0);
    power_loss(&w);
    n = content(&w, "f", back, sizeof(back));
    gone += n < 0;
    empty += n == 0;
    kept += n == 100 && back[0] == 'x';
    teardown(&w);
  }
  assert_true(gone > 20 && kept > 20 && empty > 20);
  assert_int_equal(gone + kept + empty, 300);
}

/* The size may survive without the data within a block that existed, and where the size was set; never into a new block. */
static void
a_size_may_survive_its_data(void **state)
{
  unsigned zeroes[3] = {0}, shorter = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 900; seed++) {
    unsigned way = seed % 3;
    struct world w;
    char back[8192];
    ssize_t n;
    int fd;

    setup(&w, seed);
    fd = make_file(&w, "f");
    write_all(&w, fd, 'a', way ? 4096 : 100, 0);
    sim_disk_sync(w.d);
    write_all(&w, fd, 'b', 100, way ? 4096 : 100);
    if (way == 1)
      assert_int_equal(gi_fs_ftruncate(w.fs, fd, 8192), 0);
    power_loss(&w);
    n = content(&w, "f", back, sizeof(back));
    assert_true(n >= (way ? 4096 : 100));
    zeroes[way] += n > (way ? 4096 : 100) && back[way ? 4096 : 100] == 0;
    shorter += way == 2 && n == 4096;
    teardown(&w);
  }
  assert_true(zeroes[0] > 20 && zeroes[1] > 20 && shorter > 20);
  assert_int_equal(zeroes[2], 0);
}

static void
the_journal_keeps_a_prefix(void **state)
{
  unsigned seen[12] = {0};

  (void)state;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    struct world w;
    char name[16];
    int have = 0;

    setup(&w, seed);
    for (int n = 0; n < 10; n++) {
      snprintf(name, sizeof(name), "d%d", n);
      assert_int_equal(gi_fs_mkdir(w.fs, w.root, name, 0755), 0);
    }
    power_loss(&w);
    for (int n = 0; n < 10; n++) {
      snprintf(name, sizeof(name), "d%d", n);
      if (exists(&w, name))
        assert_int_equal(have++, n); /* none before it is missing */
    }
    seen[have]++;
    teardown(&w);
  }
  for (int n = 0; n <= 10; n++)
    assert_true(seen[n] > 0);
}

static void
fsync_of_a_directory_commits_names(void **state)
{
  (void)state;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    struct world w;

    setup(&w, seed);
    make_file(&w, "a");
    assert_int_equal(gi_fs_link(w.fs, w.root, "a", w.root, "b"), 0);
    assert_int_equal(gi_fs_unlink(w.fs, w.root, "a", 0), 0);
    assert_int_equal(gi_fs_fsync(w.fs, w.root, false), 0);
    assert_int_equal(gi_fs_unlink(w.fs, w.root, "b", 0), 0);
    power_loss(&w);
    assert_false(exists(&w, "a"));
    teardown(&w);
  }
}

static void
a_rename_is_whole_or_not_at_all(void **state)
{
  unsigned done = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    struct world w;
    struct stat st;
    char back[4];

    setup(&w, seed);
    write_all(&w, make_file(&w, "old"), 'o', 4, 0);
    write_all(&w, make_file(&w, "new"), 'n', 4, 0);
    sim_disk_sync(w.d);
    assert_int_equal(gi_fs_rename(w.fs, w.root, "new", w.root, "old"), 0);
    power_loss(&w);
    assert_int_equal(content(&w, "old", back, 4), 4);
    assert_int_equal(back[0], exists(&w, "new") ? 'o' : 'n');
    done += !exists(&w, "new");
    assert_int_equal(gi_fs_stat(w.fs, w.root, "old", &st, 0), 0);
    assert_int_equal(st.st_nlink, 1);
    teardown(&w);
  }
  assert_true(done > 10 && done < 90);
}

static void
writes_tear_at_sectors(void **state)
{
  unsigned torn = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    struct world w;
    char back[4096];
    int fd;
    bool old = false, new = false;

    setup(&w, seed);
    fd = make_file(&w, "f");
    write_all(&w, fd, 'o', 4096, 0);
    sim_disk_sync(w.d);
    write_all(&w, fd, 'n', 4096, 0);
    power_loss(&w);
    assert_int_equal(content(&w, "f", back, 4096), 4096);
    for (size_t n = 0; n < 4096; n++) {
      assert_int_equal(back[n], back[n - n % 512]);
      assert_true(back[n] == 'o' || back[n] == 'n');
      old |= back[n] == 'o';
      new |= back[n] == 'n';
    }
    torn += old && new;
    teardown(&w);
  }
  assert_true(torn > 20 && torn < 180);
}

static void
truncation_is_taken_back_with_its_data(void **state)
{
  unsigned back_again = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    struct world w;
    char back[9000];
    ssize_t n;
    int fd;

    setup(&w, seed);
    fd = make_file(&w, "f");
    write_all(&w, fd, 'o', 9000, 0);
    sim_disk_sync(w.d);
    assert_int_equal(gi_fs_ftruncate(w.fs, fd, 0), 0);
    write_all(&w, fd, 'n', 500, 0);
    power_loss(&w);
    n = content(&w, "f", back, sizeof(back));
    if (n == 9000) { /* the cut is lost, so everything after it is lost too */
      for (n = 0; n < 9000; n++)
        assert_int_equal(back[n], 'o');
      back_again++;
    } else {
      assert_true(n == 0 || (n == 500 && (back[0] == 'n' || back[0] == 0)));
    }
    teardown(&w);
  }
  assert_true(back_again > 10 && back_again < 90);
}

static void
fdatasync_leaves_names_and_attributes(void **state)
{
  unsigned lost = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    struct world w;
    char back[8];
    int fd;

    setup(&w, seed);
    fd = make_file(&w, "f");
    write_all(&w, fd, 'o', 8, 0);
    sim_disk_sync(w.d);
    write_all(&w, fd, 'n', 8, 0);
    assert_int_equal(gi_fs_fsetxattr(w.fs, fd, "trusted.k", "v", 1, 0), 0);
    assert_int_equal(gi_fs_fsync(w.fs, fd, true), 0);
    power_loss(&w);
    assert_int_equal(content(&w, "f", back, 8), 8);
    assert_int_equal(back[0], 'n');
    fd = gi_fs_openat(w.fs, w.root, "f", O_RDONLY, 0);
    lost += gi_fs_fgetxattr(w.fs, fd, "trusted.k", back, 8) < 0;
    teardown(&w);
  }
  assert_true(lost > 10 && lost < 90);
}

static void
the_journal_commits_by_itself(void **state)
{
  (void)state;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    struct world w;

    setup(&w, seed);
    assert_int_equal(gi_fs_mkdir(w.fs, w.root, "early", 0755), 0);
    w.now += 6 * 1000000000ull;
    if (seed % 2) /* otherwise the disk is idle from now on */
      assert_int_equal(gi_fs_mkdir(w.fs, w.root, "late", 0755), 0);
    power_loss(&w);
    assert_true(exists(&w, "early"));
    teardown(&w);
  }
}

static void
a_failed_fsync_is_not_made_good(void **state)
{
  struct world w;
  char back[8];
  int fd;

  (void)state;
  setup(&w, 5);
  fd = make_file(&w, "f");
  write_all(&w, fd, 'o', 8, 0);
  sim_disk_sync(w.d);
  write_all(&w, fd, 'n', 8, 0);
  sim_disk_set_fault(w.d, SIM_FAULT_FSYNC, 1000000);
  assert_int_equal(gi_fs_fsync(w.fs, fd, false), -1);
  assert_int_equal(errno, EIO);
  sim_disk_set_faults(w.d, 0);
  assert_int_equal(gi_fs_fsync(w.fs, fd, false), 0);
  assert_int_equal(content(&w, "f", back, 8), 8);
  assert_int_equal(back[0], 'n'); /* the cache has it */
  power_loss(&w);
  assert_int_equal(content(&w, "f", back, 8), 8);
  assert_int_equal(back[0], 'o'); /* the disk never had */
  assert_int_equal(sim_disk_fault_count(w.d, SIM_FAULT_FSYNC), 1);
  teardown(&w);
}

/* A failed write-back is reported as the kernel does: once to each open file, and to a later one only if nobody was told. */
static void
a_refused_write_out_is_told_once_to_each(void **state)
{
  struct world w;
  char back[8];
  int fd, other, third;

  (void)state;
  setup(&w, 5);
  fd = make_file(&w, "f");
  other = gi_fs_openat(w.fs, w.root, "f", O_RDWR, 0);
  write_all(&w, fd, 'o', 8, 0);
  sim_disk_sync(w.d);
  sim_disk_set_fault(w.d, SIM_FAULT_WRITE_OUT, 1000000);
  assert_int_equal(gi_fs_write_out(w.fs, fd, 0, 8, true), 0); /* there is nothing to refuse */
  write_all(&w, fd, 'n', 8, 0);
  assert_int_equal(gi_fs_write_out(w.fs, fd, 4096, 8, true), 0); /* nor here */
  assert_int_equal(gi_fs_write_out(w.fs, fd, 0, 8, true), -1);
  assert_int_equal(errno, EIO);
  sim_disk_set_fault(w.d, SIM_FAULT_WRITE_OUT, 0);
  third = gi_fs_openat(w.fs, w.root, "f", O_RDWR, 0);
  assert_int_equal(gi_fs_fsync(w.fs, fd, false), 0);
  assert_int_equal(gi_fs_fsync(w.fs, third, false), 0);
  assert_int_equal(gi_fs_fsync(w.fs, other, false), -1);
  assert_int_equal(gi_fs_fsync(w.fs, other, false), 0);
  power_loss(&w);
  assert_int_equal(content(&w, "f", back, 8), 8);
  assert_int_equal(back[0], 'o');
  teardown(&w);
}

/* A refused write-out loses what only the cache has. */
static void
what_is_on_the_disk_already_is_not_lost(void **state)
{
  struct world w;
  int fd;

  (void)state;
  setup(&w, 5);
  fd = make_file(&w, "f");
  write_all(&w, fd, 'o', 1024, 0);
  sim_disk_sync(w.d);
  write_all(&w, fd, 'o', 512, 0);
  write_all(&w, fd, 'n', 512, 512);
  sim_disk_set_fault(w.d, SIM_FAULT_FSYNC, 1000000);
  assert_int_equal(gi_fs_fsync(w.fs, fd, false), -1);
  assert_int_equal(w.lost, 1);
  teardown(&w);
}

/* Losing a refused page does not lose what was synced after it. */
static void
a_file_is_as_long_as_what_was_synced(void **state)
{
  struct world w;
  char back[8200];
  int fd;

  (void)state;
  setup(&w, 5);
  fd = make_file(&w, "f");
  write_all(&w, fd, 'a', 4096, 0);
  sim_disk_set_fault(w.d, SIM_FAULT_FSYNC, 1000000);
  assert_int_equal(gi_fs_fsync(w.fs, fd, true), -1);
  sim_disk_set_faults(w.d, 0);
  write_all(&w, fd, 'b', 8, 8192);
  assert_int_equal(gi_fs_fsync(w.fs, fd, true), 0);
  power_loss(&w);
  assert_int_equal(content(&w, "f", back, sizeof(back)), 8200);
  assert_int_equal(back[0], 0);
  assert_int_equal(back[8192], 'b');
  teardown(&w);
}

static void
an_unlinked_open_file_goes_with_its_descriptor(void **state)
{
  struct world w;
  char back[8];
  int fd;

  (void)state;
  setup(&w, 6);
  fd = make_file(&w, "f");
  write_all(&w, fd, 'x', 8, 0);
  assert_int_equal(gi_fs_unlink(w.fs, w.root, "f", 0), 0);
  assert_int_equal(gi_fs_pread(w.fs, fd, back, 8, 0), 8);
  assert_int_equal(sim_view_open_files(w.fs), 2);
  assert_int_equal(gi_fs_close(w.fs, fd), 0);
  assert_int_equal(gi_fs_close(w.fs, fd), -1);
  assert_int_equal(errno, EBADF);
  teardown(&w); /* asserts that no page is left */
}

static bool told;

static void
tell(void *arg)
{
  (void)arg;
  told = true;
}

static void
a_stopped_disk_does_nothing(void **state)
{
  struct world w;
  struct stat st;

  (void)state;
  setup(&w, 7);
  sim_disk_stop_after(w.d, 3, tell, NULL);
  assert_int_equal(gi_fs_mkdir(w.fs, w.root, "1", 0755), 0);
  assert_int_equal(gi_fs_mkdir(w.fs, w.root, "2", 0755), 0);
  assert_false(told);
  assert_int_equal(gi_fs_mkdir(w.fs, w.root, "3", 0755), -1);
  assert_true(told && sim_disk_stopped(w.d));
  assert_int_equal(gi_fs_stat(w.fs, w.root, "1", &st, 0), -1);
  assert_int_equal(errno, EIO);
  sim_view_free(&w.fs);
  sim_disk_resume(w.d);
  boot(&w);
  assert_true(exists(&w, "1") && exists(&w, "2") && !exists(&w, "3"));
  teardown(&w);
}

static void
a_full_disk_says_so(void **state)
{
  struct world w;
  struct statvfs v;
  char *data = gi_zalloc(8u << 20);
  int fd;

  (void)state;
  setup(&w, 8);
  fd = make_file(&w, "f");
  assert_int_equal(gi_fs_pwrite(w.fs, fd, data, 8u << 20, 0), 4u << 20);
  assert_int_equal(gi_fs_pwrite(w.fs, fd, data, 1, 4u << 20), -1);
  assert_int_equal(errno, ENOSPC);
  assert_int_equal(gi_fs_statvfs(w.fs, w.root, &v), 0);
  assert_int_equal(v.f_bfree, 0);
  assert_int_equal(gi_fs_pwrite(w.fs, fd, data, 100, 5000), 100); /* overwriting needs no space */
  sim_disk_set_read_only(w.d, true);
  assert_int_equal(gi_fs_mkdir(w.fs, w.root, "d", 0755), -1);
  assert_int_equal(errno, EROFS);
  gi_free(data);
  teardown(&w);
}

/* One brick with one file: its name, handle and xattrs. */
static void
plant(struct world *w, int mode, const char *data)
{
  uint8_t gfid[16] = {0xab, 0xcd, 1, 1, 1, 1, 0x41, 1, 0x81, 1, 1, 1, 1, 1, 1, 1};
  int fd;

  gi_fs_mkdir(w->fs, w->root, ".glusterfs", 0700);
  gi_fs_mkdir(w->fs, w->root, ".glusterfs/ab", 0700);
  gi_fs_mkdir(w->fs, w->root, ".glusterfs/ab/cd", 0700);
  fd = make_file(w, "f");
  gi_fs_fsetxattr(w->fs, fd, "trusted.gfid", gfid, 16, 0);
  gi_fs_chmod(w->fs, fd, "", (mode_t)mode);
  gi_fs_pwrite(w->fs, fd, data, strlen(data), 0);
  gi_fs_link(w->fs, w->root, "f", w->root, ".glusterfs/ab/cd/abcd0101-0101-4101-8101-010101010101");
  gi_fs_close(w->fs, fd);
}

/* f was changed last at 0 on the one, and a nanosecond later on the other. */
static void
only_lost_times_may_differ(struct world *a, struct world *b)
{
  const struct gi_time later = {0, 1}, earlier = {0, 0};
  struct sim_lost_times lost = {0};
  struct gi_gfid gfid, other = {.b = {1}};
  char why[256];

  assert_true(gi_gfid_parse("abcd0101-0101-4101-8101-010101010101", &gfid));
  sim_lost_times_add(&lost, &gfid, &earlier); /* what was lost is that */
  sim_lost_times_add(&lost, &other, &later);
  assert_false(sim_disk_same_but(a->d, "/b", b->d, "/b", 0, &lost, why, sizeof(why)));
  sim_lost_times_add(&lost, &gfid, &later);
  assert_true(sim_disk_same_but(a->d, "/b", b->d, "/b", 0, &lost, why, sizeof(why)));
  assert_true(sim_disk_same_but(b->d, "/b", a->d, "/b", 0, &lost, why, sizeof(why)));
  sim_lost_times_free(&lost);
}

static void
differences_are_named(void **state)
{
  struct world a, b;
  uint8_t times[57] = {1};
  char why[256] = "";
  int fd;

  (void)state;
  setup(&a, 1);
  setup(&b, 2);
  plant(&a, 0644, "same");
  plant(&b, 0644, "same");
  if (!sim_disk_same(a.d, "/b", b.d, "/b", why, sizeof(why)))
    fail_msg("%s", why);

  fd = gi_fs_openat(b.fs, b.root, "f", O_RDWR, 0);
  gi_fs_fsetxattr(b.fs, fd, "trusted.afr.v-client-0", "123456789012", 12, 0);
  gi_fs_fsetxattr(b.fs, fd, "trusted.afr.v-client-1", "\0\0\0\0\0\0\0\1\0\0\0\1", 12, 0);
  assert_true(sim_disk_accuses(b.d, "/b/f", "trusted.afr.v-client-0"));
  assert_false(sim_disk_accuses(b.d, "/b/f", "trusted.afr.v-client-1")); /* but of its data */
  assert_false(sim_disk_accuses(a.d, "/b/f", "trusted.afr.v-client-0"));
  assert_true(sim_disk_same(a.d, "/b", b.d, "/b", why, sizeof(why)));
  gi_fs_fsetxattr(b.fs, fd, "user.x", "1", 1, 0);
  assert_false(sim_disk_same(a.d, "/b", b.d, "/b", why, sizeof(why)));
  assert_string_equal(why, "/f/: only the second has attribute user.x");
  assert_int_equal(b.fs->ops->removexattr(b.fs, fd, "", "user.x"), 0);
  gi_fs_fsetxattr(a.fs, gi_fs_openat(a.fs, a.root, "f", O_RDWR, 0), "trusted.glusterfs.mdata", times, sizeof(times), 0);
  assert_false(sim_disk_same(a.d, "/b", b.d, "/b", why, sizeof(why)));
  assert_string_equal(why, "/f/: only one has times");
  times[9] = times[41] = 1; /* the ctime and the atime */
  gi_fs_fsetxattr(b.fs, fd, "trusted.glusterfs.mdata", times, sizeof(times), 0);
  assert_true(sim_disk_same(a.d, "/b", b.d, "/b", why, sizeof(why)));
  times[40] = 1;
  gi_fs_fsetxattr(b.fs, fd, "trusted.glusterfs.mdata", times, sizeof(times), 0);
  assert_false(sim_disk_same(a.d, "/b", b.d, "/b", why, sizeof(why)));
  assert_string_equal(why, "/f/: changed at another time");
  assert_true(sim_disk_same_but(a.d, "/b", b.d, "/b", SIM_BUT_MTIME, NULL, why, sizeof(why)));
  only_lost_times_may_differ(&a, &b);
  times[40] = 0;
  gi_fs_fsetxattr(b.fs, fd, "trusted.glusterfs.mdata", times, sizeof(times), 0);
  gi_fs_pwrite(b.fs, fd, "X", 1, 3);
  assert_false(sim_disk_same(a.d, "/b", b.d, "/b", why, sizeof(why)));
  assert_string_equal(why, "/f: content differs at byte 3");
  gi_fs_pwrite(b.fs, fd, "e", 1, 3);
  gi_fs_chmod(b.fs, fd, "", 0600);
  assert_false(sim_disk_same(a.d, "/b", b.d, "/b", why, sizeof(why)));
  assert_string_equal(why, "/f/: mode 0100644 on the first, 0100600 on the second");
  gi_fs_unlink(a.fs, a.root, "f", 0);
  assert_false(sim_disk_sound(a.d, "/b", why, sizeof(why)));
  assert_string_equal(why, "handle abcd0101-0101-4101-8101-010101010101 has no name");
  gi_fs_unlink(b.fs, b.root, ".glusterfs/ab/cd/abcd0101-0101-4101-8101-010101010101", 0);
  assert_false(sim_disk_sound(b.d, "/b", why, sizeof(why)));
  assert_string_equal(why, "/f: its gfid abcd0101-0101-4101-8101-010101010101 has no handle");
  teardown(&a);
  teardown(&b);
}

static void
times_of_linkto_files_do_not_count(void **state)
{
  struct world w[2];
  uint8_t times[57] = {1};
  char why[256] = "";
  int fd;

  (void)state;
  for (unsigned i = 0; i < 2; i++) {
    setup(&w[i], i + 1);
    plant(&w[i], GI_LINKTO_MODE, "");
    fd = gi_fs_openat(w[i].fs, w[i].root, "f", O_RDWR, 0);
    times[40] = 1;
    if (i == 1)
      gi_fs_fsetxattr(w[i].fs, fd, "trusted.glusterfs.mdata", times, sizeof(times), 0);
  }
  assert_false(sim_disk_same(w[0].d, "/b", w[1].d, "/b", why, sizeof(why))); /* a file that its owner has given this mode */
  for (unsigned i = 0; i < 2; i++) {
    fd = gi_fs_openat(w[i].fs, w[i].root, "f", O_RDWR, 0);
    gi_fs_fsetxattr(w[i].fs, fd, "trusted.glusterfs.dht.linkto", "v-1", 4, 0);
  }
  if (!sim_disk_same(w[0].d, "/b", w[1].d, "/b", why, sizeof(why)))
    fail_msg("%s", why);
  for (unsigned i = 0; i < 2; i++)
    teardown(&w[i]);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_process_crash_loses_nothing),
      cmocka_unit_test(what_was_synced_survives),
      cmocka_unit_test(what_was_not_may_go_and_may_stay),
      cmocka_unit_test(a_size_may_survive_its_data),
      cmocka_unit_test(the_journal_keeps_a_prefix),
      cmocka_unit_test(fsync_of_a_directory_commits_names),
      cmocka_unit_test(a_rename_is_whole_or_not_at_all),
      cmocka_unit_test(writes_tear_at_sectors),
      cmocka_unit_test(truncation_is_taken_back_with_its_data),
      cmocka_unit_test(fdatasync_leaves_names_and_attributes),
      cmocka_unit_test(the_journal_commits_by_itself),
      cmocka_unit_test(a_failed_fsync_is_not_made_good),
      cmocka_unit_test(a_refused_write_out_is_told_once_to_each),
      cmocka_unit_test(what_is_on_the_disk_already_is_not_lost),
      cmocka_unit_test(a_file_is_as_long_as_what_was_synced),
      cmocka_unit_test(an_unlinked_open_file_goes_with_its_descriptor),
      cmocka_unit_test(a_stopped_disk_does_nothing),
      cmocka_unit_test(a_full_disk_says_so),
      cmocka_unit_test(differences_are_named),
      cmocka_unit_test(times_of_linkto_files_do_not_count),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
