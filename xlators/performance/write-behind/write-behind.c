/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/write-behind: answers a WRITE before the bricks have it.
 *
 * What it promises: on this client nothing can be seen out of order. Who reads,
 * syncs, closes, locks, renames or changes a file finds, on the bricks, all that
 * was answered before. An error of what was answered reaches every descriptor
 * that was open, once. Switched off, drained or unmounted it loses nothing.
 * What it does not: what was answered and neither synced nor closed is lost when
 * this process dies, and other machines see it late.
 *
 * wb-rules.c says what each kind waits for, wb-queue.c lets it wait; wb-write.c
 * admits WRITEs and makes messages of them, wb-send.c brings these to their
 * end; wb-sync.c has an fsync go with one; wb-attr.c knows size and times, wb-error.c who has to be told what.
 */
#include "write-behind.h"

#include "libglusterish/probe.h"

#include <fcntl.h>

#define GI_MSG_WRITE_BEHIND 112200 /* base of message ids */

/* The bytes of an inode: most are never written, and pay for a pointer only. */
struct wb_inode {
  struct wb_file *file;
};

static struct wb_file *
new_file(struct wb *wb, struct gi_inode *inode)
{
  struct wb_file *file = gi_new(struct wb_file);
  struct gi_list *lists[] = {&file->order,    &file->ready, &file->recheck, &file->waiting, &file->answers,
                             &file->flushing, &file->dirty, &file->kicked,  &file->starved};

  for (unsigned i = 0; i < GI_ARRAY_LEN(lists); i++)
    gi_list_init(lists[i]);
  file->magic = WB_FILE_MAGIC;
  file->wb = wb;
  file->inode = inode;
  return file;
}

struct wb_file *
wb_file_of(struct wb *wb, struct gi_inode *inode, bool make)
{
  struct wb_inode *wi = gi_inode_private(inode, wb->x);

  if (!wi->file && make)
    wi->file = new_file(wb, inode);
  return wi->file;
}

static void
wb_inode_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  struct wb_inode *wi = bytes;
  struct wb_file *file = wi->file;

  if (!file)
    return;
  GI_CHECK(file, WB_FILE_MAGIC);
  GI_ASSERT(!file->root && gi_list_empty(&file->order) && gi_list_empty(&file->dirty) && gi_list_empty(&file->kicked) &&
            !file->changing && !file->behind);
  gi_list_del(&file->starved);
  GI_ASSERT(!file->bytes && !file->in_flight && !file->open[0] && !file->kept);
  file->magic = 0;
  gi_free(file);
  wi->file = NULL;
}

static void
settle_first(struct wb *wb)
{
  wb->resumed = ++wb->clock;
  wb->early_ns = gi_now(wb->x->reactor) + WB_SETTLE_NS;
}

/* Where it was off, what went past it may still be under way: it waits a while before it answers again. Replies to what it saw before
 * still come while it is off. */
bool
wb_may_hold(struct wb *wb)
{
  if (!wb->x->enabled || wb->x->draining || wb->down || wb_opts(wb)->pass_through)
    return false;
  if (wb->rested) {
    wb->rested = false;
    settle_first(wb);
  }
  return true;
}

/* ---- handlers ---- */

static void
saw_it_open(struct wb *wb, struct gi_fop *fop)
{
  struct wb_fd *f = fop->fd ? gi_fd_private(fop->fd, wb->x) : NULL;

  if (f)
    f->opened = ++wb->clock;
}

static enum gi_verdict
wb_look(struct gi_xlator *x, struct gi_fop *fop)
{
  struct wb *wb = wb_of(x);
  struct wb_op *op = gi_fop_private(fop, x);

  if (fop->kind == GI_FOP_CREATE)
    saw_it_open(wb, fop);
  if (wb_wants_content(fop))
    return wb_order(wb, fop);
  if ((fop->kind == GI_FOP_STAT || fop->kind == GI_FOP_FSTAT) && wb_answer_stat(wb, fop))
    return GI_ANSWERED;
  op->asked = ++wb->clock;
  return fop->kind == GI_FOP_READDIRP && gi_list_empty(&wb->dirty) ? GI_PASS : GI_PASS_TELL;
}

static enum gi_verdict
wb_any(struct gi_xlator *x, struct gi_fop *fop)
{
  return wb_order(wb_of(x), fop);
}

static enum gi_verdict
wb_open(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);

  saw_it_open(wb_of(x), fop);
  if (inode && (fop->args.flags & O_ACCMODE) != O_RDONLY)
    wb_file_of(wb_of(x), inode, true); /* it will be written: attributes that pass are learnt */
  return wb_changes(fop) || wb_wants_content(fop) ? wb_order(wb_of(x), fop) : GI_PASS;
}

static enum gi_verdict
wb_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_WRITE)
    wb_sent_original(wb_of(x), fop);
  else
    wb_op_ended(wb_of(x), fop);
  return GI_PASS;
}

/* ---- events ---- */

static void
rest(struct wb *wb)
{
  wb->rested = true;
  wb_forget_all(wb);
  wb_push_all(wb);
  gi_timer_cancel(&wb->linger);
}

static void
invalidated(struct wb *wb, const struct gi_invalidation *inv)
{
  struct gi_inode *inode = gi_inode_find(wb->x->graph, &inv->gfid);
  struct wb_file *file = inode ? wb_file_of(wb, inode, false) : NULL;

  if (file)
    wb_forget(wb, file);
  gi_inode_unref(&inode);
}

static bool
wb_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct wb *wb = wb_of(x);

  if (gi_event_untold(event)) {
    wb->alone = 0; /* bricks that come may be others */
    wb_forget_all(wb);
  }
  switch (event) {
  case GI_EVENT_CANCEL:
    GI_ASSERT(data);
    wb_cancel(wb, data);
    return true;
  case GI_EVENT_PARENT_DOWN: /* those below hear of it when all is written */
    if (wb->down)
      return true;
    wb->down = wb->pass_down = true;
    rest(wb);
    wb_settle(wb);
    return true;
  case GI_EVENT_INVALIDATE:
    invalidated(wb, data);
    return false;
  default:
    return false;
  }
}

static void
wb_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct wb *wb = wb_of(x);

  GI_ASSERT(!wb->drained);
  wb->drained = done;
  rest(wb);
  if (GI_BROKEN("leave the path with what was answered early")) {
    wb->drained = NULL;
    done(x);
    return;
  }
  wb_settle(wb);
}

/* ---- life ---- */

static int
wb_init(struct gi_xlator *x, struct gi_error *err)
{
  struct wb *wb = x->private = gi_new(struct wb);

  wb->x = x;
  if (x->graph->active) /* it joins a running graph */
    settle_first(wb);
  x->metrics = &wb->m;
  gi_list_init(&wb->dirty);
  gi_list_init(&wb->kicked);
  gi_list_init(&wb->starved);
  gi_defer_init(&wb->kick, wb_kicked, wb);
  gi_timer_init(&wb->linger, x->reactor, wb_linger, wb);
  return 0;
}

static void
wb_finish(struct gi_xlator *x)
{
  struct wb *wb = wb_of(x);

  GI_ASSERT(gi_list_empty(&wb->dirty) && gi_list_empty(&wb->kicked) && !wb->held && !wb->bytes && !wb->cost);
  GI_ASSERT(!wb->behind && gi_list_empty(&wb->starved));
  gi_timer_finish(&wb->linger);
  gi_defer_cancel(&wb->kick);
  gi_free(wb);
}

/* The window and the rest are looked at anew for each WRITE; what waited for the old ones goes on. */
static void
wb_reconfigured(struct gi_xlator *x)
{
  struct wb *wb = wb_of(x);

  if (wb_opts(wb)->pass_through)
    rest(wb);
  gi_list_foreach(file, &wb->dirty, struct wb_file, dirty)
    wb_kick(wb, file);
}

static void
wb_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  struct wb *wb = wb_of(x);
  char gfid[GI_UUID_TEXT];

  gi_list_foreach(file, &wb->dirty, struct wb_file, dirty) {
    const struct wb_write *oldest = gi_list_first(&file->order, struct wb_write, order);
    unsigned n = 0;

    gi_list_foreach(w, &file->order, struct wb_write, order)
      n++;
    gi_dump_section(d, "%s.%s", x->name, gi_gfid_text(&file->inode->gfid, gfid));
    gi_dump_kv(d, "bytes", "%llu", (unsigned long long)file->bytes);
    gi_dump_kv(d, "messages", "%u", n);
    gi_dump_kv(d, "in-flight", "%u", file->in_flight);
    gi_dump_kv(d, "other-changes", "%u", file->changing);
    gi_dump_kv(d, "waiting-writes", "%s", gi_list_empty(&file->waiting) ? "no" : "yes");
    gi_dump_kv(d, "size", "%llu", (unsigned long long)file->now.size);
    if (n)
      gi_dump_kv(d, "oldest-ms", "%llu", (unsigned long long)((gi_now(x->reactor) - oldest->since_ns) / GI_NSEC_PER_MSEC));
  }
}

#define OPT(m) .offset = offsetof(struct wb_options, m)
#define LIVE .live = true, .side = GI_SIDE_CLIENT, .since = "0.1"
static const struct gi_option wb_table[] = {
    {.name = "cache-size",
     .alias = "window-size",
     .key = "performance.write-behind-window-size",
     .type = GI_OPT_SIZE,
     OPT(window),
     .def = "1MB",
     .min = 524288,
     .max = 1073741824,
     LIVE,
     .level = 1,
     .op_version = 1,
     .text = "Writes of a file wait while it has more bytes than this that were answered and are not on the bricks. All files "
             "together have a quarter of client.memory-limit."},
    {.name = "aggregate-size",
     .key = "performance.aggregate-size",
     .type = GI_OPT_SIZE,
     OPT(aggregate),
     .def = "128KB",
     LIVE,
     .level = 3,
     .op_version = 40100,
     .text =
         "Writes that follow one another go to the bricks as one of up to this size, or that of the window if it is smaller."},
    {.name = "flush-behind",
     .key = "performance.flush-behind",
     .type = GI_OPT_BOOL,
     OPT(flush_behind),
     .def = "on",
     LIVE,
     .level = 1,
     .op_version = 1,
     .text =
         "Let close(2) of a file that was never locked return when its data is on the bricks, without asking them once more."},
    {.name = "trickling-writes",
     .key = "performance.write-behind-trickling-writes",
     .type = GI_OPT_BOOL,
     OPT(trickling),
     .def = "on",
     LIVE,
     .level = 3,
     .op_version = 31301,
     .text = "Send a write at once when none of its file is under way or was sent within ten milliseconds. off: up to a second "
             "later, if it does not fill a message."},
    {.name = "strict-O_DIRECT",
     .key = "performance.strict-o-direct",
     .type = GI_OPT_BOOL,
     OPT(strict_direct),
     .def = "off",
     LIVE,
     .level = 2,
     .op_version = 2,
     .text = "Writes of descriptors opened with O_DIRECT are on the bricks when they return."},
    {.name = "strict-write-ordering",
     .key = "performance.strict-write-ordering",
     .type = GI_OPT_BOOL,
     OPT(strict_order),
     .def = "off",
     LIVE,
     .level = 2,
     .op_version = 2,
     .text = "Send the writes of a file one after another, also those that do not overlap."},
    {.name = "resync-failed-syncs-after-fsync",
     .key = "performance.resync-failed-syncs-after-fsync",
     .type = GI_OPT_BOOL,
     OPT(resync),
     .def = "off",
     LIVE,
     .level = 3,
     .op_version = 30707,
     .text =
         "Keep data that could not be written, and try again with the next operation that needs it, until close. The error is "
         "told nevertheless."},
    {.name = "pass-through",
     .key = "performance.write-behind-pass-through",
     .type = GI_OPT_BOOL,
     OPT(pass_through),
     .def = "false",
     LIVE,
     .level = 3,
     .op_version = 90000,
     .text = "Answer nothing early, but stay in the graph."},
    GI_OPTION_END,
};

#define COUNT(m, help) GI_METRIC(struct wb_metrics, m, "", help)
#define BYTES(m, help) GI_METRIC(struct wb_metrics, m, "bytes", help)
static const struct gi_metric wb_metrics_table[] = {
    COUNT(writes, "writes that came"),
    COUNT(early, "writes answered before the bricks had them"),
    COUNT(merged, "of these, writes that joined a message begun by another"),
    COUNT(messages, "messages sent with what was answered early"),
    BYTES(bytes, "sent in them"),
    GI_GAUGE(struct wb_metrics, dirty, "bytes", "answered and not written now"),
    GI_GAUGE(struct wb_metrics, peak, "bytes", "most of that at a time"),
    COUNT(waited_data, "operations that waited for what was answered before"),
    COUNT(waited_window, "writes that waited because the file had its window full"),
    COUNT(waited_memory, "writes that waited because all files together had too much"),
    COUNT(waited_change, "writes that came while the file was changed in another way"),
    COUNT(synced, "messages that an fsync went with"),
    COUNT(answered_stat, "stats answered from here"),
    COUNT(answered_read, "reads answered from what was not written yet"),
    COUNT(patched, "entries of listings whose size and times were corrected"),
    COUNT(flushed_behind, "flushes answered before they were sent"),
    COUNT(short_writes, "messages of which a part was taken"),
    COUNT(failed, "messages that failed after their writes were answered"),
    COUNT(kept, "failed messages kept for another attempt"),
    COUNT(told, "errors told to descriptors"),
    COUNT(written, "early answers whose end was told upwards"),
    GI_METRIC_END,
};

#define HARMLESS_KINDS \
  (GI_KIND(GI_FOP_READLINK) | GI_KIND(GI_FOP_MKNOD) | GI_KIND(GI_FOP_MKDIR) | GI_KIND(GI_FOP_RMDIR) | \
   GI_KIND(GI_FOP_SYMLINK) | GI_KIND(GI_FOP_OPENDIR) | GI_KIND(GI_FOP_FSYNCDIR) | GI_KIND(GI_FOP_READDIR) | \
   GI_KIND(GI_FOP_ENTRYLK) | GI_KIND(GI_FOP_FENTRYLK) | GI_KIND(GI_FOP_ACCESS) | GI_KIND(GI_FOP_NULL) | \
   GI_KIND(GI_FOP_STATFS) | GI_KIND(GI_FOP_IPC) | GI_KIND(GI_FOP_COMPOUND) | GI_KIND(GI_FOP_RELEASE) | \
   GI_KIND(GI_FOP_RELEASEDIR))

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/write-behind",
    .version = GI_VERSION,
    .summary = "Answers writes before the bricks have them",
    .messages = GI_MSG_WRITE_BEHIND,
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"features/utime", "performance/md-cache"},
               .key = "performance.write-behind",
               .def = "on",
               .since = "0.1",
               .text =
                   "Answer writes at once, and send them later in fewer and larger messages. fsync, close, locks and whatever "
                   "looks at the data wait for them."}},
    .min_children = 1,
    .max_children = 1,
    .options = wb_table,
    .options_bytes = sizeof(struct wb_options),
    .metrics = wb_metrics_table,
    .fop_bytes = sizeof(struct wb_op),
    .inode_bytes = sizeof(struct wb_inode),
    .fd_bytes = sizeof(struct wb_fd),
    .submit = wb_any,
    .submit_kinds = ~HARMLESS_KINDS,
    .on =
        {
            [GI_FOP_WRITE] = wb_write,
            [GI_FOP_STAT] = wb_look,
            [GI_FOP_FSTAT] = wb_look,
            [GI_FOP_LOOKUP] = wb_look,
            [GI_FOP_READDIRP] = wb_look,
            [GI_FOP_CREATE] = wb_look,
            [GI_FOP_OPEN] = wb_open,
        },
    .complete = wb_complete,
    .init = wb_init,
    .finish = wb_finish,
    .reconfigure_commit = wb_reconfigured,
    .drain = wb_drain,
    .notify = wb_notify,
    .statedump = wb_statedump,
    .inode_forget = wb_inode_forget,
    .fd_release = wb_fd_release,
};
