/* SPDX-License-Identifier: Apache-2.0
 *
 * features/locks: conflicts, fairness, domains, departing clients, counters,
 * POSIX split and merge, mandatory locks, clearing.
 */
#include "xlators/features/locks/locks-fixture.h"
#include "libglusterish/ask.h"

#include <errno.h>
#include <fcntl.h>

#define META ((uint64_t)INT64_MAX - 1)

static struct gi_fop *
inodelk(struct fake_stack *s, unsigned who, uint32_t cmd, uint32_t type, uint64_t start, uint64_t len)
{
  struct gi_fop *f = owned(s, GI_FOP_INODELK, who);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->args.cmd = cmd;
  f->args.flock = (struct gi_flock){.type = type, .start = start, .len = len};
  f->args.domain = "vol-replicate-0";
  fake_submit(s, f);
  return f;
}

static struct gi_fop *
entrylk(struct fake_stack *s, unsigned who, uint32_t cmd, const char *name)
{
  struct gi_fop *f = owned(s, GI_FOP_ENTRYLK, who);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->args.cmd = cmd;
  f->args.type = 1;
  f->args.name = name;
  f->args.domain = "vol-replicate-0";
  fake_submit(s, f);
  return f;
}

static struct gi_fop *clear(struct fake_stack *s, unsigned who, const char *name);

static void
failed(struct gi_fop *f, int err)
{
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, -1);
  assert_int_equal(f->rsp.err, err);
}

static struct fake_stack *
setup(const char *options)
{
  return fake_stack_new("features/locks", options, 1);
}

/* Who looks at an operation that hangs sees which lock it waits for, and who has it. */
static void
test_a_waiting_request_says_for_whom(void **state)
{
  struct fake_stack *s = setup(NULL);
  struct gi_fd *fd = fake_fd(s, 5);
  struct gi_fop *f[] = {inodelk(s, 0, GI_LKCMD_SETW, GI_LK_WRITE, 0, 10), inodelk(s, 1, GI_LKCMD_SETW, GI_LK_WRITE, 5, 10),
                        lk(s, fd, 0, GI_LKCMD_SETW, GI_LK_WRITE, 0, 10), lk(s, fd, 2, GI_LKCMD_SETW, GI_LK_WRITE, 5, 10)};
  struct gi_wait w;
  assert_false(gi_fop_waiting(f[0], &w));
  assert_true(gi_fop_waiting(f[1], &w));
  assert_int_equal(w.why, GI_WAIT_LOCK);
  assert_string_equal(w.what, "inode lock of domain vol-replicate-0");
  assert_string_equal(w.who, "client client-a at a:1 pid 100 owner 0100000000000000");
  assert_true(gi_fop_waiting(f[3], &w));
  assert_string_equal(w.what, "posix lock");
  assert_non_null(strstr(w.who, "client client-a "));
  gi_notify(s->x, GI_EVENT_CLIENT_GONE, &client[0]);
  fake_settle(s);
  ok(f[1]);
  ok(f[3]);
  assert_false(gi_fop_waiting(f[1], &w));
  gi_notify(s->x, GI_EVENT_CLIENT_GONE, &client[1]);
  gi_notify(s->x, GI_EVENT_CLIENT_GONE, &client[2]);
  fake_stack_free(s);
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = setup(NULL);
  uint64_t own = GI_KIND(GI_FOP_INODELK) | GI_KIND(GI_FOP_FINODELK) | GI_KIND(GI_FOP_ENTRYLK) | GI_KIND(GI_FOP_FENTRYLK) |
                 GI_KIND(GI_FOP_LK) | GI_KIND(GI_FOP_GETACTIVELK) | GI_KIND(GI_FOP_SETACTIVELK);
  fake_check_transparent(s, own);
  fake_stack_free(s);
}

static void
test_inode_conflict(void **state)
{
  struct fake_stack *s = setup(NULL);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  failed(inodelk(s, 1, GI_LKCMD_SET, GI_LK_READ, 100, 10), EAGAIN);
  assert_int_equal(s->events[GI_EVENT_CONTENTION], 1);
  failed(inodelk(s, 1, GI_LKCMD_SET, GI_LK_WRITE, 0, 0), EAGAIN);
  assert_int_equal(s->events[GI_EVENT_CONTENTION], 1);   /* not again within the delay */
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));    /* nested: a second lock of its own */
  ok(inodelk(s, 1, GI_LKCMD_SET, GI_LK_WRITE, META, 0)); /* another domain */
  struct gi_fop *w = inodelk(s, 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 10);
  assert_false(w->answered);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0));
  assert_false(w->answered);
  ok(inodelk(s, 0, GI_LKCMD_SETW, GI_LK_UNLOCK, 0, 0));
  ok(w);
  failed(inodelk(s, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0), EINVAL);
  failed(inodelk(s, 1, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 9), EINVAL); /* not the exact range */
  failed(inodelk(s, 1, GI_LKCMD_GET, GI_LK_READ, 0, 0), EOPNOTSUPP);
  failed(inodelk(s, 1, GI_LKCMD_SET, GI_LK_READ, (uint64_t)-1, 0), EINVAL);
  assert_int_equal(fake_count(s, 0, GI_FOP_MAX), 0);
  fake_stack_free(s);
}

static void
test_fairness(void **state)
{
  struct fake_stack *s = setup(NULL);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_READ, 0, 0));
  struct gi_fop *writer = inodelk(s, 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  struct gi_fop *reader = inodelk(s, 2, GI_LKCMD_SETW, GI_LK_READ, 0, 0);
  assert_false(writer->answered || reader->answered); /* the reader may not overtake */
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_READ, 5, 5));  /* but the holder may nest */
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 5, 5));
  gi_fop_cancel(writer);
  failed(writer, EINTR);
  ok(reader);
  fake_stack_free(s);
}

static void
test_cancel_and_leave(void **state)
{
  struct fake_stack *s = setup(NULL);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  ok(entrylk(s, 0, GI_ENTRYLK_LOCK, "f"));
  struct gi_fop *a = inodelk(s, 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  struct gi_fop *b = inodelk(s, 2, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  struct gi_fop *c = entrylk(s, 2, GI_ENTRYLK_LOCK, NULL);
  assert_false(a->answered || b->answered || c->answered);
  gi_notify_down(s->parent, GI_EVENT_CLIENT_GONE, &client[1]);
  failed(a, EAGAIN);
  assert_false(b->answered);
  gi_notify_down(s->parent, GI_EVENT_CLIENT_GONE, &client[0]);
  ok(b);
  ok(c);
  fake_stack_free(s);
}

static void
test_entry(void **state)
{
  struct fake_stack *s = setup(NULL);
  ok(entrylk(s, 0, GI_ENTRYLK_NB, "one"));
  ok(entrylk(s, 1, GI_ENTRYLK_NB, "two"));
  failed(entrylk(s, 1, GI_ENTRYLK_NB, "one"), EAGAIN);
  failed(entrylk(s, 2, GI_ENTRYLK_NB, NULL), EAGAIN);
  failed(entrylk(s, 0, GI_ENTRYLK_UNLOCK, "two"), EINVAL);
  struct gi_fop *all = entrylk(s, 2, GI_ENTRYLK_LOCK, NULL);
  ok(entrylk(s, 0, GI_ENTRYLK_UNLOCK, "one"));
  assert_false(all->answered);
  ok(entrylk(s, 1, GI_ENTRYLK_UNLOCK, "two"));
  ok(all);
  ok(entrylk(s, 2, GI_ENTRYLK_NB, "two")); /* nested below the whole-directory lock */
  failed(entrylk(s, 0, GI_ENTRYLK_NB, "three"), EAGAIN);
  fake_stack_free(s);
}

static void
test_owner(void **state)
{
  struct fake_stack *s = setup(NULL);
  struct gi_fop *f = fake_fop(s, GI_FOP_INODELK);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->args.cmd = GI_LKCMD_SET;
  f->args.domain = "d";
  fake_submit(s, f);
  failed(f, EINVAL);
  fake_stack_free(s);
}

static int64_t
asked(struct fake_stack *s, const char *key, const char *domain)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_STAT);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  if (domain)
    gi_dict_set_str(gi_fop_xdata(f), key, domain);
  else
    gi_dict_set_uint(gi_fop_xdata(f), key, 0);
  fake_submit(s, f);
  int64_t v = -1;
  gi_dict_get_int(f->rsp.xdata, domain ? "glusterfs.inodelk-count" : key, &v);
  return v;
}

static void
test_counts(void **state)
{
  struct fake_stack *s = setup(NULL);
  assert_int_equal(asked(s, "glusterfs.inodelk-count", NULL), 0);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, META, 0));
  ok(entrylk(s, 0, GI_ENTRYLK_LOCK, "name"));
  struct gi_fop *w = inodelk(s, 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  ok(lk(s, fake_fd(s, 5), 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 1));
  assert_int_equal(asked(s, "glusterfs.inodelk-count", NULL), 3);
  assert_int_equal(asked(s, "glusterfs.inodelk-dom-count", "vol-replicate-0"), 2);
  assert_int_equal(asked(s, "glusterfs.inodelk-dom-count", "nobody"), 0);
  assert_int_equal(asked(s, "glusterfs.entrylk-count", NULL), 1);
  assert_int_equal(asked(s, "glusterfs.posixlk-count", NULL), 1);
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 5), "name");
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.parent-entrylk", 0);
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.multi-dom-lk-cnt-req", 0);
  gi_dict_set_uint(gi_fop_xdata(f), "glusterfs.inodelk-dom-prefix:vol", 0);
  fake_submit(s, f);
  int64_t v = -1;
  assert_true(gi_dict_get_int(f->rsp.xdata, "glusterfs.parent-entrylk", &v));
  assert_int_equal(v, 1);
  assert_true(gi_dict_get_int(f->rsp.xdata, "glusterfs.inodelk-dom-prefix:vol", &v));
  gi_fop_cancel(w);
  failed(w, EINTR);
  fake_stack_free(s);
}

static void
test_posix_split_merge(void **state)
{
  struct fake_stack *s = setup(NULL);
  struct gi_fd *fd = fake_fd(s, 5);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 100));
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 40, 20)); /* 0-39, 60-99 */
  ok(lk(s, fd, 1, GI_LKCMD_SET, GI_LK_WRITE, 40, 20));
  failed(lk(s, fd, 1, GI_LKCMD_SET, GI_LK_READ, 39, 1), EAGAIN);
  struct gi_fop *get = lk(s, fd, 1, GI_LKCMD_GET, GI_LK_READ, 70, 5);
  ok(get);
  assert_int_equal(get->rsp.flock.type, GI_LK_WRITE);
  assert_int_equal(get->rsp.flock.start, 60);
  assert_int_equal(get->rsp.flock.len, 40);
  get = lk(s, fd, 0, GI_LKCMD_GET, GI_LK_READ, 70, 5);
  assert_int_equal(get->rsp.flock.type, GI_LK_UNLOCK);
  ok(lk(s, fd, 1, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0));
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_WRITE, 40, 20)); /* merges to 0-99 */
  get = lk(s, fd, 1, GI_LKCMD_GET, GI_LK_READ, 0, 0);
  assert_int_equal(get->rsp.flock.start, 0);
  assert_int_equal(get->rsp.flock.len, 100);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_READ, 100, (uint64_t)-50)); /* 50-99 becomes a read lock */
  ok(lk(s, fd, 1, GI_LKCMD_SET, GI_LK_READ, 60, 0));
  failed(lk(s, fd, 1, GI_LKCMD_SET, GI_LK_READ, 49, 1), EAGAIN);
  struct gi_fop *un = lk(s, fd, 0, GI_LKCMD_SETW, GI_LK_UNLOCK, 0, 10);
  assert_int_equal(un->rsp.flock.type, GI_LK_READ); /* the fd holds more */
  struct gi_fop *act = fake_fop(s, GI_FOP_GETACTIVELK);
  gi_loc_set_inode(&act->loc, fake_inode(s, 5));
  fake_submit(s, act);
  assert_int_equal(act->rsp.ret, 3);
  assert_string_equal(act->rsp.locks[0].client_uid[0] ? act->rsp.locks[0].client_uid : "client-a", "client-a");
  fake_stack_free(s);
}

static void
test_posix_wait_and_release(void **state)
{
  struct fake_stack *s = setup(NULL);
  struct gi_fd *fd = gi_fd_new(s->graph, fake_inode(s, 5), O_RDWR, 100);
  struct gi_fop *f = lk(s, fd, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0);
  ok(f);
  struct gi_fop *w = lk(s, fake_fd(s, 5), 1, GI_LKCMD_SETW, GI_LK_READ, 0, 0);
  assert_false(w->answered);
  fake_fop_free(f);
  gi_fd_unref(&fd); /* the last reference: the lock goes with the fd */
  fake_settle(s);
  ok(w);
  f = owned(s, GI_FOP_FLUSH, 1);
  gi_fop_set_fd(f, w->fd);
  fake_submit(s, f);
  ok(f);
  assert_int_equal(fake_count(s, 0, GI_FOP_FLUSH), 1);
  ok(lk(s, fake_fd(s, 5), 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  w = lk(s, fake_fd(s, 5), 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  gi_fop_cancel(w);
  failed(w, EINTR);
  fake_stack_free(s);
}

static struct gi_fop *
lk_in(struct fake_stack *s, unsigned who, enum gi_lock_space space, uint32_t type)
{
  struct gi_fop *f = owned(s, GI_FOP_LK, who);
  gi_fop_set_fd(f, fake_fd(s, 5));
  f->args.cmd = GI_LKCMD_SET;
  f->args.flock.type = type;
  if (space)
    gi_dict_set_uint(gi_fop_xdata(f), GI_LOCK_SPACE_KEY, space);
  fake_submit(s, f);
  return f;
}

static void
test_posix_spaces(void **state)
{
  struct fake_stack *s = setup(NULL);
  ok(lk_in(s, 0, GI_LOCK_FLOCK, GI_LK_WRITE));
  ok(lk_in(s, 1, GI_LOCK_FCNTL, GI_LK_WRITE));
  failed(lk_in(s, 2, GI_LOCK_FLOCK, GI_LK_WRITE), EAGAIN);
  failed(lk_in(s, 2, GI_LOCK_FCNTL, GI_LK_READ), EAGAIN);
  failed(lk_in(s, 2, GI_LOCK_ANY, GI_LK_WRITE), EAGAIN);
  ok(lk_in(s, 0, GI_LOCK_FLOCK, GI_LK_UNLOCK));
  failed(lk_in(s, 2, GI_LOCK_ANY, GI_LK_WRITE), EAGAIN); /* who does not tell meets both */
  ok(lk_in(s, 1, GI_LOCK_FCNTL, GI_LK_UNLOCK));
  ok(lk_in(s, 2, GI_LOCK_ANY, GI_LK_WRITE));
  failed(lk_in(s, 0, GI_LOCK_FLOCK, GI_LK_WRITE), EAGAIN);
  failed(lk_in(s, 1, GI_LOCK_FCNTL, GI_LK_WRITE), EAGAIN);
  failed(lk_in(s, 1, 7, GI_LK_WRITE), EAGAIN);
  fake_stack_free(s);
}

static unsigned
domains_dumped(struct fake_stack *s)
{
  char *text = NULL;
  size_t len;
  unsigned n = 0;
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  gi_graph_statedump(s->graph, &d);
  fclose(d.out);
  for (const char *p = text; (p = strstr(p, "lock-dump.domain.domain=")); p++)
    n++;
  free(text);
  return n;
}

static void
test_domains_go_with_their_client(void **state)
{
  struct fake_stack *s = setup(NULL);
  ok(inodelk(s, 1, GI_LKCMD_SET, GI_LK_WRITE, 0, 0)); /* keeps the inode in the dump */
  for (unsigned i = 0; i < 100; i++) {
    char name[16];
    struct gi_fop *f = owned(s, GI_FOP_INODELK, 0);
    snprintf(name, sizeof(name), "domain-%u", i);
    gi_loc_set_inode(&f->loc, fake_inode(s, 5));
    f->args.cmd = GI_LKCMD_SET;
    f->args.flock.type = GI_LK_WRITE;
    f->args.domain = name;
    fake_submit(s, f);
    ok(f);
  }
  assert_int_equal(domains_dumped(s), 101);
  gi_notify_down(s->parent, GI_EVENT_CLIENT_GONE, &client[0]);
  assert_true(domains_dumped(s) <= 5);
  ok(inodelk(s, 1, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0));
  fake_stack_free(s);
}

/* A request that was taken out of the queue is no more, whatever happens to the lock later. */
static void
test_posix_cleared_while_waiting(void **state)
{
  struct fake_stack *s = setup(NULL);
  struct gi_fd *fd = fake_fd(s, 5);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  struct gi_fop *f = lk(s, fd, 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  clear(s, 2, "glusterfs.clrlk.tposix.kblocked");
  failed(f, EINTR);
  fake_fop_free(f);
  assert_int_equal(asked(s, "glusterfs.posixlk-count", NULL), 1);
  f = lk(s, fd, 2, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0));
  ok(f);
  assert_int_equal(asked(s, "glusterfs.posixlk-count", NULL), 1);
  fake_stack_free(s);
}

static struct gi_fop *
wait_in(struct fake_stack *s, unsigned who, uint8_t file, enum gi_lock_space space, uint64_t start)
{
  struct gi_fop *f = owned(s, GI_FOP_LK, who);
  gi_fop_set_fd(f, fake_fd(s, file));
  f->args.cmd = GI_LKCMD_SETW;
  f->args.flock = (struct gi_flock){.type = GI_LK_WRITE, .start = start, .len = 1};
  if (space)
    gi_dict_set_uint(gi_fop_xdata(f), GI_LOCK_SPACE_KEY, space);
  fake_submit(s, f);
  return f;
}

/* Nobody waits for somebody who waits for him, be it for another file or by way of a third. */
static void
test_posix_deadlock(void **state)
{
  struct fake_stack *s = setup(NULL);
  struct gi_fop *first, *second, *old, *whole;
  ok(wait_in(s, 0, 5, GI_LOCK_FCNTL, 0));
  ok(wait_in(s, 1, 5, GI_LOCK_FCNTL, 1));
  ok(wait_in(s, 2, 6, GI_LOCK_FCNTL, 0));
  assert_false((first = wait_in(s, 0, 5, GI_LOCK_FCNTL, 1))->answered);
  failed(wait_in(s, 1, 5, GI_LOCK_FCNTL, 0), EDEADLK);
  assert_false((second = wait_in(s, 1, 6, GI_LOCK_FCNTL, 0))->answered);
  failed(wait_in(s, 2, 5, GI_LOCK_FCNTL, 0), EDEADLK);
  assert_false((old = wait_in(s, 2, 5, GI_LOCK_ANY, 0))->answered); /* may be flock, which knows no such answer */
  gi_fop_cancel(old);
  failed(old, EINTR);
  gi_fop_cancel(second); /* who waits no more is in nobody's way */
  failed(second, EINTR);
  assert_false((whole = wait_in(s, 2, 5, GI_LOCK_FCNTL, 0))->answered);
  ok(lk(s, fake_fd(s, 5), 1, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0));
  ok(first);
  ok(lk(s, fake_fd(s, 5), 0, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0));
  ok(whole);
  fake_stack_free(s);
}

static void
test_posix_unknown_command(void **state)
{
  struct fake_stack *s = setup(NULL);
  failed(lk(s, fake_fd(s, 5), 0, 6, GI_LK_READ, 0, 0), EOPNOTSUPP);
  failed(lk(s, fake_fd(s, 5), 0, GI_LKCMD_REMEMBER, GI_LK_READ, 0, 0), EOPNOTSUPP);
  failed(lk(s, fake_fd(s, 5), 0, GI_LKCMD_SET, 3, 0, 0), EINVAL);
  fake_stack_free(s);
}

/* The next connection of the process behind client[0]. */
static struct gi_client_id anew = {"client-a-RECON_NO:-7", "a:2"};

static bool
again(struct fake_stack *s, uint32_t type, uint64_t start, uint64_t len)
{
  struct gi_fop *f = owned(s, GI_FOP_LK, 0);
  int64_t v;
  gi_fop_set_fd(f, fake_fd(s, 5));
  f->caller.client = &anew;
  f->args.cmd = GI_LKCMD_SET;
  f->args.flock = (struct gi_flock){.type = type, .start = start, .len = len};
  gi_dict_set_uint(gi_fop_xdata(f), GI_LOCK_AGAIN_KEY, 1);
  fake_submit(s, f);
  ok(f);
  return gi_dict_get_int(f->rsp.xdata, GI_LOCK_AGAIN_KEY, &v);
}

static void
test_posix_taken_again(void **state)
{
  struct fake_stack *s = setup(NULL);
  struct gi_fd *fd = fake_fd(s, 5);
  assert_false(again(s, GI_LK_WRITE, 0, 10)); /* never was its own */
  ok(lk(s, fd, 2, GI_LKCMD_SET, GI_LK_WRITE, 1000, 1));
  gi_notify_down(s->parent, GI_EVENT_CLIENT_GONE, &anew);
  assert_true(again(s, GI_LK_WRITE, 0, 4));
  assert_true(again(s, GI_LK_WRITE, 6, 4));
  assert_false(again(s, GI_LK_WRITE, 0, 11));
  gi_notify_down(s->parent, GI_EVENT_CLIENT_GONE, &anew);
  ok(lk(s, fd, 1, GI_LKCMD_SET, GI_LK_READ, 2, 1)); /* in between somebody had a byte of it */
  ok(lk(s, fd, 1, GI_LKCMD_SET, GI_LK_UNLOCK, 2, 1));
  assert_false(again(s, GI_LK_WRITE, 0, 10));
  for (unsigned i = 0; i < 200; i++) { /* no more is kept than there is room for */
    again(s, GI_LK_WRITE, 2000 + 2 * i, 1);
    gi_notify_down(s->parent, GI_EVENT_CLIENT_GONE, &anew);
  }
  assert_false(again(s, GI_LK_WRITE, 2000, 1));
  assert_true(again(s, GI_LK_WRITE, 2398, 1));
  fake_stack_free(s);
}

static struct gi_fop *
io(struct fake_stack *s, struct gi_fd *fd, unsigned who, enum gi_fop_kind kind)
{
  struct gi_fop *f = owned(s, kind, who);
  gi_fop_set_fd(f, fd);
  f->args.offset = 10;
  f->args.size = 10;
  if (kind == GI_FOP_WRITE)
    gi_payload_add_copy(&f->payload, "0123456789", 10);
  fake_submit(s, f);
  return f;
}

static void
test_mandatory(void **state)
{
  struct fake_stack *s = setup("option mandatory-locking forced\n");
  struct gi_fd *fd = fake_fd(s, 5);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_READ, 0, 15));
  assert_int_equal(io(s, fd, 1, GI_FOP_READ)->rsp.ret, 10);
  struct gi_fop *w = io(s, fd, 1, GI_FOP_WRITE);
  assert_false(w->answered);
  assert_int_equal(io(s, fd, 0, GI_FOP_WRITE)->rsp.ret, 10);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0));
  assert_true(w->answered);
  assert_int_equal(w->rsp.ret, 10);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 15));
  fd->flags |= O_NONBLOCK;
  failed(io(s, fd, 1, GI_FOP_READ), EAGAIN);
  failed(io(s, fd, 1, GI_FOP_FTRUNCATE), EAGAIN); /* from byte 10 to the end */
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 10, 0));
  ok(io(s, fd, 1, GI_FOP_FTRUNCATE));
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_WRITE, 1000, 1));
  failed(io(s, fd, 1, GI_FOP_FTRUNCATE), EAGAIN);
  fake_stack_free(s);
}

/* Else an open, or a lookup before it, would read what a lock binds. */
static void
test_no_content_with_an_open_where_locks_bind(void **state)
{
  for (unsigned i = 0; i < 4; i++) {
    bool on = i & 1;
    struct fake_stack *s = setup(on ? "option mandatory-locking file\n" : NULL);
    struct gi_fop *f = owned(s, i < 2 ? GI_FOP_OPEN : GI_FOP_LOOKUP, 0);
    if (i < 2)
      gi_fop_set_fd(f, fake_fd(s, 5));
    else
      gi_fop_set_entry(f, &f->loc, fake_inode(s, 1), "name");
    uint64_t max = 1;
    gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, 100);
    fake_submit(s, f);
    ok(f);
    assert_true(gi_dict_get_uint(f->xdata, GI_CONTENT_KEY, &max));
    assert_int_equal(max, on ? 0 : 100); /* attributes at most */
    fake_stack_free(s);
  }
}

static void
test_fence(void **state)
{
  struct fake_stack *s = setup("option mandatory-locking forced\noption enforce-mandatory-lock on\n");
  struct gi_fd *fd = fake_fd(s, 5);
  struct gi_fop *f = owned(s, GI_FOP_FSETXATTR, 0);
  gi_fop_set_fd(f, fd);
  f->args.dict = gi_dict_new();
  gi_dict_set_str(f->args.dict, "trusted.glusterfs.enforce-mandatory-lock", "set");
  fake_submit(s, f);
  ok(f);
  failed(io(s, fd, 0, GI_FOP_WRITE), EBUSY);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  assert_int_equal(io(s, fd, 0, GI_FOP_WRITE)->rsp.ret, 10);
  ok(lk(s, fd, 1, GI_LKCMD_SET, GI_LK_WRITE, 0, 0)); /* takes it away */
  failed(io(s, fd, 0, GI_FOP_WRITE), EBUSY);
  fake_stack_free(s);
}

static struct gi_fop *
clear(struct fake_stack *s, unsigned who, const char *name)
{
  struct gi_fop *f = owned(s, GI_FOP_GETXATTR, who);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->args.name = name;
  fake_submit(s, f);
  return f;
}

static void
test_clear(void **state)
{
  struct fake_stack *s = setup(NULL);
  const char *text;
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  struct gi_fop *w = inodelk(s, 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  struct gi_fop *f = clear(s, 2, "glusterfs.clrlk.tentry.kall");
  assert_true(gi_dict_get_str(f->rsp.dict, "glusterfs.clrlk.tentry.kall", &text));
  assert_string_equal(text, "No locks cleared.");
  f = clear(s, 2, "glusterfs.clrlk.tinode.kgranted.0,0-0");
  assert_true(f->rsp.ret > 0);
  assert_true(gi_dict_get_str(f->rsp.dict, "glusterfs.clrlk.tinode.kgranted.0,0-0", &text));
  assert_non_null(strstr(text, ": inode blocked locks=0 granted locks=1"));
  ok(w);
  w = inodelk(s, 0, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  clear(s, 2, "glusterfs.clrlk.tinode.kblocked");
  failed(w, EAGAIN);
  failed(clear(s, 2, "glusterfs.clrlk.tbogus.kall"), EINVAL);
  failed(clear(s, 2, "glusterfs.clrlk.tinode.kall.0,x-0"), EINVAL);
  char endless[4096];
  snprintf(endless, sizeof(endless), "glusterfs.clrlk.tentry.kall.%0*d", 4000, 0);
  failed(clear(s, 2, endless), EINVAL);
  assert_int_equal(fake_count(s, 0, GI_FOP_GETXATTR), 0);
  fake_stack_free(s);
}

/* A range is the bytes from its first to its last. */
static void
test_clear_a_range(void **state)
{
  static const struct {
    const char *name;
    bool goes;
  } t[] = {
      {"glusterfs.clrlk.tposix.kgranted.0,0-10", false},
      {"glusterfs.clrlk.tposix.kgranted.0,20-0", false},
      {"glusterfs.clrlk.tposix.kgranted.0,19-1", true},
      {"glusterfs.clrlk.tposix.kgranted.0,0-11", true},
  };
  struct fake_stack *s = setup(NULL);
  for (size_t i = 0; i < GI_ARRAY_LEN(t); i++) {
    ok(lk(s, fake_fd(s, 5), 0, GI_LKCMD_SET, GI_LK_WRITE, 10, 10));
    clear(s, 2, t[i].name);
    assert_int_equal(asked(s, "glusterfs.posixlk-count", NULL), !t[i].goes);
  }
  fake_stack_free(s);
}

static struct gi_fop *
clear_as(struct fake_stack *s, unsigned who, uint32_t uid, int32_t pid, const char *name)
{
  struct gi_fop *f = owned(s, GI_FOP_GETXATTR, who);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->caller.uid = uid;
  f->caller.pid = pid;
  f->args.name = name;
  fake_submit(s, f);
  return f;
}

static void
test_who_clears(void **state)
{
  static const char *const names[] = {"glusterfs.clrlk.tposix.kall", "glusterfs.clrlk.tinode.kall",
                                      "glusterfs.clrlk.tentry.kblocked", "glusterfs.intrlk.tposix.kall",
                                      "glusterfs.intrlk.tinode.kblocked"};
  struct fake_stack *s = setup(NULL);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  ok(lk(s, fake_fd(s, 5), 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  struct gi_fop *w = lk(s, fake_fd(s, 5), 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  for (unsigned i = 0; i < GI_ARRAY_LEN(names); i++) {
    failed(clear_as(s, 0, 65534, 7, names[i]), EPERM);
    failed(clear_as(s, 0, 65534, -1, names[i]), EPERM); /* squashed: what it says of itself does not count */
  }
  failed(inodelk(s, 1, GI_LKCMD_SET, GI_LK_WRITE, 0, 0), EAGAIN);
  assert_false(w->answered);
  clear_as(s, 1, 65534, w->caller.pid, "glusterfs.intrlk.tposix.kblocked.0,0-0"); /* one's own request may be taken back */
  failed(w, EINTR);
  assert_true(clear_as(s, 2, 0, 7, "glusterfs.clrlk.tposix.kall")->rsp.ret > 0);
  ok(lk(s, fake_fd(s, 5), 1, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  fake_stack_free(s);
}

static struct gi_fop *
unlink_of(struct fake_stack *s, unsigned who)
{
  struct gi_fop *f = owned(s, GI_FOP_UNLINK, who);
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 8), "name");
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  fake_submit(s, f);
  return f;
}

/* Nobody waits for the locks of others to take a name away, and the holder keeps what it has. */
static void
test_removes_do_not_look_at_locks(void **state)
{
  struct fake_stack *s = setup(NULL);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  ok(unlink_of(s, 1));
  assert_int_equal(s->events[GI_EVENT_CONTENTION], 0);
  failed(inodelk(s, 2, GI_LKCMD_SET, GI_LK_READ, 0, 0), EAGAIN);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0));
  fake_stack_free(s);
}

static void
test_revocation(void **state)
{
  struct fake_stack *s = setup("option revocation-max-blocked 1\n");
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  struct gi_fop *a = inodelk(s, 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  assert_false(a->answered);
  struct gi_fop *b = inodelk(s, 2, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  ok(a); /* the holder lost its lock */
  assert_false(b->answered);
  fake_stack_free(s);
}

static void
test_statedump(void **state)
{
  struct fake_stack *s = setup(NULL);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  ok(entrylk(s, 0, GI_ENTRYLK_LOCK, "n"));
  ok(lk(s, fake_fd(s, 5), 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 1));
  struct gi_fop *w = inodelk(s, 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  assert_false(w->answered);
  char *text = NULL;
  size_t len;
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  gi_graph_statedump(s->graph, &d);
  fclose(d.out);
  assert_non_null(strstr(text, "lock-dump.domain.domain=vol-replicate-0"));
  assert_non_null(strstr(text, "inodelk.inodelk[0](ACTIVE)=type=WRITE"));
  assert_non_null(strstr(text, "inodelk.inodelk[1](BLOCKED)"));
  assert_non_null(strstr(text, "posixlk.posixlk[0](ACTIVE)=type=WRITE, whence=0, start=0, len=1,"));
  assert_non_null(strstr(text, "client-b"));
  free(text);
  fake_stack_free(s);
}

struct told {
  unsigned n;
  char line[16][128];
};

static void
note_lock(struct gi_question *q, const struct gi_fact_lock *f)
{
  struct told *t = q->arg;
  assert_true(t->n < GI_ARRAY_LEN(t->line));
  assert_true(f->since.sec > 0 && f->owner->len == 8);
  snprintf(t->line[t->n++], sizeof(t->line[0]), "%s %s%s %s %s %llu+%llu %s %s", f->kind, f->domain ? f->domain : "-",
           f->name ? f->name : "", f->granted ? "granted" : "waiting", f->write ? "write" : "read",
           (unsigned long long)f->start, (unsigned long long)f->len, f->client, f->address);
}

static bool
was_told(const struct told *t, const char *line)
{
  for (unsigned i = 0; i < t->n; i++)
    if (strcmp(t->line[i], line) == 0)
      return true;
  return false;
}

static struct told
ask_locks(struct fake_stack *s, const struct gi_gfid *gfid, uint32_t room, bool more)
{
  struct told t = {0};
  struct gi_question q = {.what = GI_ASK_LOCKS, .gfid = gfid, .lock = note_lock, .arg = &t, .left = room};
  gi_graph_ask(s->graph, &q);
  assert_int_equal(q.more, more);
  return t;
}

static void
test_observers_are_told_of_every_lock(void **state)
{
  struct fake_stack *s = setup(NULL);
  ok(inodelk(s, 0, GI_LKCMD_SET, GI_LK_WRITE, 0, 0));
  ok(entrylk(s, 0, GI_ENTRYLK_LOCK, "n"));
  ok(lk(s, fake_fd(s, 5), 0, GI_LKCMD_SET, GI_LK_WRITE, 3, 7));
  struct gi_fop *inode = inodelk(s, 1, GI_LKCMD_SETW, GI_LK_READ, 8, 2);
  struct gi_fop *posix = lk(s, fake_fd(s, 5), 2, GI_LKCMD_SETW, GI_LK_READ, 0, 0);
  assert_false(inode->answered || posix->answered);
  struct told t = ask_locks(s, NULL, 16, false);
  assert_int_equal(t.n, 5);
  assert_true(was_told(&t, "inode vol-replicate-0 granted write 0+0 client-a a:1"));
  assert_true(was_told(&t, "inode vol-replicate-0 waiting read 8+2 client-b b:1"));
  assert_true(was_told(&t, "entry vol-replicate-0n granted write 0+0 client-a a:1"));
  assert_true(was_told(&t, "posix - granted write 3+7 client-a a:1"));
  assert_true(was_told(&t, "posix - waiting read 0+0 client-c c:1"));
  assert_int_equal(ask_locks(s, &fake_inode(s, 5)->gfid, 16, false).n, 5);
  assert_int_equal(ask_locks(s, &fake_inode(s, 6)->gfid, 16, false).n, 0);
  assert_int_equal(ask_locks(s, NULL, 2, true).n, 2);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_a_waiting_request_says_for_whom),
      cmocka_unit_test(test_inode_conflict),
      cmocka_unit_test(test_fairness),
      cmocka_unit_test(test_cancel_and_leave),
      cmocka_unit_test(test_entry),
      cmocka_unit_test(test_owner),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_posix_split_merge),
      cmocka_unit_test(test_posix_wait_and_release),
      cmocka_unit_test(test_posix_taken_again),
      cmocka_unit_test(test_posix_spaces),
      cmocka_unit_test(test_posix_deadlock),
      cmocka_unit_test(test_posix_cleared_while_waiting),
      cmocka_unit_test(test_posix_unknown_command),
      cmocka_unit_test(test_domains_go_with_their_client),
      cmocka_unit_test(test_mandatory),
      cmocka_unit_test(test_no_content_with_an_open_where_locks_bind),
      cmocka_unit_test(test_fence),
      cmocka_unit_test(test_clear),
      cmocka_unit_test(test_clear_a_range),
      cmocka_unit_test(test_who_clears),
      cmocka_unit_test(test_removes_do_not_look_at_locks),
      cmocka_unit_test(test_revocation),
      cmocka_unit_test(test_statedump),
      cmocka_unit_test(test_observers_are_told_of_every_lock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
