/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy as it is on the disk of a brick (brick.md 3, 5): attributes, gfid, and
 * the counters by which replication knows who missed what.
 */
#include "programs/glusterish/why.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"
#include "libglusterish/types.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define MARKS "trusted.afr."
#define LIST_MAX 65536

static const char *
type_of(mode_t mode)
{
  return S_ISREG(mode)    ? "file"
         : S_ISDIR(mode)  ? "directory"
         : S_ISLNK(mode)  ? "symbolic link"
         : S_ISFIFO(mode) ? "fifo"
         : S_ISSOCK(mode) ? "socket"
                          : "device";
}

static double
seconds_of(struct timespec t)
{
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
put_gfid(json_t *copy, const char *path)
{
  struct gi_gfid gfid;
  char text[GI_UUID_TEXT];
  if (lgetxattr(path, "trusted.gfid", gfid.b, sizeof(gfid.b)) == (ssize_t)sizeof(gfid.b))
    json_object_set_new(copy, "gfid", json_string(gi_gfid_text(&gfid, text)));
}

/* The three slots of a counter; NULL: it is zero, or none. */
static json_t *
counter(const char *path, const char *name)
{
  uint32_t slot[3];
  if (lgetxattr(path, name, slot, sizeof(slot)) != (ssize_t)sizeof(slot) || !(slot[0] | slot[1] | slot[2]))
    return NULL;
  return json_pack("[I, I, I]", (json_int_t)ntohl(slot[0]), (json_int_t)ntohl(slot[1]), (json_int_t)ntohl(slot[2]));
}

static void
put_counters(json_t *copy, const char *path)
{
  GI_CLEANUP_FREE char *names = gi_alloc(LIST_MAX);
  ssize_t n = llistxattr(path, names, LIST_MAX);
  json_t *pending = json_object();
  for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1) {
    const char *name = names + at;
    json_t *slots = strncmp(name, MARKS, sizeof(MARKS) - 1) == 0 ? counter(path, name) : NULL;
    if (slots && strcmp(name, MARKS "dirty") == 0)
      json_object_set_new(copy, "dirty", slots);
    else if (slots)
      json_object_set_new(pending, name + sizeof(MARKS) - 1, slots);
  }
  json_object_set_new(copy, "pending", pending);
}

json_t *
why_copy(const char *brick, const char *path)
{
  GI_CLEANUP_FREE char *full = gi_asprintf("%s%s", brick, path);
  struct stat st;
  if (lstat(full, &st)) {
    int err = errno;
    bool gone = err == ENOENT || err == ENOTDIR;
    return json_pack("{s:b, s:s}", "there", false, "error",
                     gone && lstat(brick, &st) ? "there is no such brick on this machine" : strerror(err));
  }
  json_t *copy =
      json_pack("{s:b, s:n, s:s, s:I, s:i, s:i, s:i, s:I, s:f, s:f}", "there", true, "error", "type", type_of(st.st_mode),
                "size", (json_int_t)st.st_size, "mode", (int)(st.st_mode & 07777), "uid", (int)st.st_uid, "gid", (int)st.st_gid,
                "links", (json_int_t)st.st_nlink, "mtime", seconds_of(st.st_mtim), "ctime", seconds_of(st.st_ctim));
  put_gfid(copy, full);
  put_counters(copy, full);
  return copy;
}
