/* SPDX-License-Identifier: Apache-2.0
 *
 * What the server tells whoever observes the process: its clients, and who of
 * them has an object open.
 */
#include "xlators/protocol/server/server.h"

#include <fcntl.h>

static const char *
or_empty(const char *text)
{
  return text ? text : "";
}

static void
tell_queues(struct gi_fact_client *f, const struct sv_client *c)
{
  gi_list_foreach(p, &c->peers, struct sv_peer, link) {
    const struct gi_conn *conn = gi_rpc_peer_conn(p->rpc);
    uint64_t behind = gi_conn_behind(conn);
    f->queued += gi_conn_queued(conn);
    f->behind_ns = behind > f->behind_ns ? behind : f->behind_ns;
  }
}

static void
tell_client(struct gi_question *q, const struct sv_client *c)
{
  struct gi_fact_client f = {.uid = c->uid,
                             .address = c->address,
                             .process = or_empty(c->process_name),
                             .version = or_empty(c->version),
                             .brick = c->bound ? c->bound->name : "",
                             .ours = c->ours,
                             .since = c->since,
                             .fops = c->fops,
                             .bytes_in = c->bytes_in,
                             .bytes_out = c->bytes_out,
                             .inflight = c->refs - 1,
                             .handles = c->fd_used};
  GI_ASSERT(c->refs > 0 && f.handles <= c->fd_size);
  tell_queues(&f, c);
  if (gi_question_room(q))
    q->client(q, &f);
}

static bool
may_write(const struct gi_fd *fd)
{
  return !fd->directory && (fd->flags & O_ACCMODE) != O_RDONLY;
}

static void
tell_user(struct gi_question *q, const struct sv_client *c)
{
  struct gi_fact_user f = {.client = c->uid, .address = c->address};
  for (uint32_t i = 0; i < c->fd_size && c->fd_used; i++) {
    const struct gi_fd *fd = c->fd[i];
    if (!fd || !gi_gfid_equal(&fd->inode->gfid, q->gfid))
      continue;
    f.handles++;
    f.writing += may_write(fd);
  }
  GI_ASSERT(f.writing <= f.handles && f.handles <= c->fd_used);
  if (f.handles && gi_question_room(q))
    q->user(q, &f);
}

void
sv_ask(struct gi_xlator *x, struct gi_question *q)
{
  if (q->what != GI_ASK_CLIENTS && q->what != GI_ASK_USERS)
    return;
  gi_list_foreach(c, &sv_of(x)->clients, struct sv_client, link) {
    sv_client_check(c);
    if (q->what == GI_ASK_CLIENTS)
      tell_client(q, c);
    else
      tell_user(q, c);
  }
}
