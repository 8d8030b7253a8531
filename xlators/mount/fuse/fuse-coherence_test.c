/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: what the kernel keeps of a file beside our own changes, those of
 * others, locks, and what it is told to drop.
 */
#include "xlators/mount/fuse/fuse-rig.h"

#include "libglusterish/extension.h"

/* ---- coherence ---- */

static void
test_foreign_change_drops_pages(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct answer later = {0xaa, S_IFREG | 0644, 5000, 3000};
  struct fuse_open_in in = {.flags = O_RDWR};

  assert_int_equal(getattr(r, id, &file_a), 0);
  wait_notifications(r);
  assert_int_equal(r->notifications, 0);
  assert_int_equal(getattr(r, id, &later), 0);
  assert_int_equal(r->notifications, 1); /* before the new size is told */
  assert_int_equal(r->last_code, FUSE_NOTIFY_INVAL_INODE);
  assert_int_equal(r->last_id, id);
  assert_int_equal(reply(r, request(r, FUSE_OPEN, id, &in, sizeof(in))), 0);
  assert_false(((const struct fuse_open_out *)body(r))->open_flags & FOPEN_KEEP_CACHE);
  assert_int_equal(reply(r, request(r, FUSE_OPEN, id, &in, sizeof(in))), 0);
  assert_true(((const struct fuse_open_out *)body(r))->open_flags & FOPEN_KEEP_CACHE);
  rig_free(r);
}

/* ---- our own changes beside those of others ---- */

/* The file on the bricks: what each change finds and leaves. */
static struct gi_iatt bricks;

static void
fill_now(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = fop->rsp.post = bricks;
}

static void
fill_change(struct gi_fop *fop, void *arg)
{
  fop->rsp.pre = bricks;
  bricks.mtime.sec++;
  bricks.ctime.sec++;
  if (fop->kind == GI_FOP_WRITE && fop->args.offset + fop->args.size > bricks.size)
    bricks.size = fop->args.offset + fop->args.size;
  fop->rsp.post = bricks;
}

static struct rig *
shared_file(const char *options, uint64_t *id, uint64_t *fh)
{
  static const enum gi_fop_kind changes[] = {GI_FOP_WRITE, GI_FOP_SETATTR, GI_FOP_FSETATTR, GI_FOP_FTRUNCATE, GI_FOP_FALLOCATE};
  struct rig *r = rig_new(options);

  *id = lookup(r, "f", &file_a);
  bricks = iatt_of(0xaa, S_IFREG | 0644);
  bricks.mtime.sec = bricks.ctime.sec = 1000;
  *fh = open_file(r, *id, O_RDWR);
  for (size_t i = 0; i < GI_ARRAY_LEN(changes); i++)
    fake_script_always(r->s, 0, changes[i], (struct fake_reply){.fill = fill_change});
  fake_script_always(r->s, 0, GI_FOP_STAT, (struct fake_reply){.fill = fill_now});
  fake_script_always(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_now});
  return r;
}

static void
somebody_else_writes(void)
{
  bricks.mtime.sec += 10;
  bricks.ctime.sec += 10;
}

/* How many invalidations there were since the last call, after attributes that the bricks were asked for. */
static unsigned
dropped(struct rig *r, uint64_t id)
{
  struct fuse_getattr_in in = {0};
  unsigned n;

  assert_int_equal(reply(r, request(r, FUSE_UNLINK, FUSE_ROOT_ID, "other", 6)), 0); /* nothing remembered answers */
  assert_int_equal(reply(r, request(r, FUSE_GETATTR, id, &in, sizeof(in))), 0);
  wait_notifications(r);
  n = r->notifications;
  r->notifications = 0;
  return n;
}

static void
test_own_changes_keep_pages(void **state)
{
  uint64_t id, fh;
  struct rig *r = shared_file(NULL, &id, &fh);
  struct fuse_setattr_in mode = {.valid = FATTR_MODE, .mode = 0600},
                         size = {.valid = FATTR_SIZE | FATTR_FH, .fh = fh, .size = 5};
  struct fuse_fallocate_in space = {.fh = fh, .length = 100};
  struct fuse_link_in l = {.oldnodeid = id};

  for (uint64_t i = 0; i < 5; i++) {
    assert_int_equal(reply(r, write_file(r, id, fh, i * 8192, 8192, 0)), 0);
    assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &mode, sizeof(mode))), 0);
    assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &size, sizeof(size))), 0);
    assert_int_equal(reply(r, request(r, FUSE_FALLOCATE, id, &space, sizeof(space))), 0);
    assert_int_equal(dropped(r, id), 0);
  }
  /* A name more moves the ctime. */
  bricks.ctime.sec++;
  fake_script(r->s, 0, GI_FOP_LINK, (struct fake_reply){.fill = fill_now});
  assert_int_equal(reply(r, request_names(r, FUSE_LINK, FUSE_ROOT_ID, &l, sizeof(l), "l", NULL)), 0);
  assert_int_equal(dropped(r, id), 0);
  /* And one less. */
  bricks.ctime.sec++;
  assert_int_equal(reply(r, request(r, FUSE_UNLINK, FUSE_ROOT_ID, "l", 2)), 0);
  assert_int_equal(dropped(r, id), 0);
  /* An open that empties the file. */
  bricks.size = 0;
  bricks.mtime.sec++;
  bricks.ctime.sec++;
  open_file(r, id, O_RDWR | O_TRUNC);
  assert_int_equal(dropped(r, id), 0);
  bricks.ctime.sec++; /* the next time it was not us */
  assert_int_equal(dropped(r, id), 1);
  rig_free(r);
}

static void
test_own_changes_hide_no_others(void **state)
{
  uint64_t id, fh;
  struct rig *r = shared_file(NULL, &id, &fh);
  struct fuse_setattr_in mode = {.valid = FATTR_MODE, .mode = 0600};
  struct fuse_open_in in = {.flags = O_RDWR};
  struct fuse_link_in l = {.oldnodeid = id};

  somebody_else_writes();
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, 0)), 0);
  assert_int_equal(dropped(r, id), 1);
  assert_int_equal(reply(r, request(r, FUSE_OPEN, id, &in, sizeof(in))), 0);
  assert_false(((const struct fuse_open_out *)body(r))->open_flags & FOPEN_KEEP_CACHE);

  somebody_else_writes();
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &mode, sizeof(mode))), 0);
  assert_int_equal(dropped(r, id), 1);

  /* Not told by the reply of a LINK, but by what follows it. */
  somebody_else_writes();
  fake_script(r->s, 0, GI_FOP_LINK, (struct fake_reply){.fill = fill_now});
  assert_int_equal(reply(r, request_names(r, FUSE_LINK, FUSE_ROOT_ID, &l, sizeof(l), "l", NULL)), 0);
  assert_int_equal(dropped(r, id), 1);

  /* Nor by one without attributes: ours or not, the pages go. */
  fake_script_clear(r->s);
  fake_script_always(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_now});
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, 0)), 0);
  somebody_else_writes();
  assert_int_equal(dropped(r, id), 1);
  assert_int_equal(dropped(r, id), 0);
  rig_free(r);
}

/* Two writes under way at once: found and left come in the order of the bricks, not of the replies. */
static void
two_writes(struct rig *r, uint64_t id, uint64_t fh, bool disturbed)
{
  struct gi_iatt found[2], left[2];
  uint64_t unique[2];

  fake_script_clear(r->s);
  fake_script_always(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_now});
  fake_script_always(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  fake_forget_seen(r->s);
  for (int i = 0; i < 2; i++)
    unique[i] = write_file(r, id, fh, (uint64_t)i * 4096, 4096, 0);
  for (int i = 1; i >= 0; i--) { /* the bricks do the second first */
    found[i] = bricks;
    bricks.mtime.sec++;
    left[i] = bricks;
    if (disturbed)
      somebody_else_writes();
  }
  for (int i = 0; i < 2; i++) {
    struct gi_reply *rsp = &r->s->seen[i].fop->rsp;

    rsp->pre = found[i];
    rsp->post = left[i];
    assert_true(fake_release(r->s, 0, GI_FOP_WRITE, 4096, 0));
    assert_int_equal(reply(r, unique[i]), 0);
  }
}

static void
test_own_changes_at_once(void **state)
{
  uint64_t id, fh;
  struct rig *r = shared_file(NULL, &id, &fh);

  two_writes(r, id, fh, false);
  fake_forget_seen(r->s);
  assert_int_equal(getattr(r, id, NULL), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSTAT), 1); /* whichever ended last, it is not remembered */
  fake_script_always(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_now});
  assert_int_equal(dropped(r, id), 0);
  two_writes(r, id, fh, true);
  assert_int_equal(dropped(r, id), 1);
  rig_free(r);
}

/* Attributes asked for before our change tell nothing about what followed it. */
static void
test_late_attributes(void **state)
{
  uint64_t id, fh;
  struct rig *r = shared_file(NULL, &id, &fh);
  uint64_t unique;

  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.hold = true});
  fake_forget_seen(r->s);
  unique = request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "f", NULL);
  r->s->seen[0].fop->rsp.stat = bricks;
  assert_int_equal(reply(r, write_file(r, id, fh, 0, 100, 0)), 0);
  assert_true(fake_release(r->s, 0, GI_FOP_LOOKUP, 0, 0));
  assert_int_equal(reply(r, unique), 0);
  assert_int_equal(dropped(r, id), 0);
  rig_free(r);
}

/* ---- locks ---- */

static uint64_t
lock_file(struct rig *r, uint64_t id, uint64_t fh, uint32_t type)
{
  struct fuse_lk_in in = {.fh = fh, .owner = 7, .lk = {.start = 0, .end = INT64_MAX, .type = type, .pid = 1}};

  return request(r, FUSE_SETLK, id, &in, sizeof(in));
}

static void
test_lock_brings_what_others_wrote(void **state)
{
  uint64_t id, fh;
  struct rig *r = shared_file(NULL, &id, &fh);

  fake_forget_seen(r->s);
  assert_int_equal(reply(r, lock_file(r, id, fh, F_WRLCK)), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSTAT), 1);
  assert_int_equal(r->notifications, 0); /* nothing has changed */
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, lock_file(r, id, fh, F_UNLCK)), 0);
  assert_int_equal(r->s->nseen, 1);

  /* The kernel drops its pages before it hears that the lock is held. */
  somebody_else_writes();
  assert_int_equal(reply(r, lock_file(r, id, fh, F_RDLCK)), 0);
  assert_int_equal(r->notifications, 1);
  assert_int_equal(r->last_id, id);

  /* One that is refused brings nothing, and one whose file cannot be looked at everything. */
  fake_script(r->s, 0, GI_FOP_LK, (struct fake_reply){.ret = -1, .err = EAGAIN});
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, lock_file(r, id, fh, F_WRLCK)), EAGAIN);
  assert_int_equal(r->s->nseen, 1);
  fake_script_clear(r->s);
  fake_script(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  assert_int_equal(reply(r, lock_file(r, id, fh, F_WRLCK)), 0);
  assert_int_equal(r->notifications, 2);
  rig_free(r);
}

/* A change found a moment before is told to the kernel before the lock is. */
static void
test_lock_waits_for_what_was_found(void **state)
{
  uint64_t id, fh;
  struct rig *r = shared_file(NULL, &id, &fh);
  struct fuse_getattr_in in = {0};
  struct {
    struct fuse_in_header h;
    struct fuse_lk_in l;
  } m = {{.len = sizeof(m), .opcode = FUSE_SETLK, .nodeid = id}, {.fh = fh, .lk = {.end = INT64_MAX, .type = F_WRLCK}}};
  struct {
    struct fuse_in_header h;
    struct fuse_getattr_in a;
  } g = {{.len = sizeof(g), .opcode = FUSE_GETATTR, .nodeid = id}, in};

  somebody_else_writes();
  g.h.unique = ++r->unique;
  m.h.unique = ++r->unique;
  assert_int_equal(write(r->fd, &g, sizeof(g)), sizeof(g)); /* both are here before anything is answered */
  assert_int_equal(write(r->fd, &m, sizeof(m)), sizeof(m));
  pump(r);
  assert_int_equal(reply(r, g.h.unique), 0);
  assert_int_equal(reply(r, m.h.unique), 0);
  assert_in_range(r->notifications, 1, 2);
  rig_free(r);
}

static void
put(struct rig *r, uint32_t opcode, uint64_t nodeid, const void *args, size_t len)
{
  struct {
    struct fuse_in_header h;
    uint8_t args[128];
  } m = {{.len = (uint32_t)(sizeof(m.h) + len), .opcode = opcode, .unique = ++r->unique, .nodeid = nodeid}, {0}};

  assert_true(len <= sizeof(m.args));
  if (len)
    memcpy(m.args, args, len);
  assert_int_equal(write(r->fd, &m, m.h.len), m.h.len);
}

/* The kernel forgets a file whose pages it is being told to drop, and finds it anew before it has heard of that. */
static void
test_forgotten_while_it_is_dropped(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct answer changed = {file_a.n, file_a.mode, 77, 77};
  struct fuse_getattr_in get = {0};
  struct fuse_forget_in forget_in = {.nlookup = 1};
  unsigned told;

  open_file(r, id, O_RDONLY);
  fake_script_always(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &changed});
  fake_script_always(r->s, 0, GI_FOP_STAT, (struct fake_reply){.fill = fill_stat, .arg = &changed});
  fake_script_always(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_stat, .arg = &changed});
  for (unsigned i = 0; i < 23; i++) /* so many that what comes then is read in one turn */
    put(r, FUSE_STATFS, FUSE_ROOT_ID, NULL, 0);
  put(r, FUSE_GETATTR, id, &get, sizeof(get));
  put(r, FUSE_FORGET, id, &forget_in, sizeof(forget_in));
  put(r, FUSE_LOOKUP, FUSE_ROOT_ID, "f", 2);
  for (unsigned i = 0; i < 10; i++)
    wait_notifications(r);
  assert_true(r->notifications > 0);
  told = r->notifications;
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(getattr(r, id, &changed), 0);
    wait_notifications(r);
  }
  assert_int_equal(r->notifications, told); /* nothing has changed since */
  rig_free(r);
}

static void
test_lock_covers_what_the_process_has_open(void **state)
{
  struct answer file_b = {0xbb, S_IFREG | 0644, 5, 5}, changed = {0xbb, S_IFREG | 0644, 6, 6};
  uint64_t id, fh, other;
  struct rig *r = shared_file(NULL, &id, &fh);

  other = lookup(r, "b", &file_b);
  open_file(r, other, O_RDWR);
  open_file(r, other, O_RDONLY);
  fake_script_clear(r->s);
  fake_script(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_now});
  fake_script(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &changed});
  fake_forget_seen(r->s);
  assert_int_equal(reply(r, lock_file(r, id, fh, F_WRLCK)), 0);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSTAT), 2); /* once a file */
  assert_int_equal(r->notifications, 1);
  assert_int_equal(r->last_id, other);
  rig_free(r);
}

/* Or opens afterwards. */
static void
test_open_after_a_lock_looks(void **state)
{
  uint64_t id, fh;
  struct rig *r = shared_file(NULL, &id, &fh);
  struct answer file_b = {0xbb, S_IFREG | 0644, 5, 5}, changed = {0xbb, S_IFREG | 0644, 6, 6};
  struct fuse_open_in in = {.flags = O_RDONLY};
  uint64_t other = lookup(r, "b", &file_b), first = lookup(r, "c", &(struct answer){0xcc, S_IFREG | 0644, 5, 5});
  struct fuse_release_in rel = {.fh = open_file(r, other, O_RDONLY)};

  assert_int_equal(reply(r, request(r, FUSE_RELEASE, other, &rel, sizeof(rel))), 0);
  assert_int_equal(reply(r, lock_file(r, id, fh, F_WRLCK)), 0);
  fake_script_clear(r->s);
  fake_script_always(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &changed});
  fake_forget_seen(r->s);
  open_file(r, first, O_RDONLY); /* nothing of it is in the cache */
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSTAT), 0);
  assert_int_equal(reply(r, request(r, FUSE_OPEN, other, &in, sizeof(in))), 0);
  assert_false(((const struct fuse_open_out *)body(r))->open_flags & FOPEN_KEEP_CACHE);
  assert_int_equal(r->notifications, 1); /* before the open is answered */
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSTAT), 1);
  assert_int_equal(reply(r, request(r, FUSE_OPEN, other, &in, sizeof(in))), 0);
  assert_true(((const struct fuse_open_out *)body(r))->open_flags & FOPEN_KEEP_CACHE);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSTAT), 1); /* once a lock */
  rig_free(r);
}

/* With kernel write-back the pages written under a lock go out before it does. */
static void
test_unlock_writes_back(void **state)
{
  uint64_t id, fh;
  struct rig *r = shared_file("option kernel-writeback-cache yes\n", &id, &fh);

  assert_int_equal(reply(r, lock_file(r, id, fh, F_WRLCK)), 0);
  assert_int_equal(r->notifications, 0);
  fake_script(r->s, 0, GI_FOP_LK, (struct fake_reply){.hold = true});

  uint64_t unique = lock_file(r, id, fh, F_UNLCK);

  assert_false(next_reply(r));
  assert_int_equal(r->notifications, 1);
  assert_true(fake_release(r->s, 0, GI_FOP_LK, 0, 0));
  assert_int_equal(reply(r, unique), 0);
  assert_int_equal(reply(r, lock_file(r, id, fh, F_UNLCK)), 0);
  assert_int_equal(r->notifications, 1); /* nothing was locked any more */
  rig_free(r);
}

/* ---- opens ---- */

/* Our bricks send attributes along with an open, if they are asked to. */
static void
fill_opened(struct gi_fop *fop, void *arg)
{
  uint64_t max = 1;

  *(unsigned *)arg += gi_dict_get_uint(fop->xdata, GI_CONTENT_KEY, &max);
  if (max == 0)
    gi_dict_set_iatt(gi_fop_rsp_xdata(fop), GI_CONTENT_STAT_KEY, &bricks);
}

static bool
open_keeps(struct rig *r, uint64_t id, uint32_t flags)
{
  struct fuse_open_in in = {.flags = flags};

  r->notifications = 0;
  assert_int_equal(reply(r, request(r, FUSE_OPEN, id, &in, sizeof(in))), 0);
  return ((const struct fuse_open_out *)body(r))->open_flags & FOPEN_KEEP_CACHE;
}

static void
test_open_brings_what_others_closed(void **state)
{
  static const uint32_t flags[] = {O_RDONLY, O_RDWR, O_WRONLY};
  unsigned asked = 0;
  uint64_t id, fh;
  struct rig *r = shared_file(NULL, &id, &fh);

  fake_script_always(r->s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = fill_opened, .arg = &asked});
  fake_forget_seen(r->s);
  for (size_t i = 0; i < GI_ARRAY_LEN(flags); i++) {
    assert_true(open_keeps(r, id, flags[i]));
    assert_int_equal(r->notifications, 0);
    somebody_else_writes();
    assert_false(open_keeps(r, id, flags[i]));
    assert_int_equal(r->notifications, 1); /* before the open is answered, attributes included */
    assert_int_equal(r->dropped.data, i + 1);
    assert_int_equal(reply(r, write_file(r, id, fh, i * 4096, 4096, 0)), 0);
    assert_true(open_keeps(r, id, flags[i]));
  }
  assert_int_equal(asked, 9);
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSTAT) + fake_count(r->s, 0, GI_FOP_STAT), 0);
  rig_free(r);
}

/* While changes of ours are under way nothing can be told by attributes, so the open need not come after them. */
static void
test_open_asks_only_what_it_can_judge(void **state)
{
  unsigned asked = 0;
  uint64_t id, fh, unique;
  struct rig *r = shared_file(NULL, &id, &fh);

  fake_script_clear(r->s);
  fake_script_always(r->s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = fill_opened, .arg = &asked});
  fake_script(r->s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  fake_forget_seen(r->s);
  unique = write_file(r, id, fh, 0, 100, 0);
  r->s->seen[0].fop->rsp.pre = r->s->seen[0].fop->rsp.post = bricks;
  assert_true(open_keeps(r, id, O_RDONLY));
  assert_int_equal(asked, 0);
  assert_true(fake_release(r->s, 0, GI_FOP_WRITE, 100, 0));
  assert_int_equal(reply(r, unique), 0);
  open_keeps(r, id, O_RDWR | O_TRUNC);
  assert_int_equal(asked, 0);
  rig_free(r);

  r = shared_file("option kernel-writeback-cache yes\n", &id, &fh);
  fake_script_always(r->s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = fill_opened, .arg = &asked});
  open_keeps(r, id, O_RDONLY);
  assert_int_equal(asked, 0);
  rig_free(r);
}

/* What came with the open is what a lock granted before it asks for. */
static void
test_open_after_a_lock_needs_no_look(void **state)
{
  unsigned asked = 0;
  uint64_t id, fh;
  struct rig *r = shared_file(NULL, &id, &fh);

  fake_script_always(r->s, 0, GI_FOP_OPEN, (struct fake_reply){.fill = fill_opened, .arg = &asked});
  open_file(r, lookup(r, "c", &(struct answer){0xcc, S_IFREG | 0644, 5, 5}), O_RDWR);
  assert_int_equal(reply(r, lock_file(r, id, fh, F_WRLCK)), 0);
  somebody_else_writes();
  fake_forget_seen(r->s);
  assert_false(open_keeps(r, id, O_RDONLY));
  assert_int_equal(fake_count(r->s, 0, GI_FOP_FSTAT), 0);
  rig_free(r);
}

static void
test_upcall(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t id = lookup(r, "f", &file_a);
  struct gi_invalidation inv = {.gfid = iatt_of(0xaa, 0).gfid, .flags = 0x18};

  for (int i = 0; i < 10; i++) /* a burst is not a queue of ten */
    fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  wait_notifications(r);
  assert_in_range(r->notifications, 1, 3);
  assert_int_equal(r->last_id, id);
  memset(inv.gfid.b, 0x99, 16);
  r->notifications = 0;
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv); /* of something unknown */
  wait_notifications(r);
  assert_int_equal(r->notifications, 0);
  rig_free(r);
}

static struct gi_gfid
gfid_of(unsigned i)
{
  return (struct gi_gfid){{(uint8_t)(i / 256 + 1), (uint8_t)i, 7}};
}

static void
fill_numbered(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = iatt_of(1, S_IFREG | 0644);
  fop->rsp.stat.gfid = gfid_of(*(const unsigned *)arg);
}

/* Names to drop are hints: whoever changes a great many is not remembered for ever. */
static void
test_no_name_to_drop_is_left_out(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_invalidation inv = {.flags = 0x80};
  char *text = NULL;
  unsigned waiting = 0, i;
  size_t len;

  fake_script_always(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_numbered, .arg = &i});
  for (i = 0; i < 6000; i++) {
    assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "f", NULL)), 0);
    fake_forget_seen(r->s);
  }
  for (i = 0; i < 6000; i++) {
    inv.gfid = gfid_of(i);
    fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  }
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  r->s->x->cls->statedump(r->s->x, &d);
  fclose(d.out);
  assert_non_null(strstr(text, "invalidations-waiting="));
  sscanf(strstr(text, "invalidations-waiting="), "invalidations-waiting=%u", &waiting);
  assert_in_range(waiting, 12000 - 130, 12000); /* inodes and names, but for those that a worker has */
  free(text);
  rig_free(r);
}

/* A name whose directory the kernel has forgotten is none to tell it of. */
static void
test_name_without_a_directory(void **state)
{
  struct rig *r = rig_new(NULL);
  struct answer dir = {0xdd, S_IFDIR | 0755, 0, 0};
  struct gi_invalidation inv = {.gfid = iatt_of(0xaa, 0).gfid, .flags = 0x80};
  uint64_t id = lookup(r, "d", &dir), unique;

  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.hold = true});
  fake_forget_seen(r->s);
  unique = request_names(r, FUSE_LOOKUP, id, NULL, 0, "f", NULL);
  forget(r, id, 1);
  r->s->seen[0].fop->rsp.stat = iatt_of(0xaa, S_IFREG | 0644);
  assert_true(fake_release(r->s, 0, GI_FOP_LOOKUP, 0, 0));
  assert_int_equal(reply(r, unique), 0);
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  wait_notifications(r);
  assert_int_equal(r->notifications, 1); /* of the inode alone */
  assert_int_equal(r->last_code, FUSE_NOTIFY_INVAL_INODE);
  lookup(r, "f", &file_a);
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &inv);
  wait_notifications(r);
  assert_int_equal(r->notifications, 3);
  rig_free(r);
}

static void
test_lru_limit(void **state)
{
  struct rig *r = rig_new("option lru-limit 16\n");

  assert_int_equal(gi_inode_count(r->s->graph).lru_limit, 1);
  for (uint8_t i = 1; i <= 19; i++) {
    struct answer a = {i, S_IFREG | 0644, 1, 1};
    char name[8];

    snprintf(name, sizeof(name), "f%u", i);
    lookup(r, name, &a);
  }
  wait_notifications(r);
  assert_true(r->notifications >= 3);
  assert_int_equal(r->last_code, FUSE_NOTIFY_INVAL_ENTRY);
  assert_int_equal(r->last_id, FUSE_ROOT_ID);
  rig_free(r);
}

/* When the process's caches may hold no more, the kernel is asked for what it does not have open. */
static void
test_memory_limit(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t cost = sizeof(struct gi_inode) + r->s->graph->inode_bytes;

  gi_budget_set_limit(&r->s->ctx.budget, 16 * cost);
  for (uint8_t i = 1; i <= 16; i++) {
    struct answer a = {i, S_IFREG | 0644, 1, 1};
    char name[8];

    snprintf(name, sizeof(name), "f%u", i);
    lookup(r, name, &a);
  }
  assert_int_equal(r->s->ctx.budget.used, 16 * cost);
  assert_int_equal(r->notifications, 0);
  lookup(r, "f17", &(struct answer){17, S_IFREG | 0644, 1, 1});
  wait_notifications(r);
  assert_int_equal(r->notifications, 2);
  assert_int_equal(r->last_code, FUSE_NOTIFY_INVAL_ENTRY);
  rig_free(r);
}

/* To save memory no more names are dropped than the kernel will soon get to. */
static void
test_memory_is_asked_for_in_parts(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t cost = sizeof(struct gi_inode) + r->s->graph->inode_bytes;
  const struct gi_budget_user *nodes = NULL;
  unsigned i;

  fake_script_always(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_numbered, .arg = &i});
  for (i = 0; i < 6000; i++) {
    assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, "f", NULL)), 0);
    fake_forget_seen(r->s);
  }
  gi_list_foreach(user, &r->s->ctx.budget.users, struct gi_budget_user, link)
    if (strcmp(user->name, "kernel-inodes") == 0)
      nodes = user;
  assert_int_equal(nodes->used, 6000 * cost);
  assert_in_range(nodes->reclaim(nodes->arg, UINT64_MAX) / cost, 4096, 4096 + 64); /* those that wait, and a worker's */
  assert_int_equal(nodes->reclaim(nodes->arg, UINT64_MAX), 0);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_foreign_change_drops_pages),
      cmocka_unit_test(test_own_changes_keep_pages),
      cmocka_unit_test(test_own_changes_hide_no_others),
      cmocka_unit_test(test_own_changes_at_once),
      cmocka_unit_test(test_late_attributes),
      cmocka_unit_test(test_lock_brings_what_others_wrote),
      cmocka_unit_test(test_lock_waits_for_what_was_found),
      cmocka_unit_test(test_forgotten_while_it_is_dropped),
      cmocka_unit_test(test_lock_covers_what_the_process_has_open),
      cmocka_unit_test(test_open_after_a_lock_looks),
      cmocka_unit_test(test_open_brings_what_others_closed),
      cmocka_unit_test(test_open_asks_only_what_it_can_judge),
      cmocka_unit_test(test_open_after_a_lock_needs_no_look),
      cmocka_unit_test(test_unlock_writes_back),
      cmocka_unit_test(test_upcall),
      cmocka_unit_test(test_name_without_a_directory),
      cmocka_unit_test(test_no_name_to_drop_is_left_out),
      cmocka_unit_test(test_lru_limit),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_memory_is_asked_for_in_parts),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
