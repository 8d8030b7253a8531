/* SPDX-License-Identifier: Apache-2.0
 *
 * A listing of storage/posix says when a name last left the directory.
 */
#include "xlators/storage/posix/posix-fixture.h"

#include "libglusterish/extension.h"

/* For how long none has, as a listing of it says; UINT64_MAX: it does not say. */
static uint64_t
quiet(struct brick *b, struct gi_fd *dir, bool ask)
{
  struct gi_fop *f = brick_on_fd(b, GI_FOP_READDIRP, dir, 0, 131072);
  uint64_t ns = UINT64_MAX;

  if (ask)
    gi_dict_set_int(gi_fop_xdata(f), GI_LEFT_KEY, 1);
  assert_ok(brick_run(b, f));
  assert_int_equal(gi_dict_get_uint(f->rsp.xdata, GI_LEFT_KEY, &ns), ask);
  return ns;
}

#define WHILE (20 * GI_NSEC_PER_MSEC)

static void
rests(struct brick *b, struct gi_fd *dir)
{
  fake_wait(b->s, WHILE);
  assert_true(quiet(b, dir, true) >= WHILE);
}

static void
left_since(struct brick *b, struct gi_fd *dir, uint64_t begin)
{
  assert_true(quiet(b, dir, true) <= gi_now(b->s->x->reactor) - begin);
  rests(b, dir);
}

static void
listing_says_when_a_name_left(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d"), e = brick_dir(b, ROOT, "e");
  struct gi_fd *dir;
  uint64_t begin = gi_now(b->s->x->reactor);

  (void)state;
  for (char name[2] = "a"; name[0] < 'e'; name[0]++)
    brick_file(b, &d, name);
  brick_file(b, &e, "f");
  assert_ok(brick_opendir(b, &d, &dir));
  assert_int_equal(quiet(b, dir, false), UINT64_MAX);
  rests(b, dir); /* names that come are none that leave */
  begin = gi_now(b->s->x->reactor);
  assert_ok(brick_unlink(b, &d, "a"));
  left_since(b, dir, begin);
  begin = gi_now(b->s->x->reactor);
  assert_ok(brick_rename(b, &d, "b", &d, "x"));
  left_since(b, dir, begin);
  begin = gi_now(b->s->x->reactor);
  assert_ok(brick_rename(b, &d, "c", &e, "c"));
  left_since(b, dir, begin);
  assert_ok(brick_rename(b, &e, "f", &d, "d")); /* what that replaces has a name still */
  assert_ok(brick_unlink(b, &e, "c"));
  assert_true(quiet(b, dir, true) >= WHILE);
  gi_fd_unref(&dir);
  brick_free(b);
}

/* And has the attributes that were asked for. */
static void
opening_says_it_too(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d");
  struct gi_fd *dir;
  struct gi_fop *f;

  (void)state;
  assert_ok(brick_setxattr(b, &d, "trusted.mark", "x", 1, 0));
  assert_ok(brick_opendir(b, &d, &dir));
  f = brick_on_fd(b, GI_FOP_OPENDIR, dir, 0, 0);
  gi_loc_set_inode(&f->loc, dir->inode);
  gi_dict_set_int(gi_fop_xdata(f), GI_LEFT_KEY, 1);
  gi_dict_set_int(gi_fop_xdata(f), "trusted.mark", 0);
  assert_ok(brick_run(b, f));
  assert_non_null(gi_dict_get(f->rsp.xdata, GI_LEFT_KEY));
  assert_non_null(gi_dict_get(f->rsp.xdata, "trusted.mark"));
  gi_fd_unref(&dir);
  brick_free(b);
}

/* What is known of the directory does not outlive the process. */
static void
nobody_knows_what_left_before_the_start(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid d = brick_dir(b, ROOT, "d");
  struct gi_fd *dir;
  uint64_t begin = gi_now(b->s->x->reactor);

  (void)state;
  fake_wait(b->s, WHILE);
  brick_restart(b);
  assert_ok(brick_opendir(b, &d, &dir));
  assert_true(quiet(b, dir, true) < gi_now(b->s->x->reactor) - begin);
  gi_fd_unref(&dir);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(listing_says_when_a_name_left),
      cmocka_unit_test(nobody_knows_what_left_before_the_start),
      cmocka_unit_test(opening_says_it_too),
  };
  return BRICK_RUN_ENGINES(tests);
}
