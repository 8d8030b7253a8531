/* SPDX-License-Identifier: Apache-2.0
 *
 * etcd as the store, through its JSON gateway. Clients of the pool's own come
 * over a unix socket only, so no other machine can reach it: a node asks the
 * etcd of its own, and if that is none, is down or cannot say, it has another
 * node ask. An etcd of the site's is asked by every node itself, at each of its
 * addresses in turn, and our keys begin there with what --store says.
 */
#include "programs/glusterishd/pool/http.h"
#include "programs/glusterishd/pool/key-store.h"
#include "programs/glusterishd/pool/pool.h"
#include "programs/glusterishd/pool/site.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#define OWN_SLOW (10 * GI_NSEC_PER_SEC) /* for so long others are asked first, when they knew what ours did not say */
#define POLL (3 * GI_NSEC_PER_SEC)      /* where nothing can be watched */

struct etcd {
  struct gd_key_store kv;
  struct gd *gd;
  struct gd_http *http;
  struct gi_list requests;
  struct gd_http_call *watch;
  struct gi_timer poll;
  uint64_t own_slow_until;
  unsigned good; /* of the site's: which one answered last */
  void (*changed)(void *arg);
  void *changed_arg;
};

struct request {
  struct gi_list link;
  struct etcd *e;
  char *path, *body;
  uint64_t deadline;
  bool asked_own, own_late;
  bool twice;    /* it may be carried out twice: it changes nothing, or nothing more the second time */
  unsigned next; /* node to ask next, or of the site's addresses */
  unsigned at;   /* which of these is asked */
  bool late;     /* somebody who had the store could not answer in time */
  struct gd_http_call *http;
  struct gd_call *call;
  struct gi_defer hopeless;
  void (*parse)(struct request *rq, const json_t *doc, struct gd_key_answer *a);
  gd_key_fn *fn;
  void *arg;
  struct gd_key_pair *pairs;
  unsigned npairs;
};

/* ---- text ---- */

static json_t *
base64(const char *text)
{
  size_t len = strlen(text);
  GI_CLEANUP_FREE char *out = gi_alloc((len + 2) / 3 * 4 + 1);
  EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
  return json_string(out);
}

/* The caller frees it; NULL: no base64, or no text. */
static char *
plain(const json_t *j)
{
  const char *in = json_string_value(j);
  size_t len = in ? strlen(in) : 0;
  if (len % 4)
    return NULL;
  char *out = gi_zalloc(len / 4 * 3 + 1);
  int n = len ? EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)in, (int)len) : 0;
  size_t pad = len && in[len - 1] == '=' ? 1 + (in[len - 2] == '=') : 0;
  if (n < (int)pad || memchr(out, 0, (size_t)n - pad)) {
    gi_free(out);
    return NULL;
  }
  return out;
}

/* Its keys of ours begin with that. */
static const char *
prefix_of(const struct etcd *e)
{
  return e->gd->config.site ? e->gd->config.site->prefix : "";
}

static json_t *
key_text(const struct etcd *e, const char *key)
{
  GI_CLEANUP_FREE char *whole = gi_asprintf("%s%s", prefix_of(e), key);
  return base64(whole);
}

static int64_t
number(const json_t *j)
{
  return json_is_integer(j) ? json_integer_value(j) : json_is_string(j) ? strtoll(json_string_value(j), NULL, 10) : 0;
}

static json_t *
as_text(int64_t n)
{
  return json_sprintf("%lld", (long long)n);
}

/* The first key behind all that begin with `prefix`. */
static json_t *
range_end(const struct etcd *e, const char *prefix)
{
  GI_CLEANUP_FREE char *end = gi_asprintf("%s%s", prefix_of(e), prefix);
  end[strlen(end) - 1]++;
  return base64(end);
}

/* ---- a request ---- */

static void
request_free(struct request *rq)
{
  gi_list_del(&rq->link);
  gi_defer_cancel(&rq->hopeless);
  gd_http_cancel(&rq->http);
  gd_call_cancel(&rq->call);
  for (unsigned i = 0; i < rq->npairs; i++) {
    gi_free(rq->pairs[i].key);
    gi_free(rq->pairs[i].value);
  }
  gi_free(rq->pairs);
  gi_free(rq->path);
  gi_free(rq->body);
  gi_free(rq);
}

static void
answer(struct request *rq, const struct gd_key_answer *a)
{
  gd_key_fn *fn = rq->fn;
  if (fn)
    fn(rq->arg, a);
  request_free(rq);
}

static void next(struct request *rq);

/* Nobody answered as it should be. Others are asked only for what may happen twice, or has surely not happened: were a commit put
 * again, its own first half would be what it fails for. */
static void
elsewhere(struct request *rq, bool untouched)
{
  if (rq->twice || untouched) {
    next(rq);
    return;
  }
  rq->late = true;
  gi_defer_add(rq->e->gd->reactor, &rq->hopeless);
}

/* A learner refuses what only a voter does. */
static bool
is_learner(const char *why)
{
  return strstr(why, "not supported for learner") != NULL;
}

/* The process ends, and had not begun with the request. */
static bool
is_closing(const char *why)
{
  return strstr(why, "client connection is closing") != NULL;
}

static void
said(struct request *rq, const char *text)
{
  json_t *doc = json_loads(text, 0, NULL);
  const char *why = json_string_value(json_object_get(doc, "error"));
  struct gd_key_answer a = {.why = ""};
  if (why && (is_learner(why) || is_closing(why) || strstr(why, "server stopped"))) {
    bool untouched = is_learner(why) || is_closing(why);
    json_decref(doc);
    elsewhere(rq, untouched);
    return;
  }
  if (!json_is_object(doc)) {
    a.code = EIO;
    a.why = "the store's answer is no JSON object";
  } else if (why) {
    a.code = strstr(why, "timed out") || strstr(why, "no leader") || strstr(why, "leader changed") ? ETIMEDOUT : EIO;
    a.why = a.code == ETIMEDOUT ? "the store has no majority of its members" : why;
  } else {
    a.revision = number(json_object_get(json_object_get(doc, "header"), "revision"));
    if (rq->parse)
      rq->parse(rq, doc, &a);
    a.npairs = rq->npairs;
    a.pairs = rq->pairs;
  }
  answer(rq, &a);
  json_decref(doc);
}

static void
own_said(void *arg, int code, long status, const char *body)
{
  struct request *rq = arg;
  rq->http = NULL;
  rq->late |= code == ETIMEDOUT;
  rq->own_late = code == ETIMEDOUT;
  if (!code && rq->e->gd->config.site)
    rq->e->good = rq->at;
  if (code)
    elsewhere(rq, code == ECONNREFUSED || code == EACCES);
  else
    said(rq, body);
}

static void
other_said(void *arg, int code, const json_t *reply)
{
  struct request *rq = arg;
  rq->call = NULL;
  const char *body = json_string_value(json_object_get(reply, "body"));
  int there = (int)json_integer_value(json_object_get(reply, "code"));
  rq->late |= there == ETIMEDOUT;
  if (rq->own_late && !code && body)
    rq->e->own_slow_until = gi_now(rq->e->gd->reactor) + OWN_SLOW;
  if (code || !body)
    elsewhere(rq, code == EACCES || (!code && (there == ENOTCONN || there == ECONNREFUSED)));
  else
    said(rq, body);
}

static unsigned
left_ms(const struct request *rq)
{
  uint64_t now = gi_now(rq->e->gd->reactor);
  return now < rq->deadline ? (unsigned)((rq->deadline - now) / GI_NSEC_PER_MSEC) : 0;
}

static void
hopeless(void *arg)
{
  struct request *rq = arg;
  struct gd_key_answer a = {.code = rq->late ? ETIMEDOUT : EHOSTUNREACH,
                            .why = rq->late ? "the store has no majority of its members"
                                   : rq->e->gd->config.site
                                       ? "the store is not reachable: no etcd of --store answers"
                                       : "the store is not reachable: etcd answers on no node that is connected"};
  answer(rq, &a);
}

/* The site's etcd, at the next of its addresses. False: there is none left. */
static bool
ask_site(struct request *rq, unsigned ms)
{
  const struct gd_site *site = rq->e->gd->config.site;
  if (rq->next >= site->n || ms <= 50)
    return false;
  unsigned left = site->n - rq->next;
  rq->at = (rq->e->good + rq->next++) % site->n;
  rq->http = gd_http_post(rq->e->http, &site->at[rq->at], rq->path, rq->body, rq->twice ? ms / left : ms, NULL, own_said, rq);
  return true;
}

static void
ask_own(struct request *rq, unsigned ms)
{
  GI_ASSERT(!rq->asked_own);
  rq->asked_own = true;
  rq->http = gd_http_post(rq->e->http, &(struct gd_http_place){.socket = gd_etcd_socket(rq->e->gd)}, rq->path, rq->body, ms,
                          NULL, own_said, rq);
}

/* Asks the next one who may know: our own first, or last while it is slow. */
static void
next(struct request *rq)
{
  struct gd *gd = rq->e->gd;
  unsigned ms = left_ms(rq);
  if (gd->config.site) {
    if (!ask_site(rq, ms))
      gi_defer_add(gd->reactor, &rq->hopeless);
    return;
  }
  bool own = !rq->asked_own && gd_etcd_socket(gd) && ms;
  if (own && gi_now(gd->reactor) >= rq->e->own_slow_until) {
    ask_own(rq, rq->twice ? ms / 2 : ms);
    return;
  }
  for (struct gd_node *n; ms > 50 && (n = gd_node_at(gd, rq->next)) != NULL;) {
    rq->next++;
    if (!gd_node_connected(n))
      continue;
    rq->call =
        gd_node_call(n, json_pack("{s:s,s:s,s:s}", "call", "store", "path", rq->path, "body", rq->body), ms, other_said, rq);
    return;
  }
  if (own)
    ask_own(rq, ms);
  else
    gi_defer_add(gd->reactor, &rq->hopeless);
}

/* Consumes `doc`. */
static struct request *
ask(struct gd_key_store *kv, const char *path, json_t *doc, gd_key_fn *fn, void *arg)
{
  struct etcd *e = (struct etcd *)kv;
  struct request *rq = gi_new(struct request);
  char *text = json_dumps(doc, JSON_COMPACT);
  *rq = (struct request){.e = e, .path = gi_strdup(path), .body = gi_strdup(text), .fn = fn, .arg = arg};
  free(text);
  json_decref(doc);
  rq->deadline = gi_now(e->gd->reactor) + GD_KEY_LIMIT_MS * GI_NSEC_PER_MSEC;
  gi_defer_init(&rq->hopeless, hopeless, rq);
  gi_list_add_tail(&e->requests, &rq->link);
  rq->twice =
      strcmp(path, "/v3/kv/range") == 0 || strncmp(path, "/v3/lease/", 10) == 0 || strcmp(path, "/v3/cluster/member/list") == 0;
  next(rq);
  return rq;
}

/* ---- keys ---- */

/* The caller frees it; NULL: no text, or not ours. */
static char *
our_key(const struct etcd *e, const json_t *j)
{
  GI_CLEANUP_FREE char *whole = plain(j);
  size_t len = strlen(prefix_of(e));
  return whole && strncmp(whole, prefix_of(e), len) == 0 ? gi_strdup(whole + len) : NULL;
}

static void
parse_pairs(struct request *rq, const json_t *doc, struct gd_key_answer *a)
{
  const json_t *kvs = json_object_get(doc, "kvs");
  rq->pairs = gi_zalloc((json_array_size(kvs) + 1) * sizeof(*rq->pairs));
  for (size_t i = 0; i < json_array_size(kvs); i++) {
    const json_t *kv = json_array_get(kvs, i);
    char *key = our_key(rq->e, json_object_get(kv, "key")), *value = plain(json_object_get(kv, "value"));
    if (!value) /* empty, or no text: a key that is there must not look as if it were gone */
      value = gi_strdup("");
    if (key)
      rq->pairs[rq->npairs++] = (struct gd_key_pair){key, value, number(json_object_get(kv, "mod_revision")),
                                                     number(json_object_get(kv, "lease")) != 0};
    else
      gi_free(value);
  }
}

static void
etcd_read(struct gd_key_store *kv, const char *prefix, gd_key_fn *fn, void *arg)
{
  const struct etcd *e = (const struct etcd *)kv;
  ask(kv, "/v3/kv/range", json_pack("{s:o,s:o}", "key", key_text(e, prefix), "range_end", range_end(e, prefix)), fn, arg)
      ->parse = parse_pairs;
}

static void
parse_commit(struct request *rq, const json_t *doc, struct gd_key_answer *a)
{
  if (!json_is_true(json_object_get(doc, "succeeded"))) {
    a->code = ESTALE;
    a->why = "somebody else has changed it meanwhile";
  }
}

static void
etcd_commit(struct gd_key_store *kv, const struct gd_key_if *ifs, unsigned nifs, const struct gd_key_put *puts, unsigned nputs,
            gd_key_fn *fn, void *arg)
{
  const struct etcd *e = (const struct etcd *)kv;
  json_t *compare = json_array(), *success = json_array();
  for (unsigned i = 0; i < nifs; i++)
    json_array_append_new(compare, json_pack("{s:o,s:s,s:s,s:o}", "key", key_text(e, ifs[i].key), "target", "MOD", "result",
                                             "EQUAL", "mod_revision", as_text(ifs[i].revision)));
  for (unsigned i = 0; i < nputs; i++) {
    json_t *key = key_text(e, puts[i].key);
    json_array_append_new(success, puts[i].value ? json_pack("{s:{s:o,s:o,s:o}}", "request_put", "key", key, "value",
                                                             base64(puts[i].value), "lease", as_text(puts[i].lease))
                                                 : json_pack("{s:{s:o}}", "request_delete_range", "key", key));
  }
  ask(kv, "/v3/kv/txn", json_pack("{s:o,s:o}", "compare", compare, "success", success), fn, arg)->parse = parse_commit;
}

/* ---- leases ---- */

static void
parse_lease(struct request *rq, const json_t *doc, struct gd_key_answer *a)
{
  a->revision = number(json_object_get(doc, "ID"));
}

static void
etcd_grant(struct gd_key_store *kv, unsigned seconds, gd_key_fn *fn, void *arg)
{
  ask(kv, "/v3/lease/grant", json_pack("{s:o}", "TTL", as_text(seconds)), fn, arg)->parse = parse_lease;
}

static void
etcd_keep(struct gd_key_store *kv, int64_t lease)
{
  ask(kv, "/v3/lease/keepalive", json_pack("{s:o}", "ID", as_text(lease)), NULL, NULL);
}

static void
etcd_revoke(struct gd_key_store *kv, int64_t lease)
{
  ask(kv, "/v3/lease/revoke", json_pack("{s:o}", "ID", as_text(lease)), NULL, NULL);
}

/* ---- members ---- */

static void
parse_members(struct request *rq, const json_t *doc, struct gd_key_answer *a)
{
  a->members = json_object_get(doc, "members");
}

static void
etcd_members(struct gd_key_store *kv, gd_key_fn *fn, void *arg)
{
  ask(kv, "/v3/cluster/member/list", json_object(), fn, arg)->parse = parse_members;
}

static void
etcd_member(struct gd_key_store *kv, enum gd_key_member change, const char *what, gd_key_fn *fn, void *arg)
{
  struct request *rq;
  size_t id = strcspn(what, " ");
  GI_ASSERT((change == GD_KEY_MOVE) == (what[id] == ' '));
  if (change == GD_KEY_MOVE)
    rq = ask(kv, "/v3/cluster/member/update", json_pack("{s:s%,s:[s]}", "ID", what, id, "peerURLs", what + id + 1), fn, arg);
  else if (change == GD_KEY_ADD_LEARNER)
    rq = ask(kv, "/v3/cluster/member/add", json_pack("{s:[s],s:b}", "peerURLs", what, "isLearner", true), fn, arg);
  else
    rq = ask(kv, change == GD_KEY_PROMOTE ? "/v3/cluster/member/promote" : "/v3/cluster/member/remove",
             json_pack("{s:s}", "ID", what), fn, arg);
  rq->parse = parse_members;
}

/* ---- watching ---- */

static void
unwatch(struct etcd *e)
{
  gd_http_cancel(&e->watch);
  gi_timer_cancel(&e->poll);
}

static void
has_changed(void *arg)
{
  struct etcd *e = arg;
  void (*changed)(void *) = e->changed;
  e->changed = NULL;
  if (changed)
    changed(e->changed_arg);
}

/* The end of a watch, or of what it can say: what has been missed is found by reading. */
static void
watch_line(void *arg, const char *line)
{
  struct etcd *e = arg;
  json_t *doc = json_loads(line, 0, NULL);
  const json_t *result = json_object_get(doc, "result");
  if (!result || json_is_true(json_object_get(result, "canceled")))
    gi_timer_set(&e->poll, POLL); /* a learner cannot be watched, and what is compacted cannot be replayed */
  else if (json_array_size(json_object_get(result, "events")))
    gi_timer_set(&e->poll, 0); /* not from inside the stream */
  json_decref(doc);
}

static void
watch_ended(void *arg, int code, long status, const char *body)
{
  struct etcd *e = arg;
  e->watch = NULL;
  if (!e->poll.armed)
    gi_timer_set(&e->poll, POLL);
}

static void
etcd_watch(struct gd_key_store *kv, const char *prefix, int64_t revision, void (*changed)(void *arg), void *arg)
{
  struct etcd *e = (struct etcd *)kv;
  const char *socket = gd_etcd_socket(e->gd);
  struct gd_http_place own = {.socket = socket};
  unwatch(e);
  e->changed = changed;
  e->changed_arg = arg;
  if (!socket && !e->gd->config.site) {
    gi_timer_set(&e->poll, POLL);
    return;
  }
  json_t *doc = json_pack("{s:{s:o,s:o,s:o}}", "create_request", "key", key_text(e, prefix), "range_end", range_end(e, prefix),
                          "start_revision", as_text(revision));
  char *text = json_dumps(doc, JSON_COMPACT);
  e->watch = gd_http_post(e->http, e->gd->config.site ? &e->gd->config.site->at[e->good] : &own, "/v3/watch", text, 0,
                          watch_line, watch_ended, e);
  free(text);
  json_decref(doc);
}

/* ---- life ---- */

static void
etcd_free(struct gd_key_store *kv)
{
  struct etcd *e = (struct etcd *)kv;
  e->changed = NULL;
  unwatch(e);
  gi_timer_finish(&e->poll);
  gi_list_foreach_safe(rq, &e->requests, struct request, link)
    request_free(rq);
  gd_http_free(&e->http);
  gi_free(e);
}

struct gd_key_store *
gd_key_etcd_new(struct gd *gd)
{
  static const struct gd_key_ops ops = {.free = etcd_free,
                                        .read = etcd_read,
                                        .commit = etcd_commit,
                                        .watch = etcd_watch,
                                        .grant = etcd_grant,
                                        .keep = etcd_keep,
                                        .revoke = etcd_revoke,
                                        .members = etcd_members,
                                        .member = etcd_member};
  struct etcd *e = gi_new(struct etcd);
  e->kv.ops = &ops;
  e->gd = gd;
  e->http = gd_http_new(gd->reactor);
  gi_list_init(&e->requests);
  gi_timer_init(&e->poll, gd->reactor, has_changed, e);
  return &e->kv;
}
