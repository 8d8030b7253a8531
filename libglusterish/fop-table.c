/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation table: name, target and class of every kind, and whose
 * attributes its reply carries. Everything that treats kinds alike (profiles,
 * traces, priorities, transactions) reads it.
 */
#include "libglusterish/fop.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define READ_DATA (GI_CLASS_READ | GI_CLASS_DATA)
#define READ_META (GI_CLASS_READ | GI_CLASS_META)
#define READ_ENTRY (GI_CLASS_READ | GI_CLASS_ENTRY)
#define WRITE_DATA (GI_CLASS_WRITE | GI_CLASS_DATA)
#define WRITE_META (GI_CLASS_WRITE | GI_CLASS_META)
#define WRITE_ENTRY (GI_CLASS_WRITE | GI_CLASS_ENTRY)
#define LOCK (GI_CLASS_LOCK | GI_CLASS_MAY_WAIT)

/* What replies carry. */
#define OBJECT \
  { \
    .stat = GI_OF_OBJECT \
  }
#define CHANGED_OBJECT \
  { \
    .pre = GI_OF_OBJECT, .post = GI_OF_OBJECT \
  }
#define CHANGED_PARENT \
  { \
    .pre = GI_OF_PARENT, .post = GI_OF_PARENT \
  }
#define NEW_ENTRY \
  { \
    .stat = GI_OF_OBJECT, .pre = GI_OF_PARENT, .post = GI_OF_PARENT \
  }

const struct gi_fop_info gi_fop_table[GI_FOP_MAX] = {
    [GI_FOP_NULL] = {"NULL", GI_TARGET_NONE, 0},
    [GI_FOP_STAT] = {"STAT", GI_TARGET_LOC, READ_META, OBJECT},
    [GI_FOP_READLINK] = {"READLINK", GI_TARGET_LOC, READ_META, OBJECT},
    [GI_FOP_MKNOD] = {"MKNOD", GI_TARGET_ENTRY, WRITE_ENTRY, NEW_ENTRY},
    [GI_FOP_MKDIR] = {"MKDIR", GI_TARGET_ENTRY, WRITE_ENTRY, NEW_ENTRY},
    [GI_FOP_UNLINK] = {"UNLINK", GI_TARGET_ENTRY, WRITE_ENTRY, CHANGED_PARENT},
    [GI_FOP_RMDIR] = {"RMDIR", GI_TARGET_ENTRY, WRITE_ENTRY, CHANGED_PARENT},
    [GI_FOP_SYMLINK] = {"SYMLINK", GI_TARGET_ENTRY, WRITE_ENTRY, NEW_ENTRY},
    [GI_FOP_RENAME] =
        {"RENAME",
         GI_TARGET_ENTRY,
         WRITE_ENTRY,
         {.stat = GI_OF_OBJECT, .pre = GI_OF_PARENT, .post = GI_OF_PARENT, .pre2 = GI_OF_PARENT2, .post2 = GI_OF_PARENT2}},
    [GI_FOP_LINK] = {"LINK", GI_TARGET_ENTRY, WRITE_ENTRY, NEW_ENTRY},
    [GI_FOP_TRUNCATE] = {"TRUNCATE", GI_TARGET_LOC, WRITE_DATA, CHANGED_OBJECT},
    [GI_FOP_OPEN] = {"OPEN", GI_TARGET_FD, READ_META},
    [GI_FOP_READ] = {"READ", GI_TARGET_FD, READ_DATA, OBJECT},
    [GI_FOP_WRITE] = {"WRITE", GI_TARGET_FD, WRITE_DATA, CHANGED_OBJECT},
    [GI_FOP_STATFS] = {"STATFS", GI_TARGET_LOC, READ_META},
    [GI_FOP_FLUSH] = {"FLUSH", GI_TARGET_FD, 0},
    [GI_FOP_FSYNC] = {"FSYNC", GI_TARGET_FD, WRITE_DATA, CHANGED_OBJECT},
    [GI_FOP_SETXATTR] = {"SETXATTR", GI_TARGET_LOC, WRITE_META, CHANGED_OBJECT},
    [GI_FOP_GETXATTR] = {"GETXATTR", GI_TARGET_LOC, READ_META},
    [GI_FOP_REMOVEXATTR] = {"REMOVEXATTR", GI_TARGET_LOC, WRITE_META, CHANGED_OBJECT},
    [GI_FOP_OPENDIR] = {"OPENDIR", GI_TARGET_FD, READ_ENTRY},
    [GI_FOP_FSYNCDIR] = {"FSYNCDIR", GI_TARGET_FD, WRITE_ENTRY},
    [GI_FOP_ACCESS] = {"ACCESS", GI_TARGET_LOC, READ_META},
    [GI_FOP_CREATE] = {"CREATE", GI_TARGET_ENTRY, WRITE_ENTRY, NEW_ENTRY},
    [GI_FOP_FTRUNCATE] = {"FTRUNCATE", GI_TARGET_FD, WRITE_DATA, CHANGED_OBJECT},
    [GI_FOP_FSTAT] = {"FSTAT", GI_TARGET_FD, READ_META, OBJECT},
    [GI_FOP_LK] = {"LK", GI_TARGET_FD, LOCK},
    [GI_FOP_LOOKUP] = {"LOOKUP", GI_TARGET_ENTRY, READ_META, {.stat = GI_OF_OBJECT, .post = GI_OF_PARENT}},
    [GI_FOP_READDIR] = {"READDIR", GI_TARGET_FD, READ_ENTRY},
    [GI_FOP_INODELK] = {"INODELK", GI_TARGET_LOC, LOCK},
    [GI_FOP_FINODELK] = {"FINODELK", GI_TARGET_FD, LOCK},
    [GI_FOP_ENTRYLK] = {"ENTRYLK", GI_TARGET_LOC, LOCK},
    [GI_FOP_FENTRYLK] = {"FENTRYLK", GI_TARGET_FD, LOCK},
    [GI_FOP_XATTROP] = {"XATTROP", GI_TARGET_LOC, WRITE_META},
    [GI_FOP_FXATTROP] = {"FXATTROP", GI_TARGET_FD, WRITE_META},
    [GI_FOP_FGETXATTR] = {"FGETXATTR", GI_TARGET_FD, READ_META},
    [GI_FOP_FSETXATTR] = {"FSETXATTR", GI_TARGET_FD, WRITE_META, CHANGED_OBJECT},
    [GI_FOP_RCHECKSUM] = {"RCHECKSUM", GI_TARGET_FD, READ_DATA},
    [GI_FOP_SETATTR] = {"SETATTR", GI_TARGET_LOC, WRITE_META, CHANGED_OBJECT},
    [GI_FOP_FSETATTR] = {"FSETATTR", GI_TARGET_FD, WRITE_META, CHANGED_OBJECT},
    [GI_FOP_READDIRP] = {"READDIRP", GI_TARGET_FD, READ_ENTRY},
    [GI_FOP_RELEASE] = {"RELEASE", GI_TARGET_FD, 0},
    [GI_FOP_RELEASEDIR] = {"RELEASEDIR", GI_TARGET_FD, 0},
    [GI_FOP_FREMOVEXATTR] = {"FREMOVEXATTR", GI_TARGET_FD, WRITE_META, CHANGED_OBJECT},
    [GI_FOP_FALLOCATE] = {"FALLOCATE", GI_TARGET_FD, WRITE_DATA, CHANGED_OBJECT},
    [GI_FOP_DISCARD] = {"DISCARD", GI_TARGET_FD, WRITE_DATA, CHANGED_OBJECT},
    [GI_FOP_ZEROFILL] = {"ZEROFILL", GI_TARGET_FD, WRITE_DATA, CHANGED_OBJECT},
    [GI_FOP_IPC] = {"IPC", GI_TARGET_NONE, 0},
    [GI_FOP_SEEK] = {"SEEK", GI_TARGET_FD, READ_DATA},
    [GI_FOP_COMPOUND] = {NULL, GI_TARGET_NONE, 0},
    [GI_FOP_LEASE] = {"LEASE", GI_TARGET_LOC, GI_CLASS_LOCK},
    [GI_FOP_GETACTIVELK] = {"GETACTIVELK", GI_TARGET_LOC, READ_META},
    [GI_FOP_SETACTIVELK] = {"SETACTIVELK", GI_TARGET_LOC, GI_CLASS_LOCK},
    [GI_FOP_ICREATE] = {"ICREATE", GI_TARGET_LOC, WRITE_ENTRY, OBJECT},
    [GI_FOP_NAMELINK] = {"NAMELINK", GI_TARGET_ENTRY, WRITE_ENTRY, CHANGED_PARENT},
    [GI_FOP_PUT] = {"PUT", GI_TARGET_ENTRY, WRITE_ENTRY | GI_CLASS_DATA, NEW_ENTRY},
    [GI_FOP_COPY_FILE_RANGE] = {"COPY_FILE_RANGE",
                                GI_TARGET_FD,
                                WRITE_DATA,
                                {.stat = GI_OF_OBJECT, .pre = GI_OF_OBJECT2, .post = GI_OF_OBJECT2}},
};

const char *
gi_fop_name(enum gi_fop_kind kind)
{
  return (unsigned)kind < GI_FOP_MAX && gi_fop_table[kind].name ? gi_fop_table[kind].name : "?";
}

uint64_t
gi_kinds_of_class(unsigned classes)
{
  uint64_t set = 0;

  for (unsigned k = 1; k < GI_FOP_MAX; k++)
    if (gi_fop_table[k].name && (gi_fop_table[k].classes & classes) == classes)
      set |= GI_KIND(k);
  return set;
}

static enum gi_fop_kind
kind_by_name(const char *name, size_t len)
{
  for (unsigned k = 1; k < GI_FOP_MAX; k++) {
    const char *n = gi_fop_table[k].name;

    if (n && strlen(n) == len && strncasecmp(n, name, len) == 0)
      return k;
  }
  return GI_FOP_NULL;
}

bool
gi_kinds_parse(const char *list, uint64_t *kinds, char *bad, size_t len)
{
  static const char separators[] = ", \t";

  *kinds = 0;
  for (const char *s = list ? list : ""; *(s += strspn(s, separators));) {
    size_t n = strcspn(s, separators);
    enum gi_fop_kind k = kind_by_name(s, n);

    if (k == GI_FOP_NULL) {
      snprintf(bad, len, "%.*s", (int)n, s);
      return false;
    }
    *kinds |= GI_KIND(k);
    s += n;
  }
  return true;
}
