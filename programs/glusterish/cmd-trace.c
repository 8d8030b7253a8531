/* SPDX-License-Identifier: Apache-2.0
 *
 * trace: asks the mounts of a volume on this node for operations with their
 * trees, and prints or exports what they tell.
 */
#include "programs/glusterish/cli.h"
#include "programs/glusterish/trace.h"
#include "programs/glusterish/trace-want.h"
#include "programs/common/observe.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

#define SPARE_MS 5000u /* for the answer, after the time that the processes are given */
#define POST_S 30L

/* ---- asking ---- */

/* Those of a role among the processes, moved to the front. Returns how many. */
static unsigned
of_role_first(struct ob_process *list, unsigned n, const char *role)
{
  unsigned found = 0;
  for (unsigned i = 0; i < n; i++) {
    if (strcmp(list[i].role, role) != 0)
      continue;
    struct ob_process p = list[i];
    list[i] = list[found];
    list[found++] = p;
  }
  return found;
}

/* Where the path that is wanted may lie: the mount point that it begins with. */
static const char *
mountpoint_of(const struct ob_process *list, unsigned n, const char *path)
{
  for (unsigned i = 0; path && i < n; i++) {
    const char *m = json_string_value(json_object_get(list[i].about, "mountpoint"));
    if (m && strncmp(path, m, strlen(m)) == 0)
      return m;
  }
  return NULL;
}

/* Appends what a process told. `path`: all of that is of this object, NULL if of any. False if that was nothing. */
static bool
take_answer(const char *text, const char *path, json_t *operations)
{
  json_t *doc = text ? json_loads(text, 0, NULL) : NULL, *op;
  size_t i;
  json_array_foreach(json_object_get(doc, "operations"), i, op)
  {
    if (path && json_is_null(json_object_get(op, "path")))
      json_object_set_new(op, "path", json_string(path));
  }
  bool ok = json_array_extend(operations, json_object_get(doc, "operations")) == 0;
  json_decref(doc);
  return ok;
}

/* Whether a brick has the operation from one of these mounts, which tells of it itself. */
static bool
is_told_by_mount(const json_t *op, const struct ob_process *mounts, char **text, unsigned n)
{
  const char *client = trace_str(op, "client");
  for (unsigned i = 0; i < n; i++) {
    GI_CLEANUP_FREE char *pid = gi_asprintf("-PID:%ld-HOST:%s-", mounts[i].pid, trace_str(mounts[i].about, "host"));
    if (text[i] && strstr(client, pid))
      return true;
  }
  return false;
}

/* What hangs at a brick, of mounts that do not say so: they are elsewhere, or hang themselves. True: a brick has answered. */
static bool
ask_bricks(const struct ob_process *bricks, unsigned n, const char *query, unsigned timeout, const struct ob_process *mounts,
           char **told, unsigned nmounts, json_t *operations)
{
  GI_CLEANUP_FREE char **text = gi_zalloc((n + 1) * sizeof(*text));
  bool any = false;
  size_t k;
  json_t *op;
  if (n > 0)
    ob_get_texts(bricks, n, query, timeout, text);
  for (unsigned i = 0; i < n; i++) {
    json_t *of_brick = json_array();
    any |= take_answer(text[i], NULL, of_brick);
    json_array_foreach(of_brick, k, op)
    {
      if (strcmp(trace_str(op, "kind"), "ANSWER") == 0 || !is_told_by_mount(op, mounts, told, nmounts))
        json_array_append(operations, op);
    }
    json_decref(of_brick);
    free(text[i]);
  }
  return any;
}

/* The operations of all mounts, the one that began first at the front; NULL after telling the user why there is no answer. */
static json_t *
ask(struct cli *c, const struct trace_want *want)
{
  struct gi_error err = {0};
  struct ob_process *list;
  if (!ob_allowed(&err)) {
    fprintf(c->err, "trace: %s\n", err.text);
    return NULL;
  }
  unsigned all = ob_list(&list, want->volume), n = of_role_first(list, all, "client"), answers = 0;
  unsigned timeout = (unsigned)want->seconds * 1000 + SPARE_MS;
  const char *mountpoint = mountpoint_of(list, n, want->path);
  const char *path = want->path ? trace_path(want->path, mountpoint) : NULL;
  GI_CLEANUP_FREE char *query = trace_query(want, mountpoint);
  GI_CLEANUP_FREE char **text = gi_zalloc((n + 1) * sizeof(*text));
  json_t *operations = json_array();
  if (n == 1)
    text[0] = ob_get_text(&list[0], query, timeout, &err);
  else if (n > 1)
    ob_get_texts(list, n, query, timeout, text);
  for (unsigned i = 0; i < n; i++) {
    if (take_answer(text[i], path, operations))
      answers++;
    else
      fprintf(c->err, "trace: the mount of process %ld does not answer%s%s\n", list[i].pid, *err.text ? ": " : "", err.text);
  }
  unsigned bricks = want->hanging && !path ? of_role_first(list + n, all - n, "brick") : 0;
  if (ask_bricks(list + n, bricks, query, timeout, list, text, n, operations))
    answers++;
  for (unsigned i = 0; i < n; i++)
    free(text[i]);
  if (n == 0)
    fprintf(c->err, "trace: volume %s is not mounted on this node\n", want->volume);
  ob_list_free(list, all);
  if (answers > 0)
    return operations;
  json_decref(operations);
  return NULL;
}

/* ---- exporting ---- */

/* To a file, "-" for standard output. */
static bool
write_document(struct cli *c, const json_t *doc, const char *path)
{
  bool out = strcmp(path, "-") == 0;
  FILE *f = out ? c->out : fopen(path, "we");
  bool ok = f && json_dumpf(doc, f, JSON_COMPACT) == 0 && fputc('\n', f) != EOF;
  if (f)
    ok = (out ? fflush(f) : fclose(f)) == 0 && ok;
  if (!ok)
    fprintf(c->err, "trace: cannot write %s: %s\n", path, strerror(errno));
  return ok;
}

static size_t
ignore_answer(char *data, size_t size, size_t n, void *arg)
{
  return size * n;
}

/* To a receiver; a URL without a path is that of one with the usual path. */
static bool
post_document(struct cli *c, const json_t *doc, const char *where)
{
  const char *path = strchr(strstr(where, "//") + 2, '/');
  GI_CLEANUP_FREE char *url = gi_asprintf("%s%s", where, path ? "" : "/v1/traces");
  char *body = json_dumps(doc, JSON_COMPACT);
  struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
  CURL *curl = curl_easy_init();
  long status = 0;
  GI_ASSERT(curl && headers && body);
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore_answer);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, POST_S);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  CURLcode rc = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (rc != CURLE_OK)
    fprintf(c->err, "trace: %s: %s\n", url, curl_easy_strerror(rc));
  else if (status / 100 != 2)
    fprintf(c->err, "trace: %s answers with status %ld\n", url, status);
  curl_easy_cleanup(curl);
  curl_slist_free_all(headers);
  free(body);
  return rc == CURLE_OK && status / 100 == 2;
}

/* Everything that was asked for; text if that is nothing. False after telling the user what went wrong. */
static bool
show(struct cli *c, const struct trace_want *want, json_t *operations)
{
  bool ok = true;
  if (want->perfetto) {
    json_t *doc = trace_perfetto(operations);
    ok = write_document(c, doc, want->perfetto) && ok;
    json_decref(doc);
  }
  if (want->otlp) {
    json_t *doc = trace_otlp(operations);
    ok = (trace_is_url(want->otlp) ? post_document : write_document)(c, doc, want->otlp) && ok;
    json_decref(doc);
  }
  if (c->json) {
    json_t *doc = json_pack("{s:O}", "operations", operations);
    ok = write_document(c, doc, "-") && ok;
    json_decref(doc);
  } else if (!want->perfetto && !want->otlp) {
    trace_print(c->out, operations);
  }
  return ok;
}

int
cli_trace(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct trace_want want;
  if (!trace_want_parse(c, cmd, n, words, &want))
    return CLI_FAILED;
  json_t *operations = ask(c, &want);
  if (!operations)
    return CLI_FAILED;
  if (json_array_size(operations) == 0)
    fprintf(c->err, "trace: no such operation %s\n", want.hanging ? "is under way" : "in this time");
  bool ok = show(c, &want, operations);
  json_decref(operations);
  return ok ? CLI_OK : CLI_FAILED;
}
