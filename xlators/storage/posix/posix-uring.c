/* SPDX-License-Identifier: Apache-2.0
 *
 * io_uring for what a read or an O_DIRECT write must wait for. One ring per
 * brick; completions ring an eventfd that the reactor watches. Submissions of
 * one turn leave in one system call, and what is complete by then (data that
 * came into the page cache meanwhile) is reaped without waiting.
 */
#include "xlators/storage/posix/posix.h"

#include <liburing.h>
#include <sys/eventfd.h>

#define ENTRIES 256
#define RETRY_AFTER GI_NSEC_PER_MSEC

#define URING_MAGIC 0x1d0b0510u

struct posix_uring {
  uint32_t magic;
  struct io_uring ring;
  struct posix *p;
  int event;
  struct gi_io io;
  struct gi_defer submit;
  struct gi_timer retry;
  unsigned queued, flying;
};

static void
reap(struct posix_uring *u)
{
  struct io_uring_cqe *cqe;
  GI_CHECK(u, URING_MAGIC);

  while (io_uring_peek_cqe(&u->ring, &cqe) == 0) {
    struct posix_op *op = io_uring_cqe_get_data(cqe);

    GI_CHECK(op, POSIX_OP_MAGIC);
    GI_ASSERT(u->flying > 0);
    op->uring_res = cqe->res;
    io_uring_cqe_seen(&u->ring, cqe);
    u->flying--;
    posix_uring_complete(op);
  }
}

static void
on_event(void *arg, unsigned events)
{
  struct posix_uring *u = arg;
  GI_CHECK(u, URING_MAGIC);
  uint64_t n;

  (void)events;
  if (read(u->event, &n, sizeof(n)) < 0 && errno != EAGAIN)
    gi_log(GI_LOG_WARNING, u->p->name, GI_MSG_POSIX + 21, "io_uring eventfd: %s", strerror(errno));
  reap(u);
}

/* What the kernel does not take now stays queued. If it takes nothing it may want its completions to be fetched first, or be short of
 * memory: it is asked again a little later and not in this turn. */
static void
submit_all(void *arg)
{
  struct posix_uring *u = arg;
  GI_CHECK(u, URING_MAGIC);
  GI_ASSERT(u->queued <= u->flying && u->flying <= ENTRIES);
  int n = io_uring_submit(&u->ring);

  if (n < 0)
    gi_log(GI_LOG_DEBUG, u->p->name, GI_MSG_POSIX + 22, "io_uring submit: %s", strerror(-n));
  else
    u->queued -= (unsigned)n < u->queued ? (unsigned)n : u->queued;
  reap(u);
  if (u->queued && n > 0)
    gi_defer_add(u->p->x->reactor, &u->submit);
  else if (u->queued && !u->retry.armed)
    gi_timer_set(&u->retry, RETRY_AFTER);
}

struct posix_uring *
posix_uring_new(struct posix *p)
{
  struct posix_uring *u = gi_new(struct posix_uring);
  int err = -io_uring_queue_init(ENTRIES, &u->ring, IORING_SETUP_CLAMP);

  if (err) {
    gi_free(u);
    errno = err;
    return NULL;
  }
  u->p = p;
  u->magic = URING_MAGIC;
  u->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  err = u->event < 0 ? errno : -io_uring_register_eventfd(&u->ring, u->event);
  if (err) {
    if (u->event >= 0)
      close(u->event);
    io_uring_queue_exit(&u->ring);
    gi_free(u);
    errno = err;
    return NULL;
  }
  gi_io_init(&u->io, p->x->reactor, u->event, on_event, u);
  gi_io_watch(&u->io, GI_IO_READ);
  gi_defer_init(&u->submit, submit_all, u);
  gi_timer_init(&u->retry, p->x->reactor, submit_all, u);
  return u;
}

void
posix_uring_free(struct posix_uring **ref)
{
  struct posix_uring *u = *ref;

  if (!u)
    return;
  GI_ASSERT(u->flying == 0 && u->queued <= ENTRIES);
  *ref = NULL;
  gi_defer_cancel(&u->submit);
  gi_timer_finish(&u->retry);
  gi_io_finish(&u->io);
  io_uring_queue_exit(&u->ring);
  u->magic = 0;
  close(u->event);
  gi_free(u);
}

bool
posix_uring_rw(struct posix_uring *u, struct posix_op *op, bool write, const struct iovec *iov, unsigned n, uint64_t offset)
{
  struct io_uring_sqe *sqe = u->flying < ENTRIES ? io_uring_get_sqe(&u->ring) : NULL;

  GI_CHECK(op, POSIX_OP_MAGIC);
  GI_ASSERT(op->fd >= 0 && n > 0 && n <= GI_PAYLOAD_SLICES);
  if (!sqe)
    return false; /* full: the worker pool takes it */
  if (write)
    io_uring_prep_writev2(sqe, op->fd, iov, n, offset == POSIX_AT_END ? 0 : offset, offset == POSIX_AT_END ? RWF_APPEND : 0);
  else
    io_uring_prep_readv(sqe, op->fd, iov, n, offset);
  io_uring_sqe_set_data(sqe, op);
  u->queued++;
  u->flying++;
  gi_defer_add(u->p->x->reactor, &u->submit);
  return true;
}
