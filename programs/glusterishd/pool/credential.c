/* SPDX-License-Identifier: Apache-2.0
 *
 * HMAC and hexadecimal digits.
 */
#include "programs/glusterishd/pool/credential.h"
#include "libglusterish/mem.h"
#include "libglusterish/types.h"
#include "rpc/conn.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAC_BYTES 32

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
