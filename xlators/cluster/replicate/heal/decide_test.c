/* SPDX-License-Identifier: Apache-2.0
 *
 * The direction of a heal as tables: what the bricks' counters say, and who is
 * to be healed from whom (replicate.md 7.2, 11).
 */
#include "xlators/cluster/replicate/testing/model.h"
#include "xlators/cluster/replicate/heal/heal.h"

struct row {
  const char *what;
  int m[3][3], dirty[3];
  unsigned size[3], ctime[3], nsec[3]; /* nsec: of ctime */
  uint32_t sources, sinks, stale;
  int source;
  bool split;
};

/* ---- making views ---- */

struct fixture {
  struct rig *r;
  struct rep_heal h;
  struct rep_view v;
};

extern const struct gi_xlator_class gi_xlator_export;

static struct fixture *
begin(const char *options)
{
  struct fixture *f = gi_new(struct fixture);
  struct gi_gfid gfid = {{5}};

  f->r = rig_new(options);
  memset(&gfid, 5, sizeof(gfid));
  rig_object(f->r, 5, S_IFREG | 0644);
  rep_heal_begin(&f->h, rep_of(f->r->s->x), &gfid, GI_PID_HEAL);
  f->v.rep = f->h.rep;
  return f;
}

static void
end(struct fixture *f)
{
  rep_view_clear(&f->v);
  rep_heal_end(&f->h);
  rig_free(f->r);
  gi_free(f);
}

static void
fill(struct fixture *f, const struct row *row, enum rep_type type, uint32_t mode)
{
  struct rep_view *v = &f->v;

  rep_view_clear(v);
  memset(v, 0, sizeof(*v));
  v->rep = f->h.rep;
  v->asked = v->ok = v->rep->all;
  for (unsigned i = 0; i < BRICKS; i++) {
    v->dirty[type][i] = row->dirty[i];
    v->stat[i].mode = mode;
    v->stat[i].size = row->size[i];
    v->stat[i].ctime = (struct gi_time){row->ctime[i], row->nsec[i]};
    v->xdata[i] = gi_dict_new();
    for (unsigned j = 0; j < BRICKS; j++)
      v->pending[type][i][j] = row->m[i][j];
  }
}

static void
check(struct fixture *f, const struct row *row, enum rep_type type)
{
  struct rep_direction d;

  rep_decide(&f->h, &f->v, type, f->h.rep->all, &d);
  if (d.sources != row->sources || d.sinks != row->sinks || d.split_brain != row->split || d.source != row->source)
    fail_msg("%s: sources %x sinks %x from %d%s, not %x %x from %d%s", row->what, d.sources, d.sinks, d.source,
             d.split_brain ? " split" : "", row->sources, row->sinks, row->source, row->split ? " split" : "");
  if (d.stale != row->stale)
    fail_msg("%s: stale %x, not %x", row->what, d.stale, row->stale);
  assert_false(d.sources & d.sinks);
}

static void
check_table(const char *options, const struct row *rows, size_t n, enum rep_type type, uint32_t mode)
{
  struct fixture *f = begin(options);

  for (size_t i = 0; i < n; i++) {
    fill(f, &rows[i], type, mode);
    check(f, &rows[i], type);
  }
  end(f);
}

#define TABLE(options, rows, type, mode) check_table(options, rows, GI_ARRAY_LEN(rows), type, mode)

/* ---- data ---- */

static const struct row data_rows[] = {
    {.what = "nothing", .sources = 7, .source = 0},
    {.what = "two good ones blame the third (11.1)", .m = {{0, 0, 1}, {0, 0, 1}}, .sources = 3, .sinks = 4, .source = 0},
    {.what = "one blames two", .m = {[1] = {1, 0, 1}}, .sources = 2, .sinks = 5, .source = 1},
    {.what = "only one recorded it", .m = {[1] = {0, 0, 3}}, .sources = 3, .sinks = 4, .source = 0},
    {.what = "the blamed one blames back too little",
     .m = {{0, 0, 2}, {0, 0, 2}, {1, 0, 0}},
     .sources = 2,
     .sinks = 4,
     .source = 1},
    {.what = "a huge counter of a foreign healer", .m = {{0, 0, 16777216}}, .sources = 3, .sinks = 4, .source = 0},
    {.what = "a negative counter accuses like any other", .m = {{0, 0, -1}}, .sources = 3, .sinks = 4, .source = 0},
    {.what = "the smallest number there is", .m = {{0, 0, INT32_MIN}}, .sources = 3, .sinks = 4, .source = 0},
    {.what = "crashed client, equal sizes: newest ctime (11.3)",
     .dirty = {1, 1, 1},
     .size = {9, 9, 9},
     .ctime = {5, 7, 6},
     .sources = 2,
     .sinks = 5,
     .source = 1},
    {.what = "crashed client: newer in the same second is a tie",
     .dirty = {1, 1, 1},
     .size = {9, 9, 9},
     .nsec = {5, 7, 6},
     .sources = 4,
     .sinks = 3,
     .source = 2},
    {.what = "crashed client, ties: the last", .dirty = {1, 1, 1}, .size = {9, 9, 9}, .sources = 4, .sinks = 3, .source = 2},
    {.what = "crashed client: the largest",
     .dirty = {1, 1, 1},
     .size = {9, 8, 7},
     .ctime = {1, 2, 3},
     .sources = 1,
     .sinks = 6,
     .source = 0},
    {.what = "crashed client: the best witness of the largest",
     .dirty = {1, 2, 9},
     .size = {9, 9, 8},
     .ctime = {7, 6, 5},
     .sources = 2,
     .sinks = 5,
     .source = 1},
    {.what = "sizes differ without marks", .size = {4, 9, 9}, .ctime = {9, 2, 1}, .sources = 2, .sinks = 5, .source = 1},
    {.what = "a blamed larger one is no source",
     .m = {{0, 0, 1}, {0, 0, 1}},
     .size = {4, 4, 9},
     .sources = 3,
     .sinks = 4,
     .source = 0},
    {.what = "dirty on a sink only", .m = {{0, 0, 1}, {0, 0, 1}}, .dirty = {0, 0, 1}, .sources = 3, .sinks = 4, .source = 0},
    {.what = "two blame each other and the third: the larger",
     .m = {{0, 1, 1}, {1, 0, 1}},
     .size = {4, 9, 50},
     .sources = 2,
     .sinks = 5,
     .source = 1},
    {.what = "in a ring: the larger",
     .m = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}},
     .size = {4, 3, 2},
     .sources = 1,
     .sinks = 6,
     .source = 0},
    {.what = "in a ring, equal: it still ends",
     .m = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}},
     .ctime = {3, 2, 1},
     .sources = 1,
     .sinks = 6,
     .source = 0},
    {.what = "two blame each other, and one that blames itself blames one of them, too",
     .m = {{1, 0, 2}, {11, 0, 1}, {14, 3, 0}},
     .dirty = {4, 8, 9},
     .sources = 2,
     .sinks = 5,
     .source = 1},
    {.what = "all blame all",
     .m = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}},
     .size = {4, 9, 50},
     .sinks = 7,
     .source = -1,
     .split = true},
    {.what = "all blame all, all empty: the first",
     .m = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}},
     .sources = 1,
     .sinks = 6,
     .source = 0},
    {.what = "a chain: the second waits for its turn", .m = {{0, 1, 0}, {0, 0, 1}}, .sources = 1, .sinks = 2, .source = 0},
    {.what = "two accuse each other, nobody the third",
     .m = {[1] = {0, 0, 1}, [2] = {0, 1, 0}},
     .sources = 1,
     .sinks = 6,
     .source = 0},
    {.what = "self-accused: its word does not count",
     .m = {{1, 0, 0}, {0, 0, 0}, {0, 0, 0}},
     .size = {5, 5, 5},
     .ctime = {1, 2, 3},
     .sources = 1,
     .sinks = 6,
     .source = 0},
    {.what = "self-accused and accusing: a witness",
     .m = {{1, 1, 1}},
     .dirty = {0, 1, 0},
     .ctime = {1, 2, 3},
     .sources = 1,
     .sinks = 6,
     .source = 0},
    {.what = "self-accused and accused", .m = {{1, 1, 1}, {1, 0, 0}}, .sources = 6, .sinks = 1, .source = 1},
};

static void
data_directions(void **state)
{
  (void)state;
  TABLE(NULL, data_rows, REP_DATA, S_IFREG | 0644);
}

static void
quorum_decides_between_the_accused(void **state)
{
  static const struct row none[] = {
      {.what = "no quorum configured",
       .m = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}},
       .size = {4, 3, 2},
       .sinks = 7,
       .source = -1,
       .split = true},
  };
  static const struct row three[] = {
      {.what = "two accusers are less than three",
       .m = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}},
       .size = {4, 9, 50},
       .sources = 4,
       .sinks = 3,
       .source = 2},
  };

  (void)state;
  TABLE("option quorum-type none\n", none, REP_DATA, S_IFREG | 0644);
  TABLE("option quorum-type fixed\noption quorum-count 3\n", three, REP_DATA, S_IFREG | 0644);
}

static void
arbiter_has_no_data(void **state)
{
  static const struct row rows[] = {
      {.what = "first brick stale (11.5)",
       .m = {[1] = {1}, [2] = {1}},
       .size = {9, 9, 0},
       .sources = 6,
       .sinks = 1,
       .source = 1},
      {.what = "its size does not count", .size = {9, 9, 0}, .sources = 7, .source = 0},
      {.what = "only the arbiter is good", .m = {[2] = {1, 1, 0}}, .size = {9, 9, 0}, .sources = 4, .source = -1},
      {.what = "only the arbiter is good, all are empty", .m = {[2] = {1, 1, 0}}, .sources = 1, .sinks = 6, .source = 0},
      {.what = "only the arbiter is good and accuses one: the other",
       .m = {{0, 9, 0}, {1, 0, 0}, {0, 9, 0}},
       .size = {8, 9, 0},
       .dirty = {1, 0, 0},
       .sources = 1,
       .sinks = 2,
       .source = 0},
      {.what = "only the arbiter is good and accuses nobody: the larger",
       .m = {{0, 1, 0}, {1, 0, 0}},
       .size = {8, 9, 0},
       .sources = 2,
       .sinks = 1,
       .source = 1},
      {.what = "arbiter stale", .m = {{0, 0, 1}, {0, 0, 1}}, .size = {9, 9, 0}, .sources = 3, .sinks = 4, .source = 0},
      {.what = "crashed client",
       .dirty = {1, 1, 1},
       .size = {9, 9, 0},
       .ctime = {2, 1, 9},
       .sources = 1,
       .sinks = 6,
       .source = 0},
      {.what = "crashed client, empty file", .dirty = {1, 1, 1}, .ctime = {1, 2, 3}, .sources = 1, .sinks = 6, .source = 0},
      {.what = "arbiter the best witness of nothing",
       .dirty = {0, 0, 5},
       .size = {9, 8, 0},
       .sources = 1,
       .sinks = 6,
       .source = 0},
  };

  static const struct row none[] = {
      {.what = "without a quorum its silence proves nothing",
       .m = {{0, 9, 0}, {1, 0, 0}, {0, 9, 0}},
       .size = {8, 9, 0},
       .sources = 4,
       .source = -1},
  };

  (void)state;
  TABLE("option arbiter-count 1\n", rows, REP_DATA, S_IFREG | 0644);
  TABLE("option arbiter-count 1\noption quorum-type none\n", none, REP_DATA, S_IFREG | 0644);
}

static bool
any_witness_in(const struct rep_direction *d)
{
  return d->witness[0] || d->witness[1] || d->witness[2];
}

/* Every matrix of zeros and ones of three bricks: whatever is decided, the rules of the chapter hold. */
static void
every_matrix(void **state)
{
  struct fixture *f = begin(NULL);

  (void)state;
  for (unsigned bits = 0; bits < 512; bits++) {
    struct row row = {.size = {3, 3, 3}};
    struct rep_direction d;
    bool free_of_accusations = false;

    for (unsigned k = 0; k < 9; k++)
      row.m[k / 3][k % 3] = (bits >> k) & 1;
    fill(f, &row, REP_DATA, S_IFREG | 0644);
    rep_decide(&f->h, &f->v, REP_DATA, 7, &d);
    assert_false(d.sources & d.sinks);
    for (unsigned j = 0; j < BRICKS; j++) {
      unsigned accusers = 0;

      for (unsigned i = 0; i < BRICKS; i++)
        accusers += !row.m[i][i] && row.m[i][j];
      free_of_accusations |= accusers == 0;
      if (accusers == 0)
        assert_true(any_witness_in(&d) || ((d.sources >> j) & 1));
    }
    if (free_of_accusations)
      assert_false(d.split_brain);
    if (d.split_brain)
      assert_int_equal(d.sinks, 7);
    else
      assert_true((d.sources >> d.source) & 1);
    if (rep_view_marked(&f->v, REP_DATA) && !d.split_brain)
      assert_true(d.sinks); /* or it would stay marked for ever */
  }
  end(f);
}

/* ---- metadata ---- */

static void
metadata_directions(void **state)
{
  static const struct row rows[] = {
      {.what = "nothing", .sources = 7, .source = 0},
      {.what = "one is blamed (11.1)", .m = {{0, 0, 1}, {0, 0, 1}}, .sources = 3, .sinks = 4, .source = 0},
      {.what = "first witness", .dirty = {0, 1, 9}, .sources = 2, .sinks = 5, .source = 1},
      {.what = "two blame each other and the third", .m = {{0, 1, 1}, {1, 0, 1}}, .sources = 1, .sinks = 6, .source = 0},
      {.what = "identical in split brain: the first",
       .m = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}},
       .sources = 1,
       .sinks = 6,
       .source = 0},
  };

  (void)state;
  TABLE(NULL, rows, REP_META, S_IFREG | 0644);
}

static const struct row all_blame = {.m = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}};

static struct rep_direction
decide(struct fixture *f, enum rep_type type)
{
  struct rep_direction d;

  rep_decide(&f->h, &f->v, type, 7, &d);
  return d;
}

static void
values_that_are_no_attributes_do_not_differ(void **state)
{
  struct fixture *f = begin(NULL);
  static const struct row row = {0};
  struct rep_direction d;
  const double pi = 3.14;

  (void)state;
  fill(f, &row, REP_META, S_IFREG | 0644);
  gi_dict_set_raw(f->v.xdata[0], "user.a", 6, GI_VALUE_DOUBLE, &pi, sizeof(pi));
  gi_dict_set_iatt(f->v.xdata[1], "user.b", &f->v.stat[1]);
  d = decide(f, REP_META);
  assert_int_equal(d.sinks, 0);
  gi_dict_set_bin(f->v.xdata[2], "user.a", "12345678", 8); /* against a number */
  d = decide(f, REP_META);
  assert_int_not_equal(d.sinks, 0);
  end(f);
}

static void
unmarked_differences(void **state)
{
  struct fixture *f = begin(NULL);
  struct rep_direction d;
  static const struct row row = {0};

  (void)state;
  fill(f, &row, REP_META, S_IFREG | 0644);
  f->v.stat[2].mode = S_IFREG | 0600;
  d = decide(f, REP_META);
  assert_int_equal(d.sources, 3);
  assert_int_equal(d.sinks, 4);
  assert_true(d.unmarked);

  fill(f, &row, REP_META, S_IFREG | 0644);
  gi_dict_set_bin(f->v.xdata[0], "user.a", "x", 1);
  gi_dict_set_bin(f->v.xdata[1], "user.a", "y", 1);
  gi_dict_set_bin(f->v.xdata[2], "user.a", "x", 1);
  d = decide(f, REP_META);
  assert_int_equal(d.sources, 5);
  assert_int_equal(d.sinks, 2);

  gi_dict_set_bin(f->v.xdata[2], "user.a", "y", 1); /* what most have */
  d = decide(f, REP_META);
  assert_int_equal(d.sources, 6);
  assert_int_equal(d.sinks, 1);
  assert_true(d.unmarked);

  gi_dict_set_bin(f->v.xdata[2], "user.a", "z", 1); /* what was changed last */
  f->v.stat[1].ctime.nsec = 1;
  d = decide(f, REP_META);
  assert_int_equal(d.sources, 2);
  assert_int_equal(d.sinks, 5);

  fill(f, &row, REP_META, S_IFREG | 0644);
  gi_dict_set_bin(f->v.xdata[0], "trusted.afr.v-client-1", "x", 1); /* not compared: */
  gi_dict_set_bin(f->v.xdata[0], "trusted.glusterfs.mdata", "x", 1);
  gi_dict_set_bin(f->v.xdata[1], "security.selinux", "x", 1);
  gi_dict_set_bin(f->v.xdata[2], "trusted.glusterfs.quota.size", "x", 1);
  gi_dict_set_int(f->v.xdata[2], "glusterfs.inodelk-count", 1);
  d = decide(f, REP_META);
  assert_int_equal(d.sources, 7);
  assert_false(d.unmarked);
  end(f);
}

static void
local_copy_is_preferred(void **state)
{
  struct fixture *f = begin(NULL);
  static const struct row row = {.m = {{0, 0, 1}, {0, 0, 1}}};

  (void)state;
  f->h.rep->local = 1;
  fill(f, &row, REP_DATA, S_IFREG | 0644);
  assert_int_equal(decide(f, REP_DATA).source, 1);
  f->h.rep->local = 2;
  assert_int_equal(decide(f, REP_DATA).source, 0);
  end(f);
}

/* ---- entries ---- */

static void
entry_directions(void **state)
{
  static const struct row rows[] = {
      {.what = "one is blamed", .m = {{0, 0, 3}, {0, 0, 3}}, .sources = 3, .sinks = 4, .source = 0},
      {.what = "split brain merges (11.4)", .m = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, .sinks = 7, .source = -1},
      {.what = "no rule of quorum", .m = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}, .sinks = 7, .source = -1},
      {.what = "all accused, one of them by a quorum",
       .m = {{0, 0, 6}, {2, 0, 6}, {0, 2, 0}},
       .sinks = 7,
       .source = -1,
       .stale = 4},
      {.what = "also by one that accuses itself",
       .m = {{0, 3, 0}, {9, 0, 4}, {9, 0, 4}},
       .dirty = {0, 7, 7},
       .sinks = 7,
       .source = -1,
       .stale = 5},
      {.what = "dirty anywhere merges", .m = {{0, 0, 3}, {0, 0, 3}}, .dirty = {0, 0, 1}, .sinks = 7, .source = -1, .stale = 4},
      {.what = "a good one too", .m = {{0, 0, 3}}, .dirty = {0, 1, 0}, .sinks = 7, .source = -1, .stale = 4},
      {.what = "dirty, and nobody is accused", .dirty = {1, 1, 1}, .sinks = 7, .source = -1},
      {.what = "who accuses itself has missed something, too",
       .m = {{1, 0, 0}, {0, 0, 1}},
       .dirty = {0, 0, 1},
       .sinks = 7,
       .source = -1,
       .stale = 5},
      {.what = "the only one who accuses another of that is outdated",
       .m = {{1, 0, 1}, {19, 0, 0}, {18, 0, 1}},
       .sinks = 7,
       .source = -1,
       .stale = 5},
      {.what = "whom those accuse who accuse themselves is not known to be good",
       .m = {{1, 1, 0}, {0, 0, 0}, {0, 0, 1}},
       .sinks = 7,
       .source = -1},
      {.what = "one of two good ones knows what the third missed", .m = {{0, 0, 3}}, .sources = 3, .sinks = 4, .source = 0},
      {.what = "and if it is the other one", .m = {[1] = {0, 0, 3}}, .sources = 3, .sinks = 4, .source = 0},
      {.what = "a chain: all but the good one", .m = {{0, 1, 0}, {0, 0, 1}}, .sources = 1, .sinks = 6, .source = 0},
      {.what = "the only good one blames nobody: merge", .m = {{0, 1, 0}, {1, 0, 0}}, .sinks = 7, .source = -1},
  };

  (void)state;
  TABLE(NULL, rows, REP_ENTRY, S_IFDIR | 0755);
}

/* Where quorums need not share a copy, whoever is free of accusations may know of nothing. */
static void
entry_directions_without_quorum(void **state)
{
  static const struct row rows[] = {
      {.what = "dirty anywhere merges", .m = {{0, 0, 3}, {0, 0, 3}}, .dirty = {0, 0, 1}, .sinks = 7, .source = -1, .stale = 4},
      {.what = "who accuses itself knows nothing better",
       .m = {{1, 0, 0}, {0, 0, 1}},
       .dirty = {0, 0, 1},
       .sinks = 7,
       .source = -1},
  };

  (void)state;
  TABLE("option quorum-type none\n", rows, REP_ENTRY, S_IFDIR | 0755);
}

/* ---- ways out of a split brain ---- */

static int
winner(struct fixture *f, enum rep_type type)
{
  struct rep_direction d = decide(f, type);

  return d.split_brain ? -1 : d.source;
}

static void
operations_of_the_tools(void **state)
{
  struct fixture *f = begin(NULL);

  (void)state;
  fill(f, &all_blame, REP_DATA, S_IFREG | 0644);
  f->v.stat[0].size = f->v.stat[1].size = f->v.stat[2].size = 5;
  f->h.op = GI_HEAL_BIGGER_FILE;
  assert_int_equal(winner(f, REP_DATA), -1);
  assert_string_equal(f->h.refusal, "No bigger file");
  f->v.stat[1].size = 6;
  assert_int_equal(winner(f, REP_DATA), 1);
  assert_null(f->h.refusal);
  f->h.op = GI_HEAL_LATEST_MTIME;
  assert_int_equal(winner(f, REP_DATA), -1);
  assert_string_equal(f->h.refusal, "No difference in mtime");
  f->v.stat[2].mtime.nsec = 1;
  assert_int_equal(winner(f, REP_DATA), 2);
  f->h.op = GI_HEAL_SOURCE_BRICK;
  f->h.op_child = 0;
  assert_int_equal(winner(f, REP_DATA), 0);
  f->h.op_child = -1;
  assert_int_equal(winner(f, REP_DATA), -1);
  assert_string_equal(f->h.refusal, "Invalid brick name");
  f->v.ok = 3;
  f->h.op_child = 0;
  assert_int_equal(rep_heal_op_winner(&f->h, &f->v, REP_DATA), -1);
  assert_string_equal(f->h.refusal, "Failed to obtain replies from all bricks of the replica (are they up?)");

  fill(f, &all_blame, REP_META, S_IFREG | 0644);
  f->v.stat[0].uid = 3;
  f->h.op = GI_HEAL_BIGGER_FILE;
  assert_int_equal(winner(f, REP_META), -1);
  assert_string_equal(f->h.refusal, "Use source-brick option to heal metadata split-brain");
  f->h.op = GI_HEAL_SOURCE_BRICK;
  f->h.op_child = 2;
  assert_int_equal(winner(f, REP_META), 2);
  end(f);
}

static void
check_policy(const char *policy, int equal, int by_size, int by_mtime, int by_ctime, int by_majority)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("option favorite-child-policy %s\n", policy);
  struct fixture *f = begin(text);

  fill(f, &all_blame, REP_DATA, S_IFREG | 0644);
  for (int i = 0; i < 3; i++)
    f->v.stat[i].size = 10;
  assert_int_equal(rep_policy_winner(&f->v, REP_DATA), equal);
  f->v.stat[1].size = 20;
  for (int i = 0; i < 3; i++)
    f->v.stat[i].mtime.sec = i;
  assert_int_equal(rep_policy_winner(&f->v, REP_DATA), by_mtime >= 0 ? by_mtime : by_size);
  for (int i = 0; i < 3; i++) {
    f->v.stat[i].mtime.sec = 7;
    f->v.stat[i].ctime.sec = 9 - i;
    f->v.stat[i].size = i ? 20 : 30;
  }
  if (by_ctime >= 0)
    assert_int_equal(rep_policy_winner(&f->v, REP_DATA), by_ctime);
  if (by_majority >= 0)
    assert_int_equal(rep_policy_winner(&f->v, REP_DATA), by_majority);
  f->v.ok = 3;
  assert_int_equal(rep_policy_winner(&f->v, REP_DATA), -1); /* the third might be better */
  end(f);
}

static void
policies(void **state)
{
  (void)state;
  check_policy("none", -1, -1, -1, -1, -1);
  check_policy("size", -1, 1, -1, -1, -1);
  check_policy("mtime", -1, -1, 2, -1, -1);
  check_policy("ctime", -1, -1, -1, 0, -1);
  check_policy("majority", 0, -1, -1, -1, 1);
}

static void
nothing_else_resolves_metadata(void **state)
{
  struct fixture *f = begin(NULL);

  (void)state;
  fill(f, &all_blame, REP_META, S_IFREG | 0644);
  f->v.stat[1].gid = 4;
  assert_int_equal(winner(f, REP_META), -1);
  fill(f, &all_blame, REP_META, S_IFDIR | 0755);
  f->v.stat[1].mtime.sec = 4; /* a directory that differs only in its times: the newest */
  assert_int_equal(winner(f, REP_META), 1);
  f->v.stat[1].mode = S_IFDIR | 0700;
  assert_int_equal(winner(f, REP_META), -1);
  end(f);
  f = begin("option metadata-splitbrain-forced-heal on\n");
  fill(f, &all_blame, REP_META, S_IFREG | 0644);
  f->v.stat[1].gid = 4;
  f->v.stat[1].ctime.sec = 4;
  assert_int_equal(winner(f, REP_META), 1);
  fill(f, &all_blame, REP_DATA, S_IFREG | 0644);
  f->v.stat[1].size = 4;
  assert_int_equal(winner(f, REP_DATA), -1);
  end(f);
}

static void
corrupt_counters_decide_nothing(void **state)
{
  struct fixture *f = begin("option favorite-child-policy size\n");
  static const struct row row = {.m = {{0, 0, 1}, {0, 0, 1}}, .size = {1, 2, 3}};

  (void)state;
  fill(f, &row, REP_DATA, S_IFREG | 0644);
  f->v.corrupt = 4;
  assert_int_equal(winner(f, REP_DATA), -1);
  assert_int_equal(winner(f, REP_META), -1);
  assert_int_equal(winner(f, REP_ENTRY), -1);
  end(f);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(data_directions),
      cmocka_unit_test(quorum_decides_between_the_accused),
      cmocka_unit_test(arbiter_has_no_data),
      cmocka_unit_test(every_matrix),
      cmocka_unit_test(metadata_directions),
      cmocka_unit_test(values_that_are_no_attributes_do_not_differ),
      cmocka_unit_test(unmarked_differences),
      cmocka_unit_test(local_copy_is_preferred),
      cmocka_unit_test(entry_directions),
      cmocka_unit_test(entry_directions_without_quorum),
      cmocka_unit_test(operations_of_the_tools),
      cmocka_unit_test(policies),
      cmocka_unit_test(nothing_else_resolves_metadata),
      cmocka_unit_test(corrupt_counters_decide_nothing),
  };

  gi_class_register(&gi_xlator_export);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
