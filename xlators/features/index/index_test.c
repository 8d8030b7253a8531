/* SPDX-License-Identifier: Apache-2.0
 *
 * features/index against a temporary directory: what is on disk before the
 * xattrop goes down and after its reply, what costs nothing, what a healer sees.
 */
#include "tests/unit/fake.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <unistd.h>

#define PENDING "trusted.afr.vol-client-1"
#define DIRTY "trusted.afr.dirty"
#define GFID5 "05050505-0505-0505-0505-050505050505"

struct test {
  struct fake_stack *s;
  char dir[64];
};

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  return remove(path);
}

static void
start(struct test *t)
{
  char options[512];
  snprintf(options, sizeof(options),
           "option index-base %s/.glusterfs/indices\noption xattrop-dirty-watchlist trusted.afr.dirty\n"
           "option xattrop-pending-watchlist trusted.afr.vol-\n",
           t->dir);
  t->s = fake_stack_new("features/index", options, 1);
}

static void
setup(struct test *t)
{
  char path[128];
  snprintf(t->dir, sizeof(t->dir), "/tmp/index-test-XXXXXX");
  assert_non_null(mkdtemp(t->dir));
  snprintf(path, sizeof(path), "%s/.glusterfs", t->dir);
  assert_int_equal(mkdir(path, 0700), 0);
  start(t);
}

static void
finish(struct test *t)
{
  fake_stack_free(t->s);
  nftw(t->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool
there(struct test *t, const char *what)
{
  char path[512];
  struct stat st;
  snprintf(path, sizeof(path), "%s/.glusterfs/indices/%s", t->dir, what);
  return lstat(path, &st) == 0;
}

/* Turns the reactor until the fop is answered. */
static void
wait_for(struct test *t, struct gi_fop *f)
{
  for (int i = 0; i < 2000 && !f->answered; i++)
    fake_wait(t->s, GI_NSEC_PER_MSEC);
  assert_true(f->answered);
}

/* Turns it until nothing is done behind the reply any more. */
static void
wait_idle(struct test *t, const struct gi_fop *f)
{
  for (int i = 0; i < 2000 && f->refs > 1; i++)
    fake_wait(t->s, GI_NSEC_PER_MSEC);
  assert_int_equal(f->refs, 1);
  fake_settle(t->s);
}

static void
wait_until(struct test *t, const char *what, bool present)
{
  for (int i = 0; i < 2000 && there(t, what) != present; i++)
    fake_wait(t->s, GI_NSEC_PER_MSEC);
  assert_int_equal(there(t, what), present);
  fake_settle(t->s);
}

struct values {
  int pending, dirty; /* -1 = not in the reply */
};

static void
put(struct gi_dict *d, const char *key, uint32_t value)
{
  uint32_t v[3] = { htonl(value), 0, 0 };
  gi_dict_set_bin(d, key, v, sizeof(v));
}

static void
fill_values(struct gi_fop *fop, void *arg)
{
  const struct values *v = arg;
  fop->rsp.dict = gi_dict_new();
  if (v->pending >= 0)
    put(fop->rsp.dict, PENDING, (uint32_t)v->pending);
  if (v->dirty >= 0)
    put(fop->rsp.dict, DIRTY, (uint32_t)v->dirty);
}

static struct gi_fop *
xattrop(struct test *t, int pending, int dirty)
{
  struct gi_fop *f = fake_fop(t->s, GI_FOP_XATTROP);
  gi_loc_set_inode(&f->loc, fake_inode(t->s, 5));
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  put(f->args.dict, PENDING, (uint32_t)pending);
  put(f->args.dict, DIRTY, (uint32_t)dirty);
  return f;
}

static void
run(struct test *t, struct gi_fop *f, struct values *reply)
{
  fake_script(t->s, 0, GI_FOP_XATTROP, (struct fake_reply){ .fill = fill_values, .arg = reply });
  fake_submit(t->s, f);
  wait_for(t, f);
  assert_int_equal(f->rsp.ret, 0);
  wait_idle(t, f);
}

static uint64_t
metric(struct test *t, const char *name)
{
  for (const struct gi_metric *m = t->s->x->cls->metrics; m->name; m++) {
    if (strcmp(m->name, name) == 0)
      return gi_metric_value(m, t->s->x->metrics);
  }
  fail_msg("no metric %s", name);
  return 0;
}

static void
test_transparent(void **state)
{
  struct test t;
  setup(&t);
  fake_check_transparent(t.s, 0);
  fake_stack_free(t.s);
  t.s = fake_stack_new("features/index", NULL, 1); /* without a base it does nothing */
  fake_check_transparent(t.s, 0);
  finish(&t);
}

static void
test_link_before_mark(void **state)
{
  struct test t;
  setup(&t);
  fake_script(t.s, 0, GI_FOP_XATTROP, (struct fake_reply){ .hold = true });
  struct gi_fop *f = xattrop(&t, 0, 1);
  fake_submit(t.s, f);
  wait_until(&t, "dirty/" GFID5, true);
  for (int i = 0; i < 2000 && !fake_held(t.s, 0); i++)
    fake_wait(t.s, GI_NSEC_PER_MSEC);
  assert_int_equal(fake_held(t.s, 0), 1);
  assert_false(there(&t, "xattrop/" GFID5));
  assert_true(fake_release(t.s, 0, GI_FOP_XATTROP, -1, EIO));
  wait_for(&t, f);
  assert_int_equal(f->rsp.err, EIO);
  assert_true(there(&t, "dirty/" GFID5)); /* nobody knows what is on disk */
  finish(&t);
}

static void
test_transitions(void **state)
{
  struct test t;
  setup(&t);
  run(&t, xattrop(&t, 1, 0), &(struct values){ 1, 0 });
  assert_true(there(&t, "xattrop/" GFID5));
  wait_until(&t, "dirty/" GFID5, false);
  uint64_t links = metric(&t, "links"), unlinks = metric(&t, "unlinks");
  assert_int_equal(links, 1);
  /* More of the same: no system call. */
  for (int i = 0; i < 5; i++)
    run(&t, xattrop(&t, 1, 0), &(struct values){ 2 + i, 0 });
  run(&t, xattrop(&t, 0, 0), &(struct values){ 6, 0 });
  assert_int_equal(metric(&t, "links"), links);
  assert_int_equal(metric(&t, "unlinks"), unlinks);
  run(&t, xattrop(&t, -6, 0), &(struct values){ 0, 0 });
  wait_until(&t, "xattrop/" GFID5, false);
  unlinks = metric(&t, "unlinks");
  run(&t, xattrop(&t, 0, 0), &(struct values){ 0, 0 });
  assert_int_equal(metric(&t, "unlinks"), unlinks);
  /* A reply that shows a mark nobody announced. */
  run(&t, xattrop(&t, 0, 0), &(struct values){ 3, -1 });
  assert_true(there(&t, "xattrop/" GFID5));
  finish(&t);
}

static void
test_serialised(void **state)
{
  struct test t;
  setup(&t);
  struct values v = { 0, 0 };
  struct gi_fop *f[4];
  fake_script_always(t.s, 0, GI_FOP_XATTROP, (struct fake_reply){ .hold = true });
  for (int i = 0; i < 4; i++) {
    f[i] = xattrop(&t, 0, 0);
    fake_submit(t.s, f[i]);
  }
  for (int i = 0; i < 4; i++) {
    for (int n = 0; n < 2000 && !fake_held(t.s, 0); n++)
      fake_wait(t.s, GI_NSEC_PER_MSEC);
    assert_int_equal(fake_held(t.s, 0), 1);
    fill_values(f[i], &v);
    assert_true(fake_release(t.s, 0, GI_FOP_XATTROP, 0, 0));
    wait_for(&t, f[i]);
  }
  for (int i = 0; i < 4; i++)
    wait_idle(&t, f[i]);
  finish(&t);
}

static void
test_entry_changes(void **state)
{
  struct test t;
  setup(&t);
  struct gi_fop *f = xattrop(&t, 1, 0);
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs.xattrop-entry-create", "file");
  run(&t, f, &(struct values){ 1, 0 });
  assert_true(there(&t, "entry-changes/" GFID5 "/file"));
  f = xattrop(&t, 0, 0);
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs.xattrop-entry-delete", "file");
  run(&t, f, &(struct values){ 1, 0 });
  assert_false(there(&t, "entry-changes/" GFID5 "/file"));
  f = xattrop(&t, -1, 0);
  gi_dict_set_int(gi_fop_xdata(f), "glusterfs.xattrop-purge-index", 1);
  run(&t, f, &(struct values){ 0, 0 });
  assert_false(there(&t, "entry-changes/" GFID5));
  f = xattrop(&t, 1, 0);
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs.xattrop-entry-create", "../evil");
  fake_submit(t.s, f);
  assert_int_equal(f->rsp.err, EINVAL);
  finish(&t);
}

static int64_t
link_count(struct test *t)
{
  struct gi_fop *f = fake_fop(t->s, GI_FOP_LOOKUP);
  int64_t n = -1;
  gi_fop_set_entry(f, &f->loc, fake_inode(t->s, 8), "x");
  gi_dict_set_str(gi_fop_xdata(f), "link-count", "glusterfs.xattrop_index_count");
  fake_submit(t->s, f);
  assert_true(gi_dict_get_int(f->rsp.xdata, "link-count", &n));
  return n;
}

static void
test_link_count_and_restart(void **state)
{
  struct test t;
  setup(&t);
  assert_int_equal(link_count(&t), 0);
  run(&t, xattrop(&t, 1, 0), &(struct values){ 1, 0 });
  assert_int_equal(link_count(&t), 1);
  fake_stack_free(t.s);
  start(&t);
  assert_int_equal(link_count(&t), 1);
  run(&t, xattrop(&t, -1, 0), &(struct values){ 0, 0 }); /* unknown to this process: found by unlinking */
  wait_until(&t, "xattrop/" GFID5, false);
  assert_int_equal(link_count(&t), 0);
  finish(&t);
}

static struct gi_gfid
virtual_gfid(struct test *t, const char *key)
{
  struct gi_gfid gfid;
  struct gi_fop *f = fake_fop(t->s, GI_FOP_GETXATTR);
  f->loc.gfid = gi_gfid_root;
  f->args.name = key;
  fake_submit(t->s, f);
  assert_true(gi_dict_get_gfid(f->rsp.dict, key, &gfid));
  return gfid;
}

static struct gi_fop *
list(struct test *t, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = gi_inode_get(t->s->graph, gfid);
  struct gi_fd *fd = gi_fd_new(t->s->graph, inode, O_RDONLY, 1);
  struct gi_fop *f = fake_fop(t->s, GI_FOP_OPENDIR);
  gi_fop_set_fd(f, fd);
  fake_submit(t->s, f);
  assert_int_equal(f->rsp.ret, 0);
  f = fake_fop(t->s, GI_FOP_READDIR);
  gi_fop_set_fd(f, fd);
  f->args.size = 4096;
  gi_fd_unref(&fd);
  gi_inode_unref(&inode);
  fake_submit(t->s, f);
  wait_for(t, f);
  return f;
}

static struct gi_fop *
by_name(struct test *t, enum gi_fop_kind kind, const struct gi_gfid *parent, const char *name)
{
  struct gi_fop *f = fake_fop(t->s, kind);
  f->loc.pargfid = *parent;
  f->loc.name = name;
  fake_submit(t->s, f);
  wait_for(t, f);
  return f;
}

static void
test_over_the_wire(void **state)
{
  struct test t;
  setup(&t);
  struct gi_fop *f = xattrop(&t, 1, 0);
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs.xattrop-entry-create", "name");
  run(&t, f, &(struct values){ 1, 0 });
  struct gi_gfid index = virtual_gfid(&t, "glusterfs.xattrop_index_gfid");
  f = fake_fop(t.s, GI_FOP_LOOKUP);
  f->loc.gfid = index;
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.index-ia-type-get-req", 1);
  fake_submit(t.s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_true(S_ISDIR(f->rsp.stat.mode) && gi_gfid_equal(&f->rsp.stat.gfid, &index));
  f = list(&t, &index);
  assert_int_equal(f->rsp.ret, 1);
  assert_int_equal(f->rsp.err, ENOENT);
  assert_string_equal(f->rsp.entries.entry[0].name, GFID5);
  assert_int_equal(by_name(&t, GI_FOP_LOOKUP, &index, GFID5)->rsp.ret, 0);
  assert_int_equal(by_name(&t, GI_FOP_LOOKUP, &index, "nothing")->rsp.err, ENOENT);
  assert_int_equal(by_name(&t, GI_FOP_UNLINK, &index, GFID5)->rsp.ret, 0);
  assert_false(there(&t, "xattrop/" GFID5));
  assert_int_equal(by_name(&t, GI_FOP_UNLINK, &index, GFID5)->rsp.err, ENOENT);
  /* The state in memory followed: the next mark links again. */
  run(&t, xattrop(&t, 1, 0), &(struct values){ 2, 0 });
  assert_true(there(&t, "xattrop/" GFID5));

  struct gi_gfid changes = virtual_gfid(&t, "glusterfs.xattrop_entry_changes_gfid");
  f = by_name(&t, GI_FOP_LOOKUP, &changes, GFID5);
  assert_int_equal(f->rsp.ret, 0);
  struct gi_gfid dir = f->rsp.stat.gfid;
  f = list(&t, &dir);
  assert_int_equal(f->rsp.ret, 1);
  assert_string_equal(f->rsp.entries.entry[0].name, "name");
  assert_int_equal(by_name(&t, GI_FOP_UNLINK, &dir, "name")->rsp.ret, 0);
  assert_int_equal(list(&t, &dir)->rsp.ret, 0);
  assert_int_equal(by_name(&t, GI_FOP_RMDIR, &changes, GFID5)->rsp.ret, 0);
  assert_false(there(&t, "entry-changes/" GFID5));
  assert_int_equal(by_name(&t, GI_FOP_LOOKUP, &changes, GFID5)->rsp.err, ENOENT);
  finish(&t);
}

static void
test_old_base_goes(void **state)
{
  struct test t;
  char path[256];
  setup(&t);
  snprintf(path, sizeof(path), "%s/.glusterfs/indices/xattrop/xattrop-00000000-0000-0000-0000-000000000001", t.dir);
  close(open(path, O_CREAT | O_WRONLY, 0));
  struct gi_gfid index = virtual_gfid(&t, "glusterfs.xattrop_index_gfid");
  assert_int_equal(list(&t, &index)->rsp.ret, 0);
  assert_false(there(&t, "xattrop/xattrop-00000000-0000-0000-0000-000000000001"));
  finish(&t);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_transparent),    cmocka_unit_test(test_link_before_mark),
    cmocka_unit_test(test_transitions),    cmocka_unit_test(test_serialised),
    cmocka_unit_test(test_entry_changes),  cmocka_unit_test(test_link_count_and_restart),
    cmocka_unit_test(test_over_the_wire),  cmocka_unit_test(test_old_base_goes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
