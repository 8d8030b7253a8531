/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse above one that answers writes before the bricks have them.
 */
#include "xlators/mount/fuse/fuse-rig.h"

#include <dirent.h>

static void
early_free(struct early *e)
{
  file_flags = O_RDWR;
  wait_notifications(e->r);
  rig_free(e->r);
}

static void
write_at(struct early *e, uint64_t offset)
{
  assert_int_equal(reply(e->r, write_file(e->r, e->id, e->fh, offset, 1000, 0)), 0);
}

static struct gi_iatt
sized(uint64_t size)
{
  struct gi_iatt a = iatt_of(0xaa, S_IFREG | 0644);

  a.size = size;
  return a;
}

static void
written(struct early *e, uint32_t changes, uint64_t found, uint64_t left, int err)
{
  struct gi_iatt before = sized(found), after = sized(left);

  early_ended(e, changes, &before, &after, err);
  wait_notifications(e->r);
}

/* The size that the kernel is told; `asked`: who stands below was. */
static uint64_t
size_told(struct early *e, bool asked)
{
  struct fuse_getattr_in in = {0};
  const struct fuse_attr_out *out = body(e->r);

  fake_forget_seen(e->r->s);
  assert_int_equal(reply(e->r, request(e->r, FUSE_GETATTR, e->id, &in, sizeof(in))), 0);
  assert_int_equal(e->r->s->nseen, asked);
  return out->attr.size;
}

static void
fill_size(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = sized(*(const uint64_t *)arg);
}

static bool
flush_goes_down(struct early *e, uint64_t fh)
{
  struct fuse_flush_in in = {.fh = fh};

  fake_forget_seen(e->r->s);
  assert_int_equal(reply(e->r, request(e->r, FUSE_FLUSH, e->id, &in, sizeof(in))), 0);
  return fake_count(e->r->s, 0, GI_FOP_FLUSH) == 1;
}

/* ---- whose change ---- */

static void
test_own_writes_keep_pages(void **state)
{
  struct early e = early_new(NULL, O_RDWR);
  uint64_t size = 3000;

  write_at(&e, 1000);
  write_at(&e, 2000);
  fake_script_always(e.r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_size, .arg = &size});
  assert_int_equal(size_told(&e, true), 3000); /* as it will be */
  const struct fuse_attr_out *a = body(e.r);
  assert_true(a->attr_valid > 0 || a->attr_valid_nsec > 0);
  written(&e, 2, 1000, 3000, 0);
  assert_int_equal(size_told(&e, false), 3000);
  write_at(&e, 3000);
  write_at(&e, 4000);
  written(&e, 1, 3000, 4000, 0);
  write_at(&e, 5000);
  size = 6000;
  assert_int_equal(size_told(&e, true), 6000);
  written(&e, 1, 4000, 5000, 0);
  written(&e, 1, 5000, 6000, 0);
  assert_int_equal(size_told(&e, false), 6000);
  assert_int_equal(e.r->notifications, 0);
  early_free(&e);
}

/* What was asked before the last of them ended may be older than it. */
static void
test_attributes_asked_before_the_end_tell_nothing(void **state)
{
  struct early e = early_new(NULL, O_RDWR);
  struct fuse_getattr_in in = {0};
  uint64_t unique;

  write_at(&e, 1000);
  fake_script(e.r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.hold = true});
  unique = request(e.r, FUSE_GETATTR, e.id, &in, sizeof(in));
  e.r->s->seen[e.r->s->nseen - 1].fop->rsp.stat = sized(1500);
  written(&e, 1, 1000, 2000, 0);
  assert_true(fake_release(e.r->s, 0, GI_FOP_FSTAT, 0, 0));
  assert_int_equal(reply(e.r, unique), 0);
  assert_int_equal(e.r->notifications, 0);
  early_free(&e);
}

/* Of a listing and a lookup nobody below may have said what is to come. */
static void
fill_entry(struct gi_fop *fop, void *arg)
{
  struct gi_dirent d = {.ino = 5, .off = 1, .type = DT_REG, .name = "f", .name_len = 1, .stat = sized(1000)};

  gi_dirents_add(&fop->rsp.entries, &d, fop);
}

static uint64_t
size_listed(struct early *e)
{
  struct fuse_open_in open = {0};
  struct fuse_read_in in = {.size = 4096};
  const struct fuse_direntplus *d = body(e->r);

  assert_int_equal(reply(e->r, request(e->r, FUSE_OPENDIR, FUSE_ROOT_ID, &open, sizeof(open))), 0);
  in.fh = ((const struct fuse_open_out *)body(e->r))->fh;
  fake_script(e->r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.ret = 1, .fill = fill_entry});
  assert_int_equal(reply(e->r, request(e->r, FUSE_READDIRPLUS, FUSE_ROOT_ID, &in, sizeof(in))), 0);
  assert_int_equal(d->entry_out.nodeid, e->id);
  return d->entry_out.attr.size;
}

static uint64_t
size_looked_up(struct early *e)
{
  lookup(e->r, "f", &file_a);
  return ((const struct fuse_entry_out *)body(e->r))->attr.size;
}

static void
test_size_is_never_less_than_was_written(void **state)
{
  struct early e = early_new(NULL, O_RDWR);
  struct fuse_setattr_in cut = {.valid = FATTR_SIZE, .size = 1000};
  struct gi_iatt after = sized(1000);
  uint64_t unique;

  write_at(&e, 2000);
  write_at(&e, 1000);
  assert_int_equal(size_listed(&e), 3000);
  assert_int_equal(size_looked_up(&e), 3000);

  /* Nor in an answer that set out before the bricks had it. */
  fake_script(e.r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.hold = true});
  unique = request(e.r, FUSE_LOOKUP, FUSE_ROOT_ID, "f", 2);
  e.r->s->seen[e.r->s->nseen - 1].fop->rsp.stat = sized(1000);
  written(&e, 2, 1000, 3000, 0);
  assert_true(fake_release(e.r->s, 0, GI_FOP_LOOKUP, 0, 0));
  assert_int_equal(reply(e.r, unique), 0);
  assert_int_equal(((const struct fuse_entry_out *)body(e.r))->attr.size, 3000);

  /* What is cut off comes after. */
  write_at(&e, 3000);
  fake_script(e.r->s, 0, GI_FOP_FTRUNCATE, (struct fake_reply){.hold = true});
  unique = request(e.r, FUSE_SETATTR, e.id, &cut, sizeof(cut));
  e.r->s->seen[e.r->s->nseen - 1].fop->rsp.post = after;
  e.r->s->seen[e.r->s->nseen - 1].fop->rsp.pre = sized(4000);
  written(&e, 1, 3000, 4000, 0);
  assert_true(fake_release(e.r->s, 0, GI_FOP_FTRUNCATE, 0, 0));
  assert_int_equal(reply(e.r, unique), 0);
  assert_int_equal(((const struct fuse_attr_out *)body(e.r))->attr.size, 1000);
  assert_int_equal(size_looked_up(&e), 1000);
  assert_int_equal(e.r->notifications, 0);
  early_free(&e);
}

static void
test_change_of_others_before_the_bricks_had_ours(void **state)
{
  struct early e = early_new(NULL, O_RDWR);
  uint64_t size = 9000;

  write_at(&e, 1000);
  write_at(&e, 2000);
  written(&e, 2, 7000, 7000, 0); /* it was 1000 when we last looked */
  assert_int_equal(e.r->notifications, 1);
  assert_int_equal(e.r->last_id, e.id);

  /* Found among others of ours: when none is left. */
  write_at(&e, 1000);
  write_at(&e, 2000);
  written(&e, 1, 7000, 7000, 0);
  written(&e, 1, 9000, 9000, 0);
  fake_script_always(e.r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_size, .arg = &size});
  assert_int_equal(e.r->notifications, 1);

  struct fuse_getattr_in in = {0};
  uint64_t unique = request(e.r, FUSE_GETATTR, e.id, &in, sizeof(in));

  assert_int_equal(reply(e.r, unique), 0); /* after the pages were dropped */
  assert_int_equal(e.r->notifications, 2);
  early_free(&e);
}

static void
test_record_appended_elsewhere(void **state)
{
  struct early e = early_new(NULL, O_WRONLY | O_APPEND);

  write_at(&e, 1000);
  write_at(&e, 2000);
  written(&e, 1, 1000, 2000, 0);
  write_at(&e, 3000);
  assert_int_equal(e.r->notifications, 0);
  written(&e, 2, 2500, 4500, 0); /* somebody's 500 bytes came between: ours are not where the kernel has them */
  assert_int_equal(e.r->notifications, 1);
  early_free(&e);
}

/* The mode of the reply that comes early may say that bits must fall; the write ends while they are taken off. */
static void
fill_setuid(struct gi_fop *fop, void *arg)
{
  fill_early(fop, arg);
  fop->rsp.post.mode = S_IFREG | 04755;
}

static void
test_end_while_bits_fall(void **state)
{
  struct early e = early_new(NULL, O_RDWR);
  uint64_t unique;

  fake_script_clear(e.r->s);
  fake_script(e.r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 1000, .fill = fill_setuid});
  fake_script(e.r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.hold = true});
  unique = write_file(e.r, e.id, e.fh, 1000, 1000, FUSE_WRITE_KILL_SUIDGID);
  assert_int_equal(fake_held(e.r->s, 0), 1);
  written(&e, 1, 1000, 2000, 0);
  assert_true(fake_release(e.r->s, 0, GI_FOP_SETATTR, 0, 0));
  assert_int_equal(reply(e.r, unique), 0);
  early_free(&e);
}

/* ---- closing ---- */

static void
test_flush_goes_down_while_writes_are_under_way(void **state)
{
  struct early e = early_new(NULL, O_RDWR);
  uint64_t other = open_file(e.r, e.id, O_RDONLY);

  assert_false(flush_goes_down(&e, e.fh));
  write_at(&e, 1000);
  assert_true(flush_goes_down(&e, e.fh));
  assert_true(flush_goes_down(&e, e.fh)); /* a duplicate of it: what was written may fail yet */
  assert_true(flush_goes_down(&e, other));
  written(&e, 1, 1000, 2000, 0);
  assert_false(flush_goes_down(&e, e.fh));
  assert_false(flush_goes_down(&e, other));
  early_free(&e);
}

static void
test_lost_writes_are_told_by_every_descriptor(void **state)
{
  struct early e = early_new(NULL, O_RDWR);
  uint64_t other = open_file(e.r, e.id, O_RDONLY);
  struct fuse_open_in in = {.flags = O_RDONLY};

  write_at(&e, 1000);
  write_at(&e, 2000);
  assert_true(flush_goes_down(&e, e.fh));
  written(&e, 2, 0, 0, ENOSPC);
  assert_int_equal(e.r->notifications, 1); /* pages that nobody has */
  assert_true(flush_goes_down(&e, other));
  assert_true(flush_goes_down(&e, e.fh));
  assert_false(flush_goes_down(&e, other));
  assert_int_equal(reply(e.r, request(e.r, FUSE_OPEN, e.id, &in, sizeof(in))), 0);
  assert_false(((const struct fuse_open_out *)body(e.r))->open_flags & FOPEN_KEEP_CACHE);
  early_free(&e);
}

/* Whoever closes a duplicate first may not look at the error. */
static void
test_each_close_is_told_until_one_succeeds(void **state)
{
  struct early e = early_new(NULL, O_RDWR);
  struct fuse_flush_in in = {.fh = e.fh};

  write_at(&e, 1000);
  written(&e, 1, 0, 0, ENOSPC);
  for (int i = 0; i < 2; i++) {
    fake_script(e.r->s, 0, GI_FOP_FLUSH, (struct fake_reply){.ret = -1, .err = ENOSPC});
    assert_int_equal(reply(e.r, request(e.r, FUSE_FLUSH, e.id, &in, sizeof(in))), ENOSPC);
  }
  assert_true(flush_goes_down(&e, e.fh));
  assert_false(flush_goes_down(&e, e.fh));
  early_free(&e);
}

/* With kernel write-back any handle may have written. */
static void
test_clean_after_what_was_under_way_ended(void **state)
{
  struct early e = early_new("option kernel-writeback-cache yes\n", O_RDWR);
  uint64_t other = open_file(e.r, e.id, O_RDONLY);

  write_at(&e, 1000);
  written(&e, 1, 1000, 2000, 0);
  assert_true(flush_goes_down(&e, other));
  assert_true(flush_goes_down(&e, e.fh));
  assert_false(flush_goes_down(&e, other));
  early_free(&e);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_writes_keep_pages),
      cmocka_unit_test(test_attributes_asked_before_the_end_tell_nothing),
      cmocka_unit_test(test_size_is_never_less_than_was_written),
      cmocka_unit_test(test_change_of_others_before_the_bricks_had_ours),
      cmocka_unit_test(test_record_appended_elsewhere),
      cmocka_unit_test(test_end_while_bits_fall),
      cmocka_unit_test(test_flush_goes_down_while_writes_are_under_way),
      cmocka_unit_test(test_lost_writes_are_told_by_every_descriptor),
      cmocka_unit_test(test_each_close_is_told_until_one_succeeds),
      cmocka_unit_test(test_clean_after_what_was_under_way_ended),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
