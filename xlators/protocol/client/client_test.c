/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/client against a real protocol/server over loopback.
 */
#include "libglusterish/trace.h"
#include "tests/unit/brick-bench.h"
#include "xlators/protocol/client/client.h"

#include <errno.h>
#include <fcntl.h>

#define NOT_SENT \
  (GI_KIND(GI_FOP_NULL) | GI_KIND(GI_FOP_COMPOUND) | GI_KIND(GI_FOP_SETACTIVELK) | GI_KIND(GI_FOP_NAMELINK) | \
   GI_KIND(GI_FOP_PUT) | GI_KIND(GI_FOP_RELEASE) | GI_KIND(GI_FOP_RELEASEDIR))

/* ---- requests ---- */

struct seen {
  unsigned calls;
  struct gi_caller caller;
  bool anonymous;
  uint32_t flags;
  uint8_t data[64];
  size_t len;
  char owner[16];
};

static void
look(struct gi_fop *fop, void *arg)
{
  struct seen *s = arg;
  s->calls++;
  s->caller = fop->caller;
  s->anonymous = fop->fd && fop->fd->anonymous;
  s->flags = fop->args.flags;
  s->len = gi_payload_read(&fop->payload, 0, s->data, sizeof(s->data));
  if (fop->kind == GI_FOP_CREATE || fop->kind == GI_FOP_LOOKUP) {
    memset(&fop->rsp.stat.gfid, 0x44, 16);
    fop->rsp.stat.mode = S_IFREG | 0644;
    fop->rsp.stat.size = 4711;
  }
}

/* ---- bricks of GlusterFS ---- */

static void
note_xdata(struct gi_fop *fop, void *arg)
{
  struct gi_dict **seen = arg;
  gi_dict_unref(seen);
  *seen = fop->xdata ? gi_dict_ref(fop->xdata) : NULL;
}

/* ---- trees ---- */

static void
keep_told(struct gi_trace *t, struct gi_told *told)
{
  struct gi_told **kept = t->arg;
  gi_told_put(kept);
  *kept = gi_told_ref(told);
}

/* What a brick does is part of the tree, in the middle of the round trip; only a tree that is collected costs anything on the wire, and
 * the layers see nothing of it. */
static void
test_a_brick_adds_its_steps(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct client *c = b->client->x->private;
  struct gi_dict *seen = NULL;
  struct gi_told *told = NULL;
  struct gi_trace t = {.got = keep_told, .arg = &told};
  for (int ours = 1; ours >= 0; ours--) {
    struct gi_fop *f = fake_fop(b->client, GI_FOP_LOOKUP);
    gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
    f->xdata = gi_dict_new();
    gi_dict_set_int(f->xdata, "link-count", 1);
    fake_script(b->server, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = note_xdata, .arg = &seen});
    c->peer_is_ours = ours;
    gi_trace_arm(b->client->ctx.seen, &t);
    bench_submit(b, f);
    gi_trace_disarm(b->client->ctx.seen, &t);
    assert_non_null(told);
    assert_null(gi_dict_get(seen, GI_TRACE_KEY));
    assert_null(gi_dict_get(f->rsp.xdata, GI_TRACE_STEPS_KEY));
    const struct gi_step *mine = told->tree, *brick = mine->steps;
    assert_string_equal(mine->layer->type, "protocol/client");
    assert_int_equal(brick != NULL, ours);
    if (ours) {
      assert_string_equal(brick->layer->name, BENCH_BRICK);
      assert_string_equal(brick->place->role, "brick");
      assert_int_equal(mine->wire_ns, mine->took_ns - brick->took_ns);
      assert_int_equal(mine->own_ns + brick->own_ns, told->took_ns);
      assert_in_range(brick->start_ns, mine->wire_ns / 2, mine->wire_ns / 2);
    }
    fake_fop_free(f);
  }
  gi_told_put(&told);
  gi_dict_unref(&seen);
  bench_free(b);
}

/* Such a brick does not introduce itself as one of ours. */
static void
test_private_keys_are_for_bricks_of_ours(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct client *c = b->client->x->private;
  struct gi_dict *seen = NULL, *shared = gi_dict_new();
  gi_dict_set_int(shared, GI_TWIN_KEY, 1);
  gi_dict_set_int(shared, "link-count", 1);
  gi_dict_set_int(shared, GI_NAMED_KEY, 1);
  for (int ours = 1; ours >= 0; ours--) {
    struct gi_fop *f = fake_fop(b->client, GI_FOP_LOOKUP);
    gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
    f->xdata = gi_dict_ref(shared);
    fake_script(b->server, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = note_xdata, .arg = &seen});
    c->peer_is_ours = ours;
    bench_submit(b, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(gi_dict_get(seen, GI_TWIN_KEY) != NULL, ours);
    assert_int_equal(gi_dict_get(seen, GI_NAMED_KEY) != NULL, ours);
    assert_non_null(gi_dict_get(seen, "link-count"));
    assert_non_null(gi_dict_get(shared, GI_NAMED_KEY)); /* somebody else's too */
    fake_fop_free(f);
  }
  gi_dict_unref(&seen);
  gi_dict_unref(&shared);
  bench_free(b);
}

/* Another brick would put it over what has the name. */
static void
test_renames_to_free_names_are_for_bricks_of_ours(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct client *c = b->client->x->private;
  for (int ours = 1; ours >= 0; ours--) {
    struct gi_fop *f = bench_request(b, GI_FOP_RENAME, NULL);
    gi_dict_set_int(gi_fop_xdata(f), GI_NOREPLACE_KEY, 1);
    fake_forget_seen(b->server);
    c->peer_is_ours = ours;
    bench_submit(b, f);
    assert_int_equal(f->rsp.ret, ours ? 0 : -1);
    assert_int_equal(f->rsp.err, ours ? 0 : EOPNOTSUPP);
    assert_int_equal(b->server->nseen, ours);
    fake_fop_free(f);
  }
  bench_free(b);
}

/* ---- handles ---- */

/* The brick gave another handle for the same descriptor: the older one is of no use to anybody. */
static void
test_opened_twice(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  struct seen seen = {0};
  bench_turn(b, 5);
  assert_int_equal(b->server->graph->fds_live, 1);
  struct gi_fop *f = bench_request(b, GI_FOP_OPEN, fd);
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  bench_turn(b, 5);
  assert_int_equal(b->server->graph->fds_live, 1);
  f = bench_request(b, GI_FOP_FSTAT, fd);
  fake_script(b->server, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = look, .arg = &seen});
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_false(seen.anonymous);
  bench_free(b);
}

/* ---- round trips ---- */

static void
test_every_kind(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  for (unsigned k = 1; k < GI_FOP_MAX; k++) {
    if (!gi_fop_table[k].name || (NOT_SENT & GI_KIND(k)))
      continue;
    struct seen seen = {0};
    struct gi_fop *f = bench_request(b, k, fd);
    fake_script(b->server, 0, k, (struct fake_reply){.ret = k == GI_FOP_READ ? 5 : 0, .fill = look, .arg = &seen});
    bench_submit(b, f);
    if (f->rsp.ret < 0)
      fail_msg("%s: errno %d", gi_fop_name(k), f->rsp.err);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.caller.uid, 7);
    assert_int_equal(seen.caller.gid, 8);
    assert_int_equal(seen.caller.owner.len, 8);
    assert_non_null(seen.caller.client);
    assert_false(seen.anonymous);
    if (k == GI_FOP_WRITE)
      assert_memory_equal(seen.data, "hello", 5);
    if (k == GI_FOP_READ)
      assert_int_equal(f->rsp.payload.len, 5);
    if (k == GI_FOP_LOOKUP)
      assert_int_equal(f->rsp.stat.size, 4711);
    if (k == GI_FOP_CREATE)
      assert_non_null(f->fd->inode);
    fake_fop_free(f);
  }
  bench_free(b);
}

static void
check_errno(struct bench *b, enum gi_fop_kind k, struct gi_fd *fd, int err)
{
  struct gi_fop *f = bench_request(b, k, fd);
  fake_script(b->server, 0, k, (struct fake_reply){.ret = -1, .err = err});
  bench_submit(b, f);
  if (f->rsp.ret != -1 || f->rsp.err != err)
    fail_msg("%s: %d/%d instead of -1/%d", gi_fop_name(k), f->rsp.ret, f->rsp.err, err);
  fake_fop_free(f);
  fake_forget_seen(b->server);
}

static void
test_errno_passes(void **state)
{
  static const int some[] = {EPERM, ENOENT, EIO, EAGAIN, ENOSPC, EROFS, ENAMETOOLONG, ENODATA, ESTALE, EDQUOT};
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  for (unsigned k = 1; k < GI_FOP_MAX; k++)
    if (gi_fop_table[k].name && !(NOT_SENT & GI_KIND(k)))
      for (unsigned i = 0; i < GI_ARRAY_LEN(some); i++)
        check_errno(b, k, fd, some[i]);
  for (int err = 1; err <= 133; err++)
    check_errno(b, GI_FOP_STAT, fd, err);
  bench_free(b);
}

static void
fill_large(struct gi_fop *fop, void *arg)
{
  struct gi_buf *buf = gi_buf_new(1u << 20);
  for (size_t i = 0; i < 1u << 20; i++)
    buf->base[i] = (uint8_t)(i * 31);
  gi_payload_add(&fop->rsp.payload, buf, buf->base, 1u << 20);
  gi_buf_unref(&buf);
}

static void
test_large_payload_is_not_copied(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = bench_request(b, GI_FOP_READ, bench_open(b, 9, O_RDONLY));
  f->args.size = 1u << 20;
  fake_script(b->server, 0, GI_FOP_READ, (struct fake_reply){.ret = 1 << 20, .fill = fill_large});
  uint64_t copied = gi_payload_copied;
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 1 << 20);
  assert_int_equal(f->rsp.payload.len, 1 << 20);
  assert_true(gi_payload_copied - copied < (1u << 20) / 20);
  uint8_t byte;
  gi_payload_read(&f->rsp.payload, 999999, &byte, 1);
  assert_int_equal(byte, (uint8_t)(999999 * 31));
  bench_free(b);
}

static void
test_dead_kinds_are_refused(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = bench_request(b, GI_FOP_NAMELINK, NULL);
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EOPNOTSUPP);
  assert_int_equal(b->server->nseen, 0);
  bench_free(b);
}

static void
test_several_connections(void **state)
{
  struct bench *b = bench_new(NULL, "option connections-per-brick 4\n", true);
  struct gi_fop *f[32];
  for (uint8_t i = 0; i < 32; i++) {
    f[i] = fake_fop(b->client, GI_FOP_STAT);
    gi_loc_set_inode(&f[i]->loc, fake_inode(b->client, (uint8_t)(i + 1)));
    bench_send(b, f[i]);
  }
  bench_turn(b, 20);
  for (unsigned i = 0; i < 32; i++)
    assert_int_equal(f[i]->rsp.ret, 0);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_STAT), 32);
  /* One connection's end is the end of all, and they come back together. */
  struct gi_fop *held = bench_request(b, GI_FOP_STAT, NULL);
  fake_script(b->server, 0, GI_FOP_STAT, (struct fake_reply){.hold = true});
  bench_send(b, held);
  bench_turn(b, 5);
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  assert_int_equal(held->rsp.err, ENOTCONN);
  bench_start_server(b, NULL);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  bench_free(b);
}

/* ---- handles ---- */

static void
test_release(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = fake_fop(b->client, GI_FOP_OPEN);
  struct gi_fd *fd = gi_fd_new(b->client->graph, fake_inode(b->client, 9), O_RDWR, 1);
  gi_fop_set_fd(f, fd);
  bench_submit(b, f);
  fake_fop_free(f);
  assert_int_equal(b->server->graph->fds_live, 1);
  gi_fd_unref(&fd);
  for (unsigned i = 0; i < 500 && b->server->graph->fds_live; i++)
    bench_turn(b, 10);
  assert_int_equal(b->server->graph->fds_live, 0);
  bench_free(b);
}

static void
test_anonymous_when_not_open(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct seen seen = {0};
  struct gi_fd *fd = fake_fd(b->client, 9); /* never opened here */
  struct gi_fop *f = bench_request(b, GI_FOP_WRITE, fd);
  fake_script(b->server, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 5, .fill = look, .arg = &seen});
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 5);
  assert_true(seen.anonymous);
  f = bench_request(b, GI_FOP_FSYNCDIR, fd);
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EBADF);
  bench_free(b);
}

static void
test_reconnect_reopens(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct seen seen = {0};
  struct gi_fd *fd = bench_open(b, 9, O_RDWR | O_TRUNC | O_CREAT);
  struct gi_fop *held = bench_request(b, GI_FOP_READ, fd);
  fake_script(b->server, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  bench_send(b, held);
  bench_turn(b, 5);
  assert_int_equal(fake_held(b->server, 0), 1);
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  assert_true(held->answered);
  assert_int_equal(held->rsp.err, ENOTCONN);

  struct gi_fop *f = bench_request(b, GI_FOP_READ, fd);
  bench_send(b, f);
  assert_true(f->answered); /* at once */
  assert_int_equal(f->rsp.err, ENOTCONN);

  bench_start_server(b, NULL);
  fake_script(b->server, 0, GI_FOP_OPEN, (struct fake_reply){.fill = look, .arg = &seen});
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  assert_int_equal(seen.calls, 1);
  assert_int_equal(seen.flags, O_RDWR);
  f = bench_request(b, GI_FOP_READ, fd);
  fake_script(b->server, 0, GI_FOP_READ, (struct fake_reply){.ret = 5, .fill = look, .arg = &seen});
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 5);
  assert_false(seen.anonymous);
  bench_free(b);
}

static void
tell(struct bench *b, enum gi_event event)
{
  struct gi_xlator *x = b->client->graph->top->children[0];

  while (strcmp(x->cls->type, "protocol/client") != 0)
    x = x->children[0];
  gi_notify(x, event, NULL);
}

/* Attempts come ever less often, until somebody tells that the brick may be there. */
static void
test_news_hurries(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  tell(b, GI_EVENT_RETRY); /* nothing to be tried */
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  uint64_t end = gi_now(b->client->graph->ctx->reactor) + 2 * GI_NSEC_PER_SEC;
  while (gi_now(b->client->graph->ctx->reactor) < end)
    bench_turn(b, 1);
  bench_start_server(b, NULL);
  tell(b, GI_EVENT_RETRY);
  end = gi_now(b->client->graph->ctx->reactor) + 400 * GI_NSEC_PER_MSEC;
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  assert_true(gi_now(b->client->graph->ctx->reactor) < end);
  bench_free(b);
}

static void
restart_server(struct bench *b, int32_t open_err)
{
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_start_server(b, NULL);
  if (open_err)
    fake_script(b->server, 0, GI_FOP_OPEN, (struct fake_reply){.ret = -1, .err = open_err});
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
}

static void
test_failed_reopen_is_bad(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  restart_server(b, ESTALE);
  struct gi_fop *f = bench_request(b, GI_FOP_READ, fd);
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EBADFD);
  bench_free(b);
}

static void
lock_and_restart(struct bench *b, int want)
{
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  struct gi_fop *f = bench_request(b, GI_FOP_LK, fd);
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  restart_server(b, 0);
  f = bench_request(b, GI_FOP_FSTAT, fd);
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret < 0 ? f->rsp.err : 0, want);
}

static void
test_strict_locks(void **state)
{
  struct bench *b = bench_new(NULL, "option strict-locks on\n", true);
  lock_and_restart(b, EBADFD);
  bench_free(b);
  b = bench_new(NULL, NULL, true);
  lock_and_restart(b, 0);
  bench_free(b);
}

/* ---- what the brick tells ---- */

static void
test_callbacks(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_invalidation inv = {.flags = 0x18, .expire_s = 60, .stat = {.mode = S_IFREG}};
  memset(&inv.gfid, 9, 16);
  fake_event(b->server, 0, GI_EVENT_INVALIDATE, &inv);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_INVALIDATE], 1));

  /* Contention names its client: learn it from an operation. */
  struct seen seen = {0};
  struct gi_fop *f = bench_request(b, GI_FOP_STAT, NULL);
  fake_script(b->server, 0, GI_FOP_STAT, (struct fake_reply){.fill = look, .arg = &seen});
  bench_submit(b, f);
  struct gi_contention con = {.gfid = inv.gfid, .domain = "d", .client = seen.caller.client};
  fake_event(b->server, 0, GI_EVENT_CONTENTION, &con);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CONTENTION], 1));
  con.client = &con; /* a client that is gone */
  fake_event(b->server, 0, GI_EVENT_CONTENTION, &con);
  bench_turn(b, 5);
  assert_int_equal(b->client->events[GI_EVENT_CONTENTION], 1);
  bench_free(b);
}

static void
test_storage_down_and_up(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  fake_event(b->server, 0, GI_EVENT_CHILD_DOWN, NULL);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  struct gi_fop *f = bench_request(b, GI_FOP_STAT, NULL);
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, ENOTCONN);
  fake_event(b->server, 0, GI_EVENT_CHILD_UP, NULL);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  f = bench_request(b, GI_FOP_STAT, NULL);
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  bench_free(b);
}

/* ---- no brick ---- */

static void
test_wrong_subvolume(void **state)
{
  struct bench *b = bench_new(NULL, "option remote-subvolume /no/such\n", false);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_turn(b, 50);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_UP], 0);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 1); /* told once */
  bench_free(b);
}

static bool
dump_has(struct bench *b, const char *line)
{
  char *text = NULL;
  size_t len;
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  b->client->x->cls->statedump(b->client->x, &d);
  fclose(d.out);
  bool found = strstr(text, line) != NULL;
  free(text);
  return found;
}

static void
test_ping_timeout_fits_the_peer(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  assert_true(dump_has(b, "ping-timeout=5\n"));
  assert_true(dump_has(b, "peer=glusterish"));
  bench_free(b);
  b = bench_new(NULL, "option ping-timeout 42\n", true);
  assert_true(dump_has(b, "ping-timeout=42\n"));
  bench_free(b);
}

/* The layers above learn how far away the brick is before they hear that it is there, and again whenever they ask. */
static void
test_round_trip_is_told(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_xlator *x = b->client->x;
  assert_int_equal(b->client->events[GI_EVENT_LATENCY], 1);
  assert_false(dump_has(b, "round-trip-ns=0\n"));
  gi_notify(x, GI_EVENT_MEASURE, NULL);
  gi_notify(x, GI_EVENT_MEASURE, NULL); /* one ping serves both */
  assert_true(bench_until(b, &b->client->events[GI_EVENT_LATENCY], 2));
  gi_notify(x, GI_EVENT_MEASURE, NULL);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_LATENCY], 3));
  bench_free(b);
}

/* replace-brick: the same translator leaves for another brick; what was open at the old one is bad until it is opened anew. */
static void
test_moves_to_another_brick(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true), *other = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 9, O_RDWR);
  struct seen seen = {0};
  char port[16];
  snprintf(port, sizeof(port), "%d", other->port);
  struct gi_fop *held = bench_request(b, GI_FOP_READ, fd);
  fake_script(b->server, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  bench_send(b, held);
  bench_turn(b, 5);
  bench_set_option(b->client, "remote-port", port);
  bench_turn(b, 5);
  assert_true(held->answered);
  assert_int_equal(held->rsp.err, ENOTCONN);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 1);
  for (int i = 0; i < 500 && b->client->events[GI_EVENT_CHILD_UP] < 2; i++) {
    bench_turn(other, 5);
    bench_turn(b, 5);
  }
  assert_int_equal(b->client->events[GI_EVENT_CHILD_UP], 2);
  struct gi_fop *f = bench_request(b, GI_FOP_READ, fd);
  bench_send(b, f);
  assert_true(f->answered);
  assert_int_equal(f->rsp.err, EBADFD);
  fake_script(other->server, 0, GI_FOP_OPEN, (struct fake_reply){.fill = look, .arg = &seen});
  f = fake_fop(b->client, GI_FOP_OPEN);
  gi_fop_set_fd(f, fd);
  bench_send(b, f);
  for (int i = 0; i < 500 && !f->answered; i++) {
    bench_turn(other, 5);
    bench_turn(b, 5);
  }
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(seen.calls, 1);
  fake_release(b->server, 0, GI_FOP_READ, 0, 0);
  bench_turn(b, 5);
  bench_free(b);
  bench_free(other);
}

/* No daemon tells the port any more: the brick is looked for where it served last. */
static void
test_the_last_port_is_tried(void **state)
{
  struct bench *b = bench_new(NULL, "option management-port 1\n", true); /* nobody is there */
  struct client *c = b->client->x->private;
  assert_int_equal(c->last_port, b->port);
  bench_set_option(b->client, "remote-port", "0");
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_turn(b, 300);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_UP], 1); /* that may be another brick */
  c->last_port = b->port;
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  bench_free(b);
}

static void
test_options_are_checked(void **state)
{
  struct gi_error err = {0};
  assert_null(fake_stack_try("protocol/client", "option remote-host h\n", 0, &err));
  assert_non_null(strstr(err.text, "remote-subvolume"));
  assert_null(
      fake_stack_try("protocol/client", "option remote-subvolume /b\noption transport.socket.ssl-enabled on\n", 0, &err));
  assert_null(fake_stack_try("protocol/client", "option remote-subvolume /b\noption ping-timeout 5000\n", 0, &err));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_private_keys_are_for_bricks_of_ours),
      cmocka_unit_test(test_renames_to_free_names_are_for_bricks_of_ours),
      cmocka_unit_test(test_a_brick_adds_its_steps),
      cmocka_unit_test(test_opened_twice),
      cmocka_unit_test(test_every_kind),
      cmocka_unit_test(test_errno_passes),
      cmocka_unit_test(test_large_payload_is_not_copied),
      cmocka_unit_test(test_dead_kinds_are_refused),
      cmocka_unit_test(test_several_connections),
      cmocka_unit_test(test_release),
      cmocka_unit_test(test_anonymous_when_not_open),
      cmocka_unit_test(test_reconnect_reopens),
      cmocka_unit_test(test_news_hurries),
      cmocka_unit_test(test_failed_reopen_is_bad),
      cmocka_unit_test(test_strict_locks),
      cmocka_unit_test(test_callbacks),
      cmocka_unit_test(test_storage_down_and_up),
      cmocka_unit_test(test_wrong_subvolume),
      cmocka_unit_test(test_ping_timeout_fits_the_peer),
      cmocka_unit_test(test_round_trip_is_told),
      cmocka_unit_test(test_moves_to_another_brick),
      cmocka_unit_test(test_the_last_port_is_tried),
      cmocka_unit_test(test_options_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
