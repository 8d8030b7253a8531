/* SPDX-License-Identifier: Apache-2.0
 *
 * The metrics of several processes as one page, as one process would write it.
 */
#ifndef PROG_GATHER_H
#define PROG_GATHER_H

#include "programs/common/observe.h"
#include "libglusterish/metrics.h"

#include <stdio.h>

#define OB_METRICS_MS 3000 /* how long the slowest process is waited for */

/* Of each process that was asked: prefix "node", labels "role", "volume", "pid". */
extern const struct gi_metric ob_node_metrics[];

/* Asks all and writes what they say, OpenMetrics or (open false) the older text, and whether they answered. Samples of a process that
 * has its label "process" in common with one before it get a label "pid". */
void ob_metrics(FILE *out, const struct ob_process *list, unsigned n, bool open);
/* The joining alone, without the end: texts[i] (NULL: none; they are changed) is what process pids[i] says. */
void ob_merge(FILE *out, char *const *texts, const long *pids, unsigned n);

/* {"families":[{"name","type","unit","help","samples":[{"name","labels":{},"value"}]}]} of an OpenMetrics page, which is changed. */
json_t *ob_metrics_json(char *page);

#endif
