/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking processes on their observation sockets, with libcurl: all at the same
 * time, so that one that hangs costs its time once.
 */
#include "programs/common/observe.h"
#include "libglusterish/mem.h"
#include "libglusterish/observe.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".socket"

/* ---- asking ---- */

struct answer {
  CURL *curl;
  char *text;
  size_t len;
  CURLcode result;
  long status;
  char why[CURL_ERROR_SIZE];
};

static size_t
take(char *data, size_t size, size_t n, void *arg)
{
  struct answer *a = arg;
  if (n > OB_ANSWER_MAX - a->len)
    return 0; /* an error for curl */
  a->text = gi_realloc(a->text, a->len + n + 1);
  memcpy(a->text + a->len, data, n);
  a->len += n;
  a->text[a->len] = 0;
  return n;
}

static void
prepare(struct answer *a, CURLM *multi, const char *socket, const char *url, unsigned timeout_ms)
{
  *a = (struct answer){.curl = curl_easy_init(), .result = CURLE_OPERATION_TIMEDOUT};
  GI_ASSERT(a->curl != NULL);
  curl_easy_setopt(a->curl, CURLOPT_URL, url);
  curl_easy_setopt(a->curl, CURLOPT_UNIX_SOCKET_PATH, socket);
  curl_easy_setopt(a->curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(a->curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(a->curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
  curl_easy_setopt(a->curl, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(a->curl, CURLOPT_WRITEDATA, a);
  curl_easy_setopt(a->curl, CURLOPT_ERRORBUFFER, a->why);
  curl_easy_setopt(a->curl, CURLOPT_PRIVATE, a);
  curl_multi_add_handle(multi, a->curl);
}

static void
collect(CURLM *multi)
{
  int left;
  for (CURLMsg *m = curl_multi_info_read(multi, &left); m; m = curl_multi_info_read(multi, &left)) {
    struct answer *a = NULL;
    if (m->msg != CURLMSG_DONE)
      continue;
    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&a);
    a->result = m->data.result;
    curl_easy_getinfo(m->easy_handle, CURLINFO_RESPONSE_CODE, &a->status);
  }
}

/* Fills answers[n]; the caller frees their texts. */
static void
ask(struct answer *answers, const char *const *sockets, unsigned n, const char *path_and_query, unsigned timeout_ms)
{
  GI_CLEANUP_FREE char *url = gi_asprintf("http://localhost%s", path_and_query);
  CURLM *multi = curl_multi_init();
  int running = 0;
  GI_ASSERT(multi != NULL && path_and_query[0] == '/');
  for (unsigned i = 0; i < n; i++)
    prepare(&answers[i], multi, sockets[i], url, timeout_ms);
  do {
    if (curl_multi_perform(multi, &running) != CURLM_OK)
      break;
    if (running && curl_multi_poll(multi, NULL, 0, 1000, NULL) != CURLM_OK)
      break;
  } while (running);
  collect(multi);
  for (unsigned i = 0; i < n; i++) {
    curl_multi_remove_handle(multi, answers[i].curl);
    curl_easy_cleanup(answers[i].curl);
    answers[i].curl = NULL;
  }
  curl_multi_cleanup(multi);
}

/* The text if it came with status 200, else NULL and err. Consumes the answer. */
static char *
judge(struct answer *a, const char *socket, const char *path_and_query, struct gi_error *err)
{
  if (a->result == CURLE_OK && a->status == 200)
    return a->text ? a->text : gi_strdup("");
  if (a->result == CURLE_OPERATION_TIMEDOUT)
    gi_error_set(err, ETIMEDOUT, "%s does not answer %s", socket, path_and_query);
  else if (a->result != CURLE_OK)
    gi_error_set(err, ENOTCONN, "%s cannot be asked for %s: %s", socket, path_and_query,
                 a->why[0] ? a->why : curl_easy_strerror(a->result));
  else {
    const char *text = a->text ? a->text : "";
    gi_error_set(err,
                 a->status == 404   ? ENOENT
                 : a->status == 400 ? EINVAL
                                    : EAGAIN,
                 "%s answers %s with %ld: %.*s", socket, path_and_query, a->status, (int)strcspn(text, "\n"), text);
  }
  gi_free(a->text);
  a->text = NULL;
  return NULL;
}

char *
ob_get_text(const struct ob_process *p, const char *path_and_query, unsigned timeout_ms, struct gi_error *err)
{
  struct answer a;
  ask(&a, (const char *const *)&p->socket, 1, path_and_query, timeout_ms);
  return judge(&a, p->socket, path_and_query, err);
}

json_t *
ob_get_json(const struct ob_process *p, const char *path_and_query, unsigned timeout_ms, struct gi_error *err)
{
  json_error_t why;
  GI_CLEANUP_FREE char *text = ob_get_text(p, path_and_query, timeout_ms, err);
  json_t *doc = text ? json_loads(text, 0, &why) : NULL;
  if (text && !doc)
    gi_error_set(err, EPROTO, "%s answers %s with what is no JSON: line %d: %s", p->socket, path_and_query, why.line, why.text);
  return doc;
}

void
ob_get_texts(const struct ob_process *list, unsigned n, const char *path_and_query, unsigned timeout_ms, char **texts)
{
  GI_CLEANUP_FREE struct answer *answers = gi_zalloc(n * sizeof(*answers));
  GI_CLEANUP_FREE const char **sockets = gi_zalloc(n * sizeof(*sockets));
  for (unsigned i = 0; i < n; i++)
    sockets[i] = list[i].socket;
  ask(answers, sockets, n, path_and_query, timeout_ms);
  for (unsigned i = 0; i < n; i++)
    texts[i] = judge(&answers[i], sockets[i], path_and_query, NULL);
}

char *
ob_escape(const char *value)
{
  char *escaped = curl_easy_escape(NULL, value, 0);
  GI_ASSERT(escaped != NULL);
  char *copy = gi_strdup(escaped);
  curl_free(escaped);
  return copy;
}

/* ---- listing ---- */

bool
ob_allowed(struct gi_error *err)
{
  DIR *d = opendir(gi_observe_dir());
  if (d)
    closedir(d);
  else if (errno != ENOENT)
    gi_error_set(err, errno, "cannot look into %s: %s", gi_observe_dir(), strerror(errno));
  return d || errno == ENOENT;
}

/* ROLE-NAME-PID.socket, as gi_observe_name makes it. */
static bool
parse_name(struct ob_process *p, const char *file)
{
  size_t len = strlen(file), suffix = strlen(SUFFIX);
  const char *dash = strchr(file, '-'), *last = strrchr(file, '-');
  char *end;
  if (len <= suffix || strcmp(file + len - suffix, SUFFIX) != 0 || !dash || dash == last)
    return false;
  long pid = strtol(last + 1, &end, 10);
  if (end == last + 1 || strcmp(end, SUFFIX) != 0 || pid <= 0)
    return false;
  p->pid = pid;
  p->role = gi_strndup(file, (size_t)(dash - file));
  if (strcmp(p->role, "client") == 0 || strcmp(p->role, "shd") == 0)
    p->volume = gi_strndup(dash + 1, (size_t)(last - dash - 1));
  return true;
}

static void
process_clear(struct ob_process *p)
{
  gi_free(p->role);
  gi_free(p->volume);
  gi_free(p->socket);
  json_decref(p->about);
}

static unsigned
find_sockets(struct ob_process **list)
{
  char path[PATH_MAX];
  struct stat st;
  unsigned n = 0;
  DIR *d = opendir(gi_observe_dir());
  for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    struct ob_process p = {0};
    if (snprintf(path, sizeof(path), "%s/%s", gi_observe_dir(), e->d_name) >= (int)sizeof(path) || lstat(path, &st) < 0 ||
        !S_ISSOCK(st.st_mode) || gi_observe_bury(path) || !parse_name(&p, e->d_name))
      continue;
    p.socket = gi_strdup(path);
    *list = gi_realloc(*list, (n + 1) * sizeof(**list));
    (*list)[n++] = p;
  }
  if (d)
    closedir(d);
  return n;
}

static void
take_about(struct ob_process *p, const char *text)
{
  const char *role, *volume;
  p->about = text ? json_loads(text, 0, NULL) : NULL;
  if (!p->about)
    return;
  role = json_string_value(json_object_get(p->about, "role"));
  volume = json_string_value(json_object_get(p->about, "volume"));
  if (role) {
    gi_free(p->role);
    p->role = gi_strdup(role);
  }
  gi_free(p->volume);
  p->volume = gi_strdup(volume);
}

static int
compare(const void *a, const void *b)
{
  const struct ob_process *x = a, *y = b;
  int order = strcmp(x->role, y->role);
  if (!order)
    order = strcmp(x->volume ? x->volume : "", y->volume ? y->volume : "");
  return order ? order : x->pid < y->pid ? -1 : x->pid > y->pid;
}

unsigned
ob_list(struct ob_process **list, const char *volume)
{
  *list = NULL;
  unsigned found = find_sockets(list), n = 0;
  GI_CLEANUP_FREE char **texts = gi_zalloc(found * sizeof(*texts));
  ob_get_texts(*list, found, "/process", OB_LIST_MS, texts);
  for (unsigned i = 0; i < found; i++) {
    struct ob_process *p = &(*list)[i];
    take_about(p, texts[i]);
    gi_free(texts[i]);
    if (!volume || (p->volume && strcmp(p->volume, volume) == 0))
      (*list)[n++] = *p;
    else
      process_clear(p);
  }
  if (n)
    qsort(*list, n, sizeof(**list), compare);
  if (n == 0) {
    gi_free(*list);
    *list = NULL;
  }
  return n;
}

void
ob_list_free(struct ob_process *list, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    process_clear(&list[i]);
  gi_free(list);
}
