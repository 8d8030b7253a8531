/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is told of what: registrations, found by object and by client, in the
 * order of their last use. They are kept by gfid, beside the inodes: those may be
 * forgotten while a client still relies on being told.
 *
 * A registration ends by time, silently: its client counts the same time from
 * before. Whatever else ends one is told: FORGET.
 */
#include "xlators/features/upcall/upcall.h"

#include "libglusterish/ask.h"

#define BUCKETS_MIN 64u
#define REG_COST (sizeof(struct up_reg) + sizeof(struct up_file))

static uint32_t
bucket_of(const struct upcall *up, const struct gi_gfid *gfid)
{
  uint32_t h;
  memcpy(&h, gfid->b + 12, sizeof(h)); /* gfids are random */
  return h & up->mask;
}

void
up_check(const struct upcall *up)
{
  GI_CHECK(up, UP_MAGIC);
  GI_ASSERT(up->metrics.registrations == up->lru.count);
  GI_ASSERT(up->metrics.files <= up->metrics.registrations && up->metrics.clients <= up->metrics.registrations);
  GI_ASSERT((up->mask & (up->mask + 1)) == 0);
}

/* ---- objects ---- */

struct up_file *
up_find(const struct upcall *up, const struct gi_gfid *gfid)
{
  struct up_file *f = up->bucket[bucket_of(up, gfid)];
  while (f && !gi_gfid_equal(&f->gfid, gfid))
    f = f->next;
  GI_ASSERT(!f || !gi_list_empty(&f->regs));
  return f;
}

static void
put_in_bucket(struct upcall *up, struct up_file *f)
{
  struct up_file **b = &up->bucket[bucket_of(up, &f->gfid)];
  f->next = *b;
  *b = f;
}

static void
grow(struct upcall *up)
{
  struct up_file **old = up->bucket;
  uint32_t n = up->mask + 1;
  up->bucket = gi_zalloc(2 * (size_t)n * sizeof(struct up_file *));
  up->mask = 2 * n - 1;
  for (uint32_t i = 0; i < n; i++)
    for (struct up_file *f = old[i], *next; f; f = next) {
      next = f->next;
      put_in_bucket(up, f);
    }
  gi_free(old);
}

static struct up_file *
file_get(struct upcall *up, const struct gi_gfid *gfid)
{
  struct up_file *f = up_find(up, gfid);
  if (f)
    return f;
  if (up->metrics.files > up->mask)
    grow(up);
  f = gi_new(struct up_file);
  f->gfid = *gfid;
  gi_list_init(&f->regs);
  put_in_bucket(up, f);
  up->metrics.files++;
  return f;
}

static void
file_free(struct upcall *up, struct up_file *f)
{
  struct up_file **b = &up->bucket[bucket_of(up, &f->gfid)];
  GI_ASSERT(gi_list_empty(&f->regs) && up->metrics.files > 0);
  while (*b != f) {
    GI_ASSERT(*b);
    b = &(*b)->next;
  }
  *b = f->next;
  up->metrics.files--;
  gi_free(f);
}

/* ---- clients ---- */

struct up_client *
up_client_find(const struct upcall *up, const void *id)
{
  gi_list_foreach(c, &up->clients, struct up_client, link)
    if (c->id == id)
      return c;
  return NULL;
}

static struct up_client *
client_get(struct upcall *up, struct gi_client_id *id)
{
  struct up_client *c = up_client_find(up, id);
  if (c)
    return c;
  c = gi_new(struct up_client);
  c->id = id;
  gi_list_init(&c->regs);
  gi_list_add_tail(&up->clients, &c->link);
  up->metrics.clients++;
  return c;
}

static void
client_free(struct upcall *up, struct up_client *c)
{
  GI_ASSERT(gi_list_empty(&c->regs) && c->nregs == 0 && up->metrics.clients > 0);
  gi_list_del(&c->link);
  up->metrics.clients--;
  gi_free(c);
}

/* ---- registrations ---- */

/* It is off the lru list. */
static void
reg_free(struct upcall *up, struct up_reg *r)
{
  struct up_file *f = r->file;
  struct up_client *c = r->client;
  GI_ASSERT(!gi_lru_holds(&r->item) && c->nregs > 0 && up->metrics.registrations > 0);
  gi_list_del(&r->file_link);
  gi_list_del(&r->client_link);
  gi_free(r);
  up->metrics.registrations--;
  if (gi_list_empty(&f->regs))
    file_free(up, f);
  if (--c->nregs == 0)
    client_free(up, c);
}

static void
reg_drop(struct upcall *up, struct up_reg *r)
{
  gi_lru_remove(&up->lru, &r->item);
  reg_free(up, r);
  up_check(up);
}

/* For want of room. */
static void
evicted(void *arg, struct gi_lru_item *item)
{
  struct upcall *up = arg;
  struct up_reg *r = GI_CONTAINER(item, struct up_reg, item);
  struct gi_client_id *id = r->client->id;
  struct gi_gfid gfid = r->file->gfid;
  /* One of ours relies on it for no longer than the lease. */
  bool told = r->until > gi_now(up->x->reactor) + (r->client->id->ours ? up_life(up) - up_lease(up) : 0);
  reg_free(up, r);
  up->metrics.evicted++;
  if (told)
    up_tell_forget(up, id, &gfid);
}

static struct up_reg *
reg_find(const struct up_file *f, const void *id)
{
  gi_list_foreach(r, &f->regs, struct up_reg, file_link)
    if (r->client->id == id)
      return r;
  return NULL;
}

static struct up_reg *
reg_new(struct upcall *up, struct gi_client_id *id, const struct gi_gfid *gfid)
{
  struct up_client *c = client_get(up, id);
  struct up_reg *r = gi_new(struct up_reg);
  r->client = c;
  r->file = file_get(up, gfid);
  gi_list_add_head(&r->file->regs, &r->file_link);
  gi_list_add_tail(&c->regs, &r->client_link);
  c->nregs++;
  up->metrics.registrations++;
  up->metrics.registered++;
  return r;
}

/* Who asks for everything loses what it used longest ago. */
static void
make_room(struct upcall *up, const void *id)
{
  struct up_client *c = up_client_find(up, id);
  if (!c || c->nregs < UP_CLIENT_MAX)
    return;
  struct up_reg *r = gi_list_first(&c->regs, struct up_reg, client_link);
  gi_lru_remove(&up->lru, &r->item);
  evicted(up, &r->item);
}

static void
reg_used(struct upcall *up, struct up_reg *r)
{
  gi_list_del(&r->file_link);
  gi_list_add_head(&r->file->regs, &r->file_link);
  gi_list_del(&r->client_link);
  gi_list_add_tail(&r->client->regs, &r->client_link);
  r->until = gi_now(up->x->reactor) + up_life(up);
  gi_lru_touch(&up->lru, &r->item);
}

void
up_register(struct upcall *up, struct gi_client_id *id, const struct gi_gfid *gfid)
{
  struct up_file *f = up_find(up, gfid);
  struct up_reg *r = f ? reg_find(f, id) : NULL;
  GI_ASSERT(id && !gi_gfid_is_none(gfid));
  if (r) {
    reg_used(up, r);
    return;
  }
  make_room(up, id);
  r = reg_new(up, id, gfid);
  r->until = gi_now(up->x->reactor) + up_life(up);
  if (up->metrics.registrations == 1)
    gi_timer_set(&up->sweep, up_life(up));
  gi_lru_add(&up->lru, &r->item, REG_COST); /* somebody may have been told, and be gone by that: nothing is touched after */
}

/* The oldest ones stand first. */
static void
sweep(void *arg)
{
  struct upcall *up = arg;
  uint64_t now = gi_now(up->x->reactor);
  while (up->lru.count) {
    struct up_reg *r = GI_CONTAINER(gi_list_first(&up->lru.items, struct gi_lru_item, link), struct up_reg, item);
    if (r->until > now)
      break;
    up->metrics.expired++;
    reg_drop(up, r);
  }
  if (up->lru.count)
    gi_timer_set(&up->sweep, up_life(up) / 2 + GI_NSEC_PER_SEC);
}

void
up_client_gone(struct upcall *up, const void *id)
{
  struct up_client *c = up_client_find(up, id);
  for (uint32_t n = c ? c->nregs : 0; n; n--) /* the client goes with the last one */
    reg_drop(up, gi_list_first(&c->regs, struct up_reg, client_link));
  GI_ASSERT(!up_client_find(up, id));
}

void
up_forget_all(struct upcall *up)
{
  while (up->lru.count)
    reg_drop(up, GI_CONTAINER(gi_list_first(&up->lru.items, struct gi_lru_item, link), struct up_reg, item));
  gi_timer_cancel(&up->sweep);
  GI_ASSERT(up->metrics.files == 0 && up->metrics.clients == 0);
}

void
up_ask(struct gi_xlator *x, struct gi_question *q)
{
  struct upcall *up = up_of(x);
  struct up_file *file = q->what == GI_ASK_USERS ? up_find(up, q->gfid) : NULL;
  uint64_t now = gi_now(x->reactor);
  if (!file)
    return;
  gi_list_foreach(r, &file->regs, struct up_reg, file_link) {
    const struct gi_client_id *id = r->client->id;
    struct gi_fact_user f = {
        .client = id->uid ? id->uid : "", .address = id->address ? id->address : "", .told = true, .told_ns = r->until - now};
    GI_ASSERT(r->file == file);
    if (r->until > now && gi_question_room(q))
      q->user(q, &f);
  }
}

void
up_table_init(struct upcall *up)
{
  up->mask = BUCKETS_MIN - 1;
  up->bucket = gi_zalloc(BUCKETS_MIN * sizeof(struct up_file *));
  gi_list_init(&up->clients);
  gi_timer_init(&up->sweep, up->x->reactor, sweep, up);
  gi_lru_init(&up->lru, &up->x->ctx->budget, up->x->reactor, up->x->name, evicted, up);
  gi_lru_set_bounds(&up->lru, UP_REGISTRATIONS_MAX, 0);
}

void
up_table_finish(struct upcall *up)
{
  up_forget_all(up);
  gi_lru_finish(&up->lru);
  gi_timer_finish(&up->sweep);
  gi_free(up->bucket);
}
