/* SPDX-License-Identifier: Apache-2.0
 *
 * Which nodes are members of the store. Once a second a node that is one looks:
 * learners become voters when there are three members or more, a node that is
 * none becomes one while there is room, one that was announced and never came,
 * or whose node is gone, is removed. Two nodes are a voter and a learner, so
 * that losing the learner changes nothing.
 *
 * A member that lost its data must not come back under its old id: it has that
 * removed and comes as a new one. So does one whose node has another address,
 * as soon as the others, who must be a majority, have removed it.
 */
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define TICK (1 * GI_NSEC_PER_SEC)
#define NEVER_CAME 60 /* ticks */
#define ADMIT_MS 5000
#define MSG (GI_MSG_MGMT + 270)

static const char *
name_of(const json_t *m)
{
  const char *name = json_string_value(json_object_get(m, "name"));
  return name ? name : "";
}

static const char *
id_of(const json_t *m)
{
  const char *id = json_string_value(json_object_get(m, "ID"));
  return id ? id : "";
}

const json_t *
gd_member_of(const json_t *members, const struct gi_gfid *node)
{
  char uuid[GI_UUID_TEXT];
  gi_gfid_text(node, uuid);
  for (size_t i = 0; i < json_array_size(members); i++)
    if (strcmp(name_of(json_array_get(members, i)), uuid) == 0)
      return json_array_get(members, i);
  return NULL;
}

static const char *
url_of(const json_t *m)
{
  const char *url = json_string_value(json_array_get(json_object_get(m, "peerURLs"), 0));
  return url ? url : "";
}

char *
gd_member_host(const json_t *m)
{
  const char *host = strstr(url_of(m), "://");
  host = host ? host + 3 : NULL;
  if (host && *host == '[')
    return gi_strndup(host + 1, strcspn(host + 1, "]"));
  return host ? gi_strndup(host, strcspn(host, ":/")) : NULL;
}

char *
gd_members_text(const json_t *members, const char *url, const struct gi_gfid *node, char **id)
{
  char uuid[GI_UUID_TEXT], *text = NULL;
  gi_gfid_text(node, uuid);
  for (size_t i = 0; i < json_array_size(members); i++) {
    const json_t *m = json_array_get(members, i);
    const char *its = json_string_value(json_array_get(json_object_get(m, "peerURLs"), 0));
    bool new = its &&strcmp(its, url) == 0;
    char *longer =
        gi_asprintf("%s%s%s=%s", text ? text : "", text ? "," : "", new || !*name_of(m) ? uuid : name_of(m), its ? its : "");
    gi_free(text);
    text = longer;
    if (new)
      *id = gi_strdup(id_of(m));
  }
  return text;
}

/* It is of a node of the pool: neither announced and not there yet, nor left over from one that was detached. */
static bool
is_known(const struct gd_pool *p, const json_t *m)
{
  struct gi_gfid id;
  return gi_gfid_parse(name_of(m), &id) && (gi_gfid_equal(&id, &p->gd->uuid) || gd_node_find(p->gd, &id));
}

/* ---- the store is told ---- */

static void
nobody_waits(void *arg, const struct gd_key_answer *a)
{
}

static void
change(struct gd_pool *p, enum gd_key_member what, const char *id)
{
  p->kv->ops->member(p->kv, what, id, nobody_waits, p);
}

/* ---- a node becomes a member ---- */

struct coming {
  struct gd *gd;
  struct gi_gfid node;
  char *member;
  char address[64]; /* of it, in numbers */
};

static void
coming_free(struct coming *c)
{
  gi_free(c->member);
  gi_free(c);
}

static void
told(void *arg, int code, const json_t *reply)
{
  struct coming *c = arg;
  struct gd_pool *p = c->gd->pool;
  if ((code || json_object_get(reply, "error")) && p && p->kv && c->member)
    change(p, GD_KEY_REMOVE, c->member);
  coming_free(c);
}

static void
added(void *arg, const struct gd_key_answer *a)
{
  struct coming *c = arg;
  const struct gd_pool *p = c->gd->pool;
  struct gd_node *n = gd_node_find(c->gd, &c->node);
  if (a->code || !n) {
    coming_free(c);
    return;
  }
  GI_CLEANUP_FREE char *url = gd_etcd_url(a->members, c->address, n->port);
  GI_CLEANUP_FREE char *text = gd_members_text(a->members, url, &c->node, &c->member);
  gi_log(GI_LOG_INFO, GD_NAME, MSG, "node %s becomes a member of the store", n->hosts[0]);
  gd_node_call(n,
               json_pack("{s:s,s:i,s:{s:s,s:s,s:s,s:o}}", "call", "run", "proc", 0, "request", "command", "node store",
                         "members", text, "address", c->address, "trust", gd_secret_trusted(p)),
               ADMIT_MS, told, c);
}

/* The first node that is none and can be reached. */
static struct gd_node *
first_without(struct gd_pool *p, const json_t *members)
{
  gi_list_foreach(n, &p->nodes, struct gd_node, link)
    if (gd_node_connected(n) && !gd_member_of(members, &n->id))
      return n;
  return NULL;
}

static void
add(struct gd_pool *p, const json_t *members, struct gd_node *n)
{
  struct coming *c = gi_new(struct coming);
  *c = (struct coming){.gd = p->gd, .node = n->id};
  if (!gd_link_its_address(n->connection, c->address, sizeof(c->address))) {
    coming_free(c);
    return;
  }
  GI_CLEANUP_FREE char *url = gd_etcd_url(members, c->address, n->port);
  p->kv->ops->member(p->kv, GD_KEY_ADD_LEARNER, url, added, c);
}

/* Of those that could do it one does. */
static bool
is_first(const struct gd_pool *p, const json_t *members)
{
  const json_t *own = gd_member_of(members, &p->gd->uuid);
  if (!own || json_is_true(json_object_get(own, "isLearner")))
    return false;
  gi_list_foreach(n, &p->nodes, struct gd_node, link) {
    const json_t *m = gd_member_of(members, &n->id);
    if (m && gd_node_connected(n) && !json_is_true(json_object_get(m, "isLearner")) &&
        memcmp(n->id.b, p->gd->uuid.b, sizeof(n->id.b)) < 0)
      return false;
  }
  return true;
}

/* A node has another address, and was told: its member is found there. True: one was to be moved. */
static bool
move(struct gd_pool *p, const json_t *members)
{
  for (size_t i = 0; i < json_array_size(members); i++) {
    const json_t *m = json_array_get(members, i);
    struct gi_gfid id;
    const struct gd_node *n = gi_gfid_parse(name_of(m), &id) ? gd_node_find(p->gd, &id) : NULL;
    bool own = gi_gfid_parse(name_of(m), &id) && gi_gfid_equal(&id, &p->gd->uuid);
    const char *store = own ? p->store : n ? n->store : "";
    GI_CLEANUP_FREE char *host = gd_member_host(m);
    if (!*store || !host || strcmp(host, store) == 0)
      continue;
    json_t *like = json_pack("[O]", m);
    GI_CLEANUP_FREE char *url = gd_etcd_url(like, store, own ? p->gd->config.port : n->port);
    GI_CLEANUP_FREE char *what = gi_asprintf("%s %s", id_of(m), url);
    gi_log(GI_LOG_INFO, GD_NAME, MSG + 4, "the member of the store at %s is found at %s from now on", host, store);
    json_decref(like);
    change(p, GD_KEY_MOVE, what);
    return true;
  }
  return false;
}

static void
look(struct gd_pool *p, const json_t *members)
{
  if (move(p, members))
    return;
  const char *unknown = NULL;
  bool learner = false, room = json_array_size(members) < GD_VOTERS_MAX;
  struct gd_node *without = room ? first_without(p, members) : NULL;
  for (size_t i = 0; i < json_array_size(members); i++) {
    const json_t *m = json_array_get(members, i);
    if (!is_known(p, m))
      unknown = id_of(m);
    if (!json_is_true(json_object_get(m, "isLearner")))
      continue;
    learner = true;
    if (is_known(p, m) && (json_array_size(members) >= 3 || without)) { /* there is room for one learner at a time */
      change(p, GD_KEY_PROMOTE, id_of(m)); /* one that has not caught up is refused, and tried again */
      return;
    }
  }
  p->waited = unknown ? p->waited + 1 : 0;
  if (unknown && p->waited > NEVER_CAME)
    change(p, GD_KEY_REMOVE, unknown);
  else if (!learner && !unknown && without)
    add(p, members, without);
}

/* ---- this node's own ---- */

/* It answered once, so its data are there from now on. */
static void
note_joined(struct gd_pool *p, const json_t *members)
{
  struct gi_error err = {0};
  if (p->joined || p->unfilled || !p->etcd || !gd_member_of(members, &p->gd->uuid))
    return;
  p->joined = true;
  if (gd_pool_save(p->gd, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "%s", err.text);
}

/* In the list it began with, by which it knows where to listen. */
static void
set_own_url(struct gd_pool *p, const char *url)
{
  char uuid[GI_UUID_TEXT], *text = NULL;
  size_t len = strlen(gi_gfid_text(&p->gd->uuid, uuid));
  for (const char *m = p->initial; *m; m += strcspn(m, ","), m += *m == ',') {
    bool own = strncmp(m, uuid, len) == 0 && m[len] == '=';
    int n = own ? (int)len + 1 : (int)strcspn(m, ",");
    char *longer = gi_asprintf("%s%s%.*s%s", text ? text : "", text ? "," : "", n, m, own ? url : "");
    gi_free(text);
    text = longer;
  }
  gi_free(p->initial);
  p->initial = text;
}

void
gd_members_encrypt_own(struct gd_pool *p)
{
  GI_CLEANUP_FREE char *url = gd_etcd_url(NULL, p->address, p->gd->config.port);
  GI_ASSERT(p->initial && p->etcd);
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 6, "the member of the store on this node is encrypted from now on");
  set_own_url(p, url);
  gd_secret_trust_own(p);
  gd_etcd_renew(p->etcd, true);
}

void
gd_members_move_own(struct gd_pool *p)
{
  struct gi_error err = {0};
  GI_ASSERT(p->initial && p->store[0]);
  if (gd_etcd_is_plain(p)) /* first it goes over to encryption */
    return;
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 5, "the member of the store on this node goes from %s to %s", p->address, p->store);
  GI_CLEANUP_FREE char *url = gd_etcd_url(NULL, p->store, p->gd->config.port);
  set_own_url(p, url);
  gi_free(p->address);
  p->address = gi_strdup(p->store);
  if (p->etcd) /* before the address is kept: were this daemon to die in between, it would not be done again */
    gd_etcd_renew(p->etcd, true);
  if (gd_pool_save(p->gd, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "%s", err.text);
}

void
gd_members_drop_own(struct gd_pool *p)
{
  struct gi_error err = {0};
  gd_etcd_stop(&p->etcd);
  gi_free(p->initial);
  p->initial = NULL;
  p->joined = false;
  if (gd_pool_save(p->gd, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "%s", err.text);
}

static void
old_id_gone(void *arg, const struct gd_key_answer *a)
{
  struct gd_pool *p = arg;
  if (a->code)
    return;
  p->lost = false; /* what the store knows next as its member is the new one */
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 2, "this node's lost member of the store is removed; it comes again as a new one");
}

static void
replace_lost(void *arg, const struct gd_key_answer *a)
{
  struct gd_pool *p = arg;
  gi_timer_set(&p->balance, TICK);
  if (p->etcd) /* it has come again meanwhile */
    return;
  const json_t *own = a->code ? NULL : gd_member_of(a->members, &p->gd->uuid);
  if (own)
    p->kv->ops->member(p->kv, GD_KEY_REMOVE, id_of(own), old_id_gone, p);
  p->lost = a->code || own;
}

const char *
gd_members_new_address(const struct gd_pool *p, char *buf, size_t size)
{
  if (p->store[0] || gd_host_is_local(p->gd, p->address))
    return NULL;
  gi_list_foreach(n, &p->nodes, struct gd_node, link)
    if (gd_node_connected(n) && gd_link_own_address(n->connection, buf, size) && strcmp(buf, p->address) != 0)
      return buf;
  return NULL; /* the network may be late */
}

static void
old_address_gone(void *arg, const struct gd_key_answer *a)
{
  struct gd_pool *p = arg;
  if (a->code || !p->etcd)
    return;
  gi_log(GI_LOG_WARNING, GD_NAME, MSG + 7, "this node is not at %s any more: it comes again as a new member of the store",
         p->address);
  gd_members_drop_own(p);
}

static void
replace_moved(void *arg, const struct gd_key_answer *a)
{
  struct gd_pool *p = arg;
  gi_timer_set(&p->balance, TICK);
  const json_t *own = a->code ? NULL : gd_member_of(a->members, &p->gd->uuid);
  if (own)
    p->kv->ops->member(p->kv, GD_KEY_REMOVE, id_of(own), old_address_gone, p);
}

int
gd_op_node_store(struct gd_op *op, struct gi_error *err)
{
  struct gd_pool *p = op->gd->pool;
  const char *members = gd_op_str(op, "members"), *address = gd_op_str(op, "address");
  if (!members || strchr(members, '\n') || !gd_is_host(address))
    return gi_error_set(err, EINVAL, "the request names no members");
  if (p->etcd)
    gd_etcd_stop(&p->etcd);
  gd_secret_trust(p, json_object_get(op->in, "trust"));
  gi_free(p->initial);
  p->initial = gi_strdup(members);
  gi_free(p->address);
  p->address = gi_strdup(address);
  p->initial_new = p->joined = false;
  if (gd_pool_save(op->gd, err))
    return GD_OP_FAILED;
  p->etcd = gd_etcd_start(p);
  return GD_OP_DONE;
}

/* ---- every second ---- */

static void
has_members(void *arg, const struct gd_key_answer *a)
{
  struct gd_pool *p = arg;
  gi_timer_set(&p->balance, TICK);
  if (a->code)
    return;
  note_joined(p, a->members);
  gd_trust_look(p, a->members);
  if (is_first(p, a->members))
    look(p, a->members);
}

void
gd_members_tick(void *arg)
{
  struct gd_pool *p = arg;
  char address[64];
  gd_quorum_look(p);
  gi_list_foreach(n, &p->nodes, struct gd_node, link)
    gd_link_prove_again(n->connection);
  if (gi_list_empty(&p->gd->ops)) /* one that waits for answers is not cut off */
    gi_list_foreach(n, &p->nodes, struct gd_node, link)
      gd_link_tidy(n->connection);
  if (gd_etcd_lost_data(p)) {
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 3, "the data of the store on this node are lost: it begins anew as another member");
    gd_members_drop_own(p);
    p->lost = true;
  }
  p->lost = p->lost && !p->etcd; /* the one that runs is the new one */
  if (p->lost || p->etcd)
    p->kv->ops->members(p->kv,
                        p->lost                                               ? replace_lost
                        : gd_members_new_address(p, address, sizeof(address)) ? replace_moved
                                                                              : has_members,
                        p);
  else
    gi_timer_set(&p->balance, TICK);
}
