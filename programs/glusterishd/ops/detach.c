/* SPDX-License-Identifier: Apache-2.0
 *
 * peer detach: a node leaves the pool (cli.md 5.16), and takes nothing along
 * that is worth anything. What the others go by from then on is stored in the
 * one transaction that removes it.
 */
#include "programs/glusterishd/pool/pool.h"
#include "libglusterish/mutants.h"

#include <errno.h>
#include <string.h>

#define LEAVE_MS 3000

struct detach {
  struct gi_gfid id;
  bool last;        /* this node is alone then */
  char *encryption; /* the credentials of TLS from then on; NULL: there are none */
  struct gi_timer timer;
};

static void
detach_release(struct gd_op *op)
{
  struct detach *d = op->state;
  gi_timer_finish(&d->timer);
  gi_free(d->encryption);
  gi_free(d);
}

static void
detach_end(void *arg)
{
  struct gd_op *op = arg;
  struct gd *gd = op->gd;
  const struct detach *d = op->state;
  bool dissolve = d->last && !op->problem.code;
  gd_op_finish(op, &op->problem);
  if (dissolve)
    gd_pool_dissolve(gd);
}

static void
detach_settled(struct gd_op *op)
{
  struct detach *d = op->state;
  op->problem.code = 0;
  gi_timer_set(&d->timer, 0); /* not from inside of an answer */
}

static void
detach_read(void *arg, const struct gi_error *err)
{
  struct gd_op *op = arg;
  const struct detach *d = op->state;
  if (d->last)
    detach_settled(op);
  else
    gd_settle(op, "", false, detach_settled);
}

/* All who stay take what is new. */
static void
has_left(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc)
{
  gd_follow_refresh(op->gd->pool->follow, detach_read, op);
}

/* It is told; if it cannot be, it finds out when it asks. */
static void
tell_it(struct gd_op *op)
{
  const struct detach *d = op->state;
  struct gd_node *n = gd_node_find(op->gd, &d->id);
  if (n && gd_node_connected(n))
    gd_order(op, &d->id, json_pack("{s:s}", "command", "node leave"), LEAVE_MS, has_left, NULL);
  else
    has_left(op, NULL, &(struct gi_error){0}, NULL);
}

static void
detach_stored(struct gd_op *op, const struct gi_error *err)
{
  struct detach *d = op->state;
  if (err->code) {
    op->problem = *err;
    gi_timer_set(&d->timer, 0);
    return;
  }
  if (d->last && d->encryption) /* nobody reads the store any more */
    gd_encryption_take(op->gd, d->encryption);
  tell_it(op);
}

static void
tell(struct gd_op *op, const char *text)
{
  const char *before = json_string_value(json_object_get(op->out, "message"));
  json_object_set_new(op->out, "message", json_sprintf("%s. %s", before ? before : "success", text));
}

/* Whoever leaves takes what it knows along: those who stay get another secret. NULL: they do not. */
static char *
next_secret(struct gd_op *op, uint8_t secret[GD_SECRET_BYTES])
{
  const struct detach *d = op->state;
  const struct gd_node *deaf = d->last ? NULL : gd_secret_deaf(op->gd, &d->id);
  memcpy(secret, op->gd->pool->secret, GD_SECRET_BYTES);
  if (d->last)
    return NULL;
  if (!deaf)
    return gd_secret_next(op->gd, &d->id, secret);
  GI_CLEANUP_FREE char *text =
      gi_asprintf("The pool keeps its secret, which the node that left knows: %s runs a version that cannot "
                  "be told another one",
                  deaf->hosts[0]);
  tell(op, text);
  return NULL;
}

/* What the store is told, if it is what is known here. */
struct parting {
  struct gd_key_put *puts;
  struct gd_key_if *ifs;
  unsigned nputs, nifs;
};

static struct parting
parting_new(struct gd *gd)
{
  unsigned n = 0;
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    n++;
  return (struct parting){.puts = gi_zalloc((n + 3) * sizeof(struct gd_key_put)),
                          .ifs = gi_zalloc((n + 1) * sizeof(struct gd_key_if))};
}

static void
parting_clear(struct parting *p)
{
  for (unsigned i = 0; i < p->nputs; i++) {
    gi_free((char *)p->puts[i].key);
    gi_free((char *)p->puts[i].value);
  }
  gi_free(p->puts);
  gi_free(p->ifs);
}

/* Takes both over; value NULL: the key goes. */
static void
parting_put(struct parting *p, char *key, char *value)
{
  p->puts[p->nputs++] = (struct gd_key_put){key, value, 0};
}

/* It knows the passwords of all volumes. */
static void
change_logins(struct parting *p, struct gd *gd)
{
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link) {
    char *key = gi_asprintf(GD_PREFIX "volume/%s", v->name);
    p->ifs[p->nifs++] = (struct gd_key_if){key, v->revision};
    parting_put(p, key, gd_login_next(v));
  }
}

static void
member_gone(void *arg, const struct gd_key_answer *a)
{
  struct gd_op *op = arg;
  struct detach *d = op->state;
  char uuid[GI_UUID_TEXT];
  uint8_t next[GD_SECRET_BYTES];
  if (a->code) {
    gi_error_set(&op->problem, GD_ERR_MGMT, "%s", a->why);
    gi_timer_set(&d->timer, 0);
    return;
  }
  char *secret = next_secret(op, next);
  bool unknown = secret || d->last; /* what those who stay go by from then on, to the one that leaves */
  int ret = gd_encryption_without(op->gd, &d->id, unknown ? next : NULL, &d->encryption, &op->problem);
  explicit_bzero(next, sizeof(next));
  if (ret) {
    gi_free(secret);
    gi_timer_set(&d->timer, 0);
    return;
  }
  if (unknown && d->encryption && op->gd->tls)
    tell(op, "TLS has another authority: \"pool tls rotate\" makes what the machines of clients need to trust no other one");
  struct parting p = parting_new(op->gd);
  parting_put(&p, gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(&d->id, uuid)), NULL);
  if (secret)
    parting_put(&p, gi_strdup(GD_SECRET_KEY), secret);
  if (d->encryption)
    parting_put(&p, gi_strdup(GD_ENCRYPTION_KEY), gi_strdup(d->encryption));
  if (unknown && !GI_BROKEN("keep the passwords that a node takes along"))
    change_logins(&p, op->gd);
  gd_commit_keys_if(op, p.ifs, p.nifs, p.puts, p.nputs, detach_stored);
  parting_clear(&p);
}

static void
has_members(void *arg, const struct gd_key_answer *a)
{
  struct gd_op *op = arg;
  struct gd_key_store *kv = op->gd->pool->kv;
  struct detach *d = op->state;
  char uuid[GI_UUID_TEXT];
  gi_gfid_text(&d->id, uuid);
  for (size_t i = 0; !a->code && !d->last && i < json_array_size(a->members); i++) { /* of two the store goes as a whole */
    const json_t *m = json_array_get(a->members, i);
    const char *name = json_string_value(json_object_get(m, "name")), *id = json_string_value(json_object_get(m, "ID"));
    if (name && id && strcmp(name, uuid) == 0) {
      kv->ops->member(kv, GD_KEY_REMOVE, id, member_gone, op);
      return;
    }
  }
  member_gone(op, a);
}

static int
check_detach(const struct gd_op *op, const struct gd_node *n, const char *host, struct gi_error *err)
{
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (gd_node_has(op->gd, n, &v->bricks[i]))
        return gi_error_set(err, GD_ERR_MGMT,
                            "Peer %.200s hosts one or more bricks. If the peer is in not recoverable state then use either "
                            "replace-brick or remove-brick command with force to remove all bricks from the peer and attempt "
                            "the peer detach again.",
                            host);
  if (!gd_node_connected(n) && !gd_op_flag(op, "force"))
    return gi_error_set(err, GD_ERR_MGMT, "One of the peers is probably down. Check with 'peer status'");
  return 0;
}

int
gd_op_detach(struct gd_op *op, struct gi_error *err)
{
  const char *host = gd_op_str(op, "host");
  struct gd_node *n;
  if (!host || !gd_node_named(op->gd, host, &n))
    return gi_error_set(err, ENOENT, "%.200s is not part of cluster", host ? host : "");
  if (!n)
    return gi_error_set(err, EINVAL, "%.200s is localhost", host);
  if (check_detach(op, n, host, err))
    return GD_OP_FAILED;
  struct detach *d = gi_new(struct detach);
  struct gd_key_store *kv = op->gd->pool->kv;
  d->id = n->id;
  d->last = gd_node_at(op->gd, 1) == NULL;
  gi_timer_init(&d->timer, op->gd->reactor, detach_end, op);
  op->state = d;
  op->release = detach_release;
  if (op->gd->config.site)
    member_gone(op, &(struct gd_key_answer){0});
  else
    kv->ops->members(kv, has_members, op);
  return GD_OP_LATER;
}

int
gd_op_node_leave(struct gd_op *op, struct gi_error *err)
{
  gd_pool_leave(op->gd);
  return GD_OP_DONE;
}
