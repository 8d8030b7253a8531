/* SPDX-License-Identifier: Apache-2.0
 *
 * features/index against a temporary directory: what is on disk before the
 * xattrop goes down and after its reply, what costs nothing, what a healer sees.
 */
#include "xlators/features/index/index-fixture.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>

#include "libglusterish/regions.h"

#define PENDING "trusted.afr.vol-client-1"

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

struct values {
  int pending, dirty; /* -1 = not in the reply */
};

static void
put(struct gi_dict *d, const char *key, uint32_t value)
{
  uint32_t v[3] = {htonl(value), 0, 0};
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

static struct gi_gfid virtual_gfid(struct test *t, const char *key);

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
  fake_script(t->s, 0, GI_FOP_XATTROP, (struct fake_reply){.fill = fill_values, .arg = reply});
  fake_submit(t->s, f);
  wait_for(t, f);
  assert_int_equal(f->rsp.ret, 0);
  wait_idle(t, f);
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
  fake_script(t.s, 0, GI_FOP_XATTROP, (struct fake_reply){.hold = true});
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
  run(&t, xattrop(&t, 1, 0), &(struct values){1, 0});
  assert_true(there(&t, "xattrop/" GFID5));
  wait_until(&t, "dirty/" GFID5, false);
  uint64_t links = metric(&t, "links"), unlinks = metric(&t, "unlinks");
  assert_int_equal(links, 1);
  /* More of the same: no system call. */
  for (int i = 0; i < 5; i++)
    run(&t, xattrop(&t, 1, 0), &(struct values){2 + i, 0});
  run(&t, xattrop(&t, 0, 0), &(struct values){6, 0});
  assert_int_equal(metric(&t, "links"), links);
  assert_int_equal(metric(&t, "unlinks"), unlinks);
  run(&t, xattrop(&t, -6, 0), &(struct values){0, 0});
  wait_until(&t, "xattrop/" GFID5, false);
  unlinks = metric(&t, "unlinks");
  run(&t, xattrop(&t, 0, 0), &(struct values){0, 0});
  assert_int_equal(metric(&t, "unlinks"), unlinks);
  /* A reply that shows a mark nobody announced. */
  run(&t, xattrop(&t, 0, 0), &(struct values){3, -1});
  assert_true(there(&t, "xattrop/" GFID5));
  finish(&t);
}

static void
test_serialised(void **state)
{
  struct test t;
  setup(&t);
  struct values v = {0, 0};
  struct gi_fop *f[4];
  fake_script_always(t.s, 0, GI_FOP_XATTROP, (struct fake_reply){.hold = true});
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
  run(&t, f, &(struct values){1, 0});
  assert_true(there(&t, "entry-changes/" GFID5 "/file"));
  f = xattrop(&t, 0, 0);
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs.xattrop-entry-delete", "file");
  run(&t, f, &(struct values){1, 0});
  assert_false(there(&t, "entry-changes/" GFID5 "/file"));
  f = xattrop(&t, -1, 0);
  gi_dict_set_int(gi_fop_xdata(f), "glusterfs.xattrop-purge-index", 1);
  run(&t, f, &(struct values){0, 0});
  assert_false(there(&t, "entry-changes/" GFID5));
  f = xattrop(&t, 1, 0);
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs.xattrop-entry-create", "../evil");
  fake_submit(t.s, f);
  assert_int_equal(f->rsp.err, EINVAL);
  finish(&t);
}

/* How many directories of changed names there are beside base files, and whether one of them has the name. */
static unsigned
changed_directories(struct test *t, const char *name, bool *has)
{
  char path[512];
  unsigned n = 0;
  *has = false;
  snprintf(path, sizeof(path), "%s/.glusterfs/indices/entry-changes", t->dir);
  DIR *d = opendir(path);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    char inner[900];
    struct stat st;
    snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
    if (e->d_name[0] == '.' || stat(inner, &st) != 0 || !S_ISDIR(st.st_mode))
      continue;
    n++;
    snprintf(inner, sizeof(inner), "%s/%s/%s", path, e->d_name, name);
    *has = *has || access(inner, F_OK) == 0;
  }
  closedir(d);
  return n;
}

static void
note_changed_name(struct test *t, int pending)
{
  struct gi_fop *f = xattrop(t, pending, 0);
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs.xattrop-entry-create", "file");
  run(t, f, &(struct values){1, 0});
}

/* Whose directory is clean may lose it while names are in it: they are kept under another name until a healer deletes them. */
static void
test_purge_keeps_names_and_delete_does_not(void **state)
{
  struct test t;
  bool has;
  setup(&t);
  note_changed_name(&t, 1);
  struct gi_fop *f = xattrop(&t, -1, 0);
  gi_dict_set_int(gi_fop_xdata(f), "glusterfs.xattrop-purge-index", 1);
  run(&t, f, &(struct values){0, 0});
  assert_false(there(&t, "entry-changes/" GFID5));
  assert_int_equal(changed_directories(&t, "file", &has), 1);
  assert_true(has);
  finish(&t);

  setup(&t);
  note_changed_name(&t, 1);
  struct gi_gfid changes = virtual_gfid(&t, "glusterfs.xattrop_entry_changes_gfid");
  f = fake_fop(t.s, GI_FOP_RMDIR);
  f->loc.pargfid = changes;
  f->loc.name = GFID5;
  f->args.flags = 1;
  fake_submit(t.s, f);
  wait_for(&t, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(changed_directories(&t, "file", &has), 0);
  finish(&t);
}

static void
test_statedump_names_every_base(void **state)
{
  struct test t;
  char *text = NULL;
  size_t len;
  unsigned n = 0;
  setup(&t);
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  t.s->x->cls->statedump(t.s->x, &d);
  fclose(d.out);
  for (const char *p = text; (p = strstr(p, "base-file=")); p++)
    n++;
  assert_int_equal(n, 3);
  free(text);
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

static int64_t
asked_count(struct test *t, const char *key)
{
  struct gi_fop *f = fake_fop(t->s, GI_FOP_GETXATTR);
  int64_t n = -1;
  gi_loc_set_inode(&f->loc, fake_inode(t->s, 1));
  f->args.name = key;
  fake_submit(t->s, f);
  wait_for(t, f);
  assert_true(gi_dict_get_int(f->rsp.dict, key, &n));
  return n;
}

/* A directory that could not be read when the brick started counts as one link until somebody asks; not more, for a healer that hears of
 * one for ever never finds that all is done; and not less. */
static void
test_count_that_failed(void **state)
{
  struct ix_private *p;
  struct test t;
  setup(&t);
  p = ix_private(t.s->x);
  p->unsure[IX_PENDING] = p->unsure[IX_DIRTY] = true;
  p->count[IX_PENDING] = p->count[IX_DIRTY] = 1;
  run(&t, xattrop(&t, 0, 1), &(struct values){0, 1});
  assert_int_equal(link_count(&t), 1);
  assert_int_equal(asked_count(&t, "glusterfs.xattrop_index_count"), 0);
  assert_int_equal(link_count(&t), 0);
  run(&t, xattrop(&t, 0, -1), &(struct values){0, 0});
  assert_int_equal(p->count[IX_DIRTY], 1); /* who knows what else is there */
  assert_int_equal(asked_count(&t, "glusterfs.xattrop_dirty_count"), 0);
  p->unsure[IX_PENDING] = true;
  p->count[IX_PENDING] = 1;
  p->working++; /* what is being linked now may be seen or not */
  assert_int_equal(asked_count(&t, "glusterfs.xattrop_index_count"), 1);
  p->working--;
  assert_int_equal(asked_count(&t, "glusterfs.xattrop_index_count"), 0);
  finish(&t);
}

static void
test_link_count_and_restart(void **state)
{
  struct test t;
  setup(&t);
  assert_int_equal(link_count(&t), 0);
  run(&t, xattrop(&t, 1, 0), &(struct values){1, 0});
  assert_int_equal(link_count(&t), 1);
  fake_stack_free(t.s);
  start(&t);
  assert_int_equal(link_count(&t), 1);
  run(&t, xattrop(&t, -1, 0), &(struct values){0, 0}); /* unknown to this process: found by unlinking */
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
list_with(struct test *t, const struct gi_gfid *gfid, const char *key)
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
  if (key)
    gi_dict_set_uint(gi_fop_xdata(f), key, 1);
  gi_fd_unref(&fd);
  gi_inode_unref(&inode);
  fake_submit(t->s, f);
  wait_for(t, f);
  return f;
}

static struct gi_fop *
list(struct test *t, const struct gi_gfid *gfid)
{
  return list_with(t, gfid, NULL);
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
  run(&t, f, &(struct values){1, 0});
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
  run(&t, xattrop(&t, 1, 0), &(struct values){2, 0});
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

/* What a gfid is the handle tells, to who asks. */
static void
test_types_of_what_is_listed(void **state)
{
  char path[256];
  struct test t;
  setup(&t);
  run(&t, xattrop(&t, 1, 0), &(struct values){1, 0});
  struct gi_gfid index = virtual_gfid(&t, "glusterfs.xattrop_index_gfid");
  snprintf(path, sizeof(path), "%s/.glusterfs/05", t.dir);
  assert_int_equal(mkdir(path, 0700), 0);
  strcat(path, "/05");
  assert_int_equal(mkdir(path, 0700), 0);
  strcat(path, "/" GFID5);
  assert_int_equal(symlink("../../00/00/00000000-0000-0000-0000-000000000001/d", path), 0);
  assert_int_equal(list(&t, &index)->rsp.entries.entry[0].type, DT_REG);
  assert_int_equal(list_with(&t, &index, "get-gfid-type")->rsp.entries.entry[0].type, DT_DIR);
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

/* ---- regions ---- */

#define LOG "../glusterish-regions/" GFID5

static void
handle_path(struct test *t, char path[512])
{
  snprintf(path, 512, "%s/.glusterfs/05/05/" GFID5, t->dir);
}

/* The counter on disk. */
static void
set_counter(struct test *t, int32_t n)
{
  uint32_t slot[3] = {htonl((uint32_t)n), 0, 0};
  char path[512];
  handle_path(t, path);
  if (setxattr(path, PENDING, slot, sizeof(slot), 0) != 0) {
    print_message("no trusted attributes here: skipped\n");
    skip();
  }
}

static void
setup_file(struct test *t)
{
  char path[512];
  setup(t);
  handle_path(t, path);
  for (char *slash = strstr(path, "/05"); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  close(open(path, O_CREAT | O_WRONLY, 0600));
  assert_int_equal(truncate(path, GI_REGIONS_SMALL + 1), 0);
}

static void
add_regions(struct gi_fop *f, uint64_t start, uint64_t end)
{
  struct gi_region_log log = {0};
  uint32_t len;
  gi_regions_add(&gi_region_log_add(&log, PENDING)->set, start, end, 100);
  log.note[0].count = log.note[0].dirty = 1;
  GI_CLEANUP_FREE void *data = gi_region_log_encode(&log, &len);
  gi_dict_set_bin(gi_fop_xdata(f), GI_REGIONS_KEY, data, len);
  gi_region_log_clear(&log);
}

/* A whole change of the counter from `before`: request, disk, reply. `start` < 0: without regions. */
static void
blame(struct test *t, int32_t before, int32_t delta, int64_t start)
{
  struct gi_fop *f = xattrop(t, delta, 0);
  set_counter(t, before);
  if (start >= 0)
    add_regions(f, (uint64_t)start, (uint64_t)start + 1);
  run(t, f, &(struct values){before + delta, 0});
  set_counter(t, before + delta);
}

/* What a healer is told: ranges, or -1 if there is no log that explains `count`. */
static int
told(struct test *t, int32_t count, int32_t *dirty)
{
  struct gi_fop *f = fake_fop(t->s, GI_FOP_GETXATTR);
  struct gi_region_log log;
  const void *data;
  uint32_t len;
  gi_loc_set_inode(&f->loc, fake_inode(t->s, 5));
  f->args.name = GI_REGIONS_KEY;
  fake_submit(t->s, f);
  wait_for(t, f);
  if (f->rsp.ret < 0) {
    assert_int_equal(f->rsp.err, ENODATA);
    return -1;
  }
  assert_true(gi_dict_get_bin(f->rsp.dict, GI_REGIONS_KEY, &data, &len));
  assert_true(gi_region_log_decode(&log, data, len));
  const struct gi_region_note *note = gi_region_log_find(&log, PENDING);
  int n = note && note->count == count ? (int)note->set.n : -1;
  if (note && dirty)
    *dirty = note->dirty;
  gi_region_log_clear(&log);
  return n;
}

static void
test_regions_follow_the_counter(void **state)
{
  struct test t;
  int32_t dirty = -1;
  setup_file(&t);
  assert_int_equal(told(&t, 0, NULL), -1);
  blame(&t, 0, 1, 0);
  assert_int_equal(told(&t, 1, &dirty), 1);
  blame(&t, 1, 1, 100000);
  assert_int_equal(told(&t, 2, &dirty), 2);
  assert_int_equal(dirty, 2);
  fake_stack_free(t.s); /* the brick restarts */
  start(&t);
  assert_int_equal(told(&t, 2, NULL), 2);
  assert_true(metric(&t, "region_bytes") > 0);
  blame(&t, 2, 1, 200000);
  assert_int_equal(told(&t, 3, NULL), 3);
  blame(&t, 3, -2, -1); /* healed, but for what came in between */
  assert_int_equal(told(&t, 1, &dirty), 3);
  assert_int_equal(dirty, 0);
  blame(&t, 1, -1, -1);
  assert_int_equal(told(&t, 0, NULL), -1);
  assert_false(there(&t, LOG));
  assert_int_equal(metric(&t, "region_bytes"), 0);
  finish(&t);
}

static void
test_regions_are_never_too_small(void **state)
{
  struct test t;
  setup_file(&t);
  blame(&t, 5, 1, 0); /* who knows what the five were */
  assert_int_equal(told(&t, 6, NULL), -1);
  blame(&t, 0, 1, 0);
  blame(&t, 1, 1, -1); /* a client that does not tell */
  assert_int_equal(told(&t, 2, NULL), -1);
  blame(&t, 2, 1, 0);
  assert_int_equal(told(&t, 3, NULL), -1);
  blame(&t, 0, 1, 0);
  set_counter(&t, 0); /* the log was written, then the brick died */
  fake_stack_free(t.s);
  start(&t);
  assert_int_equal(told(&t, 0, NULL), -1);
  blame(&t, 0, 1, -1);
  assert_int_equal(told(&t, 1, NULL), -1);
  set_counter(&t, 0);
  blame(&t, 0, 1, 0);
  set_counter(&t, 0);
  blame(&t, 0, 1, 500000); /* the same again: counted from nothing */
  assert_int_equal(told(&t, 1, NULL), 1);
  blame(&t, 0, 2, 0); /* one note for two increments */
  assert_int_equal(told(&t, 2, NULL), -1);
  finish(&t);
}

static void
test_a_counter_of_another_type_adds_nothing(void **state)
{
  struct test t;
  struct gi_iatt st = {.size = 5};
  const double pi = 3.14;
  setup_file(&t);
  blame(&t, 0, 1, 0);
  struct gi_fop *f = xattrop(&t, 1, 0);
  gi_dict_set_raw(f->args.dict, PENDING "0", sizeof(PENDING), GI_VALUE_DOUBLE, &pi, sizeof(pi));
  gi_dict_set_iatt(f->args.dict, PENDING "1", &st);
  run(&t, f, &(struct values){2, 0});
  set_counter(&t, 2);
  assert_int_equal(told(&t, 2, NULL), -1);
  finish(&t);
}

static void
test_regions_without_a_future_go(void **state)
{
  struct test t;
  char path[512];
  setup_file(&t);
  blame(&t, 0, 1, 0);
  struct gi_gfid index = virtual_gfid(&t, "glusterfs.xattrop_index_gfid");
  assert_true(there(&t, LOG));
  assert_int_equal(by_name(&t, GI_FOP_UNLINK, &index, GFID5)->rsp.ret, 0); /* a healer: there is no such inode */
  assert_false(there(&t, LOG));
  blame(&t, 0, 1, 0);
  snprintf(path, sizeof(path), "%s/.glusterfs/indices/xattrop/" GFID5, t.dir);
  unlink(path);
  fake_stack_free(t.s);
  start(&t);
  assert_false(there(&t, LOG));
  finish(&t);
}

static void
test_small_files_are_not_worth_it(void **state)
{
  struct test t;
  char path[512];
  setup_file(&t);
  handle_path(&t, path);
  assert_int_equal(truncate(path, GI_REGIONS_SMALL), 0);
  blame(&t, 0, 1, 0);
  assert_false(there(&t, LOG));
  blame(&t, 1, -1, -1);
  assert_int_equal(truncate(path, GI_REGIONS_SMALL + 1), 0);
  blame(&t, 0, 1, 0);
  assert_int_equal(truncate(path, 0), 0); /* it goes on once it began */
  blame(&t, 1, 1, 0);
  assert_int_equal(told(&t, 2, NULL), 1);
  finish(&t);
}

static void
test_damaged_regions(void **state)
{
  struct test t;
  char path[512];
  setup_file(&t);
  snprintf(path, sizeof(path), "%s/.glusterfs/glusterish-regions/" GFID5, t.dir);
  blame(&t, 0, 1, 0);
  assert_int_equal(truncate(path, 10), 0);
  assert_int_equal(told(&t, 1, NULL), -1);
  blame(&t, 1, 1, 0);
  assert_int_equal(told(&t, 2, NULL), -1);
  struct gi_fop *f = xattrop(&t, 1, 0);
  gi_dict_set_bin(gi_fop_xdata(f), GI_REGIONS_KEY, "rubbish", 7);
  set_counter(&t, 0);
  run(&t, f, &(struct values){1, 0});
  assert_int_equal(told(&t, 1, NULL), -1);
  assert_false(there(&t, LOG));
  finish(&t);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_link_before_mark),
      cmocka_unit_test(test_transitions),
      cmocka_unit_test(test_serialised),
      cmocka_unit_test(test_entry_changes),
      cmocka_unit_test(test_link_count_and_restart),
      cmocka_unit_test(test_count_that_failed),
      cmocka_unit_test(test_over_the_wire),
      cmocka_unit_test(test_types_of_what_is_listed),
      cmocka_unit_test(test_old_base_goes),
      cmocka_unit_test(test_regions_follow_the_counter),
      cmocka_unit_test(test_regions_are_never_too_small),
      cmocka_unit_test(test_a_counter_of_another_type_adds_nothing),
      cmocka_unit_test(test_regions_without_a_future_go),
      cmocka_unit_test(test_small_files_are_not_worth_it),
      cmocka_unit_test(test_damaged_regions),
      cmocka_unit_test(test_purge_keeps_names_and_delete_does_not),
      cmocka_unit_test(test_statedump_names_every_base),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
