/* SPDX-License-Identifier: Apache-2.0
 *
 * A client against hostile bricks: mount/fuse over cluster/replicate over three
 * protocol/client, whose sockets lead to bricks that lie (hostile.h), and whose
 * kernel is this file: requests go in on one end of a socket pair, replies are
 * looked at on it. Nothing crashes, no request stays without an answer, no
 * reply is one that the kernel could not have asked for, nothing is left over,
 * and memory stays in bounds.
 *
 * The bytes of an input are used up one after the other, by the kernel and by
 * the bricks; at the end the bricks say the truth.
 */
#include "libglusterish/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hostile.h"
#include "tests/fuzz/virtual.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUESTS_MAX 40
#define TURNS_AFTER_EACH 12
#define IDS_MAX 32
#define BUFFER ((1u << 20) + 8192)
#define PATIENCE_NS (7200 * GI_NSEC_PER_SEC) /* whatever may wait has ended by then */
#define TURNS_MAX 400000
#define SECONDS_MAX 60            /* of one input, in a build with sanitizers on a busy machine */
#define GROWTH_MAX (256ull << 20) /* bytes of one input */

struct waiting {
  uint64_t unique;
  uint32_t opcode;
  uint32_t size; /* room for the answer */
  uint64_t node;
};

static struct {
  struct gi_ctx ctx;
  struct hostile *bricks;
  struct fuzz_bytes b;
  int fd; /* the kernel's end */
  bool ready, ended;
  uint64_t unique;
  struct waiting waiting[REQUESTS_MAX + 1];
  unsigned nwaiting;
  uint64_t node[IDS_MAX], handle[IDS_MAX], opened[IDS_MAX]; /* opened: the node that the handle is of */
  unsigned nnodes, nhandles;
  unsigned interrupts;
} k;

size_t
fuzz_seed(unsigned n, uint8_t *input, size_t room)
{
  uint32_t x = n * 2654435761u + 1;
  size_t len = 200 + n * 20;
  if (n >= 100)
    return 0;
  GI_ASSERT(len <= room);
  for (size_t i = 0; i < len; i++) {
    x = x * 1664525u + 1013904223u;
    input[i] = (uint8_t)(x >> 24);
  }
  return len;
}

void
fuzz_finish(void)
{
}

/* ---- replies ---- */

static void
note_node(uint64_t id)
{
  if (k.nnodes < IDS_MAX)
    k.node[k.nnodes++] = id;
  else
    k.node[id % IDS_MAX] = id;
}

static void
note_handle(uint64_t id, uint64_t node)
{
  unsigned n = k.nhandles < IDS_MAX ? k.nhandles++ : (unsigned)(id % IDS_MAX);
  k.handle[n] = id;
  k.opened[n] = node;
}

static void
check_entries(const uint8_t *p, size_t len, size_t before)
{
  while (len > 0) {
    GI_ASSERT(len >= before + FUSE_NAME_OFFSET);
    const struct fuse_dirent *e = (const void *)(p + before);
    size_t size = before + FUSE_DIRENT_SIZE(e);
    GI_ASSERT(e->namelen > 0 && size <= len && !memchr(e->name, '/', e->namelen) && !memchr(e->name, 0, e->namelen));
    p += size;
    len -= size;
  }
}

static void
check_body(const struct waiting *w, const uint8_t *body, size_t len)
{
  const struct fuse_entry_out *entry = (const void *)body;
  switch (w->opcode) {
  case FUSE_CREATE:
    GI_ASSERT(len == sizeof(*entry) + sizeof(struct fuse_open_out));
    note_handle(((const struct fuse_open_out *)(entry + 1))->fh, entry->nodeid);
    note_node(entry->nodeid);
    break;
  case FUSE_LOOKUP:
  case FUSE_MKNOD:
  case FUSE_MKDIR:
  case FUSE_SYMLINK:
  case FUSE_LINK:
    GI_ASSERT(len == sizeof(*entry));
    if (entry->nodeid)
      note_node(entry->nodeid);
    break;
  case FUSE_OPEN:
  case FUSE_OPENDIR:
    GI_ASSERT(len == sizeof(struct fuse_open_out));
    note_handle(((const struct fuse_open_out *)body)->fh, w->node);
    break;
  case FUSE_READ:
    GI_ASSERT(len <= w->size);
    break;
  case FUSE_READDIR:
  case FUSE_READDIRPLUS:
    GI_ASSERT(len <= w->size);
    check_entries(body, len, w->opcode == FUSE_READDIR ? 0 : sizeof(struct fuse_entry_out));
    break;
  case FUSE_GETXATTR:
  case FUSE_LISTXATTR:
    GI_ASSERT(w->size ? len <= w->size : len == sizeof(struct fuse_getxattr_out));
    break;
  case FUSE_WRITE:
  case FUSE_COPY_FILE_RANGE:
    GI_ASSERT(len == sizeof(struct fuse_write_out) && ((const struct fuse_write_out *)body)->size <= w->size);
    break;
  case FUSE_READLINK:
    GI_ASSERT(len > 0 && len <= 4096);
    break;
  }
}

/* Takes one message of the bridge, a notification or a reply. */
static bool
kernel_turn(void)
{
  static _Alignas(16) uint8_t out[BUFFER];
  const struct fuse_out_header *h = (void *)out;
  ssize_t n = k.fd >= 0 ? recv(k.fd, out, sizeof(out), MSG_DONTWAIT) : -1;
  if (n <= 0)
    return false;
  GI_ASSERT((size_t)n >= sizeof(*h) && h->len == (uint32_t)n);
  if (h->unique == 0)
    return true;
  GI_ASSERT(h->error <= 0 && h->error > -1000);
  for (unsigned i = 0; i < k.nwaiting; i++) {
    struct waiting w = k.waiting[i];
    if (w.unique != h->unique)
      continue;
    k.waiting[i] = k.waiting[--k.nwaiting];
    GI_ASSERT(h->error == 0 || (size_t)n == sizeof(*h));
    if (h->error == 0)
      check_body(&w, out + sizeof(*h), (size_t)n - sizeof(*h));
    return true;
  }
  GI_ASSERT(h->error == -EAGAIN); /* an interrupt of what has ended */
  return true;
}

/* ---- turning ---- */

static bool
turn(void)
{
  gi_reactor_turn(k.ctx.reactor, 0);
  bool any = hostile_turn(k.bricks);
  while (kernel_turn())
    any = true;
  return any;
}

/* Until nothing waits any more, however long that takes on the clock. */
static void
settle(bool (*over)(void))
{
  uint64_t end = virtual_now() + PATIENCE_NS;
  unsigned idle = 0;
  for (unsigned n = 0; !over(); n++) {
    GI_ASSERT(n < TURNS_MAX);
    idle = turn() ? 0 : idle + 1;
    if (idle > 2 && !virtual_pass(PATIENCE_NS))
      idle = 1000;
    GI_ASSERT(idle < 1000 && virtual_now() < end);
  }
}

static bool
is_up(void)
{
  return k.ready || k.ended;
}

static bool
all_answered(void)
{
  return k.nwaiting == 0;
}

static bool
nothing_left(void)
{
  return k.ctx.graph->fops_live == 0 && k.ctx.graph->fds_live == 0 && !gi_reactor_busy(k.ctx.reactor);
}

/* ---- requests ---- */

static void
ask(uint32_t opcode, uint64_t nodeid, const void *args, size_t len, uint32_t size, bool answered)
{
  static _Alignas(16) uint8_t in[BUFFER];
  struct fuse_in_header h = {.len = (uint32_t)(sizeof(h) + len), .opcode = opcode, .unique = ++k.unique, .nodeid = nodeid};
  uint8_t who = fuzz_next(&k.b);
  h.uid = h.gid = who & 1 ? 1000 : 0;
  memcpy(in, &h, sizeof(h));
  if (len)
    memcpy(in + sizeof(h), args, len);
  if (k.fd < 0 || send(k.fd, in, sizeof(h) + len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(sizeof(h) + len) || !answered)
    return;
  GI_ASSERT(k.nwaiting < GI_ARRAY_LEN(k.waiting));
  k.waiting[k.nwaiting++] = (struct waiting){h.unique, opcode, size, nodeid};
}

static uint64_t
a_node(void)
{
  unsigned n = fuzz_next(&k.b);
  return k.nnodes && n % 8 ? k.node[n % k.nnodes] : n % 16 == 8 ? n : FUSE_ROOT_ID;
}

/* Nearly always one that is open; then *nodeid is its node. */
static uint64_t
a_handle(uint64_t *nodeid)
{
  unsigned n = fuzz_next(&k.b);
  if (!k.nhandles || n > 248)
    return n;
  *nodeid = k.opened[n % k.nhandles];
  return k.handle[n % k.nhandles];
}

static const char *
a_name(void)
{
  static const char *const names[] = {"f0", "f1", "d0", "l0", "new0", "new1", "x", ".glusterfs"};
  return names[fuzz_next(&k.b) % GI_ARRAY_LEN(names)];
}

static const char *
an_attribute(void)
{
  static const char *const names[] = {"user.a",
                                      "security.capability",
                                      "system.posix_acl_access",
                                      "trusted.afr.v-client-0",
                                      "trusted.glusterfs.pathinfo",
                                      "glusterfs.heal-info",
                                      "trusted.glusterfs.mdata",
                                      "glusterfs.gfidtopath",
                                      "security.selinux",
                                      "user.x"};
  return names[fuzz_next(&k.b) % GI_ARRAY_LEN(names)];
}

/* Arguments, then up to two names, then bytes. */
static void
ask_names(uint32_t opcode, uint64_t nodeid, const void *args, size_t len, const char *n1, const char *n2, uint32_t size)
{
  uint8_t buf[1024];
  if (len)
    memcpy(buf, args, len);
  for (const char **n = (const char *[]){n1, n2, NULL}; *n; n++) {
    memcpy(buf + len, *n, strlen(*n) + 1);
    len += strlen(*n) + 1;
  }
  ask(opcode, nodeid, buf, len, size, true);
}

static void
ask_write(uint64_t nodeid)
{
  static uint8_t buf[sizeof(struct fuse_write_in) + 65536];
  uint32_t size = fuzz_next(&k.b) % 8 ? 1 + fuzz_next(&k.b) : 65536;
  struct fuse_write_in in = {.fh = a_handle(&nodeid), .offset = fuzz_number(&k.b) % INT64_MAX, .size = size, .flags = O_RDWR};
  if (fuzz_next(&k.b) % 4 == 0)
    in.flags |= O_APPEND;
  memcpy(buf, &in, sizeof(in));
  ask(FUSE_WRITE, nodeid, buf, sizeof(in) + size, size, true);
}

static void
ask_lock(uint64_t nodeid)
{
  static const uint32_t kinds[] = {FUSE_GETLK, FUSE_SETLK, FUSE_SETLKW};
  uint32_t kind = kinds[fuzz_next(&k.b) % 3];
  struct fuse_lk_in in = {.fh = a_handle(&nodeid), .owner = fuzz_next(&k.b) % 2};
  in.lk = (struct fuse_file_lock){.start = fuzz_next(&k.b), .end = INT64_MAX, .type = fuzz_next(&k.b) % 3, .pid = 5};
  in.lk_flags = kind != FUSE_GETLK && fuzz_next(&k.b) % 2 ? FUSE_LK_FLOCK : 0;
  ask(kind, nodeid, &in, sizeof(in), 0, true);
}

static void
ask_of_names(unsigned which, uint64_t nodeid)
{
  struct fuse_mknod_in mknod = {.mode = S_IFREG | 0644};
  struct fuse_mkdir_in mkdir = {.mode = 0755};
  struct fuse_rename2_in rename = {.newdir = FUSE_ROOT_ID, .flags = fuzz_next(&k.b) % 2};
  struct fuse_link_in link = {.oldnodeid = nodeid};
  struct fuse_create_in create = {.flags = O_RDWR | O_CREAT, .mode = S_IFREG | 0644};
  switch (which) {
  case 0:
    ask_names(FUSE_MKNOD, FUSE_ROOT_ID, &mknod, sizeof(mknod), a_name(), NULL, 0);
    break;
  case 1:
    ask_names(FUSE_MKDIR, FUSE_ROOT_ID, &mkdir, sizeof(mkdir), a_name(), NULL, 0);
    break;
  case 2:
    ask_names(FUSE_UNLINK, FUSE_ROOT_ID, NULL, 0, a_name(), NULL, 0);
    break;
  case 3:
    ask_names(FUSE_RMDIR, FUSE_ROOT_ID, NULL, 0, a_name(), NULL, 0);
    break;
  case 4:
    ask_names(FUSE_RENAME2, FUSE_ROOT_ID, &rename, sizeof(rename), a_name(), a_name(), 0);
    break;
  case 5:
    ask_names(FUSE_LINK, FUSE_ROOT_ID, &link, sizeof(link), a_name(), NULL, 0);
    break;
  case 6:
    ask_names(FUSE_SYMLINK, FUSE_ROOT_ID, NULL, 0, a_name(), "target", 0);
    break;
  default:
    ask_names(FUSE_CREATE, FUSE_ROOT_ID, &create, sizeof(create), a_name(), NULL, 0);
  }
}

static void
ask_of_attributes(unsigned which, uint64_t nodeid)
{
  uint32_t size = fuzz_next(&k.b) % 2 ? 0 : 1 + fuzz_next(&k.b) * 256u;
  struct fuse_getxattr_in get = {.size = size};
  struct {
    struct {
      uint32_t size, flags;
    } in;
    char rest[64];
  } set = {.in = {.size = 4}};
  const char *name = an_attribute();
  switch (which) {
  case 0:
    ask_names(FUSE_GETXATTR, nodeid, &get, sizeof(get), name, NULL, size);
    break;
  case 1:
    ask(FUSE_LISTXATTR, nodeid, &get, sizeof(get), size, true);
    break;
  case 2:
    ask_names(FUSE_REMOVEXATTR, nodeid, NULL, 0, name, NULL, 0);
    break;
  default:
    snprintf(set.rest, sizeof(set.rest), "%s", name);
    ask(FUSE_SETXATTR, nodeid, &set, sizeof(set.in) + strlen(name) + 1 + 4, 0, true);
  }
}

static void
ask_of_data(unsigned which, uint64_t nodeid)
{
  struct fuse_read_in read = {
      .fh = a_handle(&nodeid), .offset = fuzz_number(&k.b) % INT64_MAX, .size = 1 + fuzz_next(&k.b) * 512u};
  struct fuse_fallocate_in fallocate = {.fh = read.fh, .length = 1 + fuzz_next(&k.b), .mode = fuzz_next(&k.b) % 4};
  struct fuse_lseek_in lseek = {.fh = read.fh, .offset = fuzz_next(&k.b), .whence = SEEK_DATA + fuzz_next(&k.b) % 2};
  struct fuse_copy_file_range_in copy = {.fh_in = read.fh, .nodeid_out = nodeid, .fh_out = read.fh, .len = 1 + fuzz_next(&k.b)};
  struct fuse_fsync_in fsync = {.fh = read.fh};
  struct fuse_flush_in flush = {.fh = read.fh};
  switch (which) {
  case 0:
  case 1:
    ask(FUSE_READ, nodeid, &read, sizeof(read), read.size, true);
    break;
  case 2:
    ask(FUSE_FALLOCATE, nodeid, &fallocate, sizeof(fallocate), 0, true);
    break;
  case 3:
    ask(FUSE_LSEEK, nodeid, &lseek, sizeof(lseek), 0, true);
    break;
  case 4:
    ask(FUSE_COPY_FILE_RANGE, nodeid, &copy, sizeof(copy), (uint32_t)copy.len, true);
    break;
  case 5:
    ask(FUSE_FSYNC, nodeid, &fsync, sizeof(fsync), 0, true);
    break;
  case 6:
    ask(FUSE_FLUSH, nodeid, &flush, sizeof(flush), 0, true);
    break;
  default:
    ask_write(nodeid);
  }
}

static void
release_one(void)
{
  uint64_t nodeid;
  if (!k.nhandles)
    return;
  unsigned n = fuzz_next(&k.b) % k.nhandles;
  struct fuse_release_in in = {.fh = k.handle[n]};
  nodeid = k.opened[n];
  k.handle[n] = k.handle[--k.nhandles];
  k.opened[n] = k.opened[k.nhandles];
  ask(FUSE_RELEASE, nodeid, &in, sizeof(in), 0, true);
}

static void
ask_of_nodes(unsigned which, uint64_t nodeid)
{
  struct fuse_open_in open = {.flags = which & 1 ? O_RDWR : O_RDONLY};
  struct fuse_getattr_in getattr = {0};
  struct fuse_setattr_in setattr = {.valid = 1u << fuzz_next(&k.b) % 9, .mode = 0600, .size = fuzz_number(&k.b) % INT64_MAX};
  uint64_t dir = FUSE_ROOT_ID;
  struct fuse_read_in list = {.fh = which == 3 || which == 4 ? a_handle(&dir) : 0, .offset = fuzz_next(&k.b) % 8, .size = 4096};
  struct fuse_forget_in forget = {.nlookup = 1};
  struct fuse_interrupt_in interrupt = {.unique = k.nwaiting ? k.waiting[k.nwaiting - 1].unique : 1};
  struct fuse_access_in access = {.mask = 4};
  switch (which) {
  case 0:
  case 1:
    ask(FUSE_OPEN, nodeid, &open, sizeof(open), 0, true);
    break;
  case 2:
    ask(FUSE_OPENDIR, FUSE_ROOT_ID, &open, sizeof(open), 0, true);
    break;
  case 3:
  case 4:
    ask(which == 3 ? FUSE_READDIR : FUSE_READDIRPLUS, dir, &list, sizeof(list), list.size, true);
    break;
  case 5:
    ask(FUSE_GETATTR, nodeid, &getattr, sizeof(getattr), 0, true);
    break;
  case 6:
    ask(FUSE_SETATTR, nodeid, &setattr, sizeof(setattr), 0, true);
    break;
  case 7:
    ask(FUSE_READLINK, nodeid, NULL, 0, 0, true);
    break;
  case 8:
    ask(FUSE_STATFS, nodeid, NULL, 0, 0, true);
    break;
  case 9:
    release_one();
    break;
  case 10:
    ask(FUSE_FORGET, nodeid, &forget, sizeof(forget), 0, false);
    break;
  case 11:
    k.interrupts++;
    ask(FUSE_INTERRUPT, 0, &interrupt, sizeof(interrupt), 0, false);
    break;
  case 12:
    ask(FUSE_ACCESS, nodeid, &access, sizeof(access), 0, true);
    break;
  default:
    ask_lock(nodeid);
  }
}

static void
request(void)
{
  uint8_t which = fuzz_next(&k.b);
  uint64_t nodeid = a_node();
  if (which < 40)
    ask_names(FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, a_name(), NULL, 0);
  else if (which < 80)
    ask_of_names(which % 8, nodeid);
  else if (which < 110)
    ask_of_attributes(which % 4, nodeid);
  else if (which < 180)
    ask_of_data(which % 9, nodeid);
  else
    ask_of_nodes(which % 15, nodeid);
}

/* ---- the client ---- */

static void
on_ready(struct gi_ctx *ctx, int err)
{
  k.ready = err == 0;
  k.ended = err != 0;
}

static void
on_unmount(struct gi_ctx *ctx)
{
  k.ended = true;
}

static char *
volfile(int device, uint8_t how)
{
  char *text = gi_strdup("");
  for (unsigned i = 0; i < HOSTILE_BRICKS; i++) {
    char *more = gi_asprintf("%svolume v-client-%u\n type protocol/client\n option remote-host 127.0.0.1\n"
                             " option remote-subvolume /b%u\n option connections-per-brick %u\nend-volume\n",
                             text, i, i, i == 2 && how & 1 ? 3 : 1);
    gi_free(text);
    text = more;
  }
  char *all = gi_asprintf(
      "%svolume v-replicate-0\n type cluster/replicate\n option afr-pending-xattr v-client-0,v-client-1,v-client-2\n"
      "%s%s subvolumes v-client-0 v-client-1 v-client-2\nend-volume\n"
      "volume v\n type mount/fuse\n option mountpoint /dev/fd/%d\n%s%s subvolumes v-replicate-0\nend-volume\n",
      text, how & 2 ? " option post-op-delay-secs 0\n" : "", how & 4 ? " option arbiter-count 1\n" : "", device,
      how & 8 ? " option kernel-writeback-cache on\n" : "", how & 16 ? " option acl on\n option selinux on\n" : "");
  gi_free(text);
  return all;
}

static void
mount_it(int device)
{
  struct gi_error err = {0};
  uint8_t how = fuzz_next(&k.b);
  GI_CLEANUP_FREE char *text = volfile(device, how);
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  k.ctx.graph = vf ? gi_graph_build(&k.ctx, &vf, NULL, &err) : NULL;
  if (!k.ctx.graph)
    fprintf(stderr, "no client here: %s\n", err.text);
  GI_ASSERT(k.ctx.graph != NULL);
  gi_graph_activate(k.ctx.graph);
  settle(is_up);
}

static void
send_init(void)
{
  struct fuse_init_in in = {.major = 7, .minor = 38, .max_readahead = 1 << 20};
  in.flags = FUSE_ASYNC_READ | FUSE_POSIX_LOCKS | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES | FUSE_DONT_MASK | FUSE_FLOCK_LOCKS |
             FUSE_DO_READDIRPLUS | FUSE_WRITEBACK_CACHE | FUSE_HANDLE_KILLPRIV | FUSE_POSIX_ACL | FUSE_MAX_PAGES |
             FUSE_EXPLICIT_INVAL_DATA | FUSE_HANDLE_KILLPRIV_V2 | FUSE_INIT_EXT;
  ask(FUSE_INIT, 0, &in, sizeof(in), 0, true);
}

/* The bridge closes its end of the device when it has used it. */
static void
close_device(int device, const struct stat *was)
{
  struct stat now;
  if (fstat(device, &now) == 0 && now.st_ino == was->st_ino)
    close(device);
}

static void
run(void)
{
  for (unsigned i = 0; i < REQUESTS_MAX - 1 && k.b.p < k.b.end && !k.ended; i++) {
    request();
    for (unsigned n = fuzz_next(&k.b) % TURNS_AFTER_EACH; n > 0; n--)
      turn();
    if (fuzz_next(&k.b) % 16 == 0)
      virtual_pass(PATIENCE_NS);
  }
  hostile_repent(k.bricks);
  settle(all_answered);
  while (k.interrupts-- > 0) { /* libfuse keeps one that was too late until another request comes */
    ask(FUSE_STATFS, FUSE_ROOT_ID, NULL, 0, 0, true);
    settle(all_answered);
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  int fd[2], room = 1 << 20;
  struct stat device;
  size_t used = mallinfo2().uordblks;
  signal(SIGPIPE, SIG_IGN);
  gi_log_set_level(GI_LOG_NONE);
  alarm(SECONDS_MAX);
  memset(&k, 0, sizeof(k));
  k.b = (struct fuzz_bytes){data, data + size};
  GI_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) == 0);
  for (int i = 0; i < 2; i++)
    setsockopt(fd[i], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
  fstat(fd[1], &device);
  k.fd = fd[0];
  k.ctx =
      (struct gi_ctx){.reactor = virtual_reactor_new(), .process_name = "fuzz", .on_ready = on_ready, .on_unmount = on_unmount};
  k.bricks = hostile_new(&k.ctx, &k.b);
  send_init();
  mount_it(fd[1]);
  if (k.ready) {
    hostile_serving(k.bricks);
    run();
  }
  GI_ASSERT(mallinfo2().uordblks < used + GROWTH_MAX);
  hostile_repent(k.bricks);
  close(k.fd);
  k.fd = -1;
  gi_graph_deactivate(k.ctx.graph);
  settle(nothing_left);
  gi_graph_free(&k.ctx.graph);
  close_device(fd[1], &device);
  hostile_free(&k.bricks);
  gi_reactor_free(k.ctx.reactor);
  alarm(0);
  return 0;
}
