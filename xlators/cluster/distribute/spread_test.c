/* SPDX-License-Identifier: Apache-2.0
 *
 * cluster/distribute over two and four fake subvolumes: how many messages go
 * where, and what their answers come to.
 */
#include "xlators/cluster/distribute/spread-fixture.h"

#include "libglusterish/extension.h"
#include <errno.h>
#include <fcntl.h>

/* ---- lookups ---- */

static void
test_one_message_finds_a_file(void **state)
{
  struct fake_stack *s = stack_with_dir(4, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(2, 4));

  fake_script(s, 2, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(s->nseen, 1);
  assert_int_equal(fake_count(s, 2, GI_FOP_LOOKUP), 1);

  /* What follows goes there and nowhere else. */
  struct gi_fop *w = fake_fop(s, GI_FOP_STAT);
  gi_loc_set_inode(&w->loc, fake_inode(s, FILE_GFID));
  fake_submit(s, w);
  assert_int_equal(s->nseen, 2);
  assert_int_equal(fake_count(s, 2, GI_FOP_STAT), 1);
  fake_stack_free(s);
}

static void
test_linkto_is_followed(void **state)
{
  struct fake_stack *s = stack_with_dir(4, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(2, 4));

  fake_script(s, 2, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_linkto, .arg = s->x->children[1]->name});
  fake_script(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(f->rsp.stat.mode, S_IFREG | 0644);
  assert_int_equal(s->nseen, 2);
  fake_stack_free(s);
}

/* What a subvolume has: its part of the directory, and under the name a file, a linkto file, or nothing. */
struct holding {
  struct part *part;
  const char *linkto; /* where to */
  bool file;
};

static void
say_holding(struct gi_fop *fop, void *arg)
{
  const struct holding *h = arg;

  if (!fop->loc.name)
    say_dir(fop, h->part);
  else if (h->file)
    say_file(fop, NULL);
  else if (h->linkto)
    say_linkto(fop, (void *)(uintptr_t)h->linkto);
  else
    gi_fop_fail(fop, ENOENT);
}

static struct fake_stack *
stack_holding(struct holding h[4])
{
  struct fake_stack *s = stack_with_dir(4, 0);

  for (unsigned i = 0; i < 4; i++) {
    h[i].part = &parts[i];
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_holding, .arg = &h[i]});
  }
  return s;
}

static void
test_linkto_that_leads_nowhere_goes(void **state)
{
  struct holding h[4] = {[2] = {.linkto = "child-1"}};
  struct fake_stack *s = stack_holding(h);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(2, 4));

  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOENT);
  assert_int_equal(fake_count(s, 2, GI_FOP_UNLINK), 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_UNLINK), 0);
  assert_int_equal(fake_count(s, 2, GI_FOP_ENTRYLK), 2);

  /* Not while one subvolume cannot say whether it has the file. */
  fake_event(s, 3, GI_EVENT_CHILD_DOWN, NULL);
  f = entry_fop(s, GI_FOP_LOOKUP, name_on(2, 4));
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOTCONN);
  assert_int_equal(fake_count(s, 2, GI_FOP_UNLINK), 1);
  fake_stack_free(s);
}

static void
test_linkto_that_leads_elsewhere_is_replaced(void **state)
{
  struct holding h[4] = {[2] = {.linkto = "child-1"}, [3] = {.file = true}};
  struct fake_stack *s = stack_holding(h);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(2, 4));

  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 2, GI_FOP_SETXATTR), 1);
  assert_int_equal(fake_count(s, 2, GI_FOP_UNLINK), 0); /* at no time there is none */
  fake_stack_free(s);
}

/* Another file's: it is replaced at once, and at no time there is none. */
static void
say_foreign_linkto(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name) {
    say_dir(fop, arg);
    return;
  }
  attr_of(&fop->rsp.stat, 77, S_IFREG | GI_LINKTO_MODE);
  gi_dict_set_bin(gi_fop_rsp_xdata(fop), KEY ".linkto", "child-3", 8);
}

static void
test_linkto_of_another_file_is_replaced(void **state)
{
  struct holding h[4] = {[3] = {.file = true}};
  struct fake_stack *s = stack_holding(h);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(2, 4));

  fake_script_clear(s);
  for (unsigned i = 0; i < 4; i++)
    fake_script_always(
        s, i, GI_FOP_LOOKUP,
        (struct fake_reply){.fill = i == 2 ? say_foreign_linkto : say_holding, .arg = i == 2 ? (void *)&parts[2] : &h[i]});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 2, GI_FOP_MKNOD), 1);
  assert_int_equal(fake_count(s, 2, GI_FOP_RENAME), 1);
  assert_int_equal(fake_count(s, 2, GI_FOP_UNLINK), 0);
  fake_stack_free(s);
}

static void
test_of_two_files_that_with_a_linkto_is_used(void **state)
{
  struct holding h[4] = {[1] = {.file = true}, [2] = {.linkto = "child-3"}, [3] = {.file = true}};
  struct fake_stack *s = stack_holding(h);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(2, 4)), *w = fake_fop(s, GI_FOP_STAT);

  gi_loc_set_inode(&f->loc, fake_inode(s, DIR_GFID)); /* it was a directory before: all are asked at once */
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  gi_loc_set_inode(&w->loc, fake_inode(s, FILE_GFID));
  fake_submit(s, w);
  assert_int_equal(fake_count(s, 3, GI_FOP_STAT), 1);
  fake_stack_free(s);
}

/* Refuses, as if the name led to something else by now. */
static void
say_replaced(struct gi_fop *fop, void *arg)
{
  struct gi_gfid want;

  assert_true(gi_dict_get_gfid(fop->xdata, GI_EXPECTED_KEY, &want));
  assert_int_equal(want.b[0], FILE_GFID);
}

static void
test_unlink_says_what_is_meant(void **state)
{
  struct holding h[4] = {[2] = {.file = true}};
  struct fake_stack *s = stack_holding(h);
  const char *name = name_on(2, 4);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name), *u = entry_fop(s, GI_FOP_UNLINK, name);

  fake_submit(s, f);
  gi_loc_set_inode(&u->loc, fake_inode(s, FILE_GFID));
  fake_script(s, 2, GI_FOP_UNLINK, (struct fake_reply){.ret = -1, .err = ESTALE, .fill = say_replaced});
  h[2] = (struct holding){.part = &parts[2], .linkto = "child-1"};
  h[1].file = true;
  fake_submit(s, u);
  assert_int_equal(u->rsp.ret, 0);
  assert_int_equal(fake_count(s, 1, GI_FOP_UNLINK), 1); /* the file, */
  assert_int_equal(fake_count(s, 2, GI_FOP_UNLINK), 2); /* and its linkto file */
  fake_stack_free(s);
}

/* A brick tells that something has changed with the file that was just found, before who looked for it goes on. */
static struct {
  struct fake_stack *s;
  struct gi_defer defer;
  bool early;
} news;

static void
tell_news(void *arg)
{
  struct gi_invalidation inv = {.flags = GI_UPCALL_XATTR};

  if (news.early) { /* behind the answer, and before who waits for that */
    news.early = false;
    gi_defer_add(news.s->x->reactor, &news.defer);
    return;
  }
  memset(inv.gfid.b, FILE_GFID, sizeof(inv.gfid.b));
  fake_event(news.s, 1, GI_EVENT_INVALIDATE, &inv);
}

static void
say_file_and_news(struct gi_fop *fop, void *arg)
{
  say_file(fop, NULL);
  gi_defer_add(news.s->x->reactor, &news.defer);
}

static void
test_invalidation_after_a_lookup(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *u = entry_fop(s, GI_FOP_UNLINK, name_on(1, 2));

  news.s = s;
  news.early = true;
  gi_defer_init(&news.defer, tell_news, NULL);
  fake_script(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.deferred = true, .fill = say_file_and_news});
  fake_submit(s, u);
  assert_true(u->answered);
  assert_int_equal(u->rsp.ret, 0);
  assert_int_equal(fake_count(s, 1, GI_FOP_UNLINK), 1);
  fake_stack_free(s);
}

/* What is on a subvolume that is down is not told to be absent. */
static void
test_down_is_not_absent(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f;

  fake_event(s, 1, GI_EVENT_CHILD_DOWN, NULL);
  assert_int_equal(s->events[GI_EVENT_CHILD_DOWN], 0);
  assert_int_equal(s->events[GI_EVENT_CHILD_CHANGED], 1);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &parts[0]}); /* the directory, for its layout */
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  f = entry_fop(s, GI_FOP_LOOKUP, name_on(1, 2));
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOTCONN);

  /* Others go on. */
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2));
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);

  /* A name that belongs to it and is not there would have told of a file elsewhere. */
  fake_script_clear(s);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &parts[0]}); /* with the same layout */
  f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2));
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOENT);
  fake_event(s, 0, GI_EVENT_CHILD_DOWN, NULL);
  assert_int_equal(s->events[GI_EVENT_CHILD_DOWN], 1);
  fake_stack_free(s);
}

/* The file has the old name on the third subvolume; the second has nothing, and cannot say so when it is asked for the new one again. */
static void
say_once(struct gi_fop *fop, void *arg)
{
  const struct part *p = arg;
  static unsigned asked;

  if (!fop->loc.name)
    say_dir(fop, arg);
  else if (p->n == 2 && fop->loc.name[0] == 'n')
    say_file(fop, NULL);
  else
    gi_fop_fail(fop, p->n == 1 && asked++ ? ENOTCONN : ENOENT);
}

static void
test_nothing_takes_a_name_that_nobody_can_tell(void **state)
{
  struct fake_stack *s = stack_with_dir(4, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_RENAME, name_on(2, 4));

  gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_GFID), other_name_on(1, 4));
  for (unsigned i = 0; i < 4; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_once, .arg = &parts[i]});
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOTCONN);
  assert_int_equal(fake_count(s, 1, GI_FOP_MKNOD), 0);
  assert_int_equal(fake_count(s, 2, GI_FOP_RENAME), 0);
  fake_stack_free(s);
}

static void
test_file_and_directory_of_one_name(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_LOOKUP, name_on(0, 2));

  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &parts[0]});
  fake_script(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, EIO);
  fake_stack_free(s);
}

/* ---- names ---- */

static void
test_one_message_makes_a_file(void **state)
{
  struct fake_stack *s = stack_with_dir(4, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_CREATE, name_on(3, 4));

  f->fd = gi_fd_new(s->graph, NULL, O_RDWR, 1);
  fake_script(s, 3, GI_FOP_CREATE, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 3, GI_FOP_CREATE), 1);
  assert_int_equal(s->nseen - fake_count(s, 0, GI_FOP_STATFS) - fake_count(s, 1, GI_FOP_STATFS) -
                       fake_count(s, 2, GI_FOP_STATFS) - fake_count(s, 3, GI_FOP_STATFS),
                   1);
  fake_stack_free(s);
}

static void
say_refused(struct gi_fop *fop, void *arg)
{
  const void *bytes;
  uint32_t len;
  const char *key;

  if (fop->kind == GI_FOP_SYMLINK) {
    assert_true(gi_dict_get_bin(fop->xdata, GI_PARENT_XATTR_KEY, &bytes, &len));
    assert_int_equal(len, strlen(KEY) + 1 + DI_LAYOUT_BYTES);
    assert_string_equal(bytes, KEY);
  } else {
    assert_true(gi_dict_get_str(fop->xdata, "glusterfs.preop.parent.key", &key));
    assert_string_equal(key, KEY);
    assert_true(gi_dict_get_bin(fop->xdata, KEY, &bytes, &len));
  }
  gi_dict_set_int(gi_fop_rsp_xdata(fop), "glusterfs.preop.check.failed", 1);
}

/* The directory has got another layout: it is read, and the file goes where its name belongs now. */
static void
test_stale_layout_is_refused(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_MKNOD, GI_FOP_SYMLINK};

  for (unsigned k = 0; k < 2; k++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, kinds[k], name_on(0, 2));
    struct part other[2] = {{.n = 1, .of = 2}, {.n = 0, .of = 2}};

    fake_script(s, 0, kinds[k], (struct fake_reply){.ret = -1, .err = EIO, .fill = say_refused});
    fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT}); /* whether it has made it none the less */
    for (unsigned i = 0; i < 2; i++) {
      fake_script(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &other[i]});
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT}); /* nor has anybody else */
    }
    fake_script(s, 1, kinds[k], (struct fake_reply){.fill = say_file});
    fake_submit(s, f);
    assert_int_equal(f->rsp.ret, 0);
    assert_int_equal(fake_count(s, 1, kinds[k]), 1);
    fake_stack_free(s);
  }
}

/* ---- a creation that is refused for an old layout, though one brick of the replica set has done it ---- */

static struct part exchanged[2] = {{.n = 1, .of = 2}, {.n = 0, .of = 2}};
static bool unmade;

static void
say_half_made(struct gi_fop *fop, void *arg)
{
  if (!fop->loc.name)
    say_dir(fop, &exchanged[arg == &parts[1]]);
  else if (arg == &parts[1] || unmade)
    gi_fop_fail(fop, ENOENT);
  else
    say_file(fop, NULL);
}

static void
refuse_layout(struct gi_fop *fop, void *arg)
{
  gi_dict_set_int(gi_fop_rsp_xdata(fop), "glusterfs.preop.check.failed", 1);
}

static void
see_unmade(struct gi_fop *fop, void *arg)
{
  struct gi_gfid gfid;

  assert_true(gi_dict_get_gfid(fop->xdata, GI_EXPECTED_KEY, &gfid));
  assert_int_equal(gfid.b[0], FILE_GFID);
  unmade = true;
}

/* It is made where the name belongs now. What is left where it was refused would have the name again. */
static void
test_refused_creation_leaves_nothing(void **state)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_CREATE, GI_FOP_MKNOD, GI_FOP_SYMLINK};

  for (unsigned k = 0; k < 2 * GI_ARRAY_LEN(kinds); k++) {
    struct fake_stack *s = stack_with_dir(2, 0);
    struct gi_fop *f = entry_fop(s, kinds[k / 2], name_on(0, 2));
    bool stays = k & 1;

    unmade = false;
    if (kinds[k / 2] == GI_FOP_CREATE)
      gi_fop_set_fd(f, fake_fd(s, FILE_GFID));
    for (unsigned i = 0; i < 2; i++)
      fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_half_made, .arg = &parts[i]});
    fake_script_always(s, 0, kinds[k / 2], (struct fake_reply){.ret = -1, .err = EIO, .fill = refuse_layout});
    fake_script_always(s, 1, kinds[k / 2], (struct fake_reply){.fill = say_file});
    fake_script(s, 0, GI_FOP_UNLINK, (struct fake_reply){.ret = stays ? -1 : 0, .err = stays ? EIO : 0, .fill = see_unmade});
    fake_submit(s, f);
    assert_true(unmade);
    assert_int_equal(f->rsp.err, stays ? EIO : 0);
    assert_int_equal(fake_count(s, 1, kinds[k / 2]), !stays);
    fake_stack_free(s);
  }
}

/* ---- room ---- */

static void
say_full(struct gi_fop *fop, void *arg)
{
  fop->rsp.statfs =
      (struct gi_statfs){.bsize = 4096, .frsize = 4096, .blocks = 1000, .bfree = 900, .bavail = 900, .files = 100, .ffree = 90};
  if (arg)
    fop->rsp.statfs.bavail = 10;
}

/* Where there is no room a linkto file is made, before the file elsewhere. */
static void
test_full_subvolume_gets_a_linkto(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *st = fake_fop(s, GI_FOP_STATFS), *f;

  assert_int_equal(fake_stack_children(s, "option min-free-disk 10%\n", (const unsigned[]){0, 1}, 2, NULL), 0);
  fake_script_always(s, 0, GI_FOP_STATFS, (struct fake_reply){.fill = say_full, .arg = s});
  fake_script_always(s, 1, GI_FOP_STATFS, (struct fake_reply){.fill = say_full});
  fake_submit(s, st);
  assert_int_equal(st->rsp.statfs.blocks, 2000);
  assert_int_equal(st->rsp.statfs.bavail, 910);
  fake_forget_seen(s);
  f = entry_fop(s, GI_FOP_CREATE, name_on(0, 2));
  f->fd = gi_fd_new(s->graph, NULL, O_RDWR, 1);
  fake_script(s, 1, GI_FOP_CREATE, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(fake_count(s, 0, GI_FOP_MKNOD), 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_CREATE), 0);
  assert_int_equal(fake_count(s, 1, GI_FOP_CREATE), 1);
  assert_int_equal(fake_count(s, 0, GI_FOP_ENTRYLK), 2); /* taken and given back */
  fake_stack_free(s);
}

static void
see_mkdir(struct gi_fop *fop, void *arg)
{
  unsigned *marks = arg;
  const void *bytes;
  uint32_t len;

  assert_true(gi_dict_get_bin(fop->xdata, KEY, &bytes, &len));
  assert_int_equal(len, DI_LAYOUT_BYTES);
  if (gi_dict_get(fop->xdata, KEY ".mds"))
    ++*marks;
  attr_of(&fop->rsp.stat, FILE_GFID, S_IFDIR | 0755);
}

static void
test_directory_is_made_everywhere(void **state)
{
  struct fake_stack *s = stack_with_dir(4, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_MKDIR, name_on(2, 4));
  unsigned marks = 0;

  for (unsigned i = 0; i < 4; i++)
    fake_script(s, i, GI_FOP_MKDIR, (struct fake_reply){.fill = see_mkdir, .arg = &marks});
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(marks, 1);
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(fake_count(s, i, GI_FOP_MKDIR), 1);
  fake_stack_free(s);
}

/* The subvolume where the name belongs decides: nothing is made on the others. */
static void
test_refused_directory_is_nowhere(void **state)
{
  struct fake_stack *s = stack_with_dir(4, 0);
  struct gi_fop *f = entry_fop(s, GI_FOP_MKDIR, name_on(2, 4));

  fake_script(s, 2, GI_FOP_MKDIR, (struct fake_reply){.ret = -1, .err = EEXIST});
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, EEXIST);
  assert_int_equal(fake_count(s, 0, GI_FOP_MKDIR) + fake_count(s, 1, GI_FOP_MKDIR) + fake_count(s, 3, GI_FOP_MKDIR), 0);
  assert_int_equal(fake_count(s, 2, GI_FOP_ENTRYLK), 2);
  assert_int_equal(fake_count(s, 2, GI_FOP_INODELK), 2);
  fake_stack_free(s);
}

static void
keep_fop(struct gi_fop *fop, void *arg)
{
  *(struct gi_fop **)arg = gi_fop_ref(fop);
}

/* A subvolume may need the name of an operation after its answer. */
static void
test_names_live_as_long_as_operations(void **state)
{
  struct holding h[4] = {[2] = {.linkto = "child-1"}};
  struct fake_stack *s = stack_holding(h);
  struct gi_fop *kept = NULL, *f;
  char *name = gi_strdup(name_on(2, 4));

  fake_script(s, 2, GI_FOP_ENTRYLK, (struct fake_reply){.fill = keep_fop, .arg = &kept});
  f = entry_fop(s, GI_FOP_LOOKUP, name);
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, ENOENT);
  assert_non_null(kept);
  assert_ptr_not_equal(kept->args.name, f->loc.name);
  assert_string_equal(kept->args.name, name);
  gi_fop_unref(kept);
  gi_free(name);
  fake_stack_free(s);
}

/* Nor is a name that is looked up for others the caller's: what that mends has it, too. */
struct looking {
  struct fake_stack *s;
  char *name;
};

static void
look_up(void *arg)
{
  struct looking *l = arg;
  struct gi_fop *base = fake_fop(l->s, GI_FOP_IPC);
  struct gi_inode *dir = fake_inode(l->s, DIR_GFID);
  struct gi_loc loc = {.name = l->name, .pargfid = dir->gfid, .parent = dir};
  struct gi_iatt stat;
  int child;

  assert_int_equal(di_resolve(di_of(l->s->x), base, &loc, &child, &stat), 0);
  assert_int_equal(child, 1);
}

static void
test_names_that_are_looked_up_live_as_long(void **state)
{
  struct holding h[4] = {[1] = {.file = true}};
  struct looking l = {.s = stack_holding(h), .name = gi_strdup(name_on(2, 4))};
  struct gi_fop *kept = NULL;

  fake_script(l.s, 2, GI_FOP_MKNOD, (struct fake_reply){.fill = keep_fop, .arg = &kept});
  gi_task_start(l.s->x->reactor, look_up, &l);
  fake_settle(l.s);
  assert_non_null(kept);
  assert_string_equal(kept->loc.name, l.name);
  assert_ptr_not_equal(kept->loc.name, l.name);
  gi_fop_unref(kept);
  gi_free(l.name);
  fake_stack_free(l.s);
}

/* ---- another set ---- */

static void
test_a_subvolume_joins(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 1);
  struct gi_fop *f;

  assert_int_equal(fake_stack_children(s, NULL, (const unsigned[]){0, 1}, 2, NULL), 0);
  fake_settle(s);
  assert_int_equal(s->x->nchildren, 2);
  fake_event(s, 1, GI_EVENT_CHILD_UP, NULL);
  f = fake_fop(s, GI_FOP_STATFS);
  fake_submit(s, f);
  assert_int_equal(fake_count(s, 0, GI_FOP_STATFS), 1);
  assert_int_equal(fake_count(s, 1, GI_FOP_STATFS), 1);
  fake_stack_free(s);
}

static void
test_layout_that_is_exchanged_is_waited_for(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *stat = fake_fop(s, GI_FOP_STAT), *f = entry_fop(s, GI_FOP_MKDIR, name_on(1, 2));
  static struct part half = {.n = 0, .of = 2}, bare = {.n = 1, .of = 2, .bare = true};

  /* Somebody looks at the directory while another client writes a layout, and waits for its lock. */
  fake_event(s, 1, GI_EVENT_CHILD_DOWN, NULL);
  fake_event(s, 1, GI_EVENT_CHILD_UP, NULL);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &half});
  fake_script(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &bare});
  fake_script(s, 0, GI_FOP_INODELK, (struct fake_reply){.hold = true});
  gi_loc_set_inode(&stat->loc, fake_inode(s, DIR_GFID));
  fake_submit(s, stat);
  assert_int_equal(fake_held(s, 0), 1);
  for (unsigned i = 0; i < 2; i++)
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_dir, .arg = &parts[i]});
  fake_script(s, 0, GI_FOP_MKDIR, (struct fake_reply){.fill = say_file});
  fake_script(s, 1, GI_FOP_MKDIR, (struct fake_reply){.fill = say_file});
  fake_submit(s, f);
  assert_int_equal(f->rsp.err, 0);
  fake_release(s, 0, GI_FOP_INODELK, 0, 0);
  fake_settle(s);
  assert_int_equal(stat->rsp.err, 0);
  fake_stack_free(s);
}

static void
see_root(struct gi_fop *fop, void *arg)
{
  assert_true(gi_gfid_is_root(gi_fop_gfid(fop)));
  fop->rsp.statfs = (struct gi_statfs){.bsize = 4096, .frsize = 4096, .blocks = 100};
}

static void
test_room_is_that_of_the_volume(void **state)
{
  struct fake_stack *s = stack_with_dir(2, 0);
  struct gi_fop *f = fake_fop(s, GI_FOP_STATFS);

  for (unsigned i = 0; i < 2; i++)
    fake_script(s, i, GI_FOP_STATFS, (struct fake_reply){.fill = see_root});
  gi_loc_set_inode(&f->loc, fake_inode(s, FILE_GFID)); /* which one of them has */
  fake_submit(s, f);
  assert_int_equal(f->rsp.statfs.blocks, 200);
  fake_stack_free(s);
}

/* Its bricks are about to start. */
static void
test_a_subvolume_that_joins_is_waited_for(void **state)
{
  struct fake_stack *s = fake_stack_new("cluster/distribute", NULL, 1);
  struct gi_fop *f;

  s->graph->active = true;
  assert_int_equal(fake_stack_children(s, NULL, (const unsigned[]){0, 1}, 2, NULL), 0);
  fake_settle(s);
  fake_event(s, 1, GI_EVENT_CHILD_DOWN, NULL);
  f = fake_fop(s, GI_FOP_STATFS);
  fake_submit(s, f);
  assert_int_equal(s->nseen, 0);
  fake_script(s, 1, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOTCONN}); /* no quorum of its bricks yet */
  fake_event(s, 1, GI_EVENT_CHILD_UP, NULL);
  fake_settle(s);
  assert_int_equal(fake_count(s, 1, GI_FOP_STATFS), 0);
  fake_event(s, 1, GI_EVENT_CHILD_CHANGED, NULL);
  fake_settle(s);
  assert_int_equal(fake_count(s, 1, GI_FOP_STATFS), 1);
  fake_stack_free(s);
}

/* ---- a subvolume that came lately, and has none of the directories yet ---- */

#define ABOVE_GFID 7

static struct {
  const char *name;        /* of the directory in which another one is made */
  bool there, makes, made; /* on the last subvolume: that directory; whether it can be made; the other one */
} late;

static void
say_late(struct gi_fop *fop, void *arg)
{
  const char *name = fop->loc.name;
  bool above = name ? strcmp(name, late.name) == 0 : gi_fop_gfid(fop)->b[0] == ABOVE_GFID;

  if ((name && !above) || (above && arg == &parts[3] && !late.there)) {
    gi_fop_fail(fop, ENOENT);
    return;
  }
  say_dir(fop, arg);
  if (above)
    attr_of(&fop->rsp.stat, ABOVE_GFID, S_IFDIR | 0755);
}

static void
make_late(struct gi_fop *fop, void *arg)
{
  bool above = strcmp(fop->loc.name, late.name) == 0, last = arg == &parts[3];

  if (last && !(above ? late.makes : late.there)) {
    gi_fop_fail(fop, ENOENT);
    return;
  }
  if (last && above)
    late.there = true;
  else if (last)
    late.made = true;
  attr_of(&fop->rsp.stat, above ? ABOVE_GFID : FILE_GFID, S_IFDIR | 0755);
}

/* It gets a part of a new directory's layout, so it gets the directory: names would have no place otherwise. */
static void
test_late_subvolume_gets_a_new_directory(void **state)
{
  struct fake_stack *s = stack_with_dir(4, 0);
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  struct gi_gfid gfid;

  memset(&late, 0, sizeof(late));
  late.name = name_on(1, 4);
  for (unsigned i = 0; i < 4; i++) {
    parts[i] = (struct part){.n = i, .of = 3, .bare = i == 3};
    fake_script_always(s, i, GI_FOP_LOOKUP, (struct fake_reply){.fill = say_late, .arg = &parts[i]});
    fake_script_always(s, i, GI_FOP_MKDIR, (struct fake_reply){.fill = make_late, .arg = &parts[i]});
  }
  gi_loc_set_inode(&f->loc, fake_inode(s, DIR_GFID));
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  f = entry_fop(s, GI_FOP_LOOKUP, late.name);
  fake_submit(s, f); /* it has not got what is above this one either */
  assert_int_equal(f->rsp.ret, 0);
  assert_false(late.there);
  late.makes = true;
  f = fake_fop(s, GI_FOP_MKDIR);
  memset(gfid.b, FILE_GFID, sizeof(gfid.b));
  gi_fop_set_entry(f, &f->loc, fake_inode(s, ABOVE_GFID), "new");
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &gfid);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_true(late.there && late.made);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_message_finds_a_file),
      cmocka_unit_test(test_linkto_is_followed),
      cmocka_unit_test(test_linkto_that_leads_nowhere_goes),
      cmocka_unit_test(test_linkto_that_leads_elsewhere_is_replaced),
      cmocka_unit_test(test_linkto_of_another_file_is_replaced),
      cmocka_unit_test(test_of_two_files_that_with_a_linkto_is_used),
      cmocka_unit_test(test_unlink_says_what_is_meant),
      cmocka_unit_test(test_invalidation_after_a_lookup),
      cmocka_unit_test(test_down_is_not_absent),
      cmocka_unit_test(test_nothing_takes_a_name_that_nobody_can_tell),
      cmocka_unit_test(test_file_and_directory_of_one_name),
      cmocka_unit_test(test_one_message_makes_a_file),
      cmocka_unit_test(test_stale_layout_is_refused),
      cmocka_unit_test(test_refused_creation_leaves_nothing),
      cmocka_unit_test(test_full_subvolume_gets_a_linkto),
      cmocka_unit_test(test_directory_is_made_everywhere),
      cmocka_unit_test(test_refused_directory_is_nowhere),
      cmocka_unit_test(test_names_live_as_long_as_operations),
      cmocka_unit_test(test_names_that_are_looked_up_live_as_long),
      cmocka_unit_test(test_layout_that_is_exchanged_is_waited_for),
      cmocka_unit_test(test_room_is_that_of_the_volume),
      cmocka_unit_test(test_a_subvolume_joins),
      cmocka_unit_test(test_a_subvolume_that_joins_is_waited_for),
      cmocka_unit_test(test_late_subvolume_gets_a_new_directory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
