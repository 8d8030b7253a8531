/* SPDX-License-Identifier: Apache-2.0
 *
 * What a brick tells one client of what another one does: two protocol/client
 * graphs at the same brick. One looks at everything, the other changes one
 * thing after another; what the first is told is printed, one line each, without
 * what differs between runs. Usage: upcalls HOST PORT BRICK
 */
#include "libglusterish/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_NS (30 * GI_NSEC_PER_MSEC) /* in which what a brick tells arrives */

struct side {
  struct gi_ctx ctx;
  struct gi_graph *graph;
  const char *name;
  bool up;
};

static struct side writer = {.name = "writer"}, watcher = {.name = "watcher"};
static const char *host, *port, *brick;
static bool quiet;

/* ---- what is told ---- */

static const char *
object(const struct gi_gfid *gfid, char text[GI_UUID_TEXT])
{
  static const char *const names[] = {"none", "root", "f", "g", "d", "e", "sub", "new", "t"};
  unsigned n = gfid->b[15];
  for (unsigned i = 0; i < 15; i++)
    if (gfid->b[i] && gfid->b[i] != n)
      return gi_gfid_text(gfid, text);
  return n < GI_ARRAY_LEN(names) ? names[n] : gi_gfid_text(gfid, text);
}

static void
print_attributes(FILE *out, const char *what, const struct gi_iatt *a)
{
  char text[GI_UUID_TEXT];
  if (!gi_iatt_valid(a) && gi_gfid_is_none(&a->gfid))
    return;
  fprintf(out, " %s=%s", what, object(&a->gfid, text));
  if (!gi_iatt_valid(a))
    fprintf(out, "(no mode)");
  else if (S_ISDIR(a->mode))
    fprintf(out, "(%o)", a->mode);
  else
    fprintf(out, "(%o nlink %u size %llu uid %u)", a->mode, a->nlink, (unsigned long long)a->size, a->uid);
}

/* Two connections bring it, in no order: it is sorted before it is printed. */
static char *told[64];
static unsigned ntold;

static void
note(const char *whom, const struct gi_invalidation *inv)
{
  char text[GI_UUID_TEXT];
  size_t size;
  if (ntold == GI_ARRAY_LEN(told))
    return;
  FILE *out = open_memstream(&told[ntold++], &size);
  fprintf(out, "  %s%s 0x%x expire %u", whom, object(&inv->gfid, text), inv->flags, inv->expire_s);
  print_attributes(out, "stat", &inv->stat);
  print_attributes(out, "parent", &inv->parent);
  print_attributes(out, "old-parent", &inv->old_parent);
  for (uint32_t i = 0; i < gi_dict_count(inv->xdata); i++) {
    const struct gi_pair *p = gi_dict_at(inv->xdata, i);
    if (strncmp(p->key, "glusterish.", 11) == 0)
      continue; /* only ours says that */
    const uint8_t *bytes;
    uint32_t len = 0;
    gi_pair_bytes(p, &bytes, &len);
    fprintf(out, " xattr=%s[%u]", p->key, len);
  }
  fclose(out);
}

static int
by_text(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
print_told(void)
{
  qsort(told, ntold, sizeof(*told), by_text);
  for (unsigned i = 0; i < ntold; i++) {
    printf("%s\n", told[i]);
    free(told[i]);
  }
  ntold = 0;
}

static bool
top_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct side *s = x->ctx->app;
  if (event == GI_EVENT_CHILD_UP || event == GI_EVENT_CHILD_DOWN)
    s->up = event == GI_EVENT_CHILD_UP;
  if (event == GI_EVENT_INVALIDATE && !quiet)
    note(s == &writer ? "(to the writer) " : "", data);
  return false;
}

static const struct gi_xlator_class top_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/top",
    .version = "1",
    .summary = "Prints what it is told.",
    .min_children = 1,
    .max_children = 1,
    .notify = top_notify,
};

/* ---- the two sides ---- */

static void
settle(void)
{
  uint64_t until = gi_now(writer.ctx.reactor) + STEP_NS;
  do
    gi_reactor_turn(writer.ctx.reactor, GI_NSEC_PER_MSEC);
  while (gi_now(writer.ctx.reactor) < until);
  print_told();
}

static void
side_start(struct side *s, struct gi_reactor *r)
{
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *text = gi_asprintf("volume c\n type protocol/client\n option remote-host %s\n option remote-port %s\n"
                                           " option remote-subvolume %s\nend-volume\n"
                                           "volume top\n type test/top\n subvolumes c\nend-volume\n",
                                           host, port, brick);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  memset(&s->ctx, 0, sizeof(s->ctx));
  s->ctx.reactor = r;
  s->ctx.process_name = s->name;
  s->ctx.app = s;
  gi_random(r, &s->ctx.process_uuid, sizeof(s->ctx.process_uuid));
  s->graph = vf ? gi_graph_build(&s->ctx, &vf, NULL, &err) : NULL;
  if (!s->graph) {
    fprintf(stderr, "%s\n", err.text);
    exit(2);
  }
  gi_graph_activate(s->graph);
  for (unsigned i = 0; i < 500 && !s->up; i++)
    gi_reactor_turn(r, 10 * GI_NSEC_PER_MSEC);
  if (!s->up) {
    fprintf(stderr, "cannot reach brick %s at %s:%s\n", brick, host, port);
    exit(2);
  }
}

static void
side_stop(struct side *s)
{
  gi_graph_free(&s->graph);
  s->up = false;
}

/* ---- operations ---- */

static struct gi_gfid
gfid(uint8_t n)
{
  struct gi_gfid g = {0};
  if (n == 1)
    g.b[15] = 1;
  else
    memset(g.b, n, sizeof(g.b));
  return g;
}
enum { ROOT = 1, F, G, D, E, SUB, NEW, T };

static struct gi_inode *
inode(const struct side *s, uint8_t n)
{
  struct gi_gfid g = gfid(n);
  return gi_inode_get(s->graph, &g);
}

static void
entry(const struct side *s, struct gi_fop *f, struct gi_loc *loc, uint8_t parent, const char *name)
{
  struct gi_inode *p = inode(s, parent);
  gi_fop_set_entry(f, loc, p, name);
  gi_inode_unref(&p);
}

static void
place(const struct side *s, struct gi_fop *f, uint8_t n)
{
  struct gi_inode *i = inode(s, n);
  gi_loc_set_inode(&f->loc, i);
  gi_inode_unref(&i);
}

static struct gi_fop *new (const struct side *s, enum gi_fop_kind kind)
{
  struct gi_fop *f = gi_fop_new(s->graph, kind);
  f->caller.pid = 100;
  f->caller.owner.len = 8;
  memset(f->caller.owner.data, 7, 8);
  return f;
}

static bool finished;

static void
done(struct gi_fop *f, void *arg)
{
  finished = true;
}

/* Returns the errno. */
static int
run(const struct side *s, struct gi_fop *f)
{
  finished = false;
  gi_fop_submit(f, gi_first_child(s->graph->top), done, NULL);
  for (unsigned i = 0; i < 1000 && !finished; i++)
    gi_reactor_turn(s->ctx.reactor, 5 * GI_NSEC_PER_MSEC);
  if (!finished) {
    fprintf(stderr, "%s is not answered\n", gi_fop_name(f->kind));
    exit(2);
  }
  int err = f->rsp.ret < 0 ? f->rsp.err : 0;
  gi_fop_unref(f);
  return err;
}

static int
lookup(const struct side *s, uint8_t parent, const char *name)
{
  struct gi_fop *f = new (s, GI_FOP_LOOKUP);
  if (name)
    entry(s, f, &f->loc, parent, name);
  else
    place(s, f, parent);
  return run(s, f);
}

static int
make(const struct side *s, enum gi_fop_kind kind, uint8_t parent, const char *name, uint8_t n)
{
  struct gi_fop *f = new (s, kind);
  struct gi_gfid g = gfid(n);
  entry(s, f, &f->loc, parent, name);
  f->args.mode = kind == GI_FOP_MKNOD ? S_IFIFO | 0600 : 0755;
  f->args.link = "target";
  f->args.flags = O_RDWR;
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &g);
  struct gi_fd *fd = NULL;
  if (kind == GI_FOP_CREATE)
    f->fd = gi_fd_ref(fd = gi_fd_new(s->graph, NULL, O_RDWR, 100));
  int err = run(s, f);
  gi_fd_unref(&fd);
  return err;
}

static int
take(const struct side *s, enum gi_fop_kind kind, uint8_t parent, const char *name)
{
  struct gi_fop *f = new (s, kind);
  entry(s, f, &f->loc, parent, name);
  return run(s, f);
}

static int
move(const struct side *s, enum gi_fop_kind kind, uint8_t n, uint8_t from, const char *name, uint8_t to, const char *name2)
{
  struct gi_fop *f = new (s, kind);
  if (kind == GI_FOP_LINK)
    place(s, f, n);
  else
    entry(s, f, &f->loc, from, name);
  entry(s, f, &f->loc2, to, name2);
  return run(s, f);
}

/* By an anonymous descriptor if the kind wants one; `size` and `offset` as the kind takes them. */
static struct gi_fop *
about(const struct side *s, enum gi_fop_kind kind, uint8_t n)
{
  struct gi_fop *f = new (s, kind);
  if (gi_fop_table[kind].target == GI_TARGET_FD) {
    struct gi_inode *i = inode(s, n);
    struct gi_fd *fd = gi_fd_anonymous(s->graph, i);
    fd->flags = O_RDWR;
    gi_fop_set_fd(f, fd);
    gi_fd_unref(&fd);
    gi_inode_unref(&i);
  }
  place(s, f, n);
  f->args.size = 4;
  f->args.offset = 2;
  if (kind == GI_FOP_WRITE) {
    gi_payload_add_copy(&f->payload, "hello", 5);
    f->args.size = 5;
  }
  return f;
}

static int
plain(const struct side *s, enum gi_fop_kind kind, uint8_t n)
{
  return run(s, about(s, kind, n));
}

static int
setattr(const struct side *s, enum gi_fop_kind kind, uint8_t n, int valid, uint32_t mode, uint32_t uid)
{
  struct gi_fop *f = about(s, kind, n);
  f->args.valid = valid;
  f->args.iatt.mode = mode;
  f->args.iatt.uid = uid;
  f->args.iatt.mtime.sec = f->args.iatt.atime.sec = 1000;
  return run(s, f);
}

static int
setxattr(const struct side *s, enum gi_fop_kind kind, uint8_t n, const char *name, const char *value)
{
  struct gi_fop *f = about(s, kind, n);
  f->args.dict = gi_dict_new();
  gi_dict_set_bin(f->args.dict, name, value, (uint32_t)strlen(value));
  return run(s, f);
}

static int
removexattr(const struct side *s, enum gi_fop_kind kind, uint8_t n, const char *name)
{
  struct gi_fop *f = about(s, kind, n);
  f->args.name = name;
  return run(s, f);
}

static struct gi_dict *
counters(const char *name, uint32_t add)
{
  uint8_t value[12] = {0, 0, 0, (uint8_t)add};
  struct gi_dict *d = gi_dict_new();
  gi_dict_set_bin(d, name, value, sizeof(value));
  return d;
}

static int
xattrop(const struct side *s, uint8_t n, const char *name, uint32_t add)
{
  struct gi_fop *f = about(s, GI_FOP_XATTROP, n);
  f->args.dict = counters(name, add);
  return run(s, f);
}

static int
care(const struct side *s, const char *const *names)
{
  struct gi_fop *f = new (s, GI_FOP_IPC);
  f->args.what = 2;
  for (; *names; names++)
    gi_dict_set_bin(gi_fop_xdata(f), *names, "", 1);
  return run(s, f);
}

/* ---- the story ---- */

/* The operation's name, then what the other side is told of it. */
#define STEP(text, call) \
  do { \
    look_at_all(); \
    quiet = false; \
    printf("%s\n", text); \
    int err_ = call; \
    settle(); \
    if (err_) \
      printf("  errno %s\n", strerror(err_)); \
    quiet = true; \
  } while (0)

static struct {
  uint8_t parent;
  const char *name;
} watched[16];

static void
watch(uint8_t parent, const char *name)
{
  for (unsigned i = 0; i < GI_ARRAY_LEN(watched); i++)
    if (!watched[i].parent) {
      watched[i].parent = parent;
      watched[i].name = name;
      return;
    }
}

static void
look_at_all(void)
{
  for (unsigned i = 0; i < GI_ARRAY_LEN(watched) && watched[i].parent; i++)
    GI_IGNORE(lookup(&watcher, watched[i].parent, watched[i].name));
  settle();
}

static void
changes_of_a_file(void)
{
  STEP("write", plain(&writer, GI_FOP_WRITE, F));
  STEP("truncate", plain(&writer, GI_FOP_TRUNCATE, F));
  STEP("ftruncate", plain(&writer, GI_FOP_FTRUNCATE, F));
  STEP("fallocate", plain(&writer, GI_FOP_FALLOCATE, F));
  STEP("discard", plain(&writer, GI_FOP_DISCARD, F));
  STEP("zerofill", plain(&writer, GI_FOP_ZEROFILL, F));
  STEP("setattr mode", setattr(&writer, GI_FOP_SETATTR, F, GI_SET_MODE, 0600, 0));
  STEP("setattr the same mode", setattr(&writer, GI_FOP_SETATTR, F, GI_SET_MODE, 0600, 0));
  STEP("setattr owner", setattr(&writer, GI_FOP_SETATTR, F, GI_SET_UID, 0, 12));
  STEP("setattr times", setattr(&writer, GI_FOP_SETATTR, F, GI_SET_ATIME | GI_SET_MTIME, 0, 0));
  STEP("fsetattr mode", setattr(&writer, GI_FOP_FSETATTR, F, GI_SET_MODE, 0640, 0));
  STEP("setattr mode of a directory", setattr(&writer, GI_FOP_SETATTR, D, GI_SET_MODE, 0750, 0));
  STEP("read", plain(&writer, GI_FOP_READ, F));
  STEP("fsync", plain(&writer, GI_FOP_FSYNC, F));
  STEP("flush", plain(&writer, GI_FOP_FLUSH, F));
  STEP("stat", plain(&writer, GI_FOP_STAT, F));
  STEP("truncate that fails", plain(&writer, GI_FOP_TRUNCATE, D));
}

static void
changes_of_attributes(void)
{
  static const char *const names[] = {"user.a*", "security.capability", "trusted.afr.v-client-1", NULL};
  STEP("setxattr nobody cares for", setxattr(&writer, GI_FOP_SETXATTR, F, "user.abc", "value"));
  STEP("removexattr nobody cares for", removexattr(&writer, GI_FOP_REMOVEXATTR, F, "user.abc"));
  STEP("ipc", care(&watcher, names));
  STEP("setxattr", setxattr(&writer, GI_FOP_SETXATTR, F, "user.abc", "value"));
  STEP("setxattr of another", setxattr(&writer, GI_FOP_SETXATTR, F, "user.other", "value"));
  STEP("fsetxattr", setxattr(&writer, GI_FOP_FSETXATTR, F, "user.a", "v"));
  STEP("setxattr empty", setxattr(&writer, GI_FOP_SETXATTR, F, "user.ax", ""));
  STEP("removexattr", removexattr(&writer, GI_FOP_REMOVEXATTR, F, "user.abc"));
  STEP("removexattr of another", removexattr(&writer, GI_FOP_REMOVEXATTR, F, "user.other"));
  STEP("fremovexattr", removexattr(&writer, GI_FOP_FREMOVEXATTR, F, "user.a"));
  STEP("removexattr of what is not there", removexattr(&writer, GI_FOP_REMOVEXATTR, F, "user.abc"));
  STEP("xattrop from zero", xattrop(&writer, F, "trusted.afr.v-client-1", 1));
  STEP("xattrop again", xattrop(&writer, F, "trusted.afr.v-client-1", 1));
  STEP("xattrop of zero", xattrop(&writer, F, "trusted.afr.v-client-1", 0));
  STEP("xattrop of another", xattrop(&writer, F, "trusted.afr.v-client-0", 1));
}

static void
changes_of_names(void)
{
  STEP("create", make(&writer, GI_FOP_CREATE, D, "new", NEW));
  STEP("rename in a directory", move(&writer, GI_FOP_RENAME, 0, D, "new", D, "newer"));
  watch(D, "newer");
  STEP("rename of what is known", move(&writer, GI_FOP_RENAME, 0, D, "newer", D, "new"));
  watch(D, "new");
  STEP("rename to another directory", move(&writer, GI_FOP_RENAME, 0, D, "new", E, "new"));
  watch(E, "new");
  STEP("rename over a file", move(&writer, GI_FOP_RENAME, 0, E, "new", D, "g"));
  STEP("link", move(&writer, GI_FOP_LINK, F, 0, NULL, E, "f2"));
  STEP("unlink of one name", take(&writer, GI_FOP_UNLINK, E, "f2"));
  STEP("unlink of the last name", take(&writer, GI_FOP_UNLINK, D, "g"));
  STEP("mkdir", make(&writer, GI_FOP_MKDIR, D, "t", T));
  watch(D, "t");
  STEP("rename of a directory", move(&writer, GI_FOP_RENAME, 0, D, "t", E, "t"));
  watch(E, "t");
  STEP("rename of a directory over another", move(&writer, GI_FOP_RENAME, 0, E, "t", D, "sub"));
  STEP("rmdir", take(&writer, GI_FOP_RMDIR, D, "sub"));
  STEP("symlink", make(&writer, GI_FOP_SYMLINK, D, "s", 20));
  STEP("mknod", make(&writer, GI_FOP_MKNOD, D, "p", 21));
  STEP("unlink that fails", take(&writer, GI_FOP_UNLINK, D, "nosuch"));
}

static int
as(int pid, struct gi_fop *f)
{
  f->caller.pid = pid;
  return run(&writer, f);
}

static void
internal_clients(void)
{
  STEP("write by a healer", as(GI_PID_HEAL, about(&writer, GI_FOP_WRITE, F)));
  STEP("write by a rebalance", as(GI_PID_REBALANCE, about(&writer, GI_FOP_WRITE, F)));
}

/* Whether what a fresh client did makes it one that is told of a change. */
static void
who_is_told(struct gi_reactor *r)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_STAT,     GI_FOP_ACCESS, GI_FOP_GETXATTR, GI_FOP_SETATTR,  GI_FOP_READ,
                                           GI_FOP_WRITE,    GI_FOP_FLUSH,  GI_FOP_FSYNC,    GI_FOP_FSTAT,    GI_FOP_SEEK,
                                           GI_FOP_TRUNCATE, GI_FOP_STATFS, GI_FOP_XATTROP,  GI_FOP_FGETXATTR};
  for (unsigned i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    side_stop(&watcher);
    side_start(&watcher, r);
    printf("told after %s\n", gi_fop_name(kinds[i]));
    quiet = true;
    struct gi_fop *f = about(&watcher, kinds[i], F);
    if (kinds[i] == GI_FOP_XATTROP)
      f->args.dict = counters("trusted.afr.v-client-0", 1);
    if (kinds[i] == GI_FOP_SETATTR)
      f->args.valid = GI_SET_MODE, f->args.iatt.mode = 0640;
    f->args.name = "user.ax";
    int err = run(&watcher, f);
    settle();
    quiet = false;
    if (err)
      printf("  errno %s\n", strerror(err));
    GI_IGNORE(plain(&writer, GI_FOP_WRITE, F));
    settle();
  }
  side_stop(&watcher);
  side_start(&watcher, r);
  quiet = false;
  printf("told after a lookup that fails\n");
  GI_IGNORE(lookup(&watcher, E, "nosuch"));
  GI_IGNORE(make(&writer, GI_FOP_MKDIR, E, "m1", 22));
  settle();
  printf("told after a lookup below\n");
  GI_IGNORE(make(&writer, GI_FOP_MKDIR, E, "nosuch", 23));
  GI_IGNORE(lookup(&watcher, E, "nosuch"));
  GI_IGNORE(make(&writer, GI_FOP_MKDIR, E, "m2", 24));
  settle();
  printf("told after creating in it\n");
  GI_IGNORE(make(&watcher, GI_FOP_MKDIR, E, "m3", 25));
  GI_IGNORE(make(&writer, GI_FOP_MKDIR, E, "m4", 26));
  settle();
  printf("told of what it has created\n");
  GI_IGNORE(setattr(&writer, GI_FOP_SETATTR, 25, GI_SET_MODE, 0700, 0));
  settle();
  printf("told after a rename there\n");
  side_stop(&watcher);
  side_start(&watcher, r);
  GI_IGNORE(move(&watcher, GI_FOP_RENAME, 0, D, "s", E, "s"));
  settle();
  GI_IGNORE(make(&writer, GI_FOP_MKDIR, E, "m5", 27));
  GI_IGNORE(make(&writer, GI_FOP_MKDIR, D, "m6", 28));
  GI_IGNORE(setattr(&writer, GI_FOP_SETATTR, 20, GI_SET_MTIME, 0, 0));
  settle();
  printf("told after READDIRP\n");
  side_stop(&watcher);
  side_start(&watcher, r);
  struct gi_fop *f = new (&watcher, GI_FOP_OPENDIR);
  struct gi_inode *dir = inode(&watcher, D);
  struct gi_fd *fd = gi_fd_new(watcher.graph, dir, O_DIRECTORY, 100);
  gi_fop_set_fd(f, fd);
  gi_loc_set_inode(&f->loc, dir);
  GI_IGNORE(run(&watcher, f));
  f = new (&watcher, GI_FOP_READDIRP);
  gi_fop_set_fd(f, fd);
  f->args.size = 4096;
  GI_IGNORE(run(&watcher, f));
  gi_fd_unref(&fd);
  gi_inode_unref(&dir);
  GI_IGNORE(plain(&writer, GI_FOP_WRITE, F));
  GI_IGNORE(make(&writer, GI_FOP_MKDIR, D, "m7", 29));
  settle();
}

int
main(int argc, char **argv)
{
  if (argc != 4) {
    fprintf(stderr, "usage: upcalls HOST PORT BRICK\n");
    return 2;
  }
  host = argv[1], port = argv[2], brick = argv[3];
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct gi_reactor *r = gi_reactor_new(1);
  gi_class_register(&top_class);
  side_start(&writer, r);
  side_start(&watcher, r);
  quiet = true;
  if (lookup(&writer, ROOT, NULL) || make(&writer, GI_FOP_MKDIR, ROOT, "d", D) || make(&writer, GI_FOP_MKDIR, ROOT, "e", E) ||
      make(&writer, GI_FOP_CREATE, D, "f", F) || make(&writer, GI_FOP_CREATE, D, "g", G) ||
      make(&writer, GI_FOP_MKDIR, D, "sub", SUB)) {
    fprintf(stderr, "cannot make what is to be changed; is the brick empty?\n");
    return 2;
  }
  watch(ROOT, "d");
  watch(ROOT, "e");
  watch(D, "f");
  watch(D, "g");
  watch(D, "sub");
  changes_of_a_file();
  changes_of_attributes();
  changes_of_names();
  internal_clients();
  who_is_told(r);
  side_stop(&writer);
  side_stop(&watcher);
  gi_reactor_free(r);
  return 0;
}
