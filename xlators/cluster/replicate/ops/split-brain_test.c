/* SPDX-License-Identifier: Apache-2.0
 *
 * The attributes by which tools and users deal with objects that need a heal or
 * are in split brain, and the heals that a client starts by itself.
 */
#include "xlators/cluster/replicate/testing/model.h"
#include "xlators/cluster/replicate/heal/heal.h"

extern const struct gi_xlator_class gi_xlator_export;

static struct brick_object *
object(struct rig *r, unsigned child)
{
  return brick_object(&r->brick[child], 5);
}

static struct rig *
rig_with(const char *options)
{
  struct rig *r = rig_new(options);

  rig_object(r, 5, S_IFREG | 0644);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_data(r, i, 5, "same", 4);
  rig_forget(r);
  return r;
}

/* All accuse all; copies of 10, 20 and 30 bytes. */
static struct rig *
rig_split(const char *options, unsigned slot)
{
  struct rig *r = rig_with(options);
  uint8_t text[30];

  memset(text, 'a', sizeof(text));
  for (unsigned i = 0; i < BRICKS; i++) {
    text[0] = (uint8_t)('0' + i);
    rig_data(r, i, 5, text, 10 * (i + 1));
    object(r, i)->stat.uid = i;
    for (unsigned j = 0; j < BRICKS; j++)
      if (j != i)
        rig_blame(r, i, 5, j, slot);
  }
  return r;
}

static struct gi_fop *
get(struct rig *r, const char *name)
{
  struct gi_fop *f = rig_loc(r, GI_FOP_GETXATTR, 5);

  f->args.name = name;
  rig_run(r, f);
  return f;
}

static void
says(struct rig *r, const char *name, const char *want)
{
  const char *text = NULL;
  struct gi_fop *f = get(r, name);

  assert_true(f->answered);
  assert_true(f->rsp.ret >= 0);
  assert_true(gi_dict_get_str(f->rsp.dict, name, &text));
  assert_string_equal(text, want);
}

static struct gi_fop *
set(struct rig *r, const char *name, const char *value)
{
  struct gi_fop *f = rig_loc(r, GI_FOP_SETXATTR, 5);

  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, name, value, (uint32_t)strlen(value)); /* as setfattr sends it, without a NUL */
  rig_run(r, f);
  return f;
}

/* ---- heal info ---- */

static void
heal_info(void **state)
{
  struct rig *r = rig_with(NULL);

  (void)state;
  says(r, "glusterfs.heal-info", "no-heal");
  object(r, 0)->mark[BRICKS][0] = 1;
  says(r, "glusterfs.heal-info", "heal"); /* nobody holds a lock: the client died */
  r->brick[1].txn_locks = 1;
  says(r, "glusterfs.heal-info", "no-heal"); /* a write is under way */
  object(r, 0)->mark[BRICKS][0] = 2;
  says(r, "glusterfs.heal-info", "heal"); /* but not two */
  object(r, 0)->mark[2][0] = 1;
  object(r, 1)->mark[2][0] = 1;
  says(r, "glusterfs.heal-info", "heal-pending");
  r->brick[2].healer_locks = 1;
  says(r, "glusterfs.heal-info", "possibly-healing-pending");
  object(r, 2)->mark[0][0] = object(r, 2)->mark[1][0] = 1;
  object(r, 0)->mark[1][0] = object(r, 1)->mark[0][0] = 1;
  says(r, "glusterfs.heal-info", "split-brain-pending");
  rig_down(r, 2);
  says(r, "glusterfs.heal-info", "heal-pending");
  rig_free(r);
}

static void
heal_info_of_nothing(void **state)
{
  struct rig *r = rig_with(NULL);

  (void)state;
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].fail_err[GI_FOP_LOOKUP] = ENOENT;
  rig_done(get(r, "glusterfs.heal-info"), -1, ENOENT);
  r->brick[1].fail_err[GI_FOP_LOOKUP] = ENOTCONN;
  rig_done(get(r, "glusterfs.heal-info"), -1, ENOTCONN);
  rig_free(r);
}

/* ---- the tools' heal ---- */

static struct gi_fop *
tool(struct rig *r, int op, const char *child)
{
  struct gi_fop *f = rig_loc(r, GI_FOP_GETXATTR, 5);

  f->args.name = "glusterfs.heal-sbrain";
  f->caller.pid = GI_PID_HEAL_TOOL;
  gi_dict_set_int(gi_fop_xdata(f), "heal-op", op);
  if (child)
    gi_dict_set_str(gi_fop_xdata(f), "child-name", child);
  rig_run(r, f);
  assert_true(f->answered);
  return f;
}

static void
refused(struct rig *r, int op, const char *child, const char *want)
{
  struct gi_fop *f = tool(r, op, child);
  const char *text = "";

  assert_true(f->rsp.ret < 0);
  gi_dict_get_str(f->rsp.dict, "sh-fail-msg", &text);
  assert_string_equal(text, want);
  gi_dict_get_str(f->rsp.xdata, "sh-fail-msg", &text);
  assert_string_equal(text, want);
}

static void
all_have(struct rig *r, uint64_t size, char first)
{
  for (unsigned i = 0; i < BRICKS; i++) {
    assert_int_equal(object(r, i)->stat.size, size);
    assert_int_equal(object(r, i)->data[0], first);
    rig_marks(r, i, 5, "");
  }
}

static void
tools_resolve_data(void **state)
{
  static const struct {
    int op;
    const char *child;
    uint64_t size;
    char first;
  } rows[] = {
      {GI_HEAL_BIGGER_FILE, NULL, 30, '2'}, {GI_HEAL_SOURCE_BRICK, "child-1", 20, '1'}, {GI_HEAL_LATEST_MTIME, NULL, 10, '0'}};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(rows); i++) {
    struct rig *r = rig_split(NULL, 0);

    for (unsigned k = 0; k < BRICKS; k++)
      object(r, k)->stat.uid = 0;
    object(r, 0)->stat.mtime.sec = 5;
    assert_true(tool(r, rows[i].op, rows[i].child)->rsp.ret >= 0);
    all_have(r, rows[i].size, rows[i].first);
    refused(r, rows[i].op, rows[i].child, "File not in split-brain");
    rig_free_clean(r);
  }
}

static void
tools_are_refused(void **state)
{
  struct rig *r = rig_split(NULL, 0);

  (void)state;
  refused(r, GI_HEAL_LATEST_MTIME, NULL, "No difference in mtime");
  refused(r, GI_HEAL_SOURCE_BRICK, "nobody", "Invalid brick name");
  rig_done(tool(r, 3, NULL), -1, EINVAL);
  rig_down(r, 1);
  refused(r, GI_HEAL_SOURCE_BRICK, "child-1", "Brick is not up");
  refused(r, GI_HEAL_BIGGER_FILE, NULL, "Failed to obtain replies from all bricks of the replica (are they up?)");
  rig_free(r);
  r = rig_split(NULL, 1);
  for (unsigned i = 0; i < BRICKS; i++)
    rig_data(r, i, 5, "x", 1);
  refused(r, GI_HEAL_BIGGER_FILE, NULL, "Use source-brick option to heal metadata split-brain");
  assert_true(tool(r, GI_HEAL_SOURCE_BRICK, "child-2")->rsp.ret >= 0);
  for (unsigned i = 0; i < BRICKS; i++)
    assert_int_equal(object(r, i)->stat.uid, 2);
  rig_free_clean(r);
}

/* ---- users ---- */

static struct gi_fop *
read_some(struct rig *r, struct gi_fd *fd)
{
  struct gi_fop *f = rig_fd(r, GI_FOP_READ, fd);

  f->args.size = 100;
  rig_run(r, f);
  assert_true(f->answered);
  return f;
}

static void
users_choose_a_copy(void **state)
{
  struct rig *r = rig_split(NULL, 0);
  struct gi_fd *fd = fake_fd(r->s, 5);
  struct gi_fop *f;

  (void)state;
  says(r, "replica.split-brain-status", "data-split-brain:yes    metadata-split-brain:no    Choices:child-0,child-1,child-2");
  rig_done(read_some(r, fd), -1, EIO);
  rig_done(set(r, "replica.split-brain-choice", "child-9"), -1, EINVAL);
  rig_done(set(r, "replica.split-brain-choice", "child-1"), 0, 0);
  f = rig_fd(r, GI_FOP_OPEN, fd);
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_done(read_some(r, fd), 20, 0);
  rig_done(set(r, "replica.split-brain-choice", "child-0"), 0, 0);
  rig_done(read_some(r, fd), 10, 0);
  rig_done(set(r, "replica.split-brain-choice", "none"), 0, 0);
  rig_done(read_some(r, fd), -1, EIO);
  rig_done(set(r, "replica.split-brain-choice", "child-0"), 0, 0);
  rep_inode(rep_of(r->s->x), fd->inode)->choice_until = 0; /* its time is over */
  rig_done(read_some(r, fd), -1, EIO);
  rig_done(set(r, "replica.split-brain-choice", "child-2"), 0, 0);
  rig_down(r, 2);
  assert_true(read_some(r, fd)->rsp.ret < 0);
  rig_up(r, 2);
  rig_done(set(r, "replica.split-brain-heal-finalize", "child-9"), -1, EIO);
  rig_done(set(r, "replica.split-brain-heal-finalize", "child-1"), 0, 0);
  all_have(r, 20, '1');
  rig_done(read_some(r, fd), 20, 0);
  says(r, "replica.split-brain-status", "The file is not under data or metadata split-brain");
  rig_done(set(r, "replica.split-brain-choice", "child-1"), -1, EINVAL);
  rig_free_clean(r);
}

static void
how_long_a_choice_is_good(void **state)
{
  struct rig *r = rig_split(NULL, 0);
  struct rep *rep = rep_of(r->s->x);
  uint64_t now = gi_now(rep->x->reactor);
  struct gi_inode *inode = fake_inode(r->s, 5);

  (void)state;
  rig_done(set(r, "replica.split-brain-choice", "child-1"), 0, 0);
  assert_true(rep_inode(rep, inode)->choice_until >= now + 300 * GI_NSEC_PER_SEC);
  assert_true(rep_inode(rep, inode)->choice_until < now + 400 * GI_NSEC_PER_SEC);
  rig_done(set(r, "replica.split-brain-choice-timeout", "20"), 0, 0);
  rig_done(set(r, "replica.split-brain-choice-timeout", "-1"), -1, EINVAL);
  rig_done(set(r, "replica.split-brain-choice-timeout", "2x"), -1, EINVAL);
  rig_done(set(r, "replica.split-brain-choice-timeout", "99999999999999999999"), -1, EINVAL);
  rig_done(set(r, "replica.split-brain-choice", "child-1"), 0, 0);
  assert_true(rep_inode(rep, inode)->choice_until >= now + 1200 * GI_NSEC_PER_SEC);
  rig_free(r);
}

static void
writes_stay_refused(void **state)
{
  struct rig *r = rig_split(NULL, 0);
  struct gi_fd *fd = fake_fd(r->s, 5);
  struct gi_fop *f;

  (void)state;
  rig_done(set(r, "replica.split-brain-choice", "child-1"), 0, 0);
  f = rig_fd(r, GI_FOP_OPEN, fd);
  rig_run(r, f);
  f = rig_write(r, fd, 0, 5);
  rig_run(r, f);
  rig_done(f, -1, EIO);
  rig_free_clean(r);
}

/* ---- heals of the client's own accord ---- */

#define ON "option data-self-heal on\noption metadata-self-heal on\noption entry-self-heal on\n"

static void
stale(struct rig *r)
{
  rig_data(r, 2, 5, "old", 3);
  rig_blame(r, 0, 5, 2, 0);
  rig_blame(r, 1, 5, 2, 0);
}

static struct gi_fop *
lookup(struct rig *r)
{
  struct gi_fop *f = rig_entry(r, GI_FOP_LOOKUP, 1, "f5", 0);

  rig_run(r, f);
  assert_true(f->answered);
  return f;
}

static void
lookups_start_heals(void **state)
{
  struct rig *r = rig_with(ON);

  (void)state;
  stale(r);
  rig_done(lookup(r), 0, 0);
  fake_settle(r->s);
  assert_int_equal(object(r, 2)->stat.size, 4);
  rig_marks(r, 0, 5, "");
  assert_int_equal(rep_of(r->s->x)->metrics.heal.files, 1);
  assert_int_equal(rep_of(r->s->x)->busy[REP_WORK_HEALS], 0);
  rig_free_clean(r);
}

static void
by_default_they_do_not(void **state)
{
  static const char *const options[] = {NULL, ON "option background-self-heal-count 0\n"};

  (void)state;
  for (size_t i = 0; i < GI_ARRAY_LEN(options); i++) {
    struct rig *r = rig_with(options[i]);

    stale(r);
    rig_done(lookup(r), 0, 0);
    rig_marks(r, 0, 5, "2d1");
    rig_free_clean(r);
  }
}

static void
each_once_and_only_so_many(void **state)
{
  struct rig *r = rig_with(ON "option background-self-heal-count 1\noption heal-wait-queue-length 1\n");
  struct rep *rep = rep_of(r->s->x);

  (void)state;
  stale(r);
  rig_hold(r, 0, GI_FOP_INODELK);
  rep_background_heal(rep, fake_inode(r->s, 5));
  assert_int_equal(rep->background, 1);
  rep_background_heal(rep, fake_inode(r->s, 5));
  assert_int_equal(rep->heal_queue_length, 0); /* it is being healed */
  rep_background_heal(rep, fake_inode(r->s, 6));
  rep_background_heal(rep, fake_inode(r->s, 6));
  assert_int_equal(rep->heal_queue_length, 1);
  rep_background_heal(rep, fake_inode(r->s, 7));
  assert_int_equal(rep->heal_queue_length, 1); /* no room */
  rig_release(r, 0, GI_FOP_INODELK);
  fake_settle(r->s);
  assert_int_equal(rep->background, 0);
  assert_int_equal(rep->heal_queue_length, 0);
  rig_marks(r, 0, 5, "");
  rig_free_clean(r);
}

static void
going_down_waits_for_heals(void **state)
{
  struct rig *r = rig_with(ON);
  struct rep *rep = rep_of(r->s->x);

  (void)state;
  stale(r);
  rig_hold(r, 0, GI_FOP_INODELK);
  rep_background_heal(rep, fake_inode(r->s, 5));
  gi_graph_deactivate(r->s->graph);
  assert_false(rep->drained);
  rig_release(r, 0, GI_FOP_INODELK);
  fake_settle(r->s);
  assert_true(rep->drained);
  rig_free(r);
}

static void
unmarked_metadata_is_healed_before_the_answer(void **state)
{
  struct rig *r = rig_with("option metadata-self-heal on\n");
  struct gi_fop *f;

  (void)state;
  rig_xattr(r, 0, 5, "user.a", "1");
  rig_xattr(r, 1, 5, "user.a", "1");
  object(r, 1)->stat.uid = 0;
  f = lookup(r);
  rig_done(f, 0, 0);
  assert_null(gi_dict_get(f->rsp.xdata, "user.a")); /* the caller did not ask */
  assert_non_null(gi_dict_get(object(r, 2)->xattr, "user.a"));
  rig_marks(r, 0, 5, "");
  assert_int_equal(rep_of(r->s->x)->metrics.heal.metadata, 1);
  rig_free_clean(r);
}

static void
policy_on_the_read_path(void **state)
{
  struct rig *r = rig_split("option favorite-child-policy size\n", 0);
  struct gi_fd *fd = fake_fd(r->s, 5);
  struct gi_fop *f;

  (void)state;
  f = rig_fd(r, GI_FOP_OPEN, fd);
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_done(read_some(r, fd), 30, 0); /* the winner; the others wait for their heal */
  assert_int_equal(object(r, 0)->mark[2][0], 0);
  assert_true(object(r, 2)->mark[0][0] > 0);
  rig_free_clean(r);
}

static void
a_policy_that_does_not_decide(void **state)
{
  struct rig *r = rig_split("option favorite-child-policy mtime\n", 0);
  struct gi_fd *fd = fake_fd(r->s, 5);

  (void)state;
  rig_done(read_some(r, fd), -1, EIO);
  rig_marks(r, 0, 5, "1d1,2d1");
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(heal_info),
      cmocka_unit_test(heal_info_of_nothing),
      cmocka_unit_test(tools_resolve_data),
      cmocka_unit_test(tools_are_refused),
      cmocka_unit_test(users_choose_a_copy),
      cmocka_unit_test(how_long_a_choice_is_good),
      cmocka_unit_test(writes_stay_refused),
      cmocka_unit_test(lookups_start_heals),
      cmocka_unit_test(by_default_they_do_not),
      cmocka_unit_test(each_once_and_only_so_many),
      cmocka_unit_test(going_down_waits_for_heals),
      cmocka_unit_test(unmarked_metadata_is_healed_before_the_answer),
      cmocka_unit_test(policy_on_the_read_path),
      cmocka_unit_test(a_policy_that_does_not_decide),
  };

  gi_class_register(&gi_xlator_export);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
