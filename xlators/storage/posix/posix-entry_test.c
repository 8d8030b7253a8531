/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry operations of storage/posix: names, links, renames, removals, and the
 * errors they answer with.
 */
#include "xlators/storage/posix/posix-fixture.h"

#include "libglusterish/extension.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

static int
count_gfid2path(const char *path)
{
  char list[4096];
  ssize_t n = llistxattr(path, list, sizeof(list));
  int count = 0;

  for (char *s = list; s < list + n; s += strlen(s) + 1)
    count += strncmp(s, "trusted.gfid2path.", 18) == 0;
  return count;
}

/* ---- creation ---- */

static void
creators_want_a_gfid_and_a_free_name(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f"), none = {{0}}, n = brick_gfid(b);
  static const enum gi_fop_kind kinds[] = {GI_FOP_MKNOD, GI_FOP_MKDIR, GI_FOP_SYMLINK, GI_FOP_CREATE};
  char path[PATH_MAX];

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct gi_fop *f = brick_fop(b, kinds[i]);

    set_entry(f, ROOT, "new");
    f->args.mode = S_IFREG | 0600;
    f->args.link = "x";
    assert_fails(brick_run(b, f), EINVAL); /* no gfid-req */
    f = brick_fop(b, kinds[i]);
    set_entry(f, ROOT, "new");
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &none);
    assert_fails(brick_run(b, f), EINVAL);
    f = brick_fop(b, kinds[i]);
    set_entry(f, ROOT, "f");
    f->args.mode = S_IFREG | 0600;
    f->args.link = "x";
    f->args.flags = O_CREAT | O_EXCL | O_RDWR;
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &n);
    assert_fails(brick_run(b, f), EEXIST);
  }
  /* A gfid that somebody else has: nothing may stay behind. */
  assert_fails(brick_mknod(b, ROOT, "twin", S_IFREG | 0600, &g), EEXIST);
  brick_path(b, path, "twin");
  assert_gone(path);
  assert_ok(brick_nameless(b, &g));
  assert_fails(brick_mkdir(b, ROOT, "twin", &g), EEXIST);
  assert_gone(path);
  brick_free(b);
}

/* As a healer does for a directory that was renamed while the brick was away. */
static void
a_directory_made_again_is_where_things_go(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_gfid(b), g = brick_gfid(b), h = brick_gfid(b);
  char path[PATH_MAX];
  struct stat st;

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "old", &d));
  assert_ok(brick_mknod(b, &d, "before", S_IFREG | 0600, &g));
  assert_ok(brick_mkdir(b, ROOT, "new", &d));
  assert_ok(brick_mknod(b, &d, "after", S_IFREG | 0600, &h));
  brick_path(b, path, "new/after");
  st = stat_of(path);
  assert_true(S_ISREG(st.st_mode));
  brick_path(b, path, "old/after");
  assert_gone(path);
  brick_free(b);
}

static void
owner_mode_and_group_follow_the_rules(void **state)
{
  BRICK(b, "option create-mask 0770\noption force-create-mode 0004\n");
  struct gi_gfid d = brick_dir(b, ROOT, "d"), g = brick_gfid(b), e = brick_gfid(b);
  struct gi_fop *f = brick_fop(b, GI_FOP_SETATTR);
  char path[PATH_MAX];
  struct stat st;

  (void)state;
  set_object(f, &d);
  f->args.valid = GI_SET_GID | GI_SET_MODE;
  f->args.iatt.gid = 777;
  f->args.iatt.mode = 02775;
  assert_ok(brick_run(b, f));
  f = brick_fop(b, GI_FOP_MKNOD);
  set_entry(f, &d, "f");
  f->caller.uid = 1234;
  f->caller.gid = 1235;
  f->args.mode = S_IFREG | 0657;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  assert_ok(brick_run(b, f));
  brick_path(b, path, "d/f");
  st = stat_of(path);
  assert_int_equal(st.st_uid, 1234);
  assert_int_equal(st.st_gid, 777); /* of the set-gid parent */
  assert_int_equal(st.st_mode, S_IFREG | 0654);
  f = brick_fop(b, GI_FOP_MKDIR);
  set_entry(f, &d, "e");
  f->caller.uid = 1234;
  f->caller.gid = 1235;
  f->args.mode = 0750;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &e);
  assert_ok(brick_run(b, f));
  brick_path(b, path, "d/e");
  st = stat_of(path);
  assert_int_equal(st.st_gid, 777);
  assert_int_equal(st.st_mode, S_IFDIR | 02750);
  brick_free(b);
}

static void
set_id_bits_survive_the_change_of_owner(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  struct gi_fop *f = brick_fop(b, GI_FOP_MKNOD);
  char path[PATH_MAX];

  (void)state;
  set_entry(f, ROOT, "suid");
  f->caller.uid = 1234;
  f->args.mode = S_IFREG | 06755;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  assert_ok(brick_run(b, f));
  brick_path(b, path, "suid");
  assert_int_equal(stat_of(path).st_mode, S_IFREG | 06755);
  brick_free(b);
}

static void
initial_attributes_are_stored(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_gfid(b), other = brick_gfid(b);
  uint8_t layout[16] = {[12] = 0xff, 0xff, 0xff, 0xff};
  struct gi_fop *f = brick_fop(b, GI_FOP_MKDIR);
  char path[PATH_MAX];
  int64_t failed;

  (void)state;
  set_entry(f, ROOT, "d");
  f->args.mode = 0755;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &d);
  gi_dict_set_bin(gi_fop_xdata(f), "trusted.glusterfs.dht", layout, 16);
  gi_dict_set_bin(gi_fop_xdata(f), "trusted.gfid", layout, 16); /* not so */
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs-internal-fop", "yes");
  assert_ok(brick_run(b, f));
  brick_path(b, path, "d");
  assert_xattr(path, "trusted.glusterfs.dht", layout, 16);
  assert_xattr(path, "trusted.gfid", d.b, 16);

  for (int good = 0; good < 2; good++) { /* the layout guard */
    f = brick_fop(b, GI_FOP_MKDIR);
    set_entry(f, &d, "e");
    f->args.mode = 0755;
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &other);
    gi_dict_set_str(gi_fop_xdata(f), "glusterfs.preop.parent.key", "trusted.glusterfs.dht");
    gi_dict_set_bin(gi_fop_xdata(f), "trusted.glusterfs.dht", good ? layout : (const uint8_t *)"another layout!!", 16);
    brick_run(b, f);
    if (good)
      break;
    assert_fails(f, EIO);
    assert_true(gi_dict_get_int(f->rsp.xdata, "glusterfs.preop.check.failed", &failed));
  }
  assert_ok(f);
  brick_path(b, path, "d/e");
  assert_no_xattr(path, "trusted.glusterfs.dht");
  brick_free(b);
}

static void
name_is_made_where_it_belongs(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_SYMLINK, GI_FOP_MKNOD, GI_FOP_LINK};
  static const char same[] = "trusted.x\0layout", other[] = "trusted.x\0another", none[] = "trusted.x";
  const struct {
    const char *bytes;
    uint32_t len;
    bool refused;
  } t[] = {{other, sizeof(other) - 1, true}, {none, sizeof(none) - 1, false}, {same, sizeof(same) - 1, false}};
  BRICK(b, NULL);
  char path[PATH_MAX];
  struct gi_gfid file = brick_file(b, ROOT, "file");

  (void)state;
  brick_path(b, path, ".");
  assert_int_equal(setxattr(path, "trusted.x", "layout", 6, 0), 0);
  for (unsigned n = 0; n < GI_ARRAY_LEN(t) * GI_ARRAY_LEN(kinds); n++) {
    unsigned i = n % GI_ARRAY_LEN(t);
    struct gi_fop *f = brick_fop(b, kinds[n / GI_ARRAY_LEN(t)]);
    struct gi_gfid gfid = brick_gfid(b);
    char name[8];
    int64_t failed = 0;

    snprintf(name, sizeof(name), "l%u", n);
    if (f->kind == GI_FOP_LINK) {
      set_object(f, &file);
      set_entry2(f, ROOT, name);
    } else {
      set_entry(f, ROOT, name);
    }
    f->args.mode = S_IFREG | 0644;
    f->args.link = "to";
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &gfid);
    gi_dict_set_bin(gi_fop_xdata(f), GI_PARENT_XATTR_KEY, t[i].bytes, t[i].len);
    brick_run(b, f);
    gi_dict_get_int(f->rsp.xdata, "glusterfs.preop.check.failed", &failed);
    assert_int_equal(failed, t[i].refused);
    assert_int_equal(f->rsp.ret, t[i].refused ? -1 : 0);
  }
  brick_free(b);
}

static void
create_opens_what_is_there(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b), other = brick_gfid(b);
  struct gi_fd *fd, *fd2;
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  assert_int_equal(brick_write(b, fd, 0, "abc", 3)->rsp.ret, 3);
  f = brick_create(b, ROOT, "f", &other, &fd2);
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &g)); /* its own, not the requested */
  assert_int_equal(f->rsp.stat.size, 3);
  assert_ptr_equal(fd->inode, fd2->inode);
  assert_int_equal(brick_read(b, fd2, 0, 10)->rsp.ret, 3);
  gi_fd_unref(&fd);
  gi_fd_unref(&fd2);
  brick_free(b);
}

static void
symlinks_and_devices(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid s = brick_gfid(b), n = brick_gfid(b), d = brick_dir(b, ROOT, "d");
  char path[PATH_MAX], handle[PATH_MAX];
  struct gi_fop *f = brick_symlink(b, ROOT, "s", "some/where", &s);
  struct gi_fd *fd;

  (void)state;
  assert_ok(f);
  assert_int_equal(f->rsp.stat.mode, S_IFLNK | 0777);
  assert_int_equal(f->rsp.stat.nlink, 1);
  brick_path(b, path, "s");
  brick_handle(b, handle, &s);
  assert_true(same_file(path, handle));
  f = brick_fop(b, GI_FOP_READLINK);
  set_object(f, &s);
  f->args.size = 4096;
  assert_int_equal(brick_run(b, f)->rsp.ret, 10);
  assert_string_equal(f->rsp.link, "some/where");
  f = brick_fop(b, GI_FOP_READLINK);
  set_object(f, &s);
  f->args.size = 4;
  assert_int_equal(brick_run(b, f)->rsp.ret, 4);
  assert_string_equal(f->rsp.link, "some");
  f = brick_fop(b, GI_FOP_READLINK);
  set_object(f, &d);
  assert_fails(brick_run(b, f), EINVAL);
  assert_fails(brick_open(b, &s, O_RDONLY, &fd), ELOOP);
  gi_fd_unref(&fd);
  f = brick_fop(b, GI_FOP_MKNOD);
  set_entry(f, ROOT, "null");
  f->args.mode = S_IFCHR | 0666;
  f->args.rdev = 1ull << 32 | 3;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &n);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.stat.rdev, 1ull << 32 | 3);
  assert_fails(brick_open(b, &n, O_RDWR, &fd), EINVAL);
  gi_fd_unref(&fd);
  assert_fails(brick_open(b, &d, O_RDWR, &fd), EISDIR);
  gi_fd_unref(&fd);
  brick_free(b);
}

/* ---- link, unlink, rename ---- */

static void
links_are_counted_and_recorded(void **state)
{
  BRICK(b, "option update-link-count-parent on\noption max-hardlinks 3\n");
  struct gi_gfid d = brick_dir(b, ROOT, "d"), g = brick_file(b, ROOT, "a");
  uint8_t one[4] = {0, 0, 0, 1}, two[4] = {0, 0, 0, 2};
  char path[PATH_MAX], text[64] = "trusted.pgfid.";
  struct gi_fop *f = brick_link(b, &g, &d, "b");

  (void)state;
  gi_gfid_text(&d, text + 14);
  assert_ok(f);
  assert_int_equal(f->rsp.stat.nlink, 2);
  assert_true(gi_gfid_equal(&f->rsp.post.gfid, &d));
  brick_path(b, path, "a");
  assert_int_equal(count_gfid2path(path), 2);
  assert_xattr(path, "trusted.pgfid.00000000-0000-0000-0000-000000000001", one, 4);
  assert_xattr(path, text, one, 4);
  assert_fails(brick_link(b, &g, &d, "b"), EEXIST);
  assert_ok(brick_link(b, &g, &d, "c"));
  assert_xattr(path, text, two, 4);
  assert_fails(brick_link(b, &g, &d, "e"), EMLINK);
  assert_fails(brick_link(b, &d, ROOT, "dirlink"), EPERM);
  assert_ok(brick_unlink(b, &d, "b"));
  assert_int_equal(count_gfid2path(path), 2);
  assert_xattr(path, text, one, 4);
  assert_ok(brick_unlink(b, &d, "c"));
  assert_no_xattr(path, text);
  brick_free(b);
}

static void
unlink_removes_the_handle_and_answers_counts(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d"), g = brick_file(b, &d, "f"), g2 = brick_file(b, &d, "f2");
  char handle[PATH_MAX];
  uint64_t n;
  struct gi_fop *f = brick_fop(b, GI_FOP_UNLINK);

  (void)state;
  brick_handle(b, handle, &g);
  set_entry(f, &d, "f");
  gi_dict_set_uint(gi_fop_xdata(f), "get-link-count", 1);
  gi_dict_set_uint(gi_fop_xdata(f), "gf_request_link_count", 1);
  gi_dict_set_uint(gi_fop_xdata(f), "gf_get_file_block_count", 1);
  assert_ok(brick_run(b, f));
  assert_true(gi_dict_get_uint(f->rsp.xdata, "get-link-count", &n));
  assert_int_equal(n, 1);
  assert_true(gi_dict_get_uint(f->rsp.xdata, "gf_response_link_count", &n));
  assert_int_equal(n, 1);
  assert_true(gi_dict_get_uint(f->rsp.xdata, "gf_get_file_block_count", &n));
  assert_true(gi_gfid_equal(&f->rsp.pre.gfid, &d));
  assert_gone(handle);
  assert_fails(brick_nameless(b, &g), ENOENT);
  assert_fails(brick_unlink(b, &d, "f"), ENOENT);
  assert_fails(brick_unlink(b, ROOT, "d"), EISDIR);
  assert_fails(brick_rmdir(b, &d, "f2", 0), ENOTDIR);
  assert_fails(brick_rmdir(b, ROOT, "d", 0), ENOTEMPTY);
  f = brick_unlink(b, &d, "f2");
  assert_ok(f);
  assert_true(gi_dict_get_uint(f->rsp.xdata, "get-link-count", &n)); /* always there */
  assert_int_equal(n, 0);
  (void)g2;
  brick_free(b);
}

static void
an_open_file_outlives_its_last_name(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  char handle[PATH_MAX], parked[PATH_MAX], text[GI_UUID_TEXT];
  struct gi_fd *fd, *anon, *again;
  struct gi_fop *f;

  (void)state;
  brick_handle(b, handle, &g);
  brick_path(b, parked, ".glusterfs/unlink/%s", gi_gfid_text(&g, text));
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  assert_int_equal(brick_write(b, fd, 0, "still here", 10)->rsp.ret, 10);
  f = brick_fop(b, GI_FOP_UNLINK);
  set_entry(f, ROOT, "f");
  gi_dict_set_int(gi_fop_xdata(f), "dont-unlink-for-open-fd", 1);
  assert_fails(brick_run(b, f), EBUSY);
  assert_ok(brick_unlink(b, ROOT, "f"));
  assert_gone(handle);
  assert_int_equal(stat_of(parked).st_nlink, 1);
  f = brick_read(b, fd, 0, 100);
  assert_int_equal(f->rsp.ret, 10);
  assert_int_equal(f->rsp.stat.nlink, 0);
  assert_fails(brick_nameless(b, &g), ENOENT);
  f = brick_fop(b, GI_FOP_LOOKUP);
  set_object(f, &g);
  gi_dict_set_uint(gi_fop_xdata(f), "unlinked-lookup", 1);
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.stat.nlink, 0);
  anon = gi_fd_anonymous(b->s->graph, fd->inode);
  assert_int_equal(brick_read(b, anon, 0, 100)->rsp.ret, 10);
  gi_fd_unref(&anon);
  /* It can be opened again, but not by a name that it had. */
  f = brick_fop(b, GI_FOP_OPEN);
  again = gi_fd_new(b->s->graph, fd->inode, O_RDWR, 100);
  gi_fop_set_fd(f, again);
  gi_fd_unref(&again);
  f->args.flags = O_RDWR | O_TRUNC;
  gi_dict_set_int(gi_fop_xdata(f), GI_NAMED_KEY, 1);
  assert_fails(brick_run(b, f), ESTALE);
  assert_int_equal(stat_of(parked).st_size, 10);
  assert_ok(brick_open(b, &g, O_RDWR, &again));
  gi_fd_unref(&again);
  gi_fd_unref(&fd);
  fake_settle(b->s); /* requests still refer to it */
  brick_stop(b);
  assert_gone(parked);
  brick_free(b);
}

/* A client comes back for what it had open, again and again. */
static void
a_removed_file_outlives_restarts_while_its_client_comes_back(void **state)
{
  BRICK(b, "option unlinked-file-wait 1\n");
  struct gi_gfid g = brick_gfid(b), h = brick_file(b, ROOT, "h");
  char parked[PATH_MAX], other[PATH_MAX], text[GI_UUID_TEXT];
  struct gi_fd *fd, *lost;

  (void)state;
  brick_path(b, parked, ".glusterfs/unlink/%s", gi_gfid_text(&g, text));
  brick_path(b, other, ".glusterfs/unlink/%s", gi_gfid_text(&h, text));
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  assert_int_equal(brick_write(b, fd, 0, "still here", 10)->rsp.ret, 10);
  assert_ok(brick_open(b, &h, O_RDWR, &lost)); /* this one's does not */
  assert_ok(brick_unlink(b, ROOT, "f"));
  assert_ok(brick_unlink(b, ROOT, "h"));
  for (int i = 0; i < 3; i++) {
    fd->abandoned = true;
    gi_fd_unref(&fd);
    if (lost)
      lost->abandoned = true;
    gi_fd_unref(&lost);
    brick_restart(b);
    assert_ok(brick_open(b, &g, O_RDWR, &fd));
    assert_int_equal(brick_read(b, fd, 0, 100)->rsp.ret, 10);
  }
  assert_int_equal(stat_of(other).st_nlink, 1);
  fake_wait(b->s, 1500 * GI_NSEC_PER_MSEC);
  assert_gone(other);
  assert_int_equal(stat_of(parked).st_nlink, 1);
  assert_int_equal(brick_read(b, fd, 0, 100)->rsp.ret, 10);
  gi_fd_unref(&fd); /* closed as it should be */
  brick_stop(b);
  assert_gone(parked);
  brick_free(b);
}

static void
rename_moves_records_and_replaces(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d"), a = brick_file(b, ROOT, "a"), v = brick_file(b, &d, "v");
  char path[PATH_MAX], handle[PATH_MAX];
  struct gi_fop *f = brick_rename(b, ROOT, "a", &d, "b");

  (void)state;
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &a));
  assert_true(gi_gfid_is_root(&f->rsp.pre.gfid));
  assert_true(gi_gfid_equal(&f->rsp.post2.gfid, &d));
  assert_non_null(f->rsp.xdata);
  brick_path(b, path, "d/b");
  assert_int_equal(count_gfid2path(path), 1);
  f = brick_getxattr(b, &a, "glusterfs.gfidtopath");
  assert_ok(f);
  assert_int_equal(f->rsp.ret, 4);

  f = brick_fop(b, GI_FOP_RENAME);
  set_entry(f, &d, "b");
  set_entry2(f, &d, "v");
  gi_dict_set_uint(gi_fop_xdata(f), "get-link-count", 1);
  assert_ok(brick_run(b, f));
  uint64_t n;
  assert_true(gi_dict_get_uint(f->rsp.xdata, "get-link-count", &n));
  assert_int_equal(n, 1);
  brick_handle(b, handle, &v);
  assert_gone(handle);
  assert_fails(brick_nameless(b, &v), ENOENT);
  assert_fails(brick_rename(b, &d, "none", &d, "x"), ENOENT);
  assert_fails(brick_rename(b, &d, "v", ROOT, "d"), EISDIR);
  assert_fails(brick_rename(b, ROOT, "d", &d, "v"), ENOTDIR);
  brick_free(b);
}

static void
rename_replaces_an_open_file(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid v = brick_gfid(b), a = brick_file(b, ROOT, "a");
  char parked[PATH_MAX], text[GI_UUID_TEXT];
  struct gi_fd *fd;

  (void)state;
  assert_ok(brick_create(b, ROOT, "v", &v, &fd));
  assert_int_equal(brick_write(b, fd, 0, "old", 3)->rsp.ret, 3);
  assert_ok(brick_rename(b, ROOT, "a", ROOT, "v"));
  brick_path(b, parked, ".glusterfs/unlink/%s", gi_gfid_text(&v, text));
  assert_int_equal(stat_of(parked).st_size, 3);
  assert_int_equal(brick_read(b, fd, 0, 10)->rsp.ret, 3);
  assert_true(gi_gfid_equal(&brick_lookup(b, ROOT, "v")->rsp.stat.gfid, &a));
  gi_fd_unref(&fd);
  brick_stop(b);
  assert_gone(parked);
  brick_free(b);
}

static void
rename_of_directories(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d"), e = brick_dir(b, &d, "e"), t = brick_dir(b, ROOT, "t"),
                 g = brick_file(b, &e, "f"), other = {{7}};
  char handle[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  assert_fails(brick_rename(b, ROOT, "d", &e, "loop"), EINVAL);
  f = brick_fop(b, GI_FOP_RENAME);
  set_entry(f, &d, "e");
  set_entry2(f, ROOT, "t");
  f->loc2.gfid = other; /* the server thought that another directory is there */
  assert_fails(brick_run(b, f), EEXIST);
  assert_ok(brick_rename(b, &d, "e", ROOT, "t")); /* onto an empty directory */
  brick_handle(b, handle, &t);
  assert_gone(handle);
  assert_true(gi_gfid_equal(&brick_lookup(b, &e, "f")->rsp.stat.gfid, &g));
  brick_restart(b);
  f = brick_lookup(b, &e, "f");
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &g));
  f = brick_getxattr(b, &g, "glusterfs.gfidtopath");
  assert_ok(f);
  assert_memory_equal(gi_dict_at(f->rsp.dict, 0)->data, "/t/f", 4);
  brick_free(b);
}

static void
what_lost_its_name_is_answered(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid a = brick_file(b, ROOT, "a"), c = brick_file(b, ROOT, "c"), d = brick_dir(b, ROOT, "d");
  struct gi_fop *f = brick_rename(b, ROOT, "a", ROOT, "b");

  (void)state;
  assert_ok(f);
  assert_true(gi_gfid_is_none(&f->rsp.lost));
  f = brick_rename(b, ROOT, "b", ROOT, "c");
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.lost, &c));
  f = brick_unlink(b, ROOT, "c");
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.lost, &a));
  f = brick_rmdir(b, ROOT, "d", 0);
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.lost, &d));
  brick_free(b);
}

/* Not even another name of the same file. */
static void
rename_to_a_free_name_replaces_nothing(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid f = brick_file(b, ROOT, "a");

  (void)state;
  brick_file(b, ROOT, "b");
  assert_ok(brick_link(b, &f, ROOT, "c"));
  assert_fails(brick_rename_free(b, ROOT, "a", ROOT, "b"), EEXIST);
  assert_fails(brick_rename_free(b, ROOT, "a", ROOT, "c"), EEXIST);
  assert_fails(brick_rename_free(b, ROOT, "none", ROOT, "b"), ENOENT);
  assert_ok(brick_rename_free(b, ROOT, "a", ROOT, "d"));
  assert_fails(brick_rename(b, ROOT, "a", ROOT, "e"), ENOENT);
  assert_ok(brick_rename(b, ROOT, "d", ROOT, "b"));
  brick_free(b);
}

static void
two_names_of_one_file_survive_a_rename_between_them(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "a");
  char path[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_link(b, &g, ROOT, "b"));
  f = brick_rename(b, ROOT, "a", ROOT, "b");
  assert_ok(f);
  assert_non_null(gi_dict_get(f->rsp.xdata, GI_SAME_FILE_KEY));
  brick_path(b, path, "a");
  assert_int_equal(stat_of(path).st_nlink, 3);
  assert_int_equal(count_gfid2path(path), 2);
  brick_free(b);
}

static void
entries_under_a_removed_directory_are_stale(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d"), n = brick_gfid(b);

  (void)state;
  assert_ok(brick_rmdir(b, ROOT, "d", 0));
  assert_fails(brick_lookup(b, &d, "x"), ESTALE);
  assert_fails(brick_mkdir(b, &d, "x", &n), ESTALE);
  assert_fails(brick_unlink(b, &d, "x"), ESTALE);
  brick_free(b);
}

static void
whole_trees_go_to_the_landfill_and_away(void **state)
{
  BRICK(b, "option janitor-sleep-duration 1\n");
  struct gi_gfid d = brick_dir(b, ROOT, "d"), e = brick_dir(b, &d, "e"), g = brick_file(b, &e, "f"),
                 keep = brick_file(b, ROOT, "keep");
  char path[PATH_MAX], text[GI_UUID_TEXT];
  struct gi_gfid s = brick_gfid(b);

  (void)state;
  brick_path(b, path, "keep");
  assert_ok(brick_symlink(b, &e, "s", path, &s));
  assert_ok(brick_rmdir(b, ROOT, "d", 1));
  brick_path(b, path, ".glusterfs/landfill/%s", gi_gfid_text(&d, text));
  stat_of(path);
  fake_wait(b->s, 1500 * GI_NSEC_PER_MSEC);
  assert_gone(path);
  brick_handle(b, path, &g);
  assert_gone(path);
  brick_handle(b, path, &e);
  assert_gone(path);
  assert_fails(brick_nameless(b, &e), ENOENT); /* though it was open, as what had made the file */
  brick_handle(b, path, &s);
  assert_gone(path);
  assert_ok(brick_nameless(b, &keep));
  brick_free(b);
}

/* A linkto file like those of the other copies, which have nothing of it. */
static void
linkto_file_is_what_a_heal_has_kept(void **state)
{
  static const char volume[] = "01020300-0000-0000-0000-000000000000";
  BRICK(b, NULL);
  struct gi_gfid id, g = brick_gfid(b), kept;
  struct gi_fop *f;
  struct gi_fd *fd;
  char path[PATH_MAX], text[GI_UUID_TEXT];

  (void)state;
  brick_stop(b);
  assert_true(gi_gfid_parse(volume, &id));
  assert_int_equal(setxattr(b->dir, "trusted.glusterfs.volume-id", id.b, sizeof(id.b), 0), 0);
  snprintf(b->options, sizeof(b->options), "option volume-id %s\n", volume);
  brick_start(b);
  kept = brick_dir(b, ROOT, ".glusterfs-anonymous-inode-01020300-0000-0000-0000-000000000000");
  assert_ok(brick_create(b, &kept, gi_gfid_text(&g, text), &g, &fd));
  assert_int_equal(brick_write(b, fd, 0, "what it was", 11)->rsp.ret, 11);
  gi_fd_unref(&fd);
  f = brick_fop(b, GI_FOP_MKNOD);
  set_entry(f, ROOT, "f");
  f->args.mode = S_IFREG | 01000;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  gi_dict_set_str(gi_fop_xdata(f), "trusted.glusterfs.dht.linkto", "vol-client-1");
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs-internal-fop", "yes");
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.stat.mode & 07777, 01000);
  assert_int_equal(f->rsp.stat.size, 0);
  assert_int_equal(f->rsp.stat.nlink, 1);
  assert_fails(brick_lookup(b, &kept, text), ENOENT);
  brick_path(b, path, "f");
  assert_true(getxattr(path, "trusted.glusterfs.dht.linkto", NULL, 0) > 0);
  assert_int_equal(count_gfid2path(path), 1);
  brick_free(b);
}

static void
mknod_gives_an_existing_object_another_name(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "a");
  struct gi_fop *f = brick_fop(b, GI_FOP_MKNOD);
  char path[PATH_MAX];

  (void)state;
  set_entry(f, ROOT, "b");
  f->args.mode = S_IFREG | 0600;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs-internal-fop", "yes");
  assert_ok(brick_run(b, f));
  assert_int_equal(f->rsp.stat.nlink, 2);
  brick_path(b, path, "b");
  assert_int_equal(count_gfid2path(path), 2);
  brick_free(b);
}

/* A file that a rebalance took away comes back under who has it open there still: that is the file again, and no second one. */
static void
linkto_file_is_what_is_still_open(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  struct gi_fop *f = brick_fop(b, GI_FOP_MKNOD);
  struct gi_fd *fd;
  char path[PATH_MAX];

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  assert_int_equal(brick_write(b, fd, 0, "what it was", 11)->rsp.ret, 11);
  brick_path(b, path, "f");
  assert_int_equal(setxattr(path, "user.old", "1", 1, 0), 0);
  assert_ok(brick_unlink(b, ROOT, "f"));
  set_entry(f, ROOT, "back");
  f->args.mode = S_IFREG | GI_LINKTO_MODE;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  gi_dict_set_str(gi_fop_xdata(f), "trusted.glusterfs.dht.linkto", "vol-client-1");
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs-internal-fop", "yes");
  assert_ok(brick_run(b, f));
  brick_path(b, path, "back");
  assert_int_equal(count_gfid2path(path), 1);                 /* it has not the name any more that it had */
  assert_int_equal(f->rsp.stat.mode & 07777, GI_LINKTO_MODE); /* as it is on the other copies, which make it anew */
  assert_int_equal(f->rsp.stat.size, 0);
  assert_int_equal(getxattr(path, "user.old", NULL, 0), -1);
  assert_true(getxattr(path, "trusted.glusterfs.dht.linkto", NULL, 0) > 0);
  assert_int_equal(brick_write(b, fd, 0, "back", 4)->rsp.ret, 4);
  assert_int_equal(brick_lookup(b, ROOT, "back")->rsp.stat.size, 4);
  gi_fd_unref(&fd);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(creators_want_a_gfid_and_a_free_name),
      cmocka_unit_test(a_directory_made_again_is_where_things_go),
      cmocka_unit_test(owner_mode_and_group_follow_the_rules),
      cmocka_unit_test(set_id_bits_survive_the_change_of_owner),
      cmocka_unit_test(initial_attributes_are_stored),
      cmocka_unit_test(name_is_made_where_it_belongs),
      cmocka_unit_test(create_opens_what_is_there),
      cmocka_unit_test(symlinks_and_devices),
      cmocka_unit_test(links_are_counted_and_recorded),
      cmocka_unit_test(unlink_removes_the_handle_and_answers_counts),
      cmocka_unit_test(an_open_file_outlives_its_last_name),
      cmocka_unit_test(rename_moves_records_and_replaces),
      cmocka_unit_test(rename_replaces_an_open_file),
      cmocka_unit_test(rename_to_a_free_name_replaces_nothing),
      cmocka_unit_test(rename_of_directories),
      cmocka_unit_test(what_lost_its_name_is_answered),
      cmocka_unit_test(two_names_of_one_file_survive_a_rename_between_them),
      cmocka_unit_test(entries_under_a_removed_directory_are_stale),
      cmocka_unit_test(mknod_gives_an_existing_object_another_name),
      cmocka_unit_test(linkto_file_is_what_is_still_open),
  };
  const struct CMUnitTest slow[] = {
      /* they wait for a clock: once is enough */
      cmocka_unit_test(whole_trees_go_to_the_landfill_and_away),
      cmocka_unit_test(linkto_file_is_what_a_heal_has_kept),
      cmocka_unit_test(a_removed_file_outlives_restarts_while_its_client_comes_back),
  };

  return BRICK_RUN_ENGINES(tests) + cmocka_run_group_tests(slow, NULL, NULL);
}
