/* SPDX-License-Identifier: Apache-2.0
 *
 * Fake subvolumes that have a directory, for the tests of this folder.
 */
#ifndef DI_SPREAD_FIXTURE_H
#define DI_SPREAD_FIXTURE_H

#include "xlators/cluster/distribute/di.h"

#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

#define KEY "trusted.glusterfs.dht"
#define DIR_GFID 5
#define FILE_GFID 9

/* What a subvolume has of the directory: the n-th of `of` equal parts, or none. */
struct part {
  unsigned n, of;
  uint32_t commit;
  bool bare;
};

static inline void
attr_of(struct gi_iatt *a, uint8_t gfid, uint32_t mode)
{
  memset(a, 0, sizeof(*a));
  memset(a->gfid.b, gfid, sizeof(a->gfid.b));
  a->mode = mode;
  a->nlink = 1;
}

static inline void
say_dir(struct gi_fop *fop, void *arg)
{
  const struct part *p = arg;
  uint32_t each = 0xffffffffu / p->of;
  struct di_range r = {p->commit, 0, p->n * each, p->n + 1 == p->of ? 0xffffffffu : (p->n + 1) * each - 1, 0};
  uint8_t bytes[DI_LAYOUT_BYTES];

  attr_of(&fop->rsp.stat, DIR_GFID, S_IFDIR | 0755);
  di_range_encode(&r, bytes);
  if (!p->bare)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY, bytes, sizeof(bytes));
  if (p->n == 0)
    gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".mds", "\0\0\0\0", 4);
}

static inline void
say_file(struct gi_fop *fop, void *arg)
{
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | 0644);
}

/* To the subvolume whose name is `arg`. */
static inline void
say_linkto(struct gi_fop *fop, void *arg)
{
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFREG | GI_LINKTO_MODE);
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", arg, (uint32_t)strlen(arg) + 1);
}

static struct part parts[4];

/* A stack whose directory has a layout of equal parts, known already. */
static inline struct fake_stack *
stack_with_dir(unsigned n, uint32_t commit)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", "option min-free-disk 0\noption min-free-inodes 0\n", n);
  struct gi_fop *f = fake_fop(s, GI_FOP_STAT);

  for (unsigned i = 0; i < n; i++) {
    parts[i] = (struct part){.n = i, .of = n, .commit = commit};
    fake_script(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &parts[i]});
    fake_script(s, i, GI_FOP_STAT, (struct fake_reply){.fill = say_dir, .arg = &parts[i]});
  }
  gi_loc_set_inode(&f->loc, fake_inode(s, DIR_GFID));
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_true(S_ISDIR(f->rsp.stat.mode));
  assert_int_equal(f->rsp.stat.size, 4096);
  fake_forget_seen(s);
  return s;
}

#define NAME_BYTES 16

static inline const char *
find_name(char name[NAME_BYTES], char first, unsigned child, unsigned n)
{
  uint32_t each = 0xffffffffu / n;

  for (unsigned i = 0;; i++) {
    snprintf(name, NAME_BYTES, "%c%u", first, i);
    uint32_t h = di_hash_bytes(name, strlen(name));
    if (h / each == child || (child == n - 1 && h / each >= n))
      return name;
  }
}

/* A name that belongs to that subvolume of `n`. */
static inline const char *
name_on(unsigned child, unsigned n)
{
  static char name[NAME_BYTES];

  return find_name(name, 'n', child, n);
}

/* Another one. */
static inline const char *
other_name_on(unsigned child, unsigned n)
{
  static char name[NAME_BYTES];

  return find_name(name, 'm', child, n);
}

static inline struct gi_fop *
entry_fop(struct fake_stack *s, enum gi_fop_kind kind, const char *name)
{
  struct gi_fop *f = fake_fop(s, kind);
  struct gi_gfid gfid;

  memset(gfid.b, FILE_GFID, sizeof(gfid.b));
  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIR_GFID), name);
  if (kind != GI_FOP_LOOKUP && kind != GI_FOP_UNLINK)
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &gfid);
  return f;
}

#endif
