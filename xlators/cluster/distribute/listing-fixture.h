/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory whose listings the fake subvolumes answer with what a table says.
 */
#ifndef DI_LISTING_FIXTURE_H
#define DI_LISTING_FIXTURE_H

#include "xlators/cluster/distribute/spread-fixture.h"

#include "libglusterish/extension.h"

#include <dirent.h>

/* As a brick that no name has left for long. */
static inline void
say_quiet(struct gi_fop *fop)
{
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
  fop->rsp.err = ENOENT;
  gi_dict_set_uint(gi_fop_rsp_xdata(fop), GI_LEFT_KEY, INT64_MAX);
}

/* What each subvolume shows, as "name" for a file and ">name" for its linkto file, first, and when it is listed again, or when the directory was looked
 * up; and that a name has left it. */
struct shows {
  const char *first, *again, *renewed;
  bool left, silent;
};
static struct shows shows[3];
static unsigned file_on; /* where a lookup finds what is asked for */

static inline void
show(struct gi_fop *fop, const char *text, uint64_t off)
{
  bool link = text[0] == '>';
  struct gi_dirent e = {.off = off, .type = DT_REG, .name = text + link, .name_len = 1};

  attr_of(&e.stat, (uint8_t)e.name[0], S_IFREG | (link ? GI_LINKTO_MODE : 0644));
  if (link) {
    e.xdata = gi_dict_new();
    gi_dict_set_bin(e.xdata, KEY ".linkto", "child-0", 8);
  }
  gi_dirents_add(&fop->rsp.entries, &e, fop);
}

static inline void
say_shown(struct gi_fop *fop, void *arg)
{
  struct shows *s = arg;
  unsigned n = 0;

  for (const char *t = s->first; *t; t += 1 + (*t == '>'))
    if (n++ >= fop->args.offset)
      show(fop, t, n);
  say_quiet(fop);
  if (s->silent)
    gi_dict_del(gi_fop_rsp_xdata(fop), GI_LEFT_KEY);
  else if (s->left)
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), GI_LEFT_KEY, 0);
  if (s->again)
    s->first = s->again;
}

/* Of which some file systems do not say what they are. */
static inline void
say_names(struct gi_fop *fop, void *arg)
{
  say_shown(fop, arg);
  for (uint32_t i = 0; i < fop->rsp.entries.count; i++) {
    struct gi_dirent *e = &fop->rsp.entries.entry[i];

    memset(&e->stat, 0, sizeof(e->stat));
    gi_dict_unref(&e->xdata);
    e->type = i % 2 ? DT_UNKNOWN : e->type;
  }
}

/* As a file. */
static inline bool
has(const struct shows *s, char name)
{
  const char *at = strchr(s->first, name);

  return at && (at == s->first || at[-1] != '>');
}

static inline void
say_now(struct gi_fop *fop, void *arg)
{
  unsigned child = (unsigned)((struct part *)arg - parts);
  struct shows *s = &shows[child];

  if (!fop->loc.name)
    say_dir(fop, arg);
  if (!fop->loc.name && s->renewed)
    s->first = s->renewed;
  if (!fop->loc.name)
    return;
  if (file_on == child || has(s, fop->loc.name[0]))
    attr_of(&fop->rsp.stat, (uint8_t)fop->loc.name[0], S_IFREG | 0644);
  else
    gi_fop_fail(fop, ENOENT);
}

static inline struct gi_fop *
list_from(struct fake_stack *s, struct gi_fd *fd, uint64_t off)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_READDIRP);

  gi_fop_set_fd(f, fd);
  f->args.size = 4096;
  f->args.offset = off;
  fake_submit(s, f);
  assert_true(f->rsp.ret >= 0);
  return f;
}

static inline struct gi_fd *
open_dir(struct fake_stack *s)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_OPENDIR);
  struct gi_fd *fd = fake_fd(s, DIR_GFID);

  fd->directory = true;
  gi_fop_set_fd(f, fd);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  return fd;
}

/* Subvolumes answer with what they show. */
static inline void
let_show(struct fake_stack *s, unsigned n)
{
  fake_script_clear(s);
  for (unsigned i = 0; i < n; i++) {
    fake_script_always(s, i, GI_FOP_READDIRP, (struct fake_reply){.fill = say_shown, .arg = &shows[i]});
    fake_script_always(s, i, GI_FOP_READDIR, (struct fake_reply){.fill = say_names, .arg = &shows[i]});
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_now, .arg = &parts[i]});
  }
  fake_forget_seen(s);
}

static inline struct fake_stack *
stack_that_shows(struct gi_fd **fd, struct shows a, struct shows b, struct shows c)
{
  struct fake_stack *s = stack_with_dir(3, 0);

  *fd = open_dir(s);
  shows[0] = a;
  shows[1] = b;
  shows[2] = c;
  let_show(s, 3);
  return s;
}

#endif
