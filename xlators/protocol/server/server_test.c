/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/server: what clients may name, their handles and their end (through
 * protocol/client), and hostile records (through a bare socket).
 */
#include "libglusterish/load.h"
#include "rpc/callback.h"
#include "rpc/fop-codec.h"
#include "rpc/message.h"
#include "tests/unit/brick-bench.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the caller ---- */

struct seen {
  unsigned calls;
  uint32_t uid, gid, ngroups, group[4];
  int32_t pid;
  struct gi_gfid gfid, pargfid;
  char name[256];
};

static void
look(struct gi_fop *fop, void *arg)
{
  struct seen *s = arg;
  s->calls++;
  s->uid = fop->caller.uid;
  s->gid = fop->caller.gid;
  s->ngroups = fop->caller.ngroups;
  s->pid = fop->caller.pid;
  for (uint32_t i = 0; i < s->ngroups && i < GI_ARRAY_LEN(s->group); i++)
    s->group[i] = fop->caller.groups[i];
  s->gfid = fop->loc.gfid;
  s->pargfid = fop->loc.pargfid;
  snprintf(s->name, sizeof(s->name), "%s", fop->loc.name ? fop->loc.name : "");
}

static struct seen
stat_as(struct bench *b, uint32_t uid, int32_t pid)
{
  struct seen s = {0};
  struct gi_fop *f = fake_fop(b->client, GI_FOP_STAT);
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  static const uint32_t groups[] = {4, 0, 7};
  f->caller.uid = f->caller.gid = uid;
  f->caller.pid = pid;
  f->caller.groups = groups;
  f->caller.ngroups = uid == 5 ? 3 : 0;
  fake_script(b->server, 0, GI_FOP_STAT, (struct fake_reply){.fill = look, .arg = &s});
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(s.calls, 1);
  return s;
}

static void
test_squash(void **state)
{
  struct bench *b = bench_new("option root-squash on\noption anonuid 99\n", NULL, true);
  assert_int_equal(stat_as(b, 0, 1).uid, 99);
  assert_int_equal(stat_as(b, 0, 1).gid, 65534);
  assert_int_equal(stat_as(b, 5, 1).uid, 5);
  assert_int_equal(stat_as(b, 0, -6).uid, 99); /* not a trusted client */
  assert_int_equal(stat_as(b, 0, -6).pid, 0);
  assert_int_equal(stat_as(b, 0, 17).pid, 17);
  assert_int_equal(stat_as(b, 5, 1).group[0], 4); /* who is not squashed is not in root's group either */
  assert_int_equal(stat_as(b, 5, 1).group[1], 65534);
  assert_int_equal(stat_as(b, 5, 1).group[2], 7);
  bench_free(b);
  b = bench_new("option root-squash on\noption auth.login.child-0.allow joe\noption auth.login.joe.password s\n",
                "option username joe\noption password s\n", true);
  assert_int_equal(stat_as(b, 0, -6).uid, 0);
  assert_int_equal(stat_as(b, 0, -6).pid, -6);
  assert_int_equal(stat_as(b, 0, 1).uid, 65534);
  bench_free(b);
  b = bench_new("option all-squash on\n", NULL, true);
  assert_int_equal(stat_as(b, 5, 1).uid, 65534);
  bench_free(b);
}

static uint32_t groups_of[700];

/* A reply tells how many groups arrived, and that they are the ones sent. */
static void
count_groups(struct gi_fop *fop, void *arg)
{
  *(uint32_t *)arg = fop->caller.ngroups;
  assert_memory_equal(fop->caller.groups, groups_of, fop->caller.ngroups * sizeof(groups_of[0]));
  assert_null(gi_dict_get(fop->xdata, GI_GROUPS_KEY));
}

static uint32_t
groups_arrived(struct bench *b, uint32_t n, uint32_t owner)
{
  uint32_t got = 0;
  struct gi_fop *f = fake_fop(b->client, GI_FOP_STAT);
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  f->caller.uid = 5;
  f->caller.groups = groups_of;
  f->caller.ngroups = n;
  f->caller.owner.len = owner;
  fake_script(b->server, 0, GI_FOP_STAT, (struct fake_reply){.fill = count_groups, .arg = &got});
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  return got;
}

static void
test_any_number_of_groups(void **state)
{
  static const uint32_t numbers[] = {0, 1, 82, 83, 84, 86, 87, 88, 91, 92, 93, 200, 700};
  struct bench *b = bench_new(NULL, NULL, true);
  for (uint32_t i = 0; i < GI_ARRAY_LEN(groups_of); i++)
    groups_of[i] = 1000 + i;
  for (size_t i = 0; i < GI_ARRAY_LEN(numbers); i++) {
    assert_int_equal(groups_arrived(b, numbers[i], 0), numbers[i]);
    assert_int_equal(groups_arrived(b, numbers[i], 8), numbers[i]);
    assert_int_equal(groups_arrived(b, numbers[i], 91), numbers[i]);
  }
  bench_free(b);
}

static void
test_manage_gids(void **state)
{
  struct bench *b = bench_new("option manage-gids on\n", NULL, true);
  assert_true(stat_as(b, 65534, 1).ngroups >= 1); /* nobody */
  assert_true(stat_as(b, 65534, 1).ngroups >= 1); /* from the cache */
  assert_int_equal(stat_as(b, 4000000000u, 1).ngroups, 0);
  bench_free(b);
}

/* ---- what healers are told ---- */

static void
test_healers_learn_how_the_foreground_does(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_load load = {0};
  for (int i = 0; i < 3; i++)
    stat_as(b, 0, 100);
  struct gi_fop *f = fake_fop(b->client, GI_FOP_STAT);
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  f->caller.pid = -6;
  bench_submit(b, f);
  assert_true(gi_load_get(f->rsp.xdata, &load));
  assert_int_equal(load.ops, 3);

  f = fake_fop(b->client, GI_FOP_STAT);
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  bench_submit(b, f);
  assert_false(gi_load_get(f->rsp.xdata, &load));
  bench_free(b);
}

/* ---- names ---- */

static int
lookup(struct bench *b, const struct gi_gfid *parent, const char *name, struct seen *s)
{
  struct gi_fop *f = fake_fop(b->client, GI_FOP_LOOKUP);
  struct gi_inode *inode = gi_inode_get(b->client->graph, parent);
  gi_fop_set_entry(f, &f->loc, inode, name);
  gi_inode_unref(&inode);
  fake_script_clear(b->server);
  fake_script(b->server, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = look, .arg = s});
  bench_submit(b, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

static void
test_names(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct seen s = {0};
  char too_long[300];
  memset(too_long, 'x', 256);
  too_long[256] = 0;
  assert_int_equal(lookup(b, &gi_gfid_root, "a/b", &s), EPERM);
  assert_int_equal(lookup(b, &gi_gfid_root, ".glusterfs", &s), EPERM);
  assert_int_equal(lookup(b, &gi_gfid_root, too_long, &s), ENAMETOOLONG);
  assert_int_equal(s.calls, 0);
  assert_int_equal(lookup(b, &gi_gfid_root, "fine", &s), 0);
  assert_string_equal(s.name, "fine");
  assert_int_equal(lookup(b, &gi_gfid_root, "..", &s), 0);
  assert_string_equal(s.name, "."); /* not out of the brick */

  struct gi_fop *f = fake_fop(b->client, GI_FOP_RMDIR);
  gi_fop_set_entry(f, &f->loc, fake_inode(b->client, 3), "..");
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EINVAL);
  bench_free(b);
}

static int
dots(struct bench *b, enum gi_fop_kind kind, const char *name)
{
  struct gi_fop *f = fake_fop(b->client, kind);
  if (kind == GI_FOP_LINK)
    gi_loc_set_inode(&f->loc, fake_inode(b->client, 4));
  gi_fop_set_entry(f, kind == GI_FOP_LINK ? &f->loc2 : &f->loc, fake_inode(b->client, 3), name);
  if (kind == GI_FOP_RENAME)
    gi_fop_set_entry(f, &f->loc2, fake_inode(b->client, 3), "fine");
  if (kind == GI_FOP_SYMLINK)
    f->args.name = "target";
  bench_submit(b, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

static void
test_dots(void **state)
{
  static const enum gi_fop_kind creating[] = {GI_FOP_MKNOD, GI_FOP_MKDIR, GI_FOP_SYMLINK, GI_FOP_LINK};
  struct bench *b = bench_new(NULL, NULL, true);
  for (unsigned i = 0; i < GI_ARRAY_LEN(creating); i++) {
    assert_int_equal(dots(b, creating[i], "."), EEXIST);
    assert_int_equal(dots(b, creating[i], ".."), EEXIST);
    assert_int_equal(dots(b, creating[i], "..."), 0);
  }
  assert_int_equal(dots(b, GI_FOP_UNLINK, "."), EINVAL);
  assert_int_equal(dots(b, GI_FOP_RMDIR, ".."), EINVAL);
  assert_int_equal(dots(b, GI_FOP_RENAME, ".."), EBUSY);
  bench_free(b);
}

static void
fill_directory(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat.mode = S_IFDIR | 0755;
  memset(&fop->rsp.stat.gfid, 0x77, 16);
}

static void
fill_entries(struct gi_fop *fop, void *arg)
{
  static const char *const names[] = {".", "..", "..x"};
  for (unsigned i = 0; i < 3; i++) {
    struct gi_dirent e = {.ino = 5, .off = i + 1, .type = DT_DIR, .name = names[i], .name_len = (uint32_t)strlen(names[i])};
    e.stat = (struct gi_iatt){.flags = 0x17ff, .mode = S_IFDIR | 0755};
    memset(&e.stat.gfid, i == 0 ? 0x77 : 0x78, 16);
    e.xdata = gi_dict_new();
    gi_dict_set_str(e.xdata, "k", "v");
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
}

/* The directory above the top is not described. */
static void
list_top(struct bench *b)
{
  struct gi_inode *root = gi_inode_get(b->client->graph, &gi_gfid_root);
  struct gi_fd *fd = gi_fd_anonymous(b->client->graph, root);
  struct gi_fop *f = fake_fop(b->client, GI_FOP_READDIRP);
  gi_fop_set_fd(f, fd);
  gi_fd_unref(&fd);
  gi_inode_unref(&root);
  f->args.size = 4096;
  fake_script(b->server, 0, GI_FOP_READDIRP, (struct fake_reply){.ret = 3, .fill = fill_entries});
  bench_submit(b, f);
  assert_int_equal(f->rsp.entries.count, 3);
  const struct gi_dirent *e = f->rsp.entries.entry;
  assert_true(gi_gfid_is_root(&e[0].stat.gfid));
  assert_true(gi_gfid_is_none(&e[1].stat.gfid));
  assert_int_equal(e[1].stat.mode, 0);
  assert_int_equal(gi_dict_count(e[1].xdata), 0);
  assert_int_equal(e[2].stat.gfid.b[0], 0x78);
  assert_int_equal(gi_dict_count(e[2].xdata), 1);
}

static void
test_subdir_mount(void **state)
{
  struct bench *b = bench_new(NULL, "option subdir-mount /some/dir\n", false);
  struct gi_gfid dir;
  memset(&dir, 0x77, sizeof(dir));
  fake_script_always(b->server, 0, GI_FOP_LOOKUP, (struct fake_reply){.fill = fill_directory});
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 1));
  assert_int_equal(fake_count(b->server, 0, GI_FOP_LOOKUP), 2);
  struct gi_fop *f = fake_fop(b->client, GI_FOP_STAT);
  struct gi_inode *root = gi_inode_get(b->client->graph, &gi_gfid_root);
  struct seen s = {0};
  gi_loc_set_inode(&f->loc, root);
  gi_inode_unref(&root);
  fake_script(b->server, 0, GI_FOP_STAT, (struct fake_reply){.fill = look, .arg = &s});
  bench_submit(b, f);
  assert_true(gi_gfid_equal(&s.gfid, &dir));
  assert_int_equal(lookup(b, &dir, "..", &s), 0);
  assert_string_equal(s.name, ".");
  list_top(b);
  bench_free(b);

  b = bench_new(NULL, "option subdir-mount /missing\n", false);
  fake_script_always(b->server, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_free(b);
}

/* ---- the end of a client ---- */

static void
test_client_goes_with_work_under_way(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *open = fake_fop(b->client, GI_FOP_OPEN);
  gi_fop_set_fd(open, fake_fd(b->client, 9));
  bench_submit(b, open);
  struct gi_fop *late = fake_fop(b->client, GI_FOP_OPEN);
  gi_fop_set_fd(late, fake_fd(b->client, 8));
  fake_script(b->server, 0, GI_FOP_OPEN, (struct fake_reply){.hold = true});
  bench_send(b, late);
  bench_turn(b, 5);
  assert_int_equal(b->server->graph->fds_live, 2);
  fake_stack_free(b->client);
  b->client = NULL;
  bench_turn(b, 10);
  assert_int_equal(b->server->graph->fds_live, 1); /* the one still being opened */
  assert_true(fake_release(b->server, 0, GI_FOP_OPEN, 0, 0));
  bench_turn(b, 5);
  assert_int_equal(b->server->graph->fds_live, 0);
  bench_free(b);
}

/* ---- a bare socket ---- */

struct wire {
  struct bench *b;
  int fd;
  uint8_t reply[65536];
  size_t len;
};

static struct wire *
wire_new(struct bench *b)
{
  struct wire *w = gi_new(struct wire);
  struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)b->port)};
  inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
  w->b = b;
  w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(connect(w->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
  return w;
}

static void
wire_free(struct wire *w)
{
  close(w->fd);
  gi_free(w);
}

/* Sends raw bytes and collects what comes back: until a whole record is there if one is expected, else for a few turns. False:
 * the server closed. */
static bool
wire_raw(struct wire *w, const void *data, size_t len, bool expect)
{
  ssize_t n;
  send(w->fd, data, len, MSG_NOSIGNAL);
  w->len = 0;
  for (unsigned i = 0; i < (expect ? 5000 : 10); i++) {
    bench_turn(w->b, 0);
    n = recv(w->fd, w->reply + w->len, sizeof(w->reply) - w->len, MSG_DONTWAIT);
    if (n == 0)
      return false;
    if (n > 0)
      w->len += (size_t)n;
    uint32_t mark = 0;
    memcpy(&mark, w->reply, 4);
    if (w->len >= 4 && w->len >= (ntohl(mark) & 0x7fffffffu) + 4)
      return true;
  }
  return true;
}

static bool
wire_send(struct wire *w, struct gi_xdr_out *out, bool expect)
{
  uint8_t *buf = gi_alloc(out->len + 4);
  uint32_t mark = htonl(0x80000000u | (uint32_t)out->len);
  memcpy(buf, &mark, 4);
  memcpy(buf + 4, out->base, out->len);
  bool alive = wire_raw(w, buf, out->len + 4, expect);
  gi_free(buf);
  gi_xdr_out_finish(out);
  return alive;
}

static bool
wire_record(struct wire *w, struct gi_xdr_out *out)
{
  return wire_send(w, out, true);
}

static struct gi_xdr_out
call(uint32_t prog, uint32_t vers, uint32_t proc)
{
  struct gi_xdr_out out = {0};
  struct gi_caller who = {.owner = {.len = 4}};
  gi_call_encode(&out, 77, prog, vers, proc, GI_AUTH_V3, &who);
  return out;
}

/* The accept status of the one reply received, and `in` behind it. */
static uint32_t
accept_status(struct wire *w, struct gi_xdr_in *in)
{
  struct gi_reply_header h;
  assert_true(w->len > 4);
  *in = (struct gi_xdr_in){w->reply + 4, w->reply + w->len, false};
  assert_true(gi_reply_decode(in, &h));
  assert_int_equal(h.reply_status, 0);
  assert_int_equal(h.xid, 77);
  return h.accept_status;
}

static struct gi_dict *
introduction(const char *skip)
{
  static const char *const pairs[][2] = {
      {"remote-subvolume", BENCH_BRICK},
      {"process-uuid", "bare-socket"},
      {"fops-version", "1298437"},
      {"opversion", "100000"},
  };
  struct gi_dict *d = gi_dict_new();
  for (unsigned i = 0; i < GI_ARRAY_LEN(pairs); i++)
    if (!skip || strcmp(skip, pairs[i][0]) != 0)
      gi_dict_set_str(d, pairs[i][0], pairs[i][1]);
  return d;
}

/* op_errno of SETVOLUME, 0 on success; *text gets ERROR (caller frees). */
static int
setvolume(struct wire *w, struct gi_dict *d, char **text)
{
  struct gi_xdr_in in;
  struct gi_xdr_out out = call(GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE, GI_HNDSK_SETVOLUME);
  gi_xdr_put_legacy_dict(&out, d);
  gi_dict_unref(&d);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), 0);
  int32_t ret = (int32_t)gi_xdr_get_u32(&in), err = (int32_t)gi_xdr_get_u32(&in);
  d = gi_xdr_get_legacy_dict(&in);
  assert_non_null(d);
  const char *msg = "";
  gi_dict_get_str(d, "ERROR", &msg);
  *text = gi_strdup(msg);
  gi_dict_unref(&d);
  return ret < 0 ? err : 0;
}

static void
check_refusal(struct bench *b, struct gi_dict *d, int want_err, const char *want)
{
  struct wire *w = wire_new(b);
  GI_CLEANUP_FREE char *text = NULL;
  assert_int_equal(setvolume(w, d, &text), want_err);
  assert_non_null(strstr(text, want));
  wire_free(w);
}

static void
test_setvolume_refusals(void **state)
{
  struct bench *b = bench_new("option auth.addr.child-0.reject 10.*\n", NULL, true);
  check_refusal(b, gi_dict_new(), EINVAL, "failed to unserialize");
  check_refusal(b, introduction("remote-subvolume"), EINVAL, "No remote-subvolume option specified");
  check_refusal(b, introduction("process-uuid"), EINVAL, "UUID not specified");
  struct gi_dict *d = introduction(NULL);
  gi_dict_set_str(d, "remote-subvolume", "/elsewhere");
  check_refusal(b, d, ENOENT, "Brick not found");
  d = introduction(NULL);
  gi_dict_set_str(d, "fops-version", "12");
  check_refusal(b, d, EINVAL, "version mismatch: client(12) - client-mgmt(0)");
  check_refusal(b, introduction(NULL), 0, "Success");
  fake_event(b->server, 0, GI_EVENT_CHILD_DOWN, NULL);
  check_refusal(b, introduction(NULL), EAGAIN, "child_up");
  bench_free(b);
}

static void
put_gfid_dict(struct gi_xdr_out *out)
{
  gi_xdr_put_gfid(out, &gi_gfid_root);
  gi_xdr_put_dict(out, NULL);
}

static struct gi_dict *
attempt(const char *uid)
{
  struct gi_dict *d = introduction("process-uuid");
  gi_dict_set_str(d, "process-uuid", uid);
  return d;
}

static struct wire *
wire_as(struct bench *b, const char *uid)
{
  struct wire *w = wire_new(b);
  GI_CLEANUP_FREE char *text = NULL;
  assert_int_equal(setvolume(w, attempt(uid), &text), 0);
  return w;
}

/* What a client has given up by connecting anew is not done after all; others, and an attempt that comes late, close nothing. */
static void
test_connecting_anew(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *other = wire_as(b, "CTX_ID:b-PC_NAME:v-client-0-RECON_NO:-1");
  struct wire *old = wire_as(b, "CTX_ID:a-PC_NAME:v-client-0-RECON_NO:-9");
  struct wire *new = wire_as(b, "CTX_ID:a-PC_NAME:v-client-0-RECON_NO:-10");
  struct wire *late = wire_as(b, "CTX_ID:a-PC_NAME:v-client-0-RECON_NO:-8");
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_STAT);
  put_gfid_dict(&out);
  fake_forget_seen(b->server);
  wire_send(old, &out, false);
  assert_int_equal(recv(old->fd, old->reply, 1, MSG_DONTWAIT), 0);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_STAT), 0);
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_STAT);
  put_gfid_dict(&out);
  assert_true(wire_record(new, &out));
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_STAT);
  put_gfid_dict(&out);
  assert_true(wire_record(other, &out));
  assert_int_equal(fake_count(b->server, 0, GI_FOP_STAT), 2);
  wire_free(old);
  wire_free(new);
  wire_free(late);
  wire_free(other);
  bench_free(b);
}

static void
test_before_setvolume(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *w = wire_new(b);
  struct gi_xdr_in in;
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_STAT);
  put_gfid_dict(&out);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_GARBAGE);
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_RELEASE);
  gi_xdr_put_gfid(&out, &gi_gfid_root);
  gi_xdr_put_u64(&out, 0);
  gi_xdr_put_dict(&out, NULL);
  assert_true(wire_send(w, &out, false));
  assert_int_equal(w->len, 0);
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_NULL);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_SUCCESS);
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_PUT);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_PROC_UNAVAIL);
  out = call(GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE, GI_HNDSK_GETSPEC);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_SUCCESS);
  assert_int_equal((int32_t)gi_xdr_get_u32(&in), -1);
  assert_int_equal(gi_xdr_get_u32(&in), ENOSYS);
  wire_free(w);
  bench_free(b);
}

/* A reply's op_ret, or -errno. */
static int64_t
simple_fop(struct wire *w, struct gi_xdr_out *out, struct gi_xdr_in *in)
{
  assert_true(wire_record(w, out));
  assert_int_equal(accept_status(w, in), GI_RPC_SUCCESS);
  int32_t ret = (int32_t)gi_xdr_get_u32(in), err = (int32_t)gi_xdr_get_u32(in);
  return ret < 0 ? -err : ret;
}

static int64_t
wire_open(struct wire *w, uint8_t n)
{
  struct gi_xdr_in in;
  struct gi_gfid gfid;
  struct gi_dict *d = NULL;
  memset(&gfid, n, sizeof(gfid));
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_OPEN);
  gi_xdr_put_gfid(&out, &gfid);
  gi_xdr_put_u32(&out, O_RDWR);
  gi_xdr_put_dict(&out, NULL);
  assert_int_equal(simple_fop(w, &out, &in), 0);
  gi_xdr_get_dict(&in, &d);
  gi_dict_unref(&d);
  return (int64_t)gi_xdr_get_u64(&in);
}

static int64_t
wire_handle(struct wire *w, uint32_t proc, int64_t handle, const struct gi_gfid *gfid)
{
  struct gi_xdr_in in;
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, proc);
  gi_xdr_put_gfid(&out, gfid);
  gi_xdr_put_u64(&out, (uint64_t)handle);
  gi_xdr_put_dict(&out, NULL);
  return simple_fop(w, &out, &in);
}

static void
test_handles(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *w = wire_new(b);
  char *text;
  assert_int_equal(setvolume(w, introduction(NULL), &text), 0);
  gi_free(text);
  for (int i = 0; i < 100; i++)
    assert_int_equal(wire_open(w, 3), i);
  assert_int_equal(wire_handle(w, GI_FOP_RELEASE, 7, &gi_gfid_root), 0);
  assert_int_equal(wire_handle(w, GI_FOP_RELEASE, 3, &gi_gfid_root), 0);
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, 3, &gi_gfid_root), -EBADF);
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, 4, &gi_gfid_root), 0);
  assert_int_equal(wire_open(w, 3), 3);
  assert_int_equal(wire_open(w, 3), 7);
  assert_int_equal(wire_open(w, 3), 100);
  static const int64_t bad[] = {-1, -3, INT64_MIN, INT64_MAX, 101, 4096, 1ll << 32};
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad); i++) {
    assert_int_equal(wire_handle(w, GI_FOP_FSTAT, bad[i], &gi_gfid_root), -EBADF);
    assert_int_equal(wire_handle(w, GI_FOP_RELEASE, bad[i], &gi_gfid_root), 0);
  }
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, -2, &gi_gfid_none), -EINVAL);
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, -2, &gi_gfid_root), 0);

  /* A second connection of the same identity has the same handles; the first one's end does not close them. */
  struct wire *w2 = wire_new(b);
  assert_int_equal(setvolume(w2, introduction(NULL), &text), 0);
  gi_free(text);
  wire_free(w);
  bench_turn(b, 5);
  assert_int_equal(wire_handle(w2, GI_FOP_FSTAT, 100, &gi_gfid_root), 0);
  wire_free(w2);
  bench_turn(b, 5);
  assert_int_equal(b->server->graph->fds_live, 0);
  bench_free(b);
}

/* ---- hostile records ---- */

static uint32_t
noise(uint32_t *seed)
{
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* Every procedure with arguments that are cut short, and with random ones: answered or dropped, never fatal. */
static void
test_garbage_arguments(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  uint32_t seed = 1;
  struct wire *w = wire_new(b);
  char *text;
  assert_int_equal(setvolume(w, introduction(NULL), &text), 0);
  gi_free(text);
  for (unsigned proc = 0; proc < GI_FOP_MAX + 2; proc++) {
    for (unsigned round = 0; round < 12; round++) {
      struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, proc);
      unsigned words = noise(&seed) % 40;
      for (unsigned i = 0; i < words; i++)
        gi_xdr_put_u32(&out, round % 3 == 0   ? noise(&seed)
                             : round % 3 == 1 ? noise(&seed) % 5
                                              : 0xfffffffeu + noise(&seed) % 3);
      assert_true(wire_record(w, &out));
      fake_forget_seen(b->server);
    }
  }
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, -2, &gi_gfid_root), 0); /* still serving */
  wire_free(w);
  bench_free(b);
}

static void
test_short_write(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *w = wire_new(b);
  struct gi_xdr_in in;
  char *text;
  assert_int_equal(setvolume(w, introduction(NULL), &text), 0);
  gi_free(text);
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_WRITE);
  gi_xdr_put_gfid(&out, &gi_gfid_root);
  gi_xdr_put_u64(&out, (uint64_t)-2);
  gi_xdr_put_u64(&out, 0);
  gi_xdr_put_u32(&out, 100000); /* more than follows */
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_dict(&out, NULL);
  gi_xdr_put_bytes(&out, "abc", 3);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_GARBAGE);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_WRITE), 0);
  wire_free(w);
  bench_free(b);
}

/* ---- a client that asks for more than it takes ---- */

static struct wire *
attached(struct bench *b)
{
  struct wire *w = wire_new(b);
  GI_CLEANUP_FREE char *text = NULL;
  assert_int_equal(setvolume(w, introduction(NULL), &text), 0);
  return w;
}

static void
send_many(struct wire *w, enum gi_fop_kind kind, uint32_t size, unsigned n)
{
  struct gi_xdr_out all = {0};
  for (unsigned i = 0; i < n; i++) {
    struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, kind);
    gi_xdr_put_gfid(&out, &gi_gfid_root);
    if (kind == GI_FOP_READ) {
      gi_xdr_put_u64(&out, (uint64_t)-2);
      gi_xdr_put_u64(&out, 0);
      gi_xdr_put_u32(&out, size);
      gi_xdr_put_u32(&out, 0);
    }
    gi_xdr_put_dict(&out, NULL);
    gi_xdr_put_u32(&all, 0x80000000u | (uint32_t)out.len);
    gi_xdr_put_bytes(&all, out.base, out.len);
    gi_xdr_out_finish(&out);
  }
  assert_int_equal(send(w->fd, all.base, all.len, MSG_NOSIGNAL), all.len);
  gi_xdr_out_finish(&all);
  bench_turn(w->b, 5);
}

static void
test_operations_under_way_are_few(void **state)
{
  struct bench *b = bench_new("option rpc.outstanding-rpc-limit 10\n", NULL, true);
  struct wire *w = attached(b);
  fake_script_always(b->server, 0, GI_FOP_STAT, (struct fake_reply){.hold = true});
  send_many(w, GI_FOP_STAT, 0, 100);
  assert_int_equal(fake_held(b->server, 0), 10);
  for (unsigned i = 0; i < 5; i++)
    assert_true(fake_release(b->server, 0, GI_FOP_STAT, 0, 0));
  bench_turn(b, 10);
  assert_int_equal(fake_held(b->server, 0), 10);
  for (unsigned i = 0; i < 20000 && fake_held(b->server, 0) == 10; i++)
    bench_turn(b, 0); /* nothing moves: what could make it move is perhaps among those that were not read */
  assert_int_equal(fake_held(b->server, 0), 95);
  while (fake_release(b->server, 0, GI_FOP_STAT, 0, 0))
    ;
  bench_turn(b, 10);
  send_many(w, GI_FOP_STAT, 0, 100);
  assert_int_equal(fake_held(b->server, 0), 10);
  while (fake_release(b->server, 0, GI_FOP_STAT, 0, 0))
    bench_turn(b, 0);
  wire_free(w);
  bench_free(b);
}

static void
test_answers_to_come_count(void **state)
{
  struct bench *b = bench_new("option inflight-bytes 1MB\n", NULL, true);
  struct wire *w = attached(b);
  fake_script_always(b->server, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  send_many(w, GI_FOP_READ, 300000, 40);
  assert_int_equal(fake_held(b->server, 0), 4);
  for (unsigned i = 0; i < 40; i++) {
    assert_true(fake_release(b->server, 0, GI_FOP_READ, -1, EIO));
    bench_turn(b, 1);
    assert_true(fake_held(b->server, 0) <= 4);
  }
  wire_free(w);
  bench_free(b);
}

static void
fill_much(struct gi_fop *fop, void *arg)
{
  GI_CLEANUP_FREE char *value = gi_zalloc(1 << 20);
  char key[32];
  fop->rsp.dict = gi_dict_new();
  for (unsigned i = 0; i < 65; i++) {
    snprintf(key, sizeof(key), "user.%u", i);
    gi_dict_set_bin(fop->rsp.dict, key, value, 1 << 20);
  }
}

static void
test_an_answer_nobody_accepts_is_an_error(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = fake_fop(b->client, GI_FOP_GETXATTR);
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  fake_script(b->server, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = fill_much});
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, -1);
  assert_int_equal(f->rsp.err, E2BIG);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 0);
  bench_free(b);
}

static void
test_who_does_not_listen_goes(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *w = attached(b);
  struct gi_invalidation inv = {.flags = 1};
  ssize_t n;
  memset(&inv.gfid, 3, 16);
  for (unsigned i = 0; i < 100000; i++) {
    gi_notify_up(b->server->x->children[0], GI_EVENT_INVALIDATE, &inv);
    if (i % 256 == 0)
      bench_turn(b, 0);
  }
  bench_turn(b, 10);
  while ((n = recv(w->fd, w->reply, sizeof(w->reply), 0)) > 0)
    ;
  assert_true(n == 0 || errno == ECONNRESET);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 0); /* the other one listens */
  wire_free(w);
  bench_free(b);
}

/* Of the TCP connections of this process. */
static unsigned
sockets_with(int level, int option, int wanted)
{
  unsigned found = 0;
  for (int fd = 0; fd < 256; fd++) {
    int value = 0;
    socklen_t len = sizeof(value);
    struct sockaddr_in peer;
    socklen_t peer_len = sizeof(peer);
    found += getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 && peer.sin_family == AF_INET &&
             getsockopt(fd, level, option, &value, &len) == 0 && value == wanted;
  }
  return found;
}

static void
test_tcp_user_timeout(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 42000), 1);
  bench_free(b);
  b = bench_new("option transport.tcp-user-timeout 11\n", "option transport.tcp-user-timeout 7\n", true);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 11000), 1);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 7000), 1);
  bench_set_option(b->server, "transport.tcp-user-timeout", "0");
  bench_set_option(b->client, "transport.tcp-user-timeout", "8");
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 0), 1);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 8000), 1);
  bench_free(b);
}

static void
test_tcp_keepalive(void **state)
{
  static const struct {
    const char *name, *value;
    int option, was, is;
  } all[] = {
      {"transport.socket.keepalive-time", "33", TCP_KEEPIDLE, 20, 33},
      {"transport.socket.keepalive-interval", "3", TCP_KEEPINTVL, 2, 3},
      {"transport.socket.keepalive-count", "4", TCP_KEEPCNT, 9, 4},
  };
  struct bench *b = bench_new(NULL, NULL, true);
  for (unsigned i = 0; i < GI_ARRAY_LEN(all); i++) {
    assert_int_equal(sockets_with(IPPROTO_TCP, all[i].option, all[i].was), 2);
    bench_set_option(b->server, all[i].name, all[i].value);
    assert_int_equal(sockets_with(IPPROTO_TCP, all[i].option, all[i].is), 1);
    bench_set_option(b->client, all[i].name, all[i].value);
    assert_int_equal(sockets_with(IPPROTO_TCP, all[i].option, all[i].is), 2);
  }
  assert_int_equal(sockets_with(SOL_SOCKET, SO_KEEPALIVE, 1), 2);
  bench_set_option(b->server, "transport.socket.keepalive", "off");
  assert_int_equal(sockets_with(SOL_SOCKET, SO_KEEPALIVE, 1), 1);
  bench_free(b);
  b = bench_new("option transport.socket.keepalive-count 5\n", "option transport.socket.keepalive-count 6\n", true);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_KEEPCNT, 5), 1);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_KEEPCNT, 6), 1);
  bench_free(b);
}

static void
test_noise_on_the_socket(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  uint32_t seed = 2;
  for (unsigned round = 0; round < 50; round++) {
    struct wire *w = wire_new(b);
    uint8_t bytes[512];
    for (unsigned i = 0; i < sizeof(bytes); i++)
      bytes[i] = (uint8_t)noise(&seed);
    if (round & 1) {
      bytes[0] = 0x80;
      bytes[1] = bytes[2] = 0;
    }
    wire_raw(w, bytes, 1 + noise(&seed) % sizeof(bytes), false);
    wire_free(w);
  }
  struct gi_fop *f = fake_fop(b->client, GI_FOP_STAT);
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  bench_free(b);
}

/* ---- callbacks ---- */

static void
test_callback_bodies(void **state)
{
  struct gi_invalidation a = {.flags = 0x45e, .expire_s = 60, .stat = {.mode = S_IFREG | 0600, .size = 12, .mtime = {5, 6}}}, z;
  struct gi_xdr_out out = {0};
  memset(&a.gfid, 3, 16);
  gi_callback_put_invalidation(&out, &a);
  assert_int_equal(out.len, 4 + 36 + 12 + 300 + 4);
  struct gi_xdr_in in = {out.base, out.base + out.len, false};
  assert_true(gi_callback_get_invalidation(&in, &z));
  assert_true(gi_gfid_equal(&a.gfid, &z.gfid));
  assert_int_equal(z.stat.size, 12);
  assert_int_equal(z.stat.mtime.nsec, 6);
  for (size_t cut = 0; cut < out.len; cut++) {
    in = (struct gi_xdr_in){out.base, out.base + cut, false};
    assert_false(gi_callback_get_invalidation(&in, &z));
  }
  gi_xdr_out_finish(&out);

  struct gi_contention c = {.entry = true, .domain = "dom", .name = "n", .flock = {.type = 1, .pid = 4}}, d;
  char domain[64], name[64];
  out = (struct gi_xdr_out){0};
  gi_callback_put_contention(&out, &c);
  in = (struct gi_xdr_in){out.base, out.base + out.len, false};
  assert_true(gi_callback_get_contention(&in, true, &d, domain, name, sizeof(name)));
  assert_string_equal(d.domain, "dom");
  assert_string_equal(d.name, "n");
  for (size_t cut = 0; cut < out.len; cut++) {
    in = (struct gi_xdr_in){out.base, out.base + cut, false};
    assert_false(gi_callback_get_contention(&in, true, &d, domain, name, sizeof(name)));
  }
  gi_xdr_out_finish(&out);
}

static void
test_port_in_use(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *text = gi_asprintf("option transport.socket.bind-address 127.0.0.1\noption listen-port %d\n", b->port);
  assert_null(fake_stack_try("protocol/server", text, 1, &err));
  assert_non_null(strstr(err.text, "cannot listen"));
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_squash),
      cmocka_unit_test(test_any_number_of_groups),
      cmocka_unit_test(test_manage_gids),
      cmocka_unit_test(test_healers_learn_how_the_foreground_does),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_dots),
      cmocka_unit_test(test_subdir_mount),
      cmocka_unit_test(test_client_goes_with_work_under_way),
      cmocka_unit_test(test_connecting_anew),
      cmocka_unit_test(test_setvolume_refusals),
      cmocka_unit_test(test_before_setvolume),
      cmocka_unit_test(test_handles),
      cmocka_unit_test(test_garbage_arguments),
      cmocka_unit_test(test_short_write),
      cmocka_unit_test(test_operations_under_way_are_few),
      cmocka_unit_test(test_answers_to_come_count),
      cmocka_unit_test(test_an_answer_nobody_accepts_is_an_error),
      cmocka_unit_test(test_who_does_not_listen_goes),
      cmocka_unit_test(test_tcp_user_timeout),
      cmocka_unit_test(test_tcp_keepalive),
      cmocka_unit_test(test_noise_on_the_socket),
      cmocka_unit_test(test_callback_bodies),
      cmocka_unit_test(test_port_in_use),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
