/* SPDX-License-Identifier: Apache-2.0
 *
 * Listings of cluster/distribute over three fake subvolumes: each name once, whoever shows it.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

#include <dirent.h>

static void
test_cookies(void **state)
{
  static const uint64_t small[] = {0, 1, 2, 77, 1ull << 40};

  for (unsigned n = 1; n <= DI_MAX; n++)
    for (unsigned leaf = 0; leaf < n; leaf++) {
      unsigned back;

      for (size_t i = 0; i < GI_ARRAY_LEN(small); i++) {
        assert_int_equal(di_cookie_decode(di_cookie_encode(small[i], leaf, n), n, &back), small[i]);
        assert_int_equal(back, leaf);
      }
      uint64_t large = 0x7123456789abcdefull, c = di_cookie_encode(large, leaf, n), got = di_cookie_decode(c, n, &back);

      assert_int_equal(back, leaf);
      assert_true(c < 1ull << 63 && got <= large && large - got < 2ull * DI_MAX);
    }
}

static void
say_entries(struct gi_fop *fop, void *arg)
{
  struct gi_dirent dot = {.off = 1, .type = DT_DIR, .name = "dir", .name_len = 3},
                   file = {.off = 2, .type = DT_REG, .name = arg, .name_len = 1},
                   link = {.off = 3, .type = DT_REG, .name = "link", .name_len = 4};

  if (fop->args.offset == 0) {
    attr_of(&dot.stat, 20, S_IFDIR | 0755);
    attr_of(&file.stat, *(const char *)arg, S_IFREG | 0644);
    attr_of(&link.stat, 21, S_IFREG | 01000);
    link.xdata = gi_dict_new();
    gi_dict_set_bin(link.xdata, KEY ".linkto", "child-0", 8);
    gi_dirents_add(&fop->rsp.entries, &dot, fop);
    gi_dirents_add(&fop->rsp.entries, &file, fop);
    gi_dirents_add(&fop->rsp.entries, &link, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
  fop->rsp.err = ENOENT;
}

/* Reads on from the last cookie until the end: the names; -errno in *err if it fails. */
static void
list_all(struct fake_stack *s, struct gi_fd *fd, char *names, int *err)
{
  uint64_t off = 0;

  *names = '\0';
  for (int i = 0; i < 20; i++) {
    struct gi_fop *f = fake_fop(s, GI_FOP_READDIRP);

    gi_fop_set_fd(f, fd);
    f->args.size = 4096;
    f->args.offset = off;
    fake_submit(s, f);
    *err = f->rsp.ret < 0 ? f->rsp.err : 0;
    for (uint32_t k = 0; k < f->rsp.entries.count; k++) {
      strcat(strcat(names, f->rsp.entries.entry[k].name), " ");
      off = f->rsp.entries.entry[k].off;
    }
    if (*err || f->rsp.err == ENOENT || f->rsp.entries.count == 0)
      return;
  }
  fail_msg("the listing does not end");
}

/* Each of three subvolumes has a file: a, b, c. */
static struct fake_stack *
stack_to_list(struct gi_fd **fd)
{
  static char names[3][2] = {"a", "b", "c"};
  struct fake_stack *s = stack_with_dir(3, 0);
  struct gi_fop *f = fake_fop(s, GI_FOP_OPENDIR);

  *fd = fake_fd(s, DIR_GFID);
  (*fd)->directory = true;
  gi_fop_set_fd(f, *fd);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  for (unsigned i = 0; i < 3; i++)
    fake_script_always(s, i, GI_FOP_READDIRP, (struct fake_reply){.fill = say_entries, .arg = names[i]});
  return s;
}

static void
test_listing(void **state)
{
  struct gi_fd *fd;
  struct fake_stack *s = stack_to_list(&fd);
  char got[256];
  int err;

  list_all(s, fd, got, &err);
  assert_int_equal(err, 0);
  assert_string_equal(got, "dir a b c "); /* the directory once, no linkto file */
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(fake_count(s, i, GI_FOP_READDIRP), 1);
  fake_stack_free(s);
}

/* As a replica set does while its copies are healed: without attributes, and from one that is no linkto file yet. */
static void
say_unvouched(struct gi_fop *fop, void *arg)
{
  struct gi_dirent file = {.off = 1, .type = DT_REG, .name = "file", .name_len = 4},
                   link = {.off = 2, .type = DT_REG, .name = "link", .name_len = 4};

  gi_dirents_add(&fop->rsp.entries, &file, fop);
  gi_dirents_add(&fop->rsp.entries, &link, fop);
  fop->rsp.ret = 2;
  fop->rsp.err = ENOENT;
}

static void
say_by_name(struct gi_fop *fop, void *arg)
{
  if (fop->loc.name && strcmp(fop->loc.name, "link") == 0)
    say_linkto(fop, "child-0");
  else
    say_file(fop, NULL);
}

static void
test_listing_of_a_linkto_file_in_heal(void **state)
{
  struct gi_fd *fd;
  struct fake_stack *s = stack_to_list(&fd);
  char got[256];
  int err;

  fake_script_clear(s);
  fake_script_always(s, 1, GI_FOP_READDIRP, (struct fake_reply){.fill = say_unvouched});
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_by_name});
  list_all(s, fd, got, &err);
  assert_int_equal(err, 0);
  assert_string_equal(got, "file ");
  fake_stack_free(s);
}

static void
ended(struct gi_fop *fop, void *arg)
{
  ++*(unsigned *)arg;
}

/* Of one who reads ahead, while the application asks for the same. */
static void
test_two_listings_of_a_descriptor_tell_all(void **state)
{
  struct gi_fd *fd;
  struct fake_stack *s = stack_to_list(&fd);
  struct gi_fop *f[2];
  unsigned over = 0;

  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.deferred = true, .fill = say_entries, .arg = "a"});
  for (unsigned i = 0; i < 2; i++) {
    f[i] = fake_fop(s, GI_FOP_READDIRP);
    gi_fop_set_fd(f[i], fd);
    f[i]->args.size = 4096;
    gi_fop_submit(f[i], s->x, ended, &over);
  }
  fake_settle(s);
  assert_int_equal(over, 2);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(f[i]->rsp.entries.count, 2);
    assert_string_equal(f[i]->rsp.entries.entry[0].name, "dir");
  }
  fake_stack_free(s);
}

static void
say_no_dir(struct gi_fop *fop, void *arg)
{
  struct gi_dirent file = {.off = 1, .type = DT_REG, .name = "a", .name_len = 1};

  if (fop->args.offset == 0) {
    attr_of(&file.stat, 'a', S_IFREG | 0644);
    gi_dirents_add(&fop->rsp.entries, &file, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
  fop->rsp.err = ENOENT;
}

/* The first subvolume has not had it when it was listed, by one who reads ahead too; a heal has made it there since. */
static void
test_listing_of_a_directory_that_is_healed(void **state)
{
  struct gi_fd *fd;
  struct fake_stack *s = stack_to_list(&fd);
  struct gi_fop *f[3];
  unsigned over = 0;

  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.deferred = true, .fill = say_no_dir});
  fake_script_always(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &parts[0]});
  fake_script_always(s, 1, GI_FOP_READDIRP, (struct fake_reply){.fill = say_entries, .arg = "b"});
  for (unsigned i = 0; i < 3; i++) {
    f[i] = fake_fop(s, GI_FOP_READDIRP);
    gi_fop_set_fd(f[i], fd);
    f[i]->args.size = 4096;
    if (i == 2) {
      fake_settle(s);
      f[i]->args.offset = f[0]->rsp.entries.entry[0].off;
    }
    gi_fop_submit(f[i], s->x, ended, &over);
  }
  fake_settle(s);
  assert_int_equal(over, 3);
  assert_int_equal(f[2]->rsp.entries.count, 2);
  assert_string_equal(f[2]->rsp.entries.entry[0].name, "dir");
  fake_stack_free(s);
}

static void
test_incomplete_listing_fails(void **state)
{
  struct gi_fd *fd;
  struct fake_stack *s = stack_to_list(&fd);
  char got[256];
  int err;

  fake_event(s, 1, GI_EVENT_CHILD_DOWN, NULL);
  list_all(s, fd, got, &err);
  assert_int_equal(err, ENOTCONN);
  assert_string_equal(got, "dir a ");

  /* Unless it was asked for. */
  assert_int_equal(fake_stack_children(s, "option partial-listing allow\n", (const unsigned[]){0, 1, 2}, 3, NULL), 0);
  list_all(s, fd, got, &err);
  assert_int_equal(err, 0);
  assert_string_equal(got, "dir a c ");
  fake_stack_free(s);
}

/* ---- a linkto file that lacks its attribute ---- */

/* The name is a file on the first subvolume; the second has what may be its linkto file, or has had that mode from its owner. */
static struct {
  bool vouched, elsewhere;
} bare;

static void
say_where(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name)
    say_dir(fop, arg);
  else if (arg == &parts[1])
    attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | GI_LINKTO_MODE);
  else if (arg == &parts[0] && bare.elsewhere)
    say_file(fop, NULL);
  else
    gi_fop_fail(fop, ENOENT);
}

static void
list_where(struct gi_fop *fop, void *arg)
{
  struct gi_dirent e = {.off = 1, .type = DT_REG, .name = "link", .name_len = 4};
  bool first = arg == &parts[0];

  fop->rsp.err = ENOENT;
  if (arg == &parts[2] || (first && !bare.elsewhere))
    return;
  if (first || bare.vouched)
    attr_of(&e.stat, FILE_GFID, S_IFREG | (first ? 0644 : GI_LINKTO_MODE));
  gi_dirents_add(&fop->rsp.entries, &e, fop);
  fop->rsp.ret = 1;
}

static void
test_listing_of_a_linkto_file_without_its_attribute(void **state)
{
  for (unsigned n = 0; n < 4; n++) {
    struct gi_fd *fd;
    struct fake_stack *s = stack_to_list(&fd);
    char got[256];
    int err;

    bare.vouched = n & 1;
    bare.elsewhere = n & 2;
    fake_script_clear(s);
    for (unsigned i = 0; i < 3; i++) {
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_where, .arg = &parts[i]});
      fake_script_always(s, i, GI_FOP_READDIRP, (struct fake_reply){.fill = list_where, .arg = &parts[i]});
    }
    list_all(s, fd, got, &err);
    assert_int_equal(err, 0);
    assert_string_equal(got, "link ");
    fake_stack_free(s);
  }
}

/* ---- gone since it was listed ---- */

static unsigned now_on; /* 3: nowhere */

static void
say_where_now(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name)
    say_dir(fop, arg);
  else if (arg == &parts[now_on])
    say_file(fop, NULL);
  else
    gi_fop_fail(fop, ENOENT);
}

static void
list_link(struct gi_fop *fop, void *arg)
{
  struct gi_dirent e = {.off = 1, .type = DT_REG, .name = "link", .name_len = 4};

  gi_dirents_add(&fop->rsp.entries, &e, fop);
  fop->rsp.ret = 1;
  fop->rsp.err = ENOENT;
}

/* The second subvolume has shown it. One that somebody is about to rename, by which a linkto file is replaced, is nobody's name; and one that a
 * rebalance has moved to where the listing has been is still told of. */
static void
test_listing_of_what_is_gone_by_now(void **state)
{
  for (now_on = 0; now_on < 4; now_on++) {
    struct gi_fd *fd;
    struct fake_stack *s = stack_to_list(&fd);
    char got[256];
    int err;

    fake_script_clear(s);
    for (unsigned i = 0; i < 3; i++)
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_where_now, .arg = &parts[i]});
    fake_script_always(s, 1, GI_FOP_READDIRP, (struct fake_reply){.fill = list_link});
    list_all(s, fd, got, &err);
    assert_int_equal(err, 0);
    assert_string_equal(got, now_on < 2 ? "link " : "");
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cookies),
      cmocka_unit_test(test_listing),
      cmocka_unit_test(test_listing_of_a_linkto_file_in_heal),
      cmocka_unit_test(test_two_listings_of_a_descriptor_tell_all),
      cmocka_unit_test(test_listing_of_a_directory_that_is_healed),
      cmocka_unit_test(test_incomplete_listing_fails),
      cmocka_unit_test(test_listing_of_a_linkto_file_without_its_attribute),
      cmocka_unit_test(test_listing_of_what_is_gone_by_now),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
