/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of the store know each other by a secret of the pool (store-cert.c).
 * When there is another one each of them goes over in three steps:
 *
 *   it trusts the new secret beside those before (it is started anew)
 *   -> it shows a certificate by the new one
 *   -> it trusts the new one alone (it is started anew)
 *
 * Each step waits until all others have taken the one before, and one is
 * started after the other, so that a majority is there all the time and those
 * who are there always trust each other. Who is away for a while is waited for;
 * then the others go on as long as they are a majority. It follows when it is
 * back and has been told the secret.
 *
 * Members of a store that began without encryption take the same way: each is
 * started anew so that it can speak with those who want it, and when all can one
 * after the other wants it. Nobody goes on without the others there.
 */
#include "programs/glusterishd/pool/store-trust.h"
#include "programs/glusterishd/pool/http.h"

#include <string.h>

#define ASK_MS 3000
#define WELL_MS 1500
#define PATIENCE 60 /* ticks of members.c that somebody is waited for */
#define MSG (GI_MSG_MGMT + 250)

/* ---- what to do next ---- */

/* More than half of those that vote have it. */
static bool
majority(const struct gd_trust_view *own, const struct gd_trust_view *others, unsigned n,
         bool (*has)(const struct gd_trust_view *v))
{
  unsigned voters = own->votes, with = own->votes; /* it has it, or is about to */
  for (unsigned i = 0; i < n; i++) {
    voters += others[i].votes;
    with += others[i].votes && others[i].answered && has(&others[i]);
  }
  return 2 * with > voters;
}

/* Of those that answered; with `before` of those whose turn is earlier. */
static bool
all(const struct gd_trust_view *own, const struct gd_trust_view *others, unsigned n, bool before,
    bool (*has)(const struct gd_trust_view *v))
{
  for (unsigned i = 0; i < n; i++) {
    bool earlier = memcmp(&others[i].node, &own->node, sizeof(own->node)) < 0;
    if (others[i].answered && (earlier || !before) && !has(&others[i]))
      return false;
  }
  return true;
}

static bool
answered(const struct gd_trust_view *v)
{
  return v->answered;
}

static bool
trusts(const struct gd_trust_view *v)
{
  return v->trusts;
}

static bool
shows(const struct gd_trust_view *v)
{
  return v->shows;
}

static bool
only(const struct gd_trust_view *v)
{
  return v->only;
}

static bool
well(const struct gd_trust_view *v)
{
  return v->well;
}

static bool
everybody(const struct gd_trust_view *others, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    if (!answered(&others[i]))
      return false;
  return true;
}

enum gd_trust_step
gd_trust_next(const struct gd_trust_view *own, const struct gd_trust_view *others, unsigned n, bool patient)
{
  bool calm = !patient || (everybody(others, n) && all(own, others, n, false, well)); /* nobody is being started */
  if (!own->trusts)
    return calm && all(own, others, n, true, trusts) ? GD_TRUST_ADD : GD_TRUST_WAIT;
  if (!own->shows)
    return (!patient || everybody(others, n)) && all(own, others, n, false, trusts) && majority(own, others, n, trusts)
               ? GD_TRUST_SHOW
               : GD_TRUST_WAIT;
  if (!own->only)
    return calm && all(own, others, n, false, shows) && all(own, others, n, true, only) && majority(own, others, n, shows)
               ? GD_TRUST_ALONE
               : GD_TRUST_WAIT;
  return GD_TRUST_WAIT;
}

/* ---- this node ---- */

static const struct gd_trust *
find(const struct gd_pool *p, unsigned generation)
{
  for (unsigned i = 0; i < p->ntrusts; i++)
    if (p->trusts[i].generation == generation)
      return &p->trusts[i];
  return NULL;
}

static struct gd_trust_view
view_of(const struct gd_pool *p, unsigned generation)
{
  bool has = find(p, generation) != NULL;
  if (p->etcd && gd_etcd_is_plain(p)) {
    bool can = has && gd_etcd_can_encrypt(p->etcd);
    return (struct gd_trust_view){.node = p->gd->uuid, .answered = true, .trusts = can, .shows = can};
  }
  return (struct gd_trust_view){.node = p->gd->uuid,
                                .answered = true,
                                .trusts = has,
                                .shows = has && p->shown == generation,
                                .only = has && p->ntrusts == 1 && p->shown == generation};
}

static void
add(struct gd_pool *p)
{
  if (p->ntrusts == GD_TRUSTS_MAX) { /* the oldest that nobody is shown goes */
    unsigned i = p->trusts[0].generation == p->shown;
    memmove(&p->trusts[i], &p->trusts[i + 1], (GD_TRUSTS_MAX - 1 - i) * sizeof(p->trusts[0]));
    p->ntrusts--;
  }
  struct gd_trust *t = &p->trusts[p->ntrusts++];
  t->generation = p->generation;
  memcpy(t->secret, p->secret, GD_SECRET_BYTES);
}

/* A command of this node is not disturbed. */
static bool
is_busy(const struct gd *gd)
{
  gi_list_foreach(op, &gd->ops, struct gd_op, link)
    if (!op->by_node)
      return true;
  return false;
}

static void
moved(void *arg, const struct gd_key_answer *a)
{
  struct gd_pool *p = arg;
  if (!a->code && p->etcd && gd_etcd_is_plain(p))
    gd_members_encrypt_own(p);
}

/* The store knows it first: a daemon that dies then finds it there. */
static void
encrypt(struct gd_pool *p, const char *id)
{
  GI_CLEANUP_FREE char *url = gd_etcd_url(NULL, p->address, p->gd->config.port), *what = gi_asprintf("%s %s", id, url);
  p->kv->ops->member(p->kv, GD_KEY_MOVE, what, moved, p);
}

/* By the secret of now alone: nobody was shown another one. */
static void
prepare_plain(struct gd_pool *p)
{
  gd_secret_trust_own(p);
  gd_etcd_renew(p->etcd, true);
}

static void
take(struct gd_pool *p, enum gd_trust_step step, const char *id)
{
  static const char *const texts[] = {[GD_TRUST_ADD] = "trusts the pool's new secret, too",
                                      [GD_TRUST_SHOW] = "shows others the pool's new secret",
                                      [GD_TRUST_ALONE] = "trusts the pool's new secret alone"};
  if (step == GD_TRUST_WAIT || is_busy(p->gd))
    return;
  p->trust_waits = 0;
  if (gd_etcd_is_plain(p)) {
    if (step == GD_TRUST_ADD)
      prepare_plain(p);
    else
      encrypt(p, id);
    return;
  }
  gi_log(GI_LOG_INFO, GD_NAME, MSG, "the member of the store on this node %s", texts[step]);
  if (step == GD_TRUST_ADD)
    add(p);
  if (step == GD_TRUST_SHOW)
    p->shown = p->generation;
  if (step == GD_TRUST_ALONE)
    gd_secret_trust_own(p);
  gd_etcd_renew(p->etcd, step != GD_TRUST_SHOW);
}

/* ---- the others ---- */

struct gd_trusting {
  struct gd *gd;
  unsigned generation, n, left;
  char id[32];                             /* of this node's member */
  struct gd_trust_view view[GD_NODES_MAX]; /* the first is this node's */
};

struct asked {
  struct gd_trusting *t;
  unsigned i;
};

static void
one_less(struct gd_trusting *t)
{
  struct gd_pool *p = t->gd->pool;
  if (--t->left)
    return;
  if (p && p->trusting == t) {
    p->trusting = NULL;
    if (p->etcd && p->generation == t->generation)
      take(p, gd_trust_next(&t->view[0], t->view + 1, t->n - 1, p->trust_waits++ < PATIENCE || gd_etcd_is_plain(p)), t->id);
  }
  gi_free(t);
}

static void
told(void *arg, int code, const json_t *reply)
{
  struct asked *a = arg;
  struct gd_trust_view *v = &a->t->view[a->i];
  const json_t *doc = json_object_get(reply, "doc");
  v->answered = !code && !json_object_get(reply, "error");
  v->trusts = json_is_true(json_object_get(doc, "trusts"));
  v->shows = json_is_true(json_object_get(doc, "shows"));
  v->only = json_is_true(json_object_get(doc, "only"));
  v->well = json_is_true(json_object_get(doc, "well"));
  one_less(a->t);
  gi_free(a);
}

static void
ask(struct gd_trusting *t, const json_t *member)
{
  const char *name = json_string_value(json_object_get(member, "name"));
  struct gd_trust_view *v = &t->view[t->n];
  bool votes = !json_is_true(json_object_get(member, "isLearner"));
  if (name && gi_gfid_parse(name, &v->node) && gi_gfid_equal(&v->node, &t->gd->uuid)) {
    const char *id = json_string_value(json_object_get(member, "ID"));
    t->view[0].votes = votes;
    snprintf(t->id, sizeof(t->id), "%s", id ? id : "");
    return;
  }
  struct gd_node *n = name && gi_gfid_parse(name, &v->node) ? gd_node_find(t->gd, &v->node) : NULL;
  v->votes = votes;
  t->n++;
  if (!n || !gd_node_connected(n))
    return;
  struct asked *a = gi_new(struct asked);
  *a = (struct asked){t, t->n - 1};
  t->left++;
  gd_node_call(n,
               json_pack("{s:s,s:i,s:{s:s,s:I}}", "call", "run", "proc", 0, "request", "command", "node trust", "generation",
                         (json_int_t)t->generation),
               ASK_MS, told, a);
}

void
gd_trust_look(struct gd_pool *p, const json_t *members)
{
  if (!p->etcd || p->trusting || view_of(p, p->generation).only)
    return;
  const json_t *own = gd_member_of(members, &p->gd->uuid);
  const char *url = json_string_value(json_array_get(json_object_get(own, "peerURLs"), 0));
  if (gd_etcd_is_plain(p) && url && strncmp(url, "https://", 8) == 0) { /* the daemon died before it took that in */
    gd_members_encrypt_own(p);
    return;
  }
  struct gd_trusting *t = gi_new(struct gd_trusting);
  *t = (struct gd_trusting){.gd = p->gd, .generation = p->generation, .n = 1, .left = 1};
  t->view[0] = view_of(p, p->generation);
  p->trusting = t;
  for (size_t i = 0; i < json_array_size(members) && t->n < GI_ARRAY_LEN(t->view); i++)
    ask(t, json_array_get(members, i));
  one_less(t);
}

/* ---- being asked ---- */

static void
asked_free(struct gd_op *op)
{
  struct gd_http_call *call = op->state;
  gd_http_cancel(&call);
}

/* A learner cannot answer that, and is well when it says so. */
static void
store_said(void *arg, int code, long status, const char *body)
{
  struct gd_op *op = arg;
  op->state = NULL;
  json_object_set_new(op->out, "well", json_boolean(!code && (status == 200 || strstr(body, "learner"))));
  gd_op_finish(op, NULL);
}

int
gd_op_node_trust(struct gd_op *op, struct gi_error *err)
{
  struct gd_pool *p = op->gd->pool;
  struct gd_trust_view v = view_of(p, (unsigned)gd_op_int(op, "generation", 0));
  json_object_update_new(op->out,
                         json_pack("{s:b,s:b,s:b,s:b}", "trusts", v.trusts, "shows", v.shows, "only", v.only, "well", false));
  const char *socket = gd_etcd_socket(op->gd);
  if (!socket)
    return GD_OP_DONE;
  op->release = asked_free;
  op->state = gd_http_post(p->http, &(struct gd_http_place){.socket = socket}, "/v3/kv/range",
                           "{\"key\":\"Z2x1c3RlcmlzaC9wb29s\"}" /* glusterish/pool */, WELL_MS, NULL, store_said, op);
  return GD_OP_LATER;
}
