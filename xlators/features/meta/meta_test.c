/* SPDX-License-Identifier: Apache-2.0
 *
 * features/meta: the virtual tree as mount/fuse sees it, who may look, what may
 * not be changed, and that what is not virtual passes by.
 */
#include "tests/unit/fake.h"

#include "libglusterish/log.h"
#include "libglusterish/observe.h"
#include "libglusterish/seen.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define TYPE "features/meta"

static struct fake_stack *
stack_new(void)
{
  return fake_stack_new(TYPE, NULL, 1);
}

/* An inode that the test holds until the stack goes. */
static struct gi_inode *
inode_of(struct fake_stack *s, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = gi_inode_get(s->graph, gfid);
  struct gi_fop *keeper = fake_fop(s, GI_FOP_NULL);

  gi_loc_set_inode(&keeper->loc, inode);
  gi_inode_unref(&inode);
  return keeper->loc.inode;
}

static struct gi_inode *
root(struct fake_stack *s)
{
  return inode_of(s, &gi_gfid_root);
}

static struct gi_fop *
named(struct fake_stack *s, enum gi_fop_kind kind, struct gi_inode *dir, const char *name)
{
  struct gi_fop *f = fake_fop(s, kind);

  gi_fop_set_entry(f, &f->loc, dir, name);
  return f;
}

static struct gi_fop *
look(struct fake_stack *s, struct gi_inode *dir, const char *name)
{
  struct gi_fop *f = named(s, GI_FOP_LOOKUP, dir, name);

  fake_submit(s, f);
  return f;
}

/* Where a link leads that stays in its directory. */
static const char *
target(struct fake_stack *s, const struct gi_gfid *gfid)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_READLINK);

  gi_loc_set_inode(&f->loc, inode_of(s, gfid));
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, strlen(f->rsp.link));
  return f->rsp.link;
}

/* The object of a path below the root; every part must be there. */
static struct gi_inode *
walk(struct fake_stack *s, const char *path)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(path);
  struct gi_inode *inode = root(s);
  char *save = NULL;

  for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
    struct gi_fop *f = look(s, inode, part);

    if (f->rsp.ret < 0)
      fail_msg("%s of %s: %s", part, path, strerror(f->rsp.err));
    if (S_ISLNK(f->rsp.stat.mode))
      f = look(s, inode, target(s, &f->rsp.stat.gfid));
    inode = inode_of(s, &f->rsp.stat.gfid);
  }
  return inode;
}

static struct gi_fop *
open_as(struct fake_stack *s, struct gi_inode *inode, int flags, uint32_t uid)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_OPEN);
  struct gi_fd *fd = gi_fd_new(s->graph, inode, flags, 100);

  gi_fop_set_fd(f, fd);
  gi_fd_unref(&fd);
  f->args.flags = (uint32_t)flags;
  f->caller.uid = uid;
  fake_submit(s, f);
  return f;
}

static struct gi_fop *
read_at(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, uint64_t size)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_READ);

  gi_fop_set_fd(f, fd);
  f->args.offset = offset;
  f->args.size = size;
  fake_submit(s, f);
  return f;
}

/* All of a file, read in small pieces; the caller frees it. */
static char *
content(struct fake_stack *s, const char *path)
{
  struct gi_fop *opened = open_as(s, walk(s, path), O_RDONLY, 0);
  char *text = gi_zalloc(1u << 20);
  size_t len = 0;

  assert_int_equal(opened->rsp.ret, 0);
  assert_true(opened->fd->stream);
  for (;;) {
    struct gi_fop *f = read_at(s, opened->fd, len, 100);

    assert_true(f->rsp.ret >= 0);
    if (f->rsp.ret == 0)
      return text;
    assert_int_equal(f->rsp.ret, f->rsp.payload.len);
    len += gi_payload_read(&f->rsp.payload, 0, text + len, (size_t)f->rsp.ret);
  }
}

static int
write_text(struct fake_stack *s, const char *path, const char *text)
{
  struct gi_fop *opened = open_as(s, walk(s, path), O_WRONLY, 0);
  struct gi_fop *f = fake_fop(s, GI_FOP_WRITE);

  if (opened->rsp.ret < 0)
    return -opened->rsp.err;
  gi_fop_set_fd(f, opened->fd);
  gi_payload_add_copy(&f->payload, text, strlen(text));
  fake_submit(s, f);
  return f->rsp.ret < 0 ? -f->rsp.err : f->rsp.ret;
}

/* ---- what is not virtual ---- */

static void
test_transparent(void **state)
{
  struct fake_stack *s = stack_new();

  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_other_names_pass(void **state)
{
  struct fake_stack *s = stack_new();

  look(s, root(s), ".metadata");
  look(s, fake_inode(s, 5), ".meta"); /* not in the root */
  look(s, fake_inode(s, 5), ".glusterish");
  assert_int_equal(fake_count(s, 0, GI_FOP_LOOKUP), 3);
  fake_stack_free(s);
}

/* ---- looking ---- */

static void
test_lookup(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_fop *f = look(s, root(s), ".meta");

  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(f->rsp.stat.mode & ~07777u, S_IFDIR);
  assert_int_equal(f->rsp.stat.uid, 0);
  assert_int_equal(f->rsp.stat.ino, gi_gfid_ino(&f->rsp.stat.gfid));
  assert_int_equal(look(s, walk(s, ".meta"), "no-such-file")->rsp.err, ENOENT);
  assert_int_equal(look(s, walk(s, ".glusterish/options"), "x")->rsp.err, ENOENT); /* the kernel does not ask this */
  assert_int_equal(fake_count(s, 0, GI_FOP_MAX), 0);
  fake_stack_free(s);
}

static void
test_gfids_differ_from_real_ones(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_gfid real = gi_gfid_new(s->ctx.reactor);
  const struct gi_gfid *virtual = &walk(s, ".meta/version")->gfid;

  assert_int_equal(real.b[6] >> 4, 4); /* the version and the variant of a random UUID */
  assert_int_equal(real.b[8] >> 6, 2);
  assert_int_not_equal(virtual->b[6] >> 4, 4);
  assert_int_not_equal(virtual->b[8] >> 6, 2);
  fake_stack_free(s);
}

static void
test_made_up_gfids(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_gfid gfid = walk(s, ".meta/version")->gfid;

  for (unsigned i = 0; i < 2048; i++) {
    struct gi_gfid bad = gfid;
    struct gi_fop *f = fake_fop(s, GI_FOP_STAT);

    bad.b[i % 6] = bad.b[10 + i % 6] = (uint8_t)(i / 8);
    gi_loc_set_inode(&f->loc, inode_of(s, &bad));
    fake_submit(s, f);
    assert_true(f->rsp.ret == 0 || f->rsp.err == ESTALE);
    fake_fop_free(f);
  }
  assert_int_equal(fake_count(s, 0, GI_FOP_STAT), 0);
  fake_stack_free(s);
}

static void
test_layers(void **state)
{
  struct fake_stack *s = stack_new();
  GI_CLEANUP_FREE char *type = content(s, ".meta/graphs/active/under-test/type");
  GI_CLEANUP_FREE char *name = content(s, ".meta/graphs/active/child-0/name");

  assert_string_equal(type, TYPE "\n");
  assert_string_equal(name, "child-0\n");
  fake_stack_free(s);
}

/* ---- listing ---- */

static struct gi_fop *
list(struct fake_stack *s, struct gi_inode *dir, uint64_t from, uint64_t size)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_READDIRP);
  struct gi_fd *fd = gi_fd_new(s->graph, dir, O_RDONLY, 100);

  gi_fop_set_fd(f, fd);
  gi_fd_unref(&fd);
  f->args.offset = from;
  f->args.size = size;
  fake_submit(s, f);
  return f;
}

static bool
is_dot(const char *name)
{
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Every entry is what a lookup of its name finds; the whole tree, a few entries at a time. */
static unsigned
check_tree(struct fake_stack *s, struct gi_inode *dir)
{
  unsigned n = 0;

  for (uint64_t from = 0;;) {
    struct gi_fop *f = list(s, dir, from, 300);

    assert_true(f->rsp.ret >= 0);
    assert_int_equal(f->rsp.ret, f->rsp.entries.count);
    if (f->rsp.ret == 0)
      return n;
    for (uint32_t i = 0; i < f->rsp.entries.count; i++) {
      const struct gi_dirent *d = &f->rsp.entries.entry[i];

      assert_true(d->off > from);
      from = d->off;
      if (is_dot(d->name))
        continue;

      struct gi_fop *found = look(s, dir, d->name);

      n++;
      assert_int_equal(found->rsp.ret, 0);
      assert_memory_equal(&found->rsp.stat, &d->stat, sizeof(d->stat));
      assert_int_equal(d->ino, d->stat.ino);
      assert_int_equal(d->type, IFTODT(d->stat.mode));
      if (S_ISDIR(d->stat.mode))
        n += check_tree(s, inode_of(s, &d->stat.gfid));
    }
  }
}

static void
test_tree(void **state)
{
  struct fake_stack *s = stack_new();

  assert_true(check_tree(s, walk(s, ".meta")) > 30);
  assert_true(check_tree(s, walk(s, ".glusterish")) >= 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_MAX), 0);
  fake_stack_free(s);
}

/* Another volfile: with a layer "extra" below the one under test, or without. */
static void
set_extra(struct fake_stack *s, bool there)
{
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *text = gi_asprintf("volume child-0\n type test/fake\nend-volume\n"
                                           "%s"
                                           "volume under-test\n type " TYPE "\n subvolumes %s\nend-volume\n"
                                           "volume top\n type test/top\n subvolumes under-test\nend-volume\n",
                                           there ? "volume extra\n type debug/trace\n subvolumes child-0\nend-volume\n" : "",
                                           there ? "extra" : "child-0");
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);

  assert_non_null(vf);
  assert_int_equal(gi_graph_reconfigure(s->graph, &vf, &err), 0);
  fake_settle(s);
}

static void
test_layers_come_and_go(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_inode *graph = walk(s, ".meta/graphs/active");

  assert_int_equal(look(s, graph, "extra")->rsp.err, ENOENT);
  set_extra(s, true);

  struct gi_inode *layer = walk(s, ".meta/graphs/active/extra"), *type = walk(s, ".meta/graphs/active/extra/type");
  struct gi_fop *opened = open_as(s, type, O_RDONLY, 0);

  assert_int_equal(opened->rsp.ret, 0);
  set_extra(s, false);
  assert_int_equal(look(s, graph, "extra")->rsp.err, ENOENT);
  assert_int_equal(look(s, layer, "name")->rsp.err, ESTALE);
  assert_int_equal(list(s, layer, 0, 4096)->rsp.err, ESTALE);
  assert_int_equal(open_as(s, type, O_RDONLY, 0)->rsp.err, ESTALE);
  assert_int_equal(read_at(s, opened->fd, 0, 100)->rsp.ret, sizeof("debug/trace\n") - 1); /* what was said before stays said */
  set_extra(s, true);
  assert_int_equal(open_as(s, type, O_RDONLY, 0)->rsp.ret, 0); /* it is the same one again */
  check_tree(s, graph);
  fake_stack_free(s);
}

static void
fill_root(struct gi_fop *fop, void *arg)
{
  static const char *const names[] = {"a", ".meta", ".glusterish", "b"};
  struct gi_dirents *e = &fop->rsp.entries;

  e->entry = gi_zalloc(4 * sizeof(*e->entry));
  for (e->count = 0; e->count < 4; e->count++) {
    e->entry[e->count] = (struct gi_dirent){.name = names[e->count], .name_len = (uint32_t)strlen(names[e->count]), .off = 1};
    e->entry[e->count].stat = (struct gi_iatt){.mode = S_IFDIR | 0755};
  }
  fop->rsp.ret = 4;
}

/* They are entries of the volume, but what a lookup finds is virtual. */
static void
test_real_names_in_the_root(void **state)
{
  struct fake_stack *s = stack_new();

  fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_root});

  struct gi_fop *f = list(s, root(s), 0, 4096);

  assert_int_equal(f->rsp.entries.count, 4);
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(gi_iatt_valid(&f->rsp.entries.entry[i].stat), i == 0 || i == 3);
  fake_stack_free(s);
}

/* ---- who may ---- */

static int
error_for_others(struct fake_stack *s, enum gi_fop_kind kind, struct gi_inode *inode)
{
  struct gi_fop *f = fake_fop(s, kind);

  gi_loc_set_inode(&f->loc, inode);
  f->caller.uid = 1000;
  f->args.mode = 4;
  fake_submit(s, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

static void
test_only_root(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_inode *dir = walk(s, ".glusterish"), *file = walk(s, ".glusterish/options");
  struct gi_fop *f = named(s, GI_FOP_LOOKUP, dir, "options");

  f->caller.uid = 1000;
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, EACCES);
  assert_int_equal(open_as(s, file, O_RDONLY, 1000)->rsp.err, EACCES);
  assert_int_equal(error_for_others(s, GI_FOP_ACCESS, file), EACCES);
  assert_int_equal(error_for_others(s, GI_FOP_GETXATTR, file), EACCES);
  assert_int_equal(error_for_others(s, GI_FOP_STAT, dir), 0);

  f = fake_fop(s, GI_FOP_OPENDIR);
  gi_fop_set_fd(f, open_as(s, dir, O_RDONLY, 0)->fd);
  f->caller.uid = 1000;
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, EACCES);
  fake_stack_free(s);
}

/* ---- nothing changes ---- */

static void
test_nothing_is_made_or_removed(void **state)
{
  static const enum gi_fop_kind make[] = {GI_FOP_CREATE, GI_FOP_MKNOD, GI_FOP_MKDIR, GI_FOP_SYMLINK};
  static const enum gi_fop_kind take[] = {GI_FOP_UNLINK, GI_FOP_RMDIR, GI_FOP_RENAME};
  struct fake_stack *s = stack_new();
  struct gi_inode *meta = walk(s, ".meta");
  struct gi_fop *f;

  for (unsigned i = 0; i < GI_ARRAY_LEN(make); i++) {
    fake_submit(s, f = named(s, make[i], meta, "new"));
    assert_int_equal(f->rsp.err, EPERM);
    fake_submit(s, f = named(s, make[i], root(s), ".glusterish"));
    assert_int_equal(f->rsp.err, EEXIST);
  }
  for (unsigned i = 0; i < GI_ARRAY_LEN(take); i++) {
    fake_submit(s, f = named(s, take[i], meta, "version"));
    assert_int_equal(f->rsp.err, EPERM);
    fake_submit(s, f = named(s, take[i], root(s), ".meta"));
    assert_int_equal(f->rsp.err, EPERM);
  }
  f = named(s, GI_FOP_RENAME, root(s), "file");
  gi_fop_set_entry(f, &f->loc2, meta, "file");
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, EPERM);
  f = fake_fop(s, GI_FOP_LINK);
  gi_loc_set_inode(&f->loc, walk(s, ".meta/version"));
  gi_fop_set_entry(f, &f->loc2, root(s), "version");
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, EPERM);
  assert_int_equal(fake_count(s, 0, GI_FOP_MAX), 0);
  fake_stack_free(s);
}

static void
test_nothing_is_changed(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_SETATTR,   GI_FOP_TRUNCATE, GI_FOP_SETXATTR, GI_FOP_REMOVEXATTR,
                                           GI_FOP_FALLOCATE, GI_FOP_ZEROFILL, GI_FOP_DISCARD};
  struct fake_stack *s = stack_new();
  struct gi_inode *file = walk(s, ".meta/version");

  for (unsigned i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct gi_fop *f = fake_fop(s, kinds[i]);

    gi_loc_set_inode(&f->loc, file);
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, EPERM);
  }
  assert_int_equal(write_text(s, ".meta/version", "11"), -EACCES);
  assert_int_equal(fake_count(s, 0, GI_FOP_MAX), 0);
  fake_stack_free(s);
}

static void
test_attributes(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_fop *f = fake_fop(s, GI_FOP_GETXATTR);

  gi_loc_set_inode(&f->loc, walk(s, ".meta"));
  fake_submit(s, f); /* a list */
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(gi_dict_count(f->rsp.dict), 0);
  f = fake_fop(s, GI_FOP_GETXATTR);
  gi_loc_set_inode(&f->loc, walk(s, ".meta"));
  f->args.name = "system.posix_acl_access";
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENODATA);
  f = fake_fop(s, GI_FOP_STATFS);
  gi_loc_set_inode(&f->loc, walk(s, ".meta"));
  fake_submit(s, f);
  assert_int_equal(fake_count(s, 0, GI_FOP_STATFS), 1);
  assert_true(gi_gfid_is_root(&f->loc.inode->gfid)); /* the bricks do not know the other one */
  fake_stack_free(s);
}

/* ---- files ---- */

static void
test_content_is_of_the_open(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_fop *opened;
  char buf[16] = "";

  gi_log_set_level(GI_LOG_ERROR);
  opened = open_as(s, walk(s, ".meta/logging/loglevel"), O_RDONLY, 0);
  gi_log_set_level(GI_LOG_WARNING);

  struct gi_fop *f = read_at(s, opened->fd, 0, 16);

  gi_payload_read(&f->rsp.payload, 0, buf, sizeof(buf));
  assert_string_equal(buf, "4\n");
  assert_int_equal(read_at(s, opened->fd, 2, 16)->rsp.ret, 0);
  assert_int_equal(read_at(s, opened->fd, 1ull << 40, 16)->rsp.ret, 0);
  fake_stack_free(s);
}

static void
test_log_level_is_written(void **state)
{
  struct fake_stack *s = stack_new();

  assert_int_equal(write_text(s, ".meta/logging/loglevel", "8\n"), 2);
  assert_true(gi_log_enabled(GI_LOG_DEBUG));
  assert_int_equal(write_text(s, ".meta/logging/loglevel", "WARNING"), 7);
  assert_false(gi_log_enabled(GI_LOG_NOTICE));
  assert_int_equal(write_text(s, ".meta/logging/loglevel", "10"), -EINVAL);
  assert_int_equal(write_text(s, ".meta/logging/loglevel", ""), -EINVAL);
  assert_int_equal(write_text(s, ".meta/logging/loglevel", "-1"), -EINVAL);
  assert_false(gi_log_enabled(GI_LOG_NOTICE));
  fake_stack_free(s);
}

/* ---- pages of the observation socket ---- */

static struct gi_observe_request *late;

static void
show_metrics(struct gi_observe_request *rq, void *arg)
{
  fprintf(gi_observe_out(rq), "as %s\n", gi_observe_header(rq, "Accept"));
  gi_observe_done(rq, 200);
}

static void
show_late(struct gi_observe_request *rq, void *arg)
{
  late = rq;
}

static void
test_pages(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_inode *dir = walk(s, ".glusterish");

  assert_int_equal(look(s, dir, "metrics")->rsp.err, ENOENT);
  s->ctx.observe = gi_observe_new(s->ctx.reactor);
  assert_int_equal(look(s, dir, "metrics")->rsp.err, ENOENT);
  gi_observe_add(s->ctx.observe, "/metrics", "text/plain", show_metrics, NULL);
  gi_observe_add(s->ctx.observe, "/slow", "text/plain", show_late, NULL);
  check_tree(s, dir);

  GI_CLEANUP_FREE char *now = content(s, ".glusterish/metrics");
  struct gi_fop *opened = open_as(s, walk(s, ".glusterish/slow"), O_RDONLY, 0);

  assert_string_equal(now, "as application/openmetrics-text\n");
  assert_false(opened->answered);
  fputs("slow", gi_observe_out(late));
  gi_observe_done(late, 200);
  assert_int_equal(opened->rsp.ret, 0);
  assert_int_equal(read_at(s, opened->fd, 0, 100)->rsp.ret, 4);
  opened = open_as(s, walk(s, ".glusterish/slow"), O_RDONLY, 0);
  gi_observe_refuse(late, 503, "not now");
  assert_int_equal(opened->rsp.err, EIO);
  gi_observe_remove(s->ctx.observe, "/slow");
  assert_int_equal(open_as(s, opened->fd->inode, O_RDONLY, 0)->rsp.err, ESTALE); /* it was there when it was found */
  gi_observe_free(&s->ctx.observe);
  fake_stack_free(s);
}

static void
test_errors(void **state)
{
  struct fake_stack *s = stack_new();

  gi_log(GI_LOG_ERROR, "here", GI_MSG_CORE + 99, "something is wrong");

  GI_CLEANUP_FREE char *text = content(s, ".glusterish/errors");

  assert_non_null(strstr(text, "something is wrong"));
  fake_stack_free(s);
}

/* ---- what is under way, and how long it takes ---- */

static void
test_frames(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_fop *f = fake_fop(s, GI_FOP_STAT);

  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  fake_script(s, 0, GI_FOP_STAT, (struct fake_reply){.hold = true});
  fake_submit(s, f);

  GI_CLEANUP_FREE char *text = content(s, ".meta/frames");

  assert_non_null(strstr(text, "\"Type\": \"STAT\""));
  assert_non_null(strstr(text, "\"Xlator\": \"child-0\""));
  assert_non_null(strstr(text, "\"Call_Count\": 2")); /* that, and the OPEN of the file */
  fake_release(s, 0, GI_FOP_STAT, 0, 0);
  fake_stack_free(s);
}

static void
test_profile(void **state)
{
  struct fake_stack *s = stack_new();
  struct gi_fop *f = fake_fop(s, GI_FOP_STAT);

  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  fake_submit(s, f);

  GI_CLEANUP_FREE char *text = content(s, ".meta/graphs/active/child-0/profile");

  assert_non_null(strstr(text, "[child-0.latency]\nchild-0.latency.STAT = AVG:"));
  assert_non_null(strstr(text, " CNT:1 "));
  fake_stack_free(s);
}

static void
test_measuring_is_switched_off(void **state)
{
  struct fake_stack *s = stack_new();

  assert_int_equal(write_text(s, ".meta/measure_latency", "0\n"), 2);
  assert_true(s->ctx.seen->off);
  assert_int_equal(write_text(s, ".meta/measure_latency", "maybe"), -EINVAL);
  assert_int_equal(write_text(s, ".meta/measure_latency", "1"), 1);

  GI_CLEANUP_FREE char *text = content(s, ".meta/measure_latency");

  assert_string_equal(text, "1\n");
  assert_false(s->ctx.seen->off);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_other_names_pass),
      cmocka_unit_test(test_lookup),
      cmocka_unit_test(test_gfids_differ_from_real_ones),
      cmocka_unit_test(test_made_up_gfids),
      cmocka_unit_test(test_layers),
      cmocka_unit_test(test_tree),
      cmocka_unit_test(test_layers_come_and_go),
      cmocka_unit_test(test_real_names_in_the_root),
      cmocka_unit_test(test_only_root),
      cmocka_unit_test(test_nothing_is_made_or_removed),
      cmocka_unit_test(test_nothing_is_changed),
      cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_content_is_of_the_open),
      cmocka_unit_test(test_log_level_is_written),
      cmocka_unit_test(test_pages),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_frames),
      cmocka_unit_test(test_profile),
      cmocka_unit_test(test_measuring_is_switched_off),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
