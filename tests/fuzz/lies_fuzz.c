/* SPDX-License-Identifier: Apache-2.0
 *
 * Bricks that lie: the model bricks of cluster/replicate serve a client, and
 * what they answer is spoilt before it is seen: errors, other attributes,
 * counters and attributes of any type. Every operation is answered and nothing
 * is left over; what the answer is worth is another matter.
 *
 * The bytes of an input are used up one after the other; when they are used up
 * the bricks say the truth.
 */
#include "libglusterish/log.h"
#include "tests/fuzz/fuzz.h"
#include "xlators/cluster/replicate/testing/model.h"

#include <fcntl.h>

extern const struct gi_xlator_class gi_xlator_export;

#define OPERATIONS_MAX 8

static const char *const keys[] = {
    "trusted.afr.dirty",
    "trusted.afr.v-client-0",
    "trusted.afr.v-client-1",
    "trusted.afr.v-client-2",
    "trusted.glusterfs.mdata",
    "glusterfs.inodelk-count",
    "glusterfs.open-fd-count",
    "glusterfs.open-active-fd-count",
    "glusterfs.write-is-append",
    "user.a",
    "trusted.x",
    "system.posix_acl_access",
    "glusterfs.parent-entrylk",
    "glusterish.regions",
    "glusterish.preamble",
    "link-count",
};

static const enum gi_fop_kind kinds[] = {
    GI_FOP_LOOKUP, GI_FOP_STAT,  GI_FOP_GETXATTR, GI_FOP_SETXATTR, GI_FOP_SETATTR, GI_FOP_READ,
    GI_FOP_WRITE,  GI_FOP_FSYNC, GI_FOP_TRUNCATE, GI_FOP_FSTAT,    GI_FOP_ACCESS,  GI_FOP_REMOVEXATTR,
};

struct liar {
  struct brick *brick;
  struct rig *rig;
  const uint8_t **p, *end;
};

static uint8_t
next(const uint8_t **p, const uint8_t *end)
{
  return *p < end ? *(*p)++ : 0;
}

size_t
fuzz_seed(unsigned n, uint8_t *input, size_t room)
{
  uint32_t x = n * 2654435761u + 1;
  for (size_t i = 0; i < 300; i++) {
    x = x * 1664525u + 1013904223u;
    input[i] = (uint8_t)(x >> 24) & (i % 3 ? 0xff : 0x0f);
  }
  return n < 400 ? 300 : 0;
}

void
fuzz_finish(void)
{
}

/* ---- lies ---- */

static void
spoil_dict(struct liar *l, struct gi_dict **dict)
{
  uint8_t bytes[64];
  uint8_t n = next(l->p, l->end) % 4;
  if (!*dict)
    *dict = gi_dict_new();
  while (n-- > 0) {
    const char *key = keys[next(l->p, l->end) % GI_ARRAY_LEN(keys)];
    enum gi_value_type type = 1 + next(l->p, l->end) % 9;
    uint32_t len = type == GI_VALUE_GFUUID ? 16 : type == GI_VALUE_MDATA ? GI_MDATA_BYTES : next(l->p, l->end) % sizeof(bytes);
    struct gi_iatt st = {.size = len};
    for (uint32_t i = 0; i < sizeof(bytes); i++)
      bytes[i] = next(l->p, l->end);
    gi_dict_set_raw(*dict, key, (uint32_t)strlen(key), type, type == GI_VALUE_IATT ? (void *)&st : bytes, len);
  }
}

static void
spoil_stat(struct liar *l, struct gi_iatt *st)
{
  static const uint32_t modes[] = {0, S_IFREG | 0644, S_IFDIR | 0755, S_IFLNK | 0777, 0xffffffff};
  uint8_t how = next(l->p, l->end);
  if (how & 1)
    memset(&st->gfid, next(l->p, l->end) % 8, sizeof(st->gfid));
  if (how & 2)
    st->mode = modes[next(l->p, l->end) % GI_ARRAY_LEN(modes)];
  if (how & 4)
    st->size = how & 8 ? UINT64_MAX : next(l->p, l->end);
  if (how & 16)
    st->nlink = next(l->p, l->end);
}

static void
spoil_payload(struct gi_fop *fop, uint8_t how)
{
  uint64_t len = how % 2 ? 0 : fop->rsp.payload.len / 2;
  if (fop->kind != GI_FOP_READ || fop->rsp.ret < 0)
    return;
  gi_payload_trim(&fop->rsp.payload, len);
  fop->rsp.ret = (int32_t)fop->rsp.payload.len; /* as it comes out of a message */
}

static void
lie(struct gi_fop *fop, void *arg)
{
  static const int errors[] = {ENOENT, ESTALE, EIO, ENOTCONN, ENOSPC, EAGAIN, EINVAL, 12345};
  struct liar *l = arg;
  l->rig->s->nseen = 0; /* nobody looks at it */
  brick_serve(fop, l->brick);
  uint8_t how = next(l->p, l->end);
  switch (how % 8) {
  case 4:
    gi_reply_clear(&fop->rsp);
    fop->rsp.ret = -1;
    fop->rsp.err = errors[next(l->p, l->end) % GI_ARRAY_LEN(errors)];
    break;
  case 5:
    spoil_stat(l, &fop->rsp.stat);
    spoil_stat(l, &fop->rsp.post);
    break;
  case 6:
    spoil_dict(l, &fop->rsp.xdata);
    if (fop->kind == GI_FOP_GETXATTR || fop->kind == GI_FOP_XATTROP)
      spoil_dict(l, &fop->rsp.dict);
    break;
  case 7:
    spoil_payload(fop, how);
    break;
  default:
    break;
  }
}

/* ---- the client ---- */

static void
operate(struct rig *r, struct gi_fd *fd, struct liar *l)
{
  enum gi_fop_kind kind = kinds[next(l->p, l->end) % GI_ARRAY_LEN(kinds)];
  struct gi_fop *f;
  if (kind == GI_FOP_WRITE)
    f = rig_write(r, fd, next(l->p, l->end), 8);
  else if (gi_fop_table[kind].target == GI_TARGET_FD)
    f = rig_fd(r, kind, fd);
  else
    f = rig_loc(r, kind, 5);
  f->args.size = kind == GI_FOP_WRITE ? f->args.size : 8;
  f->args.valid = GI_SET_MODE;
  if (kind == GI_FOP_GETXATTR || kind == GI_FOP_REMOVEXATTR)
    f->args.name = "user.a";
  if (kind == GI_FOP_SETXATTR) {
    f->args.dict = gi_dict_new();
    gi_dict_set_bin(f->args.dict, "user.a", "x", 1);
  }
  rig_run(r, f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const uint8_t *p = data;
  struct liar liars[BRICKS];
  static bool registered;
  struct gi_fd *fd;
  if (!registered) {
    gi_log_set_level(GI_LOG_NONE);
    gi_class_register(&gi_xlator_export);
    registered = true;
  }
  struct rig *r = rig_with_file("option post-op-delay-secs 0\n", &fd);
  fake_script_clear(r->s);
  for (unsigned i = 0; i < BRICKS; i++) {
    liars[i] = (struct liar){&r->brick[i], r, &p, data + size};
    fake_script_always(r->s, i, GI_FOP_MAX, (struct fake_reply){.fill = lie, .arg = &liars[i]});
  }
  for (unsigned i = 0; i < OPERATIONS_MAX && p < data + size; i++)
    operate(r, fd, &liars[0]);
  gi_graph_deactivate(r->s->graph);
  fake_settle(r->s);
  rig_free(r);
  return 0;
}
