/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of the observation socket: JSON, and metrics.
 */
#include "programs/common/observe-answer.h"
#include "libglusterish/log.h"
#include "libglusterish/mem.h"

#include <string.h>

void
ob_answer(struct gi_observe_request *rq, json_t *document)
{
  FILE *out = gi_observe_out(rq);
  int ret = document ? json_dumpf(document, out, JSON_COMPACT | JSON_PRESERVE_ORDER) : -1;
  json_decref(document);
  if (ret < 0) {
    gi_observe_refuse(rq, 500, "the answer cannot be written as JSON");
    return;
  }
  putc('\n', out);
  gi_observe_done(rq, 200);
}

bool
ob_wants_openmetrics(struct gi_observe_request *rq)
{
  const char *format = gi_observe_query(rq, "format"), *accept = gi_observe_header(rq, "Accept");
  if (format)
    return strcmp(format, "openmetrics") == 0;
  return accept && strstr(accept, "application/openmetrics-text");
}

void
ob_metrics_begin(struct gi_observe_request *rq, struct gi_exposition *e)
{
  bool open = ob_wants_openmetrics(rq);
  gi_observe_type(rq, open ? GI_OPENMETRICS_TYPE : GI_METRICS_TEXT_TYPE);
  gi_exposition_begin(e, gi_observe_out(rq), open);
}

void
ob_metrics_done(struct gi_observe_request *rq, struct gi_exposition *e)
{
  gi_exposition_end(e);
  gi_observe_done(rq, 200);
}

void
ob_show_errors(struct gi_observe_request *rq, void *arg)
{
  gi_log_recent_json(gi_observe_out(rq));
  gi_observe_done(rq, 200);
}
