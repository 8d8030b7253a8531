/* SPDX-License-Identifier: Apache-2.0
 *
 * Lock, mark and operation in one message: the rounds it takes when nothing
 * speaks against it, and what happens when another client is met.
 */
#include "xlators/cluster/replicate/testing/model.h"

#include <fcntl.h>

static struct rig *
ours_with_file(const char *options, struct gi_fd **fd)
{
  struct rig *r = rig_with_file(options, fd);

  rig_ours(r);
  return r;
}

static struct rig *
ours(void)
{
  struct rig *r = rig_new(NULL);

  rig_object(r, 5, S_IFREG | 0644);
  rig_object(r, 6, S_IFDIR | 0755);
  rig_ours(r);
  return r;
}

/* ---- one round ---- */

static void
test_write(void **state)
{
  struct gi_fd *fd;
  struct rig *r = ours_with_file(NULL, &fd);
  struct gi_fop *f = rig_write(r, fd, 0, 4096), *g = rig_write(r, fd, 8192, 4096), *s = rig_fd(r, GI_FOP_FSYNC, fd);

  rig_run(r, f);
  rig_done(f, 4096, 0);
  assert_null(f->rsp.xdata ? gi_dict_get(f->rsp.xdata, "glusterish.preamble") : NULL);
  rig_log_all(r, "( L:0 X:d+1 ) WRITE");
  rig_run(r, g);
  rig_run(r, s);
  rig_done(s, 0, 0);
  rig_log_all(r, "WRITE FSYNC"); /* the lock and the mark are kept; an fsync costs no mark */
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 5, "D:d1");
  gi_graph_deactivate(r->s->graph);
  fake_settle(r->s);
  rig_log_all(r, "X:d-1 U:0");
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 5, "");
  rig_free_clean(r);
}

/* An fsync does not wait for the answer of a write that is under way. */
static void
test_write_and_fsync_under_way(void **state)
{
  struct gi_fd *fd;
  struct rig *r = ours_with_file(NULL, &fd);
  struct gi_fop *f = rig_write(r, fd, 0, 4096), *g = rig_write(r, fd, 0, 4096), *s = rig_fd(r, GI_FOP_FSYNC, fd);

  rig_run(r, f);
  rig_hold(r, 1, GI_FOP_WRITE);
  rig_run(r, g);
  rig_forget(r);
  rig_run(r, s);
  assert_false(g->answered);
  rig_log_all(r, "FSYNC");
  assert_true(fake_release(r->s, 1, GI_FOP_WRITE, 4096, 0));
  fake_settle(r->s);
  rig_done(g, 4096, 0);
  rig_free_clean(r);
}

static void
test_attributes(void **state)
{
  struct rig *r = ours();
  struct gi_fop *f = rig_loc(r, GI_FOP_SETATTR, 5);

  f->args.valid = GI_SET_MODE;
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_log_all(r, "( L:m ) SETATTR U:m");
  rig_free_clean(r);
}

static void
test_names(void **state)
{
  static const struct {
    enum gi_fop_kind kind;
    const char *name, *want;
  } cases[] = {
      {GI_FOP_CREATE, "new", "( E:new ) CREATE EU:new"}, {GI_FOP_MKDIR, "dir", "( E:dir ) MKDIR EU:dir"},
      {GI_FOP_MKNOD, "nod", "( E:nod ) MKNOD EU:nod"},   {GI_FOP_SYMLINK, "sym", "( E:sym ) SYMLINK EU:sym"},
      {GI_FOP_UNLINK, "f5", "( E:f5 ) UNLINK EU:f5"},
  };

  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct rig *r = ours();
    struct gi_fop *f = rig_entry(r, cases[i].kind, 1, cases[i].name, cases[i].kind == GI_FOP_UNLINK ? 0 : 20);

    rig_run(r, f);
    rig_done(f, 0, 0);
    rig_log_all(r, cases[i].want);
    rig_free_clean(r);
  }
}

static void
test_rename(void **state)
{
  struct rig *r = ours();
  struct gi_fop *f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);

  gi_fop_set_entry(f, &f->loc2, f->loc.parent, "g5");
  f->loc.inode = gi_inode_get(r->s->graph, &brick_object(&r->brick[0], 5)->stat.gfid);
  f->loc.inode->mode = S_IFREG;
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_log_all(r, "( E:f5 E:g5 ) RENAME EU:f5 EU:g5");
  rig_free_clean(r);
}

static struct gi_fop *
rename_to_free(struct rig *r, uint8_t n, const char *name, uint32_t mode)
{
  struct gi_fop *f = rig_entry(r, GI_FOP_RENAME, 1, name, 0);

  gi_fop_set_entry(f, &f->loc2, f->loc.parent, "g");
  f->loc.inode = gi_inode_get(r->s->graph, &brick_object(&r->brick[0], n)->stat.gfid);
  f->loc.inode->mode = mode;
  gi_dict_set_uint(gi_fop_xdata(f), GI_NOREPLACE_KEY, 1);
  rig_run(r, f);
  return f;
}

/* If it is to replace nothing, what has the new name need not be known to be locked. Unless all bricks see to that nothing is sent. */
static void
test_rename_to_a_free_name(void **state)
{
  struct rig *r = ours();

  rig_done(rename_to_free(r, 5, "f5", S_IFREG), 0, 0);
  rig_log_all(r, "( E:f5 E:g ) RENAME EU:f5 EU:g");
  rig_done(rename_to_free(r, 6, "f6", S_IFDIR), 0, 0);
  rig_log_all(r, "( E:f6 E:g ) RENAME EU:f6 EU:g");
  fake_event(r->s, 1, GI_EVENT_CHILD_DOWN, NULL);
  fake_event(r->s, 1, GI_EVENT_CHILD_UP, GI_PREAMBLE_CAPABILITY);
  fake_settle(r->s);
  rig_done(rename_to_free(r, 6, "g", S_IFDIR), -1, EOPNOTSUPP);
  rig_log_all(r, "");
  rig_free_clean(r);
}

/* The operation's own failure everywhere is what the application hears; nobody is blamed. */
static void
test_symmetric_failure(void **state)
{
  struct rig *r = ours();
  struct gi_fop *f = rig_entry(r, GI_FOP_MKDIR, 1, "f6", 20);

  rig_run(r, f);
  rig_done(f, -1, EEXIST);
  rig_log_all(r, "( E:f6 ) MKDIR EU:f6");
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 1, "");
  rig_free_clean(r);
}

/* ---- when it is not tried ---- */

static void
test_not_tried(void **state)
{
  struct gi_fd *fd;
  struct rig *r = ours_with_file(NULL, &fd);
  struct gi_fop *f = rig_write(r, fd, 0, 10), *g, *h;

  f->args.flags = O_APPEND; /* a second time would append twice */
  rig_run(r, f);
  rig_log_all(r, "L:0 X:d+1 WRITE");
  g = rig_loc(r, GI_FOP_SETXATTR, 5);
  g->args.dict = gi_dict_new();
  gi_dict_set_str(g->args.dict, "user.a", "b");
  g->args.flags = 1; /* XATTR_CREATE */
  rig_run(r, g);
  rig_log_all(r, "L:m SETXATTR U:m");
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd)); /* a session ends with the connection */
  fake_event(r->s, 1, GI_EVENT_CHILD_DOWN, NULL);
  fake_event(r->s, 1, GI_EVENT_CHILD_UP, "something else"); /* one brick that does not understand it */
  fake_settle(r->s);
  rig_run(r, rig_loc(r, GI_FOP_LOOKUP, 1));
  rig_forget(r);
  h = rig_entry(r, GI_FOP_MKDIR, 1, "dir", 20);
  rig_run(r, h);
  rig_log_all(r, "E:dir MKDIR EU:dir");
  rig_free_clean(r);
}

static void
test_not_when_a_copy_is_bad(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f = rig_write(r, fd, 0, 10);

  rig_blame(r, 0, 5, 2, 0);
  rig_ours(r);
  rig_run(r, f);
  rig_done(f, 10, 0);
  rig_log_all(r, "L:0 X:d+1 WRITE");
  rig_free_clean(r);
}

/* ---- meetings: data ---- */

/* Every set of bricks that refuse: the write reaches all of them, once the locks were waited for, and the dirty marks add up. */
static void
test_write_meets(void **state)
{
  for (unsigned refusing = 1; refusing < 8; refusing++) {
    struct gi_fd *fd;
    struct rig *r = ours_with_file(NULL, &fd);
    struct gi_fop *f = rig_write(r, fd, 0, 4096);

    for (unsigned i = 0; i < BRICKS; i++)
      if ((refusing >> i) & 1)
        r->brick[i].fail_once[GI_FOP_INODELK] = EAGAIN;
    rig_run(r, f);
    rig_done(f, 4096, 0);
    for (unsigned i = 0; i < BRICKS; i++) {
      rig_log(r, i, (refusing >> i) & 1 ? "( !L:0 ) W:0 X:d+1 WRITE" : "( L:0 X:d+1 ) WRITE U:0 W:0 X:0 WRITE");
      rig_marks(r, i, 5, "D:d1");
    }
    gi_graph_deactivate(r->s->graph);
    fake_settle(r->s);
    for (unsigned i = 0; i < BRICKS; i++)
      rig_marks(r, i, 5, "");
    rig_free_clean(r);
  }
}

/* Sees to it that something happens at a brick while a lock is waited for: then others may have it. */
static void
while_waiting(struct brick *b, struct gi_fop *fop, void *happens)
{
  bool lock = fop->kind == GI_FOP_INODELK || fop->kind == GI_FOP_FINODELK;

  if (lock && fop->args.cmd == GI_LKCMD_SETW && fop->args.flock.type != GI_LK_UNLOCK)
    ((void (*)(struct brick_object * o)) happens)(brick_object(b, 5));
}

static void
grow_by_heal(struct brick_object *o)
{
  o->stat.size = 4096;
}

static void
append_by_others(struct brick_object *o)
{
  o->stat.size += 100;
}

static void
overwrite_by_others(struct brick_object *o)
{
  o->stat.ctime.nsec++;
}

/* Whoever asked for the write is told what the file was before the first attempt, unless others changed it before the second. */
static void
test_write_meets_and_tells(void **state)
{
  static const struct {
    void (*happens)(struct brick_object *o);
    bool everywhere; /* or only where the lock was refused */
    uint64_t pre, post;
    uint32_t nsec;
  } cases[] = {
      {NULL, false, 0, 4096, 0},
      {grow_by_heal, false, 0, 4096, 0}, /* from those that did the first attempt */
      {append_by_others, true, 4196, 4196, 0},
      {overwrite_by_others, true, 4096, 4096, 1},
  };

  for (size_t c = 0; c < GI_ARRAY_LEN(cases); c++)
    for (unsigned refuses = 0; refuses < BRICKS; refuses++) {
      struct gi_fd *fd;
      struct rig *r = ours_with_file(NULL, &fd);
      struct gi_fop *f = rig_write(r, fd, 0, 4096);

      for (unsigned i = 0; i < BRICKS; i++) {
        if (cases[c].happens && (cases[c].everywhere || i == refuses)) {
          r->brick[i].hook = while_waiting;
          r->brick[i].hook_arg = (void *)cases[c].happens;
        }
        if (cases[c].everywhere && i == refuses)
          brick_object(&r->brick[i], 5)->stat.size = 4096; /* others' heal was there already */
      }
      r->brick[refuses].fail_once[GI_FOP_INODELK] = EAGAIN;
      rig_run(r, f);
      rig_done(f, 4096, 0);
      assert_int_equal(f->rsp.pre.size, cases[c].pre);
      assert_int_equal(f->rsp.post.size, cases[c].post);
      assert_int_equal(f->rsp.pre.ctime.nsec, cases[c].nsec);
      gi_graph_deactivate(r->s->graph);
      fake_settle(r->s);
      rig_free_clean(r);
    }
}

/* As bricks do: later than it was, and not before what the change says. */
static void
move_ctime(struct brick *b, struct gi_fop *fop, void *arg)
{
  struct gi_time *c = &brick_object(b, 5)->stat.ctime;
  const struct gi_time *t = &fop->caller.time;

  if (fop->kind != GI_FOP_WRITE || b->fail_once[GI_FOP_INODELK]) /* or it is about to be refused */
    return;
  if (t->sec > c->sec || (t->sec == c->sec && t->nsec > c->nsec))
    *c = *t;
  else
    c->nsec++;
}

/* Bricks that did it twice show no other time than the one that did it once: who looks at another one would see a change of others. */
static void
test_write_meets_and_times_stay_alike(void **state)
{
  for (unsigned behind = 0; behind < 2; behind++) /* the client's clock is */
    for (unsigned refuses = 0; refuses < BRICKS; refuses++) {
      struct gi_fd *fd;
      struct rig *r = ours_with_file(NULL, &fd);
      struct gi_fop *f = rig_write(r, fd, 0, 4096);

      f->caller.time = (struct gi_time){.sec = 100, .nsec = GI_NSEC_PER_SEC - 1};
      for (unsigned i = 0; i < BRICKS; i++) {
        brick_object(&r->brick[i], 5)->stat.ctime = (struct gi_time){.sec = behind ? 200 : 50};
        r->brick[i].hook = move_ctime;
      }
      r->brick[refuses].fail_once[GI_FOP_INODELK] = EAGAIN;
      rig_run(r, f);
      rig_done(f, 4096, 0);
      for (unsigned i = 0; i < BRICKS; i++) {
        assert_int_equal(brick_object(&r->brick[i], 5)->stat.ctime.sec, f->rsp.post.ctime.sec);
        assert_int_equal(brick_object(&r->brick[i], 5)->stat.ctime.nsec, f->rsp.post.ctime.nsec);
      }
      gi_graph_deactivate(r->s->graph);
      fake_settle(r->s);
      rig_free_clean(r);
    }
}

/* A size that was changed by the first attempt only is to be on the disk all the same before the mark goes. */
static void
test_truncate_meets(void **state)
{
  struct gi_fd *fd;
  struct rig *r = ours_with_file(NULL, &fd);
  struct gi_fop *f = rig_fd(r, GI_FOP_FTRUNCATE, fd);

  r->brick[0].fail_once[GI_FOP_INODELK] = EAGAIN;
  rig_run(r, f);
  rig_done(f, 0, 0); /* by then every copy had that size: bricks of the model say so always */
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log(r, 0, "( !L:0 ) W:0 X:d+1 FTRUNCATE FSYNC X:d-1 U:0");
  for (unsigned i = 1; i < BRICKS; i++)
    rig_log(r, i, "( L:0 X:d+1 ) FTRUNCATE U:0 W:0 X:0 FTRUNCATE FSYNC X:d-1 U:0");
  rig_free_clean(r);
}

static void
test_pause_after_meeting(void **state)
{
  struct rig *r = ours();

  r->brick[2].fail_once[GI_FOP_INODELK] = EAGAIN;
  for (int i = 0; i < 70; i++) {
    struct gi_fop *f = rig_loc(r, GI_FOP_SETATTR, 5);

    f->args.valid = GI_SET_MODE;
    rig_forget(r);
    rig_run(r, f);
    rig_done(f, 0, 0);
    if (i == 0)
      rig_log(r, 0, "( L:m ) SETATTR U:m W:m SETATTR U:m");
    else
      rig_log(r, 0, i <= 64 ? "L:m SETATTR U:m" : "( L:m ) SETATTR U:m");
  }
  rig_free_clean(r);
}

/* A brick that goes while it is asked is one that missed the write. */
static void
test_write_brick_goes(void **state)
{
  struct gi_fd *fd;
  struct rig *r = ours_with_file(NULL, &fd);
  struct gi_fop *f = rig_write(r, fd, 0, 4096);

  rig_hold(r, 2, GI_FOP_WRITE);
  fake_submit(r->s, f);
  assert_false(f->answered);
  rig_down(r, 2);
  rig_done(f, 4096, 0);
  rig_marks(r, 0, 5, "2d1");
  rig_marks(r, 1, 5, "2d1");
  rig_free_clean(r);
}

static void
test_write_two_bricks_go(void **state)
{
  struct gi_fd *fd;
  struct rig *r = ours_with_file(NULL, &fd);
  struct gi_fop *f = rig_write(r, fd, 0, 4096);

  rig_hold(r, 1, GI_FOP_WRITE);
  fake_submit(r->s, f);
  rig_down(r, 2);
  rig_down(r, 1);
  rig_done(f, -1, ENOTCONN);
  rig_marks(r, 0, 5, "1d1,D:d1"); /* it is there, and a healer must look */
  rig_free_clean(r);
}

/* The copies have come to accuse each other since they were looked at last. */
static void
test_write_to_split_brain(void **state)
{
  struct gi_fd *fd;
  struct rig *r = ours_with_file(NULL, &fd);
  struct gi_fop *f = rig_write(r, fd, 0, 4096);

  for (unsigned i = 0; i < BRICKS; i++)
    rig_blame(r, i, 5, (i + 1) % BRICKS, 0);
  rig_run(r, f);
  rig_done(f, -1, EIO);
  rig_free_clean(r);
}

/* ---- meetings: names ---- */

/* Two of three have done it: the third is told apart, and the self-heal will find it. */
static void
test_create_won(void **state)
{
  for (unsigned loser = 0; loser < BRICKS; loser++) {
    struct rig *r = ours();
    struct gi_fop *f = rig_entry(r, GI_FOP_CREATE, 1, "new", 20);

    r->brick[loser].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
    rig_run(r, f);
    rig_done(f, 0, 0);
    rig_log(r, loser, "( !E:new )");
    for (unsigned i = 0; i < BRICKS; i++) {
      char want[32];

      if (i == loser)
        continue;
      snprintf(want, sizeof(want), "%ue1", loser);
      rig_marks(r, i, 1, want);
      snprintf(want, sizeof(want), "%ud1,%um1", loser, loser);
      rig_marks(r, i, 20, want);
      assert_string_equal(r->brick[i].index_names, "");
    }
    rig_free_clean(r);
  }
}

static void
test_won_records_the_name(void **state)
{
  struct rig *r = rig_new("option granular-entry-heal on\n");
  struct gi_fop *f = rig_entry(r, GI_FOP_MKDIR, 1, "new", 20);

  rig_ours(r);
  r->brick[2].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
  rig_run(r, f);
  rig_done(f, 0, 0);
  assert_string_equal(r->brick[0].index_names, "+new");
  rig_free_clean(r);
}

/* The majority says EEXIST, one was not asked: that is the answer, and nobody is blamed. */
static void
test_won_but_failed(void **state)
{
  struct rig *r = ours();
  struct gi_fop *f = rig_entry(r, GI_FOP_MKDIR, 1, "f6", 20);

  r->brick[0].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
  rig_run(r, f);
  rig_done(f, -1, EEXIST);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 1, "");
  rig_free_clean(r);
}

/* One of three has done it: it is taken back there before the locks are waited for. */
static void
test_lost(void **state)
{
  static const struct {
    enum gi_fop_kind kind;
    const char *name, *winner;
  } cases[] = {
      {GI_FOP_CREATE, "new", "( E:new ) CREATE UNLINK EU:new EW:new CREATE EU:new"},
      {GI_FOP_MKNOD, "new", "( E:new ) MKNOD UNLINK EU:new EW:new MKNOD EU:new"},
      {GI_FOP_MKDIR, "new", "( E:new ) MKDIR RMDIR EU:new EW:new MKDIR EU:new"},
      {GI_FOP_SYMLINK, "new", "( E:new ) SYMLINK UNLINK EU:new EW:new SYMLINK EU:new"},
  };

  for (size_t c = 0; c < GI_ARRAY_LEN(cases); c++)
    for (unsigned only = 0; only < BRICKS; only++) {
      struct rig *r = ours();
      struct gi_fop *f = rig_entry(r, cases[c].kind, 1, cases[c].name, 20);

      for (unsigned i = 0; i < BRICKS; i++)
        if (i != only)
          r->brick[i].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
      rig_run(r, f);
      rig_done(f, 0, 0);
      rig_log(r, only, cases[c].winner);
      for (unsigned i = 0; i < BRICKS; i++)
        rig_marks(r, i, 1, "");
      rig_free_clean(r);
    }
}

/* Others have made the name when we have its lock. */
static void
was_made_meanwhile(struct brick *b, struct gi_fop *fop, void *arg)
{
  if (fop->kind == GI_FOP_MKDIR && !gi_dict_get(fop->xdata, "glusterish.preamble"))
    b->fail_once[GI_FOP_MKDIR] = EEXIST;
  if (fop->kind == GI_FOP_SETATTR) {
    assert_int_equal(fop->args.valid, 0);
    assert_int_equal(fop->caller.stamps, GI_STAMP_CTIME | GI_STAMP_MTIME);
    assert_int_equal(fop->caller.time.sec, *(int *)arg);
  }
}

/* What was made and taken back has moved the directory's times on one brick. No mark tells that, so they are moved on all. */
static void
test_lost_but_for_the_times(void **state)
{
  struct rig *r = ours();
  struct gi_fop *f = rig_entry(r, GI_FOP_MKDIR, 1, "new", 20);
  int now = 4711;

  f->caller.time.sec = now;
  f->caller.stamps = GI_STAMP_CTIME | GI_STAMP_MTIME | GI_STAMP_PARENT_CTIME | GI_STAMP_PARENT_MTIME;
  r->brick[0].fail_once[GI_FOP_ENTRYLK] = r->brick[1].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
  for (unsigned i = 0; i < BRICKS; i++) {
    r->brick[i].hook = was_made_meanwhile;
    r->brick[i].hook_arg = &now;
  }
  rig_run(r, f);
  rig_done(f, -1, EEXIST);
  rig_log(r, 0, "( !E:new ) EW:new MKDIR SETATTR EU:new");
  rig_log(r, 2, "( E:new ) MKDIR RMDIR EU:new EW:new MKDIR SETATTR EU:new");
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 1, "");
  rig_free_clean(r);
}

/* Others removed the file when we have its lock. */
static void
was_removed_meanwhile(struct brick *b, struct gi_fop *fop, void *arg)
{
  if (fop->kind == GI_FOP_RENAME && !gi_dict_get(fop->xdata, "glusterish.preamble"))
    b->fail_once[GI_FOP_RENAME] = ENOENT;
}

static struct rig *
ours_with_lists(void)
{
  struct rig *r = rig_new("option granular-entry-heal on\n");

  rig_object(r, 5, S_IFREG | 0644);
  rig_ours(r);
  return r;
}

/* Brick 2 alone has done it in the first attempt, and it was not undone. The others know that it is wrong, and which names. */
static void
check_half_done(struct rig *r, struct gi_fop *f, int err, const char *names, const char *marks)
{
  for (unsigned i = 0; i < 2; i++)
    r->brick[i].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
  rig_run(r, f);
  rig_done(f, -1, err);
  for (unsigned i = 0; i < 2; i++) {
    rig_marks(r, i, 1, marks);
    assert_string_equal(r->brick[i].index_names, names);
  }
  rig_marks(r, 2, 1, "");
  rig_free_clean(r);
}

static void
test_lost_rename(void **state)
{
  struct rig *r = ours_with_lists();
  struct gi_fop *f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);

  rig_name(r, f, &f->loc, 5);
  rig_name(r, f, &f->loc2, 0);
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].hook = was_removed_meanwhile;
  check_half_done(r, f, ENOENT, "+f5+new", "2e2"); /* for each of its names */
}

static void
test_lost_and_not_taken_back(void **state)
{
  struct rig *r = ours_with_lists();
  struct gi_fop *f = rig_entry(r, GI_FOP_MKDIR, 1, "new", 20);
  int now = 0;

  r->brick[2].fail_once[GI_FOP_RMDIR] = EIO;
  for (unsigned i = 0; i < BRICKS; i++) {
    r->brick[i].hook = was_made_meanwhile;
    r->brick[i].hook_arg = &now;
  }
  check_half_done(r, f, EEXIST, "+new", "2e1");
}

/* What was there before is not taken away. */
static void
test_lost_open_of_existing(void **state)
{
  struct rig *r = ours();
  struct gi_fop *f = rig_entry(r, GI_FOP_MKDIR, 1, "f6", 20);

  r->brick[0].fail_once[GI_FOP_ENTRYLK] = r->brick[1].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
  rig_run(r, f);
  rig_done(f, -1, EEXIST);
  rig_log(r, 2, "( E:f6 ) MKDIR EU:f6 EW:f6 MKDIR EU:f6");
  rig_free_clean(r);
}

/* A removal cannot be taken back: that it is found done counts as having done it. */
static void
test_lost_unlink(void **state)
{
  struct rig *r = ours();
  struct gi_fop *f = rig_entry(r, GI_FOP_UNLINK, 1, "f5", 0);

  r->brick[1].fail_once[GI_FOP_ENTRYLK] = r->brick[2].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_log(r, 0, "( E:f5 ) UNLINK EU:f5 EW:f5 UNLINK EU:f5");
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 1, "");
  rig_free_clean(r);
}

static void
test_refused_everywhere(void **state)
{
  struct rig *r = ours();
  struct gi_fop *f = rig_entry(r, GI_FOP_UNLINK, 1, "f5", 0);

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_log_all(r, "( !E:f5 ) EW:f5 UNLINK EU:f5");
  rig_free_clean(r);
}

static void
test_create_brick_goes(void **state)
{
  struct rig *r = ours();
  struct gi_fop *f = rig_entry(r, GI_FOP_CREATE, 1, "new", 20);

  rig_hold(r, 1, GI_FOP_CREATE);
  fake_submit(r->s, f);
  assert_false(f->answered);
  rig_down(r, 1);
  rig_done(f, 0, 0);
  rig_marks(r, 0, 1, "1e1");
  rig_marks(r, 2, 20, "1d1,1m1");
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_write),
      cmocka_unit_test(test_write_and_fsync_under_way),
      cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_rename),
      cmocka_unit_test(test_rename_to_a_free_name),
      cmocka_unit_test(test_symmetric_failure),
      cmocka_unit_test(test_not_tried),
      cmocka_unit_test(test_not_when_a_copy_is_bad),
      cmocka_unit_test(test_write_meets),
      cmocka_unit_test(test_write_meets_and_tells),
      cmocka_unit_test(test_write_meets_and_times_stay_alike),
      cmocka_unit_test(test_truncate_meets),
      cmocka_unit_test(test_pause_after_meeting),
      cmocka_unit_test(test_write_brick_goes),
      cmocka_unit_test(test_write_two_bricks_go),
      cmocka_unit_test(test_write_to_split_brain),
      cmocka_unit_test(test_create_won),
      cmocka_unit_test(test_won_records_the_name),
      cmocka_unit_test(test_won_but_failed),
      cmocka_unit_test(test_lost),
      cmocka_unit_test(test_lost_but_for_the_times),
      cmocka_unit_test(test_lost_rename),
      cmocka_unit_test(test_lost_and_not_taken_back),
      cmocka_unit_test(test_lost_open_of_existing),
      cmocka_unit_test(test_lost_unlink),
      cmocka_unit_test(test_refused_everywhere),
      cmocka_unit_test(test_create_brick_goes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
