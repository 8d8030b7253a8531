/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of clients. Connections that present the same process-uuid with the
 * same credentials share one: its handles and locks go when the last of them
 * closes, at once (wire.md 8). Operations still under way then are finished
 * and their answers dropped; what locks they took meanwhile is dropped by a
 * second round.
 */
#include "xlators/protocol/server/server.h"

#include <errno.h>
#include <stdlib.h>

static bool
sv_same_credentials(const struct sv_client *c, const struct gi_call_header *h)
{
  return c->flavour == h->flavour && c->cred_len == h->cred_len &&
         (h->cred_len == 0 || memcmp(c->cred, h->cred, h->cred_len) == 0);
}

struct sv_client *
sv_client_find(struct server *sv, const char *uid, const struct gi_call_header *h)
{
  gi_list_foreach(c, &sv->clients, struct sv_client, link)
    if (strcmp(c->uid, uid) == 0 && sv_same_credentials(c, h))
      return c;
  return NULL;
}

bool
sv_client_known(const struct server *sv, const void *client)
{
  gi_list_foreach(c, &sv->clients, struct sv_client, link)
    if (c == client)
      return true;
  return false;
}

struct sv_client *
sv_client_new(struct server *sv, const char *uid, const struct gi_call_header *h, const char *address)
{
  struct sv_client *c = gi_new(struct sv_client);
  c->magic = SV_CLIENT_MAGIC;
  c->sv = sv;
  c->since = gi_wall(sv->x->reactor);
  c->id.uid = c->uid = gi_strdup(uid);
  c->id.address = c->address = gi_strdup(address);
  c->flavour = h->flavour;
  c->cred_len = h->cred_len;
  if (h->cred_len) {
    c->cred = gi_alloc(h->cred_len);
    memcpy(c->cred, h->cred, h->cred_len);
  }
  c->refs = 1;
  gi_list_init(&c->peers);
  gi_list_add_tail(&sv->clients, &c->link);
  sv->metrics.clients++;
  return c;
}

void
sv_client_check(const struct sv_client *c)
{
  GI_CHECK(c, SV_CLIENT_MAGIC);
  GI_CHECK(c->sv, SV_MAGIC);
  GI_ASSERT(c->refs > 0);
  GI_ASSERT(c->fd_used <= c->fd_size && c->fd_lowest <= c->fd_size);
  GI_ASSERT(!c->gone || gi_list_empty(&c->peers));
}

struct sv_client *
sv_client_ref(struct sv_client *c)
{
  sv_client_check(c);
  c->refs++;
  return c;
}

void
sv_client_unref(struct sv_client *c)
{
  sv_client_check(c);
  if (--c->refs)
    return;
  GI_ASSERT(c->gone && c->fd_size == 0);
  GI_ASSERT(gi_list_empty(&c->link));
  if (c->late)
    gi_notify_down(c->sv->x, GI_EVENT_CLIENT_GONE, c); /* what they locked meanwhile */
  gi_free(c->uid);
  gi_free(c->address);
  gi_free(c->process_name);
  gi_free(c->version);
  gi_free(c->user);
  gi_free(c->cred);
  gi_free(c->subdir_path);
  c->magic = 0;
  gi_free(c);
}

/* An identity ends in the number of the attempt to connect: its place, or NULL if it is of another make. */
static const char *
attempt_of(const char *uid)
{
  static const char mark[] = "-RECON_NO:-";
  const char *at = strstr(uid, mark);
  return at ? at + sizeof(mark) - 1 : NULL;
}

void
sv_client_supersede(struct sv_client *c)
{
  const char *mine = attempt_of(c->uid);
  gi_list_foreach(old, &c->sv->clients, struct sv_client, link) {
    const char *its = attempt_of(old->uid);
    if (!mine || !its || old == c || old->bound != c->bound || mine - c->uid != its - old->uid ||
        memcmp(c->uid, old->uid, (size_t)(mine - c->uid)) != 0 || strtoull(its, NULL, 10) >= strtoull(mine, NULL, 10))
      continue;
    gi_log(GI_LOG_INFO, c->sv->x->name, GI_MSG_SERVER + 11,
           "client %s has connected anew: what its old connection still holds is not done", old->uid);
    gi_list_foreach(p, &old->peers, struct sv_peer, link)
      gi_conn_close(gi_rpc_peer_conn(p->rpc), ECONNRESET, "the client has connected anew");
  }
}

void
sv_client_attach(struct sv_client *c, struct sv_peer *p)
{
  sv_client_check(c);
  GI_CHECK(p, SV_PEER_MAGIC);
  GI_ASSERT(c->bound);
  GI_ASSERT(!p->client && !c->gone);
  p->client = c;
  gi_rpc_peer_admit(p->rpc);
  gi_list_add_tail(&c->peers, &p->link);
}

static void
sv_client_gone(struct sv_client *c)
{
  gi_log(GI_LOG_INFO, c->sv->x->name, GI_MSG_SERVER + 10, "client %s from %s is gone: %u handles closed", c->uid, c->address,
         c->fd_used);
  sv_client_check(c);
  GI_ASSERT(!c->gone && gi_list_empty(&c->peers) && c->sv->metrics.clients > 0);
  c->gone = true;
  gi_list_del(&c->link);
  c->sv->metrics.clients--;
  gi_notify_down(c->sv->x, GI_EVENT_CLIENT_GONE, c);
  sv_fds_close_all(c);
  GI_ASSERT(c->fd_used == 0);
  c->late = c->refs > 1;
  sv_client_unref(c);
}

void
sv_client_detach(struct sv_peer *p)
{
  GI_CHECK(p, SV_PEER_MAGIC);
  struct sv_client *c = p->client;
  if (!c)
    return;
  gi_list_del(&p->link);
  p->client = NULL;
  if (gi_list_empty(&c->peers))
    sv_client_gone(c);
}
