/* SPDX-License-Identifier: Apache-2.0
 *
 * The host names in address lists: a worker asks the name service for them, one after another, so that a dead one keeps one
 * worker and nobody else. What a name meant last counts until the name service says otherwise. A name without an answer, or without
 * an address, is asked for again.
 */
#include "xlators/protocol/server/server.h"
#include "rpc/resolve.h"

#include <errno.h>

#define HOSTS_MAGIC 0x5e270405u
#define SOON_NS (GI_NSEC_PER_SEC / 5)  /* it is asked for again, then after twice that, and so on … */
#define LATE_NS (20 * GI_NSEC_PER_SEC) /* … up to this */
#define HOST_TEXT 64                   /* bytes of an address with the name of an interface */

struct sv_host {
  struct gi_list link; /* sv_hosts.all */
  char *name;
  char (*address)[HOST_TEXT];
  unsigned count;
  bool numeric; /* an address, or the loopback host: nobody is asked */
  bool known;   /* the name service has answered once */
  bool failed;  /* and it has not the last time, or the name had no address */
  bool due;     /* to be looked up */
  bool named;   /* in the lists of now */
};

struct sv_hosts {
  uint32_t magic;
  struct gi_reactor *r;
  struct gi_list all;
  struct gi_resolve *resolve; /* NULL: nobody is asked */
  struct sv_host *asked;      /* whose name it is about */
  struct gi_timer again;
  uint64_t pause; /* the next one */
  void (*answered)(void *arg);
  void *arg;
};

static void look_up_next(struct sv_hosts *h);

/* ---- answers ---- */

static struct sv_host *
find(const struct sv_hosts *h, const char *name)
{
  gi_list_foreach(host, &h->all, struct sv_host, link)
    if (strcasecmp(host->name, name) == 0)
      return host;
  return NULL;
}

static void
take_addresses(struct sv_host *host, const struct gi_net_address *address, unsigned n)
{
  gi_free(host->address);
  host->address = n ? gi_alloc(n * sizeof(*host->address)) : NULL;
  host->count = 0;
  for (unsigned i = 0; i < n; i++)
    host->count += gi_net_host_text(&address[i], host->address[host->count], HOST_TEXT);
  host->known = true;
}

static void
take(struct sv_host *host, const struct gi_net_address *address, unsigned n, const struct gi_error *err)
{
  bool failed = n == 0;
  if (!failed || err->code == GI_NET_NO_SUCH_NAME)
    take_addresses(host, address, n);
  if (failed && !host->failed)
    gi_log(GI_LOG_WARNING, "server", GI_MSG_SERVER + 30, "auth.allow or auth.reject names the host %s: %s", host->name,
           err->text);
  host->failed = failed;
}

static void
looked_up(void *arg, const struct gi_net_address *address, unsigned n, const struct gi_error *err)
{
  struct sv_hosts *h = arg;
  GI_CHECK(h, HOSTS_MAGIC);
  take(h->asked, address, n, err);
  h->resolve = NULL;
  h->asked = NULL;
  look_up_next(h);
  h->answered(h->arg);
}

/* ---- questions ---- */

static void
look_up(struct sv_hosts *h, struct sv_host *host)
{
  host->due = false;
  h->asked = host;
  h->resolve = gi_resolve_start(h->r, host->name, 0, looked_up, h);
}

static void
look_up_next(struct sv_hosts *h)
{
  bool failed = false;
  if (h->resolve)
    return;
  gi_list_foreach(host, &h->all, struct sv_host, link) {
    failed |= host->failed;
    if (host->due) {
      look_up(h, host);
      return;
    }
  }
  if (failed) {
    gi_timer_set(&h->again, h->pause);
    h->pause = 2 * h->pause < LATE_NS ? 2 * h->pause : LATE_NS;
  }
}

static void
ask_again(void *arg)
{
  struct sv_hosts *h = arg;
  GI_CHECK(h, HOSTS_MAGIC);
  gi_list_foreach(host, &h->all, struct sv_host, link)
    host->due |= host->failed;
  look_up_next(h);
}

/* ---- lists ---- */

struct sv_hosts *
sv_hosts_new(struct gi_reactor *r, void (*answered)(void *arg), void *arg)
{
  struct sv_hosts *h = gi_new(struct sv_hosts);
  *h = (struct sv_hosts){.magic = HOSTS_MAGIC, .r = r, .answered = answered, .arg = arg};
  gi_list_init(&h->all);
  gi_timer_init(&h->again, r, ask_again, h);
  return h;
}

struct sv_host *
sv_hosts_name(struct sv_hosts *h, const char *name)
{
  GI_CHECK(h, HOSTS_MAGIC);
  struct sv_host *host = find(h, name);
  if (!host) {
    struct gi_net_address address[2];
    int n = gi_net_numeric(name, 0, address, GI_ARRAY_LEN(address));
    host = gi_new(struct sv_host);
    host->name = gi_strdup(name);
    host->numeric = n > 0;
    if (host->numeric)
      take_addresses(host, address, (unsigned)n);
    gi_list_add_tail(&h->all, &host->link);
  }
  host->named = true;
  return host;
}

static void
forget(struct sv_hosts *h, struct sv_host *host)
{
  if (h->asked == host) {
    gi_resolve_cancel(&h->resolve);
    h->asked = NULL;
  }
  gi_list_del(&host->link);
  gi_free(host->name);
  gi_free(host->address);
  gi_free(host);
}

void
sv_hosts_settle(struct sv_hosts *h)
{
  GI_CHECK(h, HOSTS_MAGIC);
  gi_list_foreach_safe(host, &h->all, struct sv_host, link) {
    if (!host->named) {
      forget(h, host);
      continue;
    }
    host->due = !host->numeric;
    host->named = false;
  }
  gi_timer_cancel(&h->again);
  h->pause = SOON_NS;
  look_up_next(h);
}

void
sv_hosts_free(struct sv_hosts **hp)
{
  struct sv_hosts *h = *hp;
  *hp = NULL;
  if (!h)
    return;
  GI_CHECK(h, HOSTS_MAGIC);
  gi_list_foreach_safe(host, &h->all, struct sv_host, link)
    forget(h, host);
  gi_timer_finish(&h->again);
  h->magic = 0;
  gi_free(h);
}

enum sv_match
sv_host_has(const struct sv_host *host, const char *address)
{
  for (unsigned i = 0; i < host->count; i++)
    if (strcmp(host->address[i], address) == 0)
      return SV_HIT;
  return host->known ? SV_MISS : SV_UNKNOWN;
}
