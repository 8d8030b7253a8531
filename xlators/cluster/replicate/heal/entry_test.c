/* SPDX-License-Identifier: Apache-2.0
 *
 * The heal of directories over real bricks: whatever was done while one of
 * them was away, by its list of changed names or by a full crawl, ends in three
 * equal trees and no marks.
 */
#include "xlators/cluster/replicate/testing/testbed.h"

#include <errno.h>
#include <sys/xattr.h>
#include <unistd.h>

#define GRANULAR "option granular-entry-heal on\noption use-anonymous-inode on\n"
#define FULL "option granular-entry-heal off\noption use-anonymous-inode on\n"

#define NO_ANON "option granular-entry-heal on\noption use-anonymous-inode off\n"

static const char *const variants[] = {GRANULAR, FULL, NO_ANON};

static void
start_tree(struct yard *y)
{
  yard_mkdir(y, "d");
  yard_mkdir(y, "d/sub");
  yard_create(y, "d/sub/deep", "deep");
  yard_create(y, "keep", "keep");
  yard_create(y, "gone", "gone");
  yard_create(y, "moved", "moved");
  yard_create(y, "hard", "hard");
  yard_link(y, "d/hard2", "hard");
  yard_symlink(y, "sym-gone", "keep");
  yard_mkdir(y, "empty");
  yard_mkdir(y, "tree");
  yard_mkdir(y, "tree/t1");
  yard_create(y, "tree/t1/leaf", "leaf");
  yard_same(y, true);
}

/* Every kind of change, on every type. */
static void
change_tree(struct yard *y)
{
  yard_create(y, "new", "new content");
  yard_mkdir(y, "newdir");
  yard_mkdir(y, "newdir/inner");
  yard_create(y, "newdir/inner/f", "f");
  yard_symlink(y, "sym", "a/target");
  yard_mknod(y, "fifo", S_IFIFO | 0600, 0, 0);
  yard_mknod(y, "dev", S_IFCHR | 0600, 1, 3);
  yard_mknod(y, "block", S_IFBLK | 0600, 7, 200);
  yard_mknod(y, "sock", S_IFSOCK | 0600, 0, 0);
  yard_unlink(y, "gone");
  yard_unlink(y, "sym-gone");
  yard_rmdir(y, "empty");
  yard_rename(y, "moved", "d/moved");
  yard_link(y, "newlink", "keep");
  yard_unlink(y, "hard");
  yard_rename(y, "tree", "d/tree2");
  yard_create(y, "d/tree2/t1/leaf2", "leaf2");
  yard_create(y, "twin", "twin");
  yard_link(y, "d/twin2", "twin");
  yard_symlink(y, "s1", "x");
  yard_link(y, "s2", "s1");
}

static void
heals_everything(struct yard *y)
{
  unsigned left = yard_heal(y);

  if (left)
    fail_msg("%u entries are left in the heal indices", left);
  yard_same(y, true);
  yard_no_marks(y);
}

static void
every_change_with_each_brick_away(void **state)
{
  for (size_t v = 0; v < GI_ARRAY_LEN(variants); v++)
    for (unsigned stale = 0; stale < YARD; stale++) {
      YARD_NEW(y, variants[v]);
      print_message("brick %u was away, variant %zu\n", stale, v);
      start_tree(y);
      yard_down(y, stale);
      change_tree(y);
      yard_up(y, stale);
      assert_true(yard_pending(y) > 0);
      heals_everything(y);
      yard_free(y);
    }
}

/* The tree is not copied: the inodes on the stale brick stay what they were. */
static void
a_renamed_tree_moves(void **state)
{
  for (size_t v = 0; v < 2; v++)
    for (int parent_first = 0; parent_first < 2; parent_first++) {
      YARD_NEW(y, variants[v]);
      char path[PATH_MAX];
      struct stat before, after;

      start_tree(y);
      yard_path(y, path, 0, "tree/t1/leaf");
      assert_int_equal(stat(path, &before), 0);
      yard_down(y, 0);
      yard_rename(y, "tree", "d/tree2");
      yard_up(y, 0);
      if (parent_first) {
        assert_int_equal(yard_heal_entry(y, ""), REP_HEALED);
        assert_int_equal(yard_heal_entry(y, "d"), REP_HEALED);
      } else {
        assert_int_not_equal(yard_heal_entry(y, "d"), REP_HEALED);
        assert_true(yard_mark(y, 1, "d", 0, REP_ENTRY));
        heals_everything(y);
      }
      yard_same(y, true);
      yard_path(y, path, 0, "d/tree2/t1/leaf");
      assert_int_equal(stat(path, &after), 0);
      assert_int_equal(before.st_ino, after.st_ino);
      yard_no_marks(y);
      yard_free(y);
    }
}

/* What waited in the anonymous directory for its new name has got it: the brick is like the others at once. */
static void
a_renamed_file_leaves_nothing_behind(void **state)
{
  static const char *const names[] = {"moved", "sym-gone"};
  YARD_NEW(y, GRANULAR);

  start_tree(y);
  yard_down(y, 0);
  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++)
    yard_rename(y, names[i], i ? "d/sym" : "d/moved");
  yard_up(y, 0);
  assert_int_equal(yard_heal_entry(y, ""), REP_HEALED); /* the old names go first */
  for (int got_new_names = 0; got_new_names < 2; got_new_names++) {
    for (size_t i = 0; i < GI_ARRAY_LEN(names); i++) {
      struct gi_gfid gfid = yard_disk_gfid(y, 1, i ? "d/sym" : "d/moved");
      char text[GI_UUID_TEXT], path[PATH_MAX];

      snprintf(path, sizeof(path), ".glusterfs-anonymous-inode-" YARD_VOLUME "/%s", gi_gfid_text(&gfid, text));
      assert_int_equal(yard_has(y, 0, path), !got_new_names);
    }
    heals_everything(y);
  }
  yard_free(y);
}

static void
nothing_to_do_is_clean(void **state)
{
  YARD_NEW(y, GRANULAR);
  start_tree(y);
  assert_int_equal(yard_heal_entry(y, ""), REP_HEAL_CLEAN);
  assert_int_equal(yard_heal_entry(y, "d"), REP_HEAL_CLEAN);
  yard_free(y);
}

static void
both_sides_changed_is_a_merge(void **state)
{
  YARD_NEW(y, "option quorum-type none\n" GRANULAR);
  start_tree(y);
  yard_down(y, 0);
  yard_create(y, "one", "1");
  yard_unlink(y, "gone");
  yard_up(y, 0);
  yard_down(y, 1);
  yard_down(y, 2);
  yard_create(y, "two", "2");
  yard_mkdir(y, "d/three");
  yard_up(y, 1);
  yard_up(y, 2);
  heals_everything(y);
  assert_true(yard_has(y, 0, "one") && yard_has(y, 1, "two") && yard_has(y, 2, "d/three"));
  assert_true(yard_has(y, 1, "gone")); /* a merge brings back, it does not take away */
  yard_free(y);
}

static void
note_done(struct gi_fop *fop, void *arg)
{
  *(bool *)arg = true;
}

/* A client whose clock is ahead. */
static void
clock_is_ahead(struct gi_fop *fop, void *arg)
{
  fop->caller.time.sec += 1000;
}

static int64_t
changed_at(struct yard *y, unsigned brick)
{
  struct gi_fop *fop = gi_fop_new(y->graph, GI_FOP_STAT);
  int64_t seconds;
  bool done = false;

  fop->loc.gfid = gi_gfid_root;
  fop->loc.inode = gi_inode_get(y->graph, &gi_gfid_root);
  gi_fop_submit(fop, y->gate_x[brick], note_done, &done);
  yard_until(y, &done);
  seconds = fop->rsp.stat.mtime.sec;
  gi_fop_unref(fop);
  return seconds;
}

static struct gi_fop *
making_in_root(struct yard *y, enum gi_fop_kind kind, const char *name)
{
  struct gi_inode *root = gi_inode_get(y->graph, &gi_gfid_root);
  struct gi_fop *fop = gi_fop_new(y->graph, kind);
  struct gi_gfid gfid = gi_gfid_new(y->ctx.reactor);

  gi_fop_set_entry(fop, &fop->loc, root, name);
  fop->args.mode = kind == GI_FOP_MKDIR ? 0755 : S_IFREG | 0644;
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &gfid);
  gi_inode_unref(&root);
  return fop;
}

/* What only one brick could make is gone after the heal, or everywhere; and the directory changed at one time, the latest that was told. */
static void
a_merge_ends_with_the_latest_times(void **state)
{
  YARD_NEW(y, GRANULAR);
  int64_t told;

  start_tree(y);
  y->gate[1]->seen = clock_is_ahead;
  y->gate[0]->fail_err[GI_FOP_MKNOD] = y->gate[2]->fail_err[GI_FOP_MKNOD] = ENOSPC;
  assert_int_not_equal(yard_submit(y, making_in_root(y, GI_FOP_MKNOD, "a")), 0);
  y->gate[0]->fail_err[GI_FOP_MKNOD] = y->gate[2]->fail_err[GI_FOP_MKNOD] = 0;
  y->gate[1]->seen = NULL;
  told = changed_at(y, 1);
  assert_true(told > changed_at(y, 0) + 500);
  heals_everything(y);
  for (unsigned i = 0; i < YARD; i++)
    assert_int_equal(changed_at(y, i), told);
  yard_free(y);
}

static const int32_t entry_mark[REP_TYPES] = {[REP_ENTRY] = 1};

/* A stale brick is dirty, as after a change of another name that it could not make: what was removed stays removed. */
static void
dirty_brings_nothing_back(void **state)
{
  for (size_t v = 0; v < GI_ARRAY_LEN(variants); v++)
    for (unsigned dirty = 0; dirty < YARD; dirty++) {
      YARD_NEW(y, variants[v]);
      start_tree(y);
      yard_down(y, 2);
      yard_unlink(y, "gone");
      yard_create(y, "made", "while it was away");
      yard_rename(y, "keep", "kept");
      yard_up(y, 2);
      yard_set_mark(y, dirty, "", YARD, entry_mark);
      heals_everything(y);
      assert_false(yard_has(y, 0, "gone") || yard_has(y, 1, "keep"));
      assert_true(yard_has(y, 2, "made") && yard_has(y, 2, "kept"));
      yard_free(y);
    }
}

/* What as many have as may acknowledge it is kept, whoever else knows nothing of it. */
static void
dirty_keeps_what_a_quorum_has(void **state)
{
  YARD_NEW(y, "option granular-entry-heal off\n");
  start_tree(y);
  yard_down(y, 0);
  yard_create(y, "theirs", "of two");
  yard_up(y, 0);
  for (unsigned i = 1; i < YARD; i++) { /* they accuse nobody any more, and are accused */
    yard_set_mark(y, i, "", 0, (int32_t[REP_TYPES]){0});
    yard_set_mark(y, 0, "", i, entry_mark);
    yard_set_mark(y, i, "", YARD, entry_mark);
  }
  yard_heal(y);
  for (unsigned i = 0; i < YARD; i++)
    assert_true(yard_has(y, i, "theirs"));
  yard_free(y);
}

/* A file became a directory and a directory a file while a brick was away. */
static void
types_change_places(void **state)
{
  for (size_t v = 0; v < GI_ARRAY_LEN(variants); v++) {
    YARD_NEW(y, variants[v]);
    start_tree(y);
    yard_down(y, 1);
    yard_unlink(y, "keep");
    yard_mkdir(y, "keep");
    yard_create(y, "keep/in", "in");
    yard_rmdir(y, "empty");
    yard_create(y, "empty", "not any more");
    yard_unlink(y, "sym-gone");
    yard_create(y, "sym-gone", "file");
    yard_unlink(y, "gone");
    yard_create(y, "gone", "another of the same type");
    yard_up(y, 1);
    heals_everything(y);
    yard_free(y);
  }
}

/* Created on both sides while they did not see each other. */
static struct yard *
twins(const char *options)
{
  struct yard *y = yard_new(options);

  if (!y)
    return NULL;
  yard_down(y, 0);
  yard_create(y, "twin", "the longer of both");
  yard_up(y, 0);
  yard_down(y, 1);
  yard_down(y, 2);
  yard_create(y, "twin", "short");
  yard_up(y, 1);
  yard_up(y, 2);
  return y;
}

static void
different_objects_need_a_policy(void **state)
{
  struct yard *y = twins("option quorum-type none\n" GRANULAR);
  struct gi_gfid zero, one;

  if (!y)
    skip();
  zero = yard_disk_gfid(y, 0, "twin");
  one = yard_disk_gfid(y, 1, "twin");
  assert_false(gi_gfid_equal(&zero, &one));
  assert_int_equal(yard_heal_entry(y, ""), -EIO);
  yard_gfid(y, "twin");
  assert_int_equal(y->err, EIO); /* never served */
  for (unsigned i = 0; i < YARD; i++) {
    struct gi_gfid now = yard_disk_gfid(y, i, "twin");

    assert_true(gi_gfid_equal(&now, i ? &one : &zero)); /* nothing was lost */
  }
  assert_true(yard_mark(y, 0, "", 1, REP_ENTRY) && yard_mark(y, 1, "", 0, REP_ENTRY));
  yard_free(y);

  y = twins("option quorum-type none\noption favorite-child-policy size\n" GRANULAR);
  heals_everything(y);
  one = yard_disk_gfid(y, 1, "twin");
  zero = yard_disk_gfid(y, 0, "twin");
  assert_true(gi_gfid_equal(&zero, &one));
  yard_free(y);
}

static void
different_types_are_never_chosen_among(void **state)
{
  YARD_NEW(y, "option quorum-type none\noption favorite-child-policy mtime\n" GRANULAR);
  yard_down(y, 0);
  yard_create(y, "x", "file");
  yard_up(y, 0);
  yard_down(y, 1);
  yard_down(y, 2);
  yard_mkdir(y, "x");
  yard_up(y, 1);
  yard_up(y, 2);
  assert_int_equal(yard_heal_entry(y, ""), -EIO);
  yard_gfid(y, "x");
  assert_int_equal(y->err, EIO);
  assert_true(yard_has(y, 0, "x") && yard_has(y, 1, "x") && yard_has(y, 2, "x"));
  yard_free(y);
}

/* ---- what goes wrong ---- */

static void
many(struct yard *y, const char *prefix, unsigned n, bool create)
{
  for (unsigned i = 0; i < n; i++) {
    char name[32];

    snprintf(name, sizeof(name), "%s%u", prefix, i);
    if (create)
      yard_create(y, name, "");
    else
      yard_unlink(y, name);
  }
}

static unsigned
how_many(struct yard *y, unsigned brick, const char *prefix, unsigned n)
{
  unsigned there = 0;

  for (unsigned i = 0; i < n; i++) {
    char name[32];

    snprintf(name, sizeof(name), "%s%u", prefix, i);
    there += yard_has(y, brick, name);
  }
  return there;
}

/* Brick 2 has missed `n` names, and makes `made` of them before its disk is full. */
static void
refuses_names_after(struct yard *y, unsigned n, unsigned made)
{
  yard_down(y, 2);
  many(y, "f", n, true);
  yard_up(y, 2);
  y->gate[2]->fail_err[GI_FOP_MKNOD] = ENOSPC;
  y->gate[2]->fail_after[GI_FOP_MKNOD] = made;
}

/* The stale brick begins to refuse in the middle: what is done is done and off the list, the rest stays marked. */
static void
a_brick_failing_in_the_middle(void **state)
{
  YARD_NEW(y, GRANULAR);
  refuses_names_after(y, 60, 20);
  assert_int_equal(yard_heal_entry(y, ""), -ENOSPC);
  assert_int_equal(how_many(y, 2, "f", 60), 20);
  assert_int_equal(yard_changes(y, 0, ""), 40);
  assert_true(yard_mark(y, 0, "", 2, REP_ENTRY) && yard_mark(y, 1, "", 2, REP_ENTRY));
  y->gate[2]->fail_err[GI_FOP_MKNOD] = 0;
  y->gate[2]->count[GI_FOP_MKNOD] = 0;
  heals_everything(y);
  assert_int_equal(y->gate[2]->count[GI_FOP_MKNOD], 40); /* it went on where it was */
  yard_free(y);
}

/* A sink that has not brought the healed names to its disk may lose them with its power: they stay on the list. */
static void
names_stay_listed_until_they_are_on_the_disk(void **state)
{
  YARD_NEW(y, GRANULAR);
  refuses_names_after(y, 60, 20);
  y->gate[2]->fail_err[GI_FOP_FSYNCDIR] = EIO;
  assert_true(yard_heal_entry(y, "") < 0);
  assert_int_equal(how_many(y, 2, "f", 60), 20);
  assert_int_equal(yard_changes(y, 0, ""), 60);
  y->gate[2]->fail_err[GI_FOP_MKNOD] = y->gate[2]->fail_err[GI_FOP_FSYNCDIR] = 0;
  heals_everything(y);
  yard_free(y);
}

static void
miss_another_change(struct gi_fop *fop, void *arg)
{
  static const int32_t more[REP_TYPES] = {0, 0, 1000};

  if (fop->kind == GI_FOP_FSYNCDIR)
    yard_set_mark(arg, 1, "", 2, more);
}

/* Whatever some brick has missed since the heal began may be about a name that the heal is done with. */
static void
names_stay_listed_if_something_was_missed_meanwhile(void **state)
{
  YARD_NEW(y, GRANULAR);
  refuses_names_after(y, 60, 20);
  y->gate[2]->seen = miss_another_change;
  y->gate[2]->arg = y;
  assert_true(yard_heal_entry(y, "") < 0);
  y->gate[2]->seen = NULL;
  assert_int_equal(yard_changes(y, 0, ""), 60);
  y->gate[2]->fail_err[GI_FOP_MKNOD] = 0;
  heals_everything(y);
  yard_free(y);
}

/* A long list gets shorter while it is healed, so that a healer that dies leaves less to do. */
static void
a_long_list_gets_shorter_meanwhile(void **state)
{
  YARD_NEW(y, GRANULAR);
  refuses_names_after(y, 1300, 1200);
  assert_int_equal(yard_heal_entry(y, ""), -ENOSPC);
  assert_int_equal(how_many(y, 2, "f", 1300), 1200);
  assert_int_equal(yard_changes(y, 0, ""), 100);
  assert_int_equal(y->gate[2]->count[GI_FOP_FSYNCDIR], 3);
  y->gate[2]->fail_err[GI_FOP_MKNOD] = 0;
  heals_everything(y);
  yard_free(y);
}

struct cut {
  struct yard *y;
  unsigned after;
};

static void
cut_connection(struct gi_fop *fop, void *arg)
{
  struct cut *cut = arg;

  if (fop->kind == GI_FOP_MKNOD && cut->after && --cut->after == 0) {
    cut->y->gate[1]->shut = true;
    gi_notify_up(cut->y->gate_x[1], GI_EVENT_CHILD_DOWN, NULL);
    gi_notify_down(cut->y->gate_x[1], GI_EVENT_CLIENT_GONE, &cut->y->gate[1]->id);
  }
}

/* A source's connection is lost in the middle: nothing is cleared, and the next heal goes on. */
static void
an_interrupted_heal_goes_on(void **state)
{
  for (size_t v = 0; v < 2; v++) {
    YARD_NEW(y, variants[v]);
    struct cut cut = {.y = y, .after = 25};

    many(y, "old", 20, true);
    yard_down(y, 2);
    many(y, "f", 60, true);
    many(y, "old", 20, false);
    yard_up(y, 2);
    y->gate[2]->seen = cut_connection;
    y->gate[2]->arg = &cut;
    assert_true(yard_heal_entry(y, "") < 0);
    y->gate[2]->seen = NULL;
    assert_true(how_many(y, 2, "f", 60) < 60);
    assert_true(yard_mark(y, 0, "", 2, REP_ENTRY) > 0);
    yard_up(y, 1);
    heals_everything(y);
    assert_int_equal(how_many(y, 2, "old", 20), 0);
    yard_free(y);
  }
}

/* Only "it is not there" removes a name: any other answer of the source leaves it alone. */
static void
an_error_is_not_an_absence(void **state)
{
  static const int errors[] = {EIO, ESTALE, EACCES, ENOTCONN, EMFILE};

  for (size_t k = 0; k < GI_ARRAY_LEN(errors); k++) {
    YARD_NEW(y, GRANULAR);
    many(y, "f", 5, true);
    yard_down(y, 2);
    yard_unlink(y, "f0");
    yard_up(y, 2);
    y->gate[0]->fail_err[GI_FOP_LOOKUP] = errors[k];
    y->gate[0]->fail_after[GI_FOP_LOOKUP] = 3; /* the directory, the list of changes, the directory again: then the name */
    assert_true(yard_heal_entry(y, "") < 0);
    assert_true(yard_has(y, 2, "f0"));
    assert_true(yard_mark(y, 0, "", 2, REP_ENTRY) > 0);
    y->gate[0]->fail_err[GI_FOP_LOOKUP] = 0;
    heals_everything(y);
    assert_false(yard_has(y, 2, "f0"));
    yard_free(y);
  }
}

/* Marks that make no sense: a brick that blames everybody, itself too, is no source. */
static void
nonsense_never_removes(void **state)
{
  static const int32_t lie[REP_TYPES] = {0, 0, 7};

  for (unsigned liar = 0; liar < YARD; liar++) {
    YARD_NEW(y, FULL);
    char path[PATH_MAX];

    start_tree(y);
    yard_path(y, path, liar, "gone"); /* it lost a file by itself */
    assert_int_equal(unlink(path), 0);
    for (unsigned j = 0; j <= YARD; j++)
      yard_set_mark(y, liar, "", j, lie);
    yard_heal_entry(y, "");
    for (unsigned i = 0; i < YARD; i++)
      assert_true(yard_has(y, i, "gone"));
    yard_free(y);
  }
}

/* A counter that is not one: nobody knows what it wanted to say. */
static void
a_broken_counter_stops_the_heal(void **state)
{
  YARD_NEW(y, FULL);
  char path[PATH_MAX];

  start_tree(y);
  yard_down(y, 2);
  yard_unlink(y, "gone");
  yard_up(y, 2);
  yard_path(y, path, 1, "");
  assert_int_equal(lsetxattr(path, "trusted.afr.v-client-0", "\1\2\3", 3, 0), 0);
  assert_int_equal(yard_heal_entry(y, ""), -EIO);
  assert_true(yard_has(y, 2, "gone"));
  yard_free(y);
}

/* ---- beside clients ---- */

struct busy {
  struct yard *y;
  unsigned n, left;
};

static void
client_done(struct gi_fop *fop, void *arg)
{
  gi_fop_unref(fop);
}

/* While names are healed a client makes and removes others. */
static void
client_works(struct gi_fop *fop, void *arg)
{
  struct busy *b = arg;
  struct gi_fop *f;
  char name[32];

  if (fop->kind != GI_FOP_MKNOD || fop->caller.pid != GI_PID_HEAL || !b->left)
    return;
  b->left--;
  snprintf(name, sizeof(name), "client%u", b->n++);
  f = making_in_root(b->y, b->left % 2 ? GI_FOP_MKDIR : GI_FOP_MKNOD, name);
  f->caller.pid = 100;
  gi_fop_submit(f, b->y->x, client_done, NULL);
}

static void
clients_change_names_meanwhile(void **state)
{
  YARD_NEW(y, GRANULAR);
  struct busy b = {.y = y, .left = 40};

  yard_down(y, 1);
  many(y, "f", 80, true);
  yard_up(y, 1);
  y->gate[1]->seen = client_works;
  y->gate[1]->arg = &b;
  assert_int_equal(yard_heal_entry(y, ""), REP_HEALED);
  y->gate[1]->seen = NULL;
  assert_int_equal(b.n, 40);
  heals_everything(y);
  assert_int_equal(how_many(y, 1, "client", 40), 40);
  yard_free(y);
}

/* ---- how fast ---- */

static void
names_are_in_work_side_by_side(void **state)
{
  YARD_NEW(y, GRANULAR);
  struct yard_gate *g = y->gate[2];

  yard_down(y, 2);
  many(y, "f", 100, true);
  yard_up(y, 2);
  memset(g->count, 0, sizeof(g->count));
  g->most_in_flight = 0;
  memset(y->gate[0]->count, 0, sizeof(g->count));
  assert_int_equal(yard_heal_entry(y, ""), REP_HEALED);
  /* Of a new file whose marks are there: lock, look at the directory and at the name, make, unlock. Around all names: two healers' locks,
   * two decisions with their locks, times and undo, with which the list of changes goes as a whole. */
  assert_int_equal(g->count[GI_FOP_MKNOD], 100);
  assert_true(g->count[GI_FOP_LOOKUP] <= 200 + 4);
  assert_true(g->count[GI_FOP_ENTRYLK] <= 200 + 6);
  assert_true(g->count[GI_FOP_XATTROP] <= 1);
  assert_int_equal(y->gate[0]->count[GI_FOP_UNLINK], 0);
  assert_int_equal(yard_changes(y, 0, ""), 0);
  assert_true(g->most_in_flight >= 16);
  yard_free(y);
}

/* ---- marks before objects ---- */

struct order {
  unsigned durable[YARD];  /* XATTROPs that had to come to the disk, by brick */
  unsigned durable_before; /* …on bricks 0 and 1 when brick 2 made the object */
  unsigned undone;         /* XATTROPs on brick 0 after brick 2 had its attributes, and before these were on its disk */
  bool attributes;
};

static bool
durable(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_XATTROP && gi_dict_get(fop->xdata, GI_DURABLE_KEY);
}

static void
on_source(struct gi_fop *fop, void *arg)
{
  struct order *o = arg;

  o->durable[0] += durable(fop);
  o->undone += fop->kind == GI_FOP_XATTROP && o->attributes && !o->durable[2];
}

static void
on_other_source(struct gi_fop *fop, void *arg)
{
  struct order *o = arg;

  o->durable[1] += durable(fop);
}

static void
on_sink(struct gi_fop *fop, void *arg)
{
  struct order *o = arg;

  if (fop->kind == GI_FOP_MKDIR && strcmp(fop->loc.name, "d") == 0)
    o->durable_before = o->durable[0] + o->durable[1];
  o->attributes |= fop->kind == GI_FOP_SETXATTR;
  o->durable[2] += durable(fop);
}

/* Else the sources could lose with their power what they hold against an object that lacks everything, and the sink what was healed. */
static void
marks_reach_the_disk_first_and_leave_it_last(void **state)
{
  static const int32_t nothing[REP_TYPES];
  struct order o = {0};
  char path[PATH_MAX];

  YARD_NEW(y, GRANULAR);
  yard_down(y, 2);
  yard_mkdir(y, "d");
  yard_up(y, 2);
  for (unsigned i = 0; i < 2; i++) {
    yard_set_mark(y, i, "d", 2, nothing); /* the heal has to mark it */
    yard_path(y, path, i, "d");
    assert_int_equal(setxattr(path, "user.x", "x", 1, 0), 0);
  }
  y->gate[0]->seen = on_source;
  y->gate[1]->seen = on_other_source;
  y->gate[2]->seen = on_sink;
  for (unsigned i = 0; i < YARD; i++)
    y->gate[i]->arg = &o;
  heals_everything(y);
  for (unsigned i = 0; i < YARD; i++)
    y->gate[i]->seen = NULL;
  assert_int_equal(o.durable_before, 2);
  assert_true(o.attributes);
  assert_true(o.durable[2] > 0);
  assert_int_equal(o.undone, 0);
  yard_path(y, path, 2, "d");
  assert_int_equal(getxattr(path, "user.x", path, 1), 1);
  yard_free(y);
}

static void
all_bricks_are_needed(void **state)
{
  YARD_NEW(y, GRANULAR);
  yard_down(y, 0);
  yard_create(y, "f", "f");
  yard_up(y, 0);
  yard_down(y, 1);
  assert_int_equal(yard_heal_entry(y, ""), -ENOTCONN);
  yard_up(y, 1);
  assert_int_equal(yard_heal_entry(y, ""), REP_HEALED);
  assert_true(yard_has(y, 0, "f"));
  yard_free(y);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_to_do_is_clean),
      cmocka_unit_test(all_bricks_are_needed),
      cmocka_unit_test(marks_reach_the_disk_first_and_leave_it_last),
      cmocka_unit_test(a_renamed_tree_moves),
      cmocka_unit_test(a_renamed_file_leaves_nothing_behind),
      cmocka_unit_test(both_sides_changed_is_a_merge),
      cmocka_unit_test(a_merge_ends_with_the_latest_times),
      cmocka_unit_test(dirty_brings_nothing_back),
      cmocka_unit_test(dirty_keeps_what_a_quorum_has),
      cmocka_unit_test(types_change_places),
      cmocka_unit_test(different_objects_need_a_policy),
      cmocka_unit_test(different_types_are_never_chosen_among),
      cmocka_unit_test(a_brick_failing_in_the_middle),
      cmocka_unit_test(names_stay_listed_until_they_are_on_the_disk),
      cmocka_unit_test(names_stay_listed_if_something_was_missed_meanwhile),
      cmocka_unit_test(a_long_list_gets_shorter_meanwhile),
      cmocka_unit_test(an_interrupted_heal_goes_on),
      cmocka_unit_test(an_error_is_not_an_absence),
      cmocka_unit_test(nonsense_never_removes),
      cmocka_unit_test(a_broken_counter_stops_the_heal),
      cmocka_unit_test(clients_change_names_meanwhile),
      cmocka_unit_test(names_are_in_work_side_by_side),
      cmocka_unit_test(every_change_with_each_brick_away),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
