/* SPDX-License-Identifier: Apache-2.0
 *
 * How often a message is written. The first lines of a message are written as
 * they come. After those there is a pause after each: a second first, twice as
 * long each time, some minutes in the end. What comes in a pause is counted,
 * and the count is written with the next line, or by itself when none comes.
 * A message that has not come for a while begins anew.
 *
 * A message is a number and who says it: that one brick is down must not keep
 * from the log that another goes down.
 */
#include "libglusterish/log-private.h"
#include "libglusterish/mem.h"

#include <string.h>

#define SLOTS 128     /* messages watched at once */
#define KEPT_TEXT 256 /* of the last that was counted */
#define NSEC_PER_SEC 1000000000ll

struct slot {
  unsigned msgid; /* 0 = free */
  char domain[64];
  struct timespec told, last; /* when it was written, when it came; the last times */
  unsigned lines;             /* written without a pause */
  unsigned pause;             /* s: the present one */
  uint64_t used;              /* place in the order of the last use */
  uint64_t held;              /* came since it was written */
  enum gi_log_level level;    /* of the last that is held, as all below */
  int line;
  char file[48], func[48], text[KEPT_TEXT];
};

static struct slot slots[SLOTS];
static uint64_t uses;

/* A clock that was set back ends every pause, or messages would be held until it has caught up. */
static bool
is_over(const struct timespec *since, const struct timespec *now, unsigned seconds)
{
  int64_t ns = (int64_t)(now->tv_sec - since->tv_sec) * NSEC_PER_SEC + (now->tv_nsec - since->tv_nsec);
  return ns < 0 || ns >= (int64_t)seconds * NSEC_PER_SEC;
}

static uint64_t
seconds_since(const struct timespec *since, const struct timespec *now)
{
  int64_t s = (int64_t)(now->tv_sec - since->tv_sec) + (now->tv_nsec > since->tv_nsec);
  return s < 1 ? 1 : (uint64_t)s;
}

static bool
is_of(const struct slot *s, const struct gi_log_line *line)
{
  return s->msgid == line->msgid && strncmp(s->domain, line->domain, sizeof(s->domain) - 1) == 0;
}

static struct slot *
slot_of(const struct gi_log_line *line)
{
  for (unsigned i = 0; i < SLOTS; i++)
    if (is_of(&slots[i], line))
      return &slots[i];
  return NULL;
}

/* Who asks for DEBUG wants all of it; EMERG is the last thing a process says. */
static bool
is_limited(const struct gi_log_line *line)
{
  return line->level < GI_LOG_DEBUG && line->level > GI_LOG_EMERG && line->msgid != 0;
}

static void
next_pause(struct slot *s, const struct timespec *now)
{
  s->told = *now;
  s->held = 0;
  s->pause = s->pause * 2 > GI_LOG_PAUSE_MAX_S ? GI_LOG_PAUSE_MAX_S : s->pause * 2;
  GI_ASSERT(s->pause > 0);
}

/* What is held of `s` as a line, which is then held no more. */
static void
take_held(struct slot *s, const struct timespec *now, struct gi_log_line *line)
{
  GI_ASSERT(s->held > 0);
  *line = (struct gi_log_line){.when = *now,
                               .level = s->level,
                               .domain = s->domain,
                               .file = s->file,
                               .func = s->func,
                               .line = s->line,
                               .msgid = s->msgid,
                               .text = s->text,
                               .seen = s->held,
                               .seconds = seconds_since(&s->told, now)};
  next_pause(s, now);
}

bool
gi_log_limit_room(const struct gi_log_line *line, struct gi_log_line *old)
{
  struct slot *oldest = &slots[0];
  bool held;
  if (!is_limited(line) || slot_of(line))
    return false;
  for (unsigned i = 0; i < SLOTS && oldest->msgid != 0; i++)
    if (slots[i].msgid == 0 || slots[i].used < oldest->used)
      oldest = &slots[i];
  if ((held = oldest->held > 0))
    take_held(oldest, &line->when, old);
  oldest->msgid = 0; /* the strings are still there for the line that tells what was held */
  return held;
}

static struct slot *
new_slot(const struct gi_log_line *line)
{
  for (unsigned i = 0; i < SLOTS; i++) {
    if (slots[i].msgid != 0)
      continue;
    slots[i] = (struct slot){.msgid = line->msgid, .told = line->when, .last = line->when, .pause = 1};
    snprintf(slots[i].domain, sizeof(slots[i].domain), "%s", line->domain);
    return &slots[i];
  }
  GI_ASSERT(!"there is room for the message");
  return NULL;
}

static void
hold(struct slot *s, const struct gi_log_line *line)
{
  s->held++;
  s->level = line->level;
  s->line = line->line;
  snprintf(s->file, sizeof(s->file), "%s", line->file);
  snprintf(s->func, sizeof(s->func), "%s", line->func);
  snprintf(s->text, sizeof(s->text), "%s", line->text);
}

bool
gi_log_limit_pass(struct gi_log_line *line)
{
  if (!is_limited(line))
    return true;
  struct slot *s = slot_of(line);
  if (!s)
    s = new_slot(line);
  if (s->held == 0 && is_over(&s->last, &line->when, GI_LOG_QUIET_S)) {
    s->lines = 0;
    s->pause = 1;
  }
  s->last = line->when;
  s->used = ++uses;
  if (s->lines < GI_LOG_BURST) {
    s->lines++;
    s->told = line->when;
    return true;
  }
  if (!is_over(&s->told, &line->when, s->pause)) {
    hold(s, line);
    return false;
  }
  if (s->held > 0) {
    line->seen = s->held + 1;
    line->seconds = seconds_since(&s->told, &line->when);
  }
  next_pause(s, &line->when);
  return true;
}

bool
gi_log_limit_due(const struct timespec *now, bool all, struct gi_log_line *line)
{
  for (unsigned i = 0; i < SLOTS; i++) {
    struct slot *s = &slots[i];
    if (s->msgid == 0 || s->held == 0 || (!all && !is_over(&s->told, now, s->pause)))
      continue;
    take_held(s, now, line);
    return true;
  }
  return false;
}

bool
gi_log_limit_holds(void)
{
  for (unsigned i = 0; i < SLOTS; i++)
    if (slots[i].msgid != 0 && slots[i].held > 0)
      return true;
  return false;
}
