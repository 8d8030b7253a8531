/* SPDX-License-Identifier: Apache-2.0
 *
 * The secret of the pool: how a new node is told, and how all get another one
 * when a node leaves.
 *
 * An invitation has it sealed with the key that the new node has told in its
 * greeting. Who overhears both learns nothing. Who stands between them, and
 * answers in the new node's name, does: nothing proves anything before there is
 * a token.
 *
 * A new secret is one document of the store, written together with the end of
 * the node that leaves:
 *
 *   {"generation": counted from 0, "nodes": {UUID: the secret, sealed for that node},
 *    "before": [the secret before, sealed with this one; the one before that, sealed with its successor; …]}
 *
 * Each node that stays opens its own entry when it reads the store. One that
 * was away cannot prove itself to the others any more, and sees in their
 * greeting that they have a later generation: it asks for the document, showing
 * that it knows an earlier secret, and is answered with a proof of the same
 * one. The document is of no use to a node that left, but that it learns that
 * it has.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MSG (GI_MSG_MGMT + 240)

/* ---- invitations ---- */

bool
gd_secret_seal(struct gd *gd, json_t *invitation, const char *key)
{
  static const char *const members[] = {"secret", "more"};
  json_t *hidden = json_object();
  for (size_t i = 0; i < GI_ARRAY_LEN(members); i++) {
    json_object_set(hidden, members[i], json_object_get(invitation, members[i]));
    json_object_del(invitation, members[i]);
  }
  char *text = json_dumps(hidden, JSON_COMPACT), *sealed = gd_seal_for(gd->reactor, key, text);
  explicit_bzero(text, strlen(text));
  free(text);
  json_decref(hidden);
  if (sealed)
    json_object_set_new(invitation, "sealed", json_string(sealed));
  gi_free(sealed);
  return sealed != NULL;
}

bool
gd_secret_open(struct gd *gd, json_t *invitation)
{
  const json_t *sealed = json_object_get(invitation, "sealed");
  char *text = sealed ? gd_unseal_own(gd, json_string_value(sealed)) : NULL;
  json_t *hidden = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
  bool good = !sealed || json_is_object(hidden); /* a version before sends it as it is */
  if (json_is_object(hidden))
    json_object_update(invitation, hidden);
  if (text)
    explicit_bzero(text, strlen(text));
  gi_free(text);
  json_decref(hidden);
  return good;
}

/* ---- generations ---- */

static json_t *
read_doc(const char *text)
{
  json_t *doc = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
  json_int_t n = json_integer_value(json_object_get(doc, "generation"));
  if (n > 0 && n <= UINT32_MAX && json_is_object(json_object_get(doc, "nodes")))
    return doc;
  json_decref(doc);
  return NULL;
}

unsigned
gd_secret_generation(const char *text)
{
  json_t *doc = read_doc(text);
  unsigned n = (unsigned)json_integer_value(json_object_get(doc, "generation"));
  json_decref(doc);
  return n;
}

unsigned
gd_secrets_past(const struct gd *gd, uint8_t past[GD_PAST_MAX][GD_SECRET_BYTES])
{
  const struct gd_pool *p = gd->pool;
  const uint8_t *key = p->secret;
  json_t *doc = read_doc(p->secret_doc);
  const json_t *before = json_object_get(doc, "before");
  unsigned n = 0;
  for (bool good = doc != NULL; good && n < GD_PAST_MAX && n < json_array_size(before);) {
    char *text = gd_unseal(key, json_string_value(json_array_get(before, n)));
    good = text && gd_unhex(text, past[n], GD_SECRET_BYTES);
    gi_free(text);
    key = past[n];
    n += good;
  }
  json_decref(doc);
  return n;
}

/* The one of that generation. False: nobody knows it any more, or yet. */
static bool
secret_of(const struct gd *gd, json_int_t generation, uint8_t secret[GD_SECRET_BYTES])
{
  uint8_t past[GD_PAST_MAX][GD_SECRET_BYTES];
  json_int_t back = (json_int_t)gd->pool->generation - generation;
  unsigned n = gd_secrets_past(gd, past);
  bool known = back > 0 && back <= n;
  if (known)
    memcpy(secret, past[back - 1], GD_SECRET_BYTES);
  explicit_bzero(past, sizeof(past));
  return known;
}

/* ---- the next one ---- */

const struct gd_node *
gd_secret_deaf(const struct gd *gd, const struct gi_gfid *leaves)
{
  gi_list_foreach(n, &gd->pool->nodes, struct gd_node, link)
    if (!gi_gfid_equal(&n->id, leaves) && !n->key[0])
      return n;
  return NULL;
}

static void
seal_entry(struct gd *gd, json_t *nodes, const struct gi_gfid *id, const char *key, const char *secret)
{
  char uuid[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *sealed = gd_seal_for(gd->reactor, key, secret);
  if (sealed)
    json_object_set_new(nodes, gi_gfid_text(id, uuid), json_string(sealed));
  else
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "node %s cannot be told the pool's new secret: its key is none", gi_gfid_text(id, uuid));
}

/* The older ones, each sealed with its successor, of which the first is `secret`. */
static json_t *
seal_past(struct gd *gd, const uint8_t *secret)
{
  char hex[2 * GD_SECRET_BYTES + 1];
  json_t *before = json_array(), *doc = read_doc(gd->pool->secret_doc), *old = json_object_get(doc, "before");
  gd_hex(gd->pool->secret, GD_SECRET_BYTES, hex);
  GI_CLEANUP_FREE char *sealed = gd_seal(gd->reactor, secret, hex);
  json_array_append_new(before, json_string(sealed));
  for (size_t i = 0; i < json_array_size(old) && i < GD_PAST_MAX - 1; i++)
    json_array_append(before, json_array_get(old, i));
  json_decref(doc);
  explicit_bzero(hex, sizeof(hex));
  return before;
}

char *
gd_secret_next(struct gd *gd, const struct gi_gfid *leaves, uint8_t secret[GD_SECRET_BYTES])
{
  const struct gd_pool *p = gd->pool;
  char hex[2 * GD_SECRET_BYTES + 1];
  json_t *nodes = json_object();
  GI_ASSERT(!gd_secret_deaf(gd, leaves));
  gi_random(gd->reactor, secret, GD_SECRET_BYTES);
  gd_hex(secret, GD_SECRET_BYTES, hex);
  seal_entry(gd, nodes, &gd->uuid, gd_node_key(gd), hex);
  gi_list_foreach(n, &p->nodes, struct gd_node, link)
    if (!gi_gfid_equal(&n->id, leaves))
      seal_entry(gd, nodes, &n->id, n->key, hex);
  explicit_bzero(hex, sizeof(hex));
  json_t *doc =
      json_pack("{s:I,s:o,s:o}", "generation", (json_int_t)p->generation + 1, "nodes", nodes, "before", seal_past(gd, secret));
  char *text = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS), *own = gi_strdup(text);
  free(text);
  json_decref(doc);
  return own;
}

/* ---- taking it ---- */

static void
use(struct gd_pool *p, unsigned generation, const uint8_t *secret, const char *text)
{
  struct gi_error err = {0};
  memcpy(p->secret, secret, GD_SECRET_BYTES);
  p->generation = generation;
  gi_free(p->secret_doc);
  p->secret_doc = gi_strdup(text);
  if (gd_pool_save(p->gd, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "%s", err.text);
  p->changed = gi_now(p->gd->reactor);
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 2, "the pool has another secret, its generation %u", generation);
}

bool
gd_secret_take(struct gd *gd, const char *text)
{
  struct gd_pool *p = gd->pool;
  char uuid[GI_UUID_TEXT];
  uint8_t secret[GD_SECRET_BYTES];
  json_t *doc = read_doc(text);
  unsigned generation = (unsigned)json_integer_value(json_object_get(doc, "generation"));
  const json_t *entry = json_object_get(json_object_get(doc, "nodes"), gi_gfid_text(&gd->uuid, uuid));
  if (doc && generation > p->generation) {
    char *open = gd_unseal_own(gd, json_string_value(entry));
    if (gd_unhex(open, secret, sizeof(secret)))
      use(p, generation, secret, text);
    else
      gi_log(GI_LOG_ERROR, GD_NAME, MSG + 3, "the pool has another secret, its generation %u, which this node is not told",
             generation);
    if (open)
      explicit_bzero(open, strlen(open));
    gi_free(open);
    explicit_bzero(secret, sizeof(secret));
  } else if (!doc) {
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 4, "the document of the pool's secret is damaged");
  }
  json_decref(doc);
  return entry != NULL;
}

/* ---- a node that was away ---- */

/* `what` both sides say of a conversation, with a secret that one of them has no other than. */
static void
news_mac(const uint8_t *secret, const char *what, const char *challenge, const char *nonce, const char *uuid, const char *text,
         char *mac)
{
  const char *parts[] = {what, challenge, nonce, uuid, text, NULL};
  gd_mac(secret, GD_SECRET_BYTES, parts, mac);
}

json_t *
gd_secret_question(struct gd *gd, const char *challenge, const char *nonce)
{
  char mac[GD_MAC_TEXT], uuid[GI_UUID_TEXT];
  news_mac(gd->pool->secret, "what is the secret?", challenge, nonce, gi_gfid_text(&gd->uuid, uuid), "", mac);
  return json_pack("{s:s,s:s,s:s,s:I}", "uuid", uuid, "nonce", nonce, "mac", mac, "generation",
                   (json_int_t)gd->pool->generation);
}

void
gd_secret_asked(struct gd *gd, struct gi_rpc_request *req, const char *challenge, const json_t *in)
{
  const char *uuid = json_string_value(json_object_get(in, "uuid")), *nonce = json_string_value(json_object_get(in, "nonce"));
  const char *peer = gi_conn_peer(gi_rpc_peer_conn(req->peer));
  json_int_t generation = json_integer_value(json_object_get(in, "generation"));
  uint8_t secret[GD_SECRET_BYTES];
  char mac[GD_MAC_TEXT];
  struct gi_gfid id;
  bool known = gd->pool && uuid && gi_gfid_parse(uuid, &id) && nonce && secret_of(gd, generation, secret);
  if (known)
    news_mac(secret, "what is the secret?", challenge, nonce, uuid, "", mac);
  if (!known || !gd_mac_same(mac, json_string_value(json_object_get(in, "mac")))) {
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + 5, "%s asks for the secret of the pool and knows none that it had", peer);
    gd_node_answer(req, gd_node_refusal(EACCES, "the secret of the pool was never that"));
    return;
  }
  if (gd_node_find(gd, &id))
    gi_log(GI_LOG_INFO, GD_NAME, MSG + 6, "node %s at %s was away, and is told the pool's secret", uuid, peer);
  else
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + 7, "node %s at %s, which was detached, is told that it was", uuid, peer);
  news_mac(secret, "this it is", challenge, nonce, uuid, gd->pool->secret_doc, mac);
  explicit_bzero(secret, sizeof(secret));
  gd_node_answer(req, json_pack("{s:s,s:s}", "secret", gd->pool->secret_doc, "mac", mac));
}

bool
gd_secret_hear(struct gd *gd, const char *challenge, const char *nonce, const json_t *reply)
{
  struct gd_pool *p = gd->pool;
  const char *text = json_string_value(json_object_get(reply, "secret"));
  char mac[GD_MAC_TEXT], uuid[GI_UUID_TEXT];
  unsigned before = p->generation;
  if (!text)
    return false;
  news_mac(p->secret, "this it is", challenge, nonce, gi_gfid_text(&gd->uuid, uuid), text, mac);
  if (!gd_mac_same(mac, json_string_value(json_object_get(reply, "mac"))) || gd_secret_generation(text) <= before)
    return false;
  if (!gd_secret_take(gd, text)) {
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + 8, "this node was detached from its pool");
    gi_defer_add(gd->reactor, &p->leave);
  }
  return p->generation > before;
}

/* ---- what a node keeps, and a new one is told ---- */

void
gd_secret_trust_own(struct gd_pool *p)
{
  p->trusts[0].generation = p->shown = p->generation;
  memcpy(p->trusts[0].secret, p->secret, GD_SECRET_BYTES);
  p->ntrusts = 1;
}

void
gd_secret_begin(struct gd_pool *p)
{
  gi_random(p->gd->reactor, p->secret, sizeof(p->secret));
  gd_secret_trust_own(p);
}

static void
add_trust(struct gd_pool *p, json_int_t generation, const char *hex)
{
  struct gd_trust *t = &p->trusts[p->ntrusts];
  if (p->ntrusts == GD_TRUSTS_MAX || generation < 0 || generation > UINT32_MAX || !gd_unhex(hex, t->secret, sizeof(t->secret)))
    return;
  t->generation = (unsigned)generation;
  p->ntrusts++;
}

void
gd_secret_write(const struct gd_pool *p, FILE *f)
{
  char hex[2 * GD_SECRET_BYTES + 1];
  fprintf(f, "generation=%u\nshown=%u\n", p->generation, p->shown);
  if (p->secret_doc)
    fprintf(f, "secret-document=%s\n", p->secret_doc);
  for (unsigned i = 0; i < p->ntrusts; i++) {
    gd_hex(p->trusts[i].secret, GD_SECRET_BYTES, hex);
    fprintf(f, "trusted=%u:%s\n", p->trusts[i].generation, hex);
  }
  explicit_bzero(hex, sizeof(hex));
}

void
gd_secret_read(struct gd_pool *p, const struct gd_kvs *kvs)
{
  const char *generation = gd_kvs_get(kvs, "generation"), *shown = gd_kvs_get(kvs, "shown");
  p->generation = generation ? (unsigned)strtoul(generation, NULL, 10) : 0;
  p->shown = shown ? (unsigned)strtoul(shown, NULL, 10) : 0;
  p->secret_doc = gi_strdup(gd_kvs_get(kvs, "secret-document"));
  for (unsigned i = 0; i < kvs->count; i++) {
    const char *colon = strchr(kvs->kv[i].value, ':');
    if (strcmp(kvs->kv[i].key, "trusted") == 0 && colon)
      add_trust(p, strtol(kvs->kv[i].value, NULL, 10), colon + 1);
  }
  if (!p->ntrusts)
    gd_secret_trust_own(p);
}

json_t *
gd_secret_more(const struct gd_pool *p)
{
  char hex[2 * GD_SECRET_BYTES + 1];
  json_t *trusts = json_array();
  for (unsigned i = 0; i < p->ntrusts; i++) {
    gd_hex(p->trusts[i].secret, GD_SECRET_BYTES, hex);
    json_array_append_new(trusts, json_pack("{s:I,s:s}", "generation", (json_int_t)p->trusts[i].generation, "secret", hex));
  }
  explicit_bzero(hex, sizeof(hex));
  json_t *more =
      json_pack("{s:I,s:I,s:o}", "generation", (json_int_t)p->generation, "shown", (json_int_t)p->shown, "trusted", trusts);
  if (p->secret_doc)
    json_object_set_new(more, "document", json_string(p->secret_doc));
  return more;
}

void
gd_secret_take_more(struct gd_pool *p, const json_t *more)
{
  const json_t *trusts = json_object_get(more, "trusted");
  const char *text = json_string_value(json_object_get(more, "document"));
  p->generation = (unsigned)json_integer_value(json_object_get(more, "generation"));
  p->shown = (unsigned)json_integer_value(json_object_get(more, "shown"));
  p->secret_doc = text && !strchr(text, '\n') ? gi_strdup(text) : NULL;
  for (size_t i = 0; i < json_array_size(trusts); i++)
    add_trust(p, json_integer_value(json_object_get(json_array_get(trusts, i), "generation")),
              json_string_value(json_object_get(json_array_get(trusts, i), "secret")));
  if (!p->ntrusts)
    gd_secret_trust_own(p);
}

json_t *
gd_secret_trusted(const struct gd_pool *p)
{
  json_t *list = json_array();
  for (unsigned i = 0; i < p->ntrusts; i++)
    json_array_append_new(list, json_integer((json_int_t)p->trusts[i].generation));
  return json_pack("{s:o,s:I}", "generations", list, "shown", (json_int_t)p->shown);
}

void
gd_secret_trust(struct gd_pool *p, const json_t *trusted)
{
  const json_t *list = json_object_get(trusted, "generations");
  uint8_t past[GD_PAST_MAX][GD_SECRET_BYTES];
  unsigned n = gd_secrets_past(p->gd, past);
  gd_secret_trust_own(p);
  for (size_t i = 0; i < json_array_size(list) && p->ntrusts < GD_TRUSTS_MAX; i++) {
    json_int_t back = (json_int_t)p->generation - json_integer_value(json_array_get(list, i));
    if (back <= 0 || back > n)
      continue;
    struct gd_trust *t = &p->trusts[p->ntrusts++];
    t->generation = p->generation - (unsigned)back;
    memcpy(t->secret, past[back - 1], GD_SECRET_BYTES);
  }
  if (trusted)
    p->shown = (unsigned)json_integer_value(json_object_get(trusted, "shown"));
  explicit_bzero(past, sizeof(past));
}

const struct gd_trust *
gd_secret_shown(const struct gd_pool *p)
{
  GI_ASSERT(p->ntrusts > 0 && p->ntrusts <= GD_TRUSTS_MAX);
  for (unsigned i = 0; i < p->ntrusts; i++)
    if (p->trusts[i].generation == p->shown)
      return &p->trusts[i];
  return &p->trusts[p->ntrusts - 1];
}
