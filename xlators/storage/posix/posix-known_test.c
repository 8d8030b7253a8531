/* SPDX-License-Identifier: Apache-2.0
 *
 * storage/posix: what it knows of numbers and attributes by name without asking
 * is what the disk has, whoever has changed it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "xlators/storage/posix/posix-fixture.h"
#include "xlators/storage/posix/posix.h"

#include "libglusterish/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DIRTY "trusted.afr.dirty"
#define PENDING "trusted.afr.v-client-1"

static const uint8_t zero[12] = {0}, one[12] = {0, 0, 0, 1}, two[12] = {0, 0, 0, 2}, less[12] = {0xff, 0xff, 0xff, 0xff};

/* ---- how often it was known ---- */

struct sought {
  const char *name;
  uint64_t hits;
};

static void
count(const struct gi_probe *m, void *arg)
{
  struct sought *s = arg;

  if (strcmp(m->name, s->name) == 0)
    s->hits += m->hits;
}

static uint64_t
hits(const char *name)
{
  struct sought s = {.name = name};

  gi_probes_foreach(count, &s);
  return s.hits;
}

#define BY_NUMBER "posix: an object is known by its number"
#define BY_NAME "posix: an attribute is known from the last change"

/* Workers ask the disk. */
static bool
on_reactor(const struct brick *b)
{
  return strcmp(b->engine, "pool") != 0;
}

/* ---- requests ---- */

static void
ask(struct gi_fop *f)
{
  static const char *const names[] = {DIRTY, PENDING, "security.capability", "security.ima", "user.a"};

  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++)
    gi_dict_set_int(gi_fop_xdata(f), names[i], 0);
}

static struct gi_fop *
look(struct brick *b, const char *name)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_LOOKUP);

  set_entry(f, ROOT, name);
  ask(f);
  return brick_run(b, f);
}

/* NULL: it is not told of. */
static void
assert_answer(const struct gi_fop *f, const char *name, const void *want, uint32_t len)
{
  const void *have;
  uint32_t n;
  bool there = gi_dict_get_bin(f->rsp.xdata, name, &have, &n);

  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(there, want != NULL);
  if (want) {
    assert_int_equal(n, len);
    assert_memory_equal(have, want, len);
  }
}

static void
assert_found(struct brick *b, const char *name, const struct gi_gfid *gfid, const uint8_t *dirty, const uint8_t *pending)
{
  struct gi_fop *f = look(b, name);

  assert_ok(f);
  assert_true(gi_gfid_equal(&f->rsp.stat.gfid, gfid));
  assert_answer(f, DIRTY, dirty, 12);
  assert_answer(f, PENDING, pending, 12);
}

static void
add(struct brick *b, const struct gi_gfid *gfid, const char *name, const uint8_t n[12])
{
  assert_ok(brick_xattrop(b, gfid, GI_XATTROP_ADD32, name, n, 12));
}

static void
add_open(struct brick *b, struct gi_fd *fd, const char *name, const uint8_t n[12])
{
  struct gi_fop *f = brick_fop(b, GI_FOP_FXATTROP);

  set_fd(f, fd);
  f->args.flags = GI_XATTROP_ADD32;
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, name, n, 12);
  assert_ok(brick_run(b, f));
}

/* The kernel's clock stamps in ticks of some milliseconds: what comes within one looks like what was before it. */
static void
wait_a_tick(void)
{
  usleep(20000);
}

/* ---- attributes by name ---- */

static void
lookups_tell_what_requests_have_made_of_attributes(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  struct gi_fop *f;
  struct gi_fd *fd;
  uint64_t before;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  assert_found(b, "f", &g, NULL, NULL);
  before = hits(BY_NAME);
  assert_found(b, "f", &g, NULL, NULL);
  if (on_reactor(b))
    assert_true(hits(BY_NAME) > before);
  add(b, &g, DIRTY, one);
  assert_found(b, "f", &g, one, NULL);
  add_open(b, fd, DIRTY, one);
  add_open(b, fd, PENDING, zero);
  assert_found(b, "f", &g, two, NULL); /* a zero add makes none */
  assert_ok(brick_setxattr(b, &g, PENDING, two, 12, 0));
  assert_found(b, "f", &g, two, two);
  assert_ok(brick_setxattr(b, &g, "user.a", "text", 4, 0));
  assert_answer(look(b, "f"), "user.a", "text", 4);
  assert_answer(look(b, "f"), "user.a", "text", 4);
  f = brick_fop(b, GI_FOP_REMOVEXATTR);
  set_object(f, &g);
  f->args.name = DIRTY;
  assert_ok(brick_run(b, f));
  assert_found(b, "f", &g, NULL, two);
  assert_ok(brick_write(b, fd, 0, "abc", 3)); /* moves the times, and nothing else */
  assert_found(b, "f", &g, NULL, two);
  assert_ok(brick_rename(b, ROOT, "f", ROOT, "g"));
  assert_found(b, "g", &g, NULL, two);
  gi_fd_unref(&fd);
  brick_free(b);
}

static void
changes_of_others_show(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  char path[PATH_MAX];

  (void)state;
  brick_path(b, path, "f");
  add(b, &g, DIRTY, one);
  assert_found(b, "f", &g, one, NULL);
  wait_a_tick();
  assert_int_equal(setxattr(path, DIRTY, two, 12, 0), 0);
  assert_int_equal(setxattr(path, PENDING, one, 12, 0), 0);
  assert_found(b, "f", &g, two, one);
  add(b, &g, DIRTY, one);
  assert_found(b, "f", &g, (const uint8_t[12]){0, 0, 0, 3}, one);
  wait_a_tick();
  assert_int_equal(removexattr(path, PENDING), 0);
  add(b, &g, PENDING, two);
  assert_found(b, "f", &g, (const uint8_t[12]){0, 0, 0, 3}, two);
  brick_free(b);
}

/* What we change after somebody else hides him from a look, but not for long. */
static void
changes_before_our_own_show_after_a_second(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  char path[PATH_MAX];

  (void)state;
  brick_path(b, path, "f");
  add(b, &g, DIRTY, one);
  assert_found(b, "f", &g, one, NULL);
  assert_int_equal(setxattr(path, DIRTY, two, 12, 0), 0);
  assert_ok(brick_setxattr(b, &g, "user.a", "text", 4, 0));
  usleep(1100000);
  assert_found(b, "f", &g, two, NULL);
  brick_free(b);
}

/* As a client writes a small file: nobody has to ask for it again. */
static void
what_is_left_after_writing_is_known(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  struct gi_fd *fd;
  uint64_t by_number, by_name;
  char path[PATH_MAX];

  (void)state;
  brick_path(b, path, "f");
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  add_open(b, fd, DIRTY, one);
  assert_ok(brick_write(b, fd, 0, "abc", 3));
  add_open(b, fd, DIRTY, less);
  gi_fd_unref(&fd);
  usleep(1100000);
  by_number = hits(BY_NUMBER);
  by_name = hits(BY_NAME);
  assert_found(b, "f", &g, zero, NULL);
  if (on_reactor(b)) {
    assert_true(hits(BY_NUMBER) > by_number);
    assert_true(hits(BY_NAME) >= by_name + 3);
  }
  wait_a_tick();
  assert_int_equal(setxattr(path, DIRTY, two, 12, 0), 0);
  assert_int_equal(setxattr(path, PENDING, one, 12, 0), 0);
  assert_found(b, "f", &g, two, one);
  brick_free(b);
}

/* A counter that changes is kept where it was, and what a new file is known not to have is not listed. */
static void
counters_that_come_and_go_take_one_place(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  const struct posix_known *k;
  struct gi_fd *fd;
  uint32_t before;

  (void)state;
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  k = &((const struct posix_inode *)gi_inode_private(fd->inode, b->s->x))->known;
  before = k->used;
  for (unsigned i = 0; i < 3; i++) {
    add_open(b, fd, DIRTY, one);
    add_open(b, fd, PENDING, zero);
    add_open(b, fd, DIRTY, less);
    if (on_reactor(b))
      assert_int_equal(k->used, before + sizeof(DIRTY) + 1 + sizeof(one));
  }
  gi_fd_unref(&fd);
  assert_found(b, "f", &g, zero, NULL);
  brick_free(b);
}

/* Most changes begin with a look, so what is known outlives them, however late they come. */
static void
what_is_looked_at_before_a_change_stays_known(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  struct gi_fop *f = brick_fop(b, GI_FOP_SETATTR);
  uint64_t before;

  (void)state;
  assert_found(b, "f", &g, NULL, NULL);
  usleep(1100000);
  set_object(f, &g);
  f->args.valid = GI_SET_MODE;
  f->args.iatt.mode = 0600;
  assert_ok(brick_run(b, f));
  before = hits(BY_NUMBER);
  assert_found(b, "f", &g, NULL, NULL);
  if (on_reactor(b))
    assert_true(hits(BY_NUMBER) > before);
  usleep(1100000);
  assert_ok(brick_rename(b, ROOT, "f", ROOT, "g"));
  before = hits(BY_NUMBER);
  assert_found(b, "g", &g, NULL, NULL);
  if (on_reactor(b))
    assert_true(hits(BY_NUMBER) > before);
  brick_free(b);
}

/* A change of ours that comes later than that does not hide what somebody has done before it. */
static void
what_was_looked_at_long_ago_is_asked_for_again(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_gfid(b);
  struct gi_fd *fd;
  char path[PATH_MAX];

  (void)state;
  brick_path(b, path, "f");
  assert_ok(brick_create(b, ROOT, "f", &g, &fd));
  assert_found(b, "f", &g, NULL, NULL);
  assert_int_equal(setxattr(path, PENDING, one, 12, 0), 0);
  usleep(1100000);
  add_open(b, fd, DIRTY, one);
  assert_found(b, "f", &g, one, one);
  assert_int_equal(setxattr(path, PENDING, two, 12, 0), 0);
  assert_int_equal(removexattr(path, "trusted.gfid"), 0);
  usleep(1100000);
  assert_ok(brick_write(b, fd, 0, "abc", 3));
  assert_fails(look(b, "f"), ENODATA);
  assert_int_equal(setxattr(path, "trusted.gfid", g.b, 16, 0), 0);
  assert_found(b, "f", &g, one, two);
  gi_fd_unref(&fd);
  brick_free(b);
}

/* A list has many names, and values that are long. */
static void
what_is_too_much_is_asked_for(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid g = brick_file(b, ROOT, "f");
  uint8_t value[200];
  char name[64];

  (void)state;
  memset(value, 7, sizeof(value));
  assert_ok(brick_setxattr(b, &g, "trusted.long", value, sizeof(value), 0));
  for (int i = 0; i < 20; i++) {
    snprintf(name, sizeof(name), "trusted.with-a-long-name-of-some-more-bytes-%d", i);
    assert_ok(brick_setxattr(b, &g, name, "x", 1, 0));
  }
  add(b, &g, DIRTY, one);
  for (int i = 0; i < 3; i++) {
    struct gi_fop *f = brick_fop(b, GI_FOP_LOOKUP);

    set_entry(f, ROOT, "f");
    ask(f);
    gi_dict_set_int(gi_fop_xdata(f), "trusted.long", 0);
    gi_dict_set_int(gi_fop_xdata(f), name, 0);
    assert_ok(brick_run(b, f));
    assert_answer(f, DIRTY, one, 12);
    assert_answer(f, PENDING, NULL, 0);
    assert_answer(f, "trusted.long", value, sizeof(value));
    assert_answer(f, name, "x", 1);
  }
  brick_free(b);
}

/* ---- numbers ---- */

/* File systems give a number that became free to the next object. */
static void
a_number_is_not_that_of_who_had_it_before(void **state)
{
  brick_on_disk = true;
  BRICK(b, NULL);
  brick_on_disk = false;

  (void)state;
  for (int i = 0; i < 60; i++) {
    struct gi_gfid g = brick_gfid(b);
    struct gi_fd *fd = NULL;

    if (i % 3 == 0)
      assert_ok(brick_mkdir(b, ROOT, "x", &g));
    else if (i % 3 == 1)
      assert_ok(brick_create(b, ROOT, "x", &g, &fd));
    else
      assert_ok(brick_mknod(b, ROOT, "x", S_IFREG | 0644, &g));
    assert_found(b, "x", &g, NULL, NULL);
    if (i % 3) {
      add(b, &g, DIRTY, one);
      assert_found(b, "x", &g, one, NULL);
    }
    if (i % 3)
      assert_ok(brick_unlink(b, ROOT, "x"));
    else
      assert_ok(brick_rmdir(b, ROOT, "x", 0));
    gi_fd_unref(&fd);
  }
  brick_free(b);
}

static void
names_are_found_by_number(void **state)
{
  BRICK(b, NULL);
  struct gi_gfid f = brick_file(b, ROOT, "f"), g = brick_file(b, ROOT, "g"), d = brick_dir(b, ROOT, "d");
  char one_path[PATH_MAX], other[PATH_MAX], aside[PATH_MAX];
  uint64_t before;

  (void)state;
  assert_found(b, "f", &f, NULL, NULL);
  assert_found(b, "g", &g, NULL, NULL);
  before = hits(BY_NUMBER);
  assert_found(b, "f", &f, NULL, NULL);
  assert_found(b, "d", &d, NULL, NULL);
  if (on_reactor(b))
    assert_true(hits(BY_NUMBER) > before);
  brick_path(b, one_path, "f");
  brick_path(b, other, "g");
  brick_path(b, aside, "aside");
  assert_int_equal(rename(one_path, aside), 0); /* behind the brick's back */
  assert_int_equal(rename(other, one_path), 0);
  assert_int_equal(rename(aside, other), 0);
  assert_found(b, "f", &g, NULL, NULL);
  assert_found(b, "g", &f, NULL, NULL);
  assert_ok(brick_rename(b, ROOT, "f", ROOT, "g"));
  assert_found(b, "g", &g, NULL, NULL);
  assert_fails(look(b, "f"), ENOENT);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lookups_tell_what_requests_have_made_of_attributes),
      cmocka_unit_test(changes_of_others_show),
      cmocka_unit_test(changes_before_our_own_show_after_a_second),
      cmocka_unit_test(what_is_too_much_is_asked_for),
      cmocka_unit_test(what_is_left_after_writing_is_known),
      cmocka_unit_test(counters_that_come_and_go_take_one_place),
      cmocka_unit_test(what_is_looked_at_before_a_change_stays_known),
      cmocka_unit_test(what_was_looked_at_long_ago_is_asked_for_again),
      cmocka_unit_test(a_number_is_not_that_of_who_had_it_before),
      cmocka_unit_test(names_are_found_by_number),
  };

  return BRICK_RUN_ENGINES(tests);
}
