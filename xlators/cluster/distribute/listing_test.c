/* SPDX-License-Identifier: Apache-2.0
 *
 * Listings of cluster/distribute over three fake subvolumes: each name once, whoever shows it.
 */
#include "xlators/cluster/distribute/listing-fixture.h"

static void
test_cookies(void **state)
{
  static const uint64_t small[] = {0, 1, 2, 77, 1ull << 40};

  for (unsigned leaf = 0; leaf < DI_LEAFS; leaf++) {
    unsigned back;

    for (size_t i = 0; i < GI_ARRAY_LEN(small); i++) {
      assert_int_equal(di_cookie_decode(di_cookie_encode(small[i], leaf), &back), small[i]);
      assert_int_equal(back, leaf);
    }
    uint64_t large = 0x7123456789abcdefull, c = di_cookie_encode(large, leaf), got = di_cookie_decode(c, &back);

    assert_int_equal(back, leaf);
    assert_true(c < 1ull << 63 && got <= large && large - got < 2ull * DI_LEAFS);
  }
}

/* A directory, a file, and a linkto file of what the next one shows. */
static void
say_entries(struct gi_fop *fop, void *arg)
{
  static const char *const next[] = {"b", "c", "a"};
  struct gi_dirent dot = {.off = 1, .type = DT_DIR, .name = "dir", .name_len = 3},
                   file = {.off = 2, .type = DT_REG, .name = arg, .name_len = 1},
                   link = {.off = 3, .type = DT_REG, .name = next[*(const char *)arg - 'a'], .name_len = 1};

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
  say_quiet(fop);
}

/* One that reads ahead finds what follows a cookie by that cookie. */
static void
assert_new_cookie(const uint64_t *asked, int n, uint64_t cookie)
{
  for (int i = 0; i < n; i++)
    assert_true(asked[i] != cookie);
}

/* Reads on from the last cookie until the end: the names; -errno in *err if it fails. */
static void
list_all(struct fake_stack *s, struct gi_fd *fd, char *names, int *err)
{
  uint64_t off = 0, asked[20];

  *names = '\0';
  for (int i = 0; i < 20; i++) {
    struct gi_fop *f = fake_fop(s, GI_FOP_READDIRP);

    gi_fop_set_fd(f, fd);
    f->args.size = 4096;
    f->args.offset = asked[i] = off;
    fake_submit(s, f);
    *err = f->rsp.ret < 0 ? f->rsp.err : 0;
    for (uint32_t k = 0; k < f->rsp.entries.count; k++) {
      strcat(strcat(names, f->rsp.entries.entry[k].name), " ");
      off = f->rsp.entries.entry[k].off;
      assert_new_cookie(asked, i + 1, off);
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

  *fd = open_dir(s);
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
  say_quiet(fop);
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
  for (unsigned i = 0; i < 3; i += 2) /* it leads nowhere by now */
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
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
  fake_wait(s, 10 * GI_NSEC_PER_MSEC); /* they take turns */
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
  say_quiet(fop);
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
      fake_wait(s, 10 * GI_NSEC_PER_MSEC);
      f[i]->args.offset = f[0]->rsp.entries.entry[0].off;
    }
    gi_fop_submit(f[i], s->x, ended, &over);
  }
  fake_wait(s, 10 * GI_NSEC_PER_MSEC);
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

  say_quiet(fop);
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
  say_quiet(fop);
}

/* The second subvolume has shown it. One that somebody is about to rename, by which a linkto file is replaced, is nobody's name; and one that a
 * rebalance has moved is still told of. */
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
    fake_script_always(s, 1, GI_FOP_READDIR, (struct fake_reply){.fill = list_link});
    list_all(s, fd, got, &err);
    assert_int_equal(err, 0);
    assert_string_equal(got, now_on < 3 ? "link " : "");
    fake_stack_free(s);
  }
}

/* ---- files that move while the listing goes on ---- */

static void
assert_listing(struct shows a, struct shows b, struct shows c, const char *names, const unsigned listed[3])
{
  struct gi_fd *fd;
  struct fake_stack *s = stack_that_shows(&fd, a, b, c);
  char got[256];
  int err;

  list_all(s, fd, got, &err);
  assert_int_equal(err, 0);
  assert_string_equal(got, names);
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(fake_count(s, i, GI_FOP_READDIRP), 1);
    assert_int_equal(fake_count(s, i, GI_FOP_READDIR), listed[i] - 1); /* names alone */
  }
  fake_stack_free(s);
}

static void
test_file_that_goes_back(void **state)
{
  /* From the last one to the first, of which nothing was seen there; and a name has left, but nothing has come. */
  assert_listing((struct shows){"a", .again = "ax"}, (struct shows){"b"}, (struct shows){"c", .left = true}, "a b c x ",
                 (unsigned[]){2, 2, 1});
  assert_listing((struct shows){"a"}, (struct shows){"b", .left = true}, (struct shows){"c"}, "a b c ", (unsigned[]){2, 1, 1});
  /* What has left the first one is where the listing comes yet. */
  assert_listing((struct shows){"a", .left = true}, (struct shows){"b"}, (struct shows){"cx"}, "a b c x ",
                 (unsigned[]){1, 1, 1});
}

/* A subvolume of several copies lists one of which it knew that it is good. Another client has moved a file to the others meanwhile. */
static void
test_file_that_comes_to_the_good_copies(void **state)
{
  const struct shows a = {"a"}, b = {"b"}, c = {"c"};
  struct shows left = {"a", .left = true}, good = {"c", .renewed = "cx"};
  struct fake_stack *s;
  struct gi_fd *fd;
  char got[256];
  int err;

  (void)state;
  assert_listing(left, b, good, "a b c x ", (unsigned[]){1, 1, 1});
  left.first = "c";
  good = (struct shows){"a", .renewed = "ax"};
  assert_listing(good, b, left, "a b c x ", (unsigned[]){2, 2, 1});
  s = stack_that_shows(&fd, a, b, c);
  list_all(s, fd, got, &err);
  assert_string_equal(got, "a b c ");
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(fake_count(s, i, GI_FOP_LOOKUP), 0); /* each said so when it was opened */
  shows[1].renewed = "bx";
  list_all(s, fd, got, &err);
  assert_string_equal(got, "a b x c "); /* who begins anew is to see what is there now */
  fake_stack_free(s);
}

/* It was on the last one, went to the first when that was listed, and is back when the first is listed again. */
static void
test_file_that_moves_twice(void **state)
{
  for (uint32_t commit = 0; commit <= 7; commit += 7) {
    struct gi_fd *fd;
    struct fake_stack *s =
        stack_that_shows(&fd, (struct shows){"a"}, (struct shows){"b"}, (struct shows){"c", "cx", .left = true});
    char got[256];
    int err;

    for (unsigned i = 0; i < 3; i++)
      parts[i].commit = commit;
    list_all(s, fd, got, &err);
    assert_int_equal(err, 0);
    assert_string_equal(got, commit ? "a b c x " : "a b c "); /* nothing moves twice by one layout */
    assert_int_equal(fake_count(s, 2, GI_FOP_READDIR), commit ? 1 : 0);
    fake_stack_free(s);
  }
}

/* What follows is listed once more, and its cookies are to be none that were told before. */
static void
test_names_of_each_time_have_their_cookies(void **state)
{
  struct gi_fd *fd;
  struct fake_stack *s = stack_that_shows(&fd, (struct shows){"a"}, (struct shows){"b", .again = "bx"},
                                          (struct shows){"c", .again = "cy", .left = true});
  char got[256];
  int err;

  (void)state;
  for (unsigned i = 0; i < 3; i++)
    parts[i].commit = 7; /* a rebalance writes another layout */
  list_all(s, fd, got, &err);
  assert_int_equal(err, 0);
  assert_string_equal(got, "a b c x y ");
  fake_stack_free(s);
}

/* Bricks of GlusterFS. */
static void
test_bricks_that_do_not_say_what_left(void **state)
{
  const struct shows c = {"c", .silent = true};

  assert_listing((struct shows){"a", .silent = true}, (struct shows){"b", .again = "bx", .silent = true}, c, "a b c x ",
                 (unsigned[]){2, 2, 1});
}

/* The linkto file is there, whatever becomes of the file: a lookup finds that. */
static void
test_linkto_file_whose_file_is_not_met(void **state)
{
  file_on = 1;
  assert_listing((struct shows){"a"}, (struct shows){"b"}, (struct shows){"c>x"}, "a b c x ", (unsigned[]){2, 2, 2});
  assert_listing((struct shows){"a>x"}, (struct shows){"b"}, (struct shows){"c"}, "a b c x ", (unsigned[]){2, 1, 1});
  assert_listing((struct shows){"a>x"}, (struct shows){"bx"}, (struct shows){"c>a"}, "a b x c ", (unsigned[]){1, 1, 1});
  file_on = 3; /* it leads nowhere */
  assert_listing((struct shows){"a>x"}, (struct shows){"b"}, (struct shows){"c"}, "a b c ", (unsigned[]){2, 1, 1});
}

static void
test_file_that_goes_on_is_told_once(void **state)
{
  assert_listing((struct shows){"ax"}, (struct shows){"b"}, (struct shows){"cx"}, "a x b c ", (unsigned[]){1, 1, 1});
}

/* The reader had room for one name only. The other one, which it comes back for, has gone where the listing comes yet, or to where it was. */
static void
test_reader_that_comes_back(void **state)
{
  for (unsigned back = 0; back < 2; back++) {
    struct gi_fd *fd;
    struct fake_stack *s =
        stack_that_shows(&fd, (struct shows){"a", .again = back ? "ax" : "a"}, (struct shows){"bx", .again = "b", .left = true},
                         (struct shows){back ? "c" : "cx"});
    struct gi_fop *f = list_from(s, fd, 0);

    f = list_from(s, fd, f->rsp.entries.entry[0].off);
    assert_int_equal(f->rsp.entries.count, 2);
    f = list_from(s, fd, f->rsp.entries.entry[0].off);
    assert_string_equal(f->rsp.entries.entry[0].name, "c");
    assert_int_equal(f->rsp.entries.count, 2 - back);
    if (back)
      f = list_from(s, fd, f->rsp.entries.entry[0].off);
    assert_string_equal(f->rsp.entries.entry[!back].name, "x");
    fake_stack_free(s);
  }
}

/* A subvolume of two copies, which list the same names in two orders. A descriptor stays on one, from its beginning. */
static struct {
  const char *order[2], *order_of[2];
  unsigned reads_from;
  struct gi_fd *fd[2];
} copies;

static void
say_next(struct gi_fop *fop, void *arg)
{
  unsigned i = copies.fd[0] && copies.fd[0] != fop->fd;

  (void)arg;
  copies.fd[i] = fop->fd;
  if (fop->args.offset == 0)
    copies.order_of[i] = copies.order[copies.reads_from];
  if (fop->args.offset < strlen(copies.order_of[i]))
    show(fop, copies.order_of[i] + fop->args.offset, fop->args.offset + 1);
  say_quiet(fop);
  fop->rsp.err = fop->rsp.ret ? 0 : ENOENT;
}

/* One who has read ahead, until all was listed a second time. */
static void
test_reader_that_comes_back_to_the_first_time(void **state)
{
  struct gi_fd *fd;
  struct fake_stack *s = stack_that_shows(&fd, (struct shows){""}, (struct shows){"b"}, (struct shows){"c", .left = true});
  char got[256] = "";
  struct gi_fop *f;
  uint64_t first;

  (void)state;
  memset(&copies, 0, sizeof(copies));
  copies.order[0] = "pqr";
  copies.order[1] = "rpq";
  fake_script_clear(s);
  fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = say_next});
  fake_script_always(s, 0, GI_FOP_READDIR, (struct fake_reply){.fill = say_next});
  for (unsigned i = 0; i < 3; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_now, .arg = &parts[i]});
  for (unsigned i = 1; i < 3; i++) {
    fake_script_always(s, i, GI_FOP_READDIRP, (struct fake_reply){.fill = say_shown, .arg = &shows[i]});
    fake_script_always(s, i, GI_FOP_READDIR, (struct fake_reply){.fill = say_names, .arg = &shows[i]});
  }
  f = list_from(s, fd, 0);
  assert_string_equal(f->rsp.entries.entry[0].name, "p");
  first = f->rsp.entries.entry[0].off;
  copies.reads_from = 1;
  for (unsigned round = 0; round < 2; round++) {
    for (f = list_from(s, fd, first), *got = 0; f->rsp.entries.count && f->rsp.err != ENOENT;
         f = list_from(s, fd, f->rsp.entries.entry[f->rsp.entries.count - 1].off))
      for (uint32_t i = 0; i < f->rsp.entries.count; i++)
        strcat(got, f->rsp.entries.entry[i].name);
    assert_string_equal(got, "qrbc");
  }
  fake_stack_free(s);
}

static void
test_names_that_were_told(void **state)
{
  struct di_told t = {.seed = 7};
  char name[16];

  for (unsigned round = 0; round < 2; round++)
    for (unsigned i = 0; i < 100000; i++) {
      int len = snprintf(name, sizeof(name), "%u", i);

      assert_int_equal(di_told_name(&t, name, (uint32_t)len, round ? 127 : i % 100), i % 100);
    }
  assert_int_equal(t.n, 100000);
  assert_int_equal(t.untold, 0);
  assert_true(9ull * t.room <= 24ull * t.n);
  di_told_met(&t, "5", 1);
  di_told_met(&t, "x", 1);
  assert_int_equal(t.untold, 1);
  assert_true(di_told_has(&t, "5", 1) && !di_told_has(&t, "x", 1) && !di_told_has(&t, "y", 1));
  di_told_only(&t, 49);
  assert_int_equal(t.untold, 50001);
  assert_int_equal(di_told_name(&t, "99", 2, 70), 70);
  assert_int_equal(t.untold, 50000);
  di_told_free(&t);
}

/* What was read ahead is read again, from the middle of a reply that is not the last. */
static void
test_reader_that_has_read_ahead(void **state)
{
  struct gi_fd *fd;
  struct fake_stack *s =
      stack_that_shows(&fd, (struct shows){"ax", .again = "a"}, (struct shows){"b", .again = "bx"}, (struct shows){"c"});
  struct gi_fop *first = list_from(s, fd, 0), *f = list_from(s, fd, first->rsp.entries.entry[1].off);

  assert_string_equal(f->rsp.entries.entry[0].name, "b");
  f = list_from(s, fd, first->rsp.entries.entry[0].off);
  assert_int_equal(f->rsp.entries.count, 2);
  assert_string_equal(f->rsp.entries.entry[0].name, "b");
  assert_string_equal(f->rsp.entries.entry[1].name, "x");
  fake_stack_free(s);
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
      cmocka_unit_test(test_file_that_goes_back),
      cmocka_unit_test(test_file_that_moves_twice),
      cmocka_unit_test(test_names_of_each_time_have_their_cookies),
      cmocka_unit_test(test_file_that_comes_to_the_good_copies),
      cmocka_unit_test(test_bricks_that_do_not_say_what_left),
      cmocka_unit_test(test_linkto_file_whose_file_is_not_met),
      cmocka_unit_test(test_file_that_goes_on_is_told_once),
      cmocka_unit_test(test_reader_that_comes_back),
      cmocka_unit_test(test_reader_that_has_read_ahead),
      cmocka_unit_test(test_reader_that_comes_back_to_the_first_time),
      cmocka_unit_test(test_names_that_were_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
