/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of performance/open-behind share: opens, uses and changes of
 * two files over one fake child.
 */
#ifndef OPEN_BEHIND_RIG_H
#define OPEN_BEHIND_RIG_H

#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

#define FILE_A 5
#define FILE_B 6
#define ME 1000

enum { EARLY, SENT, UNSENT, FAILED, SYNCED, WAITING };

struct open_file {
  struct gi_fop *fop; /* the OPEN */
  struct gi_fd *fd;
};

static inline uint64_t
metric(const struct fake_stack *s, unsigned row)
{
  return gi_metric_value(&s->x->cls->metrics[row], s->x->metrics);
}

static inline unsigned
opens(struct fake_stack *s)
{
  return fake_count(s, 0, GI_FOP_OPEN);
}

static inline struct open_file
open_as(struct fake_stack *s, uint8_t file, int flags, uint32_t uid)
{
  struct open_file o = {.fop = fake_fop(s, GI_FOP_OPEN)};
  o.fd = gi_fd_new(s->graph, fake_inode(s, file), flags, 100);
  gi_fop_set_fd(o.fop, o.fd);
  o.fop->args.flags = (uint32_t)flags;
  o.fop->caller.uid = o.fop->caller.gid = uid;
  fake_submit(s, o.fop);
  assert_true(o.fop->answered);
  return o;
}

/* The last two references: as a close. */
static inline void
shut(struct fake_stack *s, struct open_file *o)
{
  fake_fop_free(o->fop);
  gi_fd_unref(&o->fd);
  fake_settle(s);
}

/* The bricks let ME in once. */
static inline void
let_in(struct fake_stack *s, uint8_t file)
{
  struct open_file o = open_as(s, file, O_RDWR, ME);
  assert_int_equal(o.fop->rsp.ret, 0);
  shut(s, &o);
}

static inline struct open_file
open_early(struct fake_stack *s, uint8_t file)
{
  struct open_file o;
  let_in(s, file);
  unsigned before = opens(s);
  o = open_as(s, file, O_RDWR, ME);
  assert_int_equal(o.fop->rsp.ret, 0);
  assert_int_equal(opens(s), before);
  return o;
}

static inline struct gi_fop *
on_fd(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fd);
  f->args.size = 10;
  f->caller.uid = f->caller.gid = ME;
  return f;
}

static inline struct gi_fop *
use(struct fake_stack *s, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = on_fd(s, kind, fd);
  fake_submit(s, f);
  return f;
}

static inline struct gi_fop *
on_inode(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_loc_set_inode(&f->loc, fake_inode(s, file));
  f->args.valid = GI_SET_MODE;
  return f;
}

static inline struct gi_fop *
on_name(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file)
{
  struct gi_fop *f = fake_fop(s, kind);
  struct gi_loc *gone = kind == GI_FOP_RENAME ? &f->loc2 : &f->loc;
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 1), "a");
  gi_fop_set_entry(f, &f->loc2, fake_inode(s, 1), "b");
  if (file)
    gi_loc_set_inode(gone, fake_inode(s, file));
  return f;
}

static inline void
hold(struct fake_stack *s, enum gi_fop_kind kind)
{
  fake_script(s, 0, kind, (struct fake_reply){.hold = true});
}

static inline struct fake_stack *
stack(const char *options)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("option cache-invalidation on\n%s", options ? options : "");
  return fake_stack_new("performance/open-behind", text, 1);
}

static inline int
setup(void **state)
{
  *state = stack(NULL);
  return 0;
}

static inline int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif
