/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients that lock, for tests of features/locks.
 */
#ifndef LOCKS_FIXTURE_H
#define LOCKS_FIXTURE_H

#include "tests/unit/fake.h"

static struct gi_client_id client[3] = {{"client-a", "a:1"}, {"client-b", "b:1"}, {"client-c", "c:1"}};

static struct gi_fop *
owned(struct fake_stack *s, enum gi_fop_kind kind, unsigned who)
{
  struct gi_fop *f = fake_fop(s, kind);
  f->caller.client = &client[who];
  f->caller.owner.len = 8;
  f->caller.owner.data[0] = (uint8_t)(who + 1);
  return f;
}

static struct gi_fop *
lk(struct fake_stack *s, struct gi_fd *fd, unsigned who, uint32_t cmd, uint32_t type, uint64_t start, uint64_t len)
{
  struct gi_fop *f = owned(s, GI_FOP_LK, who);
  gi_fop_set_fd(f, fd);
  f->args.cmd = cmd;
  f->args.flock = (struct gi_flock){.type = type, .start = start, .len = len};
  fake_submit(s, f);
  return f;
}

static void
ok(struct gi_fop *f)
{
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 0);
}

#endif
