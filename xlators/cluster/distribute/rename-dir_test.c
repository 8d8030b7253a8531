/* SPDX-License-Identifier: Apache-2.0
 *
 * The rename of a directory over four fake subvolumes, one of which may be lost
 * or refuse: all have one name in the end.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

#include "libglusterish/extension.h"

#define N 4
#define MOVED_GFID 21
#define INTO_GFID 22
#define OVER_GFID 23
#define NOTE KEY ".rename"

enum place { OLD, NEW, NOWHERE };

struct holder {
  struct part *part;
  enum place at;
  uint8_t note[1024];
  uint32_t noted; /* bytes; 0: none */
  int refuses;    /* errno of its next RENAME; 0: none */
  bool does;      /* and does it none the less: the answer is lost */
  bool lacks;     /* the directory that the new name is in */
  bool over;      /* has another one under the new name, which is empty */
  bool silent;    /* cannot say what has the old name */
};

struct bench {
  struct fake_stack *s;
  struct holder h[N];
  char old[16], new[16];
  char into[16];  /* where the directory is that has the new name … */
  uint8_t parent; /* … which is this one */
  unsigned nkept;
  struct gi_fop *kept[4 * N]; /* all RENAMEs: a replica set needs their names after it has answered */
};

static struct bench *bench;

static void
say_moved(struct gi_fop *fop, struct holder *h)
{
  say_dir(fop, h->part);
  attr_of(&fop->rsp.stat, MOVED_GFID, S_IFDIR | 0755);
  if (h->noted)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), NOTE, h->note, h->noted);
}

static void
say_into(struct gi_fop *fop, struct holder *h)
{
  if (h->lacks) {
    gi_fop_fail(fop, ENOENT);
    return;
  }
  say_dir(fop, h->part);
  attr_of(&fop->rsp.stat, INTO_GFID, S_IFDIR | 0755);
}

static void
say_over(struct gi_fop *fop, struct holder *h)
{
  say_dir(fop, h->part);
  attr_of(&fop->rsp.stat, OVER_GFID, S_IFDIR | 0755);
}

static void
make_over(struct gi_fop *fop, void *arg)
{
  struct holder *h = arg;
  struct gi_gfid gfid;

  assert_string_equal(fop->loc.name, bench->new);
  assert_true(gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid));
  assert_int_equal(gfid.b[0], OVER_GFID);
  assert_int_equal(h->at, OLD);
  h->over = true;
  say_over(fop, h);
}

static void
make_into(struct gi_fop *fop, void *arg)
{
  struct holder *h = arg;

  assert_string_equal(fop->loc.name, bench->into);
  h->lacks = false;
  say_into(fop, h);
}

static void
say_lookup(struct gi_fop *fop, void *arg)
{
  struct holder *h = arg;
  const char *name = fop->loc.name;
  const struct gi_gfid *gfid = fop->loc.inode ? &fop->loc.inode->gfid : &fop->loc.gfid;

  if (h->silent && name && strcmp(name, bench->old) == 0)
    gi_fop_fail(fop, ENOTCONN);
  else if (!name && gfid->b[0] == DIR_GFID)
    say_dir(fop, h->part);
  else if (name ? strcmp(name, bench->into) == 0 : gfid->b[0] == INTO_GFID)
    say_into(fop, h);
  else if (!name ? h->at != NOWHERE : h->at != NOWHERE && strcmp(name, h->at == OLD ? bench->old : bench->new) == 0)
    say_moved(fop, h);
  else if (h->over && (name ? strcmp(name, bench->new) == 0 : gfid->b[0] == OVER_GFID))
    say_over(fop, h);
  else
    gi_fop_fail(fop, ENOENT);
}

static void
do_rename(struct gi_fop *fop, void *arg)
{
  struct holder *h = arg;
  enum place from = strcmp(fop->loc.name, bench->old) == 0 ? OLD : NEW;
  int err = h->refuses;

  assert_non_null(gi_dict_get(fop->xdata, GI_DURABLE_KEY)); /* or nobody knows which name counts after a loss of power */
  h->refuses = 0;
  assert_true(bench->nkept < GI_ARRAY_LEN(bench->kept));
  bench->kept[bench->nkept++] = gi_fop_ref(fop);
  if (!err && (h->at != from || (h->lacks && from == OLD)))
    err = ENOENT;
  if (!err || h->does) {
    h->at = from == OLD ? NEW : OLD;
    h->over = false;
  }
  if (err)
    gi_fop_fail(fop, err);
  else
    say_moved(fop, h);
}

static void
do_set(struct gi_fop *fop, void *arg)
{
  struct holder *h = arg;
  const void *bytes;

  if (gi_dict_get_bin(fop->args.dict, NOTE, &bytes, &h->noted))
    memcpy(h->note, bytes, h->noted);
}

static void
do_remove(struct gi_fop *fop, void *arg)
{
  struct holder *h = arg;

  if (strcmp(fop->args.name, NOTE) == 0)
    h->noted = 0;
}

static void
bench_begin(struct bench *b)
{
  memset(b, 0, sizeof(*b));
  b->s = stack_with_dir(N, 0);
  bench = b;
  strcpy(b->old, name_on(2, N));
  strcpy(b->new, name_on(1, N));
  strcpy(b->into, other_name_on(0, N));
  b->parent = DIR_GFID;
  for (unsigned i = 0; i < N; i++) {
    b->h[i].part = &parts[i];
    fake_script_always(b->s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_lookup, .arg = &b->h[i]});
    fake_script_always(b->s, i, GI_FOP_RENAME, (struct fake_reply){.fill = do_rename, .arg = &b->h[i]});
    fake_script_always(b->s, i, GI_FOP_SETXATTR, (struct fake_reply){.fill = do_set, .arg = &b->h[i]});
    fake_script_always(b->s, i, GI_FOP_REMOVEXATTR, (struct fake_reply){.fill = do_remove, .arg = &b->h[i]});
  }
}

static int
rename_it(struct bench *b)
{
  struct gi_fop *f = entry_fop(b->s, GI_FOP_RENAME, b->old);

  gi_fop_set_entry(f, &f->loc2, fake_inode(b->s, b->parent), b->new);
  fake_submit(b->s, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

static int
look_up(struct bench *b, const char *name)
{
  struct gi_fop *f = entry_fop(b->s, GI_FOP_LOOKUP, name);

  fake_submit(b->s, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

/* All have it under that name, without a note. */
static void
assert_named(struct bench *b, enum place at)
{
  for (unsigned i = 0; i < N; i++) {
    assert_int_equal(b->h[i].at, at);
    assert_int_equal(b->h[i].noted, 0);
  }
  assert_int_equal(look_up(b, b->old), at == OLD ? 0 : ENOENT);
  assert_int_equal(look_up(b, b->new), at == NEW ? 0 : ENOENT);
  for (unsigned k = 0; k < b->nkept; k++) {
    bool back = strcmp(b->kept[k]->loc.name, b->old) != 0;

    assert_string_equal(b->kept[k]->loc.name, back ? b->new : b->old);
    assert_string_equal(b->kept[k]->loc2.name, back ? b->old : b->new);
    gi_fop_unref(b->kept[k]);
  }
}

/* And none has made it anew. */
static void
assert_settled(struct bench *b, enum place at)
{
  for (unsigned i = 0; i < N; i++)
    assert_int_equal(fake_count(b->s, i, GI_FOP_MKDIR), 0);
  assert_named(b, at);
}

static void
test_all_rename(void **state)
{
  struct bench b;

  bench_begin(&b);
  assert_int_equal(rename_it(&b), 0);
  for (unsigned i = 0; i < N; i++)
    assert_int_equal(fake_count(b.s, i, GI_FOP_RENAME), 1);
  assert_settled(&b, NEW);
  fake_stack_free(b.s);
}

static void
test_one_refuses(void **state)
{
  struct bench b;

  bench_begin(&b);
  b.h[3].refuses = ENOSPC;
  assert_int_equal(rename_it(&b), ENOSPC);
  assert_settled(&b, OLD);
  fake_stack_free(b.s);
}

/* It replaces an empty one; where that is done and one refuses, also when who finds the note goes on, all have it again. */
static void
test_what_it_was_to_replace_stays(void **state)
{
  for (unsigned noted = 0; noted < 2; noted++) {
    struct bench b;

    bench_begin(&b);
    for (unsigned i = 0; i < N; i++) {
      b.h[i].over = true;
      fake_script_always(b.s, i, GI_FOP_MKDIR, (struct fake_reply){.fill = make_over, .arg = &b.h[i]});
    }
    b.h[1].refuses = noted ? ENOTCONN : 0;
    b.h[1].does = noted;
    b.h[3].refuses = ENOSPC;
    assert_int_equal(rename_it(&b), noted ? ENOTCONN : ENOSPC);
    if (noted)
      assert_int_equal(look_up(&b, b.old), 0);
    for (unsigned i = 0; i < N; i++) {
      assert_int_equal(b.h[i].at, OLD);
      assert_true(b.h[i].over);
    }
    for (unsigned k = 0; k < b.nkept; k++)
      gi_fop_unref(b.kept[k]);
    fake_stack_free(b.s);
  }
}

/* Whichever is lost, whether it has done it or not, whichever name is looked up then. */
static void
test_one_is_lost_in_the_middle(void **state)
{
  for (unsigned i = 0; i < N * 4; i++) {
    unsigned lost = i / 4;
    bool decides = lost == 1, does = i & 1;
    struct bench b;

    bench_begin(&b);
    b.h[lost].refuses = ENOTCONN;
    b.h[lost].does = does;
    assert_int_equal(rename_it(&b), ENOTCONN);
    look_up(&b, i & 2 ? b.old : b.new);
    look_up(&b, i & 2 ? b.new : b.old);
    assert_settled(&b, decides && !does ? OLD : NEW);
    fake_stack_free(b.s);
  }
}

/* It has missed the directory, and as its copies disagree it does not say so. */
static void
test_one_that_decides_cannot_say(void **state)
{
  struct bench b;

  bench_begin(&b);
  b.h[1].at = NOWHERE;
  b.h[1].silent = true;
  assert_int_equal(rename_it(&b), ENOTCONN);
  for (unsigned i = 0; i < N; i++) {
    assert_int_equal(fake_count(b.s, i, GI_FOP_RENAME), 0);
    assert_int_equal(b.h[i].noted, 0);
  }
  fake_stack_free(b.s);
}

/* A new subvolume has the directory already, and not yet the one that it goes to: it would keep the old name. */
static void
test_one_lacks_where_it_goes(void **state)
{
  struct bench b;

  bench_begin(&b);
  b.parent = INTO_GFID;
  b.h[3].lacks = true;
  assert_int_equal(rename_it(&b), ESTALE); /* the kernel looks up all of the path then, and tries again */
  assert_settled(&b, OLD);
  fake_stack_free(b.s);
}

/* If it is known where that is, it is made there. */
static void
test_one_gets_where_it_goes(void **state)
{
  struct bench b;

  bench_begin(&b);
  b.parent = INTO_GFID;
  assert_int_equal(look_up(&b, b.into), 0);
  b.h[3].lacks = true;
  fake_script_always(b.s, 3, GI_FOP_MKDIR, (struct fake_reply){.fill = make_into, .arg = &b.h[3]});
  assert_int_equal(rename_it(&b), 0);
  assert_false(b.h[3].lacks);
  assert_named(&b, NEW);
  fake_stack_free(b.s);
}

/* Somebody was killed in the middle. */
static void
test_one_lacks_where_it_was_to_go(void **state)
{
  struct bench b;

  bench_begin(&b);
  b.parent = INTO_GFID;
  b.h[0].refuses = b.h[2].refuses = b.h[3].refuses = ENOTCONN;
  assert_int_equal(rename_it(&b), ENOTCONN);
  b.h[3].lacks = true;
  look_up(&b, b.old);
  assert_settled(&b, OLD);
  fake_stack_free(b.s);
}

/* Of one who leaves no note: two of one gfid would hide what is in the first. */
static void
test_it_is_not_made_where_it_has_another_name(void **state)
{
  struct bench b;

  bench_begin(&b);
  b.h[3].at = NEW;
  look_up(&b, b.old);
  look_up(&b, b.new);
  for (unsigned i = 0; i < N; i++)
    assert_int_equal(fake_count(b.s, i, GI_FOP_MKDIR), 0);
  b.h[3].at = NOWHERE;
  look_up(&b, b.old);
  assert_int_equal(fake_count(b.s, 3, GI_FOP_MKDIR), 1);
  fake_stack_free(b.s);
}

static void
test_a_note_that_says_nothing_goes(void **state)
{
  static const char *const words[] = {"", "x", "0123\0name\0vol",
                                      "00000000-0000-0000-0000-000000000005a\0"
                                      "00000000-0000-0000-0000-000000000005b"};

  for (unsigned i = 0; i < GI_ARRAY_LEN(words); i++) {
    struct bench b;

    bench_begin(&b);
    b.h[2].noted = 80;
    memcpy(b.h[2].note, words[i], strlen(words[i]) + 1);
    assert_int_equal(look_up(&b, b.old), 0);
    assert_settled(&b, OLD);
    fake_stack_free(b.s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_rename),
      cmocka_unit_test(test_one_refuses),
      cmocka_unit_test(test_what_it_was_to_replace_stays),
      cmocka_unit_test(test_one_is_lost_in_the_middle),
      cmocka_unit_test(test_one_that_decides_cannot_say),
      cmocka_unit_test(test_one_lacks_where_it_goes),
      cmocka_unit_test(test_one_gets_where_it_goes),
      cmocka_unit_test(test_one_lacks_where_it_was_to_go),
      cmocka_unit_test(test_it_is_not_made_where_it_has_another_name),
      cmocka_unit_test(test_a_note_that_says_nothing_goes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
