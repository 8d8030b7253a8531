/* SPDX-License-Identifier: Apache-2.0
 *
 * Subvolumes come and go while directories are listed and files are open.
 */
#include "xlators/cluster/distribute/listing-fixture.h"

static void
exchange(struct fake_stack *s, const unsigned *set, unsigned n)
{
  assert_int_equal(fake_stack_children(s, "option min-free-disk 0\noption min-free-inodes 0\n", set, n, NULL), 0);
  fake_settle(s);
  for (unsigned i = 0; i < n; i++)
    fake_event(s, set[i], GI_EVENT_CHILD_UP, NULL);
}

/* ---- listings ---- */

/* Reads on from a cookie until the end: what follows there, one name after the other. */
static void
read_on(struct fake_stack *s, struct gi_fd *fd, uint64_t off, char *names)
{
  struct gi_fop *f;

  *names = '\0';
  do {
    f = list_from(s, fd, off);
    for (uint32_t k = 0; k < f->rsp.entries.count; k++) {
      strcat(names, f->rsp.entries.entry[k].name);
      off = f->rsp.entries.entry[k].off;
    }
  } while (f->rsp.entries.count && f->rsp.err != ENOENT);
}

/* Subvolumes leave, but for these. */
struct stay {
  unsigned set[2], n;
};

static void
list_while_others_leave(const struct stay *stay, unsigned told)
{
  struct gi_fd *fd;
  struct fake_stack *s = stack_that_shows(&fd, (struct shows){"a"}, (struct shows){"b"}, (struct shows){"c"});
  static const char *const more[] = {"ax", "bx", "cx"};
  char got[64], wanted[64] = "";
  unsigned first = stay->set[0];
  uint64_t off = 0;

  for (unsigned i = 0; i <= told; i++) {
    struct gi_fop *f = list_from(s, fd, off);

    assert_int_equal(f->rsp.entries.entry[0].name[0], 'a' + (int)i);
    off = f->rsp.entries.entry[0].off;
  }
  exchange(s, stay->set, stay->n);
  shows[first].first = more[first]; /* x was on one that leaves */
  /* Where it is told: with the part of `first`, if that is to come yet; else when all are listed again. */
  for (unsigned i = 0; i < stay->n; i++) {
    if (stay->set[i] > told)
      strncat(wanted, &"abc"[stay->set[i]], 1);
    if (i == 0 && first > told)
      strcat(wanted, "x");
  }
  if (first <= told)
    strcat(wanted, "x");
  read_on(s, fd, off, got);
  assert_string_equal(got, wanted);
  fake_stack_free(s);
}

/* The reader goes on by cookies that it has. Files of who leaves have gone to others, those that were listed, too. */
static void
test_listing_while_subvolumes_leave(void **state)
{
  static const struct stay stay[] = {{{1, 2}, 2}, {{0, 2}, 2}, {{0, 1}, 2}, {{0}, 1}, {{1}, 1}, {{2}, 1}};

  (void)state;
  for (unsigned i = 0; i < GI_ARRAY_LEN(stay); i++)
    for (unsigned told = 0; told < 3; told++)
      list_while_others_leave(&stay[i], told);
}

/* There was one when the listing began. Of what it had shown the reader has taken `a` alone; then all moves to who comes. */
static void
test_listing_while_a_second_subvolume_comes(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", "option min-free-disk 0\noption min-free-inodes 0\n", 1);
  struct gi_fd *fd = open_dir(s);
  struct gi_fop *f;
  char got[64];
  uint64_t off;

  for (unsigned i = 0; i < 2; i++)
    parts[i] = (struct part){.n = i, .of = 2};
  shows[0] = (struct shows){"abc"};
  let_show(s, 1);
  f = list_from(s, fd, 0);
  assert_int_equal(f->rsp.entries.count, 3);
  off = f->rsp.entries.entry[0].off;
  exchange(s, (const unsigned[]){0, 1}, 2);
  shows[0] = (struct shows){"", .left = true};
  shows[1] = (struct shows){"abcd"};
  let_show(s, 2);
  read_on(s, fd, off, got);
  assert_string_equal(got, "bcd");
  read_on(s, fd, off, got); /* once more from there */
  assert_string_equal(got, "bcd");
  read_on(s, fd, 0, got);
  assert_string_equal(got, "abcd");
  fake_stack_free(s);
}

/* With one that has always been alone listings take no message more, nor ask for more. */
static void
see_no_keys(struct gi_fop *fop, void *arg)
{
  assert_null(fop->xdata);
  say_shown(fop, arg);
}

static void
test_listing_of_one_subvolume(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 1);
  struct gi_fd *fd = open_dir(s);
  char got[64];

  shows[0] = (struct shows){"ab"};
  for (unsigned round = 0; round < 2; round++) {
    fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = see_no_keys, .arg = &shows[0]});
    read_on(s, fd, 0, got);
    assert_string_equal(got, "ab");
  }
  assert_int_equal(s->nseen, 3); /* with OPENDIR */
  fake_stack_free(s);
}

/* One name at a time, which lie closer to each other than cookies tell; and each with that of its own place. */
static void
say_close(struct gi_fop *fop, void *arg)
{
  uint64_t first = 1ull << 61;

  (void)arg;
  for (uint64_t i = 1; i <= 3 && fop->rsp.entries.count == 0; i++)
    if (fop->args.offset < first + i)
      show(fop, &"?abc"[i], first + i);
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
}

static void
test_names_that_lie_close(void **state)
{
  for (unsigned n = 1; n <= 2; n++) {
    struct fake_stack *s = n == 1 ? fake_stack_new("cluster/distribute", NULL, 1) : stack_with_dir(2, 0);
    struct gi_fd *fd = open_dir(s);
    char got[64];

    fake_script_always(s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = say_close});
    read_on(s, fd, 0, got);
    assert_string_equal(got, "abc");
    fake_stack_free(s);
  }
}

/* ---- files ---- */

static struct gi_fop *
write_to(struct fake_stack *s, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_WRITE);

  gi_fop_set_fd(f, fd);
  f->args.size = 10;
  fake_submit(s, f);
  return f;
}

static struct gi_fd *
open_file(struct fake_stack *s, unsigned child)
{
  struct gi_fop *o = fake_fop(s, GI_FOP_OPEN);
  struct gi_fd *fd = fake_fd(s, FILE_GFID);

  gi_fop_set_fd(o, fd);
  fake_submit(s, o);
  assert_int_equal(o->rsp.ret, 0);
  assert_int_equal(fake_count(s, child, GI_FOP_OPEN), 1);
  return fd;
}

/* The file has moved to the one that stays. */
static void
write_when_it_is_on(struct fake_stack *s, struct gi_fd *fd, unsigned child)
{
  fake_script_always(s, child, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_script(s, child, GI_FOP_WRITE, (struct fake_reply){.ret = 10});
  assert_int_equal(write_to(s, fd)->rsp.ret, 10);
  assert_int_equal(fake_count(s, child, GI_FOP_OPEN), 1);
  assert_int_equal(fake_count(s, child, GI_FOP_WRITE), 1);
}

static void
test_file_is_open_while_its_subvolume_leaves(void **state)
{
  for (unsigned stays = 0; stays < 2; stays++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(!stays, 2));
    struct gi_fd *fd;

    fake_script(s, !stays, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
    fake_submit(s, f);
    fd = open_file(s, !stays);
    exchange(s, &stays, 1);
    write_when_it_is_on(s, fd, stays);
    fake_stack_free(s);
  }
}

/* Opened when there was one. Another one comes, the file moves there, and the first leaves, before anything is done to the file. */
static void
test_file_is_open_since_there_was_one(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", "option min-free-disk 0\noption min-free-inodes 0\n", 1);
  struct gi_fd *fd = open_file(s, 0);

  exchange(s, (const unsigned[]){0, 1}, 2);
  exchange(s, (const unsigned[]){1}, 1);
  write_when_it_is_on(s, fd, 1);
  fake_stack_free(s);
}

/* ---- names ---- */

static void
say_made(struct gi_fop *fop, void *arg)
{
  (void)arg;
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFDIR | 0755);
}

/* Nobody else is there to be asked for a name, or to get a directory. */
static void
test_names_when_one_subvolume_is_left(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, "name");

  exchange(s, (const unsigned[]){1}, 1);
  parts[1] = (struct part){.of = 1};
  fake_script_always(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_now, .arg = &parts[1]});
  shows[1] = (struct shows){""};
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOENT);
  f = entry_fop(s, GI_FOP_MKDIR, "name");
  fake_script(s, 1, GI_FOP_MKDIR, (struct fake_reply){.fill = say_made});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_MKDIR), 0);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listing_while_subvolumes_leave),
      cmocka_unit_test(test_listing_while_a_second_subvolume_comes),
      cmocka_unit_test(test_listing_of_one_subvolume),
      cmocka_unit_test(test_names_that_lie_close),
      cmocka_unit_test(test_file_is_open_while_its_subvolume_leaves),
      cmocka_unit_test(test_file_is_open_since_there_was_one),
      cmocka_unit_test(test_names_when_one_subvolume_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
