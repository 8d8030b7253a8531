/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of performance/md-cache share: see md-rig.h.
 */
#include "xlators/performance/md-cache/md-rig.h"

#include <errno.h>

/* ---- attributes of a scripted reply ---- */

struct gi_iatt
iatt(uint8_t of, uint64_t size, int64_t time)
{
  struct gi_iatt a = {.flags = GI_IATT_BASIC, .mode = S_IFREG | 0644, .nlink = 1, .size = size};

  memset(&a.gfid, of, sizeof(a.gfid));
  if (of == DIRECTORY)
    a.mode = S_IFDIR | 0755, a.nlink = 2;
  a.mtime.sec = a.ctime.sec = time;
  return a;
}

void
fill_stat(struct gi_fop *fop, void *arg)
{
  const struct look *l = arg;

  fop->rsp.stat = iatt(l->of, l->size, l->time);
}

void
fill_change(struct gi_fop *fop, void *arg)
{
  const struct step *s = arg;

  fop->rsp.pre = iatt(s->found.of, s->found.size, s->found.time);
  fop->rsp.post = iatt(s->left.of, s->left.size, s->left.time);
}

/* ---- a stack ---- */

struct fake_stack *
stack(const char *options)
{
  return fake_stack_new("performance/md-cache", options, 1);
}

int
md_setup(void **state)
{
  *state = stack("option md-cache-timeout 60\n");
  return 0;
}

int
md_teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

uint64_t
metric(const struct fake_stack *s, const char *name)
{
  for (const struct gi_metric *m = s->x->cls->metrics; m->name; m++)
    if (strcmp(m->name, name) == 0)
      return gi_metric_value(m, s->x->metrics);
  fail_msg("no counter %s", name);
  return 0;
}

struct gi_fop *
on_fd(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file)
{
  struct gi_fop *f = fake_fop(s, kind);

  gi_fop_set_fd(f, fake_fd(s, file));
  return f;
}

struct gi_fop *
at(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file)
{
  struct gi_fop *f = fake_fop(s, kind);

  gi_loc_set_inode(&f->loc, fake_inode(s, file));
  return f;
}

struct gi_fop *
sent(struct fake_stack *s, struct gi_fop *f)
{
  fake_submit(s, f);
  return f;
}

/* The brick has these; true if it was asked. */
bool
asked(struct fake_stack *s, uint8_t file, uint64_t size, int64_t time)
{
  struct look l = {file, size, time};
  unsigned before = fake_count(s, 0, GI_FOP_FSTAT);
  struct gi_fop *f = on_fd(s, GI_FOP_FSTAT, file);
  bool went;

  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = &l});
  fake_submit(s, f);
  went = fake_count(s, 0, GI_FOP_FSTAT) > before;
  if (!went)
    fake_script_clear(s);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(f->rsp.stat.size, size);
  assert_int_equal(f->rsp.stat.mtime.sec, time);
  return went;
}

void
know(struct fake_stack *s, uint8_t file, uint64_t size, int64_t time)
{
  assert_true(asked(s, file, size, time));
  assert_false(asked(s, file, size, time));
}

struct gi_fop *
wrote(struct fake_stack *s, enum gi_fop_kind kind, struct step *step)
{
  fake_script(s, 0, kind, (struct fake_reply){.ret = 1, .fill = fill_change, .arg = step});
  return sent(s, on_fd(s, kind, step->left.of));
}

void
hold(struct fake_stack *s, enum gi_fop_kind kind)
{
  fake_script(s, 0, kind, (struct fake_reply){.hold = true});
}

/* Answers a held operation with attributes: the fill of a held reply is not run, so they are put into it before. */
void
release_change(struct fake_stack *s, struct gi_fop *f, struct step *step)
{
  fill_change(f, step);
  assert_true(fake_release(s, 0, f->kind, 1, 0));
}

void
fill_made(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = iatt(FILE_A, 0, 2);
  fop->rsp.pre = iatt(DIRECTORY, 4096, 1);
  fop->rsp.post = iatt(DIRECTORY, 4096, 2);
}

void
fill_set(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = iatt(FILE_A, 10, 1);
  if (arg)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), arg, "value", 5);
}

void
look_up(struct fake_stack *s, const char *has)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_set, .arg = (void *)has});
  fake_submit(s, f);
}

void
fill_value(struct gi_fop *fop, void *arg)
{
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_bin(fop->rsp.dict, fop->args.name, arg, (uint32_t)strlen(arg));
}

/* The brick has `value`, NULL: not. True if it was asked. */
bool
asked_for(struct fake_stack *s, const char *name, const char *value)
{
  struct gi_fop *f = at(s, GI_FOP_GETXATTR, FILE_A);
  unsigned before = fake_count(s, 0, GI_FOP_GETXATTR);
  const void *data;
  uint32_t len;
  bool went;

  f->args.name = gi_fop_strdup(f, name, strlen(name));
  fake_script(s, 0, GI_FOP_GETXATTR,
              value ? (struct fake_reply){.ret = (int)strlen(value), .fill = fill_value, .arg = (void *)value}
                    : (struct fake_reply){.ret = -1, .err = ENODATA});
  fake_submit(s, f);
  went = fake_count(s, 0, GI_FOP_GETXATTR) > before;
  if (!went)
    fake_script_clear(s);
  if (value) {
    assert_int_equal(f->rsp.ret, strlen(value));
    assert_true(gi_dict_get_bin(f->rsp.dict, name, &data, &len));
    assert_int_equal(len, strlen(value));
    assert_memory_equal(data, value, len);
  } else {
    assert_int_equal(f->rsp.ret, -1);
    assert_int_equal(f->rsp.err, ENODATA);
  }
  return went;
}

void
set_value(struct fake_stack *s, const char *name, const char *value)
{
  struct gi_fop *f = at(s, GI_FOP_SETXATTR, FILE_A);

  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, name, value, (uint32_t)strlen(value));
  fake_submit(s, f);
}
