/* SPDX-License-Identifier: Apache-2.0
 *
 * A file with two names that was on its way from one fake subvolume to another
 * when who moved it was killed, and stays: both names belong to the first now.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"
#include "xlators/cluster/distribute/spread-fixture.h"

#define N 2
#define NAMES 2

/* What the disk of a subvolume has of the file. */
struct copy {
  uint32_t mode;
  const char *leads; /* what its linkto attribute says, or NULL */
  bool named[NAMES];
};

static struct copy copies[N];
static char name[NAMES][NAME_BYTES];

static bool *
named(struct copy *c, const char *what)
{
  for (unsigned i = 0; i < NAMES; i++)
    if (strcmp(what, name[i]) == 0)
      return &c->named[i];
  fail_msg("nobody knows %s", what);
  return NULL;
}

static void
say(struct gi_fop *fop, void *arg)
{
  const struct gi_gfid *gfid = fop->loc.inode ? &fop->loc.inode->gfid : &fop->loc.gfid;
  struct copy *c = arg;

  if (!fop->loc.name && gfid->b[0] == DIR_GFID) {
    say_dir(fop, &parts[c - copies]);
  } else if (fop->loc.name && !*named(c, fop->loc.name)) {
    gi_fop_fail(fop, ENOENT);
  } else {
    attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | c->mode);
    fop->rsp.stat.nlink = c->named[0] + c->named[1];
    if (c->leads)
      gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", c->leads, (uint32_t)strlen(c->leads) + 1);
  }
}

static void
keep_mode(struct gi_fop *fop, void *arg)
{
  struct copy *c = arg;

  fop->rsp.pre.mode = S_IFREG | c->mode;
  c->mode = fop->args.iatt.mode & 07777;
}

static void
drop_xattr(struct gi_fop *fop, void *arg)
{
  struct copy *c = arg;

  if (strcmp(fop->args.name, KEY ".linkto") == 0)
    c->leads = NULL;
}

static void
unlink_linkto(struct gi_fop *fop, void *arg)
{
  struct copy *c = arg;

  assert_int_equal(c->mode, GI_LINKTO_MODE);
  *named(c, fop->loc.name) = false;
}

static struct fake_stack *
stack(void)
{
  struct fake_stack *s = stack_with_dir(N, 0);

  memcpy(name[0], name_on(0, N), NAME_BYTES);
  memcpy(name[1], other_name_on(0, N), NAME_BYTES);
  for (unsigned i = 0; i < N; i++) {
    struct copy *c = &copies[i];

    *c =
        (struct copy){.mode = i ? GI_LINKTO_MODE : 0644 | DI_MOVING, .leads = i ? "child-0" : "child-1", .named = {true, true}};
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say, .arg = c});
    fake_script_always(s, i, GI_FOP_SETATTR, (struct fake_reply){.fill = keep_mode, .arg = c});
    fake_script_always(s, i, GI_FOP_REMOVEXATTR, (struct fake_reply){.fill = drop_xattr, .arg = c});
    fake_script_always(s, i, GI_FOP_UNLINK, (struct fake_reply){.fill = unlink_linkto, .arg = c});
  }
  return s;
}

struct run {
  struct fake_stack *s;
  int err;
};

static void
run(void *arg)
{
  struct run *run = arg;
  struct di_reb r = {.d = di_of(run->s->x), .base = gi_fop_new(run->s->graph, GI_FOP_IPC)};
  struct di_reb_name has[NAMES];
  struct di_reb_names all = {.gfid = fake_inode(run->s, FILE_GFID)->gfid, .n = NAMES, .name = has, .regular = true};

  for (unsigned i = 0; i < NAMES; i++)
    has[i] = (struct di_reb_name){.parent = fake_inode(run->s, DIR_GFID), .name = name[i]};
  r.d->leaving = 2;
  run->err = di_reb_move_names(&r, &all);
  gi_fop_unref(r.base);
}

static int
move(struct fake_stack *s)
{
  struct run r = {.s = s, .err = -1};

  gi_task_start(s->x->reactor, run, &r);
  fake_settle(s);
  return r.err;
}

static void
test_it_stays_without_marks(void **state)
{
  struct fake_stack *s = stack();

  assert_int_equal(move(s), EALREADY);
  assert_int_equal(copies[0].mode, 0644);
  assert_null(copies[0].leads);
  for (unsigned i = 0; i < NAMES; i++) {
    assert_true(copies[0].named[i]);
    assert_false(copies[1].named[i]);
  }
  fake_stack_free(s);
}

/* Without marks the target says nothing of the file, and is left to who meets it. */
static void
test_it_stays_as_it_is(void **state)
{
  struct fake_stack *s = stack();

  copies[0] = (struct copy){.mode = 0644, .named = {true, true}};
  assert_int_equal(move(s), EALREADY);
  assert_int_equal(copies[0].mode, 0644);
  assert_true(copies[1].named[0]);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_stays_without_marks),
      cmocka_unit_test(test_it_stays_as_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
