/* SPDX-License-Identifier: Apache-2.0
 *
 * The addresses of a host's name: see resolve.h.
 */
#include "rpc/resolve.h"
#include "libglusterish/mem.h"

#include <string.h>

#define FEW 8 /* addresses: if there are more it is asked again, with room for more */

struct gi_resolve {
  struct gi_list link; /* gi_reactor.resolving */
  struct gi_work work;
  struct gi_reactor *r;
  gi_resolved_fn *fn; /* NULL: nobody waits for it */
  void *arg;
  char *host;
  int port;
  int count;
  struct gi_net_address *address;
  struct gi_error err;
};

static struct gi_resolve *
left_over(const struct gi_reactor *r, const char *host, int port)
{
  gi_list_foreach(res, &r->resolving, struct gi_resolve, link)
    if (!res->fn && res->port == port && strcmp(res->host, host) == 0)
      return res;
  return NULL;
}

/* On a worker. */
static void
look_up(struct gi_work *w)
{
  struct gi_resolve *res = gi_list_item(w, struct gi_resolve, work);
  unsigned room = FEW;
  do {
    room *= 2;
    res->address = gi_realloc(res->address, room * sizeof(*res->address));
    res->count = gi_net_of(res->r)->resolve(res->r, res->host, res->port, res->address, room, &res->err);
  } while (res->count == (int)room);
}

static void
looked_up(struct gi_work *w)
{
  struct gi_resolve *res = gi_list_item(w, struct gi_resolve, work);
  gi_list_del(&res->link);
  if (res->fn)
    res->fn(res->arg, res->address, res->count > 0 ? (unsigned)res->count : 0, &res->err);
  gi_free(res->address);
  gi_free(res->host);
  gi_free(res);
}

struct gi_resolve *
gi_resolve_start(struct gi_reactor *r, const char *host, int port, gi_resolved_fn *fn, void *arg)
{
  struct gi_resolve *res = left_over(r, host, port);
  GI_ASSERT(fn && host[0] && host[0] != '/');
  if (!res) {
    res = gi_new(struct gi_resolve);
    res->r = r;
    res->host = gi_strdup(host);
    res->port = port;
    res->work.priority = GI_PRIO_NORMAL;
    res->work.run = look_up;
    res->work.done = looked_up;
    gi_list_add_tail(&r->resolving, &res->link);
    gi_work_submit(r, &res->work);
  }
  res->fn = fn;
  res->arg = arg;
  return res;
}

void
gi_resolve_cancel(struct gi_resolve **ref)
{
  struct gi_resolve *res = *ref;
  *ref = NULL;
  if (!res)
    return;
  GI_ASSERT(res->fn);
  res->fn = NULL;
}
