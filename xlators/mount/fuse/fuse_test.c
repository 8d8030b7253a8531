/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: readiness, INIT, lookup counts, errors, hostile requests.
 */
#include "xlators/mount/fuse/fuse-rig.h"

/* ---- INIT and readiness ---- */

static void
test_init_flags(void **state)
{
  struct rig *r = rig_new(NULL);
  const struct fuse_init_out *out = body(r);

  assert_int_equal(out->max_write, 1 << 20);
  assert_int_equal(out->max_pages, 256);
  assert_true(out->flags & FUSE_HANDLE_KILLPRIV_V2);
  assert_true(out->flags & FUSE_EXPLICIT_INVAL_DATA);
  assert_true(out->flags & FUSE_PARALLEL_DIROPS);
  assert_true(out->flags & FUSE_ATOMIC_O_TRUNC);
  assert_true(out->flags & FUSE_DO_READDIRPLUS);
  assert_false(out->flags & FUSE_READDIRPLUS_AUTO);
  assert_true(out->flags & FUSE_POSIX_LOCKS);
  assert_true(out->flags & FUSE_FLOCK_LOCKS);
  assert_true(out->flags & FUSE_DONT_MASK);
  assert_false(out->flags & (FUSE_AUTO_INVAL_DATA | FUSE_WRITEBACK_CACHE | FUSE_POSIX_ACL | FUSE_HANDLE_KILLPRIV));
  rig_free(r);

  r = rig_new("option kernel-writeback-cache yes\noption acl yes\noption auto-invalidation on\n");
  out = body(r);
  assert_true(out->flags & FUSE_WRITEBACK_CACHE);
  assert_true(out->flags & FUSE_POSIX_ACL);
  assert_true(out->flags & FUSE_AUTO_INVAL_DATA);
  assert_false(out->flags & FUSE_EXPLICIT_INVAL_DATA);
  rig_free(r);
}

static void
test_bad_options(void **state)
{
  struct gi_error err = {0};

  assert_null(fake_stack_try("mount/fuse", "", 1, &err));
  assert_non_null(strstr(err.text, "mountpoint"));
  assert_null(fake_stack_try("mount/fuse", "option mountpoint /nonexistent/x\n", 1, &err));
  assert_int_equal(err.code, ENOENT);
  assert_null(fake_stack_try("mount/fuse", "option mountpoint /dev/null\n", 1, &err));
  assert_int_equal(err.code, ENOTDIR);
  assert_null(fake_stack_try("mount/fuse", "option mountpoint /dev/fd/9\noption direct-io-mode maybe\n", 1, &err));
  assert_non_null(strstr(err.text, "direct-io-mode"));
}

static void
test_unmount_is_noticed(void **state)
{
  struct rig *r = rig_new(NULL);

  close(r->fd);
  pump(r);
  assert_int_equal(r->unmounted, 1);
  r->fd = open("/dev/null", O_RDONLY);
  rig_free(r);
}

/* A reply nobody read makes the socket say ECONNRESET once, which is no end; what follows is. */
static void
test_read_error_passes(void **state)
{
  struct rig *r = rig_new(NULL);
  struct fuse_getattr_in in = {0};

  request(r, FUSE_GETATTR, FUSE_ROOT_ID, &in, sizeof(in));
  close(r->fd);
  pump(r);
  assert_int_equal(r->unmounted, 0);
  fake_wait(r->s, 200 * GI_NSEC_PER_MSEC);
  assert_int_equal(r->unmounted, 1);
  r->fd = open("/dev/null", O_RDONLY);
  rig_free(r);
}

/* ---- lookups ---- */

static void
test_lookup_counts(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  const struct fuse_entry_out *e = body(r);
  struct gi_gfid gfid = iatt_of(0xaa, 0).gfid;
  struct gi_inode *inode = gi_inode_find(r->s->graph, &gfid);

  assert_true(id > 1);
  assert_int_equal(e->generation, 0xaaaaaaaa);
  assert_int_equal(e->attr.ino, gi_gfid_ino(&gfid));
  assert_int_equal(e->attr.size, 1000);
  assert_int_equal(e->attr.blksize, 131072);
  assert_int_equal(seconds(e->entry_valid, e->entry_valid_nsec), 1);
  assert_int_equal(lookup(r, "hardlink", &file_a), id);
  assert_int_equal(inode->nlookup, 2);
  forget(r, id, 1);
  assert_int_equal(inode->nlookup, 1);
  assert_int_equal(getattr(r, id, &file_a), 0);
  forget(r, id, 1);
  assert_int_equal(inode->nlookup, 0);
  assert_int_equal(getattr(r, id, &file_a), ESTALE);
  assert_int_equal(lookup(r, "f", &file_a), id);
  forget(r, id + 1, 77); /* of nobody */
  assert_int_equal(inode->nlookup, 1);
  gi_inode_unref(&inode);
  rig_free(r);
}

/* The name was renamed over between the two halves of a stat: that is no reason to say that there is nothing. */
static void
test_stat_of_a_name_that_is_replaced(void **state)
{
  static const int err[] = {ENOENT, ESTALE};
  struct rig *r = rig_new("option attribute-timeout 0\noption entry-timeout 0\n");
  struct fuse_getattr_in in = {0};

  for (size_t i = 0; i < GI_ARRAY_LEN(err); i++) {
    uint64_t id = lookup(r, "f", &file_a);

    fake_script(r->s, 0, GI_FOP_STAT, (struct fake_reply){.ret = -1, .err = err[i]});
    assert_int_equal(reply(r, request(r, FUSE_GETATTR, id, &in, sizeof(in))), 0);
    const struct fuse_attr_out *out = body(r);
    assert_int_equal(out->attr.size, 1000);
    assert_int_equal(out->attr.nlink, 0);
    assert_int_equal(out->attr_valid, 0);
    /* Whoever asks again without having looked for it is told. */
    fake_script_clear(r->s);
    fake_script(r->s, 0, GI_FOP_STAT, (struct fake_reply){.ret = -1, .err = err[i]});
    assert_int_equal(reply(r, request(r, FUSE_GETATTR, id, &in, sizeof(in))), ESTALE);
    fake_script_clear(r->s);
  }
  rig_free(r);
}

/* The kernel looks at the name once more, and not a third time: who changes what is replaced all the time is not told. */
static void
test_change_of_a_name_that_is_replaced(void **state)
{
  struct rig *r = rig_new(NULL);
  struct fuse_setattr_in in = {.valid = FATTR_MODE, .mode = 0600};
  uint64_t id = lookup(r, "f", &file_a);

  fake_script_always(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.ret = -1, .err = ESTALE});
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), ESTALE);
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), ESTALE); /* it did not look */
  assert_int_equal(lookup(r, "f", &file_a), id);
  fake_script_always(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.ret = -1, .err = ESTALE});
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &in, sizeof(in))), 0);
  const struct fuse_attr_out *out = body(r);
  assert_int_equal(out->attr.nlink, 0);
  assert_int_equal(out->attr_valid, 0);
  rig_free(r);
}

static void
fill_only_name(struct gi_fop *fop, void *arg)
{
  fill_stat(fop, arg);
  fop->rsp.stat.nlink = 1;
}

/* The only name of a file is another than the kernel knows: it is to look once more, also at the old one. */
static void
test_name_moved_by_another_mount(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "old", &file_a);

  fake_script_always(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_only_name, .arg = &file_a});
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "old", NULL)), 0);
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "new", NULL)), ESTALE);
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "new", NULL)), 0);
  forget(r, id, 3);
  fake_script_clear(r->s);
  rig_free(r);
}

static void
test_forget_many(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer b = {0xbb, S_IFDIR | 0755, 0, 0};
  uint64_t id1 = lookup(r, "f", &file_a), id2 = lookup(r, "d", &b);
  struct {
    struct fuse_batch_forget_in in;
    struct fuse_forget_one one[3];
  } m = {.in.count = 3, .one = {{id1, 1}, {id2, 5}, {12345, 1}}}; /* too many, and of nobody */

  request(r, FUSE_BATCH_FORGET, 0, &m, sizeof(m));
  assert_false(next_reply(r));
  assert_int_equal(getattr(r, id1, NULL), ESTALE);
  assert_int_equal(getattr(r, id2, NULL), ESTALE);
  rig_free(r);
}

static void
test_undelivered_reply_is_not_counted(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_gfid gfid = iatt_of(0xaa, 0).gfid;

  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.hold = true, .fill = fill_stat, .arg = &file_a});
  request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "f", NULL);
  shutdown(r->fd, SHUT_RD);
  fake_script_clear(r->s);

  /* The held fop is answered with attributes by hand, because a held script does not fill. */
  struct gi_fop *fop = r->s->seen[r->s->nseen - 1].fop;

  fill_stat(fop, &file_a);
  assert_true(fake_release(r->s, 0, GI_FOP_LOOKUP, 0, 0));

  struct gi_inode *inode = gi_inode_find(r->s->graph, &gfid);

  assert_non_null(inode);
  assert_int_equal(inode->nlookup, 0);
  gi_inode_unref(&inode);
  rig_free(r);
}

static void
test_negative_entry(void **state)
{
  struct rig *r = rig_new("option negative-timeout 3\n");

  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "no", NULL)), 0);
  assert_int_equal(((const struct fuse_entry_out *)body(r))->nodeid, 0);
  const struct fuse_entry_out *e = body(r);
  assert_int_equal(seconds(e->entry_valid, e->entry_valid_nsec), 3);
  rig_free(r);
}

static void
test_long_name(void **state)
{
  struct rig *r = rig_new(NULL);
  char name[400];

  memset(name, 'x', 256);
  name[256] = '\0';
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, name, NULL)), ENAMETOOLONG);
  name[255] = '\0';
  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, name, NULL)), ENOENT);
  rig_free(r);
}

/* ---- errors ---- */

struct op_case {
  uint32_t opcode;
  enum gi_fop_kind kind;
  bool entry; /* ENOENT is about a name: stays */
  size_t len;
  const char *n1, *n2;
  bool dir;
};

static const struct op_case op_cases[] = {
    {FUSE_LOOKUP, GI_FOP_LOOKUP, true, 0, "n", NULL, true},
    {FUSE_MKNOD, GI_FOP_MKNOD, true, sizeof(struct fuse_mknod_in), "n", NULL, true},
    {FUSE_MKDIR, GI_FOP_MKDIR, true, sizeof(struct fuse_mkdir_in), "n", NULL, true},
    {FUSE_SYMLINK, GI_FOP_SYMLINK, true, 0, "n", "target", true},
    {FUSE_UNLINK, GI_FOP_UNLINK, true, 0, "n", NULL, true},
    {FUSE_RMDIR, GI_FOP_RMDIR, true, 0, "n", NULL, true},
    {FUSE_CREATE, GI_FOP_CREATE, true, sizeof(struct fuse_create_in), "n", NULL, true},
    {FUSE_GETATTR, GI_FOP_FSTAT, false, sizeof(struct fuse_getattr_in), NULL, NULL, false},
    {FUSE_SETATTR, GI_FOP_FSETATTR, false, sizeof(struct fuse_setattr_in), NULL, NULL, false},
    {FUSE_READLINK, GI_FOP_READLINK, false, 0, NULL, NULL, false},
    {FUSE_OPEN, GI_FOP_OPEN, false, sizeof(struct fuse_open_in), NULL, NULL, false},
    {FUSE_READ, GI_FOP_READ, false, sizeof(struct fuse_read_in), NULL, NULL, false},
    {FUSE_FSYNC, GI_FOP_FSYNC, false, sizeof(struct fuse_fsync_in), NULL, NULL, false},
    {FUSE_STATFS, GI_FOP_STATFS, false, 0, NULL, NULL, false},
    {FUSE_ACCESS, GI_FOP_ACCESS, false, sizeof(struct fuse_access_in), NULL, NULL, false},
    {FUSE_GETXATTR, GI_FOP_GETXATTR, false, sizeof(struct fuse_getxattr_in), "user.x", NULL, false},
    {FUSE_LISTXATTR, GI_FOP_GETXATTR, false, sizeof(struct fuse_getxattr_in), NULL, NULL, false},
    {FUSE_REMOVEXATTR, GI_FOP_REMOVEXATTR, false, 0, "user.x", NULL, false},
    {FUSE_SETXATTR, GI_FOP_SETXATTR, false, FUSE_COMPAT_SETXATTR_IN_SIZE, "user.x", NULL, false},
    {FUSE_FALLOCATE, GI_FOP_FALLOCATE, false, sizeof(struct fuse_fallocate_in), NULL, NULL, false},
    {FUSE_GETLK, GI_FOP_LK, false, sizeof(struct fuse_lk_in), NULL, NULL, false},
    {FUSE_SETLK, GI_FOP_LK, false, sizeof(struct fuse_lk_in), NULL, NULL, false},
    {FUSE_OPENDIR, GI_FOP_OPENDIR, false, sizeof(struct fuse_open_in), NULL, NULL, true},
};

/* Every op starts with fh at the same place, except those without one. */
static size_t
case_args(const struct op_case *c, uint64_t fh, uint8_t *args)
{
  memset(args, 0, 256);
  switch (c->opcode) {
  case FUSE_SETATTR:
    *(struct fuse_setattr_in *)args = (struct fuse_setattr_in){.valid = FATTR_MODE, .fh = fh, .mode = 0600};
    break;
  case FUSE_GETATTR:
  case FUSE_OPEN:
  case FUSE_OPENDIR:
  case FUSE_MKNOD:
  case FUSE_MKDIR:
  case FUSE_CREATE:
  case FUSE_ACCESS:
  case FUSE_GETXATTR:
  case FUSE_LISTXATTR:
  case FUSE_SETXATTR:
    break;
  default:
    if (c->len >= 8)
      memcpy(args, &fh, 8);
  }
  return c->len;
}

static void
test_errors_arrive(void **state)
{
  static const int errors[] = {EPERM, ENOENT, EIO,    EACCES,       EEXIST,    ENOTDIR, EISDIR,   EINVAL, EFBIG,  ENOSPC,
                               EROFS, EMLINK, ERANGE, ENAMETOOLONG, ENOTEMPTY, ENODATA, ENOTCONN, ESTALE, EDQUOT, ETIMEDOUT};
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);
  uint8_t args[256];

  for (size_t c = 0; c < sizeof(op_cases) / sizeof(*op_cases); c++) {
    const struct op_case *oc = &op_cases[c];

    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
      size_t len = case_args(oc, fh, args);
      int expect = errors[i] == ENOENT && !oc->entry ? ESTALE : errors[i];

      fake_forget_seen(r->s);
      fake_script(r->s, 0, oc->kind, (struct fake_reply){.ret = -1, .err = errors[i]});
      if (reply(r, request_names(r, oc->opcode, oc->dir ? FUSE_ROOT_ID : id, args, len, oc->n1, oc->n2)) != expect)
        fail_msg("opcode %u: error %d did not arrive", oc->opcode, errors[i]);
      assert_int_equal(fake_count(r->s, 0, oc->kind), 1);
      fake_script_clear(r->s);
    }
  }
  rig_free(r);
}

static void
test_replies_without_attributes(void **state)
{
  struct rig *r = rig_new(NULL);

  /* Success without attributes: nothing to make a node of. */
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "f", NULL)), EIO);
  assert_int_equal(getattr(r, FUSE_ROOT_ID, NULL), EIO);
  rig_free(r);
}

/* ---- hostile and untimely ---- */

static void
test_truncated_requests(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct {
    struct fuse_in_header h;
    uint8_t args[256];
  } m;

  for (uint32_t opcode = 0; opcode < 60; opcode++) {
    for (size_t len = 1; len <= sizeof(m); len += len < 136 ? 1 : 7) {
      if (opcode == FUSE_INIT || opcode == FUSE_DESTROY)
        continue;
      if (opcode == FUSE_INTERRUPT && len >= 48) /* a sound one: libfuse keeps it until its request comes */
        continue;
      memset(&m, 0xff, sizeof(m)); /* no terminated name anywhere, absurd sizes */
      m.h = (struct fuse_in_header){.len = (uint32_t)len, .opcode = opcode, .unique = ++r->unique, .nodeid = id};
      send_raw(r, &m, len);
      while (next_reply(r))
        ;
    }
  }
  /* A length that lies, in both directions. */
  memset(&m, 0, sizeof(m));
  m.h = (struct fuse_in_header){.len = 1000, .opcode = FUSE_GETATTR, .unique = ++r->unique, .nodeid = id};
  send_raw(r, &m, sizeof(m.h) + 16);
  assert_int_equal(reply(r, r->unique), EINVAL);
  assert_int_equal(getattr(r, lookup(r, "f", &file_a), &file_a), 0); /* it may have been forgotten on the way */
  rig_free(r);
}

static void
test_down_with_requests_under_way(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t fh = open_file(r, id, O_RDWR);

  fake_script_always(r->s, 0, GI_FOP_MAX, (struct fake_reply){.hold = true});
  write_file(r, id, fh, 0, 8192, 0);
  request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "g", NULL);
  assert_int_equal(fake_held(r->s, 0), 2);
  rig_free(r); /* answers them after the session has gone */
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_init_flags),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_unmount_is_noticed),
      cmocka_unit_test(test_read_error_passes),
      cmocka_unit_test(test_lookup_counts),
      cmocka_unit_test(test_stat_of_a_name_that_is_replaced),
      cmocka_unit_test(test_change_of_a_name_that_is_replaced),
      cmocka_unit_test(test_name_moved_by_another_mount),
      cmocka_unit_test(test_forget_many),
      cmocka_unit_test(test_undelivered_reply_is_not_counted),
      cmocka_unit_test(test_negative_entry),
      cmocka_unit_test(test_long_name),
      cmocka_unit_test(test_errors_arrive),
      cmocka_unit_test(test_replies_without_attributes),
      cmocka_unit_test(test_truncated_requests),
      cmocka_unit_test(test_down_with_requests_under_way),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
