/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are not as they should be: what renames and moves have left when
 * somebody was killed, and names that are not where they belong.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

#include "libglusterish/extension.h"

#include <dirent.h>

/* The file is on the last of four subvolumes, whatever its name. */
static void
say_on_the_last(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID)
    say_dir(fop, arg);
  else if (arg == &parts[3])
    say_file(fop, NULL);
  else
    gi_fop_fail(fop, ENOENT);
}

/* Nothing says so where the name belongs since the directory has another layout, which this client may not know. */
static void
test_link_to_a_name_that_is_elsewhere(void **state)
{
  for (uint32_t commit = 0; commit < 2; commit++) {
    struct fake_stack *s = stack_with_dir(4, commit);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(3, 4)), *k = fake_fop(s, GI_FOP_LINK);

    for (unsigned i = 0; i < 4; i++)
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_on_the_last, .arg = &parts[i]});
    fake_submit(s, f);
    gi_loc_set_inode(&k->loc, fake_inode(s, FILE_GFID));
    gi_fop_set_entry(k, &k->loc2, fake_inode(s, DIR_GFID), name_on(2, 4));
    fake_submit(s, k);
    assert_int_equal(k->rsp.err, EEXIST);
    assert_int_equal(fake_count(s, 3, GI_FOP_LINK), 0);
    fake_stack_free(s);
  }
}

/* ---- a further name of a file on the first subvolume, where it belongs no more ---- */

static void
say_file_or_nothing(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID)
    say_dir(fop, arg);
  else if (!fop->loc.name && arg == &parts[0])
    say_file(fop, NULL);
  else
    gi_fop_fail(fop, ENOENT);
}

static void
refuse_once(struct gi_fop *fop, void *arg)
{
  const void *bytes;
  uint32_t len;

  if (gi_dict_get_bin(fop->xdata, GI_PARENT_XATTR_KEY, &bytes, &len)) {
    assert_string_equal(bytes, KEY);
    gi_dict_set_int(gi_fop_rsp_xdata(fop), "glusterfs.preop.check.failed", 1);
    parts[0].n = 1;
    parts[1].n = 0;
    gi_fop_fail(fop, EIO);
    return;
  }
  say_file(fop, NULL);
}

/* The name is looked for, and then a rebalance writes another layout. */
static void
test_further_name_belongs_elsewhere_by_now(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2)), *k = fake_fop(s, GI_FOP_LINK);

  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file_or_nothing, .arg = &parts[i]});
  fake_script_always(s, 0, GI_FOP_LINK, (struct fake_reply){.fill = refuse_once});
  gi_loc_set_inode(&k->loc, fake_inode(s, FILE_GFID));
  gi_fop_set_entry(k, &k->loc2, fake_inode(s, DIR_GFID), other_name_on(0, 2));
  fake_submit(s, k);
  assert_int_equal(k->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_LINK), 2);
  assert_int_equal(fake_count(s, 1, GI_FOP_MKNOD), 1); /* the linkto file */
  assert_null(gi_dict_get(k->xdata, GI_PARENT_XATTR_KEY));
  fake_stack_free(s);
}

/* ---- a file that has moved from the first subvolume to the second, but for the end ---- */

static char ends
    [64]; /* T the target gets times, S the size of a file in blocks, R the source becomes a linkto file, X the target's linkto attribute goes */

static void
say_almost_moved(struct gi_fop *fop, void *arg)
{
  bool target = arg == &parts[1], ended = strchr(ends, 'X');

  if (!fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID) {
    say_dir(fop, arg);
    return;
  }
  if (fop->loc.name && (strcmp(fop->loc.name, "other") == 0 || *fop->loc.name == 'm')) {
    gi_fop_fail(fop, ENOENT);
    return;
  }
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | (target ? 0644u : strchr(ends, 'R') ? GI_LINKTO_MODE : 0644u | DI_MOVING));
  fop->rsp.stat.mtime.sec = target ? 7 : 5;
  if (!target || !ended)
    gi_dict_set_str(gi_fop_rsp_xdata(fop), KEY ".linkto", target ? "child-0" : "child-1");
}

static void
see_end(struct gi_fop *fop, void *arg)
{
  bool target = arg == &parts[1];

  if (fop->kind == GI_FOP_REMOVEXATTR)
    strcat(ends, "X");
  else if (fop->kind == GI_FOP_SETXATTR && gi_dict_get(fop->args.dict, DI_SIZE_KEY))
    strcat(ends, "S");
  else if (target && fop->args.valid & GI_SET_MTIME && fop->args.iatt.mtime.sec == 5)
    strcat(ends, "T");
  else if (!target && (fop->args.iatt.mode & 07777) == GI_LINKTO_MODE)
    strcat(ends, "R");
}

/* Of a file in blocks: a change of the size did not get to the target. */
static void
say_size(struct gi_fop *fop, void *arg)
{
  if (fop->args.name && strcmp(fop->args.name, DI_SIZE_KEY) == 0)
    gi_dict_set_bin(fop->rsp.dict = gi_dict_new(), DI_SIZE_KEY, arg == &parts[0] || strchr(ends, 'S') ? "new" : "old", 3);
}

static void
script_almost_moved(struct fake_stack *s)
{
  ends[0] = '\0';
  for (unsigned i = 0; i < 2; i++) {
    fake_script_always(s, i, GI_FOP_GETXATTR, (struct fake_reply){.fill = say_size, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_SETXATTR, (struct fake_reply){.fill = see_end, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_almost_moved, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_SETATTR, (struct fake_reply){.fill = see_end, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_REMOVEXATTR, (struct fake_reply){.fill = see_end, .arg = &parts[i]});
  }
}

static void
test_lookup_ends_a_move_with_all_attributes(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 2));

  script_almost_moved(s);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_string_equal(ends, "TSRX");
  assert_int_equal(fake_count(s, 0, GI_FOP_GETXATTR), 4); /* the size twice */
  fake_stack_free(s);
}

/* What is done to the target alone would be lost: the source counts as soon as it is back. */
static void
test_target_waits_for_a_source_that_is_down(void **state)
{
  for (unsigned named = 0; named < 2; named++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = named ? entry_fop(s, GI_FOP_LOOKUP, name_on(1, 2)) : fake_fop(s, GI_FOP_STAT);

    ends[0] = '\0';
    if (!named)
      gi_loc_set_inode(&f->loc, fake_inode(s, FILE_GFID));
    fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOTCONN});
    fake_script_always(s, 0, GI_FOP_INODELK, (struct fake_reply){.ret = -1, .err = ENOTCONN});
    fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_almost_moved, .arg = &parts[1]});
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, ENOTCONN);
    assert_int_equal(fake_count(s, 1, GI_FOP_REMOVEXATTR) + fake_count(s, 1, GI_FOP_STAT), 0);
    fake_stack_free(s);
  }
}

/* Names of several sets are not changed in one step: whoever wants to replace nothing has to see to it. */
static void
test_no_rename_to_a_free_name(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_RENAME, name_on(0, 2));

  gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_GFID), "other");
  gi_dict_set_uint(gi_fop_xdata(f), GI_NOREPLACE_KEY, 1);
  fake_forget_seen(s);
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, EOPNOTSUPP);
  assert_int_equal(s->nseen, 0);
  fake_stack_free(s);
}

/* It was found where it came from; then the target became the file, and who moved it was killed. The other copy would keep the name. */
static void
test_names_change_after_a_move_has_ended(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_UNLINK, GI_FOP_RENAME};

  for (unsigned i = 0; i < 2; i++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, kinds[i], name_on(1, 2));

    fake_script(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_linkto, .arg = s->x->children[0]->name});
    script_almost_moved(s);
    if (kinds[i] == GI_FOP_RENAME)
      gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_GFID), "other");
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_string_equal(ends, "TSRX");
    assert_int_equal(fake_count(s, 0, kinds[i]), 0);
    assert_int_equal(fake_count(s, 1, kinds[i]), 1);
    fake_stack_free(s);
  }
}

/* The subvolume where it goes cannot be asked, and may have it already. */
static void
test_names_stay_while_nobody_knows_whether_a_file_has_arrived(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_UNLINK, GI_FOP_RENAME};

  for (unsigned i = 0; i < 2; i++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, kinds[i], name_on(0, 2));

    fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOTCONN});
    script_almost_moved(s);
    fake_script(s, 0, GI_FOP_UNLINK, (struct fake_reply){.ret = -1, .err = ESTALE});
    if (kinds[i] == GI_FOP_RENAME)
      gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_GFID), other_name_on(0, 2));
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, ENOTCONN);
    assert_int_equal(fake_count(s, 0, kinds[i]), kinds[i] == GI_FOP_UNLINK);
    fake_stack_free(s);
  }
}

/* ---- the note of a rename ---- */

static bool still_noted;

static void
say_noted(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name) {
    say_dir(fop, arg);
    return;
  }
  say_file(fop, NULL);
  if (still_noted)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".rename", "", 1);
}

/* What the rename has left elsewhere would have the name again. */
static void
test_file_with_a_note_keeps_its_name(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  const char *name = name_on(0, 2);
  struct gi_fop *f, *u;

  for (unsigned i = 0; i < 4; i++) {
    still_noted = i < 2;
    f = entry_fop(s, GI_FOP_LOOKUP, name);
    u = entry_fop(s, i & 1 ? GI_FOP_RENAME : GI_FOP_UNLINK, name);
    fake_script_clear(s);
    fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_noted, .arg = &parts[0]});
    fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    gi_loc_set_inode(&u->loc, fake_inode(s, FILE_GFID));
    if (u->kind == GI_FOP_RENAME)
      gi_fop_set_entry(u, &u->loc2, fake_inode(s, DIR_GFID), "other");
    if (still_noted || u->kind == GI_FOP_UNLINK)
      fake_submit(s, u);
    assert_int_equal(u->rsp.err, still_noted ? ENOTCONN : 0);
    assert_int_equal(fake_count(s, 0, GI_FOP_UNLINK), i >= 2);
  }
  assert_int_equal(fake_count(s, 0, GI_FOP_RENAME), 0);
  fake_stack_free(s);
}

/* ---- a rename over a file of another subvolume ---- */

#define REPLACED_GFID 12

static struct replacing {
  const char *name, *over; /* the file is on the first subvolume; what it replaces is on the second */
  bool done;               /* the file has the new name only, with a note */
  bool half;               /* it has both, with a note, and what it was to replace was removed since */
  char steps[256];         /* what was done where, as r0 (or a LINK), s1 (FSYNCDIR), u0 */
  char fails[8];           /* the steps that fail; l1: lookups of `name`; x1: somebody has removed what r1 renames */
} replacing;

static void
say_replacing(struct gi_fop *fop, void *arg)
{
  const struct replacing *r = &replacing;
  bool first = arg == &parts[0], over = fop->loc.name && strcmp(fop->loc.name, r->over) == 0;
  bool taken_back = strstr(r->steps, "u0");
  uint8_t note[128];

  if (!fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID) {
    say_dir(fop, arg);
  } else if (first && (over ? r->done || (r->half && !taken_back) : !fop->loc.name || !r->done)) {
    say_file(fop, NULL);
    if (r->done || r->half) {
      int len = snprintf((char *)note, sizeof(note), "05050505-0505-0505-0505-050505050505%s%c", r->name, 0);
      len += snprintf((char *)note + len, sizeof(note) - (size_t)len, "05050505-0505-0505-0505-050505050505%s%c", r->over, 0);
      gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".rename", note, (uint32_t)len);
    }
  } else if (arg == &parts[1] && over && !r->half) {
    attr_of(&fop->rsp.stat, REPLACED_GFID, S_IFREG | 0644);
  } else {
    gi_fop_fail(fop, !first && !over && strcmp(r->fails, "l1") == 0 ? ENOTCONN : ENOENT);
  }
}

static void
note_step(struct gi_fop *fop, void *arg)
{
  struct replacing *r = &replacing;
  size_t len = strlen(r->steps);
  char step[8], kind = fop->kind == GI_FOP_UNLINK ? 'u' : fop->kind == GI_FOP_FSYNCDIR ? 's' : 'r';

  snprintf(step, sizeof(step), "%c%d", kind, (int)((struct part *)arg - parts));
  snprintf(r->steps + len, sizeof(r->steps) - len, "%s%s", len ? " " : "", step);
  if (strstr(r->fails, step)) {
    gi_fop_fail(fop, EIO);
  } else if (strcmp(step, "r1") == 0 && strcmp(r->fails, "x1") == 0) {
    r->fails[0] = '\0';
    gi_fop_fail(fop, ENOENT);
  } else if (fop->kind != GI_FOP_FSYNCDIR)
    say_file(fop, NULL);
  if (fop->kind == GI_FOP_LINK)
    fop->rsp.stat.nlink = 2;
}

static struct fake_stack *
stack_replacing(unsigned belongs, const char *fails)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_FSYNCDIR, GI_FOP_UNLINK, GI_FOP_RENAME, GI_FOP_LINK};
  struct fake_stack *s = stack_with_dir(3, 0);

  replacing = (struct replacing){.name = name_on(0, 3), .over = other_name_on(belongs, 3)};
  strcpy(replacing.fails, fails);
  for (unsigned i = 0; i < 3; i++) {
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_replacing, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_MKNOD, (struct fake_reply){.fill = say_file});
    for (size_t k = 0; k < GI_ARRAY_LEN(kinds); k++)
      fake_script_always(s, i, kinds[k], (struct fake_reply){.fill = note_step, .arg = &parts[i]});
  }
  return s;
}

/* What is replaced goes when what takes its place is on the disks, or the name has neither after a loss of power. Nothing is done until then. */
static void
test_what_a_rename_replaces_goes_last(void **state)
{
  static const struct {
    unsigned belongs; /* the new name */
    const char *fails, *steps;
    int err;
    bool noted;
  } cases[] = {
      {0, "", "r0 s0 u1", 0, false},
      {0, "s0", "r0 s0", EIO, true},
      {0, "u1", "r0 s0 u1", EIO, true},
      {1, "", "r0 s0 r1 s1 u0", 0, false}, /* the first is the LINK */
      {1, "x1", "r0 s0 r1 r1 s1 u0", 0, false},
      {1, "s0", "r0 s0 u0", EIO, false},
      {1, "s1", "r0 s0 r1 s1", EIO, true},
      {1, "r0", "r0 u0", EIO, false},
      {1, "r0 u0", "r0 u0", EIO, true},    /* one copy may have the further name */
      {1, "r1", "r0 s0 r1 u1", EIO, true}, /* or the linkto file */
      {2, "", "r0 s0 r2 s2 u0 u1", 0, false},
      {2, "u1", "r0 s0 r2 s2 u0 u1", EIO, true},
  };

  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct fake_stack *s = stack_replacing(cases[i].belongs, cases[i].fails);
    struct gi_fop *f = entry_fop(s, GI_FOP_RENAME, replacing.name);

    gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_GFID), replacing.over);
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, cases[i].err);
    assert_string_equal(replacing.steps, cases[i].steps);
    assert_true(cases[i].err || f->rsp.stat.nlink == 1); /* not what it had in between */
    assert_int_equal(fake_count(s, 0, GI_FOP_REMOVEXATTR), !cases[i].noted);
    fake_stack_free(s);
  }
}

/* So it is for who finds the note of one that was killed. */
static void
test_what_a_noted_rename_replaces_goes_last(void **state)
{
  for (unsigned fails = 0; fails < 2; fails++) {
    struct fake_stack *s = stack_replacing(0, fails ? "s0" : "");
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, replacing.over);

    replacing.done = true;
    fake_submit(s, f);
    assert_string_equal(replacing.steps, fails ? "s0" : "s0 u1");
    assert_int_equal(fake_count(s, 0, GI_FOP_REMOVEXATTR), !fails);
    fake_stack_free(s);
  }
}

/* Who renamed was killed before it was decided, or was told that it failed; then somebody removed what has the new name. */
static void
test_removed_name_is_not_that_of_an_undecided_rename(void **state)
{
  struct fake_stack *s = stack_replacing(1, "");
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, replacing.over);

  replacing.half = true;
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOENT);
  assert_string_equal(replacing.steps, "u0");
  assert_int_equal(fake_count(s, 0, GI_FOP_REMOVEXATTR), 1);
  fake_stack_free(s);
}

static void
count_layout_lock(struct gi_fop *fop, void *arg)
{
  *(unsigned *)arg += strcmp(fop->args.domain, "dht.layout.heal") == 0 && fop->args.type != GI_LK_UNLOCK;
}

/* Who waits to exchange the layout waits for the first lock, and a second one would wait for that. */
static void
test_rename_in_one_directory_locks_its_layout_once(void **state)
{
  struct fake_stack *s = stack_replacing(0, "");
  struct gi_fop *f = entry_fop(s, GI_FOP_RENAME, replacing.name);
  unsigned n = 0;

  fake_script_always(s, 0, GI_FOP_INODELK, (struct fake_reply){.fill = count_layout_lock, .arg = &n});
  gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_GFID), replacing.over);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(n, 2); /* the other one is that of the lookup, which makes a linkto file of what is replaced */
  fake_stack_free(s);
}

/* While a subvolume is down, or does not know, nobody knows which of its names the file has: the other one may be somebody else's by now. */
static void
test_undecided_names_are_not_told(void **state)
{
  for (unsigned i = 0; i < 4; i++) {
    bool down = i < 2;
    struct fake_stack *s = stack_replacing(down ? 0 : 1, down ? "" : "l1");
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, i & 1 ? replacing.over : replacing.name);

    replacing.half = true;
    if (down)
      fake_event(s, 1, GI_EVENT_CHILD_DOWN, NULL);
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, ENOTCONN);
    assert_int_equal(fake_count(s, 1, GI_FOP_MKNOD), 0); /* a linkto file would decide it */
    fake_stack_free(s);
  }
}

/* ---- a directory that is removed ---- */

#define SUB_GFID 30

static bool comes; /* a file, when a linkto file where its name belongs has been made, and seen */

static void
say_sub(struct gi_fop *fop, void *arg)
{
  bool in_it = fop->loc.name && gi_fop_gfid(fop)->b[0] == 0 && strcmp(fop->loc.name, "sub") != 0;

  if (!in_it) {
    say_dir(fop, arg);
    if (fop->loc.name || gi_fop_gfid(fop)->b[0] == SUB_GFID)
      memset(fop->rsp.stat.gfid.b, SUB_GFID, sizeof(fop->rsp.stat.gfid.b));
  } else if (arg == &parts[0]) {
    say_linkto(fop, "child-1");
  } else if (comes) {
    say_file(fop, NULL);
  } else {
    gi_fop_fail(fop, ENOENT);
  }
}

static void
list_linkto(struct gi_fop *fop, void *arg)
{
  struct gi_dirent e = {.name = name_on(0, 2), .off = 1, .type = DT_REG};

  e.name_len = (uint32_t)strlen(e.name);
  attr_of(&e.stat, FILE_GFID, S_IFREG | GI_LINKTO_MODE);
  if (fop->args.offset == 0) {
    e.xdata = gi_dict_new();
    gi_dict_set_str(e.xdata, KEY ".linkto", "child-1");
    gi_dirents_add(&fop->rsp.entries, &e, fop); /* which takes the dictionary over */
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
}

/* A linkto file that leads nowhere is no name in it. One that is about to get its file is. */
static void
test_linkto_file_of_a_file_that_comes_stays(void **state)
{
  for (unsigned i = 0; i < 2; i++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, GI_FOP_RMDIR, "sub");

    comes = i == 1;
    for (unsigned k = 0; k < 2; k++)
      fake_script_always(s, k, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_sub, .arg = &parts[k]});
    fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = list_linkto});
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, comes ? ENOTEMPTY : 0);
    assert_int_equal(fake_count(s, 0, GI_FOP_UNLINK), !comes);
    assert_int_equal(fake_count(s, 0, GI_FOP_RMDIR), !comes);
    fake_stack_free(s);
  }
}

/* ---- different directories of one name ---- */

#define OTHER_DIR 20
#define NEW_DIR 21

static enum { WRONG, NONE, RIGHT } first_has;

static void
say_several(struct gi_fop *fop, void *arg)
{
  bool first = arg == &parts[0];

  if (!fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID)
    say_dir(fop, arg);
  else if (first && first_has == NONE)
    gi_fop_fail(fop, ENOENT);
  else
    attr_of(&fop->rsp.stat, first && first_has == WRONG ? OTHER_DIR : NEW_DIR, S_IFDIR | 0755);
}

static void
see_rmdir(struct gi_fop *fop, void *arg)
{
  struct gi_gfid gfid;

  assert_true(gi_dict_get_gfid(fop->xdata, GI_EXPECTED_KEY, &gfid));
  assert_int_equal(gfid.b[0], OTHER_DIR);
  first_has = NONE;
}

static void
see_mkdir(struct gi_fop *fop, void *arg)
{
  first_has = RIGHT;
  attr_of(&fop->rsp.stat, NEW_DIR, S_IFDIR | 0755);
}

/* Where the name belongs it is decided: an empty one elsewhere goes, one with something in it stays, and the name is EIO. */
static void
test_different_directories_of_one_name(void **state)
{
  for (unsigned empty = 0; empty < 2; empty++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 2));

    first_has = WRONG;
    for (unsigned i = 0; i < 2; i++)
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_several, .arg = &parts[i]});
    if (empty)
      fake_script(s, 0, GI_FOP_RMDIR, (struct fake_reply){.fill = see_rmdir});
    else
      fake_script(s, 0, GI_FOP_RMDIR, (struct fake_reply){.ret = -1, .err = ENOTEMPTY});
    fake_script(s, 0, GI_FOP_MKDIR, (struct fake_reply){.fill = see_mkdir});
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, empty ? 0 : EIO);
    if (empty)
      assert_int_equal(f->rsp.stat.gfid.b[0], NEW_DIR);
    assert_int_equal(first_has, empty ? RIGHT : WRONG);
    assert_int_equal(fake_count(s, 1, GI_FOP_RMDIR), 0);
    fake_stack_free(s);
  }
}

/* ---- a linkto file that leads nowhere ---- */

static bool stray;

static void
say_stray(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name)
    say_dir(fop, arg);
  else if (stray && arg == &parts[1])
    say_linkto(fop, "child-0");
  else
    gi_fop_fail(fop, ENOENT);
}

static void
remove_stray(struct gi_fop *fop, void *arg)
{
  stray = false;
}

static void
make_unless_stray(struct gi_fop *fop, void *arg)
{
  if (stray && arg == &parts[1])
    gi_fop_fail(fop, EEXIST);
  else
    attr_of(&fop->rsp.stat, FILE_GFID, fop->kind == GI_FOP_MKDIR ? S_IFDIR | 0755 : S_IFREG | 0644);
}

/* One who reached only the file has removed it: that says nothing about what is to be made. */
static void
test_stray_linkto_is_nothing_that_exists(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_CREATE, GI_FOP_MKNOD, GI_FOP_SYMLINK, GI_FOP_MKDIR};

  for (unsigned k = 0; k < GI_ARRAY_LEN(kinds); k++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, kinds[k], name_on(1, 2));

    stray = true;
    for (unsigned i = 0; i < 2; i++) {
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_stray, .arg = &parts[i]});
      fake_script_always(s, i, kinds[k], (struct fake_reply){.fill = make_unless_stray, .arg = &parts[i]});
      fake_script_always(s, i, GI_FOP_UNLINK, (struct fake_reply){.fill = remove_stray});
    }
    fake_submit(s, f);
    assert_int_equal(f->rsp.err, 0);
    assert_int_equal(fake_count(s, 1, kinds[k]), 2);
    assert_int_equal(fake_count(s, 1, GI_FOP_UNLINK), 1);
    fake_stack_free(s);
  }
}

/* An attempt of ours came to too few copies, and the next one meets what it has left: nobody else has made that. */
static void
test_what_an_attempt_has_left_is_no_success(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_CREATE, name_on(1, 2));

  fake_script(s, 1, GI_FOP_CREATE, (struct fake_reply){.ret = -1, .err = EEXIST});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOTCONN);
  fake_stack_free(s);
}

/* The first name is where it belongs, the further one has the linkto file. */
static void
test_stray_linkto_is_no_further_name(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2)), *k = fake_fop(s, GI_FOP_LINK);

  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  stray = true;
  for (unsigned i = 0; i < 2; i++) {
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_stray, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_MKNOD, (struct fake_reply){.fill = make_unless_stray, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_UNLINK, (struct fake_reply){.fill = remove_stray});
  }
  gi_loc_set_inode(&k->loc, fake_inode(s, FILE_GFID));
  gi_fop_set_entry(k, &k->loc2, fake_inode(s, DIR_GFID), name_on(1, 2));
  fake_submit(s, k);
  assert_int_equal(k->rsp.err, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_LINK), 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_UNLINK), 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_MKNOD), 1);
  fake_stack_free(s);
}

/* ---- a name that goes while its file moves, by a layout that is old ---- */

static void
refuse_who_does_not_know(struct gi_fop *fop, void *arg)
{
  if (!gi_dict_get(fop->xdata, GI_MOVING_KEY))
    gi_fop_fail(fop, ESTALE);
}

/* The file has arrived on the second subvolume, and the first one, where the name seems to belong, has not heard of it. */
static void
test_name_of_a_file_that_arrives_goes_when_it_has(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_UNLINK, name_on(0, 2));
  struct gi_inode *inode = fake_inode(s, FILE_GFID);

  script_almost_moved(s);
  fake_script_always(s, 0, GI_FOP_UNLINK, (struct fake_reply){.fill = refuse_who_does_not_know});
  di_know_file(di_of(s->x), &inode->gfid, s->x->children[0]);
  gi_loc_set_inode(&f->loc, inode);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_true(strchr(ends, 'R')); /* the move has ended first */
  fake_stack_free(s);
}

/* ---- a linkto file that lacks its attribute: a brick has missed that ---- */

static bool has_moved;

/* It is on the first subvolume, where the name belongs; the file, if it has moved, on the second. */
static void
say_bare(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name && gi_fop_gfid(fop)->b[0] == DIR_GFID)
    say_dir(fop, arg);
  else if (arg == &parts[0])
    attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | GI_LINKTO_MODE);
  else if (has_moved)
    say_file(fop, NULL);
  else
    gi_fop_fail(fop, ENOENT);
}

static void
see_lead(struct gi_fop *fop, void *arg)
{
  const void *to;
  uint32_t len;

  assert_true(gi_dict_get_bin(fop->args.dict, KEY ".linkto", &to, &len));
  assert_string_equal(to, "child-1");
}

static void
test_linkto_without_its_attribute_is_no_file(void **state)
{
  for (unsigned moved = 0; moved < 2; moved++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2)), *stat = fake_fop(s, GI_FOP_STAT);

    has_moved = moved;
    for (unsigned i = 0; i < 2; i++) {
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_bare, .arg = &parts[i]});
      fake_script_always(s, i, GI_FOP_STAT, (struct fake_reply){.fill = say_bare, .arg = &parts[i]});
    }
    fake_script(s, 0, GI_FOP_SETXATTR, (struct fake_reply){.fill = see_lead});
    fake_submit(s, f);
    assert_int_equal(f->rsp.stat.mode & 07777, moved ? 0644 : GI_LINKTO_MODE);
    assert_int_equal(fake_count(s, 0, GI_FOP_SETXATTR), moved);
    di_know_file(di_of(s->x), &f->rsp.stat.gfid, s->x->children[0]); /* who has used it there meets it, too */
    gi_loc_set_inode(&stat->loc, fake_inode(s, FILE_GFID));
    fake_submit(s, stat);
    assert_int_equal(stat->rsp.stat.mode & 07777, moved ? 0644 : GI_LINKTO_MODE);
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_link_to_a_name_that_is_elsewhere),
      cmocka_unit_test(test_further_name_belongs_elsewhere_by_now),
      cmocka_unit_test(test_lookup_ends_a_move_with_all_attributes),
      cmocka_unit_test(test_target_waits_for_a_source_that_is_down),
      cmocka_unit_test(test_names_change_after_a_move_has_ended),
      cmocka_unit_test(test_names_stay_while_nobody_knows_whether_a_file_has_arrived),
      cmocka_unit_test(test_no_rename_to_a_free_name),
      cmocka_unit_test(test_file_with_a_note_keeps_its_name),
      cmocka_unit_test(test_what_a_rename_replaces_goes_last),
      cmocka_unit_test(test_what_a_noted_rename_replaces_goes_last),
      cmocka_unit_test(test_removed_name_is_not_that_of_an_undecided_rename),
      cmocka_unit_test(test_stray_linkto_is_nothing_that_exists),
      cmocka_unit_test(test_stray_linkto_is_no_further_name),
      cmocka_unit_test(test_name_of_a_file_that_arrives_goes_when_it_has),
      cmocka_unit_test(test_linkto_without_its_attribute_is_no_file),
      cmocka_unit_test(test_what_an_attempt_has_left_is_no_success),
      cmocka_unit_test(test_rename_in_one_directory_locks_its_layout_once),
      cmocka_unit_test(test_undecided_names_are_not_told),
      cmocka_unit_test(test_linkto_file_of_a_file_that_comes_stays),
      cmocka_unit_test(test_different_directories_of_one_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
