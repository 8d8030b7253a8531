/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/open-behind: what comes after the opens that it owes, how it
 * leaves the path, and all of it by chance.
 */
#include "xlators/performance/open-behind/rig.h"

/* ---- what comes after the opens ---- */

static void
check_comes_after(struct fake_stack *s, struct gi_fop *f, unsigned nopens)
{
  enum gi_fop_kind kind = f->kind;
  unsigned before = opens(s), of_kind = fake_count(s, 0, kind);
  for (unsigned i = 0; i < nopens; i++)
    hold(s, GI_FOP_OPEN);
  fake_submit(s, f);
  assert_int_equal(opens(s) - before, nopens);
  for (unsigned i = 0; i < nopens; i++) {
    assert_int_equal(fake_count(s, 0, kind), of_kind);
    assert_true(fake_release(s, 0, GI_FOP_OPEN, i ? -1 : 0, i ? EACCES : 0)); /* how they end does not matter */
    fake_settle(s);
  }
  assert_int_equal(fake_count(s, 0, kind), of_kind + 1);
  assert_true(f->answered);
}

static void
test_what_we_remove_or_replace_is_opened_first(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_UNLINK, GI_FOP_RENAME};
  struct fake_stack *s = *state;
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct open_file a = open_early(s, FILE_A), b = open_early(s, FILE_B);
    check_comes_after(s, on_name(s, kinds[i], FILE_A), 1);
    shut(s, &a);
    a = open_early(s, FILE_A);
    check_comes_after(s, on_name(s, kinds[i], 0), 2); /* it is not known what has the name */
    shut(s, &a);
    shut(s, &b);
  }
}

static void
test_who_is_forbidden_now_was_let_in_before(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), other = open_early(s, FILE_B);
  check_comes_after(s, on_inode(s, GI_FOP_SETATTR, FILE_A), 1);
  check_comes_after(s, on_inode(s, GI_FOP_SETXATTR, FILE_B), 1);
  shut(s, &o);
  shut(s, &other);
}

static void
test_a_removal_does_not_wait_for_bricks_that_are_away(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A);
  fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  struct gi_fop *f = on_name(s, GI_FOP_UNLINK, 0);
  fake_submit(s, f);
  assert_true(f->answered);
  assert_int_equal(fake_count(s, 0, GI_FOP_UNLINK), 1);
  shut(s, &o);
}

static void
test_while_a_removal_waits_opens_are_judged(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), second;
  let_in(s, FILE_B);
  hold(s, GI_FOP_OPEN);
  fake_submit(s, on_name(s, GI_FOP_UNLINK, 0));
  unsigned before = opens(s);
  second = open_as(s, FILE_B, O_RDWR, ME);
  assert_int_equal(opens(s), before + 1);
  fake_release(s, 0, GI_FOP_OPEN, 0, 0);
  shut(s, &second);
  second = open_as(s, FILE_B, O_RDWR, ME);
  assert_int_equal(opens(s), before + 1);
  shut(s, &o);
  shut(s, &second);
}

/* It may have lost its name by the time it is sent, and must be found by itself. */
static void
nameless(struct gi_fop *fop, void *arg)
{
  *(bool *)arg = gi_dict_get(fop->xdata, GI_NAMED_KEY) == NULL && gi_dict_get(fop->xdata, GI_CONTENT_KEY) == NULL &&
                 gi_dict_get(fop->xdata, "other") != NULL;
}

static void
test_a_late_open_does_not_insist_on_a_name(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = fake_fop(s, GI_FOP_OPEN);
  struct gi_fd *fd = gi_fd_new(s->graph, fake_inode(s, FILE_A), O_RDWR, 100);
  bool found = false;
  let_in(s, FILE_A);
  gi_fop_set_fd(f, fd);
  f->args.flags = O_RDWR;
  f->caller.uid = f->caller.gid = ME;
  gi_dict_set_int(gi_fop_xdata(f), GI_NAMED_KEY, 1);
  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, 0);
  gi_dict_set_int(gi_fop_xdata(f), "other", 1);
  fake_submit(s, f);
  fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = nameless, .arg = &found});
  use(s, GI_FOP_READ, fd);
  assert_true(found);
  gi_fd_unref(&fd);
}

/* ---- draining ---- */

static void
test_drained_every_open_is_sent(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), b = open_early(s, FILE_B);
  hold(s, GI_FOP_OPEN);
  hold(s, GI_FOP_OPEN);
  gi_xlator_enable(s->x, false);
  assert_int_equal(opens(s), 4);
  fake_release(s, 0, GI_FOP_OPEN, 0, 0);
  fake_settle(s);
  assert_true(s->x->enabled);
  fake_release(s, 0, GI_FOP_OPEN, 0, 0);
  fake_settle(s);
  assert_false(s->x->enabled);
  use(s, GI_FOP_READ, o.fd);
  assert_int_equal(opens(s), 4);
  gi_xlator_enable(s->x, true);
  use(s, GI_FOP_READ, o.fd);
  assert_int_equal(opens(s), 4);
  shut(s, &o);
  shut(s, &b);
}

static void
test_draining_waits_for_bricks_or_the_close(void **state)
{
  struct fake_stack *s = *state;
  struct open_file o = open_early(s, FILE_A), b = open_early(s, FILE_B);
  for (unsigned i = 0; i < 2; i++)
    fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  gi_xlator_enable(s->x, false);
  fake_settle(s);
  assert_true(s->x->enabled);
  shut(s, &o);
  assert_true(s->x->enabled);
  fake_event(s, 0, GI_EVENT_CHILD_UP, NULL);
  fake_settle(s);
  assert_false(s->x->enabled);
  shut(s, &b);
}

/* ---- all of it, by chance ---- */

static uint32_t seed;

static uint32_t
chance(uint32_t n)
{
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

#define FILES 3
#define FDS 8

struct brick {
  struct gi_fd *open[64];
  unsigned nopen;
};

static bool
is_open(const struct brick *b, const struct gi_fd *fd)
{
  for (unsigned i = 0; i < b->nopen; i++)
    if (b->open[i] == fd)
      return true;
  return false;
}

static void
brick_open(struct gi_fop *fop, void *arg)
{
  struct brick *b = arg;
  if (chance(8) == 0) {
    fop->rsp.ret = -1;
    fop->rsp.err = chance(2) ? ENOTCONN : EACCES;
  } else if (!is_open(b, fop->fd)) {
    assert_true(b->nopen < GI_ARRAY_LEN(b->open));
    b->open[b->nopen++] = fop->fd;
  }
}

static void
brick_use(struct gi_fop *fop, void *arg)
{
  assert_true(is_open(arg, fop->fd) || (fop->kind == GI_FOP_FSYNC && fop->fd->anonymous));
}

static void
brick_closed(struct brick *b, const struct gi_fd *fd)
{
  for (unsigned i = 0; i < b->nopen; i++)
    if (b->open[i] == fd)
      b->open[i--] = b->open[--b->nopen];
}

static void
model_step(struct fake_stack *s, struct brick *b, struct open_file *o)
{
  static const enum gi_fop_kind uses[] = {GI_FOP_READ, GI_FOP_WRITE, GI_FOP_FSYNC, GI_FOP_LK};
  struct open_file *one = &o[chance(FDS)];
  uint8_t file = (uint8_t)(FILE_A + chance(FILES));
  struct gi_fop *f = NULL;
  switch (one->fd ? chance(6) : 5) {
  case 0:
    brick_closed(b, one->fd);
    shut(s, one);
    *one = (struct open_file){0};
    break;
  case 1:
    fake_submit(s, f = on_name(s, chance(2) ? GI_FOP_UNLINK : GI_FOP_RENAME, chance(2) ? file : 0));
    assert_true(f->answered && f->rsp.ret >= 0);
    break;
  case 2:
    fake_submit(s, f = on_inode(s, GI_FOP_SETATTR, file));
    assert_true(f->answered && f->rsp.ret >= 0);
    break;
  case 3:
  case 4:
    f = use(s, uses[chance(GI_ARRAY_LEN(uses))], one->fd);
    assert_true(f->answered && (f->rsp.ret >= 0 || f->rsp.err == EACCES || f->rsp.err == ENOTCONN));
    break;
  default:
    if (one->fd)
      break;
    *one = open_as(s, file, O_RDWR, ME + chance(2));
    if (one->fop->rsp.ret < 0) {
      shut(s, one);
      *one = (struct open_file){0};
    }
    break;
  }
  if (f)
    fake_fop_free(f);
}

static void
test_by_chance_nothing_is_used_that_is_not_open(void **state)
{
  static const enum gi_fop_kind uses[] = {GI_FOP_READ, GI_FOP_WRITE, GI_FOP_FSYNC, GI_FOP_LK};
  uint64_t early = 0;
  for (unsigned round = 0; round < 60; round++) {
    struct fake_stack *s = stack(round % 2 ? "option lazy-open no\n" : NULL);
    struct open_file o[FDS] = {0};
    struct brick b = {0};
    seed = round;
    fake_script_always(s, 0, GI_FOP_OPEN, (struct fake_reply){.deferred = round % 3 == 0, .fill = brick_open, .arg = &b});
    for (size_t i = 0; i < GI_ARRAY_LEN(uses); i++)
      fake_script_always(s, 0, uses[i], (struct fake_reply){.fill = brick_use, .arg = &b});
    for (unsigned i = 0; i < 50; i++) {
      fake_forget_seen(s);
      model_step(s, &b, o);
      assert_int_equal(metric(s, WAITING), 0);
    }
    early += metric(s, EARLY);
    for (unsigned i = 0; i < FDS; i++)
      if (o[i].fd)
        shut(s, &o[i]);
    fake_stack_free(s);
  }
  assert_true(early > 200);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_what_we_remove_or_replace_is_opened_first),
      TEST(test_who_is_forbidden_now_was_let_in_before),
      TEST(test_a_removal_does_not_wait_for_bricks_that_are_away),
      TEST(test_while_a_removal_waits_opens_are_judged),
      TEST(test_a_late_open_does_not_insist_on_a_name),
      TEST(test_drained_every_open_is_sent),
      TEST(test_draining_waits_for_bricks_or_the_close),
      cmocka_unit_test(test_by_chance_nothing_is_used_that_is_not_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
