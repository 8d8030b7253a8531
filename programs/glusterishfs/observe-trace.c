/* SPDX-License-Identifier: Apache-2.0
 *
 * See observe-trace.h. A path is walked with LOOKUPs of our own before the
 * trace is armed.
 */
#include "programs/glusterishfs/observe-trace.h"

#include "programs/glusterishfs/observe-bricks.h"

#include <errno.h>

#define STEPS_MAX 20000u /* in one answer, about */

struct ob_trace {
  struct gi_trace trace;
  struct gi_ctx *ctx; /* its graph may be replaced meanwhile */
  const struct ob_self *self;
  struct ob_trace_filter filter;
  ob_trace_done *done;
  void *arg;
  struct gi_timer over;
  struct gi_defer begin, end; /* not from inside the start, nor from inside the operation that was the last one */
  json_t *operations;
  unsigned n;
  uint64_t steps; /* of those */
  bool armed, walking, ending, asking;
  char *path, *rest; /* rest: of the path, not walked yet */
  char *name;        /* the last one */
  struct gi_gfid at;
};

static void
finish(struct ob_trace *t, int err)
{
  json_t *answer = err ? NULL : json_pack("{s:O}", "operations", t->operations);

  if (t->armed)
    gi_trace_disarm(t->ctx->seen, &t->trace);
  gi_timer_finish(&t->over);
  gi_defer_cancel(&t->begin);
  gi_defer_cancel(&t->end);
  json_decref(t->operations);
  gi_free(t->path);
  t->done(t->arg, answer, err);
  gi_free(t);
}

static void
add(struct ob_trace *t, const struct gi_told *told)
{
  json_array_append_new(t->operations, ob_told_json(told, t->self));
  t->steps += gi_step_count(told->tree);
  t->n = t->steps < STEPS_MAX ? t->n + 1 : t->filter.count; /* enough for anybody */
}

static bool
is_meant(const struct ob_trace *t, const struct gi_fop *fop)
{
  return fop->root == fop && (!t->filter.has_pid || fop->caller.pid == t->filter.pid) &&
         (!t->trace.has_gfid || gi_gfid_equal(gi_fop_gfid(fop), &t->trace.gfid));
}

/* What hangs is never over: it is told as it is. */
static void
add_hanging(struct ob_trace *t)
{
  struct gi_reactor *r = t->ctx->reactor;

  gi_list_foreach(fop, &t->ctx->graph->flight, struct gi_fop, flight) {
    uint64_t age = gi_ticks(r) - fop->start_ticks;

    if (t->n == t->filter.count)
      break;
    if (!is_meant(t, fop) || gi_ticks_ns(r, age) < t->filter.hanging_ns)
      continue;

    struct gi_told *told = gi_told_new(fop, age, false);

    add(t, told);
    gi_told_put(&told);
  }
  if (!t->filter.has_pid && !t->trace.has_gfid)
    ob_untaken_json(t->operations, t->ctx->graph, t->self, t->filter.hanging_ns);
}

static void
bricks_have_told(void *arg)
{
  struct ob_trace *t = arg;

  if (t->ctx->graph)
    add_hanging(t);
  finish(t, 0);
}

static void
time_is_over(void *arg)
{
  struct ob_trace *t = arg;

  if (t->asking)
    return;
  if (t->walking) { /* the LOOKUP that is under way ends it */
    t->ending = true;
  } else if (t->filter.hanging_ns && t->ctx->graph) {
    t->asking = true;
    ob_bricks_ask(t->ctx->graph, bricks_have_told, t);
  } else {
    finish(t, 0);
  }
}

static void
enough(void *arg)
{
  struct ob_trace *t = arg;

  if (!t->asking)
    finish(t, 0);
}

static void
got(struct gi_trace *trace, struct gi_told *told)
{
  struct ob_trace *t = trace->arg;

  if (t->n == t->filter.count)
    return;
  add(t, told);
  if (t->n == t->filter.count)
    gi_defer_add(t->ctx->reactor, &t->end);
}

static void
arm(struct ob_trace *t)
{
  t->trace.has_pid = t->filter.has_pid;
  t->trace.pid = t->filter.pid;
  t->trace.slower_ns = t->filter.slower_ns;
  t->trace.one_in = t->filter.one_in;
  t->trace.got = got;
  t->trace.arg = t;
  gi_trace_arm(t->ctx->seen, &t->trace);
  t->armed = true;
}

/* ---- the path ---- */

static void walk(void *arg);

static void
looked_up(struct gi_fop *fop, void *arg)
{
  struct ob_trace *t = arg;
  int err = fop->rsp.ret < 0 ? fop->rsp.err : 0;

  t->walking = false;
  if (!err)
    t->at = fop->rsp.stat.gfid;
  gi_fop_unref(fop);
  if (t->ending) {
    finish(t, 0);
  } else if (err && (err != ENOENT || t->rest)) {
    finish(t, err);
  } else if (t->rest) {
    walk(t);
  } else { /* the object, or the name that it will have */
    t->trace.has_gfid = !err;
    t->trace.gfid = t->at;
    arm(t);
  }
}

/* The next component; at the end the last one is what the trace looks for. */
static void
walk(void *arg)
{
  struct ob_trace *t = arg;

  if (!t->ctx->graph) {
    finish(t, ENOTCONN);
    return;
  }

  struct gi_inode *parent = gi_inode_get(t->ctx->graph, &t->at);
  struct gi_fop *fop = gi_fop_new(t->ctx->graph, GI_FOP_LOOKUP);

  t->name = t->rest;
  t->rest = strchr(t->name, '/');
  if (t->rest) {
    *t->rest++ = '\0';
    t->rest += strspn(t->rest, "/");
    if (!*t->rest)
      t->rest = NULL;
  }
  t->trace.has_entry = true;
  t->trace.parent = t->at;
  t->trace.name = t->name;
  gi_fop_set_entry(fop, &fop->loc, parent, t->name);
  gi_inode_unref(&parent);
  fop->caller.pid = GI_PID_HEAL_TOOL; /* nobody's */
  t->walking = true;
  gi_fop_submit(fop, t->ctx->graph->top, looked_up, t);
}

struct ob_trace *
ob_trace_start(struct gi_graph *g, const struct ob_self *self, const struct ob_trace_filter *f, ob_trace_done *done, void *arg)
{
  struct ob_trace *t = gi_new(struct ob_trace);

  GI_ASSERT(f->count > 0);
  t->ctx = g->ctx;
  t->self = self;
  t->filter = *f;
  t->filter.path = NULL;
  t->done = done;
  t->arg = arg;
  t->operations = json_array();
  gi_timer_init(&t->over, g->ctx->reactor, time_is_over, t);
  gi_timer_set(&t->over, f->for_ns);
  gi_defer_init(&t->begin, walk, t);
  gi_defer_init(&t->end, enough, t);
  if (!f->path) {
    arm(t);
    return t;
  }
  t->path = gi_strdup(f->path);
  t->rest = t->path + strspn(t->path, "/");
  t->at = gi_gfid_root;
  if (*t->rest) {
    gi_defer_add(g->ctx->reactor, &t->begin);
    return t;
  }
  t->trace.has_gfid = true;
  t->trace.gfid = gi_gfid_root;
  arm(t);
  return t;
}

void
ob_trace_end(struct ob_trace *t)
{
  gi_timer_cancel(&t->over);
  time_is_over(t);
}
