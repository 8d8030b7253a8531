/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse without a kernel: the test is the kernel's side of the device, a
 * socket pair, and speaks the raw protocol; a scripted child is the volume.
 */
#ifndef FUSE_RIG_H
#define FUSE_RIG_H

#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUF_MAX (200u << 10)
/* A timeout in an answer, which counts from when the question came: to the second. */
static inline unsigned
seconds(uint64_t valid, uint32_t nsec)
{
  return (unsigned)valid + (nsec > GI_NSEC_PER_SEC / 2);
}

#define RIG_PROMISE_S 86400 /* of the volume (promise.h) */

/* What the kernel was told to drop. */
struct dropped {
  unsigned data, attributes, names;
  char name[256]; /* the last one */
};

struct rig {
  struct fake_stack *s;
  int fd; /* the kernel's end */
  uint64_t unique;
  uint32_t uid;
  _Alignas(16) uint8_t out[BUF_MAX]; /* last reply: header and body */
  ssize_t out_len;
  unsigned notifications; /* seen while waiting for replies */
  int32_t last_code;
  uint64_t last_id; /* first word of the last notification */
  struct dropped dropped;
  int ready, ready_err, unmounted;
  bool paused; /* what the kernel sends is not looked at */
};

/* what a scripted reply fills in */
struct answer {
  uint8_t n;
  uint32_t mode;
  uint64_t size, mtime;
};

/* A file that is open, above one that answers writes early. */
struct early {
  struct rig *r;
  uint64_t id, fh;
};

extern struct answer file_a;
extern uint32_t offered2;   /* what the kernel offers beyond 32 capabilities */
extern uint32_t file_flags; /* of the file that write_file writes to, as fcntl(2) has them by now */

void fill_stat(struct gi_fop *fop, void *arg);
void fill_early(struct gi_fop *fop, void *arg);
void pump(struct rig *r);
void send_raw(struct rig *r, const void *data, size_t len);
uint64_t request(struct rig *r, uint32_t opcode, uint64_t nodeid, const void *args, size_t len);
uint64_t request_names(struct rig *r, uint32_t opcode, uint64_t nodeid, const void *args, size_t len, const char *n1,
                       const char *n2);
bool next_reply(struct rig *r);
int reply(struct rig *r, uint64_t unique);
const void *body(const struct rig *r);
void send_init(struct rig *r);
struct rig *rig_new(const char *options);
void rig_free(struct rig *r);
uint64_t lookup(struct rig *r, const char *name, struct answer *a);
uint64_t open_file(struct rig *r, uint64_t nodeid, uint32_t flags);
void forget(struct rig *r, uint64_t nodeid, uint64_t n);
int getattr(struct rig *r, uint64_t nodeid, struct answer *a);
uint64_t write_file(struct rig *r, uint64_t nodeid, uint64_t fh, uint64_t off, uint32_t size, uint32_t flags);
void wait_notifications(struct rig *r);
int getxattr(struct rig *r, uint64_t id, const char *name, uint32_t size);
struct gi_iatt iatt_of(uint8_t n, uint32_t mode);
struct early early_new(const char *options, uint32_t flags);
/* What so many of the early answers were for is on the bricks, or is not. */
void early_ended(const struct early *e, uint32_t changes, const struct gi_iatt *found, const struct gi_iatt *left, int err);

#endif
