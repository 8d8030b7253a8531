/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of the observation socket that several programs give.
 */
#ifndef PROG_OBSERVE_ANSWER_H
#define PROG_OBSERVE_ANSWER_H

#include "libglusterish/exposition.h"
#include "libglusterish/observe.h"
#include "programs/common/json-text.h"

#include <jansson.h>

/* Answers 200 with the document, which is consumed. */
void ob_answer(struct gi_observe_request *rq, json_t *document);

gi_observe_fn ob_show_errors; /* /errors: what went wrong lately, of the log; no argument */

/* Does the asker want OpenMetrics: by "format" of the query (openmetrics, text), else by what he accepts? */
bool ob_wants_openmetrics(struct gi_observe_request *rq);
/* A page of metrics in the form that the asker wants; ob_metrics_done answers with it. */
void ob_metrics_begin(struct gi_observe_request *rq, struct gi_exposition *e);
void ob_metrics_done(struct gi_observe_request *rq, struct gi_exposition *e);

#endif
