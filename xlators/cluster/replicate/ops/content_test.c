/* SPDX-License-Identifier: Apache-2.0
 *
 * The content of a small file that comes with an OPEN or a LOOKUP: one child is
 * asked, and it counts if its copy is good (replicate.md 4).
 */
#include "xlators/cluster/replicate/testing/model.h"

#include <fcntl.h>

/* ---- the content with an open ---- */

struct content_answer {
  unsigned asked;
  bool hold;
};

static void
open_with_content(struct gi_fop *fop, void *arg)
{
  struct content_answer *a = arg;

  if (!gi_dict_get(fop->xdata, GI_CONTENT_KEY))
    return;
  a->asked++;
  gi_dict_set_iatt(gi_fop_rsp_xdata(fop), GI_CONTENT_STAT_KEY, &(struct gi_iatt){.size = 3});
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), GI_CONTENT_KEY, "abc", 3);
}

static struct gi_fop *
open_for_content(struct rig *r, struct gi_fd *fd, struct content_answer a[BRICKS])
{
  struct gi_fop *f = rig_fd(r, GI_FOP_OPEN, fd);

  f->args.flags = O_RDWR;
  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, 100);
  gi_dict_set_int(f->xdata, "other", 1);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_first(r, i, GI_FOP_OPEN, open_with_content, &a[i]);
  rig_run(r, f);
  return f;
}

static void
one_child_is_asked_for_the_content(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct content_answer a[BRICKS] = {0};
  struct gi_fop *f = open_for_content(r, fd, a), *read;
  unsigned asked = 0, from = 0;

  rig_done(f, 0, 0);
  assert_non_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_KEY));
  for (unsigned i = 0; i < BRICKS; i++) {
    asked += a[i].asked;
    if (a[i].asked)
      from = i;
    assert_int_equal(fake_count(r->s, i, GI_FOP_OPEN), 1);
  }
  assert_int_equal(asked, 1);
  read = rig_fd(r, GI_FOP_READ, fd);
  read->args.size = 10;
  rig_run(r, read);
  assert_int_equal(fake_count(r->s, from, GI_FOP_READ), 1);
  rig_free(r);
}

/* It may be old by now. */
static void
content_of_a_set_that_changed_is_not_told(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct content_answer a[BRICKS] = {0};
  struct gi_fop *f = rig_fd(r, GI_FOP_OPEN, fd);

  for (unsigned i = 0; i < BRICKS; i++)
    rig_hold(r, i, GI_FOP_OPEN);
  f->args.flags = O_RDWR;
  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, 100);
  rig_run(r, f);
  for (unsigned i = 0; i < BRICKS; i++)
    open_with_content(rig_held(r, i, GI_FOP_OPEN), &a[i]);
  assert_int_equal(a[0].asked + a[1].asked + a[2].asked, 1);
  rig_down(r, a[0].asked ? 1 : 0);
  for (unsigned i = 0; i < BRICKS; i++)
    if (rig_held(r, i, GI_FOP_OPEN))
      rig_answer(r, i, GI_FOP_OPEN, 0);
  rig_done(f, 0, 0);
  assert_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_KEY));
  assert_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_STAT_KEY));
  rig_free(r);
}

/* ---- the content with a lookup ---- */

struct content_lookup {
  struct rig *r;
  unsigned child, asked;
};

static void
lookup_with_content(struct gi_fop *fop, void *arg)
{
  struct content_lookup *c = arg;

  brick_serve(fop, &c->r->brick[c->child]);
  if (!gi_dict_get(fop->xdata, GI_CONTENT_KEY))
    return;
  c->asked++;
  gi_dict_set_iatt(gi_fop_rsp_xdata(fop), GI_CONTENT_STAT_KEY, &(struct gi_iatt){.size = 3});
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), GI_CONTENT_KEY, "abc", 3);
}

static struct gi_fop *
look_for_content(struct rig *r, struct content_lookup c[BRICKS])
{
  struct gi_fop *f = rig_entry(r, GI_FOP_LOOKUP, 1, "f5", 0);

  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, 100);
  for (unsigned i = 0; i < BRICKS; i++) {
    c[i] = (struct content_lookup){r, i, 0};
    rig_first(r, i, GI_FOP_LOOKUP, lookup_with_content, &c[i]);
  }
  rig_run(r, f);
  rig_done(f, 0, 0);
  assert_int_equal(c[0].asked + c[1].asked + c[2].asked, 1);
  return f;
}

/* One child is asked; what it has counts if all answers together say that its copy is good. */
static void
content_comes_with_a_lookup_from_a_good_copy(void **state)
{
  struct rig *r = rig_new(NULL);
  struct content_lookup c[BRICKS];
  struct gi_fop *f;

  rig_object(r, 5, S_IFREG | 0644);
  f = look_for_content(r, c);
  assert_non_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_KEY));
  assert_non_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_STAT_KEY));
  for (unsigned slot = 0; slot < 2; slot++) {
    unsigned from = c[1].asked ? 1 : c[2].asked ? 2 : 0;

    rig_blame(r, (from + 1) % BRICKS, 5, from, slot);
    rig_blame(r, (from + 2) % BRICKS, 5, from, slot);
    f = look_for_content(r, c);
    assert_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_KEY));
    assert_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_STAT_KEY));
  }
  rig_free(r);
}

static void
an_arbiter_is_not_asked_for_content(void **state)
{
  struct rig *r = rig_new_arbiter(NULL);
  struct content_lookup c[BRICKS];

  rig_object(r, 5, S_IFREG | 0644);
  rig_set(r, "choose-local", "off");
  rig_set(r, "read-subvolume-index", "2");
  look_for_content(r, c);
  assert_int_equal(c[2].asked, 0);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_child_is_asked_for_the_content),
      cmocka_unit_test(content_of_a_set_that_changed_is_not_told),
      cmocka_unit_test(content_comes_with_a_lookup_from_a_good_copy),
      cmocka_unit_test(an_arbiter_is_not_asked_for_content),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
