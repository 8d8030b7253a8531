/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that decodes bytes from a socket, fed with arbitrary ones: the
 * record stream, RPC headers and credentials, the arguments and results of
 * every file operation, both kinds of dictionary, preambles, logs of regions, and
 * what bricks tell of their part of an operation.
 *
 * The first byte of an input chooses the decoder, the second (where there is
 * one) the kind of operation. What a decoder accepts is encoded and decoded
 * again: that must succeed and give the same bytes. Linked with libFuzzer, or
 * with driver.c where there is no clang.
 */
#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/regions.h"
#include "libglusterish/tree.h"
#include "rpc/callback.h"
#include "rpc/conn.h"
#include "rpc/fop-codec.h"
#include "rpc/message.h"
#include "rpc/preamble.h"
#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

static struct gi_graph graph;
static struct gi_reactor *reactor;

static void
start(void)
{
  if (reactor)
    return;
  gi_log_set_level(GI_LOG_NONE);
  reactor = gi_reactor_new(0);
  graph.pool = gi_fop_pool_new();
}

void
fuzz_finish(void)
{
  if (reactor == NULL)
    return;
  gi_fop_pool_free(&graph.pool);
  gi_reactor_free(reactor);
  reactor = NULL;
}

static bool
known(unsigned kind)
{
  return kind < GI_FOP_MAX && gi_fop_table[kind].name && kind != GI_FOP_COMPOUND;
}

/* ---- file operations ---- */

static bool
request_again(const uint8_t *data, size_t size, unsigned kind, struct gi_xdr_out *out)
{
  struct gi_fop *fop = gi_fop_new(&graph, kind);
  struct gi_xdr_in in = {data, data + size, false};
  struct gi_wire_fds fds;
  size_t payload;
  bool ok = gi_fop_decode_request(&in, fop, &fds, &payload);
  if (ok) {
    GI_ASSERT(payload <= size);
    gi_fop_encode_request(out, fop, &fds);
  }
  gi_fop_unref(fop);
  return ok;
}

static bool
reply_again(const uint8_t *data, size_t size, unsigned kind, struct gi_xdr_out *out)
{
  struct gi_fop *fop = gi_fop_new(&graph, kind);
  struct gi_xdr_in in = {data, data + size, false};
  int64_t fd = 0;
  size_t payload;
  bool ok = gi_fop_decode_reply(&in, fop, &fd, &payload);
  if (ok) {
    GI_ASSERT(payload <= size);
    gi_fop_encode_reply(out, fop, fd);
  }
  gi_fop_unref(fop);
  return ok;
}

/* decode, encode, decode, encode: the second pair changes nothing. */
static void
fixpoint(const uint8_t *data, size_t size, unsigned kind, bool (*again)(const uint8_t *, size_t, unsigned, struct gi_xdr_out *))
{
  struct gi_xdr_out first = {0}, second = {0};
  if (again(data, size, kind, &first)) {
    GI_ASSERT(again(first.base ? first.base : (const uint8_t *)"", first.len, kind, &second));
    GI_ASSERT(first.len == second.len);
    GI_ASSERT(first.len == 0 || memcmp(first.base, second.base, first.len) == 0);
  }
  gi_xdr_out_finish(&first);
  gi_xdr_out_finish(&second);
  GI_ASSERT(graph.fops_live == 0);
}

/* ---- dictionaries ---- */

static bool
dict_again(const uint8_t *data, size_t size, unsigned kind, struct gi_xdr_out *out)
{
  struct gi_xdr_in in = {data, data + size, false};
  struct gi_dict *d = NULL;
  gi_xdr_get_dict(&in, &d);
  if (!in.failed)
    gi_xdr_put_dict(out, d);
  gi_dict_unref(&d);
  return !in.failed;
}

static bool
legacy_again(const uint8_t *data, size_t size, unsigned kind, struct gi_xdr_out *out)
{
  struct gi_dict *d = gi_legacy_dict_decode(data, size);
  if (d == NULL)
    return false;
  gi_legacy_dict_encode(out, d);
  gi_dict_unref(&d);
  return true;
}

/* ---- callbacks ---- */

static bool
invalidation_again(const uint8_t *data, size_t size, unsigned kind, struct gi_xdr_out *out)
{
  struct gi_xdr_in in = {data, data + size, false};
  struct gi_invalidation inv = {0};
  if (!gi_callback_get_invalidation(&in, &inv))
    return false;
  gi_callback_put_invalidation(out, &inv);
  gi_dict_unref(&inv.xdata);
  return true;
}

static bool
contention_again(const uint8_t *data, size_t size, unsigned kind, struct gi_xdr_out *out)
{
  struct gi_xdr_in in = {data, data + size, false};
  struct gi_contention con = {0};
  char domain[256], name[256];
  if (!gi_callback_get_contention(&in, kind & 1, &con, domain, name, sizeof(name)))
    return false;
  gi_callback_put_contention(out, &con);
  gi_dict_unref(&con.xdata);
  return true;
}

/* ---- between our own client and brick ---- */

static void
put_value(struct gi_xdr_out *out, const struct gi_dict *d, const char *key)
{
  const void *value;
  uint32_t len;
  GI_ASSERT(gi_dict_get_bin(d, key, &value, &len));
  gi_xdr_put_opaque(out, value, len);
}

/* As the value that it is in a dictionary: with its length before it. */
static bool
preamble_again(const uint8_t *data, size_t size, unsigned kind, struct gi_xdr_out *out)
{
  struct gi_xdr_in in = {data, data + size, false};
  struct gi_dict *xdata = gi_dict_new(), *counters = NULL;
  struct gi_preamble p;
  uint32_t len;
  const uint8_t *value = gi_xdr_get_opaque(&in, UINT32_MAX, &len);
  bool ok = !in.failed;
  int err;
  if (ok) {
    gi_dict_set_bin(xdata, GI_PREAMBLE_KEY, value, len);
    if (kind & 1) {
      ok = gi_preamble_get_outcome(xdata, &err, &counters);
      if (ok)
        gi_preamble_put_outcome(xdata, err, counters);
    } else {
      ok = gi_preamble_get(xdata, &p);
      if (ok) {
        GI_ASSERT(p.nlocks <= GI_PREAMBLE_LOCKS && p.domain[0]);
        gi_preamble_put(xdata, &p);
        gi_preamble_clear(&p);
      }
    }
  }
  if (ok)
    put_value(out, xdata, GI_PREAMBLE_KEY);
  gi_dict_unref(&counters);
  gi_dict_unref(&xdata);
  return ok;
}

static void
check_notes(const struct gi_region_log *log)
{
  GI_ASSERT(log->n <= GI_REGION_KEYS);
  for (uint32_t i = 0; i < log->n; i++) {
    const struct gi_regions *set = &log->note[i].set;
    GI_ASSERT(strnlen(log->note[i].key, GI_REGION_KEY + 1) <= GI_REGION_KEY && set->n <= GI_REGIONS_LOG);
    for (uint32_t r = 0; r < set->n; r++)
      GI_ASSERT(set->range[r].start < set->range[r].end && (r == 0 || set->range[r - 1].end < set->range[r].start));
  }
}

/* `size` bytes behind magic and checksum, which are made right: they would keep everything else out. */
static void
regions(const uint8_t *data, size_t size)
{
  uint32_t len = GI_REGION_LOG_HEAD + (uint32_t)size, again;
  GI_CLEANUP_FREE uint8_t *coded = gi_alloc(len);
  struct gi_region_log log = {0};
  GI_ASSERT(!gi_region_log_decode(&log, data, (uint32_t)size) || size > GI_REGION_LOG_HEAD);
  gi_region_log_clear(&log);
  memcpy(coded + GI_REGION_LOG_HEAD, data, size);
  gi_region_log_seal(coded, len);
  if (!gi_region_log_decode(&log, coded, len)) {
    GI_ASSERT(log.n == 0);
    return;
  }
  check_notes(&log);
  void *second = gi_region_log_encode(&log, &again);
  GI_ASSERT(again == len && memcmp(second, coded, len) == 0);
  gi_free(second);
  gi_region_log_clear(&log);
}

/* ---- steps of a brick ---- */

static bool
steps_again(const uint8_t *data, size_t size, unsigned kind, struct gi_xdr_out *out)
{
  uint8_t id[16];
  struct gi_told told = {.tree = gi_steps_decode(data, (uint32_t)size)};
  uint32_t len;
  gi_trace_parse(data, (uint32_t)size, id);
  if (!told.tree)
    return false;
  uint8_t *coded = gi_steps_encode(&told, told.tree->place, &len);
  gi_xdr_put_bytes(out, coded, len);
  gi_free(coded);
  gi_step_free(&told.tree);
  return true;
}

static size_t
steps_seed(unsigned steps, uint8_t *input, size_t room)
{
  struct gi_place place = {.role = "brick", .brick = "/b", .host = "h", .pid = 1};
  struct gi_told told = {0};
  uint32_t len;
  for (unsigned i = 0; i < steps; i++) { /* each below the one before, and two beside */
    struct gi_step *s = gi_new(struct gi_step);
    s->layer = gi_layer_name_new("layer", 5, "kind/type", 9);
    s->kind = GI_FOP_WRITE;
    s->took_ns = s->own_ns = i;
    s->waited_for = i % 2;
    *(i % 3 == 2 ? &s->next : &s->steps) = told.tree;
    told.tree = s;
  }
  uint8_t *coded = gi_steps_encode(&told, &place, &len);
  gi_step_free(&told.tree);
  GI_ASSERT(len + 2 <= room);
  input[0] = FUZZ_STEPS;
  input[1] = 0;
  memcpy(input + 2, coded, len);
  gi_free(coded);
  return len + 2;
}

static size_t
preamble_seed(unsigned nlocks, uint8_t *input, size_t room)
{
  struct gi_preamble p = {.domain = "v-replicate-0", .owner = {.len = 8}, .nlocks = nlocks};
  struct gi_dict *xdata = gi_dict_new();
  struct gi_xdr_out out = {0};
  for (unsigned i = 0; i < nlocks; i++) {
    p.lock[i] = (struct gi_preamble_lock){.entry = i > 0, .name = i == 1 ? "name" : NULL, .len = 4096};
    memset(&p.lock[i].gfid, 5, sizeof(p.lock[i].gfid));
  }
  p.counters = gi_dict_new();
  gi_dict_set_bin(p.counters, "trusted.afr.dirty", "\0\0\0\1\0\0\0\0\0\0\0\0", 12);
  gi_preamble_put(xdata, &p);
  put_value(&out, xdata, GI_PREAMBLE_KEY);
  GI_ASSERT(out.len + 2 <= room);
  input[0] = FUZZ_PREAMBLE;
  input[1] = 0;
  memcpy(input + 2, out.base, out.len);
  size_t len = out.len;
  gi_xdr_out_finish(&out);
  gi_dict_unref(&p.counters);
  gi_dict_unref(&xdata);
  return len + 2;
}

static size_t
regions_seed(unsigned notes, uint8_t *input, size_t room)
{
  struct gi_region_log log = {0};
  uint32_t len;
  for (unsigned i = 0; i < notes; i++) {
    char key[] = {'t', (char)('0' + i), 0};
    struct gi_region_note *note = gi_region_log_add(&log, key);
    note->count = (int32_t)i;
    for (uint64_t at = 0; at < 5 * i; at++)
      gi_regions_add(&note->set, at << 20, (at << 20) + 5000, GI_REGIONS_LOG);
  }
  uint8_t *coded = gi_region_log_encode(&log, &len);
  len -= GI_REGION_LOG_HEAD;
  GI_ASSERT(len + 2 <= room);
  input[0] = FUZZ_REGIONS;
  input[1] = 0;
  memcpy(input + 2, coded + GI_REGION_LOG_HEAD, len);
  gi_free(coded);
  gi_region_log_clear(&log);
  return len + 2;
}

size_t
fuzz_seed(unsigned n, uint8_t *input, size_t room)
{
  if (n <= GI_PREAMBLE_LOCKS)
    return preamble_seed(n, input, room);
  n -= GI_PREAMBLE_LOCKS + 1;
  if (n < 60)
    return regions_seed(n % 6, input, room); /* some more of them: the recorded messages are many */
  return n < 90 ? steps_seed(1 + n % 10, input, room) : 0;
}

/* ---- headers ---- */

static void
message(const uint8_t *data, size_t size)
{
  struct gi_xdr_in in = {data, data + size, false};
  struct gi_call_header call;
  struct gi_reply_header reply;
  struct gi_caller caller;
  uint32_t groups[GI_GROUPS_MAX];
  bool payload;
  if (gi_message_type(&in) == 1) {
    if (gi_reply_decode(&in, &reply))
      gi_message_head_bytes(GI_PROG_FOP, GI_FOP_READ, true, data, size, (size_t)(in.p - data), &payload);
    return;
  }
  if (!gi_call_decode(&in, &call))
    return;
  if (gi_cred_decode(call.flavour, call.cred, call.cred_len, &caller, groups) == 0) {
    struct gi_xdr_out out = {0};
    gi_call_encode(&out, call.xid, call.prog, call.vers, call.proc, GI_AUTH_V3, &caller);
    gi_xdr_out_finish(&out);
  }
  gi_message_head_bytes(call.prog, call.proc, false, data, size, (size_t)(in.p - data), &payload);
  if (call.prog == GI_PROG_FOP && known(call.proc))
    fixpoint(in.p, gi_xdr_left(&in), call.proc, request_again);
}

/* ---- the stream ---- */

static void
stream_record(struct gi_conn *c, struct gi_record *rec, void *arg)
{
  GI_ASSERT(rec->head_len >= GI_HEAD_MIN || rec->head_len == rec->record.len);
  gi_record_linearize(rec, SIZE_MAX);
  message(rec->head, rec->head_len);
}

static void
stream_closed(struct gi_conn *c, const struct gi_error *why, void *arg)
{
  bool *closed = arg;
  GI_ASSERT(!*closed);
  *closed = true;
}

static void
stream(const uint8_t *data, size_t size)
{
  static const struct gi_conn_ops ops = {.record = stream_record, .closed = stream_closed};
  bool closed = false;
  int fd[2];
  GI_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) == 0);
  struct gi_conn *c = gi_conn_accept(reactor, fd[0], &ops, &closed);
  while (size > 0 && !closed) {
    size_t piece = 1 + data[0] * 16u; /* where the stream is cut is part of the input */
    ssize_t n = send(fd[1], data, piece < size ? piece : size, MSG_NOSIGNAL);
    if (n > 0) {
      data += n;
      size -= (size_t)n;
    }
    gi_reactor_turn(reactor, 0);
  }
  close(fd[1]);
  while (!closed)
    gi_reactor_turn(reactor, 0);
  gi_conn_free(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  start();
  if (size < 2)
    return 0;
  unsigned what = data[0] % FUZZ_TARGETS, kind = data[1] % GI_FOP_MAX;
  data += 2;
  size -= 2;
  switch (what) {
  case FUZZ_STREAM:
    stream(data, size);
    break;
  case FUZZ_MESSAGE:
    message(data, size);
    break;
  case FUZZ_REQUEST:
    if (known(kind))
      fixpoint(data, size, kind, request_again);
    break;
  case FUZZ_REPLY:
    if (known(kind))
      fixpoint(data, size, kind, reply_again);
    break;
  case FUZZ_DICT:
    fixpoint(data, size, 0, dict_again);
    break;
  case FUZZ_CALLBACK:
    fixpoint(data, size, kind, kind & 2 ? invalidation_again : contention_again);
    break;
  case FUZZ_PREAMBLE:
    fixpoint(data, size, kind, preamble_again);
    break;
  case FUZZ_REGIONS:
    regions(data, size);
    break;
  case FUZZ_STEPS:
    fixpoint(data, size, 0, steps_again);
    break;
  case FUZZ_LEGACY:
    fixpoint(data, size, 0, legacy_again);
    break;
  }
  return 0;
}
