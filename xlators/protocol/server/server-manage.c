/* SPDX-License-Identifier: Apache-2.0
 *
 * What the management daemon asks of a brick: its clients and their
 * descriptors, the table of inodes (mgmt-protocol.md 5.3), and to clear locks.
 */
#include "xlators/protocol/server/server.h"
#include "libglusterish/manage-op.h"
#include "libglusterish/task.h"

#include <errno.h>
#include <stdarg.h>

#define SV_FDS_TOLD 4096 /* descriptors of one client that are listed */

/* bits of `cmd` in a status request */
enum {
  SV_STATUS_CLIENTS = 0x2,
  SV_STATUS_INODE = 0x4,
  SV_STATUS_FD = 0x8,
  SV_STATUS_CLIENT_LIST = 0x80,
};

/* ---- status ---- */

static void __attribute__((format(printf, 3, 4))) put(struct gi_dict *d, uint64_t value, const char *fmt, ...)
{
  char key[96];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(key, sizeof(key), fmt, ap);
  va_end(ap);
  gi_dict_set_uint(d, key, value);
}

static void
put_text(struct gi_dict *d, unsigned i, const char *what, const char *value)
{
  char key[64];
  snprintf(key, sizeof(key), "client%u.%s", i, what);
  gi_dict_set_str(d, key, value);
}

static void
put_clients(const struct server *sv, struct gi_dict *d)
{
  unsigned i = 0;
  gi_list_foreach(c, &sv->clients, struct sv_client, link) {
    put_text(d, i, "hostname", c->address);
    put_text(d, i, "name", c->process_name);
    put(d, c->bytes_in, "client%u.bytesread", i);
    put(d, c->bytes_out, "client%u.byteswrite", i);
    put(d, (uint64_t)c->opversion, "client%u.opversion", i);
    i++;
  }
  gi_dict_set_uint(d, "clientcount", i);
}

/* All clients have the same table. */
static void
put_inodes(struct server *sv, struct gi_dict *d)
{
  struct gi_inode_counts n = gi_inode_count(sv->x->graph);
  unsigned i = 0;
  gi_list_foreach(c, &sv->clients, struct sv_client, link) {
    put(d, n.active, "conn%u.itable.active_size", i);
    put(d, n.lru, "conn%u.itable.lru_size", i);
    put(d, n.lru_limit, "conn%u.itable.lru_limit", i);
    put(d, 0, "conn%u.itable.purge_size", i);
    i++;
  }
  gi_dict_set_uint(d, "conncount", i);
}

static void
put_fds(const struct server *sv, struct gi_dict *d)
{
  unsigned i = 0;
  gi_list_foreach(c, &sv->clients, struct sv_client, link) {
    uint32_t told = 0;
    put(d, c->refs, "conn%u.fdtable.refcount", i);
    put(d, c->fd_size, "conn%u.fdtable.maxfds", i);
    put(d, c->fd_lowest, "conn%u.fdtable.firstfree", i);
    for (uint32_t k = 0; k < c->fd_size && told < SV_FDS_TOLD; k++) {
      const struct gi_fd *fd = c->fd[k];
      if (!fd)
        continue;
      put(d, k, "conn%u.fdtable.fdentry%u.number", i, told);
      put(d, (uint64_t)fd->pid, "conn%u.fdtable.fdentry%u.pid", i, told);
      put(d, fd->refs, "conn%u.fdtable.fdentry%u.refcount", i, told);
      put(d, (uint64_t)fd->flags, "conn%u.fdtable.fdentry%u.flags", i, told);
      told++;
    }
    put(d, told, "conn%u.fdtable.open", i);
    i++;
  }
  gi_dict_set_uint(d, "conncount", i);
}

static void
sv_status(struct server *sv, struct gi_manage *m)
{
  int64_t cmd = 0;
  gi_dict_get_int(m->in, "cmd", &cmd);
  if (cmd & (SV_STATUS_CLIENTS | SV_STATUS_CLIENT_LIST))
    put_clients(sv, m->out);
  if (cmd & SV_STATUS_INODE)
    put_inodes(sv, m->out);
  if (cmd & SV_STATUS_FD)
    put_fds(sv, m->out);
  m->done(m, 0);
}

/* ---- clear-locks ---- */

static struct gi_fop *
lookup(struct gi_xlator *brick, const struct gi_gfid *parent, const char *name)
{
  struct gi_fop *fop = gi_fop_new(brick->graph, GI_FOP_LOOKUP);
  struct gi_inode *dir = gi_inode_get(brick->graph, parent);
  gi_fop_set_entry(fop, &fop->loc, dir, name);
  gi_inode_unref(&dir);
  gi_task_fop(fop, brick);
  return fop;
}

/* Walks a path from the root. 0 and the object's gfid, or an errno. */
static int
walk(struct gi_xlator *brick, const char *path, struct gi_gfid *at)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(path);
  char *save = NULL;
  int err = 0;
  *at = gi_gfid_root;
  for (char *name = strtok_r(copy, "/", &save); name && !err; name = strtok_r(NULL, "/", &save)) {
    bool hidden = gi_gfid_is_root(at) && strcmp(name, ".glusterfs") == 0;
    if (strcmp(name, "..") == 0 || strcmp(name, ".") == 0 || strlen(name) > GI_NAME_MAX || hidden)
      return EINVAL;
    struct gi_fop *fop = lookup(brick, at, name);
    err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
    if (!err)
      *at = fop->rsp.stat.gfid;
    gi_fop_unref(fop);
  }
  return err;
}

struct clearing {
  struct gi_xlator *brick;
  struct gi_manage *m;
  const char *path, *name; /* of the request */
};

static void
clear_locks(void *arg)
{
  struct clearing *c = arg;
  struct gi_manage *m = c->m;
  struct gi_gfid gfid;
  const char *text;
  int err = walk(c->brick, c->path, &gfid);
  if (!err) {
    struct gi_fop *fop = gi_fop_new(c->brick->graph, GI_FOP_GETXATTR);
    fop->loc.gfid = gfid;
    fop->args.name = c->name;
    gi_task_fop(fop, c->brick);
    err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
    if (!err && gi_dict_get_str(fop->rsp.dict, c->name, &text))
      gi_dict_set_str(m->out, "text", text);
    gi_fop_unref(fop);
  }
  gi_free(c);
  m->done(m, err);
}

static void
sv_clear_locks(struct gi_xlator *x, struct gi_manage *m)
{
  struct clearing *c = gi_new(struct clearing);
  *c = (struct clearing){.brick = gi_first_child(x), .m = m};
  if (gi_dict_get_str(m->in, "path", &c->path) && gi_dict_get_str(m->in, "name", &c->name)) {
    gi_task_start(x->reactor, clear_locks, c);
    return;
  }
  gi_free(c);
  m->done(m, EINVAL);
}

void
sv_manage(struct gi_xlator *x, struct gi_manage *m)
{
  if (m->op == GI_MANAGE_STATUS)
    sv_status(sv_of(x), m);
  else if (m->op == GI_MANAGE_CLEAR_LOCKS)
    sv_clear_locks(x, m);
  else
    m->done(m, EOPNOTSUPP);
}
