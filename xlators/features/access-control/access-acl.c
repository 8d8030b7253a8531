/* SPDX-License-Identifier: Apache-2.0
 *
 * POSIX ACLs: the kernel's binary form (little-endian: version 2, then tag,
 * permissions, id per entry), the check in the order of POSIX.1e, and what a
 * new object inherits.
 */
#include "xlators/features/access-control/access-control.h"

#include <endian.h>

#define ACL_VERSION 2
#define ACL_MINIMAL 3 /* owner, group, other: no more than the mode says */

static uint32_t
le32(const uint8_t *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

struct ac_acl *
ac_acl_parse(const void *data, uint32_t len)
{
  const uint8_t *p = data;
  if (len < 4 || (len - 4) % 8 || (len - 4) / 8 > AC_ENTRIES_MAX || le32(p) != ACL_VERSION)
    return NULL;
  unsigned n = (len - 4) / 8;
  struct ac_acl *acl = gi_alloc(sizeof(*acl) + n * sizeof(acl->entry[0]));
  acl->count = n;
  p += 4;
  for (unsigned i = 0; i < n; i++, p += 8)
    acl->entry[i] =
        (struct ac_entry){.tag = (uint16_t)(p[0] | p[1] << 8), .perm = (uint16_t)(p[2] | p[3] << 8), .id = le32(p + 4)};
  return acl;
}

uint32_t
ac_acl_write(const struct ac_acl *acl, uint8_t *out)
{
  uint8_t *p = out;
  uint32_t version = htole32(ACL_VERSION);
  memcpy(p, &version, 4);
  p += 4;
  for (unsigned i = 0; i < acl->count; i++, p += 8) {
    uint16_t tag = htole16(acl->entry[i].tag), perm = htole16(acl->entry[i].perm);
    uint32_t id = htole32(acl->entry[i].id);
    memcpy(p, &tag, 2);
    memcpy(p + 2, &perm, 2);
    memcpy(p + 4, &id, 4);
  }
  return (uint32_t)(p - out);
}

struct ac_acl *
ac_acl_copy(const struct ac_acl *acl)
{
  GI_ASSERT(acl->count <= AC_ENTRIES_MAX);
  size_t size = sizeof(*acl) + acl->count * sizeof(acl->entry[0]);
  return memcpy(gi_alloc(size), acl, size);
}

bool
ac_member(const struct gi_caller *c, uint32_t gid)
{
  if (c->gid == gid)
    return true;
  for (uint32_t i = 0; i < c->ngroups; i++) {
    if (c->groups[i] == gid)
      return true;
  }
  return false;
}

static bool
mode_allows(const struct ac_inode *ai, const struct gi_caller *c, unsigned want)
{
  unsigned bits = c->uid == ai->uid ? ai->mode >> 6 : ac_member(c, ai->gid) ? ai->mode >> 3 : ai->mode;
  return (bits & want) == want;
}

static unsigned
mask_of(const struct ac_acl *acl)
{
  for (unsigned i = 0; i < acl->count; i++) {
    if (acl->entry[i].tag == AC_MASK)
      return acl->entry[i].perm;
  }
  return AC_R | AC_W | AC_X;
}

static const struct ac_entry *
find(const struct ac_acl *acl, uint16_t tag, uint32_t id)
{
  for (unsigned i = 0; i < acl->count; i++) {
    if (acl->entry[i].tag == tag && (tag != AC_USER || acl->entry[i].id == id))
      return &acl->entry[i];
  }
  return NULL;
}

static bool
acl_allows(const struct ac_inode *ai, const struct gi_caller *c, unsigned want)
{
  const struct ac_acl *acl = ai->access;
  const struct ac_entry *e;
  unsigned mask = mask_of(acl);
  GI_ASSERT(ai->known && acl->count <= AC_ENTRIES_MAX);
  if (c->uid == ai->uid)
    return (e = find(acl, AC_USER_OBJ, 0)) && (e->perm & want) == want;
  if ((e = find(acl, AC_USER, c->uid)))
    return (e->perm & mask & want) == want;
  bool in_group = false;
  for (unsigned i = 0; i < acl->count; i++) {
    e = &acl->entry[i];
    if (!(e->tag == AC_GROUP_OBJ && ac_member(c, ai->gid)) && !(e->tag == AC_GROUP && ac_member(c, e->id)))
      continue;
    in_group = true;
    if ((e->perm & mask & want) == want)
      return true;
  }
  return !in_group && (e = find(acl, AC_OTHER, 0)) && (e->perm & want) == want;
}

bool
ac_allows(const struct ac_inode *ai, const struct gi_caller *c, unsigned want)
{
  if (ac_super(c))
    return true;
  return ai->access ? acl_allows(ai, c, want) : mode_allows(ai, c, want);
}

struct ac_acl *
ac_inherit(const struct ac_acl *dflt, uint32_t *mode)
{
  struct ac_acl *acl = ac_acl_copy(dflt);
  bool masked = find(acl, AC_MASK, 0) != NULL;
  uint32_t bits = 0;
  for (unsigned i = 0; i < acl->count; i++) {
    struct ac_entry *e = &acl->entry[i];
    switch (e->tag) {
    case AC_USER_OBJ:
      e->perm &= *mode >> 6 & 7;
      bits |= (uint32_t)e->perm << 6;
      break;
    case AC_MASK:
      e->perm &= *mode >> 3 & 7;
      bits |= (uint32_t)e->perm << 3;
      break;
    case AC_GROUP_OBJ: /* with a mask the group keeps what it was given: the mask limits it */
      if (masked)
        break;
      e->perm &= *mode >> 3 & 7;
      bits |= (uint32_t)e->perm << 3;
      break;
    case AC_OTHER:
      e->perm &= *mode & 7;
      bits |= e->perm;
      break;
    default:
      break;
    }
  }
  *mode = (*mode & ~0777u) | bits;
  if (acl->count > ACL_MINIMAL)
    return acl;
  gi_free(acl);
  return NULL;
}
