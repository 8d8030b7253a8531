/* SPDX-License-Identifier: Apache-2.0
 *
 * What is written to bricks, byte for byte as GlusterFS writes it (distribute.md 3, 4): layouts, the mark of the subvolume that counts,
 * linkto files. And what GlusterFS has written at the root after a rebalance.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

static void
test_layouts(void **state)
{
  static const struct {
    const char *bytes;
    struct di_range range;
  } vectors[] = {
      {"\0\0\0\0\0\0\0\0\x7f\xff\xff\xfe\xbf\xff\xff\xfc", {0, 0, 0x7ffffffe, 0xbffffffc, 0}},
      {"\0\0\0\1\0\0\0\0\0\0\0\0\x3f\xff\xff\xfe", {1, 0, 0, 0x3ffffffe, 0}},
      {"\x58\x07\x4f\x41\0\0\0\0\0\0\0\0\x38\xe3\x8e\x37", {0x58074f41, 0, 0, 0x38e38e37, 0}},
      {"\x58\x07\x4f\x41\0\0\0\0\0\0\0\0\0\0\0\0", {0x58074f41, 0, 0, 0, 0}},
  };
  uint8_t bytes[DI_LAYOUT_BYTES];
  struct di_range r;

  for (size_t i = 0; i < GI_ARRAY_LEN(vectors); i++) {
    di_range_encode(&vectors[i].range, bytes);
    assert_memory_equal(bytes, vectors[i].bytes, sizeof(bytes));
    assert_true(di_range_decode(&r, vectors[i].bytes, sizeof(bytes)));
    assert_memory_equal(&r, &vectors[i].range, sizeof(r));
  }
}

/* ---- directories ---- */

static struct made {
  uint8_t layout[DI_LAYOUT_BYTES];
  bool counts;
} made[4];
static uint8_t made_gfid;

static void
say_known_dir(struct gi_fop *fop, void *arg)
{
  const struct gi_gfid *gfid = gi_fop_gfid(fop);

  if (gi_gfid_is_root(gfid)) {
    say_dir(fop, arg);
    fop->rsp.stat.gfid = gi_gfid_root;
    return;
  }
  attr_of(&fop->rsp.stat, gfid->b[0], S_IFDIR | 0755);
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY, made[(const struct part *)arg - parts].layout, DI_LAYOUT_BYTES);
}

static void
see_mkdir(struct gi_fop *fop, void *arg)
{
  struct made *m = arg;
  const void *bytes;
  uint32_t len;

  assert_true(gi_dict_get_bin(fop->xdata, KEY, &bytes, &len) && len == DI_LAYOUT_BYTES);
  memcpy(m->layout, bytes, len);
  m->counts = gi_dict_get_bin(fop->xdata, KEY ".mds", &bytes, &len);
  assert_true(!m->counts || (len == 4 && memcmp(bytes, "\0\0\0\0", 4) == 0));
  attr_of(&fop->rsp.stat, made_gfid, S_IFDIR | 0755);
}

/* Which subvolume has the first part, and then the next ones in the order of their names: of four without known sizes. */
static void
expect_layout(unsigned first)
{
  static const char *const ranges[] = {
      "\0\0\0\0\0\0\0\0\0\0\0\0\x3f\xff\xff\xfe", "\0\0\0\0\0\0\0\0\x3f\xff\xff\xff\x7f\xff\xff\xfd",
      "\0\0\0\0\0\0\0\0\x7f\xff\xff\xfe\xbf\xff\xff\xfc", "\0\0\0\0\0\0\0\0\xbf\xff\xff\xfd\xff\xff\xff\xff"};

  for (unsigned i = 0; i < 4; i++)
    assert_memory_equal(made[(first + i) % 4].layout, ranges[i], DI_LAYOUT_BYTES);
}

static void
make_dir(struct fake_stack *s, struct gi_inode *parent, const char *name, uint8_t gfid)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_MKDIR);
  struct gi_gfid g;

  memset(g.b, gfid, sizeof(g.b));
  made_gfid = gfid;
  gi_fop_set_entry(f, &f->loc, parent, name);
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
}

/* The hash of its path says with which subvolume its layout begins: /dv 63a969de, /dv/sub 3ddfe18d. */
static void
test_new_directories(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 4);
  struct gi_inode *root = gi_inode_get(s->graph, &gi_gfid_root);
  unsigned counts = 0;

  for (unsigned i = 0; i < 4; i++) {
    parts[i] = (struct part){.n = i, .of = 4};
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_known_dir, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_MKDIR, (struct fake_reply){.fill = see_mkdir, .arg = &made[i]});
  }
  make_dir(s, root, "dv", 40);
  expect_layout(2);
  for (unsigned i = 0; i < 4; i++)
    counts += made[i].counts;
  assert_int_equal(counts, 1);
  make_dir(s, fake_inode(s, 40), "sub", 41);
  expect_layout(1);
  gi_inode_unref(&root);
  fake_stack_free(s);
}

/* ---- linkto files ---- */

static struct gi_iatt linkto_owner;

static void
see_linkto(struct gi_fop *fop, void *arg)
{
  const void *bytes;
  uint32_t len;
  struct gi_gfid gfid;

  assert_int_equal(fop->args.mode, S_IFREG | 01000);
  assert_true(gi_dict_get_bin(fop->xdata, KEY ".linkto", &bytes, &len));
  assert_int_equal(len, sizeof("child-1"));
  assert_memory_equal(bytes, "child-1", len);
  assert_true(gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid));
  assert_int_equal(gfid.b[0], FILE_GFID);
  assert_int_equal(fop->caller.uid, 0);
}

static void
see_owner(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->args.valid, GI_SET_UID | GI_SET_GID);
  linkto_owner = fop->args.iatt;
}

static void
say_where_it_is(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name) {
    say_dir(fop, arg);
  } else if (arg == &parts[0]) {
    gi_fop_fail(fop, ENOENT);
  } else {
    say_file(fop, NULL);
    fop->rsp.stat.uid = 26;
    fop->rsp.stat.gid = 27;
  }
}

/* With the gfid of the file, and its owner. */
static void
test_linkto_files(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2));

  fake_script_always(s, 0, GI_FOP_MKNOD, (struct fake_reply){.fill = see_linkto});
  fake_script_always(s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = see_owner});
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_where_it_is, .arg = &parts[i]});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_MKNOD), 1);
  assert_int_equal(linkto_owner.uid, 26);
  assert_int_equal(linkto_owner.gid, 27);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_new_directories),
      cmocka_unit_test(test_linkto_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
