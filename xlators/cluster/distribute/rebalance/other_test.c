/* SPDX-License-Identifier: Apache-2.0
 *
 * A symbolic link with two names moves, over three fake subvolumes that know
 * what has each name: it was on the first, one name belongs to the second, the
 * other to the third. And a file whose move to another subvolume did not end.
 */
#include "xlators/cluster/distribute/rebalance/walk-fixture.h"

#define N 3
#define NAMES 2

/* What has each of the names: L: a linkto file, S: the symbolic link, or a blank. */
struct sub {
  unsigned n;
  char at[NAMES + 1];
  char leads[GI_NAME_MAX + 1]; /* the linkto file: to that subvolume */
};

static struct sub sub[N];
static char name[NAMES][NAME_BYTES];
static unsigned met;   /* names that the walk met */
static unsigned held;  /* locks of names */
static char steps[64]; /* s2: names are on the disks of the third; u0: one goes from the first */

static void
step(char what, const struct sub *s)
{
  size_t len = strlen(steps);

  assert_true(len + 4 < sizeof(steps));
  snprintf(steps + len, sizeof(steps) - len, "%c%u ", what, s->n);
}

static char *
at(struct sub *s, const char *what)
{
  for (unsigned i = 0; i < NAMES; i++)
    if (strcmp(what, name[i]) == 0)
      return &s->at[i];
  fail_msg("nobody knows %s", what);
  return NULL;
}

static unsigned
names_of(const struct sub *s, char what)
{
  unsigned n = 0;

  for (unsigned i = 0; i < NAMES; i++)
    n += s->at[i] == what;
  return n;
}

static void
say(struct gi_fop *fop, void *arg)
{
  struct sub *s = arg;
  const struct gi_gfid *gfid = fop->loc.inode ? &fop->loc.inode->gfid : &fop->loc.gfid;
  char what = fop->loc.name ? *at(s, fop->loc.name) : names_of(s, 'S') ? 'S' : names_of(s, 'L') ? 'L' : ' ';

  if (!fop->loc.name && gfid->b[0] == DIR_GFID) {
    say_dir(fop, &parts[s->n]);
  } else if (what == ' ') {
    gi_fop_fail(fop, ENOENT);
  } else if (what == 'L') {
    say_linkto(fop, s->leads);
  } else {
    attr_of(&fop->rsp.stat, FILE_GFID, S_IFLNK | 0777);
    fop->rsp.stat.nlink = names_of(s, 'S');
  }
}

/* The gfid is that of one file, whatever kind. */
static void
do_symlink(struct gi_fop *fop, void *arg)
{
  struct sub *s = arg;

  assert_string_equal(fop->args.link, "where it leads");
  if (names_of(s, ' ') < NAMES)
    gi_fop_fail(fop, EEXIST);
  else
    *at(s, fop->loc.name) = 'S';
}

static void
do_link(struct gi_fop *fop, void *arg)
{
  struct sub *s = arg;

  if (!names_of(s, 'S'))
    gi_fop_fail(fop, ENOENT);
  else if (*at(s, fop->loc2.name) != ' ')
    gi_fop_fail(fop, EEXIST);
  else
    *at(s, fop->loc2.name) = 'S';
}

static void
do_unlink(struct gi_fop *fop, void *arg)
{
  struct sub *s = arg;
  char *what = at(s, fop->loc.name), wants = gi_dict_get(fop->xdata, "unlink-only-if-dht-linkto-file") ? 'L' : 'S';

  assert_int_equal(held, met);
  if (*what != wants) {
    gi_fop_fail(fop, *what == ' ' ? ENOENT : EBUSY);
    return;
  }
  *what = ' ';
  if (wants == 'S')
    step('u', s);
}

static void
do_sync(struct gi_fop *fop, void *arg)
{
  step('s', arg);
}

static void
do_mknod(struct gi_fop *fop, void *arg)
{
  struct sub *s = arg;
  const void *bytes;
  uint32_t len;

  assert_true(gi_dict_get_bin(fop->xdata, KEY ".linkto", &bytes, &len));
  snprintf(s->leads, sizeof(s->leads), "%s", (const char *)bytes);
  *at(s, fop->loc.name) = 'L';
}

static void
do_lead(struct gi_fop *fop, void *arg)
{
  struct sub *s = arg;
  const void *bytes;
  uint32_t len;

  if (gi_dict_get_bin(fop->args.dict, KEY ".linkto", &bytes, &len))
    snprintf(s->leads, sizeof(s->leads), "%s", (const char *)bytes);
}

static void
read_it(struct gi_fop *fop, void *arg)
{
  fop->rsp.link = "where it leads";
}

static void
see_lock(struct gi_fop *fop, void *arg)
{
  held += fop->args.cmd == GI_ENTRYLK_LOCK ? 1u : -1u;
}

static struct fake_stack *
stack(const char *first, const char *second, const char *third)
{
  static const struct {
    enum gi_fop_kind kind;
    void (*fill)(struct gi_fop *fop, void *arg);
  } does[] = {{GI_FOP_LOOKUP, say},       {GI_FOP_SYMLINK, do_symlink}, {GI_FOP_LINK, do_link},
              {GI_FOP_UNLINK, do_unlink}, {GI_FOP_MKNOD, do_mknod},     {GI_FOP_SETXATTR, do_lead},
              {GI_FOP_READLINK, read_it}, {GI_FOP_ENTRYLK, see_lock},   {GI_FOP_FSYNCDIR, do_sync}};
  const char *const has[N] = {first, second, third};
  struct fake_stack *s = stack_with_dir(N, 0);

  held = 0;
  steps[0] = '\0';
  memcpy(name[0], name_on(1, N), NAME_BYTES);
  memcpy(name[1], other_name_on(2, N), NAME_BYTES);
  for (unsigned i = 0; i < N; i++) {
    sub[i] = (struct sub){.n = i, .leads = "child-0"};
    memcpy(sub[i].at, has[i], NAMES);
    for (size_t k = 0; k < GI_ARRAY_LEN(does); k++)
      fake_script_always(s, i, does[k].kind, (struct fake_reply){.fill = does[k].fill, .arg = &sub[i]});
  }
  return s;
}

struct run {
  struct fake_stack *s;
  const char *names; /* that the walk met, as numbers */
  int err;
};

static void
run(void *arg)
{
  struct run *run = arg;
  struct di_reb r = {.d = di_of(run->s->x), .base = gi_fop_new(run->s->graph, GI_FOP_IPC)};
  struct di_reb_name has[NAMES];
  struct di_reb_names all = {.gfid = fake_inode(run->s, FILE_GFID)->gfid, .n = (unsigned)strlen(run->names), .name = has};

  for (unsigned i = 0; i < all.n; i++)
    has[i] = (struct di_reb_name){.parent = fake_inode(run->s, DIR_GFID), .name = name[run->names[i] - '0']};
  run->err = di_reb_move_other(&r, &all);
  gi_fop_unref(r.base);
}

static int
move(struct fake_stack *s, const char *names)
{
  struct run r = {.s = s, .names = names, .err = -1};

  met = (unsigned)strlen(names);
  gi_task_start(s->x->reactor, run, &r);
  fake_settle(s);
  assert_int_equal(held, 0);
  return r.err;
}

static void
expect(const char *first, const char *second, const char *third)
{
  assert_string_equal(sub[0].at, first);
  assert_string_equal(sub[1].at, second);
  assert_string_equal(sub[2].at, third);
}

static void
test_it_moves_with_all_names(void **state)
{
  struct fake_stack *s = stack("SS", "L ", " L");

  assert_int_equal(move(s, "10"), 0);
  expect("  ", "L ", "SS");
  assert_string_equal(sub[1].leads, "child-2");
  assert_string_equal(steps, "s2 u0 u0 s0 ");
  fake_stack_free(s);
}

/* Another name was made meanwhile, or one of them was removed. */
static void
test_names_that_the_walk_did_not_meet(void **state)
{
  struct fake_stack *s = stack("SS", "L ", " L");

  assert_int_equal(move(s, "1"), EMLINK);
  expect("SS", "L ", " L");
  sub[0].at[0] = ' ';
  assert_int_equal(move(s, "10"), EMLINK);
  fake_stack_free(s);
}

/* Whoever moved it was killed: it goes to where it is already, though the name that is left belongs elsewhere. */
static void
test_it_follows_what_has_moved(void **state)
{
  struct fake_stack *s = stack("S ", "L ", "SS"), *t;

  assert_int_equal(move(s, "0"), 0);
  expect("  ", "L ", "SS");
  assert_string_equal(sub[1].leads, "child-2");
  fake_stack_free(s);
  t = stack("SS", "L ", " S");
  assert_int_equal(move(t, "10"), 0);
  expect("  ", "L ", "SS");
  fake_stack_free(t);
}

static void
test_it_stays_where_a_name_belongs(void **state)
{
  struct fake_stack *s = stack("SS", "L ", " L");

  parts[0] = (struct part){.n = 1, .of = N};
  parts[1] = (struct part){.n = 0, .of = N};
  di_layout_stale(di_of(s->x), fake_inode(s, DIR_GFID), di_layout_known(di_of(s->x), fake_inode(s, DIR_GFID)));
  assert_int_equal(move(s, "10"), EALREADY);
  expect("SS", "L ", " L");
  fake_stack_free(s);
}

/* ---- marks of a move to elsewhere ---- */

static bool lost_marks; /* somebody has set the mode since */
static uint32_t old_target;

/* On the first; on its way to the third, which was the file already; and belongs to the second. */
static void
say_on_its_way(struct gi_fop *fop, void *arg)
{
  unsigned at = *(const unsigned *)arg;
  const char *to = at == 0 ? "child-2" : "child-0";

  if (!fop->loc.name && gi_gfid_is_root(&fop->loc.gfid)) {
    root_of(&fop->rsp.stat);
    return;
  }
  attr_of(&fop->rsp.stat, FILE_GFID,
          S_IFREG | (at == 0   ? (lost_marks ? 0600 : 0600 | DI_MOVING)
                     : at == 1 ? GI_LINKTO_MODE
                               : old_target));
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", to, (uint32_t)strlen(to) + 1);
  if (at == 0)
    gi_dict_set_str(gi_fop_rsp_xdata(fop), KEY ".mode", "644");
}

static void
see_old_target(struct gi_fop *fop, void *arg)
{
  old_target = fop->args.iatt.mode & 07777;
}

static void
goes_elsewhere(void *arg)
{
  struct di_reb *r = arg;
  struct gi_loc loc = {.name = "file", .pargfid = gi_gfid_root, .parent = gi_inode_get(r->d->x->graph, &gi_gfid_root)};

  r->base = gi_fop_new(r->d->x->graph, GI_FOP_IPC);
  GI_IGNORE(di_reb_move(r, &loc, 0, 1)); /* whether it gets there is not the question */
  gi_fop_unref(r->base);
  gi_inode_unref(&loc.parent);
}

static void
old_target_is_no_file(bool lost)
{
  static const unsigned number[] = {0, 1, 2};
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 3);
  struct di_reb r = {.d = di_of(s->x), .command = DI_REB_FORCE};

  lost_marks = lost;
  old_target = 0644;
  for (unsigned i = 0; i < 3; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_on_its_way, .arg = (void *)(uintptr_t)&number[i]});
  fake_script_always(s, 2, GI_FOP_SETATTR, (struct fake_reply){.fill = see_old_target});
  gi_task_start(s->x->reactor, goes_elsewhere, &r);
  fake_settle(s);
  assert_int_equal(old_target, GI_LINKTO_MODE);
  fake_stack_free(s);
}

/* Whoever finds it later, when the source is gone, would take it for the file. */
static void
test_target_of_lost_marks_is_no_file(void **state)
{
  old_target_is_no_file(true);
}

static void
test_target_of_another_mode_is_no_file(void **state)
{
  old_target_is_no_file(false);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_moves_with_all_names),         cmocka_unit_test(test_names_that_the_walk_did_not_meet),
      cmocka_unit_test(test_it_follows_what_has_moved),       cmocka_unit_test(test_it_stays_where_a_name_belongs),
      cmocka_unit_test(test_target_of_lost_marks_is_no_file), cmocka_unit_test(test_target_of_another_mode_is_no_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
