/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/md-cache: what is answered from memory, and what ends that.
 */
#include "xlators/performance/md-cache/md-rig.h"

#include "libglusterish/promise.h"

#include <errno.h>
#include <fcntl.h>

/* ---- what is answered ---- */

static void
test_transparent(void **state)
{
  struct fake_stack *s = stack("option md-cache-timeout 0\noption force-readdirp off\n");

  fake_check_transparent(s, 0);
  fake_stack_free(s);
  s = stack("option pass-through on\n");
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_attributes_are_answered_again(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f;

  know(s, FILE_A, 10, 1);
  f = sent(s, at(s, GI_FOP_STAT, FILE_A));
  assert_int_equal(f->rsp.stat.size, 10);
  f = sent(s, at(s, GI_FOP_LOOKUP, FILE_A)); /* without a name */
  assert_int_equal(f->rsp.stat.size, 10);
  assert_int_equal(s->nseen, 1);
  assert_int_equal(metric(s, "attr_hits"), 3);
  know(s, FILE_B, 20, 1);
}

static void
test_where_a_name_leads_is_always_asked(void **state)
{
  struct fake_stack *s = *state;
  struct look l = {FILE_A, 10, 1};

  for (unsigned i = 1; i <= 2; i++) {
    struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);

    gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
    gi_loc_set_inode(&f->loc, fake_inode(s, FILE_A));
    fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_stat, .arg = &l});
    fake_submit(s, f);
    assert_int_equal(fake_count(s, 0, GI_FOP_LOOKUP), i);
  }
  assert_false(asked(s, FILE_A, 10, 1)); /* but what it says is kept */
}

static void
test_a_healer_hears_what_the_bricks_have(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f;

  know(s, FILE_A, 10, 1);
  f = on_fd(s, GI_FOP_FSTAT, FILE_A);
  f->caller.pid = GI_PID_HEAL;
  fake_submit(s, f);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSTAT), 2);
}

static void
test_unknown_keys_are_asked_for(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = at(s, GI_FOP_STAT, FILE_A);

  know(s, FILE_A, 10, 1);
  gi_dict_set_int(gi_fop_xdata(f), "glusterfs.open-fd-count", 0);
  fake_submit(s, f);
  assert_int_equal(fake_count(s, 0, GI_FOP_STAT), 1);
}

static void
test_it_is_asked_again_in_time(void **state)
{
  struct fake_stack *s = stack("option md-cache-timeout 1\n");

  know(s, FILE_A, 10, 1);
  fake_wait(s, GI_NSEC_PER_SEC + 10 * GI_NSEC_PER_MSEC);
  assert_true(asked(s, FILE_A, 11, 2));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1); /* and then somebody else has changed it */
  fake_stack_free(s);
  s = stack("option md-cache-timeout 0\n");
  assert_true(asked(s, FILE_A, 10, 1));
  assert_true(asked(s, FILE_A, 10, 1));
  fake_stack_free(s);
}

static void
assert_believed_for(const char *options, uint32_t promise, const char *wanted)
{
  struct fake_stack *s = stack(options);
  GI_CLEANUP_FREE char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  struct gi_dump d = {out};

  s->graph->promise = promise;
  gi_graph_statedump(s->graph, &d);
  fclose(out);
  assert_non_null(strstr(text, wanted));
  fake_stack_free(s);
}

static void
test_nothing_is_believed_for_long_that_no_brick_tells_of(void **state)
{
  assert_believed_for("option md-cache-timeout 600\n", 0, "\nseconds=60\n");
  assert_believed_for("option md-cache-timeout 600\noption cache-invalidation on\n", 0, "\nseconds=600\n");
  assert_believed_for("option md-cache-timeout 600\n", 600, "\nseconds=200\n");
  assert_believed_for("option md-cache-timeout 600\noption cache-invalidation on\n", 600, "\nseconds=200\n");
  assert_believed_for("option md-cache-timeout 600\n", 10, "\nseconds=60\n");
  assert_believed_for(NULL, 600, "\nseconds=1\n");
}

/* ---- own changes ---- */

static void
test_own_changes_update(void **state)
{
  struct fake_stack *s = *state;
  static const enum gi_fop_kind kinds[] = {GI_FOP_WRITE,   GI_FOP_FTRUNCATE, GI_FOP_FALLOCATE,
                                           GI_FOP_DISCARD, GI_FOP_ZEROFILL,  GI_FOP_FSETATTR};
  uint64_t size = 10;

  know(s, FILE_A, size, 1);
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++, size++) {
    struct step step = {{FILE_A, size, (int64_t)i + 1}, {FILE_A, size + 1, (int64_t)i + 2}};

    wrote(s, kinds[i], &step);
    assert_false(asked(s, FILE_A, size + 1, (int64_t)i + 2));
  }
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
test_the_destination_of_a_copy_is_updated(void **state)
{
  struct fake_stack *s = *state;
  struct step step = {{FILE_B, 20, 1}, {FILE_B, 30, 2}};
  struct gi_fop *f = on_fd(s, GI_FOP_COPY_FILE_RANGE, FILE_A);

  know(s, FILE_A, 10, 1);
  know(s, FILE_B, 20, 1);
  f->fd2 = gi_fd_ref(fake_fd(s, FILE_B));
  fake_script(s, 0, GI_FOP_COPY_FILE_RANGE, (struct fake_reply){.ret = 1, .fill = fill_change, .arg = &step});
  fake_submit(s, f);
  assert_false(asked(s, FILE_A, 10, 1));
  assert_false(asked(s, FILE_B, 30, 2));
}

static void
test_nothing_is_answered_while_a_change_is_under_way(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = on_fd(s, GI_FOP_WRITE, FILE_A);

  know(s, FILE_A, 10, 1);
  hold(s, GI_FOP_WRITE);
  fake_submit(s, f);
  assert_true(asked(s, FILE_A, 10, 1));
  assert_true(asked(s, FILE_A, 11, 2)); /* and what is answered is not kept */
  release_change(s, f, &(struct step){{FILE_A, 10, 1}, {FILE_A, 11, 2}});
  assert_false(asked(s, FILE_A, 11, 2));
}

static void
test_what_was_asked_for_before_a_change_is_not_kept(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = on_fd(s, GI_FOP_FSTAT, FILE_A);

  know(s, FILE_A, 10, 1);
  fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  hold(s, GI_FOP_FSTAT);
  fake_submit(s, f);
  wrote(s, GI_FOP_WRITE, &(struct step){{FILE_A, 10, 1}, {FILE_A, 11, 2}});
  fill_stat(f, &(struct look){FILE_A, 10, 1});
  assert_true(fake_release(s, 0, GI_FOP_FSTAT, 0, 0));
  assert_false(asked(s, FILE_A, 11, 2));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

/* The brick did the second one first, and its answer comes last. */
static void
test_writes_at_once_leave_the_greatest_size(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *a = on_fd(s, GI_FOP_WRITE, FILE_A), *b = on_fd(s, GI_FOP_WRITE, FILE_A);

  know(s, FILE_A, 10, 1);
  hold(s, GI_FOP_WRITE);
  hold(s, GI_FOP_WRITE);
  fake_submit(s, a);
  fake_submit(s, b);
  release_change(s, a, &(struct step){{FILE_A, 15, 2}, {FILE_A, 20, 3}});
  release_change(s, b, &(struct step){{FILE_A, 10, 1}, {FILE_A, 15, 2}});
  assert_false(asked(s, FILE_A, 20, 3));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

/* Both looked before either wrote. */
static void
test_writes_at_once_are_no_evidence_of_others(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *a = on_fd(s, GI_FOP_WRITE, FILE_A), *b = on_fd(s, GI_FOP_WRITE, FILE_A);

  know(s, FILE_A, 10, 1);
  hold(s, GI_FOP_WRITE);
  hold(s, GI_FOP_WRITE);
  fake_submit(s, a);
  fake_submit(s, b);
  release_change(s, a, &(struct step){{FILE_A, 10, 1}, {FILE_A, 20, 3}});
  release_change(s, b, &(struct step){{FILE_A, 10, 1}, {FILE_A, 20, 3}});
  assert_false(asked(s, FILE_A, 20, 3));
  fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  assert_true(asked(s, FILE_A, 20, 3));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
test_other_changes_at_once_leave_nobody_knows_what(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *a = on_fd(s, GI_FOP_WRITE, FILE_A), *b = on_fd(s, GI_FOP_FTRUNCATE, FILE_A);

  know(s, FILE_A, 10, 1);
  hold(s, GI_FOP_WRITE);
  hold(s, GI_FOP_FTRUNCATE);
  fake_submit(s, a);
  fake_submit(s, b);
  release_change(s, b, &(struct step){{FILE_A, 10, 1}, {FILE_A, 0, 2}});
  release_change(s, a, &(struct step){{FILE_A, 0, 2}, {FILE_A, 20, 3}});
  assert_true(asked(s, FILE_A, 20, 3));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
test_a_change_that_failed_leaves_nobody_knows_what(void **state)
{
  struct fake_stack *s = *state;

  know(s, FILE_A, 10, 1);
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ENOSPC});
  sent(s, on_fd(s, GI_FOP_WRITE, FILE_A));
  assert_true(asked(s, FILE_A, 20, 2));    /* part of it may have been done */
  sent(s, on_fd(s, GI_FOP_WRITE, FILE_A)); /* nor does one that does not tell */
  assert_true(asked(s, FILE_A, 30, 3));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
test_opening_for_truncation_changes(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = on_fd(s, GI_FOP_OPEN, FILE_A);

  know(s, FILE_A, 10, 1);
  fake_submit(s, f);
  assert_false(asked(s, FILE_A, 10, 1));
  f = on_fd(s, GI_FOP_OPEN, FILE_A);
  f->args.flags = O_WRONLY | O_TRUNC;
  fake_submit(s, f);
  assert_true(asked(s, FILE_A, 0, 2));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
fill_opened(struct gi_fop *fop, void *arg)
{
  const struct look *l = arg;
  struct gi_iatt a = iatt(l->of, l->size, l->time);

  if (gi_dict_get(fop->xdata, GI_CONTENT_KEY))
    gi_dict_set_iatt(gi_fop_rsp_xdata(fop), GI_CONTENT_STAT_KEY, &a);
}

static struct gi_fop *
opens(struct fake_stack *s, const struct look *l)
{
  struct gi_fop *f = on_fd(s, GI_FOP_OPEN, FILE_A);

  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, 0);
  fake_script(s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = fill_opened, .arg = (void *)l});
  return sent(s, f);
}

static void
test_an_open_shows_what_others_closed(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f;

  know(s, FILE_A, 10, 1);
  opens(s, &(struct look){FILE_A, 10, 1});
  assert_false(asked(s, FILE_A, 10, 1));
  assert_int_equal(metric(s, "foreign"), 0);
  opens(s, &(struct look){FILE_A, 20, 2});
  assert_int_equal(metric(s, "foreign"), 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSTAT), 1);
  f = sent(s, on_fd(s, GI_FOP_FSTAT, FILE_A));
  assert_int_equal(f->rsp.stat.size, 20);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSTAT), 1);
}

static void
test_a_link_of_ours_moves_the_count(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = at(s, GI_FOP_LINK, FILE_A);

  know(s, FILE_A, 10, 1);
  know(s, DIRECTORY, 4096, 1);
  gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIRECTORY), "other");
  fake_script(s, 0, GI_FOP_LINK,
              (struct fake_reply){.fill = fill_change, .arg = &(struct step){{DIRECTORY, 4096, 1}, {DIRECTORY, 8192, 2}}});
  fake_submit(s, f);
  assert_true(asked(s, FILE_A, 10, 1));
  assert_false(asked(s, DIRECTORY, 8192, 2));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
fill_early(struct gi_fop *fop, void *arg)
{
  fill_change(fop, arg);
  fop->rsp.early = true;
}

static void
write_early(struct fake_stack *s, struct step *step)
{
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 1, .fill = fill_early, .arg = step});
  sent(s, on_fd(s, GI_FOP_WRITE, FILE_A));
}

/* In the order of GlusterFS's volfiles write-behind is below. */
static void
test_what_is_answered_early_is_under_way(void **state)
{
  struct fake_stack *s = *state;
  struct gi_iatt found = iatt(FILE_A, 10, 1), left = iatt(FILE_A, 12, 4);
  struct gi_written w = {.inode = fake_inode(s, FILE_A), .changes = 2, .found = &found, .left = &left};

  know(s, FILE_A, 10, 1);
  write_early(s, &(struct step){{FILE_A, 10, 1}, {FILE_A, 11, 2}});
  write_early(s, &(struct step){{FILE_A, 11, 2}, {FILE_A, 12, 3}});
  assert_true(asked(s, FILE_A, 12, 3)); /* write-behind knows */
  assert_true(asked(s, FILE_A, 12, 3));
  fake_event(s, 0, GI_EVENT_WRITTEN, &w);
  assert_false(asked(s, FILE_A, 12, 4));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);

  write_early(s, &(struct step){{FILE_A, 12, 4}, {FILE_A, 13, 5}});
  w.changes = 1;
  w.err = EIO;
  fake_event(s, 0, GI_EVENT_WRITTEN, &w);
  assert_true(asked(s, FILE_A, 12, 4));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);

  write_early(s, &(struct step){{FILE_A, 12, 4}, {FILE_A, 13, 5}});
  found = iatt(FILE_A, 50, 5); /* somebody else came before */
  w.err = 0;
  fake_event(s, 0, GI_EVENT_WRITTEN, &w);
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1);
  fake_event(s, 0, GI_EVENT_WRITTEN, &w); /* of one that was not seen */
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1);
}

/* ---- changes of others ---- */

static void
test_a_change_found_is_told(void **state)
{
  struct fake_stack *s = *state;

  know(s, FILE_A, 10, 1);
  wrote(s, GI_FOP_WRITE, &(struct step){{FILE_A, 50, 2}, {FILE_A, 51, 3}});
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1);
  assert_int_equal(metric(s, "foreign"), 1);
  assert_false(asked(s, FILE_A, 51, 3));
  wrote(s, GI_FOP_WRITE, &(struct step){{FILE_A, 51, 3}, {FILE_A, 52, 4}});
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1); /* once */
}

static void
test_telling_can_be_switched_off(void **state)
{
  struct fake_stack *s = stack("option global-cache-invalidation off\n");

  know(s, FILE_A, 10, 1);
  wrote(s, GI_FOP_WRITE, &(struct step){{FILE_A, 50, 2}, {FILE_A, 51, 3}});
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
  assert_int_equal(metric(s, "foreign"), 1);
  fake_stack_free(s);
}

static void
test_a_directory_changes_with_its_entries(void **state)
{
  struct fake_stack *s = *state;

  know(s, DIRECTORY, 4096, 1);
  fake_event(s, 0, GI_EVENT_CHILD_CHANGED, NULL);
  assert_true(asked(s, DIRECTORY, 4096, 2));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
test_what_bricks_tell_of_is_forgotten(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid, .flags = 0x8, .parent = iatt(DIRECTORY, 4096, 1)};
  struct gi_fop *f = on_fd(s, GI_FOP_FSTAT, FILE_A);

  know(s, FILE_A, 10, 1);
  know(s, FILE_B, 20, 1);
  know(s, DIRECTORY, 4096, 1);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1); /* it goes on */
  assert_true(asked(s, FILE_A, 11, 2));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1); /* and is not told again */
  assert_false(asked(s, FILE_B, 20, 1));
  assert_true(asked(s, DIRECTORY, 4096, 1));

  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  hold(s, GI_FOP_FSTAT);
  fake_submit(s, f);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  fill_stat(f, &(struct look){FILE_A, 11, 2});
  assert_true(fake_release(s, 0, GI_FOP_FSTAT, 0, 0));
  assert_true(asked(s, FILE_A, 12, 3)); /* what was on its way is not kept */
}

static void
test_of_an_unknown_inode_too(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid, .flags = 0x8};
  struct gi_fop *f = on_fd(s, GI_FOP_FSTAT, FILE_A);

  hold(s, GI_FOP_FSTAT);
  fake_submit(s, f);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  fill_stat(f, &(struct look){FILE_A, 11, 2});
  assert_true(fake_release(s, 0, GI_FOP_FSTAT, 0, 0));
  assert_true(asked(s, FILE_A, 12, 3));
}

static void
test_a_brick_that_goes_takes_all_along(void **state)
{
  static const enum gi_event events[] = {GI_EVENT_CHILD_DOWN, GI_EVENT_CHILD_UP, GI_EVENT_CHILD_CHANGED, GI_EVENT_PROMISE};
  struct fake_stack *s = *state;

  for (size_t i = 0; i < GI_ARRAY_LEN(events); i++) {
    assert_true(asked(s, FILE_A, 10, 1));
    assert_false(asked(s, FILE_A, 10, 1));
    fake_event(s, 0, events[i], NULL);
  }
  assert_true(asked(s, FILE_A, 10, 1));
}

static void
test_a_granted_lock_has_all_looked_at(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = on_fd(s, GI_FOP_LK, FILE_B);

  know(s, FILE_A, 10, 1);
  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = GI_LK_UNLOCK;
  fake_submit(s, f);
  assert_false(asked(s, FILE_A, 10, 1));
  f = on_fd(s, GI_FOP_LK, FILE_B);
  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = GI_LK_WRITE;
  fake_submit(s, f);
  assert_true(asked(s, FILE_A, 10, 1));
}

static void
test_what_is_gone_is_forgotten(void **state)
{
  static const int errs[] = {ENOENT, ESTALE};
  struct fake_stack *s = *state;

  for (size_t i = 0; i < GI_ARRAY_LEN(errs); i++) {
    assert_true(asked(s, FILE_A, 10, 1));
    fake_script(s, 0, GI_FOP_READ, (struct fake_reply){.ret = -1, .err = errs[i]});
    sent(s, on_fd(s, GI_FOP_READ, FILE_A));
  }
  assert_true(asked(s, FILE_A, 10, 1));
}

/* ---- directories and statfs ---- */

static void
test_a_listing_may_stay_plain(void **state)
{
  struct fake_stack *s = stack("option force-readdirp off\n");

  sent(s, on_fd(s, GI_FOP_READDIR, DIRECTORY));
  assert_int_equal(fake_count(s, 0, GI_FOP_READDIR), 1);
  fake_stack_free(s);
}

static void
test_statfs(void **state)
{
  struct fake_stack *s = *state;

  sent(s, at(s, GI_FOP_STATFS, DIRECTORY));
  sent(s, at(s, GI_FOP_STATFS, DIRECTORY));
  assert_int_equal(fake_count(s, 0, GI_FOP_STATFS), 2);
  s = stack("option md-cache-statfs on\n");
  sent(s, at(s, GI_FOP_STATFS, DIRECTORY));
  sent(s, at(s, GI_FOP_STATFS, DIRECTORY));
  assert_int_equal(fake_count(s, 0, GI_FOP_STATFS), 1);
  fake_event(s, 0, GI_EVENT_CHILD_DOWN, NULL);
  sent(s, at(s, GI_FOP_STATFS, DIRECTORY));
  assert_int_equal(fake_count(s, 0, GI_FOP_STATFS), 2);
  fake_stack_free(s);
}

/* ---- life ---- */

static void
test_drained_it_has_nothing(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = on_fd(s, GI_FOP_WRITE, FILE_B);

  know(s, FILE_A, 10, 1);
  hold(s, GI_FOP_WRITE);
  fake_submit(s, f);
  gi_xlator_enable(s->x, false);
  assert_false(s->x->enabled);
  gi_xlator_enable(s->x, true);
  assert_true(asked(s, FILE_A, 10, 1));
  assert_true(asked(s, FILE_A, 10, 1)); /* nothing is kept: a change is under way */
  release_change(s, f, &(struct step){{FILE_B, 10, 1}, {FILE_B, 11, 2}});
  know(s, FILE_A, 10, 1);
}

static void
test_pass_through_is_live(void **state)
{
  struct fake_stack *s = *state;
  struct gi_error err = {0};

  know(s, FILE_A, 10, 1);
  assert_int_equal(fake_stack_children(s, "option pass-through on\n", (unsigned[]){0}, 1, &err), 0);
  assert_true(asked(s, FILE_A, 10, 1));
  assert_true(asked(s, FILE_A, 10, 1));
}

static void
test_the_budget_gets_its_memory_back(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = on_fd(s, GI_FOP_WRITE, FILE_B);
  uint64_t before = s->ctx.budget.used;

  know(s, FILE_A, 10, 1);
  know(s, FILE_B, 10, 1);
  hold(s, GI_FOP_WRITE);
  fake_submit(s, f);
  assert_true(s->ctx.budget.used > before);
  gi_budget_set_limit(&s->ctx.budget, 1);
  fake_settle(s);
  assert_int_equal(s->ctx.budget.used, before);
  gi_budget_set_limit(&s->ctx.budget, 0);
  assert_true(asked(s, FILE_A, 10, 1));
  release_change(s, f, &(struct step){{FILE_B, 10, 1}, {FILE_B, 11, 2}});
  assert_false(asked(s, FILE_B, 11, 2)); /* what is changed is not given up */
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, md_setup, md_teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      TEST(test_attributes_are_answered_again),
      TEST(test_where_a_name_leads_is_always_asked),
      TEST(test_a_healer_hears_what_the_bricks_have),
      TEST(test_unknown_keys_are_asked_for),
      cmocka_unit_test(test_it_is_asked_again_in_time),
      cmocka_unit_test(test_nothing_is_believed_for_long_that_no_brick_tells_of),
      TEST(test_own_changes_update),
      TEST(test_the_destination_of_a_copy_is_updated),
      TEST(test_nothing_is_answered_while_a_change_is_under_way),
      TEST(test_what_was_asked_for_before_a_change_is_not_kept),
      TEST(test_writes_at_once_leave_the_greatest_size),
      TEST(test_writes_at_once_are_no_evidence_of_others),
      TEST(test_other_changes_at_once_leave_nobody_knows_what),
      TEST(test_a_change_that_failed_leaves_nobody_knows_what),
      TEST(test_opening_for_truncation_changes),
      TEST(test_an_open_shows_what_others_closed),
      TEST(test_a_link_of_ours_moves_the_count),
      TEST(test_what_is_answered_early_is_under_way),
      TEST(test_a_change_found_is_told),
      cmocka_unit_test(test_telling_can_be_switched_off),
      TEST(test_a_directory_changes_with_its_entries),
      TEST(test_what_bricks_tell_of_is_forgotten),
      TEST(test_of_an_unknown_inode_too),
      TEST(test_a_brick_that_goes_takes_all_along),
      TEST(test_a_granted_lock_has_all_looked_at),
      TEST(test_what_is_gone_is_forgotten),
      cmocka_unit_test(test_a_listing_may_stay_plain),
      TEST(test_statfs),
      TEST(test_drained_it_has_nothing),
      TEST(test_pass_through_is_live),
      TEST(test_the_budget_gets_its_memory_back),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
