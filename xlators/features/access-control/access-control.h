/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of features/access-control share.
 *
 * Per inode it keeps owner, group, mode and the two ACLs. They are learnt once
 * (from LOOKUP or a creation) and stay true, because whatever changes them
 * passes this translator: SETATTR updates, a change of an ACL forgets.
 */
#ifndef ACCESS_CONTROL_H
#define ACCESS_CONTROL_H

#include "libglusterish/graph.h"
#include "libglusterish/log.h"

#include <errno.h>

#define AC_ACCESS_KEY "system.posix_acl_access"
#define AC_DEFAULT_KEY "system.posix_acl_default"
#define AC_ENTRIES_MAX 1024 /* entries of one ACL that are understood; the kernel stores fewer */

enum { AC_X = 1, AC_W = 2, AC_R = 4 };

/* tags of the kernel's format */
enum {
  AC_USER_OBJ = 0x01,
  AC_USER = 0x02,
  AC_GROUP_OBJ = 0x04,
  AC_GROUP = 0x08,
  AC_MASK = 0x10,
  AC_OTHER = 0x20,
};

struct ac_entry {
  uint16_t tag, perm;
  uint32_t id;
};

struct ac_acl {
  unsigned count;
  struct ac_entry entry[];
};

/* our bytes in an inode */
struct ac_inode {
  bool known;
  uint32_t generation; /* ac_private.generation when this was learnt */
  uint32_t mode, uid, gid;
  struct ac_acl *access, *dflt; /* NULL = none */
};

/* our bytes in a fop */
struct ac_fop {
  uint8_t fetches;                  /* attempts to learn what is needed */
  bool missing;                     /* what is needed does not exist: storage says so better */
  bool learns;                      /* LOOKUP: its answer tells both ACLs */
  bool asked_access, asked_default; /* and the client wants them itself */
  struct ac_acl *access, *dflt;     /* a creation: what the new object gets; owned */
};

struct ac_options {
  bool acl;
};

struct ac_metrics {
  uint64_t checked, refused, fetched, inherited;
};

#define AC_MAGIC 0x1d0ac101u

struct ac_private {
  uint32_t magic;
  struct ac_metrics metrics;
  uint32_t generation; /* moves when changes may have passed us by: while we were off the path */
};

static inline struct ac_private *
ac_private(const struct gi_xlator *x)
{
  struct ac_private *p = x->private;
  GI_CHECK(p, AC_MAGIC);
  return p;
}

static inline struct ac_metrics *
ac_count(const struct gi_xlator *x)
{
  return x->metrics;
}

/* Everything is allowed: root and internal clients. */
static inline bool
ac_super(const struct gi_caller *c)
{
  return c->uid == 0 || c->pid < 0;
}

/* ---- access-acl.c ---- */
/* The kernel's binary form; NULL if it is not one. */
struct ac_acl *ac_acl_parse(const void *data, uint32_t len);
/* Writes it to `out` (8 bytes per entry + 4 are enough); returns bytes. */
uint32_t ac_acl_write(const struct ac_acl *acl, uint8_t *out);
struct ac_acl *ac_acl_copy(const struct ac_acl *acl);
bool ac_member(const struct gi_caller *c, uint32_t gid);
/* All of `want` (AC_*) for the caller. */
bool ac_allows(const struct ac_inode *ai, const struct gi_caller *c, unsigned want);
/* The access ACL of an object made with `mode` below a default ACL; *mode gets its permission bits. */
struct ac_acl *ac_inherit(const struct ac_acl *dflt, uint32_t *mode);

/* ---- access-cache.c ---- */
struct ac_inode *ac_inode(const struct gi_xlator *x, const struct gi_inode *inode);
void ac_forget(struct ac_inode *ai);
/* Takes mode and owner from attributes, and the ACLs from a reply that was asked for both. */
void ac_learn(struct gi_xlator *x, struct gi_fop *fop, const struct gi_iatt *st, const struct gi_dict *xdata);
void ac_learn_iatt(struct ac_inode *ai, const struct gi_iatt *st);
/* Makes sure `inode` is known: true, or false when the fop is now held and `retry` will be called for it. */
bool ac_need(struct gi_xlator *x, struct gi_fop *fop, struct gi_inode *inode, gi_fop_fn *retry);
/* The same for a name whose inode is not resolved: sets loc->inode. */
bool ac_need_name(struct gi_xlator *x, struct gi_fop *fop, struct gi_loc *loc, gi_fop_fn *retry);

/* ---- access-fops.c ---- */
/* A CREATE that may find the name there and open it (no flags at all mean O_EXCL, brick.md 2.5). */
bool ac_may_open(const struct gi_fop *fop);
gi_fop_fn ac_lookup, ac_open, ac_opendir, ac_truncate, ac_fd_io, ac_create, ac_remove, ac_rename, ac_link, ac_access,
    ac_setattr, ac_setxattr, ac_getxattr, ac_copy, ac_xattrop;

#endif
