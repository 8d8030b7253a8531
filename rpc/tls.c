/* SPDX-License-Identifier: Apache-2.0
 *
 * Credentials: OpenSSL's context, made of files and made anew when they have
 * changed. Sessions begin on workers, several at a time, so the context is
 * kept under a lock.
 */
#include "rpc/tls-private.h"
#include "libglusterish/log.h"
#include "libglusterish/mem.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TLS_MAGIC 0x71500001u
#define CRL_FILES_MAX 4096
#define TRIES 10
#define RECEIVED_RECORDS 8 /* of 16 KiB that one recv may bring */
#define RECORD_MAX (16384 + 256 + 5)
/* Those that this generation of processors does fast come first; the rest is OpenSSL's. */
#define SUITES "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

enum { CERT, KEY, CA, CRL, DH_PARAM, FILES };

struct stamp {
  struct timespec at;
  ino_t inode;
  off_t size;
};

struct gi_tls {
  uint32_t magic;
  atomic_uint refs;
  char *path[FILES]; /* NULL: not used */
  char *ciphers, *ec_curve;
  int depth;
  CRYPTO_RWLOCK *lock; /* of what follows */
  SSL_CTX *ctx;
  struct stamp stamp[FILES]; /* of the files it was made of */
};

/* ---- making a context ---- */

static void
read_stamps(const struct gi_tls *t, struct stamp stamp[FILES])
{
  memset(stamp, 0, FILES * sizeof(*stamp));
  for (int i = 0; i < FILES; i++) {
    struct stat st;
    if (t->path[i] && stat(t->path[i], &st) == 0)
      stamp[i] = (struct stamp){st.st_mtim, st.st_ino, st.st_size};
  }
}

static int
add_crls(X509_STORE *store, const char *path, struct gi_error *err)
{
  BIO *in = BIO_new_file(path, "r");
  X509_CRL *crl;
  unsigned n = 0;
  if (!in)
    return tls_tell_file(err, "revocation list", path);
  for (; (crl = PEM_read_bio_X509_CRL(in, NULL, NULL, NULL)); n++) {
    X509_STORE_add_crl(store, crl);
    X509_CRL_free(crl);
  }
  BIO_free(in);
  if (n == 0)
    return tls_tell_file(err, "revocation list", path);
  ERR_clear_error(); /* the end of the file is one */
  return 0;
}

static int
add_crl_path(X509_STORE *store, const char *path, struct gi_error *err)
{
  DIR *dir = opendir(path);
  int ret = 0;
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  if (!dir)
    return errno == ENOTDIR ? add_crls(store, path, err)
                            : gi_error_set(err, errno, "revocation lists %s: %s", path, strerror(errno));
  struct dirent *e;
  for (unsigned n = 0; ret == 0 && n < CRL_FILES_MAX && (e = readdir(dir)); n++) {
    GI_CLEANUP_FREE char *file = gi_asprintf("%s/%s", path, e->d_name);
    if (e->d_name[0] != '.')
      ret = add_crls(store, file, err);
  }
  closedir(dir);
  return ret;
}

/* Names of TLS 1.3 are another list of OpenSSL than those before it. */
static int
set_ciphers(SSL_CTX *ctx, const char *list, struct gi_error *err)
{
  size_t room = strlen(list) + 2; /* each name and what is before it */
  GI_CLEANUP_FREE char *copy = gi_strdup(list), *old = gi_zalloc(room), *new = gi_zalloc(room);
  char *save = NULL;
  for (char *name = strtok_r(copy, ":, ", &save); name; name = strtok_r(NULL, ":, ", &save)) {
    char *to = strncmp(name, "TLS_", 4) == 0 ? new : old;
    snprintf(to + strlen(to), room - strlen(to), "%s%s", *to ? ":" : "", name);
  }
  if ((*old && !SSL_CTX_set_cipher_list(ctx, old)) || (*new && !SSL_CTX_set_ciphersuites(ctx, new)))
    return gi_error_set(err, EINVAL, "ssl-cipher-list %s: names no cipher that is known", list);
  return 0;
}

static int
set_dh(SSL_CTX *ctx, const char *path, struct gi_error *err)
{
  BIO *in = BIO_new_file(path, "r");
  EVP_PKEY *dh = in ? PEM_read_bio_Parameters(in, NULL) : NULL;
  BIO_free(in);
  if (dh && SSL_CTX_set0_tmp_dh_pkey(ctx, dh))
    return 0;
  EVP_PKEY_free(dh);
  return tls_tell_file(err, "ssl-dh-param", path);
}

static int
set_rules(const struct gi_tls *t, SSL_CTX *ctx, struct gi_error *err)
{
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION); /* what GlusterFS may speak at least */
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE | (gi_tls_kernel() ? SSL_OP_ENABLE_KTLS : 0));
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS); /* an idle connection holds none */
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(ctx, 0);
  SSL_CTX_set_read_ahead(ctx, 1);
  SSL_CTX_set_default_read_buffer_len(ctx, RECEIVED_RECORDS * RECORD_MAX);
  SSL_CTX_set_verify_depth(ctx, t->depth);
  SSL_CTX_set_dh_auto(ctx, 1);
  GI_ASSERT(SSL_CTX_set_ciphersuites(ctx, SUITES));
  if (t->ciphers && set_ciphers(ctx, t->ciphers, err) < 0)
    return -1;
  if (t->path[DH_PARAM] && set_dh(ctx, t->path[DH_PARAM], err) < 0)
    return -1;
  if (t->ec_curve && !SSL_CTX_set1_groups_list(ctx, t->ec_curve))
    return gi_error_set(err, EINVAL, "ssl-ec-curve %s: no curve of that name", t->ec_curve);
  return 0;
}

static int
read_files(const struct gi_tls *t, SSL_CTX *ctx, struct gi_error *err)
{
  if (SSL_CTX_use_certificate_chain_file(ctx, t->path[CERT]) != 1)
    return tls_tell_file(err, "certificate", t->path[CERT]);
  if (SSL_CTX_use_PrivateKey_file(ctx, t->path[KEY], SSL_FILETYPE_PEM) != 1)
    return tls_tell_file(err, "private key", t->path[KEY]);
  if (SSL_CTX_check_private_key(ctx) != 1)
    return tls_tell_file(err, "private key of another certificate:", t->path[KEY]);
  if (SSL_CTX_load_verify_locations(ctx, t->path[CA], NULL) != 1)
    return tls_tell_file(err, "CA list", t->path[CA]);
  return t->path[CRL] ? add_crl_path(SSL_CTX_get_cert_store(ctx), t->path[CRL], err) : 0;
}

/* A file that has certificate and key in one may be replaced between the two looks at it: then it is read again. */
static SSL_CTX *
make_context(const struct gi_tls *t, struct gi_error *err)
{
  struct stamp before[FILES], after[FILES];
  for (int tries = 0; tries < TRIES; tries++) {
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    GI_ASSERT(ctx);
    read_stamps(t, before);
    if (set_rules(t, ctx, err) == 0 && read_files(t, ctx, err) == 0)
      return ctx;
    SSL_CTX_free(ctx);
    read_stamps(t, after);
    if (memcmp(before, after, sizeof(before)) == 0)
      break;
  }
  return NULL;
}

/* ---- credentials ---- */

static char *
given(const char *text, const char *def)
{
  return gi_strdup(text && *text ? text : def);
}

/* Packages of GlusterFS look where OpenSSL was built to keep its files, which on Debian is not /etc/ssl. */
static char *
given_file(const char *path, const char *def)
{
  GI_CLEANUP_FREE char *other = gi_asprintf("%s/%s", X509_get_default_cert_area(), strrchr(def, '/') + 1);
  bool there = !(path && *path) && access(def, F_OK) != 0 && access(other, F_OK) == 0;
  return there ? gi_strdup(other) : given(path, def);
}

struct gi_tls *
gi_tls_new(const struct gi_tls_config *cfg, struct gi_error *err)
{
  struct gi_tls *t = gi_new(struct gi_tls);
  t->magic = TLS_MAGIC;
  atomic_init(&t->refs, 1);
  t->lock = CRYPTO_THREAD_lock_new();
  GI_ASSERT(t->lock);
  t->path[CERT] = given_file(cfg->cert, GI_TLS_CERT);
  t->path[KEY] = given_file(cfg->key, GI_TLS_KEY);
  t->path[CA] = given_file(cfg->ca, GI_TLS_CA);
  t->path[CRL] = given(cfg->crl, NULL);
  t->path[DH_PARAM] = given(cfg->dh_param, NULL);
  t->ciphers = given(cfg->ciphers, NULL);
  t->ec_curve = given(cfg->ec_curve, NULL);
  t->depth = cfg->depth > 0 ? (int)cfg->depth : GI_TLS_DEPTH;
  read_stamps(t, t->stamp);
  t->ctx = make_context(t, err);
  if (!t->ctx)
    gi_tls_unref(&t);
  return t;
}

static bool
same_text(const char *a, const char *b)
{
  GI_CLEANUP_FREE char *asked = given(b, NULL);
  return a && asked ? strcmp(a, asked) == 0 : !a && !asked;
}

static bool
same_file(const char *a, const char *b, const char *def)
{
  GI_CLEANUP_FREE char *asked = given_file(b, def);
  return strcmp(a, asked) == 0;
}

struct gi_tls *
gi_tls_renew(struct gi_tls *now, const struct gi_tls_config *cfg, struct gi_error *err)
{
  if (now && same_file(now->path[CERT], cfg->cert, GI_TLS_CERT) && same_file(now->path[KEY], cfg->key, GI_TLS_KEY) &&
      same_file(now->path[CA], cfg->ca, GI_TLS_CA) && same_text(now->path[CRL], cfg->crl) &&
      same_text(now->path[DH_PARAM], cfg->dh_param) && same_text(now->ciphers, cfg->ciphers) &&
      same_text(now->ec_curve, cfg->ec_curve) && now->depth == (cfg->depth > 0 ? (int)cfg->depth : GI_TLS_DEPTH))
    return gi_tls_ref(now);
  return gi_tls_new(cfg, err);
}

struct gi_tls *
gi_tls_ref(struct gi_tls *t)
{
  if (!t)
    return NULL;
  GI_CHECK(t, TLS_MAGIC);
  atomic_fetch_add(&t->refs, 1);
  return t;
}

void
gi_tls_unref(struct gi_tls **tp)
{
  struct gi_tls *t = *tp;
  *tp = NULL;
  if (!t)
    return;
  GI_CHECK(t, TLS_MAGIC);
  GI_ASSERT(atomic_load(&t->refs) > 0);
  if (atomic_fetch_sub(&t->refs, 1) > 1)
    return;
  for (int i = 0; i < FILES; i++)
    gi_free(t->path[i]);
  gi_free(t->ciphers);
  gi_free(t->ec_curve);
  SSL_CTX_free(t->ctx);
  CRYPTO_THREAD_lock_free(t->lock);
  t->magic = 0;
  gi_free(t);
}

/* Files that cannot be used any more are no reason to stop: what was read before goes on. */
static void
reread(struct gi_tls *t)
{
  struct stamp now[FILES];
  struct gi_error err = {0};
  read_stamps(t, now);
  if (memcmp(now, t->stamp, sizeof(now)) == 0)
    return;
  memcpy(t->stamp, now, sizeof(now));
  SSL_CTX *ctx = make_context(t, &err);
  if (!ctx) {
    gi_log(GI_LOG_ERROR, "tls", GI_MSG_RPC + 30, "changed credentials are not used, those read before are: %s", err.text);
    return;
  }
  SSL_CTX_free(t->ctx); /* sessions have references of their own */
  t->ctx = ctx;
  gi_log(GI_LOG_INFO, "tls", GI_MSG_RPC + 31, "credentials were read again: %s", t->path[CERT]);
}

/* Does the list of those that are trusted name the certificate itself? */
static bool
is_listed(X509_STORE_CTX *store)
{
  X509 *cert = X509_STORE_CTX_get0_cert(store);
  STACK_OF(X509) *same = cert ? X509_STORE_CTX_get1_certs(store, X509_get_subject_name(cert)) : NULL;
  bool listed = false;
  for (int i = 0; same && i < sk_X509_num(same); i++)
    listed |= X509_cmp(sk_X509_value(same, i), cert) == 0;
  sk_X509_pop_free(same, X509_free);
  return listed;
}

/* One that is listed needs nobody who has signed it, nor what that one has taken back. Whether it has expired is another matter. */
static bool
is_excused(X509_STORE_CTX *store)
{
  switch (X509_STORE_CTX_get_error(store)) {
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_UNABLE_TO_GET_CRL:
  case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
    return is_listed(store);
  default:
    return false;
  }
}

static int
verified(int ok, X509_STORE_CTX *store)
{
  if (!ok && is_excused(store)) {
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
  }
  SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
  struct gi_error *why = SSL_get_app_data(ssl);
  GI_ASSERT(why);
  if (!ok && !why->code)
    tls_tell_verdict(why, store);
  return ok;
}

SSL *
tls_session(struct gi_tls *t, bool server, struct gi_error *why, struct gi_error *err)
{
  GI_CHECK(t, TLS_MAGIC);
  GI_ASSERT(CRYPTO_THREAD_write_lock(t->lock));
  reread(t);
  SSL *ssl = SSL_new(t->ctx);
  CRYPTO_THREAD_unlock(t->lock);
  if (!ssl) {
    gi_error_set(err, ENOMEM, "TLS: no memory for a session");
    return NULL;
  }
  SSL_set_app_data(ssl, why);
  SSL_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, verified);
  if (server)
    SSL_set_accept_state(ssl);
  else
    SSL_set_connect_state(ssl);
  return ssl;
}

/* ---- asking ---- */

bool
gi_tls_is_refusal(int code)
{
  return code == EKEYREJECTED || code == EKEYEXPIRED || code == EKEYREVOKED || code == ENOKEY;
}

bool
gi_tls_kernel_said(int err)
{
  return err == ENOTCONN; /* without the module it is ENOENT, without the option ENOPROTOOPT */
}

bool
gi_tls_kernel(void)
{
#ifdef OPENSSL_NO_KTLS
  return false;
#else
  static atomic_int known; /* 0: not asked; 1: no; 2: yes */
  int answer = atomic_load(&known);
  if (!answer) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int err = fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) == 0 ? 0 : errno;
    if (fd >= 0)
      close(fd);
    answer = gi_tls_kernel_said(err) ? 2 : 1;
    atomic_store(&known, answer);
  }
  return answer == 2;
#endif
}
