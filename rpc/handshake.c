/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection of a process to its management daemon: fetches the volfile,
 * fetches again when told to or after a reconnect, signs a brick in.
 *
 * There may be several daemons that know the same: all hosts of the list, and
 * those that the first answer named. They are asked in order, each on a lane of
 * its own, a moment after the one before or as soon as that has failed. Whose
 * volfile comes first is the home of this process, the other lanes end. So
 * neither a dead host, nor a frozen one, nor a name service that does not
 * answer is waited for.
 *
 * When the home goes, is silent, or does not know the volume any more, the
 * others are asked. After a whole round without success the owner hears of it
 * if no volfile has come yet, and the next round begins after a growing delay.
 * A process that runs never stops because the daemons are away.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/handshake.h"
#include "libglusterish/log.h"
#include "rpc/client-key.h"
#include "rpc/race.h"

#include <errno.h>
#include <unistd.h>

#define MGMT_MAGIC 0x36710001u
#define HOSTS_MAX 32
#define PLACES_MAX 64
#define VOLFILE_MAX (16u << 20)
#define CALL_TIMEOUT_S 60 /* the daemon answers from memory; a hung one must not leave us without news for half an hour */
#define SILENT_S 10       /* a daemon that answers not even a ping for so long is not waited for */
#define LOOK_NS (10 * GI_NSEC_PER_SEC)      /* so often the home is asked whether it is there, if there are others */
#define STAGGER_NS (250 * GI_NSEC_PER_MSEC) /* after which the next place is asked, too */
#define VERDICT_NS (2 * GI_NSEC_PER_SEC)    /* after one place has refused the others may contradict for so long */
#define NAMES_NS (15 * GI_NSEC_PER_SEC)     /* a name service has to answer */
#define RETRY_MIN_NS (500 * GI_NSEC_PER_MSEC)
#define RETRY_MAX_NS (3 * GI_NSEC_PER_SEC)
#define OP_VERSION_MIN "1"
#define OP_VERSION_MAX "100000" /* wire.md 7.1: what 10.3 announces */
#define SPEC_WANT_SERVERS 1

/* As the command line or a daemon has it. */
struct host {
  struct gi_mgmt *m;
  char *name;
  int port;
  struct gi_resolve *resolve; /* NULL: its addresses are not being looked up */
};

/* Where a daemon may be: an address, in a round. */
struct place {
  char *address;
  int port;
};

/* A connection to a place, and what was asked there. */
struct lane {
  struct gi_list link; /* gi_mgmt.lanes */
  struct gi_mgmt *m;
  struct gi_rpc_client *rpc;
  struct place at;
  bool fetching;
  bool again;      /* FETCHSPEC came while fetching */
  bool proved;     /* the key of this client, for this volfile: a daemon that asks once more is not satisfied */
  int refused;     /* errno; 0: not */
  const char *why; /* static */
  bool ended;      /* it is being freed */
};

struct gi_mgmt {
  uint32_t magic;
  struct gi_ctx *ctx;
  const struct gi_mgmt_ops *ops;
  void *arg;
  char *key;
  struct host host[HOSTS_MAX];
  unsigned nhosts;
  struct place place[PLACES_MAX]; /* of this round; those before `next` were tried */
  unsigned nplaces, next;
  struct gi_list lanes; /* struct lane */
  struct lane *home;    /* one of them; NULL: it is looked for */
  char *last;           /* the address of the last one; NULL: there was none */
  bool seeking;         /* a round is under way */
  bool met;             /* in this round a daemon took the connection */
  bool failed;          /* in this round a lane ended */
  struct gi_timer stagger, verdict, names, round, look;
  uint64_t backoff;
  char *text; /* the last volfile; NULL before the first */
  size_t text_len;
  char *brick; /* to sign in; NULL: none */
  int brick_port;
  unsigned busy; /* callbacks of the owner on the stack */
  bool dead;
};

static void
clear_places(struct gi_mgmt *m)
{
  for (unsigned i = 0; i < m->nplaces; i++)
    gi_free(m->place[i].address);
  m->nplaces = m->next = 0;
}

static void
destroy(struct gi_mgmt *m)
{
  struct gi_timer *timers[] = {&m->stagger, &m->verdict, &m->names, &m->round, &m->look};
  GI_ASSERT(gi_list_empty(&m->lanes) && !m->home);
  for (unsigned i = 0; i < GI_ARRAY_LEN(timers); i++)
    gi_timer_finish(timers[i]);
  for (unsigned i = 0; i < m->nhosts; i++)
    gi_free(m->host[i].name);
  clear_places(m);
  gi_free(m->key);
  gi_free(m->text);
  gi_free(m->brick);
  gi_free(m->last);
  m->magic = 0;
  gi_free(m);
}

static void
enter(struct gi_mgmt *m)
{
  GI_CHECK(m, MGMT_MAGIC);
  m->busy++;
}

static void
leave(struct gi_mgmt *m)
{
  GI_ASSERT(m->busy > 0);
  if (--m->busy == 0 && m->dead)
    destroy(m);
}

/* ---- hosts ---- */

static void
add_host(struct gi_mgmt *m, const char *name, size_t len, int port)
{
  for (unsigned i = 0; i < m->nhosts; i++) {
    if (strlen(m->host[i].name) == len && memcmp(m->host[i].name, name, len) == 0 && m->host[i].port == port)
      return;
  }
  if (m->nhosts < HOSTS_MAX)
    m->host[m->nhosts++] = (struct host){.m = m, .name = gi_strndup(name, len), .port = port};
}

/* "host:port host:port ": other daemons that serve the same volfile, to fall back on. */
static void
add_servers(struct gi_mgmt *m, const char *list)
{
  while (*list) {
    size_t len = strcspn(list, " ");
    const char *colon = memrchr(list, ':', len);
    int port = colon ? atoi(colon + 1) : 0;
    if (colon > list && port > 0 && port < 65536)
      add_host(m, list, (size_t)(colon - list), port);
    list += len;
    list += strspn(list, " ");
  }
}

static void
add_place(struct gi_mgmt *m, const char *address, int port)
{
  for (unsigned i = 0; i < m->nplaces; i++)
    if (strcmp(m->place[i].address, address) == 0 && m->place[i].port == port)
      return;
  if (m->nplaces < PLACES_MAX)
    m->place[m->nplaces++] = (struct place){gi_strdup(address), port};
}

static bool
has_others(const struct gi_mgmt *m)
{
  return m->nhosts > 1 || m->nplaces > 1;
}

static bool
looks_up(const struct gi_mgmt *m)
{
  for (unsigned i = 0; i < m->nhosts; i++)
    if (m->host[i].resolve)
      return true;
  return false;
}

/* ---- lanes ---- */

static const struct gi_rpc_client_ops lane_ops;

static void
lane_free(struct lane *l)
{
  struct gi_mgmt *m = l->m;
  GI_ASSERT(!l->ended);
  l->ended = true;
  if (m->home == l)
    m->home = NULL;
  gi_list_del(&l->link);
  gi_rpc_client_free(&l->rpc); /* answers what it was asked */
  gi_free(l->at.address);
  gi_free(l);
}

static void
lane_new(struct gi_mgmt *m, const struct place *at)
{
  /* Idle daemons of GlusterFS hear no pings from theirs (wire.md 7.1), but answer them. */
  const struct gi_rpc_client_config cfg = {.name = "mgmt", .call_timeout_s = CALL_TIMEOUT_S, .ping_timeout_s = SILENT_S};
  struct lane *l = gi_new(struct lane);
  struct gi_error err;
  *l = (struct lane){.m = m, .at = {gi_strdup(at->address), at->port}};
  gi_list_add_tail(&m->lanes, &l->link);
  l->rpc = gi_rpc_client_new(m->ctx->reactor, &cfg, &lane_ops, l);
  if (gi_mgmt_credentials(m->ctx, &err) < 0)
    gi_log(GI_LOG_ERROR, "mgmt", GI_MSG_MGMT + 4, "the connection to the management daemon stays as it was: %s", err.text);
  gi_rpc_client_set_tls(l->rpc, m->ctx->mgmt_tls);
  gi_rpc_client_connect(l->rpc, at->address, at->port);
}

static bool
has_lane(const struct gi_mgmt *m, const struct place *at)
{
  gi_list_foreach(l, &m->lanes, struct lane, link)
    if (l->at.port == at->port && strcmp(l->at.address, at->address) == 0)
      return true;
  return false;
}

/* May one of them still bring the volfile? */
static bool
may_answer(const struct gi_mgmt *m)
{
  gi_list_foreach(l, &m->lanes, struct lane, link)
    if (!l->refused)
      return true;
  return false;
}

/* ---- a round ---- */

static void sign_in(struct gi_mgmt *m);

static void
stop_seeking(struct gi_mgmt *m)
{
  struct gi_timer *timers[] = {&m->stagger, &m->verdict, &m->names, &m->round};
  m->seeking = false;
  for (unsigned i = 0; i < GI_ARRAY_LEN(timers); i++)
    gi_timer_cancel(timers[i]);
  for (unsigned i = 0; i < m->nhosts; i++)
    gi_resolve_cancel(&m->host[i].resolve);
}

/* Kept when it goes: it may be back before another one is found. */
static void
note_home(struct gi_mgmt *m)
{
  char *address = gi_strdup(m->home->at.address);
  gi_free(m->last);
  m->last = address;
  m->ctx->home = m->last;
  m->ctx->home_port = m->home->at.port;
}

static void
settle_at(struct gi_mgmt *m, struct lane *home)
{
  bool new = m->home != home;
  stop_seeking(m);
  m->home = home;
  note_home(m);
  gi_list_foreach_safe(l, &m->lanes, struct lane, link)
    if (l != home)
      lane_free(l);
  if (has_others(m))
    gi_timer_set(&m->look, LOOK_NS);
  if (!new)
    return;
  gi_log(GI_LOG_INFO, "mgmt", GI_MSG_MGMT + 6, "volfile %s is asked for at %s", m->key,
         gi_conn_peer(gi_rpc_client_conn(home->rpc)));
  sign_in(m);
}

/* All that could be asked have refused, or were waited for long enough: what the first of them said counts. */
static void
take_refusal(struct gi_mgmt *m)
{
  gi_list_foreach(l, &m->lanes, struct lane, link) {
    if (!l->refused)
      continue;
    settle_at(m, l);
    gi_log(GI_LOG_ERROR, "mgmt", GI_MSG_MGMT + 1, "no volfile for %s: %s: %s", m->key, l->why, strerror(l->refused));
    if (!m->text)
      m->ops->failed(m->arg, l->refused, l->why);
    return;
  }
}

static uint64_t
next_pause(struct gi_mgmt *m)
{
  uint32_t chance;
  uint64_t pause = m->backoff < RETRY_MIN_NS ? RETRY_MIN_NS : m->backoff < RETRY_MAX_NS ? m->backoff : RETRY_MAX_NS;
  gi_random(m->ctx->reactor, &chance, sizeof(chance));
  m->backoff = pause * 2;
  return pause - pause / 4 + pause / 2000 * (chance % 1000); /* so that many do not come back in one instant */
}

/* Is the round over, and how? */
static void
judge(struct gi_mgmt *m)
{
  bool refused = false;
  if (!m->seeking || m->next < m->nplaces)
    return;
  gi_list_foreach(l, &m->lanes, struct lane, link)
    refused |= l->refused != 0;
  bool waits = may_answer(m) || looks_up(m);
  if (refused && !waits) {
    take_refusal(m);
    return;
  }
  if (refused || (waits && !m->failed))
    return;
  if (!m->round.armed)
    gi_timer_set(&m->round, next_pause(m)); /* whoever does not answer is waited for beside the next round */
  if (!waits && !m->text)
    m->ops->failed(m->arg, ENOTCONN,
                   m->met ? "the connection was closed without an answer" : "no management daemon could be reached");
}

static void
ask_next(struct gi_mgmt *m)
{
  gi_timer_cancel(&m->stagger);
  while (m->next < m->nplaces) {
    const struct place *at = &m->place[m->next++];
    if (has_lane(m, at))
      continue;
    lane_new(m, at);
    break;
  }
  if (m->next < m->nplaces)
    gi_timer_set(&m->stagger, STAGGER_NS);
}

static void
name_found(void *arg, const struct gi_net_address *address, unsigned n, const struct gi_error *err)
{
  struct host *h = arg;
  struct gi_mgmt *m = h->m;
  char text[128];
  h->resolve = NULL;
  enter(m);
  if (n == 0)
    gi_log(GI_LOG_INFO, "mgmt", GI_MSG_MGMT + 5, "%s", err->text);
  m->failed |= n == 0;
  for (unsigned i = 0; i < n && i < GI_ADDRESSES; i++)
    if (gi_net_host_text(&address[i], text, sizeof(text)))
      add_place(m, text, h->port);
  if (m->next < m->nplaces && !may_answer(m))
    ask_next(m);
  else if (m->next < m->nplaces && !m->stagger.armed)
    gi_timer_set(&m->stagger, STAGGER_NS);
  judge(m);
  leave(m);
}

/* Begins to ask all hosts. Lanes that there are stay. */
static void
seek(struct gi_mgmt *m)
{
  gi_timer_cancel(&m->round);
  m->seeking = true;
  m->met = m->failed = false;
  clear_places(m);
  for (unsigned i = 0; i < m->nhosts; i++) {
    struct host *h = &m->host[i];
    if (!gi_net_is_name(h->name))
      add_place(m, h->name, h->port);
    else if (!h->resolve)
      h->resolve = gi_resolve_start(m->ctx->reactor, h->name, h->port, name_found, h);
  }
  if (looks_up(m) && !m->names.armed)
    gi_timer_set(&m->names, NAMES_NS);
  ask_next(m);
  judge(m);
}

static void
round_due(void *arg)
{
  struct gi_mgmt *m = arg;
  enter(m);
  seek(m);
  leave(m);
}

static void
stagger_over(void *arg)
{
  struct gi_mgmt *m = arg;
  enter(m);
  ask_next(m);
  judge(m);
  leave(m);
}

static void
verdict_due(void *arg)
{
  struct gi_mgmt *m = arg;
  enter(m);
  take_refusal(m);
  leave(m);
}

static void
names_too_late(void *arg)
{
  struct gi_mgmt *m = arg;
  enter(m);
  for (unsigned i = 0; i < m->nhosts; i++) {
    struct host *h = &m->host[i];
    if (!h->resolve)
      continue;
    gi_log(GI_LOG_INFO, "mgmt", GI_MSG_MGMT + 5, "cannot resolve %s: the name service does not answer", h->name);
    gi_resolve_cancel(&h->resolve);
    m->failed = true;
  }
  judge(m);
  leave(m);
}

/* Whoever is there but answers nothing, or is cut off, is disconnected after some seconds. */
static void
look_due(void *arg)
{
  struct gi_mgmt *m = arg;
  if (!m->home)
    return;
  gi_rpc_client_ping(m->home->rpc);
  gi_timer_set(&m->look, LOOK_NS);
}

/* ---- GETSPEC ---- */

static void fetch(struct lane *l);
static void ask_spec(struct lane *l, const char *challenge);

/* Others may know better: a daemon that has lost its files, or was taken out of its pool, knows no volume. */
static void
refused(struct lane *l, int err, const char *why)
{
  struct gi_mgmt *m = l->m;
  l->refused = err;
  l->why = why;
  if (m->seeking) {
    if (!m->verdict.armed)
      gi_timer_set(&m->verdict, VERDICT_NS);
    ask_next(m);
    judge(m);
  } else {
    GI_ASSERT(m->home == l);
    gi_timer_set(&m->verdict, VERDICT_NS);
    seek(m);
  }
}

static void
got_text(struct gi_mgmt *m, const uint8_t *text, uint32_t len)
{
  if (m->text && m->text_len == len && memcmp(m->text, text, len) == 0)
    return; /* daemons call for every change of any volume */
  gi_free(m->text);
  m->text = gi_strndup((const char *)text, len);
  m->text_len = len;
  m->ops->volfile(m->arg, m->text, m->text_len);
}

/* The daemon wants a key. True: it is asked again, with the proof that this client has one. */
static bool
prove(struct lane *l, const char *challenge)
{
  if (!challenge || !l->m->ctx->client_key || l->proved)
    return false;
  l->proved = true;
  ask_spec(l, challenge);
  return true;
}

static void
spec_refused(struct lane *l, int err, const struct gi_dict *xdata)
{
  const char *challenge = gi_client_key_challenge(xdata);
  if (prove(l, challenge))
    return;
  refused(l, err > 0 ? err : EIO,
          !challenge              ? "the management daemon refused"
          : l->m->ctx->client_key ? "the volume does not take this client's key"
                                  : "the volume takes only clients with a key (mount option client-key=FILE)");
}

static void
got_spec(struct lane *l, struct gi_xdr_in *in)
{
  struct gi_mgmt *m = l->m;
  uint32_t len;
  const char *servers;
  int32_t ret = (int32_t)gi_xdr_get_u32(in);
  int32_t err = (int32_t)gi_xdr_get_u32(in);
  const uint8_t *text = gi_xdr_get_opaque(in, VOLFILE_MAX, &len);
  if (in->failed || (ret >= 0 && memchr(text, 0, len) != NULL)) {
    refused(l, EPROTO, "malformed answer");
    return;
  }
  struct gi_dict *xdata = gi_xdr_get_legacy_dict(in); /* optional, so malformed is as good as absent */
  if (ret < 0) {
    spec_refused(l, err, xdata);
    gi_dict_unref(&xdata);
    return;
  }
  if (gi_dict_get_str(xdata, "servers-list", &servers) || gi_dict_get_str(xdata, "cluster.brick-vol-servers", &servers))
    add_servers(m, servers);
  gi_dict_unref(&xdata);
  l->refused = 0;
  m->backoff = 0;
  if (m->seeking)
    settle_at(m, l);
  GI_ASSERT(m->home == l);
  got_text(m, text, len);
}

static void
spec_answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  struct lane *l = arg;
  struct gi_mgmt *m = l->m;
  if (l->ended)
    return;
  enter(m);
  l->fetching = false;
  bool again = l->again;
  if (reply->status == -ENOTCONN)
    again = false; /* `down` deals with it */
  else if (reply->status < 0)
    gi_rpc_client_disconnect(c, "no answer to GETSPEC");
  else if (reply->accept != GI_RPC_SUCCESS)
    refused(l, EOPNOTSUPP, "the peer serves no volfiles");
  else
    got_spec(l, &reply->in);
  if (again && !m->dead && m->home == l)
    fetch(l);
  leave(m);
}

/* Mounts ask for the list of servers; bricks and daemons (keys like shd/VOL) do not. */
static bool
is_mount(const struct gi_mgmt *m)
{
  return m->ctx->brick_name == NULL && (m->key[0] == '/' || strchr(m->key, '/') == NULL);
}

static void
show_key(const struct lane *l, const char *challenge, struct gi_dict *xdata)
{
  const struct gi_key_claim claim = {gi_rpc_client_conn(l->rpc), "volfile", l->m->key};
  const char *file = l->m->ctx->client_key;
  struct gi_error err;
  if (file && gi_client_key_show(file, &claim, challenge, xdata, &err))
    gi_log(GI_LOG_ERROR, "mgmt", GI_MSG_MGMT + 7, "%s", err.text);
}

static void
ask_spec(struct lane *l, const char *challenge)
{
  const struct gi_mgmt *m = l->m;
  struct gi_xdr_out out = {0};
  l->fetching = true;
  uint32_t xid = gi_rpc_call_begin(l->rpc, &out, GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE, GI_HNDSK_GETSPEC, GI_AUTH_V2, NULL);
  struct gi_dict *xdata = gi_dict_new();
  gi_dict_set_str(xdata, "max-op-version", OP_VERSION_MAX);
  gi_dict_set_str(xdata, "min-op-version", OP_VERSION_MIN);
  if (m->ctx->brick_name)
    gi_dict_set_str(xdata, "brick_name", m->ctx->brick_name);
  show_key(l, challenge, xdata);
  gi_xdr_put_u32(&out, is_mount(m) ? SPEC_WANT_SERVERS : 0);
  gi_xdr_put_string(&out, m->key);
  gi_xdr_put_legacy_dict(&out, xdata);
  gi_dict_unref(&xdata);
  gi_rpc_call_send(l->rpc, xid, &out, NULL, false, spec_answered, l);
}

static void
fetch(struct lane *l)
{
  l->again = l->fetching;
  if (l->fetching || !gi_rpc_client_connected(l->rpc))
    return;
  l->proved = false;
  ask_spec(l, NULL);
}

/* ---- SIGNIN ---- */

static void
signin_answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  const struct gi_mgmt *m = arg;
  if (m->dead || reply->status == -ENOTCONN)
    return;
  int32_t ret = (int32_t)gi_xdr_get_u32(&reply->in);
  if (reply->status < 0 || reply->accept != GI_RPC_SUCCESS || reply->in.failed || ret < 0)
    gi_log(GI_LOG_ERROR, "mgmt", GI_MSG_MGMT + 2,
           "the management daemon did not take the port %d of %s: clients cannot find it", m->brick_port, m->brick);
  else
    gi_log(GI_LOG_INFO, "mgmt", GI_MSG_MGMT + 3, "signed in: %s on port %d", m->brick, m->brick_port);
}

/* SIGNIN or SIGNOUT: `last` is the pid or the port for RDMA, of which there is none. */
static void
tell_port(struct gi_mgmt *m, uint32_t proc, uint32_t last, gi_rpc_reply_fn *fn)
{
  struct gi_xdr_out out = {0};
  if (m->brick == NULL || m->home == NULL || !gi_rpc_client_connected(m->home->rpc))
    return;
  uint32_t xid = gi_rpc_call_begin(m->home->rpc, &out, GI_PROG_PORTMAP, GI_VERS_PORTMAP, proc, GI_AUTH_V2, NULL);
  gi_xdr_put_string(&out, m->brick);
  gi_xdr_put_u32(&out, (uint32_t)m->brick_port);
  gi_xdr_put_u32(&out, last);
  gi_rpc_call_send(m->home->rpc, xid, &out, NULL, false, fn, m);
}

static void
sign_in(struct gi_mgmt *m)
{
  tell_port(m, GI_PMAP_SIGNIN, (uint32_t)getpid(), signin_answered);
}

static void
signout_answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  /* Nobody waits for it. */
}

void
gi_mgmt_signin(struct gi_mgmt *m, const char *brick, int port)
{
  GI_CHECK(m, MGMT_MAGIC);
  char *copy = gi_strdup(brick);
  gi_free(m->brick);
  m->brick = copy;
  m->brick_port = port;
  sign_in(m);
}

/* ---- the connection ---- */

static void
lane_up(struct gi_rpc_client *c, void *arg)
{
  struct lane *l = arg;
  l->m->met = true;
  l->fetching = l->again = false;
  fetch(l);
}

static void
lane_down(struct gi_rpc_client *c, void *arg)
{
  struct lane *l = arg;
  struct gi_mgmt *m = l->m;
  enter(m);
  m->failed = true;
  lane_free(l);
  if (m->seeking) {
    ask_next(m);
    judge(m);
  } else if (has_others(m)) { /* it was the home */
    seek(m);
  } else {
    gi_timer_set(&m->round, next_pause(m));
  }
  leave(m);
}

static void
mgmt_callback(struct gi_rpc_client *c, const struct gi_call_header *h, struct gi_xdr_in *in, void *arg)
{
  struct lane *l = arg;
  struct gi_mgmt *m = l->m;
  enter(m);
  if (h->proc == GI_CBK_FETCHSPEC) {
    fetch(l);
    if (m->home == l && m->ops->news)
      m->ops->news(m->arg);
  } else if (h->proc == GI_CBK_STATEDUMP && m->home == l && m->ops->statedump) {
    int32_t pid = (int32_t)gi_xdr_get_u32(in);
    m->ops->statedump(m->arg, in->failed ? 0 : pid);
  }
  leave(m);
}

static const struct gi_rpc_client_ops lane_ops = {
    .up = lane_up,
    .down = lane_down,
    .callback = mgmt_callback,
};

struct gi_mgmt *
gi_mgmt_new(struct gi_ctx *ctx, const char *const *hosts, unsigned nhosts, int port, const char *key,
            const struct gi_mgmt_ops *ops, void *arg)
{
  struct gi_mgmt *m = gi_new(struct gi_mgmt);
  GI_ASSERT(nhosts > 0);
  m->magic = MGMT_MAGIC;
  m->ctx = ctx;
  m->ops = ops;
  m->arg = arg;
  m->key = gi_strdup(key);
  gi_list_init(&m->lanes);
  gi_timer_init(&m->stagger, ctx->reactor, stagger_over, m);
  gi_timer_init(&m->verdict, ctx->reactor, verdict_due, m);
  gi_timer_init(&m->names, ctx->reactor, names_too_late, m);
  gi_timer_init(&m->round, ctx->reactor, round_due, m);
  gi_timer_init(&m->look, ctx->reactor, look_due, m);
  for (unsigned i = 0; i < nhosts; i++)
    add_host(m, hosts[i], strlen(hosts[i]), port);
  seek(m);
  return m;
}

void
gi_mgmt_free(struct gi_mgmt **mp)
{
  struct gi_mgmt *m = *mp;
  *mp = NULL;
  if (m == NULL)
    return;
  GI_CHECK(m, MGMT_MAGIC);
  m->dead = true;
  m->ctx->home = NULL;
  enter(m);
  stop_seeking(m);
  tell_port(m, GI_PMAP_SIGNOUT, 0, signout_answered); /* what is queued still leaves at an orderly close */
  gi_list_foreach_safe(l, &m->lanes, struct lane, link)
    lane_free(l);
  leave(m);
}
