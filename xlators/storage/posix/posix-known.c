/* SPDX-License-Identifier: Apache-2.0
 *
 * What this process knows of objects on the disk without asking: by its number
 * which gfid an object has, and what attributes it has by name, with the counters
 * of replication among them. Whatever changes them comes by here, on the reactor or
 * when what a worker did ends there.
 *
 * The look at an object that nearly every operation begins with says whether that
 * still holds: any change moves its ctime. What is known of it holds for ctimes up
 * to that which our own last change has left: `until`, from a look, or, where no look
 * follows, the clock. So what somebody does to the brick behind our back shows,
 * and a number that the disk has given to another object as well. A change of ours
 * hides what somebody has done since the last look before it: so what is known
 * outlives one that comes within a second of such a look, and no later one. Where
 * there is no look, because a file is open, a second is the limit as well.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/probe.h"

#define KNOWN_FOR GI_NSEC_PER_SEC
#define SLOTS 16384u  /* of objects by number; power of two */
#define NAMES_MAX 512 /* bytes that are kept of one object */
#define VALUE_MAX POSIX_KNOWN_VALUE

/* Behind a name and its NUL: how long the value is that follows, or one of these. */
enum { IS_ABSENT = 255, IS_THERE = 254 /* and its value is asked for */ };

/* By number, the last object that was met with one of those that share a place. */
struct posix_numbers {
  struct posix_inode *slot[SLOTS];
};

struct posix_numbers *
posix_numbers_new(void)
{
  return gi_new(struct posix_numbers);
}

void
posix_numbers_forget(struct posix *p)
{
  memset(p->numbers, 0, sizeof(*p->numbers));
}

static struct posix_inode **
slot_of(const struct posix *p, ino_t ino)
{
  GI_ASSERT(p->numbers && ino);
  return &p->numbers->slot[((uint64_t)ino * 0x9e3779b97f4a7c15ull) >> 50];
}

_Static_assert(SLOTS == 1u << (64 - 50), "a place is the upper bits of a product");

/* Names change on workers, or what is removed is being deleted: a number may be another object's by now. */
static bool
may_look(const struct posix_op *op)
{
  return !op->on_worker && !posix_in_company(op) && !op->p->janitor;
}

static bool
is_later(const struct timespec *a, const struct timespec *b)
{
  return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static bool
holds(const struct posix_op *op, const struct posix_known *k, const struct stat *st)
{
  return k->ino && k->ino == st->st_ino && st->st_dev == op->p->gl_dev && !is_later(&st->st_ctim, &k->until);
}

static bool
is_fresh(const struct posix_known *k, uint64_t now)
{
  return k->since && now - k->since < KNOWN_FOR;
}

/* ---- objects by number ---- */

bool
posix_known_gfid(const struct posix_op *op, const struct stat *st, struct gi_gfid *gfid)
{
  struct posix_inode *pi = may_look(op) && st->st_ino ? *slot_of(op->p, st->st_ino) : NULL;

  if (!pi || pi->known.ino != st->st_ino)
    return false;
  if (!holds(op, &pi->known, st))
    pi->known.named = false; /* our next change would hide that somebody was there */
  if (!pi->known.named)
    return false;
  GI_PROBE("posix: an object is known by its number");
  GI_ASSERT(pi->self && !gi_gfid_is_none(&pi->self->gfid));
  pi->known.since = gi_now_about(op->x->reactor);
  *gfid = pi->self->gfid;
  return true;
}

/* What has no handle and name is on its way out, and nobody says when its number is free. */
static bool
may_keep(const struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st)
{
  return may_look(op) && st->st_ino && st->st_dev == op->p->gl_dev && !gi_gfid_is_none(gfid) &&
         st->st_nlink > (S_ISDIR(st->st_mode) ? 0 : 1);
}

/* `ours`: the look comes after a change of our own. */
static void
keep(const struct posix_op *op, struct posix_inode *pi, const struct stat *st, bool ours)
{
  struct posix_known *k = &pi->known;
  uint64_t now = gi_now_about(op->x->reactor);
  bool same = holds(op, k, st) || (ours && k->ino == st->st_ino && is_fresh(k, now));
  GI_ASSERT(!op->on_worker && st->st_ino);

  if (!same) {
    k->named = false;
    posix_known_forget(k);
  }
  if (!same || !ours)
    k->since = now;
  k->ino = st->st_ino;
  k->until = st->st_ctim;
  *slot_of(op->p, st->st_ino) = pi;
}

/* `read`: from the object itself. */
static void
keep_gfid(const struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st, bool ours, bool read)
{
  struct gi_inode *inode;
  struct posix_inode *pi;

  if (!may_keep(op, gfid, st))
    return;
  inode = gi_inode_get(op->fop->graph, gfid);
  pi = posix_inode_of(op->p, inode);
  keep(op, pi, st, ours);
  pi->known.named = pi->known.named || read;
  gi_inode_unref(&inode);
}

void
posix_known_stat(struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st, bool before)
{
  keep_gfid(op, gfid, st, !before && gi_fop_table[op->fop->kind].classes & GI_CLASS_WRITE, false);
}

void
posix_known_read(const struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st)
{
  keep_gfid(op, gfid, st, false, true);
}

void
posix_known_touched(struct posix *p, struct posix_inode *pi)
{
  struct posix_known *k = &pi->known;
  struct gi_time now;
  GI_CHECK(pi, POSIX_INODE_MAGIC);

  if (!k->ino)
    return;
  if (!is_fresh(k, gi_now_about(p->x->reactor))) {
    k->named = false;
    posix_known_forget(k);
  }
  now = gi_wall(p->x->reactor);
  k->until = (struct timespec){.tv_sec = now.sec, .tv_nsec = now.nsec};
}

void
posix_known_gone(struct posix *p, struct posix_inode *pi)
{
  struct posix_known *k = &pi->known;

  if (k->ino && *slot_of(p, k->ino) == pi)
    *slot_of(p, k->ino) = NULL;
  k->ino = 0;
  k->since = 0;
  k->named = false;
  posix_known_forget(k);
}

/* ---- attributes by name ---- */

void
posix_known_forget(struct posix_known *k)
{
  gi_free(k->names);
  k->names = NULL;
  k->used = 0;
  k->scope = KNOWN_SOME;
}

/* What is behind a name and its NUL; NULL: it is not kept. */
static char *
find(const struct posix_known *k, const char *name)
{
  for (char *s = k->names; s && s < k->names + k->used;) {
    char *behind = s + strlen(s) + 1;
    uint8_t len = (uint8_t)*behind;

    if (strcmp(s, name) == 0)
      return behind;
    s = behind + 1 + (len < VALUE_MAX ? len : 0);
  }
  return NULL;
}

/* Of what is not kept: the kernel gives new objects labels and checksums, and ACLs if their directory has some for them. */
static bool
is_known_absent(const struct posix_known *k, const char *name)
{
  bool made = strncmp(name, "trusted.", 8) == 0 || strncmp(name, "user.", 5) == 0 || strcmp(name, "security.capability") == 0;
  bool acl = strcmp(name, KEY_ACL_ACCESS) == 0 || strcmp(name, KEY_ACL_DEFAULT) == 0;

  return k->scope == KNOWN_ALL || (k->scope != KNOWN_SOME && made) || (k->scope == KNOWN_PLAIN && acl);
}

bool
posix_known_get(const struct posix_known *k, const char *name, void *value, size_t size, ssize_t *n)
{
  const char *behind;
  uint8_t len;

  if (!k || !k->since || posix_key_internal(name))
    return false;
  behind = find(k, name);
  len = behind ? (uint8_t)*behind : IS_ABSENT;
  if (len == IS_THERE || (len < VALUE_MAX && len > size))
    return false;
  if (!behind && !is_known_absent(k, name))
    return false;
  *n = len < VALUE_MAX ? len : -1;
  if (*n >= 0)
    memcpy(value, behind + 1, len);
  GI_PROBE("posix: an attribute is known from the last change");
  errno = ENODATA;
  return true;
}

static void
drop(struct posix_known *k, const char *name)
{
  char *behind = find(k, name);
  uint8_t len = behind ? (uint8_t)*behind : 0;

  if (!behind)
    return;

  char *begin = behind - strlen(name) - 1, *end = behind + 1 + (len < VALUE_MAX ? len : 0);

  GI_ASSERT(end <= k->names + k->used);
  memmove(begin, end, (size_t)(k->names + k->used - end));
  k->used = (uint16_t)(k->used - (end - begin));
}

static void
add(struct posix_known *k, const char *name, uint8_t what, const void *value)
{
  size_t n = strlen(name) + 1, bytes = what < VALUE_MAX ? what : 0;
  char *old = find(k, name);
  GI_ASSERT(k->since && k->used <= NAMES_MAX && (what < VALUE_MAX || what >= IS_THERE));

  if (old && (uint8_t)*old == what) {
    if (bytes)
      memcpy(old + 1, value, bytes);
    return;
  }
  drop(k, name);
  if (k->used + n + 1 + bytes > NAMES_MAX) {
    posix_known_forget(k);
    return;
  }
  k->names = gi_realloc(k->names, k->used + n + 1 + bytes);
  memcpy(k->names + k->used, name, n);
  k->names[k->used + n] = (char)what;
  if (bytes)
    memcpy(k->names + k->used + n + 1, value, bytes);
  k->used = (uint16_t)(k->used + n + 1 + bytes);
}

void
posix_known_put(struct posix_known *k, const char *name, const void *value, ssize_t len)
{
  if (!k || !k->since || posix_key_internal(name))
    return;
  if (len < 0 && is_known_absent(k, name))
    drop(k, name);
  else if (len < 0)
    add(k, name, IS_ABSENT, NULL);
  else if (len > 0 && len < VALUE_MAX && strncmp(name, "trusted.", 8) == 0)
    add(k, name, (uint8_t)len, value);
  else
    add(k, name, IS_THERE, NULL);
}

void
posix_known_list(struct posix_known *k, const char *list, ssize_t len)
{
  if (!k || !k->since || len < 0)
    return;
  posix_known_forget(k);
  k->scope = KNOWN_ALL;
  for (const char *name = list; k->scope == KNOWN_ALL && name < list + len; name += strlen(name) + 1)
    if (!posix_key_internal(name))
      add(k, name, IS_THERE, NULL);
}

/* ---- of an operation ---- */

static struct posix_known *
learns(struct posix_op *op, struct gi_inode *inode)
{
  struct posix_known *k = &posix_inode_of(op->p, inode)->known;

  GI_ASSERT(!op->known && !op->on_worker);
  op->known = k;
  op->known_of = gi_inode_ref(inode);
  return k;
}

static bool
gives_no_acl(const struct posix_op *op, const struct stat *parent)
{
  struct gi_inode *inode = gi_inode_find(op->fop->graph, &op->node[NODE_PARENT].gfid);
  const struct posix_known *k = inode ? &posix_inode_of(op->p, inode)->known : NULL;
  char value[1];
  ssize_t n;
  bool none = k && holds(op, k, parent) && posix_known_get(k, KEY_ACL_DEFAULT, value, sizeof(value), &n) && n < 0;

  gi_inode_unref(&inode);
  return none;
}

void
posix_known_made(struct posix_op *op, const struct stat *parent)
{
  struct gi_inode *inode = op->on_worker ? NULL : gi_inode_find(op->fop->graph, &op->node[NODE_OBJ].gfid);
  struct posix_known *k;

  if (!inode)
    return;
  k = learns(op, inode);
  GI_ASSERT(op->fop->rsp.ret >= 0);
  posix_known_forget(k);
  k->named = k->ino != 0;
  k->since = gi_now_about(op->x->reactor);
  k->scope = gives_no_acl(op, parent) ? KNOWN_PLAIN : KNOWN_MADE;
  if (op->p->makes_no_ima)
    posix_known_put(k, KEY_IMA, NULL, -1);
  for (uint32_t i = 0; i < gi_dict_count(op->fop->xdata); i++)
    if (posix_key_is_xattr(gi_dict_at(op->fop->xdata, i)->key))
      posix_known_put(k, gi_dict_at(op->fop->xdata, i)->key, NULL, 0); /* the request may have made it */
  gi_inode_unref(&inode);
}

/* What is older than a second is forgotten. */
static void
renew(const struct posix_op *op, struct posix_known *k)
{
  uint64_t now = gi_now_about(op->x->reactor);

  if (is_fresh(k, now))
    return;
  k->named = false;
  posix_known_forget(k);
  k->since = now;
}

struct posix_known *
posix_known_counts(struct posix_op *op, const struct stat *st)
{
  const struct gi_gfid *gfid = &op->node[NODE_OBJ].gfid;
  struct gi_inode *inode;
  struct posix_known *k;

  if (op->on_worker || op->fop->args.flags != GI_XATTROP_ADD32)
    return NULL;
  inode = st ? posix_known_of(op, gfid, st) : gi_inode_find(op->fop->graph, gfid);
  if (!inode)
    return NULL;
  k = learns(op, inode);
  renew(op, k);
  gi_inode_unref(&inode);
  return k;
}

struct gi_inode *
posix_known_of(struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st)
{
  struct gi_inode *inode = may_keep(op, gfid, st) ? gi_inode_find(op->fop->graph, gfid) : NULL;
  struct posix_inode *pi = inode ? posix_inode_of(op->p, inode) : NULL;

  if (!pi)
    return NULL;
  keep(op, pi, st, false);
  return inode;
}
