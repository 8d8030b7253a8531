/* SPDX-License-Identifier: Apache-2.0
 *
 * The small value types every layer shares: gfid, iatt, lock owner, flock.
 * Layouts on the wire are the codec's business (rpc/fop-codec.h); here they
 * are host-order C structs.
 */
#ifndef GI_TYPES_H
#define GI_TYPES_H

#include "libglusterish/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define GI_NAME_MAX 255         /* longest basename, bytes */
#define GI_OWNER_MAX 91         /* longest lock owner a credential can carry (wire.md 1.5) */
#define GI_GROUPS_MAX 91        /* most supplementary groups a credential can carry */
#define GI_CALLER_GROUPS 65536u /* most that a caller can have, as for Linux */
#define GI_UUID_TEXT 37         /* canonical text form of a gfid, with its NUL */

/* A GlusterFS file id: an RFC 4122 UUID in canonical byte order (wire.md 3.1). */
struct gi_gfid {
  uint8_t b[16];
};

extern const struct gi_gfid gi_gfid_none; /* all zero */
extern const struct gi_gfid gi_gfid_root; /* 00…01 */

static inline bool
gi_gfid_equal(const struct gi_gfid *a, const struct gi_gfid *b)
{
  return memcmp(a, b, sizeof(*a)) == 0;
}

static inline bool
gi_gfid_is_none(const struct gi_gfid *a)
{
  return gi_gfid_equal(a, &gi_gfid_none);
}

static inline bool
gi_gfid_is_root(const struct gi_gfid *a)
{
  return gi_gfid_equal(a, &gi_gfid_root);
}

/* The inode number users see: last eight bytes big-endian, root = 1 (wire.md 3.2). */
uint64_t gi_gfid_ino(const struct gi_gfid *gfid);

/* Writes the 36-character lower-case text and a NUL into `text`; returns `text`. */
char *gi_gfid_text(const struct gi_gfid *gfid, char text[GI_UUID_TEXT]);

/* Parses canonical text; false (gfid untouched) if it is not one. */
bool gi_gfid_parse(const char *text, struct gi_gfid *gfid);

struct gi_time {
  int64_t sec;
  uint32_t nsec;
};

static inline bool
gi_time_later(const struct gi_time *a, const struct gi_time *b)
{
  return a->sec != b->sec ? a->sec > b->sec : a->nsec > b->nsec;
}

static inline bool
gi_time_equal(const struct gi_time *a, const struct gi_time *b)
{
  return a->sec == b->sec && a->nsec == b->nsec;
}

/* *t becomes the later one of the two. */
static inline void
gi_time_raise(struct gi_time *t, const struct gi_time *other)
{
  if (gi_time_later(other, t))
    *t = *other;
}

/* File attributes (wire.md 3.3). `mode == 0` means "no attributes". */
struct gi_iatt {
  struct gi_gfid gfid;
  uint64_t flags; /* GI_IATT_*: which members are valid */
  uint64_t ino;
  uint64_t dev;
  uint64_t rdev;   /* major << 32 | minor */
  uint64_t size;   /* bytes */
  uint64_t blocks; /* of 512 bytes */
  uint64_t attributes;
  uint64_t attributes_mask;
  struct gi_time atime, mtime, ctime, btime;
  uint32_t nlink;
  uint32_t uid;
  uint32_t gid;
  uint32_t blksize;
  uint32_t mode; /* type and permission bits as in struct stat */
};

#define GI_IATT_BASIC 0x17ff /* every member but btime: what a brick fills in */

/* Fills everything a stat(2) knows; gfid and ino come from `gfid`. */
void gi_iatt_from_stat(struct gi_iatt *iatt, const struct stat *st, const struct gi_gfid *gfid);

/* The reverse, for the FUSE bridge: st_ino from the gfid, rdev unpacked. */
void gi_iatt_to_stat(const struct gi_iatt *iatt, struct stat *st);

static inline bool
gi_iatt_valid(const struct gi_iatt *iatt)
{
  return iatt->mode != 0;
}

/* The permission bits of a linkto file, these and no others: an empty file of cluster/distribute that says with an attribute which
 * subvolume has the file (distribute.md 4). Its owner may give any file that mode. */
#define GI_LINKTO_MODE 01000u
/* In the answer to a creation that is refused (EIO): the layout that it went by is not the directory's (brick.md 2.5). */
#define GI_LAYOUT_REFUSED_KEY "glusterfs.preop.check.failed"

static inline bool
gi_has_linkto_mode(uint32_t mode)
{
  return S_ISREG(mode) && (mode & 07777) == GI_LINKTO_MODE;
}

/* SETATTR `valid` bits (wire.md 3.8). */
enum {
  GI_SET_MODE = 0x1,
  GI_SET_UID = 0x2,
  GI_SET_GID = 0x4,
  GI_SET_SIZE = 0x8,
  GI_SET_ATIME = 0x10,
  GI_SET_MTIME = 0x20,
  GI_SET_CTIME = 0x40,
  GI_SET_ATIME_NOW = 0x80,
  GI_SET_MTIME_NOW = 0x100,
};

/* An opaque lock owner (wire.md 1.5). */
struct gi_owner {
  uint32_t len;
  uint8_t data[GI_OWNER_MAX + 1];
};

static inline bool
gi_owner_equal(const struct gi_owner *a, const struct gi_owner *b)
{
  return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

#define GI_OWNER_TEXT (2 * GI_OWNER_MAX + 1)
/* In hexadecimal digits, into a buffer of GI_OWNER_TEXT bytes; returns it. */
const char *gi_owner_text(const struct gi_owner *o, char text[GI_OWNER_TEXT]);

/* FLOCK (wire.md 3.6). `len` 0 = to the end of the file. */
struct gi_flock {
  uint32_t type;   /* GI_LK_READ, GI_LK_WRITE, GI_LK_UNLOCK */
  uint32_t whence; /* always 0 */
  uint64_t start;  /* bytes */
  uint64_t len;    /* bytes */
  uint32_t pid;
  struct gi_owner owner;
};

enum { GI_LK_READ = 0, GI_LK_WRITE = 1, GI_LK_UNLOCK = 2 };
enum { GI_LKCMD_GET = 0, GI_LKCMD_SET = 1, GI_LKCMD_SETW = 2 }; /* lk, (f)inodelk `cmd` */
/* LK `flags`: locks of two kinds do not meet, as on a local disk. A lock of a client that does not tell may be of either kind. */
enum gi_lock_space { GI_LOCK_ANY = 0, GI_LOCK_FCNTL = 1, GI_LOCK_FLOCK = 2 };
/* LK, between our own translators, never on the wire: granted elsewhere, take it when the brick can. Unlock: restore what was before. */
#define GI_LKCMD_REMEMBER 0x100
enum { GI_ENTRYLK_LOCK = 0, GI_ENTRYLK_UNLOCK = 1, GI_ENTRYLK_NB = 2 }; /* (f)entrylk `cmd` */

/* XATTROP `flags` (wire.md 3.11). */
enum {
  GI_XATTROP_ADD32 = 0,
  GI_XATTROP_ADD64 = 1,
  GI_XATTROP_GET_AND_SET = 4,
  GI_XATTROP_ADD32_DEFAULT = 5,
  GI_XATTROP_ADD64_DEFAULT = 6,
};

/* Whether `word` is one of the blank-separated words of `list` (NULL: none). */
bool gi_word_in(const char *list, const char *word);

/* STATFS (wire.md 3.13). */
struct gi_statfs {
  uint64_t bsize, frsize, blocks, bfree, bavail, files, ffree, favail, fsid, flag, namemax;
};

#endif
