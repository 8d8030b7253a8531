/* SPDX-License-Identifier: Apache-2.0
 *
 * What the observation socket shows of the operations of the process: /layers,
 * /inflight, /slow, /recorder, /trace.
 */
#include "programs/common/observe-answer.h"
#include "programs/glusterishfs/glusterishfs.h"
#include "programs/glusterishfs/observe-bricks.h"
#include "programs/glusterishfs/observe-trace.h"

#include <errno.h>

#define QUESTIONS_MAX 8u /* at a time, of those that take a while */
#define SECONDS_MAX 600u
#define COUNT_MAX 1000u
#define RECORDS_USUAL 100u

struct fs_operations {
  struct fs_process *p;
  struct ob_self self; /* as of the last question */
  char volume[256];
  struct gi_list asked; /* struct question: traces, and those that wait for bricks */
  unsigned n;
};

struct question {
  struct gi_list link;
  struct fs_operations *o;
  struct gi_observe_request *rq;
  struct ob_trace *trace; /* NULL: it is no trace */
};

/* The number behind `key`; `usual` if it is not there or is none. */
static uint64_t
number(struct gi_observe_request *rq, const char *key, uint64_t usual, uint64_t most)
{
  const char *text = gi_observe_query(rq, key);
  char *end;
  unsigned long long n;

  if (!text || text[0] < '0' || text[0] > '9')
    return usual;
  errno = 0;
  n = strtoull(text, &end, 10);
  return *end || errno ? usual : n < most ? n : most;
}

/* The graph; NULL, and answered: there is none yet. */
static struct gi_graph *
graph_of(struct fs_operations *o, struct gi_observe_request *rq)
{
  if (!o->p->ctx.graph) {
    gi_observe_refuse(rq, 503, "the process has no volume yet");
    return NULL;
  }
  fs_observe_self(o->p, &o->self, o->volume, sizeof(o->volume));
  return o->p->ctx.graph;
}

static void
layers(struct gi_observe_request *rq, void *arg)
{
  const struct gi_graph *g = graph_of(arg, rq);

  if (g)
    ob_answer(rq, number(rq, "top", 0, 1) ? ob_top_json(g) : ob_layers_json(g));
}

/* NULL, and refused: there are too many questions. */
static struct question *
question_new(struct fs_operations *o, struct gi_observe_request *rq)
{
  struct question *q;

  if (o->n == QUESTIONS_MAX) {
    gi_observe_refuse(rq, 503, "too many questions at a time");
    return NULL;
  }
  q = gi_new(struct question);
  q->o = o;
  q->rq = rq;
  gi_list_add_tail(&o->asked, &q->link);
  o->n++;
  return q;
}

static void
question_free(struct question *q)
{
  GI_ASSERT(q->o->n > 0);
  q->o->n--;
  gi_list_del(&q->link);
  gi_free(q);
}

static void
bricks_have_told(void *arg)
{
  struct question *q = arg;
  const struct gi_graph *g = graph_of(q->o, q->rq);

  if (g)
    ob_answer(q->rq, ob_inflight_json(g, &q->o->self));
  question_free(q);
}

static void
inflight(struct gi_observe_request *rq, void *arg)
{
  struct fs_operations *o = arg;
  struct gi_graph *g = graph_of(o, rq);
  struct question *q = g ? question_new(o, rq) : NULL;

  if (q)
    ob_bricks_ask(g, bricks_have_told, q);
}

static void
slow(struct gi_observe_request *rq, void *arg)
{
  struct fs_operations *o = arg;
  const struct gi_graph *g = graph_of(o, rq);

  if (g)
    ob_answer(rq, ob_slow_json(g->seen, &o->self));
}

static void
recorder(struct gi_observe_request *rq, void *arg)
{
  struct fs_operations *o = arg;
  const struct gi_graph *g = graph_of(o, rq);

  if (g)
    ob_answer(rq, ob_recorder_json(g, &o->self, number(rq, "last", RECORDS_USUAL, GI_RECORDS)));
}

static void
traced(void *arg, json_t *operations, int err)
{
  struct question *q = arg;

  if (err)
    gi_observe_refuse(q->rq, err == ENOENT || err == ENOTDIR || err == ESTALE ? 404 : 503, "the path leads nowhere: %s",
                      strerror(err));
  else
    ob_answer(q->rq, operations);
  question_free(q);
}

static void
trace(struct gi_observe_request *rq, void *arg)
{
  struct fs_operations *o = arg;
  const char *pid = gi_observe_query(rq, "pid");
  struct ob_trace_filter f = {
      .count = (unsigned)number(rq, "count", 10, COUNT_MAX),
      .for_ns = number(rq, "seconds", 10, SECONDS_MAX) * GI_NSEC_PER_SEC,
      .slower_ns = number(rq, "slower_ms", 0, 1000000) * GI_NSEC_PER_MSEC,
      .hanging_ns = number(rq, "hanging_ms", 0, 1000000000) * GI_NSEC_PER_MSEC,
      .one_in = (uint32_t)number(rq, "sample", 1, 1000000),
      .has_pid = pid != NULL,
      .pid = pid ? (int32_t)strtol(pid, NULL, 10) : 0,
      .path = gi_observe_query(rq, "path"),
  };
  struct question *q;
  struct gi_graph *g = graph_of(o, rq);

  if (!g)
    return;
  if (f.count == 0) {
    gi_observe_refuse(rq, 400, "count is 0");
    return;
  }
  q = question_new(o, rq);
  if (q)
    q->trace = ob_trace_start(g, &o->self, &f, traced, q);
}

static const struct {
  const char *path;
  gi_observe_fn *fn;
} answers[] = {
    {"/layers", layers}, {"/inflight", inflight}, {"/slow", slow}, {"/recorder", recorder}, {"/trace", trace},
};

void
fs_operations_start(struct fs_process *p)
{
  struct fs_operations *o = p->operations = gi_new(struct fs_operations);

  GI_ASSERT(p->ctx.observe);
  o->p = p;
  gi_list_init(&o->asked);
  for (size_t i = 0; i < GI_ARRAY_LEN(answers); i++)
    gi_observe_add(p->ctx.observe, answers[i].path, "application/json", answers[i].fn, o);
}

void
fs_operations_stop(struct fs_process *p)
{
  struct fs_operations *o = p->operations;

  if (!o)
    return;
  for (size_t i = 0; i < GI_ARRAY_LEN(answers); i++)
    gi_observe_remove(p->ctx.observe, answers[i].path);
  gi_list_foreach_safe(q, &o->asked, struct question, link)
    if (q->trace)
      ob_trace_end(q->trace);
  p->operations = NULL;
  if (o->n == 0) /* else something is asked of a brick, and the process ends before it answers */
    gi_free(o);
}
