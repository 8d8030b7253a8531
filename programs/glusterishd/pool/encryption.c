/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool's credentials of TLS (authority.h) are kept in its store, so that
 * every node has them, also one that was away or is new. The authority's key is
 * sealed with the pool's secret: what is read from the store, or overheard where
 * a node hears of it before it can speak TLS, helps nobody else.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"
#include "programs/glusterishd/tls/authority.h"
#include "libglusterish/mutants.h"

#include <errno.h>
#include <string.h>

#define MSG (GI_MSG_MGMT + 215)

char *
gd_encryption_write(struct gd *gd, const uint8_t secret[GD_SECRET_BYTES], const json_t *doc)
{
  json_t *copy = json_deep_copy(doc);
  GI_CLEANUP_FREE char *sealed = gd_seal(gd->reactor, secret, json_string_value(json_object_get(copy, "key")));
  json_object_del(copy, "key");
  json_object_set_new(copy, "sealed", json_string(sealed));
  char *text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS), *own = gi_strdup(text);
  free(text);
  json_decref(copy);
  return own;
}

/* NULL: damaged, or not of this pool. */
static json_t *
read_text(const struct gd_pool *p, const char *text)
{
  json_t *doc = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  char *key = gd_unseal(p->secret, json_string_value(json_object_get(doc, "sealed")));
  if (key) {
    json_object_set_new(doc, "key", json_string(key));
    json_object_del(doc, "sealed");
    explicit_bzero(key, strlen(key));
  }
  bool good = key && gd_authority_usable(doc);
  gi_free(key);
  if (good)
    return doc;
  json_decref(doc);
  return NULL;
}

void
gd_encryption_take(struct gd *gd, const char *text)
{
  struct gi_error err = {0};
  json_t *doc = read_text(gd->pool, text);
  if (!doc)
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "the pool's credentials of TLS are damaged: those known before are used");
  else if (gd_tls_take(gd, doc, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "the pool's credentials of TLS are not used: %s", err.text);
  json_decref(doc);
}

char *
gd_encryption_own(struct gd *gd)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(gd);
  json_t *doc = gd_authority_load(dir);
  char *text = doc ? gd_encryption_write(gd, gd->pool->secret, doc) : NULL;
  json_decref(doc);
  return text;
}

char *
gd_encryption_with(struct gd *gd, const struct gi_gfid *node)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(gd);
  char uuid[GI_UUID_TEXT];
  json_t *doc = gd_authority_load(dir);
  bool differs = doc && gd_authority_node_left(doc, gi_gfid_text(node, uuid), false);
  char *text = differs ? gd_encryption_write(gd, gd->pool->secret, doc) : NULL;
  json_decref(doc);
  return text;
}

int
gd_encryption_without(struct gd *gd, const struct gi_gfid *node, const uint8_t *next, char **text, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(gd);
  char uuid[GI_UUID_TEXT];
  json_t *doc = gd_authority_load(dir);
  int ret = 0;
  *text = NULL;
  if (doc && next && !GI_BROKEN("keep the authority whose key a node takes along"))
    ret = gd_authority_succeed(dir, doc, err);
  else if (doc)
    gd_authority_node_left(doc, gi_gfid_text(node, uuid), true);
  if (doc && !ret)
    *text = gd_encryption_write(gd, next ? next : gd->pool->secret, doc);
  json_decref(doc);
  return ret;
}
