/* SPDX-License-Identifier: Apache-2.0
 *
 * Primitives, both kinds of dictionary, and what malformed ones do.
 */
#include "rpc/xdr.h"
#include "rpc/golden_test.h"
#include "rpc/message.h"

static void
test_primitives(void **state)
{
  struct gi_xdr_out out = {0};
  uint32_t len;
  gi_xdr_put_u32(&out, 0xdeadbeef);
  gi_xdr_put_u64(&out, 0x0102030405060708);
  gi_xdr_put_string(&out, "hello");
  gi_xdr_put_string(&out, NULL);
  assert_int_equal(out.len, 4 + 8 + 12 + 4);
  assert_memory_equal(out.base, "\xde\xad\xbe\xef\1\2\3\4\5\6\7\10\0\0\0\5hello\0\0\0\0\0\0\0", out.len);
  struct gi_xdr_in in = {out.base, out.base + out.len, false};
  assert_int_equal(gi_xdr_get_u32(&in), 0xdeadbeef);
  assert_int_equal(gi_xdr_get_u64(&in), 0x0102030405060708);
  assert_memory_equal(gi_xdr_get_opaque(&in, 5, &len), "hello", 5);
  assert_int_equal(len, 5);
  assert_non_null(gi_xdr_get_opaque(&in, 0, &len));
  assert_int_equal(gi_xdr_left(&in), 0);
  assert_false(in.failed);
  assert_int_equal(gi_xdr_get_u32(&in), 0);
  assert_true(in.failed);
  gi_xdr_out_finish(&out);
}

static void
test_failure_sticks(void **state)
{
  uint8_t bytes[12] = {0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8};
  struct gi_xdr_in in = {bytes, bytes + sizeof(bytes), false};
  uint32_t len;
  assert_null(gi_xdr_get_opaque(&in, 100, &len)); /* nine bytes promised, eight there */
  assert_true(in.failed);
  assert_int_equal(gi_xdr_get_u32(&in), 0);
  in = (struct gi_xdr_in){bytes, bytes + sizeof(bytes), false};
  assert_null(gi_xdr_get_opaque(&in, 8, &len)); /* longer than allowed */
  assert_int_equal(len, 0);
  memset(bytes, 0xff, 4);
  in = (struct gi_xdr_in){bytes, bytes + sizeof(bytes), false};
  assert_null(gi_xdr_get_opaque(&in, UINT32_MAX, &len));
  uint8_t unpadded[5] = {0, 0, 0, 1, 'x'};
  in = (struct gi_xdr_in){unpadded, unpadded + 5, false};
  assert_null(gi_xdr_get_opaque(&in, 8, &len));
}

static struct gi_dict *
every_type(void)
{
  struct gi_dict *d = gi_dict_new();
  struct gi_iatt iatt = {.ino = 7, .mode = 0100644, .mtime = {-5, 6}};
  double pi = 3.25;
  gi_dict_set_int(d, "int", -9);
  gi_dict_set_uint(d, "uint", UINT64_MAX);
  gi_dict_set_raw(d, "double", 6, GI_VALUE_DOUBLE, &pi, sizeof(pi));
  gi_dict_set_str(d, "str", "text");
  gi_dict_set_bin(d, "ptr", "\0\1\2", 3);
  gi_dict_set_raw(d, "old", 3, GI_VALUE_STR_OLD, "abcde", 5);
  gi_dict_set_gfid(d, "gfid", &gi_gfid_root);
  gi_dict_set_iatt(d, "iatt", &iatt);
  gi_dict_set_raw(d, "mdata", 5, GI_VALUE_MDATA, "123456789012345678901234567890123456", GI_MDATA_BYTES);
  gi_dict_set_bin(d, "empty", "", 0);
  return d;
}

static void
test_dict_round_trip(void **state)
{
  struct gi_dict *d = every_type(), *back = NULL;
  struct gi_xdr_out out = {0}, again = {0};
  gi_xdr_put_dict(&out, d);
  struct gi_xdr_in in = {out.base, out.base + out.len, false};
  assert_int_equal(gi_xdr_get_u32(&in), out.len - 12);
  in.p = out.base;
  gi_xdr_get_dict(&in, &back);
  assert_false(in.failed);
  assert_int_equal(gi_xdr_left(&in), 0);
  assert_int_equal(gi_dict_count(back), gi_dict_count(d));
  for (uint32_t i = 0; i < gi_dict_count(d); i++)
    assert_int_equal(gi_dict_at(back, i)->type, gi_dict_at(d, i)->type);
  assert_int_equal(gi_dict_get(back, "iatt")->iatt->mtime.sec, -5);
  assert_true(gi_dict_get(back, "double")->d == 3.25);
  gi_xdr_put_dict(&again, back);
  assert_int_equal(again.len, out.len);
  assert_memory_equal(again.base, out.base, out.len);
  gi_dict_unref(&d);
  gi_dict_unref(&back);
  gi_xdr_out_finish(&out);
  gi_xdr_out_finish(&again);
}

static void
test_null_and_empty_dict(void **state)
{
  struct gi_xdr_out out = {0};
  struct gi_dict *d = gi_dict_new();
  gi_xdr_put_dict(&out, NULL);
  gi_xdr_put_dict(&out, d);
  assert_memory_equal(out.base,
                      "\0\0\0\0\xff\xff\xff\xff\0\0\0\0"
                      "\0\0\0\0\0\0\0\0\0\0\0\0",
                      24);
  gi_dict_unref(&d);
  struct gi_xdr_in in = {out.base, out.base + out.len, false};
  gi_xdr_get_dict(&in, &d);
  assert_null(d);
  gi_xdr_get_dict(&in, &d);
  assert_non_null(d);
  assert_false(in.failed);
  gi_dict_unref(&d);
  gi_xdr_out_finish(&out);
}

static bool
dict_decodes(const uint8_t *p, size_t len)
{
  uint8_t *copy = gi_alloc(len + 1);
  struct gi_dict *d;
  memcpy(copy, p, len);
  struct gi_xdr_in in = {copy, copy + len, false};
  gi_xdr_get_dict(&in, &d);
  assert_true(!in.failed || d == NULL);
  gi_dict_unref(&d);
  gi_free(copy);
  return !in.failed;
}

static void
test_malformed_dicts(void **state)
{
  struct gi_dict *d = every_type();
  struct gi_xdr_out out = {0};
  gi_xdr_put_dict(&out, d);
  for (size_t len = 0; len < out.len; len++)
    assert_false(dict_decodes(out.base, len));
  assert_true(dict_decodes(out.base, out.len));
  static const struct {
    size_t at;
    uint32_t value;
  } wrong[] = {
      {0, 4},          /* xdr_size too small */
      {4, 3},          /* count and array length differ */
      {8, 0x0fffffff}, /* more pairs than bytes */
      {12, 3},         /* the key's length loses its NUL */
      {12, 0},         /* no key */
      {20, 0},         /* tag: unknown */
      {20, 10},        /* tag: beyond the last */
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(wrong); i++) {
    struct gi_xdr_out bad = {0};
    gi_xdr_put_bytes(&bad, out.base, out.len);
    gi_xdr_set_u32(&bad, wrong[i].at, wrong[i].value);
    assert_false(dict_decodes(bad.base, bad.len));
    gi_xdr_out_finish(&bad);
  }
  gi_dict_unref(&d);
  gi_xdr_out_finish(&out);
}

/* ---- legacy ---- */

static void
check_legacy(const struct golden *g, struct gi_xdr_in *in, unsigned *seen)
{
  uint32_t len;
  const uint8_t *data = gi_xdr_get_opaque(in, UINT32_MAX, &len);
  assert_non_null(data);
  struct gi_dict *d = gi_legacy_dict_decode(data, len);
  struct gi_xdr_out out = {0};
  assert_non_null(d);
  gi_legacy_dict_encode(&out, d);
  if (gi_dict_count(d) > 0) {
    golden_equal(g, data, out.base, len, out.len);
    ++*seen;
  }
  gi_dict_unref(&d);
  gi_xdr_out_finish(&out);
}

static void
golden_legacy(const struct golden *g, void *arg)
{
  struct gi_xdr_in in = {g->record, g->record + g->len, false};
  struct gi_call_header call;
  struct gi_reply_header reply;
  uint32_t len;
  bool is_reply = strcmp(g->kind, "reply") == 0;
  if (strcmp(g->name, "HNDSK.SETVOLUME") != 0 && strcmp(g->name, "HNDSK.GETSPEC") != 0)
    return;
  assert_true(is_reply ? gi_reply_decode(&in, &reply) : gi_call_decode(&in, &call));
  if (is_reply && strcmp(g->accept, "0") != 0)
    return;
  if (is_reply)
    gi_xdr_get_u64(&in); /* op_ret, op_errno */
  if (strcmp(g->name, "HNDSK.GETSPEC") == 0) {
    if (!is_reply)
      gi_xdr_get_u32(&in);                    /* flags */
    gi_xdr_get_opaque(&in, UINT32_MAX, &len); /* key, spec */
  }
  check_legacy(g, &in, arg);
}

static void
test_legacy_golden(void **state)
{
  unsigned seen = 0;
  golden_foreach(golden_legacy, &seen);
  assert_true(seen >= 5);
}

static void
test_legacy_numbers_are_text(void **state)
{
  struct gi_dict *d = gi_dict_new();
  struct gi_xdr_out out = {0};
  gi_dict_set_int(d, "a", -12);
  gi_dict_set_str(d, "b", "x");
  gi_legacy_dict_encode(&out, d);
  static const char want[] = "\0\0\0\2"
                             "\0\0\0\1\0\0\0\4a\0-12\0"
                             "\0\0\0\1\0\0\0\2b\0x";
  assert_int_equal(out.len, sizeof(want));
  assert_memory_equal(out.base, want, out.len);
  gi_dict_unref(&d);
  d = gi_legacy_dict_decode(out.base, out.len);
  int64_t v = 0;
  assert_true(gi_dict_get_int(d, "a", &v));
  assert_int_equal(v, -12);
  gi_dict_unref(&d);
  for (size_t len = 1; len < out.len; len++) {
    uint8_t *copy = gi_alloc(len);
    memcpy(copy, out.base, len);
    assert_null(gi_legacy_dict_decode(copy, len));
    gi_free(copy);
  }
  gi_xdr_out_finish(&out);
}

static void
test_legacy_field(void **state)
{
  struct gi_dict *d = gi_dict_new(), *back;
  struct gi_xdr_out out = {0};
  gi_xdr_put_legacy_dict(&out, d);
  gi_dict_set_str(d, "key", "value");
  gi_xdr_put_legacy_dict(&out, d);
  assert_int_equal(out.len % 4, 0);
  gi_dict_unref(&d);
  struct gi_xdr_in in = {out.base, out.base + out.len, false};
  back = gi_xdr_get_legacy_dict(&in);
  assert_int_equal(gi_dict_count(back), 0);
  gi_dict_unref(&back);
  back = gi_xdr_get_legacy_dict(&in);
  assert_int_equal(gi_dict_count(back), 1);
  gi_dict_unref(&back);
  assert_int_equal(gi_xdr_left(&in), 0);
  assert_null(gi_xdr_get_legacy_dict(&in));
  gi_xdr_out_finish(&out);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_primitives),
      cmocka_unit_test(test_failure_sticks),
      cmocka_unit_test(test_dict_round_trip),
      cmocka_unit_test(test_null_and_empty_dict),
      cmocka_unit_test(test_malformed_dicts),
      cmocka_unit_test(test_legacy_golden),
      cmocka_unit_test(test_legacy_numbers_are_text),
      cmocka_unit_test(test_legacy_field),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
