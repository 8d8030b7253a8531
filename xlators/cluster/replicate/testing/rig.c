/* SPDX-License-Identifier: Apache-2.0
 *
 * The rig of the tests: a replica set over three model bricks, what is done to
 * them, what is asserted of them, and requests. See testing/model.h.
 */
#include "xlators/cluster/replicate/testing/model.h"

/* ---- the rig ---- */

static void
serve_always(struct rig *r)
{
  for (unsigned i = 0; i < BRICKS; i++)
    fake_script_always(r->s, i, GI_FOP_MAX, (struct fake_reply){.fill = brick_serve, .arg = &r->brick[i]});
}

void
rig_hold(struct rig *r, unsigned child, enum gi_fop_kind kind)
{
  /* Scripts are tried in order, so the exception must come before the rule. */
  r->held_from = r->s->nseen;
  fake_script_clear(r->s);
  fake_script(r->s, child, kind, (struct fake_reply){.hold = true});
  serve_always(r);
}

void
rig_first(struct rig *r, unsigned child, enum gi_fop_kind kind, void (*fill)(struct gi_fop *fop, void *arg), void *arg)
{
  r->first[child] = (struct fake_reply){.fill = fill, .arg = arg};
  r->first_kind[child] = kind;
  fake_script_clear(r->s);
  for (unsigned i = 0; i < BRICKS; i++)
    if (r->first[i].fill)
      fake_script(r->s, i, r->first_kind[i], r->first[i]);
  serve_always(r);
}

void
rig_release(struct rig *r, unsigned child, enum gi_fop_kind kind)
{
  for (unsigned i = r->held_from; i < r->s->nseen; i++) {
    struct fake_seen *e = &r->s->seen[i];

    if (e->child != child || e->kind != kind)
      continue;
    brick_serve(e->fop, &r->brick[child]);
    assert_true(fake_release(r->s, child, kind, e->fop->rsp.ret, e->fop->rsp.err));
    return;
  }
  fail_msg("brick %u holds no %s", child, gi_fop_name(kind));
}

void
rig_hold_always(struct rig *r, unsigned child, enum gi_fop_kind kind)
{
  r->held_from = r->s->nseen;
  fake_script_clear(r->s);
  fake_script_always(r->s, child, kind, (struct fake_reply){.hold = true});
  serve_always(r);
}

struct gi_fop *
rig_held(struct rig *r, unsigned child, enum gi_fop_kind kind)
{
  for (unsigned i = r->held_from; i < r->s->nseen; i++)
    if (r->s->seen[i].child == child && r->s->seen[i].kind == kind) {
      r->held_from = i;
      return r->s->seen[i].fop;
    }
  return NULL;
}

void
rig_answer(struct rig *r, unsigned child, enum gi_fop_kind kind, int err)
{
  struct gi_fop *fop = rig_held(r, child, kind);

  assert_non_null(fop);
  r->held_from++;
  fop->rsp.ret = err ? -1 : 0;
  fop->rsp.err = err;
  if (!err)
    brick_serve(fop, &r->brick[child]);
  assert_true(fake_release(r->s, child, kind, fop->rsp.ret, fop->rsp.err));
}

struct rig *
rig_new(const char *options)
{
  struct rig *r = gi_new(struct rig);
  GI_CLEANUP_FREE char *text = gi_asprintf("option afr-pending-xattr v-client-0,v-client-1,v-client-2\n"
                                           "option volume-id 8306d860-0000-0000-0000-000000000000\n%s",
                                           options ? options : "");

  r->s = fake_stack_new("cluster/replicate", text, BRICKS);
  for (unsigned i = 0; i < BRICKS; i++) {
    r->brick[i].index = i;
    r->brick[i].lock_owner_ok = true;
    brick_make_object(&r->brick[i], &gi_gfid_root, S_IFDIR | 0755);
  }
  serve_always(r);
  return r;
}

struct rig *
rig_new_arbiter(const char *options)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("option arbiter-count 1\n%s", options ? options : "");
  struct rig *r = rig_new(text);

  r->brick[2].arbiter = true;
  return r;
}

void
rig_free(struct rig *r)
{
  fake_stack_free(r->s);
  for (unsigned i = 0; i < BRICKS; i++)
    for (unsigned k = 0; k < BRICK_OBJECTS; k++)
      brick_forget_object(&r->brick[i].object[k]);
  gi_free(r);
}

void
rig_free_clean(struct rig *r)
{
  gi_graph_deactivate(r->s->graph);
  fake_settle(r->s);
  for (unsigned i = 0; i < BRICKS; i++) {
    assert_int_equal(r->brick[i].locks, 0);
    assert_true(r->brick[i].lock_owner_ok);
  }
  rig_free(r);
}

void
rig_down(struct rig *r, unsigned child)
{
  struct brick *b = &r->brick[child];

  for (unsigned k = 0; k < GI_FOP_MAX; k++)
    b->fail_err[k] = ENOTCONN;
  b->locks = 0;
  while (fake_release(r->s, child, GI_FOP_MAX, -1, ENOTCONN))
    ;
  fake_event(r->s, child, GI_EVENT_CHILD_DOWN, NULL);
  fake_settle(r->s);
}

void
rig_up(struct rig *r, unsigned child)
{
  memset(r->brick[child].fail_err, 0, sizeof(r->brick[child].fail_err));
  fake_event(r->s, child, GI_EVENT_CHILD_UP, NULL);
  fake_settle(r->s);
}

void
rig_ours(struct rig *r)
{
  struct gi_fop *f;

  for (unsigned i = 0; i < BRICKS; i++) {
    fake_event(r->s, i, GI_EVENT_CHILD_DOWN, NULL);
    fake_event(r->s, i, GI_EVENT_CHILD_UP, "other preamble truncate-opened noreplace");
  }
  fake_settle(r->s);
  for (uint8_t n = 1; n < 10; n++) {
    struct gi_gfid gfid = brick_gfid(n);

    if (!brick_find_object(&r->brick[0], &gfid))
      continue;
    f = rig_loc(r, GI_FOP_LOOKUP, n); /* so that its copies are known to be good */
    rig_run(r, f);
    assert_int_equal(f->rsp.ret, 0);
  }
  rig_forget(r);
}

struct rig *
rig_of_ours(void)
{
  struct rig *r = rig_new(NULL);

  rig_object(r, 5, S_IFREG | 0644);
  rig_ours(r);
  return r;
}

void
rig_object(struct rig *r, uint8_t n, uint32_t mode)
{
  struct gi_gfid gfid = brick_gfid(n);
  char name[8];

  snprintf(name, sizeof(name), "f%u", n);
  for (unsigned i = 0; i < BRICKS; i++) {
    brick_make_object(&r->brick[i], &gfid, mode);
    brick_make_name(&r->brick[i], &gi_gfid_root, name, &gfid);
  }
}

void
rig_forget(struct rig *r)
{
  for (unsigned i = 0; i < BRICKS; i++)
    r->brick[i].log[0] = r->brick[i].index_names[0] = '\0';
  fake_forget_seen(r->s);
  r->held_from = 0;
}

void
rig_log(struct rig *r, unsigned child, const char *want)
{
  if (strcmp(r->brick[child].log, want) != 0)
    fail_msg("brick %u saw\n  %s\ninstead of\n  %s", child, r->brick[child].log, want);
  r->brick[child].log[0] = '\0';
}

void
rig_log_all(struct rig *r, const char *want)
{
  for (unsigned i = 0; i < BRICKS; i++)
    rig_log(r, i, want);
}

void
rig_marks(struct rig *r, unsigned child, uint8_t n, const char *want)
{
  const struct brick_object *o = brick_object(&r->brick[child], n);
  char text[256] = "";

  assert_non_null(o);
  for (unsigned j = 0; j <= BRICKS; j++)
    for (int s = 0; s < 3; s++) {
      size_t at = strlen(text);
      char who[4] = {j == BRICKS ? 'D' : (char)('0' + j), j == BRICKS ? ':' : '\0', 0};

      if (o->mark[j][s])
        snprintf(text + at, sizeof(text) - at, "%s%s%c%d", at ? "," : "", who, "dme"[s], o -> mark[j][s]);
    }
  if (strcmp(text, want) != 0)
    fail_msg("brick %u has marks \"%s\" instead of \"%s\"", child, text, want);
}

void
rig_set(struct rig *r, const char *name, const char *value)
{
  struct gi_xlator *x = r->s->x;
  struct gi_error err = {0};

  if (gi_option_parse(gi_option_find(x->cls->options, name), value, x->options, &err) < 0)
    fail_msg("%s", err.text);
  x->cls->reconfigure_commit(x);
  fake_settle(r->s);
}

/* ---- requests ---- */

struct gi_fop *
rig_loc(struct rig *r, enum gi_fop_kind kind, uint8_t n)
{
  struct gi_fop *f = fake_fop(r->s, kind);
  struct gi_gfid gfid = brick_gfid(n);
  struct gi_inode *inode = gi_inode_get(r->s->graph, &gfid);

  gi_loc_set_inode(&f->loc, inode);
  gi_inode_unref(&inode);
  return f;
}

struct gi_fop *
rig_fd(struct rig *r, enum gi_fop_kind kind, struct gi_fd *fd)
{
  struct gi_fop *f = fake_fop(r->s, kind);

  gi_fop_set_fd(f, fd);
  return f;
}

struct gi_fop *
rig_write(struct rig *r, struct gi_fd *fd, uint64_t offset, size_t len)
{
  struct gi_fop *f = rig_fd(r, GI_FOP_WRITE, fd);
  struct gi_buf *buf = gi_buf_new(len);

  f->args.offset = offset;
  f->args.size = len;
  memset(buf->base, 'w', len);
  gi_payload_add(&f->payload, buf, buf->base, len);
  gi_buf_unref(&buf);
  return f;
}

struct gi_fop *
rig_entry(struct rig *r, enum gi_fop_kind kind, uint8_t parent, const char *name, uint8_t gfid_req)
{
  struct gi_fop *f = fake_fop(r->s, kind);
  struct gi_gfid gfid = brick_gfid(parent), req = brick_gfid(gfid_req);
  struct gi_inode *dir = gi_inode_get(r->s->graph, &gfid);

  gi_fop_set_entry(f, &f->loc, dir, name);
  gi_inode_unref(&dir);
  if (gfid_req)
    gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &req);
  if (kind == GI_FOP_CREATE)
    f->fd = gi_fd_new(r->s->graph, NULL, 2, 100);
  return f;
}

void
rig_run(struct rig *r, struct gi_fop *f)
{
  fake_submit(r->s, f);
}

struct gi_fd *
rig_open(struct rig *r, uint8_t n)
{
  struct gi_fd *fd = fake_fd(r->s, n);
  struct gi_fop *f = rig_fd(r, GI_FOP_OPEN, fd);

  f->args.flags = 2;
  rig_run(r, f);
  assert_int_equal(f->rsp.ret, 0);
  rig_forget(r);
  return fd;
}

struct rig *
rig_with_file(const char *options, struct gi_fd **fd)
{
  struct rig *r = rig_new(options);

  rig_object(r, 5, S_IFREG | 0644);
  *fd = rig_open(r, 5);
  return r;
}

void
rig_done(const struct gi_fop *f, int ret, int err)
{
  if (!f->answered)
    fail_msg("%s was not answered", gi_fop_name(f->kind));
  if (f->rsp.ret != ret || (ret < 0 && f->rsp.err != err))
    fail_msg("%s: %d/%d instead of %d/%d", gi_fop_name(f->kind), f->rsp.ret, f->rsp.err, ret, err);
}

void
rig_blame(struct rig *r, unsigned child, uint8_t n, unsigned blamed, unsigned slot)
{
  brick_object(&r->brick[child], n)->mark[blamed][slot] = 1;
}

void
rig_data(struct rig *r, unsigned child, uint8_t n, const void *data, uint64_t size)
{
  struct brick_object *o = brick_object(&r->brick[child], n);

  brick_resize(o, 0);
  brick_resize(o, size);
  if (data)
    brick_store(o, 0, data, size);
}

void
rig_xattr(struct rig *r, unsigned child, uint8_t n, const char *name, const char *value)
{
  gi_dict_set_bin(brick_xattrs_of(brick_object(&r->brick[child], n)), name, value, (uint32_t)strlen(value));
}

void
rig_name(struct rig *r, struct gi_fop *f, struct gi_loc *loc, uint8_t n)
{
  struct gi_inode *root = gi_inode_get(r->s->graph, &gi_gfid_root);
  char name[8];

  snprintf(name, sizeof(name), n ? "f%u" : "new", n);
  gi_loc_clear(loc);
  gi_fop_set_entry(f, loc, root, gi_fop_strdup(f, name, strlen(name)));
  gi_inode_unref(&root);
  if (n) {
    gi_loc_set_inode(loc, fake_inode(r->s, n));
    loc->inode->mode = brick_object(&r->brick[0], n)->stat.mode & S_IFMT;
  }
}
