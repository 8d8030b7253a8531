/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: files of no known size, whose reads may wait.
 */
#include "xlators/mount/fuse/fuse-rig.h"

static void
make_stream(struct gi_fop *fop, void *arg)
{
  fop->fd->stream = true;
}

static const struct fuse_open_out *
opened(struct rig *r, uint64_t id)
{
  struct fuse_open_in in = {.flags = O_RDONLY};

  assert_int_equal(reply(r, request(r, FUSE_OPEN, id, &in, sizeof(in))), 0);
  return body(r);
}

static void
test_read_past_the_page_cache(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);

  assert_false(opened(r, id)->open_flags & FOPEN_DIRECT_IO);
  fake_script(r->s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = make_stream});
  assert_true(opened(r, id)->open_flags & FOPEN_DIRECT_IO);
  rig_free(r);
}

static void
test_a_read_that_waits_is_interrupted(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct fuse_read_in in = {.size = 4096};

  fake_script(r->s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = make_stream});
  in.fh = opened(r, id)->fh;
  fake_script(r->s, 0, GI_FOP_READ, (struct fake_reply){.hold = true});

  uint64_t unique = request(r, FUSE_READ, id, &in, sizeof(in));
  struct fuse_interrupt_in intr = {.unique = unique};

  assert_false(next_reply(r));
  request(r, FUSE_INTERRUPT, 0, &intr, sizeof(intr));
  assert_int_equal(reply(r, unique), EINTR);
  assert_int_equal(reply(r, request(r, FUSE_READ, id, &in, sizeof(in))), 0); /* the next one is not */
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_read_past_the_page_cache),
      cmocka_unit_test(test_a_read_that_waits_is_interrupted),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
