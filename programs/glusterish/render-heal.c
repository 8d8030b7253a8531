/* SPDX-License-Identifier: Apache-2.0
 *
 * volume heal statistics and heal-count (cli.md 5.7): what the self-heal daemon
 * told, under the keys of replicate.md 7.9. The facts of a brick carry the
 * number of its replica set and its place in that.
 */
#include "programs/glusterish/cli.h"

#include <string.h>
#include <time.h>

#define CRAWLS_MAX 1000 /* of one brick: a number that the daemon tells */
#define DASHES "------------------------------------------------"

/* A fact as text, whether it came as text or as a number; "" if absent. `key` has the form "%d-%d" filled in by the caller. */
static const char *
fact(const json_t *doc, const char *key, char buf[32])
{
  const json_t *v = json_object_get(json_object_get(doc, "facts"), key);
  if (!json_is_integer(v))
    return json_is_string(v) ? json_string_value(v) : "";
  snprintf(buf, 32, "%lld", (long long)json_integer_value(v));
  return buf;
}

static const char *
brick_fact(const json_t *doc, const json_t *brick, const char *what, char buf[32])
{
  char key[96];
  snprintf(key, sizeof(key), "%lld-%lld-%s", cli_int(brick, "set"), cli_int(brick, "child"), what);
  return fact(doc, key, buf);
}

static const char *
crawl_fact(const json_t *doc, const json_t *brick, const char *what, long i, char buf[32])
{
  char key[96];
  snprintf(key, sizeof(key), "%s-%lld-%lld-%ld", what, cli_int(brick, "set"), cli_int(brick, "child"), i);
  return fact(doc, key, buf);
}

/* Times come as text of their own, perhaps with a newline; or as seconds. */
static void
print_time(struct cli *c, const char *label, const char *value)
{
  char text[64];
  char *end;
  long long seconds = strtoll(value, &end, 10);
  time_t t = (time_t)seconds;
  struct tm tm;
  if (*value && *end == '\0' && localtime_r(&t, &tm) && strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm))
    value = text;
  fprintf(c->out, "%s: %.*s\n\n", label, (int)strcspn(value, "\n"), value);
}

static void
render_crawl(struct cli *c, const json_t *doc, const json_t *brick, long i)
{
  char buf[32];
  fputc('\n', c->out);
  print_time(c, "Starting time of crawl", crawl_fact(doc, brick, "statistics_strt_time", i, buf));
  if (strcmp(crawl_fact(doc, brick, "statistics_inprogress", i, buf), "1") == 0)
    fprintf(c->out, "Crawl is in progress\n");
  else
    print_time(c, "Ending time of crawl", crawl_fact(doc, brick, "statistics_end_time", i, buf));
  fprintf(c->out, "Type of crawl: %s\n", crawl_fact(doc, brick, "statistics_crawl_type", i, buf));
  fprintf(c->out, "No. of entries healed: %s\n", crawl_fact(doc, brick, "statistics_healed_cnt", i, buf));
  fprintf(c->out, "No. of entries in split-brain: %s\n", crawl_fact(doc, brick, "statistics_sb_cnt", i, buf));
  fprintf(c->out, "No. of heal failed entries: %s\n", crawl_fact(doc, brick, "statistics_heal_failed_cnt", i, buf));
}

static void
render_brick_crawls(struct cli *c, const json_t *doc, const json_t *brick, size_t number)
{
  char key[64], buf[32];
  snprintf(key, sizeof(key), "statistics-%lld-%lld-count", cli_int(brick, "set"), cli_int(brick, "child"));
  const char *count = fact(doc, key, buf);
  long n = strtol(count, NULL, 10);
  fprintf(c->out, "%s\n\nCrawl statistics for brick no %zu\nHostname of brick %s\n", DASHES, number,
          cli_str(brick, "hostname"));
  if (!*count)
    fprintf(c->out, "\nNo gathered input for this brick\n");
  for (long i = 0; i < n && i < CRAWLS_MAX; i++)
    render_crawl(c, doc, brick, i);
}

void
cli_render_heal_statistics(struct cli *c, const json_t *doc)
{
  const json_t *bricks = json_object_get(doc, "bricks");
  for (size_t i = 0; i < json_array_size(bricks); i++)
    render_brick_crawls(c, doc, json_array_get(bricks, i), i);
}

void
cli_render_heal_count(struct cli *c, const json_t *doc)
{
  const json_t *bricks = json_object_get(doc, "bricks");
  char buf[32];
  for (size_t i = 0; i < json_array_size(bricks); i++) {
    const json_t *b = json_array_get(bricks, i);
    const char *names = brick_fact(doc, b, "hardlinks", buf);
    fprintf(c->out, "\nBrick %s:%s\n", cli_str(b, "hostname"), cli_str(b, "path"));
    if (*names) {
      fprintf(c->out, "Number of entries: %s\n", names);
      continue;
    }
    const char *status = brick_fact(doc, b, "status", buf);
    if (*status)
      fprintf(c->out, "Status: %s\n", status);
    fprintf(c->out, "No gathered input for this brick\n");
  }
}
