/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/server through protocol/client: who the caller is, what clients may
 * name, and their end.
 */
#include "libglusterish/ask.h"
#include "libglusterish/load.h"
#include "libglusterish/manage-op.h"
#include "rpc/callback.h"
#include "tests/unit/brick-bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

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

/* Mounts are told to a rebalance that the brick trusts, and the child is not asked. */
static void
test_mounts(void **state)
{
  struct bench *b = bench_new("option auth.login.child-0.allow joe\noption auth.login.joe.password s\n",
                              "option username joe\noption password s\n", true);
  static const int32_t pids[] = {GI_PID_REBALANCE, 17};
  int64_t others = 0;

  for (unsigned i = 0; i < 2; i++) {
    struct gi_fop *f = fake_fop(b->client, GI_FOP_GETXATTR);
    f->loc.gfid = gi_gfid_root;
    f->args.name = GI_MOUNTS_KEY;
    f->caller.pid = pids[i];
    bench_submit(b, f);
    assert_int_equal(f->rsp.ret >= 0 && gi_dict_get(f->rsp.dict, GI_MOUNTS_KEY), i == 0);
    assert_int_equal(f->rsp.ret >= 0 && gi_dict_get_int(f->rsp.dict, GI_OTHER_MOUNTS_KEY, &others), i == 0);
    assert_int_equal(others, 0);
    assert_int_equal(fake_count(b->server, 0, GI_FOP_GETXATTR), i);
  }
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

/* ---- what is told to who works in the background ---- */

static void
test_healers_and_rebalances_learn_how_the_foreground_does(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_load load = {0};
  for (int i = 0; i < 3; i++)
    stat_as(b, 0, 100);
  static const int32_t who[] = {GI_PID_HEAL, GI_PID_REBALANCE};
  for (size_t i = 0; i < GI_ARRAY_LEN(who); i++) {
    struct gi_fop *f = fake_fop(b->client, GI_FOP_STAT);
    gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
    f->caller.pid = who[i];
    bench_submit(b, f);
    assert_true(gi_load_get(f->rsp.xdata, &load));
    assert_int_equal(load.ops, 3);
  }

  struct gi_fop *f = fake_fop(b->client, GI_FOP_STAT);
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

static void
note_client(struct gi_question *q, const struct gi_fact_client *f)
{
  struct gi_fact_client *last = q->arg;
  *last = *f;
  assert_true(f->since.sec > 0 && f->uid[0] && f->address[0]);
  assert_int_equal(f->fops[GI_FOP_STAT], 2);
}

static void
note_user(struct gi_question *q, const struct gi_fact_user *f)
{
  *(struct gi_fact_user *)q->arg = *f;
}

static void
test_observers_are_told_of_clients(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fact_client client = {0};
  struct gi_fact_user user = {0};
  stat_as(b, 0, 1);
  stat_as(b, 5, 1);
  bench_open(b, 7, O_RDWR);
  bench_open(b, 7, O_RDONLY);
  struct gi_question q = {.what = GI_ASK_CLIENTS, .client = note_client, .arg = &client, .left = 8};
  gi_graph_ask(b->server->graph, &q);
  assert_int_equal(q.left, 7);
  assert_string_equal(client.brick, BENCH_BRICK);
  assert_true(client.ours && client.bytes_in > 0 && client.bytes_out > 0);
  assert_int_equal(client.handles, 2);
  assert_int_equal(client.inflight, 0);
  q = (struct gi_question){
      .what = GI_ASK_USERS, .gfid = &fake_inode(b->server, 7)->gfid, .user = note_user, .arg = &user, .left = 8};
  gi_graph_ask(b->server->graph, &q);
  assert_int_equal(user.handles, 2);
  assert_int_equal(user.writing, 1);
  q.gfid = &fake_inode(b->server, 8)->gfid;
  q.left = 8;
  gi_graph_ask(b->server->graph, &q);
  assert_int_equal(q.left, 8);
  bench_free(b);
}

/* ---- what the management daemon asks ---- */

struct managed {
  struct gi_manage m;
  bool done;
  int err;
};

static void
managed_done(struct gi_manage *m, int err)
{
  struct managed *a = GI_CONTAINER(m, struct managed, m);
  a->done = true;
  a->err = err;
}

/* The errno; the answer is in *out, to be dropped. Pairs of key and value, NULL at the end. */
static int
manage(struct bench *b, int op, const char *const *pairs, struct gi_dict **out)
{
  struct gi_dict *in = gi_dict_new();
  for (; *pairs; pairs += 2)
    gi_dict_set_str(in, pairs[0], pairs[1]);
  struct managed a = {.m = {.op = op, .in = in, .out = *out = gi_dict_new(), .done = managed_done}};
  b->server->x->cls->manage(b->server->x, &a.m);
  fake_settle(b->server);
  assert_true(a.done);
  gi_dict_unref(&in);
  return a.err;
}

static uint64_t
told(const struct gi_dict *d, const char *key)
{
  uint64_t value = ~0ull;
  gi_dict_get_uint(d, key, &value);
  return value;
}

static void
test_management_sees_tables(void **state)
{
  static const char *const all[] = {"cmd", "14", NULL};
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_dict *d;
  const char *text;
  bench_open(b, 7, O_RDWR);
  bench_open(b, 8, O_RDONLY);
  assert_int_equal(manage(b, GI_MANAGE_STATUS, all, &d), 0);
  assert_int_equal(told(d, "clientcount"), 1);
  assert_true(gi_dict_get_str(d, "client0.hostname", &text) && strncmp(text, "127.0.0.1:", 10) == 0);
  assert_true(told(d, "client0.bytesread") > 0);
  assert_int_equal(told(d, "conncount"), 1);
  assert_int_equal(told(d, "conn0.fdtable.fdentry1.number"), 1);
  assert_int_equal(told(d, "conn0.fdtable.fdentry0.flags"), O_RDWR);
  assert_int_equal(told(d, "conn0.fdtable.fdentry2.number"), ~0ull);
  assert_true(told(d, "conn0.itable.active_size") >= 2);
  gi_dict_unref(&d);
  assert_int_equal(manage(b, 1, all, &d), EOPNOTSUPP);
  gi_dict_unref(&d);
  bench_free(b);
}

static void
fill_cleared(struct gi_fop *fop, void *arg)
{
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_str(fop->rsp.dict, fop->args.name, "No locks cleared.");
}

static void
test_management_clears_locks(void **state)
{
  static const char *const good[] = {"path", "/file", "name", "glusterfs.clrlk.tposix.kall", NULL},
                           *const hidden[] = {"path", "/.glusterfs/x", "name", "glusterfs.clrlk.tposix.kall", NULL},
                           *const less[] = {"path", "/file", NULL};
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_dict *d;
  const char *text;
  fake_script(b->server, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  assert_int_equal(manage(b, GI_MANAGE_CLEAR_LOCKS, good, &d), ENOENT);
  gi_dict_unref(&d);
  fake_script(b->server, 0, GI_FOP_GETXATTR, (struct fake_reply){.ret = 1, .fill = fill_cleared});
  assert_int_equal(manage(b, GI_MANAGE_CLEAR_LOCKS, good, &d), 0);
  assert_true(gi_dict_get_str(d, "text", &text));
  assert_string_equal(text, "No locks cleared.");
  gi_dict_unref(&d);
  assert_int_equal(manage(b, GI_MANAGE_CLEAR_LOCKS, hidden, &d), EINVAL);
  gi_dict_unref(&d);
  assert_int_equal(manage(b, GI_MANAGE_CLEAR_LOCKS, less, &d), EINVAL);
  gi_dict_unref(&d);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mounts),
      cmocka_unit_test(test_squash),
      cmocka_unit_test(test_any_number_of_groups),
      cmocka_unit_test(test_manage_gids),
      cmocka_unit_test(test_healers_and_rebalances_learn_how_the_foreground_does),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_dots),
      cmocka_unit_test(test_subdir_mount),
      cmocka_unit_test(test_client_goes_with_work_under_way),
      cmocka_unit_test(test_callback_bodies),
      cmocka_unit_test(test_port_in_use),
      cmocka_unit_test(test_observers_are_told_of_clients),
      cmocka_unit_test(test_management_sees_tables),
      cmocka_unit_test(test_management_clears_locks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
