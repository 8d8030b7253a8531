/* SPDX-License-Identifier: Apache-2.0
 *
 * cluster/replicate while all is well: what each kind sends to each brick, and
 * what the application is told.
 */
#include "xlators/cluster/replicate/testing/model.h"

#include <fcntl.h>
#include <sys/utsname.h>

static void
assert_ok(struct gi_fop *f)
{
  assert_true(f->answered);
  if (f->rsp.ret < 0)
    fail_msg("%s failed with errno %d", gi_fop_name(f->kind), f->rsp.err);
}

static void
write_costs_one_message(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  fd = rig_open(r, 5);
  rig_run(r, f = rig_write(r, fd, 0, 8192));
  assert_ok(f);
  assert_int_equal(f->rsp.ret, 8192);
  rig_log_all(r, "L:0 X:d+1 WRITE");
  for (int i = 1; i < 20; i++) {
    rig_run(r, f = rig_write(r, fd, 8192u * (unsigned)i, 8192));
    assert_ok(f);
    rig_log_all(r, "WRITE");
  }
  rig_run(r, f = rig_fd(r, GI_FOP_FSYNC, fd));
  assert_ok(f);
  rig_log_all(r, "FSYNC");
  rig_run(r, f = rig_fd(r, GI_FOP_FLUSH, fd));
  assert_ok(f);
  rig_log_all(r, "X:d-1 U:0");
  rig_free_clean(r);
}

/* replicate.md 6.8: what each change costs per brick while all are up. */
static void
entry_sequences(void **state)
{
  static const struct {
    enum gi_fop_kind kind;
    const char *name;
    uint8_t gfid;
    const char *log;
  } step[] = {
      {GI_FOP_CREATE, "new", 7, "E:new CREATE EU:new"},  {GI_FOP_MKDIR, "dir", 8, "E:dir MKDIR EU:dir"},
      {GI_FOP_MKNOD, "fifo", 9, "E:fifo MKNOD EU:fifo"}, {GI_FOP_SYMLINK, "ln", 10, "E:ln SYMLINK EU:ln"},
      {GI_FOP_UNLINK, "new", 0, "E:new UNLINK EU:new"},
  };
  struct rig *r = rig_new(NULL);

  for (size_t i = 0; i < GI_ARRAY_LEN(step); i++) {
    struct gi_fop *f = rig_entry(r, step[i].kind, 1, step[i].name, step[i].gfid);

    f->args.mode = 0644;
    rig_run(r, f);
    assert_ok(f);
    rig_log_all(r, step[i].log);
  }
  rig_free_clean(r);
}

static void
set_second(struct rig *r, struct gi_fop *f, const char *name)
{
  struct gi_inode *root = gi_inode_get(r->s->graph, &gi_gfid_root);

  gi_fop_set_entry(f, &f->loc2, root, name);
  gi_inode_unref(&root);
}

static void
several_locks_in_order(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_object(r, 6, S_IFDIR | 0755);
  f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);
  set_second(r, f, "aaa");
  rig_run(r, f);
  assert_ok(f);
  rig_log_all(r, "LOOKUP E:aaa E:f5 RENAME EU:aaa EU:f5"); /* is there a directory to be replaced? */

  f = rig_entry(r, GI_FOP_RENAME, 1, "aaa", 0);
  gi_loc_set_inode(&f->loc, fake_inode(r->s, 5));
  f->loc.inode->mode = S_IFREG; /* a file never replaces one */
  set_second(r, f, "f5");
  rig_run(r, f);
  assert_ok(f);
  rig_log_all(r, "E:aaa E:f5 RENAME EU:aaa EU:f5");

  f = rig_loc(r, GI_FOP_LINK, 5);
  set_second(r, f, "bbb");
  rig_run(r, f);
  assert_ok(f);
  rig_log_all(r, "E:bbb LINK EU:bbb");

  f = rig_entry(r, GI_FOP_RMDIR, 1, "f6", 0);
  gi_loc_set_inode(&f->loc, fake_inode(r->s, 6));
  rig_run(r, f);
  assert_ok(f);
  rig_log_all(r, "E:f6 E:* RMDIR EU:f6 EU:*");
  rig_object(r, 6, S_IFDIR | 0755);
  rig_object(r, 7, S_IFDIR | 0755);
  f = rig_entry(r, GI_FOP_RENAME, 1, "f6", 0); /* directory onto directory */
  set_second(r, f, "f7");
  rig_run(r, f);
  assert_ok(f);
  rig_log_all(r, "LOOKUP E:f6 E:f7 E:* RENAME EU:f6 EU:f7 EU:*");
  rig_free_clean(r);
}

static void
metadata_sequences(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_SETATTR, GI_FOP_SETXATTR, GI_FOP_REMOVEXATTR, GI_FOP_XATTROP};
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_run(r, f = rig_entry(r, GI_FOP_LOOKUP, 1, "f5", 0));
  assert_ok(f);
  rig_forget(r);
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds) - 1; i++) {
    char want[64];

    f = rig_loc(r, kinds[i], 5);
    f->args.dict = gi_dict_new();
    f->args.name = "user.x";
    rig_run(r, f);
    assert_ok(f);
    snprintf(want, sizeof(want), "L:m %s U:m", gi_fop_name(kinds[i]));
    rig_log_all(r, want);
  }
  rig_free_clean(r);
}

static void
private_attributes_are_refused(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  f = rig_loc(r, GI_FOP_SETXATTR, 5);
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "trusted.afr.dirty", "x", 1);
  rig_run(r, f);
  assert_int_equal(f->rsp.err, EPERM);
  f = rig_loc(r, GI_FOP_REMOVEXATTR, 5);
  f->args.name = "trusted.glusterfs.afr.x";
  rig_run(r, f);
  assert_int_equal(f->rsp.err, EPERM);
  f = rig_loc(r, GI_FOP_GETXATTR, 5);
  f->args.name = "trusted.afr.dirty";
  rig_run(r, f);
  assert_int_equal(f->rsp.err, ENODATA);
  rig_log_all(r, "");
  rig_free_clean(r);
}

static void
private_names_are_hidden(void **state)
{
  static const char anon[] = ".glusterfs-anonymous-inode-8306d860-0000-0000-0000-000000000000";
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_run(r, f = rig_entry(r, GI_FOP_LOOKUP, 1, anon, 0));
  assert_int_equal(f->rsp.err, EPERM);
  rig_run(r, f = rig_entry(r, GI_FOP_MKDIR, 1, ".landfill", 7));
  assert_int_equal(f->rsp.err, EPERM);
  f = rig_entry(r, GI_FOP_LOOKUP, 1, anon, 0);
  f->caller.pid = -1;
  rig_run(r, f);
  assert_int_equal(f->rsp.err, ENOENT);
  /* A user's name may begin nearly like it. */
  rig_run(r, f = rig_entry(r, GI_FOP_LOOKUP, 1, ".glusterfs-anonymous-inod", 0));
  assert_int_equal(f->rsp.err, ENOENT);
  rig_run(r, f = rig_entry(r, GI_FOP_LOOKUP, 1, ".glusterfs-anonymous-inodX", 0));
  assert_int_equal(f->rsp.err, ENOENT);
  f = rig_entry(r, GI_FOP_LOOKUP, 1, ".glusterfs-anonymous-inodX-8306d860-0000-0000-0000-000000000000", 0);
  f->caller.pid = -6;
  rig_run(r, f);
  assert_int_equal(f->rsp.err, ENOENT);
  rig_free_clean(r);
}

/* ---- reading ---- */

static unsigned
total(struct rig *r, enum gi_fop_kind kind)
{
  return fake_count(r->s, 0, kind) + fake_count(r->s, 1, kind) + fake_count(r->s, 2, kind);
}

static void
reads_go_to_one_child(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_STAT, GI_FOP_ACCESS, GI_FOP_READLINK, GI_FOP_GETXATTR};
  struct rig *r = rig_new(NULL);
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  fd = rig_open(r, 5);
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    rig_run(r, f = rig_loc(r, kinds[i], 5));
    assert_ok(f);
    assert_int_equal(total(r, kinds[i]), 1);
  }
  f = rig_fd(r, GI_FOP_READ, fd);
  f->args.size = 100;
  rig_run(r, f);
  assert_int_equal(f->rsp.ret, 100);
  assert_int_equal(f->rsp.payload.len, 100);
  assert_int_equal(total(r, GI_FOP_READ), 1);
  assert_int_equal(total(r, GI_FOP_LOOKUP) + total(r, GI_FOP_FSTAT), 0);
  rig_free_clean(r);
}

static void
read_hash_mode_spreads_files(void **state)
{
  struct rig *r = rig_new(NULL);

  for (uint8_t n = 10; n < 25; n++) {
    struct gi_fop *f;

    rig_object(r, n, S_IFREG | 0644);
    rig_run(r, f = rig_loc(r, GI_FOP_STAT, n));
    assert_ok(f);
  }
  for (unsigned i = 0; i < BRICKS; i++)
    assert_true(fake_count(r->s, i, GI_FOP_STAT) > 0);
  rig_free_clean(r);

  r = rig_new("option read-subvolume-index 1\n");
  for (uint8_t n = 10; n < 15; n++) {
    rig_object(r, n, S_IFREG | 0644);
    rig_run(r, rig_loc(r, GI_FOP_STAT, n));
  }
  assert_int_equal(fake_count(r->s, 1, GI_FOP_STAT), 5);
  rig_free_clean(r);

  r = rig_new("option read-hash-mode 0\n");
  rig_object(r, 10, S_IFREG | 0644);
  rig_run(r, rig_loc(r, GI_FOP_STAT, 10));
  assert_int_equal(fake_count(r->s, 0, GI_FOP_STAT), 1);
  rig_free_clean(r);
}

static void
avail(struct gi_fop *f, void *arg)
{
  f->rsp.statfs.bavail = (uintptr_t)arg;
}

static void
statfs_shows_the_fullest_brick(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f = fake_fop(r->s, GI_FOP_STATFS);

  fake_script_clear(r->s);
  for (uintptr_t i = 0; i < BRICKS; i++)
    fake_script(r->s, (unsigned)i, GI_FOP_STATFS, (struct fake_reply){.fill = avail, .arg = (void *)(i == 1 ? 5 : 10 + i)});
  rig_run(r, f);
  assert_ok(f);
  assert_int_equal(f->rsp.statfs.bavail, 5);
  rig_free(r);
}

static void
pathinfo(struct gi_fop *f, void *arg)
{
  f->rsp.dict = gi_dict_new();
  gi_dict_set_str(f->rsp.dict, f->args.name, arg);
}

static void
pathinfo_names_all_copies(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f = rig_loc(r, GI_FOP_GETXATTR, 1);
  const char *text;

  f->args.name = "trusted.glusterfs.pathinfo";
  fake_script_clear(r->s);
  for (unsigned i = 0; i < BRICKS; i++)
    fake_script(r->s, i, GI_FOP_GETXATTR, (struct fake_reply){.fill = pathinfo, .arg = i == 1 ? "<B>" : i ? "<C>" : "<A>"});
  rig_run(r, f);
  assert_ok(f);
  assert_true(gi_dict_get_str(f->rsp.dict, f->args.name, &text));
  assert_string_equal(text, "(<REPLICATE:under-test> <A> <B> <C>)");
  assert_int_equal(f->rsp.ret, strlen(text) + 1);
  rig_free(r);
}

static void
on_this_host(struct gi_fop *f, void *arg)
{
  struct utsname uts;
  GI_CLEANUP_FREE char *text = NULL;

  assert_int_equal(uname(&uts), 0);
  text = gi_asprintf("<POSIX(/b:(x):1):%s:/b/>", arg ? "elsewhere" : uts.nodename);
  f->rsp.dict = gi_dict_new();
  gi_dict_set_str(f->rsp.dict, f->args.name, text);
}

static void
local_brick_is_preferred(void **state)
{
  struct rig *r = rig_new(NULL);

  for (uint8_t n = 10; n < 15; n++)
    rig_object(r, n, S_IFREG | 0644);
  rig_first(r, 0, GI_FOP_GETXATTR, on_this_host, r);
  rig_first(r, 1, GI_FOP_GETXATTR, on_this_host, NULL);
  rig_first(r, 2, GI_FOP_GETXATTR, on_this_host, NULL);
  rig_run(r, rig_loc(r, GI_FOP_LOOKUP, 1));
  for (uint8_t n = 10; n < 15; n++)
    rig_run(r, rig_loc(r, GI_FOP_STAT, n));
  assert_int_equal(fake_count(r->s, 1, GI_FOP_STAT), 5);
  rig_free_clean(r);
}

static void
add_entry(struct gi_fop *f, const char *name, uint8_t n)
{
  struct gi_dirent e = {.name = name, .name_len = (uint32_t)strlen(name), .off = n, .ino = n};

  memset(&e.stat.gfid, n, sizeof(e.stat.gfid));
  e.stat.mode = S_IFREG | 0644;
  gi_dirents_add(&f->rsp.entries, &e, f);
}

static void
listing(struct gi_fop *f, void *arg)
{
  add_entry(f, "a", 5);
  add_entry(f, ".landfill", 6);
  add_entry(f, "b", 7);
  f->rsp.ret = 3;
}

static void
listing_stays_on_one_child(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_gfid root = gi_gfid_root;
  struct gi_inode *inode = gi_inode_get(r->s->graph, &root);
  struct gi_fd *fd = gi_fd_new(r->s->graph, inode, 0, 100);
  struct gi_fop *f;
  unsigned child = BRICKS;

  fd->directory = true;
  gi_inode_unref(&inode);
  rig_run(r, f = rig_fd(r, GI_FOP_OPENDIR, fd));
  assert_ok(f);
  assert_int_equal(total(r, GI_FOP_OPENDIR), 3);
  fake_script_clear(r->s);
  for (unsigned i = 0; i < BRICKS; i++)
    fake_script_always(r->s, i, GI_FOP_READDIRP, (struct fake_reply){.fill = listing});
  for (unsigned i = 0; i < BRICKS; i++)
    fake_script_always(r->s, i, GI_FOP_FSTAT, (struct fake_reply){.fill = NULL});
  rig_run(r, f = rig_fd(r, GI_FOP_READDIRP, fd));
  assert_ok(f);
  assert_int_equal(f->rsp.ret, 2);
  assert_string_equal(f->rsp.entries.entry[1].name, "b");
  assert_int_equal(f->rsp.entries.entry[0].stat.mode, 0); /* not known to be clean: must be looked up */
  for (unsigned i = 0; i < BRICKS; i++)
    if (fake_count(r->s, i, GI_FOP_READDIRP))
      child = i;
  f = rig_fd(r, GI_FOP_READDIRP, fd);
  f->args.offset = 7;
  rig_run(r, f);
  assert_int_equal(fake_count(r->s, child, GI_FOP_READDIRP), 2);
  rig_down(r, child);
  f = rig_fd(r, GI_FOP_READDIRP, fd);
  f->args.offset = 7;
  rig_run(r, f);
  assert_int_equal(f->rsp.err, ENOTCONN);
  gi_fd_unref(&fd);
  rig_free(r);
}

static unsigned failing;

static void
failing_listing(struct gi_fop *f, void *arg)
{
  if (!failing) {
    listing(f, arg);
    return;
  }
  failing--;
  f->rsp.ret = -1;
  f->rsp.err = ENOTCONN;
}

/* Nothing has been told yet, so there are no cookies of the one that fails. */
static void
listing_begins_at_another_child(void **state)
{
  for (unsigned n = 1; n <= BRICKS; n++) {
    struct rig *r = rig_new(NULL);
    struct gi_inode *inode = gi_inode_get(r->s->graph, &gi_gfid_root);
    struct gi_fd *fd = gi_fd_new(r->s->graph, inode, 0, 100);
    struct gi_fop *f;

    fd->directory = true;
    gi_inode_unref(&inode);
    rig_run(r, f = rig_fd(r, GI_FOP_OPENDIR, fd));
    assert_ok(f);
    failing = n;
    for (unsigned i = 0; i < BRICKS; i++)
      rig_first(r, i, GI_FOP_READDIRP, failing_listing, NULL);
    rig_run(r, f = rig_fd(r, GI_FOP_READDIRP, fd));
    assert_int_equal(f->rsp.ret, n < BRICKS ? 2 : -1);
    assert_int_equal(f->rsp.ret < 0 ? f->rsp.err : 0, n < BRICKS ? 0 : ENOTCONN);
    for (unsigned i = 0; i < BRICKS; i++)
      assert_true(fake_count(r->s, i, GI_FOP_READDIRP) <= 1);
    gi_fd_unref(&fd);
    rig_free(r);
  }
}

/* Each copy that is here is accused, and one is away: that may be the good one. */
static void
stale_views_are_not_listed(void **state)
{
  static const struct {
    const char *options;
    int away, err;
  } cases[] = {{NULL, 2, EIO}, {NULL, -1, 0}, {"option quorum-type none\n", 2, 0}};

  for (size_t k = 0; k < GI_ARRAY_LEN(cases); k++) {
    struct rig *r = rig_new(cases[k].options);
    struct gi_inode *inode;
    struct gi_gfid gfid;
    struct gi_fd *fd;
    struct gi_fop *f;

    rig_object(r, 5, S_IFDIR | 0755);
    for (unsigned i = 0; i < BRICKS; i++)
      rig_blame(r, i, 5, (i + 1) % 2, 2); /* names */
    memset(&gfid, 5, sizeof(gfid));
    inode = gi_inode_get(r->s->graph, &gfid);
    fd = gi_fd_new(r->s->graph, inode, 0, 100);
    fd->directory = true;
    gi_inode_unref(&inode);
    rig_run(r, f = rig_fd(r, GI_FOP_OPENDIR, fd));
    assert_ok(f);
    if (cases[k].away >= 0)
      rig_down(r, (unsigned)cases[k].away);
    else
      rig_blame(r, 0, 5, 2, 2);
    for (unsigned i = 0; i < BRICKS; i++)
      fake_script_always(r->s, i, GI_FOP_READDIRP, (struct fake_reply){.fill = listing});
    rig_run(r, f = rig_fd(r, GI_FOP_READDIRP, fd));
    assert_int_equal(f->rsp.ret < 0 ? f->rsp.err : 0, cases[k].err);
    assert_int_equal(total(r, GI_FOP_READDIRP), cases[k].err ? 0 : 1);
    gi_fd_unref(&fd);
    rig_free(r);
  }
}

/* ---- descriptors and locks ---- */

static void
o_trunc_is_a_transaction(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_run(r, f = rig_entry(r, GI_FOP_LOOKUP, 1, "f5", 0));
  rig_forget(r);
  fd = fake_fd(r->s, 5);
  f = rig_fd(r, GI_FOP_OPEN, fd);
  f->args.flags = O_RDWR | O_TRUNC;
  rig_run(r, f);
  assert_ok(f);
  rig_log_all(r, "OPEN L:0 X:d+1 FTRUNCATE"); /* what is written next joins it */
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log_all(r, "X:d-1 U:0");
  f = rig_fd(r, GI_FOP_OPEN, fd);
  f->args.flags = O_RDONLY | O_TRUNC;
  rig_run(r, f);
  assert_ok(f);
  rig_log_all(r, "OPEN L:0 X:d+1 TRUNCATE X:d-1 U:0");
  rig_free_clean(r);
}

static void
stamps_of_truncation(struct brick *b, struct gi_fop *fop, void *arg)
{
  (void)b;
  if (fop->kind == GI_FOP_FTRUNCATE)
    *(uint32_t *)arg |= fop->caller.stamps;
}

/* Two clients at the same time: the bricks open the file that is there, and none truncates it on its own account. */
static void
creating_what_exists_with_o_trunc_is_one_too(void **state)
{
  struct rig *r = rig_new(NULL);
  uint32_t stamps = 0;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < BRICKS; i++) {
    rig_data(r, i, 5, "abc", 3);
    r->brick[i].hook = stamps_of_truncation;
    r->brick[i].hook_arg = &stamps;
  }
  f = rig_entry(r, GI_FOP_CREATE, 1, "f5", 20);
  f->args.flags = O_RDWR | O_CREAT | O_TRUNC;
  f->caller.stamps = 63; /* a new object's and its parent's */
  rig_run(r, f);
  assert_ok(f);
  assert_int_equal(f->rsp.stat.size, 0);
  assert_int_equal(stamps, GI_STAMP_CTIME | GI_STAMP_MTIME);
  rig_log_all(r, "E:f5 CREATE L:0 X:d+1 FTRUNCATE EU:f5");
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, f->fd));
  rig_log_all(r, "X:d-1 U:0");
  for (unsigned i = 0; i < BRICKS; i++)
    assert_int_equal(brick_object(&r->brick[i], 5)->stat.size, 0);
  rig_free_clean(r);
}

static void
creating_with_o_trunc_truncates_nothing_new(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f = rig_entry(r, GI_FOP_CREATE, 1, "new", 20);

  f->args.flags = O_RDWR | O_CREAT | O_TRUNC;
  rig_run(r, f);
  assert_ok(f);
  rig_log_all(r, "E:new CREATE EU:new");
  rig_free_clean(r);
}

static void
truncating_fails_a_create_that_opened(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_err[GI_FOP_FTRUNCATE] = EFBIG;
  f = rig_entry(r, GI_FOP_CREATE, 1, "f5", 20);
  f->args.flags = O_RDWR | O_CREAT | O_TRUNC;
  rig_run(r, f);
  rig_done(f, -1, EFBIG);
  rig_free_clean(r);
}

static void
flush_is_local_without_locks(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  fd = rig_open(r, 5);
  rig_run(r, f = rig_fd(r, GI_FOP_FLUSH, fd));
  assert_ok(f);
  rig_log_all(r, "");
  f = rig_fd(r, GI_FOP_LK, fd);
  f->args.cmd = GI_LKCMD_SET;
  f->args.type = f->args.flock.type = GI_LK_WRITE;
  rig_run(r, f);
  assert_ok(f);
  rig_log_all(r, "LK");
  rig_run(r, f = rig_fd(r, GI_FOP_FLUSH, fd));
  assert_ok(f);
  rig_log_all(r, "FLUSH");
  rig_free_clean(r);
}

static void
posix_lock_is_all_or_nothing(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  fd = rig_open(r, 5);
  r->brick[2].fail_once[GI_FOP_LK] = EAGAIN;
  f = rig_fd(r, GI_FOP_LK, fd);
  f->args.cmd = GI_LKCMD_SET;
  f->args.type = f->args.flock.type = GI_LK_WRITE;
  rig_run(r, f);
  assert_int_equal(f->rsp.err, EAGAIN);
  rig_log(r, 0, "LK LK");
  rig_log(r, 1, "LK LK");
  rig_log(r, 2, "LK");
  rig_free_clean(r);
}

/* The others would let it wait: whoever it would wait for is not there yet. */
static void
posix_lock_that_is_a_deadlock_is_asked_for_nowhere_else(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f = rig_fd(r, GI_FOP_LK, fd);

  r->brick[0].fail_once[GI_FOP_LK] = EDEADLK;
  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = f->args.flock.type = GI_LK_WRITE;
  rig_run(r, f);
  rig_done(f, -1, EDEADLK);
  rig_log(r, 0, "LK");
  rig_log(r, 1, "");
  rig_log(r, 2, "");
  rig_free_clean(r);
}

static struct gi_fop *
inode_lock(struct rig *r, uint32_t type)
{
  struct gi_fop *f = rig_loc(r, GI_FOP_INODELK, 5);

  f->args.cmd = GI_LKCMD_SET;
  f->args.type = f->args.flock.type = type;
  f->args.domain = "under-test";
  f->caller.owner.len = 8;
  return f;
}

/* Without a quorum nobody gets one, but whoever has one gives it back where it can. */
static void
internal_lock_is_given_back_without_quorum(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_run(r, f = inode_lock(r, GI_LK_WRITE));
  assert_ok(f);
  rig_down(r, 1);
  rig_down(r, 2);
  rig_forget(r);
  rig_run(r, f = inode_lock(r, GI_LK_UNLOCK));
  rig_done(f, -1, ENOTCONN);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_INODELK), 1);
  rig_free(r);
}

static void
unsupported_kinds_say_so(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_run(r, f = rig_loc(r, GI_FOP_PUT, 5));
  assert_int_equal(f->rsp.err, EOPNOTSUPP);
  rig_free_clean(r);
}

static void
pending_names_must_fit(void **state)
{
  struct gi_error err = {0};

  assert_null(fake_stack_try("cluster/replicate", "option afr-pending-xattr a,b\n", 3, &err));
  assert_non_null(strstr(err.text, "afr-pending-xattr"));
}

/* Scripts for GlusterFS look for the key of a child and take the line before. */
static void
statedump_tells_who_is_up(void **state)
{
  struct rig *r = rig_new(NULL);
  char *text = NULL;
  size_t len;
  struct gi_dump d = {.out = open_memstream(&text, &len)};

  (void)state;
  rig_down(r, 1);
  r->s->x->cls->statedump(r->s->x, &d);
  fclose(d.out);
  assert_non_null(
      strstr(text, "child_up[0]=1\npending_key[0]=trusted.afr.v-client-0\npending_reads[0]=0\nchild_latency[0]=-1\n"));
  assert_non_null(strstr(text, "child_up[1]=0\npending_key[1]=trusted.afr.v-client-1\n"));
  assert_non_null(strstr(text, "child_up[2]=1\npending_key[2]=trusted.afr.v-client-2\n"));
  free(text);
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(write_costs_one_message),
      cmocka_unit_test(entry_sequences),
      cmocka_unit_test(several_locks_in_order),
      cmocka_unit_test(metadata_sequences),
      cmocka_unit_test(private_attributes_are_refused),
      cmocka_unit_test(private_names_are_hidden),
      cmocka_unit_test(reads_go_to_one_child),
      cmocka_unit_test(read_hash_mode_spreads_files),
      cmocka_unit_test(statfs_shows_the_fullest_brick),
      cmocka_unit_test(pathinfo_names_all_copies),
      cmocka_unit_test(listing_stays_on_one_child),
      cmocka_unit_test(listing_begins_at_another_child),
      cmocka_unit_test(stale_views_are_not_listed),
      cmocka_unit_test(local_brick_is_preferred),
      cmocka_unit_test(o_trunc_is_a_transaction),
      cmocka_unit_test(creating_what_exists_with_o_trunc_is_one_too),
      cmocka_unit_test(creating_with_o_trunc_truncates_nothing_new),
      cmocka_unit_test(truncating_fails_a_create_that_opened),
      cmocka_unit_test(flush_is_local_without_locks),
      cmocka_unit_test(posix_lock_is_all_or_nothing),
      cmocka_unit_test(posix_lock_that_is_a_deadlock_is_asked_for_nowhere_else),
      cmocka_unit_test(internal_lock_is_given_back_without_quorum),
      cmocka_unit_test(unsupported_kinds_say_so),
      cmocka_unit_test(pending_names_must_fit),
      cmocka_unit_test(statedump_tells_who_is_up),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
