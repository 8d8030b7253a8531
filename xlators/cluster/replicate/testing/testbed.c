/* SPDX-License-Identifier: Apache-2.0
 *
 * The rig of testing/testbed.h: the graph, the gates, and changes by path.
 */
#include "xlators/cluster/replicate/testing/testbed.h"

#include <errno.h>
#include <ftw.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TURNS_MAX 2000000

extern const struct gi_xlator_class gi_xlator_export; /* cluster/replicate, linked into the test */

/* ---- the gate ---- */

struct passing {
  struct gi_defer defer;
  struct gi_xlator *x;
  struct gi_fop *fop;
};

struct gate_fop {
  struct passing passing;
};

static void
let_through(void *arg)
{
  struct passing *p = arg;

  gi_fop_forward_tell(p->fop, p->x);
}

static bool
refused(struct yard_gate *g, const struct gi_fop *fop)
{
  if (!g->fail_err[fop->kind] || (g->fail_heal_only && fop->caller.pid != GI_PID_HEAL))
    return false;
  if (!g->fail_after[fop->kind])
    return true;
  g->fail_after[fop->kind]--;
  return false;
}

static enum gi_verdict
gate_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  struct yard_gate *g = x->private;
  struct gate_fop *f = gi_fop_private(fop, x);

  g->count[fop->kind]++;
  if (g->seen)
    g->seen(fop, g->arg);
  if (g->shut)
    return gi_fop_fail(fop, ENOTCONN);
  if (refused(g, fop))
    return gi_fop_fail(fop, g->fail_err[fop->kind]);
  if (++g->in_flight > g->most_in_flight)
    g->most_in_flight = g->in_flight;
  fop->caller.client = &g->id;
  f->passing.x = x;
  f->passing.fop = fop;
  gi_defer_init(&f->passing.defer, let_through, &f->passing);
  gi_defer_add(x->reactor, &f->passing.defer); /* like a network: never answered from inside the request */
  return GI_HELD;
}

static enum gi_verdict
gate_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct yard_gate *g = x->private;

  g->in_flight--;
  if (g->shut) {
    gi_reply_clear(&fop->rsp);
    gi_fop_fail(fop, ENOTCONN);
  }
  return GI_PASS;
}

static int
gate_init(struct gi_xlator *x, struct gi_error *err)
{
  struct yard_gate *g = gi_new(struct yard_gate);

  g->id.uid = "yard";
  g->id.address = "127.0.0.1:1";
  g->abilities = GI_REGIONS_CAPABILITY;
  x->private = g;
  return 0;
}

static void
gate_finish(struct gi_xlator *x)
{
  gi_free(x->private);
}

static bool
gate_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  return gi_event_table[event].way == GI_WAY_UP && event != GI_EVENT_CONTENTION; /* the yard says itself when a brick is up */
}

static const struct gi_xlator_class gate_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/gate",
    .summary = "the way to a brick",
    .min_children = 1,
    .max_children = 1,
    .fop_bytes = sizeof(struct gate_fop),
    .submit = gate_submit,
    .complete = gate_complete,
    .init = gate_init,
    .finish = gate_finish,
    .notify = gate_notify,
};

static int
top_init(struct gi_xlator *x, struct gi_error *err)
{
  return 0;
}

static const struct gi_xlator_class yard_top_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/yard",
    .summary = "the top",
    .min_children = 1,
    .max_children = 1,
    .init = top_init,
};

/* ---- the graph ---- */

static char *
volfile_text(const struct yard *y, const char *options)
{
  char *text = NULL;
  size_t len;
  FILE *f = open_memstream(&text, &len);

  for (unsigned i = 0; i < YARD; i++) {
    fprintf(f,
            "volume p%u\n type storage/posix\n option directory %s/%u\n option volume-id " YARD_VOLUME "\n"
            " option janitor-sleep-duration 1\nend-volume\n",
            i, y->dir, i);
    fprintf(f, "volume l%u\n type features/locks\n subvolumes p%u\nend-volume\n", i, i);
    fprintf(f,
            "volume i%u\n type features/index\n option index-base %s/%u/.glusterfs/indices\n"
            " option xattrop-pending-watchlist trusted.afr.v-\n option xattrop-dirty-watchlist trusted.afr.dirty\n"
            " subvolumes l%u\nend-volume\n",
            i, y->dir, i, i);
    fprintf(f, "volume gate-%u\n type test/gate\n subvolumes i%u\nend-volume\n", i, i);
  }
  fprintf(f,
          "volume v-replicate-0\n type cluster/replicate\n option afr-pending-xattr v-client-0,v-client-1,v-client-2\n"
          " option volume-id " YARD_VOLUME "\n%s\n subvolumes",
          options ? options : "");
  for (unsigned i = 0; i < YARD; i++)
    fprintf(f, " gate-%u", i);
  fprintf(f, "\nend-volume\nvolume top\n type test/yard\n subvolumes v-replicate-0\nend-volume\n");
  fclose(f);
  return text;
}

static bool
make_bricks(struct yard *y)
{
  const char *const places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp", getenv("GLUSTERISH_BUILDDIR"), "/var/tmp"};
  uint8_t id[16];
  struct gi_gfid gfid;

  if (!gi_gfid_parse(YARD_VOLUME, &gfid))
    return false;
  memcpy(id, gfid.b, sizeof(id));
  for (size_t k = 0; k < GI_ARRAY_LEN(places); k++) {
    bool ok = true;

    if (!places[k])
      continue;
    snprintf(y->dir, sizeof(y->dir), "%s/glusterish-yard-XXXXXX", places[k]);
    if (!mkdtemp(y->dir))
      continue;
    for (unsigned i = 0; i < YARD; i++) {
      char path[PATH_MAX];

      yard_path(y, path, i, "");
      ok = ok && mkdir(path, 0755) == 0 && setxattr(path, "trusted.glusterfs.volume-id", id, sizeof(id), 0) == 0 &&
           setxattr(path, "user.glusterish.probe", "1", 1, 0) == 0 && removexattr(path, "user.glusterish.probe") == 0;
    }
    if (ok)
      return true;
    for (unsigned i = 0; i < YARD; i++) {
      char path[PATH_MAX];

      yard_path(y, path, i, "");
      rmdir(path);
    }
    rmdir(y->dir);
  }
  return false;
}

static void
turn(struct yard *y)
{
  gi_reactor_turn(y->ctx.reactor, 1000000);
}

static bool
idle(const struct yard *y)
{
  for (unsigned i = 0; i < YARD; i++)
    if (y->gate[i] && y->gate[i]->in_flight)
      return false;
  return true;
}

/* Until nothing is under way at any brick, and nothing came of that. */
static void
settle(struct yard *y)
{
  int quiet = 0;

  for (int i = 0; i < TURNS_MAX && quiet < 3; i++) {
    gi_reactor_turn(y->ctx.reactor, idle(y) ? 0 : 1000000);
    quiet = idle(y) ? quiet + 1 : 0;
  }
  if (quiet < 3)
    fail_msg("operations never end");
}

struct yard *
yard_new(const char *options)
{
  struct yard *y = gi_new(struct yard);
  struct gi_error err = {0};

  if (!make_bricks(y)) {
    gi_free(y);
    return NULL;
  }
  gi_class_register(&gate_class);
  gi_class_register(&yard_top_class);
  gi_class_register(&gi_xlator_export);
  y->ctx.reactor = gi_reactor_new(2);
  y->ctx.process_name = "unit-test";
  snprintf(y->ctx.process_id, sizeof(y->ctx.process_id), "unit-test");

  GI_CLEANUP_FREE char *text = volfile_text(y, options);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);

  if (vf)
    y->graph = gi_graph_build(&y->ctx, &vf, NULL, &err);
  if (!y->graph)
    fail_msg("cannot build a yard: %s", err.text);
  y->ctx.graph = y->graph;
  y->x = gi_graph_find(y->graph, "v-replicate-0");
  y->rep = y->x->private;
  gi_graph_activate(y->graph);
  for (unsigned i = 0; i < YARD; i++) {
    char name[16];

    snprintf(name, sizeof(name), "gate-%u", i);
    y->gate_x[i] = gi_graph_find(y->graph, name);
    y->gate[i] = y->gate_x[i]->private;
    y->gate[i]->index = i;
    gi_notify_up(y->gate_x[i], GI_EVENT_CHILD_UP, (void *)(uintptr_t)y->gate[i]->abilities);
  }
  settle(y);
  return y;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  (void)st, (void)type, (void)ftw;
  return remove(path);
}

void
yard_free(struct yard *y)
{
  settle(y);
  gi_graph_deactivate(y->graph);
  settle(y);
  for (int i = 0; i < 10000 && y->graph->fops_live; i++) /* an index is cleaned behind the reply */
    gi_reactor_turn(y->ctx.reactor, 1000000);
  assert_int_equal(y->graph->fops_live, 0);
  assert_int_equal(y->graph->fds_live, 0);
  assert_int_equal(y->rep->busy[REP_WORK_HEALS], 0);
  gi_graph_free(&y->graph);
  gi_reactor_free(y->ctx.reactor);
  nftw(y->dir, remove_one, 32, FTW_DEPTH | FTW_PHYS);
  gi_free(y);
}

void
yard_down(struct yard *y, unsigned brick)
{
  struct yard_gate *g = y->gate[brick];

  g->shut = true;
  gi_notify_up(y->gate_x[brick], GI_EVENT_CHILD_DOWN, NULL);
  gi_notify_down(y->gate_x[brick], GI_EVENT_CLIENT_GONE, &g->id);
  settle(y);
}

void
yard_up(struct yard *y, unsigned brick)
{
  y->gate[brick]->shut = false;
  gi_notify_up(y->gate_x[brick], GI_EVENT_CHILD_UP, (void *)(uintptr_t)y->gate[brick]->abilities);
  settle(y);
}

void
yard_until(struct yard *y, const bool *done)
{
  for (int i = 0; i < TURNS_MAX && !*done; i++)
    turn(y);
  if (!*done)
    fail_msg("it never ends");
}

struct on_task {
  void (*fn)(void *arg);
  void *arg;
  bool done;
};

static void
task_body(void *arg)
{
  struct on_task *t = arg;

  t->fn(t->arg);
  t->done = true;
}

void
yard_task(struct yard *y, void (*fn)(void *arg), void *arg)
{
  struct on_task t = {.fn = fn, .arg = arg};

  gi_task_start(y->ctx.reactor, task_body, &t);
  yard_until(y, &t.done);
  settle(y);
}

/* ---- changes by path ---- */

static void
answered(struct gi_fop *fop, void *arg)
{
  *(bool *)arg = true;
}

/* Runs it; consumes the reference but keeps the answer in *rsp of the attributes. */
static int
run(struct yard *y, struct gi_fop *fop, struct gi_iatt *stat)
{
  bool done = false;

  fop->caller.pid = 100;
  fop->caller.stamps = GI_STAMP_CTIME | GI_STAMP_MTIME | GI_STAMP_PARENT_CTIME | GI_STAMP_PARENT_MTIME;
  fop->caller.time.sec = 1700000000 + (int64_t)(gi_now(y->ctx.reactor) / 1000000000u);
  fop->caller.owner.len = 8;
  gi_fop_submit(fop, y->x, answered, &done);
  yard_until(y, &done);
  y->err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
  if (stat)
    *stat = fop->rsp.stat;
  gi_fop_unref(fop);
  settle(y);
  return y->err;
}

int
yard_submit(struct yard *y, struct gi_fop *fop)
{
  return run(y, fop, NULL);
}

/* The inode of what a path's first `len` bytes lead to, referenced; NULL and y->err. */
static struct gi_inode *
walk(struct yard *y, const char *path, size_t len)
{
  struct gi_inode *at = gi_inode_get(y->graph, &gi_gfid_root);

  at->mode = S_IFDIR;
  for (size_t pos = 0; pos < len;) {
    size_t n = strcspn(path + pos, "/");
    GI_CLEANUP_FREE char *name = gi_asprintf("%.*s", (int)n, path + pos);
    struct gi_fop *fop = gi_fop_new(y->graph, GI_FOP_LOOKUP);
    struct gi_iatt st;

    gi_fop_set_entry(fop, &fop->loc, at, name);
    gi_inode_unref(&at);
    if (run(y, fop, &st))
      return NULL;
    at = gi_inode_get(y->graph, &st.gfid);
    pos += n + 1;
  }
  return at;
}

static void
set_name(struct yard *y, struct gi_fop *fop, struct gi_loc *loc, const char *path)
{
  const char *slash = strrchr(path, '/');
  struct gi_inode *parent = walk(y, path, slash ? (size_t)(slash - path) : 0);

  if (!parent)
    fail_msg("%s: its directory: %s", path, strerror(y->err));
  gi_fop_set_entry(fop, loc, parent, slash ? slash + 1 : path);
  gi_inode_unref(&parent);
}

static void
set_object(struct yard *y, struct gi_loc *loc, const char *path)
{
  struct gi_inode *inode = walk(y, path, strlen(path));

  if (!inode)
    fail_msg("%s: %s", path, strerror(y->err));
  loc->inode = inode;
  loc->gfid = inode->gfid;
}

static struct gi_fop *
making(struct yard *y, enum gi_fop_kind kind, const char *path)
{
  struct gi_fop *fop = gi_fop_new(y->graph, kind);
  struct gi_gfid gfid = gi_gfid_new(y->ctx.reactor);

  set_name(y, fop, &fop->loc, path);
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &gfid);
  return fop;
}

static void
must(struct yard *y, struct gi_fop *fop, const char *path)
{
  enum gi_fop_kind kind = fop->kind;

  if (run(y, fop, NULL))
    fail_msg("%s of %s: %s", gi_fop_name(kind), path, strerror(y->err));
}

void
yard_mkdir(struct yard *y, const char *path)
{
  struct gi_fop *fop = making(y, GI_FOP_MKDIR, path);

  fop->args.mode = 0750;
  must(y, fop, path);
}

void
yard_mknod(struct yard *y, const char *path, mode_t mode, unsigned major, unsigned minor)
{
  struct gi_fop *fop = making(y, GI_FOP_MKNOD, path);

  fop->args.mode = mode;
  fop->args.rdev = (uint64_t)major << 32 | minor;
  must(y, fop, path);
}

void
yard_symlink(struct yard *y, const char *path, const char *to)
{
  struct gi_fop *fop = making(y, GI_FOP_SYMLINK, path);

  fop->args.link = to;
  must(y, fop, path);
}

void
yard_create(struct yard *y, const char *path, const char *content)
{
  struct gi_fop *fop = making(y, GI_FOP_CREATE, path), *w;
  struct gi_fd *fd = gi_fd_new(y->graph, NULL, 2, 100);
  struct gi_buf *buf;

  fop->fd = gi_fd_ref(fd);
  fop->args.flags = 2;
  fop->args.mode = 0640;
  must(y, fop, path);
  if (content && *content) {
    w = gi_fop_new(y->graph, GI_FOP_WRITE);
    gi_fop_set_fd(w, fd);
    buf = gi_buf_new(strlen(content));
    memcpy(buf->base, content, strlen(content));
    gi_payload_add(&w->payload, buf, buf->base, strlen(content));
    gi_buf_unref(&buf);
    w->args.size = strlen(content);
    must(y, w, path);
  }
  w = gi_fop_new(y->graph, GI_FOP_FLUSH);
  gi_fop_set_fd(w, fd);
  must(y, w, path);
  gi_fd_unref(&fd);
}

void
yard_link(struct yard *y, const char *path, const char *other)
{
  struct gi_fop *fop = gi_fop_new(y->graph, GI_FOP_LINK);

  set_object(y, &fop->loc, other);
  set_name(y, fop, &fop->loc2, path);
  must(y, fop, path);
}

static void
removing(struct yard *y, enum gi_fop_kind kind, const char *path)
{
  struct gi_fop *fop = gi_fop_new(y->graph, kind);

  set_name(y, fop, &fop->loc, path);
  set_object(y, &fop->loc, path);
  must(y, fop, path);
}

void
yard_unlink(struct yard *y, const char *path)
{
  removing(y, GI_FOP_UNLINK, path);
}

void
yard_rmdir(struct yard *y, const char *path)
{
  removing(y, GI_FOP_RMDIR, path);
}

void
yard_rename(struct yard *y, const char *from, const char *to)
{
  struct gi_fop *fop = gi_fop_new(y->graph, GI_FOP_RENAME);

  set_name(y, fop, &fop->loc, from);
  set_object(y, &fop->loc, from);
  set_name(y, fop, &fop->loc2, to);
  must(y, fop, from);
}

struct gi_gfid
yard_gfid(struct yard *y, const char *path)
{
  struct gi_inode *inode = walk(y, path, strlen(path));
  struct gi_gfid gfid = inode ? inode->gfid : gi_gfid_none;

  gi_inode_unref(&inode);
  return gfid;
}
