/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: somebody waits until the kernel has been told, and when nobody
 * does.
 */
#include "xlators/mount/fuse/fuse-rig.h"

#include "libglusterish/promise.h"

#include <semaphore.h>

struct waiting {
  struct gi_taken taken;
  bool done;
};

static void
taken_in(struct gi_taken *t)
{
  GI_CONTAINER(t, struct waiting, taken)->done = true;
}

/* Whoever waits hears when the kernel has been told, of the name and of the inodes. */
static void
test_upcall_that_is_waited_for(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer dir = {0xdd, S_IFDIR | 0755, 0, 0};
  uint64_t id = lookup(r, "d", &dir);
  struct waiting w = {.taken = {.holds = 1, .all = taken_in}};
  struct gi_invalidation inv = {.gfid = iatt_of(0xdd, 0).gfid, .flags = 0x10, .xdata = gi_dict_new(), .taken = &w.taken};

  gi_dict_set_str(inv.xdata, GI_NAME_KEY, "made");
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  gi_taken_release(&w.taken);
  wait_notifications(r);
  for (unsigned i = 0; i < 100 && !w.done; i++)
    fake_wait(r->s, GI_NSEC_PER_MSEC);
  assert_true(w.done);
  assert_int_equal(r->notifications, 2);
  assert_true(id > 0);
  w = (struct waiting){.taken = {.holds = 1, .all = taken_in}};
  memset(inv.gfid.b, 0x99, 16); /* of something unknown: at once */
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  gi_taken_release(&w.taken);
  assert_true(w.done);
  gi_dict_unref(&inv.xdata);
  rig_free(r);
}

/* ---- a directory that others change at the same time ---- */

static sem_t gate;

static void
wait_at_gate(struct gi_work *w)
{
  (void)w;
  sem_wait(&gate);
}

static void
passed_gate(struct gi_work *w)
{
  (void)w;
}

#define WORKERS 64 /* more than there are */

/* The kernel takes nothing in: what is to be told waits. */
static void
kernel_is_busy(struct rig *r, struct gi_work w[WORKERS])
{
  sem_init(&gate, 0, 0);
  for (unsigned i = 0; i < WORKERS; i++) {
    w[i] = (struct gi_work){.priority = GI_PRIO_HIGH, .run = wait_at_gate, .done = passed_gate};
    gi_list_init(&w[i].link);
    gi_work_submit(r->s->x->reactor, &w[i]);
  }
}

static void
kernel_is_free(void)
{
  for (unsigned i = 0; i < WORKERS; i++)
    sem_post(&gate);
}

static void
make(struct rig *r, uint64_t dir, const char *name)
{
  struct fuse_mknod_in in = {.mode = S_IFREG | 0644};

  request_names(r, FUSE_MKNOD, dir, &in, sizeof(in), name, NULL);
}

static unsigned
looked_up_kept_for(struct rig *r, uint64_t dir, const char *name)
{
  const struct fuse_entry_out *e;

  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_stat, .arg = &file_a});
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, dir, NULL, 0, name, NULL)), 0);
  e = body(r);
  return seconds(e->entry_valid, e->entry_valid_nsec);
}

/* A change of ours that begins before the kernel has taken in what others did holds the directory, and may wait for them. So they do not wait
 * for the kernel; and it gets no more names to keep there. */
static void
test_nobody_waits_for_a_directory_that_we_change(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer dir = {0xdd, S_IFDIR | 0755, 0, 0};
  struct gi_work work[WORKERS];
  struct waiting w = {.taken = {.holds = 1, .all = taken_in}};
  struct gi_invalidation inv = {.gfid = iatt_of(0xdd, 0).gfid, .flags = 0x10, .xdata = gi_dict_new(), .taken = &w.taken};
  uint64_t id;

  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = 60, .strict = true});
  id = lookup(r, "d", &dir);
  assert_int_equal(looked_up_kept_for(r, id, "before"), 20);
  kernel_is_busy(r, work);
  gi_dict_set_str(inv.xdata, GI_NAME_KEY, "made");
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  gi_taken_release(&w.taken);
  assert_false(w.done);
  r->paused = true;
  fake_script(r->s, 0, GI_FOP_MKNOD, (struct fake_reply){.hold = true});
  make(r, id, "ours");
  for (unsigned i = 0; i < 1000 && !w.done; i++)
    gi_reactor_turn(r->s->x->reactor, GI_NSEC_PER_MSEC);
  assert_true(w.done);
  r->paused = false;
  kernel_is_free();
  assert_true(fake_release(r->s, 0, GI_FOP_MKNOD, -1, EEXIST));
  wait_notifications(r);
  assert_int_equal(looked_up_kept_for(r, id, "after"), 0);
  assert_int_equal(looked_up_kept_for(r, FUSE_ROOT_ID, "elsewhere"), 20);
  wait_notifications(r);
  gi_dict_unref(&inv.xdata);
  sem_destroy(&gate);
  rig_free(r);
}

/* A lookup, too, holds the directory, and may wait for a lock of those who change a name there. */
static void
test_nor_while_we_wait_for_a_lock(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_work work[WORKERS];
  struct waiting w = {.taken = {.holds = 1, .all = taken_in}};
  struct gi_invalidation inv = {.gfid = iatt_of(0xaa, 0).gfid, .flags = GI_UPCALL_FORGET, .taken = &w.taken};
  struct gi_lock_wait wait = {.gfid = gi_gfid_root};

  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = 60, .strict = true});
  assert_int_equal(looked_up_kept_for(r, FUSE_ROOT_ID, "f"), 20);
  kernel_is_busy(r, work);
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv); /* its name has gone to another */
  gi_taken_release(&w.taken);
  assert_false(w.done);
  fake_event(r->s, 0, GI_EVENT_WAITS, &wait);
  assert_true(w.done);
  w = (struct waiting){.taken = {.holds = 1, .all = taken_in}};
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv); /* so it is as long as the wait lasts */
  gi_taken_release(&w.taken);
  assert_true(w.done);
  wait.over = true;
  fake_event(r->s, 0, GI_EVENT_WAITS, &wait);
  kernel_is_free();
  wait_notifications(r);
  assert_int_equal(looked_up_kept_for(r, FUSE_ROOT_ID, "f"), 0);
  sem_destroy(&gate);
  rig_free(r);
}

/* The same when it is under way already. */
static void
test_nor_for_one_that_we_are_changing(void **state)
{
  struct rig *r = rig_new(NULL);
  struct waiting w = {.taken = {.holds = 1, .all = taken_in}};
  struct gi_invalidation inv = {
      .gfid = iatt_of(0xaa, 0).gfid, .flags = 0x211, .parent = iatt_of(0, S_IFDIR), .taken = &w.taken};

  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = 60, .strict = true});
  lookup(r, "f", &file_a);
  fake_script(r->s, 0, GI_FOP_MKNOD, (struct fake_reply){.hold = true});
  make(r, FUSE_ROOT_ID, "ours");
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  gi_taken_release(&w.taken);
  assert_true(w.done);
  assert_true(fake_release(r->s, 0, GI_FOP_MKNOD, -1, EEXIST));
  wait_notifications(r);
  assert_int_equal(looked_up_kept_for(r, FUSE_ROOT_ID, "after"), 0);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_upcall_that_is_waited_for),
      cmocka_unit_test(test_nobody_waits_for_a_directory_that_we_change),
      cmocka_unit_test(test_nor_while_we_wait_for_a_lock),
      cmocka_unit_test(test_nor_for_one_that_we_are_changing),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
