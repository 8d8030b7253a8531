/* SPDX-License-Identifier: Apache-2.0
 *
 * Several clients after one name or one file: children answer for different
 * moments, or one client has begun where another has not. What is told is what
 * a local disk would tell; never that nobody is connected.
 */
#include "xlators/cluster/replicate/testing/model.h"

static struct gi_fop *
lookup(struct rig *r, const char *name)
{
  struct gi_fop *f = rig_entry(r, GI_FOP_LOOKUP, 1, name, 0);

  rig_run(r, f);
  return f;
}

/* ---- a name that is replaced while it is looked up ---- */

static void
older_object(struct gi_fop *fop, void *arg)
{
  fop->rsp.ret = 0;
  memset(&fop->rsp.stat.gfid, *(uint8_t *)arg, sizeof(fop->rsp.stat.gfid));
  fop->rsp.stat.mode = S_IFREG | 0644;
}

static void
no_object(struct gi_fop *fop, void *arg)
{
  fop->rsp.ret = -1;
  fop->rsp.err = *(int *)arg;
}

static void
every_copy_shows_another_object(void **state)
{
  uint8_t first = 0x71, second = 0x72;

  for (unsigned away = 0; away <= BRICKS; away++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f;

    rig_object(r, 5, S_IFREG | 0644);
    if (away < BRICKS)
      rig_down(r, away);
    rig_run(r, rig_loc(r, GI_FOP_LOOKUP, 1));
    rig_forget(r);
    rig_first(r, 0, GI_FOP_LOOKUP, older_object, &first);
    rig_first(r, 1, GI_FOP_LOOKUP, older_object, &second);
    f = lookup(r, "f5");
    rig_done(f, 0, 0);
    assert_int_equal(f->rsp.stat.gfid.b[0], 5);
    rig_free_clean(r);
  }
}

static void
gone_on_one_of_two(void **state)
{
  struct rig *r = rig_new(NULL);
  int err = ENOENT;

  (void)state;
  rig_object(r, 5, S_IFREG | 0644);
  rig_down(r, 2);
  rig_run(r, rig_loc(r, GI_FOP_LOOKUP, 1));
  rig_forget(r);
  rig_first(r, 1, GI_FOP_LOOKUP, no_object, &err);
  rig_done(lookup(r, "f5"), 0, 0);
  rig_free_clean(r);
}

/* ---- a file that is removed while it is worked on ---- */

static void
removed_on_some(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_STAT, GI_FOP_SETATTR};
  int err = ENOENT;

  for (size_t k = 0; k < GI_ARRAY_LEN(kinds); k++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f;

    /* Most have removed it: it is gone. */
    rig_object(r, 5, S_IFREG | 0644);
    rig_first(r, 0, GI_FOP_LOOKUP, no_object, &err);
    rig_first(r, 1, GI_FOP_LOOKUP, no_object, &err);
    rig_run(r, f = rig_loc(r, kinds[k], 5));
    rig_done(f, -1, ENOENT);
    rig_run(r, f = rig_loc(r, kinds[k], 5));
    rig_done(f, 0, 0);
    rig_free_clean(r);

    /* One of two had not heard of it yet, or had lost it for a moment: asked again a little later. */
    r = rig_new(NULL);
    rig_object(r, 5, S_IFREG | 0644);
    rig_down(r, 2);
    rig_first(r, 0, GI_FOP_LOOKUP, no_object, &err);
    rig_run(r, f = rig_loc(r, kinds[k], 5));
    fake_wait(r->s, 40 * GI_NSEC_PER_MSEC);
    rig_done(f, 0, 0);
    rig_free_clean(r);
  }
}

static void
removed_before_anybody_asks_by_gfid(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;
  int err = ESTALE;

  (void)state;
  rig_object(r, 5, S_IFREG | 0644);
  rig_first(r, 0, GI_FOP_LOOKUP, no_object, &err);
  rig_first(r, 1, GI_FOP_LOOKUP, no_object, &err);
  rig_run(r, f = rig_loc(r, GI_FOP_LOOKUP, 5));
  rig_done(f, -1, ESTALE);
  rig_free_clean(r);
}

/* Changed on a quorum, missed by one, and gone before that could be written down: there is nothing to write it on. */
static void
removed_before_the_marks(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  (void)state;
  rig_object(r, 5, S_IFREG | 0644);
  r->brick[0].fail_once[GI_FOP_SETATTR] = ESTALE;
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_err[GI_FOP_XATTROP] = ESTALE;
  rig_run(r, f = rig_loc(r, GI_FOP_SETATTR, 5));
  rig_done(f, -1, ESTALE);
  rig_free_clean(r);
}

/* A copy that has missed an object does not have it either: of three one has it, and the third is away. */
static void
not_there_on_too_few(void **state)
{
  static const struct {
    enum gi_fop_kind kind, fails;
  } t[] = {{GI_FOP_SETATTR, GI_FOP_INODELK},  {GI_FOP_SETATTR, GI_FOP_XATTROP},  {GI_FOP_SETATTR, GI_FOP_SETATTR},
           {GI_FOP_TRUNCATE, GI_FOP_INODELK}, {GI_FOP_TRUNCATE, GI_FOP_XATTROP}, {GI_FOP_TRUNCATE, GI_FOP_TRUNCATE},
           {GI_FOP_MKDIR, GI_FOP_ENTRYLK},    {GI_FOP_MKDIR, GI_FOP_XATTROP},    {GI_FOP_OPEN, GI_FOP_OPEN}};
  static const int gone[] = {ENOENT, ESTALE};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(t) * GI_ARRAY_LEN(gone); i++) {
    struct rig *r = rig_new(NULL);
    enum gi_fop_kind kind = t[i / 2].kind;
    struct gi_fop *f;

    rig_object(r, 5, S_IFREG | 0644);
    rig_down(r, 1);
    rig_run(r, rig_loc(r, GI_FOP_LOOKUP, 5));
    f = kind == GI_FOP_MKDIR  ? rig_entry(r, kind, 1, "new", 9)
        : kind == GI_FOP_OPEN ? rig_fd(r, kind, fake_fd(r->s, 5))
                              : rig_loc(r, kind, 5);
    r->brick[2].fail_err[t[i / 2].fails] = gone[i % 2];
    rig_run(r, f);
    rig_done(f, -1, ENOTCONN);
    r->brick[2].fail_err[t[i / 2].fails] = 0;
    rig_free_clean(r);
  }
}

/* ---- copies that refuse a change of names for different reasons ---- */

struct refusal {
  int err[BRICKS];
  int good; /* who accuses the others; -1: nobody does */
  int want;
};

static void
refused_for_different_reasons(void **state)
{
  static const struct refusal cases[] = {
      {{ENOENT, EISDIR, EISDIR}, -1, EISDIR}, /* not what ranks highest: what most say */
      {{ENOENT, EISDIR, ENOTDIR}, -1, EIO},   /* nobody is away who could know */
      {{EISDIR, ENOENT, ENOTDIR}, 0, EISDIR}, /* who has missed nothing knows */
      {{EISDIR, ENOENT, ENOENT}, 0, EISDIR},  {{ENOENT, EISDIR, ENOTCONN}, -1, ENOTCONN},
  };

  for (const struct refusal *c = cases; c < cases + GI_ARRAY_LEN(cases); c++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f;

    rig_object(r, 5, S_IFREG | 0644);
    for (unsigned i = 0; i < BRICKS; i++) {
      r->brick[i].fail_once[GI_FOP_UNLINK] = c->err[i];
      if (c->good >= 0 && (int)i != c->good)
        rig_blame(r, (unsigned)c->good, 1, i, 2);
    }
    rig_run(r, f = rig_entry(r, GI_FOP_UNLINK, 1, "f5", 0));
    rig_done(f, -1, c->want);
    rig_free_clean(r);
  }
}

/* ---- locks, marks and the operation in one message ---- */

/* A majority granted it, but one of them has what another client has begun: nothing is clear before that has ended. */
static void
won_but_not_agreed(void **state)
{
  for (unsigned loser = 0; loser < BRICKS; loser++) {
    struct rig *r = rig_of_ours();
    struct gi_fop *f = rig_entry(r, GI_FOP_MKDIR, 1, "new", 20);

    r->brick[loser].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
    r->brick[(loser + 1) % BRICKS].fail_once[GI_FOP_MKDIR] = EEXIST;
    rig_run(r, f);
    rig_done(f, 0, 0);
    for (unsigned i = 0; i < BRICKS; i++)
      rig_marks(r, i, 1, "");
    rig_log(r, (loser + 2) % BRICKS, "( E:new ) MKDIR RMDIR EU:new EW:new MKDIR EU:new");
    rig_free_clean(r);
  }
}

static struct gi_fop *
rename_f5(struct rig *r)
{
  struct gi_fop *f = rig_entry(r, GI_FOP_RENAME, 1, "f5", 0);

  rig_name(r, f, &f->loc, 5);
  rig_name(r, f, &f->loc2, 0);
  return f;
}

static void
moved_before_we_get_the_lock(struct brick *b, struct gi_fop *fop, void *arg)
{
  (void)arg;
  if (fop->kind != GI_FOP_ENTRYLK || fop->args.cmd != GI_ENTRYLK_LOCK)
    return;
  for (unsigned i = 0; i < BRICK_NAMES; i++)
    if (b->name[i].used && strcmp(b->name[i].name, "f5") == 0)
      b->name[i].used = false;
}

/* Another client moves it on the two others meanwhile: one of the two is told of success, and it is that one. */
static void
moved_by_another_on_most(void **state)
{
  struct rig *r = rig_of_ours();
  struct gi_fop *f = rename_f5(r);

  (void)state;
  for (unsigned i = 1; i < BRICKS; i++) {
    r->brick[i].fail_once[GI_FOP_ENTRYLK] = EAGAIN;
    r->brick[i].hook = moved_before_we_get_the_lock;
  }
  rig_run(r, f);
  rig_done(f, -1, ENOENT);
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_copy_shows_another_object),
      cmocka_unit_test(gone_on_one_of_two),
      cmocka_unit_test(removed_on_some),
      cmocka_unit_test(removed_before_anybody_asks_by_gfid),
      cmocka_unit_test(removed_before_the_marks),
      cmocka_unit_test(not_there_on_too_few),
      cmocka_unit_test(refused_for_different_reasons),
      cmocka_unit_test(won_but_not_agreed),
      cmocka_unit_test(moved_by_another_on_most),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
