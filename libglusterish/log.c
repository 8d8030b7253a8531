/* SPDX-License-Identifier: Apache-2.0
 *
 * The log: one line per message, one write(2) per line, to a file, to standard
 * error, or there with the marks that the journal of systemd reads.
 *
 * This is the one piece of process-wide state: messages come from anywhere,
 * workers too, before there is a context and after it has gone. A mutex guards
 * it. Nothing here allocates memory or calls back into other modules.
 */
#include "libglusterish/log-private.h"
#include "libglusterish/mem.h"
#include "libglusterish/reactor.h"
#include "libglusterish/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* of the text; longer is cut */
#define DOMAIN_MAX 512      /* bytes of it in a line */
#define JSON_GROWS 6        /* a byte becomes so many at most */

struct out {
  char buf[(LINE_MAX_BYTES + DOMAIN_MAX) * JSON_GROWS + 1024];
  size_t len;
};

static struct {
  pthread_mutex_t lock;
  int fd;
  bool json;
  bool journal;        /* standard error is read by the journal */
  bool torn;           /* the last line is there in part */
  char path[PATH_MAX]; /* empty: stderr */
  struct out out;      /* the line that is being written */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO};

/* This thread holds the lock. What an assertion says then is on standard error, and not in the log. */
static __thread bool inside;

static _Atomic bool held; /* some message was counted and not told yet */

static void (*read_clock)(struct timespec *now) = gi_log_clock;

/* Before gi_log_open only what matters goes to stderr. */
static _Atomic int current_level = GI_LOG_WARNING;

/* `priority` is that of syslog. EMERG is not its 0: the journal writes that to every terminal of the machine. */
static const struct {
  char letter, priority;
  const char *word;
} levels[] = {
    [GI_LOG_NONE] = {'M', '1', "NONE"},         [GI_LOG_EMERG] = {'M', '1', "EMERG"}, [GI_LOG_ALERT] = {'A', '1', "ALERT"},
    [GI_LOG_CRITICAL] = {'C', '2', "CRITICAL"}, [GI_LOG_ERROR] = {'E', '3', "ERROR"}, [GI_LOG_WARNING] = {'W', '4', "WARNING"},
    [GI_LOG_NOTICE] = {'N', '5', "NOTICE"},     [GI_LOG_INFO] = {'I', '6', "INFO"},   [GI_LOG_DEBUG] = {'D', '7', "DEBUG"},
    [GI_LOG_TRACE] = {'T', '7', "TRACE"},
};

const char *
gi_log_level_word(enum gi_log_level level)
{
  GI_ASSERT((size_t)level < GI_ARRAY_LEN(levels));
  return levels[level].word;
}

static void
lock(void)
{
  pthread_mutex_lock(&state.lock);
  inside = true;
}

static void
unlock(void)
{
  inside = false;
  pthread_mutex_unlock(&state.lock);
}

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
out_plain(struct out *o, const char *text, size_t most)
{
  for (most += o->len; *text && o->len + 8 < most; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f)
      out_printf(o, "\\%03o", c);
    else
      o->buf[o->len++] = (char)c;
  }
}

size_t
gi_log_json_text(char *out, size_t len, size_t room, const char *text)
{
  const unsigned char *s = (const unsigned char *)text;
  GI_ASSERT(len + 16 <= room);
  out[len++] = '"';
  while (*s && len + JSON_GROWS + 2 < room) {
    unsigned n = gi_utf8_len((const char *)s);
    if (*s == '"' || *s == '\\') {
      out[len++] = '\\';
      out[len++] = (char)*s;
      n = 1;
    } else if (*s < 0x20 || *s == 0x7f || n == 0) {
      len += (size_t)snprintf(out + len, JSON_GROWS + 1, "\\u%04x", *s);
      n = 1;
    } else {
      memcpy(out + len, s, n);
      len += n;
    }
    s += n;
  }
  out[len++] = '"';
  return len;
}

/* At most `most` bytes of it: what follows has room. */
static void
out_json(struct out *o, const char *text, size_t most)
{
  GI_ASSERT(o->len + most <= sizeof(o->buf));
  o->len = gi_log_json_text(o->buf, o->len, o->len + most, text);
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
out_line_json(struct out *o, const struct gi_log_line *l)
{
  out_printf(o, "{\"time\":\"");
  out_time(o, &l->when, 'T');
  out_printf(o, "Z\",\"level\":\"%s\",\"msgid\":%u,\"file\":\"%s\",\"line\":%d,\"function\":\"%s\",\"domain\":",
             levels[l->level].word, l->msgid, l->file, l->line, l->func);
  out_json(o, l->domain, DOMAIN_MAX * JSON_GROWS);
  out_printf(o, ",\"message\":");
  out_json(o, l->text, LINE_MAX_BYTES * JSON_GROWS + 16);
  if (l->seen)
    out_printf(o, ",\"seen\":%llu,\"seconds\":%llu", (unsigned long long)l->seen, (unsigned long long)l->seconds);
  out_printf(o, "}");
}

static void
out_line_text(struct out *o, const struct gi_log_line *l)
{
  if (!state.journal) { /* which has the time and the level of its own */
    out_printf(o, "[");
    out_time(o, &l->when, ' ');
    out_printf(o, " +0000] %c ", levels[l->level].letter);
  }
  out_printf(o, "[MSGID: %u] [%s:%d:%s] 0-", l->msgid, l->file, l->line, l->func);
  out_plain(o, l->domain, DOMAIN_MAX);
  out_printf(o, ": ");
  out_plain(o, l->text, LINE_MAX_BYTES * 4);
  if (l->seen)
    out_printf(o, " (seen %llu times in the last %llu s)", (unsigned long long)l->seen, (unsigned long long)l->seconds);
}

/* ---- writing, with the lock held ---- */

/* A full disk must not stop the file system: what cannot be written is lost. Returns how many bytes were written. */
static size_t
write_out(const char *text, size_t len)
{
  size_t done = 0;
  while (done < len) {
    ssize_t n = write(state.fd, text + done, len - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    done += (size_t)n;
  }
  return done;
}

/* A line is whole or ends where the disk was full: the next one then begins on a line of its own. */
static void
write_line(const struct gi_log_line *l)
{
  struct out *o = &state.out;
  o->len = 0;
  if (state.torn)
    out_printf(o, "\n");
  if (state.journal)
    out_printf(o, "<%c>", levels[l->level].priority);
  if (state.json)
    out_line_json(o, l);
  else
    out_line_text(o, l);
  GI_ASSERT(o->len < sizeof(o->buf));
  o->buf[o->len++] = '\n';
  size_t n = write_out(o->buf, o->len);
  if (n > 0)
    state.torn = o->buf[n - 1] != '\n';
}

/* Counts whose pause is over, or all of them, as lines of their own. */
static void
tell_held(bool all)
{
  struct timespec now;
  struct gi_log_line line;
  if (!atomic_load_explicit(&held, memory_order_relaxed))
    return;
  read_clock(&now);
  while (gi_log_limit_due(&now, all, &line))
    write_line(&line);
  atomic_store_explicit(&held, gi_log_limit_holds(), memory_order_relaxed);
}

/* ---- public ---- */

bool
gi_log_enabled(enum gi_log_level level)
{
  return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

/* ---- counts ---- */

static struct gi_log_counts counts;

const struct gi_metric gi_log_metrics[] = {
    GI_METRIC(struct gi_log_counts, errors, "", "messages of level ERROR and worse"),
    GI_METRIC(struct gi_log_counts, warnings, "", "messages of level WARNING"),
    GI_METRIC(struct gi_log_counts, others, "", "other messages that the level lets through"),
    GI_METRIC(struct gi_log_counts, unwritten, "", "messages that were only counted, because there are too many of a kind"),
    GI_METRIC_END,
};

void
gi_log_count(struct gi_log_counts *out)
{
  lock();
  *out = counts;
  unlock();
}

void
gi_log_write(enum gi_log_level level, const char *domain, unsigned msgid, const char *file, int line, const char *func,
             const char *fmt, ...)
{
  char text[LINE_MAX_BYTES];
  int saved = errno; /* callers log first and look at errno after */
  if (inside)
    return;
  GI_ASSERT((size_t)level < GI_ARRAY_LEN(levels) && file && func && fmt);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);

  struct gi_log_line old, l = {.level = level,
                               .domain = domain ? domain : "glusterish",
                               .file = base_name(file),
                               .func = func,
                               .line = line,
                               .msgid = msgid,
                               .text = text};
  lock();
  read_clock(&l.when);
  gi_log_recent_add(&l);
  if (gi_log_limit_room(&l, &old))
    write_line(&old);
  *(level <= GI_LOG_ERROR ? &counts.errors : level == GI_LOG_WARNING ? &counts.warnings : &counts.others) += 1;
  if (gi_log_limit_pass(&l)) {
    write_line(&l);
  } else {
    counts.unwritten++;
    atomic_store_explicit(&held, true, memory_order_relaxed);
  }
  tell_held(false);
  unlock();
  errno = saved;
}

void
gi_log_tell(void)
{
  lock();
  tell_held(false);
  unlock();
}

bool
gi_log_holds(void)
{
  return atomic_load_explicit(&held, memory_order_relaxed);
}

unsigned
gi_log_recent(struct gi_log_recent out[GI_LOG_RECENT])
{
  lock();
  unsigned n = gi_log_recent_copy(out);
  unlock();
  return n;
}

/* Lines of JSON stay lines of JSON: each of the block is a message. */
static void
block_json(const char *text)
{
  char part[LINE_MAX_BYTES];
  struct gi_log_line l = {.level = GI_LOG_INFO, .domain = "glusterish", .file = "", .func = "", .text = part};
  read_clock(&l.when);
  for (size_t len; *text; text += len + (text[len] == '\n')) {
    len = strcspn(text, "\n");
    snprintf(part, sizeof(part), "%.*s", (int)(len < sizeof(part) ? len : sizeof(part) - 1), text);
    write_line(&l);
  }
}

void
gi_log_block(const char *text)
{
  lock();
  if (state.json)
    block_json(text);
  else
    write_out(text, strlen(text));
  unlock();
}

/* systemd names the stream that it reads by device and inode: what was redirected since is another. */
static bool
journal_reads(int fd)
{
  const char *stream = getenv("JOURNAL_STREAM");
  unsigned long long dev, ino;
  struct stat st;
  return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
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
  tell_held(true);
  if (state.fd != STDERR_FILENO)
    close(state.fd);
  state.fd = fd;
  state.torn = false;
  state.journal = fd == STDERR_FILENO && journal_reads(fd);
  return 0;
}

int
gi_log_open(const char *path, enum gi_log_level level, bool json)
{
  if (strcmp(path, "-") == 0)
    path = "";
  if (strlen(path) >= sizeof(state.path))
    return ENAMETOOLONG;
  lock();
  int ret = open_file(path);
  if (ret == 0) {
    snprintf(state.path, sizeof(state.path), "%s", path);
    state.json = json;
    gi_log_set_level(level);
  }
  unlock();
  return ret;
}

void
gi_log_reopen(void)
{
  lock();
  int ret = open_file(state.path);
  unlock();
  if (ret)
    gi_log(GI_LOG_ERROR, "core", GI_MSG_CORE + 1, "cannot reopen the log file, going on with the old one: %s", strerror(ret));
}

const char *
gi_log_path(void)
{
  return state.path;
}

void
gi_log_set_level(enum gi_log_level level)
{
  atomic_store_explicit(&current_level, level, memory_order_relaxed);
}

void
gi_log_set_json(bool json)
{
  lock();
  tell_held(true);
  state.json = json;
  unlock();
}

void
gi_log_set_clock(void (*clock)(struct timespec *now))
{
  lock();
  read_clock = clock ? clock : gi_log_clock;
  unlock();
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
  inside = true;
  tell_held(true);
  unlock();
}
