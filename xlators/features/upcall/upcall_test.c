/* SPDX-License-Identifier: Apache-2.0
 *
 * features/upcall over a scripted child: who is told what, and until when.
 */
#include "libglusterish/ask.h"
#include "xlators/features/upcall/upcall-fixture.h"

#include <errno.h>
#include <fcntl.h>

static void
expect_told(unsigned i, unsigned whom, uint8_t n, uint32_t flags)
{
  struct gi_gfid g = gfid(n);
  assert_true(i < ntold);
  assert_ptr_equal(told[i].client, &client[whom]);
  assert_memory_equal(&told[i].gfid, &g, sizeof(g));
  assert_int_equal(told[i].flags, flags);
  assert_int_equal(told[i].expire_s, 60);
}

static void
stats(struct fake_stack *s, unsigned who, uint8_t n)
{
  struct gi_fop *f = op(s, who, GI_FOP_STAT);
  gi_loc_clear(&f->loc);
  gi_loc_set_inode(&f->loc, fake_inode(s, n));
  fake_submit(s, f);
}

static void
care(struct fake_stack *s, const char *name)
{
  struct gi_fop *f = op(s, A, GI_FOP_IPC);
  f->args.what = 2;
  gi_dict_set_bin(gi_fop_xdata(f), name, "", 1);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_IPC), 0);
}

/* ---- kinds ---- */

static const struct {
  enum gi_fop_kind kind;
  uint32_t flags; /* to who knows the object; 0: there is none */
  uint8_t dir;    /* of which who knows only this is told */
} kinds[] = {
    {GI_FOP_WRITE, 0x18, 0},      {GI_FOP_TRUNCATE, 0x18, 0},  {GI_FOP_FTRUNCATE, 0x18, 0},    {GI_FOP_FALLOCATE, 0x18, 0},
    {GI_FOP_DISCARD, 0x18, 0},    {GI_FOP_ZEROFILL, 0x18, 0},  {GI_FOP_SETATTR, 0x45e, 0},     {GI_FOP_FSETATTR, 0x5e, 0},
    {GI_FOP_UNLINK, 0x211, DIR_}, {GI_FOP_RMDIR, 0x211, DIR_}, {GI_FOP_LINK, 0x211, DIR_},     {GI_FOP_CREATE, 0, DIR_},
    {GI_FOP_MKDIR, 0, DIR_},      {GI_FOP_MKNOD, 0, DIR_},     {GI_FOP_SYMLINK, 0, DIR_},      {GI_FOP_SETXATTR, 0x410, 0},
    {GI_FOP_XATTROP, 0x400, 0},   {GI_FOP_PUT, 0, DIR_},       {GI_FOP_REMOVEXATTR, 0x810, 0}, {GI_FOP_RENAME, 0x280, DIR_},
};

static void
test_every_change(void **state)
{
  for (unsigned i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct fake_stack *s = stack(NULL);
    unsigned n = 0;
    care(s, "*");
    does(s, A, GI_FOP_STAT); /* knows the object */
    stats(s, B, DIR_);       /* knows the directory */
    does(s, C, kinds[i].kind);
    if (kinds[i].flags)
      expect_told(n++, A, FILE_, kinds[i].flags);
    if (kinds[i].dir)
      expect_told(n++, B, kinds[i].dir, GI_UPCALL_TIMES);
    if (ntold != n)
      fail_msg("%s: told %u times instead of %u", gi_fop_name(kinds[i].kind), ntold, n);
    fake_stack_free(s);
  }
}

/* Of which no client need say that it cares. */
static void
test_the_size_of_a_file_in_blocks_is_told(void **state)
{
  struct fake_stack *s = stack(NULL);
  does(s, A, GI_FOP_STAT);
  struct gi_fop *f = op(s, B, GI_FOP_XATTROP);
  gi_dict_set_bin(f->args.dict, "trusted.glusterfs.shard.file-size", "\1", 1);
  run(s, f);
  expect_told(0, A, FILE_, GI_UPCALL_SIZE | GI_UPCALL_TIMES | GI_UPCALL_INVAL_ATTR);
  assert_int_equal(ntold, 1);
  fake_stack_free(s);
}

static void
test_attributes_go_along(void **state)
{
  struct fake_stack *s = stack(NULL);
  care(s, "user.*");
  does(s, A, GI_FOP_STAT);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(told[0].stat.size, FILE_);
  assert_false(gi_iatt_valid(&told[0].parent));
  does(s, B, GI_FOP_RENAME);
  struct gi_gfid dir = gfid(DIR_), dir2 = gfid(DIR2);
  assert_memory_equal(&told[1].parent.gfid, &dir2, 16);
  assert_memory_equal(&told[1].old_parent.gfid, &dir, 16);
  does(s, B, GI_FOP_SETXATTR);
  assert_string_equal(told_xattr[2], "user.x");
  fake_stack_free(s);
}

/* Clients of ours learn which names of a directory it was about. */
static void
test_names_go_along(void **state)
{
  struct fake_stack *s = stack(NULL);
  stats(s, A, DIR_);
  stats(s, C, DIR_); /* not one of ours */
  does(s, B, GI_FOP_CREATE);
  assert_int_equal(ntold, 2);
  for (unsigned i = 0; i < 2; i++)
    assert_string_equal(told_name[i], told[i].client == &client[A] ? "name" : "");
  does(s, A, GI_FOP_STAT);
  stats(s, C, DIR2);
  does(s, B, GI_FOP_RENAME);
  assert_int_equal(ntold, 5);
  expect_told(2, A, FILE_, GI_UPCALL_RENAME | GI_UPCALL_PARENT_TIMES);
  assert_string_equal(told_name[2], "name");
  assert_string_equal(told_name2[2], "name2");
  expect_told(3, C, DIR_, GI_UPCALL_TIMES);
  expect_told(4, C, DIR2, GI_UPCALL_TIMES); /* it knows both, and not what moved */
  assert_string_equal(told_name[3], "");
  does(s, B, GI_FOP_UNLINK);
  expect_told(5, A, FILE_, 0x211);
  assert_string_equal(told_name[5], "name");
  fake_stack_free(s);
}

/* Kinds that change nothing, and changes that were refused. */
static void
test_nothing_to_tell(void **state)
{
  static const enum gi_fop_kind none[] = {GI_FOP_STAT, GI_FOP_READ, GI_FOP_FSYNC, GI_FOP_FLUSH, GI_FOP_OPEN, GI_FOP_LOOKUP};
  struct fake_stack *s = stack(NULL);
  does(s, A, GI_FOP_STAT);
  for (unsigned i = 0; i < GI_ARRAY_LEN(none); i++)
    does(s, B, none[i]);
  struct gi_fop *f = op(s, B, GI_FOP_WRITE);
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = -1, .err = ENOSPC});
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOSPC);
  f = op(s, B, GI_FOP_SETXATTR); /* of the storage's own */
  gi_dict_unref(&f->args.dict);
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, "trusted.x", "v", 1);
  run(s, f);
  assert_int_equal(ntold, 0);
  does(s, B, GI_FOP_SETXATTR); /* nobody cares for the value, but its ctime moved */
  expect_told(0, A, FILE_, GI_UPCALL_TIMES);
  fake_stack_free(s);
}

static void
test_an_open_that_truncates(void **state)
{
  struct fake_stack *s = stack(NULL);
  does(s, A, GI_FOP_STAT);
  struct gi_fop *f = op(s, B, GI_FOP_OPEN);
  f->args.flags = O_WRONLY | O_TRUNC;
  run(s, f);
  assert_int_equal(ntold, 1);
  expect_told(0, A, FILE_, GI_UPCALL_SIZE | GI_UPCALL_TIMES | GI_UPCALL_INVAL_ATTR);
  fake_stack_free(s);
}

static void
fill_over(struct gi_fop *fop, void *arg)
{
  fill(fop, arg);
  fop->rsp.lost = gfid(LOST);
}

static void
test_what_was_renamed_over(void **state)
{
  struct fake_stack *s = stack(NULL);
  stats(s, A, LOST);
  does(s, A, GI_FOP_STAT);
  fake_script(s, 0, GI_FOP_RENAME, (struct fake_reply){.fill = fill_over});
  fake_submit(s, op(s, B, GI_FOP_RENAME));
  assert_int_equal(ntold, 2);
  expect_told(0, A, FILE_, GI_UPCALL_RENAME | GI_UPCALL_PARENT_TIMES);
  expect_told(1, A, LOST, GI_UPCALL_FORGET);
  fake_stack_free(s);
}

/* ---- who ---- */

static void
test_only_others_are_told(void **state)
{
  struct fake_stack *s = stack(NULL);
  does(s, A, GI_FOP_WRITE);
  assert_int_equal(ntold, 0);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 1);
  expect_told(0, A, FILE_, 0x18);
  does(s, C, GI_FOP_WRITE);
  assert_int_equal(ntold, 3);
  struct gi_fop *f = op(s, A, GI_FOP_WRITE);
  f->caller.client = NULL; /* the brick itself */
  run(s, f);
  assert_int_equal(ntold, 6);
  fake_stack_free(s);
}

static void
test_heals_are_not_seen(void **state)
{
  struct fake_stack *s = stack(NULL);
  struct up_metrics *m = s->x->metrics;
  struct gi_fop *f = op(s, B, GI_FOP_STAT);
  f->caller.pid = GI_PID_HEAL;
  run(s, f);
  assert_int_equal(m->registrations, 0);
  does(s, A, GI_FOP_STAT);
  f = op(s, B, GI_FOP_WRITE);
  f->caller.pid = GI_PID_HEAL;
  run(s, f);
  assert_int_equal(ntold, 0);
  f = op(s, B, GI_FOP_WRITE);
  f->caller.pid = GI_PID_REBALANCE; /* leads to another place */
  run(s, f);
  assert_int_equal(ntold, 1);
  assert_int_equal(m->registrations, 1);
  fake_stack_free(s);
}

/* A name that is not there is kept by clients of ours; a GlusterFS client looks at the directory itself for that. */
static void
test_a_name_that_is_not_there(void **state)
{
  struct fake_stack *s = stack(NULL);
  for (unsigned who = A; who <= C; who += C) {
    struct gi_fop *f = op(s, who, GI_FOP_LOOKUP);
    fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
    fake_submit(s, f);
  }
  does(s, B, GI_FOP_CREATE);
  assert_int_equal(ntold, 1);
  expect_told(0, A, DIR_, GI_UPCALL_TIMES);
  fake_stack_free(s);
}

static void
fill_entries(struct gi_fop *fop, void *arg)
{
  struct gi_dirent e = {.name = "name", .name_len = 4, .stat = attr(FILE_, S_IFREG | 0644)};
  gi_dirents_add(&fop->rsp.entries, &e, fop);
}

static void
test_entries_of_a_directory(void **state)
{
  struct fake_stack *s = stack(NULL);
  struct gi_fop *f = op(s, A, GI_FOP_READDIRP);
  fake_script(s, 0, GI_FOP_READDIRP, (struct fake_reply){.ret = 1, .fill = fill_entries});
  fake_submit(s, f);
  does(s, B, GI_FOP_WRITE);
  expect_told(0, A, FILE_, 0x18);
  fake_stack_free(s);
}

/* It was read before the change, and its answer comes after that was told. */
static void
test_a_change_while_a_name_is_looked_up(void **state)
{
  struct fake_stack *s = stack(NULL);
  const struct up_metrics *m = s->x->metrics;
  struct gi_fop *f = op(s, A, GI_FOP_LOOKUP);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.hold = true});
  fake_submit(s, f);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 0);
  f->rsp.stat = attr(FILE_, S_IFREG | 0644);
  assert_true(fake_release(s, 0, GI_FOP_LOOKUP, 0, 0));
  assert_true(f->answered);
  assert_int_equal(ntold, 1);
  expect_told(0, A, FILE_, GI_UPCALL_FORGET);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 2);

  f = op(s, A, GI_FOP_LOOKUP); /* its client goes meanwhile, and once more when it has ended */
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.hold = true});
  fake_submit(s, f);
  gi_notify(s->x, GI_EVENT_CLIENT_GONE, &client[A]);
  f->rsp.stat = attr(FILE_, S_IFREG | 0644);
  assert_true(fake_release(s, 0, GI_FOP_LOOKUP, 0, 0));
  gi_notify(s->x, GI_EVENT_CLIENT_GONE, &client[A]);
  assert_int_equal(m->clients, 1);
  fake_stack_free(s);
}

/* ---- until when ---- */

static void
test_time_ends_it(void **state)
{
  struct fake_stack *s = stack("option cache-invalidation-strict off\noption cache-invalidation-timeout 1\n");
  const struct up_metrics *m = s->x->metrics;
  does(s, A, GI_FOP_STAT);
  fake_wait(s, 1100 * GI_NSEC_PER_MSEC);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 0);
  fake_wait(s, 1600 * GI_NSEC_PER_MSEC);
  assert_int_equal(m->registrations, 0);
  assert_int_equal(m->files, 0);
  assert_int_equal(m->expired, 2);
  fake_stack_free(s);
}

struct watchers {
  unsigned n;
  char uids[16];
};

static void
note_watcher(struct gi_question *q, const struct gi_fact_user *f)
{
  struct watchers *w = q->arg;
  assert_true(f->told && f->told_ns > 0 && f->told_ns <= 60 * GI_NSEC_PER_SEC && w->n < 8);
  assert_int_equal(f->handles, 0);
  w->uids[w->n++] = f->client[0];
}

static void
test_observers_are_told_who_is_told(void **state)
{
  struct fake_stack *s = stack(NULL);
  struct gi_gfid file = gfid(FILE_), other = gfid(LOST);
  struct watchers w = {0};
  struct gi_question q = {.what = GI_ASK_USERS, .gfid = &file, .user = note_watcher, .arg = &w, .left = 8};
  does(s, A, GI_FOP_STAT);
  does(s, C, GI_FOP_STAT);
  gi_graph_ask(s->graph, &q);
  assert_string_equal(w.uids, "ca"); /* who used it last comes first */
  q.gfid = &other;
  gi_graph_ask(s->graph, &q);
  assert_int_equal(w.n, 2);
  fake_stack_free(s);
}

static void
test_a_client_that_goes(void **state)
{
  struct fake_stack *s = stack(NULL);
  const struct up_metrics *m = s->x->metrics;
  does(s, A, GI_FOP_STAT);
  does(s, B, GI_FOP_CREATE);
  gi_notify(s->x, GI_EVENT_CLIENT_GONE, &client[A]);
  assert_int_equal(s->below[GI_EVENT_CLIENT_GONE], 1);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 0);
  assert_int_equal(m->clients, 1);
  gi_notify(s->x, GI_EVENT_CLIENT_GONE, &client[B]);
  assert_int_equal(m->clients + m->files + m->registrations, 0);
  fake_stack_free(s);
}

/* Whoever loses a registration for want of room is told to forget. */
static void
test_want_of_room(void **state)
{
  struct fake_stack *s = stack(NULL);
  struct upcall *up = s->x->private;
  gi_lru_set_bounds(&up->lru, 100, 0);
  for (unsigned n = 0; n < 130; n++)
    stats(s, n % 2, (uint8_t)(n + 1));
  assert_int_equal(up->metrics.registrations, 100);
  assert_int_equal(up->metrics.evicted, 30);
  assert_int_equal(ntold, 30);
  expect_told(0, A, 1, GI_UPCALL_FORGET);
  expect_told(29, B, 30, GI_UPCALL_FORGET);
  for (unsigned n = 30; n < 130; n++)
    stats(s, n % 2, (uint8_t)(n + 1));
  assert_int_equal(up->metrics.registered, 130);
  fake_stack_free(s);
}

static void
test_more_attributes_than_anybody_needs(void **state)
{
  struct fake_stack *s = stack(NULL);
  struct gi_fop *f = op(s, A, GI_FOP_IPC);
  char name[32];
  f->args.what = 2;
  for (unsigned i = 0; i <= UP_CARE_MAX; i++) {
    snprintf(name, sizeof(name), "user.%u", i);
    gi_dict_set_bin(gi_fop_xdata(f), name, "", 1);
  }
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOSPC);
  f = op(s, A, GI_FOP_IPC);
  f->args.what = 0; /* another addressee */
  fake_script(s, 0, GI_FOP_IPC, (struct fake_reply){.ret = -1, .err = EOPNOTSUPP});
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, EOPNOTSUPP);
  fake_stack_free(s);
}

/* One message for each change and other client that knows the object, and no more. */
static void
test_what_it_costs(void **state)
{
  struct fake_stack *s = stack(NULL);
  const struct up_metrics *m = s->x->metrics;
  for (unsigned i = 0; i < 100; i++)
    does(s, A, GI_FOP_WRITE);
  assert_int_equal(m->told, 0);
  does(s, B, GI_FOP_STAT);
  does(s, C, GI_FOP_STAT);
  for (unsigned i = 0; i < 10; i++) {
    ntold = 0;
    does(s, A, GI_FOP_WRITE);
    does(s, A, GI_FOP_RENAME);
    does(s, A, GI_FOP_UNLINK);
  }
  assert_int_equal(m->told, 60);
  assert_int_equal(m->changes, 130);
  assert_int_equal(m->registrations, 5); /* the file three times, two directories of A */
  fake_stack_free(s);
}

/* ---- the rest ---- */

static void
test_switched_on_and_off(void **state)
{
  struct fake_stack *s = stack("option cache-invalidation off\noption cache-invalidation-strict off\n");
  const struct up_metrics *m = s->x->metrics;
  promised = 1;
  gi_notify(s->x, GI_EVENT_PARENT_UP, NULL);
  assert_int_equal(promised, 0);
  set(s, "cache-invalidation", "on");
  assert_int_equal(promised, 60);
  does(s, A, GI_FOP_STAT);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 1);
  set(s, "cache-invalidation-timeout", "600");
  assert_int_equal(promised, 600);
  assert_int_equal(m->registrations, 2);
  set(s, "cache-invalidation", "off");
  assert_int_equal(promised, 0);
  assert_int_equal(m->registrations + m->files + m->clients, 0);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 1);
  fake_stack_free(s);
}

static void
test_off_is_not_there(void **state)
{
  struct fake_stack *s = stack("option cache-invalidation off\n");
  assert_false(s->x->enabled);
  does(s, A, GI_FOP_STAT);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 0);
  assert_int_equal(((const struct up_metrics *)s->x->metrics)->registered, 0);
  fake_stack_free(s);
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = stack(NULL);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_size_of_a_file_in_blocks_is_told),
      cmocka_unit_test(test_every_change),
      cmocka_unit_test(test_attributes_go_along),
      cmocka_unit_test(test_names_go_along),
      cmocka_unit_test(test_nothing_to_tell),
      cmocka_unit_test(test_an_open_that_truncates),
      cmocka_unit_test(test_what_was_renamed_over),
      cmocka_unit_test(test_only_others_are_told),
      cmocka_unit_test(test_heals_are_not_seen),
      cmocka_unit_test(test_a_name_that_is_not_there),
      cmocka_unit_test(test_entries_of_a_directory),
      cmocka_unit_test(test_a_change_while_a_name_is_looked_up),
      cmocka_unit_test(test_time_ends_it),
      cmocka_unit_test(test_observers_are_told_who_is_told),
      cmocka_unit_test(test_a_client_that_goes),
      cmocka_unit_test(test_want_of_room),
      cmocka_unit_test(test_more_attributes_than_anybody_needs),
      cmocka_unit_test(test_off_is_not_there),
      cmocka_unit_test(test_switched_on_and_off),
      cmocka_unit_test(test_what_it_costs),
      cmocka_unit_test(test_transparent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
