/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/io-threads: which operations may use the brick's workers, and when.
 *
 * Handlers run on the reactor, and storage/posix gives calls that block to the
 * worker pool, so this translator makes no threads. It gives each operation a
 * priority class (brick.md 7), which the pool obeys. It admits a limited number of
 * operations per class and queues the others fairly: clients take turns.
 * `thread-count` is the size of the pool.
 *
 * Of the least class only operations that may keep a worker busy are counted. A
 * heal's question is one system call; behind the heal's own blocks it would hold a
 * lock that applications wait for. While no application uses the brick the least
 * class may have all the workers that the pool gives it.
 *
 * Without contention an operation costs a table look-up and a counter. Lock
 * requests are not counted: a waiting one would keep a place, and the unlock that
 * ends its waiting might never get one. An operation that is done and waits for
 * clients gives its place back (GI_EVENT_NO_WORKER).
 *
 * On a client operations only touch memory or are queued for the network, so there
 * are no workers to have. What came in one turn of the event loop goes down when it
 * ends, ordered by class, in the same one message to each brick; the limits are
 * the shares that classes take by turns. Nothing waits for a reply.
 */
#include "libglusterish/graph.h"
#include "libglusterish/log.h"

#include <errno.h>

#define GI_MSG_IOT 107500 /* base of message ids */

#define IOT_ALONE_NS (100 * GI_NSEC_PER_MSEC) /* nobody else for so long: the least class is alone */
#define IOT_TRUSTED_PID -4                    /* a mount trusted as root: not a background daemon */

struct iot_options {
  int64_t threads, limit[GI_PRIO_COUNT], watchdog_secs;
  bool least, cleanup, pass_through;
};

struct iot_metrics {
  uint64_t passed, queued, gathered, dropped, watchdog;
  uint64_t inside[GI_PRIO_COUNT], waiting[GI_PRIO_COUNT];
};

/* One client's operations of one class that wait. */
struct iot_client {
  struct gi_list link; /* iot_private.turn[] */
  void *client;
  struct gi_list fops; /* struct gi_fop.link */
};

#define IOT_MAGIC 0x1d010701u

struct iot_private {
  uint32_t magic;
  struct gi_list turn[GI_PRIO_COUNT]; /* struct iot_client: the next to be served first */
  uint64_t waiting;                   /* in all classes */
  uint64_t progress;                  /* operations that came back; the watchdog compares */
  uint64_t watched;
  uint64_t others;      /* when an operation of another class came last */
  unsigned extra;       /* workers the watchdog added */
  uint64_t syncs;       /* of other classes, inside */
  bool yielded;         /* one of the least class was let in since one of them ended */
  bool least_this_turn; /* one of the least class was let in since the reactor looked for others */
  struct gi_timer next_turn;
  struct gi_defer serve;
  struct gi_timer watchdog;
  struct gi_list now[GI_PRIO_COUNT]; /* on a client: struct gi_fop.link, what came in this turn */
  struct gi_defer turn_ends;
  struct iot_metrics metrics;
};

struct iot_fop {
  uint8_t prio;
  bool sync, placed;
};

static const uint8_t class_of[GI_FOP_MAX] = {
    [GI_FOP_OPEN] = GI_PRIO_HIGH,           [GI_FOP_STAT] = GI_PRIO_HIGH,
    [GI_FOP_FSTAT] = GI_PRIO_HIGH,          [GI_FOP_LOOKUP] = GI_PRIO_HIGH,
    [GI_FOP_ACCESS] = GI_PRIO_HIGH,         [GI_FOP_READLINK] = GI_PRIO_HIGH,
    [GI_FOP_OPENDIR] = GI_PRIO_HIGH,        [GI_FOP_STATFS] = GI_PRIO_HIGH,
    [GI_FOP_READDIR] = GI_PRIO_HIGH,        [GI_FOP_READDIRP] = GI_PRIO_HIGH,
    [GI_FOP_LEASE] = GI_PRIO_HIGH,          [GI_FOP_IPC] = GI_PRIO_HIGH,
    [GI_FOP_CREATE] = GI_PRIO_NORMAL,       [GI_FOP_FLUSH] = GI_PRIO_NORMAL,
    [GI_FOP_LK] = GI_PRIO_NORMAL,           [GI_FOP_INODELK] = GI_PRIO_NORMAL,
    [GI_FOP_FINODELK] = GI_PRIO_NORMAL,     [GI_FOP_ENTRYLK] = GI_PRIO_NORMAL,
    [GI_FOP_FENTRYLK] = GI_PRIO_NORMAL,     [GI_FOP_UNLINK] = GI_PRIO_NORMAL,
    [GI_FOP_SETATTR] = GI_PRIO_NORMAL,      [GI_FOP_FSETATTR] = GI_PRIO_NORMAL,
    [GI_FOP_MKNOD] = GI_PRIO_NORMAL,        [GI_FOP_MKDIR] = GI_PRIO_NORMAL,
    [GI_FOP_RMDIR] = GI_PRIO_NORMAL,        [GI_FOP_SYMLINK] = GI_PRIO_NORMAL,
    [GI_FOP_RENAME] = GI_PRIO_NORMAL,       [GI_FOP_LINK] = GI_PRIO_NORMAL,
    [GI_FOP_SETXATTR] = GI_PRIO_NORMAL,     [GI_FOP_GETXATTR] = GI_PRIO_NORMAL,
    [GI_FOP_REMOVEXATTR] = GI_PRIO_NORMAL,  [GI_FOP_FSETXATTR] = GI_PRIO_NORMAL,
    [GI_FOP_FGETXATTR] = GI_PRIO_NORMAL,    [GI_FOP_FREMOVEXATTR] = GI_PRIO_NORMAL,
    [GI_FOP_ICREATE] = GI_PRIO_NORMAL,      [GI_FOP_NAMELINK] = GI_PRIO_NORMAL,
    [GI_FOP_PUT] = GI_PRIO_NORMAL,          [GI_FOP_GETACTIVELK] = GI_PRIO_NORMAL,
    [GI_FOP_SETACTIVELK] = GI_PRIO_NORMAL,  [GI_FOP_READ] = GI_PRIO_LOW,
    [GI_FOP_WRITE] = GI_PRIO_LOW,           [GI_FOP_FSYNC] = GI_PRIO_LOW,
    [GI_FOP_TRUNCATE] = GI_PRIO_LOW,        [GI_FOP_FTRUNCATE] = GI_PRIO_LOW,
    [GI_FOP_FSYNCDIR] = GI_PRIO_LOW,        [GI_FOP_XATTROP] = GI_PRIO_LOW,
    [GI_FOP_FXATTROP] = GI_PRIO_LOW,        [GI_FOP_RCHECKSUM] = GI_PRIO_LOW,
    [GI_FOP_FALLOCATE] = GI_PRIO_LOW,       [GI_FOP_DISCARD] = GI_PRIO_LOW,
    [GI_FOP_ZEROFILL] = GI_PRIO_LOW,        [GI_FOP_SEEK] = GI_PRIO_LOW,
    [GI_FOP_COPY_FILE_RANGE] = GI_PRIO_LOW,
};

/* What may take a worker's time; of the least class the rest passes. */
#define IOT_BULK \
  (GI_KIND(GI_FOP_READ) | GI_KIND(GI_FOP_WRITE) | GI_KIND(GI_FOP_FSYNC) | GI_KIND(GI_FOP_FSYNCDIR) | \
   GI_KIND(GI_FOP_RCHECKSUM) | GI_KIND(GI_FOP_TRUNCATE) | GI_KIND(GI_FOP_FTRUNCATE) | GI_KIND(GI_FOP_FALLOCATE) | \
   GI_KIND(GI_FOP_DISCARD) | GI_KIND(GI_FOP_ZEROFILL) | GI_KIND(GI_FOP_COPY_FILE_RANGE) | GI_KIND(GI_FOP_UNLINK) | \
   GI_KIND(GI_FOP_RMDIR))

static uint64_t
limit(const struct iot_options *o, unsigned prio)
{
  int64_t n = o->limit[prio] < o->threads ? o->limit[prio] : o->threads;
  return (uint64_t)n;
}

/* Nobody who is served before the least class is there, or was a moment ago. */
static bool
alone(struct gi_xlator *x)
{
  const struct iot_private *p = x->private;
  for (unsigned prio = 0; prio < GI_PRIO_LEAST; prio++) {
    if (p->metrics.inside[prio])
      return false;
  }
  return gi_now(x->reactor) - p->others >= IOT_ALONE_NS;
}

/* Beside others one at a time, and before the next the reactor looks whether they want something: what is served without a worker
 * would else go on until a heal's queue is empty. While others wait for the disk it is theirs; where there is always one that does,
 * each that ends makes room for one of the least class. */
static bool
has_room_for_least(struct gi_xlator *x)
{
  const struct iot_private *p = x->private;
  const struct iot_options *o = x->options;
  uint64_t inside = p->metrics.inside[GI_PRIO_LEAST], most = limit(o, GI_PRIO_LEAST),
           share = (uint64_t)o->threads / GI_LEAST_SHARE;
  if (alone(x))
    return inside < (most > share ? most : share);
  return inside < most && !p->least_this_turn && !(p->syncs && p->yielded);
}

static bool
has_room(struct gi_xlator *x, unsigned prio)
{
  const struct iot_private *p = x->private;
  return prio == GI_PRIO_LEAST ? has_room_for_least(x) : p->metrics.inside[prio] < limit(x->options, prio);
}

static struct iot_fop *
take_place(struct gi_xlator *x, struct gi_fop *fop)
{
  struct iot_private *p = x->private;
  struct iot_fop *f = gi_fop_private(fop, x);
  GI_ASSERT(f->prio < GI_PRIO_COUNT && !f->placed);
  f->placed = true;
  p->metrics.inside[f->prio]++;
  return f;
}

static void
let_in(struct gi_xlator *x, struct gi_fop *fop)
{
  struct iot_private *p = x->private;
  struct iot_fop *f = take_place(x, fop);
  f->sync = f->prio != GI_PRIO_LEAST && fop->kind == GI_FOP_FSYNC;
  p->syncs += f->sync;
  if (f->prio != GI_PRIO_LEAST || alone(x))
    return;
  p->yielded = true;
  if (p->least_this_turn)
    return;
  p->least_this_turn = true;
  gi_timer_set(&p->next_turn, 0);
}

static void
enqueue(struct iot_private *p, unsigned prio, struct gi_fop *fop)
{
  struct iot_client *c = NULL;
  GI_ASSERT(prio < GI_PRIO_COUNT);
  gi_list_foreach(it, &p->turn[prio], struct iot_client, link) {
    if (it->client == fop->caller.client)
      c = it;
  }
  if (!c) {
    c = gi_new(struct iot_client);
    c->client = fop->caller.client;
    gi_list_init(&c->fops);
    gi_list_add_tail(&p->turn[prio], &c->link);
  }
  gi_list_add_tail(&c->fops, &fop->link);
  gi_fop_waits(fop, GI_WAIT_WORKER, prio == GI_PRIO_LEAST ? "a place beside applications" : "a place in its class", NULL);
  p->waiting++;
  p->metrics.waiting[prio]++;
  p->metrics.queued++;
}

/* ---- on a client ---- */

/* What is passed on may come back with new operations: they are of the next round. */
static void
turn_ends(void *arg)
{
  struct gi_xlator *x = arg;
  struct iot_private *p = x->private;
  struct gi_list line[GI_PRIO_COUNT];
  bool more = true;
  for (unsigned prio = 0; prio < GI_PRIO_COUNT; prio++) {
    gi_list_init(&line[prio]);
    gi_list_splice_tail(&line[prio], &p->now[prio]);
    p->metrics.waiting[prio] = 0;
  }
  while (more) {
    more = false;
    for (unsigned prio = 0; prio < GI_PRIO_COUNT; prio++)
      for (uint64_t n = limit(x->options, prio); n > 0 && !gi_list_empty(&line[prio]); n--) {
        struct gi_fop *fop = gi_list_first(&line[prio], struct gi_fop, link);
        gi_list_del(&fop->link);
        more = true;
        gi_fop_forward(fop, x);
      }
  }
}

/* They overtake nothing: what came before is to be with the bricks first. */
#define IOT_LAST \
  (GI_KIND(GI_FOP_FLUSH) | GI_KIND(GI_FOP_FSYNC) | GI_KIND(GI_FOP_FSYNCDIR) | GI_KIND(GI_FOP_LK) | GI_KIND(GI_FOP_LEASE) | \
   GI_KIND(GI_FOP_INODELK) | GI_KIND(GI_FOP_FINODELK) | GI_KIND(GI_FOP_ENTRYLK) | GI_KIND(GI_FOP_FENTRYLK))

static enum gi_verdict
gather(struct gi_xlator *x, struct gi_fop *fop)
{
  struct iot_private *p = x->private;
  GI_ASSERT(fop->priority < GI_PRIO_COUNT);
  if (x->draining || (IOT_LAST & GI_KIND(fop->kind))) {
    turn_ends(x);
    return GI_PASS;
  }
  gi_list_add_tail(&p->now[fop->priority], &fop->link);
  p->metrics.waiting[fop->priority]++;
  p->metrics.gathered++;
  gi_defer_add(x->reactor, &p->turn_ends);
  return GI_HELD;
}

/* ---- on a brick ---- */

/* A lock that waits would keep its place from the unlock. A message between translators needs no worker, and may be the word that an
 * operation waits for which has a place. */
static bool
needs_place(const struct gi_fop *fop)
{
  return !(gi_fop_table[fop->kind].classes & GI_CLASS_MAY_WAIT) && fop->kind != GI_FOP_IPC;
}

static enum gi_verdict
iot_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct iot_options *o = x->options;
  struct iot_private *p = x->private;
  struct iot_fop *f = gi_fop_private(fop, x);
  unsigned prio = class_of[fop->kind];
  if (fop->caller.pid < 0 && fop->caller.pid != IOT_TRUSTED_PID && o->least)
    prio = GI_PRIO_LEAST;
  fop->priority = prio;
  p->metrics.passed++;
  if (x->ctx->side == GI_SIDE_CLIENT)
    return gather(x, fop);
  if (!fop->caller.client || !needs_place(fop))
    return GI_PASS;
  if (prio != GI_PRIO_LEAST)
    p->others = fop->start_ns ? fop->start_ns : gi_now(x->reactor);
  else if (!(IOT_BULK & GI_KIND(fop->kind)))
    return GI_PASS;
  f->prio = (uint8_t)prio;
  if (x->draining || (gi_list_empty(&p->turn[prio]) && has_room(x, prio))) {
    let_in(x, fop);
    return GI_PASS_TELL;
  }
  enqueue(p, prio, fop);
  return GI_HELD;
}

/* The next waiting operation of the class; the client goes to the end of the line. */
static struct gi_fop *
dequeue(struct iot_private *p, unsigned prio)
{
  struct iot_client *c = gi_list_first(&p->turn[prio], struct iot_client, link);
  GI_CHECK(p, IOT_MAGIC);
  GI_ASSERT(p->waiting > 0 && p->metrics.waiting[prio] > 0 && !gi_list_empty(&c->fops));
  struct gi_fop *fop = gi_list_first(&c->fops, struct gi_fop, link);
  gi_list_del(&fop->link);
  gi_list_del(&c->link);
  if (gi_list_empty(&c->fops))
    gi_free(c);
  else
    gi_list_add_tail(&p->turn[prio], &c->link);
  p->waiting--;
  p->metrics.waiting[prio]--;
  return fop;
}

static void
serve(void *arg)
{
  struct gi_xlator *x = arg;
  struct iot_private *p = x->private;
  GI_CHECK(p, IOT_MAGIC);
  for (unsigned prio = 0; prio < GI_PRIO_COUNT; prio++) {
    while (!gi_list_empty(&p->turn[prio]) && has_room(x, prio)) {
      struct gi_fop *fop = dequeue(p, prio);
      let_in(x, fop);
      gi_fop_forward_tell(fop, x);
    }
  }
}

static void
next_turn(void *arg)
{
  struct gi_xlator *x = arg;
  struct iot_private *p = x->private;
  GI_CHECK(p, IOT_MAGIC);
  p->least_this_turn = false;
  if (p->waiting)
    serve(x);
}

static void
give_place_back(struct gi_xlator *x, struct gi_fop *fop)
{
  struct iot_private *p = x->private;
  struct iot_fop *f = gi_fop_private(fop, x);
  if (!f->placed)
    return;
  GI_ASSERT(p->metrics.inside[f->prio] > 0);
  f->placed = false;
  p->metrics.inside[f->prio]--;
  if (f->sync) {
    GI_ASSERT(p->syncs > 0);
    p->syncs--;
    p->yielded = false;
  }
  p->progress++;
  if (p->waiting)
    gi_defer_add(x->reactor, &p->serve);
}

static enum gi_verdict
iot_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  give_place_back(x, fop);
  return GI_PASS;
}

/* Everything that waits goes on at once, whatever the limits. */
static void
let_all_in(struct gi_xlator *x)
{
  struct iot_private *p = x->private;
  for (unsigned prio = 0; prio < GI_PRIO_COUNT; prio++) {
    while (!gi_list_empty(&p->turn[prio])) {
      struct gi_fop *fop = dequeue(p, prio);
      take_place(x, fop);
      gi_fop_forward_tell(fop, x);
    }
  }
}

/* A client went away: its operations still run unless the option says otherwise, in its name: the server lives as long as they do, and
 * tells the translators below once more that the client is gone when the last one is done. */
static void
client_gone(struct gi_xlator *x, const void *client)
{
  struct iot_private *p = x->private;
  struct gi_list gone = GI_LIST_INIT(gone);
  for (unsigned prio = 0; prio < GI_PRIO_COUNT; prio++) {
    gi_list_foreach_safe(c, &p->turn[prio], struct iot_client, link) {
      if (c->client != client)
        continue;
      gi_list_foreach(fop, &c->fops, struct gi_fop, link) {
        p->waiting--;
        p->metrics.waiting[prio]--;
      }
      gi_list_splice_tail(&gone, &c->fops);
      gi_list_del(&c->link);
      gi_free(c);
    }
  }
  while (!gi_list_empty(&gone)) {
    struct gi_fop *fop = gi_list_first(&gone, struct gi_fop, link);
    gi_list_del(&fop->link);
    if (!((const struct iot_options *)x->options)->cleanup) {
      take_place(x, fop);
      gi_fop_forward_tell(fop, x);
      continue;
    }
    p->metrics.dropped++;
    fop->rsp.ret = -1;
    fop->rsp.err = ENOTCONN;
    gi_fop_answer(fop, x);
  }
}

static void
watchdog(void *arg)
{
  struct gi_xlator *x = arg;
  struct iot_private *p = x->private;
  GI_CHECK(p, IOT_MAGIC);
  const struct iot_options *o = x->options;
  if (p->waiting && p->progress == p->watched) {
    p->metrics.watchdog++;
    gi_reactor_set_workers(x->reactor, (unsigned)o->threads + ++p->extra);
    gi_log(GI_LOG_WARNING, x->name, GI_MSG_IOT + 1, "no operation came back for %lld s while %llu wait: one more worker",
           (long long)o->watchdog_secs, (unsigned long long)p->waiting);
  }
  p->watched = p->progress;
  gi_timer_set(&p->watchdog, (uint64_t)o->watchdog_secs * GI_NSEC_PER_SEC);
}

static void
apply(struct gi_xlator *x)
{
  struct iot_private *p = x->private;
  const struct iot_options *o = x->options;
  p->extra = 0;
  gi_reactor_set_workers(x->reactor, (unsigned)o->threads);
  gi_timer_cancel(&p->watchdog);
  if (o->watchdog_secs > 0)
    gi_timer_set(&p->watchdog, (uint64_t)o->watchdog_secs * GI_NSEC_PER_SEC);
}

static void
iot_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  let_all_in(x);
  turn_ends(x);
  done(x);
}

static bool
iot_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct iot_private *p = x->private;
  switch (event) {
  case GI_EVENT_PARENT_DOWN:
    gi_timer_cancel(&p->watchdog);
    let_all_in(x);
    turn_ends(x);
    break;
  case GI_EVENT_CLIENT_GONE:
    client_gone(x, data);
    break;
  case GI_EVENT_NO_WORKER:
    give_place_back(x, data);
    return true;
  default:
    break;
  }
  return false;
}

static int
iot_init(struct gi_xlator *x, struct gi_error *err)
{
  struct iot_private *p = gi_new(struct iot_private);
  p->magic = IOT_MAGIC;
  for (unsigned prio = 0; prio < GI_PRIO_COUNT; prio++)
    gi_list_init(&p->turn[prio]), gi_list_init(&p->now[prio]);
  gi_defer_init(&p->serve, serve, x);
  gi_defer_init(&p->turn_ends, turn_ends, x);
  gi_timer_init(&p->watchdog, x->reactor, watchdog, x);
  gi_timer_init(&p->next_turn, x->reactor, next_turn, x);
  x->private = p;
  x->metrics = &p->metrics;
  x->enabled = !((const struct iot_options *)x->options)->pass_through;
  apply(x);
  return 0;
}

static void
iot_finish(struct gi_xlator *x)
{
  struct iot_private *p = x->private;
  gi_defer_cancel(&p->serve);
  gi_defer_cancel(&p->turn_ends);
  gi_timer_finish(&p->watchdog);
  gi_timer_finish(&p->next_turn);
  p->magic = 0;
  gi_free(p);
}

static void
iot_commit(struct gi_xlator *x)
{
  struct iot_private *p = x->private;
  bool on = !((const struct iot_options *)x->options)->pass_through;
  apply(x);
  if (p->waiting)
    gi_defer_add(x->reactor, &p->serve);
  gi_xlator_enable(x, on);
}

static void
iot_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  static const char *const word[GI_PRIO_COUNT] = {"high", "normal", "low", "least"};
  const struct iot_private *p = x->private;
  const struct iot_options *o = x->options;
  gi_dump_section(d, "xlator.performance.io-threads.%s.priv", x->name);
  gi_dump_kv(d, "maximum_threads_count", "%lld", (long long)o->threads);
  for (unsigned i = 0; i < GI_PRIO_COUNT; i++) {
    char key[64];
    snprintf(key, sizeof(key), "%s_priority_threads", word[i]);
    gi_dump_kv(d, key, "%llu", (unsigned long long)limit(o, i));
    snprintf(key, sizeof(key), "current_%s_priority_operations", word[i]);
    gi_dump_kv(d, key, "%llu", (unsigned long long)p->metrics.inside[i]);
    snprintf(key, sizeof(key), "%s_priority_queue_length", word[i]);
    gi_dump_kv(d, key, "%llu", (unsigned long long)p->metrics.waiting[i]);
  }
}

#define IOT_OPT(member) \
  .offset = offsetof(struct iot_options, member), .live = true, .since = "0.1", .side = GI_SIDE_CLIENT | GI_SIDE_BRICK
#define IOT_LIMIT(prio) IOT_OPT(limit[prio]), .type = GI_OPT_INT, .min = 1, .max = 64, .level = 2, .op_version = 1

static const struct gi_option iot_table[] = {
    {.name = "thread-count",
     .key = "performance.io-thread-count",
     .type = GI_OPT_INT,
     IOT_OPT(threads),
     .def = "16",
     .min = 1,
     .max = 64,
     .level = 1,
     .op_version = 1,
     .text = "Most workers that run blocking system calls at the same time, and most operations of a class let in at a time."},
    {.name = "high-prio-threads",
     .key = "performance.high-prio-threads",
     IOT_LIMIT(GI_PRIO_HIGH),
     .def = "16",
     .text = "Most operations of high priority (open, stat, lookup, listing) let in at a time; on a client, their share when "
             "those of one "
             "turn of the event loop are ordered."},
    {.name = "normal-prio-threads",
     .key = "performance.normal-prio-threads",
     IOT_LIMIT(GI_PRIO_NORMAL),
     .def = "16",
     .text =
         "Most operations of normal priority (create, rename, unlink, attributes) let in at a time; on a client, their share."},
    {.name = "low-prio-threads",
     .key = "performance.low-prio-threads",
     IOT_LIMIT(GI_PRIO_LOW),
     .def = "16",
     .text = "Most operations of low priority (read, write, fsync) let in at a time; on a client, their share."},
    {.name = "least-prio-threads",
     .key = "performance.least-prio-threads",
     IOT_LIMIT(GI_PRIO_LEAST),
     .def = "1",
     .text = "Most reads, writes, fsyncs, checksums and removals of background daemons (rebalance, self-heal) let in at a time "
             "while others are served; alone they may have a quarter of thread-count. On a client, their share."},
    {.name = "enable-least-priority",
     .key = "performance.enable-least-priority",
     .type = GI_OPT_BOOL,
     IOT_OPT(least),
     .def = "on",
     .level = 2,
     .op_version = 1,
     .text = "Give the operations of internal daemons the least priority."},
    {.name = "watchdog-secs",
     .key = "performance.iot-watchdog-secs",
     .type = GI_OPT_INT,
     IOT_OPT(watchdog_secs),
     .def = "0",
     .min = 0,
     .max = 86400,
     .level = 3,
     .op_version = 40100,
     .text =
         "Add a worker when operations wait and none came back for this many seconds; 0 never does. On a client none waits."},
    {.name = "cleanup-disconnected-reqs",
     .key = "performance.iot-cleanup-disconnected-reqs",
     .type = GI_OPT_BOOL,
     IOT_OPT(cleanup),
     .def = "off",
     .level = 3,
     .op_version = 40100,
     .text = "Drop waiting operations of a client that went away instead of running them. It acts on bricks."},
    {.name = "pass-through",
     .key = "performance.iot-pass-through",
     .type = GI_OPT_BOOL,
     IOT_OPT(pass_through),
     .def = "false",
     .level = 3,
     .op_version = 40100,
     .text = "Let everything through: no classes, no limits, no order."},
    GI_OPTION_END,
};

#define IOT_METRIC(member, help) \
  { \
#member, "", help, offsetof(struct iot_metrics, member) \
  }

static const struct gi_metric iot_metrics_table[] = {
    IOT_METRIC(passed, "operations seen"),
    IOT_METRIC(queued, "operations that had to wait for others of their class"),
    IOT_METRIC(gathered, "operations of a client that went down when a turn of its event loop ended"),
    IOT_METRIC(dropped, "waiting operations dropped because their client went away"),
    IOT_METRIC(watchdog, "times the watchdog added a worker"),
    {"inside_high", "", "operations of high priority under way", offsetof(struct iot_metrics, inside[GI_PRIO_HIGH]),
     GI_METRIC_GAUGE},
    {"inside_normal", "", "operations of normal priority under way", offsetof(struct iot_metrics, inside[GI_PRIO_NORMAL]),
     GI_METRIC_GAUGE},
    {"inside_low", "", "operations of low priority under way", offsetof(struct iot_metrics, inside[GI_PRIO_LOW]),
     GI_METRIC_GAUGE},
    {"inside_least", "", "operations of least priority under way", offsetof(struct iot_metrics, inside[GI_PRIO_LEAST]),
     GI_METRIC_GAUGE},
    {"waiting_high", "", "operations of high priority waiting", offsetof(struct iot_metrics, waiting[GI_PRIO_HIGH]),
     GI_METRIC_GAUGE},
    {"waiting_normal", "", "operations of normal priority waiting", offsetof(struct iot_metrics, waiting[GI_PRIO_NORMAL]),
     GI_METRIC_GAUGE},
    {"waiting_low", "", "operations of low priority waiting", offsetof(struct iot_metrics, waiting[GI_PRIO_LOW]),
     GI_METRIC_GAUGE},
    {"waiting_least", "", "operations of least priority waiting", offsetof(struct iot_metrics, waiting[GI_PRIO_LEAST]),
     GI_METRIC_GAUGE},
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/io-threads",
    .version = GI_VERSION,
    .summary = "Priorities, limits and fairness for a brick's workers, and an order for a client's requests",
    .messages = GI_MSG_IOT,
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"*"},
               .key = "performance.client-io-threads",
               .def = "on",
               .since = "0.1",
               .text = "Order what comes in one turn of a client's event loop by class: looking before changing, and both "
                       "before data. Operations "
                       "of a client need no threads, so none are made."},
              {.side = GI_SIDE_BRICK, .above = {"features/locks", "features/upcall"}}},
    .min_children = 1,
    .max_children = 1,
    .options = iot_table,
    .options_bytes = sizeof(struct iot_options),
    .metrics = iot_metrics_table,
    .fop_bytes = sizeof(struct iot_fop),
    .submit = iot_submit,
    .complete = iot_complete,
    .init = iot_init,
    .finish = iot_finish,
    .reconfigure_commit = iot_commit,
    .drain = iot_drain,
    .notify = iot_notify,
    .statedump = iot_statedump,
};
