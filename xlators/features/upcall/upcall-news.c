/* SPDX-License-Identifier: Apache-2.0
 *
 * What a finished operation has changed, and who is told of it: those clients
 * that did something with the object or the directory of late, apart from the one
 * that changed it (brick.md 11). Each is told once of an operation: of the object
 * if it knows that, which says what became of the directories too; else of the
 * directory.
 */
#include "xlators/features/upcall/upcall.h"

#include "libglusterish/probe.h"

#include <fcntl.h>
#include <inttypes.h>

#define SHARERS 32 /* for which no memory is needed */

/* ---- telling ---- */

static void
tell(struct upcall *up, struct gi_invalidation *inv)
{
  GI_ASSERT(inv->client && inv->flags && !gi_gfid_is_none(&inv->gfid));
  up->metrics.told++;
  gi_notify_up(up->x, GI_EVENT_INVALIDATE, inv);
}

void
up_tell_forget(struct upcall *up, struct gi_client_id *id, const struct gi_gfid *gfid)
{
  struct gi_invalidation inv = {
      .gfid = *gfid, .flags = GI_UPCALL_FORGET, .expire_s = (uint32_t)(up_life(up) / GI_NSEC_PER_SEC), .client = id};
  tell(up, &inv);
}

/* ---- after the answer ---- */

struct up_late {
  struct gi_list link;
  struct gi_client_id *id;
  struct gi_gfid gfid;
};

static void
up_late_free(struct up_late *l)
{
  gi_list_del(&l->link);
  gi_free(l);
}

void
up_tell_later(struct upcall *up, struct gi_client_id *id, const struct gi_gfid *gfid)
{
  struct up_late *l = gi_new(struct up_late);
  l->id = id;
  l->gfid = *gfid;
  gi_list_add_tail(&up->late, &l->link);
  up->metrics.late++;
  gi_defer_add(up->x->reactor, &up->later);
}

static void
tell_late(void *arg)
{
  struct upcall *up = arg;
  while (!gi_list_empty(&up->late)) {
    struct up_late l = *gi_list_first(&up->late, struct up_late, link);
    up_late_free(gi_list_first(&up->late, struct up_late, link));
    up_tell_forget(up, l.id, &l.gfid);
  }
}

void
up_later_init(struct upcall *up)
{
  gi_list_init(&up->late);
  gi_defer_init(&up->later, tell_late, up);
}

void
up_later_gone(struct upcall *up, const void *id)
{
  gi_list_foreach_safe(l, &up->late, struct up_late, link)
    if (!id || l->id == id)
      up_late_free(l);
  if (!id)
    gi_defer_cancel(&up->later);
}

/* ---- to those who know an object ---- */

static unsigned
recent_of(const struct gi_gfid *gfid)
{
  return (gfid->b[14] * 256u + gfid->b[15]) & (UP_RECENT - 1);
}

struct sharer {
  struct gi_client_id *id; /* perhaps gone when others were told */
  bool ours, acknowledges;
};

/* What is told, and to clients of ours the names it happened to (GI_NAME_KEY). */
struct news {
  struct gi_invalidation inv;
  const char *name, *name2;
  bool for_ours; /* nobody else has asked for it */
  bool half;     /* of a rename: who knows the other directory, too, is told of that as well */
};

static unsigned
find_sharers(struct upcall *up, const struct gi_fop *fop, const struct up_file *f, const struct news *news, struct sharer **who)
{
  unsigned n = 0, room = SHARERS;
  uint64_t now = gi_now(up->x->reactor);
  gi_list_foreach(r, &f->regs, struct up_reg, file_link) {
    struct up_client *c = r->client;
    if (c->id == fop->caller.client || c->told == up->clock || r->until <= now || (news->for_ours && !c->id->ours))
      continue;
    if (!news->half)
      c->told = up->clock;
    if (n == room) {
      struct sharer *more = gi_alloc(2 * room * sizeof(*more));
      memcpy(more, *who, n * sizeof(*more));
      if (room > SHARERS)
        gi_free(*who);
      *who = more;
      room *= 2;
    }
    (*who)[n++] = (struct sharer){.id = c->id, .ours = c->id->ours, .acknowledges = c->id->acknowledges};
  }
  return n;
}

/* With everything that is for a client of ours alone. */
static struct gi_dict *
for_ours(const struct news *n, uint64_t serial)
{
  if (!n->name && !n->name2 && !serial)
    return gi_dict_ref(n->inv.xdata);
  struct gi_dict *d = gi_dict_new();
  gi_dict_merge(d, n->inv.xdata);
  if (n->name)
    gi_dict_set_str(d, GI_NAME_KEY, n->name);
  if (n->name2)
    gi_dict_set_str(d, GI_NAME2_KEY, n->name2);
  if (serial) {
    GI_CLEANUP_FREE char *text = gi_asprintf("%" PRIu64, serial);
    gi_dict_set_str(d, GI_TAKEN_KEY, text);
  }
  return d;
}

/* Whoever is told may go by that, and its registrations with it: first all are found, then they are told. */
static void
tell_sharers(struct upcall *up, const struct gi_fop *fop, struct news *n)
{
  struct sharer few[SHARERS], *who = few;
  struct up_file *f = up_find(up, &n->inv.gfid);

  up->recent[recent_of(&n->inv.gfid)] = up->clock;
  if (!f || (n->name && GI_BROKEN("do not tell what became of names")) ||
      (!n->name && GI_BROKEN("do not tell what became of objects")))
    return;
  unsigned count = find_sharers(up, fop, f, n, &who);
  GI_ASSERT(count <= up->metrics.registrations);
  n->inv.expire_s = (uint32_t)(up_life(up) / GI_NSEC_PER_SEC);
  for (unsigned i = 0; i < count; i++) {
    struct gi_invalidation to = n->inv;
    to.client = who[i].id;
    if (who[i].ours)
      to.xdata = for_ours(n, who[i].acknowledges ? up_wait_for(up, fop, who[i].id, &n->inv.gfid) : 0);
    tell(up, &to);
    if (who[i].ours)
      gi_dict_unref(&to.xdata);
  }
  if (who != few)
    gi_free(who);
}

bool
up_changed_since(const struct upcall *up, const struct gi_gfid *gfid, uint64_t began)
{
  return up->recent[recent_of(gfid)] > began;
}

/* ---- what an operation changes ---- */

static struct gi_iatt
now_of(struct gi_fop *fop, enum gi_whose whose)
{
  const struct gi_iatt *a = gi_reply_attr(fop, whose);
  return a ? *a : (struct gi_iatt){0};
}

static struct gi_gfid
gfid_of(const struct gi_iatt *a, const struct gi_gfid *else_this)
{
  return gi_iatt_valid(a) && !gi_gfid_is_none(&a->gfid) ? a->gfid : *else_this;
}

static void
of_directory(struct upcall *up, const struct gi_fop *fop, const struct gi_iatt *dir, const struct gi_loc *name,
             const struct gi_loc *name2)
{
  struct news n = {.inv = {.gfid = gfid_of(dir, &name->pargfid), .flags = GI_UPCALL_TIMES, .stat = *dir}, .name = name->name};
  if (!gi_iatt_valid(dir))
    n.inv.flags |= GI_UPCALL_INVAL_ATTR;
  n.half = name2 && !gi_gfid_equal(&name->pargfid, &name2->pargfid);
  if (name2 && !n.half)
    n.name2 = name2->name;
  tell_sharers(up, fop, &n);
}

static void
of_object(struct upcall *up, struct gi_fop *fop, uint32_t flags, enum gi_whose whose)
{
  struct news n = {.inv = {.flags = flags, .stat = now_of(fop, whose)}};
  const struct gi_fd *to = fop->fd2;
  const struct gi_gfid *gfid = whose != GI_OF_OBJECT2 ? gi_fop_gfid(fop) : to && to->inode ? &to->inode->gfid : &fop->loc2.gfid;
  n.inv.gfid = gfid_of(&n.inv.stat, gfid);
  if (!gi_iatt_valid(&n.inv.stat))
    n.inv.flags |= GI_UPCALL_INVAL_ATTR;
  tell_sharers(up, fop, &n);
}

static void
of_mode(struct upcall *up, struct gi_fop *fop)
{
  const struct gi_reply *r = &fop->rsp;
  bool mode = gi_iatt_valid(&r->pre) && gi_iatt_valid(&r->post) && r->pre.mode != r->post.mode;
  of_object(up, fop,
            GI_UPCALL_MODE | GI_UPCALL_OWNER | GI_UPCALL_SIZE | GI_UPCALL_TIMES | GI_UPCALL_PERMISSIONS |
                (mode ? GI_UPCALL_XATTR : 0),
            GI_OF_OBJECT);
}

/* A name was made. An object that was there may have been emptied by that. */
static void
of_new_name(struct upcall *up, struct gi_fop *fop)
{
  struct gi_iatt dir = now_of(fop, GI_OF_PARENT);
  if (fop->kind == GI_FOP_CREATE && fop->args.flags & O_TRUNC)
    of_object(up, fop, GI_UPCALL_SIZE | GI_UPCALL_TIMES, GI_OF_OBJECT);
  of_directory(up, fop, &dir, &fop->loc, NULL);
}

static void
of_link(struct upcall *up, struct gi_fop *fop)
{
  struct gi_iatt dir = now_of(fop, GI_OF_PARENT);
  struct news n = {.inv = {.flags = GI_UPCALL_NLINK | GI_UPCALL_TIMES | GI_UPCALL_PARENT_TIMES,
                           .stat = now_of(fop, GI_OF_OBJECT),
                           .parent = dir},
                   .name = fop->loc2.name};
  n.inv.gfid = gfid_of(&n.inv.stat, gi_fop_gfid(fop));
  tell_sharers(up, fop, &n);
  of_directory(up, fop, &dir, &fop->loc2, NULL);
}

static void
of_removal(struct upcall *up, struct gi_fop *fop)
{
  struct gi_iatt dir = now_of(fop, GI_OF_PARENT);
  struct news n = {
      .inv = {.gfid = fop->rsp.lost, .flags = GI_UPCALL_NLINK | GI_UPCALL_TIMES | GI_UPCALL_PARENT_TIMES, .parent = dir},
      .name = fop->loc.name};
  if (!gi_gfid_is_none(&n.inv.gfid))
    tell_sharers(up, fop, &n);
  of_directory(up, fop, &dir, &fop->loc, NULL);
}

static void
of_rename(struct upcall *up, struct gi_fop *fop)
{
  struct gi_iatt from = now_of(fop, GI_OF_PARENT), to = now_of(fop, GI_OF_PARENT2);
  struct news n = {.inv = {.flags = GI_UPCALL_RENAME | GI_UPCALL_PARENT_TIMES,
                           .stat = now_of(fop, GI_OF_OBJECT),
                           .parent = to,
                           .old_parent = from},
                   .name = fop->loc.name,
                   .name2 = fop->loc2.name};
  n.inv.gfid = gfid_of(&n.inv.stat, gi_fop_gfid(fop));
  if (!gi_gfid_is_none(&n.inv.gfid))
    tell_sharers(up, fop, &n);
  of_directory(up, fop, &from, &fop->loc, &fop->loc2);
  of_directory(up, fop, &to, &fop->loc2, &fop->loc);
  if (gi_gfid_is_none(&fop->rsp.lost))
    return;
  up->clock++; /* another object: whoever was told of the first one is told of it too */
  tell_sharers(up, fop, &(struct news){.inv = {.gfid = fop->rsp.lost, .flags = GI_UPCALL_FORGET}});
}

/* ---- extended attributes ---- */

/* Of the storage and of the protocol; whoever keeps them says so. */
static bool
is_internal(const char *name)
{
  return strncmp(name, "trusted.", 8) == 0 || strncmp(name, "glusterfs.", 10) == 0 || strncmp(name, "glusterish.", 11) == 0;
}

static void
of_attributes(struct upcall *up, struct gi_fop *fop, struct gi_dict *told, bool visible, uint32_t flag)
{
  struct news n = {.inv = {.stat = now_of(fop, GI_OF_OBJECT)}};
  n.inv.gfid = gfid_of(&n.inv.stat, gi_fop_gfid(fop));
  if (gi_dict_count(told)) {
    n.inv.flags = flag;
    n.inv.xdata = told;
  }
  if (gi_iatt_valid(&n.inv.stat) && (visible || n.inv.xdata))
    n.inv.flags |= GI_UPCALL_TIMES;
  if (n.inv.flags)
    tell_sharers(up, fop, &n);
}

static void
of_setxattr(struct upcall *up, struct gi_fop *fop)
{
  struct gi_dict *told = gi_dict_new();
  bool visible = false;
  for (uint32_t i = 0; i < gi_dict_count(fop->args.dict); i++) {
    const struct gi_pair *p = gi_dict_at(fop->args.dict, i);
    const uint8_t *bytes;
    uint32_t len;
    visible |= !is_internal(p->key);
    if (up_cares(up, p->key) && gi_pair_bytes(p, &bytes, &len))
      gi_dict_set_bin(told, p->key, bytes, len);
  }
  of_attributes(up, fop, told, visible, GI_UPCALL_XATTR);
  gi_dict_unref(&told);
}

static void
of_removexattr(struct upcall *up, struct gi_fop *fop)
{
  const char *name = fop->args.name;
  struct gi_dict *told = gi_dict_new();
  if (name && up_cares(up, name))
    gi_dict_set_bin(told, name, "", 1);
  of_attributes(up, fop, told, !name || !is_internal(name), GI_UPCALL_XATTR_GONE);
  gi_dict_unref(&told);
}

static bool
is_zero(const uint8_t *bytes, uint32_t len)
{
  while (len && !bytes[len - 1])
    len--;
  return len == 0;
}

/* Counters of replication: told when a copy begins to be blamed. One of ours must hear so: it may read from that copy. The size of a file
 * in blocks is one of its attributes. */
static void
of_xattrop(struct upcall *up, struct gi_fop *fop)
{
  if (gi_dict_get(fop->args.dict, "trusted.glusterfs.shard.file-size")) {
    of_object(up, fop, GI_UPCALL_SIZE | GI_UPCALL_TIMES, GI_OF_OBJECT);
    return;
  }
  struct gi_dict *told = gi_dict_new();
  bool cared = false;
  for (uint32_t i = 0; i < gi_dict_count(fop->args.dict); i++) {
    const struct gi_pair *added = gi_dict_at(fop->args.dict, i), *is = gi_dict_get(fop->rsp.dict, added->key);
    const uint8_t *a, *b;
    uint32_t alen, blen;
    if (strncmp(added->key, "trusted.afr.", 12) == 0 && strcmp(added->key, "trusted.afr.dirty") != 0 && is &&
        gi_pair_bytes(added, &a, &alen) && gi_pair_bytes(is, &b, &blen) && alen == blen && memcmp(a, b, alen) == 0 &&
        !is_zero(a, alen)) {
      gi_dict_set_bin(told, added->key, a, alen);
      cared |= up_cares(up, added->key);
    }
  }
  if (gi_dict_count(told)) {
    struct news n = {.inv = {.gfid = *gi_fop_gfid(fop), .flags = GI_UPCALL_XATTR, .xdata = told}, .for_ours = !cared};
    tell_sharers(up, fop, &n);
  }
  gi_dict_unref(&told);
}

/* ---- by kind ---- */

void
up_news(struct upcall *up, struct gi_fop *fop)
{
  GI_ASSERT(fop->rsp.ret >= 0 && !fop->answered);
  up->clock++;
  up->metrics.changes++;
  switch (fop->kind) {
  case GI_FOP_WRITE:
  case GI_FOP_TRUNCATE:
  case GI_FOP_FTRUNCATE:
  case GI_FOP_FALLOCATE:
  case GI_FOP_DISCARD:
  case GI_FOP_ZEROFILL:
  case GI_FOP_OPEN:
    of_object(up, fop, GI_UPCALL_SIZE | GI_UPCALL_TIMES, GI_OF_OBJECT);
    break;
  case GI_FOP_COPY_FILE_RANGE:
    of_object(up, fop, GI_UPCALL_SIZE | GI_UPCALL_TIMES, GI_OF_OBJECT2);
    break;
  case GI_FOP_SETATTR:
  case GI_FOP_FSETATTR:
    of_mode(up, fop);
    break;
  case GI_FOP_RENAME:
    of_rename(up, fop);
    break;
  case GI_FOP_UNLINK:
  case GI_FOP_RMDIR:
    of_removal(up, fop);
    break;
  case GI_FOP_LINK:
    of_link(up, fop);
    break;
  case GI_FOP_SETXATTR:
  case GI_FOP_FSETXATTR:
    of_setxattr(up, fop);
    break;
  case GI_FOP_REMOVEXATTR:
  case GI_FOP_FREMOVEXATTR:
    of_removexattr(up, fop);
    break;
  case GI_FOP_XATTROP:
  case GI_FOP_FXATTROP:
    of_xattrop(up, fop);
    break;
  default:
    GI_ASSERT(gi_fop_table[fop->kind].classes & GI_CLASS_ENTRY);
    of_new_name(up, fop);
    break;
  }
}
