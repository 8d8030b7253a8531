/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: ids that stay with their objects, and what the kernel asks for a
 * file handle.
 */
#include "xlators/mount/fuse/fuse-rig.h"

#include <stdio.h>

#define NODES 240

/* An id comes back with its object, however others come and go. */
static void
test_ids_stay(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id[NODES + 1];
  bool known[NODES + 1] = {false};
  uint32_t x = 1;

  for (unsigned round = 0; round < 3000; round++) {
    uint8_t n = (uint8_t)(1 + (x = x * 1664525 + 1013904223) % 65521 % NODES);
    struct answer a = {n, S_IFREG | 0644, 0, 0};

    if (known[n]) {
      assert_int_equal(getattr(r, id[n], &a), 0);
      forget(r, id[n], 1);
      assert_int_equal(getattr(r, id[n], NULL), ESTALE);
    } else {
      id[n] = lookup(r, "f", &a);
      assert_int_equal(id[n], n * 0x0101010101010101ull);
    }
    known[n] = !known[n];
  }
  rig_free(r);
}

static void
fill_gfid(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->caller.uid, 0);
  assert_true(gi_gfid_equal(&fop->loc.inode->gfid, &gi_gfid_root));
  assert_string_equal(fop->args.name, GI_GFID_KEY "aaaaaaaa-aaaa-aaaa");
  gi_dict_set_str(fop->rsp.dict = gi_dict_new(), fop->args.name, arg);
}

static int
dots(struct rig *r, uint64_t id, const char *name)
{
  fake_forget_seen(r->s);
  return reply(r, request_names(r, FUSE_LOOKUP, id, NULL, 0, name, NULL));
}

static void
test_forgotten_node_is_found(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  uint64_t generation = ((const struct fuse_entry_out *)body(r))->generation;
  const struct fuse_entry_out *e = body(r);

  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  assert_int_equal(dots(r, id, "."), 0); /* it is known */
  assert_int_equal(r->s->nseen, 1);
  forget(r, id, 2);
  fake_script(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = fill_gfid, .arg = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"});
  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  assert_int_equal(dots(r, id, "."), 0);
  assert_int_equal(e->nodeid, id);
  assert_int_equal(e->generation, generation);
  assert_int_equal(getattr(r, id, &file_a), 0);
  rig_free(r);
}

static void
test_unknown_handle_is_stale(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = 0xaaaaaaaaaaaaaaaaull;

  fake_script(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.ret = -1, .err = ENODATA});
  assert_int_equal(dots(r, id, "."), ESTALE);
  fake_script(r->s, 0, GI_FOP_GETXATTR,
              (struct fake_reply){.ret = -1, .err = EOPNOTSUPP}); /* as a brick of GlusterFS may say */
  assert_int_equal(dots(r, id, "."), ESTALE);
  fake_script(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  assert_int_equal(dots(r, id, "."), ENOTCONN);
  fake_script(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = fill_gfid, .arg = "nonsense"});
  assert_int_equal(dots(r, id, "."), ESTALE);
  fake_script(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = fill_gfid, .arg = "bbbbbbbb-aaaa-aaaa-aaaa-aaaaaaaaaaaa"});
  assert_int_equal(dots(r, id, "."), ESTALE);
  fake_script(r->s, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = fill_gfid, .arg = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"});
  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ESTALE}); /* removed in between */
  assert_int_equal(dots(r, id, "."), ESTALE);
  assert_int_equal(dots(r, id, ".."), ESTALE);
  rig_free(r);
}

static void
fill_dots(struct gi_fop *fop, void *arg)
{
  struct gi_dirent dot = {.off = 1, .type = 4, .name = ".", .name_len = 1, .stat = iatt_of(0xdd, S_IFDIR | 0755)};
  struct gi_dirent dotdot = {
      .off = 2, .type = 4, .name = "..", .name_len = 2, .stat = iatt_of(*(uint8_t *)arg, S_IFDIR | 0755)};

  gi_dirents_add(&fop->rsp.entries, &dot, fop);
  gi_dirents_add(&fop->rsp.entries, &dotdot, fop);
  fop->rsp.ret = 2;
}

static void
test_parent_is_found(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer dir = {0xdd, S_IFDIR | 0755, 0, 0}, up = {0xee, S_IFDIR | 0755, 0, 0};
  uint64_t id = lookup(r, "d", &dir);
  const struct fuse_entry_out *e = body(r);
  uint8_t n = 0xee;

  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_dots, .arg = &n});
  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_stat, .arg = &up});
  assert_int_equal(dots(r, id, ".."), 0);
  assert_int_equal(e->nodeid, 0xeeeeeeeeeeeeeeeeull);
  fake_script(r->s, 0, GI_FOP_OPENDIR, (struct fake_reply){.ret = -1, .err = ENOENT});
  assert_int_equal(dots(r, id, ".."), ESTALE);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ids_stay),
      cmocka_unit_test(test_forgotten_node_is_found),
      cmocka_unit_test(test_unknown_handle_is_stale),
      cmocka_unit_test(test_parent_is_found),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
