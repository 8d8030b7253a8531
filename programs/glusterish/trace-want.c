/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of `trace` and the question they become.
 */
#include "programs/glusterish/trace-want.h"
#include "libglusterish/options.h"

#include <string.h>

#define COUNT 10 /* operations, unless told */
#define SECONDS 10
#define SECONDS_MAX 3600
#define HANGING_MS 1000 /* what hangs, unless told; what ends meanwhile is told if it took as long */
#define HANGING_SECONDS 1

/* "20ms", "1.5s"; a number alone is milliseconds. */
static bool
parse_ms(const char *text, int64_t *ms)
{
  char *end;
  double n = strtod(text, &end);
  double unit = strcmp(end, "s") == 0 ? 1000 : strcmp(end, "ms") == 0 || *end == 0 ? 1 : 0;
  if (end == text || !(n >= 0) || n * unit > 1e9 || n * unit < 1)
    return false;
  *ms = (int64_t)(n * unit);
  return true;
}

static bool
parse_count(const char *text, int64_t most, int64_t *n)
{
  return gi_parse_int(text, n) && *n > 0 && *n <= most;
}

static bool
bad_number(struct cli *c, const struct cli_command *cmd, const char *option, const char *text)
{
  cli_bad(c, cmd, "option --%s: %s is out of range or no number", option, text);
  return false;
}

bool
trace_want_parse(struct cli *c, const struct cli_command *cmd, int n, char **words, struct trace_want *want)
{
  const char *slower = NULL;
  struct {
    const char *name, *text;
    int64_t most, *n;
  } number[] = {{"pid", NULL, INT32_MAX, &want->pid},
                {"sample", NULL, INT32_MAX, &want->sample},
                {"count", NULL, 100000, &want->count},
                {"seconds", NULL, SECONDS_MAX, &want->seconds}};
  const struct cli_option options[] = {
      {"pid", &number[0].text, NULL},      {"sample", &number[1].text, NULL},
      {"count", &number[2].text, NULL},    {"seconds", &number[3].text, NULL},
      {"path", &want->path, NULL},         {"slower-than", &slower, NULL},
      {"perfetto", &want->perfetto, NULL}, {"otlp", &want->otlp, NULL},
      {"hanging", NULL, &want->hanging},   {NULL, NULL, NULL},
  };
  *want = (struct trace_want){.count = COUNT, .seconds = SECONDS};
  if (!cli_take_options(c, cmd, options, &n, words))
    return false;
  for (size_t i = 0; i < GI_ARRAY_LEN(number); i++)
    if (number[i].text && !parse_count(number[i].text, number[i].most, number[i].n))
      return bad_number(c, cmd, number[i].name, number[i].text);
  if (slower && !parse_ms(slower, &want->slower_ms))
    return bad_number(c, cmd, "slower-than", slower);
  if (want->hanging && !slower)
    want->slower_ms = HANGING_MS;
  if (want->hanging && !number[3].text)
    want->seconds = HANGING_SECONDS;
  if (n != 2) {
    cli_usage(c, cmd);
    return false;
  }
  want->volume = words[1];
  return true;
}

bool
trace_is_url(const char *where)
{
  return strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0;
}

static void
put_encoded(FILE *out, const char *text)
{
  for (; *text; text++) {
    unsigned char ch = (unsigned char)*text;
    bool plain = (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || strchr("/-._~", ch);
    fprintf(out, plain ? "%c" : "%%%02X", ch);
  }
}

const char *
trace_path(const char *path, const char *mountpoint)
{
  size_t len = mountpoint ? strlen(mountpoint) : 0;
  if (len > 1 && strncmp(path, mountpoint, len) == 0 && (path[len] == '/' || path[len] == 0))
    return path[len] ? path + len : "/";
  return path;
}

char *
trace_query(const struct trace_want *want, const char *mountpoint)
{
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  GI_ASSERT(out != NULL);
  fprintf(out, "/trace?count=%lld&seconds=%lld", (long long)want->count, (long long)want->seconds);
  if (want->path) {
    fputs("&path=", out);
    put_encoded(out, trace_path(want->path, mountpoint));
  }
  if (want->pid)
    fprintf(out, "&pid=%lld", (long long)want->pid);
  if (want->sample)
    fprintf(out, "&sample=%lld", (long long)want->sample);
  if (want->slower_ms)
    fprintf(out, "&slower_ms=%lld", (long long)want->slower_ms);
  if (want->hanging)
    fprintf(out, "&hanging_ms=%lld", (long long)want->slower_ms);
  fclose(out);
  return text;
}
