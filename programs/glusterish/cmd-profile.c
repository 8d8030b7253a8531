/* SPDX-License-Identifier: Apache-2.0
 *
 * volume profile (cli.md 5.8): what bricks did for how long.
 */
#include "programs/glusterish/cli.h"

#include <string.h>

/* numbers of the original, in XML */
enum { PROFILE_START = 1, PROFILE_STOP = 2, PROFILE_INFO = 3 };

#define KINDS_MAX 64
#define BLOCKS 32

/* ---- text ---- */

struct kind {
  const json_t *doc;
  double share; /* of the time of all operations */
  int number;   /* their order where the shares are equal */
};

static double
real(const json_t *doc, const char *member)
{
  return json_number_value(json_object_get(doc, member));
}

static int
lower_share(const void *a, const void *b)
{
  const struct kind *x = a, *y = b;
  if (x->share != y->share)
    return x->share < y->share ? -1 : 1;
  return x->number - y->number;
}

/* Up to three sizes side by side. */
static void
render_block_group(struct cli *c, const json_t *blocks, size_t from, size_t n)
{
  fputs("   Block Size:", c->out);
  for (size_t i = from; i < from + n; i++)
    fprintf(c->out, "%19lldb+ ", cli_int(json_array_get(blocks, i), "size"));
  fputs("\n No. of Reads:", c->out);
  for (size_t i = from; i < from + n; i++)
    fprintf(c->out, "%21lld ", cli_int(json_array_get(blocks, i), "reads"));
  fputs("\nNo. of Writes:", c->out);
  for (size_t i = from; i < from + n; i++)
    fprintf(c->out, "%21lld ", cli_int(json_array_get(blocks, i), "writes"));
  fputs("\n", c->out);
  if (n == 3)
    fputs(" \n", c->out);
}

static void
render_kinds(struct cli *c, const json_t *list)
{
  struct kind kind[KINDS_MAX];
  size_t n = json_array_size(list) < KINDS_MAX ? json_array_size(list) : KINDS_MAX;
  double all = 0;
  for (size_t i = 0; i < n; i++) {
    const json_t *k = json_array_get(list, i);
    kind[i] = (struct kind){k, real(k, "avg") * (double)cli_int(k, "hits"), (int)i};
    all += kind[i].share;
  }
  for (size_t i = 0; i < n && all > 0; i++)
    kind[i].share = 100 * kind[i].share / all;
  qsort(kind, n, sizeof(kind[0]), lower_share);
  if (n)
    fprintf(c->out, "%10s %13s %13s %13s %14s %11s\n%10s %13s %13s %13s %14s %11s\n", "%-latency", "Avg-latency", "Min-Latency",
            "Max-Latency", "No. of calls", "Fop", "---------", "-----------", "-----------", "-----------", "------------",
            "----");
  for (size_t i = 0; i < n; i++)
    fprintf(c->out, "%10.2f %10.2f ns %10.2f ns %10.2f ns %14lld %11s\n", kind[i].share, real(kind[i].doc, "avg"),
            real(kind[i].doc, "min"), real(kind[i].doc, "max"), cli_int(kind[i].doc, "hits"), cli_str(kind[i].doc, "name"));
}

static void
render_set(struct cli *c, const json_t *set)
{
  const json_t *blocks = json_object_get(set, "blocks");
  if (cli_int(set, "number") < 0)
    fputs("Cumulative Stats:\n", c->out);
  else
    fprintf(c->out, "Interval %lld Stats:\n", cli_int(set, "number"));
  for (size_t i = 0; i < json_array_size(blocks); i += 3)
    render_block_group(c, blocks, i, json_array_size(blocks) - i < 3 ? json_array_size(blocks) - i : 3);
  render_kinds(c, json_object_get(set, "fops"));
  fprintf(c->out, " \n%12s: %lld seconds\n%12s: %lld bytes\n%12s: %lld bytes\n \n", "Duration", cli_int(set, "duration"),
          "Data Read", cli_int(set, "totalRead"), "Data Written", cli_int(set, "totalWrite"));
}

static void
render_info(struct cli *c, const json_t *doc)
{
  const json_t *bricks = json_object_get(doc, "bricks");
  for (size_t i = 0; i < json_array_size(bricks); i++) {
    const json_t *b = json_array_get(bricks, i);
    int len = fprintf(c->out, "Brick: %s\n", cli_str(b, "name"));
    while (--len > 0)
      fputc('-', c->out);
    fputc('\n', c->out);
    if (cli_true(b, "cleared"))
      fputs("Cleared stats.\n", c->out);
    if (json_object_get(b, "cumulative"))
      render_set(c, json_object_get(b, "cumulative"));
    if (json_object_get(b, "interval"))
      render_set(c, json_object_get(b, "interval"));
  }
}

/* ---- XML ---- */

static void
real_xml(struct cli_xml *x, const char *name, double value)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("%f", value);
  cli_xml_text(x, name, text);
}

static void
blocks_xml(struct cli_xml *x, const json_t *blocks)
{
  size_t next = 0;
  cli_xml_open(x, "blockStats");
  for (unsigned b = 0; b < BLOCKS; b++) {
    const json_t *block = json_array_get(blocks, next);
    bool has = cli_int(block, "size") == 1ll << b;
    next += has;
    cli_xml_open(x, "block");
    cli_xml_int(x, "size", 1ll << b);
    cli_xml_int(x, "reads", has ? cli_int(block, "reads") : 0);
    cli_xml_int(x, "writes", has ? cli_int(block, "writes") : 0);
    cli_xml_close(x);
  }
  cli_xml_close(x);
}

static void
set_xml(struct cli_xml *x, const char *element, const json_t *set)
{
  const json_t *kinds = json_object_get(set, "fops");
  if (!set)
    return;
  cli_xml_open(x, element);
  blocks_xml(x, json_object_get(set, "blocks"));
  cli_xml_open(x, "fopStats");
  for (size_t i = 0; i < json_array_size(kinds); i++) {
    const json_t *k = json_array_get(kinds, i);
    cli_xml_open(x, "fop");
    cli_xml_text(x, "name", cli_str(k, "name"));
    cli_xml_int(x, "hits", cli_int(k, "hits"));
    real_xml(x, "avgLatency", real(k, "avg"));
    real_xml(x, "minLatency", real(k, "min"));
    real_xml(x, "maxLatency", real(k, "max"));
    cli_xml_close(x);
  }
  cli_xml_close(x);
  cli_xml_int(x, "duration", cli_int(set, "duration"));
  cli_xml_int(x, "totalRead", cli_int(set, "totalRead"));
  cli_xml_int(x, "totalWrite", cli_int(set, "totalWrite"));
  cli_xml_close(x);
}

static void
render_xml(struct cli *c, const struct cli_reply *reply, const char *volume, int op)
{
  const json_t *bricks = json_object_get(reply->doc, "bricks");
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, "volProfile");
  cli_xml_text(&x, "volname", volume);
  cli_xml_int(&x, "profileOp", op);
  if (op == PROFILE_INFO)
    cli_xml_int(&x, "brickCount", (long long)json_array_size(bricks));
  for (size_t i = 0; i < json_array_size(bricks); i++) {
    const json_t *b = json_array_get(bricks, i);
    cli_xml_open(&x, "brick");
    cli_xml_text(&x, "brickName", cli_str(b, "name"));
    if (cli_true(b, "cleared"))
      cli_xml_text(&x, "clearStats", "Cleared stats.");
    set_xml(&x, "cumulativeStats", json_object_get(b, "cumulative"));
    set_xml(&x, "intervalStats", json_object_get(b, "interval"));
    cli_xml_close(&x);
  }
  cli_xml_end(&x, c->out);
}

/* ---- the command ---- */

/* [peek | incremental [peek] | cumulative | clear] behind "info"; false if it is something else. */
static bool
info_words(int n, char **words, const char **what, bool *peek)
{
  *what = "all";
  *peek = n > 0 && strcmp(words[n - 1], "peek") == 0;
  n -= *peek;
  if (n == 0)
    return true;
  *what = words[0];
  return n == 1 && (strcmp(words[0], "incremental") == 0 ||
                    (!*peek && (strcmp(words[0], "cumulative") == 0 || strcmp(words[0], "clear") == 0)));
}

static void
render(struct cli *c, const struct cli_reply *reply, const char *volume, int op)
{
  if (c->xml)
    render_xml(c, reply, volume, op);
  else if (reply->ret)
    fprintf(c->err, "%s\n", reply->text);
  else if (op == PROFILE_INFO)
    render_info(c, reply->doc);
  else
    fprintf(c->out, "%s volume profile on %s has been successful \n", op == PROFILE_START ? "Starting" : "Stopping", volume);
}

int
cli_volume_profile(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  const char *what = NULL;
  bool peek = false;
  struct cli_reply reply;
  int status;
  bool nfs = n > 4 && strcmp(words[n - 1], "nfs") == 0;
  int plain = n - nfs; /* words but that one */
  if (n < 4)
    return cli_usage(c, cmd);
  int op = strcmp(words[3], "start") == 0  ? PROFILE_START
           : strcmp(words[3], "stop") == 0 ? PROFILE_STOP
           : strcmp(words[3], "info") == 0 ? PROFILE_INFO
                                           : 0;
  if (!op || (op == PROFILE_INFO ? !info_words(plain - 4, words + 4, &what, &peek) : plain != 4))
    return cli_usage(c, cmd);
  json_t *request = cli_request(op == PROFILE_INFO ? "volume profile info" : "volume profile", words[2], n, words);
  if (op == PROFILE_INFO) {
    json_object_set_new(request, "info", json_string(what));
    json_object_set_new(request, "peek", json_boolean(peek));
  } else {
    json_object_set_new(request, "op", json_string(words[3]));
  }
  json_object_set_new(request, "nfs", json_boolean(nfs));
  if (cli_ask(c, 23, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  render(c, &reply, words[2], op);
  cli_reply_clear(&reply);
  return status;
}
