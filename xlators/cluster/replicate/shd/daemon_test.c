/* SPDX-License-Identifier: Apache-2.0
 *
 * The self-heal daemon over a model of bricks that have an index, with heals
 * that end as the test says: what is healed when, how often, and what is told
 * of it.
 */
#include "xlators/cluster/replicate/shd/shd.h"

#include "tests/unit/fake.h"

#include <sys/utsname.h>

extern const struct gi_xlator_class gi_xlator_export;

#define BRICKS 3
#define OBJECTS 64

struct model {
  unsigned child;
  bool remote;
  bool listed[REP_INDEX_DIRS][OBJECTS]; /* in an index */
  bool lacks[OBJECTS];                  /* the object is not on the brick */
  unsigned touched, removed;
  bool trees; /* the root lists objects 1… as files, 40 as a directory with 41 */
};

struct rig {
  struct fake_stack *s;
  struct rep *rep;
  struct model brick[BRICKS];
};

/* What the engine is told to do. One test at a time. */
static struct {
  struct rig *rig;
  int result[OBJECTS];
  bool sleeps;
  uint8_t reveals[OBJECTS]; /* healing it makes this one appear in brick 0's index */
  unsigned heals[OBJECTS], names, under_way, most, cleaned, cleaned_for;
} engine;

static struct gi_gfid
gfid_of(unsigned n)
{
  struct gi_gfid g;

  memset(&g, (int)n, sizeof(g));
  return g;
}

/* ---- the engine ---- */

static int
heal_inode(struct rep_heal *h)
{
  unsigned n = gi_gfid_is_root(&h->gfid) ? 0 : h->gfid.b[0];
  int ret = engine.result[n];

  engine.heals[n]++;
  if (++engine.under_way > engine.most)
    engine.most = engine.under_way;
  if (engine.sleeps)
    gi_task_sleep(h->r, GI_NSEC_PER_MSEC);
  engine.under_way--;
  for (unsigned b = 0; ret == REP_HEALED && b < BRICKS; b++)
    for (unsigned d = 0; d < REP_INDEX_DIRS; d++)
      engine.rig->brick[b].listed[d][n] = false;
  if (ret == REP_HEALED && engine.reveals[n])
    engine.rig->brick[0].listed[REP_INDEX_PENDING][engine.reveals[n]] = true;
  h->split_brain = ret == -EIO;
  return ret;
}

static int
heal_name(struct rep_heal *h, struct gi_inode *parent, const char *name, const struct gi_gfid *gfid_req)
{
  engine.names++;
  return 0;
}

static void
clean(struct rep_heal *h, uint32_t children)
{
  engine.cleaned++;
  engine.cleaned_for |= children;
}

static const struct rep_shd_engine fake_engine = {.inode = heal_inode, .name = heal_name, .clean = clean};

/* ---- the bricks ---- */

static void
refuse(struct gi_fop *fop, int err)
{
  fop->rsp.ret = -1;
  fop->rsp.err = err;
}

/* Virtual directories: 0xf0 plus the index, the brick in the last byte. */
static struct gi_gfid
index_gfid(const struct model *m, unsigned dir)
{
  struct gi_gfid g = gfid_of(0xf0 + dir);

  g.b[15] = (uint8_t)m->child;
  return g;
}

static unsigned
names_in(const struct model *m, unsigned dir)
{
  unsigned n = 0;

  for (unsigned i = 0; i < OBJECTS; i++)
    n += m->listed[dir][i];
  return n;
}

static void
brick_getxattr(struct gi_fop *fop, void *arg)
{
  static const char *const gfid_key[] = {"glusterfs.xattrop_index_gfid", "glusterfs.xattrop_dirty_gfid",
                                         "glusterfs.xattrop_entry_changes_gfid"};
  static const char *const count_key[] = {"glusterfs.xattrop_index_count", "glusterfs.xattrop_dirty_count"};
  const struct model *m = arg;
  const char *key = fop->args.name;

  fop->rsp.dict = gi_dict_new();
  for (unsigned d = 0; d < 3; d++)
    if (strcmp(key, gfid_key[d]) == 0) {
      struct gi_gfid g = index_gfid(m, d);

      gi_dict_set_bin(fop->rsp.dict, key, &g, sizeof(g));
      return;
    }
  for (unsigned d = 0; d < 2; d++)
    if (strcmp(key, count_key[d]) == 0) {
      gi_dict_set_uint(fop->rsp.dict, key, names_in(m, d));
      return;
    }
  if (strcmp(key, "trusted.glusterfs.pathinfo") == 0) {
    struct utsname uts;

    uname(&uts);
    GI_CLEANUP_FREE char *text = gi_asprintf("<POSIX(/b):%s:/b/>", m->remote ? "elsewhere" : uts.nodename);

    gi_dict_set_str(fop->rsp.dict, key, text);
    return;
  }
  if (strcmp(key, "glusterfs.gfidtopath") == 0) {
    gi_dict_set_bin(fop->rsp.dict, key, "/some/file", 10); /* as bricks do: text without its NUL */
    return;
  }
  refuse(fop, ENODATA);
}

static void
add(struct gi_fop *fop, const char *name, unsigned object, uint32_t mode)
{
  struct gi_dirent e = {.name = name, .name_len = (uint32_t)strlen(name), .off = fop->rsp.entries.count + 1};

  if (fop->kind == GI_FOP_READDIRP) {
    e.stat.gfid = gfid_of(object);
    e.stat.mode = mode;
  }
  gi_dirents_add(&fop->rsp.entries, &e, fop);
  fop->rsp.ret++;
}

static void
brick_list(struct gi_fop *fop, void *arg)
{
  const struct model *m = arg;
  const struct gi_gfid *g = &fop->fd->inode->gfid;
  char text[GI_UUID_TEXT];

  fop->rsp.ret = 0;
  if (fop->args.offset)
    return;
  if (gi_gfid_is_root(g) && m->trees) {
    add(fop, "one", 1, S_IFREG | 0644);
    add(fop, "again-one", 1, S_IFREG | 0644);
    add(fop, "dir", 40, S_IFDIR | 0755);
    add(fop, "unfinished", 0, S_IFDIR | 0755); /* it has no gfid */
    add(fop, ".landfill", 50, S_IFDIR | 0755);
  } else if (g->b[0] == 40) {
    add(fop, "inside", 41, S_IFREG | 0644);
  } else if (g->b[0] >= 0xf0) {
    add(fop, "xattrop-base-file", 0, 0);
    for (unsigned i = 1; i < OBJECTS; i++) {
      struct gi_gfid o = gfid_of(i);

      if (m->listed[g->b[0] - 0xf0][i])
        add(fop, gi_gfid_text(&o, text), 0, 0);
    }
  }
}

static void
brick_remove(struct gi_fop *fop, void *arg)
{
  struct model *m = arg;
  struct gi_gfid g;

  assert_true(gi_gfid_parse(fop->loc.name, &g));
  assert_int_equal(fop->loc.pargfid.b[0] & 0xf0, 0xf0);
  assert_int_equal(fop->loc.pargfid.b[15], m->child);
  assert_int_equal(fop->kind == GI_FOP_RMDIR, fop->loc.pargfid.b[0] == 0xf2);
  m->listed[fop->loc.pargfid.b[0] - 0xf0][g.b[0]] = false;
  m->removed++;
}

static void
brick_lookup(struct gi_fop *fop, void *arg)
{
  const struct model *m = arg;

  if (fop->loc.gfid.b[0] < OBJECTS && m->lacks[fop->loc.gfid.b[0]])
    refuse(fop, ENOENT);
}

static void
brick_touch(struct gi_fop *fop, void *arg)
{
  struct model *m = arg;
  unsigned n = fop->loc.gfid.b[0];

  m->touched++;
  for (unsigned d = 0; d < REP_INDEX_DIRS; d++)
    m->listed[d][n] = false;
}

/* ---- the rig ---- */

static struct rig *
rig_prepare(void)
{
  struct rig *r = gi_new(struct rig);

  memset(&engine, 0, sizeof(engine));
  engine.rig = r;
  for (unsigned b = 0; b < BRICKS; b++)
    r->brick[b].child = b;
  return r;
}

static void
list(struct rig *r, unsigned brick, enum rep_index_dir dir, unsigned object)
{
  r->brick[brick].listed[dir][object] = true;
}

static void
rig_start(struct rig *r, const char *options)
{
  GI_CLEANUP_FREE char *all =
      gi_asprintf("option iam-self-heal-daemon yes\noption afr-pending-xattr v-client-0,v-client-1,v-client-2\n%s", options);
  struct fake_stack *s = r->s = fake_stack_new("cluster/replicate", all, BRICKS);

  r->rep = rep_of(s->x);
  r->rep->shd->engine = &fake_engine;
  for (unsigned b = 0; b < BRICKS; b++) {
    struct model *m = &r->brick[b];

    fake_script_always(s, b, GI_FOP_GETXATTR, (struct fake_reply){.fill = brick_getxattr, .arg = m});
    fake_script_always(s, b, GI_FOP_READDIR, (struct fake_reply){.fill = brick_list, .arg = m});
    fake_script_always(s, b, GI_FOP_READDIRP, (struct fake_reply){.fill = brick_list, .arg = m});
    fake_script_always(s, b, GI_FOP_UNLINK, (struct fake_reply){.fill = brick_remove, .arg = m});
    fake_script_always(s, b, GI_FOP_RMDIR, (struct fake_reply){.fill = brick_remove, .arg = m});
    fake_script_always(s, b, GI_FOP_LOOKUP, (struct fake_reply){.fill = brick_lookup, .arg = m});
    fake_script_always(s, b, GI_FOP_XATTROP, (struct fake_reply){.fill = brick_touch, .arg = m});
  }
  for (int i = 0; r->rep->shd->crawling && i < 100; i++) /* the first crawl found bricks that tell nothing */
    fake_settle(s);
  rep_shd_children(r->rep, 0);
}

static void
settle(struct rig *r)
{
  for (int i = 0; i < 2000; i++) {
    fake_settle(r->s);
    if (!r->rep->shd->crawling && !r->rep->shd->start.queued)
      return;
    fake_wait(r->s, GI_NSEC_PER_MSEC);
  }
  fail_msg("the crawl does not end");
}

static void
rig_heal(struct rig *r)
{
  settle(r);
  rep_shd_wake(r->rep->shd, true, false);
  settle(r);
}

static void
rig_free(struct rig *r)
{
  fake_stack_free(r->s);
  gi_free(r);
}

struct asked {
  struct gi_manage m;
  int err;
  bool done;
};

static void
asked_done(struct gi_manage *m, int err)
{
  struct asked *a = (struct asked *)(void *)m;

  a->err = err;
  a->done = true;
}

/* The answer to a management operation; owned by the caller. */
static struct gi_dict *
ask(struct rig *r, int op)
{
  struct asked a = {.m = {.op = op, .out = gi_dict_new(), .done = asked_done}};

  rep_manage(r->s->x, &a.m);
  fake_settle(r->s);
  assert_true(a.done);
  assert_int_equal(a.err, 0);
  return a.m.out;
}

static void
tells(const struct gi_dict *d, const char *key, const char *want)
{
  const char *text;

  if (!gi_dict_get_str(d, key, &text))
    fail_msg("no %s", key);
  assert_string_equal(text, want);
}

/* ---- tests ---- */

static void
everything_listed_is_healed_once(void **state)
{
  struct rig *r = rig_prepare();

  for (unsigned n = 1; n <= 20; n++)
    for (unsigned b = 0; b < BRICKS; b++)
      list(r, b, REP_INDEX_PENDING, n);
  list(r, 1, REP_INDEX_DIRTY, 21);
  list(r, 2, REP_INDEX_CHANGES, 22);
  rig_start(r, "");
  rig_heal(r);
  for (unsigned n = 1; n <= 22; n++)
    assert_int_equal(engine.heals[n], 1);
  assert_int_equal(engine.cleaned, 2); /* the crawl at the start, and another one */
  assert_int_equal(engine.cleaned_for, (1u << BRICKS) - 1);
  rig_free(r);
}

static void
what_a_heal_reveals_is_healed_at_once(void **state)
{
  struct rig *r = rig_prepare();

  list(r, 2, REP_INDEX_PENDING, 1);
  for (unsigned n = 1; n < 30; n++)
    engine.reveals[n] = (uint8_t)(n + 1);
  rig_start(r, "");
  rig_heal(r);
  for (unsigned n = 1; n <= 30; n++)
    assert_int_equal(engine.heals[n], 1);
  rig_free(r);
}

static void
in_vain_is_tried_once_a_pass(void **state)
{
  struct rig *r = rig_prepare();
  const struct rep_crawl *c;

  for (unsigned b = 0; b < BRICKS; b++) {
    list(r, b, REP_INDEX_PENDING, 1);
    list(r, b, REP_INDEX_PENDING, 2);
    list(r, b, REP_INDEX_PENDING, 3);
  }
  engine.result[1] = -EIO;
  engine.result[2] = -ENOTCONN;
  engine.result[3] = REP_HEAL_BUSY;
  rig_start(r, "");
  settle(r);
  assert_int_equal(engine.heals[1], 1);
  assert_int_equal(engine.heals[2], 1);
  assert_int_equal(engine.heals[3], 1);
  c = rep_shd_crawl_of(r->rep->shd, 0);
  assert_int_equal(c->split_brain, 1);
  assert_int_equal(c->failed, 1);
  assert_int_equal(c->healed, 0);
  assert_false(c->running);

  struct gi_dict *d = ask(r, 6);

  tells(d, "glusterish.0-split-brain-0", "/some/file");
  gi_dict_unref(&d);
  rep_shd_wake(r->rep->shd, true, false);
  settle(r);
  assert_int_equal(r->rep->shd->nsplits, 1); /* the same one */
  rig_free(r);
}

static void
stale_names_go(void **state)
{
  struct rig *r = rig_prepare();

  for (unsigned b = 0; b < BRICKS; b++) {
    list(r, b, REP_INDEX_PENDING, 1); /* clean: zeros are added everywhere */
    list(r, b, REP_INDEX_PENDING, 2); /* gone everywhere */
    list(r, b, REP_INDEX_CHANGES, 3);
    r->brick[b].lacks[2] = r->brick[b].lacks[3] = true;
  }
  engine.result[1] = REP_HEAL_CLEAN;
  engine.result[2] = engine.result[3] = -ENOENT;
  rig_start(r, "");
  rig_heal(r);
  for (unsigned b = 0; b < BRICKS; b++) {
    assert_int_equal(r->brick[b].touched, 1);
    assert_int_equal(r->brick[b].removed, 2);
    for (unsigned dir = 0; dir < REP_INDEX_DIRS; dir++)
      assert_int_equal(names_in(&r->brick[b], dir), 0);
    assert_int_equal(rep_shd_crawl_of(r->rep->shd, b)->failed, 0);
  }
  rig_free(r);
}

static void
only_local_bricks(void **state)
{
  struct rig *r = rig_prepare();
  struct gi_dict *d;

  r->brick[1].remote = r->brick[2].remote = true;
  list(r, 0, REP_INDEX_PENDING, 1);
  list(r, 1, REP_INDEX_PENDING, 2);
  rig_start(r, "");
  rig_heal(r);
  assert_int_equal(engine.heals[1], 1);
  assert_int_equal(engine.heals[2], 0);
  assert_int_equal(engine.cleaned_for, 1);
  d = ask(r, 1);
  tells(d, "0-0-status", "Started self-heal");
  tells(d, "0-1-status", "Brick is remote");
  gi_dict_unref(&d);
  list(r, 0, REP_INDEX_PENDING, 3);
  list(r, 0, REP_INDEX_DIRTY, 4);
  d = ask(r, 8);
  tells(d, "0-0-hardlinks", "1");
  tells(d, "0-2-status", "Brick is remote");
  assert_null(gi_dict_get(d, "0-0-status"));
  gi_dict_unref(&d);
  settle(r);
  rig_free(r);
}

static void
a_child_that_comes_back_starts_it(void **state)
{
  struct rig *r = rig_prepare();

  rig_start(r, "");
  settle(r);
  fake_event(r->s, 1, GI_EVENT_CHILD_DOWN, NULL);
  list(r, 0, REP_INDEX_PENDING, 1);
  rep_shd_wake(r->rep->shd, true, false);
  settle(r);
  assert_int_equal(engine.heals[1], 0); /* not without every child */
  assert_int_equal(rep_shd_crawl_of(r->rep->shd, 0)->failed, 1);
  fake_event(r->s, 1, GI_EVENT_CHILD_UP, NULL);
  settle(r);
  assert_int_equal(engine.heals[1], 1);

  struct gi_dict *d;

  fake_event(r->s, 1, GI_EVENT_CHILD_DOWN, NULL);
  d = ask(r, 1);
  tells(d, "0-1-status", "Brick is not connected");
  gi_dict_unref(&d);
  settle(r);
  rig_free(r);
}

/* Nobody says that there is something: it is found by looking, ever less often while crawls are in vain. */
static void
polls_find_what_nobody_tells(void **state)
{
  struct rig *r = rig_prepare();
  unsigned crawls = 0;

  rig_start(r, "");
  settle(r);
  rep_shd_poll(r->rep->shd);
  settle(r);
  assert_int_equal(engine.heals[1], 0);
  list(r, 0, REP_INDEX_PENDING, 1);
  rep_shd_poll(r->rep->shd);
  settle(r);
  assert_int_equal(engine.heals[1], 1);
  engine.result[2] = REP_HEAL_BUSY;
  list(r, 1, REP_INDEX_DIRTY, 2);
  for (int i = 0; i < 32; i++) {
    unsigned before = engine.heals[2];

    rep_shd_poll(r->rep->shd);
    settle(r);
    crawls += engine.heals[2] != before;
  }
  assert_in_range(crawls, 4, 6);                  /* after 1, 2, 4, 8, 16 in vain */
  crawls = engine.cleaned;                        /* not while something was left to heal */
  r->brick[1].listed[REP_INDEX_DIRTY][2] = false; /* healed by somebody else */
  for (int i = 0; i < 2; i++) {
    rep_shd_poll(r->rep->shd);
    settle(r);
    assert_int_equal(engine.cleaned, crawls + 1);
  }
  rep_shd_down(r->rep);
  rig_free(r);
}

static void
several_at_a_time_unless_limited(void **state)
{
  struct rig *r = rig_prepare();

  rig_start(r, "option shd-max-threads 4\n");
  settle(r);
  for (unsigned n = 1; n < OBJECTS; n++)
    list(r, 0, REP_INDEX_PENDING, n);
  engine.sleeps = true;
  r->rep->shd->throttle.parallel = 8;
  r->rep->shd->throttle.since = gi_now(r->rep->x->reactor); /* in the middle of healing */
  rep_shd_reconfigure(r->rep);
  rig_heal(r);
  assert_int_equal(engine.most, 4);
  rig_free(r);
}

static void
off_means_off(void **state)
{
  struct rig *r = rig_prepare();
  struct gi_dict *d;

  list(r, 0, REP_INDEX_PENDING, 1);
  rig_start(r, "option self-heal-daemon off\n");
  rig_heal(r);
  assert_int_equal(engine.heals[1], 0);
  d = ask(r, 1);
  tells(d, "0-0-status", "Self-heal daemon is disabled");
  gi_dict_unref(&d);
  ((struct rep_options *)r->s->x->options)->heal.self_heal_daemon = true;
  r->s->x->cls->reconfigure_commit(r->s->x);
  settle(r);
  assert_int_equal(engine.heals[1], 1);
  rig_free(r);
}

static void
a_full_crawl_looks_at_every_name(void **state)
{
  struct rig *r = rig_prepare();
  struct gi_dict *d;

  r->brick[1].trees = true;
  rig_start(r, "");
  settle(r);
  memset(engine.heals, 0, sizeof(engine.heals));
  d = ask(r, 2);
  tells(d, "0-1-status", "Started self-heal");
  gi_dict_unref(&d);
  settle(r);
  assert_int_equal(engine.names, 5); /* one, again-one, dir, unfinished, dir/inside */
  assert_int_equal(engine.heals[1], 2);
  assert_int_equal(engine.heals[40], 1);
  assert_int_equal(engine.heals[41], 1);
  assert_int_equal(engine.heals[50], 0);
  assert_int_equal(engine.heals[0], BRICKS); /* the root */
  d = ask(r, 7);
  tells(d, "statistics-0-1-count", "3"); /* at the start, full, index */
  tells(d, "statistics_crawl_type-0-1-1", "FULL");
  tells(d, "statistics_healed_cnt-0-1-1", "6");
  tells(d, "statistics_crawl_type-0-1-2", "INDEX");
  tells(d, "statistics_inprogress-0-1-2", "0");
  tells(d, "glusterish.0-remaining", "0");
  tells(d, "glusterish.0-crawling", "0");
  gi_dict_unref(&d);
  rig_free(r);
}

static void
history_is_bounded(void **state)
{
  struct rig *r = rig_prepare();
  struct gi_dict *d;
  const char *text;

  rig_start(r, "");
  for (unsigned i = 0; i < REP_SHD_HISTORY + 20; i++)
    rig_heal(r);
  d = ask(r, 7);
  tells(d, "statistics-0-0-count", "50");
  assert_true(gi_dict_get_str(d, "statistics_strt_time-0-0-49", &text));
  assert_int_equal(text[strlen(text) - 1], '\n');
  assert_null(gi_dict_get(d, "statistics_strt_time-0-0-50"));
  gi_dict_unref(&d);
  rig_free(r);
}

static void
the_end_comes_at_any_time(void **state)
{
  for (int turns = 0; turns < 12; turns++) {
    struct rig *r = rig_prepare();

    rig_start(r, "option shd-max-threads 8\noption shd-wait-qlength 2\n");
    settle(r);
    for (unsigned n = 1; n < OBJECTS; n++)
      list(r, 0, REP_INDEX_PENDING, n);
    engine.sleeps = true;
    rep_shd_wake(r->rep->shd, true, false);
    for (int i = 0; i < turns; i++)
      fake_wait(r->s, GI_NSEC_PER_MSEC);
    rep_shd_down(r->rep);
    settle(r);
    assert_int_equal(r->rep->shd->queue.waiting, 0);
    rig_free(r);
  }
}

static void
nobody_else_offers_it(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/replicate", NULL, BRICKS);
  struct asked a = {.m = {.op = 1, .done = asked_done}};

  rep_manage(s->x, &a.m);
  assert_true(a.done);
  assert_int_equal(a.err, EOPNOTSUPP);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_listed_is_healed_once),
      cmocka_unit_test(what_a_heal_reveals_is_healed_at_once),
      cmocka_unit_test(in_vain_is_tried_once_a_pass),
      cmocka_unit_test(stale_names_go),
      cmocka_unit_test(only_local_bricks),
      cmocka_unit_test(a_child_that_comes_back_starts_it),
      cmocka_unit_test(polls_find_what_nobody_tells),
      cmocka_unit_test(several_at_a_time_unless_limited),
      cmocka_unit_test(off_means_off),
      cmocka_unit_test(a_full_crawl_looks_at_every_name),
      cmocka_unit_test(history_is_bounded),
      cmocka_unit_test(the_end_comes_at_any_time),
      cmocka_unit_test(nobody_else_offers_it),
  };

  gi_class_register(&gi_xlator_export);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
