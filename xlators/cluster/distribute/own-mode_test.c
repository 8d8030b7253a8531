/* SPDX-License-Identifier: Apache-2.0
 *
 * The mode that is told of a file on the move, whose own bits may be among
 * those that mark it, over two fake subvolumes.
 */
#include "xlators/cluster/distribute/listing-fixture.h"

/* What the first subvolume has of the file: a move marks it, and the mode without marks is kept beside it. */
static struct has {
  uint32_t mode;
  const char *kept;
  bool named;
} has_file, *then; /* after it was told, if not NULL */

static void
tell_file(struct gi_fop *fop)
{
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | has_file.mode);
  if (fop->kind != GI_FOP_LOOKUP) {
    has_file = then ? *then : has_file;
    return;
  }
  assert_non_null(gi_dict_get(fop->xdata, KEY ".mode"));
  if (has_file.named)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", "child-1", 8);
  if (has_file.kept)
    gi_dict_set_str(gi_fop_rsp_xdata(fop), KEY ".mode", has_file.kept);
}

static void
say_source(struct gi_fop *fop, void *arg)
{
  if (fop->kind == GI_FOP_LOOKUP && !fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID)
    say_dir(fop, arg);
  else if (fop->kind == GI_FOP_LOOKUP && fop->loc.name && *fop->loc.name == 'm')
    gi_fop_fail(fop, ENOENT);
  else
    tell_file(fop);
}

static void
say_source_changed(struct gi_fop *fop, void *arg)
{
  uint32_t mode = has_file.mode;

  if (fop->args.valid & GI_SET_MODE)
    has_file = (struct has){.mode = fop->args.iatt.mode & 07777};
  attr_of(&fop->rsp.post, FILE_GFID, S_IFREG | has_file.mode);
  fop->rsp.pre = fop->rsp.post;
  fop->rsp.pre.mode = S_IFREG | mode;
}

static void
say_target(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID)
    say_dir(fop, arg);
  else
    gi_fop_fail(fop, ENOENT);
}

static struct fake_stack *
stack_with_file(struct has what)
{
  static const enum gi_fop_kind told[] = {GI_FOP_LOOKUP, GI_FOP_STAT, GI_FOP_FSTAT, GI_FOP_LINK, GI_FOP_RENAME};
  static const enum gi_fop_kind changed[] = {GI_FOP_WRITE, GI_FOP_SETATTR, GI_FOP_FSETATTR};
  struct fake_stack *s = stack_with_dir(2, 0);

  has_file = what;
  for (size_t i = 0; i < GI_ARRAY_LEN(told); i++)
    fake_script_always(s, 0, told[i], (struct fake_reply){.fill = say_source, .arg = &parts[0]});
  for (size_t i = 0; i < GI_ARRAY_LEN(changed); i++)
    fake_script_always(s, 0, changed[i], (struct fake_reply){.fill = say_source_changed});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_target, .arg = &parts[1]});
  return s;
}

static uint32_t
run_on_file(struct fake_stack *s, enum gi_fop_kind kind, int32_t valid, uint32_t mode)
{
  bool named = kind == GI_FOP_LOOKUP || kind == GI_FOP_RENAME;
  struct gi_fop *f = named ? entry_fop(s, kind, name_on(0, 2)) : fake_fop(s, kind);

  if (kind == GI_FOP_WRITE || kind == GI_FOP_FSTAT) {
    struct gi_fd *fd = gi_fd_anonymous(f->graph, fake_inode(s, FILE_GFID));

    gi_fop_set_fd(f, fd);
    gi_fd_unref(&fd);
  } else if (!named) {
    gi_loc_set_inode(&f->loc, fake_inode(s, FILE_GFID));
  }
  if (kind == GI_FOP_LINK || kind == GI_FOP_RENAME)
    gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_GFID), other_name_on(0, 2));
  f->args.valid = valid;
  f->args.iatt.mode = S_IFREG | mode;
  fake_submit(s, f);
  assert_true(f->rsp.ret >= 0);
  return gi_reply_attr(f, GI_OF_OBJECT)->mode;
}

static const enum gi_fop_kind kinds[] = {GI_FOP_LOOKUP, GI_FOP_STAT,    GI_FOP_FSTAT, GI_FOP_WRITE,
                                         GI_FOP_LINK,   GI_FOP_SETATTR, GI_FOP_RENAME};

/* One of the bits may be the owner's, and of a file that does not move both. Who moves it and keeps no mode has taken it for one with neither. */
static void
test_own_bits_are_told(void **state)
{
  static const struct {
    struct has has;
    uint32_t told;
  } was[] = {{{0644 | DI_MOVING, "644", true}, 0644},    {{0770 | DI_MOVING, "2770", true}, 02770},
             {{0666 | DI_MOVING, "1666", true}, 01666},  {{0664 | DI_MOVING, "1666", true}, 01664}, /* an ACL */
             {{0644 | DI_MOVING, NULL, true}, 0644},     {{0644 | DI_MOVING, NULL, false}, 0644 | DI_MOVING},
             {{0770 | DI_MOVING, "2770", false}, 02770}, {{01666, NULL, false}, 01666}};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(was); i++)
    for (size_t k = 0; k < GI_ARRAY_LEN(kinds); k++)
      for (unsigned known = 0; known < 2; known++) {
        struct fake_stack *s = stack_with_file(was[i].has);

        if (known)
          assert_int_equal(run_on_file(s, GI_FOP_LOOKUP, 0, 0), S_IFREG | was[i].told);
        assert_int_equal(run_on_file(s, kinds[k], 0, 0), S_IFREG | was[i].told);
        fake_stack_free(s);
      }
}

/* What was learnt of it a moment ago may be old for who asks what its mode is; who changes it here knows. */
static void
test_bits_that_are_set_meanwhile_are_told(void **state)
{
  for (unsigned here = 0; here < 2; here++) {
    struct fake_stack *s = stack_with_file((struct has){0644 | DI_MOVING, "644", true});

    (void)state;
    assert_int_equal(run_on_file(s, GI_FOP_WRITE, 0, 0), S_IFREG | 0644);
    if (here)
      assert_int_equal(run_on_file(s, GI_FOP_SETATTR, GI_SET_MODE, 01666), S_IFREG | 01666);
    has_file = (struct has){0666 | DI_MOVING, "1666", true};
    assert_int_equal(run_on_file(s, here ? GI_FOP_WRITE : GI_FOP_STAT, 0, 0), S_IFREG | 01666);
    fake_stack_free(s);
  }
}

/* Between the reply and the question whose mode it tells the move ends, or is given up. */
static void
test_bits_are_told_when_the_move_is_over(void **state)
{
  static struct has over[] = {{GI_LINKTO_MODE, "2770", true}, {02770, NULL, false}};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(over); i++) {
    struct fake_stack *s = stack_with_file((struct has){02770, NULL, false});

    assert_int_equal(run_on_file(s, GI_FOP_LOOKUP, 0, 0), S_IFREG | 02770);
    has_file = (struct has){0770 | DI_MOVING, "2770", true};
    then = &over[i];
    assert_int_equal(run_on_file(s, GI_FOP_STAT, 0, 0), S_IFREG | 02770);
    then = NULL;
    fake_stack_free(s);
  }
}

/* Its attributes would have to be asked for with those of each file: who needs them asks. */
static void
say_one_moving(struct gi_fop *fop, void *arg)
{
  for (uint32_t i = (uint32_t)fop->args.offset; i < 2; i++) {
    struct gi_dirent e = {.off = i + 1, .type = DT_REG, .ino = 7, .name = i ? "b" : "a", .name_len = 1};

    attr_of(&e.stat, FILE_GFID, S_IFREG | 0644 | (i ? DI_MOVING : 0));
    if (i) {
      e.xdata = gi_dict_new();
      gi_dict_set_bin(e.xdata, KEY ".linkto", "child-1", 8);
    }
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  say_quiet(fop);
}

static void
test_listing_leaves_out_the_attributes(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fd *fd = open_dir(s);
  struct gi_fop *f;

  (void)state;
  fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = say_one_moving});
  f = list_from(s, fd, 0);
  assert_int_equal(f->rsp.entries.count, 2);
  assert_int_equal(f->rsp.entries.entry[0].stat.mode, S_IFREG | 0644);
  assert_false(gi_iatt_valid(&f->rsp.entries.entry[1].stat));
  assert_int_equal(f->rsp.entries.entry[1].type, DT_REG);
  assert_int_equal(f->rsp.entries.entry[1].ino, 7);
  assert_ptr_equal(di_inode_of(di_of(s->x), fake_inode(s, FILE_GFID))->cached, s->x->children[0]);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_bits_are_told),
      cmocka_unit_test(test_bits_that_are_set_meanwhile_are_told),
      cmocka_unit_test(test_bits_are_told_when_the_move_is_over),
      cmocka_unit_test(test_listing_leaves_out_the_attributes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
