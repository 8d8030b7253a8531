/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of storage/posix: a brick in an empty directory, the translator
 * over it, and one call per kind of request. Requests come back answered; they
 * are freed with the stack.
 */
#ifndef POSIX_FIXTURE_H
#define POSIX_FIXTURE_H

#include "tests/unit/fake.h"

#include <limits.h>

struct brick {
  struct fake_stack *s;
  char dir[PATH_MAX];
  struct gi_fs *fs; /* NULL: a directory of the kernel's */
  bool on_disk;     /* that is not in memory */
  const char *engine;
  char options[1024];
  uint8_t last; /* of the gfids handed out */
};

extern const char *brick_engine; /* "auto", "inline", "pool", "io_uring": for the bricks made from now on */
extern bool brick_on_disk;       /* memory will not do: O_DIRECT, free space */

/* NULL where no directory with trusted attributes can be made (not root, or a file system without them). */
struct brick *brick_new(const char *more_options);
/* The same on directory `dir` of another file system, which must be there. */
struct brick *brick_new_on(struct gi_fs *fs, const char *dir, const char *more_options);
void brick_free(struct brick *b);
void brick_restart(struct brick *b); /* same directory, new graph */
void brick_stop(struct brick *b);
void brick_start(struct brick *b);
/* skip() with the reason when brick_new has none. */
#define BRICK(var, options) \
  struct brick *var = brick_new(options); \
  if (!var) { \
    print_message("no directory with trusted attributes here: skipped\n"); \
    skip(); \
  }

/* For main: the group once per engine; the number of failures. */
#define BRICK_RUN_ENGINES(tests) brick_run_engines(tests, sizeof(tests) / sizeof((tests)[0]))
int brick_run_engines(const struct CMUnitTest *tests, size_t n);

/* What is on disk. */
void assert_xattr(const char *path, const char *name, const void *want, size_t len);
void assert_no_xattr(const char *path, const char *name);
void assert_gone(const char *path);
bool same_file(const char *a, const char *b);
struct stat stat_of(const char *path); /* lstat that must succeed */

void brick_path(const struct brick *b, char out[PATH_MAX], const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void brick_handle(const struct brick *b, char out[PATH_MAX], const struct gi_gfid *gfid);
struct gi_gfid brick_gfid(struct brick *b); /* a fresh one */

#define ROOT (&gi_gfid_root)

/* A request being made: fill more of it, then brick_run. */
struct gi_fop *brick_fop(struct brick *b, enum gi_fop_kind kind);
struct gi_fop *brick_run(struct brick *b, struct gi_fop *f);
void brick_submit(struct brick *b, struct gi_fop *f); /* does not wait */
void brick_wait(struct brick *b, struct gi_fop *f);
void set_object(struct gi_fop *f, const struct gi_gfid *gfid);
void set_entry(struct gi_fop *f, const struct gi_gfid *parent, const char *name);
void set_entry2(struct gi_fop *f, const struct gi_gfid *parent, const char *name);
void set_fd(struct gi_fop *f, struct gi_fd *fd);
void set_stamp(struct gi_fop *f, int64_t sec); /* all own and parent times */

struct gi_fop *brick_lookup(struct brick *b, const struct gi_gfid *parent, const char *name);
struct gi_fop *brick_nameless(struct brick *b, const struct gi_gfid *gfid);
struct gi_fop *brick_mkdir(struct brick *b, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid);
struct gi_fop *brick_mknod(struct brick *b, const struct gi_gfid *parent, const char *name, mode_t mode,
                           const struct gi_gfid *gfid);
struct gi_gfid brick_dir(struct brick *b, const struct gi_gfid *parent, const char *name);  /* made there */
struct gi_gfid brick_file(struct brick *b, const struct gi_gfid *parent, const char *name); /* made there, empty */
struct gi_fop *brick_symlink(struct brick *b, const struct gi_gfid *parent, const char *name, const char *to,
                             const struct gi_gfid *gfid);
/* *fd: a new descriptor, unref it. */
struct gi_fop *brick_create(struct brick *b, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid,
                            struct gi_fd **fd);
/* With more flags, and made at another time than 1000. */
struct gi_fop *brick_create_at(struct brick *b, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid,
                               uint32_t flags, int64_t sec, struct gi_fd **fd);
struct gi_fop *brick_open(struct brick *b, const struct gi_gfid *gfid, int flags, struct gi_fd **fd);
/* A file in the root with that content (NULL: empty), made and opened; `fd` is to be unreffed. */
struct brick_file {
  struct gi_gfid g;
  struct gi_fd *fd;
};
struct brick_file brick_new_file(struct brick *b, const char *name, const char *data);
/* A request on a descriptor, not sent yet. */
struct gi_fop *brick_on_fd(struct brick *b, enum gi_fop_kind kind, struct gi_fd *fd, uint64_t offset, uint64_t size);
struct gi_fop *brick_opendir(struct brick *b, const struct gi_gfid *gfid, struct gi_fd **fd);
struct gi_fop *brick_unlink(struct brick *b, const struct gi_gfid *parent, const char *name);
struct gi_fop *brick_rmdir(struct brick *b, const struct gi_gfid *parent, const char *name, int flags);
struct gi_fop *brick_rename_free(struct brick *b, const struct gi_gfid *p1, const char *n1, const struct gi_gfid *p2,
                                 const char *n2); /* replaces nothing */
struct gi_fop *brick_rename(struct brick *b, const struct gi_gfid *p1, const char *n1, const struct gi_gfid *p2,
                            const char *n2);
struct gi_fop *brick_link(struct brick *b, const struct gi_gfid *gfid, const struct gi_gfid *parent, const char *name);
struct gi_fop *brick_write(struct brick *b, struct gi_fd *fd, uint64_t offset, const void *data, size_t len);
struct gi_fop *brick_read(struct brick *b, struct gi_fd *fd, uint64_t offset, size_t size);
struct gi_fop *brick_xattrop(struct brick *b, const struct gi_gfid *gfid, uint32_t flags, const char *name, const void *v,
                             uint32_t len);
struct gi_fop *brick_getxattr(struct brick *b, const struct gi_gfid *gfid, const char *name);
struct gi_fop *brick_setxattr(struct brick *b, const struct gi_gfid *gfid, const char *name, const void *v, uint32_t len,
                              uint32_t flags);

#define assert_ok(f) \
  do { \
    struct gi_fop *f_ = (f); \
    if (f_->rsp.ret < 0) \
      fail_msg("%s: %s", gi_fop_name(f_->kind), strerror(f_->rsp.err)); \
  } while (0)
#define assert_fails(f, e) \
  do { \
    struct gi_fop *f_ = (f); \
    assert_int_equal(f_->rsp.ret, -1); \
    assert_int_equal(f_->rsp.err, e); \
  } while (0)

#endif
