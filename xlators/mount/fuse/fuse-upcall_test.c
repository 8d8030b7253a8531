/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: what the kernel has to drop when bricks say what others did.
 */
#include "xlators/mount/fuse/fuse-rig.h"

#include "libglusterish/promise.h"

static struct gi_iatt
as_known(void)
{
  struct gi_iatt a = iatt_of(0xaa, S_IFREG | 0644);

  a.size = 1000;
  a.mtime.sec = a.ctime.sec = 1000;
  return a;
}

static struct dropped
told(struct rig *r, const struct gi_invalidation *inv)
{
  struct gi_invalidation copy = *inv;

  r->dropped = (struct dropped){0};
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &copy);
  wait_notifications(r);
  return r->dropped;
}

static struct dropped
told_of_file(struct rig *r, uint32_t flags, const struct gi_iatt *stat)
{
  struct gi_invalidation inv = {.gfid = iatt_of(0xaa, 0).gfid, .flags = flags};

  if (stat)
    inv.stat = *stat;
  return told(r, &inv);
}

/* How the attributes that come with an event differ from those the kernel has. */
enum differs { NOT_TOLD, ONLY_CTIME, MTIME, MORE_LINKS, FEWER_LINKS };

static const struct gi_iatt *
attributes(enum differs differs)
{
  static struct gi_iatt a;

  a = as_known();
  a.ctime.sec++;
  a.mtime.sec += differs == MTIME;
  a.nlink = differs == MORE_LINKS ? 3 : differs == FEWER_LINKS ? 1 : 2;
  return differs == NOT_TOLD ? NULL : &a;
}

static void
test_flags_say_what_to_drop(void **state)
{
  static const struct {
    uint32_t flags;
    enum differs differs;
    unsigned data, attributes, names;
  } cases[] = {
      {0x18, NOT_TOLD, 1, 0, 0},      /* a write */
      {0x18, MTIME, 1, 0, 0},         /* the same with attributes */
      {0x10, MTIME, 1, 0, 0},         /* utimes looks the same */
      {0x45e, ONLY_CTIME, 0, 1, 0},   /* chmod tells of sizes, too */
      {0x45e, NOT_TOLD, 1, 0, 0},     /* but who knows */
      {0x02, NOT_TOLD, 0, 1, 0},      /* mode */
      {0x04, NOT_TOLD, 0, 1, 0},      /* owner */
      {0x20, NOT_TOLD, 0, 1, 0},      /* somebody has read */
      {0x40, NOT_TOLD, 0, 1, 0},      /* permissions */
      {0x400, NOT_TOLD, 0, 1, 0},     /* an extended attribute */
      {0x800, NOT_TOLD, 0, 1, 0},     /* one less */
      {0x2000, NOT_TOLD, 0, 1, 0},    /* just so */
      {0x280, NOT_TOLD, 0, 1, 1},     /* renamed */
      {0x211, FEWER_LINKS, 0, 1, 1},  /* unlinked */
      {0x211, NOT_TOLD, 1, 0, 1},     /* unlinked for good */
      {0x211, MORE_LINKS, 0, 1, 0},   /* linked */
      {0x100, ONLY_CTIME, 1, 0, 1},   /* the brick forgets it */
      {0x1000, NOT_TOLD, 0, 1, 1},    /* to be looked up */
      {0x10000, ONLY_CTIME, 1, 0, 1}, /* not known yet */
      {0, NOT_TOLD, 0, 0, 0},         /* nothing that counts */
  };

  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct rig *r = rig_new(NULL);

    lookup(r, "f", &file_a);

    struct dropped d = told_of_file(r, cases[i].flags, attributes(cases[i].differs));

    if (d.data != cases[i].data || d.attributes != cases[i].attributes || d.names != cases[i].names)
      fail_msg("flags %#x: data %u, attributes %u, names %u", cases[i].flags, d.data, d.attributes, d.names);
    if (d.names)
      assert_string_equal(d.name, "f");
    rig_free(r);
  }
}

/* What was told of is no longer judged as a surprise, what was not is. */
static void
test_attributes_after_it(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer later = {0xaa, S_IFREG | 0600, 1000, 1000};
  struct fuse_getattr_in in = {0};
  struct gi_iatt left = as_known();
  uint64_t id = lookup(r, "f", &file_a);

  left.ctime.sec = 2000;
  assert_int_equal(told_of_file(r, 0x45e, &left).attributes, 1);
  fake_script(r->s, 0, GI_FOP_STAT, (struct fake_reply){.fill = fill_stat, .arg = &later});
  r->dropped = (struct dropped){0};
  assert_int_equal(reply(r, request(r, FUSE_GETATTR, id, &in, sizeof(in))), 0);
  wait_notifications(r);
  assert_int_equal(r->dropped.data, 0);
  later.mtime = 3000;
  assert_int_equal(told_of_file(r, 0x45e, &left).attributes, 1);
  assert_int_equal(getattr(r, id, &later), 0); /* data was changed as well, and that was not told */
  wait_notifications(r);
  assert_int_equal(r->dropped.data, 1);
  rig_free(r);
}

static void
test_many_are_one(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_invalidation inv = {.gfid = iatt_of(0xaa, 0).gfid, .flags = 0x280};

  lookup(r, "f", &file_a);
  for (int i = 0; i < 100; i++)
    fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  wait_notifications(r);
  assert_in_range(r->dropped.attributes, 1, 3);
  assert_in_range(r->dropped.names, 1, 3);
  rig_free(r);
}

/* ---- directories ---- */

static void
look_for_absent(struct rig *r, uint64_t dir, const char *name)
{
  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, dir, NULL, 0, name, NULL)), 0);
  assert_int_equal(((const struct fuse_entry_out *)body(r))->nodeid, 0);
}

static void
test_names_that_nothing_has(void **state)
{
  struct rig *r = rig_new("option negative-timeout 100\n");
  struct answer dir = {0xdd, S_IFDIR | 0755, 0, 0};
  uint64_t id = lookup(r, "d", &dir);
  struct gi_invalidation inv = {.gfid = iatt_of(0xdd, 0).gfid, .flags = 0x210};

  look_for_absent(r, id, "a");
  look_for_absent(r, id, "b");
  look_for_absent(r, FUSE_ROOT_ID, "c");

  struct dropped d = told(r, &inv); /* somebody made an entry there */

  assert_int_equal(d.names, 2);
  assert_int_equal(d.attributes, 1);
  assert_int_equal(d.data, 0);
  assert_int_equal(told(r, &inv).names, 0); /* once */

  /* Something came to be there by a rename; of that it is the parents that tell. */
  look_for_absent(r, id, "a");
  inv = (struct gi_invalidation){
      .gfid = iatt_of(0x77, 0).gfid, .flags = 0x280, .parent = iatt_of(0, S_IFDIR), .old_parent = iatt_of(0xdd, S_IFDIR)};
  d = told(r, &inv);
  assert_int_equal(d.names, 2); /* and c */
  assert_int_equal(d.attributes, 2);
  look_for_absent(r, id, "a");
  inv = (struct gi_invalidation){.gfid = iatt_of(0xdd, 0).gfid, .flags = 0x2};
  assert_int_equal(told(r, &inv).names, 0); /* its mode is nothing to its entries */
  for (unsigned i = 0; i < 3000; i++) {
    char name[16];

    snprintf(name, sizeof(name), "n%u", i);
    look_for_absent(r, FUSE_ROOT_ID, name);
  }
  wait_notifications(r);
  assert_int_equal(r->dropped.names, 3001 - 1024); /* more than can be remembered */
  rig_free(r);
}

static void
test_names_that_nothing_has_expire(void **state)
{
  struct rig *r = rig_new("option negative-timeout 0.01\n");
  struct gi_invalidation inv = {.gfid = gi_gfid_root, .flags = 0x210};

  look_for_absent(r, FUSE_ROOT_ID, "a");
  fake_wait(r->s, 20 * GI_NSEC_PER_MSEC);
  look_for_absent(r, FUSE_ROOT_ID, "b");
  assert_int_equal(told(r, &inv).names, 1);
  assert_string_equal(r->dropped.name, "b");
  rig_free(r);
}

/* ---- bricks that were away ---- */

static struct dropped
came_back(struct rig *r, enum gi_event event)
{
  struct gi_promised p = {.seconds = 60};

  r->dropped = (struct dropped){0};
  fake_event(r->s, 0, event, event == GI_EVENT_PROMISE ? &p : NULL);
  wait_notifications(r);
  return r->dropped;
}

static void
test_long_promises_end_when_bricks_come_back(void **state)
{
  static const enum gi_event events[] = {GI_EVENT_CHILD_UP, GI_EVENT_CHILD_CHANGED, GI_EVENT_PROMISE};
  static const struct {
    const char *options;
    unsigned attributes, names;
  } cases[] = {
      {NULL, 0, 0},
      {"option attribute-timeout 600\n", 1, 0},
      {"option entry-timeout 600\n", 0, 1},
      {"option negative-timeout 600\n", 0, 1},
      {"option kernel-writeback-cache yes\n", 0, 0},
  };

  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct rig *r = rig_new(cases[i].options);

    lookup(r, "f", &file_a);
    if (i == 3)
      look_for_absent(r, FUSE_ROOT_ID, "a");

    for (size_t k = 0; k < GI_ARRAY_LEN(events); k++) {
      struct dropped d = came_back(r, events[k]);

      assert_int_equal(d.data, 0);
      assert_int_equal(d.attributes, cases[i].attributes);
      assert_int_equal(d.names, i == 3 && k > 0 ? 0 : cases[i].names); /* a name that nothing has is told once */
    }
    rig_free(r);
  }
}

static unsigned
kept_for(struct rig *r)
{
  const struct fuse_entry_out *e = (const void *)(r->out + sizeof(struct fuse_out_header));

  lookup(r, "f", &file_a);
  assert_int_equal(seconds(e->attr_valid, e->attr_valid_nsec), seconds(e->entry_valid, e->entry_valid_nsec));
  return seconds(e->attr_valid, e->attr_valid_nsec);
}

/* Where not every brick tells, the kernel asks again after a second; when one ceases to, what it keeps is dropped. */
static void
test_long_timeouts_are_for_bricks_that_tell(void **state)
{
  struct rig *r = rig_new("option attribute-timeout 60\noption entry-timeout 60\n");
  struct gi_xlator *brick = r->s->x->children[0];

  assert_int_equal(kept_for(r), 60);
  r->dropped = (struct dropped){0};
  gi_promise_made(brick, (struct gi_promised){.seconds = 0});
  wait_notifications(r);
  assert_int_equal(r->dropped.attributes, 1);
  assert_int_equal(r->dropped.names, 1);
  assert_int_equal(kept_for(r), 1);
  gi_promise_made(brick, (struct gi_promised){.seconds = 90});
  assert_int_equal(kept_for(r), 30);
  rig_free(r);
  r = rig_new("option kernel-writeback-cache yes\n"); /* nobody else is there to be told of */
  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = 0});
  assert_int_equal(kept_for(r), 600);
  rig_free(r);
}

/* Where every brick waits until we have taken in what it tells, it is long by itself. */
static void
test_strict_bricks_are_trusted(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_xlator *brick = r->s->x->children[0];

  assert_int_equal(kept_for(r), 1);
  gi_promise_made(brick, (struct gi_promised){.seconds = 60, .strict = true});
  assert_int_equal(kept_for(r), 20);
  gi_promise_made(brick, (struct gi_promised){.seconds = 60});
  assert_int_equal(kept_for(r), 1);
  rig_free(r);
  r = rig_new("option attribute-timeout 3\noption entry-timeout 3\n");
  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = 60, .strict = true});
  assert_int_equal(kept_for(r), 3);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_flags_say_what_to_drop),
      cmocka_unit_test(test_attributes_after_it),
      cmocka_unit_test(test_many_are_one),
      cmocka_unit_test(test_names_that_nothing_has),
      cmocka_unit_test(test_names_that_nothing_has_expire),
      cmocka_unit_test(test_long_promises_end_when_bricks_come_back),
      cmocka_unit_test(test_long_timeouts_are_for_bricks_that_tell),
      cmocka_unit_test(test_strict_bricks_are_trusted),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
