/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: what each request of the kernel becomes.
 */
#include "xlators/mount/fuse/fuse-rig.h"

#include <linux/falloc.h>
#include <linux/fs.h>

/* ---- creating ---- */

static void
fill_created(struct gi_fop *fop, void *arg)
{
  struct gi_gfid gfid;

  assert_true(gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid));
  fop->rsp.stat = iatt_of(0x11, S_IFREG | fop->args.mode);
  fop->rsp.stat.gfid = gfid;
  assert_int_equal(fop->args.mode, 0640);
  assert_string_equal(fop->loc.name, "new");
}

static void
test_create(void **state)
{
  struct rig *r = rig_new(NULL);
  struct fuse_create_in in = {.flags = O_RDWR | O_CREAT | O_EXCL, .mode = S_IFREG | 0666, .umask = 026};
  struct {
    struct fuse_entry_out e;
    struct fuse_open_out o;
  } out;

  in.mode = 0666;
  fake_script(r->s, 0, GI_FOP_CREATE, (struct fake_reply){.fill = fill_created});
  assert_int_equal(reply(r, request_names(r, FUSE_CREATE, FUSE_ROOT_ID, &in, sizeof(in), "new", NULL)), 0);
  memcpy(&out, body(r), sizeof(out));
  assert_true(out.e.nodeid > 1);
  assert_true(out.o.open_flags & FOPEN_KEEP_CACHE);
  assert_int_equal(r->s->seen[0].flags & (O_CREAT | O_EXCL), O_CREAT | O_EXCL);

  /* A file we made has no capabilities: asked and answered without the bricks. */
  struct fuse_getxattr_in gx = {.size = 0};

  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request_names(r, FUSE_GETXATTR, out.e.nodeid, &gx, sizeof(gx), "security.capability", NULL)), ENODATA);
  assert_int_equal(r->s->nseen, 0);

  /* Nothing written: flush is local. Something written: it is not. */
  struct fuse_flush_in fl = {.fh = out.o.fh, .lock_owner = 5};

  assert_int_equal(reply(r, request(r, FUSE_FLUSH, out.e.nodeid, &fl, sizeof(fl))), 0);
  assert_int_equal(r->s->nseen, 0);
  assert_int_equal(reply(r, write_file(r, out.e.nodeid, out.o.fh, 0, 8192, 0)), 0);
  assert_int_equal(((const struct fuse_write_out *)body(r))->size, 8192);
  assert_int_equal(reply(r, request(r, FUSE_FLUSH, out.e.nodeid, &fl, sizeof(fl))), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FLUSH), 1);

  struct fuse_release_in rel = {.fh = out.o.fh};

  assert_int_equal(reply(r, request(r, FUSE_RELEASE, out.e.nodeid, &rel, sizeof(rel))), 0);
  assert_int_equal(r->s->graph->fds_live, 0);
  assert_int_equal(reply(r, request(r, FUSE_RELEASE, out.e.nodeid, &rel, sizeof(rel))), EBADF);
  rig_free(r);
}

static void
test_link_and_symlink(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_link_in in = {.oldnodeid = id};
  struct answer sym = {0xcc, S_IFLNK | 0777, 6, 0};

  fake_script(r->s, 0, GI_FOP_LINK, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  assert_int_equal(reply(r, request_names(r, FUSE_LINK, FUSE_ROOT_ID, &in, sizeof(in), "l", NULL)), 0);
  assert_int_equal(((const struct fuse_entry_out *)body(r))->nodeid, id);
  fake_script(r->s, 0, GI_FOP_SYMLINK, (struct fake_reply){.fill = fill_stat, .arg = &sym});
  assert_int_equal(reply(r, request_names(r, FUSE_SYMLINK, FUSE_ROOT_ID, NULL, 0, "s", "target")), 0);
  assert_int_equal(((const struct fuse_entry_out *)body(r))->attr.mode, S_IFLNK | 0777);
  rig_free(r);
}

/* ---- data ---- */

static void
check_payload(struct gi_fop *fop, void *arg)
{
  unsigned *seen = arg;

  assert_int_equal(fop->payload.count, 1);
  assert_int_equal((uintptr_t)fop->payload.slice[0].data % GI_PAGE, 0);
  for (size_t i = 0; i < fop->payload.len; i++)
    assert_int_equal(fop->payload.slice[0].data[i], 'w');
  (*seen)++;
}

static void
test_write_is_not_copied(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  uint64_t copied = gi_payload_copied;
  unsigned seen = 0;

  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 8192, .fill = check_payload, .arg = &seen});
  for (int i = 0; i < 5; i++)
    assert_int_equal(reply(r, write_file(r, id, fh, (uint64_t)i * 8192, 8192, 0)), 0);
  assert_int_equal(seen, 5);
  assert_int_equal(gi_payload_copied, copied);
  rig_free(r);
}

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

  assert_true(out->attr_valid == 0 || (out->attr_valid == 1 && out->attr_valid_nsec == 0)); /* never longer than from the write on */
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

/* Writes that stay under way share one receive buffer, each with its own pages. */
static void
test_writes_in_flight(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  uint64_t unique[40];

  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  fake_forget_seen(r->s);
  for (int i = 0; i < 40; i++)
    unique[i] = write_file(r, id, fh, (uint64_t)i * 8192, 8192, 0);
  assert_int_equal(fake_held(r->s, 0), 40);

  const struct gi_payload *p0 = &r->s->seen[0].fop->payload, *p1 = &r->s->seen[1].fop->payload;

  assert_ptr_equal(p0->slice[0].buf, p1->slice[0].buf);
  assert_ptr_equal(p0->slice[0].data + 8192, p1->slice[0].data);
  for (int i = 0; i < 40; i++) {
    assert_true(fake_release(r->s, 0, GI_FOP_WRITE, 8192, 0));
    assert_int_equal(reply(r, unique[i]), 0);
  }
  rig_free(r);
}

static void
test_read(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDONLY);
  struct fuse_read_in in = {.fh = fh, .offset = 4096, .size = 10000, .flags = O_RDONLY};

  assert_int_equal(reply(r, request(r, FUSE_READ, id, &in, sizeof(in))), 0);
  assert_int_equal(r->out_len, sizeof(struct fuse_out_header) + 10000);
  assert_int_equal(((const uint8_t *)body(r))[9999], 'r');
  fake_script(r->s, 0, GI_FOP_READ, (struct fake_reply){.ret = 0, .err = ENOENT}); /* end of file */
  assert_int_equal(reply(r, request(r, FUSE_READ, id, &in, sizeof(in))), 0);
  assert_int_equal(r->out_len, sizeof(struct fuse_out_header));
  in.fh = 99;
  assert_int_equal(reply(r, request(r, FUSE_READ, id, &in, sizeof(in))), EBADF);
  rig_free(r);
}

static void
test_fallocate_modes(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_fallocate_in in = {.fh = open_file(r, id, O_RDWR), .offset = 100, .length = 200};
  static const struct {
    uint32_t mode;
    enum gi_fop_kind kind;
  } good[] = {{0, GI_FOP_FALLOCATE},
              {FALLOC_FL_KEEP_SIZE, GI_FOP_FALLOCATE},
              {FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, GI_FOP_DISCARD},
              {FALLOC_FL_ZERO_RANGE, GI_FOP_ZEROFILL}};

  for (size_t i = 0; i < 4; i++) {
    in.mode = good[i].mode;
    fake_forget_seen(r->s);
    assert_int_equal(reply(r, request(r, FUSE_FALLOCATE, id, &in, sizeof(in))), 0);
    assert_int_equal(r->s->seen[0].kind, good[i].kind);
    assert_int_equal(r->s->seen[0].flags, good[i].mode == FALLOC_FL_KEEP_SIZE);
    assert_int_equal(r->s->seen[0].size, 200);
  }

  /* Zeroing that must not grow the file stops at its size. */
  in.mode = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
  in.length = 5000;
  fake_forget_seen(r->s);
  fake_script_always(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  assert_int_equal(reply(r, request(r, FUSE_FALLOCATE, id, &in, sizeof(in))), 0);
  assert_int_equal(r->s->seen[1].kind, GI_FOP_ZEROFILL);
  assert_int_equal(r->s->seen[1].size, 900);
  in.offset = 2000;
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_FALLOCATE, id, &in, sizeof(in))), 0);
  assert_int_equal(r->s->seen[1].kind, GI_FOP_FALLOCATE);
  assert_int_equal(r->s->seen[1].flags, 1);
  in.mode = FALLOC_FL_COLLAPSE_RANGE;
  assert_int_equal(reply(r, request(r, FUSE_FALLOCATE, id, &in, sizeof(in))), EOPNOTSUPP);
  rig_free(r);
}

/* ---- appending ---- */

static uint32_t
open_answer(struct rig *r, uint64_t id, uint32_t flags)
{
  open_file(r, id, flags);
  return ((const struct fuse_open_out *)body(r))->open_flags & (FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE);
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

static void
fill_seek(struct gi_fop *fop, void *arg)
{
  fop->rsp.offset = 12345;
}

static void
test_seek_and_copy(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  struct fuse_lseek_in in = {.fh = fh, .offset = 5, .whence = SEEK_HOLE};
  struct fuse_copy_file_range_in cp = {.fh_in = fh, .off_in = 1, .nodeid_out = id, .fh_out = fh, .off_out = 2, .len = 3};

  fake_script(r->s, 0, GI_FOP_SEEK, (struct fake_reply){.fill = fill_seek});
  assert_int_equal(reply(r, request(r, FUSE_LSEEK, id, &in, sizeof(in))), 0);
  assert_int_equal(((const struct fuse_lseek_out *)body(r))->offset, 12345);
  in.offset = (uint64_t)-1;
  assert_int_equal(reply(r, request(r, FUSE_LSEEK, id, &in, sizeof(in))), ENXIO);
  in.offset = 5;
  fake_script(r->s, 0, GI_FOP_SEEK, (struct fake_reply){.ret = -1, .err = EOPNOTSUPP});
  assert_int_equal(reply(r, request(r, FUSE_LSEEK, id, &in, sizeof(in))), ENOSYS);
  fake_script(r->s, 0, GI_FOP_COPY_FILE_RANGE, (struct fake_reply){.ret = 3});
  assert_int_equal(reply(r, request(r, FUSE_COPY_FILE_RANGE, id, &cp, sizeof(cp))), 0);
  assert_int_equal(((const struct fuse_write_out *)body(r))->size, 3);
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
  struct fuse_copy_file_range_in cp = {.fh_in = open_file(r, from, O_RDONLY), .nodeid_out = to, .fh_out = open_file(r, to, O_RDWR),
                                       .len = 3000};

  fake_script(r->s, 0, GI_FOP_COPY_FILE_RANGE, (struct fake_reply){.ret = 3000, .fill = fill_copied});
  assert_int_equal(reply(r, request(r, FUSE_COPY_FILE_RANGE, from, &cp, sizeof(cp))), 0);
  assert_int_equal(remembered_size(r, from), -1);
  assert_int_equal(remembered_size(r, to), 3000);
  rig_free(r);
}

static void
test_ioctl_and_unknown(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_ioctl_in in = {.fh = open_file(r, id, O_RDWR), .cmd = 1};

  assert_int_equal(reply(r, request(r, FUSE_IOCTL, id, &in, sizeof(in))), ENOTTY);
  assert_int_equal(reply(r, request(r, 51 /* TMPFILE */, FUSE_ROOT_ID, &in, sizeof(in))), ENOSYS);
  assert_int_equal(reply(r, request(r, 4000, FUSE_ROOT_ID, &in, sizeof(in))), ENOSYS);
  rig_free(r);
}

/* ---- attributes ---- */

static void
test_setattr_both(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_setattr_in in = {.valid = FATTR_MODE | FATTR_SIZE, .mode = 0600, .size = 10};
  struct answer after = {0xaa, S_IFREG | 0600, 10, 2000};

  fake_script_always(r->s, 0, GI_FOP_MAX, (struct fake_reply){.fill = fill_stat, .arg = &after});
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  assert_int_equal(r->s->nseen, 2);
  assert_int_equal(r->s->seen[0].kind, GI_FOP_SETATTR);
  assert_int_equal(r->s->seen[1].kind, GI_FOP_TRUNCATE);
  assert_int_equal(r->s->seen[1].offset, 10);
  assert_int_equal(((const struct fuse_attr_out *)body(r))->attr.size, 10);
  fake_script_clear(r->s);
  fake_forget_seen(r->s);
  fake_script(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.ret = -1, .err = EPERM});
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), EPERM);
  assert_int_equal(r->s->nseen, 1);
  assert_int_equal(r->notifications, 0); /* all our own doing */
  rig_free(r);
}

static void
check_valid(struct gi_fop *fop, void *arg)
{
  *(int32_t *)arg = fop->args.valid;
  fop->rsp.post = iatt_of(0xaa, S_IFREG | 0644);
}

static void
test_setattr_now(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_setattr_in in = {.valid = FATTR_ATIME | FATTR_MTIME | FATTR_ATIME_NOW | FATTR_MTIME_NOW};
  int32_t valid = 0;

  fake_script(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = check_valid, .arg = &valid});
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  assert_int_equal(valid, 0x1b0);
  rig_free(r);
}

static void
check_kill(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->caller.uid, 0);
  assert_int_equal(fop->args.valid, GI_SET_MODE);
  assert_int_equal(fop->args.iatt.mode, 0755);
  fop->rsp.post = iatt_of(0xaa, S_IFREG | 0755);
}

static void
test_write_drops_setuid(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer suid = {0xaa, S_IFREG | 06755, 0, 0};
  uint64_t id = lookup(r, "f", &suid);
  uint64_t fh = open_file(r, id, O_RDWR);

  r->uid = 1000;
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, 0)), 0);
  assert_int_equal(r->s->nseen, 1); /* the writer may keep them */
  fake_script(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.ret = -1, .err = EIO});
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, FUSE_WRITE_KILL_SUIDGID)), EIO);
  fake_forget_seen(r->s);
  fake_script(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = check_kill});
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, FUSE_WRITE_KILL_SUIDGID)), 0);
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, FUSE_WRITE_KILL_SUIDGID)), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_SETATTR), 1);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_WRITE), 2);
  rig_free(r);
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
fill_statfs(struct gi_fop *fop, void *arg)
{
  fop->rsp.statfs = (struct gi_statfs){.bsize = 4096, .frsize = 4096, .blocks = 100, .bfree = 50, .namemax = 255};
}

static void
fill_link(struct gi_fop *fop, void *arg)
{
  fop->rsp.ret = 6;
  fop->rsp.link = gi_fop_strdup(fop, "target", 6);
}

static void
test_small_ones(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);

  fake_script(r->s, 0, GI_FOP_STATFS, (struct fake_reply){.fill = fill_statfs});
  assert_int_equal(reply(r, request(r, FUSE_STATFS, FUSE_ROOT_ID, NULL, 0)), 0);
  assert_int_equal(((const struct fuse_statfs_out *)body(r))->st.blocks, 100);
  fake_script(r->s, 0, GI_FOP_READLINK, (struct fake_reply){.fill = fill_link});
  assert_int_equal(reply(r, request(r, FUSE_READLINK, id, NULL, 0)), 0);
  assert_int_equal(r->out_len, sizeof(struct fuse_out_header) + 6);
  rig_free(r);
}

/* ---- what is removed or replaced ---- */

static void
note_locs(struct gi_fop *fop, void *arg)
{
  struct gi_gfid *seen = arg;

  seen[0] = fop->loc.inode ? fop->loc.inode->gfid : gi_gfid_none;
  seen[1] = fop->loc2.inode ? fop->loc2.inode->gfid : gi_gfid_none;
}

static void
expect_locs(struct rig *r, uint32_t opcode, const char *from, const char *to, uint8_t n1, uint8_t n2)
{
  struct fuse_rename2_in in = {.newdir = FUSE_ROOT_ID};
  struct gi_gfid seen[2] = {{{0xff}}, {{0xff}}}, want;
  enum gi_fop_kind kind = opcode == FUSE_RMDIR ? GI_FOP_RMDIR : GI_FOP_RENAME;
  uint64_t unique;

  fake_script(r->s, 0, kind, (struct fake_reply){.fill = note_locs, .arg = seen});
  unique = opcode == FUSE_RMDIR ? request(r, opcode, FUSE_ROOT_ID, from, strlen(from) + 1)
                                : request_names(r, opcode, FUSE_ROOT_ID, &in, sizeof(in), from, to);
  assert_int_equal(reply(r, unique), 0);
  memset(&want, n1, sizeof(want));
  assert_memory_equal(&seen[0], &want, sizeof(want));
  memset(&want, n2, sizeof(want));
  assert_memory_equal(&seen[1], &want, sizeof(want));
}

static void
test_victims_are_named(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer dir = {0xdd, S_IFDIR | 0755, 0, 0};
  uint64_t id;

  expect_locs(r, FUSE_RMDIR, "d", NULL, 0, 0); /* never looked up */
  id = lookup(r, "d", &dir);
  lookup(r, "f", &file_a);
  expect_locs(r, FUSE_RMDIR, "d", NULL, 0xdd, 0);
  expect_locs(r, FUSE_RENAME2, "f", "d", 0xaa, 0xdd);
  expect_locs(r, FUSE_RENAME2, "f", "nobody", 0xaa, 0);
  lookup(r, "e", &dir); /* somebody moved it: the old name is nobody's */
  expect_locs(r, FUSE_RMDIR, "d", NULL, 0, 0);
  expect_locs(r, FUSE_RMDIR, "e", NULL, 0xdd, 0);
  forget(r, id, 2);
  expect_locs(r, FUSE_RMDIR, "e", NULL, 0, 0);
  rig_free(r);
}

/* ---- rename ---- */

static void
rename2(struct rig *r, uint32_t flags, int expect)
{
  struct fuse_rename2_in in = {.newdir = FUSE_ROOT_ID, .flags = flags};

  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request_names(r, FUSE_RENAME2, FUSE_ROOT_ID, &in, sizeof(in), "old", "new")), expect);
  fake_script_clear(r->s);
}

/* An UNLINK that fails with *arg, after a look at which file it means. */
static void
unlink_expects(struct gi_fop *fop, void *arg)
{
  struct gi_gfid gfid, want = iatt_of(0xaa, 0).gfid;

  assert_true(gi_dict_get_gfid(fop->xdata, GI_EXPECTED_KEY, &gfid));
  assert_true(gi_gfid_equal(&gfid, &want));
  fop->rsp.err = *(int *)arg;
  fop->rsp.ret = fop->rsp.err ? -1 : 0;
}

/* Between the two steps of a rename that must not replace, somebody else may use the old name. */
static void
test_rename_noreplace_races(void **state)
{
  struct rig *r = rig_new(NULL);
  struct fake_reply is_file = {.fill = fill_stat, .arg = &file_a};
  int another = ESTALE, gone = ENOENT, none = 0;

  fake_script(r->s, 0, GI_FOP_LOOKUP, is_file);
  fake_script(r->s, 0, GI_FOP_UNLINK, (struct fake_reply){.fill = unlink_expects, .arg = &another});
  rename2(r, RENAME_NOREPLACE, 0);
  assert_int_equal(r->s->nseen, 3);

  fake_script(r->s, 0, GI_FOP_LOOKUP, is_file);
  fake_script(r->s, 0, GI_FOP_UNLINK, (struct fake_reply){.fill = unlink_expects, .arg = &gone});
  fake_script(r->s, 0, GI_FOP_UNLINK, (struct fake_reply){.fill = unlink_expects, .arg = &none});
  rename2(r, RENAME_NOREPLACE, ENOENT);
  assert_int_equal(r->s->nseen, 4);
  assert_string_equal(r->s->seen[3].name, "new");
  rig_free(r);
}

static void
test_rename(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer dir = {0xdd, S_IFDIR | 0755, 0, 0};
  struct fake_reply is_file = {.fill = fill_stat, .arg = &file_a}, is_dir = {.fill = fill_stat, .arg = &dir};

  rename2(r, 0, 0);
  assert_int_equal(r->s->seen[0].kind, GI_FOP_RENAME);
  rename2(r, RENAME_EXCHANGE, EINVAL);
  rename2(r, RENAME_WHITEOUT, EINVAL);

  fake_script(r->s, 0, GI_FOP_LOOKUP, is_file);
  rename2(r, RENAME_NOREPLACE, 0);
  assert_int_equal(r->s->nseen, 3);
  assert_int_equal(r->s->seen[1].kind, GI_FOP_LINK);
  assert_int_equal(r->s->seen[2].kind, GI_FOP_UNLINK);

  fake_script(r->s, 0, GI_FOP_LOOKUP, is_file);
  fake_script(r->s, 0, GI_FOP_LINK, (struct fake_reply){.ret = -1, .err = EEXIST});
  rename2(r, RENAME_NOREPLACE, EEXIST);
  assert_int_equal(r->s->nseen, 2);

  fake_script(r->s, 0, GI_FOP_LOOKUP, is_dir);
  rename2(r, RENAME_NOREPLACE, 0);
  assert_int_equal(r->s->seen[1].kind, GI_FOP_MKDIR);
  assert_int_equal(r->s->seen[2].kind, GI_FOP_RENAME);

  fake_script(r->s, 0, GI_FOP_LOOKUP, is_dir);
  fake_script(r->s, 0, GI_FOP_RENAME, (struct fake_reply){.ret = -1, .err = ENOTEMPTY});
  rename2(r, RENAME_NOREPLACE, ENOTEMPTY);
  assert_int_equal(r->s->seen[3].kind, GI_FOP_RMDIR);
  assert_string_equal(r->s->seen[3].name, "new");

  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  rename2(r, RENAME_NOREPLACE, ENOENT);
  rig_free(r);
}

/* ---- directories ---- */

static void
fill_entries(struct gi_fop *fop, void *arg)
{
  unsigned n = *(unsigned *)arg;
  struct gi_dirent dot = {.ino = 77, .off = 1, .type = 4, .name = ".", .name_len = 1};
  struct gi_dirent bad = {.ino = 1, .off = 2, .type = 8, .name = "a/b", .name_len = 3};
  struct gi_dirent bare = {.ino = 9, .off = 3, .type = 8, .name = "bare", .name_len = 4};

  gi_dirents_add(&fop->rsp.entries, &dot, fop);
  gi_dirents_add(&fop->rsp.entries, &bad, fop);
  gi_dirents_add(&fop->rsp.entries, &bare, fop);
  for (unsigned i = 0; i < n; i++) {
    char name[16];
    struct gi_dirent e = {.off = 10 + i, .type = 8, .name = name, .stat = iatt_of((uint8_t)(0x40 + i), S_IFREG | 0644)};

    e.name_len = (uint32_t)snprintf(name, sizeof(name), "entry%02u", i);
    e.ino = gi_gfid_ino(&e.stat.gfid);
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
}

static uint64_t
open_root(struct rig *r)
{
  struct fuse_open_in in = {0};

  assert_int_equal(reply(r, request(r, FUSE_OPENDIR, FUSE_ROOT_ID, &in, sizeof(in))), 0);
  return ((const struct fuse_open_out *)body(r))->fh;
}

static uint64_t
lookups_of(struct rig *r, uint8_t n)
{
  struct gi_gfid gfid = iatt_of(n, 0).gfid;
  struct gi_inode *inode = gi_inode_find(r->s->graph, &gfid);
  uint64_t count = inode ? inode->nlookup : 0;

  gi_inode_unref(&inode);
  return count;
}

static void
test_readdirplus(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t fh = open_root(r);
  struct fuse_read_in in = {.fh = fh, .size = 1024};
  unsigned n = 10, seen = 0, counted = 0;

  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries, .arg = &n});
  assert_int_equal(reply(r, request(r, FUSE_READDIRPLUS, FUSE_ROOT_ID, &in, sizeof(in))), 0);
  assert_true(r->out_len - (ssize_t)sizeof(struct fuse_out_header) <= 1024);

  const uint8_t *p = body(r), *end = r->out + r->out_len;

  while (p < end) {
    const struct fuse_direntplus *d = (const void *)p;

    seen++;
    counted += d->entry_out.nodeid != 0;
    assert_null(memchr(d->dirent.name, '/', d->dirent.namelen));
    p += FUSE_DIRENTPLUS_SIZE(d);
  }
  assert_true(seen >= 4 && seen < 12);
  assert_int_equal(counted, seen - 2); /* "." and the one without attributes are not */
  for (unsigned i = 0; i < 10; i++)
    assert_int_equal(lookups_of(r, (uint8_t)(0x40 + i)), i < counted);
  rig_free(r);
}

/* The inode number of an entry of the plain listing in the reply; 0: it is not there. */
static uint64_t
ino_listed(struct rig *r, const char *name)
{
  const uint8_t *p = body(r), *end = r->out + r->out_len;

  for (const struct fuse_dirent *d; p < end; p += FUSE_DIRENT_SIZE(d)) {
    d = (const void *)p;
    if (d->namelen == strlen(name) && memcmp(d->name, name, d->namelen) == 0)
      return d->ino;
  }
  return 0;
}

static void
test_readdir(void **state)
{
  struct rig *r = rig_new(NULL);
  struct fuse_read_in in = {.fh = open_root(r), .size = 4096};
  unsigned n = 10;

  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries, .arg = &n});
  assert_int_equal(reply(r, request(r, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof(in))), 0);

  const struct fuse_dirent *d = body(r);

  assert_int_equal(d->off, 1);
  assert_int_equal(d->type, 4);
  assert_int_equal(ino_listed(r, "."), gi_gfid_ino(&gi_gfid_root));
  for (uint8_t i = 0; i < 10; i++) {
    struct gi_gfid gfid = iatt_of((uint8_t)(0x40 + i), 0).gfid;
    char name[16];

    snprintf(name, sizeof(name), "entry%02u", i);
    assert_int_equal(ino_listed(r, name), gi_gfid_ino(&gfid));
  }
  assert_int_equal(lookups_of(r, 0x40), 0);
  assert_int_equal(reply(r, request(r, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof(in))), 0); /* the end */
  assert_int_equal(r->out_len, sizeof(struct fuse_out_header));
  in.size = 8; /* no room for anything must not look like the end */
  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries, .arg = &n});
  assert_int_equal(reply(r, request(r, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof(in))), EINVAL);
  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  assert_int_equal(reply(r, request(r, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof(in))), ENOTCONN);
  assert_int_equal(reply(r, request(r, FUSE_FSYNCDIR, FUSE_ROOT_ID, &(struct fuse_fsync_in){.fh = in.fh},
                                    sizeof(struct fuse_fsync_in))), 0);
  assert_int_equal(reply(r, request(r, FUSE_RELEASEDIR, FUSE_ROOT_ID, &(struct fuse_release_in){.fh = in.fh},
                                    sizeof(struct fuse_release_in))), 0);
  rig_free(r);
}

/* ---- locks ---- */

static void
test_locks(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  struct fuse_lk_in in = {.fh = fh, .owner = 0x1122334455667788, .lk = {.start = 10, .end = 19, .type = F_WRLCK, .pid = 42}};
  struct fuse_flush_in fl = {.fh = fh, .lock_owner = in.owner};

  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_SETLK, id, &in, sizeof(in))), 0);
  assert_int_equal(r->s->seen[0].cmd, GI_LKCMD_SET);
  assert_int_equal(r->s->seen[0].type, GI_LK_WRITE);
  /* A file that had a lock must be flushed: that is what releases it. */
  assert_int_equal(reply(r, request(r, FUSE_FLUSH, id, &fl, sizeof(fl))), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FLUSH), 1);
  rig_free(r);
}

static void
check_flock(struct gi_fop *fop, void *arg)
{
  const struct gi_flock *f = &fop->args.flock;

  assert_int_equal(f->start, 0);
  assert_int_equal(f->len, 0);
  assert_int_equal(f->owner.len, 8);
  (*(unsigned *)arg)++;
}

static void
test_flock(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  struct fuse_lk_in in = {.fh = fh, .owner = 77, .lk = {.end = INT64_MAX, .type = F_RDLCK}, .lk_flags = FUSE_LK_FLOCK};
  struct fuse_release_in rel = {.fh = fh, .release_flags = FUSE_RELEASE_FLOCK_UNLOCK, .lock_owner = 77};
  unsigned seen = 0;

  fake_script_always(r->s, 0, GI_FOP_LK, (struct fake_reply){.fill = check_flock, .arg = &seen});
  assert_int_equal(reply(r, request(r, FUSE_SETLK, id, &in, sizeof(in))), 0);
  assert_int_equal(reply(r, request(r, FUSE_RELEASE, id, &rel, sizeof(rel))), 0);
  assert_int_equal(seen, 2);
  assert_int_equal(r->s->graph->fds_live, 0);
  rig_free(r);
}

static void
test_blocking_lock_is_cancelled(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_lk_in in = {.fh = open_file(r, id, O_RDWR), .owner = 77, .lk = {.end = INT64_MAX, .type = F_WRLCK}};

  fake_script(r->s, 0, GI_FOP_LK, (struct fake_reply){.hold = true});
  fake_forget_seen(r->s);

  uint64_t unique = request(r, FUSE_SETLKW, id, &in, sizeof(in));
  struct gi_fop *fop = r->s->seen[0].fop;
  struct fuse_interrupt_in intr = {.unique = unique};

  assert_int_equal(r->s->seen[0].cmd, GI_LKCMD_SETW);
  assert_false(next_reply(r));
  assert_false(fop->cancelled);
  request(r, FUSE_INTERRUPT, 0, &intr, sizeof(intr));
  assert_int_equal(fake_held(r->s, 0), 0); /* the child let it go */
  assert_int_equal(reply(r, unique), EINTR);
  rig_free(r);
}

static void
fill_held_lock(struct gi_fop *fop, void *arg)
{
  fop->rsp.flock = (struct gi_flock){.type = GI_LK_WRITE, .start = 5, .len = 10, .pid = 99};
}

static void
test_getlk(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_lk_in in = {.fh = open_file(r, id, O_RDWR), .owner = 77, .lk = {.end = INT64_MAX, .type = F_WRLCK}};

  fake_script(r->s, 0, GI_FOP_LK, (struct fake_reply){.fill = fill_held_lock});
  assert_int_equal(reply(r, request(r, FUSE_GETLK, id, &in, sizeof(in))), 0);

  const struct fuse_lk_out *out = body(r);

  assert_int_equal(out->lk.type, F_WRLCK);
  assert_int_equal(out->lk.start, 5);
  assert_int_equal(out->lk.end, 14);
  assert_int_equal(out->lk.pid, 99);
  rig_free(r);
}

/* ---- write-back ---- */

static void
check_root_caller(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->caller.uid, 0);
}

static void
test_writeback(void **state)
{
  struct rig *r = rig_new("option kernel-writeback-cache yes\n");
  uint64_t id = lookup(r, "f", &file_a);
  const struct fuse_entry_out *e = body(r);
  struct fuse_setattr_in in = {.valid = FATTR_MTIME | FATTR_CTIME, .mtime = 7777, .ctime = 7778};

  assert_int_equal(e->entry_valid, 600);
  assert_int_equal(e->attr_valid, 600);
  r->uid = 1000;
  fake_forget_seen(r->s);

  /* The kernel must be able to read what it completes; a caller who may not read does not hinder that. */
  fake_script(r->s, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = EACCES});
  fake_script(r->s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = check_root_caller});

  uint64_t fh = open_file(r, id, O_WRONLY | O_APPEND | O_DIRECT);

  assert_int_equal(r->s->seen[1].flags, O_RDWR); /* and no brick gets rules for what are the kernel's pages */
  fake_script(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100, .fill = check_root_caller});
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, FUSE_WRITE_CACHE)), 0);

  /* Times are taken without asking the bricks, and sent when the file is closed. */
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  assert_int_equal(((const struct fuse_attr_out *)body(r))->attr.mtime, 7777);
  assert_int_equal(r->s->nseen, 0);

  struct fuse_flush_in fl = {.fh = fh};

  assert_int_equal(reply(r, request(r, FUSE_FLUSH, id, &fl, sizeof(fl))), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSETATTR), 1);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FLUSH), 1);
  rig_free(r);
}

/* Remembered times never outlive what replaces them, and need somebody who will close the file. */
static void
test_lazy_times(void **state)
{
  struct rig *r = rig_new("option kernel-writeback-cache yes\n");
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_setattr_in in = {.valid = FATTR_MTIME | FATTR_CTIME, .mtime = 7777, .ctime = 7778};
  struct fuse_setattr_in mode = {.valid = FATTR_MODE, .mode = 0600};
  struct fuse_setattr_in later = {.valid = FATTR_MTIME | FATTR_ATIME, .mtime = 9999};
  struct fuse_flush_in fl = {0};

  fake_script_always(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  fake_script_always(r->s, 0, GI_FOP_FSETATTR, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  assert_int_equal(r->s->nseen, 1); /* not open: sent */

  fl.fh = open_file(r, id, O_RDWR);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &mode, sizeof(mode))), 0);
  assert_int_equal(r->s->nseen, 2); /* the times first, then the mode */
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &later, sizeof(later))), 0);
  assert_int_equal(r->s->nseen, 3); /* replaced, not sent */
  assert_int_equal(reply(r, request(r, FUSE_FLUSH, id, &fl, sizeof(fl))), 0);
  assert_int_equal(r->s->nseen, 3);
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

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_create),
      cmocka_unit_test(test_link_and_symlink),
      cmocka_unit_test(test_write_is_not_copied),
      cmocka_unit_test(test_writes_in_flight),
      cmocka_unit_test(test_pages_go_through_a_plain_handle),
      cmocka_unit_test(test_getattr_after_our_write),
      cmocka_unit_test(test_getattr_of_a_directory_asks),
      cmocka_unit_test(test_attribute_timeout_zero_asks),
      cmocka_unit_test(test_read),
      cmocka_unit_test(test_fallocate_modes),
      cmocka_unit_test(test_append_passes_the_page_cache),
      cmocka_unit_test(test_each_write_says_whether_it_appends),
      cmocka_unit_test(test_append_elsewhere_drops_pages),
      cmocka_unit_test(test_seek_and_copy),
      cmocka_unit_test(test_copy_is_of_the_destination),
      cmocka_unit_test(test_ioctl_and_unknown),
      cmocka_unit_test(test_setattr_both),
      cmocka_unit_test(test_setattr_now),
      cmocka_unit_test(test_write_drops_setuid),
      cmocka_unit_test(test_kernel_hears_of_lost_setuid),
      cmocka_unit_test(test_open_leaves_setuid_alone),
      cmocka_unit_test(test_times_of_a_file_changed_by_others),
      cmocka_unit_test(test_absent_capability),
      cmocka_unit_test(test_removed_directory),
      cmocka_unit_test(test_times_of_a_removed_file),
      cmocka_unit_test(test_rename_over_one_of_two_links),
      cmocka_unit_test(test_small_ones),
      cmocka_unit_test(test_rename_noreplace_races),
      cmocka_unit_test(test_rename), cmocka_unit_test(test_victims_are_named),
      cmocka_unit_test(test_readdirplus),
      cmocka_unit_test(test_readdir),
      cmocka_unit_test(test_locks),
      cmocka_unit_test(test_flock),
      cmocka_unit_test(test_blocking_lock_is_cancelled),
      cmocka_unit_test(test_getlk),
      cmocka_unit_test(test_writeback),
      cmocka_unit_test(test_lazy_times),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
