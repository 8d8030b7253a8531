/* SPDX-License-Identifier: Apache-2.0
 *
 * The log: one line per message, one write(2) per line, a limit per message id.
 *
 * This is the one piece of process-wide state: messages come from anywhere,
 * workers too, before there is a context and after it has gone. A mutex guards
 * it. Nothing here allocates memory or calls back into other modules.
 */
#include "libglusterish/log.h"
#include "libglusterish/mem.h"
#include "libglusterish/reactor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* of the text; longer is cut */
#define LIMIT_SLOTS 128     /* message ids watched at once */
#define FOLDED_TEXT 256     /* of the last suppressed text */

struct limit {
  unsigned msgid;        /* 0 = free */
  struct timespec start; /* of the window */
  unsigned lines;        /* written in this window */
  unsigned repeats;      /* suppressed since */
  struct timespec first, last;
  enum gi_log_level level;
  char domain[64];
  char text[FOLDED_TEXT];
};

struct line {
  struct timespec when;
  enum gi_log_level level;
  const char *domain, *file, *func;
  int line;
  unsigned msgid;
  const char *text;
};

struct out {
  char buf[LINE_MAX_BYTES + 1024];
  size_t len;
};

static struct {
  pthread_mutex_t lock;
  int fd;
  bool json;
  char path[PATH_MAX]; /* empty: stderr */
  struct limit limit[LIMIT_SLOTS];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO};

static void (*read_clock)(struct timespec *now) = gi_log_clock;

/* Before gi_log_open only what matters goes to stderr. */
static _Atomic int current_level = GI_LOG_WARNING;

static const struct {
  char letter;
  const char *word;
} levels[] = {
    [GI_LOG_NONE] = {'M', "NONE"},         [GI_LOG_EMERG] = {'M', "EMERG"}, [GI_LOG_ALERT] = {'A', "ALERT"},
    [GI_LOG_CRITICAL] = {'C', "CRITICAL"}, [GI_LOG_ERROR] = {'E', "ERROR"}, [GI_LOG_WARNING] = {'W', "WARNING"},
    [GI_LOG_NOTICE] = {'N', "NOTICE"},     [GI_LOG_INFO] = {'I', "INFO"},   [GI_LOG_DEBUG] = {'D', "DEBUG"},
    [GI_LOG_TRACE] = {'T', "TRACE"},
};

/* ---- putting text together ---- */

static void __attribute__((format(printf, 2, 3))) out_printf(struct out *o, const char *fmt, ...)
{
  size_t room = sizeof(o->buf) - o->len;
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(o->buf + o->len, room, fmt, ap);
  va_end(ap);
  if (n > 0)
    o->len += (size_t)n < room ? (size_t)n : room - 1;
}

/* Names of files are part of messages: control characters must not forge a line. */
static void
out_plain(struct out *o, const char *text)
{
  for (; *text && o->len + 8 < sizeof(o->buf); text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f)
      out_printf(o, "\\%03o", c);
    else
      o->buf[o->len++] = (char)c;
  }
}

/* Length of the UTF-8 sequence at `s`, 0 if it is not one. */
static unsigned
utf8_len(const unsigned char *s)
{
  unsigned n = s[0] < 0x80                   ? 1
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;
  for (unsigned i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80)
      return 0;
  }
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
      (s[0] == 0xf4 && s[1] >= 0x90))
    return 0;
  return n;
}

/* A JSON string; bytes that are not UTF-8 become the character of that number. */
static void
out_json(struct out *o, const char *text)
{
  const unsigned char *s = (const unsigned char *)text;
  out_printf(o, "\"");
  while (*s && o->len + 16 < sizeof(o->buf)) {
    unsigned n = utf8_len(s);
    if (*s == '"' || *s == '\\') {
      out_printf(o, "\\%c", *s);
      n = 1;
    } else if (*s < 0x20 || *s == 0x7f || n == 0) {
      out_printf(o, "\\u%04x", *s);
      n = 1;
    } else {
      memcpy(o->buf + o->len, s, n);
      o->len += n;
    }
    s += n;
  }
  out_printf(o, "\"");
}

static void
out_time(struct out *o, const struct timespec *t, char between)
{
  struct tm tm;
  gmtime_r(&t->tv_sec, &tm);
  out_printf(o, "%04d-%02d-%02d%c%02d:%02d:%02d.%06ld", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, between, tm.tm_hour,
             tm.tm_min, tm.tm_sec, t->tv_nsec / 1000);
}

static const char *
base_name(const char *file)
{
  const char *slash = strrchr(file, '/');
  return slash ? slash + 1 : file;
}

static void
out_line(struct out *o, const struct line *l, bool json)
{
  if (json) {
    out_printf(o, "{\"time\":\"");
    out_time(o, &l->when, 'T');
    out_printf(o, "Z\",\"level\":\"%s\",\"msgid\":%u,\"file\":\"%s\",\"line\":%d,\"function\":\"%s\",\"domain\":",
               levels[l->level].word, l->msgid, base_name(l->file), l->line, l->func);
    out_json(o, l->domain);
    out_printf(o, ",\"message\":");
    out_json(o, l->text);
    out_printf(o, "}");
  } else {
    out_printf(o, "[");
    out_time(o, &l->when, ' ');
    out_printf(o, " +0000] %c [MSGID: %u] [%s:%d:%s] 0-", levels[l->level].letter, l->msgid, base_name(l->file), l->line,
               l->func);
    out_plain(o, l->domain);
    out_printf(o, ": ");
    out_plain(o, l->text);
  }
}

static void
out_flush(struct out *o)
{
  if (o->len > sizeof(o->buf) - 1)
    o->len = sizeof(o->buf) - 1;
  o->buf[o->len++] = '\n';
  /* A full disk must not stop the file system: what cannot be written is lost. */
  ssize_t n;
  do
    n = write(state.fd, o->buf, o->len);
  while (n < 0 && errno == EINTR);
}

/* ---- the limit per message id ---- */

static void
limit_report(struct limit *l, const struct timespec *now)
{
  if (l->repeats == 0)
    return;
  struct out o = {.len = 0};
  if (state.json) {
    struct line line = {*now, l->level, l->domain, __FILE__, __func__, __LINE__, l->msgid, l->text};
    out_line(&o, &line, true);
    o.len--; /* the closing brace: two more members follow */
    out_printf(&o, ",\"repeated\":%u,\"first\":\"", l->repeats);
    out_time(&o, &l->first, 'T');
    out_printf(&o, "Z\",\"last\":\"");
    out_time(&o, &l->last, 'T');
    out_printf(&o, "Z\"}");
  } else {
    out_printf(&o, "The message \"%c [MSGID: %u] 0-", levels[l->level].letter, l->msgid);
    out_plain(&o, l->domain);
    out_printf(&o, ": ");
    out_plain(&o, l->text);
    out_printf(&o, "\" repeated %u times between [", l->repeats);
    out_time(&o, &l->first, ' ');
    out_printf(&o, " +0000] and [");
    out_time(&o, &l->last, ' ');
    out_printf(&o, " +0000]");
  }
  out_flush(&o);
  l->repeats = 0;
}

static bool
limit_over(const struct limit *l, const struct timespec *now)
{
  /* A clock set back ends the window too, or messages would be held until it has caught up. */
  return now->tv_sec >= l->start.tv_sec + GI_LOG_WINDOW_S || now->tv_sec < l->start.tv_sec;
}

/* The slot of `msgid`: its own, a free one, or that of the longest quiet id. Reports every window that has ended meanwhile, so
 * that a count does not wait for the next message of its own id. */
static struct limit *
limit_slot(unsigned msgid, const struct timespec *now)
{
  struct limit *own = NULL, *oldest = &state.limit[0];
  for (unsigned i = 0; i < LIMIT_SLOTS; i++) {
    struct limit *l = &state.limit[i];
    if (l->msgid == msgid)
      own = l;
    else if (l->repeats > 0 && limit_over(l, now))
      limit_report(l, now);
    if (oldest->msgid != 0 && (l->msgid == 0 || l->start.tv_sec < oldest->start.tv_sec))
      oldest = l;
  }
  if (own)
    return own;
  limit_report(oldest, now);
  *oldest = (struct limit){.msgid = msgid, .start = *now};
  return oldest;
}

/* True if the message is to be written; else it has been counted. */
static bool
limit_pass(const struct line *line)
{
  /* Who asks for DEBUG wants all of it; EMERG is the last thing a process says. */
  if (line->level >= GI_LOG_DEBUG || line->level <= GI_LOG_EMERG)
    return true;
  struct limit *l = limit_slot(line->msgid, &line->when);
  if (limit_over(l, &line->when)) {
    limit_report(l, &line->when);
    l->start = line->when;
    l->lines = 0;
  }
  if (l->lines < GI_LOG_BURST) {
    l->lines++;
    return true;
  }
  if (l->repeats++ == 0)
    l->first = line->when;
  l->last = line->when;
  l->level = line->level;
  snprintf(l->domain, sizeof(l->domain), "%s", line->domain);
  snprintf(l->text, sizeof(l->text), "%s", line->text);
  return false;
}

static void
limit_report_all(void)
{
  struct timespec now;
  read_clock(&now);
  for (unsigned i = 0; i < LIMIT_SLOTS; i++)
    limit_report(&state.limit[i], &now);
}

/* ---- public ---- */

bool
gi_log_enabled(enum gi_log_level level)
{
  return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

bool
gi_log_seldom(struct gi_log_seldom *s, uint64_t now, uint64_t *untold)
{
  if (s->told && now - s->told < GI_LOG_SELDOM_NS) {
    s->untold++;
    return false;
  }
  *untold = s->untold;
  s->told = now;
  s->untold = 0;
  return true;
}

void
gi_log_write(enum gi_log_level level, const char *domain, unsigned msgid, const char *file, int line, const char *func,
             const char *fmt, ...)
{
  char text[LINE_MAX_BYTES];
  int saved = errno;                                                      /* callers log first and look at errno after */
  GI_ASSERT((size_t)level < GI_ARRAY_LEN(levels) && file && func && fmt); /* not below: gi_panic logs */
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);

  struct line l = {.level = level,
                   .domain = domain ? domain : "glusterish",
                   .file = file,
                   .func = func,
                   .line = line,
                   .msgid = msgid,
                   .text = text};
  pthread_mutex_lock(&state.lock);
  read_clock(&l.when);
  if (limit_pass(&l)) {
    struct out o = {.len = 0};
    out_line(&o, &l, state.json);
    out_flush(&o);
  }
  pthread_mutex_unlock(&state.lock);
  errno = saved;
}

void
gi_log_block(const char *text)
{
  size_t len = strlen(text);
  pthread_mutex_lock(&state.lock);
  while (len > 0) {
    ssize_t n = write(state.fd, text, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    text += n;
    len -= (size_t)n;
  }
  pthread_mutex_unlock(&state.lock);
}

/* With the lock held. On failure everything stays as it was. */
static int
open_file(const char *path)
{
  int fd = STDERR_FILENO;
  if (path[0]) {
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
      return errno;
  }
  limit_report_all();
  if (state.fd != STDERR_FILENO)
    close(state.fd);
  state.fd = fd;
  return 0;
}

int
gi_log_open(const char *path, enum gi_log_level level, bool json)
{
  if (strcmp(path, "-") == 0)
    path = "";
  if (strlen(path) >= sizeof(state.path))
    return ENAMETOOLONG;
  pthread_mutex_lock(&state.lock);
  int ret = open_file(path);
  if (ret == 0) {
    snprintf(state.path, sizeof(state.path), "%s", path);
    state.json = json;
    gi_log_set_level(level);
  }
  pthread_mutex_unlock(&state.lock);
  return ret;
}

void
gi_log_reopen(void)
{
  pthread_mutex_lock(&state.lock);
  int ret = open_file(state.path);
  pthread_mutex_unlock(&state.lock);
  if (ret)
    gi_log(GI_LOG_ERROR, "core", GI_MSG_CORE + 1, "cannot reopen the log file, going on with the old one: %s", strerror(ret));
}

void
gi_log_set_level(enum gi_log_level level)
{
  atomic_store_explicit(&current_level, level, memory_order_relaxed);
}

void
gi_log_set_json(bool json)
{
  pthread_mutex_lock(&state.lock);
  limit_report_all();
  state.json = json;
  pthread_mutex_unlock(&state.lock);
}

void
gi_log_set_clock(void (*clock)(struct timespec *now))
{
  pthread_mutex_lock(&state.lock);
  read_clock = clock ? clock : gi_log_clock;
  pthread_mutex_unlock(&state.lock);
}

bool
gi_log_level_parse(const char *word, enum gi_log_level *level)
{
  for (unsigned i = 0; i < GI_ARRAY_LEN(levels); i++) {
    if (strcasecmp(word, levels[i].word) == 0) {
      *level = (enum gi_log_level)i;
      return true;
    }
  }
  return false;
}

/* Counts that are still open when the process ends. */
__attribute__((destructor)) static void
log_finish(void)
{
  if (pthread_mutex_trylock(&state.lock) != 0)
    return;
  limit_report_all();
  pthread_mutex_unlock(&state.lock);
}
