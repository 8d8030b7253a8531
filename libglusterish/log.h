/* SPDX-License-Identifier: Apache-2.0
 *
 * Structured log. Default form is the GlusterFS line (volfile.md 11); JSON
 * lines by option. Every message has an id; each id is rate limited so that a
 * failing brick cannot flood a disk: after GI_LOG_BURST lines of one id in
 * GI_LOG_WINDOW_S seconds the rest is counted and reported as one line.
 *
 *   gi_log(GI_LOG_WARNING, x->name, GI_MSG_EXAMPLE + 1, "only %u of %u children are up", up, n);
 */
#ifndef GI_LOG_H
#define GI_LOG_H

#include "libglusterish/error.h"

#include <stdbool.h>
#include <stdint.h>

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

#define GI_LOG_BURST 20
#define GI_LOG_WINDOW_S 10

/* Opens the log. `path` "-" = stderr. Returns 0 or an errno. May be called again (reopen after rotation: gi_log_reopen). */
GI_MUST_CHECK int gi_log_open(const char *path, enum gi_log_level level, bool json);
void gi_log_reopen(void);
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

/* Something that strangers can bring about as often as they like is told once a second, with the number of those that were not told.
 * All-zero at first. */
#define GI_LOG_SELDOM_NS 1000000000ull
struct gi_log_seldom {
  uint64_t told;   /* when the last one was, gi_now; 0 = none */
  uint64_t untold; /* since */
};
/* One more at `now` (gi_now). True: it is to be logged, and *untold were not since the last one that was. */
bool gi_log_seldom(struct gi_log_seldom *s, uint64_t now, uint64_t *untold);

/* Writes `text` as it is (it ends with a newline): for blocks of many lines such as the final graph. Not rate limited. */
void gi_log_block(const char *text);

/* The log's own clock (wall time). It lives with the real reactor, where all clocks are; nobody else calls it. */
struct timespec;
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
