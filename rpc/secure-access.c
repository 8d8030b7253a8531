/* SPDX-License-Identifier: Apache-2.0
 *
 * The file `secure-access`: where it is, management connections are in TLS
 * (wire.md 1.10). It may be empty; lines "option NAME VALUE" say which files
 * the credentials of this machine are, also for volumes that do not say it
 * themselves.
 */
#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "rpc/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX 65536
#define PREFIX "transport.socket."

static char *
read_text(const char *path, struct gi_error *err)
{
  char *text = gi_zalloc(FILE_MAX);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, FILE_MAX - 1);
  if (n < 0)
    gi_error_set(err, errno, "%s: %s", path, strerror(errno));
  if (fd >= 0)
    close(fd);
  if (n >= 0)
    return text;
  gi_free(text);
  return NULL;
}

static int
take_option(struct gi_secure_access *a, const char *name, const char *value, struct gi_error *err)
{
  const struct {
    const char *name, **to;
  } texts[] = {
      {"ssl-own-cert", &a->tls.cert},     {"ssl-private-key", &a->tls.key},     {"ssl-ca-list", &a->tls.ca},
      {"ssl-crl-path", &a->tls.crl},      {"ssl-cipher-list", &a->tls.ciphers}, {"ssl-dh-param", &a->tls.dh_param},
      {"ssl-ec-curve", &a->tls.ec_curve},
  };
  if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
    name += strlen(PREFIX);
  for (size_t i = 0; i < GI_ARRAY_LEN(texts); i++)
    if (strcmp(name, texts[i].name) == 0) {
      *texts[i].to = value;
      return 0;
    }
  if (strcmp(name, "ssl-cert-depth") == 0)
    a->tls.depth = atoi(value);
  else if (strcmp(name, "ssl-optional") == 0)
    a->optional = strcmp(value, "on") == 0;
  else
    return gi_error_set(err, EINVAL, "%s is no option of TLS", name);
  return 0;
}

int
gi_secure_access_read(const char *path, struct gi_secure_access *a, struct gi_error *err)
{
  char *save = NULL;
  struct gi_error why = {0};
  *a = (struct gi_secure_access){0};
  if (!path)
    return 0;
  a->text = read_text(path, &why);
  if (!a->text && why.code == ENOENT)
    return 0;
  if (!a->text)
    return gi_error_set(err, why.code, "%s", why.text);
  a->exists = true;
  unsigned n = 1;
  for (char *line = strtok_r(a->text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
    char *word = NULL, *first = strtok_r(line, " \t\r", &word), *name = first ? strtok_r(NULL, " \t\r", &word) : NULL;
    char *value = name ? strtok_r(NULL, " \t\r", &word) : NULL;
    if (!first || first[0] == '#')
      continue;
    if (strcmp(first, "option") != 0 || !value)
      gi_error_set(&why, EINVAL, "it is not \"option NAME VALUE\"");
    if (why.code == EINVAL || take_option(a, name, value, &why) < 0) {
      gi_secure_access_clear(a);
      return gi_error_set(err, EINVAL, "%s: line %u: %s", path, n, why.text);
    }
  }
  return 0;
}

void
gi_secure_access_clear(struct gi_secure_access *a)
{
  gi_free(a->text);
  *a = (struct gi_secure_access){0};
}

const char *
gi_secure_access_path(void)
{
  const char *given = getenv("GLUSTERISH_SECURE_ACCESS");
  return given && *given ? given : GI_STATE_DIR "/secure-access";
}

static struct gi_tls *
volume_credentials(const char *path, struct gi_tls *now, const struct gi_tls_config *cfg, struct gi_error *err)
{
  struct gi_secure_access a;
  if (gi_secure_access_read(path, &a, err) < 0)
    return NULL;
  struct gi_tls_config all = {
      .cert = cfg->cert ? cfg->cert : a.tls.cert,
      .key = cfg->key ? cfg->key : a.tls.key,
      .ca = cfg->ca ? cfg->ca : a.tls.ca,
      .crl = cfg->crl ? cfg->crl : a.tls.crl,
      .ciphers = cfg->ciphers ? cfg->ciphers : a.tls.ciphers,
      .dh_param = cfg->dh_param ? cfg->dh_param : a.tls.dh_param,
      .ec_curve = cfg->ec_curve ? cfg->ec_curve : a.tls.ec_curve,
      .depth = cfg->depth ? cfg->depth : a.tls.depth,
  };
  struct gi_tls *t = gi_tls_renew(now, &all, err);
  gi_secure_access_clear(&a);
  return t;
}

int
gi_tls_prepare(struct gi_tls_pair *p, const char *on, const struct gi_tls_config *cfg, const char *path, struct gi_error *err)
{
  gi_tls_abort(p);
  if (!on)
    return 0;
  p->next = volume_credentials(path, p->now, cfg, err);
  if (p->next)
    return 0;
  gi_error_prefix(err, "%s is on", on);
  return -1;
}

void
gi_tls_commit(struct gi_tls_pair *p)
{
  gi_tls_unref(&p->now);
  p->now = p->next;
  p->next = NULL;
}

void
gi_tls_abort(struct gi_tls_pair *p)
{
  gi_tls_unref(&p->next);
}

void
gi_tls_clear(struct gi_tls_pair *p)
{
  gi_tls_abort(p);
  gi_tls_unref(&p->now);
}

int
gi_mgmt_credentials(struct gi_ctx *ctx, struct gi_error *err)
{
  struct gi_secure_access a;
  struct gi_tls *next = NULL;
  if (gi_secure_access_read(ctx->secure_access, &a, err) < 0)
    return -1;
  bool wanted = a.exists || ctx->secure_mgmt;
  if (wanted)
    next = gi_tls_renew(ctx->mgmt_tls, &a.tls, err);
  gi_secure_access_clear(&a);
  if (wanted && !next) {
    gi_error_prefix(err, "management connections are to be encrypted");
    return -1;
  }
  gi_tls_unref(&ctx->mgmt_tls);
  ctx->mgmt_tls = next;
  return 0;
}
