/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients that change objects and what is told of that, for tests of features/upcall.
 */
#ifndef UPCALL_FIXTURE_H
#define UPCALL_FIXTURE_H

#include "tests/unit/fake.h"
#include "xlators/features/upcall/upcall.h"

static struct gi_client_id client[3] = {
    {.uid = "a", .ours = true, .acknowledges = true}, {.uid = "b", .ours = true, .acknowledges = true}, {.uid = "c"}};
enum { A, B, C };

/* ---- what was told ---- */

static struct gi_invalidation told[64];
static char told_xattr[64][64], told_name[64][64], told_name2[64][64];
static uint64_t told_serial[64];
static unsigned ntold;
static struct gi_fop *no_worker; /* which needs none any more, the last one */

static struct gi_promised promise_told;
#define promised promise_told.seconds

static bool
listen_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event == GI_EVENT_PROMISE)
    promise_told = *(const struct gi_promised *)data;
  if (event == GI_EVENT_NO_WORKER)
    no_worker = data;
  if (event != GI_EVENT_INVALIDATE)
    return false;
  const struct gi_invalidation *inv = data;
  assert_true(ntold < GI_ARRAY_LEN(told));
  const char *text = "";
  gi_dict_get_str(inv->xdata, GI_NAME_KEY, &text);
  snprintf(told_name[ntold], sizeof(told_name[0]), "%s", text);
  text = "";
  gi_dict_get_str(inv->xdata, GI_NAME2_KEY, &text);
  snprintf(told_name2[ntold], sizeof(told_name2[0]), "%s", text);
  told_serial[ntold] = 0;
  gi_dict_get_uint(inv->xdata, GI_TAKEN_KEY, &told_serial[ntold]);
  told_xattr[ntold][0] = '\0';
  if (inv->xdata)
    snprintf(told_xattr[ntold], sizeof(told_xattr[0]), "%s", gi_dict_at(inv->xdata, 0)->key);
  told[ntold++] = *inv;
  return false;
}

static const struct gi_xlator_class listener = {
    .abi = GI_XLATOR_ABI,
    .type = "test/top",
    .version = "1",
    .summary = "Notes what is told.",
    .min_children = 1,
    .max_children = 1,
    .notify = listen_notify,
};

/* The fake stack's top has no ear: ours stands in its place. */
static struct fake_stack *
stack(const char *options)
{
  struct fake_stack *s = fake_stack_new("features/upcall", options ? options : "option cache-invalidation-strict off\n", 1);
  s->parent->cls = &listener;
  ntold = 0;
  no_worker = NULL;
  return s;
}

static struct gi_gfid
gfid(uint8_t n)
{
  struct gi_gfid g;
  memset(&g, n, sizeof(g));
  return g;
}

/* ---- operations ---- */

enum { FILE_ = 3, DIR_ = 4, DIR2 = 5, NEW_ = 6, LOST = 7 };

static struct gi_iatt
attr(uint8_t n, uint32_t mode)
{
  struct gi_iatt a = {.gfid = gfid(n), .mode = mode, .size = n, .nlink = 1};
  return a;
}

/* What storage/posix fills in. */
static void
fill(struct gi_fop *fop, void *arg)
{
  const struct gi_reply_attrs *has = &gi_fop_table[fop->kind].attrs;
  const struct gi_iatt file = attr(FILE_, S_IFREG | 0644), made = attr(NEW_, S_IFREG | 0644), dir = attr(DIR_, S_IFDIR | 0755),
                       dir2 = attr(DIR2, S_IFDIR | 0755);
  bool makes = gi_fop_table[fop->kind].target == GI_TARGET_ENTRY && fop->kind != GI_FOP_LINK;
  if (fop->rsp.ret < 0)
    return;
  if (has->stat)
    fop->rsp.stat = makes && fop->kind != GI_FOP_LOOKUP && fop->kind != GI_FOP_RENAME ? made : file;
  fop->rsp.pre = has->pre == GI_OF_PARENT ? dir : has->pre ? file : fop->rsp.pre;
  fop->rsp.post = has->post == GI_OF_PARENT ? dir : has->post ? file : fop->rsp.post;
  if (has->post2)
    fop->rsp.pre2 = fop->rsp.post2 = dir2;
  if (fop->kind == GI_FOP_SETATTR)
    fop->rsp.post.mode = fop->args.iatt.mode;
  if (fop->kind == GI_FOP_UNLINK || fop->kind == GI_FOP_RMDIR)
    fop->rsp.lost = file.gfid;
  if (fop->kind == GI_FOP_XATTROP)
    fop->rsp.dict = gi_dict_ref(fop->args.dict);
}

static struct gi_fop *
op(struct fake_stack *s, unsigned who, enum gi_fop_kind kind)
{
  struct gi_fop *f = fake_fop(s, kind);
  f->caller.client = &client[who];
  switch (gi_fop_table[kind].target) {
  case GI_TARGET_FD:
    gi_fop_set_fd(f, fake_fd(s, FILE_));
    break;
  case GI_TARGET_ENTRY:
    if (kind != GI_FOP_LINK)
      gi_fop_set_entry(f, &f->loc, fake_inode(s, DIR_), "name");
    if (kind == GI_FOP_RENAME)
      gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR2), "name2");
    break;
  default:
    gi_loc_set_inode(&f->loc, fake_inode(s, FILE_));
  }
  if (kind == GI_FOP_LINK) {
    gi_loc_set_inode(&f->loc, fake_inode(s, FILE_));
    gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIR_), "name2");
  }
  if (kind == GI_FOP_SETXATTR || kind == GI_FOP_XATTROP) {
    f->args.dict = gi_dict_new();
    gi_dict_set_bin(f->args.dict, kind == GI_FOP_XATTROP ? "trusted.afr.v-client-1" : "user.x", "\1", 1);
  }
  f->args.name = "user.x";
  f->args.iatt.mode = S_IFREG | 0600;
  return f;
}

static void
run(struct fake_stack *s, struct gi_fop *f)
{
  fake_script(s, 0, f->kind, (struct fake_reply){.fill = fill});
  fake_submit(s, f);
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 0);
}

static void
does(struct fake_stack *s, unsigned who, enum gi_fop_kind kind)
{
  run(s, op(s, who, kind));
}

static void
set(struct fake_stack *s, const char *name, const char *value)
{
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *text = gi_volfile_write(s->graph->volfile);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  gi_vol_node_option(gi_volfile_find(vf, s->x->name), name, "%s", value);
  assert_int_equal(gi_graph_reconfigure(s->graph, &vf, &err), 0);
}

#endif
