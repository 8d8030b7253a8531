/* SPDX-License-Identifier: Apache-2.0
 *
 * Ed25519: a key of a client is read, shown, proved and looked at.
 */
#include "rpc/client-key.h"
#include "libglusterish/extension.h"
#include "libglusterish/mem.h"
#include "libglusterish/reactor.h"
#include "rpc/xdr.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES 32
#define PROOF_BYTES 64
#define PROOF_TEXT (2 * PROOF_BYTES + 1)
#define NAME_BYTES 64
#define LABEL "glusterish client key 1" /* what is signed begins with it, so that it is no message of anything else */

_Static_assert(GI_CLIENT_KEY_TEXT == 2 * KEY_BYTES + 1, "one is the text of the other");

/* ---- text ---- */

static void
to_text(const uint8_t *bytes, size_t n, char *text)
{
  size_t len;
  GI_ASSERT(OPENSSL_buf2hexstr_ex(text, 2 * n + 1, &len, bytes, n, '\0'));
}

static bool
from_text(const char *text, uint8_t *bytes, size_t n)
{
  size_t len;
  return text && strlen(text) == 2 * n && OPENSSL_hexstr2buf_ex(bytes, n, &len, text, '\0') && len == n;
}

/* ---- files ---- */

static int
public_text(const EVP_PKEY *key, char text[GI_CLIENT_KEY_TEXT])
{
  uint8_t bytes[KEY_BYTES];
  size_t n = sizeof(bytes);
  if (EVP_PKEY_get_id(key) != EVP_PKEY_ED25519 || !EVP_PKEY_get_raw_public_key(key, bytes, &n) || n != sizeof(bytes))
    return -1;
  to_text(bytes, n, text);
  return 0;
}

/* Nobody is there to type a passphrase. */
static int
no_passphrase(char *buf, int size, int rw, void *arg)
{
  return -1;
}

/* As ssh has it: what others can read is no secret, and what another user wrote is not ours. */
static int
check_private(FILE *f, const char *file, struct gi_error *err)
{
  struct stat st;
  if (fstat(fileno(f), &st) < 0)
    return gi_error_set(err, errno, "client key %s: %s", file, strerror(errno));
  if (st.st_mode & 077)
    return gi_error_set(err, EPERM, "client key %s: it is refused, for others can use it (mode %04o): chmod 600 %s", file,
                        st.st_mode & 07777, file);
  if (st.st_uid != 0 && st.st_uid != geteuid())
    return gi_error_set(err, EPERM, "client key %s: it is refused, for it belongs to user %u: root or user %u must own it",
                        file, st.st_uid, geteuid());
  return 0;
}

/* The private key of the file, or, if that will do, the public one. NULL and err. */
static EVP_PKEY *
load(const char *file, bool public_too, struct gi_error *err)
{
  FILE *f = fopen(file, "re");
  if (!f) {
    gi_error_set(err, errno, "client key %s: %s", file, strerror(errno));
    return NULL;
  }
  EVP_PKEY *key = PEM_read_PrivateKey(f, NULL, no_passphrase, NULL);
  bool refused = key && !public_too && check_private(f, file, err);
  if (!key && public_too) {
    rewind(f);
    key = PEM_read_PUBKEY(f, NULL, no_passphrase, NULL);
  }
  fclose(f);
  if (key && !refused && EVP_PKEY_get_id(key) == EVP_PKEY_ED25519)
    return key;
  EVP_PKEY_free(key);
  if (!refused)
    gi_error_set(err, EINVAL, "client key %s: it has no %skey of Ed25519", file, public_too ? "" : "private ");
  return NULL;
}

int
gi_client_key_read(const char *file, bool private, char text[GI_CLIENT_KEY_TEXT], struct gi_error *err)
{
  EVP_PKEY *key = load(file, !private, err);
  if (!key)
    return -1;
  int ret = public_text(key, text);
  EVP_PKEY_free(key);
  return ret ? gi_error_set(err, EINVAL, "client key %s: it cannot be used", file) : 0;
}

static int
write_key(const char *file, EVP_PKEY *key, struct gi_error *err)
{
  int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (!f) {
    gi_error_set(err, errno, "client key %s: %s", file, strerror(errno));
    if (fd >= 0)
      close(fd);
    return -1;
  }
  bool good = PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) && fflush(f) == 0 && fsync(fd) == 0;
  int code = errno;
  if (fclose(f) == 0 && good)
    return 0;
  unlink(file);
  return gi_error_set(err, code ? code : EIO, "client key %s: %s", file, strerror(code ? code : EIO));
}

int
gi_client_key_make(const char *file, char text[GI_CLIENT_KEY_TEXT], struct gi_error *err)
{
  EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  GI_ASSERT(key && public_text(key, text) == 0);
  int ret = write_key(file, key, err);
  EVP_PKEY_free(key);
  return ret;
}

/* ---- proofs ---- */

/* What is signed. False: the connection is in a TLS that it cannot be bound to. */
static bool
message(struct gi_xdr_out *out, const struct gi_key_claim *claim, const char *challenge)
{
  uint8_t binding[GI_TLS_BINDING];
  bool encrypted = gi_conn_tls_name(claim->conn) != NULL;
  if (encrypted && !gi_conn_tls_binding(claim->conn, binding))
    return false;
  gi_xdr_put_string(out, LABEL);
  gi_xdr_put_string(out, claim->what);
  gi_xdr_put_string(out, claim->object);
  gi_xdr_put_string(out, challenge);
  gi_xdr_put_opaque(out, binding, encrypted ? sizeof(binding) : 0);
  return true;
}

static bool
sign(EVP_PKEY *key, const struct gi_xdr_out *text, char proof[PROOF_TEXT])
{
  uint8_t bytes[PROOF_BYTES];
  size_t n = sizeof(bytes);
  EVP_MD_CTX *c = EVP_MD_CTX_new();
  bool good = c && EVP_DigestSignInit(c, NULL, NULL, NULL, key) > 0 &&
              EVP_DigestSign(c, bytes, &n, text->base, text->len) > 0 && n == sizeof(bytes);
  EVP_MD_CTX_free(c);
  if (good)
    to_text(bytes, n, proof);
  return good;
}

static bool
is_signed(const char *key, const struct gi_xdr_out *text, const char *proof)
{
  uint8_t public[KEY_BYTES], bytes[PROOF_BYTES];
  if (!from_text(key, public, sizeof(public)) || !from_text(proof, bytes, sizeof(bytes)))
    return false;
  EVP_PKEY *k = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, sizeof(public));
  EVP_MD_CTX *c = EVP_MD_CTX_new();
  bool good = k && c && EVP_DigestVerifyInit(c, NULL, NULL, NULL, k) > 0 &&
              EVP_DigestVerify(c, bytes, sizeof(bytes), text->base, text->len) > 0;
  EVP_MD_CTX_free(c);
  EVP_PKEY_free(k);
  return good;
}

/* ---- the client ---- */

static int
prove(EVP_PKEY *key, const struct gi_key_claim *claim, const char *challenge, char proof[PROOF_TEXT], struct gi_error *err)
{
  struct gi_xdr_out text = {0};
  bool bound = message(&text, claim, challenge), good = bound && sign(key, &text, proof);
  gi_xdr_out_finish(&text);
  if (!bound)
    return gi_error_set(err, EPROTONOSUPPORT, "the client key is not shown on a connection in TLS older than 1.3");
  return good ? 0 : gi_error_set(err, EIO, "the client key cannot sign");
}

int
gi_client_key_show(const char *file, const struct gi_key_claim *claim, const char *challenge, struct gi_dict *d,
                   struct gi_error *err)
{
  char public[GI_CLIENT_KEY_TEXT], proof[PROOF_TEXT];
  EVP_PKEY *key = load(file, false, err);
  if (!key)
    return -1;
  GI_ASSERT(public_text(key, public) == 0);
  int ret = challenge ? prove(key, claim, challenge, proof, err) : 0;
  EVP_PKEY_free(key);
  if (ret)
    return -1;
  gi_dict_set_str(d, GI_CLIENT_KEY_KEY, public);
  if (challenge)
    gi_dict_set_str(d, GI_CLIENT_PROOF_KEY, proof);
  return 0;
}

const char *
gi_client_key_challenge(const struct gi_dict *d)
{
  const char *text = NULL;
  return d && gi_dict_get_str(d, GI_CHALLENGE_KEY, &text) && strlen(text) < GI_CHALLENGE_TEXT && text[0] ? text : NULL;
}

/* ---- the server ---- */

enum gi_key_verdict
gi_client_key_take(struct gi_key_door *k, const char *list, const struct gi_dict *d, const struct gi_key_claim *claim)
{
  const char *key = NULL, *proof = NULL;
  struct gi_xdr_out text = {0};
  if (!d || !gi_dict_get_str(d, GI_CLIENT_KEY_KEY, &key))
    return GI_KEY_NONE;
  GI_CLEANUP_FREE char *name = gi_client_keys_name(list, key);
  if (!name)
    return GI_KEY_UNKNOWN;
  if (strcasecmp(k->proved, key) == 0)
    return GI_KEY_GOOD;
  if (!k->challenge[0] || !gi_dict_get_str(d, GI_CLIENT_PROOF_KEY, &proof))
    return GI_KEY_UNPROVED;
  bool good = message(&text, claim, k->challenge) && is_signed(key, &text, proof);
  gi_xdr_out_finish(&text);
  k->challenge[0] = '\0';
  if (good)
    snprintf(k->proved, sizeof(k->proved), "%s", key);
  return good ? GI_KEY_GOOD : GI_KEY_WRONG;
}

void
gi_client_key_ask(struct gi_key_door *k, struct gi_reactor *r, struct gi_dict *d)
{
  uint8_t bytes[KEY_BYTES];
  if (!k->challenge[0]) {
    gi_random(r, bytes, sizeof(bytes));
    to_text(bytes, sizeof(bytes), k->challenge);
  }
  gi_dict_set_str(d, GI_CHALLENGE_KEY, k->challenge);
}

const char *
gi_client_key_refusal(enum gi_key_verdict v)
{
  static const char *const text[] = {
      [GI_KEY_GOOD] = NULL,
      [GI_KEY_NONE] = "auth.client-key is on, and the client shows no key",
      [GI_KEY_UNKNOWN] = "auth.client-key is on, and the client's key is none of the volume's, or was removed",
      [GI_KEY_UNPROVED] = "the client is to prove that it has its key",
      [GI_KEY_WRONG] = "the client does not have the key that it shows",
  };
  return text[v];
}

/* ---- lists ---- */

bool
gi_client_key_name_ok(const char *name)
{
  size_t len = strlen(name);
  for (const char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
      return false;
  return len > 0 && len <= NAME_BYTES;
}

struct entry {
  char name[NAME_BYTES + 1], key[GI_CLIENT_KEY_TEXT];
};

/* Takes one from the beginning of *list. 1; 0 at its end; -1: it is none. */
static int
next(const char **list, struct entry *e)
{
  uint8_t bytes[KEY_BYTES];
  if (!*list || !**list)
    return 0;
  size_t len = strcspn(*list, ","), name = strcspn(*list, ":,");
  size_t key = len > name ? len - name - 1 : 0;
  if (name == 0 || name > NAME_BYTES || key != GI_CLIENT_KEY_TEXT - 1)
    return -1;
  snprintf(e->name, sizeof(e->name), "%.*s", (int)name, *list);
  snprintf(e->key, sizeof(e->key), "%.*s", (int)key, *list + name + 1);
  *list += len + ((*list)[len] == ',');
  return gi_client_key_name_ok(e->name) && from_text(e->key, bytes, sizeof(bytes)) ? 1 : -1;
}

char *
gi_client_keys_name(const char *list, const char *key)
{
  struct entry e;
  while (key && next(&list, &e) > 0)
    if (strcasecmp(e.key, key) == 0)
      return gi_strdup(e.name);
  return NULL;
}

int
gi_client_keys_check(const char *list, struct gi_error *err)
{
  struct entry e;
  int ret;
  unsigned n = 0;
  while ((ret = next(&list, &e)) > 0)
    n++;
  if (ret < 0)
    return gi_error_set(err, EINVAL, "it is no list of NAME:KEY, a key of 64 hexadecimal digits");
  return n <= GI_CLIENT_KEYS_MAX ? 0 : gi_error_set(err, E2BIG, "a volume has at most %d keys", GI_CLIENT_KEYS_MAX);
}

void
gi_client_keys_each(const char *list, void (*fn)(const char *name, const char *key, void *arg), void *arg)
{
  struct entry e;
  while (next(&list, &e) > 0)
    fn(e.name, e.key, arg);
}

char *
gi_client_keys_with(const char *list, const char *name, const char *key, struct gi_error *err)
{
  struct entry e;
  uint8_t bytes[KEY_BYTES];
  if (!gi_client_key_name_ok(name)) {
    gi_error_set(err, EINVAL, "%.100s is no name for a key: letters, digits, \"-\", \"_\" and \".\"", *name ? name : "\"\"");
    return NULL;
  }
  if (!from_text(key, bytes, sizeof(bytes))) {
    gi_error_set(err, EINVAL, "that is no public key: 64 hexadecimal digits");
    return NULL;
  }
  for (const char *rest = list; next(&rest, &e) > 0;) {
    if (strcmp(e.name, name) == 0)
      gi_error_set(err, EEXIST, "there is a key %s already", name);
    else if (strcasecmp(e.key, key) == 0)
      gi_error_set(err, EEXIST, "the key is there already, as %s", e.name);
    else
      continue;
    return NULL;
  }
  char *longer = gi_asprintf("%s%s%s:%s", list ? list : "", list && *list ? "," : "", name, key);
  if (gi_client_keys_check(longer, err) == 0)
    return longer;
  gi_free(longer);
  return NULL;
}

char *
gi_client_keys_without(const char *list, const char *name, struct gi_error *err)
{
  struct entry e;
  bool found = false;
  char *shorter = gi_strdup("");
  while (next(&list, &e) > 0) {
    if (strcmp(e.name, name) == 0) {
      found = true;
      continue;
    }
    char *longer = gi_asprintf("%s%s%s:%s", shorter, *shorter ? "," : "", e.name, e.key);
    gi_free(shorter);
    shorter = longer;
  }
  if (found)
    return shorter;
  gi_free(shorter);
  gi_error_set(err, ENOENT, "there is no key %.100s", name);
  return NULL;
}
