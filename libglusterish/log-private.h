/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the log: log.c (lines and where they go), log-limit.c (how
 * often a message is written), log-recent.c (the last that went wrong). All
 * but gi_log_json_text is called with the lock of the log held.
 */
#ifndef GI_LOG_PRIVATE_H
#define GI_LOG_PRIVATE_H

#include "libglusterish/log.h"

#include <time.h>

struct gi_log_line {
  struct timespec when;
  enum gi_log_level level;
  const char *domain, *file, *func;
  int line;
  unsigned msgid;
  const char *text;
  uint64_t seen;    /* how often in the last `seconds`, this time and those that were not written; 0: it is the only one */
  uint64_t seconds; /* since the message was last written, rounded up */
};

/* ---- log-limit.c ---- */

/* True if the line is to be written, with `seen` and `seconds` filled in; else it has been counted. */
bool gi_log_limit_pass(struct gi_log_line *line);
/* The next count that is to be written by itself at `now`, since no message of its kind came after the pause; with `all` even those
 * whose pause is not over. False: none. The strings of `line` are valid until the next call of this or the other function. */
bool gi_log_limit_due(const struct timespec *now, bool all, struct gi_log_line *line);
/* Makes room for a line of this message. True: `old` is a count that has to go for it. */
bool gi_log_limit_room(const struct gi_log_line *line, struct gi_log_line *old);

bool gi_log_limit_holds(void); /* some count was not told yet */

/* ---- log-recent.c ---- */

void gi_log_recent_add(const struct gi_log_line *line); /* any level: those that do not belong are passed over */
unsigned gi_log_recent_copy(struct gi_log_recent out[GI_LOG_RECENT]);

/* ---- log.c ---- */

const char *gi_log_level_word(enum gi_log_level level);
/* Appends `text` as a JSON string at out + len, cut so that at most `room` bytes are used in all. Bytes that are not UTF-8 become the
 * character of that number. Returns the new length; `room` is at least 16 more than `len`. */
size_t gi_log_json_text(char *out, size_t len, size_t room, const char *text);

#endif
