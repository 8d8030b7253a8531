/* SPDX-License-Identifier: Apache-2.0
 *
 * volume top (cli.md 5.9): the busiest files of each brick.
 */
#include "programs/glusterish/cli.h"
#include "libglusterish/manage-op.h"
#include "libglusterish/options.h"

#include <string.h>
#include <time.h>

#define NAME_WIDTH 47
#define BYTES_MAX (10ull << 30) /* of a measurement */

struct top {
  const char *brick;
  int op; /* enum gi_top; 0: clear */
  bool nfs;
  int64_t rows, size, blocks;
};

static bool
is_perf(const struct top *t)
{
  return t->op == GI_TOP_READ_PERF || t->op == GI_TOP_WRITE_PERF;
}

/* ---- words ---- */

static int
top_number(const char *word)
{
  static const char *const words[] = {"clear", "open", "read", "write", "opendir", "readdir", "read-perf", "write-perf"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(words); i++)
    if (strcmp(word, words[i]) == 0)
      return (int)i;
  return -1;
}

/* The value of one pair; false, and *say if there is something to say, if it is not good. */
static bool
read_pair(struct top *t, const char *name, const char *value, const char **say)
{
  if (strcmp(name, "brick") == 0 && !t->brick) {
    t->brick = value;
    return true;
  }
  if (strcmp(name, "list-cnt") == 0) {
    *say = "list-cnt should be between 0 to 100";
    return gi_parse_int(value, &t->rows) && t->rows >= 0 && t->rows <= GI_TOP_LIST_MAX;
  }
  if (is_perf(t) && strcmp(name, "bs") == 0) {
    *say = "block size should be an integer greater than zero";
    return gi_parse_int(value, &t->size) && t->size > 0;
  }
  if (is_perf(t) && strcmp(name, "count") == 0) {
    *say = "count should be an integer greater than zero";
    return gi_parse_int(value, &t->blocks) && t->blocks > 0;
  }
  return false;
}

/* The words behind the kind of list, likewise. */
static bool
read_words(struct top *t, int n, char **words, const char **say)
{
  t->nfs = n > 0 && !is_perf(t) && strcmp(words[0], "nfs") == 0;
  for (int i = t->nfs; i < n; i += 2) {
    *say = NULL;
    if (i + 1 >= n || !read_pair(t, words[i], words[i + 1], say))
      return false;
  }
  *say = "Need to give both 'bs' and 'count'";
  return !t->size == !t->blocks;
}

/* ---- text ---- */

static void
time_text(const json_t *file, char text[40])
{
  time_t sec = (time_t)cli_int(file, "sec");
  struct tm tm;
  if (!gmtime_r(&sec, &tm) || !strftime(text, 40, "%Y-%m-%d %H:%M:%S +0000", &tm))
    snprintf(text, 40, "?");
}

static void
render_rows(struct cli *c, const json_t *files)
{
  if (json_array_size(files))
    fputs("Count\t\tfilename\n=======================\n", c->out);
  for (size_t i = 0; i < json_array_size(files); i++)
    fprintf(c->out, "%lld\t\t%s\n", cli_int(json_array_get(files, i), "count"), cli_str(json_array_get(files, i), "path"));
}

static void
render_speeds(struct cli *c, const json_t *files)
{
  if (json_array_size(files))
    fprintf(c->out, "%4s %-*s %-26s\n%4s %-*s %-26s\n", "MBps", NAME_WIDTH, "Filename", "Time", "====", NAME_WIDTH,
            "========", "====");
  for (size_t i = 0; i < json_array_size(files); i++) {
    const json_t *f = json_array_get(files, i);
    const char *path = cli_str(f, "path");
    size_t len = strlen(path);
    char when[40];
    time_text(f, when);
    GI_CLEANUP_FREE char *name = len > NAME_WIDTH ? gi_asprintf("...%s", path + len - (NAME_WIDTH - 3)) : gi_strdup(path);
    fprintf(c->out, "%4lld %-*s %s.%06lld\n", (long long)json_number_value(json_object_get(f, "mbps")), NAME_WIDTH, name, when,
            cli_int(f, "usec"));
  }
}

static void
render_brick(struct cli *c, const struct top *t, const json_t *b)
{
  const json_t *files = json_object_get(b, "files"), *measured = json_object_get(b, "throughput");
  if (t->op == 0) {
    fprintf(c->out, "Cleared stats for brick %s\n", cli_str(b, "name"));
    return;
  }
  fprintf(c->out, "Brick: %s\n", cli_str(b, "name"));
  if (t->op == GI_TOP_OPEN)
    fprintf(c->out, "Current open fds: %lld, Max open fds: %lld, Max openfd time: %s\n", cli_int(b, "currentOpen"),
            cli_int(b, "maxOpen"), *cli_str(b, "maxOpenTime") ? cli_str(b, "maxOpenTime") : "N/A");
  if (measured)
    fprintf(c->out, "Throughput %.2f MBps time %.4f secs\n", json_number_value(measured),
            json_number_value(json_object_get(b, "seconds")));
  if (is_perf(t))
    render_speeds(c, files);
  else
    render_rows(c, files);
}

/* ---- XML ---- */

static void
file_xml(struct cli_xml *x, const struct top *t, const json_t *f)
{
  char text[40];
  cli_xml_open(x, "file");
  cli_xml_text(x, "filename", cli_str(f, "path"));
  if (is_perf(t)) {
    cli_xml_int(x, "count", (long long)json_number_value(json_object_get(f, "mbps")));
    time_t sec = (time_t)cli_int(f, "sec");
    struct tm tm;
    if (!gmtime_r(&sec, &tm) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
      snprintf(text, sizeof(text), "?");
    GI_CLEANUP_FREE char *when = gi_asprintf("%s.%06lld +0000", text, cli_int(f, "usec"));
    cli_xml_text(x, "time", when);
  } else {
    cli_xml_int(x, "count", cli_int(f, "count"));
  }
  cli_xml_close(x);
}

static void
real_xml(struct cli_xml *x, const char *name, double value)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("%f", value);
  cli_xml_text(x, name, text);
}

static void
render_xml(struct cli *c, const struct top *t, const struct cli_reply *reply)
{
  const json_t *bricks = json_object_get(reply->doc, "bricks");
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, "volTop");
  cli_xml_int(&x, "brickCount", (long long)json_array_size(bricks));
  cli_xml_int(&x, "topOp", t->op);
  for (size_t i = 0; i < json_array_size(bricks); i++) {
    const json_t *b = json_array_get(bricks, i), *files = json_object_get(b, "files");
    cli_xml_open(&x, "brick");
    cli_xml_text(&x, "name", cli_str(b, "name"));
    cli_xml_int(&x, "members", (long long)json_array_size(files));
    if (t->op == GI_TOP_OPEN) {
      cli_xml_int(&x, "currentOpen", cli_int(b, "currentOpen"));
      cli_xml_int(&x, "maxOpen", cli_int(b, "maxOpen"));
      cli_xml_text(&x, "maxOpenTime", *cli_str(b, "maxOpenTime") ? cli_str(b, "maxOpenTime") : "N/A");
    }
    if (json_object_get(b, "throughput")) {
      real_xml(&x, "throughput", json_number_value(json_object_get(b, "throughput")));
      real_xml(&x, "timeTaken", 1e6 * json_number_value(json_object_get(b, "seconds"))); /* microseconds */
    }
    for (size_t k = 0; k < json_array_size(files); k++)
      file_xml(&x, t, json_array_get(files, k));
    cli_xml_close(&x);
  }
  cli_xml_end(&x, c->out);
}

/* ---- the command ---- */

static void
render(struct cli *c, const struct top *t, const struct cli_reply *reply)
{
  const json_t *bricks = json_object_get(reply->doc, "bricks");
  if (c->xml) {
    render_xml(c, t, reply);
  } else if (reply->ret) {
    fprintf(c->err, "%s\nvolume top unsuccessful\n", reply->text);
  } else {
    for (size_t i = 0; i < json_array_size(bricks); i++)
      render_brick(c, t, json_array_get(bricks, i));
  }
}

int
cli_volume_top(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct top t = {.rows = GI_TOP_LIST_MAX};
  struct cli_reply reply;
  const char *say = NULL;
  int status;
  if (n < 4 || (t.op = top_number(words[3])) < 0)
    return cli_usage(c, cmd);
  if (!read_words(&t, n - 4, words + 4, &say))
    return say ? cli_bad(c, cmd, "%s", say) : cli_usage(c, cmd);
  if (t.size && (uint64_t)t.blocks > BYTES_MAX / (uint64_t)t.size)
    return cli_bad(c, cmd, "'bs * count' value %.0f is greater than maximum allowed value of 10GB",
                   (double)t.size * (double)t.blocks);
  json_t *request = cli_request("volume top", words[2], n, words);
  json_object_set_new(request, "op", json_integer(t.op));
  json_object_set_new(request, "rows", json_integer(t.rows));
  json_object_set_new(request, "nfs", json_boolean(t.nfs));
  if (t.size) {
    json_object_set_new(request, "bs", json_integer(t.size));
    json_object_set_new(request, "count", json_integer(t.blocks));
  }
  if (t.brick)
    json_object_set_new(request, "brick", json_string(t.brick));
  if (cli_ask(c, 23, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  render(c, &t, &reply);
  cli_reply_clear(&reply);
  return status;
}
