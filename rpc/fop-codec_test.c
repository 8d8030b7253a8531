/* SPDX-License-Identifier: Apache-2.0
 *
 * Every recorded FOP message is decoded and encoded again; some are looked
 * into; all are cut short at every byte.
 */
#include "rpc/fop-codec.h"
#include "libglusterish/graph.h"
#include "rpc/golden_test.h"
#include "rpc/message.h"

#include <errno.h>

static struct gi_graph graph;

static bool
is_fop(const struct golden *g)
{
  return g->prog == GI_PROG_FOP && g->proc != GI_FOP_COMPOUND && (g->accept[0] == '-' || strcmp(g->accept, "0") == 0);
}

static size_t
body_of(const struct golden *g)
{
  struct gi_xdr_in in = {g->record, g->record + g->len, false};
  struct gi_call_header call;
  struct gi_reply_header reply;
  if (strcmp(g->kind, "call") == 0)
    assert_true(gi_call_decode(&in, &call));
  else
    assert_true(gi_reply_decode(&in, &reply));
  return (size_t)(in.p - g->record);
}

static void
check_request(const struct golden *g)
{
  size_t body = body_of(g), payload;
  struct gi_xdr_in in = {g->record + body, g->record + g->len, false};
  struct gi_fop *fop = gi_fop_new(&graph, g->proc);
  struct gi_xdr_out out = {0};
  struct gi_wire_fds fds;
  assert_true(gi_fop_decode_request(&in, fop, &fds, &payload));
  assert_int_equal(g->len - body - payload, g->payload);
  if (g->proc == GI_FOP_WRITE)
    assert_int_equal(fop->args.size, g->payload);
  gi_fop_encode_request(&out, fop, &fds);
  golden_equal(g, g->record + body, out.base, payload, out.len);
  gi_xdr_out_finish(&out);
  gi_fop_unref(fop);
}

/* The errno of a success means nothing for most kinds and the decoder drops it (wire.md 3.7). */
static void
drop_noise(uint8_t *results, unsigned proc)
{
  if (!(results[0] & 0x80) && proc != GI_FOP_READ && proc != GI_FOP_READDIR && proc != GI_FOP_READDIRP)
    memset(results + 4, 0, 4);
}

static void
check_reply(const struct golden *g)
{
  size_t body = body_of(g), payload;
  int64_t fd = 0;
  struct gi_fop *fop = gi_fop_new(&graph, g->proc);
  struct gi_xdr_out out = {0};
  drop_noise(g->record + body, g->proc);
  struct gi_xdr_in in = {g->record + body, g->record + g->len, false};
  assert_true(gi_fop_decode_reply(&in, fop, &fd, &payload));
  assert_int_equal(g->len - body - payload, g->payload);
  if (g->proc == GI_FOP_READ && fop->rsp.ret >= 0)
    assert_int_equal(fop->rsp.ret, g->payload);
  gi_fop_encode_reply(&out, fop, fd);
  golden_equal(g, g->record + body, out.base, payload, out.len);
  gi_xdr_out_finish(&out);
  gi_fop_unref(fop);
}

static void
check(const struct golden *g, void *arg)
{
  bool *seen = arg;
  if (!is_fop(g))
    return;
  if (strcmp(g->kind, "call") == 0)
    check_request(g);
  else
    check_reply(g);
  seen[g->proc] = true;
}

static void
test_golden(void **state)
{
  bool seen[GI_FOP_MAX] = {false};
  unsigned n = 0;
  golden_foreach(check, seen);
  for (unsigned i = 0; i < GI_FOP_MAX; i++)
    n += seen[i];
  assert_true(n >= 53);
  assert_int_equal(graph.fops_live, 0);
}

/* Cut short at every byte: refused, or (behind the XDR part) payload; never a read past the end, never a leak. */
static void
check_cut(const struct golden *g, void *arg)
{
  if (!is_fop(g))
    return;
  size_t body = body_of(g), need = g->len - g->payload - body;
  for (size_t len = 0; len < need; len++) {
    uint8_t *copy = gi_alloc(len + 1);
    struct gi_fop *fop = gi_fop_new(&graph, g->proc);
    struct gi_wire_fds fds;
    size_t payload;
    int64_t fd;
    memcpy(copy, g->record + body, len);
    struct gi_xdr_in in = {copy, copy + len, false};
    if (strcmp(g->kind, "call") == 0) {
      assert_false(gi_fop_decode_request(&in, fop, &fds, &payload));
    } else {
      assert_false(gi_fop_decode_reply(&in, fop, &fd, &payload));
      assert_int_equal(fop->rsp.ret, -1);
      assert_int_equal(fop->rsp.err, EINVAL);
    }
    gi_fop_unref(fop);
    gi_free(copy);
  }
}

static void
test_cut_short(void **state)
{
  golden_foreach(check_cut, NULL);
}

/* ---- members ---- */

struct want {
  const char *name;
  unsigned seen;
  void (*look)(const struct gi_fop *fop, int64_t fd, unsigned seen);
  bool reply;
};

static void
look_into(const struct golden *g, void *arg)
{
  struct want *w = arg;
  if (!is_fop(g) || strcmp(g->name, w->name) != 0 || (strcmp(g->kind, "reply") == 0) != w->reply)
    return;
  size_t body = body_of(g), payload;
  struct gi_xdr_in in = {g->record + body, g->record + g->len, false};
  struct gi_fop *fop = gi_fop_new(&graph, g->proc);
  struct gi_wire_fds fds = {0};
  assert_true(w->reply ? gi_fop_decode_reply(&in, fop, &fds.fd, &payload) : gi_fop_decode_request(&in, fop, &fds, &payload));
  w->look(fop, fds.fd, w->seen++);
  gi_fop_unref(fop);
}

static void
expect(const char *name, bool reply, void (*look)(const struct gi_fop *fop, int64_t fd, unsigned seen))
{
  struct want w = {name, 0, look, reply};
  golden_foreach(look_into, &w);
  assert_true(w.seen > 0);
}

static void
look_lookup(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  uint64_t content;
  if (seen == 0) {
    assert_true(gi_gfid_is_root(&fop->loc.gfid));
    assert_null(fop->loc.name);
    assert_true(gi_dict_get_uint(fop->xdata, "glusterfs.content", &content));
    assert_int_equal(content, 65536);
  } else if (seen == 1) {
    assert_true(gi_gfid_is_root(&fop->loc.pargfid));
    assert_string_equal(fop->loc.name, "hello.txt");
  }
}

static void
look_lookup_reply(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  const void *content;
  uint32_t len;
  if (seen != 1)
    return;
  assert_int_equal(fop->rsp.stat.mode, 33188);
  assert_int_equal(fop->rsp.stat.size, 12);
  assert_int_equal(fop->rsp.stat.mtime.nsec, 526878473);
  assert_int_equal(fop->rsp.stat.ino, gi_gfid_ino(&fop->rsp.stat.gfid));
  assert_true(gi_gfid_is_root(&fop->rsp.post.gfid));
  assert_true(gi_dict_get_bin(fop->rsp.xdata, "glusterfs.content", &content, &len));
  assert_int_equal(len, 12);
  assert_memory_equal(content, "hello, wire\n", 12);
}

static void
look_rename(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  if (seen != 0)
    return;
  assert_string_equal(fop->loc.name, "one");
  assert_string_equal(fop->loc2.name, "two");
  assert_true(gi_gfid_equal(&fop->loc.pargfid, &fop->loc2.pargfid));
}

static void
look_rename_reply(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  if (fop->rsp.ret < 0)
    return;
  assert_true(gi_gfid_equal(&fop->rsp.pre.gfid, &fop->rsp.post.gfid));
  assert_true(gi_gfid_equal(&fop->rsp.pre2.gfid, &fop->rsp.post2.gfid));
  assert_true(S_ISDIR(fop->rsp.post2.mode));
  assert_false(gi_gfid_equal(&fop->rsp.stat.gfid, &fop->rsp.post.gfid));
}

static void
look_lk(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  if (seen != 0)
    return;
  assert_int_equal(fop->args.cmd, GI_LKCMD_SET);
  assert_int_equal(fop->args.type, GI_LK_WRITE);
  assert_int_equal(fop->args.flock.len, 100);
  assert_int_equal(fop->args.flock.pid, 27435);
  assert_int_equal(fop->args.flock.owner.len, 8);
}

static void
look_write(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  if (seen != 1)
    return;
  assert_int_equal(fd, GI_FD_ANONYMOUS);
  assert_int_equal(fop->args.offset, 5);
  assert_int_equal(fop->args.size, 7);
}

static void
look_write_reply(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  if (fop->rsp.ret != 131072)
    return;
  assert_int_equal(fop->rsp.pre.size, 0);
  assert_int_equal(fop->rsp.post.size, 131072);
}

static void
look_readdirp(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  if (fop->rsp.ret < 0)
    return;
  assert_int_equal(fop->rsp.entries.count, fop->rsp.ret);
  if (seen != 0)
    return;
  assert_int_equal(fop->rsp.err, ENOENT);
  assert_string_equal(fop->rsp.entries.entry[0].name, ".");
  assert_string_equal(fop->rsp.entries.entry[1].name, "dir");
  assert_int_equal(fop->rsp.entries.entry[1].off, 5852162471795310488);
  assert_true(S_ISDIR(fop->rsp.entries.entry[1].stat.mode));
}

static void
look_locks(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  assert_int_equal(fop->rsp.nlocks, 1);
  assert_int_equal(fop->rsp.locks[0].flock.len, 10);
  assert_int_equal(strncmp(fop->rsp.locks[0].client_uid, "CTX_ID:", 7), 0);
}

static void
look_entrylk(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  if (seen == 0)
    assert_string_equal(fop->args.name, "x");
}

static void
look_fentrylk(const struct gi_fop *fop, int64_t fd, unsigned seen)
{
  if (seen == 0)
    assert_null(fop->args.name);
}

static void
test_members(void **state)
{
  expect("FOP4.LOOKUP", false, look_lookup);
  expect("FOP4.LOOKUP", true, look_lookup_reply);
  expect("FOP4.RENAME", false, look_rename);
  expect("FOP4.RENAME", true, look_rename_reply);
  expect("FOP4.LK", false, look_lk);
  expect("FOP4.WRITE", false, look_write);
  expect("FOP4.WRITE", true, look_write_reply);
  expect("FOP4.READDIRP", true, look_readdirp);
  expect("FOP4.GETACTIVELK", true, look_locks);
  expect("FOP4.ENTRYLK", false, look_entrylk);
  expect("FOP4.FENTRYLK", false, look_fentrylk);
}

/* ---- what was never recorded ---- */

/* The device number of MKNOD is Linux's on the wire and major/minor apart inside. */
static void
test_rdev(void **state)
{
  struct gi_fop *fop = gi_fop_new(&graph, GI_FOP_MKNOD), *back = gi_fop_new(&graph, GI_FOP_MKNOD);
  struct gi_xdr_out out = {0};
  struct gi_wire_fds fds;
  size_t payload;
  fop->args.rdev = 1ull << 32 | 3;
  fop->loc.name = "null";
  gi_fop_encode_request(&out, fop, NULL);
  struct gi_xdr_in in = {out.base + 16, out.base + 24, false};
  assert_int_equal(gi_xdr_get_u64(&in), 259);
  in = (struct gi_xdr_in){out.base, out.base + out.len, false};
  assert_true(gi_fop_decode_request(&in, back, &fds, &payload));
  assert_int_equal(back->args.rdev, 1ull << 32 | 3);
  gi_xdr_out_finish(&out);
  gi_fop_unref(fop);
  gi_fop_unref(back);
}

static void
test_failed_reply_has_a_reason(void **state)
{
  static const int32_t odd[] = {0, -1, -EIO, INT32_MIN};
  for (size_t i = 0; i < GI_ARRAY_LEN(odd); i++) {
    struct gi_fop *fop = gi_fop_new(&graph, GI_FOP_FXATTROP), *back = gi_fop_new(&graph, GI_FOP_FXATTROP);
    struct gi_xdr_out out = {0};
    int64_t fd;
    size_t payload;
    fop->rsp.ret = -1;
    fop->rsp.err = odd[i];
    gi_fop_encode_reply(&out, fop, 0);
    struct gi_xdr_in in = {out.base, out.base + out.len, false};
    assert_true(gi_fop_decode_reply(&in, back, &fd, &payload));
    assert_int_equal(back->rsp.ret, -1);
    assert_int_equal(back->rsp.err, EIO);
    gi_xdr_out_finish(&out);
    gi_fop_unref(fop);
    gi_fop_unref(back);
  }
}

static void
test_failed_reply_is_zero(void **state)
{
  struct gi_fop *fop = gi_fop_new(&graph, GI_FOP_CREATE), *back = gi_fop_new(&graph, GI_FOP_CREATE);
  struct gi_xdr_out out = {0};
  int64_t fd = 0;
  size_t payload;
  fop->rsp.ret = -1;
  fop->rsp.err = EIO;
  memset(&fop->rsp.stat, 0x55, sizeof(fop->rsp.stat));
  memset(&fop->rsp.post, 0x55, sizeof(fop->rsp.post));
  gi_fop_encode_reply(&out, fop, 77);
  struct gi_xdr_in in = {out.base, out.base + out.len, false};
  assert_true(gi_fop_decode_reply(&in, back, &fd, &payload));
  assert_int_equal(back->rsp.err, EIO);
  assert_int_equal(fd, 0);
  assert_int_equal(back->rsp.stat.mode, 0);
  assert_int_equal(back->rsp.post.ino, 0);
  gi_xdr_out_finish(&out);
  gi_fop_unref(fop);
  gi_fop_unref(back);
}

static void
test_setactivelk(void **state)
{
  struct gi_fop *fop = gi_fop_new(&graph, GI_FOP_SETACTIVELK), *back = gi_fop_new(&graph, GI_FOP_SETACTIVELK);
  struct gi_lock_item items[20] = {0};
  struct gi_xdr_out out = {0};
  struct gi_wire_fds fds;
  size_t payload;
  for (unsigned i = 0; i < GI_ARRAY_LEN(items); i++)
    items[i] = (struct gi_lock_item){.flock = {.start = i, .owner = {4, "abcd"}}, .client_uid = "someone", .flags = i};
  fop->args.locks = items;
  fop->args.nlocks = GI_ARRAY_LEN(items);
  gi_fop_encode_request(&out, fop, NULL);
  struct gi_xdr_in in = {out.base, out.base + out.len, false};
  assert_true(gi_fop_decode_request(&in, back, &fds, &payload));
  assert_int_equal(back->args.nlocks, 20);
  assert_int_equal(back->args.locks[19].flock.start, 19);
  assert_string_equal(back->args.locks[19].client_uid, "someone");
  gi_xdr_out_finish(&out);
  gi_fop_unref(fop);
  gi_fop_unref(back);
}

static bool
decodes(enum gi_fop_kind kind, const struct gi_xdr_out *out)
{
  struct gi_fop *fop = gi_fop_new(&graph, kind);
  struct gi_wire_fds fds;
  size_t payload;
  struct gi_xdr_in in = {out->base, out->base + out->len, false};
  bool ok = gi_fop_decode_request(&in, fop, &fds, &payload);
  gi_fop_unref(fop);
  return ok;
}

static void
test_hostile_names(void **state)
{
  static char name[2000];
  struct gi_xdr_out out = {0};
  memset(name, 'n', sizeof(name));
  for (int i = 0; i < 3; i++) {
    uint32_t len = i == 0 ? 1024 : i == 1 ? 1025 : 5;
    if (i == 2)
      memcpy(name, "a\0b", 3);
    out.len = 0;
    gi_xdr_put_gfid(&out, &gi_gfid_root);
    gi_xdr_put_opaque(&out, name, len);
    gi_xdr_put_u32(&out, 0);
    gi_xdr_put_dict(&out, NULL);
    assert_int_equal(decodes(GI_FOP_UNLINK, &out), i == 0);
  }
  gi_xdr_out_finish(&out);
}

static void
test_hostile_attribute_names(void **state)
{
  static char name[65536];
  static const uint32_t length[] = {8192, 8193, 65536};
  struct gi_xdr_out out = {0};
  memset(name, 'n', sizeof(name));
  for (size_t i = 0; i < GI_ARRAY_LEN(length); i++) {
    out.len = 0;
    gi_xdr_put_gfid(&out, &gi_gfid_root);
    gi_xdr_put_u32(&out, 1);
    gi_xdr_put_opaque(&out, name, length[i]);
    gi_xdr_put_dict(&out, NULL);
    assert_int_equal(decodes(GI_FOP_GETXATTR, &out), i == 0);
  }
  gi_xdr_out_finish(&out);
}

static int
setup(void **state)
{
  graph.pool = gi_fop_pool_new();
  return 0;
}

static int
teardown(void **state)
{
  assert_int_equal(graph.fops_live, 0);
  gi_fop_pool_free(&graph.pool);
  return 0;
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_golden),
      cmocka_unit_test(test_cut_short),
      cmocka_unit_test(test_members),
      cmocka_unit_test(test_rdev),
      cmocka_unit_test(test_failed_reply_has_a_reason),
      cmocka_unit_test(test_failed_reply_is_zero),
      cmocka_unit_test(test_setactivelk),
      cmocka_unit_test(test_hostile_names),
      cmocka_unit_test(test_hostile_attribute_names),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
