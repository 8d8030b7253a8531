/* SPDX-License-Identifier: Apache-2.0
 *
 * Structured log. Default form is the GlusterFS line (volfile.md 11); JSON
 * lines by option; for the journal of systemd, where standard error goes
 * there, the same without time and level but with its mark of the level.
 *
 * Every message has an id, and a failing brick cannot flood a disk: of a
 * message (an id in one domain) GI_LOG_BURST lines are written as they come,
 * then at most one a second, and if it goes on at ever longer intervals up to
 * GI_LOG_PAUSE_MAX_S. Such a line ends with "(seen n times in the last s s)".
 *
 *   gi_log(GI_LOG_WARNING, x->name, GI_MSG_EXAMPLE + 1, "only %u of %u children are up", up, n);
 */
#ifndef GI_LOG_H
#define GI_LOG_H

#include "libglusterish/error.h"
#include "libglusterish/metrics.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* letters in the line: M A C E W N I D T */
enum gi_log_level {
  GI_LOG_NONE,
  GI_LOG_EMERG,
  GI_LOG_ALERT,
  GI_LOG_CRITICAL,
  GI_LOG_ERROR,
  GI_LOG_WARNING,
  GI_LOG_NOTICE,
  GI_LOG_INFO,
  GI_LOG_DEBUG,
  GI_LOG_TRACE,
};

#define GI_LOG_BURST 5
#define GI_LOG_PAUSE_MAX_S 600
#define GI_LOG_QUIET_S 600 /* a message that has not come for so long begins anew */

/* Opens the log. `path` "-" = stderr. Returns 0 or an errno. May be called again (reopen after rotation: gi_log_reopen). */
GI_MUST_CHECK int gi_log_open(const char *path, enum gi_log_level level, bool json);
void gi_log_reopen(void);
const char *gi_log_path(void); /* empty: stderr. Borrowed until the next gi_log_open */
void gi_log_set_level(enum gi_log_level level);
void gi_log_set_json(bool json);
/* Accepts the words of diagnostics.*-log-level (DEBUG, WARNING, ERROR, CRITICAL, NONE, TRACE, INFO), any case. */
bool gi_log_level_parse(const char *word, enum gi_log_level *level);
bool gi_log_enabled(enum gi_log_level level);

/* `msgid` is any stable number, unique per call site family; use the enum below, or the translator's own base, + n. */
#define gi_log(level, domain, msgid, ...) \
  do { \
    if (gi_log_enabled(level)) \
      gi_log_write(level, domain, msgid, __FILE__, __LINE__, __func__, __VA_ARGS__); \
  } while (0)

void gi_log_write(enum gi_log_level level, const char *domain, unsigned msgid, const char *file, int line, const char *func,
                  const char *fmt, ...) __attribute__((format(printf, 7, 8)));

/* Messages that the level lets through. */
struct gi_log_counts {
  uint64_t errors, warnings, others; /* ERROR and worse; WARNING; the rest */
  uint64_t unwritten;                /* of all those, only counted because there are too many of a kind */
};
void gi_log_count(struct gi_log_counts *counts);
extern const struct gi_metric gi_log_metrics[]; /* prefix "log" */

/* Writes `text` as it is (it ends with a newline; JSON: a message for each line): for blocks of many lines such as the final graph.
 * Not rate limited. */
void gi_log_block(const char *text);

/* Whether something was counted that is not told yet, and is to be told by gi_log_tell when its time has come; any message does that
 * too. The reactor looks each time it wakes up. */
bool gi_log_holds(void);
void gi_log_tell(void);

/* What went wrong lately: WARNING and worse, if the log's level lets it through, written or only counted. */
#define GI_LOG_RECENT 64
struct gi_log_recent {
  struct timespec when; /* wall time: last seen */
  enum gi_log_level level;
  unsigned msgid;
  uint64_t seen;   /* with this text; a message of many texts keeps the last few */
  char domain[64]; /* cut */
  char text[256];  /* cut, any bytes */
};
/* Copies them, the one last seen at the end. Returns how many. */
unsigned gi_log_recent(struct gi_log_recent out[GI_LOG_RECENT]);
/* Writes them as a JSON document: {"errors":[{"time","level","id","domain","text","seen"}]}, the newest first. */
void gi_log_recent_json(FILE *out);

/* The log's own clock (wall time). It lives with the real reactor, where all clocks are; nobody else calls it. */
void gi_log_clock(struct timespec *now);
/* Another clock for the lines from now on (a simulator's); NULL: gi_log_clock again. */
void gi_log_set_clock(void (*clock)(struct timespec *now));

/* Message id bases: base + small number, each module its own hundred. A translator's is in its class (xlator.h). */
enum {
  GI_MSG_CORE = 100100,
  GI_MSG_GRAPH = 100200,
  GI_MSG_OPTIONS = 100300,
  GI_MSG_RPC = 101000,
  GI_MSG_RPC_CLIENT = 101100,
  GI_MSG_RPC_SERVER = 101200,
  GI_MSG_MGMT = 111000,
  GI_MSG_CLI = 112000,
};

#endif
