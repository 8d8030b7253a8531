/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may have the volfile of a volume, and hear of it: those whom its bricks
 * would let in, as far as that can be told here. Lists with host names, networks
 * or directories are for the bricks to decide, which resolve them.
 *
 * A volume with auth.client-key wants a key besides. Nothing of that is secret, so ids and ports are
 * for those without, too.
 *
 * Self-heal daemons and those that move files run on all nodes of the pool and
 * show the bricks a password: they find them from wherever a node is.
 */
#include "programs/glusterishd/doors.h"
#include "programs/glusterishd/pool/pool.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#define MSG (GI_MSG_MGMT + 195)

static bool
matches(const char *list, const char *text)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(list);
  char *save = NULL;
  for (char *p = strtok_r(copy, ", ", &save); p; p = strtok_r(NULL, ", ", &save))
    if (fnmatch(p, text, 0) == 0)
      return true;
  return false;
}

/* Nothing but addresses in numbers, perhaps with wildcards. */
static bool
is_of_numbers(const char *list)
{
  for (const char *c = list; *c; c++)
    if (!isxdigit((unsigned char)*c) && !strchr(".:*?, ", *c))
      return false;
  return true;
}

/* The address of "127.0.0.1:49152" or "[::1]:49152"; caller frees. */
static char *
address_of(const char *peer)
{
  const char *colon = strrchr(peer, ':');
  bool v6 = peer[0] == '[';
  size_t len = colon ? (size_t)(colon - peer) : strlen(peer);
  return v6 && len > 2 ? gi_strndup(peer + 1, len - 2) : gi_strndup(peer, len);
}

/* The option that forbids it; NULL: none does. */
static const char *
forbidden_by(const struct gd_volume *v, const char *name, const char *address)
{
  const char *ssl = gd_options_get(&v->options, "auth.ssl-allow"), *allow = gd_options_get(&v->options, "auth.allow"),
             *reject = gd_options_get(&v->options, "auth.reject");
  if (name && ssl && !matches(ssl, name))
    return "auth.ssl-allow";
  if (reject && is_of_numbers(reject) && matches(reject, address))
    return "auth.reject";
  if (allow && is_of_numbers(allow) && !matches(allow, address))
    return "auth.allow";
  return NULL;
}

/* Root of this machine, as its self-heal daemon is. */
static bool
is_own(struct gd *gd, const struct gi_rpc_request *req)
{
  return gd_door_open(gd, req, GD_ASK_SERVICE, NULL, true);
}

static bool
may(struct gd *gd, const struct gi_rpc_request *req, const struct gd_volume *v, const char *what, bool nodes_too)
{
  const struct gi_conn *c = gi_rpc_peer_conn(req->peer);
  if (is_own(gd, req))
    return true;
  GI_CLEANUP_FREE char *address = address_of(gi_conn_peer(c));
  const char *option = forbidden_by(v, gi_conn_tls_name(c), address);
  if (option && nodes_too && gd_node_is_at(gd, address))
    return true;
  if (option)
    gi_log(GI_LOG_WARNING, GD_NAME, MSG, "%s of %s is refused to %s: %s does not let it mount", what, v->name, gi_conn_peer(c),
           option);
  return !option;
}

/* Has it a key of the volume, if one is demanded? */
static bool
has_key(struct gd *gd, const struct gi_rpc_request *req, const struct gd_volume *v, const struct gd_shown *shown)
{
  const struct gi_key_claim claim = {gi_rpc_peer_conn(req->peer), "volfile", shown->volfile};
  if (!gd_volume_bool(v, "auth.client-key", false) || is_own(gd, req))
    return true;
  enum gi_key_verdict said =
      gi_client_key_take(gd_door_key(req), gd_options_get(&v->options, "auth.client-keys"), shown->in, &claim);
  if (said == GI_KEY_GOOD)
    return true;
  gi_client_key_ask(gd_door_key(req), gd->reactor, shown->out);
  if (said != GI_KEY_UNPROVED)
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + 1, "the volfile of %s is refused to %s: %s", v->name, gi_conn_peer(claim.conn),
           gi_client_key_refusal(said));
  return false;
}

bool
gd_door_may_mount(struct gd *gd, const struct gi_rpc_request *req, const struct gd_volume *v, const struct gd_shown *shown)
{
  return req->peer && may(gd, req, v, "the volfile", false) && has_key(gd, req, v, shown);
}

bool
gd_door_may_find(struct gd *gd, const struct gi_rpc_request *req, const struct gd_volume *v)
{
  return req->peer && may(gd, req, v, "the place", true);
}
