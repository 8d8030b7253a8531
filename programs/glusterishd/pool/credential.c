/* SPDX-License-Identifier: Apache-2.0
 *
 * HMAC and hexadecimal digits.
 */
#include "programs/glusterishd/pool/credential.h"
#include "libglusterish/mem.h"
#include "libglusterish/reactor.h"
#include "libglusterish/types.h"
#include "rpc/conn.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAC_BYTES 32
#define SEAL_KEY 32
#define SEAL_NONCE 12
#define SEAL_TAG 16
#define SEAL_MOST (64u << 10)

void
gd_hex(const uint8_t *bytes, size_t n, char *buf)
{
  for (size_t i = 0; i < n; i++)
    snprintf(buf + 2 * i, 3, "%02x", bytes[i]);
}

bool
gd_unhex(const char *text, uint8_t *bytes, size_t n)
{
  if (!text || strlen(text) != 2 * n || strspn(text, "0123456789abcdef") != 2 * n)
    return false;
  for (size_t i = 0; i < n; i++) {
    char two[3] = {text[2 * i], text[2 * i + 1], '\0'};
    bytes[i] = (uint8_t)strtoul(two, NULL, 16);
  }
  return true;
}

void
gd_mac(const void *key, size_t len, const char *const *parts, char *buf)
{
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  GI_ASSERT(f != NULL);
  for (; *parts; parts++)
    fprintf(f, "%zu:%s,", strlen(*parts), *parts);
  GI_ASSERT(fclose(f) == 0);
  uint8_t mac[MAC_BYTES];
  unsigned n = sizeof(mac);
  GI_ASSERT(HMAC(EVP_sha256(), key, (int)len, (const uint8_t *)text, size, mac, &n) && n == sizeof(mac));
  free(text);
  gd_hex(mac, sizeof(mac), buf);
}

bool
gd_mac_same(const char *a, const char *b)
{
  return a && b && strlen(a) == strlen(b) && CRYPTO_memcmp(a, b, strlen(a)) == 0;
}

bool
gd_binding(const struct gi_conn *c, char *buf)
{
  uint8_t binding[GI_TLS_BINDING];
  _Static_assert(GD_BINDING_TEXT == 2 * GI_TLS_BINDING + 1, "one is the text of the other");
  buf[0] = 0;
  if (!gi_conn_tls_name(c))
    return true;
  if (!gi_conn_tls_binding(c, binding))
    return false;
  gd_hex(binding, sizeof(binding), buf);
  return true;
}

/* ---- sealing ---- */

/* AES-256-GCM: nonce, what is hidden, tag; in hexadecimal digits. */
static void
sealing_key(const uint8_t secret[SEAL_KEY], uint8_t key[SEAL_KEY])
{
  static const char *const parts[] = {"seal", NULL};
  char text[2 * MAC_BYTES + 1];
  gd_mac(secret, SEAL_KEY, parts, text);
  GI_ASSERT(gd_unhex(text, key, SEAL_KEY));
  explicit_bzero(text, sizeof(text));
}

char *
gd_seal(struct gi_reactor *r, const uint8_t *secret, const char *text)
{
  size_t len = strlen(text), all = SEAL_NONCE + len + SEAL_TAG;
  GI_CLEANUP_FREE uint8_t *out = gi_alloc(all);
  char *hex = gi_alloc(2 * all + 1);
  uint8_t key[SEAL_KEY];
  int n;
  EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
  sealing_key(secret, key);
  gi_random(r, out, SEAL_NONCE);
  GI_ASSERT(c && EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, out) &&
            EVP_EncryptUpdate(c, out + SEAL_NONCE, &n, (const uint8_t *)text, (int)len) && n == (int)len &&
            EVP_EncryptFinal_ex(c, out + SEAL_NONCE + len, &n) &&
            EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, SEAL_TAG, out + SEAL_NONCE + len));
  EVP_CIPHER_CTX_free(c);
  explicit_bzero(key, sizeof(key));
  gd_hex(out, all, hex);
  return hex;
}

char *
gd_unseal(const uint8_t *secret, const char *hex)
{
  size_t all = hex ? strlen(hex) / 2 : 0, len = all - SEAL_NONCE - SEAL_TAG;
  if (all < SEAL_NONCE + SEAL_TAG || all > SEAL_MOST)
    return NULL;
  GI_CLEANUP_FREE uint8_t *in = gi_alloc(all);
  char *text = gi_zalloc(len + 1);
  uint8_t key[SEAL_KEY];
  int n = 0, end = 0;
  EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
  GI_ASSERT(c);
  sealing_key(secret, key);
  bool good = gd_unhex(hex, in, all) && EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, in) &&
              EVP_DecryptUpdate(c, (uint8_t *)text, &n, in + SEAL_NONCE, (int)len) &&
              EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, SEAL_TAG, in + SEAL_NONCE + len) &&
              EVP_DecryptFinal_ex(c, (uint8_t *)text + n, &end);
  EVP_CIPHER_CTX_free(c);
  explicit_bzero(key, sizeof(key));
  if (good && strlen(text) == len)
    return text;
  explicit_bzero(text, len);
  gi_free(text);
  return NULL;
}
