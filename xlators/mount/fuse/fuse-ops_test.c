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
  assert_int_equal(reply(r, request_names(r, FUSE_GETXATTR, out.e.nodeid, &gx, sizeof(gx), "security.capability", NULL)),
                   ENODATA);
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

#define ROW 12288 /* so that one lies over the end of a buffer */

static uint64_t
write_row(struct rig *r, uint64_t id, uint64_t fh, unsigned i)
{
  uint8_t *m = malloc(sizeof(struct fuse_write_in) + ROW);
  uint64_t unique;

  *(struct fuse_write_in *)m = (struct fuse_write_in){.fh = fh, .offset = (uint64_t)i * ROW, .size = ROW, .flags = O_RDWR};
  for (unsigned at = 0; at < ROW; at++)
    m[sizeof(struct fuse_write_in) + at] = (uint8_t)(i + at / 256);
  unique = request(r, FUSE_WRITE, id, m, sizeof(struct fuse_write_in) + ROW);
  free(m);
  return unique;
}

static void
check_value(struct gi_fop *fop, void *arg)
{
  const void *value = NULL;
  uint32_t len = 0;

  assert_true(gi_dict_get_bin(fop->args.dict, "user.long", &value, &len));
  assert_int_equal(len, 20000);
  for (size_t i = 0; i < len; i++)
    assert_int_equal(((const uint8_t *)value)[i], (uint8_t)(i * 7));
  *(bool *)arg = true;
}

static void
set_long_value(struct rig *r, uint64_t id)
{
  uint8_t m[FUSE_COMPAT_SETXATTR_IN_SIZE + 10 + 20000];
  bool checked = false;

  *(struct fuse_setxattr_in *)m = (struct fuse_setxattr_in){.size = 20000};
  memcpy(m + FUSE_COMPAT_SETXATTR_IN_SIZE, "user.long", 10);
  for (size_t i = 0; i < 20000; i++)
    m[FUSE_COMPAT_SETXATTR_IN_SIZE + 10 + i] = (uint8_t)(i * 7);
  fake_script(r->s, 0, GI_FOP_SETXATTR, (struct fake_reply){.fill = check_value, .arg = &checked});
  assert_int_equal(reply(r, request(r, FUSE_SETXATTR, id, m, sizeof(m))), 0);
  assert_true(checked);
}

/* What is written in a row and kept below lies in a row: it can go on as one, in few pieces. */
static void
test_row_of_writes_lies_in_a_row(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a), fh = open_file(r, id, O_RDWR), copied = gi_payload_copied, unique[100];
  struct gi_payload all = {0};

  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  fake_forget_seen(r->s);
  for (unsigned i = 0; i < 100; i++) {
    if (i == 85)
      set_long_value(r, id); /* lands over the end, too, and is in nobody's way */
    unique[i] = write_row(r, id, fh, i);
  }
  for (unsigned i = 0; i < r->s->nseen; i++) {
    if (r->s->seen[i].kind != GI_FOP_WRITE)
      continue;
    gi_payload_append(&all, &r->s->seen[i].fop->payload);
    assert_int_equal((uintptr_t)r->s->seen[i].fop->payload.slice[0].data % GI_PAGE, 0);
  }
  assert_int_equal(all.count, 2); /* a buffer holds a megabyte */
  assert_int_equal(all.len, 100 * ROW);
  assert_int_equal(gi_payload_copied, copied);
  for (size_t at = 0, i = 0; i < all.count; at += all.slice[i++].len)
    for (size_t k = 0; k < all.slice[i].len; k++)
      assert_int_equal(all.slice[i].data[k], (uint8_t)((at + k) / ROW + (at + k) % ROW / 256));
  gi_payload_clear(&all);
  for (int i = 0; i < 100; i++) {
    assert_true(fake_release(r->s, 0, GI_FOP_WRITE, ROW, 0));
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
fill_long_link(struct gi_fop *fop, void *arg)
{
  size_t len = *(const size_t *)arg;
  char text[5000];

  memset(text, 't', len);
  fop->rsp.ret = (int32_t)len;
  fop->rsp.link = gi_fop_strdup(fop, text, len);
}

/* What the kernel has no room for, and what cannot be, is an error of the brick. */
static void
test_impossible_links(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  static size_t impossible[] = {0, 4096, 4999}, longest = 4095;

  for (unsigned i = 0; i < GI_ARRAY_LEN(impossible); i++) {
    fake_script(r->s, 0, GI_FOP_READLINK, (struct fake_reply){.fill = fill_long_link, .arg = &impossible[i]});
    assert_int_equal(reply(r, request(r, FUSE_READLINK, id, NULL, 0)), EIO);
  }
  fake_script(r->s, 0, GI_FOP_READLINK, (struct fake_reply){.fill = fill_long_link, .arg = &longest});
  assert_int_equal(reply(r, request(r, FUSE_READLINK, id, NULL, 0)), 0);
  assert_int_equal(r->out_len, sizeof(struct fuse_out_header) + 4095);
  rig_free(r);
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
  enum gi_fop_kind kind = opcode == FUSE_RMDIR ? GI_FOP_RMDIR : opcode == FUSE_UNLINK ? GI_FOP_UNLINK : GI_FOP_RENAME;
  uint64_t unique;

  fake_script(r->s, 0, kind, (struct fake_reply){.fill = note_locs, .arg = seen});
  unique = to ? request_names(r, opcode, FUSE_ROOT_ID, &in, sizeof(in), from, to)
              : request(r, opcode, FUSE_ROOT_ID, from, strlen(from) + 1);
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
  expect_locs(r, FUSE_UNLINK, "nobody", NULL, 0, 0);
  expect_locs(r, FUSE_UNLINK, "f", NULL, 0xaa, 0);
  expect_locs(r, FUSE_RENAME2, "f", "d", 0xaa, 0xdd);
  expect_locs(r, FUSE_RENAME2, "f", "nobody", 0xaa, 0);
  lookup(r, "e", &dir); /* somebody moved it: the old name is nobody's */
  expect_locs(r, FUSE_RMDIR, "d", NULL, 0, 0);
  expect_locs(r, FUSE_RMDIR, "e", NULL, 0xdd, 0);
  forget(r, id, 2);
  expect_locs(r, FUSE_RMDIR, "e", NULL, 0, 0);
  rig_free(r);
}

/* However many names the kernel has asked for. */
static void
test_each_of_many_names_is_known(void **state)
{
  struct rig *r = rig_new(NULL);
  char name[8];

  for (unsigned n = 2; n < 250; n++) {
    struct answer a = {(uint8_t)n, S_IFREG | 0644, 0, 0};

    snprintf(name, sizeof(name), "f%u", n);
    lookup(r, name, &a);
  }
  for (unsigned n = 2; n < 250; n++) {
    snprintf(name, sizeof(name), "f%u", n);
    expect_locs(r, FUSE_UNLINK, name, NULL, (uint8_t)n, 0);
  }
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

/* Not all bricks rename to nothing but a free name. */
static void
in_steps(struct rig *r)
{
  fake_script(r->s, 0, GI_FOP_RENAME, (struct fake_reply){.ret = -1, .err = EOPNOTSUPP});
}

static void
asked_to_keep(struct gi_fop *fop, void *arg)
{
  assert_non_null(gi_dict_get(fop->xdata, GI_NOREPLACE_KEY));
  fop->rsp.stat = iatt_of(0xaa, 0);
}

/* What another mount has put there since is not what is to go: the kernel looks once more. */
static void
test_unlink_says_what_it_means(void **state)
{
  struct rig *r = rig_new(NULL);
  int another = ESTALE;

  lookup(r, "f", &file_a);
  fake_script(r->s, 0, GI_FOP_UNLINK, (struct fake_reply){.fill = unlink_expects, .arg = &another});
  assert_int_equal(reply(r, request(r, FUSE_UNLINK, FUSE_ROOT_ID, "f", 2)), ESTALE);
  rig_free(r);
}

static void
test_rename_noreplace_at_once(void **state)
{
  struct rig *r = rig_new(NULL);

  lookup(r, "old", &file_a);
  fake_script(r->s, 0, GI_FOP_RENAME, (struct fake_reply){.fill = asked_to_keep});
  rename2(r, RENAME_NOREPLACE, 0);
  assert_int_equal(r->s->nseen, 1);
  expect_locs(r, FUSE_RMDIR, "old", NULL, 0, 0);
  expect_locs(r, FUSE_RMDIR, "new", NULL, 0xaa, 0);
  fake_script(r->s, 0, GI_FOP_RENAME, (struct fake_reply){.ret = -1, .err = EEXIST});
  rename2(r, RENAME_NOREPLACE, EEXIST);
  assert_int_equal(r->s->nseen, 1);
  rig_free(r);
}

/* Between the two steps of a rename that must not replace, somebody else may use the old name. */
static void
test_rename_noreplace_races(void **state)
{
  struct rig *r = rig_new(NULL);
  struct fake_reply is_file = {.fill = fill_stat, .arg = &file_a};
  int another = ESTALE, gone = ENOENT, none = 0;

  in_steps(r);
  fake_script(r->s, 0, GI_FOP_LOOKUP, is_file);
  fake_script(r->s, 0, GI_FOP_UNLINK, (struct fake_reply){.fill = unlink_expects, .arg = &another});
  rename2(r, RENAME_NOREPLACE, 0);
  assert_int_equal(r->s->nseen, 4);

  in_steps(r);
  fake_script(r->s, 0, GI_FOP_LOOKUP, is_file);
  fake_script(r->s, 0, GI_FOP_UNLINK, (struct fake_reply){.fill = unlink_expects, .arg = &gone});
  fake_script(r->s, 0, GI_FOP_UNLINK, (struct fake_reply){.fill = unlink_expects, .arg = &none});
  rename2(r, RENAME_NOREPLACE, ENOENT);
  assert_int_equal(r->s->nseen, 5);
  assert_string_equal(r->s->seen[4].name, "new");
  rig_free(r);
}

/* What was moved without replacing anything is known by its new name, and by no other. */
static void
test_rename_noreplace_is_named(void **state)
{
  struct rig *r = rig_new(NULL);
  struct fake_reply is_file = {.fill = fill_stat, .arg = &file_a};

  lookup(r, "old", &file_a);
  in_steps(r);
  fake_script(r->s, 0, GI_FOP_LOOKUP, is_file);
  rename2(r, RENAME_NOREPLACE, 0);
  expect_locs(r, FUSE_RMDIR, "old", NULL, 0, 0);
  expect_locs(r, FUSE_RMDIR, "new", NULL, 0xaa, 0);
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

  in_steps(r);
  fake_script(r->s, 0, GI_FOP_LOOKUP, is_file);
  rename2(r, RENAME_NOREPLACE, 0);
  assert_int_equal(r->s->nseen, 4);
  assert_int_equal(r->s->seen[2].kind, GI_FOP_LINK);
  assert_int_equal(r->s->seen[3].kind, GI_FOP_UNLINK);

  in_steps(r);
  fake_script(r->s, 0, GI_FOP_LOOKUP, is_file);
  fake_script(r->s, 0, GI_FOP_LINK, (struct fake_reply){.ret = -1, .err = EEXIST});
  rename2(r, RENAME_NOREPLACE, EEXIST);
  assert_int_equal(r->s->nseen, 3);

  in_steps(r);
  fake_script(r->s, 0, GI_FOP_LOOKUP, is_dir);
  rename2(r, RENAME_NOREPLACE, 0);
  assert_int_equal(r->s->seen[2].kind, GI_FOP_MKDIR);
  assert_int_equal(r->s->seen[3].kind, GI_FOP_RENAME);

  in_steps(r);
  fake_script(r->s, 0, GI_FOP_LOOKUP, is_dir);
  fake_script(r->s, 0, GI_FOP_RENAME, (struct fake_reply){.ret = -1, .err = ENOTEMPTY});
  rename2(r, RENAME_NOREPLACE, ENOTEMPTY);
  assert_int_equal(r->s->seen[4].kind, GI_FOP_RMDIR);
  assert_string_equal(r->s->seen[4].name, "new");

  in_steps(r);
  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  rename2(r, RENAME_NOREPLACE, ENOENT);
  rig_free(r);
}

/* ---- write-back ---- */

static void
check_root_caller(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->caller.uid, 0);
}

static void
check_paged(struct gi_fop *fop, void *arg)
{
  check_root_caller(fop, arg);
  assert_true(fop->args.paged);
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
  fake_script(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100, .fill = check_paged});
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

/* Only what the bridge itself asked for beyond the caller's request is opened on its own account. */
static void
test_refused_open(void **state)
{
  static const struct {
    const char *options;
    uint32_t flags, uid;
    int err;
  } t[] = {{NULL, O_RDWR, 1000, EACCES},
           {NULL, O_WRONLY, 1000, EACCES},
           {"option kernel-writeback-cache yes\n", O_RDONLY, 1000, EACCES},
           {"option kernel-writeback-cache yes\n", O_WRONLY, 1000, EROFS},
           {"option kernel-writeback-cache yes\n", O_WRONLY, 0, EACCES}};

  for (unsigned i = 0; i < GI_ARRAY_LEN(t); i++) {
    struct rig *r = rig_new(t[i].options);
    uint64_t id = lookup(r, "f", &file_a);
    struct fuse_open_in in = {.flags = t[i].flags};

    r->uid = t[i].uid;
    fake_forget_seen(r->s);
    fake_script(r->s, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = t[i].err});
    assert_int_equal(reply(r, request(r, FUSE_OPEN, id, &in, sizeof(in))), t[i].err);
    assert_int_equal(r->s->nseen, 1);
    rig_free(r);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_create),
      cmocka_unit_test(test_link_and_symlink),
      cmocka_unit_test(test_write_is_not_copied),
      cmocka_unit_test(test_writes_in_flight),
      cmocka_unit_test(test_row_of_writes_lies_in_a_row),
      cmocka_unit_test(test_read),
      cmocka_unit_test(test_fallocate_modes),
      cmocka_unit_test(test_seek_and_copy),
      cmocka_unit_test(test_ioctl_and_unknown),
      cmocka_unit_test(test_setattr_both),
      cmocka_unit_test(test_setattr_now),
      cmocka_unit_test(test_write_drops_setuid),
      cmocka_unit_test(test_small_ones),
      cmocka_unit_test(test_impossible_links),
      cmocka_unit_test(test_unlink_says_what_it_means),
      cmocka_unit_test(test_rename_noreplace_at_once),
      cmocka_unit_test(test_rename_noreplace_races),
      cmocka_unit_test(test_rename_noreplace_is_named),
      cmocka_unit_test(test_rename),
      cmocka_unit_test(test_victims_are_named),
      cmocka_unit_test(test_each_of_many_names_is_known),
      cmocka_unit_test(test_writeback),
      cmocka_unit_test(test_refused_open),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
