/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations with any dictionary, on the translators of a brick as they stack
 * up, over a directory of its own: names that mean something somewhere, with
 * values of any type and length. Nothing crashes, every operation is answered,
 * and no file handle or operation is left.
 *
 * The bytes of an input are used up one after the other; at the end come zeros.
 */
#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OPERATIONS_MAX 24
#define TURNS_MAX 100000

static const char *const keys[] = {
    "trusted.afr.dirty",
    "trusted.afr.v-client-0",
    "trusted.afr.v-client-1",
    "trusted.gfid",
    "trusted.glusterfs.mdata",
    "trusted.glusterfs.volume-id",
    "trusted.glusterfs.dht",
    "trusted.io-stats-dump",
    "trusted.glusterfs.pathinfo",
    "trusted.gfid2path.0",
    "trusted.glusterfs.durable-op",
    "trusted.on-link",
    "trusted.pgfid.",
    "trusted.SGI_x",
    "user.a",
    "user.b",
    "user.",
    "security.selinux",
    "security.capability",
    "system.posix_acl_access",
    "system.posix_acl_default",
    "system.x",
    "glusterfs.posix.acl",
    "glusterfs.posix.default_acl",
    "glusterfs.content",
    "glusterfs.open-fd-count",
    "glusterfs.open-active-fd-count",
    "glusterfs.inodelk-count",
    "glusterfs.entrylk-count",
    "glusterfs.posixlk-count",
    "glusterfs.parent-entrylk",
    "glusterfs.inodelk-dom-count",
    "glusterfs.inodelk-dom-prefix:v",
    "glusterfs.multi-dom-lk-cnt-req",
    "glusterfs.write-is-append",
    "glusterfs.write-update-atomic",
    "glusterfs.gfidtopath",
    "glusterfs.gfid2path",
    "glusterfs.gfid.string",
    "glusterfs.pathinfo",
    "glusterfs.ancestry.path",
    "glusterfs.get_real_filename:f0",
    "glusterfs.clrlk.tinode.kall",
    "glusterfs.clrlk.tentry.kall",
    "glusterfs.clrlk.tposix.kblocked",
    "glusterfs.intrlk.tposix.kall",
    "glusterfs.lk.lkmode",
    "glusterfs.preop.parent.key",
    "glusterfs.xattrop_index_gfid",
    "glusterfs.xattrop_dirty_gfid",
    "glusterfs.xattrop_entry_changes_gfid",
    "glusterfs.xattrop_index_count",
    "glusterfs.xattrop-purge-index",
    "glusterfs.xattrop-entry-create",
    "glusterfs.xattrop-entry-delete",
    "glusterfs.index-ia-type-get-req",
    "glusterfs.internal-ctx",
    "glusterfs-internal-fop",
    "glusterish.regions",
    "glusterish.durable",
    "glusterish.near",
    "gfid-req",
    "set-ctime-mdata",
    "get-link-count",
    "link-count",
    "gf_request_link_count",
    "gf_get_file_block_count",
    "get-gfid-type",
    "get-size",
    "list-xattr",
    "force-replace",
    "unlinked-lookup",
    "unlink-only-if-dht-linkto-file",
    "sync_backend_xattrs",
    "batch-fsync",
    "umask",
    "mode",
    "dht-get-iatt-in-xattr",
    "dht-get-mode-in-xattr",
    "trusted.*",
    "",
};

static const char *const names[] = {"f0", "f1", "d0", "d1", "new0", "new1", "link", "x"};

static const enum gi_fop_kind kinds[] = {
    GI_FOP_CREATE,   GI_FOP_LOOKUP,    GI_FOP_STAT,
    GI_FOP_GETXATTR, GI_FOP_FGETXATTR, GI_FOP_SETXATTR,
    GI_FOP_SETXATTR, GI_FOP_FSETXATTR, GI_FOP_REMOVEXATTR,
    GI_FOP_XATTROP,  GI_FOP_XATTROP,   GI_FOP_XATTROP,
    GI_FOP_FXATTROP, GI_FOP_MKDIR,     GI_FOP_MKNOD,
    GI_FOP_UNLINK,   GI_FOP_RMDIR,     GI_FOP_RENAME,
    GI_FOP_LINK,     GI_FOP_SYMLINK,   GI_FOP_READ,
    GI_FOP_WRITE,    GI_FOP_TRUNCATE,  GI_FOP_READDIRP,
    GI_FOP_INODELK,  GI_FOP_ENTRYLK,   GI_FOP_LK,
    GI_FOP_SETATTR,  GI_FOP_FSYNC,     GI_FOP_RCHECKSUM,
    GI_FOP_ZEROFILL, GI_FOP_SEEK,      GI_FOP_COPY_FILE_RANGE,
    GI_FOP_ACCESS,   GI_FOP_READLINK,  GI_FOP_OPEN,
};

static struct gi_ctx ctx;
static char dir[64];
static struct gi_client_id client = {"fuzz", "127.0.0.1:1023"};
static unsigned under_way;

struct bytes {
  const uint8_t *p, *end;
};

static uint8_t
next(struct bytes *b)
{
  return b->p < b->end ? *b->p++ : 0;
}

static uint64_t
next_number(struct bytes *b)
{
  static const uint64_t odd[] = {0, 1, 4, 4096, 65536, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
  uint8_t how = next(b);
  return how < 128 ? how : odd[how % GI_ARRAY_LEN(odd)];
}

/* ---- the stack ---- */

static char *
volfile(void)
{
  return gi_asprintf(
      "volume posix\n type storage/posix\n option directory %s\n option io-engine inline\nend-volume\n"
      "volume ac\n type features/access-control\n subvolumes posix\nend-volume\n"
      "volume locks\n type features/locks\n subvolumes ac\nend-volume\n"
      "volume utime\n type features/utime\n subvolumes locks\nend-volume\n"
      "volume upcall\n type features/upcall\n option cache-invalidation on\n option cache-invalidation-strict on\n"
      " subvolumes utime\nend-volume\n"
      "volume index\n type features/index\n option index-base %s/.glusterfs/indices\n"
      " option xattrop-dirty-watchlist trusted.afr.dirty\n option xattrop-pending-watchlist trusted.afr.v-\n"
      " subvolumes upcall\nend-volume\n"
      "volume trace\n type debug/trace\n option log-history on\n option log-file off\n subvolumes index\nend-volume\n"
      "volume io-stats\n type debug/io-stats\n option count-fop-hits on\n option latency-measurement on\n"
      " subvolumes trace\nend-volume\n",
      dir, dir);
}

static void
settle(void)
{
  for (unsigned i = 0; (under_way || gi_reactor_busy(ctx.reactor)) && i < TURNS_MAX; i++)
    gi_reactor_turn(ctx.reactor, 0);
}

static void
start(void)
{
  struct gi_error err = {0};
  if (ctx.reactor)
    return;
  gi_log_set_level(GI_LOG_NONE);
  snprintf(dir, sizeof(dir), "/dev/shm/glusterish-fuzz-XXXXXX");
  if (!mkdtemp(dir) || setxattr(dir, "trusted.glusterish.probe", "1", 1, 0) < 0) {
    snprintf(dir, sizeof(dir), "/tmp/glusterish-fuzz-XXXXXX");
    if (!mkdtemp(dir)) {
      perror(dir);
      exit(1);
    }
  }
  setenv("GLUSTERISH_RUN_DIR", dir, 1);
  ctx.reactor = gi_reactor_new(0);
  ctx.process_name = "fuzz";
  GI_CLEANUP_FREE char *text = volfile();
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  ctx.graph = vf ? gi_graph_build(&ctx, &vf, NULL, &err) : NULL;
  if (!ctx.graph) {
    fprintf(stderr, "no brick here: %s\n", err.text); /* attributes of bricks need privileges */
    return;
  }
  gi_graph_activate(ctx.graph);
  settle();
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  return remove(path);
}

void
fuzz_finish(void)
{
  if (!ctx.reactor)
    return;
  gi_graph_free(&ctx.graph);
  gi_reactor_free(ctx.reactor);
  ctx.reactor = NULL;
  nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Any bytes will do: these are long enough for some operations. */
size_t
fuzz_seed(unsigned n, uint8_t *input, size_t room)
{
  uint32_t x = n * 2654435761u + 1;
  size_t len = 400;
  if (n >= 64)
    return 0;
  GI_ASSERT(len <= room);
  for (size_t i = 0; i < len; i++) {
    x = x * 1664525u + 1013904223u;
    input[i] = (uint8_t)(x >> 24);
  }
  return len;
}

/* ---- operations ---- */

static void
put_value(struct bytes *b, struct gi_dict *d, const char *key, uint32_t key_len)
{
  uint8_t bytes[256] = {0};
  struct gi_iatt st = {.mode = S_IFREG | 0644, .size = 7};
  enum gi_value_type type = 1 + next(b) % 9;
  uint64_t n = next_number(b);
  uint32_t len = type == GI_VALUE_GFUUID ? 16 : type == GI_VALUE_MDATA ? GI_MDATA_BYTES : (uint32_t)n % 64;
  uint8_t how = next(b);
  if (how % 4 == 0)
    len = type == GI_VALUE_GFUUID || type == GI_VALUE_MDATA ? len : 12; /* as counters are */
  for (uint32_t i = 0; i < len; i++)
    bytes[i] = how % 4 == 1 ? (uint8_t)('0' + next(b) % 64) : next(b);
  if (type == GI_VALUE_STR && len)
    bytes[len - 1] = 0;
  if (type == GI_VALUE_INT || type == GI_VALUE_UINT || type == GI_VALUE_DOUBLE)
    gi_dict_set_raw(d, key, key_len, type, &n, sizeof(n));
  else
    gi_dict_set_raw(d, key, key_len, type, type == GI_VALUE_IATT ? (void *)&st : bytes, len);
}

static struct gi_dict *
dictionary(struct bytes *b)
{
  unsigned n = next(b) % 5;
  struct gi_dict *d = n ? gi_dict_new() : NULL;
  for (unsigned i = 0; i < n; i++) {
    const char *key = keys[next(b) % GI_ARRAY_LEN(keys)];
    put_value(b, d, key[0] ? key : "k", key[0] ? (uint32_t)strlen(key) : 1);
  }
  return d;
}

/* An object by number: the root, or one that has perhaps been made. */
static struct gi_inode *
object(struct bytes *b)
{
  struct gi_gfid gfid = gi_gfid_root;
  uint8_t n = next(b) % 8;
  if (n > 1)
    memset(&gfid, n, sizeof(gfid));
  return gi_inode_get(ctx.graph, &gfid);
}

static void
set_entry(struct bytes *b, struct gi_fop *fop, struct gi_loc *loc)
{
  struct gi_inode *parent = object(b);
  gi_fop_set_entry(fop, loc, parent, names[next(b) % GI_ARRAY_LEN(names)]);
  gi_inode_unref(&parent);
}

static void
set_target(struct bytes *b, struct gi_fop *fop)
{
  struct gi_inode *inode = object(b);
  if (gi_fop_table[fop->kind].target == GI_TARGET_FD) {
    struct gi_fd *fd = gi_fd_new(ctx.graph, inode, O_RDWR, 1);
    fd->anonymous = fop->kind != GI_FOP_OPEN;
    gi_fop_set_fd(fop, fd);
    gi_fd_unref(&fd);
  } else {
    gi_loc_set_inode(&fop->loc, inode);
  }
  if (fop->kind == GI_FOP_COPY_FILE_RANGE) {
    fop->fd2 = gi_fd_anonymous(ctx.graph, inode);
    gi_loc_set_inode(&fop->loc2, inode);
  }
  gi_inode_unref(&inode);
}

static void
set_arguments(struct bytes *b, struct gi_fop *fop)
{
  struct gi_args *a = &fop->args;
  uint8_t how = next(b);
  a->flags = fop->kind == GI_FOP_XATTROP || fop->kind == GI_FOP_FXATTROP ? how % 7 : how & 3;
  a->mode = 0755;
  a->offset = next_number(b) % 100000;
  a->size = next_number(b) % 100000;
  a->cmd = how % 16;
  a->type = how % 3;
  a->valid = how;
  a->flock = (struct gi_flock){.type = how % 3, .start = a->offset, .len = a->size};
  if (fop->kind == GI_FOP_GETXATTR || fop->kind == GI_FOP_FGETXATTR || fop->kind == GI_FOP_REMOVEXATTR)
    a->name = keys[next(b) % GI_ARRAY_LEN(keys)];
  if (fop->kind == GI_FOP_SYMLINK)
    a->link = "target";
  if (fop->kind == GI_FOP_INODELK || fop->kind == GI_FOP_ENTRYLK)
    a->domain = "v";
  if (fop->kind == GI_FOP_SETXATTR || fop->kind == GI_FOP_FSETXATTR || fop->kind == GI_FOP_XATTROP ||
      fop->kind == GI_FOP_FXATTROP)
    a->dict = dictionary(b);
  if (fop->kind == GI_FOP_WRITE) {
    struct gi_buf *buf = gi_buf_new(100);
    memset(buf->base, how, 100);
    gi_payload_add(&fop->payload, buf, buf->base, 100);
    gi_buf_unref(&buf);
    a->size = 100;
  }
}

static bool
makes(enum gi_fop_kind kind)
{
  return kind == GI_FOP_MKDIR || kind == GI_FOP_MKNOD || kind == GI_FOP_CREATE || kind == GI_FOP_SYMLINK;
}

static void
done(struct gi_fop *fop, void *arg)
{
  under_way--;
  gi_fop_unref(fop);
}

static void
operate(struct bytes *b)
{
  struct gi_fop *fop = gi_fop_new(ctx.graph, kinds[next(b) % GI_ARRAY_LEN(kinds)]);
  uint8_t who = next(b);
  fop->caller =
      (struct gi_caller){.client = &client, .uid = who & 1 ? 1000 : 0, .gid = who & 1 ? 1000 : 0, .pid = who & 2 ? -6 : 1};
  fop->caller.owner.len = 8;
  fop->caller.owner.data[0] = 1 + (who >> 2 & 1);
  fop->xdata = dictionary(b);
  bool entry = gi_fop_table[fop->kind].target == GI_TARGET_ENTRY && fop->kind != GI_FOP_LINK;
  if (entry || (fop->kind == GI_FOP_LOOKUP && who & 8))
    set_entry(b, fop, &fop->loc);
  else
    set_target(b, fop);
  if (fop->kind == GI_FOP_RENAME || fop->kind == GI_FOP_LINK)
    set_entry(b, fop, &fop->loc2);
  if (fop->kind == GI_FOP_CREATE)
    fop->fd = gi_fd_new(ctx.graph, NULL, O_RDWR, 1);
  set_arguments(b, fop);
  if (makes(fop->kind) && !(who & 16)) {
    struct gi_gfid gfid;
    memset(&gfid, 2 + next(b) % 6, sizeof(gfid));
    gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &gfid);
  }
  under_way++;
  gi_fop_submit(fop, ctx.graph->top, done, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct bytes b = {data, data + size};
  start();
  if (!ctx.graph)
    return 0;
  for (unsigned i = 0; i < OPERATIONS_MAX && b.p < b.end; i++) {
    operate(&b);
    gi_reactor_turn(ctx.reactor, 0);
  }
  gi_notify_down(ctx.graph->top, GI_EVENT_CLIENT_GONE, &client);
  settle();
  GI_ASSERT(under_way == 0);
  GI_ASSERT(ctx.graph->fds_live == 0);
  return 0;
}
