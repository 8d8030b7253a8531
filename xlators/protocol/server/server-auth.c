/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may connect (wire.md 9): the name in its certificate, user name and
 * password, and the peer's address. Any reject fails, else any accept succeeds, and no opinion at all
 * fails. Where keys are demanded whoever does not know the password needs one besides.
 *
 * Nobody waits for the name service (server-hosts.c). Whoever comes before a
 * host name that decides is resolved is told to come again; whoever is connected stays until
 * then.
 */
#include "xlators/protocol/server/server.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

enum verdict { SV_DONT_CARE, SV_ACCEPT, SV_REJECT, SV_PERHAPS_ACCEPT, SV_PERHAPS_REJECT };

struct sv_pattern {
  struct gi_list link;
  char *text;           /* address, shell pattern or CIDR, without the "!"; NULL: a host */
  struct sv_host *host; /* borrowed */
  char *subdir;         /* the entry counts for this directory only; NULL = always */
  bool negated;
};

/* of one brick */
struct sv_rules {
  struct gi_list link;
  const struct gi_xlator *brick;
  struct gi_list allow, reject;
};

/* ---- loading ---- */

/* "/a/b" for all the ways to write it, "/" for the top. */
static char *
normal_path(const char *path)
{
  char *normal = gi_alloc(strlen(path) + 2), *at = normal;
  *at++ = '/';
  for (; *path; path++)
    if (*path != '/' || at[-1] != '/')
      *at++ = *path;
  if (at[-1] == '/' && at - 1 > normal)
    at--;
  *at = 0;
  return normal;
}

static struct sv_pattern *
add_pattern(struct gi_list *list, const char *subdir, bool negated)
{
  struct sv_pattern *p = gi_new(struct sv_pattern);
  p->subdir = subdir ? normal_path(subdir) : NULL;
  p->negated = negated;
  gi_list_add_tail(list, &p->link);
  return p;
}

static bool
looks_like_host_name(const char *text)
{
  if (strpbrk(text, "*?[/:"))
    return false;
  for (const char *c = text; *c; c++)
    if (isalpha((unsigned char)*c))
      return true;
  return false;
}

static void
add_address(struct server *sv, struct gi_list *list, const char *text, const char *subdir)
{
  bool negated = text[0] == '!';
  if (negated)
    text++;
  if (!text[0])
    return;
  struct sv_pattern *p = add_pattern(list, subdir, negated);
  if (looks_like_host_name(text))
    p->host = sv_hosts_name(sv->hosts, text);
  else
    p->text = gi_strdup(text);
}

/* "/dir(a|b)" or "/dir": the addresses that count for one directory. */
static void
add_directory(struct server *sv, struct gi_list *list, char *entry)
{
  char *open = strchr(entry, '(');
  if (!open) {
    add_address(sv, list, "*", entry);
    return;
  }
  *open = 0;
  char *close = strchr(open + 1, ')');
  if (close)
    *close = 0;
  char *save = NULL;
  for (char *a = strtok_r(open + 1, "|", &save); a; a = strtok_r(NULL, "|", &save))
    add_address(sv, list, a, entry);
}

static void
load_list(struct server *sv, struct gi_list *list, const char *text)
{
  char *copy = gi_strdup(text), *save = NULL;
  for (char *entry = strtok_r(copy, ", ", &save); entry; entry = strtok_r(NULL, ", ", &save)) {
    if (entry[0] == '/')
      add_directory(sv, list, entry);
    else
      add_address(sv, list, entry, NULL);
  }
  gi_free(copy);
}

/* auth.MODULE.BRICK.WHAT; auth-path may name the brick where the volfile calls the volume otherwise. */
static const char *
brick_option(const struct server *sv, const struct gi_xlator *brick, const char *module, const char *what)
{
  const char *names[] = {brick->name, sv_opts(sv)->auth_path};
  for (unsigned i = 0; i < GI_ARRAY_LEN(names); i++) {
    if (!names[i])
      continue;
    GI_CLEANUP_FREE char *option = gi_asprintf("auth.%s.%s.%s", module, names[i], what);
    const char *value = gi_xlator_option(sv->x, option);
    if (value)
      return value;
  }
  return NULL;
}

static void
free_list(struct gi_list *list)
{
  gi_list_foreach_safe(p, list, struct sv_pattern, link) {
    gi_list_del(&p->link);
    gi_free(p->text);
    gi_free(p->subdir);
    gi_free(p);
  }
}

static void
free_rules(struct server *sv)
{
  gi_list_foreach_safe(r, &sv->rules, struct sv_rules, link) {
    gi_list_del(&r->link);
    free_list(&r->allow);
    free_list(&r->reject);
    gi_free(r);
  }
}

static void
host_answered(void *arg)
{
  struct server *sv = arg;
  GI_CHECK(sv, SV_MAGIC);
  if (sv->rpc)
    sv_auth_recheck(sv);
}

void
sv_auth_load(struct server *sv)
{
  free_rules(sv);
  if (!sv->hosts)
    sv->hosts = sv_hosts_new(sv->x->reactor, host_answered, sv);
  for (unsigned i = 0; i < sv->x->nchildren; i++) {
    struct sv_rules *r = gi_new(struct sv_rules);
    r->brick = sv->x->children[i];
    gi_list_init(&r->allow);
    gi_list_init(&r->reject);
    gi_list_add_tail(&sv->rules, &r->link);
    const char *allow = brick_option(sv, r->brick, "addr", "allow");
    const char *reject = brick_option(sv, r->brick, "addr", "reject");
    load_list(sv, &r->allow, allow ? allow : "*");
    load_list(sv, &r->reject, reject ? reject : "");
  }
  sv_hosts_settle(sv->hosts);
}

void
sv_auth_free(struct server *sv)
{
  free_rules(sv);
  sv_hosts_free(&sv->hosts);
}

/* ---- matching ---- */

/* The peer's numeric address; a v4 address mapped into v6 counts as v4. Local sockets are called "local". */
static void
peer_text(struct gi_rpc_peer *p, char text[INET6_ADDRSTRLEN], int *port)
{
  struct sockaddr_storage sa;
  snprintf(text, INET6_ADDRSTRLEN, "local");
  *port = 0;
  if (!gi_conn_peer_address(gi_rpc_peer_conn(p), &sa))
    return;
  if (sa.ss_family == AF_INET) {
    struct sockaddr_in *in = (struct sockaddr_in *)&sa;
    inet_ntop(AF_INET, &in->sin_addr, text, INET6_ADDRSTRLEN);
    *port = ntohs(in->sin_port);
  } else if (sa.ss_family == AF_INET6) {
    struct sockaddr_in6 *in = (struct sockaddr_in6 *)&sa;
    if (IN6_IS_ADDR_V4MAPPED(&in->sin6_addr))
      inet_ntop(AF_INET, &in->sin6_addr.s6_addr[12], text, INET6_ADDRSTRLEN);
    else
      inet_ntop(AF_INET6, &in->sin6_addr, text, INET6_ADDRSTRLEN);
    *port = ntohs(in->sin6_port);
  }
}

static bool
prefix_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
  unsigned whole = bits / 8, rest = bits % 8;
  if (memcmp(a, b, whole) != 0)
    return false;
  return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

static bool
match_cidr(const char *pattern, const char *address)
{
  char net[INET6_ADDRSTRLEN];
  const char *slash = strchr(pattern, '/');
  size_t len = (size_t)(slash - pattern);
  char *end;
  unsigned long bits = strtoul(slash + 1, &end, 10);
  if (len >= sizeof(net) || *end || end == slash + 1)
    return false;
  memcpy(net, pattern, len);
  net[len] = 0;
  uint8_t a[16], b[16];
  int family = strchr(net, ':') ? AF_INET6 : AF_INET;
  unsigned long max = family == AF_INET6 ? 128 : 32;
  return bits <= max && inet_pton(family, net, a) == 1 && inet_pton(family, address, b) == 1 &&
         prefix_equal(a, b, (unsigned)bits);
}

static enum sv_match
match(const struct sv_pattern *p, const char *address)
{
  if (p->host)
    return sv_host_has(p->host, address);
  return (strchr(p->text, '/') ? match_cidr(p->text, address) : fnmatch(p->text, address, 0) == 0) ? SV_HIT : SV_MISS;
}

static enum sv_match
match_list(const struct gi_list *list, const char *address, const char *subdir)
{
  enum sv_match outcome = SV_MISS;
  gi_list_foreach(p, list, struct sv_pattern, link) {
    if (p->subdir && strcmp(p->subdir, subdir) != 0)
      continue;
    enum sv_match m = match(p, address);
    if (m == SV_UNKNOWN)
      outcome = SV_UNKNOWN;
    else if ((m == SV_HIT) != p->negated)
      return SV_HIT;
  }
  return outcome;
}

static enum verdict
check_lists(const struct sv_rules *r, const char *address, const char *subdir)
{
  static const enum verdict by_reject[] = {[SV_HIT] = SV_REJECT, [SV_UNKNOWN] = SV_PERHAPS_REJECT},
                            by_allow[] = {[SV_MISS] = SV_DONT_CARE, [SV_HIT] = SV_ACCEPT, [SV_UNKNOWN] = SV_PERHAPS_ACCEPT};
  enum sv_match rejected = match_list(&r->reject, address, subdir);
  return rejected == SV_MISS ? by_allow[match_list(&r->allow, address, subdir)] : by_reject[rejected];
}

static enum verdict
check_address(struct server *sv, struct gi_rpc_peer *p, const struct gi_xlator *brick, const char *subdir)
{
  GI_CLEANUP_FREE char *path = normal_path(subdir ? subdir : "");
  char address[INET6_ADDRSTRLEN];
  int port;
  peer_text(p, address, &port);
  if (!sv_opts(sv)->allow_insecure && port >= 1024)
    return SV_REJECT;
  gi_list_foreach(r, &sv->rules, struct sv_rules, link)
    if (r->brick == brick)
      return check_lists(r, address, path);
  return SV_DONT_CARE;
}

/* ---- user name and password ---- */

static bool
user_listed(const char *list, const char *user)
{
  char *copy = gi_strdup(list), *save = NULL;
  bool found = false;
  for (char *p = strtok_r(copy, ", ", &save); p && !found; p = strtok_r(NULL, ", ", &save))
    found = fnmatch(p, user, 0) == 0;
  gi_free(copy);
  return found;
}

/* Takes the same time wherever the first difference is. */
static bool
secret_equal(const char *a, const char *b)
{
  size_t la = strlen(a), lb = strlen(b);
  unsigned diff = la != lb;
  for (size_t i = 0; i < la && i < lb; i++)
    diff |= (unsigned)(a[i] ^ b[i]);
  return diff == 0;
}

static enum verdict
check_login(struct server *sv, const struct gi_xlator *brick, const struct gi_dict *intro, bool named)
{
  enum verdict none = sv_opts(sv)->strict_auth && !named ? SV_REJECT : SV_DONT_CARE;
  const char *user = NULL, *password = NULL;
  if (!gi_dict_get_str(intro, "username", &user) || !gi_dict_get_str(intro, "password", &password))
    return none;
  const char *list = brick_option(sv, brick, "login", "allow");
  if (!list || !user_listed(list, user))
    return none;
  GI_CLEANUP_FREE char *option = gi_asprintf("auth.login.%s.password", user);
  const char *secret = gi_xlator_option(sv->x, option);
  return secret && secret_equal(secret, password) ? SV_ACCEPT : SV_REJECT;
}

/* With TLS: by the common name of the certificate, if there is a rule. */
static enum verdict
check_name(struct server *sv, struct gi_rpc_peer *p, const struct gi_xlator *brick)
{
  const char *name = gi_conn_tls_name(gi_rpc_peer_conn(p));
  const char *list = name ? brick_option(sv, brick, "login", "ssl-allow") : NULL;
  if (!list)
    return SV_DONT_CARE;
  if (name[0] && user_listed(list, name))
    return SV_ACCEPT;
  gi_log(GI_LOG_WARNING, sv->x->name, GI_MSG_SERVER + 31, "%s is refused: auth.ssl-allow does not allow its certificate \"%s\"",
         gi_conn_peer(gi_rpc_peer_conn(p)), name);
  return SV_REJECT;
}

/* ---- keys ---- */

enum gi_key_verdict
sv_auth_key(struct server *sv, struct gi_rpc_peer *p, const struct gi_xlator *brick, const struct gi_dict *intro)
{
  struct sv_peer *peer = gi_rpc_peer_private(p);
  const struct gi_key_claim claim = {gi_rpc_peer_conn(p), "brick", brick->name};
  enum gi_key_verdict v = gi_client_key_take(&peer->key, sv_opts(sv)->client_keys, intro, &claim);
  bool demanded = sv_opts(sv)->client_key, listed = v != GI_KEY_NONE && v != GI_KEY_UNKNOWN;
  return demanded || listed ? v : GI_KEY_GOOD;
}

/* May a client stay that has this key, or none (empty)? */
static bool
key_stays(const struct server *sv, const char *key)
{
  GI_CLEANUP_FREE char *name = gi_client_keys_name(sv_opts(sv)->client_keys, key);
  return !sv_opts(sv)->client_key || name;
}

/* Any reject fails, else any accept succeeds. Only the address is ever in doubt. */
static enum sv_admission
admit(enum verdict by_name, enum verdict by_login, enum verdict by_address)
{
  if (by_name == SV_REJECT || by_login == SV_REJECT || by_address == SV_REJECT)
    return SV_REFUSED;
  if (by_address == SV_PERHAPS_REJECT)
    return SV_LATER;
  if (by_name == SV_ACCEPT || by_login == SV_ACCEPT || by_address == SV_ACCEPT)
    return SV_ADMITTED;
  return by_address == SV_PERHAPS_ACCEPT ? SV_LATER : SV_REFUSED;
}

enum sv_admission
sv_auth_check(struct server *sv, struct gi_rpc_peer *p, const struct gi_xlator *brick, const struct gi_dict *intro, bool *login)
{
  const char *subdir = NULL;
  gi_dict_get_str(intro, "subdir-mount", &subdir);
  enum verdict by_name = check_name(sv, p, brick);
  enum verdict by_login = check_login(sv, brick, intro, by_name == SV_ACCEPT);
  *login = by_login == SV_ACCEPT;
  return admit(by_name, by_login, check_address(sv, p, brick, subdir));
}

/* ---- when rules change ---- */

/* Does one of that name get in still? */
static bool
is_user(const struct server *sv, const struct gi_xlator *brick, const char *user)
{
  const char *list = brick_option(sv, brick, "login", "allow");
  return list && user_listed(list, user);
}

static bool
may_stay(struct server *sv, struct gi_rpc_peer *p, const struct sv_client *c)
{
  enum verdict by_name = check_name(sv, p, c->bound);
  if (by_name == SV_REJECT || c->trusted)
    return by_name != SV_REJECT;
  return admit(by_name, SV_DONT_CARE, check_address(sv, p, c->bound, c->subdir_path)) != SV_REFUSED;
}

/* Whose password counts no more loses what it gave, and the other rules decide. */
static void
trust_anew(const struct server *sv, struct sv_client *c)
{
  if (!sv_opts(sv)->dynamic_auth || !c->trusted || is_user(sv, c->bound, c->user))
    return;
  gi_log(GI_LOG_WARNING, sv->x->name, GI_MSG_SERVER + 33,
         "client %s from %s is trusted no more: its user name does not count now", c->uid, c->address);
  c->trusted = false;
}

/* NULL: the rules let it in. */
static const char *
refusal(struct server *sv, struct gi_rpc_peer *p, const struct sv_client *c)
{
  if (!c->trusted && !key_stays(sv, c->key))
    return c->key[0] ? "its key was removed (auth.client-keys)" : "it has shown no key of the volume (auth.client-key)";
  if (!sv_opts(sv)->dynamic_auth || may_stay(sv, p, c))
    return NULL;
  return "no longer allowed by auth.allow, auth.reject or auth.ssl-allow";
}

static void
recheck(struct gi_rpc_peer *p, void *arg)
{
  struct server *sv = arg;
  struct sv_peer *peer = gi_rpc_peer_private(p);
  GI_ASSERT(!peer || peer->magic == SV_PEER_MAGIC);
  struct sv_client *c = peer ? peer->client : NULL;
  if (!c)
    return;
  trust_anew(sv, c);
  const char *why = refusal(sv, p, c);
  if (!why)
    return;
  gi_log(GI_LOG_WARNING, sv->x->name, GI_MSG_SERVER + 32, "%s is shown the door: %s", gi_conn_peer(gi_rpc_peer_conn(p)), why);
  gi_conn_close(gi_rpc_peer_conn(p), EACCES, why);
}

void
sv_auth_recheck(struct server *sv)
{
  gi_rpc_server_foreach_peer(sv->rpc, recheck, sv);
}
