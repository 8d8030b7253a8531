/* SPDX-License-Identifier: Apache-2.0
 *
 * See posix-fixture.h.
 */
#include "xlators/storage/posix/posix-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/xattr.h>
#include <unistd.h>

const char *brick_engine = "auto";
bool brick_on_disk;

/* A brick that starts makes 256 directories for handles, which takes a disk longer than most tests take: bricks that are gone leave theirs, empty, to
 * later ones. */
#define SPARES 4
static struct {
  char dir[PATH_MAX];
  bool on_disk;
} spare[SPARES];
static unsigned spares;
static pid_t spares_of;

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  (void)st;
  (void)type;
  (void)ftw;
  return remove(path);
}

static void
remove_dir(const char *dir)
{
  nftw(dir, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

/* All but the brick's directory and those for handles. */
static int
empty_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  bool handles = ftw->level == 2 && strspn(path + ftw->base, "0123456789abcdef") == 2 && path[ftw->base + 2] == '\0' &&
                 ftw->base > 11 && strncmp(path + ftw->base - 11, ".glusterfs/", 11) == 0;

  (void)st;
  if (type == FTW_DP && (ftw->level == 0 || handles || (ftw->level == 1 && strcmp(path + ftw->base, ".glusterfs") == 0)))
    return 0;
  return remove(path);
}

static bool
bare(const char *dir)
{
  char names[4096];
  ssize_t n = llistxattr(dir, names, sizeof(names));

  for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1)
    if (lremovexattr(dir, names + at) != 0)
      return false;
  return n >= 0 && chmod(dir, 0700) == 0 && lchown(dir, 0, 0) == 0;
}

static void
remove_spares(void)
{
  if (getpid() != spares_of) /* a child that a test has made */
    return;
  while (spares)
    remove_dir(spare[--spares].dir);
}

static bool
is_on_disk(const struct brick *b)
{
  return brick_on_disk || strcmp(b->engine, "auto") == 0;
}

static bool
take_spare(struct brick *b)
{
  for (unsigned i = 0; i < spares; i++)
    if (spare[i].on_disk == is_on_disk(b)) {
      memcpy(b->dir, spare[i].dir, sizeof(b->dir));
      spare[i] = spare[--spares];
      return true;
    }
  return false;
}

static void
leave_dir(const struct brick *b)
{
  if (spares == SPARES || nftw(b->dir, empty_one, 32, FTW_DEPTH | FTW_PHYS) != 0 || !bare(b->dir)) {
    remove_dir(b->dir);
    return;
  }
  if (!spares_of && atexit(remove_spares) == 0)
    spares_of = getpid();
  memcpy(spare[spares].dir, b->dir, sizeof(b->dir));
  spare[spares++].on_disk = b->on_disk;
}

static bool
make_dir(struct brick *b)
{
  /* A real disk for the usual engine; the others only differ in who calls, so memory does for them, and is quicker. */
  const char *shm = is_on_disk(b) ? NULL : "/dev/shm";
  const char *const places[] = {shm, getenv("TMPDIR"), "/tmp", getenv("GLUSTERISH_BUILDDIR"), "/var/tmp"};

  b->on_disk = is_on_disk(b);
  if (take_spare(b))
    return true;

  for (size_t i = 0; i < GI_ARRAY_LEN(places); i++) {
    if (!places[i])
      continue;
    snprintf(b->dir, sizeof(b->dir), "%s/glusterish-brick-XXXXXX", places[i]);
    if (!mkdtemp(b->dir))
      continue;
    if (setxattr(b->dir, "trusted.glusterish.probe", "1", 1, 0) == 0 &&
        setxattr(b->dir, "user.glusterish.probe", "1", 1, 0) == 0) {
      removexattr(b->dir, "trusted.glusterish.probe");
      removexattr(b->dir, "user.glusterish.probe");
      return true;
    }
    rmdir(b->dir);
  }
  return false;
}

void
brick_start(struct brick *b)
{
  char options[PATH_MAX + 1200];

  /* One engine also does without the newest system calls. */
  snprintf(options, sizeof(options), "option directory %s\noption io-engine %s\noption xattr-at %s\n%s", b->dir, b->engine,
           strcmp(b->engine, "inline") == 0 ? "off" : "on", b->options);
  fake_fs = b->fs;
  b->s = fake_stack_new("storage/posix", options, 0);
  fake_fs = NULL;
}

void
brick_stop(struct brick *b)
{
  if (b->s)
    fake_stack_free(b->s);
  b->s = NULL;
}

void
brick_restart(struct brick *b)
{
  brick_stop(b);
  brick_start(b);
}

struct brick *
brick_new(const char *more_options)
{
  struct brick *b = gi_new(struct brick);

  b->engine = brick_engine;
  snprintf(b->options, sizeof(b->options), "%s", more_options ? more_options : "");
  if (!make_dir(b)) {
    gi_free(b);
    return NULL;
  }
  brick_start(b);
  return b;
}

struct brick *
brick_new_on(struct gi_fs *fs, const char *dir, const char *more_options)
{
  struct brick *b = gi_new(struct brick);

  b->fs = fs;
  b->engine = brick_engine;
  snprintf(b->options, sizeof(b->options), "%s", more_options ? more_options : "");
  snprintf(b->dir, sizeof(b->dir), "%s", dir);
  brick_start(b);
  return b;
}

void
brick_free(struct brick *b)
{
  brick_stop(b);
  if (!b->fs)
    leave_dir(b);
  gi_free(b);
}

void
brick_path(const struct brick *b, char out[PATH_MAX], const char *fmt, ...)
{
  va_list ap;
  size_t n = (size_t)snprintf(out, PATH_MAX, "%s/", b->dir);

  va_start(ap, fmt);
  vsnprintf(out + n, PATH_MAX - n, fmt, ap);
  va_end(ap);
}

void
brick_handle(const struct brick *b, char out[PATH_MAX], const struct gi_gfid *gfid)
{
  char text[GI_UUID_TEXT];

  gi_gfid_text(gfid, text);
  brick_path(b, out, ".glusterfs/%.2s/%.2s/%s", text, text + 2, text);
}

struct gi_gfid
brick_gfid(struct brick *b)
{
  struct gi_gfid g = {{0xa0, 0x1b, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 0}};

  g.b[15] = ++b->last;
  return g;
}

/* ---- requests ---- */

struct gi_fop *
brick_fop(struct brick *b, enum gi_fop_kind kind)
{
  return fake_fop(b->s, kind);
}

void
brick_submit(struct brick *b, struct gi_fop *f)
{
  fake_submit(b->s, f);
}

void
brick_wait(struct brick *b, struct gi_fop *f)
{
  for (int i = 0; i < 10000 && !f->answered; i++)
    gi_reactor_turn(b->s->ctx.reactor, GI_NSEC_PER_MSEC);
  assert_true(f->answered);
}

struct gi_fop *
brick_run(struct brick *b, struct gi_fop *f)
{
  brick_submit(b, f);
  brick_wait(b, f);
  return f;
}

void
set_object(struct gi_fop *f, const struct gi_gfid *gfid)
{
  f->loc.gfid = *gfid;
}

void
set_entry(struct gi_fop *f, const struct gi_gfid *parent, const char *name)
{
  f->loc.pargfid = *parent;
  f->loc.name = gi_fop_strdup(f, name, strlen(name));
}

void
set_entry2(struct gi_fop *f, const struct gi_gfid *parent, const char *name)
{
  f->loc2.pargfid = *parent;
  f->loc2.name = gi_fop_strdup(f, name, strlen(name));
}

void
set_fd(struct gi_fop *f, struct gi_fd *fd)
{
  gi_fop_set_fd(f, fd);
}

void
set_stamp(struct gi_fop *f, int64_t sec)
{
  f->caller.stamps = 63;
  f->caller.time = (struct gi_time){sec, 5};
}

struct gi_fop *
brick_lookup(struct brick *b, const struct gi_gfid *parent, const char *name)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_LOOKUP);

  set_entry(f, parent, name);
  return brick_run(b, f);
}

struct gi_fop *
brick_nameless(struct brick *b, const struct gi_gfid *gfid)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_LOOKUP);

  set_object(f, gfid);
  return brick_run(b, f);
}

static struct gi_fop *
creator(struct brick *b, enum gi_fop_kind kind, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid)
{
  struct gi_fop *f = brick_fop(b, kind);

  set_entry(f, parent, name);
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", gfid);
  set_stamp(f, 1000);
  return f;
}

struct gi_fop *
brick_mkdir(struct brick *b, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid)
{
  struct gi_fop *f = creator(b, GI_FOP_MKDIR, parent, name, gfid);

  f->args.mode = 0755;
  return brick_run(b, f);
}

struct gi_fop *
brick_mknod(struct brick *b, const struct gi_gfid *parent, const char *name, mode_t mode, const struct gi_gfid *gfid)
{
  struct gi_fop *f = creator(b, GI_FOP_MKNOD, parent, name, gfid);

  f->args.mode = mode;
  return brick_run(b, f);
}

struct gi_gfid
brick_dir(struct brick *b, const struct gi_gfid *parent, const char *name)
{
  struct gi_gfid g = brick_gfid(b);

  assert_ok(brick_mkdir(b, parent, name, &g));
  return g;
}

struct gi_gfid
brick_file(struct brick *b, const struct gi_gfid *parent, const char *name)
{
  struct gi_gfid g = brick_gfid(b);

  assert_ok(brick_mknod(b, parent, name, S_IFREG | 0640, &g));
  return g;
}

struct gi_fop *
brick_symlink(struct brick *b, const struct gi_gfid *parent, const char *name, const char *to, const struct gi_gfid *gfid)
{
  struct gi_fop *f = creator(b, GI_FOP_SYMLINK, parent, name, gfid);

  f->args.link = gi_fop_strdup(f, to, strlen(to));
  return brick_run(b, f);
}

struct gi_fop *
brick_create(struct brick *b, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid, struct gi_fd **fd)
{
  return brick_create_at(b, parent, name, gfid, 0, 1000, fd);
}

struct gi_fop *
brick_create_at(struct brick *b, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid, uint32_t flags,
                int64_t sec, struct gi_fd **fd)
{
  struct gi_fop *f = creator(b, GI_FOP_CREATE, parent, name, gfid);

  *fd = gi_fd_new(b->s->graph, NULL, O_RDWR, 100);
  f->fd = gi_fd_ref(*fd);
  set_stamp(f, sec);
  f->args.flags = O_RDWR | O_CREAT | flags;
  f->args.mode = S_IFREG | 0644;
  return brick_run(b, f);
}

static struct gi_fop *
opener(struct brick *b, enum gi_fop_kind kind, const struct gi_gfid *gfid, int flags, struct gi_fd **fd)
{
  struct gi_fop *f = brick_fop(b, kind);
  struct gi_inode *inode = gi_inode_get(b->s->graph, gfid);

  *fd = gi_fd_new(b->s->graph, inode, flags, 100);
  gi_inode_unref(&inode);
  set_fd(f, *fd);
  f->args.flags = (uint32_t)flags;
  return brick_run(b, f);
}

struct gi_fop *
brick_open(struct brick *b, const struct gi_gfid *gfid, int flags, struct gi_fd **fd)
{
  return opener(b, GI_FOP_OPEN, gfid, flags, fd);
}

struct gi_fop *
brick_opendir(struct brick *b, const struct gi_gfid *gfid, struct gi_fd **fd)
{
  return opener(b, GI_FOP_OPENDIR, gfid, 0, fd);
}

struct gi_fop *
brick_unlink(struct brick *b, const struct gi_gfid *parent, const char *name)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_UNLINK);

  set_entry(f, parent, name);
  return brick_run(b, f);
}

struct gi_fop *
brick_rmdir(struct brick *b, const struct gi_gfid *parent, const char *name, int flags)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_RMDIR);

  set_entry(f, parent, name);
  f->args.flags = (uint32_t)flags;
  return brick_run(b, f);
}

struct gi_fop *
brick_rename(struct brick *b, const struct gi_gfid *p1, const char *n1, const struct gi_gfid *p2, const char *n2)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_RENAME);

  set_entry(f, p1, n1);
  set_entry2(f, p2, n2);
  return brick_run(b, f);
}

struct gi_fop *
brick_rename_free(struct brick *b, const struct gi_gfid *p1, const char *n1, const struct gi_gfid *p2, const char *n2)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_RENAME);

  set_entry(f, p1, n1);
  set_entry2(f, p2, n2);
  gi_dict_set_uint(gi_fop_xdata(f), GI_NOREPLACE_KEY, 1);
  return brick_run(b, f);
}

struct gi_fop *
brick_link(struct brick *b, const struct gi_gfid *gfid, const struct gi_gfid *parent, const char *name)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_LINK);

  set_object(f, gfid);
  set_entry2(f, parent, name);
  return brick_run(b, f);
}

struct gi_fop *
brick_write(struct brick *b, struct gi_fd *fd, uint64_t offset, const void *data, size_t len)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_WRITE);

  set_fd(f, fd);
  f->args.offset = offset;
  f->args.size = len;
  gi_payload_add_copy(&f->payload, data, len);
  return brick_run(b, f);
}

struct gi_fop *
brick_read(struct brick *b, struct gi_fd *fd, uint64_t offset, size_t size)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_READ);

  set_fd(f, fd);
  f->args.offset = offset;
  f->args.size = size;
  return brick_run(b, f);
}

static void
one_xattr(struct gi_fop *f, const char *name, const void *v, uint32_t len)
{
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, name, v, len);
}

struct gi_fop *
brick_xattrop(struct brick *b, const struct gi_gfid *gfid, uint32_t flags, const char *name, const void *v, uint32_t len)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_XATTROP);

  set_object(f, gfid);
  f->args.flags = flags;
  one_xattr(f, name, v, len);
  return brick_run(b, f);
}

struct gi_fop *
brick_getxattr(struct brick *b, const struct gi_gfid *gfid, const char *name)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_GETXATTR);

  set_object(f, gfid);
  f->args.name = name ? gi_fop_strdup(f, name, strlen(name)) : NULL;
  return brick_run(b, f);
}

struct gi_fop *
brick_setxattr(struct brick *b, const struct gi_gfid *gfid, const char *name, const void *v, uint32_t len, uint32_t flags)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_SETXATTR);

  set_object(f, gfid);
  f->args.flags = flags;
  one_xattr(f, name, v, len);
  return brick_run(b, f);
}

/* ---- checks ---- */

void
assert_xattr(const char *path, const char *name, const void *want, size_t len)
{
  char have[512];
  ssize_t n = lgetxattr(path, name, have, sizeof(have));

  assert_int_equal(n, (ssize_t)len);
  assert_memory_equal(have, want, len);
}

void
assert_gone(const char *path)
{
  struct stat st;

  assert_int_equal(lstat(path, &st), -1);
  assert_int_equal(errno, ENOENT);
}

bool
same_file(const char *a, const char *b)
{
  struct stat x, y;

  assert_int_equal(lstat(a, &x), 0);
  assert_int_equal(lstat(b, &y), 0);
  return x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

void
assert_no_xattr(const char *path, const char *name)
{
  assert_int_equal(lgetxattr(path, name, NULL, 0), -1);
  assert_int_equal(errno, ENODATA);
}

struct stat
stat_of(const char *path)
{
  struct stat st;

  if (lstat(path, &st) < 0)
    fail_msg("%s: %s", path, strerror(errno));
  return st;
}

struct brick_file
brick_new_file(struct brick *b, const char *name, const char *data)
{
  struct brick_file o = {.g = brick_gfid(b)};

  assert_ok(brick_create(b, ROOT, name, &o.g, &o.fd));
  if (data)
    assert_int_equal(brick_write(b, o.fd, 0, data, strlen(data))->rsp.ret, (int)strlen(data));
  return o;
}

struct gi_fop *
brick_on_fd(struct brick *b, enum gi_fop_kind kind, struct gi_fd *fd, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = brick_fop(b, kind);

  set_fd(f, fd);
  f->args.offset = offset;
  f->args.size = size;
  return f;
}

int
brick_run_engines(const struct CMUnitTest *tests, size_t n)
{
  static const char *const engines[] = {"auto", "inline", "pool", "io_uring"};
  int failed = 0;

  for (size_t i = 0; i < GI_ARRAY_LEN(engines); i++) {
    brick_engine = engines[i];
    print_message("engine %s\n", brick_engine);
    failed += _cmocka_run_group_tests(brick_engine, tests, n, NULL, NULL);
  }
  return failed;
}
