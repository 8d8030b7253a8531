/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's side and the volume of fuse-rig.h.
 */
#include "xlators/mount/fuse/fuse-rig.h"

#include "libglusterish/promise.h"

#include <signal.h>

/* ---- the volume ---- */

struct gi_iatt
iatt_of(uint8_t n, uint32_t mode)
{
  struct gi_iatt a = {.flags = GI_IATT_BASIC, .mode = mode, .nlink = 2, .size = 1000, .blksize = 4096, .uid = 7, .gid = 8};

  if (n == 0)
    a.gfid = gi_gfid_root;
  else
    memset(a.gfid.b, n, sizeof(a.gfid.b));
  a.ino = gi_gfid_ino(&a.gfid);
  a.mtime = a.ctime = (struct gi_time){.sec = 1000, .nsec = n};
  return a;
}

void
fill_stat(struct gi_fop *fop, void *arg)
{
  const struct answer *a = arg;
  struct gi_iatt st = iatt_of(a->n, a->mode);

  if (a->size)
    st.size = a->size;
  if (a->mtime)
    st.mtime.sec = st.ctime.sec = (int64_t)a->mtime;
  fop->rsp.stat = fop->rsp.post = st;
}

void
fill_early(struct gi_fop *fop, void *arg)
{
  fop->rsp.early = true;
  fop->rsp.pre = fop->rsp.post = iatt_of(0xaa, S_IFREG | 0644);
  fop->rsp.post.size = fop->args.offset + fop->args.size;
}

static struct answer root_answer = {0, S_IFDIR | 0755, 0, 0};

/* ---- the kernel ---- */

void
pump(struct rig *r)
{
  fake_settle(r->s);
  fake_settle(r->s);
}

void
send_raw(struct rig *r, const void *data, size_t len)
{
  assert_int_equal(write(r->fd, data, len), (ssize_t)len);
  if (!r->paused)
    pump(r);
}

uint64_t
request(struct rig *r, uint32_t opcode, uint64_t nodeid, const void *args, size_t len)
{
  struct {
    struct fuse_in_header h;
    uint8_t args[BUF_MAX];
  } *m = malloc(sizeof(*m));
  uint64_t unique = ++r->unique;

  m->h = (struct fuse_in_header){.len = (uint32_t)(sizeof(m->h) + len),
                                 .opcode = opcode,
                                 .unique = unique,
                                 .nodeid = nodeid,
                                 .uid = r->uid,
                                 .gid = r->uid,
                                 .pid = 0};
  if (len)
    memcpy(m->args, args, len);
  send_raw(r, m, sizeof(m->h) + len);
  free(m);
  return unique;
}

/* Arguments followed by up to two names. */
uint64_t
request_names(struct rig *r, uint32_t opcode, uint64_t nodeid, const void *args, size_t len, const char *n1, const char *n2)
{
  uint8_t buf[4096];

  if (len)
    memcpy(buf, args, len);
  if (n1) {
    memcpy(buf + len, n1, strlen(n1) + 1);
    len += strlen(n1) + 1;
  }
  if (n2) {
    memcpy(buf + len, n2, strlen(n2) + 1);
    len += strlen(n2) + 1;
  }
  return request(r, opcode, nodeid, buf, len);
}

static void
count_dropped(struct rig *r)
{
  const struct fuse_out_header *h = (void *)r->out;
  const struct fuse_notify_inval_inode_out *inode = body(r);
  const struct fuse_notify_inval_entry_out *entry = body(r);

  if (h->error == FUSE_NOTIFY_INVAL_INODE && inode->off < 0) {
    r->dropped.attributes++;
  } else if (h->error == FUSE_NOTIFY_INVAL_INODE) {
    r->dropped.data++;
  } else if (h->error == FUSE_NOTIFY_INVAL_ENTRY) {
    r->dropped.names++;
    snprintf(r->dropped.name, sizeof(r->dropped.name), "%.*s", (int)entry->namelen, (const char *)(entry + 1));
  }
}

/* Takes the next reply, counting notifications on the way; false if there is none. */
bool
next_reply(struct rig *r)
{
  for (;;) {
    const struct fuse_out_header *h = (void *)r->out;

    r->out_len = recv(r->fd, r->out, sizeof(r->out), MSG_DONTWAIT);
    if (r->out_len < (ssize_t)sizeof(*h))
      return false;
    assert_int_equal(h->len, r->out_len);
    if (h->unique)
      return true;
    r->notifications++;
    r->last_code = h->error;
    count_dropped(r);
    memcpy(&r->last_id, h + 1, sizeof(r->last_id));
  }
}

/* The reply to `unique` must be here: returns its error as a positive errno. */
int
reply(struct rig *r, uint64_t unique)
{
  const struct fuse_out_header *h = (void *)r->out;

  assert_true(next_reply(r));
  assert_int_equal(h->unique, unique);
  return -h->error;
}

const void *
body(const struct rig *r)
{
  return r->out + sizeof(struct fuse_out_header);
}

static void
on_ready(struct gi_ctx *ctx, int err)
{
  struct rig *r = ctx->app;

  r->ready++;
  r->ready_err = err;
}

static void
on_unmount(struct gi_ctx *ctx)
{
  ((struct rig *)ctx->app)->unmounted++;
}

#define OFFERED \
  (FUSE_ASYNC_READ | FUSE_POSIX_LOCKS | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES | FUSE_DONT_MASK | FUSE_FLOCK_LOCKS | \
   FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO | FUSE_ASYNC_DIO | FUSE_WRITEBACK_CACHE | \
   FUSE_PARALLEL_DIROPS | FUSE_HANDLE_KILLPRIV | FUSE_POSIX_ACL | FUSE_MAX_PAGES | FUSE_CACHE_SYMLINKS | \
   FUSE_EXPLICIT_INVAL_DATA | FUSE_HANDLE_KILLPRIV_V2 | FUSE_INIT_EXT)

uint32_t offered2;

void
send_init(struct rig *r)
{
  struct fuse_init_in in = {.major = 7, .minor = 38, .max_readahead = 1 << 20, .flags = OFFERED, .flags2 = offered2};

  assert_int_equal(reply(r, request(r, FUSE_INIT, 0, &in, sizeof(in))), 0);
}

struct rig *
rig_new(const char *options)
{
  struct rig *r = gi_zalloc(sizeof(*r));
  int fd[2], size = 1 << 20;
  char text[1024];

  signal(SIGPIPE, SIG_IGN);
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
  for (int i = 0; i < 2; i++)
    setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
  r->fd = fd[0];
  snprintf(text, sizeof(text), "option mountpoint /dev/fd/%d\n%s", fd[1], options ? options : "");
  r->s = fake_stack_new("mount/fuse", text, 1);
  r->s->ctx.app = r;
  r->s->ctx.on_ready = on_ready;
  r->s->ctx.on_unmount = on_unmount;
  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_stat, .arg = &root_answer});
  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = RIG_PROMISE_S});
  fake_event(r->s, 0, GI_EVENT_CHILD_UP, NULL);
  pump(r);
  send_init(r);
  assert_int_equal(r->ready, 1);
  assert_int_equal(r->ready_err, 0);
  fake_forget_seen(r->s);
  return r;
}

void
rig_free(struct rig *r)
{
  fake_stack_free(r->s);
  close(r->fd);
  free(r);
}

/* ---- shorthands ---- */

uint64_t
lookup(struct rig *r, const char *name, struct answer *a)
{
  fake_script(r->s, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_stat, .arg = a});
  assert_int_equal(reply(r, request_names(r, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, name, NULL)), 0);
  return ((const struct fuse_entry_out *)body(r))->nodeid;
}

uint64_t
open_file(struct rig *r, uint64_t nodeid, uint32_t flags)
{
  struct fuse_open_in in = {.flags = flags};

  assert_int_equal(reply(r, request(r, FUSE_OPEN, nodeid, &in, sizeof(in))), 0);
  return ((const struct fuse_open_out *)body(r))->fh;
}

void
forget(struct rig *r, uint64_t nodeid, uint64_t n)
{
  struct fuse_forget_in in = {.nlookup = n};

  request(r, FUSE_FORGET, nodeid, &in, sizeof(in));
  assert_false(next_reply(r));
}

int
getattr(struct rig *r, uint64_t nodeid, struct answer *a)
{
  struct fuse_getattr_in in = {0};

  if (a) {
    fake_script(r->s, 0, GI_FOP_STAT, (struct fake_reply){.fill = fill_stat, .arg = a});
    fake_script(r->s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_stat, .arg = a});
  }
  int err = reply(r, request(r, FUSE_GETATTR, nodeid, &in, sizeof(in)));

  fake_script_clear(r->s);
  return err;
}

uint32_t file_flags = O_RDWR;

uint64_t
write_file(struct rig *r, uint64_t nodeid, uint64_t fh, uint64_t off, uint32_t size, uint32_t flags)
{
  uint8_t *m = calloc(1, sizeof(struct fuse_write_in) + size);

  *(struct fuse_write_in *)m =
      (struct fuse_write_in){.fh = fh, .offset = off, .size = size, .write_flags = flags, .flags = file_flags};
  memset(m + sizeof(struct fuse_write_in), 'w', size);

  uint64_t unique = request(r, FUSE_WRITE, nodeid, m, sizeof(struct fuse_write_in) + size);

  free(m);
  return unique;
}

struct answer file_a = {0xaa, S_IFREG | 0644, 1000, 1000};

void
wait_notifications(struct rig *r)
{
  pump(r); /* workers send them */
  while (next_reply(r))
    ;
}

int
getxattr(struct rig *r, uint64_t id, const char *name, uint32_t size)
{
  struct fuse_getxattr_in in = {.size = size};

  return reply(r, request_names(r, FUSE_GETXATTR, id, &in, sizeof(in), name, NULL));
}

struct early
early_new(const char *options, uint32_t flags)
{
  struct early e = {.r = rig_new(options)};

  e.id = lookup(e.r, "f", &file_a);
  e.fh = open_file(e.r, e.id, flags);
  file_flags = flags;
  fake_script_always(e.r->s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 1000, .fill = fill_early});
  fake_forget_seen(e.r->s);
  return e;
}

void
early_ended(const struct early *e, uint32_t changes, const struct gi_iatt *found, const struct gi_iatt *left, int err)
{
  struct gi_inode *inode = gi_inode_find(e->r->s->graph, &found->gfid);
  struct gi_written w = {.inode = inode, .changes = changes, .err = err, .found = found, .left = left};

  assert_non_null(inode);
  fake_event(e->r->s, 0, GI_EVENT_WRITTEN, &w);
  gi_inode_unref(&inode);
}
