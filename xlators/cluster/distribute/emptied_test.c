/* SPDX-License-Identifier: Apache-2.0
 *
 * An open, or a creation that comes upon a file, empties it while it moves, over two fake subvolumes: the other copy is emptied, too.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

#include <fcntl.h>
#include <sys/xattr.h>

enum state { STAYS, MOVES, MOVED };
static enum state state_of_file;
static bool tells; /* bricks say with the answer what they have emptied */
static uint64_t emptied_to;

static void
say_source(struct gi_fop *fop, void *arg)
{
  if (fop->kind == GI_FOP_LOOKUP && !fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID)
    say_dir(fop, arg);
  else if (state_of_file == MOVED)
    say_linkto(fop, "child-1");
  else
    attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | 0644 | (state_of_file == MOVES ? S_ISVTX | S_ISGID : 0));
  if (state_of_file == MOVES && fop->kind == GI_FOP_LOOKUP)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", "child-1", 8);
  if (fop->kind == GI_FOP_OPEN) {
    if (tells)
      fop->rsp.post = fop->rsp.pre = fop->rsp.stat;
    memset(&fop->rsp.stat, 0, sizeof(fop->rsp.stat));
  }
}

static void
see_truncate(struct gi_fop *fop, void *arg)
{
  emptied_to = fop->args.offset;
  assert_int_equal(fop->caller.uid, 0);
  assert_int_equal(gi_fop_gfid(fop)->b[0], FILE_GFID);
}

static void
see_open(struct gi_fop *fop, void *arg)
{
  assert_true(fop->args.flags & O_TRUNC);
}

static struct fake_stack *
stack_with_file(enum state s, bool tell)
{
  struct fake_stack *stack = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(stack, GI_FOP_LOOKUP, name_on(0, 2));

  state_of_file = STAYS;
  fake_script_always(stack, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_source});
  fake_submit(stack, f);
  assert_int_equal(f->rsp.ret, 0);
  state_of_file = s;
  tells = tell;
  emptied_to = 1;
  fake_script_always(stack, 0, GI_FOP_OPEN, (struct fake_reply){.fill = say_source});
  fake_script_always(stack, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_script(stack, 1, GI_FOP_TRUNCATE, (struct fake_reply){.fill = see_truncate});
  fake_script(stack, 1, GI_FOP_OPEN, (struct fake_reply){.fill = see_open});
  return stack;
}

static struct gi_fop *
empty(struct fake_stack *s)
{
  struct gi_fop *o = fake_fop(s, GI_FOP_OPEN);

  gi_fop_set_fd(o, fake_fd(s, FILE_GFID));
  o->args.flags = O_WRONLY | O_TRUNC;
  o->caller.uid = o->caller.gid = 26;
  fake_submit(s, o);
  return o;
}

static void
test_both_are_emptied_while_it_moves(void **state)
{
  for (unsigned tell = 0; tell < 2; tell++) {
    struct fake_stack *s = stack_with_file(MOVES, tell);

    assert_int_equal(empty(s)->rsp.ret, 0);
    assert_int_equal(fake_count(s, 0, GI_FOP_OPEN), 1);
    assert_int_equal(fake_count(s, 1, GI_FOP_TRUNCATE), 1);
    assert_int_equal(emptied_to, 0);
    fake_stack_free(s);
  }
}

/* The copy would have what was emptied. */
static void
test_it_fails_if_the_other_cannot_be(void **state)
{
  struct fake_stack *s = stack_with_file(MOVES, true);

  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_source});
  fake_script_always(s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = say_source});
  fake_script_always(s, 1, GI_FOP_TRUNCATE, (struct fake_reply){.ret = -1, .err = EIO});
  assert_int_equal(empty(s)->rsp.err, EIO);
  fake_stack_free(s);
}

/* What is left of it on its source was emptied, which it was before. */
static void
test_it_follows_when_it_has_moved(void **state)
{
  for (unsigned tell = 0; tell < 2; tell++) {
    struct fake_stack *s = stack_with_file(MOVED, tell);

    assert_int_equal(empty(s)->rsp.ret, 0);
    assert_int_equal(fake_count(s, 1, GI_FOP_OPEN), 1);
    assert_int_equal(fake_count(s, 1, GI_FOP_TRUNCATE), 0);
    fake_stack_free(s);
  }
}

static void
test_a_file_that_stays_is_emptied_alone(void **state)
{
  for (unsigned tell = 0; tell < 2; tell++) {
    struct fake_stack *s = stack_with_file(STAYS, tell);

    assert_int_equal(empty(s)->rsp.ret, 0);
    assert_int_equal(fake_count(s, 0, GI_FOP_OPEN), 1);
    assert_int_equal(fake_count(s, 1, GI_FOP_OPEN) + fake_count(s, 1, GI_FOP_TRUNCATE), 0);
    fake_stack_free(s);
  }
}

/* ---- a creation that comes upon the file ---- */

static void
say_emptied(struct gi_fop *fop, void *arg)
{
  attr_of(&fop->rsp.post, FILE_GFID, S_IFREG | 0644 | (state_of_file == MOVES ? S_ISVTX | S_ISGID : 0));
  fop->rsp.pre = fop->rsp.post;
}

static struct gi_fop *
create(struct fake_stack *s, uint32_t flags, uint8_t gfid)
{
  struct gi_fop *f = entry_fop(s, GI_FOP_CREATE, name_on(0, 2));
  struct gi_gfid ours;

  memset(ours.b, gfid, sizeof(ours.b));
  f->args.flags = O_CREAT | flags;
  f->fd = gi_fd_new(s->graph, NULL, O_RDWR, 1);
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &ours);
  fake_script(s, 0, GI_FOP_CREATE, (struct fake_reply){.fill = say_source});
  fake_script(s, 0, GI_FOP_TRUNCATE, (struct fake_reply){.fill = say_emptied});
  fake_submit(s, f);
  assert_int_equal(fake_count(s, 0, GI_FOP_CREATE), 1);
  return f;
}

static void
test_a_creation_empties_both(void **state)
{
  struct fake_stack *s = stack_with_file(MOVES, true);

  assert_int_equal(create(s, O_TRUNC, FILE_GFID + 1)->rsp.ret, 0);
  assert_int_equal(fake_count(s, 1, GI_FOP_TRUNCATE), 1);
  assert_int_equal(emptied_to, 0);
  fake_stack_free(s);
}

/* The other copy would have what was emptied. */
static void
test_a_creation_fails_if_the_other_cannot_be(void **state)
{
  struct fake_stack *s = stack_with_file(MOVES, true);

  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_source});
  fake_script_always(s, 1, GI_FOP_TRUNCATE, (struct fake_reply){.ret = -1, .err = EIO});
  assert_int_equal(create(s, O_TRUNC, FILE_GFID + 1)->rsp.err, EIO);
  fake_stack_free(s);
}

/* What it has made itself is empty, and what it does not empty stays. */
static void
test_a_creation_empties_nothing_else(void **state)
{
  struct fake_stack *s;

  for (unsigned made = 0; made < 2; made++) {
    s = stack_with_file(MOVES, true);
    assert_int_equal(create(s, made ? O_TRUNC : 0, FILE_GFID + !made)->rsp.ret, 0);
    assert_int_equal(fake_count(s, 0, GI_FOP_TRUNCATE) + fake_count(s, 1, GI_FOP_TRUNCATE), 0);
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_both_are_emptied_while_it_moves), cmocka_unit_test(test_it_fails_if_the_other_cannot_be),
      cmocka_unit_test(test_it_follows_when_it_has_moved),    cmocka_unit_test(test_a_file_that_stays_is_emptied_alone),
      cmocka_unit_test(test_a_creation_empties_both),         cmocka_unit_test(test_a_creation_fails_if_the_other_cannot_be),
      cmocka_unit_test(test_a_creation_empties_nothing_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
