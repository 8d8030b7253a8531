/* SPDX-License-Identifier: Apache-2.0
 *
 * Split brains, from the disks of this machine alone: an object that needs
 * healing is named in an index of a good brick, and its copies tell who blames
 * whom.
 */
#include "programs/glusterish/why.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"
#include "libglusterish/types.h"

#include <dirent.h>
#include <string.h>

/* Where the brick keeps the object; a directory's handle is a link to it. */
static json_t *
copy_of(const char *dir, const char *gfid)
{
  GI_CLEANUP_FREE char *handle = gi_asprintf("/.glusterfs/%.2s/%.2s/%s", gfid, gfid + 2, gfid);
  GI_CLEANUP_FREE char *inside = gi_asprintf("%s/.", handle);
  json_t *copy = why_copy(dir, inside);
  if (cli_true(copy, "there"))
    return copy;
  json_decref(copy);
  return why_copy(dir, handle);
}

/* Bricks of other replica sets hold a place in the list: counters number them all. */
static json_t *
copies_of(const json_t *bricks, size_t first, size_t n, const char *gfid)
{
  size_t i;
  json_t *b, *copies = json_array();
  json_array_foreach(bricks, i, b)
  {
    const char *name = cli_str(b, "name"), *dir = strchr(name, '/');
    json_t *copy = i >= first && i < first + n && dir
                       ? copy_of(dir, gfid)
                       : json_pack("{s:b, s:s}", "there", false, "error", "no such brick in the set");
    json_object_set_new(copy, "brick", json_string(name));
    json_object_set_new(copy, "arbiter", json_boolean(cli_true(b, "isArbiter")));
    json_array_append_new(copies, copy);
  }
  return copies;
}

static bool
is_split(const json_t *bricks, size_t first, size_t n, const char *gfid, const json_t *sight)
{
  json_t *copies = copies_of(bricks, first, n, gfid);
  json_t *heal = why_heal(copies, sight);
  bool split = strcmp(cli_str(heal, "state"), "split-brain") == 0;
  json_decref(heal);
  json_decref(copies);
  return split;
}

/* Adds the names of an index to the set `gfids`. */
static void
list_index(const char *brick, json_t *gfids, unsigned max)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/.glusterfs/indices/xattrop", brick);
  struct gi_gfid gfid;
  DIR *d = opendir(path);
  for (struct dirent *e = d ? readdir(d) : NULL; e && max; e = readdir(d)) {
    if (strlen(e->d_name) != GI_UUID_TEXT - 1 || !gi_gfid_parse(e->d_name, &gfid))
      continue;
    json_object_set_new(gfids, e->d_name, json_true());
    max--;
  }
  if (d)
    closedir(d);
}

long long
why_splits(const json_t *volume, const json_t *sight, unsigned max)
{
  const json_t *bricks = json_object_get(volume, "bricks");
  size_t n = (size_t)cli_int(volume, "replicaCount");
  long long splits = 0;
  for (size_t first = 0; n > 1 && first + n <= json_array_size(bricks); first += n) {
    json_t *gfids = json_object(), *v;
    const char *gfid;
    for (size_t i = first; i < first + n; i++) {
      const char *dir = strchr(cli_str(json_array_get(bricks, i), "name"), '/');
      if (dir)
        list_index(dir, gfids, max);
    }
    json_object_foreach(gfids, gfid, v) splits += is_split(bricks, first, n, gfid, sight);
    json_decref(gfids);
  }
  return splits;
}
