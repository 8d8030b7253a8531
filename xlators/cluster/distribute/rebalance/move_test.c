/* SPDX-License-Identifier: Apache-2.0
 *
 * A rebalance between two fake subvolumes: what is done to the target of a file,
 * in which order, and when the walk ends.
 */
#include "xlators/cluster/distribute/rebalance/unfinished-fixture.h"

#include "libglusterish/bigendian.h"
#include "libglusterish/extension.h"

#include <dirent.h>

static bool half_marked;   /* the source has the bits, and not the name of its target */
static uint32_t last_mode; /* of the target */
static uint32_t links = 1; /* names of the target */

/* The root; a file on the first subvolume, of which the second has a linkto file. */
static void
say_what_is_there(struct gi_fop *fop, void *arg)
{
  bool target = *(const unsigned *)arg == 1, marked = strchr(done, 'm');
  const char *to = target ? "child-0" : "child-1";

  if (!fop->loc.name) {
    root_of(&fop->rsp.stat);
    return;
  }
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | (target ? GI_LINKTO_MODE : marked || half_marked ? 0644 | DI_MOVING : 0644));
  fop->rsp.stat.nlink = target ? links : 1;
  if (half_marked && !target)
    gi_dict_set_str(gi_fop_rsp_xdata(fop), KEY ".mode", "644");
  if (target || marked)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", to, (uint32_t)strlen(to) + 1);
}

static void
see_target(struct gi_fop *fop, void *arg)
{
  if (fop->kind == GI_FOP_SETATTR && fop->args.valid & GI_SET_MODE)
    last_mode = fop->args.iatt.mode & 07777;
  if (fop->kind == GI_FOP_SETATTR)
    note(fop->args.valid & GI_SET_MTIME ? 'T' : 'M');
  else if (fop->kind == GI_FOP_REMOVEXATTR && strcmp(fop->args.name, KEY ".linkto") == 0)
    note('X');
}

static void
see_mark(struct gi_fop *fop, void *arg)
{
  if ((fop->args.iatt.mode & DI_MOVING) == DI_MOVING)
    note('m');
}

static void
move(void *arg)
{
  struct di_reb *r = arg;
  struct gi_loc loc = {.name = "file", .pargfid = gi_gfid_root, .parent = gi_inode_get(r->d->x->graph, &gi_gfid_root)};

  r->base = gi_fop_new(r->d->x->graph, GI_FOP_IPC);
  r->moved += di_reb_move(r, &loc, 0, 1) == 0;
  gi_fop_unref(r->base);
  gi_inode_unref(&loc.parent);
}

static bool
moves(void)
{
  static const unsigned number[] = {0, 1};
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
  struct di_reb r = {.d = di_of(s->x)};

  memset(done, 0, sizeof(done));
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP,
                       (struct fake_reply){.fill = say_what_is_there, .arg = (void *)(uintptr_t)&number[i]});
  fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = see_mark});
  fake_script_always(s, 1, GI_FOP_SETATTR, (struct fake_reply){.fill = see_target});
  fake_script_always(s, 1, GI_FOP_REMOVEXATTR, (struct fake_reply){.fill = see_target});
  gi_task_start(s->x->reactor, move, &r);
  fake_settle(s);
  fake_stack_free(s);
  return r.moved == 1;
}

static void
test_target_has_its_times_before_it_is_the_file(void **state)
{
  assert_true(moves());

  const char *times = strrchr(done, 'T'), *end = strrchr(done, 'X');
  assert_non_null(times);
  assert_non_null(end);
  assert_true(times < end); /* who is killed in between is followed by one who takes it for the file, as it is */
}

/* One of them is a name that the file lost: who ended an earlier move has left it. */
static void
test_target_with_more_names_does_not_become_the_file(void **state)
{
  links = 2;
  assert_false(moves());
  links = 1;
  assert_null(strchr(done, 'T'));
}

/* While somebody adds to the size of the source that counts. */
static void
test_a_move_is_finished_with_the_lock_of_the_size(void **state)
{
  static const unsigned number[] = {0, 1};
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
  struct di_reb r = {.d = di_of(s->x)};

  memset(done, 0, sizeof(done));
  for (unsigned i = 0; i < 2; i++) {
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_unfinished, .arg = (void *)(uintptr_t)&number[i]});
    fake_script_always(s, i, GI_FOP_GETXATTR, (struct fake_reply){.fill = say_added, .arg = (void *)(uintptr_t)&number[i]});
  }
  fake_script_always(s, 1, GI_FOP_SETXATTR, (struct fake_reply){.fill = see_added});
  fake_script_always(s, 0, GI_FOP_INODELK, (struct fake_reply){.fill = see_size_lock, .arg = r.d});
  fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = see_retired});
  gi_task_start(s->x->reactor, move, &r);
  fake_settle(s);
  assert_int_equal(r.moved, 1);
  assert_string_equal(done, "LSml");
  fake_stack_free(s);
}

/* Both files as a disk has them. In the moment in which the target becomes the file somebody changes the source, `change` says what, once. */
static struct {
  uint32_t mode, gid, target_mode, target_gid;
  bool named; /* its target, by the source */
  enum { NOBODY, OWNER_GROUP, OWNER_MODE } change;
  bool always; /* the group, whenever the target becomes the file */
} changing;

static void
say_both(struct gi_fop *fop, void *arg)
{
  bool target = *(const unsigned *)arg == 1;
  const char *to = target ? "child-0" : "child-1";

  if (!fop->loc.name) {
    root_of(&fop->rsp.stat);
    return;
  }
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | (target ? changing.target_mode : changing.mode));
  fop->rsp.stat.gid = target ? changing.target_gid : changing.gid;
  if (target || changing.named)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", to, (uint32_t)strlen(to) + 1);
  if (!target && changing.named)
    gi_dict_set_str(gi_fop_rsp_xdata(fop), KEY ".mode", "644"); /* when it was marked */
}

static void
keep_source(struct gi_fop *fop, void *arg)
{
  if (fop->args.valid & GI_SET_MODE)
    changing.mode = fop->args.iatt.mode & 07777;
}

static void
name_source(struct gi_fop *fop, void *arg)
{
  changing.named = true;
}

static void
keep_target(struct gi_fop *fop, void *arg)
{
  if (fop->args.valid & GI_SET_MODE)
    changing.target_mode = fop->args.iatt.mode & 07777;
  if (fop->args.valid & GI_SET_GID)
    changing.target_gid = fop->args.iatt.gid;
  if (changing.target_mode == GI_LINKTO_MODE)
    return;
  if (changing.change == OWNER_GROUP)
    changing.gid = changing.always ? changing.gid + 1 : 7;
  if (changing.change == OWNER_MODE)
    changing.mode = 0600; /* and with it the marks are gone */
  if (!changing.always)
    changing.change = NOBODY;
}

static void
script_both(struct fake_stack *s)
{
  static const unsigned number[] = {0, 1};

  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_both, .arg = (void *)(uintptr_t)&number[i]});
  fake_script_always(s, 0, GI_FOP_SETXATTR, (struct fake_reply){.fill = name_source});
  fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = keep_source});
  fake_script_always(s, 1, GI_FOP_SETATTR, (struct fake_reply){.fill = keep_target});
}

/* What is cut while it looks like the file would be taken for it. */
static void
see_cut(struct gi_fop *fop, void *arg)
{
  assert_int_equal(changing.target_mode, GI_LINKTO_MODE);
}

/* An ACL has changed the mode of the source since the target has become the file, and nobody has ended that. */
static void
test_target_is_a_linkto_file_before_it_is_emptied(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
  struct di_reb r = {.d = di_of(s->x)};

  memset(&changing, 0, sizeof(changing));
  changing.named = true;
  changing.mode = 0640 | DI_MOVING;
  changing.target_mode = 0644;
  script_both(s);
  fake_script_always(s, 1, GI_FOP_TRUNCATE, (struct fake_reply){.fill = see_cut});
  gi_task_start(s->x->reactor, move, &r);
  fake_settle(s);
  assert_int_equal(r.moved, 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_TRUNCATE), 1);
  assert_int_equal(changing.target_mode, 0640);
  fake_stack_free(s);
}

static void
test_what_changes_while_the_target_becomes_the_file(void **state)
{
  (void)state;
  for (unsigned k = 0; k < 2 * (OWNER_MODE + 1); k++) {
    struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
    struct di_reb r = {.d = di_of(s->x)};
    unsigned change = k / 2;

    memset(&changing, 0, sizeof(changing));
    changing.named = k % 2; /* somebody was killed who moved it */
    changing.mode = changing.named ? 0644 | DI_MOVING : 0644;
    changing.target_mode = changing.named ? 0644 : GI_LINKTO_MODE;
    changing.change = change;
    script_both(s);
    gi_task_start(s->x->reactor, move, &r);
    fake_settle(s);
    assert_int_equal(r.moved, 1);
    assert_int_equal(changing.mode, GI_LINKTO_MODE);
    assert_int_equal(changing.target_mode, change == OWNER_MODE ? 0600 : 0644);
    assert_int_equal(changing.target_gid, change == OWNER_GROUP ? 7 : 0);
    fake_stack_free(s);
  }
}

/* Somebody gives the file away again and again: it stays where it is, and the target is a linkto file. */
static void
test_owners_that_change_all_the_time(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
  struct di_reb r = {.d = di_of(s->x)};

  memset(&changing, 0, sizeof(changing));
  changing.mode = 0644;
  changing.target_mode = GI_LINKTO_MODE;
  changing.change = OWNER_GROUP;
  changing.always = true;
  script_both(s);
  gi_task_start(s->x->reactor, move, &r);
  fake_settle(s);
  assert_int_equal(r.moved, 0);
  assert_int_equal(changing.mode, 0644);
  assert_int_equal(changing.target_mode, GI_LINKTO_MODE);
  fake_stack_free(s);
}

static void
test_marks_of_another_are_no_mode(void **state)
{
  half_marked = true;
  test_target_has_its_times_before_it_is_the_file(state);
  half_marked = false;
  assert_int_equal(last_mode, 0644);
}

static unsigned listings, shown_in; /* which listing of the first subvolume shows the file */

static void
say_listing(struct gi_fop *fop, void *arg)
{
  struct gi_dirent e = {.name = "file", .name_len = 4, .off = 1, .type = DT_REG};

  if (fop->args.offset == 0 && ++listings == shown_in) {
    attr_of(&e.stat, FILE_GFID, S_IFREG | 0644);
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
}

static uint8_t layout[2][DI_LAYOUT_BYTES];

static void
see_layout(struct gi_fop *fop, void *arg)
{
  const void *bytes;
  uint32_t len;

  if (gi_dict_get_bin(fop->args.dict, KEY, &bytes, &len) && len == DI_LAYOUT_BYTES)
    memcpy(layout[*(const unsigned *)arg], bytes, len);
}

static void
say_layout(struct gi_fop *fop, void *arg)
{
  say_what_is_there(fop, arg);
  if (!fop->loc.name)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY, layout[*(const unsigned *)arg], DI_LAYOUT_BYTES);
}

/* Somebody moved it meanwhile from where the walk had not been to where it had. */
static void
test_file_that_was_renamed_is_met_by_another_walk(void **state)
{
  static const unsigned number[] = {0, 1};
  struct fake_stack *s = fake_stack_new("cluster/distribute", "option decommissioned-bricks child-0\n", 2);
  struct di_reb r = {.d = di_of(s->x), .command = DI_REB_FORCE};

  memset(done, 0, sizeof(done));
  listings = 0;
  shown_in = 3;
  memset(layout, 0, sizeof(layout));
  for (unsigned i = 0; i < 2; i++) {
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_layout, .arg = (void *)(uintptr_t)&number[i]});
    fake_script_always(s, i, GI_FOP_SETXATTR, (struct fake_reply){.fill = see_layout, .arg = (void *)(uintptr_t)&number[i]});
  }
  fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = see_mark});
  fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = say_listing});
  gi_task_start(s->x->reactor, walk, &r);
  fake_settle(s);
  assert_int_equal(r.moved, 1);
  assert_int_equal(r.failures, 0);
  assert_int_equal(listings, 6); /* three in vain follow */
  assert_int_equal(fake_count(s, 1, GI_FOP_READDIRP), 1);
  fake_stack_free(s);
}

/* The directory was renamed: it would get a layout that begins elsewhere. */
static void
lose_layout(struct gi_fop *fop, void *arg)
{
  if (fop->args.offset == 0 && ++listings == 2)
    memset(layout, 0, sizeof(layout));
}

/* What is on the others may belong elsewhere by that: it is looked for there too, though they are not to leave. */
static void
test_a_layout_that_is_exchanged_later(void **state)
{
  static const unsigned number[] = {0, 1};

  for (int lost = 0; lost < 2; lost++) {
    struct fake_stack *s = fake_stack_new("cluster/distribute", "option decommissioned-bricks child-0\n", 2);
    struct di_reb r = {.d = di_of(s->x), .command = DI_REB_FORCE};

    memset(layout, 0, sizeof(layout));
    listings = 0;
    for (unsigned i = 0; i < 2; i++) {
      struct fake_reply says = {.fill = say_layout, .arg = (void *)(uintptr_t)&number[i]};
      struct fake_reply sees = {.fill = see_layout, .arg = (void *)(uintptr_t)&number[i]};

      fake_script_always(s, i, GI_FOP_LOOKUP, says);
      fake_script_always(s, i, GI_FOP_SETXATTR, sees);
    }
    if (lost)
      fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = lose_layout});
    gi_task_start(s->x->reactor, walk, &r);
    fake_settle(s);
    assert_int_equal(fake_count(s, 0, GI_FOP_READDIRP), 4);
    assert_int_equal(fake_count(s, 1, GI_FOP_READDIRP), 1 + lost);
    fake_stack_free(s);
  }
}

/* ---- the first block of a file in blocks ---- */

static char size_done
    [256]; /* L the lock of its size is taken, R the size is read, S it is set on the target, U the source goes, l the lock too */

static void
say_size(struct gi_fop *fop, void *arg)
{
  bool by_name = fop->kind == GI_FOP_GETXATTR;
  static const char *const key[] = {DI_SIZE_KEY, DI_REB_BLOCK_KEY};
  bool source = *(const unsigned *)arg == 0;

  if (!by_name)
    say_what_is_there(fop, arg);
  for (unsigned i = 0; i < 2 && (source || (by_name && strchr(size_done, 'S'))); i++) {
    struct gi_dict *d = by_name ? fop->rsp.dict ? fop->rsp.dict : (fop->rsp.dict = gi_dict_new()) : gi_fop_rsp_xdata(fop);

    if (!by_name || (fop->args.name && strcmp(fop->args.name, key[i]) == 0))
      gi_dict_set_bin(d, key[i], "12345678", 8);
  }
  if (source && by_name && fop->args.name && strcmp(fop->args.name, DI_SIZE_KEY) == 0)
    strcat(size_done, "R");
}

static void
see_size(struct gi_fop *fop, void *arg)
{
  if (fop->kind == GI_FOP_SETXATTR && gi_dict_get(fop->args.dict, DI_SIZE_KEY) && gi_dict_get(fop->args.dict, DI_REB_BLOCK_KEY))
    strcat(size_done, "S");
  else if (fop->kind == GI_FOP_UNLINK)
    strcat(size_done, "U");
  else if (fop->kind == GI_FOP_INODELK && strcmp(fop->args.domain, "under-shard") == 0)
    strcat(size_done, fop->args.type == GI_LK_UNLOCK ? "l" : "L");
}

static void
test_the_size_of_a_file_in_blocks_goes_along(void **state)
{
  static const unsigned number[] = {0, 1};
  static const enum gi_fop_kind from[] = {GI_FOP_INODELK, GI_FOP_UNLINK}, both[] = {GI_FOP_LOOKUP, GI_FOP_GETXATTR};
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
  struct di_reb r = {.d = di_of(s->x)};

  memset(done, 0, sizeof(done));
  for (unsigned i = 0; i < 4; i++)
    fake_script_always(s, i / 2, both[i % 2], (struct fake_reply){.fill = say_size, .arg = (void *)(uintptr_t)&number[i / 2]});
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, 0, from[i], (struct fake_reply){.fill = see_size});
  fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = see_mark});
  fake_script_always(s, 1, GI_FOP_SETXATTR, (struct fake_reply){.fill = see_size});
  gi_task_start(s->x->reactor, move, &r);
  fake_settle(s);
  assert_int_equal(r.moved, 1);
  assert_string_equal(size_done, "LRSRUl"); /* and compared */
  fake_stack_free(s);
}

/* The file has moved, and nothing disturbed that. */
static struct fake_stack *
stack_where_it_moved(void)
{
  static const unsigned number[] = {0, 1};
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 2);
  struct di_reb r = {.d = di_of(s->x)};

  memset(done, 0, sizeof(done));
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP,
                       (struct fake_reply){.fill = say_what_is_there, .arg = (void *)(uintptr_t)&number[i]});
  fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = see_mark});
  gi_task_start(s->x->reactor, move, &r);
  fake_settle(s);
  assert_int_equal(r.moved, 1);
  return s;
}

/* One that has come back is found here perhaps before a writer finds it, and then lacks what that writes. */
static void
test_which_copies_are_good_is_asked_before_each_comparison(void **state)
{
  struct fake_stack *s = stack_where_it_moved();
  unsigned passes = 0;
  bool asked = true;

  for (unsigned i = 0; i < s->nseen; i++) {
    if (s->seen[i].child != 0)
      continue;
    if (s->seen[i].kind == GI_FOP_LOOKUP && !s->seen[i].name[0])
      asked = true;
    if (s->seen[i].kind == GI_FOP_FSTAT) { /* of what is copied, then of each comparison */
      assert_true(asked);
      asked = false;
      passes++;
    }
  }
  assert_true(passes >= 2);
  fake_stack_free(s);
}

/* ---- on the disks ---- */

/* The subvolumes where the file got a mode or was synced, and a name was removed or synced, in this order. */
static void
seen_steps(const struct fake_stack *s, char *order)
{
  static const char what[GI_FOP_MAX] = {
      [GI_FOP_SETATTR] = 'm', [GI_FOP_FSYNC] = 'f', [GI_FOP_UNLINK] = 'r', [GI_FOP_FSYNCDIR] = 's'};

  for (unsigned i = 0; i < s->nseen; i++)
    if (what[s->seen[i].kind])
      order += sprintf(order, "%c%u ", what[s->seen[i].kind], s->seen[i].child);
}

/* A brick that loses its power a moment later is to have the file at its target, and not at its source again. */
static void
test_what_has_moved_is_on_the_disks(void **state)
{
  struct fake_stack *s = stack_where_it_moved();
  char seen[256] = "";

  seen_steps(s, seen);
  assert_string_equal(seen, "m0 f1 m1 f1 m0 r0 s0 ");
  fake_stack_free(s);
}

/* ---- layouts ---- */

static unsigned by_user; /* type of the ranges */

static void
say_root(struct gi_fop *fop, void *arg)
{
  unsigned child = *(const unsigned *)arg;
  struct di_range r = {0, by_user, child ? 0x10000000 : 0, child ? 0xffffffff : 0x0fffffff, 0};
  uint8_t bytes[DI_LAYOUT_BYTES];

  root_of(&fop->rsp.stat);
  di_range_encode(&r, bytes);
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY, bytes, sizeof(bytes));
}

static unsigned
layouts_written(unsigned type, const char *options)
{
  static const unsigned number[] = {0, 1};
  struct fake_stack *s = fake_stack_new("cluster/distribute", options, 2);
  struct di_reb r = {.d = di_of(s->x), .command = DI_REB_LAYOUT};
  unsigned n;

  by_user = type;
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_root, .arg = (void *)(uintptr_t)&number[i]});
  gi_task_start(s->x->reactor, walk, &r);
  fake_settle(s);
  n = (unsigned)di_of(s->x)->metrics.layouts_written;
  fake_stack_free(s);
  return n;
}

static void
test_layout_of_a_user_stays(void **state)
{
  assert_int_equal(layouts_written(0, NULL), 2);
  assert_int_equal(layouts_written(1, NULL), 0);
  assert_int_equal(layouts_written(1, "option decommissioned-bricks child-0\n"), 2); /* what it had goes elsewhere */
}

/* ---- linkto files that are not due ---- */

static unsigned file_at; /* which of the first two; the third has a linkto file that is not due */

static void
say_stray(struct gi_fop *fop, void *arg)
{
  unsigned child = *(const unsigned *)arg;
  struct di_range r = {1, 0, 0, child ? 0 : 0xffffffff, 0};
  uint8_t bytes[DI_LAYOUT_BYTES];

  if (!fop->loc.name) {
    root_of(&fop->rsp.stat);
    di_range_encode(&r, bytes);
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY, bytes, sizeof(bytes));
  } else if (child == 2 || (child == 0 && file_at == 1)) {
    attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | GI_LINKTO_MODE);
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", "child-1", 8);
  } else if (child == file_at) {
    attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | 0644);
  } else {
    gi_fop_fail(fop, ENOENT);
  }
}

static void
see_move(struct gi_fop *fop, void *arg)
{
  file_at = 0; /* while its lock was waited for */
}

static void
find_stray(void *arg)
{
  struct di_reb *r = arg;
  struct gi_loc loc = {.name = "file", .pargfid = gi_gfid_root, .parent = gi_inode_get(r->d->x->graph, &gi_gfid_root)};

  r->base = gi_fop_new(r->d->x->graph, GI_FOP_IPC);
  assert_int_equal(di_reb_stray(r, &loc, 2), 0);
  gi_fop_unref(r->base);
  gi_inode_unref(&loc.parent);
}

static void
test_stray_of_a_file_that_moves_goes(void **state)
{
  static const unsigned number[] = {0, 1, 2};
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 3);
  struct di_reb r = {.d = di_of(s->x)};

  file_at = 1;
  for (unsigned i = 0; i < 3; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_stray, .arg = (void *)(uintptr_t)&number[i]});
  fake_script(s, 1, GI_FOP_INODELK, (struct fake_reply){.fill = see_move});
  gi_task_start(s->x->reactor, find_stray, &r);
  fake_settle(s);
  assert_int_equal(file_at, 0);
  assert_int_equal(fake_count(s, 2, GI_FOP_UNLINK), 1);
  fake_stack_free(s);
}

/* ---- marks of a file that stays ---- */

static bool unmarked;

/* On the first, where it belongs, with marks of a move to the second. */
static void
say_marked(struct gi_fop *fop, void *arg)
{
  bool target = *(const unsigned *)arg == 1;
  const char *to = target ? "child-0" : "child-1";

  if (!fop->loc.name && gi_gfid_is_root(&fop->loc.gfid)) {
    say_what_is_there(fop, arg);
    return;
  }
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | (target ? GI_LINKTO_MODE : unmarked ? 0644 : 0644 | DI_MOVING));
  if (target || !unmarked)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", to, (uint32_t)strlen(to) + 1);
}

static void
see_unmarked(struct gi_fop *fop, void *arg)
{
  unmarked = fop->args.iatt.mode == (S_IFREG | 0644);
}

static void
say_marked_in_list(struct gi_fop *fop, void *arg)
{
  struct gi_dirent e = {.name = "file", .name_len = 4, .off = 1, .type = DT_REG};

  if (fop->args.offset == 0) {
    attr_of(&e.stat, FILE_GFID, S_IFREG | 0644 | DI_MOVING);
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
}

/* Who was killed wanted it elsewhere, and now it belongs where it is. */
static void
test_file_that_stays_loses_its_marks(void **state)
{
  static const unsigned number[] = {0, 1};
  struct fake_stack *s = fake_stack_new("cluster/distribute", "option decommissioned-bricks child-1\n", 2);
  struct di_reb r = {.d = di_of(s->x), .command = DI_REB_FORCE};

  unmarked = false;
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_marked, .arg = (void *)(uintptr_t)&number[i]});
  fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = see_unmarked});
  fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = say_marked_in_list});
  gi_task_start(s->x->reactor, walk, &r);
  fake_settle(s);
  assert_true(unmarked);
  assert_int_equal(r.failures + r.skipped + r.moved, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_UNLINK), 0);
  assert_int_equal(fake_count(s, 1, GI_FOP_UNLINK), 1); /* what was to become its copy */
  fake_stack_free(s);
}

/* ---- mounts ---- */

static unsigned late_mount; /* how often the second subvolume is asked before it has both */

static void
say_mounts(struct gi_fop *fop, void *arg)
{
  bool all = *(const unsigned *)arg == 0 || late_mount == 0;
  uint8_t bytes[16];

  assert_string_equal(fop->args.name, GI_MOUNTS_KEY);
  gi_be64_store(bytes, UINT64_MAX);
  gi_be64_store(bytes + 8, 7);
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_bin(fop->rsp.dict, GI_MOUNTS_KEY, bytes, all ? 16 : 8);
  late_mount -= !all;
}

static void
await(void *arg)
{
  struct di_reb *r = arg;

  r->base = gi_fop_new(r->d->x->graph, GI_FOP_IPC);
  r->base->caller.pid = GI_PID_REBALANCE;
  di_reb_await_mounts(r);
  gi_fop_unref(r->base);
  r->scanned = 1;
}

/* One that does not know all subvolumes is waited for. */
static void
test_mounts_know_all_subvolumes_first(void **state)
{
  static const unsigned number[] = {0, 1};
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 3);
  struct di_reb r = {.d = di_of(s->x)};

  late_mount = 1;
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_GETXATTR, (struct fake_reply){.fill = say_mounts, .arg = (void *)(uintptr_t)&number[i]});
  fake_script_always(s, 2, GI_FOP_GETXATTR, (struct fake_reply){.ret = -1, .err = ENODATA}); /* not ours: it says nothing */
  gi_task_start(s->x->reactor, await, &r);
  fake_settle(s);
  assert_int_equal(r.scanned, 0);
  for (unsigned i = 0; i < 50 && !r.scanned; i++)
    fake_wait(s, 100 * GI_NSEC_PER_MSEC);
  assert_int_equal(r.scanned, 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_GETXATTR), 2);
  fake_stack_free(s);
}

static void
test_throttle_is_changed_meanwhile(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", "option rebalance-cmd 1\noption rebal-throttle lazy\n", 2);
  struct di *d = di_of(s->x);

  fake_settle(s);
  assert_true(d->reb->running); /* nothing is there under the fakes: it waits */
  assert_int_equal(d->reb->files.size, 1);
  assert_int_equal(
      fake_stack_children(s, "option rebalance-cmd 1\noption rebal-throttle 7\n", (const unsigned[]){0, 1}, 2, NULL), 0);
  fake_settle(s);
  assert_int_equal(d->reb->files.size, 7);
  d->reb->stopping = true;
  for (unsigned i = 0; i < 50 && d->reb->running; i++)
    fake_wait(s, 100 * GI_NSEC_PER_MSEC);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_target_has_its_times_before_it_is_the_file),
      cmocka_unit_test(test_target_with_more_names_does_not_become_the_file),
      cmocka_unit_test(test_what_changes_while_the_target_becomes_the_file),
      cmocka_unit_test(test_owners_that_change_all_the_time),
      cmocka_unit_test(test_target_is_a_linkto_file_before_it_is_emptied),
      cmocka_unit_test(test_marks_of_another_are_no_mode),
      cmocka_unit_test(test_file_that_was_renamed_is_met_by_another_walk),
      cmocka_unit_test(test_a_layout_that_is_exchanged_later),
      cmocka_unit_test(test_the_size_of_a_file_in_blocks_goes_along),
      cmocka_unit_test(test_a_move_is_finished_with_the_lock_of_the_size),
      cmocka_unit_test(test_which_copies_are_good_is_asked_before_each_comparison),
      cmocka_unit_test(test_what_has_moved_is_on_the_disks),
      cmocka_unit_test(test_layout_of_a_user_stays),
      cmocka_unit_test(test_stray_of_a_file_that_moves_goes),
      cmocka_unit_test(test_file_that_stays_loses_its_marks),
      cmocka_unit_test(test_mounts_know_all_subvolumes_first),
      cmocka_unit_test(test_throttle_is_changed_meanwhile),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
