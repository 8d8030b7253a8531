/* SPDX-License-Identifier: Apache-2.0
 *
 * The key pair of this node (X25519). Whoever knows the public half, which is
 * in the node's description, seals a text for this node, and nobody else opens
 * it: neither who overhears it, nor who has known every secret of the pool.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#define MSG (GI_MSG_MGMT + 235)

_Static_assert(GD_KEY_TEXT == 2 * GD_KEY_BYTES + 1, "one is the text of the other");

bool
gd_is_node_key(const char *text)
{
  uint8_t bytes[GD_KEY_BYTES];
  return gd_unhex(text, bytes, sizeof(bytes));
}

static void
public_half(const uint8_t private[GD_KEY_BYTES], char text[GD_KEY_TEXT])
{
  uint8_t bytes[GD_KEY_BYTES];
  size_t n = sizeof(bytes);
  EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, private, GD_KEY_BYTES);
  GI_ASSERT(key && EVP_PKEY_get_raw_public_key(key, bytes, &n) && n == sizeof(bytes));
  EVP_PKEY_free(key);
  gd_hex(bytes, sizeof(bytes), text);
}

/* What both ends make of their own private and the other's public half. False: the other one is no usable key. */
static bool
agree(const uint8_t private[GD_KEY_BYTES], const char *its, const char *sender, const char *receiver,
      uint8_t key[GD_SECRET_BYTES])
{
  uint8_t other[GD_KEY_BYTES], shared[GD_KEY_BYTES];
  char text[GD_MAC_TEXT];
  size_t n = sizeof(shared);
  const char *parts[] = {"for one node", sender, receiver, NULL};
  if (!gd_unhex(its, other, sizeof(other)))
    return false;
  EVP_PKEY *mine = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, private, GD_KEY_BYTES),
           *theirs = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, other, sizeof(other));
  EVP_PKEY_CTX *c = mine && theirs ? EVP_PKEY_CTX_new(mine, NULL) : NULL;
  bool good = c && EVP_PKEY_derive_init(c) > 0 && EVP_PKEY_derive_set_peer(c, theirs) > 0 &&
              EVP_PKEY_derive(c, shared, &n) > 0 && n == sizeof(shared);
  EVP_PKEY_CTX_free(c);
  EVP_PKEY_free(mine);
  EVP_PKEY_free(theirs);
  if (good) {
    gd_mac(shared, sizeof(shared), parts, text);
    GI_ASSERT(gd_unhex(text, key, GD_SECRET_BYTES));
  }
  explicit_bzero(shared, sizeof(shared));
  explicit_bzero(text, sizeof(text));
  return good;
}

/* ---- this node's own ---- */

static char *
path_of(const struct gd *gd)
{
  return gi_asprintf("%s/node.key", gd->config.workdir);
}

static bool
load(struct gd *gd)
{
  GI_CLEANUP_FREE char *path = path_of(gd);
  struct gi_error err = {0};
  struct gd_kvs kvs;
  if (gd_kvs_load(path, &kvs, &err)) {
    if (err.code != ENOENT)
      gi_log(GI_LOG_ERROR, GD_NAME, MSG, "%s: this node gets another key", err.text);
    return false;
  }
  bool good = gd_unhex(gd_kvs_get(&kvs, "private"), gd->key, sizeof(gd->key));
  if (!good)
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "%s has no key: this node gets another one", path);
  gd_kvs_free(&kvs);
  return good;
}

static void
make(struct gd *gd)
{
  GI_CLEANUP_FREE char *path = path_of(gd);
  char text[GD_KEY_TEXT];
  struct gi_error err = {0};
  gi_random(gd->reactor, gd->key, sizeof(gd->key));
  gd_hex(gd->key, sizeof(gd->key), text);
  GI_CLEANUP_FREE char *line = gi_asprintf("private=%s\n", text);
  if (gd_write_file(path, line, strlen(line), false, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "the key of this node is not kept: %s", err.text);
  explicit_bzero(line, strlen(line));
  explicit_bzero(text, sizeof(text));
}

const char *
gd_node_key(struct gd *gd)
{
  if (!gd->key_text[0]) {
    if (!load(gd))
      make(gd);
    public_half(gd->key, gd->key_text);
  }
  return gd->key_text;
}

/* ---- sealing ---- */

char *
gd_seal_for(struct gi_reactor *r, const char *receiver, const char *text)
{
  uint8_t private[GD_KEY_BYTES], key[GD_SECRET_BYTES];
  char sender[GD_KEY_TEXT];
  gi_random(r, private, sizeof(private));
  public_half(private, sender);
  bool good = agree(private, receiver, sender, receiver, key);
  explicit_bzero(private, sizeof(private));
  if (!good)
    return NULL;
  GI_CLEANUP_FREE char *sealed = gd_seal(r, key, text);
  explicit_bzero(key, sizeof(key));
  return gi_asprintf("%s%s", sender, sealed);
}

char *
gd_unseal_own(struct gd *gd, const char *sealed)
{
  uint8_t key[GD_SECRET_BYTES];
  char sender[GD_KEY_TEXT];
  const char *own = gd_node_key(gd);
  if (!sealed || strlen(sealed) < GD_KEY_TEXT)
    return NULL;
  memcpy(sender, sealed, GD_KEY_TEXT - 1);
  sender[GD_KEY_TEXT - 1] = '\0';
  char *text = agree(gd->key, sender, sender, own, key) ? gd_unseal(key, sealed + GD_KEY_TEXT - 1) : NULL;
  explicit_bzero(key, sizeof(key));
  return text;
}
