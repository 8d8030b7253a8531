/* SPDX-License-Identifier: Apache-2.0
 *
 * The last that went wrong: WARNING and worse, whether it was written or only
 * counted. The same text again is the same entry, seen once more. One message
 * has a few entries at most, so that its many texts (a file each, say) do not
 * drive everything else out.
 */
#include "libglusterish/log-private.h"
#include "libglusterish/mem.h"

#include <string.h>

#define OF_ONE 4 /* entries of one message */

/* Sorted by the time they were last seen, newest last. */
static struct gi_log_recent kept[GI_LOG_RECENT];
static unsigned count;

static bool
is_message(const struct gi_log_recent *e, const struct gi_log_line *line)
{
  return e->msgid == line->msgid && strncmp(e->domain, line->domain, sizeof(e->domain) - 1) == 0;
}

/* The entry whose place the line takes; `count` if it is a new one at the end. */
static unsigned
place_of(const struct gi_log_line *line)
{
  unsigned first = count, same = 0;
  for (unsigned i = 0; i < count; i++) {
    if (!is_message(&kept[i], line))
      continue;
    if (strncmp(kept[i].text, line->text, sizeof(kept[i].text) - 1) == 0)
      return i;
    first = same++ == 0 ? i : first;
  }
  if (same >= OF_ONE)
    return first;
  return count < GI_LOG_RECENT ? count : 0;
}

void
gi_log_recent_add(const struct gi_log_line *line)
{
  if (line->level > GI_LOG_WARNING || line->level == GI_LOG_NONE)
    return;
  unsigned at = place_of(line);
  GI_ASSERT(at <= count && at < GI_LOG_RECENT);
  struct gi_log_recent e = {.msgid = line->msgid};
  if (at == count)
    count++;
  else if (is_message(&kept[at], line) && strncmp(kept[at].text, line->text, sizeof(kept[at].text) - 1) == 0)
    e = kept[at];
  e.when = line->when;
  e.level = line->level;
  e.seen++;
  snprintf(e.domain, sizeof(e.domain), "%s", line->domain);
  snprintf(e.text, sizeof(e.text), "%s", line->text);
  memmove(&kept[at], &kept[at + 1], (count - 1 - at) * sizeof(kept[0]));
  kept[count - 1] = e;
}

unsigned
gi_log_recent_copy(struct gi_log_recent out[GI_LOG_RECENT])
{
  memcpy(out, kept, count * sizeof(kept[0]));
  return count;
}

void
gi_log_recent_json(FILE *out)
{
  struct gi_log_recent e[GI_LOG_RECENT];
  char domain[sizeof(e->domain) * 6 + 16], text[sizeof(e->text) * 6 + 16], when[32];
  struct tm tm;
  unsigned n = gi_log_recent(e);
  fputs("{\"errors\":[", out);
  for (unsigned i = n; i-- > 0;) {
    domain[gi_log_json_text(domain, 0, sizeof(domain) - 1, e[i].domain)] = 0;
    text[gi_log_json_text(text, 0, sizeof(text) - 1, e[i].text)] = 0;
    gmtime_r(&e[i].when.tv_sec, &tm);
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    fprintf(out, "%s{\"time\":\"%s.%06ldZ\",\"level\":\"%s\",\"id\":%u,\"domain\":%s,\"text\":%s,\"seen\":%llu}",
            i + 1 < n ? "," : "", when, e[i].when.tv_nsec / 1000, gi_log_level_word(e[i].level), e[i].msgid, domain, text,
            (unsigned long long)e[i].seen);
  }
  fputs("]}\n", out);
}
