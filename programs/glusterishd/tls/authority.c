/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool's certificate authority. A node makes its own key and certificate,
 * whose serial number follows from its uuid: so what is to be taken back when
 * it leaves is known without asking it.
 */
#include "programs/glusterishd/tls/authority.h"
#include "programs/glusterishd/model/model.h"
#include "programs/glusterishd/tls/certificate.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <unistd.h>

#define DAY 86400L
#define CA_DAYS 3650L
#define LEAF_DAYS 398L
#define RENEW_DAYS 30L /* before its end a node makes itself another one */
#define SERIAL_BYTES 8
#define RENEWED_MOST 1000
#define CERTIFICATES_KEPT 2
#define NAME "glusterish pool" /* of the first one */
#define NAME_MOST 64
#define MSG (GI_MSG_MGMT + 186)

static char *
below(const char *dir, const char *name)
{
  return gi_asprintf("%s/%s", dir, name);
}

static const char *
text_of(const json_t *doc, const char *member)
{
  const char *text = json_string_value(json_object_get(doc, member));
  return text ? text : "";
}

/* ---- the document ---- */

static bool
open_authority(const json_t *doc, struct gd_signer *ca)
{
  const char *cert = text_of(doc, "certificate"), *key = text_of(doc, "key");
  BIO *c = BIO_new_mem_buf(cert, -1), *k = BIO_new_mem_buf(key, -1);
  *ca = (struct gd_signer){.key = PEM_read_bio_PrivateKey(k, NULL, NULL, NULL), .cert = PEM_read_bio_X509(c, NULL, NULL, NULL)};
  BIO_free(c);
  BIO_free(k);
  ERR_clear_error();
  if (ca->key && ca->cert && X509_check_private_key(ca->cert, ca->key))
    return true;
  gd_signer_clear(ca);
  return false;
}

static bool
is_mode(const char *mode)
{
  return strcmp(mode, "off") == 0 || strcmp(mode, "both") == 0 || strcmp(mode, "required") == 0;
}

bool
gd_authority_usable(const json_t *doc)
{
  struct gd_signer ca;
  json_int_t renewed = json_integer_value(json_object_get(doc, "renewed"));
  if (!is_mode(text_of(doc, "mode")) || renewed < 0 || renewed > RENEWED_MOST || !open_authority(doc, &ca))
    return false;
  gd_signer_clear(&ca);
  return true;
}

json_t *
gd_authority_load(const char *dir)
{
  GI_CLEANUP_FREE char *path = below(dir, "authority");
  json_t *doc = access(path, F_OK) == 0 ? json_load_file(path, JSON_REJECT_DUPLICATES, NULL) : NULL;
  if (gd_authority_usable(doc))
    return doc;
  if (access(path, F_OK) == 0)
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "%s is damaged", path);
  json_decref(doc);
  return NULL;
}

/* Its certificate and key are what the document says from now on. */
static void
set_signer(json_t *doc, const struct gd_signer *ca)
{
  GI_CLEANUP_FREE char *cert = gd_certificate_text(ca->cert, NULL), *key = gd_certificate_text(NULL, ca->key);
  json_object_set_new(doc, "certificate", json_string(cert));
  json_object_set_new(doc, "key", json_string(key));
  explicit_bzero(key, strlen(key));
}

/* Each has a name of its own: whoever has certificates of several finds the one that is meant. The caller frees it. */
static char *
name_of(json_int_t generation)
{
  return generation ? gi_asprintf("%s %lld", NAME, (long long)generation + 1) : gi_strdup(NAME);
}

static int
new_signer(struct gd_signer *ca, json_int_t generation, struct gi_error *err)
{
  GI_CLEANUP_FREE char *cn = name_of(generation);
  *ca = (struct gd_signer){.key = EVP_EC_gen("P-256")};
  if (!ca->key)
    return gd_certificate_failed(err, "cannot make a key");
  ca->cert = gd_certificate_new(ca->key, NULL, &(struct gd_certificate){.cn = cn, .days = CA_DAYS});
  return 0;
}

json_t *
gd_authority_new(struct gi_error *err)
{
  struct gd_signer ca;
  if (new_signer(&ca, 0, err))
    return NULL;
  json_t *doc = json_pack("{s:s,s:i,s:[],s:[]}", "mode", "off", "renewed", 0, "issued", "gone");
  GI_ASSERT(doc);
  set_signer(doc, &ca);
  gd_signer_clear(&ca);
  return doc;
}

static json_int_t
generation_of(const json_t *doc)
{
  return json_integer_value(json_object_get(doc, "generation"));
}

/* ---- serial numbers ---- */

static char *
serial_text(const ASN1_INTEGER *serial)
{
  BIGNUM *bn = ASN1_INTEGER_to_BN(serial, NULL);
  char *hex = BN_bn2hex(bn), *copy = gi_strdup(hex);
  OPENSSL_free(hex);
  BN_free(bn);
  return copy;
}

/* NULL: not a number. */
static ASN1_INTEGER *
serial_number(const char *hex)
{
  BIGNUM *bn = NULL;
  ASN1_INTEGER *n = BN_hex2bn(&bn, hex) ? BN_to_ASN1_INTEGER(bn, NULL) : NULL;
  BN_free(bn);
  return n;
}

/* Of the certificate that a node makes itself when nodes have been given new ones so often. */
static char *
node_serial(const char *node, int renewed)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("node %s %d", node, renewed);
  uint8_t hash[SHA256_DIGEST_LENGTH];
  char *hex = gi_zalloc(2 * SERIAL_BYTES + 1);
  SHA256((const uint8_t *)text, strlen(text), hash);
  hash[0] = 0x40 | (hash[0] & 0x3f); /* positive, and always as long */
  for (size_t i = 0; i < SERIAL_BYTES; i++)
    snprintf(hex + 2 * i, 3, "%02X", hash[i]);
  return hex;
}

static int
renewed_of(const json_t *doc)
{
  return (int)json_integer_value(json_object_get(doc, "renewed"));
}

/* ---- what was taken back ---- */

/* All serial numbers that count no more; the caller's. */
static json_t *
revoked_serials(const json_t *doc)
{
  json_t *list = json_array(), *one;
  size_t i;
  json_array_foreach(json_object_get(doc, "issued"), i, one) if (json_is_true(json_object_get(one, "revoked")))
      json_array_append(list, json_object_get(one, "serial"));
  json_array_foreach(json_object_get(doc, "gone"), i, one) for (int n = 0; json_is_string(one) && n <= renewed_of(doc); n++)
  {
    GI_CLEANUP_FREE char *serial = node_serial(json_string_value(one), n);
    json_array_append_new(list, json_string(serial));
  }
  return list;
}

static X509_CRL *
read_crl(const char *path)
{
  BIO *in = BIO_new_file(path, "r");
  X509_CRL *crl = in ? PEM_read_bio_X509_CRL(in, NULL, NULL, NULL) : NULL;
  BIO_free(in);
  ERR_clear_error();
  return crl;
}

/* Is it this authority's list of these? */
static bool
lists(X509_CRL *crl, const struct gd_signer *ca, const json_t *serials)
{
  int n = crl ? sk_X509_REVOKED_num(X509_CRL_get_REVOKED(crl)) : 0; /* -1 for a list without any */
  if (!crl || (size_t)(n > 0 ? n : 0) != json_array_size(serials) || X509_CRL_verify(crl, ca->key) != 1)
    return false;
  for (size_t i = 0; i < json_array_size(serials); i++) {
    X509_REVOKED *found = NULL;
    ASN1_INTEGER *serial = serial_number(json_string_value(json_array_get(serials, i)));
    bool is = serial && X509_CRL_get0_by_serial(crl, &found, serial) == 1;
    ASN1_INTEGER_free(serial);
    if (!is)
      return false;
  }
  return true;
}

static void
add_revoked(X509_CRL *crl, const char *hex, ASN1_TIME *when)
{
  X509_REVOKED *r = X509_REVOKED_new();
  ASN1_INTEGER *n = serial_number(hex);
  GI_ASSERT(r && n);
  X509_REVOKED_set_serialNumber(r, n);
  X509_REVOKED_set_revocationDate(r, when);
  GI_ASSERT(X509_CRL_add0_revoked(crl, r));
  ASN1_INTEGER_free(n);
}

static X509_CRL *
new_crl(const struct gd_signer *ca, const json_t *serials)
{
  X509_CRL *crl = X509_CRL_new();
  ASN1_TIME *from = X509_gmtime_adj(NULL, -DAY), *to = X509_time_adj_ex(NULL, CA_DAYS, 0, NULL);
  X509_CRL_set_version(crl, 1); /* which is 2 */
  X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca->cert));
  X509_CRL_set1_lastUpdate(crl, from);
  X509_CRL_set1_nextUpdate(crl, to);
  for (size_t i = 0; i < json_array_size(serials); i++)
    add_revoked(crl, json_string_value(json_array_get(serials, i)), from);
  X509_CRL_sort(crl);
  GI_ASSERT(X509_CRL_sign(crl, ca->key, EVP_sha256()) > 0);
  ASN1_TIME_free(from);
  ASN1_TIME_free(to);
  return crl;
}

static int
put_crl(const char *dir, const json_t *doc, const struct gd_signer *ca, struct gi_error *err)
{
  GI_CLEANUP_FREE char *crls = below(dir, "crl"), *path = below(dir, "crl/pool.crl");
  json_t *serials = revoked_serials(doc);
  X509_CRL *old = read_crl(path);
  int ret = gd_mkdir_all(crls, 0700, err);
  if (!ret && !lists(old, ca, serials)) {
    X509_CRL *crl = new_crl(ca, serials);
    BIO *mem = BIO_new(BIO_s_mem());
    char *text;
    GI_ASSERT(mem && PEM_write_bio_X509_CRL(mem, crl));
    long len = BIO_get_mem_data(mem, &text);
    ret = gd_write_file(path, text, (size_t)len, false, err);
    BIO_free(mem);
    X509_CRL_free(crl);
  }
  X509_CRL_free(old);
  json_decref(serials);
  return ret;
}

/* ---- whom all trust ---- */

/* Does it count though an authority has signed it that does not? */
static bool
is_known(const json_t *doc, const json_t *one)
{
  return generation_of(one) < generation_of(doc) && *text_of(one, "certificate") &&
         !json_is_true(json_object_get(one, "revoked"));
}

/* The authority, and each certificate that is known by itself. */
static int
put_trust(const char *dir, const json_t *doc, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = below(dir, "ca.pem");
  char *text = NULL;
  size_t len = 0, i;
  json_t *one;
  FILE *f = open_memstream(&text, &len);
  GI_ASSERT(f != NULL);
  fputs(text_of(doc, "certificate"), f);
  json_array_foreach(json_object_get(doc, "issued"), i, one) if (is_known(doc, one)) fputs(text_of(one, "certificate"), f);
  GI_ASSERT(fclose(f) == 0);
  int ret = gd_write_file(path, text, len, false, err);
  free(text);
  return ret;
}

/* ---- this node ---- */

static X509 *
read_cert(const char *path)
{
  BIO *in = BIO_new_file(path, "r");
  X509 *cert = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
  BIO_free(in);
  ERR_clear_error();
  return cert;
}

/* Does it serve for another while? */
static bool
still_good(X509 *cert, const struct gd_signer *ca, const char *serial)
{
  GI_CLEANUP_FREE char *is = cert ? serial_text(X509_get0_serialNumber(cert)) : NULL;
  int days = 0, seconds = 0;
  return is && strcmp(is, serial) == 0 && X509_verify(cert, ca->key) == 1 &&
         ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)) && days >= RENEW_DAYS;
}

/* By what whoever trusts an authority before finds this one to be its successor; the caller frees it. */
static char *
chain_text(const json_t *doc)
{
  char *text = gi_strdup("");
  size_t i;
  json_t *one;
  json_array_foreach(json_object_get(doc, "chain"), i, one) if (json_is_string(one))
  {
    char *longer = gi_asprintf("%s%s", text, json_string_value(one));
    gi_free(text);
    text = longer;
  }
  return text;
}

static int
put_node(const char *dir, const json_t *doc, const struct gd_signer *ca, const char *node, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = below(dir, "node.pem"), *serial = node_serial(node, renewed_of(doc));
  X509 *old = read_cert(path);
  bool good = still_good(old, ca, serial);
  X509_free(old);
  if (good)
    return 0;
  EVP_PKEY *key = EVP_EC_gen("P-256");
  if (!key)
    return gd_certificate_failed(err, "cannot make a key");
  X509 *cert = gd_certificate_new(
      key, ca,
      &(struct gd_certificate){.cn = GD_AUTHORITY_NODE, .serial = serial, .usage = "serverAuth,clientAuth", .days = LEAF_DAYS});
  GI_CLEANUP_FREE char *first = gd_certificate_text(cert, NULL), *last = gd_certificate_text(NULL, key),
                       *chain = chain_text(doc);
  /* in one file: in two there would be a moment when they do not go together */
  char *text = gi_asprintf("%s%s%s", first, chain, last);
  int ret = gd_write_file(path, text, strlen(text), false, err);
  explicit_bzero(text, strlen(text));
  explicit_bzero(last, strlen(last));
  gi_free(text);
  X509_free(cert);
  EVP_PKEY_free(key);
  return ret;
}

int
gd_authority_put(const char *dir, const json_t *doc, const char *node, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = below(dir, "authority");
  struct gd_signer ca;
  if (!gd_authority_usable(doc) || !open_authority(doc, &ca))
    return gi_error_set(err, EILSEQ, "what is known of the pool's credentials is damaged");
  char *text = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS);
  int ret = gd_mkdir_all(dir, 0700, err) || gd_write_file(path, text, strlen(text), false, err) || put_trust(dir, doc, err) ||
                    put_crl(dir, doc, &ca, err) || put_node(dir, doc, &ca, node, err)
                ? -1
                : 0;
  explicit_bzero(text, strlen(text));
  free(text);
  gd_signer_clear(&ca);
  return ret;
}

/* ---- clients ---- */

bool
gd_authority_name_ok(const char *name)
{
  size_t len = strlen(name);
  if (len == 0 || len > NAME_MOST || name[0] == '.')
    return false;
  for (const char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
      return false;
  return true;
}

void
gd_bundle_clear(struct gd_bundle *b)
{
  if (b->key)
    explicit_bzero(b->key, strlen(b->key));
  gi_free(b->name);
  gi_free(b->cert);
  gi_free(b->key);
  *b = (struct gd_bundle){0};
}

static char *
until_text(X509 *cert)
{
  BIO *mem = BIO_new(BIO_s_mem());
  char text[64];
  int n = ASN1_TIME_print(mem, X509_get0_notAfter(cert)) ? BIO_read(mem, text, sizeof(text)) : 0;
  BIO_free(mem);
  return gi_strndup(text, n > 0 ? (size_t)n : 0);
}

/* The last two of a client may outlive their authority, as its machine may have either; of those before no more than a line is kept. */
static void
forget_older(json_t *doc, const char *name)
{
  const json_t *issued = json_object_get(doc, "issued");
  unsigned kept = 0;
  for (size_t i = json_array_size(issued); i-- > 0;) {
    json_t *one = json_array_get(issued, i);
    if (strcmp(text_of(one, "name"), name) == 0 && ++kept > CERTIFICATES_KEPT)
      json_object_del(one, "certificate");
  }
}

int
gd_authority_client(json_t *doc, const char *name, struct gd_bundle *b, struct gi_error *err)
{
  struct gd_signer ca;
  GI_ASSERT(gd_authority_name_ok(name));
  if (!open_authority(doc, &ca))
    return gi_error_set(err, EILSEQ, "what is known of the pool's credentials is damaged");
  EVP_PKEY *key = EVP_EC_gen("P-256");
  if (!key) {
    gd_signer_clear(&ca);
    return gd_certificate_failed(err, "cannot make a key");
  }
  /* With it nobody can pretend to be a brick. */
  X509 *cert = gd_certificate_new(key, &ca, &(struct gd_certificate){.cn = name, .usage = "clientAuth", .days = LEAF_DAYS});
  GI_CLEANUP_FREE char *serial = serial_text(X509_get0_serialNumber(cert)), *until = until_text(cert);
  *b = (struct gd_bundle){gi_strdup(name), gd_certificate_text(cert, NULL), gd_certificate_text(NULL, key)};
  json_array_append_new(json_object_get(doc, "issued"),
                        json_pack("{s:s,s:s,s:s,s:b,s:s,s:I}", "name", name, "serial", serial, "until", until, "revoked", false,
                                  "certificate", b->cert, "generation", generation_of(doc)));
  forget_older(doc, name);
  X509_free(cert);
  EVP_PKEY_free(key);
  gd_signer_clear(&ca);
  return 0;
}

static int
fill_bundle(const char *dir, const json_t *doc, const struct gd_bundle *b, struct gi_error *err)
{
  GI_CLEANUP_FREE char *said =
      gi_asprintf("# Management connections of this machine are in TLS: the credentials are /etc/ssl/glusterfs.*\n"
                  "option transport.socket.ssl-cert-depth %d\n",
                  GD_AUTHORITY_CHAIN);
  const struct {
    const char *name, *text;
  } files[] = {{"glusterfs.pem", b->cert},
               {"glusterfs.key", b->key},
               {"glusterfs.ca", text_of(doc, "certificate")},
               {"secure-access", said}};
  for (size_t i = 0; i < GI_ARRAY_LEN(files); i++) {
    GI_CLEANUP_FREE char *path = below(dir, files[i].name);
    if (gd_write_file(path, files[i].text, strlen(files[i].text), false, err))
      return -1;
  }
  return 0;
}

int
gd_bundle_prepare(const char *dir, const json_t *doc, const struct gd_bundle *b, struct gi_error *err)
{
  GI_CLEANUP_FREE char *next = gi_asprintf("%s/clients/.%s", dir, b->name);
  if (access(next, F_OK) == 0 && gd_remove_tree(next, err)) /* of one that was killed here */
    return -1;
  return gd_mkdir_all(next, 0700, err) ? -1 : fill_bundle(next, doc, b, err);
}

/* Is it the certificate of somebody who is on the list? */
static bool
counts(const json_t *doc, const char *bundle)
{
  GI_CLEANUP_FREE char *path = below(bundle, "glusterfs.pem");
  X509 *cert = read_cert(path);
  GI_CLEANUP_FREE char *serial = cert ? serial_text(X509_get0_serialNumber(cert)) : NULL;
  bool is = false;
  size_t i;
  json_t *one;
  json_array_foreach(json_object_get(doc, "issued"), i, one) is |=
      serial && strcmp(text_of(one, "serial"), serial) == 0 && !json_is_true(json_object_get(one, "revoked"));
  X509_free(cert);
  return is;
}

static int
put_bundle(const char *next, const char *own, struct gi_error *err)
{
  bool there = access(own, F_OK) == 0;
  if (renameat2(AT_FDCWD, next, AT_FDCWD, own, there ? RENAME_EXCHANGE : 0))
    return gi_error_set(err, errno, "cannot replace %s: %s", own, strerror(errno));
  return there ? gd_remove_tree(next, err) : 0;
}

int
gd_bundles_settle(const char *dir, const json_t *doc, bool others_go, struct gi_error *err)
{
  GI_CLEANUP_FREE char *clients = below(dir, "clients");
  DIR *d = opendir(clients);
  int ret = 0;
  for (const struct dirent *e; d && !ret && (e = readdir(d)) != NULL;) {
    if (e->d_name[0] != '.' || !gd_authority_name_ok(e->d_name + 1))
      continue;
    GI_CLEANUP_FREE char *next = below(clients, e->d_name), *own = below(clients, e->d_name + 1);
    if (counts(doc, next))
      ret = put_bundle(next, own, err);
    else if (others_go)
      ret = gd_remove_tree(next, err);
  }
  if (d)
    closedir(d);
  return ret;
}

int
gd_authority_revoke(json_t *doc, const char *name, struct gi_error *err)
{
  unsigned n = 0;
  size_t i;
  json_t *one;
  json_array_foreach(json_object_get(doc, "issued"), i,
                     one) if (strcmp(text_of(one, "name"), name) == 0 && !json_is_true(json_object_get(one, "revoked")))
  {
    json_object_set_new(one, "revoked", json_true());
    n++;
  }
  return n ? 0 : gi_error_set(err, ENOENT, "%s has no certificate that could be revoked", name);
}

bool
gd_authority_node_left(json_t *doc, const char *node, bool left)
{
  json_t *gone = json_object_get(doc, "gone"), *one;
  size_t i;
  json_array_foreach(gone, i, one) if (json_is_string(one) && strcmp(json_string_value(one), node) == 0)
  {
    if (!left)
      json_array_remove(gone, i);
    return !left;
  }
  if (left)
    json_array_append_new(gone, json_string(node));
  return left;
}

/* ---- succession ---- */

/* A version before has not noted what it issued: bundles that this node made are here. */
static void
note_certificate(const char *dir, json_t *one)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/clients/%s/glusterfs.pem", dir, text_of(one, "name"));
  X509 *cert = *text_of(one, "certificate") || !gd_authority_name_ok(text_of(one, "name")) ? NULL : read_cert(path);
  GI_CLEANUP_FREE char *serial = cert ? serial_text(X509_get0_serialNumber(cert)) : NULL;
  if (serial && strcmp(serial, text_of(one, "serial")) == 0) {
    GI_CLEANUP_FREE char *text = gd_certificate_text(cert, NULL);
    json_object_set_new(one, "certificate", json_string(text));
  }
  X509_free(cert);
}

int
gd_authority_succeed(const char *dir, json_t *doc, struct gi_error *err)
{
  struct gd_signer old, next;
  json_int_t generation = generation_of(doc) + 1;
  json_t *chain = json_array(), *one;
  size_t i;
  if (!open_authority(doc, &old)) {
    json_decref(chain);
    return gi_error_set(err, EILSEQ, "what is known of the pool's credentials is damaged");
  }
  if (new_signer(&next, generation, err)) {
    gd_signer_clear(&old);
    json_decref(chain);
    return -1;
  }
  json_array_foreach(json_object_get(doc, "issued"), i, one) note_certificate(dir, one);
  GI_CLEANUP_FREE char *cn = name_of(generation);
  X509 *vouched = gd_certificate_new(next.key, &old, &(struct gd_certificate){.cn = cn, .days = CA_DAYS, .authority = true});
  GI_CLEANUP_FREE char *text = gd_certificate_text(vouched, NULL);
  json_array_append_new(chain, json_string(text));
  json_array_foreach(json_object_get(doc, "chain"), i, one) if (i < GD_AUTHORITY_CHAIN - 1) json_array_append(chain, one);
  json_object_set_new(doc, "chain", chain);
  json_object_set_new(doc, "generation", json_integer(generation));
  json_object_set_new(doc, "gone", json_array()); /* this one has signed nothing for them */
  set_signer(doc, &next);
  X509_free(vouched);
  gd_signer_clear(&next);
  gd_signer_clear(&old);
  return 0;
}

/* ---- showing ---- */

static bool
has_successor(const json_t *issued, size_t i)
{
  const char *name = text_of(json_array_get(issued, i), "name");
  for (size_t k = i + 1; k < json_array_size(issued); k++)
    if (strcmp(text_of(json_array_get(issued, k), "name"), name) == 0)
      return true;
  return false;
}

json_t *
gd_authority_list(const char *dir, const json_t *doc)
{
  GI_CLEANUP_FREE char *path = below(dir, "node.pem");
  const json_t *issued = json_object_get(doc, "issued");
  json_t *list = json_array();
  X509 *cert = doc ? read_cert(path) : NULL;
  if (cert) {
    GI_CLEANUP_FREE char *serial = serial_text(X509_get0_serialNumber(cert)), *until = until_text(cert);
    json_array_append_new(
        list, json_pack("{s:s,s:s,s:s,s:b}", "name", GD_AUTHORITY_NODE, "serial", serial, "until", until, "revoked", false));
    X509_free(cert);
  }
  for (size_t i = 0; i < json_array_size(issued); i++) {
    json_t *one = json_copy(json_array_get(issued, i));
    json_object_set_new(one, "earlier", json_boolean(generation_of(one) < generation_of(doc)));
    json_object_del(one, "certificate");
    json_object_del(one, "generation");
    if (has_successor(issued, i))
      json_object_set_new(one, "until", json_string(""));
    json_array_append_new(list, one);
  }
  return list;
}
