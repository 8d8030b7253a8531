/* SPDX-License-Identifier: Apache-2.0
 *
 * Deep trees: how deep clients may build, and that whoever goes down, comes
 * from a gfid or takes a tree away does not keep the brick from others.
 */
#include "xlators/storage/posix/posix-fixture.h"
#include "xlators/storage/posix/posix.h"

#define LIMIT POSIX_DEPTH_MAX
#define BEYOND 4300 /* more than the way up by handles may have */
#define SOME 200
#define HEALER (-6)

static struct gi_gfid
level(unsigned n) /* 0 is the root */
{
  struct gi_gfid g = {{0xde, 0xe9, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13}};

  if (!n)
    return gi_gfid_root;
  g.b[14] = (uint8_t)(n >> 8);
  g.b[15] = (uint8_t)n;
  return g;
}

/* Thousands of levels take their time: once, and in memory. */
static bool
has_patience(void)
{
  return strcmp(brick_engine, "inline") == 0;
}

static struct posix_metrics *
metrics(struct brick *b)
{
  return &((struct posix *)b->s->x->private)->metrics;
}

static struct gi_fop *
make(struct brick *b, unsigned below, const char *name, const struct gi_gfid *gfid, int32_t pid)
{
  struct gi_gfid parent = level(below);
  struct gi_fop *f = brick_fop(b, GI_FOP_MKDIR);

  set_entry(f, &parent, name);
  f->args.mode = 0755;
  f->caller.pid = pid;
  f->xdata = gi_dict_new();
  gi_dict_set_gfid(f->xdata, "gfid-req", gfid);
  return brick_run(b, f);
}

static struct gi_fop *
move(struct brick *b, unsigned from, const char *name, unsigned to, const char *name2)
{
  struct gi_gfid p1 = level(from), p2 = level(to);

  return brick_rename(b, &p1, name, &p2, name2);
}

static void
deepen(struct brick *b, unsigned from, unsigned to, int32_t pid)
{
  for (unsigned i = from; i < to; i++) {
    struct gi_gfid g = level(i + 1);

    assert_ok(make(b, i, "d", &g, pid));
  }
}

/* From the bottom, as rm does: most of what is above is not open any more. */
static void
take_away(struct brick *b, unsigned from)
{
  for (unsigned i = from; i > 0; i--) {
    struct gi_gfid parent = level(i - 1);

    assert_ok(brick_rmdir(b, &parent, "d", 0));
  }
}

static void
clients_build_as_deep_as_a_path_may_be(void **state)
{
  (void)state;
  if (!has_patience())
    return;
  BRICK(b, NULL);
  struct gi_gfid more = level(60000), other = level(60001), sub = level(60002);

  deepen(b, 0, LIMIT, 1);
  assert_fails(make(b, LIMIT, "d", &more, 1), ENAMETOOLONG);
  brick_restart(b);
  assert_fails(make(b, LIMIT, "d", &more, 1), ENAMETOOLONG);
  assert_ok(make(b, LIMIT - 1, "e", &other, 1));
  assert_ok(make(b, LIMIT, "d", &more, HEALER));
  assert_ok(make(b, 0, "x", &sub, 1));
  assert_fails(move(b, 0, "x", LIMIT, "x"), ENAMETOOLONG);
  assert_ok(move(b, 0, "x", LIMIT - 1, "x"));
  assert_ok(move(b, LIMIT - 1, "x", LIMIT - 1, "y"));
  assert_ok(move(b, LIMIT - 1, "y", 1, "x"));

  struct gi_gfid parent = level(LIMIT), above = level(LIMIT - 1), top = level(1);

  assert_ok(brick_rmdir(b, &parent, "d", 0));
  assert_ok(brick_rmdir(b, &above, "e", 0));
  assert_ok(brick_rmdir(b, &top, "x", 0));
  take_away(b, LIMIT);
  brick_free(b);
}

/* What is below a directory that moves is as deep as its new place says, also where the brick knew better. */
static void
what_moves_takes_its_depth_along(void **state)
{
  (void)state;
  if (!has_patience())
    return;
  BRICK(b, NULL);
  struct gi_gfid g = level(60000), x = level(60001);

  deepen(b, 0, LIMIT, 1);
  assert_ok(move(b, 9, "d", 0, "z")); /* level 10 is level 1 now */
  assert_ok(make(b, LIMIT, "x", &x, 1));
  assert_ok(move(b, 0, "z", 9, "d"));
  assert_fails(make(b, LIMIT, "y", &g, 1), ENAMETOOLONG);
  assert_fails(make(b, LIMIT, "y", &g, 1), ENAMETOOLONG);

  struct gi_gfid parent = level(LIMIT);

  assert_ok(brick_rmdir(b, &parent, "x", 0));
  take_away(b, LIMIT);
  brick_free(b);
}

/* However deep: nothing above a bound is found by its gfid alone, but everything by going there. */
static void
going_down_a_tree_is_one_level_at_a_time(void **state)
{
  (void)state;
  BRICK(b, NULL);
  bool on_reactor = strcmp(b->engine, "pool") != 0;
  unsigned depth = has_patience() ? BEYOND : SOME;
  struct gi_gfid deepest = level(depth);

  deepen(b, 0, depth, HEALER);
  brick_restart(b);
  if (depth > 4096)
    assert_fails(brick_nameless(b, &deepest), ENAMETOOLONG);

  uint64_t pool = metrics(b)->runs_pool;

  for (unsigned i = 0; i < depth; i++) {
    struct gi_gfid parent = level(i);

    assert_ok(brick_lookup(b, &parent, "d"));
  }
  if (on_reactor)
    assert_int_equal(metrics(b)->runs_pool - pool, 0);
  take_away(b, depth);
  brick_free(b);
}

static void
a_long_way_is_gone_by_a_worker(void **state)
{
  (void)state;
  BRICK(b, NULL);
  struct gi_gfid far = level(SOME), near = level(5);
  struct gi_fop *f;
  struct gi_fd *fd;

  deepen(b, 0, SOME, 1);
  brick_restart(b);
  uint64_t before = metrics(b)->runs_pool;

  assert_ok(brick_nameless(b, &near));
  if (strcmp(b->engine, "pool") != 0)
    assert_int_equal(metrics(b)->runs_pool - before, 0);
  f = brick_nameless(b, &far);
  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, &far));
  if (strcmp(b->engine, "inline") != 0)
    assert_true(metrics(b)->runs_pool - before >= 1);
  before = metrics(b)->runs_pool;
  assert_ok(brick_nameless(b, &far));
  assert_ok(brick_opendir(b, &far, &fd));
  gi_fd_unref(&fd);
  if (strcmp(b->engine, "pool") != 0)
    assert_int_equal(metrics(b)->runs_pool - before, 0);

  struct gi_gfid middle = level(SOME / 2);

  f = brick_getxattr(b, &middle, "glusterfs.ancestry.path");
  assert_ok(f);
  const char *path;

  assert_true(gi_dict_get_str(f->rsp.dict, "glusterfs.ancestry.path", &path));
  assert_int_equal(strlen(path), SOME);
  take_away(b, SOME);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clients_build_as_deep_as_a_path_may_be),
      cmocka_unit_test(what_moves_takes_its_depth_along),
      cmocka_unit_test(going_down_a_tree_is_one_level_at_a_time),
      cmocka_unit_test(a_long_way_is_gone_by_a_worker),
  };

  return BRICK_RUN_ENGINES(tests);
}
