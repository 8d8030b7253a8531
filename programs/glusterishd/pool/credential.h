/* SPDX-License-Identifier: Apache-2.0
 *
 * Knowledge of a secret, proved without telling it: HMAC-SHA256 over the parts
 * of a conversation, each with its length.
 */
#ifndef GD_CREDENTIAL_H
#define GD_CREDENTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Into buf, 65 bytes, in hexadecimal digits. `parts` ends with NULL. */
void gd_mac(const void *key, size_t len, const char *const *parts, char *buf);
bool gd_mac_same(const char *a, const char *b);         /* takes equally long wherever they differ; NULL is like nothing */
void gd_hex(const uint8_t *bytes, size_t n, char *buf); /* 2 n + 1 bytes */
bool gd_unhex(const char *text, uint8_t *bytes, size_t n);

/* The text, hidden from everybody who does not know the secret of 32 bytes; and shown again, NULL where it is another one, or the text was
 * changed. The caller frees both. */
struct gi_reactor;
char *gd_seal(struct gi_reactor *r, const uint8_t *secret, const char *text);
char *gd_unseal(const uint8_t *secret, const char *sealed);

struct gi_conn;
#define GD_BINDING_TEXT 65 /* with its end */
/* What ties a proof to this connection, as the last one of its parts: "" where it is plain, as nothing could. False: in TLS, but it cannot
 * be told from others. */
bool gd_binding(const struct gi_conn *c, char *buf);

#endif
