/* SPDX-License-Identifier: Apache-2.0
 *
 * storage/posix against hostile requests and wrong directories.
 */
#include "xlators/storage/posix/posix-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

static const enum gi_fop_kind entry_kinds[] = {GI_FOP_LOOKUP, GI_FOP_MKNOD, GI_FOP_MKDIR,  GI_FOP_SYMLINK, GI_FOP_CREATE,
                                               GI_FOP_UNLINK, GI_FOP_RMDIR, GI_FOP_RENAME, GI_FOP_LINK};

static int
try_name(struct brick *b, enum gi_fop_kind kind, const struct gi_gfid *parent, const char *name, const struct gi_gfid *object)
{
  struct gi_fop *f = brick_fop(b, kind);
  struct gi_gfid g = brick_gfid(b);

  if (kind == GI_FOP_LINK) {
    set_object(f, object);
    set_entry2(f, parent, name);
  } else {
    set_entry(f, parent, name);
  }
  if (kind == GI_FOP_RENAME)
    set_entry2(f, parent, "target");
  f->args.mode = S_IFREG | 0600;
  f->args.link = "x";
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  brick_run(b, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

static void
bad_names_are_refused_everywhere(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  char too_long[300];

  (void)state;
  memset(too_long, 'n', sizeof(too_long) - 1);
  too_long[sizeof(too_long) - 1] = 0;
  assert_ok(brick_mknod(b, ROOT, "f", S_IFREG | 0600, &g));
  for (size_t i = 0; i < GI_ARRAY_LEN(entry_kinds); i++) {
    assert_int_equal(try_name(b, entry_kinds[i], ROOT, "a/b", &g), EPERM);
    assert_int_equal(try_name(b, entry_kinds[i], ROOT, "../escape", &g), EPERM);
    assert_int_equal(try_name(b, entry_kinds[i], ROOT, "/etc/passwd", &g), EPERM);
    assert_int_equal(try_name(b, entry_kinds[i], ROOT, ".glusterfs", &g), EPERM);
    assert_int_equal(try_name(b, entry_kinds[i], ROOT, too_long, &g), ENAMETOOLONG);
    if (entry_kinds[i] != GI_FOP_LOOKUP) {
      assert_int_not_equal(try_name(b, entry_kinds[i], ROOT, ".", &g), 0);
      assert_int_not_equal(try_name(b, entry_kinds[i], ROOT, "..", &g), 0);
      assert_int_equal(try_name(b, entry_kinds[i], ROOT, "", &g), EINVAL);
    }
  }
  brick_free(b);
}

/* The handle of a user's symlink is a symlink of the user's choice: it must not become a way out. */
static void
a_symlink_is_no_directory(void **state)
{
  BRICK(b, NULL);
  static const char *const targets[] = {"/etc",
                                        "../../..",
                                        "../../../..",
                                        "../../00/00/00000000-0000-0000-0000-000000000001/../../..",
                                        "../../00/00/00000000-0000-0000-0000-000000000001/.glusterfs",
                                        "../../00/00/00000000-0000-0000-0000-000000000001/d"};
  struct gi_gfid d = brick_gfid(b), g = brick_gfid(b);

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "d", &d));
  assert_ok(brick_mknod(b, &d, "passwd", S_IFREG | 0600, &g));
  for (size_t i = 0; i < GI_ARRAY_LEN(targets); i++) {
    struct gi_gfid s = brick_gfid(b), n = brick_gfid(b);
    char name[16], handle[PATH_MAX], path[PATH_MAX];
    struct gi_fd *fd;

    snprintf(name, sizeof(name), "s%zu", i);
    assert_ok(brick_symlink(b, ROOT, name, targets[i], &s));
    for (int last = 0; last < 2; last++) { /* also when a crash left only the handle */
      assert_int_equal(brick_lookup(b, &s, "passwd")->rsp.ret, -1);
      assert_int_equal(brick_mkdir(b, &s, "new", &n)->rsp.ret, -1);
      assert_int_equal(brick_opendir(b, &s, &fd)->rsp.ret, -1);
      gi_fd_unref(&fd);
      assert_int_equal(brick_open(b, &s, O_RDONLY, &fd)->rsp.ret, -1);
      gi_fd_unref(&fd);
      brick_path(b, path, "%s", name);
      brick_handle(b, handle, &s);
      unlink(path);
    }
    unlink(handle);
  }
  brick_free(b);
}

static void
a_symlink_in_the_way_is_not_followed(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid s = brick_gfid(b), g = brick_gfid(b);
  char path[PATH_MAX];
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  brick_path(b, path, "victim");
  close(open(path, O_CREAT | O_WRONLY, 0600));
  assert_ok(brick_symlink(b, ROOT, "s", path, &s));
  f = brick_create(b, ROOT, "s", &g, &fd); /* without O_EXCL */
  assert_fails(f, ELOOP);
  gi_fd_unref(&fd);
  f = brick_fop(b, GI_FOP_TRUNCATE);
  set_object(f, &s);
  assert_fails(brick_run(b, f), ELOOP);
  assert_ok(brick_setxattr(b, &s, "trusted.on-link", "1", 1, 0));
  assert_no_xattr(path, "trusted.on-link");
  f = brick_fop(b, GI_FOP_SETATTR);
  set_object(f, &s);
  f->args.valid = GI_SET_UID;
  f->args.iatt.uid = 99;
  assert_ok(brick_run(b, f));
  assert_int_equal(stat_of(path).st_uid, 0);
  brick_free(b);
}

static void
unknown_gfids_are_stale_everywhere(void **state)
{
  BRICK(b, NULL);
  static const enum gi_fop_kind kinds[] = {GI_FOP_STAT,        GI_FOP_SETATTR,  GI_FOP_TRUNCATE, GI_FOP_ACCESS,
                                           GI_FOP_READLINK,    GI_FOP_GETXATTR, GI_FOP_SETXATTR, GI_FOP_XATTROP,
                                           GI_FOP_REMOVEXATTR, GI_FOP_OPEN,     GI_FOP_OPENDIR,  GI_FOP_LINK};
  static const struct gi_gfid gfids[] = {
      {{1}},
      {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
      {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}};
  struct gi_gfid none = {{0}};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    for (size_t k = 0; k <= GI_ARRAY_LEN(gfids); k++) {
      struct gi_fop *f = brick_fop(b, kinds[i]);

      set_object(f, k < GI_ARRAY_LEN(gfids) ? &gfids[k] : &none);
      set_entry2(f, ROOT, "new");
      f->args.name = "user.x";
      f->args.dict = gi_dict_new();
      assert_fails(brick_run(b, f), k < GI_ARRAY_LEN(gfids) ? ESTALE : EINVAL);
    }
  }
  brick_free(b);
}

static void
damaged_handles_do_not_lead_astray(void **state)
{
  BRICK(b, NULL);
  static const char *const texts[] = {"../../..",
                                      "../../../etc",
                                      "/etc",
                                      "../../00/00/00000000-0000-0000-0000-000000000001/..",
                                      "../../00/00/00000000-0000-0000-0000-000000000001/",
                                      "../../00/01/00000000-0000-0000-0000-000000000001/d",
                                      "../../00/00/00000000x0000-0000-0000-000000000001/d"};
  struct gi_gfid d = brick_gfid(b), loop = brick_gfid(b);
  char handle[PATH_MAX], text[128], uuid[GI_UUID_TEXT];

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "d", &d));
  for (size_t i = 0; i < GI_ARRAY_LEN(texts); i++) {
    brick_restart(b);
    brick_handle(b, handle, &d);
    unlink(handle);
    assert_int_equal(symlink(texts[i], handle), 0);
    assert_fails(brick_lookup(b, &d, "x"), ESTALE);
    assert_fails(brick_nameless(b, &d), ENOENT);
  }
  brick_restart(b); /* a directory that is its own parent */
  snprintf(text, sizeof(text), "../../a0/1b/%s/x", gi_gfid_text(&loop, uuid));
  brick_handle(b, handle, &loop);
  assert_int_equal(symlink(text, handle), 0);
  assert_int_equal(brick_lookup(b, &loop, "x")->rsp.ret, -1);
  brick_free(b);
}

/* A handle that names another directory, as a crash in a rename may leave it. */
static void
a_stale_handle_is_noticed(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid a = brick_gfid(b), c = brick_gfid(b);
  char handle[PATH_MAX];

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "a", &a));
  assert_ok(brick_mkdir(b, ROOT, "c", &c));
  brick_restart(b);
  brick_handle(b, handle, &a);
  unlink(handle);
  assert_int_equal(symlink("../../00/00/00000000-0000-0000-0000-000000000001/c", handle), 0);
  assert_fails(brick_lookup(b, &a, "x"), ESTALE);
  brick_free(b);
}

static void
absurd_numbers_are_refused(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  assert_fails(brick_read(b, fd, UINT64_MAX, 10), EINVAL);
  assert_fails(brick_read(b, fd, INT64_MAX, 10), EINVAL);
  assert_int_equal(brick_read(b, fd, 0, UINT32_MAX)->rsp.ret, 0);
  assert_fails(brick_write(b, fd, UINT64_MAX, "x", 1), EFBIG);
  assert_fails(brick_write(b, fd, INT64_MAX, "x", 1), EFBIG);
  assert_int_equal(brick_write(b, fd, 0, "", 0)->rsp.ret, 0);
  f = brick_fop(b, GI_FOP_TRUNCATE);
  set_object(f, &g);
  f->args.offset = UINT64_MAX;
  assert_fails(brick_run(b, f), EINVAL);
  f = brick_fop(b, GI_FOP_RCHECKSUM);
  set_fd(f, fd);
  f->args.size = UINT32_MAX;
  assert_fails(brick_run(b, f), EINVAL);
  f = brick_fop(b, GI_FOP_SEEK);
  set_fd(f, fd);
  f->args.offset = UINT64_MAX;
  assert_fails(brick_run(b, f), EINVAL);
  assert_fails(brick_setxattr(b, &g, "user.x", "1", 1, 77), EINVAL);
  gi_fd_unref(&fd);
  brick_free(b);
}

static void
kinds_of_other_layers_are_refused(void **state)
{
  BRICK(b, NULL);
  static const enum gi_fop_kind locks[] = {GI_FOP_LK,      GI_FOP_INODELK,  GI_FOP_FINODELK,
                                           GI_FOP_ENTRYLK, GI_FOP_FENTRYLK, GI_FOP_LEASE};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(locks); i++)
    assert_fails(brick_run(b, brick_fop(b, locks[i])), ENOSYS);
  assert_fails(brick_run(b, brick_fop(b, GI_FOP_IPC)), EOPNOTSUPP);
  brick_free(b);
}

/* Every kind with nothing filled in: an error, never a crash. */
static void
empty_requests_are_survived(void **state)
{
  BRICK(b, NULL);

  (void)state;
  for (int kind = 1; kind < GI_FOP_MAX; kind++) {
    if (!gi_fop_table[kind].name || kind == GI_FOP_STATFS || kind == GI_FOP_RELEASE || kind == GI_FOP_RELEASEDIR)
      continue;
    assert_int_equal(brick_run(b, brick_fop(b, kind))->rsp.ret, -1);
  }
  brick_free(b);
}

/* ---- start-up ---- */

static void
refuses(const char *dir, const char *more, int code, const char *word)
{
  char options[PATH_MAX + 256];
  struct gi_error err = {0};

  snprintf(options, sizeof(options), "%s%s\n%s", dir ? "option directory " : "", dir ? dir : "", more);
  assert_null(fake_stack_try("storage/posix", options, 0, &err));
  assert_int_equal(err.code, code);
  if (!strstr(err.text, word))
    fail_msg("'%s' does not say '%s'", err.text, word);
  if (dir && !strstr(err.text, dir))
    fail_msg("'%s' does not name the directory", err.text);
}

static void
wrong_directories_are_refused_with_a_sentence(void **state)
{
  BRICK(b, NULL);
  char path[PATH_MAX];
  struct gi_gfid id = {{1, 2, 3}};
  const char *want = "option volume-id 01020300-0000-0000-0000-000000000000\n";

  (void)state;
  brick_stop(b);
  refuses("/nonexistent/brick", "", ENOENT, "does not exist");
  brick_path(b, path, "file");
  close(open(path, O_CREAT | O_WRONLY, 0600));
  refuses(path, "", ENOTDIR, "not a directory");
  refuses(NULL, "", EINVAL, "directory");
  refuses("/proc/self", "", ENOTSUP, "extended attributes");
  refuses(b->dir, want, ENODATA, "not part of volume");
  assert_int_equal(setxattr(b->dir, "trusted.glusterfs.volume-id", "short", 5, 0), 0);
  refuses(b->dir, want, EINVAL, "5 bytes");
  id.b[0] = 0xee;
  assert_int_equal(setxattr(b->dir, "trusted.glusterfs.volume-id", id.b, 16, 0), 0);
  refuses(b->dir, want, EINVAL, "belongs to another volume: its volume id is ee020300");
  refuses(b->dir, "option volume-id nonsense\n", EINVAL, "not a UUID");
  id.b[0] = 1;
  assert_int_equal(setxattr(b->dir, "trusted.glusterfs.volume-id", id.b, 16, 0), 0);
  snprintf(b->options, sizeof(b->options), "%s", want);
  brick_start(b);
  brick_stop(b);
  assert_int_equal(setxattr(b->dir, "trusted.gfid", id.b, 16, 0), 0);
  refuses(b->dir, want, EINVAL, "inside of another brick");
  assert_int_equal(setxattr(b->dir, "trusted.gfid", ROOT->b, 16, 0), 0);
  brick_path(b, path, ".glusterfs/00/00/00000000-0000-0000-0000-000000000001");
  unlink(path);
  assert_int_equal(symlink("../../../..", path), 0);
  refuses(b->dir, want, EINVAL, "was the brick copied");
  brick_free(b);
}

static void
a_start_cleans_up_behind_a_crash(void **state)
{
  BRICK(b, "option unlinked-file-wait 1\n");
  char path[PATH_MAX];

  (void)state;
  brick_stop(b);
  brick_path(b, path, ".glusterfs/unlink/01020304-0000-0000-0000-000000000000");
  close(open(path, O_CREAT | O_WRONLY, 0600));
  brick_start(b);
  for (unsigned i = 0; i < 20 && access(path, F_OK) == 0; i++)
    fake_wait(b->s, GI_NSEC_PER_SEC);
  assert_gone(path);
  brick_free(b);
}

static void
health_is_checked(void **state)
{
  BRICK(b, "option health-check-interval 1\n");
  char path[PATH_MAX], text[64] = "";
  int fd;

  (void)state;
  fake_wait(b->s, 1300 * GI_NSEC_PER_MSEC);
  brick_path(b, path, ".glusterfs/health_check");
  assert_int_equal(stat_of(path).st_mode, S_IFREG | 0644);
  assert_int_equal(stat_of(path).st_size, 25);
  fd = open(path, O_RDONLY);
  assert_int_equal(read(fd, text, sizeof(text)), 25);
  close(fd);
  assert_string_equal(text + 19, " +0000");
  assert_int_equal(b->s->events[GI_EVENT_CHILD_DOWN], 0);
  unlink(path); /* a disk that does not answer properly: a directory in its place */
  assert_int_equal(mkdir(path, 0700), 0);
  for (unsigned i = 0; i < 20 && b->s->events[GI_EVENT_CHILD_DOWN] == 0; i++)
    fake_wait(b->s, GI_NSEC_PER_SEC);
  assert_int_equal(b->s->events[GI_EVENT_CHILD_DOWN], 1);
  brick_free(b);
}

static void
one_process_serves_a_brick(void **state)
{
  BRICK(b, NULL);
  char parked[PATH_MAX], word[64];

  (void)state;
  brick_path(b, parked, ".glusterfs/unlink/00000000-0000-0000-0000-0000000000aa");
  close(open(parked, O_CREAT | O_WRONLY, 0600));
  snprintf(word, sizeof(word), "served by another process already, %d", getpid());
  refuses(b->dir, "", EBUSY, b->dir);
  refuses(b->dir, "", EBUSY, word);
  assert_int_equal(access(parked, F_OK), 0); /* what the other keeps there stays */
  brick_restart(b);                          /* the lock goes with who had it */
  brick_free(b);
}

/* Leaves the process no descriptor to open; undone by setting `was` again. */
static void
no_more_descriptors(struct rlimit *was)
{
  struct rlimit none;
  int next = dup(0);

  assert_true(next >= 0);
  close(next);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, was), 0);
  none = (struct rlimit){(rlim_t)next, was->rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void
a_process_that_is_full_has_no_dead_disk(void **state)
{
  struct rlimit was;
  BRICK(b, "option health-check-interval 1\n");
  char path[PATH_MAX];

  (void)state;
  brick_path(b, path, ".glusterfs/health_check");
  no_more_descriptors(&was);
  fake_wait(b->s, 1300 * GI_NSEC_PER_MSEC); /* it was never opened yet */
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
  assert_int_equal(b->s->events[GI_EVENT_CHILD_DOWN], 0);
  fake_wait(b->s, 1000 * GI_NSEC_PER_MSEC);
  assert_int_equal(stat_of(path).st_size, 25);
  assert_int_equal(truncate(path, 0), 0);
  no_more_descriptors(&was);
  fake_wait(b->s, 1200 * GI_NSEC_PER_MSEC);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
  assert_int_equal(b->s->events[GI_EVENT_CHILD_DOWN], 0);
  assert_int_equal(stat_of(path).st_size, 25); /* it looked all the same */
  brick_free(b);
}

/* What is not the object that a healer means stays where it is. */
static struct gi_fop *
meaning(struct brick *b, enum gi_fop_kind kind, const char *name, const struct gi_gfid *gfid)
{
  struct gi_fop *f = brick_fop(b, kind);

  set_entry(f, ROOT, name);
  if (kind == GI_FOP_RENAME)
    set_entry2(f, ROOT, "g");
  f->args.flags = kind == GI_FOP_RMDIR;
  gi_dict_set_gfid(gi_fop_xdata(f), GI_EXPECTED_KEY, gfid);
  return brick_run(b, f);
}

static void
only_the_object_that_is_meant_loses_its_name(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid f = brick_gfid(b), d = brick_gfid(b);

  (void)state;
  assert_ok(brick_mknod(b, ROOT, "f", S_IFREG | 0644, &f));
  assert_ok(brick_mkdir(b, ROOT, "d", &d));
  assert_fails(meaning(b, GI_FOP_RENAME, "f", &d), ESTALE);
  assert_fails(meaning(b, GI_FOP_UNLINK, "f", &d), ESTALE);
  assert_fails(meaning(b, GI_FOP_UNLINK, "f", &gi_gfid_none), ESTALE);
  assert_fails(meaning(b, GI_FOP_RMDIR, "d", &f), ESTALE);
  assert_ok(meaning(b, GI_FOP_RENAME, "f", &f));
  assert_ok(meaning(b, GI_FOP_UNLINK, "g", &f));
  assert_ok(meaning(b, GI_FOP_RMDIR, "d", &d));
  brick_free(b);
}

/* A linkto file has the gfid of the file that it leads to, which is not here. */
static void
linkto_file_is_not_the_file_that_is_meant(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid gfid = brick_gfid(b);
  char path[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_mknod(b, ROOT, "f", S_IFREG | GI_LINKTO_MODE, &gfid));
  assert_ok(meaning(b, GI_FOP_UNLINK, "f", &gfid)); /* somebody gave it that mode */
  assert_ok(brick_mknod(b, ROOT, "g", S_IFREG | GI_LINKTO_MODE, &gfid));
  brick_path(b, path, "g");
  assert_int_equal(setxattr(path, "trusted.glusterfs.dht.linkto", "child-1", 8, 0), 0);
  assert_fails(meaning(b, GI_FOP_UNLINK, "g", &gfid), ESTALE);
  f = brick_fop(b, GI_FOP_UNLINK);
  f->caller.pid = GI_PID_HEAL;
  set_entry(f, ROOT, "g");
  gi_dict_set_gfid(gi_fop_xdata(f), GI_EXPECTED_KEY, &gfid);
  assert_ok(brick_run(b, f));
  brick_free(b);
}

/* Who does not know that it moves would take the name away here alone, and it may be where it goes already. */
static void
name_of_a_file_that_moves_goes_by_who_knows(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid gfid = brick_gfid(b);
  char path[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_mknod(b, ROOT, "f", S_IFREG | 0644, &gfid));
  brick_path(b, path, "f");
  assert_int_equal(setxattr(path, "trusted.glusterfs.dht.linkto", "child-1", 8, 0), 0);
  assert_int_equal(chmod(path, S_ISVTX | S_ISGID | 0644), 0);
  assert_fails(meaning(b, GI_FOP_UNLINK, "f", &gfid), ESTALE);
  f = brick_fop(b, GI_FOP_UNLINK);
  set_entry(f, ROOT, "f");
  gi_dict_set_gfid(gi_fop_xdata(f), GI_EXPECTED_KEY, &gfid);
  gi_dict_set_uint(gi_fop_xdata(f), GI_MOVING_KEY, 1);
  assert_ok(brick_run(b, f));
  brick_free(b);
}

/* ---- a brick that lost a handle with its power, and made the object again for want of it ---- */

static void
lose_handle(struct brick *b, const struct gi_gfid *gfid)
{
  char handle[PATH_MAX];

  brick_handle(b, handle, gfid);
  assert_int_equal(unlink(handle), 0);
}

static bool
is_twin(struct brick *b, const char *name)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_LOOKUP);

  set_entry(f, ROOT, name);
  gi_dict_set_int(gi_fop_xdata(f), GI_TWIN_KEY, 1);
  assert_ok(brick_run(b, f));
  return gi_dict_get(f->rsp.xdata, GI_TWIN_KEY) != NULL;
}

static void
of_two_directories_with_one_gfid_the_second_keeps_the_handle(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_gfid(b), inside = brick_gfid(b);
  char handle[PATH_MAX], text[PATH_MAX] = "";

  (void)state;
  assert_ok(brick_mkdir(b, ROOT, "first", &d));
  assert_false(is_twin(b, "first"));
  brick_stop(b);
  lose_handle(b, &d);
  brick_start(b);
  assert_fails(brick_nameless(b, &d), ENOENT);
  assert_ok(brick_mkdir(b, ROOT, "second", &d));
  assert_ok(brick_mknod(b, &d, "f", S_IFREG | 0644, &inside));
  assert_true(is_twin(b, "first"));
  assert_false(is_twin(b, "second"));
  assert_ok(brick_rename(b, ROOT, "first", ROOT, "aside"));
  assert_true(is_twin(b, "aside"));
  brick_handle(b, handle, &d);
  assert_true(readlink(handle, text, sizeof(text) - 1) > 0);
  assert_string_equal(text, "../../00/00/00000000-0000-0000-0000-000000000001/second");
  assert_ok(brick_rmdir(b, ROOT, "aside", 1));
  assert_ok(brick_lookup(b, &d, "f"));
  assert_ok(brick_rename(b, ROOT, "second", ROOT, "third")); /* its own handle follows */
  assert_ok(brick_lookup(b, &d, "f"));
  brick_free(b);
}

static void
of_two_files_with_one_gfid_the_second_keeps_the_handle(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b), other = brick_gfid(b);

  (void)state;
  for (int replaced = 0; replaced < 2; replaced++) {
    assert_ok(brick_mknod(b, ROOT, "first", S_IFREG | 0644, &g));
    assert_false(is_twin(b, "first"));
    brick_stop(b);
    lose_handle(b, &g);
    brick_start(b);
    assert_ok(brick_mknod(b, ROOT, "second", S_IFREG | 0644, &g));
    assert_true(is_twin(b, "first"));
    assert_false(is_twin(b, "second"));
    if (replaced) {
      assert_ok(brick_mknod(b, ROOT, "other", S_IFREG | 0644, &other));
      assert_ok(brick_rename(b, ROOT, "other", ROOT, "first"));
    } else {
      assert_ok(brick_unlink(b, ROOT, "first"));
    }
    assert_ok(brick_nameless(b, &g));
    assert_false(is_twin(b, "second"));
    assert_ok(brick_unlink(b, ROOT, "second"));
    assert_fails(brick_nameless(b, &g), ENOENT);
  }
  brick_free(b);
}

static void
the_name_of_the_first_comes_to_lead_to_the_second(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "first");
  char first[PATH_MAX], second[PATH_MAX];

  (void)state;
  brick_path(b, first, "first");
  brick_path(b, second, "second");
  brick_stop(b);
  lose_handle(b, &g);
  brick_start(b);
  assert_ok(brick_mknod(b, ROOT, "second", S_IFREG | 0644, &g));
  assert_ok(brick_lookup(b, ROOT, "first")); /* too young: it may be under way */
  assert_int_not_equal(stat_of(first).st_ino, stat_of(second).st_ino);
  fake_wait(b->s, 2100 * GI_NSEC_PER_MSEC);
  assert_true(is_twin(b, "first")); /* a healer that asks is told */
  assert_int_equal(brick_lookup(b, ROOT, "first")->rsp.stat.nlink, 2);
  assert_int_equal(stat_of(first).st_ino, stat_of(second).st_ino);
  assert_false(is_twin(b, "first"));
  assert_ok(brick_unlink(b, ROOT, "first"));
  assert_ok(brick_nameless(b, &g));
  assert_ok(brick_unlink(b, ROOT, "second"));
  assert_fails(brick_nameless(b, &g), ENOENT);
  brick_free(b);
}

static void
times_that_are_none_are_refused(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd)); /* stamped 1000 */
  for (int i = 0; i < 4; i++) {
    struct gi_time t = {2000, i % 2 ? 1000000000 : 0x3fffffff /* UTIME_NOW */};

    f = brick_fop(b, GI_FOP_SETATTR);
    set_object(f, &g);
    f->args.valid = i < 2 ? GI_SET_MTIME : GI_SET_CTIME;
    f->args.iatt.mtime = f->args.iatt.ctime = t;
    assert_fails(brick_run(b, f), EINVAL);
  }
  f = brick_fop(b, GI_FOP_SETATTR);
  set_object(f, &g);
  f->caller.stamps = GI_STAMP_CTIME;
  f->caller.time = (struct gi_time){2000, 1000000000};
  assert_fails(brick_run(b, f), EINVAL);
  gi_fd_unref(&fd);
  brick_restart(b);
  assert_int_equal(brick_nameless(b, &g)->rsp.stat.ctime.sec, 1000);
  brick_free(b);
}

/* Whoever moves a file has seen its marks; a client that sets a mode takes them away, and others write to it alone then. A copy that missed the
 * marks is healed later. */
static void
a_file_without_marks_has_not_moved(void **state)
{
  static const struct {
    uint32_t mode;
    int err;
    bool had; /* marks */
  } was[] = {
      {0600, 0}, {0644 | S_ISVTX | S_ISGID, 0, true}, {0600, EAGAIN, true}, {0600 | S_ISVTX, EAGAIN, true}, {S_ISVTX, 0, true}};
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  char path[PATH_MAX];
  struct gi_fd *fd;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  brick_path(b, path, "f");
  for (size_t i = 0; i < 2 * GI_ARRAY_LEN(was); i++) {
    bool moved = i % 2;
    struct gi_fop *f = brick_fop(b, GI_FOP_SETATTR);

    if (was[i / 2].had)
      assert_int_equal(setxattr(path, "trusted.glusterfs.dht.mode", "644", 4, 0), 0);
    set_object(f, &g);
    f->args.valid = GI_SET_MODE;
    f->args.iatt.mode = moved ? GI_LINKTO_MODE : was[i / 2].mode;
    f->caller.pid = GI_PID_REBALANCE;
    gi_dict_set_uint(gi_fop_xdata(f), GI_MOVED_KEY, moved);
    if (moved && was[i / 2].err)
      assert_fails(brick_run(b, f), was[i / 2].err);
    else
      assert_ok(brick_run(b, f));
  }
  gi_fd_unref(&fd);
  brick_free(b);
}

/* The kernel takes the set-group-id bit of a program away with its owner, and that is one of the marks; a set-user-id bit falls as ever. */
static void
a_new_owner_leaves_the_marks_of_a_move(void **state)
{
  static const struct {
    bool moving;
    uint32_t mode, then;
  } was[] = {{true, 0755 | S_ISVTX | S_ISGID, 0755 | S_ISVTX | S_ISGID},
             {true, 0755 | S_ISVTX | S_ISGID | S_ISUID, 0755 | S_ISVTX | S_ISGID},
             {true, 0644 | S_ISVTX | S_ISGID, 0644 | S_ISVTX | S_ISGID},
             {false, 0755 | S_ISVTX | S_ISGID, 0755 | S_ISVTX}};
  BRICK(b, NULL);

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(was); i++) {
    char name[8];
    struct gi_gfid g = brick_gfid(b);
    struct gi_fd *fd;
    struct gi_fop *f;

    snprintf(name, sizeof(name), "f%zu", i);
    assert_ok(brick_create(b, ROOT, name, &g, &fd));
    if (was[i].moving)
      assert_ok(brick_setxattr(b, &g, "trusted.glusterfs.dht.linkto", "elsewhere", 10, 0));
    f = brick_fop(b, GI_FOP_SETATTR);
    set_object(f, &g);
    f->args.valid = GI_SET_MODE;
    f->args.iatt.mode = was[i].mode;
    assert_ok(brick_run(b, f));
    f = brick_fop(b, GI_FOP_SETATTR);
    set_object(f, &g);
    f->args.valid = GI_SET_UID | GI_SET_GID;
    f->args.iatt.uid = f->args.iatt.gid = 12;
    assert_ok(brick_run(b, f));
    assert_int_equal(f->rsp.post.mode & 07777, was[i].then);
    assert_int_equal(f->rsp.post.uid, 12);
    gi_fd_unref(&fd);
  }
  brick_free(b);
}

static void
no_second_object_gets_the_gfid_of_the_root(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_MKNOD, GI_FOP_MKDIR, GI_FOP_SYMLINK, GI_FOP_CREATE, GI_FOP_PUT};
  BRICK(b, NULL);
  char path[PATH_MAX];
  struct gi_fop *f;

  (void)state;
  for (unsigned i = 0; i < 2 * GI_ARRAY_LEN(kinds); i++) {
    struct gi_fd *fd = gi_fd_new(b->s->graph, NULL, O_RDWR, 100);

    f = brick_fop(b, kinds[i / 2]);
    set_entry(f, ROOT, "new");
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &gi_gfid_root);
    if (i % 2)
      gi_dict_set_int(gi_fop_xdata(f), "glusterfs-internal-fop", 1);
    f->args.mode = S_IFREG | 0600;
    f->args.link = "x";
    f->fd = gi_fd_ref(fd);
    assert_fails(brick_run(b, f), EINVAL);
    gi_fd_unref(&fd);
  }
  brick_path(b, path, "new");
  assert_gone(path);
  brick_path(b, path, "foreign");
  close(open(path, O_CREAT | O_WRONLY, 0600));
  f = brick_fop(b, GI_FOP_LOOKUP);
  set_entry(f, ROOT, "foreign");
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &gi_gfid_root);
  assert_fails(brick_run(b, f), ENODATA);
  brick_restart(b);
  assert_ok(brick_nameless(b, ROOT));
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_names_are_refused_everywhere),
      cmocka_unit_test(a_symlink_is_no_directory),
      cmocka_unit_test(a_symlink_in_the_way_is_not_followed),
      cmocka_unit_test(unknown_gfids_are_stale_everywhere),
      cmocka_unit_test(damaged_handles_do_not_lead_astray),
      cmocka_unit_test(a_stale_handle_is_noticed),
      cmocka_unit_test(absurd_numbers_are_refused),
      cmocka_unit_test(kinds_of_other_layers_are_refused),
      cmocka_unit_test(empty_requests_are_survived),
      cmocka_unit_test(a_file_without_marks_has_not_moved),
      cmocka_unit_test(a_new_owner_leaves_the_marks_of_a_move),
      cmocka_unit_test(no_second_object_gets_the_gfid_of_the_root),
      cmocka_unit_test(times_that_are_none_are_refused),
      cmocka_unit_test(only_the_object_that_is_meant_loses_its_name),
      cmocka_unit_test(linkto_file_is_not_the_file_that_is_meant),
      cmocka_unit_test(name_of_a_file_that_moves_goes_by_who_knows),
      cmocka_unit_test(of_two_directories_with_one_gfid_the_second_keeps_the_handle),
      cmocka_unit_test(of_two_files_with_one_gfid_the_second_keeps_the_handle),
      cmocka_unit_test(the_name_of_the_first_comes_to_lead_to_the_second),
  };
  const struct CMUnitTest once[] = {
      cmocka_unit_test(wrong_directories_are_refused_with_a_sentence),
      cmocka_unit_test(a_start_cleans_up_behind_a_crash),
      cmocka_unit_test(health_is_checked),
      cmocka_unit_test(one_process_serves_a_brick),
      cmocka_unit_test(a_process_that_is_full_has_no_dead_disk),
  };

  return BRICK_RUN_ENGINES(tests) + cmocka_run_group_tests(once, NULL, NULL);
}
