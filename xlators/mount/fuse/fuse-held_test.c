/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: times of a file that was just made.
 */
#include "xlators/mount/fuse/fuse-rig.h"

struct made {
  struct rig *r;
  uint64_t id, fh;
  struct gi_iatt now; /* what the bricks have */
};

/* What FSETATTR was asked for, the last one. */
static struct {
  int32_t valid;
  int64_t mtime;
  uint32_t mode;
} set;

static void
fill_created(struct gi_fop *fop, void *arg)
{
  struct made *m = arg;

  m->now = iatt_of(0x11, S_IFREG | 0600);
  m->now.uid = m->now.gid = 0;
  assert_true(gi_dict_get_gfid(fop->xdata, "gfid-req", &m->now.gfid));
  fop->rsp.stat = m->now;
}

static void
fill_set(struct gi_fop *fop, void *arg)
{
  struct made *m = arg;

  set.valid = fop->args.valid;
  set.mtime = fop->args.iatt.mtime.sec;
  set.mode = fop->args.iatt.mode;
  fop->rsp.pre = m->now;
  if (fop->args.valid & GI_SET_MTIME)
    m->now.mtime = fop->args.iatt.mtime;
  if (fop->args.valid & GI_SET_MODE)
    m->now.mode = S_IFREG | fop->args.iatt.mode;
  m->now.ctime.sec++;
  fop->rsp.post = m->now;
}

static void
fill_written(struct gi_fop *fop, void *arg)
{
  struct made *m = arg;

  fop->rsp.pre = m->now;
  m->now.size = fop->args.offset + fop->args.size;
  fop->rsp.post = m->now;
}

static void
fill_now(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = ((struct made *)arg)->now;
}

/* A file that was just made, written and is open. */
static struct made *
made_new(bool early)
{
  struct made *m = calloc(1, sizeof(*m));
  struct fuse_create_in in = {.flags = O_RDWR | O_CREAT | O_EXCL, .mode = 0600};
  struct {
    struct fuse_entry_out e;
    struct fuse_open_out o;
  } out;

  m->r = rig_new(NULL);
  fake_script(m->r->s, 0, GI_FOP_CREATE, (struct fake_reply){.fill = fill_created, .arg = m});
  fake_script_always(m->r->s, 0, GI_FOP_FSETATTR, (struct fake_reply){.fill = fill_set, .arg = m});
  fake_script_always(m->r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_now, .arg = m});
  assert_int_equal(reply(m->r, request_names(m->r, FUSE_CREATE, FUSE_ROOT_ID, &in, sizeof(in), "new", NULL)), 0);
  memcpy(&out, body(m->r), sizeof(out));
  m->id = out.e.nodeid;
  m->fh = out.o.fh;
  fake_script(m->r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 1000, .fill = early ? fill_early : fill_written, .arg = m});
  assert_int_equal(reply(m->r, write_file(m->r, m->id, m->fh, 0, 1000, 0)), 0);
  memset(&set, 0, sizeof(set));
  fake_forget_seen(m->r->s);
  return m;
}

static void
made_free(struct made *m)
{
  rig_free(m->r);
  free(m);
}

static int
setattr(struct made *m, struct fuse_setattr_in in)
{
  return reply(m->r, request(m->r, FUSE_SETATTR, m->id, &in, sizeof(in)));
}

static int64_t
mtime_told(struct made *m)
{
  return (int64_t)((const struct fuse_attr_out *)body(m->r))->attr.mtime;
}

static int
flush(struct made *m)
{
  struct fuse_flush_in in = {.fh = m->fh};

  return reply(m->r, request(m->r, FUSE_FLUSH, m->id, &in, sizeof(in)));
}

#define PAST \
  { \
    .valid = FATTR_MTIME | FATTR_ATIME, .mtime = 7777, .atime = 7776 \
  }

static void
set_times(struct made *m)
{
  struct fuse_setattr_in in = PAST;

  assert_int_equal(setattr(m, in), 0);
  assert_int_equal(mtime_told(m), 7777);
}

/* As tar does. */
static void
test_times_and_owner_go_with_the_mode(void **state)
{
  struct made *m = made_new(true);
  struct fuse_setattr_in owner = {.valid = FATTR_UID | FATTR_GID}, mode = {.valid = FATTR_MODE, .mode = 0644};

  owner.uid = m->now.uid;
  owner.gid = m->now.gid;
  set_times(m);
  assert_int_equal(setattr(m, owner), 0);
  assert_int_equal(mtime_told(m), 7777);
  assert_int_equal(m->r->s->nseen, 0);
  assert_int_equal(setattr(m, mode), 0);
  assert_int_equal(m->r->s->nseen, 1);
  assert_int_equal(set.valid & (GI_SET_MODE | GI_SET_MTIME | GI_SET_ATIME), GI_SET_MODE | GI_SET_MTIME | GI_SET_ATIME);
  assert_int_equal(set.mtime, 7777);
  assert_int_equal(set.mode, 0644);
  assert_int_equal(mtime_told(m), 7777);
  assert_int_equal(flush(m), 0);
  assert_int_equal(fake_count(m->r->s, 0, GI_FOP_FSETATTR), 1); /* nothing is left of them */
  wait_notifications(m->r);
  assert_int_equal(m->r->dropped.data, 0);
  made_free(m);
}

/* The later of two is what counts. */
static void
test_later_times_replace_them(void **state)
{
  struct made *m = made_new(true);
  struct fuse_setattr_in later = {.valid = FATTR_MTIME, .mtime = 9999};

  set_times(m);
  assert_int_equal(setattr(m, later), 0);
  assert_int_equal(m->r->s->nseen, 0);
  assert_int_equal(flush(m), 0);
  assert_int_equal(set.mtime, 9999);
  assert_int_equal(set.valid, GI_SET_MTIME | GI_SET_ATIME);
  made_free(m);
}

static void
test_a_close_waits_for_them(void **state)
{
  struct made *m = made_new(true);
  struct fuse_flush_in in = {.fh = m->fh};
  uint64_t unique;

  set_times(m);
  fake_script_clear(m->r->s);
  fake_script(m->r->s, 0, GI_FOP_FSETATTR, (struct fake_reply){.hold = true});
  unique = request(m->r, FUSE_FLUSH, m->id, &in, sizeof(in));
  assert_int_equal(fake_count(m->r->s, 0, GI_FOP_FSETATTR), 1);
  assert_int_equal(fake_count(m->r->s, 0, GI_FOP_FLUSH), 0);
  assert_true(fake_release(m->r->s, 0, GI_FOP_FSETATTR, 0, 0));
  assert_int_equal(reply(m->r, unique), 0);
  made_free(m);
}

/* Who looks, writes or finds the file by its name sees them. */
static void
test_others_wait_for_them(void **state)
{
  static const enum { LOOK, FIND, WRITE } what[] = {LOOK, FIND, WRITE};

  for (unsigned i = 0; i < GI_ARRAY_LEN(what); i++) {
    struct made *m = made_new(true);
    struct fuse_getattr_in in = {0};

    set_times(m);
    if (what[i] == LOOK)
      assert_int_equal(reply(m->r, request(m->r, FUSE_GETATTR, m->id, &in, sizeof(in))), 0);
    else if (what[i] == FIND)
      assert_true(lookup(m->r, "another", &file_a) > 1);
    else
      assert_int_equal(reply(m->r, write_file(m->r, m->id, m->fh, 0, 1000, 0)), 0);
    assert_int_equal(m->r->s->seen[0].kind, GI_FOP_FSETATTR);
    assert_int_equal(m->r->s->nseen, 2);
    if (what[i] == LOOK)
      assert_int_equal(mtime_told(m), 7777);
    made_free(m);
  }
}

static void
test_they_are_made_soon(void **state)
{
  struct made *m = made_new(true);

  set_times(m);
  assert_int_equal(m->r->s->nseen, 0);
  fake_wait(m->r->s, 30 * GI_NSEC_PER_MSEC);
  assert_int_equal(fake_count(m->r->s, 0, GI_FOP_FSETATTR), 1);
  fake_wait(m->r->s, 30 * GI_NSEC_PER_MSEC);
  assert_int_equal(fake_count(m->r->s, 0, GI_FOP_FSETATTR), 1);
  made_free(m);
}

/* Each close says so until an fsync has. */
static void
test_an_error_is_told(void **state)
{
  struct made *m = made_new(true);
  struct fuse_fsync_in sync = {.fh = m->fh};

  set_times(m);
  fake_script_clear(m->r->s);
  fake_script(m->r->s, 0, GI_FOP_FSETATTR, (struct fake_reply){.ret = -1, .err = ENOSPC});
  fake_wait(m->r->s, 30 * GI_NSEC_PER_MSEC);
  assert_int_equal(flush(m), ENOSPC);
  assert_int_equal(flush(m), ENOSPC);
  assert_int_equal(reply(m->r, request(m->r, FUSE_FSYNC, m->id, &sync, sizeof(sync))), ENOSPC);
  assert_int_equal(reply(m->r, request(m->r, FUSE_FSYNC, m->id, &sync, sizeof(sync))), 0);
  assert_int_equal(flush(m), 0);
  made_free(m);
}

/* A mode, somebody else's file, another owner, times after the close, and what the kernel owns are not answered before they are made. */
static void
test_what_is_not_held(void **state)
{
  struct fuse_setattr_in mode = {.valid = FATTR_MODE, .mode = 0644}, owner = {.valid = FATTR_UID, .uid = 77}, times = PAST;
  struct made *m = made_new(true);

  assert_int_equal(setattr(m, mode), 0);
  assert_int_equal(m->r->s->nseen, 1);
  assert_int_equal(setattr(m, owner), 0);
  assert_int_equal(m->r->s->nseen, 2);
  m->r->uid = 77;
  assert_int_equal(setattr(m, times), 0);
  assert_int_equal(m->r->s->nseen, 3);
  m->r->uid = 0;
  assert_int_equal(flush(m), 0);
  fake_forget_seen(m->r->s);
  assert_int_equal(setattr(m, times), 0);
  assert_int_equal(m->r->s->nseen, 1);
  made_free(m);
}

/* Without write-behind, and with O_SYNC, what was written is on the bricks, and so are the times. */
static void
test_where_writes_are_not_answered_early(void **state)
{
  struct made *m = made_new(false);

  set_times(m);
  assert_int_equal(fake_count(m->r->s, 0, GI_FOP_FSETATTR), 1);
  made_free(m);
}

/* The mount ends while something is held. */
static void
test_the_end_makes_them(void **state)
{
  struct made *m = made_new(true);

  set_times(m);
  made_free(m);
  assert_int_equal(set.mtime, 7777);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_times_and_owner_go_with_the_mode),
      cmocka_unit_test(test_later_times_replace_them),
      cmocka_unit_test(test_a_close_waits_for_them),
      cmocka_unit_test(test_others_wait_for_them),
      cmocka_unit_test(test_they_are_made_soon),
      cmocka_unit_test(test_an_error_is_told),
      cmocka_unit_test(test_what_is_not_held),
      cmocka_unit_test(test_where_writes_are_not_answered_early),
      cmocka_unit_test(test_the_end_makes_them),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
