/* SPDX-License-Identifier: Apache-2.0
 *
 * The session with the kernel: mounting, INIT, reading requests on the
 * reactor, noticing the unmount.
 *
 * Requests are read here and not by libfuse, so that the data of a WRITE lands
 * page aligned in a reference-counted buffer and is never copied: one readv
 * puts the first 80 bytes (header and arguments of a WRITE) into `request` and
 * what follows into `rx`. For any other opcode the few bytes that follow are
 * moved behind the first 80. While somebody keeps data, that of the next WRITE
 * lands right behind it, over the end of one buffer into the next: what was
 * written in a row and is kept lies in a row, as one slice for each megabyte.
 */
#include "fuse-internal.h"

#include <fuse_log.h>
#include <linux/fuse.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define READ_AGAIN_NS \
  (100 * GI_NSEC_PER_MSEC) /* after an error that passes: the device stays readable, waiting for it would spin */
#define CALM_TURNS 8       /* turns with a single read after one that found the device empty */

/* ---- INIT ---- */

/* libfuse passes on only the capabilities it knows by name; newer ones are read from the request and put into the reply. */
static void
note_offer(struct bridge *b)
{
  const struct fuse_in_header *h = (const void *)b->request;
  const struct fuse_init_in *in = session_request_args(b);

  b->init_offered = in->flags;
  if ((in->flags & COMPAT_INIT_EXT) && h->len >= sizeof(*h) + sizeof(*in))
    b->init_offered |= (uint64_t)in->flags2 << 32;
}

static void
complete_init_reply(struct bridge *b, struct iovec *iov, int count)
{
  if (count != 2 || iov[1].iov_len < sizeof(struct fuse_init_out))
    return; /* a refusal, or a kernel too old for any of this */

  struct fuse_init_out *out = iov[1].iov_base;

  out->flags |= (uint32_t)b->init_offered & FUSE_PARALLEL_DIROPS; /* libfuse 3.14 forgets it */
  if (b->init_offered & COMPAT_HANDLE_KILLPRIV_V2) {
    out->flags |= (uint32_t)COMPAT_HANDLE_KILLPRIV_V2;
    out->flags &= ~(uint32_t)FUSE_HANDLE_KILLPRIV;
  }
  if (b->init_offered & COMPAT_DIRECT_IO_ALLOW_MMAP) {
    out->flags |= (uint32_t)COMPAT_INIT_EXT;
    out->flags2 |= (uint32_t)(COMPAT_DIRECT_IO_ALLOW_MMAP >> 32);
  }
}

static ssize_t
device_writev(int fd, struct iovec *iov, int count, void *userdata)
{
  struct bridge *b = userdata;

  if (b->in_init)
    complete_init_reply(b, iov, count);
  return writev(fd, iov, count);
}

/* libfuse wants one; requests are read by read_request. */
static ssize_t
device_read(int fd, void *buf, size_t len, void *userdata)
{
  return read(fd, buf, len);
}

static void
do_init(void *userdata, struct fuse_conn_info *conn)
{
  struct bridge *b = userdata;
  const struct bridge_options *o = bridge_options(b);
  static const uint64_t wanted[] = {
      FUSE_CAP_ASYNC_READ,  FUSE_CAP_ASYNC_DIO,   FUSE_CAP_PARALLEL_DIROPS, FUSE_CAP_ATOMIC_O_TRUNC, FUSE_CAP_CACHE_SYMLINKS,
      FUSE_CAP_POSIX_LOCKS, FUSE_CAP_FLOCK_LOCKS, FUSE_CAP_DONT_MASK,       FUSE_CAP_EXPORT_SUPPORT,
  };

  /* Nothing is wanted that is not named here; splice costs two more system calls per request (fuse.md 11). */
  conn->want = 0;
  for (size_t i = 0; i < GI_ARRAY_LEN(wanted); i++)
    compat_want(conn, wanted[i]);
  compat_want(conn, o->auto_invalidation ? FUSE_CAP_AUTO_INVAL_DATA : FUSE_CAP_EXPLICIT_INVAL_DATA);
  if (o->use_readdirp)
    compat_want(conn, FUSE_CAP_READDIRPLUS);
  if (o->kernel_writeback_cache)
    compat_want(conn, FUSE_CAP_WRITEBACK_CACHE);
  if (o->acl)
    compat_want(conn, FUSE_CAP_POSIX_ACL);
  if (o->times_granularity)
    conn->time_gran = (unsigned)o->times_granularity;
  conn->max_write = BRIDGE_MAX_WRITE;
  conn->max_readahead = BRIDGE_MAX_WRITE;
  conn->max_background = (unsigned)o->background_qlen;
  conn->congestion_threshold = (unsigned)o->congestion_threshold;
  gi_log(GI_LOG_INFO, b->x->name, GI_MSG_FUSE + 10, "mounted on %s, kernel protocol %u.%u, write-back %s", o->mountpoint,
         conn->proto_major, conn->proto_minor, conn->want & FUSE_CAP_WRITEBACK_CACHE ? "on" : "off");
}

/* ---- reading ---- */

static void
read_again(void *arg)
{
  struct bridge *b = arg;

  if (b->state == BRIDGE_SERVING || b->state == BRIDGE_MOUNTING)
    gi_io_watch(&b->io, GI_IO_READ);
}

/* The kernel took the device away. Anything else passes: no memory, a security module that says no. */
static bool
is_end(int err)
{
  return err == ENODEV || err == ENOTCONN || err == ECONNABORTED || err == EBADF;
}

/* Bytes of one request; 0 = none waiting, or none can be had now; -1 = the session has ended. */
static ssize_t
read_request(struct bridge *b)
{
  struct iovec iov[3] = {{b->request, BRIDGE_HEADER}};
  int count = 1 + session_room(b, iov + 1);

  GI_ASSERT(iov[1].iov_len + iov[2].iov_len == BRIDGE_MAX_WRITE); /* the kernel gives none to a reader with less */

  for (;;) {
    ssize_t n;

    b->came = gi_ticks(b->x->reactor);
    n = readv(b->fd, iov, count);

    b->m.device_reads++;
    if (n > 0)
      return n;
    if (n < 0 && (errno == EINTR || errno == ENOENT)) /* ENOENT: the request was aborted before we saw it */
      continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      b->m.device_empty++;
      return 0;
    }
    if (n == 0 || is_end(errno))
      return -1;
    gi_log(GI_LOG_ERROR, b->x->name, GI_MSG_FUSE + 11, "reading /dev/fuse: %s; it is tried again", strerror(errno));
    gi_io_watch(&b->io, 0);
    gi_timer_set(&b->read_timer, READ_AGAIN_NS);
    return 0;
  }
}

static void
refuse(struct bridge *b)
{
  const struct fuse_in_header *h = (const void *)b->request;

  b->m.malformed++;
  gi_log(GI_LOG_ERROR, b->x->name, GI_MSG_FUSE + 12, "malformed request of %zu bytes dropped", b->request_len);
  if (b->request_len < sizeof(*h))
    return;

  struct fuse_out_header out = {.len = sizeof(out), .error = -EINVAL, .unique = h->unique};

  if (write(b->fd, &out, sizeof(out)) < 0)
    b->m.reply_errors++;
}

static void
complete_request(struct bridge *b, size_t len)
{
  struct gi_payload rest = {0};

  GI_ASSERT(len <= BRIDGE_MAX_WRITE); /* the request has room for no more */
  session_landed(b, len, &rest);
  for (uint32_t i = 0, at = BRIDGE_HEADER; i < rest.count; at += (uint32_t)rest.slice[i++].len)
    memcpy(b->request + at, rest.slice[i].data, rest.slice[i].len);
  gi_payload_clear(&rest);
}

static void
handle_request(struct bridge *b, size_t len)
{
  const struct fuse_in_header *h = (const void *)b->request;

  GI_ASSERT(len > 0 && len <= BRIDGE_HEADER + BRIDGE_MAX_WRITE);
  b->m.requests++;
  b->request_len = len;
  if (len > BRIDGE_HEADER && h->opcode != FUSE_WRITE)
    complete_request(b, len - BRIDGE_HEADER);
  if (!request_is_sound(b->request, len)) {
    refuse(b);
    return;
  }
  b->in_init = h->opcode == FUSE_INIT;
  if (b->in_init)
    note_offer(b);

  bool init = b->in_init;
  struct fuse_buf buf = {.size = len, .mem = b->request};

  fuse_session_process_buf(b->session->se, &buf);
  b->in_init = false;
  if (init && b->state == BRIDGE_MOUNTING) {
    bridge_enter(b, BRIDGE_SERVING);
    b->x->ctx->mount = b->x;
    b->x->ctx->leave = mount_leave;
    bridge_tell_ready(b, 0);
  }
}

void
session_ended(struct bridge *b)
{
  struct gi_ctx *ctx = b->x->ctx;
  bool serving = b->state == BRIDGE_SERVING;

  if (b->state == BRIDGE_ENDED)
    return;
  gi_io_watch(&b->io, 0);
  bridge_enter(b, BRIDGE_ENDED);
  ctx->leave = NULL;
  gi_log(GI_LOG_INFO, b->x->name, GI_MSG_FUSE + 13, "unmounted from %s", bridge_options(b)->mountpoint);
  if (!serving)
    bridge_tell_ready(b, ECONNABORTED);
  else if (ctx->on_unmount)
    ctx->on_unmount(ctx);
}

/* A database sends one request and waits for its reply, so a second read in the same turn would nearly always find nothing.
 * Several are read per turn only while that keeps finding some. */
static void
device_readable(void *arg, unsigned events)
{
  struct bridge *b = arg;
  unsigned budget = b->burst;

  bridge_check(b);
  while (budget-- > 0 && b->session && (b->state == BRIDGE_SERVING || b->state == BRIDGE_MOUNTING)) {
    ssize_t n = read_request(b);

    if (n < 0) {
      session_ended(b);
      return;
    }
    if (n == 0) {
      b->burst = 1;
      b->calm = CALM_TURNS;
      return;
    }
    handle_request(b, (size_t)n);
    b->came = 0;
  }
  if (b->calm > 0)
    b->calm--;
  else if (b->burst < BRIDGE_BURST)
    b->burst *= 2;
}

/* ---- begin and end ---- */

static void
log_libfuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
  char text[512];
  size_t len;

  vsnprintf(text, sizeof(text), fmt, ap);
  len = strlen(text);
  if (len && text[len - 1] == '\n')
    text[len - 1] = '\0';
  gi_log(level <= FUSE_LOG_WARNING ? GI_LOG_WARNING : GI_LOG_DEBUG, "libfuse", GI_MSG_FUSE + 14, "%s", text);
}

/* -1: an old kernel, or no device here. Then there is but the first. */
static int
open_second(int fd)
{
  uint32_t first = (uint32_t)fd;
  int second = open("/dev/fuse", O_RDWR | O_CLOEXEC);

  if (second >= 0 && ioctl(second, FUSE_DEV_IOC_CLONE, &first) != 0) {
    close(second);
    second = -1;
  }
  return second;
}

static int
open_session(struct bridge *b, struct gi_error *err)
{
  static const struct fuse_custom_io io = {.writev = device_writev, .read = device_read};
  const char *mountpoint = bridge_options(b)->mountpoint;
  struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
  struct fuse_session *se;

  fuse_set_log_func(log_libfuse);
  mount_args(b, &args);
  se = fuse_session_new(&args, &session_ops, sizeof(session_ops), b);
  fuse_opt_free_args(&args);
  if (!se)
    return gi_error_set(err, EINVAL, "the mount options are not accepted");
  b->session = gi_new(struct session);
  *b->session = (struct session){.magic = SESSION_MAGIC, .se = se, .r = b->x->reactor, .tell_fd = -1, .refs = 1};
  if (fuse_session_mount(se, mountpoint) != 0)
    return gi_error_set(err, EIO, "cannot mount on %s", mountpoint);
  b->fd = fuse_session_fd(se);
  if (fuse_session_custom_io(se, &io, b->fd) != 0)
    return gi_error_set(err, EIO, "cannot set up the session");
  if (fcntl(b->fd, F_SETFL, fcntl(b->fd, F_GETFL) | O_NONBLOCK) < 0)
    return gi_error_set(err, errno, "cannot set up /dev/fuse: %s", strerror(errno));
  b->session->tell_fd = open_second(b->fd);
  return 0;
}

int
session_start(struct bridge *b, struct gi_error *err)
{
  GI_ASSERT(!b->session && !b->request && b->fd < 0);
  if (open_session(b, err) < 0) {
    session_stop(b);
    return -1;
  }
  b->request = gi_alloc(BRIDGE_HEADER + BRIDGE_MAX_WRITE + 1);
  b->burst = 1;
  gi_timer_init(&b->read_timer, b->x->reactor, read_again, b);
  gi_io_init(&b->io, b->x->reactor, b->fd, device_readable, b);
  gi_io_watch(&b->io, GI_IO_READ);
  tune_mount(b);
  return 0;
}

void
session_stop(struct bridge *b)
{
  if (b->x->ctx->mount == b->x) {
    b->x->ctx->leave = NULL;
    b->x->ctx->mount = NULL;
  }
  if (b->io.r) {
    gi_timer_finish(&b->read_timer);
    gi_io_finish(&b->io);
  }
  memset(&b->io, 0, sizeof(b->io));
  if (b->session) {
    fuse_session_exit(b->session->se);
    fuse_session_unmount(b->session->se);
  }
  session_unref(&b->session);
  b->fd = -1;
  gi_free(b->request);
  b->request = NULL;
  gi_buf_unref(&b->rx);
  gi_buf_unref(&b->rx_next);
  GI_ASSERT(b->burst <= BRIDGE_BURST && !b->io.r);
}

const struct fuse_lowlevel_ops session_ops = {
    .init = do_init,
    .lookup = do_lookup,
    .forget = do_forget,
    .forget_multi = do_forget_multi,
    .getattr = do_getattr,
    .setattr = do_setattr,
    .readlink = do_readlink,
    .mknod = do_mknod,
    .mkdir = do_mkdir,
    .unlink = do_unlink,
    .rmdir = do_rmdir,
    .symlink = do_symlink,
    .rename = do_rename,
    .link = do_link,
    .open = do_open,
    .read = do_read,
    .write_buf = do_write_buf,
    .flush = do_flush,
    .release = do_release,
    .fsync = do_fsync,
    .opendir = do_opendir,
    .readdir = do_readdir,
    .readdirplus = do_readdirplus,
    .releasedir = do_releasedir,
    .fsyncdir = do_fsyncdir,
    .statfs = do_statfs,
    .setxattr = do_setxattr,
    .getxattr = do_getxattr,
    .listxattr = do_listxattr,
    .removexattr = do_removexattr,
    .access = do_access,
    .create = do_create,
    .getlk = do_getlk,
    .setlk = do_setlk,
    .flock = do_flock,
    .fallocate = do_fallocate,
    .copy_file_range = do_copy_file_range,
    .lseek = do_lseek,
    .ioctl = do_ioctl,
};
