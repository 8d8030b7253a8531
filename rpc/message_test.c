/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers and credentials against the golden messages and against hostile ones.
 */
#include "rpc/message.h"
#include "rpc/golden_test.h"

static void
check_call(const struct golden *g)
{
  struct gi_xdr_in in = {g->record, g->record + g->len, false};
  struct gi_call_header h;
  struct gi_caller caller;
  uint32_t groups[GI_GROUPS_MAX];
  struct gi_xdr_out out = {0};
  assert_int_equal(gi_message_type(&in), 0);
  assert_true(gi_call_decode(&in, &h));
  assert_int_equal(h.prog, g->prog);
  assert_int_equal(h.vers, g->vers);
  assert_int_equal(h.proc, g->proc);
  int rc = gi_cred_decode(h.flavour, h.cred, h.cred_len, &caller, groups);
  if (h.cred_len == 396) { /* one of them breaks the rule of 1.5: 88 groups and an owner of 8 */
    assert_int_equal(rc, -1);
    return;
  }
  assert_int_equal(rc, 0);
  gi_call_encode(&out, h.xid, h.prog, h.vers, h.proc, h.flavour, &caller);
  golden_equal(g, g->record, out.base, (size_t)(in.p - g->record), out.len);
  gi_xdr_out_finish(&out);
}

static void
check_reply(const struct golden *g)
{
  struct gi_xdr_in in = {g->record, g->record + g->len, false};
  struct gi_reply_header h;
  struct gi_xdr_out out = {0};
  assert_int_equal(gi_message_type(&in), 1);
  assert_true(gi_reply_decode(&in, &h));
  if (strcmp(g->accept, "denied") == 0) {
    assert_int_equal(h.reply_status, 1);
    gi_reply_encode_denied(&out, h.xid, gi_xdr_get_u32(&in));
  } else {
    assert_int_equal(h.reply_status, 0);
    assert_int_equal(h.accept_status, atoi(g->accept));
    gi_reply_encode(&out, h.xid, h.accept_status);
  }
  golden_equal(g, g->record, out.base, (size_t)(in.p - g->record), out.len);
  gi_xdr_out_finish(&out);
}

static void
check(const struct golden *g, void *arg)
{
  if (strcmp(g->kind, "reply") == 0)
    check_reply(g);
  else
    check_call(g);
}

static void
test_golden(void **state)
{
  golden_foreach(check, NULL);
}

static void
encode_with(struct gi_xdr_out *out, uint32_t flavour, uint32_t ngroups, uint32_t owner)
{
  static uint32_t groups[200];
  struct gi_caller c = {.pid = -6, .uid = 7, .gid = 8, .ngroups = ngroups, .groups = groups, .stamps = 3, .time = {1, 2}};
  c.owner.len = owner;
  memset(c.owner.data, 'o', owner);
  gi_call_encode(out, 9, 1, 1, 1, flavour, &c);
}

static int
decode_groups(struct gi_xdr_out *out, struct gi_caller *caller, uint32_t *groups)
{
  struct gi_xdr_in in = {out->base, out->base + out->len, false};
  struct gi_call_header h;
  assert_true(gi_call_decode(&in, &h));
  assert_int_equal(gi_xdr_left(&in), 0);
  int rc = gi_cred_decode(h.flavour, h.cred, h.cred_len, caller, groups);
  gi_xdr_out_finish(out);
  return rc;
}

/* The rule of wire.md 1.5: groups plus bytes of owner at most 91 (v3) or 95 (v2); ours are cut to fit. */
static void
test_surplus_groups(void **state)
{
  static const struct {
    uint32_t flavour, owner, want;
  } cases[] = {
      {GI_AUTH_V3, 4, 87}, {GI_AUTH_V3, 8, 83}, {GI_AUTH_V3, 91, 0}, {GI_AUTH_V2, 4, 91}, {GI_AUTH_V2, 8, 87},
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct gi_xdr_out out = {0};
    struct gi_caller caller;
    uint32_t groups[GI_GROUPS_MAX];
    encode_with(&out, cases[i].flavour, 200, cases[i].owner);
    assert_int_equal(decode_groups(&out, &caller, groups), 0);
    assert_int_equal(caller.ngroups, cases[i].want);
    assert_int_equal(caller.owner.len, cases[i].owner);
    assert_int_equal(caller.pid, -6);
    assert_int_equal(caller.uid, 7);
    assert_int_equal(caller.gid, 8);
    assert_int_equal(caller.stamps, cases[i].flavour == GI_AUTH_V3 ? 3 : 0);
    assert_int_equal(caller.time.nsec, cases[i].flavour == GI_AUTH_V3 ? 2 : 0);
  }
}

static void
put_words(struct gi_xdr_out *out, unsigned n, uint32_t v)
{
  while (n-- > 0)
    gi_xdr_put_u32(out, v);
}

static void
test_rule_is_enforced(void **state)
{
  struct gi_caller caller;
  uint32_t groups[GI_GROUPS_MAX];
  for (unsigned n = 87; n <= 88; n++) {
    struct gi_xdr_out body = {0};
    put_words(&body, 7, 0); /* pid uid gid flags nsec sec */
    gi_xdr_put_u32(&body, n);
    put_words(&body, n, 5);
    gi_xdr_put_opaque(&body, "ownr", 4);
    assert_int_equal(gi_cred_decode(GI_AUTH_V3, body.base, (uint32_t)body.len, &caller, groups), n == 87 ? 0 : -1);
    gi_xdr_out_finish(&body);
  }
}

static void
test_short_credential_reads_as_zero(void **state)
{
  struct gi_caller caller;
  uint32_t groups[GI_GROUPS_MAX];
  uint8_t body[6] = {0, 0, 0, 9, 0, 0};
  assert_int_equal(gi_cred_decode(GI_AUTH_V3, body, sizeof(body), &caller, groups), 0);
  assert_int_equal(caller.pid, 9);
  assert_int_equal(caller.uid, 0);
  assert_int_equal(caller.owner.len, 0);
}

static void
test_other_flavours(void **state)
{
  struct gi_caller caller;
  uint32_t groups[GI_GROUPS_MAX];
  struct gi_xdr_out v1 = {0}, un = {0};
  gi_xdr_put_u64(&v1, 0x0102030405060708);
  gi_xdr_put_u32(&v1, 1);
  gi_xdr_put_u32(&v1, 2);
  gi_xdr_put_u32(&v1, 3);
  gi_xdr_put_u32(&v1, 2);
  put_words(&v1, 16, 77);
  assert_int_equal(gi_cred_decode(GI_AUTH_V1, v1.base, (uint32_t)v1.len, &caller, groups), 0);
  assert_int_equal(caller.pid, 1);
  assert_int_equal(caller.uid, 2);
  assert_int_equal(caller.ngroups, 2);
  assert_int_equal(groups[1], 77);
  assert_int_equal(caller.owner.len, 8);
  gi_xdr_put_u32(&un, 5);
  gi_xdr_put_string(&un, "host");
  gi_xdr_put_u32(&un, 11);
  gi_xdr_put_u32(&un, 12);
  gi_xdr_put_u32(&un, 1);
  gi_xdr_put_u32(&un, 13);
  assert_int_equal(gi_cred_decode(GI_AUTH_UNIX, un.base, (uint32_t)un.len, &caller, groups), 0);
  assert_int_equal(caller.uid, 11);
  assert_int_equal(caller.ngroups, 1);
  assert_int_equal(gi_cred_decode(12345, v1.base, (uint32_t)v1.len, &caller, groups), 0);
  assert_int_equal(caller.uid, 0);
  gi_xdr_out_finish(&v1);
  gi_xdr_out_finish(&un);
}

static void
test_truncated_headers(void **state)
{
  struct gi_xdr_out out = {0};
  struct gi_call_header h;
  encode_with(&out, GI_AUTH_V3, 3, 8);
  for (size_t len = 0; len < out.len; len++) {
    uint8_t *copy = gi_alloc(len + 1);
    memcpy(copy, out.base, len);
    struct gi_xdr_in in = {copy, copy + len, false};
    assert_false(gi_call_decode(&in, &h));
    gi_free(copy);
  }
  gi_xdr_set_u32(&out, 8, 3); /* RPC version 3 */
  struct gi_xdr_in in = {out.base, out.base + out.len, false};
  assert_false(gi_call_decode(&in, &h));
  gi_xdr_out_finish(&out);
}

static void
check_payload(const struct golden *g, void *arg)
{
  struct gi_xdr_in in = {g->record, g->record + g->len, false};
  struct gi_call_header call;
  struct gi_reply_header reply;
  bool is_reply = strcmp(g->kind, "reply") == 0, payload;
  unsigned *seen = arg;
  if (g->prog != GI_PROG_FOP || g->payload == 0 || g->proc == GI_FOP_PUT)
    return;
  assert_true(is_reply ? gi_reply_decode(&in, &reply) : gi_call_decode(&in, &call));
  size_t head = gi_message_head_bytes(g->prog, g->proc, is_reply, g->record, g->len, (size_t)(in.p - g->record), &payload);
  assert_true(payload);
  assert_int_equal(head, g->len - g->payload);
  ++*seen;
}

static void
test_payload_placement(void **state)
{
  unsigned seen = 0;
  golden_foreach(check_payload, &seen);
  assert_true(seen >= 6);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_golden),
      cmocka_unit_test(test_surplus_groups),
      cmocka_unit_test(test_rule_is_enforced),
      cmocka_unit_test(test_short_credential_reads_as_zero),
      cmocka_unit_test(test_other_flavours),
      cmocka_unit_test(test_truncated_headers),
      cmocka_unit_test(test_payload_placement),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
