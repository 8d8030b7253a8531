/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk that fails to read a directory of the heal index: what cannot be read
 * is not empty, or a heal would find nothing to do and take the marks back.
 */
#include "tests/simulation/fault/lone-brick.h"

#include <endian.h>

#define CHANGES "glusterfs.xattrop_entry_changes_gfid"

static void
fail_reads(struct sim_lone *b, bool fail)
{
  sim_disk_set_fault(b->disk, SIM_FAULT_READ, fail ? 1000000 : 0);
}

/* A copy has missed a change of this name in the root. */
static void
missed(struct sim_lone *b, const char *name)
{
  struct gi_fop *f = gi_fop_new(b->graph, GI_FOP_XATTROP);
  uint32_t v[3] = {0, 0, htobe32(1)};

  f->loc.gfid = gi_gfid_root;
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "trusted.afr.v-client-1", v, sizeof(v));
  gi_dict_set_str(gi_fop_xdata(f), "glusterfs.xattrop-entry-create", name);
  assert_true(sim_lone_run(b, f) >= 0);
}

static struct gi_gfid
changes(struct sim_lone *b)
{
  struct gi_fop *f = gi_fop_ref(gi_fop_new(b->graph, GI_FOP_GETXATTR));
  struct gi_gfid gfid;

  f->loc.gfid = gi_gfid_root;
  f->args.name = CHANGES;
  assert_true(sim_lone_run(b, f) >= 0);
  assert_true(gi_dict_get_gfid(f->rsp.dict, CHANGES, &gfid));
  gi_fop_unref(f);
  return gfid;
}

static struct gi_gfid
changes_of_root(struct sim_lone *b)
{
  struct gi_fop *f = gi_fop_ref(gi_fop_new(b->graph, GI_FOP_LOOKUP));
  char text[GI_UUID_TEXT];
  struct gi_gfid gfid;

  f->loc.pargfid = changes(b);
  f->loc.name = gi_gfid_text(&gi_gfid_root, text);
  assert_true(sim_lone_run(b, f) >= 0);
  gfid = f->rsp.stat.gfid;
  gi_fop_unref(f);
  return gfid;
}

static int
list(struct sim_lone *b, struct gi_fd *fd)
{
  struct gi_fop *f = gi_fop_new(b->graph, GI_FOP_READDIR);

  gi_fop_set_fd(f, fd);
  f->args.size = 4096;
  return sim_lone_run(b, f);
}

static void
a_list_that_cannot_be_read_is_not_empty(void **state)
{
  struct gi_inode *inode;
  struct sim_lone b;
  struct gi_gfid gfid;
  struct gi_fop *f;
  struct gi_fd *fd;

  (void)state;
  sim_lone_setup(&b, 7);
  assert_true(sim_lone_boot(&b));
  missed(&b, "one");
  missed(&b, "two");
  gfid = changes_of_root(&b);
  inode = gi_inode_get(b.graph, &gfid);
  fd = gi_fd_new(b.graph, inode, 0, 1);
  fd->directory = true;
  f = gi_fop_new(b.graph, GI_FOP_OPENDIR);
  gi_fop_set_fd(f, fd);
  assert_true(sim_lone_run(&b, f) >= 0);
  assert_int_equal(list(&b, fd), 2);
  fail_reads(&b, true);
  assert_int_equal(list(&b, fd), -EIO);
  fail_reads(&b, false);
  assert_int_equal(list(&b, fd), 2);
  gi_fd_unref(&fd);
  gi_inode_unref(&inode);
  sim_lone_halt(&b);
  sim_disk_free(&b.disk);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_list_that_cannot_be_read_is_not_empty),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
