/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that are not there: whose word is enough.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

static void
absent(struct fake_stack *s, enum gi_fop_kind kind)
{
  for (unsigned i = 0; i < s->nchildren; i++)
    fake_script_always(s, i, kind, (struct fake_reply){.ret = -1, .err = ENOENT});
}

/* A volume that was never rebalanced has no commit hash: a name that is missing is searched everywhere, but each subvolume is asked once. Of
 * a directory that has another layout than it was made with, that where the name belongs is asked again at last. */
static void
test_missing_name_is_searched(void **state)
{
  for (uint32_t commit = 0; commit < 2; commit++) {
    struct fake_stack *s = stack_with_dir(4, commit);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 4));

    absent(s, GI_FOP_LOOKUP);
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, ENOENT);
    for (unsigned i = 0; i < 4; i++)
      assert_int_equal(fake_count(s, i, GI_FOP_LOOKUP), i == 1 ? 1 + commit : 1);
    fake_stack_free(s);
  }
}

/* ---- the commit hash ---- */

static void
say_root(struct gi_fop *fop, void *arg)
{
  say_dir(fop, arg);
  fop->rsp.stat.gfid = gi_gfid_root;
}

static const char *told_in = KEY ".committed";

static void
say_commit(struct gi_fop *fop, void *arg)
{
  say_root(fop, arg);
  gi_dict_set_str(gi_fop_rsp_xdata(fop), told_in, "4711");
}

/* The volume has the commit hash 4711, and so has the directory. */
static struct fake_stack *
stack_committed(void)
{
  struct fake_stack *s = stack_with_dir(4, 4711);
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);

  for (unsigned i = 0; i < 4; i++)
    fake_script(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_commit, .arg = &parts[i]});
  f->loc.gfid = gi_gfid_root;
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_null(gi_dict_get(f->rsp.xdata, told_in));
  fake_forget_seen(s);
  return s;
}

/* The directory is there, and nothing in it. */
static void
say_nothing_in_it(struct gi_fop *fop, void *arg)
{
  if (fop->loc.name)
    gi_fop_fail(fop, ENOENT);
  else
    say_dir(fop, arg);
}

static void
nothing_in_it(struct fake_stack *s)
{
  fake_script_clear(s);
  for (unsigned i = 0; i < 4; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_nothing_in_it, .arg = &parts[i]});
}

/* A directory has the layout that it was made with, so all files elsewhere have linkto files: what is not where it belongs is not on a subvolume
 * that is down either. A rebalance may have given the directory another one since. */
static void
test_subvolume_that_is_down_has_nothing(void **state)
{
  for (unsigned moved = 0; moved < 2; moved++) {
    struct fake_stack *s = stack_with_dir(4, 0);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 4));

    for (unsigned i = 0; i < 4; i++) {
      parts[i] = (struct part){.n = (i + (moved ? 3 : 0)) % 4, .of = 4, .commit = moved ? 4711 : 0};
      fake_script_always(s, i, GI_FOP_LOOKUP,
                         i == 2 ? (struct fake_reply){.ret = -1, .err = ENOTCONN}
                                : (struct fake_reply){.fill = say_nothing_in_it, .arg = &parts[i]});
    }
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, moved ? ENOTCONN : ENOENT);
    fake_stack_free(s);
  }
}

/* It is asked for the name, and then whether its part of the layout is what it was. */
static void
test_committed_layout_is_conclusive(void **state)
{
  struct fake_stack *s = stack_committed();
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 4));

  nothing_in_it(s);
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOENT);
  assert_int_equal(s->nseen, 2);
  assert_int_equal(fake_count(s, 1, GI_FOP_LOOKUP), 2);
  fake_stack_free(s);
}

/* GlusterFS writes its hash when it begins, and to a directory before it moves the files in it. */
static void
say_both(struct gi_fop *fop, void *arg)
{
  say_commit(fop, arg);
  gi_dict_set_str(gi_fop_rsp_xdata(fop), KEY ".committed", "4711");
}

static void
say_file_elsewhere(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name)
    say_dir(fop, arg);
  else if (arg == &parts[3])
    say_file(fop, NULL);
  else
    gi_fop_fail(fop, ENOENT);
}

static void
see_stamp(struct gi_fop *fop, void *arg)
{
  const void *bytes;
  uint32_t len;
  struct di_range r;

  assert_true(gi_dict_get_bin(fop->xdata, KEY, &bytes, &len) && di_range_decode(&r, bytes, len));
  assert_int_equal(r.commit, 4711);
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFDIR | 0755);
}

static void
test_hash_of_glusterfs_says_nothing(void **state)
{
  told_in = KEY ".commithash";
  for (unsigned both = 0; both < 2; both++) {
    struct fake_stack *s = stack_committed();
    struct gi_fop *root = fake_fop(s, GI_FOP_LOOKUP), *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 4)), *m;

    for (unsigned i = 0; i < 4; i++)
      fake_script(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = both ? say_both : say_commit, .arg = &parts[i]});
    root->loc.gfid = gi_gfid_root;
    fake_submit(s, root);
    for (unsigned i = 0; i < 4; i++) {
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file_elsewhere, .arg = &parts[i]});
      fake_script_always(s, i, GI_FOP_MKDIR, (struct fake_reply){.fill = see_stamp});
    }
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    m = entry_fop(s, GI_FOP_MKDIR, other_name_on(2, 4)); /* but a new directory bears it, as its clients want it */
    fake_submit(s, m);
    assert_int_equal(m->rsp.ret, 0);
    fake_stack_free(s);
  }
  told_in = KEY ".committed";
}

/* A rebalance has written another layout, and moved the file. */
static void
say_file_or_dir(struct gi_fop *fop, void *arg)
{
  if (fop->loc.name)
    say_file(fop, NULL);
  else
    say_dir(fop, arg);
}

static void
test_layout_that_was_is_not(void **state)
{
  struct fake_stack *s = stack_committed();
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 4));

  for (unsigned i = 0; i < 4; i++)
    parts[i] = (struct part){.n = (i + 3) % 4, .of = 4, .commit = 4711};
  fake_script_clear(s);
  for (unsigned i = 0; i < 4; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP,
                       (struct fake_reply){.fill = i == 2 ? say_file_or_dir : say_nothing_in_it, .arg = &parts[i]});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(f->rsp.stat.mode, S_IFREG | 0644);
  fake_stack_free(s);
}

/* The layout is exchanged while a subvolume is asked for the name, which belongs to another one when it answers. */
static void
test_another_one_was_asked(void **state)
{
  for (uint32_t commit = 0; commit < 2; commit++) {
    struct fake_stack *s = commit ? stack_committed() : stack_with_dir(4, 0);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 4)), *g = fake_fop(s, GI_FOP_LOOKUP);

    fake_script(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.hold = true});
    fake_submit(s, f);
    for (unsigned i = 0; i < 4; i++) {
      parts[i].n = (i + 3) % 4;
      fake_script_always(s, i, GI_FOP_LOOKUP,
                         (struct fake_reply){.fill = i == 2 ? say_file_or_dir : say_nothing_in_it, .arg = &parts[i]});
    }
    gi_loc_set_inode(&g->loc, fake_inode(s, DIR_GFID));
    fake_submit(s, g);
    assert_int_equal(g->rsp.ret, 0);
    assert_true(fake_release(s, 1, GI_FOP_LOOKUP, -1, ENOENT));
    fake_settle(s);
    assert_true(f->answered);
    assert_int_equal(f->rsp.ret, 0);
    fake_stack_free(s);
  }
}

/* One that was withdrawn is none. */
static void
test_commit_is_withdrawn(void **state)
{
  struct fake_stack *s = stack_committed();
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP), *g = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 4));

  fake_script_clear(s);
  for (unsigned i = 0; i < 4; i++)
    fake_script(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_root, .arg = &parts[i]});
  f->loc.gfid = gi_gfid_root;
  fake_submit(s, f);
  nothing_in_it(s);
  fake_forget_seen(s);
  fake_submit(s, g);
  assert_int_equal(g->rsp.err, ENOENT);
  for (unsigned i = 0; i < 4; i++)
    assert_true(fake_count(s, i, GI_FOP_LOOKUP) >= 1);
  fake_stack_free(s);
}

/* The root of a volume that had no commit hash when it was looked at. */
static void
say_root_or_nothing(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name && gi_gfid_is_root(gi_fop_gfid(fop)))
    say_commit(fop, arg);
  else
    say_nothing_in_it(fop, arg);
}

/* A rebalance has ended since: the root is asked when a directory has another one, and then what is missing is asked for at one subvolume. A
 * directory of a rebalance that did not end well does not have the root asked all the time. */
static void
test_commit_is_learned_later(void **state)
{
  static const uint32_t commits[] = {4711, 4712};

  for (unsigned k = 0; k < 2; k++) {
    struct fake_stack *s = stack_with_dir(4, commits[k]);

    for (unsigned i = 0; i < 4; i++)
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_root_or_nothing, .arg = &parts[i]});
    for (unsigned n = 0; n < 2; n++) {
      struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 4));

      fake_forget_seen(s);
      fake_submit(s, f);
      assert_int_equal(f->rsp.err, ENOENT);
      /* the name and a part of the layout, or the name where it belongs and everywhere; before that the root */
      assert_int_equal(s->nseen, (k == 0 ? 2 : 1 + 4) + (n == 0 ? 4 : 0));
    }
    fake_stack_free(s);
  }
}

/* ---- a directory that gets a layout later ---- */

static void
see_commit(struct gi_fop *fop, void *arg)
{
  unsigned *n = arg;
  const void *bytes;
  struct di_range r;
  uint32_t len;

  if (!gi_dict_get_bin(fop->args.dict, KEY, &bytes, &len))
    return;
  assert_true(di_range_decode(&r, bytes, len));
  assert_int_equal(r.commit, 1);
  ++*n;
}

/* What is in it may be anywhere, whatever the volume's commit hash is. */
static void
test_healed_layout_is_not_committed(void **state)
{
  struct fake_stack *s = stack_committed();
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  unsigned n = 0;

  parts[2].bare = true;
  nothing_in_it(s);
  for (unsigned i = 0; i < 4; i++)
    fake_script_always(s, i, GI_FOP_SETXATTR, (struct fake_reply){.fill = see_commit, .arg = &n});
  gi_loc_set_inode(&f->loc, fake_inode(s, DIR_GFID));
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(n, 4);
  fake_stack_free(s);
}

/* ---- a creation that is refused for an old layout: another client has made the name by that, and where it belongs now nobody knows of it ---- */

static void
say_made_by_another(struct gi_fop *fop, void *arg)
{
  static struct part exchanged[2] = {{.n = 1, .of = 2}, {.n = 0, .of = 2}};
  struct part *now = &exchanged[arg == &parts[1]];

  if (!fop->loc.name)
    say_dir(fop, now);
  else if (now->n == 0)
    gi_fop_fail(fop, ENOENT);
  else
    attr_of(&fop->rsp.stat, FILE_GFID + 1, S_IFREG | 0644);
}

static void
refuse_layout(struct gi_fop *fop, void *arg)
{
  gi_dict_set_int(gi_fop_rsp_xdata(fop), GI_LAYOUT_REFUSED_KEY, 1);
}

static void
test_refused_creation_finds_another_file(void **state)
{
  static const struct {
    enum gi_fop_kind kind;
    uint32_t flags;
    int err;
  } t[] = {{GI_FOP_CREATE, O_CREAT | O_EXCL, EEXIST}, {GI_FOP_CREATE, O_CREAT, 0}, {GI_FOP_SYMLINK, 0, EEXIST}};

  for (unsigned k = 0; k < GI_ARRAY_LEN(t); k++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, t[k].kind, name_on(0, 2));

    f->args.flags = t[k].flags;
    if (t[k].kind == GI_FOP_CREATE)
      gi_fop_set_fd(f, fake_fd(s, FILE_GFID));
    for (unsigned i = 0; i < 2; i++)
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_made_by_another, .arg = &parts[i]});
    fake_script(s, 0, t[k].kind, (struct fake_reply){.ret = -1, .err = EIO, .fill = refuse_layout});
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret < 0 ? f->rsp.err : 0, t[k].err);
    assert_int_equal(fake_count(s, 1, t[k].kind), 0);
    assert_int_equal(fake_count(s, 0, GI_FOP_OPEN), t[k].err == 0); /* who does not ask for a new file gets that one */
    fake_stack_free(s);
  }
}

static uint8_t linked; /* the file that has the further name; 0: none */

static void
say_linked(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID)
    say_dir(fop, arg);
  else if (arg == &parts[1] || (fop->loc.name && !linked))
    gi_fop_fail(fop, ENOENT);
  else
    attr_of(&fop->rsp.stat, fop->loc.name ? linked : FILE_GFID, S_IFREG | 0644);
}

/* A brick has done it all the same, by another layout than the one that refused it, or another client has made the name. */
static void
refuse_link(struct gi_fop *fop, void *arg)
{
  linked = *(const uint8_t *)arg;
  refuse_layout(fop, NULL);
}

/* The file has the name by an attempt that failed: nobody can say that there was one. Another file has it by somebody else's. */
static void
test_refused_link_finds_what_it_has_left(void **state)
{
  static const uint8_t left[] = {FILE_GFID, FILE_GFID + 1};

  for (unsigned n = 0; n < 2; n++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = fake_fop(s, GI_FOP_LINK);

    linked = 0;
    for (unsigned i = 0; i < 2; i++)
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_linked, .arg = &parts[i]});
    fake_script(s, 0, GI_FOP_LINK, (struct fake_reply){.ret = -1, .err = EIO, .fill = refuse_link, .arg = (void *)&left[n]});
    gi_loc_set_inode(&f->loc, fake_inode(s, FILE_GFID));
    gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_GFID), name_on(0, 2));
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, n == 0 ? ENOTCONN : EEXIST);
    assert_int_equal(fake_count(s, 0, GI_FOP_LINK), 1);
    fake_stack_free(s);
  }
}

/* What has the name cannot be found out: nobody says that there is something. */
static void
test_unknown_name_is_not_said_to_exist(void **state)
{
  static const int errs[] = {EIO, EACCES};

  for (unsigned n = 0; n < GI_ARRAY_LEN(errs); n++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2)), *k = fake_fop(s, GI_FOP_LINK);

    fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
    fake_submit(s, f);
    for (unsigned i = 0; i < 2; i++)
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = errs[n]});
    gi_loc_set_inode(&k->loc, fake_inode(s, FILE_GFID));
    gi_fop_set_entry(k, &k->loc2, fake_inode(s, DIR_GFID), other_name_on(0, 2));
    fake_submit(s, k);
    assert_int_equal(k->rsp.err, errs[n]);
    assert_int_equal(fake_count(s, 0, GI_FOP_LINK), 0);
    fake_stack_free(s);
  }
}

/* ---- a directory that the subvolume where its name belongs has missed ---- */

/* The copies there do not agree on what has the name. */
static void
say_sub(struct gi_fop *fop, void *arg)
{
  const struct part *p = arg;

  say_dir(fop, arg);
  if (fop->loc.name && p->n == 1)
    gi_fop_fail(fop, ENOTCONN);
  else if (fop->loc.name)
    attr_of(&fop->rsp.stat, 31, S_IFDIR | 0755);
}

/* It was removed from all that have it. Who is told ENOENT by all comes after another one. */
static void
test_missed_directory_is_removed(void **state)
{
  for (unsigned gone = 0; gone < 2; gone++) {
    struct fake_stack *s = stack_with_dir(4, 0);
    struct gi_fop *f = entry_fop(s, GI_FOP_RMDIR, name_on(1, 4));

    for (unsigned i = 0; i < 4; i++) {
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_sub, .arg = &parts[i]});
      if (i == 1 || gone)
        fake_script_always(s, i, GI_FOP_RMDIR, (struct fake_reply){.ret = -1, .err = ENOENT});
    }
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret < 0 ? f->rsp.err : 0, gone ? ENOENT : 0);
    for (unsigned i = 0; i < 4; i++)
      assert_int_equal(fake_count(s, i, GI_FOP_RMDIR), 1);
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_missing_name_is_searched),
      cmocka_unit_test(test_subvolume_that_is_down_has_nothing),
      cmocka_unit_test(test_committed_layout_is_conclusive),
      cmocka_unit_test(test_hash_of_glusterfs_says_nothing),
      cmocka_unit_test(test_layout_that_was_is_not),
      cmocka_unit_test(test_another_one_was_asked),
      cmocka_unit_test(test_commit_is_withdrawn),
      cmocka_unit_test(test_commit_is_learned_later),
      cmocka_unit_test(test_healed_layout_is_not_committed),
      cmocka_unit_test(test_refused_creation_finds_another_file),
      cmocka_unit_test(test_refused_link_finds_what_it_has_left),
      cmocka_unit_test(test_unknown_name_is_not_said_to_exist),
      cmocka_unit_test(test_missed_directory_is_removed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
