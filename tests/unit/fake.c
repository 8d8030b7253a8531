/* SPDX-License-Identifier: Apache-2.0
 *
 * The fake neighbours of tests/unit/fake.h: a scripted child, a top that
 * counts events, and a stack that holds one translator between them.
 */
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>

struct scripted {
  struct gi_list link;
  enum gi_fop_kind kind;
  bool always;
  struct fake_reply reply;
};

struct fake_child {
  struct fake_stack *stack;
  unsigned index;
  struct gi_list scripts; /* struct scripted */
  struct gi_list held;    /* struct gi_fop by link of struct held */
  struct gi_list later;   /* struct later */
};

struct held {
  struct gi_list link;
  struct gi_fop *fop;
};

struct later {
  struct gi_defer defer;
  struct gi_xlator *x;
  struct gi_fop *fop;
  struct gi_list link;
};

/* what the stack frees: test fops, inodes, fds */
struct owned {
  struct gi_list link;
  struct gi_fop *fop;
  struct gi_inode *inode;
  struct gi_fd *fd;
};

/* The public struct is the first member. */
struct stack {
  struct fake_stack pub;
  struct gi_list owned;
  struct gi_xlator **child;
};

/* ---- the child ---- */

static struct stack *
stack_of(struct fake_stack *s)
{
  return (struct stack *)s;
}

static void
remember(struct fake_child *c, struct gi_fop *fop)
{
  struct fake_stack *s = c->stack;

  if (!s)
    return;
  assert_true(s->nseen < FAKE_LOG_MAX);

  struct fake_seen *e = &s->seen[s->nseen++];

  memset(e, 0, sizeof(*e));
  e->child = c->index;
  e->kind = fop->kind;
  e->fop = fop;
  e->offset = fop->args.offset;
  e->size = fop->payload.len ? fop->payload.len : fop->args.size;
  e->cmd = fop->args.cmd;
  e->type = fop->args.type;
  e->flags = fop->args.flags;

  const char *name = fop->args.name ? fop->args.name : fop->loc.name;

  if (name)
    snprintf(e->name, sizeof(e->name), "%s", name);
}

static int32_t
natural_ret(const struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_WRITE)
    return (int32_t)fop->payload.len;
  if (fop->kind == GI_FOP_READ)
    return (int32_t)fop->args.size;
  return 0;
}

static void
fill_read(struct gi_fop *fop, int32_t ret)
{
  if (fop->kind != GI_FOP_READ || ret <= 0 || fop->rsp.payload.len)
    return;

  struct gi_buf *buf = gi_buf_new((size_t)ret);

  memset(buf->base, 'r', (size_t)ret);
  gi_payload_add(&fop->rsp.payload, buf, buf->base, (size_t)ret);
  gi_buf_unref(&buf);
}

static void
fill_reply(struct gi_fop *fop, const struct fake_reply *r)
{
  fop->rsp.ret = r->ret;
  fop->rsp.err = r->err;
  if (r->fill)
    r->fill(fop, r->arg);
  fill_read(fop, fop->rsp.ret);
  if (fop->kind == GI_FOP_CREATE && fop->rsp.ret >= 0 && fop->fd && !gi_gfid_is_none(&fop->rsp.stat.gfid))
    gi_fd_bind(fop->fd, &fop->rsp.stat.gfid);
}

static void
answer_later(void *arg)
{
  struct later *l = arg;
  struct gi_fop *fop = l->fop;
  struct gi_xlator *x = l->x;

  gi_list_del(&l->link);
  gi_free(l);
  gi_fop_answer(fop, x);
}

static enum gi_verdict
answer(struct gi_xlator *x, struct gi_fop *fop, const struct fake_reply *r)
{
  struct fake_child *c = x->private;

  fill_reply(fop, r);
  if (!r->deferred)
    return GI_ANSWERED;

  struct later *l = gi_new(struct later);

  l->x = x;
  l->fop = fop;
  gi_list_add_tail(&c->later, &l->link);
  gi_defer_init(&l->defer, answer_later, l);
  gi_defer_add(x->reactor, &l->defer);
  return GI_HELD;
}

static enum gi_verdict
child_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  struct fake_child *c = x->private;
  struct fake_reply natural = {.ret = natural_ret(fop)};
  struct fake_reply r = natural;

  remember(c, fop);
  gi_list_foreach(s, &c->scripts, struct scripted, link) {
    if (s->kind != fop->kind && s->kind != GI_FOP_MAX)
      continue;
    r = s->reply;
    if (!s->always) {
      gi_list_del(&s->link);
      gi_free(s);
    }
    break;
  }
  if (r.hold) {
    struct held *h = gi_new(struct held);

    h->fop = fop;
    gi_list_add_tail(&c->held, &h->link);
    return GI_HELD;
  }
  return answer(x, fop, &r);
}

static int
child_init(struct gi_xlator *x, struct gi_error *err)
{
  struct fake_child *c = gi_new(struct fake_child);

  gi_list_init(&c->scripts);
  gi_list_init(&c->held);
  gi_list_init(&c->later);
  x->private = c;
  return 0;
}

static void
child_finish(struct gi_xlator *x)
{
  struct fake_child *c = x->private;

  gi_list_foreach_safe(s, &c->scripts, struct scripted, link)
    gi_free(s);
  gi_free(c);
}

static bool
child_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct fake_child *c = x->private;

  if (c->stack)
    c->stack->below[event]++;
  if (event != GI_EVENT_CANCEL)
    return false;
  gi_list_foreach(h, &c->held, struct held, link) {
    if (h->fop != data)
      continue;
    gi_list_del(&h->link);
    gi_free(h);
    fill_reply(data, &(struct fake_reply){.ret = -1, .err = EINTR});
    gi_fop_answer(data, x);
    break;
  }
  return true;
}

static const struct gi_xlator_class fake_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/fake",
    .summary = "scripted child",
    .submit = child_submit,
    .init = child_init,
    .finish = child_finish,
    .notify = child_notify,
};

/* ---- the top ---- */

static int
top_init(struct gi_xlator *x, struct gi_error *err)
{
  return 0;
}

static bool
top_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct fake_stack *s = x->private;

  if (s && gi_event_table[event].way == GI_WAY_UP) {
    s->events[event]++;
    s->last_event_data = data;
  }
  return false;
}

static const struct gi_xlator_class top_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/top",
    .summary = "counts events",
    .min_children = 1,
    .max_children = 1,
    .init = top_init,
    .notify = top_notify,
};

/* ---- the stack ---- */

/* `set` NULL: the first n. */
static char *
volfile_text(const char *type, const char *options, const unsigned *set, unsigned nchildren)
{
  char *text = NULL;
  size_t len;
  FILE *f = open_memstream(&text, &len);

  for (unsigned i = 0; i < nchildren; i++)
    fprintf(f, "volume child-%u\n type test/fake\nend-volume\n", set ? set[i] : i);
  fprintf(f, "volume under-test\n type %s\n%s\n", type, options ? options : "");
  if (nchildren)
    fprintf(f, " subvolumes");
  for (unsigned i = 0; i < nchildren; i++)
    fprintf(f, " child-%u", set ? set[i] : i);
  fprintf(f, "\nend-volume\nvolume top\n type test/top\n subvolumes under-test\nend-volume\n");
  fclose(f);
  return text;
}

struct gi_fs *fake_fs;

static void
know_child(struct fake_stack *p, unsigned i)
{
  struct stack *s = stack_of(p);
  char name[32];

  snprintf(name, sizeof(name), "child-%u", i);
  s->child[i] = gi_graph_find(p->graph, name);
  if (!s->child[i])
    return;

  struct fake_child *c = s->child[i]->private;

  c->stack = p;
  c->index = i;
}

int
fake_stack_children(struct fake_stack *p, const char *options, const unsigned *set, unsigned n, struct gi_error *err)
{
  struct stack *s = stack_of(p);
  GI_CLEANUP_FREE char *text = volfile_text(p->x->cls->type, options, set, n);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), err);

  assert_non_null(vf);

  int rc = gi_graph_reconfigure(p->graph, &vf, err);

  gi_volfile_free(&vf);
  for (unsigned i = 0; i < n; i++)
    if (set[i] >= p->nchildren) {
      assert_int_equal(set[i], p->nchildren); /* numbers have no gaps */
      s->child = gi_realloc(s->child, (++p->nchildren + 1) * sizeof(*s->child));
      know_child(p, set[i]);
    }
  fake_settle(p);
  return rc;
}

struct fake_stack *
fake_stack_try(const char *type, const char *options, unsigned nchildren, struct gi_error *err)
{
  struct stack *s = gi_new(struct stack);
  struct fake_stack *p = &s->pub;

  gi_class_register(&fake_class);
  gi_class_register(&top_class);
  gi_list_init(&s->owned);
  p->nchildren = nchildren;
  p->ctx.fs = fake_fs;
  p->ctx.reactor = gi_reactor_new(fake_fs ? 0 : 2);
  p->ctx.process_name = "unit-test";
  snprintf(p->ctx.process_id, sizeof(p->ctx.process_id), "unit-test");

  GI_CLEANUP_FREE char *text = volfile_text(type, options, NULL, nchildren);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), err);

  if (vf)
    p->graph = gi_graph_build(&p->ctx, &vf, NULL, err);
  if (!p->graph) {
    gi_reactor_free(p->ctx.reactor);
    gi_free(s);
    return NULL;
  }
  p->ctx.graph = p->graph;
  p->x = gi_graph_find(p->graph, "under-test");
  p->parent = gi_graph_find(p->graph, "top");
  p->parent->private = p;
  s->child = gi_zalloc((nchildren + 1) * sizeof(*s->child));
  for (unsigned i = 0; i < nchildren; i++)
    know_child(p, i);
  gi_graph_activate(p->graph);
  for (unsigned i = 0; i < nchildren; i++)
    fake_event(p, i, GI_EVENT_CHILD_UP, NULL);
  fake_settle(p);
  fake_forget_seen(p);
  return p;
}

struct fake_stack *
fake_stack_new(const char *type, const char *options, unsigned nchildren)
{
  struct gi_error err = {0};
  struct fake_stack *s = fake_stack_try(type, options, nchildren, &err);

  if (!s)
    fail_msg("cannot build a stack of %s: %s", type, err.text);
  return s;
}

static void
release_owned(struct owned *o)
{
  gi_list_del(&o->link);
  gi_fop_unref(o->fop);
  gi_fd_unref(&o->fd);
  gi_inode_unref(&o->inode);
  gi_free(o);
}

void
fake_stack_free(struct fake_stack *p)
{
  struct stack *s = stack_of(p);

  gi_graph_deactivate(p->graph);
  fake_settle(p);
  fake_script_clear(p);
  for (unsigned i = 0; i < p->nchildren; i++)
    while (fake_release(p, i, GI_FOP_MAX, -1, ENOTCONN))
      ;
  fake_settle(p);
  /* Handles before what they point at: fops, then fds, then inodes. */
  gi_list_foreach_safe(o, &s->owned, struct owned, link)
    if (o->fop)
      release_owned(o);
  gi_list_foreach_safe(o, &s->owned, struct owned, link)
    if (o->fd)
      release_owned(o);
  gi_list_foreach_safe(o, &s->owned, struct owned, link)
    release_owned(o);
  fake_settle(p);
  assert_int_equal(p->graph->fops_live, 0);
  assert_int_equal(p->graph->fds_live, 0);
  gi_graph_free(&p->graph);
  gi_reactor_free(p->ctx.reactor);
  gi_free(s->child);
  gi_free(s);
}

/* ---- requests ---- */

static struct owned *
own(struct fake_stack *s)
{
  struct owned *o = gi_new(struct owned);

  gi_list_add_tail(&stack_of(s)->owned, &o->link);
  return o;
}

struct gi_fop *
fake_fop(struct fake_stack *s, enum gi_fop_kind kind)
{
  struct gi_fop *fop = gi_fop_new(s->graph, kind);

  fop->caller.pid = 100;
  own(s)->fop = fop;
  return fop;
}

void
fake_fop_free(struct gi_fop *f)
{
  struct stack *s = (struct stack *)gi_graph_find(f->graph, "top")->private;

  gi_list_foreach_safe(o, &s->owned, struct owned, link)
    if (o->fop == f)
      release_owned(o);
}

struct gi_inode *
fake_inode(struct fake_stack *s, uint8_t n)
{
  struct gi_gfid gfid;

  memset(&gfid, n, sizeof(gfid));

  struct gi_inode *inode = gi_inode_get(s->graph, &gfid);

  own(s)->inode = inode;
  return inode;
}

struct gi_fd *
fake_fd(struct fake_stack *s, uint8_t n)
{
  struct gi_fd *fd = gi_fd_new(s->graph, fake_inode(s, n), O_RDWR, 100);

  own(s)->fd = fd;
  return fd;
}

static void
note_done(struct gi_fop *fop, void *arg)
{
}

void
fake_submit_at(struct fake_stack *s, struct gi_fop *f, struct gi_xlator *at)
{
  gi_fop_submit(f, at, note_done, s);
  fake_settle(s);
}

void
fake_submit(struct fake_stack *s, struct gi_fop *f)
{
  fake_submit_at(s, f, s->x);
}

void
fake_settle(struct fake_stack *s)
{
  struct gi_reactor *r = s->ctx.reactor;

  for (int idle = 0; idle < 5; idle++) {
    if (gi_reactor_busy(r)) {
      gi_reactor_turn(r, GI_NSEC_PER_MSEC);
      idle = -1;
    } else {
      gi_reactor_turn(r, 0);
    }
  }
}

void
fake_wait(struct fake_stack *s, uint64_t ns)
{
  uint64_t end = gi_now(s->ctx.reactor) + ns;
  uint64_t now;

  while ((now = gi_now(s->ctx.reactor)) < end)
    gi_reactor_turn(s->ctx.reactor, end - now);
  gi_reactor_turn(s->ctx.reactor, 0); /* what was due before, if this process had no processor until then */
}

/* ---- scripts ---- */

static void
add_script(struct fake_stack *s, unsigned child, enum gi_fop_kind kind, struct fake_reply r, bool always)
{
  struct fake_child *c = stack_of(s)->child[child]->private;
  struct scripted *e = gi_new(struct scripted);

  e->kind = kind;
  e->always = always;
  e->reply = r;
  gi_list_add_tail(&c->scripts, &e->link);
}

void
fake_script(struct fake_stack *s, unsigned child, enum gi_fop_kind kind, struct fake_reply r)
{
  add_script(s, child, kind, r, false);
}

void
fake_script_always(struct fake_stack *s, unsigned child, enum gi_fop_kind kind, struct fake_reply r)
{
  add_script(s, child, kind, r, true);
}

void
fake_script_clear(struct fake_stack *s)
{
  for (unsigned i = 0; i < s->nchildren; i++) {
    struct fake_child *c = stack_of(s)->child[i]->private;

    gi_list_foreach_safe(e, &c->scripts, struct scripted, link) {
      gi_list_del(&e->link);
      gi_free(e);
    }
  }
}

bool
fake_release(struct fake_stack *s, unsigned child, enum gi_fop_kind kind, int32_t ret, int32_t err)
{
  struct gi_xlator *x = stack_of(s)->child[child];
  struct fake_child *c = x->private;

  gi_list_foreach(h, &c->held, struct held, link) {
    struct gi_fop *fop = h->fop;

    if (fop->kind != kind && kind != GI_FOP_MAX)
      continue;
    gi_list_del(&h->link);
    gi_free(h);
    fill_reply(fop, &(struct fake_reply){.ret = ret, .err = err});
    gi_fop_answer(fop, x);
    fake_settle(s);
    return true;
  }
  return false;
}

unsigned
fake_held(struct fake_stack *s, unsigned child)
{
  struct fake_child *c = stack_of(s)->child[child]->private;
  unsigned n = 0;

  gi_list_foreach(h, &c->held, struct held, link)
    n++;
  return n;
}

struct gi_fop *
fake_held_fop(struct fake_stack *s, unsigned child, unsigned n)
{
  struct fake_child *c = stack_of(s)->child[child]->private;

  gi_list_foreach(h, &c->held, struct held, link) {
    if (n-- == 0)
      return h->fop;
  }
  return NULL;
}

void
fake_release_fop(struct fake_stack *s, struct gi_fop *fop, int32_t ret, int32_t err)
{
  struct fake_child *c = fop->at->private;

  gi_list_foreach(h, &c->held, struct held, link) {
    if (h->fop != fop)
      continue;
    gi_list_del(&h->link);
    gi_free(h);
    fill_reply(fop, &(struct fake_reply){.ret = ret, .err = err});
    gi_fop_answer(fop, fop->at);
    fake_settle(s);
    return;
  }
  fail_msg("the fop is not held");
}

unsigned
fake_count(struct fake_stack *s, unsigned child, enum gi_fop_kind kind)
{
  unsigned n = 0;

  for (unsigned i = 0; i < s->nseen; i++)
    n += s->seen[i].child == child && (kind == GI_FOP_MAX || s->seen[i].kind == kind);
  return n;
}

void
fake_forget_seen(struct fake_stack *s)
{
  s->nseen = 0;
}

void
fake_event(struct fake_stack *s, unsigned child, enum gi_event ev, void *data)
{
  gi_notify_up(stack_of(s)->child[child], ev, data);
}

/* ---- transparency ---- */

static void
check_one(struct fake_stack *s, enum gi_fop_kind kind, int err)
{
  struct gi_fop *f = fake_fop(s, kind);
  int32_t ret = err ? -1 : 7;

  if (gi_fop_table[kind].target == GI_TARGET_FD) {
    gi_fop_set_fd(f, fake_fd(s, 9));
  } else if (gi_fop_table[kind].target == GI_TARGET_ENTRY) {
    gi_fop_set_entry(f, &f->loc, fake_inode(s, 8), "entry");
    gi_fop_set_entry(f, &f->loc2, fake_inode(s, 8), "entry2");
    if (kind == GI_FOP_CREATE) {
      struct owned *o = own(s);

      o->fd = gi_fd_new(s->graph, NULL, O_RDWR, 100);
      f->fd = gi_fd_ref(o->fd);
    }
  } else {
    gi_loc_set_inode(&f->loc, fake_inode(s, 9));
  }
  fake_script(s, 0, kind, (struct fake_reply){.ret = ret, .err = err});
  fake_submit(s, f);
  if (!f->answered)
    fail_msg("%s with errno %d was not answered", gi_fop_name(kind), err);
  if (f->rsp.ret != ret || (err && f->rsp.err != err))
    fail_msg("%s: child said %d/%d, translator %d/%d", gi_fop_name(kind), ret, err, f->rsp.ret, f->rsp.err);
  fake_fop_free(f);
  s->nseen = 0;
}

void
fake_check_transparent(struct fake_stack *s, uint64_t skip)
{
  for (unsigned k = 1; k < GI_FOP_MAX; k++) {
    if (!gi_fop_table[k].name || (skip & GI_KIND(k)) || k == GI_FOP_RELEASE || k == GI_FOP_RELEASEDIR)
      continue;
    for (int err = 0; err <= 133; err++)
      check_one(s, k, err);
  }
}
