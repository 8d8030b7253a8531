/* SPDX-License-Identifier: Apache-2.0
 *
 * storage/posix on a simulated disk on which something else happens between two
 * of its calls, as operations of other workers do, or on one that is nearly full.
 */
#include "tests/simulation/disk/disk.h"
#include "tests/simulation/world/rng.h"
#include "tests/simulation/disk/view.h"
#include "xlators/storage/posix/posix-fixture.h"

#include "xlators/storage/posix/posix.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR "/bricks/b1"

static struct {
  struct sim_disk *disk;
  struct gi_fs *fs;
  struct brick *b;
  struct gi_fs_ops ops;
  const char *call, *name; /* before this call on this last component … */
  void (*act)(void);       /* … this happens, once */
  char path[128];
  unsigned allocations; /* calls of fallocate that reached the disk */
  uint64_t rng;
} t;

static struct gi_gfid file = {{0xa0, 0x1b, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 99}};
static char handle[GI_UUID_TEXT];

static uint64_t
next_random(void *arg)
{
  return sim_mix(arg);
}

static uint64_t
wall(void *arg)
{
  (void)arg;
  return 5000000000u;
}

static void
before(const char *call, const char *path)
{
  const char *last = strrchr(path, '/');
  void (*act)(void) = t.act;

  if (!act || strcmp(call, t.call) != 0 || strcmp(last ? last + 1 : path, t.name) != 0)
    return;
  t.act = NULL;
  act();
}

static int
hooked_unlink(struct gi_fs *fs, int at, const char *path, int flags)
{
  before("unlink", path);
  return sim_view_ops.unlink(fs, at, path, flags);
}

static int
hooked_rename(struct gi_fs *fs, int from, const char *old, int to, const char *new, bool replaces)
{
  before("rename", old);
  return sim_view_ops.rename(fs, from, old, to, new, replaces);
}

static int
hooked_fallocate(struct gi_fs *fs, int fd, int mode, off_t at, off_t len)
{
  t.allocations++;
  return sim_view_ops.fallocate(fs, fd, mode, at, len);
}

static ssize_t
hooked_getxattr(struct gi_fs *fs, int at, const char *path, const char *name, void *value, size_t size)
{
  before("getxattr", path);
  return sim_view_ops.getxattr(fs, at, path, name, value, size);
}

static void
happens(const char *call, const char *name, void (*act)(void))
{
  t.call = call;
  t.name = name;
  t.act = act;
}

static int
begin(void **state)
{
  struct sim_disk_config c = {.random = next_random, .now = wall, .arg = &t.rng, .capacity = 1 << 20};

  (void)state;
  t.rng = 1;
  t.act = NULL;
  t.disk = sim_disk_new(&c);
  assert_int_equal(sim_disk_make_dir(t.disk, DIR), 0);
  t.fs = sim_disk_view(t.disk);
  t.ops = sim_view_ops;
  t.ops.unlink = hooked_unlink;
  t.ops.rename = hooked_rename;
  t.ops.getxattr = hooked_getxattr;
  t.ops.fallocate = hooked_fallocate;
  t.allocations = 0;
  t.fs->ops = &t.ops;
  brick_engine = "pool";
  t.b = brick_new_on(t.fs, DIR, "option disable-landfill-purge on\n");
  gi_gfid_text(&file, handle);
  return 0;
}

static int
end(void **state)
{
  char why[512];

  (void)state;
  assert_null(t.act); /* it happened. A LOOKUP by gfid would remove a leftover and hide it */
  if (!sim_disk_sound(t.disk, DIR, why, sizeof(why)))
    fail_msg("%s", why);
  brick_stop(t.b);
  assert_int_equal(sim_view_open_files(t.fs), 0);
  brick_free(t.b);
  sim_view_free(&t.fs);
  sim_disk_free(&t.disk);
  return 0;
}

/* ---- what the other worker does ---- */

static int
other_unlink(const char *path)
{
  return sim_view_ops.unlink(t.fs, AT_FDCWD, path, 0);
}

/* An UNLINK that saw other names, and so left the handle alone. */
static void
unlink_b(void)
{
  assert_int_equal(other_unlink(DIR "/b"), 0);
}

/* A LINK by the handle. */
static void
link_c(void)
{
  char from[256];

  snprintf(from, sizeof(from), DIR "/.glusterfs/%.2s/%.2s/%s", handle, handle + 2, handle);
  assert_int_equal(sim_view_ops.link(t.fs, AT_FDCWD, from, AT_FDCWD, DIR "/c"), 0);
}

/* An UNLINK of the same name that parked the handle too late. */
static void
unlink_a(void)
{
  assert_int_equal(other_unlink(DIR "/a"), 0);
}

static void
rename_x_to_a(void)
{
  assert_int_equal(sim_view_ops.rename(t.fs, AT_FDCWD, DIR "/x", AT_FDCWD, DIR "/a", true), 0);
  assert_int_equal(other_unlink(t.path), 0); /* the handle of the object that had the name */
}

static void
two_names(void)
{
  assert_ok(brick_mknod(t.b, ROOT, "a", S_IFREG | 0600, &file));
  assert_ok(brick_link(t.b, &file, ROOT, "b"));
}

static void
the_last_two_names_of_a_file_go_at_once(void **state)
{
  (void)state;
  two_names();
  happens("unlink", "a", unlink_b);
  assert_ok(brick_unlink(t.b, ROOT, "a"));
}

static void
one_of_the_last_two_names_is_replaced_while_the_other_goes(void **state)
{
  struct gi_gfid g = brick_gfid(t.b);

  (void)state;
  two_names();
  assert_ok(brick_mknod(t.b, ROOT, "x", S_IFREG | 0600, &g));
  happens("rename", "x", unlink_b);
  assert_ok(brick_rename(t.b, ROOT, "x", ROOT, "a"));
  assert_ok(brick_nameless(t.b, &g));
}

static void
a_file_that_is_open_keeps_its_data_when_its_last_two_names_go_at_once(void **state)
{
  struct gi_fd *fd;

  (void)state;
  two_names();
  assert_ok(brick_open(t.b, &file, O_RDWR, &fd));
  happens("unlink", "a", unlink_b);
  assert_ok(brick_unlink(t.b, ROOT, "a"));
  assert_int_equal(brick_write(t.b, fd, 0, "x", 1)->rsp.ret, 1);
  gi_fd_unref(&fd);
}

static void
a_name_given_while_the_last_one_goes_keeps_the_handle(void **state)
{
  (void)state;
  assert_ok(brick_mknod(t.b, ROOT, "a", S_IFREG | 0600, &file));
  happens("rename", handle, link_c); /* a worker parks it, as it cannot know whether it is open */
  assert_ok(brick_unlink(t.b, ROOT, "a"));
  assert_ok(brick_nameless(t.b, &file));
  assert_ok(brick_lookup(t.b, ROOT, "c"));
}

static void
a_name_given_while_the_last_one_is_replaced_keeps_the_handle(void **state)
{
  struct gi_gfid g = brick_gfid(t.b);

  (void)state;
  assert_ok(brick_mknod(t.b, ROOT, "a", S_IFREG | 0600, &file));
  assert_ok(brick_mknod(t.b, ROOT, "x", S_IFREG | 0600, &g));
  happens("rename", handle, link_c);
  assert_ok(brick_rename(t.b, ROOT, "x", ROOT, "a"));
  assert_ok(brick_nameless(t.b, &file));
}

static void
one_name_is_taken_away_twice(void **state)
{
  struct gi_fd *fd;

  (void)state;
  assert_ok(brick_mknod(t.b, ROOT, "a", S_IFREG | 0600, &file));
  assert_ok(brick_open(t.b, &file, O_RDWR, &fd));
  happens("unlink", "a", unlink_a);
  assert_fails(brick_unlink(t.b, ROOT, "a"), ENOENT);
  gi_fd_unref(&fd);
}

/* An answer about a name is about one object. */
static void
a_name_is_renamed_over_while_it_is_looked_at(void **state)
{
  struct gi_gfid g = brick_gfid(t.b);
  const struct gi_dirent *e = NULL;
  struct gi_fd *dir, *fd;
  struct gi_fop *f;

  (void)state;
  for (int listing = 0; listing < 2; listing++) {
    file.b[15]++;
    g.b[15] += 60;
    gi_gfid_text(&file, handle);
    snprintf(t.path, sizeof(t.path), DIR "/.glusterfs/%.2s/%.2s/%s", handle, handle + 2, handle);
    if (listing)
      assert_ok(brick_unlink(t.b, ROOT, "a"));
    assert_ok(brick_mknod(t.b, ROOT, "a", S_IFREG | 0600, &file));
    assert_ok(brick_create(t.b, ROOT, "x", &g, &fd));
    assert_int_equal(brick_write(t.b, fd, 0, "seven..", 7)->rsp.ret, 7);
    happens("getxattr", "a", rename_x_to_a);
    if (!listing) {
      f = brick_lookup(t.b, ROOT, "a");
      assert_ok(f);
      assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &g));
      assert_int_equal(f->rsp.stat.size, 7);
    } else {
      assert_ok(brick_opendir(t.b, ROOT, &dir));
      f = brick_fop(t.b, GI_FOP_READDIRP);
      set_fd(f, dir);
      f->args.size = 65536;
      brick_run(t.b, f);
      for (uint32_t i = 0; i < f->rsp.entries.count && !e; i++)
        e = strcmp(f->rsp.entries.entry[i].name, "a") == 0 ? &f->rsp.entries.entry[i] : NULL;
      assert_non_null(e);
      assert_true(gi_gfid_equal(&e->stat.gfid, &g));
      assert_int_equal(e->stat.size, 7);
      gi_fd_unref(&dir);
    }
    gi_fd_unref(&fd);
  }
}

/* ---- a directory moves ---- */

static atomic_bool stalled, go;

static void
stall(void)
{
  atomic_store(&stalled, true);
  while (!atomic_load(&go))
    usleep(100);
}

static void
done(struct gi_fop *f, void *arg)
{
  (void)f;
  (void)arg;
}

/* RENAME of a directory on a worker, stopped after the name has moved and before the handle has. Then `f` runs. */
static void
ask_while_a_directory_moves(const char *engine, const struct gi_gfid *dir, struct gi_fop *f)
{
  struct posix *p = t.b->s->x->private;
  struct gi_fop *mv = brick_fop(t.b, GI_FOP_RENAME);
  char text[GI_UUID_TEXT], aside[GI_UUID_TEXT + 8];

  gi_reactor_set_workers(t.b->s->ctx.reactor, 4);
  p->stall[GI_FOP_RENAME].slow_until = UINT64_MAX; /* on a worker, even with an engine that runs it on the reactor */
  atomic_store(&stalled, false);
  atomic_store(&go, false);
  snprintf(aside, sizeof(aside), "moves-%s", gi_gfid_text(dir, text));
  happens("rename", aside, stall);
  set_entry(mv, ROOT, "d");
  set_entry2(mv, ROOT, "e");
  gi_fop_submit(mv, t.b->s->x, done, NULL);
  while (!atomic_load(&stalled))
    usleep(100);
  gi_fop_submit(f, t.b->s->x, done, NULL);
  for (int i = 0; i < 20 && !f->answered; i++)
    gi_reactor_turn(t.b->s->ctx.reactor, GI_NSEC_PER_MSEC);
  assert_false(f->answered);
  atomic_store(&go, true);
  brick_wait(t.b, f);
  if (f->rsp.ret < 0)
    fail_msg("%s of what is below a directory that moves, %s: %s", gi_fop_name(f->kind), engine, strerror(f->rsp.err));
  brick_wait(t.b, mv);
  assert_ok(mv);
}

static void
what_is_below_a_directory_is_found_while_it_moves(void **state)
{
  static const char *const engines[] = {"pool", "auto"};
  struct gi_gfid dir = brick_gfid(t.b), below = brick_gfid(t.b), lower = brick_gfid(t.b);

  (void)state;
  assert_ok(brick_mkdir(t.b, ROOT, "d", &dir));
  assert_ok(brick_mkdir(t.b, &dir, "below", &below));
  assert_ok(brick_mknod(t.b, &below, "f", S_IFREG | 0600, &lower));
  for (size_t i = 0; i < GI_ARRAY_LEN(engines); i++) {
    const struct gi_gfid *const objects[] = {&dir, &below};
    struct gi_fop *f;

    t.b->engine = engines[i];
    for (size_t o = 0; o < GI_ARRAY_LEN(objects); o++) {
      brick_restart(t.b); /* nothing is open any more */
      f = brick_fop(t.b, GI_FOP_STAT);
      set_object(f, objects[o]);
      ask_while_a_directory_moves(engines[i], &dir, f);
      assert_ok(brick_rename(t.b, ROOT, "e", ROOT, "d"));
    }
    brick_restart(t.b);
    f = brick_fop(t.b, GI_FOP_UNLINK);
    set_entry(f, &below, "f");
    ask_while_a_directory_moves(engines[i], &dir, f);
    assert_ok(brick_rename(t.b, ROOT, "e", ROOT, "d"));
    lower.b[15] += 100;
    assert_ok(brick_mknod(t.b, &below, "f", S_IFREG | 0600, &lower));
  }
}

static void
what_is_not_there_is_stale_while_a_directory_moves(void **state)
{
  struct gi_gfid dir = brick_gfid(t.b), below = brick_gfid(t.b);
  struct gi_fop *f = brick_fop(t.b, GI_FOP_STAT), *mv = brick_fop(t.b, GI_FOP_RENAME);

  (void)state;
  assert_ok(brick_mkdir(t.b, ROOT, "d", &dir));
  set_entry(mv, ROOT, "d");
  set_entry2(mv, ROOT, "e");
  set_object(f, &below);
  gi_reactor_set_workers(t.b->s->ctx.reactor, 4);
  gi_fop_submit(mv, t.b->s->x, done, NULL);
  assert_fails(brick_run(t.b, f), ESTALE);
  brick_wait(t.b, mv);
  assert_ok(mv);
}

/* ---- a disk that is nearly full ---- */

static struct gi_fop *
allocate(struct gi_fd *fd, uint64_t at, uint64_t len)
{
  struct gi_fop *f = brick_fop(t.b, GI_FOP_FALLOCATE);

  set_fd(f, fd);
  f->args.offset = at;
  f->args.size = len;
  return brick_run(t.b, f);
}

/* The kernel allocates what is left before it fails. */
static void
what_cannot_fit_is_not_begun(void **state)
{
  static char data[64 << 10];
  struct gi_gfid g = brick_gfid(t.b);
  struct statvfs v;
  struct gi_fd *fd;

  (void)state;
  assert_ok(brick_create(t.b, ROOT, "f", &g, &fd));
  assert_ok(brick_write(t.b, fd, 0, data, sizeof(data)));
  assert_int_equal(sim_view_ops.statvfs(t.fs, ((struct posix *)t.b->s->x->private)->root_fd, &v), 0);

  uint64_t left = (uint64_t)v.f_bfree * v.f_frsize;

  assert_fails(allocate(fd, sizeof(data), left + 8192), ENOSPC); /* what the file already has does not help */
  assert_fails(allocate(fd, 4096, left + sizeof(data)), ENOSPC);
  assert_int_equal(t.allocations, 0);
  assert_ok(allocate(fd, 0, left + sizeof(data) - 8192));
  assert_int_equal(t.allocations, 1);
  assert_ok(allocate(fd, sizeof(data), left - 8192)); /* the first 8192 bytes are there by now */
  gi_fd_unref(&fd);
}

int
main(void)
{
#define RACE(f) cmocka_unit_test_setup_teardown(f, begin, end)
  const struct CMUnitTest tests[] = {
      RACE(the_last_two_names_of_a_file_go_at_once),
      RACE(one_of_the_last_two_names_is_replaced_while_the_other_goes),
      RACE(a_file_that_is_open_keeps_its_data_when_its_last_two_names_go_at_once),
      RACE(a_name_given_while_the_last_one_goes_keeps_the_handle),
      RACE(a_name_given_while_the_last_one_is_replaced_keeps_the_handle),
      RACE(one_name_is_taken_away_twice),
      RACE(a_name_is_renamed_over_while_it_is_looked_at),
      RACE(what_is_below_a_directory_is_found_while_it_moves),
      RACE(what_is_not_there_is_stale_while_a_directory_moves),
      RACE(what_cannot_fit_is_not_begun),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
