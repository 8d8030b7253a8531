/* SPDX-License-Identifier: Apache-2.0
 *
 * The access log: one line for each operation that ends while somebody reads.
 *
 * Every reader has lines of its own, from the moment it opened the file on. One
 * that is slower than the mount loses the newest ones, and is told how many
 * where they are missing; what it was given is never taken back. Nobody reads:
 * nothing is done.
 */
#include "meta.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#define LINE_BYTES 3072 /* two names of which every byte takes four, and the rest */

struct mt_reader {
  struct gi_list link;
  struct gi_list waiting; /* struct gi_fop.link: READs, oldest first */
  char *buf;              /* lines that were not read yet: MT_READER_BYTES from `start` on, `used` of them, wrapped around */
  size_t start, used;
  uint64_t lost; /* lines since the last one that had room */
};

struct line {
  size_t len;
  char text[LINE_BYTES];
};

/* ---- a line ---- */

static void put(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
put(struct line *l, const char *fmt, ...)
{
  size_t room = sizeof(l->text) - l->len;
  va_list ap;

  va_start(ap, fmt);
  int n = vsnprintf(l->text + l->len, room, fmt, ap);
  va_end(ap);
  l->len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static void
put_char(struct line *l, char c)
{
  if (l->len + 1 < sizeof(l->text))
    l->text[l->len++] = c;
}

/* A name must not forge a line. The target of a link may be longer than any name: it is cut. */
static void
put_name(struct line *l, const char *name)
{
  for (unsigned i = 0; name[i] && i < GI_NAME_MAX; i++) {
    unsigned char c = (unsigned char)name[i];

    if (c < 0x20 || c == 0x7f || c == '\\')
      put(l, "\\%03o", c);
    else
      put_char(l, (char)c);
  }
}

static uint64_t
ino_of(const struct gi_inode *inode, const struct gi_gfid *gfid)
{
  return gi_gfid_ino(inode ? &inode->gfid : gfid);
}

static void
put_place(struct line *l, const struct gi_loc *loc)
{
  if (loc->name) {
    put(l, "%" PRIu64 ",", ino_of(loc->parent, &loc->pargfid));
    put_name(l, loc->name);
  } else {
    put(l, "%" PRIu64, ino_of(loc->inode, &loc->gfid));
  }
}

static void
put_numbers(struct line *l, const struct gi_fop *fop)
{
  const struct gi_args *a = &fop->args;

  switch (fop->kind) {
  case GI_FOP_WRITE:
    put(l, ",%zu,%" PRIu64, fop->payload.len, a->offset);
    break;
  case GI_FOP_READ:
  case GI_FOP_READDIR:
  case GI_FOP_READDIRP:
  case GI_FOP_FALLOCATE:
  case GI_FOP_DISCARD:
  case GI_FOP_ZEROFILL:
    put(l, ",%" PRIu64 ",%" PRIu64, a->size, a->offset);
    break;
  case GI_FOP_COPY_FILE_RANGE:
    put(l, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, a->offset,
        ino_of(fop->fd2 ? fop->fd2->inode : NULL, &fop->loc2.gfid), a->offset2, a->size);
    break;
  case GI_FOP_TRUNCATE:
  case GI_FOP_FTRUNCATE:
  case GI_FOP_SEEK:
    put(l, ",%" PRIu64, a->offset);
    break;
  case GI_FOP_OPEN:
    put(l, ",0x%x", a->flags);
    break;
  case GI_FOP_CREATE:
  case GI_FOP_MKDIR:
  case GI_FOP_MKNOD:
  case GI_FOP_ACCESS:
    put(l, ",0%o", a->mode);
    break;
  case GI_FOP_SETATTR:
  case GI_FOP_FSETATTR:
    put(l, ",0x%x", (unsigned)a->valid);
    break;
  case GI_FOP_LK:
    put(l, ",%s,%" PRIu64 ",%" PRIu64,
        a->flock.type == GI_LK_READ    ? "read"
        : a->flock.type == GI_LK_WRITE ? "write"
                                       : "unlock",
        a->flock.start, a->flock.len);
    break;
  default:
    break;
  }
}

static void
put_arguments(struct line *l, const struct gi_fop *fop)
{
  put(l, " (");
  if (fop->fd && !fop->loc.name)
    put(l, "%" PRIu64, ino_of(fop->fd->inode, &fop->loc.gfid));
  else
    put_place(l, &fop->loc);
  if (fop->loc2.name) {
    put(l, ",");
    put_place(l, &fop->loc2);
  }
  put_numbers(l, fop);
  if (fop->args.name || fop->args.link) {
    put(l, ",");
    put_name(l, fop->args.name ? fop->args.name : fop->args.link);
  }
  put(l, "): ");
}

static void
put_outcome(struct line *l, const struct gi_fop *fop)
{
  const char *name = fop->rsp.ret < 0 ? strerrorname_np(fop->rsp.err) : NULL;

  if (fop->rsp.ret < 0 && name)
    put(l, "%s", name);
  else if (fop->rsp.ret < 0)
    put(l, "error %d", fop->rsp.err);
  else if (fop->kind == GI_FOP_READ || fop->kind == GI_FOP_WRITE || fop->kind == GI_FOP_COPY_FILE_RANGE)
    put(l, "OK (%d)", fop->rsp.ret);
  else if (fop->loc.name && gi_iatt_valid(&fop->rsp.stat)) /* LOOKUP and what makes an entry: its number */
    put(l, "OK (%" PRIu64 ")", gi_gfid_ino(&fop->rsp.stat.gfid));
  else
    put(l, "OK");
}

static void
describe(struct mt *m, const struct gi_fop *fop, struct line *l)
{
  uint64_t now = gi_now(m->x->reactor), took = now > fop->start_ns ? now - fop->start_ns : 0;
  struct gi_time wall = gi_wall(m->x->reactor);
  time_t sec = wall.sec;
  struct tm tm;

  l->len = 0;
  gmtime_r(&sec, &tm);
  put(l, "%04d.%02d.%02d %02d:%02d:%02d.%06u [uid:%u,gid:%u,pid:%d] ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
      tm.tm_min, tm.tm_sec, wall.nsec / 1000, fop->caller.uid, fop->caller.gid, fop->caller.pid);
  for (const char *c = gi_fop_name(fop->kind); *c; c++)
    put_char(l, (char)tolower((unsigned char)*c));
  put_arguments(l, fop);
  put_outcome(l, fop);
  put(l, " <%llu.%06llu>", took / GI_NSEC_PER_SEC, took % GI_NSEC_PER_SEC / 1000);
  l->text[l->len++] = '\n'; /* put leaves room for its NUL */
  GI_ASSERT(l->len <= sizeof(l->text));
}

/* ---- what a reader has not read ---- */

static bool
keep(struct mt_reader *r, const char *text, size_t len)
{
  size_t at = (r->start + r->used) % MT_READER_BYTES, end = MT_READER_BYTES - at;

  GI_ASSERT(r->used <= MT_READER_BYTES);
  if (len > MT_READER_BYTES - r->used)
    return false;
  memcpy(r->buf + at, text, len < end ? len : end);
  if (len > end)
    memcpy(r->buf, text + end, len - end);
  r->used += len;
  return true;
}

static void
keep_line(struct mt *m, struct mt_reader *r, const struct line *l)
{
  char notice[64];
  int n = r->lost ? snprintf(notice, sizeof(notice), "# %" PRIu64 " lines are lost\n", r->lost) : 0;

  if ((size_t)n + l->len > MT_READER_BYTES - r->used) {
    r->lost++;
    m->metrics.log_lost++;
    return;
  }
  keep(r, notice, (size_t)n);
  keep(r, l->text, l->len);
  r->lost = 0;
}

static char
byte_at(const struct mt_reader *r, size_t i)
{
  return r->buf[(r->start + i) % MT_READER_BYTES];
}

/* Up to `most` bytes that end with a line, or what has room of a longer one. */
static size_t
whole_lines(const struct mt_reader *r, size_t most)
{
  size_t len = r->used < most ? r->used : most, end = len;

  while (end > 0 && byte_at(r, end - 1) != '\n')
    end--;
  return end ? end : len;
}

static void
take(struct mt_reader *r, struct gi_fop *fop)
{
  size_t len = whole_lines(r, fop->args.size), end = MT_READER_BYTES - r->start;

  GI_ASSERT(len <= r->used);
  gi_payload_add_copy(&fop->rsp.payload, r->buf + r->start, len < end ? len : end);
  if (len > end)
    gi_payload_add_copy(&fop->rsp.payload, r->buf, len - end);
  r->start = (r->start + len) % MT_READER_BYTES;
  r->used -= len;
  gi_fop_ok(fop, (int32_t)len);
}

/* ---- readers ---- */

static void
wake(void *arg)
{
  struct mt *m = arg;
  struct gi_list ready = GI_LIST_INIT(ready);

  gi_list_foreach(r, &m->log.readers, struct mt_reader, link)
    while (r->used && !gi_list_empty(&r->waiting)) {
      struct gi_fop *fop = gi_list_first(&r->waiting, struct gi_fop, link);

      gi_list_del(&fop->link);
      take(r, fop);
      gi_list_add_tail(&ready, &fop->link);
    }
  while (!gi_list_empty(&ready)) { /* answering may open, close and read */
    struct gi_fop *fop = gi_list_first(&ready, struct gi_fop, link);

    gi_list_del(&fop->link);
    gi_fop_answer(fop, m->x);
  }
}

void
mt_log_init(struct mt *m)
{
  gi_list_init(&m->log.readers);
  gi_defer_init(&m->log.wake, wake, m);
}

struct mt_reader *
mt_log_open(struct mt *m)
{
  if (m->log.count == MT_READERS)
    return NULL;

  struct mt_reader *r = gi_new(struct mt_reader);

  r->buf = gi_alloc(MT_READER_BYTES);
  gi_list_init(&r->waiting);
  gi_list_add_tail(&m->log.readers, &r->link);
  m->log.count++;
  return r;
}

void
mt_log_close(struct mt *m, struct mt_reader **ref)
{
  struct mt_reader *r = *ref;

  if (!r)
    return;
  GI_ASSERT(gi_list_empty(&r->waiting) && m->log.count > 0); /* a READ holds its file open */
  gi_list_del(&r->link);
  m->log.count--;
  gi_free(r->buf);
  gi_free(r);
  *ref = NULL;
}

void
mt_log_add(struct mt *m, const struct gi_fop *fop)
{
  struct line l;

  describe(m, fop, &l);
  m->metrics.log_lines++;
  gi_list_foreach(r, &m->log.readers, struct mt_reader, link) {
    keep_line(m, r, &l);
    if (!gi_list_empty(&r->waiting))
      gi_defer_add(m->x->reactor, &m->log.wake);
  }
}

enum gi_verdict
mt_log_read(struct mt *m, struct mt_reader *r, struct gi_fop *fop)
{
  if (fop->args.size == 0 || m->ended || m->x->draining)
    return gi_fop_ok(fop, 0);
  if (r->used && gi_list_empty(&r->waiting)) {
    take(r, fop);
    return GI_ANSWERED;
  }
  if ((fop->fd->flags | (int)fop->args.flags) & O_NONBLOCK)
    return gi_fop_fail(fop, EAGAIN);
  gi_list_add_tail(&r->waiting, &fop->link);
  gi_fop_unseen(fop); /* or whoever looks for operations that hang finds it */
  return GI_HELD;
}

void
mt_log_cancel(struct mt *m, struct gi_fop *fop)
{
  GI_ASSERT(fop->kind == GI_FOP_READ && !gi_list_empty(&fop->link)); /* nothing else waits here */
  gi_list_del(&fop->link);
  gi_fop_fail(fop, EINTR);
  gi_fop_answer(fop, m->x);
}

void
mt_log_end(struct mt *m)
{
  struct gi_list all = GI_LIST_INIT(all);

  gi_defer_cancel(&m->log.wake);
  gi_list_foreach(r, &m->log.readers, struct mt_reader, link)
    gi_list_splice_tail(&all, &r->waiting);
  while (!gi_list_empty(&all)) {
    struct gi_fop *fop = gi_list_first(&all, struct gi_fop, link);

    gi_list_del(&fop->link);
    gi_fop_ok(fop, 0);
    gi_fop_answer(fop, m->x);
  }
}
