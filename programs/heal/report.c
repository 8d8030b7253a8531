/* SPDX-License-Identifier: Apache-2.0
 *
 * The output, while things are found out: nothing is gathered that could be
 * printed. As text it is what GlusterFS prints; in XML the result comes after
 * the data; JSON says also what the others leave out.
 */
#include "programs/heal/heal.h"
#include "libglusterish/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* ---- text from disks ---- */

/* Bytes of the UTF-8 character at `s` that XML and JSON can carry; 0: none. */
static size_t
utf8_len(const char *s)
{
  bool character = strncmp(s, "\xef\xbf\xbe", 3) != 0 && strncmp(s, "\xef\xbf\xbf", 3) != 0;
  return character ? gi_utf8_len(s) : 0;
}

char *
heal_printable(const char *text, bool utf8)
{
  char *out = gi_alloc(4 * strlen(text) + 1);
  size_t n = 0;
  for (const char *p = text; *p;) {
    unsigned char c = (unsigned char)*p;
    size_t len = c < ' ' || c == 0x7f ? 0 : utf8 ? utf8_len(p) : 1;
    if (len == 0) {
      n += (size_t)snprintf(out + n, 5, "\\x%02x", c);
      p++;
      continue;
    }
    memcpy(out + n, p, len);
    n += len;
    p += len;
  }
  out[n] = '\0';
  return out;
}

/* ---- bricks ---- */

static bool
splits_only(const struct heal_report *r)
{
  return r->command == HEAL_SPLITS;
}

static bool
is_info(const struct heal_report *r)
{
  return r->command == HEAL_INFO || r->command == HEAL_SUMMARY || r->command == HEAL_SPLITS;
}

void
heal_report_begin(struct heal_report *r)
{
  if (r->form == HEAL_JSON)
    r->output = json_object();
  if (r->form == HEAL_XML && is_info(r)) {
    cli_xml_start(&r->xml, "cliOutput");
    cli_xml_open(&r->xml, "healInfo");
    cli_xml_open(&r->xml, "bricks");
  }
  if (r->form == HEAL_JSON && is_info(r))
    json_object_set_new(r->output, "bricks", json_array());
}

void
heal_report_brick(struct heal_report *r, const char *name, const char *uuid)
{
  r->counts = (struct heal_counts){0};
  switch (r->form) {
  case HEAL_TEXT:
    fprintf(r->out, "Brick %s\n", name);
    break;
  case HEAL_XML:
    cli_xml_open(&r->xml, "brick");
    cli_xml_attribute(&r->xml, "hostUuid", uuid ? uuid : "-");
    cli_xml_text(&r->xml, "name", name);
    break;
  case HEAL_JSON:
    r->brick = json_pack("{s:s,s:b}", "name", name, "connected", uuid != NULL);
    if (uuid)
      json_object_set_new(r->brick, "hostUuid", json_string(uuid));
    json_object_set_new(r->brick, "entries", json_array());
    json_array_append_new(json_object_get(r->output, "bricks"), r->brick);
    break;
  }
}

static void
entry_text(struct heal_report *r, const char *name, enum heal_state state)
{
  static const char *const suffix[] = {[HEAL_STATE_PENDING] = " ",
                                       [HEAL_STATE_SPLIT] = " - Is in split-brain",
                                       [HEAL_STATE_HEALING] = " - Possibly undergoing heal"};
  fprintf(r->out, "%s%s\n", name, splits_only(r) ? "" : suffix[state]);
}

static void
entry_xml(struct heal_report *r, const char *gfid, const char *name)
{
  cli_xml_open(&r->xml, "file");
  cli_xml_attribute(&r->xml, "gfid", gfid);
  cli_xml_write(&r->xml, name);
  cli_xml_close(&r->xml);
}

static void
entry_json(struct heal_report *r, const char *gfid, const char *path, enum heal_state state)
{
  static const char *const text[] = {
      [HEAL_STATE_PENDING] = "pending", [HEAL_STATE_SPLIT] = "split-brain", [HEAL_STATE_HEALING] = "possibly-healing"};
  json_t *e = json_pack("{s:s,s:s}", "gfid", gfid, "state", text[state]);
  if (path)
    json_object_set_new(e, "path", json_string(path));
  json_array_append_new(json_object_get(r->brick, "entries"), e);
}

void
heal_report_entry(struct heal_report *r, const struct gi_gfid *gfid, const char *path, enum heal_state state)
{
  char id[GI_UUID_TEXT];
  gi_gfid_text(gfid, id);
  if (splits_only(r) && state != HEAL_STATE_SPLIT)
    return;
  r->counts.total++;
  r->counts.pending += state == HEAL_STATE_PENDING;
  r->counts.split += state == HEAL_STATE_SPLIT;
  r->counts.healing += state == HEAL_STATE_HEALING;
  if (r->command == HEAL_SUMMARY)
    return;
  GI_CLEANUP_FREE char *clean = path ? heal_printable(path, r->form != HEAL_TEXT) : NULL;
  GI_CLEANUP_FREE char *name = clean ? gi_strdup(clean) : gi_asprintf("<gfid:%s>", id);
  if (r->form == HEAL_TEXT)
    entry_text(r, name, state);
  else if (r->form == HEAL_XML)
    entry_xml(r, id, name);
  else
    entry_json(r, id, clean, state);
}

/* The numbers at the end of a brick and what they are called. */
static const struct {
  const char *text, *xml, *json;
  bool summary;
  size_t offset;
} numbers[] = {
    {"Number of entries", "numberOfEntries", "numberOfEntries", false, offsetof(struct heal_counts, total)},
    {"Total Number of entries", "totalNumberOfEntries", "numberOfEntries", true, offsetof(struct heal_counts, total)},
    {"Number of entries in heal pending", "numberOfEntriesInHealPending", "pending", true,
     offsetof(struct heal_counts, pending)},
    {"Number of entries in split-brain", "numberOfEntriesInSplitBrain", "splitBrain", true,
     offsetof(struct heal_counts, split)},
    {"Number of entries possibly healing", "numberOfEntriesPossiblyHealing", "possiblyHealing", true,
     offsetof(struct heal_counts, healing)},
};

static void
put_status(struct heal_report *r, const char *status)
{
  if (r->form == HEAL_TEXT)
    fprintf(r->out, "Status: %s\n", status);
  else if (r->form == HEAL_XML)
    cli_xml_text(&r->xml, "status", status);
  else
    json_object_set_new(r->brick, "status", json_string(status));
}

static void
put_number(struct heal_report *r, size_t i, bool known)
{
  uint64_t value = *(const uint64_t *)((const char *)&r->counts + numbers[i].offset);
  const char *label = splits_only(r) ? "Number of entries in split-brain" : numbers[i].text;
  char text[24] = "-";
  if (known)
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
  if (r->form == HEAL_TEXT)
    fprintf(r->out, "%s: %s\n", label, text);
  else if (r->form == HEAL_XML)
    cli_xml_text(&r->xml, numbers[i].xml, text);
  else if (known)
    json_object_set_new(r->brick, numbers[i].json, json_integer((json_int_t)value));
}

void
heal_report_brick_end(struct heal_report *r, int err)
{
  bool absent = err == ENOTCONN && r->counts.total == 0;
  GI_CLEANUP_FREE char *status = err == 0 ? gi_strdup("Connected")
                                 : absent ? gi_strdup(strerror(err))
                                          : gi_asprintf("Failed to process entries completely. (%s)", strerror(err));
  put_status(r, status);
  for (size_t i = 0; i < GI_ARRAY_LEN(numbers); i++)
    if (numbers[i].summary == (r->command == HEAL_SUMMARY))
      put_number(r, i, !absent);
  if (r->form == HEAL_TEXT)
    fputc('\n', r->out);
  else if (r->form == HEAL_XML)
    cli_xml_close(&r->xml);
}

/* ---- the self-heal daemon ---- */

/* Over all replica sets: the sum of a fact, or the greatest. */
static unsigned long long
over_sets(const json_t *facts, const char *name, bool sum)
{
  unsigned long long total = 0;
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)facts, key, value)
  {
    unsigned set;
    int end = 0;
    if (sscanf(key, "glusterish.%u-%n", &set, &end) != 1 || !end || strcmp(key + end, name) != 0)
      continue;
    unsigned long long n =
        json_is_string(value) ? strtoull(json_string_value(value), NULL, 10) : (unsigned long long)json_integer_value(value);
    total = sum ? total + n : n > total ? n : total;
  }
  return total;
}

void
heal_report_progress(struct heal_report *r, const json_t *facts, bool enabled)
{
  unsigned long long files = over_sets(facts, "files_per_s", true), bytes = over_sets(facts, "bytes_per_s", true);
  unsigned long long left = over_sets(facts, "remaining", true), eta = over_sets(facts, "eta_s", false);
  unsigned long long paused = over_sets(facts, "paused_ms", true);
  char size[32];
  if (r->form == HEAL_JSON) {
    json_t *d = json_pack("{s:b,s:b}", "enabled", enabled, "running", facts != NULL);
    if (facts)
      json_object_update_new(d, json_pack("{s:I,s:I,s:I,s:I,s:f}", "filesPerSecond", (json_int_t)files, "bytesPerSecond",
                                          (json_int_t)bytes, "remainingEntries", (json_int_t)left, "etaSeconds",
                                          (json_int_t)eta, "pausedSeconds", (double)paused / 1000));
    json_object_set_new(r->output, "selfHealDaemon", d);
  }
  if (r->form != HEAL_TEXT)
    return;
  fprintf(r->out, "Self-heal daemon: %s\n", facts ? "running" : enabled ? "not running" : "disabled");
  if (!facts)
    return;
  fprintf(r->out, "Healing: %llu files/s, %s/s\nRemaining: %llu entries", files, cli_size_text(bytes, size), left);
  if (eta)
    fprintf(r->out, ", %llu s at this rate", eta);
  fprintf(r->out, "\nPaused for the foreground: %llu.%01llu s\n", paused / 1000, paused % 1000 / 100);
}

/* ---- split brains ---- */

void
heal_report_line(struct heal_report *r, const char *fmt, ...)
{
  va_list ap;
  char *text;
  va_start(ap, fmt);
  GI_ASSERT(vasprintf(&text, fmt, ap) >= 0);
  va_end(ap);
  /* --xml is without effect on the resolution of split brains, as in the original. */
  GI_CLEANUP_FREE char *clean = heal_printable(text, r->form == HEAL_JSON);
  free(text);
  if (r->form != HEAL_JSON) {
    fprintf(r->out, "%s\n", clean);
    return;
  }
  json_t *list = json_object_get(r->output, "messages");
  if (!list)
    json_object_set_new(r->output, "messages", list = json_array());
  json_array_append_new(list, json_string(clean));
}

/* ---- the end ---- */

static void
end_xml(struct heal_report *r, int err, const char *text)
{
  cli_xml_close(&r->xml); /* bricks */
  cli_xml_close(&r->xml); /* healInfo */
  cli_xml_result(&r->xml, err ? -1 : 0, err, text);
  cli_xml_end(&r->xml, r->out);
}

void
heal_report_end(struct heal_report *r, int err, const char *text)
{
  if (r->form == HEAL_JSON) {
    json_t *doc = json_pack("{s:i,s:i,s:s,s:o}", "opRet", err ? -1 : 0, "opErrno", err, "opErrstr", text, "output", r->output);
    json_dumpf(doc, r->out, JSON_INDENT(2));
    fputc('\n', r->out);
    json_decref(doc);
    r->output = r->brick = NULL;
  } else if (r->form == HEAL_XML && is_info(r)) {
    end_xml(r, err, text);
  } else {
    if (*text)
      fprintf(r->out, "%s\n", text);
    if (err && r->form == HEAL_TEXT)
      fprintf(r->out, "Volume heal failed.\n");
  }
  fflush(r->out);
}
