/* SPDX-License-Identifier: Apache-2.0
 *
 * Joining pages of metrics: a family stands once, with the samples of all.
 */
#include "programs/common/gather.h"
#include "libglusterish/exposition.h"
#include "libglusterish/mem.h"

#include <string.h>

struct node_metrics {
  uint64_t answers;
};

const struct gi_metric ob_node_metrics[] = {
    GI_GAUGE(struct node_metrics, answers, "", "1: the process answers on its observation socket; 0: it lives and does not"),
    GI_METRIC_END,
};

/* ---- joining ---- */

struct family {
  char *head, *samples; /* lines */
  size_t head_len, samples_len;
  FILE *head_out, *samples_out;
  unsigned first; /* the page that brought it, and describes it */
};

struct merge {
  json_t *names;            /* of families: index */
  json_t *processes;        /* labels that were there */
  struct family **families; /* each stays where it is: its streams point into it */
  unsigned n;
};

static unsigned
family_of(struct merge *m, const char *name, size_t len, unsigned page)
{
  GI_CLEANUP_FREE char *key = gi_strndup(name, len);
  json_t *known = json_object_get(m->names, key);
  if (known)
    return (unsigned)json_integer_value(known);
  if ((m->n & (m->n - 1)) == 0)
    m->families = gi_realloc(m->families, (m->n ? 2 * m->n : 1) * sizeof(*m->families));
  struct family *f = m->families[m->n] = gi_new(struct family);
  f->first = page;
  f->head_out = open_memstream(&f->head, &f->head_len);
  f->samples_out = open_memstream(&f->samples, &f->samples_len);
  GI_ASSERT(f->head_out && f->samples_out);
  json_object_set_new_nocheck(m->names, key, json_integer(m->n));
  return m->n++;
}

/* The end of a label's value that begins at `text`. */
static const char *
value_end(const char *text)
{
  while (*text && *text != '"')
    text += *text == '\\' && text[1] ? 2 : 1;
  return text;
}

/* Has another process the label "process" that this page has? Remembers it. */
static bool
is_taken(struct merge *m, const char *page)
{
  static const char mark[] = "{process=\"";
  const char *at = strstr(page, mark);
  if (!at)
    return false;
  at += strlen(mark);
  GI_CLEANUP_FREE char *label = gi_strndup(at, (size_t)(value_end(at) - at));
  bool taken = json_object_get(m->processes, label) != NULL;
  json_object_set_new_nocheck(m->processes, label, json_true());
  return taken;
}

static void
take_sample(struct family *f, const char *line, long pid)
{
  const char *brace = pid ? strchr(line, '{') : NULL;
  if (brace)
    fprintf(f->samples_out, "%.*s{pid=\"%ld\"%s%s\n", (int)(brace - line), line, pid, brace[1] == '}' ? "" : ",", brace + 1);
  else
    fprintf(f->samples_out, "%s\n", line);
}

static void
take_page(struct merge *m, char *page, unsigned index, long pid)
{
  char *save = NULL;
  int family = -1;
  if (!is_taken(m, page))
    pid = 0;
  for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    bool describes = strncmp(line, "# HELP ", 7) == 0 || strncmp(line, "# TYPE ", 7) == 0 || strncmp(line, "# UNIT ", 7) == 0;
    if (describes) {
      family = (int)family_of(m, line + 7, strcspn(line + 7, " "), index);
      if (m->families[family]->first == index)
        fprintf(m->families[family]->head_out, "%s\n", line);
    } else if (line[0] != '#') {
      if (family < 0)
        family = (int)family_of(m, line, strcspn(line, "{ "), index);
      take_sample(m->families[family], line, pid);
    }
  }
}

void
ob_merge(FILE *out, char *const *texts, const long *pids, unsigned n)
{
  struct merge m = {.names = json_object(), .processes = json_object()};
  for (unsigned i = 0; i < n; i++)
    if (texts[i])
      take_page(&m, texts[i], i, pids[i]);
  for (unsigned i = 0; i < m.n; i++) {
    struct family *f = m.families[i];
    fclose(f->head_out);
    fclose(f->samples_out);
    fwrite(f->head, 1, f->head_len, out);
    fwrite(f->samples, 1, f->samples_len, out);
    free(f->head);
    free(f->samples);
    gi_free(f);
  }
  gi_free(m.families);
  json_decref(m.names);
  json_decref(m.processes);
}

void
ob_metrics(FILE *out, const struct ob_process *list, unsigned n, bool open)
{
  struct gi_exposition e;
  char pid[24];
  GI_CLEANUP_FREE char **texts = gi_zalloc(n * sizeof(*texts));
  GI_CLEANUP_FREE long *pids = gi_zalloc(n * sizeof(*pids));
  ob_get_texts(list, n, open ? "/metrics?format=openmetrics" : "/metrics?format=text", OB_METRICS_MS, texts);
  gi_exposition_begin(&e, out, open);
  gi_exposition_family(&e, "node", &ob_node_metrics[0]);
  for (unsigned i = 0; i < n; i++) {
    const struct gi_label labels[] = {{"role", list[i].role}, {"volume", list[i].volume}, {"pid", pid}};
    snprintf(pid, sizeof(pid), "%ld", list[i].pid);
    gi_exposition_sample(&e, texts[i] != NULL, labels, GI_ARRAY_LEN(labels));
    pids[i] = list[i].pid;
  }
  ob_merge(out, texts, pids, n);
  gi_exposition_end(&e);
  for (unsigned i = 0; i < n; i++)
    gi_free(texts[i]);
}

/* ---- as JSON ---- */

/* Text without its escapes, in place. */
static char *
plain(char *text)
{
  char *to = text;
  for (const char *from = text; *from; from++) {
    if (*from == '\\' && from[1])
      *to++ = *++from == 'n' ? '\n' : *from;
    else
      *to++ = *from;
  }
  *to = 0;
  return text;
}

static json_t *
sample_json(char *line)
{
  json_t *labels = json_object();
  char *at = line + strcspn(line, "{ ");
  bool braced = *at == '{';
  *at++ = 0;
  while (braced && *at && *at != '}') {
    char *name = at, *eq = strchr(at, '=');
    if (!eq || eq[1] != '"')
      break;
    *eq = 0;
    char *value = eq + 2, *end = value + (value_end(value) - value);
    at = *end ? end + 1 : end;
    *end = 0;
    json_object_set_new(labels, name, json_string(plain(value)));
    at += *at == ',';
  }
  at += strspn(at, "} ");
  bool whole = strspn(at, "0123456789") == strlen(at);
  json_t *value = whole ? json_integer(strtoll(at, NULL, 10)) : json_real(strtod(at, NULL));
  return json_pack("{s:s,s:o,s:o}", "name", line, "labels", labels, "value", value);
}

json_t *
ob_metrics_json(char *page)
{
  json_t *families = json_array(), *family = NULL;
  char *save = NULL;
  static const struct {
    const char *mark, *member;
  } heads[] = {{"# HELP ", "help"}, {"# TYPE ", "type"}, {"# UNIT ", "unit"}};
  for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    for (unsigned i = 0; i < GI_ARRAY_LEN(heads); i++) {
      if (strncmp(line, heads[i].mark, 7) != 0)
        continue;
      char *name = line + 7, *rest = name + strcspn(name, " ");
      if (*rest)
        *rest++ = 0;
      const char *now = json_string_value(json_object_get(family, "name"));
      if (!now || strcmp(now, name) != 0) {
        family = json_pack("{s:s,s:[]}", "name", name, "samples");
        json_array_append_new(families, family);
      }
      json_object_set_new(family, heads[i].member, json_string(plain(rest)));
    }
    if (line[0] != '#' && family)
      json_array_append_new(json_object_get(family, "samples"), sample_json(line));
  }
  return json_pack("{s:o}", "families", families);
}
