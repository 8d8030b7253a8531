/* SPDX-License-Identifier: Apache-2.0
 *
 * volume rebalance (cli.md 5.14), and how far a task that moves files is.
 */
#include "programs/glusterish/cli.h"

#include <string.h>

#define FIRST_MINUTES 600            /* seconds in which nothing is estimated */
#define LONG_TIME (60ll * 24 * 3600) /* more than that nobody believes */

enum { LAYOUT_IN_PROGRESS = 5, IN_PROGRESS = 1 }; /* "status" */

/* ---- plain ---- */

static void
time_text(long long s, char buf[40])
{
  snprintf(buf, 40, "%8lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

static void
render_row(struct cli *c, const json_t *n, bool folded)
{
  char size[32], files[24], scanned[24], failures[24], skipped[24], took[40];
  long long fails = cli_int(n, "failures"), skips = cli_int(n, "skipped");
  time_text(cli_int(n, "runtime"), took);
  if (cli_int(n, "status") >= LAYOUT_IN_PROGRESS) {
    fprintf(c->out, "%35s %50s %s\n", cli_str(n, "nodeName"), cli_str(n, "statusStr"), took);
    return;
  }
  snprintf(files, sizeof(files), "%lld", cli_int(n, "files"));
  snprintf(scanned, sizeof(scanned), "%lld", cli_int(n, "lookups"));
  snprintf(failures, sizeof(failures), "%lld", folded ? fails + skips : fails);
  snprintf(skipped, sizeof(skipped), "%lld", folded ? 0 : skips);
  fprintf(c->out, "%40s %16s %13s %13s %13s %13s %20s %s\n", cli_str(n, "nodeName"), files,
          cli_size_text((unsigned long long)cli_int(n, "size"), size), scanned, failures, skipped, cli_str(n, "statusStr"),
          took);
}

static void
render_estimate(struct cli *c, const json_t *all)
{
  long long left = cli_int(all, "timeLeft");
  char text[40];
  if (cli_int(all, "runtime") < FIRST_MINUTES) {
    fputs("The estimated time for rebalance to complete will be unavailable for the first 10 minutes.\n", c->out);
  } else if (left <= 0) {
    fputs("Rebalance estimated time unavailable. Please try again later.\n", c->out);
  } else if (left > LONG_TIME) {
    fputs("Estimated time left for rebalance to complete : > 2 months. Please try again later.\n", c->out);
  } else {
    time_text(left, text);
    fprintf(c->out, "Estimated time left for rebalance to complete : %s\n", text);
  }
}

/* Not told by GlusterFS: behind what is read by column. */
static void
render_pace(struct cli *c, const json_t *all)
{
  char size[32];
  fprintf(c->out, "%s per second, about %lld objects to look at\n",
          cli_size_text((unsigned long long)cli_int(all, "bytesPerSecond"), size), cli_int(all, "remaining"));
}

void
cli_render_progress(struct cli *c, const json_t *doc, bool folded)
{
  const json_t *nodes = json_object_get(doc, "nodes"), *all = json_object_get(doc, "aggregate");
  if (cli_int(all, "status") >= LAYOUT_IN_PROGRESS)
    fprintf(c->out, "%35s %41s %27s\n%35s %41s %27s\n", "Node", "status", "run time in h:m:s", "---------", "-----------",
            "------------");
  else
    fprintf(c->out, "%40s %16s %13s %13s %13s %13s %20s %18s\n%40s %16s %13s %13s %13s %13s %20s %18s\n", "Node",
            "Rebalanced-files", "size", "scanned", "failures", "skipped", "status", "run time in h:m:s", "---------",
            "-----------", "-----------", "-----------", "-----------", "-----------", "------------", "--------------");
  for (size_t i = 0; i < json_array_size(nodes); i++)
    render_row(c, json_array_get(nodes, i), folded);
  if (cli_int(all, "status") == IN_PROGRESS) {
    render_estimate(c, all);
    render_pace(c, all);
  }
}

/* ---- XML ---- */

static void
facts_xml(struct cli_xml *x, const json_t *n)
{
  static const char *const counts[] = {"files", "size", "lookups", "failures", "skipped", "status"};
  char runtime[32];
  for (size_t i = 0; i < GI_ARRAY_LEN(counts); i++)
    cli_xml_int(x, counts[i], cli_int(n, counts[i]));
  cli_xml_text(x, "statusStr", cli_str(n, "statusStr"));
  snprintf(runtime, sizeof(runtime), "%lld.00", cli_int(n, "runtime"));
  cli_xml_text(x, "runtime", runtime);
}

/* Elements that GlusterFS does not have: only while it runs, and behind the others. */
static void
pace_xml(struct cli_xml *x, const json_t *all)
{
  static const char *const counts[] = {"bytesPerSecond", "remaining", "timeLeft"};
  for (size_t i = 0; i < GI_ARRAY_LEN(counts) && cli_int(all, "status") == IN_PROGRESS; i++)
    cli_xml_int(x, counts[i], cli_int(all, counts[i]));
}

void
cli_render_task_xml(struct cli *c, const struct cli_reply *reply, const char *element, int op)
{
  const json_t *nodes = json_object_get(reply->doc, "nodes");
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, element);
  if (*cli_str(reply->doc, "task-id"))
    cli_xml_text(&x, "task-id", cli_str(reply->doc, "task-id"));
  if (op)
    cli_xml_int(&x, "op", op);
  if (nodes)
    cli_xml_int(&x, "nodeCount", cli_int(reply->doc, "nodeCount"));
  for (size_t i = 0; i < json_array_size(nodes); i++) {
    const json_t *n = json_array_get(nodes, i);
    cli_xml_open(&x, "node");
    cli_xml_text(&x, "nodeName", cli_str(n, "nodeName"));
    cli_xml_text(&x, "id", cli_str(n, "id"));
    facts_xml(&x, n);
    cli_xml_close(&x);
  }
  if (nodes) {
    cli_xml_open(&x, "aggregate");
    facts_xml(&x, json_object_get(reply->doc, "aggregate"));
    pace_xml(&x, json_object_get(reply->doc, "aggregate"));
    cli_xml_close(&x);
  }
  cli_xml_end(&x, c->out);
}

/* ---- the command ---- */

/* numbers of the XML form */
enum { OP_START = 1, OP_STOP, OP_STATUS, OP_LAYOUT, OP_FORCE };

static int
print(struct cli *c, struct cli_reply *reply, const char *volume, int op)
{
  bool shows = op == OP_STOP || op == OP_STATUS;
  int status = reply->ret && (!c->xml || shows) ? CLI_FAILED : CLI_OK;
  if (c->xml && reply->ret)
    cli_xml_string(c, reply, "volRebalance", reply->text);
  else if (c->xml)
    cli_render_task_xml(c, reply, "volRebalance", op);
  else if (reply->ret)
    fprintf(c->err, "volume rebalance: %s: failed: %s\n", volume, reply->text);
  else if (!shows)
    fprintf(c->out,
            "volume rebalance: %s: success: Rebalance on %s has been started successfully. Use rebalance status command to "
            "check status of the rebalance process.\nID: %s\n",
            volume, volume, cli_str(reply->doc, "task-id"));
  else
    cli_render_progress(c, reply->doc, false);
  if (shows && !c->xml && !reply->ret)
    fprintf(c->out,
            op == OP_STATUS ? "volume rebalance: %s: success\n"
                            : "volume rebalance: %s: success: rebalance process may be in the middle of a file migration.\n"
                              "The process will be fully stopped once the migration of the file is complete.\n"
                              "Please check rebalance process for completion before doing any further brick related tasks on "
                              "the volume.\n\n",
            volume);
  cli_reply_clear(reply);
  return status;
}

int
cli_volume_rebalance(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status, op = 0;
  const char *action = n > 3 ? words[3] : "";
  bool more = n == 5;
  if (strcmp(action, "fix-layout") == 0)
    op = more && strcmp(words[4], "start") == 0 ? OP_LAYOUT : 0;
  else if (strcmp(action, "start") == 0)
    op = n == 4 ? OP_START : more && strcmp(words[4], "force") == 0 ? OP_FORCE : 0;
  else if (n == 4)
    op = strcmp(action, "stop") == 0 ? OP_STOP : strcmp(action, "status") == 0 ? OP_STATUS : 0;
  if (!op)
    return cli_usage(c, cmd);
  json_t *request = cli_request(op == OP_STATUS ? "volume rebalance status" : "volume rebalance", words[2], n, words);
  json_object_set_new(request, "action", json_string(action));
  json_object_set_new(request, "force", json_boolean(op == OP_FORCE));
  return cli_ask(c, 11, request, &reply, &status) ? status : print(c, &reply, words[2], op);
}
