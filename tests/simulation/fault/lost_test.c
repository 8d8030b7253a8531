/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk that fails a sync once and then says that all is well, as disks below
 * a page cache do: storage/posix does not believe it before a heal has looked
 * at what the disk has and synced what it made of that.
 */
#include "libglusterish/mem.h"
#include "tests/simulation/fault/lone-brick.h"

#include <string.h>

#define HEALER (-6)
#define APPLICATION 1000

struct file {
  struct sim_lone b;
  struct gi_fd *fd;
};

static struct file *
new_file_opened(int flags)
{
  static const struct gi_gfid gfid = {{0xa0, 1, 2, 3, 4, 5, 0x46, 7, 0x88}};
  struct file *t = gi_new(struct file);
  struct gi_fop *f;

  sim_lone_setup(&t->b, 7);
  assert_true(sim_lone_boot(&t->b));
  t->fd = gi_fd_new(t->b.graph, NULL, O_RDWR | flags, 1);
  f = gi_fop_new(t->b.graph, GI_FOP_CREATE);
  f->loc.pargfid = gi_gfid_root;
  f->loc.name = gi_fop_strdup(f, "f", 1);
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &gfid);
  f->args.mode = S_IFREG | 0644;
  f->args.flags = (uint32_t)(O_RDWR | O_CREAT | O_EXCL | flags);
  f->fd = gi_fd_ref(t->fd);
  assert_true(sim_lone_run(&t->b, f) >= 0);
  return t;
}

static struct file *
new_file(void)
{
  return new_file_opened(0);
}

static void
free_file(struct file *t)
{
  gi_fd_unref(&t->fd);
  sim_lone_halt(&t->b);
  sim_disk_free(&t->b.disk);
  gi_free(t);
}

static struct gi_fop *
file_fop(struct file *t, enum gi_fop_kind kind, int pid)
{
  struct gi_fop *f = gi_fop_new(t->b.graph, kind);

  f->caller.pid = pid;
  gi_fop_set_fd(f, t->fd);
  return f;
}

static int
try_put(struct file *t, int pid, const char *text)
{
  return sim_lone_write(&t->b, t->fd, pid, 0, text, strlen(text));
}

static void
put(struct file *t, int pid, const char *text)
{
  assert_int_equal(try_put(t, pid, text), strlen(text));
}

static void
expect(struct file *t, int pid, const char *text)
{
  struct gi_fop *f = gi_fop_ref(file_fop(t, GI_FOP_READ, pid));
  char back[16] = "";

  f->args.size = sizeof(back) - 1;
  assert_int_equal(sim_lone_run(&t->b, f), strlen(text));
  gi_payload_read(&f->rsp.payload, 0, back, strlen(text));
  assert_string_equal(back, text);
  gi_fop_unref(f);
}

static int
sync_file(struct file *t, int pid)
{
  return sim_lone_fsync(&t->b, t->fd, pid, false);
}

static void
fail_a_sync(struct file *t, int pid)
{
  sim_disk_set_fault(t->b.disk, SIM_FAULT_FSYNC, 1000000);
  assert_int_equal(sync_file(t, pid), -EIO);
  sim_disk_set_fault(t->b.disk, SIM_FAULT_FSYNC, 0);
}

/* The disk has "old", memory "new". */
static struct file *
new_file_with_a_loss(void)
{
  struct file *t = new_file();

  put(t, APPLICATION, "old");
  assert_int_equal(sync_file(t, APPLICATION), 0);
  put(t, APPLICATION, "new");
  fail_a_sync(t, APPLICATION);
  return t;
}

static void
what_was_lost_stays_lost_until_it_is_healed(void **state)
{
  struct file *t = new_file_with_a_loss();

  (void)state;
  assert_int_equal(sync_file(t, APPLICATION), -EIO); /* the disk says yes */
  expect(t, APPLICATION, "new");
  expect(t, HEALER, "old"); /* what the disk has */
  assert_int_equal(sync_file(t, APPLICATION), -EIO);
  put(t, HEALER, "new");
  assert_int_equal(sync_file(t, HEALER), 0);
  assert_int_equal(sync_file(t, APPLICATION), 0);
  expect(t, HEALER, "new");
  free_file(t);
}

static void
a_heal_that_fails_to_sync_must_look_again(void **state)
{
  struct file *t = new_file_with_a_loss();

  (void)state;
  expect(t, HEALER, "old");
  put(t, HEALER, "new");
  fail_a_sync(t, HEALER);
  assert_int_equal(sync_file(t, APPLICATION), -EIO);
  expect(t, HEALER, "old");
  put(t, HEALER, "new");
  assert_int_equal(sync_file(t, HEALER), 0);
  assert_int_equal(sync_file(t, APPLICATION), 0);
  free_file(t);
}

static int
count(struct file *t, bool durable)
{
  static const uint8_t one[12] = {[3] = 1};
  struct gi_fop *f = gi_fop_new(t->b.graph, GI_FOP_XATTROP);

  f->caller.pid = HEALER;
  gi_loc_set_inode(&f->loc, t->fd->inode);
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "trusted.afr.vol-client-1", one, sizeof(one));
  if (durable)
    gi_dict_set_int(gi_fop_xdata(f), GI_DURABLE_KEY, 1);
  return sim_lone_run(&t->b, f);
}

/* ---- what is not known any more, or would be ---- */

static struct gi_fop *
open_again(struct file *t, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = gi_inode_get(t->b.graph, gfid);
  struct gi_fop *f = gi_fop_new(t->b.graph, GI_FOP_OPEN);

  t->fd = gi_fd_new(t->b.graph, inode, O_RDWR, 1);
  gi_loc_set_inode(&f->loc, inode);
  f->args.flags = O_RDWR;
  f->fd = gi_fd_ref(t->fd);
  gi_inode_unref(&inode);
  return f;
}

static void
a_loss_is_not_forgotten_with_the_inode(void **state)
{
  struct file *t = new_file_with_a_loss();
  struct gi_gfid gfid = t->fd->inode->gfid;

  (void)state;
  gi_fd_unref(&t->fd);
  gi_inode_set_lru_limit(t->b.graph, 1);
  for (uint8_t n = 1; n < 5; n++) {
    struct gi_inode *other = gi_inode_get(t->b.graph, &(struct gi_gfid){{0xb0, n}});

    gi_inode_unref(&other);
  }
  assert_true(sim_lone_run(&t->b, open_again(t, &gfid)) >= 0);
  assert_int_equal(sync_file(t, APPLICATION), -EIO);
  expect(t, HEALER, "old");
  free_file(t);
}

static uint32_t
checksum(struct file *t)
{
  struct gi_fop *f = gi_fop_ref(file_fop(t, GI_FOP_RCHECKSUM, HEALER));
  uint32_t sum;

  f->args.size = 3;
  assert_int_equal(sim_lone_run(&t->b, f), 0);
  sum = f->rsp.weak_checksum;
  gi_fop_unref(f);
  return sum;
}

/* The process that knew of the loss is gone, what the kernel keeps in memory is not. */
static void
a_heal_compares_with_the_disk_after_a_restart(void **state)
{
  struct file *t = new_file_with_a_loss();
  struct gi_gfid gfid = t->fd->inode->gfid;
  uint32_t new, old;

  (void)state;
  free_file(t);
  t = new_file();
  put(t, APPLICATION, "new");
  new = checksum(t);
  free_file(t);
  t = new_file_with_a_loss();
  gi_fd_unref(&t->fd);
  sim_lone_halt(&t->b);
  assert_true(sim_lone_boot(&t->b));
  assert_true(sim_lone_run(&t->b, open_again(t, &gfid)) >= 0);
  expect(t, HEALER, "new"); /* it reads what it brings to others: better than what the disk has */
  old = checksum(t);
  assert_int_not_equal(old, new);
  expect(t, APPLICATION, "old");
  put(t, APPLICATION, "new");
  assert_int_equal(checksum(t), new); /* what came since is known */
  free_file(t);
}

/* ---- operations that sync by themselves ---- */

static void
with_fault(struct file *t, enum sim_fault fault, uint32_t rate)
{
  sim_disk_set_fault(t->b.disk, fault, rate);
}

static void
a_synchronous_write_that_is_refused_is_a_loss(void **state)
{
  struct file *t = new_file_opened(O_SYNC);

  (void)state;
  put(t, APPLICATION, "old");
  with_fault(t, SIM_FAULT_DSYNC, 1000000);
  assert_int_equal(try_put(t, APPLICATION, "new"), -EIO);
  with_fault(t, SIM_FAULT_DSYNC, 0);
  assert_int_equal(sync_file(t, APPLICATION), -EIO);
  expect(t, APPLICATION, "new");
  expect(t, HEALER, "old"); /* what the disk has */
  free_file(t);
}

static void
no_room_for_a_synchronous_write_is_no_loss(void **state)
{
  struct file *t = new_file_opened(O_SYNC);

  (void)state;
  put(t, APPLICATION, "old");
  with_fault(t, SIM_FAULT_SPACE, 1000000);
  assert_int_equal(try_put(t, APPLICATION, "new"), -ENOSPC);
  with_fault(t, SIM_FAULT_SPACE, 0);
  assert_int_equal(sync_file(t, APPLICATION), 0);
  free_file(t);
}

/* A WRITE that asks for a sync itself, through a descriptor that does not. */
static int
put_synced(struct file *t, const char *text)
{
  struct gi_fop *f = file_fop(t, GI_FOP_WRITE, APPLICATION);

  f->args.flags = O_DSYNC;
  f->args.size = (uint32_t)strlen(text);
  gi_payload_add_copy(&f->payload, text, strlen(text));
  return sim_lone_run(&t->b, f);
}

/* An O_DSYNC of the write alone syncs after it, and the first one after a counter changed before it, too. */
static void
syncs_around_a_write_count(void **state)
{
  (void)state;
  for (int counted = 0; counted < 2; counted++) {
    struct file *t = new_file();

    put(t, APPLICATION, "old");
    assert_int_equal(sync_file(t, APPLICATION), 0);
    if (counted)
      assert_int_equal(count(t, false), 0);
    with_fault(t, SIM_FAULT_FSYNC, 1000000);
    assert_int_equal(put_synced(t, "new"), -EIO);
    with_fault(t, SIM_FAULT_FSYNC, 0);
    assert_int_equal(sync_file(t, APPLICATION), -EIO);
    expect(t, APPLICATION, counted ? "old" : "new");
    free_file(t);
  }
}

/* Counters go to the disk before data that go there by themselves, and a counter that cannot is a loss. */
static void
counters_go_before_synced_data(void **state)
{
  static const int flags[] = {O_SYNC, O_DIRECT};
  static const char sector[513] = {[0 ... 511] = 'x'};

  (void)state;
  for (size_t n = 0; n < GI_ARRAY_LEN(flags); n++) {
    struct file *t = new_file_opened(flags[n]);

    assert_int_equal(try_put(t, APPLICATION, sector), 512);
    with_fault(t, SIM_FAULT_FSYNC, 1000000);
    assert_int_equal(try_put(t, APPLICATION, sector), 512); /* they are there */
    with_fault(t, SIM_FAULT_FSYNC, 0);
    assert_int_equal(count(t, false), 0);
    with_fault(t, SIM_FAULT_FSYNC, 1000000);
    assert_int_equal(try_put(t, APPLICATION, sector), -EIO);
    with_fault(t, SIM_FAULT_FSYNC, 0);
    assert_int_equal(sync_file(t, APPLICATION), -EIO);
    free_file(t);
  }
}

static void
zeroes_that_are_not_synced_are_a_loss(void **state)
{
  struct file *t = new_file_opened(O_SYNC);
  struct gi_fop *f = file_fop(t, GI_FOP_ZEROFILL, APPLICATION);

  (void)state;
  f->args.size = 3;
  with_fault(t, SIM_FAULT_FSYNC, 1000000);
  assert_int_equal(sim_lone_run(&t->b, f), -EIO);
  with_fault(t, SIM_FAULT_FSYNC, 0);
  assert_int_equal(sync_file(t, APPLICATION), -EIO);
  free_file(t);
}

static void
an_attribute_that_is_not_synced_is_a_loss(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_FSETXATTR, GI_FOP_FSETATTR};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct file *t = new_file();
    struct gi_fop *f = file_fop(t, kinds[i], APPLICATION);

    f->args.dict = gi_dict_new();
    gi_dict_set_bin(f->args.dict, "user.a", "b", 1);
    f->args.valid = GI_SET_MODE;
    f->args.iatt.mode = 0700;
    gi_dict_set_int(gi_fop_xdata(f), i ? GI_DURABLE_KEY : "trusted.glusterfs.durable-op", 1);
    with_fault(t, SIM_FAULT_FSYNC, 1000000);
    assert_int_equal(sim_lone_run(&t->b, f), -EIO);
    with_fault(t, SIM_FAULT_FSYNC, 0);
    assert_int_equal(sync_file(t, APPLICATION), -EIO);
    free_file(t);
  }
}

/* ---- what a heal has the disk begin with before it syncs ---- */

#define BULK (100u << 10) /* more than a heal collects */

static int
put_bulk(struct file *t, int pid, int byte)
{
  GI_CLEANUP_FREE char *data = gi_alloc(BULK);

  memset(data, byte, BULK);
  return sim_lone_write(&t->b, t->fd, pid, 0, data, BULK);
}

static int
first_byte(struct file *t, int pid)
{
  struct gi_fop *f = gi_fop_ref(file_fop(t, GI_FOP_READ, pid));
  char byte = 0;

  f->args.size = 1;
  assert_int_equal(sim_lone_run(&t->b, f), 1);
  gi_payload_read(&f->rsp.payload, 0, &byte, 1);
  gi_fop_unref(f);
  return byte;
}

static void
a_refused_write_out_is_a_loss(void **state)
{
  struct file *t = new_file();

  (void)state;
  assert_int_equal(put_bulk(t, APPLICATION, 'o'), BULK);
  assert_int_equal(sync_file(t, APPLICATION), 0);
  sim_disk_set_fault(t->b.disk, SIM_FAULT_WRITE_OUT, 1000000);
  assert_int_equal(put_bulk(t, HEALER, 'n'), -EIO);
  sim_disk_set_fault(t->b.disk, SIM_FAULT_WRITE_OUT, 0);
  assert_int_equal(sync_file(t, APPLICATION), -EIO);
  assert_int_equal(first_byte(t, HEALER), 'o'); /* what the disk has */
  assert_int_equal(put_bulk(t, HEALER, 'n'), BULK);
  assert_int_equal(sync_file(t, HEALER), 0);
  assert_int_equal(sync_file(t, APPLICATION), 0);
  free_file(t);
}

/* ---- counters that must be on the disk when they are answered ---- */

static void
stopped(void *arg)
{
  (void)arg;
}

/* The power goes, and nothing with it. */
static void
lose_nothing(struct file *t)
{
  uint64_t before = sim_disk_losses(t->b.disk).calls;

  sim_disk_stop_after(t->b.disk, 1, stopped, NULL);
  gi_fd_unref(&t->fd);
  sim_lone_halt(&t->b);
  sim_disk_power_loss(t->b.disk);
  assert_int_equal(sim_disk_losses(t->b.disk).calls, before);
  sim_disk_free(&t->b.disk);
  gi_free(t);
}

static void
durable_counters_survive(void **state)
{
  struct file *t = new_file();

  (void)state;
  assert_int_equal(count(t, false), 0);
  assert_int_equal(count(t, true), 0);
  lose_nothing(t);
}

/* SETXATTR and REMOVEXATTR of an attribute of the file, or of the root, or SETATTR of its mode. */
static int
change_attribute(struct file *t, enum gi_fop_kind kind, bool root)
{
  struct gi_fop *f = gi_fop_new(t->b.graph, kind);
  struct gi_inode *inode = root ? gi_inode_get(t->b.graph, &gi_gfid_root) : gi_inode_ref(t->fd->inode);

  gi_loc_set_inode(&f->loc, inode);
  gi_inode_unref(&inode);
  f->args.name = "trusted.glusterfs.dht";
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, f->args.name, "sixteen bytes...", 16);
  f->args.valid = GI_SET_MODE;
  f->args.iatt.mode = 0700;
  gi_dict_set_int(gi_fop_xdata(f), GI_DURABLE_KEY, 1);
  return sim_lone_run(&t->b, f);
}

static void
durable_attributes_survive(void **state)
{
  static const enum gi_fop_kind then[] = {GI_FOP_NULL, GI_FOP_REMOVEXATTR, GI_FOP_SETATTR};

  (void)state;
  for (unsigned root = 0; root < 2; root++)
    for (size_t i = 0; i < GI_ARRAY_LEN(then); i++) {
      struct file *t = new_file();

      assert_int_equal(change_attribute(t, GI_FOP_SETXATTR, root), 0);
      if (then[i])
        assert_int_equal(change_attribute(t, then[i], root), 0);
      lose_nothing(t);
    }
}

static void
durable_names_survive(void **state)
{
  struct file *t = new_file();
  struct gi_fop *f = gi_fop_new(t->b.graph, GI_FOP_RENAME);

  (void)state;
  f->loc.pargfid = f->loc2.pargfid = gi_gfid_root;
  f->loc.name = gi_fop_strdup(f, "f", 1);
  f->loc2.name = gi_fop_strdup(f, "g", 1);
  gi_dict_set_int(gi_fop_xdata(f), GI_DURABLE_KEY, 1);
  assert_int_equal(sim_lone_run(&t->b, f), 0);
  lose_nothing(t);
}

static void
who_cannot_make_them_durable_has_lost_something(void **state)
{
  struct file *t = new_file();

  (void)state;
  put(t, APPLICATION, "old");
  assert_int_equal(sync_file(t, APPLICATION), 0);
  put(t, APPLICATION, "new");
  sim_disk_set_fault(t->b.disk, SIM_FAULT_FSYNC, 1000000);
  assert_int_equal(count(t, false), 0);
  assert_int_equal(count(t, true), -EIO);
  sim_disk_set_fault(t->b.disk, SIM_FAULT_FSYNC, 0);
  assert_int_equal(sync_file(t, APPLICATION), -EIO);
  expect(t, HEALER, "old");
  free_file(t);
}

static int
sync_root(struct file *t)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_OPENDIR, GI_FOP_FSYNCDIR};
  struct gi_inode *root = gi_inode_get(t->b.graph, &gi_gfid_root);
  struct gi_fd *fd = gi_fd_new(t->b.graph, root, O_RDONLY | O_DIRECTORY, 1);
  int ret = 0;

  fd->directory = true;
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds) && ret == 0; i++) {
    struct gi_fop *f = gi_fop_new(t->b.graph, kinds[i]);

    gi_fop_set_fd(f, fd);
    ret = sim_lone_run(&t->b, f);
  }
  gi_fd_unref(&fd);
  gi_inode_unref(&root);
  return ret;
}

/* No pages of it are lost with a failed sync: the journal has what the next one brings to the disk. */
static void
a_directory_that_was_not_synced_is_the_next_time(void **state)
{
  struct file *t = new_file();

  (void)state;
  sim_disk_set_fault(t->b.disk, SIM_FAULT_FSYNC, 1000000);
  assert_int_equal(change_attribute(t, GI_FOP_SETXATTR, true), -EIO);
  assert_int_equal(sync_root(t), -EIO);
  sim_disk_set_fault(t->b.disk, SIM_FAULT_FSYNC, 0);
  assert_int_equal(sync_root(t), 0);
  lose_nothing(t);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_lost_stays_lost_until_it_is_healed),
      cmocka_unit_test(a_heal_that_fails_to_sync_must_look_again),
      cmocka_unit_test(a_loss_is_not_forgotten_with_the_inode),
      cmocka_unit_test(a_heal_compares_with_the_disk_after_a_restart),
      cmocka_unit_test(a_synchronous_write_that_is_refused_is_a_loss),
      cmocka_unit_test(no_room_for_a_synchronous_write_is_no_loss),
      cmocka_unit_test(syncs_around_a_write_count),
      cmocka_unit_test(counters_go_before_synced_data),
      cmocka_unit_test(zeroes_that_are_not_synced_are_a_loss),
      cmocka_unit_test(an_attribute_that_is_not_synced_is_a_loss),
      cmocka_unit_test(a_refused_write_out_is_a_loss),
      cmocka_unit_test(durable_counters_survive),
      cmocka_unit_test(durable_attributes_survive),
      cmocka_unit_test(durable_names_survive),
      cmocka_unit_test(who_cannot_make_them_durable_has_lost_something),
      cmocka_unit_test(a_directory_that_was_not_synced_is_the_next_time),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
