/* SPDX-License-Identifier: Apache-2.0
 *
 * Lookup and reading when the copies differ or bricks fail, and what the layers
 * above are told of children that come and go (replicate.md 3, 4, 5).
 */
#include "libglusterish/ask.h"
#include "libglusterish/extension.h"
#include "xlators/cluster/replicate/testing/model.h"

#include <fcntl.h>

static struct gi_fop *
lookup(struct rig *r, const char *name)
{
  struct gi_fop *f = rig_entry(r, GI_FOP_LOOKUP, 1, name, 0);

  rig_run(r, f);
  return f;
}

static void
lose_name(struct rig *r, unsigned child, const char *name)
{
  for (int i = 0; i < BRICK_NAMES; i++)
    if (r->brick[child].name[i].used && strcmp(r->brick[child].name[i].name, name) == 0)
      r->brick[child].name[i].used = false;
}

/* ---- lookup ---- */

static void
check_request(struct gi_fop *fop, void *arg)
{
  struct gi_fop **seen = arg;
  uint64_t n;
  const char *s;

  *seen = fop;
  assert_null(gi_dict_get(fop->xdata, "gfid-req"));
  assert_true(gi_dict_get_uint(fop->xdata, "trusted.afr.dirty", &n) && n == 12);
  assert_true(gi_dict_get_uint(fop->xdata, "trusted.afr.v-client-2", &n) && n == 12);
  assert_true(gi_dict_get_uint(fop->xdata, "glusterfs.inodelk-count", &n) && n == 0);
  assert_true(gi_dict_get_uint(fop->xdata, "glusterfs.entrylk-count", &n) && n == 0);
  assert_true(gi_dict_get_uint(fop->xdata, "glusterfs.parent-entrylk", &n) && n == 0);
  assert_true(gi_dict_get_str(fop->xdata, "link-count", &s));
  assert_string_equal(s, "glusterfs.xattrop_index_count");
  assert_true(gi_dict_get_uint(fop->xdata, "glusterfs.content", &n) && n == 65536);
  fop->rsp.ret = -1;
  fop->rsp.err = ENOENT;
}

static void
lookup_asks_for_the_counters(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f = rig_entry(r, GI_FOP_LOOKUP, 1, "x", 9), *seen[BRICKS] = {0};

  gi_dict_set_uint(f->xdata, "glusterfs.content", 65536);
  fake_script_clear(r->s);
  for (unsigned i = 0; i < BRICKS; i++)
    fake_script(r->s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = check_request, .arg = &seen[i]});
  rig_run(r, f);
  rig_done(f, -1, ENOENT);
  for (unsigned i = 0; i < BRICKS; i++)
    assert_non_null(seen[i]);
  rig_free(r);
}

/* A brick that lost a change of attributes with its power is accused by nobody. */
static void
attributes_are_what_most_copies_say(void **state)
{
  for (unsigned behind = 0; behind < BRICKS; behind++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f;
    const void *value;
    uint32_t len;

    rig_object(r, 5, S_IFREG | 0644);
    for (unsigned i = 0; i < BRICKS; i++)
      rig_xattr(r, i, 5, "trusted.a", i == behind ? "1" : "2");
    f = rig_loc(r, GI_FOP_STAT, 5);
    gi_dict_set_int(gi_fop_xdata(f), "list-xattr", 1);
    gi_dict_set_int(gi_fop_xdata(f), GI_MOST_KEY, 1);
    rig_run(r, f);
    rig_done(f, 0, 0);
    assert_true(gi_dict_get_bin(f->rsp.xdata, "trusted.a", &value, &len));
    assert_memory_equal(value, "2", 1);
    rig_free_clean(r);
  }
}

static void
error_priority(void **state)
{
  static const struct {
    int err[BRICKS], want;
  } t[] = {{{ENOENT, ENODATA, ESTALE}, ENODATA},
           {{ENOENT, ESTALE, EIO}, ENOENT},
           {{ESTALE, EIO, ENOSPC}, ESTALE},
           {{ENOSPC, EIO, EIO}, ENOSPC},
           {{EIO, EPERM, EACCES}, EACCES}};

  for (size_t i = 0; i < GI_ARRAY_LEN(t); i++) {
    struct rig *r = rig_new(NULL);

    for (unsigned c = 0; c < BRICKS; c++)
      r->brick[c].fail_err[GI_FOP_LOOKUP] = t[i].err[c];
    rig_done(lookup(r, "x"), -1, t[i].want);
    rig_free_clean(r);
  }
}

static struct rig *
with_another_object(const char *options)
{
  struct rig *r = rig_new(options);
  struct gi_gfid other;

  rig_object(r, 5, S_IFREG | 0644);
  memset(&other, 0x77, sizeof(other));
  for (int i = 0; i < BRICK_NAMES; i++)
    if (r->brick[1].name[i].used)
      r->brick[1].name[i].gfid = other;
  brick_object(&r->brick[1], 5)->stat.gfid = other;
  return r;
}

static void
different_gfids_are_an_error(void **state)
{
  struct rig *r = with_another_object("option quorum-type none\n");

  rig_done(lookup(r, "f5"), -1, EIO);

  /* Unless that brick is known to have missed changes of the directory: then it is set right first. */
  rig_blame(r, 0, 1, 1, 2);
  rig_blame(r, 2, 1, 1, 2);
  rig_run(r, rig_loc(r, GI_FOP_LOOKUP, 1));
  rig_done(lookup(r, "f5"), 0, 0);
  rig_free_clean(r);

  /* Or a quorum has the same. */
  r = with_another_object(NULL);
  rig_done(lookup(r, "f5"), 0, 0);
  rig_free_clean(r);
}

static void
wrong_gfid_expected_above(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  f = rig_entry(r, GI_FOP_LOOKUP, 1, "f5", 0);
  memset(&f->loc.gfid, 6, sizeof(f->loc.gfid));
  rig_run(r, f);
  rig_done(f, -1, ESTALE);
  rig_free_clean(r);
}

static void
name_that_only_a_stale_brick_has(void **state)
{
  struct rig *r = rig_new(NULL);

  rig_object(r, 5, S_IFREG | 0644);
  lose_name(r, 0, "f5");
  lose_name(r, 1, "f5");
  rig_done(lookup(r, "f5"), -1, ENOENT);
  /* The other way round the two that have it win. */
  rig_object(r, 5, S_IFREG | 0644);
  lose_name(r, 2, "f5");
  rig_done(lookup(r, "f5"), 0, 0);
  /* One copy of two, the third down: nobody can tell. */
  rig_object(r, 5, S_IFREG | 0644);
  lose_name(r, 1, "f5");
  rig_down(r, 2);
  rig_done(lookup(r, "f5"), -1, ENOTCONN);
  rig_free_clean(r);
}

static void
name_is_locked(struct gi_fop *fop, void *arg)
{
  (void)arg;
  fop->rsp.ret = -1;
  fop->rsp.err = ENOENT;
  gi_dict_set_int(gi_fop_rsp_xdata(fop), "glusterfs.parent-entrylk", 1);
}

/* One brick has the name, the other not, and somebody works on it there; the third is away. `missed`: the other lacks more. */
static void
locked_and_absent(struct rig *r, unsigned other, bool missed, int want)
{
  rig_object(r, 5, S_IFREG | 0644);
  lose_name(r, other, "f5");
  if (missed)
    rig_blame(r, 0, 1, other, 2);
  rig_down(r, other == 1 ? 2 : 1);
  rig_run(r, rig_loc(r, GI_FOP_LOOKUP, 1));
  rig_first(r, other, GI_FOP_LOOKUP, name_is_locked, NULL);
  rig_done(lookup(r, "f5"), -1, want);
  rig_free_clean(r);
}

/* That is a creation under way, or a heal: then the name may have been acknowledged long ago. */
static void
a_name_that_is_being_made_or_healed(void **state)
{
  (void)state;
  locked_and_absent(rig_new(NULL), 1, false, ENOENT);
  locked_and_absent(rig_new(NULL), 1, true, ENOTCONN);
  locked_and_absent(rig_new_arbiter(NULL), 2, false, ENOENT);
  locked_and_absent(rig_new_arbiter(NULL), 2, true, ENOTCONN);
}

/* Who makes it marks those that have the old file, and only then gives the name back. */
static void
maker_is_ready(struct brick *b, struct gi_fop *fop, void *arg)
{
  struct rig *r = arg;

  if (fop->kind != GI_FOP_ENTRYLK)
    return;
  r->brick[2].hook = NULL;
  for (unsigned i = 0; i < 2; i++)
    for (unsigned slot = 0; slot < 2; slot++)
      rig_blame(r, i, 5, 2, slot);
}

static void
a_linkto_file_where_another_has_the_file(void **state)
{
  for (unsigned marked = 0; marked < 2; marked++) {
    struct rig *r = rig_new(NULL);
    struct gi_fop *f;

    rig_object(r, 5, S_IFREG | GI_LINKTO_MODE);
    brick_object(&r->brick[2], 5)->stat.mode = S_IFREG | 0644;
    brick_object(&r->brick[2], 5)->stat.size = 100;
    rig_run(r, rig_loc(r, GI_FOP_LOOKUP, 1));
    rig_forget(r);
    if (marked) {
      r->brick[2].hook = maker_is_ready;
      r->brick[2].hook_arg = r;
    }
    f = lookup(r, "f5");
    assert_int_equal(f->rsp.ret, 0);
    if (marked)
      assert_int_equal(f->rsp.stat.mode, S_IFREG | GI_LINKTO_MODE);
    rig_done(f, 0, 0);
    rig_log(r, 0, marked ? "LOOKUP E:f5 LOOKUP EU:f5" : "LOOKUP E:f5 LOOKUP EU:f5 E:f5 LOOKUP EU:f5 E:f5 LOOKUP EU:f5");
    rig_free_clean(r);
  }
}

/* No quorum has the name and none lacks it. If all have said so and nobody changes it, that is how it is. */
static void
a_contradiction_that_lasts(void **state)
{
  struct rig *r = rig_new(NULL);

  rig_object(r, 5, S_IFREG | 0644);
  lose_name(r, 1, "f5");
  r->brick[2].fail_err[GI_FOP_LOOKUP] = ESTALE;
  rig_done(lookup(r, "f5"), -1, EIO);
  r->brick[2].fail_err[GI_FOP_LOOKUP] = ENOMEM;
  rig_done(lookup(r, "f5"), -1, ENOTCONN);
  rig_free_clean(r);
}

static void
everyone_accused(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_blame(r, i, 5, (i + 1) % BRICKS, 0);
  /* It is there, whatever is in it: so the tools that choose a copy reach it. */
  rig_done(lookup(r, "f5"), 0, 0);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
  rig_done(f, 0, 0);
  rig_run(r, f = rig_loc(r, GI_FOP_READLINK, 5));
  rig_done(f, -1, EIO);
  /* While one is away it may be the one that is good. */
  rig_blame(r, 1, 5, 0, 0);
  rig_down(r, 2);
  rig_done(lookup(r, "f5"), -1, ENOTCONN);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
  rig_done(f, -1, EIO);
  rig_free_clean(r);

  /* Attributes that nobody accuses, if there are any. */
  r = rig_new(NULL);
  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < BRICKS; i++) {
    rig_blame(r, i, 5, (i + 1) % BRICKS, 0);
    brick_object(&r->brick[i], 5)->stat.uid = i;
  }
  rig_blame(r, 1, 5, 0, 1);
  rig_blame(r, 2, 5, 1, 1);
  f = lookup(r, "f5");
  rig_done(f, 0, 0);
  assert_int_equal(f->rsp.stat.uid, 2);
  rig_free_clean(r);

  r = rig_new("option quorum-type none\n");
  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_blame(r, i, 5, (i + 1) % BRICKS, 0);
  rig_done(lookup(r, "f5"), 0, 0);
  rig_free_clean(r);
}

static void
counters_do_not_reach_the_application(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_blame(r, 0, 5, 2, 0);
  f = lookup(r, "f5");
  rig_done(f, 0, 0);
  assert_null(gi_dict_get(f->rsp.xdata, "trusted.afr.v-client-2"));
  assert_null(gi_dict_get(f->rsp.xdata, "link-count"));
  rig_free_clean(r);
}

/* ---- reading ---- */

static unsigned
reader(struct rig *r, enum gi_fop_kind kind)
{
  for (unsigned i = 0; i < BRICKS; i++)
    if (fake_count(r->s, i, kind))
      return i;
  return BRICKS;
}

static void
accused_copies_are_not_read(void **state)
{
  for (unsigned good = 0; good < BRICKS; good++)
    for (unsigned slot = 0; slot < 2; slot++) {
      struct rig *r = rig_new(NULL);
      struct gi_fop *f;

      rig_object(r, 5, S_IFREG | 0644);
      for (unsigned j = 0; j < BRICKS; j++)
        if (j != good)
          rig_blame(r, good, 5, j, slot);
      rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
      rig_done(f, 0, 0);
      assert_int_equal(reader(r, GI_FOP_STAT), good);
      rig_free_clean(r);
    }
}

static void
dirty_alone_accuses_nobody(void **state)
{
  struct rig *r = rig_new("option read-subvolume-index 1\n");
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  rig_blame(r, 1, 5, BRICKS, 0);
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
  assert_int_equal(reader(r, GI_FOP_STAT), 1);
  rig_free_clean(r);
}

static void
shorter_copies_are_not_read(void **state)
{
  struct rig *r = rig_new("option read-subvolume-index 0\n");
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  brick_object(&r->brick[1], 5)->stat.size = brick_object(&r->brick[2], 5)->stat.size = 100;
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
  rig_done(f, 0, 0);
  assert_true(reader(r, GI_FOP_STAT) != 0);
  rig_free_clean(r);
}

static void
nobody_has_it_locked(struct gi_fop *fop, void *arg)
{
  brick_serve(fop, arg);
  gi_dict_set_int(gi_fop_rsp_xdata(fop), "glusterfs.inodelk-count", 0);
}

/* Bricks tell of no lock with a count of 0: that is not a change under way. */
static void
shorter_copies_are_seen_by_a_lookup(void **state)
{
  struct rig *r = rig_new("option read-subvolume-index 0\n");
  struct gi_fop *f;

  (void)state;
  rig_object(r, 5, S_IFREG | 0644);
  brick_object(&r->brick[1], 5)->stat.size = brick_object(&r->brick[2], 5)->stat.size = 100;
  for (unsigned i = 0; i < BRICKS; i++) {
    rig_blame(r, i, 5, BRICKS, 0);
    rig_first(r, i, GI_FOP_LOOKUP, nobody_has_it_locked, &r->brick[i]);
  }
  f = lookup(r, "f5");
  rig_done(f, 0, 0);
  assert_int_equal(f->rsp.stat.size, 100);
  rig_free_clean(r);
}

/* One answers and goes, and others are late. It may have been healed in between: then nothing they say blames the old answer any more. */
static void
answers_of_the_gone_are_old(void **state)
{
  for (unsigned left = 2; left > 0; left--) {
    struct rig *r = rig_new("option read-subvolume-index 1\n");
    struct gi_fop *f;

    rig_object(r, 5, S_IFREG | 0644);
    brick_object(&r->brick[0], 5)->stat.size = brick_object(&r->brick[2], 5)->stat.size = 300;
    brick_object(&r->brick[1], 5)->stat.size = 400;
    rig_hold(r, 0, GI_FOP_LOOKUP);
    f = lookup(r, "f5");
    rig_down(r, 1);
    if (left < 2)
      rig_down(r, 2);
    rig_answer(r, 0, GI_FOP_LOOKUP, 0);
    rig_done(f, left < 2 ? -1 : 0, left < 2 ? ENOTCONN : 0);
    assert_int_equal(f->rsp.stat.size, left < 2 ? 0 : 300);
    rig_free(r);
  }
}

static void
failed_read_goes_to_the_next(void **state)
{
  struct rig *r = rig_new("option read-subvolume-index 0\n");
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  r->brick[0].fail_once[GI_FOP_STAT] = EIO;
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
  rig_done(f, 0, 0);
  rig_forget(r);
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_once[GI_FOP_STAT] = EIO;
  rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
  rig_done(f, -1, EIO);
  for (unsigned i = 0; i < BRICKS; i++)
    assert_int_equal(fake_count(r->s, i, GI_FOP_STAT), 1);
  /* What a good copy says of the object is final. */
  rig_forget(r);
  r->brick[0].fail_once[GI_FOP_GETXATTR] = ENODATA;
  rig_run(r, f = rig_loc(r, GI_FOP_GETXATTR, 5));
  rig_done(f, -1, ENODATA);
  rig_log(r, 1, "");
  rig_free_clean(r);
}

static void
frozen_brick_is_replaced_when_it_goes_down(void **state)
{
  struct rig *r = rig_new("option read-subvolume-index 0\n");
  struct gi_fd *fd;
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  fd = rig_open(r, 5);
  rig_hold(r, 0, GI_FOP_READ);
  f = rig_fd(r, GI_FOP_READ, fd);
  f->args.size = 10;
  rig_run(r, f);
  assert_false(f->answered);
  rig_down(r, 0);
  rig_done(f, 10, 0);
  rig_free_clean(r);
}

static void
refreshes_are_shared(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f[5];

  rig_object(r, 5, S_IFREG | 0644);
  rig_hold(r, 1, GI_FOP_LOOKUP);
  for (int i = 0; i < 5; i++)
    rig_run(r, f[i] = rig_loc(r, GI_FOP_STAT, 5));
  assert_int_equal(fake_count(r->s, 0, GI_FOP_LOOKUP), 1);
  rig_release(r, 1, GI_FOP_LOOKUP);
  for (int i = 0; i < 5; i++)
    rig_done(f[i], 0, 0);
  rig_free_clean(r);
}

static void
any_transition_forces_a_refresh(void **state)
{
  struct rig *r = rig_new(NULL);

  rig_object(r, 5, S_IFREG | 0644);
  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  assert_int_equal(fake_count(r->s, 0, GI_FOP_LOOKUP), 1);
  rig_down(r, 2);
  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  assert_int_equal(fake_count(r->s, 0, GI_FOP_LOOKUP), 2);
  rig_blame(r, 0, 5, 2, 0); /* it missed a change */
  rig_up(r, 2);
  for (int i = 0; i < 4; i++) {
    rig_forget(r);
    rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
    assert_int_equal(fake_count(r->s, 2, GI_FOP_STAT), 0);
  }
  rig_free_clean(r);
}

static void
counters_in_an_invalidation(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_invalidation inv = {.xdata = gi_dict_new()};

  rig_object(r, 5, S_IFREG | 0644);
  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  memset(&inv.gfid, 5, sizeof(inv.gfid));
  gi_dict_set_bin(inv.xdata, "trusted.afr.v-client-1", "x", 1);
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  assert_int_equal(inv.flags & 0x2000, 0x2000);
  assert_int_equal(r->s->events[GI_EVENT_INVALIDATE], 1);
  rig_forget(r);
  rig_run(r, rig_loc(r, GI_FOP_STAT, 5));
  assert_int_equal(fake_count(r->s, 0, GI_FOP_LOOKUP), 1);
  gi_dict_unref(&inv.xdata);
  rig_free_clean(r);
}

/* ---- children and quorum ---- */

static void
events_above(void **state)
{
  struct rig *r = rig_new(NULL);
  unsigned *ev = r->s->events;

  assert_int_equal(ev[GI_EVENT_CHILD_UP], 1);
  rig_down(r, 0);
  assert_int_equal(ev[GI_EVENT_CHILD_CHANGED], 1);
  assert_int_equal(ev[GI_EVENT_CHILD_DOWN], 0);
  rig_down(r, 1);
  rig_down(r, 2);
  assert_int_equal(ev[GI_EVENT_CHILD_DOWN], 1);
  rig_up(r, 1);
  assert_int_equal(ev[GI_EVENT_CHILD_UP], 2);
  rig_free(r);
}

static void
quorum_types(void **state)
{
  static const struct {
    const char *options;
    unsigned down;
    bool works;
  } t[] = {
      {NULL, 1, true},
      {NULL, 2, false},
      {"option quorum-type none\n", 2, true},
      {"option quorum-type fixed\noption quorum-count 3\n", 1, false},
      {"option quorum-type fixed\noption quorum-count 1\n", 2, true},
  };

  for (size_t i = 0; i < GI_ARRAY_LEN(t); i++) {
    struct rig *r = rig_new(t[i].options);

    for (unsigned c = 0; c < t[i].down; c++)
      rig_down(r, c);
    rig_done(lookup(r, "x"), -1, t[i].works ? ENOENT : ENOTCONN);
    rig_free(r);
  }
}

static void
opening_needs_quorum(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  r->brick[0].fail_once[GI_FOP_OPEN] = EIO;
  rig_run(r, f = rig_fd(r, GI_FOP_OPEN, fake_fd(r->s, 5)));
  rig_done(f, 0, 0);
  r->brick[0].fail_once[GI_FOP_OPEN] = r->brick[1].fail_once[GI_FOP_OPEN] = EACCES;
  rig_run(r, f = rig_fd(r, GI_FOP_OPEN, fake_fd(r->s, 5)));
  rig_done(f, -1, EACCES);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_blame(r, i, 5, (i + 1) % BRICKS, 0);
  rig_run(r, rig_entry(r, GI_FOP_LOOKUP, 1, "f5", 0));
  rig_run(r, f = rig_fd(r, GI_FOP_OPEN, fake_fd(r->s, 5)));
  rig_done(f, -1, EIO);
  rig_free_clean(r);
}

static void
internal_locks_need_a_quorum(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f = rig_loc(r, GI_FOP_INODELK, 5);

  /* The model checks only locks of this translator's own domain and owners. */
  f->args.domain = "under-test";
  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = f->args.flock.type = GI_LK_WRITE;
  f->caller.owner.len = 8;
  r->brick[1].fail_once[GI_FOP_INODELK] = EAGAIN;
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_log(r, 0, "L:0 U:0 W:0");
  rig_log(r, 1, "L:0 W:0");
  f = rig_loc(r, GI_FOP_INODELK, 5);
  f->args.domain = "under-test";
  f->args.cmd = GI_LKCMD_SET;
  f->args.type = f->args.flock.type = GI_LK_UNLOCK;
  f->caller.owner.len = 8;
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_free_clean(r);
}

struct copies {
  unsigned n, readable, chosen, up;
};

static void
note_copy(struct gi_question *q, const struct gi_fact_copy *f)
{
  struct copies *c = q->arg;
  c->n++;
  c->up += f->up;
  c->readable += f->known && f->data && f->metadata;
  c->chosen += f->chosen;
}

static struct copies
ask_copies(struct rig *r, uint8_t n)
{
  struct copies c = {0};
  struct gi_question q = {
      .what = GI_ASK_COPIES, .gfid = &fake_inode(r->s, n)->gfid, .copy = note_copy, .arg = &c, .left = 2 * BRICKS};
  gi_graph_ask(r->s->graph, &q);
  return c;
}

static void
observers_are_told_which_copies_are_read(void **state)
{
  struct rig *r = rig_new(NULL);
  struct copies c = ask_copies(r, 5);

  assert_true(c.n == BRICKS && c.readable == 0 && c.chosen == 0); /* nobody has asked the bricks */
  rig_object(r, 5, S_IFREG | 0644);
  lookup(r, "f5");
  c = ask_copies(r, 5);
  assert_int_equal(c.n, BRICKS);
  assert_int_equal(c.readable, BRICKS);
  assert_int_equal(c.chosen, 1);
  rig_down(r, 2);
  assert_int_equal(ask_copies(r, 5).up, BRICKS - 1);
  rig_free(r);
}

/* Copies that accuse each other are healed from one that no quorum accuses, and of those from the longest: nobody is told before that the
 * file is shorter. */
static void
attributes_where_every_copy_is_accused(void **state)
{
  for (int fd = 0; fd < 2; fd++) {
    struct rig *r = rig_new("option data-self-heal off\n");
    struct gi_fop *f;

    rig_object(r, 5, S_IFREG | 0644);
    for (unsigned i = 0; i < BRICKS; i++)
      rig_data(r, i, 5, NULL, 100 + 100 * i);
    rig_blame(r, 1, 5, 0, 0);
    rig_blame(r, 2, 5, 0, 0);
    rig_blame(r, 0, 5, 1, 0);
    rig_blame(r, 0, 5, 2, 0);
    if (fd) {
      f = rig_loc(r, GI_FOP_STAT, 5);
      rig_run(r, f);
    } else {
      f = lookup(r, "f5");
    }
    rig_done(f, 0, 0);
    assert_int_equal(f->rsp.stat.size, 300);
    rig_free_clean(r);
  }
}

/* Each of the two that are up has missed what the other has, and the one that has all of it is away. */
static void
a_directory_is_synced_by_a_good_copy(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fd *fd;
  struct gi_fop *f;

  (void)state;
  rig_object(r, 7, S_IFDIR | 0755);
  rig_blame(r, 1, 7, 2, 2);
  rig_blame(r, 2, 7, 1, 2);
  fd = fake_fd(r->s, 7);
  fd->directory = true;
  rig_run(r, rig_fd(r, GI_FOP_OPENDIR, fd));
  f = rig_fd(r, GI_FOP_FSYNCDIR, fd);
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_down(r, 0);
  f = rig_fd(r, GI_FOP_FSYNCDIR, fd);
  rig_run(r, f);
  rig_done(f, -1, EIO);
  rig_up(r, 0);
  f = rig_fd(r, GI_FOP_FSYNCDIR, fd);
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_free_clean(r);
}

/* A listing goes to a copy that was good when the directory was opened, not when somebody looked at it. */
static void
a_directory_that_is_opened_tells_who_is_accused(void **state)
{
  struct rig *r = rig_new("option read-hash-mode 0\noption read-subvolume-index 1\n");
  struct gi_fop *f, *open;
  struct gi_fd *fd;

  rig_object(r, 5, S_IFDIR | 0755);
  rig_run(r, f = rig_loc(r, GI_FOP_LOOKUP, 5));
  rig_done(f, 0, 0);
  rig_blame(r, 0, 5, 1, 2); /* by another client, which does not reach child 1 */
  rig_blame(r, 2, 5, 1, 2);
  rig_forget(r);
  open = rig_loc(r, GI_FOP_OPENDIR, 5);
  fd = gi_fd_new(r->s->graph, open->loc.inode, O_RDONLY | O_DIRECTORY, 100);
  gi_fop_set_fd(open, fd);
  rig_run(r, open);
  rig_done(open, 0, 0);
  assert_null(gi_dict_get(open->rsp.xdata, "trusted.afr.v-client-1")); /* nobody above has asked for it */
  rig_run(r, f = rig_fd(r, GI_FOP_READDIR, fd));
  rig_log(r, 1, "OPENDIR");
  gi_fd_unref(&fd);
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attributes_where_every_copy_is_accused),
      cmocka_unit_test(a_directory_is_synced_by_a_good_copy),
      cmocka_unit_test(lookup_asks_for_the_counters),
      cmocka_unit_test(attributes_are_what_most_copies_say),
      cmocka_unit_test(error_priority),
      cmocka_unit_test(different_gfids_are_an_error),
      cmocka_unit_test(wrong_gfid_expected_above),
      cmocka_unit_test(name_that_only_a_stale_brick_has),
      cmocka_unit_test(a_name_that_is_being_made_or_healed),
      cmocka_unit_test(a_linkto_file_where_another_has_the_file),
      cmocka_unit_test(a_contradiction_that_lasts),
      cmocka_unit_test(everyone_accused),
      cmocka_unit_test(counters_do_not_reach_the_application),
      cmocka_unit_test(accused_copies_are_not_read),
      cmocka_unit_test(dirty_alone_accuses_nobody),
      cmocka_unit_test(shorter_copies_are_not_read),
      cmocka_unit_test(shorter_copies_are_seen_by_a_lookup),
      cmocka_unit_test(answers_of_the_gone_are_old),
      cmocka_unit_test(failed_read_goes_to_the_next),
      cmocka_unit_test(frozen_brick_is_replaced_when_it_goes_down),
      cmocka_unit_test(refreshes_are_shared),
      cmocka_unit_test(any_transition_forces_a_refresh),
      cmocka_unit_test(counters_in_an_invalidation),
      cmocka_unit_test(events_above),
      cmocka_unit_test(quorum_types),
      cmocka_unit_test(opening_needs_quorum),
      cmocka_unit_test(internal_locks_need_a_quorum),
      cmocka_unit_test(observers_are_told_which_copies_are_read),
      cmocka_unit_test(a_directory_that_is_opened_tells_who_is_accused),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
