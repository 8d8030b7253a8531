/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/readdir-ahead: rule by rule, and by chance, against a child that lists a directory of numbered names.
 */
#include "libglusterish/extension.h"
#include "tests/unit/fake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#define DIR_A 5
#define ENTRIES 2000u
#define REQUEST 4096u
#define PER_REQUEST (REQUEST / 200)

enum { HITS, WAITS, PASSED, PIECES, UNUSED, BARE };

static bool there[ENTRIES];        /* names of the child's directory; the cookie of each is its number + 1 */
static unsigned count;             /* how many of them it may have */
static uint64_t piece_of[ENTRIES]; /* the cookie that it was asked for last when it told of the name */

static struct gi_iatt
stat_of(unsigned n)
{
  struct gi_iatt a = {.mode = S_IFREG | 0644, .size = n};
  memset(&a.gfid, 9, sizeof(a.gfid));
  memcpy(&a.gfid, &n, sizeof(n));
  return a;
}

static void
list(struct gi_fop *fop, void *arg)
{
  unsigned n = (unsigned)fop->args.offset, most = (unsigned)fop->args.size / 200;
  for (; n < count && fop->rsp.entries.count < most; n++) {
    char name[16];
    if (!there[n])
      continue;
    struct gi_dirent e = {.ino = n + 1, .off = n + 1, .type = DT_REG, .name = name, .stat = stat_of(n)};
    e.name_len = (uint32_t)snprintf(name, sizeof(name), "f%u", n);
    gi_dirents_add(&fop->rsp.entries, &e, fop);
    piece_of[n] = fop->args.offset;
  }
  gi_dict_set_uint(gi_fop_rsp_xdata(fop), GI_LEFT_KEY, fop->args.offset);
  fop->rsp.ret = (int)fop->rsp.entries.count;
  fop->rsp.err = n == count ? ENOENT : 0;
}

static struct fake_stack *
stack(const char *options)
{
  struct fake_stack *s = fake_stack_new("performance/readdir-ahead", options, 1);
  count = ENTRIES;
  memset(there, true, sizeof(there));
  fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = list});
  fake_script_always(s, 0, GI_FOP_READDIR, (struct fake_reply){.fill = list});
  return s;
}

static int
setup(void **state)
{
  *state = stack(NULL);
  return 0;
}

static int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

static struct gi_fop *
lists(struct fake_stack *s, struct gi_fd *fd, uint64_t cookie)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_READDIRP);
  gi_fop_set_fd(f, fd);
  f->args.offset = cookie;
  f->args.size = REQUEST;
  fake_submit(s, f);
  return f;
}

/* Entries from number `from` on; how many. */
static unsigned
gives(struct fake_stack *s, struct gi_fd *fd, unsigned from)
{
  struct gi_fop *f = lists(s, fd, from);
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, f->rsp.entries.count);
  assert_in_range(f->rsp.entries.count, 1, PER_REQUEST);
  for (uint32_t i = 0; i < f->rsp.entries.count; i++)
    assert_int_equal(f->rsp.entries.entry[i].off, from + i + 1);
  return f->rsp.entries.count;
}

static unsigned
below(struct fake_stack *s)
{
  return fake_count(s, 0, GI_FOP_READDIRP);
}

static uint64_t
metric(const struct fake_stack *s, unsigned row)
{
  return gi_metric_value(&s->x->cls->metrics[row], s->x->metrics);
}

static struct gi_fop *
named(struct fake_stack *s, enum gi_fop_kind kind, const char *name)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIR_A), name);
  gi_fop_set_entry(f, &f->loc2, fake_inode(s, 6), name);
  return f;
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/readdir-ahead", NULL, 1);
  fake_check_transparent(s, GI_KIND(GI_FOP_READDIR) | GI_KIND(GI_FOP_READDIRP));
  for (int err = 1; err < 134; err++) {
    fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.ret = -1, .err = err});
    struct gi_fop *f = lists(s, fake_fd(s, DIR_A), 0);
    assert_true(f->answered && f->rsp.ret == -1 && f->rsp.err == err);
  }
  fake_stack_free(s);
}

static void
test_a_large_directory_costs_a_request_per_piece(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  for (unsigned n = 0; n < count;)
    n += gives(s, fd, n);
  struct gi_fop *f = lists(s, fd, count);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(f->rsp.err, ENOENT);
  assert_in_range(below(s), 4, 6);
}

/* An answer of two pieces says what the second one does. */
static void
test_what_a_reply_says_of_names_that_have_left(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  unsigned mixed = 0;
  for (unsigned n = 0, last; n < count; n = last + 1) {
    struct gi_fop *f = lists(s, fd, n);
    uint64_t said;
    assert_true(f->answered && f->rsp.entries.count > 0);
    last = n + f->rsp.entries.count - 1;
    mixed += piece_of[n] != piece_of[last];
    assert_true(gi_dict_get_uint(f->rsp.xdata, GI_LEFT_KEY, &said));
    assert_int_equal(said, piece_of[last]);
  }
  assert_true(mixed > 0);
}

static void
test_a_small_directory_costs_one(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  count = 10;
  gives(s, fd, 0);
  assert_int_equal(lists(s, fd, 10)->rsp.ret, 0);
  assert_int_equal(below(s), 1);
  assert_int_equal(s->seen[0].size, REQUEST);
}

/* A reader may have had no room for all of the last reply. */
static void
test_it_may_come_back_to_the_middle(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  gives(s, fd, 0);
  gives(s, fd, 18);
  gives(s, fd, 36);
  gives(s, fd, 50);
  gives(s, fd, 50);
  assert_in_range(below(s), 2, 3);
}

static void
test_out_of_order(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  gives(s, fd, 0);
  gives(s, fd, 1000);
  gives(s, fd, 500);
  assert_int_equal(below(s), 3);
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(s->seen[i].size, REQUEST);
  gives(s, fd, 0);
  assert_int_equal(below(s), 4);
}

static void
test_another_kind_or_other_wishes(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  gives(s, fd, 0);
  gives(s, fd, PER_REQUEST);
  struct gi_fop *f = fake_fop(s, GI_FOP_READDIR);
  gi_fop_set_fd(f, fd);
  f->args.offset = 2 * PER_REQUEST;
  f->args.size = REQUEST;
  fake_submit(s, f);
  assert_int_equal(fake_count(s, 0, GI_FOP_READDIR), 1);
  unsigned before = below(s);
  f = fake_fop(s, GI_FOP_READDIRP);
  gi_fop_set_fd(f, fd);
  f->args.offset = PER_REQUEST;
  f->args.size = REQUEST;
  gi_dict_set_int(gi_fop_xdata(f), "wish", 1);
  fake_submit(s, f);
  assert_int_equal(below(s), before + 1);
  assert_non_null(gi_dict_get(f->xdata, "wish"));
}

static void
test_own_changes_of_the_directory(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_CREATE, GI_FOP_MKNOD, GI_FOP_MKDIR,   GI_FOP_UNLINK, GI_FOP_RMDIR,
                                           GI_FOP_RENAME, GI_FOP_LINK,  GI_FOP_SYMLINK, GI_FOP_PUT};
  struct fake_stack *s = *state;
  for (unsigned i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct gi_fd *fd = fake_fd(s, i % 2 && kinds[i] == GI_FOP_RENAME ? 6 : DIR_A);
    gives(s, fd, 0);
    gives(s, fd, PER_REQUEST);
    unsigned before = below(s);
    fake_submit(s, named(s, kinds[i], "x"));
    gives(s, fd, 2 * PER_REQUEST);
    if (below(s) == before)
      fail_msg("%s: what was listed before was served after it", gi_fop_name(kinds[i]));
  }
}

static void
test_requests_that_wait_when_the_directory_changes(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.hold = true});
  fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = list});
  fake_script(s, 0, GI_FOP_UNLINK, (struct fake_reply){.hold = true});
  struct gi_fop *f = lists(s, fd, 0);
  assert_false(f->answered);
  fake_submit(s, named(s, GI_FOP_UNLINK, "f0"));
  assert_true(f->answered);
  assert_int_equal(metric(s, PASSED), 1);
  lists(s, fd, 20);
  assert_int_equal(metric(s, PASSED), 2); /* while it is under way */
  assert_true(fake_release(s, 0, GI_FOP_UNLINK, 0, 0));
  assert_true(fake_release(s, 0, GI_FOP_READDIRP, 0, 0));
}

static void
early(struct gi_fop *fop, void *arg)
{
  fop->rsp.early = true;
}

static struct gi_inode *
object(struct fake_stack *s, unsigned n)
{
  struct gi_iatt a = stat_of(n);
  return gi_inode_get(s->graph, &a.gfid);
}

static void
change_object(struct fake_stack *s, unsigned n)
{
  struct gi_inode *inode = object(s, n);
  struct gi_fop *f = fake_fop(s, GI_FOP_SETATTR);
  gi_loc_set_inode(&f->loc, inode);
  fake_submit(s, f);
  fake_fop_free(f);
  gi_inode_unref(&inode);
}

static void
test_attributes_of_objects_that_changed(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  change_object(s, 51); /* before: it does not count */
  gives(s, fd, 0);
  gives(s, fd, 20);
  change_object(s, 45);
  struct gi_inode *inode = object(s, 50);
  struct gi_fd *file = gi_fd_new(s->graph, inode, O_RDWR, 1);
  struct gi_written w = {.inode = inode, .changes = 1};
  struct gi_fop *f = fake_fop(s, GI_FOP_WRITE);
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.fill = early});
  gi_fop_set_fd(f, file);
  fake_submit(s, f);
  f = lists(s, fd, 40);
  for (unsigned i = 0; i < f->rsp.entries.count; i++)
    assert_int_equal(gi_iatt_valid(&f->rsp.entries.entry[i].stat), i != 5 && i != 10);
  assert_int_equal(metric(s, BARE), 2);
  fake_event(s, 0, GI_EVENT_WRITTEN, &w);
  f = lists(s, fake_fd(s, DIR_A), 40);
  assert_true(gi_iatt_valid(&f->rsp.entries.entry[10].stat));
  gi_fd_unref(&file);
  gi_inode_unref(&inode);
}

/* Nobody knows any more whether it had changed. */
static void
test_attributes_of_objects_that_were_forgotten(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  gives(s, fd, 0);
  gives(s, fd, 20);
  change_object(s, 45);
  struct gi_inode *inode = object(s, 45);
  gi_inode_drop(inode);
  gi_inode_unref(&inode);
  struct gi_fop *f = lists(s, fd, 40);
  assert_false(gi_iatt_valid(&f->rsp.entries.entry[5].stat));
}

static void
test_others(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  struct gi_invalidation inv = {.gfid = fd->inode->gfid};
  gives(s, fd, 0);
  gives(s, fd, 20);
  unsigned before = below(s);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  gives(s, fd, 40);
  assert_int_equal(below(s), ++before);
  gives(s, fd, 60);
  before = below(s);
  fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  gives(s, fd, 80);
  assert_int_equal(below(s), ++before);
}

static struct gi_iatt directory;

static void
tell_directory(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = directory;
}

static void
test_the_time_of_the_directory(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  fake_script_always(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = tell_directory});
  directory = (struct gi_iatt){.mode = S_IFDIR | 0755, .gfid = fd->inode->gfid, .mtime.sec = 5};
  gives(s, fd, 0);
  gives(s, fd, 20);
  unsigned before = below(s);
  for (int i = 0; i < 3; i++) {
    struct gi_fop *f = fake_fop(s, GI_FOP_FSTAT);
    gi_fop_set_fd(f, fd);
    directory.mtime.sec += i == 2;
    fake_submit(s, f);
    gives(s, fd, 40);
    assert_int_equal(below(s), before + (i == 2));
  }
}

static void
test_memory(void **state)
{
  struct fake_stack *s = stack("option rda-cache-limit 1KB\n");
  struct gi_fd *fd = fake_fd(s, DIR_A);
  uint64_t used = s->ctx.budget.used;
  gives(s, fd, 0);
  gives(s, fd, 20);
  assert_true(s->ctx.budget.used > used);
  unsigned before = below(s);
  assert_int_equal(before, 2); /* what it waits for, but nothing ahead */
  gi_budget_set_limit(&s->ctx.budget, 1);
  fake_settle(s);
  gives(s, fd, 40);
  assert_int_equal(below(s), before + 1);
  fake_stack_free(s);
}

/* What is kept of a listing goes with its descriptor, and does not keep it open. */
static void
test_a_closed_directory(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fd *fd = gi_fd_new(s->graph, fake_inode(s, DIR_A), O_RDONLY | O_DIRECTORY, 100);
  uint64_t open = s->graph->fds_live;
  struct gi_fop *first = lists(s, fd, 0);
  struct gi_fop *second = lists(s, fd, first->rsp.entries.entry[first->rsp.entries.count - 1].off);
  assert_true(metric(s, PIECES) > 1);
  fake_fop_free(first);
  fake_fop_free(second);
  gi_fd_unref(&fd);
  fake_settle(s);
  assert_int_equal(s->graph->fds_live, open - 1);
}

static void
test_water_marks(void **state)
{
  struct fake_stack *s = stack("option rda-request-size 8192\noption rda-low-wmark 8000\noption rda-high-wmark 16000\n");
  struct gi_fd *fd = fake_fd(s, DIR_A);
  gives(s, fd, 0);
  gives(s, fd, 20);
  assert_int_equal(metric(s, PIECES), 4); /* 20 + 3 × 40, of which 40 are used: 80 entries are 16000 bytes */
  gives(s, fd, 40);
  gives(s, fd, 60);
  assert_int_equal(metric(s, PIECES), 4);
  gives(s, fd, 80);
  assert_int_equal(metric(s, PIECES), 4);
  gives(s, fd, 100);
  assert_int_equal(metric(s, PIECES), 6); /* 20 left were too few */
  fake_stack_free(s);
}

static void
test_cancel_and_drain(void **state)
{
  struct fake_stack *s = *state;
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.hold = true});
  fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.hold = true});
  fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = list});
  struct gi_fop *a = lists(s, fake_fd(s, DIR_A), 0), *b = lists(s, fake_fd(s, DIR_A), 0);
  gi_fop_cancel(a);
  assert_int_equal(a->rsp.err, EINTR);
  gi_xlator_enable(s->x, false);
  fake_settle(s);
  assert_true(b->answered);
  assert_int_equal(b->rsp.ret, PER_REQUEST);
  assert_false(s->x->enabled);
  while (fake_release(s, 0, GI_FOP_READDIRP, 0, 0))
    ;
}

/* A change that it has not seen is under way. */
static void
test_it_waits_after_it_joined_a_running_graph(void **state)
{
  struct fake_stack *s = stack("option pass-through on\n");
  struct gi_error err;
  struct gi_fd *fd = fake_fd(s, DIR_A);
  struct gi_fop *change = fake_fop(s, GI_FOP_UNLINK);
  gi_fop_set_entry(change, &change->loc, fake_inode(s, DIR_A), "name");
  fake_script(s, 0, GI_FOP_UNLINK, (struct fake_reply){.hold = true});
  fake_submit(s, change);
  assert_int_equal(fake_stack_children(s, "option pass-through off\n", (unsigned[]){0}, 1, &err), 0);
  assert_true(s->x->enabled);
  gives(s, fd, 0);
  gives(s, fd, 20);
  assert_int_equal(metric(s, PASSED), 2);
  assert_true(fake_release(s, 0, GI_FOP_UNLINK, 0, 0));
  gives(s, fd, 40);
  assert_int_equal(metric(s, PASSED), 2);
  fake_stack_free(s);
}

/* ---- by chance ---- */

static uint64_t state_of_chance;

static uint64_t
chance(uint64_t below_it)
{
  state_of_chance ^= state_of_chance << 13;
  state_of_chance ^= state_of_chance >> 7;
  state_of_chance ^= state_of_chance << 17;
  return state_of_chance % below_it;
}

/* A name is removed or made. What was there from the beginning of a listing to its end is in it, once; what never was is not. */
static void
change_name(struct fake_stack *s, bool *always, bool *ever)
{
  unsigned n = (unsigned)chance(count);
  struct gi_fop *f = named(s, there[n] ? GI_FOP_UNLINK : GI_FOP_CREATE, "x");
  there[n] = !there[n];
  always[n] &= there[n];
  ever[n] |= there[n];
  fake_submit(s, f);
  fake_fop_free(f);
}

static void
list_all(struct fake_stack *s)
{
  bool always[ENTRIES], ever[ENTRIES], seen[ENTRIES] = {false};
  struct gi_fd *fd = fake_fd(s, DIR_A);
  memcpy(always, there, sizeof(there));
  memcpy(ever, there, sizeof(there));
  for (uint64_t cookie = 0;;) {
    struct gi_fop *f = lists(s, fd, cookie);
    assert_true(f->answered && f->rsp.ret >= 0);
    if (f->rsp.ret == 0)
      break;
    uint32_t take = 1 + (uint32_t)chance(f->rsp.entries.count); /* it has no room for more */
    for (uint32_t i = 0; i < take; i++) {
      uint64_t n = f->rsp.entries.entry[i].off - 1;
      assert_true(there[n] && !seen[n]); /* own changes are seen at once */
      seen[n] = true;
    }
    cookie = f->rsp.entries.entry[take - 1].off;
    fake_fop_free(f);
    if (chance(4) == 0)
      change_name(s, always, ever);
    s->nseen = 0;
  }
  for (unsigned n = 0; n < count; n++)
    assert_true((!always[n] || seen[n]) && (ever[n] || !seen[n]));
}

static void
test_model(void **state)
{
  struct fake_stack *s = stack("option rda-request-size 16384\n");
  count = 700;
  state_of_chance = 42;
  for (int i = 0; i < 60; i++)
    list_all(s);
  assert_true(metric(s, HITS) > metric(s, PIECES));
  fake_stack_free(s);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      TEST(test_a_large_directory_costs_a_request_per_piece),
      TEST(test_what_a_reply_says_of_names_that_have_left),
      TEST(test_a_small_directory_costs_one),
      TEST(test_it_may_come_back_to_the_middle),
      TEST(test_out_of_order),
      TEST(test_another_kind_or_other_wishes),
      TEST(test_own_changes_of_the_directory),
      TEST(test_requests_that_wait_when_the_directory_changes),
      TEST(test_attributes_of_objects_that_changed),
      TEST(test_attributes_of_objects_that_were_forgotten),
      TEST(test_others),
      TEST(test_the_time_of_the_directory),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_water_marks),
      TEST(test_a_closed_directory),
      TEST(test_cancel_and_drain),
      cmocka_unit_test(test_it_waits_after_it_joined_a_running_graph),
      cmocka_unit_test(test_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
