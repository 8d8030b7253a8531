/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of definitions comes into force. On one node that is when its files
 * are written. In a pool it is when the store has it, under the one lock that
 * all changes take: whoever holds it has read everything that was stored
 * before, and what it stores is refused once the lock is lost. The files follow.
 */
#include "programs/glusterishd/pool/pool.h"
#include "libglusterish/mutants.h"

#include <errno.h>
#include <string.h>

#define LOCK GD_PREFIX "lock"
#define LEASE_S 10 /* after which the lock of a node that died is free */
#define KEEP (3 * GI_NSEC_PER_SEC)
#define MSG (GI_MSG_MGMT + 150)

/* What one command holds of the pool. */
struct gd_lock {
  struct gd_op *op;
  int64_t lease, revision;
  struct gi_timer keep;
  gd_committed_fn *fn;
  /* the commit under way */
  struct gd_volume *v;
  char *text;
};

static char *
volume_key(const struct gd_volume *v)
{
  return gi_asprintf(GD_PREFIX "volume/%s", v->name);
}

/* ---- the lock ---- */

static void
keep(void *arg)
{
  struct gd_lock *l = arg;
  struct gd_key_store *kv = l->op->gd->pool->kv;
  kv->ops->keep(kv, l->lease);
  gi_timer_set(&l->keep, KEEP);
}

static void
refuse(struct gd_lock *l, int code, const char *why)
{
  struct gi_error err = {0};
  gi_error_set(&err, code == ETIMEDOUT || code == EHOSTUNREACH ? code : GD_ERR_MGMT, "%s%s", why,
               code == ETIMEDOUT || code == EHOSTUNREACH
                   ? ": nothing can be changed until it is back. Volumes are served on. See \"glusterish peer status\""
                   : "");
  l->fn(l->op, &err);
}

static void
refreshed(void *arg, const struct gi_error *err)
{
  struct gd_lock *l = arg;
  if (err->code)
    refuse(l, err->code, err->text);
  else
    l->fn(l->op, err);
}

static void
locked(void *arg, const struct gd_key_answer *a)
{
  struct gd_lock *l = arg;
  if (a->code == ESTALE) {
    refuse(l, EBUSY, "Another transaction is in progress. Please try again after some time.");
  } else if (a->code) {
    refuse(l, a->code, a->why);
  } else {
    l->revision = a->revision;
    gi_timer_set(&l->keep, KEEP);
    gd_follow_refresh(l->op->gd->pool->follow, refreshed, l);
  }
}

static void
granted(void *arg, const struct gd_key_answer *a)
{
  struct gd_lock *l = arg;
  struct gd *gd = l->op->gd;
  char uuid[GI_UUID_TEXT];
  if (a->code) {
    refuse(l, a->code, a->why);
    return;
  }
  l->lease = a->revision;
  struct gd_key_if none = {LOCK, 0};
  struct gd_key_put put = {LOCK, gi_gfid_text(&gd->uuid, uuid), l->lease};
  gd->pool->kv->ops->commit(gd->pool->kv, &none, 1, &put, 1, locked, l);
}

void
gd_lock_take(struct gd_op *op, gd_committed_fn *fn)
{
  struct gd_lock *l = gi_new(struct gd_lock);
  struct gd *gd = op->gd;
  GI_ASSERT(gd->pool && !op->lock);
  l->op = op;
  l->fn = fn;
  op->lock = l;
  gi_timer_init(&l->keep, gd->reactor, keep, l);
  gd->pool->kv->ops->grant(gd->pool->kv, LEASE_S, granted, l);
}

void
gd_lock_release(struct gd_op *op)
{
  struct gd_lock *l = op->lock;
  struct gd_pool *p = op->gd->pool;
  op->lock = NULL;
  if (!l)
    return;
  gi_timer_finish(&l->keep);
  if (p && p->kv && l->lease)
    p->kv->ops->revoke(p->kv, l->lease);
  if (p && p->follow && l->revision)
    gd_follow_refresh(p->follow, NULL, NULL); /* what was left alone while its volume was busy */
  gi_free(l->text);
  gi_free(l);
}

int64_t
gd_lock_lease(const struct gd_op *op)
{
  return op->lock ? op->lock->lease : 0;
}

int64_t
gd_lock_revision(const struct gd_op *op)
{
  return op->lock ? op->lock->revision : 0;
}

/* ---- commits ---- */

static void
failed(struct gd_lock *l, const struct gd_key_answer *a)
{
  struct gi_error err = {0};
  bool unsure = a->code == ETIMEDOUT || a->code == EHOSTUNREACH;
  if (unsure)
    gi_error_set(&err, GD_UNSURE, "%s: whether the change is done shows once it is back", a->why);
  else
    gi_error_set(&err, GD_ERR_MGMT, "%s", a->code == ESTALE ? "the lock of the pool was lost: nothing was changed" : a->why);
  gi_log(GI_LOG_ERROR, GD_NAME, MSG, "%s: %s", l->op->command->name, err.text);
  l->fn(l->op, &err);
}

static void
volume_stored(void *arg, const struct gd_key_answer *a)
{
  struct gd_lock *l = arg;
  struct gd_volume *v = l->v;
  struct gi_error err = {0};
  if (a->code) {
    failed(l, a);
    return;
  }
  v->revision = a->revision;
  v->version++;
  v->counted = true;
  gi_free(v->definition);
  v->definition = l->text;
  l->text = NULL;
  if (gd_store_volume(v, &err)) /* the others have it, so it is in force */
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "the files of volume %s are behind: %s", v->name, err.text);
  l->fn(l->op, &(struct gi_error){0});
}

/* Is that what the store has? Then nothing is asked of it. */
static bool
is_stored(const struct gd_volume *v)
{
  struct gd_volume *old = v->revision ? gd_definition_read(v->gd, v->name, v->definition, NULL) : NULL;
  bool same = old && gd_definition_same(old, v);
  gd_volume_free(old);
  return same;
}

static bool
is_unlocked(struct gd_op *op, gd_committed_fn *fn)
{
  struct gi_error err = {0};
  if (op->lock && op->lock->revision)
    return false;
  gi_error_set(&err, GD_ERR_MGMT, "%s changes nothing in a pool", op->command->name);
  fn(op, &err);
  return true;
}

/* The value of `key`, of that revision, becomes `text`, which is taken over; NULL: the key goes. */
static void
commit_key(struct gd_op *op, const char *key, int64_t revision, char *text, gd_key_fn *stored, gd_committed_fn *fn)
{
  struct gd_key_store *kv = op->gd->pool->kv;
  struct gd_lock *l = op->lock;
  if (is_unlocked(op, fn)) {
    gi_free(text);
    return;
  }
  l->fn = fn;
  gi_free(l->text);
  l->text = text;
  struct gd_key_if ifs[] = {{LOCK, l->revision}, {key, revision}};
  struct gd_key_put put = {key, text, 0};
  kv->ops->commit(kv, ifs, GI_BROKEN("change definitions though the lock is lost") ? 0 : 2, &put, 1, stored, l);
}

static void
commit_volume(struct gd_op *op, struct gd_volume *v, char *text, gd_key_fn *stored, gd_committed_fn *fn)
{
  GI_CLEANUP_FREE char *key = volume_key(v);
  if (op->lock)
    op->lock->v = v;
  commit_key(op, key, v->revision, text, stored, fn);
}

void
gd_commit(struct gd_op *op, struct gd_volume *v, gd_committed_fn *fn)
{
  struct gd_pool *p = op->gd->pool;
  struct gi_error err = {0};
  if (!p || is_stored(v)) {
    GI_IGNORE(gd_store_volume(v, &err));
    fn(op, &err);
    return;
  }
  v->version++;
  char *text = gd_definition_write(v);
  v->version--; /* it is in force when it is stored */
  commit_volume(op, v, text, volume_stored, fn);
}

static void
volume_deleted(void *arg, const struct gd_key_answer *a)
{
  struct gd_lock *l = arg;
  struct gi_error err = {0};
  if (a->code) {
    failed(l, a);
    return;
  }
  if (gd_store_delete(l->op->gd, l->v->name, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "%s", err.text);
  l->fn(l->op, &(struct gi_error){0});
}

void
gd_commit_delete(struct gd_op *op, struct gd_volume *v, gd_committed_fn *fn)
{
  struct gd_pool *p = op->gd->pool;
  struct gi_error err = {0};
  if (!p) {
    GI_IGNORE(gd_store_delete(op->gd, v->name, &err));
    fn(op, &err);
    return;
  }
  commit_volume(op, v, NULL, volume_deleted, fn);
}

static void
options_stored(void *arg, const struct gd_key_answer *a)
{
  struct gd_lock *l = arg;
  if (a->code)
    failed(l, a);
  else
    l->fn(l->op, &(struct gi_error){0}); /* the files follow with what the store tells */
}

void
gd_commit_options(struct gd_op *op, const struct gi_list *options, gd_committed_fn *fn)
{
  struct gd_pool *p = op->gd->pool;
  struct gi_error err = {0};
  if (!p) {
    GI_IGNORE(gd_store_pool_options(op->gd, &err));
    fn(op, &err);
    return;
  }
  commit_key(op, GD_PREFIX "options", gd_follow_options_revision(op->gd),
             gd_options_write(options, op->gd->pool_version + 1, gd_newer_of(p, GD_PREFIX "options")), options_stored, fn);
}

/* ---- what is not a volume ---- */

static void
encryption_stored(void *arg, const struct gd_key_answer *a)
{
  struct gd_lock *l = arg;
  if (a->code) {
    failed(l, a);
    return;
  }
  gd_encryption_take(l->op->gd, l->text); /* whatever becomes of the store now */
  l->fn(l->op, &(struct gi_error){0});
}

void
gd_commit_credentials(struct gd_op *op, const json_t *doc, gd_committed_fn *fn)
{
  struct gd_pool *p = op->gd->pool;
  struct gi_error err = {0};
  if (!p) {
    GI_IGNORE(gd_tls_take(op->gd, doc, &err));
    fn(op, &err);
    return;
  }
  if (is_unlocked(op, fn))
    return;
  op->lock->fn = fn;
  gi_free(op->lock->text);
  op->lock->text = gd_encryption_write(op->gd, p->secret, doc);
  struct gd_key_if mine = {LOCK, op->lock->revision};
  struct gd_key_put put = {GD_ENCRYPTION_KEY, op->lock->text, 0};
  p->kv->ops->commit(p->kv, &mine, 1, &put, 1, encryption_stored, op->lock);
}

void
gd_commit_keys_if(struct gd_op *op, const struct gd_key_if *ifs, unsigned nifs, const struct gd_key_put *puts, unsigned n,
                  gd_committed_fn *fn)
{
  struct gd_pool *p = op->gd->pool;
  struct gd_lock *l = op->lock;
  GI_ASSERT(p && l);
  l->fn = fn;
  GI_CLEANUP_FREE struct gd_key_if *all = gi_alloc((nifs + 1) * sizeof(*all));
  all[0] = (struct gd_key_if){LOCK, l->revision};
  for (unsigned i = 0; i < nifs; i++)
    all[i + 1] = ifs[i];
  p->kv->ops->commit(p->kv, all, nifs + 1, puts, n, options_stored, l);
}

void
gd_commit_keys(struct gd_op *op, const struct gd_key_put *puts, unsigned n, gd_committed_fn *fn)
{
  gd_commit_keys_if(op, NULL, 0, puts, n, fn);
}
