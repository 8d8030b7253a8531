/* SPDX-License-Identifier: Apache-2.0
 *
 * What --store says: see site.h.
 */
#include "programs/glusterishd/pool/site.h"
#include "libglusterish/mem.h"

#include <errno.h>
#include <string.h>

#define SCHEME "etcd://"
#define PORT "2379"
#define HOST_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"
#define PREFIX_CHARS HOST_CHARS "/+@="

void
gd_site_free(struct gd_site **ref)
{
  struct gd_site *s = *ref;
  *ref = NULL;
  if (!s)
    return;
  for (unsigned i = 0; i < s->n; i++) {
    gi_free(s->at[i].base);
    gi_free(s->at[i].ca);
    gi_free(s->at[i].cert);
    gi_free(s->at[i].key);
  }
  gi_free(s->prefix);
  gi_free(s);
}

/* HOST, HOST:PORT, [IPV6] or [IPV6]:PORT of `len` bytes; the base of its URLs, or NULL. */
static char *
base_of(const char *text, size_t len, bool tls)
{
  GI_CLEANUP_FREE char *host = gi_strndup(text, len);
  const char *end = host;
  if (*host == '[')
    end = host + 1 + strspn(host + 1, "0123456789abcdefABCDEF:.%");
  else
    end += strspn(host, HOST_CHARS);
  if (end <= host + (*host == '[') || (*host == '[' && *end++ != ']'))
    return NULL;
  if (*end && (*end != ':' || !end[1] || strlen(end) > 6 || end[1 + strspn(end + 1, "0123456789")]))
    return NULL;
  return gi_asprintf("%s://%s%s", tls ? "https" : "http", host, *end ? "" : ":" PORT);
}

/* Without slashes at both ends, and one behind it if it is not empty; NULL: it is none. */
static char *
prefix_of(const char *text)
{
  GI_CLEANUP_FREE char *prefix = gi_strdup(text + strspn(text, "/"));
  size_t len = strlen(prefix);
  while (len && prefix[len - 1] == '/')
    prefix[--len] = 0;
  if (strspn(prefix, PREFIX_CHARS) != len)
    return NULL;
  return gi_asprintf("%s%s", prefix, len ? "/" : "");
}

struct gd_site *
gd_site_new(const char *url, const char *ca, const char *cert, const char *key, struct gi_error *err)
{
  struct gd_site *s = gi_new(struct gd_site);
  bool tls = ca || cert, good = strncmp(url, SCHEME, strlen(SCHEME)) == 0 && (cert || !key);
  const char *p = good ? url + strlen(SCHEME) : "";
  while (good) {
    size_t len = strcspn(p, ",/");
    char *base = s->n < GD_SITE_ENDPOINTS ? base_of(p, len, tls) : NULL;
    good = base != NULL;
    if (good)
      s->at[s->n++] = (struct gd_http_place){
          .base = base, .ca = gi_strdup(ca), .cert = gi_strdup(cert), .key = gi_strdup(key ? key : cert)};
    p += len;
    if (*p != ',')
      break;
    p++;
  }
  s->prefix = good ? prefix_of(p) : NULL;
  if (s->prefix)
    return s;
  gi_error_set(err, EINVAL, "store %s: it is " SCHEME "HOST[:PORT][,HOST[:PORT]...][/PREFIX]%s", url,
               key && !cert ? ", and store-key goes with store-cert" : "");
  gd_site_free(&s);
  return NULL;
}
