/* SPDX-License-Identifier: Apache-2.0
 *
 * Write transactions when bricks fail: the exact messages, the marks they
 * leave, and what the application is told (replicate.md 6, 11, 14).
 */
#include "xlators/cluster/replicate/testing/model.h"

#define GRANULAR "option granular-entry-heal on\n"

/* ---- the worked examples ---- */

/* replicate.md 11.1: the third brick is down. */
static void
third_brick_down(void **state)
{
  struct rig *r = rig_new(GRANULAR);
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644); /* a */
  rig_object(r, 6, S_IFREG | 0644); /* b */
  rig_object(r, 7, S_IFDIR | 0755); /* w/sub */
  fd = rig_open(r, 5);
  rig_down(r, 2);
  rig_forget(r);

  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_log(r, 0, "L:0 X:2d+1,d+1 WRITE FSYNC X:d-1 U:0");
  rig_run(r, f = rig_loc(r, GI_FOP_SETATTR, 6));
  rig_done(f, 0, 0);
  rig_log(r, 0, "LOOKUP L:m X:2m+1,m+1 SETATTR X:m-1 U:m");
  f = rig_entry(r, GI_FOP_CREATE, 1, "newf", 8);
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_log(r, 0, "E:newf X:0 X:2e+1,e+1 CREATE X:e-1 X:2d+1,2m+1 EU:newf");
  assert_string_equal(r->brick[0].index_names, "+newf");
  rig_run(r, rig_write(r, f->fd, 0, 10));
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, f->fd));
  rig_run(r, f = rig_entry(r, GI_FOP_MKDIR, 1, "newd", 9));
  rig_done(f, 0, 0);
  f = rig_entry(r, GI_FOP_RMDIR, 1, "f7", 0);
  gi_loc_set_inode(&f->loc, fake_inode(r->s, 7));
  rig_run(r, f);
  rig_done(f, 0, 0);

  for (unsigned i = 0; i < 2; i++) {
    rig_marks(r, i, 5, "2d1");
    rig_marks(r, i, 6, "2m1");
    rig_marks(r, i, 1, "2e3");
    rig_marks(r, i, 8, "2d2,2m1");
    rig_marks(r, i, 9, "2d1,2m1,2e1");
  }
  assert_string_equal(r->brick[0].index_names, "+newf+newd+f7");
  rig_free_clean(r);
}

/* replicate.md 11.2: rename marks both parents. */
static void
rename_marks_both_parents(void **state)
{
  struct rig *r = rig_new(GRANULAR);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_object(r, 6, S_IFDIR | 0755);
  rig_down(r, 2);
  rig_forget(r);
  f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);
  gi_fop_set_entry(f, &f->loc2, fake_inode(r->s, 6), "to");
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_log(r, 1, "LOOKUP E:f5 E:to X:0 X:0 X:2e+1,e+1 X:2e+1,e+1 RENAME X:e-1 X:e-1 EU:f5 EU:to");
  rig_marks(r, 1, 1, "2e1");
  rig_marks(r, 1, 6, "2e1");
  assert_string_equal(r->brick[0].index_names, "+f5+to");
  rig_free_clean(r);
}

/* ---- outcomes: every kind, every pattern (replicate.md 6.4, 6.10) ---- */

static struct gi_fop *
make(struct rig *r, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f;

  switch (kind) {
  case GI_FOP_WRITE:
    return rig_write(r, fd, 0, 10);
  case GI_FOP_FTRUNCATE:
  case GI_FOP_FALLOCATE:
  case GI_FOP_DISCARD:
  case GI_FOP_ZEROFILL:
  case GI_FOP_FSYNC:
  case GI_FOP_FSETATTR:
    return rig_fd(r, kind, fd);
  case GI_FOP_FSETXATTR:
  case GI_FOP_FREMOVEXATTR:
    f = rig_fd(r, kind, fd);
    break;
  case GI_FOP_TRUNCATE:
  case GI_FOP_SETATTR:
  case GI_FOP_SETXATTR:
  case GI_FOP_REMOVEXATTR:
    f = rig_loc(r, kind, 5);
    break;
  case GI_FOP_LINK:
    f = rig_loc(r, kind, 5);
    gi_fop_set_entry(f, &f->loc2, fake_inode(r->s, 6), "new");
    return f;
  case GI_FOP_UNLINK:
  case GI_FOP_RMDIR:
    return rig_entry(r, kind, 1, "f5", 0);
  case GI_FOP_RENAME:
    f = rig_entry(r, kind, 1, "f5", 0);
    gi_fop_set_entry(f, &f->loc2, fake_inode(r->s, 6), "new");
    return f;
  default:
    return rig_entry(r, kind, 1, "new", 9);
  }
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "user.x", "v", 1);
  f->args.name = "user.x";
  return f;
}

static const enum gi_fop_kind all_kinds[] = {
    GI_FOP_WRITE,   GI_FOP_FTRUNCATE, GI_FOP_TRUNCATE, GI_FOP_FALLOCATE, GI_FOP_DISCARD,     GI_FOP_ZEROFILL,     GI_FOP_FSYNC,
    GI_FOP_SETATTR, GI_FOP_FSETATTR,  GI_FOP_SETXATTR, GI_FOP_FSETXATTR, GI_FOP_REMOVEXATTR, GI_FOP_FREMOVEXATTR, GI_FOP_CREATE,
    GI_FOP_MKNOD,   GI_FOP_MKDIR,     GI_FOP_SYMLINK,  GI_FOP_LINK,      GI_FOP_UNLINK,      GI_FOP_RMDIR,        GI_FOP_RENAME,
};

static char
slot_of(enum gi_fop_kind kind)
{
  unsigned c = gi_fop_table[kind].classes;

  return c & GI_CLASS_ENTRY ? 'e' : c & GI_CLASS_META ? 'm' : 'd';
}

static uint8_t
marked_object(enum gi_fop_kind kind)
{
  return slot_of(kind) != 'e' ? 5 : kind == GI_FOP_LINK ? 6 : 1;
}

static void
check_marks(struct rig *r, unsigned child, enum gi_fop_kind kind, const char *fmt)
{
  char want[32], slot = slot_of(kind);
  size_t n = 0;

  for (const char *p = fmt; *p && n < sizeof(want) - 1; p++)
    want[n++] = *p == '%' ? slot : *p;
  want[n] = '\0';
  rig_marks(r, child, marked_object(kind), want);
}

static struct rig *
outcome(enum gi_fop_kind kind, const int err[BRICKS], int ret, int want)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  rig_object(r, 6, S_IFDIR | 0755);
  for (unsigned i = 0; i < BRICKS; i++) {
    r->brick[i].append = true;
    r->brick[i].fail_once[kind] = err[i];
  }
  f = make(r, kind, fd);
  rig_run(r, f);
  rig_done(f, ret == 0 && kind == GI_FOP_WRITE ? 10 : ret, want);
  return r;
}

static void
one_fails(void **state)
{
  for (size_t k = 0; k < GI_ARRAY_LEN(all_kinds); k++) {
    struct rig *r = outcome(all_kinds[k], (const int[]){0, EIO, 0}, 0, 0);
    bool optimistic = slot_of(all_kinds[k]) != 'd';

    check_marks(r, 0, all_kinds[k], "1%1");
    check_marks(r, 2, all_kinds[k], "1%1");
    check_marks(r, 1, all_kinds[k], optimistic ? "" : "D:%1"); /* its own dirty stays until healed */
    rig_free_clean(r);
  }
}

static void
two_fail(void **state)
{
  for (size_t k = 0; k < GI_ARRAY_LEN(all_kinds); k++) {
    struct rig *r = outcome(all_kinds[k], (const int[]){0, EIO, EIO}, -1, EIO);

    switch (slot_of(all_kinds[k])) {
    case 'd': /* a disk that cannot sync tells of it once: that is written down */
      check_marks(r, 0, all_kinds[k], all_kinds[k] == GI_FOP_FSYNC ? "1%1,2%1,D:%1" : "D:%1");
      check_marks(r, 1, all_kinds[k], "D:%1");
      break;
    case 'm':
    case 'e': /* raised afterwards where it was done */
      check_marks(r, 0, all_kinds[k], "D:%1");
      check_marks(r, 1, all_kinds[k], "");
      break;
    }
    rig_free_clean(r);
  }
}

static void
all_fail_alike(void **state)
{
  for (size_t k = 0; k < GI_ARRAY_LEN(all_kinds); k++) {
    struct rig *r = outcome(all_kinds[k], (const int[]){ENOSPC, ENOSPC, ENOSPC}, -1, ENOSPC);

    for (unsigned i = 0; i < BRICKS; i++)
      check_marks(r, i, all_kinds[k], all_kinds[k] == GI_FOP_FSYNC ? "D:%1" : ""); /* what was written before may be lost */
    rig_free_clean(r);
  }
}

static void
all_fail_differently(void **state)
{
  for (size_t k = 0; k < GI_ARRAY_LEN(all_kinds); k++) {
    struct rig *r = outcome(all_kinds[k], (const int[]){EIO, ENOSPC, EROFS}, -1, ENOSPC);

    for (unsigned i = 0; i < BRICKS; i++)
      check_marks(r, i, all_kinds[k], slot_of(all_kinds[k]) == 'd' ? "D:%1" : "");
    rig_free_clean(r);
  }
}

/* A symmetric error blames nobody, not even a brick that is down. */
static void
same_error_while_one_is_down(void **state)
{
  struct rig *r = rig_new(GRANULAR);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_down(r, 2);
  rig_run(r, f = rig_entry(r, GI_FOP_MKDIR, 1, "f5", 9));
  rig_done(f, -1, EEXIST);
  rig_marks(r, 0, 1, "");
  rig_marks(r, 1, 1, "");
  rig_free_clean(r);
}

/* Brick 1 still has a name that the good copies have not: nothing happened, and nothing is left that would bring the name back. */
static void
what_good_copies_refuse(void **state)
{
  struct rig *r = rig_new(GRANULAR);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_blame(r, 0, 1, 1, 2);
  rig_blame(r, 2, 1, 1, 2);
  r->brick[0].fail_err[GI_FOP_UNLINK] = r->brick[2].fail_err[GI_FOP_UNLINK] = ENOENT;
  rig_run(r, f = rig_entry(r, GI_FOP_UNLINK, 1, "f5", 0));
  rig_done(f, -1, ENOENT);
  rig_marks(r, 0, 1, "1e2");
  rig_marks(r, 1, 1, "");
  rig_marks(r, 2, 1, "1e2");
  rig_free_clean(r);
}

/* Only one of the good copies has recorded that brick 1 is wrong: brick 1 and the other one may soon be the quorum. So nobody is told what
 * the good ones say. */
static void
what_too_few_have_recorded(void **state)
{
  struct rig *r = rig_new(GRANULAR);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_blame(r, 0, 1, 1, 2);
  rig_blame(r, 2, 1, 1, 2);
  r->brick[0].fail_err[GI_FOP_UNLINK] = r->brick[2].fail_err[GI_FOP_UNLINK] = ENOENT;
  r->brick[2].fail_nth[GI_FOP_XATTROP] = 2; /* the first asks for the counters */
  rig_run(r, f = rig_entry(r, GI_FOP_UNLINK, 1, "f5", 0));
  rig_done(f, -1, ENOTCONN);
  rig_marks(r, 0, 1, "1e2");
  rig_free_clean(r);
}

/* The same with one good copy only: if that goes away nobody else knows that brick 1 is wrong, so it says so itself. */
static void
who_did_what_the_good_refuse_tells(void **state)
{
  struct rig *r = rig_new(GRANULAR);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_blame(r, 2, 1, 1, 2);
  rig_down(r, 0);
  rig_forget(r);
  r->brick[2].fail_err[GI_FOP_UNLINK] = ENOENT;
  rig_run(r, f = rig_entry(r, GI_FOP_UNLINK, 1, "f5", 0));
  rig_done(f, -1, ENOENT);
  rig_marks(r, 1, 1, "1e1");
  rig_marks(r, 2, 1, "1e2");
  rig_free_clean(r);
}

/* The good one is away: what the others would do to names might undo what they have missed. Not even for a moment is it blamed. */
static void
names_need_a_good_copy(void **state)
{
  struct rig *r = rig_new(GRANULAR);
  struct gi_fop *f;

  rig_blame(r, 0, 1, 1, 2);
  rig_blame(r, 1, 1, 0, 2);
  rig_down(r, 2);
  rig_forget(r);
  rig_run(r, f = rig_entry(r, GI_FOP_CREATE, 1, "new", 8));
  rig_done(f, -1, EIO);
  rig_log(r, 0, "E:new X:0 EU:new");
  rig_marks(r, 0, 1, "1e1");
  rig_free_clean(r);
}

/* All are there, but who is good where the object is has missed something where it goes to, and the other way round: there it would be
 * put over what only that copy has. One that is good in both is enough. */
static void
a_rename_needs_one_good_copy_of_both_directories(void **state)
{
  for (unsigned one = 0; one < 2; one++) {
    struct rig *r = rig_new(GRANULAR);
    struct gi_fop *f;

    rig_object(r, 5, S_IFREG | 0644);
    rig_object(r, 6, S_IFDIR | 0755);
    rig_blame(r, 0, 1, 2, 2);
    rig_blame(r, 1, 1, 2, 2);
    rig_blame(r, 2, 6, 0, 2);
    if (!one)
      rig_blame(r, 2, 6, 1, 2);
    f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);
    gi_fop_set_entry(f, &f->loc2, fake_inode(r->s, 6), "new");
    rig_run(r, f);
    rig_done(f, one ? 0 : -1, one ? 0 : EIO);
    rig_log(r, 2, one ? "LOOKUP E:f5 E:new X:0 X:0 RENAME EU:f5 EU:new" : "LOOKUP E:f5 E:new X:0 X:0 EU:f5 EU:new");
    rig_marks(r, 2, 6, one ? "0e1" : "0e1,1e1");
    rig_free_clean(r);
  }
}

/* All are there, and the only good one fails: the others are a quorum, but cannot make it a success. */
static void
outdated_copies_are_no_success(void **state)
{
  struct rig *r = rig_new(GRANULAR);
  struct gi_fop *f;

  rig_blame(r, 2, 1, 0, 2);
  rig_blame(r, 2, 1, 1, 2);
  r->brick[2].fail_err[GI_FOP_CREATE] = ENOSPC;
  rig_run(r, f = rig_entry(r, GI_FOP_CREATE, 1, "new", 8));
  rig_done(f, -1, ENOSPC);
  rig_marks(r, 0, 1, "D:e1");
  rig_marks(r, 1, 1, "D:e1");
  rig_marks(r, 2, 1, "0e1,1e1");
  assert_string_equal(r->brick[0].index_names, "+new");
  rig_free_clean(r);
}

/* One brick's ENOENT, the others gone in the middle: whether there is such a name nobody knows. */
static void
a_few_cannot_say_what_is_not_there(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  r->brick[0].fail_err[GI_FOP_UNLINK] = ENOENT;
  r->brick[1].fail_err[GI_FOP_UNLINK] = r->brick[2].fail_err[GI_FOP_UNLINK] = ENOTCONN;
  rig_run(r, f = rig_entry(r, GI_FOP_UNLINK, 1, "f5", 0));
  rig_done(f, -1, ENOTCONN);
  r->brick[0].fail_err[GI_FOP_LOOKUP] = ENOENT;
  r->brick[1].fail_err[GI_FOP_LOOKUP] = r->brick[2].fail_err[GI_FOP_LOOKUP] = ENOTCONN;
  rig_run(r, f = rig_entry(r, GI_FOP_LOOKUP, 1, "f5", 0));
  rig_done(f, -1, ENOTCONN);
  rig_free_clean(r);
}

static void
refuse_layout(struct brick *b, struct gi_fop *fop, void *arg)
{
  if (fop->kind == GI_FOP_CREATE)
    gi_dict_set_int(gi_fop_rsp_xdata(fop), GI_LAYOUT_REFUSED_KEY, 1);
}

/* Two bricks refuse the layout that a creation goes by, and the third is lost in the middle: who made it hears of the layout. */
static void
an_old_layout_is_told_of(void **state)
{
  for (unsigned lost = 0; lost < BRICKS; lost++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f;

    for (unsigned i = 0; i < BRICKS; i++) {
      r->brick[i].fail_err[GI_FOP_CREATE] = i == lost ? ENOTCONN : EIO;
      r->brick[i].hook = i == lost ? NULL : refuse_layout;
    }
    rig_run(r, f = rig_entry(r, GI_FOP_CREATE, 1, "new", 8));
    rig_done(f, -1, EIO);
    assert_non_null(gi_dict_get(f->rsp.xdata, GI_LAYOUT_REFUSED_KEY));
    rig_free_clean(r);
  }
}

static void
another_object(struct gi_fop *fop, void *arg)
{
  memset(&fop->rsp.stat.gfid, 0x77, sizeof(fop->rsp.stat.gfid));
}

static void
same_object(struct gi_fop *fop, void *arg)
{
  memset(&fop->rsp.stat.gfid, 5, sizeof(fop->rsp.stat.gfid));
}

static void
a_rename_of_another_object_is_a_failure(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_first(r, 0, GI_FOP_RENAME, same_object, NULL);
  rig_first(r, 1, GI_FOP_RENAME, same_object, NULL);
  rig_first(r, 2, GI_FOP_RENAME, another_object, NULL);
  f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);
  gi_loc_copy(&f->loc2, &f->loc);
  f->loc2.name = "g5";
  rig_run(r, f);
  assert_int_equal(f->rsp.ret, 0);
  rig_marks(r, 0, 1, "2e2"); /* both parents are one */
  rig_marks(r, 1, 1, "2e2");
  rig_done(f, 0, 0);
  rig_free_clean(r);
}

static void
nothing_moved(struct gi_fop *fop, void *arg)
{
  same_object(fop, arg);
  gi_dict_set_int(gi_fop_rsp_xdata(fop), GI_SAME_FILE_KEY, 1);
}

/* `marks`: of each brick's root. */
static void
idle_rename(unsigned idle, const char *const marks[BRICKS])
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_first(r, i, GI_FOP_RENAME, (idle >> i) & 1 ? nothing_moved : same_object, NULL);
  f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);
  gi_loc_copy(&f->loc2, &f->loc);
  f->loc2.name = "g5";
  rig_run(r, f);
  rig_done(f, 0, 0);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_marks(r, i, 1, marks[i]);
  rig_free_clean(r);
}

/* A heal has made the new name there, and not removed the old one yet. Where most have both it is the other that lacks one. */
static void
a_rename_that_moved_nothing_is_a_failure(void **state)
{
  (void)state;
  idle_rename(1, (const char *const[]){"", "0e2", "0e2"}); /* both parents are one */
  idle_rename(3, (const char *const[]){"2e2", "2e2", ""});
  idle_rename(7, (const char *const[]){"", "", ""});
}

/* Those that remove a directory have what was acknowledged in it, if they are a quorum: who has more has missed something. */
static void
not_empty_blames_where_quorums_meet(void **state)
{
  static const struct {
    const char *options, *mark;
  } cases[] = {{NULL, "1e1"}, {"option quorum-type fixed\noption quorum-count 1\n", ""}, {"option quorum-type none\n", ""}};

  (void)state;
  for (size_t c = 0; c < GI_ARRAY_LEN(cases); c++) {
    struct rig *r = rig_new(cases[c].options);
    struct gi_fop *f;

    rig_object(r, 5, S_IFDIR | 0755);
    r->brick[1].fail_once[GI_FOP_RMDIR] = ENOTEMPTY;
    rig_run(r, f = rig_entry(r, GI_FOP_RMDIR, 1, "f5", 0));
    rig_done(f, 0, 0);
    for (unsigned i = 0; i < BRICKS; i++)
      rig_marks(r, i, 1, i == 1 ? "" : cases[c].mark);
    rig_free(r);
  }
}

static void
short_write_fails_the_brick(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  fake_script_clear(r->s);
  rig_hold(r, 1, GI_FOP_WRITE);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  fake_release(r->s, 1, GI_FOP_WRITE, 4, 0);
  rig_done(f, 10, 0);
  rig_marks(r, 0, 5, "1d1");
  rig_marks(r, 1, 5, "D:d1");
  rig_free_clean(r);
}

/* ---- quorum ---- */

static void
one_brick_is_no_quorum(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  rig_down(r, 1);
  rig_down(r, 2);
  rig_forget(r);
  for (size_t k = 0; k < GI_ARRAY_LEN(all_kinds); k++) {
    struct gi_fop *f = make(r, all_kinds[k], fd);

    rig_run(r, f);
    rig_done(f, -1, ENOTCONN);
  }
  for (unsigned k = 0; k < 3; k++) {
    struct gi_fop *f = rig_loc(r, (enum gi_fop_kind[]){GI_FOP_STAT, GI_FOP_GETXATTR, GI_FOP_STATFS}[k], 5);

    rig_run(r, f);
    rig_done(f, -1, ENOTCONN);
  }
  rig_log(r, 0, "");
  rig_free_clean(r);
}

static void
quorum_lost_while_locking(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  r->brick[1].fail_err[GI_FOP_FINODELK] = r->brick[2].fail_err[GI_FOP_FINODELK] = EPERM;
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, EPERM);
  rig_log(r, 0, "L:0 U:0 W:0 U:0");
  rig_log(r, 1, "L:0 W:0");
  r->brick[1].fail_err[GI_FOP_FINODELK] = r->brick[2].fail_err[GI_FOP_FINODELK] = 0;
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_free_clean(r);
}

static void
quorum_lost_in_pre_op(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  r->brick[1].fail_once[GI_FOP_FXATTROP] = r->brick[2].fail_once[GI_FOP_FXATTROP] = ENOSPC;
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, -1, ENOSPC);
  rig_log(r, 0, "L:0 X:d+1 X:d-1 U:0"); /* nothing was written: the mark is taken back */
  rig_log(r, 1, "L:0 X:d+1 U:0");
  rig_marks(r, 0, 5, "");
  rig_free_clean(r);
}

static void
pre_op_fails_on_one(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  r->brick[0].fail_once[GI_FOP_FXATTROP] = ENOSPC;
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_run(r, f = rig_write(r, fd, 0, BRICK_PAGE));
  rig_done(f, BRICK_PAGE, 0);
  rig_log(r, 0, "L:0 X:d+1 U:0");
  rig_log(r, 1, "L:0 X:d+1 X:0d+1 WRITE X:d-1 U:0");
  rig_marks(r, 2, 5, "0d1");
  rig_free_clean(r);
}

static void
post_op_without_quorum_fails_the_write(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_hold(r, 1, GI_FOP_WRITE);
  rig_run(r, f = rig_write(r, fd, 0, BRICK_PAGE));
  assert_false(f->answered);
  r->brick[0].fail_err[GI_FOP_FXATTROP] = EIO;
  fake_release(r->s, 1, GI_FOP_WRITE, -1, EIO);
  rig_done(f, -1, ENOTCONN);
  r->brick[0].fail_err[GI_FOP_FXATTROP] = 0;
  rig_free_clean(r);
}

/* ---- children that go down in each phase ---- */

static void
down_in_phase(enum gi_fop_kind phase)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  struct gi_fop *f;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_hold(r, 1, phase);
  rig_run(r, f = rig_write(r, fd, 0, BRICK_PAGE));
  assert_false(f->answered);
  rig_down(r, 1);
  rig_done(f, BRICK_PAGE, 0);
  rig_marks(r, 0, 5, "1d1");
  rig_marks(r, 2, 5, "1d1");
  assert_int_equal(r->brick[0].locks, 0);
  assert_int_equal(r->brick[2].locks, 0);
  rig_free(r);
}

static void
child_goes_down_in_each_phase(void **state)
{
  down_in_phase(GI_FOP_FINODELK);
  down_in_phase(GI_FOP_FXATTROP);
  down_in_phase(GI_FOP_WRITE);
}

static void
child_goes_down_in_post_op(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].append = true;
  rig_run(r, f = rig_write(r, fd, 0, BRICK_PAGE));
  rig_hold(r, 1, GI_FOP_FXATTROP);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_down(r, 1);
  rig_marks(r, 0, 5, ""); /* brick 1 has the data; its dirty mark tells the healer to look */
  rig_marks(r, 1, 5, "D:d1");
  assert_int_equal(r->brick[0].locks, 0);
  rig_free(r);
}

static void
entry_child_goes_down(void **state)
{
  static const enum gi_fop_kind phase[] = {GI_FOP_ENTRYLK, GI_FOP_MKDIR};

  for (size_t p = 0; p < GI_ARRAY_LEN(phase); p++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f;

    rig_hold(r, 1, phase[p]);
    rig_run(r, f = rig_entry(r, GI_FOP_MKDIR, 1, "d", 9));
    assert_false(f->answered);
    rig_down(r, 1);
    rig_done(f, 0, 0);
    rig_marks(r, 0, 1, "1e1");
    rig_marks(r, 2, 9, "1m1,1e1");
    rig_free(r);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(third_brick_down),
      cmocka_unit_test(rename_marks_both_parents),
      cmocka_unit_test(one_fails),
      cmocka_unit_test(two_fail),
      cmocka_unit_test(all_fail_alike),
      cmocka_unit_test(all_fail_differently),
      cmocka_unit_test(what_good_copies_refuse),
      cmocka_unit_test(what_too_few_have_recorded),
      cmocka_unit_test(who_did_what_the_good_refuse_tells),
      cmocka_unit_test(names_need_a_good_copy),
      cmocka_unit_test(a_rename_needs_one_good_copy_of_both_directories),
      cmocka_unit_test(outdated_copies_are_no_success),
      cmocka_unit_test(a_few_cannot_say_what_is_not_there),
      cmocka_unit_test(an_old_layout_is_told_of),
      cmocka_unit_test(a_rename_of_another_object_is_a_failure),
      cmocka_unit_test(a_rename_that_moved_nothing_is_a_failure),
      cmocka_unit_test(same_error_while_one_is_down),
      cmocka_unit_test(not_empty_blames_where_quorums_meet),
      cmocka_unit_test(short_write_fails_the_brick),
      cmocka_unit_test(one_brick_is_no_quorum),
      cmocka_unit_test(quorum_lost_while_locking),
      cmocka_unit_test(quorum_lost_in_pre_op),
      cmocka_unit_test(pre_op_fails_on_one),
      cmocka_unit_test(post_op_without_quorum_fails_the_write),
      cmocka_unit_test(child_goes_down_in_each_phase),
      cmocka_unit_test(child_goes_down_in_post_op),
      cmocka_unit_test(entry_child_goes_down),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
