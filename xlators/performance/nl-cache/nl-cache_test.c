/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/nl-cache: which names are known not to be there, and what ends that.
 */
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

#define FILE_A 5
#define DIRECTORY 8
#define OTHER 9

static struct gi_iatt
iatt(uint8_t of, int64_t time)
{
  struct gi_iatt a = {.flags = GI_IATT_BASIC, .mode = of == FILE_A ? S_IFREG | 0644 : S_IFDIR | 0755, .nlink = 2};

  memset(&a.gfid, of, sizeof(a.gfid));
  a.mtime.sec = a.ctime.sec = time;
  return a;
}

static struct fake_stack *
stack(const char *options)
{
  return fake_stack_new("performance/nl-cache", options, 1);
}

static int
setup(void **state)
{
  *state = stack("option cache-invalidation on\n");
  return 0;
}

static int
setup_positive(void **state)
{
  *state = stack("option cache-invalidation on\noption nl-cache-positive-entry on\n");
  return 0;
}

static int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

static uint64_t
metric(const struct fake_stack *s, const char *name)
{
  for (const struct gi_metric *m = s->x->cls->metrics; m->name; m++)
    if (strcmp(m->name, name) == 0)
      return gi_metric_value(m, s->x->metrics);
  fail_msg("no counter %s", name);
  return 0;
}

static struct gi_fop *
on_name(struct fake_stack *s, enum gi_fop_kind kind, uint8_t dir, const char *name)
{
  struct gi_fop *f = fake_fop(s, kind);

  if (kind == GI_FOP_LINK) {
    gi_loc_set_inode(&f->loc, fake_inode(s, FILE_A));
    gi_fop_set_entry(f, &f->loc2, fake_inode(s, dir), name);
  } else if (kind == GI_FOP_RENAME) {
    gi_fop_set_entry(f, &f->loc, fake_inode(s, OTHER), "old");
    gi_fop_set_entry(f, &f->loc2, fake_inode(s, dir), name);
  } else {
    gi_fop_set_entry(f, &f->loc, fake_inode(s, dir), name);
  }
  if (kind == GI_FOP_CREATE)
    f->fd = gi_fd_ref(fake_fd(s, FILE_A));
  return f;
}

static struct gi_fop *
sent(struct fake_stack *s, struct gi_fop *f)
{
  fake_submit(s, f);
  return f;
}

static void
fill_parent(struct gi_fop *fop, void *arg)
{
  int64_t time = *(const int64_t *)arg;

  fop->rsp.post = iatt(DIRECTORY, time);
}

/* Looks for a name that the brick does not have, in a directory that it changed at `time` (0: it does not say). True if it was asked. */
static bool
asked_at(struct fake_stack *s, uint8_t dir, const char *name, int64_t time)
{
  unsigned before = fake_count(s, 0, GI_FOP_LOOKUP);
  struct gi_fop *f = on_name(s, GI_FOP_LOOKUP, dir, name);
  bool went;

  fake_script(s, 0, GI_FOP_LOOKUP,
              (struct fake_reply){.ret = -1, .err = ENOENT, .fill = time ? fill_parent : NULL, .arg = &time});
  fake_submit(s, f);
  went = fake_count(s, 0, GI_FOP_LOOKUP) > before;
  if (!went)
    fake_script_clear(s);
  assert_int_equal(f->rsp.ret, -1);
  assert_int_equal(f->rsp.err, ENOENT);
  return went;
}

static bool
asked(struct fake_stack *s, const char *name)
{
  return asked_at(s, DIRECTORY, name, 0);
}

static void
know(struct fake_stack *s, const char *name)
{
  assert_true(asked(s, name));
  assert_false(asked(s, name));
}

static void
hold(struct fake_stack *s, enum gi_fop_kind kind)
{
  fake_script(s, 0, kind, (struct fake_reply){.hold = true});
}

/* ---- names that are not there ---- */

static void
test_transparent(void **state)
{
  struct fake_stack *s = stack("option nl-cache-timeout 0\noption nl-cache-positive-entry on\n");

  fake_check_transparent(s, 0);
  fake_stack_free(s);
  s = stack("option pass-through on\n");
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_a_name_that_is_not_there_is_answered(void **state)
{
  struct fake_stack *s = *state;

  know(s, "name");
  assert_int_equal(metric(s, "hits"), 1);
  assert_true(asked(s, "Name"));
  assert_true(asked_at(s, OTHER, "name", 0));
}

static void
test_only_that_it_is_not_there_is_kept(void **state)
{
  static const int errs[] = {EIO, ENOTCONN, EACCES, ESTALE};
  struct fake_stack *s = *state;

  for (size_t i = 0; i < GI_ARRAY_LEN(errs); i++) {
    fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = errs[i]});
    assert_int_equal(sent(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "name"))->rsp.err, errs[i]);
  }
  assert_int_equal(sent(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "name"))->rsp.ret, 0);
  assert_true(asked(s, "name"));
}

static const enum gi_fop_kind makes[] = {GI_FOP_CREATE, GI_FOP_MKNOD,  GI_FOP_MKDIR, GI_FOP_SYMLINK,
                                         GI_FOP_LINK,   GI_FOP_RENAME, GI_FOP_PUT,   GI_FOP_NAMELINK};

static void
test_a_name_that_we_made_is_there(void **state)
{
  struct fake_stack *s = *state;

  for (size_t i = 0; i < GI_ARRAY_LEN(makes); i++) {
    know(s, "name");
    assert_int_equal(sent(s, on_name(s, makes[i], DIRECTORY, "name"))->rsp.ret, 0);
    if (!asked(s, "name"))
      fail_msg("%s leaves a name known not to be there", gi_fop_name(makes[i]));
    fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  }
}

/* It may be there on the bricks as soon as the operation is sent, and what is asked for meanwhile may be answered before. */
static void
test_and_while_it_is_being_made(void **state)
{
  struct fake_stack *s = *state;

  for (size_t i = 0; i < GI_ARRAY_LEN(makes); i++) {
    know(s, "name");
    hold(s, makes[i]);
    fake_submit(s, on_name(s, makes[i], DIRECTORY, "name"));
    assert_true(asked(s, "name"));
    assert_true(asked(s, "name"));
    assert_true(fake_release(s, 0, makes[i], 0, 0));
    if (!asked(s, "name"))
      fail_msg("a name looked up during %s is known not to be there", gi_fop_name(makes[i]));
    fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  }
}

static void
test_what_was_asked_before_it_was_made_is_not_kept(void **state)
{
  struct fake_stack *s = *state;

  for (size_t i = 0; i < GI_ARRAY_LEN(makes); i++) {
    hold(s, GI_FOP_LOOKUP);
    fake_submit(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "name"));
    sent(s, on_name(s, makes[i], DIRECTORY, "name"));
    assert_true(fake_release(s, 0, GI_FOP_LOOKUP, -1, ENOENT));
    if (!asked(s, "name"))
      fail_msg("a name looked up before %s is known not to be there", gi_fop_name(makes[i]));
    fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  }
}

static void
test_other_names_of_the_directory_stay(void **state)
{
  struct fake_stack *s = *state;

  know(s, "other");
  sent(s, on_name(s, GI_FOP_MKNOD, DIRECTORY, "name"));
  assert_false(asked(s, "other"));
  sent(s, on_name(s, GI_FOP_UNLINK, DIRECTORY, "name"));
  assert_false(asked(s, "other"));
}

static void
test_it_is_asked_again_in_time(void **state)
{
  struct fake_stack *s = stack("option nl-cache-timeout 60\n"); /* no brick tells */

  know(s, "name");
  fake_wait(s, GI_NSEC_PER_SEC + 10 * GI_NSEC_PER_MSEC);
  know(s, "name");
  s->graph->promise = 60; /* now they do */
  know(s, "other");
  fake_wait(s, GI_NSEC_PER_SEC + 10 * GI_NSEC_PER_MSEC);
  assert_false(asked(s, "other"));
  fake_stack_free(s);
  s = stack("option nl-cache-timeout 0\n");
  assert_true(asked(s, "name"));
  assert_true(asked(s, "name"));
  fake_stack_free(s);
}

static void
promise(struct fake_stack *s, uint32_t seconds, bool strict)
{
  s->graph->promise = seconds;
  s->graph->strict = strict;
}

/* Whoever sets no timeout is told nothing that another client may have made untrue. */
static void
test_by_default_what_is_kept_is_certain(void **state)
{
  struct fake_stack *s = stack(NULL);

  assert_true(asked(s, "name"));
  assert_true(asked(s, "name"));
  promise(s, 60, false);
  assert_true(asked(s, "name"));
  assert_true(asked(s, "name"));
  promise(s, 3, true);
  know(s, "other");
  fake_wait(s, GI_NSEC_PER_SEC + 10 * GI_NSEC_PER_MSEC); /* a third of it */
  assert_true(asked(s, "other"));
  fake_stack_free(s);
}

/* ---- changes of others ---- */

static void
test_what_bricks_tell_of_is_forgotten(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, DIRECTORY)->gfid};

  know(s, "name");
  assert_true(asked_at(s, OTHER, "name", 0));
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_true(asked(s, "name"));
  assert_false(asked_at(s, OTHER, "name", 0));
  inv =
      (struct gi_invalidation){.gfid = fake_inode(s, FILE_A)->gfid, .parent = iatt(DIRECTORY, 1), .old_parent = iatt(OTHER, 1)};
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_true(asked(s, "name"));
  assert_true(asked_at(s, OTHER, "name", 0));

  hold(s, GI_FOP_LOOKUP);
  fake_submit(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "more"));
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_true(fake_release(s, 0, GI_FOP_LOOKUP, -1, ENOENT));
  assert_true(asked(s, "more")); /* what was on its way is not kept */
}

static void
test_a_name_that_bricks_tell_of_goes_alone(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, DIRECTORY)->gfid, .xdata = gi_dict_new()};

  gi_dict_set_str(inv.xdata, GI_NAME_KEY, "name");
  know(s, "name");
  know(s, "other");
  hold(s, GI_FOP_LOOKUP);
  fake_submit(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "more"));
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_true(fake_release(s, 0, GI_FOP_LOOKUP, -1, ENOENT));
  assert_true(asked(s, "name"));
  assert_true(asked(s, "more"));
  assert_false(asked(s, "other"));
  inv.gfid = fake_inode(s, FILE_A)->gfid; /* moved from there to here */
  inv.parent = iatt(DIRECTORY, 1);
  inv.old_parent = iatt(OTHER, 1);
  gi_dict_set_str(inv.xdata, GI_NAME2_KEY, "other");
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_true(asked(s, "other"));
  assert_false(asked(s, "more"));
  gi_dict_unref(&inv.xdata);
}

static void
fill_stat(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = iatt(DIRECTORY, *(const int64_t *)arg);
}

static void
test_times_of_the_directory_tell(void **state)
{
  struct fake_stack *s = *state;
  int64_t time = 1;
  struct gi_fop *f;

  for (; time < 3; time++) {
    assert_true(asked_at(s, DIRECTORY, "name", time));
    assert_true(asked_at(s, DIRECTORY, "more", time));
    assert_false(asked_at(s, DIRECTORY, "name", time));
    f = fake_fop(s, GI_FOP_STAT);
    gi_loc_set_inode(&f->loc, fake_inode(s, DIRECTORY));
    fake_script(s, 0, GI_FOP_STAT, (struct fake_reply){.fill = fill_stat, .arg = &time});
    fake_submit(s, f);
    assert_false(asked_at(s, DIRECTORY, "name", time));
    assert_true(asked_at(s, DIRECTORY, "x", time + 1));
    assert_true(asked_at(s, DIRECTORY, "name", time + 1));
    fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  }
  assert_int_equal(metric(s, "foreign"), 2);
}

struct step {
  int64_t found, left;
};

static void
fill_change(struct gi_fop *fop, void *arg)
{
  const struct step *step = arg;

  fop->rsp.pre = iatt(DIRECTORY, step->found);
  fop->rsp.post = iatt(DIRECTORY, step->left);
}

static void
make(struct fake_stack *s, const char *name, int64_t found, int64_t left)
{
  struct step step = {found, left};

  fake_script(s, 0, GI_FOP_MKNOD, (struct fake_reply){.fill = fill_change, .arg = &step});
  sent(s, on_name(s, GI_FOP_MKNOD, DIRECTORY, name));
}

static void
test_own_changes_of_the_directory_do_not_count(void **state)
{
  struct fake_stack *s = *state;

  assert_true(asked_at(s, DIRECTORY, "name", 1));
  assert_true(asked_at(s, DIRECTORY, "more", 1));
  make(s, "a", 1, 2);
  assert_true(asked_at(s, DIRECTORY, "x", 2));
  assert_false(asked_at(s, DIRECTORY, "name", 2));
  make(s, "b", 3, 4); /* somebody else came in between */
  assert_true(asked_at(s, DIRECTORY, "name", 4));
}

static void
test_a_name_that_is_listed_is_there(void **state)
{
  struct fake_stack *s = *state;

  know(s, "name");
  sent(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "other"));
  assert_false(asked(s, "name"));
}

static void
test_a_brick_that_goes_takes_all_along(void **state)
{
  static const enum gi_event events[] = {GI_EVENT_CHILD_DOWN, GI_EVENT_CHILD_UP, GI_EVENT_CHILD_CHANGED, GI_EVENT_PROMISE};
  struct fake_stack *s = *state;

  for (size_t i = 0; i < GI_ARRAY_LEN(events); i++) {
    know(s, "name");
    hold(s, GI_FOP_LOOKUP);
    fake_submit(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "more"));
    fake_event(s, 0, events[i], NULL);
    assert_true(fake_release(s, 0, GI_FOP_LOOKUP, -1, ENOENT));
    assert_true(asked(s, "more"));
    fake_event(s, 0, events[i], NULL);
  }
}

static void
test_a_granted_lock_has_all_looked_up(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = fake_fop(s, GI_FOP_LK);

  know(s, "name");
  gi_fop_set_fd(f, fake_fd(s, FILE_A));
  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = GI_LK_UNLOCK;
  fake_submit(s, f);
  assert_false(asked(s, "name"));
  f = fake_fop(s, GI_FOP_LK);
  gi_fop_set_fd(f, fake_fd(s, FILE_A));
  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = GI_LK_WRITE;
  fake_submit(s, f);
  assert_true(asked(s, "name"));
}

/* ---- all names of a directory ---- */

struct listing {
  const char *const *names;
  uint64_t first;
  bool end;
};

static void
fill_entries(struct gi_fop *fop, void *arg)
{
  const struct listing *l = arg;

  for (unsigned i = 0; l->names[i]; i++) {
    struct gi_dirent e = {.name = l->names[i], .name_len = (uint32_t)strlen(l->names[i]), .off = l->first + i};

    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
  fop->rsp.err = l->end ? ENOENT : 0;
}

static void
list(struct fake_stack *s, struct gi_fd *fd, uint64_t offset, struct listing l)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_READDIRP);

  gi_fop_set_fd(f, fd);
  f->args.offset = offset;
  fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries, .arg = &l});
  fake_submit(s, f);
}

static const char *const first_names[] = {".", "..", "a", "Bee", NULL};
static const char *const last_names[] = {"c", NULL};

static void
list_all(struct fake_stack *s)
{
  struct gi_fd *fd = fake_fd(s, DIRECTORY);

  list(s, fd, 0, (struct listing){first_names, 1, false});
  list(s, fd, 4, (struct listing){last_names, 5, true});
}

/* 0: asked; else the answer's errno, or -1 if a name was found, which is then in `found`. */
static int
real_name(struct fake_stack *s, const char *name, const char **found)
{
  GI_CLEANUP_FREE char *key = gi_asprintf("glusterfs.get_real_filename:%s", name);
  unsigned before = fake_count(s, 0, GI_FOP_GETXATTR);
  struct gi_fop *f = fake_fop(s, GI_FOP_GETXATTR);

  gi_loc_set_inode(&f->loc, fake_inode(s, DIRECTORY));
  f->args.name = gi_fop_strdup(f, key, strlen(key));
  fake_submit(s, f);
  if (fake_count(s, 0, GI_FOP_GETXATTR) > before)
    return 0;
  if (f->rsp.ret < 0)
    return f->rsp.err;
  assert_true(gi_dict_get_str(f->rsp.dict, key, found));
  assert_int_equal(f->rsp.ret, strlen(*found) + 1);
  return -1;
}

static void
test_a_listing_tells_all_names(void **state)
{
  struct fake_stack *s = *state;
  const char *found;

  list_all(s);
  assert_false(asked(s, "nobody"));
  assert_true(asked(s, ".hidden")); /* may be there and not be listed */
  assert_int_equal(real_name(s, "bEE", &found), -1);
  assert_string_equal(found, "Bee");
  assert_int_equal(real_name(s, "nobody", &found), ENODATA);
  sent(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "a")); /* where it leads is asked */
  assert_int_equal(fake_count(s, 0, GI_FOP_LOOKUP), 2);
}

static void
test_own_changes_of_a_known_directory_are_known(void **state)
{
  struct fake_stack *s = *state;
  const char *found;

  list_all(s);
  sent(s, on_name(s, GI_FOP_MKNOD, DIRECTORY, "New"));
  assert_int_equal(real_name(s, "new", &found), -1);
  assert_string_equal(found, "New");
  sent(s, on_name(s, GI_FOP_UNLINK, DIRECTORY, "New"));
  assert_int_equal(real_name(s, "new", &found), ENODATA);
  assert_false(asked(s, "New"));
  sent(s, on_name(s, GI_FOP_RENAME, DIRECTORY, "to"));
  assert_true(asked(s, "nobody")); /* one may have been both names of one file */
}

static void
test_while_one_changes_the_bricks_are_asked(void **state)
{
  struct fake_stack *s = *state;
  const char *found;

  list_all(s);
  hold(s, GI_FOP_MKNOD);
  fake_submit(s, on_name(s, GI_FOP_MKNOD, DIRECTORY, "new"));
  assert_true(asked(s, "new"));
  assert_int_equal(real_name(s, "new", &found), 0);
  assert_true(fake_release(s, 0, GI_FOP_MKNOD, -1, EIO));
  assert_true(asked(s, "new"));
  assert_int_equal(real_name(s, "new", &found), 0);
}

static void
test_half_a_listing_tells_nothing(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIRECTORY);
  struct gi_fop *f = fake_fop(s, GI_FOP_READDIRP);

  list(s, fd, 0, (struct listing){first_names, 1, false});
  list(s, fd, 9, (struct listing){last_names, 10, true}); /* something was left out */
  assert_true(asked(s, "nobody"));
  list(s, fd, 4, (struct listing){last_names, 5, true}); /* not from the beginning */
  assert_true(asked(s, "more"));
  list(s, fd, 0, (struct listing){first_names, 1, false});
  sent(s, on_name(s, GI_FOP_MKNOD, DIRECTORY, "new")); /* which may be before or behind where the listing is */
  list(s, fd, 4, (struct listing){last_names, 5, true});
  assert_true(asked(s, "most"));
  list(s, fd, 0, (struct listing){first_names, 1, false});
  hold(s, GI_FOP_READDIRP);
  gi_fop_set_fd(f, fd);
  f->args.offset = 4;
  fake_submit(s, f);
  list(s, fd, 0, (struct listing){last_names, 1, false}); /* is begun anew before that comes to the end */
  assert_true(fake_release(s, 0, GI_FOP_READDIRP, 0, ENOENT));
  assert_true(asked(s, "least"));
}

static void
test_a_listing_may_go_back(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIRECTORY);
  static const char *const again[] = {"Bee", "c", NULL};

  list(s, fd, 0, (struct listing){first_names, 1, false});
  list(s, fd, 3, (struct listing){again, 4, true}); /* the reader had no room for more */
  assert_false(asked(s, "nobody"));
}

static void
fill_made(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = iatt(OTHER, 1);
}

static struct gi_fop *
mkdir_other(struct fake_stack *s, bool held)
{
  struct gi_fop *f = on_name(s, GI_FOP_MKDIR, DIRECTORY, "name");

  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &fake_inode(s, OTHER)->gfid);
  fake_script(s, 0, GI_FOP_MKDIR, (struct fake_reply){.fill = fill_made, .hold = held});
  fake_submit(s, f);
  return f;
}

static void
test_a_directory_that_we_made_is_empty(void **state)
{
  struct fake_stack *s = *state;

  mkdir_other(s, false);
  assert_false(asked_at(s, OTHER, "nobody", 0));
  assert_false(asked_at(s, OTHER, ".nobody", 0));
  sent(s, on_name(s, GI_FOP_MKNOD, OTHER, "nobody"));
  assert_int_equal(sent(s, on_name(s, GI_FOP_LOOKUP, OTHER, "nobody"))->rsp.ret, 0);
  assert_false(asked_at(s, OTHER, "somebody", 0));
}

static void
fill_links(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = iatt(FILE_A, 1);
  fop->rsp.stat.nlink = *(const uint32_t *)arg;
}

static void
rename_in(struct fake_stack *s, uint8_t dir, const char *from, const char *to, uint32_t nlink)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_RENAME);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, dir), from);
  gi_fop_set_entry(f, &f->loc2, fake_inode(s, dir), to);
  fake_script(s, 0, GI_FOP_RENAME, (struct fake_reply){.fill = fill_links, .arg = &nlink});
  fake_submit(s, f);
}

static void
test_what_is_renamed_leaves_its_old_name(void **state)
{
  struct fake_stack *s = *state;

  mkdir_other(s, false);
  sent(s, on_name(s, GI_FOP_MKNOD, OTHER, "old"));
  rename_in(s, OTHER, "old", "new", 1);
  assert_false(asked_at(s, OTHER, "old", 0));
  sent(s, on_name(s, GI_FOP_LOOKUP, OTHER, "new"));
  assert_int_equal(fake_count(s, 0, GI_FOP_LOOKUP), 1);
  assert_false(asked_at(s, OTHER, "nobody", 0));
  rename_in(s, OTHER, "new", "newer", 2); /* perhaps both are names of one file */
  assert_true(asked_at(s, OTHER, "nobody", 0));
}

/* Another client finds it and makes a name there before all bricks have answered us. */
static void
test_what_is_told_of_a_directory_while_we_make_it(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.xdata = gi_dict_new()};

  memset(&inv.gfid, 0x77, sizeof(inv.gfid)); /* it is not known here yet */
  gi_dict_set_str(inv.xdata, GI_NAME_KEY, "theirs");
  mkdir_other(s, true);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_true(fake_release(s, 0, GI_FOP_MKDIR, 0, 0));
  assert_true(asked_at(s, OTHER, "theirs", 0));
  gi_dict_unref(&inv.xdata);
}

static void
test_looking_at_a_directory_that_we_made_keeps_it_known(void **state)
{
  struct fake_stack *s = stack(NULL);

  promise(s, 3, true);
  mkdir_other(s, false);
  for (unsigned i = 0; i < 3; i++) {
    fake_wait(s, 600 * GI_NSEC_PER_MSEC);
    assert_false(asked_at(s, OTHER, "nobody", 0));
    fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_made});
    sent(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "name"));
  }
  fake_wait(s, GI_NSEC_PER_SEC + 10 * GI_NSEC_PER_MSEC);
  assert_true(asked_at(s, OTHER, "nobody", 0));
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_made});
  sent(s, on_name(s, GI_FOP_LOOKUP, DIRECTORY, "name")); /* too late */
  assert_true(asked_at(s, OTHER, "somebody", 0));
  fake_stack_free(s);
}

static void
test_without_the_option_a_listing_tells_nothing(void **state)
{
  struct fake_stack *s = *state;

  list_all(s);
  assert_true(asked(s, "nobody"));
}

/* ---- life ---- */

static void
test_drained_it_has_nothing(void **state)
{
  struct fake_stack *s = *state;

  know(s, "name");
  hold(s, GI_FOP_MKNOD);
  fake_submit(s, on_name(s, GI_FOP_MKNOD, DIRECTORY, "other"));
  gi_xlator_enable(s->x, false);
  assert_false(s->x->enabled);
  gi_xlator_enable(s->x, true);
  assert_true(asked(s, "name"));
  assert_true(asked(s, "name")); /* nothing is kept: a name is being made */
  assert_true(fake_release(s, 0, GI_FOP_MKNOD, 0, 0));
  know(s, "name");
}

static void
test_pass_through_is_live(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err = {0};

  know(s, "name");
  assert_int_equal(fake_stack_children(s, "option pass-through on\n", (unsigned[]){0}, 1, &err), 0);
  assert_true(asked(s, "name"));
  assert_true(asked(s, "name"));
}

static void
test_memory_is_bounded(void **state)
{
  struct fake_stack *s = stack("option nl-cache-limit 4KB\noption cache-invalidation on\n");

  for (unsigned i = 0; i < 1000; i++) {
    GI_CLEANUP_FREE char *name = gi_asprintf("name-%u", i);

    assert_true(asked_at(s, (uint8_t)(20 + i % 10), name, 0));
    assert_true(s->ctx.budget.used <= 4096 + 512);
  }
  know(s, "name");
  gi_budget_set_limit(&s->ctx.budget, 1);
  fake_settle(s);
  gi_budget_set_limit(&s->ctx.budget, 0);
  assert_true(asked(s, "name"));
  fake_stack_free(s);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define POSITIVE(fn) cmocka_unit_test_setup_teardown(fn, setup_positive, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      TEST(test_a_name_that_is_not_there_is_answered),
      TEST(test_only_that_it_is_not_there_is_kept),
      TEST(test_a_name_that_we_made_is_there),
      TEST(test_and_while_it_is_being_made),
      TEST(test_what_was_asked_before_it_was_made_is_not_kept),
      TEST(test_other_names_of_the_directory_stay),
      cmocka_unit_test(test_it_is_asked_again_in_time),
      cmocka_unit_test(test_by_default_what_is_kept_is_certain),
      TEST(test_what_bricks_tell_of_is_forgotten),
      TEST(test_a_name_that_bricks_tell_of_goes_alone),
      POSITIVE(test_a_name_that_bricks_tell_of_goes_alone),
      TEST(test_times_of_the_directory_tell),
      TEST(test_own_changes_of_the_directory_do_not_count),
      TEST(test_a_name_that_is_listed_is_there),
      TEST(test_a_brick_that_goes_takes_all_along),
      TEST(test_a_granted_lock_has_all_looked_up),
      POSITIVE(test_a_listing_tells_all_names),
      POSITIVE(test_own_changes_of_a_known_directory_are_known),
      POSITIVE(test_while_one_changes_the_bricks_are_asked),
      POSITIVE(test_half_a_listing_tells_nothing),
      POSITIVE(test_a_listing_may_go_back),
      TEST(test_a_directory_that_we_made_is_empty),
      TEST(test_what_is_renamed_leaves_its_old_name),
      TEST(test_what_is_told_of_a_directory_while_we_make_it),
      cmocka_unit_test(test_looking_at_a_directory_that_we_made_keeps_it_known),
      TEST(test_without_the_option_a_listing_tells_nothing),
      POSITIVE(test_a_name_that_we_made_is_there),
      POSITIVE(test_and_while_it_is_being_made),
      TEST(test_drained_it_has_nothing),
      TEST(test_pass_through_is_live),
      cmocka_unit_test(test_memory_is_bounded),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
