/* SPDX-License-Identifier: Apache-2.0
 *
 * Different objects under one name, over real bricks: healed where marks or a
 * majority prove one of them right. And an object that is reachable nowhere.
 */
#include "xlators/cluster/replicate/heal/names.h"
#include "xlators/cluster/replicate/shd/shd.h"
#include "xlators/cluster/replicate/testing/testbed.h"
#include "libglusterish/heal-op.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OPTIONS "option quorum-type auto\noption granular-entry-heal on\noption use-anonymous-inode on\n"
#define ANON ".glusterfs-anonymous-inode-" YARD_VOLUME

static const int32_t nothing[REP_TYPES];

static void
heals_everything(struct yard *y)
{
  assert_int_equal(yard_heal(y), 0);
  yard_same(y, true);
  yard_no_marks(y);
}

static void
fail_others(struct yard *y, unsigned but, enum gi_fop_kind kind, int err)
{
  for (unsigned i = 0; i < YARD; i++)
    y->gate[i]->fail_err[kind] = i == but ? 0 : err;
}

/* What is left of a creation that failed: the object, and dirty, on one brick. */
static struct gi_gfid
left_behind(struct yard *y, unsigned brick, const char *name, enum gi_fop_kind kind)
{
  struct gi_inode *root = gi_inode_get(y->graph, &gi_gfid_root);
  struct gi_gfid gfid = gi_gfid_new(y->ctx.reactor);
  struct gi_fop *fop = gi_fop_new(y->graph, kind);
  struct gi_gfid there;

  gi_fop_set_entry(fop, &fop->loc, root, name);
  gi_inode_unref(&root);
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &gfid);
  fop->args.mode = kind == GI_FOP_MKNOD ? S_IFREG | 0644 : 0755;
  y->gate[brick]->fail_err[GI_FOP_UNLINK] = y->gate[brick]->fail_err[GI_FOP_RMDIR] = EIO; /* it cannot be taken back */
  fail_others(y, brick, kind, EIO);
  assert_int_equal(yard_submit(y, fop), EIO);
  fail_others(y, brick, kind, 0);
  y->gate[brick]->fail_err[GI_FOP_UNLINK] = y->gate[brick]->fail_err[GI_FOP_RMDIR] = 0;
  there = yard_disk_gfid(y, brick, name);
  assert_true(gi_gfid_equal(&there, &gfid));
  assert_int_equal(yard_mark(y, brick, "", YARD, REP_ENTRY), 1);
  return gfid;
}

static void
everywhere(const struct yard *y, const char *name, const struct gi_gfid *want)
{
  for (unsigned i = 0; i < YARD; i++) {
    struct gi_gfid gfid = yard_disk_gfid(y, i, name);

    assert_true(gi_gfid_equal(&gfid, want));
  }
}

/* The copy that has the other object is accused, but dirty too: its own marks ask for a merge. */
static void
what_nobody_accuses_is_right(void **state)
{
  struct gi_gfid right, wrong;

  YARD_NEW(y, OPTIONS);
  wrong = left_behind(y, 2, "twin", GI_FOP_MKNOD);
  yard_create(y, "twin", "content");
  right = yard_disk_gfid(y, 0, "twin");
  assert_false(gi_gfid_equal(&right, &wrong));
  assert_true(yard_mark(y, 0, "", 2, REP_ENTRY) && yard_mark(y, 1, "", 2, REP_ENTRY));
  heals_everything(y);
  everywhere(y, "twin", &right);
  yard_free(y);
}

static void
a_directory_too(void **state)
{
  struct gi_gfid right;

  YARD_NEW(y, OPTIONS);
  left_behind(y, 0, "dir", GI_FOP_MKDIR);
  y->gate[0]->fail_err[GI_FOP_MKDIR] = ENOSPC;
  yard_mkdir(y, "dir");
  y->gate[0]->fail_err[GI_FOP_MKDIR] = 0;
  right = yard_disk_gfid(y, 1, "dir");
  yard_set_mark(y, 1, "", 0, nothing); /* nobody is accused: the majority is left */
  yard_set_mark(y, 2, "", 0, nothing);
  heals_everything(y);
  everywhere(y, "dir", &right);
  yard_free(y);
}

static void
forget_marks(struct yard *y)
{
  for (unsigned i = 0; i < YARD; i++)
    for (unsigned j = 0; j <= YARD; j++)
      yard_set_mark(y, i, "", j, nothing);
}

/* Without any mark. */
static void
a_lookup_settles(struct yard *y, const struct gi_gfid *right)
{
  forget_marks(y);
  yard_gfid(y, "twin");
  assert_int_equal(y->err, 0);
  everywhere(y, "twin", right);
}

/* A brick that has lost its power knows nothing of what it forgot. */
static void
without_any_mark_most_are_right(void **state)
{
  struct gi_gfid right;

  YARD_NEW(y, OPTIONS);
  left_behind(y, 2, "twin", GI_FOP_MKNOD);
  yard_create(y, "twin", "content");
  right = yard_disk_gfid(y, 0, "twin");
  a_lookup_settles(y, &right);
  yard_free(y);
}

/* No two are the same, and nothing says that any brick missed anything. */
static void
without_mark_or_majority_nobody_is_right(void **state)
{
  struct gi_gfid gfid;

  YARD_NEW(y, OPTIONS);
  left_behind(y, 0, "twin", GI_FOP_MKNOD);
  gfid = left_behind(y, 2, "twin", GI_FOP_MKNOD);
  forget_marks(y);
  yard_gfid(y, "twin");
  assert_int_equal(y->err, EIO);

  struct gi_gfid now = yard_disk_gfid(y, 2, "twin");

  assert_true(gi_gfid_equal(&now, &gfid));
  yard_free(y);
}

/* Every set of copies shares one with the only quorum there is. What was promised is on all disks: each shows it, or what came later. */
static void
who_shares_a_copy_with_every_quorum_is_right(void **state)
{
  struct gi_gfid right;

  YARD_NEW(y,
           "option quorum-type fixed\noption quorum-count 3\noption granular-entry-heal on\noption use-anonymous-inode on\n");
  right = left_behind(y, 1, "twin", GI_FOP_MKNOD);
  left_behind(y, 2, "twin", GI_FOP_MKNOD);
  a_lookup_settles(y, &right);
  yard_free(y);
}

/* Who asks for the bigger file does not get another one, even where one is proven right. */
static void
who_says_how_gets_that_or_nothing(void **state)
{
  struct gi_gfid was[YARD];

  YARD_NEW(y,
           "option quorum-type fixed\noption quorum-count 3\noption granular-entry-heal on\noption use-anonymous-inode on\n");
  for (unsigned i = 0; i < YARD; i++)
    was[i] = left_behind(y, i, "twin", GI_FOP_MKNOD);

  struct gi_inode *root = gi_inode_get(y->graph, &gi_gfid_root);
  struct gi_fop *fop = gi_fop_new(y->graph, GI_FOP_LOOKUP);

  gi_fop_set_entry(fop, &fop->loc, root, "twin");
  gi_inode_unref(&root);
  gi_dict_set_int(gi_fop_xdata(fop), "heal-op", GI_HEAL_BIGGER_FILE);
  assert_int_equal(yard_submit(y, fop), EIO);
  for (unsigned i = 0; i < YARD; i++) {
    struct gi_gfid now = yard_disk_gfid(y, i, "twin");

    assert_true(gi_gfid_equal(&now, &was[i]));
  }
  yard_gfid(y, "twin"); /* nobody says how */
  assert_int_equal(y->err, 0);
  yard_free(y);
}

/* Everybody is accused, but one by fewer than a quorum: it has missed nothing that was acknowledged. */
static void
whom_no_quorum_accuses_is_right(void **state)
{
  const int32_t one[REP_TYPES] = {[REP_ENTRY] = 1};
  struct gi_gfid right;

  YARD_NEW(y, OPTIONS);
  left_behind(y, 0, "twin", GI_FOP_MKDIR);
  left_behind(y, 1, "twin", GI_FOP_MKDIR);
  right = left_behind(y, 2, "twin", GI_FOP_MKDIR);
  yard_set_mark(y, 1, "", 0, one);
  yard_set_mark(y, 2, "", 0, one);
  yard_set_mark(y, 0, "", 1, one);
  yard_set_mark(y, 2, "", 1, one);
  yard_set_mark(y, 0, "", 2, one);
  heals_everything(y);
  everywhere(y, "twin", &right);
  yard_free(y);
}

static struct gi_fop *
move(struct yard *y, const char *from, const struct gi_gfid *what, const char *to, const struct gi_gfid *over)
{
  struct gi_inode *root = gi_inode_get(y->graph, &gi_gfid_root);
  struct gi_fop *fop = gi_fop_new(y->graph, GI_FOP_RENAME);

  gi_fop_set_entry(fop, &fop->loc, root, from);
  fop->loc.inode = gi_inode_get(y->graph, what);
  gi_fop_set_entry(fop, &fop->loc2, root, to);
  fop->loc2.inode = gi_inode_get(y->graph, over);
  gi_inode_unref(&root);
  return fop;
}

/* A directory was moved over an empty one on one brick only, with another brick away: it goes back, and what it replaced stays. */
static void
a_move_that_failed_removes_nothing(void **state)
{
  struct gi_gfid from, to;

  YARD_NEW(y, OPTIONS);
  yard_mkdir(y, "from");
  yard_mkdir(y, "to");
  from = yard_disk_gfid(y, 0, "from");
  to = yard_disk_gfid(y, 0, "to");
  yard_down(y, 2);
  y->gate[1]->fail_err[GI_FOP_RENAME] = ENOSPC;
  assert_int_not_equal(yard_submit(y, move(y, "from", &from, "to", &to)), 0);
  y->gate[1]->fail_err[GI_FOP_RENAME] = 0;
  yard_up(y, 2);
  heals_everything(y);
  everywhere(y, "from", &from);
  everywhere(y, "to", &to);
  yard_free(y);
}

/* The same on the only brick that has missed nothing. The others have the directory under names that go, for the good copy has not got
 * them: it stays where it was moved to. */
static void
a_move_that_only_the_good_copy_did_is_completed(void **state)
{
  struct gi_gfid from, to;

  YARD_NEW(y, OPTIONS);
  yard_mkdir(y, "old");
  yard_create(y, "old/file", "content");
  yard_mkdir(y, "to");
  from = yard_disk_gfid(y, 0, "old");
  to = yard_disk_gfid(y, 0, "to");
  yard_down(y, 2);
  yard_rename(y, "old", "from");
  yard_up(y, 2);
  yard_down(y, 1);
  yard_mkdir(y, "missed");
  yard_up(y, 1);
  yard_down(y, 2);
  y->gate[1]->fail_err[GI_FOP_RENAME] = ENOSPC;
  assert_int_not_equal(yard_submit(y, move(y, "from", &from, "to", &to)), 0);
  y->gate[1]->fail_err[GI_FOP_RENAME] = 0;
  yard_up(y, 2);
  heals_everything(y);
  everywhere(y, "to", &from);
  assert_true(yard_has(y, 2, "to/file"));
  yard_free(y);
}

/* ---- reachable nowhere ---- */

struct purge {
  struct yard *y;
  struct gi_gfid gfid;
  bool purged;
};

static void
make_anon(void *arg)
{
  struct purge *p = arg;
  struct rep_heal h;
  uint32_t there;
  struct gi_inode *anon;

  rep_heal_begin(&h, p->y->rep, &gi_gfid_root, GI_PID_HEAL);
  anon = rep_anon_make(&h, p->y->rep->all, &there);
  assert_int_equal(there, p->y->rep->all);
  gi_inode_unref(&anon);
  rep_heal_end(&h);
}

static void
repair(void *arg)
{
  struct yard *y = arg;
  struct rep_heal h;

  rep_heal_begin(&h, y->rep, &gi_gfid_root, GI_PID_HEAL);
  rep_anon_repair(&h);
  rep_heal_end(&h);
  gi_task_sleep(y->ctx.reactor, 50 * GI_NSEC_PER_MSEC);
}

static void
handle_path(const struct yard *y, unsigned brick, const struct gi_gfid *gfid, char out[PATH_MAX])
{
  char text[GI_UUID_TEXT], inside[PATH_MAX];

  gi_gfid_text(gfid, text);
  snprintf(inside, sizeof(inside), ".glusterfs/%.2s/%.2s/%s", text, text + 2, text);
  yard_path(y, out, brick, inside);
}

/* A brick that lost its power has the name, but neither the gfid nor the handle. What is younger than a second may be in the making. */
static void
half_an_anonymous_directory_is_mended(void **state)
{
  char path[PATH_MAX], handle[PATH_MAX];
  unsigned looked[YARD], tries = 0;
  struct gi_gfid gfid;
  struct purge p;

  YARD_NEW(y, OPTIONS);
  p.y = y;
  yard_task(y, make_anon, &p);
  assert_true(rep_anon_gfid(y->rep, &gfid));
  yard_path(y, path, 1, ANON);
  handle_path(y, 1, &gfid, handle);
  assert_int_equal(removexattr(path, "trusted.gfid"), 0);
  assert_int_equal(unlink(handle), 0);
  for (struct gi_gfid now = gi_gfid_none; !gi_gfid_equal(&now, &gfid); now = yard_disk_gfid(y, 1, ANON)) {
    assert_true(tries++ < 200);
    for (unsigned i = 0; i < YARD; i++)
      looked[i] = y->gate[i]->count[GI_FOP_LOOKUP];
    yard_task(y, repair, y);
    for (unsigned i = 0; i < YARD; i++)
      assert_int_equal(y->gate[i]->count[GI_FOP_LOOKUP], looked[i] + 1);
  }
  assert_int_equal(access(handle, F_OK), 0);
  yard_free(y);
}

static void
wait_a_little(void *arg)
{
  struct yard *y = arg;

  gi_task_sleep(y->ctx.reactor, 50 * GI_NSEC_PER_MSEC);
}

static void
wait_a_second(void *arg)
{
  struct yard *y = arg;

  gi_task_sleep(y->ctx.reactor, 1100 * GI_NSEC_PER_MSEC);
}

static bool
has_gfid_everywhere(struct yard *y, const char *path)
{
  for (unsigned i = 0; i < YARD; i++) {
    struct gi_gfid gfid = yard_disk_gfid(y, i, path);
    if (gi_gfid_is_none(&gfid))
      return false;
  }
  return true;
}

/* Somebody has put it on the bricks, or on some of them: whoever looks at it gives it a gfid, everywhere the same. */
static void
what_was_put_there_gets_a_gfid(void **state)
{
  for (unsigned on = 1; on <= YARD; on++) {
    struct gi_gfid gfid;
    char path[PATH_MAX];

    YARD_NEW(y, OPTIONS);
    for (unsigned i = 0; i < on; i++) {
      yard_path(y, path, i, "found");
      FILE *f = fopen(path, "w");
      assert_non_null(f);
      assert_true(fputs("content", f) >= 0 && fclose(f) == 0);
    }
    gfid = yard_gfid(y, "found");
    for (unsigned tries = 0; !has_gfid_everywhere(y, "found"); tries++) { /* each copy may still be in the making */
      assert_true(tries < 200);
      yard_task(y, wait_a_little, y);
      gfid = yard_gfid(y, "found");
    }
    assert_int_equal(y->err, 0);
    everywhere(y, "found", &gfid);
    yard_heal(y);
    yard_same(y, true);
    yard_free(y);
  }
}

/* A brick that lost its power in a MKDIR: what else the directory has lost there is not known, so all of it is healed. */
static void
who_lost_the_gfid_may_have_lost_more(void **state)
{
  char path[PATH_MAX], handle[PATH_MAX];
  struct gi_gfid gfid;
  unsigned tries = 0;

  YARD_NEW(y, OPTIONS);
  yard_mkdir(y, "dir");
  gfid = yard_disk_gfid(y, 1, "dir");
  yard_path(y, path, 1, "dir");
  handle_path(y, 1, &gfid, handle);
  assert_int_equal(removexattr(path, "trusted.gfid"), 0);
  assert_int_equal(unlink(handle), 0);
  assert_int_equal(chmod(path, 0700), 0);
  for (struct gi_gfid now = gi_gfid_none; !gi_gfid_equal(&now, &gfid); now = yard_disk_gfid(y, 1, "dir")) {
    assert_true(tries++ < 200);
    yard_gfid(y, "dir");
    yard_task(y, wait_a_little, y);
  }
  heals_everything(y);
  everywhere(y, "dir", &gfid);
  yard_free(y);
}

/* A brick that nobody accuses lost its power in the making of "dir": it has no gfid there, and accuses the others. */
static void
lost_in_the_making(struct yard *y, unsigned brick, bool dirty)
{
  static const int32_t missed[REP_TYPES] = {[REP_ENTRY] = 1};
  char path[PATH_MAX];

  yard_task(y, wait_a_second, y); /* for so long a brick knows what it has written itself */
  yard_path(y, path, brick, "dir");
  assert_int_equal(removexattr(path, "trusted.gfid"), 0);
  forget_marks(y);
  for (unsigned j = 0; j < YARD; j++)
    if (j != brick)
      yard_set_mark(y, brick, "", j, missed);
  if (dirty)
    yard_set_mark(y, brick, "", YARD, missed);
}

static void
what_has_no_gfid_is_no_object(void **state)
{
  for (unsigned dirty = 0; dirty < 2; dirty++) {
    YARD_NEW(y, OPTIONS);
    for (unsigned i = 0; i < YARD; i++)
      left_behind(y, i, "dir", GI_FOP_MKDIR);
    lost_in_the_making(y, 0, dirty);
    heals_everything(y);
    assert_false(yard_has(y, 0, "dir") || yard_has(y, 1, "dir") || yard_has(y, 2, "dir"));
    yard_free(y);
  }
}

/* What a quorum has may have been acknowledged. */
static void
what_has_no_gfid_follows_a_quorum(void **state)
{
  static const enum gi_fop_kind kind[] = {GI_FOP_MKDIR, GI_FOP_MKNOD};

  for (unsigned v = 0; v < 4; v++) {
    struct gi_gfid right;

    YARD_NEW(y, OPTIONS);
    left_behind(y, 0, "dir", kind[v / 2]);
    yard_mkdir(y, "dir");
    right = yard_disk_gfid(y, 1, "dir");
    lost_in_the_making(y, 0, v % 2);
    for (unsigned tries = 0; yard_heal(y) != 0; tries++) { /* what is younger than a second may still be in the making */
      assert_true(tries < 200);
      yard_task(y, wait_a_little, y);
    }
    heals_everything(y);
    everywhere(y, "dir", &right);
    yard_free(y);
  }
}

static void
purge(void *arg)
{
  struct purge *p = arg;
  struct rep_heal h;

  rep_heal_begin(&h, p->y->rep, &p->gfid, GI_PID_HEAL);
  p->purged = rep_shd_purge_unreachable(&h);
  rep_heal_end(&h);
}

static void
anon_path(const struct gi_gfid *gfid, char out[PATH_MAX])
{
  char text[GI_UUID_TEXT];

  snprintf(out, PATH_MAX, "%s/%s", ANON, gi_gfid_text(gfid, text));
}

/* Moves the name of an object to the anonymous directory of a brick, as a heal does. */
static void
put_away(struct yard *y, unsigned brick, const char *name, const struct gi_gfid *gfid)
{
  char from[PATH_MAX], to[PATH_MAX], inside[PATH_MAX];

  anon_path(gfid, inside);
  yard_path(y, from, brick, name);
  yard_path(y, to, brick, inside);
  assert_int_equal(rename(from, to), 0);
}

/* It carries marks itself, so as long as it is there something is left to heal, and with that it would never go. */
static void
marked_objects_reachable_nowhere_go(void **state)
{
  struct purge p;
  char path[PATH_MAX];

  YARD_NEW(y, OPTIONS);
  p.y = y;
  yard_down(y, 0);
  yard_create(y, "x", "content"); /* the others note what brick 0 lacks */
  yard_up(y, 0);
  p.gfid = yard_disk_gfid(y, 1, "x");
  yard_task(y, make_anon, &p);
  anon_path(&p.gfid, path);

  yard_task(y, purge, &p);
  assert_false(p.purged);
  put_away(y, 1, "x", &p.gfid);
  yard_task(y, purge, &p);
  assert_false(p.purged); /* brick 2 still has it under its name */
  assert_true(yard_has(y, 1, path) && yard_has(y, 2, "x"));

  put_away(y, 2, "x", &p.gfid);
  y->gate[0]->fail_err[GI_FOP_LOOKUP] = EIO;
  yard_task(y, purge, &p);
  assert_false(p.purged); /* brick 0 may have it for all we know */
  y->gate[0]->fail_err[GI_FOP_LOOKUP] = 0;
  yard_task(y, purge, &p);
  assert_true(p.purged);
  assert_false(yard_has(y, 1, path) || yard_has(y, 2, path));
  yard_free(y);
}

static void
clean(void *arg)
{
  struct purge *p = arg;
  struct rep_shd shd = {.rep = p->y->rep};
  struct rep_heal h;

  p->y->rep->shd = &shd;
  rep_heal_begin(&h, p->y->rep, &gi_gfid_root, GI_PID_HEAL);
  rep_shd_clean(&h, p->y->rep->all);
  rep_heal_end(&h);
  p->y->rep->shd = NULL;
}

/* A brick made a new file when its power went: there is only a name without gfid. What has that name by now is on the brick already. */
static void
what_has_no_gfid_gives_way(void **state)
{
  char path[PATH_MAX];
  struct purge p;
  int fd;

  for (unsigned content = 0; content < 2; content++) {
    YARD_NEW(y, OPTIONS);
    p.y = y;
    yard_create(y, "w", "content");
    p.gfid = yard_disk_gfid(y, 1, "w");
    yard_task(y, make_anon, &p);
    yard_down(y, 0);
    yard_rename(y, "w", "x");
    put_away(y, 0, "w", &p.gfid);
    yard_path(y, path, 0, "x");
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
    assert_true(fd >= 0 && write(fd, "somebody's", content ? 10 : 0) >= 0);
    close(fd);
    yard_up(y, 0);
    for (unsigned tries = 0; tries < 40 && yard_heal(y) != 0;
         tries++) /* what is younger than a second may still be in the making */
      yard_task(y, wait_a_little, y);
    if (content) {
      assert_true(yard_heal(y) > 0);
      assert_true(yard_has(y, 0, "x"));
    } else {
      heals_everything(y);
      everywhere(y, "x", &p.gfid);
    }
    yard_free(y);
  }
}

/* A brick lost the handle of a directory with its power, and a heal made the directory again. One of the two lies in the anonymous directory:
 * what it had first, which nobody finds by its gfid, or what was healed since. */
static void
what_was_made_twice_is_there_once(void **state)
{
  char inside[PATH_MAX], path[PATH_MAX], handle[PATH_MAX], text[PATH_MAX];
  struct gi_gfid anon;
  struct purge p;

  for (unsigned second = 0; second < 2; second++) {
    YARD_NEW(y, OPTIONS "option self-heal-daemon on\n");
    p.y = y;
    yard_mkdir(y, "x");
    yard_create(y, "x/f", "content");
    p.gfid = yard_disk_gfid(y, 1, "x");
    yard_task(y, make_anon, &p);
    anon_path(&p.gfid, inside);
    if (second) {
      put_away(y, 1, "x", &p.gfid);
      assert_true(rep_anon_gfid(y->rep, &anon));
      handle_path(y, 0, &anon, path);
      snprintf(text, sizeof(text), "../..%s/%s", strrchr(path, '/') - 6, strrchr(inside, '/') + 1);
      handle_path(y, 1, &p.gfid, handle);
      assert_int_equal(unlink(handle) || symlink(text, handle), 0);
    }
    yard_path(y, path, 1, second ? "x" : inside);
    assert_int_equal(mkdir(path, 0755) || setxattr(path, "trusted.gfid", p.gfid.b, sizeof(p.gfid.b), 0), 0);
    yard_task(y, clean, &p);
    assert_false(yard_has(y, 1, inside));
    everywhere(y, "x", &p.gfid);
    assert_true(yard_has(y, 1, "x/f"));
    yard_free(y);
  }
}

/* A linkto file, under the gfid of the file that was here before. */
static int
make_linkto(struct yard *y, const char *dir, const char *name, const struct gi_gfid *gfid)
{
  const struct gi_gfid place = *dir ? yard_disk_gfid(y, 0, dir) : gi_gfid_root;
  struct gi_inode *parent = gi_inode_get(y->graph, &place);
  struct gi_fop *fop = gi_fop_new(y->graph, GI_FOP_MKNOD);

  gi_fop_set_entry(fop, &fop->loc, parent, name);
  gi_inode_unref(&parent);
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", gfid);
  gi_dict_set_str(gi_fop_xdata(fop), "glusterfs-internal-fop", "yes");
  gi_dict_set_str(gi_fop_xdata(fop), "trusted.glusterfs.dht.linkto", "elsewhere");
  fop->args.mode = S_IFREG | S_ISVTX;
  return yard_submit(y, fop);
}

/* A brick has missed that a file went, and a linkto file of the same gfid is made: there it is the old file under one more name. */
static void
a_linkto_file_ends_what_the_file_was(void **state)
{
  enum { IS_BACK, IS_AWAY, MAKER_DIED, CASES };

  for (unsigned c = 0; c < CASES; c++) {
    struct gi_gfid gfid;
    char path[PATH_MAX];
    struct stat st;

    YARD_NEW(y, OPTIONS);
    yard_create(y, "file", "content");
    gfid = yard_disk_gfid(y, 0, "file");
    yard_down(y, 2);
    yard_unlink(y, "file");
    if (c == IS_BACK)
      yard_up(y, 2);
    assert_int_equal(make_linkto(y, "", "name", &gfid), 0);
    for (unsigned i = 0; i < 2; i++) {
      assert_int_equal(yard_mark(y, i, "name", 2, REP_DATA), 1);
      assert_int_equal(yard_mark(y, i, "name", 2, REP_META), 1);
      if (c == MAKER_DIED)
        yard_set_mark(y, i, "name", 2, nothing);
    }
    if (c != IS_BACK)
      yard_up(y, 2);
    if (c == MAKER_DIED) /* the name is in the index still, which it would not be: then the directory comes first */
      assert_int_equal(yard_heal_entry(y, ""), REP_HEALED);
    heals_everything(y);
    yard_path(y, path, 2, "name");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, S_ISVTX);
    assert_int_equal(st.st_size, 0);
    assert_true(getxattr(path, "trusted.glusterfs.dht.linkto", NULL, 0) > 0);
    assert_false(yard_has(y, 2, "file"));
    yard_free(y);
  }
}

/* What has its mode and not its attribute is taken for a file, and is not removed as a linkto file where the others remove it. */
static void
a_linkto_file_is_healed_with_its_attribute(void **state)
{
  struct gi_gfid gfid = {{0x77}};
  char path[PATH_MAX], value[16];

  YARD_NEW(y, OPTIONS);
  yard_down(y, 2);
  assert_int_equal(make_linkto(y, "", "name", &gfid), 0);
  yard_up(y, 2);
  assert_int_equal(yard_heal_entry(y, ""), REP_HEALED);
  yard_path(y, path, 2, "name");
  assert_true(getxattr(path, "trusted.glusterfs.dht.linkto", value, sizeof(value)) > 0);
  assert_memory_equal(value, "elsewhere", 9);
  heals_everything(y);
  yard_free(y);
}

/* The same in two directories, healed one after the other. What the file was is kept nowhere: it would be in the way when another linkto file of it
 * is made, and that be refused while another brick is away. */
static void
nothing_is_kept_of_a_file_that_left(void **state)
{
  static const char *const order[][2] = {{"was", "is"}, {"is", "was"}};

  for (unsigned c = 0; c < GI_ARRAY_LEN(order); c++) {
    struct gi_gfid gfid;
    char inside[PATH_MAX];

    YARD_NEW(y, OPTIONS);
    yard_mkdir(y, "was");
    yard_mkdir(y, "is");
    yard_create(y, "was/file", "content");
    gfid = yard_disk_gfid(y, 0, "was/file");
    anon_path(&gfid, inside);
    yard_down(y, 2);
    yard_unlink(y, "was/file");
    assert_int_equal(make_linkto(y, "is", "name", &gfid), 0);
    yard_up(y, 2);
    for (unsigned i = 0; i < 2; i++)
      assert_int_equal(yard_heal_entry(y, order[c][i]), REP_HEALED);
    heals_everything(y);
    assert_false(yard_has(y, 2, inside));
    yard_unlink(y, "is/name");
    yard_down(y, 1);
    assert_int_equal(make_linkto(y, "was", "again", &gfid), 0);
    yard_up(y, 1);
    heals_everything(y);
    yard_free(y);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_nobody_accuses_is_right),
      cmocka_unit_test(a_directory_too),
      cmocka_unit_test(a_move_that_failed_removes_nothing),
      cmocka_unit_test(a_move_that_only_the_good_copy_did_is_completed),
      cmocka_unit_test(what_has_no_gfid_is_no_object),
      cmocka_unit_test(what_was_put_there_gets_a_gfid),
      cmocka_unit_test(what_has_no_gfid_follows_a_quorum),
      cmocka_unit_test(without_any_mark_most_are_right),
      cmocka_unit_test(without_mark_or_majority_nobody_is_right),
      cmocka_unit_test(who_shares_a_copy_with_every_quorum_is_right),
      cmocka_unit_test(who_says_how_gets_that_or_nothing),
      cmocka_unit_test(whom_no_quorum_accuses_is_right),
      cmocka_unit_test(what_has_no_gfid_gives_way),
      cmocka_unit_test(what_was_made_twice_is_there_once),
      cmocka_unit_test(half_an_anonymous_directory_is_mended),
      cmocka_unit_test(who_lost_the_gfid_may_have_lost_more),
      cmocka_unit_test(marked_objects_reachable_nowhere_go),
      cmocka_unit_test(a_linkto_file_ends_what_the_file_was),
      cmocka_unit_test(a_linkto_file_is_healed_with_its_attribute),
      cmocka_unit_test(nothing_is_kept_of_a_file_that_left),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
