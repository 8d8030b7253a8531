/* SPDX-License-Identifier: Apache-2.0
 *
 * Every kind of change against every way in which it can fail: what the
 * application is told and what marks remain (replicate.md 6.4, 3.2). One table
 * of kinds, one of faults; each pair is run on fresh bricks.
 */
#include "xlators/cluster/replicate/testing/model.h"

/* Objects: file 5 (open), directories 6 and 7, file 8; all named fN in the root. New ones get gfid 9. */
enum { FILE_A = 5, DIR_A = 6, DIR_B = 7, FILE_B = 8, NEW = 9 };

struct kind {
  const char *name;
  enum gi_fop_kind kind;
  char slot; /* d, m, e */
  bool by_fd;
  uint8_t from, to;      /* entry kinds: the objects named, 0 = a new name */
  const char *new_marks; /* of the new object when one child lacks it, with # for that child; NULL: there is none */
};

static const struct kind kinds[] = {
    {"write", GI_FOP_WRITE, 'd', true, 0, 0, NULL},
    {"truncate", GI_FOP_TRUNCATE, 'd', false, 0, 0, NULL},
    {"ftruncate", GI_FOP_FTRUNCATE, 'd', true, 0, 0, NULL},
    {"fallocate", GI_FOP_FALLOCATE, 'd', true, 0, 0, NULL},
    {"discard", GI_FOP_DISCARD, 'd', true, 0, 0, NULL},
    {"zerofill", GI_FOP_ZEROFILL, 'd', true, 0, 0, NULL},
    {"fsync", GI_FOP_FSYNC, 'd', true, 0, 0, NULL},
    {"setattr", GI_FOP_SETATTR, 'm', false, 0, 0, NULL},
    {"fsetattr", GI_FOP_FSETATTR, 'm', true, 0, 0, NULL},
    {"setxattr", GI_FOP_SETXATTR, 'm', false, 0, 0, NULL},
    {"fsetxattr", GI_FOP_FSETXATTR, 'm', true, 0, 0, NULL},
    {"removexattr", GI_FOP_REMOVEXATTR, 'm', false, 0, 0, NULL},
    {"fremovexattr", GI_FOP_FREMOVEXATTR, 'm', true, 0, 0, NULL},
    {"create", GI_FOP_CREATE, 'e', false, 0, 0, "#d1,#m1"},
    {"mknod", GI_FOP_MKNOD, 'e', false, 0, 0, "#d1,#m1"},
    {"mkdir", GI_FOP_MKDIR, 'e', false, 0, 0, "#m1,#e1"},
    {"symlink", GI_FOP_SYMLINK, 'e', false, 0, 0, NULL},
    {"link", GI_FOP_LINK, 'e', false, FILE_A, 0, NULL},
    {"unlink", GI_FOP_UNLINK, 'e', false, FILE_B, 0, NULL},
    {"rmdir", GI_FOP_RMDIR, 'e', false, DIR_A, 0, NULL},
    {"rename to a new name", GI_FOP_RENAME, 'e', false, FILE_B, 0, NULL},
    {"rename onto a file", GI_FOP_RENAME, 'e', false, FILE_B, FILE_A, NULL},
    {"rename onto a directory", GI_FOP_RENAME, 'e', false, DIR_A, DIR_B, NULL},
};

static struct gi_fop *
make(struct rig *r, const struct kind *k, struct gi_fd *fd)
{
  struct gi_fop *f;

  if (k->slot == 'e') {
    bool makes = !k->from;

    f = rig_entry(r, k->kind, 1, "new", makes ? NEW : 0);
    f->args.mode = 0644;
    if (k->kind == GI_FOP_LINK) {
      gi_loc_clear(&f->loc);
      gi_loc_set_inode(&f->loc, fake_inode(r->s, FILE_A));
      rig_name(r, f, &f->loc2, 0);
    } else if (!makes) {
      rig_name(r, f, &f->loc, k->from);
    }
    if (k->kind == GI_FOP_RENAME)
      rig_name(r, f, &f->loc2, k->to);
    return f;
  }
  if (k->kind == GI_FOP_WRITE)
    return rig_write(r, fd, 0, 10);
  f = k->by_fd ? rig_fd(r, k->kind, fd) : rig_loc(r, k->kind, FILE_A);
  f->args.size = 10;
  f->args.name = "user.x";
  if (k->kind == GI_FOP_SETXATTR || k->kind == GI_FOP_FSETXATTR) {
    f->args.dict = gi_dict_new();
    gi_dict_set_bin(f->args.dict, "user.x", "y", 1);
  }
  return f;
}

static struct rig *
fresh(const char *options, struct gi_fd **fd)
{
  struct rig *r = rig_new(options);

  rig_object(r, FILE_A, S_IFREG | 0644);
  rig_object(r, DIR_A, S_IFDIR | 0755);
  rig_object(r, DIR_B, S_IFDIR | 0755);
  rig_object(r, FILE_B, S_IFREG | 0644);
  *fd = rig_open(r, FILE_A);
  return r;
}

/* Runs it to its very end and checks the answer. */
static void
run(struct rig *r, const struct kind *k, struct gi_fd *fd, int err)
{
  struct gi_fop *f = make(r, k, fd);

  rig_run(r, f);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  fake_settle(r->s);
  if (!f->answered || (err ? f->rsp.ret != -1 || f->rsp.err != err : f->rsp.ret < 0))
    fail_msg("%s: answered %d/%d instead of error %d; brick 0 saw %s", k->name, f->rsp.ret, f->rsp.err, err, r->brick[0].log);
}

/* `pattern` with # for the child and $ for the kind's slot and count: a rename marks both parents, here the same directory. */
static void
marks(struct rig *r, const struct kind *k, unsigned brick, uint8_t n, const char *pattern, unsigned child)
{
  char text[64];
  size_t i = 0;

  for (; *pattern; pattern++) {
    text[i++] = *pattern == '#' ? (char)('0' + child) : *pattern == '$' ? k->slot : *pattern;
    if (*pattern == '$')
      text[i++] = k->kind == GI_FOP_RENAME ? '2' : '1';
  }
  text[i] = '\0';

  if (!brick_object(&r->brick[brick], n))
    fail_msg("%s: brick %u has no object %u", k->name, brick, n);
  rig_marks(r, brick, n, text);
}

static uint8_t
marked(const struct kind *k)
{
  return k->slot == 'e' ? 1 : FILE_A;
}

static void
all_marks(struct rig *r, const struct kind *k, const char *zero, const char *one, const char *two)
{
  const char *want[] = {zero, one, two};

  for (unsigned i = 0; i < BRICKS; i++)
    marks(r, k, i, marked(k), want[i], 0);
}

#define FOR_EACH(k) for (const struct kind *k = kinds; k < kinds + GI_ARRAY_LEN(kinds); k++)

static void
fail_at(struct rig *r, const struct kind *k, unsigned child, int err)
{
  r->brick[child].fail_once[k->kind] = err;
}

/* ---- rule 1: the same error everywhere ---- */

static void
symmetric(void **state)
{
  FOR_EACH(k)
  for (int down = 0; down < 2; down++) {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);
    const char *lost = k->kind == GI_FOP_FSYNC ? "D:d1" : ""; /* what was written before may be on no disk */

    if (down)
      rig_down(r, 2);
    for (unsigned i = 0; i < BRICKS; i++)
      if (!down || i < 2)
        fail_at(r, k, i, ENOSPC);
    run(r, k, fd, ENOSPC);
    all_marks(r, k, lost, lost, down ? "" : lost); /* not even the one that is down is blamed, and nothing else stays dirty */
    rig_free_clean(r);
  }
}

/* ENOTCONN everywhere says nothing: it may have been done. */
static void
symmetric_but_unknown(void **state)
{
  FOR_EACH(k)
  {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);
    const char *dirty = k->slot == 'd' ? "D:d1" : "";

    for (unsigned i = 0; i < BRICKS; i++)
      fail_at(r, k, i, ENOTCONN);
    run(r, k, fd, ENOTCONN);
    all_marks(r, k, dirty, dirty, dirty);
    rig_free_clean(r);
  }
}

/* ---- one child fails ---- */

static void
asymmetric(void **state)
{
  FOR_EACH(k)
  for (unsigned bad = 0; bad < BRICKS; bad++) {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);

    fail_at(r, k, bad, EIO);
    run(r, k, fd, 0);
    for (unsigned i = 0; i < BRICKS; i++) {
      if (i == bad) {
        marks(r, k, i, marked(k), k->slot == 'd' ? "D:d1" : "", bad);
        continue;
      }
      marks(r, k, i, marked(k), "#$", bad);
      if (k->new_marks)
        marks(r, k, i, NEW, k->new_marks, bad);
    }
    rig_free_clean(r);
  }
}

/* A child that is down is blamed by those that did it; with one missing every type sets its dirty mark first. */
static void
one_is_down(void **state)
{
  FOR_EACH(k)
  {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);

    rig_down(r, 1);
    run(r, k, fd, 0);
    for (unsigned i = 0; i < BRICKS; i += 2) {
      /* An fsync of a file nobody writes changes nothing, so nobody misses anything. */
      marks(r, k, i, marked(k), k->kind == GI_FOP_FSYNC ? "" : "1$", 1);
      if (k->new_marks)
        marks(r, k, i, NEW, k->new_marks, 1);
    }
    rig_free_clean(r);
  }
}

/* ---- rule 2: the last good copy ---- */

static void
last_good_copy(void **state)
{
  FOR_EACH(k)
  {
    struct gi_fd *fd;
    struct rig *r;
    unsigned slot = k->slot == 'd' ? 0 : 1;

    if (k->slot == 'e')
      continue; /* names are healed by a merge */
    r = rig_new(NULL);
    rig_object(r, FILE_A, S_IFREG | 0644);
    rig_blame(r, 0, FILE_A, 1, slot);
    rig_blame(r, 0, FILE_A, 2, slot);
    fd = rig_open(r, FILE_A);
    fail_at(r, k, 0, ENOSPC);
    run(r, k, fd, ENOSPC);
    all_marks(r, k, slot ? "1m1,2m1" : "1d1,2d1,D:d1", slot ? "" : "D:d1", slot ? "" : "D:d1");
    rig_free_clean(r);
  }
}

/* Two good copies of three: one of them fails, the other still knows. */
static void
one_of_two_good_copies(void **state)
{
  FOR_EACH(k)
  {
    struct gi_fd *fd;
    struct rig *r;

    if (k->slot != 'd' || k->kind == GI_FOP_FSYNC)
      continue;
    r = fresh(NULL, &fd);
    rig_blame(r, 0, FILE_A, 2, 0);
    fail_at(r, k, 0, ENOSPC);
    run(r, k, fd, 0);
    all_marks(r, k, "2d1,D:d1", "0d1", "0d1");
    rig_free_clean(r);
  }
}

/* ---- quorum lost: the points of replicate.md 3.2 ---- */

/* 1: at the start. Nothing is sent. */
static void
quorum_at_start(void **state)
{
  FOR_EACH(k)
  {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);

    rig_down(r, 1);
    rig_down(r, 2);
    rig_forget(r);
    run(r, k, fd, ENOTCONN);
    rig_log_all(r, "");
    rig_free_clean(r);
  }
}

static enum gi_fop_kind
lock_kind(const struct kind *k)
{
  return k->slot == 'e' ? GI_FOP_ENTRYLK : k->by_fd ? GI_FOP_FINODELK : GI_FOP_INODELK;
}

static enum gi_fop_kind
mark_kind(const struct kind *k)
{
  return k->by_fd && k->slot != 'e' ? GI_FOP_FXATTROP : GI_FOP_XATTROP;
}

static void
fsync_as_transaction(struct rig *r, const struct kind *k)
{
  if (k->kind == GI_FOP_FSYNC)
    fail_at(r, k, 0, EIO); /* then it is done again under lock and marks */
}

/* 2: locks. Two children refuse, also when waited for. */
static void
quorum_of_locks(void **state)
{
  FOR_EACH(k)
  {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);

    fsync_as_transaction(r, k);
    r->brick[1].fail_err[lock_kind(k)] = ENOLCK;
    r->brick[2].fail_err[lock_kind(k)] = ENOLCK;
    run(r, k, fd, ENOLCK);
    if (strstr(r->brick[0].log, "X:") || (k->kind != GI_FOP_FSYNC && strstr(r->brick[0].log, gi_fop_name(k->kind))))
      fail_msg("%s: went on without locks: %s", k->name, r->brick[0].log);
    for (unsigned i = 0; i < BRICKS; i++) {
      r->brick[i].fail_err[lock_kind(k)] = 0;
      assert_int_equal(r->brick[i].locks, 0);
    }
    rig_free_clean(r);
  }
}

/* 3: the marks before the operation. Without optimistic changelog every type sets them. */
static void
quorum_of_pre_op(void **state)
{
  FOR_EACH(k)
  {
    struct gi_fd *fd;
    struct rig *r = fresh("option optimistic-change-log off\n", &fd);

    fsync_as_transaction(r, k);
    r->brick[1].fail_err[mark_kind(k)] = r->brick[2].fail_err[mark_kind(k)] = EROFS;
    run(r, k, fd, EROFS);
    r->brick[1].fail_err[mark_kind(k)] = r->brick[2].fail_err[mark_kind(k)] = 0;
    if (k->kind != GI_FOP_FSYNC && strstr(r->brick[0].log, gi_fop_name(k->kind)))
      fail_msg("%s: went on without marks: %s", k->name, r->brick[0].log);
    all_marks(r, k, "", "", ""); /* and the one that was set is taken back */
    rig_free_clean(r);
  }
}

/* 4: the operation. Nobody is blamed; dirty tells a healer to look. */
static void
quorum_of_operations(void **state)
{
  static const int second[] = {EIO, EROFS}; /* the same error twice is not everywhere either */

  FOR_EACH(k)
  for (size_t s = 0; s < GI_ARRAY_LEN(second); s++) {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);
    const char *dirty = k->slot == 'd' ? "D:d1" : "";

    fail_at(r, k, 0, EIO);
    fail_at(r, k, 2, second[s]);
    run(r, k, fd, second[s]); /* the last one seen */
    /* A disk that cannot sync tells of it once: that is written down. */
    all_marks(r, k, dirty, k->slot != 'd' ? "D:$" : k->kind == GI_FOP_FSYNC ? "0d1,2d1,D:d1" : dirty, dirty);
    if (k->new_marks)
      marks(r, k, 1, NEW, "", 0);
    rig_free_clean(r);
  }
}

/* An object that may have been here before: a linkto file, or a file that a rebalance brings back. Who has missed that it went has the old
 * one, under the same gfid. */
static void
known_object_without_quorum(void **state)
{
  for (unsigned accused = 0; accused < 2; accused++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f = rig_entry(r, GI_FOP_MKNOD, 1, "new", NEW);

    f->args.mode = S_IFREG | GI_LINKTO_MODE;
    gi_dict_set_str(gi_fop_xdata(f), "glusterfs-internal-fop", "yes");
    if (accused) /* then it is the one that makes it which may be wrong */
      rig_blame(r, 2, 1, 1, 2);
    r->brick[0].fail_once[GI_FOP_MKNOD] = EEXIST;
    r->brick[2].fail_once[GI_FOP_MKNOD] = EROFS;
    rig_run(r, f);
    assert_int_equal(f->rsp.ret, -1);
    rig_marks(r, 1, NEW, accused ? "" : "0d1,0m1,2d1,2m1");
    rig_free_clean(r);
  }
}

/* The same, and some have missed that the object went: they have what it was then, and it gets one more name. */
static void
known_object_is_old(void **state)
{
  static const struct {
    unsigned old, down; /* bit i: brick i */
    int err;
    const char *marks[BRICKS];
  } row[] = {
      {0, 0, 0, {"", "", ""}},
      {4, 0, 0, {"2d1,2m1", "2d1,2m1", ""}},
      {1, 0, 0, {"", "0d1,0m1", "0d1,0m1"}},
      {3, 0, 0, {"2d1,2m1", "2d1,2m1", ""}}, /* one lacks it, and the others know nothing of a removal */
      {7, 0, 0, {"", "", ""}},
      {2, 4, ENOTCONN, {"1d1,1m1,2d1,2m1", "", ""}},
  };

  for (size_t w = 0; w < GI_ARRAY_LEN(row); w++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f = rig_entry(r, GI_FOP_MKNOD, 1, "new", NEW);
    struct gi_gfid gfid = brick_gfid(NEW);

    f->args.mode = S_IFREG | GI_LINKTO_MODE;
    gi_dict_set_str(gi_fop_xdata(f), "glusterfs-internal-fop", "yes");
    for (unsigned i = 0; i < BRICKS; i++) {
      if (row[w].old >> i & 1)
        brick_make_object(&r->brick[i], &gfid, S_IFREG | 0644);
      if (row[w].down >> i & 1)
        rig_down(r, i);
    }
    rig_run(r, f);
    assert_int_equal(f->rsp.ret < 0 ? f->rsp.err : 0, row[w].err);
    for (unsigned i = 0; i < BRICKS; i++)
      if (!(row[w].down >> i & 1))
        rig_marks(r, i, NEW, row[w].marks[i]);
    rig_free_clean(r);
  }
}

/* 5: the marks after it. One failed the operation, so the answer waits for them; they reach one child only. */
static void
post_op_fails(struct gi_fop *fop, void *arg)
{
  fop->rsp.ret = -1;
  fop->rsp.err = EIO;
}

static void
quorum_of_post_op(void **state)
{
  FOR_EACH(k)
  {
    struct gi_fd *fd;
    struct rig *r;
    struct gi_fop *f;

    if (k->slot == 'd')
      continue; /* below: its first marks are those before the operation */
    r = fresh(NULL, &fd);
    fail_at(r, k, 0, EIO);
    if (k->slot == 'e')
      r->brick[1].fail_err[mark_kind(k)] = EIO; /* the question who is accused comes first */
    else
      rig_first(r, 1, mark_kind(k), post_op_fails, NULL);
    rig_run(r, f = make(r, k, fd));
    if (!f->answered || f->rsp.ret != -1 || f->rsp.err != ENOTCONN)
      fail_msg("%s: answered %d/%d although its failure is recorded nowhere", k->name, f->rsp.ret, f->rsp.err);
    rig_free_clean(r);
  }
}

static void
quorum_of_post_op_of_data(void **state)
{
  FOR_EACH(k)
  {
    struct gi_fd *fd;
    struct rig *r;
    struct gi_fop *f;

    if (k->slot != 'd' || k->kind == GI_FOP_FSYNC)
      continue;
    r = fresh(NULL, &fd);
    fail_at(r, k, 0, EIO);
    rig_hold(r, 2, k->kind);
    rig_run(r, f = make(r, k, fd));
    assert_false(f->answered);
    r->brick[1].fail_err[mark_kind(k)] = EIO;
    rig_release(r, 2, k->kind);
    fake_settle(r->s);
    if (!f->answered || f->rsp.ret != -1 || f->rsp.err != ENOTCONN)
      fail_msg("%s: answered %d/%d although its failure is recorded nowhere", k->name, f->rsp.ret, f->rsp.err);
    r->brick[1].fail_err[mark_kind(k)] = 0;
    rig_free_clean(r);
  }
}

/* 6: lookup and refresh. */
static void
quorum_of_lookup(void **state)
{
  struct gi_fd *fd;
  struct rig *r = fresh(NULL, &fd);
  struct gi_fop *f;

  rig_down(r, 2);
  rig_up(r, 2); /* what was known is old now */
  for (unsigned i = 0; i < 2; i++)
    r->brick[i].fail_err[GI_FOP_LOOKUP] = r->brick[i].fail_err[GI_FOP_FSTAT] = EIO;
  rig_run(r, f = rig_loc(r, GI_FOP_LOOKUP, FILE_A));
  rig_done(f, -1, ENOTCONN);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, FILE_A));
  rig_done(f, -1, ENOTCONN);
  rig_run(r, f = rig_loc(r, GI_FOP_SETATTR, FILE_A));
  rig_done(f, -1, ENOTCONN);
  rig_free_clean(r);
}

static void
stores_four(struct gi_fop *fop, void *arg)
{
  (void)arg;
  fop->rsp.ret = 4;
}

/* Nobody failed, but most stored less than the best copy: that is no quorum, and nobody gave an errno. */
static void
quorum_of_whole_writes(void **state)
{
  struct gi_fd *fd;
  struct rig *r = fresh(NULL, &fd);
  struct gi_fop *f;

  (void)state;
  rig_first(r, 1, GI_FOP_WRITE, stores_four, NULL);
  rig_first(r, 2, GI_FOP_WRITE, stores_four, NULL);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, ENOTCONN);
  rig_free_clean(r);
}

static void
fails_with_a_word(struct gi_fop *fop, void *arg)
{
  int err = *(const int *)arg;

  fop->rsp.ret = -1;
  fop->rsp.err = err;
  gi_dict_set_int(gi_fop_rsp_xdata(fop), "word", err);
}

/* Of several failures one is told, with what that child had to say. */
static void
failure_and_its_words_are_of_one_child(void **state)
{
  static const int err[2] = {ENOSPC, EIO};

  (void)state;
  for (unsigned full = 0; full < BRICKS; full++) {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);
    struct gi_fop *f = rig_loc(r, GI_FOP_SETATTR, FILE_A);
    int64_t word = 0;

    for (unsigned i = 0; i < BRICKS; i++)
      rig_first(r, i, GI_FOP_SETATTR, fails_with_a_word, (void *)&err[i != full]);
    rig_run(r, f);
    rig_done(f, -1, ENOSPC);
    assert_true(gi_dict_get_int(f->rsp.xdata, "word", &word));
    assert_int_equal(word, ENOSPC);
    rig_free_clean(r);
  }
}

/* 7: locks of users. What a minority granted is given back. */
static void
quorum_of_user_locks(void **state)
{
  struct gi_fd *fd;
  struct rig *r = fresh(NULL, &fd);
  struct gi_fop *f = rig_fd(r, GI_FOP_LK, fd);

  f->args.cmd = GI_LKCMD_SET;
  f->args.type = GI_LK_WRITE;
  r->brick[1].fail_err[GI_FOP_LK] = r->brick[2].fail_err[GI_FOP_LK] = ENOLCK;
  rig_run(r, f);
  rig_done(f, -1, ENOLCK);
  rig_log(r, 0, "LK LK");
  rig_log(r, 1, "LK");
  rig_free_clean(r);
}

/* ---- a bad copy must not become the only good one ---- */

static void
in_flight_split_brain(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  rig_blame(r, 0, 5, 1, 0);
  rig_blame(r, 0, 5, 2, 0); /* only brick 0 is good */
  r->brick[0].fail_once[GI_FOP_WRITE] = EDQUOT;
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, EDQUOT);
  rig_marks(r, 0, 5, "1d1,2d1,D:d1");
  rig_marks(r, 1, 5, "D:d1"); /* does not blame brick 0 */
  rig_free_clean(r);
}

/* The same when what fails on the good copy is the fsync before the mark is cleared. */
static void
fsync_does_not_split_the_brain(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  rig_blame(r, 0, 5, 1, 0);
  rig_blame(r, 0, 5, 2, 0); /* only brick 0 is good */
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_down(r, 0);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 1, 5, "D:d1");
  rig_marks(r, 2, 5, "D:d1");
  rig_free_clean(r);
}

/* Two writes of one session fail on one good copy each, a bad one does both: the second must fail. */
static void
good_copies_are_not_blamed_one_by_one(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *a, *b;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_blame(r, 0, 5, 2, 0);
  rig_blame(r, 1, 5, 2, 0);
  rig_run(r, rig_write(r, fd, 0, BRICK_PAGE));
  rig_hold(r, 2, GI_FOP_WRITE);
  r->brick[0].fail_once[GI_FOP_WRITE] = EIO;
  rig_run(r, a = rig_write(r, fd, BRICK_PAGE, BRICK_PAGE));
  r->brick[1].fail_once[GI_FOP_WRITE] = EROFS;
  rig_run(r, b = rig_write(r, fd, 2 * BRICK_PAGE, BRICK_PAGE));
  rig_release(r, 2, GI_FOP_WRITE);
  rig_done(b, BRICK_PAGE, 0); /* its replies were complete first */
  rig_done(a, -1, EIO);
  rig_marks(r, 0, 5, "1d1,2d1,D:d1");
  rig_marks(r, 1, 5, "2d1,D:d1");
  rig_free_clean(r);
}

static void
no_good_copy_refuses_writes(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  rig_blame(r, 0, 5, 1, 0);
  rig_blame(r, 1, 5, 2, 0);
  rig_blame(r, 2, 5, 0, 0);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, EIO);
  rig_log(r, 0, "L:0 X:d+1 X:d-1 U:0");
  rig_free_clean(r);
}

static void
no_readable_metadata_refuses_changes(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_blame(r, 0, 5, 1, 1);
  rig_blame(r, 1, 5, 2, 1);
  rig_blame(r, 2, 5, 0, 1);
  rig_run(r, f = rig_loc(r, GI_FOP_SETATTR, 5));
  rig_done(f, -1, EIO);
  rig_log(r, 0, "LOOKUP");
  rig_free_clean(r);
}

/* Two writes of one session fail on different bricks: each is recorded by those that did it. */
static void
different_bricks_fail_in_one_session(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *a, *b;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_run(r, rig_write(r, fd, 0, BRICK_PAGE));
  rig_forget(r);
  r->brick[2].fail_once[GI_FOP_WRITE] = EIO;
  rig_hold(r, 0, GI_FOP_WRITE);
  rig_run(r, a = rig_write(r, fd, BRICK_PAGE, BRICK_PAGE));
  r->brick[1].fail_once[GI_FOP_WRITE] = EIO;
  rig_run(r, b = rig_write(r, fd, 2 * BRICK_PAGE, BRICK_PAGE));
  rig_release(r, 0, GI_FOP_WRITE);
  rig_done(a, BRICK_PAGE, 0);
  rig_done(b, BRICK_PAGE, 0);
  rig_log(r, 0, "WRITE WRITE X:1d+1,2d+1,d-1 U:0");
  rig_marks(r, 0, 5, "1d1,2d1");
  rig_marks(r, 1, 5, "2d1,D:d1");
  rig_marks(r, 2, 5, "1d1,D:d1");
  rig_free_clean(r);
}

/* ---- a file that is moved to another set ---- */

/* Whichever copies know of it: those above change what it becomes, too. */
static void
no_copy_hides_a_move(void **state)
{
  static const uint32_t marks[] = {S_ISVTX | S_ISGID | 0644, S_ISVTX};

  for (unsigned knows = 0; knows < 2 * BRICKS; knows++) {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);
    struct gi_fop *f = rig_write(r, fd, 0, 10);

    brick_object(&r->brick[knows % BRICKS], FILE_A)->stat.mode = S_IFREG | marks[knows / BRICKS];
    rig_run(r, f);
    assert_int_equal(f->rsp.ret, 10);
    assert_int_equal(f->rsp.post.mode, S_IFREG | marks[knows / BRICKS]);
    rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
    rig_free_clean(r);
  }
}

/* A copy that has missed that the file came is a linkto file still. */
static void
an_accused_copy_shows_no_move(void **state)
{
  for (unsigned old = 0; old < BRICKS; old++) {
    struct gi_fd *fd;
    struct rig *r = fresh(NULL, &fd);
    struct gi_fop *f = rig_write(r, fd, 0, 10);
    uint32_t mode = brick_object(&r->brick[0], FILE_A)->stat.mode;

    brick_object(&r->brick[old], FILE_A)->stat.mode = S_IFREG | S_ISVTX;
    rig_blame(r, (old + 1) % BRICKS, FILE_A, old, 1);
    rig_run(r, f);
    assert_int_equal(f->rsp.post.mode, mode);
    rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
    rig_free_clean(r);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(symmetric),
      cmocka_unit_test(symmetric_but_unknown),
      cmocka_unit_test(asymmetric),
      cmocka_unit_test(one_is_down),
      cmocka_unit_test(last_good_copy),
      cmocka_unit_test(one_of_two_good_copies),
      cmocka_unit_test(quorum_at_start),
      cmocka_unit_test(quorum_of_locks),
      cmocka_unit_test(quorum_of_pre_op),
      cmocka_unit_test(quorum_of_operations),
      cmocka_unit_test(known_object_without_quorum),
      cmocka_unit_test(known_object_is_old),
      cmocka_unit_test(quorum_of_post_op),
      cmocka_unit_test(quorum_of_post_op_of_data),
      cmocka_unit_test(quorum_of_lookup),
      cmocka_unit_test(quorum_of_user_locks),
      cmocka_unit_test(quorum_of_whole_writes),
      cmocka_unit_test(failure_and_its_words_are_of_one_child),
      cmocka_unit_test(in_flight_split_brain),
      cmocka_unit_test(fsync_does_not_split_the_brain),
      cmocka_unit_test(good_copies_are_not_blamed_one_by_one),
      cmocka_unit_test(no_good_copy_refuses_writes),
      cmocka_unit_test(no_readable_metadata_refuses_changes),
      cmocka_unit_test(different_bricks_fail_in_one_session),
      cmocka_unit_test(no_copy_hides_a_move),
      cmocka_unit_test(an_accused_copy_shows_no_move),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
