/* SPDX-License-Identifier: Apache-2.0
 *
 * What the daemon's observation socket shows to a browser: the page and the
 * documents that it asks for. Whoever asks for one of them is told at once what
 * was gathered, and keeps the gathering going.
 */
#include "programs/common/observe-answer.h"
#include "programs/glusterishd/page/page.h"
#include "libglusterish/observe.h"
#include "libglusterish/options.h"

static void
show_file(struct gi_observe_request *rq, void *arg)
{
  const struct gd_page_file *f = arg;
  fwrite(f->text, 1, (size_t)(f->end - f->text), gi_observe_out(rq));
  gi_observe_done(rq, 200);
}

static void
show_volumes(struct gi_observe_request *rq, void *arg)
{
  gd_gather_wanted(arg);
  ob_answer(rq, gd_page_volumes(arg));
}

static void
show_history(struct gi_observe_request *rq, void *arg)
{
  struct gd_gather *g = arg;
  const char *text = gi_observe_query(rq, "since");
  int64_t since = 0;
  gd_gather_wanted(g);
  if (text && (!gi_parse_int(text, &since) || since < 0)) {
    gi_observe_refuse(rq, 400, "since is the number of a point, as \"next\" tells");
    return;
  }
  ob_answer(rq, gd_history_json(g->history, (uint64_t)since));
}

static void
show_processes(struct gi_observe_request *rq, void *arg)
{
  gd_gather_wanted(arg);
  ob_answer(rq, gd_page_processes(arg));
}

static void
show_operations(struct gi_observe_request *rq, void *arg)
{
  gd_gather_wanted(arg);
  ob_answer(rq, gd_page_operations(arg));
}

static void
show_trace(struct gi_observe_request *rq, void *arg)
{
  const char *id = gi_observe_query(rq, "id");
  json_t *doc = id ? gd_page_trace(arg, id) : NULL;
  gd_gather_wanted(arg);
  if (doc)
    ob_answer(rq, doc);
  else
    gi_observe_refuse(rq, id ? 404 : 400, id ? "that operation is not known any more" : "id is missing: of an operation");
}

static void
show_errors(struct gi_observe_request *rq, void *arg)
{
  gd_gather_wanted(arg);
  ob_answer(rq, gd_page_errors(arg));
}

void
gd_page_add(struct gi_observe *o, struct gd_gather *g)
{
  static const struct {
    const char *path;
    gi_observe_fn *fn;
  } documents[] = {{"/page/volumes", show_volumes},       {"/page/history", show_history}, {"/page/processes", show_processes},
                   {"/page/operations", show_operations}, {"/page/trace", show_trace},     {"/page/errors", show_errors}};
  for (const struct gd_page_file *f = gd_page_files; f->path; f++)
    gi_observe_add(o, f->path, f->type, show_file, (void *)f);
  for (size_t i = 0; i < GI_ARRAY_LEN(documents); i++)
    gi_observe_add(o, documents[i].path, "application/json", documents[i].fn, g);
}
