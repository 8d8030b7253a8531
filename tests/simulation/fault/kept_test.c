/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that has lost its last name, is open, and gets a name again: the heal
 * index lists it, or its counters would accuse a copy for ever.
 */
#include "tests/simulation/fault/lone-brick.h"

#include <endian.h>

#define INDEX "glusterfs.xattrop_index_gfid"
#define COUNTER "trusted.afr.v-client-1"
#define LINKTO "trusted.glusterfs.dht.linkto"

static struct gi_fop *
name_fop(struct sim_lone *b, enum gi_fop_kind kind, const char *name)
{
  struct gi_fop *f = gi_fop_new(b->graph, kind);

  f->loc.pargfid = gi_gfid_root;
  f->loc.name = name;
  return f;
}

static struct gi_fd *
create(struct sim_lone *b, const char *name, const struct gi_gfid *gfid)
{
  struct gi_fop *f = name_fop(b, GI_FOP_CREATE, name);
  struct gi_fd *fd = gi_fd_new(b->graph, NULL, O_RDWR, 1);

  f->fd = gi_fd_ref(fd);
  f->args.flags = O_RDWR | O_CREAT | O_EXCL;
  f->args.mode = 0644;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", gfid);
  assert_true(sim_lone_run(b, f) >= 0);
  return fd;
}

/* A copy has missed a change of it. */
static void
missed(struct sim_lone *b, const struct gi_gfid *gfid)
{
  struct gi_fop *f = gi_fop_new(b->graph, GI_FOP_XATTROP);
  uint32_t v[3] = {htobe32(1), 0, 0};

  f->loc.gfid = *gfid;
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, COUNTER, v, sizeof(v));
  assert_true(sim_lone_run(b, f) >= 0);
}

static int
index_op(struct sim_lone *b, enum gi_fop_kind kind, const struct gi_gfid *gfid)
{
  struct gi_fop *f = gi_fop_ref(gi_fop_new(b->graph, GI_FOP_GETXATTR));
  char text[GI_UUID_TEXT];
  struct gi_gfid index;

  f->loc.gfid = gi_gfid_root;
  f->args.name = INDEX;
  assert_true(sim_lone_run(b, f) >= 0);
  assert_true(gi_dict_get_gfid(f->rsp.dict, INDEX, &index));
  gi_fop_unref(f);
  f = name_fop(b, kind, gi_gfid_text(gfid, text));
  f->loc.pargfid = index;
  return sim_lone_run(b, f);
}

static int
make(struct sim_lone *b, const char *name, const struct gi_gfid *gfid, bool linkto)
{
  struct gi_fop *f = name_fop(b, GI_FOP_MKNOD, name);

  f->args.mode = S_IFREG | (linkto ? 01000 : 0644);
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", gfid);
  gi_dict_set_int(gi_fop_xdata(f), "glusterfs-internal-fop", 1);
  if (linkto)
    gi_dict_set_str(gi_fop_xdata(f), LINKTO, "v-replicate-1");
  return sim_lone_run(b, f);
}

/* The brick dies before the `crash`-th call to the disk after that, 0: never. False: it was done before. */
static bool
comes_back(bool linkto, unsigned crash)
{
  struct sim_lone b;
  struct gi_gfid gfid;
  struct gi_fd *fd;
  bool died;

  sim_lone_setup(&b, 7);
  assert_true(sim_lone_boot(&b));
  gfid = gi_gfid_new(b.ctx.reactor);
  fd = create(&b, "f", &gfid);
  missed(&b, &gfid);
  assert_true(index_op(&b, GI_FOP_LOOKUP, &gfid) >= 0);
  assert_true(sim_lone_run(&b, name_fop(&b, GI_FOP_UNLINK, "f")) >= 0);
  assert_true(index_op(&b, GI_FOP_UNLINK, &gfid) >= 0); /* a healer that found nothing under the gfid */
  assert_int_equal(index_op(&b, GI_FOP_LOOKUP, &gfid), -ENOENT);
  sim_disk_stop_after(b.disk, crash, NULL, NULL);
  assert_true(make(&b, "g", &gfid, linkto) >= 0 || crash);
  died = sim_disk_stopped(b.disk);
  gi_fd_unref(&fd);
  sim_lone_halt(&b);
  sim_disk_resume(b.disk);
  assert_true(sim_lone_boot(&b));
  assert_true(sim_lone_at(&b, "/b/g") || died);
  if (sim_lone_at(&b, "/b/g"))
    assert_true(index_op(&b, GI_FOP_LOOKUP, &gfid) >= 0);
  sim_lone_halt(&b);
  sim_disk_free(&b.disk);
  return died;
}

static void
a_linkto_file_that_was_kept_is_listed(void **state)
{
  (void)state;
  comes_back(true, 0);
}

static void
what_a_heal_names_again_is_listed(void **state)
{
  (void)state;
  comes_back(false, 0);
}

static void
whenever_the_brick_dies(void **state)
{
  unsigned crash = 1;

  (void)state;
  while (comes_back(true, crash))
    crash++;
  assert_true(crash > 4);
}

static void
what_is_new_is_not(void **state)
{
  struct sim_lone b;
  struct gi_gfid gfid;

  (void)state;
  sim_lone_setup(&b, 7);
  assert_true(sim_lone_boot(&b));
  gfid = gi_gfid_new(b.ctx.reactor);
  assert_true(make(&b, "g", &gfid, true) >= 0);
  assert_int_equal(index_op(&b, GI_FOP_LOOKUP, &gfid), -ENOENT);
  sim_lone_halt(&b);
  sim_disk_free(&b.disk);
}

/* As on a volume without copies, where nobody would take the links away. */
static void
what_has_no_counters_is_not(void **state)
{
  struct sim_lone b;
  struct gi_gfid gfid;
  struct gi_fd *fd;

  (void)state;
  sim_lone_setup(&b, 7);
  assert_true(sim_lone_boot(&b));
  gfid = gi_gfid_new(b.ctx.reactor);
  fd = create(&b, "f", &gfid);
  assert_true(sim_lone_run(&b, name_fop(&b, GI_FOP_UNLINK, "f")) >= 0);
  assert_true(make(&b, "g", &gfid, true) >= 0);
  assert_int_equal(index_op(&b, GI_FOP_LOOKUP, &gfid), -ENOENT);
  gi_fd_unref(&fd);
  sim_lone_halt(&b);
  sim_disk_free(&b.disk);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_linkto_file_that_was_kept_is_listed),
      cmocka_unit_test(what_a_heal_names_again_is_listed),
      cmocka_unit_test(whenever_the_brick_dies),
      cmocka_unit_test(what_is_new_is_not),
      cmocka_unit_test(what_has_no_counters_is_not),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
