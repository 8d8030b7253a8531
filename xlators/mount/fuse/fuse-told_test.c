/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: what the kernel is told of what changed, and what is remembered
 * for it.
 */
#include "xlators/mount/fuse/fuse-rig.h"

/* ---- what is remembered ---- */

static void
fill_iatt(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = fop->rsp.pre = fop->rsp.post = *(const struct gi_iatt *)arg;
}

/* Nobody else writes: what a write finds is what the last one left. */
struct written {
  uint64_t before, size;
};

static void
fill_written(struct gi_fop *fop, void *arg)
{
  struct written *w = arg;

  fop->rsp.pre = fop->rsp.post = iatt_of(0xaa, S_IFREG | 0644);
  fop->rsp.pre.size = w->before;
  fop->rsp.post.size = w->before = w->size;
}

/* Size of the file as GETATTR says; -1 if a brick was asked. */
static int64_t
remembered_size(struct rig *r, uint64_t id)
{
  struct fuse_getattr_in in = {0};

  fake_forget_seen(r->s);
  int err = reply(r, request(r, FUSE_GETATTR, id, &in, sizeof(in)));

  if (r->s->nseen)
    return -1;
  assert_int_equal(err, 0);

  const struct fuse_attr_out *out = body(r);

  assert_true(out->attr_valid == 0 ||
              (out->attr_valid == 1 && out->attr_valid_nsec == 0)); /* never longer than from the write on */
  return (int64_t)out->attr.size;
}

static void
test_getattr_after_our_write(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  struct written w = {1000, 8192};

  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 8192, .fill = fill_written, .arg = &w});
  assert_int_equal(remembered_size(r, id), -1);
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 8192, 0)), 0);
  assert_int_equal(remembered_size(r, id), 8192);
  w.size = 16384;
  assert_int_equal(reply(r, write_file(r, id, fh, 8192, 8192, 0)), 0);
  assert_int_equal(remembered_size(r, id), 16384);

  /* A name that goes may have been another one of this file. */
  assert_int_equal(reply(r, request(r, FUSE_UNLINK, FUSE_ROOT_ID, "other", 6)), 0);
  assert_int_equal(remembered_size(r, id), -1);

  /* While another write is under way nobody knows. */
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 8192, 0)), 0);
  fake_script_clear(r->s);
  fake_script(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});

  uint64_t unique = write_file(r, id, fh, 0, 8192, 0);

  assert_int_equal(remembered_size(r, id), -1);
  assert_true(fake_release(r->s, 0, GI_FOP_WRITE, 8192, 0));
  assert_int_equal(reply(r, unique), 0);

  /* Somebody else's change. */
  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 8192, .fill = fill_written, .arg = &w});
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 8192, 0)), 0);
  assert_int_equal(remembered_size(r, id), 16384);

  struct gi_invalidation inv = {.gfid = iatt_of(0xaa, 0).gfid, .flags = 0x8};

  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_int_equal(remembered_size(r, id), -1);
  wait_notifications(r);
  rig_free(r);
}

/* What an entry more or less makes of a directory is not told. */
static void
test_getattr_of_a_directory_asks(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer dir = {0xdd, S_IFDIR | 0755, 0, 0};
  uint64_t id = lookup(r, "d", &dir);
  struct fuse_setattr_in mode = {.valid = FATTR_MODE, .mode = 0700};
  struct gi_iatt left = iatt_of(0xdd, S_IFDIR | 0700);

  fake_script(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = fill_iatt, .arg = &left});
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &mode, sizeof(mode))), 0);
  assert_int_equal(remembered_size(r, id), -1);
  rig_free(r);
}

static void
test_attribute_timeout_zero_asks(void **state)
{
  struct rig *r = rig_new("option attribute-timeout 0\n");
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  struct written w = {1000, 8192};

  fake_script(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 8192, .fill = fill_written, .arg = &w});
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 8192, 0)), 0);
  assert_int_equal(remembered_size(r, id), -1);
  rig_free(r);
}

static void
fill_copied(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = iatt_of(0xaa, S_IFREG | 0644);
  fop->rsp.pre = fop->rsp.post = iatt_of(0xbb, S_IFREG | 0600);
  fop->rsp.pre.size = fop->rsp.pre.mtime.sec = fop->rsp.pre.ctime.sec = 2000;
  fop->rsp.post.size = 3000;
}

/* A copy leaves the source as it was, in the attributes too. */
static void
test_copy_is_of_the_destination(void **state)
{
  struct answer file_b = {0xbb, S_IFREG | 0600, 2000, 2000};
  struct rig *r = rig_new(NULL);
  uint64_t from = lookup(r, "a", &file_a), to = lookup(r, "b", &file_b);
  struct fuse_copy_file_range_in cp = {
      .fh_in = open_file(r, from, O_RDONLY), .nodeid_out = to, .fh_out = open_file(r, to, O_RDWR), .len = 3000};

  fake_script(r->s, 0, GI_FOP_COPY_FILE_RANGE, (struct fake_reply){.ret = 3000, .fill = fill_copied});
  assert_int_equal(reply(r, request(r, FUSE_COPY_FILE_RANGE, from, &cp, sizeof(cp))), 0);
  assert_int_equal(remembered_size(r, from), -1);
  assert_int_equal(remembered_size(r, to), 3000);
  rig_free(r);
}

/* That a file has no capabilities is known from the answer to that question, unless it was changed meanwhile. */
static void
test_absent_capability(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a), unique;
  struct fuse_getxattr_in in = {.size = 100};
  uint8_t set[FUSE_COMPAT_SETXATTR_IN_SIZE + 32] = {[0] = 1}; /* size 1 */

  fake_script_always(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.ret = -1, .err = ENODATA});
  fake_forget_seen(r->s);
  assert_int_equal(getxattr(r, id, "user.x", 100), ENODATA);
  assert_int_equal(getxattr(r, id, "security.capability", 100), ENODATA);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_GETXATTR), 2);
  assert_int_equal(getxattr(r, id, "security.capability", 100), ENODATA);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_GETXATTR), 2); /* known now */
  rig_free(r);

  r = rig_new(NULL);
  id = lookup(r, "f", &file_a);
  fake_script(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.hold = true});
  unique = request_names(r, FUSE_GETXATTR, id, &in, sizeof(in), "security.capability", NULL);
  memcpy(set + FUSE_COMPAT_SETXATTR_IN_SIZE, "security.capability\0c", 21);
  assert_int_equal(reply(r, request(r, FUSE_SETXATTR, id, set, FUSE_COMPAT_SETXATTR_IN_SIZE + 21)), 0);
  assert_true(fake_release(r->s, 0, GI_FOP_GETXATTR, -1, ENODATA));
  assert_int_equal(reply(r, unique), ENODATA);
  fake_script(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.ret = -1, .err = ENODATA});
  fake_forget_seen(r->s);
  assert_int_equal(getxattr(r, id, "security.capability", 100), ENODATA);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_GETXATTR), 1);
  rig_free(r);
}

/* The kernel does not take attributes that it was told are invalid after it had asked for them, and so does not forget what it knows of
 * capabilities: it is told so when they are news of nothing. */
static unsigned
spared(struct rig *r, uint64_t id, int64_t size)
{
  r->dropped = (struct dropped){0};
  assert_int_equal(remembered_size(r, id), size);
  return r->dropped.attributes;
}

static void
test_end_of_what_we_wrote_is_no_news(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a), fh = open_file(r, id, O_RDWR);
  struct written w = {1000, 8192};
  struct gi_invalidation inv = {.gfid = iatt_of(0xaa, 0).gfid, .flags = 0x2};

  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 8192, .fill = fill_written, .arg = &w});
  fake_script_always(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.ret = -1, .err = ENODATA});
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 8192, 0)), 0);
  assert_int_equal(getxattr(r, id, "security.capability", 100), ENODATA);
  assert_int_equal(spared(r, id, 8192), 0); /* it has asked once, as of every file */
  assert_int_equal(getxattr(r, id, "security.capability", 100), ENODATA);
  assert_int_equal(spared(r, id, 8192), 0); /* nothing was written since */
  w.size = 16384;
  assert_int_equal(reply(r, write_file(r, id, fh, 8192, 8192, 0)), 0);
  assert_int_equal(spared(r, id, 16384), 1);
  assert_int_equal(spared(r, id, 16384), 0); /* these it is to keep */
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 8192, 0)), 0);
  assert_int_equal(spared(r, id, 16384), 0); /* what it takes the end for is not shown by that write */
  assert_int_equal(reply(r, write_file(r, id, fh, 8192, 8192, 0)), 0);
  assert_int_equal(spared(r, id, 16384), 1);
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv); /* others are about */
  wait_notifications(r);
  assert_int_equal(reply(r, write_file(r, id, fh, 8192, 8192, 0)), 0);
  assert_int_equal(spared(r, id, 16384), 0);
  rig_free(r);

  r = rig_new("option acl yes\n"); /* it would forget those */
  id = lookup(r, "f", &file_a);
  fh = open_file(r, id, O_RDWR);
  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 8192, .fill = fill_written, .arg = &w});
  fake_script_always(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.ret = -1, .err = ENODATA});
  for (int i = 0; i < 3; i++)
    assert_int_equal(getxattr(r, id, "security.capability", 100), ENODATA);
  w = (struct written){1000, 8192};
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 8192, 0)), 0);
  assert_int_equal(spared(r, id, 8192), 0);
  rig_free(r);
}

/* ---- handles and appending ---- */

static void
check_fd_flags(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->fd->flags & (O_ACCMODE | O_APPEND | O_DIRECT), *(const uint32_t *)arg);
}

/* Pages of a mapping come with any handle and are no appends, nor do they fill blocks. */
static void
test_pages_go_through_a_plain_handle(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a), mapped = open_file(r, id, O_RDWR), fh[2];
  uint32_t plain = O_RDWR, direct = O_RDWR | O_DIRECT;

  open_file(r, id, O_RDONLY);
  fh[0] = open_file(r, id, O_RDWR | O_DIRECT);
  fh[1] = open_file(r, id, O_WRONLY | O_APPEND);
  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100, .fill = check_fd_flags, .arg = &plain});
  for (int i = 0; i < 2; i++)
    assert_int_equal(reply(r, write_file(r, id, fh[i], 0, 100, FUSE_WRITE_CACHE)), 0);
  assert_int_equal(reply(r, write_file(r, id, mapped, 0, 100, FUSE_WRITE_CACHE)), 0);

  /* What a program writes goes through its own. */
  fake_script_clear(r->s);
  fake_script(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100, .fill = check_fd_flags, .arg = &direct});
  assert_int_equal(reply(r, write_file(r, id, fh[0], 0, 100, 0)), 0);
  rig_free(r);
}

static uint32_t
open_answer(struct rig *r, uint64_t id, uint32_t flags)
{
  open_file(r, id, flags);
  return ((const struct fuse_open_out *)body(r))->open_flags &
         (FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE | FOPEN_PARALLEL_DIRECT_WRITES);
}

/* One write(2) is one WRITE, which the page cache does not promise. */
static void
test_append_passes_the_page_cache(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);

  assert_int_equal(open_answer(r, id, O_WRONLY), FOPEN_KEEP_CACHE);
  assert_int_equal(open_answer(r, id, O_WRONLY | O_APPEND), FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE);
  assert_int_equal(open_answer(r, id, O_RDWR | O_APPEND), FOPEN_KEEP_CACHE); /* it could not be mapped */
  rig_free(r);

  offered2 = 1u << 4; /* FUSE_DIRECT_IO_ALLOW_MMAP */
  r = rig_new(NULL);
  id = lookup(r, "f", &file_a);
  assert_int_equal(open_answer(r, id, O_RDWR), FOPEN_KEEP_CACHE);
  assert_int_equal(open_answer(r, id, O_RDWR | O_APPEND), FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE);
  rig_free(r);

  r = rig_new("option kernel-writeback-cache yes\n"); /* the kernel appends */
  id = lookup(r, "f", &file_a);
  assert_int_equal(open_answer(r, id, O_RDWR | O_APPEND), FOPEN_KEEP_CACHE);
  rig_free(r);
  offered2 = 0;
}

static void
test_direct_writes_may_come_at_once(void **state)
{
  struct rig *r = rig_new("option direct-io-mode on\n");
  uint64_t id = lookup(r, "f", &file_a);
  uint32_t at_once = FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE | FOPEN_PARALLEL_DIRECT_WRITES;

  assert_int_equal(open_answer(r, id, O_RDWR), at_once);
  assert_int_equal(open_answer(r, id, O_WRONLY | O_APPEND), FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE);
  rig_free(r);

  r = rig_new(NULL);
  id = lookup(r, "f", &file_a);
  assert_int_equal(open_answer(r, id, O_RDWR | O_DIRECT), FOPEN_KEEP_CACHE); /* it could not be mapped */
  rig_free(r);

  offered2 = 1u << 4; /* FUSE_DIRECT_IO_ALLOW_MMAP */
  r = rig_new(NULL);
  id = lookup(r, "f", &file_a);
  assert_int_equal(open_answer(r, id, O_RDWR | O_DIRECT), at_once);
  rig_free(r);
  r = rig_new("option kernel-writeback-cache yes\n"); /* the kernel writes through whatever handle is at hand */
  id = lookup(r, "f", &file_a);
  assert_int_equal(open_answer(r, id, O_RDWR | O_DIRECT), FOPEN_KEEP_CACHE);
  rig_free(r);
  offered2 = 0;
}

static void
check_write_flags(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->args.flags & O_APPEND, *(const uint32_t *)arg);
}

/* fcntl(2) may set and clear O_APPEND: each WRITE says how it is now. */
static void
test_each_write_says_whether_it_appends(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a), fh = open_file(r, id, O_RDWR | O_APPEND);
  uint32_t wanted;

  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100, .fill = check_write_flags, .arg = &wanted});
  for (int i = 0; i < 4; i++) {
    wanted = i % 2 ? 0 : O_APPEND;
    file_flags = O_RDWR | wanted;
    assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, 0)), 0);
  }
  file_flags = O_RDWR;
  rig_free(r);
}

/* Somebody else appended first, so the record is not where the kernel believes it to be. */
static void
test_append_elsewhere_drops_pages(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a), fh = open_file(r, id, O_WRONLY | O_APPEND);
  struct written w = {1000, 1100};

  file_flags = O_WRONLY | O_APPEND;
  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100, .fill = fill_written, .arg = &w});
  assert_int_equal(reply(r, write_file(r, id, fh, 1000, 100, 0)), 0);
  wait_notifications(r);
  assert_int_equal(r->notifications, 0);
  w.size = 1200;
  assert_int_equal(reply(r, write_file(r, id, fh, 1050, 100, 0)), 0);
  wait_notifications(r);
  assert_int_equal(r->notifications, 1);
  assert_false(open_answer(r, id, O_RDWR) & FOPEN_KEEP_CACHE);
  file_flags = O_RDWR;
  rig_free(r);
}

/* ---- privilege ---- */

static void
check_kill(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->caller.uid, 0);
  assert_int_equal(fop->args.valid, GI_SET_MODE);
  assert_int_equal(fop->args.iatt.mode, 0755);
  fop->rsp.post = iatt_of(0xaa, S_IFREG | 0755);
}

/* The kernel honours the bits it remembers, so it hears that they fell before the write has succeeded. */
static void
test_kernel_hears_of_lost_setuid(void **state)
{
  struct answer suid = {0xaa, S_IFREG | 06755, 0, 0}, plain = {0xbb, S_IFREG | 0755, 0, 0};

  for (int wb = 0; wb < 2; wb++) {
    struct rig *r = rig_new(wb ? "option kernel-writeback-cache yes\n" : NULL);
    uint64_t id = lookup(r, "f", &suid), from = lookup(r, "g", &plain), fh;
    struct fuse_fallocate_in space = {.length = 100};
    struct fuse_copy_file_range_in cp = {.fh_in = open_file(r, from, O_RDONLY), .nodeid_out = id, .len = 3};

    space.fh = cp.fh_out = fh = open_file(r, id, O_RDWR);
    fake_forget_seen(r->s);
    assert_int_equal(reply(r, request(r, FUSE_FALLOCATE, id, &space, sizeof(space))), 0);
    assert_int_equal(r->s->nseen, 1); /* root keeps them */
    fake_script_always(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = check_kill});
    r->uid = 1000;
    for (unsigned i = 0; i < 3; i++) {
      lookup(r, "f", &suid);
      fake_script_always(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = check_kill});
      fake_forget_seen(r->s);
      r->notifications = 0;
      if (i == 0)
        assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, FUSE_WRITE_KILL_SUIDGID)), 0);
      else if (i == 1)
        assert_int_equal(reply(r, request(r, FUSE_FALLOCATE, id, &space, sizeof(space))), 0);
      else
        assert_int_equal(reply(r, request(r, FUSE_COPY_FILE_RANGE, from, &cp, sizeof(cp))), 0);
      assert_int_equal(fake_count(r->s, 0, GI_FOP_SETATTR), 1);
      assert_true(r->notifications >= 1);
      assert_int_equal(r->last_code, FUSE_NOTIFY_INVAL_INODE);
      assert_int_equal(r->last_id, id);
    }
    rig_free(r);
  }
}

/* Somebody else has given the file privilege since it was looked at. */
static void
test_privilege_not_known_falls_too(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a), fh = open_file(r, id, O_RDWR);
  struct fuse_fallocate_in space = {.fh = fh, .length = 100};
  struct gi_iatt suid = iatt_of(0xaa, S_IFREG | 06755);

  for (unsigned i = 0; i < 3; i++) {
    r->uid = 1000;
    lookup(r, "f", &file_a);
    fake_script_clear(r->s);
    fake_script(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100, .fill = fill_iatt, .arg = &suid});
    fake_script(r->s, 0, GI_FOP_FALLOCATE, (struct fake_reply){.fill = fill_iatt, .arg = &suid});
    fake_script(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = check_kill});
    fake_forget_seen(r->s);
    if (i == 0) {
      assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, FUSE_WRITE_KILL_SUIDGID)), 0);
      assert_int_equal(((const struct fuse_write_out *)body(r))->size, 100);
    } else if (i == 1) {
      assert_int_equal(reply(r, request(r, FUSE_FALLOCATE, id, &space, sizeof(space))), 0);
    } else {
      fake_script_clear(r->s);
      fake_script(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100, .fill = fill_iatt, .arg = &suid});
      fake_script(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.ret = -1, .err = EIO});
      assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, FUSE_WRITE_KILL_SUIDGID)), EIO);
    }
    assert_int_equal(r->s->nseen, 2);
    assert_int_equal(r->s->seen[1].kind, GI_FOP_SETATTR);
  }
  rig_free(r);
}

/* Privilege falls with a truncation that the kernel says to do so, not with an open. */
static void
test_open_leaves_setuid_alone(void **state)
{
  static const struct {
    uint32_t flags, open_flags;
    unsigned falls;
  } opens[] = {{O_RDWR, FUSE_OPEN_KILL_SUIDGID, 0}, {O_RDWR | O_TRUNC, 0, 0}, {O_RDWR | O_TRUNC, FUSE_OPEN_KILL_SUIDGID, 1}};
  struct answer suid = {0xaa, S_IFREG | 06755, 0, 0};
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &suid);

  r->uid = 1000;
  for (size_t i = 0; i < GI_ARRAY_LEN(opens); i++) {
    struct fuse_open_in in = {.flags = opens[i].flags, .open_flags = opens[i].open_flags};

    fake_script(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = check_kill});
    fake_forget_seen(r->s);
    assert_int_equal(reply(r, request(r, FUSE_OPEN, id, &in, sizeof(in))), 0);
    assert_int_equal(fake_count(r->s, 0, GI_FOP_SETATTR), opens[i].falls);
    assert_int_equal(fake_count(r->s, 0, GI_FOP_OPEN), 1);
    fake_script_clear(r->s);
  }
  rig_free(r);
}

/* ---- what is gone ---- */

/* A process may stay in a directory that it removes. */
static void
test_removed_directory(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer dir = {0xdd, S_IFDIR | 0755, 0, 0};
  uint64_t id = lookup(r, "d", &dir);
  struct fuse_open_in open = {0};
  struct fuse_read_in list = {.size = 4096};
  struct fuse_getattr_in get = {0};
  static const enum gi_fop_kind asked[] = {GI_FOP_STAT, GI_FOP_OPENDIR};

  for (size_t i = 0; i < GI_ARRAY_LEN(asked); i++)
    fake_script_always(r->s, 0, asked[i], (struct fake_reply){.ret = -1, .err = ESTALE});
  assert_int_equal(reply(r, request(r, FUSE_GETATTR, id, &get, sizeof(get))), 0);      /* it was there when the caller looked */
  assert_int_equal(reply(r, request(r, FUSE_GETATTR, id, &get, sizeof(get))), ESTALE); /* somebody else may have: look it up */
  assert_int_equal(reply(r, request(r, FUSE_OPENDIR, id, &open, sizeof(open))), ESTALE);
  assert_int_equal(reply(r, request(r, FUSE_RMDIR, FUSE_ROOT_ID, "d", 2)), 0);
  assert_int_equal(reply(r, request(r, FUSE_GETATTR, id, &get, sizeof(get))), 0);
  assert_int_equal(((const struct fuse_attr_out *)body(r))->attr.nlink, 0);
  assert_int_equal(((const struct fuse_attr_out *)body(r))->attr.mode, S_IFDIR | 0755);
  assert_int_equal(reply(r, request(r, FUSE_OPENDIR, id, &open, sizeof(open))), 0);
  list.fh = ((const struct fuse_open_out *)body(r))->fh;
  assert_int_equal(reply(r, request(r, FUSE_READDIRPLUS, id, &list, sizeof(list))), 0);
  assert_int_equal(r->out_len, sizeof(struct fuse_out_header));
  rig_free(r);
}

/* What somebody else changed is not known well enough to keep times for it. */
static void
test_times_of_a_file_changed_by_others(void **state)
{
  struct rig *r = rig_new("option kernel-writeback-cache yes\n");
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_setattr_in times = {.valid = FATTR_MTIME | FATTR_CTIME};
  struct gi_invalidation inv = {.gfid = iatt_of(0xaa, 0).gfid, .flags = 0x8};

  open_file(r, id, O_RDWR);
  fake_script_always(r->s, 0, GI_FOP_FSETATTR, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &times, sizeof(times))), 0);
  assert_int_equal(r->s->nseen, 0);
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  wait_notifications(r);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &times, sizeof(times))), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSETATTR), 1);
  rig_free(r);
}

/* The kernel writes back the times of a file when it likes, which may be after its end. */
static void
test_times_of_a_removed_file(void **state)
{
  struct rig *r = rig_new("option kernel-writeback-cache yes\n");
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_setattr_in times = {.valid = FATTR_MTIME | FATTR_CTIME}, mode = {.valid = FATTR_MODE, .mode = 0600};

  fake_script_always(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.ret = -1, .err = ENOENT});
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &times, sizeof(times))), 0);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &mode, sizeof(mode))), ESTALE);
  rig_free(r);
}

/* The kernel forgets when a file was changed whenever it moves it, and rm looks before it removes. */
static void
test_a_rename_tells_what_it_left(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer victim = {0xbb, S_IFREG | 0644, 1000, 1000};
  struct fuse_rename2_in in = {.newdir = FUSE_ROOT_ID, .flags = 1 /* RENAME_NOREPLACE */};
  struct gi_iatt left = iatt_of(0xaa, S_IFREG | 0644);
  uint64_t id = lookup(r, "f", &file_a);

  left.size = 1000;
  left.mtime.sec = 1000;
  left.ctime.sec = 2000;
  fake_script_always(r->s, 0, GI_FOP_RENAME, (struct fake_reply){.fill = fill_iatt, .arg = &left});
  fake_script_always(r->s, 0, GI_FOP_STAT, (struct fake_reply){.fill = fill_iatt, .arg = &left});
  assert_int_equal(reply(r, request_names(r, FUSE_RENAME2, FUSE_ROOT_ID, &in, sizeof(in), "f", "g")), 0);
  assert_int_equal(remembered_size(r, id), 1000);
  assert_int_equal(((const struct fuse_attr_out *)body(r))->attr.ctime, 2000);
  lookup(r, "v", &victim);
  assert_int_equal(reply(r, request(r, FUSE_UNLINK, FUSE_ROOT_ID, "v", 2)), 0);
  assert_int_equal(remembered_size(r, id), 1000); /* it was another that went */
  assert_int_equal(reply(r, request(r, FUSE_UNLINK, FUSE_ROOT_ID, "x", 2)), 0);
  assert_int_equal(remembered_size(r, id), -1); /* may have been a name of it */
  assert_int_equal(reply(r, request_names(r, FUSE_RENAME2, FUSE_ROOT_ID, &in, sizeof(in), "g", "f")), 0);
  assert_int_equal(remembered_size(r, id), 1000);
  assert_int_equal(reply(r, request(r, FUSE_UNLINK, FUSE_ROOT_ID, "f", 2)), 0);
  assert_int_equal(remembered_size(r, id), -1);
  rig_free(r);
}

/* What is left of a file whose name was taken has another ctime, which nobody else changed. */
static void
test_rename_over_one_of_two_links(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer victim = {0xbb, S_IFREG | 0644, 1000, 1000};
  struct fuse_rename2_in in = {.newdir = FUSE_ROOT_ID};
  struct fuse_getattr_in get = {0};
  struct gi_iatt left = iatt_of(0xbb, S_IFREG | 0644);
  uint64_t id = lookup(r, "v", &victim);

  lookup(r, "f", &file_a);
  assert_int_equal(reply(r, request_names(r, FUSE_RENAME2, FUSE_ROOT_ID, &in, sizeof(in), "f", "v")), 0);
  wait_notifications(r);
  assert_int_equal(r->notifications, 1);
  assert_int_equal(r->last_id, id);
  left.mtime.sec = 1000;
  left.ctime.sec = 1001;
  fake_script(r->s, 0, GI_FOP_STAT, (struct fake_reply){.fill = fill_iatt, .arg = &left});
  assert_int_equal(reply(r, request(r, FUSE_GETATTR, id, &get, sizeof(get))), 0);
  wait_notifications(r);
  assert_int_equal(r->notifications, 1);
  rig_free(r);
}

static void
fill_old(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = iatt_of(0xaa, S_IFREG | 0644);
  fop->rsp.asked = *(const uint64_t *)arg;
}

/* A cache below and the kernel together keep attributes no longer than one of them. */
static void
test_the_kernel_keeps_old_attributes_less_long(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a), asked = gi_now(r->s->x->reactor);
  const struct fuse_attr_out *out;

  (void)state;
  fake_wait(r->s, 100 * GI_NSEC_PER_MSEC);
  fake_script(r->s, 0, GI_FOP_STAT, (struct fake_reply){.fill = fill_old, .arg = &asked});
  assert_int_equal(getattr(r, id, NULL), 0);
  out = body(r);
  assert_int_equal(out->attr_valid, 0);
  assert_in_range(out->attr_valid_nsec, 1, 900000000);
  asked = 1;
  fake_script(r->s, 0, GI_FOP_STAT, (struct fake_reply){.fill = fill_old, .arg = &asked});
  assert_int_equal(getattr(r, id, NULL), 0);
  out = body(r);
  assert_int_equal(out->attr_valid + out->attr_valid_nsec, 0);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_getattr_after_our_write),
      cmocka_unit_test(test_getattr_of_a_directory_asks),
      cmocka_unit_test(test_attribute_timeout_zero_asks),
      cmocka_unit_test(test_copy_is_of_the_destination),
      cmocka_unit_test(test_absent_capability),
      cmocka_unit_test(test_end_of_what_we_wrote_is_no_news),
      cmocka_unit_test(test_pages_go_through_a_plain_handle),
      cmocka_unit_test(test_append_passes_the_page_cache),
      cmocka_unit_test(test_direct_writes_may_come_at_once),
      cmocka_unit_test(test_each_write_says_whether_it_appends),
      cmocka_unit_test(test_append_elsewhere_drops_pages),
      cmocka_unit_test(test_kernel_hears_of_lost_setuid),
      cmocka_unit_test(test_privilege_not_known_falls_too),
      cmocka_unit_test(test_open_leaves_setuid_alone),
      cmocka_unit_test(test_removed_directory),
      cmocka_unit_test(test_times_of_a_file_changed_by_others),
      cmocka_unit_test(test_times_of_a_removed_file),
      cmocka_unit_test(test_a_rename_tells_what_it_left),
      cmocka_unit_test(test_rename_over_one_of_two_links),
      cmocka_unit_test(test_the_kernel_keeps_old_attributes_less_long),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
